/* SPDX-License-Identifier: MIT */
#ifndef VGPU_LEAKS_H
#define VGPU_LEAKS_H

#include <stdio.h>

/* Where the program's libraries say what they allocate (VGPU_LEAK_LOG): makes it and tells them. path: what to give to leaks_report(). */
int leaks_open(char *path, size_t room);
/* Tells what was never freed, in compute-sanitizer's words, and removes the file. How many allocations that are. */
unsigned long long leaks_report(const char *path, FILE *to, int mangled);
/* The program's own frames of a call into our libraries, FILE+OFFSET with tabs between, which are cut; 0: there are none. */
int leaks_frames(FILE *to, char *frames, int mangled);

#endif
