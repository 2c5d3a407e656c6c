/* SPDX-License-Identifier: MIT */
/* The code of blocks that are done by whole warps: warp.c says which, and how. */
#include "mem.h"
#include "vex.h"
#include "warp.h"

static struct rm before(const struct scomp *c, u32 i) { return stack_rm(c->rounds_at + 16 * (s32)i); }
static struct rm way(const struct scomp *c) { return stack_rm(c->rounds_at + 16 * (s32)S_CARRIED); }
static struct rm home_of(const struct scomp *c, u32 o, u32 strip) { return rm_mem(R15, c->r[o].home + 32 * (s32)strip); }

/* ---- between such code and others' ------------------------------------------------------------------------ */

/* Strips from..to: their scalars of set, each the first strip's and its distance. */
static void put_back(struct scomp *c, const struct warps *ws, const u64 *set, const u64 *live, u32 from, u32 to)
{
	struct as *a = &c->a;
	u32 w, s;
	u64 x;

	for (w = 0; w < c->words; w++)
		for (x = set[w] & live[w]; x; x &= x - 1) {
			u32 o = w * 64 + (u32)__builtin_ctzll(x);
			s32 was = 0;

			if (from >= to || c->r[o].v.known)
				continue;
			g_load(a, 1, RAX, home_of(c, o, 0));
			for (s = from; s < to; s++) {
				s32 by = ws->all->delta[c->r[o].v.far][s];

				if (by != was)
					g_alui(a, c->r[o].w == 1, G_ADD, rm_reg(RAX), by - was);
				was = by;
				g_store(a, 1, home_of(c, o, s), RAX);
			}
		}
}

/* Strips behind the one that goes on with ordinary code begin at block b. */
static void begin_at(struct scomp *c, u32 b)
{
	struct as *a = &c->a;

	g_movi(a, RAX, 0);
	g_store(a, 0, SPM(met), RAX);
	g_movi(a, RAX, c->b[b].start);
	g_store(a, 0, SPM(seg_pc), RAX);
	s_lea_next(c, b);
	g_store(a, 1, SPM(seg), RAX);
}

/* All strips stand at block `to`, and those before have been put back. */
void warp_leave(struct scomp *c, const struct warps *ws, u32 from, u32 to)
{
	struct as *a = &c->a;
	const struct plan *p = &ws->p[from];
	u32 s;

	put_back(c, ws, p->dirty, c->b[to].live_in, 1, STRIPS);
	put_back(c, ws, p->made, c->b[to].live_in, 1, STRIPS);
	for (s = 0; s < STRIPS && c->b[to].turn; s++) {
		g_movi(a, RAX, 1 << S_ROUNDS_LOG2);
		g_store(a, 0, rm_mem(R15, c->b[to].rounds + 32 * (s32)s), RAX);
	}
	begin_at(c, to);
	g_movi(a, RBP, 0);
	s_stub_jump(c, g_jmp(a), to, true);
}

