/* SPDX-License-Identifier: MIT */
/* Lane operations of a strip on vectors: 32-bit and packed integers, moves. lanes.def says what each computes. */
#include "strip.h"
#include "vex.h"

static bool is32(u8 t) { return t == T_U32 || t == T_S32 || t == T_B32; }
static bool is64(u8 t) { return t == T_U64 || t == T_S64 || t == T_B64; }
static bool is16(u8 t) { return t == T_U16 || t == T_S16 || t == T_B16; }

static void shift_imm(struct scomp *c, u32 how, bool w, int d, int x, u32 n)
{
	if (n)
		vyi(&c->a, w ? X_SHIQ : X_SHID, (int)how, d, rm_reg(x), n);
	else if (d != x)
		vr(&c->a, X_MOVU, d, 0, x);
}

/* The value of type t in a 32-bit register, extended. */
void s_extend(struct scomp *c, int d, int x, enum type t)
{
	u32 bytes = type_bytes(t);

	if (bytes >= 4) {
		if (d != x)
			vr(&c->a, X_MOVU, d, 0, x);
	} else if (!type_is_signed(t)) {
		vy(&c->a, X_PAND, d, x, s_splat32(c, (1u << 8 * bytes) - 1));
	} else {
		shift_imm(c, SH_LEFT, false, d, x, 32 - 8 * bytes);
		shift_imm(c, SH_SAR, false, d, d, 32 - 8 * bytes);
	}
}

static u32 simple(const struct insn *in)
{
	bool sg = type_is_signed(in->type);

	switch (in->lop) {
	case LOP_ADD: return X_PADDD;
	case LOP_SUB: return X_PSUBD;
	case LOP_AND: return X_PAND;
	case LOP_OR: return X_POR;
	case LOP_XOR: return X_PXOR;
	case LOP_MUL: return X_PMULLD;
	case LOP_MIN: return is16(in->type) ? 0 : sg ? X_PMINSD : X_PMINUD;
	case LOP_MAX: return is16(in->type) ? 0 : sg ? X_PMAXSD : X_PMAXUD;
	}
	return 0;
}

static bool shifts(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	struct sval k = s_val(c, in->o[2], 0);
	bool sg = type_is_signed(in->type) && in->lop == LOP_SHR, half = is16(in->type);
	u32 bits = half ? 16 : 32, how = in->lop == LOP_SHL ? SH_LEFT : sg ? SH_SAR : SH_RIGHT, n;
	int x = sv_obs(c, in->o[1], 0, 0, 0), d = sdst(c, in->o[0], 0, 0);

	if (half && in->lop == LOP_SHR) {
		s_extend(c, 0, x, sg ? T_S16 : T_U16);
		x = 0;
	}
	if (k.known) {
		n = (u32)k.k;
		if (n >= bits && sg)
			n = bits - 1;
		if (n >= bits)
			vr(a, X_PXOR, d, d, d);
		else
			shift_imm(c, how, false, d, x, n);
	} else {
		/* counts of 32 and more give what is wanted: zeros, or the sign */
		struct rm m = sv_rm_obs(c, in->o[2], 0, 0, 1);

		if (half && in->lop == LOP_SHL)
			return false;
		vy(a, in->lop == LOP_SHL ? X_PSLLVD : sg ? X_PSRAVD : X_PSRLVD, d, x, m);
	}
	sput(c, in->o[0], 0, d);
	return true;
}

static bool mul_high(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 op = type_is_signed(in->type) ? X_PMULDQ : X_PMULUDQ;
	int x = sv_obs(c, in->o[1], 0, 0, 0), y = sv_obs(c, in->o[2], 0, 0, 1);

	vr(a, op, 2, x, y);
	shift_imm(c, SH_RIGHT, true, 0, x, 32);
	shift_imm(c, SH_RIGHT, true, 1, y, 32);
	vr(a, op, 3, 0, 1);
	shift_imm(c, SH_RIGHT, true, 2, 2, 32);
	vyi(a, X_PBLENDD, 2, 2, rm_reg(3), 0xaa);
	if (in->lop == LOP_MADHI)
		vy(a, X_PADDD, 2, 2, sv_rm_obs(c, in->o[3], 0, 0, 0));
	sput(c, in->o[0], 0, 2);
	return true;
}

