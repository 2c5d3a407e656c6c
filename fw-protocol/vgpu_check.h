/* SPDX-License-Identifier: MIT */
/*
 * Pure checks of commands: no state, no memory but the arguments. The agent runs them on its own
 * copy before it forwards; the context runs them again (it trusts the agent as little as it can).
 * They bound what a command may name; whether memory is mapped there, the fault handler tells.
 */
#ifndef VGPU_CHECK_H
#define VGPU_CHECK_H

#include "vgpu_cmd.h"

struct vgpu_check_env {
	uint64_t window_base, window_bytes;     /* client's window, reserved span of it */
	uint64_t device_base, device_bytes;     /* this device's memory span, arena included */
	uint64_t arena_bytes;                   /* its first part, not the client's to allocate */
};

struct vgpu_op_info {
	const char *name;       /* NULL: no such op */
	uint8_t op, queue, payload;
	const char *text;
};

/* NULL for a number that is no op. */
const struct vgpu_op_info *vgpu_op_info(unsigned op);

/*
 * A header slot in the reader's own memory, expected at ring position `index`, before its payload is
 * looked at: op of that queue, slot count that fits the op, flags, stream, waits, ticket, addresses.
 * VGPU_ST_OK or VGPU_ST_PROTOCOL. After OK, c->slots may be trusted.
 */
uint32_t vgpu_check_cmd(const struct vgpu_cmd *c, enum vgpu_op_queue queue, uint64_t index,
			const struct vgpu_check_env *env);

/* The payload of COPY3D, which needs the header too. OK or PROTOCOL. */
uint32_t vgpu_check_copy3d(const struct vgpu_cmd *c, const struct vgpu_copy3d *p,
			   const struct vgpu_check_env *env);

/*
 * The payload of GEMM and TRSM. OK: sizes, types and leading dimensions are sensible, no extent overflows,
 * and every matrix, or the array of addresses, lies in window or device span. The addresses in such an
 * array only the device can see.
 */
uint32_t vgpu_check_gemm(const struct vgpu_cmd *c, const struct vgpu_gemm *p,
			 const struct vgpu_check_env *env);

/* The payload of LAUNCH_LARGE. OK: the parameters lie in the window. */
uint32_t vgpu_check_params_at(const struct vgpu_cmd *c, const struct vgpu_params_at *p, const struct vgpu_check_env *env);

/* [addr, addr + bytes) lies in the window or in the device's span; no overflow. */
int vgpu_check_range(uint64_t addr, uint64_t bytes, const struct vgpu_check_env *env);

#endif
