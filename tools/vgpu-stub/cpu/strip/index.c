/* SPDX-License-Identifier: MIT */
/*
 * Addresses that are a scalar and an index: a[i] with 32 bits of i in a vector is base + (i << shift), which is what the processor adds up itself. Such a register
 * of 64 bits is not computed where only loads, stores and atomics of one element want it (ghost); whatever else asks gets it made from base and index: a strip that
 * leaves code between, and the interpreter's one instruction.
 *
 * That is so in one block, from the index's extension to the last access; in there neither base nor index changes, and both keep their places (place.c).
 *
 * What is checked: the base alone, where all indices lead into the span; else each index, against how many elements there are behind the base and, with signs, before it.
 *
 * In: classes, words side by side (quad.c). Out: scomp.index, code for accesses.
 */
#include "mem.h"
#include "vex.h"

#define MOST_IMM (1 << 28)

/* ---- which registers ------------------------------------------------------------------------------------ */

static bool is64(u8 t) { return t == T_U64 || t == T_S64 || t == T_B64; }
static bool plain(const struct insn *in) { return in->kind == K_LANE && in->guard == OPND_NONE; }
static bool varies(const struct scomp *c, u32 o, u8 w) { return o != OPND_NONE && !(o & OPND_CONST) && c->r[o].v.cls == SC_VARY && c->r[o].w == w; }

/* Strips may leave code there, but none waits for another one or goes elsewhere. */
static bool goes_on(const struct scomp *c, u32 pc)
{
	switch ((enum kind)c->code[pc].kind) {
	case K_LANE: case K_SETP: case K_PRED: case K_SREG: case K_LOP3: case K_CVT: case K_CVTA: case K_LD: case K_LDPARAM: case K_ST: case K_ATOM: case K_NOP:
		return !s_sync_at(c, pc);
	default:
		return false;
	}
}

static bool stays(const struct scomp *c, u32 v, u32 from, u32 to)
{
	u32 i;

	for (i = from + 1; i <= to && v != OPND_NONE && !(v & OPND_CONST); i++)
		if (insn_writes(&c->code[i], v))
			return false;
	return true;
}

/* Definitions: the only one and 1, ~0: several. */
static void defined(u32 *def, u32 o, u32 pc)
{
	if (o != OPND_NONE && !(o & OPND_CONST))
		def[o] = def[o] ? ~0u : pc + 1;
}

/* The only definition of v, in the block that begins at start and before `before`. */
static const struct insn *made_at(const struct scomp *c, const u32 *def, u32 v, u32 start, u32 before)
{
	u32 d;

	if (!varies(c, v, 1))
		return NULL;
	d = def[v];
	return !d || d == ~0u || d - 1 < start || d - 1 >= before || !plain(&c->code[d - 1]) ? NULL : &c->code[d - 1];
}

static bool scale(const struct scomp *c, const struct insn *in, u32 k, struct sindex *s)
{
	struct sval v = s_val(c, in->o[k], 0);

	if (!v.known || !v.k || v.k > 8 || (v.k & (v.k - 1)) || (in->type != T_U32 && in->type != T_S32))
		return false;
	s->shift = (u8)__builtin_ctzll(v.k);
	return true;
}

/* v, made before `before`, is a register of 32 bits, extended and shifted. */
static bool extended(const struct scomp *c, const u32 *def, u32 v, u32 start, u32 before, struct sindex *s)
{
	const struct insn *in = made_at(c, def, v, start, before);
	struct sval k;

	if (!in)
		return false;
	s->from = (u32)(in - c->code);
	s->shift = 0;
	if (in->lop == LOP_SHL && is64(in->type)) {
		k = s_val(c, in->o[2], 0);
		in = made_at(c, def, in->o[1], start, s->from);
		if (!k.known || k.k > 3 || !in || in->lop != LOP_CVT_SEXT)
			return false;
		s->from = (u32)(in - c->code);
		s->shift = (u8)k.k;
	} else if (in->lop == LOP_MULWIDE) {
		if (!scale(c, in, 2, s))
			return false;
	} else if (in->lop != LOP_CVT_SEXT) {
		return false;
	}
	if (in->lop == LOP_CVT_SEXT && in->type != T_U64 && in->type != T_S64)
		return false;
	s->sg = type_is_signed(in->type);
	s->index = in->o[1];
	s->base = OPND_NONE;
	return varies(c, s->index, 0) && !c->r[s->index].rawf;
}

