/* SPDX-License-Identifier: MIT */
/* C++ names of kernels as their programs have them, for reports: demangle.c. Names are a client's text, however odd. */
#ifndef VGPU_CPU_DEMANGLE_H
#define VGPU_CPU_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

enum demangle { DEMANGLE_FULL, DEMANGLE_SIMPLE };       /* simple: without result, template arguments and parameters */

/* False: it is no such name, uses what we do not know, or does not fit. out is what name is, then, as far as there is room. */
bool demangle(const char *name, enum demangle how, char *out, size_t room);

#endif
