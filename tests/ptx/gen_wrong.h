/* SPDX-License-Identifier: MIT */
/*
 * Random kernels: what goes wrong in one that is meant to. The report of the fault is its result: status, thread, address,
 * line; or the status alone where an address has been made of a register without definition (gen.open).
 */
#ifndef TESTS_PTX_GEN_WRONG_H
#define TESTS_PTX_GEN_WRONG_H

#include "gen_more.h"

/*
 * An address that is far away though what a compiler expects of it is not: a shift of a number that is negative after all, a row
 * that starts in the middle, something defined only later. Another access by the same base has just been checked, and between
 * what makes the address and what uses it lanes part, or an instruction stands that code does not do by itself. They lead to
 * rig.h's memory far from the span, where an access that nobody checked is no fault.
 */
static void gen_far(struct gen *g)
{
	/* '#' is where lanes part. Registers of its own: what is written elsewhere too is not known to be a scalar. */
	static const char *const makes[] = {
		"sub.s32 %g0, $u, 1000000;\n\tcvt.s64.s32 %e0, %g0;\n\tcvt.u64.u32 %e1, %tx;\n\tadd.s64 %e2, %e0, %e1;\n\t#shr.s64 %e3, %e2, 63;\n"
		"\tmul.lo.s64 %e4, %e3, 0x12000000000;\n\tadd.s64 %e5, %in, %e4;\n\t",
		"ld.global.s32 %e0, [%in+$m];\n\tor.b64 %e0, %e0, 0x8000000000000000;\n\tcvt.u64.u32 %e1, %tx;\n\tadd.s64 %e2, %e0, %e1;\n\t"
		"#shr.s64 %e3, %e2, 63;\n\tmul.lo.s64 %e4, %e3, 0x12000000000;\n\tadd.s64 %e5, %in, %e4;\n\t",
		"sub.s32 %g0, $u, 1000000;\n\tadd.s32 %g1, %g0, %tx;\n\t#shr.s32 %g2, %g1, 31;\n\tcvt.s64.s32 %e3, %g2;\n"
		"\tmul.lo.s64 %e4, %e3, 0x12000000000;\n\tadd.s64 %e5, %in, %e4;\n\t",
		"and.b32 %g0, $u, 255;\n\tor.b32 %g1, %g0, 1;\n\tadd.s32 %g2, %g1, %tx;\n\t#shr.u32 %g3, %g2, 5;\n\tshr.u32 %g4, %g1, 5;\n"
		"\tsub.s32 %g5, %g3, %g4;\n\tmul.wide.s32 %e3, %g5, -0x48000000;\n\tshl.b64 %e4, %e3, 10;\n\tadd.s64 %e5, %in, %e4;\n\t",
		/* defined below where it is used: whatever it is, the address is none */
		"and.b64 %e1, %e0, -32;\n\tsetp.eq.u32 %po, %cx, 12345;\n\t@%po bra WD$L;\n\tcvt.u64.u32 %e2, %pn;\n\tadd.s64 %e3, %e2, 0x1f0000000000;\n\t"
		"sub.s64 %e2, %e3, %in;\n\tshr.u64 %e4, %e2, 6;\n\tshl.b64 %e0, %e4, 6;\nWD$L:\n\t#sub.s64 %e3, %e0, %e1;\n\tadd.s64 %e5, %in, %e3;\n\t",
		"and.b64 %e1, %e0, -32;\n\tsetp.eq.u32 %po, %cx, 12345;\n\t@%po bra WD$L;\n\tld.global.u64 %e2, [%own];\n\tmov.u64 %e2, 0x1f0000000000;\n\t"
		"sub.s64 %e3, %e2, %in;\n\tshr.u64 %e4, %e3, 6;\n\tshl.b64 %e0, %e4, 6;\nWD$L:\n\t#sub.s64 %e6, %e0, %e1;\n\tadd.s64 %e5, %in, %e6;\n\t",
	};
	/* not at all; in code; by the interpreter, as both sides leave a scalar */
	static const char *const parts[][2] = {
		{ "", "" },
		{ "setp.lt.u32 %po, %lane, 16;\n\t@%po bra WA$L;\n\tld.global.u32 %r0, [%in+32];\n\tbra WB$L;\nWA$L:\n\tld.global.u32 %r0, [%in+36];\nWB$L:\n\t", "" },
		{ "setp.lt.u32 %po, %lane, 16;\n\t@%po bra WA$L;\n\tld.global.u32 %g6, [%in+32];\n\tbra WB$L;\nWA$L:\n\tld.global.u32 %g6, [%in+36];\nWB$L:\n\t",
		  "red.global.add.u32 [%own+4], %g6;\n\t" },
	};
	static const char *const leaves[] = {
		"", "atom.global.add.noftz.f16x2 %r0, [%own+4], %r1;\n\t", "or.b32 %rx, %r1, 1;\n\tdiv.u32 %r0, %r0, %rx;\n\t", "bar.warp.sync -1;\n\t",
		"match.any.sync.b32 %r0, %r1, %wm;\n\t", "call (%r0), byreg, (%r1, %f0);\n\t",
	};
	static const char *const checked[] = { "ld.global.u64 %qy, [%in+16];\n\t", "ld.global.u32 %r1, [%in+24];\n\t", "st.global.u32 [%own+8], %r1;\n\t", "" };
	static const char *const uses[] = { "ld.global.u64 %q0, [%e5+24];", "ld.global.u32 %r0, [%e5+8];", "st.global.u64 [%e5+24], %q0;", "ld.global.v2.u32 {%r0, %r1}, [%e5];",
					    "red.global.add.u32 [%e5+16], %r0;", "ld.u8 %r0, [%e5+3];" };
	static const unsigned only_read[] = { 0, 1, 3, 5 };
	unsigned way = gen_pick(g, GEN_COUNT(makes)), part = gen_one_in(g, 2) ? 2 : gen_pick(g, 2);
	unsigned leave = gen_pick(g, GEN_COUNT(leaves)), use = gen_pick(g, GEN_COUNT(uses));
	char pattern[2048] = "", text[2048] = "\t", *base;
	const char *hole;

	/* in a loop's second round such a register has the value of the first, and the address may be one after all */
	if (way >= 4 && g->loops)
		way -= 2;
	if (way >= 4)
		use = only_read[use % GEN_COUNT(only_read)];
	/* lanes that are not here cannot be asked */
	if (g->ctx == APART && (leave == 3 || leave == 4))
		leave = 0;
	g->open = way >= 4;
	hole = strchr(makes[way], '#');
	snprintf(pattern, sizeof(pattern), "%.*s%s%s%s%s%s%s", (int)(hole - makes[way]), makes[way], parts[part][0], hole + 1,
		 parts[part][1], leaves[leave], checked[gen_pick(g, GEN_COUNT(checked))], uses[use]);
	/* where it is an address, nobody else reads or writes there */
	if (strncmp(uses[use], "st.", 3) == 0 || strncmp(uses[use], "red.", 4) == 0) {
		base = strstr(pattern, "%e5, %in");
		memmove(base + 9, base + 8, strlen(base + 8) + 1);
		memcpy(base + 5, "%own", 4);
	}
	gen_fill(g, pattern, 0, text + 1, sizeof(text) - 2);
	strcat(text, "\n");
	gen_add(g, 0, -1, text);
}

