/* SPDX-License-Identifier: MIT */
/*
 * Fatbin containers: walk, choose, decompress. The layout stands in fatbin.h.
 *
 * Called by the cpu engine for images that clients sent. Invariant: `pos + n <= end` is checked
 * as `n <= end - pos` (no sum of two outside numbers is ever formed) before n bytes are read.
 */
#include "../cc.h"
#include "fatbin.h"

#include <lz4.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "../../../fw-protocol/vgpu_cubin.h"
#include "../../../fw-protocol/vgpu_status.h"

#define CONTAINER_HEADER 16u
#define ENTRY_HEADER 64u
#define LIST_TEXT 160
#define OURS_MAX ((uint64_t)64 << 20)           /* compressed ELF entries above this are not looked into */

static uint16_t get16(const unsigned char *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t get32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t get64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t __attribute__((format(printf, 4, 5)))
fail(uint32_t status, char *log, size_t log_bytes, const char *fmt, ...)
{
	va_list ap;

	if (log && log_bytes) {
		va_start(ap, fmt);
		vsnprintf(log, log_bytes, fmt, ap);
		va_end(ap);
	}
	return status;
}

int fatbin_probe(const void *image, size_t bytes)
{
	return image && bytes >= CONTAINER_HEADER && get32(image) == FATBIN_MAGIC;
}

/* Decodes the entry at p, of which `left` bytes exist; *used gets its whole length. */
static uint32_t read_entry(const unsigned char *p, uint64_t left, uint64_t at,
			   struct fatbin_entry *e, uint64_t *used, char *log, size_t log_bytes)
{
	uint64_t header, payload, packed;
	int lz4, zstd;

	if (left < ENTRY_HEADER)
		return fail(VGPU_ST_INVALID_IMAGE, log, log_bytes,
			    "fatbin: %llu bytes at offset %llu are too few for an entry",
			    (unsigned long long)left, (unsigned long long)at);
	header = get32(p + 4);
	payload = get64(p + 8);
	packed = get32(p + 16);
	if (header < ENTRY_HEADER || header > left || payload > left - header)
		return fail(VGPU_ST_INVALID_IMAGE, log, log_bytes,
			    "fatbin: the entry at offset %llu (header %llu, payload %llu) leaves its container",
			    (unsigned long long)at, (unsigned long long)header,
			    (unsigned long long)payload);
	memset(e, 0, sizeof(*e));
	e->kind = get16(p);
	e->isa_minor = get16(p + 24);
	e->isa_major = get16(p + 26);
	e->arch = get32(p + 28);
	e->flags = get64(p + 40);
	e->payload = p + header;
	e->payload_bytes = payload;
	e->text_bytes = payload;
	lz4 = (e->flags & FATBIN_FLAG_LZ4) != 0;
	zstd = (e->flags & FATBIN_FLAG_ZSTD) != 0;
	if (lz4 || zstd) {
		if ((lz4 && zstd) || packed == 0 || packed > payload)
			return fail(VGPU_ST_INVALID_IMAGE, log, log_bytes,
				    "fatbin: bad compression of the entry at offset %llu",
				    (unsigned long long)at);
		e->compression = lz4 ? FATBIN_LZ4 : FATBIN_ZSTD;
		e->payload_bytes = packed;
		e->text_bytes = get64(p + 56);
	}
	*used = header + payload;
	return VGPU_ST_OK;
}

uint32_t fatbin_list(const void *image, size_t bytes,
		     int (*each)(void *owner, const struct fatbin_entry *e), void *owner,
		     char *log, size_t log_bytes)
{
	const unsigned char *base = image;
	uint64_t pos = 0, end, header, body, used = 0;
	struct fatbin_entry e;
	uint32_t st;

	if (!fatbin_probe(image, bytes))
		return fail(VGPU_ST_INVALID_IMAGE, log, log_bytes,
			    "fatbin: no container header");
	do {
		header = get16(base + pos + 6);
		body = get64(base + pos + 8);
		if (get16(base + pos + 4) != 1)
			return fail(VGPU_ST_INVALID_IMAGE, log, log_bytes,
				    "fatbin: container version %u is unknown",
				    get16(base + pos + 4));
		if (header < CONTAINER_HEADER || header > bytes - pos ||
		    body > bytes - pos - header)
			return fail(VGPU_ST_INVALID_IMAGE, log, log_bytes,
				    "fatbin: the container at offset %llu (%llu + %llu bytes) leaves the image of %zu",
				    (unsigned long long)pos, (unsigned long long)header,
				    (unsigned long long)body, bytes);
		pos += header;
		end = pos + body;
		while (pos < end) {
			st = read_entry(base + pos, end - pos, pos, &e, &used, log, log_bytes);
			if (st)
				return st;
			if (each(owner, &e))
				return VGPU_ST_OK;
			pos += used;
		}
		/* What follows is another container or belongs to somebody else. */
	} while (bytes - pos >= CONTAINER_HEADER && get32(base + pos) == FATBIN_MAGIC);
	return VGPU_ST_OK;
}

uint32_t fatbin_bytes(const struct fatbin_entry *e, char **text, size_t *text_bytes, char *log, size_t log_bytes)
{
	uint64_t n = e->text_bytes;
	uint32_t st;
	char *out;

	*text = NULL;
	*text_bytes = 0;
	if (n == 0 || n > FATBIN_MAX_TEXT || e->payload_bytes > FATBIN_MAX_TEXT)
		return fail(VGPU_ST_INVALID_IMAGE, log, log_bytes,
			    "fatbin: an entry of %llu bytes is outside 1..%llu",
			    (unsigned long long)n, (unsigned long long)FATBIN_MAX_TEXT);
	out = malloc(n + 1);
	if (!out)
		return fail(VGPU_ST_OUT_OF_MEMORY, log, log_bytes,
			    "fatbin: no memory for %llu bytes", (unsigned long long)n);
	st = VGPU_ST_INVALID_IMAGE;
	switch (e->compression) {
	case FATBIN_PLAIN:
		memcpy(out, e->payload, n);
		break;
	case FATBIN_LZ4: {
		/* both sizes are at most FATBIN_MAX_TEXT, so they fit an int */
		int got = LZ4_decompress_safe(e->payload, out, (int)e->payload_bytes, (int)n);

		if (got < 0 || (uint64_t)got != n) {
			fail(st, log, log_bytes, "fatbin: the LZ4 block is damaged");
			goto err;
		}
		break;
	}
	case FATBIN_ZSTD: {
		size_t got = ZSTD_decompress(out, n, e->payload, e->payload_bytes);

		if (ZSTD_isError(got) || got != n) {
			fail(st, log, log_bytes, "fatbin: zstd: %s",
			     ZSTD_isError(got) ? ZSTD_getErrorName(got) : "wrong length");
			goto err;
		}
		break;
	}
	}
	out[n] = 0;
	*text = out;
	*text_bytes = n;
	return VGPU_ST_OK;
err:
	free(out);
	return st;
}

uint32_t fatbin_text(const struct fatbin_entry *e, char **text, size_t *text_bytes,
		     char *log, size_t log_bytes)
{
	uint32_t st = fatbin_bytes(e, text, text_bytes, log, log_bytes);
	struct vgpu_cubin c;

	if (st)
		return st;
	if (e->kind == FATBIN_ELF) {
		if (vgpu_cubin_read(*text, *text_bytes, &c)) {
			free(*text);
			*text = NULL;
			return fail(VGPU_ST_NO_BINARY, log, log_bytes, "fatbin: the ELF for sm_%u holds no PTX", e->arch);
		}
		memmove(*text, c.ptx, c.ptx_bytes + 1);
	}
	*text_bytes = strlen(*text);
	return VGPU_ST_OK;
}

struct choice {
	uint32_t major, minor;
	int rank;                       /* of best; 0 = none yet */
	struct fatbin_entry best;
	uint32_t wants;                 /* lowest device that would take PTX of the image; 0 = none */
	char ptx[LIST_TEXT], elf[LIST_TEXT];
};

/* Appends " 75a"; a list that is too long ends in "...". */
static void note_arch(char *list, const struct fatbin_entry *e)
{
	size_t n = strlen(list);
	const char *suffix = e->flags & FATBIN_FLAG_SPECIFIC ? "a" :
			     e->flags & FATBIN_FLAG_FAMILY ? "f" : "";

	if (n + 20 < LIST_TEXT)
		snprintf(list + n, LIST_TEXT - n, " %u%s", e->arch, suffix);
	else if (n + 4 < LIST_TEXT && list[n - 1] != '.')
		snprintf(list + n, LIST_TEXT - n, " ...");
}

/*
 * Order of preference: higher arch; then code made for exactly this device ("a"), for its
 * family ("f"), for all. Equal ones: the first. 0 = cannot run here.
 */
static int rank(const struct choice *c, const struct fatbin_entry *e)
{
	uint32_t cc;

	if (c->major > 1000 || c->minor > 9)
		return 0;
	cc = c->major * 10 + c->minor;
	if (e->arch == 0 || e->arch > cc)
		return 0;
	if (e->flags & FATBIN_FLAG_SPECIFIC)
		return e->arch == cc ? (int)e->arch * 4 + 3 : 0;
	if (e->flags & FATBIN_FLAG_FAMILY)
		return e->arch / 10 == c->major ? (int)e->arch * 4 + 2 : 0;
	return (int)e->arch * 4 + 1;
}

/* nvcc compresses none of those that are for linking; of a compressed one the text has to be seen. */
int fatbin_ours(const struct fatbin_entry *e)
{
	struct vgpu_cubin c;
	size_t n;
	char *p;
	int is;

	if (e->kind != FATBIN_ELF)
		return 0;
	if (e->compression == FATBIN_PLAIN)
		return !vgpu_cubin_read(e->payload, e->payload_bytes, &c);
	if (e->text_bytes > OURS_MAX || fatbin_bytes(e, &p, &n, NULL, 0))
		return 0;
	is = !vgpu_cubin_read(p, n, &c);
	free(p);
	return is;
}

static int consider(void *owner, const struct fatbin_entry *e)
{
	struct choice *c = owner;
	int r;

	if (e->kind == FATBIN_ELF && !fatbin_ours(e)) {
		note_arch(c->elf, e);
		return 0;
	}
	if (e->kind != FATBIN_PTX && e->kind != FATBIN_ELF)
		return 0;
	note_arch(c->ptx, e);
	r = cc_for(e->arch);
	/* code for one architecture or family has no other device */
	if (r && (!c->wants || (uint32_t)r < c->wants) && (r == (int)e->arch || !(e->flags & (FATBIN_FLAG_SPECIFIC | FATBIN_FLAG_FAMILY))))
		c->wants = (uint32_t)r;
	r = rank(c, e);
	if (r > c->rank) {
		c->rank = r;
		c->best = *e;
	}
	return 0;
}

uint32_t fatbin_select(const void *image, size_t bytes, unsigned cc_major, unsigned cc_minor,
		       char **ptx_out, size_t *ptx_bytes, char *log, size_t log_bytes)
{
	struct choice c = { .major = cc_major, .minor = cc_minor };
	char fix[112] = "";
	uint32_t st;

	*ptx_out = NULL;
	*ptx_bytes = 0;
	if (log && log_bytes)
		log[0] = 0;
	st = fatbin_list(image, bytes, consider, &c, log, log_bytes);
	if (st)
		return st;
	if (!c.rank) {
		if (c.wants)
			snprintf(fix, sizeof(fix), "; on a device of %u.%u it runs: vgpu run --cc %u.%u", c.wants / 10, c.wants % 10,
				 c.wants / 10, c.wants % 10);
		else if (!c.ptx[0])
			snprintf(fix, sizeof(fix), "; machine code runs on NVIDIA's devices alone: build it with nvcc -gencode "
				 "arch=compute_%u%u,code=compute_%u%u", cc_major % 1000, cc_minor % 10, cc_major % 1000, cc_minor % 10);
		return fail(VGPU_ST_NO_BINARY, log, log_bytes,
			    "no PTX for compute capability %u.%u or below; the image has PTX:%s; ELF:%s%s",
			    cc_major, cc_minor, c.ptx[0] ? c.ptx : " none",
			    c.elf[0] ? c.elf : " none", fix);
	}
	return fatbin_text(&c.best, ptx_out, ptx_bytes, log, log_bytes);
}
