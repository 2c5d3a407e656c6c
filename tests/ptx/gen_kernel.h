/* SPDX-License-Identifier: MIT */
/*
 * Random kernels, second part (gen.h has the first): operations between lanes, barriers, control flow, and the
 * frame of a kernel: every register has a value from the start, and is left in memory at the end.
 */
#ifndef TESTS_PTX_GEN_KERNEL_H
#define TESTS_PTX_GEN_KERNEL_H

#include "gen_chain.h"
#include "gen_count.h"

/* ---- between lanes ----------------------------------------------------------------------------- */

/* All lanes of the warp are here; they name all of it, or their tile of eight. Lanes that do not exist lend 0. */
static void gen_warp(struct gen *g)
{
	static const char *const modes[] = { "bfly", "up", "down", "idx" };
	unsigned d = gen_pick(g, g->nr), s = gen_pick(g, g->nr), mode = gen_pick(g, 4), width = 8u << gen_pick(g, 3);
	const char *wm = gen_one_in(g, 3) ? "%tm" : "%wm";
	char text[512];

	if (g->full_warps && gen_one_in(g, 4)) {
		gen_tensor(g);
		return;
	}
	switch (gen_pick(g, 8)) {
	case 7:
		if (gen_one_in(g, 2))
			snprintf(text, sizeof(text), "\tmatch.all.sync.b32 %%r%u|%%p%u, %%r%u, %s;\n", d, gen_pick(g, g->np), s, wm);
		else
			snprintf(text, sizeof(text), "\tmatch.any.sync.b64 %%r%u, %%q%u, %s;\n", d, gen_pick(g, g->nq), wm);
		break;
	case 6: {
		static const char *const ops[] = { "add.u32", "max.s32", "min.u32", "and.b32", "or.b32", "xor.b32", "add.s32" };

		snprintf(text, sizeof(text), "\tredux.sync.%s %%r%u, %%r%u, %s;\n", ops[gen_pick(g, GEN_COUNT(ops))], d, s, wm);
		break;
	}
	case 0: case 1:
		if (g->full_warps || gen_one_in(g, 2)) {
			unsigned clamp = ((32 - width) << 8) | (mode == 1 ? 0 : 31);

			if (gen_one_in(g, 3))
				snprintf(text, sizeof(text), "\tand.b32 %%rx, %%r%u, 31;\n\tshfl.sync.%s.b32 %%r%u|%%p%u, %%r%u, %%rx, %u, -1;\n",
					 gen_pick(g, g->nr), modes[mode], d, gen_pick(g, g->np), s, clamp);
			else
				snprintf(text, sizeof(text), "\tshfl.sync.%s.b32 %%r%u, %%r%u, %u, %u, -1;\n", modes[mode], d, s,
					 1u << gen_pick(g, 5), clamp);
			break;
		}
		/* fall through */
	case 2:
		snprintf(text, sizeof(text), "\trem.u32 %%rx, %%r%u, %%wn;\n\tshfl.sync.idx.b32 %%r%u, %%r%u, %%rx, 31, %s;\n",
			 gen_pick(g, g->nr), d, s, gen_one_in(g, 2) ? "-1" : "%wm");
		break;
	case 3:
		snprintf(text, sizeof(text), "\tvote.sync.ballot.b32 %%r%u, %%p%u, %s;\n", d, gen_pick(g, g->np), wm);
		break;
	case 4:
		snprintf(text, sizeof(text), "\tvote.sync.%s.pred %%p%u, %s%%p%u, %s;\n", gen_one_in(g, 3) ? "uni" : gen_one_in(g, 2) ? "any" : "all",
			 gen_pick(g, g->np), gen_one_in(g, 2) ? "!" : "", gen_pick(g, g->np), wm);
		break;
	default:
		if (g->full_warps) {
			unsigned f = gen_pick(g, g->nf);

			/* a sum over the warp */
			snprintf(text, sizeof(text), "\tshfl.sync.bfly.b32 %%ft, %%f%u, 16, 31, -1;\n\tadd%s.f32 %%f%u, %%f%u, %%ft;\n"
				 "\tshfl.sync.bfly.b32 %%ft, %%f%u, 8, 31, -1;\n\tadd%s.f32 %%f%u, %%f%u, %%ft;\n", f, gen_ftz(g), f, f,
				 f, gen_ftz(g), f, f);
		} else {
			snprintf(text, sizeof(text), "\tmatch.any.sync.b32 %%r%u, %%r%u, %s;\n", d, s, wm);
		}
	}
	gen_add(g, 0, -1, text);
}

/* Exactly the lanes of the mask are here. */
static void gen_masked(struct gen *g)
{
	char text[512];

	if (gen_one_in(g, 3))   /* those of the tile */
		snprintf(text, sizeof(text), "\tand.b32 %%rx, %%mask%d, %%tm;\n\tvote.sync.ballot.b32 %%r%u, %%p%u, %%rx;\n", g->mask,
			 gen_pick(g, g->nr), gen_pick(g, g->np));
	else if (gen_one_in(g, 3))      /* from any, also from those that are not here */
		snprintf(text, sizeof(text), "\tshfl.sync.%s.b32 %%r%u, %%r%u, %u, 31, %%mask%d;\n", gen_one_in(g, 2) ? "down" : "bfly",
			 gen_pick(g, g->nr), gen_pick(g, g->nr), 1u << gen_pick(g, 5), g->mask);
	else if (gen_one_in(g, 2))
		snprintf(text, sizeof(text), "\tvote.sync.ballot.b32 %%r%u, %%p%u, %%mask%d;\n", gen_pick(g, g->nr),
			 gen_pick(g, g->np), g->mask);
	else    /* from the first of them */
		snprintf(text, sizeof(text), "\tbrev.b32 %%rx, %%mask%d;\n\tclz.b32 %%rx, %%rx;\n"
			 "\tshfl.sync.idx.b32 %%r%u, %%r%u, %%rx, 31, %%mask%d;\n", g->mask, gen_pick(g, g->nr),
			 gen_pick(g, g->nr), g->mask);
	gen_add(g, 0, -1, text);
}

