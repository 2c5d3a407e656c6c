/* SPDX-License-Identifier: MIT */
/*
 * The container that stands where a cubin is expected: an ELF file for NVIDIA's machine type (EM_CUDA) that holds PTX as a
 * section, and no machine code. Our ptxas, nvlink, libnvJitLink and libnvrtc write it; every loader takes it, and so does
 * the engine, also as the ELF entry of a fatbin. A cubin of NVIDIA's is an ELF of the same machine without the note.
 *
 *      0  ELF header, section headers last: its end is the end of the file
 *     64  .note.vgpu     struct vgpu_cubin_note behind an ELF note header, "vgpu", type 1
 *         .vgpu.ptx      the text, one NUL behind it
 *         .nv.global.init   values of variables, and .nv.global: those without any, nothing in the file
 *         .symtab        one function per .entry: place and length of its text in .vgpu.ptx; one object per variable that it is told of
 *         .strtab, .shstrtab
 *
 * Freestanding but for memcpy, memset, memcmp and strlen. Reading believes no number that it has not compared.
 */
#ifndef VGPU_CUBIN_H
#define VGPU_CUBIN_H

#include <stddef.h>
#include <stdint.h>

#define VGPU_CUBIN_VERSION 1u
#define VGPU_CUBIN_MAX ((uint64_t)1 << 30)
#define VGPU_CUBIN_MACHINE 190u                 /* EM_CUDA */

struct vgpu_cubin_note {
	uint32_t version;
	uint32_t target;                        /* 80: made for sm_80 */
	uint32_t maxrregcount;                  /* 0: not given */
	uint16_t relocatable;                   /* ptxas -c: to be linked */
	char suffix;                            /* sm_90a's 'a', or 0 */
	char name[45];                          /* file or program that it was made of, cut; NUL-terminated */
	uint64_t bytes;                         /* of the whole file */
	uint64_t ptx_at, ptx_bytes;             /* without its NUL */
};
_Static_assert(sizeof(struct vgpu_cubin_note) == 88, "vgpu_cubin_note");

/* What people read out of the file: LLVM's OpenMP looks there for how a kernel is to be launched. Loaders read the text alone. */
struct vgpu_cubin_var {
	const char *name;
	const void *init;                       /* NULL: zeroes, in .nv.global */
	uint64_t bytes;
};

struct vgpu_cubin {
	unsigned target, maxrregcount, relocatable;
	char suffix;
	const char *name;                       /* may be NULL */
	const char *ptx;
	uint64_t ptx_bytes;
	uint64_t bytes;                         /* read: of the whole file */
	const struct vgpu_cubin_var *vars;      /* written only */
	uint32_t nvars;
};

/* Is it an ELF file for NVIDIA's machine, ours or theirs? `room` bytes may be read. */
int vgpu_cubin_elf(const void *image, uint64_t room);
/* Does it say that it is ours? It may still be damaged. */
int vgpu_cubin_ours(const void *image, uint64_t room);
/*
 * 0: ours, *out filled in, with pointers into the image; -1: not ours, or damaged. room UINT64_MAX: the caller was told no
 * length and the image is believed.
 */
int vgpu_cubin_read(const void *image, uint64_t room, struct vgpu_cubin *out);
/* Bytes that it takes; written when they are no more than `room`. 0: larger than VGPU_CUBIN_MAX. */
uint64_t vgpu_cubin_write(const struct vgpu_cubin *c, void *to, uint64_t room);

/* ".entry NAME" of a text: the next one from *at on, outside comments and strings. NULL: there is none. */
const char *vgpu_cubin_entry(const char *ptx, uint64_t bytes, uint64_t *at, uint64_t *name_bytes);
/* What .target says: 80 for sm_80, with its suffix or 0; 0 where it says nothing. */
unsigned vgpu_cubin_target(const char *ptx, uint64_t bytes, char *suffix);

#endif