/*
 * As jit_int.c has it: by one number for all lanes, d, where x lies less than d above its first lane everywhere. ymm1 is the result. False: nothing is known of d;
 * else slow[] leads to where it is not so.
 */
static u32 divide_near(struct scomp *c, const struct insn *in, u32 *slow)
{
	bool sg = type_is_signed(in->type);
	struct sval d = s_val(c, in->o[2], 0);
	struct as *a = &c->a;
	u32 n = 0;
	int x;

	if (d.cls != SC_SCALAR || d.pat)
		return 0;
	x = sv_obs(c, in->o[1], 0, 0, 0);
	s_to_gpr(c, in->o[2], 0, RCX);
	vx_x(a, X_MOVD_ST, x, 0, rm_reg(RAX));
	g_alui(a, 0, G_CMP, rm_reg(RCX), 0);
	slow[n++] = g_jcc(a, CC_LE);
	vy(a, X_PBCASTD, 1, 0, rm_reg(x));
	vr(a, X_PSUBD, 1, x, 1);
	vx_x(a, X_MOVD, 2, 0, rm_reg(RCX));
	vy(a, X_PBCASTD, 2, 0, rm_reg(2));
	vr(a, X_PMAXUD, 3, 1, 2);
	vr(a, X_PCMPEQD, 3, 3, 1);
	if (sg)
		vr(a, X_POR, 3, 3, x);
	vr(a, X_MOVMSKPS, RDX, 0, 3);
	g_alu(a, 0, G_OR, RDX, rm_reg(RDX));
	slow[n++] = g_jcc(a, CC_NE);
	if (!sg) {                      /* lanes that wrap */
		g_load(a, 0, RDX, rm_reg(RAX));
		g_alu(a, 0, G_ADD, RDX, rm_reg(RCX));
		slow[n++] = g_jcc(a, CC_B);
	}
	g_movi(a, RDX, 0);
	g_op(a, 0, 0xf7, 6, rm_reg(RCX), 0);
	vx_x(a, X_MOVD, 3, 0, rm_reg(RDX));
	vy(a, X_PBCASTD, 3, 0, rm_reg(3));
	vr(a, X_PADDD, 1, 1, 3);
	vr(a, X_PMAXUD, 3, 1, 2);
	vr(a, X_PCMPEQD, 3, 3, 1);              /* those that have come to d, as ones */
	if (in->lop == LOP_REM) {
		vr(a, X_PAND, 3, 3, 2);
	} else {
		vx_x(a, X_MOVD, 1, 0, rm_reg(RAX));
		vy(a, X_PBCASTD, 1, 0, rm_reg(1));
	}
	vr(a, X_PSUBD, 1, 1, 3);
	return n;
}

/*
 * Quotients of doubles, truncated, are exact (jit_int.c). Unsigned ones go through the signed conversion, moved by 2^31.
 * By 0 both are all ones.
 */
