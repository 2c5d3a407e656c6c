/* SPDX-License-Identifier: MIT */
/* A stencil over data that stay on the device; loops that are collapsed, one with simd. */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include "where.h"
#define N 300
int main(void)
{
	int there = on_device();
	double *a = malloc(N * N * 8), *b = malloc(N * N * 8), *r = malloc(N * N * 8), *q = malloc(N * N * 8);
	for (int i = 0; i < N * N; i++)
		a[i] = b[i] = r[i] = q[i] = sin(i * 0.01);
#pragma omp target data map(tofrom : a[0 : N * N]) map(alloc : b[0 : N * N])
	{
#pragma omp target update to(b[0 : N * N])
		for (int it = 0; it < 20; it++) {
#pragma omp target teams distribute parallel for collapse(2)
			for (int i = 1; i < N - 1; i++)
				for (int j = 1; j < N - 1; j++)
					b[i * N + j] =
					    0.25 * (a[i * N + j - 1] + a[i * N + j + 1] + a[(i - 1) * N + j] + a[(i + 1) * N + j]);
#pragma omp target teams distribute parallel for simd collapse(2)
			for (int i = 1; i < N - 1; i++)
				for (int j = 1; j < N - 1; j++)
					a[i * N + j] = b[i * N + j];
		}
	}
	for (int it = 0; it < 20; it++) {
		for (int i = 1; i < N - 1; i++)
			for (int j = 1; j < N - 1; j++)
				q[i * N + j] =
				    0.25 * (r[i * N + j - 1] + r[i * N + j + 1] + r[(i - 1) * N + j] + r[(i + 1) * N + j]);
		for (int i = 1; i < N - 1; i++)
			for (int j = 1; j < N - 1; j++)
				r[i * N + j] = q[i * N + j];
	}
	int bad = 0;
	for (int i = 0; i < N * N; i++)
		bad += fabs(a[i] - r[i]) > 1e-13;
	printf("bad=%d on device=%d\n", bad, there);
	return bad || !there;
}
