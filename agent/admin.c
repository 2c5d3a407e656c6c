/* SPDX-License-Identifier: MIT */
/*
 * The admin queue of a device (vgpu_device.h): synchronous, with a deadline; only the contexts of a
 * client that goes are ended together. The one exception is ASYNC_EVENT, which stays posted and completes when a context dies. Its place in
 * the ring of completions must not be taken by a later command, so it is posted anew every
 * ASYNC_AGE commands: the device then forgets the older one. It may have completed just before, so
 * that place is looked at too.
 *
 * A command about one context that is not answered in time costs that context, not the device: its end is asked for, and
 * only a device that does not answer that either is lost. What was given up may still complete; its place in the
 * ring comes round after 64 commands, and if it has not by then, the device is lost after all.
 */
#include "device.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "context.h"

#define ASYNC_AGE 24            /* twice this and one more stay below VGPU_ADMIN_SLOTS */
#define LOOK_MS 500             /* twice the time between two looks at a device that does not answer */
unsigned admin_ms = 8000;               /* a CTX_CREATE starts a process and has a deadline of 5 s itself */

static struct vgpu_admin_cmd *slot_at(struct device *d, uint64_t index)
{
	return (void *)(d->admin_va + ADMIN_ASQ + index % VGPU_ADMIN_SLOTS * 64);
}

static struct vgpu_reply *completion_at(struct device *d, uint64_t index)
{
	return (struct vgpu_reply *)(d->admin_va + ADMIN_ACQ + index % VGPU_ADMIN_SLOTS * 64);
}

static void ring(struct device *d)
{
	device_ring(d, 0, d->doorbell_fd[0]);
}

static uint64_t post(struct device *d, const struct vgpu_admin_cmd *cmd)
{
	uint64_t index = d->admin_tail++, place = 1ull << index % VGPU_ADMIN_SLOTS;
	struct vgpu_admin_cmd *s = slot_at(d, index);
	uint32_t before = s->seq;

	/* The completion that was given up a lap ago would overwrite this one's: no answer can be trusted then. */
	if (d->admin_given_up & place &&
	    vgpu_load_acquire32(&completion_at(d, index)->seq) != (uint32_t)(index + 1 - VGPU_ADMIN_SLOTS))
		d->admin_hangs = 1;
	d->admin_given_up &= ~place;
	*s = *cmd;
	s->seq = before;        /* not valid yet: the release below publishes */
	vgpu_store_release32(&s->seq, (uint32_t)(index + 1));
	ring(d);
	return index;
}

void admin_start(struct device *d)
{
	d->admin_tail = d->admin_given_up = 0;
	d->admin_hangs = 0;
	d->async_seq[0] = d->async_seq[1] = 0;
	memset(d->died, 0, sizeof(d->died));
	memset(d->admin_va, 0, ADMIN_BYTES);
}

/* Takes in what the posted events say, without acting on it. */
static void harvest(struct device *d)
{
	for (unsigned i = 0; i < 2; i++) {
		struct vgpu_reply *r;
		uint64_t qid, why;

		if (!d->async_seq[i])
			continue;
		r = completion_at(d, d->async_seq[i] - 1);
		if (vgpu_load_acquire32(&r->seq) != (uint32_t)d->async_seq[i])
			continue;
		d->async_seq[i] = 0;
		qid = vgpu_load_relaxed64(&r->v[0]);
		why = vgpu_load_relaxed64(&r->v[1]);
		if (vgpu_load_relaxed32(&r->status) == VGPU_ST_OK && qid < d->queues)
			d->died[qid] = why && why < VGPU_ST_COUNT ? (uint8_t)why : VGPU_ST_CONTEXT_DEAD;
	}
}

static void keep_posted(struct device *d)
{
	struct vgpu_admin_cmd cmd = { .op = VGPU_ADMIN_ASYNC_EVENT };

	if (d->async_seq[0] && d->admin_tail - d->async_seq[0] < ASYNC_AGE)
		return;
	d->async_seq[1] = d->async_seq[0];
	d->async_seq[0] = post(d, &cmd) + 1;
}

uint64_t admin_post(struct device *d, const struct vgpu_admin_cmd *cmd)
{
	if (d->ready) {
		harvest(d);
		keep_posted(d);
	}
	return post(d, cmd);
}

/*
 * The deadline is of time in which this process ran: one that was stopped has not seen the device be silent, so that
 * between two looks no more than LOOK_MS count.
 */
int admin_wait(struct device *d, uint64_t index, struct vgpu_reply *out)
{
	uint64_t left = admin_ms * 1000000ull, before = now_ns(), now, took, drain;
	struct vgpu_reply *done = completion_at(d, index);
	uint32_t status;

	if (d->admin_hangs)
		return -ETIMEDOUT;
	while (vgpu_load_acquire32(&done->seq) != (uint32_t)(index + 1)) {
		struct pollfd p[2] = { { .fd = d->irq_fd[0], .events = POLLIN },
				       { .fd = d->ops->poll_fd(d->v), .events = POLLIN } };

		now = now_ns();
		took = now - before < LOOK_MS * 1000000ull ? now - before : LOOK_MS * 1000000ull;
		before = now;
		left -= took < left ? took : left;
		if (!left) {
			d->admin_given_up |= 1ull << index % VGPU_ADMIN_SLOTS;
			return -ETIMEDOUT;
		}
		if (poll(p, 2, left / 1000000 < LOOK_MS / 2 ? (int)(left / 1000000) + 1 : LOOK_MS / 2) < 0 && errno != EINTR)
			return -errno;
		if (p[0].revents && read(d->irq_fd[0], &drain, 8) < 0 && errno != EAGAIN)
			return -errno;
		if (p[1].revents && (d->ops->event(d->v) < 0 || device_trouble(d)))
			return -EPIPE;
	}
	if (out)
		memcpy(out, done, sizeof(*out));
	/* Read once into a local: device memory may change under us. */
	status = vgpu_load_relaxed32(&done->status);
	return status < VGPU_ST_COUNT ? (int)status : VGPU_ST_INTERNAL;
}

int admin_call(struct device *d, const struct vgpu_admin_cmd *cmd, struct vgpu_reply *out)
{
	return d->v ? admin_wait(d, admin_post(d, cmd), out) : -EPIPE;
}

int admin_call_context(struct device *d, const struct vgpu_admin_cmd *cmd, const char *what)
{
	struct vgpu_admin_cmd end = { .op = VGPU_ADMIN_CTX_DESTROY, .q = cmd->q };
	int rc = admin_call(d, cmd, NULL);

	if (rc != -ETIMEDOUT || d->admin_hangs)
		return rc;
	log_warn("device %u: %s of queue %u got no answer in %u ms: that context ends", d->index, what, cmd->q, admin_ms);
	rc = admin_call(d, &end, NULL);
	return rc < 0 ? rc : VGPU_ST_CONTEXT_DEAD;
}

void admin_forget(struct device *d, uint32_t qid)
{
	harvest(d);
	d->died[qid] = 0;
}

void admin_async(struct device *d)
{
	if (!d->ready)
		return;
	harvest(d);
	for (unsigned q = 0; d->ready && q < d->queues; q++) {
		uint32_t status = d->died[q];

		d->died[q] = 0;
		if (status && d->owner[q])
			context_died(d->owner[q], status, NULL);        /* may lose the device */
	}
	if (d->ready)
		keep_posted(d);
}
