/* SPDX-License-Identifier: MIT */
/*
 * The inside of libnccl: communicators, mailboxes, operations.
 *
 *   nccl.c       the calls: arguments, groups, results
 *   make.c       communicators are made and ended
 *   comm.c       a communicator's life: ring, tables, split, shrink, end; its keeper, a thread that notices who has gone
 *   socket.c     TCP between the ranks: the unique id's root, the ring, who comes in
 *   mail.c       mailboxes, in memory that both devices reach
 *   plan.c       an operation as commands of a stream, round by round
 *   issue.c      which stream gets them, and when: at once, or bit by bit by the keeper
 *   net.c        what carries mail between hosts: UCX
 *
 * Between each two ranks lies a mailbox in each direction: SLOTS pieces of data and a word for each, EMPTY or FULL. To send is to wait for
 * EMPTY, copy, and write FULL; to receive is to wait for FULL, use the data and write EMPTY, all of it commands of a stream
 * (cuStreamWaitValue, cuStreamWriteValue). So the host never waits, numbers do not run on (a captured graph can run again), and whoever
 * moves a mailbox's bytes, a shared page or UCX, is nobody's business above mail.c. A failed communicator's words are written LET_GO until
 * its streams have run dry: that satisfies both waits.
 */
#ifndef NCCL_COMM_H
#define NCCL_COMM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "../core/tls.h"
#include "kernels/reduce.h"
#include "nccl.h"

/* as every glibc has them; until 2.34 they are libpthread's, which we name as needed */
#if !defined(VGPU_STATIC) && defined(__GLIBC__)
__asm__(".symver pthread_create,pthread_create@GLIBC_2.2.5\n.symver pthread_join,pthread_join@GLIBC_2.2.5\n"
	".symver pthread_detach,pthread_detach@GLIBC_2.2.5");
#endif

#define SLOTS 2
#define WORD_STRIDE 64
#define MAIL_HEAD 4096u                 /* bytes before the first slot's data */
enum { EMPTY = 1, FULL = 2, LET_GO = 3 };
/* The word of a slot that UCX fetches holds its bytes too. */
#define FULL_OF(bytes) ((uint32_t)(bytes) << 2 | FULL)
#define BYTES_OF(word) ((word) >> 2)

#define MAX_RANKS 1024
#define MAX_OPS 64                      /* of one communicator's own reductions */

struct addr { uint8_t family, pad; uint16_t port; uint8_t ip[16]; uint32_t scope; };     /* port and ip as on the wire */

enum via { VIA_SELF, VIA_PROCESS, VIA_SHARED, VIA_NET };

/* What each rank tells all others, first and then. */
struct card {
	uint64_t host, process, space;  /* equal: the same host, process, user and mount namespace */
	uint8_t uuid[16];
	struct addr listener;
};
#define NET_ADDRESS 2048
struct key {
	CUdeviceptr inbox;              /* for ranks of this process */
	CUipcMemHandle handle;
	uint32_t shares, net_bytes;
	uint8_t net[NET_ADDRESS];
};

struct box { CUdeviceptr at; };         /* of one direction */
struct peer {
	uint8_t via;
	struct box in, out;
	CUdeviceptr opened;             /* by cuIpcOpenMemHandle, 0: not */
	CUstream lane[2];               /* of groups: sending, receiving */
};

struct op {
	struct op *next;
	struct ncclComm *comm;
	uint8_t kind, type, redop, two_hops;
	int root;                       /* or the peer */
	const char *send;
	char *recv;
	size_t count;                   /* elements, as the call's */
	CUstream stream;
	uint64_t scale_at, scale;
	bool scaled;
	/* while it is issued */
	uint64_t round, rounds;
	unsigned cost;                  /* commands of a round, at most */
};
enum { ALL_REDUCE, REDUCE_SCATTER, REDUCE, BROADCAST, ALL_GATHER, ALL_TO_ALL, GATHER, SCATTER, SEND, RECV };

struct ncclComm {
	uint32_t magic;
	int rank, ranks, device;
	bool blocking;
	CUcontext ctx;
	bool own_ctx;                   /* a primary context that was retained here */
	uint32_t slot_bytes;
	uint64_t cookie[2];
	uint32_t children;

	ncclResult_t async;             /* atomic: ncclInProgress while it is made or ended */
	uint32_t failed;                /* atomic: streams are let go */
	char why[192];

	int listener, ring[2][2];       /* [DATA or WATCH][before, after] */
	struct card *card;              /* of all ranks */
	struct peer *peer;
	CUdeviceptr shared, pinned;     /* inboxes: that others' devices map, that this host reaches */
	CUdeviceptr outbox;             /* pinned: what the net fetches */
	uint32_t *control;              /* pinned words: see issue.c */
	struct net *net;

	pthread_mutex_t lock;           /* over what the keeper shares */
	pthread_t keeper;
	bool keeping;
	uint32_t leave;                 /* atomic: the keeper is to end */
	int wake[2];
	struct guest { struct guest *next; int fd; uint32_t child, kind, from; } *guests;      /* came in, not fetched yet */
	bool gone[2];                   /* neighbours that ended in order */
	int lost;                       /* atomic: 1 + a rank that has gone without an end */
	uint64_t lost_ns;               /* since when work waits for it */
	bool told;                      /* the neighbours know that this one has failed */
	bool captured;                  /* graphs may run operations that nobody sees */
	bool aborting, ended;           /* by ncclCommAbort; by ncclCommFinalize */
	pthread_t maker;                /* makes or finalizes it, where that is not to block */
	bool making;
	struct job *jobs, **jobs_end;

