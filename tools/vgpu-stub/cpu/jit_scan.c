/* SPDX-License-Identifier: MIT */
/*
 * Which values are uniform, patterns or varying: an optimistic data flow over all definitions of every
 * register, as seen by a group of lanes that runs together. Control flow does not matter: lanes of a
 * group take every branch together, and a group that other lanes join is checked anew (jit_run.c).
 *
 * A pattern is U + C[lane], U the value of lane 0 and C known now. Modulo 2^n that goes through add, sub
 * and multiplication by constants as it is; through shifts, masks and widening only where U is known to
 * be a multiple of a power of two, or the sum to be small (otherwise the code checks at run time).
 */
#include "jit.h"
#include "lanes.h"

u32 jit_pat(struct jcomp *c, const s64 *v)
{
	u32 i, l;

	for (l = 0; l < LANES; l++)
		if (v[l] > 0x3fffffff || v[l] < -0x3fffffff)
			return ~0u;
	for (i = 0; i < c->npats; i++) {
		for (l = 0; l < LANES && c->pats[i][l] == (s32)(v[l] - v[0]); l++)
			;
		if (l == LANES)
			return i;
	}
	if (c->npats == JPATS)
		return ~0u;
	for (l = 0; l < LANES; l++)
		c->pats[i][l] = (s32)(v[l] - v[0]);
	return c->npats++;
}

static struct jval vary(void) { return (struct jval){ .cls = JC_VARY, .max = JMAX_UNKNOWN }; }
static struct jval uni(u8 ual, u32 max) { return (struct jval){ .cls = JC_UNI, .ual = ual, .max = max }; }
static struct jval konst_val(u64 k)
{
	return (struct jval){ .cls = JC_UNI, .known = true, .k = k, .ual = (u8)(k ? __builtin_ctzll(k) : 63),
			      .max = k < JMAX_UNKNOWN ? (u32)k : JMAX_UNKNOWN };
}
/* U keeps its alignment, C is given */
static struct jval pattern(struct jcomp *c, const s64 *v, u8 ual, u32 max)
{
	u32 p = jit_pat(c, v);

	if (p == ~0u)
		return vary();
	return (struct jval){ .cls = p ? JC_PAT : JC_UNI, .pat = (u16)p, .ual = ual, .max = max };
}

struct jval jit_val(const struct jcomp *c, u32 o, u8 w)
{
	const struct jreg *r;

	if (o == OPND_NONE)
		return konst_val(0);
	if (o & OPND_CONST) {
		const struct jval *p = &c->pool[(o & ~OPND_CONST) / 128];
		const void *at = c->fn->cpool + (o & ~OPND_CONST);

		return p->known ? konst_val(w == 1 ? *(const u64 *)at : *(const u32 *)at) : *p;
	}
	r = &c->r[o];
	return (struct jval){ .cls = r->cls, .ual = r->ual, .pat = r->pat, .max = r->max };
}

static u32 add_max(u32 a, u32 b)
{
	return (u64)a + b < 1u << 31 && a != JMAX_UNKNOWN && b != JMAX_UNKNOWN ? a + b : JMAX_UNKNOWN;
}

static u32 mul_max(u32 a, u32 b)
{
	return a != JMAX_UNKNOWN && b != JMAX_UNKNOWN && (u64)a * b < 1u << 31 ? a * b : JMAX_UNKNOWN;
}

static u8 min8(u8 a, u8 b) { return a < b ? a : b; }
static u8 add8(u8 a, u8 b) { return a + b > 63 ? 63 : (u8)(a + b); }

static struct jval v_add(struct jcomp *c, struct jval a, struct jval b, int sign)
{
	s64 v[LANES];
	u32 l;

	if (a.cls == JC_NONE || b.cls == JC_NONE)
		return (struct jval){ 0 };
	if (a.cls == JC_VARY || b.cls == JC_VARY)
		return vary();
	for (l = 0; l < LANES; l++)
		v[l] = (s64)c->pats[a.pat][l] + sign * (s64)c->pats[b.pat][l];
	return pattern(c, v, min8(a.ual, b.ual), sign > 0 ? add_max(a.max, b.max) : JMAX_UNKNOWN);
}

