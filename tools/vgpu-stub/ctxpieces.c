/* SPDX-License-Identifier: MIT */
/*
 * The owner's memory that a context maps: pieces, each a range of one file at one address.
 *
 * Called by ctxproc.c when a context is created and when it gets a segment. A piece holds a reference to its
 * file until the context is reaped.
 */
#include <stdlib.h>
#include <sys/statfs.h>

#include "stub.h"

#ifndef HUGETLBFS_MAGIC
#define HUGETLBFS_MAGIC 0x958458f6
#endif
#define MAX_MIRROR (1ull << 30) /* of one piece, twice in our memory */
#define MAX_PIECES 32768        /* mappings of one context; vm.max_map_count is 65530 */

static uint64_t file_page(const struct dma_file *f)
{
	struct statfs s;

	if (fstatfs(f->fd, &s) == 0 && (uint32_t)s.f_type == HUGETLBFS_MAGIC)
		return (uint64_t)s.f_bsize;
	return VGPU_PAGE;
}

void ctxpieces_drop(struct context *c, uint32_t from)
{
	while (c->npieces > from) {
		dma_file_put(&c->dev->dma, c->pieces[--c->npieces].file);
		free(c->pieces[c->npieces].base);
	}
}

static int make_room(struct context *c, uint32_t n)
{
	if (c->npieces + n > c->pieces_room) {
		uint32_t room = (c->npieces + n) * 2;
		struct ctx_piece *p = realloc(c->pieces, room * sizeof(*p));

		if (!p)
			return -1;
		c->pieces = p;
		c->pieces_room = room;
	}
	return 0;
}

/* By message: a file of our own that ctxmirror.c keeps like the owner's memory. */
static uint32_t add_mirror(struct context *c, uint64_t iova, uint64_t bytes, uint64_t va)
{
	struct ctx_piece p = { .iova = iova, .bytes = bytes, .va = va };

	if (bytes > MAX_MIRROR)
		return VGPU_ST_LIMIT;
	if (make_room(c, 1))
		return VGPU_ST_OUT_OF_MEMORY;
	p.base = calloc(1, bytes);
	p.file = p.base ? dma_file_own(&c->dev->dma, bytes) : NULL;
	if (!p.file) {
		free(p.base);
		return VGPU_ST_OUT_OF_MEMORY;
	}
	c->pieces[c->npieces++] = p;
	return VGPU_ST_OK;
}

static int in_device(const struct context *c, uint64_t va, uint64_t bytes)
{
	return va >= c->create.device_base && va + bytes <= c->create.device_base + VGPU_DEVICE_SPAN;
}

void ctxpieces_mapped(struct context *c)
{
	const struct ctx_piece now = c->pieces[c->next_piece - 1];

	for (uint32_t i = 0; i + 1 < c->next_piece; i++) {
		struct ctx_piece p = c->pieces[i];

		if (!in_device(c, p.va, p.bytes) || p.va >= now.va + now.bytes || now.va >= p.va + p.bytes)
			continue;
		dma_file_put(&c->dev->dma, p.file);
		free(p.base);
		c->npieces--;
		c->next_piece--;
		for (uint32_t k = i; k < c->npieces; k++)
			c->pieces[k] = c->pieces[k + 1];
		i--;
	}
}

uint32_t ctxpieces_add(struct context *c, uint64_t iova, uint64_t bytes, uint64_t va)
{
	static struct dma_piece found[MAX_PIECES];
	uint32_t had = c->npieces;
	int n;

	for (uint32_t i = 0; i < c->npieces; i++) {
		const struct ctx_piece *p = &c->pieces[i];

		/* maps over what is there; in the device's span the context knows what is there still (ctxpieces_mapped) */
		if (va < p->va + p->bytes && p->va < va + bytes && !(in_device(c, va, bytes) && in_device(c, p->va, p->bytes)))
			return VGPU_ST_INVALID;
	}
	if (c->dev->config.by_message)
		return add_mirror(c, iova, bytes, va);
	n = dma_resolve(&c->dev->dma, iova, bytes, DMA_READ | DMA_WRITE, found, MAX_PIECES);
	if (n < 0) {
		log_line("context %u: IOVA 0x%llx, %llu bytes: not mapped read-write, or without an fd",
			 c->qid, (unsigned long long)iova, (unsigned long long)bytes);
		return VGPU_ST_INVALID;
	}
	if (c->npieces + (uint32_t)n > MAX_PIECES)
		return VGPU_ST_LIMIT;
	if (make_room(c, (uint32_t)n))
		return VGPU_ST_OUT_OF_MEMORY;
	for (int i = 0; i < n; i++) {
		uint64_t at = va + (found[i].iova - iova), page = file_page(found[i].file);

		/* A mapping covers whole pages of its file: it must not show more than was meant. */
		if ((found[i].offset | found[i].bytes | at) % page) {
			log_line("context %u: IOVA 0x%llx, %llu bytes: lies inside a %llu KiB page of its file",
				 c->qid, (unsigned long long)found[i].iova,
				 (unsigned long long)found[i].bytes, (unsigned long long)page / 1024);
			ctxpieces_drop(c, had);
			return VGPU_ST_INVALID;
		}
		dma_file_get(found[i].file);
		c->pieces[c->npieces++] = (struct ctx_piece){ found[i].iova, found[i].bytes, at,
							      found[i].offset, found[i].file, NULL };
	}
	return VGPU_ST_OK;
}

uint32_t ctxpieces_add_block(struct context *c, uint64_t iova)
{
	struct device *d = c->dev;
	struct dma_piece first;
	uint64_t bytes = VGPU_QB_BYTES, page;
	int n;

	if (d->config.by_message)
		return add_mirror(c, iova, bytes, CTX_QB_VA);
	n = dma_resolve(&d->dma, iova, VGPU_PAGE, DMA_READ | DMA_WRITE, &first, 1);
	if (n != 1)
		return VGPU_ST_INVALID;
	page = file_page(first.file);
	if (page > bytes && page <= VGPU_HUGE) {
		bytes = page;
		if (iova + (bytes - 1) < iova)
			return VGPU_ST_INVALID;
		for (uint32_t q = 0; q < STUB_QUEUES; q++)
			for (uint32_t i = 0; i < d->ctx[q].npieces; i++) {
				const struct ctx_piece *p = &d->ctx[q].pieces[i];

				if (p->iova <= iova + (bytes - 1) && p->iova + (p->bytes - 1) >= iova)
					return VGPU_ST_INVALID;
			}
	}
	return ctxpieces_add(c, iova, bytes, CTX_QB_VA);
}
