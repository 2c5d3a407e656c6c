/* SPDX-License-Identifier: MIT */
/* Reductions of all kinds against the host's. */
#include <stdio.h>
#include <math.h>
#include "where.h"
#define N 100003
static float f[N];
static int v[N];
int main(void)
{
	int there = on_device();
	for (int i = 0; i < N; i++) {
		f[i] = (float)((i * 7919) % 1000) / 8 - 60;
		v[i] = (i * 2654435761u) >> 7;
	}
	float mx = -1e30f, mn = 1e30f;
	unsigned x = 0, o = 0, an = ~0u;
	long s = 0;
	int la = 1, lo = 0;
	double p = 1;
#pragma omp target teams distribute parallel for reduction(max : mx) map(to : f)
	for (int i = 0; i < N; i++)
		mx = f[i] > mx ? f[i] : mx;
#pragma omp target teams distribute parallel for reduction(min : mn) map(to : f)
	for (int i = 0; i < N; i++)
		mn = f[i] < mn ? f[i] : mn;
#pragma omp target teams distribute parallel for reduction(^ : x) map(to : v)
	for (int i = 0; i < N; i++)
		x ^= v[i];
#pragma omp target teams distribute parallel for reduction(| : o) map(to : v)
	for (int i = 0; i < N; i++)
		o |= v[i];
#pragma omp target teams distribute parallel for reduction(& : an) map(to : v)
	for (int i = 0; i < N; i++)
		an &= v[i] | 0xf0;
#pragma omp target teams distribute parallel for reduction(+ : s) map(to : v)
	for (int i = 0; i < N; i++)
		s += v[i];
#pragma omp target teams distribute parallel for reduction(&& : la) map(to : v)
	for (int i = 0; i < N; i++)
		la = la && v[i] >= 0;
#pragma omp target teams distribute parallel for reduction(|| : lo) map(to : v)
	for (int i = 0; i < N; i++)
		lo = lo || v[i] == 5;
#pragma omp target teams distribute parallel for reduction(* : p) map(to : v)
	for (int i = 0; i < N; i++)
		p *= 1.0 + (v[i] & 1 ? 1.0 / 1024 : -1.0 / 1025);
	float rmx = -1e30f, rmn = 1e30f;
	unsigned rx = 0, ro = 0, ra = ~0u;
	long rs = 0;
	int rla = 1, rlo = 0;
	double rp = 1;
	for (int i = 0; i < N; i++) {
		rmx = fmaxf(rmx, f[i]);
		rmn = fminf(rmn, f[i]);
		rx ^= v[i];
		ro |= v[i];
		ra &= v[i] | 0xf0;
		rs += v[i];
		rla = rla && v[i] >= 0;
		rlo = rlo || v[i] == 5;
		rp *= 1.0 + (v[i] & 1 ? 1.0 / 1024 : -1.0 / 1025);
	}
	int bad = (mx != rmx) + (mn != rmn) + (x != rx) + (o != ro) + (an != ra) + (s != rs) + (la != rla) + (lo != rlo) +
		  (fabs(p - rp) > 1e-9 * rp);
	printf("bad=%d on device=%d %g %g %x %ld %d %d %g\n", bad, there, mx, mn, x, s, la, lo, p);
	return bad || !there;
}
