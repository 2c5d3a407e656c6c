/* SPDX-License-Identifier: MIT */
/*
 * Random kernels for jitdiff.c: this file makes straight code and memory accesses, gen_more.h rarer shapes, gen_kernel.h what goes on between lanes,
 * control flow and the whole. The same seed gives the same kernel, and a kernel's result does not depend on how it
 * is run: no races, no value that the ISA leaves open except the bits of a NaN, which therefore stay in float registers
 * and in memory that is compared as floats.
 *
 * A kernel is a list of units, each a few lines of text that stay together. Units of control flow belong to a
 * region, from its first to its last unit; the others may be left out one by one and the kernel is still sound. That
 * is what jitdiff.c's shrinking relies on.
 *
 * Registers: r varying 32-bit, u 32-bit and the same in a whole block (written where all threads are, from their
 * like only), q 64-bit, h 16-bit, f f32, d f64, p and v predicates (varying, of a block). Of u and v the first ones are *plain*:
 * only instructions that keep what is one for all a scalar write them, from their like, so that a compiler can know them to be
 * one for all. Fixed registers have names of their own. Where threads are together is known while the text is made: `ctx`.
 */
#ifndef TESTS_PTX_GEN_H
#define TESTS_PTX_GEN_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GEN_IN_BYTES 131072u    /* of input; the kernel reads nothing behind them */
#define GEN_OWN_BYTES 128u      /* of a thread's own memory: 64 of integers, 64 of floats */
#define GEN_ACC 16u             /* words that all threads add to */
#define GEN_MAX_THREADS 512u    /* of a block */
#define GEN_UNITS 2048u
#define GEN_REGIONS 256u

#define GEN_KINDS 6u            /* letters of destinations */
#define GEN_TEMPS 64u           /* registers of each kind for what units need on the way */
#define GEN_FRESH 96u           /* registers of each width that have no value from the start */
#define GEN_FORKS 96u           /* conditions and loops that have registers of their own */
#define GEN_PLAIN_V 2u          /* predicates of a block that are plain */

#define GEN_COUNT(a) ((unsigned)(sizeof(a) / sizeof((a)[0])))

enum gen_ctx { TOGETHER, BY_WARP, APART };      /* all threads of a block, all of a warp, any */
enum gen_uniform { GEN_VARYING, GEN_OF_BLOCK, GEN_PLAIN };

struct gen_unit {
	char *text;
	int fixed;
	int region;             /* fixed and part of the frame of this region; -1: of the kernel, or not fixed */
	int head;               /* declarations: names registers without using them */
	char reg[8];            /* gives this register its first value; "": does not */
};

struct gen {
	uint64_t state;
	struct gen_unit unit[GEN_UNITS];
	unsigned units;
	struct { unsigned first, last; } region[GEN_REGIONS];
	unsigned regions, labels;
	unsigned nr, nu, nq, nh, nf, nd, np;    /* registers of each class */
	unsigned plain;                         /* of nu: these are plain */
	unsigned forks;                         /* conditions and loops so far */
	unsigned counters;                      /* the unit that gives loops' counters a value, for those that lose their loop */
	unsigned budget;                        /* units still to make */
	unsigned depth, loops, loop;            /* loop: number of the innermost one */
	enum gen_ctx ctx;
	int full_warps;                         /* block sizes are multiples of 32 */
	int ftz;                                /* 0 never, 1 always, 2 as it comes */
	int calls, local, approx, soa;
	int judged;                             /* by scalar threads: only what these know, where there is a choice */
	int rare;                               /* what is written seldom, often */
	int mine;                               /* each thread has some shared memory of its own */
	int common;                             /* mostly what compilers write, instructions that are translated as they are */
	int quiet;                              /* nothing between threads: they may end anywhere */
	unsigned longer;                        /* trips of a loop that is still to come */
	int fault;                              /* meant to */
	int open;                               /* where it does is open */
	int low;                                /* buffers begin where the span does, behind memory of nobody */
	int faulty;                             /* one lane goes wrong somewhere */
	int exchanging;                         /* shared memory is in use around here */
	int mask;                               /* register with the lanes that are here, -1: none */
	unsigned targets[16], ntargets;         /* labels that varying code may jump ahead to */
	unsigned uniform_loops;                 /* around here */
	unsigned int_places, float_places;      /* of gen_scatter() that are taken */
	/* gen_pair.h: one operand of a pattern is chosen, not taken at random */
	const char *value;                      /* $V */
	const char *to[GEN_KINDS];              /* destinations of each letter of gen_kinds; NULL: any */
	const char *from;                       /* the source `from_at` of the letters in `from_of`; NULL: none */
	const char *from_of;
	unsigned from_at;
	unsigned fresh;                         /* registers without a definition of their own that are taken */
	unsigned pairs, pairs_wait;             /* units of pairs so far; pairs that wait for a place where they may stand */
	struct { unsigned char from, to; } wait[16];
	int paired;                             /* it has them at all */
	int chained;                            /* gen_chain.h's chain is made */
	int counted;                            /* gen_count.h's loop is */
	unsigned turn;                          /* tens of seeds before this one */
};

static const char gen_kinds[GEN_KINDS + 1] = "RQHFDP";

static uint64_t gen_rng(struct gen *g)
{
	g->state ^= g->state << 13;
	g->state ^= g->state >> 7;
	g->state ^= g->state << 17;
	return g->state * 0x2545f4914f6cdd1dull >> 11;
}

/* Are scalar threads to run kernel `seed` too? They are slow. */
static int gen_is_judged(uint64_t seed)
{
	return seed % 5 < 3;
}

static unsigned gen_pick(struct gen *g, unsigned n)
{
	return (unsigned)(gen_rng(g) % n);
}

static int gen_one_in(struct gen *g, unsigned n)
{
	return gen_pick(g, n) == 0;
}

/*
 * What a unit needs on the way is written there and nowhere else, as in a compiler's code: lives are short, and what is known of
 * a value is not what is known of all that ever had its name. Some units share names after all.
 */
static const char *const gen_temps[] = { "%zx", "%zy", "%zz", "%zu", "%zr", "%zf", "%zm", "%zn", "%zl", "%zc", "%zh", "%zq", "%zo", "%zp",
					 "%rx", "%ry", "%qx", "%qy", "%hx", "%hy", "%ft", "%po", "%ux" };

static void gen_rename(char *text, size_t n, unsigned number)
{
	char out[8192];
	size_t k = 0;

	for (const char *s = text; *s && k + 16 < sizeof(out);) {
		unsigned i = 0;

		while (i < GEN_COUNT(gen_temps) && (strncmp(s, gen_temps[i], 3) || (s[3] >= '0' && s[3] <= '9') || (s[3] >= 'a' && s[3] <= 'z')))
			i++;
		if (i == GEN_COUNT(gen_temps)) {
			out[k++] = *s++;
			continue;
		}
		k += (size_t)snprintf(out + k, sizeof(out) - k, "%%s%s%u", gen_temps[i] + 1, number % GEN_TEMPS);
		s += 3;
	}
	out[k] = 0;
	if (k >= n)
		abort();
	memcpy(text, out, k + 1);
}

static void gen_add(struct gen *g, int fixed, int region, const char *text)
{
	char own[8192];

	if (g->units == GEN_UNITS)
		abort();
	if (!fixed && !gen_one_in(g, 3)) {
		snprintf(own, sizeof(own), "%s", text);
		gen_rename(own, sizeof(own), g->units);
		text = own;
	}
	g->unit[g->units++] = (struct gen_unit){ .text = strdup(text), .fixed = fixed, .region = region };
}

