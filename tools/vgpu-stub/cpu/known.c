/* SPDX-License-Identifier: MIT */
/*
 * Bits that are known. nvcc takes bytes out of words with masks, and PTX then has it say once more what they are: a half word that
 * was loaded as such is made one again for each use, and the factor of a dot product that has seven bits a byte is called signed.
 *
 *   ld.u16 h, [a]; cvt.u32.u16 r, h; and q, r, 0x3f3f; cvt.u16.u32 k, q; shr.u16 m, k, 8     ==>     ld.u16 h, [a]; and q, h, 0x3f3f; shr.u32 m, q, 8
 *   and a, x, 0x0f0f0f0f; dp4a.s32.s32 d, a, b, c                                            ==>     ...; dp4a.u32.s32 d, a, b, c     (INF_SMALL)
 *   and a, x, 0x3f3f3f3f; prmt s, a, 0, 0xba98 (signs of bytes); not n, s; and b, y, n      ==>     and a, x, 0x3f3f3f3f; mov b, y
 *   and q, x, 0x7777; prmt d, a, b, q                                                        ==>     ...; prmt d, a, b, q  (INF_PLAIN)
 *   ld.u8 h, [a]; cvt.s32.s8 r, h                                                            ==>     ld.s8 h, [a]; mov r, h
 *   cvt.u16.u32 h, r; cvt.f32.f16 f, h                                                       ==>     cvt.f32.f16 f, r
 *   and q, r, -8; sub m, r, q (the rest of a division)                                       ==>     ...; and m, r, 7
 *   cvt.u64.u32 r, t; @p bra L; and r, r, 0xffffffff; L:                                     ==>     cvt.u64.u32 r, t; @p bra L; L:
 *
 * In: blocks in the text's order; registers not yet slots. Out: the same instructions, some of them copies or of another type. What a register with
 * one definition holds is known wherever it was defined; of one with several, in the block behind each. A register of 16 bits
 * lies in 32, of which an operation of 16 bits may leave the upper ones as they come: nothing is known of these from it.
 *
 * Called by cfg.c for kernels, before values.c, which takes the copies out.
 */
#include <string.h>

#include "cfg.h"
#include "gen.h"
#include "lanes.h"

#define EVER UINT32_MAX
#define ALL  UINT64_MAX
#define LOW  0xffffffffull

struct bits { u64 zero, one; };

struct known {
	struct comp *c;
	struct bits *has;       /* by register, if it is known here */
	u32 *since;             /* by register: the block that knows it; 0: nobody; EVER */
	u8 *narrow;             /* by register of 64 bits: whatever writes it leaves its upper half 0 */
	u32 *uses, *defs, *at;  /* by register: readers, definitions; behind the place of the last one so far, 0 */
	u32 now, from, pc;      /* this block and where it begins; the instruction */
	u32 once;               /* the end of the first block, which nobody comes back to */
};

static void counted(void *arg, u32 *o, bool is_def)
{
	struct known *k = arg;

	if (is_def)
		k->defs[*o]++;
	else
		k->uses[*o]++;
}

/* What operand o is known to have, nothing beyond its width where it has 32 bits. */
static struct bits bits_in(const struct known *k, u32 o)
{
	const struct konst *v;

	if (o == OPND_NONE)
		return (struct bits){ 0, 0 };
	if (o & OPND_CONST) {
		v = konst_at(k->c, o);
		return v && !v->sym ? (struct bits){ ~v->bits, v->bits } : (struct bits){ 0, 0 };
	}
	if (k->since[o] == EVER || k->since[o] == k->now)
		return k->has[o];
	return (struct bits){ k->c->regs[o].w && !k->narrow[o] ? 0 : ~LOW, 0 };
}

/* Bits that may be set in it */
static u64 may(const struct known *k, u32 o) { return ~bits_in(k, o).zero; }

static bool is_number(const struct known *k, u32 o, u64 *n)
{
	const struct konst *v = konst_at(k->c, o);

	*n = v ? v->bits : 0;
	return v && !v->sym;
}

/* The zeros of all numbers up to n */
static u64 above(u64 n) { return !n ? ALL : n >> 63 ? 0 : ~((2ull << (63 - __builtin_clzll(n))) - 1); }

