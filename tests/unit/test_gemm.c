/* SPDX-License-Identifier: MIT */
/*
 * The inner loops of matrix products, every instruction set that this processor has: conversions against each other
 * (all halves, floats around every rounding border), packing of every shape near the panel sizes from memory that
 * ends at a page without access, and whole products against sums in double; with the speed of each.
 *
 * Sources: tests/unit/test_gemm.c tools/vgpu-stub/cpu/gemm_isa.c gemm_avx512.c
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "../../tools/vgpu-stub/cpu/gemm.h"

static unsigned failed, checks;
static uint32_t seed = 1;

#define CHECK(x, ...) \
	do { \
		checks++; \
		if (!(x) && failed++ < 10) { \
			printf("FAIL " __VA_ARGS__); \
			printf("\n"); \
		} \
	} while (0)

static uint32_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	return seed ^= seed << 5;
}

static uint32_t bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static float from_bits(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static double half(uint16_t h)
{
	int e = h >> 10 & 31, m = h & 0x3ff;
	double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);

	return h & 0x8000 ? -v : v;
}

/* Same value, or both no number. */
static int same(double a, double b)
{
	return (a == b && signbit(a) == signbit(b)) || (isnan(a) && isnan(b));
}

static void conversions(const struct gemm_isa *g)
{
	static uint16_t h[65536], back[65536];
	static float f[65536];

	for (unsigned i = 0; i < 65536; i++)
		h[i] = (uint16_t)i;
	g->load(f, h, 65536, VGPU_GEMM_F16);
	g->store(back, f, 65536, VGPU_GEMM_F16);
	for (unsigned i = 0; i < 65536; i++) {
		CHECK(same((double)f[i], half(h[i])), "%s: half %04x is %g", g->name, i, (double)f[i]);
		CHECK(isnan((double)f[i]) ? (back[i] & 0x7c00) == 0x7c00 && (back[i] & 0x3ff) : back[i] == i, "%s: half %04x became %04x",
		      g->name, i, back[i]);
	}
	/* the two neighbours of each border between halves, and the border: ties go to even */
	for (unsigned i = 0; i < 0x7c00; i++) {
		double mid = (half((uint16_t)i) + (i == 0x7bff ? 65536.0 : half((uint16_t)(i + 1)))) / 2;
		float three[3] = { from_bits(bits((float)mid) - 1), (float)mid, from_bits(bits((float)mid) + 1) };
		uint16_t got[3], want[3] = { (uint16_t)i, (uint16_t)(i + (i & 1)), (uint16_t)(i + 1) };

		g->store(got, three, 3, VGPU_GEMM_F16);
		CHECK(!memcmp(got, want, sizeof got), "%s: around %a: %04x %04x %04x", g->name, mid, got[0], got[1], got[2]);
	}
	g->load(f, h, 65536, VGPU_GEMM_BF16);
	g->store(back, f, 65536, VGPU_GEMM_BF16);
	for (unsigned i = 0; i < 65536; i++) {
		CHECK(isnan((double)f[i]) || bits(f[i]) == i << 16, "%s: bfloat %04x", g->name, i);
		CHECK(isnan((double)f[i]) ? (back[i] & 0x7fff) > 0x7f80 : back[i] == i, "%s: bfloat %04x became %04x", g->name, i, back[i]);
	}
}

/* Values with few bits: every type holds them. */
static void put(void *p, size_t i, uint32_t type, int v)
{
	float f = (float)v;
	uint16_t h[1];

	if (type == VGPU_GEMM_F32) {
		((float *)p)[i] = f;
		return;
	}
	gemm_isa_get()->store(h, &f, 1, type);
	((uint16_t *)p)[i] = h[0];
}

static void packing(const struct gemm_isa *g, uint32_t panel, char *end)
{
	static float dst[(GEMM_WIDE + 48) * GEMM_DEPTH];
	static int v[GEMM_WIDE * GEMM_DEPTH];

	for (unsigned round = 0; round < 300; round++) {
		uint32_t type = 1 + rnd() % 3, rows = 1 + rnd() % (round % 10 ? 70 : GEMM_WIDE), k = 1 + rnd() % (round % 7 ? 40 : GEMM_DEPTH);
		int along = rnd() & 1;
		uint64_t ld = (along ? rows : k) + rnd() % 5, elem = vgpu_gemm_bytes(type);
		uint64_t last = along ? (k - 1) * ld + rows : (rows - 1) * ld + k;
		char *src = end - last * elem;  /* what lies behind the last element has no access */

		for (uint32_t r = 0; r < rows; r++)
			for (uint32_t l = 0; l < k; l++) {
				v[r * k + l] = (int)(rnd() % 255) - 127;
				put(src, along ? r + l * ld : l + r * ld, type, v[r * k + l]);
			}
		memset(dst, 0xee, sizeof dst);
		g->pack(dst, panel, src, type, ld, rows, k, along);
		for (uint32_t r = 0; r < (rows + panel - 1) / panel * panel; r++)
			for (uint32_t l = 0; l < k; l++) {
				float got = dst[(size_t)(r / panel) * panel * k + l * panel + r % panel];

				CHECK(got == (r < rows ? (float)v[r * k + l] : 0), "%s: panel %u type %u %ux%u along %d: (%u, %u) = %g", g->name,
				      panel, type, rows, k, along, r, l, (double)got);
			}
		for (size_t i = (size_t)(rows + 2 * panel - 1) / panel * panel * k + 16 * k; i < sizeof dst / sizeof dst[0]; i += 97)
			CHECK(bits(dst[i]) == 0xeeeeeeee, "%s: wrote behind the spare panel", g->name);
	}
}

