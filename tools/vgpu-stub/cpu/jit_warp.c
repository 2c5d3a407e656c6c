/* SPDX-License-Identifier: MIT */
/*
 * Shuffles and votes: what lanes do with each other's values. Called by jit.c, one instruction at a time.
 */
#include "jit_mem.h"
#include "lanes.h"

/* These need all living lanes of the warp here; else the interpreter waits for them. */
void j_need_all(struct jcomp *c)
{
	if (c->all_here)
		return;
	c->all_here = c->inside[c->pc] == 0;
	g_load(&c->a, 0, RAX, PM(m));
	g_alu(&c->a, 0, G_CMP, RAX, rm_mem(R13, (s32)offsetof(struct frame, lanes)));
	j_leave_if(c, CC_NE, j_exit(c, JX_LEAVE, c->pc, 0));
}

/* Both halves' bits, in k6 and k7 */
static void all_bits(struct as *a, int to)
{
	k_unpckwd(a, 7, 7, 6);
	k_to(a, to, 7);
}

/* Each lane names its members, as those of a tile do: are there such as live, and are not here? */
static void need_by_lane(struct jcomp *c, const struct insn *in)
{
	enum { AWAY = 4, X = 5 };
	struct as *a = &c->a;
	int x[2];
	u32 p, none;

	for (p = 0; p < 2; p++)
		x[p] = jv_obs(c, in->o[2], 0, p, X + (int)p);
	g_load(a, 0, RCX, PM(m));
	g_not(a, 0, RCX);
	g_alu(a, 0, G_AND, RCX, rm_mem(R13, (s32)offsetof(struct frame, lanes)));
	none = g_jcc(a, CC_E);
	ev(a, V_PBCASTD_R, AWAY, 0, rm_reg(RCX));
	/* k6 is jv_mask()'s */
	for (p = 0; p < 2; p++)
		ev_k(a, V_PTESTMD, 7 - (int)p, x[p], rm_reg(AWAY), jv_mask(c, 0, p), 0);
	all_bits(a, RAX);
	g_alu(a, 0, G_OR, RAX, rm_reg(RAX));
	j_leave_if(c, CC_NE, j_exit(c, JX_LEAVE, c->pc, 0));
	g_here(a, none);
}

/* Names that may be others in each round are the interpreter's unless all lanes here name the same: who names one that has come with other names waits for him. */
static void need_one_name(struct jcomp *c, const struct insn *in)
{
	enum { ONE = 4, X = 5 };
	struct as *a = &c->a;
	int x[2];
	u32 p;

	for (p = 0; p < 2; p++)
		x[p] = jv_obs(c, in->o[2], 0, p, X + (int)p);
	g_load(a, 0, RCX, PM(m));
	g_tzcnt(a, RCX, rm_reg(RCX));
	ev(a, V_PBCASTD_R, ONE, 0, rm_reg(RCX));
	ev(a, V_PERMI2D, ONE, x[0], rm_reg(x[1]));
	/* k6 is jv_mask()'s */
	for (p = 0; p < 2; p++)
		ev_i(a, V_PCMPUD, 7 - (int)p, x[p], rm_reg(ONE), jv_mask(c, 0, p), 0, 4);
	all_bits(a, RAX);
	g_alu(a, 0, G_OR, RAX, rm_reg(RAX));
	j_leave_if(c, CC_NE, j_exit(c, JX_LEAVE, c->pc, 0));
}

/*
 * The same where the instruction names its members: those of them that live. Who else runs or waits
 * in a region does not matter.
 */
void j_need_members(struct jcomp *c, const struct insn *in)
{
	struct jval mask = { .cls = JC_UNI, .known = true, .k = ~0u };
	struct as *a = &c->a;

	if (in->o[2] != OPND_NONE)
		mask = jit_val(c, in->o[2], 0);
	if (mask.cls != JC_UNI && !jit_names_stay(c->s, in->o[2]))
		need_one_name(c, in);
	if (c->full)
		return;
	if (c->all_here || (mask.cls == JC_UNI && mask.known && (u32)mask.k == ~0u)) {
		j_need_all(c);
		return;
	}
	if (mask.cls != JC_UNI) {
		need_by_lane(c, in);
		return;
	}
	g_load(a, 0, RCX, PM(m));
	g_not(a, 0, RCX);
	g_alu(a, 0, G_AND, RCX, rm_mem(R13, (s32)offsetof(struct frame, lanes)));
	if (mask.known) {
		g_testi(a, RCX, (u32)mask.k);
	} else {
		ju_load(c, RAX, in->o[2], 0);
		g_alu(a, 0, G_AND, RAX, rm_reg(RCX));
	}
	j_leave_if(c, CC_NE, j_exit(c, JX_LEAVE, c->pc, 0));
}

