/* SPDX-License-Identifier: MIT */
/*
 * Random kernels, between gen.h and gen_kernel.h: stores side by side, backwards and across, calls by pointer and with
 * registers, wide shuffles, matrix instructions, asynchronous copies, local memory by other ways.
 */
#ifndef TESTS_PTX_GEN_MORE_H
#define TESTS_PTX_GEN_MORE_H

#include "gen.h"

#define GEN_PLACES 12u          /* that threads store side by side in; the last four are floats */
#define GEN_FLOAT_PLACE 8u
#define GEN_MAX_TOTAL 2048u     /* threads of a grid */
#define GEN_PLACE_BYTES (GEN_MAX_TOTAL * 16)

/*
 * A base and an index that is extended to 64 bits, as compilers write a[i]: rows that only show when code runs, anywhere, before the base; of
 * the input, the thread's own memory or shared memory. Lanes that stay out have an index that is none.
 */
static void gen_indexed(struct gen *g)
{
	static const char *const types[] = { "u32", "u32", "u32", "u16", "s16", "u8", "s8" };
	unsigned space = gen_pick(g, g->mine ? 3 : 2), before = gen_one_in(g, 2), guarded = gen_one_in(g, 3), p = gen_pick(g, g->np), n = 1 + gen_pick(g, 3);
	const char *where = space == 2 ? "shared" : gen_one_in(g, 4) ? "" : "global", *dot = *where ? "." : "";
	char text[2048], r[32];

	gen_r(g, 0, r, sizeof(r));
	if (space == 1)
		snprintf(text, sizeof(text), "\tand.b32 %%rx, %s, 15;\n\tmad.lo.u32 %%rx, %%gtid, %u, %%rx;\n", r, GEN_OWN_BYTES / 4);
	else if (space == 2)
		snprintf(text, sizeof(text), "\tand.b32 %%rx, %s, 3;\n\tmad.lo.u32 %%rx, %%lin, 4, %%rx;\n", r);
	else if (gen_one_in(g, 3))
		snprintf(text, sizeof(text), "\tand.b32 %%ry, %%pn, 63;\n\tmad.lo.u32 %%rx, %%ty, %%ry, %%tx;\n");
	else if (gen_one_in(g, 2))
		snprintf(text, sizeof(text), "\tshr.u32 %%rx, %s, 31;\n\tadd.u32 %%rx, %%rx, %%lin;\n", r);
	else if (gen_one_in(g, 2))
		snprintf(text, sizeof(text), "\tshr.u32 %%ry, %s, 31;\n\tmad.lo.u32 %%rx, %%lane, %u, %%ry;\n", r, 1 + gen_pick(g, 8));
	else
		snprintf(text, sizeof(text), "\tand.b32 %%rx, %s, %u;\n", r, gen_one_in(g, 4) ? 0 : 4095);
	if (before)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "\tsub.s32 %%rx, %%rx, 300;\n");
	if (guarded && gen_one_in(g, 2))
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "\tselp.b32 %%rx, %%rx, %s, %%p%u;\n",
			 gen_one_in(g, 3) ? "-1" : gen_one_in(g, 2) ? "0x7fffffff" : "0x80000000", p);
	/* in three ways, and all of it a second time or not: the index under another name */
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s",
		 gen_one_in(g, 2) ? (before ? "\tmul.wide.s32 %qx, %rx, 4;\n" : gen_one_in(g, 2) ? "\tmul.wide.s32 %qx, %rx, 4;\n" : "\tmul.wide.u32 %qx, %rx, 4;\n") :
		 before ? "\tcvt.s64.s32 %qy, %rx;\n\tshl.b64 %qx, %qy, 2;\n" : "\tcvt.u64.u32 %qy, %rx;\n\tshl.b64 %qx, %qy, 2;\n");
	if (space == 2)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "\tmov.u64 %%zn, sm;\n\tadd.s64 %%zl, %%zn, %u;\n", before ? 1200 : 0);
	else
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "\tadd.s64 %%zl, %s, %u;\n", space ? "%own0" : "%in", before ? 1200 : 0);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), gen_one_in(g, 2) ? "\tadd.s64 %%zm, %%zl, %%qx;\n" : "\tadd.s64 %%zm, %%qx, %%zl;\n");
	while (n--) {
		const char *type = types[gen_pick(g, GEN_COUNT(types))];
		unsigned more = space ? 0 : 4 * gen_pick(g, 3), f = gen_pick(g, g->nr);
		char guard[16] = "";

		if (guarded)
			snprintf(guard, sizeof(guard), "@%%p%u ", p);
		if (space && gen_one_in(g, 2))
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "\t%sst%s%s.u32 [%%zm], %%r%u;\n", guard, dot, where, f);
		else if (space && gen_one_in(g, 4))
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "\t%sred%s%s.add.u32 [%%zm], %%r%u;\n", guard, dot, where, f);
		else
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "\t%sld%s%s.%s %%r%u, [%%zm+%u];\n", guard, dot, where, type, f, more);
	}
	/* now and then somebody else wants the address */
	if (gen_one_in(g, 4))
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "\tsub.s64 %%zm, %%zm, %%zl;\n\tcvt.u32.u64 %%r%u, %%zm;\n", gen_pick(g, g->nr));
	gen_add(g, 0, -1, text);
}

