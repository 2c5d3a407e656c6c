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
