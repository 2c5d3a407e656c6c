/* SPDX-License-Identifier: MIT */
/*
 * Loads and stores of a strip. Addresses that are a scalar with a step are checked by one comparison (the limit lies JIT_SLACK
 * below the end of the span); others lane by lane, all before the first access. What is not within, not aligned or not
 * mapped goes to the interpreter, which begins the instruction anew: nothing is written before that is known, and a thread's
 * vector is one access.
 */
#include "strip.h"
#include "mem.h"
#include "whole.h"
#include "vex.h"

#define FAR_OFF (1 << 30)       /* distances from a scalar are numbers of 32 bits */

/* Results in two vectors at once: sput() may use every temporary. */
static void put2(struct scomp *c, u32 v, int r0, int r1)
{
	if (c->guarded || s_blends(c, v)) {
		vy(&c->a, X_MOVU_ST, r1, 0, s_mem_lanes_at(L_COLS));
		sput(c, v, 0, r0);
		vy(&c->a, X_MOVU, 1, 0, s_mem_lanes_at(L_COLS));
		r1 = 1;
	} else {
		sput(c, v, 0, r0);
	}
	sput(c, v, 1, r1);
}

/* Is the address of a kind that is done here? */
bool s_can_be(const struct scomp *c, const struct insn *in)
{
	s32 bytes = (s32)in->size * in->vec;

	if (in->space == SPACE_PARAM || in->vec > 4 || in->imm != (s32)in->imm)
		return false;
	if (in->space == SPACE_LOCAL)
		return (s32)local_room(c->fn) >= bytes;
	return in->aw || in->space == SPACE_SHARED;
}

/* ---- addresses that are one scalar --------------------------------------------------------------- */

/* Can the lanes' addresses be checked as one, and is each aligned if the scalar is? */
bool s_mem_row(const struct scomp *c, const struct insn *in, struct sval *v)
{
	u32 bytes = (u32)in->size * in->vec, align = c->loose ? in->size : bytes, l;
	s32 lo, hi;

	*v = s_val(c, in->o[4], in->aw);
	if (v->cls != SC_SCALAR)
		return false;
	s_range(c, *v, &lo, &hi);
	if (in->space == SPACE_LOCAL && (s64)hi - lo + bytes > local_room(c->fn))
		return false;
	/* downwards, with lanes missing: a wave front. Those would lie in front of the array, and often of all shared memory */
	if (in->space == SPACE_SHARED && lo < 0 && c->cur && c->cur->keep)
		return false;
	for (l = 0; l < STRIP; l++)
		if (c->pats[v->pat][l] % (s32)align)
			return false;
	return (s64)hi - lo + bytes < JIT_SLACK / 2 && in->imm < FAR_OFF && in->imm > -FAR_OFF;
}

/* What is known of an address since an access in this block that was checked; a scalar is not changed meanwhile (forget() in code.c). */
static const struct snear *near_of(const struct scomp *c, const struct insn *in)
{
	u32 i;

	for (i = 0; i < c->nnear; i++)
		if (c->near[i].o == in->o[4] && c->near[i].shared == (in->space == SPACE_SHARED))
			return &c->near[i];
	return NULL;
}

/* Later accesses rely on it: then this one's other way leaves code (s_slow_ways). */
static void keep_near(struct scomp *c, const struct insn *in, struct snear n)
{
	u32 i;

	if (c->stage || in->space == SPACE_LOCAL || in->guard != OPND_NONE || !c->nslow || c->pc + 1 >= c->cur->end)
		return;
	for (i = 0; i < c->nnear && !(c->near[i].o == in->o[4] && c->near[i].shared == n.shared); i++)
		;
	if (i == S_NEAR)
		memmove(c->near, c->near + 1, --i * sizeof(*c->near));
	else if (i == c->nnear)
		c->nnear++;
	n.o = in->o[4];
	n.slow = c->nslow - 1;
	n.at = (s32)in->imm;
	c->near[i] = n;
}

/*
 * From *from to *to lie, as distances from the scalar, what the access at c->pc touches and what the others in shared memory by the
 * same register do that follow in this block: checked at once, for a block runs to its end or one of them faults.
 */
