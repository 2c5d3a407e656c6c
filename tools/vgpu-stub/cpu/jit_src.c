/* SPDX-License-Identifier: MIT */
/*
 * What the JIT starts from: memory for code, the code with virtual registers that cfg.c hands over, and
 * what is alive before every instruction of it. Called by cfg.c, engine.c and jit.c.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jit.h"
#include "lanes.h"

#define MAX_LIVE_WORDS (24u << 20)      /* of liveness before every instruction; larger functions are interpreted */

/* ---- the arena for code: one memory, a view to write and one to run ------------------------ */

/* vcvtph2ps and its like, which every processor with AVX2 has; __builtin_cpu_supports() of clang 14 has no name for it. */
static bool have_f16c(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}

int jit_open(struct engine *e)
{
	u64 n = e->env.code_bytes;
	void *rw, *rx;
	int fd;

	if (!n || e->lanes == &lanes_base || !have_f16c())
		return -1;
	fd = e->env.code_fd ? dup(e->env.code_fd) : memfd_create("vgpu-jit", MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	if (!e->env.code_fd && ftruncate(fd, (off_t)n) < 0) {
		close(fd);
		return -1;
	}
	rw = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	rx = mmap(NULL, n, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	close(fd);
	if (rw == MAP_FAILED || rx == MAP_FAILED) {
		if (rw != MAP_FAILED)
			munmap(rw, n);
		if (rx != MAP_FAILED)
			munmap(rx, n);
		return -1;
	}
	e->code_rw = rw;
	e->code_rx = rx;
	e->code_used = 0;
	return 0;
}

void jit_close(struct engine *e)
{
	if (!e->code_rw)
		return;
	munmap(e->code_rw, e->env.code_bytes);
	munmap(e->code_rx, e->env.code_bytes);
	free(e->code_free);
	e->code_rw = e->code_rx = NULL;
}

/* Room for so many bytes of code, from where it fits first; ~0: none. On the dispatcher's thread, like what follows. */
/* A worker compiles too, when a guess was wrong (strip/run.c). */
static pthread_mutex_t room = PTHREAD_MUTEX_INITIALIZER;

static u64 take(struct engine *e, u64 bytes)
{
	u64 at;
	u32 i;

	bytes = (bytes + 63) & ~63ull;
	for (i = 0; i < e->ncode_free; i++) {
		struct range *r = &e->code_free[i];

		if (r->end - r->at < bytes)
			continue;
		at = r->at;
		r->at += bytes;
		if (r->at == r->end)
			memmove(r, r + 1, (--e->ncode_free - i) * sizeof(*r));
		return at;
	}
	if (bytes > e->env.code_bytes - e->code_used)
		return ~0ull;
	at = e->code_used;
	e->code_used += bytes;
	return at;
}

u64 jit_code_take(struct engine *e, u64 bytes)
{
	u64 at;

	pthread_mutex_lock(&room);
	at = take(e, bytes);
	pthread_mutex_unlock(&room);
	return at;
}

/*
 * Finished code and its literals, at the place taken for them; where it runs. Each page is read once where it runs: a masked load whose lanes
 * are all off does not fault, so that a page of literals which only such loads reach would stay unmapped, and the processor takes
 * hundreds of cycles for each (a kernel took ten times as long for where its literals lay).
 */
u8 *jit_code_put(struct engine *e, u64 at, const struct as *a)
{
	u64 code = (a->n + 63) & ~63u, end = at + code + (u64)a->nlit * 64, page;

	memcpy(e->code_rw + at, a->p, a->n);
	if (a->nlit)
		memcpy(e->code_rw + at + code, a->lit, (size_t)a->nlit * 64);
	for (page = at & ~4095ull; page < end; page += 4096)
		(void)*(volatile const u8 *)(e->code_rx + page);
	return e->code_rx + at;
}

static void give(struct engine *e, u64 at, u64 bytes)
{
	u64 end = at + ((bytes + 63) & ~63ull);
	struct range *r;
	u32 i;

	for (i = 0; i < e->ncode_free && e->code_free[i].at < at; i++)
		;
	r = i ? e->code_free + i : e->code_free;     /* which may be NULL */
	if (i && r[-1].end == at) {
		r[-1].end = end;
		if (i < e->ncode_free && r->at == end) {
			r[-1].end = r->end;
			memmove(r, r + 1, (--e->ncode_free - i) * sizeof(*r));
		}
	} else if (i < e->ncode_free && r->at == end) {
		r->at = at;
	} else {
		r = xgrow(e->code_free, &e->code_free_cap, e->ncode_free + 1, sizeof(*r));
		if (!r)
			return;         /* lost until the engine is closed */
		e->code_free = r;
		memmove(r + i + 1, r + i, (e->ncode_free++ - i) * sizeof(*r));
		r[i] = (struct range){ at, end };
	}
	if (e->ncode_free && e->code_free[e->ncode_free - 1].end == e->code_used)
		e->code_used = e->code_free[--e->ncode_free].at;
}

void jit_code_give(struct engine *e, u64 at, u64 bytes)
{
	pthread_mutex_lock(&room);
	give(e, at, bytes);
	pthread_mutex_unlock(&room);
}

/* ---- what cfg.c hands over ---------------------------------------------------------------- */

/* Its result depends on MXCSR; where only the rounding counts, that is to nearest in all we compile. */
static bool cares(const struct insn *in)
{
	if (!in->mxcsr)
		return false;
	if (in->kind == K_SETP)
		return true;
	if (in->kind != K_LANE)
		return false;
	switch (in->lop) {
	case LOP_CVT_F_H: case LOP_CVT_H_F: case LOP_SELP: case LOP_MOV: case LOP_ABS: case LOP_NEG: case LOP_FLUSH:
	case LOP_XTR: case LOP_PACK:
		return false;
	case LOP_CVT_F_S32: case LOP_CVT_F_U32:
		return (in->mxcsr & 0x6000) != 0;
	}
	return true;
}

/* Where registers are made, for jit_names_stay(), if somebody names members by one. */
static bool definitions(struct jit_src *s)
{
	u32 i, k;

	for (i = 0; i < s->n && !(jit_named(&s->code[i]) && s->code[i].o[2] != OPND_NONE && !(s->code[i].o[2] & OPND_CONST)); i++)
		;
	if (i == s->n)
		return true;
	s->def = pool_alloc(&s->pool, (s->nregs + 1) * sizeof(u32));
	if (!s->def)
		return false;
	memset(s->def, 0, s->nregs * sizeof(u32));
	for (i = 0; i < s->n; i++) {
		const struct insn *in = &s->code[i];

		for (k = 0; k < 6; k++)
			if ((in->def >> k & 1) && in->o[k] != OPND_NONE && !(in->o[k] & OPND_CONST))
				s->def[in->o[k]] = s->def[in->o[k]] ? ~0u : i + 1;
		for (k = 0; in->kind == K_CALL && k < in->u.call->nrets; k++)
			if (in->u.call->rets[k].is_reg && in->u.call->rets[k].opnd != OPND_NONE)
				s->def[in->u.call->rets[k].opnd] = ~0u;
	}
	return true;
}

struct jit_src *jit_src_new(const struct insn *code, u32 n, const struct vreg *regs, u32 nregs)
{
	struct jit_src *s = calloc(1, sizeof(*s));
	u32 i, want = 0, flushed = 0, plain = 0;

	if (!s)
		return NULL;
	s->n = n;
	s->nregs = nregs;
	s->words = (nregs + 63) / 64;
	s->code = pool_alloc(&s->pool, (n + 1) * sizeof(*code));
	s->regs = pool_alloc(&s->pool, (nregs + 1) * sizeof(*regs));
	s->slot = pool_alloc(&s->pool, (nregs + 1) * sizeof(u32));
	s->parted = pool_alloc(&s->pool, n + 1);
	s->varies = pool_alloc(&s->pool, (s->words + 1) * sizeof(u64));
	if (!s->code || !s->regs || !s->slot || !s->parted || !s->varies)
		goto fail;
	memcpy(s->code, code, n * sizeof(*code));
	if (nregs)
		memcpy(s->regs, regs, nregs * sizeof(*regs));
	for (i = 0; i < n; i++) {
		struct insn *in = &s->code[i];

		if (cares(in)) {
			want = !want || want == in->mxcsr ? in->mxcsr : ~0u;
			flushed += in->mxcsr == (MXCSR_BASE | MXCSR_FLUSH) && !jit_mode_free(in);
			plain += in->mxcsr == MXCSR_BASE && !jit_mode_free(in);
		}
		if (in->kind == K_CALL) {
			struct callinfo *ci = pool_alloc(&s->pool, sizeof(*ci));
			const struct callinfo *o = in->u.call;

			if (!ci)
				goto fail;
			*ci = *o;
			ci->args = pool_alloc(&s->pool, (o->nargs + 1) * sizeof(*ci->args));
			ci->rets = pool_alloc(&s->pool, (o->nrets + 1) * sizeof(*ci->rets));
			if (!ci->args || !ci->rets)
				goto fail;
			memcpy(ci->args, o->args, o->nargs * sizeof(*ci->args));
			memcpy(ci->rets, o->rets, o->nrets * sizeof(*ci->rets));
			in->u.call = ci;
		}
	}
	if (!definitions(s))
		goto fail;
	/* conversions that ask for nothing round to nearest: other modes are set around what wants them */
	s->mxcsr = !want ? MXCSR_BASE : want & 0x6000 ? ~0u : want;
	s->mxcsr_home = flushed > plain ? MXCSR_BASE | MXCSR_FLUSH : MXCSR_BASE;
	return s;
fail:
	jit_src_free(s);
	return NULL;
}

void jit_src_free(struct jit_src *s)
{
	if (!s)
		return;
	pool_free(&s->pool);
	free(s);
}

/* Liveness before every instruction, from the blocks' sets. */
bool jit_live_sets(struct jcomp *c)
{
	u32 words = c->s->words, b, i, k;

	if ((u64)words * (c->n + 1) > MAX_LIVE_WORDS)
		return false;
	/* the blocks cover the code: every set but the last is written below */
	c->live_at = malloc(((size_t)words * (c->n + 1) + 1) * 8);
	c->live_idx = calloc(2 * (c->n + 1), sizeof(u32));
	if (!c->live_at || !c->live_idx)
		return false;
	memset(c->live_at + (size_t)words * c->n, 0, (words + 1) * sizeof(u64));
#define BIT(set, v) (set)[(v) >> 6] |= 1ull << ((v) & 63)
#define UNBIT(set, v) (set)[(v) >> 6] &= ~(1ull << ((v) & 63))
	for (b = 0; b < c->s->nb; b++) {
		const u64 *next = NULL;

		for (i = c->s->b[b].end; i-- > c->s->b[b].start;) {
			const struct insn *in = &c->code[i];
			u64 *set = c->live_at + (size_t)i * words;

			if (next) {
				memcpy(set, next, words * 8);
			} else {
				memset(set, 0, words * 8);
				spread_set(set, c->s->live_out + (size_t)b * c->s->bwords, c->s->bwords, c->s->border);
			}
			if (in->guard == OPND_NONE) {
				for (k = 0; k < 6; k++)
					if ((in->def >> k & 1) && in->o[k] != OPND_NONE)
						UNBIT(set, in->o[k]);
				if (in->kind == K_CALL)
					for (k = 0; k < in->u.call->nrets; k++)
						if (in->u.call->rets[k].is_reg)
							UNBIT(set, in->u.call->rets[k].opnd);
			}
			for (k = 0; k < 6; k++) {
				bool used = (in->use >> k & 1) || (in->guard != OPND_NONE && (in->def >> k & 1));

				if (used && in->o[k] != OPND_NONE && !(in->o[k] & OPND_CONST))
					BIT(set, in->o[k]);
			}
			if (in->guard != OPND_NONE && !(in->guard & OPND_CONST))
				BIT(set, in->guard);
			if (in->kind == K_CALL) {
				const struct callinfo *ci = in->u.call;

				for (k = 0; k < ci->nargs; k++)
					if (ci->args[k].is_reg && !(ci->args[k].opnd & OPND_CONST))
						BIT(set, ci->args[k].opnd);
				if (in->guard != OPND_NONE)
					for (k = 0; k < ci->nrets; k++)
						if (ci->rets[k].is_reg)
							BIT(set, ci->rets[k].opnd);
			}
			next = set;
		}
	}
	return true;
}

static bool steps(const struct jit_src *s)
{
	bool loads = false, stores = false;
	u32 b, i;

	for (b = 0; b < s->nb; b++)
		for (i = s->b[b].start; i < s->b[b].end; i++) {
			const struct insn *in = &s->code[i];

			switch (in->kind) {
			case K_BAR: case K_WARPSYNC: case K_ATOM: case K_CALL: case K_TENSOR:
				return false;
			case K_LD: case K_ST:
				if (s->b[b].depth < 2 || (in->space != SPACE_GLOBAL && in->space != SPACE_GENERIC))
					break;
				loads |= in->kind == K_LD;
				stores |= in->kind == K_ST;
			}
		}
	return loads && stores;
}

bool jit_widens(const struct insn *in)
{
	return in->kind == K_LANE && (in->lop == LOP_MULWIDE || in->lop == LOP_MADWIDE || in->lop == LOP_CVT_SEXT);
}

bool jit_wrapped(const struct jit_src *s, const struct insn *in)
{
	return jit_widens(in) && in >= s->code && in < s->code + s->n && s->parted[in - s->code] & PARTED_WIDE;
}

bool jit_asks(const struct insn *in)
{
	switch ((enum kind)in->kind) {
	case K_ACTIVEMASK:
		return true;
	case K_SHFL: case K_VOTE: case K_MATCH: case K_REDUX:
		return in->o[2] == OPND_NONE;
	default:
		return false;
	}
}

#define NAMES_DEEP 12u
#define NAMES_STEPS 64u

static bool names_stay(const struct jit_src *s, u32 o, u32 deep, u32 *steps)
{
	const struct insn *in;
	u32 k;

	if (o == OPND_NONE || (o & OPND_CONST))
		return true;
	if (!s->def || s->def[o] == ~0u || deep > NAMES_DEEP || ++*steps > NAMES_STEPS)
		return false;
	if (!s->def[o])
		return true;
	in = &s->code[s->def[o] - 1];
	switch ((enum kind)in->kind) {
	case K_ACTIVEMASK: case K_VOTE: case K_MATCH: case K_SHFL: case K_REDUX: case K_LDPARAM: case K_LADDR:
		return true;
	case K_SREG:
		return in->sub <= SR_NWARPID;
	case K_LANE: case K_SETP: case K_PRED: case K_LOP3: case K_CVT: case K_CVTA:
		break;
	default:
		return false;
	}
	for (k = 0; k < 6; k++)
		if ((in->use >> k & 1) && !names_stay(s, in->o[k], deep + 1, steps))
			return false;
	return names_stay(s, in->guard, deep + 1, steps);
}

bool jit_names_stay(const struct jit_src *s, u32 o)
{
	u32 steps = 0;

	return names_stay(s, o, 0, &steps);
}

static u8 tells(const struct jit_src *s, const struct jblock *b, u32 pc)
{
	u8 r = 0;
	u32 k;

	for (; pc < b->end; pc++) {
		const struct insn *in = &s->code[pc];

		switch (in->kind) {
		case K_ST: case K_ATOM:
			if (in->space == SPACE_SHARED || in->space == SPACE_GENERIC)
				r |= J_TELLS;
			break;
		case K_GEN: case K_CALL:
			r |= J_TELLS;
			break;
		case K_BAR:
			return r;
		default:
			r |= jit_asks(in) ? J_ASKS : 0;
			break;
		}
	}
	for (k = 0; k < b->nsucc; k++)
		r |= s->b[b->succ[k]].tells;
	return r;
}

const struct jblock *jit_src_block(const struct jit_src *s, u32 pc)
{
	u32 lo = 0, hi = s->nb;

	while (hi - lo > 1) {
		u32 mid = (lo + hi) / 2;

		if (s->b[mid].start <= pc)
			lo = mid;
		else
			hi = mid;
	}
	return &s->b[lo];
}

void jit_who_tells(struct jit_src *s)
{
	bool more = !s->told;
	u32 b;
	u8 t;

	while (more) {
		more = false;
		for (b = s->nb; b-- > 0;)
			if (s->b[b].tells != (t = tells(s, &s->b[b], s->b[b].start))) {
				s->b[b].tells = t;
				more = true;
			}
	}
	s->told = true;
}

u8 jit_tells(const struct jit_src *s, u32 pc) { return tells(s, jit_src_block(s, pc), pc); }

void jit_loop_depths(struct jit_src *s)
{
	u32 b, k, i;

	for (b = 0; b < s->nb; b++)
		for (k = 0; k < s->b[b].nsucc; k++)
			if (s->b[b].succ[k] <= b)
				for (i = s->b[b].succ[k]; i <= b; i++)
					s->b[i].depth++;
	s->steps = steps(s);
}

/* Width of source i (1..3) of a lane operation, as in struct vreg. */
u8 jit_src_w(const struct insn *in, u32 i)
{
	u8 w = j_int64(in->type) || in->type == T_F64;

	switch (in->lop) {
	case LOP_SHL: case LOP_SHR: case LOP_BFE: case LOP_XTR:
		return i == 1 ? w : 0;
	case LOP_SELP:
		return i == 3 ? 2 : w;
	case LOP_SLCTS: case LOP_SLCTF:
		return i == 3 ? 0 : w;
	case LOP_MULWIDE: case LOP_CVT_SEXT: case LOP_PACK:
		return 0;
	case LOP_MADWIDE:
		return i == 3 ? in->dw : 0;
	}
	return w;
}
