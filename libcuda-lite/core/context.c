/* SPDX-License-Identifier: MIT */
/*
 * Contexts and streams: creation, destruction, synchronization. Called by driver/context.c and
 * driver/stream.c.
 *
 * A stream is a number (0 .. 1023) in its context, with a timeline each. Numbers of destroyed streams
 * are used again once their last command is complete; tickets only grow, so an old event on that
 * number stays complete.
 */
#include "core.h"
#include "queue.h"

#include <stdlib.h>
#include <string.h>

#define DESTROY_WAIT_NS 500000000ull
#define NUMBER_WAIT_NS 2000000000ull

static struct vg_ctx *by_number[VGPU_MAX_CONTEXTS];
static struct vg_lock table_lock;
static uint64_t last_ctx_id, last_stream_id;

struct vg_ctx *vg_ctx_by_number(uint32_t number)
{
	return number < VGPU_MAX_CONTEXTS ? __atomic_load_n(&by_number[number], __ATOMIC_ACQUIRE) : NULL;
}

static bool is_blocking(const struct vg_stream *s) { return s->flags_word >> 48 & VGPU_CMD_BLOCKING; }

static struct vg_stream *stream_new(struct vg_ctx *c, uint16_t index, uint16_t flags)
{
	struct vg_stream *s = vg_new(VG_STREAM);

	if (!s)
		return NULL;
	s->ctx = c;
	s->tl = &c->timelines[index];
	s->index = index;
	s->flags_word = (uint64_t)flags << 48;
	s->id = __atomic_add_fetch(&last_stream_id, 1, __ATOMIC_RELAXED);
	return s;
}

bool vg_ctx_any(void)
{
	bool any = false;

	vg_lock(&table_lock);
	for (unsigned i = 0; i < VGPU_MAX_CONTEXTS; i++)
		any |= by_number[i] != NULL;
	vg_unlock(&table_lock);
	return any;
}

/*
 * A session that was lost before is made anew. One that ends while we ask is told: who was ended then, or broke the protocol, does not
 * go on under another name as if nothing had been.
 */
static uint32_t ask_for_one(uint32_t ordinal, struct vgpu_msg_ctx_r *r)
{
	struct vgpu_msg_ctx m;

	if (vg_agent_lost() && !vg_reconnect())
		return VGPU_ST_AGENT_LOST;
	m = (struct vgpu_msg_ctx){ .h = { VGPU_MSG_CTX_CREATE, 0 }, .device = vg.map[ordinal],
				   .place = vg.place ? vg.place + vg.map[ordinal] + 1 : 0 };
	return vg_request(&m, sizeof m, r, sizeof *r, NULL, 0);
}

uint32_t vg_ctx_create(uint32_t ordinal, struct vg_ctx **out)
{
	struct vgpu_msg_ctx_r r;
	struct vg_ctx *c = vg_new(VG_CONTEXT);
	uint32_t status;
	uint8_t *base;

	if (!c)
		return VGPU_ST_OUT_OF_MEMORY;
	status = ask_for_one(ordinal, &r);
	if (!status && r.context >= VGPU_MAX_CONTEXTS)
		status = VGPU_ST_PROTOCOL;
	if (status) {
		/* Reasons that no CUresult has a name for, and that are not this program's. */
		if (status == VGPU_ST_IN_FLIGHT || status == VGPU_ST_CONTEXT_DEAD)
			vg_say("no context: %s%s", vgpu_status_text(status), status == VGPU_ST_CONTEXT_DEAD ? " as it began; the device's log says how" : "");
		vg_delete(VG_CONTEXT, c);
		return status;
	}
	base = vg.seg0 + VGPU_CTX_OFFSET(r.context);
	c->number = r.context;
	c->ordinal = ordinal;
	c->head = (struct vgpu_ctx_head *)base;
	c->timelines = (struct vgpu_timeline *)(base + VGPU_CTX_TIMELINES);
	c->queue.slots = (union vgpu_slot *)(base + VGPU_CTX_IOQ);
	c->queue.head = &c->head->io_head;
	c->queue.size = VGPU_IOQ_SLOTS;
	c->queue.need_wakeup = &vg.agent->need_wakeup;
	c->queue.tail = r.io_index;
	c->queue.room = r.io_index + VGPU_IOQ_SLOTS;
	c->id = __atomic_add_fetch(&last_ctx_id, 1, __ATOMIC_RELAXED);
	c->refs = 1;
	memcpy(c->max_grid, vg.info[ordinal].max_grid, sizeof c->max_grid);
	memcpy(c->max_block, vg.info[ordinal].max_block, sizeof c->max_block);
	c->max_threads = vg.info[ordinal].max_threads_per_block;
	vgpu_store_relaxed64(&c->head->printf_tail, vgpu_load_relaxed64(&c->head->printf_head));
	c->legacy = stream_new(c, 0, VGPU_CMD_LEGACY);
	if (!c->legacy) {
		struct vgpu_msg_ctx d = { .h = { VGPU_MSG_CTX_DESTROY, 0 }, .context = c->number };
		struct vgpu_msg_status dr;

		vg_request(&d, sizeof d, &dr, sizeof dr, NULL, 0);
		vg_delete(VG_CONTEXT, c);
		return VGPU_ST_OUT_OF_MEMORY;
	}
	c->streams[0] = c->queue.last = c->legacy;
	c->stream_top = 1;
	vg_publish(c->legacy);
	vg_publish(c);
	/* Whoever finds the session lost tells all contexts that it sees; one that it did not see yet looks itself. Partner: lose_for(). */
	__atomic_store_n(&by_number[c->number], c, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&vg.lost, __ATOMIC_SEQ_CST))
		__atomic_store_n(&c->error, VGPU_ST_AGENT_LOST, __ATOMIC_RELEASE);
	*out = c;
	return VGPU_ST_OK;
}

