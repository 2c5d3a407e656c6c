/* SPDX-License-Identifier: MIT */
/*
 * The calls of NVIDIA's Tools Extension (NVTX) by which a program names what it does: libnvToolsExt.so.1's, which are those of nvtx3's
 * headers too. Our own declarations; the layouts are held to NVIDIA's by tests/system/nvtx.sh.
 *
 * A: text as it is (UTF-8 by custom); W: wchar_t.
 */
#ifndef VGPU_NVTX_H
#define VGPU_NVTX_H

#include <stddef.h>
#include <stdint.h>

#define NVTX_NO_PUSH_POP_TRACKING (-2)

typedef uint64_t nvtxRangeId_t;
typedef struct nvtx_domain *nvtxDomainHandle_t;         /* NULL: the default one */
typedef struct nvtx_string *nvtxStringHandle_t;
typedef struct nvtx_resource *nvtxResourceHandle_t;
typedef struct nvtx_sync *nvtxSyncUser_t;

enum { NVTX_MESSAGE_UNKNOWN, NVTX_MESSAGE_ASCII, NVTX_MESSAGE_UNICODE, NVTX_MESSAGE_REGISTERED };
enum { NVTX_PAYLOAD_UNKNOWN, NVTX_PAYLOAD_U64, NVTX_PAYLOAD_I64, NVTX_PAYLOAD_DOUBLE, NVTX_PAYLOAD_U32, NVTX_PAYLOAD_I32,
       NVTX_PAYLOAD_FLOAT };

typedef union {
	const char *ascii;
	const wchar_t *unicode;
	nvtxStringHandle_t registered;
} nvtxMessage;

typedef struct {
	uint16_t version, size;         /* size: what the caller's struct has; a shorter one ends before message */
	uint32_t category;
	int32_t colour_type;            /* 1: ARGB */
	uint32_t colour;
	int32_t payload_type, reserved0;
	union {
		uint64_t u64;
		int64_t i64;
		double f64;
		uint32_t u32;
		int32_t i32;
		float f32;
	} payload;
	int32_t message_type;
	nvtxMessage message;
} nvtxEventAttributes_t;

typedef struct {
	uint16_t version, size;
	int32_t identifier_type;
	uint64_t identifier;
	int32_t message_type;
	nvtxMessage message;
} nvtxResourceAttributes_t;

typedef struct {
	uint16_t version, size;
	int32_t message_type;
	nvtxMessage message;
} nvtxSyncUserAttributes_t;

void nvtxInitialize(const void *reserved);
const void *nvtxGetExportTable(uint32_t table);

void nvtxMarkEx(const nvtxEventAttributes_t *event);
void nvtxMarkA(const char *message);
void nvtxMarkW(const wchar_t *message);
nvtxRangeId_t nvtxRangeStartEx(const nvtxEventAttributes_t *event);
nvtxRangeId_t nvtxRangeStartA(const char *message);
nvtxRangeId_t nvtxRangeStartW(const wchar_t *message);
void nvtxRangeEnd(nvtxRangeId_t id);
int nvtxRangePushEx(const nvtxEventAttributes_t *event);
int nvtxRangePushA(const char *message);
int nvtxRangePushW(const wchar_t *message);
int nvtxRangePop(void);
void nvtxNameCategoryA(uint32_t category, const char *name);
void nvtxNameCategoryW(uint32_t category, const wchar_t *name);
void nvtxNameOsThreadA(uint32_t thread, const char *name);
void nvtxNameOsThreadW(uint32_t thread, const wchar_t *name);

nvtxDomainHandle_t nvtxDomainCreateA(const char *name);
nvtxDomainHandle_t nvtxDomainCreateW(const wchar_t *name);
void nvtxDomainDestroy(nvtxDomainHandle_t domain);
void nvtxDomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event);
nvtxRangeId_t nvtxDomainRangeStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event);
void nvtxDomainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id);
int nvtxDomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event);
int nvtxDomainRangePop(nvtxDomainHandle_t domain);
void nvtxDomainNameCategoryA(nvtxDomainHandle_t domain, uint32_t category, const char *name);
void nvtxDomainNameCategoryW(nvtxDomainHandle_t domain, uint32_t category, const wchar_t *name);
nvtxStringHandle_t nvtxDomainRegisterStringA(nvtxDomainHandle_t domain, const char *string);
nvtxStringHandle_t nvtxDomainRegisterStringW(nvtxDomainHandle_t domain, const wchar_t *string);
nvtxResourceHandle_t nvtxDomainResourceCreate(nvtxDomainHandle_t domain, const nvtxResourceAttributes_t *resource);
void nvtxDomainResourceDestroy(nvtxResourceHandle_t resource);

nvtxSyncUser_t nvtxDomainSyncUserCreate(nvtxDomainHandle_t domain, const nvtxSyncUserAttributes_t *sync);
void nvtxDomainSyncUserDestroy(nvtxSyncUser_t handle);
void nvtxDomainSyncUserAcquireStart(nvtxSyncUser_t handle);
void nvtxDomainSyncUserAcquireFailed(nvtxSyncUser_t handle);
void nvtxDomainSyncUserAcquireSuccess(nvtxSyncUser_t handle);
void nvtxDomainSyncUserReleasing(nvtxSyncUser_t handle);

/* Names of things that other libraries made: of CUDA's two interfaces, of OpenCL's. */
void nvtxNameCuDeviceA(int device, const char *name);
void nvtxNameCuDeviceW(int device, const wchar_t *name);
void nvtxNameCuContextA(const void *context, const char *name);
void nvtxNameCuContextW(const void *context, const wchar_t *name);
void nvtxNameCuStreamA(const void *stream, const char *name);
void nvtxNameCuStreamW(const void *stream, const wchar_t *name);
void nvtxNameCuEventA(const void *event, const char *name);
void nvtxNameCuEventW(const void *event, const wchar_t *name);
void nvtxNameCudaDeviceA(int device, const char *name);
void nvtxNameCudaDeviceW(int device, const wchar_t *name);
void nvtxNameCudaStreamA(const void *stream, const char *name);
void nvtxNameCudaStreamW(const void *stream, const wchar_t *name);
void nvtxNameCudaEventA(const void *event, const char *name);
void nvtxNameCudaEventW(const void *event, const wchar_t *name);
void nvtxNameClDeviceA(const void *device, const char *name);
void nvtxNameClDeviceW(const void *device, const wchar_t *name);
void nvtxNameClContextA(const void *context, const char *name);
void nvtxNameClContextW(const void *context, const wchar_t *name);
void nvtxNameClCommandQueueA(const void *queue, const char *name);
void nvtxNameClCommandQueueW(const void *queue, const wchar_t *name);
void nvtxNameClMemObjectA(const void *memory, const char *name);
void nvtxNameClMemObjectW(const void *memory, const wchar_t *name);
void nvtxNameClSamplerA(const void *sampler, const char *name);
void nvtxNameClSamplerW(const void *sampler, const wchar_t *name);
void nvtxNameClProgramA(const void *program, const char *name);
void nvtxNameClProgramW(const void *program, const wchar_t *name);
void nvtxNameClEventA(const void *event, const char *name);
void nvtxNameClEventW(const void *event, const wchar_t *name);

#endif
