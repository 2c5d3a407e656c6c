/* SPDX-License-Identifier: MIT */
/*
 * Unit test of the fatbin reader: containers built here (every compression, choice of arch,
 * truncations, hostile sizes) and fixtures that nvcc wrote.
 *
 * Build: tests/fatbin/fatbin_test.c tools/vgpu-stub/cpu/fatbin.c -llz4 -lzstd
 * Usage: fatbin_test [FIXTURE_DIR]      (default tests/fatbin); exit 0 or 1
 *
 * Every image is handed over in a malloc'ed block of exactly its size, so that AddressSanitizer
 * sees a read behind it.
 */
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "../../fw-protocol/vgpu_status.h"
#include "../../tools/vgpu-stub/cpu/fatbin.h"

static int failures, checks;

#define CHECK(cond, ...) do { \
	checks++; \
	if (!(cond)) { \
		failures++; \
		printf("%s:%d: %s: ", __FILE__, __LINE__, #cond); \
		printf(__VA_ARGS__); \
		printf("\n"); \
	} \
} while (0)

struct image {
	unsigned char b[65536];
	size_t n;
	size_t container;       /* offset of the container that is open */
};

static void put(struct image *im, size_t at, uint64_t v, unsigned bytes)
{
	memcpy(im->b + at, &v, bytes);
}

static void begin(struct image *im)
{
	im->container = im->n;
	memset(im->b + im->n, 0, 16);
	put(im, im->n, FATBIN_MAGIC, 4);
	put(im, im->n + 4, 1, 2);
	put(im, im->n + 6, 16, 2);
	im->n += 16;
}

/* Adds an entry and returns its offset. */
static size_t entry(struct image *im, unsigned kind, unsigned arch, uint64_t flags,
		    enum fatbin_compression c, const char *text)
{
	size_t at = im->n, n = strlen(text), packed = 0, stored = n;
	unsigned char *p = im->b + at + 64;

	memset(im->b + at, 0, 64);
	if (c == FATBIN_PLAIN) {
		memcpy(p, text, n);
	} else if (c == FATBIN_LZ4) {
		packed = stored = (size_t)LZ4_compress_default(text, (char *)p, (int)n, 4096);
		flags |= FATBIN_FLAG_LZ4;
	} else {
		packed = stored = ZSTD_compress(p, 4096, text, n, 19);
		flags |= FATBIN_FLAG_ZSTD;
	}
	while (stored % 8)
		p[stored++] = 0;
	put(im, at, kind, 2);
	put(im, at + 2, 0x101, 2);
	put(im, at + 4, 64, 4);
	put(im, at + 8, stored, 8);
	put(im, at + 16, packed, 4);
	put(im, at + 26, 8, 2);
	put(im, at + 24, 4, 2);
	put(im, at + 28, arch, 4);
	put(im, at + 40, flags | 0x11, 8);
	put(im, at + 56, c == FATBIN_PLAIN ? 0 : n, 8);
	im->n += 64 + stored;
	put(im, im->container + 8, im->n - im->container - 16, 8);
	return at;
}

static char log_text[512];

static uint32_t choose(const unsigned char *b, size_t n, unsigned major, unsigned minor,
		       char **text, size_t *text_bytes)
{
	unsigned char *exact = malloc(n ? n : 1);
	uint32_t st;

	memcpy(exact, b, n);
	memset(log_text, 'x', sizeof(log_text));
	st = fatbin_select(exact, n, major, minor, text, text_bytes, log_text, sizeof(log_text));
	CHECK(memchr(log_text, 0, sizeof(log_text)), "log is not terminated");
	CHECK((st == VGPU_ST_OK) == (*text != NULL), "status %u with text %p", st, (void *)*text);
	free(exact);
	return st;
}

static void expect(struct image *im, unsigned major, unsigned minor, const char *want, int line)
{
	char *text;
	size_t n;
	uint32_t st = choose(im->b, im->n, major, minor, &text, &n);

	CHECK(st == (want ? VGPU_ST_OK : VGPU_ST_NO_BINARY), "line %d: status %u: %s", line, st,
	      log_text);
	if (want && text)
		CHECK(n == strlen(want) && !strcmp(text, want), "line %d: got '%s'", line, text);
	free(text);
}
#define EXPECT(im, major, minor, want) expect(im, major, minor, want, __LINE__)

static const char t50[] = ".version 8.4\n.target sm_50\n.address_size 64\n// aaaaaaaaaaaaaaaaaaaa";
static const char t61[] = ".version 8.4\n.target sm_61\n.address_size 64\n// bbbbbbbbbbbbbbbbbbb";
static const char t75[] = ".version 8.4\n.target sm_75\n.address_size 64\n// ccccccccccccccccccccc";

