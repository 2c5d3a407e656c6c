/* SPDX-License-Identifier: MIT */
/*
 * Where the strips of a warp look at each other, in code: a strip that comes to such a place whole puts away what is alive (vectors
 * into the frame, scalars as park.c says) and goes on as the next strip, from where this one began; the last one does what is done
 * there, and begins the next piece as the first. At a barrier of the block, or where its lanes end, the last one goes on as the first
 * strip of the next warp; that of the last warp begins the next phase with the first one. What comes there otherwise (lanes that
 * wait elsewhere, a guard, strips or warps at different places) leaves code, and run.c sorts it out.
 *
 * sprivate.seg is where the next strip begins, 0: strips are run one by one from outside; seg_pc the instruction there; spc where the
 * strips before this one stand. struct sphase says the same of warps.
 *
 * Most vectors that are alive there lie in their slots already. s_clean() finds for each block which do: a data flow over what has
 * been written since code was entered or strips met.
 */
#include "strip.h"
#include "vex.h"

/* Does code behind pc, the place where strips met, begin there? */
static bool goes_on(const struct scomp *c, u32 pc)
{
	u32 b = s_block_at(c, pc + 1);

	return pc + 1 < c->n && c->b[b].start == pc + 1 && s_enters(c, b);
}

/* Do all lanes do it together, be it that some of them only come by? */
static bool together(const struct insn *in)
{
	struct insn all = *in;

	all.guard = OPND_NONE;
	return (in->guard == OPND_NONE || (in->kind != K_TENSOR && in->kind != K_GEN)) && s_together(&all);
}

/* Is it a place that strips meet at in code? b ends with it. Lanes may wait elsewhere, by what is known here; who comes whole has none that do. */
static bool meets(const struct scomp *c, const struct sblock *b)
{
	/* names that may be others in each round are the interpreter's: who names one that has come with other names waits for him */
	if (b->sync && jit_named(&c->code[b->end - 1]) && !jit_names_stay(c->s, c->code[b->end - 1].o[2]))
		return false;
	return b->sync && (c->code[b->end - 1].guard == OPND_NONE || together(&c->code[b->end - 1]));
}

bool s_behind_meeting(const struct scomp *c, u32 b)
{
	return b && meets(c, &c->b[b - 1]) && goes_on(c, c->b[b].start - 1);
}

bool s_enters(const struct scomp *c, u32 b)
{
	const struct sblock *sb = &c->b[b];

	return !sb->sync || sb->end > sb->start + 1 || meets(c, sb);
}

/* ---- what lies in its slot ---------------------------------------------------------------------- */

static void dirty(u64 *set, u32 o)
{
	if (o != OPND_NONE && !(o & OPND_CONST))
		set[o >> 6] &= ~(1ull << (o & 63));
}

static void written(u64 *set, const struct insn *in)
{
	u32 k = 0, o;

	while ((o = s_next_def(in, &k)) != OPND_NONE)
		dirty(set, o);
}

static void clean_in(const struct scomp *c, const struct sblock *b, u32 pc, u64 *set)
{
	u32 i;

	memcpy(set, b->clean, c->words * 8);
	for (i = b->start; i < pc; i++)
		written(set, &c->code[i]);
}

void s_clean_before(const struct scomp *c, u32 pc, u64 *set)
{
	clean_in(c, &c->b[s_block_at(c, pc)], pc, set);
}

bool s_clean(struct scomp *c)
{
	u64 *set = pool_alloc(&c->mem, (c->words + 1) * 8);
	bool more = true;
	u32 b, i, w;

	if (!set)
		return false;
	for (b = 0; b < c->nb; b++) {
		c->b[b].clean = pool_alloc(&c->mem, (c->words + 1) * 8);
		if (!c->b[b].clean)
			return false;
		memset(c->b[b].clean, b ? 255 : 0, c->words * 8);
	}
	while (more) {
		more = false;
		for (b = 0; b < c->nb; b++) {
			struct sblock *sb = &c->b[b];

			clean_in(c, sb, sb->end, set);
			for (i = 0; i < sb->nsucc; i++) {
				u64 *to = c->b[sb->succ[i]].clean;

				for (w = 0; w < c->words; w++) {
					more |= (to[w] & ~set[w]) != 0;
					to[w] &= set[w];
				}
			}
		}
	}
	return true;
}

/* ---- what is done by all ------------------------------------------------------------------------ */

