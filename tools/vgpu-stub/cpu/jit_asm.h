/* SPDX-License-Identifier: MIT */
/*
 * x86-64 and AVX-512 encodings for the JIT: one function per form of instruction, writing to a growing
 * buffer. Used by jit*.c only. Facts: Intel SDM volume 2 (EVEX: 2.7, compressed displacement: 2.7.5).
 *
 * An AVX-512 opcode is packed in a u32: pp | map << 2 | W << 5 | LL << 6 | opcode << 8. A form with
 * 256-bit vectors is the same opcode with LL changed, so an AVX2 (VEX) encoder could take the table over.
 */
#ifndef VGPU_JIT_ASM_H
#define VGPU_JIT_ASM_H

#include <stdlib.h>
#include <string.h>

#include "cpu.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };
/* condition codes */
enum { CC_O, CC_NO, CC_B, CC_AE, CC_E, CC_NE, CC_BE, CC_A, CC_S, CC_NS, CC_P, CC_NP, CC_L, CC_GE, CC_LE, CC_G };

struct fix { u32 at, lit, tail; };      /* a RIP-relative disp32 to a literal */

struct as {
	u8 *p;
	u32 n, cap;
	bool oom;
	struct fix *fix;
	u32 nfix, fix_cap;
	u8 *lit;                        /* literals of 64 bytes */
	u32 nlit, lit_cap;
	u8 k_held;                      /* mask registers whose values are still wanted */
	u32 label;                      /* the last place that a jump leads to */
	u32 vex_op, vex_at, vex_end;    /* strip/value.c: the vector instruction before vex_end */
};

/*
 * Mask registers have owners: who leaves a mask in one while other code is emitted holds it, and lets it go when it has been
 * read for the last time. Code that would write over one that is held is not used: a build with sanitizers stops here, others
 * give the kernel to the interpreter.
 */
static inline void k_hold(struct as *a, int k) { a->k_held |= (u8)(1u << k); }
static inline void k_let(struct as *a, int k) { a->k_held &= (u8)~(1u << k); }
static inline void k_writes(struct as *a, int k)
{
	if (!(a->k_held >> k & 1))
		return;
#ifdef __SANITIZE_ADDRESS__
	abort();
#endif
	a->oom = true;
}

/* Operand in r/m position: a register, memory, or a literal. */
struct rm {
	u8 kind;                        /* 0 register, 1 memory, 2 literal */
	u8 reg, base;
	u8 index, scale;                /* index 0xff: none; scale: log2 */
	s32 disp;                       /* literal: offset within it */
	u32 lit;
};

static inline struct rm rm_reg(int r) { return (struct rm){ .kind = 0, .reg = (u8)r, .index = 0xff }; }
static inline struct rm rm_mem(int base, s32 disp)
{
	return (struct rm){ .kind = 1, .base = (u8)base, .index = 0xff, .disp = disp };
}
static inline struct rm rm_idx(int base, int index, u8 scale, s32 disp)
{
	return (struct rm){ .kind = 1, .base = (u8)base, .index = (u8)index, .scale = scale, .disp = disp };
}
static inline struct rm rm_lit(u32 lit, s32 off) { return (struct rm){ .kind = 2, .index = 0xff, .disp = off, .lit = lit }; }

static inline void as_room(struct as *a, u32 n)
{
	if (a->n + n > a->cap) {
		u32 cap = a->cap ? a->cap * 2 : 8192;
		u8 *p = realloc(a->p, cap);

		if (!p) {
			a->oom = true;
			a->n = 0;
			return;
		}
		a->p = p;
		a->cap = cap;
	}
}
static inline void b1(struct as *a, u32 v) { a->p[a->n++] = (u8)v; }
static inline void b4(struct as *a, u32 v) { memcpy(a->p + a->n, &v, 4); a->n += 4; }
static inline void b8(struct as *a, u64 v) { memcpy(a->p + a->n, &v, 8); a->n += 8; }

