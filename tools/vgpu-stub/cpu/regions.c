/* SPDX-License-Identifier: MIT */
/* What global memory there is: regions.h. */
#include <stdlib.h>
#include <string.h>

#include "regions.h"

u32 regions_find(const struct regions *all, u64 addr)
{
	u32 lo = 0, hi = all->n;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (all->r[mid].at + all->r[mid].bytes > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

struct region *regions_tracked(const struct regions *all, u64 addr, u64 bytes)
{
	u32 i = regions_find(all, addr);
	struct region *r = i < all->n ? &all->r[i] : NULL;

	return r && addr >= r->at && r->written && bytes <= r->bytes - (addr - r->at) ? r : NULL;
}

void regions_insert(struct regions *all, u64 at, u64 bytes, u64 *written)
{
	struct region *r = bytes ? xgrow(all->r, &all->cap, all->n + 1, sizeof(*r)) : NULL;
	u32 i;

	if (!r) {
		free(written);
		return;                 /* without memory, accesses there will be told as errors */
	}
	all->r = r;
	i = regions_find(all, at);
	memmove(&r[i + 1], &r[i], (all->n++ - i) * sizeof(*r));
	r[i] = (struct region){ at, bytes, written };
}

void regions_cut(struct regions *all, u64 at, u64 bytes, bool keep)
{
	u32 i = regions_find(all, at), k = i;
	u64 first = at, last = at + bytes;

	for (; k < all->n && all->r[k].at < at + bytes; k++) {
		if (all->r[k].at < first)
			first = all->r[k].at;
		if (all->r[k].at + all->r[k].bytes > last)
			last = all->r[k].at + all->r[k].bytes;
		free(all->r[k].written);
		all->r[k].written = NULL;
		if (keep)
			all->freed[all->nfreed++ % REGIONS_FREED] = all->r[k];
	}
	if (k > i)
		memmove(&all->r[i], &all->r[k], (all->n - k) * sizeof(*all->r));
	all->n -= k - i;
	/* a mapping can go in parts */
	regions_insert(all, first, at - first, NULL);
	regions_insert(all, at + bytes, last - at - bytes, NULL);
}

void regions_unfree(struct regions *all, u64 at, u64 bytes)
{
	u32 i;

	for (i = 0; i < REGIONS_FREED && i < all->nfreed; i++)
		if (all->freed[i].at < at + bytes && at < all->freed[i].at + all->freed[i].bytes)
			all->freed[i].bytes = 0;
}

void regions_free(struct regions *all)
{
	for (u32 i = 0; i < all->n; i++)
		free(all->r[i].written);
	free(all->r);
}
