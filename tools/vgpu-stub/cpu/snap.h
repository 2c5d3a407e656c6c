/* SPDX-License-Identifier: MIT */
/* A block that stands still, as a device core (fw-protocol/vgpu_core.h): for the debugger, and for a core file. */
#ifndef VGPU_CPU_SNAP_H
#define VGPU_CPU_SNAP_H

#include "cpu.h"

struct snap_at {
	struct warp *w;
	struct frame *f;                /* which of its activations runs, NULL: none */
	const struct insn *in;          /* at which instruction, NULL: not known */
	u32 lane;
	const char *why;
	const char *source, *code;      /* of in; NULL: not known */
	u64 address;                    /* of a fault; 0: none */
	bool memory;                    /* with what registers point to */
};

/* At most room bytes into out: how many, 0 where not even the frame of a core fits. ts is the calling thread's. */
size_t snap_write(struct tstate *ts, const struct snap_at *at, u8 *out, size_t room);
/* n bytes of the span that a kernel could read; false, and nothing said, where it could not. */
bool snap_peek(struct tstate *ts, u64 address, void *dst, size_t n);
/* The value of a register by its name in a lane of f, which is about to execute in. */
bool snap_register(const struct frame *f, const struct insn *in, const char *name, u32 lane, u64 *value, enum type *type);
/* A fault's core, kept for who asks (engine_ops.core): in ts->rep, once an engine. */
void snap_keep(struct tstate *ts, struct grid *g);
void snap_drop(struct engine *e);

#endif
