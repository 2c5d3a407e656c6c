/* SPDX-License-Identifier: MIT */
/*
 * Every form of memcpy comes down to one struct vg_copy and a stream. What kind of memory a pointer
 * names follows from its address alone: the window and the device spans are reserved, everything else
 * is the process's own (pageable) memory.
 */
#include "driver.h"
#include "../core/adopt.h"
#include "texture.h"
#include "../core/queue.h"

#include <string.h>
#include <sys/mman.h>

enum side { ANY, HOST, DEVICE };

/*
 * Where the call does not say whose memory it is, an address that is nobody's is as likely a wrong device address: an error, where
 * host memory by name faults in the caller as memcpy() would. The ends are looked at, each by a system call.
 */
static bool mapped(uint64_t addr, uint64_t bytes)
{
	const uint64_t page = ~(uint64_t)(VGPU_PAGE - 1), last = addr + bytes - 1;
	unsigned char there;

	return last >= addr && !mincore((void *)(uintptr_t)(addr & page), 1, &there) &&
	       ((addr & page) == (last & page) || !mincore((void *)(uintptr_t)(last & page), 1, &there));
}

/*
 * One side of a copy. It lies in the caller's memory, or inside one allocation: a pointer past the
 * end is an error here, not a fault of the device that would cost the context. owner: the context whose
 * process holds it, NULL when every context can reach it. waits is set for memory on which synchronous calls
 * always wait (CU_POINTER_ATTRIBUTE_SYNC_MEMOPS).
 */
static CUresult check_side(uint64_t addr, uint64_t bytes, enum side want, struct vg_ctx *c, bool *pageable,
			   struct vg_ctx **owner, bool *waits)
{
	struct vg_mem m;

	*owner = NULL;
	*pageable = !vg_in_window(addr) && !vg_in_device(addr);
	if (*pageable)
		return want == DEVICE || !addr || (want == ANY && !mapped(addr, bytes)) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	if (vg_in_device(addr) && want == HOST)
		return CUDA_ERROR_INVALID_VALUE;
	if (!vg_mem_find(addr, &m)) {
		/* Variables of modules live in the engine's part of the device span. */
		uint64_t arena = vg_device_base(c->ordinal);

		*owner = c;
		if (vg_ctx_variable(c, addr, &m))
			return bytes <= m.bytes - (addr - m.start) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
		return addr - arena < VGPU_ARENA_BYTES && bytes <= VGPU_ARENA_BYTES - (addr - arena) ?
		       CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	}
	if (bytes > m.bytes - (addr - m.start) || m.kind == VG_MEM_HEAP)
		return CUDA_ERROR_INVALID_VALUE;
	if (m.sync_memops)
		*waits = true;
	if (m.kind == VG_MEM_RESERVED)
		return vg_vmm_covers(addr, bytes, owner) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	if (m.kind == VG_MEM_DEVICE || m.kind == VG_MEM_ASYNC)
		*owner = m.ctx;
	return CUDA_SUCCESS;
}

#define BOUNCE (1u << 20)

/* Device memory of two contexts: each row goes through the window, half by either context. */
static uint32_t bounce(const struct vg_copy *k, struct vg_ctx *to, struct vg_ctx *from)
{
	uint64_t room = k->width < BOUNCE ? k->width : BOUNCE;
	void *window = vg_window_alloc(room, 64);
	uint32_t status = VGPU_ST_OK;

	if (!window)
		return VGPU_ST_OUT_OF_MEMORY;
	for (uint64_t row = 0; row < k->height * k->depth && !status; row++) {
		uint64_t z = row / k->height, y = row % k->height;

		for (uint64_t x = 0; x < k->width && !status; x += room) {
			struct vg_copy half = { .height = 1, .depth = 1 };

			half.width = k->width - x < room ? k->width - x : room;
			half.src = k->src + z * k->src_slice + y * k->src_pitch + x;
			half.dst = (uint64_t)(uintptr_t)window;
			status = vg_copy(from->legacy, &half, false);
			half.src = half.dst;
			half.dst = k->dst + z * k->dst_slice + y * k->dst_pitch + x;
			if (!status)
				status = vg_copy(to->legacy, &half, false);
		}
	}
	vg_window_free(window, room);
	return status;
}

/*
 * A copy whose memory is not the stream's context's: CUDA's unified addressing allows it. It waits until its turn in
 * the stream has come and for the owners' work, and is complete when it returns: what comes later in the stream lies in
 * another queue.
 */
