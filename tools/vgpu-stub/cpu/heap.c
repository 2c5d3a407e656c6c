/* SPDX-License-Identifier: MIT */
/*
 * Device malloc and free: one heap a context, VGPU_DEVICE_HEAP_BYTES of the arena, a buddy allocator.
 *
 * Called by interp.c for calls of the .extern functions of these names, for each running lane in turn. What the
 * allocator knows lies in the engine's own memory, where no kernel reaches it: free() believes only what malloc()
 * has noted there. Pages are committed as blocks reach them; a block lives until free() or the context's end.
 */
#include <stdlib.h>
#include <string.h>

#include "memcheck.h"

#define UNIT 16u                /* smallest block, and the alignment CUDA promises */
#define ORDERS 23               /* UNIT << 22 is the whole heap */
#define COMMIT (1u << 20)
#define NONE 0xffffffffu
#define UNITS (VGPU_DEVICE_HEAP_BYTES / UNIT)
_Static_assert((u64)UNIT << (ORDERS - 1) == VGPU_DEVICE_HEAP_BYTES, "the heap is one block at first");

enum { INSIDE, USED, FREE };    /* a unit: not the first of a block, the first of one */

struct heap {
	u64 base, committed;
	u32 first[ORDERS];      /* free blocks of each order, doubly linked by unit number */
	u32 next[UNITS], prev[UNITS];
	u8 what[UNITS], order[UNITS];
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
}

/* With the lock held. Untouched pages of the tables cost nothing. */
static struct heap *heap_of(struct engine *e)
{
	struct heap *h = e->heap;
	u64 got;
	u32 i;

	if (h)
		return h;
	h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	h->base = arena_alloc(e, VGPU_DEVICE_HEAP_BYTES, &got);
	if (!h->base) {
		free(h);
		return NULL;
	}
	for (i = 0; i < ORDERS; i++)
		h->first[i] = NONE;
	push(h, 0, ORDERS - 1);
	e->heap = h;
	return h;
}

void heap_close(struct engine *e)
{
	free(e->heap);          /* the arena goes with the context */
}

/* 0: there is no room. */
static u64 take(struct engine *e, u64 bytes)
{
	struct heap *h = heap_of(e);
	u32 want = 0, k, u;
	u64 end;

	if (!h || bytes > VGPU_DEVICE_HEAP_BYTES)
		return 0;
	while ((u64)UNIT << want < bytes)
		want++;
	for (k = want; k < ORDERS && h->first[k] == NONE; k++)
		;
	if (k == ORDERS)
		return 0;
	u = h->first[k];
	unlink_block(h, u);
	while (k > want) {      /* the lower half is split on: low addresses first */
		k--;
		push(h, u + (1u << k), k);
	}
	end = ((u64)u + (1u << want)) * UNIT;
	if (end > h->committed) {
		end = (end + COMMIT - 1) & ~(u64)(COMMIT - 1);
		if (arena_commit(h->base + h->committed, end - h->committed)) {
			push(h, u, want);
			return 0;
		}
		h->committed = end;
	}
	h->what[u] = USED;
	h->order[u] = (u8)want;
	return h->base + (u64)u * UNIT;
}

/* Bytes of the block that is free now; 0: there is none at addr. */
static u64 give(struct engine *e, u64 addr)
{
	struct heap *h = e->heap;
	u64 bytes;
	u32 u, k, buddy;

	if (!h || addr < h->base || addr - h->base >= VGPU_DEVICE_HEAP_BYTES || (addr - h->base) % UNIT)
		return 0;
	u = (u32)((addr - h->base) / UNIT);
	if (h->what[u] != USED)
		return 0;
	bytes = (u64)UNIT << h->order[u];
	for (k = h->order[u]; k < ORDERS - 1; k++) {
		buddy = u ^ 1u << k;
		if (h->what[buddy] != FREE || h->order[buddy] != k)
			break;
		unlink_block(h, buddy);
		h->what[u] = INSIDE;
		u &= ~(1u << k);
	}
	push(h, u, k);
	return bytes;
}

void dev_heap(struct tstate *ts, struct frame *f, const struct callinfo *ci, u32 m)
{
	struct warp *w = ts->w;
	u64 stride = w->cta->g->local_stride;
	u32 k, l;

	for (k = m; k; k &= k - 1) {
		char *local;
		u64 v, at = 0, freed = 0;

		l = (u32)__builtin_ctz(k);
		local = (char *)(w->cta->local + (u64)(w->index * LANES + l) * stride + f->loff);
		memcpy(&v, local + ci->args[0].off, 8);
		pthread_mutex_lock(&ts->e->heap_lock);
		if (ci->builtin == BUILTIN_MALLOC && v)
			at = take(ts->e, v);
		else if (ci->builtin == BUILTIN_FREE && v)
			freed = give(ts->e, v);
		/* noted before another thread can get the block and note that */
		if (at || freed)
			mc_note(ts->e, at ? at : v, at ? v : freed, at != 0);
		pthread_mutex_unlock(&ts->e->heap_lock);
		if (ci->builtin == BUILTIN_FREE && v && !freed)
			fault_raise(VGPU_ST_ILLEGAL_ADDRESS, (int)l, v, "free of what malloc did not give");
		if (ci->builtin == BUILTIN_MALLOC)
			memcpy(local + ci->rets[0].off, &at, 8);
	}
}
