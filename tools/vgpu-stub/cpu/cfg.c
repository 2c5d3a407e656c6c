/* SPDX-License-Identifier: MIT */
/*
 * From straight emitted code to what runs: basic blocks, their order, liveness, frame slots.
 *
 * The order is what "lowest pc first" stands on: a weak topological order (Bourdoncle 1993), that
 * is reverse post-order with every loop contiguous, so lanes that leave a loop wait behind it for
 * the others. Slots: one linear scan over live ranges. A slot holds 32 lanes, and each lane runs
 * its own sequential program, so sharing slots by sequential liveness is safe under divergence.
 */
#include <stdlib.h>
#include <string.h>

#include "cfg.h"
#include "debug.h"
#include "front.h"
#include "gen.h"
#include "jit.h"
#include "strip/strip.h"

#define MAX_WTO 12000           /* deeper graphs keep their text order: the walk is recursive */

static struct label *real(struct label *l)
{
	while (l->alias)
		l = l->alias;
	return l;
}

bool cfg_ends_block(const struct insn *in)
{
	switch (in->kind) {
	case K_JMP:
	case K_CBRA:
	case K_BRX:
		return true;
	case K_RET:
	case K_EXIT:
	case K_TRAP:
		return in->guard == OPND_NONE;
	}
	return false;
}

static void *alloc(struct cfg *g, size_t bytes)
{
	return cneed(g->c, pool_alloc(&g->c->pool, bytes ? bytes : 1));
}

static void find_blocks(struct cfg *g)
{
	struct comp *c = g->c;
	u8 *leader = alloc(g, c->ncode + 1);
	u32 i, k;

	leader[0] = 1;
	for (i = 0; i < c->nlabels; i++)
		leader[real(c->labels[i])->at] = 1;
	for (i = 0; i < c->ncode; i++)
		if (cfg_ends_block(&c->code[i]))
			leader[i + 1] = 1;
	for (i = 0; i < c->ncode; i++)
		g->nb += leader[i];
	g->b = alloc(g, g->nb * sizeof(*g->b));
	g->at = alloc(g, (c->ncode + 1) * sizeof(u32));
	for (i = 0, k = 0; i < c->ncode; i++) {
		if (leader[i]) {
			g->b[k].start = i;
			if (k)
				g->b[k - 1].end = i;
			k++;
		}
		g->at[i] = k - 1;
	}
	g->b[k - 1].end = c->ncode;
}

static u32 block_of(struct cfg *g, u32 label)
{
	return g->at[real(g->c->labels[label])->at];
}

static void find_edges(struct cfg *g)
{
	struct comp *c = g->c;
	u32 i, k, n;

	for (i = 0; i < g->nb; i++) {
		struct block *b = &g->b[i];
		struct insn *in = &c->code[b->end - 1];

		n = in->kind == K_BRX ? in->u.targets[0] + 1 : 2;
		b->succ = alloc(g, n * sizeof(u32));
		n = 0;
		if (in->kind == K_JMP || in->kind == K_CBRA) {
			in->taken = block_of(g, in->taken);
			b->succ[n++] = in->taken;
		}
		if (in->kind == K_BRX)
			for (k = 1; k <= in->u.targets[0]; k++)
				b->succ[n++] = in->u.targets[k] = block_of(g, in->u.targets[k]);
		if (in->kind == K_CBRA || (in->kind == K_BRX && in->guard != OPND_NONE) || !cfg_ends_block(in)) {
			in->fall = i + 1;       /* exists: the code ends in a ret */
			b->succ[n++] = i + 1;
		}
		b->nsucc = n;
		for (k = 0; k < n; k++)
			g->b[b->succ[k]].npred++;
	}
}

