/* SPDX-License-Identifier: MIT */
/*
 * Which values are uniform, patterns or varying: an optimistic data flow over all definitions of every
 * register, as seen by a group of lanes that runs together. Control flow does not matter: lanes of a
 * group take every branch together, and a group that other lanes join is checked anew (jit_run.c).
 *
 * Undefined is what a lane holds, not a register: a choice between a register that nobody wrote and one with a value is
 * the value in some lanes. So the flow runs twice. At first whoever has an operand without a value waits for one, which
 * loops need; those that wait in vain, on registers without definition, are varying then, and only a plain copy of what is
 * undefined in all lanes is none at all: it fits whatever its register is.
 *
 * A pattern is U + C[lane], U the value of lane 0 and C known now. Modulo 2^n that goes through add, sub
 * and multiplication by constants as it is; through shifts, masks and widening only where U is known to
 * be a multiple of a power of two, or the sum to be small (otherwise the code checks at run time).
 */
#include "jit.h"
#include "lanes.h"

static bool is_int32(u8 t) { return t == T_U32 || t == T_S32 || t == T_B32; }

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
static struct jval uni(u8 ual, u64 max) { return (struct jval){ .cls = JC_UNI, .ual = ual, .max = max }; }
static struct jval konst_val(u64 k)
{
	return (struct jval){ .cls = JC_UNI, .known = true, .k = k, .sk = true, .s = k,
			      .ual = (u8)(k ? __builtin_ctzll(k) : 63), .max = k };
}
/* U keeps its alignment, C is given */
static struct jval pattern(struct jcomp *c, const s64 *v, u8 ual, u64 max)
{
	u32 p = jit_pat(c, v);

	if (p == ~0u)
		return vary();
	return (struct jval){ .cls = p ? JC_PAT : JC_UNI, .pat = (u16)p, .ual = ual, .max = max };
}

/* v, whose scalar is s if that is known. */
static struct jval with_scalar(struct jval v, bool known, u64 s, u32 bits)
{
	if (v.cls == JC_UNI || v.cls == JC_PAT) {
		v.sk = known;
		v.s = known ? (bits == 32 ? (u32)s : s) : 0;
	}
	return v;
}

struct jval jit_val(const struct jcomp *c, u32 o, u8 w)
{
	const struct jreg *r;

	if (o == OPND_NONE)
		return konst_val(0);
	if (o & OPND_CONST) {
		const struct jval *p = &c->pool[(o & ~OPND_CONST) / 128];
		const void *at = c->fn->cpool + (o & ~OPND_CONST);

		return p->known && !p->made ? konst_val(w == 1 ? *(const u64 *)at : *(const u32 *)at) : *p;
	}
	r = &c->r[o];
	return (struct jval){ .cls = r->cls, .ual = r->ual, .pat = r->pat, .max = r->max, .sk = r->sk, .s = r->s };
}

/* Bounds of sums and products: wrapping ones have none. */
static u64 add_max(u64 a, u64 b, u32 bits)
{
	u64 top = bits == 32 ? 0xffffffffu : JMAX_UNKNOWN - 1;

	return a <= top && b <= top - a ? a + b : JMAX_UNKNOWN;
}

static u64 mul_max(u64 a, u64 b, u32 bits)
{
	u64 top = bits == 32 ? 0xffffffffu : JMAX_UNKNOWN - 1;

	return a <= top && b <= top && (!a || b <= top / a) ? a * b : JMAX_UNKNOWN;
}

static u8 min8(u8 a, u8 b) { return a < b ? a : b; }
static u8 add8(u8 a, u8 b) { return a + b > 63 ? 63 : (u8)(a + b); }

static struct jval v_add(struct jcomp *c, struct jval a, struct jval b, int sign, u32 bits)
{
	s64 v[LANES];
	u32 l;

