/* SPDX-License-Identifier: MIT */
/*
 * The map table and access to what it names; see dma.h.
 *
 * Files belong to the owner, who may truncate or punch them at any time. Our copies therefore run
 * under a SIGBUS guard; contexts that map such memory simply die of it.
 */
#define _GNU_SOURCE
#include "dma.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files --------------------------------------------------------------------------------- */
void dma_file_get(struct dma_file *f)
{
	f->refs++;
}

void dma_file_put(struct dma_table *t, struct dma_file *f)
{
	struct dma_file **p;

	if (!f || --f->refs)
		return;
	for (p = &t->files; *p; p = &(*p)->next) {
		if (*p == f) {
			*p = f->next;
			break;
		}
	}
	if (f->base)
		munmap(f->base, f->base_bytes);
	close(f->fd);
	free(f);
}

/* To the end of its last page. */
static uint64_t whole_pages(const struct stat *st)
{
	return ((uint64_t)st->st_size + 4095) & ~4095ull;
}

/* The file behind fd, with a reference for the caller; fd is taken. */
static int file_find(struct dma_table *t, int fd, uint64_t need_bytes, struct dma_file **out)
{
	struct dma_file *f;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < 0 ||
	    whole_pages(&st) < need_bytes) {
		close(fd);
		return -EINVAL;
	}
	for (f = t->files; f; f = f->next) {
		if (f->dev == st.st_dev && f->ino == st.st_ino) {
			close(fd);
			dma_file_get(f);
			*out = f;
			return 0;
		}
	}
	f = calloc(1, sizeof(*f));
	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	f->fd = fd;
	f->refs = 1;
	f->key = t->next_key++;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->next = t->files;
	t->files = f;
	*out = f;
	return 0;
}