/* Forgets every object that the context owned; their handles are invalid from here on. Memory is not among them. */
static void drop_objects(struct vg_ctx *c)
{
	/* Before any of them is gone: the legacy stream knows of the others' captures. */
	for (unsigned i = 0; i < VGPU_MAX_STREAMS; i++)
		if (c->streams[i] && c->streams[i]->capture)
			vg_capture_drop(c->streams[i], true);
	for (unsigned i = 0; i < VGPU_MAX_STREAMS; i++)
		if (c->streams[i]) {
			struct vg_stream *s = c->streams[i];

			c->streams[i] = NULL;
			vg_host_forget(s);
			vg_delete(VG_STREAM, s);
		}
	vg_module_drop_ctx(c);
	vg_vmm_drop_ctx(c);
}

void vg_ctx_destroy(struct vg_ctx *c)
{
	struct vgpu_msg_ctx m = { .h = { VGPU_MSG_CTX_DESTROY, 0 }, .context = c->number };
	struct vgpu_msg_status r;

	/* Work that is about to end may: its printf text and results are wanted. An endless kernel is killed. */
	(void)vg_ctx_sync_for(c, DESTROY_WAIT_NS);
	vg_unpublish(c);
	/* From here on nothing of it is waited for; host functions that did not run yet are dropped. */
	__atomic_store_n(&c->error, VGPU_ST_BAD_HANDLE, __ATOMIC_RELEASE);
	vg_host_drain(c);
	vg_lock(&table_lock);
	__atomic_store_n(&by_number[c->number], NULL, __ATOMIC_RELEASE);
	vg_unlock(&table_lock);
	/* The objects first: the number may be somebody else's context as soon as the agent has answered. */
	drop_objects(c);
	vg_request(&m, sizeof m, &r, sizeof r, NULL, 0);
	/* The memory behind it: until then a kernel without an end may write to the window, whoever has that part by now. */
	vg_deferred_drop_ctx(c);
	vg_event_drop_ctx(c);
	vg_array_drop_ctx(c);
	vg_ref_drop_ctx(c);
	vg_pool_drop_ctx(c);
	vg_mem_drop_ctx(c);
	vg_delete(VG_CONTEXT, c);
}

/* ---- streams ---- */

/* A number that nobody uses and whose last command is complete. 0: none. Context lock held. */
static uint16_t free_number(struct vg_ctx *c)
{
	for (unsigned i = 1; i < VGPU_MAX_STREAMS; i++)
		/* An error that a refused command left on a timeline stays there: nobody inherits it. */
		if (!c->streams[i] && vgpu_timeline_reached(&c->timelines[i], c->dying[i]) &&
		    !vgpu_load_relaxed32(&c->timelines[i].error))
			return (uint16_t)i;
	return 0;
}

/* All numbers rest: waits for the destroyed stream that ends first. False: there is none, or it stalls. */
static bool wait_for_number(struct vg_ctx *c)
{
	uint64_t first = ~0ull;
	unsigned at = 0;

	vg_lock(&c->lock);
	for (unsigned i = 1; i < VGPU_MAX_STREAMS; i++)
		if (!c->streams[i] && c->dying[i] < first && !vgpu_load_relaxed32(&c->timelines[i].error)) {
			first = c->dying[i];
			at = i;
		}
	vg_unlock(&c->lock);
	return at && vg_wait_timeline_for(c, &c->timelines[at], first, NUMBER_WAIT_NS) == VGPU_ST_OK;
}

