/* SPDX-License-Identifier: MIT */
/*
 * wmma from memory to memory, and mma of the types that tensor.h does not have, against plain products of the matrices: where
 * an element lies in memory says PTX ISA 9.7.14.4, in the registers of mma 9.7.14.5. Elements are small integers, so that
 * every sum is exact in every type. stmatrix is the way back of what tensor.h knows of ldmatrix. Included by optest.c.
 */
#ifndef TESTS_PTX_WMMA_H
#define TESTS_PTX_WMMA_H

#include "tensor.h"

struct wm_form {
	const char *shape, *a, *b, *c, *d;
	unsigned m, n, k;
	const char *op;         /* ".xor.popc", ".satfinite" or "" */
	unsigned ra, rb, rc, rd;
};

static const struct wm_form wm_forms[] = {
	{ "m16n16k16", "f16", "f16", "f32", "f32", 16, 16, 16, "", 8, 8, 8, 8 }, { "m16n16k16", "f16", "f16", "f16", "f16", 16, 16, 16, "", 8, 8, 4, 4 },
	{ "m16n16k16", "f16", "f16", "f32", "f16", 16, 16, 16, "", 8, 8, 8, 4 }, { "m16n16k16", "f16", "f16", "f16", "f32", 16, 16, 16, "", 8, 8, 4, 8 },
	{ "m8n32k16", "f16", "f16", "f32", "f32", 8, 32, 16, "", 8, 8, 8, 8 }, { "m8n32k16", "f16", "f16", "f16", "f16", 8, 32, 16, "", 8, 8, 4, 4 },
	{ "m32n8k16", "f16", "f16", "f32", "f32", 32, 8, 16, "", 8, 8, 8, 8 }, { "m32n8k16", "f16", "f16", "f16", "f16", 32, 8, 16, "", 8, 8, 4, 4 },
	{ "m16n16k16", "bf16", "bf16", "f32", "f32", 16, 16, 16, "", 4, 4, 8, 8 }, { "m8n32k16", "bf16", "bf16", "f32", "f32", 8, 32, 16, "", 2, 8, 8, 8 },
	{ "m32n8k16", "bf16", "bf16", "f32", "f32", 32, 8, 16, "", 8, 2, 8, 8 }, { "m16n16k8", "tf32", "tf32", "f32", "f32", 16, 16, 8, "", 4, 4, 8, 8 },
	{ "m16n16k16", "s8", "s8", "s32", "s32", 16, 16, 16, "", 2, 2, 8, 8 }, { "m8n32k16", "u8", "u8", "s32", "s32", 8, 32, 16, "", 1, 4, 8, 8 },
	{ "m32n8k16", "s8", "s8", "s32", "s32", 32, 8, 16, "", 4, 1, 8, 8 }, { "m16n16k16", "u8", "u8", "s32", "s32", 16, 16, 16, ".satfinite", 2, 2, 8, 8 },
	{ "m8n8k32", "s4", "s4", "s32", "s32", 8, 8, 32, "", 1, 1, 2, 2 }, { "m8n8k32", "u4", "u4", "s32", "s32", 8, 8, 32, ".satfinite", 1, 1, 2, 2 },
	{ "m8n8k128", "b1", "b1", "s32", "s32", 8, 8, 128, ".xor.popc", 1, 1, 2, 2 }, { "m8n8k128", "b1", "b1", "s32", "s32", 8, 8, 128, ".and.popc", 1, 1, 2, 2 },
	{ "m8n8k4", "f64", "f64", "f64", "f64", 8, 8, 4, "", 1, 1, 2, 2 },
};

