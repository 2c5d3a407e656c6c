/* SPDX-License-Identifier: MIT */
/*
 * The device parent: one struct for the whole device and the modules that act on it.
 *
 * Everything here runs in one thread, called by the epoll loop (loop.c):
 *
 *   vfu.c        the vfio-user socket: bytes <-> messages          (one owner at a time)
 *   vfu_cmd.c    what each message does
 *    |- pci.c    config space            |- irq.c   MSI-X vectors = eventfds of the owner
 *    |- regs.c   BAR0, enable and reset  `- dma.c   IOVA -> file and offset
 *        `- admin.c    the admin queue               dma_msg.c, ctxmirror.c  the same by message
 *            `- ctxproc.c, ctxpieces.c, ctxspawn.c, ctxguard.c, ctxgrant.c, ctxown.c, ctxwords.c   one sandboxed process per context
 *                fair.c   whose turn it is among those, by what usage.c reads of the kernel
 *
 * Invariant: a context exists only while EN is set and the bus-master bit is on; a reset returns only
 * when every context process is reaped, so no DMA happens after it.
 */
#ifndef VGPU_STUB_H
#define VGPU_STUB_H

#include <stddef.h>
#include <stdint.h>

#include "ctx_proto.h"
#include "dma.h"

#define STUB_QUEUES 128u                /* contexts of the device; each may be a process */
#define STUB_VECTORS 256u
#define STUB_MSIX_BYTES 0x2000u         /* BAR2: table at 0, pending bits at 0x1000 */
#define STUB_PBA_OFFSET 0x1000u
#define STUB_CFG_BYTES 4096u
#define STUB_START_NS 15000000000ull    /* a context is ready within this: its pages come from a machine that may be short of them */
#define STUB_DEADLINE_NS 5000000000ull  /* a context answers within this, or is killed */

struct stub_config {
	const char *socket_path;
	const char *name, *bus_id, *seed;
	uint32_t kernel_timeout_s;      /* 0: none */
	uint8_t uuid[16];               /* where has_uuid: else made from the seed */
	int has_uuid;
	uint64_t memory_bytes;
	int memory_set;                 /* by --memory: a share of the GPU's */
	uint64_t overhead_bytes;        /* of a context beside its grant: images, code, the engine's own memory */
	uint64_t overheads_bytes;       /* ... of all contexts together */
	uint32_t cc_major, cc_minor;
	uint32_t sms, cores;
	uint32_t pci_vendor, pci_device;
	const char *cuda_library;       /* the host's libcuda: engine cuda; NULL: engine cpu */
	const char *cublas_library;     /* the host's cuBLAS; NULL: none */
	uint32_t cuda_device;           /* number in that library */
	int by_message;                 /* --dma message: dma_msg.h */
	uint32_t walls, require_walls;  /* VGPU_WALL_*: to try; without which not to start */
	uint32_t context_uids;          /* as root: the first of STUB_QUEUES + 1 users */
	const char *cgroup;             /* NULL: our own, if it is delegated */
	int verbose;
};

/* ---- event loop ---------------------------------------------------------------------------- */
struct source {                         /* embedded in its owner, like a list node */
	int fd;                         /* -1: not watched */
	void (*ready)(void *owner, uint32_t events);
	void *owner;
};

int loop_init(void);
int loop_add(struct source *s, int fd, uint32_t events);        /* ready and owner are set before */
int loop_change(struct source *s, uint32_t events);
void loop_remove(struct source *s);                             /* does not close the fd */
void loop_once(uint64_t deadline_ns);                           /* 0: no deadline */
uint64_t clock_ns(void);

/* ---- contexts ------------------------------------------------------------------------------ */
enum ctx_state {
	CTX_FREE,
	CTX_STARTING,                   /* INIT, MAPs, START are sent or queued; READY is awaited */
	CTX_RUNNING,
	CTX_DYING,                      /* SIGKILL is sent, the process is not reaped yet */
	CTX_DEAD,                       /* reaped; the qid is occupied until CTX_DESTROY */
};

struct ctx_piece {                      /* agent memory that the context has, or will have, mapped */
	uint64_t iova, bytes, va, offset;
	struct dma_file *file;          /* reference held */
	uint8_t *base;                  /* by message: what owner and context last had in common (ctxmirror.c) */
};

struct ctx_out {                        /* a message that waits for room in the socket */
	struct ctx_out *next;
	struct ctx_msg msg;
	int nfds, fds[CTX_INIT_FDS];    /* borrowed: device, context or file table own them */
};