void s_by_interpreter(struct scomp *c, u32 pc, u32 n)
{
	struct as *a = &c->a;

	g_load(a, 1, RDI, rm_reg(R14));
	g_load(a, 1, RSI, rm_reg(R15));
	g_movi(a, RDX, pc);
	g_movi(a, RCX, n);
	as_room(a, 16);
	b1(a, 0xc5);    /* vzeroupper */
	b1(a, 0xf8);
	b1(a, 0x77);
	g_movi(a, RAX, (u64)(uintptr_t)strip_meet);
	g_op(a, 0, 0xff, 2, rm_reg(RAX), 0);
	g_movi(a, RAX, 255);
	s_mask_vector(c, 15, RAX);
}

/* ---- warps that lack lanes ----------------------------------------------------------------------- */

static struct rm own(void) { return rm_idx(R15, RBP, 0, (s32)offsetof(struct sprivate, own)); }

void s_cmp_whole(struct scomp *c)
{
	if (s_part(c))
		g_alu(&c->a, 0, G_CMP, R12, own());
	else
		g_alui(&c->a, 0, G_CMP, rm_reg(R12), 255);
}

void s_cmp_last(struct scomp *c)
{
	if (s_part(c))
		g_alu(&c->a, 0, G_CMP, RBP, SPM(last));
	else
		g_alui(&c->a, 0, G_CMP, rm_reg(RBP), 32 * (STRIPS - 1));
}

void s_cmp_born(struct scomp *c) { g_alui(&c->a, 0, G_CMP, SPM(born), -1); }

void s_own_lanes(struct scomp *c)
{
	g_load(&c->a, 0, R12, own());
	g_load(&c->a, 0, RAX, rm_reg(R12));
	s_mask_vector(c, 15, RAX);
}

/* ---- from strip to strip ------------------------------------------------------------------------ */

/* Strip after strip as far as here; what follows is for the last of them. at: where they stand. */
static void next_strip(struct scomp *c, u32 at, u32 exit)
{
	struct as *a = &c->a;
	u32 first, last, next, alone = 0;

	g_alui(a, 0, G_CMP, rm_reg(RBP), 0);
	first = g_jcc(a, CC_E);
	g_alui(a, 0, G_CMP, SPM(spc), (s32)at);
	s_exit_jump(c, g_jcc(a, CC_NE), exit);
	s_cmp_last(c);
	last = g_jcc(a, CC_E);
	next = g_jmp(a);
	g_here(a, first);
	g_movi(a, RAX, at);
	g_store(a, 0, SPM(spc), RAX);
	g_movi(a, RAX, 0);
	g_store(a, 0, SPM(met), RAX);
	if (s_part(c)) {
		s_cmp_last(c);
		alone = g_jcc(a, CC_E);
	}
	g_here(a, next);
	g_alui(a, 0, G_ADD, rm_reg(RBP), 32);
	g_op(a, 0, 0xff, 4, SPM(seg), 0);
	g_here(a, last);
	if (alone)
		g_here(a, alone);
}

/* rax = where block b begins behind another strip */
void s_lea_next(struct scomp *c, u32 b)
{
	struct as *a = &c->a;

	as_room(a, 16);
	b1(a, 0x48);            /* lea rax, [rip + ...] */
	b1(a, 0x8d);
	b1(a, 0x05);
	b4(a, 0);
	s_stub_jump(c, a->n - 4, b, true);
}

#define TS(f) rm_mem(R14, (s32)offsetof(struct tstate, f))

/* The first strip of the warp whose area is r15; where it begins is in rdx. */
static void start_warp(struct scomp *c)
{
	struct as *a = &c->a;

	g_load(a, 1, RBX, SPM(slots));
	g_load(a, 1, RAX, SPM(warp_at));
	g_store(a, 1, rm_mem(R14, (s32)offsetof(struct tstate, w)), RAX);
	g_alui(a, 1, G_ADD, rm_reg(RAX), (s32)offsetof(struct warp, main));
	g_store(a, 1, rm_mem(R14, (s32)offsetof(struct tstate, f)), RAX);
	g_store(a, 1, SPM(seg), RDX);
	g_movi(a, RAX, NO_PC);
	g_store(a, 0, SPM(seg_pc), RAX);
	g_movi(a, RAX, 0);
	g_store(a, 0, SPM(done), RAX);
	g_movi(a, RBP, 0);
}

#define PHASE(f) rm_mem(RCX, (s32)offsetof(struct sphase, f))

