/* SPDX-License-Identifier: MIT */
/*
 * Operations between lanes (shfl, vote, match, redux), special registers, and the few lane
 * operations with more than three sources or with carry flags. Called by interp.c.
 */
#include <string.h>
#include <time.h>
#include <immintrin.h>

#include "cpu.h"
#include "jit.h"
#include "lanes.h"

static void put_pred(struct frame *f, u32 o, u32 v, u32 m)
{
	u32 *d = opnd(f, o);

	*d = (*d & ~m) | (v & m);
}

/*
 * One group of a .sync operation after the other. Lanes that are here together may name different members, half warps or
 * tiles each their own; every lane's answer is its group's. The lanes that answer leaves *rest and is *who; returned: those
 * of their members that are here. Without a mask, all are.
 */
static u32 next_group(const u32 *masks, u32 m, u32 *rest, u32 *who)
{
	u32 same = 0, first = (u32)__builtin_ctz(*rest), l;

	if (!masks) {
		*who = *rest;
		*rest = 0;
		return m;
	}
	for (l = 0; l < LANES; l++)
		same |= (u32)(masks[l] == masks[first]) << l;
	*who = same & *rest;
	*rest &= ~same;
	return m & masks[first];
}

static const u32 *masks_of(const struct frame *f, const struct insn *in) { return in->o[2] == OPND_NONE ? NULL : opnd(f, in->o[2]); }

/* Have all of lanes m's members that are here, whom in names, come with the same names? */
bool warp_named_alike(const struct frame *f, const struct insn *in, u32 m)
{
	const u32 *masks;
	u32 first, other = 0, rest, who, l;

	if (!jit_named(in) || in->o[2] == OPND_NONE || (in->o[2] & OPND_CONST) || !m)
		return true;
	masks = opnd(f, in->o[2]);
	first = masks[__builtin_ctz(m)];
	for (l = 0; l < LANES; l++)
		other |= (u32)(masks[l] != first) << l;
	for (rest = m & other ? m : 0; rest;)
		if (next_group(masks, m, &rest, &who) & ~who)
			return false;
	return true;
}

static void put_lanes(struct frame *f, u32 o, u32 v, u32 m)
{
	u32 *d = opnd(f, o);

	for (; m; m &= m - 1)
		d[__builtin_ctz(m)] = v;
}

/*
 * shfl.sync and its like, at pc for the lanes e of m, wait for the other lanes of their member masks. Each lane for those of its
 * own, who have to name the same ones: tiles of a warp come and go by themselves, and so do strips where a shuffle stays within them (strip/within.c). Lanes whose
 * members are all here, or cannot come any more, are returned, with such that were parked earlier; the rest of e is parked, at pc. bar.warp.sync is served by
 * any instance of it.
 */
u32 warp_gather(struct frame *f, u32 m, u32 e, u32 pc)
{
	const struct insn *code = f->fn->code;
	const struct jit_src *src = f->fn->jsrc;
	bool any = code[pc].kind == K_WARPSYNC, within = code[pc].kind == K_SHFL && src && src->code[pc].sub2 == SHFL_WITHIN;
	u32 mask[LANES], here = e, go = 0, skip = m & ~e, w, l;

	for (w = f->parked; w; w &= w - 1) {
		l = (u32)__builtin_ctz(w);
		if (f->lane_pc[l] == pc || (any && code[f->lane_pc[l]].kind == K_WARPSYNC))
			here |= 1u << l;
	}
	for (w = e; w; w &= w - 1)
		f->lane_pc[__builtin_ctz(w)] = pc;
	for (w = here; w; w &= w - 1) {
		l = (u32)__builtin_ctz(w);
		mask[l] = ((const u32 *)opnd(f, code[f->lane_pc[l]].o[2]))[l];
		if (within)
			mask[l] &= 0xffu << (l & ~7u);
	}
	for (w = here; w; w &= w - 1) {
		u32 missing, k;

		l = (u32)__builtin_ctz(w);
		missing = mask[l] & f->lanes & ~skip;
		/* who names others has come for something else: the rest of a branch's side, while this lane is a round ahead */
		for (k = here & missing; k; k &= k - 1)
			if (mask[__builtin_ctz(k)] == mask[l])
				missing &= ~(k & -k);
		/* at a barrier of the block: they do not come */
		if (!(missing & (e | f->waiting | f->parked | f->away)))
			go |= 1u << l;
	}
	/* nobody who might still come runs: the others do not */
	if (!go && !(f->waiting | skip | f->away))
		go = here;
	f->parked = (f->parked | e) & ~go;
	return go;
}

