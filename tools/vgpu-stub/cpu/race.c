/* SPDX-License-Identifier: MIT */
/*
 * Races on shared memory, for memcheck.c: by phases (race.h). Only what is certain is a race: any barrier, also one of a part
 * of the block, any mbarrier operation and any fence of any thread begins a phase for the whole block; accesses of one warp, and
 * those that are atomic or strong on both sides, are in order; so is a write that changes nothing. A block is run by one
 * thread at a time, so nothing here is atomic, and its warps run in their order, so that reports are the same every time.
 */
#include <stdlib.h>

#include "race.h"

#define ALL ((1u << RACE_WORD) - 1)

static inline bool apart(const struct touch *a, const struct touch *b)
{
	return a->thread / LANES != b->thread / LANES && !(a->sync && b->sync);
}

static inline bool alike(const struct touch *a, const struct touch *b)
{
	return a->line == b->line && a->thread == b->thread && a->sync == b->sync;
}

struct race_cell *race_cells(u32 bytes)
{
	size_t words = (bytes + RACE_WORD - 1) / RACE_WORD;

	return calloc(words * (1 + RACE_WORD), sizeof(struct race_cell));
}

static inline struct race_cell *bytes_of(const struct cta *c, const struct race_cell *s)
{
	return c->shadow + c->shadow_bytes / RACE_WORD + (size_t)(s - c->shadow) * RACE_WORD;
}

/* The cell of a byte, or of a word that is not parted, in this phase. */
static void refresh(const struct cta *c, struct race_cell *s)
{
	/* the blocks of one struct cta count their phases on: nothing of the one before is of this */
	if (s->phase < c->phase_first)
		s->ever = 0;
	s->now = s->read = 0;
	s->phase = c->phase;
}

/* The word's cell in this phase: what parted its bytes is over. */
static inline struct race_cell *word(const struct cta *c, u64 off)
{
	struct race_cell *s = &c->shadow[off / RACE_WORD], *b;
	u32 i;

	if (s->phase == c->phase)
		return s;
	if (s->parted) {
		s->parted = false;
		for (s->ever = 0, b = bytes_of(c, s), i = 0; i < RACE_WORD; i++)
			s->ever |= b[i].ever;
	}
	refresh(c, s);
	return s;
}

/* Each byte's cell gets what the word's says of it. */
static void part(const struct cta *c, struct race_cell *s)
{
	struct race_cell *b = bytes_of(c, s);
	u32 i;

	for (i = 0; i < RACE_WORD; i++) {
		b[i] = *s;
		b[i].ever &= (u8)(1u << i);
		b[i].now &= (u8)(1u << i);
		b[i].read &= (u8)(1u << i);
	}
	s->parted = true;
}

/* Who has read, with by among them. */
static void add_reader(struct touch r[2], const struct touch *by)
{
	if (r[0].thread / LANES == by->thread / LANES) {
		/* a plain read says more than a strong one */
		if (r[0].sync)
			r[0] = *by;
	} else if (!r[1].line || r[1].sync) {
		r[1] = *by;
	}
}

/* The bits k are read. False: that is not the same for all that is read, and nothing has been done. */
static inline bool put_reader(struct race_cell *s, u32 k, const struct touch *by)
{
	struct touch r[2] = { *by, { 0, 0, false } };
	u32 old = s->read;

	if (old == k) {
		add_reader(s->r, by);
		return true;
	}
	if (old & k) {
		r[0] = s->r[0];
		r[1] = s->r[1];
		add_reader(r, by);
	}
	if ((k & ~old && old & k && (!alike(&r[0], by) || r[1].line)) ||
	    (old & ~k && (!alike(&r[0], &s->r[0]) || !alike(&r[1], &s->r[1]))))
		return false;
	s->read |= (u8)k;
	s->r[0] = r[0];
	s->r[1] = r[1];
	return true;
}

static inline bool put_writer(struct race_cell *s, u32 k, const struct touch *by)
{
	if (s->now & ~k && !alike(&s->w, by))
		return false;
	s->now |= (u8)k;
	s->ever |= (u8)k;
	s->w = *by;
	return true;
}

