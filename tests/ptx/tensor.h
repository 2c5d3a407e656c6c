/* SPDX-License-Identifier: MIT */
/*
 * mma, ldmatrix, movmatrix and cp.async against a model of PTX ISA 9.7.14: fragments are put together into matrices by the
 * tables there, multiplied in double precision (exact for what .f16 and .bf16 hold, but for the sum) and taken apart again.
 * Every shape and type that the engine accepts, on small integers, on values of all kinds with subnormals, infinities and
 * NaNs, with results in the registers of the operands, constants as operands, under guards, and in code that flushes
 * subnormals elsewhere. Included by optest.c, run on its rig in each of its modes.
 *
 * Sums: the ISA leaves open in which order and how exactly they are made, so they may be off by what rounding each
 * of them could cost; integers and sums of small integers are exact. A NaN is the canonical one.
 */
#ifndef TESTS_PTX_TENSOR_H
#define TESTS_PTX_TENSOR_H

#include <float.h>
#include <math.h>

#include "interface.h"

#define TN_WARPS 6u             /* of a launch: two blocks of three */
#define TN_WORDS 16u            /* of input a lane: a 0-3, b 4-5, c 8-11; of output: results 0-3, what a guard left 4-7 */

struct tn_form {
	const char *shape, *d, *a, *b;
	unsigned m, k;          /* n is 8 */
};

static const struct tn_form tn_forms[] = {
	{ "m16n8k8", "f32", "f16", "f16", 16, 8 }, { "m16n8k16", "f32", "f16", "f16", 16, 16 },
	{ "m16n8k8", "f16", "f16", "f16", 16, 8 }, { "m16n8k16", "f16", "f16", "f16", 16, 16 },
	{ "m16n8k8", "f32", "bf16", "bf16", 16, 8 }, { "m16n8k16", "f32", "bf16", "bf16", 16, 16 },
	{ "m16n8k4", "f32", "tf32", "tf32", 16, 4 }, { "m16n8k8", "f32", "tf32", "tf32", 16, 8 },
	{ "m8n8k16", "s32", "s8", "s8", 8, 16 }, { "m8n8k16", "s32", "u8", "s8", 8, 16 },
	{ "m8n8k16", "s32", "s8", "u8", 8, 16 }, { "m8n8k16", "s32", "u8", "u8", 8, 16 },
	{ "m16n8k16", "s32", "s8", "s8", 16, 16 }, { "m16n8k16", "s32", "u8", "s8", 16, 16 },
	{ "m16n8k16", "s32", "s8", "u8", 16, 16 }, { "m16n8k16", "s32", "u8", "u8", 16, 16 },
	{ "m16n8k32", "s32", "s8", "s8", 16, 32 }, { "m16n8k32", "s32", "u8", "s8", 16, 32 },
	{ "m16n8k32", "s32", "s8", "u8", 16, 32 }, { "m16n8k32", "s32", "u8", "u8", 16, 32 },
	{ "m16n8k16", "f32", "e4m3", "e4m3", 16, 16 }, { "m16n8k32", "f32", "e4m3", "e5m2", 16, 32 },
	{ "m16n8k32", "f32", "e5m2", "e4m3", 16, 32 }, { "m16n8k32", "f16", "e4m3", "e4m3", 16, 32 }, { "m16n8k16", "f16", "e5m2", "e5m2", 16, 16 },
};

enum { TN_PLAIN, TN_OVER_A, TN_OVER_B, TN_OVER_C, TN_ZERO_C, TN_GUARD_ALL, TN_GUARD_SOME, TN_FLUSHED, TN_VARIANTS };

static uint64_t tn_state = 88172645463325252ull;
static char tn_text[16384];

static uint32_t tn_rng(void)
{
	tn_state ^= tn_state << 13;
	tn_state ^= tn_state >> 7;
	tn_state ^= tn_state << 17;
	return (uint32_t)(tn_state >> 16);
}

static unsigned tn_bits(const char *type)
{
	return !strcmp(type, "tf32") || !strcmp(type, "f32") || !strcmp(type, "s32") ? 32 : type[1] == '8' || type[0] == 'e' ? 8 : 16;
}

