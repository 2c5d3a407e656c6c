/* SPDX-License-Identifier: MIT */
/*
 * libvgpu-dl.a: dlopen("libcuda.so.1") in a program that is linked statically. Such a program has the driver and NVML inside, but
 * it, or a part of it, asks for them by name, as it would where NVIDIA's are installed; a static program can load nothing
 * (musl), or only beside the very glibc that it was linked with. With
 *
 *	-Wl,--wrap=dlopen,--wrap=dlsym,--wrap=dlclose,--wrap=dlerror -lvgpu-dl
 *
 * the linker turns its calls to these functions: the two libraries, under any folder, are those inside, and all other names
 * go to libc's. No second client of the agent comes into being in one process.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* dlopen_driver.def and dlopen_nvml.def: VG_NAME(cuInit) for every public name of the archives, written by build.mk */
#define VG_NAME(name) extern const char name[];
#include "dlopen_driver.def"
#include "dlopen_nvml.def"
#undef VG_NAME

struct symbol {
	const char *name;
	const void *address;
};
#define VG_NAME(name) { #name, name },
static const struct symbol driver[] = {
#include "dlopen_driver.def"
};
static const struct symbol nvml[] = {
#include "dlopen_nvml.def"
};
#undef VG_NAME

/* A handle is the address of one of these: no handle of libc's can be. */
static const struct library {
	const char *soname, *link;
	const struct symbol *symbols;
	size_t n;
} libraries[] = {
	{ "libcuda.so.1", "libcuda.so", driver, sizeof(driver) / sizeof(driver[0]) },
	{ "libnvidia-ml.so.1", "libnvidia-ml.so", nvml, sizeof(nvml) / sizeof(nvml[0]) },
};
#define NLIBRARIES (sizeof(libraries) / sizeof(libraries[0]))

/* what dlerror says next, of this thread; empty: what libc's says */
static __thread char error[128];

void *__real_dlopen(const char *file, int mode);
void *__real_dlsym(void *handle, const char *name);
int __real_dlclose(void *handle);
char *__real_dlerror(void);
void *__wrap_dlopen(const char *file, int mode);
void *__wrap_dlsym(void *handle, const char *name);
int __wrap_dlclose(void *handle);
char *__wrap_dlerror(void);

static const struct library *ours(const void *handle)
{
	for (size_t i = 0; i < NLIBRARIES; i++)
		if (handle == &libraries[i])
			return &libraries[i];
	return NULL;
}

static void *find(const struct library *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->symbols[i].name, name))
			return (void *)l->symbols[i].address;
	return NULL;
}

void *__wrap_dlopen(const char *file, int mode)
{
	const char *slash = file ? strrchr(file, '/') : NULL, *base = slash ? slash + 1 : file;

	error[0] = 0;
	for (size_t i = 0; base && i < NLIBRARIES; i++)
		if (!strcmp(base, libraries[i].soname) || !strcmp(base, libraries[i].link))
			return (void *)&libraries[i];
	return __real_dlopen(file, mode);
}

void *__wrap_dlsym(void *handle, const char *name)
{
	const struct library *l = ours(handle);
	void *address = NULL;

	error[0] = 0;
	if (l) {
		address = find(l, name);
		if (!address)
			snprintf(error, sizeof(error), "%s: undefined symbol: %.64s", l->soname, name);
		return address;
	}
	/* the program itself is what RTLD_DEFAULT searches first */
	for (size_t i = 0; handle == RTLD_DEFAULT && !address && i < NLIBRARIES; i++)
		address = find(&libraries[i], name);
	return address ? address : __real_dlsym(handle, name);
}

int __wrap_dlclose(void *handle)
{
	error[0] = 0;
	return ours(handle) ? 0 : __real_dlclose(handle);
}

/* The text is there once, as POSIX has it. */
char *__wrap_dlerror(void)
{
	static __thread char said[sizeof(error)];

	if (!error[0])
		return __real_dlerror();
	memcpy(said, error, sizeof(error));
	error[0] = 0;
	return said;
}
