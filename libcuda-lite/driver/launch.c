/* SPDX-License-Identifier: MIT */
/*
 * Kernel launches: the path that must cost nothing. Read it with core/queue.h, from launch_owner() upwards. What is
 * launched by other calls than cuLaunchKernel comes here from launch_other.c.
 *
 * Handles are checked by a load and a compare, limits against copies in the context and the function,
 * parameters go from the caller's memory straight into the queue's slots.
 */
#include "driver.h"
#include "../core/queue.h"

#include <string.h>

/* Why a launch may not be: the same answers the device would give, but at once. */
static inline __attribute__((always_inline)) CUresult check_block(const struct vg_func *f, const struct vg_ctx *c,
								  const uint32_t *block)
{
	uint64_t threads = (uint64_t)block[0] * block[1] * block[2];

	/* x - 1 < max catches 0 too. */
	if (VG_UNLIKELY(block[0] - 1 >= c->max_block[0] || block[1] - 1 >= c->max_block[1] ||
			block[2] - 1 >= c->max_block[2]))
		return CUDA_ERROR_INVALID_VALUE;
	if (VG_UNLIKELY(threads > f->max_threads))      /* the device's limit, or .maxntid */
		return CUDA_ERROR_INVALID_VALUE;
	if (VG_UNLIKELY(f->reqntid[0]))
		for (int i = 0; i < 3; i++)
			if (f->reqntid[i] && f->reqntid[i] != block[i])
				return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult check_shape(const struct vg_func *f, const struct vg_ctx *c, const struct vg_shape *s)
{
	if (VG_UNLIKELY(s->grid[0] - 1 >= c->max_grid[0] || s->grid[1] - 1 >= c->max_grid[1] ||
			s->grid[2] - 1 >= c->max_grid[2]))
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(check_block(f, c, s->block));
	if (VG_UNLIKELY(s->shared > __atomic_load_n(&f->max_dynamic, __ATOMIC_RELAXED)))
		return CUDA_ERROR_INVALID_VALUE;
	if (VG_UNLIKELY(f->cluster | s->attrs >> 8))
		return vg_cluster_check(f, s);
	return CUDA_SUCCESS;
}

/* The words that say which slot this is stand in each, then come parameters. The command lies in one piece. */
static inline __attribute__((always_inline)) void fill_params(union vgpu_slot *h, const struct vg_func *f, uint64_t i,
							      void *const *params)
{
	const struct vg_piece *p = f->pieces, *end = p + f->npieces;

	for (unsigned k = 1; k < f->nslots; k++)
		vg_payload_header(h + k, i + k);
	for (; p < end; p++) {
		uint8_t *to = (uint8_t *)h + p->at;
		void *const *from = params + p->param;

		switch (p->kind) {
		case VG_WORDS(7): memcpy(to + 48, from[6], 8); __attribute__((fallthrough));
		case VG_WORDS(6): memcpy(to + 40, from[5], 8); __attribute__((fallthrough));
		case VG_WORDS(5): memcpy(to + 32, from[4], 8); __attribute__((fallthrough));
		case VG_WORDS(4): memcpy(to + 24, from[3], 8); __attribute__((fallthrough));
		case VG_WORDS(3): memcpy(to + 16, from[2], 8); __attribute__((fallthrough));
		case VG_WORDS(2): memcpy(to + 8, from[1], 8); __attribute__((fallthrough));
		case VG_WORDS(1): memcpy(to, from[0], 8); break;
		case VG_HALVES(7): memcpy(to + 24, from[6], 4); __attribute__((fallthrough));
		case VG_HALVES(6): memcpy(to + 20, from[5], 4); __attribute__((fallthrough));
		case VG_HALVES(5): memcpy(to + 16, from[4], 4); __attribute__((fallthrough));
		case VG_HALVES(4): memcpy(to + 12, from[3], 4); __attribute__((fallthrough));
		case VG_HALVES(3): memcpy(to + 8, from[2], 4); __attribute__((fallthrough));
		case VG_HALVES(2): memcpy(to + 4, from[1], 4); __attribute__((fallthrough));
		case VG_HALVES(1): memcpy(to, from[0], 4); break;
		default: memcpy(to, (const uint8_t *)from[0] + p->from, p->bytes);
		}
	}
}

/* The same for a command that goes over the end of the ring, once in a lap: put together elsewhere. */
static __attribute__((noinline, cold)) void fill_wrapped(union vgpu_slot *slots, const struct vg_func *f, uint64_t i,
							 void *const *params)
{
	union vgpu_slot command[1 + (VGPU_MAX_PARAM_BYTES + VGPU_SLOT_PAYLOAD - 1) / VGPU_SLOT_PAYLOAD];

	memset(command, 0, f->nslots * sizeof *command);
	fill_params(command, f, i, params);
	for (unsigned k = 1; k < f->nslots; k++)
		slots[(i + k) % VGPU_IOQ_SLOTS] = command[k];
}

/* The same from one packed buffer. */
static __attribute__((noinline)) void fill_packed(union vgpu_slot *slots, const struct vg_func *f, uint64_t i,
						  const uint8_t *buffer)
{
	uint32_t left = f->param_bytes;

	for (unsigned k = 1; k < f->nslots; k++) {
		union vgpu_slot *s = &slots[(i + k) % VGPU_IOQ_SLOTS];
		uint32_t n = left < VGPU_SLOT_PAYLOAD ? left : VGPU_SLOT_PAYLOAD;

		vg_payload_header(s, i + k);
		memcpy(s->payload.bytes, buffer, n);
		buffer += n;
		left -= n;
	}
}

/* `extra`: buffer pointer and size, in any order. */
static CUresult parse_extra(const struct vg_func *f, void **extra, const uint8_t **buffer)
{
	const size_t *size = NULL;

	*buffer = NULL;
	for (unsigned i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
		if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			*buffer = extra[i + 1];
		else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			size = extra[i + 1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (f->param_bytes && (!*buffer || !size || *size < f->param_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* A header: first all but its first word and the body. */
static inline __attribute__((always_inline)) void fill_head(union vgpu_slot *h, const struct vg_stream *s, uint64_t i)
{
	uint64_t *w = (uint64_t *)h;

	_Static_assert(offsetof(struct vgpu_cmd, stream) == 8 && offsetof(struct vgpu_cmd, wait_tl) == 12 &&
		       offsetof(struct vgpu_cmd, ticket) == 16 && offsetof(struct vgpu_cmd, wait_value) == 24 &&
		       offsetof(struct vgpu_cmd, u) == 32, "the words of a header");
	w[1] = s->index;
	w[2] = i + 1;
	w[3] = 0;
}

/* What is launched, as the body of a command has it. */
static inline __attribute__((always_inline)) void fill_body(uint64_t *body, const struct vg_func *f, const struct vg_shape *k)
{
	_Static_assert(offsetof(struct vgpu_body_launch, grid) == 4 && offsetof(struct vgpu_body_launch, block) == 16 &&
		       offsetof(struct vgpu_body_launch, param_bytes) == 22 &&
		       offsetof(struct vgpu_body_launch, shared_bytes) == 24 && offsetof(struct vgpu_body_launch, attrs) == 28,
		       "the words of a body");
	body[0] = f->fn | (uint64_t)k->grid[0] << 32;
	body[1] = k->grid[1] | (uint64_t)k->grid[2] << 32;
	body[2] = (uint16_t)k->block[0] | (uint64_t)(uint16_t)k->block[1] << 16 | (uint64_t)(uint16_t)k->block[2] << 32 |
		  (uint64_t)(uint16_t)f->param_bytes << 48;
	/* clusters of both are the same ones: vg_cluster_check() */
	body[3] = k->shared | (uint64_t)(k->attrs | f->required) << 32;
}

/* Its first word, and with it the publication. Release; partner: vgpu_slot_ready(). */
static inline __attribute__((always_inline)) void publish(union vgpu_slot *h, const struct vg_stream *s,
							  const struct vg_func *f, uint64_t i)
{
	_Static_assert(offsetof(struct vgpu_cmd, op) == 4 && offsetof(struct vgpu_cmd, slots) == 5 &&
		       offsetof(struct vgpu_cmd, flags) == 6, "the first word");
	vgpu_store_release64((uint64_t *)h, (uint32_t)(i + 1) | f->word0 | s->flags_word);
}

/* The header's words but the first are there: parameters of any kind, publication, and what comes after it. */
static __attribute__((noinline)) CUresult finish(const struct vg_func *f, const struct vg_stream *s, union vgpu_slot *slots,
						 uint64_t i, void *const *params)
{
	union vgpu_slot *h = &slots[i % VGPU_IOQ_SLOTS];
	unsigned nslots = f->nslots;

	if (VG_LIKELY(h + nslots <= slots + VGPU_IOQ_SLOTS))
		fill_params(h, f, i, params);
	else
		fill_wrapped(slots, f, i, params);
	publish(h, s, f, i);
	vg_prefetch(slots, i, nslots);
	vg_kick();
	return CUDA_SUCCESS;
}

/* A launch with the shape k, into slots that have been taken. */
static inline CUresult fill_all(const struct vg_func *f, const struct vg_stream *s, const struct vg_shape *k,
				union vgpu_slot *slots, uint64_t i, void *const *params)
{
	union vgpu_slot *h = &slots[i % VGPU_IOQ_SLOTS];

	fill_head(h, s, i);
	fill_body((uint64_t *)h->cmd.u.body, f, k);
	return finish(f, s, slots, i, params);
}

/*
 * More than fits a command: they lie in the window while it is on the way. When there is no room, what is behind other launches of the
 * stream is given back first.
 */
static __attribute__((noinline, cold)) CUresult submit_large(struct vg_stream *s, const struct vg_func *f, const struct vg_shape *k,
							     void *const *params, const uint8_t *packed)
{
	struct vgpu_params_at at = { 0 };
	uint64_t body[4], ticket;
	uint8_t *block;

	vg_deferred_reap();
	block = vg_window_alloc(f->param_bytes, 64);
	if (!block) {
		VG_TRY(vg_done(s->ctx, vg_stream_reach(s)));
		vg_deferred_reap();
		block = vg_window_alloc(f->param_bytes, 64);
	}
	if (!block)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (packed)
		memcpy(block, packed, f->param_bytes);
	else
		for (uint32_t i = 0; i < f->info->nparams; i++)
			memcpy(block + f->info->params[i].offset, params[i], f->info->params[i].bytes);
	fill_body(body, f, k);
	at.at = (uint64_t)(uintptr_t)block;
	ticket = vg_submit(s, VGPU_OP_LAUNCH_LARGE, body, &at, sizeof at);
	vg_defer(VG_DEFER_WINDOW, s->ctx, (uint16_t)s->index, ticket, block, f->param_bytes);
	return CUDA_SUCCESS;
}

/* What is claimed is published: nothing may fail once it is. packed: parameters in one buffer instead. */
static CUresult submit_launch(struct vg_stream *s, struct vg_func *f, const struct vg_shape *k, void *const *params,
			      const uint8_t *packed)
{
	struct vg_ctx *c = s->ctx;
	union vgpu_slot *slots = c->queue.slots;
	uint64_t i;

	if (VG_UNLIKELY(vg_func_large(f)))
		return submit_large(s, f, k, params, packed);
	i = vg_claim(c, s, f->nslots);
	fill_head(&slots[i % VGPU_IOQ_SLOTS], s, i);
	fill_body((uint64_t *)slots[i % VGPU_IOQ_SLOTS].cmd.u.body, f, k);
	if (!packed)
		return finish(f, s, slots, i, params);
	fill_packed(slots, f, i, packed);
	publish(&slots[i % VGPU_IOQ_SLOTS], s, f, i);
	vg_kick();
	return CUDA_SUCCESS;
}

CUresult vg_launch_check(struct vg_func *f, const struct vg_shape *k, void **params, void **extra, const uint8_t **packed)
{
	uint32_t status = vg_func_load(f);

	*packed = NULL;
	if (status)
		return vg_fail(f->ctx, status);
	if (f->loaded != 1)
		return vg_unsupported("a kernel with more than 4096 bytes of parameters, below compute capability 7.0 or on this device,");
	if (params && extra)
		return CUDA_ERROR_INVALID_VALUE;
	if (extra)
		VG_TRY(parse_extra(f, extra, packed));
	else if (f->npieces && !params)
		return CUDA_ERROR_INVALID_VALUE;
	return check_shape(f, f->ctx, k);
}

CUresult vg_launch(CUfunction fn, CUstream stream, bool pt, const struct vg_shape *k, void **params, void **extra)
{
	const uint8_t *packed = NULL;
	struct vg_stream *s;
	struct vg_func *f;

	VG_READY();
	VG_TRY(vg_stream(stream, pt, &s));
	VG_TRY(vg_function(fn, &f));
	if (f->ctx != s->ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	VG_TRY(vg_launch_check(f, k, params, extra, &packed));
	if (VG_UNLIKELY(vg_capturing(s)))
		return vg_capture_kernel(s, f, k, params, f->npieces ? packed : NULL);
	if (VG_LIKELY(!vg.blocking))
		return submit_launch(s, f, k, params, f->npieces ? packed : NULL);
	VG_TRY(submit_launch(s, f, k, params, f->npieces ? packed : NULL));
	return vg_done(s->ctx, vg_stream_sync(s));
}

void vg_launch_body(const struct vg_func *f, const struct vg_shape *k, uint64_t body[4]) { fill_body(body, f, k); }

unsigned vg_launch_image(const struct vg_func *f, const struct vg_shape *k, const uint8_t *packed, union vgpu_slot *to)
{
	uint32_t left = f->param_bytes;

	memset(to, 0, f->nslots * sizeof *to);
	to->cmd.op = VGPU_OP_LAUNCH;
	to->cmd.slots = (uint8_t)f->nslots;
	fill_body((uint64_t *)to->cmd.u.body, f, k);
	for (unsigned i = 1; i < f->nslots; i++) {
		uint32_t n = left < VGPU_SLOT_PAYLOAD ? left : VGPU_SLOT_PAYLOAD;

		memcpy(to[i].payload.bytes, packed, n);
		packed += n;
		left -= n;
	}
	return f->nslots;
}

static __attribute__((noinline, cold)) CUresult kicked(void)
{
	vg_kick_slow();
	return CUDA_SUCCESS;
}

#define DEFAULT_STREAMS 2u      /* NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD: no handle is so small */

/* What cuLaunchKernel takes. */
typedef CUresult launch_fn(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
			   unsigned shared, CUstream stream, void **params, void **extra);

/* The arguments that came on the stack: volatile, which keeps them there until they are wanted. */
struct on_stack {
	volatile unsigned *bz, *shared;
	CUstream volatile *stream;
	void **volatile *params, **volatile *extra;
};

/* A launch of f that is good: the next one like it needs not look closer. By the owner of the queue, and before f is ready. */
static __attribute__((noinline)) bool remember(struct vg_func *f, const struct vg_ctx *c, const struct vg_shape *k)
{
	if (check_shape(f, c, k))
		return false;
	fill_body(f->body, f, k);
	memcpy(f->block, k->block, sizeof f->block);
	return true;
}

bool vg_func_first(struct vg_func *f)
{
	const uint32_t *r = f->reqntid;
	const struct vg_shape k = { { 1, 1, 1 }, { r[0] ? r[0] : 1, r[1] ? r[1] : 1, r[2] ? r[2] : 1 }, 0, 0 };

	return remember(f, f->ctx, &k);
}

static inline CUresult launch_as(launch_fn *how, CUfunction fn, const struct vg_shape *k, CUstream stream, void **params,
				 void **extra)
{
	return how(fn, k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2], k->shared, stream, params, extra);
}

/*
 * What launch_owner() stumbles over and can be mended without waiting: credits or room; a limit that has changed. Else
 * the launch goes otherwise.
 */
static __attribute__((noinline)) CUresult launch_anew(CUfunction fn, const struct vg_shape *k, CUstream stream, void **params,
						      void **extra, launch_fn *otherwise)
{
	struct vg_func *f = vg_get(VG_FUNCTION, (uint64_t)(uintptr_t)fn);
	struct vg_stream *s = vg_get(VG_STREAM, (uint64_t)(uintptr_t)stream);
	struct vg_queue *q;
	uint8_t *busy;
	uint64_t i;
	bool took;

	/* A stream that captures has no credits: vg_park(). */
	if (!f || !s || !params || extra || vg_capturing(s) || __atomic_load_n(&f->ready, __ATOMIC_ACQUIRE) != s->ctx)
		goto other;
	q = &s->ctx->queue;
	if (!vg_enter(q, &busy))
		goto other;
	took = !check_shape(f, s->ctx, k) && vg_refill(q, s, f->nslots) && vg_take(q, s, f->nslots, &i);
	vg_leave(busy);
	if (!took)
		goto other;
	return fill_all(f, s, k, q->slots, i, params);
other:
	return launch_as(otherwise, fn, k, stream, params, extra);
}

/*
 * A created stream, a function that was launched before, by the thread that owns the queue. All other launches go
 * another way: nothing has happened when this one turns to it.
 *
 * What it costs is how many instructions it has. So what was found good stays found: the stream that was used last
 * and, in the function, what was launched last, as a command has it. There is no call but as the last thing; and once
 * the arguments are known to be those of the last time, nobody holds them any more.
 */
static inline __attribute__((always_inline)) CUresult launch_owner(CUfunction fn, unsigned gx, unsigned gy, unsigned gz,
								   unsigned bx, unsigned by, const struct on_stack a,
								   launch_fn *otherwise)
{
	uint64_t i, at, ahead, stream = (uint64_t)(uintptr_t)*a.stream;
	union vgpu_slot *h, *slots;
	struct vg_stream *s;
	struct vg_queue *q;
	struct vg_func *f;
	struct vg_ctx *c;
	void **params, *o;
	uint8_t *busy;

	if (VG_UNLIKELY(!vg_is(VG_FUNCTION, (uint64_t)(uintptr_t)fn, &o)))
		goto other;
	f = o;
	/* Acquire; partner: the release in vg_func_load(). */
	c = __atomic_load_n(&f->ready, __ATOMIC_ACQUIRE);
	if (VG_UNLIKELY(!c || vg_ctx_failed(c) || stream <= DEFAULT_STREAMS))
		goto other;
	q = &c->queue;
	if (VG_UNLIKELY(!vg_enter(q, &busy)))
		goto other;
	if (VG_UNLIKELY(gx != (uint32_t)(f->body[0] >> 32) || gy != (uint32_t)f->body[1] ||
			gz != (uint32_t)(f->body[1] >> 32) || bx != f->block[0] || by != f->block[1] ||
			*a.bz != f->block[2] || *a.shared != (uint32_t)f->body[3])) {
		const struct vg_shape k = { { gx, gy, gz }, { bx, by, *a.bz }, *a.shared, 0 };

		if (!remember(f, c, &k)) {
			vg_leave(busy);
			return launch_as(otherwise, (CUfunction)(uintptr_t)f->handle, &k, *a.stream, *a.params, *a.extra);
		}
	}
	/* A stream of this context, or one that was: arenas stay, so its handle may be looked at, which is 0 then. */
	s = q->last;
	if (VG_UNLIKELY(__atomic_load_n(&s->handle, __ATOMIC_ACQUIRE) != stream || s->ctx != c)) {
		if (!vg_is(VG_STREAM, stream, &o))
			goto late;
		s = o;
		if (s->ctx != c)
			goto late;
		q->last = s;
	}
	if (VG_UNLIKELY((uint32_t)f->body[3] > __atomic_load_n(&f->max_dynamic, __ATOMIC_RELAXED) || !*a.params || *a.extra ||
			!vg_take(q, s, f->nslots, &i)))
		goto late;
	slots = q->slots;
	at = i % VGPU_IOQ_SLOTS;
	h = &slots[at];
	memcpy(h->cmd.u.body, f->body, sizeof f->body);
	vg_leave(busy);
	fill_head(h, s, i);
	params = *a.params;
	if (VG_UNLIKELY(at == VGPU_IOQ_SLOTS - 1))
		return finish(f, s, slots, i, params);
	switch (f->plain) {
	default: __builtin_unreachable();
	case VG_NOT_PLAIN: return finish(f, s, slots, i, params);
	case 7: memcpy(h[1].payload.bytes + 48, params[6], 8); __attribute__((fallthrough));
	case 6: memcpy(h[1].payload.bytes + 40, params[5], 8); __attribute__((fallthrough));
	case 5: memcpy(h[1].payload.bytes + 32, params[4], 8); __attribute__((fallthrough));
	case 4: memcpy(h[1].payload.bytes + 24, params[3], 8); __attribute__((fallthrough));
	case 3: memcpy(h[1].payload.bytes + 16, params[2], 8); __attribute__((fallthrough));
	case 2: memcpy(h[1].payload.bytes + 8, params[1], 8); __attribute__((fallthrough));
	case 1: memcpy(h[1].payload.bytes, params[0], 8);
		vg_payload_header(h + 1, i + 1); __attribute__((fallthrough));
	case 0: break;
	}
	publish(h, s, f, i);
	/* Always two: the second may lie behind the end, which costs somebody a cache miss once in a lap. */
	ahead = (at * VGPU_SLOT_BYTES + VG_AHEAD * VGPU_SLOT_BYTES) % (VGPU_IOQ_SLOTS * VGPU_SLOT_BYTES);
	vgpu_prefetch_write((uint8_t *)slots + ahead);
	vgpu_prefetch_write((uint8_t *)slots + ahead + VGPU_SLOT_BYTES);
	return vg_asleep(q) ? kicked() : CUDA_SUCCESS;
late:
	/* The arguments are those that the function remembers, while nobody else may change them. */
	{
		const struct vg_shape k = { { (uint32_t)(f->body[0] >> 32), (uint32_t)f->body[1], (uint32_t)(f->body[1] >> 32) },
					    { f->block[0], f->block[1], f->block[2] }, (uint32_t)f->body[3], 0 };

		vg_leave(busy);
		return launch_anew((CUfunction)(uintptr_t)f->handle, &k, *a.stream, *a.params, *a.extra, otherwise);
	}
other:
	return otherwise(fn, gx, gy, gz, bx, by, *a.bz, *a.shared, *a.stream, *a.params, *a.extra);
}

/* The same where several threads submit: nobody has what was remembered to himself. */
static __attribute__((noinline)) CUresult launch_among(CUfunction fn, const struct vg_shape *k, CUstream stream,
						       void **params, void **extra)
{
	struct vg_stream *s = vg_get(VG_STREAM, (uint64_t)(uintptr_t)stream);
	struct vg_func *f = vg_get(VG_FUNCTION, (uint64_t)(uintptr_t)fn);
	struct vg_queue *q;
	uint64_t i;

	if (VG_UNLIKELY(!s || !f || __atomic_load_n(&f->ready, __ATOMIC_ACQUIRE) != s->ctx || !params || extra ||
			vg_ctx_failed(s->ctx) || check_shape(f, s->ctx, k)))
		goto other;
	q = &s->ctx->queue;
	if (VG_UNLIKELY(__atomic_load_n(&q->owner, __ATOMIC_ACQUIRE) != VG_QUEUE_SHARED || !vg_take_shared(q, s, f->nslots, &i)))
		goto other;
	if (VG_UNLIKELY(i + f->nslots > __atomic_load_n(&q->room, __ATOMIC_ACQUIRE)))
		vg_wait_room(s->ctx, q, i, f->nslots);
	return fill_all(f, s, k, q->slots, i, params);
other:
	return vg_launch(fn, stream, false, k, params, extra);
}

static __attribute__((noinline)) CUresult launch_any(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
						     unsigned by, unsigned bz, unsigned shared, CUstream stream,
						     void **params, void **extra)
{
	const struct vg_shape k = { { gx, gy, gz }, { bx, by, bz }, shared, 0 };

	return vg_launch(fn, stream, false, &k, params, extra);
}

/* By the handle of a default stream. */
static __attribute__((noinline)) CUresult launch_default(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
							 unsigned by, volatile unsigned bz, volatile unsigned shared,
							 CUstream volatile stream, void **volatile params,
							 void **volatile extra)
{
	return launch_owner(fn, gx, gy, gz, bx, by, (struct on_stack){ &bz, &shared, &stream, &params, &extra }, launch_any);
}

/* The handle of the default stream that is meant; 0 when none is, or it is not there yet, or something is wrong. */
static inline __attribute__((always_inline)) uint64_t default_stream(CUstream stream, bool pt)
{
	struct vg_thread *t;
	struct vg_stream *s;

	if ((uintptr_t)stream > DEFAULT_STREAMS || !__atomic_load_n(vg_alive, __ATOMIC_RELAXED))
		return 0;
	t = vg_self;
	if (!t || !t->ctx || __atomic_load_n(&t->ctx->handle, __ATOMIC_RELAXED) != t->ctx_handle)
		return 0;
	if (!pt && (uintptr_t)stream != 2)
		return t->ctx->legacy->handle;
	/* it may be of another context that had this number */
	s = vg_get(VG_STREAM, t->stream[t->ctx->number]);
	return s && s->ctx == t->ctx ? t->stream[t->ctx->number] : 0;
}

/* All launches that launch_owner() leaves. */
static inline __attribute__((always_inline)) CUresult launch_cold(CUfunction fn, const struct vg_shape *k, CUstream stream,
								  bool pt, void **params, void **extra)
{
	uint64_t h = default_stream(stream, pt && !stream);
	const struct vg_stream *s = vg_get(VG_STREAM, h ? h : (uint64_t)(uintptr_t)stream);

	if (h)
		stream = (CUstream)(uintptr_t)h;
	if (VG_UNLIKELY(s && vg_capturing(s)))
		return vg_launch(fn, stream, false, k, params, extra);
	if (VG_UNLIKELY(__atomic_load_n(&vg_host_runs, __ATOMIC_RELAXED)) && vg_is_host())
		return CUDA_ERROR_NOT_PERMITTED;
	if (s && __atomic_load_n(&s->ctx->queue.owner, __ATOMIC_RELAXED) == VG_QUEUE_SHARED)
		return launch_among(fn, k, stream, params, extra);
	if (h)
		return launch_default(fn, k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2], k->shared,
				      stream, params, extra);
	return vg_launch(fn, stream, pt, k, params, extra);
}

static __attribute__((noinline)) CUresult launch_legacy(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
							unsigned by, unsigned bz, unsigned shared, CUstream stream,
							void **params, void **extra)
{
	const struct vg_shape k = { { gx, gy, gz }, { bx, by, bz }, shared, 0 };

	return launch_cold(fn, &k, stream, false, params, extra);
}

static __attribute__((noinline)) CUresult launch_per_thread(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
							    unsigned by, unsigned bz, unsigned shared, CUstream stream,
							    void **params, void **extra)
{
	const struct vg_shape k = { { gx, gy, gz }, { bx, by, bz }, shared, 0 };

	return launch_cold(fn, &k, stream, true, params, extra);
}

CUresult cuLaunchKernel(CUfunction fn, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,
			volatile unsigned int bz, volatile unsigned int shared, CUstream volatile stream,
			void **volatile params, void **volatile extra)
{
	return launch_owner(fn, gx, gy, gz, bx, by, (struct on_stack){ &bz, &shared, &stream, &params, &extra }, launch_legacy);
}

CUresult cuLaunchKernel_ptsz(CUfunction fn, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
			     unsigned int by, volatile unsigned int bz, volatile unsigned int shared, CUstream volatile stream,
			     void **volatile params, void **volatile extra)
{
	return launch_owner(fn, gx, gy, gz, bx, by, (struct on_stack){ &bz, &shared, &stream, &params, &extra }, launch_per_thread);
}
