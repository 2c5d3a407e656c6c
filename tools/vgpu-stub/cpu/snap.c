/* SPDX-License-Identifier: MIT */
/*
 * A block that stands still, as a device core: the format is that of fw-protocol/vgpu_core.h. Called by the thread that runs the block, in the middle of a
 * turn (debug.c) or behind a fault (block.c).
 *
 * Registers share slots of a frame where they are not alive at the same time, so a register is only told where some way from here
 * reads it before it is written. In a function that was compiled for the debugger each has a slot of its own, and all are told.
 * Values that the JIT holds in its own area are not in the frame: of warps other than the one that met a fault only places are told then.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <immintrin.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../../fw-protocol/vgpu_version.h"
#include "../../../fw-protocol/vgpu_core.h"
#include "disasm.h"
#include "front.h"
#include "jit.h"
#include "snap.h"
#include "srcline.h"

#define AROUND 256u             /* bytes: pieces in which memory that registers point to is taken */
#define PIECES 4096u
#define LOADS 1024u
#define SHARED_MOST (256u << 10)
#define LOCAL_MOST (256u << 10)
#define PTX_MOST (512u << 10)
#define LIVE_STEPS (1u << 26)   /* instructions looked at, for all registers together */
#define KEEP_MOST (4u << 20)

/* ---- memory, whatever becomes of the access ------------------------------------------------ */

bool snap_peek(struct tstate *ts, u64 a, void *dst, size_t n)
{
	const struct engine_env *env = &ts->e->env;
	const struct jit *jit = ts->jit;
	int armed = ts->armed;
	volatile bool got = false;
	sigjmp_buf was;

	if (a - env->span_base >= env->span_bytes || n > env->span_bytes - (a - env->span_base))
		return false;
	memcpy(&was, &ts->jmp, sizeof(was));
	if (!sigsetjmp(ts->jmp, 0)) {
		ts->jit = NULL;
		ts->armed = 1;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		memcpy(dst, (const void *)a, n);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		got = true;
	}
	memcpy(&ts->jmp, &was, sizeof(was));
	ts->armed = armed;
	ts->jit = jit;
	return got;
}

/* ---- registers -------------------------------------------------------------------------------- */

struct regs {                           /* of one function */
	const struct func *fn;
	const struct insn *code;        /* with virtual registers, one for each of ours that is no step */
	u32 n, nregs;
	u32 *slot;                      /* in the frame; OPND_NONE: nowhere */
	u32 *seen, stamp, steps;        /* by pc, for ways that have been gone */
	u32 *queue;
	u8 *live;                       /* by register: 1 no, 2 yes, at live_pc */
	u32 live_pc;
};

static u32 place(const struct func *fn, u32 pc) { return fn->stepped ? pc | 1 : pc; }

struct gather { u32 o[160], n; };

static void gather(void *arg, u32 *o, bool is_def)
{
	struct gather *g = arg;

	(void)is_def;
	if (g->n < sizeof(g->o) / sizeof(g->o[0]))
		g->o[g->n++] = *o;
}

static void regs_close(struct regs *r)
{
	free(r->slot);
	free(r->seen);
	free(r->queue);
	free(r->live);
	r->fn = NULL;
}