static bool divide(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	bool sg = type_is_signed(in->type);
	u32 half, slow[3], n = divide_near(c, in, slow), done = n ? g_jmp(a) : 0;
	int x, y;

	while (n)
		g_here(a, slow[--n]);
	x = sv_obs(c, in->o[1], 0, 0, 0);
	y = sv_obs(c, in->o[2], 0, 0, 1);
	vy(a, X_MOVU_ST, x, 0, SPM(lanes));
	vy(a, X_MOVU_ST, y, 0, rm_mem(R15, (s32)offsetof(struct sprivate, lanes) + 32));
	for (half = 0; half < 2; half++) {
		u32 k;

		for (k = 0; k < 2; k++) {
			struct rm m = rm_mem(R15, (s32)offsetof(struct sprivate, lanes) + 32 * (s32)k + 16 * (s32)half);
			int d = k ? 3 : 2;

			if (sg) {
				vy(a, X_CVTDQ2PD, d, 0, m);
				continue;
			}
			vx_x(a, X_MOVU, d, 0, m);
			vx(a, X_PXOR, 0, d, d, s_splat32(c, 1u << 31), 0);
			vr(a, X_CVTDQ2PD, d, 0, d);
			vy(a, X_ADDPD, d, d, s_splat64(c, 0x41e0000000000000ull));
		}
		vr(a, X_DIVPD, 2, 2, 3);
		if (!sg) {
			vyi(a, X_ROUNDPD, 2, 0, rm_reg(2), 11);
			vy(a, X_SUBPD, 2, 2, s_splat64(c, 0x41e0000000000000ull));
		}
		vr(a, X_CVTTPD2DQ, half ? 2 : 1, 0, 2);
	}
	vyi(a, X_INSERT, 1, 1, rm_reg(2), 1);
	if (!sg)
		vy(a, X_PXOR, 1, 1, s_splat32(c, 1u << 31));
	vy(a, X_MOVU, 3, 0, rm_mem(R15, (s32)offsetof(struct sprivate, lanes) + 32));
	vr(a, X_PXOR, 2, 2, 2);
	vr(a, X_PCMPEQD, 2, 2, 3);
	vr(a, X_POR, 1, 1, 2);
	if (in->lop == LOP_REM) {
		vr(a, X_PMULLD, 1, 1, 3);
		vy(a, X_MOVU, 0, 0, SPM(lanes));
		vr(a, X_PSUBD, 1, 0, 1);
		vr(a, X_POR, 1, 1, 2);
	}
	if (done)
		g_here(a, done);
	sput(c, in->o[0], 0, 1);
	return true;
}

/* Of 16 bits floats do: what lies below a whole number lies further from it than any rounding goes. */
static bool divide16(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	bool sg = type_is_signed(in->type);
	int x = sv_obs(c, in->o[1], 0, 0, 0), y = sv_obs(c, in->o[2], 0, 0, 1);

	vyi(a, X_SHID, SH_LEFT, 0, rm_reg(x), 16);
	vyi(a, X_SHID, SH_LEFT, 1, rm_reg(y), 16);
	vyi(a, X_SHID, sg ? SH_SAR : SH_RIGHT, 0, rm_reg(0), 16);
	vyi(a, X_SHID, sg ? SH_SAR : SH_RIGHT, 1, rm_reg(1), 16);
	vr(a, X_CVTDQ2PS, 2, 0, 0);
	vr(a, X_CVTDQ2PS, 3, 0, 1);
	vr(a, X_DIVPS, 2, 2, 3);
	vr(a, X_CVTTPS2DQ, 2, 0, 2);
	vr(a, X_PXOR, 3, 3, 3);
	vr(a, X_PCMPEQD, 3, 3, 1);
	vr(a, X_POR, 2, 2, 3);
	if (in->lop == LOP_REM) {
		vr(a, X_PMULLD, 2, 2, 1);
		vr(a, X_PSUBD, 2, 0, 2);
		vr(a, X_POR, 2, 2, 3);
	}
	sput(c, in->o[0], 0, 2);
	return true;
}

/* (b:a) shifted by as many bits as each lane says: counts of 32 leave nothing of a word. */
static bool funnel_by(struct scomp *c, const struct insn *in, bool left, bool wrap)
{
	struct as *a = &c->a;
	int x = sv_obs(c, in->o[1], 0, 0, 0), y = sv_obs(c, in->o[2], 0, 0, 1), n = sv_obs(c, in->o[3], 0, 0, 2);

	vy(a, wrap ? X_PAND : X_PMINUD, 2, n, s_splat32(c, wrap ? 31 : 32));
	vy(a, X_MOVU, 3, 0, s_splat32(c, 32));
	vr(a, X_PSUBD, 3, 3, 2);
	vr(a, X_PSLLVD, 1, y, left ? 2 : 3);
	vr(a, X_PSRLVD, 0, x, left ? 3 : 2);
	vr(a, X_POR, 0, 0, 1);
	sput(c, in->o[0], 0, 0);
	return true;
}

