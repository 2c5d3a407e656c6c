/* SPDX-License-Identifier: MIT */
/* Copies, memsets, pitched and managed memory, and stream-ordered allocation over the runtime API. */
#include "rt.h"

#include "kernels/misc.cu"

static void check_kinds(size_t n, int pinned)
{
	unsigned char *src, *dst, *a, *b;
	uint32_t seed = 9;

	if (pinned) {
		RK(cudaMallocHost((void **)&src, n));
		RK(cudaHostAlloc((void **)&dst, n, cudaHostAllocDefault));
	} else {
		src = rt_host<unsigned char>(n);
		dst = rt_host<unsigned char>(n);
	}
	a = rt_alloc<unsigned char>(n + 1);
	b = rt_alloc<unsigned char>(n);
	for (size_t i = 0; i < n; i++)
		src[i] = (unsigned char)e2e_rand(&seed);
	RK(cudaMemcpy(a + 1, src, n, cudaMemcpyHostToDevice));
	RK(cudaMemcpy(b, a + 1, n, cudaMemcpyDeviceToDevice));
	RK(cudaMemcpy(dst, b, n, cudaMemcpyDeviceToHost));
	e2e_same_bytes("round trip", dst, src, n);
	memset(dst, 0, n);
	RK(cudaMemcpy(dst, src, n, cudaMemcpyHostToHost));
	e2e_same_bytes("host to host", dst, src, n);
	memset(dst, 0, n);
	RK(cudaMemset(b, 0, n));
	RK(cudaMemcpyAsync(b, src, n, cudaMemcpyDefault, 0));
	RK(cudaMemcpyAsync(dst, b, n, cudaMemcpyDefault, 0));
	RK(cudaStreamSynchronize(0));
	e2e_same_bytes("default kind", dst, src, n);
	RK(cudaFree(a));
	RK(cudaFree(b));
	if (pinned) {
		RK(cudaFreeHost(src));
		RK(cudaFreeHost(dst));
	} else {
		free(src);
		free(dst);
	}
}

static void check_2d_3d(void)
{
	enum { W = 45, H = 23, D = 3, HP = 64 };
	static unsigned char src[HP * H * D], dst[HP * H * D], want[HP * H * D];
	unsigned char *d;
	struct cudaMemcpy3DParms p;
	struct cudaPitchedPtr pp;
	size_t pitch;
	uint32_t seed = 4;

	for (size_t i = 0; i < sizeof src; i++)
		src[i] = (unsigned char)e2e_rand(&seed);
	RK(cudaMallocPitch((void **)&d, &pitch, W, H));
	EXPECT(pitch >= W);
	RK(cudaMemset2D(d, pitch, 0x33, W, H));
	RK(cudaMemcpy2DAsync(d, pitch, src, HP, W - 5, H - 2, cudaMemcpyHostToDevice, 0));
	memset(dst, 0x55, sizeof dst);
	RK(cudaMemcpy2D(dst, HP, d, pitch, W, H, cudaMemcpyDeviceToHost));
	memset(want, 0x55, sizeof want);
	for (int y = 0; y < H; y++) {
		memset(want + y * HP, 0x33, W);
		if (y < H - 2)
			memcpy(want + y * HP, src + y * HP, W - 5);
	}
	e2e_same_bytes("2D", dst, want, sizeof dst);
	RWANT(cudaErrorInvalidPitchValue, cudaMemcpy2D(dst, W - 1, d, pitch, W, H, cudaMemcpyDeviceToHost));
	(void)cudaGetLastError();
	RK(cudaFree(d));

	RK(cudaMalloc3D(&pp, make_cudaExtent(W, H, D)));
	EXPECT(pp.pitch >= W && pp.xsize == W && pp.ysize == H);
	memset(&p, 0, sizeof p);
	p.srcPtr = make_cudaPitchedPtr(src, HP, W, H);
	p.dstPtr = pp;
	p.extent = make_cudaExtent(W, H, D);
	p.kind = cudaMemcpyHostToDevice;
	RK(cudaMemcpy3D(&p));
	memset(&p, 0, sizeof p);
	p.srcPtr = pp;
	p.srcPos = make_cudaPos(1, 2, 1);
	p.dstPtr = make_cudaPitchedPtr(dst, HP, W, H);
	p.extent = make_cudaExtent(W - 1, H - 2, D - 1);
	p.kind = cudaMemcpyDeviceToHost;
	memset(dst, 0x55, sizeof dst);
	memset(want, 0x55, sizeof want);
	RK(cudaMemcpy3D(&p));
	for (int z = 0; z < D - 1; z++)
		for (int y = 0; y < H - 2; y++)
			memcpy(want + (z * H + y) * HP, src + ((z + 1) * H + y + 2) * HP + 1, W - 1);
	e2e_same_bytes("3D", dst, want, sizeof dst);
	RK(cudaFree(pp.ptr));
}

static void check_managed_and_pool(void)
{
	enum { N = 3001 };
	uint32_t *m, *p, *got = rt_host<uint32_t>(N), *want = rt_host<uint32_t>(N);
	struct cudaPointerAttributes at;
	cudaStream_t s;

	RK(cudaMallocManaged((void **)&m, N * 4));
	for (int i = 0; i < N; i++) {
		m[i] = i;
		want[i] = i * 7 + 11;
	}
	affine<<<5, 100>>>(m, 7, 11, N);
	LAUNCHED();
	RK(cudaDeviceSynchronize());
	e2e_same_u32("managed", m, want, N);
	RK(cudaPointerGetAttributes(&at, m));
	EXPECT_EQ(at.type, cudaMemoryTypeManaged);

	RK(cudaStreamCreate(&s));
	RK(cudaMallocAsync((void **)&p, N * 4, s));
	RK(cudaMemcpyAsync(p, m, N * 4, cudaMemcpyDefault, s));
	affine<<<5, 100, 0, s>>>(p, 2, 1, N);
	LAUNCHED();
	RK(cudaMemcpyAsync(got, p, N * 4, cudaMemcpyDeviceToHost, s));
	RK(cudaFreeAsync(p, s));
	RK(cudaStreamSynchronize(s));
	for (int i = 0; i < N; i++)
		want[i] = want[i] * 2 + 1;
	e2e_same_u32("stream-ordered", got, want, N);
	RK(cudaPointerGetAttributes(&at, got));
	EXPECT_EQ(at.type, cudaMemoryTypeUnregistered);
	RK(cudaStreamDestroy(s));
	RK(cudaFree(m));
	free(got);
	free(want);
}

int main(void)
{
	static const size_t sizes[] = { 1, 4097, (3 << 20) + 5 };

	rt_start("rt_copies");
	for (int i = 0; i < 3; i++)
		for (int pinned = 0; pinned < 2; pinned++)
			check_kinds(sizes[i], pinned);
	check_2d_3d();
	check_managed_and_pool();
	return e2e_end("all kinds up to 3 MiB, 2D, 3D, managed, stream-ordered");
}