static void gen_list(struct gen *g, unsigned n);

/* All threads of the block: each leaves a value in shared memory and takes another thread's. */
static void gen_exchange(struct gen *g)
{
	int region = gen_region(g), wide = gen_one_in(g, 3);
	unsigned d = gen_pick(g, wide ? g->nq : g->nr), s = gen_pick(g, wide ? g->nq : g->nr);

	g->exchanging = 1;
	gen_frame(g, region, "\tst.shared.%s [%%sh%s], %%%c%u;\n", wide ? "u64" : "u32", wide ? "8" : "4", wide ? 'q' : 'r', s);
	if (gen_one_in(g, 2))
		gen_list(g, 1 + gen_pick(g, 3));
	gen_frame(g, region, gen_one_in(g, 4) ? "\tbar.sync 1, %%bn;\n" : gen_one_in(g, 4) ? "\tbarrier.sync 3;\n" : "\tbar.sync 0;\n");
	if (gen_one_in(g, 3))
		gen_list(g, 1 + gen_pick(g, 3));
	if (!wide && g->full_warps && !g->judged && gen_one_in(g, 4))         /* eight rows of the first warp's */
		gen_frame(g, region, "\tand.b32 %%rx, %%lane, 7;\n\tmad.lo.u32 %%rx, %%rx, 16, %%shb;\n\tldmatrix.sync.aligned.m8n8.x1%s.shared.b16 {%%r%u}, [%%rx];\n",
			  gen_one_in(g, 2) ? ".trans" : "", d);
	else if (gen_one_in(g, 4))   /* of each row: two places in a warp of 16 by 2 */
		gen_frame(g, region, "\tmul.lo.u32 %%rx, %%ty, %u;\n\tadd.u32 %%rx, %%rx, %%shb;\n\tld.shared.%s %%%c%u, [%%rx];\n", wide ? 8 : 4,
			  wide ? "u64" : "u32", wide ? 'q' : 'r', d);
	else if (gen_one_in(g, 3))   /* the same of all */
		gen_frame(g, region, "\tld.shared.%s %%%c%u, [sh];\n", wide ? "u64" : "u32", wide ? 'q' : 'r', d);
	else
		gen_frame(g, region, "\tadd.u32 %%rx, %%lin, %u;\n\trem.u32 %%rx, %%rx, %%n;\n\tmul.lo.u32 %%rx, %%rx, %u;\n"
			  "\tadd.u32 %%rx, %%rx, %%shb;\n\tld.shared.%s %%%c%u, [%%rx];\n", gen_pick(g, 64), wide ? 8 : 4,
			  wide ? "u64" : "u32", wide ? 'q' : 'r', d);
	gen_frame(g, region, "\tbar.sync 0;\n");
	gen_region_end(g, region);
	g->exchanging = 0;
}

/* A barrier that counts, and gives every thread the same number. */
static void gen_bar_red(struct gen *g)
{
	char text[256];

	if (gen_one_in(g, 2))
		snprintf(text, sizeof(text), "\tbar.red.popc.u32 %%u%u, 0, %%p%u;\n", gen_u(g, GEN_OF_BLOCK), gen_pick(g, g->np));
	else
		snprintf(text, sizeof(text), "\tbar.red.%s.pred %%v%u, 0, %%p%u;\n", gen_one_in(g, 2) ? "and" : "or",
			 gen_v(g, GEN_OF_BLOCK), gen_pick(g, g->np));
	gen_add(g, 0, -1, text);
}

/* ---- control flow ------------------------------------------------------------------------------ */

/* Sets %ip<fork> to a condition that keeps `ctx` threads together. */
static void gen_condition(struct gen *g, int region, enum gen_ctx ctx, unsigned fork)
{
	char r[32];

	if (ctx == TOGETHER) {
		unsigned bit = gen_pick(g, 3), u = gen_u(g, gen_one_in(g, 2) ? GEN_PLAIN : GEN_VARYING);

		if (bit == 2)   /* a parameter's: all of the grid go one way */
			gen_frame(g, region, "\tand.b32 %%tc%u, %%pm, %u;\n\tsetp.eq.u32 %%ip%u, %%tc%u, 0;\n", fork, 1u << u % 3, fork, fork);
		else
			gen_frame(g, region, "\tand.b32 %%tc%u, %%u%u, %u;\n\tsetp.eq.u32 %%ip%u, %%tc%u, 0;\n", fork, u, 1u << bit, fork, fork);
	} else if (ctx == BY_WARP)
		gen_frame(g, region, "\tand.b32 %%rx, %%warp, 1;\n\tsetp.eq.u32 %%ip%u, %%rx, %u;\n", fork, gen_pick(g, 2));
	else if (gen_one_in(g, 3))
		gen_frame(g, region, "\tmov.pred %%ip%u, %%p%u;\n", fork, gen_pick(g, g->np));
	else if (gen_one_in(g, 3))
		gen_frame(g, region, "\tsetp.lt.u32 %%ip%u, %%lane, %u;\n", fork, gen_pick(g, 33));
	else if (gen_one_in(g, 3))
		gen_frame(g, region, "\tsetp.gtu.f32 %%ip%u, %%f%u, %%f%u;\n", fork, gen_pick(g, g->nf), gen_pick(g, g->nf));
	else {
		gen_r(g, 0, r, sizeof(r));
		gen_frame(g, region, "\tand.b32 %%rx, %s, %u;\n\tsetp.ne.u32 %%ip%u, %%rx, 0;\n", r, 1 + gen_pick(g, 7), fork);
	}
}