static uint32_t foreign(struct vg_stream *s, const struct vg_copy *k, struct vg_ctx *dst, struct vg_ctx *src)
{
	uint32_t status = vg_stream_reach(s);

	if (!status && dst)
		status = vg_ctx_sync(dst);
	if (!status && src)
		status = vg_ctx_sync(src);
	if (status)
		return status;
	if (dst && src && dst != src)
		return bounce(k, dst, src);
	status = vg_copy((dst ? dst : src)->legacy, k, false);
	/* Out of ordinary memory it has only been staged. */
	return status ? status : vg_stream_reach((dst ? dst : src)->legacy);
}

/* Bytes from the first to the last one that a pitched box covers. */
static bool box_bytes(const struct vg_copy *k, uint64_t pitch, uint64_t slice, uint64_t *bytes)
{
	uint64_t rows, slices;

	return !__builtin_mul_overflow(k->height - 1, pitch, &rows) &&
	       !__builtin_mul_overflow(k->depth - 1, slice, &slices) &&
	       !__builtin_add_overflow(rows, slices, bytes) && !__builtin_add_overflow(*bytes, k->width, bytes);
}

/* The process's own, or pinned; not managed, which may be anywhere. */
static bool host_memory(uint64_t addr)
{
	struct vg_mem m;

	if (vg_in_device(addr))
		return false;
	return !vg_in_window(addr) || (vg_mem_find(addr, &m) && (m.kind == VG_MEM_HOST || m.kind == VG_MEM_ADOPTED));
}

static CUresult run(CUstream h, bool pt, struct vg_copy *k, enum side dst, enum side src, bool async)
{
	struct vg_ctx *to, *from;
	struct vg_stream *s;
	uint32_t status;
	uint64_t bytes;
	bool waits;

	VG_READY();
	VG_TRY(vg_stream(h, pt, &s));
	waits = s->ctx->cu_flags & CU_CTX_SYNC_MEMOPS;
	if (!k->width || !k->height || !k->depth)
		return CUDA_SUCCESS;
	if (!box_bytes(k, k->dst_pitch, k->dst_slice, &bytes))
		return CUDA_ERROR_INVALID_VALUE;
	k->dst = vg_adopted(k->dst, bytes);
	VG_TRY(check_side(k->dst, bytes, dst, s->ctx, &k->dst_pageable, &to, &waits));
	if (!box_bytes(k, k->src_pitch, k->src_slice, &bytes))
		return CUDA_ERROR_INVALID_VALUE;
	k->src = vg_adopted(k->src, bytes);
	VG_TRY(check_side(k->src, bytes, src, s->ctx, &k->src_pageable, &from, &waits));
	if (VG_UNLIKELY(vg_capturing(s))) {
		if (!async)
			return vg_capture_refuse(s);
		if ((to && to != s->ctx) || (from && from != s->ctx))
			return vg_unsupported("capture of a copy between contexts");
		return vg_capture_copy(s, k);
	}
	if (!async)
		VG_SAFE();
	if (VG_UNLIKELY((to && to != s->ctx) || (from && from != s->ctx)))
		return vg_done(s->ctx, foreign(s, k, to, from));
	/*
	 * Between two places of the device nobody waits, as CUDA has it, unless that was asked for; between two of the host
	 * everybody does, the asynchronous forms too ("API synchronization behavior").
	 */
	status = vg_copy(s, k, async ? !(host_memory(k->dst) && host_memory(k->src)) :
			       !waits && vg_in_device(k->dst) && vg_in_device(k->src));
	/* Out of ordinary memory it has only been staged: what the host itself may look at next must be there. */
	if (!async && !status && k->src_pageable && vg_in_window(k->dst))
		status = vg_stream_reach(s);
	if (!async)
		vg_printf_drain(s->ctx);
	return vg_done(s->ctx, status);
}

static CUresult linear(CUstream h, bool pt, uint64_t dst, uint64_t src, size_t bytes, enum side d, enum side s,
		       bool async)
{
	struct vg_copy k = { .dst = dst, .src = src, .width = bytes, .height = 1, .depth = 1 };

	return run(h, pt, &k, d, s, async);
}

/* ---- one row ---- */

static CUresult impl_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t n, bool pt)
{
	return linear(NULL, pt, dst, src, n, ANY, ANY, false);
}
VG_TWIN(cuMemcpy, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t n), (dst, src, n, pt))