/* Our own view of [offset, offset + bytes) of the file; NULL if it cannot be had. */
static uint8_t *file_view(struct dma_file *f, uint64_t offset, uint64_t bytes)
{
	struct stat st;
	void *p;

	if (f->base && offset <= f->base_bytes && bytes <= f->base_bytes - offset)
		return f->base + offset;
	if (fstat(f->fd, &st) || whole_pages(&st) < offset || whole_pages(&st) - offset < bytes)
		return NULL;
	/* All of the file at once. NORESERVE: a hugetlb mapping would reserve the whole pool twice. */
	p = mmap(NULL, whole_pages(&st), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, f->fd, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (f->base)
		munmap(f->base, f->base_bytes);
	f->base = p;
	f->base_bytes = whole_pages(&st);
	return f->base + offset;
}

struct dma_file *dma_file_own(struct dma_table *t, uint64_t bytes)
{
	int fd = memfd_create("vgpu-mirror", MFD_CLOEXEC);
	struct dma_file *f;

	if (fd < 0)
		return NULL;
	if (ftruncate(fd, (off_t)bytes)) {
		close(fd);
		return NULL;
	}
	if (file_find(t, fd, bytes, &f))
		return NULL;            /* fd is taken in every case */
	if (file_view(f, 0, bytes))
		return f;
	dma_file_put(t, f);
	return NULL;
}

/* ---- the table ------------------------------------------------------------------------------ */
void dma_init(struct dma_table *t)
{
	memset(t, 0, sizeof(*t));
	t->next_key = 1;
}

/* Index of the first map that ends behind iova. */
static uint32_t first_behind(const struct dma_table *t, uint64_t iova)
{
	uint32_t lo = 0, hi = t->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->maps[mid].iova + (t->maps[mid].bytes - 1) < iova)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int grow(struct dma_table *t)
{
	uint32_t room = t->room ? t->room * 2 : 64;
	struct dma_map *m;

	if (t->n < t->room)
		return 0;
	m = realloc(t->maps, room * sizeof(*m));
	if (!m)
		return -ENOMEM;
	t->maps = m;
	t->room = room;
	return 0;
}

static void insert(struct dma_table *t, uint32_t i, const struct dma_map *m)
{
	memmove(&t->maps[i + 1], &t->maps[i], (t->n - i) * sizeof(*m));
	t->maps[i] = *m;
	t->n++;
}

int dma_map(struct dma_table *t, uint64_t iova, uint64_t bytes, uint64_t offset, uint32_t flags, int fd)
{
	struct dma_map m = { iova, bytes, offset, flags, NULL };
	uint64_t last, end;
	uint32_t i;
	int err = 0;

	if (!bytes || __builtin_add_overflow(iova, bytes - 1, &last) ||
	    __builtin_add_overflow(offset, bytes, &end) || (flags & ~(DMA_READ | DMA_WRITE)))
		err = -EINVAL;
	else if (t->n >= DMA_MAX_MAPS)
		err = -ENOSPC;
	else
		err = grow(t);
	if (!err) {
		i = first_behind(t, iova);
		if (i < t->n && t->maps[i].iova <= last)
			err = -EEXIST;
	}
	if (err) {
		if (fd >= 0)
			close(fd);
		return err;
	}
	if (fd >= 0) {
		err = file_find(t, fd, end, &m.file);
		if (err)
			return err;
	}
	insert(t, i, &m);
	return 0;
}

int dma_unmap(struct dma_table *t, uint64_t iova, uint64_t bytes)
{
	uint64_t last;
	uint32_t i, j;

	if (!bytes)
		return 0;
	if (__builtin_add_overflow(iova, bytes - 1, &last))
		return -EINVAL;
	i = first_behind(t, iova);
	if (i == t->n || t->maps[i].iova > last)
		return 0;

	/* A map that begins before the range: keep its front, and its back if it reaches beyond. */
	if (t->maps[i].iova < iova) {
		struct dma_map *m = &t->maps[i];
		uint64_t m_last = m->iova + (m->bytes - 1);

		if (m_last > last) {
			struct dma_map back = *m;
			int err = t->n >= DMA_MAX_MAPS ? -ENOSPC : grow(t);

			if (err)
				return err;
			m = &t->maps[i];
			back.iova = last + 1;
			back.bytes = m_last - last;
			back.offset += back.iova - m->iova;
			if (back.file)
				dma_file_get(back.file);
			m->bytes = iova - m->iova;
			insert(t, i + 1, &back);
			return 0;
		}
		m->bytes = iova - m->iova;
		i++;
	}
	for (j = i; j < t->n && t->maps[j].iova <= last; j++) {
		struct dma_map *m = &t->maps[j];
		uint64_t m_last = m->iova + (m->bytes - 1);

		if (m_last > last) {
			uint64_t cut = last + 1 - m->iova;

			m->iova += cut;
			m->offset += cut;
			m->bytes -= cut;
			break;
		}
		dma_file_put(t, m->file);
	}
	memmove(&t->maps[i], &t->maps[j], (t->n - j) * sizeof(*t->maps));
	t->n -= j - i;
	return 0;
}

void dma_unmap_all(struct dma_table *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		dma_file_put(t, t->maps[i].file);
	t->n = 0;
	free(t->maps);
	t->maps = NULL;
	t->room = 0;
}

int dma_resolve(struct dma_table *t, uint64_t iova, uint64_t bytes, uint32_t rights,
		struct dma_piece *pieces, int max)
{
	uint64_t last;
	uint32_t i;
	int n = 0;

	if (!bytes || __builtin_add_overflow(iova, bytes - 1, &last))
		return -EFAULT;
	for (i = first_behind(t, iova);; i++) {
		const struct dma_map *m;
		uint64_t skip, take;

		if (i >= t->n)
			return -EFAULT;
		m = &t->maps[i];
		if (m->iova > iova || !m->file || (m->flags & rights) != rights)
			return -EFAULT;
		skip = iova - m->iova;
		take = m->bytes - skip;
		if (take > bytes)
			take = bytes;
		if (n && pieces[n - 1].file == m->file &&
		    pieces[n - 1].offset + pieces[n - 1].bytes == m->offset + skip) {
			pieces[n - 1].bytes += take;
		} else {
			if (n == max)
				return -E2BIG;
			pieces[n++] = (struct dma_piece){ m->file, iova, take, m->offset + skip };
		}
		bytes -= take;
		if (!bytes)
			return n;
		iova += take;
	}
}

/* ---- access ---------------------------------------------------------------------------------- */
static sigjmp_buf bus_jump;
static volatile sig_atomic_t bus_guard;

static void on_sigbus(int sig)
{
	if (bus_guard) {
		bus_guard = 0;
		siglongjmp(bus_jump, 1);
	}
	signal(sig, SIG_DFL);           /* a fault of our own: die of it, visibly */
	raise(sig);
}

static void guard_init(void)
{
	static int done;
	struct sigaction sa = { .sa_handler = on_sigbus };

	if (!done)
		sigaction(SIGBUS, &sa, NULL);
	done = 1;
}

enum access { COPY_IN, COPY_OUT, LOAD32, STORE32 };

/* One piece; every access to the owner's memory goes through here. */
static int guarded(enum access kind, uint8_t *mem, void *buf, size_t bytes)
{
	guard_init();
	if (sigsetjmp(bus_jump, 1))
		return -EFAULT;
	bus_guard = 1;
	__asm__ volatile("" ::: "memory");
	switch (kind) {
	case COPY_IN:
		memcpy(buf, mem, bytes);
		break;
	case COPY_OUT:
		memcpy(mem, buf, bytes);
		break;
	case LOAD32:
		*(uint32_t *)buf = __atomic_load_n((uint32_t *)(void *)mem, __ATOMIC_ACQUIRE);
		break;
	case STORE32:
		__atomic_store_n((uint32_t *)(void *)mem, *(uint32_t *)buf, __ATOMIC_RELEASE);
		break;
	}
	__asm__ volatile("" ::: "memory");
	bus_guard = 0;
	return 0;
}

static int access_range(struct dma_table *t, enum access kind, uint64_t iova, void *buf, uint64_t bytes)
{
	struct dma_piece pieces[64];
	uint32_t rights = kind == COPY_IN || kind == LOAD32 ? DMA_READ : DMA_WRITE;
	int n = dma_resolve(t, iova, bytes, rights, pieces, 64);

	if (n < 0)
		return n;
	for (int i = 0; i < n; i++) {
		uint8_t *mem = file_view(pieces[i].file, pieces[i].offset, pieces[i].bytes);
		int err;

		if (!mem)
			return -EFAULT;
		err = guarded(kind, mem, buf, (size_t)pieces[i].bytes);
		if (err)
			return err;
		buf = (uint8_t *)buf + pieces[i].bytes;
	}
	return 0;
}

int dma_read(struct dma_table *t, uint64_t iova, void *buf, uint64_t bytes)
{
	return access_range(t, COPY_IN, iova, buf, bytes);
}

int dma_write(struct dma_table *t, uint64_t iova, const void *buf, uint64_t bytes)
{
	return access_range(t, COPY_OUT, iova, (void *)(uintptr_t)buf, bytes);
}

int dma_load32(struct dma_table *t, uint64_t iova, uint32_t *value)
{
	if (iova % 4)
		return -EFAULT;
	return access_range(t, LOAD32, iova, value, 4);
}

int dma_store32(struct dma_table *t, uint64_t iova, uint32_t value)
{
	if (iova % 4)
		return -EFAULT;
	return access_range(t, STORE32, iova, &value, 4);
}
