/* SPDX-License-Identifier: MIT */
/*
 * NVML against what CUDA says of the same device: count, handles by index, UUID and bus id, name, memory while some is
 * allocated, this very process among the running ones, and refusals.
 */
#include <nvml.h>

#include "drv.h"

#define NK(call) \
	do { \
		nvmlReturn_t r_ = (call); \
		if (r_ != NVML_SUCCESS) { \
			printf("nvml: FAIL %s:%d: %s: %s (%d)\n", __FILE__, __LINE__, #call, nvmlErrorString(r_), (int)r_); \
			exit(1); \
		} \
	} while (0)

/* exported, though no header of ours declares it */
extern nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned int *celsius);

static int listed(nvmlDevice_t d, unsigned long long *bytes)
{
	static nvmlProcessInfo_t list[1024];     /* tests run beside many neighbours */
	unsigned int n = 1024;

	NK(nvmlDeviceGetComputeRunningProcesses_v3(d, &n, list));
	for (unsigned int i = 0; i < n; i++)
		if (list[i].pid == (unsigned int)getpid()) {
			*bytes = list[i].usedGpuMemory;
			return 1;
		}
	return 0;
}

static void on_device(CUdevice dev, nvmlDevice_t d)
{
	char text[128], want[128], uuid[128];
	int major, minor, cuda_major, cuda_minor;
	unsigned int index, arch;
	size_t total;
	CUuuid id;
	nvmlPciInfo_t pci;
	nvmlMemory_t m;
	nvmlMemory_v2_t m2 = { .version = nvmlMemory_v2 };
	nvmlDevice_t again;

	NK(nvmlDeviceGetName(d, text, sizeof text));
	CK(cuDeviceGetName(want, sizeof want, dev));
	EXPECT(!strcmp(text, want));
	EXPECT_EQ(nvmlDeviceGetName(d, text, 3), NVML_ERROR_INSUFFICIENT_SIZE);
	NK(nvmlDeviceGetUUID(d, uuid, sizeof uuid));
	CK(cuDeviceGetUuid(&id, dev));
	EXPECT(!strncmp(uuid, "GPU-", 4) && strlen(uuid) == 40);
	snprintf(want, sizeof want, "%02x%02x", (unsigned char)id.bytes[0], (unsigned char)id.bytes[1]);
	EXPECT(!strncmp(uuid + 4, want, 4));
	NK(nvmlDeviceGetHandleByUUID(uuid, &again));
	EXPECT(again == d);
	NK(nvmlDeviceGetPciInfo_v3(d, &pci));
	CK(cuDeviceGetPCIBusId(want, sizeof want, dev));
	NK(nvmlDeviceGetHandleByPciBusId_v2(want, &again));
	EXPECT(again == d);
	NK(nvmlDeviceGetHandleByPciBusId_v2(pci.busId, &again));
	EXPECT(again == d);
	EXPECT_EQ(nvmlDeviceGetHandleByPciBusId_v2("0000:ff:1f.7", &again), NVML_ERROR_NOT_FOUND);
	EXPECT_EQ(nvmlDeviceGetHandleByPciBusId_v2("nonsense", &again), NVML_ERROR_INVALID_ARGUMENT);
	EXPECT_EQ(nvmlDeviceGetHandleByUUID("GPU-00000000-0000-0000-0000-000000000000", &again), NVML_ERROR_NOT_FOUND);
	NK(nvmlDeviceGetIndex(d, &index));
	NK(nvmlDeviceGetCudaComputeCapability(d, &major, &minor));
	CK(cuDeviceGetAttribute(&cuda_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev));
	CK(cuDeviceGetAttribute(&cuda_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, dev));
	EXPECT(major == cuda_major && minor == cuda_minor);
	NK(nvmlDeviceGetArchitecture(d, &arch));
	if (major == 6)
		EXPECT_EQ(arch, 4);     /* Pascal */
	CK(cuDeviceTotalMem(&total, dev));
	NK(nvmlDeviceGetMemoryInfo(d, &m));
	EXPECT_EQ(m.total, total);
	EXPECT_EQ(m.free + m.used, m.total);
	NK(nvmlDeviceGetMemoryInfo_v2(d, &m2));
	EXPECT_EQ(m2.total, total);
	m2.version = 7;
	EXPECT_EQ(nvmlDeviceGetMemoryInfo_v2(d, &m2), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
}

/* What NVML 13's reference says of a device without MIG, display and board. */
static void facts(nvmlDevice_t d)
{
	nvmlDeviceAddressingMode_t a = { NVML_VERSION_OF(nvmlDeviceAddressingMode_t, 1), 7 };
	unsigned int v, w, count = 0;
	unsigned long set[16], cpus = 0;
	unsigned long long types;
	nvmlEventSet_t events;
	nvmlEventData_t e;
	nvmlPciInfoExt_t x = { .version = NVML_VERSION_OF(nvmlPciInfoExt_t, 1) };
	nvmlPciInfo_t pci;
	nvmlDevice_t other;

	NK(nvmlDeviceGetMigMode(d, &v, &w));
	EXPECT(!v && !w);
	EXPECT_EQ(nvmlDeviceGetMigDeviceHandleByIndex(d, 0, &other), NVML_ERROR_NOT_FOUND);
	NK(nvmlDeviceGetComputeMode(d, &v));
	EXPECT_EQ(v, 0);
	NK(nvmlDeviceGetPersistenceMode(d, &v));
	EXPECT_EQ(v, 1);
	NK(nvmlDeviceGetAddressingMode(d, &a));
	EXPECT_EQ(a.value, 0);
	a.version = 3;
	EXPECT_EQ(nvmlDeviceGetAddressingMode(d, &a), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
	NK(nvmlDeviceGetCpuAffinity(d, 16, set));
	for (int i = 0; i < 16; i++)
		cpus += (unsigned long)__builtin_popcountl(set[i]);
	EXPECT_EQ(cpus, (unsigned long)sysconf(_SC_NPROCESSORS_ONLN));
	NK(nvmlDeviceGetPciInfo_v3(d, &pci));
	NK(nvmlDeviceGetPciInfoExt(d, &x));
	EXPECT(!strcmp(x.busId, pci.busId));
	NK(nvmlDeviceGetGraphicsRunningProcesses_v3(d, &count, NULL));
	EXPECT_EQ(count, 0);
	NK(nvmlDeviceGetTopologyCommonAncestor(d, d, &v));
	EXPECT_EQ(v, NVML_TOPOLOGY_INTERNAL);
	NK(nvmlDeviceGetSupportedEventTypes(d, &types));
	EXPECT(types & nvmlEventTypeXidCriticalError);
	NK(nvmlEventSetCreate(&events));
	EXPECT_EQ(nvmlDeviceRegisterEvents(d, 1ull << 40, events), NVML_ERROR_NOT_SUPPORTED);
	NK(nvmlDeviceRegisterEvents(d, nvmlEventTypeXidCriticalError, events));
	(void)e;
	NK(nvmlEventSetFree(events));
}

/* This process among those that work, with some of the device's time; samples go forwards. */
static int works(nvmlDevice_t d)
{
	static nvmlProcessUtilizationSample_t list[1024];
	nvmlSample_t s[64];
	nvmlValueType_t type;
	nvmlReturn_t r;
	unsigned int n = 1024, m = 64;

	NK(nvmlDeviceGetProcessUtilization(d, list, &n, 0));
	r = nvmlDeviceGetSamples(d, NVML_GPU_UTILIZATION_SAMPLES, 0, &type, &m, s);
	if (r == NVML_ERROR_NOT_FOUND)          /* so young a device has none */
		return 0;
	NK(r);
	EXPECT_EQ(type, NVML_VALUE_TYPE_UNSIGNED_INT);
	for (unsigned int i = 0; i < m; i++)
		EXPECT(s[i].sampleValue.uiVal <= 100 && (!i || s[i].timeStamp > s[i - 1].timeStamp));
	for (unsigned int i = 0; i < n; i++)
		if (list[i].pid == (unsigned int)getpid())
			return list[i].smUtil <= 100;
	return 0;
}

int main(void)
{
	enum { BYTES = 64 << 20 };
	unsigned int n = 0, celsius;
	unsigned long long used = 0;
	nvmlMemory_t before, with;
	nvmlUtilization_t u;
	nvmlDevice_t d;
	char text[96];
	int version, seen;
	CUcontext ctx;
	CUdevice dev;
	CUdeviceptr p;

	e2e_begin("nvml");
	/* nothing of CUDA is needed for it, so it goes first */
	EXPECT_EQ(nvmlDeviceGetCount_v2(&n), NVML_ERROR_UNINITIALIZED);
	EXPECT_EQ(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
	NK(nvmlInit_v2());
	NK(nvmlDeviceGetCount_v2(&n));
	EXPECT(n >= 1);
	NK(nvmlDeviceGetHandleByIndex_v2(0, &d));
	EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(n, &d), NVML_ERROR_INVALID_ARGUMENT);
	EXPECT_EQ(nvmlDeviceGetName((nvmlDevice_t)text, text, sizeof text), NVML_ERROR_INVALID_ARGUMENT);
	NK(nvmlSystemGetDriverVersion(text, sizeof text));
	EXPECT(atoi(text) >= 570);
	NK(nvmlSystemGetCudaDriverVersion_v2(&version));
	EXPECT_EQ(version, 13010);
	setenv("VGPU_CUDA_VERSION", "13.4", 1);
	NK(nvmlSystemGetCudaDriverVersion_v2(&version));
	EXPECT_EQ(version, 13040);
	unsetenv("VGPU_CUDA_VERSION");
	NK(nvmlSystemGetProcessName((unsigned int)getpid(), text, sizeof text));
	EXPECT(strstr(text, "nvml") != NULL);
	EXPECT_EQ(nvmlDeviceGetTemperature(d, 0, &celsius), NVML_ERROR_NOT_SUPPORTED);
	EXPECT(nvmlErrorString(NVML_ERROR_NOT_SUPPORTED)[0]);

	CK(cuInit(0));
	CK(cuDeviceGet(&dev, 0));
	on_device(dev, d);
	NK(nvmlDeviceGetMemoryInfo(d, &before));
	CK(cuCtxCreate_v2(&ctx, 0, dev));
	p = drv_alloc(BYTES);
	NK(nvmlDeviceGetMemoryInfo(d, &with));
	/* neighbours take and give meanwhile: only what is ours is sure */
	EXPECT(with.used >= BYTES && with.total == before.total);
	EXPECT(listed(d, &used));
	EXPECT(used >= BYTES);
	facts(d);
	/* work for as long as it is not in sight: of the last second, whatever neighbours do */
	do {
		for (int i = 0; i < 8; i++)
			CK(cuMemsetD32Async(p, (unsigned)i, BYTES / 4, NULL));
		NK(nvmlDeviceGetUtilizationRates(d, &u));
		seen = u.gpu && works(d);
		CK(cuCtxSynchronize());
	} while (!seen);
	EXPECT(u.gpu > 0 && u.gpu <= 100 && u.memory <= 100);
	EXPECT_EQ(nvmlDeviceGetUtilizationRates(d, NULL), NVML_ERROR_INVALID_ARGUMENT);
	CK(cuMemFree(p));
	CK(cuCtxDestroy(ctx));
	NK(nvmlInit_v2());
	NK(nvmlShutdown());
	NK(nvmlDeviceGetCount_v2(&n));  /* counted */
	NK(nvmlShutdown());
	EXPECT_EQ(nvmlDeviceGetCount_v2(&n), NVML_ERROR_UNINITIALIZED);
	return e2e_end("%u device%s, %llu MiB seen", n, n == 1 ? "" : "s", used >> 20);
}