/* ---- values ------------------------------------------------------------------------------------ */

static double tn_value(const char *type, uint32_t bits)
{
	float f;

	if (!strcmp(type, "s8"))
		return (int8_t)bits;
	if (!strcmp(type, "u8"))
		return bits & 255;
	if (!strcmp(type, "s32"))
		return (int32_t)bits;
	if (!strcmp(type, "f16")) {
		int e = bits >> 10 & 31, frac = bits & 1023;
		double v = e == 31 ? (frac ? NAN : INFINITY) : e ? ldexp(1024 + frac, e - 25) : ldexp(frac, -24);

		return bits >> 15 & 1 ? -v : v;
	}
	if (type[0] == 'e') {
		int four = type[1] == '4', n = four ? 3 : 2, e = bits >> n & (four ? 15 : 31), frac = bits & ((1 << n) - 1), bias = four ? 7 : 15;
		double v = e ? ldexp((1 << n) + frac, e - bias - n) : ldexp(frac, 1 - bias - n);

		if (four ? (bits & 127) == 127 : e == 31)
			v = !four && !frac ? INFINITY : NAN;
		return bits >> 7 & 1 ? -v : v;
	}
	if (!strcmp(type, "bf16"))
		bits <<= 16;
	if (!strcmp(type, "tf32"))      /* the low bits do not count */
		bits &= ~0x1fffu;
	memcpy(&f, &bits, 4);
	return f;
}

/* A small integer of that type; else anything, specials often. */
static uint32_t tn_bits_of(const char *type, int small)
{
	static const uint32_t f32[] = { 0, 0x80000000, 1, 0x00400000, 0x80002000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000,
					0xffc01234, 0x7f801000, 0x7f7fe000, 0x00800000 };
	static const uint16_t f16[] = { 0, 0x8000, 1, 0x8001, 0x3ff, 0x83ff, 0x400, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7d55, 0x7bff, 0xfbff };
	unsigned bits = tn_bits(type);
	int v = (int)(tn_rng() % 17) - 8;
	float f = (float)v;
	uint32_t u;

	memcpy(&u, &f, 4);
	if (type[0] == 'e' && small) {
		uint32_t n = type[1] == '4' ? 3 : 2, e = (u >> 23 & 255) - 127 + (type[1] == '4' ? 7 : 15);

		return v ? (v < 0) << 7 | e << n | (u >> (23 - n) & ((1u << n) - 1)) : 0;
	}
	if (type[0] == 'e')     /* now and then what has the greatest exponent */
		return tn_rng() % 64 ? tn_rng() & (type[1] == '4' ? 0xf7 : 0xef) : tn_rng() & 255;
	if (bits == 8 || !strcmp(type, "s32"))
		return small ? (uint32_t)v : tn_rng();
	if (small && !strcmp(type, "f16")) {
		static const uint16_t whole[] = { 0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800 };

		return whole[v < 0 ? -v : v] | (v < 0 ? 0x8000u : 0);
	}
	if (small)
		return bits == 16 ? u >> 16 : u | (!strcmp(type, "tf32") ? tn_rng() & 0x1fff : 0);
	if (tn_rng() % 4 == 0 && tn_rng() % 8)  /* of specials the less dreadful, mostly: one NaN decides over a row */
		return bits == 32 ? f32[tn_rng() % 7] : !strcmp(type, "f16") ? f16[tn_rng() % 9] : f32[tn_rng() % 7] >> 16;
	if (tn_rng() % 48 == 0)
		return bits == 32 ? f32[tn_rng() % 14] : !strcmp(type, "f16") ? f16[tn_rng() % 16] : f32[tn_rng() % 14] >> 16;
	if (!strcmp(type, "f16"))
		return (tn_rng() & 0x83ff) | (5 + tn_rng() % 20) << 10;
	u = (tn_rng() & 0x807fffff) | (110 + tn_rng() % 30) << 23;
	return bits == 16 ? u >> 16 : u;
}

