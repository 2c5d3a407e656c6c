// SPDX-License-Identifier: MIT
// What a first CUDA program does, built by nvcc with its defaults, the static cudart among them: launches, streams and events,
// a graph, managed memory, a symbol, printf on the device, properties, occupancy. Each result against the host's.
// As a library (-DLIBRARY) the same behind one function.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CK(call) do { cudaError_t e_ = (call); if (e_) { printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(e_)); return 1; } } while (0)
#define WANT(x) do { if (!(x)) { printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #x); return 1; } } while (0)

__device__ int hits;
__constant__ float scale;
__managed__ int managed[4];

__global__ void vecadd(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + scale * b[i];
}

__global__ void reduce(const int *x, int *out, int n)
{
	__shared__ int s[256];
	int sum = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		sum += x[i];
	s[threadIdx.x] = sum;
	for (int k = 128; k; k /= 2) {
		__syncthreads();
		if (threadIdx.x < k)
			s[threadIdx.x] += s[threadIdx.x + k];
	}
	if (!threadIdx.x) {
		atomicAdd(out, s[0]);
		atomicAdd(&hits, 1);
	}
}

__global__ void touch(int *p)
{
	managed[threadIdx.x] += p[threadIdx.x];
}

__global__ void say(int x)
{
	printf("device says %d\n", x + (int)threadIdx.x);
}

// a name of the user's own that looks like the runtime's
extern "C" int cudaOwnName(int x)
{
	return 2 * x;
}

extern "C" int work(void)
{
	const int n = 100000;
	std::vector<float> a(n), b(n), c(n);
	std::vector<int> x(n);
	float two = 2, *da, *db, *dc, ms = -1;
	int *dx, *dsum, sum = 0, want = 0, h = 0, blocks = 0, *m;
	cudaStream_t s, t;
	cudaEvent_t e, f;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaDeviceProp prop;

	for (int i = 0; i < n; i++) {
		a[i] = i;
		b[i] = 0.5f * i;
		x[i] = i % 1000 - 300;
		want += x[i];
	}
	CK(cudaGetDeviceProperties(&prop, 0));
	WANT(prop.major >= 7 && prop.warpSize == 32 && prop.name[0]);
	CK(cudaMalloc(&da, n * 4));
	CK(cudaMalloc(&db, n * 4));
	CK(cudaMalloc(&dc, n * 4));
	CK(cudaMemcpy(da, a.data(), n * 4, cudaMemcpyHostToDevice));
	CK(cudaMemcpy(db, b.data(), n * 4, cudaMemcpyHostToDevice));
	CK(cudaMemcpyToSymbol(scale, &two, sizeof two));
	vecadd<<<(n + 255) / 256, 256>>>(da, db, dc, n);
	CK(cudaGetLastError());
	CK(cudaMemcpy(c.data(), dc, n * 4, cudaMemcpyDeviceToHost));
	for (int i = 0; i < n; i++)
		WANT(c[i] == 2.0f * i);

	CK(cudaStreamCreate(&s));
	CK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
	CK(cudaEventCreate(&e));
	CK(cudaEventCreate(&f));
	CK(cudaMallocAsync((void **)&dx, n * 4, s));
	CK(cudaMallocAsync((void **)&dsum, 4, s));
	CK(cudaEventRecord(e, s));
	CK(cudaMemsetAsync(dsum, 0, 4, s));
	CK(cudaMemcpyAsync(dx, x.data(), n * 4, cudaMemcpyHostToDevice, s));
	reduce<<<8, 256, 0, s>>>(dx, dsum, n);
	CK(cudaEventRecord(f, s));
	CK(cudaStreamWaitEvent(t, f, 0));
	CK(cudaMemcpyAsync(&sum, dsum, 4, cudaMemcpyDeviceToHost, t));
	CK(cudaStreamSynchronize(t));
	WANT(sum == want);
	CK(cudaEventElapsedTime(&ms, e, f));
	WANT(ms >= 0);
	CK(cudaMemcpyFromSymbol(&h, hits, sizeof h));
	WANT(h == 8);

	CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	CK(cudaMemsetAsync(dsum, 0, 4, s));
	reduce<<<8, 256, 0, s>>>(dx, dsum, n);
	CK(cudaStreamEndCapture(s, &graph));
	CK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 3; i++)
		CK(cudaGraphLaunch(exec, s));
	CK(cudaMemcpyAsync(&sum, dsum, 4, cudaMemcpyDeviceToHost, s));
	CK(cudaStreamSynchronize(s));
	WANT(sum == want);
	CK(cudaGraphExecDestroy(exec));
	CK(cudaGraphDestroy(graph));

	CK(cudaMallocManaged(&m, 16));
	for (int i = 0; i < 4; i++) {
		managed[i] = 10 * i;
		m[i] = i;
	}
	touch<<<1, 4>>>(m);
	CK(cudaDeviceSynchronize());
	for (int i = 0; i < 4; i++)
		WANT(managed[i] == 11 * i);
	CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reduce, 256, 0));
	WANT(blocks > 0);
	WANT(cudaMalloc((void **)&da, (size_t)1 << 60) == cudaErrorMemoryAllocation);
	WANT(cudaGetLastError() == cudaErrorMemoryAllocation && cudaGetLastError() == cudaSuccess);
	WANT(cudaOwnName(21) == 42);
	fflush(stdout);
	say<<<1, 2>>>(40);
	CK(cudaDeviceSynchronize());
	CK(cudaFree(m));
	CK(cudaFreeAsync(dx, s));
	CK(cudaFreeAsync(dsum, s));
	CK(cudaStreamDestroy(s));
	CK(cudaStreamDestroy(t));
	printf("right\n");
	return 0;
}

#ifndef LIBRARY
int main()
{
	return work();
}
#endif
