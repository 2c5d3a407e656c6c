/* SPDX-License-Identifier: MIT */
/* What kernel.py's kernels include: csmith's arithmetic without undefined behaviour, for both sides; the kernels; the host's program. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <new>

#if defined(__CUDACC__) || defined(__CUDA__)
#define DEVICE __device__
#else
#define DEVICE
#endif

#define UNDEFINED(x) (x)
#define LOG_INDEX
#define LOG_EXEC
#define STATIC DEVICE static inline
#define FUNC_NAME(x) (safe_##x)
#include "safe_int.h"           /* csmith's safe_math.h without floats: run.sh */
#define INT_BIT (sizeof(int) * CHAR_BIT)
#define _CSMITH_BITFIELD(x) ((x) > INT_BIT ? (x) % INT_BIT : (x))

#if defined(__CUDACC__) || defined(__CUDA__)
/* Each thread's program in local memory; in global memory; the same program in all threads of a block. */
#define KERNELS(program) \
	extern "C" __device__ uint64_t program_bytes = sizeof(program); \
	extern "C" __global__ void in_local(uint64_t *out, program *) \
	{ \
		uint32_t t = blockIdx.x * blockDim.x + threadIdx.x; \
		program p; \
		out[t] = p.run(t); \
	} \
	extern "C" __global__ void in_global(uint64_t *out, program *all) \
	{ \
		uint32_t t = blockIdx.x * blockDim.x + threadIdx.x; \
		program *p = new (&all[t]) program; \
		out[t] = p->run(t); \
	} \
	extern "C" __global__ void alike(uint64_t *out, program *) \
	{ \
		uint32_t t = blockIdx.x * blockDim.x + threadIdx.x; \
		program p; \
		out[t] = p.run(blockIdx.x); \
	}
#else
/* of so many threads, a line each */
#define KERNELS(program) \
	int main(int argc, char **argv) \
	{ \
		void *memory = malloc(sizeof(program)); \
		for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 0); i++) \
			printf("%016llx\n", (unsigned long long)(new (memory) program)->run((uint32_t)i)); \
		free(memory); \
		return 0; \
	}
#endif
