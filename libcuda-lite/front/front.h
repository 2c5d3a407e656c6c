/* SPDX-License-Identifier: MIT */
/*
 * Our libnvrtc and libnvJitLink stand in front of NVIDIA's own, which compile CUDA C++ and LTO-IR to PTX: this finds them.
 * The audit library (libcuda-lite/turn) puts us where a program asks for them and writes into vgpu_front_path what it asked for.
 */
#ifndef VGPU_FRONT_H
#define VGPU_FRONT_H

#include <stddef.h>

#define FRONT_PATH 4096
extern __attribute__((visibility("default"))) char vgpu_front_path[FRONT_PATH];

/* NVIDIA's library of that name, or of the other one (may be NULL), or NULL. variable: names its file; it is said where that cannot be loaded. */
void *front_open(const char *soname, const char *other, const char *variable);
/* One line that says what to install; also: " ...", what else there is. */
void front_absent(const char *soname, const char *variable, const char *package, const char *also);
/* The folder of headers beside the library that front_open found, in wheels and toolkits; NULL: there is none. */
const char *front_headers(void);
void *front_symbol(void *library, const char *name);
/* The device runs machine code (VGPU_CUBINS, of vgpu run on an engine cuda): what NVIDIA's library makes is handed out as it is. */
int front_cubins(void);
void front_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "sm_80", "compute_90a": 80, suffix; 0: neither. */
unsigned front_arch(const char *word, char *suffix);

#endif