static CUresult impl_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream h, bool pt)
{
	return linear(h, pt, dst, src, n, ANY, ANY, true);
}
VG_TWIN(cuMemcpyAsync, _ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream), (dst, src, n, stream, pt))

static CUresult impl_cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t n, bool pt)
{
	return linear(NULL, pt, dst, (uintptr_t)src, n, DEVICE, HOST, false);
}
VG_TWIN(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr dst, const void *src, size_t n), (dst, src, n, pt))

static CUresult impl_cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t n, bool pt)
{
	return linear(NULL, pt, (uintptr_t)dst, src, n, HOST, DEVICE, false);
}
VG_TWIN(cuMemcpyDtoH_v2, _ptds, (void *dst, CUdeviceptr src, size_t n), (dst, src, n, pt))

static CUresult impl_cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t n, bool pt)
{
	return linear(NULL, pt, dst, src, n, DEVICE, DEVICE, false);
}
VG_TWIN(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t n), (dst, src, n, pt))

static CUresult impl_cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t n, CUstream h, bool pt)
{
	return linear(h, pt, dst, (uintptr_t)src, n, DEVICE, HOST, true);
}
VG_TWIN(cuMemcpyHtoDAsync_v2, _ptsz, (CUdeviceptr dst, const void *src, size_t n, CUstream stream),
	(dst, src, n, stream, pt))

static CUresult impl_cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t n, CUstream h, bool pt)
{
	return linear(h, pt, (uintptr_t)dst, src, n, HOST, DEVICE, true);
}
VG_TWIN(cuMemcpyDtoHAsync_v2, _ptsz, (void *dst, CUdeviceptr src, size_t n, CUstream stream), (dst, src, n, stream, pt))

static CUresult impl_cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream h, bool pt)
{
	return linear(h, pt, dst, src, n, DEVICE, DEVICE, true);
}
VG_TWIN(cuMemcpyDtoDAsync_v2, _ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream),
	(dst, src, n, stream, pt))

/* ---- between contexts: an address says whose it is, the handles must only be real ---- */

static CUresult peers(CUcontext a, CUcontext b)
{
	struct vg_ctx *c;

	VG_READY();
	VG_TRY(vg_context(a, &c));
	return vg_context(b, &c);
}

static CUresult impl_cuMemcpyPeer(CUdeviceptr dst, CUcontext dctx, CUdeviceptr src, CUcontext sctx, size_t n, bool pt)
{
	VG_TRY(peers(dctx, sctx));
	return linear(NULL, pt, dst, src, n, DEVICE, DEVICE, false);
}
VG_TWIN(cuMemcpyPeer, _ptds, (CUdeviceptr dst, CUcontext dctx, CUdeviceptr src, CUcontext sctx, size_t n),
	(dst, dctx, src, sctx, n, pt))

static CUresult impl_cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dctx, CUdeviceptr src, CUcontext sctx, size_t n,
				       CUstream h, bool pt)
{
	VG_TRY(peers(dctx, sctx));
	return linear(h, pt, dst, src, n, DEVICE, DEVICE, true);
}
VG_TWIN(cuMemcpyPeerAsync, _ptsz,
	(CUdeviceptr dst, CUcontext dctx, CUdeviceptr src, CUcontext sctx, size_t n, CUstream stream),
	(dst, dctx, src, sctx, n, stream, pt))

/* ---- boxes ---- */

/* edge: of an array, how wide, high and deep it is; else 0 */
struct edge { uint64_t width, rows, slices; };

static CUresult end_of_box(CUmemorytype type, const void *host, CUdeviceptr dev, CUarray array, uint64_t *addr, enum side *side, uint64_t *pitch,
			   struct edge *edge)
{
	edge->width = 0;
	switch ((int)type) {
	case CU_MEMORYTYPE_HOST:
		*addr = (uintptr_t)host;
		*side = HOST;
		return CUDA_SUCCESS;
	case CU_MEMORYTYPE_DEVICE:
		*addr = dev;
		*side = DEVICE;
		return CUDA_SUCCESS;
	case CU_MEMORYTYPE_UNIFIED:
		*addr = dev;
		*side = ANY;
		return CUDA_SUCCESS;
	case CU_MEMORYTYPE_ARRAY:
		*side = DEVICE;
		return vg_array_side(array, addr, pitch, &edge->rows, &edge->width, &edge->slices);
	}
	return CUDA_ERROR_INVALID_VALUE;
}