/* (b:a) shifted by c, one half of it */
static bool funnel(struct scomp *c, const struct insn *in)
{
	bool left = in->lop == LOP_SHFLW || in->lop == LOP_SHFLC, wrap = in->lop == LOP_SHFLW || in->lop == LOP_SHFRW;
	struct sval k = s_val(c, in->o[3], 0);
	u32 n = wrap ? (u32)k.k & 31 : (u32)k.k;
	int x, y;

	if (!k.known)
		return funnel_by(c, in, left, wrap);
	x = sv_obs(c, in->o[1], 0, 0, 0);
	y = sv_obs(c, in->o[2], 0, 0, 1);
	if (n == 0 || n > 31) {
		sput(c, in->o[0], 0, (n == 0) == left ? y : x);
		return true;
	}
	shift_imm(c, SH_LEFT, false, 2, y, left ? n : 32 - n);
	shift_imm(c, SH_RIGHT, false, 3, x, left ? 32 - n : n);
	vr(&c->a, X_POR, 2, 2, 3);
	sput(c, in->o[0], 0, 2);
	return true;
}

static bool bfe(struct scomp *c, const struct insn *in)
{
	struct sval pos = s_val(c, in->o[2], 0), len = s_val(c, in->o[3], 0);
	u32 ps = (u32)pos.k & 255, n = (u32)len.k & 255;
	int x;

	if (!pos.known || !len.known || !is32(in->type) || n == 0 || ps > 31)
		return false;
	if (n > 32 - ps)
		n = 32 - ps;
	x = sv_obs(c, in->o[1], 0, 0, 0);
	shift_imm(c, SH_LEFT, false, 0, x, 32 - ps - n);
	shift_imm(c, type_is_signed(in->type) ? SH_SAR : SH_RIGHT, false, 0, 0, 32 - n);
	sput(c, in->o[0], 0, 0);
	return true;
}

/* A literal of these four bytes in each word, and where in its sixteen bytes a word begins */
static struct rm words(struct scomp *c, u32 b, bool at)
{
	u8 v[32];
	u32 i;

	for (i = 0; i < 32; i++)
		v[i] = (u8)((b >> (i & 3) * 8) + (at ? i & 12 : 0));
	return rm_lit(s_lit(c, v, 32), 0);
}

/* ymm3: four times four bits, a byte each. Overwrites ymm2, where they may be. */
static void bytes_of(struct scomp *c, int z)
{
	struct as *a = &c->a;

	vy(a, X_PSHUFB, 3, z, words(c, 0x01010000, true));
	shift_imm(c, SH_RIGHT, false, 2, 3, 4);
	vy(a, X_PAND, 3, 3, s_splat32(c, 0x000f000f));
	vy(a, X_PAND, 2, 2, s_splat32(c, 0x0f000f00));
	vr(a, X_POR, 3, 3, 2);
}

/* Eight known bytes and their signs are a table of sixteen. */
static void prmt_of_table(struct scomp *c, const struct insn *in, u64 bytes)
{
	struct as *a = &c->a;
	u8 t[32];
	u32 i;

	for (i = 0; i < 32; i++)
		t[i] = i & 8 ? (bytes >> (i & 7) * 8 & 128 ? 0xff : 0) : (u8)(bytes >> (i & 7) * 8);
	bytes_of(c, sv_obs(c, in->o[3], 0, 0, 2));
	vy(a, X_MOVU, 0, 0, rm_lit(s_lit(c, t, 32), 0));
	vr(a, X_PSHUFB, 0, 0, 3);
	sput(c, in->o[0], 0, 0);
}