static void reach(const struct scomp *c, const struct insn *in, s32 *from, s32 *to)
{
	u32 pc, k;

	for (pc = c->pc + 1; pc < c->cur->end; pc++) {
		const struct insn *n = &c->code[pc];
		struct sval v;
		s32 lo, hi;

		for (k = 0; k < 6; k++)
			if ((n[-1].def >> k & 1) && n[-1].o[k] == in->o[4])
				return;
		if ((n->kind == K_EXIT || n->kind == K_RET) || s_sync_at(c, pc))
			return;
		if ((n->kind != K_LD && n->kind != K_ST) || n->space != SPACE_SHARED || n->guard != OPND_NONE || n->o[4] != in->o[4] || n->aw != in->aw ||
		    !s_mem_row(c, n, &v) || n->imm > 1 << 24 || n->imm < -(1 << 24))
			continue;
		s_range(c, v, &lo, &hi);
		lo += (s32)n->imm;
		hi += (s32)n->imm + (s32)(n->size * n->vec);
		*from = lo < *from ? lo : *from;
		*to = hi > *to ? hi : *to;
	}
}

/* Is it a place in shared memory that is known now, within what the function has for itself? */
static bool in_static(const struct scomp *c, const struct insn *in, struct sval v, s32 from, s32 to)
{
	return in->space == SPACE_SHARED && v.known && v.k < 1u << 24 && (s64)v.k + from >= 0 && (s64)v.k + to <= (s64)c->fn->shared_bytes;
}

/* ... aligned, too? Then nothing is checked. */
bool s_in_static(const struct scomp *c, const struct insn *in)
{
	u32 bytes = (u32)in->size * in->vec;
	struct sval v;
	s32 lo, hi;

	if (in->space != SPACE_SHARED || !s_mem_row(c, in, &v) || !v.known || in->imm > 1 << 24 || in->imm < -(1 << 24) ||
	    ((v.k + (u64)in->imm) & ((c->loose ? in->size : bytes) - 1)))
		return false;
	s_range(c, v, &lo, &hi);
	return in_static(c, in, v, (s32)in->imm + lo, (s32)in->imm + hi + (s32)bytes);
}

/* Where lane 0 finds it, checked for all of them: an operand of registers that nothing but rax, rcx and rdx changes (and rax). */
struct rm s_row_address(struct scomp *c, const struct insn *in, struct sval v)
{
	struct as *a = &c->a;
	u32 bytes = (u32)in->size * in->vec, align = c->loose ? in->size : bytes, ual = v.ual, k = s_log2(align), ext = 0;
	bool shared = in->space == SPACE_SHARED, local = in->space == SPACE_LOCAL, aligned;
	const struct snear *near = local ? NULL : near_of(c, in);
	s32 imm = (s32)in->imm, lo, hi, from, to, below = 0;
	bool has_base = !c->stage && c->base.at == a->n, own = false;
	int base, first;

