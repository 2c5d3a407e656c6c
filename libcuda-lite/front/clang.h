/* SPDX-License-Identifier: MIT */
/* NVRTC's programs where NVIDIA's is not installed: clang, a process of its own behind `vgpu cc --rtc`, compiles them (nvrtc.c calls this). */
#ifndef VGPU_FRONT_CLANG_H
#define VGPU_FRONT_CLANG_H

#include <stddef.h>

/* nvrtcResult */
enum { SUCCESS, OUT_OF_MEMORY, CREATION_FAILURE, INVALID_INPUT, INVALID_PROGRAM, INVALID_OPTION, COMPILATION, NAMES_AFTER_COMPILATION = 8,
       NO_LOWERED_NAMES = 9, NO_SUCH_NAME = 10, INTERNAL_ERROR = 11 };

struct clang;

/* Is a compiler there, and vgpu, which knows how to ask it? */
int clang_there(void);
/* The architectures that it knows, ascending: their number; to may be NULL. */
int clang_archs(int *to);

int clang_create(struct clang **c, const char *source, const char *name, int n, const char *const *headers, const char *const *names);
void clang_destroy(struct clang *c);
int clang_add_name(struct clang *c, const char *expression);
int clang_compile(struct clang *c, int n, const char *const *options);
int clang_lowered(struct clang *c, const char *expression, const char **lowered);
/* After a compilation; "" before one, and where there is none. */
const char *clang_ptx(const struct clang *c);
const char *clang_log(const struct clang *c);

#endif
