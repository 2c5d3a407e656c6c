/* SPDX-License-Identifier: MIT */
/*
 * vgpu bench engine: the cpu engine's interpreter and JIT against plain C, kernel by kernel, in this process and
 * on one core; what two cores bring, what a launch costs, what compiling costs.
 *
 * Contenders take turns in short rounds and their fastest rounds are compared, on one core by the CPU time that all
 * threads of the process took: neighbours on the machine spoil rounds, not ratios. No figure stands for a
 * result that differs from C's.
 */
#define _GNU_SOURCE
#include "bench_engine.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../fw-protocol/vgpu_status.h"
#include "bench.h"
#include "bench_kernels.h"
#include "check.h"
#include "gpucode.h"
#include "local.h"
#include "vgpu.h"

#define VALUES (1 << 20)
#define COLUMNS 4096
#define ROWS 1024               /* of the quantised matrices: 4.3 MiB and 2.3 MiB */
#define NORM_ROWS 64
#define REDUCE_PER 4096
#define SAXPY_A 0.001f
#define EPS 1e-6f
#define OUT_BYTES ((size_t)VALUES * sizeof(float))
#define MIN_ROUNDS 15
#define MAX_ROUNDS 4096

enum { BY_C, BY_INTERP, BY_JIT, CONTENDERS };
enum input { IN_X, IN_Y, IN_W8, IN_W4, IN_V, INPUTS };

static void *input[INPUTS];
static void *output[CONTENDERS];

/* ---- kernels ------------------------------------------------------------------------------------ */

/*
 * Each argument is a letter: p an input (its number in values), o the output, i int, l long long, f float, z zeros of
 * any size, 1 the three words by which ggml divides by one.
 */
struct kernel {
	const char *key, *entry;
	uint32_t grid[3], block[3];
	const char *args;
	double values[20];
	void (*c)(void *out);
	size_t out_bytes;
	int starts_as_y;                /* the output is also input: IN_Y */
};

static void by_c_saxpy(void *out)
{
	c_saxpy(VALUES, SAXPY_A, input[IN_X], out);
}
static void by_c_reduce(void *out)
{
	c_block_reduce(input[IN_X], out, VALUES / REDUCE_PER, REDUCE_PER);
}
static void by_c_norm(void *out)
{
	c_rms_norm(input[IN_X], out, NORM_ROWS, COLUMNS, EPS);
}
static void by_c_quantize(void *out)
{
	c_quantize_q8_1(input[IN_X], out, NORM_ROWS, COLUMNS);
}
static void by_c_q8_0(void *out)
{
	c_mmvq_q8_0(input[IN_W8], input[IN_V], out, ROWS, COLUMNS);
}
static void by_c_q4_0(void *out)
{
	c_mmvq_q4_0(input[IN_W4], input[IN_V], out, ROWS, COLUMNS);
}

/* mul_mat_vec_q: matrix, vector, no ids, no fusion, out, columns, then divisors and strides of one channel and sample */
#define GGML_ARGS "ppzzoi1iii1iii1iiii"
#define GGML_VALUES(w) { [0] = w, [1] = IN_V, [5] = COLUMNS, [7] = COLUMNS / 32, [8] = COLUMNS / 32, [9] = ROWS }