	if (c->stage == WHOLE_STRIPS)
		return s_whole_row(c, in);
	s_range(c, v, &lo, &hi);
	if (shared && lo != hi && s_lanes_can(c)) {
		own = true;
		near = NULL;
	}
	if (!c->stage && s_in_static(c, in)) {
		if (!has_base)
			g_load(a, 1, RAX, SPM(shared));
		c->base.pc = c->pc;
		return rm_mem(RAX, (s32)v.k + imm);
	}
	if (imm > 1 << 24 || imm < -(1 << 24) || local) {
		s_to_gpr(c, in->o[4], in->aw, RAX);
		if (imm)
			g_alui(a, 1, G_ADD, rm_reg(RAX), imm);
		base = RAX;
		imm = 0;
	} else {
		base = sg(c, in->o[4], in->aw, RAX);
		if (shared && !in->aw && !in_static(c, in, v, imm + lo, imm + hi + (s32)bytes)) {
			/* as in s_lane_addresses() */
			g_movsxd(a, RAX, rm_reg(base));
			base = RAX;
		}
	}
	from = (s32)in->imm + lo;
	to = (s32)in->imm + hi + (s32)bytes;
	if (in->imm && (u32)__builtin_ctzll((u64)in->imm) < ual)
		ual = (u32)__builtin_ctzll((u64)in->imm);
	aligned = align == 1 || ual >= k || (near && near->ual >= k && !((in->imm - near->at) & (align - 1)));
	if (near && aligned && from >= near->from && to <= near->to) {
		c->slow[near->slow].leaves = true;
	} else if (!(in_static(c, in, v, from, to) && aligned)) {
		if (shared && (s32)in->imm == imm && !c->stage && !own)
			reach(c, in, &from, &to);
		first = base;
		if (from != (s32)in->imm - imm) {
			first = shared || local ? RDX : RCX;
			g_lea(a, 1, first, rm_mem(base, from - ((s32)in->imm - imm)));
		}
		if (local) {
			/* each thread has its own, as far as its bytes are */
			g_alui(a, 1, G_CMP, rm_reg(first), (s32)local_room(c->fn) - (to - from));
			s_slow_if(c, CC_A);
		} else if (shared && s_own_shared(c, (u32)(to - from))) {
			g_alui(a, 1, G_CMP, rm_reg(first), (s32)(c->fn->shared_bytes - (u32)(to - from)));
			s_slow_if(c, CC_A);
		} else if (shared) {
			g_load(a, 1, RCX, SPM(shared_total));
			g_alui(a, 1, G_SUB, rm_reg(RCX), to - from);
			s_slow_if(c, CC_B);
			g_alu(a, 1, G_CMP, first, rm_reg(RCX));
			s_slow_if(c, CC_A);
		} else {
			if (first != RCX)
				g_load(a, 1, RCX, rm_reg(first));
			g_alu(a, 1, G_SUB, RCX, SPM(span_lo));
			g_alu(a, 1, G_CMP, RCX, SPM(span_lim));
			s_slow_if(c, CC_A);
			ext = (u32)(to - from);
			to = from + (s32)JIT_SLACK;
			below = JIT_BELOW;
		}
		if (align > 1 && ual < k) {
			if (imm)
				g_lea(a, 0, RDX, rm_mem(base, imm));
			g_testi(a, imm ? RDX : base, align - 1);
			s_slow_if(c, CC_NE);
		}
		if (own)
			s_lanes_have(c, NULL, 0);
		else
			keep_near(c, in, (struct snear){ .from = from - below, .to = to, .ual = (u8)(k > v.ual ? k : 0), .shared = shared });
		if (ext && (!c->stage || (c->stage == WHOLE_CHECKS && !c->whole_way->round)))
			s_ask_ahead(c, base, from - ((s32)in->imm - imm), ext);
	}
	if (in->kind == K_ST && !shared && !local && !c->stage && v.pat)
		s_ask_for_next(c, rm_mem(base, imm), false);
	if (shared) {
		if (base == RAX) {
			g_alu(a, 1, G_ADD, RAX, SPM(shared));
			return rm_mem(RAX, imm);
		}
		if (!has_base)
			g_load(a, 1, RAX, SPM(shared));
		c->base.pc = c->pc;
		return rm_idx(RAX, base, 0, imm);
	}
	if (local) {
		s_local_base(c);
		g_alu(a, 1, G_ADD, RAX, rm_reg(RCX));
	}
	return rm_mem(base, imm);
}

/* ---- loads --------------------------------------------------------------------------------------- */

/* r11 = what lies at m, extended */
static void load_gpr(struct scomp *c, const struct insn *in, int gpr, struct rm m)
{
	struct as *a = &c->a;
	bool sg = in->flags & INF_SIGNED;

	if (in->size == 8)
		g_load(a, 1, gpr, m);
	else if (in->size == 4 && sg && in->dw)
		g_movsxd(a, gpr, m);
	else if (in->size == 4)
		g_load(a, 0, gpr, m);
	else
		g_movx(a, in->dw, sg, in->size, gpr, m);
}

static void put_scalar(struct scomp *c, const struct insn *in, u32 v, int gpr)
{
	u32 p;

	if (c->r[v].v.cls == SC_SCALAR) {
		sg_put(c, v, gpr);
		return;
	}
	for (p = 0; p < (in->dw ? 2u : 1u); p++) {
		vx_x(&c->a, in->dw ? X_MOVQ : X_MOVD, 0, 0, rm_reg(gpr));
		vy(&c->a, in->dw ? X_PBCASTQ : X_PBCASTD, 0, 0, rm_reg(0));
		sput(c, v, p, 0);
	}
}

