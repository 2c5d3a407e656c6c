/* SPDX-License-Identifier: MIT */
/*
 * What holds of every device of ours: no display, no MIG, no board beside it; it stays attached while nobody uses it (persistence); the
 * processors that work for it are this machine's, all of them.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ml.h"

#define CONSTANT(name, value) \
	nvmlReturn_t name(nvmlDevice_t device, unsigned int *out) \
	{ \
		ML_DEVICE(device, out); \
		*out = (value); \
		return NVML_SUCCESS; \
	}
CONSTANT(nvmlDeviceGetComputeMode, 0)           /* NVML_COMPUTEMODE_DEFAULT: many contexts of many processes */
CONSTANT(nvmlDeviceGetPersistenceMode, 1)
CONSTANT(nvmlDeviceGetDisplayMode, 0)
CONSTANT(nvmlDeviceGetDisplayActive, 0)
CONSTANT(nvmlDeviceGetMultiGpuBoard, 0)
CONSTANT(nvmlDeviceGetMaxMigDeviceCount, 0)
CONSTANT(nvmlDeviceIsMigDeviceHandle, 0)
CONSTANT(nvmlDeviceGetVirtualizationMode, 0)    /* none of NVIDIA's ways */
CONSTANT(nvmlDeviceGetMemoryBusWidth, device->info.memory_bus_bits)

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending)
{
	ML_DEVICE(device, current && pending);
	*current = *pending = 0;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t *mig)
{
	(void)index;
	ML_DEVICE(device, mig);
	return NVML_ERROR_NOT_FOUND;
}

/* Pageable host memory is not the device's: neither HMM nor ATS. */
nvmlReturn_t nvmlDeviceGetAddressingMode(nvmlDevice_t device, nvmlDeviceAddressingMode_t *mode)
{
	ML_DEVICE(device, mode);
	if (mode->version != NVML_VERSION_OF(nvmlDeviceAddressingMode_t, 1))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	mode->value = 0;
	return NVML_SUCCESS;
}

#define NONE_OF(name) \
	nvmlReturn_t name(unsigned int *count) \
	{ \
		if (!ml_ready()) \
			return NVML_ERROR_UNINITIALIZED; \
		if (!count) \
			return NVML_ERROR_INVALID_ARGUMENT; \
		*count = 0; \
		return NVML_SUCCESS; \
	}
NONE_OF(nvmlUnitGetCount)
NONE_OF(nvmlGetExcludedDeviceCount)

nvmlReturn_t nvmlSystemGetHicVersion(unsigned int *count, void *entries)
{
	(void)entries;
	return nvmlUnitGetCount(count);
}

/* ---- processors and nodes: sysfs's lists, "0-3,8" ---- */

static nvmlReturn_t list_of(const char *path, unsigned int words, unsigned long *set)
{
	char text[4096], *p = text;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return NVML_ERROR_NOT_SUPPORTED;
	text[n] = 0;
	memset(set, 0, words * sizeof(*set));
	while (*p >= '0' && *p <= '9') {
		unsigned long a = strtoul(p, &p, 10), b = *p == '-' ? strtoul(p + 1, &p, 10) : a;

		for (; a <= b && a / (CHAR_BIT * sizeof(*set)) < words; a++)
			set[a / (CHAR_BIT * sizeof(*set))] |= 1ul << a % (CHAR_BIT * sizeof(*set));
		p += *p == ',';
	}
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device, unsigned int words, unsigned long *set, unsigned int scope)
{
	ML_DEVICE(device, set && words && scope <= 1);
	return list_of("/sys/devices/system/cpu/online", words, set);
}

nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned int words, unsigned long *set)
{
	return nvmlDeviceGetCpuAffinityWithinScope(device, words, set, 0);
}

nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned int words, unsigned long *set, unsigned int scope)
{
	ML_DEVICE(device, set && words && scope <= 1);
	return list_of("/sys/devices/system/node/has_memory", words, set);
}

/* ---- what is beside it ---- */

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b, nvmlGpuTopologyLevel_t *level)
{
	ML_DEVICE(a, level && ml_known(b));
	*level = a == b ? NVML_TOPOLOGY_INTERNAL : NVML_TOPOLOGY_SYSTEM;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t a, nvmlDevice_t b, int *same)
{
	ML_DEVICE(a, same && ml_known(b));
	*same = a == b;
	return NVML_SUCCESS;
}

/* All but `not`; *count: room in, number out. */
static nvmlReturn_t others(nvmlDevice_t not, unsigned int *count, nvmlDevice_t *list)
{
	unsigned int n = 0, room = *count;

	for (unsigned int i = 0; i < ml_devices(); i++) {
		if (ml_device(i) == not)
			continue;
		if (list && n < room)
			list[n] = ml_device(i);
		n++;
	}
	*count = n;
	return list && n > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device, nvmlGpuTopologyLevel_t level, unsigned int *count, nvmlDevice_t *list)
{
	ML_DEVICE(device, count);
	if (level == NVML_TOPOLOGY_SYSTEM)
		return others(device, count, list);
	*count = 0;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetTopologyGpuSet(unsigned int cpu, unsigned int *count, nvmlDevice_t *list)
{
	(void)cpu;
	if (!ml_ready())
		return NVML_ERROR_UNINITIALIZED;
	return count ? others(NULL, count, list) : NVML_ERROR_INVALID_ARGUMENT;
}