static const struct kernel kernels[] = {
	{ "saxpy", "saxpy", { VALUES / 256, 1, 1 }, { 256, 1, 1 }, "ifpo", { VALUES, SAXPY_A, IN_X },
	  by_c_saxpy, OUT_BYTES, 1 },
	{ "mmvq_q8_0", "mmvq_q8_0", { ROWS, 1, 1 }, { 32, 4, 1 }, "ppoii",
	  { IN_W8, IN_V, 0, COLUMNS, COLUMNS / 32 }, by_c_q8_0, ROWS * 4, 0 },
	{ "mmvq_q4_0", "mmvq_q4_0", { ROWS, 1, 1 }, { 32, 4, 1 }, "ppoii",
	  { IN_W4, IN_V, 0, COLUMNS, COLUMNS / 32 }, by_c_q4_0, ROWS * 4, 0 },
	{ "rms_norm", "rms_norm_256", { NORM_ROWS, 1, 1 }, { 256, 1, 1 }, "poif", { IN_X, 0, COLUMNS, EPS },
	  by_c_norm, NORM_ROWS * COLUMNS * 4, 0 },
	{ "rms_norm_1024", "rms_norm_1024", { NORM_ROWS, 1, 1 }, { 1024, 1, 1 }, "poif", { IN_X, 0, COLUMNS, EPS },
	  by_c_norm, NORM_ROWS * COLUMNS * 4, 0 },
	{ "block_reduce", "block_reduce", { VALUES / REDUCE_PER, 1, 1 }, { 256, 1, 1 }, "poi",
	  { IN_X, 0, REDUCE_PER }, by_c_reduce, VALUES / REDUCE_PER * 4, 0 },
	{ "quantize_q8_1", "quantize_q8_1", { COLUMNS / 256, NORM_ROWS, 1 }, { 256, 1, 1 }, "poll",
	  { IN_X, 0, COLUMNS, COLUMNS }, by_c_quantize, NORM_ROWS * COLUMNS / 32 * sizeof(struct q8_1), 0 },
	/* the real ones, where a libggml-cuda.so is given: the names are the beginnings of theirs */
	{ "ggml_q8_0", "_Z13mul_mat_vec_qIL9ggml_type8ELi1ELb0ELb0ELb0EE", { ROWS, 1, 1 }, { 32, 4, 1 }, GGML_ARGS,
	  GGML_VALUES(IN_W8), by_c_q8_0, ROWS * 4, 0 },
	{ "ggml_q4_0", "_Z13mul_mat_vec_qIL9ggml_type2ELi1ELb0ELb0ELb0EE", { ROWS, 1, 1 }, { 32, 4, 1 }, GGML_ARGS,
	  GGML_VALUES(IN_W4), by_c_q4_0, ROWS * 4, 0 },
};
#define NGGML 2
#define NKERNELS (sizeof(kernels) / sizeof(kernels[0]))

struct result {
	double ns[NKERNELS][CONTENDERS];        /* fastest round */
	unsigned rounds[NKERNELS];
	unsigned kernels;                       /* how many of them there are */
	double cores2, jit_scaling, c_scaling;
	double empty1, empty1000;               /* us */
	struct check check;
	int checked;
	const char *only;               /* this kernel (or "cores2"), nothing else */
};

static int wanted(const struct result *r, unsigned i)
{
	return !r->only || !strcmp(r->only, kernels[i].key);
}

/* An engine with bench.ptx loaded. */
struct runner {
	struct local l;
	uint32_t module, ggml;          /* ggml: the module with mul_mat_vec_q, 0: none */
	void *image;                    /* it stays as long as the module */
};

static int runner_open(struct runner *r, uint32_t mode, unsigned cores)
{
	char log[512] = "";
	uint32_t st;

	if (local_open(&r->l, mode, cores, 61))
		return -1;
	st = engine_cpu.module_load(r->l.e, bench_ptx, strlen(bench_ptx), &r->module, log, sizeof(log));
	if (st)
		complain("bench: the kernels: %s: %s", vgpu_status_text(st), log);
	return st ? -1 : 0;
}

static uint32_t find_prefix(struct runner *r, uint32_t module, const char *prefix)
{
	struct engine_symbol s;

	for (uint32_t i = 0; engine_cpu.module_symbol(r->l.e, module, i, &s) == VGPU_ST_OK; i++)
		if (s.kind == ENGINE_SYM_FUNC && !strncmp(s.name, prefix, strlen(prefix)))
			return s.id;
	return 0;
}

/* Keeps the module that has ggml's kernels. */
static int take_ggml(void *owner, const void *image, size_t bytes)
{
	struct runner *r = owner;
	char log[64];

	if (!image || !(r->image = malloc(bytes)))
		return -1;
	memcpy(r->image, image, bytes);
	if (engine_cpu.module_load(r->l.e, r->image, bytes, &r->ggml, log, sizeof(log)) == VGPU_ST_OK) {
		if (find_prefix(r, r->ggml, kernels[NKERNELS - 1].entry))
			return 1;
		engine_cpu.module_unload(r->l.e, r->ggml);
	}
	r->ggml = 0;
	free(r->image);
	r->image = NULL;
	return 0;
}