	if (a.cls == JC_NONE || b.cls == JC_NONE)
		return (struct jval){ 0 };
	if (a.cls == JC_VARY || b.cls == JC_VARY)
		return vary();
	for (l = 0; l < LANES; l++)
		v[l] = (s64)c->pats[a.pat][l] + sign * (s64)c->pats[b.pat][l];
	return with_scalar(pattern(c, v, min8(a.ual, b.ual), sign > 0 ? add_max(a.max, b.max, bits) : JMAX_UNKNOWN),
			   a.sk && b.sk, sign > 0 ? a.s + b.s : a.s - b.s, bits);
}

/* 32 bits to be widened, whose scalar is known: does a lane wrap? Then its 64 bits are no scalar and a pattern. */
static bool wraps(const struct jcomp *c, struct jval a, bool sg)
{
	if (a.cls != JC_PAT || !a.sk)
		return false;
	for (u32 l = 0; l < LANES; l++) {
		s64 x = (sg ? (s64)(s32)(u32)a.s : (s64)(u32)a.s) + c->pats[a.pat][l];

		if (x != (sg ? (s64)(s32)x : (s64)(u32)x))
			return true;
	}
	return false;
}

static struct jval v_mul(struct jcomp *c, struct jval a, struct jval b, u32 bits)
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
		return with_scalar(uni(add8(a.ual, b.ual), mul_max(a.max, b.max, bits)), a.sk && b.sk, a.s * b.s, bits);
	/* modulo 2^32 a factor near that is a small negative one; modulo 2^64 it is not */
	if (bits == 32)
		b.k = (u64)(s64)(s32)(u32)b.k;
	if (!b.known || (s64)b.k > 1 << 28 || (s64)b.k < -(1 << 28))
		return vary();
	for (l = 0; l < LANES; l++)
		v[l] = (s64)c->pats[a.pat][l] * (s64)b.k;
	return with_scalar(pattern(c, v, add8(a.ual, b.ual), (s64)b.k >= 0 ? mul_max(a.max, b.max, bits) : JMAX_UNKNOWN),
			   a.sk, a.s * b.k, bits);
}

/* No lane's sum carries out of the bits that the scalar has free, so that it never wraps. */
static bool no_carry(const struct jcomp *c, struct jval a)
{
	u32 l;

	for (l = 0; l < LANES; l++)
		if (c->pats[a.pat][l] < 0 || (a.ual < 31 && c->pats[a.pat][l] >> a.ual))
			return false;
	return true;
}

static struct jval v_shr(struct jcomp *c, struct jval a, u32 s, bool is_signed, u32 bits)
{
	s64 v[LANES];
	bool positive = a.max < 1ull << (bits - 1);
	u64 max, to;
	u32 l;

	if (a.cls != JC_UNI && a.cls != JC_PAT)
		return a.cls == JC_NONE ? a : vary();
	if (s >= bits) {
		if (!is_signed)
			return konst_val(0);
		if (a.cls == JC_PAT)
			return vary();          /* jit_guess_sign() asks for bits - 1 alone */
		s = bits - 1;
	}
	if (bits == 32 && a.max > 0xffffffffu)
		a.max = 0xffffffffu;
	max = is_signed && !positive ? JMAX_UNKNOWN : a.max == JMAX_UNKNOWN ? ~0ull >> s : a.max >> s;
	if (is_signed && s == bits - 1 && a.cls == JC_PAT && a.sk) {    /* known numbers' signs: all the same, or not */
		for (l = 0, to = 0; l < LANES; l++)
			to += (a.s + (u64)(s64)c->pats[a.pat][l]) >> s & 1;
		return to % LANES ? vary() : konst_val(to ? ~0ull >> (64 - bits) : 0);
	}
	if (max == 0 || (is_signed && s == bits - 1 && a.cls == JC_PAT && c->guess))
		return konst_val(0);            /* jit_guess_sign() */
	to = bits == 64 ? a.s : is_signed ? (u64)(s64)(s32)(u32)a.s : (u32)a.s;
	to = is_signed ? (u64)((s64)to >> s) : to >> s;
	if (a.cls == JC_UNI)
		return with_scalar(uni(a.ual > s ? (u8)(a.ual - s) : 0, max), a.sk, to, bits);
	if (no_carry(c, a)) {
		for (l = 0; l < LANES; l++)
			v[l] = (s64)c->pats[a.pat][l] >> s;
		return with_scalar(pattern(c, v, a.ual > s ? (u8)(a.ual - s) : 0, max), a.sk, to, bits);
	}
	if (!positive || a.ual < s)
		return vary();
	for (l = 0; l < LANES; l++) {
		if (c->pats[a.pat][l] < 0)
			return vary();
		v[l] = (s64)c->pats[a.pat][l] >> s;
	}
	return with_scalar(pattern(c, v, (u8)(a.ual - s), max), a.sk, to, bits);
}