/* ---- where an element of a matrix lies: PTX ISA 9.7.14.5, in words of a lane and bits of a word ------- */

struct tn_place { unsigned lane, word, shift; };

static struct tn_place tn_a(const struct tn_form *f, unsigned row, unsigned col)
{
	unsigned bits = tn_bits(f->a), per = 32 / bits, wide = 4 * per, half = row / 8, rows = f->m / 8;

	return (struct tn_place){ row % 8 * 4 + col % wide / per, col / wide * rows + half, col % per * bits };
}

static struct tn_place tn_b(const struct tn_form *f, unsigned row, unsigned col)
{
	unsigned bits = tn_bits(f->b), per = 32 / bits, wide = 4 * per;

	return (struct tn_place){ col * 4 + row % wide / per, 4 + row / wide, row % per * bits };
}

static struct tn_place tn_c(const struct tn_form *f, unsigned row, unsigned col)
{
	if (!strcmp(f->d, "f16"))
		return (struct tn_place){ row % 8 * 4 + col / 2, row / 8, col % 2 * 16 };
	return (struct tn_place){ row % 8 * 4 + col / 2, row / 8 * 2 + col % 2, 0 };
}

static uint32_t tn_get(const uint32_t *words, struct tn_place p, unsigned bits, unsigned base)
{
	return words[p.lane * TN_WORDS + base + p.word] >> p.shift & (bits == 32 ? ~0u : (1u << bits) - 1);
}

static void tn_put(uint32_t *words, struct tn_place p, unsigned bits, uint32_t v)
{
	uint32_t *w = &words[p.lane * TN_WORDS + p.word], mask = bits == 32 ? ~0u : ((1u << bits) - 1) << p.shift;

	*w = (*w & ~mask) | (v << p.shift & mask);
}

/* ---- mma ---------------------------------------------------------------------------------------- */

static unsigned tn_count(const struct tn_form *f, char operand)
{
	unsigned rows = f->m / 8, words = f->k * tn_bits(f->a) / 128;

	return operand == 'a' ? rows * words : operand == 'b' ? words : tn_bits(f->d) == 16 ? rows : 2 * rows;
}

static size_t tn_list(char *out, size_t n, const char *reg, unsigned first, unsigned count)
{
	size_t at = (size_t)snprintf(out, n, "{");

	for (unsigned i = 0; i < count; i++)
		at += (size_t)snprintf(out + at, n - at, reg[0] == '%' ? "%s%s%u" : "%s%s", i ? ", " : "", reg, first + i);
	return at + (size_t)snprintf(out + at, n - at, "}");
}

