/* SPDX-License-Identifier: MIT */
/* Copies by tensor maps: tmap.c, tmap_reduce.c; lower_tmap.c asks for them. */
#ifndef VGPU_TMAP_H
#define VGPU_TMAP_H

#include "cpu.h"

enum { TMAP_LOAD, TMAP_STORE, TMAP_REDUCE };

/* Atomically *(at) = op(*(at), *v), elements of vgpu_tensor_type */
void tmap_reduce(u8 op, u8 type, u64 at, const void *v);
/* Has that type this operation? */
bool tmap_reduces(u8 op, u8 type);

#endif