static void load_one(struct scomp *c, const struct insn *in, struct rm m)
{
	struct as *a = &c->a;
	u32 bytes = (u32)in->size * in->vec, v;

	if (in->vec == 1) {
		s_site(c);
		if (in->size == 4 && !in->dw && in->o[0] != OPND_NONE && c->r[in->o[0]].v.cls == SC_VARY) {
			int d = sdst(c, in->o[0], 0, 0);

			vy(a, X_PBCASTD, d, 0, m);
			sput(c, in->o[0], 0, d);
			c->base.kept = true;
			return;
		}
		if (in->size == 8 && in->dw && in->o[0] != OPND_NONE && c->r[in->o[0]].v.cls == SC_VARY) {
			int d = sdst(c, in->o[0], 0, 0), d2 = sdst(c, in->o[0], 1, 1);

			vy(a, X_PBCASTQ, d, 0, m);
			vr(a, X_MOVU, d2, 0, d);
			put2(c, in->o[0], d, d2);
			c->base.kept = true;
			return;
		}
		load_gpr(c, in, RAX, m);
		if (in->o[0] != OPND_NONE)
			put_scalar(c, in, in->o[0], RAX);
		return;
	}
	s_site(c);
	if (bytes == 16) {
		vx_x(a, X_MOVU, 0, 0, m);
		vx_x(a, X_MOVU_ST, 0, 0, s_mem_lanes_at(L_ROWS));
	} else {
		if (bytes == 8)
			g_load(a, 1, RAX, m);
		else if (bytes == 4)
			g_load(a, 0, RAX, m);
		else
			g_movx(a, 0, 0, 2, RAX, m);
		g_store(a, 1, s_mem_lanes_at(L_ROWS), RAX);
	}
	for (v = 0; v < in->vec; v++)
		if (in->o[v] != OPND_NONE) {
			load_gpr(c, in, RAX, s_mem_lanes_at(L_ROWS + v * in->size));
			put_scalar(c, in, in->o[v], RAX);
		}
}

static const s32 apart8[STRIP] = { 0, 8, 16, 24, 32, 40, 48, 56 }, apart16[STRIP] = { 0, 16, 32, 48, 64, 80, 96, 112 };

/*
 * Elements of up to 32 bits, dwords apart, of which four lanes each lie within 32 bytes: two rows, and each lane's dword out of them. Behind the last
 * element the span goes on (JIT_SLACK).
 */
static bool load_windows(struct scomp *c, const struct insn *in, struct rm m, const s32 *p)
{
	struct as *a = &c->a;
	bool several = false;
	s32 lo[2], i;
	u32 at[STRIP];

	if (in->space == SPACE_SHARED || in->space == SPACE_LOCAL || in->dw || in->size > 4)
		return false;
	for (i = 0; i < (s32)STRIP; i++) {
		s32 *l = &lo[i >> 2];

		*l = i & 3 ? (p[i] < *l ? p[i] : *l) : p[i];
	}
	for (i = 0; i < (s32)STRIP; i++) {
		s32 d = p[i] - lo[i >> 2];

		if (d > 28 || (d & 3))
			return false;
		at[i] = (u32)d / 4;
		several |= d != 0;
	}
	/* four lanes at one place are a broadcast (column.c) */
	if (!several)
		return false;
	vy(a, X_MOVU, 2, 0, rm_lit(s_lit(c, at, 32), 0));
	s_site(c);
	vy(a, X_PERMD, 0, 2, s_off(m, lo[0]));
	s_site(c);
	vy(a, X_PERMD, 1, 2, s_off(m, lo[1]));
	vyi(a, X_PBLENDD, 0, 0, rm_reg(1), 0xf0);
	if (in->size < 4 && (in->flags & INF_SIGNED)) {
		vyi(a, X_SHID, SH_LEFT, 0, rm_reg(0), 32 - 8 * in->size);
		vyi(a, X_SHID, SH_SAR, 0, rm_reg(0), 32 - 8 * in->size);
	} else if (in->size < 4) {
		vy(a, X_PAND, 0, 0, s_splat32(c, (1u << 8 * in->size) - 1));
	}
	sput(c, in->o[0], 0, 0);
	return true;
}

