/* SPDX-License-Identifier: MIT */
/*
 * Devices: everything comes from the one description that the agent handed over at start
 * (struct vgpu_device_info), so no query leaves the process.
 */
#include "driver.h"

#include "texture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

CUresult cuDeviceGetCount(int *count)
{
	if (vg_absent() && vg_not_ready() && !vg_described()) {
		if (!count)
			return CUDA_ERROR_INVALID_VALUE;
		*count = 1;     /* VGPU_REQUIRED: one that cannot be used now; core/connect.c */
		return CUDA_SUCCESS;
	}
	VG_KNOWN();
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = (int)vg.ndev;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *dev, int ordinal)
{
	if (vg_absent() && vg_not_ready() && !vg_described()) {
		if (!dev)
			return CUDA_ERROR_INVALID_VALUE;
		if (ordinal)
			return CUDA_ERROR_INVALID_DEVICE;
		*dev = ordinal;
		return CUDA_SUCCESS;
	}
	VG_KNOWN();
	if (!dev)
		return CUDA_ERROR_INVALID_VALUE;
	if (!vg_device_ok(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*dev = ordinal;
	return CUDA_SUCCESS;
}

/* Checks that most calls share: device, then a place for the answer. */
static CUresult info_of(CUdevice dev, const void *out, const struct vgpu_device_info **i)
{
	VG_KNOWN();
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!vg_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*i = &vg.info[dev];
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
	const struct vgpu_device_info *i;

	VG_TRY(info_of(dev, name, &i));
	if (len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(name, (size_t)len, "%s", i->name);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	const struct vgpu_device_info *i;

	VG_TRY(info_of(dev, uuid, &i));
	memcpy(uuid->bytes, i->uuid, 16);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	return cuDeviceGetUuid_v2(uuid, dev);
}

CUresult cuDeviceGetLuid(char *luid, unsigned int *node_mask, CUdevice dev)
{
	const struct vgpu_device_info *i;

	VG_TRY(info_of(dev, luid, &i));
	(void)node_mask;
	return CUDA_ERROR_NOT_SUPPORTED;        /* documented: Windows only */
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	const struct vgpu_device_info *i;

	VG_TRY(info_of(dev, bytes, &i));
	*bytes = i->memory_bytes;
	return CUDA_SUCCESS;
}

/* The oldest form has 32 bits for it; what does not fit is said as the largest number. */
__attribute__((visibility("default"))) CUresult cuDeviceTotalMem(unsigned int *bytes, CUdevice dev);
CUresult cuDeviceTotalMem(unsigned int *bytes, CUdevice dev)
{
	const struct vgpu_device_info *i;

	VG_TRY(info_of(dev, bytes, &i));
	*bytes = i->memory_bytes > 0xffffffffu ? 0xffffffffu : (unsigned int)i->memory_bytes;
	return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
	const struct vgpu_device_info *i;

	VG_TRY(info_of(dev, major, &i));
	if (!minor)
		return CUDA_ERROR_INVALID_VALUE;
	*major = (int)i->cc_major;
	*minor = (int)i->cc_minor;
	return CUDA_SUCCESS;
}

/* domain:bus:device of bus_id; false: it is no PCI address. */
static bool pci_of(const char *s, unsigned *domain, unsigned *bus, unsigned *device)
{
	unsigned function = 0;

	if (sscanf(s, "%x:%x:%x.%x", domain, bus, device, &function) >= 3)
		return true;
	*domain = 0;
	return sscanf(s, "%x:%x.%x", bus, device, &function) >= 2;
}

CUresult cuDeviceGetPCIBusId(char *id, int len, CUdevice dev)
{
	const struct vgpu_device_info *i;
	unsigned domain, bus, device;

	VG_TRY(info_of(dev, id, &i));
	if (len <= 0 || !pci_of(i->bus_id, &domain, &bus, &device))
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(id, (size_t)len, "%04x:%02x:%02x.0", domain, bus, device);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *id)
{
	unsigned want[3], have[3];

	VG_KNOWN();
	if (!dev || !id || !pci_of(id, &want[0], &want[1], &want[2]))
		return CUDA_ERROR_INVALID_VALUE;
	for (uint32_t o = 0; o < vg.ndev; o++)
		if (pci_of(vg.info[o].bus_id, &have[0], &have[1], &have[2]) && !memcmp(want, have, sizeof want)) {
			*dev = (CUdevice)o;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
{
	const struct vgpu_device_info *i;

	VG_TRY(info_of(dev, can, &i));
	if (!vg_device_ok(peer))
		return CUDA_ERROR_INVALID_DEVICE;
	*can = 0;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice src, CUdevice dst)
{
	const struct vgpu_device_info *i;

	VG_TRY(info_of(src, value, &i));
	if (!vg_device_ok(dst) || src == dst)
		return CUDA_ERROR_INVALID_DEVICE;
	if (attrib < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ||
	    attrib > CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED)
		return CUDA_ERROR_INVALID_VALUE;
	*value = 0;
	return CUDA_SUCCESS;
}

/* What a kernel's atomics are towards the host: the processor's own, in memory that both see. */
static CUresult atomics(unsigned int *caps, const CUatomicOperation *ops, unsigned int n, bool native)
{
	const unsigned bits = CU_ATOMIC_CAPABILITY_SCALAR_32 | CU_ATOMIC_CAPABILITY_SCALAR_64;
	const unsigned whole = CU_ATOMIC_CAPABILITY_SIGNED | CU_ATOMIC_CAPABILITY_UNSIGNED | bits;

	if (!caps || !ops || !n)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < n; i++)
		if ((unsigned)ops[i] >= CU_ATOMIC_OPERATION_MAX)
			return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < n; i++) {
		switch ((int)ops[i]) {
		case CU_ATOMIC_OPERATION_INTEGER_INCREMENT:
		case CU_ATOMIC_OPERATION_INTEGER_DECREMENT:
			caps[i] = CU_ATOMIC_CAPABILITY_UNSIGNED | CU_ATOMIC_CAPABILITY_REDUCTION | CU_ATOMIC_CAPABILITY_SCALAR_32;
			break;
		case CU_ATOMIC_OPERATION_EXCHANGE:
		case CU_ATOMIC_OPERATION_CAS:
			caps[i] = whole;
			break;
		case CU_ATOMIC_OPERATION_FLOAT_ADD:
			caps[i] = CU_ATOMIC_CAPABILITY_SIGNED | CU_ATOMIC_CAPABILITY_REDUCTION | bits;
			break;
		case CU_ATOMIC_OPERATION_FLOAT_MIN:
		case CU_ATOMIC_OPERATION_FLOAT_MAX:
			caps[i] = 0;
			break;
		default:
			caps[i] = whole | CU_ATOMIC_CAPABILITY_REDUCTION;
		}
		if (!native)
			caps[i] = 0;
	}
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetHostAtomicCapabilities(unsigned int *caps, const CUatomicOperation *ops, unsigned int n, CUdevice dev)
{
	VG_KNOWN();
	if (!vg_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	return atomics(caps, ops, n, !strncmp(vg.info[dev].engine, "cpu", 3));
}

CUresult cuDeviceGetP2PAtomicCapabilities(unsigned int *caps, const CUatomicOperation *ops, unsigned int n, CUdevice src, CUdevice dst)
{
	VG_KNOWN();
	if (!vg_device_ok(src) || !vg_device_ok(dst) || src == dst)
		return CUDA_ERROR_INVALID_DEVICE;
	return atomics(caps, ops, n, false);
}

CUresult cuDeviceGetExecAffinitySupport(int *supported, CUexecAffinityType type, CUdevice dev)
{
	const struct vgpu_device_info *i;

	VG_TRY(info_of(dev, supported, &i));
	if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT)
		return CUDA_ERROR_INVALID_VALUE;
	*supported = 0;
	return CUDA_SUCCESS;
}

#define TEXTURE1D_LINEAR (1 << 28)      /* texels */

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t *width, CUarray_format format, unsigned channels, CUdevice dev)
{
	const struct vgpu_device_info *i;

	VG_TRY(info_of(dev, width, &i));
	(void)format;
	(void)channels;
	if (strncmp(i->engine, "cpu", 3))
		return vg_unsupported("cuDeviceGetTexture1DLinearMaxWidth on this device's engine");
	*width = TEXTURE1D_LINEAR;
	return CUDA_SUCCESS;
}

/* What programs ask and keep to: the hardware's numbers (CUDA C++ Programming Guide, "Technical Specifications"), all of which texture.c takes. */
bool vg_texture_limit(int a, long long *v)
{
	switch (a) {
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH: case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH: case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH:
		*v = 131072;
		return true;
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT: case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT:
		*v = 65536;
		return true;
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT:
		*v = 65000;
		return true;
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH:
		*v = 2097120;
		return true;
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH:
		*v = TEXTURE1D_LINEAR;
		return true;
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH: case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH: case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH: case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH:
		*v = 16384;
		return true;
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH: case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT: case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT: case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH: case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH: case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH: case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT: case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH: case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT:
		*v = 32768;
		return true;
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE: case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE:
		*v = 8192;
		return true;
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS: case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS: case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS:
		*v = 2048;
		return true;
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS: case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS:
		*v = 2046;
		return true;
	case CU_DEVICE_ATTRIBUTE_CAN_TEX2D_GATHER:
		*v = 1;
		return true;
	default:
		return false;
	}
}

/*
 * Attributes. Textures and surfaces do not exist on an engine other than the cpu engine: their sizes are 0, so nobody plans with them.
 * false: no such attribute.
 */
static bool attribute(uint32_t ordinal, const struct vgpu_device_info *i, int a, long long *v)
{
	unsigned domain = 0, bus = 0, device = 0;

	pci_of(i->bus_id, &domain, &bus, &device);
	if (!strncmp(i->engine, "cpu", 3) && vg_texture_limit(a, v))
		return true;
	switch (a) {
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *v = i->max_threads_per_block; break;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X: *v = i->max_block[0]; break;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: *v = i->max_block[1]; break;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: *v = i->max_block[2]; break;
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *v = i->max_grid[0]; break;
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y: *v = i->max_grid[1]; break;
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *v = i->max_grid[2]; break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *v = i->shared_per_block; break;
	case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY: *v = 65536; break;
	case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *v = i->warp_size; break;
	case CU_DEVICE_ATTRIBUTE_MAX_PITCH: *v = VG_MAX_PITCH; break;
	case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK: *v = i->regs_per_block; break;
	case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: *v = i->clock_khz; break;
	case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT: *v = 512; break;
	case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT: *v = 32; break;
	case CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT: *v = 512; break;
	case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP: *v = 1; break;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *v = i->sm_count; break;
	case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY: *v = 1; break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE: *v = CU_COMPUTEMODE_DEFAULT; break;
	case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS: *v = 1; break;
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: *v = bus; break;
	case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID: *v = device; break;
	case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID: *v = domain; break;
	case CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID: *v = (int)(i->pci_device << 16 | i->pci_vendor); break;
	case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: *v = i->memory_clock_khz; break;
	case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: *v = i->memory_bus_bits; break;
	case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *v = i->l2_bytes; break;
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *v = i->max_threads_per_sm; break;
	case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: *v = 1; break;
	case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING: *v = 1; break;
	case CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED: *v = i->cc_major >= 9; break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *v = i->cc_major; break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *v = i->cc_minor; break;
	case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED: *v = 1; break;
	case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED: *v = 1; break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: *v = i->shared_per_sm; break;
	case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: *v = i->regs_per_sm; break;
	case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY: *v = 1; break;
	case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS: *v = 1; break;
	case CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST: *v = 1; break;
	case CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED: *v = !strncmp(i->engine, "cpu", 3); break;
	case CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO: *v = 2; break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED: *v = 1; break;
	case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1:
	case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1:
	case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1:
	case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
	case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR: *v = 1; break;
	case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH: *v = !!(i->features & VGPU_DEV_FEATURE_COOPERATIVE); break;
	case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
		*v = vg.features & VGPU_FEATURE_PRIORITY && i->features & VGPU_DEV_FEATURE_PRIORITY;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *v = i->shared_per_block_optin; break;
	case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: *v = !!(i->features & VGPU_DEV_FEATURE_VMM); break;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: *v = i->max_blocks_per_sm; break;
	case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: *v = i->shared_reserved; break;
	case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED: *v = 1; break;
	case CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED: *v = vg_one_node(); break;
	case CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT: *v = 1; break;
	case CU_DEVICE_ATTRIBUTE_NUMA_ID: *v = -1; break;
	case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID: *v = -1; break;
	case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED:
		*v = (vg.features & VGPU_FEATURE_OWN_PAGES) != 0;
		break;
	case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
		*v = vg_ipc_memory(ordinal);
		break;
	case CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES:
		*v = vg_ipc_memory(ordinal) ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
		break;
	case CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED:
		*v = vg_ipc_supported();
		break;
	case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH: *v = vg_clusters(ordinal); break;
	/* Answered 0 on purpose: registered memory has another address for the device, nothing is exported. */
	default: *v = 0; break;
	}
	switch (a) {
#define KNOWN(name, value) case value:
	CUDA_LITE_DEVICE_ATTRIBUTE_LIST(KNOWN)
#undef KNOWN
		return true;
	}
	return false;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attrib, CUdevice dev)
{
	const struct vgpu_device_info *i;
	long long v;

	VG_TRY(info_of(dev, value, &i));
	if (!attribute((uint32_t)dev, i, (int)attrib, &v))
		return CUDA_ERROR_INVALID_VALUE;
	*value = v > 0x7fffffff ? 0x7fffffff : (int)v;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(CUdevprop *p, CUdevice dev)
{
	const struct vgpu_device_info *i;

	VG_TRY(info_of(dev, p, &i));
	*p = (CUdevprop){ .maxThreadsPerBlock = (int)i->max_threads_per_block,
			  .sharedMemPerBlock = (int)i->shared_per_block, .totalConstantMemory = 65536,
			  .SIMDWidth = (int)i->warp_size, .memPitch = VG_MAX_PITCH,
			  .regsPerBlock = (int)i->regs_per_block, .clockRate = (int)i->clock_khz,
			  .textureAlign = 512 };
	for (int k = 0; k < 3; k++) {
		p->maxThreadsDim[k] = (int)i->max_block[k];
		p->maxGridSize[k] = (int)i->max_grid[k];
	}
	return CUDA_SUCCESS;
}
