/* SPDX-License-Identifier: MIT */
/*
 * The forms of golden.c: instructions whose results the ISA leaves to the hardware, wholly (NaNs, what is out of range) or within a bound
 * (approximations, sums of matrix instructions).
 *
 * A form is statements over the operands a, b, c, e and the results d, d1, d2, d3, of types that letters name:
 *   f f32, d f64, h f16, H f16x2, r bf16, R bf16x2, i 32 bits of an integer, l 64 bits, w 16 bits, s a shift count or a lane
 */
#ifndef TESTS_PTX_GOLDEN_FORMS_H
#define TESTS_PTX_GOLDEN_FORMS_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

enum { G_EXACT, G_ULP, G_REL, G_ABS, G_LOG, G_SINE, G_SUM };

struct gform {
	const char *group;
	int how;
	double bound;           /* of a result against the hardware's: two of the ISA's, which are against the true value */
	char text[200];
	char out[8], in[24];
	int mma, values;        /* a matrix instruction, and how its operands are chosen */
};

#define G_FORMS 700
static struct gform gform[G_FORMS];
static unsigned ngforms;

static void __attribute__((format(printf, 6, 7))) g_add(const char *group, int how, double bound, const char *out, const char *in, const char *fmt, ...)
{
	struct gform *f = &gform[ngforms];
	va_list ap;

	if (ngforms == G_FORMS)
		return;
	f->group = group;
	f->how = how;
	f->bound = bound;
	snprintf(f->out, sizeof(f->out), "%s", out);
	snprintf(f->in, sizeof(f->in), "%s", in);
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	ngforms++;
}

static void g_approximations(void)
{
	static const struct { const char *name; int how; double bound; } f32[] = {
		{ "ex2.approx", G_ULP, 4 }, { "lg2.approx", G_LOG, 0x1p-21 }, { "sin.approx", G_SINE, 0x1p-19 }, { "cos.approx", G_SINE, 0x1p-19 },
		{ "rcp.approx", G_ULP, 2 }, { "rsqrt.approx", G_ULP, 4 }, { "sqrt.approx", G_ULP, 4 },
	};

	for (unsigned i = 0; i < sizeof(f32) / sizeof(f32[0]); i++)
		for (int z = 0; z < 2; z++)
			g_add("approx", f32[i].how, f32[i].bound, "f", "f", "%s%s.f32 d, a;", f32[i].name, z ? ".ftz" : "");
	for (int z = 0; z < 2; z++) {
		g_add("approx", G_ULP, 4, "f", "ff", "div.approx%s.f32 d, a, b;", z ? ".ftz" : "");
		g_add("approx", G_ULP, 4, "f", "ff", "div.full%s.f32 d, a, b;", z ? ".ftz" : "");
	}
	g_add("approx", G_REL, 0x1p-10, "f", "f", "tanh.approx.f32 d, a;");
	g_add("approx", G_REL, 0x1p-8, "h", "h", "ex2.approx.f16 d, a;");
	g_add("approx", G_REL, 0x1p-8, "H", "H", "ex2.approx.f16x2 d, a;");
	g_add("approx", G_REL, 0x1p-6, "r", "r", "ex2.approx.ftz.bf16 d, a;");
	g_add("approx", G_REL, 0x1p-6, "R", "R", "ex2.approx.ftz.bf16x2 d, a;");
	g_add("approx", G_ABS, 0x1p-9, "h", "h", "tanh.approx.f16 d, a;");
	g_add("approx", G_ABS, 0x1p-9, "H", "H", "tanh.approx.f16x2 d, a;");
	g_add("approx", G_ABS, 0x1p-7, "r", "r", "tanh.approx.bf16 d, a;");
	g_add("approx", G_ABS, 0x1p-7, "R", "R", "tanh.approx.bf16x2 d, a;");
	g_add("approx", G_REL, 0x1p-19, "d", "d", "rcp.approx.ftz.f64 d, a;");
	g_add("approx", G_REL, 0x1p-19, "d", "d", "rsqrt.approx.ftz.f64 d, a;");
}

