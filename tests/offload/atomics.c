/* SPDX-License-Identifier: MIT */
/* Atomics: a histogram, a captured counter, a sum of doubles; a critical section. */
#include <stdio.h>
#include "where.h"
#define N 500000
static unsigned char d[N];
int h[256], r[256];
double fs;
int cap[N], cnt;
int main(void)
{
	int there = on_device();
	for (int i = 0; i < N; i++) {
		d[i] = (i * 2654435761u) >> 24;
		r[d[i]]++;
	}
#pragma omp target teams distribute parallel for map(to : d) map(tofrom : h)
	for (int i = 0; i < N; i++) {
#pragma omp atomic
		h[d[i]]++;
	}
#pragma omp target teams distribute parallel for map(tofrom : cap, cnt)
	for (int i = 0; i < N; i++) {
		if (i % 3 == 0) {
			int k;
#pragma omp atomic capture
			k = cnt++;
			cap[k] = i;
		}
	}
#pragma omp target teams distribute parallel for map(tofrom : fs)
	for (int i = 0; i < 20000; i++) {
#pragma omp atomic
		fs += 0.5;
	}
	int crit = 0;
#pragma omp target map(tofrom : crit)
#pragma omp parallel for
	for (int i = 0; i < 2000; i++) {
#pragma omp critical
		crit++;
	}
	long s = 0, rs = 0;
	for (int i = 0; i < cnt; i++)
		s += cap[i];
	for (int i = 0; i < N; i += 3)
		rs += i;
	int bad = 0;
	for (int i = 0; i < 256; i++)
		bad += h[i] != r[i];
	bad += s != rs;
	bad += fs != 10000;
	bad += crit != 2000;
	printf("bad=%d on device=%d cnt=%d fs=%g crit=%d\n", bad, there, cnt, fs, crit);
	return bad || !there;
}
