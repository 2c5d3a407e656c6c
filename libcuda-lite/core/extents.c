/* SPDX-License-Identifier: MIT */
/*
 * Free ranges of a number space (device addresses, window bytes, physical offsets): a sorted array,
 * first fit. Neighbours are always merged, so n is the number of holes. The caller locks.
 */
#include "core.h"

#include <stdlib.h>
#include <string.h>

static bool grow(struct vg_extents *e, size_t n)
{
	size_t cap = e->cap ? e->cap * 2 : 16;
	struct vg_extent *v;

	if (n <= e->cap)
		return true;
	v = realloc(e->v, cap * sizeof *v);
	if (!v)
		return false;
	e->v = v;
	e->cap = cap;
	return true;
}

/* Index of the first extent that starts behind `at`. */
static size_t after(const struct vg_extents *e, uint64_t at)
{
	size_t lo = 0, hi = e->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (e->v[mid].start > at)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* Cuts [start, start + bytes) out of extent i, which holds it. */
static bool cut(struct vg_extents *e, size_t i, uint64_t start, uint64_t bytes)
{
	uint64_t left = start - e->v[i].start;
	uint64_t right = e->v[i].bytes - left - bytes;

	if (left && right) {
		if (!grow(e, e->n + 1))
			return false;
		memmove(&e->v[i + 1], &e->v[i], (e->n - i) * sizeof *e->v);
		e->n++;
		e->v[i].bytes = left;
		e->v[i + 1] = (struct vg_extent){ start + bytes, right };
	} else if (left) {
		e->v[i].bytes = left;
	} else if (right) {
		e->v[i] = (struct vg_extent){ start + bytes, right };
	} else {
		memmove(&e->v[i], &e->v[i + 1], (e->n - i - 1) * sizeof *e->v);
		e->n--;
	}
	return true;
}

bool vg_extents_take(struct vg_extents *e, uint64_t bytes, uint64_t align, uint64_t *start)
{
	for (size_t i = 0; i < e->n && bytes; i++) {
		uint64_t at = (e->v[i].start + align - 1) & ~(align - 1);
		uint64_t skip = at - e->v[i].start;

		if (at < e->v[i].start || skip > e->v[i].bytes || bytes > e->v[i].bytes - skip)
			continue;
		if (!cut(e, i, at, bytes))
			return false;
		*start = at;
		return true;
	}
	return false;
}

bool vg_extents_take_at(struct vg_extents *e, uint64_t start, uint64_t bytes)
{
	size_t i = after(e, start);

	if (!i || !bytes)
		return false;
	i--;
	if (start - e->v[i].start > e->v[i].bytes || bytes > e->v[i].bytes - (start - e->v[i].start))
		return false;
	return cut(e, i, start, bytes);
}

bool vg_extents_give(struct vg_extents *e, uint64_t start, uint64_t bytes)
{
	size_t i = after(e, start);
	bool left = i && e->v[i - 1].start + e->v[i - 1].bytes == start;
	bool right = i < e->n && start + bytes == e->v[i].start;

	if (left && right) {
		e->v[i - 1].bytes += bytes + e->v[i].bytes;
		memmove(&e->v[i], &e->v[i + 1], (e->n - i - 1) * sizeof *e->v);
		e->n--;
	} else if (left) {
		e->v[i - 1].bytes += bytes;
	} else if (right) {
		e->v[i] = (struct vg_extent){ start, bytes + e->v[i].bytes };
	} else {
		if (!grow(e, e->n + 1))
			return false;
		memmove(&e->v[i + 1], &e->v[i], (e->n - i) * sizeof *e->v);
		e->n++;
		e->v[i] = (struct vg_extent){ start, bytes };
	}
	return true;
}
