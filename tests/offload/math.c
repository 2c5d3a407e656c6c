/* SPDX-License-Identifier: MIT */
/* The C library's maths against the host's, recursion, malloc and printf on the device. */
#include <stdio.h>
#include "where.h"
#include <math.h>
#include <string.h>
#include <stdlib.h>
#define N 4096
static double x[N], y[24][N];
static float fx[N], fy[8][N];
#pragma omp declare target
static int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
struct node {
	struct node *next;
	int v;
};
#pragma omp end declare target
int main(void)
{
	int there = on_device();
	for (int i = 0; i < N; i++) {
		x[i] = (i - 2000) * 0.01 + 0.003;
		fx[i] = x[i];
	}
#pragma omp target teams distribute parallel for map(to : x, fx) map(from : y, fy)
	for (int i = 0; i < N; i++) {
		double v = x[i];
		float f = fx[i];
		y[0][i] = sin(v);
		y[1][i] = cos(v);
		y[2][i] = tan(v);
		y[3][i] = exp(v);
		y[4][i] = log(fabs(v));
		y[5][i] = pow(fabs(v), 1.7);
		y[6][i] = atan2(v, 2.);
		y[7][i] = cbrt(v);
		y[8][i] = erf(v);
		y[9][i] = lgamma(fabs(v) + 1);
		y[10][i] = tgamma(fabs(v) * .1 + 1);
		y[11][i] = sinh(v);
		y[12][i] = tanh(v);
		y[13][i] = log1p(fabs(v));
		y[14][i] = expm1(v);
		y[15][i] = hypot(v, 3);
		y[16][i] = fmod(v, .7);
		y[17][i] = floor(v);
		y[18][i] = ceil(v);
		y[19][i] = round(v);
		y[20][i] = sqrt(fabs(v));
		y[21][i] = asin(v / 30);
		y[22][i] = ldexp(v, 3);
		y[23][i] = fma(v, v, v);
		fy[0][i] = sinf(f);
		fy[1][i] = expf(f);
		fy[2][i] = logf(fabsf(f));
		fy[3][i] = powf(fabsf(f), 1.5f);
		fy[4][i] = sqrtf(fabsf(f));
		fy[5][i] = tanhf(f);
		fy[6][i] = fmodf(f, .7f);
		fy[7][i] = rintf(f);
	}
	int bad = 0;
	double worst = 0;
	for (int i = 0; i < N; i++) {
		double v = x[i];
		float f = fx[i];
		double r[24] = {sin(v),
				cos(v),
				tan(v),
				exp(v),
				log(fabs(v)),
				pow(fabs(v), 1.7),
				atan2(v, 2.),
				cbrt(v),
				erf(v),
				lgamma(fabs(v) + 1),
				tgamma(fabs(v) * .1 + 1),
				sinh(v),
				tanh(v),
				log1p(fabs(v)),
				expm1(v),
				hypot(v, 3),
				fmod(v, .7),
				floor(v),
				ceil(v),
				round(v),
				sqrt(fabs(v)),
				asin(v / 30),
				ldexp(v, 3),
				fma(v, v, v)};
		float rf[8] = {sinf(f),		expf(f),  logf(fabsf(f)), powf(fabsf(f), 1.5f),
			       sqrtf(fabsf(f)), tanhf(f), fmodf(f, .7f),  rintf(f)};
		for (int k = 0; k < 24; k++) {
			double e = fabs(y[k][i] - r[k]) / (fabs(r[k]) + 1e-300);
			if (e > worst && fabs(r[k]) > 1e-12)
				worst = e;
			if (!(e < 1e-13 || fabs(y[k][i] - r[k]) < 1e-13)) {
				if (bad++ < 5)
					printf("f%d(%g)=%.17g ref %.17g\n", k, v, y[k][i], r[k]);
			}
		}
		for (int k = 0; k < 8; k++)
			if (!(fabsf(fy[k][i] - rf[k]) <= 1e-6f * fabsf(rf[k]) + 1e-6f)) {
				if (bad++ < 5)
					printf("ff%d(%g)=%.9g ref %.9g\n", k, f, fy[k][i], rf[k]);
			}
	}
	int fv[25];
#pragma omp target teams distribute parallel for map(from : fv)
	for (int i = 0; i < 25; i++)
		fv[i] = fib(i);
	int a = 0, b = 1;
	for (int i = 0; i < 25; i++) {
		bad += fv[i] != a;
		int t = a + b;
		a = b;
		b = t;
	}
	long sum = 0;
	char msg[64];
#pragma omp target map(tofrom : sum) map(from : msg)
	{
		struct node *h = 0;
		for (int i = 0; i < 1000; i++) {
			struct node *n = malloc(sizeof *n);
			n->v = i;
			n->next = h;
			h = n;
		}
		while (h) {
			struct node *n = h;
			sum += n->v;
			h = n->next;
			free(n);
		}
		strcpy(msg, "hello");
		strcat(msg, " device");
		printf("from the device: %d %s %g\n", (int)sum, msg, 2.5);
	}
	bad += sum != 499500;
	bad += strcmp(msg, "hello device") != 0;
	printf("bad=%d on device=%d worst=%g fib24=%d\n", bad, there, worst, fv[24]);
	return bad || !there;
}