/* Scalars of other strips are as they are supposed to be; jumps for when they are not. */
static void look(struct scomp *c, const struct warps *ws, const u64 *live, u32 *no)
{
	struct as *a = &c->a;
	u32 v, s, i, n = 0;
	struct { s32 row; u64 by[STRIPS][4], not[4]; } g[32];

	memset(g, 0, sizeof(g));
	for (v = 0; v < c->s->nregs; v++) {
		const struct sregister *r = &c->r[v];
		s32 row = r->home & ~31;

		if (!bit_of(live, v) || !r->live || !is_scalar(c, v) || r->v.known || !bit_of(ws->wanted, v))
			continue;
		if (!r->v.far) {
			c->whole_way->bad = true;
			return;
		}
		for (i = 0; i < n && g[i].row != row; i++)
			;
		if (i == 32) {
			c->whole_way->bad = true;
			return;
		}
		if (i == n) {
			g[n].row = row;
			memset(g[n++].not, 255, sizeof(g[i].not));
		}
		g[i].not[(r->home & 31) / 8] = 0;
		for (s = 1; s < STRIPS; s++)
			g[i].by[s][(r->home & 31) / 8] = (u64)(s64)ws->all->delta[r->v.far][s];
	}
	*no = 0;
	if (!n)
		return;
	for (i = 0; i < n; i++) {
		bool first = true, some = g[i].not[0] || g[i].not[1] || g[i].not[2] || g[i].not[3];

		vy(a, X_MOVU, 0, 0, rm_mem(R15, g[i].row));
		for (s = 1; s < STRIPS; s++) {
			int x = 0;

			if (g[i].by[s][0] || g[i].by[s][1] || g[i].by[s][2] || g[i].by[s][3]) {
				vy(a, X_PADDQ, 1, 0, rm_lit(s_lit(c, g[i].by[s], 32), 0));
				x = 1;
			}
			vy(a, X_PCMPEQQ, first ? 2 : 1, x, rm_mem(R15, g[i].row + 32 * (s32)s));
			if (!first)
				vr(a, X_PAND, 2, 2, 1);
			first = false;
		}
		if (some)
			vy(a, X_POR, 2, 2, rm_lit(s_lit(c, g[i].not, 32), 0));
		if (i)
			vr(a, X_PAND, 3, 3, 2);
		else
			vr(a, X_MOVU, 3, 0, 2);
	}
	vr(a, X_MOVMSKPD, RAX, 0, 3);
	g_alui(a, 0, G_CMP, rm_reg(RAX), 15);
	*no = g_jcc(a, CC_NE);
}

/* ---- a block ----------------------------------------------------------------------------------------------- */

/* What its strips read of before, and hand on: vectors that lie in slots. */
static void slots(const struct scomp *c, const struct plan *p, const struct sblock *b, u64 *in_, u64 *out)
{
	const struct swhole *h = p->h;
	u32 i, k, w;

	for (i = 0; i < h->n; i++) {
		const struct insn *in = &c->code[h->pc[i]];

		if (h->what[i] != W_BODY)
			continue;
		for (k = 0; k < 6; k++) {
			u32 o = in->o[k];

			if (o == OPND_NONE || (o & OPND_CONST) || c->r[o].v.cls != SC_VARY || c->r[o].kept || !c->r[o].live)
				continue;
			if (in->def >> k & 1)
				add(out, o);
			if ((in->use >> k & 1) || ((in->def >> k & 1) && (in->guard != OPND_NONE || (p->some && i > p->some))))
				add(in_, o);
		}
		if (in->guard != OPND_NONE && !(in->guard & OPND_CONST) && c->r[in->guard].v.cls == SC_VARY && !c->r[in->guard].kept)
			add(in_, in->guard);
	}
	for (w = 0; w < c->words; w++) {
		in_[w] &= b->live_in[w];
		out[w] &= p->out[w];
	}
}

static void bodies(struct scomp *c, const struct plan *p)
{
	struct swhole *h = p->h;
	struct as *a = &c->a;
	u32 skip[2], i, mx, none = 0;

	for (i = 0; i < h->n && !h->bad && !c->bad; i++) {
		const struct insn *in = &c->code[h->pc[i]];

		if (h->what[i] != W_BODY)
			continue;
		whole_at_insn(c, h->pc[i]);
		if (p->some && i == p->some) {
			u32 t = s_block_at(c, in->taken);

			s_mode_home(c);
			if ((&c->b[t] == p->skipped) == !!in->gneg)
				vy(a, X_PXOR, 15, 15, sv_rm(c, in->guard, 2, 0, 0));
			else
				vy(a, X_MOVU, 15, 0, sv_rm(c, in->guard, 2, 0, 0));
			vr(a, X_MOVMSKPS, R12, 0, 15);
			g_alui(a, 0, G_CMP, rm_reg(R12), 0);
			none = g_jcc(a, CC_E);
			c->some = &c->b[p->to[0]];
			continue;
		}
		/* who leaves goes on with other code */
		if (in->kind == K_LD || in->kind == K_ST)
			s_mode_home(c);
		mx = c->mx;
		s_guard_begin(c, in, skip);
		if (!s_native(c, in))
			h->bad = true;
		s_guard_end(c, skip, mx);
	}
	s_mode_home(c);
	c->some = NULL;
	if (p->some && !h->bad) {
		g_here(a, none);
		g_movi(a, R12, 255);
		vr(a, X_PCMPEQD, 15, 15, 15);
	}
}