static void g_conversions(void)
{
	static const char *const from[] = { "f32", "f64", "f16" }, *const to[] = { "s32", "u32", "s64", "u64", "s16", "u16", "s8", "u8" };
	static const char from_type[] = "fdh", *const to_type = "iillwwii";

	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 8; k++) {
			char in[2] = { from_type[i], 0 }, out[2] = { to_type[k], 0 };

			g_add("convert", G_EXACT, 0, out, in, "cvt.rzi.%s.%s d, a;", to[k], from[i]);
			g_add("convert", G_EXACT, 0, out, in, "cvt.rni.%s.%s d, a;", to[k], from[i]);
			if (i == 0)
				g_add("convert", G_EXACT, 0, out, in, "cvt.rzi.ftz.%s.f32 d, a;", to[k]);
			if (k >= 4)
				g_add("convert", G_EXACT, 0, out, in, "cvt.rmi.sat.%s.%s d, a;", to[k], from[i]);
		}
	g_add("convert", G_EXACT, 0, "d", "f", "cvt.f64.f32 d, a;");
	g_add("convert", G_EXACT, 0, "d", "f", "cvt.ftz.f64.f32 d, a;");
	g_add("convert", G_EXACT, 0, "f", "d", "cvt.rn.f32.f64 d, a;");
	g_add("convert", G_EXACT, 0, "f", "d", "cvt.rz.ftz.f32.f64 d, a;");
	g_add("convert", G_EXACT, 0, "h", "d", "cvt.rn.f16.f64 d, a;");
	g_add("convert", G_EXACT, 0, "d", "h", "cvt.f64.f16 d, a;");
	g_add("convert", G_EXACT, 0, "h", "f", "cvt.rn.f16.f32 d, a;");
	g_add("convert", G_EXACT, 0, "h", "f", "cvt.rn.ftz.f16.f32 d, a;");
	g_add("convert", G_EXACT, 0, "h", "f", "cvt.rn.satfinite.f16.f32 d, a;");
	g_add("convert", G_EXACT, 0, "f", "h", "cvt.f32.f16 d, a;");
	g_add("convert", G_EXACT, 0, "f", "h", "cvt.sat.f32.f16 d, a;");
	g_add("convert", G_EXACT, 0, "f", "f", "cvt.sat.f32.f32 d, a;");
	g_add("convert", G_EXACT, 0, "f", "f", "cvt.rni.f32.f32 d, a;");
	g_add("convert", G_EXACT, 0, "f", "f", "cvt.rpi.ftz.f32.f32 d, a;");
	g_add("convert", G_EXACT, 0, "f", "f", "cvt.rzi.sat.f32.f32 d, a;");
	g_add("convert", G_EXACT, 0, "d", "d", "cvt.rmi.f64.f64 d, a;");
	g_add("convert", G_EXACT, 0, "d", "d", "cvt.rni.sat.f64.f64 d, a;");
	g_add("convert", G_EXACT, 0, "h", "h", "cvt.rni.f16.f16 d, a;");
	g_add("convert", G_EXACT, 0, "r", "f", "cvt.rn.bf16.f32 d, a;");
	g_add("convert", G_EXACT, 0, "r", "f", "cvt.rz.bf16.f32 d, a;");
	g_add("convert", G_EXACT, 0, "r", "f", "cvt.rn.relu.bf16.f32 d, a;");
	g_add("convert", G_EXACT, 0, "f", "r", "cvt.f32.bf16 d, a;");
	g_add("convert", G_EXACT, 0, "i", "r", "cvt.rzi.s32.bf16 d, a;");
	g_add("convert", G_EXACT, 0, "r", "i", "cvt.rn.bf16.s32 d, a;");
	g_add("convert", G_EXACT, 0, "r", "h", "cvt.rn.bf16.f16 d, a;");
	g_add("convert", G_EXACT, 0, "h", "r", "cvt.rn.f16.bf16 d, a;");
	g_add("convert", G_EXACT, 0, "H", "ff", "cvt.rn.f16x2.f32 d, a, b;");
	g_add("convert", G_EXACT, 0, "H", "ff", "cvt.rn.relu.f16x2.f32 d, a, b;");
	g_add("convert", G_EXACT, 0, "H", "ff", "cvt.rz.satfinite.f16x2.f32 d, a, b;");
	g_add("convert", G_EXACT, 0, "R", "ff", "cvt.rn.bf16x2.f32 d, a, b;");
	g_add("convert", G_EXACT, 0, "R", "ff", "cvt.rn.relu.bf16x2.f32 d, a, b;");
	g_add("convert", G_EXACT, 0, "R", "ff", "cvt.rz.satfinite.bf16x2.f32 d, a, b;");
	g_add("convert", G_EXACT, 0, "i", "f", "cvt.rna.tf32.f32 d, a;");
	g_add("convert", G_EXACT, 0, "i", "f", "cvt.rn.tf32.f32 d, a;");
	g_add("convert", G_EXACT, 0, "i", "f", "cvt.rz.relu.tf32.f32 d, a;");
	g_add("convert", G_EXACT, 0, "i", "f", "cvt.rna.satfinite.tf32.f32 d, a;");
	g_add("convert", G_EXACT, 0, "w", "ff", "cvt.rn.satfinite.e4m3x2.f32 d, a, b;");
	g_add("convert", G_EXACT, 0, "w", "ff", "cvt.rn.satfinite.e5m2x2.f32 d, a, b;");
	g_add("convert", G_EXACT, 0, "w", "ff", "cvt.rn.satfinite.relu.e4m3x2.f32 d, a, b;");
	g_add("convert", G_EXACT, 0, "w", "H", "cvt.rn.satfinite.e4m3x2.f16x2 d, a;");
	g_add("convert", G_EXACT, 0, "w", "H", "cvt.rn.satfinite.relu.e5m2x2.f16x2 d, a;");
	g_add("convert", G_EXACT, 0, "H", "w", "cvt.rn.f16x2.e4m3x2 d, a;");
	g_add("convert", G_EXACT, 0, "H", "w", "cvt.rn.f16x2.e5m2x2 d, a;");
	g_add("convert", G_EXACT, 0, "H", "w", "cvt.rn.relu.f16x2.e5m2x2 d, a;");
	g_add("convert", G_EXACT, 0, "i", "iii", "cvt.pack.sat.s8.s32.b32 d, a, b, c;");
	g_add("convert", G_EXACT, 0, "i", "iii", "cvt.pack.sat.u8.s32.b32 d, a, b, c;");
	g_add("convert", G_EXACT, 0, "i", "ii", "cvt.pack.sat.s16.s32 d, a, b;");
	g_add("convert", G_EXACT, 0, "i", "ii", "cvt.pack.sat.u16.s32 d, a, b;");
	g_add("convert", G_EXACT, 0, "f", "l", "cvt.rz.f32.s64 d, a;");
	g_add("convert", G_EXACT, 0, "f", "l", "cvt.rp.f32.u64 d, a;");
	g_add("convert", G_EXACT, 0, "h", "l", "cvt.rn.f16.u64 d, a;");
	g_add("convert", G_EXACT, 0, "h", "i", "cvt.rn.f16.u32 d, a;");
	g_add("convert", G_EXACT, 0, "h", "i", "cvt.rz.f16.s32 d, a;");
}

