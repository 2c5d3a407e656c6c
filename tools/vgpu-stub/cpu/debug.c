/* SPDX-License-Identifier: MIT */
/*
 * Stops for vgpu debug: at breakpoints, behind steps, where a watched word has changed, at a fault. What is there then is written as a
 * device core into the box (../debug_box.h), and this thread sleeps until it is told to go on; the dispatcher answers meanwhile.
 *
 * A K_STEP's imm has a bit for each breakpoint that is at its instruction. They are looked up when a function is compiled, and in all
 * functions when the tool has changed them.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../debug_box.h"
#include "debug.h"
#include "demangle.h"
#include "disasm.h"
#include "snap.h"
#include "srcline.h"

#define LOOK_NS 200000000       /* who sleeps looks again: the engine may be about to close */

struct debug {
	struct dbg_box *box;
	u32 changed;            /* box->changed that the functions know */
	struct { u64 gridid, linear; u32 warp; } held[DBG_BREAKS];      /* where a breakpoint has held in this launch */

	/* a step that is under way: of one thread */
	u32 step;               /* DBG_STEP ..., 0: none */
	u64 left, gridid, linear;
	const struct warp *w;
	u32 lane, depth;
	struct srcpos src;      /* where it began; line 0: by lines of the PTX */
	u32 line;
	const struct func *fn;

	u64 was[DBG_WATCHES];   /* words that are watched, as they were */
	u32 known;              /* bits: of which of them that is known */
	const struct insn *last;        /* the latest instruction, of lastfn: who wrote it; while that grid runs its module stays */
	const struct func *lastfn;
	u64 last_grid;
};

static void sleep_on(u32 *word, u32 value)
{
	const struct timespec most = { .tv_nsec = LOOK_NS };

	syscall(SYS_futex, word, FUTEX_WAIT, value, &most, NULL, 0);
}

static void wake(u32 *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
}