static u64 low_bits(u32 t) { return type_bytes(t) == 8 ? ALL : (1ull << 8 * type_bytes(t)) - 1; }

static bool is_int(u32 t) { return t >= T_B8 && t <= T_S64; }

/* The bytes of a and b that the numbers in sel name; with 8 added, what their signs are. */
static struct bits permuted(struct bits a, struct bits b, u64 sel)
{
	struct bits r = { ~LOW, 0 };
	u32 i;

	for (i = 0; i < 4; i++, sel >>= 4) {
		struct bits x = sel & 4 ? b : a;
		u32 by = (sel & 3) * 8;

		if (sel & 8) {
			r.zero |= x.zero >> by & 128 ? 255ull << i * 8 : 0;
			r.one |= x.one >> by & 128 ? 255ull << i * 8 : 0;
		} else {
			r.zero |= (x.zero >> by & 255) << i * 8;
			r.one |= (x.one >> by & 255) << i * 8;
		}
	}
	return r;
}

/* What an operation of 32 or 64 bits makes; of 16, where the upper ones are the operands' too. */
static struct bits of_lane(const struct known *k, const struct insn *in)
{
	const struct bits none = { 0, 0 };
	struct bits a = bits_in(k, in->o[1]), b = bits_in(k, in->o[2]);
	u32 wide = 8 * type_bytes(in->type);
	bool whole = wide >= 32 && is_int(in->type), sure = is_number(k, in->o[2], &(u64){ 0 });
	u64 all = in->dw ? ALL : LOW, n = 0, len;

	is_number(k, in->o[2], &n);
	switch (in->lop) {
	case LOP_MOV:
		return is_int(in->type) ? (struct bits){ a.zero, whole ? a.one : 0 } : none;
	case LOP_AND:
		return (struct bits){ a.zero | b.zero, whole ? a.one & b.one : 0 };
	case LOP_OR:
		return (struct bits){ a.zero & b.zero, whole ? a.one | b.one : 0 };
	case LOP_XOR:
		return (struct bits){ (a.zero & b.zero) | (whole ? a.one & b.one : 0), whole ? (a.zero & b.one) | (a.one & b.zero) : 0 };
	case LOP_NOT:
		return whole ? (struct bits){ a.one | ~all, a.zero & all } : none;
	case LOP_SELP:
		return (struct bits){ a.zero & b.zero, whole ? a.one & b.one : 0 };
	case LOP_PRMT:
		return is_number(k, in->o[3], &n) ? permuted(a, b, n) : none;
	case LOP_ADD: case LOP_MUL:
		a.zero = ~a.zero & all, b.zero = ~b.zero & all;
		if (!whole || (in->lop == LOP_ADD ? __builtin_add_overflow(a.zero, b.zero, &n) : __builtin_mul_overflow(a.zero, b.zero, &n)) || n > all)
			return none;
		return (struct bits){ above(n), 0 };
	case LOP_MAD:
		a.zero = ~a.zero & all, b.zero = ~b.zero & all;
		if (!whole || __builtin_mul_overflow(a.zero, b.zero, &n) || __builtin_add_overflow(n, may(k, in->o[3]) & all, &n) || n > all)
			return none;
		return (struct bits){ above(n), 0 };
	case LOP_SHR:
		if (!sure || n >= wide || !is_int(in->type))
			return none;
		if (wide == 16)
			return (struct bits){ type_is_signed(in->type) ? 0 : ~(0xffffull >> n), 0 };
		if (type_is_signed(in->type) && !(a.zero >> (wide - 1) & 1))
			return none;
		return (struct bits){ ~((~a.zero & low_bits(in->type)) >> n), (a.one & low_bits(in->type)) >> n };
	case LOP_SHL:
		if (!whole || !sure || n >= wide)
			return none;
		return (struct bits){ ~(~a.zero << n & all), a.one << n & all };
	case LOP_BFE:
		return in->type == T_U32 && is_number(k, in->o[3], &len) && len < 32 ? (struct bits){ ~((1ull << len) - 1), 0 } : none;
	case LOP_XTR:
		if (!sure || n > 63 || !is_number(k, in->o[3], &len))
			return none;
		return (struct bits){ ~((u32)len & ~a.zero >> n), (u32)len & a.one >> n };
	case LOP_CVT_SEXT:
		if (in->type == T_U16)
			return (struct bits){ a.zero | ~0xffffull, a.one & 0xffff };
		return (struct bits){ in->type == T_U64 || (in->type == T_S64 && a.zero >> 31 & 1) ? a.zero | ~LOW : 0, 0 };
	case LOP_CVT_TRUNC:
		return (struct bits){ a.zero | ~LOW, a.one & LOW };
	case LOP_POPC: case LOP_CLZ:
		return (struct bits){ ~127ull, 0 };
	default:
		return none;
	}
}

