/* SPDX-License-Identifier: MIT */
/*
 * Differential test: random kernels (gen.h) run by the interpreter and by the JIT, or by a GPU, on the same memory must leave
 * the same memory. A kernel that does not is made smaller for as long as it does not, and written to a file.
 *
 * Build: tests/ptx/jitdiff.c tools/vgpu-stub/cpu/[all].c -llz4 -lzstd -lm -lpthread
 * Usage: jitdiff [-n KERNELS] [-s FIRST_SEED] [-m MODE] [-j JOBS] [-T SECONDS] [-a] [-x SEED] [-o FOLDER] [-k] [-t] [-1] [FILE...]
 *        -m: what the interpreter is compared with, jit by default; cuda: NVIDIA's driver (jitdiff_cuda.h), by -j processes, which begin
 *        no kernel after -T seconds; -a: with approximate operations, bit for bit too;
 *        -x: the JIT's code is left to the interpreter and entered again, at other places in each kernel;
 *        -k prints the kernels; -o: where mismatches are written (.); FILE: one that was written, runs again
 *        -t prints what pairs of makers and users of values the kernels had (gen_pair.h); -1: the first mismatch is the last,
 *        and is not made smaller
 *        exit 0 no mismatch, 1 some, or a pair is missing in 600 kernels and more
 *
 * Every kernel runs in a child process: a crash or an endless loop is a mismatch like others.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gen_table.h"
/* the driver's, where the interpreter is to have a GPU's addresses */
static unsigned long long span_base = 0x200000000000ull, arena_bytes = 128ull << 30;
#define RIG_SPAN_BASE span_base
#define RIG_ARENA_BYTES arena_bytes
#define RIG_CUDA
#include "rig.h"
#include "scalar_run.h"

#define LAUNCHES 3              /* the last one as the one before: what was learned of its blocks is used */
#define MAX_TOTAL GEN_MAX_TOTAL
#define OUT_BYTES (GEN_PLACES * GEN_PLACE_BYTES)
#define SECONDS 30              /* that a launch may take, on a machine that has other things to do */
#define CUDA_SECONDS 5
#define SHRINK_SECONDS (rig_on_cuda ? 8 : 40)
#define FILE_BYTES (1u << 20)
#define GEN_ALL_PAIRS 600       /* kernels that have every pair */

enum { SAME = 0, DIFFERENT = 1, INVALID = 2, CRASH = 3 };       /* what became of a kernel; exit status of its child */

struct shape { uint32_t grid[2], block[3]; };

/* Everything that a kernel's runs have in common. */
struct plan {
	uint64_t seed;
	const struct gen *g;    /* for the layout of its memory */
	struct shape shape[LAUNCHES];
	unsigned cores;
	uint64_t most;          /* instructions that scalar threads may take */
};

struct memory {
	unsigned char *in, *own, *dump, *acc, *out;
};

struct outcome {
	uint32_t status[LAUNCHES];
	unsigned char *bytes[LAUNCHES];         /* own, dump, acc, out */
	char why[512];
	struct engine_fault fault;              /* that why tells of */
	unsigned strays;
	struct memory at;                       /* where it was */
};

static int hw_map(struct rig *r, const struct plan *p, struct memory *m);
static void hw_ask_beside(struct rig *r, const char *text, const struct plan *p, const struct memory *m);

static uint32_t other_mode = ENGINE_MODE_JIT;
static uint32_t stress;         /* -x */
static int approximate, show_kernels, only_first;
static const char *folder = ".";
static unsigned *judged;        /* kernels about which scalar threads had an opinion; of children too */

/* ---- what a kernel is run on ------------------------------------------------------------------- */