/*
 * What all lanes read from one place of shared memory and spread over vectors. Every thread stores the same number there, always, so whoever
 * reads it gets that.
 */
static void gen_spread(struct gen *g)
{
	unsigned count = 1u << gen_pick(g, 3), n = 1 + gen_pick(g, 4);
	static const char *const names[] = { "%zx", "%zy", "%zz", "%zu" };
	char text[2048], list[64] = "";

	if (gen_one_in(g, 2))
		snprintf(text, sizeof(text), "\tand.b32 %%rx, %%pn, 16;\n\tcvt.u64.u32 %%zl, %%rx;\n\tmov.u64 %%zm, su;\n\tadd.s64 %%zl, %%zl, %%zm;\n");
	else
		snprintf(text, sizeof(text), "\tmov.u64 %%zl, su;\n");
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "\tst.shared.v4.u32 [%%zl], {%%pm, %%pm, %%pm, %%pm};\n");
	for (unsigned i = 0; i < count; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "", names[i]);
	if (count > 1)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "\tld.shared.v%u.u32 {%s}, [%%zl];\n", count, list);
	else
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "\tld.shared.u32 %s, [%%zl+%u];\n", list, 4 * gen_pick(g, 4));
	while (n--) {
		static const char *const ops[] = { "add.u32 %%r%u, %%r%u, %s;", "xor.b32 %%r%u, %%r%u, %s;", "mul.lo.u32 %%r%u, %%r%u, %s;", "max.s32 %%r%u, %%r%u, %s;",
						   "shr.u32 %%r%u, %%r%u, %s;", "mul.hi.u32 %%r%u, %%r%u, %s;" };

		snprintf(text + strlen(text), sizeof(text) - strlen(text), "\t");
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ops[gen_pick(g, GEN_COUNT(ops))], gen_pick(g, g->nr), gen_pick(g, g->nr),
			 names[gen_pick(g, count)]);
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "\n");
	}
	gen_add(g, 0, -1, text);
}

