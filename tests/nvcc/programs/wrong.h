/* SPDX-License-Identifier: MIT */
/* Scenarios that count what is wrong line by line: WANT in them, done() behind each. */
#pragma once
#include "check.h"

static int wrong;

#define WANT_OF(what, cond) do { \
	if (!(cond)) { \
		printf("  line %d: %s: %s\n", __LINE__, what, #cond); \
		wrong++; \
	} \
} while (0)
#define WANT(cond) WANT_OF("not so", cond)

static void done(const char *name)
{
	failures += wrong != 0;
	printf(wrong ? "FAIL %s %d\n" : "ok %s\n", name, wrong);
	wrong = 0;
}
