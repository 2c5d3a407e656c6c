/* SPDX-License-Identifier: MIT */
/* Which compute capability the private device of vgpu run gets: by the GPU code that the command brings. */
#ifndef VGPU_CHOOSE_H
#define VGPU_CHOOSE_H

#include <stddef.h>

#define DEFAULT_CC 61                   /* vgpu-stub's */

/* 75 for 7.5; why: what it was chosen by, for a person. cmd is NULL-terminated. */
unsigned choose_cc(char **cmd, char *const *env, char *why, size_t bytes);

#endif
