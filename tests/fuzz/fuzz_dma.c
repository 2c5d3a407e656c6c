/* SPDX-License-Identifier: MIT */
/*
 * The map table beside a model of it: what each byte of two small parts of the IOVA space is, in an array. After every
 * call the table and the array must say the same, and a call must have been refused exactly when the array says so.
 *
 * Sources: tests/fuzz/fuzz_dma.c tools/vgpu-stub/dma.c
 *
 * Input: calls of 8 bytes: what, part and rights, file, then where and how long (10 bits each), the offset in the file (12) and
 * one byte of how it is out of the ordinary. The second part ends where the space does.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../tools/vgpu-stub/dma.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PART 1024u
#define FILES 3u
#define NO_FILE FILES                   /* a map that no fd came with */
#define NOT_MAPPED 0xffu
#define MAX_PIECES 64
#define MAX_FDS 48

static const uint64_t part_base[2] = { 1ull << 40, -(uint64_t)PART };
static const uint64_t file_bytes[FILES] = { 1500, 6000, 12288 };

struct byte { uint8_t file, rights; uint16_t offset; };

static struct byte model[2][PART];
static struct dma_table table;
static int file_fd[FILES], odd_fd;
static const uint8_t *file_mem[FILES];  /* to be looked at while it is not truncated */
static struct dma_file *held[4];        /* references as a context has them */
static int truncated;                   /* what is read then is up to the kernel's pages */
static int changed = 1;                 /* the files are not as each input finds them */

#define NEED(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); abort(); } } while (0)

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < MAX_FDS; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void fill_files(void)
{
	if (!changed)
		return;
	for (unsigned f = 0; f < FILES; f++) {
		uint8_t bytes[12288];

		for (unsigned i = 0; i < file_bytes[f]; i++)
			bytes[i] = (uint8_t)(i * 7 + (i >> 8) + f * 101);
		NEED(!ftruncate(file_fd[f], (off_t)file_bytes[f]));
		NEED(pwrite(file_fd[f], bytes, file_bytes[f], 0) == (ssize_t)file_bytes[f]);
	}
	truncated = changed = 0;
}

/* As the table knows them; of whole files: an input may have cut one. */
static ino_t file_ino[FILES];
static dev_t file_dev[FILES];

static void name_file(unsigned f)
{
	struct dma_table t;
	struct dma_piece p;

	dma_init(&t);
	NEED(!dma_map(&t, 0, 1, 0, DMA_READ, dup(file_fd[f])));
	NEED(dma_resolve(&t, 0, 1, DMA_READ, &p, 1) == 1);
	file_ino[f] = p.file->ino;
	file_dev[f] = p.file->dev;
	dma_unmap_all(&t);
}

static void set_up(void)
{
	static int done;

	if (done)
		return;
	done = 1;
	for (unsigned f = 0; f < FILES; f++)
		file_fd[f] = memfd_create("fuzz", 0);
	odd_fd = eventfd(0, 0);
	NEED(file_fd[FILES - 1] >= 0 && odd_fd >= 0);
	fill_files();
	for (unsigned f = 0; f < FILES; f++) {
		file_mem[f] = mmap(NULL, file_bytes[f], PROT_READ, MAP_SHARED, file_fd[f], 0);
		NEED(file_mem[f] != MAP_FAILED);
		name_file(f);
	}
}

/* Which of ours a file of the table is. */
static unsigned which(const struct dma_file *f)
{
	for (unsigned i = 0; i < FILES; i++)
		if (file_ino[i] == f->ino && file_dev[i] == f->dev)
			return i;
	__builtin_trap();
}

/* ---- the table says what the array says ----------------------------------------------------------------------- */

