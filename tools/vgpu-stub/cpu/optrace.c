/* SPDX-License-Identifier: MIT */
/*
 * One warp at work: every instruction that it executes, as text through the engine's print(), like what kernels print.
 *
 * $VGPU_OPS says which, as "kernel=PATTERN;block=X,Y,Z;warp=N;launch=N;count=N", all of it optional: a name with * and ?
 * (any kernel), block 0,0,0, warp 0, every launch of such kernels, 1,000 instructions.
 *
 * After compilation a K_STEP goes before every instruction (other modes have none and pay nothing). A step shows what is
 * known before the instruction runs; its results are shown at the warp's next step, or when the turn ends. Instructions
 * are counted over the life of the context; when they are used up, that is said, and steps do nothing more.
 */
#include <fnmatch.h>
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disasm.h"
#include "memcheck.h"
#include "optrace.h"
#include "srcline.h"

#define COUNT_DEFAULT 1000u
#define COUNT_MAX 1000000u
#define BUFFER 16384u
#define LINE 2048u              /* what one instruction says at most */

struct optrace {
	char kernel[256];
	u32 block[3], warp, launch, count;

	pthread_mutex_t lock;   /* grids of several streams may run at once */
	u64 left;
	u32 launches;           /* of such kernels that were met */
	u64 gridid, otherid;    /* the latest grid of such a kernel, the latest of another */
	bool shown, ended;      /* the former is wanted; nothing more is */
	struct dtext text;
	char buffer[BUFFER];

	/* the instruction whose results are not known yet */
	const struct insn *in;
	struct frame *f;
	u32 mask, parked;
	const struct warp *w;   /* that was shown last, of the latest grid */

	/* lines of the program: of which function they are known, and the one that was said last */
	const struct func *fn;
	struct srcpos *map;
	u32 fn_id, last;        /* whose module may have gone, and another be in its place */
	struct srcpos at;
};

/* The number behind "key=", up to limit. */
static void number(const char *spec, const char *key, u32 limit, u32 *out)
{
	const char *p = strstr(spec, key);
	unsigned long v;

	if (!p || (p != spec && p[-1] != ';'))
		return;
	v = strtoul(p + strlen(key), NULL, 10);
	*out = v > limit ? limit : (u32)v;
}

int optrace_open(struct engine *e)
{
	const char *spec = getenv("VGPU_OPS"), *p;
	struct optrace *o = calloc(1, sizeof(*o));

	if (!o)
		return -1;
	spec = spec ? spec : "";
	o->count = COUNT_DEFAULT;
	number(spec, "warp=", 31, &o->warp);
	number(spec, "launch=", ~0u, &o->launch);
	number(spec, "count=", COUNT_MAX, &o->count);
	p = strstr(spec, "block=");
	if (p && (p == spec || p[-1] == ';'))
		sscanf(p + 6, "%u,%u,%u", &o->block[0], &o->block[1], &o->block[2]);
	p = strstr(spec, "kernel=");
	if (p && (p == spec || p[-1] == ';'))
		snprintf(o->kernel, sizeof(o->kernel), "%.*s", (int)strcspn(p + 7, ";"), p + 7);
	pthread_mutex_init(&o->lock, NULL);
	o->left = o->count;
	o->text = (struct dtext){ o->buffer, sizeof(o->buffer), 0 };
	e->ops = o;
	return 0;
}

void optrace_close(struct engine *e)
{
	if (!e->ops)
		return;
	pthread_mutex_destroy(&e->ops->lock);
	free(e->ops->map);
	free(e->ops);
	e->ops = NULL;
}

void optrace_func(struct func *fn)
{
	struct insn *code = calloc(2 * (size_t)fn->ncode, sizeof(*code));
	u32 i, k;

	if (!code)
		return;                 /* then this function is not shown */
	for (i = 0; i < fn->ncode; i++) {
		struct insn *in = &code[2 * i + 1];

		*in = fn->code[i];
		in->plain = 0;          /* one after the other, steps between them */
		code[2 * i] = (struct insn){ .kind = in->kind == K_LATER ? K_NOP : K_STEP, .guard = OPND_NONE, .line = in->line };
		for (k = 0; k < 6; k++)
			code[2 * i].o[k] = OPND_NONE;
		if (in->kind == K_JMP || in->kind == K_CBRA) {
			in->taken *= 2;
			in->fall *= 2;
		}
		if (in->kind == K_BRX) {
			in->fall *= 2;
			for (k = 1; k <= in->u.targets[0]; k++)
				in->u.targets[k] *= 2;
		}
	}
	free(fn->code);
	fn->code = code;
	fn->ncode *= 2;
	fn->stepped = true;
}

/* ---- text -------------------------------------------------------------------------------- */

static void flush(struct engine *e, struct optrace *o)
{
	if (!o->text.n)
		return;
	e->env.print(e->env.owner, o->text.s, o->text.n);
	o->text.n = 0;
}

