/* SPDX-License-Identifier: MIT */
/*
 * The library's allocators against a model that knows every page: free ranges (extents.c), the window
 * heap over fake segments (window.c) and handles (handle.c).
 *
 * Sources: tests/unit/test_core_alloc.c, libcuda-lite/core/extents.c; includes window.c and handle.c
 * Flags: -Ilibcuda-lite/include      Sanitizers: ASan, UBSan
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../libcuda-lite/core/handle.c"
#include "../../libcuda-lite/core/window.c"

struct vg_session vg;

static unsigned failed, checks;
#define CHECK(x) \
	do { \
		checks++; \
		if (!(x) && failed++ < 20) \
			printf("FAIL %s:%d: %s\n", __func__, __LINE__, #x); \
	} while (0)

static uint32_t seed = 12345;
static uint32_t rnd(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed % n;
}

/* ---- extents ---- */

#define UNITS 4096u
static uint8_t taken[UNITS];    /* the model: one byte a unit */

static void invariants(const struct vg_extents *e)
{
	uint64_t model = 0, sum = 0;

	for (size_t i = 0; i < e->n; i++) {
		CHECK(e->v[i].bytes);
		if (i)          /* sorted, and never two that touch */
			CHECK(e->v[i - 1].start + e->v[i - 1].bytes < e->v[i].start);
		sum += e->v[i].bytes;
		for (uint64_t u = e->v[i].start; u < e->v[i].start + e->v[i].bytes; u++)
			CHECK(u < UNITS && !taken[u]);
	}
	for (uint32_t u = 0; u < UNITS; u++)
		model += !taken[u];
	CHECK(sum == model);
}

/* What first fit must answer. */
static uint64_t model_first(uint32_t n, uint32_t align)
{
	for (uint64_t at = 0; at + n <= UNITS; at += align) {
		uint32_t k = 0;

		while (k < n && !taken[at + k])
			k++;
		if (k == n)
			return at;
	}
	return ~0ull;
}

static void test_extents(void)
{
	static struct { uint64_t start; uint32_t n; } live[UNITS];
	struct vg_extents e = { 0 };
	unsigned n = 0;

	CHECK(vg_extents_give(&e, 0, UNITS));
	for (int round = 0; round < 30000; round++) {
		uint64_t at = ~0ull;

		if (rnd(5) < 3 && n < UNITS) {
			uint32_t size = 1 + rnd(rnd(8) ? 12 : 300), align = 1u << rnd(6);
			bool ok;

			if (rnd(6)) {
				uint64_t want = model_first(size, align);

				ok = vg_extents_take(&e, size, align, &at);
				CHECK(ok == (want != ~0ull));
				if (ok)
					CHECK(at == want);
			} else {
				bool fits = true;

				at = rnd(UNITS + 50);
				for (uint64_t u = at; u < at + size; u++)
					fits = fits && u < UNITS && !taken[u];
				ok = vg_extents_take_at(&e, at, size);
				CHECK(ok == fits);
			}
			if (ok) {
				memset(taken + at, 1, size);
				live[n].start = at;
				live[n++].n = size;
			}
		} else if (n) {
			unsigned i = rnd(n);

			CHECK(vg_extents_give(&e, live[i].start, live[i].n));
			memset(taken + live[i].start, 0, live[i].n);
			live[i] = live[--n];
		}
		if (round % 64 == 0)
			invariants(&e);
	}
	while (n) {
		n--;
		CHECK(vg_extents_give(&e, live[n].start, live[n].n));
		memset(taken + live[n].start, 0, live[n].n);
	}
	invariants(&e);
	CHECK(e.n == 1 && e.v[0].start == 0 && e.v[0].bytes == UNITS);
	/* Sizes near the top of 64 bits must not wrap. */
	CHECK(!vg_extents_take(&e, ~0ull, 1, &(uint64_t){ 0 }));
	CHECK(!vg_extents_take_at(&e, 5, ~0ull));
	CHECK(!vg_extents_take(&e, 0, 1, &(uint64_t){ 0 }));
	free(e.v);
}

/* ---- the window heap: an agent that hands out segments up to a quota ---- */

#define QUOTA (64ull << 20)
static uint64_t given, grows;

/* nothing is lent here */
uint32_t vg_request_lending(void *msg, uint32_t bytes, void *answer, uint32_t answer_bytes, int fd)
{
	(void)msg, (void)bytes, (void)answer, (void)answer_bytes, (void)fd;
	CHECK(0);
	return VGPU_ST_INTERNAL;
}

void vg_holes_watch(int fd, const void *p, uint64_t bytes)
{
	CHECK(fd >= 0 && p && bytes);
}

