/* SPDX-License-Identifier: MIT */
/*
 * Atomics and reductions, as mem.c does them: lane by lane, in order, each with one instruction of the processor or a loop
 * around its compare-and-exchange. Addresses (all checked before the first lane begins) and values stand in P. A block has one
 * worker, so its shared memory needs no lock; neither does global memory while nobody else writes it (alone.c). When all lanes reduce into one place by an integer operation, the
 * order is nobody's business: values come together in registers first.
 *
 * A lane that meets a missing page ends the grid; the interpreter does the instruction again for the report, and what
 * lanes before it have added twice then, no program sees. Called by jit.c.
 */
#include "jit_mem.h"
#include "lanes.h"

#define AT_VALUE JA_VALUE
#define AT_OTHER (JP_WIDE + 4 * 64)     /* what compare-and-swap stores */

static struct rm at(struct ja_place p, s32 base)
{
	return p.l < 0 ? rm_idx(RBX, RCX, p.w ? 3 : 2, base) : rm_mem(RBX, base + (p.w ? 8 : 4) * p.l);
}

static struct rm address(struct ja_place p)
{
	return p.l < 0 ? rm_idx(RBX, RCX, 3, JP_LANES) : rm_mem(RBX, JP_LANES + 8 * p.l);
}

void ja_lane(struct as *a)
{
	k_to(a, RCX, 7);
	g_tzcnt(a, RCX, rm_reg(RCX));
}

void ja_next_lane(struct as *a, u32 top)
{
	k_to(a, RDX, 7);
	g_lea(a, 1, RCX, rm_mem(RDX, -1));
	g_alu(a, 0, G_AND, RDX, rm_reg(RCX));
	k_from(a, 7, RDX);
	k_ortest(a, 7, 7);
	g_land(a, g_jcc(a, CC_NE), top);
}

static bool is_float_add(const struct insn *in) { return in->type == T_F32 || in->type == T_F64; }

/* Sums of floats round to nearest; those of .f32 in global memory flush, as in mem.c. */
u32 ja_sum_csr(const struct insn *in)
{
	return in->type == T_F32 && in->space != SPACE_SHARED ? MXCSR_BASE | MXCSR_FLUSH : MXCSR_BASE;
}

/* One instruction with memory serves: no result is wanted, or it is that of xadd or xchg. */
static bool direct(const struct insn *in)
{
	switch (in->sub) {
	case ATOM_ADD: return !is_float_add(in);
	case ATOM_AND: case ATOM_OR: case ATOM_XOR: return in->o[0] == OPND_NONE;
	case ATOM_EXCH: return true;
	}
	return false;
}

static bool known(const struct insn *in)
{
	if (in->size != 4 && in->size != 8)
		return false;
	if (type_is_float(in->type))
		return is_float_add(in) && in->sub == ATOM_ADD;
	switch (in->sub) {
	case ATOM_INC: case ATOM_DEC: return in->size == 4;
	case ATOM_ADD: case ATOM_MIN: case ATOM_MAX: case ATOM_AND: case ATOM_OR: case ATOM_XOR: case ATOM_EXCH: case ATOM_CAS: return true;
	}
	return false;
}

/* Its opcode, of a register and memory, where no result is wanted. */
static u32 opcode(const struct insn *in)
{
	return (in->sub == ATOM_AND ? G_AND : in->sub == ATOM_OR ? G_OR : in->sub == ATOM_XOR ? G_XOR : G_ADD) * 8 + 1;
}

/* An access that may fault, with a lock or without. */
void ja_touch(struct jcomp *c, u32 step, bool lock)
{
	as_room(&c->a, 16);
	j_site(c, step);
	if (lock)
		b1(&c->a, 0xf0);
}