/* With room for what one instruction says. */
static struct dtext *room(struct engine *e, struct optrace *o)
{
	if (o->text.n + LINE > o->text.room)
		flush(e, o);
	return &o->text;
}

static void end_line(struct dtext *t)
{
	while (t->n && t->s[t->n - 1] == ' ')
		t->n--;
	dt_say(t, "\n");
	t->s[t->n - 1] = '\n';
}

/* The beginning of a line: the instruction in its column. */
static void say_insn(struct dtext *t, const struct func *fn, const struct insn *in, const char *lanes)
{
	char s[400];
	struct dtext d = { s, sizeof(s), 0 };

	disasm(fn, in, &d);
	dt_say(t, "| %5u %s  %-44s", in->line, lanes, s);
}

static u64 lane_value(const void *at, enum type type, u32 l)
{
	return type == T_PRED ? *(const u32 *)at >> l & 1 : type_bytes(type) == 8 ? ((const u64 *)at)[l] : ((const u32 *)at)[l];
}

/* "%r1 = 5", or of the lowest lane and that others have another; a predicate's lanes. */
static void say_result(struct dtext *t, const struct frame *f, const struct insn *in, u32 i, u32 m)
{
	const void *at = opnd(f, in->o[i]);
	enum type type;
	u32 l, bits;
	u64 first;

	dt_say(t, "%s", i && (in->def & ((1u << i) - 1)) ? ", " : "  ");
	if (!disasm_result(f->fn, in, i, t, &type))
		return;
	if (type == T_PRED) {
		bits = *(const u32 *)at & m;
		if (bits == m || !bits)
			dt_say(t, " = %s", bits ? "true" : "false");
		else
			dt_say(t, " = lanes %08x", bits);
		return;
	}
	l = (u32)__builtin_ctz(m);
	first = lane_value(at, type, l);
	dt_say(t, " = ");
	disasm_value(type, first, t);
	for (m &= m - 1; m; m &= m - 1)
		if (lane_value(at, type, (u32)__builtin_ctz(m)) != first) {
			dt_say(t, " in lane %u, others differ", l);
			return;
		}
}

/* What the last instruction has done. */
static void results(struct optrace *o)
{
	const struct insn *in = o->in;
	struct dtext *t = &o->text;
	u32 i, came;

	if (!in)
		return;
	o->in = NULL;
	if ((o->f->parked | o->f->barred) & o->mask) {
		dt_say(t, "  lanes %08x wait", (o->f->parked | o->f->barred) & o->mask);
		end_line(t);
		return;
	}
	/* shfl and the like go on with the lanes that waited for them */
	came = o->parked & ~o->f->parked;
	if (came)
		dt_say(t, "  with lanes %08x", came);
	for (i = 0; i < 6; i++)
		if ((in->def >> i & 1) && in->o[i] != OPND_NONE)
			say_result(t, o->f, in, i, o->mask | came);
	end_line(t);
}

/* Where it will read or write, of the lowest lane. */
static void say_place(struct dtext *t, const struct frame *f, const struct insn *in, u32 m)
{
	u8 kind = mc_plain_kind(in->kind);
	u32 l = (u32)__builtin_ctz(m), k;
	u64 first;

	if (kind != K_LD && kind != K_ST && kind != K_ATOM)
		return;
	first = lane_value(opnd(f, in->o[4]), in->aw ? T_U64 : T_U32, l);
	dt_say(t, "  [0x%llx", (unsigned long long)(first + (u64)in->imm));
	for (k = m & (m - 1); k; k &= k - 1)
		if (lane_value(opnd(f, in->o[4]), in->aw ? T_U64 : T_U32, (u32)__builtin_ctz(k)) != first)
			break;
	dt_say(t, k ? " in lane %u]" : "]", l);
	if (kind != K_ST)
		return;
	dt_say(t, " <- ");
	disasm_value(in->type, lane_value(opnd(f, in->o[0]), in->dw ? T_U64 : T_U32, l), t);
}

/* The grid's first step: which launch it is, and what the launch computed for all blocks. */
static void say_grid(struct engine *e, struct optrace *o, const struct warp *w, const struct frame *f)
{
	const struct grid *g = w->cta->g;
	const struct func *fn = g->fn;
	struct dtext *t = room(e, o);
	u32 i, k;

	dt_say(t, "| %.200s, launch %u: grid %u,%u,%u of blocks %u,%u,%u; block %u,%u,%u, warp %u\n", fn->name, o->launches,
	       g->dim[0], g->dim[1], g->dim[2], g->block[0], g->block[1], g->block[2], w->cta->id[0], w->cta->id[1], w->cta->id[2],
	       w->index);
	dt_say(t, "|  line    lanes  instruction\n");
	for (i = 0; i < fn->npro && f == &w->main; i++) {
		const struct insn *in = &fn->pro[i];

		t = room(e, o);
		say_insn(t, fn, in, "  launch");
		for (k = 0; k < 6; k++)
			if (in->def >> k & 1)
				say_result(t, f, in, k, ~0u);
		end_line(t);
	}
}