static u32 wto_visit(struct cfg *g, u32 v)
{
	u32 head, i, e;
	bool loop = false;

	g->stack[g->sp++] = v;
	head = g->dfn[v] = ++g->num;
	for (i = 0; i < g->b[v].nsucc; i++) {
		u32 s = g->b[v].succ[i], min = g->dfn[s] ? g->dfn[s] : wto_visit(g, s);

		if (min <= head) {
			head = min;
			loop = true;
		}
	}
	if (head == g->dfn[v]) {
		g->dfn[v] = ~0u;
		e = g->stack[--g->sp];
		if (loop) {
			while (e != v) {
				g->dfn[e] = 0;
				e = g->stack[--g->sp];
			}
			for (i = 0; i < g->b[v].nsucc; i++)
				if (!g->dfn[g->b[v].succ[i]])
					wto_visit(g, g->b[v].succ[i]);
		}
		g->order[--g->left] = v;
	}
	return head;
}

static void order_blocks(struct cfg *g)
{
	u32 i;

	g->order = alloc(g, g->nb * sizeof(u32));
	g->dfn = alloc(g, g->nb * sizeof(u32));
	g->stack = alloc(g, g->nb * sizeof(u32));
	g->left = g->nb;
	if (g->nb <= MAX_WTO)
		wto_visit(g, 0);
	else
		for (i = g->nb; i; i--)
			g->order[--g->left] = i - 1;
	for (i = 0; i < g->nb; i++)
		g->b[i].order = NO_PC;
	for (i = g->left; i < g->nb; i++)
		g->b[g->order[i]].order = i - g->left;
}

/* Calls f for every register operand; defs first. A guarded definition keeps old lanes: a use too. */
void each_opnd(struct insn *in, void (*f)(void *, u32 *, bool is_def), void *arg)
{
	u32 i;

	for (i = 0; i < 6; i++)
		if ((in->use >> i & 1) && !(in->o[i] & OPND_CONST) && in->o[i] != OPND_NONE)
			f(arg, &in->o[i], false);
	if (in->guard != OPND_NONE && !(in->guard & OPND_CONST))
		f(arg, &in->guard, false);
	if (in->kind == K_CALL) {
		struct callinfo *ci = in->u.call;

		for (i = 0; i < ci->nargs; i++)
			if (ci->args[i].is_reg && !(ci->args[i].opnd & OPND_CONST))
				f(arg, &ci->args[i].opnd, false);
		for (i = 0; i < ci->nrets; i++)
			if (ci->rets[i].is_reg)
				f(arg, &ci->rets[i].opnd, true);
	}
	for (i = 0; i < 6; i++)
		if ((in->def >> i & 1) && in->o[i] != OPND_NONE)
			f(arg, &in->o[i], true);
}

struct crossing { struct cfg *g; u32 *defined, block; bool guarded; };

static void note_crossing(void *arg, u32 *o, bool is_def)
{
	struct crossing *x = arg;
	struct cfg *g = x->g;

	if ((!is_def || x->guarded) && x->defined[*o] != x->block + 1 && !g->no[*o]) {
		g->border[g->nborder++] = *o;
		g->no[*o] = g->nborder;
	}
	if (is_def && !x->guarded)
		x->defined[*o] = x->block + 1;
}

/* What is read in a block before it is written there: nothing else lives where blocks meet, and few registers do. */
static void find_crossing(struct cfg *g)
{
	struct comp *c = g->c;
	struct crossing x = { g, alloc(g, (c->nregs + 1) * sizeof(u32)), 0, false };
	u32 k;

	g->no = alloc(g, (c->nregs + 1) * sizeof(u32));
	g->border = alloc(g, (c->nregs + 1) * sizeof(u32));
	for (; x.block < g->nb; x.block++)
		for (k = g->b[x.block].start; k < g->b[x.block].end; k++) {
			/* the carry flags and call results are written lane by lane as well */
			x.guarded = c->code[k].guard != OPND_NONE;
			each_opnd(&c->code[k], note_crossing, &x);
		}
	g->words = (g->nborder + 63) / 64;
}

struct local_sets { const u32 *no; u64 *use, *def; bool guarded; };