/* An atomic of one instruction, whose indices are not below 0: then none is below the base (s_index_from()). */
static bool atomic(struct scomp *c, const struct sblock *b, u32 pc, const struct sindex *s)
{
	const struct insn *in = &c->code[pc];
	u32 base;
	u64 max;
	bool is;

	c->cur = (struct sblock *)(uintptr_t)b;
	c->pc = pc;
	is = s_atom_direct(in) && (!s->sg || s_bounded(c, in, &base, &max));
	/* nothing is emitted yet */
	c->cur = NULL;
	c->pc = 0;
	return is;
}

/* The access at pc, by register v, takes base and index. */
static bool fits(struct scomp *c, const struct sblock *b, u32 pc, u32 v, const struct sindex *s)
{
	const struct insn *in = &c->code[pc];
	u32 k;

	if (in->o[4] != v || !in->aw || in->vec != 1 || in->guard == v || in->space == SPACE_LOCAL || in->space == SPACE_PARAM || in->size > 1u << s->shift ||
	    in->imm <= -MOST_IMM || in->imm >= MOST_IMM || c->quad[pc].n)
		return false;
	if (in->kind == K_ATOM ? !atomic(c, b, pc, s) : (in->kind != K_LD && in->kind != K_ST) || in->o[0] == OPND_NONE || (in->size == 8) != in->dw)
		return false;
	for (k = 0; k < 6; k++)
		if (k != 4 && ((in->use | in->def) >> k & 1) && in->o[k] == v)
			return false;
	return true;
}

/* The sum at pc of block b is an address. made: how many of a register's uses are sums that are not computed. */
static void sum(struct scomp *c, const struct sblock *b, u32 pc, const u32 *def, const u32 *uses, u32 *made)
{
	const struct insn *in = &c->code[pc];
	u32 v = in->o[0], n = 0, i, k, term = OPND_NONE;
	struct sindex s = { .to = 0 };
	struct sval base;

	if (!plain(in) || !varies(c, v, 1) || def[v] != pc + 1)
		return;
	if (in->lop == LOP_MADWIDE && scale(c, in, 2, &s) && varies(c, in->o[1], 0) && !c->r[in->o[1]].rawf) {
		s.from = pc;
		s.index = in->o[1];
		s.base = in->o[3];
		s.sg = type_is_signed(in->type);
	} else if (in->lop == LOP_ADD && is64(in->type)) {
		for (k = 1; k < 3 && term == OPND_NONE; k++)
			if (extended(c, def, in->o[k], b->start, pc, &s))
				term = in->o[k];
		if (term == OPND_NONE)
			return;
		s.base = in->o[1] == term ? in->o[2] : in->o[1];
	} else {
		return;
	}
	base = s_val(c, s.base, 1);
	if (s.base == OPND_NONE || base.cls != SC_SCALAR || base.pat || (base.known && base.k >= 1u << 24))
		return;
	for (i = pc + 1; i < b->end && goes_on(c, i); i++)
		if (insn_reads(&c->code[i], v)) {
			if (!fits(c, b, i, v, &s))
				return;
			s.to = i;
			n++;
		}
	if (!n || n != uses[v] || bit_of(b->live_out, v) || (b->keep && bit_of(b->keep, v)) || !stays(c, s.index, s.from, s.to) || !stays(c, s.base, s.from, s.to))
		return;
	s.ghost = true;
	c->index[v] = s;
	if (term != OPND_NONE)
		made[term]++;
}

/* What only such sums read is not computed either, from the last one back. */
static void terms(struct scomp *c, const struct sblock *b, const u32 *def, const u32 *uses, u32 *made)
{
	u32 i, k;

	for (i = b->end; i-- > b->start;) {
		const struct insn *in = &c->code[i];
		u32 v = in->o[0];
		struct sindex s = { .to = 0 };

		if (!plain(in) || !varies(c, v, 1) || !made[v] || made[v] != uses[v] || bit_of(b->live_out, v) || (b->keep && bit_of(b->keep, v)) ||
		    !extended(c, def, v, b->start, i + 1, &s))
			continue;
		for (k = i + 1; k < b->end; k++)
			if (insn_reads(&c->code[k], v))
				s.to = k;
		s.ghost = true;
		c->index[v] = s;
		if (in->lop == LOP_SHL)
			made[in->o[1]]++;
	}
}

