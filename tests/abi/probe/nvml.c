/* SPDX-License-Identifier: MIT */
/* NVML's probe: what libnvidia-ml.so.1 answers; see probe.h. Calls go by name: the library is opened, not linked. */
#include <nvml.h>

#include "probe.h"

const char *result_name(int r)
{
	static const struct { int v; const char *n; } names[] = {
#define X(name, value, text) { value, #name },
		NVML_ERROR_LIST(X)
#undef X
	};

	for (size_t i = 0; i < NEL(names); i++)
		if (names[i].v == r)
			return names[i].n;
	return NULL;
}

static nvmlDevice_t d;
#define NONE ((nvmlDevice_t)0)
#define WILDD ((nvmlDevice_t)(uintptr_t)0x12345678)

static void load(void)
{
	if (!dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_GLOBAL))
		say("[load] %s\n", dlerror());
	in_start = 0;
}

static void start(void)
{
	load();
	alarm(20);
	if (nvmlInit_v2() || nvmlDeviceGetHandleByIndex_v2(0, &d))
		say("[start] no device\n");
	alarm(0);
}

static void g_init(void)
{
	unsigned int n = 7;
	int v = 7;
	char b[128];

	load();
	for (int k = 0; k < 3; k++) {
		tag("%s", k == 0 ? "before" : k == 1 ? "after init" : "after shutdown");
		if (k == 1) {
			R(nvmlInit_v2());
			R(nvmlInit_v2());
			R(nvmlInitWithFlags(0));
			R(nvmlInitWithFlags(1));
			R(nvmlInitWithFlags(2));
			R(nvmlInitWithFlags(99));
			R(nvmlInit());
		}
		if (k == 2) {
			for (int i = 0; i < 8; i++)
				R(nvmlShutdown());
		}
		R(nvmlDeviceGetCount_v2(&n));
		R(nvmlDeviceGetCount_v2(NULL));
		R(nvmlDeviceGetHandleByIndex_v2(0, &d));
		R(nvmlDeviceGetHandleByIndex_v2(99, &d));
		R(nvmlDeviceGetHandleByIndex_v2(0, NULL));
		R(nvmlSystemGetDriverVersion(b, sizeof b));
		R(nvmlSystemGetNVMLVersion(b, sizeof b));
		R(nvmlSystemGetCudaDriverVersion_v2(&v));
		R(nvmlSystemGetCudaDriverVersion(NULL));
		R(nvmlDeviceGetName(d, b, 64));
		R(nvmlDeviceGetName(NONE, b, 64));
		R(nvmlSystemGetProcessName(1, b, 64));
		D(nvmlUnitGetCount, (unsigned int *), (&n));
	}
	tag("names");
	for (int i = -1; i < 32; i++)
		SAY("%d: %s", i, nvmlErrorString((nvmlReturn_t)i));
	SAY("999: %s", nvmlErrorString((nvmlReturn_t)999));
	SAY("1000: %s", nvmlErrorString((nvmlReturn_t)1000));
}