static void make_plan(struct plan *p, uint64_t seed, const struct gen *g)
{
	static const uint32_t full[][3] = { { 32, 1, 1 }, { 64, 1, 1 }, { 128, 1, 1 }, { 256, 1, 1 }, { 32, 4, 1 }, { 16, 4, 1 },
					    { 8, 8, 2 }, { 96, 1, 1 }, { 512, 1, 1 }, { 2, 32, 1 }, { 64, 2, 1 }, { 4, 8, 1 }, { 1, 64, 1 }, { 16, 2, 2 } };
	static const uint32_t ragged[][3] = { { 1, 1, 1 }, { 7, 1, 1 }, { 31, 1, 1 }, { 33, 1, 1 }, { 50, 1, 1 }, { 100, 1, 1 },
					      { 129, 1, 1 }, { 5, 3, 1 }, { 33, 2, 1 }, { 7, 3, 3 }, { 300, 1, 1 }, { 3, 40, 1 } };
	struct gen r = { .state = seed * 0x2545f4914f6cdd1dull + 99 };

	for (int i = 0; i < 8; i++)
		gen_rng(&r);
	p->seed = seed;
	p->g = g;
	p->cores = 1 + gen_pick(&r, 2);
	p->most = gen_is_judged(seed) ? 300000 : 0;
	for (int i = 0; i < LAUNCHES; i++) {
		const uint32_t *b = g->full_warps ? full[gen_pick(&r, GEN_COUNT(full))] : ragged[gen_pick(&r, GEN_COUNT(ragged))];
		uint32_t threads = b[0] * b[1] * b[2], most = MAX_TOTAL / threads, many = MAX_TOTAL / 32 / ((threads + 31) / 32);

		memcpy(p->shape[i].block, b, sizeof(p->shape[i].block));
		p->shape[i].grid[0] = 1 + gen_pick(&r, gen_one_in(&r, 4) ? many : most < 9 ? most : 9);
		p->shape[i].grid[1] = p->shape[i].grid[0] * 2 <= most && gen_one_in(&r, 4) ? 2 : 1;
		if (i == 0 && p->most)  /* the one that scalar threads run */
			p->shape[i].grid[0] = p->shape[i].grid[1] = 1;
		if (i == LAUNCHES - 1)
			p->shape[i] = p->shape[i - 1];
		if (g->fault)   /* one warp: which of several is told of first is open */
			p->shape[i] = (struct shape){ { 1, 1 }, { 32, 1, 1 } };
	}
}

static uint32_t threads_of(const struct shape *s)
{
	return s->grid[0] * s->grid[1] * s->block[0] * s->block[1] * s->block[2];
}

static size_t result_bytes(const struct plan *p, int launch)
{
	return threads_of(&p->shape[launch]) * (GEN_OWN_BYTES + 8ull * gen_slots(p->g)) + GEN_ACC * 4 + OUT_BYTES;
}

/* First half: integers of all sizes; second: floats of all kinds. */
static void fill_input(unsigned char *in, uint64_t seed)
{
	static const uint32_t floats[] = { 0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x3f800000, 0xbf800000, 0x3f000000,
		0x40490fdb, 0x477fe000, 0x4effffff, 0x4f000000, 0xcf000000, 0x4f800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
		0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0x33800000, 0x7e800000, 0x00000123, 0x3fc00000 };
	struct gen r = { .state = seed + 77 };

	for (unsigned i = 0; i < GEN_IN_BYTES; i += 4) {
		uint32_t v = (uint32_t)gen_rng(&r);

		if (i < GEN_IN_BYTES / 2)
			v = gen_one_in(&r, 3) ? v & 0xff : gen_one_in(&r, 4) ? v | 0xffff0000 : v;
		else if (gen_one_in(&r, 3))
			v = floats[gen_pick(&r, GEN_COUNT(floats))];
		else if (gen_one_in(&r, 2))
			v = 0x3f000000 + (v & 0x80ffffff);
		memcpy(in + i, &v, 4);
	}
}

/* ---- one run ------------------------------------------------------------------------------------ */

struct args { const void *in, *own, *dump, *acc; uint32_t pn, pm, pb[12]; const void *out; };