static void strips(struct scomp *c, const struct plan *p, const struct sblock *b)
{
	u64 *in = pool_alloc(&c->mem, (c->words + 1) * 8), *out = pool_alloc(&c->mem, (c->words + 1) * 8);
	bool came[MAX_CHAIN];
	u32 w, i;
	u64 x;

	if (!in || !out) {
		p->h->bad = true;
		return;
	}
	/* words that come with others do so for each strip anew */
	for (i = 0; i < p->h->n; i++)
		came[i] = s_comes(c, p->h->pc[i]);
	whole_own_words(c);
	slots(c, p, b, in, out);
	for (i = 0; p->stay && i < p->stay->n; i++) {
		w = p->stay->of[i].v >> 6;
		in[w] &= ~(1ull << (p->stay->of[i].v & 63));
		out[w] &= ~(1ull << (p->stay->of[i].v & 63));
	}
	for (c->whole_strip = 0; c->whole_strip < STRIPS && !p->h->bad; c->whole_strip++) {
		if (c->whole_strip)
			g_alui(&c->a, 0, G_ADD, rm_reg(RBP), 32);
		c->stage = 0;
		if (p->stay)
			s_stay_as(c, p->stay, c->whole_strip);
		for (w = 0; w < c->words; w++)
			for (x = in[w]; x; x &= x - 1)
				s_fill(c, w * 64 + (u32)__builtin_ctzll(x));
		c->stage = WHOLE_STRIPS;
		bodies(c, p);
		whole_own_words(c);
		s_spill_set(c, out, 15, true);
	}
	if (p->stay)
		s_stay_as(c, p->stay, STRIPS);
	for (i = 0; i < p->h->n; i++)
		if (came[i])
			s_twin_home(c, p->h->pc[i]);
	c->stage = 0;
	c->whole_strip = 0;
	g_movi(&c->a, RBP, 0);
}

/* The same by a predicate of before that each strip keeps as a vector: rax is 0, or another number where all lanes have it. */
static void kept_way(struct scomp *c, const struct plan *p, u32 o)
{
	struct as *a = &c->a;
	u32 s;

	vy(a, X_MOVU, 0, 0, rm_mem(R15, s_kept_at(&c->r[o], 0)));
	vr(a, X_MOVU, 1, 0, 0);
	for (s = 1; s < STRIPS; s++) {
		vy(a, X_PAND, 0, 0, rm_mem(R15, s_kept_at(&c->r[o], s)));
		vy(a, X_POR, 1, 1, rm_mem(R15, s_kept_at(&c->r[o], s)));
	}
	vr(a, X_MOVMSKPS, RAX, 0, 0);
	vr(a, X_MOVMSKPS, RCX, 0, 1);
	if (!p->bare)
		g_store(a, 0, way(c), RAX);
	/* neither 255 and 255 nor 0 and 0? */
	g_lea(a, 0, RDX, rm_mem(RAX, 1));
	g_alui(a, 0, G_AND, rm_reg(RDX), 254);
	g_alu(a, 0, G_XOR, RCX, rm_reg(RAX));
	g_alu(a, 0, G_OR, RCX, rm_reg(RDX));
	s_whole_not_if(c, CC_NE);
}

