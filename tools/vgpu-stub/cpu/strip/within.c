/* SPDX-License-Identifier: MIT */
/*
 * Shuffles whose lanes get their values from lanes of their own strip, as the last three steps of a warp's sum: no other strip has to be
 * there. Known numbers say so, or that no lanes but those of one strip take part, as in the last step of a block's sum. A strip that began whole and has no lanes waiting lacks only such as have ended, which lend zeros
 * (warpops.c); else others may still come, and code is left. The interpreter then has lanes wait for those of their strip only, since other
 * strips may have gone past.
 *
 * Hardware has all lanes of a warp there: where they have stored to shared memory before, what is stored is to be everybody's, and it
 * stays a place where strips meet.
 *
 * Out: insn.sub2 of the function's shuffles, which s_sync() asks for. Before blocks are made.
 */
#include "strip.h"
#include "vex.h"

/* The strip whose lanes a shuffle names, all of it and no others'; STRIPS: it names all lanes, or it is not known whom */
static u32 named(const struct scomp *c, const struct insn *in)
{
	struct sval m = s_val(c, in->o[2], 0);
	u32 s;

	for (s = 0; s < STRIPS; s++)
		if (in->o[2] != OPND_NONE && m.known && !m.made && (u32)m.k == 255u << STRIP * s)
			return s;
	return STRIPS;
}

/*
 * From which lane of its strip each gets its value, and whether that is in range; false: from another strip, or it is not known. Where one strip is
 * named, others' lanes do not matter.
 */
static bool sources(const struct scomp *c, const struct insn *in, u32 *from, u32 *in_range)
{
	u32 one = named(c, in);
	_Alignas(64) u32 all[LANES], self[LANES], bs[LANES], cs[LANES];
	struct sval b = s_val(c, in->o[4], 0), clamp = s_val(c, in->o[5], 0);
	u32 l, p;

	/* constants of the program: what is known of them in one compilation is in all */
	if (!b.known || !clamp.known || b.made || clamp.made || b.pat || clamp.pat)
		return false;
	for (l = 0; l < LANES; l++) {
		self[l] = l;
		bs[l] = (u32)b.k;
		cs[l] = (u32)clamp.k;
	}
	p = lanes_get()->shfl(all, self, bs, cs, in->sub);
	if (one < STRIPS) {
		for (l = 0; l < STRIP; l++) {
			from[l] = all[STRIP * one + l] % STRIP;
			if (all[STRIP * one + l] / STRIP != one)
				return false;
		}
		*in_range = p >> STRIP * one & 255;
		return true;
	}
	for (l = 0; l < LANES; l++)
		if (all[l] / STRIP != l / STRIP || all[l] % STRIP != all[l % STRIP])
			return false;
	*in_range = p & 255;
	if (p != *in_range * 0x01010101u)
		return false;
	memcpy(from, all, STRIP * sizeof(*from));
	return true;
}

void s_within(struct scomp *c)
{
	u32 b, i, from[STRIP], range;

	for (b = 0; b < c->s->nb; b++) {
		bool stored = false;

		for (i = c->s->b[b].start; i < c->s->b[b].end; i++) {
			struct insn *in = &c->code[i];

			if (in->kind == K_SHFL && in->guard == OPND_NONE && !stored && sources(c, in, from, &range))
				in->sub2 = SHFL_WITHIN;
			if (s_sync(in))
				stored = false;
			stored |= (in->kind == K_ST || in->kind == K_ATOM) && in->space == SPACE_SHARED;
		}
	}
}

/*
 * bar.warp.sync of lanes that a launch names, where some lanes alone come: as a rule they are all here, a few that put together what the warps of a block have found. Others: exit.
 */
bool s_warpsync(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 exit = s_exit(c, c->pc);

	s_to_gpr(c, in->o[2], 0, RDX);
	g_load(a, 1, RCX, rm_mem(R14, (s32)offsetof(struct tstate, f)));
	g_alu(a, 0, G_AND, RDX, rm_mem(RCX, (s32)offsetof(struct frame, lanes)));
	/* rbp is 32 times the strip */
	g_load(a, 0, RCX, rm_reg(RBP));
	g_shi(a, 0, 5, RCX, 2);
	g_load(a, 0, RAX, rm_reg(R12));
	g_shcl(a, 0, 4, RAX);
	g_not(a, 0, RAX);
	g_alu(a, 0, G_AND, RAX, rm_reg(RDX));
	s_exit_jump(c, g_jcc(a, CC_NE), exit);
	return true;
}

/* d = the lanes of x in another order, x where the order is theirs */
static int permuted(struct scomp *c, int d, int x, const u32 *from)
{
	struct as *a = &c->a;
	u32 l, imm = 0;
	bool near = true, swapped = true, same = true;

	for (l = 0; l < STRIP; l++) {
		near &= from[l] / 4 == l / 4 && from[l] % 4 == from[l % 4];
		swapped &= from[l] == (l ^ 4);
		same &= from[l] == l;
	}
	if (same)
		return x;
	for (l = 0; l < 4; l++)
		imm |= from[l] % 4 << 2 * l;
	if (near) {
		vyi(a, X_PSHUFD, d, 0, rm_reg(x), imm);
	} else if (swapped) {
		vyi(a, X_PERMQ, d, 0, rm_reg(x), 0x4e);
	} else {
		vy(a, X_MOVU, 3, 0, rm_lit(s_lit(c, from, STRIP * sizeof(*from)), 0));
		vr(a, X_PERMD, d, 3, x);
	}
	return d;
}

bool s_shuffle(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 from[STRIP], range, l, w, whole, ones[STRIP];
	bool come = false;
	int x;

	if (!in->sub2 || !sources(c, in, from, &range) || (in->o[0] != OPND_NONE && c->r[in->o[0]].v.cls == SC_SCALAR) ||
	    (in->o[1] != OPND_NONE && c->r[in->o[1]].v.cls == SC_SCALAR))
		return false;
	for (w = 0; w < c->bwords; w++)
		come |= c->cur->wait[w] != 0;
	if (named(c, in) < STRIPS) {
		g_alui(a, 0, G_CMP, rm_reg(RBP), (s32)(32 * named(c, in)));
		s_leave_if(c, CC_NE, c->pc);
	}
	if (!s_all_run(c))
		g_alui(a, 0, G_CMP, rm_reg(R12), 255);
	if (s_all_run(c)) {
		come = true;
	} else if (come) {
		s_leave_if(c, CC_NE, c->pc);
	} else {
		whole = g_jcc(a, CC_E);
		g_alui(a, 1, G_CMP, SPM(seg), 0);
		s_leave_if(c, CC_E, c->pc);
		g_here(a, whole);
	}
	if (in->o[0] != OPND_NONE) {
		x = c->r[in->o[0]].rawf ? sv(c, in->o[3], 0, 0, 0) : sv_obs(c, in->o[3], 0, 0, 0);
		if (!come) {
			vr(a, X_PAND, 0, x, 15);
			x = 0;
		}
		sput(c, in->o[0], 0, permuted(c, 1, x, from));
	}
	if (in->o[1] != OPND_NONE) {
		for (l = 0; l < STRIP; l++)
			ones[l] = range >> l & 1 ? ~0u : 0;
		vy(a, X_MOVU, 0, 0, rm_lit(s_lit(c, ones, sizeof(ones)), 0));
		sput(c, in->o[1], 0, 0);
	}
	return true;
}
