/* SPDX-License-Identifier: MIT */
/* The PTX of kernels/everyday as bytes of this program. */
#include "bench_kernels.h"

#define EACH(X) X(linear) X(reduce) X(numeric) X(grid) X(model) X(tensor) X(array)

#define HOLD(name) \
	extern const char everyday_##name[]; \
	__asm__(".section .rodata\n.globl everyday_" #name "\neveryday_" #name ":\n" \
		"\t.incbin \"tools/vgpu/kernels/everyday/" #name ".ptx\"\n\t.byte 0\n.previous\n");
EACH(HOLD)

#define ROW(name) { #name, everyday_##name },
const struct ptx_module everyday_modules[] = { EACH(ROW) { NULL, NULL } };
