/* SPDX-License-Identifier: MIT */
/* Source lines of instructions, for reports: see srcline.c. */
#ifndef VGPU_CPU_SRCLINE_H
#define VGPU_CPU_SRCLINE_H

#include "cpu.h"

/* "FILE:LINE", or "FILE:LINE, inlined at FILE:LINE", of a PTX line in fn's body: its length, 0 where nothing tells. */
size_t src_line(const struct func *fn, u32 ptx_line, char *out, size_t room);

#endif