/* Each byte is that of x or y at its place: a place's third bit says which. */
static void prmt_one_or_other(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	int x = sv_obs(c, in->o[1], 0, 0, 0), y = sv_obs(c, in->o[2], 0, 0, 1), z = sv_obs(c, in->o[3], 0, 0, 2);

	vy(a, X_PSHUFB, 3, z, words(c, 0x01010000, true));
	vy(a, X_MOVU, 2, 0, s_splat32(c, 0x40044004));
	vr(a, X_PAND, 3, 3, 2);
	vr(a, X_PCMPEQB, 2, 2, 3);
	vyi(a, X_PBLENDVB, 0, x, rm_reg(y), 2u << 4);
	sput(c, in->o[0], 0, 0);
}

/* Places that are four bits of a register each: as jit_prmt.c does it. */
static void prmt_by_vector(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	int x = sv_obs(c, in->o[1], 0, 0, 0), y = sv_obs(c, in->o[2], 0, 0, 1), z = sv_obs(c, in->o[3], 0, 0, 2);

	bytes_of(c, z);
	vy(a, X_PAND, 2, 3, s_splat32(c, 0x03030303));
	vy(a, X_POR, 2, 2, words(c, 0, true));
	vr(a, X_PSHUFB, 0, x, 2);
	vr(a, X_PSHUFB, 1, y, 2);
	shift_imm(c, SH_LEFT, false, 2, 3, 5);          /* its third bit is the byte's last */
	vyi(a, X_PBLENDVB, 0, 0, rm_reg(1), 2u << 4);
	if (!(in->flags & INF_PLAIN)) {
		vr(a, X_PXOR, 1, 1, 1);
		vr(a, X_PCMPGTB, 1, 1, 0);
		shift_imm(c, SH_LEFT, false, 2, 3, 4);
		vyi(a, X_PBLENDVB, 0, 0, rm_reg(1), 2u << 4);
	}
	sput(c, in->o[0], 0, 0);
}

static bool prmt(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	struct sval s = s_val(c, in->o[3], 0), first = s_val(c, in->o[1], 0), second = s_val(c, in->o[2], 0);
	u32 i, ua = 0, ub = 0;
	u8 m[2][32];
	int x, y;

	if (!s.known && first.known && second.known) {
		prmt_of_table(c, in, second.k << 32 | (u32)first.k);
		return true;
	}
	if (!s.known && in->flags & INF_STAYS) {
		prmt_one_or_other(c, in);
		return true;
	}
	if (!s.known || (s.k & 0x8888)) {
		prmt_by_vector(c, in);
		return true;
	}
	for (i = 0; i < 32; i++) {
		u32 q = (u32)(s.k >> (i & 3) * 4) & 7, l = q >> 2;

		m[l][i] = (u8)((i & 12) + (q & 3));
		m[!l][i] = 0x80;
		*(l ? &ub : &ua) = 1;
	}
	x = sv_obs(c, in->o[1], 0, 0, 0);
	y = sv_obs(c, in->o[2], 0, 0, 1);
	if (ua)
		vy(a, X_PSHUFB, 0, x, rm_lit(s_lit(c, m[0], 32), 0));
	if (ub)
		vy(a, X_PSHUFB, 1, y, rm_lit(s_lit(c, m[1], 32), 0));
	if (ua && ub)
		vr(a, X_POR, 0, 0, 1);
	sput(c, in->o[0], 0, ua ? 0 : 1);
	return true;
}

/* ymm0: the ones of each byte of ymm x, those of half bytes by a table. */
void s_byte_ones(struct scomp *c, int x)
{
	static const u8 ones[32] = { 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4 };
	struct as *a = &c->a;

	shift_imm(c, SH_RIGHT, false, 1, x, 4);
	vy(a, X_PAND, 0, x, s_splat32(c, 0x0f0f0f0f));
	vy(a, X_PAND, 1, 1, s_splat32(c, 0x0f0f0f0f));
	vy(a, X_MOVU, 2, 0, rm_lit(s_lit(c, ones, 32), 0));
	vr(a, X_PSHUFB, 0, 2, 0);
	vr(a, X_PSHUFB, 1, 2, 1);
	vr(a, X_PADDB, 0, 0, 1);
}