static void note_sets(void *arg, u32 *o, bool is_def)
{
	struct local_sets *s = arg;
	u32 at = s->no[*o] - 1, w = at >> 6;
	u64 bit = 1ull << (at & 63);

	if (!s->no[*o])
		return;
	if (!(s->def[w] & bit) && (!is_def || s->guarded))
		s->use[w] |= bit;
	if (is_def && !s->guarded)
		s->def[w] |= bit;
}

static void liveness(struct cfg *g)
{
	struct comp *c = g->c;
	u32 i, k, n, w;
	u32 round = 1, *changed, *done; /* by block: the rounds in which live_in changed, in which it was computed */
	bool again = true;

	changed = alloc(g, g->nb * sizeof(u32));
	done = alloc(g, g->nb * sizeof(u32));
	find_crossing(g);
	if ((u64)g->words * g->nb > 1u << 26)
		lex_fail(&c->lx, VGPU_ST_NOT_SUPPORTED, "the function is too large");
	n = g->words * g->nb;
	g->use = alloc(g, (size_t)n * 8);
	g->def = alloc(g, (size_t)n * 8);
	g->live_in = alloc(g, (size_t)n * 8);
	g->live_out = alloc(g, (size_t)n * 8);
	for (i = 0; i < g->nb; i++) {
		struct local_sets s = { g->no, g->use + i * g->words, g->def + i * g->words, false };

		for (k = g->b[i].start; k < g->b[i].end; k++) {
			s.guarded = c->code[k].guard != OPND_NONE;
			each_opnd(&c->code[k], note_sets, &s);
		}
	}
	for (; again; round++) {
		again = false;
		for (i = g->nb; i-- > g->left;) {
			u32 b = g->order[i];
			u64 *in = g->live_in + (size_t)b * g->words, *out = g->live_out + (size_t)b * g->words, diff = 0;
			const u64 *use = g->use + (size_t)b * g->words, *def = g->def + (size_t)b * g->words;
			bool stale = !done[b];

			c->fn->work += g->b[b].nsucc + 1;
			for (k = 0; k < g->b[b].nsucc; k++) {
				u32 s = g->b[b].succ[k];
				const u64 *from = g->live_in + (size_t)s * g->words;

				if (changed[s] < done[b] || !changed[s])
					continue;
				stale = true;
				c->fn->work += g->words;
				for (w = 0; w < g->words; w++)
					out[w] |= from[w];
			}
			if (!stale)
				continue;
			c->fn->work += g->words;
			if (compile_too_much(c->fn))
				lex_fail(&c->lx, VGPU_ST_NOT_SUPPORTED, "the function is too large: what lives where takes too many steps");
			done[b] = round;
			for (w = 0; w < g->words; w++) {
				u64 v = use[w] | (out[w] & ~def[w]);

				diff |= v ^ in[w];
				in[w] = v;
			}
			if (diff) {
				changed[b] = round;
				again = true;
			}
		}
	}
}

struct ranges { u32 *first, *last, pos; };

static void note_pos(void *arg, u32 *o, bool is_def)
{
	struct ranges *r = arg;

	(void)is_def;
	if (r->first[*o] > r->pos)
		r->first[*o] = r->pos;
	if (r->last[*o] < r->pos + 1)
		r->last[*o] = r->pos + 1;
}

static void extend(struct ranges *r, const struct cfg *g, const u64 *set, u32 pos)
{
	u32 w;

	for (w = 0; w < g->words; w++) {
		u64 bits = set[w];

		while (bits) {
			u32 v = g->border[w * 64 + (u32)__builtin_ctzll(bits)];

			bits &= bits - 1;
			if (r->first[v] > pos)
				r->first[v] = pos;
			if (r->last[v] < pos + 1)
				r->last[v] = pos + 1;
		}
	}
}