bool s_indices(struct scomp *c)
{
	u32 *uses = pool_alloc(&c->mem, (c->s->nregs + 1) * sizeof(u32)), *made = pool_alloc(&c->mem, (c->s->nregs + 1) * sizeof(u32));
	u32 *def = pool_alloc(&c->mem, (c->s->nregs + 1) * sizeof(u32)), b, i, k;

	c->index = pool_alloc(&c->mem, (c->s->nregs + 1) * sizeof(*c->index));
	if (!uses || !made || !def || !c->index)
		return false;
	for (i = 0; i < c->n; i++) {
		const struct insn *in = &c->code[i];

		for (k = 0; k < 6; k++) {
			if ((in->use >> k & 1) && in->o[k] != OPND_NONE && !(in->o[k] & OPND_CONST))
				uses[in->o[k]]++;
			if (in->def >> k & 1)
				defined(def, in->o[k], i);
		}
		for (k = 0; in->kind == K_CALL && k < in->u.call->nargs; k++)
			if (in->u.call->args[k].is_reg && !(in->u.call->args[k].opnd & OPND_CONST))
				uses[in->u.call->args[k].opnd] += 2;
		for (k = 0; in->kind == K_CALL && k < in->u.call->nrets; k++)
			if (in->u.call->rets[k].is_reg)
				defined(def, in->u.call->rets[k].opnd, i);
	}
	for (b = 0; b < c->nb; b++) {
		for (i = c->b[b].start; i < c->b[b].end; i++)
			sum(c, &c->b[b], i, def, uses, made);
		terms(c, &c->b[b], def, uses, made);
	}
	return true;
}

/* What `o` is at this place, if it is not computed. */
const struct sindex *s_index_of(const struct scomp *c, u32 o)
{
	return c->index && o != OPND_NONE && !(o & OPND_CONST) && c->index[o].ghost ? &c->index[o] : NULL;
}

/* ---- code ------------------------------------------------------------------------------------------------- */

/* Four lanes of such a register, in ymm d; ymm tmp and rax are lost. */
void s_index_part(struct scomp *c, const struct sindex *s, u32 part, int d, int tmp)
{
	struct as *a = &c->a;
	int x = sv(c, s->index, 0, 0, d);
	struct sval v;

	if (part) {
		vyi(a, X_EXTRACT, x, 0, rm_reg(d), 1);
		x = d;
	}
	vr(a, s->sg ? X_PMOVSXDQ : X_PMOVZXDQ, d, 0, x);
	if (s->shift)
		vyi(a, X_SHIQ, SH_LEFT, d, rm_reg(d), s->shift);
	if (s->base == OPND_NONE)
		return;
	v = s_val(c, s->base, 1);
	if (v.known) {
		vy(a, X_PADDQ, d, d, s_splat64(c, v.k));
		return;
	}
	vx_x(a, X_MOVQ, tmp, 0, rm_reg(sg(c, s->base, 1, RAX)));
	vy(a, X_PBCASTQ, tmp, 0, rm_reg(tmp));
	vr(a, X_PADDQ, d, d, tmp);
}

/* r11 is lost */
static void at_most(struct scomp *c, int gpr, u32 most)
{
	g_movi(&c->a, R11, most);
	g_alu(&c->a, 1, G_CMP, gpr, rm_reg(R11));
	g_cmov(&c->a, 1, CC_A, gpr, rm_reg(R11));
}

/* The base, an immediate added, where it has to be a multiple of the element's size. */
static bool aligned(const struct scomp *c, const struct insn *in, const struct sindex *s)
{
	struct sval v = s_val(c, s->base, 1);
	u32 k = s_log2(in->size);

	if (v.known)
		return !((v.k + (u64)in->imm) & (in->size - 1));
	return v.ual >= k && !(in->imm & (in->size - 1));
}

/*
 * The last index that is good, in ymm2; with signs ymm1 is what is added to all of them first, those below the base. test: of the base it is to be asked whether it is aligned.
 */
