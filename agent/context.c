/* SPDX-License-Identifier: MIT */
/*
 * See context.h. What a context needs of its device is written in its state; context_pump() posts what is due, one
 * command about a context at a time, and their ends (created, mapped, destroyed) move it on:
 *
 *   FREE -> STARTING -> LIVE -> ENDING -> FREE
 *               \________________^  \-> DEAD (it died; the client has not given its number back)
 *
 * Order at the end of a context, always: the data thread lets go, the device kills
 * the process, then memory is unmapped from the device, then it is freed. Mapping and unmapping are errands (errand.h).
 */
#include "context.h"
#include "about.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "allot.h"
#include "client.h"
#include "device.h"
#include "errand.h"
#include "guard.h"
#include "mailbox.h"


static struct vgpu_ctx_head *head_of(const struct client *c, uint32_t n)
{
	return (struct vgpu_ctx_head *)(c->seg0 + VGPU_CTX_OFFSET(n));
}

/* Why a mapping failed: the device is gone, or it refuses. */
static uint32_t map_failed(int rc)
{
	if (rc == -ETOOMANYREFS)
		return VGPU_ST_IN_FLIGHT;
	return rc == -EPIPE || rc == -ETIMEDOUT || rc == -EPROTO ? VGPU_ST_DEVICE_LOST : VGPU_ST_OUT_OF_MEMORY;
}

static iova_t seg_iova(const struct client *c, unsigned s)
{
	return (iova_t){ client_iova(c).v + c->seg_offset[s] };
}

/* ---- the client's window ------------------------------------------------------------------------ */

static void unmapped(void *object, uint32_t unused, int rc)
{
	struct client *c = object;

	(void)unused, (void)rc;
	c->errands--;
	client_progress(c);
}

/* Takes segment s from the devices that have it. 0: none has it any more. */
static int take_back(struct client *c, unsigned s)
{
	for (unsigned i = 0; i < agent.opt.devices; i++) {
		struct device *d = &agent.dev[i];

		if (!(c->seg_on[s] & 1u << i))
			continue;
		if (d->ready && errand_unmap(d, seg_iova(c, s), c->seg[s].bytes, unmapped, c, 0) < 0)
			return -1;
		c->errands += d->ready != 0;
		c->seg_on[s] &= (uint8_t)~(1u << i);
	}
	return c->errands ? -1 : 0;
}

int context_unmap_window(struct client *c)
{
	int rc = 0;

	for (unsigned s = 0; s < c->segs && !agent.stop; s++)   /* at the end all go with the device */
		if (take_back(c, s) < 0)
			rc = -1;
	return c->errands ? -1 : rc;
}

#define PART(s, i) ((s) * VGPU_MAX_DEVICES + (i))

static void segment_mapped(void *object, uint32_t part, int rc)
{
	struct client *c = object;
	struct device *d = &agent.dev[part % VGPU_MAX_DEVICES];

	c->errands--;
	if (rc == 0 && d->ready)
		c->seg_on[part / VGPU_MAX_DEVICES] |= (uint8_t)(1u << d->index);
	else if (rc < 0 && !c->grow_status)
		c->grow_status = map_failed(rc);
	client_progress(c);
}

int context_map_segment(struct client *c, unsigned s)
{
	for (unsigned i = 0; i < agent.opt.devices && c->grow_map == GROW_MAPS; i++) {
		struct device *d = &agent.dev[i];
		int rc;

		if (!(c->seg_on[0] & 1u << i) || !d->ready || c->grow_told & 1u << i)
			continue;
		rc = errand_map(d, seg_iova(c, s), &c->seg[s], segment_mapped, c, PART(s, i));
		if (rc == -EAGAIN)
			return -1;
		c->grow_told |= 1u << i;
		c->errands += rc == 0;
		if (rc < 0)
			c->grow_status = VGPU_ST_OUT_OF_MEMORY;
	}
	if (c->errands)
		return -1;
	if (c->grow_status)
		c->grow_map = GROW_UNDONE;
	return c->grow_map == GROW_UNDONE ? take_back(c, s) : 0;
}