static void g_nans(void)
{
	static const char *const type[] = { "f32", "f64", "f16", "f16x2", "bf16", "bf16x2" }, letter[] = "fdhHrR";

	for (int t = 0; t < 6; t++) {
		char out[2] = { letter[t], 0 }, in[4] = { letter[t], letter[t], letter[t], 0 };
		const char *y = type[t];

		for (int max = 0; max < 2; max++) {
			const char *m = max ? "max" : "min";

			g_add("minmax", G_EXACT, 0, out, in + 1, "%s.%s d, a, b;", m, y);
			if (t == 0 || t == 2)
				g_add("minmax", G_EXACT, 0, out, in + 1, "%s.ftz.%s d, a, b;", m, y);
			if (t != 1)
				g_add("minmax", G_EXACT, 0, out, in + 1, "%s.NaN.%s d, a, b;", m, y);
			if (t != 1)
				g_add("minmax", G_EXACT, 0, out, in + 1, "%s.xorsign.abs.%s d, a, b;", m, y);
			if (t == 0)
				g_add("minmax", G_EXACT, 0, out, in + 1, "%s.ftz.NaN.xorsign.abs.f32 d, a, b;", m);
		}
		g_add("nan", G_EXACT, 0, out, in + 2, "neg.%s d, a;", y);
		g_add("nan", G_EXACT, 0, out, in + 2, "abs.%s d, a;", y);
		g_add("nan", G_EXACT, 0, out, in, "fma.rn.%s d, a, b, c;", y);
		if (t != 1)
			g_add("nan", G_EXACT, 0, out, in + 1, t < 1 || t == 2 || t == 3 ? "add.ftz.%s d, a, b;" : "add.%s d, a, b;", y);
		g_add("nan", G_EXACT, 0, out, in + 1, "add.%s%s d, a, b;", t == 1 ? "rn." : t < 1 ? "rz." : "rn.", y);
		g_add("nan", G_EXACT, 0, out, in + 1, "sub.%s d, a, b;", y);
		g_add("nan", G_EXACT, 0, out, in + 1, "mul.%s d, a, b;", y);
		if (t > 1)
			g_add("nan", G_EXACT, 0, out, in, "fma.rn.relu.%s d, a, b, c;", y);
		if (t == 0 || t == 2 || t == 3) {
			g_add("nan", G_EXACT, 0, out, in, "fma.rn.sat.%s d, a, b, c;", y);
			g_add("nan", G_EXACT, 0, out, in, "fma.rn.ftz.%s d, a, b, c;", y);
			g_add("nan", G_EXACT, 0, out, in + 1, "add.sat.%s d, a, b;", y);
			g_add("nan", G_EXACT, 0, out, in + 1, "mul.ftz.sat.%s d, a, b;", y);
		}
		if (t > 1) {
			g_add("nan", G_EXACT, 0, out, in + 1, "set.lt.%s.%s d, a, b;", y, y);
			g_add("nan", G_EXACT, 0, out, in + 1, "set.neu.%s.%s d, a, b;", y, y);
			continue;
		}
		g_add("nan", G_EXACT, 0, out, in + 1, "div.rn.%s d, a, b;", y);
		g_add("nan", G_EXACT, 0, out, in + 2, "rcp.rn.%s d, a;", y);
		g_add("nan", G_EXACT, 0, out, in + 2, "sqrt.rn.%s d, a;", y);
		g_add("nan", G_EXACT, 0, out, in + 1, "copysign.%s d, a, b;", y);
		g_add("nan", G_EXACT, 0, "i", in + 1, "set.lt.u32.%s d, a, b;", y);
		g_add("nan", G_EXACT, 0, "i", in + 1, "set.geu.s32.%s d, a, b;", y);
		g_add("nan", G_EXACT, 0, "f", in + 1, "set.num.f32.%s d, a, b;", y);
		for (int k = 0; k < 6; k++) {
			static const char *const test[] = { "finite", "infinite", "number", "notanumber", "normal", "subnormal" };

			g_add("nan", G_EXACT, 0, "i", in + 2, "testp.%s.%s p, a; selp.u32 d, 1, 0, p;", test[k], y);
		}
	}
	g_add("nan", G_EXACT, 0, "f", "ff", "add.rm.f32 d, a, b;");
	g_add("nan", G_EXACT, 0, "f", "ff", "sub.ftz.f32 d, a, b;");
	g_add("nan", G_EXACT, 0, "f", "ff", "div.rz.ftz.f32 d, a, b;");
	g_add("nan", G_EXACT, 0, "f", "f", "sqrt.rn.ftz.f32 d, a;");
	g_add("nan", G_EXACT, 0, "f", "f", "rcp.rp.ftz.f32 d, a;");
	g_add("nan", G_EXACT, 0, "f", "f", "abs.ftz.f32 d, a;");
	g_add("nan", G_EXACT, 0, "f", "f", "neg.ftz.f32 d, a;");
	g_add("nan", G_EXACT, 0, "i", "iif", "slct.u32.f32 d, a, b, c;");
	g_add("nan", G_EXACT, 0, "i", "iif", "slct.ftz.s32.f32 d, a, b, c;");
}