static void __attribute__((format(printf, 3, 4))) gen_frame(struct gen *g, int region, const char *fmt, ...)
{
	char text[6144];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gen_add(g, 1, region, text);
}

static int gen_region(struct gen *g)
{
	if (g->regions == GEN_REGIONS)
		abort();
	g->region[g->regions].first = g->units;
	return (int)g->regions++;
}

static void gen_region_end(struct gen *g, int region)
{
	g->region[region].last = g->units - 1;
}

/* ---- instructions: patterns with letters for operands -------------------------------------------- */

/*
 * $R $Q $H $F $D $P: a destination of that class; $r (or an immediate: $i) $q $h $f $d $p: sources. $Z: ".ftz" or
 * nothing. $x, $y: temporaries of 32 bits, $X 64 bits, $O a predicate. $c: a comparison. $n: 0..63.
 * A pattern of $R, $r, $i, $P, $p, $n only can also be of the uniform kind.
 */
static const char *const gen_int[] = {
	"add.s32 $R, $r, $i;", "sub.s32 $R, $r, $i;", "sub.u32 $R, $i, $r;", "mul.lo.s32 $R, $r, $i;",
	"mul.hi.u32 $R, $r, $i;", "mul.hi.s32 $R, $r, $i;", "mad.lo.s32 $R, $r, $i, $r;", "mad.hi.u32 $R, $r, $i, $r;",
	"min.s32 $R, $r, $i;", "max.s32 $R, $r, $i;", "min.u32 $R, $r, $i;", "max.u32 $R, $r, $i;",
	"and.b32 $R, $r, $i;", "or.b32 $R, $r, $i;", "xor.b32 $R, $r, $i;", "not.b32 $R, $r;", "cnot.b32 $R, $r;",
	"shl.b32 $R, $r, $n;", "shr.u32 $R, $r, $n;", "shr.s32 $R, $r, $n;", "shl.b32 $R, $r, $r;", "shr.s32 $R, $r, $r;",
	"abs.s32 $R, $r;", "neg.s32 $R, $r;", "popc.b32 $R, $r;", "clz.b32 $R, $r;", "bfind.u32 $R, $r;",
	"bfind.s32 $R, $r;", "brev.b32 $R, $r;", "bfe.u32 $R, $r, $n, $n;", "bfe.s32 $R, $r, $r, $n;",
	"bfi.b32 $R, $r, $r, $n, $n;", "prmt.b32 $R, $r, $r, $i;", "prmt.b32 $R, $r, $r, $r;",
	"lop3.b32 $R, $r, $r, $r, 0x96;", "lop3.b32 $R, $r, $r, $i, 0xca;", "shf.l.wrap.b32 $R, $r, $r, $n;",
	"shf.r.clamp.b32 $R, $r, $r, $r;", "dp4a.s32.s32 $R, $r, $r, $r;", "dp4a.u32.s32 $R, $r, $r, $r;",
	"dp2a.lo.s32.s32 $R, $r, $r, $r;", "sad.s32 $R, $r, $i, $r;", "selp.b32 $R, $r, $i, $p;",
	"slct.s32.s32 $R, $r, $r, $r;", "set.lt.u32.s32 $R, $r, $i;", "mul24.lo.u32 $R, $r, $r;", "mov.u32 $R, $i;",
	"add.sat.s32 $R, $r, $r;", "add.cc.u32 $x, $r, $r;\n\taddc.u32 $R, $x, $r;", "mov.u32 $R, $r;",
	"or.b32 $x, $r, 1;\n\tdiv.u32 $R, $r, $x;", "or.b32 $x, $r, 1;\n\trem.u32 $R, $r, $x;",
	"and.b32 $x, $r, 0x7ffffffe;\n\tor.b32 $x, $x, 1;\n\tdiv.s32 $R, $r, $x;",
	"setp.$c.s32 $P, $r, $i;", "setp.$c.u32 $P, $r, $i;", "setp.$c.s32 $P, $r, $r;", "setp.ne.and.b32 $P, $r, $i, $p;",
	"and.pred $P, $p, $p;", "xor.pred $P, $p, $p;", "not.pred $P, $p;", "mov.pred $P, !$p;", "or.pred $P, !$p, $p;", "and.b32 $x, $r, $n;\n\tsetp.eq.u32 $P, $x, 0;",
};
static const char *const gen_wide[] = {
	"mul.wide.s32 $Q, $r, $i;", "mul.wide.u32 $Q, $r, $r;", "mad.wide.u32 $Q, $r, $r, $q;", "cvt.u64.u32 $Q, $r;",
	"cvt.s64.s32 $Q, $r;", "cvt.u32.u64 $R, $q;", "add.s64 $Q, $q, $q;", "sub.s64 $Q, $q, $q;", "mul.lo.s64 $Q, $q, $q;",
	"mul.hi.u64 $Q, $q, $q;", "mad.lo.s64 $Q, $q, $q, $q;", "and.b64 $Q, $q, $q;", "xor.b64 $Q, $q, 0x123456789;",
	"shl.b64 $Q, $q, $n;", "shr.u64 $Q, $q, $r;", "shr.s64 $Q, $q, $n;", "min.s64 $Q, $q, $q;", "max.u64 $Q, $q, $q;",
	"popc.b64 $R, $q;", "clz.b64 $R, $q;", "brev.b64 $Q, $q;", "bfe.s64 $Q, $q, $n, $n;", "neg.s64 $Q, $q;",
	"setp.$c.s64 $P, $q, $q;", "setp.$c.u64 $P, $q, $q;", "selp.b64 $Q, $q, $q, $p;", "mov.b64 $Q, {$r, $r};",
	"mov.b64 {$x, $y}, $q;\n\txor.b32 $R, $x, $y;", "mov.u64 $Q, $q;",
	"or.b64 $X, $q, 1;\n\tdiv.u64 $Q, $q, $X;", "or.b64 $X, $q, 1;\n\trem.u64 $Q, $q, $X;",
	/* 16 bits */
	"cvt.u16.u32 $H, $r;", "cvt.s32.s16 $R, $h;", "cvt.u32.u16 $R, $h;", "add.s16 $H, $h, $h;", "mul.lo.u16 $H, $h, $h;",
	"mul.wide.u16 $R, $h, $h;", "mul.wide.s16 $R, $h, $h;", "and.b16 $H, $h, $h;", "shl.b16 $H, $h, $r;",
	"shr.s16 $H, $h, $r;", "min.s16 $H, $h, $h;", "max.u16 $H, $h, $h;", "setp.$c.s16 $P, $h, $h;", "sub.u16 $H, $h, $h;",
	"mov.b32 $R, {$h, $h};", "selp.b16 $H, $h, $h, $p;", "cvt.s32.s8 $R, $r;", "cvt.u32.u8 $R, $r;", "cvt.s16.s8 $H, $h;",
	"cvt.sat.s16.s32 $H, $r;", "cvt.sat.u8.s32 $R, $r;", "cvt.s64.s16 $Q, $h;",
};
static const char *const gen_float[] = {
	"add$Z.f32 $F, $f, $f;", "sub$Z.f32 $F, $f, $f;", "mul$Z.f32 $F, $f, $f;", "fma.rn$Z.f32 $F, $f, $f, $f;",
	"fma.rn$Z.f32 $F, $f, $f, $f;", "add.rz$Z.f32 $F, $f, $f;", "mul.rp$Z.f32 $F, $f, $f;", "fma.rm$Z.f32 $F, $f, $f, $f;",
	"mul.rn$Z.sat.f32 $F, $f, $f;", "add$Z.sat.f32 $F, $f, $f;", "mul$Z.f32 $F, $f, 0f3F000000;",
	"add$Z.f32 $F, $f, 0f3FC00000;", "min$Z.f32 $F, $f, $f;", "max$Z.f32 $F, $f, $f;", "max$Z.NaN.f32 $F, $f, $f;",
	"abs$Z.f32 $F, $f;", "neg$Z.f32 $F, $f;", "div.rn$Z.f32 $F, $f, $f;", "sqrt.rn$Z.f32 $F, $f;", "rcp.rn$Z.f32 $F, $f;",
	"selp.f32 $F, $f, $f, $p;", "slct.f32.s32 $F, $f, $f, $r;", "mov.f32 $F, $f;",
	"mov.f32 $F, 0f00000001;", "mov.b32 $F, $r;", "setp.lt$Z.f32 $P, $f, $f;", "setp.geu$Z.f32 $P, $f, $f;",
	"setp.eq$Z.f32 $P, $f, 0f00000000;", "setp.num$Z.f32 $P, $f, $f;", "setp.gt.or$Z.f32 $P, $f, $f, $p;",
	"testp.finite.f32 $P, $f;", "set.lt$Z.u32.f32 $R, $f, $f;", "cvt.rn.f32.s32 $F, $r;", "cvt.rn.f32.u32 $F, $r;",
	"cvt.rz.f32.s64 $F, $q;", "cvt.rzi$Z.s32.f32 $R, $f;", "cvt.rni$Z.s32.f32 $R, $f;", "cvt.rzi$Z.u32.f32 $R, $f;",
	"cvt.rmi$Z.s64.f32 $Q, $f;", "cvt.rni$Z.f32.f32 $F, $f;", "cvt.rpi$Z.f32.f32 $F, $f;", "cvt.sat$Z.f32.f32 $F, $f;",
	"cvt.rn.f32.u16 $F, $h;", "cvt.f32.f16 $F, $h;", "cvt$Z.f64.f32 $D, $f;", "cvt.rn$Z.f32.f64 $F, $d;",
	/* a float becomes an integer: its NaN is made one that is known */
	"setp.nan.f32 $O, $f1, $f1;\n\tmov.b32 $x, $f1;\n\tselp.b32 $R, 0x7fffffff, $x, $O;",
	"setp.nan.f32 $O, $f1, $f1;\n\tselp.f32 %ft, 0f00000000, $f1, $O;\n\tcvt.rn$Z.f16.f32 $H, %ft;",
	"add.f64 $D, $d, $d;", "mul.f64 $D, $d, $d;", "fma.rn.f64 $D, $d, $d, $d;", "sub.rz.f64 $D, $d, $d;",
	"min.f64 $D, $d, $d;", "div.rn.f64 $D, $d, $d;", "cvt.rn.f64.s32 $D, $r;", "cvt.rzi.s32.f64 $R, $d;",
	"setp.lt.f64 $P, $d, $d;", "selp.f64 $D, $d, $d, $p;", "mov.b64 $D, $q;",
};
/* what most of a compiler's code consists of */
static const char *const gen_plain[] = {
	"add.s32 $R, $r, $i;", "sub.s32 $R, $r, $i;", "mul.lo.s32 $R, $r, $i;", "mad.lo.s32 $R, $r, $i, $r;",
	"min.s32 $R, $r, $i;", "max.u32 $R, $r, $i;", "and.b32 $R, $r, $i;", "or.b32 $R, $r, $i;", "xor.b32 $R, $r, $r;",
	"not.b32 $R, $r;", "shl.b32 $R, $r, $n;", "shr.u32 $R, $r, $n;", "shr.s32 $R, $r, $n;", "shl.b32 $R, $r, 2;",
	"bfe.u32 $R, $r, 4, 8;", "prmt.b32 $R, $r, $r, 0x5410;", "dp4a.s32.s32 $R, $r, $r, $r;", "selp.b32 $R, $r, $i, $p;",
	"mov.u32 $R, $i;", "mov.u32 $R, $r;", "neg.s32 $R, $r;", "abs.s32 $R, $r;", "mul.hi.u32 $R, $r, $i;",
	"setp.$c.s32 $P, $r, $i;", "setp.$c.u32 $P, $r, $r;", "and.pred $P, $p, $p;", "not.pred $P, $p;",
};
static const char *const gen_plain_more[] = {
	"mul.wide.s32 $Q, $r, $i;", "mul.wide.u32 $Q, $r, 4;", "mad.wide.u32 $Q, $r, $r, $q;", "cvt.u64.u32 $Q, $r;",
	"cvt.s64.s32 $Q, $r;", "cvt.u32.u64 $R, $q;", "add.s64 $Q, $q, $q;", "sub.s64 $Q, $q, $q;", "mul.lo.s64 $Q, $q, $q;",
	"and.b64 $Q, $q, $q;", "shl.b64 $Q, $q, $n;", "shr.u64 $Q, $q, $n;", "min.s64 $Q, $q, $q;", "setp.$c.s64 $P, $q, $q;",
	"selp.b64 $Q, $q, $q, $p;", "mov.b64 $Q, {$r, $r};", "mov.u64 $Q, $q;", "add.s64 $Q, $q, 36;",
	"add$Z.f32 $F, $f, $f;", "sub$Z.f32 $F, $f, $f;", "mul$Z.f32 $F, $f, $f;", "fma.rn$Z.f32 $F, $f, $f, $f;",
	"fma.rn$Z.f32 $F, $f, 0f3F000000, $f;", "min$Z.f32 $F, $f, $f;", "max$Z.f32 $F, $f, $f;", "abs$Z.f32 $F, $f;",
	"neg$Z.f32 $F, $f;", "div.rn$Z.f32 $F, $f, $f;", "sqrt.rn$Z.f32 $F, $f;", "rcp.rn$Z.f32 $F, $f;", "mov.f32 $F, $f;",
	"selp.f32 $F, $f, $f, $p;", "setp.lt$Z.f32 $P, $f, $f;", "setp.geu$Z.f32 $P, $f, $f;", "cvt.rn.f32.s32 $F, $r;",
	"cvt.rn.f32.u32 $F, $r;", "cvt.f32.f16 $F, $h;", "mov.b32 $F, $r;", "cvt.rzi$Z.s32.f32 $R, $f;",
};
/* what compilers write less often; halves are looked at as bits, so their NaNs are made one that is known */
#define GEN_HALF(r) "setp.nan.f16 $O, " r ", " r ";\n\tselp.b16 " r ", 0x7fff, " r ", $O;\n\t"
#define GEN_HALF_OP(op) op "\n\t" GEN_HALF("%hx") "mov.b16 $H, %hx;"
#define GEN_HALVES_OP(op) op "\n\tmov.b32 {%hx, %hy}, $x;\n\t" GEN_HALF("%hx") GEN_HALF("%hy") "mov.b32 $R, {%hx, %hy};"
static const char *const gen_rare[] = {
	GEN_HALF_OP("add.f16 %hx, $h, $h;"), GEN_HALF_OP("sub.f16 %hx, $h, $h;"), GEN_HALF_OP("mul.f16 %hx, $h, $h;"),
	GEN_HALF_OP("fma.rn.f16 %hx, $h, $h, $h;"), GEN_HALF_OP("min.f16 %hx, $h, $h;"), GEN_HALF_OP("max.f16 %hx, $h, $h;"),
	GEN_HALF_OP("abs.f16 %hx, $h;"), GEN_HALF_OP("neg.f16 %hx, $h;"), GEN_HALF_OP("add.sat.f16 %hx, $h, $h;"),
	GEN_HALF_OP("add.ftz.f16 %hx, $h, $h;"), GEN_HALF_OP("fma.rn.relu.f16 %hx, $h, $h, $h;"),
	GEN_HALF_OP("cvt.rz.f16.f32 %hx, $f;"), GEN_HALF_OP("cvt.rn.f16.f64 %hx, $d;"), GEN_HALF_OP("cvt.rn.f16.s32 %hx, $r;"),
	GEN_HALVES_OP("add.f16x2 $x, $r, $r;"), GEN_HALVES_OP("mul.f16x2 $x, $r, $r;"), GEN_HALVES_OP("fma.rn.f16x2 $x, $r, $r, $r;"),
	GEN_HALVES_OP("sub.ftz.f16x2 $x, $r, $r;"), GEN_HALVES_OP("max.f16x2 $x, $r, $r;"), GEN_HALVES_OP("neg.f16x2 $x, $r;"),
	GEN_HALVES_OP("cvt.rn.f16x2.f32 $x, $f, $f;"), "setp.$c.f16 $P, $h, $h;", "setp.$c.f16x2 $P|$O, $r, $r;",
	"cvt.rzi.s32.f16 $R, $h;", "cvt.f64.f16 $D, $h;", "cvt.rni.s16.f32 $H, $f;", "cvt.rzi.u16.f32 $H, $f;",
	"cvt.rzi.sat.u8.f32 $R, $f;", "cvt.rzi.u64.f64 $Q, $d;", "cvt.rmi.s64.f64 $Q, $d;", "cvt.rzi.u32.f64 $R, $d;",
	"cvt.rn.f64.u64 $D, $q;", "cvt.rn.f32.u64 $F, $q;", "cvt.rp.f32.s64 $F, $q;", "cvt.rn.f32.s16 $F, $h;",
	"cvt.rn.f32.u8 $F, $r;", "cvt.rni.f64.f64 $D, $d;", "cvt.rz.f32.f64 $F, $d;", "cvt.s8.s32 $R, $r;", "cvt.u16.u64 $H, $q;",
	"cvt.sat.s8.s16 $R, $h;", "cvt.sat.u32.s64 $R, $q;", "cvt.sat.s32.u64 $R, $q;", "cvt.sat.u16.s32 $H, $r;",
	"max.f64 $D, $d, $d;", "neg.f64 $D, $d;", "abs.f64 $D, $d;", "sqrt.rn.f64 $D, $d;", "rcp.rn.f64 $D, $d;",
	"fma.rz.f64 $D, $d, $d, $d;", "setp.ltu.f64 $P, $d, $d;", "setp.nan.f64 $P, $d, $d;", "copysign.f32 $F, $f, $f;",
	"setp.$c.and.s32 $P|$O, $r, $i, $p;\n\txor.pred $P, $P, $O;", "setp.ltu.xor.f32 $P|$O, $f, $f, !$p;", "or.pred $P, $p, $p;",
	"set.ge.f32.s32 $F, $r, $i;", "set.lt.and.f32.f32 $F, $f, $f, $p;", "set.gtu.u32.f32 $R, $f, $f;", "slct$Z.f32.f32 $F, $f, $f, $f;",
	"slct.u64.s32 $Q, $q, $q, $r;", 
	"mul24.hi.s32 $R, $r, $r;", "mad24.lo.s32 $R, $r, $r, $r;", "sad.u32 $R, $r, $r, $r;", "sub.sat.s32 $R, $r, $i;",
	"dp2a.hi.u32.s32 $R, $r, $r, $r;", "dp4a.s32.u32 $R, $r, $r, $r;", "dp4a.u32.u32 $R, $r, $r, $i;", "mad.hi.s32 $R, $r, $i, $r;",
	"mad.lo.s16 $H, $h, $h, $h;", "mul.hi.s16 $H, $h, $h;", "mul.hi.u16 $H, $h, $h;", "mad.wide.s16 $R, $h, $h, $r;",
	"mad.wide.s32 $Q, $r, $i, $q;", "mad.hi.s64 $Q, $q, $q, $q;", "sad.s64 $Q, $q, $q, $q;", "abs.s64 $Q, $q;", "not.b64 $Q, $q;",
	"cnot.b64 $Q, $q;", "bfi.b64 $Q, $q, $q, $n, $n;", "bfe.u64 $Q, $q, $r, $n;", "bfind.s64 $R, $q;", "bfind.shiftamt.u64 $R, $q;",
	"bfind.shiftamt.u32 $R, $r;", "lop3.b32 $R, $r, $r, $r, $n;", "shf.l.clamp.b32 $R, $r, $r, $n;", "shf.r.wrap.b32 $R, $r, $r, $r;",
	"prmt.b32.f4e $R, $r, $r, $r;", "prmt.b32.rc8 $R, $r, $r, $r;", "prmt.b32.ecl $R, $r, $r, $r;", "prmt.b32.ecr $R, $r, $r, $n;",
	"prmt.b32.rc16 $R, $r, $r, $r;", "prmt.b32.b4e $R, $r, $r, $n;", "szext.wrap.s32 $R, $r, $n;", "bmsk.clamp.b32 $R, $r, $n;",
	"or.b64 $X, $q, 1;\n\tand.b64 $X, $X, 0x7fffffffffffffff;\n\tdiv.s64 $Q, $q, $X;", "or.b32 $x, $r, 1;\n\tand.b32 $x, $x, 0x7fffffff;\n\trem.s32 $R, $r, $x;",
	"or.b64 $X, $q, 1;\n\tand.b64 $X, $X, 0x7fffffffffffffff;\n\trem.s64 $Q, $q, $X;",
	"sub.cc.u32 $x, $r, $r;\n\tsubc.u32 $R, $r, $x;", "mad.lo.cc.u32 $x, $r, $r, $r;\n\tmadc.hi.u32 $R, $r, $r, $x;",
	"add.cc.u64 $X, $q, $q;\n\taddc.u64 $Q, $X, $q;", "sub.cc.u64 $X, $q, $q;\n\tsubc.u64 $Q, $q, $X;",
	"mov.b32 {%hx, %hy}, $r;\n\tadd.s16 $H, %hx, %hy;", "mov.b64 $Q, {$h, $h, $h, $h};", "mov.b64 {%hx, %hy, _, _}, $q;\n\txor.b16 $H, %hx, %hy;",
	"shl.b16 $H, $h, $n;", "shr.u16 $H, $h, $n;", "neg.s16 $H, $h;", "abs.s16 $H, $h;", "not.b16 $H, $h;", "set.lt.u32.s16 $R, $h, $h;",
};
/* within bounds only, so not compared unless asked for */
static const char *const gen_approx[] = {
	"ex2.approx$Z.f32 $F, $f;", "lg2.approx$Z.f32 $F, $f;", "rsqrt.approx$Z.f32 $F, $f;", "sqrt.approx$Z.f32 $F, $f;",
	"rcp.approx$Z.f32 $F, $f;", "div.approx$Z.f32 $F, $f, $f;", "div.full$Z.f32 $F, $f, $f;", "sin.approx$Z.f32 $F, $f;",
	"cos.approx$Z.f32 $F, $f;", "tanh.approx.f32 $F, $f;",
};

