/* SPDX-License-Identifier: MIT */
/* The PTX of kernels/bench.cu as bytes of this program. */
#include "bench_engine.h"

__asm__(".section .rodata\n"
	".globl bench_ptx\n"
	"bench_ptx:\n"
	"\t.incbin \"tools/vgpu/kernels/bench.ptx\"\n"
	"\t.byte 0\n"
	".previous\n");
