/* SPDX-License-Identifier: MIT */
/*
 * vgpu bench kernels: everyday CUDA kernels on the cpu engine beside the same algorithms in C on the same cores, and what
 * Python's array libraries make, beside C on one.
 *
 * Results are compared before anything is timed and again behind the last round; a wrong one ends the bench. The two take turns, and the
 * medians of their rounds are compared. On one core it is processor time that counts, which neighbours on the machine spoil
 * less; on several it is the clock's. $VGPU_CPU_ISA=avx2 has C built for AVX2, too.
 */
#define _GNU_SOURCE
#include "bench_kernels.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "../../fw-protocol/vgpu_status.h"
#include "bench.h"
#include "local.h"
#include "vgpu.h"

#define POOL_BYTES (320u << 20)
#define MAX_TAKEN 64u
#define CORES_MAX 64
#define MIN_ROUNDS 7
#define MAX_ROUNDS 2000
#define CASES_MAX 64

static struct local engine;
static char *pool;
static size_t pool_used;
static struct { char *at; size_t bytes; } taken[MAX_TAKEN];
static unsigned ntaken;

static struct { const char *name; uint32_t id; } modules[16];
static struct { const char *kernel; uint32_t fn; struct engine_func_info info; } found[16];
static unsigned nfound;
static uint32_t module_now;

/* ---- memory and values -------------------------------------------------------------------------- */

void *take(struct kb *b, size_t bytes)
{
	char *p = pool + pool_used;

	bytes = (bytes + 4095) & ~(size_t)4095;
	if (bytes > POOL_BYTES - pool_used) {
		if (!b->failed)
			complain("bench: a case wants more than %u MiB", POOL_BYTES >> 20);
		b->failed = 1;
		return pool;
	}
	pool_used += bytes;
	memset(p, 0, bytes);
	if (ntaken < MAX_TAKEN) {
		taken[ntaken].at = p;
		taken[ntaken++].bytes = bytes;
	}
	return p;
}

/* A program has allocated them one by one. */
static uint64_t taken_at(uint64_t address, uint64_t *base)
{
	for (unsigned i = 0; i < ntaken; i++)
		if (address - (uintptr_t)taken[i].at < taken[i].bytes) {
			*base = (uintptr_t)taken[i].at;
			return taken[i].bytes;
		}
	return 0;
}

static uint32_t random_state;
uint32_t any_word(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state;
}
float any_float(float low, float high)
{
	return low + (high - low) * (float)(any_word() >> 8) / 16777216.0f;
}

