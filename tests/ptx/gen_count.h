/* SPDX-License-Identifier: MIT */
/*
 * Random kernels: loops whose rounds are counted, as compilers write them: one block, every value in a register of its own, a number that
 * grows by the same in each round and is compared with one that stays, addresses that walk along. Code looks at such a loop's
 * addresses before it begins (jit_loop.c): rounds enough and too few, up and down, numbers that wrap, lanes that end apart, and
 * walks that leave memory in the middle.
 */
#ifndef TESTS_PTX_GEN_COUNT_H
#define TESTS_PTX_GEN_COUNT_H

#include "gen_pair.h"

struct gen_counted {
	unsigned id, rounds;
	int step, start;                /* of the number; a step in a register is this much, too */
	int wide;                       /* it has 64 bits */
	int lanes;                      /* each lane begins with its own: 0 no, 1 its number, 2 its number modulo 8 */
	char before[4096], round[4096], tail[1024];     /* the loop; tail: at a round's end */
};

/* Adds to one of them. ~x is this loop's register x of load k, ~x0 its register x0. */
static void __attribute__((format(printf, 4, 5))) gen_say(struct gen_counted *c, char *out, unsigned k, const char *fmt, ...)
{
	size_t at = strlen(out), n = out == c->before ? sizeof(c->before) : out == c->round ? sizeof(c->round) : sizeof(c->tail);
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (const char *s = text; *s && at + 24 < n; s++) {
		if (*s != '~') {
			out[at++] = *s;
			continue;
		}
		at += (size_t)snprintf(out + at, n - at, "%%w%c%u_%u", s[1], c->id, s[2] >= '0' && s[2] <= '9' ? (unsigned)(s[2] - '0') : k);
		s += 1 + (s[2] >= '0' && s[2] <= '9');
	}
	out[at] = 0;
}

/* What is read in a round: ~t, of a place that walks, or of what is made of the round's number ~i0. */
static void gen_count_load(struct gen *g, struct gen_counted *c, unsigned k)
{
	static const char *const kinds[] = { "u32", "s32", "u8", "s16", "f32", "u16" };
	static const unsigned aligned[] = { 4, 4, 1, 2, 4, 2 }, apart[] = { 4, 8, 16, 0, 4, 32 };
	static const int walks[] = { 4, 8, 16, 64, 128, 256, -4, -8, -64, -256, 12, 36 };
	unsigned kind = gen_pick(g, GEN_COUNT(kinds)), row = apart[gen_pick(g, GEN_COUNT(apart))], shift = 2 + gen_pick(g, 3);
	/* lanes that begin with their own number go on for longer; else where they begin is taken away again */
	int base = 20480 + (kind == 4 ? (int)GEN_IN_BYTES / 2 : 0), from = c->lanes ? 0 : c->start, other = gen_one_in(g, 2);
	char *round = c->round, *before = c->before;

	switch (gen_pick(g, c->wide ? 3 : 6)) {
	case 0:         /* it walks by itself */
		gen_say(c, before, k, "\tmad.wide.u32 ~b, %s, %u, %%in;\n\tadd.s64 ~p, ~b, %d;\n", gen_one_in(g, 4) ? "%ty" : "%lane", row & 28, base);
		gen_say(c, c->tail, k, "\tadd.s64 ~p, ~p, %d;\n", walks[gen_pick(g, c->lanes ? 3 : GEN_COUNT(walks))]);
		break;
	case 1:         /* the same for all lanes */
		gen_say(c, before, k, "\tadd.s64 ~b, %%in, %d;\n", base - from * (1 << shift));
		if (c->wide)
			gen_say(c, round, k, other ? "\tshl.b64 ~a, ~i0, %u;\n\tadd.s64 ~p, ~b, ~a;\n" : "\tmad.lo.s64 ~p, ~i0, %u, ~b;\n", other ? shift : 1u << shift);
		else
			gen_say(c, round, k, other ? "\tmul.wide.s32 ~a, ~i0, %u;\n\tadd.s64 ~p, ~a, ~b;\n" : "\tmad.wide.s32 ~p, ~i0, %u, ~b;\n", 1u << shift);
		break;
	case 2:         /* a lane's own row */
		gen_say(c, before, k, "\tmad.wide.u32 ~b, %%lane, %u, %%in;\n\tadd.s64 ~q, ~b, %d;\n", row * 4, base - from * (1 << shift));
		if (c->wide)
			gen_say(c, round, k, "\tmul.lo.s64 ~a, ~i0, %u;\n\tadd.s64 ~p, ~q, ~a;\n", 1u << shift);
		else
			gen_say(c, round, k, "\tcvt.s64.s32 ~a, ~i0;\n\tshl.b64 ~c, ~a, %u;\n\tadd.s64 ~p, ~q, ~c;\n", shift);
		break;
	case 3:         /* beside the thread's */
		gen_say(c, before, k, "\tadd.s64 ~b, %%in, %d;\n", base - from * 4);
		gen_say(c, round, k, "\tadd.s32 ~j, ~i0, %s;\n\tmul.wide.s32 ~a, ~j, 4;\n\tadd.s64 ~p, ~b, ~a;\n", gen_one_in(g, 3) ? "%ty" : "%tx");
		break;
	case 4:         /* scaled before it is widened */
		gen_say(c, before, k, "\tadd.s64 ~b, %%in, %d;\n", base - 4096);
		gen_say(c, round, k, "\tshl.b32 ~j, ~i0, 2;\n\tadd.s32 ~l, ~j, %d;\n\tcvt.u64.u32 ~a, ~l;\n\tadd.s64 ~p, ~b, ~a;\n", 4096 - from * 4);
		break;
	default:        /* a number that wraps, moved to where it does not */
		gen_say(c, before, k, "\tadd.s64 ~b, %%in, %d;\n", base - 4096);
		gen_say(c, round, k, "\tadd.u32 ~j, ~i0, %d;\n\tmad.wide.u32 ~p, ~j, %d, ~b;\n", 128 - from + (c->step < 0 ? 640 : 0), other ? 4 : 8);
	}
	gen_say(c, round, k, "\tld.global.%s ~t, [~p+%u];\n\tmad.lo.s32 ~v0, ~v0, 5, ~t;\n", kinds[kind], aligned[kind] * gen_pick(g, 6));
}