static const struct wm_form wm_mma_forms[] = {
	{ "m8n8k16", "s8", "u8", "s32", "s32", 8, 8, 16, ".satfinite", 1, 1, 2, 2 }, { "m16n8k16", "u8", "s8", "s32", "s32", 16, 8, 16, ".satfinite", 2, 1, 4, 4 },
	{ "m16n8k32", "s8", "s8", "s32", "s32", 16, 8, 32, ".satfinite", 4, 2, 4, 4 }, { "m8n8k32", "s4", "u4", "s32", "s32", 8, 8, 32, "", 1, 1, 2, 2 },
	{ "m16n8k32", "u4", "s4", "s32", "s32", 16, 8, 32, ".satfinite", 2, 1, 4, 4 }, { "m16n8k64", "s4", "s4", "s32", "s32", 16, 8, 64, "", 4, 2, 4, 4 },
	{ "m8n8k128", "b1", "b1", "s32", "s32", 8, 8, 128, ".xor.popc", 1, 1, 2, 2 }, { "m16n8k128", "b1", "b1", "s32", "s32", 16, 8, 128, ".and.popc", 2, 1, 4, 4 },
	{ "m16n8k256", "b1", "b1", "s32", "s32", 16, 8, 256, ".xor.popc", 4, 2, 4, 4 }, { "m8n8k4", "f64", "f64", "f64", "f64", 8, 8, 4, "", 1, 1, 2, 2 },
	{ "m16n8k4", "f64", "f64", "f64", "f64", 16, 8, 4, "", 2, 1, 4, 4 }, { "m16n8k8", "f64", "f64", "f64", "f64", 16, 8, 8, "", 4, 2, 4, 4 },
	{ "m16n8k16", "f64", "f64", "f64", "f64", 16, 8, 16, "", 8, 4, 4, 4 }, { "m16n8k32", "e4m3", "e5m2", "f32", "f32", 16, 8, 32, "", 4, 2, 4, 4 },
	{ "m16n8k32", "e5m2", "e4m3", "f32", "f32", 16, 8, 32, "", 4, 2, 4, 4 }, { "m16n8k32", "e4m3", "e4m3", "f16", "f16", 16, 8, 32, "", 4, 2, 2, 2 },
	{ "m16n8k16", "e5m2", "e5m2", "f32", "f32", 16, 8, 16, "", 2, 1, 4, 4 },
};

static unsigned wm_bits(const char *t)
{
	return !strcmp(t, "tf32") ? 32 : t[0] == 'e' ? 8 : !strcmp(t, "bf16") ? 16 : (unsigned)atoi(t + 1);
}

static int wm_integer(const char *t)
{
	return strchr("sub", t[0]) && strcmp(t, "bf16");
}

/* A number as that type has it. */
static uint64_t wm_code(const char *t, int64_t v)
{
	double d = (double)v;
	uint64_t u;
	int e;

	if (wm_integer(t))
		return (uint64_t)v & (wm_bits(t) == 64 ? ~0ull : (1ull << wm_bits(t)) - 1);
	memcpy(&u, &d, 8);
	if (!v || !strcmp(t, "f64"))
		return u;
	e = (int)(u >> 52 & 0x7ff) - 1023;
	u = (u >> 63) << 63 | (u & ((1ull << 52) - 1));         /* sign and fraction, by hand into the shorter format */
	if (!strcmp(t, "f16"))
		return (u >> 63) << 15 | (uint64_t)(e + 15) << 10 | (u << 12 >> 54);
	if (!strcmp(t, "bf16"))
		return (u >> 63) << 15 | (uint64_t)(e + 127) << 7 | (u << 12 >> 57);
	if (!strcmp(t, "e4m3"))
		return (u >> 63) << 7 | (uint64_t)(e + 7) << 3 | (u << 12 >> 61);
	if (!strcmp(t, "e5m2"))
		return (u >> 63) << 7 | (uint64_t)(e + 15) << 2 | (u << 12 >> 62);
	return (u >> 63) << 31 | (uint64_t)(e + 127) << 23 | (u << 12 >> 41);
}

static int64_t wm_number(const char *t, int sum, const char *op)
{
	unsigned r = tn_rng();

	if (sum && !strcmp(op, ".satfinite"))
		return r % 3 == 0 ? INT32_MAX - (int)(r >> 8 & 63) : r % 3 == 1 ? INT32_MIN + (int)(r >> 8 & 63) : (int)(r % 1000);
	if (t[0] == 'b' && t[1] == '1')
		return r & 1;
	if (wm_integer(t) && !sum)
		return t[0] == 'u' ? r & ((1u << wm_bits(t)) - 1) : (int64_t)(r % (1u << wm_bits(t))) - (1 << (wm_bits(t) - 1));
	return t[0] == 'e' ? (int64_t)(r % 9) - 4 : (int64_t)(r % 17) - 8;
}

/* The matrices, and what comes out. */
static int64_t wm_a[32 * 256], wm_b[256 * 32], wm_c[32 * 32], wm_d[32 * 32];