/* The lanes of one half take from that half alone. */
static bool stays_within(const u32 *idx, u32 part)
{
	u32 l;

	for (l = 16 * part; l < 16 * part + 16 && idx[l] / 16 == part; l++)
		;
	return l == 16 * part + 16;
}

/*
 * Distances, or segments, that only show when it runs: from whom each lane gets it is computed as PTX ISA 9.7.9.6 says (shfl.sync). The values are in zmm5 and 6.
 * seg: of lanes that are no part of a lane's number in its segment.
 */
static void shuffle_by(struct jcomp *c, const struct insn *in, int to[2])
{
	enum { BY = 4, CLAMP = 0, MAX = 1, SELF = 7 };
	struct jval cc = jit_val(c, in->o[5], 0);
	u32 seg = (u32)cc.k >> 8 & 31, clamp = (u32)cc.k & 31, lanes[LANES], most[LANES], l, p;
	struct as *a = &c->a;

	for (l = 0; l < LANES; l++) {
		lanes[l] = l;
		most[l] = (l & seg) | (clamp & ~seg);
	}
	for (p = 0; p < 2; p++) {
		int x = jv_dst(c, in->o[0], p, 2 + (int)p), by, self, k = p ? 7 : 6;
		struct rm max = rm_lit(j_lit(c, most + 16 * p, 64), 0);

		by = jv_obs(c, in->o[4], 0, p, BY);
		ev(a, V_PANDD, BY, by, rm_lit(j_lit32(c, 31), 0));
		self = j_lit_reg(c, j_lit(c, lanes + 16 * p, 64), SELF);
		if (!cc.known) {
			int v = jv_obs(c, in->o[5], 0, p, CLAMP);

			ev_i(a, V_PSHID, 2, MAX, rm_reg(v), 0, 0, 8);
			ev(a, V_PANDD, MAX, MAX, rm_lit(j_lit32(c, 31), 0));
			ev(a, V_PANDD, CLAMP, v, rm_lit(j_lit32(c, 31), 0));
			if (in->sub == SHFL_IDX)
				ev(a, V_MOVA32, x, 0, rm_reg(MAX));
			/* where the first has a bit the second's, else the third's */
			ev_i(a, V_PTERNLOGD, MAX, self, rm_reg(CLAMP), 0, 0, 0xca);
			max = rm_reg(MAX);
		}
		switch (in->sub) {
		case SHFL_UP:
			ev(a, V_PSUBD, x, self, rm_reg(BY));
			break;
		case SHFL_DOWN:
			ev(a, V_PADDD, x, self, rm_reg(BY));
			break;
		case SHFL_BFLY:
			ev(a, V_PXORD, x, self, rm_reg(BY));
			break;
		default:
			if (!cc.known) {
				ev_i(a, V_PTERNLOGD, x, self, rm_reg(BY), 0, 0, 0xca);
				break;
			}
			ev(a, V_PANDD, x, BY, rm_lit(j_lit32(c, ~seg & 31), 0));
			for (l = 0; l < LANES; l++)
				lanes[l] = l & seg;
			if (seg)
				ev(a, V_PORD, x, x, rm_lit(j_lit(c, lanes + 16 * p, 64), 0));
			for (l = 0; l < LANES; l++)
				lanes[l] = l;
		}
		/* 5: not less; 2: not greater */
		ev_i(a, V_PCMPD, k, x, max, 0, 0, in->sub == SHFL_UP ? 5 : 2);
		ev_k(a, V_BLENDMD, x, self, rm_reg(x), k, 0);
		ev(a, V_PERMI2D, x, 5, rm_reg(6));
		to[p] = x;
		if (!p && in->o[1] != OPND_NONE)
			k_hold(a, 6);
	}
	if (in->o[1] != OPND_NONE) {
		k_let(a, 6);
		k_unpckwd(a, 7, 7, 6);
		k_to(a, RAX, 7);
		j_put_bits(c, in->o[1]);
	}
}

