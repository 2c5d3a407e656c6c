/* SPDX-License-Identifier: MIT */
/*
 * See context.h. Order at the end of a context, always: the data thread lets go, the device kills
 * the process, then memory is unmapped from the device, then it is freed.
 */
#include "context.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "mailbox.h"
#include "status.h"

#define WEIGHT_DEFAULT 100u

static struct vgpu_ctx_head *head_of(const struct client *c, uint32_t n)
{
	return (struct vgpu_ctx_head *)(c->seg0 + VGPU_CTX_OFFSET(n));
}

/* Why a mapping failed: the device is gone, or it refuses. */
static uint32_t map_failed(struct device *d, int rc)
{
	if (rc == -ETOOMANYREFS)
		return VGPU_ST_IN_FLIGHT;
	if (rc != -EPIPE && rc != -ETIMEDOUT && rc != -EPROTO)
		return VGPU_ST_OUT_OF_MEMORY;
	health_lost(d, "it does not answer");
	return VGPU_ST_DEVICE_LOST;
}

uint32_t context_map_window(struct client *c, struct device *d)
{
	if (c->mapped_on & (1u << d->index))
		return VGPU_ST_OK;
	for (unsigned s = 0; s < c->segs; s++) {
		iova_t at = { client_iova(c).v + c->seg_offset[s] };
		int rc = d->ops->dma_map(d->v, at, c->seg[s].bytes, c->seg[s].fd, 0, s ? NULL : c->seg0);

		if (rc < 0) {
			log_client(LOG_WARN, "client %u: its window cannot be mapped on %s: %s", c->id, d->spec, strerror(-rc));
			while (s--)
				d->ops->dma_unmap(d->v, (iova_t){ client_iova(c).v + c->seg_offset[s] }, c->seg[s].bytes);
			return map_failed(d, rc);
		}
	}
	c->mapped_on |= 1u << d->index;
	return VGPU_ST_OK;
}

void context_unmap_window(struct client *c)
{
	for (unsigned i = 0; i < agent.opt.devices; i++) {
		struct device *d = &agent.dev[i];

		if (!(c->mapped_on & (1u << i)) || !d->ready)
			continue;
		for (unsigned s = 0; s < c->segs; s++)
			d->ops->dma_unmap(d->v, (iova_t){ client_iova(c).v + c->seg_offset[s] }, c->seg[s].bytes);
	}
	c->mapped_on = 0;
}

/* One command where the device sees IOVAs; else one for each part of the segment that is contiguous for it. */
static uint32_t admin_segment(struct context *x, unsigned s)
{
	struct client *c = x->client;
	uint64_t done = 0, n;
	int rc = VGPU_ST_OK;

	for (; done < c->seg[s].bytes && rc == VGPU_ST_OK; done += n) {
		uint64_t at = c->seg_offset[s] + done, left = c->seg[s].bytes - done;
		struct vgpu_admin_cmd cmd = { .op = VGPU_ADMIN_SEGMENT, .q = (uint16_t)x->qid, .c = c->span_base + at };

		cmd.a = device_bus(x->device, client_iova(c).v + at, &n);
		cmd.b = n = n < left ? n : left;
		if (!n)
			return VGPU_ST_INTERNAL;
		rc = admin_call_context(x->device, &cmd, "SEGMENT");
	}
	if (rc < 0) {
		health_lost(x->device, "it does not answer");
		return VGPU_ST_DEVICE_LOST;
	}
	return (uint32_t)rc;
}

uint32_t context_add_segment(struct client *c, unsigned s)
{
	for (unsigned i = 0; i < agent.opt.devices; i++) {
		struct device *d = &agent.dev[i];
		iova_t at = { client_iova(c).v + c->seg_offset[s] };
		int rc;

		if (!(c->mapped_on & (1u << i)) || !d->ready)
			continue;
		rc = d->ops->dma_map(d->v, at, c->seg[s].bytes, c->seg[s].fd, 0, NULL);
		if (rc < 0)
			return map_failed(d, rc);
	}
	for (unsigned n = 0; n < VGPU_MAX_CONTEXTS; n++) {
		struct context *x = &c->ctx[n];
		uint32_t st = x->state == CONTEXT_LIVE ? admin_segment(x, s) : VGPU_ST_OK;

		/* a context that cannot see all of the window would fault on good pointers later */
		if (st != VGPU_ST_OK && x->state == CONTEXT_LIVE)
			context_died(x, st, "a window segment could not be mapped in the context");
	}
	return VGPU_ST_OK;
}

/* What the number's last life left in segment 0 goes: a stale slot must never look valid. */
static void clear_segment0(struct client *c, uint32_t n)
{
	memset(c->seg0 + VGPU_CTX_OFFSET(n), 0, VGPU_CTX_STRIDE);
}