/* A pending admin command that will be completed later. */
struct admin_token {
	int used;
	uint32_t seq;
	uint32_t place;                 /* slot of the ring */
};

/* The command that is being taken, by message: one at a time, over several turns of the loop. */
struct admin_work {
	int busy, again;                /* again: the doorbell rang meanwhile */
	uint32_t seq;                   /* of the next place, looked at first */
	struct admin_token token;
	struct vgpu_admin_cmd cmd;
	struct vgpu_ctx_create create;  /* what CTX_CREATE points at */
};

struct context {
	struct device *dev;
	enum ctx_state state;
	uint32_t qid;
	int pid, pidfd;
	int sock;
	struct source sock_src, pid_src, listen_src;
	int run_fd, phys_fd, code_fd, listener;
	int err_fd;                     /* its stderr (ctxwords.c) */
	uint64_t granted;               /* device memory, CTX_SLACK not counted */
	uint64_t mapped;                /* addresses it was given for physical memory since its page tables were looked at */
	struct {                        /* ctxown.c, at the last look */
		uint64_t bytes;         /* what it has besides its grant */
		int held, told;         /* it may not have more private memory than `most` besides; the log has said so */
		uint64_t most;
	} own;
	struct source err_src;
	uint64_t words_until, words_ns; /* its lines' bucket; when its pipe is looked at again, 0: as it comes */
	int words_held;                 /* a line has been let through that is not there yet */
	uint32_t line_bytes;
	char line[256];
	struct ctx_run *run;

	struct vgpu_ctx_create create;
	struct ctx_piece *pieces;
	uint32_t npieces, pieces_room;
	uint32_t next_piece;            /* after START: the first one not acknowledged */
	int mirrored;                   /* by message: its memory has been brought in once */
	uint32_t keys_given_n, keys_given_room;
	uint32_t *keys_given;

	struct ctx_out *out_head, **out_tail;
	uint32_t wait_ack;              /* id of the ACK awaited, 0 = none */
	int map_allowed;                /* pieces[next_piece] may be mapped: one MAP is out */
	int map_done;                   /* it has been */
	int irq_by_socket;              /* it sends RAISE: its eventfd is an old one */
	int irq_changed;                /* it is to be told IRQ once no ACK is awaited */
	uint64_t deadline_ns;           /* 0: nothing is awaited */
	uint64_t resend_ns;             /* descriptors could not go (ETOOMANYREFS): when to try again; 0: no need */

	int stopped;                    /* hold.c: by signal */
	uint64_t held_ns;               /* since when it is told so; 0: it is not */
	struct {                        /* cap.c */
		struct { uint64_t group; uint32_t permille; } share[3]; /* permille 0: none */
		uint64_t seen_ns, used_ns;      /* processor time: at the last look, since the one before */
		int held;
	} cap;
	uint32_t priority;              /* VGPU_PRIORITY_*; 0: nothing was said */
	struct {                        /* fair.c */
		uint64_t seen_ns, used_ns;      /* processor time: at the last look, since the one before */
		uint64_t time;                  /* virtual: of weight 100 */
		int held;
		uint32_t active;                /* it works: looks without work until it does not */
		uint32_t exempt, again;         /* looks for which nobody waits for it; how many they were */
	} fair;

	uint32_t walls;                 /* VGPU_WALL_*, of its process */
	int trial, in_cgroup;           /* a process that only tries its walls; cgroup.c counts it */
	uint32_t failed_wall;           /* ctxspawn() failed: because of it, and at what */
	const char *failed_at;

	struct admin_token create_token, segment_token, destroy_token;
	uint32_t death_status;          /* enum vgpu_status, why it died */
	int death_pending;              /* no ASYNC_EVENT was there to tell it */
	uint32_t logged;                /* LOG lines of it printed */
};

/* ---- the device ------------------------------------------------------------------------------ */
struct device {
	struct stub_config config;
	struct vgpu_device_info info;
	struct dma_table dma;

	uint8_t cfg[STUB_CFG_BYTES];    /* PCI configuration space */
	uint8_t msix[STUB_MSIX_BYTES];  /* BAR2 */

	uint32_t cc, csts;
	uint64_t asq, acq;
	uint64_t admin_index;
	struct admin_work work;
	struct admin_token async;       /* the ASYNC_EVENT that waits; a newer one replaces it */
	struct source admin_src;

	int doorbell[1 + STUB_QUEUES];  /* eventfds; 1 + qid is that context's kick */
	int vector[STUB_VECTORS];       /* the owner's eventfds, -1: none */
	int spare[1 + STUB_QUEUES];     /* stands in for a vector that has no eventfd */
	int err_fd, req_fd;             /* ERR and REQ interrupts: kept, never raised */
	uint64_t irqs_admin, irqs_queues; /* sent to this owner; of contexts as they say, once they are reaped */

