/* SPDX-License-Identifier: MIT */
/*
 * Device malloc and free: one heap a context, of the size that the program asked for (cuCtxSetLimit), a buddy allocator
 * that keeps no more of a block than was asked for.
 *
 * Called by interp.c for calls of the .extern functions of these names, for each running lane in turn. What the
 * allocator knows lies in the engine's own memory, where no kernel reaches it: free() believes only what malloc()
 * has noted there. The heap is memory that the context has charged and committed (engine_ops.heap); an engine that was told
 * of none takes the default size from its arena. A block lives until free() or the context's end.
 */
#include <stdlib.h>
#include <string.h>

#include "memcheck.h"

#define UNIT 32u                /* smallest block; CUDA promises an alignment of 16 */
/*
 * In front of what malloc gives, and nobody's: nvcc notes the length of a `new T[n]` there where T has an operator new[] of its own and an
 * operator delete[] with a size (Eigen's matrices), without having asked for the room.
 */
#define FRONT 16u
#define ORDERS 32
#define COMMIT (1u << 20)
#define NONE 0xffffffffu

enum { INSIDE, USED, FREE, GIVEN };     /* a unit: not the first of a block, the first of one; not the first, but a program has its address (aligned) */

/*
 * Units are numbered from the heap's base. Free ones lie in blocks of a power of two, each at a multiple of its size; what is in
 * use is a run of any length, so what a block has too much goes back as the powers of two that it is made of.
 */
struct heap {
	u64 base, committed;
	u32 units;
	u32 no_run;             /* there is no run of more free units than that, since the last free(); NONE: nobody looked */
	u32 first[ORDERS];      /* free blocks of each order, doubly linked by unit number */
	u32 *next, *prev;
	u32 *len;               /* units of a block in use; of one that is GIVEN: the first unit */
	u8 *what, *order;
	u8 *tail;               /* at the last unit of a free block: its order + 1 */
};

static void push(struct heap *h, u32 u, u32 order)
{
	h->what[u] = FREE;
	h->order[u] = (u8)order;
	h->prev[u] = NONE;
	h->next[u] = h->first[order];
	if (h->next[u] != NONE)
		h->prev[h->next[u]] = u;
	h->first[order] = u;
	h->tail[u + (1u << order) - 1] = (u8)(order + 1);
}

static void unlink_block(struct heap *h, u32 u)
{
	if (h->prev[u] != NONE)
		h->next[h->prev[u]] = h->next[u];
	else
		h->first[h->order[u]] = h->next[u];
	if (h->next[u] != NONE)
		h->prev[h->next[u]] = h->prev[u];
	h->what[u] = INSIDE;
	h->tail[u + (1u << h->order[u]) - 1] = 0;
}

/* n units from u on are free: as blocks, each together with its other half where that is free too. */
static void give_units(struct heap *h, u32 u, u32 n)
{
	while (n) {
		u32 k = 31 - (u32)__builtin_clz(n), at = u, buddy;

		if (u && (u32)__builtin_ctz(u) < k)
			k = (u32)__builtin_ctz(u);
		u += 1u << k;
		n -= 1u << k;
		for (; k < ORDERS - 1; k++) {
			buddy = at ^ 1u << k;
			if (buddy >= h->units || h->what[buddy] != FREE || h->order[buddy] != k)
				break;
			unlink_block(h, buddy);
			at &= ~(1u << k);
		}
		push(h, at, k);
	}
}

/* The first run of n free units that blocks of several sizes make together. NONE: there is none. */
static u32 find_run(struct heap *h, u32 n)
{
	u32 u, from = 0, longest = 0;

	for (u = 0; u < h->units;) {
		if (h->what[u] != FREE) {
			u += h->len[u];
			from = u;
			continue;
		}
		u += 1u << h->order[u];
		if (u - from >= n)
			return from;
		longest = u - from > longest ? u - from : longest;
	}
	h->no_run = longest;
	return NONE;
}

static u32 take_units(struct heap *h, u32 n)
{
	u32 k = n > 1 ? 32 - (u32)__builtin_clz(n - 1) : 0, u, at;

	while (k < ORDERS && h->first[k] == NONE)
		k++;
	u = k < ORDERS ? h->first[k] : n > h->no_run ? NONE : find_run(h, n);
	if (u == NONE)
		return NONE;
	/* from the beginning of the run: what lies before it would be too small for the next block of this size */
	while (u && h->tail[u - 1])
		u -= 1u << (h->tail[u - 1] - 1);
	for (at = u; at < u + n;) {
		u32 units = 1u << h->order[at];

		unlink_block(h, at);
		at += units;
	}
	h->what[u] = USED;
	h->len[u] = n;
	give_units(h, u + n, at - (u + n));
	return u;
}

static void drop(struct heap *h)
{
	if (!h)
		return;
	free(h->next);
	free(h->prev);
	free(h->len);
	free(h->what);
	free(h->order);
	free(h->tail);
	free(h);
}

/* With the lock held. Untouched pages of the tables cost nothing. */
static u32 create(struct engine *e, u64 base, u64 bytes, u64 committed)
{
	struct heap *h = calloc(1, sizeof(*h));
	size_t n = (size_t)(bytes / UNIT);
	u32 i;

	if (!h)
		return VGPU_ST_OUT_OF_MEMORY;
	h->base = base;
	h->committed = committed;
	h->units = (u32)n;
	h->no_run = NONE;
	h->next = calloc(n, sizeof(*h->next));
	h->prev = calloc(n, sizeof(*h->prev));
	h->len = calloc(n, sizeof(*h->len));
	h->what = calloc(n, 1);
	h->order = calloc(n, 1);
	h->tail = calloc(n, 1);
	if (!h->next || !h->prev || !h->len || !h->what || !h->order || !h->tail) {
		drop(h);
		return VGPU_ST_OUT_OF_MEMORY;
	}
	for (i = 0; i < ORDERS; i++)
		h->first[i] = NONE;
	give_units(h, 0, h->units);
	e->heap = h;
	return VGPU_ST_OK;
}

