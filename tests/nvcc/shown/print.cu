/* SPDX-License-Identifier: MIT */
/* printf on the device: its text is the line. One thread, so that the order is one. */
#include "show.h"

__global__ void lines(const char *word)
{
	const double d[] = { 0, -0.0, 1, -1.5, 3.14159265358979, 1e10, 1e-10, 123456789.125, 1e300, 1e-300, 4.9e-324, 0.5, 2.5, 99999.95 };
	const long long w[] = { 0, 1, -1, 255, -32768, 2147483647, -2147483648ll, 9223372036854775807ll, -9223372036854775807ll - 1 };

	for (int i = 0; i < 14; i++) {
		printf("f %d [%f] [%.0f] [%#.0f] [%10.3f] [%-12.2f] [%+f] [% f] [%012.4f] [%.15f]\n", i, d[i], d[i], d[i], d[i], d[i], d[i], d[i], d[i], d[i]);
		printf("e %d [%e] [%.0e] [%12.3E] [%g] [%.3g] [%#g] [%G] [%a] [%.2A]\n", i, d[i], d[i], d[i], d[i], d[i], d[i], d[i], d[i], d[i]);
		printf("float %d [%f] [%g]\n", i, (float)d[i], (float)d[i]);
	}
	for (int i = 0; i < 9; i++) {
		printf("d %d [%d] [%i] [%u] [%x] [%X] [%#x] [%o] [%#o] [%5d] [%-5d] [%05d] [%+d] [% d] [%.3d] [%8.3d]\n", i, (int)w[i], (int)w[i], (int)w[i], (int)w[i], (int)w[i], (int)w[i], (int)w[i],
		       (int)w[i], (int)w[i], (int)w[i], (int)w[i], (int)w[i], (int)w[i], (int)w[i], (int)w[i]);
		printf("lld %d [%lld] [%llu] [%llx] [%#llX] [%25lld] [%-25lld] [%025lld] [%ld] [%lu] [%zu]\n", i, w[i], w[i], w[i], w[i], w[i], w[i], w[i], (long)w[i], (unsigned long)w[i], (size_t)w[i]);
		printf("h %d [%hd] [%hhd] [%hu] [%hhu] [%hx]\n", i, (short)w[i], (signed char)w[i], (unsigned short)w[i], (unsigned char)w[i], (unsigned short)w[i]);
	}
	printf("s [%s] [%10s] [%-10s] [%.3s] [%10.2s] [%s]\n", word, word, word, word, word, "");
	printf("c [%c] [%5c] [%-5c] [%c]\n", 'x', 'y', 'z', 65 + 256);
	printf("* [%*d] [%-*d] [%.*f] [%*.*f]\n", 7, 42, 7, 42, 2, 3.14159, 9, 3, 2.71828);
	printf("percent [%%] [%5%]\n");
	printf("p [%p] [%p]\n", (void *)0x1234abcd, (void *)0);
	printf("inf [%f] [%e] [%g] [%10f] [%-10f] [%F]\n", INFINITY, -INFINITY, INFINITY, -INFINITY, INFINITY, INFINITY);
	printf("nan [%f] [%10.2f] [%G]\n", __int_as_float(0x7fffffff), __int_as_float(0x7fffffff), __int_as_float(0x7fffffff));
	printf("gives %d ", printf("no arguments\n"));
	printf("%d %d\n", printf("x"), printf("%d %s %f\n", 1, "a", 2.0));
	printf("20 %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20);
	printf("mixed %d %lld %f %c %s %d %g\n", 1, 2ll, 3.0f, '4', "five", (short)6, 7.0);
	printf("unfinished %d", 5);
	printf(" line %\n");
	printf("q [%q] [%y] [%L]\n", 1, 2, 3);
}

int main()
{
	char *word;

	CUDA(cudaMalloc(&word, 16));
	CUDA(cudaMemcpy(word, "some words", 11, cudaMemcpyHostToDevice));
	lines<<<1, 1>>>(word);
	CUDA(cudaDeviceSynchronize());
	return 0;
}
