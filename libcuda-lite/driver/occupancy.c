/* SPDX-License-Identifier: MIT */
/*
 * Occupancy: how many blocks of a kernel fit on a multiprocessor. Plain arithmetic over the device's
 * description: threads (in whole warps), registers, shared memory and the limit of blocks.
 */
#include "driver.h"

#define REG_UNIT 256u           /* registers are given to a warp in units of this many */

static CUresult load(CUfunction fn, struct vg_func **f)
{
	VG_READY();
	VG_TRY(vg_function(fn, f));
	return vg_done((*f)->ctx, vg_func_load(*f));
}

/* What shared memory is given in: the occupancy calculator's table. */
static uint64_t shared_unit(const struct vgpu_device_info *d) { return d->cc_major >= 3 && d->cc_major < 8 ? 256 : 128; }

static uint64_t blocks_per_sm(const struct vg_func *f, uint32_t threads, uint64_t dynamic)
{
	const struct vgpu_device_info *d = &vg.info[f->ctx->ordinal];
	uint32_t warps = (threads + d->warp_size - 1) / d->warp_size;
	uint64_t regs = ((uint64_t)f->info->regs * d->warp_size + REG_UNIT - 1) / REG_UNIT * REG_UNIT * warps;
	uint64_t shared = f->info->shared_static + dynamic + d->shared_reserved;
	uint64_t n = d->max_blocks_per_sm, by;

	if (!threads || threads > f->max_threads || dynamic > f->max_dynamic)
		return 0;
	by = d->max_threads_per_sm / ((uint64_t)warps * d->warp_size);
	n = by < n ? by : n;
	by = regs ? d->regs_per_sm / regs : n;
	n = by < n ? by : n;
	shared = (shared + shared_unit(d) - 1) / shared_unit(d) * shared_unit(d);
	by = shared ? d->shared_per_sm / shared : n;
	return by < n ? by : n;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction fn, int block, size_t dynamic,
							      unsigned int flags)
{
	struct vg_func *f;

	if (!blocks || block <= 0 || (flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE))
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(load(fn, &f));
	*blocks = (int)blocks_per_sm(f, (uint32_t)block, dynamic);
	return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction fn, int block, size_t dynamic)
{
	return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, fn, block, dynamic, 0);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *min_grid, int *block_size, CUfunction fn,
						   CUoccupancyB2DSize to_shared, size_t dynamic, int limit,
						   unsigned int flags)
{
	const struct vgpu_device_info *d;
	uint64_t best = 0, best_blocks = 0;
	uint32_t best_size = 0, max;
	struct vg_func *f;

	if (!min_grid || !block_size || (flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE))
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(load(fn, &f));
	d = &vg.info[f->ctx->ordinal];
	max = f->max_threads;
	if (limit > 0 && (uint32_t)limit < max)
		max = (uint32_t)limit;
	/* The largest block that keeps the most threads resident: from the top, in whole warps. */
	for (uint32_t size = max; size; size = (size - 1) / d->warp_size * d->warp_size) {
		uint64_t n = blocks_per_sm(f, size, to_shared ? to_shared((int)size) : dynamic);

		if (n * size > best) {
			best = n * size;
			best_blocks = n;
			best_size = size;
		}
	}
	*block_size = (int)best_size;
	*min_grid = (int)(best_blocks * d->sm_count);
	return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *min_grid, int *block_size, CUfunction fn, CUoccupancyB2DSize to_shared,
					  size_t dynamic, int limit)
{
	return cuOccupancyMaxPotentialBlockSizeWithFlags(min_grid, block_size, fn, to_shared, dynamic, limit, 0);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction fn, int blocks, int block)
{
	const struct vgpu_device_info *d;
	struct vg_func *f;
	uint64_t room, taken;

	if (!bytes || blocks <= 0 || block <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(load(fn, &f));
	d = &vg.info[f->ctx->ordinal];
	room = d->shared_per_sm / (uint64_t)blocks / shared_unit(d) * shared_unit(d);
	taken = f->info->shared_static + d->shared_reserved;
	room = room > taken ? room - taken : 0;
	*bytes = room < f->max_dynamic ? room : f->max_dynamic;
	return CUDA_SUCCESS;
}

/* How many blocks of a launch are resident at once on the whole device, and what its clusters are; its own checks of shape are the launch's. */
static CUresult clusters(CUfunction fn, const CUlaunchConfig *k, struct vg_func **f, uint64_t *blocks, uint32_t *size)
{
	uint64_t threads = (uint64_t)k->blockDimX * k->blockDimY * k->blockDimZ;
	uint32_t c;

	VG_TRY(load(fn, f));
	if (!vg_clusters((*f)->ctx->ordinal))
		return vg_unsupported("occupancy of thread block clusters, below compute capability 9.0 or on this device,");
	if (!threads || threads > (*f)->max_threads || (k->numAttrs && !k->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	*blocks = blocks_per_sm(*f, (uint32_t)threads, k->sharedMemBytes) * vg.info[(*f)->ctx->ordinal].sm_count;
	c = (*f)->cluster;
	*size = c >> 8 ? VGPU_LAUNCH_CLUSTER_OF(c, 0) * VGPU_LAUNCH_CLUSTER_OF(c, 1) * VGPU_LAUNCH_CLUSTER_OF(c, 2) : 0;
	for (unsigned i = 0; i < k->numAttrs; i++) {
		const CUlaunchAttributeValue *v = &k->attrs[i].value;

		if (k->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			*size = v->clusterDim.x <= VGPU_CLUSTER_MAX && v->clusterDim.y <= VGPU_CLUSTER_MAX && v->clusterDim.z <= VGPU_CLUSTER_MAX ?
				v->clusterDim.x * v->clusterDim.y * v->clusterDim.z : VGPU_CLUSTER_MAX + 1;
	}
	return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialClusterSize(int *size, CUfunction fn, const CUlaunchConfig *config)
{
	struct vg_func *f;
	uint64_t blocks;
	uint32_t asked, most;

	if (!size || !config)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(clusters(fn, config, &f, &blocks, &asked));
	most = f->nonportable ? VGPU_CLUSTER_MAX : VGPU_CLUSTER_PORTABLE;
	if (f->info->max_cluster && f->info->max_cluster < most)
		most = f->info->max_cluster;
	while (most > blocks)
		most /= 2;
	*size = (int)most;
	return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int *count, CUfunction fn, const CUlaunchConfig *config)
{
	struct vg_func *f;
	uint64_t blocks;
	uint32_t size;

	if (!count || !config)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(clusters(fn, config, &f, &blocks, &size));
	if (!size)
		return CUDA_ERROR_INVALID_VALUE;
	if (size > (f->nonportable ? VGPU_CLUSTER_MAX : VGPU_CLUSTER_PORTABLE))
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	*count = (int)(blocks / size);
	return CUDA_SUCCESS;
}
