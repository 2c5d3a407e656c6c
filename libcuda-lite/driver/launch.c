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
static CUresult check_shape(const struct vg_func *f, const struct vg_ctx *c, const struct shape *s)
{
	uint64_t threads = (uint64_t)s->block[0] * s->block[1] * s->block[2];

	/* x - 1 < max catches 0 too. */
	for (int i = 0; i < 3; i++)
		if (VG_UNLIKELY(s->grid[i] - 1 >= c->max_grid[i] || s->block[i] - 1 >= c->max_block[i]))
			return CUDA_ERROR_INVALID_VALUE;
	if (VG_UNLIKELY(threads > f->max_threads))
		return threads > c->max_threads ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	if (VG_UNLIKELY(s->shared > __atomic_load_n(&f->max_dynamic, __ATOMIC_RELAXED)))
		return CUDA_ERROR_INVALID_VALUE;
	if (VG_UNLIKELY(f->reqntid[0]))
		for (int i = 0; i < 3; i++)
			if (f->reqntid[i] && f->reqntid[i] != s->block[i])
				return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* One parameter piece. Sizes of 8 and 4 are nearly all there are. */
static inline void put(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	if (VG_LIKELY(bytes == 8))
		memcpy(to, from, 8);
	else if (bytes == 4)
		memcpy(to, from, 4);
	else
		memcpy(to, from, bytes);
}

static inline void fill_params(struct vg_ctx *c, const struct vg_func *f, uint64_t i, void **params)
{
	uint8_t *base = (uint8_t *)vg_slot(c, i);
	const struct vg_piece *p = f->pieces, *end = p + f->npieces;

	for (unsigned k = 1; k < f->nslots; k++)
		vg_payload_header(vg_slot(c, i + k), i + k);
	if (VG_LIKELY(i % VGPU_IOQ_SLOTS + f->nslots <= VGPU_IOQ_SLOTS)) {
		for (; p < end; p++)
			put(base + p->to, (const uint8_t *)params[p->param] + p->from, p->bytes);
		return;
	}
	/* The command wraps around the end of the queue. */
	for (; p < end; p++)
		put((uint8_t *)vg_slot(c, i + p->to / VGPU_SLOT_BYTES) + p->to % VGPU_SLOT_BYTES,
		    (const uint8_t *)params[p->param] + p->from, p->bytes);
}

/* The same from one packed buffer. */
static void fill_packed(struct vg_ctx *c, const struct vg_func *f, uint64_t i, const uint8_t *buffer)
{
	uint32_t left = f->param_bytes;

	for (unsigned k = 1; k < f->nslots; k++) {
		union vgpu_slot *s = vg_slot(c, i + k);
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

/* Everything that is not the common case: first use, foreign context, odd arguments. */
static __attribute__((noinline)) CUresult launch_slow(struct vg_func *f, struct vg_ctx *c, void **params, void **extra,
						      const uint8_t **packed)
{
	uint32_t status;

	if (f->ctx != c)
		return CUDA_ERROR_INVALID_HANDLE;
	status = vg_func_load(f);
	if (status)
		return vg_fail(c, status);
	if (f->loaded != 1)
		return vg_unsupported("a kernel with more than 4096 bytes of parameters");
	if (params && extra)
		return CUDA_ERROR_INVALID_VALUE;
	if (extra)
		return parse_extra(f, extra, packed);
	return f->npieces && !params ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static inline CUresult launch(CUfunction fn, CUstream stream, bool pt, const struct shape *shape, void **params,
			      void **extra)
{
	const uint8_t *packed = NULL;
	struct vg_stream *s;
	struct vg_func *f;
	struct vg_ctx *c;
	struct vgpu_cmd *h;
	uint64_t i;

	VG_READY();
	VG_TRY(vg_stream(stream, pt, &s));
	VG_TRY(vg_function(fn, &f));
	c = s->ctx;
	if (VG_UNLIKELY(f->ctx != c || extra || !params || __atomic_load_n(&f->loaded, __ATOMIC_ACQUIRE) != 1))
		VG_TRY(launch_slow(f, c, params, extra, &packed));
	VG_TRY(check_shape(f, c, shape));

	vg_credit(s);
	i = vg_claim(c, f->nslots);
	vg_note(s, i + 1);
	/* From here to the publication nothing may fail. */
	if (VG_LIKELY(!packed))
		fill_params(c, f, i, params);
	else
		fill_packed(c, f, i, packed);
	h = &vg_slot(c, i)->cmd;
	vg_header(h, VGPU_OP_LAUNCH, f->nslots, s, i);
	h->u.launch.fn = f->fn;
	h->u.launch.grid[0] = shape->grid[0];
	h->u.launch.grid[1] = shape->grid[1];
	h->u.launch.grid[2] = shape->grid[2];
	h->u.launch.block[0] = (uint16_t)shape->block[0];
	h->u.launch.block[1] = (uint16_t)shape->block[1];
	h->u.launch.block[2] = (uint16_t)shape->block[2];
	h->u.launch.param_bytes = (uint16_t)f->param_bytes;
	h->u.launch.shared_bytes = shape->shared;
	h->u.launch.attrs = shape->attrs;
	vgpu_slot_publish((union vgpu_slot *)h, i);
	vg_kick();
	return CUDA_SUCCESS;
}

static inline CUresult impl_cuLaunchKernel(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
					   unsigned bz, unsigned shared, CUstream stream, void **params, void **extra,
					   bool pt)
{
	const struct shape s = { { gx, gy, gz }, { bx, by, bz }, shared, 0 };

	return launch(fn, stream, pt, &s, params, extra);
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