static void gen_rounds(struct gen *g)
{
	static const unsigned rounds[] = { 1, 2, 3, 4, 5, 6, 8, 12, 16, 20, 33, 64, 65, 70, 80 };
	static const int steps[] = { 1, 1, 1, 2, 3, 4, 8, -1, -1, -2, -4 }, starts[] = { 0, 0, 1, 5, -24, -1, 40 };
	static const char *const go[] = { "lt", "le", "gt", "ge", "ne" }, *const stop[] = { "ge", "gt", "le", "lt", "eq" };
	struct gen_counted c = { .id = g->labels++ };
	char bound[24], by[24], text[512] = "", reg[32];
	unsigned n = 1 + gen_pick(g, 3), bits, k, cmp;
	/* known: a compiler sees the numbers; first: it grows before it is used, and is copied at the end; was: compared is what it was */
	int region = gen_region(g), known = gen_one_in(g, 2), first = gen_one_in(g, 3), was = gen_one_in(g, 3), out = gen_one_in(g, 4), last, equal, up, by_register;

	g->counted = 1;
	c.wide = gen_one_in(g, 4);
	bits = c.wide ? 64 : 32;
	c.rounds = rounds[gen_pick(g, GEN_COUNT(rounds))];
	c.step = steps[gen_pick(g, GEN_COUNT(steps))];
	c.start = starts[gen_pick(g, GEN_COUNT(starts))];
	c.lanes = gen_one_in(g, 4) ? 1 + (int)gen_pick(g, 2) : 0;
	up = c.step > 0;
	by_register = up && !c.lanes && gen_one_in(g, 3);
	equal = !c.lanes && gen_one_in(g, 3);
	last = c.start + c.step * ((int)c.rounds - was);
	if (!equal && gen_one_in(g, 2))
		last -= up ? (int)gen_pick(g, (unsigned)c.step) : -(int)gen_pick(g, (unsigned)-c.step);
	cmp = equal ? 4 : (up ? 0 : 2) + (unsigned)gen_one_in(g, 3);

	/* nothing that a compiler knows: a launch's number and its opposite */
	gen_say(&c, c.before, 0, "\tand.b32 ~n0, %%pn, 7;\n\tmad.lo.u32 ~m0, ~n0, -1, ~n0;\n");
	if (c.lanes)
		gen_say(&c, c.before, 0, "\tand.b32 ~n1, %%lane, %d;\n\tadd.s32 ~s0, ~n1, %d;\n", c.lanes == 1 ? 31 : 7, c.start);
	else
		gen_say(&c, c.before, 0, known ? "\tmov.b32 ~s0, %d;\n" : "\tadd.s32 ~s0, ~m0, %d;\n", c.start);
	gen_say(&c, c.before, 0, c.wide ? "\tcvt.s64.s32 ~i0, ~s0;\n" : "\tmov.b32 ~i0, ~s0;\n");
	snprintf(bound, sizeof(bound), "%d", last);
	if (!known) {
		gen_say(&c, c.before, 0, "\tadd.s32 ~n2, ~m0, %d;\n\t%s ~e0, ~n2;\n", last, c.wide ? "cvt.s64.s32" : "mov.b32");
		strcpy(bound, "~e0");
	}
	snprintf(by, sizeof(by), "%d", c.step);
	if (by_register) {
		gen_say(&c, c.before, 0, "\tadd.s32 ~m2, ~m0, %d;\n\t%s ~g0, ~m2;\n", c.step, c.wide ? "cvt.s64.s32" : "mov.b32");
		strcpy(by, "~g0");
	}
	gen_say(&c, c.before, 0, "\tmov.b32 ~v0, %u;\n", gen_pick(g, 100));
	if (first)
		gen_say(&c, c.round, 0, "\tadd.s%u ~i1, ~i0, %s;\n", bits, by);
	for (k = 0; k < n; k++)
		gen_count_load(g, &c, k);
	/* lanes that are not here keep what they have, in a register of before and in memory */
	k = gen_pick(g, GEN_SUMS);
	if (gen_one_in(g, 2))
		gen_say(&c, c.round, 0, "\tmad.lo.s32 %%k%u, %%k%u, 3, ~t0;\n", k, k);
	if (!c.lanes && c.rounds <= 14 && gen_one_in(g, 2)) {
		gen_say(&c, c.before, 9, "\tadd.s64 ~p, %%own, %d;\n", up ? 0 : 60);
		gen_say(&c, c.round, 9, "\tst.global.u32 [~p], ~v0;\n");
		gen_say(&c, c.tail, 9, "\tadd.s64 ~p, ~p, %d;\n", up ? 4 : -4);
	}
	for (k = 0; k < 2; k++) {
		if (k == (unsigned)was)
			gen_say(&c, c.tail, 0, first ? "\tmov.b%u ~i0, ~i1;\n" : "\tadd.s%u ~i0, ~i0, %s;\n", bits, by);
		else
			gen_say(&c, c.tail, 0, "\tsetp.%s.%s%u ~x0, ~i%d, %s;\n", (out ? stop : go)[cmp], equal ? "b" : c.start >= 0 && last >= 0 && up && gen_one_in(g, 2) ? "u" : "s",
				bits, first && !was, bound);
	}
	k = c.id;
	gen_frame(g, region, "\t{\n\t.reg .pred %%wx%u_<1>;\n\t.reg .b32 %%ws%u_<1>, %%wn%u_<3>, %%wm%u_<3>, %%wv%u_<1>, %%wj%u_<4>, %%wl%u_<4>, %%wt%u_<4>;\n"
		  "\t.reg .b%u %%wi%u_<2>, %%we%u_<1>, %%wg%u_<1>;\n\t.reg .b64 %%wb%u_<4>, %%wa%u_<4>, %%wc%u_<4>, %%wq%u_<4>, %%wp%u_<10>;\n", k, k, k, k, k, k, k, k,
		  bits, k, k, k, k, k, k, k, k);
	gen_frame(g, region, "%sCL%u:\n%s%s", c.before, k, c.round, c.tail);
	gen_frame(g, region, out ? "\t@%%wx%u_0 bra CO%u;\n\tbra CL%u;\nCO%u:\n" : "\t@%%wx%u_0 bra CL%u;\n", k, k, k, k);
	snprintf(reg, sizeof(reg), "%%wv%u_0", k);
	gen_sum(g, text, sizeof(text), '4', reg);
	gen_frame(g, region, "%s\t}\n", text);
	gen_region_end(g, region);
}

