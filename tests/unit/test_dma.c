/* SPDX-License-Identifier: MIT */
/*
 * The map table of vgpu-stub against a model that is nothing but an array of pages.
 *
 * Sources: tests/unit/test_dma.c tools/vgpu-stub/dma.c
 */
#define _GNU_SOURCE
#include "../../tools/vgpu-stub/dma.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ull
#define PAGES 256               /* of the modelled IOVA space */
#define BASE 0x100000000ull
#define FILES 3

struct model_page {
	int mapped, file;       /* file -1: map without fd */
	uint32_t flags;
	uint64_t offset;
};
static struct model_page model[PAGES];
static int files[FILES];
static unsigned checks, failed;
static uint64_t rng = 0x243f6a8885a308d3ull;

#define CHECK(x) check(!!(x), #x, __LINE__)

static int check(int ok, const char *what, int line)
{
	checks++;
	if (!ok) {
		failed++;
		printf("FAIL line %d: %s\n", line, what);
		if (failed > 20)
			exit(1);
	}
	return ok;
}

static uint32_t rnd(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 33) % n;
}

static void make_files(void)
{
	for (int f = 0; f < FILES; f++) {
		files[f] = memfd_create("test", 0);
		if (files[f] < 0 || ftruncate(files[f], PAGES * PAGE)) {
			perror("memfd");
			exit(1);
		}
		for (uint64_t p = 0; p < PAGES; p++) {
			uint64_t word = (uint64_t)f << 32 | p;

			if (pwrite(files[f], &word, 8, (off_t)(p * PAGE)) != 8)
				exit(1);
		}
	}
}

static void random_map(struct dma_table *t)
{
	uint32_t first = rnd(PAGES), n = 1 + rnd(12), want = 0;
	uint64_t offset = rnd(PAGES - 12);
	int f = (int)rnd(FILES + 1) - 1;
	uint32_t flags = 1 + rnd(3);

	if (first + n > PAGES)
		n = PAGES - first;
	for (uint32_t i = 0; i < n; i++)
		want |= (uint32_t)model[first + i].mapped;
	int err = dma_map(t, BASE + first * PAGE, n * PAGE, offset * PAGE, flags, f < 0 ? -1 : dup(files[f]));

	CHECK(err == (want ? -EEXIST : 0));
	for (uint32_t i = 0; !err && i < n; i++)
		model[first + i] = (struct model_page){ 1, f, flags, (offset + i) * PAGE };
}

static void random_unmap(struct dma_table *t)
{
	uint32_t first = rnd(PAGES), n = 1 + rnd(rnd(8) ? 16 : PAGES);
	uint64_t iova = BASE + first * PAGE;

	/* Now and then the huge power-of-two ranges that a vIOMMU sends. */
	if (!rnd(40)) {
		first = 0;
		n = PAGES;
		CHECK(dma_unmap(t, 0, 1ull << 63) == 0);
	} else {
		CHECK(dma_unmap(t, iova, n * PAGE) == 0);
	}
	for (uint32_t i = first; i < first + n && i < PAGES; i++)
		model[i].mapped = 0;
}

static void random_resolve(struct dma_table *t)
{
	struct dma_piece p[64];
	uint32_t first = rnd(PAGES), n = 1 + rnd(20), rights = 1 + rnd(3);
	int want = 0;

	if (first + n > PAGES)
		n = PAGES - first;
	for (uint32_t i = 0; i < n && want >= 0; i++) {
		const struct model_page *m = &model[first + i], *b = m - 1;

		if (!m->mapped || m->file < 0 || (m->flags & rights) != rights)
			want = -EFAULT;
		else if (!i || b->file != m->file || b->offset + PAGE != m->offset)
			want++;
	}
	int got = dma_resolve(t, BASE + first * PAGE, n * PAGE, rights, p, 64);

	if (!CHECK(got == want) || got < 0)
		return;
	uint64_t at = BASE + first * PAGE;

	for (int i = 0; i < got; i++) {
		CHECK(p[i].iova == at);
		CHECK(p[i].offset == model[(at - BASE) / PAGE].offset);
		at += p[i].bytes;
	}
	CHECK(at == BASE + (first + n) * PAGE);
}

static void random_access(struct dma_table *t)
{
	uint32_t i = rnd(PAGES);
	const struct model_page *m = &model[i];
	int ok = m->mapped && m->file >= 0;
	uint64_t word = 0;
	uint32_t low = 0;

	CHECK(dma_read(t, BASE + i * PAGE, &word, 8) == (ok && (m->flags & DMA_READ) ? 0 : -EFAULT));
	if (word)
		CHECK(word == ((uint64_t)m->file << 32 | m->offset / PAGE));
	CHECK(dma_write(t, BASE + i * PAGE + 8, &i, 4) == (ok && (m->flags & DMA_WRITE) ? 0 : -EFAULT));
	if (ok && (m->flags & DMA_WRITE))
		CHECK(pread(files[m->file], &low, 4, (off_t)m->offset + 8) == 4 && low == i);
}

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 512; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_random(void)
{
	struct dma_table t;
	int before = open_fds();

	dma_init(&t);
	for (int i = 0; i < 200000; i++) {
		switch (rnd(8)) {
		case 0: case 1: case 2:
			random_map(&t);
			break;
		case 3:
			random_unmap(&t);
			break;
		case 4: case 5:
			random_resolve(&t);
			break;
		default:
			random_access(&t);
		}
		CHECK(i % 1000 || open_fds() <= before + FILES);
	}
	dma_unmap_all(&t);
	CHECK(t.files == NULL);
	CHECK(open_fds() == before);
	memset(model, 0, sizeof(model));
}

