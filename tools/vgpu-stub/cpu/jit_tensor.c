/* SPDX-License-Identifier: MIT */
/*
 * What the matrix instructions are taken apart into (K_TENSOR): addresses that lanes hand each other, transposed matrices, products. Called
 * by jit.c, one instruction at a time.
 *
 * A statement's product is several instructions, one for each register of its result, with the same operands. The first one computes
 * as many of these as stand behind each other, by one call of a C function; the others take their register out of P.
 */
#include "jit_mem.h"
#include "lanes.h"

static bool varies(const struct jcomp *c, u32 o, u8 w)
{
	return o != OPND_NONE && !(o & OPND_CONST) && c->r[o].cls == JC_VARY && c->r[o].w == w && !c->r[o].sk;
}

/* Whose lanes are not all there is the interpreter's: they lend what their registers hold. */
static void whole_warp(struct jcomp *c)
{
	g_alui(&c->a, 0, G_CMP, PM(m), -1);
	j_leave_if(c, CC_NE, j_exit(c, JX_LEAVE, c->pc, 0));
}

/* ---- ldmatrix, stmatrix, movmatrix ------------------------------------------------------------ */

/* tensor.c: row_address */
static bool addresses(struct jcomp *c, const struct insn *in)
{
	bool w = in->aw;
	u32 n = w ? 4 : 2, per = w ? 8 : 16, p, l;
	struct as *a = &c->a;
	int x, t;

	whole_warp(c);
	/* all eight lanes that have this matrix's rows lie in one part */
	x = jv_reg(c, in->o[1], w, w ? in->sub2 : in->sub2 >> 1, 1);
	ev(a, V_MOVA32, 0, 0, rm_reg(x));
	for (p = 0; p < n; p++) {
		_Alignas(64) u32 idx[16], add[16];

		for (l = 0; l < per; l++) {
			u32 lane = per * p + l, row = in->sub == TENSOR_ROW ? lane >> 2 : 2 * (lane & 3) + (in->sub == TENSOR_ROW_HI);
			u32 from = (w ? 0 : 8 * (in->sub2 & 1u)) + row, off = in->sub == TENSOR_ROW ? 4 * (lane & 3) : 2 * (lane >> 2);

			if (w) {
				((u64 *)idx)[l] = from;
				((u64 *)add)[l] = off;
			} else {
				idx[l] = from;
				add[l] = off;
			}
		}
		t = jv_dst(c, in->o[0], p, 2);
		ev(a, V_MOVA32, 3, 0, rm_lit(j_lit(c, idx, 64), 0));
		ev(a, w ? V_PERMQ : V_PERMD, t, 3, rm_reg(0));
		ev(a, w ? V_PADDQ : V_PADDD, t, t, rm_lit(j_lit(c, add, 64), 0));
		jv_put(c, in->o[0], p, t);
	}
	return true;
}

static bool transposed(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	int lo, hi, t;
	u32 p, l;

	whole_warp(c);
	lo = jv_obs(c, in->o[1], 0, 0, 0);
	ev(a, V_MOVA32, 4, 0, rm_reg(lo));
	hi = jv_obs(c, in->o[1], 0, 1, 1);
	ev(a, V_MOVA32, 5, 0, rm_reg(hi));
	for (p = 0; p < 2; p++) {
		_Alignas(64) u16 idx[32];

		for (l = 0; l < 32; l++) {
			u32 lane = 16 * p + l / 2, g = lane >> 2, k = 2 * (lane & 3) + (l & 1);

			idx[l] = (u16)(8 * k + g);
		}
		t = 2 + (int)p;
		ev(a, V_MOVA32, t, 0, rm_lit(j_lit(c, idx, 64), 0));
		ev(a, V_PERMI2W, t, 4, rm_reg(5));
		jv_put(c, in->o[0], p, t);
	}
	return true;
}

/*
 * A load of a matrix's rows by the addresses that addresses() has made, in the same block, or by a descriptor: four lanes in a row have 16 bytes. False: it is none, and nothing
 * has been emitted.
 */
