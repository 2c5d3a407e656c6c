/* SPDX-License-Identifier: MIT */
/*
 * Lists the GPU code of an ELF file: see fatlist.h. Invariant as in elf.c: lengths are compared with what
 * is left, and each step goes forward.
 */
#include "fatlist.h"

#include <string.h>

#include "../vgpu-stub/cpu/fatbin.h"    /* the format's numbers only; its functions are not linked */

#define CONTAINER_BYTES 16u
#define ENTRY_BYTES 64u
#define MAX_ENTRIES 200000u
#define STUB_BYTES 2048u                /* a cubin with a kernel is larger, even compressed few are below */
#define GAP_WORDS 512u                  /* words without a container that are read at once */

struct walk {
	const struct elf *e;
	struct fatlist *out;
	unsigned cc, entries;
	int linked;                     /* one container more may be without PTX: what the device linker made of parts that have it */
	uint64_t at, bytes;             /* of this container, with its header */
};

static void note(struct fatlist_arch *list, unsigned *n, unsigned arch, char suffix, unsigned container)
{
	for (unsigned i = 0; i < *n; i++) {
		if (list[i].arch != arch || list[i].suffix != suffix)
			continue;
		list[i].containers += list[i].last != container;
		list[i].last = container;
		return;
	}
	if (*n < FATLIST_ARCHS)
		list[(*n)++] = (struct fatlist_arch){ arch, suffix, 1, container };
}

/* As the engine chooses: "a" code for exactly that device, "f" code within the major, else any lower arch. */
static int runs(unsigned arch, char suffix, unsigned cc)
{
	if (!arch || arch > cc)
		return 0;
	if (suffix == 'a')
		return arch == cc;
	return suffix != 'f' || arch / 10 == cc / 10;
}

/* The entries of one container at `at`, of `left` bytes; -1 where they are damaged. */
static int container(struct walk *w, uint64_t at, uint64_t left)
{
	struct fatlist *o = w->out;
	unsigned number = ++o->containers, code = 0, nptx = o->nptx, nelf = o->nelf;
	int exact = 0, usable = 0, ptx = 0, bad = 0, stub = 1;

	while (left) {
		uint8_t p[ENTRY_BYTES];
		uint64_t payload, flags;
		uint32_t header, arch;
		uint16_t kind;
		char suffix;

		if (left < ENTRY_BYTES || w->entries++ > MAX_ENTRIES || elf_read(w->e, at, p, sizeof(p))) {
			bad = -1;
			break;
		}
		memcpy(&kind, p, 2);
		memcpy(&header, p + 4, 4);
		memcpy(&payload, p + 8, 8);
		memcpy(&arch, p + 28, 4);
		memcpy(&flags, p + 40, 8);
		if (header < ENTRY_BYTES || header > left || payload > left - header) {
			bad = -1;
			break;
		}
		suffix = flags & FATBIN_FLAG_SPECIFIC ? 'a' : flags & FATBIN_FLAG_FAMILY ? 'f' : 0;
		if (kind == FATBIN_PTX) {
			note(o->ptx, &o->nptx, arch, suffix, number);
			usable |= runs(arch, suffix, w->cc);
			exact |= arch == w->cc;
			code = ptx = 1;
			stub = 0;
		} else if (kind == FATBIN_ELF) {
			note(o->elf, &o->nelf, arch, suffix, number);
			code = 1;
		}
		stub &= payload <= STUB_BYTES;
		at += header + payload;
		left -= header + payload;
	}
	if (!bad && code && !ptx && w->linked) {
		w->linked = 0;
		stub = 1;
	}
	if (!bad && (!code || stub)) {  /* an empty one asks for nothing */
		o->containers--;
		o->stubs += code != 0;
		o->nptx = nptx;
		o->nelf = nelf;
		return 0;
	}
	o->exact += exact != 0;
	o->usable += usable != 0;
	o->damaged += bad != 0;
	if (!bad && ptx && !usable) {
		o->beyond_at = w->at;
		o->beyond_bytes = w->bytes;
	}
	return bad;
}

static void section(struct walk *w, const Elf64_Shdr *s)
{
	uint64_t at = s->sh_offset, end, words[GAP_WORDS];

	if (at > w->e->bytes || s->sh_size > w->e->bytes - at)
		return;
	end = at + s->sh_size;
	while (end - at >= CONTAINER_BYTES) {
		uint64_t n = (end - at) / 8, i;
		uint32_t magic;
		uint16_t version, header;
		uint64_t body;

		n = n < GAP_WORDS ? n : GAP_WORDS;
		if (at + 8 * n < end - 8 && w->entries++ > MAX_ENTRIES)
			return;
		/* mostly the next container is right here; do not read ahead in vain */
		if (elf_read(w->e, at, words, 16))
			return;
		memcpy(&magic, words, 4);
		if (magic != FATBIN_MAGIC) {
			if (elf_read(w->e, at, words, n * 8))
				return;
			for (i = 1; i < n; i++) {
				memcpy(&magic, &words[i], 4);
				if (magic == FATBIN_MAGIC)
					break;
			}
			at += i * 8;
			continue;
		}
		memcpy(&version, (char *)words + 4, 2);
		memcpy(&header, (char *)words + 6, 2);
		body = words[1];
		if (version != 1 || header < CONTAINER_BYTES || header > end - at || body > end - at - header) {
			w->out->damaged++;
			at += 8;
			continue;
		}
		w->at = at;
		w->bytes = header + body;
		if (container(w, at + header, body) && w->entries > MAX_ENTRIES)
			return;
		at += header + body;
	}
}

void fatlist_read(const struct elf *e, unsigned cc, struct fatlist *out)
{
	struct walk w = { .e = e, .out = out, .cc = cc };
	const Elf64_Shdr *s;

	memset(out, 0, sizeof(*out));
	/* nvcc -rdc=true: the parts, which our runtime links; then what NVIDIA's device linker made of them, machine code alone */
	s = elf_section(e, "__nv_relfatbin");
	if (s && s->sh_type != SHT_NOBITS)
		section(&w, s);
	w.linked = out->nptx > 0;
	s = elf_section(e, ".nv_fatbin");
	if (s && s->sh_type != SHT_NOBITS)
		section(&w, s);
}