/* rcx = what becomes of rax by the value at v. */
static void apply(struct jcomp *c, const struct insn *in, struct rm v)
{
	struct as *a = &c->a;
	bool sg = type_is_signed(in->type);
	u8 w = in->size == 8;
	u32 op, ok, far, done = 0;

	switch (in->sub) {
	case ATOM_MIN:
	case ATOM_MAX:
		g_load(a, w, RCX, rm_reg(RAX));
		g_alu(a, w, G_CMP, RAX, v);
		op = in->sub == ATOM_MIN ? (sg ? CC_G : CC_A) : sg ? CC_L : CC_B;
		g_cmov(a, w, op, RCX, v);
		return;
	case ATOM_INC:          /* old >= v ? 0 : old + 1 */
		g_lea(a, 0, RCX, rm_mem(RAX, 1));
		g_alu(a, 0, G_CMP, RAX, v);
		g_cmov(a, 0, CC_AE, RCX, rm_lit(j_lit32(c, 0), 0));
		return;
	case ATOM_DEC:          /* old == 0 || old > v ? v : old - 1 */
		g_lea(a, 0, RCX, rm_mem(RAX, -1));
		g_alu(a, 0, G_CMP, RAX, v);
		g_cmov(a, 0, CC_A, RCX, v);
		g_alui(a, 0, G_CMP, rm_reg(RAX), 0);
		g_cmov(a, 0, CC_E, RCX, v);
		return;
	case ATOM_AND:
	case ATOM_OR:
	case ATOM_XOR:
		op = in->sub == ATOM_AND ? G_AND : in->sub == ATOM_OR ? G_OR : G_XOR;
		g_load(a, w, RCX, rm_reg(RAX));
		g_alu(a, w, op, RCX, v);
		return;
	}
	/* a sum of floats: in shared memory subnormals count (the address is in rdx) */
	ev_n(a, V_LL(w ? V_MOVQ : V_MOVD, 0), 0, 0, rm_reg(RAX), 0, 0, 0, in->size, 0);
	if (ja_sum_csr(in) != MXCSR_BASE && in->space == SPACE_GENERIC) {
		g_load(a, 1, RCX, rm_reg(RDX));
		g_alu(a, 1, G_SUB, RCX, PM(shared));
		g_alu(a, 1, G_CMP, RCX, PM(shared_total));
		far = g_jcc(a, CC_AE);
		jit_ldmxcsr(c, MXCSR_BASE);
		ev_n(a, V_LL(V_ADDSS, 0), 0, 0, v, 0, 0, 0, 4, 0);
		jit_ldmxcsr(c, ja_sum_csr(in));
		done = g_jmp(a);
		g_here(a, far);
	}
	ev_n(a, V_LL(w ? V_ADDSD : V_ADDSS, 0), 0, 0, v, 0, 0, 0, in->size, 0);
	if (done)
		g_here(a, done);
	ev_n(a, V_LL(w ? V_MOVQ_ST : V_MOVD_ST, 0), 0, 0, rm_reg(RCX), 0, 0, 0, in->size, 0);
	if (w)
		return;
	ev_n(a, V_LL(V_UCOMISS, 0), 0, 0, rm_reg(0), 0, 0, 0, 4, 0);
	ok = g_jcc(a, CC_NP);
	g_movi(a, RCX, 0x7fffffff);
	g_here(a, ok);
}

/* One lane, whose result takes its value's place. Wants rax, rcx, rdx. */
void ja_one(struct jcomp *c, const struct insn *in, struct ja_place p, u32 step)
{
	struct as *a = &c->a;
	u8 w = in->size == 8;
	bool result = in->o[0] != OPND_NONE;
	struct rm v = at(p, AT_VALUE), mem = rm_mem(RAX, 0);
	u32 again, stays = 0;

	if (direct(in)) {
		g_load(a, 1, RAX, address(p));
		if (!p.same)
			g_load(a, w, RDX, v);
		ja_touch(c, step, p.held && in->sub != ATOM_EXCH); /* xchg locks by itself */
		if (in->sub == ATOM_EXCH)
			g_op(a, w, 0x87, RDX, mem, 0);
		else if (result)
			g_op(a, w, 0x1c1, RDX, mem, 0);         /* xadd */
		else
			g_op(a, w, opcode(in), RDX, mem, 0);
		if (result)
			g_store(a, w, v, RDX);
		return;
	}
	mem = rm_mem(RDX, 0);
	g_load(a, 1, RDX, address(p));
	g_load(a, w, RAX, v);
	if (in->sub == ATOM_CAS) {
		g_load(a, w, RCX, at(p, AT_OTHER));
		ja_touch(c, step, p.held);
		g_op(a, w, 0x1b1, RCX, mem, 0);                 /* cmpxchg */
	} else {
		g_store(a, w, PM(value), RAX);
		ja_touch(c, step, false);
		g_load(a, w, RAX, mem);
		again = a->n;
		apply(c, in, PM(value));
		if (p.held && atom_may_stay(in)) {
			g_alu(a, w, G_CMP, RCX, rm_reg(RAX));
			stays = g_jcc(a, CC_E);
		}
		ja_touch(c, step, p.held);
		if (!p.held) {
			g_store(a, w, mem, RCX);
		} else {
			g_op(a, w, 0x1b1, RCX, mem, 0);
			g_land(a, g_jcc(a, CC_NE), again);
		}
		if (stays)
			g_here(a, stays);
	}
	if (!result)
		return;
	if (p.l < 0)
		ja_lane(a);
	g_store(a, w, v, RAX);
}

