/* SPDX-License-Identifier: MIT */
/* Tasks with dependences, device memory by hand, variables that live there, teams, ordered, sections, tasks. */
#include <stdio.h>
#include <stdlib.h>
#include "where.h"
#define N 200000
int g[16];
#pragma omp declare target(g)
int main(void)
{
	int there = on_device();
	int dev = omp_get_default_device();
	int *a = malloc(N * 4), *b = malloc(N * 4), *c = malloc(N * 4);
	int bad = 0;
	for (int i = 0; i < N; i++) {
		a[i] = i;
		b[i] = 2 * i;
		c[i] = 0;
	}
#pragma omp parallel
#pragma omp single
	{
#pragma omp target teams distribute parallel for nowait depend(out : a[0]) map(tofrom : a[0 : N])
		for (int i = 0; i < N; i++)
			a[i] += 1;
#pragma omp target teams distribute parallel for nowait depend(out : b[0]) map(tofrom : b[0 : N])
		for (int i = 0; i < N; i++)
			b[i] *= 3;
#pragma omp target teams distribute parallel for nowait depend(in : a[0], b[0]) map(to : a[0 : N], b[0 : N]) map(from : c[0 : N])
		for (int i = 0; i < N; i++)
			c[i] = a[i] + b[i];
#pragma omp taskwait
	}
	for (int i = 0; i < N; i++)
		bad += c[i] != i + 1 + 6 * i;
	int *d = omp_target_alloc(N * 4, dev);
	bad += !d;
	omp_target_memcpy(d, c, N * 4, 0, 0, dev, omp_get_initial_device());
#pragma omp target is_device_ptr(d)
#pragma omp teams distribute parallel for num_teams(7) thread_limit(96)
	for (int i = 0; i < N; i++)
		d[i] -= i;
	omp_target_memcpy(c, d, N * 4, 0, 0, omp_get_initial_device(), dev);
	omp_target_free(d, dev);
	for (int i = 0; i < N; i++)
		bad += c[i] != 6 * i + 1;
	for (int i = 0; i < 16; i++)
		g[i] = i;
#pragma omp target update to(g)
#pragma omp target
	for (int i = 0; i < 16; i++)
		g[i] = g[i] * g[i];
#pragma omp target update from(g)
	for (int i = 0; i < 16; i++)
		bad += g[i] != i * i;
	int nt = 0, nth = 0;
#pragma omp target teams map(from : nt, nth) num_teams(5) thread_limit(64)
	{
		if (omp_get_team_num() == 0) {
			nt = omp_get_num_teams();
#pragma omp parallel
			{
				if (omp_get_thread_num() == 0)
					nth = omp_get_num_threads();
			}
		}
	}
	int order[64] = {0}, oc = 0;
#pragma omp target map(tofrom : order, oc)
#pragma omp parallel for ordered schedule(dynamic)
	for (int i = 0; i < 64; i++) {
#pragma omp ordered
		order[oc++] = i;
	}
	for (int i = 0; i < 64; i++)
		bad += order[i] != i;
	int sec = 0;
#pragma omp target map(tofrom : sec)
	{
#pragma omp parallel sections reduction(+ : sec)
		{
#pragma omp section
			sec += 1;
#pragma omp section
			sec += 10;
#pragma omp section
			sec += 100;
		}
	}
	bad += sec != 111;
	int tk = 0;
#pragma omp target map(tofrom : tk)
#pragma omp parallel
#pragma omp single
	for (int i = 0; i < 50; i++)
#pragma omp task
	{
#pragma omp atomic
		tk += i;
	}
	bad += tk != 1225;
	printf("bad=%d on device=%d teams=%d threads=%d sec=%d tasks=%d\n", bad, there, nt, nth, sec, tk);
	return bad || !there;
}