static enum gen_ctx gen_split(struct gen *g)
{
	unsigned x = gen_pick(g, 8);
	enum gen_ctx c = x < 2 ? TOGETHER : x < 3 ? BY_WARP : APART;

	return c < g->ctx ? g->ctx : c;
}

static void gen_if(struct gen *g)
{
	enum gen_ctx outer = g->ctx, inner = gen_split(g);
	unsigned label = g->labels++, n = 1 + gen_pick(g, 6), targets = g->ntargets, fork = g->forks++;
	int region = gen_region(g), other = gen_one_in(g, 2), mask = g->mask;
	/* the condition keeps together who it can; threads that were apart before may still agree */
	enum gen_ctx split = inner == outer && outer == APART && gen_one_in(g, 4) ? TOGETHER : inner;
	int masked = !g->quiet && inner == APART && outer <= BY_WARP && gen_one_in(g, 3);

	gen_condition(g, region, split, fork);
	if (masked)
		gen_frame(g, region, "\tvote.sync.ballot.b32 %%mask%u, %%ip%u, %%wm;\n", g->depth, fork);
	gen_frame(g, region, "\t@!%%ip%u bra%s %s%u;\n", fork, split == TOGETHER && gen_one_in(g, 2) && inner == TOGETHER ?
		  ".uni" : "", other ? "ELSE" : "END", label);
	g->ctx = inner;
	g->depth++;
	g->mask = masked ? (int)g->depth - 1 : -1;
	if (masked)
		g->ntargets = 0;        /* nobody leaves before the others are done with him */
	else if (inner == APART && g->ntargets < 16)
		g->targets[g->ntargets++] = label;
	gen_list(g, n);
	if (other) {
		gen_frame(g, region, "\tbra END%u;\nELSE%u:\n", label, label);
		g->mask = -1;
		gen_list(g, 1 + gen_pick(g, 6));
	}
	gen_frame(g, region, "END%u:\n", label);
	gen_region_end(g, region);
	g->depth--;
	g->ctx = outer;
	g->mask = mask;
	g->ntargets = targets;
}

static void gen_loop(struct gen *g)
{
	enum gen_ctx outer = g->ctx, inner = gen_split(g);
	unsigned label = g->labels++, targets = g->ntargets, fork = g->forks++, outer_loop = g->loop, was_longer = 0;
	int region = gen_region(g), mask = g->mask, middle = inner == APART && gen_one_in(g, 6);
	enum gen_uniform counts = gen_one_in(g, 2) ? GEN_PLAIN : GEN_OF_BLOCK;
	unsigned out = 0;
	char r[32];

	if (inner == BY_WARP)
		inner = APART;
	/* %tc: how often. A block's own number, or each thread's, perhaps none at all. */
	if (g->longer && !g->loops) {
		/* more than a warp's turn, or a block's */
		gen_frame(g, region, "\tmov.u32 %%tc%u, %u;\n", fork, g->longer);
		g->longer = 0;
		g->loops = 3;   /* none inside of it */
		was_longer = 1;
	} else if (inner == TOGETHER)
		gen_frame(g, region, "\tand.b32 %%tc%u, %%u%u, 3;\n\tadd.u32 %%tc%u, %%tc%u, %u;\n", fork, gen_u(g, counts),
			  fork, fork, gen_pick(g, 2));
	else if (gen_one_in(g, 3))
		gen_frame(g, region, "\tmov.u32 %%tc%u, %u;\n", fork, 1 + gen_pick(g, 5));
	else {
		gen_r(g, 0, r, sizeof(r));
		gen_frame(g, region, "\tand.b32 %%tc%u, %s, %u;\n", fork, r, 1 + gen_pick(g, 7));
	}
	gen_frame(g, region, "\tmov.u32 %%lc%u, 0;\n", fork);
	if (middle)     /* some enter in the middle */
		gen_frame(g, region, "\t@%%p%u bra MID%u;\n", gen_pick(g, g->np), label);
	gen_frame(g, region, "\tsetp.ge.u32 %%ip%u, %%lc%u, %%tc%u;\n\t@%%ip%u bra END%u;\nLOOP%u:\n", fork, fork, fork, fork,
		  label, label);
	g->ctx = inner;
	g->depth++;
	g->loops++;
	g->loop = fork;
	g->mask = -1;
	g->uniform_loops += inner == TOGETHER;
	if (inner == APART && g->ntargets < 16)
		g->targets[g->ntargets++] = label;
	/* its counter is a value like any other */
	if (gen_one_in(g, 2)) {
		char text[128];

		snprintf(text, sizeof(text), "\tmad.lo.u32 %%%c%u, %%lc%u, %u, %%%c0;\n", inner == TOGETHER ? 'u' : 'r',
			 inner == TOGETHER ? gen_u(g, counts) : gen_pick(g, g->nr), fork, 4 * gen_pick(g, 40), inner == TOGETHER ? 'u' : 'r');
		gen_add(g, 0, -1, text);
	}
	gen_list(g, 2 + gen_pick(g, 6));
	if (inner == APART && gen_one_in(g, 4)) {       /* a way on of its own */
		gen_frame(g, region, "\t@%%p%u bra KEEP%u;\n\tadd.u32 %%lc%u, %%lc%u, 1;\n\tsetp.lt.u32 %%ip%u, %%lc%u, %%tc%u;\n"
			  "\t@%%ip%u bra LOOP%u;\n\tbra END%u;\nKEEP%u:\n", gen_pick(g, g->np), label, fork, fork, fork, fork, fork, fork, label,
			  label, label);
	}
	if (inner == APART && gen_one_in(g, 4)) {       /* and one out, by way of code of its own */
		char text[64];

		out = 1;
		snprintf(text, sizeof(text), "\t@%s%%p%u bra OUT%u;\n", gen_one_in(g, 2) ? "!" : "", gen_pick(g, g->np), label);
		gen_add(g, 0, -1, text);
	}
	if (inner == TOGETHER && gen_one_in(g, 3)) {    /* all of a block, or none */
		char text[64];

		snprintf(text, sizeof(text), "\t@%s%%v%u bra%s END%u;\n", gen_one_in(g, 2) ? "!" : "", gen_pick(g, 4), gen_one_in(g, 2) ? ".uni" : "", label);
		gen_add(g, 0, -1, text);
		gen_list(g, 1 + gen_pick(g, 4));
	}
	if (middle)
		gen_frame(g, region, "MID%u:\n", label);
	if (inner == APART && gen_one_in(g, 3)) {
		char text[64];

		snprintf(text, sizeof(text), "\t@%%p%u bra CONT%u;\n", gen_pick(g, g->np), label);
		gen_add(g, 0, -1, text);
	}
	gen_list(g, 1 + gen_pick(g, 4));
	gen_frame(g, region, "CONT%u:\n\tadd.u32 %%lc%u, %%lc%u, 1;\n\tsetp.lt.u32 %%ip%u, %%lc%u, %%tc%u;\n"
		  "\t@%%ip%u bra LOOP%u;\n", label, fork, fork, fork, fork, fork, fork, label);
	if (out) {
		gen_frame(g, region, "\tbra END%u;\nOUT%u:\n", label, label);
		gen_list(g, 1 + gen_pick(g, 3));
	}
	gen_frame(g, region, "END%u:\n", label);
	gen_region_end(g, region);
	g->uniform_loops -= inner == TOGETHER;
	g->loops -= was_longer ? 4 : 1;
	g->loop = outer_loop;
	g->depth--;
	g->ctx = outer;
	g->mask = mask;
	g->ntargets = targets;
}