#define AT(q) ((const void *)(uintptr_t)rig_address(r, m->q))
static struct args args_of(struct rig *r, const struct plan *p, int launch, const struct memory *m)
{
	return (struct args){ AT(in), AT(own), AT(dump), AT(acc), threads_of(&p->shape[launch]), (uint32_t)p->seed * 7u + 3u,
			      { 5, 6, 7, 0x80000000, 32, (uint32_t)launch, 0, 4, 36, 1000, 255, 1 }, AT(out) };
}

/* What a launch finds. */
static void prepare(const struct plan *p, int launch, const struct memory *m)
{
	uint32_t n = threads_of(&p->shape[launch]);

	memset(m->own, 0x5a, n * GEN_OWN_BYTES);
	for (uint32_t i = 0; i < n; i++)        /* its float half: ordinary numbers */
		for (unsigned k = 64; k < GEN_OWN_BYTES; k += 4)
			memcpy(m->own + i * GEN_OWN_BYTES + k, &(float){ (float)(i * k) }, 4);
	memset(m->dump, 0x5a, 8ull * n * gen_slots(p->g));
	memset(m->acc, 0, GEN_ACC * 4);
	memset(m->out, 0x5a, OUT_BYTES);
}

/* What it leaves. */
static void keep(const struct plan *p, int launch, const struct memory *m, unsigned char *to)
{
	uint32_t n = threads_of(&p->shape[launch]);

	memcpy(to, m->own, n * GEN_OWN_BYTES);
	memcpy(to + n * GEN_OWN_BYTES, m->dump, 8ull * n * gen_slots(p->g));
	memcpy(to + n * (GEN_OWN_BYTES + 8ull * gen_slots(p->g)), m->acc, GEN_ACC * 4);
	memcpy(to + result_bytes(p, launch) - OUT_BYTES, m->out, OUT_BYTES);
}

static int start_and_wait(struct rig *r, const struct plan *p, int launch, uint32_t fn, const struct memory *m,
			  struct outcome *out)
{
	const struct shape *s = &p->shape[launch];
	struct args args = args_of(r, p, launch, m);
	struct engine_launch l = { .fn = fn, .grid = { s->grid[0], s->grid[1], 1 }, .params = &args, .param_bytes = sizeof(args) };
	unsigned index = 0;
	uint32_t st;

	memcpy(l.block, s->block, sizeof(l.block));
	prepare(p, launch, m);
	st = rig_push_all(r);
	if (!st)
		st = rig_launch(r, &l, &index);
	if (st == ENGINE_PENDING)
		st = rig_wait(r, index, rig_on_cuda ? CUDA_SECONDS : SECONDS);
	if (!st)
		st = rig_pull_all(r);
	out->status[launch] = st;
	if (st) {
		out->fault = r->fault;
		snprintf(out->why, sizeof(out->why), "launch %d: %s: %s (block %u thread %u,%u,%u address 0x%llx line %u)", launch,
			 st == RIG_TIMEOUT ? "no end" : vgpu_status_text(st), r->fault_what, r->fault.block[0], r->fault.thread[0],
			 r->fault.thread[1], r->fault.thread[2], (unsigned long long)r->fault.address, r->fault.ptx_line);
		return -1;
	}
	keep(p, launch, m, out->bytes[launch]);
	return 0;
}

/* Status of the launch that did not end well, after which there are no others; 0: none. */
static uint32_t first_bad(const struct outcome *o)
{
	for (int i = 0; i < LAUNCHES; i++)
		if (o->status[i])
			return o->status[i];
	return 0;
}

