/* SPDX-License-Identifier: MIT */
/*
 * Kernels whose compiled form is a case of its own: code that nvcc writes looks different from
 * code that people write. Each cases/nv_NAME.ptx is the PTX of -D CASE_NAME, made once with CUDA 13.0
 * (nvcc -arch=compute_75 -ptx), its launch and expectation lines put in front.
 */
#ifdef CASE_state_machine
/* a switch in a loop: nvcc makes an indexed branch of it */
extern "C" __global__ void k(const unsigned char *program, int *out)
{
	int acc = threadIdx.x, pc = 0, stack[8], sp = 0;

	for (int steps = 0; steps < 200; steps++) {
		switch (program[pc++]) {
		case 0: acc += 3; break;
		case 1: acc *= 2; break;
		case 2: stack[sp++ & 7] = acc; break;
		case 3: acc ^= stack[--sp & 7]; break;
		case 4: if (acc & 1) pc += 1; break;
		case 5: acc -= 100; break;
		case 6: if (acc > 1000) pc = 0; break;
		default: out[threadIdx.x] = acc; return;
		}
	}
	out[threadIdx.x] = -1;
}
#endif
#ifdef CASE_templates
/* struct by value, shared template arrays, warp reduction, 64-bit atomics */
struct arg { short a; double b; unsigned char c[5]; };
template <int N> __device__ long long reduce(long long v)
{
	__shared__ long long part[N / 32];

	for (int o = 16; o; o >>= 1)
		v += __shfl_down_sync(0xffffffffu, v, o);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	v = 0;
	for (int i = 0; i < N / 32; i++)
		v += part[i];
	return v;
}
extern "C" __global__ void k(struct arg s, unsigned long long *total, long long *last)
{
	long long v = reduce<128>((long long)blockIdx.x * 1000 + threadIdx.x + s.a + (long long)s.b + s.c[4]);

	if (threadIdx.x == 0)
		atomicAdd(total, (unsigned long long)v);
	atomicMax(last, (long long)threadIdx.x * -5);
}
#endif
#ifdef CASE_heap
extern "C" __global__ void k(int *out)
{
	int *p = (int *)malloc(64 * sizeof(int));

	if (!p) {
		out[threadIdx.x] = -1;
		return;
	}
	for (int i = 0; i < 64; i++)
		p[i] = i * threadIdx.x;
	__syncthreads();
	out[threadIdx.x] = p[63] + p[1];
	free(p);
}
#endif
#ifdef CASE_virtuals
struct shape { __device__ virtual int area(int k) = 0; int w; };
struct square : shape { __device__ int area(int k) override { return w * w + k; } };
struct line : shape { __device__ int area(int k) override { return w - k; } };
extern "C" __global__ void k(int *out)
{
	square s;
	line l;
	shape *p;

	s.w = threadIdx.x;
	l.w = 1000;
	p = threadIdx.x % 3 ? (shape *)&s : (shape *)&l;
	out[threadIdx.x] = p->area(threadIdx.x);
}
#endif
/* -rdc=true: kernels that launch kernels */
#ifdef CASE_launch_order
/* the NULL stream of a block is in order, and the parent's tail stream comes behind all of it */
__global__ void add(int *p, int v) { p[threadIdx.x] = p[threadIdx.x] * 3 + v; }
__global__ void sum(const int *p, int n, int *out)
{
	int s = 0;

	for (int i = 0; i < n; i++)
		s += p[i];
	*out = s * 10 + *out;
}
extern "C" __global__ void k(int *out, int *at_end)
{
	int *mine = out + 32 * blockIdx.x;

	if (threadIdx.x == 0)
		for (int i = 1; i <= 4; i++)
			add<<<1, 32>>>(mine, i);
	if (threadIdx.x == 0 && blockIdx.x == 0) {
		sum<<<1, 1, 0, cudaStreamTailLaunch>>>(out, 96, at_end);
		sum<<<1, 1, 0, cudaStreamTailLaunch>>>(out, 1, at_end);
	}
}
#endif
#ifdef CASE_launch_depth
/* 24 levels below the host's launch; a thread's last error is its own, and is forgotten when it is asked for */
extern "C" __global__ void k(int *out, int level)
{
	atomicAdd(out, 1);
	if (threadIdx.x == 1)
		k<<<1, 2>>>(out, level + 1);
	if (level == 24 || threadIdx.x == 0) {
		int e = cudaPeekAtLastError(), f = cudaGetLastError(), g = cudaGetLastError();

		if (e != f || g)
			atomicAdd(out + 1, 1);
		if (e)
			atomicAdd(out + 2, e);
	}
}
#endif
#ifdef CASE_launch_streams
/* streams and events: b waits for what a had done when the event was recorded; copies and fills have their places in streams */
__global__ void set(int *p, int v) { *p = v; }
__global__ void twice(int *to, const int *from) { *to = 2 * *from; }
extern "C" __global__ void k(int *out, int *errors)
{
	cudaStream_t a, b;
	cudaEvent_t e;

	errors[0] = cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
	errors[1] = cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
	errors[2] = cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
	errors[3] = cudaStreamCreateWithFlags(&b + 1 - 1, cudaStreamDefault);
	errors[4] = cudaEventCreateWithFlags(&e, cudaEventDefault);
	set<<<1, 1, 0, a>>>(out, 21);
	errors[5] = cudaEventRecord(e, a);
	errors[6] = cudaStreamWaitEvent(b, e, 0);
	twice<<<1, 1, 0, b>>>(out + 1, out);
	errors[7] = cudaMemcpyAsync(out + 2, out + 1, 4, cudaMemcpyDeviceToDevice, b);
	errors[8] = cudaMemsetAsync(out + 3, 1, 8, b);
	errors[9] = cudaMemset2DAsync(out + 8, 16, 2, 4, 3, 0);
	errors[10] = cudaMemcpy2DAsync(out + 9, 16, out + 8, 16, 4, 2, cudaMemcpyDeviceToDevice, 0);
	errors[11] = cudaEventDestroy(e);
	errors[12] = cudaStreamDestroy(a);
	errors[13] = cudaStreamDestroy(b);
	errors[14] = cudaStreamDestroy(b);
	set<<<1, 1, 0, b>>>(out + 6, 1);
	errors[15] = cudaGetLastError();
	errors[16] = cudaGetLastError();
	set<<<1, 1, 0, cudaStreamFireAndForget>>>(out + 5, 55);
	set<<<1, 2000>>>(out + 6, 1);
	errors[17] = cudaGetLastError();
	errors[18] = cudaMemcpyAsync(out, errors, 4, cudaMemcpyDeviceToDevice, (cudaStream_t)77);
	errors[19] = cudaGetLastError();
}
#endif
#ifdef CASE_launch_ask
/* what the device runtime tells */
__global__ void with_shared(int *p)
{
	__shared__ int s[300];

	s[threadIdx.x] = *p;
	__syncthreads();
	*p = s[threadIdx.x ^ 1];
}
extern "C" __global__ void k(int *out)
{
	struct cudaFuncAttributes a;
	int v, *p = 0;
	size_t n;

	out[0] = cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, 0) ? -1 : v;
	out[1] = cudaDeviceGetAttribute(&v, cudaDevAttrMaxThreadsPerBlock, 0) ? -1 : v;
	out[2] = cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, 1);
	out[3] = cudaGetDevice(&v) ? -1 : v;
	out[4] = cudaGetDeviceCount(&v) ? -1 : v;
	out[5] = cudaFuncGetAttributes(&a, (const void *)with_shared) ? -1 : (int)a.sharedSizeBytes;
	out[6] = a.maxThreadsPerBlock;
	out[7] = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&v, (const void *)with_shared, 1024, 0) ? -1 : v;
	out[8] = cudaMalloc((void **)&p, 400);
	p[99] = 7;
	out[9] = p[99];
	out[10] = cudaFree(p);
	out[11] = cudaFree(p);
	out[12] = cudaGetErrorName(cudaErrorInvalidDevicePointer)[9];
	out[13] = cudaGetErrorString((cudaError_t)123456)[0];
	out[14] = cudaDeviceGetLimit(&n, cudaLimitMallocHeapSize) ? -1 : (int)(n >> 20);
	out[15] = cudaFuncGetAttributes(&a, (const void *)out);
}
#endif
#ifdef CASE_launch_tree
/* each thread launches: NULL streams of many blocks, and more launches than run at once */
extern "C" __global__ void k(int *out, int levels)
{
	atomicAdd(out + levels, 1);
	if (levels)
		k<<<2, 2>>>(out, levels - 1);
	if (cudaGetLastError())
		atomicAdd(out + 15, 1);
}
#endif
#ifdef CASE_launch_fault
/* a fault of a grandchild is the launch's; nobody goes on */
__global__ void bad(int *p, int n)
{
	if (n)
		bad<<<1, 1>>>(p, n - 1);
	else
		p[1ull << 40] = 1;
}
__global__ void never(int *p) { *p = 1; }
extern "C" __global__ void k(int *out)
{
	bad<<<1, 1>>>(out, 2);
	never<<<1, 1, 0, cudaStreamTailLaunch>>>(out);
}
#endif
#ifdef CASE_launch_many
/* more than there is room for: an error, and what was accepted runs */
__global__ void count(int *p) { atomicAdd(p, 1); }
extern "C" __global__ void k(int *out, int n)
{
	cudaStream_t s;
	int refused = 0;

	cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
	for (int i = 0; i < n; i++) {
		count<<<1, 1, 0, cudaStreamTailLaunch>>>(out);
		refused += cudaGetLastError() == cudaErrorLaunchPendingCountExceeded;
	}
	out[1] = refused;
	for (int i = 0; i < 100000; i++)        /* handles come back */
		if (cudaStreamDestroy(s) || cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking))
			out[2]++;
}
#endif