/*
 * Lanes that are not here lend nothing, be they elsewhere, gone or never born: their value is "unpredictable" by the ISA and
 * 0 on the hardware, which programs add up (the last warp of NVIDIA's reduction sample).
 */
void warp_shfl(struct frame *f, const struct insn *in, u32 m)
{
	const struct lane_table *lt = lanes_get();
	_Alignas(64) u32 tmp[LANES], from[LANES] = { 0 };
	u32 *d = opnd(f, in->o[0]), p;
	const u32 *a = opnd(f, in->o[3]);

	if (m != ~0u) {
		lt->row32(from, a, m);
		a = from;
	}
	p = lt->shfl(tmp, a, opnd(f, in->o[4]), opnd(f, in->o[5]), in->sub);
	lt->row32(d, tmp, m);
	if (in->o[1] != OPND_NONE)
		put_pred(f, in->o[1], p, m);
}

void warp_vote(struct frame *f, const struct insn *in, u32 m)
{
	u32 p = *(u32 *)opnd(f, in->o[1]), rest = m, who, g, v, r;
	const u32 *masks = masks_of(f, in);

	if (in->flags & INF_CNEG)
		p = ~p;
	while (rest) {
		g = next_group(masks, m, &rest, &who);
		v = p & g;
		r = 0;
		switch (in->sub) {
		case VOTE_ALL: r = v == g ? ~0u : 0; break;
		case VOTE_ANY: r = v ? ~0u : 0; break;
		case VOTE_UNI: r = v == g || !v ? ~0u : 0; break;
		case VOTE_BALLOT:
			put_lanes(f, in->o[0], v, who);
			continue;
		}
		put_pred(f, in->o[0], r, who);
	}
}

/* of each lane those of the warp that have its number */
static void alike(const struct insn *in, u32 *same, const void *a)
{
	const struct lane_table *lt = lanes_get();
	_Alignas(64) u32 high[LANES], v[LANES];
	u32 k;

	if (!in->aw) {
		lt->same(same, a);
		return;
	}
	for (k = 0; k < LANES; k++)
		v[k] = (u32)((const u64 *)a)[k];
	lt->same(same, v);
	for (k = 0; k < LANES; k++)
		v[k] = (u32)(((const u64 *)a)[k] >> 32);
	lt->same(high, v);
	for (k = 0; k < LANES; k++)
		same[k] &= high[k];
}

/* The lanes who ask for the members g of theirs. d has a place for each lane; returned: the predicate's bits. */
static u32 match_group(const struct insn *in, u32 *d, const u32 *same, u32 g, u32 who)
{
	u32 all = g, k;

	if (!in->sub)           /* elect: the lowest of each group */
		g = g ? g : who;
	for (k = who; k; k &= k - 1) {
		u32 l = (u32)__builtin_ctz(k), res = in->sub ? same[l] & g : (u32)__builtin_ctz(g);

		all &= res;
		d[l] = res;
	}
	if (!in->sub)
		return g & (0 - g);
	for (k = in->sub == VOTE_ALL ? who : 0; k; k &= k - 1)
		d[__builtin_ctz(k)] = all == g ? g : 0;
	return all == g ? ~0u : 0;
}

/* For code: lanes who all name the same members, g of whom are here. */
u32 warp_match_one(const struct insn *in, u32 *d, const void *a, u32 who, u32 g)
{
	_Alignas(64) u32 same[LANES];

	if (in->sub == VOTE_ANY && in->o[1] == OPND_NONE) {
		u32 l;

		alike(in, d, a);
		for (l = 0; l < LANES; l++)
			d[l] &= g;
		return 0;
	}
	if (in->sub)
		alike(in, same, a);
	return match_group(in, d, same, g, who);
}

/* .f32: NaNs are passed over, or with .NaN are the answer; -0 is less than +0 (PTX ISA 9.7.13.10, and min and max there) */
static u32 redux_float(const struct insn *in, const u32 *a, u32 g)
{
	bool nan = in->sub2 & REDUX_NAN, none = true;
	u32 r = 0x7fffffff, best = 0, v, key;

	for (; g; g &= g - 1) {
		v = a[__builtin_ctz(g)] & (in->sub2 & REDUX_ABS ? 0x7fffffffu : ~0u);
		if ((v & 0x7fffffff) > 0x7f800000) {
			if (nan)
				return 0x7fffffff;
			continue;
		}
		/* ordered like the numbers that they stand for */
		key = v >> 31 ? ~v : v | 0x80000000u;
		if (none || (in->sub == ATOM_MIN ? key < best : key > best)) {
			best = key;
			r = v;
		}
		none = false;
	}
	return r;
}

