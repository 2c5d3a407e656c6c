/* SPDX-License-Identifier: MIT */
/*
 * Walks the GPU code of a file: see gpucode.h. Invariant as in elf.c: lengths are compared with what is left, and
 * each step goes forward.
 */
#include "gpucode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../fw-protocol/vgpu_cubin.h"
#include "../vgpu-stub/cpu/fatbin.h"
#include "elf.h"

#define MAX_IMAGE (1ull << 30)

typedef int (*each_fn)(void *owner, const void *image, size_t bytes);

/* The containers of a section or file, one after the other, with padding between them. */
static int containers(const struct elf *e, uint64_t at, uint64_t bytes, each_fn each, void *owner)
{
	uint64_t end = at + bytes;

	while (end - at >= 16) {
		struct { uint32_t magic; uint16_t version, header; uint64_t body; } h;
		void *copy;
		int err;

		if (elf_read(e, at, &h, sizeof(h)))
			return -EIO;
		if (h.magic != FATBIN_MAGIC) {
			at += 8;
			continue;
		}
		if (h.header < 16 || h.header > end - at || h.body > end - at - h.header || h.body > MAX_IMAGE)
			return each(owner, NULL, 0);
		copy = malloc(h.header + h.body);
		if (!copy)
			return -ENOMEM;
		err = elf_read(e, at, copy, h.header + h.body) ? -EIO : each(owner, copy, h.header + h.body);
		free(copy);
		if (err)
			return err;
		at += h.header + h.body;
	}
	return 0;
}

/* Not ELF: a fatbin as it is, or PTX text. */
static int plain(const char *path, each_fn each, void *owner)
{
	FILE *f = fopen(path, "rb");
	char *image = NULL;
	uint32_t magic = 0;
	long bytes = 0;
	int err = 0;

	if (!f)
		return -errno;
	if (fseek(f, 0, SEEK_END) || (bytes = ftell(f)) < 0 || fseek(f, 0, SEEK_SET))
		err = -errno;
	else if ((uint64_t)bytes > MAX_IMAGE || !(image = malloc((size_t)bytes + 1)))
		err = -ENOMEM;
	else if (fread(image, 1, (size_t)bytes, f) != (size_t)bytes)
		err = -EIO;
	fclose(f);
	if (!err) {
		struct elf e = { .fd = -1, .mem = (const uint8_t *)image, .bytes = (uint64_t)bytes };

		if (bytes >= 16)
			memcpy(&magic, image, 4);
		image[bytes] = 0;
		err = magic == FATBIN_MAGIC ? containers(&e, 0, (uint64_t)bytes, each, owner) :
		      each(owner, image, (size_t)bytes);
	}
	free(image);
	return err;
}

int gpucode_each(const char *path, each_fn each, void *owner)
{
	static const char *const sections[] = { ".nv_fatbin", "__nv_relfatbin" };
	struct elf e;
	int err = elf_open(&e, path);

	if (err == -ENOEXEC)
		return plain(path, each, owner);
	if (err)
		return err;
	if (e.machine == VGPU_CUBIN_MACHINE) {  /* ours holds PTX; what NVIDIA's holds the engine says */
		elf_close(&e);
		return plain(path, each, owner);
	}
	for (int i = 0; i < 2 && !err; i++) {
		const Elf64_Shdr *s = elf_section(&e, sections[i]);

		if (!s || s->sh_type == SHT_NOBITS)
			continue;
		err = s->sh_offset > e.bytes || s->sh_size > e.bytes - s->sh_offset ? -EINVAL :
		      containers(&e, s->sh_offset, s->sh_size, each, owner);
	}
	elf_close(&e);
	return err;
}