/* Of an integer that becomes another in 32 bits: the low bits that are left. 0: its sign counts, or it is nothing of the kind. */
static u64 converted(const struct insn *in)
{
	u64 from, to;

	if (in->kind != K_CVT || in->dw || in->aw || in->flags || in->sub || !is_int(in->type) || !is_int(in->stype))
		return 0;
	from = low_bits(in->stype), to = low_bits(in->type);
	if (type_is_signed(in->type))
		return from < to && !type_is_signed(in->stype) ? from : 0;
	return to < from || !type_is_signed(in->stype) ? from & to : 0;
}

static struct bits made(const struct known *k, const struct insn *in)
{
	u64 low;

	switch ((enum kind)in->kind) {
	case K_LANE:
		return of_lane(k, in);
	case K_CVT:
		low = converted(in);
		return (struct bits){ low ? ~low : 0, 0 };
	case K_LD:
		return (struct bits){ in->type == T_U8 || in->type == T_B8 ? ~0xffull : in->type == T_U16 || in->type == T_B16 ? ~0xffffull : 0, 0 };
	case K_SREG:
		return (struct bits){ in->sub <= SR_NTID_Z ? ~2047ull : in->sub == SR_LANEID ? ~31ull : 0, 0 };
	default:
		return (struct bits){ 0, 0 };
	}
}

/* ---- what follows from it ------------------------------------------------------------------------ */

static void to_copy(struct insn *in, enum type t)
{
	in->kind = K_LANE;
	in->lop = LOP_MOV;
	in->type = (u8)t;
	in->stype = in->sub = in->sub2 = in->flags = 0;
	in->mxcsr = 0;
	in->imm = 0;
	in->u.lane = lane_find(LOP_MOV, t);
	in->o[2] = in->o[3] = in->o[1];
	in->use = 2;
}

static void to_type(struct insn *in, u32 lop, enum type t)
{
	in->lop = (u8)lop;
	in->type = (u8)t;
	in->u.lane = lane_find(lop, t);
}

static void swap(u32 *a, u32 *b)
{
	u32 t = *a;

	*a = *b;
	*b = t;
}

/* One factor of bytes below 128: whichever its sign was, it is the unsigned one of a product with signed bytes. */
static void dot(const struct known *k, struct insn *in)
{
	const u64 top = 0x80808080;
	bool a = !(may(k, in->o[1]) & top), b = !(may(k, in->o[2]) & top);
	bool sa = in->lop == LOP_DP4ASS || in->lop == LOP_DP4ASU, sb = in->lop == LOP_DP4ASS || in->lop == LOP_DP4AUS;

	if (a && (sb || b)) {
		to_type(in, LOP_DP4AUS, T_U32);
	} else if (b && sa) {
		swap(&in->o[1], &in->o[2]);
		to_type(in, LOP_DP4AUS, T_U32);
	} else {
		return;
	}
	in->flags |= INF_SMALL;
}

/* What is known of places that are no number. */
static void places(const struct known *k, struct insn *in)
{
	struct bits b = bits_in(k, in->o[3]);

	if ((b.zero & 0x8888) != 0x8888)
		return;
	in->flags |= INF_PLAIN;
	if ((b.one & 0x3210) == 0x3210 && (b.zero & 0x0123) == 0x0123)
		in->flags |= INF_STAYS;
}

/* Is the upper half of what `in` takes the lower one of wanted, too, by the instruction behind it? Both are one conversion: jit_unpack.c. */
static bool both_halves(const struct known *k, const struct insn *in)
{
	const struct insn *high = in + 1;
	u64 s;

	return high->kind == K_LANE && high->lop == LOP_XTR && high->o[1] == in->o[1] && is_number(k, high->o[2], &s) && s == 16 && k->uses[high->o[0]];
}

