/* SPDX-License-Identifier: MIT */
/*
 * Atomics and reductions of a strip, lane by lane in order, as mem.c does them: one instruction of the processor, or a loop around
 * its compare-and-exchange. All addresses are checked before the first lane begins. A block has one worker, so its
 * shared memory needs no lock; neither does global memory while nobody else writes it (alone.c).
 */
#include "strip.h"
#include "mem.h"
#include "vex.h"

#define AT_BASE 32              /* in sprivate.lanes, behind indices: where element 0 is, an immediate added */
#define AT_VALUES 64            /* behind addresses */
#define AT_OTHERS 128           /* what compare-and-swap stores */
#define AT_RESULTS 192

static struct rm lane_rm(u32 off, bool w) { return rm_idx(R15, RCX, w ? 3 : 2, (s32)(offsetof(struct sprivate, lanes) + off)); }

/* What one instruction does: its opcode, 0: none. */
static u32 direct(const struct insn *in)
{
	bool result = in->o[0] != OPND_NONE;

	switch (in->sub) {
	case ATOM_ADD: return type_is_float(in->type) ? 0 : result ? 0x1c1 : 0x01;
	case ATOM_AND: return result ? 0 : 0x21;
	case ATOM_OR: return result ? 0 : 0x09;
	case ATOM_XOR: return result ? 0 : 0x31;
	case ATOM_EXCH: return 0x87;
	}
	return 0;
}

static bool known(const struct insn *in)
{
	if ((in->size != 4 && in->size != 8) || in->space == SPACE_PARAM || in->space == SPACE_LOCAL)
		return false;
	if (type_is_float(in->type) && in->sub == ATOM_EXCH)
		return true;
	if (type_is_float(in->type))
		return in->sub == ATOM_ADD && (in->type == T_F64 || in->type == T_F32);
	switch (in->sub) {
	case ATOM_INC: case ATOM_DEC:
		return in->size == 4;
	case ATOM_ADD: case ATOM_MIN: case ATOM_MAX: case ATOM_AND: case ATOM_OR: case ATOM_XOR: case ATOM_EXCH: case ATOM_CAS:
		return true;
	}
	return false;
}

bool s_atom_direct(const struct insn *in) { return known(in) && direct(in); }

/* Workers may keep its sums. */
static bool may_be_kept(const struct scomp *c, const struct insn *in)
{
	const struct engine *e = c->fn->m->e;

	return in->sub2 == ATOM_KEPT && in->space != SPACE_SHARED && e->alone.able && e->env.cores > 1;
}

/* A subnormal number becomes 0 with its sign. */
static void flush(struct scomp *c, int gpr)
{
	u32 ok;

	g_testi(&c->a, gpr, 0x7f800000);
	ok = g_jcc(&c->a, CC_NE);
	g_alui(&c->a, 0, G_AND, rm_reg(gpr), INT32_MIN);
	g_here(&c->a, ok);
}

/* edx = what becomes of eax, a float. In global memory subnormals are flushed, in shared memory they are not (mem.c); r11: the address */
static void add_float(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 here = 0, done = 0, ok;

	if (in->space == SPACE_GENERIC) {
		g_load(a, 1, RDX, rm_reg(R11));
		g_alu(a, 1, G_SUB, RDX, SPM(shared));
		g_alu(a, 1, G_CMP, RDX, SPM(shared_total));
		here = g_jcc(a, CC_B);
	}
	if (in->space != SPACE_SHARED) {
		g_load(a, 0, RDX, lane_rm(AT_VALUES, false));
		flush(c, RDX);
		vx_x(a, X_MOVD, 1, 0, rm_reg(RDX));
		g_load(a, 0, RDX, rm_reg(RAX));
		flush(c, RDX);
		vx_x(a, X_MOVD, 0, 0, rm_reg(RDX));
		vx_x(a, VOP(2, 1, 0, 0x58), 0, 0, rm_reg(1));           /* vaddss */
		vx_x(a, X_MOVD_ST, 0, 0, rm_reg(RDX));
		flush(c, RDX);
	}
	if (in->space == SPACE_GENERIC) {
		done = g_jmp(a);
		g_here(a, here);
	}
	if (in->space != SPACE_GLOBAL) {
		vx_x(a, X_MOVD, 0, 0, rm_reg(RAX));
		vx_x(a, VOP(2, 1, 0, 0x58), 0, 0, lane_rm(AT_VALUES, false));
		vx_x(a, X_MOVD_ST, 0, 0, rm_reg(RDX));
	}
	if (done)
		g_here(a, done);
	vx_x(a, VOP(0, 1, 0, 0x2e), 0, 0, rm_reg(0));                   /* vucomiss */
	ok = g_jcc(a, CC_NP);
	g_movi(a, RDX, 0x7fffffff);
	g_here(a, ok);
}

