/* SPDX-License-Identifier: MIT */
/*
 * The address span of a session (vgpu_client.h): the window, and devices' addresses behind it. Called by connect.c.
 *
 * The whole of it is reserved, so that nothing of the program's ever has an address that a device's memory has. Where that cannot be,
 * the window alone is, and a smaller one: under ThreadSanitizer and Valgrind, which lay out the process's addresses themselves, under a
 * limit of address space, or where VGPU_SPAN=small asks for it. Nobody is given devices' addresses then either: they are the tool's own,
 * or far from where the kernel places mappings.
 */
#include "core.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "../../fw-protocol/vgpu_dial.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define SPANS 4u                        /* kept of sessions that are over */
#define SMALL (8 * VGPU_GIB)            /* a small window at most: Valgrind marks each byte of it */
#define SMALLEST (64ull << 20)
#define SMALL_PLACES 6u                 /* low ones: Valgrind's own memory begins at 64 GiB, the last of its fast maps ends at 128 */
_Static_assert(SMALL_PLACES > SPANS + 1 && VGPU_SPAN_LOW + SMALL_PLACES * SMALL <= 64 * VGPU_GIB, "a place for each session");

/* Of ThreadSanitizer's run time, where the program has that: an address that is not in its layout would be a crash. */
extern void __tsan_init(void) __attribute__((weak));

static bool under_valgrind(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload && strstr(preload, "vgpreload_");
}

static uint64_t address_limit(void)
{
	struct rlimit r;

	return !getrlimit(RLIMIT_AS, &r) && r.rlim_cur != RLIM_INFINITY ? r.rlim_cur : ~0ull;
}

/* Why there is none: a limit, or who has that part of the address space. */
static void no_span(int e)
{
	char line[512], taken[64] = "";
	unsigned long a, b;
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && fgets(line, sizeof line, f))
		if (!taken[0] && sscanf(line, "%lx-%lx", &a, &b) == 2 && b > VGPU_SPAN_BASE_DEFAULT && a < VGPU_SPAN_BASE_DEFAULT + VGPU_SPAN_BYTES)
			snprintf(taken, sizeof taken, " (%lx-%lx is taken)", a, b);
	if (f)
		fclose(f);
	if (address_limit() != ~0ull)
		vg_say("cannot reserve %llu MiB of address space: the limit is %llu MiB; ulimit -v unlimited (systemd: LimitAS=infinity). "
		       "It is address space alone, without memory behind it", SMALLEST >> 20, (unsigned long long)address_limit() >> 20);
	else
		vg_say("cannot reserve %llu TiB of address space from %llx on%s, nor a part of it from %llx on: %s",
		       (unsigned long long)(VGPU_SPAN_BYTES / VGPU_TIB), (unsigned long long)VGPU_SPAN_BASE_DEFAULT, taken,
		       (unsigned long long)VGPU_SPAN_LOW, strerror(e));
}

static uint64_t reserved;               /* bytes from vg.span on */

/* 0, or an errno. No child may keep what will be mapped there; vfork and exec do not care. */
static int reserve_at(uint64_t base, uint64_t bytes)
{
	void *p = mmap((void *)(uintptr_t)base, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == MAP_FAILED)
		return errno;
	if (p != (void *)(uintptr_t)base) {     /* a kernel before 4.17 took the address as a hint */
		munmap(p, bytes);
		return EEXIST;
	}
	madvise(p, bytes, MADV_DONTFORK);
	reserved = bytes;
	return 0;
}

/*
 * VGPU_SPAN=BASE:PLACE, for a process that stands in for a client (vgpu-stub's cuda engine over this library): the first device's
 * memory lies at that place of the span. Only the window is reserved: behind it, the addresses are the caller's already.
 */
static uint64_t named_span(const char *text)
{
	char *end;
	uint64_t base = strtoull(text, &end, 0), place = *end == ':' ? strtoull(end + 1, &end, 10) : 0;

	if (*end || !base || base % VGPU_TIB || !place || place >= VGPU_MAX_DEVICES || base >= 0x700000000000ull) {
		vg_say("VGPU_SPAN=%s: give small, or BASE:PLACE, a multiple of 0x10000000000 and a number from 1 to %u", text, VGPU_MAX_DEVICES - 1);
		return 0;
	}
	if (reserve_at(base, VGPU_WINDOW_SPAN)) {
		vg_say("VGPU_SPAN=%s: the addresses of the window are in use", text);
		return 0;
	}
	vg.window_span = VGPU_WINDOW_SPAN;
	vg.place = (uint32_t)place;
	return base;
}

/* The places for a whole span, in turn; 0 ends them. The context's queue block lies below all of these. */
static uint64_t place(unsigned i)
{
	uint64_t base = VGPU_SPAN_BASE_DEFAULT + i * 4 * VGPU_TIB;

	/* A program linked to a fixed address has room where the context's process has none. */
	while (!VGPU_SPAN_FREE(base))
		base += 4 * VGPU_TIB;
	return base + VGPU_SPAN_BYTES < 0x700000000000ull ? base : 0;
}

/* A window without devices' addresses: `low` alone, or at the places of whole spans first. */
static uint64_t small_span(bool low)
{
	uint64_t most = address_limit() / 4, bytes = SMALL, base;

	while (bytes > SMALLEST && bytes > most)
		bytes /= 2;
	vg.window_span = bytes;
	for (unsigned i = 0; !low && (base = place(i)); i++)
		if (!reserve_at(base, bytes))
			return base;
	for (unsigned i = 0; i < SMALL_PLACES; i++)
		if (!reserve_at(VGPU_SPAN_LOW + i * SMALL, bytes))
			return VGPU_SPAN_LOW + i * SMALL;
	return 0;
}

bool vg_span_reserve(void)
{
	const char *named = vgpu_env("VGPU_SPAN");
	bool small = (named && !strcmp(named, "small")) || __tsan_init || under_valgrind();
	uint64_t base;
	int e = EEXIST;

	vg.span = 0;
	if (!small && named && *named)
		return (vg.span = named_span(named));
	for (unsigned i = 0; !small && (base = place(i)); i++) {
		e = reserve_at(base, VGPU_SPAN_BYTES);
		if (!e) {
			vg.window_span = VGPU_WINDOW_SPAN;
			return (vg.span = base);
		}
	}
	vg.span = small_span(small);
	if (!vg.span)
		no_span(e);
	return vg.span;
}

static struct left {
	uint64_t base, bytes;
} left[SPANS];                          /* of sessions that are over, oldest first */
static unsigned left_n;

/*
 * Addresses of the old session may still be in the program's hands (pinned memory, events): they stay addresses, of zeroes, and
 * are no other object's until there is no room for another span.
 */
void vg_span_leave(uint64_t window)
{
	if (!vg.span)
		return;
	if (mmap((void *)(uintptr_t)vg.span, window, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED)
		madvise((void *)(uintptr_t)vg.span, window, MADV_DONTFORK);
	if (left_n == SPANS) {
		munmap((void *)(uintptr_t)left[0].base, left[0].bytes);
		memmove(left, left + 1, --left_n * sizeof left[0]);
	}
	left[left_n++] = (struct left){ vg.span, reserved };
}
