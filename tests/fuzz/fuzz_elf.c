/* SPDX-License-Identifier: MIT */
/*
 * The ELF reader and the fat binary list of vgpu doctor, on any bytes: they read files of other
 * people. Entry point for libFuzzer or standalone.c.
 */
#include "../../tools/vgpu/elf.h"
#include "../../tools/vgpu/fatlist.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	unsigned n;
	size_t bytes;
};

static int each(void *owner, const struct elf_symbol *s)
{
	struct seen *w = owner;

	/* every string ends */
	w->bytes += strlen(s->name) + strlen(s->version) + (s->file ? strlen(s->file) : 0);
	return ++w->n >= 2000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen w = { 0, 0 };
	struct fatlist f;
	struct elf e;

	if (elf_from_memory(&e, data, size))
		return 0;
	for (unsigned i = 0; i < e.nneeded; i++)
		w.bytes += strlen(e.needed[i]);
	w.bytes += e.soname ? strlen(e.soname) : 0;
	w.bytes += e.rpath ? strlen(e.rpath) : 0;
	w.bytes += e.runpath ? strlen(e.runpath) : 0;
	w.bytes += e.interp ? strlen(e.interp) : 0;
	elf_symbols(&e, each, &w);
	elf_find(&e, "cudart", 6);
	fatlist_read(&e, 75, &f);
	/* no count without its reason */
	if (f.exact > f.containers || f.usable > f.containers || f.nptx > FATLIST_ARCHS || f.nelf > FATLIST_ARCHS)
		abort();
	elf_close(&e);
	return 0;
}
