/* SPDX-License-Identifier: MIT */
/*
 * A program that looks for the driver as if it were installed, and has it inside: linked with libvgpu-dl.a and --wrap.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what)
{
	printf("%s\n", what);
	exit(1);
}

static void *name(void *library, const char *symbol)
{
	void *f = dlsym(library, symbol);

	if (!f || dlerror())
		die(symbol);
	return f;
}

/* another thread's error is its own */
static void *quiet(void *arg)
{
	return dlerror() ? arg : NULL;
}

int main(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *again = dlopen("/usr/lib/x86_64-linux-gnu/libcuda.so", RTLD_LAZY | RTLD_GLOBAL);
	void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW), *bad = (void *)1;
	int version = 0, count = 0, device = -1;
	char pci[32] = "", driver[80] = "", *said;
	pthread_t t;

	if (!cuda || !nvml)
		die("not opened");
	if (again != cuda || nvml == cuda)
		die("another library");
	if (((int (*)(unsigned int))name(cuda, "cuInit"))(0) || ((int (*)(int *))name(cuda, "cuDriverGetVersion"))(&version) ||
	    ((int (*)(int *))name(cuda, "cuDeviceGetCount"))(&count) || ((int (*)(int *, int))name(cuda, "cuDeviceGet"))(&device, 0) ||
	    ((int (*)(char *, int, int))name(cuda, "cuDeviceGetPCIBusId"))(pci, sizeof(pci), device))
		die("a call of the driver");
	if (version < 13000 || count < 1 || strlen(pci) != 12)
		die("the driver's answers");
	if (((int (*)(void))name(nvml, "nvmlInit_v2"))() ||
	    ((int (*)(char *, unsigned int))name(nvml, "nvmlSystemGetDriverVersion"))(driver, sizeof(driver)) || atoi(driver) < 570)
		die("NVML's answers");
	/* the old entry point and the new one are two, as in the library */
	if (name(cuda, "cuMemAlloc") == name(cuda, "cuMemAlloc_v2"))
		die("cuMemAlloc is cuMemAlloc_v2");
	if (dlsym(RTLD_DEFAULT, "cuInit") != name(cuda, "cuInit"))
		die("RTLD_DEFAULT");
	if (dlsym(cuda, "nvmlInit_v2") || dlsym(nvml, "cuInit"))
		die("names of the other library");
	if (dlsym(cuda, "cuNoSuchCall") || pthread_create(&t, NULL, quiet, cuda) || pthread_join(t, &bad) || bad)
		die("an error of another thread");
	said = dlerror();
	if (!said || strcmp(said, "libcuda.so.1: undefined symbol: cuNoSuchCall") || dlerror())
		die(said ? said : "no error");
	if (dlclose(cuda) || dlclose(nvml) || ((int (*)(unsigned int))name(cuda, "cuInit"))(0))
		die("closed");
	/* what is not ours is libc's */
	if (dlopen("libnowhere-of-anybody.so.9", RTLD_NOW) || !(said = dlerror()) || strstr(said, "libcuda"))
		die("libc's dlopen");
	return 0;
}