/* rdx = what becomes of rax */
static void apply(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	bool sg = type_is_signed(in->type);
	u8 w = in->size == 8;
	struct rm v = lane_rm(AT_VALUES, w);
	g_load(a, w, RDX, rm_reg(RAX));
	switch (in->sub) {
	case ATOM_MIN:
	case ATOM_MAX:
		g_alu(a, w, G_CMP, RAX, v);
		g_cmov(a, w, in->sub == ATOM_MIN ? (sg ? CC_G : CC_A) : sg ? CC_L : CC_B, RDX, v);
		return;
	case ATOM_AND: g_alu(a, w, G_AND, RDX, v); return;
	case ATOM_OR: g_alu(a, w, G_OR, RDX, v); return;
	case ATOM_XOR: g_alu(a, w, G_XOR, RDX, v); return;
	case ATOM_INC:          /* old >= v ? 0 : old + 1 */
		g_lea(a, 0, RDX, rm_mem(RAX, 1));
		g_alu(a, 0, G_CMP, RAX, v);
		g_cmov(a, 0, CC_AE, RDX, s_splat32(c, 0));
		return;
	case ATOM_DEC:          /* old == 0 || old > v ? v : old - 1 */
		g_lea(a, 0, RDX, rm_mem(RAX, -1));
		g_alu(a, 0, G_CMP, RAX, v);
		g_cmov(a, 0, CC_A, RDX, v);
		g_alui(a, 0, G_CMP, rm_reg(RAX), 0);
		g_cmov(a, 0, CC_E, RDX, v);
		return;
	}
	if (!w) {
		add_float(c, in);
		return;
	}
	vx_x(a, X_MOVQ, 0, 0, rm_reg(RAX));
	vx_x(a, VOP(3, 1, 0, 0x58), 0, 0, v);   /* vaddsd */
	vx_x(a, X_MOVQ_ST, 0, 0, rm_reg(RDX));
}

static void access(struct scomp *c, bool lock)
{
	as_room(&c->a, 16);
	s_site(c);
	if (lock)
		b1(&c->a, 0xf0);
}

static void values(struct scomp *c, u32 o, u8 w, u32 off)
{
	u32 p;

	for (p = 0; p < (w ? 2u : 1u); p++)
		vy(&c->a, X_MOVU_ST, sv_obs(c, o, w, p, 0), 0, s_mem_lanes_at(off + 32 * p));
}

/* Sums round to nearest and see subnormals, whatever the function does otherwise. Where the interpreter takes over, run.c sets it right. */
static void rounds(struct scomp *c, u32 csr)
{
	if (c->s->mxcsr == ~0u)
		s_mxcsr(c, csr);
	else if (c->s->mxcsr != MXCSR_BASE)
		s_ldmxcsr(c, csr);
}