static bool regs_open(struct regs *r, const struct func *fn)
{
	struct gather v, s;
	u32 i, k;

	/* warps of a block are in the same few functions */
	if (r->fn == fn)
		return true;
	if (r->fn)
		regs_close(r);
	*r = (struct regs){ .steps = r->steps, .live_pc = NO_PC, .code = fn->jsrc ? fn->jsrc->code : fn->names ? fn->names->code : NULL,
			    .n = fn->stepped ? fn->ncode / 2 : fn->ncode };
	if (!r->code || !fn->names)
		return false;
	for (i = 0; i < fn->names->nreg; i++)
		if (fn->names->reg[i].first + fn->names->reg[i].count > r->nregs)
			r->nregs = fn->names->reg[i].first + fn->names->reg[i].count;
	r->slot = malloc((r->nregs + 1) * sizeof(u32));
	r->seen = calloc(r->n + 1, sizeof(u32));
	r->queue = malloc((2 * (size_t)r->n + 2) * sizeof(u32));
	r->live = calloc(r->nregs + 1, 1);
	r->fn = fn;
	if (!r->slot || !r->seen || !r->queue || !r->live) {
		regs_close(r);
		return false;
	}
	memset(r->slot, 0xff, (r->nregs + 1) * sizeof(u32));
	for (i = 0; i < r->n; i++) {
		v.n = s.n = 0;
		each_opnd((struct insn *)&r->code[i], gather, &v);
		if (fn->jsrc) {
			for (k = 0; k < v.n; k++)
				if (v.o[k] < r->nregs)
					r->slot[v.o[k]] = fn->jsrc->slot[v.o[k]];
			continue;
		}
		each_opnd((struct insn *)&fn->code[place(fn, fn->stepped ? 2 * i : i)], gather, &s);
		for (k = 0; k < v.n && k < s.n; k++)
			if (v.o[k] < r->nregs)
				r->slot[v.o[k]] = s.o[k];
	}
	for (i = 0; i < r->nregs; i++)
		if (r->slot[i] == ~0u)
			r->slot[i] = OPND_NONE;
	return true;
}

struct look { u32 reg; bool used, set; };

static void look(void *arg, u32 *o, bool is_def)
{
	struct look *k = arg;

	if (*o == k->reg) {
		k->used |= !is_def;
		k->set |= is_def;
	}
}

static void go(struct regs *r, u32 pc, u32 *n)
{
	if (pc < r->n && r->seen[pc] != r->stamp) {
		r->seen[pc] = r->stamp;
		r->queue[(*n)++] = pc;
	}
}

/* Is there a way from pc on that reads it before it writes it? */
static bool find_alive(struct regs *r, u32 reg, u32 pc)
{
	u32 n = 0, i;

	r->stamp++;
	go(r, pc, &n);
	while (n) {
		u32 at = r->queue[--n];
		struct insn *in = (struct insn *)&r->code[at];
		struct look k = { .reg = reg };

		if (++r->steps > LIVE_STEPS)
			return false;
		each_opnd(in, look, &k);
		if (k.used)
			return true;
		if (k.set && in->guard == OPND_NONE)
			continue;
		switch (in->kind) {
		case K_JMP:
			go(r, in->taken, &n);
			break;
		case K_CBRA:
			go(r, in->taken, &n);
			go(r, in->fall, &n);
			break;
		case K_BRX:
			for (i = 1; i <= in->u.targets[0] && n + 2 < 2 * r->n; i++)
				go(r, r->fn->stepped ? in->u.targets[i] / 2 : in->u.targets[i], &n);
			if (in->guard != OPND_NONE)
				go(r, in->fall, &n);
			break;
		case K_RET:
		case K_EXIT:
		case K_TRAP:
			if (in->guard != OPND_NONE)
				go(r, at + 1, &n);
			break;
		default:
			go(r, at + 1, &n);
		}
	}
	return false;
}

static bool alive(struct regs *r, u32 reg, u32 pc)
{
	if (r->fn->apart || reg >= r->nregs)
		return r->fn->apart;
	if (r->live_pc != pc) {
		memset(r->live, 0, r->nregs);
		r->live_pc = pc;
	}
	if (!r->live[reg])
		r->live[reg] = find_alive(r, reg, pc) ? 2 : 1;
	return r->live[reg] == 2;
}

static u64 lane_value(const void *at, enum type type, u32 l)
{
	return type == T_PRED ? *(const u32 *)at >> l & 1 : type_bytes(type) == 8 ? ((const u64 *)at)[l] : ((const u32 *)at)[l];
}

/* Registers narrower than 32 bits lie in slots of 32. */
static u64 narrow(u64 v, enum type type)
{
	return type != T_PRED && type_bytes(type) < 4 ? v & ((1ull << 8 * type_bytes(type)) - 1) : v;
}