static struct jval v_mul(struct jcomp *c, struct jval a, struct jval b)
{
	s64 v[LANES];
	u32 l;

	if (a.cls == JC_NONE || b.cls == JC_NONE)
		return (struct jval){ 0 };
	if (a.cls == JC_VARY || b.cls == JC_VARY)
		return vary();
	if (a.known && !b.known) {
		struct jval t = a;

		a = b;
		b = t;
	}
	if (a.cls == JC_UNI && b.cls == JC_UNI)
		return uni(add8(a.ual, b.ual), mul_max(a.max, b.max));
	if (!b.known || (s64)(s32)b.k != (s64)b.k || (s64)b.k > 1 << 28 || (s64)b.k < -(1 << 28)) {
		if (!(b.known && b.k <= 0xffffffffu && (s64)(s32)(u32)b.k > -(1 << 28) && (s32)(u32)b.k < 1 << 28))
			return vary();
		b.k = (u64)(s64)(s32)(u32)b.k;
	}
	for (l = 0; l < LANES; l++)
		v[l] = (s64)c->pats[a.pat][l] * (s64)b.k;
	return pattern(c, v, add8(a.ual, b.ual), (s64)b.k >= 0 ? mul_max(a.max, b.max) : JMAX_UNKNOWN);
}

static struct jval v_shr(struct jcomp *c, struct jval a, u32 s, bool is_signed, u32 bits)
{
	s64 v[LANES];
	u32 l;

	if (a.cls != JC_UNI && a.cls != JC_PAT)
		return a.cls == JC_NONE ? a : vary();
	if (s >= bits) {
		if (!is_signed)
			return konst_val(0);
		s = bits - 1;
	}
	if (a.max != JMAX_UNKNOWN && (s > 31 || a.max >> s == 0))
		return konst_val(0);
	if (a.cls == JC_UNI)
		return uni(a.ual > s ? (u8)(a.ual - s) : 0, a.max == JMAX_UNKNOWN ?
			   (is_signed || bits != 32 || !s ? JMAX_UNKNOWN : ~0u >> s) : a.max >> s);
	/* here s < 32 or the bound is unknown */
	if (a.max == JMAX_UNKNOWN || a.ual < s)
		return vary();
	for (l = 0; l < LANES; l++) {
		if (c->pats[a.pat][l] < 0)
			return vary();
		v[l] = c->pats[a.pat][l] >> s;
	}
	return pattern(c, v, (u8)(a.ual - s), a.max >> s);
}

static struct jval v_and(struct jcomp *c, struct jval a, struct jval b, u32 bits)
{
	s64 v[LANES];
	u64 m;
	u32 l, k;

	if (a.known && !b.known) {
		struct jval t = a;

		a = b;
		b = t;
	}
	if (a.cls == JC_NONE || b.cls == JC_NONE)
		return (struct jval){ 0 };
	if (a.cls == JC_VARY || b.cls == JC_VARY)
		return vary();
	if (a.cls == JC_UNI && b.cls == JC_UNI) {
		u32 mx = a.max < b.max ? a.max : b.max;

		return uni(a.ual > b.ual ? a.ual : b.ual, mx < 1u << 31 ? mx : JMAX_UNKNOWN);
	}
	if (!b.known)
		return vary();
	m = bits == 32 ? (u32)b.k : b.k;
	if (!(m & (m + 1))) {                   /* low bits */
		k = m ? 64 - (u32)__builtin_clzll(m) : 0;
		if (a.ual < k || k > 30)
			return vary();
		for (l = 0; l < LANES; l++)
			v[l] = c->pats[a.pat][l] & (s64)m;
		return pattern(c, v, 63, (u32)m);
	}
	m = bits == 32 ? (u64)(s64)(s32)(u32)m : m;
	if (!(~m & (~m + 1))) {                 /* all but low bits */
		k = 64 - (u32)__builtin_clzll(~m);
		if (a.ual < k || k > 30)
			return vary();
		for (l = 0; l < LANES; l++)
			v[l] = c->pats[a.pat][l] & (s64)m;
		return pattern(c, v, a.ual, a.max);
	}
	return vary();
}

