/* SPDX-License-Identifier: MIT */
/*
 * Runs what scalar_text.h has read: one thread until it needs others, then the next; what lanes or threads do together is done
 * when all who take part have come. There are no warps but for that, no masks, no uniform values: what the engine is clever
 * about is not here. Arithmetic is reference.h's.
 */
#ifndef TESTS_PTX_SCALAR_RUN_H
#define TESTS_PTX_SCALAR_RUN_H

#include "scalar_text.h"

/* where spaces lie in the generic one: nothing of the engine's depends on it, or may */
#define SR_SHARED 0x600000000000ull
#define SR_LOCAL 0x610000000000ull
#define SR_CONST 0x620000000000ull
#define SR_FUNC 0x630000000000ull
#define SR_SHARED_BYTES 65536u
#define SR_LOCAL_BYTES 1024u
#define SR_PARAM_BYTES 4096u
#define SR_DEPTH 64
#define SR_THREADS 1024u

enum sr_state { SR_RUN, SR_WARP, SR_BLOCK, SR_DONE };
enum sr_done { SD_NEXT, SD_JUMP, SD_WARP, SD_BLOCK, SD_RET, SD_FAIL };

struct sr_frame {
	uint64_t reg[ST_REGS];
	unsigned char local[SR_LOCAL_BYTES], param[SR_PARAM_BYTES];
	unsigned carry;
};

struct sr_thread {
	struct sr_frame f;
	int pc;
	enum sr_state state;
	uint32_t tid[3], lin;
};

struct sr_memory { uint64_t at, bytes; unsigned char *host; };

struct sr {
	struct st_program *p;
	struct sr_memory mem[5];
	uint32_t grid[2], block[3], ctaid[2];
	struct sr_thread *t;
	uint32_t n;
	unsigned char shared[SR_SHARED_BYTES];
	uint64_t steps, most;
	unsigned flush, edge;           /* results that round up to the smallest normal number are flushed; there were some (SR_EDGE_*) */
	char why[128];
};

enum { SR_EDGE_F16 = 1, SR_EDGE_F32 = 2, SR_EDGES = 4 };

static int sr_fail(struct sr *r, const char *what, const char *name)
{
	if (!r->why[0])
		snprintf(r->why, sizeof(r->why), "%s %.60s", what, name);
	return SD_FAIL;
}

static uint64_t sr_get(const struct st_func *f, const struct sr_frame *fr, const struct st_opnd *o)
{
	uint64_t v = 0;

	switch (o->kind) {
	case SO_REG: v = fr->reg[o->reg]; break;
	case SO_IMM: v = (uint64_t)o->imm; break;
	case SO_VAR: v = f->var[o->reg].at + (f->var[o->reg].space == 'c' ? SR_CONST : 0); break;
	case SO_FUNC: v = SR_FUNC + (uint64_t)o->reg; break;
	default: break;
	}
	return o->neg ? !v : v;
}

static void sr_set(const struct st_func *f, struct sr_frame *fr, int reg, uint64_t v)
{
	if (reg >= 0)
		fr->reg[reg] = v & mask_of((unsigned)f->reg[reg].bits);
}

static uint64_t sr_elem(const struct st_func *f, const struct sr_frame *fr, int e)
{
	return e >= 0 ? fr->reg[e] : f->konst[-2 - e];
}