static void limits(struct scomp *c, const struct insn *in, const struct sindex *s, bool test)
{
	u32 most = (s->sg ? INT32_MAX : UINT32_MAX) - STRIP;
	bool shared = in->space == SPACE_SHARED, far = !shared && c->fn->m->e->env.span_bytes >> s->shift > most;
	struct as *a = &c->a;

	s_to_gpr(c, s->base, 1, RCX);
	if (in->imm)
		g_alui(a, 1, G_ADD, rm_reg(RCX), (s32)in->imm);
	if (!shared)
		g_alu(a, 1, G_SUB, RCX, SPM(span_lo));
	g_load(a, 1, RDX, shared ? SPM(shared_total) : SPM(span_lim));
	g_alui(a, 1, G_SUB, rm_reg(RDX), in->size);
	s_slow_if(c, CC_B);
	g_alu(a, 1, G_SUB, RDX, rm_reg(RCX));
	s_slow_if(c, CC_B);
	if (test) {
		g_testi(a, RCX, in->size - 1u);
		s_slow_if(c, CC_NE);
	}
	if (s->shift)
		g_shi(a, 1, G_SHR, RDX, s->shift);
	if (far)
		at_most(c, RDX, most);
	if (s->sg) {
		if (s->shift)
			g_shi(a, 1, G_SHR, RCX, s->shift);
		if (far)
			at_most(c, RCX, most);
		vx_x(a, X_MOVD, 1, 0, rm_reg(RCX));
		vy(a, X_PBCASTD, 1, 0, rm_reg(1));
		g_alu(a, 0, G_ADD, RDX, rm_reg(RCX));
	}
	vx_x(a, X_MOVD, 2, 0, rm_reg(RDX));
	vy(a, X_PBCASTD, 2, 0, rm_reg(2));
}

/* The span is so large that from most of its places all that 32 bits say lies in it. The jump for when the base is such a place, 0: none is. */
static u32 reaches(struct scomp *c, const struct insn *in, const struct sindex *s)
{
	const struct engine_env *env = &c->fn->m->e->env;
	u64 below = s->sg ? 1ull << (31 + s->shift) : 0, above = 1ull << ((s->sg ? 31 : 32) + s->shift);
	struct as *a = &c->a;

	if (in->space == SPACE_SHARED || env->span_bytes < below + above + 2 * JIT_SLACK)
		return 0;
	s_to_gpr(c, s->base, 1, RCX);
	if (in->imm)
		g_alui(a, 1, G_ADD, rm_reg(RCX), (s32)in->imm);
	if (!aligned(c, in, s)) {
		g_testi(a, RCX, in->size - 1u);
		s_slow_if(c, CC_NE);
	}
	g_movi(a, RDX, env->span_base + below);
	g_alu(a, 1, G_SUB, RCX, rm_reg(RDX));
	g_movi(a, RDX, env->span_bytes - JIT_SLACK - below - above);
	g_alu(a, 1, G_CMP, RCX, rm_reg(RDX));
	return g_jcc(a, CC_BE);
}

/* The lanes' indices, in ymm0: those that run have been looked at. */
void s_index_check(struct scomp *c, const struct insn *in, const struct sindex *s)
{
	struct as *a = &c->a;
	u32 all;
	int x;

	x = sv(c, s->index, 0, 0, 0);
	if (x)
		vr(a, X_MOVU, 0, 0, x);
	if (s_by_scalar(c, in)) {
		if (!aligned(c, in, s)) {
			s_to_gpr(c, s->base, 1, RAX);
			if (in->imm)
				g_alui(a, 1, G_ADD, rm_reg(RAX), (s32)in->imm);
			g_testi(a, RAX, in->size - 1u);
			s_slow_if(c, CC_NE);
		}
		return;
	}
	all = reaches(c, in, s);
	limits(c, in, s, !all && !aligned(c, in, s));
	if (s->sg)
		vy(a, X_PADDD, 1, 0, rm_reg(1));
	x = s->sg ? 1 : 0;
	vy(a, X_PMINUD, 2, x, rm_reg(2));
	vr(a, X_PCMPEQD, 2, 2, x);
	vr(a, X_MOVMSKPS, RDX, 0, 2);
	g_alui(a, 0, G_XOR, rm_reg(RDX), 255);
	if (!s_all_run(c)) {
		if (c->guarded)
			s_mask_bits(c, RAX);
		g_op(a, 0, 0x85, RDX, rm_reg(c->guarded ? RAX : R12), 0);       /* test */
	}
	s_slow_if(c, CC_NE);
	if (all)
		g_here(a, all);
}

