/* SPDX-License-Identifier: MIT */
/* Kernels that do one odd thing each: symbols, waiting, printing, dying. */
#include "device.h"

/* Module globals of several sizes and state spaces, with and without an initial value. */
extern "C" {
__device__ int counter = 40;
__device__ float table[5] = { 1.0f, 2.0f, 4.0f, 8.0f, 16.0f };
__device__ unsigned char scratch[1000];
__constant__ int coeff[4] = { 1, 10, 100, 1000 };
}

extern "C" __global__ void use_globals(int *out)
{
	int i = threadIdx.x;

	out[i] = (int)table[i % 5] + coeff[i % 4];
	scratch[i] = (unsigned char)(i ^ 0x5a);
	if (i == 0)
		atomicAdd(&counter, 2);
}

extern "C" __global__ void fill(unsigned *out, unsigned value, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		out[i] = value;
}

/* out[i] = in[i] * mul + add: applying several in order tells in which order they ran. */
extern "C" __global__ void affine(unsigned *data, unsigned mul, unsigned add, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		data[i] = data[i] * mul + add;
}

/* Waits until *flag is not zero, then writes what it saw. */
extern "C" __global__ void wait_flag(volatile unsigned *flag, unsigned *seen)
{
	unsigned v;

	do
		v = *flag;
	while (!v);
	*seen = v;
}

extern "C" __global__ void set_flag(volatile unsigned *flag, unsigned v)
{
	*flag = v;
	__threadfence_system();
}

/* Some work of adjustable length that no compiler can shorten. */
extern "C" __global__ void spin(unsigned *out, unsigned rounds)
{
	unsigned x = threadIdx.x + 1;

	for (unsigned i = 0; i < rounds; i++)
		x = x * 1664525u + 1013904223u;
	out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

extern "C" __global__ void endless(volatile unsigned *alive)
{
	for (;;)
		*alive = *alive + 1;
}

extern "C" __global__ void say(int base)
{
	if (threadIdx.x < 3)
		printf("say %d of %u: %.3f %s %lld%%\n", base + (int)threadIdx.x, blockDim.x,
			0.5 * (base + (int)threadIdx.x), "text", -1234567890123ll);
}

/* Thread `who` of block `where` stores to `bad`; everyone else behaves. */
extern "C" __global__ void poke(unsigned *good, unsigned *bad, unsigned where, unsigned who)
{
	good[blockIdx.x * blockDim.x + threadIdx.x] = 7;
	if (blockIdx.x == where && threadIdx.x == who)
		*bad = 1;
}

extern "C" __global__ void die(int doit)
{
	if (doit)
		__trap();
}

/* Parameters of every size and alignment, by value, the struct among them. */
struct mixed {
	char c;
	short s;
	double d;
	int arr[5];
	unsigned char tail[3];
};

extern "C" __global__ void params(unsigned char a, unsigned short b, unsigned c,
	unsigned long long d, float e, double f, struct mixed g, double *out)
{
	double sum = 0;

	sum += a + b + c + (double)d + e + f;
	sum += g.c + g.s + g.d;
	for (int i = 0; i < 5; i++)
		sum += g.arr[i];
	for (int i = 0; i < 3; i++)
		sum += g.tail[i];
	*out = sum;
}