/* Which way all strips go, into a word on the stack: before any of them has done anything. */
static void decide(struct scomp *c, const struct plan *p)
{
	struct swhole *h = p->h;
	const struct insn *in = &c->code[h->pc[h->n - 1]];
	struct as *a = &c->a;
	u32 i, n, was = h->njumps, done, made;

	whole_at_insn(c, h->pc[h->n - 1]);
	for (made = h->n; !(in->guard & OPND_CONST) && made-- > 0;)
		if (insn_writes(&c->code[h->pc[made]], in->guard))
			break;
	if ((in->guard & OPND_CONST) || is_scalar(c, in->guard)) {
		h->bad |= !whole_same(c, in->guard, 2) || s_varies(s_val(c, in->guard, 2));
		s_to_gpr(c, in->guard, 0, RAX);
		if (!p->bare)
			g_store(a, 0, way(c), RAX);
		return;
	}
	if (made == ~0u && c->r[in->guard].kept) {
		kept_way(c, p, in->guard);
		return;
	}
	if (made == ~0u) {
		/* of before: a bit for each lane of the warp */
		g_load(a, 0, RAX, rm_mem(RBX, (s32)c->r[in->guard].slot));
		if (!p->bare)
			g_store(a, 0, way(c), RAX);
		g_lea(a, 0, RCX, rm_mem(RAX, 1));
		g_alui(a, 0, G_CMP, rm_reg(RCX), 1);
		s_whole_not_if(c, CC_A);
		return;
	}
	whole_require(c, h->n - 1, in->guard, true);
	if (h->njumps == was) {
		h->bad = true;
		return;
	}
	n = h->njumps - was;
	g_movi(a, RAX, 1);
	if (!p->bare)
		g_store(a, 0, way(c), RAX);
	done = g_jmp(a);
	for (i = 0; i < n; i++)
		g_here(a, h->jump[was + i]);
	h->njumps = was;
	whole_require(c, h->n - 1, in->guard, false);
	g_movi(a, RAX, 0);
	if (!p->bare)
		g_store(a, 0, way(c), RAX);
	g_here(a, done);
}

/* Rows: each register's once, from the first to the last byte that such accesses by it touch. */
static void rows(struct scomp *c, const struct plan *p)
{
	struct swhole *h = p->h;
	struct sval v;
	u32 i;

	for (i = 0; i < h->n && !h->bad; i++) {
		const struct insn *in = &c->code[h->pc[i]];

		whole_at_insn(c, h->pc[i]);
		if (whole_is_row(c, h, i, &v) && !whole_seen(c, h, i))
			s_row_address(c, in, v);
	}
}

static void go(struct scomp *c, struct warps *ws, u32 from, u32 to, u32 at)
{
	void *j = xgrow(ws->jump, &ws->jumps_cap, ws->njumps + 1, sizeof(*ws->jump));

	if (!j) {
		c->bad = true;
		return;
	}
	ws->jump = j;
	ws->jump[ws->njumps].at = at;
	ws->jump[ws->njumps].from = from;
	ws->jump[ws->njumps++].to = to;
}

/* The strips before this one stand there, for run.c. */
static void stand(struct scomp *c, const struct plan *p, const struct sblock *b)
{
	struct as *a = &c->a;
	u32 over;

	g_movi(a, RAX, p->ends == MEET ? b->end - 1 : p->ends == END ? S_ENDED : c->b[p->to[0]].start);
	if (p->ends == WAYS) {
		/* not the other */
		u32 t = c->code[p->h->pc[p->h->n - 1]].gneg ? 1 : 0;

		g_movi(a, RAX, c->b[p->to[t]].start);
		g_alui(a, 0, G_CMP, way(c), 0);
		over = g_jcc(a, CC_NE);
		g_movi(a, RAX, c->b[p->to[!t]].start);
		g_here(a, over);
	}
	g_store(a, 0, SPM(spc), RAX);
}

/* The instruction that strips behind block bi, on their way i from it, have come to is one at which they meet: they find what it looks at in slots. */
static bool at_meeting(const struct scomp *c, const struct plan *p, u32 bi, u32 i, u32 *pc)
{
	const struct sblock *to = p->ends == MEET ? &c->b[bi] : &c->b[p->to[i]];

	*pc = to->end - 1;
	return p->ends == MEET || (to->sync && to->start == *pc);
}