static void wm_make(const struct wm_form *f)
{
	for (unsigned i = 0; i < f->m * f->k; i++)
		wm_a[i] = wm_number(f->a, 0, f->op);
	for (unsigned i = 0; i < f->k * f->n; i++)
		wm_b[i] = wm_number(f->b, 0, f->op);
	for (unsigned i = 0; i < f->m * f->n; i++)
		wm_c[i] = wm_number(f->c, 1, f->op);
	for (unsigned i = 0; i < f->m; i++)
		for (unsigned j = 0; j < f->n; j++) {
			int64_t s = wm_c[i * f->n + j];

			for (unsigned k = 0; k < f->k; k++) {
				int64_t x = wm_a[i * f->k + k], y = wm_b[k * f->n + j];

				s += !strcmp(f->op, ".xor.popc") ? x ^ y : !strcmp(f->op, ".and.popc") ? x & y : x * y;
			}
			if (!strcmp(f->op, ".satfinite"))
				s = s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s;
			wm_d[i * f->n + j] = s;
		}
}

/* ---- wmma ---------------------------------------------------------------------------------------- */

static void wm_put(unsigned char *mem, const char *t, unsigned at, int64_t v)
{
	unsigned bits = wm_bits(t);
	uint64_t code = wm_code(t, v);

	if (bits >= 8) {
		memcpy(mem + at * bits / 8, &code, bits / 8);
		return;
	}
	mem[at * bits / 8] = (unsigned char)(mem[at * bits / 8] | code << at * bits % 8);
}

static unsigned wm_place(int col, unsigned lead, unsigned i, unsigned j)
{
	return col ? j * lead + i : i * lead + j;
}

static void wm_list(char *out, size_t n, const char *r, unsigned count)
{
	size_t at = (size_t)snprintf(out, n, "{");

	for (unsigned i = 0; i < count; i++)
		at += (size_t)snprintf(out + at, n - at, "%s%%%s%u", i ? ", " : "", r, i);
	snprintf(out + at, n - at, "}");
}

static const char *wm_reg(const char *t, int sum)
{
	return !strcmp(t, "f64") ? "f64" : sum && !strcmp(t, "f32") ? "f32" : "b32";
}

