/* SPDX-License-Identifier: MIT */
/*
 * Bits of a word, counted, found and turned round: popc, clz, bfind, brev. Vectors by VPOPCNTDQ and CD where the processor has them;
 * else, as AVX-512's first processors do, popc looks at half bytes; scalars in general registers. Called by jit_lane.c and jit_scalar.c.
 */
#include "jit.h"
#include "lanes.h"

/* Under a seed with an odd number, what processors without it do. */
static bool counts(void)
{
	static int have = -1;

	if (have < 0)
		have = __builtin_cpu_supports("avx512vpopcntdq") != 0;
	return have && !(jit_stress & 1);
}

/* zmm 5 and 6: the lower and the upper half of each byte of x */
static void nibbles(struct jcomp *c, int x)
{
	ev_i(&c->a, V_PSHID, 2, 6, rm_reg(x), 0, 0, 4);
	ev(&c->a, V_PANDD, 5, x, rm_lit(j_lit32(c, 0x0f0f0f0f), 0));
	ev(&c->a, V_PANDD, 6, 6, rm_lit(j_lit32(c, 0x0f0f0f0f), 0));
}

/* zmm t = f of each of its bytes, which are below 16 */
static void look_up(struct jcomp *c, int t, u32 (*f)(u32))
{
	u8 v[64];
	u32 i;

	for (i = 0; i < 64; i++)
		v[i] = (u8)f(i & 15);
	ev(&c->a, V_MOVA32, 7, 0, rm_lit(j_lit(c, v, 64), 0));
	ev(&c->a, V_PSHUFB, t, 7, rm_reg(t));
}

static u32 ones(u32 x) { return (u32)__builtin_popcount(x); }
static u32 turned(u32 x) { return (x & 1) << 3 | (x & 2) << 1 | (x & 4) >> 1 | x >> 3; }
static u32 turned_up(u32 x) { return turned(x) << 4; }

static void popc(struct jcomp *c, u8 w, int d, int x)
{
	struct as *a = &c->a;

	if (counts()) {
		ev(a, w ? V_POPCNTQ : V_POPCNTD, d, 0, rm_reg(x));
		return;
	}
	nibbles(c, x);
	look_up(c, 5, ones);
	look_up(c, 6, ones);
	ev(a, V_PADDB, 5, 5, rm_reg(6));
	if (w) {
		ev(a, V_PXORD, 6, 6, rm_reg(6));
		ev(a, V_PSADBW, d, 5, rm_reg(6));
	} else {
		ev(a, V_PMADDUBSW, 5, 5, rm_lit(j_lit32(c, 0x01010101), 0));
		ev(a, V_PMADDWD, d, 5, rm_lit(j_lit32(c, 0x00010001), 0));
	}
}

static void brev(struct jcomp *c, u8 w, int d, int x)
{
	u8 v[64];
	u32 i;

	nibbles(c, x);
	look_up(c, 5, turned_up);
	look_up(c, 6, turned);
	ev(&c->a, V_PORD, 5, 5, rm_reg(6));
	for (i = 0; i < 64; i++)
		v[i] = (u8)((i & 15) ^ (w ? 7 : 3));
	ev(&c->a, V_PSHUFB, d, 5, rm_lit(j_lit(c, v, 64), 0));
}

/* d = in of zmm x, 16 lanes of 32 bits or 8 of 64, whose result is as wide */
static void vector(struct jcomp *c, const struct insn *in, u8 w, int d, int x)
{
	struct as *a = &c->a;
	u32 bits = w ? 64 : 32;

	if (in->lop == LOP_POPC) {
		popc(c, w, d, x);
		return;
	}
	if (in->lop == LOP_BREV) {
		brev(c, w, d, x);
		return;
	}
	if (type_is_signed(in->type)) {
		jl_shift(c, LOP_SHR, true, w, 5, x, bits - 1);
		ev(a, V_PXORD, 5, 5, rm_reg(x));
		x = 5;
	}
	if (in->lop == LOP_CLZ) {
		ev(a, w ? V_PLZCNTQ : V_PLZCNTD, d, 0, rm_reg(x));
		return;
	}
	ev(a, w ? V_PLZCNTQ : V_PLZCNTD, 5, 0, rm_reg(x));
	if (in->lop == LOP_BFIND) {     /* of no bit: 31 - 32 */
		ev(a, V_MOVA32, 6, 0, rm_lit(w ? j_lit64(c, 63) : j_lit32(c, 31), 0));
		ev(a, w ? V_PSUBQ : V_PSUBD, d, 6, rm_reg(5));
		return;
	}
	ev_i(a, w ? V_PCMPUQ : V_PCMPUD, 7, 5, rm_lit(w ? j_lit64(c, 64) : j_lit32(c, 32), 0), 0, 0, 0);
	if (d != 5)
		ev(a, V_MOVA32, d, 0, rm_reg(5));
	ev_k(a, w ? V_MOVA64 : V_MOVA32, d, 0, rm_lit(j_lit32(c, ~0u), 0), 7, 0);
}

