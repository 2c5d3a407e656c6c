/* SPDX-License-Identifier: MIT */
/* OpenACC: gangs, workers and vectors, queues, kernels, atomics. Freed memory of a queue is freed from its callback. */
#include <stdio.h>
#include <math.h>
#include <openacc.h>
#define N 1000
#define M 120
static float a[M][M], b[M][M], c[M][M];
static double x[N * 100];
int main(void)
{
	int bad = 0;
	double s = 0, r = 0;
	for (int i = 0; i < M; i++)
		for (int j = 0; j < M; j++) {
			a[i][j] = (i * j) % 7;
			b[i][j] = (i + j) % 5;
		}
#pragma acc parallel loop gang copyin(a, b) copyout(c)
	for (int i = 0; i < M; i++) {
#pragma acc loop worker
		for (int j = 0; j < M; j++) {
			float t = 0;
#pragma acc loop vector reduction(+ : t)
			for (int k = 0; k < M; k++)
				t += a[i][k] * b[k][j];
			c[i][j] = t;
		}
	}
	for (int i = 0; i < M; i++)
		for (int j = 0; j < M; j++) {
			float t = 0;
			for (int k = 0; k < M; k++)
				t += a[i][k] * b[k][j];
			bad += t != c[i][j];
		}
#pragma acc data create(x)
	{
#pragma acc parallel loop async(1)
		for (int i = 0; i < N * 100; i++)
			x[i] = i * 0.5;
#pragma acc parallel loop async(1) reduction(+ : s) copy(s)
		for (int i = 0; i < N * 100; i++)
			s += x[i];
#pragma acc wait
	}
	for (int i = 0; i < N * 100; i++)
		r += i * 0.5;
	bad += fabs(s - r) > 1e-6 * r;
	int k = 0, h[10] = {0};
#pragma acc kernels copy(h)
	{
		for (int i = 0; i < 10; i++)
			h[i] = i * 3;
	}
#pragma acc parallel num_gangs(8) vector_length(32) copy(k)
	{
#pragma acc loop gang vector
		for (int i = 0; i < 1024; i++) {
#pragma acc atomic
			k += i;
		}
	}
	for (int i = 0; i < 10; i++)
		bad += h[i] != 3 * i;
	bad += k != 1024 * 1023 / 2;
	int w = 0;
#pragma acc parallel copyout(w)
	{
		w = acc_on_device(acc_device_not_host);
	}
	printf("bad=%d on device=%d type=%d devices=%d\n", bad, w, acc_get_device_type(),
	       acc_get_num_devices(acc_device_nvidia));
	return bad || !w;
}