/* Disjoint bits: or is add. */
static struct jval v_or(struct jcomp *c, struct jval a, struct jval b)
{
	u32 l, k;

	if (a.known && !b.known) {
		struct jval t = a;

		a = b;
		b = t;
	}
	if (a.cls == JC_NONE || b.cls == JC_NONE)
		return (struct jval){ 0 };
	if (a.cls == JC_VARY || b.cls == JC_VARY)
		return vary();
	if (a.cls == JC_UNI && b.cls == JC_UNI)
		return uni(min8(a.ual, b.ual), JMAX_UNKNOWN);
	if (!b.known || b.k > 0x3fffffff || !b.k)
		return vary();
	k = 64 - (u32)__builtin_clzll(b.k);
	if (a.ual < k)
		return vary();
	for (l = 0; l < LANES; l++)
		if (c->pats[a.pat][l] & (s64)b.k)
			return vary();
	return v_add(c, a, b, 1);
}

static bool is_int32(u8 t) { return t == T_U32 || t == T_S32 || t == T_B32; }
static bool is_int64(u8 t) { return t == T_U64 || t == T_S64 || t == T_B64; }

/* Width of source i (1..3) of a lane operation, as in struct vreg. */
u8 jit_src_w(const struct insn *in, u32 i)
{
	u8 w = is_int64(in->type) || in->type == T_F64;

	switch (in->lop) {
	case LOP_SHL: case LOP_SHR: case LOP_BFE: case LOP_XTR:
		return i == 1 ? w : 0;
	case LOP_SELP:
		return i == 3 ? 2 : w;
	case LOP_SLCTS: case LOP_SLCTF:
		return i == 3 ? 0 : w;
	case LOP_MULWIDE: case LOP_CVT_SEXT: case LOP_PACK:
		return 0;
	case LOP_MADWIDE:
		return i == 3 ? in->dw : 0;
	}
	return w;
}

static struct jval lane_value(struct jcomp *c, const struct insn *in)
{
	struct jval a = jit_val(c, in->o[1], jit_src_w(in, 1)), b = jit_val(c, in->o[2], jit_src_w(in, 2));
	struct jval d = jit_val(c, in->o[3], jit_src_w(in, 3));
	u32 bits = is_int64(in->type) ? 64 : 32;
	bool ints = is_int32(in->type) || is_int64(in->type), sg = type_is_signed(in->type);
	bool all_uni, none;
	static const u8 nsrc[LOP_COUNT] = {
		[LOP_MOV] = 1, [LOP_ADD] = 2, [LOP_SUB] = 2, [LOP_MUL] = 2, [LOP_MAD] = 3, [LOP_SHL] = 2,
		[LOP_SHR] = 2, [LOP_AND] = 2, [LOP_OR] = 2, [LOP_XOR] = 2, [LOP_NOT] = 1, [LOP_NEG] = 1,
		[LOP_MULWIDE] = 2, [LOP_MADWIDE] = 3, [LOP_CVT_SEXT] = 1, [LOP_CVT_TRUNC] = 1, [LOP_MIN] = 2,
		[LOP_MAX] = 2, [LOP_SELP] = 3, [LOP_BFE] = 3, [LOP_PACK] = 2, [LOP_XTR] = 3,
		[LOP_CVT_F_S32] = 1, [LOP_CVT_F_U32] = 1, [LOP_CVT_F_H] = 1, [LOP_MULHI] = 2,
	};
	u32 n = nsrc[in->lop];

