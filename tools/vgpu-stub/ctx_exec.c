/* SPDX-License-Identifier: MIT */
/*
 * What each I/O command does, once its turn has come.
 *
 * Called by ctx_stream.c with a checked private copy of the command and its payload. Memory of the
 * client is reached through the engine's fault-catching copy and fill, or as single words (ctx_mem.c);
 * an address that is not there ends the context with a report. Copies and fills go in pieces: after
 * CTX_PIECE bytes the other streams get a look (CTX_AGAIN), and `at` says how far this one is.
 */
#include "ctx.h"

#include <string.h>

/* A launch or a matrix product was given to the engine: what its answer means. */
static enum ctx_result started(struct ctx *c, struct ctx_stream *s, uint32_t st, uint32_t *status)
{
	if (st == ENGINE_PENDING)
		return CTX_PENDING;
	s->running = 0;
	c->launches_out--;
	if (st == VGPU_ST_OK) {
		vgpu_store_relaxed64(&c->qb->launches_done, ++c->launches_done);
		ctx_work_took(c, &c->work->kernels, ctx_ticks() - s->began);
	}
	*status = st;
	return CTX_DONE;
}

/* The parameters of LAUNCH_LARGE, out of the client's window: what the engine is given nobody changes any more. */
static uint32_t fetch_params(struct ctx *c, const struct vgpu_cmd *cmd, const uint8_t *payload)
{
	struct vgpu_params_at p;
	uint32_t st;

	memcpy(&p, payload, sizeof(p));
	st = c->ops->copy(c->engine, c->large, (const void *)(uintptr_t)p.at, cmd->u.launch.param_bytes);
	if (st)
		ctx_why(c, "parameters of function %u at 0x%llx", cmd->u.launch.fn, (unsigned long long)p.at);
	return st;
}

static enum ctx_result launch(struct ctx *c, struct ctx_stream *s, const struct vgpu_cmd *cmd,
			      const uint8_t *payload, uint32_t *status)
{
	const struct vgpu_body_launch *b = &cmd->u.launch;
	struct engine_launch l = {
		.fn = b->fn,
		.grid = { b->grid[0], b->grid[1], b->grid[2] },
		.block = { b->block[0], b->block[1], b->block[2] },
		.cluster = { VGPU_LAUNCH_CLUSTER_OF(b->attrs, 0), VGPU_LAUNCH_CLUSTER_OF(b->attrs, 1), VGPU_LAUNCH_CLUSTER_OF(b->attrs, 2) },
		.shared_bytes = b->shared_bytes,
		.flags = (b->attrs & VGPU_LAUNCH_COOPERATIVE ? ENGINE_LAUNCH_COOPERATIVE : 0) |
			 (cmd->flags & VGPU_CMD_RUN ? ENGINE_LAUNCH_RUN : 0) | (cmd->flags & VGPU_CMD_RUN_END ? ENGINE_LAUNCH_RUN_END : 0),
		.priority = (cmd->flags & VGPU_CMD_PRIORITY) >> VGPU_CMD_PRIORITY_SHIFT,
		.params = payload,
		.param_bytes = b->param_bytes,
		.cookie = cmd->stream,
	};
	uint32_t st;

	/* A pending launch may end before the call returns: all that drain needs is set first. */
	s->running = cmd->ticket;
	if (!c->ops->settle) {
		ctx_work_began(c, s);
		s->fn = b->fn;
	}
	c->fn_last = b->fn;
	c->launches_out++;
	st = c->ops->launch(c->engine, &l);
	if (st != ENGINE_PENDING && st != VGPU_ST_OK && !c->why[0])
		ctx_why(c, "launch of function %u: %s", b->fn, vgpu_status_text(st));
	return started(c, s, st, status);
}

static enum ctx_result gemm(struct ctx *c, struct ctx_stream *s, const struct vgpu_cmd *cmd,
			    const uint8_t *payload, uint32_t *status)
{
	struct vgpu_gemm p;
	uint32_t st;

	memcpy(&p, payload, sizeof(p));
	s->running = cmd->ticket;
	if (!c->ops->settle) {
		ctx_work_began(c, s);
		s->fn = 0;
	}
	c->fn_last = 0;
	c->launches_out++;
	st = c->ops->gemm(c->engine, cmd->op, &cmd->u.gemm, &p, cmd->stream);
	if (st != ENGINE_PENDING && st != VGPU_ST_OK && !c->why[0])
		ctx_why(c, "matrix product of %u x %u x %u: %s", p.m, p.n, p.k, vgpu_status_text(st));
	return started(c, s, st, status);
}

struct volume {
	uint64_t dst, src, width, height, depth;
	uint64_t dst_pitch, dst_slice, src_pitch, src_slice;
};