static void gen_immediate(struct gen *g, char *out, size_t n)
{
	static const int64_t some[] = { 0, 1, 2, 3, 4, 7, 15, 31, 32, 33, 36, 127, 255, 0x0f0f0f0f, 0x7fffffff, -1, -2, -8,
					0x5410, 0x3210, 65535, 65536, 1000000007, 0x3f800000, 0x40400000 };

	snprintf(out, n, "%lld", (long long)some[gen_pick(g, GEN_COUNT(some))]);
}

/* Does a pattern of the uniform kind keep a scalar? */
static int gen_keeps_scalar(const char *pattern)
{
	static const char *const ops[] = { "add.s32 ", "sub.s32 ", "sub.u32 ", "mul.lo.", "mul.hi.", "mad.lo.s32 ", "min.", "max.", "and.", "or.", "xor.", "not.",
					   "shl.", "shr.", "neg.", "selp.", "mov.", "setp." };

	for (unsigned i = 0; i < GEN_COUNT(ops); i++)
		if (!strncmp(pattern, ops[i], strlen(ops[i])))
			return 1;
	return 0;
}

/* Numbers of a register of a block: a plain one or not, to be written; any, to be read. */
static unsigned gen_u(struct gen *g, enum gen_uniform kind)
{
	return kind == GEN_PLAIN ? gen_pick(g, g->plain) : kind == GEN_OF_BLOCK ? g->plain + gen_pick(g, g->nu - g->plain) : gen_pick(g, g->nu);
}