/* The register whose low bits alone o has, made in this block, and which still holds what it held then; o: none is. */
static u32 low_of(const struct known *k, u32 o, u64 bits)
{
	const struct insn *in;
	u64 n, s;

	if (o == OPND_NONE || o & OPND_CONST || k->at[o] <= k->from)
		return o;
	in = &k->c->code[k->at[o] - 1];
	if ((in->kind != K_LANE && in->kind != K_CVT) || in->guard != OPND_NONE || in->dw || in->o[1] & OPND_CONST || k->c->regs[in->o[1]].w || k->at[in->o[1]] > k->at[o])
		return o;
	if (in->kind == K_LANE && in->lop == LOP_XTR && in->type == T_U32)
		return is_number(k, in->o[2], &s) && !s && is_number(k, in->o[3], &n) && (n & bits) == bits && !both_halves(k, in) ? in->o[1] : o;
	if (in->kind == K_LANE && in->lop == LOP_CVT_SEXT && in->type == T_U16)
		return in->o[1];
	return (converted(in) & bits) == bits ? in->o[1] : o;
}

/* Operands that are numbers become such. */
static void numbers(struct known *k, struct insn *in)
{
	u32 i, o;

	for (i = 1; i < 4; i++) {
		o = in->o[i];
		if (!(in->use >> i & 1) || o == OPND_NONE || o & OPND_CONST || k->c->regs[o].w > 1)
			continue;
		if ((bits_in(k, o).zero | bits_in(k, o).one) == ALL)
			in->o[i] = konst(k->c, bits_in(k, o).one, k->c->regs[o].w);
	}
	if ((in->lop == LOP_AND || in->lop == LOP_OR || in->lop == LOP_XOR || in->lop == LOP_ADD) && in->o[1] & OPND_CONST)
		swap(&in->o[1], &in->o[2]);
}

/* Is what `in` makes its first operand? Of 32 bits or 64. */
static bool is_first(const struct known *k, const struct insn *in)
{
	u64 all = in->dw ? ALL : LOW, a = may(k, in->o[1]) & all, n, len;

	switch (in->lop) {
	case LOP_AND:
		return is_number(k, in->o[2], &n) && type_bytes(in->type) >= 4 && !(a & ~n);
	case LOP_OR: case LOP_XOR: case LOP_ADD:
		return is_number(k, in->o[2], &n) && type_bytes(in->type) >= 4 && is_int(in->type) && !(n & all);
	case LOP_XTR:
		return in->type == T_U32 && is_number(k, in->o[2], &n) && !n && is_number(k, in->o[3], &len) && !(a & ~len);
	case LOP_CVT_SEXT:
		return (in->type == T_U16 && a <= 0xffff) || (in->type == T_S16 && a <= 0x7fff);
	default:
		return false;
	}
}

/* The register that o is a copy of: made in this block, both as they were, or made once of what is made once and before any loop. o: of none. */
static u32 copied(const struct known *k, u32 o)
{
	const struct insn *in;
	u32 of;

	if (o & OPND_CONST || !k->at[o])
		return o;
	in = &k->c->code[k->at[o] - 1];
	if (in->kind != K_LANE || in->lop != LOP_MOV || in->guard != OPND_NONE || !is_int(in->type) || in->o[1] & OPND_CONST ||
	    k->c->regs[o].w != k->c->regs[in->o[1]].w)
		return o;
	of = in->o[1];
	if (k->at[o] > k->from ? k->at[of] <= k->at[o] : k->defs[o] == 1 && k->defs[of] == 1 && k->at[of] && k->at[of] <= k->once)
		return of;
	return o;
}

/* What is left of x without some of its bits is the other ones. */
static void rest(struct known *k, struct insn *in)
{
	u32 x = in->o[1], y = in->o[2];
	const struct insn *and;
	u64 n;

	if (type_bytes(in->type) < 4 || !is_int(in->type) || x & OPND_CONST || y & OPND_CONST || k->at[y] <= k->from)
		return;
	and = &k->c->code[k->at[y] - 1];
	if (and->kind != K_LANE || and->lop != LOP_AND || and->guard != OPND_NONE || and->dw != in->dw || and->o[1] & OPND_CONST ||
	    !is_number(k, and->o[2], &n) || k->at[and->o[1]] > k->at[y] || copied(k, and->o[1]) != copied(k, x))
		return;
	in->o[2] = in->o[3] = konst(k->c, in->dw ? ~n : ~n & LOW, in->dw);
	to_type(in, LOP_AND, in->dw ? T_B64 : T_B32);
}

