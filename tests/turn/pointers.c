/* SPDX-License-Identifier: MIT */
/* A library that keeps the driver's functions in variables of their names, as cuew and slang-rhi do. With -DPROGRAM: who opens it. */
#include <dlfcn.h>
#include <stdio.h>

#ifdef PROGRAM
int main(int argc, char **argv)
{
	void *h = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*devices)(void) = h ? (int (*)(void))dlsym(h, "devices") : NULL;

	if (!devices)
		return fprintf(stderr, "%s\n", dlerror()), 1;
	printf("%d\n", devices());
	return 0;
}
#else
int (*cuInit)(unsigned int flags);
int (*cuDeviceGetCount)(int *n);
const int cudaWhatever = 7;

int devices(void);
int devices(void)
{
	void *h = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int n = -1;

	if (!h)
		return -2;
	cuInit = (int (*)(unsigned int))dlsym(h, "cuInit");
	cuDeviceGetCount = (int (*)(int *))dlsym(h, "cuDeviceGetCount");
	return cuInit(0) || cuDeviceGetCount(&n) ? -3 : n + cudaWhatever;
}
#endif
