// SPDX-License-Identifier: MIT
// The runtime's C++ routines, which take kernels, variables and typed pointers: the program that nvcc's own headers compile, too.
#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

__device__ int counter[4];
__constant__ float factor;
__global__ void scale(float *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] *= factor;
	if (i < 4)
		counter[i] += i;
}
__global__ void tile(float *x)
{
	extern __shared__ float s[];

	s[threadIdx.x] = x[threadIdx.x];
	__syncthreads();
	x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

struct many { int at[100]; };
__global__ void held(const __grid_constant__ many m, int *out)
{
	const int *p = m.at;

	out[threadIdx.x] = p[99 - threadIdx.x];
}

static int bad;
#define CK(call) do { cudaError_t e_ = (call); if (e_ && ++bad) printf("line %d: %s\n", __LINE__, cudaGetErrorName(e_)); } while (0)
#define IS(cond) do { if (!(cond) && ++bad) printf("line %d: %s\n", __LINE__, #cond); } while (0)

static void occupancy()
{
	int grid, block, blocks, again, min_grid;
	size_t bytes = 0;
	const char *name = "";
	cudaKernel_t kernel = 0;

	CK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, scale));
	IS(block >= 32 && block % 32 == 0 && grid > 0);
	CK(cudaOccupancyMaxPotentialBlockSizeWithFlags(&min_grid, &again, scale, 0, 0, cudaOccupancyDefault));
	IS(again == block && min_grid == grid);
	// a float for each thread: fewer of them than without where shared memory is what is short
	CK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&min_grid, &block, tile, [](int size) { return size * sizeof(float); }));
	CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, tile, block, block * sizeof(float)));
	IS(blocks > 0 && block >= 32);
	CK(cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(&min_grid, &block, tile, [](int size) { return size > 64 ? (size_t)1 << 30 : 0; }, 0,
								   cudaOccupancyDefault));
	IS(block == 64);
	CK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&min_grid, &block, tile, [](int) { return 0; }, 96));
	IS(block == 96 || block == 64);
	CK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&again, tile, 64, 0, cudaOccupancyDefault));
	IS(again > 0);
	CK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, tile, 1, 64));
	IS(bytes >= 32768);
	CK(cudaFuncGetName(&name, tile));
	IS(strstr(name, "tile"));
	CK(cudaGetKernel(&kernel, tile));
	IS(kernel);
}

static void graphs()
{
	float two = 2, five = 5, have = 0, *x;
	int first[4] = { 10, 20, 30, 40 }, count[4] = {}, n = 100;
	cudaGraphNode_t set, run, get, seen;
	cudaKernelNodeParams p = {};
	cudaStreamCaptureStatus status;
	unsigned long long id = 0;
	cudaGraphExec_t exec;
	cudaStream_t stream;
	cudaGraph_t graph;
	void *args[] = { &x, &n };

	CK(cudaMalloc(&x, n * sizeof(*x)));
	CK(cudaMemcpy(x, &two, sizeof(two), cudaMemcpyHostToDevice));
	CK(cudaMemcpyToSymbol(counter, first, sizeof(first)));
	CK(cudaGraphCreate(&graph, 0));
	CK(cudaGraphAddMemcpyNodeToSymbol(&set, graph, nullptr, 0, factor, &two, sizeof(two), 0, cudaMemcpyHostToDevice));
	p.func = (void *)scale;
	p.gridDim = 4;
	p.blockDim = 32;
	p.kernelParams = args;
	CK(cudaGraphAddKernelNode(&run, graph, &set, 1, &p));
	CK(cudaGraphAddMemcpyNodeFromSymbol(&get, graph, &run, 1, count, counter, sizeof(count), 0, cudaMemcpyDeviceToHost));
	CK(cudaGraphAddMemcpyNode1D(&seen, graph, &get, 1, &have, x, sizeof(have), cudaMemcpyDeviceToHost));
	CK(cudaGraphMemcpyNodeSetParamsToSymbol(set, factor, &five, sizeof(five), 0, cudaMemcpyHostToDevice));
	CK(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
	CK(cudaStreamCreate(&stream));
	CK(cudaGraphLaunch(exec, stream));
	CK(cudaStreamSynchronize(stream));
	IS(have == 10 && count[0] == 10 && count[3] == 43);
	CK(cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, set, factor, &two, sizeof(two), 0, cudaMemcpyHostToDevice));
	CK(cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, get, count, counter, 8, 8, cudaMemcpyDeviceToHost));
	CK(cudaGraphLaunch(exec, stream));
	CK(cudaStreamSynchronize(stream));
	IS(have == 20 && count[0] == 34 && count[1] == 46 && count[3] == 43);
	CK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	CK(cudaStreamGetCaptureInfo(stream, &status));
	IS(status == cudaStreamCaptureStatusActive);
	CK(cudaStreamGetCaptureInfo(stream, &status, &id));
	IS(id);
	CK(cudaStreamEndCapture(stream, &graph));
	CK(cudaStreamDestroy(stream));
	CK(cudaFree(x));
}

static void memory()
{
	cudaStream_t stream;
	cudaMemPool_t pool;
	float *x = nullptr, *y = nullptr;
	void *z = nullptr;

	CK(cudaDeviceGetDefaultMemPool(&pool, 0));
	CK(cudaMallocAsync(&x, 256, pool, 0));
	CK(cudaMallocFromPoolAsync(&y, 256, pool, 0));
	CK(cudaMallocAsync(&z, 256, pool, 0));
	IS(x && y && z && x != y);
	CK(cudaMemsetAsync(x, 0, 256, 0));
	CK(cudaFreeAsync(x, 0));
	CK(cudaFreeAsync(y, 0));
	CK(cudaFreeAsync(z, 0));
	CK(cudaMallocManaged(&x, 64));
	CK(cudaStreamCreate(&stream));
	CK(cudaStreamAttachMemAsync(stream, x));
	CK(cudaStreamSynchronize(stream));
	CK(cudaStreamDestroy(stream));
	CK(cudaFree(x));
}

static void parameters()
{
	int have[32], *out;
	many m;

	for (int i = 0; i < 100; i++)
		m.at[i] = 3 * i;
	CK(cudaMalloc(&out, sizeof(have)));
	held<<<1, 32>>>(m, out);
	CK(cudaMemcpy(have, out, sizeof(have), cudaMemcpyDeviceToHost));
	IS(have[0] == 297 && have[31] == 204);
	CK(cudaFree(out));
}

int main()
{
	parameters();
	occupancy();
	graphs();
	memory();
	printf("result: %d wrong\n", bad);
	return bad != 0;
}