static unsigned gen_v(struct gen *g, enum gen_uniform kind)
{
	return kind == GEN_PLAIN ? gen_pick(g, GEN_PLAIN_V) : kind == GEN_OF_BLOCK ? GEN_PLAIN_V + gen_pick(g, 4 - GEN_PLAIN_V) : gen_pick(g, 4);
}

/* A source of 32 bits: mostly varying, now and then of the block, or a special register's copy. */
static void gen_r(struct gen *g, enum gen_uniform uniform, char *out, size_t n)
{
	static const char *const fixed[] = { "%lin", "%lane", "%tx", "%ty", "%gtid" };
	static const char *const same[] = { "%cx", "%n", "%pn", "%pm", "%nx" };

	if (uniform ? gen_one_in(g, 4) : gen_one_in(g, 8))
		snprintf(out, n, "%s", same[gen_pick(g, GEN_COUNT(same))]);
	else if (uniform || gen_one_in(g, 8))
		snprintf(out, n, "%%u%u", gen_u(g, uniform == GEN_PLAIN ? GEN_PLAIN : GEN_VARYING));
	else if (gen_one_in(g, 8))
		snprintf(out, n, "%s", fixed[gen_pick(g, GEN_COUNT(fixed))]);
	else
		snprintf(out, n, "%%r%u", gen_pick(g, g->nr));
}

