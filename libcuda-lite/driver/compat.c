/* SPDX-License-Identifier: MIT */
/*
 * Older names whose signature on 64-bit machines equals the newer one's: programs that look names up
 * with dlsym ask for them unsuffixed. Those that took 32-bit device pointers stay unsupported: they
 * could not name our memory.
 */
#include "driver.h"

#define SAME(old, new, params, args) \
	__attribute__((visibility("default"))) CUresult old params; \
	CUresult old params { return new args; }
#include "compat.def"
