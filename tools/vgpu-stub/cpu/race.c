/* SPDX-License-Identifier: MIT */
/*
 * Races on shared memory, for memcheck.c: by phases (race.h). Only what is certain is a race: any barrier, also one of a part
 * of the block, any mbarrier operation and any fence of any thread begins a phase for the whole block; accesses of one warp, and
 * those that are atomic or strong on both sides, are in order; so is a write that changes nothing. A block is run by one
 * thread at a time, so nothing here is atomic, and its warps run in their order, so that reports are the same every time.
 */
#include "race.h"

static bool apart(const struct touch *a, const struct touch *b)
{
	return a->thread / LANES != b->thread / LANES && !(a->sync && b->sync);
}

enum race race_read(const struct cta *c, struct race_cell *s, const struct touch *by, struct touch *with)
{
	enum race r = RACE_NONE;

	if (s->written == c->phase && apart(&s->w, by)) {
		*with = s->w;
		r = RACE_RAW;
	}
	if (s->read != c->phase) {
		s->read = c->phase;
		s->r[0] = *by;
		s->r[1] = (struct touch){ 0, 0, false };
	} else if (s->r[0].thread / LANES == by->thread / LANES) {
		/* a plain read says more than a strong one */
		if (s->r[0].sync)
			s->r[0] = *by;
	} else if (!s->r[1].line || s->r[1].sync) {
		s->r[1] = *by;
	}
	return r;
}

/* same: the byte has this value already. */
enum race race_write(const struct cta *c, struct race_cell *s, const struct touch *by, bool same, struct touch *with)
{
	enum race r = RACE_NONE;
	u32 i;

	if (same && race_written(c, s))
		return RACE_NONE;
	if (s->written == c->phase && apart(&s->w, by)) {
		*with = s->w;
		r = RACE_WAW;
	}
	for (i = 0; i < 2 && !r && s->read == c->phase; i++)
		if (s->r[i].line && apart(&s->r[i], by)) {
			*with = s->r[i];
			r = RACE_WAR;
		}
	s->written = c->phase;
	s->w = *by;
	return r;
}

void race_far(struct cta *c, u64 off, u32 bytes)
{
	u32 i;

	race_phase(c);
	for (i = 0; i < bytes; i++)
		c->shadow[off + i].written = c->phase - 1;
}
