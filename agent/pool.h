/* SPDX-License-Identifier: MIT */
/*
 * Memory that the device may reach: sealed memfds, on huge pages where the machine has them.
 * Boot and control thread only.
 */
#ifndef AGENT_POOL_H
#define AGENT_POOL_H

#include <stdint.h>

/* An address of the device's bus: not a pointer, not a number to add to one. */
typedef struct { uint64_t v; } iova_t;

struct pool_mem {
	int fd;                         /* -1: none */
	uint32_t page_bytes;            /* 2 MiB (hugetlb or collapsed) or 4 KiB */
	int hugetlb;                    /* reserved already; pages come on first touch */
	int own;                        /* its pages are the client's: never committed here, never punched */
	int lent;                       /* so is the file itself, and others may have it */
	uint64_t offset;                /* in the file, of what is lent */
	uint64_t bytes;
};

#define POOL_HUGE (2ull << 20)

/*
 * IOVA space, the same on every device:
 *
 *   4 GiB            admin area
 *   4 GiB + 2 MiB    queue block of queue 0, 1, ...: 2 MiB apart
 *   64 GiB           window of client slot 0, 1, ...: step = window quota, rounded up to a
 *                    power of two. 111 clients of 4 GiB fit into a 39-bit guest address width.
 */
#define POOL_IOVA_ADMIN   (4ull << 30)
#define POOL_IOVA_QUEUES  (POOL_IOVA_ADMIN + POOL_HUGE)
#define POOL_IOVA_WINDOWS (64ull << 30)

/* only: memory from the hugetlb pool or none; no other keeps its place in the machine. */
void pool_init(int use_hugetlb, int only);

/*
 * A memfd of `bytes` (rounded up to 2 MiB), sealed against growing and shrinking. -errno: -ENOMEM
 * when the machine has no memory for it. Up to POOL_NOW bytes are committed before it returns;
 * of a larger one the rest is committed by pool_commit(), in slices.
 */
#define POOL_NOW (32ull << 20)
int pool_alloc(struct pool_mem *m, uint64_t bytes, const char *name);
int pool_commit(const struct pool_mem *m, uint64_t offset, uint64_t bytes);
void pool_free(struct pool_mem *m);

/*
 * Takes so many bytes at most out of the end of a file, whoever has it still; m->bytes is what is left. How many; 0: try again.
 * Who touches them afterwards has new pages, which the kernel charges to him.
 */
uint64_t pool_punch(struct pool_mem *m, uint64_t bytes);

/* Sealed, of 4 KiB pages, and none there yet: who fills it is charged by the kernel. */
int pool_alloc_own(struct pool_mem *m, uint64_t bytes, const char *name);

/*
 * A part of somebody else's file, whose descriptor it takes when it returns 0. -errno: -EBADF: not memory, or not to be written; -EINVAL:
 * the file is shorter; -EOPNOTSUPP: only memory from the hugetlb pool will do.
 */
int pool_lent(struct pool_mem *m, int fd, uint64_t offset, uint64_t bytes);

/* What it takes of the window, whose segments begin at multiples of 2 MiB. */
static inline uint64_t pool_room(const struct pool_mem *m)
{
	return (m->bytes + POOL_HUGE - 1) & ~(POOL_HUGE - 1);
}

/* Plain pages, page-granular, for small things that no hot path touches. */
int pool_alloc_small(struct pool_mem *m, uint64_t bytes, const char *name);

/* Maps at `at` (fixed) or anywhere (NULL), 2 MiB-aligned. NULL on failure (errno). */
void *pool_map(const struct pool_mem *m, void *at);
void pool_unmap(const struct pool_mem *m, void *va);

uint64_t pool_window_step(uint64_t quota);
iova_t pool_window_iova(unsigned slot, uint64_t quota);
iova_t pool_queue_iova(unsigned qid);

/* For the ready line: "2 MiB pages (hugetlb)" and so on. */
const char *pool_kind(void);

#endif
