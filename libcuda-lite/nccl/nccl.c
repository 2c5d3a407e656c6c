/* SPDX-License-Identifier: MIT */
/*
 * libnccl.so.2 for one device: builds of ggml-cuda link it, and do not load without it. A communicator has one rank, for
 * which every collective is the identity: recv becomes a copy of send, in the order of the stream. More ranks are refused
 * by name. Written over the public driver API alone; the ABI is that of NCCL 2.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../core/tls.h"
#include "cuda.h"

#define PUBLIC __attribute__((visibility("default")))

typedef enum {
	ncclSuccess, ncclUnhandledCudaError, ncclSystemError, ncclInternalError, ncclInvalidArgument, ncclInvalidUsage
} ncclResult_t;

typedef struct { char internal[128]; } ncclUniqueId;

#define ALIVE 0x6c636376u
struct comm {
	uint32_t alive;
	int device;
};
typedef struct comm *ncclComm_t;

struct nccl_thread {
	const char *last;               /* for ncclGetLastError */
	unsigned groups;                /* open */
};
VGPU_TLS(struct nccl_thread, vgpu_nccl_self);
VGPU_TLS_HERE(struct nccl_thread, vgpu_nccl_self);

#define fail(e, why) fail_with(e, "vgpu libnccl: " why)
static ncclResult_t fail_with(ncclResult_t e, const char *last)
{
	vgpu_nccl_self_at()->last = last;
	return e;
}

/* Said on stderr once: a program that goes on without it may not say anything itself. */
static ncclResult_t one_rank(void)
{
	static atomic_uint said;
	ncclResult_t e = fail(ncclInvalidUsage, "communicators of more than one rank are not supported");
	char line[192];
	int n = snprintf(line, sizeof(line), "%s\n", vgpu_nccl_self_at()->last);

	if (!atomic_exchange(&said, 1) && write(STDERR_FILENO, line, (size_t)n) < 0)
		return e;
	return e;
}

PUBLIC ncclResult_t ncclGetVersion(int *version);
ncclResult_t ncclGetVersion(int *version)
{
	if (!version)
		return fail(ncclInvalidArgument, "version is NULL");
	*version = 21800;
	return ncclSuccess;
}

PUBLIC const char *ncclGetErrorString(ncclResult_t e);
const char *ncclGetErrorString(ncclResult_t e)
{
	static const char *const text[] = { "no error", "unhandled cuda error", "unhandled system error", "internal error",
					    "invalid argument", "invalid usage" };

	return (unsigned)e < sizeof(text) / sizeof(text[0]) ? text[e] : "unknown result code";
}

PUBLIC const char *ncclGetLastError(ncclComm_t comm);
const char *ncclGetLastError(ncclComm_t comm)
{
	(void)comm;
	return vgpu_nccl_self_at()->last ? vgpu_nccl_self_at()->last : "";
}

/* ---- communicators ---------------------------------------------------------------------------- */

PUBLIC ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
	static atomic_uint next;

	if (!id)
		return fail(ncclInvalidArgument, "id is NULL");
	memset(id, 0, sizeof(*id));
	snprintf(id->internal, sizeof(id->internal), "vgpu %d %u", (int)getpid(), atomic_fetch_add(&next, 1));
	return ncclSuccess;
}

static ncclResult_t make(ncclComm_t *comm, int device)
{
	struct comm *c = malloc(sizeof(*c));

	if (!c)
		return fail(ncclSystemError, "no memory");
	*c = (struct comm){ .alive = ALIVE, .device = device };
	*comm = c;
	return ncclSuccess;
}

PUBLIC ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank);
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
	CUdevice device = 0;

	(void)id;
	if (!comm || ranks < 1 || rank < 0 || rank >= ranks)
		return fail(ncclInvalidArgument, "rank outside of the communicator");
	if (ranks > 1)
		return one_rank();
	/* without a current context: the first device, which is where the runtime would be */
	if (cuCtxGetDevice(&device) != CUDA_SUCCESS)
		device = 0;
	return make(comm, device);
}

PUBLIC ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank, void *config);
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank, void *config)
{
	(void)config;           /* about channels, networks and blocking: none of it is there with one rank */
	return ncclCommInitRank(comm, ranks, id, rank);
}

PUBLIC ncclResult_t ncclCommInitAll(ncclComm_t *comms, int n, const int *devices);
ncclResult_t ncclCommInitAll(ncclComm_t *comms, int n, const int *devices)
{
	int have = 0, device;

	if (!comms || n < 0)
		return fail(ncclInvalidArgument, "no room for the communicators");
	if (!n)
		return ncclSuccess;
	device = devices ? devices[0] : 0;
	if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&have) != CUDA_SUCCESS)
		return fail(ncclUnhandledCudaError, "no device answers");
	if (n > have || device < 0 || device >= have)
		return fail(ncclInvalidArgument, "more devices than there are, or one that is not there");
	if (n > 1)
		return one_rank();
	return make(comms, device);
}