/* Where register v is, NULL: nowhere. */
static const void *reg_at(const struct regs *r, const struct frame *f, u32 v)
{
	u32 i;

	if (r->slot[v] != OPND_NONE)
		return opnd(f, r->slot[v]);
	/* of the whole grid */
	for (i = 0; i < r->fn->names->nuni; i++)
		if (r->fn->names->uni[i][1] == v)
			return opnd(f, r->fn->names->uni[i][0]);
	return NULL;
}

static bool wide(enum type type) { return type == T_B128; }

bool snap_register(const struct frame *f, const struct insn *in, const char *name, u32 lane, u64 *value, enum type *type)
{
	const struct func *fn = f->fn;
	struct regs r = { .fn = NULL };
	u32 i, k;
	bool found = false;

	if (!regs_open(&r, fn))
		return false;
	for (i = 0; i < fn->names->nreg && !found; i++) {
		const struct regname *n = &fn->names->reg[i];

		if (strncmp(name, n->s, n->n) || wide(n->type))
			continue;
		for (k = 0; k < n->count && !found; k++) {
			char s[128];
			struct dtext t = { s, sizeof(s), 0 };
			const void *at = reg_at(&r, f, n->first + k);

			disasm_reg(fn, n->first + k, &t);
			if (!at || strcmp(s, name) || !alive(&r, n->first + k, disasm_pc(fn, in)))
				continue;
			*type = n->type;
			*value = narrow(lane_value(at, n->type, lane), n->type);
			found = true;
		}
	}
	regs_close(&r);
	return found;
}

/* ---- state -------------------------------------------------------------------------------------- */

struct snap {
	struct tstate *ts;
	const struct snap_at *at;
	const struct cta *c;
	struct dtext t;
	struct regs regs;
	u32 lanes;                      /* whose registers are known */
	bool partly;                    /* some registers are not */
	u64 *piece;                     /* addresses in units of AROUND that registers name */
	u32 npieces;
};

static void piece(struct snap *s, u64 a)
{
	const struct engine_env *env = &s->ts->e->env;
	u32 i;

	for (i = 0; i < 2; i++, a += AROUND) {
		u64 p = a / AROUND;

		if (!s->piece || s->npieces == PIECES || a - env->span_base >= env->span_bytes || a - s->c->win < s->c->win_bytes ||
		    (s->npieces && s->piece[s->npieces - 1] == p))
			continue;
		s->piece[s->npieces++] = p;
	}
}

static void say_reg(struct snap *s, struct regs *r, const struct frame *f, u32 v, const struct regname *n, bool point)
{
	const void *at = reg_at(r, f, v);
	enum type type = n->type;
	u64 first;
	u32 l;

	if (!at)
		return;
	dt_say(&s->t, "reg ");
	disasm_reg(r->fn, v, &s->t);
	first = narrow(lane_value(at, type, 0), type);
	for (l = 1; l < LANES && s->lanes == ~0u && narrow(lane_value(at, type, l), type) == first; l++)
		;
	if (l == LANES) {
		dt_say(&s->t, " %s all %llx\n", type_name(type), (unsigned long long)first);
	} else {
		dt_say(&s->t, " %s each", type_name(type));
		for (l = 0; l < LANES; l++)
			if (s->lanes >> l & 1)
				dt_say(&s->t, " %llx", (unsigned long long)narrow(lane_value(at, type, l), type));
			else
				dt_say(&s->t, " -");
		dt_say(&s->t, "\n");
	}
	for (l = 0; point && type_bytes(type) == 8 && l < LANES; l++)
		if (f->lanes & s->lanes & 1u << l)
			piece(s, lane_value(at, type, l) & ~(u64)(AROUND - 1));
}

/* Which of the blocks that are one (coarsen.c) it is about. */
static u32 twin(const struct snap *s) { return s->at->in ? s->at->in->twin : 0; }

static u64 shared_of(const struct snap *s) { return s->c->shared + twin(s) * s->c->g->fn->next_shared; }