/* Lanes that do not run take the index of one that does: what is there may be loaded. ymm2 is lost. */
static void idle(struct scomp *c)
{
	struct as *a = &c->a;
	u32 all;

	if (s_all_run(c))
		return;
	all = s_if_all(c);
	s_mask_bits(c, RCX);
	g_tzcnt(a, RCX, rm_reg(RCX));
	vx_x(a, X_MOVD, 2, 0, rm_reg(RCX));
	vy(a, X_PBCASTD, 2, 0, rm_reg(2));
	vr(a, X_PERMD, 2, 2, 0);
	vyi(a, X_BLENDVPS, 0, 2, rm_reg(0), (u32)s_mask(c) << 4);
	g_here(a, all);
}

/* Where index 0 is: a register, rax or one that nothing changes here; *disp more. */
int s_index_origin(struct scomp *c, const struct insn *in, const struct sindex *s, s32 *disp)
{
	struct as *a = &c->a;
	struct sval v = s_val(c, s->base, 1);
	int r;

	*disp = (s32)in->imm;
	if (in->space != SPACE_SHARED)
		return sg(c, s->base, 1, RAX);
	if (v.known) {
		*disp += (s32)v.k;
		g_load(a, 1, RAX, SPM(shared));
		return RAX;
	}
	r = sg(c, s->base, 1, RAX);
	if (r != RAX)
		g_load(a, 1, RAX, rm_reg(r));
	g_alu(a, 1, G_ADD, RAX, SPM(shared));
	return RAX;
}

/* m[2] = where the lanes of half `half` of xmm x are; rcx and rdx are lost. */
static void two(struct scomp *c, const struct sindex *s, int x, u32 half, int base, s32 disp, struct rm *m)
{
	struct as *a = &c->a;

	if (half) {
		vx(a, X_PEXTRQ, 0, x, 0, rm_reg(RDX), 1);
		b1(a, 1);
	} else {
		vx_x(a, X_MOVQ_ST, x, 0, rm_reg(RDX));
	}
	if (s->sg)
		g_movsxd(a, RCX, rm_reg(RDX));
	else
		g_load(a, 0, RCX, rm_reg(RDX));
	g_shi(a, 1, s->sg ? G_SAR : G_SHR, RDX, 32);
	m[0] = rm_idx(base, RCX, s->shift, disp);
	m[1] = rm_idx(base, RDX, s->shift, disp);
}

/* As s_gather() leaves them: elements of 64 bits in ymm2 and ymm0, others in ymm2. */
void s_index_gather(struct scomp *c, const struct insn *in, const struct sindex *s)
{
	u32 op = in->size == 4 ? X_PINSRD : in->size == 2 ? X_PINSRW : X_PINSRB, h, i;
	struct as *a = &c->a;
	struct rm m[2];
	s32 disp;
	int base;

	idle(c);
	base = s_index_origin(c, in, s, &disp);
	vyi(a, X_EXTRACT, 0, 0, rm_reg(1), 1);
	for (h = 0; h < 2; h++) {
		int x = h ? 1 : 0, d = h ? (in->size == 8 ? 0 : 3) : 2;

		if (in->size < 4)
			vx_x(a, X_PXOR, d, d, rm_reg(d));
		for (i = 0; i < 2; i++) {
			int r = in->size == 8 && i ? 3 : d;

			two(c, s, x, i, base, disp, m);
			s_site(c);
			if (in->size == 8) {
				vx_x(a, X_MOVQ_LD, r, 0, m[0]);
				s_site(c);
				vx(a, X_MOVHPS, 0, r, r, m[1], 0);
				continue;
			}
			if (!i && in->size == 4) {
				vx_x(a, X_MOVD, d, 0, m[0]);
			} else {
				vx(a, op, 0, d, d, m[0], 1);
				b1(a, 2 * i * (4 / in->size));
			}
			s_site(c);
			vx(a, op, 0, d, d, m[1], 1);
			b1(a, (2 * i + 1) * (4 / in->size));
		}
		if (in->size == 8)
			vyi(a, X_INSERT, d, d, rm_reg(3), 1);
	}
	if (in->size < 8)
		vyi(a, X_INSERT, 2, 2, rm_reg(3), 1);
}

