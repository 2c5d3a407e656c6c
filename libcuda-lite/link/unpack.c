/* SPDX-License-Identifier: MIT */
/*
 * What PTX comes in: our container, fatbins, objects and archives with fatbins in them. All of it is compared with the length
 * that was given before it is read.
 */
#define _GNU_SOURCE
#include "own.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../fw-protocol/vgpu_cubin.h"
#include "../../tools/vgpu-stub/cpu/fatbin.h"   /* the format's numbers only; its functions are not linked */

#define MAX_BYTES ((size_t)1 << 30)
#define WRAPPER 0x466243b1u

/* LZ4's block format: literals, then a match of at least four bytes that lie behind. */
int lz4_block(const uint8_t *p, size_t n, uint8_t *to, size_t room)
{
	const uint8_t *end = p + n;
	size_t at = 0;

	while (p < end) {
		unsigned token = *p++, more;
		size_t count = token >> 4, back;

		if (count == 15)
			do {
				if (p == end)
					return -1;
				count += more = *p++;
			} while (more == 255);
		if (count > (size_t)(end - p) || count > room - at)
			return -1;
		memcpy(to + at, p, count);
		p += count;
		at += count;
		if (p == end)
			return at == room ? 0 : -1;
		if (end - p < 2)
			return -1;
		back = (size_t)p[0] | (size_t)p[1] << 8;
		p += 2;
		count = (token & 15) + 4u;
		if ((token & 15) == 15)
			do {
				if (p == end)
					return -1;
				count += more = *p++;
			} while (more == 255);
		if (!back || back > at || count > room - at)
			return -1;
		for (; count; count--, at++)
			to[at] = to[at - back];
	}
	return -1;
}

static uint64_t get(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;

	memcpy(&v, p, bytes);
	return v;
}

static int copy_text(struct ptxlink *l, const char *p, size_t n, const char *name, int lazy)
{
	char *t = malloc(n + 1);

	if (!t)
		return PTXLINK_NO_MEMORY;
	memcpy(t, p, n);
	t[n] = 0;
	return add_text(l, t, n, name, lazy);
}

static int from_cubin(struct ptxlink *l, const uint8_t *p, size_t bytes, const char *name, int lazy)
{
	struct vgpu_cubin c;

	if (vgpu_cubin_read(p, bytes, &c)) {
		link_say(l, "error   : %s: a cubin (machine code of one GPU); this device needs PTX", name);
		return PTXLINK_NO_PTX;
	}
	return copy_text(l, c.ptx, c.ptx_bytes, name, lazy);
}

static unsigned target_of(const struct ptxlink *l)
{
	return l->target ? l->target : 999;
}

#define PACKED (FATBIN_FLAG_LZ4 | FATBIN_FLAG_ZSTD)

/* A packed entry's text or image, with a NUL behind it, in memory of its own. 0: done. */
static int unpacked(const uint8_t *entry, char **out, size_t *bytes)
{
	const uint8_t *q = entry + get(entry + 4, 4);
	size_t n = get(entry + 56, 8), packed = get(entry + 16, 4);
	char *t;
	int err;

	if (n > MAX_BYTES || packed > get(entry + 8, 8))
		return PTXLINK_ERROR;
	t = malloc(n + 1);
	if (!t)
		return PTXLINK_NO_MEMORY;
	err = get(entry + 40, 8) & FATBIN_FLAG_LZ4 ? lz4_block(q, packed, (uint8_t *)t, n) : zstd_frame(q, packed, (uint8_t *)t, n);
	if (err) {
		free(t);
		return PTXLINK_ERROR;
	}
	t[n] = 0;
	*out = t;
	*bytes = n;
	return 0;
}

/* Is a packed cubin ours? Then it is added; PTXLINK_NO_PTX: it is machine code. */
static int packed_cubin(struct ptxlink *l, const uint8_t *entry, const char *name, int lazy)
{
	size_t n;
	char *t;
	int err = unpacked(entry, &t, &n);

	if (err)                        /* what we cannot unpack is not ours either */
		return err == PTXLINK_NO_MEMORY ? err : PTXLINK_NO_PTX;
	err = vgpu_cubin_ours(t, n) ? from_cubin(l, (uint8_t *)t, n, name, lazy) : PTXLINK_NO_PTX;
	free(t);
	return err;
}