/* r11 = what all lanes add, where it is one number: known now, or of the first lane's place. */
static void same_value(struct scomp *c, const struct insn *in)
{
	u8 w = in->size == 8;
	struct sval v = s_val(c, in->o[1], w);

	if (v.known)
		g_movi(&c->a, R11, w ? v.k : (u32)v.k);
	else
		g_load(&c->a, w, R11, s_mem_lanes_at(AT_VALUES));
}

/* All lanes without a loop: of what is one instruction each. s: their indices lie where addresses do; based: and the base behind them. */
static void whole(struct scomp *c, const struct insn *in, const struct sindex *s, bool based, u32 op, bool held, bool same)
{
	struct as *a = &c->a;
	u8 w = in->size == 8;
	u32 l, bytes = w ? 8 : 4;
	s32 disp = 0;
	int base = s && !based ? s_index_origin(c, in, s, &disp) : RAX;

	if (based)
		g_load(a, 1, RAX, s_mem_lanes_at(AT_BASE));

	if (same)
		same_value(c, in);
	for (l = 0; l < STRIP; l++) {
		if (!s)
			g_load(a, 1, RAX, s_mem_lanes_at(8 * l));
		else if (s->sg)
			g_movsxd(a, RCX, s_mem_lanes_at(4 * l));
		else
			g_load(a, 0, RCX, s_mem_lanes_at(4 * l));
		if (!same)
			g_load(a, w, R11, s_mem_lanes_at(AT_VALUES + bytes * l));
		access(c, held && op != 0x87);
		g_op(a, w, op, R11, s ? rm_idx(base, RCX, s->shift, disp) : rm_mem(RAX, 0), 0);
		if (in->o[0] != OPND_NONE)
			g_store(a, w, s_mem_lanes_at(AT_RESULTS + bytes * l), R11);
	}
}

/*
 * Sums of floats by all lanes, nobody wants what was there: the loop by lanes has its mask in memory, where each round waits for the one before. Whether subnormals
 * count is known for one whose memory is.
 */
static bool sums(const struct insn *in)
{
	return in->sub == ATOM_ADD && type_is_float(in->type) && in->o[0] == OPND_NONE && (in->size == 8 || in->space != SPACE_GENERIC);
}

/* Sums in global memory flush subnormals: by the processor, around all of a strip's. */
static void flushing(struct scomp *c, const struct insn *in, bool on)
{
	if (in->size == 4 && in->space == SPACE_GLOBAL)
		s_ldmxcsr(c, on ? MXCSR_BASE | MXCSR_FLUSH : MXCSR_BASE);
}

/* xmm 0 is a sum of floats: NaNs are the one that add_float() makes. */
static void canonical(struct scomp *c)
{
	struct as *a = &c->a;
	u32 ok;

	vx_x(a, VOP(0, 1, 0, 0x2e), 0, 0, rm_reg(0));   /* vucomiss */
	ok = g_jcc(a, CC_NP);
	vx_x(a, X_MOVU, 0, 0, s_splat32(c, 0x7fffffff));
	g_here(a, ok);
}

static void whole_sums(struct scomp *c, const struct insn *in)
{
	u32 w = in->size == 8, pp = w ? 3 : 2, bytes = w ? 8 : 4, l;
	struct as *a = &c->a;

	flushing(c, in, true);
	for (l = 0; l < STRIP; l++) {
		g_load(a, 1, RAX, s_mem_lanes_at(8 * l));
		access(c, false);
		vx_x(a, VOP(pp, 1, 0, 0x10), 0, 0, rm_mem(RAX, 0));     /* vmovss, vmovsd */
		vx_x(a, VOP(pp, 1, 0, 0x58), 0, 0, s_mem_lanes_at(AT_VALUES + bytes * l));
		if (!w)
			canonical(c);
		access(c, false);
		vx_x(a, VOP(pp, 1, 0, 0x11), 0, 0, rm_mem(RAX, 0));
	}
	flushing(c, in, false);
}

