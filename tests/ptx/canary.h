/* SPDX-License-Identifier: MIT */
/*
 * What a kernel must not reach, and would not notice reaching: memory beside the span and far from it that is mapped and
 * holds a known byte, and the bytes of a buffer's last page that are not the buffer's. A stray access into a hole is a
 * fault, which code hands to the interpreter; one in here goes through. Included by rig.h.
 *
 *     RIG_OUTSIDE        | no access | canary | span ........ | canary | no access |
 *     (canary, far away)
 */
#ifndef TESTS_PTX_CANARY_H
#define TESTS_PTX_CANARY_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RIG_OUTSIDE 0x1f0000000000ull   /* of no client: tests aim at it */
#define RIG_TWICE 0x404000000000ull     /* of no client either: twice the first buffer's address (rig.h) */
#define CANARY_BYTES (256u << 10)
#define CANARY_HOLE (16u << 20)
#define CANARY 0xc5
#define CANARY_SLACKS 512

struct canaries {
	unsigned char *area[4];
	struct { unsigned char *at; size_t bytes; } slack[CANARY_SLACKS];
	unsigned slacks;
};

/* The bytes of all areas are one file's, made before processes are: who does not write there has no pages of his own. -1: there is none. */
static int canary_file = -1;

static __attribute__((constructor)) void canary_make(void)
{
	static unsigned char bytes[CANARY_BYTES];
	int f = memfd_create("canary", MFD_CLOEXEC);

	memset(bytes, CANARY, sizeof(bytes));
	if (f >= 0 && write(f, bytes, sizeof(bytes)) == sizeof(bytes))
		canary_file = f;
}

static int canary_map(uint64_t at, size_t bytes, int prot)
{
	int file = prot ? canary_file : -1;
	void *p = mmap((void *)at, bytes, prot, MAP_PRIVATE | (file < 0 ? MAP_ANONYMOUS : 0) | MAP_NORESERVE | MAP_FIXED_NOREPLACE, file, 0);

	if (p == (void *)at) {
		if (prot && file < 0)
			memset(p, CANARY, bytes);
		return 0;
	}
	printf("rig: cannot map a canary at 0x%llx\n", (unsigned long long)at);
	if (p != MAP_FAILED)
		munmap(p, bytes);
	return -1;
}

/* Around a span that is reserved. 0, or -1 with a line on stdout. */
static int canary_open(struct canaries *c, uint64_t base, uint64_t bytes)
{
	uint64_t at[4] = { base - CANARY_BYTES, base + bytes, RIG_OUTSIDE, RIG_TWICE };

	memset(c, 0, sizeof(*c));
	if (canary_map(at[0] - CANARY_HOLE, CANARY_HOLE, PROT_NONE) || canary_map(at[1] + CANARY_BYTES, CANARY_HOLE, PROT_NONE))
		return -1;
	for (int i = 0; i < 4; i++) {
		if (canary_map(at[i], CANARY_BYTES, PROT_READ | PROT_WRITE))
			return -1;
		c->area[i] = (unsigned char *)(uintptr_t)at[i];
	}
	return 0;
}

/* These bytes follow a buffer on its last page. */
static void canary_slack(struct canaries *c, unsigned char *at, size_t bytes)
{
	if (c->slacks == CANARY_SLACKS || !bytes)
		return;
	memset(at, CANARY, bytes);
	c->slack[c->slacks].at = at;
	c->slack[c->slacks++].bytes = bytes;
}

/* What is said of a buffer that goes away. */
static __attribute__((unused)) void canary_forget(struct canaries *c, const void *from, size_t bytes)
{
	for (unsigned i = 0; i < c->slacks; i++)
		if ((uintptr_t)c->slack[i].at - (uintptr_t)from < bytes)
			c->slack[i--] = c->slack[--c->slacks];
}

static unsigned canary_look(const unsigned char *p, size_t bytes, const char *where)
{
	unsigned n = 0;

	/* each byte is like the one before it, and the first as it was */
	if (bytes && p[0] == CANARY && !memcmp(p, p + 1, bytes - 1))
		return 0;
	for (size_t i = 0; i < bytes; i++)
		if (p[i] != CANARY && !n++)
			printf("rig: a stray write %s, at %p\n", where, (const void *)(p + i));
	return n;
}

/* How many bytes somebody has written to, told on stdout. */
static unsigned canary_check(const struct canaries *c)
{
	static const char *const where[4] = { "below the span", "behind the span", "far from the span", "at twice an address" };
	unsigned n = 0;

	for (int i = 0; i < 4; i++)
		n += c->area[i] ? canary_look(c->area[i], CANARY_BYTES, where[i]) : 0;
	for (unsigned i = 0; i < c->slacks; i++)
		n += canary_look(c->slack[i].at, c->slack[i].bytes, "behind a buffer");
	return n;
}

static void canary_close(struct canaries *c)
{
	if (!c->area[0])
		return;
	munmap(c->area[0] - CANARY_HOLE, CANARY_HOLE + CANARY_BYTES);
	munmap(c->area[1], CANARY_BYTES + CANARY_HOLE);
	munmap(c->area[2], CANARY_BYTES);
	munmap(c->area[3], CANARY_BYTES);
	memset(c, 0, sizeof(*c));
}

#endif