static void g_texts(void)
{
	char b[256];
	static const unsigned int lengths[] = { 0, 1, 4, 10, 15, 16, 20, 30, 40, 41, 64, 80, 96, 200 };
	nvmlDevice_t e = NONE;
	unsigned int n = 7;

	start();
	for (size_t i = 0; i < NEL(lengths); i++) {
		tag("length %u", lengths[i]);
		R(nvmlSystemGetDriverVersion(b, lengths[i]));
		R(nvmlSystemGetNVMLVersion(b, lengths[i]));
		R(nvmlDeviceGetName(d, b, lengths[i]));
		R(nvmlDeviceGetUUID(d, b, lengths[i]));
		R(nvmlSystemGetProcessName((unsigned int)getpid(), b, lengths[i]));
		D(nvmlDeviceGetVbiosVersion, (nvmlDevice_t, char *, unsigned int), (d, b, lengths[i]));
		D(nvmlDeviceGetSerial, (nvmlDevice_t, char *, unsigned int), (d, b, lengths[i]));
		D(nvmlDeviceGetBoardPartNumber, (nvmlDevice_t, char *, unsigned int), (d, b, lengths[i]));
		D(nvmlDeviceGetInforomImageVersion, (nvmlDevice_t, char *, unsigned int), (d, b, lengths[i]));
	}
	tag("%s", "");
	R(nvmlSystemGetDriverVersion(NULL, 80));
	R(nvmlDeviceGetName(d, NULL, 80));
	R(nvmlDeviceGetUUID(d, NULL, 80));
	R(nvmlSystemGetProcessName(99999999, b, 80));
	R(nvmlDeviceGetUUID(d, b, 96));
	RV(nvmlDeviceGetHandleByUUID(b, &e), "same %d", e == d);
	R(nvmlDeviceGetHandleByUUID("GPU-none", &e));
	R(nvmlDeviceGetHandleByUUID("", &e));
	R(nvmlDeviceGetHandleByUUID(NULL, &e));
	R(nvmlDeviceGetHandleByUUID(b, NULL));
	nvmlPciInfo_t pci;
	R(nvmlDeviceGetPciInfo_v3(d, &pci));
	SAY("long id's length %d, short one's %d", (int)strlen(pci.busId), (int)strlen((const char *)&pci));
	RV(nvmlDeviceGetHandleByPciBusId_v2(pci.busId, &e), "same %d", e == d);
	RV(nvmlDeviceGetHandleByPciBusId_v2((const char *)&pci, &e), "same %d", e == d);
	RV(nvmlDeviceGetHandleByPciBusId_v2(pci.busId + 4, &e), "same %d", e == d);
	R(nvmlDeviceGetHandleByPciBusId_v2("nonsense", &e));
	R(nvmlDeviceGetHandleByPciBusId_v2("0000:fe:00.0", &e));
	R(nvmlDeviceGetHandleByPciBusId_v2(NULL, &e));
	RV(nvmlDeviceGetIndex(d, &n), "%u", n);
	RV(nvmlDeviceGetMinorNumber(d, &n), "~%u", n);
}

#define EACH(X) \
	X(nvmlDeviceGetIndex) X(nvmlDeviceGetMinorNumber) X(nvmlDeviceGetBrand) X(nvmlDeviceGetArchitecture) X(nvmlDeviceGetComputeMode) X(nvmlDeviceGetPersistenceMode) X(nvmlDeviceGetDisplayMode) \
	X(nvmlDeviceGetDisplayActive) X(nvmlDeviceGetMultiGpuBoard) X(nvmlDeviceGetMaxMigDeviceCount) X(nvmlDeviceIsMigDeviceHandle) X(nvmlDeviceGetVirtualizationMode) X(nvmlDeviceGetMemoryBusWidth) \
	X(nvmlDeviceGetFanSpeed) X(nvmlDeviceGetNumFans) X(nvmlDeviceGetPowerUsage) X(nvmlDeviceGetPowerManagementLimit) X(nvmlDeviceGetPowerManagementDefaultLimit) X(nvmlDeviceGetEnforcedPowerLimit) X(nvmlDeviceGetPowerState) X(nvmlDeviceGetPerformanceState) \
	X(nvmlDeviceGetPowerManagementMode) X(nvmlDeviceGetTotalEnergyConsumption) X(nvmlDeviceGetCurrPcieLinkGeneration) X(nvmlDeviceGetCurrPcieLinkWidth) X(nvmlDeviceGetMaxPcieLinkGeneration) X(nvmlDeviceGetMaxPcieLinkWidth) X(nvmlDeviceGetGpuMaxPcieLinkGeneration) \
	X(nvmlDeviceGetPcieReplayCounter) X(nvmlDeviceGetNumGpuCores) X(nvmlDeviceGetInforomConfigurationChecksum) X(nvmlDeviceGetBoardId) X(nvmlDeviceGetCurrentClocksThrottleReasons) X(nvmlDeviceGetSupportedClocksThrottleReasons) \
	X(nvmlDeviceGetCurrentClocksEventReasons) X(nvmlDeviceGetPcieSpeed) X(nvmlDeviceGetPcieLinkMaxSpeed) X(nvmlDeviceGetIrqNum) X(nvmlDeviceGetAccountingMode) X(nvmlDeviceGetAccountingBufferSize) X(nvmlDeviceGetGspFirmwareMode) X(nvmlDeviceGetHostVgpuMode) \
	X(nvmlDeviceGetBusType) X(nvmlDeviceGetAdaptiveClockInfoStatus) X(nvmlDeviceGetUtilizationRates) X(nvmlDeviceGetMemoryInfo) X(nvmlDeviceGetBAR1MemoryInfo) X(nvmlDeviceGetPciInfo_v3) X(nvmlDeviceGetRetiredPagesPendingStatus) X(nvmlDeviceGetSupportedEventTypes)