/* Every operand field once: an operand may be source and destination at a time. */
static void use_slots(struct insn *in, const u32 *slot)
{
	struct callinfo *ci = in->u.call;
	u32 i;

	for (i = 0; i < 6; i++)
		if (((in->use | in->def) >> i & 1) && !(in->o[i] & OPND_CONST) && in->o[i] != OPND_NONE)
			in->o[i] = slot[in->o[i]];
	if (in->guard != OPND_NONE && !(in->guard & OPND_CONST))
		in->guard = slot[in->guard];
	if (in->kind != K_CALL)
		return;
	for (i = 0; i < ci->nargs; i++)
		if (ci->args[i].is_reg && !(ci->args[i].opnd & OPND_CONST))
			ci->args[i].opnd = slot[ci->args[i].opnd];
	for (i = 0; i < ci->nrets; i++)
		if (ci->rets[i].is_reg)
			ci->rets[i].opnd = slot[ci->rets[i].opnd];
}

/* first[] and last[] are positions in the final code; last is one behind the last use. */
static const u32 *assign_slots(struct cfg *g, struct insn *code, u32 n)
{
	struct comp *c = g->c;
	struct func *fn = c->fn;
	u32 *first = alloc(g, (c->nregs + 1) * sizeof(u32)), *last = alloc(g, (c->nregs + 1) * sizeof(u32));
	u32 *slot = alloc(g, (c->nregs + 1) * sizeof(u32));
	u32 *starts = alloc(g, (n + 2) * sizeof(u32)), *ends = alloc(g, (n + 2) * sizeof(u32));
	u32 *snext = alloc(g, (c->nregs + 1) * sizeof(u32)), *enext = alloc(g, (c->nregs + 1) * sizeof(u32));
	u32 *freel[3], nfree[3] = { 0 }, count[3] = { 0 }, base[3], i, k, p, v;
	struct ranges r = { first, last, 0 };

	memset(first, 0xff, c->nregs * sizeof(u32));
	for (i = 0; i < 3; i++)
		freel[i] = alloc(g, (c->nregs + 1) * sizeof(u32));
	for (r.pos = 0; r.pos < n; r.pos++)
		each_opnd(&code[r.pos], note_pos, &r);
	for (i = g->left; i < g->nb; i++) {
		u32 b = g->order[i], end = i + 1 < g->nb ? g->b[g->order[i + 1]].pc : n;

		extend(&r, g, g->live_in + (size_t)b * g->words, g->b[b].pc);
		extend(&r, g, g->live_out + (size_t)b * g->words, end - 1);
	}
	/* registers that the caller fills or reads live as long as the activation */
	for (k = 0; k < 2; k++)
		for (i = 0; i < (k ? fn->nrets : fn->nparams); i++)
			if ((k ? fn->rets : fn->params)[i].is_reg) {
				v = (k ? fn->pret : fn->parg)[i];
				first[v] = 0;
				last[v] = n + 1;
			}
	if (c->m->e->dbg && (size_t)c->nregs * 256 <= DBG_FRAME_MOST) {
		fn->apart = true;
		for (v = 0; v < c->nregs; v++)
			if (first[v] != NO_PC) {
				first[v] = 0;
				last[v] = n + 1;
			}
	}
	memset(starts, 0xff, (n + 2) * sizeof(u32));
	memset(ends, 0xff, (n + 2) * sizeof(u32));
	for (v = 0; v < c->nregs; v++) {
		if (first[v] == NO_PC)
			continue;
		snext[v] = starts[first[v]];
		starts[first[v]] = v;
		enext[v] = ends[last[v]];
		ends[last[v]] = v;
	}
	for (p = 0; p < n; p++) {
		for (v = ends[p]; v != NO_PC; v = enext[v])
			freel[c->regs[v].w][nfree[c->regs[v].w]++] = slot[v];
		for (v = starts[p]; v != NO_PC; v = snext[v]) {
			u8 w = c->regs[v].w;

			slot[v] = nfree[w] ? freel[w][--nfree[w]] : count[w]++;
		}
	}
	base[2] = 0;
	base[1] = (count[2] * 4 + 127) & ~127u;
	base[0] = base[1] + count[1] * 256;
	fn->frame_bytes = base[0] + count[0] * 128;
	for (v = 0; v < c->nregs; v++)
		slot[v] = base[c->regs[v].w] + slot[v] * (c->regs[v].w == 0 ? 128 : c->regs[v].w == 1 ? 256 : 4);
	for (i = 0; i < n; i++)
		use_slots(&code[i], slot);
	for (k = 0; k < 2; k++)
		for (i = 0; i < (k ? fn->nrets : fn->nparams); i++)
			if ((k ? fn->rets : fn->params)[i].is_reg) {
				u32 *o = &(k ? fn->pret : fn->parg)[i];

				*o = slot[*o];
			}
	fn->regs = count[0] + count[1] * 2 + 2;
	fn->regs = fn->regs < 16 ? 16 : fn->regs > 255 ? 255 : fn->regs;
	return slot;
}