static uint32_t queue_block(struct context *x)
{
	struct device *d = x->device;
	int rc = -ENOMEM;

	if (pool_alloc(&x->qb_mem, VGPU_QB_BYTES, "vgpu-queue") < 0)
		return VGPU_ST_OUT_OF_MEMORY;
	x->qb_va = pool_map(&x->qb_mem, NULL);
	if (!x->qb_va)
		goto free;
	memset(x->qb_va, 0, VGPU_QB_BYTES);
	rc = d->ops->dma_map(d->v, pool_queue_iova(x->qid), x->qb_mem.bytes, x->qb_mem.fd, 0, x->qb_va);
	if (rc == 0)
		return VGPU_ST_OK;
	pool_unmap(&x->qb_mem, x->qb_va);
	x->qb_va = NULL;
free:
	pool_free(&x->qb_mem);
	return map_failed(d, rc);
}

static void free_queue_block(struct context *x)
{
	if (!x->qb_va)
		return;
	if (x->device->ready)
		x->device->ops->dma_unmap(x->device->v, pool_queue_iova(x->qid), x->qb_mem.bytes);
	pool_unmap(&x->qb_mem, x->qb_va);
	x->qb_va = NULL;
	pool_free(&x->qb_mem);
}

static void point_at_memory(struct context *x)
{
	struct client *c = x->client;
	uint8_t *qb = x->qb_va, *ctx = c->seg0 + VGPU_CTX_OFFSET(x->number);

	x->io_index = x->io_taken = 0;
	x->ctl_tail = x->ctl_taken = x->outstanding = 0;
	x->commands = x->memory_bytes = 0;
	x->stalled = 0;
	x->kill = 0;
	x->qb = (struct vgpu_qb_head *)qb;
	x->ctl = (union vgpu_slot *)(qb + VGPU_QB_CTL);
	x->replies = (struct vgpu_reply *)(qb + VGPU_QB_REPLIES);
	x->ring = (union vgpu_slot *)(qb + VGPU_QB_IO);
	x->head = (struct vgpu_ctx_head *)ctx;
	x->timelines = (struct vgpu_timeline *)(ctx + VGPU_CTX_TIMELINES);
	x->ioq = (union vgpu_slot *)(ctx + VGPU_CTX_IOQ);
	x->asym = x->device->asym;
	x->doorbell_fd = x->device->doorbell_fd[1 + x->qid];
	x->env = (struct vgpu_check_env){
		.window_base = c->span_base, .window_bytes = VGPU_WINDOW_SPAN,
		.device_base = VGPU_DEVICE_BASE(c->span_base, x->device->index), .device_bytes = VGPU_DEVICE_SPAN,
		.arena_bytes = VGPU_ARENA_BYTES };
}

/* A few queues of a device stay for other users, whatever one of them does. */
static int user_has_enough(const struct device *d, uid_t uid)
{
	unsigned have = 0;

	for (unsigned q = 0; q < d->info.max_contexts; q++)
		have += d->owner[q] && d->owner[q]->client->uid == uid;
	return have >= d->info.max_contexts - d->info.max_contexts / 8;
}

uint32_t context_create(struct client *c, uint32_t device, uint32_t weight, uint32_t *number)
{
	struct device *d = &agent.dev[device < VGPU_MAX_DEVICES ? device : 0];
	struct vgpu_ctx_create *create;
	struct vgpu_admin_cmd cmd = { .op = VGPU_ADMIN_CTX_CREATE };
	struct context *x = NULL;
	uint64_t whole;
	uint32_t n, st, used = 0;
	int rc, q;

	if (device >= agent.opt.devices)
		return VGPU_ST_INVALID;
	if (!d->ready)
		return VGPU_ST_DEVICE_LOST;
	for (n = 0; n < VGPU_MAX_CONTEXTS; n++) {
		if (c->ctx[n].state != CONTEXT_FREE)
			used++;
		else if (!x)
			x = &c->ctx[n];
	}
	q = device_free_queue(d);
	if (!x || used >= agent.opt.max_contexts || q < 0 || user_has_enough(d, c->uid))
		return VGPU_ST_LIMIT;
	st = context_map_window(c, d);
	if (st != VGPU_ST_OK)
		return st;

	n = (uint32_t)(x - c->ctx);
	x->client = c;
	x->number = n;
	x->device = d;
	x->qid = (uint32_t)q;
	st = queue_block(x);
	if (st != VGPU_ST_OK)
		return st;
	point_at_memory(x);
	drr_init(&x->share, weight ? weight : WEIGHT_DEFAULT);
	clear_segment0(c, n);

	cmd.a = device_bus(d, POOL_IOVA_ADMIN + ADMIN_CREATE, &whole);
	create = (struct vgpu_ctx_create *)(d->admin_va + ADMIN_CREATE);
	*create = (struct vgpu_ctx_create){
		.queue_iova = device_bus(d, pool_queue_iova(x->qid).v, &whole),
		.seg0_iova = device_bus(d, client_iova(c).v, &whole),
		.span_base = c->span_base, .span_bytes = VGPU_SPAN_BYTES, .device_base = x->env.device_base,
		.memory_limit = c->memory_quota < d->info.memory_bytes ? c->memory_quota : d->info.memory_bytes,
		.context = n, .weight = weight ? weight : WEIGHT_DEFAULT,
		.flags = d->asym && c->asym ? VGPU_CTX_CLIENT_ASYM : 0 };
	cmd.q = (uint16_t)q;
	admin_forget(d, x->qid);
	d->owner[q] = x;
	rc = admin_call_context(d, &cmd, "CTX_CREATE");
	if (rc < 0) {
		d->owner[q] = NULL;
		health_lost(d, "it does not answer");
		free_queue_block(x);
		return VGPU_ST_DEVICE_LOST;
	}
	if (rc != VGPU_ST_OK) {
		d->owner[q] = NULL;
		free_queue_block(x);
		return (uint32_t)rc;
	}
	x->state = CONTEXT_LIVE;
	mailbox_call(MAILBOX_ADD_CONTEXT, x, 0);
	for (unsigned s = 1; s < c->segs && x->state == CONTEXT_LIVE; s++) {
		st = admin_segment(x, s);
		if (st != VGPU_ST_OK) {
			context_destroy(x);
			return st;
		}
	}
	if (x->state != CONTEXT_LIVE) {         /* the device went meanwhile */
		context_destroy(x);
		return VGPU_ST_DEVICE_LOST;
	}
	*number = n;
	log_debug("client %u: context %u on device %u (queue %u)", c->id, n, device, x->qid);
	return VGPU_ST_OK;
}

