/* SPDX-License-Identifier: MIT */
/*
 * found [-d TIMES] FILE STRIPPED: are the entry points of a cudart that are found without symbols those that FILE's symbols name? With
 * -d: STRIPPED is damaged in many ways first, and nothing may be found then that is not an entry point of the very runtime, nor
 * anything read outside the file (it lies against a page that cannot be read).
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../libcuda-lite/turn/carried.h"

static uint8_t *whole(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	size_t room;
	uint8_t *p;

	if (!f || fseek(f, 0, SEEK_END)) {
		perror(path);
		exit(1);
	}
	*n = (size_t)ftell(f);
	rewind(f);
	/* its end at that of a page, but for alignment, and the next page is nobody's */
	room = (*n + 4095) & ~(size_t)4095;
	p = mmap(NULL, room + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || mprotect(p + room, 4096, PROT_NONE) || fread(p + room - ((*n + 15) & ~(size_t)15), 1, *n, f) != *n)
		exit(1);
	fclose(f);
	return p + room - ((*n + 15) & ~(size_t)15);
}

static struct carried with, without;
static char names[CARRIED_NAMES];
static const char *str;

static int in_both(const struct carried_fn *f)
{
	const struct carried_fn *g = carried_at(&with, f->addr);

	return g && g->entry && !strcmp(str + g->name, names + f->name) && f->room <= g->room + 16;
}

int main(int argc, char **argv)
{
	unsigned times = argc == 5 && !strcmp(argv[1], "-d") ? (unsigned)atoi(argv[2]) : 0, hits = 0, none = 0;
	size_t n, m;
	uint8_t *a, *b, *was;
	const Elf64_Ehdr *h;
	const Elf64_Shdr *s;
	struct carried_image im;

	if (argc != (times ? 5 : 3))
		return 2;
	a = whole(argv[argc - 2], &n);
	b = whole(argv[argc - 1], &m);
	h = (const Elf64_Ehdr *)a;
	s = (const Elf64_Shdr *)(a + h->e_shoff);
	for (unsigned i = 0; i < h->e_shnum; i++)
		if (s[i].sh_type == SHT_SYMTAB) {
			str = (const char *)a + s[s[i].sh_link].sh_offset;
			carried_find(&with, (const Elf64_Sym *)(a + s[i].sh_offset), s[i].sh_size / sizeof(Elf64_Sym), str, s[s[i].sh_link].sh_size);
		}
	h = (const Elf64_Ehdr *)b;
	im = (struct carried_image){ .file = b, .bytes = m, .ph = (const Elf64_Phdr *)(b + h->e_phoff), .nph = h->e_phnum };
	if (!times) {
		if (carried_stripped(&without, &im, names, sizeof(names)))
			return puts("not found"), 1;
		for (unsigned i = 0; i < without.n; i++)
			if (!in_both(&without.fn[i]))
				return printf("%s is not at 0x%llx\n", names + without.fn[i].name, (unsigned long long)without.fn[i].addr), 1;
		for (unsigned i = 0; i < with.n; i++)
			/* which returns NULL and is left alone */
			if (with.fn[i].entry && !carried_at(&without, with.fn[i].addr) && strcmp(str + with.fn[i].name, "__cudaGetProcAddress"))
				return printf("%s is missing\n", str + with.fn[i].name), 1;
		if (without.major != with.major)
			return printf("major %u, not %u\n", without.major, with.major), 1;
		printf("%u of %u entry points, runtime %u\n", without.entries, with.entries, without.major);
		return 0;
	}
	was = malloc(m);
	if (!was)
		return 1;
	memcpy(was, b, m);
	srand(7);
	for (unsigned t = 0; t < times; t++) {
		const Elf64_Phdr *table = (const Elf64_Phdr *)(was + ((const Elf64_Ehdr *)was)->e_phoff);
		unsigned changes = 1 + (unsigned)rand() % 4;

		while (table->p_type != PT_GNU_EH_FRAME)
			table++;
		for (unsigned k = 0; k < changes; k++) {
			uint32_t v = rand() % 3 ? (uint32_t)rand() << 1 : (uint32_t)(rand() % 64);
			size_t at;

			switch (rand() % 4) {
			case 0: at = table->p_offset + (size_t)rand() % 12; break;
			case 1: at = table->p_offset + 12 + (size_t)rand() % (table->p_filesz - 16); break;
			case 2: at = ((const Elf64_Ehdr *)was)->e_phoff + (size_t)rand() % (im.nph * sizeof(Elf64_Phdr)); break;
			default: at = (size_t)rand() % (m - 4); break;
			}
			memcpy(b + at, &v, 4);
		}
		if (carried_stripped(&without, &im, names, sizeof(names))) {
			none++;
		} else {
			hits++;
			for (unsigned i = 0; i < without.n; i++)
				if (!carried_at(&with, without.fn[i].addr) || !carried_at(&with, without.fn[i].addr)->entry)
					return printf("after damage, %s is at 0x%llx\n", names + without.fn[i].name, (unsigned long long)without.fn[i].addr), 1;
		}
		memcpy(b, was, m);
	}
	free(was);
	printf("%u files, found in %u, refused in %u\n", times, hits, none);
	return !hits || !none;
}
