/* SPDX-License-Identifier: MIT */
/*
 * NVIDIA's own libraries that run here when they think the device is newer than they are. Called by device.c; of a traced call by its
 * wrapper too, which alone knows who calls.
 *
 * libcurand of CUDA 13 (10.4 and later) has each kernel several times, in images of their own: as machine code for the architectures that
 * it knows, and once as PTX for those that come after it. Which it loads it decides by the device's compute capability alone, and an
 * image of machine code is of no use here. So this library, and nobody else, is told one that is to come: it loads its PTX.
 */
#define _GNU_SOURCE
#include "rt.h"

#include <link.h>
#include <string.h>

#define NEWER 99        /* major */

struct question { uintptr_t at; int found, newer; };

static int wants_ptx(const char *path)
{
	const char *name = strrchr(path, '/');

	return !strncmp(name ? name + 1 : path, "libcurand.so.", 13);
}

static int look(struct dl_phdr_info *o, size_t bytes, void *arg)
{
	struct question *q = arg;

	(void)bytes;
	for (int i = 0; i < o->dlpi_phnum && !q->found; i++) {
		const ElfW(Phdr) *p = &o->dlpi_phdr[i];

		q->found = p->p_type == PT_LOAD && q->at - (o->dlpi_addr + p->p_vaddr) < p->p_memsz;
	}
	if (q->found)
		q->newer = o->dlpi_name && wants_ptx(o->dlpi_name);
	return q->found;
}

void rt_asked(int *value, enum cudaDeviceAttr attr, cudaError_t error, const void *caller)
{
	struct question q = { .at = (uintptr_t)caller };

	if (attr != cudaDevAttrComputeCapabilityMajor || error != cudaSuccess)
		return;
	dl_iterate_phdr(look, &q);
	if (q.newer)
		*value = NEWER;
}
