/* SPDX-License-Identifier: MIT */
/*
 * Random kernels: chains of arithmetic as a compiler computes indices and conditions: every value has a register of its own, and
 * begins with lane numbers, numbers of the block, loads from one place and constants. It is what the JIT keeps as scalars and
 * patterns, with what is known of their bounds, alignment and bits; here any of that may be about to end.
 */
#ifndef TESTS_PTX_GEN_CHAIN_H
#define TESTS_PTX_GEN_CHAIN_H

#include "gen_pair.h"

#define GEN_CHAIN 96u           /* values of each width in a kernel */

/*
 * A source: $a 32 bits, $b 64, $f a float, $p a predicate that all of a block share, $v one that varies, $i $m $o $n constants. A + before
 * those that keep a pattern, which are taken more often: what is known of a value shows only links away.
 */
static const char *const gen_links[] = {
	"+Aadd.s32 %s, $a, $a;", "+Aadd.s32 %s, $a, $t;", "+Aadd.s32 %s, $t, $a;", "+Aadd.s32 %s, $a, $i;", "+Asub.s32 %s, $a, $a;", "Asub.s32 %s, $i, $a;", "+Amul.lo.s32 %s, $a, $i;", "+Amad.lo.s32 %s, $a, $i, $a;",
	"+Amad.lo.s32 %s, $a, -8, $a;", "+Aand.b32 %s, $a, $m;", "Aand.b32 %s, $a, $m;", "+Aor.b32 %s, $a, $o;", "Aor.b32 %s, $a, $o;", "Axor.b32 %s, $a, $o;",
	"+Ashl.b32 %s, $a, $n;", "+Ashl.b32 %s, $a, 3;", "+Ashr.u32 %s, $a, $n;", "+Ashr.s32 %s, $a, $n;", "Ashr.s32 %s, $a, 31;", "+Abfe.u32 %s, $a, $n, 5;",
	"Amin.s32 %s, $a, $a;", "Amax.s32 %s, $a, 0;", "Aneg.s32 %s, $a;", "Anot.b32 %s, $a;", "Aselp.b32 %s, $a, $a, $p;", "Aselp.b32 %s, $a, $i, $v;", "Amov.b32 %s, $a;",
	"+Acvt.u32.u64 %s, $b;", "Acvt.s32.s16 %s, $a;", "Acvt.u32.u8 %s, $a;", "Adiv.u32 %s, $a, 7;", "Arem.u32 %s, $a, 12;", "+Ashr.u32 %s, $a, 5;",
	"Ald.global.s8 %s, [%%in+$i2];", "Ald.global.s8 %s, [%%in+$i2];", "Ald.global.s8 %s, [%%in+$i2];", "Ald.const.s8 %s, [tab+22];", "Ald.global.s16 %s, [%%in+$i4];", "Ald.global.u8 %s, [%%in+$i4];", "Ald.global.u32 %s, [%%in+$i4];", "Aprmt.b32 %s, $a, $a, 0x5410;",
	"Acall (%s), byreg, ($a, %%f0);", "Avote.ballot", "Arow", "Arow", "Aorow", "Aorow", "Amov.b32 %s, $f;", "Aadd.s32 %s, $f, 1;",
	"+Bcvt.s64.s32 %s, $a;", "+Bcvt.u64.u32 %s, $a;", "+Bmul.wide.s32 %s, $a, $i;", "+Bmul.wide.u32 %s, $a, $i;", "+Bmad.wide.s32 %s, $a, $i, $b;", "+Bmad.wide.u32 %s, $a, 4, $b;",
	"+Badd.s64 %s, $b, $b;", "+Badd.s64 %s, $b, $i;", "+Bsub.s64 %s, $b, $b;", "+Bshl.b64 %s, $b, $n;", "Band.b64 %s, $b, $m;", "Bor.b64 %s, $b, $o;", "Bshr.s64 %s, $b, 63;",
	"+Bshr.u64 %s, $b, $n;", "+Bmul.lo.s64 %s, $b, $i;", "Bselp.b64 %s, $b, $b, $p;", "Bmin.s64 %s, $b, $b;",
	"Fld.global.f32 %s, [%%ce+$j];", "Fld.global.f32 %s, [%%in+$j];", "Fadd.f32 %s, $f, $f;", "Fadd.ftz.f32 %s, $f, $f;", "Fmul.f32 %s, $f, $f;", "Fmul.f32 %s, $f, 0f3F000000;",
	"Fsub.f32 %s, $f, $f;", "Ffma.rn.f32 %s, $f, $f, $f;", "Fmin.f32 %s, $f, $f;", "Fmax.f32 %s, $f, $f;", "Fmax.f32 %s, $f, 0f00000000;", "Fmin.ftz.f32 %s, $f, $f;",
	"Fmax.ftz.f32 %s, $f, $f;", "Fabs.f32 %s, $f;", "Fabs.ftz.f32 %s, $f;", "Fneg.f32 %s, $f;", "Fselp.f32 %s, $f, $f, $v;", "Fselp.f32 %s, $f, $f, $p;", "Fmov.f32 %s, $f;",
	"Fcvt.rn.f32.s32 %s, $a;", "Fmov.b32 %s, $a;", "Fshfl", "Fshfl", "Fcvt.rni.f32.f32 %s, $f;", "Fadd.f32 %s, $f, 0f00000000;", "Fmul.ftz.f32 %s, $f, 0f3F800000;",
	"Psetp.lt.f32 %s, $f, $f;", "Psetp.gtu.ftz.f32 %s, $f, 0f00000000;",
	"Psetp.lt.s32 %s, $a, $a;", "Psetp.ge.u32 %s, $a, $i;", "Psetp.eq.s32 %s, $a, $i;", "Psetp.ne.s32 %s, $a, $a;", "Psetp.gt.s64 %s, $b, $b;", "Psetp.lt.and.s32 %s, $a, $a, $v;",
	"Psetp.ge.or.u32 %s, $a, $a, $p;", "Pand.pred %s, $p, $v;", "Por.pred %s, $p, $p;", "Pnot.pred %s, $p;", "Pxor.pred %s, $v, $p;", "Pmov.pred %s, $p;",
};

