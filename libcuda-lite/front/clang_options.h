/* SPDX-License-Identifier: MIT */
/* NVRTC's options in the words of `vgpu cc --rtc`. */
#ifndef VGPU_FRONT_CLANG_OPTIONS_H
#define VGPU_FRONT_CLANG_OPTIONS_H

#include <stddef.h>

struct clang_asked {
	unsigned arch;
	int device_default;     /* functions that say nothing are the device's */
	char **words;
	size_t n;
	const char *refused;    /* why the option that is returned is not taken; NULL: it is none */
};

/* NULL, or the option that is not taken. */
const char *clang_options(int n, const char *const *options, struct clang_asked *to);
void clang_options_free(struct clang_asked *a);

#endif