/* Host memory behind an address; NULL: there is none. */
static unsigned char *sr_at(struct sr *r, struct sr_frame *fr, char space, uint64_t a, uint64_t bytes)
{
	if (space == 'g' && a >= SR_SHARED && a < SR_SHARED + SR_SHARED_BYTES) {
		space = 's';
		a -= SR_SHARED;
	} else if (space == 'g' && a >= SR_LOCAL && a < SR_LOCAL + SR_LOCAL_BYTES) {
		space = 'l';
		a -= SR_LOCAL;
	}
	if (space == 's')
		return a + bytes <= SR_SHARED_BYTES ? r->shared + a : NULL;
	if (space == 'l')
		return a + bytes <= SR_LOCAL_BYTES ? fr->local + a : NULL;
	if (space == 'c')
		return a - SR_CONST + bytes <= 64 ? (unsigned char *)r->p->tab + (a - SR_CONST) : NULL;
	for (int i = 0; i < 5; i++)
		if (a >= r->mem[i].at && a + bytes <= r->mem[i].at + r->mem[i].bytes)
			return r->mem[i].host + (a - r->mem[i].at);
	return NULL;
}

static unsigned char *sr_place(struct sr *r, const struct st_func *f, struct sr_frame *fr, const struct st_insn *in,
			       const struct st_opnd *o, uint64_t bytes)
{
	const struct insn *m = &in->ref;
	char space = has(m, "shared") ? 's' : has(m, "local") ? 'l' : has(m, "const") ? 'c' : has(m, "param") ? 'p' : 'g';
	uint64_t a;

	if (o->n && f->var[o->reg].space == 'p') {
		a = f->var[o->reg].at + (uint64_t)o->imm;
		return a + bytes <= SR_PARAM_BYTES ? fr->param + a : NULL;
	}
	if (o->n)
		a = f->var[o->reg].at + (uint64_t)o->imm + (space == 'c' ? SR_CONST : 0);
	else
		a = fr->reg[o->reg] + (uint64_t)o->imm;
	if (!o->n && f->reg[o->reg].bits == 32)
		a = (uint32_t)a;
	return sr_at(r, fr, space, a, bytes);
}

static int sr_memory_op(struct sr *r, const struct st_func *f, struct sr_frame *fr, const struct st_insn *in)
{
	const struct insn *m = &in->ref;
	int load = is(m, "ld"), count = has(m, "v4") ? 4 : has(m, "v2") ? 2 : 1;
	const struct st_opnd *vec = &in->o[load ? 0 : 1], *at = &in->o[load ? 1 : 0];
	struct rtype t = m->t[0];
	unsigned bytes = t.bits / 8;
	unsigned char *host = sr_place(r, f, fr, in, at, (uint64_t)bytes * (unsigned)count);
	uint64_t v[4];

	if (!host)
		return sr_fail(r, "address", m->text);
	for (int i = 0; i < count; i++) {
		v[i] = 0;
		if (load)
			memcpy(&v[i], host + (unsigned)i * bytes, bytes);
		else
			v[i] = count == 1 ? sr_get(f, fr, vec) : sr_elem(f, fr, vec->elem[i]);
		if (!load)
			memcpy(host + (unsigned)i * bytes, &v[i], bytes);
		else if (t.kind == 's')
			v[i] = (uint64_t)sext(v[i], t.bits);
	}
	for (int i = 0; load && i < count; i++)
		sr_set(f, fr, count == 1 ? vec->reg : vec->elem[i], v[i]);
	return SD_NEXT;
}

static int sr_arith(struct sr *r, const struct insn *m, const uint64_t *s, uint64_t *d, struct rtype t);