/* Sums of floats that nobody else adds to meanwhile, and whose result nobody wants: loads and stores. Subnormals of a generic one are as its memory has them: ja_one(). */
static bool sums_alone(const struct insn *in, bool held)
{
	return !held && in->o[0] == OPND_NONE && in->sub == ATOM_ADD && is_float_add(in) && (in->size == 8 || in->space != SPACE_GENERIC);
}

#define ANY_NAN 1               /* xmm 1 and 2: are not 0 if some sum was NaN, or infinite */
#define SUM_ZERO 4

/* One of them, in xmm 0 or 3. Wants rax. */
static void sum_one(struct jcomp *c, const struct insn *in, struct ja_place p, u32 step, u32 nth)
{
	u32 load = V_LL(p.w ? V_MOVQ : V_MOVD, 0), store = V_LL(p.w ? V_MOVQ_ST : V_MOVD_ST, 0);
	int x = nth & 1 ? 3 : 0;
	struct as *a = &c->a;

	g_load(a, 1, RAX, address(p));
	ja_touch(c, step, false);
	ev_n(a, load, x, 0, rm_mem(RAX, 0), 0, 0, 0, in->size, 0);
	ev_n(a, V_LL(p.w ? V_ADDSD : V_ADDSS, 0), x, x, at(p, AT_VALUE), 0, 0, 0, in->size, 0);
	ja_touch(c, step, false);
	ev_n(a, store, x, 0, rm_mem(RAX, 0), 0, 0, 0, in->size, 0);
	if (!p.w)
		ev_n(a, V_LL(V_FMADD231PS, 0), ANY_NAN + (int)(nth & 1), x, rm_reg(SUM_ZERO), 0, 0, 0, 16, 0);
}

static void sums_begin(struct jcomp *c)
{
	int i;

	for (i = 0; i < 2; i++)
		ev_n(&c->a, V_LL(V_PXORD, 0), ANY_NAN + i, ANY_NAN + i, rm_reg(ANY_NAN + i), 0, 0, 0, 16, 0);
	ev_n(&c->a, V_LL(V_PXORD, 0), SUM_ZERO, SUM_ZERO, rm_reg(SUM_ZERO), 0, 0, 0, 16, 0);
}

/* NaNs are the one that apply() makes: of n lanes, whose number is in P's value if it is not known, the sums are looked at if there may be any. */
static void sums_end(struct jcomp *c, u32 n, u32 step)
{
	struct ja_place p = { .l = -1 };
	u32 none, top, ok, more = 0;
	struct as *a = &c->a;

	ev_n(a, V_LL(V_ADDSS, 0), ANY_NAN, ANY_NAN, rm_reg(ANY_NAN + 1), 0, 0, 0, 4, 0);
	ev_n(a, V_LL(V_UCOMISS, 0), ANY_NAN, 0, rm_reg(ANY_NAN), 0, 0, 0, 4, 0);
	none = g_jcc(a, CC_NP);
	g_movi(a, RCX, 0);
	top = a->n;
	g_load(a, 1, RAX, address(p));
	ja_touch(c, step, false);
	g_load(a, 0, RDX, rm_mem(RAX, 0));
	g_alu(a, 0, G_ADD, RDX, rm_reg(RDX));   /* without its sign */
	g_alui(a, 0, G_CMP, rm_reg(RDX), (s32)0xff000000);
	ok = g_jcc(a, CC_BE);
	g_movi(a, RDX, 0x7fffffff);
	ja_touch(c, step, false);
	g_store(a, 0, rm_mem(RAX, 0), RDX);
	g_here(a, ok);
	g_lea(a, 0, RCX, rm_mem(RCX, 1));
	if (n)
		g_alui(a, 0, G_CMP, rm_reg(RCX), (s32)n);
	else
		g_alu(a, 0, G_CMP, RCX, PM(value));
	more = g_jcc(a, CC_B);
	g_land(a, more, top);
	g_here(a, none);
}

