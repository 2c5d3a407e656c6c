/* SPDX-License-Identifier: MIT */
/*
 * An ordinary program as nvcc builds it, its runtime inside. "ok NAME = NUMBER" or "FAIL NAME why" a line; each test stands by itself,
 * so that one that the device cannot run says nothing about the others. Called by python.sh.
 */
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

namespace cg = cooperative_groups;

#define N (1 << 16)
static char why[256];
#define TRY(call) \
	do { \
		cudaError_t e_ = (call); \
		if (e_) { \
			snprintf(why, sizeof(why), "%s: %s", #call, cudaGetErrorString(e_)); \
			return NAN; \
		} \
	} while (0)
#define EXPECT(cond) \
	do { \
		if (!(cond)) { \
			snprintf(why, sizeof(why), "line %d: %s", __LINE__, #cond); \
			return NAN; \
		} \
	} while (0)

__constant__ float factor;
__device__ int counter;

__global__ void add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i] * factor;
}

static double vectors()
{
	std::vector<float> h(N, 1.5f);
	float *a, *b, *c, two = 2;
	double sum = 0;

	TRY(cudaMalloc(&a, N * 4));
	TRY(cudaMalloc(&b, N * 4));
	TRY(cudaMalloc(&c, N * 4));
	TRY(cudaMemcpy(a, h.data(), N * 4, cudaMemcpyHostToDevice));
	TRY(cudaMemcpy(b, h.data(), N * 4, cudaMemcpyHostToDevice));
	TRY(cudaMemcpyToSymbol(factor, &two, 4));
	add<<<N / 256, 256>>>(a, b, c, N);
	TRY(cudaGetLastError());
	TRY(cudaMemcpy(h.data(), c, N * 4, cudaMemcpyDeviceToHost));
	for (float x : h)
		sum += x;
	TRY(cudaFree(a));
	TRY(cudaFree(b));
	TRY(cudaFree(c));
	EXPECT(sum == 4.5 * N);
	return sum;
}

__global__ void total(const int *in, long long *out, int n)
{
	extern __shared__ long long s[];
	long long v = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		v += in[i];
	for (int k = 16; k; k /= 2)
		v += __shfl_down_sync(~0u, v, k);
	s[threadIdx.x] = v;
	__syncthreads();
	if (!threadIdx.x) {
		v = 0;
		for (int i = 0; i < (int)blockDim.x; i += 32)
			v += s[i];
		atomicAdd((unsigned long long *)out, (unsigned long long)v);
	}
	if (!threadIdx.x)
		atomicAdd(&counter, 1);
}