/* Elements of all lanes, in their order; the indices in ymm0. */
void s_index_store(struct scomp *c, const struct insn *in, const struct sindex *s)
{
	u32 op = in->size == 4 ? X_PEXTRD_TO : in->size == 2 ? X_PEXTRW_TO : X_PEXTRB_TO, h, i;
	struct as *a = &c->a;
	struct rm m[2];
	s32 disp;
	int base = s_index_origin(c, in, s, &disp), x = -1;

	for (h = 0; h < 2; h++) {
		if (h)
			vyi(a, X_EXTRACT, 0, 0, rm_reg(0), 1);
		if (in->size == 8) {
			x = sv(c, in->o[0], 1, h, 2);
		} else if (!h) {
			x = sv_obs(c, in->o[0], 0, 0, 2);
		} else {
			vyi(a, X_EXTRACT, x, 0, rm_reg(2), 1);
			x = 2;
		}
		for (i = 0; i < 2; i++) {
			two(c, s, 0, i, base, disp, m);
			if (in->size == 8) {
				if (i) {
					vyi(a, X_EXTRACT, x, 0, rm_reg(2), 1);
					x = 2;
				}
				s_site(c);
				vx_x(a, X_MOVQ_TO, x, 0, m[0]);
				s_site(c);
				vx_x(a, X_MOVHPS_TO, x, 0, m[1]);
				continue;
			}
			s_site(c);
			vx(a, op, 0, x, 0, m[0], 1);
			b1(a, 2 * i * (4 / in->size));
			s_site(c);
			vx(a, op, 0, x, 0, m[1], 1);
			b1(a, (2 * i + 1) * (4 / in->size));
		}
	}
}

/* In a round by lane (s_each_lane()), rcx its number, the indices in sprivate.lanes: where it is. rax and rcx are lost. */
struct rm s_index_place(struct scomp *c, const struct insn *in, const struct sindex *s)
{
	s32 disp;
	int base = s_index_origin(c, in, s, &disp);

	if (s->sg)
		g_movsxd(&c->a, RCX, s_mem_lanes_of(L_ADDR, RCX, 2));
	else
		g_load(&c->a, 0, RCX, s_mem_lanes_of(L_ADDR, RCX, 2));
	return rm_idx(base, RCX, s->shift, disp);
}

/* Flags: is the base, an immediate added, below `from`? rax and rcx are lost. */
void s_index_from(struct scomp *c, const struct insn *in, const struct sindex *s, u64 from)
{
	s_to_gpr(c, s->base, 1, RAX);
	if (in->imm)
		g_alui(&c->a, 1, G_ADD, rm_reg(RAX), (s32)in->imm);
	g_movi(&c->a, RCX, from);
	g_alu(&c->a, 1, G_CMP, RAX, rm_reg(RCX));
}

/* rax = where the first lane's element is, if those of the others follow it; flags for the jump that is taken if not. rcx, rdx, ymm1 to ymm3 are lost. */
u32 s_index_row(struct scomp *c, const struct sindex *s)
{
	static const u32 next[STRIP] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	struct as *a = &c->a;
	int x = sv(c, s->index, 0, 0, 1), r;
	struct sval v = s_val(c, s->base, 1);

	vx_x(a, X_MOVD_ST, x, 0, rm_reg(RCX));
	vy(a, X_PBCASTD, 2, 0, rm_reg(x));
	vy(a, X_PADDD, 2, 2, rm_lit(s_lit(c, next, 32), 0));
	vr(a, X_PCMPEQD, 2, 2, x);
	/* none of them wraps */
	if (s->sg) {
		vy(a, X_PCMPGTD, 3, x, s_splat32(c, INT32_MAX - STRIP));
		vr(a, X_PANDN, 2, 3, 2);
		g_movsxd(a, RCX, rm_reg(RCX));
	} else {
		vy(a, X_PMINUD, 3, x, s_splat32(c, UINT32_MAX - 1));
		vr(a, X_PCMPEQD, 3, 3, x);
		vr(a, X_PAND, 2, 2, 3);
	}
	vr(a, X_MOVMSKPS, RDX, 0, 2);
	if (v.known) {
		g_movi(a, RAX, v.k);
		g_lea(a, 1, RAX, rm_idx(RAX, RCX, s->shift, 0));
	} else {
		r = sg(c, s->base, 1, RAX);
		g_lea(a, 1, RAX, rm_idx(r, RCX, s->shift, 0));
	}
	g_alui(a, 0, G_CMP, rm_reg(RDX), 255);
	return g_jcc(a, CC_NE);
}