static int alive(ncclComm_t c)
{
	return c && c->alive == ALIVE;
}

PUBLIC ncclResult_t ncclCommDestroy(ncclComm_t comm);
PUBLIC ncclResult_t ncclCommAbort(ncclComm_t comm);
PUBLIC ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
	if (!comm)
		return ncclSuccess;
	if (!alive(comm))
		return fail(ncclInvalidArgument, "not a communicator");
	comm->alive = 0;
	free(comm);
	return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
	return ncclCommDestroy(comm);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
	return alive(comm) ? ncclSuccess : fail(ncclInvalidArgument, "not a communicator");
}

#define GETTER(fn, type, value) \
	PUBLIC ncclResult_t fn(ncclComm_t comm, type *out); \
	ncclResult_t fn(ncclComm_t comm, type *out) \
	{ \
		if (!alive(comm) || !out) \
			return fail(ncclInvalidArgument, "not a communicator, or no room for the answer"); \
		*out = (value); \
		return ncclSuccess; \
	}
GETTER(ncclCommCount, int, 1)
GETTER(ncclCommUserRank, int, 0)
GETTER(ncclCommCuDevice, int, comm->device)
GETTER(ncclCommGetAsyncError, ncclResult_t, ncclSuccess)

/* ---- collectives of one rank -------------------------------------------------------------------- */

PUBLIC ncclResult_t ncclGroupStart(void);
PUBLIC ncclResult_t ncclGroupEnd(void);

ncclResult_t ncclGroupStart(void)
{
	vgpu_nccl_self_at()->groups++;
	return ncclSuccess;
}

/* Everything in a group was queued when it was called: with one rank nobody waits for anybody. */
ncclResult_t ncclGroupEnd(void)
{
	if (!vgpu_nccl_self_at()->groups)
		return fail(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
	vgpu_nccl_self_at()->groups--;
	return ncclSuccess;
}

static ncclResult_t collective(const void *send, void *recv, size_t count, int type, int op, int root, ncclComm_t comm,
			       CUstream stream)
{
	/* int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 e4m3 e5m2 */
	static const uint8_t bytes[] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };
	size_t n;

	if (!alive(comm))
		return fail(ncclInvalidArgument, "not a communicator");
	if (type < 0 || (size_t)type >= sizeof(bytes) || op < 0 || op > 4 || root)
		return fail(ncclInvalidArgument, "unknown type, operation or root");
	if (__builtin_mul_overflow(count, (size_t)bytes[type], &n))
		return fail(ncclInvalidArgument, "count is too large");
	if (!n || send == recv)
		return ncclSuccess;
	if (!send || !recv)
		return fail(ncclInvalidArgument, "a buffer is NULL");
	return cuMemcpyAsync((CUdeviceptr)(uintptr_t)recv, (CUdeviceptr)(uintptr_t)send, n, stream) == CUDA_SUCCESS ?
	       ncclSuccess : fail(ncclUnhandledCudaError, "the copy was refused");
}

#define COLLECTIVE(fn, params, op, root) \
	PUBLIC ncclResult_t fn params; \
	ncclResult_t fn params { return collective(send, recv, count, type, op, root, comm, stream); }
COLLECTIVE(ncclAllReduce, (const void *send, void *recv, size_t count, int type, int op, ncclComm_t comm, CUstream stream), op, 0)
COLLECTIVE(ncclReduceScatter, (const void *send, void *recv, size_t count, int type, int op, ncclComm_t comm, CUstream stream), op, 0)
COLLECTIVE(ncclReduce, (const void *send, void *recv, size_t count, int type, int op, int root, ncclComm_t comm, CUstream stream),
	   op, root)
COLLECTIVE(ncclBroadcast, (const void *send, void *recv, size_t count, int type, int root, ncclComm_t comm, CUstream stream), 0, root)
COLLECTIVE(ncclAllGather, (const void *send, void *recv, size_t count, int type, ncclComm_t comm, CUstream stream), 0, 0)

PUBLIC ncclResult_t ncclBcast(void *buffer, size_t count, int type, int root, ncclComm_t comm, CUstream stream);
ncclResult_t ncclBcast(void *buffer, size_t count, int type, int root, ncclComm_t comm, CUstream stream)
{
	return collective(buffer, buffer, count, type, 0, root, comm, stream);
}