static int sr_atomic(struct sr *r, const struct st_func *f, struct sr_frame *fr, const struct st_insn *in)
{
	const struct insn *m = &in->ref;
	int red = is(m, "red"), k = !red;
	struct rtype t = m->t[0];
	unsigned bytes = t.bits / 8;
	unsigned char *host = sr_place(r, f, fr, in, &in->o[k], bytes);
	uint64_t old = 0, v, c = 0, b = sr_get(f, fr, &in->o[k + 1]) & mask_of(t.bits);

	if (!host)
		return sr_fail(r, "address", m->text);
	memcpy(&old, host, bytes);
	if (in->no > k + 2)
		c = sr_get(f, fr, &in->o[k + 2]) & mask_of(t.bits);
	if (has(m, "exch"))
		v = b;
	else if (has(m, "cas"))
		v = old == b ? c : old;
	else if (has(m, "inc"))
		v = old >= b ? 0 : old + 1;
	else if (has(m, "dec"))
		v = old == 0 || old > b ? b : old - 1;
	else {
		static const char *const ops[] = { "add", "min", "max", "and", "or", "xor" };
		struct insn op;
		char text[32];
		/* sums of .f32 flush in global memory, and do not in shared memory (9.7.13.5) */
		int flush = t.kind == 'f' && t.bits == 32 && !(host >= r->shared && host < r->shared + SR_SHARED_BYTES);

		text[0] = 0;
		for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
			if (has(m, ops[i]))
				snprintf(text, sizeof(text), "%s%s.%s", ops[i], flush ? ".ftz" : "", m->tok[m->ntok - 1]);
		if (!text[0] || split(&op, text) || describe(&op) || sr_arith(r, &op, (uint64_t[]){ old, b, 0, 0, 0 }, &v, t))
			return sr_fail(r, "atomic", m->text);
	}
	memcpy(host, &v, bytes);
	if (!red)
		sr_set(f, fr, in->o[0].reg, old);
	return SD_NEXT;
}

/*
 * NaNs of .f16 and .f32 are all one, as NVIDIA's devices have it; of the sign bit's operations the ISA leaves it open, and the
 * engine changes that bit alone.
 *
 * .ftz makes subnormal results zero (PTX ISA 9.7.3); whether one is subnormal that lies below the smallest normal number and is
 * rounded up to it, ISA and guides leave open (IEEE 754 7.5 has both for its underflow), and processors differ: x86 flushes what
 * is below when rounded to 24 bits of any exponent, ARM what is before rounding. A run takes one of the two throughout, `flush`.
 */
static uint64_t sr_value(struct sr *r, const struct insn *m, const struct result *x, unsigned bits, uint64_t source)
{
	uint64_t sign = 1ull << (bits - 1);

	if (x->mode == R_ANY || x->mode == R_BOUND)
		sr_fail(r, "open", m->text);
	if (x->mode == R_NAN && (is(m, "neg") || is(m, "abs")))
		return (is(m, "neg") ? source ^ sign : source & ~sign) & mask_of(bits);
	if (x->mode == R_NAN)
		return bits == 16 ? 0x7fff : bits == 32 ? 0x7fffffff : 0x7ff8000000000000ull;
	if (has(m, "ftz") && !(x->alt & ~sign) && (x->bits & ~sign) == (bits == 16 ? 0x400u : 0x800000u)) {
		unsigned edge = bits == 16 ? SR_EDGE_F16 : SR_EDGE_F32;

		r->edge |= edge;
		return (r->flush & edge ? x->alt : x->bits) & mask_of(bits);
	}
	return x->bits & mask_of(bits);
}

/* One instruction of reference.h's with one result. 0, or not. */
static int sr_arith(struct sr *r, const struct insn *m, const uint64_t *s, uint64_t *d, struct rtype t)
{
	struct result x[2];
	struct rtype last = m->t[m->nt - 1];

	if (evaluate(m, s, x))
		return -1;
	if (strchr("hO", t.kind) && t.bits == 32 && !is(m, "cvt") && !is(m, "set") && strchr("hO", last.kind))
		*d = sr_value(r, m, &x[0], 16, s[0]) | sr_value(r, m, &x[1], 16, s[0] >> 16) << 16;
	else
		*d = sr_value(r, m, &x[0], t.bits, s[0]);
	return r->why[0] != 0;
}

