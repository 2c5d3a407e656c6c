/* SPDX-License-Identifier: MIT */
/* Device variables by their C names: copies to and from symbols, with offsets, addresses and sizes, and constants. */
#include "rt.h"

#include "kernels/misc.cu"

static __device__ unsigned hidden[7];		/* a static one is registered too */
__device__ int never_written;

extern "C" __global__ void add_hidden(unsigned *out)
{
	out[threadIdx.x] += hidden[threadIdx.x];
}

int main(void)
{
	int got[1000], want[1000], value = 0, c[4] = { 2, 20, 200, 2000 }, *out;
	float t[5], set[2] = { 50, 60 };
	unsigned h[7] = { 1, 2, 3, 4, 5, 6, 7 };
	unsigned char bytes[1000];
	size_t size = 0;
	void *addr = NULL;

	rt_start("rt_symbols");
	out = rt_alloc<int>(1000);
	RK(cudaGetSymbolSize(&size, table));
	EXPECT_EQ(size, 20);
	RK(cudaGetSymbolAddress(&addr, scratch));
	RK(cudaMemcpyFromSymbol(t, table, sizeof t));
	EXPECT(t[0] == 1 && t[4] == 16);
	RK(cudaMemcpyToSymbol(table, set, sizeof set, 2 * sizeof(float)));
	RK(cudaMemcpyToSymbolAsync(coeff, c, sizeof c, 0, cudaMemcpyHostToDevice, 0));
	use_globals<<<1, 1000>>>(out);
	LAUNCHED();
	rt_download(got, out, 1000);
	for (int i = 0; i < 1000; i++) {
		const int tab[5] = { 1, 2, 50, 60, 16 };

		want[i] = tab[i % 5] + c[i % 4];
	}
	e2e_same_u32("globals", (uint32_t *)got, (uint32_t *)want, 1000);
	RK(cudaMemcpyFromSymbol(&value, counter, 4));
	EXPECT_EQ(value, 42);
	RK(cudaMemcpy(bytes, addr, 1000, cudaMemcpyDeviceToHost));
	for (int i = 0; i < 1000; i++)
		EXPECT_EQ(bytes[i], (unsigned char)(i ^ 0x5a));
	RK(cudaMemcpyToSymbol(hidden, h, sizeof h));
	add_hidden<<<1, 7>>>((unsigned *)out);
	LAUNCHED();
	rt_download(got, out, 7);
	for (int i = 0; i < 7; i++)
		EXPECT_EQ(got[i], want[i] + (int)h[i]);
	RK(cudaMemcpyFromSymbol(&value, never_written, 4));
	EXPECT_EQ(value, 0);
	/* An address that is no symbol. */
	RWANT(cudaErrorInvalidSymbol, cudaGetSymbolAddress(&addr, (const void *)&value));
	RWANT(cudaErrorInvalidSymbol, cudaGetLastError());
	RWANT(cudaErrorInvalidValue, cudaMemcpyToSymbol(hidden, h, sizeof h, 4));
	(void)cudaGetLastError();
	RK(cudaFree(out));
	return e2e_end("6 symbols, offsets, constants");
}