bool jit_bits(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u8 w = type_bytes(in->type) == 8;
	u32 p, i, even[16];

	if (c->r[in->o[0]].cls != JC_VARY)
		return false;
	if (in->lop != LOP_POPC && in->lop != LOP_BREV && !__builtin_cpu_supports("avx512cd"))
		return false;
	for (i = 0; i < 16; i++)
		even[i] = 2 * i;
	for (p = 0; p < (w && in->lop == LOP_BREV ? 4u : 2u); p++) {
		int d;

		if (!w || in->lop == LOP_BREV) {
			int x = jv_obs(c, in->o[1], w, p, 0);

			d = jv_dst(c, in->o[0], p, 1);
			vector(c, in, w, d, x);
			jv_put(c, in->o[0], p, d);
			continue;
		}
		for (i = 0; i < 2; i++)
			vector(c, in, w, 2 + (int)i, jv_obs(c, in->o[1], w, 2 * p + i, 0));
		ev(a, V_MOVA32, 1, 0, rm_lit(j_lit(c, even, 64), 0));
		ev(a, V_PERMI2D, 1, 2, rm_reg(3));
		jv_put(c, in->o[0], p, 1);
	}
	return true;
}

/* op of the register r/m with a prefix of f3: popcnt, lzcnt */
static void counted(struct as *a, u8 w, u32 op, int reg)
{
	as_room(a, 16);
	b1(a, 0xf3);
	g_op(a, w, op, reg, rm_reg(reg), 0);
}

static void scalar_brev(struct as *a, u8 w)
{
	static const u64 masks[3] = { 0x0f0f0f0f0f0f0f0full, 0x3333333333333333ull, 0x5555555555555555ull };
	u32 i;

	as_room(a, 16);
	if (w)
		b1(a, 0x48);
	b1(a, 0x0f);            /* bswap */
	b1(a, 0xc8);
	for (i = 0; i < 3; i++) {
		g_movi(a, RDX, w ? masks[i] : (u32)masks[i]);
		g_load(a, w, RCX, rm_reg(RAX));
		g_shi(a, w, G_SHR, RCX, 4u >> i);
		g_alu(a, w, G_AND, RCX, rm_reg(RDX));
		g_alu(a, w, G_AND, RAX, rm_reg(RDX));
		g_shi(a, w, G_SHL, RAX, 4u >> i);
		g_alu(a, w, G_OR, RAX, rm_reg(RCX));
	}
}

/* rax = in of rax */
void jit_bits_scalar(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u8 w = type_bytes(in->type) == 8;
	u32 bits = w ? 64 : 32;

	if (in->lop == LOP_POPC) {
		counted(a, w, 0x1b8, RAX);
		return;
	}
	if (in->lop == LOP_BREV) {
		scalar_brev(a, w);
		return;
	}
	if (type_is_signed(in->type)) {
		g_load(a, w, RCX, rm_reg(RAX));
		g_shi(a, w, G_SAR, RCX, bits - 1);
		g_alu(a, w, G_XOR, RAX, rm_reg(RCX));
	}
	counted(a, w, 0x1bd, RAX);
	if (in->lop == LOP_BFIND) {
		g_neg(a, 0, RAX);
		g_alui(a, 0, G_ADD, rm_reg(RAX), (s32)bits - 1);
	} else if (in->lop == LOP_BFINDSH) {
		g_movi(a, RCX, ~0u);
		g_alui(a, 0, G_CMP, rm_reg(RAX), (s32)bits);
		g_cmov(a, 0, CC_E, RAX, rm_reg(RCX));
	}
}
