/* SPDX-License-Identifier: MIT */
/* What a runtime program asks first: version, properties, attributes, function attributes, occupancy, errors. */
#include "rt.h"

#include "kernels/reduce.cu"

int main(void)
{
	struct cudaDeviceProp prop;
	struct cudaFuncAttributes fa;
	size_t free_b = 0, total = 0;
	int runtime = 0, driver = 0, v = 0, dev = -1, blocks = 0, by_bus = -1;
	char bus[32];

	rt_start("rt_query");
	RK(cudaRuntimeGetVersion(&runtime));
	RK(cudaDriverGetVersion(&driver));
	EXPECT_EQ(runtime / 1000, E2E_CUDART_MAJOR);
	EXPECT(driver >= 13010);
	memset(&prop, 0xee, sizeof prop);
	RK(cudaGetDeviceProperties(&prop, 0));
	EXPECT(memchr(prop.name, 0, sizeof prop.name) && prop.name[0]);
	EXPECT_EQ(prop.warpSize, 32);
	EXPECT_EQ(prop.maxThreadsPerBlock, 1024);
	EXPECT(prop.totalGlobalMem >= (64u << 20) && prop.multiProcessorCount >= 1);
	EXPECT(prop.sharedMemPerBlock >= 48 << 10 && prop.sharedMemPerBlockOptin >= prop.sharedMemPerBlock);
	EXPECT_EQ(prop.integrated, 0);
	RK(cudaDeviceGetAttribute(&v, cudaDevAttrComputeCapabilityMajor, 0));
	EXPECT_EQ(v, prop.major);
	RK(cudaDeviceGetAttribute(&v, cudaDevAttrMultiProcessorCount, 0));
	EXPECT_EQ(v, prop.multiProcessorCount);
	RK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
	RK(cudaDeviceGetByPCIBusId(&by_bus, bus));
	EXPECT_EQ(by_bus, 0);
	RK(cudaSetDevice(0));
	RK(cudaGetDevice(&dev));
	EXPECT_EQ(dev, 0);
	RWANT(cudaErrorInvalidDevice, cudaSetDevice(1000));
	RWANT(cudaErrorInvalidDevice, cudaGetLastError());
	RWANT(cudaErrorInvalidValue, cudaInitDevice(0, 0x1000, cudaInitDeviceFlagsAreValid));
	RWANT(cudaErrorInvalidValue, cudaGetLastError());
	RK(cudaMemGetInfo(&free_b, &total));
	EXPECT(total == prop.totalGlobalMem && free_b <= total);

	RK(cudaFuncGetAttributes(&fa, (const void *)reduce_sum));
	EXPECT_EQ(fa.sharedSizeBytes, 128);
	EXPECT_EQ(fa.ptxVersion, 61);
	EXPECT(fa.maxThreadsPerBlock >= 256);
	RK(cudaFuncSetAttribute((const void *)reduce_max, cudaFuncAttributeMaxDynamicSharedMemorySize,
		(int)prop.sharedMemPerBlockOptin));
	RK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)reduce_sum, 256, 0));
	EXPECT(blocks >= 1 && blocks * 256 <= prop.maxThreadsPerMultiProcessor);
	RWANT(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&fa, (const void *)&prop));
	(void)cudaGetLastError();
	EXPECT(!strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress"));
	EXPECT(strlen(cudaGetErrorString(cudaErrorMemoryAllocation)) > 0);
	return e2e_end("runtime %d over driver %d, \"%s\"", runtime, driver, prop.name);
}