static bool popc(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;

	s_byte_ones(c, sv_obs(c, in->o[1], 0, 0, 0));
	vy(a, X_PMADDUBSW, 0, 0, s_splat32(c, 0x01010101));
	vy(a, X_PMADDWD, 0, 0, s_splat32(c, 0x00010001));
	sput(c, in->o[0], 0, 0);
	return true;
}

/* The least, greatest or absolute value of 16 bits, whose upper halves do not count. */
static bool least16(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	enum type t = type_is_signed(in->type) ? T_S16 : T_U16;
	bool sg = t == T_S16;

	s_extend(c, 0, sv_obs(c, in->o[1], 0, 0, 0), t);
	if (in->lop == LOP_ABS) {
		vr(a, X_PABSD, 0, 0, 0);
	} else {
		s_extend(c, 1, sv_obs(c, in->o[2], 0, 0, 1), t);
		vr(a, in->lop == LOP_MIN ? (sg ? X_PMINSD : X_PMINUD) : sg ? X_PMAXSD : X_PMAXUD, 0, 0, 1);
	}
	sput(c, in->o[0], 0, 0);
	return true;
}

static bool mul_wide16(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	int x = sv_obs(c, in->o[1], 0, 0, 0), y = sv_obs(c, in->o[2], 0, 0, 1);

	s_extend(c, 0, x, in->type == T_S16 ? T_S16 : T_U16);
	s_extend(c, 1, y, in->type == T_S16 ? T_S16 : T_U16);
	vr(a, X_PMULLD, 0, 0, 1);
	if (in->lop == LOP_MADWIDE)
		vy(a, X_PADDD, 0, 0, sv_rm_obs(c, in->o[3], 0, 0, 1));
	sput(c, in->o[0], 0, 0);
	return true;
}

/* Of 32 bits, and what makes 32 of 64. */
static bool moves(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	struct sval s = s_val(c, in->o[2], 0), k = s_val(c, in->o[3], 0);
	bool raw = c->r[in->o[0]].rawf;
	u32 n;
	int x, y, d;

	switch (in->lop) {
	case LOP_MOV:
		sput(c, in->o[0], 0, raw ? sv(c, in->o[1], 0, 0, 0) : sv_obs(c, in->o[1], 0, 0, 0));
		return true;
	case LOP_SELP:
		y = raw ? sv(c, in->o[2], 0, 0, 0) : sv_obs(c, in->o[2], 0, 0, 0);
		x = raw ? sv(c, in->o[1], 0, 0, 1) : sv_obs(c, in->o[1], 0, 0, 1);
		n = (u32)sv(c, in->o[3], 2, 0, 2);
		d = sdst(c, in->o[0], 0, 0);
		vyi(a, X_BLENDVPS, d, y, rm_reg(x), n << 4);
		sput(c, in->o[0], 0, d);
		return true;
	case LOP_CVT_SEXT:
		x = sv_obs(c, in->o[1], 0, 0, 0);
		s_extend(c, 0, x, in->type == T_S16 ? T_S16 : T_U16);
		sput(c, in->o[0], 0, 0);
		return true;
	case LOP_XTR:
		if (!s.known || !k.known)
			return false;
		if (jit_src_w(in, 1) == 0) {
			x = sv_obs(c, in->o[1], 0, 0, 0);
			shift_imm(c, SH_RIGHT, false, 0, x, (u32)s.k & 31);
			if ((u32)k.k != ~0u)
				vy(a, X_PAND, 0, 0, s_splat32(c, (u32)k.k));
			sput(c, in->o[0], 0, 0);
			return true;
		}
		/* fall through */
	case LOP_CVT_TRUNC:
		x = sv(c, in->o[1], 1, 0, 0);
		y = sv(c, in->o[1], 1, 1, 1);
		n = in->lop == LOP_XTR ? (u32)s.k & 63 : 0;
		if (n & 31) {
			shift_imm(c, SH_RIGHT, true, 0, x, n);
			shift_imm(c, SH_RIGHT, true, 1, y, n);
			x = 0;
			y = 1;
			n = 0;
		}
		vyi(a, X_SHUFPS, 0, x, rm_reg(y), n ? 0xdd : 0x88);
		vyi(a, X_PERMQ, 0, 0, rm_reg(0), 0xd8);
		if (in->lop == LOP_XTR && (u32)k.k != ~0u)
			vy(a, X_PAND, 0, 0, s_splat32(c, (u32)k.k));
		sput(c, in->o[0], 0, 0);
		return true;
	case LOP_PACK:
		x = sv_obs(c, in->o[1], 0, 0, 0);
		y = sv_obs(c, in->o[2], 0, 0, 1);
		vy(a, X_PAND, 0, x, s_splat32(c, 0xffff));
		shift_imm(c, SH_LEFT, false, 1, y, 16);
		vr(a, X_POR, 0, 0, 1);
		sput(c, in->o[0], 0, 0);
		return true;
	}
	return false;
}