/* Runs the text in one mode. -1: it did not get to its end, `why` says how far. */
static int run_text(const char *text, const struct plan *p, uint32_t mode, struct outcome *out)
{
	static struct rig rig;
	struct engine_func_info fi;
	struct engine_symbol sym;
	struct memory m;
	char log[256] = "";
	uint32_t module, st;
	int err = -1;

	rig_mode = mode;
	rig_low = p->g->low;
	jit_patience = p->seed % 4 ? 8 : 1;     /* strips for the blocks that follow, on AVX-512 */
	jit_stress = stress ? stress * 0x9e3779b9u ^ (uint32_t)p->seed * 0x85ebca6bu : 0;
	memset(out, 0, sizeof(*out));
	if (!rig_on_cuda && rig_open(&rig, p->cores, 9, 0))
		exit(INVALID);
	if (!hw_map(&rig, p, &m)) {
		/* the input ends where its last page does; at the end of the span code's checks fail and nothing is wrong */
		m.in = p->seed % 4 == 1 ? rig_alloc_last(&rig, GEN_IN_BYTES) : rig_alloc(&rig, GEN_IN_BYTES);
		m.own = p->seed % 4 == 2 ? rig_alloc_last(&rig, MAX_TOTAL * GEN_OWN_BYTES) : rig_alloc(&rig, MAX_TOTAL * GEN_OWN_BYTES);
		m.dump = rig_alloc(&rig, 8ull * MAX_TOTAL * gen_slots(p->g));
		m.acc = rig_alloc(&rig, GEN_ACC * 4);
		m.out = p->seed % 4 == 3 ? rig_alloc_last(&rig, OUT_BYTES) : rig_alloc(&rig, OUT_BYTES);
	}
	if (rig_on_cuda)
		hw_ask_beside(&rig, text, p, &m);
	out->at = m;
	fill_input(m.in, p->seed);
	st = rig_ops->module_load(rig.engine, text, strlen(text), &module, log, sizeof(log));
	for (uint32_t i = 0; !st && !rig_ops->module_symbol(rig.engine, module, i, &sym); i++)
		if (sym.kind == ENGINE_SYM_FUNC && !strcmp(sym.name, "k"))
			break;
	if (!st)
		st = rig_ops->func_info(rig.engine, sym.id, &fi, log, sizeof(log));
	if (st) {
		out->status[0] = st;
		snprintf(out->why, sizeof(out->why), "%s: %s", vgpu_status_text(st), log);
		if (!rig_on_cuda)
			rig_close(&rig);
		return -1;
	}
	for (int i = 0; i < LAUNCHES; i++) {
		out->bytes[i] = calloc(1, result_bytes(p, i));
		if (!out->bytes[i])
			exit(INVALID);
		err = start_and_wait(&rig, p, i, sym.id, &m, out);
		if (err)
			break;
	}
	if (rig_on_cuda && !err)
		rig_ops->module_unload(rig.engine, module);
	/* a grid that still runs keeps its engine open: the process ends soon */
	if (!rig_on_cuda && first_bad(out) != RIG_TIMEOUT)
		out->strays = rig_close(&rig);
	return err;
}

/* ---- comparing ---------------------------------------------------------------------------------- */

static int is_nan(const unsigned char *v, unsigned bytes)
{
	float f;
	double d;

	memcpy(&f, v, 4);
	memcpy(&d, v, bytes == 8 ? 8 : 4);
	return bytes == 8 ? d != d : f != f;
}

static int cells_differ(const unsigned char *a, const unsigned char *b, unsigned bytes, int is_float)
{
	return memcmp(a, b, bytes) && !(is_float && is_nan(a, bytes) && is_nan(b, bytes));
}

/* Name of the register behind a slot of the dump. */
static void slot_name(const struct gen *g, unsigned slot, char *out, size_t n)
{
	struct { unsigned count; char letter; } classes[] = { { g->nr, 'r' }, { g->nu, 'u' }, { g->nq, 'q' }, { g->nh, 'h' },
		{ g->np, 'p' }, { 4, 'v' }, { g->paired ? GEN_SUMS : 0, 'k' }, { g->nf, 'f' }, { g->nd, 'd' } };

	for (unsigned i = 0; i < GEN_COUNT(classes); i++) {
		if (slot < classes[i].count) {
			snprintf(out, n, "%%%c%u", classes[i].letter, slot);
			return;
		}
		slot -= classes[i].count;
	}
	snprintf(out, n, "?");
}

