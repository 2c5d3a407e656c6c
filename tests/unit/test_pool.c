/* SPDX-License-Identifier: MIT */
/*
 * The DMA pool: sizes, seals, page kinds, and an IOVA layout in which nothing overlaps. As root,
 * huge pages are reserved for the test and given back; else that part is skipped with its reason.
 *
 * Sources: tests/unit/test_pool.c agent/pool.c agent/room.c agent/log.c      Flags: -D_GNU_SOURCE
 */
#include "../../agent/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../agent/log.h"
#include "huge_alone.h"

#define NR "/proc/sys/vm/nr_hugepages"
#define MIB (1ull << 20)

static unsigned failed, checks;

#define CHECK(x) check(!!(x), #x, __LINE__)

static int check(int ok, const char *what, int line)
{
	checks++;
	if (!ok) {
		failed++;
		printf("FAIL line %d: %s\n", line, what);
	}
	return ok;
}

static void test_one(uint64_t ask, uint64_t get)
{
	struct pool_mem m;
	struct stat st;
	uint8_t *a, *b;

	if (!CHECK(pool_alloc(&m, ask, "test") == 0))
		return;
	CHECK(m.bytes == get && fstat(m.fd, &st) == 0 && (uint64_t)st.st_size == get);
	/* sealed against both, and against more seals: nobody's SIGBUS by truncation */
	CHECK(ftruncate(m.fd, 0) < 0 && errno == EPERM);
	CHECK(ftruncate(m.fd, (off_t)get * 2) < 0 && errno == EPERM);
	CHECK(fcntl(m.fd, F_ADD_SEALS, F_SEAL_WRITE) < 0 && errno == EPERM);
	CHECK(fcntl(m.fd, F_GETFD) & FD_CLOEXEC);
	a = pool_map(&m, NULL);
	b = pool_map(&m, NULL);
	if (CHECK(a && b && a != b)) {
		CHECK(((uintptr_t)a & (POOL_HUGE - 1)) == 0 && ((uintptr_t)b & (POOL_HUGE - 1)) == 0);
		CHECK(a[0] == 0 && a[get - 1] == 0);
		a[get - 1] = 42;
		CHECK(b[get - 1] == 42);
	}
	pool_unmap(&m, a);
	pool_unmap(&m, b);
	CHECK(pool_commit(&m, 0, get) == 0);
	pool_free(&m);
	CHECK(m.fd == -1);
	pool_free(&m);          /* twice is harmless */
}

static long number(const char *path)
{
	FILE *f = fopen(path, "r");
	long n = -1;

	if (f && fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

static int set_number(const char *path, long n)
{
	FILE *f = fopen(path, "w");
	int ok = f && fprintf(f, "%ld\n", n) > 0;

	return (!f || fclose(f) == 0) && ok;
}

static void test_hugetlb(void)
{
	long before = number(NR), now;
	struct pool_mem m, n;

	if (geteuid() != 0 || before < 0) {
		printf("SKIP huge pages: %s\n", before < 0 ? "no " NR : "not root, cannot reserve any");
		return;
	}
	/* other tests' agents take some, too */
	if (!set_number(NR, before + 32) || (now = number(NR)) < before + 32) {
		printf("SKIP huge pages: the kernel could not reserve 32 (memory is fragmented or " NR " is read-only)\n");
		set_number(NR, before);
		return;
	}
	pool_init(1, 0);
	CHECK(pool_alloc(&m, 4 * MIB, "huge") == 0 && m.hugetlb && m.page_bytes == POOL_HUGE);
	CHECK(!strcmp(pool_kind(), "2 MiB pages (hugetlb)"));
	CHECK(pool_commit(&m, 0, 4 * MIB) == 0);
	CHECK(ftruncate(m.fd, 0) < 0);
	uint8_t *p = pool_map(&m, NULL);
	CHECK(p && ((p[0] = 1), p[2 * MIB] == 0));
	pool_unmap(&m, p);
	/* more than there are: the next kind, not a failure and not a SIGBUS later */
	CHECK(pool_alloc(&n, (uint64_t)(now + 8) * POOL_HUGE, "more") == 0 && !n.hugetlb);
	pool_free(&n);
	pool_free(&m);
	set_number(NR, before);
	CHECK(number(NR) == before);
}

static void test_iova(void)
{
	static const uint64_t quotas[] = { 4 * MIB, 1ull << 30, 4ull << 30, (4ull << 30) + 1, 64ull << 30, 256ull << 30 };

	CHECK(pool_queue_iova(0).v == POOL_IOVA_QUEUES && pool_queue_iova(254).v + POOL_HUGE <= POOL_IOVA_WINDOWS);
	CHECK(POOL_IOVA_ADMIN + 0x10000 <= POOL_IOVA_QUEUES);
	for (unsigned i = 0; i < sizeof(quotas) / sizeof(quotas[0]); i++) {
		uint64_t q = quotas[i], step = pool_window_step(q);

		CHECK(step >= q && !(step & (step - 1)));
		CHECK(pool_window_iova(0, q).v == POOL_IOVA_WINDOWS);
		for (unsigned s = 1; s < 256; s++)
			CHECK(pool_window_iova(s, q).v >= pool_window_iova(s - 1, q).v + q);
		CHECK(pool_window_iova(255, q).v + q < 1ull << 47);
	}
	/* what pool.h promises about small guests */
	CHECK(pool_window_iova(110, 4ull << 30).v + (4ull << 30) <= 1ull << 39);
}

int main(void)
{
	struct pool_mem m;
	int alone;

	log_level = LOG_ERROR;
	pool_init(0, 0);
	test_one(1, 2 * MIB);
	test_one(2 * MIB, 2 * MIB);
	test_one(4 * MIB + 1, 6 * MIB);
	test_one(40 * MIB, 40 * MIB);           /* above POOL_NOW */
	CHECK(pool_alloc(&m, 0, "none") < 0 && m.fd == -1);
	CHECK(pool_alloc(&m, ~0ull, "all") < 0 && m.fd == -1);
	CHECK(pool_alloc_small(&m, 5000, "small") == 0 && m.bytes == 8192 && m.page_bytes == 4096);
	CHECK(ftruncate(m.fd, 0) < 0);
	pool_free(&m);
	test_iova();
	alone = huge_alone();
	test_hugetlb();
	huge_shared(alone);
	printf("test_pool: %u checks, %u failed\n", checks, failed);
	return failed ? 1 : 0;
}
