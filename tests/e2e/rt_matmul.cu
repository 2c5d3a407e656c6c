/* SPDX-License-Identifier: MIT */
/* Tiled matrix multiplication by <<<>>>, odd shapes, matrices uploaded as 2D copies from a wider array. */
#include "rt.h"

#include "kernels/matmul.cu"

static void check(int m, int n, int k, uint32_t seed)
{
	int wide = k + 7;
	float *a = rt_host<float>(m * wide), *b = rt_host<float>(k * n), *c = rt_host<float>(m * n);
	float *want = rt_host<float>(m * n), *da = rt_alloc<float>(m * k), *db, *dc = rt_alloc<float>(m * n);

	for (int i = 0; i < m * wide; i++)
		a[i] = (float)((int)(e2e_rand(&seed) % 33) - 16);
	for (int i = 0; i < k * n; i++)
		b[i] = (float)((int)(e2e_rand(&seed) % 33) - 16);
	for (int i = 0; i < m; i++)
		for (int l = 0; l < k; l++)
			for (int j = 0; j < n; j++)
				want[i * n + j] += a[i * wide + l] * b[l * n + j];
	RK(cudaMemcpy2D(da, k * 4, a, wide * 4, k * 4, m, cudaMemcpyHostToDevice));
	db = rt_upload(b, k * n);
	matmul<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(da, db, dc, m, n, k);
	LAUNCHED();
	rt_download(c, dc, m * n);
	e2e_same_f32("c", c, want, m * n);
	RK(cudaFree(da));
	RK(cudaFree(db));
	RK(cudaFree(dc));
	free(a);
	free(b);
	free(c);
	free(want);
}

int main(void)
{
	rt_start("rt_matmul");
	check(16, 16, 16, 1);
	check(1, 1, 1, 2);
	check(33, 17, 65, 3);
	check(79, 93, 61, 4);
	return e2e_end("4 shapes up to 79 x 93 x 61");
}
