/* SPDX-License-Identifier: MIT */
/*
 * Events.
 *
 * Called by programs; cudaEvent_t is CUevent.
 */
#include "rt.h"

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	RT_ENTER();
	return rt_cu(cuEventCreate(event, flags));
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	return cudaEventCreateWithFlags(event, cudaEventDefault);
}

static cudaError_t rt_record(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
	RT_ENTER();
	return rt_cu(flags ? cuEventRecordWithFlags(event, stream, flags) : cuEventRecord(event, stream));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	return rt_record(event, stream, 0);
}

cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream)
{
	return rt_record(event, rt_per_thread(stream), 0);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
	return rt_record(event, stream, flags);
}

cudaError_t cudaEventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
	return rt_record(event, rt_per_thread(stream), flags);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
	RT_ENTER();
	return rt_cu(cuEventQuery(event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	RT_ENTER();
	return rt_cu(cuEventSynchronize(event));
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	RT_ENTER();
	return rt_cu(cuEventDestroy_v2(event));
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	RT_ENTER();
	return rt_cu(cuEventElapsedTime(ms, start, end));
}

#if CUDART_MAJOR < 13
/* The same again: 12.8 gave the call a second name for what cuEventElapsedTime_v2 does. */
cudaError_t cudaEventElapsedTime_v2(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	return cudaEventElapsedTime(ms, start, end);
}
#endif
