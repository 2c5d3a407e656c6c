/* SPDX-License-Identifier: MIT */
/*
 * Kernel memory accesses. An address is checked against the span (or its window) and for
 * alignment before it is used, lanes outside the mask are never touched, and a page that is not
 * there comes back through the signal handler of fault.c as a fault of this instruction.
 */
#include <immintrin.h>
#include <stdio.h>
#include <string.h>

#include "cpu.h"
#include "gen.h"
#include "lanes.h"
#include "memcheck.h"

static inline u64 rd(u64 a, u8 size)
{
	switch (size) {
	case 1: return *(volatile u8 *)a;
	case 2: return *(volatile u16 *)a;
	case 4: return *(volatile u32 *)a;
	default: return *(volatile u64 *)a;
	}
}

static inline void wr(u64 a, u8 size, u64 v)
{
	switch (size) {
	case 1: *(volatile u8 *)a = (u8)v; break;
	case 2: *(volatile u16 *)a = (u16)v; break;
	case 4: *(volatile u32 *)a = (u32)v; break;
	default: *(volatile u64 *)a = v; break;
	}
}

/*
 * A thread's vector access is one access of up to 16 bytes: the ISA does not say so, but all hardware does it, and look-back
 * scans read {status, value} by it while another block writes them. Aligned moves of an SSE register are one access on
 * processors with AVX.
 */
union whole { u64 q[2]; u32 d[4]; u16 w[8]; u8 b[16]; __m128i x; };

static inline void rd_whole(union whole *v, u64 a, u32 bytes)
{
	if (bytes == 16)
		v->x = *(const volatile __m128i *)a;
	else
		v->q[0] = rd(a, (u8)bytes);
}

static inline void wr_whole(const union whole *v, u64 a, u32 bytes)
{
	if (bytes == 16)
		*(volatile __m128i *)a = v->x;
	else
		wr(a, (u8)bytes, v->q[0]);
}

static inline u64 element(const union whole *v, u32 i, u8 size)
{
	switch (size) {
	case 1: return v->b[i];
	case 2: return v->w[i];
	case 4: return v->d[i];
	default: return v->q[i];
	}
}

static inline void set_element(union whole *v, u32 i, u8 size, u64 x)
{
	switch (size) {
	case 1: v->b[i] = (u8)x; break;
	case 2: v->w[i] = (u16)x; break;
	case 4: v->d[i] = (u32)x; break;
	default: v->q[i] = x; break;
	}
}

/* n * 16 bytes, none of which tears */
static inline void copy_row(void *d, u64 s, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		_mm_storeu_si128((__m128i *)d + i, _mm_loadu_si128((const __m128i *)s + i));
}

static inline u64 extend(u64 v, u8 size, bool is_signed)
{
	if (!is_signed)
		return v;
	switch (size) {
	case 1: return (u64)(s64)(s8)v;
	case 2: return (u64)(s64)(s16)v;
	case 4: return (u64)(s64)(s32)v;
	}
	return v;
}

static const char *space_name(u8 s)
{
	static const char *const n[] = { "generic", "global", "shared", "local", "const", "param" };

	return n[s];
}

/* Of the lanes bad those whose address is in no block of the cluster, or not aligned; others' addresses become real ones. */
static u32 elsewhere(const struct cta *c, u64 *addr, u32 bad, u64 bytes)
{
	u32 k, l;

	for (k = bad; k; k &= k - 1) {
		u64 a, at;

		l = (u32)__builtin_ctz(k);
		a = addr[l] - c->shared;
		at = a & (bytes - 1) ? 0 : cluster_place(c, a, bytes);
		if (!at)
			continue;
		addr[l] = at;
		bad &= ~(1u << l);
	}
	return bad;
}

/*
 * Fills addr[] with real addresses of all lanes and checks those of m. The window of .local is
 * strided: a lane's bytes are checked before its base is added. Returns their shape if all 32 run.
 */
