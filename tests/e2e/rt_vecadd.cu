/* SPDX-License-Identifier: MIT */
/* Vector add and saxpy by <<<>>>, 3D geometry, and a launch that is refused. */
#include "rt.h"

#include "kernels/vecadd.cu"

static void check_vecadd(int n, unsigned block, uint32_t seed)
{
	float *a = rt_host<float>(n), *b = rt_host<float>(n), *c = rt_host<float>(n), *want = rt_host<float>(n);
	float *da, *db, *dc;

	for (int i = 0; i < n; i++) {
		a[i] = (float)(e2e_rand(&seed) >> 8) * 0.001f;
		b[i] = (float)(int)(e2e_rand(&seed) & 0xffff) - 32768.0f;
		want[i] = a[i] + b[i];
	}
	da = rt_upload(a, n);
	db = rt_upload(b, n);
	dc = rt_alloc<float>(n);
	vecadd<<<(n + block - 1) / block, block>>>(da, db, dc, n);
	LAUNCHED();
	rt_download(c, dc, n);
	e2e_same_f32("vecadd", c, want, n);
	for (int i = 0; i < n; i++)
		want[i] = 2.0f * (float)(i % 1000) + 1.0f;
	for (int i = 0; i < n; i++) {
		a[i] = (float)(i % 1000);
		b[i] = 1.0f;
	}
	RK(cudaMemcpy(da, a, n * 4, cudaMemcpyDefault));
	RK(cudaMemcpy(db, b, n * 4, cudaMemcpyDefault));
	saxpy<<<2, 100>>>(2.0f, da, db, n);
	LAUNCHED();
	rt_download(c, db, n);
	e2e_same_f32("saxpy", c, want, n);
	RK(cudaFree(da));
	RK(cudaFree(db));
	RK(cudaFree(dc));
	free(a);
	free(b);
	free(c);
	free(want);
}

static void check_geometry(void)
{
	enum { PER = 5 * 3 * 4, N = 3 * 2 * 2 * PER };
	static uint32_t out[N], want[N];
	uint32_t *d = rt_alloc<uint32_t>(N);

	for (unsigned i = 0; i < N; i++)
		want[i] = (i / PER) << 16 | i % PER;
	geometry<<<dim3(3, 2, 2), dim3(5, 3, 4)>>>(d);
	LAUNCHED();
	rt_download(out, d, N);
	e2e_same_u32("geometry", out, want, N);
	/* Too many threads a block: this error is not sticky, and asking for it clears it. */
	geometry<<<1, 2048>>>(d);
	RWANT(cudaErrorInvalidConfiguration, cudaPeekAtLastError());
	RWANT(cudaErrorInvalidConfiguration, cudaGetLastError());
	RWANT(cudaSuccess, cudaGetLastError());
	RK(cudaDeviceSynchronize());
	RK(cudaFree(d));
	RK(cudaFree(NULL));
}

int main(void)
{
	static const int sizes[] = { 1, 31, 1000, 4097, 50001 };

	rt_start("rt_vecadd");
	for (unsigned i = 0; i < 5; i++)
		check_vecadd(sizes[i], i & 1 ? 256 : 100, 7 + i);
	check_geometry();
	RK(cudaDeviceReset());
	return e2e_end("5 sizes up to %d, geometry", sizes[4]);
}