static struct jval v_and(struct jcomp *c, struct jval a, struct jval b, u32 bits)
{
	s64 v[LANES];
	u32 l, k;
	u64 m;

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
		return with_scalar(uni(a.ual > b.ual ? a.ual : b.ual, a.max < b.max ? a.max : b.max), a.sk && b.sk, a.s & b.s, bits);
	if (!b.known)
		return vary();
	m = bits == 32 ? (u32)b.k : b.k;
	for (l = 0; l < LANES; l++)
		v[l] = c->pats[a.pat][l] & (s64)m;
	k = m ? 64 - (u32)__builtin_clzll(m) : 0;
	if (!(m & (m + 1)) && a.ual >= k && k <= 30)    /* low bits */
		return with_scalar(pattern(c, v, 63, (u32)m), true, 0, bits);
	if (no_carry(c, a))             /* each bit is the scalar's or the pattern's */
		return with_scalar(pattern(c, v, a.ual, a.max < m ? a.max : m), a.sk, a.s & m, bits);
	m = j_whole_mask(a, m, bits);
	if (!(~m & (~m + 1))) {                 /* all but low bits */
		k = ~m ? 64 - (u32)__builtin_clzll(~m) : 0;
		if (a.ual < k || k > 30)
			return vary();
		for (l = 0; l < LANES; l++)
			v[l] = c->pats[a.pat][l] & (s64)m;
		return with_scalar(pattern(c, v, a.ual, a.max), a.sk, a.s & m, bits);
	}
	return vary();
}

/* Of a pattern and a constant: what of the scalar is below its zeros is the constant's. */
/* Are all lanes of b less than the lowest bit that one of a may have? So are their scalars then. */
static bool below(const struct jcomp *c, struct jval b, struct jval a)
{
	u64 low = 1ull << (a.ual < 30 ? a.ual : 30);
	u32 l;

	for (l = 0; l < LANES; l++)
		if (c->pats[a.pat][l] & ((s64)low - 1))
			low = (u64)c->pats[a.pat][l] & -(u64)c->pats[a.pat][l];
	return b.max < low && !c->pats[b.pat][0];
}

static struct jval v_or(struct jcomp *c, struct jval a, struct jval b, u32 bits, bool xor)
{
	u64 m, low, zeros, max;
	s64 v[LANES];
	u32 l;

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
	if (!b.known) {
		/* 2 * lane | odd: nothing meets below the zeros that all lanes have, and it is their sum */
		if (!below(c, b, a)) {
			struct jval t = a;

			a = b;
			b = t;
		}
		return below(c, b, a) ? v_add(c, a, b, 1, bits) : vary();
	}
	m = bits == 32 ? (u32)b.k : b.k;
	zeros = (1ull << (a.ual < 30 ? a.ual : 30)) - 1;
	low = m & zeros;
	for (l = 0; l < LANES; l++) {
		s64 x = c->pats[a.pat][l];
		u64 part = (u64)x & zeros;

		/* what of the scalar meets a bit of it is in all lanes as it is in the first */
		if (m != low && (x < 0 || (u64)x > zeros))
			return vary();
		v[l] = x - (s64)part + (s64)(xor ? part ^ low : part | low) - (s64)low;
	}
	max = a.max | m;
	max = max < 1u << 31 ? (1ull << (64 - __builtin_clzll(max | 1))) - 1 : JMAX_UNKNOWN;
	return with_scalar(pattern(c, v, min8(a.ual, b.ual), max), a.sk, xor ? a.s ^ m : a.s | m, bits);
}

