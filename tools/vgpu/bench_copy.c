/* SPDX-License-Identifier: MIT */
/*
 * vgpu bench copy: copies to and from the device beside memcpy, from 4 bytes to 1 GiB.
 *
 * pinned: cuMemAllocHost memory, one command. pageable: ordinary memory, staged. memcpy: glibc's, ordinary memory on
 * both sides, in the same rounds: what the machine does in between meets all alike; and on the CPU that does the
 * copying, since two CPUs of one machine may differ by a fifth: for pinned memory that is the device's. A figure is the
 * median of rounds, a ratio the median of the rounds' ratios.
 */
#define _GNU_SOURCE
#include "bench_gpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZES_MAX 16
#define ROUNDS 9
#define ROUNDS_LARGE 5          /* from 64 MiB on */
#define ROUND_NS 4000000.0      /* as many copies as fit, one at least */
#define RATIO_FROM (4ull << 20)

enum way { H2D, D2H, WAYS };
enum kind { PINNED, PAGEABLE, KINDS };
static const char *const way_names[WAYS] = { "h2d", "d2h" };

struct copies {
	uint64_t limit;
	int sizes;
	struct at_size {
		uint64_t bytes;
		double memcpy_ns[KINDS], ns[KINDS][WAYS], ratio[KINDS][WAYS]; /* memcpy: on the CPU that copies */
	} at[SIZES_MAX];
};

struct memory {
	CUdeviceptr dev;
	uint8_t *pinned, *ordinary, *other;
};

static int less(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), less);
	return v[n / 2];
}

/* kind KINDS: memcpy. ns a copy. */
static int copies_ns(struct memory *m, int kind, int way, uint64_t bytes, int n, double *ns)
{
	uint8_t *host = kind == PINNED ? m->pinned : m->ordinary;
	uint64_t t0 = tsc();

	for (int i = 0; i < n; i++) {
		if (kind == KINDS)
			memcpy(way == H2D ? m->other : host, way == H2D ? host : m->other, bytes);
		else if (way == H2D)
			TRY(cu.cuMemcpyHtoD_v2(m->dev, host, bytes));
		else
			TRY(cu.cuMemcpyDtoH_v2(host, m->dev, bytes));
		__asm__ volatile("" ::: "memory");
	}
	/* small copies may return before they are done */
	if (kind != KINDS)
		TRY(cu.cuCtxSynchronize());
	*ns = tsc_ns(t0, tsc()) / n;
	return 0;
}

static int one_size(struct memory *m, struct at_size *a)
{
	double base[KINDS][ROUNDS * WAYS], ns[KINDS][WAYS][ROUNDS], ratio[KINDS][WAYS][ROUNDS], once = 0;
	int n, rounds = a->bytes < 64 << 20 ? ROUNDS : ROUNDS_LARGE;

	for (int w = 0; w < WAYS; w++)
		for (int k = 0; k <= KINDS; k++) {
			double took;

			if (copies_ns(m, k, w, a->bytes, 1, &took))
				return -1;
			once = fmax(once, took);  /* the slowest of them */
		}
	n = once < ROUND_NS ? (int)(ROUND_NS / once) : 1;
	n = n > 2000 ? 2000 : n;
	for (int r = 0; r < rounds; r++)
		for (int w = 0; w < WAYS; w++)
			for (int k = 0; k < KINDS; k++) {
				double *b = &base[k][r * WAYS + w];
				int err;

				if (k == PINNED)
					pin_to(cores()->other);
				err = copies_ns(m, KINDS, w, a->bytes, n, b);
				pin_to(cores()->client);
				if (err || copies_ns(m, k, w, a->bytes, n, &ns[k][w][r]))
					return -1;
				ratio[k][w][r] = *b / ns[k][w][r];
			}
	for (int k = 0; k < KINDS; k++) {
		a->memcpy_ns[k] = median(base[k], rounds * WAYS);
		for (int w = 0; w < WAYS; w++) {
			a->ns[k][w] = median(ns[k][w], rounds);
			a->ratio[k][w] = median(ratio[k][w], rounds);
		}
	}
	return 0;
}

static void *touched(uint64_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, bytes, MADV_HUGEPAGE);
	memset(p, 1, bytes);
	return p;
}

static int measure(void *arg)
{
	struct copies *c = arg;
	struct memory m;
	struct gpu g;
	size_t avail, total;
	uint64_t most = c->limit;

	if (gpu_open(&g, 0))
		return -1;
	TRY(cu.cuMemGetInfo_v2(&avail, &total));
	/* device memory, pinned and two ordinary buffers are all this machine's */
	while (most > avail / 4 || most * 6 > (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE))
		most /= 2;
	while (cu.cuMemAllocHost_v2((void **)&m.pinned, most) != CUDA_SUCCESS)
		if ((most /= 2) < RATIO_FROM)
			return -1;
	TRY(cu.cuMemAlloc_v2(&m.dev, most));
	m.ordinary = touched(most);
	m.other = touched(most);
	if (!m.ordinary || !m.other) {
		complain("bench copy: no memory for buffers of %llu bytes", (unsigned long long)most);
		return -1;
	}
	memset(m.pinned, 2, most);
	for (uint64_t bytes = 4; bytes <= most && c->sizes < SIZES_MAX; bytes *= 4) {
		c->at[c->sizes].bytes = bytes;
		if (one_size(&m, &c->at[c->sizes]))
			return -1;
		c->sizes++;
	}
	return 0;
}