static void gen_switch(struct gen *g)
{
	enum gen_ctx outer = g->ctx;
	unsigned label = g->labels++, targets = g->ntargets, ways = 2 + gen_pick(g, 3);
	int region = gen_region(g), mask = g->mask, together = outer == TOGETHER && gen_one_in(g, 3);
	char list[128] = "", guard[16] = "";

	for (unsigned i = 0; i < ways; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%sWAY%u_%u", i ? ", " : "", label, i);
	if (!together && gen_one_in(g, 5))
		snprintf(guard, sizeof(guard), "@%s%%p%u ", gen_one_in(g, 2) ? "!" : "", gen_pick(g, g->np));
	gen_frame(g, region, "\trem.u32 %%rx, %%%c%u, %u;\nTAB%u: .branchtargets %s;\n\t%sbrx.idx %%rx, TAB%u;\n",
		  together ? 'u' : 'r', gen_pick(g, together ? g->nu : g->nr), ways, label, list, guard, label);
	g->ctx = together ? TOGETHER : APART;
	g->mask = -1;
	if (!together && g->ntargets < 16)
		g->targets[g->ntargets++] = label;
	g->depth++;
	for (unsigned i = 0; i < ways; i++) {
		gen_frame(g, region, "WAY%u_%u:\n", label, i);
		gen_list(g, 1 + gen_pick(g, 3));
		if (!gen_one_in(g, 4))
			gen_frame(g, region, "\tbra END%u;\n", label);
	}
	gen_frame(g, region, "END%u:\n", label);
	gen_region_end(g, region);
	g->depth--;
	g->ctx = outer;
	g->mask = mask;
	g->ntargets = targets;
}

static void gen_call(struct gen *g)
{
	char text[512];

	if (gen_one_in(g, 3)) {
		snprintf(text, sizeof(text), "\t{\n\t.param .b64 a0;\n\t.param .align 16 .b8 a1[16];\n\t.param .b64 rv;\n\tst.param.b64 [a0], %%q%u;\n"
			 "\tst.param.b64 [a1], %%q%u;\n\tst.param.b64 [a1+8], %%q%u;\n\tcall%s (rv), wide, (a0, a1);\n\tld.param.b64 %%q%u, [rv];\n\t}\n",
			 gen_pick(g, g->nq), gen_pick(g, g->nq), gen_pick(g, g->nq), g->ctx == TOGETHER ? ".uni" : "", gen_pick(g, g->nq));
		gen_add(g, 0, -1, text);
		return;
	}
	snprintf(text, sizeof(text), "\t{\n\t.param .b32 a0;\n\t.param .b32 a1;\n\t.param .b32 rv;\n\tst.param.b32 [a0], %%r%u;\n"
		 "\tst.param.b32 [a1], %%r%u;\n\tcall%s (rv), helper, (a0, a1);\n\tld.param.b32 %%r%u, [rv];\n\t}\n",
		 gen_pick(g, g->nr), gen_pick(g, g->nr), g->ctx == TOGETHER ? ".uni" : "", gen_pick(g, g->nr));
	gen_add(g, 0, -1, text);
}

static void gen_one(struct gen *g)
{
	unsigned x = gen_pick(g, 100);
	char text[64];

	if (g->pairs_wait && gen_one_in(g, g->depth ? 2 : 6) && gen_pair(g)) {
		;
	} else if (g->paired && !g->chained && gen_one_in(g, 12)) {
		gen_chain(g);
	} else if (!g->counted && gen_one_in(g, 20)) {
		gen_rounds(g);
	} else if (g->faulty && gen_one_in(g, 8)) {
		g->faulty = 0;
		gen_wrong(g);
	} else if (g->quiet && gen_one_in(g, 25)) {
		snprintf(text, sizeof(text), "\t@%s%%p%u %s;\n", gen_one_in(g, 2) ? "!" : "", gen_pick(g, g->np),
			 gen_one_in(g, 2) ? "ret" : "exit");
		gen_add(g, 0, -1, text);
	} else if (!g->quiet && g->mask >= 0 && gen_one_in(g, 4)) {
		gen_masked(g);
	} else if (!g->quiet && g->ctx <= BY_WARP && gen_one_in(g, 8)) {
		gen_warp(g);
	} else if (!g->quiet && g->ctx == TOGETHER && !g->exchanging && gen_one_in(g, 12)) {
		gen_exchange(g);
	} else if (!g->quiet && g->ctx == TOGETHER && !g->exchanging && gen_one_in(g, 30)) {
		gen_bar_red(g);
	} else if (x < 55 || g->depth > 4) {
		gen_arith(g);
	} else if (x < 67) {
		if (g->mine && gen_one_in(g, 6))
			gen_spread(g);
		else if (gen_one_in(g, 4))
			gen_indexed(g);
		else
			gen_load(g);
	} else if (x < 69) {
		gen_constant(g);
	} else if (x < 77) {
		gen_own(g);
	} else if (x < 79) {
		if (gen_one_in(g, 4))
			gen_atomic_more(g);
		else
			gen_atomic(g);
	} else if (x < 82 && g->calls) {
		if (gen_one_in(g, 2))
			gen_call_more(g);
		else
			gen_call(g);
	} else if (x < 80) {
		gen_scatter(g);
	} else if (x < 81 && g->mine) {
		gen_async(g);
	} else if (x < 82 && g->local) {
		gen_local(g);
	} else if (x < 85 && g->ntargets) {
		/* ahead, out of what is around here */
		snprintf(text, sizeof(text), "\t@%s%%p%u bra END%u;\n", gen_one_in(g, 2) ? "!" : "", gen_pick(g, g->np),
			 g->targets[gen_pick(g, g->ntargets)]);
		gen_add(g, 0, -1, text);
	} else if (x < 91 && g->budget > 4 && g->forks < GEN_FORKS) {
		gen_if(g);
	} else if (x < 96 && g->loops < 3 && g->budget > 6 && g->forks < GEN_FORKS) {
		gen_loop(g);
	} else if (x < 97 && g->budget > 6) {
		gen_switch(g);
	} else {
		gen_arith(g);
	}
}

static void gen_list(struct gen *g, unsigned n)
{
	while (n-- && g->budget) {
		g->budget--;
		gen_one(g);
	}
}

/* ---- a whole kernel ---------------------------------------------------------------------------- */

/* What a thread leaves at the end: 8 bytes for each register; integers, then floats, then doubles. */
static unsigned gen_slots(const struct gen *g)
{
	return g->nr + g->nu + g->nq + g->nh + g->nf + g->nd + g->np + 4 + (g->paired ? GEN_SUMS : 0);
}

static char gen_slot_kind(const struct gen *g, unsigned slot)
{
	unsigned ints = gen_slots(g) - g->nf - g->nd;

	return slot < ints ? 'i' : slot < ints + g->nf ? 'f' : 'd';
}

static void gen_dump(struct gen *g, unsigned *slot, const char *type, const char *reg)
{
	unsigned n = gen_slots(g);
	char text[256], set[64] = "";

	if (reg[1] == 'p' || reg[1] == 'v') {
		snprintf(set, sizeof(set), "\tselp.u32 %%ry, 1, 0, %s;\n", reg);
		reg = "%ry";
	}

	/* one value of all threads in a row, or all values of a thread */
	if (g->soa)
		snprintf(text, sizeof(text), "%s\tmad.lo.u32 %%rx, %%total, %u, %%gtid;\n\tmad.wide.u32 %%qx, %%rx, 8, %%dump;\n"
			  "\tst.global.%s [%%qx], %s;\n", set, *slot, type, reg);
	else
		snprintf(text, sizeof(text), "%s\tmad.wide.u32 %%qx, %%gtid, %u, %%dump;\n\tst.global.%s [%%qx+%u], %s;\n", set,
			 n * 8, type, *slot * 8, reg);
	gen_add(g, 0, -1, text);
	++*slot;
}

/* A register's first value. */
static void __attribute__((format(printf, 4, 5))) gen_first(struct gen *g, char letter, unsigned i, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gen_add(g, 1, -1, text);
	snprintf(g->unit[g->units - 1].reg, sizeof(g->unit[0].reg), "%%%c%u", letter, i % 1000);
}

/* The declarations of what gen_rename() makes. */
static void gen_declare_temps(char *out, size_t n)
{
	size_t k = 0;

	for (unsigned i = 0; i < GEN_COUNT(gen_temps); i++) {
		const char *name = gen_temps[i] + 1;

		k += (size_t)snprintf(out + k, n - k, "\t.reg .%s %%s%s<%u>;\n", strstr("zc zh hx hy", name) ? "b16" : strstr("zm zn zl qx qy", name) ? "b64" :
				      strstr("zq zo zp po", name) ? "pred" : "b32", name, GEN_TEMPS);
	}
}

static void gen_prologue(struct gen *g)
{
	char temps[1024];

	gen_declare_temps(temps, sizeof(temps));
	gen_frame(g, -1,
		  ".version 7.8\n.target sm_80\n.address_size 64\n\n"
		  ".func (.param .b32 r) helper(.param .b32 a, .param .b32 b)\n{\n\t.reg .b32 %%x<5>;\n\t.reg .pred %%q;\n"
		  "\tld.param.b32 %%x0, [a];\n\tld.param.b32 %%x1, [b];\n\tand.b32 %%x2, %%x1, 3;\n"
		  "MORE:\n\tmad.lo.u32 %%x0, %%x0, 5, %%x1;\n\tsetp.eq.u32 %%q, %%x2, 0;\n\t@%%q bra OUT;\n"
		  "\tsub.u32 %%x2, %%x2, 1;\n\tbra MORE;\nOUT:\n\tst.param.b32 [r], %%x0;\n\tret;\n}\n\n"
		  ".func (.param .b64 r) wide(.param .b64 a, .param .align 16 .b8 b[16])\n{\n\t.reg .b32 %%x<3>;\n\t.reg .b64 %%y<6>;\n"
		  "\t.reg .pred %%q;\n\t.local .align 16 .b8 m[32];\n\tld.param.b64 %%y0, [a];\n\tld.param.v2.b64 {%%y1, %%y2}, [b];\n"
		  "\tmov.u64 %%y3, m;\n\tst.local.v2.b64 [%%y3], {%%y1, %%y2};\n\tst.local.v2.b64 [%%y3+16], {%%y0, %%y1};\n"
		  "\tcvt.u32.u64 %%x0, %%y0;\n\tand.b32 %%x0, %%x0, 24;\n\tcvt.u64.u32 %%y4, %%x0;\n\tadd.s64 %%y3, %%y3, %%y4;\n"
		  "\tld.local.b64 %%y5, [%%y3];\n\tsetp.gt.s64 %%q, %%y0, %%y2;\n\t@%%q bra UP;\n\tadd.s64 %%y5, %%y5, %%y2;\n"
		  "UP:\n\tst.param.b64 [r], %%y5;\n\tret;\n}\n\n"
		  "%s.const .align 4 .b32 tab[16] = {1, 2, 4, 8, 1000, -1, 255, 65536, 0, 7, 36, 34, 18, 99, -77, 2147483647};\n\n"
		  ".visible .entry k(.param .u64 in, .param .u64 own, .param .u64 dump, .param .u64 acc, .param .u32 pn, .param .u32 pm,"
		  " .param .align 8 .b8 pb[48], .param .u64 out)\n{\n"
		  "\t.reg .b32 %%r<%u>, %%u<%u>, %%tc<%u>, %%lc<%u>, %%uv<4>, %%mask<12>;\n\t.reg .b64 %%q<%u>;\n\t.reg .b16 %%h<%u>;\n"
		  "\t.reg .f32 %%f<%u>;\n\t.reg .f64 %%d<%u>;\n\t.reg .pred %%p<%u>, %%v<4>, %%ip<%u>;\n"
		  "\t.reg .b32 %%rx, %%ry, %%ux, %%lin, %%lin0, %%shm0, %%lane, %%warp, %%tx, %%ty, %%tz, %%gtid, %%n, %%nx, %%ny, %%cx, %%pn, %%pm, %%wn, %%wm, %%tm,"
		  " %%total, %%ctay, %%nctax, %%sh4, %%sh8, %%shb, %%shm, %%bn;\n"
		  "\t.reg .b64 %%qx, %%qy, %%in, %%own, %%own0, %%dump, %%acc, %%lo, %%out;\n\t.reg .b16 %%hx, %%hy;\n\t.reg .f32 %%ft;\n\t.reg .pred %%po;\n"
		  "\t.reg .b32 %%g<7>, %%ca<%u>, %%cf<%u>, %%zx, %%zy, %%zz, %%zu, %%zr, %%zf, %%k<%u>, %%wa<%u>, %%na<%u>;\n\t.reg .b64 %%ce, %%cb<%u>, %%zm, %%zn, %%zl, %%wb<%u>, %%nb<%u>, %%e<7>;\n"
		  "\t.reg .b16 %%zc, %%zh, %%wh<%u>;\n\t.reg .pred %%cp<%u>, %%zq, %%zo, %%zp, %%wp<%u>, %%np<%u>;\n"
		  "%s\t.shared .align 16 .b8 sh[%u];\n%s%s",
		  gen_functions, g->nr, g->nu, GEN_FORKS, GEN_FORKS, g->nq, g->nh, g->nf, g->nd, g->np, GEN_FORKS, GEN_CHAIN, GEN_CHAIN, GEN_SUMS, GEN_VALUES, GEN_FRESH, GEN_CHAIN, GEN_VALUES,
		  GEN_FRESH, GEN_VALUES, GEN_CHAIN, GEN_VALUES, GEN_FRESH, temps, GEN_MAX_THREADS * 8,
		  g->mine ? "\t.shared .align 16 .b8 sm[8192];\n\t.shared .align 16 .b32 su[8];\n" : "",
		  g->local ? "\t.local .align 16 .b8 lo[64];\n" : "");
	g->unit[g->units - 1].head = 1;
	gen_frame(g, -1,
		  "\tmov.u32 %%tx, %%tid.x;\n\tmov.u32 %%ty, %%tid.y;\n\tmov.u32 %%tz, %%tid.z;\n\tmov.u32 %%nx, %%ntid.x;\n"
		  "\tmov.u32 %%ny, %%ntid.y;\n"
		  "\tmov.u32 %%ctay, %%ctaid.y;\n\tmov.u32 %%nctax, %%nctaid.x;\n\tmov.u32 %%cx, %%ctaid.x;\n\tmad.lo.u32 %%cx, %%ctay, %%nctax, %%cx;\n"
		  "\tmad.lo.u32 %%lin0, %%tz, %%ny, %%ty;\n"
		  "\tmad.lo.u32 %%lin, %%lin0, %%nx, %%tx;\n\tmov.u32 %%n, %%ntid.z;\n\tmul.lo.u32 %%n, %%n, %%ny;\n"
		  "\tmul.lo.u32 %%n, %%n, %%nx;\n\tmad.lo.u32 %%gtid, %%cx, %%n, %%lin;\n\tmov.u32 %%total, %%nctaid.y;\n\tmul.lo.u32 %%total, %%total, %%nctax;\n"
		  "\tmul.lo.u32 %%total, %%total, %%n;\n\tshr.u32 %%warp, %%lin, 5;\n%s"
		  "\tand.b32 %%rx, %%lin, -32;\n\tsub.u32 %%wn, %%n, %%rx;\n\tmin.u32 %%wn, %%wn, 32;\n"
		  "\tmov.u32 %%wm, -1;\n\tsub.u32 %%ry, 32, %%wn;\n\tshr.u32 %%wm, %%wm, %%ry;\n"
		  "\tand.b32 %%rx, %%lane, 24;\n\tmov.u32 %%tm, 255;\n\tshl.b32 %%tm, %%tm, %%rx;\n\tand.b32 %%tm, %%tm, %%wm;\n"
		  "\tmov.u32 %%shb, sh;\n\tmad.lo.u32 %%sh4, %%lin, 4, %%shb;\n\tmad.lo.u32 %%sh8, %%lin, 8, %%shb;\n"
		  "\tld.param.u64 %%in, [in];\n\tld.param.u64 %%own0, [own];\n\tld.param.u64 %%dump, [dump];\n\tld.param.u64 %%acc, [acc];\n"
		  "\tld.param.u64 %%out, [out];\n\tadd.u32 %%bn, %%n, 31;\n\tand.b32 %%bn, %%bn, -32;\n"
		  "\tld.param.u32 %%pn, [pn];\n\tld.param.u32 %%pm, [pm];\n\tmad.wide.u32 %%own, %%gtid, %u, %%own0;\n",
		  gen_one_in(g, 2) ? "\tmov.u32 %lane, %laneid;\n" : "\tand.b32 %lane, %lin, 31;\n", GEN_OWN_BYTES);
	if (gen_one_in(g, 2))
		gen_frame(g, -1, "\tcvta.to.global.u64 %%in, %%in;\n\tcvta.to.global.u64 %%dump, %%dump;\n");
	if (g->mine)
		gen_frame(g, -1, "\tmov.u32 %%shm0, sm;\n\tmad.lo.u32 %%shm, %%lin, 16, %%shm0;\n"
			  "\tst.shared.v4.u32 [%%shm], {%%lin, %%tx, %%gtid, %%n};\n");
	if (g->local)
		gen_frame(g, -1, "\tmov.u64 %%lo, lo;\n\tmov.u64 %%qx, 0;\n\tst.local.v2.u64 [%%lo], {%%qx, %%qx};\n"
			  "\tst.local.v2.u64 [%%lo+16], {%%qx, %%qx};\n\tst.local.v2.u64 [%%lo+32], {%%qx, %%qx};\n"
			  "\tst.local.v2.u64 [%%lo+48], {%%qx, %%qx};\n");
	/* every register has a value from the start: threads' own, from the input */
	gen_frame(g, -1, "\tand.b32 %%rx, %%gtid, 1023;\n\tmad.wide.u32 %%qx, %%rx, 8, %%in;\n");
	for (unsigned i = 0; i < g->nr; i++)
		gen_first(g, 'r', i, i % 3 == 0 ? "\tld.global.u32 %%r%u, [%%qx+%u];\n" : i % 3 == 1 ? "\tadd.u32 %%r%u, %%lin, %u;\n" :
			  "\txor.b32 %%r%u, %%gtid, %u;\n", i, i * 64);
	for (unsigned i = 0; i < g->nu; i++)
		gen_first(g, 'u', i, i % 3 == 0 ? "\tld.global.u32 %%u%u, [%%in+%u];\n" : i % 3 == 1 ? "\tadd.u32 %%u%u, %%pn, %u;\n" :
			  "\tadd.u32 %%u%u, %%cx, %u;\n", i, i * 4);
	for (unsigned i = 0; i < g->nq; i++)
		gen_first(g, 'q', i, "\tld.global.u64 %%q%u, [%%qx+%u];\n", i, i * 72);
	for (unsigned i = 0; i < g->nh; i++)
		gen_first(g, 'h', i, "\tld.global.u16 %%h%u, [%%qx+%u];\n", i, i * 10 + 2);
	for (unsigned i = 0; i < g->nf; i++)
		gen_first(g, 'f', i, i % 4 == 3 ? "\tcvt.rn.f32.u32 %%f%u, %%lin;\n" : "\tld.global.f32 %%f%u, [%%qx+%u];\n", i,
			  i * 40 + GEN_IN_BYTES / 2);
	for (unsigned i = 0; i < g->nd; i++)
		gen_first(g, 'd', i, "\tcvt.f64.f32 %%d%u, %%f%u;\n", i, i % g->nf);
	for (unsigned i = 0; i < g->np; i++)
		gen_first(g, 'p', i, "\tand.b32 %%rx, %%r%u, %u;\n\tsetp.ne.u32 %%p%u, %%rx, 0;\n", i % g->nr, 1u << i, i);
	for (unsigned i = 0; i < GEN_SUMS; i++)
		gen_first(g, 'k', i, "\tadd.u32 %%k%u, %%lin, %u;\n", i, i);
	g->counters = g->units;
	gen_frame(g, -1, "\n");
	for (unsigned i = 0; i < 4; i++)
		gen_first(g, 'v', i, "\tand.b32 %%uv%u, %%u%u, %u;\n\tsetp.eq.u32 %%v%u, %%uv%u, 0;\n", i, i % g->nu, 1u << i, i, i);
}

/* Loops set their counter again; a loop that shrinking takes away does not, and what is inside may name it. */
static void gen_counters(struct gen *g)
{
	char text[GEN_FORKS * 24] = "";
	size_t n = 0;

	for (unsigned i = 0; i < g->forks; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "\tmov.u32 %%lc%u, 0;\n", i);
	free(g->unit[g->counters].text);
	g->unit[g->counters].text = strdup(text);
}

/* The units of kernel `seed`; gen_free afterwards. */
static void gen_make(struct gen *g, uint64_t seed, int approx)
{
	unsigned slot = 0, big;
	char reg[16];

	memset(g, 0, sizeof(*g));
	g->state = seed * 0x9e3779b97f4a7c15ull + 0x1234567;
	g->state |= !g->state;
	for (int i = 0; i < 8; i++)
		gen_rng(g);
	big = gen_one_in(g, 4) ? 4 : 1;
	g->nr = (4 + gen_pick(g, 8)) * big;
	g->nu = 4 + gen_pick(g, 4);
	g->plain = g->nu - 2;
	g->nq = (2 + gen_pick(g, 3)) * big;
	g->nh = 2 + gen_pick(g, 3);
	g->nf = (3 + gen_pick(g, 6)) * big;
	g->nd = 1 + gen_pick(g, 2) * big;
	g->np = 3 + gen_pick(g, 4);
	g->full_warps = seed % 10 == 4 ? seed / 10 & 1 : seed & 1;
	g->paired = seed % 10 != 0;
	g->turn = (unsigned)(seed / 10);
	g->judged = gen_is_judged(seed);
	g->ftz = (int)gen_pick(g, 3);
	g->calls = gen_one_in(g, 5);
	g->local = g->paired || gen_one_in(g, 4);
	g->approx = approx;
	g->mine = g->paired || gen_one_in(g, 3);
	g->rare = gen_one_in(g, 3);
	g->soa = gen_one_in(g, 2);
	g->common = !g->rare && !gen_one_in(g, 3);
	g->quiet = seed % 10 >= 8;
	g->faulty = !g->paired || gen_one_in(g, 16);
	g->fault = g->faulty;
	g->longer = gen_one_in(g, g->judged ? 100 : 15) ? 200 + gen_pick(g, 1500) : 0;
	g->mask = -1;
	g->budget = gen_one_in(g, 8) ? 200 : 8 + gen_pick(g, 60);
	gen_pairs_of(g, seed);
	gen_prologue(g);
	gen_list(g, g->budget);
	if (g->faulty)
		gen_wrong(g);
	while (gen_pair(g))
		;
	if (g->paired && !g->chained)
		gen_chain(g);
	if (!g->counted)
		gen_rounds(g);
	gen_counters(g);
	/* some threads end before the others, who may meet once more, or all go on */
	if (gen_one_in(g, 4)) {
		int region = gen_region(g);

		if (gen_one_in(g, 2))   /* whole warps before them */
			gen_frame(g, region, "\tsetp.ge.u32 %%p0, %%lin, %u;\n\t@%%p0 ret;\n", 40 + gen_pick(g, 50));
		else
			gen_frame(g, region, "\t@%%p%u ret;\n", gen_pick(g, g->np));
		if (gen_one_in(g, 2))
			gen_frame(g, region, "\tbar.sync 0;\n");
		gen_region_end(g, region);
	}
	for (unsigned i = 0; i < g->nr; i++) {
		snprintf(reg, sizeof(reg), "%%r%u", i);
		gen_dump(g, &slot, "u32", reg);
	}
	for (unsigned i = 0; i < g->nu; i++) {
		snprintf(reg, sizeof(reg), "%%u%u", i);
		gen_dump(g, &slot, "u32", reg);
	}
	for (unsigned i = 0; i < g->nq; i++) {
		snprintf(reg, sizeof(reg), "%%q%u", i);
		gen_dump(g, &slot, "u64", reg);
	}
	for (unsigned i = 0; i < g->nh; i++) {
		snprintf(reg, sizeof(reg), "%%h%u", i);
		gen_dump(g, &slot, "u16", reg);
	}
	for (unsigned i = 0; i < g->np + 4; i++) {
		snprintf(reg, sizeof(reg), "%%%c%u", i < g->np ? 'p' : 'v', i < g->np ? i : i - g->np);
		gen_dump(g, &slot, "u32", reg);
	}
	for (unsigned i = 0; g->paired && i < GEN_SUMS; i++) {
		snprintf(reg, sizeof(reg), "%%k%u", i);
		gen_dump(g, &slot, "u32", reg);
	}
	for (unsigned i = 0; i < g->nf; i++) {
		snprintf(reg, sizeof(reg), "%%f%u", i);
		gen_dump(g, &slot, "f32", reg);
	}
	for (unsigned i = 0; i < g->nd; i++) {
		snprintf(reg, sizeof(reg), "%%d%u", i);
		gen_dump(g, &slot, "f64", reg);
	}
	gen_frame(g, -1, "\tret;\n}\n");
}

static void gen_free(struct gen *g)
{
	for (unsigned i = 0; i < g->units; i++)
		free(g->unit[i].text);
	g->units = 0;
}

#endif