	if (!n)
		return vary();
	none = a.cls == JC_NONE || (n > 1 && b.cls == JC_NONE) || (n > 2 && d.cls == JC_NONE);
	if (none)
		return (struct jval){ 0 };
	if (a.cls == JC_VARY || (n > 1 && b.cls == JC_VARY) || (n > 2 && d.cls == JC_VARY))
		return vary();
	all_uni = a.cls == JC_UNI && (n < 2 || b.cls == JC_UNI) && (n < 3 || d.cls == JC_UNI);
	switch (in->lop) {
	case LOP_MOV:
		return a;
	case LOP_ADD:
		if (in->type == T_F32)
			return all_uni ? uni(0, JMAX_UNKNOWN) : vary();
		return ints ? v_add(c, a, b, 1) : vary();
	case LOP_SUB:
		if (in->type == T_F32)
			return all_uni ? uni(0, JMAX_UNKNOWN) : vary();
		return ints ? v_add(c, a, b, -1) : vary();
	case LOP_MUL:
		if (in->type == T_F32)
			return all_uni ? uni(0, JMAX_UNKNOWN) : vary();
		return ints ? v_mul(c, a, b) : vary();
	case LOP_MAD:
		if (in->type == T_F32)
			return all_uni ? uni(0, JMAX_UNKNOWN) : vary();
		return ints ? v_add(c, v_mul(c, a, b), d, 1) : vary();
	case LOP_NEG:
		return ints ? v_add(c, konst_val(0), a, -1) : vary();
	case LOP_SHL:
		if (!ints || !b.known)
			return vary();
		if (b.k >= bits)
			return konst_val(0);
		if (b.k > 28 && a.cls != JC_UNI)
			return vary();
		if (a.cls == JC_UNI)
			return uni(add8(a.ual, (u8)b.k), b.k < 31 ? mul_max(a.max, 1u << b.k) : JMAX_UNKNOWN);
		return v_mul(c, a, konst_val(1ull << b.k));
	case LOP_SHR:
		return ints && b.known ? v_shr(c, a, (u32)b.k, sg, bits) : vary();
	case LOP_AND:
		return ints ? v_and(c, a, b, bits) : vary();
	case LOP_OR:
		return ints ? v_or(c, a, b) : vary();
	case LOP_BFE:
		if (in->type != T_U32 || !b.known || !d.known || (d.k & 255) == 0 || (d.k & 255) > 31 || (b.k & 255) > 31)
			return vary();
		return v_and(c, v_shr(c, a, (u32)b.k & 255, false, 32), konst_val((1ull << (d.k & 255)) - 1), 32);
	case LOP_MULWIDE:
	case LOP_MADWIDE:
		if (in->type != T_U32 && in->type != T_S32)
			return vary();
		if (a.cls == JC_PAT || b.cls == JC_PAT) {
			struct jval m;

			/* the factor is what is multiplied: one of them is a constant, taken with its sign */
			if (a.known)
				a.k = sg ? (u64)(s64)(s32)(u32)a.k : (u32)a.k;
			if (b.known)
				b.k = sg ? (u64)(s64)(s32)(u32)b.k : (u32)b.k;
			if (!a.known && !b.known)
				return vary();
			m = v_mul(c, a, b);
			m.max = JMAX_UNKNOWN;
			return in->lop == LOP_MULWIDE ? m : v_add(c, m, d, 1);
		}
		a = uni(add8(a.ual, b.ual), mul_max(a.max, b.max));
		return in->lop == LOP_MULWIDE ? a : v_add(c, a, d, 1);
	case LOP_CVT_SEXT:
		if (!is_int64(in->type))
			return all_uni && a.cls == JC_UNI ? uni(0, in->type == T_U16 ? 65535 : JMAX_UNKNOWN) : vary();
		return a;
	case LOP_CVT_TRUNC:
		a.known = false;
		return a;
	case LOP_XOR:
	case LOP_NOT:
	case LOP_MIN:
	case LOP_MAX:
	case LOP_MULHI:
		if (!all_uni || !ints || (in->lop == LOP_MULHI && bits == 64))
			return vary();
		return uni(0, (in->lop == LOP_MIN || in->lop == LOP_MAX) && a.max != JMAX_UNKNOWN &&
			   b.max != JMAX_UNKNOWN && a.max < 1u << 31 && b.max < 1u << 31 ?
			   (a.max > b.max ? a.max : b.max) : JMAX_UNKNOWN);
	case LOP_SELP:
	case LOP_CVT_F_S32:
	case LOP_CVT_F_U32:
	case LOP_CVT_F_H:
		return all_uni ? uni(0, JMAX_UNKNOWN) : vary();
	case LOP_PACK:
		return all_uni ? uni(0, JMAX_UNKNOWN) : vary();
	case LOP_XTR:
		return all_uni && b.known && d.known ? uni(0, d.k < 1u << 31 ? (u32)d.k : JMAX_UNKNOWN) : vary();
	}
	return vary();
}