/* Over all sizes from 4 MiB on: the middle, or the worst. */
static double ratio(const struct copies *c, int kind, int way, int worst)
{
	double v[SIZES_MAX];
	int n = 0;

	for (int i = 0; i < c->sizes; i++)
		if (c->at[i].bytes >= RATIO_FROM)
			v[n++] = c->at[i].ratio[kind][way];
	if (!n)
		return NAN;
	qsort(v, (size_t)n, sizeof(*v), less);
	return worst ? v[0] : v[n / 2];
}

static const char *size_name(uint64_t bytes)
{
	static char name[32];
	unsigned unit = 0;

	for (; bytes >= 1024; bytes /= 1024)
		unit++;
	snprintf(name, sizeof(name), "%llu %s", (unsigned long long)bytes, (const char *const[]){ "B", "KiB", "MiB", "GiB" }[unit]);
	return name;
}

static void print_table(const struct copies *c)
{
	printf("copies, GB/s (microseconds below 64 KiB), client on CPU %d; memcpy on the CPU that copies\n", cores()->client);
	printf("  %10s %9s %12s %12s %9s %12s %12s\n", "", "memcpy", "pinned h2d", "pinned d2h", "memcpy", "pageable h2d",
	       "pageable d2h");
	for (int i = 0; i < c->sizes; i++) {
		const struct at_size *a = &c->at[i];
		int small = a->bytes < 65536;
		double b = (double)a->bytes;

		printf("  %10s", size_name(a->bytes));
		for (int k = 0; k < KINDS; k++) {
			printf(" %9.2f", small ? a->memcpy_ns[k] / 1000 : b / a->memcpy_ns[k]);
			for (int w = 0; w < WAYS; w++)
				printf(" %12.2f", small ? a->ns[k][w] / 1000 : b / a->ns[k][w]);
		}
		putchar('\n');
	}
	puts("  over memcpy, from 4 MiB: median of the sizes (worst)");
	for (int k = 0; k < KINDS; k++)
		for (int w = 0; w < WAYS; w++)
			printf("    %-8s %s %6.2f (%.2f)\n", k == PINNED ? "pinned" : "pageable", way_names[w], ratio(c, k, w, 0),
			       ratio(c, k, w, 1));
}

static void ways(struct json *j, const char *key, const struct copies *c, int kind, int worst)
{
	json_open(j, key, '{');
	for (int w = 0; w < WAYS; w++)
		json_f(j, way_names[w], ratio(c, kind, w, worst));
	json_close(j, '}');
}

static void print_json(const struct copies *c)
{
	struct json j = { .out = stdout };

	json_open(&j, NULL, '{');
	json_open(&j, "sizes", '[');
	for (int i = 0; i < c->sizes; i++) {
		const struct at_size *a = &c->at[i];

		json_open(&j, NULL, '{');
		json_u64(&j, "bytes", a->bytes);
		json_f(&j, "memcpy_ns", a->memcpy_ns[PAGEABLE]);
		json_f(&j, "memcpy_device_cpu_ns", a->memcpy_ns[PINNED]);
		for (int k = 0; k < KINDS; k++) {
			json_open(&j, k == PINNED ? "pinned_ns" : "pageable_ns", '{');
			for (int w = 0; w < WAYS; w++)
				json_f(&j, way_names[w], a->ns[k][w]);
			json_close(&j, '}');
		}
		json_close(&j, '}');
	}
	json_close(&j, ']');
	ways(&j, "pinned_over_memcpy", c, PINNED, 0);
	ways(&j, "pageable_over_memcpy", c, PAGEABLE, 0);
	ways(&j, "pinned_over_memcpy_worst", c, PINNED, 1);
	ways(&j, "pageable_over_memcpy_worst", c, PAGEABLE, 1);
	json_close(&j, '}');
}

int bench_copy(int argc, char **argv)
{
	struct copies *c = bench_shared(sizeof(*c));
	struct rig rig;
	int json = 0, opt, status = 1;

	if (!c)
		return 1;
	c->limit = 1ull << 30;
	while ((opt = getopt(argc, argv, "jm:")) != -1) {
		char *end;

		if (opt == 'j') {
			json = 1;
			continue;
		}
		if (opt != 'm')
			return 2;
		c->limit = strtoull(optarg, &end, 10);
		if (*end == 'M')
			c->limit <<= 20;
		if ((*end && (*end != 'M' || end[1])) || c->limit < RATIO_FROM || c->limit > 1ull << 30) {
			complain("bench copy: -m wants the largest size, 4M to 1024M");
			return 2;
		}
	}
	if (optind < argc) {
		complain("bench copy: %s: no such argument", argv[optind]);
		return 2;
	}
	if (rig_open(&rig, 0, NULL))
		return 1;
	if (!rig_run(&rig, measure, c)) {
		if (json)
			print_json(c);
		else
			print_table(c);
		status = 0;
	}
	rig_close(&rig);
	munmap(c, sizeof(*c));
	return status;
}