static void tell(const struct plan *p, int launch, uint32_t thread, const char *what, const unsigned char *a,
		 const unsigned char *b, unsigned bytes, unsigned *shown)
{
	const struct shape *s = &p->shape[launch];
	uint32_t per = s->block[0] * s->block[1] * s->block[2];
	uint64_t x = 0, y = 0;

	if ((*shown)++ >= 4)
		return;
	memcpy(&x, a, bytes);
	memcpy(&y, b, bytes);
	printf("  launch %d (grid %u,%u, block %u,%u,%u), block %u thread %u: %s: interpreter 0x%llx, other 0x%llx\n", launch, s->grid[0], s->grid[1],
	       s->block[0], s->block[1], s->block[2], thread / per, thread % per, what, (unsigned long long)x,
	       (unsigned long long)y);
}

/* Prints what differs unless quiet; how many places do. */
static unsigned differences(const struct plan *p, const struct outcome *a, const struct outcome *b, int quiet)
{
	unsigned slots = gen_slots(p->g), bad = 0, shown = quiet ? 1000 : 0;
	char what[32];

	for (int l = 0; l < LAUNCHES; l++) {
		uint32_t n = threads_of(&p->shape[l]);
		const unsigned char *x = a->bytes[l], *y = b->bytes[l];

		if (!x || !y || !memcmp(x, y, result_bytes(p, l)))
			continue;
		for (uint32_t t = 0; t < n; t++) {
			for (unsigned k = 0; k < GEN_OWN_BYTES; k += 4, x += 4, y += 4) {
				if (!cells_differ(x, y, 4, k >= 64))
					continue;
				snprintf(what, sizeof(what), "own memory +%u", k);
				tell(p, l, t, what, x, y, 4, &shown);
				bad++;
			}
		}
		for (uint32_t i = 0; i < n * slots; i++, x += 8, y += 8) {
			uint32_t t = p->g->soa ? i % n : i / slots, slot = p->g->soa ? i / n : i % slots;
			char kind = gen_slot_kind(p->g, slot);

			if (!cells_differ(x, y, kind == 'f' ? 4 : 8, kind != 'i'))
				continue;
			slot_name(p->g, slot, what, sizeof(what));
			tell(p, l, t, what, x, y, kind == 'f' ? 4 : 8, &shown);
			bad++;
		}
		for (unsigned k = 0; k < GEN_ACC; k++, x += 4, y += 4) {
			if (!memcmp(x, y, 4))
				continue;
			snprintf(what, sizeof(what), "common word %u", k);
			tell(p, l, 0, what, x, y, 4, &shown);
			bad++;
		}
		for (unsigned k = 0; k < OUT_BYTES; k += 4, x += 4, y += 4) {
			if (!cells_differ(x, y, 4, k / GEN_PLACE_BYTES >= GEN_FLOAT_PLACE))
				continue;
			snprintf(what, sizeof(what), "place %u +%u", k / GEN_PLACE_BYTES, k % GEN_PLACE_BYTES);
			tell(p, l, 0, what, x, y, 4, &shown);
			bad++;
		}
	}
	return bad;
}

static void outcome_free(struct outcome *o)
{
	for (int i = 0; i < LAUNCHES; i++)
		free(o->bytes[i]);
}

/*
 * The smallest launch once more, by scalar threads (scalar_run.h), which know nothing of the engine: what interpreter and
 * JIT have in common could be wrong in both. 0: they agree, or have no opinion.
 */
