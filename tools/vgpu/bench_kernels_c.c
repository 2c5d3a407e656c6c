/* SPDX-License-Identifier: MIT */
/*
 * The C of kernels/everyday, a shared object as bytes of this program. It needs glibc's vector functions (libmvec), and vgpu is run as
 * nvidia-smi where nothing is but libc: so it is loaded when it is wanted.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench_kernels.h"
#include "vgpu.h"

extern const char everyday_so[], everyday_so_end[];
__asm__(".section .rodata\n.balign 16\n.globl everyday_so\neveryday_so:\n\t.incbin \"" EVERYDAY_SO "\"\n.globl everyday_so_end\neveryday_so_end:\n.previous\n");

/* Of a package the C is for processors with AVX2, whatever machine built it. */
int c_runs_here(void)
{
	if (!strcmp(BENCH_MARCH, "native") || __builtin_cpu_supports("avx2"))
		return 1;
	complain("bench: the C to compare with was compiled for " BENCH_MARCH ", and this processor has no AVX2: build vgpu here");
	return 0;
}

static void *load(void)
{
	size_t n = (size_t)(everyday_so_end - everyday_so);
	int fd = memfd_create("everyday", MFD_CLOEXEC);
	void *so = NULL;
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd >= 0 && write(fd, everyday_so, n) == (ssize_t)n)
		so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!so)
		complain("bench: the algorithms in C cannot be loaded: %s", fd >= 0 ? dlerror() : "no memory file");
	if (fd >= 0)
		close(fd);
	return so;
}

const struct c_function *c_functions(const char *table)
{
	static void *so;

	if (!so && c_runs_here())
		so = load();
	return so ? dlsym(so, table) : NULL;
}