static double reduction(size_t shared)
{
	std::vector<int> h(N);
	int *in, blocks = 0, none = 0;
	long long *out, sum = -1;

	for (int i = 0; i < N; i++)
		h[i] = i % 1000;
	TRY(cudaMalloc(&in, N * 4));
	TRY(cudaMalloc(&out, 8));
	TRY(cudaMemset(out, 0, 8));
	TRY(cudaMemcpyToSymbol(counter, &none, 4));
	TRY(cudaMemcpy(in, h.data(), N * 4, cudaMemcpyHostToDevice));
	if (shared > 48 << 10)
		TRY(cudaFuncSetAttribute(total, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
	total<<<32, 256, shared>>>(in, out, N);
	TRY(cudaGetLastError());
	TRY(cudaMemcpy(&sum, out, 8, cudaMemcpyDeviceToHost));
	TRY(cudaMemcpyFromSymbol(&blocks, counter, 4));
	TRY(cudaFree(in));
	TRY(cudaFree(out));
	long long want = 0;
	for (int v : h)
		want += v;
	EXPECT(sum == want && blocks == 32);
	return (double)sum;
}

static double shared_memory() { return reduction(256 * 8); }
static double much_shared_memory() { return reduction(200 << 10); }

/* most of it static, the rest dynamic: together more than 48 KiB */
__global__ void both(int *out)
{
	__shared__ int a[10 << 10];
	extern __shared__ int b[];

	for (int i = threadIdx.x; i < 10 << 10; i += blockDim.x)
		a[i] = i;
	for (int i = threadIdx.x; i < 5 << 10; i += blockDim.x)
		b[i] = 2 * i;
	__syncthreads();
	if (!threadIdx.x)
		*out = a[10239] + b[5119];
}

static double static_and_dynamic()
{
	int *out, v = 0;

	TRY(cudaMalloc(&out, 4));
	TRY(cudaFuncSetAttribute(both, cudaFuncAttributeMaxDynamicSharedMemorySize, 20 << 10));
	both<<<1, 128, 20 << 10>>>(out);
	TRY(cudaGetLastError());
	TRY(cudaMemcpy(&v, out, 4, cudaMemcpyDeviceToHost));
	TRY(cudaFree(out));
	EXPECT(v == 10239 + 2 * 5119);
	return v;
}

__global__ void says(int v)
{
	printf("a kernel says %d of block %u\n", v, blockIdx.x);
}

static double prints()
{
	says<<<1, 1>>>(42);
	TRY(cudaDeviceSynchronize());
	return 42;
}

__global__ void grid_steps(int *a, int n)
{
	cg::grid_group g = cg::this_grid();

	for (int k = 1; k < 20; k++) {
		int i = (int)g.thread_rank();
		int v = a[(i + 1) % n];

		g.sync();
		a[i] = v + 1;
		g.sync();
	}
}

static double cooperative()
{
	int *a, n = 1024, h[1024], blocks = 0;
	void *args[] = { &a, &n };
	double sum = 0;

	TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, grid_steps, 128, 0));
	EXPECT(blocks > 0);
	TRY(cudaMalloc(&a, sizeof(h)));
	TRY(cudaMemset(a, 0, sizeof(h)));
	TRY(cudaLaunchCooperativeKernel((void *)grid_steps, dim3(8), dim3(128), args));
	TRY(cudaMemcpy(h, a, sizeof(h), cudaMemcpyDeviceToHost));
	TRY(cudaFree(a));
	for (int v : h)
		sum += v;
	EXPECT(sum == 19.0 * n);
	return sum;
}

__global__ void tiles(int *out)
{
	auto tile = cg::tiled_partition<8>(cg::this_thread_block());
	int v = (int)threadIdx.x;

	for (int k = 4; k; k /= 2)
		v += tile.shfl_down(v, k);
	if (!tile.thread_rank())
		out[threadIdx.x / 8] = v;
}

static double groups()
{
	int *out, h[8];

	TRY(cudaMalloc(&out, sizeof(h)));
	tiles<<<1, 64>>>(out);
	TRY(cudaMemcpy(h, out, sizeof(h), cudaMemcpyDeviceToHost));
	TRY(cudaFree(out));
	for (int i = 0; i < 8; i++)
		EXPECT(h[i] == 28 + 64 * i);
	return h[7];
}

__global__ void heap(int *out)
{
	int *p = (int *)malloc(64);

	if (p) {
		p[3] = (int)threadIdx.x;
		atomicAdd(out, p[3]);
		free(p);
	}
}

static double device_heap()
{
	int *out, v = 0;

	TRY(cudaMalloc(&out, 4));
	TRY(cudaMemset(out, 0, 4));
	heap<<<1, 64>>>(out);
	TRY(cudaMemcpy(&v, out, 4, cudaMemcpyDeviceToHost));
	TRY(cudaFree(out));
	EXPECT(v == 2016);
	return v;
}

