/* SPDX-License-Identifier: MIT */
/* Streams of loads, and the code that follows them (ahead.h). */
#include "ahead.h"
#include "jit_asm.h"

/* Called by code that has vectors and masks in registers: nothing here may use them, nor a function of libc's. */
#define NO_VECTORS __attribute__((target("general-regs-only")))
#define TRIES 4u                /* blocks in which a site may find nothing */
#define ODD 3u
#define LEFT 1024u              /* bytes of a step that are asked for late */

NO_VECTORS static void from(struct ahead_stream *s, u64 at, u32 block)
{
	s->at = at;
	s->begin = s->cursor = at + (u64)s->step;
	s->end = s->cursor + (u64)s->step;
	s->block = block;
}

/* By the first load of a stream in a block. False: it is none. */
NO_VECTORS static bool move_on(struct ahead_stream *s, const struct ahead_site *x, u64 at, u32 block)
{
	u64 used = s->cursor - s->begin, step = (u64)s->step, left = s->cursor & ~63ull;
	s64 d = (s64)(at - s->at);

	if (x != s->lead) {
		s->lead = x;
		s->other = 0;
	} else if (d != s->step) {
		/* a turn of other blocks; if it comes again, the step is another one */
		if (d == s->other && d > 0 && d <= AHEAD_STEP)
			s->step = d;
		s->other = d;
	} else {
		s->other = 0;
		s->odd = used < step / 2 || used > 2 * step ? s->odd + 1 : 0;
		if (s->odd == ODD)
			return false;
	}
	/* what nobody has asked for, as loads read less than the step: this block's last bytes */
	for (; left < s->end && left - s->cursor + 64 <= LEFT; left += 64)
		__asm__ volatile("prefetcht1 (%0)" : : "r"(left));
	from(s, at, block);
	return true;
}

/* The stream of a load that goes on by that step. */
NO_VECTORS static struct ahead_stream *join(struct ahead *h, const struct ahead_site *x, u64 at, s64 step, u32 block)
{
	struct ahead_stream *s;
	u32 i;

	for (i = 0; i < h->nstreams; i++) {
		s64 d;

		s = &h->stream[i];
		d = (s64)(at - s->at);
		if (s->block != block)
			d -= s->step;
		if (s->step == step && d < step && d > -step)
			return s;
	}
	if (h->nstreams == AHEAD_STREAMS)
		return &h->never;
	s = &h->stream[h->nstreams++];
	s->step = step;
	s->other = 0;
	s->odd = 0;
	s->lead = x;
	from(s, at, block);
	return s;
}

NO_VECTORS static s64 near(s64 d) { return d <= AHEAD_STEP && d >= -AHEAD_STEP ? d : 0; }

/* A load whose stream has not been moved on to this block, or that has none. */
NO_VECTORS static void learn(struct tstate *ts, struct ahead_site *x, u64 at)
{
	struct ahead *h = &ts->ahead;
	s64 d = near((s64)(at - x->first));
	u32 n = (u32)(x - h->site) % AHEAD_SITES, *used = &h->used[(u32)(x - h->site) / AHEAD_SITES];

	x->first = at;
	x->block = ts->blocks;
	if (n >= *used)
		*used = n + 1;
	if (x->alone) {
		x->far = d;
		return;
	}
	if (x->stream != &h->none) {
		if (x->stream->odd < ODD && move_on(x->stream, x, at, ts->blocks))
			return;
		x->alone = true;
		x->far = x->stream->step;
		x->stream = &h->none;
		return;
	}
	if (!x->seen++)
		return;
	if (d > 0)
		x->stream = join(h, x, at, d, ts->blocks);
	else if (d < 0)
		x->alone = true;
	else if (x->seen > TRIES)
		x->stream = &h->never;
}

void ahead_begin(struct tstate *ts, u64 grid)
{
	struct ahead *h = &ts->ahead;
	bool first = !h->grid;
	u32 i, k;

	if (first)
		h->never.block = ~0u;
	for (k = 0; k < AHEAD_CODES; k++) {
		for (i = 0; i < (first ? AHEAD_SITES : h->used[k]); i++)
			h->site[k * AHEAD_SITES + i] = (struct ahead_site){ .stream = &h->none };
		h->used[k] = 0;
	}
	h->grid = grid;
	h->nstreams = 0;
}

#define STREAM(f) rm_mem(RDX, (s32)offsetof(struct ahead_stream, f))

struct rm ahead_field(u32 site, size_t field)
{
	return rm_mem(R14, (s32)(offsetof(struct tstate, ahead.site) + site * sizeof(struct ahead_site) + field));
}
#define SITE(f) ahead_field(x->site, offsetof(struct ahead_site, f))

/*
 * Into the second cache: what asks for the first one keeps its few buffers for misses busy as long as memory takes, and loads wait for them (a Q8_0
 * mat-vec took half as long again). Loops whose rounds are asked for together go straight through memory, and strips come to a line several times:
 * both are a tenth faster with the first one.
 */