/* A strip's way out: those before it as behind the block, it and those that follow as before it. */
static void ways_out(struct scomp *c, const struct warps *ws, u32 bi)
{
	struct sblock *b = &c->b[bi];
	const struct plan *p = &ws->p[bi];
	struct swhole *h = p->h;
	struct as *a = &c->a;
	u64 *live = pool_alloc(&c->mem, (c->words + 1) * 8);
	u32 i, s, t, w, pc;

	b->warp_exit = pool_alloc(&c->mem, STRIPS * sizeof(u32));
	if (!live || !b->warp_exit) {
		h->bad = true;
		return;
	}
	for (i = 0; i < plan_ways(p); i++) {
		s_park_list(c, c->b[p->to[i]].start, c->b[p->to[i]].live_in);
		for (w = 0; w < c->words; w++)
			live[w] |= c->b[p->to[i]].live_in[w];
	}
	if (p->ends == MEET)
		memcpy(live, p->out, c->words * 8);
	if (p->skipped)
		p->skipped->warp_exit = b->warp_exit;
	for (s = 0; s < STRIPS; s++) {
		b->warp_exit[s] = a->n;
		for (i = 0; !s && i < h->njumps; i++)
			g_here(a, h->jump[i]);
		if (s && !p->bare) {
			put_back(c, ws, p->dirty, live, 1, s);
			put_back(c, ws, p->made, live, 1, s);
			for (i = 0; i < plan_ways(p) + (p->ends == MEET); i++)
				if (at_meeting(c, p, bi, i, &pc))
					s_meet_operands(c, pc, s);
			stand(c, p, b);
		}
		if (p->stay)
			s_stay_move(c, p->stay, true);
		put_back(c, ws, p->dirty, b->live_in, s ? s : 1, STRIPS);
		for (i = 0; i < h->ncarried && !p->sure; i++)
			for (t = s; t < STRIPS; t++) {
				u32 o = h->carried[i].o;
				s32 by = ws->all->delta[c->r[o].v.far][t];

				g_load(a, 1, RAX, before(c, i));
				if (by)
					g_alui(a, c->r[o].w == 1, G_ADD, rm_reg(RAX), by);
				g_store(a, 1, home_of(c, o, t), RAX);
			}
		begin_at(c, bi);
		g_movi(a, R12, 255);
		vr(a, X_PCMPEQD, 15, 15, 15);
		g_movi(a, RBP, 32 * s);
		s_plain_jump(c, g_jmp(a), bi);
	}
}

static void terminator(struct scomp *c, struct warps *ws, u32 bi)
{
	struct sblock *b = &c->b[bi];
	const struct plan *p = &ws->p[bi];
	struct as *a = &c->a;
	u32 other, cc;

	switch (p->ends) {
	case GO:
		go(c, ws, bi, p->to[0], g_jmp(a));
		return;
	case WAYS:
		if (c->fused) {
			cc = (u32)(c->fused & 15) ^ !c->code[b->end - 1].gneg;
		} else {
			g_alui(a, 0, G_CMP, p->bare ? rm_reg(RAX) : way(c), 0);
			cc = c->code[b->end - 1].gneg ? CC_NE : CC_E;
		}
		c->fused = 0;
		if (p->stay) {
			bool self = p->to[1] == bi;

			g_land(a, g_jcc(a, self ? cc : cc ^ 1), p->top);
			s_stay_move(c, p->stay, true);
			go(c, ws, bi, p->to[!self], g_jmp(a));
			return;
		}
		other = g_jcc(a, cc);
		go(c, ws, bi, p->to[0], g_jmp(a));
		go(c, ws, bi, p->to[1], other);
		return;
	case END:
		g_movi(a, RAX, S_ENDED);
		g_store(a, 0, SPM(spc), RAX);
		g_movi(a, RAX, 255);
		g_store(a, 0, SPM(done), RAX);
		g_movi(a, RBP, 32 * (STRIPS - 1));
		g_land(a, g_jmp(a), c->end_last);
		return;
	default:
		/* when it is known whether there is code behind it */
		go(c, ws, bi, TO_MEET, g_jmp(a));
	}
}

