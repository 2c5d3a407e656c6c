/* SPDX-License-Identifier: MIT */
/* Source lines of instructions, for reports: see srcline.c. */
#ifndef VGPU_CPU_SRCLINE_H
#define VGPU_CPU_SRCLINE_H

#include "cpu.h"

/* "FILE:LINE", or "FILE:LINE, inlined at FILE:LINE", of a PTX line in fn's body: its length, 0 where nothing tells. */
size_t src_line(const struct func *fn, u32 ptx_line, char *out, size_t room);

/* The same for all lines of its body up to last, in one look: malloc'ed, by line - fn->body_line; line 0 where nothing tells. NULL: no memory. */
struct srcpos { unsigned file, line; };
struct srcpos *src_map(const struct func *fn, u32 last);
struct srcpos src_pos(const struct func *fn, u32 ptx_line);
/* Is that file called so, or does its path end so? */
bool src_named(const struct func *fn, unsigned file, const char *path);

#endif