/* Each thread stores into an element of its own of a place that no other unit uses, and may look at it again. */
static void gen_scatter(struct gen *g)
{
	static const struct { const char *type, *into; unsigned bytes, count; } forms[] = {
		{ "u8", "r", 1, 1 }, { "u16", "h", 2, 1 }, { "u32", "r", 4, 1 }, { "u32", "r", 4, 1 }, { "u64", "q", 8, 1 },
		{ "v2.u32", "r", 8, 2 }, { "v4.u32", "r", 16, 4 }, { "v2.u16", "h", 4, 2 }, { "v2.u64", "q", 16, 2 }, { "v4.u8", "r", 4, 4 },
		{ "f32", "f", 4, 1 }, { "f32", "f", 4, 1 }, { "v2.f32", "f", 8, 2 }, { "v4.f32", "f", 16, 4 },
	};
	unsigned f = gen_pick(g, GEN_COUNT(forms)), floats = forms[f].into[0] == 'f', bytes = forms[f].bytes, place, limit, first;
	unsigned stride = bytes * (gen_one_in(g, 2) ? 1 : 1 + gen_pick(g, 16 / bytes)), how = gen_pick(g, g->full_warps ? 6 : 4), load = gen_pick(g, 3);
	char index[160], list[128] = "", guard[16] = "", text[1024];

	if (floats ? g->float_places == GEN_PLACES - GEN_FLOAT_PLACE : g->int_places == GEN_FLOAT_PLACE)
		return;
	place = floats ? GEN_FLOAT_PLACE + g->float_places++ : g->int_places++;
	limit = forms[f].into[0] == 'r' ? g->nr : forms[f].into[0] == 'h' ? g->nh : floats ? g->nf : g->nq;
	first = gen_pick(g, limit);
	for (unsigned i = 0; i < forms[f].count; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%%%s%u", i ? ", " : "", forms[f].into, (first + i) % limit);
	if (forms[f].count > 1) {
		char inner[100];

		snprintf(inner, sizeof(inner), "%.99s", list);
		snprintf(list, sizeof(list), "{%s}", inner);
	}
	if (gen_one_in(g, 3))
		snprintf(guard, sizeof(guard), "@%s%%p%u ", gen_one_in(g, 2) ? "!" : "", gen_pick(g, g->np));
	switch (how) {
	case 0: case 1: snprintf(index, sizeof(index), "\tmov.u32 %%rx, %%gtid;\n"); break;
	case 2: snprintf(index, sizeof(index), "\tsub.u32 %%rx, %%total, %%gtid;\n\tadd.u32 %%rx, %%rx, -1;\n"); break;
	case 3: snprintf(index, sizeof(index), "\tadd.u32 %%rx, %%gtid, %u;\n\trem.u32 %%rx, %%rx, %%total;\n", gen_pick(g, 64)); break;
	default: snprintf(index, sizeof(index), "\txor.b32 %%rx, %%gtid, %u;\n", 1 + gen_pick(g, 31));
	}
	snprintf(text, sizeof(text), "%s\tmad.wide.u32 %%qx, %%rx, %u, %%out;\n\t%sst%s.%s [%%qx+%u], %s;\n", index, stride, guard,
		 gen_one_in(g, 4) ? "" : ".global", forms[f].type, place * GEN_PLACE_BYTES, list);
	if (!load)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "\tld.global.%s %s, [%%qx+%u];\n", forms[f].type, list,
			 place * GEN_PLACE_BYTES);
	gen_add(g, 0, -1, text);
}