u32 mem_addresses(struct tstate *ts, const struct insn *in, u32 m, u64 *addr)
{
	const struct lane_table *lt = ts->e->lanes;
	struct cta *c = ts->w->cta;
	struct grid *g = c->g;
	u64 bytes = (u64)in->size * in->vec;
	struct lane_span s = { .align = bytes - 1, .shift = (u64)__builtin_ctzll(bytes) };
	u32 bad, shape;

	switch (in->space) {
	case SPACE_SHARED:
		s.span = g->shared_total;
		s.base = c->shared;
		break;
	case SPACE_LOCAL:
		s.span = local_room(g->fn);
		s.base = c->local + (u64)ts->w->index * LANES * g->local_stride;
		break;
	case SPACE_PARAM:
		s.span = g->param_bytes;
		s.base = g->pwin;
		break;
	default:
		s.lo = ts->e->env.span_base;
		s.span = ts->e->env.span_bytes;
	}
	s.span = s.span >= bytes ? s.span - bytes + 1 : 0;
	bad = (in->aw ? lt->access64 : lt->access32)(addr, opnd(ts->f, in->o[4]), (u64)in->imm, &s, &shape) & m;
	ts->mask = m;
	if (__builtin_expect(bad && in->space == SPACE_SHARED && g->team > 1, 0)) {
		shape = SHAPE_NONE;
		bad = elsewhere(c, addr, bad, bytes);
	}
	if (bad) {
		u32 l = (u32)__builtin_ctz(bad);
		u64 a = addr[l] - s.base;       /* as the program sees it */

		if (in->space == SPACE_SHARED && g->team > 1 && a & (bytes - 1) && cluster_place(c, a & ~(bytes - 1), bytes))
			fault_raise(VGPU_ST_MISALIGNED, (int)l, a, NULL);
		fault_raise(a - s.lo >= s.span ? VGPU_ST_ILLEGAL_ADDRESS : VGPU_ST_MISALIGNED, (int)l, a, NULL);
	}
	if (in->space == SPACE_LOCAL) {
		lt->addlane(addr, g->local_stride);
		return SHAPE_NONE;
	}
	return m == ~0u ? shape : SHAPE_NONE;
}

/*
 * The common case first: global or shared memory, lanes in a row or at one address. Both ends are
 * checked, which covers what lies between. SHAPE_NONE: not that case, or something is wrong with
 * an address; the long way finds out.
 */
static inline u32 quick(struct tstate *ts, const struct insn *in, u32 m, u64 *at)
{
	const struct lane_table *lt = ts->e->lanes;
	u64 bytes = (u64)in->size * in->vec, lo, span, base, x0, x1;
	u32 shift = (u32)__builtin_ctzll(bytes), shape;

	if (in->space == SPACE_SHARED) {
		lo = 0;
		span = ts->w->cta->g->shared_total;
		base = ts->w->cta->shared;
	} else if (in->space == SPACE_LOCAL || in->space == SPACE_PARAM) {
		return SHAPE_NONE;
	} else {
		lo = ts->e->env.span_base;
		span = ts->e->env.span_bytes;
		base = 0;
	}
	shape = (in->aw ? lt->probe64 : lt->probe32)(opnd(ts->f, in->o[4]), (u64)in->imm, shift, m, &x0);
	if (shape == SHAPE_NONE)
		return shape;
	ts->mask = m;
	x1 = x0;
	*at = x0 + base;
	if (shape == SHAPE_ROW) {
		x0 += (u64)__builtin_ctz(m) << shift;
		x1 += (u64)(31 - __builtin_clz(m)) << shift;
	}
	if (span < bytes || x0 - lo > span - bytes || x1 - lo > span - bytes || x1 < x0 || (x0 & (bytes - 1)))
		return SHAPE_NONE;
	return shape;
}

#define ROW32(T, conv) \
	do { const T *p = (const T *)at; u32 *o = d; \
	     for (l = 0; l < LANES; l++) o[l] = (u32)(conv)p[l]; } while (0)
#define ROW64(T, conv) \
	do { const T *p = (const T *)at; u64 *o = d; \
	     for (l = 0; l < LANES; l++) o[l] = (u64)(conv)p[l]; } while (0)

/* 32 lanes next to each other */
static void load_row(const struct insn *in, u64 at, void *d)
{
	bool sg = in->flags & INF_SIGNED;
	u32 l;

	if (!in->dw) {
		switch (in->size) {
		case 1: if (sg) ROW32(s8, s32); else ROW32(u8, u32); break;
		case 2: if (sg) ROW32(s16, s32); else ROW32(u16, u32); break;
		default: copy_row(d, at, 8); break;
		}
		return;
	}
	switch (in->size) {
	case 1: if (sg) ROW64(s8, s64); else ROW64(u8, u64); break;
	case 2: if (sg) ROW64(s16, s64); else ROW64(u16, u64); break;
	case 4: if (sg) ROW64(s32, s64); else ROW64(u32, u64); break;
	default: copy_row(d, at, 16); break;
	}
}

