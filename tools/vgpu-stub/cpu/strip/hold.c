/* SPDX-License-Identifier: MIT */
/*
 * Vectors of all strips of a warp that stay in registers while strips stand at a meeting. Shuffles (meet.c) and what is done between two of them (between.c) work on slots,
 * strip after strip; what one has stored the next one would load at once, twice a step of a reduction, and each step would wait for the one before. So what they
 * load and store is held, in ymm7 to ymm14, as it is in its slot; all registers are free there, for what is alive has been put away.
 *
 * In: nothing is held where strips come to meet. Out: nor where they go on. Slots are written as ever.
 */
#include "strip.h"
#include "vex.h"

#define FIRST_HELD 7
#define FIRST_FREE 4            /* and up to FIRST_HELD: for values of one strip */

void s_hold_none(struct scomp *c) { memset(c->held, 0, sizeof(c->held)); }

/* The register that holds o of strip s; -1: none does. */
int s_held(const struct scomp *c, u32 o, u32 s)
{
	u32 i;

	for (i = 0; i < S_HELD && !(c->held[i].v == o + 1 && c->held[i].strip == s); i++)
		;
	return i < S_HELD && !(o & OPND_CONST) ? FIRST_HELD + (int)i : -1;
}

void s_unhold(struct scomp *c, u32 o, u32 s)
{
	int r = s_held(c, o, s);

	if (r >= 0)
		c->held[r - FIRST_HELD].v = 0;
}

/* A register to hold o of strip s from now on; -1: there is none. What is not alive makes room, and is in its slot for who may still want it; but not register `but`. */
int s_hold(struct scomp *c, u32 o, u32 s, const u64 *live, u32 but)
{
	const struct sregister *r;
	int at = s_held(c, o, s);
	u32 i;

	if (at >= 0 || o == OPND_NONE || (o & OPND_CONST))
		return at;
	r = &c->r[o];
	if (!r->live || r->v.cls != SC_VARY || r->w || r->loc != LOC_ZMM)
		return -1;
	for (i = 0; i < S_HELD; i++) {
		u32 v = c->held[i].v;

		if (v && (v - 1 == but || bit_of(live, v - 1)))
			continue;
		c->held[i].v = o + 1;
		c->held[i].strip = (u8)s;
		return FIRST_HELD + (int)i;
	}
	return -1;
}

/*
 * Vectors that instructions from..to of strip s read or make are in registers that hold them, or that are free. False: there are not enough of these, nothing is held
 * any more, and all are where they ever are.
 */
bool s_hold_rename(struct scomp *c, u32 from, u32 to, const u64 *reads, u32 s, struct srename *old)
{
	u32 pc, k, i;
	int next = FIRST_FREE;

	old->n = 0;
	for (pc = from; pc < to; pc++)
		for (k = 0; k < 6; k++) {
			u32 o = c->code[pc].o[k];
			struct sregister *r;
			int at;

			if (!((c->code[pc].use | c->code[pc].def) >> k & 1) || o == OPND_NONE || (o & OPND_CONST))
				continue;
			r = &c->r[o];
			for (i = 0; i < old->n && old->of[i].v != o; i++)
				;
			if (i < old->n || !r->live || r->v.cls != SC_VARY || r->loc != LOC_ZMM)
				continue;
			at = bit_of(reads, o) ? s_held(c, o, s) : -1;
			if (r->w == 1 || old->n == S_RENAMED || (at < 0 && next == FIRST_HELD)) {
				s_hold_back(c, old);
				s_hold_none(c);
				return false;
			}
			old->of[old->n].v = o;
			old->of[old->n].raw = r->rawf;
			old->of[old->n++].reg = r->reg;
			r->reg = (u8)(at < 0 ? next++ : at);
		}
	return true;
}

/* Where they ever are. */
void s_hold_back(struct scomp *c, struct srename *old)
{
	while (old->n--) {
		c->r[old->of[old->n].v].reg = old->of[old->n].reg;
		c->r[old->of[old->n].v].rawf = old->of[old->n].raw;
	}
	old->n = 0;
}

/* Strip s is at the end of them: what they have made (out: and what is stored) is held, as slots have it; live: behind them. */
void s_hold_made(struct scomp *c, u32 from, u32 to, const u64 *out, const u64 *live, u32 s)
{
	u32 pc, k;

	for (pc = from; pc < to; pc++)
		for (k = 0; k < 6; k++) {
			u32 o = c->code[pc].o[k];
			struct sregister *r;
			int at;

			if (!(c->code[pc].def >> k & 1) || o == OPND_NONE)
				continue;
			r = &c->r[o];
			at = bit_of(out, o) ? s_hold(c, o, s, live, OPND_NONE) : -1;
			if (at < 0) {
				s_unhold(c, o, s);
				continue;
			}
			if (r->rawf)
				s_canon(c, at, r->reg, 3);
			else if (at != r->reg)
				vr(&c->a, X_MOVU, at, 0, r->reg);
			r->reg = (u8)at;
			r->rawf = false;
		}
}