/* Parameters in registers; a pointer that threads do not agree about. */
static void gen_call_more(struct gen *g)
{
	unsigned label = g->labels++;
	char text[768];

	static const char *const targets[] = { "helper", "helper2", "deep", "via" };
	unsigned how = gen_pick(g, 4);

	if (how < 2 && gen_one_in(g, 3))
		snprintf(text, sizeof(text), "\t@%s%%p%u call (%%r%u), %s, (%%r%u, %%f%u);\n", gen_one_in(g, 2) ? "!" : "", gen_pick(g, g->np), gen_pick(g, g->nr),
			 how ? "ping" : "byreg", gen_pick(g, g->nr), gen_pick(g, g->nf));
	else if (how < 2)
		snprintf(text, sizeof(text), "\tcall%s (%%r%u), %s, (%%r%u, %%f%u);\n", g->ctx == TOGETHER ? ".uni" : "", gen_pick(g, g->nr),
			 how ? "ping" : "byreg", gen_pick(g, g->nr), gen_pick(g, g->nf));
	else if (how == 2)
		snprintf(text, sizeof(text), "\t{\n\t.param .b32 a0;\n\t.param .b32 a1;\n\t.param .b32 rv;\n\tst.param.b32 [a0], %%r%u;\n"
			 "\tst.param.b32 [a1], %%r%u;\n\tcall (rv), %s, (a0, a1);\n\tld.param.b32 %%r%u, [rv];\n\t}\n", gen_pick(g, g->nr),
			 gen_pick(g, g->nr), targets[2 + gen_pick(g, 2)], gen_pick(g, g->nr));
	else
		snprintf(text, sizeof(text), "\t{\n\t.reg .b64 t<3>;\n\t.param .b32 a0;\n\t.param .b32 a1;\n\t.param .b32 rv;\n\tst.param.b32 [a0], %%r%u;\n"
			 "\tst.param.b32 [a1], %%r%u;\n\tmov.u64 t0, %s;\n\tmov.u64 t1, %s;\n\tselp.b64 t2, t0, t1, %%%c%u;\n"
			 "PROTO%u: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\n\tcall (rv), t2, (a0, a1), PROTO%u;\n"
			 "\tld.param.b32 %%r%u, [rv];\n\t}\n", gen_pick(g, g->nr), gen_pick(g, g->nr), targets[gen_pick(g, 4)], targets[gen_pick(g, 4)],
			 g->ctx == TOGETHER && gen_one_in(g, 2) ? 'v' : 'p', gen_pick(g, 3), label, label, gen_pick(g, g->nr));
	gen_add(g, 0, -1, text);
}

/*
 * Their bodies. helper2 has a loop whose trips each thread counts, and a way out of its middle. deep calls itself once or twice, ping and
 * pong each other, via itself or another by a pointer, as often as the low bits of a say; values of every width live across.
 */