static void runner_close(struct runner *r)
{
	local_close(&r->l);
	free(r->image);
}

struct ready {
	struct engine_launch l;
	unsigned char params[256];
};

/* Everything of a launch but the run; -1 after a complaint. */
static int make_ready(struct runner *r, const struct kernel *k, void *out, struct ready *to)
{
	struct engine_func_info fi;
	char log[512] = "";
	uint32_t st;

	memset(to, 0, sizeof(*to));
	to->l.fn = strncmp(k->key, "ggml", 4) ? local_kernel(&r->l, r->module, k->entry) : find_prefix(r, r->ggml, k->entry);
	if (!to->l.fn)
		return -1;
	st = engine_cpu.func_info(r->l.e, to->l.fn, &fi, log, sizeof(log));
	if (st || fi.nparams != strlen(k->args) || fi.param_bytes > sizeof(to->params)) {
		complain("bench: %s: %s %s", k->entry, st ? vgpu_status_text(st) : "has other parameters", log);
		return -1;
	}
	for (unsigned i = 0; k->args[i]; i++) {
		void *pointer = k->args[i] == 'o' ? out : input[k->args[i] == 'p' ? (int)k->values[i] : 0];
		long long wide = (long long)k->values[i];
		int narrow = (int)wide;
		float f = (float)k->values[i];
		uint32_t one[3] = { 1, 0, 1 };
		struct { char letter; const void *from; uint32_t bytes; } kinds[] = {
			{ 'p', &pointer, sizeof(pointer) }, { 'o', &pointer, sizeof(pointer) }, { 'i', &narrow, sizeof(narrow) },
			{ 'l', &wide, sizeof(wide) }, { 'f', &f, sizeof(f) }, { '1', one, sizeof(one) },
		};

		for (unsigned n = 0; n < sizeof(kinds) / sizeof(kinds[0]); n++) {
			if (kinds[n].letter != k->args[i])
				continue;
			if (kinds[n].bytes != fi.params[i].bytes) {
				complain("bench: %s: parameter %u has %u bytes", k->entry, i, fi.params[i].bytes);
				return -1;
			}
			memcpy(to->params + fi.params[i].offset, kinds[n].from, kinds[n].bytes);
		}
	}
	memcpy(to->l.grid, k->grid, sizeof(to->l.grid));
	memcpy(to->l.block, k->block, sizeof(to->l.block));
	to->l.params = to->params;
	to->l.param_bytes = fi.param_bytes;
	return 0;
}

static double wall_ns(void)
{
	return (double)tsc() / tsc_ghz();
}

/* Of all threads: the engine's worker and its caller share the core, so there is no idle time to miss. */
static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* One run, ns; negative after a complaint. */
static double run_once(struct runner *r, struct ready *what, const struct kernel *k, int contender, double (*now)(void))
{
	double t0 = now(), t1;
	uint32_t st = 0;

	if (contender == BY_C)
		k->c(output[BY_C]);
	else
		st = local_run(&r->l, &what->l);
	t1 = now();
	if (st) {
		complain("bench: %s: %s %s", k->key, vgpu_status_text(st), r->l.fault);
		return -1;
	}
	return t1 - t0;
}

/* ---- are they right? ---------------------------------------------------------------------------- */

static int floats_differ(const float *got, const float *want, size_t n)
{
	double error = 0, norm = 0;

	for (size_t i = 0; i < n; i++) {
		error += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
		norm += (double)want[i] * want[i];
	}
	/* sums are added up in another order; a NaN fails as well */
	return !(norm > 0 && sqrt(error / norm) < 1e-5);
}

