/* SPDX-License-Identifier: MIT */
/*
 * Executors of K_GEN: instructions that are one function of the lanes that run, by interp.c or, for the JIT, one step of
 * it. o[], imm and sub are as the lowering says; results of lanes that do not run stay as they are.
 */
#ifndef VGPU_GEN_H
#define VGPU_GEN_H

#include "cpu.h"

/* cvt.c: o[0] = o[1], o[2], o[3] */
gen_fn gen_cvt, gen_cvt_pack, gen_cvt_small, gen_cvt_random;
/* tensor.c: one register of a product, as TENSOR_MMA has it, of integers of 4 bits and bits, .f64, and what saturates; sub2: see there */
gen_fn gen_product;
/* sparse.c: one register of mma.sp */
gen_fn gen_sparse;
#define SPARSE_LARGE 1          /* imm of it: a row of a takes two words; ... */
#define SPARSE_UPPER 2          /* ... this is a row of 8 to 15; ... */
#define SPARSE_SELECTOR 4       /* ... the sparsity selector, times this */
/* tensor.c: one register of mma.m8n8k4 of .f16; sub, sub2: see there */
gen_fn gen_quarter, gen_quarter_acc;
/* tensor.c: o[0], a predicate: is the lane there that has the row of matrix sub that TENSOR_ROW… sub2 takes? */
gen_fn gen_rows;
/* mem.c: o[0], a predicate: does o[1], an mbarrier, stand in another phase than o[2] says? sub: MBAR_TEST or MBAR_TRY, sub2: by parity */
gen_fn gen_mbar_phase;
/* mem.c: what the next atomic of 16 bytes compares with: o[1], o[2] */
gen_fn gen_quad;
/* tex.c: o[0] = element sub2 of what lies in o[1], a handle, at o[2] on; sub: which geometry. gen_sust stores o[5] */
gen_fn gen_tex, gen_tex_span, gen_tex_lod, gen_suld, gen_sust, gen_txq;
void tex_init(void);
/* cluster.c: see there */
gen_fn gen_mapa, gen_ctarank, gen_far, gen_isfar, gen_multicast, gen_multitell;
/* ... of a multicast: the blocks that a mask names, and where shared::cluster address a is in block `rank`; what is wrong is a fault of the lane */
u32 cluster_mask(struct tstate *ts, u32 lane, u64 mask);
u64 cluster_other(struct tstate *ts, u32 lane, u32 rank, u64 a, u64 bytes);
/* mem.c: so many bytes that an mbarrier waits for have come */
void mbar_arrived(u64 *at, u32 bytes);
/* tmap.c: a copy by a tensor map, see there */
gen_fn gen_tmap;
/* video.c */
gen_fn gen_video;

#endif