static void compare(void)
{
	static struct byte now[2][PART];

	memset(now, NOT_MAPPED, sizeof(now));
	for (uint32_t i = 0; i < table.n; i++) {
		const struct dma_map *m = &table.maps[i];
		unsigned part = m->iova >= part_base[1];
		uint64_t at = m->iova - part_base[part];

		NEED(m->bytes && at < PART && m->bytes <= PART - at);
		NEED(!i || table.maps[i - 1].iova + (table.maps[i - 1].bytes - 1) < m->iova);
		for (uint64_t k = 0; k < m->bytes; k++)
			now[part][at + k] = (struct byte){ (uint8_t)(m->file ? which(m->file) : NO_FILE), (uint8_t)m->flags,
							   (uint16_t)(m->offset + k) };
	}
	for (unsigned part = 0; part < 2; part++)
		for (unsigned i = 0; i < PART; i++) {
			const struct byte *a = &now[part][i], *b = &model[part][i];

			NEED(a->file == b->file);
			NEED(a->file == NOT_MAPPED || (a->rights == b->rights && a->offset == b->offset));
		}
	for (const struct dma_file *f = table.files; f; f = f->next) {
		uint32_t refs = 0;

		for (uint32_t i = 0; i < table.n; i++)
			refs += table.maps[i].file == f;
		for (unsigned i = 0; i < 4; i++)
			refs += held[i] == f;
		NEED(refs && refs == f->refs);
		for (const struct dma_file *g = f->next; g; g = g->next)
			NEED(g->key != f->key && which(g) != which(f));
	}
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

struct call {
	unsigned what, part, rights, file, where, bytes, offset, odd;
};

static void do_map(const struct call *c)
{
	uint64_t iova = part_base[c->part] + c->where, bytes = c->bytes, offset = c->offset;
	uint32_t flags = c->rights;
	int fd = c->file < FILES ? dup(file_fd[c->file]) : -1, want = 0, got;
	unsigned room = PART - c->where;

	if (c->odd == 1)
		fd = fd < 0 ? fd : dup2(odd_fd, fd);    /* not a file */
	if (c->odd == 2)
		flags |= 4u << (c->bytes % 30);
	if (c->odd == 3)
		offset = UINT64_MAX - c->offset;
	if (c->odd == 4)
		bytes = UINT64_MAX - c->bytes;
	if (!c->part && bytes > room && c->odd != 4)
		bytes = room;                           /* what lies behind is no part of the array */
	if (!bytes || bytes - 1 > UINT64_MAX - iova || offset + bytes < offset || flags > 3)
		want = -EINVAL;
	if (!want && c->odd == 4)                       /* from the lower part to the end: not to be kept account of */
		want = 1;
	for (uint64_t i = 0; want >= 0 && i < bytes && c->where + i < PART; i++)
		if (model[c->part][c->where + i].file != NOT_MAPPED)
			want = -EEXIST;
	if (!want && c->file < FILES) {
		uint64_t size = (uint64_t)lseek(file_fd[c->file], 0, SEEK_END);

		if (c->odd == 1 || ((size + 4095) & ~4095ull) < offset + bytes)
			want = -EINVAL;
		else if (size < offset + bytes)         /* of its last page, behind its end: nobody keeps what is written there */
			want = 1;
	}
	if (want == 1 || (!want && offset + bytes > UINT16_MAX)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	got = dma_map(&table, iova, bytes, offset, flags, fd);
	NEED(got == want);
	for (uint64_t i = 0; !got && i < bytes; i++)
		model[c->part][c->where + i] = (struct byte){ (uint8_t)(c->file < FILES ? c->file : NO_FILE), (uint8_t)flags,
							      (uint16_t)(offset + i) };
}

static void do_unmap(const struct call *c)
{
	uint64_t iova = part_base[c->part] + c->where, bytes = c->bytes;
	int want = 0;

	if (c->odd == 1) {
		iova = 0;
		bytes = UINT64_MAX - c->where;
	}
	if (bytes && bytes - 1 > UINT64_MAX - iova)
		want = -EINVAL;
	NEED(dma_unmap(&table, iova, bytes) == want);
	for (unsigned part = 0; !want && part < 2; part++)
		for (unsigned i = 0; i < PART; i++)
			if (part_base[part] + i >= iova && part_base[part] + i - iova < bytes)
				model[part][i].file = NOT_MAPPED;
}

/* How many bytes from `where` on have these rights and a file. */
static unsigned reach(const struct call *c)
{
	unsigned n = 0;

	while (c->where + n < PART) {
		const struct byte *b = &model[c->part][c->where + n];

		if (b->file >= FILES || (b->rights & c->rights) != c->rights)
			break;
		n++;
	}
	return n;
}

static void do_resolve(const struct call *c)
{
	struct dma_piece p[MAX_PIECES];
	int max = c->odd ? (int)c->odd % MAX_PIECES : MAX_PIECES, n;
	unsigned at = c->where, joints = 1;

	n = dma_resolve(&table, part_base[c->part] + c->where, c->bytes, c->rights, p, max);
	if (!c->bytes || c->bytes > reach(c)) {
		NEED(n == -EFAULT || (n == -E2BIG && c->bytes));        /* whichever it meets first */
		return;
	}
	for (unsigned i = 1; i < c->bytes; i++) {
		const struct byte *a = &model[c->part][c->where + i - 1], *b = a + 1;

		joints += a->file != b->file || a->offset + 1 != b->offset;
	}
	NEED(joints <= (unsigned)max ? n == (int)joints : n == -E2BIG);
	for (int i = 0; i < n; i++) {
		const struct byte *b = &model[c->part][at];

		NEED(p[i].iova == part_base[c->part] + at && p[i].bytes && which(p[i].file) == b->file && p[i].offset == b->offset);
		at += (unsigned)p[i].bytes;
	}
	NEED(n < 0 || at == c->where + c->bytes);
	if (n > 0 && c->odd == 5 && !held[c->file]) {
		held[c->file] = p[0].file;
		dma_file_get(p[0].file);
	}
}

static void do_access(const struct call *c, int write)
{
	static uint8_t mine[PART], was[PART];
	struct call need = *c;
	unsigned left, joints = 1;
	int got, want;

	need.rights = write ? DMA_WRITE : DMA_READ;
	left = reach(&need);
	for (unsigned i = 0; i < c->bytes; i++)
		mine[i] = (uint8_t)(i * 13 + c->offset);
	for (unsigned i = 1; i < c->bytes && i < left; i++) {
		const struct byte *a = &model[c->part][c->where + i - 1], *b = a + 1;

		joints += a->file != b->file || a->offset + 1 != b->offset;
	}
	changed |= write;
	want = c->bytes && c->bytes <= left && joints <= MAX_PIECES;
	for (unsigned i = 0; want && !truncated && i < c->bytes; i++) {
		const struct byte *b = &model[c->part][c->where + i];

		was[i] = file_mem[b->file][b->offset];
	}
	got = write ? dma_write(&table, part_base[c->part] + c->where, mine, c->bytes) :
	      dma_read(&table, part_base[c->part] + c->where, mine, c->bytes);
	if (truncated)
		return;
	NEED((got == 0) == (want != 0));
	if (!want)
		return;
	if (!write)
		NEED(!memcmp(mine, was, c->bytes));
	/* a file may be mapped twice: of two bytes at one place the later one stays */
	for (unsigned i = 0; write && i < c->bytes; i++) {
		const struct byte *b = &model[c->part][c->where + i];
		int again = file_mem[b->file][b->offset] == mine[i];

		for (unsigned k = i + 1; k < c->bytes && !again; k++)
			again = model[c->part][c->where + k].file == b->file && model[c->part][c->where + k].offset == b->offset;
		NEED(again);
	}
}

static void do_word(const struct call *c, int store)
{
	struct call need = *c;
	uint64_t iova = part_base[c->part] + c->where;
	uint32_t v = c->offset;
	unsigned left;
	int got;

	need.rights = store ? DMA_WRITE : DMA_READ;
	changed |= store;
	left = reach(&need);
	/* atomic, so where a word is one: maps come by whole pages */
	for (unsigned i = 0; i < 4 && i < left; i++)
		if (model[c->part][c->where + i].file != model[c->part][c->where].file || (model[c->part][c->where + i].offset - i) % 4)
			return;
	got = store ? dma_store32(&table, iova, v) : dma_load32(&table, iova, &v);
	if (!truncated)
		NEED((got == 0) == (iova % 4 == 0 && left >= 4));
}

static void do_truncate(const struct call *c)
{
	if (c->file < FILES && !ftruncate(file_fd[c->file], (off_t)(c->odd & 1 ? 0 : c->offset)))
		truncated = changed = 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fds;

	set_up();
	dma_init(&table);
	memset(model, NOT_MAPPED, sizeof(model));
	fill_files();
	fds = open_fds();
	for (size_t at = 0; at + 8 <= size && at < 8 * 200; at += 8) {
		const uint8_t *p = data + at;
		struct call c = { p[0] % 9, p[1] & 1, p[1] >> 1 & 3, p[2] & 3, (p[3] | p[4] << 8) & (PART - 1), (p[4] >> 2 | p[5] << 6) & (PART - 1),
				  (p[6] | (p[7] & 15u) << 8), p[7] >> 4 };

		switch (c.what) {
		case 0: case 1: do_map(&c); break;
		case 2: do_unmap(&c); break;
		case 3: do_resolve(&c); break;
		case 4: do_access(&c, 0); break;
		case 5: do_access(&c, 1); break;
		case 6: do_word(&c, c.odd & 1); break;
		case 7:
			dma_file_put(&table, held[c.file]);
			held[c.file] = NULL;
			break;
		default:
			if (c.odd == 15)
				do_truncate(&c);
		}
		if (c.what < 4 || c.what == 7)
			compare();
	}
	dma_unmap_all(&table);
	for (unsigned i = 0; i < 4; i++) {
		dma_file_put(&table, held[i]);
		held[i] = NULL;
	}
	NEED(!table.files && open_fds() == fds);
	return 0;
}
