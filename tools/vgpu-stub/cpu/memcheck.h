/* SPDX-License-Identifier: MIT */
/*
 * The memory checker (ENGINE_MODE_MEMCHECK): what memcheck.c offers the rest of the engine. In other modes
 * engine.mc is NULL, no function carries the checked kinds of instructions, and nothing here runs.
 */
#ifndef VGPU_CPU_MEMCHECK_H
#define VGPU_CPU_MEMCHECK_H

#include "cpu.h"

int mc_open(struct engine *e);
void mc_close(struct engine *e);
/* Memory that kernels may touch from now on, or no longer. fresh: nobody has written it yet. */
void mc_note(struct engine *e, u64 addr, u64 bytes, bool alive, bool fresh);
/* Written by other means than a kernel's stores; ~0: nobody knows where. Copied, from and to anywhere. */
void mc_wrote(struct engine *e, u64 addr, u64 bytes);
void mc_copied(struct engine *e, u64 dst, u64 src, u64 bytes);
/* The same memory is no allocation any more, and never was one: parts of it will be. */
void mc_hide(struct engine *e, u64 addr, u64 bytes);
/* The module's variables, one by one. */
void mc_module(struct module *m, bool alive);
/* After compilation: memory operations and barriers get their checked kinds. */
void mc_func(struct func *fn);
/* A block starts: no byte of its shared memory has been written. 0 or -1. */
int mc_fit(struct cta *c);
void mc_start(struct cta *c);
/* Before the access: reports and faults. */
void mc_access(struct tstate *ts, const struct insn *in, u32 m);
/* The same for bytes that in, which is no load or store, reads or writes in that space: K_MC_LD, K_MC_ST, K_MC_ATOM */
void mc_bytes(struct tstate *ts, const struct insn *in, u32 lane, u8 space, u64 addr, u32 bytes, u8 does);
void mc_bar(struct tstate *ts, const struct insn *in, u32 m);
/* A barrier is complete since threads have exited that never came. */
void mc_bar_exited(struct cta *c, u32 id);
/* The grid has ended: what was not shown. Any thread, no lock held. */
void mc_grid_end(struct engine *e, struct grid *g);

/* The kind that an instruction has in other modes. */
static inline u8 mc_plain_kind(u8 kind)
{
	switch (kind) {
	case K_MC_LD: return K_LD;
	case K_MC_ST: case K_VF_ST: return K_ST;
	case K_MC_ATOM: case K_VF_ATOM: return K_ATOM;
	case K_MC_BAR: return K_BAR;
	}
	return kind;
}

#endif