/* The warp's last strip stands at `at`, as the others do: on with the next warp; what follows is for the last of them, rcx is the phase. */
static void next_warp(struct scomp *c, u32 at, u32 exit)
{
	struct as *a = &c->a;
	u32 same, last;

	g_load(a, 1, RCX, SPM(phase));
	g_op(a, 1, 0x85, RCX, rm_reg(RCX), 0);          /* test */
	s_exit_jump(c, g_jcc(a, CC_E), exit);
	g_load(a, 0, RAX, PHASE(at));
	g_alui(a, 0, G_CMP, rm_reg(RAX), (s32)at);
	same = g_jcc(a, CC_E);
	g_alui(a, 0, G_CMP, rm_reg(RAX), (s32)NO_PC);
	s_exit_jump(c, g_jcc(a, CC_NE), exit);
	g_here(a, same);
	g_load(a, 1, RDX, SPM(next));
	g_alui(a, 1, G_CMP, rm_reg(RDX), ALL_WARPS);
	s_exit_jump(c, g_jcc(a, CC_B), exit);
	g_movi(a, RAX, at);
	g_store(a, 0, PHASE(at), RAX);
	last = g_jcc(a, CC_E);
	g_store(a, 1, rm_mem(RDX, (s32)offsetof(struct sprivate, phase)), RCX);
	g_load(a, 1, R15, rm_reg(RDX));
	g_load(a, 1, RDX, PHASE(seg));
	start_warp(c);
	if (at == S_ENDED) {
		g_movi(a, R12, 255);
		vr(a, X_PCMPEQD, 15, 15, 15);
	}
	g_op(a, 0, 0xff, 4, SPM(seg), 0);
	g_here(a, last);
}

/* A barrier that all threads of the block come to: is the number known? */
static bool whole_block(const struct scomp *c, const struct insn *in)
{
	u32 id;

	return jit_barrier(in) && in->o[2] == OPND_NONE && s_constant(c, in->o[1], &id) && id < CTA_BARRIERS;
}

/* Of instruction i behind in, those that are parked and that none of the ones before it writes: that one leaves it in the slot. */
static void operands(struct scomp *c, const struct insn *in, u32 i, u64 *set)
{
	u32 w, k;
	u64 x;

	memset(set, 0, c->words * 8);
	s_before(set, in + i);
	for (w = 0; w < c->words; w++)
		for (x = set[w]; x; x &= x - 1)
			if (!s_parked(&c->r[w * 64 + (u32)__builtin_ctzll(x)]))
				set[w] &= ~(x & -x);
	while (i--)
		for (k = 0; k < 6; k++)
			if (in[i].def >> k & 1)
				dirty(set, in[i].o[k]);
}

/* What is done there lies in slots then; facts.c makes no scalar of it. */
static bool vectors_only(const struct scomp *c, const struct insn *in)
{
	u32 k;

	for (k = 0; k < 6; k++)
		if ((in->def >> k & 1) && in->o[k] != OPND_NONE && c->r[in->o[k]].live && c->r[in->o[k]].v.cls == SC_SCALAR)
			return false;
	return true;
}

/*
 * How many instructions from pc on all lanes do together with nothing between, while strips meet once. What they write lies in slots, where the next
 * ones look for it.
 */
static u32 in_a_row(const struct scomp *c, u32 pc)
{
	u32 n = 0, b;

	for (;; n++) {
		b = s_block_at(c, pc + n);
		if (pc + n >= c->n || (n && (c->b[b].start != pc + n || c->b[b].end != pc + n + 1)) || !meets(c, &c->b[b]))
			return n;
		if (!together(&c->code[pc + n]) || !goes_on(c, pc + n) || !vectors_only(c, &c->code[pc + n]))
			return n;
		/* memory: alone */
		if (c->code[pc + n].kind == K_LD || c->code[pc + n].kind == K_ST)
			return n ? n : 1;
	}
}

/* What is alive and has been written since is put away. */
static void put_away(struct scomp *c, const u64 *live, u64 *set)
{
	u32 w;
	u64 x;

	for (w = 0; w < c->words; w++) {
		set[w] = live[w] & ~set[w];
		for (x = set[w]; x; x &= x - 1) {
			u32 v = w * 64 + (u32)__builtin_ctzll(x);

			if (!s_parked(&c->r[v]))
				continue;
			s_park(c, v);
			set[w] &= ~(x & -x);
		}
	}
	s_spill_set(c, set, 15, true);
}