static void g_values(void)
{
	unsigned long long v[64];
	static const char *const names[] = {
#define X(n) #n,
		EACH(X)
#undef X
	};

	start();
	for (size_t i = 0; i < NEL(names); i++) {
		union { void *p; int (*f)(nvmlDevice_t, void *); } u;

		u.p = dlsym(RTLD_DEFAULT, names[i]);
		tag("%s", names[i]);
		if (!u.p) {
			SAY("absent");
			continue;
		}
		memset(v, 0, sizeof v);
		R(u.f(d, v));
		SAY("~%llu", v[0]);
		R(u.f(d, NULL));
		R(u.f(NONE, v));
		R(u.f(WILDD, v));
	}
	for (unsigned int i = 0; i < 6; i++) {
		tag("clock %u", i);
		D(nvmlDeviceGetClockInfo, (nvmlDevice_t, unsigned int, void *), (d, i, v));
		D(nvmlDeviceGetMaxClockInfo, (nvmlDevice_t, unsigned int, void *), (d, i, v));
		D(nvmlDeviceGetApplicationsClock, (nvmlDevice_t, unsigned int, void *), (d, i, v));
		D(nvmlDeviceGetTemperature, (nvmlDevice_t, unsigned int, void *), (d, i, v));
		D(nvmlDeviceGetTemperatureThreshold, (nvmlDevice_t, unsigned int, void *), (d, i, v));
		D(nvmlDeviceGetPcieThroughput, (nvmlDevice_t, unsigned int, void *), (d, i, v));
		D(nvmlDeviceGetNvLinkState, (nvmlDevice_t, unsigned int, void *), (d, 10 + i, v));
		D(nvmlDeviceGetEncoderCapacity, (nvmlDevice_t, unsigned int, void *), (d, i, v));
	}
	tag("%s", "");
	D(nvmlDeviceGetEccMode, (nvmlDevice_t, void *, void *), (d, v, v + 1));
	D(nvmlDeviceGetEccMode, (nvmlDevice_t, void *, void *), (d, NULL, v + 1));
	D(nvmlDeviceGetMigMode, (nvmlDevice_t, void *, void *), (d, v, v + 1));
	D(nvmlDeviceGetMigDeviceHandleByIndex, (nvmlDevice_t, unsigned int, void *), (d, 0, v));
	D(nvmlDeviceGetEncoderUtilization, (nvmlDevice_t, void *, void *), (d, v, v + 1));
	D(nvmlDeviceGetDecoderUtilization, (nvmlDevice_t, void *, void *), (d, v, v + 1));
	D(nvmlDeviceGetPowerManagementLimitConstraints, (nvmlDevice_t, void *, void *), (d, v, v + 1));
	D(nvmlDeviceGetCudaComputeCapability, (nvmlDevice_t, void *, void *), (d, v, v + 1));
	D(nvmlDeviceGetCudaComputeCapability, (nvmlDevice_t, void *, void *), (d, NULL, NULL));
	D(nvmlDeviceGetTotalEccErrors, (nvmlDevice_t, int, int, void *), (d, 0, 0, v));
	D(nvmlDeviceSetPersistenceMode, (nvmlDevice_t, int), (d, 9));
	D(nvmlDeviceSetComputeMode, (nvmlDevice_t, int), (d, 99));
	D(nvmlDeviceSetEccMode, (nvmlDevice_t, int), (d, 99));
	D(nvmlDeviceGetTopologyCommonAncestor, (nvmlDevice_t, nvmlDevice_t, void *), (d, d, v));
	D(nvmlDeviceOnSameBoard, (nvmlDevice_t, nvmlDevice_t, void *), (d, d, v));
	D(nvmlDeviceGetP2PStatus, (nvmlDevice_t, nvmlDevice_t, int, void *), (d, d, 0, v));
	D(nvmlDeviceGetCpuAffinity, (nvmlDevice_t, unsigned int, void *), (d, 1, v));
	D(nvmlDeviceGetCpuAffinity, (nvmlDevice_t, unsigned int, void *), (d, 0, v));
	D(nvmlDeviceGetCpuAffinity, (nvmlDevice_t, unsigned int, void *), (d, 16, NULL));
}