static void ask(struct as *a, bool first, int base, int index, s32 disp, u32 bytes)
{
	u32 i;

	for (i = 0; i < bytes; i += 64)         /* prefetcht0, prefetcht1 */
		g_op(a, 0, 0x118, first ? 1 : 2, index < 0 ? rm_mem(base, disp + (s32)i) : rm_idx(base, index, 0, disp + (s32)i), 0);
}

/* rdx = this place's stream, rcx = what is to be asked for next; late, if that is of another block. */
static void cursor(struct as *a, struct ahead_code *x)
{
	x->again = a->n;
	g_load(a, 1, RDX, SITE(stream));
	g_load(a, 0, RCX, rm_mem(R14, (s32)offsetof(struct tstate, blocks)));
	g_alu(a, 0, G_CMP, RCX, STREAM(block));
	x->late = g_jcc(a, CC_A);
	g_load(a, 1, RCX, STREAM(cursor));
}

void ahead_often(struct as *a, struct ahead_code *x)
{
	u32 enough, bytes = x->all > x->bytes ? x->all : x->bytes;

	cursor(a, x);
	g_alui(a, 1, G_ADD, STREAM(cursor), (s32)bytes);
	g_alu(a, 1, G_CMP, RCX, STREAM(end));
	enough = g_jcc(a, CC_AE);
	ask(a, x->first, RCX, -1, 0, bytes);
	g_here(a, enough);
	x->back = a->n;
}

void ahead_rounds(struct as *a, struct ahead_code *x)
{
	u32 enough, top;

	cursor(a, x);
	g_alu(a, 1, G_CMP, RCX, STREAM(end));
	enough = g_jcc(a, CC_AE);
	g_imuli(a, 1, RAX, rm_mem(RBX, x->last), (s32)x->bytes);
	g_lea(a, 1, RAX, rm_idx(RAX, RCX, 0, (s32)x->bytes));
	g_store(a, 1, STREAM(cursor), RAX);
	g_alu(a, 1, G_CMP, RAX, STREAM(end));
	g_cmov(a, 1, CC_A, RAX, STREAM(end));
	top = a->n;
	ask(a, true, RCX, -1, 0, 128);
	g_alui(a, 1, G_SUB, rm_reg(RCX), -128);
	g_alu(a, 1, G_CMP, RCX, rm_reg(RAX));
	g_land(a, g_jcc(a, CC_B), top);
	g_here(a, enough);
	x->back = a->n;
}

/* Each round's own place: rcx further on. */
static void each_round(struct as *a, const struct ahead_code *x)
{
	u32 top;

	g_lea(a, 1, RCX, rm_idx(x->base, RCX, 0, x->disp));
	if (!x->step) {
		ask(a, true, RCX, -1, 0, x->bytes);
		return;
	}
	g_load(a, 1, RDX, rm_mem(RBX, x->last));
	top = a->n;
	ask(a, true, RCX, -1, 0, x->bytes);
	g_alui(a, 1, G_ADD, rm_reg(RCX), x->step);
	g_alui(a, 1, G_SUB, rm_reg(RDX), 1);
	g_land(a, g_jcc(a, CC_NS), top);
}

static void push_pop(struct as *a, int r, u32 op)
{
	as_room(a, 16);
	if (r > 7)
		b1(a, 0x41);
	b1(a, op + ((u32)r & 7));
}

void ahead_seldom(struct as *a, const struct ahead_code *x, bool odd_stack)
{
	static const int kept[] = { RAX, RSI, RDI, R8, R9, R10, R11 };
	u32 n = sizeof(kept) / sizeof(*kept), i, none, own;

	g_here(a, x->late);
	g_alu(a, 0, G_CMP, RCX, SITE(block));
	own = g_jcc(a, CC_E);
	for (i = 0; i < n; i++)
		push_pop(a, kept[i], 0x50);
	if (!odd_stack)
		push_pop(a, RAX, 0x50);
	g_lea(a, 1, RDX, rm_mem(x->base, x->disp));
	g_load(a, 1, RDI, rm_reg(R14));
	g_lea(a, 1, RSI, SITE(stream));
	g_movi(a, RAX, (u64)(uintptr_t)learn);
	g_op(a, 0, 0xff, 2, rm_reg(RAX), 0);
	if (!odd_stack)
		push_pop(a, RCX, 0x58);
	for (i = n; i--;)
		push_pop(a, kept[i], 0x58);
	g_land(a, g_jmp(a), x->again);
	g_here(a, own);
	g_load(a, 1, RCX, SITE(far));
	g_alu(a, 1, G_OR, RCX, rm_reg(RCX));
	none = g_jcc(a, CC_E);
	if (x->last)
		each_round(a, x);
	else
		ask(a, x->first, x->base, RCX, x->disp, x->bytes);
	g_here(a, none);
	g_land(a, g_jmp(a), x->back);
}
