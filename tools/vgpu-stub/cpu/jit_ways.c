/* SPDX-License-Identifier: MIT */
/*
 * The JIT's code around the code: the way in, the ways out at exits and back in at entries, from warp to warp and from
 * block to block. Called by jit.c when everything else is emitted; jit_run.c is on the other side.
 *
 * Invariant: on the outside every register is in P, those that have no home there in the place of their register.
 */
#include "jit.h"

static void push(struct as *a, int r)
{
	as_room(a, 8);
	if (r >= 8)
		b1(a, 0x41);
	b1(a, 0x50 | (u32)(r & 7));
}

static void pop(struct as *a, int r)
{
	as_room(a, 8);
	if (r >= 8)
		b1(a, 0x41);
	b1(a, 0x58 | (u32)(r & 7));
}

/* u64 code(P, frame, tstate, pool, target) */
void jit_way_in(struct jcomp *c)
{
	struct as *a = &c->a;

	push(a, RBX);
	push(a, RBP);
	push(a, R12);
	push(a, R13);
	push(a, R14);
	push(a, R15);
	g_load(a, 1, RBX, rm_reg(RDI));
	g_load(a, 1, R13, rm_reg(RSI));
	g_load(a, 1, R14, rm_reg(RDX));
	g_load(a, 1, R12, rm_reg(RCX));
	g_load(a, 1, RAX, rm_reg(R8));
	if (c->pin)
		g_load(a, 1, RBP, PM(shared));
	k_load(a, 1, PM(m));
	k_shr(a, 2, 1, 8);
	k_shr(a, 3, 1, 16);
	k_shr(a, 4, 1, 24);
	a->k_held |= JK_GROUP;
	g_op(a, 0, 0xff, 4, rm_reg(RAX), 0);
}

static void epilogue(struct jcomp *c)
{
	struct as *a = &c->a;

	as_room(a, 16);
	b1(a, 0xc5);    /* vzeroupper */
	b1(a, 0xf8);
	b1(a, 0x77);
	pop(a, R15);
	pop(a, R14);
	pop(a, R13);
	pop(a, R12);
	pop(a, RBP);
	pop(a, RBX);
	as_room(a, 8);
	b1(a, 0xc3);
}

/* Registers of all live values, between P and where code keeps them. */
static void transfer(struct jcomp *c, u32 live, u32 n, bool load)
{
	struct as *a = &c->a;
	u32 i, k;

	for (i = 0; i < n; i++) {
		const struct jreg *r = &c->r[c->lives[live + i]];

		if (r->loc == LOC_GPR && load)
			g_load(a, 1, r->reg, rm_mem(RBX, (s32)r->home));
		else if (r->loc == LOC_GPR)
			g_store(a, 1, rm_mem(RBX, (s32)r->home), r->reg);
		for (k = 0; r->loc == LOC_ZMM && k < (r->w ? 4u : 2u); k++)
			ev(a, load ? V_MOVA32 : V_MOVA32_ST, r->reg + (int)k, 0, rm_mem(RBX, (s32)(r->home + 64 * k)));
	}
}

/* Every register that any value is kept in, live or not. */
static void transfer_all(struct jcomp *c, bool load)
{
	struct as *a = &c->a;
	u32 zmm = 0, gpr = 0, v, k;

	for (v = 0; v < c->s->nregs; v++) {
		const struct jreg *r = &c->r[v];

		if (r->loc == LOC_GPR)
			gpr |= 1u << r->reg;
		if (r->loc == LOC_ZMM)
			zmm |= (r->w ? 15u : 3u) << r->reg;
	}
	zmm |= c->lit_regs;
	for (k = 0; k < 8; k++)
		if (gpr >> jit_gprs[k] & 1) {
			if (load)
				g_load(a, 1, jit_gprs[k], rm_mem(RBX, PSZ(gpr) + 8 * (s32)k));
			else
				g_store(a, 1, rm_mem(RBX, PSZ(gpr) + 8 * (s32)k), jit_gprs[k]);
		}
	for (k = JZ_FIRST; k < 32; k++)
		if (zmm >> k & 1)
			ev(a, load ? V_MOVA32 : V_MOVA32_ST, (int)k, 0, rm_mem(RBX, JP_ZMM + 64 * (s32)(k - JZ_FIRST)));
}

#define TS(f) rm_mem(R14, (s32)offsetof(struct tstate, f))

/* The first warp of the block is the next one. */
static void first_warp(struct jcomp *c)
{
	struct as *a = &c->a;

	g_load(a, 0, RCX, TS(block_chain));
	g_store(a, 0, TS(chain), RCX);
	g_load(a, 1, R13, TS(block_f));
	g_load(a, 1, RBX, TS(block_p));
}

/* Where all go on that have come to exit i, a barrier or the end of a round; 0: nobody knows. */
static u32 behind(const struct jcomp *c, u32 i)
{
	const struct insn *in = &c->code[c->exits[i].pc];
	struct jval id;

	if (c->exits[i].kind == JX_TURN)
		return c->entry_at[c->exits[i].to];
	id = jit_val(c, in->o[1], 0);
	return in->o[2] != OPND_NONE || !id.known || id.k >= CTA_BARRIERS ? 0 : c->entry_at[c->exits[i].pc + 1];
}