bool s_lane(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 op;
	int x, d;

	if (in->dw == 2 || c->r[in->o[0]].v.cls != SC_VARY)
		return false;
	if (in->lop == LOP_BREV && in->dw)
		return s_bits_lane(c, in);
	if (in->dw == 1 || type_is_float(in->type))
		return s_wide(c, in);
	if (in->lop == LOP_XTR || in->lop == LOP_CVT_TRUNC || in->lop == LOP_PACK || in->lop == LOP_MOV || in->lop == LOP_SELP ||
	    in->lop == LOP_CVT_SEXT)
		return !(in->lop == LOP_SELP && is64(in->type)) && moves(c, in);
	if ((in->lop == LOP_MULWIDE || in->lop == LOP_MADWIDE) && is16(in->type))
		return mul_wide16(c, in);
	if (in->lop == LOP_POPC && is64(in->type))
		return s_count64(c, in);
	if (in->lop == LOP_CLZ || in->lop == LOP_BREV || in->lop == LOP_BFIND || in->lop == LOP_BFINDSH)
		return s_bits_lane(c, in);
	if (!is32(in->type) && !is16(in->type))
		return false;
	if (is16(in->type) && (in->lop == LOP_MIN || in->lop == LOP_MAX || in->lop == LOP_ABS))
		return least16(c, in);
	op = simple(in);
	if (op) {
		x = sv_obs(c, in->o[1], 0, 0, 0);
		{
			struct rm m = sv_rm_obs(c, in->o[2], 0, 0, 1);

			d = sdst(c, in->o[0], 0, 0);
			vy(a, op, d, x, m);
		}
		sput(c, in->o[0], 0, d);
		return true;
	}
	switch (in->lop) {
	case LOP_MAD:
		x = sv_obs(c, in->o[1], 0, 0, 0);
		vy(a, X_PMULLD, 0, x, sv_rm_obs(c, in->o[2], 0, 0, 1));
		{
			struct rm m = sv_rm_obs(c, in->o[3], 0, 0, 1);

			d = sdst(c, in->o[0], 0, 0);
			vy(a, X_PADDD, d, 0, m);
		}
		sput(c, in->o[0], 0, d);
		return true;
	case LOP_SHL:
	case LOP_SHR:
		return shifts(c, in);
	case LOP_NOT:
		x = sv_obs(c, in->o[1], 0, 0, 0);
		vr(a, X_PCMPEQD, 1, 1, 1);
		vr(a, X_PXOR, 0, x, 1);
		sput(c, in->o[0], 0, 0);
		return true;
	case LOP_NEG:
	case LOP_ABS:
		x = sv_obs(c, in->o[1], 0, 0, 0);
		if (in->lop == LOP_ABS) {
			vr(a, X_PABSD, 0, 0, x);
		} else {
			vr(a, X_PXOR, 1, 1, 1);
			vr(a, X_PSUBD, 0, 1, x);
		}
		sput(c, in->o[0], 0, 0);
		return true;
	case LOP_MULHI:
	case LOP_MADHI:
		return is32(in->type) && mul_high(c, in);
	case LOP_DIV:
	case LOP_REM:
		return is32(in->type) ? divide(c, in) : is16(in->type) && divide16(c, in);
	case LOP_SHFLW: case LOP_SHFLC: case LOP_SHFRW: case LOP_SHFRC:
		return funnel(c, in);
	case LOP_BFE:
		return bfe(c, in);
	case LOP_PRMT:
		return prmt(c, in);
	case LOP_POPC:
		return is32(in->type) && popc(c, in);
	case LOP_DP4AUU: case LOP_DP4AUS: case LOP_DP4ASU: case LOP_DP4ASS:
		return s_dot(c, in);
	}
	return false;
}