static unsigned third_opinion(const char *text, const struct plan *p, const struct outcome *a, int quiet)
{
	static struct st_program prog;
	static struct sr run;
	struct memory m = { calloc(1, GEN_IN_BYTES), calloc(1, MAX_TOTAL * GEN_OWN_BYTES), calloc(1, 8ull * MAX_TOTAL * gen_slots(p->g)),
			    calloc(1, GEN_ACC * 4), calloc(1, OUT_BYTES) };
	struct outcome b = { .why = "" };
	struct args args;
	unsigned bad = 0;
	int l = 0, err;

	for (int i = 1; i < LAUNCHES; i++)
		if (threads_of(&p->shape[i]) < threads_of(&p->shape[l]))
			l = i;
	b.bytes[l] = calloc(1, result_bytes(p, l));
	if (!m.in || !m.own || !m.dump || !m.acc || !m.out || !b.bytes[l])
		exit(INVALID);
	args = args_of(NULL, p, l, &a->at);
	fill_input(m.in, p->seed);
	run = (struct sr){ .p = &prog, .most = p->most, .grid = { p->shape[l].grid[0], p->shape[l].grid[1] },
		.mem = { { (uintptr_t)a->at.in, GEN_IN_BYTES, m.in }, { (uintptr_t)a->at.own, MAX_TOTAL * GEN_OWN_BYTES, m.own },
			 { (uintptr_t)a->at.dump, 8ull * MAX_TOTAL * gen_slots(p->g), m.dump }, { (uintptr_t)a->at.acc, GEN_ACC * 4, m.acc },
			 { (uintptr_t)a->at.out, OUT_BYTES, m.out } } };
	memcpy(run.block, p->shape[l].block, sizeof(run.block));
	err = st_read(&prog, text);
	/* where results lay at the edge of what .ftz flushes, either rule will do */
	for (unsigned flush = 0; !err && flush < SR_EDGES; flush++) {
		if (flush & ~run.edge)
			continue;
		run.flush = flush;
		run.steps = 0;
		prepare(p, l, &m);
		err = sr_grid(&run, &args, sizeof(args));
		if (err)
			break;
		keep(p, l, &m, b.bytes[l]);
		bad = differences(p, a, &b, 1);
		if (!bad)
			break;
	}
	if (!err) {
		if (bad && !quiet) {
			differences(p, a, &b, 0);
			printf("  (the other: scalar threads)\n");
		}
		++*judged;
	} else {
		bad = 0;
		if (getenv("JITDIFF_WHY"))
			printf("  no third opinion: %s%s\n", prog.why, run.why);
	}
	st_free(&prog);
	free(m.in);
	free(m.own);
	free(m.dump);
	free(m.acc);
	free(m.out);
	outcome_free(&b);
	return bad;
}

/* The engine's choice on processors without AVX-512, and where that is asked for. */
static int by_strips(void)
{
	const char *isa = getenv("VGPU_CPU_ISA");

	return (isa && !strcmp(isa, "avx2")) || !__builtin_cpu_supports("avx512f");
}

/*
 * Lanes of a warp that have gone apart come to the same instruction at different times, and which of them goes first is open: two that
 * fault there are each the first, of one engine. Of one lane, and of lanes at different instructions, reports are the same.
 */
static int other_lane(const struct plan *p, const struct outcome *a, const struct outcome *b)
{
	const struct engine_fault *x = &a->fault, *y = &b->fault;
	const uint32_t *d;
	uint32_t i, j;
	int n = 0;

	while (n < LAUNCHES - 1 && !a->status[n])
		n++;
	d = p->shape[n].block;
	i = x->thread[0] + d[0] * (x->thread[1] + d[1] * x->thread[2]);
	j = y->thread[0] + d[0] * (y->thread[1] + d[1] * y->thread[2]);
	return a->status[n] && a->status[n] == b->status[n] && a->status[n] != RIG_TIMEOUT && x->ptx_line && x->ptx_line == y->ptx_line &&
	       !memcmp(x->block, y->block, sizeof(x->block)) && i != j && i / 32 == j / 32;
}

