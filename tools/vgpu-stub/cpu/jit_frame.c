/* SPDX-License-Identifier: MIT */
/*
 * Registers' values between a warp's private area, where code for AVX-512 has them, and the interpreter's frame. Called by jit_run.c for
 * such code alone: this is the one file of it that is compiled for AVX-512. jit_run.c itself is on every processor's way.
 */
#include <immintrin.h>

#include "jit.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl")
#endif

static void put32(void *slot, __m512i lo, __m512i hi, u32 m)
{
	_mm512_mask_storeu_epi32(slot, (__mmask16)m, lo);
	_mm512_mask_storeu_epi32((char *)slot + 64, (__mmask16)(m >> 16), hi);
}

static __m512i canon(__m512i v)
{
	__m512 f = _mm512_castsi512_ps(v);

	return _mm512_mask_mov_epi32(v, _mm512_cmp_ps_mask(f, f, _CMP_UNORD_Q), _mm512_set1_epi32(0x7fffffff));
}

/* A register that code has not computed: struct jsym. */
static void make(const struct jit *j, const char *p, const struct frame *f, const struct jplace *r, char *slot, u32 m)
{
	const char *index = p + j->regs[r->index].home, *base = NULL;
	u32 i;

	if (r->base != OPND_NONE)
		base = r->base & OPND_CONST ? f->base[1] + (r->base & ~OPND_CONST) : p + j->regs[r->base].home;
	for (i = 0; i < 4; i++) {
		__m256i x = _mm256_load_si256((const __m256i *)(index + 32 * i));
		__m512i v = _mm512_sll_epi64(r->sg ? _mm512_cvtepi32_epi64(x) : _mm512_cvtepu32_epi64(x), _mm_cvtsi32_si128(r->shift));

		if (base)
			v = _mm512_add_epi64(v, _mm512_set1_epi64((s64)*(const u64 *)base));
		_mm512_mask_storeu_epi64(slot + 64 * i, (__mmask8)(m >> 8 * i), v);
	}
}

/* Where one is that code has not loaded: struct jstay. */
static const char *stayed(const struct jit *j, const char *p, const struct jplace *r)
{
	u64 at = ((const struct jprivate *)p)->shared + (u64)(s64)r->disp;

	if (r->index != OPND_NONE)
		at += j->regs[r->index].w ? *(const u64 *)(p + j->regs[r->index].home) : *(const u32 *)(p + j->regs[r->index].home);
	return (const char *)at;
}

/* Register v of the lanes m into its slot. */
void jit_spill_one(const struct jit *j, const char *p, struct frame *f, u32 v, u32 m)
{
	const struct jplace *r = &j->regs[v];
	char *slot = f->base[0] + r->slot;
	const char *home = p + r->home;
	u32 i;

	if (r->w == 2) {
		u32 x = *(const u32 *)home, *d = (u32 *)slot;

		*d = (*d & ~m) | (x & m);
		return;
	}
	if (r->ghost) {
		make(j, p, f, r, slot, m);
		return;
	}
	if (r->cls == JC_VARY) {
		if (!r->w) {
			__m512i a = _mm512_load_si512(home), b = _mm512_load_si512(home + 64);

			if (r->rawf) {
				a = canon(a);
				b = canon(b);
			}
			put32(slot, a, b, m);
		} else {
			for (i = 0; i < 4; i++)
				_mm512_mask_storeu_epi64(slot + 64 * i, (__mmask8)(m >> 8 * i), _mm512_load_si512(home + 64 * i));
		}
		return;
	}
	if (!r->w) {
		__m512i u = _mm512_set1_epi32((int)*(const u32 *)(r->stay ? stayed(j, p, r) : home));
		const s32 *c = j->pats[r->pat];

		put32(slot, _mm512_add_epi32(u, _mm512_loadu_si512(c)), _mm512_add_epi32(u, _mm512_loadu_si512(c + 16)), m);
		return;
	}
	for (i = 0; i < 4; i++) {
		__m512i u = _mm512_set1_epi64((s64)*(const u64 *)home);
		__m256i c = _mm256_loadu_si256((const __m256i *)(j->pats[r->pat] + 8 * i));

		_mm512_mask_storeu_epi64(slot + 64 * i, (__mmask8)(m >> 8 * i), _mm512_add_epi64(u, _mm512_cvtepi32_epi64(c)));
	}
}

void jit_spill(const struct jit *j, const char *p, struct frame *f, u32 live, u32 n, u32 m)
{
	while (n--)
		jit_spill_one(j, p, f, j->lives[live++], m);
}

/*
 * Lane 0's value is x: may code have it? Where a guess is behind what the code takes for granted, the interpreter's values
 * need not obey that.
 */
static bool as_claimed(const struct jit *j, const struct jplace *r, u64 x)
{
	u64 top = r->w ? ~0ull : 0xffffffffu;

	return (!r->sk || x == (r->s & top)) && (r->ual > 63 || !(x & ((1ull << r->ual) - 1) & top)) && (!j->guessed || x <= r->max);
}