/* Is its grid the one to show? Decided once a grid; of several at once, the latest. */
static bool wanted(struct engine *e, struct optrace *o, const struct warp *w, const struct frame *f)
{
	const struct grid *g = w->cta->g;

	if (o->gridid == g->gridid)
		return o->shown && !o->ended;
	if (g->gridid < o->gridid || g->gridid == o->otherid)
		return false;
	if (o->kernel[0] && fnmatch(o->kernel, g->fn->name, 0)) {
		o->otherid = g->gridid;
		return false;
	}
	results(o);
	o->gridid = g->gridid;
	o->at = (struct srcpos){ 0, 0 };
	o->launches++;
	o->shown = !o->launch || o->launch == o->launches;
	if (o->shown && !o->ended)
		say_grid(e, o, w, f);
	return o->shown && !o->ended;
}

/* A line of its own for each line of the program that the warp comes to, where the compiler has left them. */
static void say_source(struct optrace *o, struct dtext *t, const struct func *fn, const struct insn *in)
{
	char text[256];
	struct srcpos at;
	u32 i;

	if (o->fn != fn || o->fn_id != fn->id) {
		free(o->map);
		o->fn = fn;
		o->fn_id = fn->id;
		o->last = fn->body_line;
		for (i = 0; i < fn->ncode; i++)
			o->last = fn->code[i].line > o->last ? fn->code[i].line : o->last;
		o->map = src_map(fn, o->last);
	}
	if (!o->map || in->line < fn->body_line || in->line > o->last)
		return;
	at = o->map[in->line - fn->body_line];
	if (!at.line || (at.line == o->at.line && at.file == o->at.file))
		return;
	o->at = at;
	if (src_line(fn, in->line, text, sizeof(text)))
		dt_say(t, "| %.200s\n", text);
}

static void step(struct engine *e, struct optrace *o, const struct warp *w, struct frame *f, const struct insn *in,
		 u32 m)
{
	struct dtext *t;
	u32 run = m, guard;
	char lanes[12];

	results(o);
	t = room(e, o);
	o->w = w;
	if (!o->left) {
		dt_say(t, "| %u instructions have been shown: no more are (vgpu trace --ops -n, or count= in VGPU_OPS)\n", o->count);
		flush(e, o);
		o->ended = true;
		return;
	}
	o->left--;
	if (in->guard != OPND_NONE) {
		guard = *(const u32 *)opnd(f, in->guard);
		run &= in->gneg ? ~guard : guard;
	}
	say_source(o, t, f->fn, in);
	snprintf(lanes, sizeof(lanes), "%08x", in->kind == K_CBRA ? m : run);
	say_insn(t, f->fn, in, lanes);
	if (in->kind == K_CBRA) {
		if (run && run != m)
			dt_say(t, "  lanes %08x", run);
		else
			dt_say(t, run ? "  all" : "  none");
		end_line(t);
		return;
	}
	if (!run) {
		dt_say(t, "  no lane");
		end_line(t);
		return;
	}
	say_place(t, f, in, run);
	o->in = in;
	o->f = f;
	o->mask = run;
	o->parked = 0;
	if (in->kind == K_SHFL || in->kind == K_VOTE || in->kind == K_MATCH || in->kind == K_REDUX) {
		u32 k, pc = (u32)(in - f->fn->code);

		for (k = f->parked; k; k &= k - 1)
			if (f->lane_pc[__builtin_ctz(k)] == pc)
				o->parked |= k & (0 - k);
	}
	/* nothing to come, or in another activation */
	if (!in->def || in->kind == K_CALL) {
		o->in = NULL;
		end_line(t);
	}
}

void optrace_step(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	struct engine *e = ts->e;
	struct optrace *o = e->ops;
	const struct warp *w = ts->w;
	u32 mxcsr;

	if (w->index != o->warp || memcmp(w->cta->id, o->block, sizeof(o->block)))
		return;
	pthread_mutex_lock(&o->lock);
	/* printing floats is not to depend on the kernel's rounding */
	mxcsr = _mm_getcsr();
	_mm_setcsr(0x1f80);
	if (wanted(e, o, w, f))
		step(e, o, w, f, in, m);
	_mm_setcsr(mxcsr);
	pthread_mutex_unlock(&o->lock);
}

void optrace_turn(struct tstate *ts, const struct cta *c, bool fault)
{
	struct optrace *o = ts->e->ops;

	pthread_mutex_lock(&o->lock);
	/* its registers are another block's before long */
	if (o->in && o->w->cta == c)
		results(o);
	if (fault && o->w == ts->w && o->shown && !o->ended && c->g->gridid == o->gridid)
		dt_say(room(ts->e, o), "| a fault: %.100s\n", ts->rep.what);
	/* while another thread is in the middle of a line it is left to that */
	if (!o->in)
		flush(ts->e, o);
	pthread_mutex_unlock(&o->lock);
}