/* Registers as words of the input: %x0-3 a, 4-5 b, 8-11 c, 12-15 results. */
static void tn_kernel(const struct tn_form *f, int variant)
{
	unsigned d = variant == TN_OVER_A ? 0 : variant == TN_OVER_B ? 4 : variant == TN_OVER_C ? 8 : 12, nd = tn_count(f, 'd');
	char out[64], a[64], b[64], c[128];
	size_t n;

	tn_list(out, sizeof(out), "%x", d, nd);
	/* c and b are no longer than the place: what is written over b goes on into registers nobody reads */
	tn_list(a, sizeof(a), "%x", 0, tn_count(f, 'a'));
	tn_list(b, sizeof(b), "%x", 4, tn_count(f, 'b'));
	if (variant == TN_ZERO_C)
		tn_list(c, sizeof(c), f->d[0] == 's' || tn_bits(f->d) == 16 ? "0" : "0f00000000", 0, nd);
	else
		tn_list(c, sizeof(c), "%x", 8, nd);
	n = (size_t)snprintf(tn_text, sizeof(tn_text), ".version %s\n.address_size 64\n"
		".visible .entry k(.param .u64 in, .param .u64 out)\n{\n\t.reg .b32 %%x<20>, %%t;\n\t.reg .f32 %%f<3>;\n\t.reg .b64 %%q<3>;\n"
		"\t.reg .pred %%p;\n\tld.param.u64 %%q0, [in];\n\tld.param.u64 %%q1, [out];\n\tmov.u32 %%x16, %%tid.x;\n\tmov.u32 %%x17, %%ctaid.x;\n"
		"\tmov.u32 %%x18, %%ntid.x;\n\tmad.lo.u32 %%x16, %%x17, %%x18, %%x16;\n\tmad.wide.u32 %%q0, %%x16, %u, %%q0;\n"
		"\tmad.wide.u32 %%q1, %%x16, %u, %%q1;\n\tmov.u32 %%x17, %%laneid;\n", rig_on_cuda ? "8.7\n.target sm_90a" : "7.8\n.target sm_80",
		TN_WORDS * 4, TN_WORDS * 4);
	for (unsigned i = 0; i < 12; i += 4)
		n += (size_t)snprintf(tn_text + n, sizeof(tn_text) - n, "\tld.global.v4.u32 {%%x%u, %%x%u, %%x%u, %%x%u}, [%%q0+%u];\n", i, i + 1,
				      i + 2, i + 3, i * 4);
	n += (size_t)snprintf(tn_text + n, sizeof(tn_text) - n, "\tmov.u32 %%x12, 12;\n\tmov.u32 %%x13, 13;\n\tmov.u32 %%x14, 14;\n\tmov.u32 %%x15, 15;\n");
	if (variant == TN_FLUSHED)      /* everything else in this code flushes */
		n += (size_t)snprintf(tn_text + n, sizeof(tn_text) - n, "\tcvt.rn.f32.u32 %%f0, %%x17;\n\tmul.ftz.f32 %%f0, %%f0, 0f00400000;\n");
	if (variant == TN_GUARD_ALL)
		n += (size_t)snprintf(tn_text + n, sizeof(tn_text) - n, "\tsetp.lt.u32 %%p, %%x17, 32;\n");
	if (variant == TN_GUARD_SOME)   /* whole warps */
		n += (size_t)snprintf(tn_text + n, sizeof(tn_text) - n, "\tmov.u32 %%t, %%tid.x;\n\tshr.u32 %%t, %%t, 5;\n\tsetp.ne.u32 %%p, %%t, 1;\n");
	n += (size_t)snprintf(tn_text + n, sizeof(tn_text) - n, "\t%smma.sync.aligned.%s.row.col.%s.%s.%s.%s %s, %s, %s, %s;\n",
			      variant == TN_GUARD_ALL || variant == TN_GUARD_SOME ? "@%p " : "", f->shape, f->d, f->a, f->b, f->d, out, a, b, c);
	if (variant == TN_FLUSHED)
		n += (size_t)snprintf(tn_text + n, sizeof(tn_text) - n, "\tadd.ftz.f32 %%f0, %%f0, %%f0;\n\tst.global.f32 [%%q1+16], %%f0;\n");
	for (unsigned i = 0; i < nd; i++)
		n += (size_t)snprintf(tn_text + n, sizeof(tn_text) - n, "\tst.global.u32 [%%q1+%u], %%x%u;\n", 4 * i, d + i);
	snprintf(tn_text + n, sizeof(tn_text) - n, "\tret;\n}\n");
}

static uint32_t tn_run(struct rig *r, const void *in, void *out, unsigned blocks, unsigned threads)
{
	struct { uint64_t in, out; } args = { rig_address(r, in), rig_address(r, out) };
	struct engine_launch l = { .grid = { blocks, 1, 1 }, .block = { threads, 1, 1 }, .params = &args, .param_bytes = 16 };
	uint32_t m, st = load_bytes(r, tn_text, strlen(tn_text), &m);
	unsigned index = 0;

	if (st)
		return st;
	l.fn = kernel_of(r, m, "k");
	r->launches = 0;
	memset(r->ended, 0, sizeof(r->ended));
	st = rig_push_all(r);
	if (!st)
		st = rig_launch(r, &l, &index);
	if (st == ENGINE_PENDING)
		st = rig_wait(r, index, 30);
	if (!st)
		st = rig_pull_all(r);
	rig_ops->module_unload(r->engine, m);
	while (nimages)
		free(images[--nimages]);
	return st;
}