/* A value near the middle of two steps may fall to either side; scales are one rounding apart at most. */
static int blocks_differ(const struct q8_1 *got, const struct q8_1 *want, size_t n)
{
	size_t off = 0;

	for (size_t b = 0; b < n; b++) {
		float d = c_float(want[b].d), s = c_float(want[b].sum);

		if (!(fabsf(c_float(got[b].d) - d) <= 1e-3f * d) || !(fabsf(c_float(got[b].sum) - s) <= 1e-3f * (fabsf(s) + 1)))
			return 1;
		for (int i = 0; i < 32; i++) {
			if (abs(got[b].q[i] - want[b].q[i]) > 1)
				return 1;
			off += got[b].q[i] != want[b].q[i];
		}
	}
	return off > n * 32 / 1000;
}

static int results_right(struct runner *r[CONTENDERS], struct ready *what, const struct kernel *k)
{
	static const char *const names[] = { "C", "interpreter", "JIT" };

	for (int c = 0; c < CONTENDERS; c++) {
		if (k->starts_as_y)
			memcpy(output[c], input[IN_Y], k->out_bytes);
		else
			memset(output[c], 0xff, k->out_bytes);
		if (run_once(r[c], &what[c], k, c, cpu_ns) < 0)
			return 0;
		if (c != BY_C && (k->c == by_c_quantize ?
				  blocks_differ(output[c], output[BY_C], k->out_bytes / sizeof(struct q8_1)) :
				  floats_differ(output[c], output[BY_C], k->out_bytes / 4))) {
			complain("bench: %s: the %s's result is not C's: no figures", k->key, names[c]);
			return 0;
		}
	}
	return 1;
}

/* ---- measuring ---------------------------------------------------------------------------------- */

static double seconds_since(uint64_t t0)
{
	return (double)(tsc() - t0) / tsc_ghz() / 1e9;
}

static int measure_kernel(struct runner *r[CONTENDERS], unsigned i, double seconds, struct result *out)
{
	const struct kernel *k = &kernels[i];
	struct ready what[CONTENDERS];
	uint64_t t0;

	for (int c = BY_INTERP; c < CONTENDERS; c++)
		if (make_ready(r[c], k, output[c], &what[c]))
			return -1;
	if (!results_right(r, what, k))
		return -1;
	for (int c = 0; c < CONTENDERS; c++)
		out->ns[i][c] = INFINITY;
	t0 = tsc();
	for (unsigned n = 0; n < MIN_ROUNDS || seconds_since(t0) < seconds; n++) {
		for (int c = 0; c < CONTENDERS; c++) {
			double ns;

			if (c == BY_INTERP && n % 8)
				continue;       /* takes most of the time, and nobody waits for its last percent */
			ns = run_once(r[c], &what[c], k, c, cpu_ns);
			if (ns < 0)
				return -1;
			out->ns[i][c] = fmin(out->ns[i][c], ns);
		}
		out->rounds[i] = n + 1;
	}
	/* still right after all these? */
	return results_right(r, what, k) ? 0 : -1;
}

/* Plain C on two threads: the helper takes the second half of the rows. */
struct helper {
	pthread_t thread;
	sem_t go, done;
	int cpu, stop;
};

#define HALF (GRID2 / 2)
#define GRID2 1000

static void half_of_rows(int second)
{
	const struct q8_0 *w = input[IN_W8];

	c_mmvq_q8_0(w + (size_t)(second ? HALF : 0) * (COLUMNS / 32), input[IN_V],
		    (float *)output[BY_C] + (second ? HALF : 0), HALF, COLUMNS);
}

static void *helper_main(void *arg)
{
	struct helper *h = arg;

	pin_to(h->cpu);
	for (;;) {
		while (sem_wait(&h->go))
			;
		if (h->stop)
			return NULL;
		half_of_rows(1);
		sem_post(&h->done);
	}
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), ascending);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/*
 * How much faster are two cores than one, the engine's and C's, on 1,000 blocks (rows)? By each round, of some milliseconds, and
 * the median of them: a fastest round of one core only asks that its own neighbour, most often a hyperthread beside it, be still
 * for a moment, one of two cores that both be. Where C's own scaling is about 1 the host gives one core, and the ratio says nothing.
 */