static const char gen_functions[] =
	".func (.param .b32 r) helper2(.param .b32 a, .param .b32 b)\n{\n\t.reg .b32 %x<6>;\n\t.reg .pred %q<2>;\n\t.local .align 4 .b8 m[64];\n"
	"\t.reg .b64 %y<3>;\n\tld.param.b32 %x0, [a];\n\tld.param.b32 %x1, [b];\n\tmov.u64 %y0, m;\n\tmov.u32 %x2, 0;\n"
	"FILL:\n\tmad.wide.u32 %y1, %x2, 4, %y0;\n\tmad.lo.u32 %x3, %x2, %x1, %x0;\n\tst.local.u32 [%y1], %x3;\n\tadd.u32 %x2, %x2, 1;\n"
	"\tsetp.lt.u32 %q0, %x2, 16;\n\t@%q0 bra FILL;\n\tand.b32 %x4, %x1, 15;\n"
	"WALK:\n\tmad.wide.u32 %y1, %x4, 4, %y0;\n\tld.local.u32 %x3, [%y1];\n\txor.b32 %x0, %x0, %x3;\n\tand.b32 %x5, %x3, 7;\n"
	"\tsetp.eq.u32 %q1, %x5, 5;\n\t@%q1 bra OUT;\n\tadd.u32 %x4, %x4, 3;\n\tsetp.lt.u32 %q0, %x4, 16;\n\t@%q0 bra WALK;\n"
	"OUT:\n\tst.param.b32 [r], %x0;\n\tret;\n}\n\n"
	".func (.reg .b32 r) byreg(.reg .b32 a, .reg .f32 b)\n{\n\t.reg .pred %q;\n\t.reg .b32 %x;\n\tsetp.gt.f32 %q, b, 0f00000000;\n"
	"\tshr.u32 %x, a, 3;\n\tselp.b32 r, %x, a, %q;\n\t@%q ret;\n\tadd.s32 r, r, 77;\n\tret;\n}\n\n"
	".func (.param .b32 r) deep(.param .b32 a, .param .b32 b)\n{\n\t.reg .b32 %x<9>;\n\t.reg .b64 %y<3>;\n\t.reg .pred %q<3>;\n"
	"\t.local .align 8 .b8 m[16];\n\t.param .b32 a0;\n\t.param .b32 a1;\n\t.param .b32 rv;\n"
	"\tld.param.b32 %x0, [a];\n\tld.param.b32 %x1, [b];\n\tand.b32 %x2, %x0, 7;\n\tsetp.eq.u32 %q0, %x2, 0;\n\t@%q0 bra LEAF;\n"
	"\tsetp.gt.s32 %q1, %x1, 0;\n\tmov.u64 %y0, m;\n\tst.local.u32 [%y0+4], %x1;\n\tmul.wide.s32 %y1, %x0, %x1;\n"
	"\tsub.s32 %x3, %x0, 1;\n\txor.b32 %x4, %x1, %x0;\n\tst.param.b32 [a0], %x3;\n\tst.param.b32 [a1], %x4;\n\tcall (rv), deep, (a0, a1);\n"
	"\tld.param.b32 %x5, [rv];\n\t@!%q1 bra ONCE;\n\tshr.u32 %x6, %x2, 1;\n\tlop3.b32 %x6, %x0, 7, %x6, 0xba;\n\tst.param.b32 [a0], %x6;\n"
	"\tst.param.b32 [a1], %x5;\n\tcall (rv), deep, (a0, a1);\n\tld.param.b32 %x7, [rv];\n\tshf.l.wrap.b32 %x5, %x5, %x7, 7;\n"
	"ONCE:\n\tld.local.u32 %x6, [%y0+4];\n\tadd.s32 %x5, %x5, %x6;\n\tcvt.u32.u64 %x6, %y1;\n\tselp.b32 %x6, %x6, %x2, %q1;\n"
	"\txor.b32 %x5, %x5, %x6;\n\tst.param.b32 [r], %x5;\n\tret;\n"
	"LEAF:\n\tadd.s32 %x5, %x0, %x1;\n\tst.param.b32 [r], %x5;\n\tret;\n}\n\n"
	".func (.reg .b32 r) pong(.reg .b32 a, .reg .f32 b);\n"
	".func (.reg .b32 r) ping(.reg .b32 a, .reg .f32 b)\n{\n\t.reg .pred %q;\n\t.reg .b32 %x<3>;\n\t.reg .f32 %f;\n\tand.b32 %x0, a, 15;\n"
	"\tsetp.eq.u32 %q, %x0, 0;\n\tmov.b32 r, b;\n\t@%q ret;\n\tsub.s32 %x1, a, 1;\n\tneg.f32 %f, b;\n\tcall (%x2), pong, (%x1, %f);\n"
	"\tadd.s32 r, %x2, %x0;\n\tret;\n}\n\n"
	".func (.reg .b32 r) pong(.reg .b32 a, .reg .f32 b)\n{\n\t.reg .pred %q;\n\t.reg .b32 %x<3>;\n\tsetp.gt.f32 %q, b, 0f00000000;\n"
	"\t@%q bra PLAIN;\n\tcall (%x2), ping, (a, b);\n\tshl.b32 r, %x2, 1;\n\tret;\nPLAIN:\n\tcall (r), byreg, (a, b);\n\tret;\n}\n\n"
	".func (.param .b32 r) via(.param .b32 a, .param .b32 b)\n{\n\t.reg .b32 %x<6>;\n\t.reg .b64 %y<4>;\n\t.reg .pred %q<3>;\n"
	"\t.param .b32 a0;\n\t.param .b32 a1;\n\t.param .b32 rv;\n\tld.param.b32 %x0, [a];\n\tld.param.b32 %x1, [b];\n"
	"\tand.b32 %x2, %x0, 7;\n\tsetp.eq.u32 %q0, %x2, 0;\n\tmov.u32 %x3, %x1;\n\t@%q0 bra OUT;\n\tsetp.lt.s32 %q1, %x1, 0;\n\tmov.u64 %y0, via;\n"
	"\tmov.u64 %y1, helper2;\n\tselp.b64 %y2, %y0, %y1, %q1;\n\tsub.s32 %x3, %x0, 1;\n\tshl.b32 %x4, %x1, 1;\n\tst.param.b32 [a0], %x3;\n"
	"\tst.param.b32 [a1], %x4;\nP: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\n\tcall (rv), %y2, (a0, a1), P;\n"
	"\tld.param.b32 %x3, [rv];\n\tadd.s32 %x3, %x3, %x0;\n\tselp.b32 %x3, %x3, %x4, %q1;\nOUT:\n\tst.param.b32 [r], %x3;\n\tret;\n}\n\n";

