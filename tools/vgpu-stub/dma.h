/* SPDX-License-Identifier: MIT */
/*
 * The map table: which IOVA is which byte of which file. Filled by DMA_MAP, emptied by DMA_UNMAP.
 *
 * Called by vfu_cmd.c (map, unmap), admin.c (reads and writes) and ctxproc.c (resolve to pieces that
 * a context maps). The device trusts the table only: an address that is not in it is an error.
 */
#ifndef VGPU_STUB_DMA_H
#define VGPU_STUB_DMA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DMA_MAX_MAPS 65535u
#define DMA_READ 1u
#define DMA_WRITE 2u

/*
 * One file, however many maps and contexts lie on it (by device and inode): QEMU sends the same guest RAM
 * again for every range, and thousands of mmaps would run into vm.max_map_count.
 */
struct dma_file {
	struct dma_file *next;
	int fd;
	uint32_t refs;
	uint32_t key;                   /* never used twice: names the file to contexts */
	dev_t dev;
	ino_t ino;
	uint8_t *base;                  /* our own mapping, made on first access; NULL: none */
	uint64_t base_bytes;
};

struct dma_map {
	uint64_t iova, bytes, offset;
	uint32_t flags;
	struct dma_file *file;          /* NULL: no fd came with it; it takes room and nothing else */
};

struct dma_table {
	struct dma_map *maps;           /* sorted by iova, never overlapping */
	uint32_t n, room;
	struct dma_file *files;
	uint32_t next_key;
};

struct dma_piece {
	struct dma_file *file;
	uint64_t iova, bytes, offset;
};

void dma_init(struct dma_table *t);

/* Takes fd in every case (closes it on error). -EINVAL, -EEXIST, -ENOSPC, -ENOMEM. */
int dma_map(struct dma_table *t, uint64_t iova, uint64_t bytes, uint64_t offset, uint32_t flags,
	    int fd);

/* What lies in the range goes; a map cut by its edge keeps the rest. Unknown ranges are fine. */
int dma_unmap(struct dma_table *t, uint64_t iova, uint64_t bytes);
void dma_unmap_all(struct dma_table *t);

/*
 * The pieces of [iova, iova + bytes) in order, neighbours joined; their number, or -EFAULT if any byte is
 * not mapped with these rights and an fd, or -E2BIG if they are more than max. No references taken.
 */
int dma_resolve(struct dma_table *t, uint64_t iova, uint64_t bytes, uint32_t rights,
		struct dma_piece *pieces, int max);

/* Copies; -EFAULT also when the file was truncated or punched under us (SIGBUS is caught). */
int dma_read(struct dma_table *t, uint64_t iova, void *buf, uint64_t bytes);
int dma_write(struct dma_table *t, uint64_t iova, const void *buf, uint64_t bytes);
int dma_load32(struct dma_table *t, uint64_t iova, uint32_t *value);            /* acquire */
int dma_store32(struct dma_table *t, uint64_t iova, uint32_t value);            /* release */

/* A file of our own, all zero and mapped, in place of the owner's memory (DMA by message); one reference. NULL: no memory. */
struct dma_file *dma_file_own(struct dma_table *t, uint64_t bytes);
void dma_file_get(struct dma_file *f);
void dma_file_put(struct dma_table *t, struct dma_file *f);

#endif