static void lag(struct scomp *c, const struct warps *ws, u32 pc, const u64 *set, const u64 *live)
{
	struct spark *l = xgrow(c->lags, &c->lags_cap, c->nlags + 1, sizeof(*l));
	struct sbehind *b;
	u32 w, s;
	u64 x;

	if (!l) {
		c->bad = true;
		return;
	}
	c->lags = l;
	l[c->nlags] = (struct spark){ pc, c->nbehind, 0 };
	for (w = 0; w < c->words; w++)
		for (x = set[w] & live[w]; x; x &= x - 1) {
			const struct sregister *r = &c->r[w * 64 + (u32)__builtin_ctzll(x)];

			if (r->v.known)
				continue;
			b = xgrow(c->behind, &c->behind_cap, c->nbehind + 1, sizeof(*b));
			if (!b) {
				c->bad = true;
				return;
			}
			c->behind = b;
			b[c->nbehind] = (struct sbehind){ .home = r->home, .w = r->w };
			for (s = 0; s < STRIPS; s++)
				b[c->nbehind].by[s] = ws->all->delta[r->v.far][s];
			c->nbehind++;
			l[c->nlags].n++;
		}
	c->nlags++;
}

/*
 * All strips of block bi stand at its end. Where such code goes on behind it, the first strip's scalars do; who does not go on by it has the others' put back: here, if this
 * warp leaves code, and strip_catch_up() for those that stand there.
 */
void warp_meet(struct scomp *c, const struct warps *ws, u32 bi)
{
	const struct plan *p = &ws->p[bi];
	struct sblock *b = &c->b[bi];
	u32 from, i, exit, pc = b->end - 1;
	struct as *a = &c->a;
	const u64 *set;

	c->cur = b;
	c->mx = c->s->mxcsr == ~0u ? c->s->mxcsr_home : 0;
	c->fold.pc = c->base.at = 0;
	if (!warp_lags(c, ws, bi) || !c->b[bi + 1].warp_in) {
		put_back(c, ws, p->dirty, p->out, 1, STRIPS);
		put_back(c, ws, p->made, p->out, 1, STRIPS);
		s_meet_warp(c, pc, false);
		return;
	}
	from = c->nxjumps;
	s_meet_warp(c, pc, true);
	if (c->bad || c->nxjumps == from)
		return;
	set = ws->p[bi + 1].dirty;
	lag(c, ws, pc + 1, set, c->b[bi + 1].live_in);
	exit = c->xjumps[from].block;
	for (i = from; i < c->nxjumps; i++)
		g_here(a, c->xjumps[i].at);
	c->nxjumps = from;
	put_back(c, ws, set, c->b[bi + 1].live_in, 1, STRIPS);
	s_exit_jump(c, g_jmp(a), exit);
}