static const char *gen_ftz(struct gen *g)
{
	return g->ftz == 1 || (g->ftz == 2 && gen_one_in(g, 2)) ? ".ftz" : "";
}

static void gen_offset(struct gen *g, unsigned align, unsigned room, char *out, size_t n);

/* The number of a register that nothing has defined, while there are any. */
static unsigned gen_fresh(struct gen *g)
{
	return g->fresh < GEN_FRESH ? g->fresh++ : gen_pick(g, GEN_FRESH);
}

/* Letters of gen_pair.h's patterns. */
static void gen_fill_more(struct gen *g, const char **p, unsigned label, char *at, size_t n)
{
	static const uint32_t nans[] = { 0x7fffffff, 0x7fc00000, 0xffc00001, 0x7f800001, 0xff812345, 0x7fc0ffee };
	static const uint32_t bits[] = { 0, 1, 2, 3, 0x3f800000, 0x40400000, 0x40a00000, 0x40e00000, 0x80000000, 0xbf800000, 0x7f800000,
					 0x7fffffff, 0x3c00, 0x3c003c00, 0xffff, 255, 31, 6, 77 };
	unsigned align;

	switch (**p) {
	case 'V': snprintf(at, n, "%s", g->value); break;
	case 'G':
		align = (unsigned)strtoul(++*p, (char **)p, 10);
		--*p;           /* the last digit, as for other letters */
		gen_offset(g, align, 2 * align + 16, at, n);
		snprintf(at + strlen(at), n - strlen(at), "\tcvt.u64.u32 %%qx, %%rx;\n\tadd.s64 %%qx, %%in, %%qx;\n\t");
		break;
	case 'L': snprintf(at, n, "%u", label); break;
	case 'm': snprintf(at, n, "%u", 4 * gen_pick(g, 16)); break;
	case 'M': snprintf(at, n, "%u", 8 * gen_pick(g, 8)); break;
	case 'S': snprintf(at, n, "%u", 4 * gen_pick(g, 4)); break;     /* of the thread's shared memory */
	case 'U': snprintf(at, n, "%%na%u", gen_fresh(g)); break;
	case 'W': snprintf(at, n, "%%nb%u", gen_fresh(g)); break;
	case 'T': snprintf(at, n, "%%np%u", gen_fresh(g)); break;
	case 'u': snprintf(at, n, "%%u%u", gen_u(g, gen_one_in(g, 2) ? GEN_PLAIN : GEN_VARYING)); break;
	case 'v': snprintf(at, n, "%%v%u", gen_v(g, gen_one_in(g, 2) ? GEN_PLAIN : GEN_VARYING)); break;
	case 'B': snprintf(at, n, "%u", bits[gen_pick(g, sizeof(bits) / sizeof(bits[0]))]); break;
	case 'N': snprintf(at, n, "%u", nans[gen_pick(g, sizeof(nans) / sizeof(nans[0]))]); break;
	case 'e': snprintf(at, n, "%s", gen_one_in(g, 2) ? "eq" : "ne"); break;
	case 'b': snprintf(at, n, "%u", gen_pick(g, 33)); break;
	case 'k': snprintf(at, n, "%u", 1u << gen_pick(g, 5)); break;
	default: abort();
	}
}

