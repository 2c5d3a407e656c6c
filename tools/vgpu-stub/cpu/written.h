/* SPDX-License-Identifier: MIT */
/* Which bytes of an allocation somebody has written: a bit each. Any thread, no lock; a NULL bitmap knows nothing and says "written". */
#ifndef VGPU_CPU_WRITTEN_H
#define VGPU_CPU_WRITTEN_H

#include "cpu.h"

/* Of so many bytes, none written. NULL: no memory for it. */
u64 *written_new(u64 bytes);
void written_set(u64 *bits, u64 at, u64 n);
/* The first byte of n from at on that nobody has written; at + n: there is none. */
u64 written_gap(const u64 *bits, u64 at, u64 n);

#endif