static int measure_cores(struct runner *one, struct runner *two, int helper_cpu, double seconds, struct result *out)
{
	struct kernel k = kernels[1];
	struct helper h = { .cpu = helper_cpu };
	struct ready r1, r2;
	static double by_c[MAX_ROUNDS], by_jit[MAX_ROUNDS], over[MAX_ROUNDS];
	unsigned n;
	uint64_t begin;

	k.grid[0] = GRID2;
	if (make_ready(one, &k, output[BY_JIT], &r1) || make_ready(two, &k, output[BY_JIT], &r2))
		return -1;
	sem_init(&h.go, 0, 0);
	sem_init(&h.done, 0, 0);
	if (pthread_create(&h.thread, NULL, helper_main, &h)) {
		complain("bench: no second thread");
		return -1;
	}
	begin = tsc();
	for (n = 0; n < MIN_ROUNDS || (n < MAX_ROUNDS && seconds_since(begin) < seconds); n++) {
		double ns[4];
		double t0 = wall_ns();

		half_of_rows(0);
		half_of_rows(1);
		ns[0] = wall_ns() - t0;
		t0 = wall_ns();
		sem_post(&h.go);
		half_of_rows(0);
		while (sem_wait(&h.done))
			;
		ns[1] = wall_ns() - t0;
		ns[2] = run_once(one, &r1, &k, BY_JIT, wall_ns);
		ns[3] = run_once(two, &r2, &k, BY_JIT, wall_ns);
		if (ns[2] < 0 || ns[3] < 0)
			break;
		by_c[n] = ns[0] / ns[1];
		by_jit[n] = ns[2] / ns[3];
		over[n] = by_jit[n] / by_c[n];
	}
	h.stop = 1;
	sem_post(&h.go);
	pthread_join(h.thread, NULL);
	if (n < MIN_ROUNDS)
		return -1;
	if (floats_differ(output[BY_JIT], output[BY_C], GRID2)) {
		complain("bench: two cores: the result is not C's: no figures");
		return -1;
	}
	out->c_scaling = median(by_c, n);
	out->jit_scaling = median(by_jit, n);
	out->cores2 = median(over, n);
	return 0;
}

/* Median us of a launch of `grid` empty blocks of one warp; one thread for a single block. */
static double measure_launch(struct runner *r, unsigned grid)
{
	enum { SAMPLES = 301 };
	const struct kernel k = { "empty", "empty", { grid, 1, 1 }, { grid > 1 ? 32 : 1, 1, 1 }, "", { 0 }, NULL, 0, 0 };
	unsigned burst = grid > 1 ? 1 : 200;
	double us[SAMPLES];
	struct ready what;

	if (make_ready(r, &k, NULL, &what))
		return NAN;
	for (int i = 0; i < SAMPLES; i++) {
		double t0 = wall_ns();

		for (unsigned n = 0; n < burst; n++) {
			if (local_run(&r->l, &what.l)) {
				complain("bench: empty kernel: %s", r->l.fault);
				return NAN;
			}
		}
		us[i] = (wall_ns() - t0) / 1e3 / burst;
	}
	qsort(us, SAMPLES, sizeof(us[0]), ascending);
	return us[SAMPLES / 2];
}

/* ---- inputs ------------------------------------------------------------------------------------- */

static uint32_t random_state = 12345;
static uint32_t random_bits(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state;
}
static float random_float(void)
{
	return (float)(int32_t)random_bits() / 2147483648.0f;
}