/* how: bits for columns of a, b, c and d; pad: elements behind a row; a lies in shared memory at an odd place, or without stride */
static unsigned wm_wmma(struct rig *r, unsigned char *mem, const struct wm_form *f, unsigned how, int pad, int shared)
{
	static const char *const lay[] = { "row", "col" };
	int ca = how & 1, cb = how >> 1 & 1, cc = how >> 2 & 1, cd = how >> 3 & 1, one = !strcmp(f->a, "f16");
	unsigned p = pad ? (wm_bits(f->a) < 8 ? 128 / wm_bits(f->a) : 16) : 0, q = pad ? 8 : 0, bad = 0;
	unsigned la = (ca ? f->m : f->k) + p, lb = (cb ? f->k : f->n) + p, lc = (cc ? f->m : f->n) + q, ld = (cd ? f->m : f->n) + q;
	char a[100], b[100], c[100], d[100], ta[32], types[40];
	uint32_t st;

	if (wm_bits(f->a) < 8 && (ca || !cb))
		return 0;               /* there is no such layout */
	wm_make(f);
	memset(mem, 0, 64 << 10);
	memset(mem + (48 << 10), 0x5a, 16 << 10);
	for (unsigned k = 0; k < f->k; k++) {
		for (unsigned i = 0; i < f->m; i++)
			wm_put(mem, f->a, wm_place(ca, la, i, k), wm_a[i * f->k + k]);
		for (unsigned j = 0; j < f->n; j++)
			wm_put(mem + (16 << 10), f->b, wm_place(cb, lb, k, j), wm_b[k * f->n + j]);
	}
	for (unsigned i = 0; i < f->m; i++)
		for (unsigned j = 0; j < f->n; j++)
			wm_put(mem + (32 << 10), f->c, wm_place(cc, lc, i, j), wm_c[i * f->n + j]);
	wm_list(a, sizeof(a), "a", f->ra);
	wm_list(b, sizeof(b), "b", f->rb);
	wm_list(c, sizeof(c), "c", f->rc);
	wm_list(d, sizeof(d), "d", f->rd);
	snprintf(ta, sizeof(ta), pad || shared ? ", %%s0" : "");
	snprintf(types, sizeof(types), one ? "%s.%s" : "%s.%s.%s.%s", f->d, one ? f->c : f->a, f->b, f->c);
	snprintf(tn_text, sizeof(tn_text), ".version 7.8\n.target sm_80\n.address_size 64\n"
		 ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n\t.reg .%s %%a<8>;\n\t.reg .%s %%b<8>;\n\t.reg .%s %%c<8>;\n\t.reg .%s %%d<8>;\n"
		 "\t.reg .b32 %%s<4>, %%x<8>;\n\t.reg .b64 %%q<6>;\n\t.reg .pred %%p;\n\t.shared .align 32 .b8 sh[%u];\n\tld.param.u64 %%q0, [in];\n"
		 "\tld.param.u64 %%q1, [out];\n\tmov.u32 %%x0, %%tid.x;\n\tmov.u32 %%x1, sh;\n\tmov.u32 %%s0, %u;\n\tmov.u32 %%s1, %u;\n"
		 "MORE:\n\tmul.wide.u32 %%q2, %%x0, 16;\n\tadd.s64 %%q3, %%q0, %%q2;\n\tld.global.v4.u32 {%%x4, %%x5, %%x6, %%x7}, [%%q3];\n"
		 "\tmad.lo.u32 %%x2, %%x0, 16, %%x1;\n\tst.shared.v4.u32 [%%x2+32], {%%x4, %%x5, %%x6, %%x7};\n\tadd.u32 %%x0, %%x0, 32;\n"
		 "\tsetp.lt.u32 %%p, %%x0, 1024;\n\t@%%p bra MORE;\n\tbar.sync 0;\n"
		 "\twmma.load.a.sync.aligned.%s.%s%s.%s %s, [%s]%s;\n\twmma.load.b.sync.aligned.%s.%s.%s %s, [%%q0+16384], %u;\n"
		 "\twmma.load.c.sync.aligned.%s.%s.global.%s %s, [%%q0+32768], %%s1;\n"
		 "\twmma.mma%s.sync.aligned.%s.%s.%s.%s%s %s, %s, %s, %s;\n\twmma.store.d.sync.aligned.%s.%s.global.%s [%%q1], %s, %u;\n\tret;\n}\n",
		 wm_reg(f->a, 0), wm_reg(f->b, 0), wm_reg(f->c, 1), wm_reg(f->d, 1), 16416, la, lc, lay[ca], f->shape, shared ? ".shared" : "",
		 f->a, a, shared ? "%x1+32" : "%q0", ta, lay[cb], f->shape, f->b, b, lb, lay[cc], f->shape, f->c, c,
		 strstr(f->op, "popc") ? f->op : "", lay[ca], lay[cb], f->shape, types, strstr(f->op, "sat") ? f->op : "", d, a, b, c, lay[cd],
		 f->shape, f->d, d, ld);
	st = tn_run(r, (uint32_t *)mem, (uint32_t *)(mem + (48 << 10)), 1, 32);
	WANT(!st, "wmma %s: status %u %s\n%s", f->shape, st, r->fault_what, tn_text);
	for (unsigned i = 0; !st && i < f->m; i++)
		for (unsigned j = 0; j < f->n; j++) {
			unsigned bytes = wm_bits(f->d) / 8;
			uint64_t got = 0, want = wm_code(f->d, wm_d[i * f->n + j]);

			memcpy(&got, mem + (48 << 10) + bytes * wm_place(cd, ld, i, j), bytes);
			bad += got != want;
			WANT(got == want, "wmma.%s.%s.%s.%s%s, layouts %u, row %u, column %u: 0x%llx, want 0x%llx", f->shape, f->a, f->c, f->d, f->op,
			     how, i, j, (unsigned long long)got, (unsigned long long)want);
		}
	return bad;
}

/* ---- mma: slots of 8 bytes, of a lane 0 to 7 a, 8 to 11 b, 12 to 15 c ----------------------------------- */

/* Element (g, k) of a row of a or a column of b: per element of a word of four lanes; blocks: of 8 rows. */
static unsigned wm_slot(const char *t, unsigned g, unsigned k, unsigned blocks, unsigned *shift)
{
	unsigned per = !strcmp(t, "f64") ? 1 : 32 / wm_bits(t), wide = 4 * per;

	*shift = k % per * wm_bits(t);
	return (g % 8 * 4 + k % wide / per) * 16 + k / wide * blocks + g / 8;
}

static unsigned wm_sum_slot(const char *t, unsigned i, unsigned j, unsigned *shift)
{
	*shift = !strcmp(t, "f16") ? 16 * (j % 2) : 0;
	return (i % 8 * 4 + j / 2) * 16 + (*shift || !strcmp(t, "f16") ? i / 8 : i / 8 * 2 + j % 2);
}