	CUevent last, fork;
	CUstream last_stream, own;      /* own: the keeper's, for LET_GO; jobs have another */
	CUstream work;
	bool any;                       /* last was recorded */
	struct { bool used; uint8_t type; bool device; uint64_t value; } own_op[MAX_OPS];
};

extern const uint8_t nccl_bytes[ncclNumTypes];
#define IS_ALIVE 0x6c636376u

struct nccl_thread {
	const char *last;               /* for ncclGetLastError */
	struct group *group;            /* open, NULL: none */
};
VGPU_TLS(struct nccl_thread, vgpu_nccl_self);

#define PUBLIC __attribute__((visibility("default")))
#define fail(e, why) nccl_fail(e, why)

/* A communicator that is to be made: by the caller, at a group's end, or by a thread of its own. */
struct start {
	struct start *next;
	enum { BY_ID, BY_SPLIT, BY_SHRINK } how;
	struct ncclComm *c, *parent;
	ncclComm_t *out;
	ncclUniqueId id;
	uint32_t child;
	int color, key, *members;
	const char *why;
	ncclResult_t result;
	pthread_t thread;
};

struct group { unsigned depth; struct op *ops, **ops_end; struct start *starts, **starts_end; ncclResult_t error; };

/* make.c: each is made by a thread of its own; drop: none is */
ncclResult_t make_all(struct start *list);
void make_drop(struct start *list);

/* nccl.c */
ncclResult_t nccl_noted(ncclResult_t e);                /* an error in a group is the group's, of which nothing is done then */
ncclResult_t nccl_alive(const struct ncclComm *c);
ncclResult_t nccl_usable(struct ncclComm *c);           /* made, not failed, not finalized */
ncclResult_t nccl_fail(ncclResult_t e, const char *why);        /* why: a literal */
void nccl_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
ncclResult_t nccl_cuda(CUresult r);
#define CU(call) do { ncclResult_t r_ = nccl_cuda(call); if (r_ != ncclSuccess) return r_; } while (0)
#define NC(call) do { ncclResult_t n_ = (call); if (n_ != ncclSuccess) return n_; } while (0)

/* comm.c */
void comm_size(struct ncclComm *c, int ranks, int rank);
ncclResult_t comm_new(ncclComm_t *out, int ranks, int rank, bool blocking, CUcontext ctx, int device);
ncclResult_t comm_join(struct ncclComm *c, const ncclUniqueId *id);
ncclResult_t comm_join_child(struct ncclComm *c, struct ncclComm *parent, uint32_t child, const int *members);
ncclResult_t comm_flush(struct ncclComm *c);    /* waits for what was issued */
bool comm_idle(struct ncclComm *c);
void comm_end(struct ncclComm *c, bool in_order);
void comm_failed(struct ncclComm *c, ncclResult_t e, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static inline bool comm_has_failed(struct ncclComm *c) { return __atomic_load_n(&c->failed, __ATOMIC_ACQUIRE); }
ncclResult_t comm_gather(struct ncclComm *c, void *table, size_t each);         /* table[rank] of all ranks */
void comm_wake(struct ncclComm *c);
void nap_us(unsigned us);

/* socket.c */
enum { DATA, WATCH };
enum { BEFORE, AFTER };
ncclResult_t socket_unique_id(ncclUniqueId *id);
ncclResult_t socket_known(const ncclUniqueId *id);       /* whether it is one */
ncclResult_t socket_listen(struct addr *a, int *fd);
/* Asks the id's root, which serves a rank's listener to the one before it. Waits for all ranks. */
ncclResult_t socket_meet(struct ncclComm *c, const ncclUniqueId *id, const struct addr *mine, struct addr *next);
/* c comes to the listener `to`, which belongs to a rank of `at` (its own, or its parent's). */
ncclResult_t socket_call(struct ncclComm *c, const struct ncclComm *at, const struct addr *to, uint32_t child, uint32_t kind, uint32_t from, int *fd);
bool socket_answer(struct ncclComm *c, int fd, struct guest *g);        /* what a caller said first */
ncclResult_t socket_all(struct ncclComm *c, int fd, void *p, size_t n, bool write);

/* mail.c */
ncclResult_t mail_make(struct ncclComm *c, struct key *mine);
ncclResult_t mail_open(struct ncclComm *c, const struct key *all);
void mail_close(struct ncclComm *c);
void mail_let_go(struct ncclComm *c);
static inline CUdeviceptr mail_word(struct box b, unsigned slot) { return b.at + slot * WORD_STRIDE; }
static inline CUdeviceptr mail_data(const struct ncclComm *c, struct box b, unsigned slot) { return b.at + MAIL_HEAD + (CUdeviceptr)slot * c->slot_bytes; }
static inline CUdeviceptr mail_bytes(const struct ncclComm *c) { return MAIL_HEAD + (CUdeviceptr)SLOTS * c->slot_bytes; }

/* plan.c */
void plan_begin(struct op *o);                          /* how many rounds, of what cost */
ncclResult_t plan_round(struct op *o, CUstream s);      /* the next one */

/* issue.c */
ncclResult_t issue_group(struct op *ops);               /* of any communicators */
bool issue_jobs(struct ncclComm *c);                    /* the keeper: whether any are left */
void issue_drop(struct ncclComm *c);

/* net.c */
ncclResult_t net_open(struct ncclComm *c, struct key *mine);
ncclResult_t net_connect(struct ncclComm *c, const struct key *all);
bool net_move(struct ncclComm *c);                      /* whether anything moved */
bool net_empty(struct ncclComm *c);                     /* all that was sent has arrived */
void net_close(struct ncclComm *c);

#endif