int dbg_open(struct engine *e)
{
	const char *path = getenv("VGPU_VERIFY_COUNTS");
	int fd = !path ? -1 : !strncmp(path, "fd:", 3) ? atoi(path + 3) : open(path, O_RDWR | O_CLOEXEC);
	struct debug *d = calloc(1, sizeof(*d));

	if (fd < 0 || !d) {
		free(d);
		return -1;
	}
	d->box = mmap(NULL, sizeof(*d->box), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (d->box == MAP_FAILED || d->box->magic != DBG_MAGIC) {
		if (d->box != MAP_FAILED)
			munmap(d->box, sizeof(*d->box));
		free(d);
		return -1;
	}
	d->changed = ~0u;
	e->dbg = d;
	return 0;
}

void dbg_close(struct engine *e)
{
	if (!e->dbg)
		return;
	munmap(e->dbg->box, sizeof(*e->dbg->box));
	free(e->dbg);
	e->dbg = NULL;
}

/* ---- where breakpoints are ------------------------------------------------------------------- */

static bool named(const char *pattern, const char *name)
{
	char s[512], *args;

	if (!fnmatch(pattern, name, 0))
		return true;
	if (demangle(name, DEMANGLE_SIMPLE, s, sizeof(s)) && !fnmatch(pattern, s, 0))
		return true;
	if (!demangle(name, DEMANGLE_FULL, s, sizeof(s)))
		return false;
	if (!fnmatch(pattern, s, 0))
		return true;
	args = strrchr(s, '(');
	if (args)
		*args = 0;
	return args && !fnmatch(pattern, s, 0);
}

/* The line that instruction i of fn counts as for this breakpoint, 0: none. */
static u32 line_of(const struct func *fn, const struct dbg_break *b, const struct srcpos *src, u32 i)
{
	u32 line = fn->code[i].line;
	struct srcpos p;

	if (b->kind == DBG_AT_PTX)
		return line;
	if (line < fn->body_line)
		return 0;
	p = src[line - fn->body_line];
	return p.line && src_named(fn, p.file, b->name) ? p.line : 0;
}

/* At the instructions where the line begins, or the next one that has any, if the function goes on so far. */
static u32 put_lines(struct func *fn, struct dbg_break *b, u32 bit, const struct srcpos *src)
{
	u32 i, line, best = ~0u, n = 0, before = 0;
	bool about = b->kind == DBG_AT_PTX && b->line >= fn->body_line;

	for (i = 1; i < fn->ncode; i += 2) {
		line = line_of(fn, b, src, i);
		about |= line && line <= b->line;
		if (line >= b->line && line < best)
			best = line;
	}
	if (best == ~0u || !about)
		return 0;
	for (i = 1; i < fn->ncode; i += 2) {
		line = line_of(fn, b, src, i);
		if (line == best && before != line) {
			fn->code[i - 1].imm |= (s64)(1ull << bit);
			n++;
		}
		before = line;
	}
	if (n)
		b->at_line = best;
	return n;
}

static u32 put(struct func *fn, struct dbg_break *b, u32 bit, const struct srcpos *src)
{
	char name[DBG_NAME];

	memcpy(name, b->name, sizeof(name));
	name[sizeof(name) - 1] = 0;
	if (b->kind == DBG_AT_KERNEL) {
		if (!fn->ncode || !named(name, fn->name))
			return 0;
		fn->code[0].imm |= (s64)(1ull << bit);
		b->at_line = fn->code[1].line;
		return 1;
	}
	if (b->kind == DBG_AT_PTX && name[0] && !named(name, fn->name))
		return 0;
	return put_lines(fn, b, bit, src);
}

void dbg_func(struct func *fn)
{
	struct dbg_box *box = fn->m->e->dbg->box;
	u32 last = fn->body_line, i;
	struct srcpos *src;

	if (!fn->stepped)
		return;
	for (i = 0; i < fn->ncode; i += 2) {
		fn->code[i].imm = 0;
		last = fn->code[i].line > last ? fn->code[i].line : last;
	}
	src = src_map(fn, last);
	for (i = 0; src && i < DBG_BREAKS; i++)
		if (box->breaks[i].id)
			box->breaks[i].places += put(fn, &box->breaks[i], i, src);
	free(src);
}

/* With compile_lock held by nobody: only this thread runs kernels, and functions that are ready do not change. */
static void look_again(struct engine *e)
{
	struct debug *d = e->dbg;
	u32 now = __atomic_load_n(&d->box->changed, __ATOMIC_ACQUIRE), i;

	if (d->changed == now)
		return;
	d->changed = now;
	for (i = 0; i < DBG_BREAKS; i++)
		d->box->breaks[i].places = 0;
	pthread_mutex_lock(&e->compile_lock);
	for (i = 0; i < MAX_FUNCS && i < e->funcs_span; i++)
		if (e->funcs[i] && func_is_ready(e->funcs[i]))
			dbg_func(e->funcs[i]);
	pthread_mutex_unlock(&e->compile_lock);
	d->known = 0;
}

/* ---- a stop ------------------------------------------------------------------------------------- */

static u32 depth_of(const struct frame *f)
{
	u32 n = 0;

	for (; f; f = f->up)
		n++;
	return n;
}

/* Where an instruction is in the program, or line 0. */
static struct srcpos source_of(const struct func *fn, const struct insn *in)
{
	return src_pos(fn, in->line);
}

static void begin_step(struct debug *d, const struct warp *w, const struct frame *f, const struct insn *in, u32 lane)
{
	struct dbg_box *box = d->box;
	u32 focus = box->focus < LANES ? box->focus : lane;

	d->step = box->request;
	d->left = box->a ? box->a : 1;
	d->w = w;
	d->gridid = w->cta->g->gridid;
	d->linear = w->cta->linear;
	d->lane = focus;
	d->depth = depth_of(f);
	d->fn = f->fn;
	d->line = in ? in->line : 0;
	d->src = in ? source_of(f->fn, in) : (struct srcpos){ 0, 0 };
}

/* Sleeps until the tool lets the kernel go on. */
static void talk(struct tstate *ts, const struct snap_at *at)
{
	struct engine *e = ts->e;
	struct debug *d = e->dbg;
	struct dbg_box *box = d->box;
	u32 none = 0, n;

	while (!__atomic_compare_exchange_n(&box->lock, &none, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if (__atomic_load_n(&e->stop, __ATOMIC_RELAXED))
			return;
		sleep_on(&box->lock, none);
		none = 0;
	}
	box->interrupt = 0;
	d->step = 0;
	box->core_bytes = snap_write(ts, at, box->data, sizeof(box->data));
	__atomic_store_n(&box->state, DBG_STOPPED, __ATOMIC_RELEASE);
	wake(&box->state);
	for (;;) {
		if (__atomic_load_n(&e->stop, __ATOMIC_RELAXED))
			break;
		if (__atomic_load_n(&box->state, __ATOMIC_ACQUIRE) != DBG_ASKED) {
			sleep_on(&box->state, DBG_STOPPED);
			continue;
		}
		if (box->request != DBG_READ)
			break;
		/* piece by piece: what lies before a hole is told */
		for (n = 0; n < box->b && n < 65536; n += 16)
			if (!snap_peek(ts, box->a + n, box->data + n, box->b - n < 16 ? box->b - n : 16))
				break;
		box->status = n < box->b ? n : (u32)box->b;
		__atomic_store_n(&box->state, DBG_STOPPED, __ATOMIC_RELEASE);
		wake(&box->state);
	}
	if (box->request != DBG_GO && at->f)
		begin_step(d, at->w, at->f, at->in, at->lane);
	__atomic_store_n(&box->state, DBG_IDLE, __ATOMIC_RELEASE);
	wake(&box->state);
	__atomic_store_n(&box->lock, 0, __ATOMIC_RELEASE);
	wake(&box->lock);
	look_again(e);
}

static bool compare(const struct dbg_break *b, u64 v, enum type type)
{
	s64 x = (s64)v;
	u32 bytes = type_bytes(type);

	/* as the signed number that it is in its width: .b32 has none, and programs compare with small ones */
	if (type != T_PRED && bytes < 8)
		x = (s64)(v << (64 - 8 * bytes)) >> (64 - 8 * bytes);
	switch (b->compare) {
	case DBG_EQ: return x == b->value || (s64)v == b->value;
	case DBG_NE: return x != b->value && (s64)v != b->value;
	case DBG_LT: return x < b->value;
	case DBG_LE: return x <= b->value;
	case DBG_GT: return x > b->value;
	default: return x >= b->value;
	}
}

/* Does breakpoint i hold for one of these lanes? That lane, or -1. */
static int holds(struct debug *d, u32 i, const struct warp *w, const struct frame *f, const struct insn *in, u32 m)
{
	struct dbg_break *b = &d->box->breaks[i];
	const struct cta *c = w->cta;
	const struct grid *g = c->g;
	char reg[sizeof(b->reg)];
	enum type type;
	u32 k, t;
	u64 v;

	if (!b->id || ((b->flags & DBG_HAS_BLOCK) && memcmp(b->block, c->id, sizeof(b->block))))
		return -1;
	memcpy(reg, b->reg, sizeof(reg));
	reg[sizeof(reg) - 1] = 0;
	for (k = m; k; k &= k - 1) {
		u32 l = (u32)__builtin_ctz(k);

		t = w->index * LANES + l;
		if ((b->flags & DBG_HAS_THREAD) && (g->tid[0][t] != b->thread[0] || g->tid[1][t] != b->thread[1] || g->tid[2][t] != b->thread[2]))
			continue;
		if ((b->flags & DBG_HAS_IF) && (!snap_register(f, in, reg, l, &v, &type) || !compare(b, v, type)))
			continue;
		/* without more, it is for the first warp of a launch that comes there */
		if (!(b->flags & (DBG_HAS_BLOCK | DBG_HAS_THREAD | DBG_EVERY | DBG_HAS_IF))) {
			if (d->held[i].gridid == g->gridid && (d->held[i].linear != c->linear || d->held[i].warp != w->index))
				return -1;
			d->held[i].gridid = g->gridid;
			d->held[i].linear = c->linear;
			d->held[i].warp = w->index;
		}
		return (int)l;
	}
	return -1;
}

/* The step that is under way: has it come to its end here? */
static bool stepped(struct debug *d, const struct warp *w, const struct frame *f, const struct insn *in, u32 m)
{
	struct srcpos s;
	u32 depth;

	if (!d->step || d->w != w || d->gridid != w->cta->g->gridid || d->linear != w->cta->linear || !(m >> d->lane & 1))
		return false;
	depth = depth_of(f);
	if (d->step == DBG_FINISH)
		return depth < d->depth;
	if (d->step == DBG_NEXT && depth > d->depth)
		return false;
	if (d->step != DBG_STEPI && d->fn == f->fn && depth == d->depth) {
		s = source_of(f->fn, in);
		/* what has no line of its own belongs to the one before it */
		if (d->src.line ? !s.line || (s.line == d->src.line && s.file == d->src.file) : in->line == d->line)
			return false;
	}
	if (--d->left) {
		d->fn = f->fn;
		d->depth = depth;
		d->line = in->line;
		d->src = source_of(f->fn, in);
		return false;
	}
	return true;
}

/* A watched word that is another than before. */
static int watched(struct tstate *ts, u64 *now)
{
	struct debug *d = ts->e->dbg;
	u32 i;

	for (i = 0; i < DBG_WATCHES; i++) {
		const struct dbg_watch w = d->box->watches[i];
		u64 v = 0;

		if (!w.id || !w.bytes || w.bytes > 8 || !snap_peek(ts, w.address, &v, w.bytes))
			continue;
		if (d->known >> i & 1 && d->was[i] != v) {
			*now = v;
			return (int)i;
		}
		d->was[i] = v;
		d->known |= 1u << i;
	}
	return -1;
}

static u32 run_lanes(const struct frame *f, const struct insn *in, u32 m)
{
	u32 guard;

	if (in->guard == OPND_NONE || in->kind == K_CBRA)
		return m;
	guard = *(const u32 *)opnd(f, in->guard);
	return m & (in->gneg ? ~guard : guard);
}

void dbg_step(struct tstate *ts, struct frame *f, const struct insn *step, u32 m)
{
	struct debug *d = ts->e->dbg;
	struct dbg_box *box = d->box;
	const struct insn *in = step + 1;
	struct snap_at at = { .w = ts->w, .f = f, .in = in, .lane = (u32)__builtin_ctz(m) };
	char why[400] = "", code[200] = "";
	struct dtext t = { code, sizeof(code), 0 };
	u64 now, bits;
	int i, l;

	look_again(ts->e);
	if (box->interrupt)
		snprintf(why, sizeof(why), "interrupted");
	i = box->watches[0].id | box->watches[1].id | box->watches[2].id | box->watches[3].id | box->watches[4].id | box->watches[5].id |
	    box->watches[6].id | box->watches[7].id ? watched(ts, &now) : -1;
	if (i >= 0 && !why[0]) {
		if (d->last && d->last_grid == ts->w->cta->g->gridid && disasm_known(d->lastfn, d->last))
			disasm(d->lastfn, d->last, &t);
		snprintf(why, sizeof(why), "watchpoint %u: 0x%llx was 0x%llx, is 0x%llx%s%s", box->watches[i].id, (unsigned long long)box->watches[i].address,
			 (unsigned long long)d->was[i], (unsigned long long)now, code[0] ? ", by " : "", code);
		d->was[i] = now;
	}
	d->last = in;
	d->lastfn = f->fn;
	d->last_grid = ts->w->cta->g->gridid;
	for (bits = (u64)step->imm; bits && !why[0]; bits &= bits - 1) {
		u32 k = (u32)__builtin_ctzll(bits), run = run_lanes(f, in, m);

		/* one that does nothing here is a place where it stands all the same */
		l = holds(d, k, ts->w, f, in, run ? run : m);
		if (l < 0)
			continue;
		at.lane = (u32)l;
		box->breaks[k].hits++;
		snprintf(why, sizeof(why), "breakpoint %u", box->breaks[k].id);
		if (box->breaks[k].flags & DBG_ONCE)
			box->breaks[k].id = 0;
	}
	if (stepped(d, ts->w, f, in, m) && !why[0]) {
		at.lane = d->lane;
		snprintf(why, sizeof(why), "step");
	}
	if (!why[0])
		return;
	at.why = why;
	talk(ts, &at);
}

void dbg_fault(struct tstate *ts)
{
	const struct engine_fault *r = &ts->rep;
	struct snap_at at = { .w = ts->w, .f = ts->in ? ts->w->top : NULL, .in = ts->in, .lane = ts->rep_lane < 0 ? 0 : (u32)ts->rep_lane };
	char why[300];

	if (at.in && !disasm_known(at.w->top->fn, at.in))
		at.in = NULL;
	if (r->status == VGPU_ST_ILLEGAL_ADDRESS || r->status == VGPU_ST_MISALIGNED)
		at.address = r->address;
	snprintf(why, sizeof(why), "fault: %s: %.150s", vgpu_status_text(r->status), r->what);
	at.why = why;
	talk(ts, &at);
}
