/* SPDX-License-Identifier: MIT */
/*
 * Atomics and reductions of a kernel (PTX ISA 9.7.13.5, atom; red), mbarriers' words among them: what an operation makes of what lies there (apply32(), apply64()), by
 * one instruction of the processor or by compare and exchange.
 */
#include <string.h>

#include "cpu.h"
#include "gen.h"
#include "lanes.h"

static float f_of(u32 u) { float f; memcpy(&f, &u, 4); return f; }
static u32 u_of(float f) { u32 u; memcpy(&u, &f, 4); return f != f ? 0x7fffffffu : u; }

/* A subnormal becomes zero of its sign. */
static u32 flushed(u32 u) { return u & 0x7f800000u ? u : u & 0x80000000u; }

static u32 add_f(enum type t, u32 a, u32 b, bool flush)
{
	u32 va[LANES] = { a }, vb[LANES] = { b }, r[LANES];

	if (t == T_F32) {
		float s = flush ? f_of(flushed(a)) + f_of(flushed(b)) : f_of(a) + f_of(b);

		if (s != s)
			return 0x7fffffff;      /* NVIDIA's one NaN, whatever came in */
		return flush ? flushed(u_of(s)) : u_of(s);
	}
	lanes_get()->fn[LOP_ADD][t](r, va, vb, vb);
	return r[0];
}

/* Halves: a NaN is passed over, as min and max do it. */
static u32 pick_half(const struct insn *in, u32 a, u32 b)
{
	u32 va[LANES] = { a }, vb[LANES] = { b }, r[LANES];

	lanes_get()->fn[in->sub == ATOM_MIN ? LOP_MIN : LOP_MAX][in->type](r, va, vb, vb);
	return r[0];
}

static u32 apply32(const struct insn *in, u32 old, u32 b, u32 c, bool flush)
{
	if (type_is_float(in->type) && (in->sub == ATOM_MIN || in->sub == ATOM_MAX))
		return pick_half(in, old, b);
	switch (in->sub) {
	case ATOM_ADD: return type_is_float(in->type) ? add_f(in->type, old, b, flush) : old + b;
	case ATOM_MIN: return type_is_signed(in->type) ? ((s32)b < (s32)old ? b : old) : b < old ? b : old;
	case ATOM_MAX: return type_is_signed(in->type) ? ((s32)b > (s32)old ? b : old) : b > old ? b : old;
	case ATOM_INC: return old >= b ? 0 : old + 1;
	case ATOM_DEC: return old == 0 || old > b ? b : old - 1;
	case ATOM_AND: return old & b;
	case ATOM_OR: return old | b;
	case ATOM_XOR: return old ^ b;
	case ATOM_EXCH: return b;
	default: return old == b ? c : old;
	}
}

/*
 * An mbarrier (PTX ISA 9.7.13.15), opaque to programs: 20 bits arrivals that the phase still waits for, 20 bits as many as the
 * next one begins with, 21 bits bytes on their way, with a sign, two bits that every mbarrier.init changes, and the parity of the
 * phase on top. A phase that waits for nothing is over. b: arrivals in the low half, bytes in the high one.
 *
 * The two bits: a thread that try_wait has suspended resumes when its phase is complete, and what becomes of the word then is
 * nothing to it. So programs initialise it again as soon as the first of them is through (libcu++'s tests do), and who looks at the
 * word later, with a state of before, has to see that it is another one.
 */
#define MBAR_PHASE (1ull << 63)
#define MBAR_MADE (3ull << 61)
static u64 mbar(u8 op, u64 s, u64 b)
{
	u32 pending = s & 0xfffff, expected = s >> 20 & 0xfffff, n = op == ATOM_MBAR_TX ? 0 : (u32)b & 0xfffff;
	u32 tx = ((u32)(s >> 40) + (u32)(b >> 32)) & 0x1fffff;
	u64 phase = s & (MBAR_PHASE | MBAR_MADE);

	pending = (pending - n) & 0xfffff;
	if (op == ATOM_MBAR_DROP)
		expected = (expected - n) & 0xfffff;
	if (!pending && !tx) {
		phase ^= MBAR_PHASE;
		pending = expected;
	}
	return phase | (u64)tx << 40 | (u64)expected << 20 | pending;
}