/*
 * Where a box of m begins: addr + z slices + y rows + x bytes, and how far rows and slices are apart. A pitch or a
 * height of 0 means no gaps; others must hold what is copied, as CUDA documents, unless there is but one row.
 */
static CUresult place_box(const CUDA_MEMCPY3D *m, uint64_t x, uint64_t y, uint64_t z, uint64_t rows, const struct edge *edge, uint64_t *addr,
			  uint64_t *pitch, uint64_t *slice)
{
	uint64_t row, wide, high, deep, at, above;

	if (__builtin_add_overflow(x, m->WidthInBytes, &row) || __builtin_add_overflow(y, m->Height, &high) ||
	    __builtin_add_overflow(z, m->Depth, &deep))
		return CUDA_ERROR_INVALID_VALUE;
	if (edge->width) {
		if (row > edge->width || high > edge->rows || deep > edge->slices)
			return CUDA_ERROR_INVALID_VALUE;
		rows = edge->rows;
	}
	wide = *pitch ? *pitch : row;
	rows = rows ? rows : high;
	if ((wide < row && (m->Height > 1 || m->Depth > 1 || y || z)) || (rows < high && (m->Depth > 1 || z)))
		return CUDA_ERROR_INVALID_VALUE;
	if (__builtin_mul_overflow(wide, rows, slice) || __builtin_mul_overflow(z, *slice, &at) ||
	    __builtin_mul_overflow(y, wide, &above) || __builtin_add_overflow(at, above, &at) ||
	    __builtin_add_overflow(at, x, &at) || __builtin_add_overflow(*addr, at, addr))
		return CUDA_ERROR_INVALID_VALUE;
	*pitch = wide;
	return CUDA_SUCCESS;
}

static CUresult copy_of(const CUDA_MEMCPY3D *m, struct vg_copy *out, enum side *dst_side, enum side *src_side)
{
	struct vg_copy k = { .width = m->WidthInBytes, .height = m->Height, .depth = m->Depth,
			     .dst_pitch = m->dstPitch, .src_pitch = m->srcPitch };
	enum side dst = ANY, src = ANY;
	struct edge to, from;

	if (m->srcLOD || m->dstLOD || m->reserved0 || m->reserved1)
		return CUDA_ERROR_INVALID_VALUE;
	/* Documented: "an error if any pitch is greater than the maximum allowed". An array has its own. */
	if ((m->srcPitch > VG_MAX_PITCH && m->srcMemoryType != CU_MEMORYTYPE_ARRAY) ||
	    (m->dstPitch > VG_MAX_PITCH && m->dstMemoryType != CU_MEMORYTYPE_ARRAY))
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(end_of_box(m->dstMemoryType, m->dstHost, m->dstDevice, m->dstArray, &k.dst, &dst, &k.dst_pitch, &to));
	VG_TRY(end_of_box(m->srcMemoryType, m->srcHost, m->srcDevice, m->srcArray, &k.src, &src, &k.src_pitch, &from));
	VG_TRY(place_box(m, m->dstXInBytes, m->dstY, m->dstZ, m->dstHeight, &to, &k.dst, &k.dst_pitch, &k.dst_slice));
	VG_TRY(place_box(m, m->srcXInBytes, m->srcY, m->srcZ, m->srcHeight, &from, &k.src, &k.src_pitch, &k.src_slice));
	*out = k;
	*dst_side = dst;
	*src_side = src;
	return CUDA_SUCCESS;
}

static CUresult box(CUstream h, bool pt, const CUDA_MEMCPY3D *m, bool async)
{
	enum side dst, src;
	struct vg_copy k;

	VG_TRY(copy_of(m, &k, &dst, &src));
	return run(h, pt, &k, dst, src, async);
}

CUresult vg_copy_of_box(const CUDA_MEMCPY3D *m, struct vg_ctx *c, struct vg_copy *k)
{
	struct vg_ctx *to, *from;
	enum side dst, src;
	uint64_t bytes;
	bool waits;

	VG_TRY(copy_of(m, k, &dst, &src));
	if (!k->width || !k->height || !k->depth)
		return CUDA_ERROR_INVALID_VALUE;
	if (!box_bytes(k, k->dst_pitch, k->dst_slice, &bytes))
		return CUDA_ERROR_INVALID_VALUE;
	k->dst = vg_adopted(k->dst, bytes);
	VG_TRY(check_side(k->dst, bytes, dst, c, &k->dst_pageable, &to, &waits));
	if (!box_bytes(k, k->src_pitch, k->src_slice, &bytes))
		return CUDA_ERROR_INVALID_VALUE;
	k->src = vg_adopted(k->src, bytes);
	VG_TRY(check_side(k->src, bytes, src, c, &k->src_pageable, &from, &waits));
	if ((to && to != c) || (from && from != c))
		return vg_unsupported("a graph's copy between contexts");
	return CUDA_SUCCESS;
}