/* All lanes are here, in warps that are full. */
static void gen_tensor(struct gen *g)
{
	unsigned x = g->judged ? (gen_one_in(g, 2) ? gen_pick(g, 2) : 7) : gen_pick(g, 8), d = gen_pick(g, g->nr), e = (d + 1) % g->nr, f = gen_pick(g, g->nf);
	char s[12][32], text[768];

	for (unsigned i = 0; i < 12; i++)
		gen_r(g, 0, s[i], sizeof(s[i]));
	if (x == 0)
		snprintf(text, sizeof(text), "\tmovmatrix.sync.aligned.m8n8.trans.b16 %%r%u, %s;\n", d, s[0]);
	else if (x == 1)
		snprintf(text, sizeof(text), "\tmma.sync.aligned.m8n8k16.row.col.s32.%s.%s.s32 {%%r%u, %%r%u}, {%s}, {%s}, {%s, %s};\n",
			 gen_one_in(g, 2) ? "s8" : "u8", gen_one_in(g, 2) ? "s8" : "u8", d, e, s[0], s[1], s[2], s[3]);
	else if (x == 2 && g->nr >= 8)
		snprintf(text, sizeof(text), "\tmma.sync.aligned.m16n8k32.row.col.s32.s8.%s.s32 {%%r%u, %%r%u, %%r%u, %%r%u}, {%s, %s, %s, %s}, {%s, %s},"
			 " {%s, 7, %s, %s};\n", gen_one_in(g, 2) ? "s8" : "u8", d, e, (d + 2) % g->nr, (d + 3) % g->nr, s[0], s[1], s[2], s[3], s[4],
			 s[5], s[6], s[7], s[8]);
	else if (x == 3)
		snprintf(text, sizeof(text), "\tmma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%%r%u, %%r%u}, {%s, %s}, {%s}, {%s, %s};\n", d, e, s[0],
			 s[1], s[2], s[3], s[4]);
	else if (x == 4 && g->nf >= 4)
		snprintf(text, sizeof(text), "\tmma.sync.aligned.m16n8k16.row.col.f32.%s.f32 {%%f%u, %%f%u, %%f%u, %%f%u}, {%s, %s, %s, %s}, {%s, %s},"
			 " {%%f%u, 0f00000000, %%f%u, %%f%u};\n", gen_one_in(g, 2) ? "f16.f16" : "bf16.bf16", f, (f + 1) % g->nf, (f + 2) % g->nf,
			 (f + 3) % g->nf, s[0], s[1], s[2], s[3], s[4], s[5], gen_pick(g, g->nf), gen_pick(g, g->nf), gen_pick(g, g->nf));
	else if (x == 5 && g->nf >= 4)
		snprintf(text, sizeof(text), "\tmma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%%f%u, %%f%u, %%f%u, %%f%u}, {%s, %s}, {%s},"
			 " {%%f%u, %%f%u, %%f%u, %%f%u};\n", f, (f + 1) % g->nf, (f + 2) % g->nf, (f + 3) % g->nf, s[0], s[1], s[2], f,
			 (f + 1) % g->nf, (f + 2) % g->nf, (f + 3) % g->nf);
	else {
		static const char *const modes[] = { "bfly", "up", "down", "idx" };
		unsigned mode = gen_pick(g, 4), by = 1u << gen_pick(g, 5), clamp = mode == 1 ? 0 : 31;

		/* both halves of 64 bits, of a number or of a double */
		snprintf(text, sizeof(text), "\tmov.b64 {%%rx, %%ry}, %%%c%u;\n\tshfl.sync.%s.b32 %%rx, %%rx, %u, %u, -1;\n"
			 "\tshfl.sync.%s.b32 %%ry|%%po, %%ry, %u, %u, -1;\n\tmov.b64 %%qx, {%%rx, %%ry};\n\t@%%po add.s64 %%q%u, %%qx, %%q%u;\n", 'q',
			 gen_pick(g, g->nq), modes[mode], by, clamp, modes[mode], by, clamp, gen_pick(g, g->nq), gen_pick(g, g->nq));
	}
	gen_add(g, 0, -1, text);
}

