/* SPDX-License-Identifier: MIT */
/* Lane operations for any x86-64, and the choice between the tables. */
#include "vectorize.h"
#define LANES_NAME lanes_base
#define LANES_TEXT "sse2"
#include "lanes.inc"

#include <cpuid.h>
#include <stdlib.h>

/* F16C, which clang 14 has no name for */
static bool halves(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}

static const struct lane_table *choose(void)
{
	const char *want = getenv("VGPU_CPU_ISA");      /* for tests: base, avx2 */

	__builtin_cpu_init();
	if (want && !strcmp(want, "base"))
		return &lanes_base;
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
	    !(want && !strcmp(want, "avx2")))
		return &lanes_avx512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && halves())
		return &lanes_avx2;
	return &lanes_base;
}

const struct lane_table *lanes_get(void)
{
	static const struct lane_table *chosen;
	const struct lane_table *t = __atomic_load_n(&chosen, __ATOMIC_RELAXED);

	if (!t) {               /* threads that race here choose the same */
		t = choose();
		__atomic_store_n(&chosen, t, __ATOMIC_RELAXED);
	}
	return t;
}
