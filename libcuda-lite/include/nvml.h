/* SPDX-License-Identifier: MIT */
/*
 * NVML, the part that our libnvidia-ml.so.1 answers (libcuda-lite/nvml). The library needs no CUDA: it asks the
 * agent. Names that it exports beyond these answer NVML_ERROR_NOT_SUPPORTED.
 */
#ifndef NVML_H_
#define NVML_H_

#if defined(__cplusplus)
extern "C" {
#endif

#define NVML_ERROR_LIST(X) \
	X(NVML_SUCCESS, 0, "Success") \
	X(NVML_ERROR_UNINITIALIZED, 1, "Uninitialized") \
	X(NVML_ERROR_INVALID_ARGUMENT, 2, "Invalid Argument") \
	X(NVML_ERROR_NOT_SUPPORTED, 3, "Not Supported") \
	X(NVML_ERROR_NO_PERMISSION, 4, "Insufficient Permissions") \
	X(NVML_ERROR_ALREADY_INITIALIZED, 5, "Already Initialized") \
	X(NVML_ERROR_NOT_FOUND, 6, "Not Found") \
	X(NVML_ERROR_INSUFFICIENT_SIZE, 7, "Insufficient Size") \
	X(NVML_ERROR_INSUFFICIENT_POWER, 8, "Insufficient External Power") \
	X(NVML_ERROR_DRIVER_NOT_LOADED, 9, "Driver Not Loaded: no vgpu agent answers") \
	X(NVML_ERROR_TIMEOUT, 10, "Timeout") \
	X(NVML_ERROR_IRQ_ISSUE, 11, "Interrupt Issue") \
	X(NVML_ERROR_LIBRARY_NOT_FOUND, 12, "Library Not Found") \
	X(NVML_ERROR_FUNCTION_NOT_FOUND, 13, "Function Not Found") \
	X(NVML_ERROR_CORRUPTED_INFOROM, 14, "Corrupted infoROM") \
	X(NVML_ERROR_GPU_IS_LOST, 15, "GPU is lost") \
	X(NVML_ERROR_RESET_REQUIRED, 16, "GPU requires a reset") \
	X(NVML_ERROR_OPERATING_SYSTEM, 17, "Operating System Error") \
	X(NVML_ERROR_LIB_RM_VERSION_MISMATCH, 18, "Library and agent speak different protocols") \
	X(NVML_ERROR_IN_USE, 19, "In Use") \
	X(NVML_ERROR_MEMORY, 20, "Insufficient Memory") \
	X(NVML_ERROR_NO_DATA, 21, "No Data") \
	X(NVML_ERROR_VGPU_ECC_NOT_SUPPORTED, 22, "ECC Not Supported") \
	X(NVML_ERROR_INSUFFICIENT_RESOURCES, 23, "Insufficient Resources") \
	X(NVML_ERROR_FREQ_NOT_SUPPORTED, 24, "Frequency Not Supported") \
	X(NVML_ERROR_ARGUMENT_VERSION_MISMATCH, 25, "Argument Version Mismatch") \
	X(NVML_ERROR_DEPRECATED, 26, "Deprecated") \
	X(NVML_ERROR_NOT_READY, 27, "Not Ready") \
	X(NVML_ERROR_GPU_NOT_FOUND, 28, "GPU Not Found") \
	X(NVML_ERROR_INVALID_STATE, 29, "Invalid State") \
	X(NVML_ERROR_RESET_TYPE_NOT_SUPPORTED, 30, "Reset Type Not Supported") \
	X(NVML_ERROR_UNKNOWN, 999, "Unknown Error")

typedef enum nvmlReturn_enum {
#define NVML_CODE(name, value, text) name = value,
	NVML_ERROR_LIST(NVML_CODE)
#undef NVML_CODE
} nvmlReturn_t;

typedef struct nvmlDevice_st *nvmlDevice_t;

typedef struct nvmlMemory_st { unsigned long long total, free, used; } nvmlMemory_t;
typedef struct nvmlMemory_v2_st {
	unsigned int version;
	unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;
#define nvmlMemory_v2 ((unsigned int)(sizeof(nvmlMemory_v2_t) | 2u << 24))

typedef struct nvmlPciInfo_st {
	char busIdLegacy[16];
	unsigned int domain, bus, device;
	unsigned int pciDeviceId;       /* device << 16 | vendor */
	unsigned int pciSubSystemId;
	char busId[32];
} nvmlPciInfo_t;

typedef struct nvmlUtilization_st { unsigned int gpu, memory; } nvmlUtilization_t;

typedef struct nvmlProcessInfo_v1_st { unsigned int pid; unsigned long long usedGpuMemory; } nvmlProcessInfo_v1_t;
typedef struct nvmlProcessInfo_st {
	unsigned int pid;
	unsigned long long usedGpuMemory;
	unsigned int gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_t;
typedef nvmlProcessInfo_t nvmlProcessInfo_v2_t;
#define NVML_VALUE_NOT_AVAILABLE (-1)

typedef unsigned int nvmlBrandType_t;
#define NVML_BRAND_UNKNOWN 0u
typedef unsigned int nvmlDeviceArchitecture_t;
#define NVML_DEVICE_ARCH_UNKNOWN 0xffffffffu

#define NVML_DEVICE_NAME_V2_BUFFER_SIZE 96
#define NVML_DEVICE_UUID_V2_BUFFER_SIZE 96
#define NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE 80
#define NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE 80

nvmlReturn_t nvmlInit(void);
nvmlReturn_t nvmlInit_v2(void);
nvmlReturn_t nvmlInitWithFlags(unsigned int flags);
nvmlReturn_t nvmlShutdown(void);
const char *nvmlErrorString(nvmlReturn_t result);

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length);
nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length);
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version);
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version);
nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length);

nvmlReturn_t nvmlDeviceGetCount(unsigned int *count);
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count);
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *bus_id, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *device);

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length);
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length);
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index);
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minor);
nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, nvmlBrandType_t *brand);
nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t *arch);
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor);
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci);
/* Of the last second. */
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization);
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory);
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v1_t *infos);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v2_t *infos);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos);

#include "cuda_lite_nvml.h"

#if defined(__cplusplus)
}
#endif
#endif