static void g_lists(void)
{
	unsigned int n;
	char room[8192];
	nvmlFieldValue_t f[3];
	nvmlEventSet_t s = NULL;
	nvmlEventData_t ev;

	start();
	static const char *const lists[] = { "nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v3",
		"nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetSupportedMemoryClocks" };
	for (size_t i = 0; i < NEL(lists); i++) {
		union { void *p; int (*f)(nvmlDevice_t, unsigned int *, void *); } u;

		u.p = dlsym(RTLD_DEFAULT, lists[i]);
		tag("%s", lists[i]);
		if (!u.p) {
			SAY("absent");
			continue;
		}
		n = 0;
		R(u.f(d, &n, NULL));
		n = 50;
		R(u.f(d, &n, room));
		n = 50;
		R(u.f(d, &n, NULL));
		R(u.f(d, NULL, room));
		R(u.f(NONE, &n, room));
	}
	tag("memory, versions");
	nvmlMemory_v2_t m;
	static const unsigned int versions[] = { 0, 1, 2, nvmlMemory_v2, nvmlMemory_v2 + 1, nvmlMemory_v2 + (1 << 24), 0xffffffff };
	for (size_t i = 0; i < NEL(versions); i++) {
		tag("memory, version %zu", i);
		memset(&m, 0, sizeof m);
		m.version = versions[i];
		RV(nvmlDeviceGetMemoryInfo_v2(d, &m), "sum %d", m.total == m.free + m.used + m.reserved || m.total == m.free + m.used);
	}
	tag("%s", "");
	R(nvmlDeviceGetMemoryInfo_v2(d, NULL));
	memset(f, 0, sizeof f);
	f[0].fieldId = 1, f[1].fieldId = 82, f[2].fieldId = 99999;
	R(nvmlDeviceGetFieldValues(d, 3, f));
	for (int i = 0; i < 3; i++)
		SAY("field %u: %s", f[i].fieldId, result_name((int)f[i].nvmlReturn) ? result_name((int)f[i].nvmlReturn) : "?");
	R(nvmlDeviceGetFieldValues(d, 0, f));
	R(nvmlDeviceGetFieldValues(d, -1, f));
	R(nvmlDeviceGetFieldValues(d, 3, NULL));
	R(nvmlEventSetCreate(&s));
	R(nvmlEventSetCreate(NULL));
	R(nvmlDeviceRegisterEvents(d, nvmlEventTypeXidCriticalError, s));
	R(nvmlDeviceRegisterEvents(d, 0, s));
	R(nvmlDeviceRegisterEvents(d, 1ull << 60, s));
	R(nvmlDeviceRegisterEvents(d, 8, NULL));
	R(nvmlEventSetWait_v2(s, &ev, 0));
	R(nvmlEventSetWait_v2(s, &ev, 10));
	R(nvmlEventSetWait_v2(s, NULL, 10));
	R(nvmlEventSetWait_v2(NULL, &ev, 10));
	R(nvmlEventSetFree(s));
	R(nvmlEventSetFree(NULL));
}

const struct group groups[] = { { "init", g_init }, { "texts", g_texts }, { "values", g_values }, { "lists", g_lists }, { NULL, NULL } };
