/* SPDX-License-Identifier: MIT */
/*
 * Launches by other calls than cuLaunchKernel: cooperative, with attributes, and those of CUDA 2 and 3. Called by
 * programs; they end in launch.c.
 */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

/* All blocks of a cooperative grid must be resident at once. */
static CUresult cooperative_fits(CUfunction fn, const struct vg_shape *s, const struct vg_ctx *c)
{
	struct vg_func *f;
	int per_sm = 0;
	uint64_t threads = (uint64_t)s->block[0] * s->block[1] * s->block[2];
	uint64_t blocks;

	if (!(vg.info[c->ordinal].features & VGPU_DEV_FEATURE_COOPERATIVE))
		return vg_unsupported("a cooperative launch on this device");
	if (!threads || threads > c->max_threads)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_function(fn, &f));
	VG_TRY(vg_done(f->ctx, vg_func_load(f)));
	if (threads > f->max_threads)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, fn, (int)threads, s->shared));
	if (__builtin_mul_overflow((uint64_t)s->grid[0] * s->grid[1], (uint64_t)s->grid[2], &blocks) ||
	    blocks > (uint64_t)per_sm * vg.info[c->ordinal].sm_count)
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	return CUDA_SUCCESS;
}

static CUresult cooperative(CUfunction fn, CUstream stream, bool pt, struct vg_shape *s, void **params, void **extra)
{
	struct vg_stream *st;

	VG_READY();
	VG_TRY(vg_stream(stream, pt, &st));
	VG_TRY(cooperative_fits(fn, s, st->ctx));
	s->attrs |= VGPU_LAUNCH_COOPERATIVE;
	return vg_launch(fn, stream, pt, s, params, extra);
}

static CUresult impl_cuLaunchCooperativeKernel(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
					       unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params,
					       bool pt)
{
	struct vg_shape s = { { gx, gy, gz }, { bx, by, bz }, shared, 0 };

	return cooperative(fn, stream, pt, &s, params, NULL);
}
VG_TWIN(cuLaunchCooperativeKernel, _ptsz,
	(CUfunction fn, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,
	 unsigned int bz, unsigned int shared, CUstream stream, void **params),
	(fn, gx, gy, gz, bx, by, bz, shared, stream, params, pt))

/* ---- clusters ---- */

bool vg_clusters(int ordinal)
{
	return vg.info[ordinal].cc_major >= 9 && (vg.info[ordinal].features & VGPU_DEV_FEATURE_CLUSTERS) && (vg.features & VGPU_FEATURE_CLUSTERS);
}

CUresult vg_cluster_attrs(int ordinal, unsigned x, unsigned y, unsigned z, uint32_t *attrs)
{
	if (!x || !y || !z)
		return CUDA_ERROR_INVALID_VALUE;
	if (!vg_clusters(ordinal))
		return x > 1 || y > 1 || z > 1 ? vg_unsupported("a launch with thread block clusters, below compute capability 9.0 or on this device,") :
						 CUDA_SUCCESS;
	if (x > VGPU_CLUSTER_MAX || y > VGPU_CLUSTER_MAX || z > VGPU_CLUSTER_MAX)
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	*attrs = (*attrs & 0xff) | VGPU_LAUNCH_CLUSTER(x, y, z);
	return CUDA_SUCCESS;
}

/* Those of the launch, else of the kernel: the grid consists of them, and they are not too large. */
CUresult vg_cluster_check(const struct vg_func *f, const struct vg_shape *s)
{
	uint32_t own = f->cluster >> 8, asked = s->attrs >> 8, c = (asked ? asked : own) << 8, n = 1;
	uint32_t most = f->nonportable ? VGPU_CLUSTER_MAX : VGPU_CLUSTER_PORTABLE;

	if (!c)
		return f->cluster & VGPU_FN_CLUSTER_ASKED ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS;
	if (own && asked && own != asked)
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	for (int i = 0; i < 3; i++) {
		if (s->grid[i] % VGPU_LAUNCH_CLUSTER_OF(c, i))
			return CUDA_ERROR_INVALID_CLUSTER_SIZE;
		n *= VGPU_LAUNCH_CLUSTER_OF(c, i);
	}
	if (f->info->max_cluster && f->info->max_cluster < most)
		most = f->info->max_cluster;
	return n > most ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS;
}

/* What attributes ask for beside the launch. */
struct asked {
	bool coop;
	unsigned cluster[3];    /* 0: nothing */
	unsigned n;
	CUevent event[8];       /* recorded behind it */
};

