/* SPDX-License-Identifier: MIT */
/* The one argument of the kernels of reduce.cu; both sides include it. */
#ifndef NCCL_REDUCE_H
#define NCCL_REDUCE_H

#define REDUCE_THREADS 256
#define REDUCE_SOURCES 32
#define REDUCE_NOBODY 0xffffffffu

enum { REDUCE_SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN };

struct reduce_call {
	unsigned long long dst, count;
	unsigned long long scale_at, scale;     /* of source `own`: where it is in device memory, or its bits */
	unsigned int sources, own;              /* REDUCE_NOBODY: nothing is scaled */
	unsigned int op, divide;                /* by how many ranks the result is divided; 0: not */
	unsigned long long src[REDUCE_SOURCES];
};

#endif
