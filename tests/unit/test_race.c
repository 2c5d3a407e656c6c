/* SPDX-License-Identifier: MIT */
/*
 * What the memory checker knows of shared memory by words (tools/vgpu-stub/cpu/race.c), against the same by bytes, which is here: a list of
 * each byte's accesses since the phase began. Random accesses of every size, to places that overlap, by threads of a few warps, plain and
 * strong, with parts of a vector that are not read and stores that change some bytes only; now and then a phase or a block begins, or
 * another block writes. Each access is to give the same race with the same other side, and to miss the same bytes.
 *
 * Sources: tests/unit/test_race.c tools/vgpu-stub/cpu/race.c
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#include "../../tools/vgpu-stub/cpu/race.h"

#define BYTES 61u               /* no whole number of words */
#define ROUNDS 40u
#define STEPS 20000u

struct deed { struct touch by; bool write; };
struct byte {
	struct deed deed[STEPS + 1];
	unsigned n;             /* in this phase */
	bool ever;              /* written, in this block */
};

static struct byte *model;
static struct cta *c;
static uint64_t state;
static unsigned raced, missed, quiet;

static unsigned draw(unsigned n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % n;
}

static int in_order(const struct touch *a, const struct touch *b)
{
	return a->thread / LANES == b->thread / LANES || (a->sync && b->sync);
}

/* Of those who have read it, the two that are asked: the first warp's, and one of another's; a plain read is asked rather than a strong one. */
static void readers(const struct byte *b, struct touch r[2])
{
	memset(r, 0, 2 * sizeof(*r));
	for (unsigned i = 0; i < b->n; i++) {
		const struct touch *by = &b->deed[i].by;
		int second = r[0].line && r[0].thread / LANES != by->thread / LANES;

		if (!b->deed[i].write && (!r[second].line || r[second].sync))
			r[second] = *by;
	}
}

static const struct touch *writer(const struct byte *b)
{
	for (unsigned i = b->n; i-- > 0;)
		if (b->deed[i].write)
			return &b->deed[i].by;
	return NULL;
}

static enum race byte_read(struct byte *b, const struct touch *by, struct touch *with, bool *missing)
{
	const struct touch *w = writer(b);
	enum race r = RACE_NONE;

	*missing |= !b->ever;
	if (w && !in_order(w, by)) {
		*with = *w;
		r = RACE_RAW;
	}
	b->deed[b->n++] = (struct deed){ *by, false };
	return r;
}

static enum race byte_write(struct byte *b, const struct touch *by, int same, struct touch *with)
{
	const struct touch *w = writer(b);
	enum race r = RACE_NONE;
	struct touch read[2];

	if (same && b->ever)
		return RACE_NONE;
	readers(b, read);
	if (w && !in_order(w, by)) {
		*with = *w;
		r = RACE_WAW;
	}
	for (int i = 0; i < 2 && !r; i++)
		if (read[i].line && !in_order(&read[i], by)) {
			*with = read[i];
			r = RACE_WAR;
		}
	b->ever = true;
	b->deed[b->n++] = (struct deed){ *by, true };
	return r;
}

static void new_phase(bool block)
{
	for (unsigned i = 0; i < BYTES; i++) {
		model[i].n = 0;
		model[i].ever &= !block;
	}
}

/* Some bytes of so many: none, all, whole elements, or any. */
static uint64_t some(unsigned bytes)
{
	uint64_t all = bytes == 64 ? ~0ull : (1ull << bytes) - 1, bits = 0;
	unsigned size = 1u << draw(4);

	switch (draw(4)) {
	case 0:  return 0;
	case 1:  return all;
	case 2:
		for (unsigned i = 0; i < bytes; i += size)
			if (draw(2))
				bits |= ((1ull << size) - 1) << i;
		return bits & all;
	default: return ((uint64_t)draw(1u << 16) << 16 | draw(1u << 16)) & all;
	}
}

/* One access, both ways. how: warps and places that it has to do with, the fewer the more meet. */
static int access_one(unsigned warps, unsigned lines, unsigned room)
{
	unsigned bytes = 1u << draw(6), off = draw(room) & ~(bytes - 1), write = draw(2), i;
	struct touch by = { 1 + draw(lines), (uint16_t)(draw(warps) * LANES + draw(2)), draw(4) == 0 }, with = { 0, 0, 0 }, want = { 0, 0, 0 }, other;
	bool missing = false, none = false;
	enum race r, expect = RACE_NONE, here;
	uint64_t bits = some(bytes);

	if (off + bytes > BYTES)
		return 0;
	for (i = 0; i < bytes; i++) {
		if (!write && bits >> i & 1)
			continue;
		other = want;
		here = write ? byte_write(&model[off + i], &by, bits >> i & 1, &other) : byte_read(&model[off + i], &by, &other, &none);
		/* a read tells the last byte's, a write the first one's */
		if (here && (!write || !expect)) {
			expect = here;
			want = other;
		}
	}
	r = write ? race_write(c, off, bytes, bits, &by, &with) : race_read(c, off, bytes, bits, &by, &with, &missing);
	raced += expect != RACE_NONE;
	missed += none;
	quiet += !expect && !none;
	return r != expect || missing != none || (r && (with.line != want.line || with.thread != want.thread || with.sync != want.sync));
}

static void run(unsigned round)
{
	static const struct { unsigned warps, lines, room, phase; } ways[] = {
		{ 2, 2, 16, 8 }, { 3, 3, BYTES, 40 }, { 1, 4, 32, 60 }, { 4, 2, 8, 200 }, { 2, 1, BYTES, 15 },
	};
	unsigned way = round % (sizeof(ways) / sizeof(ways[0])), step, off, n, i;

	new_phase(true);
	c->phase_first = ++c->phase;
	for (step = 0; step < STEPS; step++) {
		switch (draw(ways[way].phase * 20) / 10) {
		case 0:
			race_phase(c);
			new_phase(false);
			break;
		case 1:
			if (draw(4))
				break;
			c->phase_first = ++c->phase;
			new_phase(true);
			break;
		case 2:
			if (draw(8))
				break;
			off = draw(BYTES);
			n = 1 + draw(BYTES - off);
			race_far(c, off, n);
			new_phase(false);
			for (i = 0; i < n; i++)
				model[off + i].ever = true;
			break;
		}
		if (access_one(ways[way].warps, ways[way].lines, ways[way].room)) {
			CHECK(!"by words as by bytes");
			fprintf(stderr, "round %u, step %u\n", round, step);
			return;
		}
	}
}

int main(void)
{
	unsigned round;

	state = 20261130;
	model = calloc(BYTES, sizeof(*model));
	c = calloc(1, sizeof(*c));
	c->shadow_bytes = (BYTES + RACE_WORD - 1) / RACE_WORD * RACE_WORD;
	c->shadow = race_cells(c->shadow_bytes);
	for (round = 0; round < ROUNDS; round++)
		run(round);
	printf("race: %u with a race, %u of bytes not written, %u with neither\n", raced, missed, quiet);
	CHECK(raced > 10000 && missed > 1000 && quiet > 10000);
	free(c->shadow);
	free(c);
	free(model);
	printf("race: %u checks, %u failed\n", checks, failed);
	return failed ? 1 : 0;
}
