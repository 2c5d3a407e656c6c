/* SPDX-License-Identifier: MIT */
/*
 * Every name of libcudart that has no body elsewhere: it exists, so that programs which import it load,
 * answers cudaErrorNotSupported and says its name once on stderr.
 *
 * Called by programs that go beyond what unsupported.def lists. The entry points are declared without
 * parameters here: they look at none, and the C calling convention lets the caller pass any.
 */
#include <stdatomic.h>

#include "cuda_lite_runtime_errors.h"
#include "rt_names.h"

__attribute__((visibility("hidden"))) cudaError_t rt_unsupported(atomic_uint *said, const char *name);

#define UNSUPPORTED(fn) \
	__attribute__((visibility("default"))) cudaError_t fn(void); \
	cudaError_t fn(void) \
	{ \
		static atomic_uint said; \
		return rt_unsupported(&said, #fn); \
	}

#include "unsupported.def"