uint32_t vg_stream_create(struct vg_ctx *c, uint16_t cmd_flags, struct vg_stream **out)
{
	struct vg_stream *s = NULL;
	uint16_t i;

	for (int again = 0; again < 3; again++) {
		vg_lock(&c->lock);
		i = free_number(c);
		if (i && (s = stream_new(c, i, cmd_flags)) != NULL) {
			c->streams[i] = s;
			c->dying[i] = 0;
			if (i >= c->stream_top)
				__atomic_store_n(&c->stream_top, i + 1u, __ATOMIC_RELEASE);
			if (cmd_flags & VGPU_CMD_BLOCKING)
				__atomic_store_n(&c->blocking_ever, true, __ATOMIC_RELAXED);
		}
		vg_unlock(&c->lock);
		if (s) {
			vg_publish(s);
			*out = s;
			return VGPU_ST_OK;
		}
		if (!again)
			vg_thread_sweep();
		else if (!wait_for_number(c))
			break;
	}
	return VGPU_ST_OUT_OF_MEMORY;
}

/* Work in it goes on; the number rests until it is complete. */
void vg_stream_destroy(struct vg_stream *s)
{
	struct vg_ctx *c = s->ctx;

	if (s->capture)
		vg_capture_drop(s, false);
	vg_unpublish(s);
	vg_host_forget(s);
	vg_lock(&c->lock);
	c->dying[s->index] = vg_stream_last(s);
	c->dying_blocks[s->index] = is_blocking(s);
	c->streams[s->index] = NULL;
	vg_unlock(&c->lock);
	vg_delete(VG_STREAM, s);
}

uint64_t vg_stream_mark(struct vg_stream *s)
{
	uint64_t last;

	/*
	 * Work of the legacy stream is also all earlier work of the blocking streams, of destroyed ones too: a barrier of
	 * its own is needed to have a ticket for it. Nothing else needs a command.
	 */
	if (s->index == 0 && __atomic_load_n(&s->ctx->blocking_ever, __ATOMIC_RELAXED))
		return vg_submit(s, VGPU_OP_NOP, NULL, NULL, 0);
	last = vg_stream_last(s);
	/* And a place in a blocking stream lies behind all earlier legacy work. */
	if (is_blocking(s)) {
		uint64_t legacy = vg_stream_last(s->ctx->legacy);

		if (legacy > last && !vgpu_timeline_reached(s->ctx->legacy->tl, legacy))
			return vg_submit(s, VGPU_OP_NOP, NULL, NULL, 0);
	}
	return last;
}

uint32_t vg_stream_sync(struct vg_stream *s)
{
	struct vg_ctx *c = s->ctx;
	/* Only its own work: an idle blocking stream does not wait for the legacy one. */
	uint32_t status = vg_wait_timeline_how(c, s->tl, s->index ? vg_stream_last(s) : vg_stream_mark(s),
					       s->sleeps_at_once);

	vg_printf_drain(c);
	return status;
}

uint32_t vg_stream_reach(struct vg_stream *s)
{
	return vg_wait_timeline_how(s->ctx, s->tl, vg_stream_mark(s), s->sleeps_at_once);
}

bool vg_stream_idle(struct vg_stream *s)
{
	struct vg_ctx *c = s->ctx;
	bool done = vgpu_timeline_reached(s->tl, vg_stream_last(s));

	if (done)
		vg_order_acquire(c);
	if (!done || s->index || !__atomic_load_n(&c->blocking_ever, __ATOMIC_RELAXED))
		return done;
	vg_lock(&c->lock);
	for (unsigned i = 1; i < c->stream_top && done; i++) {
		if (!c->streams[i] ? !c->dying_blocks[i] : !is_blocking(c->streams[i]))
			continue;
		done = vgpu_timeline_reached(&c->timelines[i], c->streams[i] ? vg_stream_last(c->streams[i]) : c->dying[i]);
	}
	vg_unlock(&c->lock);
	return done;
}

uint32_t vg_ctx_sync(struct vg_ctx *c)
{
	return vg_ctx_sync_for(c, ~0ull);
}

uint32_t vg_ctx_sync_for(struct vg_ctx *c, uint64_t limit_ns)
{
	uint64_t start = limit_ns == ~0ull ? 0 : vg_now_ns();
	uint32_t status = vg_ctx_error(c);

	for (unsigned i = 0; i < __atomic_load_n(&c->stream_top, __ATOMIC_ACQUIRE) && !status; i++) {
		uint64_t last = 0;

		/* The lock keeps the stream's memory; the wait needs the number only. */
		vg_lock(&c->lock);
		if (c->streams[i])
			last = vg_stream_last(c->streams[i]);
		else
			last = c->dying[i];
		vg_unlock(&c->lock);
		if (!last)
			continue;
		if (limit_ns != ~0ull) {
			uint64_t gone = vg_now_ns() - start;

			status = vg_wait_timeline_for(c, &c->timelines[i], last, gone < limit_ns ? limit_ns - gone : 0);
		} else {
			status = vg_wait_timeline(c, &c->timelines[i], last);
		}
	}
	vg_printf_drain(c);
	return status ? status : vg_ctx_error(c);
}

void vg_sync_all(void)
{
	for (uint32_t i = 0; i < VGPU_MAX_CONTEXTS; i++) {
		struct vg_ctx *c = vg_ctx_by_number(i);

		if (c)
			vg_ctx_sync(c);
	}
}