static u32 its_own(const struct snap *s, const struct fnames *n, u32 v)
{
	u32 k = twin(s);

	return k && v < n->nothers && n->others[(k - 1) * n->nothers + v] ? n->others[(k - 1) * n->nothers + v] : v;
}

static void say_regs(struct snap *s, struct regs *r, const struct frame *f, const struct insn *in, bool point)
{
	const struct func *fn = f->fn;
	u32 i, k;

	for (i = 0; i < fn->names->nreg; i++)
		for (k = 0; k < fn->names->reg[i].count; k++) {
			u32 v = its_own(s, fn->names, fn->names->reg[i].first + k);
			bool uni = v < r->nregs && r->slot[v] == OPND_NONE;

			if (!wide(fn->names->reg[i].type) && (uni || alive(r, v, disasm_pc(fn, in))))
				say_reg(s, r, f, v, &fn->names->reg[i], point);
		}
}

static void say_group(struct snap *s, const struct frame *f, u32 lanes, const char *state, u32 pc)
{
	const struct func *fn = f->fn;
	const struct insn *in;
	char text[400], source[256];
	struct dtext d = { text, sizeof(text), 0 };

	if (!lanes)
		return;
	pc = place(fn, pc);
	in = pc < fn->ncode ? &fn->code[pc] : NULL;
	text[0] = source[0] = 0;
	if (in) {
		disasm(fn, in, &d);
		src_line(fn, in->line, source, sizeof(source));
	}
	/* what follows the first file is where that was inlined */
	source[strcspn(source, ",")] = 0;
	for (char *p = source; *p; p++)
		if (*p == ' ')
			*p = '?';
	dt_say(&s->t, "group %08x %s %u %s %s\n", lanes, state, in ? in->line : 0, source[0] ? source : "-", text);
}

/* Lanes of m by where they are. */
static void say_groups(struct snap *s, const struct frame *f, u32 m, const char *state)
{
	while (m) {
		u32 pc = f->lane_pc[__builtin_ctz(m)], same = 0, w;

		for (w = m; w; w &= w - 1)
			if (f->lane_pc[__builtin_ctz(w)] == pc)
				same |= w & (0 - w);
		say_group(s, f, same, state, pc);
		m &= ~same;
	}
}

/*
 * Code has left one instruction to the interpreter. What this reads is in the frame; of the rest the frame knows nothing, but what code
 * for AVX-512 is known to keep behind it. The others are told nowhere.
 */
static void from_code(struct snap *s, const struct warp *w, struct frame *f, struct regs *r, u32 pc)
{
	const struct jit *j = s->ts->held;
	const struct jentry *e = !j->strip && pc + 1 < r->n && j->entry_at[pc + 1] ? &j->entries[j->entry_at[pc + 1] - 1] : NULL;
	struct gather g = { .n = 0 };
	u32 i, v, k;

	each_opnd((struct insn *)&r->code[pc], gather, &g);
	for (v = 0; v < r->nregs; v++) {
		bool kept = false;

		for (i = 0; i < g.n; i++)
			kept |= g.o[i] == v;
		for (k = 0; k < 6; k++)
			kept &= !(r->code[pc].def >> k & 1) || r->code[pc].o[k] != v;
		for (i = 0; e && i < e->nlive && !kept; i++)
			if (j->lives[e->live + i] == v) {
				jit_spill_one(j, w->jp, f, v, s->ts->held_mask);
				kept = true;
			}
		if (!kept)
			r->slot[v] = OPND_NONE;
	}
	s->lanes = s->ts->held_mask;
	s->partly = true;
}