bool jt_ld(struct jcomp *c, const struct insn *in, u32 step)
{
	const struct insn *from;
	struct as *a = &c->a;
	u32 p, q, r, at;

	if (in->size != 4 || in->vec != 1 || in->guard != OPND_NONE || in->flags & INF_VOLATILE || (in->o[4] & OPND_CONST) || in->o[0] == in->o[4])
		return false;
	if (!varies(c, in->o[0], 0) || in->space == SPACE_LOCAL)
		return false;
	if (!(in->flags & INF_FOURS)) {
		at = c->def_of[in->o[4]];
		if (!at || at > c->pc || at - 1 < c->s->b[c->block].start)
			return false;
		from = &c->code[at - 1];
		if (from->kind != K_TENSOR || from->sub != TENSOR_ROW)
			return false;
	}
	if (!jm_vary_base(c, in, step))
		return false;
	c->gk = 0;
	g_alui(a, 0, G_CMP, PM(m), -1);
	j_leave_if(c, CC_NE, step);
	for (p = 0; p < 2; p++) {
		for (q = 0; q < (in->aw ? 2u : 1u); q++) {
			if (in->aw)
				jm_vary64(c, in, 2 * p + q, step, JM_CHECK | JM_ADDRESS);
			else
				jm_vary32(c, in, p, step, JM_CHECK | JM_ADDRESS);
			ev(a, V_MOVA32_ST, 0, 0, rm_mem(RBX, (s32)(JP_LANES + 64 * q)));
		}
		for (r = 0; r < 4; r++) {
			g_load(a, in->aw, RCX, rm_mem(RBX, (s32)(JP_LANES + (in->aw ? 32 : 16) * r)));
			as_room(a, 16);
			j_site(c, step);
			if (!r) {
				ev_n(a, V_LL(V_MOVU32, 0), 3, 0, rm_idx(RAX, RCX, 0, 0), 0, 0, 0, 16, 0);
				continue;
			}
			ev_n(a, V_INSERT32X4, 3, 3, rm_idx(RAX, RCX, 0, 0), 0, 0, 0, 16, 1);
			b1(a, r);
		}
		jv_put(c, in->o[0], p, 3);
	}
	return true;
}

/* ---- products ---------------------------------------------------------------------------------- */

/* How many of a statement's results are computed with the one at c->pc. */
static u32 group(const struct jcomp *c, const struct insn *in)
{
	u32 n = tensor_group(in, c->s->b[c->block].end - c->pc), i;

	for (i = 1; i < n; i++)
		if (!varies(c, in[i].o[0], 0) || jit_stressed(c, c->pc + i, JS_STEP) || jit_stressed(c, c->pc + i, JS_LEAVE) ||
		    jit_stressed(c, c->pc + i, JS_ENTRY))
			return i;
	return n;
}

static struct rm place(u32 i, u32 part) { return rm_mem(RBX, (s32)(JP_PRODUCT + 128 * i + 64 * part)); }

static void put(struct jcomp *c, u32 o, u32 i)
{
	u32 p;

	for (p = 0; p < 2; p++)
		ev(&c->a, V_MOVA32_ST, jv_obs(c, o, 0, p, 0), 0, place(i, p));
}

static void take(struct jcomp *c, u32 o, u32 i)
{
	u32 p;

	for (p = 0; p < 2; p++) {
		int t = jv_dst(c, o, p, 0);

		ev(&c->a, V_MOVA32, t, 0, place(i, p));
		jv_put(c, o, p, t);
	}
}

static bool product(struct jcomp *c, const struct insn *in)
{
	u32 words = in->o[2] == OPND_NONE ? 1 : 2, per = in->sub2 == TENSOR_BOTH ? 1 : 2, odd = in->sub2 == TENSOR_ODD, n, rows, i;
	struct as *a = &c->a;
	bool set;

	if (c->nproduct && c->pc > c->product && c->pc < c->product + c->nproduct) {
		take(c, in->o[0], PRODUCT_C + c->pc - c->product);
		return true;
	}
	n = group(c, in);
	rows = n > per ? 2 : 1;
	whole_warp(c);
	for (i = 0; i < n; i++) {
		put(c, in[i].o[5], PRODUCT_C + odd + i);
		if (i % per)
			continue;
		put(c, in[i].o[1], PRODUCT_A + i / per);
		if (words == 2)
			put(c, in[i].o[2], PRODUCT_A + rows + i / per);
	}
	put(c, in->o[3], PRODUCT_B);
	if (words == 2)
		put(c, in->o[4], PRODUCT_B + 1);
	if (n % per) {          /* the other columns are computed for nobody, from anything */
		ev(a, V_PXORD, 0, 0, rm_reg(0));
		for (i = 0; i < 2; i++)
			ev(a, V_MOVA32_ST, 0, 0, place((PRODUCT_C + odd + n - 1) ^ 1, i));
	}
	set = jit_mxcsr_for(c, in->mxcsr);
	jit_call_keep(c);
	g_lea(a, 1, RDI, rm_mem(RBX, JP_PRODUCT));
	g_movi(a, RSI, in->type);
	g_movi(a, RDX, in->stype);
	g_movi(a, RCX, PRODUCT_SHAPE(rows, words) | (per == 1 ? PRODUCT_BOTH : 0));
	jit_call_done(c, (u64)(uintptr_t)lanes_get()->product);
	if (set)
		jit_mxcsr_back(c);
	c->product = c->pc;
	c->nproduct = n;
	take(c, in->o[0], PRODUCT_C + odd);
	return true;
}

bool jit_tensor(struct jcomp *c, const struct insn *in)
{
	if (in->guard != OPND_NONE || c->inside[c->pc] || !varies(c, in->o[0], in->sub <= TENSOR_ROW_HI && in->aw))
		return false;
	c->gk = 0;              /* all lanes are here (whole_warp()): nobody waits */
	switch (in->sub) {
	case TENSOR_MMA: return product(c, in);
	case TENSOR_TRANS: return transposed(c, in);
	default: return addresses(c, in);
	}
}
