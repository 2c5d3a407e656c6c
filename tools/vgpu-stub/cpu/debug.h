/* SPDX-License-Identifier: MIT */
/*
 * vgpu debug's end in the engine (ENGINE_MODE_DEBUG): what debug.c offers the rest of it. In other modes engine.dbg is NULL and nothing
 * here runs. Functions carry a K_STEP before every instruction, as for optrace.c; nothing is inlined or moved out of them, every
 * register has a slot of its own, and one worker runs all blocks in turn: while one stands, all do.
 */
#ifndef VGPU_CPU_DEBUG_H
#define VGPU_CPU_DEBUG_H

#include "cpu.h"

#define DBG_FRAME_MOST (256u << 10)     /* bytes of a warp's registers, if each is to have its slot */

int dbg_open(struct engine *e);
void dbg_close(struct engine *e);
/* Steps are in place: where breakpoints are in it. */
void dbg_func(struct func *fn);
/* At a K_STEP: lanes m are about to execute what is behind it. */
void dbg_step(struct tstate *ts, struct frame *f, const struct insn *step, u32 m);
/* ts->rep tells of a fault, nobody has heard of it yet. */
void dbg_fault(struct tstate *ts);

#endif