/* Into the thread's own shared memory, done when the next instruction looks. */
static void gen_async(struct gen *g)
{
	unsigned bytes = 4u << gen_pick(g, 3), at = bytes == 16 ? 0 : gen_pick(g, 16 / bytes) * bytes;
	char offset[512], text[1024];

	gen_offset(g, bytes, 2 * bytes, offset, sizeof(offset));
	snprintf(text, sizeof(text), "%s\tcvt.u64.u32 %%qx, %%rx;\n\tadd.s64 %%qx, %%in, %%qx;\n\t%scp.async.%s.shared.global [%%shm+%u], [%%qx], %u;\n"
		 "\tcp.async.%s;\n\tld.shared.u32 %%r%u, [%%shm+%u];\n", offset, gen_one_in(g, 3) ? "@%p0 " : "", bytes == 16 ? "cg" : "ca", at, bytes,
		 gen_one_in(g, 2) ? "wait_all" : "commit_group;\n\tcp.async.wait_group 0", gen_pick(g, g->nr), at);
	gen_add(g, 0, -1, text);
}

/* The thread's local memory through a generic address, with what was there before. */
static void gen_local(struct gen *g)
{
	char r[32], text[512];

	gen_r(g, 0, r, sizeof(r));
	snprintf(text, sizeof(text), "\tand.b32 %%rx, %s, 56;\n\tcvt.u64.u32 %%qx, %%rx;\n\tadd.s64 %%qx, %%lo, %%qx;\n\tcvta.local.u64 %%qy, %%qx;\n"
		 "\tld.u64 %%q%u, [%%qy];\n\t@%%p%u st.u32 [%%qy+4], %s;\n\tld.local.u16 %%h%u, [%%qx+2];\n", r, gen_pick(g, g->nq),
		 gen_pick(g, g->np), r, gen_pick(g, g->nh));
	gen_add(g, 0, -1, text);
}

/* What was in the thread's own words before, wider ones and floats. */
static void gen_atomic_more(struct gen *g)
{
	unsigned at = 8 * gen_pick(g, 8);
	char text[256];

	switch (gen_pick(g, 4)) {
	case 0:
		snprintf(text, sizeof(text), "\tatom.global.add.f32 %%f%u, [%%own+%u], %%f%u;\n", gen_pick(g, g->nf), 64 + at, gen_pick(g, g->nf));
		break;
	case 1:
		snprintf(text, sizeof(text), "\t@%%p%u atom.global.exch.b64 %%q%u, [%%own+%u], %%q%u;\n", gen_pick(g, g->np), gen_pick(g, g->nq), at,
			 gen_pick(g, g->nq));
		break;
	case 2:
		snprintf(text, sizeof(text), "\tatom.global.cas.b64 %%q%u, [%%own+%u], %%q%u, %%q%u;\n", gen_pick(g, g->nq), at, gen_pick(g, g->nq),
			 gen_pick(g, g->nq));
		break;
	default:
		snprintf(text, sizeof(text), "\tatom.global.%s.%s %%q%u, [%%own+%u], %%q%u;\n", gen_one_in(g, 2) ? "min" : "max",
			 gen_one_in(g, 2) ? "u64" : "s64", gen_pick(g, g->nq), at, gen_pick(g, g->nq));
	}
	gen_add(g, 0, -1, text);
}

#endif