/* modrm, sib, displacement. n: what a compressed displacement counts in (1: none); tail: bytes behind */
static inline void as_modrm(struct as *a, int reg, struct rm m, u32 n, u32 tail)
{
	u32 r = (u32)(reg & 7) << 3, mod;
	s32 d = m.disp;

	if (m.kind == 0) {
		b1(a, 0xc0 | r | (m.reg & 7));
		return;
	}
	if (m.kind == 2) {
		b1(a, r | 5);
		if (a->nfix == a->fix_cap) {
			u32 cap = a->fix_cap ? a->fix_cap * 2 : 256;
			struct fix *f = realloc(a->fix, cap * sizeof(*f));

			if (!f) {
				a->oom = true;
				return;
			}
			a->fix = f;
			a->fix_cap = cap;
		}
		a->fix[a->nfix++] = (struct fix){ a->n, m.lit, tail };
		b4(a, (u32)d);
		return;
	}
	if (d == 0 && (m.base & 7) != RBP) {
		mod = 0;
	} else if (d % (s32)n == 0 && d / (s32)n >= -128 && d / (s32)n <= 127) {
		mod = 0x40;
		d /= (s32)n;
	} else {
		mod = 0x80;
	}
	if (m.index != 0xff || (m.base & 7) == RSP) {
		b1(a, mod | r | 4);
		b1(a, (u32)m.scale << 6 | (m.index == 0xff ? 4u : m.index & 7u) << 3 | (m.base & 7));
	} else {
		b1(a, mod | r | (m.base & 7));
	}
	if (mod == 0x40)
		b1(a, (u32)d);
	else if (mod == 0x80)
		b4(a, (u32)d);
}

/* ---- general registers ------------------------------------------------------------------ */