static struct jval lane_value(struct jcomp *c, const struct insn *in)
{
	struct jval a = jit_val(c, in->o[1], jit_src_w(in, 1)), b = jit_val(c, in->o[2], jit_src_w(in, 2));
	struct jval d = jit_val(c, in->o[3], jit_src_w(in, 3));
	u32 bits = j_int64(in->type) ? 64 : 32;
	bool ints = is_int32(in->type) || j_int64(in->type), sg = type_is_signed(in->type);
	bool all_uni, none;
	u32 need;
	static const u8 nsrc[LOP_COUNT] = {
		[LOP_MOV] = 1, [LOP_ADD] = 2, [LOP_SUB] = 2, [LOP_MUL] = 2, [LOP_MAD] = 3, [LOP_SHL] = 2,
		[LOP_SHR] = 2, [LOP_AND] = 2, [LOP_OR] = 2, [LOP_XOR] = 2, [LOP_NOT] = 1, [LOP_NEG] = 1,
		[LOP_MULWIDE] = 2, [LOP_MADWIDE] = 3, [LOP_CVT_SEXT] = 1, [LOP_CVT_TRUNC] = 1, [LOP_MIN] = 2,
		[LOP_MAX] = 2, [LOP_SELP] = 3, [LOP_BFE] = 3, [LOP_PACK] = 2, [LOP_XTR] = 3,
		[LOP_CVT_F_S32] = 1, [LOP_CVT_F_U32] = 1, [LOP_CVT_F_H] = 1, [LOP_MULHI] = 2,
		[LOP_DIV] = 2, [LOP_REM] = 2, [LOP_POPC] = 1, [LOP_CLZ] = 1, [LOP_BFIND] = 1, [LOP_BFINDSH] = 1, [LOP_BREV] = 1,
	};
	u32 n = nsrc[in->lop];