static void test_edges(void)
{
	struct dma_table t;
	struct dma_piece p[4];
	uint64_t top = ~0ull - PAGE + 1;
	uint32_t v;
	int pipefd[2];

	dma_init(&t);
	/* overflow, emptiness, wrong kinds of files */
	CHECK(dma_map(&t, top, 2 * PAGE, 0, 3, dup(files[0])) == -EINVAL);
	CHECK(dma_map(&t, 0, 0, 0, 3, dup(files[0])) == -EINVAL);
	CHECK(dma_map(&t, 0, PAGE, ~0ull - 100, 3, dup(files[0])) == -EINVAL);
	CHECK(dma_map(&t, 0, PAGE, PAGES * PAGE, 3, dup(files[0])) == -EINVAL);
	CHECK(dma_map(&t, 0, PAGE, 0, 4, dup(files[0])) == -EINVAL);
	CHECK(pipe(pipefd) == 0);
	CHECK(dma_map(&t, 0, PAGE, 0, 3, pipefd[0]) == -EINVAL);
	close(pipefd[1]);
	CHECK(t.n == 0 && !t.files);
	/* the last page of the space can be mapped, resolved and unmapped */
	CHECK(dma_map(&t, top, PAGE, 0, 3, dup(files[0])) == 0);
	CHECK(dma_resolve(&t, top, PAGE, 3, p, 4) == 1);
	CHECK(dma_resolve(&t, top, 2 * PAGE, 3, p, 4) == -EFAULT);
	CHECK(dma_resolve(&t, top + PAGE - 1, 1, 3, p, 4) == 1);
	CHECK(dma_unmap(&t, top, 2 * PAGE) == -EINVAL && t.n == 1);
	CHECK(dma_unmap(&t, 1ull << 63, 1ull << 63) == 0 && t.n == 0);
	CHECK(dma_unmap(&t, 0, ~0ull) == 0);
	/* no fd: takes room, gives nothing */
	CHECK(dma_map(&t, 0, PAGE, 0, 3, -1) == 0);
	CHECK(dma_map(&t, 0, PAGE, 0, 3, -1) == -EEXIST);
	CHECK(dma_resolve(&t, 0, 4, 1, p, 4) == -EFAULT);
	/* a hole in the middle splits; the file is known once */
	CHECK(dma_map(&t, BASE, 8 * PAGE, 0, 3, dup(files[1])) == 0);
	CHECK(dma_map(&t, BASE + 8 * PAGE, PAGE, 8 * PAGE, 3, dup(files[1])) == 0);
	CHECK(t.files && !t.files->next);
	CHECK(dma_resolve(&t, BASE, 9 * PAGE, 3, p, 4) == 1 && p[0].bytes == 9 * PAGE);
	CHECK(dma_unmap(&t, BASE + 2 * PAGE, PAGE) == 0);
	CHECK(dma_resolve(&t, BASE, 3 * PAGE, 3, p, 4) == -EFAULT);
	CHECK(dma_resolve(&t, BASE + 3 * PAGE, PAGE, 3, p, 4) == 1 && p[0].offset == 3 * PAGE);
	CHECK(dma_load32(&t, BASE + 1, &v) == -EFAULT);
	CHECK(dma_store32(&t, BASE + 3 * PAGE + 64, 77) == 0 && dma_load32(&t, BASE + 3 * PAGE + 64, &v) == 0 && v == 77);
	dma_unmap_all(&t);
}

/* The owner may shrink its file at any time: an error for us, never a crash. */
static void test_truncated(void)
{
	struct dma_table t;
	int fd = memfd_create("shrinks", 0);
	char buf[64] = { 0 };

	dma_init(&t);
	CHECK(ftruncate(fd, 4 * PAGE) == 0);
	CHECK(dma_map(&t, BASE, 4 * PAGE, 0, 3, dup(fd)) == 0);
	CHECK(dma_write(&t, BASE + 2 * PAGE, buf, 64) == 0);
	CHECK(ftruncate(fd, PAGE) == 0);
	CHECK(dma_write(&t, BASE + 2 * PAGE, buf, 64) == -EFAULT);
	CHECK(dma_read(&t, BASE + 2 * PAGE, buf, 64) == -EFAULT);
	CHECK(dma_read(&t, BASE, buf, 64) == 0);
	CHECK(ftruncate(fd, 4 * PAGE) == 0);
	CHECK(dma_read(&t, BASE + 2 * PAGE, buf, 64) == 0);
	dma_unmap_all(&t);
	close(fd);
}

int main(void)
{
	make_files();
	test_edges();
	test_truncated();
	test_random();
	printf("%u checks, %u failed\n", checks, failed);
	return failed != 0;
}