/*
 * An address that lies by another that has just been checked, and is none: below the span, misaligned, or in a register that has
 * meanwhile been written again, or was only checked where nobody ran. Memory below the span is there (canary.h).
 */
static void gen_ride(struct gen *g)
{
	static const char *const ways[] = {
		"ld.global.u32 %r0, [%in+8];\n\tld.global.u32 %r1, [%in+-64];", "st.global.u32 [%own+8], %r0;\n\tld.global.u32 %r1, [%in+8];\n\tst.global.u32 [%in+-8], %r1;",
		"ld.global.u32 %r0, [%in+8];\n\tsub.s64 %e0, %in, 128;\n\tld.global.u32 %r1, [%e0+8];",
		"add.s64 %e0, %in, 128;\n\tld.global.u32 %r0, [%e0];\n\tsub.s64 %e1, %e0, 256;\n\tld.global.u32 %r1, [%e1];",
		"add.s64 %e0, %in, 64;\n\tld.global.u32 %r0, [%e0];\n\tadd.s64 %e1, %in, -64;\n\tmin.s64 %e0, %e0, %e1;\n\tld.global.u32 %r1, [%e0+4];",
		"setp.gt.u32 %po, %lin, 4095;\n\tadd.s64 %e0, %in, -128;\n\t@%po ld.global.u32 %r0, [%e0];\n\tld.global.u32 %r1, [%e0+4];",
		"ld.global.u32 %r0, [%in+8];\n\tld.global.u32 %r1, [%in+10];", "ld.global.u32 %r0, [%in+4];\n\tld.global.u64 %q0, [%in+12];",
		"mad.wide.u32 %e0, %lane, 4, %in;\n\tld.global.u32 %r0, [%e0];\n\tld.global.u32 %r1, [%e0+-16];",
		"mad.wide.u32 %e0, %lane, 8, %in;\n\tld.global.u64 %q0, [%e0];\n\tld.global.u32 %r1, [%e0+6];",
		/* every lane's own */
		"and.b32 %g0, %r0, 12;\n\tadd.u32 %g1, %g0, %shb;\n\tld.shared.u32 %r1, [%g1+2];",
		"and.b32 %g0, %r0, 24;\n\tadd.u32 %g1, %g0, %shb;\n\tst.shared.u64 [%g1+4], %q0;",
		"and.b32 %g0, %r0, 60;\n\tmad.wide.u32 %e0, %g0, 1, %in;\n\tld.global.u32 %r1, [%e0+2];",
		"and.b32 %g0, %r0, 60;\n\tmad.wide.u32 %e0, %g0, 1, %own;\n\tst.global.u32 [%e0+1], %r1;",
		"and.b32 %g0, %r0, 60;\n\tmad.wide.u32 %e0, %g0, 1, %in;\n\tld.global.u32 %r1, [%e0+-128];",
	};
	char text[512];

	g->low = 1;
	snprintf(text, sizeof(text), "\t%s\n", ways[g->paired ? gen_pick(g, GEN_COUNT(ways)) : g->turn / 2 % GEN_COUNT(ways)]);
	gen_add(g, 0, -1, text);
}