static void test_choice(enum fatbin_compression c)
{
	struct image im = { .n = 0 };

	begin(&im);
	entry(&im, FATBIN_PTX, 50, 0, c, t50);
	entry(&im, FATBIN_ELF, 86, 0, FATBIN_PLAIN, "\177ELF....");
	entry(&im, FATBIN_PTX, 75, 0, c, t75);
	entry(&im, FATBIN_PTX, 61, 0, c, t61);
	EXPECT(&im, 6, 1, t61);
	EXPECT(&im, 6, 0, t50);
	EXPECT(&im, 5, 0, t50);
	EXPECT(&im, 7, 0, t61);
	EXPECT(&im, 7, 5, t75);
	EXPECT(&im, 12, 0, t75);
	EXPECT(&im, 3, 5, NULL);
	CHECK(strstr(log_text, "3.5") && strstr(log_text, "PTX: 50 75 61; ELF: 86"), "%s", log_text);
	EXPECT(&im, 0, 0, NULL);
	EXPECT(&im, 0xffffffffu, 0xffffffffu, NULL);

	/* garbage behind the container is not ours; a second container counts */
	memset(im.b + im.n, 0xee, 100);
	im.n += 100;
	EXPECT(&im, 6, 1, t61);
	im.n -= 100;
	begin(&im);
	entry(&im, FATBIN_PTX, 80, 0, c, "// eighty");
	EXPECT(&im, 8, 0, "// eighty");
	EXPECT(&im, 7, 5, t75);
}

static void test_specific(void)
{
	struct image im = { .n = 0 };

	begin(&im);
	entry(&im, FATBIN_PTX, 90, FATBIN_FLAG_SPECIFIC, FATBIN_PLAIN, "90a");
	entry(&im, FATBIN_PTX, 90, 0, FATBIN_PLAIN, "90");
	entry(&im, FATBIN_PTX, 100, FATBIN_FLAG_FAMILY, FATBIN_PLAIN, "100f");
	entry(&im, FATBIN_NVVM, 101, 0, FATBIN_PLAIN, "not ptx");
	EXPECT(&im, 9, 0, "90a");
	EXPECT(&im, 9, 1, "90");
	EXPECT(&im, 10, 0, "100f");
	EXPECT(&im, 10, 3, "100f");
	EXPECT(&im, 12, 0, "90");
	EXPECT(&im, 8, 9, NULL);
	CHECK(strstr(log_text, "90a 90 100f") && strstr(log_text, "ELF: none"), "%s", log_text);

	/* nothing that any device of ours runs: the way out is the builder's */
	im.n = 0;
	begin(&im);
	entry(&im, FATBIN_ELF, 80, 0, FATBIN_PLAIN, "\177ELF....");
	EXPECT(&im, 8, 0, NULL);
	CHECK(strstr(log_text, "PTX: none; ELF: 80; machine code") && strstr(log_text, "arch=compute_80,code=compute_80"), "%s", log_text);

	/* a list too long for the log is cut, not overrun */
	im.n = 0;
	begin(&im);
	for (int i = 0; i < 200; i++)
		entry(&im, FATBIN_PTX, 4000000000u + (unsigned)i, 0, FATBIN_PLAIN, "x");
	EXPECT(&im, 8, 0, NULL);
	CHECK(strstr(log_text, "..."), "%s", log_text);
}

static int count_entry(void *owner, const struct fatbin_entry *e)
{
	(void)e;
	return ++*(int *)owner == 2;
}

static void test_list(void)
{
	struct image im = { .n = 0 };
	int n = 0;
	uint32_t st;

	begin(&im);
	for (int i = 0; i < 5; i++)
		entry(&im, FATBIN_PTX, 50, 0, FATBIN_PLAIN, "x");
	st = fatbin_list(im.b, im.n, count_entry, &n, NULL, 0);
	CHECK(st == VGPU_ST_OK && n == 2, "status %u after %d entries", st, n);
	st = fatbin_list(im.b, 0, count_entry, &n, NULL, 0);
	CHECK(st == VGPU_ST_INVALID_IMAGE, "status %u", st);
	CHECK(!fatbin_probe("abc", 3) && !fatbin_probe(NULL, 0) && fatbin_probe(im.b, im.n), " ");
}

/* Every prefix must be turned away without a read behind it (unless it holds all we need). */
static void test_truncation(void)
{
	struct image im = { .n = 0 };
	char *text;
	size_t n;

	begin(&im);
	entry(&im, FATBIN_PTX, 50, 0, FATBIN_LZ4, t50);
	entry(&im, FATBIN_PTX, 61, 0, FATBIN_ZSTD, t61);
	for (size_t cut = 0; cut < im.n; cut++) {
		uint32_t st = choose(im.b, cut, 6, 1, &text, &n);

		CHECK(st == VGPU_ST_INVALID_IMAGE, "cut to %zu: status %u", cut, st);
		free(text);
	}
}