/* edx = the lanes that run */
static void running(struct jcomp *c)
{
	if (c->gk == 1)
		k_to(&c->a, RDX, 5);
	else
		g_load(&c->a, 0, RDX, PM(m));
}

static void count_ones(struct as *a, int r)
{
	as_room(a, 16);
	b1(a, 0xf3);
	g_op(a, 0, 0x1b8, r, rm_reg(r), 0);
}

/*
 * Addresses and values of the lanes in edx, at least one, to the front of their places, in order: a loop over them waits for no mask. same: all values are one, and stay.
 * P's value is how many there are, and rcx 0.
 */
static void side_by_side(struct jcomp *c, const struct insn *in, bool same)
{
	struct as *a = &c->a;
	u8 w = in->size == 8;
	u32 lanes = w ? 8 : 16, q;

	for (q = 0; q < 4 + (same ? 0 : LANES / lanes); q++) {
		u32 first = q < 4 ? 8 * q : lanes * (q - 4);
		bool wide = q < 4 || w;
		s32 from = q < 4 ? JP_LANES : AT_VALUE;

		ev(a, wide ? V_MOVA64 : V_MOVA32, 0, 0, rm_mem(RBX, from + (s32)((wide ? 8 : 4) * first)));
		g_load(a, 0, RCX, rm_reg(RDX));
		g_alui(a, 0, G_AND, rm_reg(RCX), (s32)((1u << first) - 1));
		count_ones(a, RCX);     /* of those before it */
		k_from(a, 7, RDX);
		if (first)
			k_shr(a, 7, 7, first);
		ev_k(a, wide ? V_PCOMPRESSQ : V_PCOMPRESSD, 0, 0, rm_reg(0), 7, 1);
		ev_n(a, wide ? V_MOVU64_ST : V_MOVU32_ST, 0, 0, rm_idx(RBX, RCX, wide ? 3 : 2, from), 0, 0, 0, 64, 0);
	}
	count_ones(a, RDX);
	g_store(a, 0, PM(value), RDX);
	g_movi(a, RCX, 0);
}

/* For each lane that runs, in order; all of them without a loop where that is short. same: their value is one, and no result is wanted */
static void lanes(struct jcomp *c, const struct insn *in, u32 step, bool held, bool same)
{
	struct as *a = &c->a;
	struct ja_place p = { .l = -1, .w = in->size == 8, .held = held };
	u32 some = 0, done = 0, top;
	bool sums = sums_alone(in, held);

	running(c);
	if (direct(in) || sums) {
		g_alui(a, 0, G_CMP, rm_reg(RDX), -1);
		some = g_jcc(a, CC_NE);
		p.same = same;
		if (same && !sums)
			g_load(a, p.w, RDX, rm_mem(RBX, AT_VALUE));
		if (sums)
			sums_begin(c);
		for (p.l = 0; p.l < LANES; p.l++)
			if (sums)
				sum_one(c, in, p, step, (u32)p.l);
			else
				ja_one(c, in, p, step);
		if (sums && !p.w)
			sums_end(c, LANES, step);
		done = g_jmp(a);
		g_here(a, some);
		p.l = -1;
		p.same = false;
	}
	if ((direct(in) && in->o[0] == OPND_NONE) || sums) {
		side_by_side(c, in, same);
		p.same = false;
		if (sums)
			sums_begin(c);
		top = a->n;
		if (sums)
			sum_one(c, in, p, step, 0);
		else
			ja_one(c, in, p, step);
		g_lea(a, 0, RCX, rm_mem(RCX, 1));
		g_alu(a, 0, G_CMP, RCX, PM(value));
		g_land(a, g_jcc(a, CC_B), top);
		if (sums && !p.w)
			sums_end(c, 0, step);
	} else {
		k_from(a, 7, RDX);
		top = a->n;
		ja_lane(a);
		ja_one(c, in, p, step);
		ja_next_lane(a, top);
	}
	if (done)
		g_here(a, done);
}

/*
 * Places in a queue: lanes add one number to one word, and each wants to know what was there before. One addition does it for all; each lane has found what those
 * before it have added, as if they had come one after the other.
 */