	if (!n)
		return vary();
	none = a.cls == JC_NONE || (n > 1 && b.cls == JC_NONE) || (n > 2 && d.cls == JC_NONE);
	if (none)
		return (struct jval){ 0 };
	if (a.cls == JC_VARY || (n > 1 && b.cls == JC_VARY) || (n > 2 && d.cls == JC_VARY))
		return vary();
	if (jit_guess_align(c, in, &need)) {
		a.ual = (u8)need;
		c->guessed = true;
	}
	c->guessed |= jit_guess_sign(c, in);
	all_uni = a.cls == JC_UNI && (n < 2 || b.cls == JC_UNI) && (n < 3 || d.cls == JC_UNI);
	if (ints && b.known && n == 2 && jit_exact(c, in->lop, a, b.k, sg, bits, &d))
		return d;
	switch (in->lop) {
	case LOP_MOV:
		return a;
	case LOP_ADD:
		if (in->type == T_F32)
			return all_uni ? uni(0, JMAX_UNKNOWN) : vary();
		return ints ? v_add(c, a, b, 1, bits) : vary();
	case LOP_SUB:
		if (in->type == T_F32)
			return all_uni ? uni(0, JMAX_UNKNOWN) : vary();
		if (!ints)
			return vary();
		a = v_add(c, a, b, -1, bits);
		if (!jit_same_scalar(c, in, bits))
			return a;
		c->guessed |= c->guess;
		return with_scalar(a, true, 0, bits);
	case LOP_MUL:
		if (in->type == T_F32)
			return all_uni ? uni(0, JMAX_UNKNOWN) : vary();
		return ints ? v_mul(c, a, b, bits) : vary();
	case LOP_MAD:
		if (in->type == T_F32)
			return all_uni ? uni(0, JMAX_UNKNOWN) : vary();
		return ints ? v_add(c, v_mul(c, a, b, bits), d, 1, bits) : vary();
	case LOP_NEG:
		return ints ? v_add(c, konst_val(0), a, -1, bits) : vary();
	case LOP_SHL:
		if (!ints || !b.known)
			return ints && all_uni ? uni(0, JMAX_UNKNOWN) : vary();
		if (b.k >= bits)
			return konst_val(0);
		if (b.k > 28 && a.cls != JC_UNI)
			return vary();
		if (a.cls == JC_UNI)
			return with_scalar(uni(add8(a.ual, (u8)b.k), mul_max(a.max, 1ull << b.k, bits)), a.sk, a.s << b.k, bits);
		return v_mul(c, a, konst_val(1ull << b.k), bits);
	case LOP_SHR:
		if (ints && !b.known && all_uni)
			return uni(0, sg ? JMAX_UNKNOWN : a.max);
		return ints && b.known ? v_shr(c, a, (u32)b.k, sg, bits) : vary();
	case LOP_AND:
		return ints ? v_and(c, a, b, bits) : vary();
	case LOP_OR:
		return ints ? v_or(c, a, b, bits, false) : vary();
	case LOP_BFE:
		if (in->type != T_U32 || !b.known || !d.known || (d.k & 255) == 0 || (d.k & 255) > 31 || (b.k & 255) > 31)
			return vary();
		return v_and(c, v_shr(c, a, (u32)b.k & 255, false, 32), konst_val((1ull << (d.k & 255)) - 1), 32);
	case LOP_MULWIDE:
	case LOP_MADWIDE: {
		struct jval m;
		u64 ma = a.max, mb = b.max;

		if ((in->type != T_U32 && in->type != T_S32) || wraps(c, a, sg) || wraps(c, b, sg) ||
		    ((a.cls == JC_PAT || b.cls == JC_PAT) && jit_wrapped(c->s, in)))
			return vary();
		ma = sg && ma > 0x7fffffff ? JMAX_UNKNOWN : ma > 0xffffffffu ? 0xffffffffu : ma;
		mb = sg && mb > 0x7fffffff ? JMAX_UNKNOWN : mb > 0xffffffffu ? 0xffffffffu : mb;
		a.s = sg ? (u64)(s64)(s32)(u32)a.s : (u32)a.s;
		b.s = sg ? (u64)(s64)(s32)(u32)b.s : (u32)b.s;
		if (a.cls == JC_PAT || b.cls == JC_PAT) {
			/* the factor is what is multiplied: one of them is a constant, taken with its sign */
			if (a.known)
				a.k = sg ? (u64)(s64)(s32)(u32)a.k : (u32)a.k;
			if (b.known)
				b.k = sg ? (u64)(s64)(s32)(u32)b.k : (u32)b.k;
			if (!a.known && !b.known)
				return vary();
			m = v_mul(c, a, b, 64);
		} else {
			m = with_scalar(uni(add8(a.ual, b.ual), 0), a.sk && b.sk, a.s * b.s, 64);
		}
		if (m.cls != JC_VARY)
			m.max = mul_max(ma, mb, 64);
		return in->lop == LOP_MULWIDE ? m : v_add(c, m, d, 1, 64);
	}
	case LOP_CVT_SEXT:
		if (!j_int64(in->type))
			return a.cls == JC_UNI ? uni(0, in->type == T_U16 ? 65535 : JMAX_UNKNOWN) : vary();
		if (wraps(c, a, in->type != T_U64) || (a.cls == JC_PAT && jit_wrapped(c->s, in)))
			return vary();
		a.max = in->type == T_U64 ? (a.max > 0xffffffffu ? 0xffffffffu : a.max) :
			a.max > 0x7fffffff ? JMAX_UNKNOWN : a.max;
		return with_scalar(a, a.sk, in->type == T_U64 ? (u32)a.s : (u64)(s64)(s32)(u32)a.s, 64);
	case LOP_CVT_TRUNC:
		a.known = false;
		if (a.max > 0xffffffffu)
			a.max = JMAX_UNKNOWN;
		return with_scalar(a, a.sk, a.s, 32);
	case LOP_POPC:
	case LOP_CLZ:
		return all_uni ? uni(0, bits) : vary();
	case LOP_BFIND:
	case LOP_BFINDSH:
	case LOP_BREV:
		return all_uni ? uni(0, JMAX_UNKNOWN) : vary();
	case LOP_NOT:
		return ints ? v_add(c, konst_val(~0ull), a, -1, bits) : vary();
	case LOP_XOR:
		if (!all_uni)
			return ints ? v_or(c, a, b, bits, true) : vary();
		/* fall through */
	case LOP_MIN:
	case LOP_MAX:
	case LOP_MULHI:
		if (!all_uni || !ints || (in->lop == LOP_MULHI && bits == 64))
			return vary();
		return uni(0, (in->lop == LOP_MIN || in->lop == LOP_MAX) && a.max < 1u << 31 && b.max < 1u << 31 ?
			   (a.max > b.max ? a.max : b.max) : JMAX_UNKNOWN);
	case LOP_DIV:
	case LOP_REM:
		if (!all_uni || !is_int32(in->type))
			return vary();
		/* by 0: all ones */
		return uni(0, !sg && b.known && b.k ? a.max : JMAX_UNKNOWN);
	case LOP_SELP:
	case LOP_CVT_F_S32:
	case LOP_CVT_F_U32:
	case LOP_CVT_F_H:
		return all_uni ? uni(0, JMAX_UNKNOWN) : vary();
	case LOP_PACK:
		return all_uni ? uni(0, JMAX_UNKNOWN) : vary();
	case LOP_XTR:
		return all_uni && b.known && d.known ? uni(0, (u32)d.k) : vary();
	}
	return vary();
}

