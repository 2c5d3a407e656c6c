/* SPDX-License-Identifier: MIT */
/*
 * Names that exist and answer NVML_ERROR_NOT_SUPPORTED, the documented answer of a GPU that lacks a sensor; each says
 * its name once. Declared without parameters: the C calling convention lets the caller pass any.
 */
#include <stdatomic.h>

__attribute__((visibility("hidden"))) int ml_unsupported(atomic_uint *said, const char *name, const char *why);

#define UNSUPPORTED(fn) \
	__attribute__((visibility("default"))) int fn(void); \
	int fn(void) \
	{ \
		static atomic_uint said; \
		return ml_unsupported(&said, #fn, ""); \
	}

#include "unsupported.def"