static bool ranked(const struct jcomp *c, const struct insn *in)
{
	u32 o = in->o[1];

	return in->o[0] != OPND_NONE && in->sub == ATOM_ADD && !type_is_float(in->type) && jit_val(c, o, in->dw).cls == JC_UNI && ((o & OPND_CONST) || !c->r[o].rawf);
}

static void add_ranked(struct jcomp *c, const struct insn *in, u32 step, bool held)
{
	struct as *a = &c->a;

	running(c);
	count_ones(a, RDX);
	ju_load(c, RCX, in->o[1], in->dw);
	g_imul(a, in->dw, RDX, rm_reg(RCX));
	g_load(a, 1, RAX, rm_mem(RBX, JP_LANES));
	ja_touch(c, step, held);
	g_op(a, in->dw, 0x1c1, RDX, rm_mem(RAX, 0), 0);         /* xadd */
	g_store(a, in->dw, rm_mem(RBX, AT_VALUE), RDX);
}

/* What was there is in lane 0's place: each lane's own, into all. */
static void spread_ranks(struct jcomp *c, const struct insn *in)
{
	u32 lanes = in->dw ? 8 : 16, p;
	struct as *a = &c->a;
	u64 count[8];

	for (p = 0; p < 8; p++)
		count[p] = in->dw ? p : (u64)(2 * p + 1) << 32 | 2 * p;
	ev_n(a, in->dw ? V_PBCASTQ : V_PBCASTD, 3, 0, rm_mem(RBX, AT_VALUE), 0, 0, 0, in->size, 0);
	ju_load(c, RCX, in->o[1], in->dw);
	ev(a, in->dw ? V_PBCASTQ_R : V_PBCASTD_R, 2, 0, rm_reg(RCX));
	running(c);
	for (p = 0; p < LANES / lanes; p++) {
		ev(a, V_MOVA64, 1, 0, rm_lit(j_lit(c, count, 64), 0));
		ev_k(a, in->dw ? V_PEXPANDQ : V_PEXPANDD, 1, 0, rm_reg(1), jv_mask(c, in->dw, p), 1);
		if (p) {
			g_load(a, 0, RCX, rm_reg(RDX));
			g_alui(a, 0, G_AND, rm_reg(RCX), (s32)((1u << lanes * p) - 1));
			count_ones(a, RCX);
			ev(a, in->dw ? V_PBCASTQ_R : V_PBCASTD_R, 0, 0, rm_reg(RCX));
			ev(a, in->dw ? V_PADDQ : V_PADDD, 1, 1, rm_reg(0));
		}
		ev(a, in->dw ? V_PMULLQ : V_PMULLD, 1, 1, rm_reg(2));
		ev(a, in->dw ? V_PADDQ : V_PADDD, 1, 1, rm_reg(3));
		ev(a, in->dw ? V_MOVA64_ST : V_MOVA32_ST, 1, 0, rm_mem(RBX, (s32)(AT_VALUE + 64 * p)));
	}
}

/* All lanes that run: some ways at once, and one by one behind them. one: their values have come together, or are ranked(). */
static void all(struct jcomp *c, const struct insn *in, const struct acc *x, u32 step, bool held, bool same, bool one)
{
	u32 done[JA_WAYS], n;

	if (one && in->o[0] != OPND_NONE) {
		add_ranked(c, in, step, held);
		return;
	}
	if (one) {
		ja_one(c, in, (struct ja_place){ 0, in->size == 8, held, false }, step);
		return;
	}
	n = ja_at_once(c, in, x, step, held, done);
	lanes(c, in, step, held, same);
	while (n)
		g_here(&c->a, done[--n]);
}

static struct rm bare(void) { return rm_mem(R14, (s32)offsetof(struct tstate, bare)); }

/*
 * Nobody else writes this memory now (alone.c): the lanes that follow need no lock, and alone_done() comes behind them. otherwise: jumps
 * to where they have locks, the second after it was said that they go without. Lanes that do not run may have any address: locks do no harm.
 * one: there is one place, lane 0's.
 */
