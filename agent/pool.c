/* SPDX-License-Identifier: MIT */
/*
 * See pool.h. Best first: hugetlb (tried by mmap: creating the memfd alone succeeds without a
 * single page in the pool), a memfd whose pages MADV_COLLAPSE makes huge, 4 KiB pages.
 *
 * Seals do not stop hole punching: whoever holds the fd may take pages away. That costs a SIGBUS
 * in whoever touches the hole next; the agent survives it (sigbus.c).
 */
#include "pool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "log.h"
#include "room.h"

#define TMPFS_MAGIC 0x01021994           /* statfs(2); of memfds as well */
/* musl 1.2.3 and bookworm's kernel headers lack some of these. */
#define POOL_MFD_CLOEXEC 0x1u
#define POOL_MFD_ALLOW_SEALING 0x2u
#define POOL_MFD_HUGETLB 0x4u
#define POOL_MFD_HUGE_2MB (21u << 26)
#define POOL_MADV_COLLAPSE 25
#define POOL_ADD_SEALS 1033
#define POOL_SEALS (0x1 | 0x2 | 0x4)    /* F_SEAL_SEAL, SHRINK, GROW */
#define POOL_GET_SEALS 1034
#define POOL_WRITE_SEALS (0x8 | 0x10)   /* F_SEAL_WRITE, FUTURE_WRITE */
#define POOL_PUNCH (0x1 | 0x2)          /* FALLOC_FL_KEEP_SIZE, PUNCH_HOLE */

static int use_hugetlb = 1, only_hugetlb;
static int said_small, said_collapse;
static const char *kind = "4 KiB pages";

void pool_init(int hugetlb, int only)
{
	use_hugetlb = hugetlb;
	only_hugetlb = only;
}

const char *pool_kind(void)
{
	return kind;
}

static int memfd(const char *name, unsigned flags)
{
	return (int)syscall(SYS_memfd_create, name, flags | POOL_MFD_CLOEXEC | POOL_MFD_ALLOW_SEALING);
}

static int seal(int fd)
{
	return fcntl(fd, POOL_ADD_SEALS, POOL_SEALS) < 0 ? -errno : 0;
}

/* 2 MiB-aligned address space: huge pages need it, and so does MADV_COLLAPSE. */
static void *reserve(uint64_t bytes)
{
	uint8_t *p = mmap(NULL, bytes + POOL_HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t *a;

	if (p == MAP_FAILED)
		return NULL;
	a = (uint8_t *)(((uintptr_t)p + POOL_HUGE - 1) & ~(uintptr_t)(POOL_HUGE - 1));
	if (a > p)
		munmap(p, (size_t)(a - p));
	munmap(a + bytes, (size_t)(p + POOL_HUGE - a));
	return a;
}

static int alloc_hugetlb(struct pool_mem *m, const char *name)
{
	void *p;
	int fd = memfd(name, POOL_MFD_HUGETLB | POOL_MFD_HUGE_2MB);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)m->bytes) < 0)
		goto fail;
	/* The mapping takes the reservation; it stays with the file when the mapping goes. */
	p = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		goto fail;
	munmap(p, m->bytes);
	if (seal(fd) < 0)
		goto fail;
	m->fd = fd;
	m->page_bytes = POOL_HUGE;
	m->hugetlb = 1;
	kind = "2 MiB pages (hugetlb)";
	return 0;
fail:
	close(fd);
	return -ENOMEM;
}

static void say_small(void)
{
	if (said_small)
		return;
	said_small = 1;
	log_warn("no huge pages: shared memory uses 4 KiB pages, calls and copies are slower; fix: sysctl vm.nr_hugepages=128");
}

/*
 * Memory for the file's [offset, offset + bytes), which is mapped at p, or not (NULL). 1: all of it in huge pages, 0: it is there, or -errno.
 *
 * A huge page is made of one small page and 511 holes, which takes a hundredth of the time that it takes of pages that are all there: those would be copied.
 * Nothing is read or written by us, since it may be the client's already, so a hole that he punches is an error here and no SIGBUS.
 */
static int fill(int fd, uint8_t *p, uint64_t offset, uint64_t bytes)
{
	uint64_t at = 0;

	if (offset % POOL_HUGE || bytes % POOL_HUGE)
		p = NULL;
	for (; p && at < bytes; at += POOL_HUGE) {
		if (fallocate(fd, 0, (off_t)(offset + at), 4096) < 0)
			return -errno;
		if (madvise(p + at, POOL_HUGE, POOL_MADV_COLLAPSE) < 0)
			break;
	}
	if (at == bytes)
		return 1;
	if (p)
		say_small();
	return fallocate(fd, 0, (off_t)(offset + at), (off_t)(bytes - at)) < 0 ? -errno : 0;
}

int pool_commit(const struct pool_mem *m, uint64_t offset, uint64_t bytes)
{
	uint8_t *p;
	int rc;

	if (m->hugetlb)
		return 0;
	if (!room_for(bytes))
		return -ENOMEM;
	p = reserve(bytes);
	if (p && mmap(p, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, m->fd, (off_t)offset) == MAP_FAILED) {
		munmap(p, bytes);
		p = NULL;
	}
	rc = fill(m->fd, p, offset, bytes);
	if (p)
		munmap(p, bytes);
	return rc >= 0 ? 0 : rc == -EINTR ? -EAGAIN : -ENOMEM;
}