static struct jval sreg_value(struct jcomp *c, const struct insn *in)
{
	s64 v[LANES];
	u32 l, k, bx;

	switch (in->sub) {
	case SR_TID_X:
		if ((c->spec & 255) == SPEC_LINEAR) {
			for (l = 0; l < LANES; l++)
				v[l] = l;
			return pattern(c, v, 5, 1023);
		}
		if ((c->spec & 255) == SPEC_POW2) {
			for (l = 0; l < LANES; l++)
				v[l] = l & ((1u << (c->spec >> 8)) - 1);
			return pattern(c, v, 63, (1u << (c->spec >> 8)) - 1);
		}
		return vary();
	case SR_TID_Y:
		if ((c->spec & 255) == SPEC_LINEAR)
			return uni(0, 1023);
		if ((c->spec & 255) == SPEC_POW2) {
			bx = c->spec >> 8;
			for (l = 0; l < LANES; l++)
				v[l] = l >> bx;
			return pattern(c, v, (u8)(5 - bx), 1023);
		}
		return vary();
	case SR_TID_Z:
		return (c->spec & 255) == SPEC_ANY ? vary() : uni(0, 63);
	case SR_CTAID_X:
	case SR_CTAID_Y:
	case SR_CTAID_Z:
		return uni(0, in->sub == SR_CTAID_X ? JMAX_UNKNOWN : 65535);
	case SR_NTID_X: case SR_NTID_Y: case SR_NTID_Z:
	case SR_NCTAID_X: case SR_NCTAID_Y: case SR_NCTAID_Z:
	case SR_NWARPID: case SR_DYNAMIC_SMEM: case SR_TOTAL_SMEM: case SR_COUNT:
		return uni(0, JMAX_UNKNOWN);
	case SR_LANEID:
		for (k = 0; k < LANES; k++)
			v[k] = k;
		return pattern(c, v, 63, 31);
	}
	return vary();
}

/* The class of what in writes; its operands' classes are those of this round. */
static struct jval value_of(struct jcomp *c, const struct insn *in, u32 k)
{
	struct jval a, b, d;

	switch (in->kind) {
	case K_LANE:
		return lane_value(c, in);
	case K_SREG:
		return sreg_value(c, in);
	case K_SETP:
		a = jit_val(c, in->o[2], 0);
		b = jit_val(c, in->o[3], 0);
		d = jit_val(c, in->o[4], 0);
		if (a.cls == JC_NONE || b.cls == JC_NONE || d.cls == JC_NONE)
			return (struct jval){ 0 };
		if (in->o[1] != OPND_NONE || in->lop > CMP_NAN)
			return vary();
		if (a.cls == JC_UNI && b.cls == JC_UNI && d.cls == JC_UNI &&
		    (is_int32(in->type) || is_int64(in->type) || in->type == T_F32))
			return uni(0, JMAX_UNKNOWN);
		return vary();
	case K_PRED:
		a = jit_val(c, in->o[1], 2);
		b = jit_val(c, in->o[2], 2);
		if (a.cls == JC_NONE || b.cls == JC_NONE)
			return (struct jval){ 0 };
		return a.cls == JC_UNI && b.cls == JC_UNI ? uni(0, JMAX_UNKNOWN) : vary();
	case K_LDPARAM:
		return in->size <= 8 && k < in->vec ? uni(0, JMAX_UNKNOWN) : vary();
	case K_LD:
		if (in->space == SPACE_LOCAL)
			return vary();
		a = jit_val(c, in->o[4], in->aw);
		if (a.cls == JC_NONE)
			return a;
		return a.cls == JC_UNI ? uni(0, in->size == 1 && !(in->flags & INF_SIGNED) ? 255 :
					     in->size == 2 && !(in->flags & INF_SIGNED) ? 65535 : JMAX_UNKNOWN) : vary();
	case K_CVTA:
		if (in->space == SPACE_LOCAL)
			return vary();
		a = jit_val(c, in->o[1], 1);
		if (a.cls == JC_PAT || a.cls == JC_UNI) {
			a.ual = min8(a.ual, 12);
			a.known = false;
			a.max = JMAX_UNKNOWN;
		}
		return a;
	case K_VOTE:
	case K_REDUX:
		return uni(0, JMAX_UNKNOWN);
	}
	return vary();
}