/* The JIT works on the same code, before registers became slots. No memory for that: interpret. */
static void hand_over(struct cfg *g, const struct insn *code, u32 n)
{
	struct comp *c = g->c;
	struct jit_src *s = jit_src_new(code, n, c->regs, c->nregs);
	size_t set = (size_t)g->words * 8;
	u32 i, k, b;

	if (!s)
		return;
	s->nb = g->nb - g->left;
	s->bwords = g->words;
	s->b = pool_alloc(&s->pool, (s->nb + 1) * sizeof(*s->b));
	s->no = pool_alloc(&s->pool, (c->nregs + 1) * sizeof(u32));
	s->border = pool_alloc(&s->pool, (g->nborder + 1) * sizeof(u32));
	s->live_in = pool_alloc(&s->pool, s->nb * set + 8);
	s->live_out = pool_alloc(&s->pool, s->nb * set + 8);
	if (s->no && s->border) {
		memcpy(s->no, g->no, c->nregs * sizeof(u32));
		memcpy(s->border, g->border, g->nborder * sizeof(u32));
	}
	for (i = 0; s->b && s->no && s->border && s->live_in && s->live_out && i < s->nb; i++) {
		struct jblock *jb = &s->b[i];

		b = g->order[g->left + i];
		jb->start = g->b[b].pc;
		jb->end = i + 1 < s->nb ? g->b[g->order[g->left + i + 1]].pc : n;
		jb->nsucc = g->b[b].nsucc;
		jb->succ = pool_alloc(&s->pool, (jb->nsucc + 1) * sizeof(u32));
		if (!jb->succ)
			break;
		for (k = 0; k < jb->nsucc; k++)
			jb->succ[k] = g->b[g->b[b].succ[k]].order;
		memcpy(s->live_in + i * (size_t)g->words, g->live_in + b * (size_t)g->words, set);
		memcpy(s->live_out + i * (size_t)g->words, g->live_out + b * (size_t)g->words, set);
	}
	if (i < s->nb) {
		jit_src_free(s);
		return;
	}
	jit_loop_depths(s);
	s->steps &= !c->fn->one_way;
	c->fn->jsrc = s;
}

static void note_use(void *arg, u32 *o, bool is_def)
{
	u8 *used = arg;

	if (!is_def)
		used[*o] = 1;
}

/* A texel has four registers, of which most programs read the first: an instruction each (lower_tex.c). */
static void drop_texels(struct cfg *g)
{
	struct comp *c = g->c;
	u8 *used = alloc(g, c->nregs + 1);
	u32 i;

	for (i = 0; i < c->ncode; i++)
		each_opnd(&c->code[i], note_use, used);
	for (i = 0; i < c->ncode; i++) {
		struct insn *in = &c->code[i];

		if (in->kind != K_GEN || in->u.gen != gen_tex || used[in->o[0]])
			continue;
		cfg_nop(in);
	}
}