static void g_integers(void)
{
	static const char *const type[] = { "s32", "u32", "s64", "u64", "s16", "u16" }, *const letter = "iillww";
	static const char *const modes[] = { "", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16" };

	for (int t = 0; t < 6; t++) {
		char out[2] = { letter[t], 0 }, in[4] = { letter[t], letter[t], letter[t], 0 };

		g_add("integer", G_EXACT, 0, out, in + 1, "div.%s d, a, b;", type[t]);
		g_add("integer", G_EXACT, 0, out, in + 1, "rem.%s d, a, b;", type[t]);
		g_add("integer", G_EXACT, 0, out, in, "sad.%s d, a, b, c;", type[t]);
		in[2] = 's';
		in[3] = 0;
		g_add("integer", G_EXACT, 0, out, in + 1, "shr.%s d, a, b;", type[t]);
		if (t & 1)
			g_add("integer", G_EXACT, 0, out, in + 1, "shl.b%s d, a, b;", type[t] + 1);
		if (t > 3)
			continue;
		g_add("integer", G_EXACT, 0, out, t > 1 ? "lss" : "iss", "bfe.%s d, a, b, c;", type[t]);
		g_add("integer", G_EXACT, 0, "i", t > 1 ? "l" : "i", "bfind.%s d, a;", type[t]);
		g_add("integer", G_EXACT, 0, "i", t > 1 ? "l" : "i", "bfind.shiftamt.%s d, a;", type[t]);
		if (t < 2) {
			g_add("integer", G_EXACT, 0, "i", "ii", "mul24.lo.%s d, a, b;", type[t]);
			g_add("integer", G_EXACT, 0, "i", "ii", "mul24.hi.%s d, a, b;", type[t]);
			g_add("integer", G_EXACT, 0, "i", "iii", "mad24.hi.%s d, a, b, c;", type[t]);
			g_add("integer", G_EXACT, 0, "i", "is", "szext.clamp.%s d, a, b;", type[t]);
			g_add("integer", G_EXACT, 0, "i", "is", "szext.wrap.%s d, a, b;", type[t]);
		}
	}
	g_add("integer", G_EXACT, 0, "i", "iiss", "bfi.b32 d, a, b, c, e;");
	g_add("integer", G_EXACT, 0, "l", "llss", "bfi.b64 d, a, b, c, e;");
	for (int m = 0; m < 7; m++)
		g_add("integer", G_EXACT, 0, "i", "iii", "prmt.b32%s d, a, b, c;", modes[m]);
	for (int m = 0; m < 4; m++)
		g_add("integer", G_EXACT, 0, "i", "iis", "shf.%s.%s.b32 d, a, b, c;", m & 1 ? "l" : "r", m & 2 ? "wrap" : "clamp");
	g_add("integer", G_EXACT, 0, "i", "ss", "bmsk.clamp.b32 d, a, b;");
	g_add("integer", G_EXACT, 0, "i", "ss", "bmsk.wrap.b32 d, a, b;");
	g_add("integer", G_EXACT, 0, "i", "iss", "fns.b32 d, a, b, c;");
	g_add("integer", G_EXACT, 0, "i", "iis", "dp2a.hi.s32.u32 d, a, b, c;");
	g_add("integer", G_EXACT, 0, "i", "w", "cvt.s32.s8 d, a;");
	g_add("integer", G_EXACT, 0, "i", "iii", "vshl.u32.u32.u32.clamp.add d, a, b, c;");
	g_add("integer", G_EXACT, 0, "i", "iii", "vmad.s32.s32.s32.shr7.sat d, a, b, c;");
	g_add("integer", G_EXACT, 0, "i", "iii", "vabsdiff.s32.s32.s32.sat.min d, a, b, c;");
}

/* b names a lane, c the clamp and the segments; and lanes that are not among those that take part. */
static void g_lanes(void)
{
	static const char *const how[] = { "idx", "up", "down", "bfly" };

	for (int m = 0; m < 4; m++) {
		g_add("lanes", G_EXACT, 0, "ii", "is", "shfl.sync.%s.b32 d|p, a, b, 31, -1; selp.u32 d1, 1, 0, p;", how[m]);
		g_add("lanes", G_EXACT, 0, "ii", "iss", "shfl.sync.%s.b32 d|p, a, b, c, -1; selp.u32 d1, 1, 0, p;", how[m]);
		g_add("lanes", G_EXACT, 0, "ii", "iss",
		      "and.b32 t, l, 1; setp.ne.u32 q, t, 0; mov.u32 d, 7; mov.u32 d1, 7; @q shfl.sync.%s.b32 d|p, a, b, c, 0xaaaaaaaa; @q selp.u32 d1, 1, 0, p;", how[m]);
		g_add("lanes", G_EXACT, 0, "ii", "iss",
		      "setp.lt.u32 q, l, 20; mov.u32 d, 7; mov.u32 d1, 7; @q shfl.sync.%s.b32 d|p, a, b, c, 0x000fffff; @q selp.u32 d1, 1, 0, p;", how[m]);
	}
	g_add("lanes", G_EXACT, 0, "i", "i", "and.b32 t, a, 3; match.any.sync.b32 d, t, -1;");
	g_add("lanes", G_EXACT, 0, "i", "i", "redux.sync.add.s32 d, a, -1;");
}

/* bound: of sum_of_most() (golden_compare.h): one f32 addition more, or what fewer bits in between leave of eight-bit formats; f16 and f64 are alike */
static void g_matrix(const char *shape, const char *types, const char *out, const char *in, double bound)
{
	for (int v = 0; v < 3; v++) {
		unsigned at = ngforms;

		g_add("mma", G_SUM, bound, out, in, "mma.sync.aligned.%s.row.col.%s; %d", shape, types, v);
		if (at < ngforms) {
			gform[at].mma = 1;
			gform[at].values = v;
		}
	}
}

static void g_forms(void)
{
	g_approximations();
	g_conversions();
	g_nans();
	g_integers();
	g_lanes();
	/* operands: x f16 pairs, y bf16 pairs, t tf32, q e4m3, v e5m2 */
	g_matrix("m16n8k8", "f32.f16.f16.f32", "ffff", "xx|x|ffff", 0x1p-24);
	g_matrix("m16n8k16", "f32.f16.f16.f32", "ffff", "xxxx|xx|ffff", 0x1p-24);
	g_matrix("m16n8k8", "f16.f16.f16.f16", "xx", "xx|x|xx", 0);
	g_matrix("m16n8k16", "f16.f16.f16.f16", "xx", "xxxx|xx|xx", 0);
	g_matrix("m16n8k8", "f32.bf16.bf16.f32", "ffff", "yy|y|ffff", 0x1p-24);
	g_matrix("m16n8k16", "f32.bf16.bf16.f32", "ffff", "yyyy|yy|ffff", 0x1p-24);
	g_matrix("m16n8k4", "f32.tf32.tf32.f32", "ffff", "tt|t|ffff", 0x1p-24);
	g_matrix("m16n8k8", "f32.tf32.tf32.f32", "ffff", "tttt|tt|ffff", 0x1p-24);
	g_matrix("m16n8k32", "f32.e4m3.e4m3.f32", "ffff", "qqqq|qq|ffff", 0x1p-21);
	g_matrix("m16n8k32", "f32.e5m2.e5m2.f32", "ffff", "vvvv|vv|ffff", 0x1p-21);
	g_matrix("m16n8k32", "f32.e4m3.e5m2.f32", "ffff", "qqqq|vv|ffff", 0x1p-21);
	g_matrix("m8n8k4", "f64.f64.f64.f64", "dd", "d|d|dd", 0);
	g_matrix("m16n8k4", "f64.f64.f64.f64", "dddd", "dd|d|dddd", 0);
	g_matrix("m16n8k8", "f64.f64.f64.f64", "dddd", "dddd|dd|dddd", 0);
	g_matrix("m16n8k16", "f64.f64.f64.f64", "dddd", "dddddddd|dddd|dddd", 0);
}

#endif