/* CC.CF: a subtraction is an addition of the complement, so "no borrow" is a carry (9.7.2) */
static int sr_carry(const struct st_func *f, struct sr_frame *fr, const struct st_insn *in)
{
	const struct insn *m = &in->ref;
	struct rtype t = m->t[0];
	uint64_t mask = mask_of(t.bits), a = sr_get(f, fr, &in->o[1]) & mask, b = sr_get(f, fr, &in->o[2]) & mask;
	int takes = !strcmp(m->tok[0], "addc") || !strcmp(m->tok[0], "subc") || !strcmp(m->tok[0], "madc");
	unsigned c = takes ? fr->carry : m->tok[0][0] == 's';
	u128 sum;

	if (m->tok[0][0] == 'm') {
		u128 product = (u128)number(a, t) * (u128)number(b, t);

		a = (uint64_t)(has(m, "hi") ? product >> t.bits : product) & mask;
		b = sr_get(f, fr, &in->o[3]) & mask;
	}
	sum = (u128)a + (m->tok[0][0] == 's' ? ~b & mask : b) + c;
	sr_set(f, fr, in->o[0].reg, (uint64_t)sum & mask);
	if (has(m, "cc"))
		fr->carry = (unsigned)(sum >> t.bits) & 1;
	return SD_NEXT;
}

static int sr_mov(const struct sr *r, const struct sr_thread *t, const struct st_func *f, struct sr_frame *fr, const struct st_insn *in)
{
	const struct st_opnd *d = &in->o[0], *s = &in->o[1];
	unsigned bits = in->ref.t[0].bits;
	uint64_t v = 0;

	if (s->kind == SO_SINK) {
		uint32_t lane = t->lin % 32;
		uint64_t special[] = { t->tid[0], t->tid[1], t->tid[2], r->block[0], r->block[1], r->block[2], r->ctaid[0], r->ctaid[1],
				       r->grid[0], r->grid[1], lane, (1u << lane) - 1, ~((1u << lane) - 1) };

		v = special[s->imm - 1];
	} else if (s->kind == SO_VEC) {
		for (int i = 0; i < s->n; i++)
			v |= (sr_elem(f, fr, s->elem[i]) & mask_of(bits / (unsigned)s->n)) << (bits / (unsigned)s->n * (unsigned)i);
	} else {
		v = sr_get(f, fr, s);
	}
	if (d->kind == SO_VEC) {
		for (int i = 0; i < d->n; i++)
			sr_set(f, fr, d->elem[i], v >> (bits / (unsigned)d->n * (unsigned)i) & mask_of(bits / (unsigned)d->n));
		return SD_NEXT;
	}
	sr_set(f, fr, d->reg, v);
	return SD_NEXT;
}

static int sr_function(struct sr *r, struct sr_thread *t, int no, struct sr_frame *fr, int depth);

static int sr_call(struct sr *r, struct sr_thread *t, const struct st_func *f, struct sr_frame *fr, const struct st_insn *in, int depth)
{
	int no = in->callee >= 0 ? in->callee : (int)(fr->reg[in->o[0].reg] - SR_FUNC);
	const struct st_func *g;
	struct sr_frame *inner;
	const int *list = f->list + in->from;
	int done;

	if (no < 0 || no >= r->p->nfuncs || depth == SR_DEPTH || in->rets != 1 || in->nargs != r->p->func[no].nin)
		return sr_fail(r, "call", "");
	g = &r->p->func[no];
	inner = calloc(1, sizeof(*inner));
	if (!inner)
		return sr_fail(r, "memory", "");
	for (int i = 0; i < in->nargs; i++) {
		int from = list[1 + i], to = g->in[i];

		if (from >= 0 && to >= 0)
			memcpy(inner->param + g->var[to].at, fr->param + f->var[from].at, g->var[to].bytes);
		else if (from < 0 && to < 0)
			inner->reg[-1 - to] = fr->reg[-1 - from];
	}
	done = sr_function(r, t, no, inner, depth + 1);
	if (list[0] >= 0)
		memcpy(fr->param + f->var[list[0]].at, inner->param + g->var[g->out].at, g->var[g->out].bytes);
	else
		sr_set(f, fr, -1 - list[0], inner->reg[-1 - g->out]);
	free(inner);
	return done == SD_RET ? SD_NEXT : SD_FAIL;
}

