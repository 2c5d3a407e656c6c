/* SPDX-License-Identifier: MIT */
/*
 * What pools keep: memory that was freed in stream order stays reserved, as CUDA has it, until a synchronization finds its
 * pool above the release threshold, the pool is trimmed, or memory runs out. Until then an allocation of the same size takes
 * it: at once in the stream that freed it, in another one when that stream has come so far (REUSE_ALLOW_OPPORTUNISTIC).
 *
 * One list for all pools, oldest first. A block's vg_mem is in no table: the address is nobody's pointer meanwhile.
 */
#include "driver.h"
#include "../core/queue.h"

#include <stdlib.h>

struct block {
	struct block *next;
	struct vg_mem m;
	uint64_t ticket;
	uint16_t stream;
};

static struct vg_lock lock;
static struct block *head, **tail = &head;
static uint32_t count;

static bool done(const struct block *b)
{
	/* A failed context's memory goes only with it. */
	return vgpu_timeline_reached(&b->m.ctx->timelines[b->stream], b->ticket) && !vg_ctx_error(b->m.ctx);
}

/* Lock held. *p is a block of the list. */
static struct block *unlink_at(struct block **p)
{
	struct block *b = *p;

	*p = b->next;
	if (!b->next)
		tail = p;
	__atomic_sub_fetch(&count, 1, __ATOMIC_RELAXED);
	return b;
}

static uint64_t reserved(struct vg_pool *p)
{
	uint64_t bytes;

	vg_lock(&p->lock);
	bytes = p->reserved;
	vg_unlock(&p->lock);
	return bytes;
}

/* Gives back what is done, oldest first: of `only` (NULL: of each pool) as long as the pool has more than it keeps. */
static uint32_t release(struct vg_pool *only, bool all, uint64_t min)
{
	struct block *out = NULL, **p;
	uint32_t n = 0;

	if (!__atomic_load_n(&count, __ATOMIC_RELAXED))
		return 0;
	vg_lock(&lock);
	for (p = &head; *p;) {
		struct vg_pool *of = (*p)->m.pool;
		uint64_t keep = all ? 0 : only ? min : __atomic_load_n(&of->release_threshold, __ATOMIC_RELAXED);
		struct block *b;

		if ((only && of != only) || reserved(of) <= keep || !done(*p)) {
			p = &(*p)->next;
			continue;
		}
		vg_pool_less(of, 0, (*p)->m.mapped_bytes);
		b = unlink_at(p);
		b->next = out;
		out = b;
	}
	vg_unlock(&lock);
	while (out) {
		struct block *next = out->next;

		out->m.pool = NULL;
		(void)vg_mem_release(&out->m);
		free(out);
		out = next;
		n++;
	}
	return n;
}

void vg_pools_settle(void)
{
	release(NULL, false, 0);
}

void vg_pool_trim(struct vg_pool *p, uint64_t min)
{
	release(p, false, min);
}

bool vg_pools_spare(void)
{
	struct vg_ctx *c = NULL;
	uint64_t ticket = 0;
	uint16_t stream = 0;

	if (release(NULL, true, 0))
		return true;
	vg_lock(&lock);
	for (struct block *b = head; b && !c; b = b->next)
		if (!vg_ctx_error(b->m.ctx)) {
			c = b->m.ctx;
			stream = b->stream;
			ticket = b->ticket;
		}
	vg_unlock(&lock);
	return c && !vg_wait_timeline(c, &c->timelines[stream], ticket) && release(NULL, true, 0);
}

bool vg_pool_take(struct vg_pool *p, struct vg_stream *s, uint64_t bytes, struct vg_mem *out)
{
	uint64_t mapped = (bytes + VGPU_PAGE - 1) & ~(VGPU_PAGE - 1);
	struct block *b = NULL;

	if (!__atomic_load_n(&count, __ATOMIC_RELAXED))
		return false;
	vg_lock(&lock);
	for (struct block **at = &head; *at && !b; at = &(*at)->next) {
		const struct vg_mem *m = &(*at)->m;

		/* The device knows the size that was asked for first (vgpu run --memcheck): no larger one may take its place. */
		if (m->pool != p || m->ctx != s->ctx || m->mapped_bytes != mapped || bytes > m->other)
			continue;
		if ((*at)->stream != s->index && (!p->reuse[1] || !done(*at)))
			continue;
		b = unlink_at(at);
		break;
	}
	vg_unlock(&lock);
	if (!b)
		return false;
	*out = b->m;
	out->bytes = bytes;
	free(b);
	return true;
}

void vg_pool_keep(struct vg_stream *s, uint64_t ticket, const struct vg_mem *m)
{
	struct block *b = m->pool->dead ? NULL : malloc(sizeof *b);

	if (!b) {
		struct vg_mem *gone = malloc(sizeof *gone);

		vg_pool_less(m->pool, 0, m->mapped_bytes);
		if (gone) {
			*gone = *m;
			gone->pool = NULL;
			vg_defer(VG_DEFER_MEM, s->ctx, s->index, ticket, gone, 0);
		}
		return;
	}
	*b = (struct block){ .m = *m, .ticket = ticket, .stream = (uint16_t)s->index };
	vg_lock(&lock);
	*tail = b;
	tail = &b->next;
	__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	vg_unlock(&lock);
}

/* The pool is destroyed (its caller keeps the record): what is kept for it goes as its streams come to it. */
void vg_pool_empty(struct vg_pool *p)
{
	struct block *b;

	vg_pool_trim(p, 0);
	do {
		struct block **at;

		b = NULL;
		vg_lock(&lock);
		for (at = &head; *at && (*at)->m.pool != p; at = &(*at)->next)
			;
		if (*at)
			b = unlink_at(at);
		vg_unlock(&lock);
		if (b) {
			struct vg_mem *gone = malloc(sizeof *gone);

			vg_pool_less(p, 0, b->m.mapped_bytes);
			if (gone) {
				*gone = b->m;
				gone->pool = NULL;
				vg_defer(VG_DEFER_MEM, b->m.ctx, b->stream, b->ticket, gone, 0);
			}
			free(b);
		}
	} while (b);
}

void vg_pool_drop_ctx(struct vg_ctx *c)
{
	struct block *b;

	do {
		struct block **at;

		b = NULL;
		vg_lock(&lock);
		for (at = &head; *at && (*at)->m.ctx != c; at = &(*at)->next)
			;
		if (*at)
			b = unlink_at(at);
		vg_unlock(&lock);
		if (b) {
			vg_pool_less(b->m.pool, 0, b->m.mapped_bytes);
			b->m.pool = NULL;
			vg_mem_forget(&b->m);
			free(b);
		}
	} while (b);
}