static void emit(struct scomp *c, struct warps *ws, u32 bi)
{
	struct sblock *b = &c->b[bi];
	struct plan *p = &ws->p[bi];
	struct swhole *h = p->h;
	struct as *a = &c->a;
	u32 v, i, k;

	c->whole_way = h;
	c->cur = b;
	c->mx = c->s->mxcsr == ~0u ? c->s->mxcsr_home : 0;
	c->fold.pc = c->base.at = 0;
	c->fused = 0;
	h->flags = p->bare && p->ends == WAYS;
	p->at = a->n;
	if (p->stay)
		s_stay_move(c, p->stay, false);
	p->top = a->n;
	/* what takes the way out finds them there */
	for (i = 0; i < h->ncarried && !p->sure; i++) {
		g_load(a, 1, RAX, home_of(c, h->carried[i].o, 0));
		g_store(a, 1, before(c, i), RAX);
	}
	if (p->loops) {
		g_alui(a, 1, G_SUB, rm_mem(R14, (s32)offsetof(struct tstate, budget)), (s32)(b->end - b->start) / 2 + 1);
		h->jump[h->njumps++] = g_jcc(a, CC_S);
	}
	whole_at_insn(c, b->start);
	for (v = 0; v < c->s->nregs; v++) {
		bool used = false;

		if (!bit_of(b->live_in, v) || !is_scalar(c, v))
			continue;
		for (i = 0; i < h->n && !used; i++)
			used = h->what[i] == W_SCALAR && insn_reads(&c->code[h->pc[i]], v);
		if (used)
			s_unpark(c, v);
	}
	for (i = 0; i < h->nroots; i++) {
		u32 o = h->root[i];

		if ((o & S_LATER) || !bit_of(b->live_in, o))
			continue;
		for (k = 0; k < h->ncarried && h->carried[k].o != o; k++)
			;
		if (k == h->ncarried) {
			h->home[i] = c->r[o].home;
			continue;
		}
		g_load(a, 1, RAX, before(c, k));
		g_store(a, 1, whole_slot(c, i), RAX);
	}
	c->stage = WHOLE_SCALARS;
	whole_scalars(c);
	c->stage = 0;
	for (v = 0; v < c->s->nregs; v++)
		if (bit_of(p->made, v) && bit_of(p->out, v))
			s_park(c, v);
	whole_roots(c);
	c->stage = WHOLE_CHECKS;
	rows(c, p);
	if (p->ends == WAYS && !c->fused)
		decide(c, p);
	c->stage = WHOLE_STRIPS;
	if (!p->bare)
		strips(c, p, b);
	c->stage = 0;
	s_mode_home(c);
	terminator(c, ws, bi);
	ways_out(c, ws, bi);
}

void warp_emit(struct scomp *c, struct warps *ws, u32 bi)
{
	struct plan *p = &ws->p[bi];
	struct swhole_mark mark = whole_mark(c);
	u32 nj = ws->njumps, roots = p->h->nroots;

	/* where only time may be short, which is asked first, nothing has to be as it was */
	p->sure = p->bare && p->h->ncarried;
	emit(c, ws, bi);
	if (!p->sure || p->h->bad || c->bad || p->h->njumps <= (u32)p->loops)
		return;
	whole_back(c, &mark);
	ws->njumps = nj;
	p->h->njumps = 0;
	p->h->nroots = roots;
	p->sure = false;
	emit(c, ws, bi);
}

/* Where strip 0 comes to block b behind a meeting. */
void warp_way_in(struct scomp *c, const struct warps *ws, u32 bi)
{
	struct as *a = &c->a;
	struct swhole *h = ws->p[bi].h;
	struct swhole_mark mark = whole_mark(c);
	u32 no[4] = { 0 }, i, at = a->n;

	c->whole_way = h;
	if (bi) {
		g_alui(a, 0, G_CMP, SPM(met), (s32)c->b[bi].start);
		g_land(a, g_jcc(a, CC_E), ws->p[bi].at);
	}
	g_alui(a, 0, G_CMP, rm_reg(R12), 255);
	no[0] = g_jcc(a, CC_NE);
	g_alui(a, 1, G_CMP, SPM(seg), 0);
	no[1] = g_jcc(a, CC_E);
	if (s_part(c)) {
		s_cmp_born(c);
		no[3] = g_jcc(a, CC_NE);
	}
	look(c, ws, c->b[bi].live_in, &no[2]);
	if (h->bad) {
		whole_back(c, &mark);
		return;
	}
	c->b[bi].warp_in = at;
	g_land(a, g_jmp(a), ws->p[bi].at);
	for (i = 0; i < 4; i++)
		if (no[i])
			s_plain_jump(c, no[i], bi);
}