/* All lanes' onto one place, in their order: what is there is read and written once. */
static void whole_chain(struct scomp *c, const struct insn *in, bool held)
{
	u32 pp = in->size == 8 ? 3 : 2, l, again;
	struct as *a = &c->a;
	u8 w = in->size == 8;

	flushing(c, in, true);
	g_load(a, 1, R11, s_mem_lanes_at(0));
	access(c, false);
	g_load(a, w, RAX, rm_mem(R11, 0));
	again = a->n;
	vx_x(a, w ? X_MOVQ : X_MOVD, 0, 0, rm_reg(RAX));
	for (l = 0; l < STRIP; l++)
		vx_x(a, VOP(pp, 1, 0, 0x58), 0, 0, s_mem_lanes_at(AT_VALUES + in->size * l));
	if (!w)
		canonical(c);
	vx_x(a, w ? X_MOVQ_ST : X_MOVD_ST, 0, 0, rm_reg(RDX));
	access(c, held);
	if (!held) {
		g_store(a, w, rm_mem(R11, 0), RDX);
	} else {
		g_op(a, w, 0x1b1, RDX, rm_mem(R11, 0), 0);      /* cmpxchg */
		g_land(a, g_jcc(a, CC_NE), again);
	}
	flushing(c, in, false);
}

/* How: held: others may come to that memory; same: their value is one, and no result is wanted; based: AT_BASE is there; one: all have one place, a scalar's; ranked: that is so, and they want results, s_ranked(). */
struct way { bool based, held, same, one, ranked; };

/* The lane in rcx, whose address is in rax. Keeps rdx, but not in memory. */
static void one_lane(struct scomp *c, const struct insn *in, const struct sindex *s, struct way h)
{
	struct as *a = &c->a;
	struct rm m = rm_mem(RAX, 0);
	u8 w = in->size == 8;
	bool result = in->o[0] != OPND_NONE;
	u32 op = direct(in), again, stays = 0;

	if (op) {
		if (h.same)
			same_value(c, in);
		else
			g_load(a, w, R11, lane_rm(AT_VALUES, w));
		if (h.based) {
			g_load(a, 0, RCX, s_mem_lanes_of(0, RCX, 2));
			g_load(a, 1, RAX, s_mem_lanes_at(AT_BASE));
			m = rm_idx(RAX, RCX, s->shift, 0);
		} else if (s) {
			m = s_index_place(c, in, s);
		}
		access(c, h.held && op != 0x87);
		g_op(a, w, op, R11, m, 0);
		if (s && result)
			g_tzcnt(a, RCX, rm_reg(RDX));
		if (result)
			g_store(a, w, lane_rm(AT_RESULTS, w), R11);
		return;
	}
	g_store(a, 0, SPM(step), RDX);
	g_load(a, 1, R11, rm_reg(RAX));
	if (in->sub == ATOM_CAS) {
		g_load(a, w, RAX, lane_rm(AT_VALUES, w));
		g_load(a, w, RDX, lane_rm(AT_OTHERS, w));
		access(c, h.held);
		g_op(a, w, 0x1b1, RDX, rm_mem(R11, 0), 0);
	} else {
		access(c, false);
		g_load(a, w, RAX, rm_mem(R11, 0));
		again = a->n;
		apply(c, in);
		if (h.held && atom_may_stay(in)) {
			g_alu(a, w, G_CMP, RDX, rm_reg(RAX));
			stays = g_jcc(a, CC_E);
		}
		access(c, h.held);
		if (!h.held) {
			g_store(a, w, rm_mem(R11, 0), RDX);
		} else {
			g_op(a, w, 0x1b1, RDX, rm_mem(R11, 0), 0);
			g_land(a, g_jcc(a, CC_NE), again);
		}
		if (stays)
			g_here(a, stays);
	}
	if (result)
		g_store(a, w, lane_rm(AT_RESULTS, w), RAX);
	g_load(a, 0, RDX, SPM(step));
}

