/* SPDX-License-Identifier: MIT */
/*
 * Older names whose signature on 64-bit machines equals the newer one's: programs that look names up
 * with dlsym ask for them unsuffixed. Those that took 32-bit device pointers stay unsupported: they
 * could not name our memory.
 */
#include "driver.h"

#define SAME(old, new, params, args) \
	__attribute__((visibility("default"))) CUresult old params; \
	CUresult old params { return new args; }

SAME(cuCtxCreate, cuCtxCreate_v2, (CUcontext *ctx, unsigned int flags, CUdevice dev), (ctx, flags, dev))
SAME(cuCtxDestroy, cuCtxDestroy_v2, (CUcontext ctx), (ctx))
SAME(cuCtxPushCurrent, cuCtxPushCurrent_v2, (CUcontext ctx), (ctx))
SAME(cuCtxPopCurrent, cuCtxPopCurrent_v2, (CUcontext *ctx), (ctx))
SAME(cuStreamDestroy, cuStreamDestroy_v2, (CUstream stream), (stream))
SAME(cuEventDestroy, cuEventDestroy_v2, (CUevent event), (event))
SAME(cuMemHostRegister, cuMemHostRegister_v2, (void *p, size_t bytes, unsigned int flags), (p, bytes, flags))

#define VALUE(name, type) \
	SAME(name, name##_v2, (CUstream stream, CUdeviceptr addr, type value, unsigned int flags), \
	     (stream, addr, value, flags)) \
	SAME(name##_ptsz, name##_v2_ptsz, (CUstream stream, CUdeviceptr addr, type value, unsigned int flags), \
	     (stream, addr, value, flags))
VALUE(cuStreamWaitValue32, cuuint32_t)
VALUE(cuStreamWaitValue64, cuuint64_t)
VALUE(cuStreamWriteValue32, cuuint32_t)
VALUE(cuStreamWriteValue64, cuuint64_t)
