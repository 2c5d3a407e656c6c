/* SPDX-License-Identifier: MIT */
/*
 * vgpu doctor: NVIDIA's cudart linked into a program or library, as nvcc does by default. One that kept its symbols, or is of 12.8 or
 * newer, is turned over to ours by the audit library (libcuda-lite/turn) that vgpu run sets.
 */
#define _GNU_SOURCE
#include "doctor.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../libcuda-lite/turn/carried.h"

#define MAX_TABLE (256ull << 20)

/* Export tables that NVIDIA's runtimes ask their driver for, of 12 and before, and of 13. */
static const unsigned char tables[][16] = {
	{ 0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1, 0xf2 },
	{ 0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9 },
	{ 0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e, 0xb9, 0xe2, 0xfb, 0x46, 0x9e, 0x7c, 0x0d, 0xd9 },
};

static void *section(const struct elf *e, const Elf64_Shdr *s)
{
	char *p = s->sh_size && s->sh_size <= MAX_TABLE ? malloc(s->sh_size + 1) : NULL;

	if (!p || elf_read(e, s->sh_offset, p, s->sh_size)) {
		free(p);
		return NULL;
	}
	p[s->sh_size] = 0;
	return p;
}

static int stripped_major(const struct elf *e, struct carried *c)
{
	static char names[CARRIED_NAMES];
	struct carried_image im = { .bytes = e->bytes, .ph = e->ph, .nph = e->nph };
	void *p = e->fd < 0 ? MAP_FAILED : mmap(NULL, e->bytes, PROT_READ, MAP_PRIVATE, e->fd, 0);
	int major;

	if (e->fd >= 0 && p == MAP_FAILED)
		return -1;
	im.file = e->fd < 0 ? e->mem : p;
	major = carried_stripped(c, &im, names, sizeof(names)) ? -1 : (int)c->major;
	if (e->fd >= 0)
		munmap(p, e->bytes);
	return major;
}

int carried_major(const struct elf *e)
{
	static struct carried c;
	int major = -1;

	for (unsigned i = 1; i < e->nsh && major < 0; i++) {
		const Elf64_Shdr *s = &e->sh[i], *t = s->sh_link < e->nsh ? &e->sh[s->sh_link] : NULL;
		Elf64_Sym *sym = NULL;
		char *str;

		if (s->sh_type != SHT_SYMTAB || !t)
			continue;
		str = section(e, t);
		if (str && carried_hint(str, t->sh_size) && (sym = section(e, s)) &&
		    !carried_find(&c, sym, s->sh_size / sizeof(*sym), str, t->sh_size) && c.entries)
			major = (int)c.major;
		free(sym);
		free(str);
	}
	if (major < 0)
		major = stripped_major(e, &c);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && major < 0; i++)
		if (elf_find(e, tables[i], sizeof(tables[i])))
			major = 0;
	return major < 0 && elf_find(e, "libcudart_static_", 17) ? 0 : major;
}

void check_carried(struct doctor *d, const struct object *o)
{
	int major = o->elf.bits == 64 ? carried_major(&o->elf) : -1, is_static = !o->elf.interp && !o->elf.dynamic;
	const char *audit = env_get(d->env, "LD_AUDIT"), *name = base(o->path);

	if (major < 0 || has_marker(&o->elf))
		return;
	if (major >= 11 && !is_static) {
		if (audit && strstr(audit, RUN_AUDIT))
			report(d, GOOD, "static cudart", NULL, "cudart %d inside %s, turned over to our libcudart.so.%d by LD_AUDIT", major, name,
			       major == 11 ? 12 : major);
		else
			report(d, FAIL, "static cudart", text("%s, or LD_AUDIT=%s/" RUN_AUDIT " in its environment", d->how, d->lib),
			       "cudart %d inside, linked into %s: it accepts no libcuda but NVIDIA's (error 500, named symbol not found); "
			       "turned over by vgpu run", major, name);
		return;
	}
	report(d, FAIL, "static cudart", "build it with 'nvcc -cudart shared' (or link libcuda-lite.a instead of libcudart_static.a)",
	       "NVIDIA's own cudart is linked into %s: it accepts no libcuda but NVIDIA's (error 500, named symbol not found)%s", name,
	       is_static ? ", and a static program has no loader that would turn it over" :
	       major ? "; it is older than CUDA 11" : "; without its symbols, one before 12.8 cannot be turned over");
}