/* What the number's last life left in segment 0 goes: a stale slot must never look valid. */
static void clear_segment0(struct client *c, uint32_t n)
{
	memset(c->seg0 + VGPU_CTX_OFFSET(n), 0, VGPU_CTX_STRIDE);
}

static uint32_t queue_block(struct context *x)
{
	if (pool_alloc(&x->qb_mem, VGPU_QB_BYTES, "vgpu-queue") < 0)
		return VGPU_ST_OUT_OF_MEMORY;
	x->qb_va = pool_map(&x->qb_mem, NULL);
	if (!x->qb_va) {
		pool_free(&x->qb_mem);
		return VGPU_ST_OUT_OF_MEMORY;
	}
	memset(x->qb_va, 0, VGPU_QB_BYTES);
	return VGPU_ST_OK;
}

static void free_queue_block(struct context *x)
{
	if (!x->qb_va)
		return;
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
	x->map = MAP_NONE;
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
		.device_base = VGPU_DEVICE_BASE(c->span_base, x->place), .device_bytes = VGPU_DEVICE_SPAN,
		.arena_bytes = VGPU_ARENA_BYTES };
}

/* ---- the end ---------------------------------------------------------------------------------- */

static void finish(struct context *x);

static void block_unmapped(void *object, uint32_t unused, int rc)
{
	struct context *x = object;

	(void)unused, (void)rc;         /* a device that does not even unmap is lost, and then nothing is mapped there */
	x->errands--;
	finish(x);
}

/* The device has no process of it any more: now it lets go of the memory. Called until that has come about. */
static void finish(struct context *x)
{
	struct device *d = x->device;

	if (x->errands)
		return;
	if (x->qb_on && d->ready) {
		if (errand_unmap(d, pool_queue_iova(x->qid), x->qb_mem.bytes, block_unmapped, x, 0) < 0)
			return;         /* context_pump() comes back to it */
		x->errands = 1;
		x->qb_on = 0;
		return;
	}
	d->owner[x->qid] = NULL;
	free_queue_block(x);
	x->state = x->after;
	client_more();          /* somebody may wait for the queue */
	client_progress(x->client);
}

static void finished(struct context *x)
{
	if (x->memory_bytes)
		mailbox_call(MAILBOX_REFUND, x, 0);
	x->over = 1;
	finish(x);
}

static void destroyed(struct context *x, int rc)
{
	if (rc == -ETIMEDOUT)
		x->device->trouble = "it does not answer";      /* which ends all that it has */
	else
		finished(x);
}

/* Nobody forwards to it any more. The device still has it. */
static void retire(struct context *x, uint32_t status)
{
	if (x->state == CONTEXT_LIVE) {
		mailbox_call(MAILBOX_DEL_CONTEXT, x, status);
		load_past(x);
	}
	x->state = CONTEXT_ENDING;
	x->asked = 0;
	admin_abandon(x->device, x);
}

static void end(struct context *x)
{
	if (!x->device->ready || !x->created)
		finished(x);
}

void context_end(struct context *x)
{
	x->after = CONTEXT_FREE;
	switch (x->state) {
	case CONTEXT_STARTING:
	case CONTEXT_LIVE:
		retire(x, VGPU_ST_CONTEXT_DEAD);
		log_debug("client %u: context %u ends", x->client->id, x->number);
		end(x);
		break;
	case CONTEXT_DEAD:
		x->state = CONTEXT_FREE;
		break;
	case CONTEXT_FREE:
	case CONTEXT_ENDING:
		break;
	}
}

void context_device_gone(struct device *d)
{
	for (unsigned q = 0; q < d->queues; q++) {
		struct context *x = d->owner[q];

		if (x && x->state == CONTEXT_ENDING && !x->over)
			finished(x);
		else if (x && x->state == CONTEXT_ENDING)
			finish(x);
		else if (x)
			context_died(x, VGPU_ST_DEVICE_LOST, "the device is gone");
	}
}

/* ---- birth -------------------------------------------------------------------------------------- */

static void not_started(struct context *x, uint32_t status)
{
	x->result = status;
	x->after = CONTEXT_FREE;
	retire(x, status);
	end(x);
}

