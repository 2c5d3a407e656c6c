/* SPDX-License-Identifier: MIT */
/*
 * The names that NCCL has had since 2.28 (up to 2.32), and those of its device interface: kernels that reach into other ranks' memory by
 * themselves. A program is linked against all of its NCCL's, whether it calls them or not. Each says once that it is not there.
 */
#include <stdatomic.h>

#include "comm.h"

static ncclResult_t absent(atomic_uint *said, const char *name, const char *why)
{
	if (!atomic_exchange_explicit(said, 1, memory_order_relaxed))
		nccl_say("%s is not supported", name);
	return fail(ncclInvalidUsage, why);
}

/* Arguments are not looked at: in the C calling convention a callee may ignore them. */
#define ABSENT(name) \
	PUBLIC ncclResult_t name(void); \
	PUBLIC ncclResult_t name(void) \
	{ \
		static atomic_uint said; \
		return absent(&said, #name, #name " is not supported"); \
	}
ABSENT(ncclAllGatherConfig)
ABSENT(ncclAllReduceConfig)
ABSENT(ncclAlltoAllConfig)
ABSENT(ncclBroadcastConfig)
ABSENT(ncclCommGetUniqueId)
ABSENT(ncclCommGrow)
ABSENT(ncclCommMemStats)
ABSENT(ncclCommQueryProperties)
ABSENT(ncclCommResume)
ABSENT(ncclCommRevoke)
ABSENT(ncclCommSuspend)
ABSENT(ncclDevCommCreate)
ABSENT(ncclDevCommDestroy)
ABSENT(ncclGatherConfig)
ABSENT(ncclGetCftDeviceLeInfo)
ABSENT(ncclGetLsaDevicePointer)
ABSENT(ncclGetLsaMultimemDevicePointer)
ABSENT(ncclGetMultimemDeviceLeInfo)
ABSENT(ncclGetMultimemDevicePointer)
ABSENT(ncclGetPeerDeviceLeInfo)
ABSENT(ncclGetPeerDevicePointer)
ABSENT(ncclGinBarrierCreateRequirement)
ABSENT(ncclGinInboxA2ACreateRequirement)
ABSENT(ncclGinOutboxCreateRequirement)
ABSENT(ncclLLA2ACreateRequirement)
ABSENT(ncclLsaBarrierCreateRequirement)
ABSENT(ncclParamBind)
ABSENT(ncclParamGet)
ABSENT(ncclParamGetAllParameterKeys)
ABSENT(ncclParamGetI16)
ABSENT(ncclParamGetI32)
ABSENT(ncclParamGetI64)
ABSENT(ncclParamGetI8)
ABSENT(ncclParamGetParameter)
ABSENT(ncclParamGetStr)
ABSENT(ncclParamGetU16)
ABSENT(ncclParamGetU32)
ABSENT(ncclParamGetU64)
ABSENT(ncclParamGetU8)
ABSENT(ncclPutSignal)
ABSENT(ncclReduceConfig)
ABSENT(ncclReduceScatterConfig)
ABSENT(ncclScatterConfig)
ABSENT(ncclSetEncryption)
ABSENT(ncclSignal)
ABSENT(ncclWaitSignal)
ABSENT(ncclWinGetUserPtr)

/* What NCCL prints for debugging is none of ours to set anew, and it has no parameters here to print. */
PUBLIC void ncclResetDebugInit(void);
PUBLIC void ncclResetDebugInit(void) { }
PUBLIC void ncclParamDumpAll(void);
PUBLIC void ncclParamDumpAll(void) { }