static unsigned wm_mma(struct rig *r, uint64_t *mem, const struct wm_form *f, int over)
{
	char a[100], b[100], c[100], d[100];
	unsigned shift, bad = 0;
	uint64_t *out = mem + 1024;
	uint32_t st;

	wm_make(f);
	memset(mem, 0, 16 << 10);
	for (unsigned k = 0; k < f->k; k++) {
		for (unsigned i = 0; i < f->m; i++) {
			unsigned at = wm_slot(f->a, i, k, f->m / 8, &shift);

			mem[at] |= wm_code(f->a, wm_a[i * f->k + k]) << shift;
		}
		for (unsigned j = 0; j < 8; j++) {
			unsigned at = wm_slot(f->b, j, k, 1, &shift);

			mem[at + 8] |= wm_code(f->b, wm_b[k * 8 + j]) << shift;
		}
	}
	for (unsigned i = 0; i < f->m; i++)
		for (unsigned j = 0; j < 8; j++) {
			unsigned at = wm_sum_slot(f->c, i, j, &shift);

			mem[at + 12] |= wm_code(f->c, wm_c[i * 8 + j]) << shift;
		}
	wm_list(a, sizeof(a), "a", f->ra);
	wm_list(b, sizeof(b), "b", f->rb);
	wm_list(c, sizeof(c), "c", f->rc);
	/* the result in the registers of c, or of a where it has as many of the kind */
	wm_list(d, sizeof(d), over == 2 && f->ra >= f->rd && !strcmp(wm_reg(f->a, 0), wm_reg(f->d, 1)) ? "a" : over ? "c" : "d", f->rd);
	snprintf(tn_text, sizeof(tn_text), ".version 8.7\n.target sm_90\n.address_size 64\n"
		 ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n\t.reg .%s %%a<8>;\n\t.reg .%s %%b<8>;\n\t.reg .%s %%c<8>;\n\t.reg .%s %%d<8>;\n"
		 "\t.reg .b32 %%x;\n\t.reg .b64 %%q<3>;\n\tld.param.u64 %%q0, [in];\n\tld.param.u64 %%q1, [out];\n\tmov.u32 %%x, %%tid.x;\n"
		 "\tmad.wide.u32 %%q0, %%x, 128, %%q0;\n\tmad.wide.u32 %%q1, %%x, 128, %%q1;\n", wm_reg(f->a, 0), wm_reg(f->b, 0), wm_reg(f->c, 1),
		 wm_reg(f->d, 1));
	for (unsigned i = 0; i < 16; i++) {
		const char *t = i < 8 ? wm_reg(f->a, 0) : i < 12 ? wm_reg(f->b, 0) : wm_reg(f->c, 1);

		snprintf(tn_text + strlen(tn_text), 200, "\tld.global.%s %%%c%u, [%%q0+%u];\n", t, i < 8 ? 'a' : i < 12 ? 'b' : 'c', i < 8 ? i : i % 4, 8 * i);
	}
	snprintf(tn_text + strlen(tn_text), 1000, "\tmma.sync.aligned.%s.row.col.%s.%s.%s.%s%s %s, %s, %s, %s;\n", f->shape, f->d, f->a, f->b, f->c, f->op,
		 d, a, b, c);
	for (unsigned i = 0; i < f->rd; i++)
		snprintf(tn_text + strlen(tn_text), 200, "\tst.global.%s [%%q1+%u], %%%c%u;\n", wm_reg(f->d, 1), 8 * i, d[2], i);
	snprintf(tn_text + strlen(tn_text), 100, "\tret;\n}\n");
	memset(out, 0, 8 << 10);
	st = tn_run(r, (uint32_t *)mem, (uint32_t *)out, 1, 32);
	WANT(!st, "mma %s: status %u %s\n%s", f->shape, st, r->fault_what, tn_text);
	for (unsigned i = 0; !st && i < f->m; i++)
		for (unsigned j = 0; j < 8; j++) {
			unsigned bits = wm_bits(f->d), at = wm_sum_slot(f->d, i, j, &shift);
			uint64_t got = out[at] >> shift & (bits == 64 ? ~0ull : (1ull << bits) - 1), want = wm_code(f->d, wm_d[i * 8 + j]);

			bad += got != want;
			WANT(got == want, "mma.%s.%s.%s.%s%s, row %u, column %u: 0x%llx, want 0x%llx", f->shape, f->d, f->a, f->b, f->op, i, j,
			     (unsigned long long)got, (unsigned long long)want);
		}
	return bad;
}