/* Documented: no event of two processes, and none that takes the time. */
static CUresult ask_event(struct asked *a, CUevent h, int flags)
{
	struct vg_event *e;

	VG_TRY(vg_event(h, &e));
	if (flags || e->shared || !(e->cu_flags & CU_EVENT_DISABLE_TIMING) || a->n == sizeof a->event / sizeof a->event[0])
		return CUDA_ERROR_INVALID_VALUE;
	a->event[a->n++] = h;
	return CUDA_SUCCESS;
}

/*
 * Attributes: done, harmless (hints), or refused by name. The events that a kernel triggers are recorded behind it: who waits for one
 * is not promised to see it "precisely when it is released".
 */
static CUresult parse_attributes(const CUlaunchConfig *k, struct asked *a)
{
	if (k->numAttrs && !k->attrs)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < k->numAttrs; i++) {
		const CUlaunchAttributeValue *v = &k->attrs[i].value;

		switch ((int)k->attrs[i].id) {
		case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
			a->coop = v->cooperative != 0;
			break;
		case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
			a->cluster[0] = v->clusterDim.x;
			a->cluster[1] = v->clusterDim.y;
			a->cluster[2] = v->clusterDim.z;
			if (!a->cluster[0] || !a->cluster[1] || !a->cluster[2])
				return CUDA_ERROR_INVALID_VALUE;
			break;
		case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
			VG_TRY(ask_event(a, v->programmaticEvent.event, v->programmaticEvent.flags));
			break;
		case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
			VG_TRY(ask_event(a, v->launchCompletionEvent.event, v->launchCompletionEvent.flags));
			break;
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
	struct asked a = { 0 };
	struct vg_shape s;

	VG_READY();
	if (!k)
		return CUDA_ERROR_INVALID_VALUE;
	if (!k->numAttrs)
		return (pt ? cuLaunchKernel_ptsz : cuLaunchKernel)(fn, k->gridDimX, k->gridDimY, k->gridDimZ, k->blockDimX,
								   k->blockDimY, k->blockDimZ, k->sharedMemBytes,
								   k->hStream, params, extra);
	VG_TRY(parse_attributes(k, &a));
	s = (struct vg_shape){ { k->gridDimX, k->gridDimY, k->gridDimZ }, { k->blockDimX, k->blockDimY, k->blockDimZ },
			    k->sharedMemBytes, 0 };
	if (a.cluster[0]) {
		struct vg_stream *st;

		VG_TRY(vg_stream(k->hStream, pt, &st));
		VG_TRY(vg_cluster_attrs(st->ctx->ordinal, a.cluster[0], a.cluster[1], a.cluster[2], &s.attrs));
	}
	VG_TRY(a.coop ? cooperative(fn, k->hStream, pt, &s, params, extra) : vg_launch(fn, k->hStream, pt, &s, params, extra));
	for (unsigned i = 0; i < a.n; i++)
		VG_TRY((pt ? cuEventRecord_ptsz : cuEventRecord)(a.event[i], k->hStream));
	return CUDA_SUCCESS;
}
VG_TWIN(cuLaunchKernelEx, _ptsz, (const CUlaunchConfig *config, CUfunction fn, void **params, void **extra),
	(config, fn, params, extra, pt))

/* ---- the calls of CUDA 2 and 3: parameters set one by one, then launched ---- */

static CUresult legacy(CUfunction fn, struct vg_func **f)
{
	VG_READY();
	VG_TRY(vg_function(fn, f));
	if (!(*f)->legacy_params) {
		(*f)->legacy_params = calloc(1, VGPU_MAX_LARGE_BYTES);
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
	if (bytes > VGPU_MAX_LARGE_BYTES)
		return CUDA_ERROR_INVALID_VALUE;
	f->legacy_bytes = bytes;
	return CUDA_SUCCESS;
}

CUresult cuParamSetv(CUfunction fn, int offset, void *ptr, unsigned int bytes)
{
	struct vg_func *f;

	VG_TRY(legacy(fn, &f));
	if (!ptr || offset < 0 || bytes > VGPU_MAX_LARGE_BYTES || (unsigned)offset > VGPU_MAX_LARGE_BYTES - bytes)
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
	struct vg_shape s;
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
	s = (struct vg_shape){ { (uint32_t)width, (uint32_t)height, 1 },
			    { f->legacy_block[0], f->legacy_block[1], f->legacy_block[2] }, f->legacy_shared, 0 };
	return vg_launch(fn, stream, false, &s, NULL, extra);
}

CUresult cuLaunchGrid(CUfunction fn, int width, int height)
{
	return cuLaunchGridAsync(fn, width, height, NULL);
}

CUresult cuLaunch(CUfunction fn)
{
	return cuLaunchGridAsync(fn, 1, 1, NULL);
}