/* Lane 0 for all of them, whose values have come together. */
static void for_all(struct scomp *c, const struct insn *in, const struct sindex *s, struct way h)
{
	g_load(&c->a, 1, RAX, s_mem_lanes_at(0));
	g_movi(&c->a, RCX, 0);
	h.same = false;
	one_lane(c, in, s, h);
}

/* All lanes run, and their places turn out to be one. Returned: the jump behind the other ways, which follow; 0: nothing emitted. */
static u32 one_place(struct scomp *c, const struct insn *in, const struct sindex *s, struct way h)
{
	struct as *a = &c->a;
	u32 some, no, done;

	if (in->o[0] != OPND_NONE || !(s_reduces_one(in) || sums(in)))
		return 0;
	some = s_unless_all(c);
	vy(a, s ? X_PBCASTD : X_PBCASTQ, 0, 0, s_mem_lanes_at(0));
	vy(a, s ? X_PCMPEQD : X_PCMPEQQ, 1, 0, s_mem_lanes_at(0));
	if (!s) {
		vy(a, X_PCMPEQQ, 0, 0, s_mem_lanes_at(32));
		vr(a, X_PAND, 1, 1, 0);
	}
	vr(a, s ? X_MOVMSKPS : X_MOVMSKPD, RAX, 0, 1);
	g_alui(a, 0, G_CMP, rm_reg(RAX), s ? 255 : 15);
	no = g_jcc(a, CC_NE);
	if (sums(in)) {
		whole_chain(c, in, h.held);
	} else {
		if (h.same)
			same_value(c, in);
		s_reduce_one(c, in, AT_VALUES, h.same);
		for_all(c, in, s, h);
	}
	done = g_jmp(a);
	g_here(a, no);
	if (some)
		g_here(a, some);
	return done;
}

/* For each lane that runs, in order. */
static void lanes(struct scomp *c, const struct insn *in, const struct sindex *s, struct way h)
{
	u32 op = direct(in), some = 0, done = 0, row = 0, place = 0, top;
	bool at_once = op || (sums(in) && (h.one || !h.held));
	struct as *a = &c->a;

	if (h.ranked) {
		same_value(c, in);
		s_rank_sum(c, in);
		g_load(a, 1, RAX, s_mem_lanes_at(0));
		access(c, h.held);
		g_op(a, in->size == 8, 0x1c1, R11, rm_mem(RAX, 0), 0);  /* xadd */
		g_store(a, in->size == 8, s_mem_lanes_at(AT_RESULTS), R11);
		return;
	}
	if (h.one && s_reduces_one(in)) {       /* values have come together */
		for_all(c, in, s, h);
		return;
	}
	if (!h.one)
		place = one_place(c, in, s, h);
	if (!h.held && !h.same && !s && !h.one)
		row = s_reduce_row(c, in, AT_VALUES);
	if (at_once) {
		some = s_unless_all(c);
		if (op)
			whole(c, in, s, h.based, op, h.held, h.same);
		else if (h.one)
			whole_chain(c, in, h.held);
		else
			whole_sums(c, in);
		if (some) {
			done = g_jmp(a);
			g_here(a, some);
		}
	}
	if (some || !at_once) {
		top = s_each_lane(c);
		one_lane(c, in, s, h);
		s_next_lane(c, top);
	}
	if (done)
		g_here(a, done);
	if (row)
		g_here(a, row);
	if (place)
		g_here(a, place);
}

static struct rm bare(void) { return rm_mem(R14, (s32)offsetof(struct tstate, bare)); }