/*
 * The last warp of a block has come to exit i as all others did: they go on from entry n, if they may. The mask is in rax
 * before and after. out: to where C sees to it.
 */
static void next_phase(struct jcomp *c, u32 n, u32 *out, struct jfix *fix)
{
	struct as *a = &c->a;

	g_op(a, 0, 0x80, G_CMP, TS(whole), 1);
	b1(a, 0);
	out[0] = g_jcc(a, CC_E);
	g_load(a, 1, RCX, TS(left));
	g_alu(a, 1, G_ADD, RCX, TS(budget));
	g_alui(a, 1, G_CMP, rm_reg(RCX), 0);
	out[1] = g_jcc(a, CC_LE);
	g_load(a, 1, RDX, TS(phase_budget));
	g_alu(a, 1, G_CMP, RCX, rm_reg(RDX));
	g_cmov(a, 1, CC_L, RDX, rm_reg(RCX));
	g_store(a, 1, TS(budget), RDX);
	g_lea(a, 1, RCX, rm_mem(RCX, -16));
	g_alu(a, 1, G_SUB, RCX, rm_reg(RDX));
	g_store(a, 1, TS(left), RCX);
	g_movi(a, RCX, n);
	g_store(a, 0, TS(entry), RCX);
	as_room(a, 8);
	b1(a, 0x48);                    /* lea rcx, [rip + to the entry] */
	b1(a, 0x8d);
	b1(a, 0x0d);
	b4(a, 0);
	*fix = (struct jfix){ a->n - 4, n };
	g_store(a, 1, TS(chain_at), RCX);
	g_alui(a, 0, G_ADD, TS(phases), 1);
	first_warp(c);
}

/* A warp ends a round: what chain() finds out for the others. If it is not the next one's turn, it goes on itself. */
static void no_turn(struct jcomp *c, u32 i)
{
	struct as *a = &c->a;
	u32 own[3], same, first, k;

	g_op(a, 0, 0x80, G_CMP, TS(turns), 1);
	b1(a, 0);
	own[0] = g_jcc(a, CC_E);
	g_load(a, 0, RAX, PM(m));
	g_alu(a, 0, G_CMP, RAX, rm_mem(R13, (s32)offsetof(struct frame, lanes)));
	own[1] = g_jcc(a, CC_NE);
	g_alui(a, 0, G_CMP, TS(chain_exit), (s32)i);
	same = g_jcc(a, CC_E);
	g_load(a, 0, RAX, TS(chain));
	g_alu(a, 0, G_CMP, RAX, TS(block_chain));
	own[2] = g_jcc(a, CC_NE);
	first = g_jmp(a);
	for (k = 0; k < 3; k++)
		g_here(a, own[k]);
	g_land(a, g_jmp(a), c->around[block_no(c, c->exits[i].to)]);
	g_here(a, first);
	g_movi(a, RAX, i);
	g_store(a, 0, TS(chain_exit), RAX);
	g_load(a, 0, RAX, PM(m));
	g_here(a, same);
}

/*
 * A warp leaves by exit i: its end, or a barrier where all of it arrives. So may the next one, without leaving code; after the last one
 * the first one again, behind the barrier or of the next block of the row. fix: a displacement for which the entry's place is wanted.
 */