static u32 redux(const struct insn *in, const u32 *a, u32 g)
{
	u32 r = a[__builtin_ctz(g)], k;
	bool sg = type_is_signed(in->type);

	if (in->type == T_F32)
		return redux_float(in, a, g);

	for (k = g & (g - 1); k; k &= k - 1) {
		u32 v = a[__builtin_ctz(k)];

		switch (in->sub) {
		case ATOM_ADD: r += v; break;
		case ATOM_MIN: r = sg ? ((s32)v < (s32)r ? v : r) : v < r ? v : r; break;
		case ATOM_MAX: r = sg ? ((s32)v > (s32)r ? v : r) : v > r ? v : r; break;
		case ATOM_AND: r &= v; break;
		case ATOM_OR: r |= v; break;
		case ATOM_XOR: r ^= v; break;
		}
	}
	return r;
}

/* match, elect (sub 0 of match) and redux for lanes m, each with the members that it names. d has a place for each lane, and is not a; returned: the predicate's bits. */
u32 warp_by_lane(const struct insn *in, u32 *d, const void *a, const u32 *masks, u32 m)
{
	_Alignas(64) u32 same[LANES];
	u32 rest = m, p = 0, who, g, v;

	if (in->kind == K_MATCH && in->sub)
		alike(in, same, a);
	while (rest) {
		g = next_group(masks, m, &rest, &who);
		if (in->kind == K_MATCH) {
			p |= match_group(in, d, same, g, who) & who;
			continue;
		}
		for (v = redux(in, a, g ? g : who); who; who &= who - 1)
			d[__builtin_ctz(who)] = v;
	}
	return p;
}

void warp_match(struct frame *f, const struct insn *in, u32 m)
{
	_Alignas(64) u32 d[LANES];
	u32 p = warp_by_lane(in, d, opnd(f, in->o[3]), masks_of(f, in), m);

	if (in->o[1] != OPND_NONE)
		put_pred(f, in->o[1], p, m);
	lanes_get()->row32(opnd(f, in->o[0]), d, m);
}

void warp_redux(struct frame *f, const struct insn *in, u32 m)
{
	_Alignas(64) u32 d[LANES];

	warp_by_lane(in, d, opnd(f, in->o[1]), masks_of(f, in), m);
	lanes_get()->row32(opnd(f, in->o[0]), d, m);
}

void lane_lop3(struct frame *f, const struct insn *in, u32 m)
{
	const u32 *a = opnd(f, in->o[1]), *b = opnd(f, in->o[2]), *c = opnd(f, in->o[3]);
	_Alignas(64) u32 tmp[LANES];
	u32 l, i, t = (u32)in->imm;

	memset(tmp, 0, sizeof(tmp));
	for (i = 0; i < 8; i++)         /* one minterm a round */
		if (t >> i & 1)
			for (l = 0; l < LANES; l++)
				tmp[l] |= (i & 4 ? a[l] : ~a[l]) & (i & 2 ? b[l] : ~b[l]) &
					  (i & 1 ? c[l] : ~c[l]);
	for (l = 0; l < LANES; l++)
		((u32 *)opnd(f, in->o[0]))[l] = m >> l & 1 ? tmp[l] : ((u32 *)opnd(f, in->o[0]))[l];
}

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