/*
 * Bytes and halves of which four lanes each lie within 16 bytes, as one channel of a picture's three does: both pieces side by side, and each lane's own out of
 * them. They begin where the first element lies, or so that they end where the last one does: what lies beside the others is the page's as well.
 */
static bool load_pieces(struct scomp *c, const struct insn *in, struct rm m, const s32 *p)
{
	struct as *a = &c->a;
	u8 from[32];
	s32 lo[2], hi, all = 0, i, k;

	if (in->space == SPACE_SHARED || in->space == SPACE_LOCAL)
		return false;
	for (i = 0; i < (s32)STRIP; i += 4) {
		lo[i >> 2] = hi = p[i];
		for (k = i + 1; k < i + 4; k++) {
			lo[i >> 2] = p[k] < lo[i >> 2] ? p[k] : lo[i >> 2];
			hi = p[k] > hi ? p[k] : hi;
		}
		if (hi + in->size - lo[i >> 2] > 16)
			return false;
		if (i && hi > all)
			lo[1] = hi + in->size - 16;
		all = hi;
	}
	for (i = 0; i < (s32)STRIP; i++)
		for (k = 0; k < 4; k++)
			from[4 * i + k] = k < in->size ? (u8)(p[i] - lo[i >> 2] + k) : 0x80;
	s_site(c);
	vx(a, X_MOVU, 0, 0, 0, s_off(m, lo[0]), 0);
	s_site(c);
	vyi(a, X_INSERT, 0, 0, s_off(m, lo[1]), 1);
	vy(a, X_PSHUFB, 0, 0, rm_lit(s_lit(c, from, 32), 0));
	if (in->flags & INF_SIGNED) {
		vyi(a, X_SHID, SH_LEFT, 0, rm_reg(0), 32 - 8 * in->size);
		vyi(a, X_SHID, SH_SAR, 0, rm_reg(0), 32 - 8 * in->size);
	}
	sput(c, in->o[0], 0, 0);
	return true;
}

/* Lanes at known distances from m; false: not of a kind that is done so */
static bool load_pattern(struct scomp *c, const struct insn *in, struct rm m, const s32 *p)
{
	struct as *a = &c->a;
	bool sg = in->flags & INF_SIGNED;
	u32 l;

	if (in->vec > 1) {
		if (in->size == 4 && !in->dw)
			s_columns(c, in, m, p, true);
		else
			s_wide_columns(c, in, m, p, true);
		return true;
	}
	if (in->dw) {
		/* each half is complete before the next one's register is used */
		s_mem_rows(c, m, p, 0, 2, true);
		s_mem_rows(c, m, p + 4, 1, 2, true);
		put2(c, in->o[0], 0, 1);
		return true;
	}
	if (in->size == 4) {
		if (!s_twin(c, m, p)) {
			if (load_windows(c, in, m, p))
				return true;
			s_mem_four(c, 0, m, p);
			s_mem_four(c, 1, m, p + 4);
			vyi(a, X_INSERT, 0, 0, rm_reg(1), 1);
		}
		sput(c, in->o[0], 0, 0);
		return true;
	}
	for (l = 0; l < STRIP && p[l] == 4 * (s32)l; l++)
		;
	if (l == STRIP && in->space != SPACE_SHARED && in->space != SPACE_LOCAL) {
		/* the first bytes of words side by side; behind the last ones the span goes on (JIT_SLACK) */
		if (sg) {
			s_site(c);
			vy(a, X_MOVU, 0, 0, m);
			vyi(a, X_SHID, SH_LEFT, 0, rm_reg(0), 32 - 8 * in->size);
			vyi(a, X_SHID, SH_SAR, 0, rm_reg(0), 32 - 8 * in->size);
		} else {
			vy(a, X_MOVU, 0, 0, s_splat32(c, (1u << 8 * in->size) - 1));
			s_site(c);
			vy(a, X_PAND, 0, 0, m);
		}
		sput(c, in->o[0], 0, 0);
		return true;
	}
	if (load_windows(c, in, m, p) || load_pieces(c, in, m, p))
		return true;
	s_mem_eight(c, in->size, m, p);
	vr(a, in->size == 2 ? (sg ? X_PMOVSXWD : X_PMOVZXWD) : sg ? X_PMOVSXBD : X_PMOVZXBD, 0, 0, 0);
	sput(c, in->o[0], 0, 0);
	return true;
}