/* As in jit_atom.c: nobody else writes this memory now, and alone_done() comes behind the lanes; otherwise: jumps to where they have locks. */
static void alone(struct scomp *c, const struct insn *in, const struct sindex *s, u32 *otherwise)
{
	struct as *a = &c->a;
	struct engine *e = c->fn->m->e;

	if (s) {
		s_index_from(c, in, s, e->env.arena_base);
		otherwise[0] = g_jcc(a, CC_B);
	} else {
		/* addresses have less than 63 bits: they have been checked, where their lanes run */
		vy(a, X_MOVU, 0, 0, s_splat64(c, e->env.arena_base));
		vy(a, X_PCMPGTQ, 1, 0, s_mem_lanes_at(0));
		vy(a, X_PCMPGTQ, 0, 0, s_mem_lanes_at(32));
		vr(a, X_POR, 0, 0, 1);
		vr(a, X_MOVMSKPD, RAX, 0, 0);
		g_op(a, 0, 0x85, RAX, rm_reg(RAX), 0);          /* test */
		otherwise[0] = g_jcc(a, CC_NE);
	}
	g_movi(a, RDX, 1);
	g_store(a, 0, bare(), RDX);
	g_movi(a, RAX, (u64)&e->alone.others);
	g_alui(a, 0, G_CMP, rm_mem(RAX, 0), 0);
	otherwise[1] = g_jcc(a, CC_NE);
	alone_used(c->fn);
}

/* al = the lanes that run and are not among those whose bits it has, and flags for that. */
static void others(struct scomp *c)
{
	struct as *a = &c->a;

	g_alui(a, 0, G_XOR, rm_reg(RAX), 255);
	if (s_all_run(c))
		return;
	s_mask_bits(c, RDX);
	g_alu(a, 0, G_AND, RAX, rm_reg(RDX));
}

/* rax = where element 0 is, an immediate added. */
static void to_base(struct scomp *c, const struct insn *in, const struct sindex *s)
{
	s_to_gpr(c, s->base, 1, RAX);
	if (in->imm)
		g_alui(&c->a, 1, G_ADD, rm_reg(RAX), (s32)in->imm);
}

/* kept() by base and indices, none of which is below 0. */
static u32 kept_indices(struct scomp *c, const struct insn *in, const struct sindex *s)
{
	struct as *a = &c->a;
	u32 no[3], n = 2, done, base;
	u64 max;

	to_base(c, in, s);
	tally_reach(a, in->size, no);
	if (s_bounded(c, in, &base, &max) && max <= TALLY_BYTES) {
		g_alui(a, 1, G_CMP, rm_reg(RCX), (s32)max);
		no[n++] = g_jcc(a, CC_B);
	} else {
		g_shi(a, 1, G_SHR, RCX, s->shift);
		vx_x(a, X_MOVD, 0, 0, rm_reg(RCX));
		vr(a, X_PBCASTD, 0, 0, 0);
		vy(a, X_PMAXUD, 1, 0, s_mem_lanes_at(0));
		vr(a, X_PCMPEQD, 1, 1, 0);
		vr(a, X_MOVMSKPS, RAX, 0, 1);
		others(c);
		no[n++] = g_jcc(a, CC_NE);
		to_base(c, in, s);
	}
	g_alu(a, 1, G_ADD, RAX, tally_at(offsetof(struct tally, delta)));
	g_store(a, 1, s_mem_lanes_at(AT_BASE), RAX);
	done = g_jmp(a);
	while (n)
		g_here(a, no[--n]);
	return done;
}