static bool join(struct jcomp *c, u32 v, struct jval n, u32 round)
{
	struct jreg *r = &c->r[v], old = *r;

	if (n.cls == JC_NONE)
		return false;
	if (r->cls == JC_NONE) {
		r->cls = n.cls;
		r->pat = n.pat;
		r->ual = n.ual;
		r->max = n.max;
		return true;
	}
	if (r->cls == JC_VARY)
		return false;
	if (n.cls == JC_VARY || n.pat != r->pat) {
		r->cls = JC_VARY;
		r->pat = 0;
		r->max = JMAX_UNKNOWN;
		r->ual = 0;
		return true;
	}
	r->ual = min8(r->ual, n.ual);
	if (n.max > r->max || n.max == JMAX_UNKNOWN)
		r->max = round > 3 ? JMAX_UNKNOWN : n.max;
	return memcmp(&old, r, sizeof(old)) != 0;
}

/* A pool entry: a constant, or a value of the prologue. */
static void scan_pool(struct jcomp *c)
{
	const struct func *fn = c->fn;
	u32 i, k, off;

	/* constants: jit_val reads them in the width that is asked for */
	for (off = 0; off + 128 <= fn->cpool_bytes; off += 128)
		c->pool[off / 128] = konst_val(0);
	for (i = 0; i < fn->npro; i++) {
		const struct insn *in = &fn->pro[i];

		for (k = 0; k < 6; k++) {
			struct jval r;

			if (!(in->def >> k & 1) || in->o[k] == OPND_NONE)
				continue;
			r = vary();
			if (in->kind == K_LDPARAM) {
				r = uni(0, JMAX_UNKNOWN);
			} else if (in->kind == K_SREG) {
				r = sreg_value(c, in);
				if (in->sub >= SR_LANEMASK_EQ && in->sub <= SR_LANEMASK_GT)
					r = vary();
			} else if (in->kind == K_LANE) {
				bool all = true;
				u32 q;

				r = lane_value(c, in);
				for (q = 1; q < 4; q++)
					all &= jit_val(c, in->o[q], 0).cls == JC_UNI;
				/* computed by the interpreter: uniform whatever the operation */
				if (r.cls == JC_VARY && all)
					r = uni(0, JMAX_UNKNOWN);
				/* a widened pattern would need its check there */
				if (r.cls == JC_PAT && (in->lop == LOP_MULWIDE || in->lop == LOP_MADWIDE || in->lop == LOP_CVT_SEXT) &&
				    jit_val(c, in->o[1], 0).max == JMAX_UNKNOWN && jit_val(c, in->o[2], 0).max == JMAX_UNKNOWN)
					r = vary();
			}
			r.known = false;
			c->pool[(in->o[k] & ~OPND_CONST) / 128] = r;
		}
	}
}

/* The operation makes an f32 as the processor does, NaNs with it. */
bool jit_makes_raw(const struct insn *in)
{
	if (in->kind != K_LANE || in->type != T_F32)
		return false;
	switch (in->lop) {
	case LOP_ADD: case LOP_SUB: case LOP_MUL: case LOP_MAD: case LOP_DIV: case LOP_RCP: case LOP_SQRT:
	case LOP_RSQRT: case LOP_MIN: case LOP_MAX: case LOP_CVT_F_H: case LOP_EX2:
		return true;
	}
	return false;
}