/* Has code for it been emitted? */
static bool by_code(struct scomp *c, u32 pc)
{
	struct as *a = &c->a;
	const struct insn *in = &c->code[pc];
	u32 at = a->n, nfix = a->nfix;

	switch ((enum kind)in->kind) {
	case K_SHFL:
		if (s_shuffle_all(c, pc))
			return true;
		break;
	case K_VOTE: case K_ACTIVEMASK:
		if (s_vote_all(c, pc))
			return true;
		break;
	case K_WARPSYNC: case K_NOP:
		return true;
	default:
		break;
	}
	a->n = at;
	a->nfix = nfix;
	return false;
}

/* n instructions from pc on; those that code does not do are the interpreter's as far as they follow each other: it makes products together. */
static void all_do(struct scomp *c, u32 pc, u32 n)
{
	u32 i, first = 0;

	for (i = 0; i <= n; i++) {
		u32 at = c->a.n, nfix = c->a.nfix;

		/* that of the calls before it comes first */
		if (i < n && !by_code(c, pc + i))
			continue;
		if (i > first) {
			c->a.n = at;
			c->a.nfix = nfix;
			s_by_interpreter(c, pc + first, i - first);
			s_hold_none(c);
			if (i < n)
				by_code(c, pc + i);
		}
		first = i + 1;
	}
}

/* The first warp begins at block b; rcx is the phase. */
static void first_warp(struct scomp *c, u32 b)
{
	struct as *a = &c->a;

	s_lea_next(c, b);
	g_store(a, 1, PHASE(seg), RAX);
	g_load(a, 1, RDX, rm_reg(RAX));
	g_movi(a, RAX, c->b[b].start);
	g_store(a, 0, PHASE(start), RAX);
	g_movi(a, RAX, NO_PC);
	g_store(a, 0, PHASE(at), RAX);
	g_load(a, 1, R15, PHASE(first));
	g_store(a, 1, SPM(phase), RCX);
	start_warp(c);
	s_stub_jump(c, g_jmp(a), b, true);
}

/* All warps stand there: the first one begins at block b. */
static void next_phase(struct scomp *c, u32 b, u32 exit)
{
	struct as *a = &c->a;

	g_load(a, 1, RAX, PHASE(least));
	g_alu(a, 1, G_CMP, RAX, TS(budget));
	s_exit_jump(c, g_jcc(a, CC_G), exit);
	first_warp(c, b);
}

/* All of the block has ended, with nothing written into its warps: the next one of the row, if code may begin it. */
static void next_block(struct scomp *c, u32 exit)
{
	struct as *a = &c->a;

	g_alui(a, 0, G_CMP, TS(row), 0);
	s_exit_jump(c, g_jcc(a, CC_LE), exit);
	g_alui(a, 0, G_SUB, TS(row), 1);
	g_load(a, 1, RAX, TS(block_budget));
	g_store(a, 1, TS(budget), RAX);
	g_load(a, 1, RAX, SPM(warp_at));
	g_load(a, 1, RAX, rm_mem(RAX, (s32)offsetof(struct warp, cta)));
	g_alui(a, 0, G_ADD, rm_mem(RAX, (s32)offsetof(struct cta, id)), (s32)jit_step(c->fn, c->spec));
	g_alui(a, 1, G_ADD, rm_mem(RAX, (s32)offsetof(struct cta, linear)), (s32)jit_step(c->fn, c->spec));
	g_alui(a, 0, G_ADD, TS(blocks), 1);
	g_movi(a, R12, 255);
	vr(a, X_PCMPEQD, 15, 15, 15);
	first_warp(c, 0);
}

/* Strips have met before *pc. Do they look at each other again soon, with what is between done here? Then that is where they stand, for *many instructions. */
static bool meets_again(struct scomp *c, u32 *pc, u32 *many)
{
	const struct sblock *b = &c->b[s_block_at(c, *pc)];
	u32 n;

	if (*pc >= c->n || b->start != *pc || !meets(c, b) || (c->code[b->end - 1].kind != K_SHFL && c->code[b->end - 1].kind != K_VOTE))
		return false;
	n = in_a_row(c, b->end - 1);
	if (!n || !s_between(c, *pc, b->end - 1, n))
		return false;
	*pc = b->end - 1;
	*many = n;
	return true;
}