/* As in jit_atom.c: the memory is some whose sums this worker keeps, and the jump that is returned leads to where there are no locks. */
static u32 kept(struct scomp *c)
{
	struct as *a = &c->a;
	u32 no[2], done, p;

	g_load(a, 1, RAX, tally_at(offsetof(struct tally, bytes)));
	g_op(a, 1, 0x85, RAX, rm_reg(RAX), 0);          /* test */
	no[0] = g_jcc(a, CC_E);
	vy(a, X_PBCASTQ, 0, 0, tally_at(offsetof(struct tally, lo)));
	vy(a, X_PBCASTQ, 1, 0, tally_at(offsetof(struct tally, bytes)));
	for (p = 0; p < 2; p++) {
		vy(a, X_MOVU, 2, 0, s_mem_lanes_at(32 * p));
		vr(a, X_PSUBQ, 2, 2, 0);
		vr(a, X_PCMPGTQ, 3, 1, 2);
		vr(a, X_PANDN, 2, 2, 3);        /* the sign says: below lo */
		vr(a, X_MOVMSKPD, p ? RCX : RAX, 0, 2);
	}
	g_shi(a, 0, G_SHL, RCX, 4);
	g_alu(a, 0, G_OR, RAX, rm_reg(RCX));
	others(c);
	no[1] = g_jcc(a, CC_NE);
	vy(a, X_PBCASTQ, 0, 0, tally_at(offsetof(struct tally, delta)));
	for (p = 0; p < 2; p++) {
		vy(a, X_PADDQ, 1, 0, s_mem_lanes_at(32 * p));
		vy(a, X_MOVU_ST, 1, 0, s_mem_lanes_at(32 * p));
	}
	done = g_jmp(a);
	g_here(a, no[1]);
	g_here(a, no[0]);
	return done;
}

static void alone_done(struct scomp *c)
{
	g_movi(&c->a, RDX, 0);
	g_store(&c->a, 0, bare(), RDX);
}

bool s_atom(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	const struct sindex *s;
	u8 w = in->size == 8;
	bool result = in->o[0] != OPND_NONE, same = !result && !s_varies(s_val(c, in->o[1], w)) && !s_val(c, in->o[1], w).pat;
	u32 otherwise[2], done, p, own = 0;
	bool keeps = may_be_kept(c, in), one, ranked;

	if (!known(in) || !s_can_be(c, in))
		return false;
	s = s_index_of(c, in->o[4]);
	if (s) {
		s_index_check(c, in, s);
		vy(a, X_MOVU_ST, 0, 0, s_mem_lanes_at(0));
	} else if (!s_addresses(c, in)) {
		return false;
	}
	if (type_is_float(in->type) && in->sub == ATOM_ADD)
		rounds(c, MXCSR_BASE);
	one = !s && !s_varies(s_val(c, in->o[4], in->aw)) && !s_val(c, in->o[4], in->aw).pat;
	ranked = one && s_ranked(c, in);
	one &= !result;
	if (!(same && direct(in) && s_val(c, in->o[1], w).known))
		values(c, in->o[1], w, AT_VALUES);
	if (one && s_reduces_one(in)) {
		if (same)
			same_value(c, in);
		s_reduce_one(c, in, AT_VALUES, same);
	}
	if (in->sub == ATOM_CAS)
		values(c, in->o[2], w, AT_OTHERS);
	if (in->space == SPACE_SHARED || !c->fn->m->e->alone.able) {
		lanes(c, in, s, (struct way){ false, in->space != SPACE_SHARED, same, one, ranked });
	} else {
		if (keeps)
			own = s ? kept_indices(c, in, s) : kept(c);
		alone(c, in, s, otherwise);
		if (keeps && s) {
			to_base(c, in, s);
			g_store(a, 1, s_mem_lanes_at(AT_BASE), RAX);
		}
		if (keeps)
			g_here(a, own);
		lanes(c, in, s, (struct way){ keeps && s, false, same, one, ranked });
		alone_done(c);
		done = g_jmp(a);
		g_here(a, otherwise[1]);
		alone_done(c);
		g_here(a, otherwise[0]);
		lanes(c, in, s, (struct way){ false, true, same, one, ranked });
		g_here(a, done);
	}
	if (type_is_float(in->type) && in->sub == ATOM_ADD && c->s->mxcsr != ~0u)
		rounds(c, c->s->mxcsr);
	if (ranked)
		s_rank_spread(c, in, AT_RESULTS, AT_VALUES);
	for (p = 0; result && p < (w ? 2u : 1u); p++) {
		vy(a, X_MOVU, 0, 0, s_mem_lanes_at(AT_RESULTS + 32 * p));
		sput(c, in->o[0], p, 0);
	}
	return true;
}