/* Lanes next to each other at m; false: not of a kind that is done so */
static bool load_row(struct scomp *c, const struct insn *in, struct rm m)
{
	struct as *a = &c->a;
	bool sg = in->flags & INF_SIGNED;
	u32 op;
	int d, d2;

	if (in->vec > 1) {
		if (in->size == 4 && !in->dw)
			s_columns(c, in, m, in->vec == 2 ? apart8 : apart16, true);
		else if (in->size == 8 && in->vec == 2)
			s_wide_columns(c, in, m, apart16, true);
		else
			return false;
		return true;
	}
	if (in->o[0] == OPND_NONE)
		return false;
	if (!in->dw) {
		c->base.kept = true;
		if (s_fold(c, in, m))
			return true;
		d = sdst(c, in->o[0], 0, 0);
		op = in->size == 4 ? X_MOVU : in->size == 2 ? (sg ? X_PMOVSXWD : X_PMOVZXWD) : sg ? X_PMOVSXBD : X_PMOVZXBD;
		s_site(c);
		vy(a, op, d, 0, m);
		sput(c, in->o[0], 0, d);
		return true;
	}
	switch (in->size) {
	case 8: op = X_MOVU; break;
	case 4: op = sg ? X_PMOVSXDQ : X_PMOVZXDQ; break;
	case 2: op = sg ? X_PMOVSXWQ : X_PMOVZXWQ; break;
	default: op = sg ? X_PMOVSXBQ : X_PMOVZXBQ;
	}
	c->base.kept = true;
	if (s_fold(c, in, m))
		return true;
	/* what is loaded first is nobody's address: that is a scalar */
	d = sdst(c, in->o[0], 0, 0);
	d2 = sdst(c, in->o[0], 1, 1);
	s_site(c);
	vy(a, op, d, 0, m);
	s_site(c);
	vy(a, op, d2, 0, s_off(m, 4 * in->size));
	put2(c, in->o[0], d, d2);
	return true;
}

/* rax and rcx = the two addresses in xmm x */
static void two_addresses(struct as *a, int x)
{
	vx_x(a, X_MOVQ_ST, x, 0, rm_reg(RAX));
	vx(a, X_PEXTRQ, 0, x, 0, rm_reg(RCX), 1);
	b1(a, 1);
}

/* xmm d = four elements of up to 32 bits at the addresses in ymm x, which is lost; the others of a lane's 32 are 0 */
static void four_words(struct scomp *c, int d, int x, u32 size)
{
	struct as *a = &c->a;
	u32 op = size == 4 ? X_PINSRD : size == 2 ? X_PINSRW : X_PINSRB, i;

	if (size < 4)
		vx_x(a, X_PXOR, d, d, rm_reg(d));
	for (i = 0; i < 4; i += 2) {
		if (i)
			vyi(a, X_EXTRACT, x, 0, rm_reg(x), 1);
		two_addresses(a, x);
		s_site(c);
		if (!i && size == 4) {
			vx_x(a, X_MOVD, d, 0, rm_mem(RAX, 0));
		} else {
			vx(a, op, 0, d, d, rm_mem(RAX, 0), 1);
			b1(a, i * (4 / size));
		}
		s_site(c);
		vx(a, op, 0, d, d, rm_mem(RCX, 0), 1);
		b1(a, (i + 1) * (4 / size));
	}
}

/* ymm d = four of 64 bits; ymm tmp is lost */
static void four_wide(struct scomp *c, int d, int x, int tmp)
{
	struct as *a = &c->a;
	int i, r;

	for (i = 0; i < 2; i++) {
		r = i ? tmp : d;
		if (i)
			vyi(a, X_EXTRACT, x, 0, rm_reg(tmp), 1);
		two_addresses(a, i ? tmp : x);
		s_site(c);
		vx_x(a, X_MOVQ_LD, r, 0, rm_mem(RAX, 0));
		s_site(c);
		vx(a, X_MOVHPS, 0, r, r, rm_mem(RCX, 0), 0);
	}
	vyi(a, X_INSERT, d, d, rm_reg(tmp), 1);
}

