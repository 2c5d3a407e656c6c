/* SPDX-License-Identifier: MIT */
/*
 * Executors of K_GEN: instructions that are one function of the lanes that run, by interp.c or, for the JIT, one step of
 * it. o[], imm and sub are as the lowering says; results of lanes that do not run stay as they are.
 */
#ifndef VGPU_GEN_H
#define VGPU_GEN_H

#include "cpu.h"

/* cvt.c: o[0] = o[1], o[2], o[3] */
gen_fn gen_cvt, gen_cvt_pack, gen_cvt_small;
/* tensor.c: one register of a product, as TENSOR_MMA has it, of types that have no fast way; sub2, size: see there */
gen_fn gen_product;
/* mem.c: o[0], a predicate: does o[1], an mbarrier, stand in another phase than o[2] says? sub: MBAR_TEST or MBAR_TRY, sub2: by parity */
gen_fn gen_mbar_phase;
/* video.c */
gen_fn gen_video;

#endif