static double streams()
{
	cudaStream_t s[2];
	cudaEvent_t e, f;
	float *a, *b, *c, ms = -1, h = 0, one = 1, *pinned;

	TRY(cudaMemcpyToSymbol(factor, &one, 4));
	TRY(cudaMallocHost(&pinned, N * 4));
	for (int i = 0; i < N; i++)
		pinned[i] = 1;
	TRY(cudaStreamCreate(&s[0]));
	TRY(cudaStreamCreateWithFlags(&s[1], cudaStreamNonBlocking));
	TRY(cudaEventCreate(&e));
	TRY(cudaEventCreate(&f));
	TRY(cudaMallocAsync(&a, N * 4, s[0]));
	TRY(cudaMallocAsync(&b, N * 4, s[0]));
	TRY(cudaMallocAsync(&c, N * 4, s[0]));
	TRY(cudaMemcpyAsync(a, pinned, N * 4, cudaMemcpyHostToDevice, s[0]));
	TRY(cudaMemsetAsync(b, 0, N * 4, s[0]));
	TRY(cudaEventRecord(e, s[0]));
	for (int i = 0; i < 100; i++)
		add<<<N / 256, 256, 0, s[0]>>>(b, a, b, N);
	TRY(cudaEventRecord(f, s[0]));
	TRY(cudaStreamWaitEvent(s[1], f, 0));
	TRY(cudaMemcpyAsync(&h, b + N - 1, 4, cudaMemcpyDeviceToHost, s[1]));
	TRY(cudaStreamSynchronize(s[1]));
	TRY(cudaEventElapsedTime(&ms, e, f));
	TRY(cudaFreeAsync(a, s[0]));
	TRY(cudaFreeAsync(b, s[0]));
	TRY(cudaFreeAsync(c, s[0]));
	TRY(cudaDeviceSynchronize());
	TRY(cudaFreeHost(pinned));
	EXPECT(h == 100 && ms > 0);
	return h;
}

static double graphs()
{
	cudaStream_t s;
	cudaGraph_t g;
	cudaGraphExec_t x;
	float *a, *b, h[4], one = 1;

	TRY(cudaMemcpyToSymbol(factor, &one, 4));
	TRY(cudaStreamCreate(&s));
	TRY(cudaMalloc(&a, N * 4));
	TRY(cudaMalloc(&b, N * 4));
	TRY(cudaMemset(b, 0, N * 4));
	TRY(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	TRY(cudaMemsetAsync(a, 0, N * 4, s));
	for (int i = 0; i < 10; i++)
		add<<<N / 256, 256, 0, s>>>(a, b, a, N);
	add<<<N / 256, 256, 0, s>>>(b, b, b, N);
	TRY(cudaStreamEndCapture(s, &g));
	TRY(cudaGraphInstantiate(&x, g, 0));
	h[0] = h[1] = h[2] = h[3] = 1;
	TRY(cudaMemcpy(b, h, 16, cudaMemcpyHostToDevice));
	for (int i = 0; i < 3; i++)
		TRY(cudaGraphLaunch(x, s));
	TRY(cudaStreamSynchronize(s));
	TRY(cudaMemcpy(h, a, 16, cudaMemcpyDeviceToHost));
	TRY(cudaGraphExecDestroy(x));
	TRY(cudaGraphDestroy(g));
	EXPECT(h[0] == 40 && h[3] == 40);
	return h[0];
}

__global__ void twice(float *a, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		a[i] *= 2;
}

static double pinned_in_a_kernel()
{
	float *h, *d;

	TRY(cudaHostAlloc(&h, N * 4, cudaHostAllocMapped));
	TRY(cudaHostGetDevicePointer(&d, h, 0));
	for (int i = 0; i < N; i++)
		h[i] = (float)i;
	twice<<<8, 256>>>(d, N);
	TRY(cudaDeviceSynchronize());
	EXPECT(h[0] == 0 && h[N - 1] == 2.0f * (N - 1));
	double v = h[N - 1];
	TRY(cudaFreeHost(h));
	return v;
}

static double registered_in_a_kernel()
{
	float *h = (float *)aligned_alloc(4096, N * 4), *d;

	for (int i = 0; i < N; i++)
		h[i] = (float)i;
	TRY(cudaHostRegister(h, N * 4, cudaHostRegisterMapped));
	TRY(cudaHostGetDevicePointer(&d, h, 0));
	twice<<<8, 256>>>(d, N);
	TRY(cudaDeviceSynchronize());
	EXPECT(h[N - 1] == 2.0f * (N - 1));
	TRY(cudaHostUnregister(h));
	double v = h[N - 1];
	free(h);
	return v;
}

static double managed()
{
	float *a;

	TRY(cudaMallocManaged(&a, N * 4));
	for (int i = 0; i < N; i++)
		a[i] = (float)i;
	twice<<<8, 256>>>(a, N);
	TRY(cudaDeviceSynchronize());
	EXPECT(a[N - 1] == 2.0f * (N - 1));
	a[5] = 1;
	twice<<<8, 256>>>(a, N);
	TRY(cudaDeviceSynchronize());
	EXPECT(a[5] == 2);
	double v = a[N - 1];
	TRY(cudaFree(a));
	return v;
}

__global__ void look(cudaTextureObject_t t, float *out, int w, int h)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;

	if (x < w)
		out[y * w + x] = tex2D<float>(t, x + 0.75f, y + 0.5f);
}