/* Rows that touch each other are one long row, and slices likewise: most 2D copies are that. */
static void flatten(struct volume *v)
{
	uint64_t all;

	if (v->dst_pitch == v->width && v->src_pitch == v->width &&
	    !__builtin_mul_overflow(v->width, v->height, &all)) {
		v->width = all;
		v->height = 1;
	}
	if (v->height == 1 && v->dst_slice == v->width && v->src_slice == v->width &&
	    !__builtin_mul_overflow(v->width, v->depth, &all)) {
		v->width = all;
		v->depth = 1;
	}
}

#define QUEUE_ROWS 256u                 /* of a copy or fill, at one go */

/* For an engine that queues: whole rows, and the last of them is the command. */
static enum ctx_result copy_queued(struct ctx *c, const struct ctx_stream *s, struct volume v, struct ctx_progress *at, uint32_t *status)
{
	if (!v.width || !v.height || !v.depth)
		return CTX_DONE;
	flatten(&v);
	for (unsigned i = 0; i < QUEUE_ROWS; i++) {
		uint64_t dst = v.dst + at->z * v.dst_slice + at->y * v.dst_pitch, src = v.src + at->z * v.src_slice + at->y * v.src_pitch;
		int last = at->y + 1 == v.height && at->z + 1 == v.depth;

		*status = c->ops->copy_queued(c->engine, (uint64_t)(s - c->streams), (void *)(uintptr_t)dst, (const void *)(uintptr_t)src, v.width, last);
		if (*status) {
			ctx_why(c, "copy of %llu bytes from 0x%llx to 0x%llx", (unsigned long long)v.width, (unsigned long long)src,
				(unsigned long long)dst);
			return CTX_DONE;
		}
		if (last) {
			c->launches_out++;
			return CTX_PENDING;
		}
		if (++at->y == v.height) {
			at->y = 0;
			at->z++;
		}
	}
	return CTX_AGAIN;
}

static enum ctx_result fill_queued(struct ctx *c, const struct ctx_stream *s, const struct vgpu_body_fill *b, struct ctx_progress *at,
				   uint32_t *status)
{
	uint64_t width = b->width, height = b->height;

	if (!width || !height)
		return CTX_DONE;
	if (b->pitch == width * b->elem_bytes) {
		width *= height;
		height = 1;
	}
	for (unsigned i = 0; i < QUEUE_ROWS; i++) {
		uint64_t dst = b->dst + at->y * b->pitch;
		int last = at->y + 1 == height;

		*status = c->ops->fill_queued(c->engine, (uint64_t)(s - c->streams), (void *)(uintptr_t)dst, b->value, b->elem_bytes, width, last);
		if (*status) {
			ctx_why(c, "fill of %llu elements at 0x%llx", (unsigned long long)width, (unsigned long long)dst);
			return CTX_DONE;
		}
		if (last) {
			c->launches_out++;
			return CTX_PENDING;
		}
		at->y++;
	}
	return CTX_AGAIN;
}

static enum ctx_result copy_now(struct ctx *c, struct volume v, struct ctx_progress *at, uint32_t *status)
{
	uint64_t left = CTX_PIECE;

	if (!v.width || !v.height || !v.depth)
		return CTX_DONE;
	flatten(&v);
	for (;;) {
		uint64_t dst = v.dst + at->z * v.dst_slice + at->y * v.dst_pitch + at->x;
		uint64_t src = v.src + at->z * v.src_slice + at->y * v.src_pitch + at->x;
		uint64_t n = v.width - at->x < left ? v.width - at->x : left;
		uint32_t st = c->ops->copy(c->engine, (void *)(uintptr_t)dst, (const void *)(uintptr_t)src, n);

		if (st) {
			ctx_why(c, "copy of %llu bytes from 0x%llx to 0x%llx", (unsigned long long)n,
				(unsigned long long)src, (unsigned long long)dst);
			*status = st;
			return CTX_DONE;
		}
		at->x += n;
		if (at->x == v.width) {
			at->x = 0;
			if (++at->y == v.height) {
				at->y = 0;
				if (++at->z == v.depth)
					return CTX_DONE;
			}
		}
		n += 512;       /* what a short row costs */
		if (n >= left)
			return CTX_AGAIN;
		left -= n;
	}
}

static enum ctx_result fill(struct ctx *c, const struct vgpu_body_fill *b, struct ctx_progress *at,
			    uint32_t *status)
{
	uint64_t width = b->width * b->elem_bytes, height = b->height, pitch = b->pitch, left = CTX_PIECE;

	if (!width || !height)
		return CTX_DONE;
	if (pitch == width) {
		width *= height;        /* inside the span, as the check has seen */
		height = 1;
	}
	for (;;) {
		uint64_t dst = b->dst + at->y * pitch + at->x;
		uint64_t n = width - at->x < left ? width - at->x : left & ~3ull;
		uint32_t st = c->ops->fill(c->engine, (void *)(uintptr_t)dst, b->value, b->elem_bytes,
					   n / b->elem_bytes);

		if (st) {
			ctx_why(c, "fill of %llu bytes at 0x%llx", (unsigned long long)n,
				(unsigned long long)dst);
			*status = st;
			return CTX_DONE;
		}
		at->x += n;
		if (at->x == width) {
			at->x = 0;
			if (++at->y == height)
				return CTX_DONE;
		}
		n += 512;
		if (n >= left)
			return CTX_AGAIN;
		left -= n;
		left = left < 4 ? 4 : left;
	}
}