static void gen_link_source(struct gen *g, const char **p, const unsigned *n, char *out, size_t size)
{
	static const char *const lanes[] = { "%lane", "%tx", "%lin", "%ty" };
	static const char *const start[] = { "%lane", "%tx", "%ty", "%lin", "%lane", "%tx", "%cx", "%pn", "%n" };
	static const int constants[] = { 1, 2, 3, 4, 7, 8, 36, 255, -1, -4, 100, 1000, 65536, 0x7fffffff };
	static const int masks[] = { 1, 3, 7, 15, 31, 63, 255, 4095, -2, -4, -8, -16, -32, -64, 0x7ffffff8 };
	static const int bits[] = { 1, 2, 3, 5, 8, 16, 31, 64, 256, 4096 };
	unsigned k;

	switch (**p) {
	case 'a':
		/* mostly what was made last */
		k = n[0] > 6 && !gen_one_in(g, 4) ? n[0] - 1 - gen_pick(g, 5) : n[0] ? gen_pick(g, n[0]) : 0;
		if (!n[0] || gen_one_in(g, 3))
			snprintf(out, size, "%s", gen_one_in(g, 3) ? "%u0" : start[gen_pick(g, GEN_COUNT(start))]);
		else
			snprintf(out, size, "%%ca%u", k);
		if (!strcmp(out, "%u0"))
			snprintf(out, size, "%%u%u", gen_u(g, gen_one_in(g, 4) ? GEN_VARYING : GEN_PLAIN));
		break;
	case 't': snprintf(out, size, "%s", lanes[gen_pick(g, GEN_COUNT(lanes))]); break;
	case 'b': snprintf(out, size, "%%cb%u", n[1] > 4 && !gen_one_in(g, 4) ? n[1] - 1 - gen_pick(g, 4) : gen_pick(g, n[1])); break;
	case 'f': snprintf(out, size, "%%cf%u", n[3] > 4 && !gen_one_in(g, 4) ? n[3] - 1 - gen_pick(g, 4) : gen_pick(g, n[3])); break;
	case 'j': snprintf(out, size, "%u", GEN_IN_BYTES / 2 + 4 * gen_pick(g, 15000)); break;
	case 'p':
		if (n[2] && !gen_one_in(g, 3))
			snprintf(out, size, "%%cp%u", gen_pick(g, n[2]));
		else
			snprintf(out, size, "%%v%u", gen_v(g, gen_one_in(g, 4) ? GEN_VARYING : GEN_PLAIN));
		break;
	case 'v': snprintf(out, size, "%%p%u", gen_pick(g, g->np)); break;
	case 'm': snprintf(out, size, "%d", masks[gen_pick(g, GEN_COUNT(masks))]); break;
	case 'o': snprintf(out, size, "%d", bits[gen_pick(g, GEN_COUNT(bits))]); break;
	case 'n': snprintf(out, size, "%u", gen_one_in(g, 3) ? gen_pick(g, 32) : 1 + gen_pick(g, 6)); break;
	default:
		k = gen_pick(g, GEN_COUNT(constants));
		snprintf(out, size, "%d", constants[k]);
		if (p[0][1] == '2' || p[0][1] == '4') {         /* an offset */
			snprintf(out, size, "%u", 4 * gen_pick(g, 1000) + (p[0][1] == '2' ? gen_pick(g, 4) : 0));
			++*p;
		}
	}
}

