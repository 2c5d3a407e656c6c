/* SPDX-License-Identifier: MIT */
/*
 * Says what it does in each of NVTX's ways, with NVIDIA's headers: those of nvtx3, or with -DOLD those of libnvToolsExt. Prints what push
 * and pop answer. Between push and pop of "outer" is one CUDA call.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef OLD
#include <nvToolsExt.h>
#include <nvToolsExtCuda.h>
#include <nvToolsExtCudaRt.h>
#include <nvToolsExtSync.h>
#else
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtSync.h>
#endif

static void *worker(void *p)
{
	nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "worker \"one\"");
	nvtxRangePushA("in a thread");
	nvtxRangePop();
	return p;
}

int main(void)
{
	nvtxDomainHandle_t d = nvtxDomainCreateA("my.domain"), same = nvtxDomainCreateW(L"my.domain");
	nvtxStringHandle_t s = nvtxDomainRegisterStringA(d, "registered text");
	nvtxEventAttributes_t e = { .version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE, .category = 3, .colorType = NVTX_COLOR_ARGB,
				    .color = 0xff00ff00, .payloadType = NVTX_PAYLOAD_TYPE_DOUBLE, .messageType = NVTX_MESSAGE_TYPE_REGISTERED };
	nvtxResourceAttributes_t r = { .version = NVTX_VERSION, .size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE, .identifierType = 0x10001,
				       .messageType = NVTX_MESSAGE_TYPE_ASCII };
	nvtxSyncUserAttributes_t u = { .version = NVTX_VERSION, .size = sizeof(u), .messageType = NVTX_MESSAGE_TYPE_ASCII };
	nvtxResourceHandle_t resource;
	nvtxSyncUser_t sync;
	nvtxRangeId_t id, id2;
	pthread_t t;
	CUcontext ctx;
	CUstream stream[2];
	CUdeviceptr p;
	int level[8], n = 0;

	/* two streams with names: one is named before it has work, one after */
	if (cuInit(0) || (cuCtxCreate)(&ctx, NULL, 0, 0) || cuStreamCreate(&stream[0], 0) || cuStreamCreate(&stream[1], 0) || cuMemAlloc(&p, 16))
		return 1;
	nvtxNameCuStreamA(stream[0], "upload");
	if (cuMemsetD8Async(p, 0, 8, stream[0]) || cuMemsetD8Async(p + 8, 0, 8, stream[1]) || cuCtxSynchronize())
		return 1;
	nvtxNameCudaStreamA(stream[1], "down \"load\"");

	e.payload.dValue = 1.5;
	e.message.registered = s;
	nvtxDomainNameCategoryA(d, 3, "io");
	level[0] = nvtxRangePushA("outer");
	cuDriverGetVersion(&n);
	level[1] = nvtxRangePushW(L"inner \u00e4 \U0001F600");
	level[2] = nvtxDomainRangePushEx(d, &e);
	level[3] = nvtxDomainRangePushEx(same, &e);
	level[4] = nvtxRangePop();              /* the inner one, while the domain's are open */
	level[5] = nvtxDomainRangePop(d);
	nvtxDomainRangePop(d);
	level[6] = nvtxRangePop();
	level[7] = nvtxRangePop();              /* one too many */
	for (int i = 0; i < 8; i++)
		printf("%d ", level[i]);
	id = nvtxRangeStartA("long");
	id2 = nvtxDomainRangeStartEx(d, &e);
	nvtxMarkA("a mark");
	e.messageType = NVTX_MESSAGE_TYPE_UNICODE;
	e.message.unicode = L"wide";
	e.payloadType = NVTX_PAYLOAD_TYPE_INT32;
	e.payload.iValue = -7;
	nvtxMarkEx(&e);
	pthread_create(&t, NULL, worker, NULL);
	pthread_join(t, NULL);
	nvtxRangeEnd(id);
	nvtxDomainRangeEnd(d, id2);
	nvtxNameCudaStreamA(0, "the default stream");
	r.identifier.ullValue = 0x1234;
	r.message.ascii = "a buffer";
	resource = nvtxDomainResourceCreate(d, &r);
	nvtxDomainResourceDestroy(resource);
	u.message.ascii = "a lock";
	sync = nvtxDomainSyncUserCreate(d, &u);
	nvtxDomainSyncUserAcquireStart(sync);
	nvtxDomainSyncUserAcquireSuccess(sync);
	nvtxDomainSyncUserReleasing(sync);
	nvtxDomainSyncUserDestroy(sync);
	nvtxMarkA((const char *)8);             /* a wrong pointer is shown, not followed */
	nvtxDomainDestroy(d);
	printf("done\n");
	return 0;
}