/* ---- stmatrix --------------------------------------------------------------------------------------- */

static unsigned wm_stmatrix(struct rig *r, uint32_t *in, uint32_t *out, unsigned n, int trans)
{
	unsigned bad = 0;
	char list[64];
	uint32_t st;

	for (unsigned i = 0; i < 32 * 5; i++)
		in[i] = tn_rng();
	/* the row that lane l has the address of: all of them in another order */
	for (unsigned l = 0; l < 32; l++)
		in[32 * 4 + l] = (l * 13 + 5) % 32 * 16;
	wm_list(list, sizeof(list), "x", n);
	snprintf(tn_text, sizeof(tn_text), ".version 7.8\n.target sm_90\n.address_size 64\n"
		 ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n\t.reg .b32 %%x<8>, %%i, %%at;\n\t.reg .b64 %%q<6>;\n\t.shared .align 16 .b8 sh[512];\n"
		 "\tld.param.u64 %%q0, [in];\n\tld.param.u64 %%q1, [out];\n\tmov.u32 %%i, %%tid.x;\n\tmad.wide.u32 %%q2, %%i, 16, %%q0;\n"
		 "\tld.global.v4.u32 {%%x0, %%x1, %%x2, %%x3}, [%%q2];\n\tmad.wide.u32 %%q3, %%i, 4, %%q0;\n\tld.global.u32 %%x4, [%%q3+512];\n"
		 "\tmov.u32 %%at, sh;\n\tmad.lo.u32 %%x5, %%i, 16, %%at;\n\tmov.u32 %%x6, -1;\n\tst.shared.v4.u32 [%%x5], {%%x6, %%x6, %%x6, %%x6};\n"
		 "\tbar.sync 0;\n\tadd.u32 %%x4, %%x4, %%at;\n\tstmatrix.sync.aligned.m8n8.x%u%s.shared.b16 [%%x4], %s;\n\tbar.sync 0;\n"
		 "\tld.shared.v4.u32 {%%x0, %%x1, %%x2, %%x3}, [%%x5];\n\tmad.wide.u32 %%q1, %%i, 16, %%q1;\n\tst.global.v4.u32 [%%q1], {%%x0, %%x1, %%x2, %%x3};\n"
		 "\tret;\n}\n", n, trans ? ".trans" : "", list);
	st = tn_run(r, in, out, 1, 32);
	WANT(!st, "stmatrix.x%u: status %u %s\n%s", n, st, r->fault_what, tn_text);
	for (unsigned i = 0; !st && i < 32; i++)
		for (unsigned col = 0; col < 8; col++) {
			unsigned row = i % 8, g = trans ? col : row, t = (trans ? row : col) / 2, h = (trans ? row : col) % 2;
			unsigned at = in[32 * 4 + i] / 2 + col;
			unsigned want = i < 8 * n ? in[(4 * g + t) * 4 + i / 8] >> 16 * h & 0xffff : 0xffff, got = ((uint16_t *)out)[at];

			bad += got != want;
			WANT(got == want, "stmatrix.x%u%s, matrix %u, row %u, column %u: 0x%x, want 0x%x", n, trans ? ".trans" : "", i / 8, row, col, got, want);
		}
	return bad;
}

static unsigned check_wmma(struct rig *r)
{
	unsigned char *mem = rig_alloc(r, 64 << 10);
	unsigned before = interface_failures, bad = 0;

	for (unsigned i = 0; i < sizeof(wm_forms) / sizeof(wm_forms[0]); i++)
		for (unsigned how = 0; how < 16; how += 1 + tn_rng() % 3)
			bad += wm_wmma(r, mem, &wm_forms[i], how, tn_rng() & 1, how % 3 == 1);
	for (unsigned i = 0; i < sizeof(wm_mma_forms) / sizeof(wm_mma_forms[0]); i++)
		for (int over = 0; over < 3; over++)
			bad += wm_mma(r, (uint64_t *)mem, &wm_mma_forms[i], over);
	for (unsigned n = 1; n <= 4; n *= 2)
		for (int trans = 0; trans < 2; trans++)
			bad += wm_stmatrix(r, (uint32_t *)mem, (uint32_t *)(mem + 4096), n, trans);
	return bad + interface_failures - before;
}

#endif