float *take_floats(struct kb *b, size_t n, float low, float high)
{
	float *v = take(b, n * sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = any_float(low, high);
	return v;
}

uint32_t *take_words(struct kb *b, size_t n, uint32_t mask)
{
	uint32_t *v = take(b, n * sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = any_word() & mask;
	return v;
}

unsigned results(struct kb *b, char kind, size_t n)
{
	size_t bytes = n * (kind == 'd' ? 8 : 4);

	b->r[b->nr] = (struct result_pair){ take(b, bytes), take(b, bytes), n, kind };
	return b->nr++;
}

/* ---- C on the cores ----------------------------------------------------------------------------- */

static struct {
	pthread_t thread[CORES_MAX];
	sem_t go[CORES_MAX], done;
	int n, stop;            /* threads beside the caller's */
	c_part run;
	const struct work *w;
	long end, step;
	atomic_long next;
} team;

static void team_work(void)
{
	long at;

	while ((at = atomic_fetch_add(&team.next, team.step)) < team.end)
		team.run(team.w, at, at + team.step < team.end ? at + team.step : team.end);
}

static void *team_main(void *arg)
{
	sem_t *mine = arg;

	for (;;) {
		while (sem_wait(mine))
			;
		if (team.stop)
			return NULL;
		team_work();
		sem_post(&team.done);
	}
}

static int team_open(int cores)
{
	sem_init(&team.done, 0, 0);
	for (; team.n < cores - 1; team.n++) {
		sem_init(&team.go[team.n], 0, 0);
		if (pthread_create(&team.thread[team.n], NULL, team_main, &team.go[team.n])) {
			complain("bench: no thread for C");
			return -1;
		}
	}
	return 0;
}

static void team_close(void)
{
	team.stop = 1;
	for (int i = 0; i < team.n; i++)
		sem_post(&team.go[i]);
	for (int i = 0; i < team.n; i++)
		pthread_join(team.thread[i], NULL);
}

static const struct c_function *c_lists[2];     /* those of this processor, or for AVX2 */

void par(struct kb *b, const char *function, long n)
{
	const struct c_function *f = NULL;
	int helpers;

	for (int l = 0; l < 2 && (!f || !f->name); l++)
		for (f = c_lists[l]; f->name && strcmp(f->name, function); f++)
			;
	if (!f || !f->name) {
		complain("bench: no %s in C", function);
		b->failed = 1;
		return;
	}
	if (b->cores == 1) {
		f->run(&b->w, 0, n);
		return;
	}
	team.run = f->run;
	team.w = &b->w;
	team.end = n;
	team.step = n / (b->cores * 8L) + 1;
	atomic_store(&team.next, 0);
	helpers = team.n < b->cores - 1 ? team.n : b->cores - 1;
	for (int i = 0; i < helpers; i++)
		sem_post(&team.go[i]);
	team_work();
	for (int i = 0; i < helpers; i++)
		while (sem_wait(&team.done))
			;
}

/* ---- the engine --------------------------------------------------------------------------------- */

static int module_ready(const char *name)
{
	char log[512] = "";
	unsigned i;

	nfound = 0;
	for (i = 0; modules[i].name; i++)
		if (!strcmp(modules[i].name, name)) {
			module_now = modules[i].id;
			return 0;
		}
	for (const struct ptx_module *m = everyday_modules; m->name; m++) {
		if (strcmp(m->name, name))
			continue;
		if (engine_cpu.module_load(engine.e, m->text, strlen(m->text), &module_now, log, sizeof(log))) {
			complain("bench: %s.ptx: %s", name, log);
			return -1;
		}
		modules[i].name = m->name;
		modules[i].id = module_now;
		return 0;
	}
	complain("bench: no module %s", name);
	return -1;
}

static int find(struct kb *b, const char *kernel)
{
	char log[512] = "";
	unsigned i;

	for (i = 0; i < nfound; i++)
		if (found[i].kernel == kernel)
			return (int)i;
	found[i].kernel = kernel;
	found[i].fn = i < sizeof(found) / sizeof(found[0]) - 1 ? local_kernel(&engine, module_now, kernel) : 0;
	if (!found[i].fn || engine_cpu.func_info(engine.e, found[i].fn, &found[i].info, log, sizeof(log))) {
		complain("bench: %s: %s", kernel, log);
		b->failed = 1;
		return -1;
	}
	nfound++;
	return (int)i;
}

void go(struct kb *b, const char *kernel, const uint32_t grid[3], const uint32_t block[3], unsigned n, const uint64_t *args)
{
	struct engine_launch l = { 0 };
	unsigned char params[256];
	const struct engine_func_info *fi;
	int at = b->failed ? -1 : find(b, kernel);
	uint32_t st;

	if (at < 0)
		return;
	fi = &found[at].info;
	if (fi->nparams != n || fi->param_bytes > sizeof(params)) {
		complain("bench: %s has %u parameters, not %u", kernel, fi->nparams, n);
		b->failed = 1;
		return;
	}
	for (unsigned i = 0; i < n; i++)
		memcpy(params + fi->params[i].offset, &args[i], fi->params[i].bytes);
	for (int i = 0; i < 3; i++) {
		l.grid[i] = grid[i] ? grid[i] : 1;
		l.block[i] = block[i] ? block[i] : 1;
	}
	l.fn = found[at].fn;
	l.params = params;
	l.param_bytes = fi->param_bytes;
	st = local_run(&engine, &l);
	if (st) {
		complain("bench: %s: %s %s", kernel, vgpu_status_text(st), engine.fault);
		b->failed = 1;
	}
}

/* ---- are they right? ---------------------------------------------------------------------------- */

static double value(const void *v, char kind, size_t i)
{
	return kind == 'd' ? ((const double *)v)[i] : kind == 'f' ? ((const float *)v)[i] : ((const int *)v)[i];
}

static int right(struct kb *b, const struct kcase *k)
{
	for (unsigned r = 0; r < b->nr && !b->failed; r++) {
		const struct result_pair *p = &b->r[r];
		double error = 0, norm = 0;
		size_t first = 0, other = 0;

		if (p->kind == 'u') {
			while (first < p->n && ((uint32_t *)p->gpu)[first] == ((uint32_t *)p->c)[first])
				first++;
			if (first < p->n) {
				complain("bench: %s: value %zu of result %u is 0x%x, by C 0x%x", k->key, first, r,
					 ((uint32_t *)p->gpu)[first], ((uint32_t *)p->c)[first]);
				b->failed = 1;
			}
			continue;
		}
		for (size_t i = 0; i < p->n; i++) {
			double got = value(p->gpu, p->kind, i), want = value(p->c, p->kind, i);

			other += got != want;
			error += (got - want) * (got - want);
			norm += want * want;
		}
		if (p->kind == 'i') {
			if (other > p->n / 100) {
				complain("bench: %s: %zu of %zu values are not C's", k->key, other, p->n);
				b->failed = 1;
			}
			continue;
		}
		/* a NaN fails as well */
		if (!(norm > 0 && sqrt(error / norm) <= k->tolerance)) {
			complain("bench: %s: result %u is off by %.2g of its norm (%.2g may be)", k->key, r, sqrt(error / norm), k->tolerance);
			b->failed = 1;
		}
	}
	return !b->failed;
}

/* ---- measuring ---------------------------------------------------------------------------------- */

struct figures { double us[2]; unsigned rounds; };     /* medians: C, engine */

static double now_us(int cores)
{
	struct timespec t;

	clock_gettime(cores == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int run_case(const struct kcase *k, int cores, int c_cores, int quick, double seconds, struct figures *f)
{
	static double us[2][MAX_ROUNDS];
	struct kb b = { .quick = quick, .cores = c_cores };
	double begin;
	unsigned n;

	pool_used = ntaken = 0;
	random_state = 12345;
	if (module_ready(k->module))
		return -1;
	k->setup(&b);
	/* what a kernel does not write must not be right by the run before */
	for (unsigned r = 0; r < b.nr && !k->in_place; r++) {
		memset(b.r[r].gpu, 0, b.r[r].n * 4);
		memset(b.r[r].c, 0, b.r[r].n * 4);
	}
	if (!b.failed)
		k->c(&b);
	if (!b.failed)
		k->gpu(&b);
	if (!right(&b, k))
		return -1;
	if (quick)
		return 0;
	begin = now_us(2);
	for (n = 0; n < MAX_ROUNDS && (n < MIN_ROUNDS || now_us(2) - begin < seconds * 1e6); n++) {
		double t0 = now_us(cores), t1, t2;

		k->c(&b);
		t1 = now_us(cores);
		k->gpu(&b);
		t2 = now_us(cores);
		us[0][n] = t1 - t0;
		us[1][n] = t2 - t1;
		if (b.failed)
			return -1;
	}
	for (int c = 0; c < 2; c++) {
		qsort(us[c], n, sizeof(us[c][0]), ascending);
		f->us[c] = us[c][n / 2];
	}
	f->rounds = n;
	return right(&b, k) ? 0 : -1;
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static const struct kcase *const lists[] = { everyday_cases, array_cases };
static const char *const list_names[] = { "over_c", "over_c1" }, *const list_titles[] = { "kernels", "arrays, over C on one core" };
static struct figures all[2][CASES_MAX];

struct options { int json, quick, cores; double seconds; const char *only; uint32_t mode; };

static int listed(const struct options *o, const struct kcase *k)
{
	return !o->only || strstr(k->key, o->only);
}

/* Geometric mean of a list's ratios, and the least of them. */
static double mean(int l, double *least)
{
	double sum = 0;
	int n = 0;

	*least = INFINITY;
	for (int i = 0; lists[l][i].key; i++) {
		double ratio = all[l][i].us[0] / all[l][i].us[1];

		if (!all[l][i].rounds)
			continue;
		sum += log(ratio);
		*least = fmin(*least, ratio);
		n++;
	}
	return exp(sum / n);
}

static void print_json(void)
{
	struct json j = { .out = stdout };
	double least;

	json_open(&j, NULL, '{');
	for (int l = 0; l < 2; l++) {
		json_open(&j, list_names[l], '{');
		for (int i = 0; lists[l][i].key; i++)
			if (all[l][i].rounds)
				json_f(&j, lists[l][i].key, all[l][i].us[0] / all[l][i].us[1]);
		json_close(&j, '}');
	}
	json_f(&j, "geomean_over_c", mean(0, &least));
	json_f(&j, "least_over_c", least);
	json_f(&j, "geomean_over_c1", mean(1, &least));
	json_f(&j, "least_over_c1", least);
	json_open(&j, "us", '{');
	for (int l = 0; l < 2; l++)
		for (int i = 0; lists[l][i].key; i++) {
			if (!all[l][i].rounds)
				continue;
			json_open(&j, lists[l][i].key, '{');
			json_f(&j, "c", all[l][i].us[0]);
			json_f(&j, "engine", all[l][i].us[1]);
			json_u64(&j, "rounds", all[l][i].rounds);
			json_close(&j, '}');
		}
	json_close(&j, '}');
	json_close(&j, '}');
}

/* The last line of each list is its mean. */
static int run_all(const struct options *o)
{
	int bad = 0, n = 0;

	for (int l = 0; l < 2; l++) {
		double least, whole;

		if (!o->json && !o->quick)
			printf("%-18s %10s %10s %8s\n", list_titles[l], "C, us", "engine", "ratio");
		for (int i = 0; lists[l][i].key; i++) {
			const struct kcase *k = &lists[l][i];
			struct figures *f = &all[l][i];

			if (!listed(o, k))
				continue;
			n++;
			if (run_case(k, o->cores, l ? 1 : o->cores, o->quick, o->seconds, f)) {
				bad++;
				f->rounds = 0;
			} else if (!o->json && !o->quick) {
				printf("  %-16s %10.0f %10.0f %7.2fx\n", k->key, f->us[0], f->us[1], f->us[0] / f->us[1]);
				fflush(stdout);
			}
		}
		whole = mean(l, &least);
		if (!o->json && !o->quick && isfinite(whole))
			printf("  geometric mean %.3f, least %.3f\n", whole, least);
	}
	if (!n)
		complain("bench: no kernel %s", o->only);
	else if (o->quick && !bad)
		printf("%d kernels, all results are C's\n", n);
	return bad || !n;
}

static int usage(void)
{
	fputs("usage: vgpu bench kernels [-jn] [-c CORES] [-t SECONDS] [-k KERNEL]\n", stderr);
	return 2;
}

int bench_kernels(int argc, char **argv)
{
	struct options o = { .seconds = 0.5 };
	const char *isa = getenv("VGPU_CPU_ISA"), *mode = getenv("VGPU_ENGINE");
	cpu_set_t before, some;
	int status = 1;

	sched_getaffinity(0, sizeof(before), &before);
	o.cores = CPU_COUNT(&before);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-j"))
			o.json = 1;
		else if (!strcmp(argv[i], "-n"))
			o.quick = 1;
		else if (!strcmp(argv[i], "-c") && i + 1 < argc && atoi(argv[i + 1]) > 0)
			o.cores = atoi(argv[++i]);
		else if (!strcmp(argv[i], "-t") && i + 1 < argc)
			o.seconds = atof(argv[++i]);
		else if (!strcmp(argv[i], "-k") && i + 1 < argc)
			o.only = argv[++i];
		else
			return usage();
	}
	if (o.cores > CPU_COUNT(&before) || o.cores > CORES_MAX) {
		complain("bench: this process may use %d processors, not %d", CPU_COUNT(&before), o.cores);
		return 2;
	}
	c_lists[0] = c_functions(isa && !strcmp(isa, "avx2") ? "c_everyday_haswell" : "c_everyday_native");
	c_lists[1] = c_functions(isa && !strcmp(isa, "avx2") ? "c_array_haswell" : "c_array_native");
	if (!c_lists[0] || !c_lists[1])
		return 1;
	/* as many processors as cores; threads inherit that */
	CPU_ZERO(&some);
	for (int i = CPU_SETSIZE - 1; i >= 0 && CPU_COUNT(&some) < o.cores; i--)
		if (CPU_ISSET(i, &before))
			CPU_SET(i, &some);
	sched_setaffinity(0, sizeof(some), &some);
	o.mode = mode ? engine_mode_named(mode) : ENGINE_MODE_AUTO;
	if (local_open(&engine, o.mode, (unsigned)o.cores, 80) || team_open(o.cores))
		goto out;
	local_allocations(taken_at);
	if (!(pool = local_alloc(POOL_BYTES))) {
		complain("bench: no memory");
		goto out;
	}
	status = run_all(&o);
	if (o.json && !status)
		print_json();
out:
	team_close();
	local_close(&engine);
	sched_setaffinity(0, sizeof(before), &before);
	return status;
}
