/* SPDX-License-Identifier: MIT */
/* The memory checker's bitmaps: see written.h. Warps of several threads set bits of one word. */
#include <stdlib.h>

#include "written.h"

u64 *written_new(u64 bytes)
{
	return calloc(bytes / 64 + 1, sizeof(u64));     /* pages that nobody touches cost nothing */
}

/* Bits first to first + n - 1 of a word, n at most 64 - first. */
static u64 span(u32 first, u32 n)
{
	return (n == 64 ? ~0ull : (1ull << n) - 1) << first;
}

void written_set(u64 *bits, u64 at, u64 n)
{
	while (bits && n) {
		u32 first = at % 64, k = n < 64 - first ? (u32)n : 64 - first;
		u64 *w = bits + at / 64, m = span(first, k);

		if ((__atomic_load_n(w, __ATOMIC_RELAXED) & m) != m)
			__atomic_fetch_or(w, m, __ATOMIC_RELAXED);
		at += k;
		n -= k;
	}
}

u64 written_gap(const u64 *bits, u64 at, u64 n)
{
	while (bits && n) {
		u32 first = at % 64, k = n < 64 - first ? (u32)n : 64 - first;
		u64 missing = ~__atomic_load_n(bits + at / 64, __ATOMIC_RELAXED) & span(first, k);

		if (missing)
			return at - first + (u32)__builtin_ctzll(missing);
		at += k;
		n -= k;
	}
	return at + n;
}