static void hostile(size_t at, uint64_t v, unsigned bytes, int line)
{
	struct image im = { .n = 0 };
	char *text;
	size_t n;
	uint32_t st;

	begin(&im);
	entry(&im, FATBIN_PTX, 61, 0, FATBIN_ZSTD, t61);
	put(&im, at, v, bytes);
	st = choose(im.b, im.n, 6, 1, &text, &n);
	CHECK(st == VGPU_ST_INVALID_IMAGE, "line %d: status %u", line, st);
	CHECK(st != VGPU_ST_INVALID_IMAGE || log_text[0] != 0, "line %d: no reason", line);
	free(text);
}
#define HOSTILE(at, v, bytes) hostile(at, v, bytes, __LINE__)

static void test_hostile(void)
{
	static const uint64_t sizes[] = { 1, 8, 63, 0x7fffffff, 0x80000000, 0xffffffff,
		0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffffff0, 0xffffffffffffffff,
		0xffffffffffffffc0 };

	HOSTILE(0, 0x466243B1, 4);      /* the wrapper is not a container */
	HOSTILE(4, 2, 2);
	HOSTILE(6, 15, 2);
	HOSTILE(6, 0xffff, 2);
	HOSTILE(6, 0, 2);
	HOSTILE(16 + 4, 0, 4);
	HOSTILE(16 + 4, 63, 4);
	HOSTILE(16 + 16, 0, 4);
	HOSTILE(16 + 40, 0xa011, 8);    /* both compressions */
	HOSTILE(16 + 40, 0x2011, 8);    /* a zstd frame said to be LZ4 */
	HOSTILE(16 + 56, 0, 8);
	HOSTILE(16 + 56, sizeof(t61), 8);
	HOSTILE(16 + 56, sizeof(t61) - 2, 8);
	HOSTILE(16 + 56, FATBIN_MAX_TEXT + 1, 8);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		HOSTILE(8, sizes[i], 8);                /* container */
		HOSTILE(16 + 8, sizes[i], 8);           /* payload */
		HOSTILE(16 + 56, sizes[i], 8);          /* text */
		if (sizes[i] >> 31)
			HOSTILE(16 + 4, sizes[i], 4);   /* entry header */
		if ((uint32_t)sizes[i] > 4096)
			HOSTILE(16 + 16, sizes[i], 4);  /* packed */
	}
}

/* Bit flips: any answer, no crash, no over-read. Deterministic. */
static void test_flips(void)
{
	struct image im = { .n = 0 };
	uint64_t x = 88172645463325252u;
	char *text;
	size_t n;

	begin(&im);
	entry(&im, FATBIN_PTX, 50, 0, FATBIN_LZ4, t50);
	entry(&im, FATBIN_PTX, 61, 0, FATBIN_ZSTD, t61);
	entry(&im, FATBIN_PTX, 75, 0, FATBIN_PLAIN, t75);
	for (int i = 0; i < 20000; i++) {
		struct image m = im;

		for (int k = 0; k <= i % 3; k++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			m.b[(x >> 8) % m.n] ^= (unsigned char)(1u << (x & 7));
		}
		/* huge but legal text sizes are test_hostile's; here they cost time only */
		choose(m.b, m.n, 5 + i % 3, i % 2, &text, &n);
		free(text);
	}
}

static void test_fixture(const char *dir, const char *name, unsigned major, unsigned minor,
			 const char *target)
{
	char path[4096];
	unsigned char *b = malloc(65536);
	char *text = NULL;
	size_t n, text_bytes;
	uint32_t st;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	CHECK(f != NULL, "%s", path);
	if (f) {
		n = fread(b, 1, 65536, f);
		fclose(f);
		st = choose(b, n, major, minor, &text, &text_bytes);
		CHECK(st == (target ? VGPU_ST_OK : VGPU_ST_NO_BINARY), "%s: status %u: %s", path,
		      st, log_text);
		if (target && text)
			CHECK(strstr(text, target) && strstr(text, ".entry scale("),
			      "%s: no %s in\n%s", path, target, text);
		free(text);
	}
	free(b);
}

int main(int argc, char **argv)
{
	const char *dir = argc > 1 ? argv[1] : "tests/fatbin";
	static const char *const names[] = { "plain.fatbin", "lz4.fatbin", "zstd.fatbin" };

	test_choice(FATBIN_PLAIN);
	test_choice(FATBIN_LZ4);
	test_choice(FATBIN_ZSTD);
	test_specific();
	test_list();
	test_truncation();
	test_hostile();
	test_flips();
	for (int i = 0; i < 3; i++) {
		test_fixture(dir, names[i], 7, 5, ".target sm_75");
		test_fixture(dir, names[i], 8, 0, ".target sm_80");
		test_fixture(dir, names[i], 8, 9, ".target sm_80");
		test_fixture(dir, names[i], 6, 1, NULL);
	}
	test_fixture(dir, "specific.fatbin", 9, 0, ".target sm_90a");
	test_fixture(dir, "specific.fatbin", 12, 0, ".target sm_90");
	test_fixture(dir, "specific.fatbin", 10, 3, ".target sm_100f");
	printf("fatbin: %d checks, %d failed\n", checks, failures);
	return failures != 0;
}