/*
 * gcc's OpenMP and OpenACC have each warp work as one thread: one lane takes a lock or swaps, in a loop, and a shuffle tells the others what it
 * got. What such lanes read in one instruction is one value, also of memory that others write to: hardware reads it once.
 */
static bool one_thread(const struct insn *code, u32 n)
{
	u32 i, k, j;

	for (i = 1; i < n; i++) {
		if (code[i].kind != K_SHFL || code[i].o[3] == OPND_NONE)
			continue;
		for (k = i; k-- && i - k <= 3;)
			if (code[k].kind == K_ATOM && code[k].guard != OPND_NONE && code[k].o[0] == code[i].o[3])
				break;
		for (j = i + 1; i - k <= 3 && j < n && j - i <= 8; j++)
			if ((code[j].kind == K_CBRA || code[j].kind == K_JMP) && code[j].flags & INF_SPIN && code[j].taken <= k)
				return true;
	}
	return false;
}

/*
 * An atomic whose result nobody reads is a reduction: a C program has no other way to ask for one. It waits for nobody, and needs no
 * more than one instruction of the processor.
 */
static void reductions(struct cfg *g, struct insn *code)
{
	u32 words = g->c->nregs / 64 + 1, i, k;
	u64 *set = alloc(g, words * sizeof(*set));

	for (i = g->left; i < g->nb; i++) {
		const struct block *b = &g->b[g->order[i]];

		memset(set, 0, words * sizeof(*set));
		spread_set(set, g->live_out + g->order[i] * (size_t)g->words, g->words, g->border);
		for (k = b->end - b->start + b->later; k--;) {
			struct insn *in = &code[b->pc + b->meet + k];

			if (in->kind == K_ATOM && in->def == 1 && in->sub < ATOM_EXCH && in->o[0] != OPND_NONE &&
			    !(set[in->o[0] >> 6] >> (in->o[0] & 63) & 1)) {
				in->o[0] = OPND_NONE;
				in->def = 0;
			}
			s_before(set, in);
		}
	}
}

void *cfg_zeroes(struct cfg *g, size_t bytes) { return cneed(g->c, pool_alloc(&g->c->pool, bytes + 1)); }

void cfg_predecessors(struct cfg *g, u32 **first, u32 **pred)
{
	u32 i, k, n = 0, *f, *p;

	*first = f = cfg_zeroes(g, (g->nb + 2) * sizeof(u32));
	for (i = g->left; i < g->nb; i++)
		for (k = 0; k < g->b[g->order[i]].nsucc; k++, n++)
			f[g->b[g->order[i]].succ[k] + 2]++;
	for (i = 2; i < g->nb + 2; i++)
		f[i] += f[i - 1];
	*pred = p = cfg_zeroes(g, (n + 1) * sizeof(u32));
	for (i = g->left; i < g->nb; i++)
		for (k = 0; k < g->b[g->order[i]].nsucc; k++)
			p[f[g->b[g->order[i]].succ[k] + 1]++] = g->order[i];
}

void cfg_append(struct cfg *g, const struct insn *in)
{
	struct insn was = *in;

	*emit(g->c, K_NOP) = was;
}

void cfg_nop(struct insn *in)
{
	in->kind = K_NOP;
	in->def = in->use = 0;
	in->guard = OPND_NONE;
	in->gneg = 0;
}

/* The last one knows where a block goes on that has no jump. What is left behind its end is nothing, for whoever counts instructions. */
void cfg_shorten(struct cfg *g, struct block *b)
{
	u32 i, n = b->start, fall = g->c->code[b->end - 1].fall;

	for (i = b->start; i < b->end; i++)
		if (g->c->code[i].kind != K_NOP || (i + 1 == b->end && n == b->start))
			g->c->code[n++] = g->c->code[i];
	g->c->code[n - 1].fall = fall;
	for (i = n; i < b->end; i++)
		cfg_nop(&g->c->code[i]);
	b->end = n;
}