static void no_answer(const struct context *x, const char *what)
{
	log_about(x->client);
	log_device(x->device);
	log_client(LOG_WARN, "device %u: %s of queue %u got no answer in %u ms: that context ends", x->device->index, what, x->qid,
		   admin_ms);
}

static void part_mapped(struct context *x, int rc, const char *what)
{
	struct client *c = x->client;

	x->errands--;
	if (rc < 0 && !x->refused) {
		x->refused = map_failed(rc);
		log_about(c);
		log_device(x->device);
		log_client(LOG_WARN, "client %u: %s cannot be mapped on %s: %s", c->id, what, x->device->spec, strerror(-rc));
	}
	if (x->errands)
		return;
	if (x->state == CONTEXT_STARTING && x->refused)
		not_started(x, x->refused);
	else if (x->state == CONTEXT_ENDING && x->over)
		finish(x);
}

static void window_mapped(void *object, uint32_t s, int rc)
{
	struct context *x = object;

	if (rc == 0 && x->device->ready)
		x->client->seg_on[s] |= (uint8_t)(1u << x->device->index);
	part_mapped(x, rc, "its window");
}

static void block_mapped(void *object, uint32_t unused, int rc)
{
	struct context *x = object;

	(void)unused;
	x->qb_on = rc == 0 && x->device->ready;
	part_mapped(x, rc, "its queue");
}

/* What the device must have before there can be a context: its client's window, its queue block. 1: it has them. */
static int has_memory(struct context *x)
{
	struct device *d = x->device;
	struct client *c = x->client;
	int rc = 0;

	for (unsigned s = 0; s < c->segs && rc == 0; s++) {
		if (c->seg_on[s] & 1u << d->index)
			continue;
		rc = errand_map(d, seg_iova(c, s), &c->seg[s], window_mapped, x, s);
		x->errands += rc == 0;
	}
	if (!x->qb_on && rc == 0) {
		rc = errand_map(d, pool_queue_iova(x->qid), &x->qb_mem, block_mapped, x, 0);
		x->errands += rc == 0;
	}
	if (rc < 0 && rc != -EAGAIN) {
		x->errands++;
		part_mapped(x, rc, "its memory");
	}
	return rc == 0 && !x->errands;
}

/* It has another segment, or was born with the first one. */
static void has_segment(struct context *x)
{
	struct client *c = x->client;

	x->segs++;
	x->seg_done = 0;
	if (x->segs < c->segs)
		return;
	if (x->state == CONTEXT_STARTING) {
		load_begin(x);
		x->state = CONTEXT_LIVE;
		mailbox_call(MAILBOX_ADD_CONTEXT, x, 0);
		log_debug("client %u: context %u on device %u (queue %u)", c->id, x->number, x->device->index, x->qid);
	}
	client_progress(c);
}

static void created(struct context *x, int rc)
{
	x->asked = 0;
	if (rc == VGPU_ST_OK) {
		has_segment(x);
		return;
	}
	if (rc == -ETIMEDOUT)
		no_answer(x, "CTX_CREATE");
	else
		x->created = 0;         /* the device has none: nothing to end */
	not_started(x, rc < 0 ? (uint32_t)VGPU_ST_CONTEXT_DEAD : (uint32_t)rc);
}

static void mapped(struct context *x, int rc)
{
	x->asked = 0;
	if (rc == VGPU_ST_OK) {
		x->seg_done += x->seg_asked;
		if (x->seg_done == x->client->seg[x->segs].bytes)
			has_segment(x);
		return;
	}
	if (rc == -ETIMEDOUT)
		no_answer(x, "SEGMENT");
	rc = rc < 0 ? VGPU_ST_CONTEXT_DEAD : rc;
	/* a context that cannot see all of the window would fault on good pointers later */
	context_died(x, (uint32_t)rc, "a window segment could not be mapped in the context");
}