static void alone(struct jcomp *c, bool one, u32 *otherwise)
{
	struct as *a = &c->a;
	u32 q;

	if (one) {
		g_movi(a, RAX, c->fn->m->e->env.arena_base);
		g_alu(a, 1, G_CMP, RAX, rm_mem(RBX, JP_LANES));
		otherwise[0] = g_jcc(a, CC_A);
	} else {
		ev(a, V_MOVA64, 0, 0, rm_mem(RBX, JP_LANES));
		for (q = 1; q < 4; q++)
			ev(a, V_PMINUQ, 0, 0, rm_mem(RBX, (s32)(JP_LANES + 64 * q)));
		ev_i(a, V_PCMPUQ, 7, 0, rm_lit(j_lit64(c, c->fn->m->e->env.arena_base), 0), 0, 0, 1);
		k_ortest(a, 7, 7);
		otherwise[0] = g_jcc(a, CC_NE);
	}
	g_movi(a, RDX, 1);
	g_store(a, 0, bare(), RDX);
	g_movi(a, RAX, (u64)&c->fn->m->e->alone.others);
	g_alui(a, 0, G_CMP, rm_mem(RAX, 0), 0);
	otherwise[1] = g_jcc(a, CC_NE);
	alone_used(c->fn);
}

/*
 * This worker keeps sums of the memory that all lanes that run add to (tally.c): their addresses become those of its own words, and the jump that is
 * returned is taken to where there are no locks. one: there is one place, lane 0's.
 */
static u32 kept(struct jcomp *c, bool one)
{
	u32 q, no[5], n = 0, done;
	struct as *a = &c->a;

	g_load(a, 1, RDX, tally_at(offsetof(struct tally, bytes)));
	g_op(a, 1, 0x85, RDX, rm_reg(RDX), 0);          /* test */
	no[n++] = g_jcc(a, CC_E);
	if (one) {
		g_load(a, 1, RAX, rm_mem(RBX, JP_LANES));
		g_alu(a, 1, G_SUB, RAX, tally_at(offsetof(struct tally, lo)));
		g_alu(a, 1, G_CMP, RAX, rm_reg(RDX));
		no[n++] = g_jcc(a, CC_AE);
		g_load(a, 1, RAX, tally_at(offsetof(struct tally, delta)));
		g_op(a, 1, G_ADD * 8 + 1, RAX, rm_mem(RBX, JP_LANES), 0);
	} else {
		ev_n(a, V_PBCASTQ, 1, 0, tally_at(offsetof(struct tally, lo)), 0, 0, 0, 8, 0);
		ev_n(a, V_PBCASTQ, 2, 0, tally_at(offsetof(struct tally, bytes)), 0, 0, 0, 8, 0);
		for (q = 0; q < 4; q++) {
			ev(a, V_MOVA64, 0, 0, rm_mem(RBX, (s32)(JP_LANES + 64 * q)));
			ev(a, V_PSUBQ, 0, 0, rm_reg(1));
			ev_i(a, V_PCMPUQ, 7, 0, rm_reg(2), jv_mask(c, 1, q), 0, 5);     /* not below */
			k_ortest(a, 7, 7);
			no[n++] = g_jcc(a, CC_NE);
		}
		ev_n(a, V_PBCASTQ, 1, 0, tally_at(offsetof(struct tally, delta)), 0, 0, 0, 8, 0);
		for (q = 0; q < 4; q++) {
			ev(a, V_PADDQ, 0, 1, rm_mem(RBX, (s32)(JP_LANES + 64 * q)));
			ev(a, V_MOVA64_ST, 0, 0, rm_mem(RBX, (s32)(JP_LANES + 64 * q)));
		}
	}
	done = g_jmp(a);
	while (n)
		g_here(a, no[--n]);
	return done;
}

static void alone_done(struct jcomp *c)
{
	g_movi(&c->a, RDX, 0);
	g_store(&c->a, 0, bare(), RDX);
}

static void values(struct jcomp *c, const struct insn *in, u32 o, s32 to)
{
	u32 p;

	for (p = 0; p < (in->dw ? 4u : 2u); p++)
		ev(&c->a, in->dw ? V_MOVA64_ST : V_MOVA32_ST, jv_obs(c, o, in->dw, p, 0), 0, rm_mem(RBX, to + 64 * (s32)p));
}