/* A warp's strips all stand at pc: what is done there, and on. */
static void behind(struct scomp *c, u32 pc, u32 many, u32 exit)
{
	struct as *a = &c->a;
	u32 b = s_block_at(c, pc + 1);

	if (goes_on(c, pc) && whole_block(c, &c->code[pc])) {
		next_warp(c, pc, exit);
		next_phase(c, b, exit);
		return;
	}
	if (!many) {
		s_exit_jump(c, g_jmp(a), exit);
		return;
	}
	s_hold_none(c);
	do {
		all_do(c, pc, many);
		s_kept_results(c, pc, many);
		pc += many;
	} while (meets_again(c, &pc, &many));
	s_hold_none(c);
	pc--;
	b = s_block_at(c, pc + 1);
	g_movi(a, RBP, 0);
	g_movi(a, RAX, pc + 1);
	g_store(a, 0, SPM(seg_pc), RAX);
	s_lea_next(c, b);
	g_store(a, 1, SPM(seg), RAX);
	s_stub_jump(c, g_jmp(a), b, true);
}

void s_meet(struct scomp *c, u32 pc)
{
	struct as *a = &c->a;
	const struct insn *in = &c->code[pc];
	u32 exit = s_exit(c, pc), many, i;
	u64 *set;

	if (!meets(c, c->cur) || c->bad) {
		s_exit_jump(c, g_jmp(a), exit);
		return;
	}
	g_alui(a, 1, G_CMP, SPM(seg), 0);
	s_exit_jump(c, g_jcc(a, CC_E), exit);
	s_cmp_whole(c);
	s_exit_jump(c, g_jcc(a, CC_NE), exit);
	set = pool_alloc(&c->mem, (c->words + 1) * 8);
	if (!set) {
		c->bad = true;
		return;
	}
	s_park_list(c, pc, s_live_before(c, pc));
	s_clean_before(c, pc, set);
	put_away(c, s_live_before(c, pc), set);
	many = in_a_row(c, pc);
	for (i = 0; i < many; i++) {
		/* what is done there finds it in the slots */
		operands(c, in, i, set);
		s_spill_set(c, set, 15, true);
	}
	next_strip(c, pc, exit);
	behind(c, pc, many, exit);
}

bool s_meets_as_one(const struct scomp *c, u32 pc)
{
	const struct insn *in = &c->code[pc];
	u32 n, i, k;

	if (!meets(c, &c->b[s_block_at(c, pc)]))
		return false;
	if (goes_on(c, pc) && whole_block(c, in))
		return true;
	n = in_a_row(c, pc);
	for (i = 0; i < n; i++)
		for (k = 0; k < 7; k++) {
			u32 o = k == 6 ? in[i].guard : in[i].use >> k & 1 ? in[i].o[k] : OPND_NONE;

			if (o != OPND_NONE && !(o & OPND_CONST) && c->r[o].v.cls == SC_SCALAR)
				return false;
		}
	return n > 0;
}

/* What is done at pc finds it in the first n strips' slots, where all vectors lie but those that are kept. rbp is lost. */
void s_meet_operands(struct scomp *c, u32 pc, u32 n)
{
	u64 *set = pool_alloc(&c->mem, (c->words + 1) * 8), any;
	u32 many = in_a_row(c, pc), i, s, w;

	if (!set) {
		c->bad = true;
		return;
	}
	for (i = 0; i < many; i++) {
		operands(c, &c->code[pc], i, set);
		for (w = 0, any = 0; w < c->words; w++)
			any |= set[w];
		for (s = 0; any && s < n; s++) {
			g_movi(&c->a, RBP, 32 * s);
			s_spill_set(c, set, 15, true);
		}
	}
}

bool s_meets_block(const struct scomp *c, u32 pc) { return goes_on(c, pc) && whole_block(c, &c->code[pc]); }

void s_meet_warp(struct scomp *c, u32 pc, bool lags)
{
	struct as *a = &c->a;
	u32 exit = s_exit(c, pc), many = in_a_row(c, pc);

	if (c->bad)
		return;
	c->exits[exit].away = true;
	s_meet_operands(c, pc, STRIPS);
	g_movi(a, RAX, pc);
	g_store(a, 0, SPM(spc), RAX);
	g_movi(a, RAX, lags ? pc + 1 : 0);
	g_store(a, 0, SPM(met), RAX);
	g_movi(a, RBP, 32 * (STRIPS - 1));
	behind(c, pc, many, exit);
}

/* A strip's turn in the loop that begins with block t is before it. */
void s_rounds(struct scomp *c, u32 t)
{
	g_movi(&c->a, RAX, 1 << S_ROUNDS_LOG2);
	g_store(&c->a, 0, rm_idx(R15, RBP, 0, c->b[t].rounds), RAX);
}