/* Is it what may come out? off: what rounding may have cost. */
static int tn_good(const char *type, uint32_t got, double want, double off, int exact)
{
	double v = tn_value(type, got), max = !strcmp(type, "f16") ? 65504 : FLT_MAX, ulp;

	if (!strcmp(type, "s32"))
		return got == (uint32_t)(int64_t)want;
	if (isnan(want))
		return got == (!strcmp(type, "f16") ? 0x7fffu : 0x7fffffffu);
	if (isinf(want))
		return v == want;
	if (exact)
		return v == want;
	/* close to the largest number a sum on the way may have gone over it */
	if (isinf(v) || isnan(v))
		return fabs(want) + off >= max * 0.999;
	ulp = !strcmp(type, "f16") ? fmax(ldexp(fabs(want), -11), ldexp(1, -25)) : fmax(ldexp(fabs(want), -23), ldexp(1, -149));
	return fabs(v - want) <= off + ulp;
}

/* One warp's matrices. */
static unsigned tn_compare(const struct tn_form *f, int variant, int small, const uint32_t *in, const uint32_t *out, unsigned warp)
{
	unsigned bad = 0, ab = tn_bits(f->a), bb = tn_bits(f->b), db = tn_bits(f->d);

	for (unsigned row = 0; row < f->m; row++)
		for (unsigned col = 0; col < 8; col++) {
			double sum, size, c = variant == TN_ZERO_C ? 0 : tn_value(f->d, tn_get(in, tn_c(f, row, col), db, 8));
			uint32_t got = tn_get(out, tn_c(f, row, col), db, 0);
			int over = 0;

			sum = c;
			size = fabs(c);
			for (unsigned k = 0; k < f->k; k++) {
				double p = tn_value(f->a, tn_get(in, tn_a(f, row, k), ab, 0)) * tn_value(f->b, tn_get(in, tn_b(f, k, col), bb, 0));

				over |= fabs(p) > FLT_MAX && !isinf(p);
				sum += p;
				size += fabs(p);
			}
			/* on the way it may have become infinite, of either sign */
			if (over || (!isinf(size) && size > FLT_MAX))
				continue;
			if (tn_good(f->d, got, sum, ldexp(size, -23) * (f->k + 1) * (rig_on_cuda ? 2 : 1) + ldexp(f->k, -149), small))
				continue;
			if (bad++ < 2)
				printf("tensor.h: %s.%s.%s.%s, variant %d, warp %u, row %u, column %u: 0x%x (%g), want %g\n", f->shape, f->d, f->a,
				       f->b, variant, warp, row, col, got, tn_value(f->d, got), sum);
		}
	return bad;
}

static unsigned tn_mma(struct rig *r, uint32_t *in, uint32_t *out)
{
	unsigned bad = 0;

	for (unsigned i = 0; i < sizeof(tn_forms) / sizeof(tn_forms[0]); i++)
		for (int turn = 0; turn < 2 * TN_VARIANTS; turn++) {
			const struct tn_form *f = &tn_forms[i];
			int variant = turn / 2, small = turn % 2;
			uint32_t st;

			/* two halves in a word are no literal there */
			if (rig_on_cuda && variant == TN_ZERO_C && tn_bits(f->d) == 16)
				continue;

			memset(in, 0x5a, TN_WARPS * 32 * TN_WORDS * 4);
			memset(out, 0x5a, TN_WARPS * 32 * TN_WORDS * 4);
			for (unsigned w = 0; w < TN_WARPS; w++) {
				uint32_t *words = in + w * 32 * TN_WORDS;

				for (unsigned k = 0; k < f->k; k++) {
					for (unsigned row = 0; row < f->m; row++)
						tn_put(words, tn_a(f, row, k), tn_bits(f->a), tn_bits_of(f->a, small));
					for (unsigned col = 0; col < 8; col++)
						tn_put(words, tn_b(f, k, col), tn_bits(f->b), tn_bits_of(f->b, small));
				}
				for (unsigned row = 0; row < f->m; row++)
					for (unsigned col = 0; col < 8; col++)
						tn_put(words + 8, tn_c(f, row, col), tn_bits(f->d), tn_bits_of(f->d, small));
			}
			tn_kernel(f, variant);
			st = tn_run(r, in, out, 2, TN_WARPS / 2 * 32);
			/* without all lanes the result is open, and nobody is harmed */
			if (!st && variant == TN_PLAIN)
				st = tn_run(r, in, out + TN_WARPS * 32 * TN_WORDS, 1, 40);
			WANT(!st, "%s.%s.%s.%s, variant %d: status %u\n%s", f->shape, f->d, f->a, f->b, variant, st, tn_text);
			for (unsigned w = 0; !st && w < TN_WARPS; w++) {
				const uint32_t *words = out + w * 32 * TN_WORDS;

				if (variant != TN_GUARD_SOME || w % (TN_WARPS / 2) != 1) {
					bad += tn_compare(f, variant, small, in + w * 32 * TN_WORDS, words, w);
					continue;
				}
				for (unsigned l = 0; l < 32; l++)       /* this warp did nothing */
					for (unsigned k = 0; k < tn_count(f, 'd'); k++)
						WANT(words[l * TN_WORDS + k] == 12 + k, "a lane whose guard is false has %u", words[l * TN_WORDS + k]);
			}
		}
	return bad;
}