void cfg_redirect(struct cfg *g, u32 b, u32 from, u32 to)
{
	struct insn *in = &g->c->code[g->b[b].end - 1];
	u32 k;

	for (k = 0; k < g->b[b].nsucc; k++)
		if (g->b[b].succ[k] == from) {
			g->b[b].succ[k] = to;
			g->b[from].npred--;
			g->b[to].npred++;
		}
	if ((in->kind == K_JMP || in->kind == K_CBRA) && in->taken == from)
		in->taken = to;
	for (k = 1; in->kind == K_BRX && k <= in->u.targets[0]; k++)
		if (in->u.targets[k] == from)
			in->u.targets[k] = to;
	if (!(in->kind == K_JMP || (in->kind == K_BRX && in->guard == OPND_NONE)) && in->fall == from)
		in->fall = to;
}

static struct insn nothing(const struct insn *at, enum kind kind)
{
	struct insn in = { .kind = (u8)kind, .guard = OPND_NONE, .line = at->line };
	u32 k;

	for (k = 0; k < 6; k++)
		in.o[k] = OPND_NONE;
	return in;
}

/* Is block b nothing but a jump to block `to`? */
static bool jumps_to(const struct cfg *g, u32 b, u32 to)
{
	u32 i;

	for (i = g->b[b].start; i + 1 < g->b[b].end && g->c->code[i].kind == K_NOP; i++)
		;
	return i + 1 == g->b[b].end && g->c->code[i].kind == K_JMP && g->c->code[i].taken == to;
}

/* LLVM ends loops by "@p bra EXIT; bra LOOP": where that is a loop of one block otherwise, it becomes one, which many who come later know. */
static void loops_of_one(struct cfg *g)
{
	u32 b, k;

	for (b = 0; b < g->nb; b++)
		for (k = 0; g->b[b].nsucc == 2 && k < 2; k++)
			if (g->b[b].succ[!k] != b && jumps_to(g, g->b[b].succ[k], b))
				cfg_redirect(g, b, g->b[b].succ[k], b);
}