/* The entry for the highest architecture below `under` that the target has: PTX or a cubin of ours; `packed`: cubins that have to be unpacked to tell. */
static int best_entry(const struct ptxlink *l, const uint8_t *p, size_t bytes, int packed, unsigned under, const uint8_t **best)
{
	size_t header = bytes < 16 ? 0 : (size_t)get(p + 6, 2), body = bytes < 16 ? 0 : (size_t)get(p + 8, 8);
	const uint8_t *q, *end;
	unsigned top = 0;

	*best = NULL;
	if (header < 16 || header > bytes || body > bytes - header)
		return -1;
	for (q = p + header, end = q + body; q < end; q += get(q + 4, 4) + get(q + 8, 8)) {
		uint64_t head, payload, flags;
		unsigned arch;
		int elf, fits;

		if (end - q < 64)
			return -1;
		head = get(q + 4, 4);
		payload = get(q + 8, 8);
		flags = get(q + 40, 8);
		arch = (unsigned)get(q + 28, 4);
		if (head < 64 || head > (uint64_t)(end - q) || payload > (uint64_t)(end - q) - head)
			return -1;
		elf = get(q, 2) == FATBIN_ELF;
		fits = packed ? elf && (flags & PACKED) :
		       elf ? !(flags & PACKED) && vgpu_cubin_ours(q + head, payload) : get(q, 2) == FATBIN_PTX;
		if (!fits || arch > target_of(l) || arch >= under || ((flags & FATBIN_FLAG_SPECIFIC) && arch != l->target) || (*best && arch <= top))
			continue;
		*best = q;
		top = arch;
	}
	return 0;
}

int fatbin_ptx(struct ptxlink *l, const uint8_t *p, size_t bytes, const char *name, int lazy)
{
	const uint8_t *best, *q;
	unsigned under = ~0u;
	size_t n;
	char *t;
	int err;

	if (best_entry(l, p, bytes, 0, under, &best))
		goto damaged;
	/* nvcc packs what ptxas wrote where that is all there is (code=sm_XX); our ptxas wrote PTX */
	while (!best) {
		if (best_entry(l, p, bytes, 1, under, &best))
			goto damaged;
		if (!best) {
			link_say(l, "error   : %s: a fatbin without PTX for sm_%u or below", name, l->target);
			return PTXLINK_NO_PTX;
		}
		err = packed_cubin(l, best, name, lazy);
		if (err != PTXLINK_NO_PTX)
			return err;
		under = (unsigned)get(best + 28, 4);
		best = NULL;
	}
	q = best + get(best + 4, 4);
	if (get(best, 2) == FATBIN_ELF)
		return from_cubin(l, q, get(best + 8, 8), name, lazy);
	if (!(get(best + 40, 8) & PACKED))
		return copy_text(l, (const char *)q, get(best + 8, 8), name, lazy);
	err = unpacked(best, &t, &n);
	if (!err)
		return add_text(l, t, n, name, lazy);
	if (err == PTXLINK_NO_MEMORY)
		return err;
damaged:
	link_say(l, "error   : %s: a damaged fatbin", name);
	return PTXLINK_ERROR;
}

/* Every container of an object's section. */
static int from_section(struct ptxlink *l, const uint8_t *p, size_t n, const char *name, int lazy)
{
	int err = 0;

	for (size_t at = 0; n - at >= 16 && !err;) {
		size_t header = (size_t)get(p + at + 6, 2), body = (size_t)get(p + at + 8, 8);

		if (get(p + at, 4) != FATBIN_MAGIC) {
			at += 8;
			continue;
		}
		err = fatbin_ptx(l, p + at, n - at, name, lazy);
		if (!err)
			at += header + body;    /* fatbin_ptx has compared them */
		at = (at + 7) & ~(size_t)7;
		if (at > n)
			break;
	}
	return err;
}