/* One chain; a kernel has one, as each register is to have one definition. */
static void gen_chain(struct gen *g)
{
	unsigned n[4] = { 0, 1, 0, 1 }, links = 15 + gen_pick(g, 60), k;
	char text[16384] = "\tcvt.u64.u32 %cb0, %lane;\n\tmad.wide.u32 %ce, %lane, 4, %in;\n\tld.global.f32 %cf0, [%ce+65536];\n", line[256], reg[16], src[32];
	size_t at;
	int region = gen_region(g);

	g->chained = 1;
	while (links--) {
		const char *l = gen_links[gen_pick(g, GEN_COUNT(gen_links))], *p;
		unsigned kind;

		if (*l != '+' && gen_one_in(g, 2))
			l = gen_links[gen_pick(g, GEN_COUNT(gen_links))];
		l += *l == '+';
		kind = l[0] == 'A' ? 0 : l[0] == 'B' ? 1 : l[0] == 'P' ? 2 : 3;

		if (n[kind] + 1 >= GEN_CHAIN || strlen(text) + 1024 > sizeof(text))
			continue;
		snprintf(reg, sizeof(reg), "%%c%c%u", "abpf"[kind], n[kind]);
		if (!strcmp(l + 1, "row")) {
			/* where in its row something is */
			p = "a";
			gen_link_source(g, &p, n, src, sizeof(src));
			k = 1 + gen_pick(g, 6);
			at = strlen(text);
			snprintf(text + at, sizeof(text) - at, "\tand.b32 %s, %s, %d;\n", reg, src, -(1 << k));
			snprintf(line, sizeof(line), "sub.s32 %%ca%u, %s, %s;", n[0] + 1, src, reg);
			snprintf(reg, sizeof(reg), "%%ca%u", ++n[0]);
		} else if (!strcmp(l + 1, "orow")) {
			/* bits that lanes leave free, until what is one for all of them carries into them */
			k = gen_pick(g, 4);
			at = strlen(text);
			snprintf(text + at, sizeof(text) - at, "\tmad.lo.s32 %s, %%tx, %d, %%u%u;\n", reg, 1 << k, gen_u(g, GEN_PLAIN));
			snprintf(line, sizeof(line), "or.b32 %%ca%u, %s, %d;", n[0] + 1, reg, 32 << (k + gen_pick(g, 3)));
			snprintf(reg, sizeof(reg), "%%ca%u", ++n[0]);
		} else if (!strcmp(l + 1, "shfl")) {
			if (g->quiet || g->ctx > BY_WARP || !g->full_warps)
				continue;
			p = "f";
			gen_link_source(g, &p, n, src, sizeof(src));
			snprintf(line, sizeof(line), "shfl.sync.bfly.b32 %s, %s, %u, 31, -1;", reg, src, 1u << gen_pick(g, 5));
		} else if (!strcmp(l + 1, "vote.ballot")) {
			if (g->quiet || g->ctx > BY_WARP)
				continue;
			snprintf(line, sizeof(line), "vote.sync.ballot.b32 %s, %%p0, %%wm;", reg);
		} else {
			at = 0;
			for (p = l + 1; *p && at + 40 < sizeof(line); p++) {
				if (*p == '$') {
					p++;
					gen_link_source(g, &p, n, src, sizeof(src));
					at += (size_t)snprintf(line + at, sizeof(line) - at, "%s", src);
				} else if (*p == '%' && p[1] == 's') {
					p++;
					at += (size_t)snprintf(line + at, sizeof(line) - at, "%s", reg);
				} else {
					line[at++] = *p;
					p += *p == '%';
				}
			}
			line[at] = 0;
		}
		at = strlen(text);
		at += (size_t)snprintf(text + at, sizeof(text) - at, "\t%s\n", line);
		n[kind]++;
		/* what becomes of it: a sum, an address, a branch, a store into a row */
		k = gen_pick(g, 8);
		if (k < 3) {
			gen_sum(g, text, sizeof(text), "48p4"[kind], reg);
		} else if (k < 5 && kind < 2 && n[0] + 2 < GEN_CHAIN && n[1] + 2 < GEN_CHAIN) {
			/* what is loaded is a value like others */
			if (kind == 0)
				snprintf(text + at, sizeof(text) - at, "\tand.b32 %%ca%u, %s, 0x3ffc;\n\tmad.wide.u32 %%cb%u, %%ca%u, 1, %%in;\n", n[0], reg, n[1], n[0]);
			else
				snprintf(text + at, sizeof(text) - at, "\tand.b64 %%cb%u, %s, 0x3ff8;\n\tadd.s64 %%cb%u, %%in, %%cb%u;\n", n[1], reg, n[1] + 1, n[1]);
			n[0] += kind == 0;
			n[1] += 1 + kind;
			at = strlen(text);
			snprintf(text + at, sizeof(text) - at, "\tld.global.u32 %%ca%u, [%%cb%u+%u];\n", n[0], n[1] - 1, 4 * gen_pick(g, 3));
			snprintf(reg, sizeof(reg), "%%ca%u", n[0]++);
			gen_sum(g, text, sizeof(text), '4', reg);
		} else if (k < 6 && kind == 2) {
			unsigned label = g->labels++;

			snprintf(text + at, sizeof(text) - at, "\t@%s bra CH%u;\n\tadd.s32 %%k0, %%k0, %u;\nCH%u:\n", reg, label, 1 + label, label);
		}
	}
	for (k = n[0] > 4 ? n[0] - 4 : 0; k < n[0]; k++) {
		snprintf(reg, sizeof(reg), "%%ca%u", k);
		gen_sum(g, text, sizeof(text), '4', reg);
	}
	gen_add(g, 1, region, text);
	gen_region_end(g, region);
}

#endif