static struct jval sreg_value(struct jcomp *c, const struct insn *in)
{
	s64 v[LANES];
	u32 l, k, bx;

	switch (spec_sreg(c->spec, in->sub)) {
	case SR_TID_X:
		if ((c->spec & 255) <= SPEC_LINE) {
			for (l = 0; l < LANES; l++)
				v[l] = l;
			return pattern(c, v, 5, in->sub == SR_CTAID_X ? 0x7fffffff : 1023);
		}
		if ((c->spec & 255) == SPEC_POW2) {
			for (l = 0; l < LANES; l++)
				v[l] = l & ((1u << spec_log2(c->spec)) - 1);
			return with_scalar(pattern(c, v, 63, (1u << spec_log2(c->spec)) - 1), true, 0, 32);
		}
		return vary();
	case SR_TID_Y:
		if ((c->spec & 255) <= SPEC_LINE)
			return uni(0, 1023);
		if ((c->spec & 255) == SPEC_POW2) {
			bx = spec_log2(c->spec);
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
		return uni(0, in->sub == SR_CTAID_X ? 0x7ffffffe : 65534);
	case SR_CLUSTER_CTAID_X: case SR_CLUSTER_CTAID_Y: case SR_CLUSTER_CTAID_Z: case SR_CLUSTER_CTARANK:
	case SR_CLUSTER_NCTAID_X: case SR_CLUSTER_NCTAID_Y: case SR_CLUSTER_NCTAID_Z: case SR_CLUSTER_NCTARANK: case SR_CLUSTER_EXPLICIT:
		return uni(0, MAX_CLUSTER);
	case SR_NTID_X: case SR_NTID_Y: case SR_NTID_Z:
		if (in->sub == SR_NTID_X && (c->spec & 255) == SPEC_POW2)
			return konst_val(1u << spec_log2(c->spec));
		return uni(in->sub != SR_NTID_X ? 0 : (c->spec & SPEC_JOINED) ? (u8)spec_log2(c->spec) : (c->spec & 255) == SPEC_LINEAR ? 5 : 0, 1024);
	case SR_NCTAID_X: case SR_NCTAID_Y: case SR_NCTAID_Z:
	case SR_CLUSTERID_X: case SR_CLUSTERID_Y: case SR_CLUSTERID_Z: case SR_NCLUSTERID_X: case SR_NCLUSTERID_Y: case SR_NCLUSTERID_Z:
	case SR_NWARPID: case SR_DYNAMIC_SMEM: case SR_TOTAL_SMEM: case SR_COUNT:
	case SR_RESERVED_BEGIN: case SR_RESERVED_1: case SR_RESERVED_END: case SR_RESERVED_CAP:
		return uni(0, JMAX_UNKNOWN);
	case SR_LANEID:
		for (k = 0; k < LANES; k++)
			v[k] = k;
		return with_scalar(pattern(c, v, 63, 31), true, 0, 32);
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
		    (is_int32(in->type) || j_int64(in->type) || in->type == T_F32))
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
		a = jit_val(c, in->o[1], 1);
		if (in->space == SPACE_LOCAL && (a.cls == JC_UNI || a.cls == JC_PAT)) {
			s64 v[LANES], step = in->sub ? -(s64)jit_local_stride(c->fn) : (s64)jit_local_stride(c->fn);
			u32 l;

			for (l = 0; l < LANES; l++)
				v[l] = c->pats[a.pat][l] + l * step;
			return pattern(c, v, min8(a.ual, 4), JMAX_UNKNOWN);
		}
		if (a.cls == JC_PAT || a.cls == JC_UNI) {
			a.ual = min8(a.ual, 12);
			a.known = a.sk = false;
			a.max = JMAX_UNKNOWN;
		}
		return a;
	case K_ACTIVEMASK:
		return uni(0, JMAX_UNKNOWN);
	case K_VOTE:
	case K_REDUX:
		/* lanes that name different members get different answers */
		if (in->o[2] == OPND_NONE)
			return uni(0, JMAX_UNKNOWN);
		a = jit_val(c, in->o[2], 0);
		return a.cls == JC_NONE ? a : a.cls == JC_UNI ? uni(0, JMAX_UNKNOWN) : vary();
	}
	return vary();
}