/* One-byte opcode, or 0x0f-prefixed when op > 0xff. w: 64-bit. */
static inline void g_op(struct as *a, int w, u32 op, int reg, struct rm m, u32 tail)
{
	u32 rex = (w ? 8u : 0) | (reg >> 3 & 1u) << 2;

	as_room(a, 32);
	if (m.kind == 0)
		rex |= m.reg >> 3 & 1u;
	else if (m.kind == 1)
		rex |= (m.base >> 3 & 1u) | (m.index != 0xff ? (m.index >> 3 & 1u) << 1 : 0);
	if (rex)
		b1(a, 0x40 | rex);
	if (op > 0xff)
		b1(a, 0x0f);
	b1(a, op & 0xff);
	as_modrm(a, reg, m, 1, tail);
}
static inline void g_load(struct as *a, int w, int r, struct rm m) { g_op(a, w, 0x8b, r, m, 0); }
static inline void g_store(struct as *a, int w, struct rm m, int r) { g_op(a, w, 0x89, r, m, 0); }
/* op: 0 add 1 or 4 and 5 sub 6 xor 7 cmp */
enum { G_ADD, G_OR, G_ADC, G_SBB, G_AND, G_SUB, G_XOR, G_CMP };
static inline void g_alu(struct as *a, int w, u32 op, int r, struct rm m) { g_op(a, w, op * 8 + 3, r, m, 0); }
static inline void g_alui(struct as *a, int w, u32 op, struct rm m, s32 i)
{
	bool small = i >= -128 && i <= 127;

	g_op(a, w, small ? 0x83 : 0x81, (int)op, m, small ? 1 : 4);
	if (small)
		b1(a, (u32)i);
	else
		b4(a, (u32)i);
}
static inline void g_movi(struct as *a, int r, u64 v)
{
	as_room(a, 16);
	if (v <= 0xffffffffu) {
		if (r >= 8)
			b1(a, 0x41);
		b1(a, 0xb8 | (u32)(r & 7));
		b4(a, (u32)v);
	} else if ((s64)v == (s32)v) {
		g_op(a, 1, 0xc7, 0, rm_reg(r), 4);
		b4(a, (u32)v);
	} else {
		b1(a, 0x48 | (u32)(r >> 3));
		b1(a, 0xb8 | (u32)(r & 7));
		b8(a, v);
	}
}
static inline void g_lea(struct as *a, int w, int r, struct rm m) { g_op(a, w, 0x8d, r, m, 0); }
static inline void g_imul(struct as *a, int w, int r, struct rm m) { g_op(a, w, 0x1af, r, m, 0); }
static inline void g_imuli(struct as *a, int w, int r, struct rm m, s32 i) { g_op(a, w, 0x69, r, m, 4); b4(a, (u32)i); }
/* op: 1 ror 4 shl 5 shr 7 sar */
enum { G_ROR = 1, G_SHL = 4, G_SHR = 5, G_SAR = 7 };
static inline void g_shi(struct as *a, int w, u32 op, int r, u32 n) { g_op(a, w, 0xc1, (int)op, rm_reg(r), 1); b1(a, n); }
static inline void g_shcl(struct as *a, int w, u32 op, int r) { g_op(a, w, 0xd3, (int)op, rm_reg(r), 0); }
static inline void g_neg(struct as *a, int w, int r) { g_op(a, w, 0xf7, 3, rm_reg(r), 0); }
static inline void g_not(struct as *a, int w, int r) { g_op(a, w, 0xf7, 2, rm_reg(r), 0); }
static inline void g_cmov(struct as *a, int w, u32 cc, int r, struct rm m) { g_op(a, w, 0x140 | cc, r, m, 0); }
static inline void g_movsxd(struct as *a, int r, struct rm m) { g_op(a, 1, 0x63, r, m, 0); }
/* d, which is not y: the sum of 32 bits, widened */
static inline void g_wide_sum(struct as *a, int d, int x, int y, bool sg)
{
	g_load(a, 0, d, rm_reg(x));
	g_alu(a, 0, G_ADD, d, rm_reg(y));
	if (sg)
		g_movsxd(a, d, rm_reg(d));
}
/* size 1 or 2, sign: movsx */
static inline void g_movx(struct as *a, int w, int sign, int size, int r, struct rm m)
{
	u32 op = (size == 1 ? 0x1b6u : 0x1b7u) + (sign ? 8 : 0);

	/* sil and its like need a REX prefix even without a bit in it */
	if (m.kind == 0 && size == 1 && m.reg >= 4 && m.reg < 8 && r < 8 && !w) {
		as_room(a, 16);
		b1(a, 0x40);
	}
	g_op(a, w, op, r, m, 0);
}
static inline void g_testi(struct as *a, int r, u32 i) { g_op(a, 0, 0xf7, 0, rm_reg(r), 4); b4(a, i); }
static inline void g_bsr(struct as *a, int r, struct rm m) { g_op(a, 0, 0x1bd, r, m, 0); }
static inline void g_tzcnt(struct as *a, int r, struct rm m)
{
	as_room(a, 16);
	b1(a, 0xf3);
	g_op(a, 0, 0x1bc, r, m, 0);
}
static inline void g_popcnt(struct as *a, int r, struct rm m)
{
	as_room(a, 16);
	b1(a, 0xf3);
	g_op(a, 0, 0x1b8, r, m, 0);
}
static inline u32 g_jcc(struct as *a, u32 cc)   /* returns where its displacement is */
{
	as_room(a, 16);
	b1(a, 0x0f);
	b1(a, 0x80 | cc);
	b4(a, 0);
	return a->n - 4;
}
static inline u32 g_jmp(struct as *a)
{
	as_room(a, 16);
	b1(a, 0xe9);
	b4(a, 0);
	return a->n - 4;
}
static inline void g_land(struct as *a, u32 at, u32 target)
{
	u32 d = target - (at + 4);

	memcpy(a->p + at, &d, 4);
	if (target == a->n)
		a->label = target;
}
static inline void g_here(struct as *a, u32 at) { g_land(a, at, a->n); }