static inline enum race read_behind(const struct race_cell *s, u32 k, const struct touch *by, struct touch *with, bool *missing)
{
	*missing |= (k & ~s->ever) != 0;
	if (!(s->now & k) || !apart(&s->w, by))
		return RACE_NONE;
	*with = s->w;
	return RACE_RAW;
}

static enum race __attribute__((noinline)) read_bytes(const struct cta *c, struct race_cell *s, u32 k, const struct touch *by,
						      struct touch *with, bool *missing)
{
	enum race r = RACE_NONE;
	u32 i;

	if (!s->parted)
		part(c, s);
	for (s = bytes_of(c, s), i = 0; i < RACE_WORD; i++)
		if (k >> i & 1) {
			put_reader(&s[i], 1u << i, by);
			if (read_behind(&s[i], 1u << i, by, with, missing))
				r = RACE_RAW;
		}
	return r;
}

/* The bits k of the cell's bytes are written, those of same with what they have. False: as above. */
static inline bool write_cell(struct race_cell *s, u32 k, u32 same, const struct touch *by, struct touch *with, enum race *r)
{
	u32 changed = k & ~(same & s->ever), waw = changed & s->now, war = changed & s->read, i;
	const struct touch w = s->w;

	*r = RACE_NONE;
	if (!changed)
		return true;
	if (!put_writer(s, changed, by))
		return false;
	if (waw && !apart(&w, by))
		waw = 0;
	for (i = 0; war && !(s->r[i].line && apart(&s->r[i], by));)
		if (++i == 2)
			war = 0;
	if (waw | war) {
		/* the first byte's */
		*r = waw & ((waw | war) & -(waw | war)) ? RACE_WAW : RACE_WAR;
		*with = *r == RACE_WAW ? w : s->r[i];
	}
	return true;
}

static enum race __attribute__((noinline)) write_bytes(const struct cta *c, struct race_cell *s, u32 k, u32 same, const struct touch *by,
						       struct touch *with)
{
	enum race r = RACE_NONE, here;
	struct touch other;
	u32 i;

	if (!s->parted)
		part(c, s);
	for (s = bytes_of(c, s), i = 0; i < RACE_WORD; i++) {
		if (!(k >> i & 1))
			continue;
		write_cell(&s[i], 1u << i, same, by, &other, &here);
		if (!r && here) {
			r = here;
			*with = other;
		}
	}
	return r;
}

enum race race_read(const struct cta *c, u64 off, u32 bytes, u64 not, const struct touch *by, struct touch *with, bool *missing)
{
	enum race r = RACE_NONE, here;
	u32 at = off % RACE_WORD, k, i;
	struct race_cell *s;

	for (i = 0; i < bytes; i += RACE_WORD) {
		k = ((bytes < RACE_WORD ? (1u << bytes) - 1 : ALL) & ~(u32)(not >> i)) << at;
		if (!k)
			continue;
		s = word(c, off + i);
		here = !s->parted && put_reader(s, k, by) ? read_behind(s, k, by, with, missing) : read_bytes(c, s, k, by, with, missing);
		r = r ? r : here;
	}
	return r;
}

enum race race_write(const struct cta *c, u64 off, u32 bytes, u64 same, const struct touch *by, struct touch *with)
{
	enum race r = RACE_NONE, here;
	u32 at = off % RACE_WORD, k, equal, i;
	struct touch other;
	struct race_cell *s;

	for (i = 0; i < bytes; i += RACE_WORD) {
		k = (bytes < RACE_WORD ? (1u << bytes) - 1 : ALL) << at;
		equal = (u32)(same >> i & ALL) << at;
		s = word(c, off + i);
		if (s->parted || !write_cell(s, k, equal, by, &other, &here))
			here = write_bytes(c, s, k, equal, by, &other);
		if (!r && here) {
			r = here;
			*with = other;
		}
	}
	return r;
}

void race_far(struct cta *c, u64 off, u32 bytes)
{
	u32 i;

	race_phase(c);
	for (i = 0; i < bytes; i++)
		word(c, off + i)->ever |= (u8)(1u << (off + i) % RACE_WORD);
}
