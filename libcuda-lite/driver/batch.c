/* SPDX-License-Identifier: MIT */
/*
 * Many operations by one call: copies and prefetches; and the stream-ordered copies of a row of an array. Each is the call
 * for one of its kind, in the stream's order, which is an order that a batch may have.
 *
 * All that a call says of itself is checked before anything is done; what a pointer names, when its turn comes: *fail says which.
 */
#include "driver.h"
#include "texture.h"

#include <stdint.h>

static CUresult refuse(size_t *fail, size_t which, CUresult why)
{
	if (fail)
		*fail = which;
	return why;
}

/* "Must not be legacy NULL stream." */
static CUresult batch_stream(CUstream h, bool pt, struct vg_stream **s)
{
	VG_READY();
	VG_TRY(vg_stream(h, pt, s));
	return (*s)->index ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static bool order_ok(CUmemcpySrcAccessOrder order, unsigned flags)
{
	return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY &&
	       !(flags & ~(unsigned)CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE);
}

/* Which operations a row of attributes or locations is for: from 0 on, rising, below count. */
static bool indices_ok(const size_t *idx, size_t n, size_t count)
{
	if (!idx || !n || n > count || idx[0])
		return false;
	for (size_t i = 1; i < n; i++)
		if (idx[i] <= idx[i - 1] || idx[i] >= count)
			return false;
	return true;
}

static CUresult wait_for(CUstream h, bool pt) { return pt ? cuStreamSynchronize_ptsz(h) : cuStreamSynchronize(h); }

/* Of a stream that the caller has looked at. */
static CUresult copies(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs, size_t *idx, size_t nattrs,
		       size_t *fail, struct vg_stream *s, CUstream h, bool pt)
{
	bool during = false;
	CUresult r;

	if (!dsts || !srcs || !sizes || !count || !attrs || !indices_ok(idx, nattrs, count))
		return refuse(fail, SIZE_MAX, CUDA_ERROR_INVALID_VALUE);
	for (size_t i = 0; i < nattrs; i++) {
		if (!order_ok(attrs[i].srcAccessOrder, attrs[i].flags))
			return refuse(fail, SIZE_MAX, CUDA_ERROR_INVALID_VALUE);
		during |= attrs[i].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
	}
	if (during && vg_capturing(s))
		return refuse(fail, SIZE_MAX, vg_unsupported("capture of copies whose sources end with the call"));
	for (size_t i = 0; i < count; i++) {
		r = pt ? cuMemcpyAsync_ptsz(dsts[i], srcs[i], sizes[i], h) : cuMemcpyAsync(dsts[i], srcs[i], sizes[i], h);
		if (r)
			return refuse(fail, i, r);
	}
	/* sources that are the caller's only until now */
	return during ? wait_for(h, pt) : CUDA_SUCCESS;
}

static CUresult batch(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs, size_t *idx, size_t nattrs,
		      size_t *fail, CUstream h, bool pt)
{
	struct vg_stream *s;
	CUresult r = batch_stream(h, pt, &s);

	return r ? refuse(fail, SIZE_MAX, r) : copies(dsts, srcs, sizes, count, attrs, idx, nattrs, fail, s, h, pt);
}

/* One, in any stream. */
static CUresult impl_cuMemcpyWithAttributesAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUmemcpyAttributes *attr, CUstream h, bool pt)
{
	struct vg_stream *s;

	VG_READY();
	VG_TRY(vg_stream(h, pt, &s));
	return copies(&dst, &src, &bytes, 1, attr, &(size_t){ 0 }, 1, NULL, s, h, pt);
}
VG_TWIN(cuMemcpyWithAttributesAsync, _ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t size, CUmemcpyAttributes *attr, CUstream stream),
	(dst, src, size, attr, stream, pt))

static CUresult impl_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs,
					size_t *idx, size_t nattrs, size_t *fail, CUstream h, bool pt)
{
	return batch(dsts, srcs, sizes, count, attrs, idx, nattrs, fail, h, pt);
}
VG_TWIN(cuMemcpyBatchAsync, _ptsz,
	(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs, size_t *idx, size_t nattrs, size_t *fail,
	 CUstream stream),
	(dsts, srcs, sizes, count, attrs, idx, nattrs, fail, stream, pt))

static CUresult impl_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs,
					   size_t *idx, size_t nattrs, CUstream h, bool pt)
{
	return batch(dsts, srcs, sizes, count, attrs, idx, nattrs, NULL, h, pt);
}
VG_TWIN(cuMemcpyBatchAsync_v2, _ptsz,
	(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs, size_t *idx, size_t nattrs, CUstream stream),
	(dsts, srcs, sizes, count, attrs, idx, nattrs, stream, pt))

/* ---- boxes ---- */