/* ---- AVX-512 ---------------------------------------------------------------------------- */

#define VOP(pp, map, w, op) ((pp) | (map) << 2 | (w) << 5 | 2u << 6 | (u32)(op) << 8)
#define V_LL(o, ll) (((o) & ~(3u << 6)) | (u32)(ll) << 6)
#define V_W(o) ((o) >> 5 & 1)

enum vop {
	V_PADDD = VOP(1, 1, 0, 0xfe), V_PADDQ = VOP(1, 1, 1, 0xd4), V_PSUBD = VOP(1, 1, 0, 0xfa),
	V_PSUBQ = VOP(1, 1, 1, 0xfb), V_PMULLD = VOP(1, 2, 0, 0x40), V_PMULLQ = VOP(1, 2, 1, 0x40),
	V_PMULUDQ = VOP(1, 1, 1, 0xf4), V_PMULDQ = VOP(1, 2, 1, 0x28), V_PANDD = VOP(1, 1, 0, 0xdb),
	V_PANDQ = VOP(1, 1, 1, 0xdb), V_PORD = VOP(1, 1, 0, 0xeb),
	V_PORQ = VOP(1, 1, 1, 0xeb), V_PXORD = VOP(1, 1, 0, 0xef), V_PXORQ = VOP(1, 1, 1, 0xef),
	V_PTERNLOGD = VOP(1, 3, 0, 0x25),
	V_PSHID = VOP(1, 1, 0, 0x72), V_PSHIQ = VOP(1, 1, 1, 0x73), V_PSRAIQ = VOP(1, 1, 1, 0x72),
	V_PSLLVD = VOP(1, 2, 0, 0x47), V_PSRLVD = VOP(1, 2, 0, 0x45), V_PSRAVD = VOP(1, 2, 0, 0x46),
	V_PSLLVQ = VOP(1, 2, 1, 0x47), V_PSRLVQ = VOP(1, 2, 1, 0x45), V_PSRAVQ = VOP(1, 2, 1, 0x46),
	V_PMINSD = VOP(1, 2, 0, 0x39), V_PMINUD = VOP(1, 2, 0, 0x3b), V_PMAXSD = VOP(1, 2, 0, 0x3d),
	V_PMAXUD = VOP(1, 2, 0, 0x3f), V_PMINSQ = VOP(1, 2, 1, 0x39), V_PMINUQ = VOP(1, 2, 1, 0x3b),
	V_PMAXSQ = VOP(1, 2, 1, 0x3d), V_PMAXUQ = VOP(1, 2, 1, 0x3f), V_PABSD = VOP(1, 2, 0, 0x1e),
	V_PABSQ = VOP(1, 2, 1, 0x1f), V_PCMPD = VOP(1, 3, 0, 0x1f), V_PCMPUD = VOP(1, 3, 0, 0x1e),
	V_PCMPQ = VOP(1, 3, 1, 0x1f), V_PCMPUQ = VOP(1, 3, 1, 0x1e), V_CMPPS = VOP(0, 1, 0, 0xc2),
	V_CMPPD = VOP(1, 1, 1, 0xc2), V_ADDPS = VOP(0, 1, 0, 0x58), V_MULPS = VOP(0, 1, 0, 0x59),
	V_SUBPS = VOP(0, 1, 0, 0x5c), V_DIVPS = VOP(0, 1, 0, 0x5e), V_SQRTPS = VOP(0, 1, 0, 0x51),
	V_ADDPD = VOP(1, 1, 1, 0x58), V_MULPD = VOP(1, 1, 1, 0x59), V_SUBPD = VOP(1, 1, 1, 0x5c),
	V_DIVPD = VOP(1, 1, 1, 0x5e), V_SQRTPD = VOP(1, 1, 1, 0x51),
	V_MINPS = VOP(0, 1, 0, 0x5d), V_MAXPS = VOP(0, 1, 0, 0x5f),
	V_FMADD213PS = VOP(1, 2, 0, 0xa8), V_FMADD231PS = VOP(1, 2, 0, 0xb8), V_FMADD213PD = VOP(1, 2, 1, 0xa8),
	V_FMADD231PD = VOP(1, 2, 1, 0xb8), V_FMADD132PS = VOP(1, 2, 0, 0x98),
	V_CVTDQ2PS = VOP(0, 1, 0, 0x5b), V_CVTUDQ2PS = VOP(3, 1, 0, 0x7a), V_CVTTPS2DQ = VOP(2, 1, 0, 0x5b),
	V_CVTTPS2UDQ = VOP(0, 1, 0, 0x78), V_CVTPS2DQ = VOP(1, 1, 0, 0x5b), V_CVTPH2PS = VOP(1, 2, 0, 0x13),
	V_CVTUDQ2PD = VOP(2, 1, 0, 0x7a), V_CVTDQ2PD = VOP(2, 1, 0, 0xe6), V_CVTTPD2UDQ = VOP(0, 1, 1, 0x78),
	V_CVTTPD2DQ = VOP(1, 1, 1, 0xe6), V_CVTPS2PH = VOP(1, 3, 0, 0x1d), V_RNDSCALEPS = VOP(1, 3, 0, 0x08),
	V_CVTPS2PD = VOP(0, 1, 0, 0x5a), V_CVTPD2PS = VOP(1, 1, 1, 0x5a), V_CVTQQ2PD = VOP(2, 1, 1, 0xe6),
	V_CVTUQQ2PD = VOP(2, 1, 1, 0x7a), V_CVTQQ2PS = VOP(0, 1, 1, 0x5b), V_CVTUQQ2PS = VOP(3, 1, 1, 0x7a),
	V_CVTPD2QQ = VOP(1, 1, 1, 0x7b), V_CVTPD2UQQ = VOP(1, 1, 1, 0x79), V_CVTPD2DQ = VOP(3, 1, 1, 0xe6),
	V_CVTPD2UDQ = VOP(0, 1, 1, 0x79), V_CVTPS2UDQ = VOP(0, 1, 0, 0x79), V_RNDSCALEPD = VOP(1, 3, 1, 0x09),
	V_MINPD = VOP(1, 1, 1, 0x5d), V_MAXPD = VOP(1, 1, 1, 0x5f),
	V_PMOVDW = VOP(2, 2, 0, 0x33), V_PMOVDB = VOP(2, 2, 0, 0x31), V_PMOVQD = VOP(2, 2, 0, 0x35),
	V_PMOVSXDQ = VOP(1, 2, 0, 0x25), V_PMOVZXDQ = VOP(1, 2, 0, 0x35), V_PMOVZXWD = VOP(1, 2, 0, 0x33),
	V_PMOVZXBQ = VOP(1, 2, 0, 0x32), V_PMOVZXWQ = VOP(1, 2, 0, 0x34), V_PMOVSXBQ = VOP(1, 2, 0, 0x22), V_PMOVSXWQ = VOP(1, 2, 0, 0x24),
	V_PMOVSXWD = VOP(1, 2, 0, 0x23), V_PMOVZXBD = VOP(1, 2, 0, 0x31), V_PMOVSXBD = VOP(1, 2, 0, 0x21),
	V_PERMD = VOP(1, 2, 0, 0x36), V_PERMQ = VOP(1, 2, 1, 0x36), V_PERMI2D = VOP(1, 2, 0, 0x76),
	V_PERMI2Q = VOP(1, 2, 1, 0x76), V_PERMI2W = VOP(1, 2, 1, 0x75), V_PERMW = VOP(1, 2, 1, 0x8d),
	V_BLENDMD = VOP(1, 2, 0, 0x64), V_BLENDMQ = VOP(1, 2, 1, 0x64), V_PBCASTD = VOP(1, 2, 0, 0x58),
	V_PBCASTQ = VOP(1, 2, 1, 0x59), V_BCAST32X4 = VOP(1, 2, 0, 0x5a), V_PBCASTD_R = VOP(1, 2, 0, 0x7c), V_PBCASTQ_R = VOP(1, 2, 1, 0x7c),
	V_MOVA32 = VOP(1, 1, 0, 0x6f), V_MOVA32_ST = VOP(1, 1, 0, 0x7f), V_MOVA64 = VOP(1, 1, 1, 0x6f),
	V_MOVA64_ST = VOP(1, 1, 1, 0x7f),
	V_MOVU32 = VOP(2, 1, 0, 0x6f), V_MOVU32_ST = VOP(2, 1, 0, 0x7f), V_MOVU64 = VOP(2, 1, 1, 0x6f),
	V_MOVU64_ST = VOP(2, 1, 1, 0x7f),
	V_INSERT64X4 = VOP(1, 3, 1, 0x3a), V_EXTRACT64X4 = VOP(1, 3, 1, 0x3b), V_INSERT32X4 = VOP(1, 3, 0, 0x38),
	V_GATHERDD = VOP(1, 2, 0, 0x90), V_GATHERQD = VOP(1, 2, 0, 0x91), V_GATHERDQ = VOP(1, 2, 1, 0x90),
	V_GATHERQQ = VOP(1, 2, 1, 0x91), V_SCATTERDD = VOP(1, 2, 0, 0xa0), V_SCATTERQD = VOP(1, 2, 0, 0xa1),
	V_PCOMPRESSD = VOP(1, 2, 0, 0x8b), V_PCOMPRESSQ = VOP(1, 2, 1, 0x8b), V_PEXPANDD = VOP(1, 2, 0, 0x89), V_PEXPANDQ = VOP(1, 2, 1, 0x89),
	V_SCATTERDQ = VOP(1, 2, 1, 0xa0), V_SCATTERQQ = VOP(1, 2, 1, 0xa1),
	V_PDPBUSD = VOP(1, 2, 0, 0x50), V_PMADDWD = VOP(1, 1, 0, 0xf5),
	V_PMOVB2M = VOP(2, 2, 0, 0x29), V_PMOVM2B = VOP(2, 2, 0, 0x28), V_PSHUFB = VOP(1, 2, 0, 0x00),
	V_PLZCNTD = VOP(1, 2, 0, 0x44), V_PLZCNTQ = VOP(1, 2, 1, 0x44), V_POPCNTD = VOP(1, 2, 0, 0x55), V_POPCNTQ = VOP(1, 2, 1, 0x55),
	V_PADDB = VOP(1, 1, 0, 0xfc), V_PMADDUBSW = VOP(1, 2, 0, 0x04), V_PSADBW = VOP(1, 1, 0, 0xf6), V_PTESTMD = VOP(1, 2, 0, 0x27), V_PTESTMB = VOP(1, 2, 0, 0x26), V_BLENDMB = VOP(1, 2, 0, 0x66),
	V_PSHUFD = VOP(1, 1, 0, 0x70), V_SHUF32X4 = VOP(1, 3, 0, 0x43),
	V_PINSRB = VOP(1, 3, 0, 0x20), V_PINSRW = VOP(1, 1, 0, 0xc4), V_PINSRD = VOP(1, 3, 0, 0x22),
	V_RANGEPS = VOP(1, 3, 0, 0x50), V_RANGEPD = VOP(1, 3, 1, 0x50), V_REDUCEPS = VOP(1, 3, 0, 0x56), V_SCALEFPS = VOP(1, 2, 0, 0x2c), V_EXTRACT32X4 = VOP(1, 3, 0, 0x39), V_SHUFPS = VOP(0, 1, 0, 0xc6),
	V_UNPCKLPS = VOP(0, 1, 0, 0x14), V_UNPCKHPS = VOP(0, 1, 0, 0x15), V_UNPCKLPD = VOP(1, 1, 1, 0x14), V_UNPCKHPD = VOP(1, 1, 1, 0x15),
	V_MOVHPS = VOP(0, 1, 0, 0x16), V_MOVHPS_ST = VOP(0, 1, 0, 0x17), V_MOVLPS_ST = VOP(0, 1, 0, 0x13),
	V_PEXTRB = VOP(1, 3, 0, 0x14), V_PEXTRW = VOP(1, 3, 0, 0x15), V_PEXTRD = VOP(1, 3, 0, 0x16), V_PEXTRQ = VOP(1, 3, 1, 0x16), V_MOVQ = VOP(1, 1, 1, 0x6e),
	V_MOVD = VOP(1, 1, 0, 0x6e), V_MOVD_ST = VOP(1, 1, 0, 0x7e), V_MOVQ_ST = VOP(1, 1, 1, 0x7e),
	/* scalar */
	V_ADDSS = VOP(2, 1, 0, 0x58), V_ADDSD = VOP(3, 1, 1, 0x58), V_MULSS = VOP(2, 1, 0, 0x59), V_SUBSS = VOP(2, 1, 0, 0x5c),
	V_FMADD213SS = VOP(1, 2, 0, 0xa9), V_UCOMISS = VOP(0, 1, 0, 0x2e), V_CVTSI2SS = VOP(2, 1, 0, 0x2a),
	V_CVTUSI2SS = VOP(2, 1, 0, 0x7b),
};