/* ---- ldmatrix, movmatrix ---------------------------------------------------------------------------- */

/*
 * Rows lie anywhere, the last one at the end of the block's shared memory; lanes whose address is not asked for have one that
 * is none. The result may be written over the address. Each lane gets words t of rows g, or, transposed, of columns.
 */
static unsigned tn_ldmatrix(struct rig *r, uint32_t *in, uint32_t *out, unsigned n, int trans, int generic, int over)
{
	const unsigned bytes = 48 << 10;
	unsigned bad = 0, at[32];
	uint16_t *half = (uint16_t *)in;
	char list[64];
	uint32_t st;

	for (unsigned i = 0; i < bytes / 2; i++)
		half[64 + i] = (uint16_t)tn_rng();
	for (unsigned l = 0; l < 32; l++) {
		at[l] = l < 8 * n ? tn_rng() % (bytes / 16) * 16 : 0xfffffff0;
		if (l == 8 * n - 1 || l == 3)
			at[l] = bytes - 16;
		in[l] = at[l];
	}
	tn_list(list, sizeof(list), "%x", over ? 0 : 4, n);
	snprintf(tn_text, sizeof(tn_text), ".version 7.8\n.target sm_80\n.address_size 64\n"
		 ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n\t.reg .b32 %%x<12>, %%i, %%n;\n\t.reg .b64 %%q<6>;\n\t.reg .pred %%p;\n"
		 "\t.shared .align 16 .b8 sh[%u];\n\tld.param.u64 %%q0, [in];\n\tld.param.u64 %%q1, [out];\n\tmov.u32 %%i, %%tid.x;\n"
		 "\tmul.wide.u32 %%q2, %%i, 4;\n\tadd.s64 %%q3, %%q0, %%q2;\n\tld.global.u32 %%x1, [%%q3];\n\tmov.u32 %%n, %%i;\n\tmov.u32 %%x8, sh;\n"
		 "MORE:\n\tmul.wide.u32 %%q2, %%n, 16;\n\tadd.s64 %%q3, %%q0, %%q2;\n\tld.global.v4.u32 {%%x4, %%x5, %%x6, %%x7}, [%%q3+128];\n"
		 "\tmad.lo.u32 %%x9, %%n, 16, %%x8;\n\tst.shared.v4.u32 [%%x9], {%%x4, %%x5, %%x6, %%x7};\n\tadd.u32 %%n, %%n, 32;\n"
		 "\tsetp.lt.u32 %%p, %%n, %u;\n\t@%%p bra MORE;\n\tbar.sync 0;\n\tadd.u32 %%x0, %%x1, %%x8;\n\tadd.u32 %%x0, %%x0, -4;\n%s"
		 "\tldmatrix.sync.aligned.m8n8.x%u%s%s.b16 %s, [%s+4];\n\tmul.wide.u32 %%q2, %%i, 16;\n\tadd.s64 %%q1, %%q1, %%q2;\n"
		 "\tst.global.v4.u32 [%%q1], {%%x%u, %%x%u, %%x%u, %%x%u};\n\tret;\n}\n", bytes, bytes / 16,
		 generic ? "\tcvt.u64.u32 %q4, %x0;\n\tcvta.shared.u64 %q4, %q4;\n" : "", n, trans ? ".trans" : "", generic ? "" : ".shared", list,
		 generic ? "%q4" : "%x0", over ? 0 : 4, over ? 1 : 5, over ? 2 : 6, over ? 3 : 7);
	st = tn_run(r, in, out, 1, 32);
	WANT(!st, "ldmatrix.x%u%s: status %u, %s\n%s", n, trans ? ".trans" : "", st, r->fault_what, tn_text);
	for (unsigned l = 0; !st && l < 32; l++)
		for (unsigned i = 0; i < n; i++) {
			unsigned g = l / 4, t = l % 4;
			uint32_t want = 0;

			for (unsigned k = 0; k < 2; k++) {
				unsigned row = trans ? 2 * t + k : g, col = trans ? g : 2 * t + k;

				want |= (uint32_t)half[64 + at[8 * i + row] / 2 + col] << 16 * k;
			}
			bad += out[4 * l + i] != want;
			WANT(out[4 * l + i] == want, "ldmatrix.x%u%s, lane %u, matrix %u: 0x%x, want 0x%x", n, trans ? ".trans" : "", l, i,
			     out[4 * l + i], want);
		}
	return bad;
}

