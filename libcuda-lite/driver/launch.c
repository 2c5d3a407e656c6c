/* SPDX-License-Identifier: MIT */
/*
 * Kernel launches: the path that must cost nothing. Read it with core/queue.h.
 *
 * Handles are checked by a load and a compare, limits against copies in the context and the function,
 * parameters go from the caller's memory straight into the queue's slots.
 */
#include "driver.h"
#include "../core/queue.h"

#include <stdlib.h>
#include <string.h>

struct shape {
	uint32_t grid[3], block[3];
	uint32_t shared, attrs;
};

/* Why a launch may not be: the same answers the device would give, but at once. */
static inline __attribute__((always_inline)) CUresult check_shape(const struct vg_func *f, const struct vg_ctx *c,
								  const struct shape s)
{
	uint64_t threads = (uint64_t)s.block[0] * s.block[1] * s.block[2];

	/* x - 1 < max catches 0 too. */
	if (VG_UNLIKELY(s.grid[0] - 1 >= c->max_grid[0] || s.grid[1] - 1 >= c->max_grid[1] ||
			s.grid[2] - 1 >= c->max_grid[2] || s.block[0] - 1 >= c->max_block[0] ||
			s.block[1] - 1 >= c->max_block[1] || s.block[2] - 1 >= c->max_block[2]))
		return CUDA_ERROR_INVALID_VALUE;
	if (VG_UNLIKELY(threads > f->max_threads))
		return threads > c->max_threads ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	if (VG_UNLIKELY(s.shared > __atomic_load_n(&f->max_dynamic, __ATOMIC_RELAXED)))
		return CUDA_ERROR_INVALID_VALUE;
	if (VG_UNLIKELY(f->reqntid[0]))
		for (int i = 0; i < 3; i++)
			if (f->reqntid[i] && f->reqntid[i] != s.block[i])
				return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* Sizes of 8 and 4 are nearly all there are. A slot holds at most seven parameters of 8 bytes. */
static inline __attribute__((always_inline)) void put(uint8_t *to, void *const *from, const struct vg_piece *p)
{
	unsigned n = p->count;

	if (VG_LIKELY(p->kind == 8)) {
		switch (n) {
		default: memcpy(to + 48, from[6], 8); __attribute__((fallthrough));
		case 6: memcpy(to + 40, from[5], 8); __attribute__((fallthrough));
		case 5: memcpy(to + 32, from[4], 8); __attribute__((fallthrough));
		case 4: memcpy(to + 24, from[3], 8); __attribute__((fallthrough));
		case 3: memcpy(to + 16, from[2], 8); __attribute__((fallthrough));
		case 2: memcpy(to + 8, from[1], 8); __attribute__((fallthrough));
		case 1: memcpy(to, from[0], 8);
		}
	} else if (p->kind == 4) {
		for (unsigned k = 0; k < n; k++)
			memcpy(to + 4 * k, from[k], 4);
	} else {
		memcpy(to, (const uint8_t *)from[0] + p->from, p->bytes);
	}
}

static inline __attribute__((always_inline)) void fill_params(union vgpu_slot *slots, const struct vg_func *f,
							      unsigned nslots, uint64_t i, void *const *params)
{
	const struct vg_piece *p = f->pieces, *end = p + f->npieces;

	for (unsigned k = 1; k < nslots; k++)
		vg_payload_header(&slots[(i + k) % VGPU_IOQ_SLOTS], i + k);
	for (; p < end; p++)
		put((uint8_t *)&slots[(i + p->slot) % VGPU_IOQ_SLOTS] + p->to, params + p->param, p);
}

/* The same from one packed buffer. */
static __attribute__((noinline)) void fill_packed(union vgpu_slot *slots, const struct vg_func *f, uint64_t i,
						  const uint8_t *buffer)
{
	uint32_t left = f->param_bytes;

	for (unsigned k = 1; k < f->nslots; k++) {
		union vgpu_slot *s = &slots[(i + k) % VGPU_IOQ_SLOTS];
		uint32_t n = left < VGPU_SLOT_PAYLOAD ? left : VGPU_SLOT_PAYLOAD;

		vg_payload_header(s, i + k);
		memcpy(s->payload.bytes, buffer, n);
		buffer += n;
		left -= n;
	}
}

/* `extra`: buffer pointer and size, in any order. */
static CUresult parse_extra(const struct vg_func *f, void **extra, const uint8_t **buffer)
{
	const size_t *size = NULL;

	*buffer = NULL;
	for (unsigned i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
		if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			*buffer = extra[i + 1];
		else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			size = extra[i + 1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (f->param_bytes && (!*buffer || !size || *size < f->param_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* Nothing here may fail: what is claimed is published. packed: parameters in one buffer instead. */
static inline __attribute__((always_inline)) CUresult submit_launch(struct vg_stream *s, const struct vg_func *f,
								    const struct shape k, void *const *params,
								    const uint8_t *packed)
{
	struct vg_ctx *c = s->ctx;
	union vgpu_slot *slots = c->queue.slots;
	unsigned nslots = f->nslots;
	uint64_t i, body[4];

	_Static_assert(offsetof(struct vgpu_body_launch, grid) == 4 && offsetof(struct vgpu_body_launch, block) == 16 &&
		       offsetof(struct vgpu_body_launch, param_bytes) == 22 &&
		       offsetof(struct vgpu_body_launch, shared_bytes) == 24 &&
		       offsetof(struct vgpu_body_launch, attrs) == 28, "the words below");
	vg_credit(s);
	i = vg_claim(c, s, nslots);
	if (!packed)
		fill_params(slots, f, nslots, i, params);
	else
		fill_packed(slots, f, i, packed);
	body[0] = f->fn | (uint64_t)k.grid[0] << 32;
	body[1] = k.grid[1] | (uint64_t)k.grid[2] << 32;
	body[2] = (uint16_t)k.block[0] | (uint64_t)(uint16_t)k.block[1] << 16 |
		  (uint64_t)(uint16_t)k.block[2] << 32 | (uint64_t)(uint16_t)f->param_bytes << 48;
	body[3] = k.shared | (uint64_t)k.attrs << 32;
	vg_publish_slot(&slots[i % VGPU_IOQ_SLOTS], VGPU_OP_LAUNCH, nslots, s, i, 0, 0, body);
	vg_kick();
	vg_prefetch(slots, i, nslots);
	return CUDA_SUCCESS;
}

/* Everything that is not the common case: default streams, first use, foreign context, odd arguments, errors. */
static __attribute__((noinline)) CUresult launch(CUfunction fn, CUstream stream, bool pt, const struct shape *k,
						 void **params, void **extra)
{
	const uint8_t *packed = NULL;
	struct vg_stream *s;
	struct vg_func *f;
	uint32_t status;

	VG_READY();
	VG_TRY(vg_stream(stream, pt, &s));
	VG_TRY(vg_function(fn, &f));
	if (f->ctx != s->ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	status = vg_func_load(f);
	if (status)
		return vg_fail(s->ctx, status);
	if (f->loaded != 1)
		return vg_unsupported("a kernel with more than 4096 bytes of parameters");
	if (params && extra)
		return CUDA_ERROR_INVALID_VALUE;
	if (extra)
		VG_TRY(parse_extra(f, extra, &packed));
	else if (f->npieces && !params)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(check_shape(f, s->ctx, *k));
	return submit_launch(s, f, *k, params, f->npieces ? packed : NULL);
}

/* The other way gets the shape number by number: it stays in registers then, here, where nobody wants it in memory. */
static __attribute__((noinline, cold)) CUresult launch_cold(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
							    unsigned by, unsigned bz, unsigned shared, CUstream stream,
							    void **params, void **extra, bool pt)
{
	const struct shape k = { { gx, gy, gz }, { bx, by, bz }, shared, 0 };

	return launch(fn, stream, pt, &k, params, extra);
}

/* A created stream, a function that was launched before, parameters one by one. */
static inline __attribute__((always_inline)) CUresult launch_hot(CUfunction fn, CUstream stream, bool pt,
								 const struct shape k, void **params, void **extra)
{
	struct vg_stream *s = vg_get(VG_STREAM, (uint64_t)(uintptr_t)stream);
	struct vg_func *f = vg_get(VG_FUNCTION, (uint64_t)(uintptr_t)fn);

	if (VG_UNLIKELY(!__atomic_load_n(vg_alive, __ATOMIC_RELAXED) || !s || !f || !params || extra ||
			f->ctx != s->ctx || __atomic_load_n(&f->loaded, __ATOMIC_ACQUIRE) != 1 || vg_ctx_error(s->ctx)))
		return launch_cold(fn, k.grid[0], k.grid[1], k.grid[2], k.block[0], k.block[1], k.block[2], k.shared,
				   stream, params, extra, pt);
	VG_TRY(check_shape(f, s->ctx, k));
	return submit_launch(s, f, k, params, NULL);
}

static inline __attribute__((always_inline)) CUresult
impl_cuLaunchKernel(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		    unsigned shared, CUstream stream, void **params, void **extra, bool pt)
{
	const struct shape s = { { gx, gy, gz }, { bx, by, bz }, shared, 0 };

	return launch_hot(fn, stream, pt, s, params, extra);
}
VG_TWIN(cuLaunchKernel, _ptsz,
	(CUfunction fn, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,
	 unsigned int bz, unsigned int shared, CUstream stream, void **params, void **extra),
	(fn, gx, gy, gz, bx, by, bz, shared, stream, params, extra, pt))

/* All blocks of a cooperative grid must be resident at once. */
static CUresult cooperative_fits(CUfunction fn, const struct shape *s, const struct vg_ctx *c)
{
	int per_sm = 0;
	uint64_t threads = (uint64_t)s->block[0] * s->block[1] * s->block[2];
	uint64_t blocks;

	if (!(vg.info[c->ordinal].features & VGPU_DEV_FEATURE_COOPERATIVE))
		return vg_unsupported("a cooperative launch on this device");
	if (!threads || threads > c->max_threads)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, fn, (int)threads, s->shared));
	if (__builtin_mul_overflow((uint64_t)s->grid[0] * s->grid[1], (uint64_t)s->grid[2], &blocks) ||
	    blocks > (uint64_t)per_sm * vg.info[c->ordinal].sm_count)
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	return CUDA_SUCCESS;
}

static CUresult cooperative(CUfunction fn, CUstream stream, bool pt, struct shape *s, void **params, void **extra)
{
	struct vg_stream *st;

	VG_READY();
	VG_TRY(vg_stream(stream, pt, &st));
	VG_TRY(cooperative_fits(fn, s, st->ctx));
	s->attrs |= VGPU_LAUNCH_COOPERATIVE;
	return launch(fn, stream, pt, s, params, extra);
}

static CUresult impl_cuLaunchCooperativeKernel(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
					       unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params,
					       bool pt)
{
	struct shape s = { { gx, gy, gz }, { bx, by, bz }, shared, 0 };

	return cooperative(fn, stream, pt, &s, params, NULL);
}
VG_TWIN(cuLaunchCooperativeKernel, _ptsz,
	(CUfunction fn, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,
	 unsigned int bz, unsigned int shared, CUstream stream, void **params),
	(fn, gx, gy, gz, bx, by, bz, shared, stream, params, pt))

/* Attributes: done, harmless (hints), or refused by name. */
static CUresult parse_attributes(const CUlaunchConfig *k, bool *coop)
{
	if (k->numAttrs && !k->attrs)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < k->numAttrs; i++) {
		const CUlaunchAttributeValue *v = &k->attrs[i].value;

		switch ((int)k->attrs[i].id) {
		case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
			*coop = v->cooperative != 0;
			break;
		case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
			if (v->clusterDim.x > 1 || v->clusterDim.y > 1 || v->clusterDim.z > 1)
				return vg_unsupported("cuLaunchKernelEx with a thread block cluster");
			break;
		case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
			return vg_unsupported("cuLaunchKernelEx with a programmatic event");
		case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
			return vg_unsupported("cuLaunchKernelEx with a launch completion event");
		case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
			return vg_unsupported("cuLaunchKernelEx with a device-updatable node");
		case CU_LAUNCH_ATTRIBUTE_IGNORE:
		case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		/* "Allowed" to overlap with the kernel before it, never obliged to: order is kept instead. */
		case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
		case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
		case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
		case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
			break;
		default:
			return CUDA_ERROR_INVALID_VALUE;
		}
	}
	return CUDA_SUCCESS;
}

static CUresult impl_cuLaunchKernelEx(const CUlaunchConfig *k, CUfunction fn, void **params, void **extra, bool pt)
{
	bool coop = false;
	struct shape s;

	VG_READY();
	if (!k)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(parse_attributes(k, &coop));
	s = (struct shape){ { k->gridDimX, k->gridDimY, k->gridDimZ }, { k->blockDimX, k->blockDimY, k->blockDimZ },
			    k->sharedMemBytes, 0 };
	return coop ? cooperative(fn, k->hStream, pt, &s, params, extra) : launch(fn, k->hStream, pt, &s, params, extra);
}
VG_TWIN(cuLaunchKernelEx, _ptsz, (const CUlaunchConfig *config, CUfunction fn, void **params, void **extra),
	(config, fn, params, extra, pt))

/* ---- the calls of CUDA 2 and 3: parameters set one by one, then launched ---- */

static CUresult legacy(CUfunction fn, struct vg_func **f)
{
	VG_READY();
	VG_TRY(vg_function(fn, f));
	if (!(*f)->legacy_params) {
		(*f)->legacy_params = calloc(1, VGPU_MAX_PARAM_BYTES);
		if (!(*f)->legacy_params)
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

CUresult cuFuncSetBlockShape(CUfunction fn, int x, int y, int z)
{
	struct vg_func *f;

	VG_TRY(legacy(fn, &f));
	if (x <= 0 || y <= 0 || z <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	f->legacy_block[0] = (uint32_t)x;
	f->legacy_block[1] = (uint32_t)y;
	f->legacy_block[2] = (uint32_t)z;
	return CUDA_SUCCESS;
}

CUresult cuFuncSetSharedSize(CUfunction fn, unsigned int bytes)
{
	struct vg_func *f;

	VG_TRY(legacy(fn, &f));
	f->legacy_shared = bytes;
	return CUDA_SUCCESS;
}

CUresult cuParamSetSize(CUfunction fn, unsigned int bytes)
{
	struct vg_func *f;

	VG_TRY(legacy(fn, &f));
	if (bytes > VGPU_MAX_PARAM_BYTES)
		return CUDA_ERROR_INVALID_VALUE;
	f->legacy_bytes = bytes;
	return CUDA_SUCCESS;
}

CUresult cuParamSetv(CUfunction fn, int offset, void *ptr, unsigned int bytes)
{
	struct vg_func *f;

	VG_TRY(legacy(fn, &f));
	if (!ptr || offset < 0 || bytes > VGPU_MAX_PARAM_BYTES || (unsigned)offset > VGPU_MAX_PARAM_BYTES - bytes)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(f->legacy_params + offset, ptr, bytes);
	return CUDA_SUCCESS;
}

CUresult cuParamSeti(CUfunction fn, int offset, unsigned int value)
{
	return cuParamSetv(fn, offset, &value, sizeof value);
}

CUresult cuParamSetf(CUfunction fn, int offset, float value)
{
	return cuParamSetv(fn, offset, &value, sizeof value);
}

CUresult cuLaunchGridAsync(CUfunction fn, int width, int height, CUstream stream)
{
	struct vg_func *f;
	struct shape s;
	size_t bytes;
	void *extra[5];

	VG_TRY(legacy(fn, &f));
	if (width <= 0 || height <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	bytes = f->legacy_bytes;
	extra[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
	extra[1] = f->legacy_params;
	extra[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
	extra[3] = &bytes;
	extra[4] = CU_LAUNCH_PARAM_END;
	s = (struct shape){ { (uint32_t)width, (uint32_t)height, 1 },
			    { f->legacy_block[0], f->legacy_block[1], f->legacy_block[2] }, f->legacy_shared, 0 };
	return launch(fn, stream, false, &s, NULL, extra);
}

CUresult cuLaunchGrid(CUfunction fn, int width, int height)
{
	return cuLaunchGridAsync(fn, width, height, NULL);
}

CUresult cuLaunch(CUfunction fn)
{
	return cuLaunchGridAsync(fn, 1, 1, NULL);
}
