/* SPDX-License-Identifier: MIT */
/*
 * A kernel as a listing: what vgpu check -d prints. The code that the interpreter runs, in its order, and beside it what
 * the JIT makes of it: which results are uniform or patterns, where lanes part and meet, where code is entered again,
 * what is left to the interpreter.
 */
#include <stdlib.h>

#include "disasm.h"
#include "jit.h"

#define COLUMN 56               /* where the notes begin */

/* What stands at an instruction. */
struct mark { bool target, meet, step; const struct jregion *part; };

/* The pattern as the stride it is, or a word. */
static void say_pattern(struct dtext *t, const s32 *lane)
{
	u32 l;

	for (l = 1; l < LANES && lane[l] == lane[1] * (s32)l; l++)
		;
	if (l == LANES)
		dt_say(t, "uniform + %d * lane", lane[1]);
	else
		dt_say(t, "uniform + a pattern: 0, %d, %d, %d, %d ...", lane[1], lane[2], lane[3], lane[4]);
}

/* What is known of the first result. */
static void say_class(struct dtext *t, const struct jit *j, const struct insn *v)
{
	const struct jplace *p;
	u32 i;

	for (i = 0; i < 6 && (!(v->def >> i & 1) || v->o[i] == OPND_NONE); i++)
		;
	if (i == 6)
		return;
	p = &j->regs[v->o[i]];
	if (p->cls == JC_PAT)
		say_pattern(t, j->pats[p->pat]);
	else if (p->cls)
		dt_say(t, p->cls == JC_UNI ? "uniform" : "varying");
}

static void mark_targets(const struct func *fn, struct mark *m)
{
	u32 i, k;

	for (i = 0; i < fn->ncode; i++) {
		const struct insn *in = &fn->code[i];

		if (in->kind == K_JMP || in->kind == K_CBRA)
			m[in->taken].target = true;
		if ((in->kind == K_CBRA || (in->kind == K_BRX && in->guard != OPND_NONE)) && in->fall != i + 1)
			m[in->fall].target = true;
		for (k = 1; in->kind == K_BRX && k <= in->u.targets[0]; k++)
			m[in->u.targets[k]].target = true;
	}
}

static void mark_jit(const struct func *fn, const struct jit *j, struct mark *m)
{
	u32 i;

	for (i = 0; i < j->nregions; i++) {
		m[j->regions[i].at].part = &j->regions[i];
		m[j->regions[i].join].meet = true;
	}
	for (i = 0; i < j->nexits; i++) {
		u8 kind = fn->code[j->exits[i].pc].kind;

		/* loads and stores have such an exit for addresses that fail a check */
		if (j->exits[i].kind == JX_STEP && kind != K_LD && kind != K_ST)
			m[j->exits[i].pc].step = true;
	}
}

static void notes(const struct func *fn, const struct jit *j, const struct mark *m, u32 pc, struct dtext *t)
{
	const struct insn *in = &fn->code[pc], *v = disasm_virtual(fn, in);

	if (in->kind == K_BAR && in->sub != BAR_ARRIVE)
		dt_say(t, "lanes wait here; the block goes on behind it");
	if (in->kind == K_LATER)
		dt_say(t, "the block's other warps first");
	if (!j)
		return;
	if (v)
		say_class(t, j, v);
	if (m->part) {
		dt_say(t, "lanes part, and meet at ");
		disasm_label(fn, m->part->join, t);
	} else if (in->kind == K_CBRA) {
		bool known = v && (v->guard & OPND_CONST), part = !v || (!known && j->regs[v->guard].cls == JC_VARY);

		dt_say(t, part ? "lanes that part: by the interpreter" : "all lanes together");
	}
	if (m->step || in->kind == K_CALL || in->kind == K_BRX)
		dt_say(t, "%sby the interpreter", t->n ? "; " : "");
}

static void print_insn(const struct func *fn, const struct insn *in, const char *beside, FILE *out)
{
	char s[600];
	struct dtext t = { s, sizeof(s), 0 };

	/* all of its block was for nobody */
	if (in->kind == K_NOP && !(in->flags & INF_MEET))
		return;
	disasm(fn, in, &t);
	fprintf(out, "%7u  %-*s%s%s\n", in->line, *beside ? COLUMN : 0, s, *beside ? "// " : "", beside);
}

static void print_func(const struct func *fn, const struct jit *j, FILE *out)
{
	struct mark *m = calloc(fn->ncode + 1, sizeof(*m));
	char s[256];
	u32 i;

	if (!m)
		return;
	fprintf(out, "%s %s: %u instructions, %u bytes of registers a warp", fn->entry ? ".entry" : ".func", fn->name, fn->ncode,
		fn->frame_bytes);
	if (fn->shared_bytes)
		fprintf(out, ", %u bytes shared", fn->shared_bytes);
	if (fn->local_total)
		fprintf(out, ", %u bytes local a thread", fn->local_total);
	if (j)
		fprintf(out, "; JIT: %u bytes of code, %u places to enter it", j->bytes, j->nentries);
	fprintf(out, "\n");
	mark_targets(fn, m);
	if (j)
		mark_jit(fn, j, m);
	for (i = 0; i < fn->npro; i++)
		print_insn(fn, &fn->pro[i], "once a launch", out);
	for (i = 0; i < fn->ncode; i++) {
		struct dtext t = { s, sizeof(s), 0 };

		if (m[i].target || m[i].meet) {
			disasm_label(fn, i, &t);
			fprintf(out, "%s:%s\n", s, m[i].meet ? "  // lanes meet" : "");
			t.n = 0;
		}
		if (fn->code[i].kind == K_STEP)
			continue;
		s[0] = 0;
		notes(fn, j, &m[i], i, &t);
		print_insn(fn, &fn->code[i], s, out);
	}
	free(m);
}

uint32_t disasm_list(struct engine *e, uint32_t id, FILE *out)
{
	const struct func *list[256];   /* it and what it calls, each once */
	u32 n = 1, i, k, q;

	if (!func_get(e, id) || func_get(e, id)->state != FN_READY)
		return VGPU_ST_BAD_HANDLE;
	list[0] = func_get(e, id);
	for (i = 0; i < n; i++) {
		const struct jit *j = i || e->mode != ENGINE_MODE_JIT ? NULL : jit_get(func_get(e, id), SPEC_LINEAR);

		print_func(list[i], j && j->strip ? NULL : j, out);     /* strips keep other facts */
		for (k = 0; k < list[i]->ncallees; k++) {
			for (q = 0; q < n && list[q] != list[i]->callees[k]; q++)
				;
			if (q == n && n < sizeof(list) / sizeof(list[0]) && list[i]->callees[k]->state == FN_READY)
				list[n++] = list[i]->callees[k];
		}
	}
	return VGPU_ST_OK;
}