uint32_t vg_request(void *msg, uint32_t bytes, void *answer, uint32_t answer_bytes, int *fds, unsigned nfds)
{
	struct vgpu_msg_grow *m = msg;
	struct vgpu_msg_grow_r *r = answer;
	uint64_t n = (m->bytes + VGPU_HUGE - 1) & ~(VGPU_HUGE - 1);

	CHECK(bytes == sizeof *m && answer_bytes == sizeof *r && nfds == 1 && m->h.type == VGPU_MSG_WINDOW_GROW);
	if (given + n > QUOTA)
		return VGPU_ST_LIMIT;
	fds[0] = (int)syscall(SYS_memfd_create, "window", 0);
	CHECK(fds[0] >= 0 && ftruncate(fds[0], (off_t)n) == 0);
	*r = (struct vgpu_msg_grow_r){ .h = { m->h.type, sizeof *r }, .offset = VGPU_SEG0_BYTES + given, .bytes = n };
	given += n;
	grows++;
	return VGPU_ST_OK;
}

static void test_window(void)
{
	static struct { uint8_t *p; uint64_t n; uint8_t mark; } live[512];
	unsigned n = 0;
	void *p = mmap(NULL, 256ull << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(p != MAP_FAILED);
	vg.span = ((uint64_t)(uintptr_t)p + VGPU_HUGE - 1) & ~(VGPU_HUGE - 1);
	vg.window_span = VGPU_WINDOW_SPAN;
	CHECK(!vg_window_alloc(0, 64) && !vg_window_alloc(~0ull, 64));
	for (int round = 0; round < 6000; round++) {
		if (n < 512 && rnd(2)) {
			uint64_t size = 1 + rnd(rnd(10) ? 5000 : 3 << 20), align = 64ull << rnd(7);
			uint8_t *q = vg_window_alloc(size, align);

			if (!q)
				continue;
			CHECK(!((uintptr_t)q & (align - 1)) && vg_in_window((uintptr_t)q));
			for (unsigned i = 0; i < n; i++)
				CHECK(q + size <= live[i].p || live[i].p + live[i].n <= q);
			live[n].p = q;
			live[n].n = size;
			live[n].mark = (uint8_t)rnd(256);
			q[0] = q[size - 1] = live[n].mark;
			n++;
		} else if (n) {
			unsigned i = rnd(n);

			CHECK(live[i].p[0] == live[i].mark && live[i].p[live[i].n - 1] == live[i].mark);
			vg_window_free(live[i].p, live[i].n);
			live[i] = live[--n];
		}
	}
	while (n) {
		n--;
		vg_window_free(live[n].p, live[n].n);
	}
	/* Segments lie side by side: when all is free there is one hole. */
	CHECK(heap.free.n == 1 && heap.free.v[0].bytes == given);
	CHECK(vg_window_alloc(given, 64) != NULL);
	CHECK(grows < 64);
	free(heap.free.v);
}

/* ---- handles ---- */

static void test_handles(void)
{
	uint64_t h[300];

	CHECK(!vg_get(VG_EVENT, 0) && !vg_get(VG_EVENT, 1) && !vg_get(VG_EVENT, ~0ull));
	for (int i = 0; i < 300; i++) {
		struct vg_event *e = vg_new(VG_EVENT);

		CHECK(e && !vg_get(VG_EVENT, e->handle_next));  /* not yet published */
		h[i] = vg_publish(e);
		CHECK(vg_get(VG_EVENT, h[i]) == e && e->handle == h[i]);
		CHECK(!vg_get(VG_STREAM, h[i]));                /* of another type */
		CHECK(!vg_get(VG_EVENT, h[i] + 8) && !vg_get(VG_EVENT, h[i] + 1));
		CHECK(!vg_get(VG_EVENT, h[i] & VG_ADDRESS_MASK)); /* the plain address is no handle */
	}
	for (int i = 0; i < 300; i++)
		vg_delete(VG_EVENT, vg_get(VG_EVENT, h[i]));
	for (int i = 0; i < 300; i++) {
		struct vg_event *e = vg_new(VG_EVENT);

		CHECK(e && e->mark == 0 && !e->ctx);
		e->mark = 7;
		CHECK(vg_publish(e) != 0);
	}
	/* Every slot is in use again, by other objects: the old handles stay dead. */
	for (int i = 0; i < 300; i++)
		CHECK(!vg_get(VG_EVENT, h[i]));
}

int main(void)
{
	test_extents();
	test_window();
	test_handles();
	printf("core_alloc: %u checks, %u failed\n", checks, failed);
	return failed != 0;
}