static void ask_create(struct context *x)
{
	struct device *d = x->device;
	struct client *c = x->client;
	struct vgpu_admin_cmd cmd = { .op = VGPU_ADMIN_CTX_CREATE, .q = (uint16_t)x->qid };
	uint64_t whole, at;
	struct vgpu_ctx_create *create = admin_create_at(d, &at);

	cmd.a = device_bus(d, POOL_IOVA_ADMIN + at, &whole);
	*create = (struct vgpu_ctx_create){
		.queue_iova = device_bus(d, pool_queue_iova(x->qid).v, &whole),
		.seg0_iova = device_bus(d, client_iova(c).v, &whole),
		.span_base = c->span_base, .span_bytes = VGPU_SPAN_BYTES, .device_base = x->env.device_base,
		.memory_limit = c->memory_quota && c->memory_quota < d->info.memory_bytes ? c->memory_quota : d->info.memory_bytes,
		.context = x->number, .weight = x->weight,
		.flags = d->asym && c->asym ? VGPU_CTX_CLIENT_ASYM : 0 };
	if (d->features & VGPU_CAP_TENANTS) {
		create->flags |= VGPU_CTX_TENANT;
		create->user = c->tenant[TENANT_USER] ? tenant_number(c->tenant[TENANT_USER]) + 1 : 0;
		create->container = c->tenant[TENANT_CONTAINER] ? tenant_number(c->tenant[TENANT_CONTAINER]) + 1 : 0;
	}
	admin_forget(d, x->qid);
	x->asked = x->created = 1;
	admin_post(d, &cmd, x, created);
}

/* One command where the device sees IOVAs; else one for each part of the segment that is contiguous for it. */
static void ask_segment(struct context *x)
{
	struct client *c = x->client;
	uint64_t at = c->seg_offset[x->segs] + x->seg_done, left = c->seg[x->segs].bytes - x->seg_done, n;
	struct vgpu_admin_cmd cmd = { .op = VGPU_ADMIN_SEGMENT, .q = (uint16_t)x->qid, .c = c->span_base + at };

	cmd.a = device_bus(x->device, client_iova(c).v + at, &n);
	cmd.b = x->seg_asked = n < left ? n : left;
	if (!n) {
		context_died(x, VGPU_ST_INTERNAL, "a window segment could not be mapped in the context");
		return;
	}
	x->asked = 1;
	admin_post(x->device, &cmd, x, mapped);
}

static void mapped_at(struct context *x, int rc)
{
	x->asked = 0;
	if (rc == -ETIMEDOUT) {
		no_answer(x, "SEGMENT");
		context_died(x, VGPU_ST_CONTEXT_DEAD, "memory could not be mapped in the context");
		return;
	}
	x->map = MAP_DONE;
	x->map_result = rc < 0 ? (uint32_t)VGPU_ST_CONTEXT_DEAD : (uint32_t)rc;
	client_progress(x->client);
}

/* What the client asked for by MAP_AT. */
static void ask_map_at(struct context *x)
{
	const struct vgpu_msg_map_at *m = &x->client->ask_map;
	struct vgpu_admin_cmd cmd = { .op = VGPU_ADMIN_SEGMENT, .q = (uint16_t)x->qid, .b = m->bytes, .c = m->va };
	uint64_t n;

	cmd.a = device_bus(x->device, client_iova(x->client).v + m->offset, &n);
	if (n < m->bytes) {
		x->map = MAP_DONE;
		x->map_result = VGPU_ST_NOT_SUPPORTED;
		client_progress(x->client);
		return;
	}
	x->map = MAP_POSTED;
	x->asked = 1;
	admin_post(x->device, &cmd, x, mapped_at);
}

static void run_told(struct context *x, int rc)
{
	x->asked = 0;
	if (rc == -ETIMEDOUT) {
		no_answer(x, "SET_RUN");
		context_died(x, VGPU_ST_CONTEXT_DEAD, "it could not be stopped or let go on");
	} else if (rc == VGPU_ST_OK) {
		x->stopped = !x->stopped;
	}
}

