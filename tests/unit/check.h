/* SPDX-License-Identifier: MIT */
/* What does not hold is said with its line and counted; the test goes on. */
#ifndef VGPU_TESTS_CHECK_H
#define VGPU_TESTS_CHECK_H

#include <stdio.h>

static unsigned failed, checks;

#define CHECK(x) check(!!(x), #x, __LINE__)

static void check(int ok, const char *what, int line)
{
	checks++;
	if (!ok) {
		failed++;
		printf("FAIL line %d: %s\n", line, what);
	}
}

#endif