/* Bytes of an element: the array's, of two arrays of both, else 1. 0: they differ, or a type that is none. */
static CUresult element(const CUDA_MEMCPY3D_BATCH_OP *op, size_t *bytes)
{
	const CUmemcpy3DOperand *side[] = { &op->src, &op->dst };
	size_t one;

	*bytes = 0;
	for (int i = 0; i < 2; i++) {
		if (side[i]->type == CU_MEMCPY_OPERAND_TYPE_POINTER)
			continue;
		if (side[i]->type != CU_MEMCPY_OPERAND_TYPE_ARRAY)
			return CUDA_ERROR_INVALID_VALUE;
		one = vg_array_element(side[i]->op.array.array);
		if (!one || (*bytes && *bytes != one))
			return CUDA_ERROR_INVALID_VALUE;
		*bytes = one;
	}
	*bytes = *bytes ? *bytes : 1;
	return CUDA_SUCCESS;
}

/* A row or a layer has room for what is copied, or 0: no gaps. */
static bool room(const CUmemcpy3DOperand *o, const CUextent3D *e, size_t element_bytes)
{
	return o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY ||
	       ((!o->op.ptr.rowLength || o->op.ptr.rowLength >= e->width) && (!o->op.ptr.layerHeight || o->op.ptr.layerHeight >= e->height) &&
		o->op.ptr.rowLength <= SIZE_MAX / element_bytes);
}

static CUresult box_of(const CUDA_MEMCPY3D_BATCH_OP *op, CUDA_MEMCPY3D *m)
{
	const CUextent3D *e = &op->extent;
	size_t n;

	*m = (CUDA_MEMCPY3D){ .Height = e->height, .Depth = e->depth };
	VG_TRY(element(op, &n));
	if (!order_ok(op->srcAccessOrder, op->flags) || !e->width || !e->height || !e->depth || !room(&op->src, e, n) ||
	    !room(&op->dst, e, n) || __builtin_mul_overflow(e->width, n, &m->WidthInBytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (op->src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
		m->srcMemoryType = CU_MEMORYTYPE_ARRAY;
		m->srcArray = op->src.op.array.array;
		m->srcY = op->src.op.array.offset.y;
		m->srcZ = op->src.op.array.offset.z;
		if (__builtin_mul_overflow(op->src.op.array.offset.x, n, &m->srcXInBytes))
			return CUDA_ERROR_INVALID_VALUE;
	} else {
		m->srcMemoryType = CU_MEMORYTYPE_UNIFIED;
		m->srcDevice = op->src.op.ptr.ptr;
		m->srcPitch = op->src.op.ptr.rowLength * n;
		m->srcHeight = op->src.op.ptr.layerHeight;
	}
	if (op->dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
		m->dstMemoryType = CU_MEMORYTYPE_ARRAY;
		m->dstArray = op->dst.op.array.array;
		m->dstY = op->dst.op.array.offset.y;
		m->dstZ = op->dst.op.array.offset.z;
		if (__builtin_mul_overflow(op->dst.op.array.offset.x, n, &m->dstXInBytes))
			return CUDA_ERROR_INVALID_VALUE;
	} else {
		m->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
		m->dstDevice = op->dst.op.ptr.ptr;
		m->dstPitch = op->dst.op.ptr.rowLength * n;
		m->dstHeight = op->dst.op.ptr.layerHeight;
	}
	return CUDA_SUCCESS;
}

static CUresult boxes_of(size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail, unsigned long long flags, struct vg_stream *s, CUstream h,
			 bool pt)
{
	bool during = false;
	CUDA_MEMCPY3D m;
	CUresult r;

	if (!count || !ops || flags)
		return refuse(fail, SIZE_MAX, CUDA_ERROR_INVALID_VALUE);
	for (size_t i = 0; i < count; i++) {
		r = box_of(&ops[i], &m);
		if (r)
			return refuse(fail, i, r);
		during |= ops[i].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
	}
	if (during && vg_capturing(s))
		return refuse(fail, SIZE_MAX, vg_unsupported("capture of copies whose sources end with the call"));
	for (size_t i = 0; i < count; i++) {
		r = box_of(&ops[i], &m);
		if (!r)
			r = pt ? cuMemcpy3DAsync_v2_ptsz(&m, h) : cuMemcpy3DAsync_v2(&m, h);
		if (r)
			return refuse(fail, i, r);
	}
	return during ? wait_for(h, pt) : CUDA_SUCCESS;
}

static CUresult boxes(size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail, unsigned long long flags, CUstream h, bool pt)
{
	struct vg_stream *s;
	CUresult r = batch_stream(h, pt, &s);

	return r ? refuse(fail, SIZE_MAX, r) : boxes_of(count, ops, fail, flags, s, h, pt);
}

static CUresult impl_cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags, CUstream h, bool pt)
{
	struct vg_stream *s;

	VG_READY();
	VG_TRY(vg_stream(h, pt, &s));
	return boxes_of(1, op, NULL, flags, s, h, pt);
}
VG_TWIN(cuMemcpy3DWithAttributesAsync, _ptsz, (CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags, CUstream stream), (op, flags, stream, pt))

static CUresult impl_cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail, unsigned long long flags, CUstream h, bool pt)
{
	return boxes(count, ops, fail, flags, h, pt);
}
VG_TWIN(cuMemcpy3DBatchAsync, _ptsz,
	(size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail, unsigned long long flags, CUstream stream),
	(count, ops, fail, flags, stream, pt))