/* Puts operands into a pattern. */
static void gen_fill(struct gen *g, const char *pattern, enum gen_uniform uniform, char *out, size_t bytes)
{
	static const char *const compare[] = { "eq", "ne", "lt", "le", "gt", "ge" };
	unsigned same_f = gen_pick(g, g->nf), sources = 0, label = strstr(pattern, "$L") ? g->labels++ : 0;
	int same_from = 0;
	size_t n = 0;

	for (const char *p = pattern; *p && n + 32 < bytes; p++) {
		const char *kind;
		char *at = out + n;

		if (*p != '$') {
			out[n++] = *p;
			continue;
		}
		kind = strchr(gen_kinds, *++p);
		if (kind && g->to[kind - gen_kinds]) {
			n += (size_t)snprintf(at, 32, "%s", g->to[kind - gen_kinds]);
			continue;
		}
		if (g->from && strchr(g->from_of, *p)) {
			int one = *p == 'f' && p[1] == '1', first = one && !same_from;

			if (one ? same_from == 1 || (first && sources == g->from_at) : sources == g->from_at) {
				n += (size_t)snprintf(at, 32, "%s", g->from);
				same_from = one ? 1 : same_from;
				sources += !one || first;
				p += one;
				continue;
			}
			sources += !one || first;
			same_from = first ? 2 : same_from;
		}
		switch (*p) {
		case 'R': snprintf(at, 32, uniform ? "%%u%u" : "%%r%u", uniform ? gen_u(g, uniform) : gen_pick(g, g->nr)); break;
		case 'r': gen_r(g, uniform, at, 32); break;
		case 'i':
			if (gen_one_in(g, 3))
				gen_immediate(g, at, 32);
			else
				gen_r(g, uniform, at, 32);
			break;
		case 'Q': case 'q': snprintf(at, 32, "%%q%u", gen_pick(g, g->nq)); break;
		case 'H': case 'h': snprintf(at, 32, "%%h%u", gen_pick(g, g->nh)); break;
		case 'D': case 'd': snprintf(at, 32, "%%d%u", gen_pick(g, g->nd)); break;
		case 'F': snprintf(at, 32, "%%f%u", gen_pick(g, g->nf)); break;
		case 'f':
			/* $f1: the same one each time */
			snprintf(at, 32, "%%f%u", p[1] == '1' ? same_f : gen_pick(g, g->nf));
			p += p[1] == '1';
			break;
		case 'P': snprintf(at, 32, uniform ? "%%v%u" : "%%p%u", uniform ? gen_v(g, uniform) : gen_pick(g, g->np)); break;
		case 'p':
			snprintf(at, 32, uniform ? "%%v%u" : "%%p%u", uniform ? gen_v(g, uniform == GEN_PLAIN ? GEN_PLAIN : GEN_VARYING) : gen_pick(g, g->np));
			break;
		case 'Z': snprintf(at, 32, "%s", gen_ftz(g)); break;
		case 'x': snprintf(at, 32, uniform ? "%%ux" : "%%rx"); break;
		case 'y': snprintf(at, 32, "%%ry"); break;
		case 'X': snprintf(at, 32, "%%qx"); break;
		case 'O': snprintf(at, 32, "%%po"); break;
		case 'c': snprintf(at, 32, "%s", compare[gen_pick(g, GEN_COUNT(compare))]); break;
		case 'n': snprintf(at, 32, "%u", gen_pick(g, gen_one_in(g, 4) ? 64 : 32)); break;
		default: gen_fill_more(g, &p, label, at, bytes - n);
		}
		n += strlen(at);
	}
	out[n] = 0;
}

/* One instruction of the arithmetic kind; a quarter of those without helpers are guarded. */
static void gen_arith(struct gen *g)
{
	char body[512], text[600], guard[16] = "";
	unsigned what = gen_pick(g, 12);
	const char *pattern;
	enum gen_uniform uniform = GEN_VARYING;

	if (g->approx && gen_one_in(g, 10)) {
		pattern = gen_approx[gen_pick(g, GEN_COUNT(gen_approx))];
	} else if (g->common && !gen_one_in(g, 16)) {
		pattern = what < 6 ? gen_plain[gen_pick(g, GEN_COUNT(gen_plain))] :
			  gen_plain_more[gen_pick(g, GEN_COUNT(gen_plain_more))];
		uniform = what < 6 && g->ctx == TOGETHER && gen_one_in(g, 3) ? GEN_OF_BLOCK : GEN_VARYING;
	} else if (g->rare && gen_one_in(g, 2)) {
		pattern = gen_rare[gen_pick(g, GEN_COUNT(gen_rare))];
	} else if (what < 5) {
		pattern = gen_int[gen_pick(g, GEN_COUNT(gen_int))];
		uniform = g->ctx == TOGETHER && gen_one_in(g, 4) ? GEN_OF_BLOCK : GEN_VARYING;
	} else if (what < 8) {
		pattern = gen_wide[gen_pick(g, GEN_COUNT(gen_wide))];
	} else {
		pattern = gen_float[gen_pick(g, GEN_COUNT(gen_float))];
	}
	if (uniform && gen_keeps_scalar(pattern) && !gen_one_in(g, 4))
		uniform = GEN_PLAIN;
	gen_fill(g, pattern, uniform, body, sizeof(body));
	if (!strchr(pattern, '\n') && gen_one_in(g, 4))
		snprintf(guard, sizeof(guard), uniform ? "@%s%%v%u " : "@%s%%p%u ", gen_one_in(g, 2) ? "!" : "",
			 uniform ? gen_v(g, uniform == GEN_PLAIN ? GEN_PLAIN : GEN_VARYING) : gen_pick(g, g->np));
	snprintf(text, sizeof(text), "\t%s%s\n", guard, body);
	gen_add(g, 0, -1, text);
}

/* ---- memory ------------------------------------------------------------------------------------ */

/* Into %rx: an offset into the input, a multiple of `align`, with `room` bytes behind it. */
static void gen_offset(struct gen *g, unsigned align, unsigned room, char *out, size_t n)
{
	static const unsigned strides[] = { 1, 2, 4, 8, 16, 12, 34, 36, 18, 20 };
	unsigned stride = strides[gen_pick(g, GEN_COUNT(strides))], base = gen_pick(g, 1024) * 4;
	char r[32];

	stride = (stride + align - 1) / align * align;
	base = base / align * align;
	gen_r(g, 0, r, sizeof(r));
	switch (gen_pick(g, 11)) {
	case 8: /* far from each other */
		snprintf(out, n, "\tmul.lo.u32 %%rx, %%lane, %u;\n\tadd.u32 %%rx, %%rx, %u;\n",
			 (const unsigned[]){ 256, 1040, 2064, 4000 }[gen_pick(g, 4)], base);
		break;
	case 9: /* up to the last byte */
		snprintf(out, n, "\tsub.u32 %%rx, %%n, %%lin;\n\tmul.lo.u32 %%rx, %%rx, %u;\n\tsub.u32 %%rx, %u, %%rx;\n", align,
			 GEN_IN_BYTES - room + align);
		break;
	case 10: /* a loop goes along the rows */
		if (g->loops) {
			snprintf(out, n, "\tmad.lo.u32 %%rx, %%lc%u, %u, %u;\n\tmad.lo.u32 %%rx, %%lin, %u, %%rx;\n\tand.b32 %%rx, %%rx, %u;\n",
				 g->loop, 4 * align * gen_pick(g, 40), base, stride, 0xffffu & ~(align - 1));
			break;
		}
		/* fall through */
	case 0: case 1: /* lanes in a row, or with a stride */
		if (gen_one_in(g, 2))
			stride = align;
		snprintf(out, n, "\tmul.lo.u32 %%rx, %%lin, %u;\n\tadd.u32 %%rx, %%rx, %u;\n", stride, base);
		break;
	case 2: /* parts of blocks, as quantised rows are read */
		snprintf(out, n, "\tshr.u32 %%rx, %%lin, 2;\n\tmul.lo.u32 %%rx, %%rx, %u;\n\tand.b32 %%ry, %%lin, 3;\n"
			 "\tmad.lo.u32 %%rx, %%ry, %u, %%rx;\n\tadd.u32 %%rx, %%rx, %u;\n",
			 align <= 2 ? 34 : align == 4 ? 36 : align, align > 8 ? align : 8, base);
		break;
	case 3: /* one place for all */
		snprintf(out, n, "\tmov.u32 %%rx, %u;\n", base);
		break;
	case 4: /* of the block */
		snprintf(out, n, "\tand.b32 %%rx, %%u%u, %u;\n", gen_pick(g, g->nu), 0x3fffu & ~(align - 1));
		break;
	case 5: /* backwards */
		snprintf(out, n, "\tsub.u32 %%rx, %%n, %%lin;\n\tmul.lo.u32 %%rx, %%rx, %u;\n", align);
		break;
	case 6: /* two dimensions */
		snprintf(out, n, "\tmad.lo.u32 %%rx, %%ty, %u, %%tx;\n\tmul.lo.u32 %%rx, %%rx, %u;\n\tand.b32 %%rx, %%rx, %u;\n",
			 gen_pick(g, 40), align, 0x3fffu & ~(align - 1));
		break;
	default: /* anywhere */
		snprintf(out, n, "\tand.b32 %%rx, %s, %u;\n", r, 0x3fffu & ~(align - 1));
	}
}