static void load_same(struct tstate *ts, const struct insn *in, u64 at, u32 m)
{
	const struct lane_table *lt = ts->e->lanes;
	_Alignas(64) u64 tmp[LANES];
	union whole w;
	u32 v;

	rd_whole(&w, at, (u32)in->size * in->vec);
	for (v = 0; v < in->vec; v++) {
		u64 x = extend(element(&w, v, in->size), in->size, in->flags & INF_SIGNED);
		void *d;

		if (in->o[v] == OPND_NONE)
			continue;
		d = opnd(ts->f, in->o[v]);
		if (in->dw)
			lt->splat64(m == ~0u ? d : tmp, x);
		else
			lt->splat32(m == ~0u ? d : tmp, (u32)x);
		if (m != ~0u && in->dw)
			lt->blend64(d, tmp, m);
		else if (m != ~0u)
			lt->blend32(d, tmp, m);
	}
}

/* Lanes one by one: faster than the gather instruction, which takes three times as long on our CPUs. */
#define EACH(D, T, conv) \
	do { D *o_ = d; const u64 *a_ = addr; \
	     if (m == ~0u) \
		for (l = 0; l < LANES; l += 4) { \
			D e0 = (D)(conv)*(const volatile T *)a_[l], e1 = (D)(conv)*(const volatile T *)a_[l + 1]; \
			D e2 = (D)(conv)*(const volatile T *)a_[l + 2], e3 = (D)(conv)*(const volatile T *)a_[l + 3]; \
			o_[l] = e0; o_[l + 1] = e1; o_[l + 2] = e2; o_[l + 3] = e3; \
		} \
	     else \
		for (k = m; k; k &= k - 1) { \
			l = (u32)__builtin_ctz(k); \
			o_[l] = (D)(conv)*(const volatile T *)a_[l]; \
		} } while (0)

static void load_each(const struct insn *in, void *d, const u64 *addr, u32 m)
{
	u32 k, l;

	switch ((in->size << 1 | !!(in->flags & INF_SIGNED)) << 1 | (in->dw != 0)) {
	case (1 << 1 | 0) << 1 | 0: EACH(u32, u8, u32); break;
	case (1 << 1 | 1) << 1 | 0: EACH(u32, s8, s32); break;
	case (2 << 1 | 0) << 1 | 0: EACH(u32, u16, u32); break;
	case (2 << 1 | 1) << 1 | 0: EACH(u32, s16, s32); break;
	case (4 << 1 | 0) << 1 | 0:
	case (4 << 1 | 1) << 1 | 0: EACH(u32, u32, u32); break;
	case (1 << 1 | 0) << 1 | 1: EACH(u64, u8, u64); break;
	case (1 << 1 | 1) << 1 | 1: EACH(u64, s8, s64); break;
	case (2 << 1 | 0) << 1 | 1: EACH(u64, u16, u64); break;
	case (2 << 1 | 1) << 1 | 1: EACH(u64, s16, s64); break;
	case (4 << 1 | 0) << 1 | 1: EACH(u64, u32, u64); break;
	case (4 << 1 | 1) << 1 | 1: EACH(u64, s32, s64); break;
	default:
		if (in->dw)
			EACH(u64, u64, u64);
		else
			EACH(u32, u64, u32);
	}
}

/* Vectors, a lane at a time */
static void load_whole(struct tstate *ts, const struct insn *in, const u64 *addr, u32 m)
{
	bool sg = in->flags & INF_SIGNED;
	u32 bytes = (u32)in->size * in->vec, k, l, v;
	union whole w;

	for (k = m; k; k &= k - 1) {
		l = (u32)__builtin_ctz(k);
		rd_whole(&w, addr[l], bytes);
		for (v = 0; v < in->vec; v++) {
			u64 x = extend(element(&w, v, in->size), in->size, sg);

			if (in->o[v] == OPND_NONE)
				continue;
			if (in->dw)
				((u64 *)opnd(ts->f, in->o[v]))[l] = x;
			else
				((u32 *)opnd(ts->f, in->o[v]))[l] = (u32)x;
		}
	}
}

