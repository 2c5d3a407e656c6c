/* SPDX-License-Identifier: MIT */
/*
 * The engine's face, and what the device looks like: everything by the driver's own word.
 */
#include "cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t cuda_open(const struct engine_env *env, struct engine **out)
{
	struct engine *e = calloc(1, sizeof(*e));
	uint32_t st;

	if (!e)
		return VGPU_ST_OUT_OF_MEMORY;
	e->env = *env;
	e->ctx = cuda_context();
	e->dev = cuda_device();
	e->device_base = env->arena_base;
	st = cuda_memory_open(e);
	if (!st)
		st = cuda_streams_open(e);
	if (!st)
		st = cuda_status(cu.cuStreamCreate(&e->copies, CU_STREAM_NON_BLOCKING));
	if (st) {
		free(e);
		return st;
	}
	*out = e;
	return VGPU_ST_OK;
}

/* The process ends, and the driver gives back what it had. */
static void cuda_close(struct engine *e)
{
	(void)e;
}

static int driver_version(void)
{
	int v = 0;

	return cu.cuDriverGetVersion && !cu.cuDriverGetVersion(&v) && v > 0 ? v : 0;
}

static void cuda_describe(char *text, size_t bytes)
{
	int v = driver_version();

	snprintf(text, bytes, "cuda: driver of CUDA %d.%d", v / 1000, v % 1000 / 10);
}

static uint64_t cuda_managed(struct engine *e, uint64_t va, uint64_t bytes)
{
	(void)e, (void)va, (void)bytes;
	return 0;               /* module_load refuses modules that have such variables */
}

static uint64_t cuda_own_bytes(struct engine *e)
{
	(void)e;
	return 0;               /* of the driver's own, which the device states as overhead */
}

/* The driver has a heap of its own: of this size. The client's memory stays as it is. */
static uint32_t cuda_heap(struct engine *e, uint64_t va, uint64_t bytes)
{
	(void)va;
	return cuda_failed(e, cu.cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, bytes));
}

static uint32_t cuda_stack(struct engine *e, uint64_t bytes) { return cuda_failed(e, cu.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, bytes)); }

static int cuda_reaches(struct engine *e) { return !e->unregistered; }

static uint32_t cuda_died(struct engine *e) { return e->died; }

const struct engine_ops engine_cuda = {
	.name = "cuda",
	.describe = cuda_describe,
	.open = cuda_open,
	.close = cuda_close,
	.module_load = cuda_module_load,
	.module_check = cuda_module_check,
	.module_unload = cuda_module_unload,
	.managed = cuda_managed,
	.module_symbol = cuda_module_symbol,
	.module_bytes = cuda_module_bytes,
	.own_bytes = cuda_own_bytes,
	.func_info = cuda_func_info,
	.name_of = cuda_name_of,
	.launch = cuda_launch,
	.gemm = cuda_gemm,
	.copy = cuda_copy,
	.fill = cuda_fill,
	.note_alloc = cuda_note,
	.heap = cuda_heap,
	.stack = cuda_stack,
	.memory = cuda_mem,
	.physical = cuda_phys,
	.mapping = cuda_map,
	.died = cuda_died,
	.copy_queued = cuda_copy_queued,
	.fill_queued = cuda_fill_queued,
	.reaches = cuda_reaches,
	.settle = cuda_settle,
	.poll = cuda_poll,
	.ended = cuda_ended,
};

/* ---- the device ------------------------------------------------------------------------------------------ */

static uint32_t number(CUdevice_attribute a, CUresult *r)
{
	int v = 0;

	if (!*r)
		*r = cu.cuDeviceGetAttribute(&v, a, cuda_device());
	return v > 0 ? (uint32_t)v : 0;
}

uint32_t cuda_identify(struct vgpu_device_info *i, char *why, size_t room)
{
	CUdevice d = cuda_device();
	size_t bytes = 0;
	CUuuid uuid;
	CUresult r = cu.cuDeviceGetName(i->name, sizeof(i->name), d);

	if (!r)
		r = cu.cuDeviceTotalMem_v2(&bytes, d);
	if (!r)
		r = cu.cuDeviceGetUuid(&uuid, d);
	if (!r)
		r = cu.cuDeviceGetPCIBusId(i->bus_id, sizeof(i->bus_id), d);
	i->memory_bytes = bytes & ~(uint64_t)(CUDA_PAGE - 1);
	memcpy(i->uuid, &uuid, r ? 0 : sizeof(i->uuid));
	i->cc_major = number(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &r);
	i->cc_minor = number(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &r);
	i->sm_count = number(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &r);
	i->warp_size = number(CU_DEVICE_ATTRIBUTE_WARP_SIZE, &r);
	i->max_threads_per_block = number(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &r);
	i->max_threads_per_sm = number(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &r);
	i->max_blocks_per_sm = number(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, &r);
	i->max_block[0] = number(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, &r);
	i->max_block[1] = number(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, &r);
	i->max_block[2] = number(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, &r);
	i->max_grid[0] = number(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, &r);
	i->max_grid[1] = number(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, &r);
	i->max_grid[2] = number(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, &r);
	i->regs_per_block = number(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, &r);
	i->regs_per_sm = number(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &r);
	i->shared_per_block = number(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &r);
	i->shared_per_block_optin = number(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &r);
	i->shared_per_sm = number(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &r);
	i->shared_reserved = number(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, &r);
	i->clock_khz = number(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &r);
	i->memory_clock_khz = number(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &r);
	i->memory_bus_bits = number(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &r);
	i->l2_bytes = number(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &r);
	i->driver_version = (uint32_t)driver_version();
	cuda_describe(i->engine, sizeof(i->engine));
	if (r)
		snprintf(why, room, "the driver does not describe its device: %s", cuda_error_name(r));
	return cuda_status(r);
}
