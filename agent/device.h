/* SPDX-License-Identifier: MIT */
/*
 * Devices: bring-up (device.c), admin queue (admin.c), death and return (health.c). Control thread, but where the device's own
 * thread is named (errand.h).
 */
#ifndef AGENT_DEVICE_H
#define AGENT_DEVICE_H

#include <unistd.h>

#include "agent.h"

/* The device's thread: opens, resets and starts the device behind d->spec. On failure `why` is a sentence for people. */
int device_bring_up(struct device *d, char *why, size_t why_bytes);
/* The device's thread: stops it (if it still answers), closes it, frees what it held. */
void device_take_down(struct device *d, int answers);
/* The device's thread: looks at the registers of one that is up: NULL, or why it is lost. */
const char *device_trouble(struct device *d);

/* What was brought up is there for clients. On failure it is to be taken down. */
int device_ready(struct device *d, char *why, size_t why_bytes);
/* It is not any more: whatever is asked of it from now on comes too late. Contexts come next, then errand_detach(). */
void device_not_ready(struct device *d);

/* What the device calls this address of mapped memory; *bytes: contiguous from there on. 0: it is not mapped. */
uint64_t device_bus(struct device *d, uint64_t iova, uint64_t *bytes);

/*
 * Rings doorbell 0 (the admin queue's) or 1 + qid. Any thread that has something on the device; never blocks. A page that is
 * lost under the store (sigbus.c) costs the way through the transport, not the ring.
 */
static inline void device_ring(struct device *d, unsigned bell, int fd)
{
	static const uint64_t one = 1;

	if (fd >= 0) {
		if (write(fd, &one, 8) < 0)
			return;         /* EAGAIN: it has not taken 2^64 - 2 earlier ones, so it is awake */
		return;
	}
	if (d->doorbells) {
		d->doorbells[bell] = 1;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		if (!vgpu_load_relaxed32(&d->doorbells_gone))
			return;
	}
	d->ops->ring(d->v, VGPU_DOORBELL(bell), 1);
}

/* A free queue of the device, or -1. */
int device_free_queue(const struct device *d);

/* Bring-up only, the device's thread: one admin command, waited for. The status of its completion, or -EPIPE, -ETIMEDOUT. */
int admin_call(struct device *d, const struct vgpu_admin_cmd *cmd);
extern unsigned admin_ms;               /* how long an answer may take; tests make it shorter */

/*
 * Admin commands about a context: posted, and done() is called by admin_turn() when it has completed, or was not in time.
 * Room is looked for first: with c NULL for the end of a context, else for what may have to wait for the context,
 * of which one user gets only a share.
 */
typedef void admin_done(struct context *x, int rc);
int admin_room(const struct device *d, const struct client *c);
uint64_t admin_post(struct device *d, const struct vgpu_admin_cmd *cmd, struct context *x, admin_done *done);
/* Where the next command's struct vgpu_ctx_create goes; *offset in the admin area. */
struct vgpu_ctx_create *admin_create_at(struct device *d, uint64_t *offset);
/* Nobody waits any more for what was asked about x. */
void admin_abandon(struct device *d, const struct context *x);
void admin_start(struct device *d);
/* Completions, deadlines, deaths; keeps ASYNC_EVENT posted. Never waits. Milliseconds until it must look again, -1: none. */
int admin_turn(struct device *d);
/* Reports about this queue's last owner are not about its next one. */
void admin_forget(struct device *d, uint32_t qid);

#define ADMIN_BYTES  0x10000u
#define ADMIN_ASQ    0x0000u
#define ADMIN_ACQ    0x1000u
#define ADMIN_INFO   0x2000u
#define ADMIN_CREATE 0x4000u    /* a struct vgpu_ctx_create for each place of the ring */
_Static_assert(ADMIN_CREATE + VGPU_ADMIN_SLOTS * sizeof(struct vgpu_ctx_create) <= ADMIN_BYTES, "they fit");

/* The device does not answer any more: errors to all its contexts, then retries. Only from the control thread's loop. */
void health_lost(struct device *d, const char *why);
/* Boot: brings d up, and waits for that. */
int health_first(struct device *d, char *why, size_t why_bytes);
/* Retries what is due. Milliseconds until the next try, -1: nothing to do. */
int health_retry(void);

#endif