static void weight_told(struct context *x, int rc)
{
	x->asked = 0;
	if (rc == -ETIMEDOUT) {
		no_answer(x, "SET_WEIGHT");
		context_died(x, VGPU_ST_CONTEXT_DEAD, "its weight could not be changed");
		return;
	}
	if (rc != VGPU_ST_OK && rc != VGPU_ST_CONTEXT_DEAD && rc != VGPU_ST_NOT_FOUND)
		log_say("%s: the device does not change weights (%s): that of client %u holds for the data thread alone", x->device->spec,
			vgpu_status_text(rc > 0 ? (uint32_t)rc : VGPU_ST_INTERNAL), x->client->id);
	x->weight = x->weight_asked;
	drr_weight(&x->share, x->weight);
}

static void ask_weight(struct context *x)
{
	struct vgpu_admin_cmd cmd = { .op = VGPU_ADMIN_SET_WEIGHT, .q = (uint16_t)x->qid, .a = x->client->weight };

	x->asked = 1;
	x->weight_asked = x->client->weight;
	admin_post(x->device, &cmd, x, weight_told);
}

static void limit_told(struct context *x, int rc)
{
	x->asked = 0;
	if (rc == -ETIMEDOUT) {
		no_answer(x, "SET_LIMIT");
		context_died(x, VGPU_ST_CONTEXT_DEAD, "its limits could not be changed");
		return;
	}
	if (rc != VGPU_ST_OK && rc != VGPU_ST_CONTEXT_DEAD && rc != VGPU_ST_NOT_FOUND)
		log_warn("%s: the device does not take a limit of client %u (%s)", x->device->spec, x->client->id,
			 vgpu_status_text(rc > 0 ? (uint32_t)rc : VGPU_ST_INTERNAL));
	x->limit[x->limit_which] = x->limit_asked;
}

/* The first that it is not told as it is, or VGPU_LIMITS. */
static unsigned limit_untold(const struct context *x)
{
	unsigned k = 0;

	while (k < VGPU_LIMITS && (x->limit[k].value == x->client->limit[k].value && x->limit[k].group == x->client->limit[k].group))
		k++;
	return k;
}

static void ask_limit(struct context *x, unsigned k)
{
	uint32_t needs = k == VGPU_LIMIT_KERNEL_MS ? VGPU_CAP_LIMITS : VGPU_CAP_SHARES;
	struct vgpu_admin_cmd cmd = { .op = VGPU_ADMIN_SET_LIMIT, .q = (uint16_t)x->qid, .a = k, .b = x->client->limit[k].value,
				      .c = x->client->limit[k].group };

	x->limit_which = k;
	x->limit_asked = x->client->limit[k];
	if (k >= VGPU_LIMIT_SHARE_CLIENT && !cmd.c)
		cmd.c = 1;              /* nobody's: there is none any more */
	if (!(x->device->features & needs)) {
		limit_told(x, VGPU_ST_NOT_SUPPORTED);
		return;
	}
	x->asked = 1;
	admin_post(x->device, &cmd, x, limit_told);
}

static void ask_run(struct context *x, int run)
{
	struct vgpu_admin_cmd cmd = { .op = VGPU_ADMIN_SET_RUN, .q = (uint16_t)x->qid, .a = (uint64_t)run };

	x->asked = 1;
	admin_post(x->device, &cmd, x, run_told);
}

void context_pump(struct device *d)
{
	d->pump++;
	for (unsigned i = 0; i < d->queues; i++) {
		struct context *x = d->owner[(d->pump + i) % d->queues];

		if (!x || x->asked || x->errands || (x->ending && !x->over))
			continue;
		if (x->state == CONTEXT_ENDING && x->over) {
			finish(x);
		} else if (x->state == CONTEXT_ENDING) {
			struct vgpu_admin_cmd cmd = { .op = VGPU_ADMIN_CTX_DESTROY, .q = (uint16_t)x->qid };

			if (!admin_room(d, NULL))
				return;
			x->ending = 1;
			admin_post(d, &cmd, x, destroyed);
		} else if (x->segs < x->client->segs && admin_room(d, x->client)) {
			if (x->created)
				ask_segment(x);
			else if (has_memory(x))
				ask_create(x);
		} else if (x->state == CONTEXT_LIVE && x->map == MAP_WANTED && admin_room(d, x->client)) {
			ask_map_at(x);
		} else if (x->state == CONTEXT_LIVE && x->stopped != x->client->stopped && admin_room(d, x->client)) {
			ask_run(x, !x->client->stopped);
		} else if (x->state == CONTEXT_LIVE && x->client->weight && x->weight != x->client->weight && admin_room(d, x->client)) {
			ask_weight(x);
		} else if (x->state == CONTEXT_LIVE && limit_untold(x) < VGPU_LIMITS && admin_room(d, x->client)) {
			ask_limit(x, limit_untold(x));
		}
	}
}