/* Two half warps, each in a row or at one address: what 16 threads wide blocks do. */
static bool load_halves(struct tstate *ts, const struct insn *in)
{
	u32 *d = opnd(ts->f, in->o[0]), s[2], h, l;
	u64 at[2];

	for (h = 0; h < 2; h++) {
		s[h] = quick(ts, in, 0xffffu << h * 16, &at[h]);
		if (s[h] == SHAPE_NONE)
			return false;
	}
	ts->mask = ~0u;
	for (h = 0; h < 2; h++) {
		if (s[h] == SHAPE_ROW) {
			ts->e->lanes->row32(d, (const void *)at[h], 0xffffu << h * 16);
		} else {
			u32 x = *(const volatile u32 *)at[h];

			for (l = 0; l < 16; l++)
				d[h * 16 + l] = x;
		}
	}
	return true;
}

static void load(struct tstate *ts, const struct insn *in, u32 m)
{
	const struct lane_table *lt = ts->e->lanes;
	struct frame *f = ts->f;
	_Alignas(64) u64 addr[LANES];
	u32 l, v, shape;
	u64 at;

	shape = quick(ts, in, m, &at);
	if (shape == SHAPE_SAME) {
		load_same(ts, in, at, m);
		return;
	}
	if (shape == SHAPE_ROW && in->vec == 1 && in->o[0] != OPND_NONE) {
		void *d = opnd(f, in->o[0]);

		if (in->size == 4 && !in->dw) {
			lt->row32(d, (const void *)at, m);
			return;
		}
		if (in->size == 8 && in->dw) {
			lt->row64(d, (const void *)at, m);
			return;
		}
		if (m == ~0u) {
			load_row(in, at, d);
			return;
		}
	}
	if (shape == SHAPE_ROW && m == ~0u && in->size == 4 && !in->dw) {
		_Alignas(64) u32 p[4 * LANES];

		copy_row(p, at, 8 * in->vec);
		for (v = 0; v < in->vec; v++) {
			u32 *d = in->o[v] != OPND_NONE ? opnd(f, in->o[v]) : NULL;

			if (d && in->vec == 2)
				for (l = 0; l < LANES; l++)
					d[l] = p[l * 2 + v];
			else if (d)
				for (l = 0; l < LANES; l++)
					d[l] = p[l * 4 + v];
		}
		return;
	}
	if (in->vec == 1 && in->size == 4 && !in->dw && m == ~0u && in->o[0] != OPND_NONE &&
	    in->space == SPACE_SHARED && load_halves(ts, in))
		return;
	mem_addresses(ts, in, m, addr);
	if (in->vec == 1) {
		_Alignas(64) u64 none[LANES];   /* the sink still reads memory: it may fault */

		load_each(in, in->o[0] != OPND_NONE ? opnd(f, in->o[0]) : none, addr, m);
	} else {
		load_whole(ts, in, addr, m);
	}
}

/* The same load of a flag gets the same again: its block waits for another one, which may have no worker while this one has. */
static void poll(struct tstate *ts, const struct insn *in, u32 m)
{
	struct warp *w = ts->w;
	u32 l = (u32)__builtin_ctz(m);
	u64 x;

	if (in->o[0] == OPND_NONE)
		return;
	x = in->dw ? ((const u64 *)opnd(ts->f, in->o[0]))[l] : ((const u32 *)opnd(ts->f, in->o[0]))[l];
	if (w->polled == in && w->polled_was == x)
		ts->budget -= 1000;     /* whoever waits gives its slice away */
	w->polled = in;
	w->polled_was = x;
}

void mem_ld(struct tstate *ts, const struct insn *in, u32 m)
{
	load(ts, in, m);
	if ((in->flags & INF_SYNC) && (in->space == SPACE_GLOBAL || in->space == SPACE_GENERIC))
		poll(ts, in, m);
}