static int alloc_plain(struct pool_mem *m, const char *name)
{
	uint64_t now = m->bytes < POOL_NOW ? m->bytes : POOL_NOW;
	int rc = -ENOMEM, fd, huge;
	uint8_t *p;

	if (!room_for(now))
		return -ENOMEM;
	fd = memfd(name, 0);
	if (fd < 0)
		return -errno;
	m->page_bytes = 4096;
	if (ftruncate(fd, (off_t)m->bytes) < 0)
		goto fail;
	m->fd = fd;
	p = pool_map(m, NULL);
	if (!p)
		goto fail;
	huge = fill(fd, p, 0, now);
	munmap(p, m->bytes);
	if (huge < 0)
		goto fail;
	if (huge && m->bytes <= POOL_NOW) {
		m->page_bytes = POOL_HUGE;
		kind = "2 MiB pages (transparent)";
		if (!said_collapse)
			log_debug("no hugetlb pages (vm.nr_hugepages): transparent huge pages are used instead");
		said_collapse = 1;
	}
	rc = seal(fd);
	if (rc == 0)
		return 0;
fail:
	m->fd = -1;
	close(fd);
	return rc;
}

int pool_alloc(struct pool_mem *m, uint64_t bytes, const char *name)
{
	m->fd = -1;
	m->hugetlb = m->own = m->lent = 0;
	m->offset = 0;
	if (!bytes || bytes > (1ull << 46))
		return -EINVAL;
	m->bytes = (bytes + POOL_HUGE - 1) & ~(POOL_HUGE - 1);
	if (use_hugetlb && alloc_hugetlb(m, name) == 0)
		return 0;
	if (only_hugetlb) {
		if (!said_small)
			log_error("no huge pages left, and without an IOMMU only they can be used; fix: sysctl vm.nr_hugepages=128");
		said_small = 1;
		return -ENOMEM;
	}
	return alloc_plain(m, name);
}

int pool_alloc_own(struct pool_mem *m, uint64_t bytes, const char *name)
{
	int fd;

	*m = (struct pool_mem){ .fd = -1, .page_bytes = 4096, .own = 1 };
	if (!bytes || bytes > (1ull << 46))
		return -EINVAL;
	if (only_hugetlb)
		return -EOPNOTSUPP;
	fd = memfd(name, 0);
	if (fd < 0)
		return -errno;
	m->bytes = (bytes + POOL_HUGE - 1) & ~(POOL_HUGE - 1);
	if (ftruncate(fd, (off_t)m->bytes) < 0 || seal(fd) < 0) {
		close(fd);
		return -ENOMEM;
	}
	m->fd = fd;
	return 0;
}

/*
 * The seals first: only files of memory have any, and asking for them never waits, as fstat() of a file system in another process would.
 * Pages of hugetlb's are not whole 4 KiB ones.
 */
int pool_lent(struct pool_mem *m, int fd, uint64_t offset, uint64_t bytes)
{
	int seals = fcntl(fd, POOL_GET_SEALS), how = fcntl(fd, F_GETFL);
	struct statfs fs;
	struct stat st;
	uint64_t whole;

	if (only_hugetlb)
		return -EOPNOTSUPP;
	if (seals < 0 || seals & POOL_WRITE_SEALS || how < 0 || (how & O_ACCMODE) != O_RDWR)
		return -EBADF;
	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0 || fs.f_type != TMPFS_MAGIC)
		return -EBADF;
	whole = ((uint64_t)st.st_size + 4095) & ~4095ull;       /* its last page is there to its end */
	if (st.st_size < 0 || bytes > whole || offset > whole - bytes)
		return -EINVAL;
	*m = (struct pool_mem){ .fd = fd, .page_bytes = 4096, .lent = 1, .offset = offset, .bytes = bytes };
	return 0;
}

uint64_t pool_punch(struct pool_mem *m, uint64_t bytes)
{
	if (bytes > m->bytes)
		bytes = m->bytes;
	if (fallocate(m->fd, POOL_PUNCH, (off_t)(m->bytes - bytes), (off_t)bytes) < 0 && errno == EINTR)
		return 0;
	m->bytes -= bytes;
	return bytes;
}

int pool_alloc_small(struct pool_mem *m, uint64_t bytes, const char *name)
{
	int fd = memfd(name, 0);

	m->fd = -1;
	m->hugetlb = m->own = m->lent = 0;
	m->offset = 0;
	m->page_bytes = 4096;
	m->bytes = (bytes + 4095) & ~4095ull;
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)m->bytes) < 0 || fallocate(fd, 0, 0, (off_t)m->bytes) < 0 || seal(fd) < 0) {
		close(fd);
		return -ENOMEM;
	}
	m->fd = fd;
	return 0;
}

void pool_free(struct pool_mem *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
	m->bytes = 0;
}

void *pool_map(const struct pool_mem *m, void *at)
{
	void *p = at ? at : reserve(m->bytes);
	void *r;

	if (!p)
		return NULL;
	r = mmap(p, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, m->fd, 0);
	if (r == MAP_FAILED) {
		int saved = errno;

		if (!at)
			munmap(p, m->bytes);
		errno = saved;
		return NULL;
	}
	madvise(r, m->bytes, MADV_DONTFORK);
	return r;
}

void pool_unmap(const struct pool_mem *m, void *va)
{
	if (va)
		munmap(va, m->bytes);
}

uint64_t pool_window_step(uint64_t quota)
{
	uint64_t step = 1ull << 30;

	while (step < quota)
		step <<= 1;
	return step;
}

iova_t pool_window_iova(unsigned slot, uint64_t quota)
{
	return (iova_t){ POOL_IOVA_WINDOWS + slot * pool_window_step(quota) };
}

iova_t pool_queue_iova(unsigned qid)
{
	return (iova_t){ POOL_IOVA_QUEUES + (uint64_t)qid * POOL_HUGE };
}