static void say_frame(struct snap *s, const struct warp *w, struct frame *f, u32 depth, bool values)
{
	const struct snap_at *at = s->at;
	bool runs = at->f == f && at->in, top = f == w->top;
	const struct insn *in = runs ? at->in : &f->fn->code[place(f->fn, f->pc < f->fn->ncode ? f->pc : 0)];
	u32 away = f->waiting | f->parked | f->barred;
	struct regs *r = &s->regs;

	dt_say(&s->t, "frame %u %08x %s\n", depth, f->lanes, f->fn->name);
	if (runs)
		say_group(s, f, f->lanes & ~away, "running", (u32)(at->in - f->fn->code));
	else
		say_group(s, f, f->mask & f->lanes & ~away, top ? "ready" : "calling", f->pc);
	say_groups(s, f, f->waiting & f->lanes, "waiting");
	say_groups(s, f, f->parked & f->lanes, "parked");
	say_groups(s, f, f->barred & f->lanes, "barrier");
	if (!values || !disasm_known(f->fn, in) || !regs_open(r, f->fn))
		return;
	if (runs && s->ts->held)
		from_code(s, w, f, r, disasm_pc(f->fn, in));
	say_regs(s, r, f, in, at->memory && w == at->w);
	s->lanes = ~0u;
	if (runs && s->ts->held)        /* what it does not know is nobody else's matter */
		regs_close(r);
}

static void say_warp(struct snap *s, struct warp *w, bool values)
{
	struct frame *f;
	u32 depth = 0;

	dt_say(&s->t, "warp %u %08x\n", w->index, w->live);
	for (f = w->top; f && w->live; f = f->up)
		say_frame(s, w, f, depth++, values);
}

static void say_params(struct snap *s, const struct grid *g)
{
	const struct func *fn = g->fn;
	u32 i, k;

	for (i = 0; i < fn->nparams && !fn->params[i].is_reg; i++) {
		const struct fparam *p = &fn->params[i];

		if (p->off > g->param_bytes || p->bytes > g->param_bytes - p->off)
			break;
		dt_say(&s->t, "param %s %u ", p->name ? p->name : "?", p->off);
		for (k = 0; k < p->bytes && k < 256; k++)
			dt_say(&s->t, "%02x", ((const u8 *)g->pwin)[p->off + k]);
		dt_say(&s->t, "\n");
	}
}

static void say_state(struct snap *s, bool others)
{
	const struct snap_at *at = s->at;
	const struct cta *c = s->c;
	const struct grid *g = c->g;
	u32 t = at->w->index * LANES + at->lane, x = g->join.turned ? 1 : g->join.n, i;

	dt_say(&s->t, "vgpu-core 1\nrelease " VGPU_VERSION "\nwhy %s\nkernel %s\nlaunch %llu\n", at->why, g->fn->name,
	       (unsigned long long)g->gridid);
	/* blocks that are one (join.c) as they were run */
	dt_say(&s->t, "grid %u %u %u\nblock %u %u %u\nat %u %u %u\n", g->dim[0] / x, g->dim[1] / g->rows, g->dim[2], g->join.size[0], g->join.size[1],
	       g->join.size[2], (c->id[0] + twin(s)) / x, c->id[1] / g->rows, c->id[2]);
	dt_say(&s->t, "thread %u %u %u\n", g->tid[0][t], g->tid[1][t], g->tid[2][t]);
	if (at->address)
		dt_say(&s->t, "address %llx\n", (unsigned long long)at->address);
	if (g->shared_total)
		dt_say(&s->t, "shared %llx %u\n", (unsigned long long)shared_of(s), g->shared_total - g->fn->further * g->fn->next_shared);
	if (g->local_stride)
		dt_say(&s->t, "local %llx %u\n", (unsigned long long)c->local + twin(s) * g->fn->next_local, g->local_stride);
	say_params(s, g);
	/* the one that stopped first: it is there whatever has no room */
	say_warp(s, at->w, true);
	for (i = 0; i < c->nwarps; i++)
		if (&c->warps[i] != at->w)
			say_warp(s, (struct warp *)&c->warps[i], others);
	dt_say(&s->t, "%send\n", s->partly ? "partly\n" : "");
}

/* ---- the file ------------------------------------------------------------------------------------ */

struct file { u8 *p; size_t n, room; };