/* A kernel parameter by name: the same for all lanes, bounds known since lowering. */
void mem_ldparam(struct tstate *ts, const struct insn *in, u32 m)
{
	const struct lane_table *lt = ts->e->lanes;
	u64 a = ts->w->cta->g->pwin + (u64)in->imm, tmp[LANES], x;
	bool all = m == ts->f->lanes;
	void *d;
	u32 v;

	for (v = 0; v < in->vec; v++) {
		if (in->o[v] == OPND_NONE)
			continue;
		x = extend(rd(a + v * in->size, in->size), in->size, in->flags & INF_SIGNED);
		d = opnd(ts->f, in->o[v]);
		if (in->dw)
			lt->splat64(all ? d : tmp, x);
		else
			lt->splat32(all ? d : tmp, (u32)x);
		if (!all && in->dw)
			lt->blend64(d, tmp, m);
		else if (!all)
			lt->blend32(d, tmp, m);
	}
}

void mem_st(struct tstate *ts, const struct insn *in, u32 m)
{
	const struct lane_table *lt = ts->e->lanes;
	struct frame *f = ts->f;
	_Alignas(64) u64 addr[LANES], at;
	u32 k, l, v;

	if (quick(ts, in, m, &at) == SHAPE_ROW && in->vec == 1 && in->size >= 4 && (in->size == 8) == in->dw) {
		(in->dw ? lt->row64 : lt->row32)((void *)at, opnd(f, in->o[0]), m);
		return;
	}
	mem_addresses(ts, in, m, addr);
	/* lanes in order: where several write one address, the last lane wins, whole element by element */
	if (in->vec == 1 && !in->dw && in->size <= 4) {
		const u32 *s = opnd(f, in->o[0]);

		for (k = m; k; k &= k - 1) {
			l = (u32)__builtin_ctz(k);
			if (in->size == 4)
				*(volatile u32 *)addr[l] = s[l];
			else if (in->size == 2)
				*(volatile u16 *)addr[l] = (u16)s[l];
			else
				*(volatile u8 *)addr[l] = (u8)s[l];
		}
		return;
	}
	for (k = m; k; k &= k - 1) {
		union whole w = { { 0 } };

		l = (u32)__builtin_ctz(k);
		for (v = 0; v < in->vec; v++) {
			const void *s = opnd(f, in->o[v]);

			set_element(&w, v, in->size, in->dw ? ((const u64 *)s)[l] : ((const u32 *)s)[l]);
		}
		wr_whole(&w, addr[l], (u32)in->size * in->vec);
	}
}

/* Completes the report of a fault in a memory instruction: which lane, what kind of access. */
void mem_describe(struct tstate *ts)
{
	const struct insn *in = ts->in;
	static const char *const verb[] = { "read", "write", "atomic" };
	u8 kind = in ? mc_plain_kind(in->kind) : K_NOP;
	int v = kind == K_ST ? 1 : kind == K_ATOM ? 2 : 0;

	if (kind != K_LD && kind != K_ST && kind != K_ATOM)
		return;
	if (ts->rep_lane < 0) {         /* by signal: the lane whose bytes hold the address */
		struct cta *c = ts->w->cta;
		const void *a = opnd(ts->f, in->o[4]);
		u32 k, bytes = (u32)in->size * in->vec;
		u64 first = 0;

		for (k = ts->mask; k; k &= k - 1) {
			u32 l = (u32)__builtin_ctz(k);
			u64 x = (in->aw ? ((const u64 *)a)[l] : ((const u32 *)a)[l]) + (u64)in->imm;

			if (in->space == SPACE_SHARED)
				x += c->shared;
			if (ts->rep.address - x < bytes) {
				ts->rep_lane = (int)l;
				break;
			}
			/* a row is one access, and its lanes that do not run may come first */
			if (ts->rep_lane < 0 && ts->rep.address < x && (ts->rep.address ^ x) < 4096) {
				ts->rep_lane = (int)l;
				first = x;
			}
		}
		if (!k && ts->rep_lane >= 0)
			ts->rep.address = first;
		if (ts->rep_lane < 0)
			ts->rep_lane = __builtin_ctz(ts->mask);
	}
	snprintf(ts->what, sizeof(ts->what), "%s %s of %u bytes%s", space_name(in->space), verb[v],
			   (unsigned)in->size * in->vec,
			   ts->rep.status == VGPU_ST_MISALIGNED ? ", misaligned" : "");
	ts->rep.what = ts->what;
}
