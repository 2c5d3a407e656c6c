/* SPDX-License-Identifier: MIT */
/*
 * The one private entry of libcuda.so.1: matrix products, which CUDA's driver API has no call for. libcublas
 * finds it by its exported name (vgpu_gemm.h); stream, context and default-stream rules are those of cuMemsetD32Async.
 */
#include "driver.h"
#include "../core/queue.h"
#include "../../fw-protocol/vgpu_check.h"

#include "vgpu_gemm.h"

const struct vg_device_trace *vg_device_trace;

/* As a profiler would call it: what is multiplied is in the call of cuBLAS. */
static void traced(struct vg_stream *s, CUstream handle, uint8_t op, const struct vgpu_body_gemm *b, const struct vgpu_gemm *p)
{
	void *span = vg_device_trace->begin(s, handle, op == VGPU_OP_GEMM ? "[matrix product]" : "[triangular solve]");

	vg_submit(s, op, b, p, sizeof *p);
	vg_device_trace->end(s, span);
}

CUresult vgpuGemm(unsigned int op, const struct vgpu_body_gemm *b, const struct vgpu_gemm *p, CUstream stream)
{
	struct vgpu_check_env env = { .window_base = vg.span, .window_bytes = VGPU_WINDOW_SPAN,
				      .device_bytes = VGPU_DEVICE_SPAN, .arena_bytes = VGPU_ARENA_BYTES };
	struct vgpu_cmd c = { .op = (uint8_t)op, .u.gemm = *b };
	struct vg_stream *s;

	VG_READY();
	VG_TRY(vg_stream(stream, false, &s));
	env.device_base = vg_device_base(s->ctx->ordinal);
	/* What the agent would take for an attack is a mistake of the program when it is said here. */
	if ((op != VGPU_OP_GEMM && op != VGPU_OP_TRSM) || !b->batch || (b->flags & ~VGPU_GEMM_POINTERS) ||
	    vgpu_check_gemm(&c, p, &env) != VGPU_ST_OK)
		return CUDA_ERROR_INVALID_VALUE;
	if (VG_UNLIKELY(vg_capturing(s)))
		return vg_capture_command(s, CU_GRAPH_NODE_TYPE_KERNEL, (uint8_t)op, b, p, sizeof *p);
	if (VG_UNLIKELY(vg_device_trace != NULL))
		traced(s, stream, (uint8_t)op, b, p);
	else
		vg_submit(s, (uint8_t)op, b, p, sizeof *p);
	return CUDA_SUCCESS;
}