static size_t note(struct file *f, u32 type, const char *text, size_t n)
{
	Elf64_Nhdr h = { .n_namesz = sizeof(VGPU_CORE_NAME), .n_descsz = (u32)n, .n_type = type };
	size_t need = sizeof(h) + 8 + ((n + 3) & ~(size_t)3);

	if (f->n > f->room || need > f->room - f->n)
		return 0;
	memset(f->p + f->n, 0, need);
	memcpy(f->p + f->n, &h, sizeof(h));
	memcpy(f->p + f->n + sizeof(h), VGPU_CORE_NAME, sizeof(VGPU_CORE_NAME));
	memcpy(f->p + f->n + sizeof(h) + 8, text, n);
	f->n += need;
	return need;
}

/* A function's text: from its body on, as far as it has instructions. */
static void ptx_note(struct file *f, const struct func *fn)
{
	const struct module *m = fn->m;
	const char *from = fn->body, *p;
	u32 line = fn->body_line, last = line, i;
	char *text;
	size_t n;

	if (!fn->has_body || !m->text || !from)
		return;
	for (i = 0; i < fn->ncode; i++)
		last = fn->code[i].line > last ? fn->code[i].line : last;
	while (from > m->text && from[-1] != '\n')
		from--;
	for (p = from; p < m->end && line <= last + 1; line++) {
		const char *q = memchr(p, '\n', (size_t)(m->end - p));

		p = q ? q + 1 : m->end;
	}
	n = (size_t)(p - from) < PTX_MOST ? (size_t)(p - from) : PTX_MOST;
	text = malloc(n + strlen(fn->name) + 32);
	if (!text)
		return;
	i = (u32)sprintf(text, "%s %u\n", fn->name, fn->body_line);
	memcpy(text + i, from, n);
	note(f, VGPU_CORE_PTX, text, i + n);
	free(text);
}

static int by_value(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static void add_load(struct file *f, Elf64_Phdr *h, u32 *n, struct tstate *ts, u32 kind, u64 a, u64 bytes)
{
	Elf64_Phdr *last = *n ? &h[*n - 1] : NULL;

	if (*n == LOADS || bytes > f->room - f->n || !snap_peek(ts, a, f->p + f->n, bytes))
		return;
	if (last && last->p_type == PT_LOAD && last->p_flags & kind && last->p_vaddr + last->p_filesz == a && last->p_offset + last->p_filesz == f->n)
		last->p_memsz = last->p_filesz += bytes;
	else
		h[(*n)++] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_W | kind, .p_offset = f->n, .p_vaddr = a, .p_paddr = a, .p_filesz = bytes,
					  .p_memsz = bytes, .p_align = 1 };
	f->n += bytes;
}

static void add_memory(struct snap *s, struct file *f, Elf64_Phdr *h, u32 *n)
{
	const struct cta *c = s->c;
	const struct grid *g = c->g;
	u64 own = (u64)g->local_stride * LANES, at, end;
	u32 i;

	end = g->shared_total - g->fn->further * g->fn->next_shared;
	end = end < SHARED_MOST ? end : SHARED_MOST;
	for (at = 0; at < end; at += AROUND)
		add_load(f, h, n, s->ts, VGPU_CORE_SHARED, shared_of(s) + at, end - at < AROUND ? end - at : AROUND);
	end = own < LOCAL_MOST ? own : LOCAL_MOST;
	for (at = 0; at < end; at += AROUND)
		add_load(f, h, n, s->ts, VGPU_CORE_LOCAL, c->local + s->at->w->index * own + at, end - at < AROUND ? end - at : AROUND);
	if (s->at->address)
		piece(s, (s->at->address & ~(u64)(AROUND - 1)) - AROUND);
	qsort(s->piece, s->npieces, sizeof(*s->piece), by_value);
	for (i = 0; i < s->npieces; i++)
		if (!i || s->piece[i] != s->piece[i - 1])
			add_load(f, h, n, s->ts, VGPU_CORE_GLOBAL, s->piece[i] * AROUND, AROUND);
}

