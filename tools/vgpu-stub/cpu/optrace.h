/* SPDX-License-Identifier: MIT */
/*
 * One warp at work, instruction by instruction (ENGINE_MODE_OPS): what optrace.c offers the rest of the engine. In other
 * modes engine.ops is NULL, no function carries a K_STEP, and nothing here runs.
 */
#ifndef VGPU_CPU_OPTRACE_H
#define VGPU_CPU_OPTRACE_H

#include "cpu.h"

int optrace_open(struct engine *e);
void optrace_close(struct engine *e);
/* After compilation: a K_STEP before every instruction. */
void optrace_func(struct func *fn);
/* At a K_STEP: lanes m are about to execute in, which is behind it. */
void optrace_step(struct tstate *ts, struct frame *f, const struct insn *in, u32 m);
/* A turn of the block is over, with a fault of ts->w or without. No lock is held. */
void optrace_turn(struct tstate *ts, const struct cta *c, bool fault);

#endif
