/* SPDX-License-Identifier: MIT */
/*
 * Which GPU code an ELF file carries: the headers of its fat binary containers, nothing decompressed.
 * The layout is described in tools/vgpu-stub/cpu/fatbin.h; this walk reads through elf_read, since the section of one
 * ggml library is 350 MB, and needs no lz4 or zstd.
 */
#ifndef VGPU_FATLIST_H
#define VGPU_FATLIST_H

#include "elf.h"

#define FATLIST_ARCHS 48u

struct fatlist_arch {
	unsigned arch;                  /* 61 is sm_61 */
	char suffix;                    /* 'a', 'f', or 0 */
	unsigned containers;            /* that have it */
	unsigned last;                  /* number of the latest of them */
};
struct fatlist {
	unsigned containers, damaged;
	unsigned stubs;                 /* not counted: what nvcc's device linker adds, a few hundred bytes, no kernel */
	unsigned exact, usable;         /* containers with PTX for exactly this device; for it or below */
	unsigned nptx, nelf;
	uint64_t beyond_at, beyond_bytes;       /* the last container whose PTX is all for devices above this one; 0: none */
	struct fatlist_arch ptx[FATLIST_ARCHS], elf[FATLIST_ARCHS];
};

/* cc: 61 for compute capability 6.1. 0; all counts stay 0 where there is no GPU code. */
void fatlist_read(const struct elf *e, unsigned cc, struct fatlist *out);

#endif
