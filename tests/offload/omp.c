/* SPDX-License-Identifier: MIT */
/*
 * OpenMP 4.5 and 5.0 as C has it, for any compiler that offloads: what each case prints is the same on a device as on the host
 * (OMP_TARGET_OFFLOAD=DISABLED), to the digit: sums are of whole numbers, or of few bits. The last line says where it ran.
 *
 * LLVM_GAPS leaves out what LLVM 19's device runtime has not, on any device: `critical` (setCriticalLock is defined nowhere), and
 * `ordered` (warps that come late to its first look at ThreadDST find what thread 0 has put there, and pass by a barrier).
 */
#include <complex.h>
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void stencil(void)
{
	enum { N = 130, M = 70 };
	static double a[N][M], b[N][M];
	double s = 0;

	for (int i = 0; i < N; i++)
		for (int j = 0; j < M; j++)
			a[i][j] = b[i][j] = (i * 7 + j * 3) % 16;
#pragma omp target data map(tofrom: a) map(to: b)
	for (int t = 0; t < 6; t++) {
#pragma omp target teams distribute parallel for collapse(2)
		for (int i = 1; i < N - 1; i++)
			for (int j = 1; j < M - 1; j++)
				b[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
#pragma omp target teams distribute parallel for collapse(2)
		for (int i = 1; i < N - 1; i++)
			for (int j = 1; j < M - 1; j++)
				a[i][j] = b[i][j];
	}
	for (int i = 0; i < N; i++)
		for (int j = 0; j < M; j++)
			s += a[i][j] * (i + 2 * j);
	printf("stencil %.17g %.17g\n", s, a[60][30]);
}

static void matmul(void)
{
	enum { N = 61, K = 47, M = 53 };
	float *a = malloc(N * K * sizeof(*a)), *b = malloc(K * M * sizeof(*b)), *c = malloc(N * M * sizeof(*c));
	double s = 0;

	for (int i = 0; i < N * K; i++)
		a[i] = (float)(i % 13 - 6);
	for (int i = 0; i < K * M; i++)
		b[i] = (float)(i % 11 - 5);
#pragma omp target teams distribute map(to: a[0:N * K], b[0:K * M]) map(from: c[0:N * M])
	for (int i = 0; i < N; i++) {
#pragma omp parallel for
		for (int j = 0; j < M; j++) {
			float x = 0;

#pragma omp simd reduction(+: x)
			for (int k = 0; k < K; k++)
				x += a[i * K + k] * b[k * M + j];
			c[i * M + j] = x;
		}
	}
	for (int i = 0; i < N * M; i++)
		s += c[i] * (i % 17);
	printf("matmul %.17g %g %g\n", s, c[0], c[N * M - 1]);
	free(a);
	free(b);
	free(c);
}

static void histogram(void)
{
	enum { N = 50000, BINS = 37 };
	unsigned h[BINS] = { 0 }, last = 0, seen = 0;
	uint8_t *v = malloc(N);
	double d = 0;

	for (int i = 0; i < N; i++)
		v[i] = (uint8_t)((unsigned)i * 2654435761u >> 24);
#pragma omp target teams distribute parallel for map(to: v[0:N]) map(tofrom: h, last, seen, d)
	for (int i = 0; i < N; i++) {
#pragma omp atomic
		h[v[i] % BINS]++;
#pragma omp atomic
		last |= (unsigned)i;
#pragma omp atomic
		d += 0.5;
		unsigned mine;
#pragma omp atomic capture
		mine = seen++;
		if (mine >= N)
			h[0] = 0;
	}
	printf("histogram %u %u %g", last, seen, d);
	for (int i = 0; i < BINS; i++)
		printf(" %u", h[i]);
	putchar('\n');
	free(v);
}

static void reductions(void)
{
	enum { N = 20011 };
	static int v[N];
	double sum = 0, most = -1e300, least = 1e300;
	float prod = 1;
	long long sums = 0;
	unsigned x = 0, o = 0, n = ~0u;
	int all = 1, any = 0, low = 1 << 30, high = -(1 << 30);
	double part[5] = { 0 };
	double _Complex z = 0;

	for (int i = 0; i < N; i++)
		v[i] = (int)((unsigned)i * 1103515245u >> 12) % 100003;
#pragma omp target teams distribute parallel for map(to: v) reduction(+: sum, sums) reduction(max: most, high) reduction(min: least, low)
	for (int i = 0; i < N; i++) {
		sum += v[i] * 0.25;
		sums += (long long)v[i] * v[i];
		most = fmax(most, v[i] * 0.5);
		least = v[i] * 0.5 < least ? v[i] * 0.5 : least;
		high = v[i] > high ? v[i] : high;
		low = v[i] < low ? v[i] : low;
	}
#pragma omp target teams distribute parallel for map(to: v) reduction(*: prod) reduction(^: x) reduction(|: o) reduction(&: n) reduction(&&: all) reduction(||: any)
	for (int i = 0; i < N; i++) {
		prod *= i % 1000 ? 1.f : 2.f;
		x ^= (unsigned)v[i];
		o |= (unsigned)v[i] & 0xff0;
		n &= (unsigned)v[i] | 0xf0f;
		all = all && v[i] >= 0;
		any = any || v[i] == 7;
	}
#pragma omp target teams distribute parallel for map(to: v) reduction(+: part[:5])
	for (int i = 0; i < N; i++)
		part[i % 5] += v[i];
#pragma omp target teams distribute parallel for map(to: v) reduction(+: z)
	for (int i = 0; i < N; i++)
		z += v[i] - I * i;
	printf("reductions %.17g %lld %g %g %d %d %g %x %x %x %d %d\n", sum, sums, most, least, high, low, prod, x, o, n, all, any);
	printf("arrays %.17g %.17g %.17g %.17g %.17g complex %.17g %.17g\n", part[0], part[1], part[2], part[3], part[4], creal(z), cimag(z));
}

#pragma omp declare target
int table[64];
int counter;
static int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
static int twice(int v)
{
	return 2 * v;
}
static int square(int v)
{
	return v * v;
}
#pragma omp end declare target

static void declared(void)
{
	int f = 0, s = 0, p = 0;

#pragma omp target map(from: f)
	f = fib(17);
	for (int i = 0; i < 64; i++)
		table[i] = i ^ 5;
#pragma omp target update to(table)
#pragma omp target teams distribute parallel for reduction(+: s)
	for (int i = 0; i < 64; i++) {
		s += table[i] * i;
#pragma omp atomic
		counter += 1;
	}
#pragma omp target map(tofrom: p)
	for (int i = 0; i < 10; i++) {
		int (*fn)(int) = i & 1 ? twice : square;

		p += fn(i);
	}
#pragma omp target update from(counter)
	printf("declared %d %d %d %d\n", f, s, p, counter);
}

static void maths(void)
{
	enum { N = 4000 };
	static double y[12][N], in[N];
	double worst = 0;

	for (int i = 0; i < N; i++)
		in[i] = (i - N / 2) * 0.0137 + 0.001;
#pragma omp target teams distribute parallel for map(to: in) map(from: y)
	for (int i = 0; i < N; i++) {
		double x = in[i];

		y[0][i] = sin(x);
		y[1][i] = cos(x);
		y[2][i] = exp(x * 0.3);
		y[3][i] = log(fabs(x));
		y[4][i] = pow(fabs(x), 1.37);
		y[5][i] = sqrt(fabs(x));
		y[6][i] = atan2(x, 2.5);
		y[7][i] = tanh(x);
		y[8][i] = cbrt(x);
		y[9][i] = erf(x * 0.1);
		y[10][i] = floor(x) + fmod(x, 1.75);
		y[11][i] = hypot(x, 3);
	}
	for (int i = 0; i < N; i++) {
		double x = in[i];
		double want[12] = { sin(x), cos(x), exp(x * 0.3), log(fabs(x)), pow(fabs(x), 1.37), sqrt(fabs(x)), atan2(x, 2.5), tanh(x),
				    cbrt(x), erf(x * 0.1), floor(x) + fmod(x, 1.75), hypot(x, 3) };

		for (int k = 0; k < 12; k++) {
			double e = fabs(y[k][i] - want[k]) / (fabs(want[k]) + 1e-300) / 2.2204460492503131e-16;

			if (e > worst || e != e)
				worst = e != e ? 1e9 : e;
		}
	}
	printf("maths %s\n", worst < 8 ? "within 8 units of the last place" : "wrong");
	if (worst >= 8)
		printf("maths: %g\n", worst);
}

static void nested(void)
{
	enum { N = 24 };
	int a[N][N], most = 0, single = 0, ordered = 0;
	long sum = 0;

	memset(a, 0, sizeof(a));
#pragma omp target teams distribute num_teams(6) thread_limit(64) map(tofrom: a, most, single)
	for (int i = 0; i < N; i++) {
		int row[N];

		/* as many as there are: with fewer, LLVM 19 has its barriers wait for the others too */
#pragma omp parallel
		{
#pragma omp for
			for (int j = 0; j < N; j++)
				row[j] = i * j;
#pragma omp single
			{
#pragma omp atomic
				single += i;
			}
#pragma omp barrier
#pragma omp for
			for (int j = 0; j < N; j++)
				a[i][j] = row[N - 1 - j] + row[j];
#pragma omp master
			{
#pragma omp atomic
				most += omp_get_thread_num() + 1;
			}
		}
	}
#ifndef LLVM_GAPS
#pragma omp target map(tofrom: ordered)
#pragma omp parallel for ordered
	for (int i = 0; i < 40; i++) {
#pragma omp ordered
		ordered = ordered * 3 % 1000 + i;
	}
#endif
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			sum += a[i][j] * (i + 1) + j;
	printf("nested %ld %d %d %d\n", sum, most, single, ordered);
}

static void criticals(void)
{
	int list[200], n = 0, sections = 0, tasks = 0;
	long sum = 0;

#pragma omp target map(tofrom: n, sections, tasks) map(from: list)
	{
#pragma omp parallel for num_threads(64)
		for (int i = 0; i < 200; i++) {
#ifndef LLVM_GAPS
#pragma omp critical
			list[n++] = i;
#else
			int k;
#pragma omp atomic capture
			k = n++;
			list[k] = i;
#endif
		}
#pragma omp parallel sections
		{
#pragma omp section
			{
#pragma omp atomic
				sections += 1;
			}
#pragma omp section
			{
#pragma omp atomic
				sections += 10;
			}
#pragma omp section
			{
#pragma omp atomic
				sections += 100;
			}
		}
#pragma omp parallel
#pragma omp single
		for (int i = 0; i < 20; i++) {
#pragma omp task firstprivate(i) shared(tasks)
			{
#pragma omp atomic
				tasks += i;
			}
		}
	}
	for (int i = 0; i < 200; i++)
		sum += list[i];
	printf("criticals %d %ld %d %d\n", n, sum, sections, tasks);
}

struct node {
	struct node *next;
	int v;
};

static void heap(void)
{
	long sum = 0;
	int bad = 0;

#pragma omp target map(tofrom: sum)
	{
		struct node *list = NULL, *n;

		for (int i = 0; i < 100; i++) {
			n = malloc(sizeof(*n));
			n->next = list;
			n->v = i;
			list = n;
		}
		for (; list; list = n) {
			n = list->next;
			sum += list->v;
			free(list);
		}
	}
#pragma omp target teams distribute parallel for map(tofrom: bad) thread_limit(32) num_teams(4)
	for (int i = 0; i < 128; i++) {
		int *p = malloc(64 * sizeof(*p)), s = 0;

		for (int k = 0; k < 64; k++)
			p[k] = i * k;
		for (int k = 0; k < 64; k++)
			s += p[k];
		if (s != i * 2016) {
#pragma omp atomic
			bad++;
		}
		free(p);
	}
	printf("heap %ld %d\n", sum, bad);
}

static void async(void)
{
	enum { N = 3000 };
	int *a = malloc(N * sizeof(*a)), *b = malloc(N * sizeof(*b)), *c = malloc(N * sizeof(*c));
	long s = 0;

	for (int i = 0; i < N; i++)
		a[i] = i;
#pragma omp parallel
#pragma omp single
	{
#pragma omp target enter data map(to: a[0:N]) map(alloc: b[0:N], c[0:N]) nowait depend(out: a[0])
#pragma omp target teams distribute parallel for nowait depend(in: a[0]) depend(out: b[0])
		for (int i = 0; i < N; i++)
			b[i] = a[i] + 1;
#pragma omp target teams distribute parallel for nowait depend(in: a[0]) depend(out: c[0])
		for (int i = 0; i < N; i++)
			c[i] = 2 * a[i];
#pragma omp target teams distribute parallel for nowait depend(in: b[0]) depend(inout: c[0])
		for (int i = 0; i < N; i++)
			c[i] += b[i];
#pragma omp target exit data map(from: c[0:N]) map(release: a[0:N], b[0:N]) nowait depend(in: c[0])
#pragma omp taskwait
	}
	for (int i = 0; i < N; i++)
		s += c[i] == 3 * i + 1;
	printf("async %ld\n", s);
	free(a);
	free(b);
	free(c);
}

static void pointers(void)
{
	enum { N = 1000 };
	int dev = omp_get_default_device(), host = omp_get_initial_device(), *d = omp_target_alloc(N * sizeof(*d), dev), *h = malloc(N * sizeof(*h));
	int same = 0, is = 0;

	if (!d) {
		printf("pointers: no memory\n");
		return;
	}
	for (int i = 0; i < N; i++)
		h[i] = i;
	omp_target_memcpy(d, h, N * sizeof(*d), 0, 0, dev, host);
#pragma omp target teams distribute parallel for is_device_ptr(d)
	for (int i = 0; i < N; i++)
		d[i] = d[i] * 5;
	omp_target_memcpy(h, d, (N - 10) * sizeof(*d), 10 * sizeof(*d), 0, host, dev);
	for (int i = 0; i < N - 10; i++)
		same += h[i + 10] == 5 * i;
	omp_target_free(d, dev);
#pragma omp target data map(tofrom: h[0:N]) use_device_ptr(h)
	{
#pragma omp target is_device_ptr(h) map(tofrom: is)
		is = h[20];
	}
	printf("pointers %d %d\n", same, is);
	free(h);
}

struct body {
	float x[3];
	double m;
	char name[5];
	short k;
};

static void structs(void)
{
	enum { N = 100 };
	static struct body b[N], from[N];
	double s = 0;
	int16_t small = 0;
	int64_t big = 0;

	for (int i = 0; i < N; i++)
		b[i] = from[i] = (struct body){ { (float)i, 1, 2 }, i * 0.5, "abcd", (short)(i - 50) };
#pragma omp target teams distribute parallel for map(tofrom: b) map(to: from) reduction(+: s)
	for (int i = 0; i < N; i++) {
		struct body t = from[N - 1 - i];

		s += t.m + t.k;
		b[i].x[1] = t.name[i % 4] + sqrtf(b[i].x[0]);
		b[i].k = (short)(b[i].k / 3);
	}
#pragma omp target parallel for map(tofrom: small, big) reduction(+: small, big)
	for (int i = 0; i < 500; i++) {
		small = (int16_t)(small + i % 7);
		big += (int64_t)i << 33;
	}
	printf("structs %g %.9g %d %d %lld\n", s, b[17].x[1] + b[81].x[1], b[3].k, small, (long long)big);
}

static void says(void)
{
	fflush(stdout);
#pragma omp target
	printf("a word from there: %d %s %.3f\n", 42, "text", 2.5);
}


#define CASE(name) \
	if (argc < 2 || !strcmp(argv[1], #name)) \
		name()

int main(int argc, char **argv)
{
	int host = 1;

	CASE(stencil);
	CASE(matmul);
	CASE(histogram);
	CASE(reductions);
	CASE(declared);
	CASE(maths);
	CASE(nested);
	CASE(criticals);
	CASE(heap);
	CASE(async);
	CASE(pointers);
	CASE(structs);
	CASE(says);
	fflush(stdout);
#pragma omp target map(from: host)
	host = omp_is_initial_device();
	fprintf(stderr, "ran on the %s\n", host ? "host" : "device");
	return 0;
}