bool jit_shfl(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	struct jval b = jit_val(c, in->o[4], 0), cc = jit_val(c, in->o[5], 0);
	u32 idx[LANES], ok = 0, l, p, seg, clamp;
	bool plain = cc.known && (b.known || (in->sub == SHFL_IDX && (31 & ~(cc.k >> 8) & ~cc.k) == 0));
	int lo, hi, to[2];

	if (in->guard != OPND_NONE)
		return false;
	if (c->r[in->o[0]].cls != JC_VARY || c->r[in->o[0]].w)
		return false;
	seg = (u32)cc.k >> 8 & 31;
	clamp = (u32)cc.k & 31;
	for (l = 0; l < LANES; l++) {
		u32 bv = (u32)b.k & 31, max = (l & seg) | (clamp & ~seg), t, good;

		t = in->sub == SHFL_UP ? l - bv : in->sub == SHFL_DOWN ? l + bv : in->sub == SHFL_BFLY ? l ^ bv :
		    (l & seg) | (bv & ~seg);
		good = in->sub == SHFL_UP ? (s32)t >= (s32)max : t <= max;
		idx[l] = good ? t & 31 : l;
		if (!b.known) {
			good = 1;
			idx[l] = l & seg;
		}
		ok |= good << l;
	}
	if (c->r[in->o[0]].rawf) {
		lo = jv_reg(c, in->o[3], 0, 0, 0);
		hi = jv_reg(c, in->o[3], 0, 1, 1);
	} else {
		lo = jv_obs(c, in->o[3], 0, 0, 0);
		hi = jv_obs(c, in->o[3], 0, 1, 1);
	}
	/* lanes that are not here lend 0 */
	if (!c->full || c->gk) {
		ev_k(a, V_MOVA32, 5, 0, rm_reg(lo), jv_mask(c, 0, 0), 1);
		ev_k(a, V_MOVA32, 6, 0, rm_reg(hi), jv_mask(c, 0, 1), 1);
		lo = 5;
		hi = 6;
	} else if (in->o[0] == in->o[3] || !plain) {
		ev(a, V_MOVA32, 5, 0, rm_reg(lo));
		ev(a, V_MOVA32, 6, 0, rm_reg(hi));
		lo = 5;
		hi = 6;
	}
	if (!plain)
		shuffle_by(c, in, to);
	for (p = 0; p < 2 && plain; p++) {
		int t = in->o[0] != in->o[4] ? jv_dst(c, in->o[0], p, 2 + (int)p) : 2 + (int)p;

		to[p] = t;
		if (b.known && in->sub == SHFL_BFLY && ok == ~0u && ((b.k & 31) == 1 || (b.k & 31) == 2)) {
			ev_i(a, V_PSHUFD, t, 0, rm_reg(p ? hi : lo), 0, 0, (b.k & 31) == 1 ? 0xb1 : 0x4e);
			continue;
		}
		if (b.known && in->sub == SHFL_BFLY && ok == ~0u && ((b.k & 31) == 4 || (b.k & 31) == 8)) {
			ev_i(a, V_SHUF32X4, t, p ? hi : lo, rm_reg(p ? hi : lo), 0, 0, (b.k & 31) == 4 ? 0xb1 : 0x4e);
			continue;
		}
		if (b.known && in->sub == SHFL_BFLY && ok == ~0u && (b.k & 31) == 16)
			continue;
		if (b.known && stays_within(idx, p)) {
			ev(a, V_PERMD, t, j_lit_reg(c, j_lit(c, idx + 16 * p, 64), 4), rm_reg(p ? hi : lo));
			continue;
		}
		if (b.known) {
			ev(a, V_MOVA32, t, 0, rm_lit(j_lit(c, idx + 16 * p, 64), 0));
		} else {
			int x = jv_obs(c, in->o[4], 0, p, 4);

			ev(a, V_PANDD, t, x, rm_lit(j_lit32(c, ~seg & 31), 0));
			ev(a, V_PORD, t, t, rm_lit(j_lit(c, idx + 16 * p, 64), 0));
		}
		ev(a, V_PERMI2D, t, lo, rm_reg(hi));
	}
	if (b.known && in->sub == SHFL_BFLY && ok == ~0u && (b.k & 31) == 16) {
		jv_put(c, in->o[0], 0, hi);
		jv_put(c, in->o[0], 1, lo);
	} else {
		for (p = 0; p < 2; p++)
			jv_put(c, in->o[0], p, to[p]);
	}
	if (in->o[1] != OPND_NONE && plain) {
		g_movi(a, RAX, ok);
		j_put_bits(c, in->o[1]);
	}
	return true;
}

