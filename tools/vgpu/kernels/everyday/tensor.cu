/* SPDX-License-Identifier: MIT */
/*
 * Products by tensor cores, as CUTLASS, Triton and ggml write them: tiles in shared memory, ldmatrix, mma.sync. A block of four
 * warps computes 64 x 64, each warp 32 x 32; b lies with k running first, as weights do.
 */
#include "common.h"

#define TILE 64

FN u32 shared_at(const void *p)
{
	u64 at;

	asm("cvta.to.shared.u64 %0, %1;" : "=l"(at) : "l"(p));
	return (u32)at;
}

FN void ldmatrix4(u32 (&d)[4], u32 at)
{
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		: "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(at) : "memory");
}

FN void mma_f16(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1)
{
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		: "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

FN void mma_s8(int (&c)[4], const u32 (&a)[4], u32 b0, u32 b1)
{
	asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		: "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

FN void mma(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) { mma_f16(c, a, b0, b1); }
FN void mma(int (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) { mma_s8(c, a, b0, b1); }

/* Rows of row words; a step of k is 16 words: 32 halves or 64 bytes. */
template <typename T> FN void gemm(int n, int row, const u32 *a, const u32 *b, T *out)
{
	__shared__ u32 as[TILE][20], bs[TILE][20];      /* 16 and a gap that spreads rows over the banks */
	int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, top = warp >> 1 << 5, left = (warp & 1) << 5;
	T acc[2][4][4] = {};

	for (int k = 0; k < row; k += 16) {
		for (int i = threadIdx.x; i < TILE * 4; i += 128) {
			int r = i >> 2, w = (i & 3) * 4;
			const u32 *p = a + (blockIdx.y * TILE + r) * row + k + w, *q = b + (blockIdx.x * TILE + r) * row + k + w;

			as[r][w] = p[0], as[r][w + 1] = p[1], as[r][w + 2] = p[2], as[r][w + 3] = p[3];
			bs[r][w] = q[0], bs[r][w + 1] = q[1], bs[r][w + 2] = q[2], bs[r][w + 3] = q[3];
		}
		__syncthreads();
#pragma unroll
		for (int h = 0; h < 16; h += 8) {
			u32 x[2][4], y[2][4];

#pragma unroll
			for (int i = 0; i < 2; i++) {
				ldmatrix4(x[i], shared_at(&as[top + 16 * i + (lane & 15)][h + (lane >> 4) * 4]));
				ldmatrix4(y[i], shared_at(&bs[left + 16 * i + (lane & 7) + (lane >> 4) * 8][h + (lane >> 3 & 1) * 4]));
			}
#pragma unroll
			for (int i = 0; i < 2; i++)
#pragma unroll
				for (int j = 0; j < 4; j++)
					mma(acc[i][j], x[i], y[j >> 1][(j & 1) * 2], y[j >> 1][(j & 1) * 2 + 1]);
		}
		__syncthreads();
	}
#pragma unroll
	for (int i = 0; i < 2; i++)
#pragma unroll
		for (int j = 0; j < 4; j++)
#pragma unroll
			for (int k = 0; k < 4; k++)
				out[(blockIdx.y * TILE + top + 16 * i + (lane >> 2) + (k >> 1) * 8) * n + blockIdx.x * TILE + left + 8 * j + (lane & 3) * 2 + (k & 1)] = acc[i][j][k];
}

KERNEL hgemm_mma(int n, const u32 *a, const u32 *b, float *out) { gemm(n, n / 2, a, b, out); }
KERNEL igemm_mma(int n, const u32 *a, const u32 *b, int *out) { gemm(n, n / 4, a, b, out); }