static void lane(struct known *k, struct insn *in)
{
	struct bits r;
	u64 n;
	u32 low;

	if (is_int(in->type))
		numbers(k, in);
	if (is_first(k, in)) {
		to_copy(in, in->dw ? T_U64 : T_U32);
		return;
	}
	if (in->lop == LOP_SUB)
		rest(k, in);
	switch (in->lop) {
	case LOP_AND: case LOP_OR: case LOP_XOR: case LOP_NOT: case LOP_PRMT: case LOP_SHL: case LOP_SHR:
		r = of_lane(k, in);
		if ((r.zero | r.one | (in->dw ? 0 : ~LOW)) == ALL && type_bytes(in->type) >= 4 && in->o[0] != OPND_NONE) {
			in->o[1] = konst(k->c, r.one, in->dw);
			to_copy(in, in->dw ? T_U64 : T_U32);
		} else if (in->lop == LOP_SHR && in->type == T_U16 && (may(k, in->o[1]) & LOW) <= 0xffff && is_number(k, in->o[2], &n) && n < 16) {
			to_type(in, LOP_SHR, T_U32);
		} else if (in->lop == LOP_PRMT) {
			places(k, in);
		}
		return;
	case LOP_CVT_F_H:
		low = low_of(k, in->o[1], 0xffff);
		if (low != in->o[1]) {
			k->uses[in->o[1]]--;
			k->uses[low]++;
			in->o[1] = in->o[2] = in->o[3] = low;
		}
		return;
	case LOP_DP4AUU: case LOP_DP4AUS: case LOP_DP4ASU: case LOP_DP4ASS:
		dot(k, in);
		return;
	default:
		return;
	}
}

/* A byte or a half word that is loaded for its sign to be extended alone, which the load does as well. */
static bool loaded_signed(const struct known *k, const struct insn *in)
{
	u32 o = in->o[1], n = in->kind == K_LANE && in->lop == LOP_CVT_SEXT && in->type == T_S16 ? 2 :
		in->kind == K_CVT && !in->dw && !in->aw && !in->flags && !in->sub && in->type == T_S32 && in->stype == T_S8 ? 1 : 0;
	struct insn *ld;

	if (!n || in->guard != OPND_NONE || o == OPND_NONE || o & OPND_CONST || k->uses[o] != 1 || k->defs[o] != 1 || !k->at[o])
		return false;
	ld = &k->c->code[k->at[o] - 1];
	if (ld->kind != K_LD || ld->vec != 1 || ld->size != n || ld->dw || ld->guard != OPND_NONE)
		return false;
	ld->type = n == 1 ? T_S8 : T_S16;
	ld->flags |= INF_SIGNED;
	k->has[o] = (struct bits){ ~LOW, 0 };
	return true;
}

static void seen(struct known *k, struct insn *in)
{
	u64 bits = converted(in);

	if (loaded_signed(k, in))
		to_copy(in, T_U32);
	else if (bits && !(may(k, in->o[1]) & ~bits & LOW))
		to_copy(in, T_U32);
	else if (in->kind == K_LANE && in->def == 1)
		lane(k, in);
	/* clang says of what one way has brought that it has 32 bits, though all ways do */
	if (in->kind == K_LANE && in->lop == LOP_MOV && in->def == 1 && in->o[0] == in->o[1] && in->guard == OPND_NONE && (in->type == T_U32 || in->type == T_U64))
		cfg_nop(in);
}

static void written(void *arg, u32 *o, bool is_def)
{
	struct known *k = arg;
	const struct insn *in = &k->c->code[k->pc];

	if (!is_def)
		return;
	k->at[*o] = k->pc + 1;
	k->has[*o] = made(k, in);
	k->has[*o].zero |= k->c->regs[*o].w ? 0 : ~LOW;
	k->since[*o] = in->guard != OPND_NONE ? 0 : k->defs[*o] == 1 ? EVER : k->now;
}

static bool is_narrow(const struct known *k, u32 o)
{
	u64 n;

	return o != OPND_NONE && (o & OPND_CONST ? is_number(k, o, &n) && n <= LOW : k->narrow[o]);
}