static void kernels(const struct gemm_isa *g)
{
	float *a = aligned_alloc(64, 64 * GEMM_DEPTH * 4), *b = aligned_alloc(64, 64 * GEMM_DEPTH * 4), s[64 * 16];
	uint32_t ld = g->mr + 3;
	struct timespec t0, t1;
	double ns;

	for (int i = 0; i < 64 * GEMM_DEPTH; i++) {
		a[i] = (float)((int)(rnd() % 65) - 32) / 16;
		b[i] = (float)((int)(rnd() % 65) - 32) / 16;
	}
	for (uint32_t k = 1; k <= GEMM_DEPTH; k += 1 + k / 3)
		for (int first = 0; first < 2; first++) {
			for (int i = 0; i < 64 * 16; i++)
				s[i] = first ? NAN : 5;
			g->kernel(k, a, b, s, ld, first);
			for (uint32_t j = 0; j < g->nr; j++)
				for (uint32_t i = 0; i < g->mr; i++) {
					double want = first ? 0 : 5;

					for (uint32_t l = 0; l < k; l++)
						want += (double)a[l * g->mr + i] * (double)b[l * g->nr + j];
					CHECK((double)s[j * ld + i] == want, "%s: k %u (%u, %u): %g, want %g", g->name, k, i, j, (double)s[j * ld + i], want);
				}
		}
	clock_gettime(CLOCK_MONOTONIC, &t0);
	for (int i = 0; i < 20000; i++)
		g->kernel(GEMM_DEPTH, a, b, s, ld, false);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	ns = (double)(t1.tv_sec - t0.tv_sec) * 1e9 + (double)(t1.tv_nsec - t0.tv_nsec);
	printf("%s: %.1f GFLOP/s in the kernel\n", g->name, 2.0 * 20000 * GEMM_DEPTH * g->mr * g->nr / ns);
	free(a);
	free(b);
}

/* Few columns: every count, rows that end at memory without access, both kinds of sums. */
static void few(const struct gemm_isa *g, char *end)
{
	static float b[GEMM_FEW * 700], sums[70 * GEMM_FEW];

	if (!g->dots)
		return;
	for (unsigned round = 0; round < 400; round++) {
		uint32_t type = 1 + rnd() % 3, rows = 1 + rnd() % 60, n = 1 + rnd() % GEMM_FEW, k = 1 + rnd() % (round % 5 ? 80 : 600);
		uint64_t lda = k + rnd() % 5, ldb = k + rnd() % 3, ld = rows + rnd() % 3;
		char *a = end - ((rows - 1) * lda + k) * vgpu_gemm_bytes(type);
		bool first = rnd() & 1;
		static int va[60 * 700];

		for (uint32_t i = 0; i < rows; i++)
			for (uint32_t l = 0; l < k; l++) {
				va[i * k + l] = (int)(rnd() % 31) - 15;
				put(a, i * lda + l, type, va[i * k + l]);
			}
		for (uint32_t i = 0; i < n * ldb; i++)
			b[i] = (float)((int)(rnd() % 31) - 15);
		for (unsigned i = 0; i < sizeof sums / sizeof sums[0]; i++)
			sums[i] = first ? NAN : (float)(i % 7);
		g->dots(a, type, lda, rows, b, (uint32_t)ldb, n, k, sums, (uint32_t)ld, first);
		for (uint32_t j = 0; j < n; j++)
			for (uint32_t i = 0; i < ld && i + j * ld < sizeof sums / sizeof sums[0]; i++) {
				double want = (double)((i + j * ld) % 7), got = (double)sums[i + j * ld];

				if (i >= rows) {        /* between the columns: untouched */
					CHECK(first ? isnan(got) : got == want, "%s: few: wrote at (%u, %u)", g->name, i, j);
					continue;
				}
				if (first)
					want = 0;
				for (uint32_t l = 0; l < k; l++)
					want += va[i * k + l] * (double)b[j * ldb + l];
				CHECK(got == want, "%s: few: type %u %ux%ux%u (%u, %u): %g, want %g", g->name, type, rows, n, k, i, j, got, want);
			}
	}
}

int main(void)
{
	const struct gemm_isa *g;
	size_t bytes = 1 << 20;
	char *p = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + bytes, 4096, PROT_NONE))
		return 1;
	for (unsigned i = 0; (g = gemm_isa_list(i)); i++) {
		conversions(g);
		packing(g, g->mr, p + bytes);
		packing(g, g->nr, p + bytes);
		few(g, p + bytes);
		kernels(g);
	}
	printf("test_gemm: %u checks, %u failed\n", checks, failed);
	return failed ? 1 : 0;
}