size_t snap_write(struct tstate *ts, const struct snap_at *at, u8 *out, size_t room)
{
	struct snap s = { .ts = ts, .at = at, .c = at->w->cta, .lanes = ~0u };
	Elf64_Ehdr e = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_CORE,
			 .e_machine = VGPU_CORE_MACHINE, .e_version = EV_CURRENT, .e_ehsize = sizeof(e), .e_phentsize = sizeof(Elf64_Phdr) };
	Elf64_Phdr *h = calloc(LOADS + 1, sizeof(*h));
	size_t table = (LOADS + 2) * sizeof(*h), notes;
	struct file f = { out, sizeof(e), room - table };
	struct frame *fr;
	u32 n = 1, mxcsr = _mm_getcsr(), k = 0;

	if (!h || room < 4 * table) {
		free(h);
		return 0;
	}
	/* a float as text is not to depend on the kernel's rounding */
	_mm_setcsr(0x1f80);
	s.piece = at->memory ? malloc(PIECES * sizeof(*s.piece)) : NULL;
	notes = f.n;
	/* written where its note will be: room for the note's head, and for memory behind it */
	s.t = (struct dtext){ (char *)out + f.n + sizeof(Elf64_Nhdr) + 8, (f.room - f.n) / 4 * 3, 0 };
	say_state(&s, !at->w->cta->jit);
	{
		Elf64_Nhdr nh = { .n_namesz = sizeof(VGPU_CORE_NAME), .n_descsz = (u32)s.t.n, .n_type = VGPU_CORE_STATE };

		memcpy(out + f.n, &nh, sizeof(nh));
		memset(out + f.n + sizeof(nh), 0, 8);
		memcpy(out + f.n + sizeof(nh), VGPU_CORE_NAME, sizeof(VGPU_CORE_NAME));
		f.n += sizeof(nh) + 8 + ((s.t.n + 3) & ~(size_t)3);
	}
	for (fr = at->w->top; fr && k < 16; fr = fr->up, k++)
		if (fr == at->w->top || fr->fn != at->w->top->fn)
			ptx_note(&f, fr->fn);
	h[0] = (Elf64_Phdr){ .p_type = PT_NOTE, .p_flags = PF_R, .p_offset = notes, .p_filesz = f.n - notes, .p_align = 4 };
	if (s.piece)
		add_memory(&s, &f, h, &n);
	f.n = (f.n + 7) & ~(size_t)7;
	e.e_phoff = f.n;
	e.e_phnum = (u16)n;
	memcpy(out + f.n, h, n * sizeof(*h));
	f.n += n * sizeof(*h);
	memcpy(out, &e, sizeof(e));
	free(h);
	free(s.piece);
	if (s.regs.fn)
		regs_close(&s.regs);
	_mm_setcsr(mxcsr);
	return f.n;
}

/* ---- of a fault ---------------------------------------------------------------------------------- */

void snap_keep(struct tstate *ts, struct grid *g)
{
	struct engine *e = ts->e;
	const struct engine_fault *r = &ts->rep;
	struct snap_at at = { .w = ts->w, .f = ts->in ? ts->w->top : NULL, .in = ts->in, .memory = true, .lane = ts->rep_lane < 0 ? 0 : (u32)ts->rep_lane };
	char why[300];
	u8 *p;

	(void)g;
	if (__atomic_exchange_n(&e->core_taken, 1, __ATOMIC_RELAXED))
		return;
	if (at.in && !disasm_known(at.w->top->fn, at.in))
		at.in = NULL;
	if (r->status == VGPU_ST_ILLEGAL_ADDRESS || r->status == VGPU_ST_MISALIGNED)
		at.address = r->address;
	snprintf(why, sizeof(why), "%s: %.120s", vgpu_status_text(r->status), r->what);
	at.why = why;
	p = mmap(NULL, KEEP_MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return;         /* then there is none, and who asks is told so */
	e->core_bytes = snap_write(ts, &at, p, KEEP_MOST);
	/* Release: all of it before the pointer. Partner: cpu_core(). */
	__atomic_store_n(&e->core, p, __ATOMIC_RELEASE);
}

void snap_drop(struct engine *e)
{
	if (e->core)
		munmap(e->core, KEEP_MOST);
	e->core = NULL;
}