static void tn_movmatrix(struct rig *r, uint32_t *in, uint32_t *out, int over)
{
	uint32_t st;

	for (unsigned l = 0; l < 32; l++)
		in[l] = tn_rng();
	snprintf(tn_text, sizeof(tn_text), ".version 7.8\n.target sm_80\n.address_size 64\n"
		 ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n\t.reg .b32 %%x<3>;\n\t.reg .b64 %%q<4>;\n\tld.param.u64 %%q0, [in];\n"
		 "\tld.param.u64 %%q1, [out];\n\tmov.u32 %%x0, %%tid.x;\n\tmul.wide.u32 %%q2, %%x0, 4;\n\tadd.s64 %%q0, %%q0, %%q2;\n"
		 "\tadd.s64 %%q1, %%q1, %%q2;\n\tld.global.u32 %%x1, [%%q0];\n\tmovmatrix.sync.aligned.m8n8.trans.b16 %%x%d, %%x1;\n"
		 "\tst.global.u32 [%%q1], %%x%d;\n\tret;\n}\n", over ? 1 : 2, over ? 1 : 2);
	st = tn_run(r, in, out, 1, 32);
	WANT(!st, "movmatrix: status %u", st);
	for (unsigned l = 0; !st && l < 32; l++) {
		unsigned g = l / 4, t = l % 4;
		uint32_t want = 0;

		for (unsigned k = 0; k < 2; k++)        /* row g, column 2 t + k of the result */
			want |= (in[(2 * t + k) * 4 + g / 2] >> 16 * (g % 2) & 0xffff) << 16 * k;
		WANT(out[l] == want, "movmatrix, lane %u: 0x%x, want 0x%x", l, out[l], want);
	}
}

/* ---- cp.async --------------------------------------------------------------------------------------- */