/* In a process of its own, which a kernel without an end does not survive. */
static int try_here(const char *text, const struct plan *p, int quiet)
{
	struct outcome a, b;
	int result;

	if (run_text(text, p, ENGINE_MODE_INTERP, &a) && (!p->g->fault || first_bad(&a) == RIG_TIMEOUT)) {
		if (!quiet)
			printf("  the interpreter: %s\n", a.why);
		return INVALID;
	}
	/* where nothing has gone wrong after all, what was meant to has written where others read: in which order is open */
	if (p->most && !p->g->fault && third_opinion(text, p, &a, quiet))
		return DIFFERENT;
	alarm(40 * SECONDS);
	if ((run_text(text, p, other_mode, &b) || first_bad(&a)) && !b.strays) {
		/* a fault's report is a result as well: status, thread, address, line */
		if (!strcmp(a.why, b.why) || (p->g->open && first_bad(&a) && first_bad(&a) == first_bad(&b)))
			return SAME;
		if (other_lane(p, &a, &b))
			return SAME;
		/* code for strips of a warp runs one to its end before the next: which lane's fault is the first is open */
		if (other_mode == ENGINE_MODE_JIT && by_strips() && first_bad(&a) && first_bad(&b) &&
		    first_bad(&a) != RIG_TIMEOUT && first_bad(&b) != RIG_TIMEOUT)
			return SAME;
		if (!quiet)
			printf("  interpreter: %s\n  other: %s\n", a.why[0] ? a.why : "comes to an end",
			       b.why[0] ? b.why : "comes to an end");
		return DIFFERENT;
	}
	alarm(0);
	result = b.strays || differences(p, &a, &b, quiet) ? DIFFERENT : SAME;
	outcome_free(&a);
	outcome_free(&b);
	return result;
}

static int hw_spoilt;           /* a GPU's context: nothing can be tried any more */
static int hw_try(const char *text, const struct plan *p, int quiet);

static int try_text(const char *text, const struct plan *p, int quiet)
{
	int status = 0;
	pid_t pid;

	if (rig_on_cuda)
		return hw_try(text, p, quiet);
	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(1);
	}
	if (pid == 0) {
		status = try_here(text, p, quiet);
		fflush(stdout);
		_exit(status);
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status)) {
		if (!quiet)
			printf("  died of signal %d\n", WTERMSIG(status));
		return CRASH;
	}
	return WEXITSTATUS(status);
}

#include "jitdiff_shrink.h"
#include "jitdiff_cuda.h"

/* ---- the whole ---------------------------------------------------------------------------------- */

/* SAME, or not after a report. */
static int one_seed(uint64_t seed, unsigned *lines)
{
	static struct gen g;
	unsigned char out[GEN_UNITS] = { 0 };
	struct plan p;
	char *text;
	int result;

	gen_make(&g, seed, approximate);
	make_plan(&p, seed, &g);
	for (int i = 0; i < LAUNCHES; i++)
		gen_table_launch(p.shape[i].block);
	text = text_of(&g, NULL);
	for (const char *s = text; *s; s++)
		*lines += *s == ';';
	if (show_kernels)
		printf("// jitdiff seed=%llu approx=%d\n%s", (unsigned long long)seed, approximate, text);
	result = try_text(text, &p, 0);         /* with the reason: not every one comes a second time */
	if (result != SAME) {
		char *small;

		printf("seed %llu: %s\n", (unsigned long long)seed, result == INVALID ? "the kernel itself is wrong" :
		       result == CRASH ? "a crash" : "a difference");
		if (only_first)
			exit(1);
		if (result != INVALID)
			shrink(&g, &p, out);
		small = text_of(&g, out);
		if (result != INVALID)
			try_text(small, &p, 0);
		free(small);
		write_file(&g, &p, out);
	}
	free(text);
	gen_free(&g);
	return result;
}