/* 1: what is missing, a queue or one of this tenant's, comes back in a moment. */
static int some_ends(const struct client *c, const struct device *d, int of_tenant)
{
	for (unsigned q = 0; q < d->info.max_contexts; q++) {
		const struct context *x = d->owner[q];

		if (x && x->state == CONTEXT_ENDING && x->after == CONTEXT_FREE && (!of_tenant || tenant_same(x->client, c)))
			return 1;
	}
	return 0;
}

uint32_t context_begin(struct client *c, uint32_t device, uint32_t weight, uint32_t place, struct context **out)
{
	struct device *d = &agent.dev[device < VGPU_MAX_DEVICES ? device : 0];
	struct context *x = NULL;
	uint32_t n, st, used = 0;
	int q;

	if (device >= agent.opt.devices)
		return VGPU_ST_INVALID;
	if (!d->ready || d->trouble || d->drained)
		return VGPU_ST_DEVICE_LOST;
	for (n = 0; n < VGPU_MAX_CONTEXTS; n++) {
		if (c->ctx[n].state != CONTEXT_FREE)
			used++;
		else if (!x)
			x = &c->ctx[n];
	}
	if (!x || used >= allot_of(c, VGPU_ALLOT_CONTEXTS, agent.opt.max_contexts))
		return VGPU_ST_LIMIT;
	q = device_free_queue(d);
	if (q < 0 || tenant_has_enough(c, d))
		return some_ends(c, d, q >= 0) ? VGPU_ST_BUSY : VGPU_ST_LIMIT;
	n = (uint32_t)(x - c->ctx);
	x->client = c;
	x->number = n;
	x->device = d;
	x->place = place ? place - 1 : d->index;
	x->qid = (uint32_t)q;
	st = queue_block(x);
	if (st != VGPU_ST_OK)
		return st;
	point_at_memory(x);
	/* who asks for less than the others is believed; more is the administrator's to give (vgpu ctl weight) */
	if (!weight || (weight > WEIGHT_DEFAULT && !tenant_rules(c)))
		weight = WEIGHT_DEFAULT;
	x->weight = c->weight ? c->weight : weight;
	drr_init(&x->share, x->weight);
	clear_segment0(c, n);
	x->created = x->ending = x->asked = x->stopped = x->over = x->qb_on = 0;
	memset(x->limit, 0, sizeof(x->limit));
	x->refused = VGPU_ST_OK;
	x->segs = 0;
	x->seg_done = 0;
	x->result = VGPU_ST_OK;
	x->state = CONTEXT_STARTING;
	d->owner[q] = x;
	*out = x;
	return VGPU_ST_OK;
}

/* ---- death -------------------------------------------------------------------------------------- */

void context_died(struct context *x, uint32_t status, const char *report)
{
	struct client *c = x->client;
	struct vgpu_ctx_head *h = head_of(c, x->number);
	struct vgpu_timeline *t = x->timelines;
	char text[160];
	int n;

	if (x->state == CONTEXT_STARTING)
		not_started(x, status);
	if (x->state != CONTEXT_LIVE)
		return;
	x->after = CONTEXT_DEAD;
	x->device->faults += !vgpu_load_relaxed32(&x->qb->error);       /* else load_past() counts it */
	if (!vgpu_load_relaxed32(&x->qb->error) && status != VGPU_ST_DEVICE_LOST && !c->leaving)
		guard_fault(c);
	retire(x, status);
	n = snprintf(text, sizeof(text), "%s", report ? report : vgpu_status_text(status));
	if (n >= (int)sizeof(text))
		n = sizeof(text) - 1;
	log_about(c);
	log_device(x->device);
	log_number("VGPU_CONTEXT", x->number);
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
	end(x);
}