/* 0: none, or one whose order counts. */
u32 ja_vector_op(const struct insn *in)
{
	bool w = in->size == 8, sg = type_is_signed(in->type);

	if (type_is_float(in->type))
		return 0;
	switch (in->sub) {
	case ATOM_ADD: return w ? V_PADDQ : V_PADDD;
	case ATOM_AND: return w ? V_PANDQ : V_PANDD;
	case ATOM_OR: return w ? V_PORQ : V_PORD;
	case ATOM_XOR: return w ? V_PXORQ : V_PXORD;
	case ATOM_MIN: return w ? (sg ? V_PMINSQ : V_PMINUQ) : sg ? V_PMINSD : V_PMINUD;
	case ATOM_MAX: return w ? (sg ? V_PMAXSQ : V_PMAXUQ) : sg ? V_PMAXSD : V_PMAXUD;
	}
	return 0;
}

/* What the operation leaves others as they are with. */
u64 ja_neutral(const struct insn *in)
{
	u64 top = in->size == 8 ? 1ull << 63 : 1u << 31, all = in->size == 8 ? ~0ull : ~0u;
	bool sg = type_is_signed(in->type);

	switch (in->sub) {
	case ATOM_AND: return all;
	case ATOM_MIN: return sg ? top - 1 : all;
	case ATOM_MAX: return sg ? top : 0;
	}
	return 0;
}

/* A number of 32 bits that is 1 or 0, by a comparison before it in this block, so that all lanes that run here have got theirs there. */
static bool one_or_none(const struct jcomp *c, u32 o)
{
	const struct insn *in;
	struct jval x, y;
	u32 at;

	if ((o & OPND_CONST) || c->r[o].cls != JC_VARY || !(at = c->def_of[o]) || at > c->pc || at - 1 < c->s->b[c->block].start)
		return false;
	in = &c->code[at - 1];
	if (in->kind != K_LANE || in->lop != LOP_SELP || in->guard != OPND_NONE || in->dw)
		return false;
	x = jit_val(c, in->o[1], 0);
	y = jit_val(c, in->o[2], 0);
	return x.known && y.known && (u32)(x.k | y.k) == 1 && !(x.k & y.k);
}

/* Integers that are all the same, or 1 or 0, need no lanes added up: how many there are says it. */
static bool counted(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u8 w = in->size == 8;
	u32 p;
	int x;

	if (jit_val(c, in->o[1], in->dw).cls == JC_UNI) {
		if (!(in->o[1] & OPND_CONST) && c->r[in->o[1]].rawf)
			return false;
		ju_load(c, RCX, in->o[1], w);
		if (in->sub == ATOM_ADD || in->sub == ATOM_XOR) {
			running(c);
			count_ones(a, RDX);
			if (in->sub == ATOM_XOR) {
				g_alui(a, 0, G_AND, rm_reg(RDX), 1);
				g_neg(a, w, RDX);
				g_alu(a, w, G_AND, RCX, rm_reg(RDX));
			} else {
				g_imul(a, w, RCX, rm_reg(RDX));
			}
		}
		g_store(a, w, rm_mem(RBX, AT_VALUE), RCX);
		return true;
	}
	if (in->sub != ATOM_ADD || w || !one_or_none(c, in->o[1]))
		return false;
	for (p = 0; p < 2; p++) {
		x = jv_reg(c, in->o[1], 0, p, 1);       /* no NaN is among them */
		ev(a, V_PTESTMD, 7, x, rm_reg(x));
		k_to(a, p ? RCX : RAX, 7);
	}
	g_shi(a, 0, G_SHL, RCX, 16);
	running(c);
	g_alu(a, 0, G_OR, RCX, rm_reg(RAX));
	g_alu(a, 0, G_AND, RCX, rm_reg(RDX));
	count_ones(a, RCX);
	g_store(a, 0, rm_mem(RBX, AT_VALUE), RCX);
	return true;
}

