/* SPDX-License-Identifier: MIT */
/* Block reductions by <<<>>>: shuffles, static and dynamic shared memory, votes. */
#include "rt.h"

#include "kernels/reduce.cu"

static void check(int n, unsigned grid, unsigned block, uint32_t seed)
{
	uint32_t *in = rt_host<uint32_t>(n), sum = 0, odd = 0, got = 0, *din, *part, *total;
	float *fin = rt_host<float>(n), *fpart = rt_host<float>(grid), max = -3.0e38f, fgot = max, *dfin, *dfpart;

	for (int i = 0; i < n; i++) {
		in[i] = e2e_rand(&seed);
		fin[i] = (float)(int32_t)in[i];
		sum += in[i];
		odd += in[i] & 1;
		max = fin[i] > max ? fin[i] : max;
	}
	din = rt_upload(in, n);
	dfin = rt_upload(fin, n);
	part = rt_alloc<uint32_t>(grid);
	dfpart = rt_alloc<float>(grid);
	total = rt_alloc<uint32_t>(1);
	reduce_sum<<<grid, block>>>(din, part, n);
	reduce_sum<<<1, 64>>>(part, total, (int)grid);
	LAUNCHED();
	rt_download(&got, total, 1);
	e2e_same_u32("sum", &got, &sum, 1);
	reduce_max<<<grid, block, ((block + 31) / 32) * sizeof(float)>>>(dfin, dfpart, n);
	LAUNCHED();
	rt_download(fpart, dfpart, grid);
	for (unsigned i = 0; i < grid; i++)
		fgot = fpart[i] > fgot ? fpart[i] : fgot;
	e2e_same_f32("max", &fgot, &max, 1);
	RK(cudaMemset(total, 0, 4));
	count_odd<<<(n + block - 1) / block, block>>>(din, total, n);
	LAUNCHED();
	rt_download(&got, total, 1);
	e2e_same_u32("odd values", &got, &odd, 1);
	RK(cudaFree(din));
	RK(cudaFree(dfin));
	RK(cudaFree(part));
	RK(cudaFree(dfpart));
	RK(cudaFree(total));
	free(in);
	free(fin);
	free(fpart);
}

int main(void)
{
	rt_start("rt_reduce");
	check(1, 1, 32, 3);
	check(4099, 7, 256, 5);
	check(30011, 9, 1024, 6);
	check(777, 5, 96, 7);
	return e2e_end("sum, max and votes of up to 30011 values");
}
