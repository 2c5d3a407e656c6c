/* SPDX-License-Identifier: MIT */
/*
 * Each launch on the interpreter and on the JIT, compared (ENGINE_MODE_VERIFY): what verify.c offers the rest of the engine.
 * In other modes engine.vf is NULL, no function carries the watched kinds of stores, and nothing here runs.
 */
#ifndef VGPU_CPU_VERIFY_H
#define VGPU_CPU_VERIFY_H

#include "cpu.h"

/* The counts that $VGPU_VERIFY_COUNTS names, mapped; else own. */
struct verify_counts *vf_counts(struct verify_counts *own);
int vf_open(struct engine *e);
void vf_close(struct engine *e);
/* Memory that kernels may touch from now on, or no longer; a window is shared with the client, who writes to it at any time. */
void vf_note(struct engine *e, u64 addr, u64 bytes, bool alive, bool window);
/* After compilation: stores and atomics get their watched kinds. */
void vf_func(struct func *fn);
/* Before a store or an atomic of the lanes m. */
void vf_store(struct tstate *ts, const struct insn *in, u32 m);
/* The same before in, which is neither, writes these bytes, which are in the span. Nothing where nobody verifies. */
void vf_bytes(struct tstate *ts, const struct insn *in, u32 lane, u64 addr, u32 bytes);
/* A block starts: nothing that the one before it left behind is in its windows. */
void vf_start(struct cta *c);
/* Runs or starts what rt_launch was asked for. */
u32 vf_launch(struct engine *e, struct grid *g);
/* A fault of the comparing run: it stays here. False: of another. */
bool vf_trial_fault(struct engine *e, struct grid *g, const struct engine_fault *r);
/* In a signal handler: a page whose protection says whether the comparing run writes to it. True: go on. */
bool vf_page_fault(struct tstate *ts, u64 addr);
/* The grid has ended: what it printed, and the reports. Any thread that may wait, no lock held. */
void vf_grid_end(struct engine *e, struct grid *g);
/* What goes to people during the runs of a launch is kept until it has ended. False: it is not held back. */
bool vf_keep(struct engine *e, const char *text, size_t bytes);
/* How long either run of a launch may take before it is not compared (verify.c) */
extern u64 verify_ns;

#endif
