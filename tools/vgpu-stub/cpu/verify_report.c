/* SPDX-License-Identifier: MIT */
/*
 * Verify: what the two runs of a launch left is compared, page by page, and differences are told with the instruction and the
 * thread that wrote there first. Called by verify.c between the runs and what comes after them, on the dispatcher's thread.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disasm.h"
#include "verify_own.h"

/* ---- what is said ------------------------------------------------------------------------- */

static void text_add(struct vtext *t, const char *s, size_t n)
{
	char *p = t->s;

	if (t->n + n + 1 > t->cap) {
		size_t cap = 2 * t->cap + n + 1024;

		p = realloc(t->s, cap);
		if (!p)
			return;
		t->s = p;
		t->cap = cap;
	}
	memcpy(p + t->n, s, n);
	t->n += n;
}

static void say(struct verify *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct verify *v, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n > 0)
		text_add(&v->text, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

/* The pieces are marked by their lengths: print() takes whole calls, and a ring of the client's only so much. */
bool vf_keep(struct engine *e, const char *text, size_t bytes)
{
	struct verify *v = e->vf;
	u32 n = (u32)bytes;

	if (!v || cpu_ts != v->ts || v->stage == IDLE)
		return false;
	if (v->stage == REAL) {
		text_add(&v->text, (const char *)&n, sizeof(n));
		text_add(&v->text, text, bytes);
	}
	return true;
}

void vf_print_all(struct engine *e, struct vtext *t)
{
	size_t at = 0;
	u32 n;

	while (at + sizeof(n) <= t->n) {
		memcpy(&n, t->s + at, sizeof(n));
		at += sizeof(n);
		if (n > t->n - at)
			break;
		e->env.print(e->env.owner, t->s + at, n);
		at += n;
	}
	t->n = 0;
}

void vf_grid_end(struct engine *e, struct grid *g)
{
	struct vtext *t = g->vtext;

	if (!t)
		return;
	g->vtext = NULL;
	vf_print_all(e, t);
	free(t->s);
	free(t);
}

/* A report is one piece: begin() and end() go round what say() adds. */
static size_t begin(struct verify *v)
{
	u32 none = 0;

	text_add(&v->text, (const char *)&none, sizeof(none));
	return v->text.n;
}

static void end(struct verify *v, size_t at)
{
	u32 n = (u32)(v->text.n - at);

	if (at >= sizeof(n) && v->text.s)
		memcpy(v->text.s + at - sizeof(n), &n, sizeof(n));
}

static void say_writer(struct verify *v, const struct grid *g, u32 by)
{
	const struct vwriter *w = &v->writers[by >> 5];
	u32 thread = w->warp * LANES + (by & 31);
	char code[160];
	struct dtext d = { code, sizeof(code), 0 };

	disasm(w->fn, w->in, &d);
	say(v, "=========     at %s, PTX line %u: %s\n", w->fn->name, w->in->line, code);
	say(v, "=========     by thread (%u,%u,%u) in block (%u,%u,%u)\n", g->tid[0][thread], g->tid[1][thread], g->tid[2][thread],
	    (u32)(w->block % g->dim[0]), (u32)(w->block / g->dim[0] % g->dim[1]), (u32)(w->block / g->dim[0] / g->dim[1]));
}

/* ---- comparison --------------------------------------------------------------------------- */

struct diff {
	u64 first, stray, bytes, strays, summed;        /* addresses of the first ones; how many */
	u64 jit, interp;                                /* what stands at first */
	u8 stray_was, stray_is;
	u32 by, size;
};

static bool near_ulps(u32 a, u32 b, u32 bits, u32 ulps)
{
	s32 sign = 1 << (bits - 1), x = (s32)a, y = (s32)b;

	x = x & sign ? -(x & (sign - 1)) : x;
	y = y & sign ? -(y & (sign - 1)) : y;
	return (u32)(x > y ? x - y : y - x) <= ulps;
}

static bool near(double a, double b, double rel)
{
	double d = a > b ? a - b : b - a, m = (a < 0 ? -a : a) > (b < 0 ? -b : b) ? (a < 0 ? -a : a) : (b < 0 ? -b : b);

	return a == b || (a != a && b != b) || d <= rel * m || d <= rel * 1e-2;
}

/*
 * Sums of floats in another order are equal but for rounding, which adds up: a thousandth, half of the bits of a double, a few
 * units of a half.
 */
static bool same_sum(const struct insn *in, u64 x, u64 y)
{
	u32 a32 = (u32)x, b32 = (u32)y;
	float fa, fb;
	double da, db;

	if (in->kind != K_VF_ATOM || in->sub != ATOM_ADD || !type_is_float(in->type))
		return false;
	if (in->type == T_F64) {
		memcpy(&da, &x, 8);
		memcpy(&db, &y, 8);
		return near(da, db, 1e-8);
	}
	if (in->type == T_F32) {
		memcpy(&fa, &a32, 4);
		memcpy(&fb, &b32, 4);
		return near(fa, fb, 1e-3);
	}
	return near_ulps(a32 & 0xffff, b32 & 0xffff, 16, 32) && near_ulps(a32 >> 16, b32 >> 16, 16, 32);
}

static void compare_page(struct verify *v, struct vpage *p, struct diff *d)
{
	const u8 *mem = (const u8 *)p->at;
	bool device = vf_is_device(v, p->at);
	u32 i, size, at;

	for (i = 0; i < PAGE; i++) {
		u64 x = 0, y = 0;
		const struct vwriter *w;

		if (i % 64 == 0 && !memcmp(mem + i, p->was + i, 64)) {
			i += 63;
			continue;
		}
		if (mem[i] == p->was[i])
			continue;
		if (!(p->bits[i / 64] >> i % 64 & 1)) {
			if (device && !d->strays++) {
				d->stray = p->at + i;
				d->stray_was = p->was[i];
				d->stray_is = mem[i];
			}
			continue;
		}
		/* whole elements, as they were written */
		w = p->by[i / 4] ? &v->writers[p->by[i / 4] >> 5] : NULL;
		size = w ? w->in->size : 1;
		at = i & ~(size - 1);
		memcpy(&x, mem + at, size);
		memcpy(&y, p->was + at, size);
		i = at + size - 1;
		if (w && same_sum(w->in, x, y)) {
			d->summed += size;
			continue;
		}
		if (!d->bytes) {
			d->first = p->at + at;
			d->jit = x;
			d->interp = y;
			d->by = p->by[at / 4];
			d->size = size;
		}
		d->bytes += size;
	}
}

static int by_address(const void *a, const void *b)
{
	u64 x = (*(struct vpage *const *)a)->at, y = (*(struct vpage *const *)b)->at;

	return x < y ? -1 : x > y;
}

struct vpage **vf_sorted_pages(struct verify *v)
{
	struct vpage **s = malloc((v->n + 1) * sizeof(*s));
	u32 i, n = 0;

	for (i = 0; s && i < v->cap; i++)
		if (v->tab[i])
			s[n++] = v->tab[i];
	if (s)
		qsort(s, n, sizeof(*s), by_address);
	return s;
}

/* Where memory holds what the JIT wrote, it gets the interpreter's. */
static void take_first(struct verify *v, struct vpage *p)
{
	u8 *mem = (u8 *)p->at;
	bool device = vf_is_device(v, p->at);
	u32 i;

	for (i = 0; i < PAGE; i++)
		if (mem[i] != p->was[i] && (device || (p->bits[i / 64] >> i % 64 & 1)))
			mem[i] = p->was[i];
}

/* Do atomics answer in an order that threads have by chance? */
static bool ordered(const struct func *fn, u32 depth)
{
	u32 i;

	for (i = 0; i < fn->ncode; i++) {
		const struct insn *in = &fn->code[i];

		if (in->kind == K_VF_ATOM && (in->o[0] != OPND_NONE || in->sub == ATOM_EXCH || type_is_float(in->type)))
			return true;
	}
	for (i = 0; depth && i < fn->ncallees; i++)
		if (ordered(fn->callees[i], depth - 1))
			return true;
	return false;
}

static void say_shape(struct verify *v, const struct grid *g)
{
	say(v, "=========     launch: grid (%u,%u,%u), block (%u,%u,%u)\n", g->dim[0], g->dim[1], g->dim[2], g->block[0],
	    g->block[1], g->block[2]);
}

static void report(struct verify *v, struct grid *g, const struct diff *d, u64 written)
{
	size_t at;

	vf_count(&v->counts->differ);
	if (v->shown++ >= SHOWN)
		return;
	at = begin(v);
	if (v->fault[0])
		say(v, "========= Verify: kernel %s faults on the JIT, not in the interpreter\n=========     %s\n", g->fn->name, v->fault);
	else if (d->bytes)
		say(v, "========= Verify: kernel %s writes another value on the JIT\n", g->fn->name);
	else
		say(v, "========= Verify: kernel %s writes on the JIT where it does not in the interpreter\n", g->fn->name);
	if (d->bytes) {
		if (d->by)
			say_writer(v, g, d->by);
		say(v, "=========     Address 0x%llx: JIT 0x%0*llx, interpreter 0x%0*llx; %llu of %llu written bytes differ\n",
		    (unsigned long long)d->first, (int)d->size * 2, (unsigned long long)d->jit, (int)d->size * 2,
		    (unsigned long long)d->interp, (unsigned long long)d->bytes, (unsigned long long)written);
	}
	if (d->strays)
		say(v, "=========     Address 0x%llx: JIT writes 0x%02x over 0x%02x, the interpreter nothing; %llu such bytes\n",
		    (unsigned long long)d->stray, d->stray_is, d->stray_was, (unsigned long long)d->strays);
	if (ordered(g->fn, 8))
		say(v, "=========     The kernel has atomics whose order shows in their results: it may be that\n");
	say_shape(v, g);
	end(v, at);
}

/* Once a kernel: why nothing is said about it. */
void vf_not_comparable(struct verify *v, struct func *fn, const char *why)
{
	size_t at;

	vf_count(&v->counts->skipped);
	if (fn->vf_told)
		return;
	fn->vf_told = true;
	at = begin(v);
	say(v, "========= Verify: kernel %s is not comparable: %s\n", fn->name, why);
	end(v, at);
}

void vf_compare(struct verify *v, struct grid *g, const char *unended)
{
	struct vpage **s = vf_sorted_pages(v);
	struct diff d = { 0 };
	u64 written = 0;
	u32 i, k;

	for (i = 0; s && i < v->n; i++) {
		for (k = 0; k < PAGE / 64; k++)
			written += (u64)__builtin_popcountll(s[i]->bits[k]);
		if (!unended)
			compare_page(v, s[i], &d);
	}
	for (i = 0; i < v->cap; i++)
		if (v->tab[i])
			take_first(v, v->tab[i]);
	free(s);
	if (unended || !s || v->overflow) {
		vf_not_comparable(v, g->fn, unended ? unended : "it writes too much");
		return;
	}
	vf_count(&v->counts->compared);
	if (d.bytes || d.strays || v->fault[0])
		report(v, g, &d, written);
	else if (d.summed)
		vf_count(&v->counts->order);
}