static int make_inputs(void)
{
	size_t blocks = (size_t)ROWS * COLUMNS / 32;
	size_t bytes[INPUTS] = { [IN_X] = OUT_BYTES, [IN_Y] = OUT_BYTES, [IN_W8] = blocks * sizeof(struct q8_0),
				 [IN_W4] = blocks * sizeof(struct q4_0), [IN_V] = COLUMNS / 32 * sizeof(struct q8_1) };
	struct q8_0 *w8;
	struct q4_0 *w4;
	float *x, *y;

	for (int i = 0; i < INPUTS; i++) {
		input[i] = local_alloc(bytes[i]);
		if (!input[i])
			goto fail;
	}
	for (int i = 0; i < CONTENDERS; i++) {
		output[i] = local_alloc(OUT_BYTES);
		if (!output[i])
			goto fail;
	}
	x = input[IN_X];
	y = input[IN_Y];
	w8 = input[IN_W8];
	w4 = input[IN_W4];
	for (int i = 0; i < VALUES; i++) {
		x[i] = random_float();
		y[i] = random_float();
	}
	for (size_t b = 0; b < blocks; b++) {
		w8[b].d = c_half(0.01f + 0.005f * random_float());
		w4[b].d = c_half(0.1f + 0.05f * random_float());
		for (int i = 0; i < 32; i++)
			w8[b].q[i] = (int8_t)random_bits();
		for (int i = 0; i < 16; i++)
			w4[b].q[i] = (uint8_t)random_bits();
	}
	c_quantize_q8_1(x, input[IN_V], 1, COLUMNS);
	return 0;
fail:
	complain("bench: no memory for the inputs");
	return -1;
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static int measure(const char *binary, const char *only, double seconds, struct result *out)
{
	static struct runner interp, jit, both;
	struct runner *r[CONTENDERS] = { NULL, &interp, &jit };
	int cpus = cpus_online(), other, err = -1;
	cpu_set_t before;

	sched_getaffinity(0, sizeof(before), &before);
	pin_to(cpus - 1);
	if (runner_open(&interp, ENGINE_MODE_INTERP, 1) || runner_open(&jit, ENGINE_MODE_JIT, 1) || make_inputs())
		goto out;
	/* ggml's own, where they are */
	out->kernels = NKERNELS - NGGML;
	if (binary && gpucode_each(binary, take_ggml, &interp) == 1 && gpucode_each(binary, take_ggml, &jit) == 1)
		out->kernels = NKERNELS;
	out->only = only;
	for (unsigned i = 0; i < out->kernels; i++)
		if (wanted(out, i) && measure_kernel(r, i, seconds, out))
			goto out;
	out->cores2 = out->jit_scaling = out->c_scaling = NAN;
	if (!only) {
		out->empty1 = measure_launch(&jit, 1);
		out->empty1000 = measure_launch(&jit, 1000);
		if (binary) {
			if (check_file(&jit.l, binary, &out->check))
				goto out;
			out->checked = 1;
		}
	}
	/* where it may use two cores, the engine's workers take one each; so do C's threads */
	other = cpus - 2;
	while (other >= 0 && !CPU_ISSET((unsigned)other, &before))
		other--;
	if ((!only || !strcmp(only, "cores2")) && other >= 0) {
		cpu_set_t two;

		CPU_ZERO(&two);
		CPU_SET((unsigned)other, &two);
		CPU_SET((unsigned)cpus - 1, &two);
		sched_setaffinity(0, sizeof(two), &two);
		if (runner_open(&both, ENGINE_MODE_JIT, 2))
			goto out;
		pin_to(cpus - 1);
		if (measure_cores(&jit, &both, other, seconds, out))
			goto out;
	}
	err = 0;
out:
	sched_setaffinity(0, sizeof(before), &before);
	runner_close(&both);
	runner_close(&jit);
	runner_close(&interp);
	return err;
}

static void print_table(const struct result *r)
{
	printf("%-16s %10s %10s %10s   %7s %10s\n", "one core, us", "C", "interp", "JIT", "JIT/C", "JIT/interp");
	for (unsigned i = 0; i < r->kernels; i++)
		if (wanted(r, i))
			printf("  %-14s %10.1f %10.1f %10.1f   %6.2fx %9.2fx\n", kernels[i].key, r->ns[i][BY_C] / 1e3,
			       r->ns[i][BY_INTERP] / 1e3, r->ns[i][BY_JIT] / 1e3, r->ns[i][BY_C] / r->ns[i][BY_JIT],
			       r->ns[i][BY_INTERP] / r->ns[i][BY_JIT]);
	if (isfinite(r->cores2))
		printf("two cores, 1,000 blocks: %.2f times one; C %.2f: %.2f of C's\n", r->jit_scaling, r->c_scaling,
		       r->cores2);
	if (r->only)
		return;
	printf("launch and end of an empty kernel: %.2f us (one block), %.1f us (1,000 blocks of a warp)\n", r->empty1,
	       r->empty1000);
	if (r->checked)
		printf("compiling %u kernels (%u failed), ms of CPU time: median %.2f, p99 %.2f, longest %.2f\n",
		       r->check.entries, r->check.failed, check_quantile(&r->check, 0.5),
		       check_quantile(&r->check, 0.99), check_quantile(&r->check, 1));
}

static void print_json(const struct result *r)
{
	static const char *const names[] = { "c", "interp", "jit" };
	struct json j = { .out = stdout };

	json_open(&j, NULL, '{');
	json_open(&j, "over_c", '{');
	for (unsigned i = 0; i < r->kernels; i++)
		json_f(&j, kernels[i].key, r->ns[i][BY_C] / r->ns[i][BY_JIT]);
	json_close(&j, '}');
	json_open(&j, "jit_over_interp", '{');
	for (unsigned i = 0; i < r->kernels; i++)
		json_f(&j, kernels[i].key, r->ns[i][BY_INTERP] / r->ns[i][BY_JIT]);
	json_close(&j, '}');
	json_f(&j, "cores2_over_c2", r->cores2);
	json_open(&j, "cores2_over_one", '{');
	json_f(&j, "c", r->c_scaling);
	json_f(&j, "jit", r->jit_scaling);
	json_close(&j, '}');
	json_open(&j, "compile_ms", '{');
	json_f(&j, "p50", r->checked ? check_quantile(&r->check, 0.5) : NAN);
	json_f(&j, "p99", r->checked ? check_quantile(&r->check, 0.99) : NAN);
	json_f(&j, "entries", r->checked ? r->check.entries : NAN);
	json_f(&j, "failed", r->checked ? r->check.failed : NAN);
	json_close(&j, '}');
	json_open(&j, "launch_us", '{');
	json_f(&j, "empty1", r->empty1);
	json_f(&j, "empty1000", r->empty1000);
	json_close(&j, '}');
	json_open(&j, "us", '{');
	for (unsigned i = 0; i < r->kernels; i++) {
		json_open(&j, kernels[i].key, '{');
		for (int c = 0; c < CONTENDERS; c++)
			json_f(&j, names[c], r->ns[i][c] / 1e3);
		json_u64(&j, "rounds", r->rounds[i]);
		json_close(&j, '}');
	}
	json_close(&j, '}');
	json_close(&j, '}');
}

int bench_engine(int argc, char **argv)
{
	struct result *r = calloc(1, sizeof(*r));
	char found[PATH_MAX];
	const char *binary = NULL, *only = NULL;
	double seconds = 1.5;
	int json = 0, status = 2, known = 0;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-j")) {
			json = 1;
		} else if (!strcmp(argv[i], "--binary") && i + 1 < argc) {
			binary = argv[++i];
		} else if (!strcmp(argv[i], "-t") && i + 1 < argc) {
			seconds = atof(argv[++i]);
		} else if (!strcmp(argv[i], "-k") && i + 1 < argc) {
			only = argv[++i];
		} else {
			fputs("usage: vgpu bench engine [-j] [-t SECONDS] [-k KERNEL] [--binary FILE]\n", stderr);
			goto out;
		}
	}
	known = only && !strcmp(only, "cores2");
	for (unsigned i = 0; only && i < NKERNELS; i++)
		known |= !strcmp(only, kernels[i].key);
	if (only && (!known || json)) {
		complain(json ? "bench: -k goes with the table" : "bench: no kernel %s", only);
		goto out;
	}
	status = 1;
	if (!c_runs_here())
		goto out;
	/* the one that tests/llm has fetched */
	if (!binary && !tool_path(found, sizeof(found), "llm/lib", "libggml-cuda.so") && !access(found, R_OK))
		binary = found;
	if (!r || measure(binary, only, seconds, r))
		goto out;
	if (json)
		print_json(r);
	else
		print_table(r);
	status = 0;
out:
	if (r)
		check_free(&r->check);
	free(r);
	return status;
}