/* ---- lop3: by the third operand, two functions of the others ------------------------------------- */

/* d = f(x, y), bit 2 * x + y of f; false: a constant, all ones if f is not 0 */
static bool logic2(struct scomp *c, u32 f, int d, int x, int y, int ones)
{
	struct as *a = &c->a;

	switch (f) {
	case 0: case 15: return false;
	case 8: vr(a, X_PAND, d, x, y); return true;
	case 14: vr(a, X_POR, d, x, y); return true;
	case 6: vr(a, X_PXOR, d, x, y); return true;
	case 2: vr(a, X_PANDN, d, x, y); return true;        /* ~x & y: x 0, y 1 is bit 1 */
	case 4: vr(a, X_PANDN, d, y, x); return true;
	case 12: vr(a, X_MOVU, d, 0, x); return true;
	case 10: vr(a, X_MOVU, d, 0, y); return true;
	default:
		logic2(c, 15 & ~f, d, x, y, ones);
		vr(a, X_PXOR, d, d, ones);
		return true;
	}
}

bool s_lop3(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 lut = (u32)in->imm & 255, f[2] = { 0, 0 }, i;
	int x, y, z;

	if (in->dw || c->r[in->o[0]].v.cls != SC_VARY)
		return false;
	/* bit 4 * a + 2 * b + c; f[c] over a and b */
	for (i = 0; i < 8; i++)
		if (lut >> i & 1)
			f[i & 1] |= 1u << (i >> 1);
	f[0] = (f[0] & 1) | (f[0] & 2) | (f[0] & 4) | (f[0] & 8);
	x = sv_obs(c, in->o[1], 0, 0, 0);
	vy(a, X_MOVU_ST, x, 0, SPM(lanes));
	y = sv_obs(c, in->o[2], 0, 0, 1);
	/* ymm2: f[1], ymm3: f[0]; ones are made where they are wanted */
	z = sv_obs(c, in->o[3], 0, 0, 2);
	vy(a, X_MOVU_ST, z, 0, rm_mem(R15, (s32)offsetof(struct sprivate, lanes) + 32));
	vr(a, X_PCMPEQD, 3, 3, 3);
	if (!logic2(c, f[1], 2, x, y, 3))
		vr(a, f[1] ? X_PCMPEQD : X_PXOR, 2, 2, 2);
	vy(a, X_PAND, 2, 2, rm_mem(R15, (s32)offsetof(struct sprivate, lanes) + 32));
	if (!logic2(c, f[0], 0, x, y, 3))
		vr(a, f[0] ? X_PCMPEQD : X_PXOR, 0, 0, 0);
	vy(a, X_MOVU, 1, 0, rm_mem(R15, (s32)offsetof(struct sprivate, lanes) + 32));
	vr(a, X_PANDN, 0, 1, 0);
	vr(a, X_POR, 0, 0, 2);
	sput(c, in->o[0], 0, 0);
	return true;
}