/* The last lane reads the last bytes of the buffer; every third lane is off, with an address that is none. */
static void tn_cp(struct rig *r, unsigned bytes, unsigned threads)
{
	unsigned total = threads * bytes;
	/* what is read ends where the page does, with an unmapped gap behind it */
	unsigned char *in = rig_alloc(r, 4096), *out = rig_alloc(r, 16 * 1024), *from = in + 4096 - total;
	uint32_t st;

	WANT(in && out, "no memory");
	if (!in || !out)
		return;
	for (unsigned i = 0; i < 4096; i++)
		in[i] = (unsigned char)tn_rng();
	snprintf(tn_text, sizeof(tn_text), ".version 7.8\n.target sm_80\n.address_size 64\n"
		 ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n\t.reg .b32 %%x<8>;\n\t.reg .b64 %%q<4>;\n\t.reg .pred %%p;\n"
		 "\t.shared .align 16 .b8 sh[%u];\n\tld.param.u64 %%q0, [in];\n\tld.param.u64 %%q1, [out];\n\tmov.u32 %%x0, %%tid.x;\n"
		 "\tmad.wide.u32 %%q0, %%x0, %u, %%q0;\n\tmad.wide.u32 %%q1, %%x0, 16, %%q1;\n\tmov.u32 %%x1, sh;\n\tmad.lo.u32 %%x1, %%x0, %u, %%x1;\n"
		 "\trem.u32 %%x2, %%x0, 3;\n\tsetp.ne.u32 %%p, %%x2, 1;\n"
		 "\t@!%%p add.s64 %%q0, %%q0, 99999;\n\tmov.u32 %%x4, -1;\n", total, bytes, bytes);
	for (unsigned i = 0; i < bytes; i += 4)
		snprintf(tn_text + strlen(tn_text), 200, "\tst.shared.u32 [%%x1+%u], %%x4;\n", i);
	snprintf(tn_text + strlen(tn_text), 1000, "\t@%%p cp.async.%s.shared.global [%%x1], [%%q0], %u;\n\tcp.async.commit_group;\n\tcp.async.wait_group 0;\n"
		 "\tbar.sync 0;\n", bytes == 16 ? "cg" : "ca", bytes);
	for (unsigned i = 0; i < bytes; i += 4)
		snprintf(tn_text + strlen(tn_text), 200, "\tld.shared.u32 %%x4, [%%x1+%u];\n\tst.global.u32 [%%q1+%u], %%x4;\n", i, i);
	snprintf(tn_text + strlen(tn_text), 100, "\tret;\n}\n");
	st = tn_run(r, from, out, 1, threads);
	WANT(!st, "cp.async of %u bytes: status %u, %s", bytes, st, r->fault_what);
	for (unsigned t = 0; !st && t < threads; t++)
		for (unsigned i = 0; i < bytes; i++) {
			unsigned want = t % 3 == 1 ? 255 : from[t * bytes + i];

			WANT(out[16 * t + i] == want, "cp.async of %u, thread %u, byte %u: %u, want %u", bytes, t, i, out[16 * t + i], want);
		}
}

/* What is wrong is found wrong. */
static void tn_self(void)
{
	WANT(tn_good("f32", 0x7fffffff, NAN, 0, 0) && !tn_good("f32", 0xffc00000, NAN, 0, 0), "NaN");
	WANT(tn_good("f16", 0x3c00, 1, 0, 1) && !tn_good("f16", 0x3c01, 1, 0, 1) && !tn_good("f32", 0x3f800040, 1, 1e-7, 0), "one");
	WANT(tn_good("f16", 0x7c00, INFINITY, 0, 0) && !tn_good("f16", 0x7bff, INFINITY, 0, 0) && !tn_good("f32", 0x7f800000, 3, 1, 0), "infinity");
	WANT(tn_value("f16", 1) == ldexp(1, -24) && tn_value("bf16", 0xc040) == -3 && tn_value("tf32", 0x3f801fff) == 1, "values");
}

static unsigned check_tensor(struct rig *r)
{
	uint32_t *in = rig_alloc(r, 128 << 10), *out = rig_alloc(r, 128 << 10);
	unsigned before = interface_failures, bad;

	tn_self();
	bad = tn_mma(r, in, out);
	for (unsigned n = 1; n <= 4; n *= 2)
		for (int how = 0; how < 8; how++)
			bad += tn_ldmatrix(r, in, out, n, how & 1, how >> 1 & 1, how >> 2);
	tn_movmatrix(r, in, out, 0);
	tn_movmatrix(r, in, out, 1);
	for (unsigned bytes = 4; bytes <= 16; bytes *= 2)
		for (unsigned threads = 32; threads <= 100; threads += 34)
			tn_cp(r, bytes, threads);
	return bad + interface_failures - before;
}

#endif