/* Each lane names its members, as those of a tile of 16 do: its answer is theirs. */
static void vote_by_lane(struct jcomp *c, const struct insn *in)
{
	enum { YES = 2, HERE = 3, X = 4, G = 5 };       /* G, for both halves: the members of each lane's */
	struct as *a = &c->a;
	u32 p;

	g_load(a, 0, RAX, ju_rm(c, in->o[1]));
	if (in->flags & INF_CNEG)
		g_not(a, 0, RAX);
	ev(a, V_PBCASTD_R, YES, 0, rm_reg(RAX));
	g_load(a, 0, RCX, PM(m));
	ev(a, V_PBCASTD_R, HERE, 0, rm_reg(RCX));
	for (p = 0; p < 2; p++)
		ev(a, V_PANDD, G + (int)p, jv_obs(c, in->o[2], 0, p, X), rm_reg(HERE));
	if (in->sub == VOTE_BALLOT) {
		for (p = 0; p < 2; p++) {
			int t = jv_dst(c, in->o[0], p, X);

			ev(a, V_PANDD, t, G + (int)p, rm_reg(YES));
			jv_put(c, in->o[0], p, t);
		}
		return;
	}
	/* eax: some say yes; edx: all do */
	for (p = 0; p < 2 && in->sub != VOTE_ALL; p++)
		ev(a, V_PTESTMD, 6 + (int)p, G + (int)p, rm_reg(YES));
	if (in->sub != VOTE_ALL)
		all_bits(a, RAX);
	for (p = 0; p < 2 && in->sub != VOTE_ANY; p++) {
		ev(a, V_PANDD, X, G + (int)p, rm_reg(YES));
		ev_i(a, V_PCMPUD, 6 + (int)p, X, rm_reg(G + (int)p), 0, 0, 0);
	}
	if (in->sub != VOTE_ANY)
		all_bits(a, RDX);
	if (in->sub == VOTE_UNI) {
		g_not(a, 0, RAX);
		g_alu(a, 0, G_OR, RAX, rm_reg(RDX));
	} else if (in->sub == VOTE_ALL) {
		g_load(a, 0, RAX, rm_reg(RDX));
	}
	j_put_bits(c, in->o[0]);
}

bool jit_vote(struct jcomp *c, const struct insn *in)
{
	struct jval mask = { .cls = JC_UNI, .known = true, .k = ~0u };
	struct as *a = &c->a;

	if (in->o[2] != OPND_NONE)
		mask = jit_val(c, in->o[2], 0);
	if (in->guard != OPND_NONE)
		return false;
	if (mask.cls != JC_UNI) {
		if (c->r[in->o[0]].cls != JC_VARY)
			return false;
		vote_by_lane(c, in);
		return true;
	}
	/* edx: the members, who are all here; eax: those that say yes */
	g_load(a, 0, RDX, PM(m));
	if (!mask.known || (u32)mask.k != ~0u) {
		ju_load(c, RAX, in->o[2], 0);
		g_alu(a, 0, G_AND, RDX, rm_reg(RAX));
	}
	g_load(a, 0, RAX, ju_rm(c, in->o[1]));
	if (in->flags & INF_CNEG)
		g_not(a, 0, RAX);
	g_alu(a, 0, G_AND, RAX, rm_reg(RDX));
	if (in->sub == VOTE_BALLOT) {
		jm_put_uniform(c, in->o[0], RAX);
		return true;
	}
	g_movi(a, RCX, 0);
	if (in->sub != VOTE_ANY) {
		g_alu(a, 0, G_CMP, RAX, rm_reg(RDX));
		g_movi(a, RDX, ~0u);
		g_cmov(a, 0, CC_E, RCX, rm_reg(RDX));
	} else {
		g_movi(a, RDX, ~0u);
	}
	if (in->sub != VOTE_ALL) {
		g_alu(a, 0, G_OR, RAX, rm_reg(RAX));
		g_cmov(a, 0, in->sub == VOTE_ANY ? CC_NE : CC_E, RCX, rm_reg(RDX));
	}
	if (c->r[in->o[0]].cls == JC_VARY) {
		g_load(a, 0, RAX, rm_reg(RCX));
		j_put_bits(c, in->o[0]);
	} else {
		g_store(a, 0, rm_mem(RBX, (s32)c->r[in->o[0]].home), RCX);
	}
	return true;
}