/* One instruction of a thread. Where others take part: not done, but said so. */
static int sr_step(struct sr *r, struct sr_thread *t, const struct st_func *f, struct sr_frame *fr, int *pc, int depth)
{
	const struct st_insn *in = &f->code[*pc];
	const struct insn *m = &in->ref;
	const char *op = m->tok[0];
	uint64_t s[5] = { 0 }, v;
	int k;

	if (++r->steps > r->most)
		return sr_fail(r, "long", "");
	if (in->guard >= 0 && (int)fr->reg[in->guard] == in->gneg)
		return SD_NEXT;
	if (!strcmp(op, "bra")) {
		*pc = f->label[in->o[0].reg].at;
		return SD_JUMP;
	}
	if (!strcmp(op, "brx")) {
		const struct st_insn *ways = &f->code[f->label[in->o[1].reg].at];

		v = fr->reg[in->o[0].reg];
		if (v >= (uint64_t)ways->nways)
			return sr_fail(r, "brx", "");
		*pc = f->label[ways->ways[v]].at;
		return SD_JUMP;
	}
	if (!strcmp(op, "ret") || !strcmp(op, "exit"))
		return SD_RET;
	if (!strcmp(op, "call"))
		return sr_call(r, t, f, fr, in, depth);
	if (!strcmp(op, "ld") || !strcmp(op, "st"))
		return sr_memory_op(r, f, fr, in);
	if (!strcmp(op, "atom") || !strcmp(op, "red"))
		return sr_atomic(r, f, fr, in);
	if (!strcmp(op, "cp")) {
		unsigned char *to, *from;
		uint64_t bytes = (uint64_t)in->o[2].imm;

		if (in->no < 3)
			return SD_NEXT;         /* commit, wait: done at once */
		to = r->shared + ((uint32_t)fr->reg[in->o[0].reg] + (uint64_t)in->o[0].imm) % (SR_SHARED_BYTES - 16);
		from = sr_at(r, fr, 'g', fr->reg[in->o[1].reg] + (uint64_t)in->o[1].imm, bytes);
		if (!from)
			return sr_fail(r, "address", m->text);
		memcpy(to, from, bytes);
		return SD_NEXT;
	}
	if (!strcmp(op, "nop"))
		return SD_NEXT;
	if (!strcmp(op, "bar") || !strcmp(op, "barrier"))
		return SD_BLOCK;
	if (one_of(op, "shfl vote match redux movmatrix") || (is(m, "mma") && has(m, "m8n8k16") && has(m, "row")))
		return SD_WARP;
	if (!strcmp(op, "mov"))
		return sr_mov(r, t, f, fr, in);
	if (!strcmp(op, "cvta")) {
		v = sr_get(f, fr, &in->o[1]) + (has(m, "to") ? 0 : has(m, "shared") ? SR_SHARED : has(m, "local") ? SR_LOCAL : 0);
		sr_set(f, fr, in->o[0].reg, v);
		return SD_NEXT;
	}
	if (has(m, "cc") || one_of(op, "addc subc madc"))
		return sr_carry(f, fr, in);
	if (!in->known || in->no - 1 < m->ns || m->ns > 5)
		return sr_fail(r, "unknown", m->text);
	for (k = 0; k < m->ns; k++)
		s[k] = sr_get(f, fr, &in->o[k + 1]);
	if (is(m, "setp")) {
		struct result x[2];

		if (evaluate(m, s, x))
			return sr_fail(r, "unknown", m->text);
		if (in->o[0].kind == SO_VEC)
			sr_set(f, fr, in->o[0].elem[1], x[1].bits);
		sr_set(f, fr, in->o[0].kind == SO_VEC ? in->o[0].elem[0] : in->o[0].reg, x[0].bits);
		return SD_NEXT;
	}
	if (sr_arith(r, m, s, &v, m->d[0]))
		return sr_fail(r, "unknown", m->text);
	if (m->d[0].kind == 's')        /* a wider register has the sign */
		v = (uint64_t)sext(v, m->d[0].bits);
	sr_set(f, fr, in->o[0].reg, v);
	return SD_NEXT;
}