static void gen_load(struct gen *g)
{
	static const struct { const char *type, *into; unsigned bytes, count; } forms[] = {
		{ "u8", "r", 1, 1 }, { "s8", "r", 1, 1 }, { "u16", "h", 2, 1 }, { "u16", "r", 2, 1 }, { "s16", "r", 2, 1 },
		{ "u32", "r", 4, 1 }, { "u32", "r", 4, 1 }, { "f32", "f", 4, 1 }, { "f32", "f", 4, 1 }, { "u64", "q", 8, 1 },
		{ "f64", "d", 8, 1 }, { "v2.u32", "r", 4, 2 }, { "v4.u32", "r", 4, 4 }, { "v2.f32", "f", 4, 2 },
		{ "v4.f32", "f", 4, 4 }, { "v2.u16", "h", 2, 2 }, { "v4.u8", "r", 1, 4 }, { "v2.u64", "q", 8, 2 },
		{ "u8", "q", 1, 1 }, { "s16", "q", 2, 1 }, { "s32", "q", 4, 1 }, { "u32", "q", 4, 1 },
	};
	unsigned f = gen_pick(g, GEN_COUNT(forms)), count = forms[f].count, guarded = gen_one_in(g, 4);
	unsigned limit = forms[f].into[0] == 'r' ? g->nr : forms[f].into[0] == 'h' ? g->nh :
			 forms[f].into[0] == 'f' ? g->nf : forms[f].into[0] == 'q' ? g->nq : g->nd;
	unsigned first = gen_pick(g, limit), align = forms[f].bytes * count, p = gen_pick(g, g->np);
	char offset[512], list[128] = "", text[2048];

	if (gen_one_in(g, 6)) {
		/* two halves make a word that lies at an even address */
		gen_offset(g, 2, 6, offset, sizeof(offset));
		snprintf(text, sizeof(text), "%s\tcvt.u64.u32 %%qx, %%rx;\n\tadd.s64 %%qx, %%in, %%qx;\n"
			 "\tld.global%s.u16 %%hx, [%%qx+2];\n\tld.global%s.u16 %%hy, [%%qx+4];\n\tcvt.u32.u16 %%rx, %%hx;\n"
			 "\tcvt.u32.u16 %%ry, %%hy;\n\tshl.b32 %%ry, %%ry, 16;\n\tor.b32 %%r%u, %%ry, %%rx;\n", offset,
			 gen_one_in(g, 2) ? ".nc" : "", gen_one_in(g, 2) ? ".nc" : "", gen_pick(g, g->nr));
		gen_add(g, 0, -1, text);
		return;
	}
	if (gen_one_in(g, 5)) {
		unsigned f32 = gen_pick(g, g->nf), own = gen_one_in(g, 2);

		/* a half whose float alone is wanted; now and then somebody else does want it */
		gen_offset(g, 2, 6, offset, sizeof(offset));
		snprintf(text, sizeof(text), "%s\tcvt.u64.u32 %%qx, %%rx;\n\tadd.s64 %%qx, %%in, %%qx;\n"
			 "\tld.global.u16 %%hx, [%%qx%+d];\n\tcvt.f32.f16 ", offset, gen_one_in(g, 2) ? 0 : 2 * (int)gen_pick(g, 3));
		snprintf(text + strlen(text), sizeof(text) - strlen(text), own ? "%%ft, %%hx;\n\tadd.f32 %%f%u, %%f%u, %%ft;\n" : "%%f%u, %%hx;\n", f32, f32);
		if (gen_one_in(g, 2))
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "\tcvt.u32.u16 %%r%u, %%hx;\n", gen_pick(g, g->nr));
		gen_add(g, 0, -1, text);
		return;
	}
	gen_offset(g, align, 2 * align, offset, sizeof(offset));
	for (unsigned i = 0; i < count; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%%%s%u", i ? ", " : "", forms[f].into,
			 (first + i) % limit);
	/* a guarded one: lanes that stay out have an address that is none */
	snprintf(text, sizeof(text), "%s\tcvt.u64.u32 %%qx, %%rx;\n\tadd.s64 %%qx, %%in, %%qx;\n", offset);
	if (guarded && gen_one_in(g, 2))
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "\tselp.b64 %%qx, %%qx, 64, %%p%u;\n", p);
	if (guarded)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "\t@%%p%u", p);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "\tld%s.%s %s%s%s, [%%qx+%u];\n",
		 gen_one_in(g, 5) ? "" : ".global", forms[f].type, count > 1 ? "{" : "", list, count > 1 ? "}" : "",
		 gen_pick(g, 2) * align);
	gen_add(g, 0, -1, text);
}

/* Constants, and parameters that are an array: places that are the same for all, mostly. */
static void gen_constant(struct gen *g)
{
	char r[32], text[256];

	gen_r(g, gen_one_in(g, 2), r, sizeof(r));
	if (gen_one_in(g, 2))
		snprintf(text, sizeof(text), "\tld.param.u32 %%r%u, [pb+%u];\n", gen_pick(g, g->nr), 4 * gen_pick(g, 12));
	else if (gen_one_in(g, 2))
		snprintf(text, sizeof(text), "\tld.const.u32 %%r%u, [tab+%u];\n", gen_pick(g, g->nr), 4 * gen_pick(g, 16));
	else
		snprintf(text, sizeof(text), "\tand.b32 %%rx, %s, 60;\n\tmov.u64 %%qx, tab;\n\tcvt.u64.u32 %%qy, %%rx;\n"
			 "\tadd.s64 %%qx, %%qx, %%qy;\n\tld.const.u32 %%r%u, [%%qx];\n", r, gen_pick(g, g->nr));
	gen_add(g, 0, -1, text);
}

