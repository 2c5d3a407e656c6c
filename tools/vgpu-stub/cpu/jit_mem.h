/* SPDX-License-Identifier: MIT */
/* Addresses of memory operations: from jit_addr.c for jit_mem.c (loads) and jit_st.c (stores). */
#ifndef VGPU_JIT_MEM_H
#define VGPU_JIT_MEM_H

#include "jit.h"

/* A uniform or pattern address; base + disp is lane 0's. */
struct acc {
	struct jval v;
	s32 cmin, cmax;
	u8 base;                /* general register: rax or the address's own */
	s32 disp;
	u32 bytes, align;       /* of one lane's access */
	u32 step;               /* exit */
	const s32 *pat;
};

bool jm_addr(struct jcomp *c, const struct insn *in, struct acc *x);
void jm_late(struct jcomp *c);
void jm_defines(struct jcomp *c, const struct insn *in);
bool jm_is_row(const struct acc *x);
void jm_vary64(struct jcomp *c, const struct insn *in, u32 q, u32 step);
void jm_vary32(struct jcomp *c, const struct insn *in, u32 p, u32 step);
bool jm_window(const struct insn *in);         /* shared or local memory: addresses are offsets */
bool jm_vary_base(struct jcomp *c, const struct insn *in, u32 step);

#endif
