/* SPDX-License-Identifier: MIT */
/*
 * Every name of libcublas that has no body elsewhere. Declared without parameters: they look at none, and
 * the C calling convention lets the caller pass any.
 */
#include <stdatomic.h>

__attribute__((visibility("hidden"))) int blas_unsupported(atomic_uint *said, const char *name);

#define UNSUPPORTED(fn) \
	__attribute__((visibility("default"))) int fn(void); \
	int fn(void) \
	{ \
		static atomic_uint said; \
		return blas_unsupported(&said, #fn); \
	}

#include "unsupported.def"