static CUresult plane(CUstream h, bool pt, const CUDA_MEMCPY2D *m, bool async)
{
	CUDA_MEMCPY3D b;

	VG_READY();
	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	memset(&b, 0, sizeof b);
	b.srcXInBytes = m->srcXInBytes;
	b.srcY = m->srcY;
	b.srcMemoryType = m->srcMemoryType;
	b.srcHost = m->srcHost;
	b.srcDevice = m->srcDevice;
	b.srcArray = m->srcArray;
	b.srcPitch = m->srcPitch;
	b.dstXInBytes = m->dstXInBytes;
	b.dstY = m->dstY;
	b.dstMemoryType = m->dstMemoryType;
	b.dstHost = m->dstHost;
	b.dstDevice = m->dstDevice;
	b.dstArray = m->dstArray;
	b.dstPitch = m->dstPitch;
	b.WidthInBytes = m->WidthInBytes;
	b.Height = m->Height;
	b.Depth = 1;
	return box(h, pt, &b, async);
}

static CUresult impl_cuMemcpy2D_v2(const CUDA_MEMCPY2D *m, bool pt) { return plane(NULL, pt, m, false); }
VG_TWIN(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D *copy), (copy, pt))
static CUresult impl_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *m, bool pt) { return plane(NULL, pt, m, false); }
VG_TWIN(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D *copy), (copy, pt))
static CUresult impl_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *m, CUstream h, bool pt) { return plane(h, pt, m, true); }
VG_TWIN(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D *copy, CUstream stream), (copy, stream, pt))

static CUresult impl_cuMemcpy3D_v2(const CUDA_MEMCPY3D *m, bool pt)
{
	VG_READY();
	return m ? box(NULL, pt, m, false) : CUDA_ERROR_INVALID_VALUE;
}
VG_TWIN(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D *copy), (copy, pt))

static CUresult impl_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *m, CUstream h, bool pt)
{
	VG_READY();
	return m ? box(h, pt, m, true) : CUDA_ERROR_INVALID_VALUE;
}
VG_TWIN(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D *copy, CUstream stream), (copy, stream, pt))

/* The peer form differs in its two context fields, which stand where the others are reserved. */
static CUresult peer_box(CUstream h, bool pt, const CUDA_MEMCPY3D_PEER *m, bool async)
{
	CUDA_MEMCPY3D b;

	VG_READY();
	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(peers(m->dstContext, m->srcContext));
	CUDA_LITE_STATIC_ASSERT(sizeof b == sizeof *m, "same layout");
	memcpy(&b, m, sizeof b);
	b.reserved0 = b.reserved1 = NULL;
	return box(h, pt, &b, async);
}

static CUresult impl_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *m, bool pt) { return peer_box(NULL, pt, m, false); }
VG_TWIN(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER *copy), (copy, pt))
static CUresult impl_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *m, CUstream h, bool pt)
{
	return peer_box(h, pt, m, true);
}
VG_TWIN(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER *copy, CUstream stream), (copy, stream, pt))

/* ---- fills ---- */

