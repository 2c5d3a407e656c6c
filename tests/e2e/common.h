/* SPDX-License-Identifier: MIT */
/*
 * What every end-to-end program shares: its one line of result, checks against a reference, and the
 * PTX built into it. Used by the driver-API programs (NAME.c) and, through rt.h, by the <<<>>> ones.
 *
 * Exit status: 0 and "NAME: ok (...)", 1 and the first mismatches, 77 and "NAME: skip (...)".
 */
#ifndef E2E_COMMON_H
#define E2E_COMMON_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define E2E_SHOWN 8		/* mismatches printed before the rest is only counted */

static const char *e2e_name = "?";
static int e2e_failures;

/* However a program ends, what has failed shows in its status. */
__attribute__((destructor)) static void e2e_status(void)
{
	fflush(stdout);
	if (e2e_failures)
		_exit(1);
}

static inline void e2e_begin(const char *name)
{
	e2e_name = name;
	setvbuf(stdout, NULL, _IOLBF, 0);
}

__attribute__((format(printf, 1, 2), unused))
static void e2e_fail(const char *fmt, ...)
{
	va_list ap;

	/* Programs with threads call this too: the count only has to be not zero. */
	if (__atomic_fetch_add(&e2e_failures, 1, __ATOMIC_RELAXED) >= E2E_SHOWN)
		return;
	flockfile(stdout);
	printf("%s: FAIL ", e2e_name);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	funlockfile(stdout);
}

__attribute__((format(printf, 1, 2), unused))
static int e2e_end(const char *fmt, ...)
{
	va_list ap;

	if (e2e_failures) {
		printf("%s: FAIL (%d mismatches)\n", e2e_name, e2e_failures);
		return 1;
	}
	printf("%s: ok (", e2e_name);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf(")\n");
	return 0;
}

__attribute__((format(printf, 1, 2), unused, noreturn))
static void e2e_skip(const char *fmt, ...)
{
	va_list ap;

	printf("%s: skip (", e2e_name);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf(")\n");
	exit(77);
}

#define EXPECT(cond) \
	do { \
		if (!(cond)) \
			e2e_fail("%s:%d: not so: %s", __FILE__, __LINE__, #cond); \
	} while (0)

#define EXPECT_EQ(got, want) \
	do { \
		long long got_ = (long long)(got), want_ = (long long)(want); \
		if (got_ != want_) \
			e2e_fail("%s:%d: %s is %lld, want %lld", __FILE__, __LINE__, #got, got_, want_); \
	} while (0)

/* Element-wise comparisons; what names the array in the message. */
static inline void e2e_same_u32(const char *what, const uint32_t *got, const uint32_t *want, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (got[i] != want[i])
			e2e_fail("%s[%zu] = %u, want %u", what, i, got[i], want[i]);
}

static inline void e2e_same_f32(const char *what, const float *got, const float *want, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(got[i] == want[i]))
			e2e_fail("%s[%zu] = %.9g, want %.9g", what, i, (double)got[i], (double)want[i]);
}

static inline void e2e_same_bytes(const char *what, const void *got, const void *want, size_t n)
{
	const unsigned char *g = (const unsigned char *)got, *w = (const unsigned char *)want;

	for (size_t i = 0; i < n; i++)
		if (g[i] != w[i])
			e2e_fail("%s byte %zu = %u, want %u", what, i, g[i], w[i]);
}

/* xorshift32: the inputs are the same in every run and on every libc. */
static inline uint32_t e2e_rand(uint32_t *state)
{
	uint32_t x = *state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return *state = x;
}

static inline double e2e_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void e2e_sleep_ms(unsigned ms)
{
	struct timespec t = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };

	nanosleep(&t, NULL);
}

static inline void *e2e_malloc(size_t bytes)
{
	void *p = calloc(1, bytes ? bytes : 1);

	if (!p) {
		printf("%s: FAIL out of host memory\n", e2e_name);
		exit(1);
	}
	return p;
}

/*
 * kernels/NAME.ptx as the string ptx_NAME. The assembler reads the file: no generated C, the same
 * for gcc, clang and musl-gcc. The path is relative to where the compiler runs (the repository's root)
 * unless the build says otherwise.
 */
#ifndef E2E_KERNELS
#define E2E_KERNELS "tests/e2e/kernels"
#endif
#define E2E_PTX(name) \
	__asm__(".pushsection .rodata\n" \
		".balign 16\n" \
		"ptx_" #name ": .incbin \"" E2E_KERNELS "/" #name ".ptx\"\n" \
		".byte 0\n" \
		".popsection\n"); \
	extern const char ptx_##name[] __attribute__((visibility("hidden")))

#endif