/*
 * On the way back to block t, where the strips of the block take turns (step.c): after some rounds the first one stops here, and so do the others if they come; who comes when
 * those before stand elsewhere goes on.
 */
void s_turn(struct scomp *c, u32 t)
{
	struct as *a = &c->a;
	u32 at = c->b[t].start | S_TURN, exit, alone[4], more, look, first, i;
	u64 *set;

	set = pool_alloc(&c->mem, (c->words + 1) * 8);
	if (!set || !s_enters(c, t))
		return;
	exit = s_exit(c, c->b[t].start);
	g_alui(a, 0, G_SUB, rm_idx(R15, RBP, 0, c->b[t].rounds), 1);
	more = g_jcc(a, CC_G);
	s_rounds(c, t);
	g_load(a, 1, RCX, SPM(phase));
	g_op(a, 1, 0x85, RCX, rm_reg(RCX), 0);          /* test */
	alone[0] = g_jcc(a, CC_E);
	s_cmp_whole(c);
	alone[1] = g_jcc(a, CC_NE);
	g_alui(a, 0, G_CMP, rm_reg(RBP), 0);
	g_load(a, 0, RAX, SPM(spc));
	look = g_jcc(a, CC_NE);
	g_load(a, 0, RAX, PHASE(at));
	g_alui(a, 0, G_CMP, rm_reg(RAX), (s32)NO_PC);
	first = g_jcc(a, CC_E);
	g_here(a, look);
	g_alui(a, 0, G_CMP, rm_reg(RAX), (s32)at);
	alone[2] = g_jcc(a, CC_NE);
	g_here(a, first);
	/* shuffles since the block's phase began have made others of the warp stand apart from it */
	g_load(a, 1, RAX, SPM(seg));
	g_alu(a, 1, G_CMP, RAX, PHASE(seg));
	alone[3] = g_jcc(a, CC_NE);
	s_park_list(c, at, c->b[t].live_in);
	clean_in(c, c->cur, c->cur->end, set);
	put_away(c, c->b[t].live_in, set);
	next_strip(c, at, exit);
	c->b[t].turn_at = a->n;
	next_warp(c, at, exit);
	next_phase(c, t, exit);
	for (i = 0; i < 4; i++)
		g_here(a, alone[i]);
	g_here(a, more);
}

/* A strip's lanes have all ended, and none wait: the next one, where code runs them one after the other. */
void s_meet_end(struct scomp *c)
{
	struct as *a = &c->a;
	u32 exit, first, next, last, alone = 0;

	/* it is the same for all ends */
	if (c->end_at) {
		g_land(a, g_jmp(a), c->end_at);
		return;
	}
	c->end_at = a->n;
	exit = s_exit(c, NO_PC);
	g_alui(a, 1, G_CMP, SPM(seg), 0);
	s_exit_jump(c, g_jcc(a, CC_E), exit);
	if (s_part(c)) {
		g_load(a, 0, RAX, own());
		g_alu(a, 0, G_CMP, RAX, SPM(done));
	} else {
		g_alui(a, 0, G_CMP, SPM(done), 255);
	}
	s_exit_jump(c, g_jcc(a, CC_NE), exit);
	g_alui(a, 0, G_CMP, rm_reg(RBP), 0);
	first = g_jcc(a, CC_E);
	g_alui(a, 0, G_CMP, SPM(spc), (s32)S_ENDED);
	s_exit_jump(c, g_jcc(a, CC_NE), exit);
	s_cmp_last(c);
	last = g_jcc(a, CC_E);
	next = g_jmp(a);
	g_here(a, first);
	g_movi(a, RAX, S_ENDED);
	g_store(a, 0, SPM(spc), RAX);
	if (s_part(c)) {
		s_cmp_last(c);
		alone = g_jcc(a, CC_E);
	}
	g_here(a, next);
	g_movi(a, RAX, 0);
	g_store(a, 0, SPM(done), RAX);
	g_movi(a, R12, 255);
	vr(a, X_PCMPEQD, 15, 15, 15);
	g_alui(a, 0, G_ADD, rm_reg(RBP), 32);
	g_op(a, 0, 0xff, 4, SPM(seg), 0);
	g_here(a, last);
	if (alone)
		g_here(a, alone);
	c->end_last = a->n;
	next_warp(c, S_ENDED, exit);
	if (s_enters(c, 0))
		next_block(c, exit);
	else
		s_exit_jump(c, g_jmp(a), exit);
}