static enum ctx_result copy(struct ctx *c, const struct ctx_stream *s, const struct vgpu_cmd *cmd, struct volume v, struct ctx_progress *at,
			    uint32_t *status)
{
	/* A small copy of a stream that has nothing out is done on the spot: programs go on in other streams and take it for done. */
	if (cmd->op == VGPU_OP_COPY_INLINE && !s->out)
		return copy_now(c, v, at, status);
	return ctx_stream_queues(c, cmd) ? copy_queued(c, s, v, at, status) : copy_now(c, v, at, status);
}

static uint32_t event(struct ctx *c, const struct vgpu_cmd *cmd)
{
	uint64_t at = cmd->u.event.record;
	uint32_t st = ctx_store(c, at, ctx_now_ns(), 8);

	if (!st)
		st = ctx_store(c, at + offsetof(struct vgpu_event_record, ticket), cmd->ticket, 8);
	if (st)
		ctx_why(c, "event record at 0x%llx", (unsigned long long)at);
	return st;
}

static int satisfied(const struct vgpu_body_value *b, uint64_t v)
{
	uint64_t want = b->bytes == 4 ? (uint32_t)b->value : b->value;

	switch (b->compare) {
	case VGPU_COMPARE_EQ:
		return v == want;
	case VGPU_COMPARE_AND:
		return (v & want) != 0;
	case VGPU_COMPARE_NOR:
		v = ~(v | want);
		return (b->bytes == 4 ? (uint32_t)v : v) != 0;
	}
	return b->bytes == 4 ? (int32_t)((uint32_t)v - (uint32_t)want) >= 0 : (int64_t)(v - want) >= 0;
}

static enum ctx_result wait_value(struct ctx *c, const struct vgpu_body_value *b, uint32_t *status)
{
	uint64_t v = 0;

	*status = ctx_load(c, b->addr, &v, b->bytes);
	if (*status)
		ctx_why(c, "wait on the value at 0x%llx", (unsigned long long)b->addr);
	return *status || satisfied(b, v) ? CTX_DONE : CTX_POLL;
}

enum ctx_result ctx_exec(struct ctx *c, struct ctx_stream *s, const struct vgpu_cmd *cmd,
			 const uint8_t *payload, struct ctx_progress *at, uint32_t *status)
{
	const struct vgpu_body_copy *b = &cmd->u.copy;

	switch (cmd->op) {
	case VGPU_OP_LAUNCH:
		return launch(c, s, cmd, payload, status);
	case VGPU_OP_LAUNCH_LARGE:
		*status = fetch_params(c, cmd, payload);
		return *status ? CTX_DONE : launch(c, s, cmd, c->large, status);
	case VGPU_OP_NOP:
		return CTX_DONE;
	case VGPU_OP_COPY:
		return copy(c, s, cmd, (struct volume){ .dst = b->dst, .src = b->src, .width = b->bytes,
							.height = 1, .depth = 1 }, at, status);
	case VGPU_OP_COPY_INLINE:
		return copy(c, s, cmd, (struct volume){ .dst = b->dst, .src = (uintptr_t)payload,
							.width = b->bytes, .height = 1, .depth = 1 }, at, status);
	case VGPU_OP_COPY3D: {
		struct vgpu_copy3d p;

		memcpy(&p, payload, sizeof(p));
		return copy(c, s, cmd, (struct volume){ .dst = b->dst, .src = b->src, .width = b->bytes,
							.height = p.height, .depth = p.depth,
							.dst_pitch = p.dst_pitch, .dst_slice = p.dst_slice,
							.src_pitch = p.src_pitch, .src_slice = p.src_slice },
			    at, status);
	}
	case VGPU_OP_GEMM:
	case VGPU_OP_TRSM:
		return gemm(c, s, cmd, payload, status);
	case VGPU_OP_FILL:
		return ctx_stream_queues(c, cmd) ? fill_queued(c, s, &cmd->u.fill, at, status) : fill(c, &cmd->u.fill, at, status);
	case VGPU_OP_EVENT:
		*status = event(c, cmd);
		return CTX_DONE;
	case VGPU_OP_WAIT_VALUE:
		return wait_value(c, &cmd->u.value, status);
	case VGPU_OP_WRITE_VALUE:
		*status = ctx_store(c, cmd->u.value.addr, cmd->u.value.value, cmd->u.value.bytes);
		if (*status)
			ctx_why(c, "write of a value at 0x%llx", (unsigned long long)cmd->u.value.addr);
		return CTX_DONE;
	}
	*status = VGPU_ST_PROTOCOL;     /* an op that the check knows and this table does not */
	return CTX_DONE;
}