void lane_sreg(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	struct warp *w = ts->w;
	struct cta *c = w->cta;
	struct grid *g = c->g;
	_Alignas(64) u32 t32[LANES];
	u64 v = 0, t64[LANES];
	const struct lane_table *lt;
	const u32 *row = NULL;
	void *d;
	u32 l;

	switch (in->sub) {
	case SR_TID_X: row = g->tid[g->join.single ? 2 : 0] + w->index * LANES; break;
	case SR_TID_Y: row = g->tid[1] + w->index * LANES; break;
	case SR_TID_Z: row = g->tid[2] + w->index * LANES; break;
	case SR_NTID_X: v = g->block[0]; break;
	case SR_NTID_Y: v = g->block[1]; break;
	case SR_NTID_Z: v = g->block[2]; break;
	case SR_CTAID_X:
		v = c->id[0];
		if (g->join.single) {
			for (l = 0; l < LANES; l++)
				t32[l] = (u32)v + g->tid[0][l];
			row = t32;
		}
		break;
	case SR_CTAID_Y: v = c->id[1]; break;
	case SR_CTAID_Z: v = c->id[2]; break;
	case SR_NCTAID_X: v = g->dim[0]; break;
	case SR_NCTAID_Y: v = g->dim[1]; break;
	case SR_NCTAID_Z: v = g->dim[2]; break;
	case SR_CLUSTERID_X: v = c->id[0] / g->cluster[0]; break;
	case SR_CLUSTERID_Y: v = c->id[1] / g->cluster[1]; break;
	case SR_CLUSTERID_Z: v = c->id[2] / g->cluster[2]; break;
	case SR_NCLUSTERID_X: v = g->dim[0] / g->cluster[0]; break;
	case SR_NCLUSTERID_Y: v = g->dim[1] / g->cluster[1]; break;
	case SR_NCLUSTERID_Z: v = g->dim[2] / g->cluster[2]; break;
	case SR_CLUSTER_CTAID_X: v = c->at[0]; break;
	case SR_CLUSTER_CTAID_Y: v = c->at[1]; break;
	case SR_CLUSTER_CTAID_Z: v = c->at[2]; break;
	case SR_CLUSTER_CTARANK: v = c->rank; break;
	case SR_CLUSTER_NCTAID_X: v = g->cluster[0]; break;
	case SR_CLUSTER_NCTAID_Y: v = g->cluster[1]; break;
	case SR_CLUSTER_NCTAID_Z: v = g->cluster[2]; break;
	case SR_CLUSTER_NCTARANK: v = g->team; break;
	case SR_CLUSTER_EXPLICIT: v = g->clusters; break;
	case SR_WARPID: v = w->index; break;
	case SR_NWARPID: v = g->nwarps; break;
	case SR_SMID: v = c->linear % ts->e->env.sm_count; break;
	case SR_NSMID: v = ts->e->env.sm_count; break;
	case SR_GRIDID: v = g->gridid; break;
	case SR_CLOCK:
	case SR_CLOCK64: v = __builtin_ia32_rdtsc(); break;
	case SR_CLOCK_HI: v = __builtin_ia32_rdtsc() >> 32; break;
	case SR_GLOBALTIMER:
	case SR_GLOBALTIMER_LO: v = now_ns(); break;
	case SR_GLOBALTIMER_HI: v = now_ns() >> 32; break;
	case SR_DYNAMIC_SMEM: v = g->shared_bytes; break;
	case SR_TOTAL_SMEM: v = shared_rounded(&ts->e->env, g->fn->reserved ? g->reserved : g->shared_total); break;
	case SR_RESERVED_BEGIN: v = g->reserved; break;
	case SR_RESERVED_1: v = g->reserved + SHARED_RESERVED_1; break;
	case SR_RESERVED_END: v = g->reserved + SHARED_RESERVED; break;
	case SR_RESERVED_CAP: v = SHARED_RESERVED; break;
	/* cooperative groups find the grid's workspace in two halves here */
	case SR_ENVREG0 + 1: v = g->coop_win >> 32; break;
	case SR_ENVREG0 + 2: v = (u32)g->coop_win; break;
	case SR_COUNT: v = g->dyn_off; break;
	case SR_LANEID:
	case SR_LANEMASK_EQ:
	case SR_LANEMASK_LE:
	case SR_LANEMASK_LT:
	case SR_LANEMASK_GE:
	case SR_LANEMASK_GT:
		for (l = 0; l < LANES; l++) {
			u32 eq = 1u << l;

			t32[l] = in->sub == SR_LANEID ? l : in->sub == SR_LANEMASK_EQ ? eq :
				 in->sub == SR_LANEMASK_LT ? eq - 1 : in->sub == SR_LANEMASK_LE ? eq | (eq - 1) :
				 in->sub == SR_LANEMASK_GT ? ~(eq | (eq - 1)) : ~(eq - 1);
		}
		row = t32;
		break;
	}
	lt = ts->e->lanes;
	d = opnd(f, in->o[0]);
	if (in->dw) {
		if (row)
			lt->fn[LOP_CVT_SEXT][T_U64](t64, row, row, row);
		else
			lt->splat64(t64, v);
		lt->blend64(d, t64, m);
		return;
	}
	if (m == f->lanes) {
		if (row)
			lt->fn[LOP_MOV][T_U32](d, row, row, row);
		else
			lt->splat32(d, (u32)v);
		return;
	}
	if (!row)
		lt->splat32(t32, (u32)v);
	lt->blend32(d, row ? row : t32, m);
}