void cfg_finish(struct comp *c)
{
	struct cfg g = { .c = c };
	struct insn *code;
	const u32 *slot;
	u32 n = 0, i, k, later;

	c->guard = OPND_NONE;
	c->gneg = false;
	emit(c, K_RET);
	inline_calls(c);
	resolve_calls(c);
	c->konst_bytes = c->cpool_bytes;
	tally_find(c);
	roots_find(c);
	join_find(c);
	if (c->texels)
		drop_texels(&g);
	/* the debugger shows an instruction where it stands, and a register as it was last */
	if (!c->m->e->dbg && !c->m->e->ops) {
		halves_up(c);
		strides_find(c);
	}
	if (!c->m->e->dbg)
		uniform_hoist(c);
	find_blocks(&g);
	find_edges(&g);
	if (!c->m->e->dbg && !c->m->e->ops)
		loops_of_one(&g);
	if (c->fn->entry && c->m->e->code_rw && !c->m->e->mc && !c->m->e->dbg && !c->m->e->ops) {
		loads_apart(&g);
		if (loops_may_ask(&g))
			do
				order_blocks(&g);
			while (loop_versions(&g));
	}
	if (c->fn->entry && !c->m->e->dbg && !c->m->e->ops) {
		known_bits(&g);
		values_once(&g);
		order_blocks(&g);
		loop_invariants(&g);
		if (c->fn->further) {
			order_blocks(&g);
			coarsen(&g);
			order_blocks(&g);
		} else if (c->m->e->code_rw && !c->m->e->mc) {
			order_blocks(&g);
			c->coarse = coarsen_pays(&g);
		}
		dots_together(&g);
	}
	compare_at_branch(&g);
	guards_for_branches(&g);
	split_conditions(&g);
	i = 0;
	do
		order_blocks(&g);
	while (rounds_turn(&g, i++));
	if (rounds_meet(&g))
		order_blocks(&g);
	leaders_later(&g);
	if (c->fn->entry && c->m->e->code_rw && c->m->e->lanes != &lanes_avx512 && !c->m->e->dbg && !c->m->e->ops)
		rounds_end(&g);
	for (i = later = 0; i < g.nb; i++)
		later += g.b[i].later;
	code = calloc(c->ncode + later + 2 * g.nb, sizeof(*code));
	cneed(c, code);
	c->fn->code = code;
	for (i = g.left; i < g.nb; i++) {
		struct block *b = &g.b[g.order[i]];
		struct insn *last;

		b->pc = n;
		if (b->meet) {
			code[n] = nothing(&c->code[b->start], K_NOP);
			code[n++].flags = INF_MEET;
		}
		for (k = b->start; k < b->end; k++) {
			if (b->later && g.late[k])
				code[n++] = g.bar[k] ? c->code[g.bar[k] - 1] : nothing(&c->code[k], K_LATER);
			code[n++] = c->code[k];
		}
		last = &code[n - 1];
		/* falling into a block that others reach too: lanes may be waiting there */
		if (!cfg_ends_block(last) && !(i + 1 < g.nb && g.order[i + 1] == last->fall &&
					   g.b[last->fall].npred == 1)) {
			u32 to = last->fall, line = last->line;

			last = &code[n++];
			last->kind = K_JMP;
			last->guard = OPND_NONE;
			last->line = line;
			last->taken = to;
			for (k = 0; k < 6; k++)
				last->o[k] = OPND_NONE;
		}
	}
	liveness(&g);
	if (c->fn->entry && !c->m->e->dbg && !c->m->e->ops)
		reductions(&g, code);
	/* by block: a stretch ends where lanes part or meet */
	for (i = g.left; i < g.nb && c->fn->entry && c->m->e->code_rw && c->m->e->lanes != &lanes_avx512 && !c->m->e->dbg && !c->m->e->ops; i++) {
		u32 end = i + 1 < g.nb ? g.b[g.order[i + 1]].pc : n;

		together(code + g.b[g.order[i]].pc, end - g.b[g.order[i]].pc, c->nregs);
	}
	for (i = 0; i < n; i++)
		if (code[i].kind == K_JMP || code[i].kind == K_CBRA)
			code[i].flags |= cfg_spins(code, g.b[code[i].taken].pc, i, c->m->e->code_rw && !c->m->e->mc);
	for (i = 0; i < n; i++) {
		struct insn *in = &code[i];

		if (jit_asks(in))
			c->fn->patience = PATIENCE;
		in->plain = in->kind == K_LANE && in->guard == OPND_NONE;
		if (in->kind == K_JMP || in->kind == K_CBRA)
			in->taken = g.b[in->taken].pc;
		if (in->kind == K_CBRA || (in->kind == K_BRX && in->guard != OPND_NONE))
			in->fall = g.b[in->fall].pc;
		if (in->kind == K_BRX)
			for (k = 1; k <= in->u.targets[0]; k++)
				in->u.targets[k] = g.b[in->u.targets[k]].pc;
	}
	for (i = 0, k = one_thread(code, n); k && i < n; i++)
		if (code[i].kind == K_LD && (code[i].space == SPACE_GLOBAL || code[i].space == SPACE_GENERIC))
			code[i].flags |= INF_ONCE;
	c->fn->ncode = n;
	if (c->fn->entry && c->m->e->code_rw)
		hand_over(&g, code, n);
	keep_body(c, code, n);
	names_keep(c, code, n);
	for (i = 0; i < c->nlabels && c->fn->names; i++)
		if (c->labels[i]->text && !c->labels[i]->alias && g.b[block_of(&g, i)].order != NO_PC)
			names_label(c->fn, c->labels[i], g.b[block_of(&g, i)].pc);
	slot = assign_slots(&g, code, n);
	if (c->fn->jsrc)
		memcpy(c->fn->jsrc->slot, slot, c->nregs * sizeof(u32));
}
