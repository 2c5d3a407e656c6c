/* SPDX-License-Identifier: MIT */
/* OpenMP as clang links it without -foffload-lto: the program is one file for nvlink, and LLVM's device runtime another. */
#include <omp.h>
#include <stdio.h>

static double a[5000];
static int seen[8];

int main(void)
{
	double sum = 0;
	int host = 1;

	for (int i = 0; i < 5000; i++)
		a[i] = i * 0.5;
#pragma omp target map(from: host)
	host = omp_is_initial_device();
#pragma omp target teams distribute parallel for map(tofrom: a, seen) reduction(+: sum)
	for (int i = 0; i < 5000; i++) {
		a[i] = 2 * a[i] + 1;
		sum += a[i];
#pragma omp atomic
		seen[i % 8]++;
	}
#pragma omp target parallel for map(tofrom: a)
	for (int i = 0; i < 100; i++)
		a[i] += omp_get_num_threads() > 0;
	printf("%.17g %.17g %.17g\n", sum, a[50], a[4999]);
	for (int i = 0; i < 8; i++)
		printf("%d\n", seen[i]);
	fprintf(stderr, "ran on the %s\n", host ? "host" : "device");
	return 0;
}