/* ymm0 and ymm2 = a row of 8 bytes for each lane, at the addresses that have been stored (s_store_addresses()) */
void s_lanes_rows8(struct scomp *c)
{
	struct as *a = &c->a;
	u32 i;

	for (i = 0; i < STRIP; i += 2) {
		int d = i < 4 ? 0 : 2, r = i & 2 ? 3 : d;

		g_load(a, 1, RAX, s_mem_lanes_at(L_ADDR + 8 * i));
		g_load(a, 1, RCX, s_mem_lanes_at(L_ADDR + 8 * i + 8));
		s_site(c);
		vx_x(a, X_MOVQ_LD, r, 0, rm_mem(RAX, 0));
		s_site(c);
		vx(a, X_MOVHPS, 0, r, r, rm_mem(RCX, 0), 0);
		if (i & 2)
			vyi(a, X_INSERT, d, d, rm_reg(3), 1);
	}
}

void s_gather(struct scomp *c, u32 size)
{
	s_idle_lanes(c, L_IDLE);
	if (size == 8) {
		four_wide(c, 2, 0, 3);
		four_wide(c, 0, 1, 3);
	} else {
		four_words(c, 2, 0, size);
		four_words(c, 0, 1, size);
		vyi(&c->a, X_INSERT, 2, 2, rm_reg(0), 1);
	}
}

/* Rows of 16 bytes, to L_ROWS. */
static void gather_rows(struct scomp *c)
{
	struct as *a = &c->a;
	u32 i;

	s_idle_lanes(c, L_IDLE);
	for (i = 0; i < STRIP; i += 2) {
		int x = i < 4 ? 0 : 1;

		if (i & 2)
			vyi(a, X_EXTRACT, x, 0, rm_reg(x), 1);
		two_addresses(a, x);
		s_site(c);
		vx_x(a, X_MOVU, 2, 0, rm_mem(RAX, 0));
		vx_x(a, X_MOVU_ST, 2, 0, s_mem_lanes_at(L_ROWS + 16 * i));
		s_site(c);
		vx_x(a, X_MOVU, 3, 0, rm_mem(RCX, 0));
		vx_x(a, X_MOVU_ST, 3, 0, s_mem_lanes_at(L_ROWS + 16 * i + 16));
	}
}