static int sr_function(struct sr *r, struct sr_thread *t, int no, struct sr_frame *fr, int depth)
{
	const struct st_func *f = &r->p->func[no];
	int pc = 0;

	while (pc < f->n) {
		int done = sr_step(r, t, f, fr, &pc, depth);

		if (done == SD_NEXT)
			pc++;
		else if (done != SD_JUMP)
			return done == SD_RET ? SD_RET : sr_fail(r, "function", "");
	}
	return SD_RET;
}

/* ---- threads together --------------------------------------------------------------------------- */

/* Whole warps. Who has which element: 9.7.14.5.9 (mma.m8n8k16), 9.7.14.5.16 (movmatrix) */
static int sr_matrix(struct sr *r, const struct st_func *f, const struct st_insn *in, const uint32_t *who, unsigned n)
{
	const struct insn *m = &in->ref;
	uint32_t x[4][32], d[2][32];

	if (n != 32)
		return sr_fail(r, "matrix", "of some lanes");
	for (unsigned l = 0; l < 32; l++)
		for (unsigned k = 0; k < 4; k++) {
			const struct st_opnd *o = &in->o[k < 2 ? 1 + k : 3];
			const struct sr_frame *fr = &r->t[who[l]].f;

			if (is(m, "movmatrix"))
				o = &in->o[1];
			x[k][l] = (uint32_t)(o->kind == SO_VEC ? sr_elem(f, fr, o->elem[k < 2 ? 0 : k - 2]) : sr_get(f, fr, o));
		}
	for (unsigned l = 0; l < 32; l++)
		for (unsigned i = 0; i < 2; i++) {
			unsigned row = l / 4, col = l % 4 * 2 + i;
			uint32_t sum = x[2 + i][l];

			if (is(m, "movmatrix")) {
				sum = x[0][col * 4 + row / 2] >> 16 * (row & 1) & 0xffff;
				d[0][l] = i ? d[0][l] | sum << 16 : sum;
				continue;
			}
			for (unsigned k = 0; k < 16; k++) {
				uint64_t a = x[0][row * 4 + k / 4] >> 8 * (k % 4) & 255, b = x[1][col * 4 + k / 4] >> 8 * (k % 4) & 255;

				a = m->tok[7][0] == 's' ? (uint64_t)sext(a, 8) : a;
				b = m->tok[8][0] == 's' ? (uint64_t)sext(b, 8) : b;
				sum += (uint32_t)(a * b);
			}
			d[i][l] = sum;
		}
	for (unsigned l = 0; l < 32; l++) {
		struct sr_thread *t = &r->t[who[l]];

		for (int i = 0; i < (in->o[0].kind == SO_VEC ? in->o[0].n : 1); i++)
			sr_set(f, &t->f, in->o[0].kind == SO_VEC ? in->o[0].elem[i] : in->o[0].reg, d[i][l]);
		t->pc++;
		t->state = SR_RUN;
	}
	return SD_NEXT;
}