/* The other way. False: not what the code was compiled for. */
bool jit_fill(const struct jit *j, char *p, const struct frame *f, u32 v, u32 m)
{
	const struct jplace *r = &j->regs[v];
	const char *slot = f->base[0] + r->slot;
	char *home = p + r->home;
	u32 i, l = (u32)__builtin_ctz(m);

	if (r->ghost)
		return true;
	if (r->w == 2) {
		u32 x = *(const u32 *)slot;

		if (r->cls == JC_VARY) {
			*(u32 *)home = x;
			return true;
		}
		if ((x & m) && (x & m) != m)
			return false;
		*(u32 *)home = x & m ? ~0u : 0;
		return true;
	}
	if (r->cls == JC_VARY) {
		for (i = 0; i < (r->w ? 4u : 2u); i++)
			_mm512_store_si512(home + 64 * i, _mm512_loadu_si512(slot + 64 * i));
		return true;
	}
	if (!r->w) {
		const s32 *c = j->pats[r->pat];
		u32 x = ((const u32 *)slot)[l] - (u32)c[l];
		__m512i u = _mm512_set1_epi32((int)x);

		for (i = 0; i < 2; i++)
			if (_mm512_mask_cmpneq_epi32_mask((__mmask16)(m >> 16 * i), _mm512_loadu_si512(slot + 64 * i),
							  _mm512_add_epi32(u, _mm512_loadu_si512(c + 16 * i))))
				return false;
		*(u64 *)home = x;
		return as_claimed(j, r, x);
	} else {
		const s32 *c = j->pats[r->pat];
		u64 x = ((const u64 *)slot)[l] - (u64)(s64)c[l];
		__m512i u = _mm512_set1_epi64((s64)x);

		for (i = 0; i < 4; i++) {
			__m512i want = _mm512_add_epi64(u, _mm512_cvtepi32_epi64(_mm256_loadu_si256((const __m256i *)(c + 8 * i))));

			if (_mm512_mask_cmpneq_epi64_mask((__mmask8)(m >> 8 * i), _mm512_loadu_si512(slot + 64 * i), want))
				return false;
		}
		*(u64 *)home = x;
		return as_claimed(j, r, x);
	}
}

/*
 * jit_fill() said no. Where nothing was guessed all that a register can be given obeys what the code takes for granted; so where no lane's
 * value does, none has been given one, and what lies in its slot is another's: any value serves. Liveness finds such registers in kernels whose
 * functions stand in the code once, since each return may be to any of the callers.
 */
bool jit_fill_any(const struct jit *j, char *p, const struct frame *f, u32 v, u32 m)
{
	const struct jplace *r = &j->regs[v];
	const char *slot = f->base[0] + r->slot;
	const s32 *c = j->pats[r->pat];
	u32 k;

	if (j->guessed || r->w == 2 || r->cls == JC_VARY)
		return false;
	for (k = m; k; k &= k - 1) {
		u32 l = (u32)__builtin_ctz(k);
		u64 is = r->w ? ((const u64 *)slot)[l] : ((const u32 *)slot)[l];
		u64 x = r->w ? is - (u64)(s64)c[l] : (u32)is - (u32)c[l];

		if (as_claimed(j, r, x) && (x <= r->max || is <= r->max))
			return false;
	}
	*(u64 *)(p + r->home) = r->sk ? r->s & (r->w ? ~0ull : 0xffffffffu) : 0;
	return true;
}

/* After an interpreted instruction: what it wrote for the lanes e, of whatever class. */
void jit_fill_def(const struct jit *j, char *p, const struct frame *f, u32 v, u32 e)
{
	const struct jplace *r = &j->regs[v];
	const char *slot = f->base[0] + r->slot;
	char *home = p + r->home;
	u32 i, l = (u32)__builtin_ctz(e);

	if (r->ghost)
		return;
	if (r->cls == JC_VARY && r->w == 2)
		*(u32 *)home = (*(u32 *)home & ~e) | (*(const u32 *)slot & e);
	else if (r->cls == JC_VARY && r->w)
		for (i = 0; i < 4; i++)
			_mm512_mask_store_epi64(home + 64 * i, (__mmask8)(e >> 8 * i), _mm512_loadu_si512(slot + 64 * i));
	else if (r->cls == JC_VARY)
		put32(home, _mm512_loadu_si512(slot), _mm512_loadu_si512(slot + 64), e);
	else if (r->w == 2)
		*(u32 *)home = *(const u32 *)slot & e ? ~0u : 0;
	else if (r->w)
		*(u64 *)home = ((const u64 *)slot)[l] - (u64)(s64)j->pats[r->pat][l];
	else
		*(u64 *)home = ((const u32 *)slot)[l] - (u32)j->pats[r->pat][l];
}

#if defined(__clang__)
#pragma clang attribute pop
#endif