/* A file that write_file made; its layout comes from the seed in its first line. */
static int one_file(const char *path)
{
	static struct gen g;
	char *text = calloc(1, FILE_BYTES);
	unsigned long long seed;
	FILE *f = fopen(path, "r");
	struct plan p;
	int result, approx;

	if (!f || !text || !fread(text, 1, FILE_BYTES - 1, f) ||
	    sscanf(text, "// jitdiff seed=%llu approx=%d", &seed, &approx) != 2) {
		printf("%s: not a file of jitdiff's\n", path);
		exit(1);
	}
	fclose(f);
	gen_make(&g, seed, approx);
	make_plan(&p, seed, &g);
	result = try_text(text, &p, 0);
	printf("%s: %s\n", path, result == SAME ? "the same" : "not the same");
	gen_free(&g);
	free(text);
	return result;
}

/* Would a difference be seen? Another input must give one. */
static int self_test(void)
{
	static struct gen g;
	unsigned seen = 0, tried = 0;

	for (uint64_t seed = 1; tried < 8; seed++) {        /* one whose threads all end early leaves nothing */
		struct outcome a, b;
		struct plan p, q;
		char *text;

		gen_make(&g, seed, 0);
		if (g.fault) {
			gen_free(&g);
			continue;
		}
		tried++;
		make_plan(&p, seed, &g);
		q = p;
		q.seed++;
		text = text_of(&g, NULL);
		if (run_text(text, &p, ENGINE_MODE_INTERP, &a) || run_text(text, &q, ENGINE_MODE_INTERP, &b)) {
			printf("seed %llu: %s%s\n", (unsigned long long)seed, a.why, b.why);
			return -1;
		}
		seen += differences(&p, &a, &b, 1) != 0 && differences(&p, &a, &a, 1) == 0;
		outcome_free(&a);
		outcome_free(&b);
		free(text);
		gen_free(&g);
	}
	if (seen < 6)
		printf("jitdiff: a difference is not seen\n");
	return seen < 6 ? -1 : 0;
}

static int in_child(int (*test)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		status = test() != 0;
		fflush(stdout);
		_exit(status);
	}
	return pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0;
}

int main(int argc, char **argv)
{
	unsigned kernels = 300, bad = 0, done = 0, lines = 0;
	int table = 0;
	uint64_t first = 1;
	int opt;

	while ((opt = getopt(argc, argv, "n:s:m:j:T:ax:o:kt1")) != -1) {
		if (opt == 'n')
			kernels = (unsigned)strtoul(optarg, NULL, 0);
		else if (opt == 's')
			first = strtoull(optarg, NULL, 0);
		else if (opt == 'm' && !rig_set_mode(optarg))
			other_mode = rig_mode;
		else if (opt == 'j')
			hw_jobs = (unsigned)strtoul(optarg, NULL, 0);
		else if (opt == 'T')
			hw_seconds = strtod(optarg, NULL);
		else if (opt == 'x')
			stress = (uint32_t)strtoul(optarg, NULL, 0);
		else if (opt == 'a')
			approximate = 1;
		else if (opt == 'o')
			folder = optarg;
		else if (opt == 'k')
			show_kernels = 1;
		else if (opt == 't')
			table = 1;
		else if (opt == '1')
			only_first = 1;
		else
			return 2;
	}
	judged = mmap(NULL, sizeof(*judged), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (judged == MAP_FAILED)
		return 2;
	if (rig_on_cuda)
		return hw_all(first, kernels, argv + optind, (unsigned)(argc - optind));
	if (optind < argc) {
		for (int i = optind; i < argc; i++)
			bad += one_file(argv[i]) != SAME;
		return bad != 0;
	}
	fflush(stdout);
	/* apart: an engine of ours must not be open when children are made */
	if (in_child(self_test))
		return 1;
	for (; done < kernels && bad < 20; done++)
		bad += one_seed(first + done, &lines) != SAME;
	printf("jitdiff: %u kernels from seed %llu, %u launches, %u instructions, %u by scalar threads as well: %u differ\n", done, (unsigned long long)first,
	       done * LAUNCHES, lines, *judged, bad);
	if (table)
		gen_table_print();
	if (done >= GEN_ALL_PAIRS)
		bad += gen_table_missing();
	return bad != 0;
}