/* The values of all lanes that run come together in lane 0's place. */
void ja_together(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 op = ja_vector_op(in), n = in->dw ? 4 : 2, p;
	u32 none = in->dw ? j_lit64(c, ja_neutral(in)) : j_lit32(c, (u32)ja_neutral(in));

	if (counted(c, in))
		return;

	for (p = 0; p < n; p++) {
		int x = jv_obs(c, in->o[1], in->dw, p, 1), t = p ? 2 : 0;

		ev(a, in->dw ? V_MOVA64 : V_MOVA32, t, 0, rm_lit(none, 0));
		ev_k(a, in->dw ? V_MOVA64 : V_MOVA32, t, 0, rm_reg(x), jv_mask(c, in->dw, p), 0);
		if (p)
			ev(a, op, 0, 0, rm_reg(2));
	}
	ev_i(a, V_SHUF32X4, 1, 0, rm_reg(0), 0, 0, 0x4e);
	ev(a, op, 0, 0, rm_reg(1));
	ev_i(a, V_SHUF32X4, 1, 0, rm_reg(0), 0, 0, 0xb1);
	ev(a, op, 0, 0, rm_reg(1));
	ev_i(a, V_PSHUFD, 1, 0, rm_reg(0), 0, 0, 0x4e);
	ev(a, op, 0, 0, rm_reg(1));
	if (!in->dw) {
		ev_i(a, V_PSHUFD, 1, 0, rm_reg(0), 0, 0, 0xb1);
		ev(a, op, 0, 0, rm_reg(1));
	}
	ev(a, V_MOVA32_ST, 0, 0, rm_mem(RBX, AT_VALUE));
}

bool jit_atom(struct jcomp *c, const struct insn *in)
{
	struct acc x, *px = NULL;
	u32 p, step, otherwise[2], done, own = 0, quick = 0;
	bool back, same, one, keeps, able = c->fn->m->e->alone.able && in->space != SPACE_SHARED;

	if (!known(in) || in->space == SPACE_LOCAL || in->dw != (in->size == 8))
		return false;
	if (jm_addr(c, in, &x))
		px = &x;
	else if (jit_val(c, in->o[4], in->aw).cls != JC_VARY || (!in->aw && in->space != SPACE_SHARED))
		return false;
	step = px ? x.step : j_exit(c, JX_STEP, c->pc, 0);
	same = in->o[0] == OPND_NONE && jit_val(c, in->o[1], in->dw).cls == JC_UNI;
	keeps = able && in->sub2 == ATOM_KEPT && c->fn->m->e->env.cores > 1;
	one = px && x.v.cls == JC_UNI && (in->o[0] == OPND_NONE ? ja_vector_op(in) != 0 : ranked(c, in));
	if (one) {
		g_lea(&c->a, 1, RAX, rm_mem(x.base, x.disp));
		g_store(&c->a, 1, rm_mem(RBX, JP_LANES), RAX);
		if (in->o[0] == OPND_NONE)
			ja_together(c, in);
	} else {
		if (keeps && !px && direct(in) && in->o[0] == OPND_NONE) {
			values(c, in, in->o[1], AT_VALUE);
			quick = jx_kept(c, in, opcode(in), step, same);
		}
		if (!jm_addresses(c, in, px, step))
			return false;
		values(c, in, in->o[1], AT_VALUE);
	}
	if (in->sub == ATOM_CAS)
		values(c, in, in->o[2], AT_OTHER);
	back = is_float_add(in) && jit_mxcsr_for(c, ja_sum_csr(in));
	if (keeps)
		own = kept(c, one);
	/* one access a warp: too seldom for several workers to wait for each other (alone.c) */
	able &= !one || c->fn->m->e->env.cores == 1;
	if (!able && !keeps) {
		all(c, in, px, step, in->space != SPACE_SHARED, same, one);
	} else {
		if (able)
			alone(c, one, otherwise);
		else
			otherwise[0] = g_jmp(&c->a);
		if (keeps)
			g_here(&c->a, own);
		all(c, in, px, step, false, same, one);
		if (able)
			alone_done(c);
		done = g_jmp(&c->a);
		if (able) {
			g_here(&c->a, otherwise[1]);
			alone_done(c);
		}
		g_here(&c->a, otherwise[0]);
		all(c, in, px, step, true, same, one);
		g_here(&c->a, done);
	}
	if (quick)
		g_here(&c->a, quick);
	if (back)
		jit_mxcsr_back(c);
	if (one && in->o[0] != OPND_NONE)
		spread_ranks(c, in);
	for (p = 0; in->o[0] != OPND_NONE && p < (in->dw ? 4u : 2u); p++) {
		int t = jv_dst(c, in->o[0], p, 0);

		ev(&c->a, in->dw ? V_MOVA64 : V_MOVA32, t, 0, rm_mem(RBX, AT_VALUE + 64 * (s32)p));
		jv_put(c, in->o[0], p, t);
	}
	return true;
}