/* The threads `who` (indices, n of them: some lanes of one warp) do the instruction that they stand at. */
static int sr_together(struct sr *r, const struct st_func *f, const struct st_insn *in, const uint32_t *who, unsigned n)
{
	const struct insn *m = &in->ref;
	uint64_t a[32], d[32] = { 0 }, p[32] = { 0 };
	uint32_t lane[32];
	const struct st_opnd *src = &in->o[1], *dst = &in->o[0];

	for (unsigned i = 0; i < n; i++) {
		a[i] = sr_get(f, &r->t[who[i]].f, src);
		lane[i] = r->t[who[i]].lin % 32;
	}
	for (unsigned i = 0; i < n; i++) {
		const struct sr_frame *fr = &r->t[who[i]].f;

		if (is(m, "shfl")) {
			uint32_t b = (uint32_t)sr_get(f, fr, &in->o[2]) & 31, c = (uint32_t)sr_get(f, fr, &in->o[3]), seg = c >> 8 & 31, clamp = c & 31;
			uint32_t l = lane[i], max = (l & seg) | (clamp & ~seg), j;
			int ok;

			/* 9.7.9.6 */
			if (has(m, "up"))
				j = l - b, ok = (int32_t)j >= (int32_t)max;
			else if (has(m, "down"))
				j = l + b, ok = (int32_t)j <= (int32_t)max;
			else if (has(m, "bfly"))
				j = l ^ b, ok = (int32_t)j <= (int32_t)max;
			else
				j = (l & seg) | (b & ~seg), ok = (int32_t)j <= (int32_t)max;
			if (!ok)
				j = l;
			/* of a lane that is not here: undefined in the ISA, 0 on NVIDIA's devices */
			d[i] = 0;
			for (unsigned k = 0; k < n; k++)
				if (lane[k] == j)
					d[i] = a[k];
			p[i] = (uint64_t)ok;
			continue;
		}
		if (is(m, "redux")) {
			static const char *const ops[] = { "add", "min", "max", "and", "or", "xor" };
			char text[32] = "";
			struct insn op;

			for (unsigned k = 0; k < 6; k++)
				if (has(m, ops[k]))
					snprintf(text, sizeof(text), "%s.%s", ops[k], m->tok[m->ntok - 1]);
			if (split(&op, text) || describe(&op))
				return sr_fail(r, "redux", text);
			d[i] = a[0];
			for (unsigned k = 1; k < n; k++)
				if (sr_arith(r, &op, (uint64_t[]){ d[i], a[k], 0, 0, 0 }, &d[i], m->t[0]))
					return sr_fail(r, "redux", text);
			continue;
		}
		for (unsigned k = 0; k < n; k++)
			d[i] |= (uint64_t)(is(m, "vote") ? a[k] & 1 : a[k] == a[i]) << lane[k];
		if (is(m, "match")) {
			int all = 1;

			for (unsigned k = 0; k < n; k++)
				all &= a[k] == a[0];
			p[i] = (uint64_t)all;
			if (has(m, "all"))
				d[i] = all ? d[i] : 0;
		} else if (!has(m, "ballot")) {
			unsigned yes = (unsigned)__builtin_popcountll(d[i]);

			d[i] = has(m, "any") ? yes != 0 : has(m, "all") ? yes == n : yes == 0 || yes == n;
		}
	}
	for (unsigned i = 0; i < n; i++) {
		struct sr_thread *t = &r->t[who[i]];

		sr_set(f, &t->f, dst->kind == SO_VEC ? dst->elem[0] : dst->reg, d[i]);
		if (dst->kind == SO_VEC)
			sr_set(f, &t->f, dst->elem[1], p[i]);
		t->pc++;
		t->state = SR_RUN;
	}
	return SD_NEXT;
}

/* Lanes of the warp from thread `first` on that have all come where they meet. 1: some went on. */
static int sr_warp(struct sr *r, const struct st_func *f, uint32_t first)
{
	uint32_t end = first + 32 < r->n ? first + 32 : r->n;

	for (uint32_t i = first; i < end; i++) {
		const struct st_insn *in = &f->code[r->t[i].pc];
		uint32_t mask, who[32];
		unsigned n = 0;
		int all = 1, whole;

		if (r->t[i].state != SR_WARP)
			continue;
		whole = one_of(in->ref.tok[0], "mma movmatrix");
		mask = whole ? ~0u : (uint32_t)sr_get(f, &r->t[i].f, &in->o[in->no - 1]);
		for (uint32_t k = first; k < end; k++) {
			if (!(mask >> (k - first) & 1) || r->t[k].state == SR_DONE)
				continue;
			all &= r->t[k].state == SR_WARP && r->t[k].pc == r->t[i].pc;
			who[n++] = k;
		}
		if (all)
			return (whole ? sr_matrix : sr_together)(r, f, in, who, n) == SD_NEXT ? 1 : -1;
	}
	return 0;
}