__global__ void draw(cudaSurfaceObject_t s, int w)
{
	int x = threadIdx.x, y = blockIdx.x;

	if (x < w)
		surf2Dwrite((float)(x * 3 + y), s, x * 4, y);
}

static double array_texture(int linear)
{
	const int w = 64, h = 32;
	std::vector<float> in(w * h), got(w * h);
	cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
	cudaTextureDesc d = {};
	cudaResourceDesc r = {};
	cudaTextureObject_t t;
	cudaArray_t a;
	float *out;
	double sum = 0;

	for (int i = 0; i < w * h; i++)
		in[i] = (float)(i % 97);
	TRY(cudaMallocArray(&a, &f, w, h));
	TRY(cudaMemcpy2DToArray(a, 0, 0, in.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
	r.resType = cudaResourceTypeArray;
	r.res.array.array = a;
	d.addressMode[0] = d.addressMode[1] = cudaAddressModeClamp;
	d.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
	TRY(cudaCreateTextureObject(&t, &r, &d, NULL));
	TRY(cudaMalloc(&out, w * h * 4));
	look<<<dim3(1, h), 64>>>(t, out, w, h);
	TRY(cudaGetLastError());
	TRY(cudaMemcpy(got.data(), out, w * h * 4, cudaMemcpyDeviceToHost));
	TRY(cudaDestroyTextureObject(t));
	TRY(cudaFreeArray(a));
	TRY(cudaFree(out));
	for (int i = 0; i < w * h; i++)
		sum += got[i];
	EXPECT(linear ? fabs(got[5] - 5.25) < 0.01 : got[5] == 5);
	return sum;
}

static double texture() { return array_texture(0); }
static double texture_linear() { return array_texture(1); }

static double surface()
{
	const int w = 64, h = 32;
	std::vector<float> got(w * h);
	cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
	cudaResourceDesc r = {};
	cudaSurfaceObject_t s;
	cudaArray_t a;

	TRY(cudaMallocArray(&a, &f, w, h, cudaArraySurfaceLoadStore));
	r.resType = cudaResourceTypeArray;
	r.res.array.array = a;
	TRY(cudaCreateSurfaceObject(&s, &r));
	draw<<<h, w>>>(s, w);
	TRY(cudaGetLastError());
	TRY(cudaMemcpy2DFromArray(got.data(), w * 4, a, 0, 0, w * 4, h, cudaMemcpyDeviceToHost));
	TRY(cudaDestroySurfaceObject(s));
	TRY(cudaFreeArray(a));
	EXPECT(got[2 * w + 5] == 17);
	return got[w * h - 1];
}

__global__ void fetch(cudaTextureObject_t t, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = tex1Dfetch<float>(t, i) + 1;
}

static double linear_memory_texture()
{
	cudaResourceDesc r = {};
	cudaTextureDesc d = {};
	cudaTextureObject_t t;
	float *in, *out, h = 0, two = 2;

	TRY(cudaMalloc(&in, N * 4));
	TRY(cudaMalloc(&out, N * 4));
	TRY(cudaMemset(in, 0, N * 4));
	TRY(cudaMemcpy(in + 7, &two, 4, cudaMemcpyHostToDevice));
	r.resType = cudaResourceTypeLinear;
	r.res.linear.devPtr = in;
	r.res.linear.desc = cudaCreateChannelDesc<float>();
	r.res.linear.sizeInBytes = N * 4;
	TRY(cudaCreateTextureObject(&t, &r, &d, NULL));
	fetch<<<N / 256, 256>>>(t, out, N);
	TRY(cudaGetLastError());
	TRY(cudaMemcpy(&h, out + 7, 4, cudaMemcpyDeviceToHost));
	TRY(cudaDestroyTextureObject(t));
	TRY(cudaFree(in));
	TRY(cudaFree(out));
	EXPECT(h == 3);
	return h;
}

static void hosted(void *p)
{
	*(int *)p += 7;
}

static double host_function()
{
	cudaStream_t s;
	int v = 0;

	TRY(cudaStreamCreate(&s));
	TRY(cudaLaunchHostFunc(s, hosted, &v));
	TRY(cudaStreamSynchronize(s));
	EXPECT(v == 7);
	return v;
}

static double query()
{
	cudaDeviceProp p;
	cudaFuncAttributes a;
	int grid = 0, block = 0;

	TRY(cudaGetDeviceProperties(&p, 0));
	TRY(cudaFuncGetAttributes(&a, total));
	TRY(cudaOccupancyMaxPotentialBlockSize(&grid, &block, twice, 0, 0));
	printf("(%s, %d.%d, %d multiprocessors; total: %d registers, binary %d, PTX %d; twice: %d blocks of %d)\n", p.name, p.major, p.minor,
	       p.multiProcessorCount, a.numRegs, a.binaryVersion, a.ptxVersion, grid, block);
	return a.numRegs * 1000000.0 + a.binaryVersion * 10000.0 + grid + block / 10000.0;
}

__global__ void beyond(int *p)
{
	p[1ll << 40] = 1;
}

static double fault()
{
	int *p;

	TRY(cudaMalloc(&p, 4));
	beyond<<<1, 1>>>(p);
	cudaError_t e = cudaDeviceSynchronize();
	EXPECT(e == cudaErrorIllegalAddress);
	EXPECT(cudaMalloc(&p, 4) == cudaErrorIllegalAddress);
	return (double)e;
}

int main()
{
	static const struct {
		const char *name;
		double (*run)();
	} tests[] = {
		{ "vectors", vectors }, { "shared_memory", shared_memory }, { "much_shared_memory", much_shared_memory },
		{ "static_and_dynamic", static_and_dynamic }, { "prints", prints }, { "groups", groups }, { "cooperative", cooperative },
		{ "device_heap", device_heap }, { "streams", streams }, { "graphs", graphs }, { "host_function", host_function }, { "query", query },
		{ "linear_memory_texture", linear_memory_texture }, { "texture", texture }, { "texture_linear", texture_linear }, { "surface", surface },
		/* memory of the host's in kernels: an error ends the context */
		{ "pinned_in_a_kernel", pinned_in_a_kernel }, { "registered_in_a_kernel", registered_in_a_kernel }, { "managed", managed },
		{ "fault", fault },
	};
	int bad = 0;

	for (auto &t : tests) {
		double v;

		(void)cudaGetLastError();
		v = t.run();
		bad |= isnan(v);
		if (isnan(v))
			printf("FAIL %s %s\n", t.name, why);
		else
			printf("ok %s = %.10g\n", t.name, v);
		fflush(stdout);
	}
	return bad;
}