/* Data thread, then device, then memory. Leaves state and number to the caller. */
static void take_down(struct context *x, uint32_t status)
{
	struct device *d = x->device;

	mailbox_call(MAILBOX_DEL_CONTEXT, x, status);
	status_past(x);
	x->state = CONTEXT_DEAD;
	if (d->ready) {
		struct vgpu_admin_cmd cmd = { .op = VGPU_ADMIN_CTX_DESTROY, .q = (uint16_t)x->qid };

		if (admin_call(d, &cmd, NULL) < 0)
			health_lost(d, "it does not answer");
	}
	d->owner[x->qid] = NULL;
	free_queue_block(x);
}

void context_destroy(struct context *x)
{
	if (x->state == CONTEXT_LIVE) {
		take_down(x, VGPU_ST_CONTEXT_DEAD);
		log_debug("client %u: context %u destroyed", x->client->id, x->number);
	}
	x->state = CONTEXT_FREE;
}

_Static_assert(VGPU_MAX_CONTEXTS <= ADMIN_TOGETHER, "all contexts of a client are ended together");

void context_destroy_all(struct client *c)
{
	uint64_t index[VGPU_MAX_CONTEXTS];
	uint32_t ending = 0;

	for (unsigned n = 0; n < VGPU_MAX_CONTEXTS; n++) {
		struct context *x = &c->ctx[n];
		struct vgpu_admin_cmd cmd = { .op = VGPU_ADMIN_CTX_DESTROY, .q = (uint16_t)x->qid };

		if (x->state == CONTEXT_LIVE) {
			mailbox_call(MAILBOX_DEL_CONTEXT, x, VGPU_ST_CONTEXT_DEAD);
			status_past(x);
			ending |= 1u << n;
			if (x->device->ready)
				index[n] = admin_post(x->device, &cmd);
		}
		x->state = CONTEXT_FREE;
	}
	for (unsigned n = 0; n < VGPU_MAX_CONTEXTS; n++) {
		struct context *x = &c->ctx[n];

		if (!(ending >> n & 1))
			continue;
		/* not ready: it was lost since, by one of the waits before this one or earlier */
		if (x->device->ready && admin_wait(x->device, index[n], NULL) < 0)
			health_lost(x->device, "it does not answer");
		x->device->owner[x->qid] = NULL;
		free_queue_block(x);
	}
}

void context_died(struct context *x, uint32_t status, const char *report)
{
	struct client *c = x->client;
	struct vgpu_ctx_head *h = head_of(c, x->number);
	struct vgpu_timeline *t = x->timelines;
	char text[160];
	int n;

	if (x->state != CONTEXT_LIVE)
		return;
	take_down(x, status);
	n = snprintf(text, sizeof(text), "%s", report ? report : vgpu_status_text(status));
	if (n >= (int)sizeof(text))
		n = sizeof(text) - 1;
	log_client(LOG_INFO, "client %u (%s, pid %d): context %u ended: %s", c->id, c->command, c->pid, x->number, text);
	/* The process may have said more precisely what happened, before it died: then that stays. */
	if (!vgpu_load_acquire32(&h->error)) {
		memcpy(h->report, text, (size_t)n);
		vgpu_store_relaxed32(&h->report_bytes, (uint32_t)n);
		vgpu_store_release32(&h->error, status);
	}
	for (unsigned s = 0; s < VGPU_MAX_STREAMS; s++) {
		if (!vgpu_load_relaxed32(&t[s].error))
			vgpu_store_release32(&t[s].error, status);
		vgpu_store_release32(&t[s].wake, vgpu_load_relaxed32(&t[s].wake) + 1);
	}
	/* Partner: a waiter's fence between waiter = 1 and its last look at error. */
	vgpu_publisher_fence(0);
	for (unsigned s = 0; s < VGPU_MAX_STREAMS; s++)
		if (vgpu_load_relaxed32(&t[s].waiter)) {
			vgpu_store_relaxed32(&t[s].waiter, 0);
			futex_wake(&t[s].wake);
		}
}