/* All threads that are left are at a barrier. */
static int sr_barrier(struct sr *r, const struct st_func *f)
{
	unsigned yes = 0, n = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		const struct st_insn *in = &f->code[r->t[i].pc];

		if (r->t[i].state == SR_DONE)
			continue;
		if (r->t[i].state != SR_BLOCK)
			return 0;
		n++;
		if (has(&in->ref, "red"))
			yes += sr_get(f, &r->t[i].f, &in->o[in->no - 1]) & 1;
	}
	for (uint32_t i = 0; i < r->n; i++) {
		struct sr_thread *t = &r->t[i];
		const struct st_insn *in = &f->code[t->pc];

		if (t->state != SR_BLOCK)
			continue;
		if (has(&in->ref, "red"))
			sr_set(f, &t->f, in->o[0].reg, has(&in->ref, "popc") ? yes : has(&in->ref, "and") ? yes == n : yes != 0);
		t->pc++;
		t->state = SR_RUN;
	}
	return n != 0;
}

static int sr_block(struct sr *r, const unsigned char *args, size_t bytes)
{
	const struct st_func *f = &r->p->func[r->p->kernel];
	int more = 1;

	r->n = r->block[0] * r->block[1] * r->block[2];
	memset(r->t, 0, r->n * sizeof(*r->t));
	memset(r->shared, 0, sizeof(r->shared));
	for (uint32_t i = 0; i < r->n; i++) {
		struct sr_thread *t = &r->t[i];

		t->lin = i;
		t->tid[0] = i % r->block[0];
		t->tid[1] = i / r->block[0] % r->block[1];
		t->tid[2] = i / r->block[0] / r->block[1];
		memcpy(t->f.param, args, bytes);
	}
	while (more) {
		more = 0;
		for (uint32_t i = 0; i < r->n; i++) {
			struct sr_thread *t = &r->t[i];

			while (t->state == SR_RUN) {
				int done = sr_step(r, t, f, &t->f, &t->pc, 0);

				more = 1;
				if (done == SD_FAIL)
					return -1;
				if (done == SD_NEXT)
					t->pc++;
				else if (done == SD_WARP || done == SD_BLOCK)
					t->state = done == SD_WARP ? SR_WARP : SR_BLOCK;
				else if (done == SD_RET)
					t->state = SR_DONE;
			}
		}
		for (uint32_t i = 0; i < r->n; i += 32) {
			int went = sr_warp(r, f, i);

			if (went < 0)
				return -1;
			more |= went;
		}
		if (!more)
			more = sr_barrier(r, f);
	}
	for (uint32_t i = 0; i < r->n; i++)
		if (r->t[i].state != SR_DONE)
			return sr_fail(r, "stuck", f->code[r->t[i].pc].ref.text), -1;
	return 0;
}

/* All blocks of a grid, one after the other. 0: memory is as they leave it; -1: r->why says why nothing can be said. */
static int sr_grid(struct sr *r, const void *args, size_t bytes)
{
	int err = 0;

	r->t = calloc(r->block[0] * r->block[1] * r->block[2], sizeof(*r->t));
	if (!r->t)
		return sr_fail(r, "memory", ""), -1;
	for (uint32_t y = 0; !err && y < r->grid[1]; y++)
		for (uint32_t x = 0; !err && x < r->grid[0]; x++) {
			r->ctaid[0] = x;
			r->ctaid[1] = y;
			err = sr_block(r, args, bytes);
		}
	free(r->t);
	return err;
}

#endif