/* A copy of what no lane has. */
static bool copies_nothing(const struct jcomp *c, const struct insn *in)
{
	return in->kind == K_LANE && in->lop == LOP_MOV && jit_val(c, in->o[1], jit_src_w(in, 1)).cls == JC_NONE;
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
		r->sk = n.sk;
		r->s = n.sk ? n.s : 0;
		return true;
	}
	if (r->cls == JC_VARY)
		return false;
	if (n.cls == JC_VARY || n.pat != r->pat) {
		r->cls = JC_VARY;
		r->pat = 0;
		r->max = JMAX_UNKNOWN;
		r->ual = 0;
		r->sk = false;
		return true;
	}
	if (!n.sk || n.s != r->s)
		r->sk = false;
	r->ual = min8(r->ual, n.ual);
	if (n.max > r->max)
		r->max = round > 3 ? JMAX_UNKNOWN : n.max;
	return memcmp(&old, r, sizeof(old)) != 0;
}

/* A pool entry: a constant, or a value of the prologue. */
static void scan_pool(struct jcomp *c)
{
	const struct func *fn = c->fn;
	u32 i, k, off;
	u64 stride;

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
				r = strides_known(fn, c->spec, in, &stride) ? konst_val(stride) : uni(0, JMAX_UNKNOWN);
			} else if (in->kind == K_SREG) {
				r = sreg_value(c, in);
				if (in->sub >= SR_LANEMASK_EQ && in->sub <= SR_LANEMASK_GT)
					r = vary();
			} else if (in->kind == K_SETP || in->kind == K_PRED) {
				r = uni(0, JMAX_UNKNOWN);       /* uniform.c moves no others */
			} else if (in->kind == K_CVTA && jit_val(c, in->o[1], 1).cls == JC_UNI) {
				r = uni(min8(jit_val(c, in->o[1], 1).ual, 12), JMAX_UNKNOWN);
			} else if (in->kind == K_LANE) {
				bool all = true;
				u32 q;

				r = lane_value(c, in);
				for (q = 1; q < 4; q++)
					all &= jit_val(c, in->o[q], 0).cls == JC_UNI;
				/* computed by the interpreter: uniform whatever the operation */
				if (r.cls == JC_VARY && all)
					r = uni(0, JMAX_UNKNOWN);
				if (jit_guess_sign(c, in) || jit_guess_align(c, in, &q))
					r = vary();
				/* a widened pattern would need its check there */
				if (r.cls == JC_PAT && (in->lop == LOP_MULWIDE || in->lop == LOP_MADWIDE || in->lop == LOP_CVT_SEXT) &&
				    !no_carry(c, jit_val(c, in->o[1], 0).cls == JC_PAT ? jit_val(c, in->o[1], 0) : jit_val(c, in->o[2], 0)))
					r = vary();
			}
			/* a constant in a register stays one, and a shape is */
			if (!(((in->kind == K_LANE && in->lop == LOP_MOV) || in->kind == K_SREG || in->kind == K_LDPARAM) && r.cls == JC_UNI && r.known))
				r.known = false;
			r.made = true;
			c->pool[(in->o[k] & ~OPND_CONST) / 128] = r;
		}
	}
}