/* What a full vector's displacement counts in; broadcasts and scalars count in elements. */
static inline u32 v_n(u32 op, int bc) { return bc ? (V_W(op) ? 8u : 4u) : 16u << (op >> 6 & 3); }

/* Its result is a mask. */
static inline bool v_to_mask(u32 op)
{
	switch (V_LL(op, 2)) {
	case V_PCMPD: case V_PCMPUD: case V_PCMPQ: case V_PCMPUQ: case V_CMPPS: case V_CMPPD: case V_PTESTMD: case V_PTESTMB: case V_PMOVB2M:
		return true;
	}
	return false;
}

/*
 * op{k}{z} reg, v, m. v: the second source, 0 where the form has none (with nov). bc: memory operand is
 * one element for all, or (register form) embedded rounding with LL as the mode. n: see as_modrm.
 */
static inline void ev_n(struct as *a, u32 op, int reg, int v, struct rm m, int k, int z, int bc, u32 n, u32 tail)
{
	u32 x, b, vh = (u32)v >> 4 & 1;

	as_room(a, 32);
	if (v_to_mask(op))
		k_writes(a, reg);
	if (m.kind && m.index != 0xff && m.index >= 32)         /* gathers and scatters count down in their mask */
		k_writes(a, k);
	if (m.kind == 0) {
		b = m.reg >> 3 & 1;
		x = m.reg >> 4 & 1;
	} else {
		b = m.kind == 1 ? m.base >> 3 & 1 : 0;
		x = m.index != 0xff ? m.index >> 3 & 1 : 0;
		if (m.index != 0xff && m.index >= 32) {         /* a vector index: marked by + 32 */
			x = m.index >> 3 & 1;
			vh = m.index >> 4 & 1;
		}
	}
	b1(a, 0x62);
	b1(a, (~(u32)reg >> 3 & 1) << 7 | (~x & 1) << 6 | (~b & 1) << 5 | (~(u32)reg >> 4 & 1) << 4 | (op >> 2 & 7));
	b1(a, V_W(op) << 7 | (~(u32)v & 15) << 3 | 4 | (op & 3));
	b1(a, (u32)z << 7 | (op >> 6 & 3) << 5 | (u32)bc << 4 | (~vh & 1) << 3 | (u32)k);
	b1(a, op >> 8 & 0xff);
	as_modrm(a, reg, m, n, tail);
}
static inline void ev(struct as *a, u32 op, int reg, int v, struct rm m) { ev_n(a, op, reg, v, m, 0, 0, 0, v_n(op, 0), 0); }
static inline void ev_k(struct as *a, u32 op, int reg, int v, struct rm m, int k, int z)
{
	ev_n(a, op, reg, v, m, k, z, 0, v_n(op, 0), 0);
}
static inline void ev_i(struct as *a, u32 op, int reg, int v, struct rm m, int k, int z, u32 imm)
{
	ev_n(a, op, reg, v, m, k, z, 0, v_n(op, 0), 1);
	b1(a, imm);
}
static inline struct rm rm_vidx(int base, int zmm, u8 scale, s32 disp) { return rm_idx(base, zmm + 32, scale, disp); }

