/* SPDX-License-Identifier: MIT */
/*
 * libcublasLt's own declarations, and its ABI: numbers and structures of cublasLt.h. Descriptors may lie in memory of the program's
 * (…Init), as large as the header of its version says: 8 words for a layout or a preference, 23 (CUDA 12.0) or 32 for a product.
 */
#ifndef LT_H
#define LT_H

#include <stddef.h>
#include <stdint.h>

#include "../blas/types.h"

struct lt_layout {
	int32_t type, order, batch_count, unused;
	uint64_t rows, cols;
	int64_t ld, batch_stride, plane;
};
_Static_assert(sizeof(struct lt_layout) <= 64, "8 words");

struct lt_product {
	int32_t compute, scale, pointer_mode, trans_a, trans_b, trans_c, fill;
	uint32_t epilogue;
	uint64_t bias, aux;
	int64_t bias_stride, aux_ld, aux_stride, alpha_stride;
	int32_t sm_count, aux_type, bias_type;
	int8_t fast_accum;
	uint8_t unused[3];
	uint64_t scale_a, scale_b, scale_c, scale_d, amax_d, scale_aux, amax_aux;
};
_Static_assert(sizeof(struct lt_product) <= 184, "23 words");

struct lt_preference {
	uint32_t search, reduction, align_a, align_b, align_c, align_d, impl_unused;
	float waves;
	uint64_t workspace, impl;
};
_Static_assert(sizeof(struct lt_preference) <= 64, "8 words");

struct lt_algo {
	uint32_t config[16];            /* by cublasLtMatmulAlgoConfigAttributes_t; 0: the id, of which there is one */
};

struct lt_heuristic {
	struct lt_algo algo;
	size_t workspace;
	cublasStatus_t state;
	float waves;
	int reserved[4];
};
_Static_assert(sizeof(struct lt_heuristic) == 96, "as in cublasLt.h");

enum { LT_E4M3 = 28, LT_E5M2 = 29 };    /* of cudaDataType */
enum { LT_ORDER_COL, LT_ORDER_ROW };
enum { LT_POINTER_HOST, LT_POINTER_DEVICE };

#pragma GCC visibility push(hidden)
/* matmul.c: what cublasLtMatmul would say to these, but for addresses */
cublasStatus_t lt_check(const struct lt_product *p, const struct lt_layout *a, const struct lt_layout *b, const struct lt_layout *c,
			const struct lt_layout *d);
/* What a product puts beside its matrices: into the caller's workspace, where that has so much, else into memory of its own. */
size_t lt_room(const struct lt_product *p, const struct lt_layout *a, const struct lt_layout *b, const struct lt_layout *c,
	       const struct lt_layout *d);
cublasStatus_t lt_status(CUresult r);
/* complex.c. The type by kernels/levels.h's number, or -1: no product of complex matrices that there is */
int lt_complex(const struct lt_product *p, const struct lt_layout *a, const struct lt_layout *b, const struct lt_layout *c,
	       const struct lt_layout *d);
cublasStatus_t lt_complex_matmul(int type, const struct lt_product *p, const void *alpha, const void *A, const struct lt_layout *a, const void *B,
				 const struct lt_layout *b, const void *beta, const void *C, const struct lt_layout *c, void *D,
				 const struct lt_layout *d, CUstream stream);
/* logger.c */
enum lt_level { LT_ERROR = 1, LT_TRACE, LT_HINTS, LT_INFO, LT_API };
__attribute__((format(printf, 3, 4))) void lt_log(enum lt_level level, const char *function, const char *fmt, ...);
cublasStatus_t lt_unsupported(atomic_uint *said, const char *name);
#pragma GCC visibility pop

#define PUBLIC __attribute__((visibility("default")))
#define LT_UNSUPPORTED(name) \
	do { \
		static atomic_uint said_; \
		return lt_unsupported(&said_, name); \
	} while (0)

#endif