static int from_object(struct ptxlink *l, const uint8_t *p, size_t bytes, const char *name, int lazy)
{
	Elf64_Ehdr e;
	Elf64_Shdr s, names;
	int err = 0;

	memcpy(&e, p, sizeof(e));
	if (e.e_shentsize != sizeof(s) || e.e_shoff > bytes || e.e_shnum > (bytes - e.e_shoff) / sizeof(s) || e.e_shstrndx >= e.e_shnum)
		goto damaged;
	memcpy(&names, p + e.e_shoff + e.e_shstrndx * sizeof(s), sizeof(names));
	if (names.sh_offset > bytes || names.sh_size > bytes - names.sh_offset)
		goto damaged;
	for (unsigned i = 0; i < e.e_shnum && !err; i++) {
		const char *what;

		memcpy(&s, p + e.e_shoff + i * sizeof(s), sizeof(s));
		if (s.sh_name >= names.sh_size || s.sh_type == SHT_NOBITS)
			continue;
		what = (const char *)p + names.sh_offset + s.sh_name;
		if (!memchr(what, 0, names.sh_size - s.sh_name) || (strcmp(what, ".nv_fatbin") && strcmp(what, "__nv_relfatbin")))
			continue;
		if (s.sh_offset > bytes || s.sh_size > bytes - s.sh_offset)
			goto damaged;
		err = from_section(l, p + s.sh_offset, s.sh_size, name, lazy);
	}
	return err;
damaged:
	link_say(l, "error   : %s: a damaged object file", name);
	return PTXLINK_ERROR;
}

/* ar(5): 60 bytes before each member. */
static int from_archive(struct ptxlink *l, const uint8_t *p, size_t bytes, const char *name)
{
	int err = 0;

	for (size_t at = 8; bytes - at >= 60 && !err;) {
		char size[11] = "", *end;
		size_t n;

		memcpy(size, p + at + 48, 10);
		n = strtoul(size, &end, 10);
		if (end == size || n > bytes - at - 60) {
			link_say(l, "error   : %s: a damaged archive", name);
			return PTXLINK_ERROR;
		}
		if (n > sizeof(Elf64_Ehdr) && !memcmp(p + at + 60, ELFMAG, SELFMAG)) {
			size_t said = l->log_used;
			int one = vgpu_cubin_elf(p + at + 60, n) ? from_cubin(l, p + at + 60, n, name, 1) :
				  from_object(l, p + at + 60, n, name, 1);

			if (one == PTXLINK_NO_PTX && l->log) {  /* which matters where nothing else defines what is missing */
				l->log_used = said;
				l->log[said] = 0;
			}
			err = one == PTXLINK_NO_PTX ? 0 : one;
		}
		at += 60 + n + (n & 1);
		if (at > bytes)
			break;
	}
	return err;
}

int ptxlink_add(struct ptxlink *l, enum ptxlink_kind kind, const void *data, size_t bytes, const char *name)
{
	const uint8_t *p = data;
	uint32_t magic = 0;

	if (!name || !*name)
		name = "<unnamed>";
	if (bytes >= 4)
		memcpy(&magic, p, 4);
	if (kind != PTXLINK_PTX && bytes >= 8 && !memcmp(p, "!<arch>\n", 8))
		return from_archive(l, p, bytes, name);
	if (kind != PTXLINK_PTX && vgpu_cubin_elf(p, bytes))
		return from_cubin(l, p, bytes, name, 0);
	if (kind != PTXLINK_PTX && bytes > sizeof(Elf64_Ehdr) && !memcmp(p, ELFMAG, SELFMAG) && p[EI_CLASS] == ELFCLASS64)
		return from_object(l, p, bytes, name, 0);
	if (magic == FATBIN_MAGIC)
		return fatbin_ptx(l, p, bytes, name, 0);
	if (kind == PTXLINK_ANY || kind == PTXLINK_PTX)
		return copy_text(l, data, strnlen(data, bytes), name, 0);
	link_say(l, "error   : %s: not what it was said to be (cubin, fatbin, object or library)", name);
	return PTXLINK_ERROR;
}

int ptxlink_add_file(struct ptxlink *l, enum ptxlink_kind kind, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = PTXLINK_ERROR;
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	uint8_t *p = size >= 0 && (size_t)size <= MAX_BYTES ? malloc((size_t)size + 1) : NULL;
	off_t at = 0;

	while (p && at < size) {
		ssize_t n = pread(fd, p + at, (size_t)(size - at), at);

		if (n <= 0)
			break;
		at += n;
	}
	if (p && at == size)
		err = ptxlink_add(l, kind, p, (size_t)size, path);
	else
		link_say(l, "error   : Could not open input file '%s'", path);
	free(p);
	if (fd >= 0)
		close(fd);
	return err;
}