/* ---- masks ------------------------------------------------------------------------------ */

/* three-byte VEX; l: 256-bit (kand and its like) */
static inline void k_op(struct as *a, int w, int l, u32 pp, u32 map, u32 op, int reg, int v, struct rm m, u32 tail)
{
	u32 b = m.kind == 0 ? m.reg >> 3 & 1 : m.base >> 3 & 1;

	as_room(a, 32);
	b1(a, 0xc4);
	b1(a, (~(u32)reg >> 3 & 1) << 7 | 0x40 | (~b & 1) << 5 | map);
	b1(a, (u32)w << 7 | (~(u32)v & 15) << 3 | (u32)l << 2 | pp);
	b1(a, op);
	as_modrm(a, reg, m, 1, tail);
}
static inline void k_from(struct as *a, int k, int r) { k_writes(a, k); k_op(a, 0, 0, 3, 1, 0x92, k, 0, rm_reg(r), 0); }        /* kmovd */
static inline void k_to(struct as *a, int r, int k) { k_op(a, 0, 0, 3, 1, 0x93, r, 0, rm_reg(k), 0); }
static inline void k_load(struct as *a, int k, struct rm m) { k_writes(a, k); k_op(a, 1, 0, 1, 1, 0x90, k, 0, m, 0); }
static inline void k_store(struct as *a, struct rm m, int k) { k_op(a, 1, 0, 1, 1, 0x91, k, 0, m, 0); }
static inline void k_mov(struct as *a, int d, int s) { k_writes(a, d); k_op(a, 1, 0, 1, 1, 0x90, d, 0, rm_reg(s), 0); }
static inline void k_shr(struct as *a, int d, int s, u32 n) { k_writes(a, d); k_op(a, 0, 0, 1, 3, 0x31, d, 0, rm_reg(s), 1); b1(a, n); }
static inline void k_and(struct as *a, int d, int x, int y) { k_writes(a, d); k_op(a, 1, 1, 1, 1, 0x41, d, x, rm_reg(y), 0); }
static inline void k_andn(struct as *a, int d, int x, int y) { k_writes(a, d); k_op(a, 1, 1, 1, 1, 0x42, d, x, rm_reg(y), 0); }
static inline void k_ortest(struct as *a, int x, int y) { k_op(a, 1, 0, 1, 1, 0x98, x, 0, rm_reg(y), 0); }
static inline void k_none(struct as *a, int k, u32 n) { k_op(a, 0, 0, n == 8, 1, 0x98, k, 0, rm_reg(k), 0); }     /* E: the lowest n (8, 16) are 0 */
/* d = hi:lo, 16 bits each; 8 bits each */
static inline void k_unpckwd(struct as *a, int d, int hi, int lo) { k_writes(a, d); k_op(a, 0, 1, 0, 1, 0x4b, d, hi, rm_reg(lo), 0); }
static inline void k_unpckbw(struct as *a, int d, int hi, int lo) { k_writes(a, d); k_op(a, 0, 1, 1, 1, 0x4b, d, hi, rm_reg(lo), 0); }

#endif