static bool flow(struct jcomp *c)
{
	bool more = true, settled = false;      /* settled: who still waits for a value will have none */
	u32 i, k, round;

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
					n = settled ? vary() : (struct jval){ 0 };
				if (settled && n.cls == JC_NONE && !copies_nothing(c, in))
					n = vary();
				if (c->s->varies[in->o[k] >> 6] >> (in->o[k] & 63) & 1)
					n = vary();
				more |= join(c, in->o[k], n, round);
			}
		}
		if (round > 200)
			return false;
		if (!more && !settled)
			more = settled = true;
	}
	return true;
}

/* Scalars that are known without any guess; then all, with guesses where there may be some. */
static bool flows(struct jcomp *c)
{
	bool guess = c->guess;
	u32 i;

	c->guess = false;
	if (!flow(c))
		return false;
	for (i = 0; i < c->s->nregs; i++) {
		struct jreg *r = &c->r[i];

		r->sure = r->sk && c->def_of[i] != ~0u;
		if (!guess)
			continue;
		r->cls = JC_NONE;
		r->ual = 0;
		r->pat = 0;
		r->sk = false;
		r->max = r->s = 0;
	}
	c->guess = guess;
	return !guess || flow(c);
}

bool jit_scan(struct jcomp *c)
{
	s64 zero[LANES] = { 0 };
	u32 i, k;

	c->pats = pool_alloc(&c->mem, JPATS * sizeof(*c->pats));
	c->npool = c->fn->cpool_bytes / 128 + 2;
	c->pool = pool_alloc(&c->mem, c->npool * sizeof(*c->pool));
	c->def_of = pool_alloc(&c->mem, (c->s->nregs + 1) * sizeof(u32));
	if (!c->def_of || !c->pats || !c->pool)
		return false;
	jit_pat(c, zero);
	for (i = 0; i < c->n; i++) {
		const struct insn *in = &c->code[i];

		for (k = 0; k < 6; k++)
			if ((in->def >> k & 1) && in->o[k] != OPND_NONE)
				c->def_of[in->o[k]] = c->def_of[in->o[k]] ? ~0u : i + 1;
		for (k = 0; in->kind == K_CALL && k < in->u.call->nrets; k++)
			if (in->u.call->rets[k].is_reg)
				c->def_of[in->u.call->rets[k].opnd] = ~0u;
	}
	if (!flows(c))
		return false;
	/* never written: any value will do */
	for (i = 0; i < c->s->nregs; i++)
		if (c->r[i].cls == JC_NONE)
			c->r[i].cls = JC_VARY;
	jit_nans(c);
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