static bool raw_source(const struct jcomp *c, u32 o)
{
	struct jval v = jit_val(c, o, 0);

	if (!(o & OPND_CONST))
		return c->r[o].rawf;
	return v.known && ((u32)v.k & 0x7fffffffu) <= 0x7f800000u;
}

/*
 * Registers that hold only what float operations made: their NaNs are made canonical when their bits
 * are looked at, not every time they are written.
 */
static void find_raw(struct jcomp *c)
{
	bool more = true;
	u32 i, k;

	for (i = 0; i < c->s->nregs; i++)
		c->r[i].rawf = c->r[i].cls == JC_VARY && c->r[i].w == 0;
	while (more) {
		more = false;
		for (i = 0; i < c->n; i++) {
			const struct insn *in = &c->code[i];

			for (k = 0; k < 6; k++) {
				bool raw = jit_makes_raw(in);

				if (!(in->def >> k & 1) || in->o[k] == OPND_NONE || !c->r[in->o[k]].rawf)
					continue;
				if (in->kind == K_LANE && in->lop == LOP_MOV && !in->dw)
					raw = raw_source(c, in->o[1]);
				if (in->kind == K_LANE && in->lop == LOP_SELP && !in->dw)
					raw = raw_source(c, in->o[1]) && raw_source(c, in->o[2]);
				if (!raw) {
					c->r[in->o[k]].rawf = false;
					more = true;
				}
			}
			if (in->kind == K_CALL)
				for (k = 0; k < in->u.call->nrets; k++)
					if (in->u.call->rets[k].is_reg)
						c->r[in->u.call->rets[k].opnd].rawf = false;
		}
	}
}

bool jit_scan(struct jcomp *c)
{
	s64 zero[LANES] = { 0 };
	u32 i, k, round;
	bool more = true;

	c->pats = pool_alloc(&c->mem, JPATS * sizeof(*c->pats));
	c->npool = c->fn->cpool_bytes / 128 + 2;
	c->pool = pool_alloc(&c->mem, c->npool * sizeof(*c->pool));
	if (!c->pats || !c->pool)
		return false;
	jit_pat(c, zero);
	scan_pool(c);
	for (round = 0; more; round++) {
		more = false;
		for (i = 0; i < c->n; i++) {
			const struct insn *in = &c->code[i];

			if (in->kind == K_CALL)
				for (k = 0; k < in->u.call->nrets; k++)
					if (in->u.call->rets[k].is_reg)
						more |= join(c, in->u.call->rets[k].opnd, vary(), round);
			for (k = 0; k < 6; k++) {
				struct jval n;

				if (!(in->def >> k & 1) || in->o[k] == OPND_NONE)
					continue;
				n = value_of(c, in, k);
				if (in->guard != OPND_NONE && jit_val(c, in->guard, 2).cls == JC_VARY)
					n = vary();
				/* a guard not known yet: wait for it */
				if (in->guard != OPND_NONE && jit_val(c, in->guard, 2).cls == JC_NONE)
					n.cls = JC_NONE;
				more |= join(c, in->o[k], n, round);
			}
		}
		if (round > 200)
			return false;
	}
	/* never written: any value will do */
	for (i = 0; i < c->s->nregs; i++)
		if (c->r[i].cls == JC_NONE)
			c->r[i].cls = JC_VARY;
	find_raw(c);
	return true;
}

/* Done with scalars only (plus checks): every result is uniform or a pattern. */
bool jit_scalar(const struct jcomp *c, const struct insn *in)
{
	u32 k, n = 0;

	for (k = 0; k < 6; k++)
		if ((in->def >> k & 1) && in->o[k] != OPND_NONE) {
			n++;
			if (c->r[in->o[k]].cls == JC_VARY)
				return false;
		}
	return n != 0;
}