u32 heap_place(struct engine *e, u64 va, u64 bytes)
{
	u32 st;

	if (va % UNIT || bytes < UNIT || bytes / UNIT >= 1u << (ORDERS - 1))
		return VGPU_ST_INVALID;
	pthread_mutex_lock(&e->heap_lock);
	st = e->heap ? (u32)VGPU_ST_BUSY : create(e, va, bytes, bytes);
	/* what malloc has not given is nobody's */
	if (!st)
		mc_hide(e, va, bytes);
	pthread_mutex_unlock(&e->heap_lock);
	return st;
}

void heap_close(struct engine *e)
{
	drop(e->heap);          /* its memory goes with the context */
}

/* At a multiple of align, a power of two. 0: there is no room. */
static u64 take(struct engine *e, u64 bytes, u64 align)
{
	struct heap *h;
	u64 end, got, base, at;
	u32 n, u;

	if (!e->heap) {
		base = arena_alloc(e, VGPU_DEVICE_HEAP_BYTES, &got);
		if (!base || create(e, base, VGPU_DEVICE_HEAP_BYTES, 0))
			return 0;
	}
	h = e->heap;
	if (bytes > (u64)h->units * UNIT || align > (u64)h->units * UNIT)
		return 0;
	n = (u32)((FRONT + bytes + (align > FRONT ? align : 0) + UNIT - 1) / UNIT);
	u = take_units(h, n);
	if (u == NONE)
		return 0;
	end = ((u64)u + n) * UNIT;
	if (end > h->committed) {
		end = (end + COMMIT - 1) & ~(u64)(COMMIT - 1);
		if (arena_commit(h->base + h->committed, end - h->committed)) {
			h->what[u] = INSIDE;
			give_units(h, u, n);
			return 0;
		}
		h->committed = end;
	}
	at = h->base + (u64)u * UNIT + FRONT;
	if (align > FRONT) {
		at = (at + align - 1) & ~(align - 1);
		h->what[(at - h->base) / UNIT] = GIVEN;
		h->len[(at - h->base) / UNIT] = u;
	}
	return at;
}

/* Bytes from addr to the end of the block that is free now; 0: there is none at addr. */
static u64 give(struct engine *e, u64 addr)
{
	struct heap *h = e->heap;
	u64 end;
	u32 u;

	if (!h || addr < h->base || addr - h->base >= (u64)h->units * UNIT || (addr - h->base) % UNIT % FRONT)
		return 0;
	u = (u32)((addr - h->base) / UNIT);
	if (h->what[u] != ((addr - h->base) % UNIT ? USED : GIVEN))
		return 0;
	if (h->what[u] == GIVEN) {
		h->what[u] = INSIDE;
		u = h->len[u];
	}
	h->what[u] = INSIDE;
	h->no_run = NONE;
	end = h->base + ((u64)u + h->len[u]) * UNIT;
	give_units(h, u, h->len[u]);
	return end - addr;
}

u64 heap_take(struct engine *e, u64 bytes, u64 align)
{
	u64 at;

	pthread_mutex_lock(&e->heap_lock);
	at = bytes ? take(e, bytes, align) : 0;
	/* noted before another thread can get the block and note that */
	if (at)
		mc_note(e, at, bytes, true, false);
	pthread_mutex_unlock(&e->heap_lock);
	return at;
}

bool heap_give(struct engine *e, u64 addr)
{
	u64 freed;

	pthread_mutex_lock(&e->heap_lock);
	freed = give(e, addr);
	if (freed)
		mc_note(e, addr, freed, false, false);
	pthread_mutex_unlock(&e->heap_lock);
	return freed;
}

u64 heap_bytes(struct engine *e)
{
	u64 n;

	pthread_mutex_lock(&e->heap_lock);
	n = e->heap ? (u64)e->heap->units * UNIT : VGPU_DEVICE_HEAP_BYTES;
	pthread_mutex_unlock(&e->heap_lock);
	return n;
}

void dev_heap(struct tstate *ts, struct frame *f, const struct callinfo *ci, u32 m)
{
	struct warp *w = ts->w;
	u64 stride = w->cta->g->local_stride;
	u32 k, l;

	for (k = m; k; k &= k - 1) {
		char *local;
		u64 v, at;

		l = (u32)__builtin_ctz(k);
		local = (char *)(w->cta->local + (u64)(w->index * LANES + l) * stride + f->loff);
		memcpy(&v, local + ci->args[0].off, 8);
		if (ci->builtin == BUILTIN_MALLOC || ci->builtin == BUILTIN_ALIGNED_MALLOC) {
			u64 align = FRONT;

			if (ci->builtin == BUILTIN_ALIGNED_MALLOC)
				memcpy(&align, local + ci->args[1].off, 8);
			at = align && !(align & (align - 1)) ? heap_take(ts->e, v, align) : 0;
			memcpy(local + ci->rets[0].off, &at, 8);
		} else if (v && !heap_give(ts->e, v)) {
			fault_raise(VGPU_ST_ILLEGAL_ADDRESS, (int)l, v, "free of what malloc did not give");
		}
	}
}