/* One that walks out of memory: below the span's beginning, where there is memory of nobody, far away, or by a step that makes it crooked. */
static void gen_count_wrong(struct gen *g)
{
	static const char *const walks[] = { "-256", "-64", "-128", "0x12000000000", "2", "-0x12000000000", "-4096" };
	static const char *const uses[] = { "ld.global.u32 %wt, [%wp];", "ld.global.v2.u32 {%wt, %wu}, [%wp];", "ld.global.u8 %wt, [%wp+1];", "ld.u16 %wt, [%wp+2];", "st.global.u32 [%wp], %wt;" };
	unsigned label = g->labels++, use = gen_pick(g, GEN_COUNT(uses)), writes = use == 4;
	/* what others read is not written before. Code looks twice at the span's first page, and the loop begins behind it */
	const char *walk = walks[writes ? 6 : gen_pick(g, GEN_COUNT(walks))];

	if (!writes && gen_one_in(g, 3)) {
		/* or its number wraps on the way to an address, which is in memory far from the span then (canary.h: 2^40 bytes before it) */
		int sg = gen_one_in(g, 2);

		g->low = 1;
		gen_frame(g, -1, "\t{\n\t.reg .b32 %%wt, %%wu, %%wi, %%ws;\n\t.reg .b64 %%wp, %%wl, %%wb;\n\t.reg .pred %%wx;\n\tmad.wide.u32 %%wl, %%lane, %u, %%in;\n\tadd.s64 %%wb, %%wl, %s;\n\tmov.b32 %%wi, %s;\n\tmov.b32 %%ws, 7;\n",
			  8 * gen_pick(g, 3), sg ? "-549755772928" : "-1099511586816", sg ? "0x7fffffe0" : "0xffffffe0");
		gen_frame(g, -1, "CL%u:\n\tmad.wide.%c32 %%wp, %%wi, 256, %%wb;\n\t%s\n\tmad.lo.s32 %%ws, %%ws, 5, %%wt;\n\tadd.s32 %%wi, %%wi, 1;\n\tsetp.ne.s32 %%wx, %%wi, %d;\n\t@%%wx bra CL%u;\n"
			  "\tmad.lo.u32 %%k0, %%k0, 31, %%ws;\n\t}\n", label, sg ? 's' : 'u', uses[gen_pick(g, 3) & 2], (int)((sg ? 0x7fffffe0u : 0xffffffe0u) + 10 + gen_pick(g, 60)), label);
		return;
	}
	g->low = 1;
	gen_frame(g, -1, "\t{\n\t.reg .b32 %%wt, %%wu, %%wi, %%ws;\n\t.reg .b64 %%wp, %%wb;\n\t.reg .pred %%wx;\n\tmad.wide.u32 %%wb, %s, %u, %%in;\n\tadd.s64 %%wp, %%wb, %d;\n",
		  gen_one_in(g, 2) ? "%lane" : "%ty", 8 * gen_pick(g, 3), writes ? -4096 : (gen_one_in(g, 3) ? 0 : 4096) + 64 * (int)gen_pick(g, 12) + 2 * gen_one_in(g, 4));
	gen_frame(g, -1, "\tmov.b32 %%wi, 0;\n\tmov.b32 %%ws, 7;\n\tmov.b32 %%wt, 1;\nCL%u:\n\t%s\n\tmad.lo.s32 %%ws, %%ws, 5, %%wt;\n\tadd.s64 %%wp, %%wp, %s;\n", label, uses[use], walk);
	gen_frame(g, -1, "\tadd.s32 %%wi, %%wi, 1;\n\tsetp.lt.s32 %%wx, %%wi, %u;\n\t@%%wx bra CL%u;\n\tmad.lo.u32 %%k0, %%k0, 31, %%ws;\n\t}\n", 4 + gen_pick(g, 150), label);
}

#endif