	struct context ctx[STUB_QUEUES];
	uint32_t walls;                 /* VGPU_WALL_*, around every context */
	uint32_t live;                  /* contexts with a process */
	uint64_t granted;               /* device memory, to all of them (ctxgrant.c) */
	uint64_t tables_ns;             /* when their page tables may be looked at again */
	uint64_t own_ns, own_every_ns, own_all; /* ctxown.c: the next look, how often, what it saw last */
	uint32_t next_ack;              /* ids of MAP and IRQ messages */
};

/* info.c: the numbers that IDENTIFY answers, from the configuration and this machine */
void info_fill(struct vgpu_device_info *info, const struct stub_config *c);
int info_cuda(struct vgpu_device_info *info, const struct stub_config *c);      /* over it: the driver's word; 0 or -1 */
int info_cuda_print(const char *library, int device, const char *cublas);   /* the process that asks */
int info_cc_known(uint32_t major, uint32_t minor);
const char *info_cc_list(void);

/* pci.c */
void pci_init(struct device *d);
void pci_reset(struct device *d);
int pci_read(struct device *d, uint64_t offset, void *buf, uint32_t bytes);
int pci_write(struct device *d, uint64_t offset, const void *buf, uint32_t bytes);
int pci_bus_master(const struct device *d);

/* regs.c: BAR0, and what enable, disable and reset mean */
int regs_read(struct device *d, uint64_t offset, void *buf, uint32_t bytes);
int regs_write(struct device *d, uint64_t offset, const void *buf, uint32_t bytes);
void device_reset(struct device *d);    /* FLR, RESET, owner gone; returns when no context lives */
void device_fatal(struct device *d, const char *why);
void device_settle(struct device *d);   /* between events: kills what a fatal error left */
void device_bus_master_off(struct device *d);

/* irq.c: an MSI-X vector is an eventfd that the owner gave */
int irq_init(struct device *d);
int irq_count(uint32_t index);
int irq_set(struct device *d, uint32_t index, uint32_t flags, uint32_t start, uint32_t count,
	    const uint8_t *bools, uint32_t nbools, int *fds, uint32_t nfds);
void irq_release(struct device *d);     /* closes every eventfd of the owner */
void irq_raise(struct device *d, uint32_t vector);
/* Eventfds that the owner has too, and may have made blocking: these never wait. */
void bell_drain(int fd);
void bell_ring(int fd);
int irq_context_fd(struct device *d, uint32_t qid);
int msix_read(struct device *d, uint64_t offset, void *buf, uint32_t bytes);
int msix_write(struct device *d, uint64_t offset, const void *buf, uint32_t bytes);

/* admin.c */
int admin_init(struct device *d);
void admin_start(struct device *d);     /* EN 0 -> 1 */
void admin_stop(struct device *d);      /* outstanding commands are forgotten, no completion */
void admin_doorbell(struct device *d);
void admin_complete(struct device *d, struct admin_token *t, uint32_t status, uint64_t v0,
		    uint64_t v1, uint64_t v2);
void admin_context_died(struct device *d, struct context *c);

/* ctxproc.c: processes of contexts */
void ctxproc_init(struct device *d);
uint32_t ctxproc_create(struct device *d, uint32_t qid, const struct vgpu_ctx_create *create,
			const struct admin_token *token);
uint32_t ctxproc_segment(struct context *c, uint64_t iova, uint64_t bytes, uint64_t va,
			 const struct admin_token *token);
void ctxproc_kill(struct context *c, uint32_t status);  /* returns at once; death is told later */
void ctxproc_kill_wait(struct context *c, uint32_t status); /* returns when it is reaped, if it lived */
void ctxproc_destroy(struct context *c, const struct admin_token *token);
void ctxproc_kill_all(struct device *d);                /* returns when all are reaped and forgotten */
int ctxproc_kill_range(struct device *d, uint64_t iova, uint64_t bytes);
void ctxproc_vector_changed(struct device *d, uint32_t qid);
void ctxproc_set_run(struct context *c, int run);
void ctxproc_set_weight(struct context *c, uint32_t weight);
uint64_t ctxproc_next_deadline(struct device *d);
void ctxproc_deadlines(struct device *d);
int ctxproc_send(struct context *c, const struct ctx_msg *m, const int *fds, int nfds);
void ctxproc_pump(struct context *c);