static void gen_count_wrong(struct gen *g);

/* One lane goes wrong, or several: the first of them is told of. Addresses of all kinds that are none. */
static void gen_wrong(struct gen *g)
{
	static const char *const ways[] = {
		"@%po ld.global.u32 %r0, [%in+-4096];", "@%po st.global.u32 [%own+2], %r0;",
		"@%po ld.global.v4.f32 {%ft, %ft, %ft, %f0}, [%acc+64];", "mov.u64 %qx, -16;\n\t@%po ld.global.v2.u64 {%q0, %q1}, [%qx];",
		"mov.u64 %qx, -8;\n\t@%po ld.global.u64 %q0, [%qx+8];", "mov.u64 %qx, 0x208000000000;\n\t@%po ld.global.u64 %q0, [%qx];",
		"mov.u64 %qx, 0x208000000000;\n\t@%po st.global.u32 [%qx], %r0;", "mov.u64 %qx, 0x1fffffffffff;\n\t@%po ld.global.u8 %r0, [%qx];",
		"add.u32 %rx, %shb, 0x40000;\n\t@%po st.shared.u32 [%rx], %r0;", "@%po ld.shared.u32 %r0, [%sh4+-262144];",
		"@%po ld.shared.v2.u32 {%r0, %r1}, [%shb+4];", "@%po atom.global.add.u32 %r0, [%own+130], %r1;",
		"mov.u64 %qx, 8;\n\t@%po red.global.add.u32 [%qx], %r1;", "mul.wide.u32 %qx, %lane, 0x7fffff00;\n\tadd.s64 %qx, %in, %qx;\n\tld.global.u8 %r0, [%qx];",
		"mul.wide.u32 %qx, %lane, 0x7fffff00;\n\tsub.s64 %qx, %own, %qx;\n\tst.global.u32 [%qx], %r0;",
		"mov.u64 %qx, 64;\n\tld.global.u32 %r0, [%qx];", "mov.u64 %qx, 64;\n\tst.global.v2.u32 [%qx+8], {%r0, %r1};",
		"cvt.u64.u32 %qx, %shb;\n\tcvta.shared.u64 %qx, %qx;\n\t@%po ld.u32 %r0, [%qx+0x40000000];",    /* nearer by there are other blocks' windows */
		"cvt.u64.u32 %qx, %shb;\n\tcvta.shared.u64 %qx, %qx;\n\t@%po st.u32 [%qx+-8], %r0;",
		"mov.u64 %qx, tab;\n\t@%po ld.const.u32 %r0, [%qx+16777216];", "@%po ld.param.u32 %r0, [pb+44];",
		"selp.b64 %qx, 0x7fffffffffffffff, %in, %po;\n\tld.global.u32 %r0, [%qx+1];", "shl.b64 %qx, %q0, 40;\n\t@%po ld.u16 %h0, [%qx];",
		"mad.wide.u32 %qx, %lane, 4, %in;\n\tselp.b64 %qy, -4, 0, %po;\n\tadd.s64 %qx, %qx, %qy;\n\tadd.s64 %qx, %qx, -65536;\n\tld.global.u32 %r0, [%qx+65536];",
		"@%po trap;",
		/* the address lies where the value goes */
		"selp.b64 %qx, 64, %own, %po;\n\tld.global.u64 %qx, [%qx];", "selp.b64 %qx, 64, %in, %po;\n\tld.global.v2.u64 {%qx, %qy}, [%qx];",
		"selp.b32 %rx, 0x40000, %shb, %po;\n\tld.shared.u32 %rx, [%rx];", "selp.b64 %qx, %own, 64, %po;\n\tatom.global.exch.b64 %qx, [%qx], %qx;",
		"selp.b64 %qx, 64, %own, %po;\n\tld.global.u8 %qx, [%qx];", "selp.b64 %qx, 80, %in, %po;\n\tld.global.v4.u32 {%r0, %rx, %ry, %r1}, [%qx];",
	};
	unsigned way = gen_pick(g, GEN_COUNT(ways));
	char text[512];

	g->faulty = 0;
	/* most kernels that are meant to fault have no pairs: of these, every other one rides, in each way in turn */
	if (g->paired ? gen_one_in(g, 3) : (int)(g->turn % 2)) {
		gen_ride(g);
		return;
	}
	if (gen_one_in(g, 3)) {
		gen_count_wrong(g);
		return;
	}
	if (!gen_one_in(g, 4)) {
		gen_far(g);
		return;
	}
	snprintf(text, sizeof(text), "\tsetp.%s.u32 %%po, %%lane, %u;\n\t%s\n", gen_one_in(g, 3) ? "ge" : "eq", gen_pick(g, 32), ways[way]);
	gen_add(g, 0, -1, text);
}

#endif
