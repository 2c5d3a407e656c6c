/* SPDX-License-Identifier: MIT */
/*
 * nvmlInit and nvmlShutdown, counted; system queries; texts. The list of devices is read at the first nvmlInit and
 * stays, as handles do, until the library goes away: only what changes is asked again.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../core/asked.h"
#include "ml.h"

#define DRIVER_VERSION VGPU_NVIDIA_DRIVER
#define DRIVER_BRANCH "r590_44"

static struct nvmlDevice_st devices[VGPU_MAX_DEVICES];
static unsigned int ndevices;
static atomic_int users;
static atomic_flag busy = ATOMIC_FLAG_INIT;     /* initialisation only: rare and short */

bool ml_ready(void) { return atomic_load_explicit(&users, memory_order_acquire) > 0; }
unsigned int ml_devices(void) { return ndevices; }
struct nvmlDevice_st *ml_device(unsigned int index) { return &devices[index]; }

bool ml_known(nvmlDevice_t device)
{
	for (unsigned int i = 0; i < ndevices; i++)
		if (device == &devices[i])
			return true;
	return false;
}

static void lock(void)
{
	while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
		sched_yield();
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&busy, memory_order_release);
}

static int load_devices(void)
{
	struct vgpu_msg_hello_r hello;
	int fd = ml_agent_open(&hello), err = 0;
	unsigned int n = 0;

	if (fd < 0)
		return fd;
	for (unsigned int i = 0; i < hello.devices && i < VGPU_MAX_DEVICES && !err; i++) {
		err = ml_agent_device(fd, i, &devices[n].info);
		if (!err)
			devices[n++].index = i;
	}
	close(fd);
	if (!err)
		ndevices = n;
	return err;
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
	nvmlReturn_t r = NVML_SUCCESS;
	int err = 0;

	if (flags & ~3u)        /* NO_GPUS, NO_ATTACH */
		return NVML_ERROR_INVALID_ARGUMENT;
	lock();
	if (!atomic_load(&users) && !ndevices)
		err = load_devices();
	if (err)
		r = ml_error(err);
	else if (!ndevices && !(flags & 1))
		r = NVML_ERROR_DRIVER_NOT_LOADED;       /* what NVML says where no GPU is */
	else
		atomic_fetch_add(&users, 1);
	unlock();
	return r;
}

nvmlReturn_t nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
nvmlReturn_t nvmlInit(void) { return nvmlInitWithFlags(0); }

nvmlReturn_t nvmlShutdown(void)
{
	nvmlReturn_t r = NVML_SUCCESS;

	lock();
	if (!atomic_load(&users))
		r = NVML_ERROR_UNINITIALIZED;
	else
		atomic_fetch_sub(&users, 1);
	unlock();
	return r;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
	switch ((int)result) {
#define TEXT(name, value, text) case value: return text;
	NVML_ERROR_LIST(TEXT)
#undef TEXT
	}
	return "Unknown Error";
}

nvmlReturn_t ml_text(char *out, unsigned int length, const char *text)
{
	size_t n = strlen(text) + 1;

	if (n > length)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	memcpy(out, text, n);
	return NVML_SUCCESS;
}

/* ---- the system ---- */

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	if (!ml_ready())
		return NVML_ERROR_UNINITIALIZED;
	return version ? ml_text(version, length, DRIVER_VERSION) : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlSystemGetDriverBranch(nvmlSystemDriverBranchInfo_t *info, unsigned int length)
{
	if (!ml_ready())
		return NVML_ERROR_UNINITIALIZED;
	if (!info || !length)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (info->version != NVML_VERSION_OF(nvmlSystemDriverBranchInfo_t, 1))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	return ml_text(info->branch, length < sizeof(info->branch) ? length : sizeof(info->branch), DRIVER_BRANCH);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
	/* documented to work before nvmlInit */
	return version ? ml_text(version, length, "13." DRIVER_VERSION) : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
	uint32_t least = VGPU_CUDA_VERSION, own;

	if (!version)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (unsigned int i = 0; i < ndevices; i++) {
		own = vgpu_cuda_version(&devices[i].info, 1);
		least = own < least ? own : least;
	}
	*version = (int)vg_version_asked(least);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) { return nvmlSystemGetCudaDriverVersion(version); }

nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
	char path[32], text[4096];
	ssize_t n;
	int fd;

	if (!ml_ready())
		return NVML_ERROR_UNINITIALIZED;
	if (!name || !length)
		return NVML_ERROR_INVALID_ARGUMENT;
	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return NVML_ERROR_NOT_FOUND;
	text[n] = 0;
	/* a longer name is cut, as documented */
	n = (ssize_t)strlen(text);
	if ((size_t)n >= length)
		n = (ssize_t)length - 1;
	memcpy(name, text, (size_t)n);
	name[n] = 0;
	return NVML_SUCCESS;
}
