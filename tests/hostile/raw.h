/* SPDX-License-Identifier: MIT */
/*
 * A client without manners: speaks contract 1 (fw-protocol/vgpu_client.h) by hand, so that every field can be
 * wrong. Used by the modes of the hostile program; nothing here is needed by an honest one.
 *
 * A function that meets a closed door (connection refused or dropped by the agent) returns a value
 * that says so; being thrown out is a fine answer to everything that is done here.
 */
#ifndef HOSTILE_RAW_H
#define HOSTILE_RAW_H

#include <stddef.h>
#include <stdint.h>

#include "../../fw-protocol/vgpu_client.h"
#include "../../fw-protocol/vgpu_ring.h"

struct raw {
	int sock;
	int pidfd, page_fd, kick, seg_fd;
	uint8_t *seg0;                  /* our mapping, anywhere: only offsets matter to the others */
	const struct vgpu_agent_page *page;
	uint64_t span;                  /* the base that HELLO named */
	uint64_t ctl_index;             /* next slot of the control queue */
	uint64_t io_index[VGPU_MAX_CONTEXTS];
	uint64_t ticket;                /* of the last command that raw_io() published */
	struct vgpu_msg_hello_r hello;
};

/* When the mode has to end. Modes divide their time as if they had 2 s; raw_scale is what they really have of that. */
extern double raw_deadline, raw_scale;
double raw_now(void);
int raw_time_left(double seconds);      /* true while `seconds` of the 2 are still there */
void raw_nap_ms(unsigned ms);
uint32_t raw_rand(void);
uint64_t raw_rand64(void);
uint64_t raw_evil64(void);              /* a number at which arithmetic breaks, or any */
void raw_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Something came back that never may: printed, and the program exits 1. */
void raw_breach(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int raw_breaches(void);
/* The evil could not be done, so the mode proved nothing: printed, and the program exits 3. */
void raw_miss(const char *why);
int raw_misses(void);

/* Socket: -1 when refused. */
int raw_connect(void);
int raw_send(int sock, const void *msg, size_t bytes, const int *fds, int n);
/* Bytes received, 0 closed, -1 nothing within ms. fds (may be NULL) gets up to max. */
int raw_recv(int sock, void *msg, size_t bytes, int *fds, int max, int ms);
int raw_closed(int sock);               /* the agent has thrown us out */

/* Connect and HELLO as an honest client would: 0, or -1. */
int raw_open(struct raw *r);
void raw_close(struct raw *r);
/* A context on device 0: its number, or -1. */
int raw_context(struct raw *r);
int raw_context_destroy(struct raw *r, unsigned context);

static inline void *raw_at(struct raw *r, uint64_t offset) { return r->seg0 + offset; }
static inline uint64_t raw_va(struct raw *r, uint64_t offset) { return r->span + offset; }
static inline struct vgpu_ctx_head *raw_head(struct raw *r, unsigned context)
{
	return raw_at(r, VGPU_CTX_OFFSET(context));
}
static inline struct vgpu_timeline *raw_timeline(struct raw *r, unsigned context, unsigned stream)
{
	return (struct vgpu_timeline *)raw_at(r, VGPU_CTX_OFFSET(context) + VGPU_CTX_TIMELINES) + stream;
}
static inline union vgpu_slot *raw_io_slot(struct raw *r, unsigned context, uint64_t index)
{
	return (union vgpu_slot *)raw_at(r, VGPU_CTX_OFFSET(context) + VGPU_CTX_IOQ) + index % VGPU_IOQ_SLOTS;
}
static inline union vgpu_slot *raw_ctl_slot(struct raw *r, uint64_t index)
{
	return (union vgpu_slot *)raw_at(r, VGPU_CTLQ_OFFSET) + index % VGPU_CTLQ_SLOTS;
}
static inline struct vgpu_reply *raw_reply(struct raw *r, unsigned n)
{
	return (struct vgpu_reply *)raw_at(r, VGPU_REPLY_OFFSET) + n;
}

void raw_kick(struct raw *r);
/*
 * Publishes a command of c->slots slots on a context's I/O queue; header and body as given, seq and
 * ticket made right unless keep is set. payload may be NULL. Waits (bounded) for room.
 */
int raw_io(struct raw *r, unsigned context, const struct vgpu_cmd *c, const void *payload, size_t bytes, int keep);
/* A control call: 0 and the reply, or -1 when nothing came within ms. */
int raw_ctl(struct raw *r, const struct vgpu_cmd *c, struct vgpu_reply *reply, int ms);
/* Waits for a stream's timeline: 0 reached, 1 context has an error, -1 nothing within ms. */
int raw_wait(struct raw *r, unsigned context, unsigned stream, uint64_t ticket, int ms);
/* Loads PTX text through the staging area and returns the id of a kernel, or 0. */
uint32_t raw_kernel(struct raw *r, unsigned context, const char *ptx, const char *name);
int raw_launch(struct raw *r, unsigned context, unsigned stream, uint32_t fn, const void *params, unsigned bytes);
int raw_alloc(struct raw *r, unsigned context, uint64_t va, uint64_t bytes);

struct mode {
	const char *name;
	void (*run)(void);
	const char *what;
};
extern const struct mode socket_modes[], queue_modes[], memory_modes[];

#endif