static void chain(struct jcomp *c, u32 i, struct jfix *fix)
{
	struct as *a = &c->a;
	u32 stride = ((c->fn->frame_bytes + 63) & ~63u) + ((c->home_next + 63) & ~63u), out[6], nout = 0, k, warp, block = 0, same;

	if (c->exits[i].kind != JX_TURN) {
		g_alui(a, 0, G_CMP, TS(chain_exit), (s32)i);
		same = g_jcc(a, CC_E);
		/* the first one says by which exit */
		g_load(a, 0, RAX, TS(chain));
		g_alu(a, 0, G_CMP, RAX, TS(block_chain));
		out[nout++] = g_jcc(a, CC_NE);
		g_op(a, 0, 0x80, G_CMP, TS(whole), 1);
		b1(a, 0);
		out[nout++] = g_jcc(a, CC_E);
		g_movi(a, RAX, i);
		g_store(a, 0, TS(chain_exit), RAX);
		g_here(a, same);
		g_load(a, 0, RAX, PM(m));
		g_alu(a, 0, G_CMP, RAX, rm_mem(R13, (s32)offsetof(struct frame, lanes)));
		out[nout++] = g_jcc(a, CC_NE);
	}
	g_alui(a, 0, G_SUB, TS(chain), 1);
	if (c->exits[i].kind == JX_DONE) {
		warp = g_jcc(a, CC_NS);
		g_alui(a, 0, G_SUB, TS(row), 1);
		out[nout++] = g_jcc(a, CC_S);
		g_load(a, 1, RCX, TS(block_budget));
		g_store(a, 1, TS(budget), RCX);
		g_load(a, 1, RCX, TS(block_at));
		g_store(a, 1, TS(chain_at), RCX);
		g_load(a, 0, RCX, TS(block_entry));
		g_store(a, 0, TS(entry), RCX);
		g_load(a, 1, RCX, rm_mem(R13, (s32)offsetof(struct warp, cta) - (s32)offsetof(struct warp, main)));
		g_alui(a, 0, G_ADD, rm_mem(RCX, (s32)offsetof(struct cta, id)), (s32)jit_step(c->fn, c->spec));
		g_alui(a, 1, G_ADD, rm_mem(RCX, (s32)offsetof(struct cta, linear)), (s32)jit_step(c->fn, c->spec));
		g_alui(a, 0, G_ADD, TS(blocks), 1);
		first_warp(c);
		block = g_jmp(a);
		g_here(a, warp);
	} else {
		u32 n = behind(c, i);

		warp = g_jcc(a, CC_NS);
		if (n) {
			next_phase(c, n, out + nout, fix);
			nout += 2;
			block = g_jmp(a);
		}
		out[nout++] = g_jmp(a);
		g_here(a, warp);
	}
	g_alui(a, 1, G_ADD, rm_reg(RBX), (s32)stride);
	g_alui(a, 1, G_ADD, rm_reg(R13), (s32)sizeof(struct warp));
	if (block)
		g_here(a, block);
	/* Most warps have as many lanes as the one before; but what is stored comes from its own frame: it need not wait for that one's last branch. */
	g_load(a, 0, RCX, rm_mem(R13, (s32)offsetof(struct frame, mask)));
	g_store(a, 0, PM(m), RCX);
	g_alu(a, 0, G_CMP, RAX, rm_reg(RCX));
	same = g_jcc(a, CC_E);
	j_run_lanes(c, RCX);
	g_here(a, same);
	g_op(a, 0, 0xff, 4, TS(chain_at), 0);
	for (k = 0; k < nout; k++)
		g_here(a, out[k]);
}
#undef TS

/* Do warps come here one after the other, so that exact transfers are worth their code? */
static bool busy_entry(const struct jcomp *c, u32 pc)
{
	return !pc || jit_barrier(&c->code[pc - 1]) || (c->turn[block_no(c, pc)] && c->s->b[block_no(c, pc)].start == pc);
}

/*
 * The ways out of code and into it, behind it. Most are taken seldom: they share one piece of code that stores all
 * registers, and one that loads them all. False: out of memory.
 */
bool jit_ways(struct jcomp *c, u32 *stubs)
{
	struct as *a = &c->a;
	u8 *busy = pool_alloc(&c->mem, c->nentries + 1);
	struct jfix *fix = pool_alloc(&c->mem, (c->nexits + 1) * sizeof(*fix));
	u32 save, common, load, i;

	if (!busy || !fix)
		return false;
	for (i = 0; i < c->n; i++)
		if (c->entry_at[i] && busy_entry(c, i))
			busy[c->entry_at[i] - 1] = 1;
	save = a->n;
	transfer_all(c, false);
	for (i = JZ_FIRST; jit_stress && i < 32; i++)           /* C may have done so */
		if (c->lit_regs >> i & 1)
			ev_i(a, V_PTERNLOGD, (int)i, (int)i, rm_reg((int)i), 0, 0, 0xff);
	common = a->n;
	epilogue(c);
	load = a->n;
	transfer_all(c, true);
	g_op(a, 0, 0xff, 4, rm_reg(RCX), 0);
	for (i = 0; i < c->nexits; i++) {
		const struct jexit *x = &c->exits[i];
		bool barrier = x->kind == JX_LEAVE && jit_barrier(&c->code[x->pc]);
		bool turn = x->kind == JX_TURN;
		u32 live, n;

		stubs[i] = a->n;
		if (turn) {
			no_turn(c, i);
			transfer(c, x->live, x->nlive, false);
		}
		if (barrier) {
			live = jit_live_all(c, x->pc, block_no(c, x->pc), &n);
			transfer(c, live, n, false);
		}
		if (barrier || turn || x->kind == JX_DONE)
			chain(c, i, &fix[i]);
		g_movi(a, RAX, i);
		g_land(a, g_jmp(a), barrier || turn || x->kind == JX_DONE ? common : save);
	}
	for (i = 0; i < c->nentries; i++) {
		u32 at = c->entries[i].code;

		if (busy[i] && !c->entries[i].nlive)
			continue;       /* nothing to load: that is the place itself */
		c->entries[i].code = a->n;
		if (busy[i]) {
			transfer(c, c->entries[i].live, c->entries[i].nlive, true);
			g_land(a, g_jmp(a), at);
		} else {
			as_room(a, 8);
			b1(a, 0x48);            /* lea rcx, [rip + to at] */
			b1(a, 0x8d);
			b1(a, 0x0d);
			b4(a, at - (a->n + 4));
			g_land(a, g_jmp(a), load);
		}
	}
	for (i = 0; i < c->nexits; i++)
		if (fix[i].entry && !a->oom)
			g_land(a, fix[i].at, c->entries[fix[i].entry - 1].code);
	return !c->bad && !a->oom;
}
