/* SPDX-License-Identifier: MIT */
/* What the fuzzer has been given, taken piece by piece; zeroes behind its end. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stdint.h>
#include <string.h>

static const uint8_t *in;
static size_t left;

static inline void take(void *to, size_t n)
{
	size_t got = n < left ? n : left;

	memset(to, 0, n);
	memcpy(to, in, got);
	in += got;
	left -= got;
}

static inline unsigned byte(void)
{
	uint8_t b;

	take(&b, 1);
	return b;
}

#endif