/* Fields of the thread's own memory side by side, stored one after the other in some order, with something in between now and then. */
static void gen_fields(struct gen *g)
{
	static const struct { const char *type, *into; unsigned bytes; } forms[] = {
		{ "u8", "r", 1 }, { "u16", "h", 2 }, { "u32", "r", 4 }, { "u32", "r", 4 }, { "f32", "f", 4 },
	};
	unsigned f = gen_pick(g, GEN_COUNT(forms)), bytes = forms[f].bytes, count = 2 + gen_pick(g, 6), turn = gen_pick(g, 4), i;
	unsigned limit = forms[f].into[0] == 'r' ? g->nr : forms[f].into[0] == 'h' ? g->nh : g->nf;
	int shared = g->mine && forms[f].into[0] != 'f' && gen_one_in(g, 3);
	unsigned room = (shared ? 16 : 64) / bytes, from = gen_pick(g, room), half = forms[f].into[0] == 'f' ? 64 : 0;
	char text[2048] = "";

	for (i = 0; i < count; i++) {
		unsigned at = half + (from + (i ^ turn)) % room * bytes;

		snprintf(text + strlen(text), sizeof(text) - strlen(text), "\tst.%s.%s [%s+%u], %%%s%u;\n", shared ? "shared" : "global", forms[f].type,
			 shared ? "%shm" : "%own", at, forms[f].into, gen_pick(g, limit));
		if (gen_one_in(g, 3))
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "\txor.b32 %%r%u, %%r%u, %%r%u;\n", gen_pick(g, g->nr),
				 gen_pick(g, g->nr), gen_pick(g, g->nr));
		if (gen_one_in(g, 12))
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "\tld.%s.u32 %%r%u, [%s+%u];\n", shared ? "shared" : "global",
				 gen_pick(g, g->nr), shared ? "%shm" : "%own", 4 * gen_pick(g, 4));
	}
	gen_add(g, 0, -1, text);
}

/* The thread's own memory: integers in the first half, floats in the second. Stored, loaded again, in pieces. */
static void gen_own(struct gen *g)
{
	static const struct { const char *type, *into; unsigned bytes, count; } forms[] = {
		{ "u8", "r", 1, 1 }, { "u16", "h", 2, 1 }, { "u32", "r", 4, 1 }, { "u32", "r", 4, 1 }, { "u64", "q", 8, 1 },
		{ "v2.u32", "r", 4, 2 }, { "v4.u32", "r", 4, 4 }, { "v2.u16", "h", 2, 2 }, { "v2.u64", "q", 8, 2 },
		{ "f32", "f", 4, 1 }, { "f32", "f", 4, 1 }, { "v2.f32", "f", 4, 2 }, { "v4.f32", "f", 4, 4 },
		{ "u8", "q", 1, 1 }, { "u16", "q", 2, 1 }, { "u32", "q", 4, 1 },
	};
	unsigned f = gen_pick(g, GEN_COUNT(forms)), count = forms[f].count, bytes = forms[f].bytes * count;
	unsigned limit = forms[f].into[0] == 'r' ? g->nr : forms[f].into[0] == 'h' ? g->nh :
			 forms[f].into[0] == 'f' ? g->nf : g->nq;
	unsigned first = gen_pick(g, limit), at = (forms[f].into[0] == 'f' ? 64 : 0) + gen_pick(g, 64 / bytes) * bytes;
	int store = gen_one_in(g, 2), local = g->local && forms[f].into[0] != 'f' && gen_one_in(g, 3);
	int shared = g->mine && !local && forms[f].into[0] != 'f' && gen_one_in(g, 2);
	const char *space = local ? "local" : shared ? "shared" : "global", *base = local ? "%qx" : shared ? "%shm" : "%own";
	char list[128] = "", text[1024] = "", guard[16] = "";

	if (gen_one_in(g, 4)) {
		gen_fields(g);
		return;
	}
	for (unsigned i = 0; i < count; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%%%s%u", i ? ", " : "", forms[f].into,
			 (first + i) % limit);
	if (gen_one_in(g, 4))
		snprintf(guard, sizeof(guard), "@%s%%p%u ", gen_one_in(g, 2) ? "!" : "", gen_pick(g, g->np));
	if (local) {
		char r[32];

		/* an index of the thread's own, within 64 bytes */
		gen_r(g, 0, r, sizeof(r));
		snprintf(text, sizeof(text), "\tand.b32 %%rx, %s, %u;\n\tcvt.u64.u32 %%qx, %%rx;\n\tadd.s64 %%qx, %%lo, %%qx;\n",
			 r, 63u & ~(bytes - 1));
	}
	if (shared) {
		at %= 16;
		/* the same through a generic address */
		if (gen_one_in(g, 3)) {
			snprintf(text, sizeof(text), "\tcvt.u64.u32 %%qx, %%shm;\n\tcvta.shared.u64 %%qx, %%qx;\n");
			base = "%qx";
		}
	}
	if (count > 1) {
		char inner[128];

		snprintf(inner, sizeof(inner), "%s", list);
		snprintf(list, sizeof(list), "{%.120s}", inner);
	}
	if (store)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "\t%sst%s%s.%s [%s+%u], %s;\n", guard,
			 shared && base[1] == 'q' ? "" : ".", shared && base[1] == 'q' ? "" : space, forms[f].type, base,
			 local ? 0 : at, list);
	else
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "\t%sld%s%s.%s %s, [%s+%u];\n", guard,
			 shared && base[1] == 'q' ? "" : ".", shared && base[1] == 'q' ? "" : space, forms[f].type, list, base,
			 local ? 0 : at);
	gen_add(g, 0, -1, text);
}

/* Adds to words that all threads add to; in any order the sum is the same. */
static void gen_atomic(struct gen *g)
{
	/* each word has one operation of its own */
	static const char *const ops[] = { "add.u32", "max.s32", "min.u32", "or.b32", "xor.b32", "add.u32", "max.u32", "and.b32" };
	unsigned w = gen_pick(g, GEN_COUNT(ops));
	char r[32], text[512];

	gen_r(g, 0, r, sizeof(r));
	if (gen_one_in(g, 2)) {
		/* on the thread's own words: what was there before is known too */
		static const char *const own[] = { "add.u32", "exch.b32", "min.s32", "max.u32", "and.b32", "inc.u32", "dec.u32", "xor.b32", "add.f32" };
		int shared = g->mine && gen_one_in(g, 2);
		unsigned at = 4 * gen_pick(g, shared ? 4 : 16);
		const char *where = shared ? "shared" : "global", *base = shared ? "%shm" : "%own";

		if (gen_one_in(g, 4))
			snprintf(text, sizeof(text), "\tatom.%s.cas.b32 %%r%u, [%s+%u], %s, %%r%u;\n", where, gen_pick(g, g->nr), base, at, r,
				 gen_pick(g, g->nr));
		else if (gen_one_in(g, 4))
			snprintf(text, sizeof(text), "\tatom.%s.add.u64 %%q%u, [%s+%u], %%q%u;\n", where, gen_pick(g, g->nq), base,
				 at & ~7u, gen_pick(g, g->nq));
		else
			snprintf(text, sizeof(text), "\tatom.%s.%s %%r%u, [%s+%u], %s;\n", where, own[gen_pick(g, GEN_COUNT(own))],
				 gen_pick(g, g->nr), base, at, r);
	} else if (gen_one_in(g, 3))
		snprintf(text, sizeof(text), "\tatom.global.%s %%rx, [%%acc+%u], %s;\n", ops[w], 4 * w, r);
	else if (gen_one_in(g, 2))
		snprintf(text, sizeof(text), "\t@%%p%u red.global.%s [%%acc+%u], %s;\n", gen_pick(g, g->np), ops[w], 4 * w, r);
	else    /* spread over eight words */
		snprintf(text, sizeof(text), "\tand.b32 %%rx, %s, 7;\n\tmad.wide.u32 %%qx, %%rx, 4, %%acc;\n"
			 "\tred.global.add.u32 [%%qx+32], %s;\n", r, r);
	gen_add(g, 0, -1, text);
}

#endif