void mbar_arrived(u64 *at, u32 bytes)
{
	u64 old = __atomic_load_n(at, __ATOMIC_SEQ_CST);

	while (!__atomic_compare_exchange_n(at, &old, mbar(ATOM_MBAR_TX, old, (u64)(0u - bytes) << 32), 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
}

void gen_mbar_phase(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	const u64 *now = opnd(f, in->o[1]), *state = opnd(f, in->o[2]);
	const u32 *parity = opnd(f, in->o[2]);
	u32 *d = opnd(f, in->o[0]), r = 0, l;

	for (l = 0; l < LANES; l++)
		if (in->sub2 ? now[l] >> 63 != (parity[l] & 1) : ((now[l] ^ state[l]) & (MBAR_PHASE | MBAR_MADE)) != 0)
			r |= 1u << l;
	*d = (*d & ~m) | (r & m);
	if (in->sub == MBAR_TRY && (~r & m))
		ts->budget -= 1000;     /* whoever waits gives its slice away */
}

static u64 apply64(const struct insn *in, u64 old, u64 b, u64 c)
{
	double x, y;

	switch (in->sub) {
	case ATOM_MBAR_ARRIVE:
	case ATOM_MBAR_DROP:
	case ATOM_MBAR_TX: return mbar(in->sub, old, b);
	case ATOM_ADD:
		if (in->type != T_F64)
			return old + b;
		memcpy(&x, &old, 8);
		memcpy(&y, &b, 8);
		/* of two NaNs the one in memory: a sum whose sides a compiler may exchange would leave that open */
		if (x != x)
			return old | 1ull << 51;
		x += y;
		memcpy(&old, &x, 8);
		return old;
	case ATOM_MIN: return in->type == T_S64 ? ((s64)b < (s64)old ? b : old) : b < old ? b : old;
	case ATOM_MAX: return in->type == T_S64 ? ((s64)b > (s64)old ? b : old) : b > old ? b : old;
	case ATOM_AND: return old & b;
	case ATOM_OR: return old | b;
	case ATOM_XOR: return old ^ b;
	case ATOM_EXCH: return b;
	default: return old == b ? c : old;
	}
}

static u32 atom16(const struct insn *in, u64 a, u32 b, u32 c)
{
	u16 old = __atomic_load_n((u16 *)a, __ATOMIC_SEQ_CST), nv;

	do {
		nv = (u16)apply32(in, old, b & 0xffff, c & 0xffff, false);
	} while (!__atomic_compare_exchange_n((u16 *)a, &old, nv, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	return old;
}

static u32 atom32(const struct insn *in, u64 a, u32 b, u32 c, bool flush)
{
	u32 *p = (u32 *)a, old, nv;

	if (in->sub == ATOM_ADD && !type_is_float(in->type))
		return __atomic_fetch_add(p, b, __ATOMIC_SEQ_CST);
	if (in->sub == ATOM_EXCH)
		return __atomic_exchange_n(p, b, __ATOMIC_SEQ_CST);
	if (in->sub == ATOM_CAS) {
		__atomic_compare_exchange_n(p, &b, c, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		return b;
	}
	old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
	do {
		nv = apply32(in, old, b, c, flush);
	} while (!__atomic_compare_exchange_n(p, &old, nv, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	return old;
}

static u64 atom64(const struct insn *in, u64 a, u64 b, u64 c)
{
	u64 *p = (u64 *)a, old = __atomic_load_n(p, __ATOMIC_SEQ_CST), nv;

	do {
		nv = apply64(in, old, b, c);
	} while (!__atomic_compare_exchange_n(p, &old, nv, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	return old;
}

void gen_quad(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	const u64 *lo = opnd(f, in->o[1]), *hi = opnd(f, in->o[2]);

	for (; m; m &= m - 1) {
		u32 l = (u32)__builtin_ctz(m);

		ts->quad[l][0] = lo[l];
		ts->quad[l][1] = hi[l];
	}
}

/* now: what is expected there, and what was there afterwards. All processors with AVX2 have the instruction. */
static bool swap16(u64 a, u64 now[2], u64 lo, u64 hi)
{
	bool done;

	__asm__ volatile("lock cmpxchg16b %1" : "=@ccz"(done), "+m"(*(unsigned __int128 *)a), "+a"(now[0]), "+d"(now[1])
			 : "b"(lo), "c"(hi) : "memory");
	return done;
}

static void atom128(struct tstate *ts, const struct insn *in, u32 m, const u64 *addr)
{
	u64 *dlo = opnd(ts->f, in->o[0]), *dhi = opnd(ts->f, in->o[1]);
	const u64 *lo = opnd(ts->f, in->o[2]), *hi = opnd(ts->f, in->o[3]);

	for (; m; m &= m - 1) {
		u32 l = (u32)__builtin_ctz(m);
		u64 now[2] = { ts->quad[l][0], ts->quad[l][1] };

		if (in->sub == ATOM_CAS)
			swap16(addr[l], now, lo[l], hi[l]);
		else
			while (!swap16(addr[l], now, lo[l], hi[l]))
				;
		dlo[l] = now[0];
		dhi[l] = now[1];
	}
}

/* Sums of .f32 flush in global memory and keep subnormals in shared memory (9.7.13.5), whichever way it is addressed. */
static bool flushes(const struct tstate *ts, const struct insn *in, u64 a)
{
	const struct cta *c = ts->w->cta;

	return in->space == SPACE_GLOBAL || (in->space == SPACE_GENERIC && a - c->shared >= c->g->shared_total);
}

static bool swapped(u64 a, u8 size, u64 *was, u64 now)
{
	u32 was4 = (u32)*was;
	bool done;

	if (size == 8)
		return __atomic_compare_exchange_n((u64 *)a, was, now, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	done = __atomic_compare_exchange_n((u32 *)a, &was4, (u32)now, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	*was = was4;
	return done;
}

/*
 * Lanes that change one place, at a, do so one behind the other, with nobody else between, as hardware has it: what they get from a counter are numbers in a row (queues
 * of work by the warp count on that).
 */
static void atom_row(struct tstate *ts, const struct insn *in, u32 m, u64 a)
{
	const void *b = opnd(ts->f, in->o[1]), *c = in->o[2] == OPND_NONE ? b : opnd(ts->f, in->o[2]);
	void *d = in->o[0] == OPND_NONE ? NULL : opnd(ts->f, in->o[0]);
	u64 was = in->size == 8 ? __atomic_load_n((u64 *)a, __ATOMIC_SEQ_CST) : __atomic_load_n((u32 *)a, __ATOMIC_SEQ_CST), now, got[LANES];
	bool flush = flushes(ts, in, a);
	u32 k, l;

	do {
		for (k = m, now = was; k; k &= k - 1) {
			l = (u32)__builtin_ctz(k);
			got[l] = now;
			now = in->size == 8 ? apply64(in, now, ((const u64 *)b)[l], ((const u64 *)c)[l]) :
					      apply32(in, (u32)now, ((const u32 *)b)[l], ((const u32 *)c)[l], flush);
		}
	} while (!swapped(a, in->size, &was, now));
	for (k = d ? m : 0; k; k &= k - 1) {
		l = (u32)__builtin_ctz(k);
		if (in->size == 8)
			((u64 *)d)[l] = got[l];
		else
			((u32 *)d)[l] = (u32)got[l];
	}
}

#define MOST_ROWS 4u    /* places that lanes of a warp share */

void mem_atom(struct tstate *ts, const struct insn *in, u32 m)
{
	struct frame *f = ts->f;
	_Alignas(64) u64 addr[LANES];
	const void *b = opnd(f, in->o[1]), *c = in->o[2] == OPND_NONE ? b : opnd(f, in->o[2]);
	void *d = in->o[0] == OPND_NONE ? NULL : opnd(f, in->o[0]);
	u32 k, l, n;

	mem_addresses(ts, in, m, addr);
	if (in->size == 16) {
		atom128(ts, in, m, addr);
		return;
	}
	for (n = 0; in->size >= 4 && m && n < MOST_ROWS; n++) {
		u64 a = addr[__builtin_ctz(m)];
		u32 same = 0;

		for (k = m; k; k &= k - 1)
			same |= (u32)(addr[__builtin_ctz(k)] == a) << __builtin_ctz(k);
		if (!(same & (same - 1)))
			break;
		atom_row(ts, in, same, a);
		m &= ~same;
	}
	for (k = m; k; k &= k - 1) {
		l = (u32)__builtin_ctz(k);
		if (in->size == 8) {
			u64 r = atom64(in, addr[l], ((const u64 *)b)[l], ((const u64 *)c)[l]);

			if (d)
				((u64 *)d)[l] = r;
		} else {
			u32 r = in->size == 4 ?
				atom32(in, addr[l], ((const u32 *)b)[l], ((const u32 *)c)[l], flushes(ts, in, addr[l])) :
				atom16(in, addr[l], ((const u32 *)b)[l], ((const u32 *)c)[l]);

			if (d)
				((u32 *)d)[l] = r;
		}
	}
}

void mem_reduce(const struct insn *in, u64 a, u64 v)
{
	if (in->size == 8)
		atom64(in, a, v, 0);
	else
		atom32(in, a, (u32)v, 0, true);
}