static CUresult impl_cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, unsigned long long flags, CUstream h, bool pt)
{
	return boxes(count, ops, NULL, flags, h, pt);
}
VG_TWIN(cuMemcpy3DBatchAsync_v2, _ptsz, (size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, unsigned long long flags, CUstream stream),
	(count, ops, flags, stream, pt))

/* ---- managed memory ---- */

/* What is discarded may read as anything, so as what it was. It has to be managed memory, which a prefetch to where it is says. */
static CUresult ranges(CUdeviceptr *ptrs, size_t *sizes, size_t count, const CUmemLocation *locations, const size_t *idx, size_t n,
		       unsigned long long flags, CUstream h, bool pt)
{
	struct vg_stream *s;
	size_t k = 0;

	VG_TRY(batch_stream(h, pt, &s));
	if (!ptrs || !sizes || !count || flags || !locations || !indices_ok(idx, n, count))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		if (k + 1 < n && i >= idx[k + 1])
			k++;
		VG_TRY(pt ? cuMemPrefetchAsync_v2_ptsz(ptrs[i], sizes[i], locations[k], 0, h) :
			    cuMemPrefetchAsync_v2(ptrs[i], sizes[i], locations[k], 0, h));
	}
	return CUDA_SUCCESS;
}

static CUresult impl_cuMemPrefetchBatchAsync(CUdeviceptr *ptrs, size_t *sizes, size_t count, CUmemLocation *locations, size_t *idx, size_t n,
					     unsigned long long flags, CUstream h, bool pt)
{
	return ranges(ptrs, sizes, count, locations, idx, n, flags, h, pt);
}
VG_TWIN(cuMemPrefetchBatchAsync, _ptsz,
	(CUdeviceptr *ptrs, size_t *sizes, size_t count, CUmemLocation *locations, size_t *idx, size_t n, unsigned long long flags, CUstream stream),
	(ptrs, sizes, count, locations, idx, n, flags, stream, pt))

static CUresult impl_cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *ptrs, size_t *sizes, size_t count, CUmemLocation *locations, size_t *idx,
						       size_t n, unsigned long long flags, CUstream h, bool pt)
{
	return ranges(ptrs, sizes, count, locations, idx, n, flags, h, pt);
}
VG_TWIN(cuMemDiscardAndPrefetchBatchAsync, _ptsz,
	(CUdeviceptr *ptrs, size_t *sizes, size_t count, CUmemLocation *locations, size_t *idx, size_t n, unsigned long long flags, CUstream stream),
	(ptrs, sizes, count, locations, idx, n, flags, stream, pt))

static CUresult impl_cuMemDiscardBatchAsync(CUdeviceptr *ptrs, size_t *sizes, size_t count, unsigned long long flags, CUstream h, bool pt)
{
	struct vg_stream *s;
	struct vg_mem m;

	VG_TRY(batch_stream(h, pt, &s));
	VG_NO_CAPTURE(s);
	if (!ptrs || !sizes || !count || flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (!sizes[i] || !vg_mem_find(ptrs[i], &m) || m.kind != VG_MEM_MANAGED || sizes[i] > m.bytes - (ptrs[i] - m.start))
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}
VG_TWIN(cuMemDiscardBatchAsync, _ptsz, (CUdeviceptr *ptrs, size_t *sizes, size_t count, unsigned long long flags, CUstream stream),
	(ptrs, sizes, count, flags, stream, pt))

/* ---- rows of arrays ---- */

static CUresult impl_cuMemcpyHtoAAsync_v2(CUarray dst, size_t offset, const void *src, size_t bytes, CUstream h, bool pt)
{
	CUDA_MEMCPY3D m = { .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = dst, .dstXInBytes = offset, .srcMemoryType = CU_MEMORYTYPE_HOST,
			    .srcHost = src, .WidthInBytes = bytes, .Height = 1, .Depth = 1 };

	return pt ? cuMemcpy3DAsync_v2_ptsz(&m, h) : cuMemcpy3DAsync_v2(&m, h);
}
VG_TWIN(cuMemcpyHtoAAsync_v2, _ptsz, (CUarray dst, size_t offset, const void *src, size_t bytes, CUstream stream),
	(dst, offset, src, bytes, stream, pt))

static CUresult impl_cuMemcpyAtoHAsync_v2(void *dst, CUarray src, size_t offset, size_t bytes, CUstream h, bool pt)
{
	CUDA_MEMCPY3D m = { .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = src, .srcXInBytes = offset, .dstMemoryType = CU_MEMORYTYPE_HOST,
			    .dstHost = dst, .WidthInBytes = bytes, .Height = 1, .Depth = 1 };

	return pt ? cuMemcpy3DAsync_v2_ptsz(&m, h) : cuMemcpy3DAsync_v2(&m, h);
}
VG_TWIN(cuMemcpyAtoHAsync_v2, _ptsz, (void *dst, CUarray src, size_t offset, size_t bytes, CUstream stream),
	(dst, src, offset, bytes, stream, pt))