bool s_load_lanes(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	const struct sindex *s;
	bool sg = in->flags & INF_SIGNED;
	u32 bytes = (u32)in->size * in->vec, no[S_NO_ROW], n, done = 0, v;

	if (in->vec == 1 && in->o[0] == OPND_NONE)
		return false;
	if (in->vec > 1 && !(in->size == 4 && !in->dw) && !(in->size == 8 && in->vec == 2) && (in->dw || bytes > 8))
		return false;
	if (s_may_be_row(c, in)) {
		struct rm m = s_run_row(c, in, no, &n);
		int d = sdst(c, in->o[0], 0, 0);

		s_site(c);
		vy(a, X_MOVU, d, 0, m);
		sput(c, in->o[0], 0, d);
		done = g_jmp(a);
		while (n)
			g_here(a, no[--n]);
	}
	s = in->vec == 1 ? s_index_of(c, in->o[4]) : NULL;
	if (s)
		s_index_check(c, in, s);
	else
		s_lane_addresses(c, in);
	if (in->vec == 1 && in->size == 8) {
		if (!in->dw)
			return false;
		if (s)
			s_index_gather(c, in, s);
		else
			s_gather(c, 8);
		put2(c, in->o[0], 2, 0);
		return true;
	}
	if (in->vec == 1) {
		if (s)
			s_index_gather(c, in, s);
		else
			s_gather(c, in->size);
		if (sg && in->size < 4) {
			vyi(a, X_SHID, SH_LEFT, 2, rm_reg(2), 32 - 8 * in->size);
			vyi(a, X_SHID, SH_SAR, 2, rm_reg(2), 32 - 8 * in->size);
		}
		if (in->dw) {
			vyi(a, X_EXTRACT, 2, 0, rm_reg(1), 1);
			vr(a, sg ? X_PMOVSXDQ : X_PMOVZXDQ, 1, 0, 1);
			vr(a, sg ? X_PMOVSXDQ : X_PMOVZXDQ, 0, 0, 2);
			put2(c, in->o[0], 0, 1);
		} else {
			sput(c, in->o[0], 0, 2);
		}
		if (done)
			g_here(a, done);
		return true;
	}
	if (bytes == 16) {
		gather_rows(c);
	} else {
		s_gather(c, bytes);
		if (bytes == 8) {
			vr(a, X_MOVU, 1, 0, 0);
			vr(a, X_MOVU, 0, 0, 2);
		} else {
			vyi(a, X_EXTRACT, 2, 0, rm_reg(1), 1);
			vr(a, X_PMOVZXDQ, 1, 0, 1);
			vr(a, X_PMOVZXDQ, 0, 0, 2);
		}
		vy(a, X_MOVU_ST, 0, 0, s_mem_lanes_at(L_ROWS));
		vy(a, X_MOVU_ST, 1, 0, s_mem_lanes_at(L_ROWS + 32));
	}
	if (in->size == 4) {
		s_columns(c, in, s_mem_lanes_at(L_ROWS), in->vec == 2 ? apart8 : apart16, false);
		return true;
	}
	if (in->size == 8) {
		s_wide_columns(c, in, s_mem_lanes_at(L_ROWS), apart16, false);
		return true;
	}
	/* bytes and halves: each out of the row's 64 bits */
	for (v = 0; v < in->vec; v++) {
		if (in->o[v] == OPND_NONE)
			continue;
		vy(a, X_MOVU, 0, 0, s_mem_lanes_at(L_ROWS));
		vy(a, X_MOVU, 1, 0, s_mem_lanes_at(L_ROWS + 32));
		if (v) {
			vyi(a, X_SHIQ, SH_RIGHT, 0, rm_reg(0), 8 * v * in->size);
			vyi(a, X_SHIQ, SH_RIGHT, 1, rm_reg(1), 8 * v * in->size);
		}
		vyi(a, X_SHUFPS, 0, 0, rm_reg(1), 0x88);
		vyi(a, X_PERMQ, 0, 0, rm_reg(0), 0xd8);
		vyi(a, X_SHID, SH_LEFT, 0, rm_reg(0), 32 - 8 * in->size);
		vyi(a, X_SHID, sg ? SH_SAR : SH_RIGHT, 0, rm_reg(0), 32 - 8 * in->size);
		sput(c, in->o[v], 0, 0);
	}
	return true;
}

bool s_ld(struct scomp *c, const struct insn *in)
{
	struct sval v, x;
	u32 k;

	if (!s_can_be(c, in))
		return false;
	if (!s_mem_row(c, in, &v))
		goto lanes;
	/* where the lanes' bytes are: those of local memory lie a thread's share apart */
	x = in->space == SPACE_LOCAL ? s_with_step(c, v, jit_local_stride(c->fn)) : v;
	if (x.cls != SC_SCALAR)
		goto lanes;
	if (!x.pat) {
		load_one(c, in, s_row_address(c, in, v));
		return true;
	}
	if (in->vec > 1 && !(in->size == 4 && !in->dw) && !(in->size == 8 && in->vec == 2))
		goto lanes;
	if (in->vec == 1 && in->o[0] == OPND_NONE)
		return false;
	if (s_linear(c, x, (s32)(in->size * in->vec))) {
		struct rm m = s_row_address(c, in, v);

		if (in->space != SPACE_SHARED && in->space != SPACE_LOCAL && !c->stage)
			s_ask_for_next(c, m, false);
		return load_row(c, in, m);
	}
	if (in->vec == 1 && (in->size == 8) != in->dw)
		goto lanes;
	if (s_quad_load(c, in))
		return true;
	return load_pattern(c, in, s_row_address(c, in, v), c->pats[x.pat]);
lanes:
	if (s_quad_load(c, in))
		return true;
	for (k = 0; k < in->vec; k++)
		if (in->o[k] != OPND_NONE && c->r[in->o[k]].v.cls == SC_SCALAR)
			return false;
	return s_load_lanes(c, in);
}