/* ctxpieces.c: what it maps; all or nothing, enum vgpu_status */
uint32_t ctxpieces_add(struct context *c, uint64_t iova, uint64_t bytes, uint64_t va);
/*
 * The queue block. In a hugetlb file the whole page around it is mapped, which must be mapped for DMA
 * too and no other context's: whoever put it there meant it for this context alone.
 */
uint32_t ctxpieces_add_block(struct context *c, uint64_t iova);
void ctxpieces_drop(struct context *c, uint32_t from);
/* The last one asked for is there: what was at its place in the device's span before is not. */
void ctxpieces_mapped(struct context *c);

/* ctxmirror.c: DMA by message. Its deadline (0: none), its turn between events. */
uint64_t mirror_next(const struct device *d);
void mirror_turn(struct device *d);
void ctxproc_mirrored(struct context *c);

/* ctxgrant.c: device memory of all contexts together */
int ctxgrant_files(struct context *c);                  /* whose sizes are limits; its run page */
void ctxgrant_asked(struct context *c, uint64_t bytes, uint32_t id);
void ctxgrant_maps(struct context *c, uint64_t bytes); /* it maps so much of its physical memory */
void ctxgrant_find_greedy(struct device *d);
void ctxgrant_end(struct context *c);                   /* it is reaped */
uint64_t ctxgrant_least(const struct context *c);       /* its private memory with no grant at all, with the largest one */
uint64_t ctxgrant_most(const struct context *c);
int ctxgrant_limit(const struct context *c);            /* the kernel is told what it may have now */
uint64_t ctxgrant_physical(const struct context *c);    /* it has in its file */

/* ctxown.c: what contexts have besides. When it wants its turn (0: it does not); the turn */
uint64_t ctxown_next(const struct device *d);
void ctxown_turn(struct device *d);

/* fair.c: shares of the device. When it wants its turn (0: it does not); the turn; a context that is no more. */
uint64_t fair_next(void);
void fair_turn(struct device *d);
void fair_forget(struct context *c);

/* cap.c: no more than a share. As fair.c; one of a context's shares, 0: none */
uint64_t cap_next(void);
void cap_turn(struct device *d);
void cap_set(struct context *c, uint32_t which, uint32_t permille, uint64_t group);

/* hold.c: not its turn, for either reason. Told; and who works on although held is stopped. */
void hold_forget(struct context *c);    /* it is no more: of fair.c and cap.c as well */
void hold_tell(struct context *c);
void hold_stop(struct context *c, uint64_t now, uint64_t used, uint64_t elapsed);

/* usage.c: the processor time of a context; idle time of the processors that are ours; does one of its threads run or wait for a processor? */
uint64_t usage_ns(const struct context *c);
uint64_t usage_idle_ns(void);
int usage_wants(const struct context *c);

/* ctxspawn.c: fork, limits, exec; fills in sock, pid, pidfd and err_fd */
int ctxspawn(struct context *c);
uint32_t ctxspawn_uid(const struct context *c);         /* its user; 0: ours */

/* walls.c: what can stand around a context */
void walls_find(struct device *d);
int walls_named(const char *list, uint32_t *out);       /* "all", "none", or words with commas */
const char *walls_text(uint32_t walls);

/* cgroup.c: a group for each client's contexts */
int cgroup_open(struct device *d, char *why, size_t room);
void cgroup_weight(struct context *c);
int cgroup_enter(struct context *c);                    /* the group's fd, or -errno */
int cgroup_move(int dir, pid_t p);                      /* for whom clone could not; 0 or -errno */
void cgroup_leave(struct context *c);

/* ctxwords.c: LOG and stderr */
int ctxwords_listen(struct context *c);
void ctxwords_log(struct context *c, const struct ctx_msg *m);
void ctxwords_again(struct context *c);
void ctxwords_end(struct context *c);

/* ctxguard.c: mmap calls that the context's seccomp filter asks us about */
int ctxguard_is_listener(int fd);
void ctxguard_ready(struct context *c);

/* vfu.c */
int vfu_listen(struct device *d, const char *path);
uint64_t vfu_next_resend(void);         /* 0: none is due */
void vfu_resend(void);
void vfu_pump(void);                    /* between events: sends what is queued by dma_msg.c */
void vfu_close(const char *path);

/* log.c: one line each on stderr */
void log_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_verbose(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_init(void);                    /* is stderr the journal? */
void log_set_verbose(int level);        /* -1 silent (fuzzer), 0, 1 */

/* context.c, the other process; ctx_walls.c, one that tries its walls and ends */
int context_main(void);
int ctx_walls_trial(uint32_t walls, uint32_t uid, int driver);

#endif