/* A number of 32 bits whose sign is 0, as those of threads and blocks are. at: by register, its last definition */
static bool no_sign(const struct known *k, u32 o, u32 deep)
{
	const struct insn *in;
	u64 n;

	if (o == OPND_NONE || (o & OPND_CONST))
		return o != OPND_NONE && is_number(k, o, &n) && !(n >> 31 & 1);
	if (k->defs[o] != 1 || !k->at[o] || deep > 4)
		return false;
	in = &k->c->code[k->at[o] - 1];
	if (in->kind == K_SREG)
		return in->sub <= SR_CTAID_Z;
	if (in->kind != K_LANE || in->def != 1)
		return false;
	return (in->lop == LOP_MOV && is_int(in->type) && no_sign(k, in->o[1], deep + 1)) ||
	       (in->lop == LOP_AND && (no_sign(k, in->o[1], deep + 1) || no_sign(k, in->o[2], deep + 1)));
}

/* Does a definition of 64 bits leave the upper half 0? */
static bool narrows(const struct known *k, const struct insn *in)
{
	if (in->kind != K_LANE || in->def != 1 || in->dw != 1)
		return false;
	switch (in->lop) {
	case LOP_CVT_SEXT: return in->type == T_U64 || (in->type == T_S64 && no_sign(k, in->o[1], 0));
	case LOP_MOV: return is_int(in->type) && is_narrow(k, in->o[1]);
	case LOP_AND: return is_narrow(k, in->o[1]) || is_narrow(k, in->o[2]);
	default: return false;
	}
}

/* Registers that several definitions write, in several blocks, are narrow if all of those leave them so. */
static void narrow(struct known *k)
{
	bool more = true;
	u32 i, q;

	for (i = 0; i < k->c->nregs; i++)
		k->narrow[i] = k->c->regs[i].w == 1 && k->defs[i];
	for (i = 0; i < k->c->ncode; i++)
		for (q = 0; q < 6; q++)
			if ((k->c->code[i].def >> q & 1) && k->c->code[i].o[q] != OPND_NONE && !(k->c->code[i].o[q] & OPND_CONST))
				k->at[k->c->code[i].o[q]] = i + 1;
	while (more) {
		more = false;
		for (i = 0; i < k->c->ncode; i++) {
			const struct insn *in = &k->c->code[i];

			for (q = 0; q < 6; q++)
				if ((in->def >> q & 1) && in->o[q] != OPND_NONE && !(in->o[q] & OPND_CONST) && k->narrow[in->o[q]] && !narrows(k, in)) {
					k->narrow[in->o[q]] = 0;
					more = true;
				}
			for (q = 0; in->kind == K_CALL && q < in->u.call->nrets; q++)
				if (in->u.call->rets[q].is_reg)
					k->narrow[in->u.call->rets[q].opnd] = 0;
		}
	}
	memset(k->at, 0, (k->c->nregs + 1) * sizeof(u32));
}

void known_bits(struct cfg *g)
{
	struct known k = { .c = g->c };
	size_t bytes = (k.c->nregs + 1) * sizeof(u32);
	u32 b;

	k.has = cneed(k.c, pool_alloc(&k.c->pool, (k.c->nregs + 1) * sizeof(*k.has)));
	k.since = cneed(k.c, pool_alloc(&k.c->pool, bytes));
	k.uses = cneed(k.c, pool_alloc(&k.c->pool, bytes));
	k.defs = cneed(k.c, pool_alloc(&k.c->pool, bytes));
	k.at = cneed(k.c, pool_alloc(&k.c->pool, bytes));
	k.narrow = cneed(k.c, pool_alloc(&k.c->pool, k.c->nregs + 1));
	for (k.pc = 0; k.pc < k.c->ncode; k.pc++)
		each_opnd(&k.c->code[k.pc], counted, &k);
	narrow(&k);
	k.once = g->nb && !g->b[0].npred ? g->b[0].end : 0;
	for (b = 0; b < g->nb; b++) {
		k.now = b + 1;
		k.from = g->b[b].start;
		for (k.pc = k.from; k.pc < g->b[b].end; k.pc++) {
			seen(&k, &k.c->code[k.pc]);
			each_opnd(&k.c->code[k.pc], written, &k);
		}
	}
}