static CUresult fill(CUstream h, bool pt, bool async, uint64_t dst, uint64_t pitch, uint32_t value, uint32_t elem,
		     uint64_t width, uint64_t height)
{
	struct vg_copy k = { .height = height, .depth = 1 };
	struct vgpu_body_fill b = { .dst = dst, .width = width, .height = (uint32_t)height, .value = value,
				    .elem_bytes = elem };
	struct vg_ctx *owner;
	struct vg_stream *s;
	uint64_t bytes, ticket = 0;
	bool pageable, waits, elsewhere = false;

	VG_READY();
	VG_TRY(vg_stream(h, pt, &s));
	waits = s->ctx->cu_flags & CU_CTX_SYNC_MEMOPS;
	if (!width || !height)
		return CUDA_SUCCESS;
	if (dst % elem || height > 0xffffffffu || __builtin_mul_overflow(width, (uint64_t)elem, &k.width) ||
	    (height > 1 && pitch < k.width) || !box_bytes(&k, pitch, 0, &bytes))
		return CUDA_ERROR_INVALID_VALUE;
	dst = b.dst = vg_adopted(dst, bytes);
	VG_TRY(check_side(dst, bytes, DEVICE, s->ctx, &pageable, &owner, &waits));
	if (VG_UNLIKELY(vg_capturing(s))) {
		const CUDA_MEMSET_NODE_PARAMS p = { .dst = dst, .pitch = pitch, .value = value, .elementSize = elem,
						    .width = width, .height = height };

		if (!async)
			return vg_capture_refuse(s);
		if (owner && owner != s->ctx)
			return vg_unsupported("capture of a fill in another context");
		return vg_capture_fill(s, &p);
	}
	if (VG_UNLIKELY(owner && owner != s->ctx)) {
		/* Not this context's memory: the fill runs where it is, behind this stream; what comes later waits for it here. */
		VG_TRY(vg_done(s->ctx, vg_stream_reach(s)));
		s = owner->legacy;
		waits = elsewhere = true;
	}
	/* The wire's pitch has 32 bits; longer rows go one by one. */
	if (height > 1 && pitch > 0xffffffffu) {
		b.height = 1;
		for (uint64_t y = 0; y < height; y++, b.dst += pitch)
			ticket = vg_submit(s, VGPU_OP_FILL, &b, NULL, 0);
	} else {
		b.pitch = (uint32_t)pitch;
		ticket = vg_submit(s, VGPU_OP_FILL, &b, NULL, 0);
	}
	/* CUDA's synchronous fills of device memory do not wait either, unless that was asked for; those of the host's do. */
	return (async && !elsewhere) || (!waits && !vg_in_window(dst)) ? CUDA_SUCCESS :
	       vg_done(s->ctx, vg_wait_timeline(s->ctx, s->tl, ticket));
}

CUresult vg_check_fill(const CUDA_MEMSET_NODE_PARAMS *p, struct vg_ctx *c)
{
	struct vg_copy k = { .height = p->height, .depth = 1 };
	bool pageable, waits;
	struct vg_ctx *owner;
	uint64_t bytes;

	if ((p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) || !p->width || !p->height ||
	    p->dst % p->elementSize || p->height > 0xffffffffu ||
	    __builtin_mul_overflow(p->width, (uint64_t)p->elementSize, &k.width) ||
	    (p->height > 1 && p->pitch < k.width) || !box_bytes(&k, p->pitch, 0, &bytes))
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(check_side(p->dst, bytes, DEVICE, c, &pageable, &owner, &waits));
	if (owner && owner != c)
		return vg_unsupported("a graph's fill in another context");
	return CUDA_SUCCESS;
}

#define FILL(bits, type) \
	static CUresult impl_cuMemsetD##bits##_v2(CUdeviceptr d, type v, size_t n, bool pt) \
	{ return fill(NULL, pt, false, d, 0, v, bits / 8, n, 1); } \
	VG_TWIN(cuMemsetD##bits##_v2, _ptds, (CUdeviceptr dst, type value, size_t n), (dst, value, n, pt)) \
	static CUresult impl_cuMemsetD##bits##Async(CUdeviceptr d, type v, size_t n, CUstream h, bool pt) \
	{ return fill(h, pt, true, d, 0, v, bits / 8, n, 1); } \
	VG_TWIN(cuMemsetD##bits##Async, _ptsz, (CUdeviceptr dst, type value, size_t n, CUstream stream), \
		(dst, value, n, stream, pt)) \
	static CUresult impl_cuMemsetD2D##bits##_v2(CUdeviceptr d, size_t p, type v, size_t w, size_t h, bool pt) \
	{ return fill(NULL, pt, false, d, p, v, bits / 8, w, h); } \
	VG_TWIN(cuMemsetD2D##bits##_v2, _ptds, \
		(CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height), \
		(dst, pitch, value, width, height, pt)) \
	static CUresult impl_cuMemsetD2D##bits##Async(CUdeviceptr d, size_t p, type v, size_t w, size_t h, CUstream st, \
						      bool pt) \
	{ return fill(st, pt, true, d, p, v, bits / 8, w, h); } \
	VG_TWIN(cuMemsetD2D##bits##Async, _ptsz, \
		(CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height, CUstream stream), \
		(dst, pitch, value, width, height, stream, pt))

FILL(8, unsigned char)
FILL(16, unsigned short)
FILL(32, unsigned int)
