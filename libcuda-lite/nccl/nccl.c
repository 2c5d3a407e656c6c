/* SPDX-License-Identifier: MIT */
/*
 * libnccl.so.2: the calls. Arguments are checked here, groups gathered; comm.h says how the rest goes. Written over the public driver API
 * alone, so that it works wherever libcuda.so.1 does; the ABI is NCCL 2.28's.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm.h"

VGPU_TLS_HERE(struct nccl_thread, vgpu_nccl_self);

const uint8_t nccl_bytes[ncclNumTypes] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };

/* ---- results ---- */

ncclResult_t nccl_fail(ncclResult_t e, const char *why)
{
	vgpu_nccl_self_at()->last = why;
	return e;
}

void nccl_say(const char *fmt, ...)
{
	char line[320] = "vgpu libnccl: ";
	size_t n = strlen(line);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	va_end(ap);
	n = strlen(line);
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, n) < 0)
		return;
}

ncclResult_t nccl_cuda(CUresult r)
{
	const char *name = "a CUDA error";

	if (r == CUDA_SUCCESS)
		return ncclSuccess;
	cuGetErrorName(r, &name);
	return nccl_fail(ncclUnhandledCudaError, name);
}

PUBLIC ncclResult_t ncclGetVersion(int *version)
{
	if (!version)
		return fail(ncclInvalidArgument, "version is NULL");
	*version = NCCL_VERSION_CODE;
	return ncclSuccess;
}

PUBLIC const char *ncclGetErrorString(ncclResult_t e)
{
	static const char *const text[] = { "no error", "unhandled cuda error", "unhandled system error", "internal error", "invalid argument",
					    "invalid usage", "remote process exited or there was a network error", "NCCL operation in progress" };

	return (unsigned)e < sizeof(text) / sizeof(text[0]) ? text[e] : "unknown result code";
}

PUBLIC const char *ncclGetLastError(ncclComm_t comm)
{
	if (comm && comm->magic == IS_ALIVE && comm->why[0])
		return comm->why;
	return vgpu_nccl_self_at()->last ? vgpu_nccl_self_at()->last : "";
}

ncclResult_t nccl_alive(const struct ncclComm *c)
{
	return c && c->magic == IS_ALIVE ? ncclSuccess : fail(ncclInvalidArgument, "not a communicator");
}

ncclResult_t nccl_usable(struct ncclComm *c)
{
	ncclResult_t e;

	NC(nccl_alive(c));
	e = __atomic_load_n(&c->async, __ATOMIC_ACQUIRE);
	if (e == ncclInProgress)
		return fail(ncclInvalidArgument, "the communicator's last call is still in progress");
	if (e != ncclSuccess)
		return fail(e, "the communicator has failed");
	return c->ended ? fail(ncclInvalidUsage, "the communicator is finalized") : ncclSuccess;
}

/* ---- groups ---- */

ncclResult_t nccl_noted(ncclResult_t e)
{
	struct group *g = vgpu_nccl_self_at()->group;

	if (e != ncclSuccess && e != ncclInProgress && g && !g->error)
		g->error = e;
	return e;
}

PUBLIC ncclResult_t ncclGroupStart(void)
{
	struct nccl_thread *t = vgpu_nccl_self_at();

	if (!t->group) {
		t->group = calloc(1, sizeof(*t->group));
		if (!t->group)
			return fail(ncclSystemError, "no memory");
		t->group->ops_end = &t->group->ops;
		t->group->starts_end = &t->group->starts;
	}
	t->group->depth++;
	return ncclSuccess;
}

PUBLIC ncclResult_t ncclGroupEnd(void)
{
	struct nccl_thread *t = vgpu_nccl_self_at();
	struct group *g = t->group, all;
	ncclResult_t r = ncclSuccess, e;

	if (!g)
		return fail(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
	if (--g->depth)
		return ncclSuccess;
	all = *g;
	t->group = NULL;
	free(g);
	if (all.error) {
		for (struct op *o = all.ops, *n; o; o = n) {
			n = o->next;
			free(o);
		}
		make_drop(all.starts);
		return all.error;
	}
	if (all.starts)
		r = make_all(all.starts);
	e = all.ops ? issue_group(all.ops) : ncclSuccess;
	return e != ncclSuccess ? e : r;
}

PUBLIC ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info)
{
	(void)info;
	return fail(ncclInvalidUsage, "ncclGroupSimulateEnd: nothing is known about times here");
}

#define GETTER(fn, type, value) \
	PUBLIC ncclResult_t fn(const ncclComm_t comm, type *out) \
	{ \
		NC(nccl_alive(comm)); \
		if (!out) \
			return fail(ncclInvalidArgument, "no room for the answer"); \
		*out = (value); \
		return ncclSuccess; \
	}
GETTER(ncclCommCount, int, comm->ranks)
GETTER(ncclCommUserRank, int, comm->rank)
GETTER(ncclCommCuDevice, int, comm->device)
GETTER(ncclCommGetAsyncError, ncclResult_t, __atomic_load_n(&comm->async, __ATOMIC_ACQUIRE))

/* ---- memory ---- */

PUBLIC ncclResult_t ncclMemAlloc(void **ptr, size_t bytes)
{
	CUdeviceptr p = 0;

	if (!ptr)
		return fail(ncclInvalidArgument, "no room for the address");
	CU(cuMemAlloc(&p, bytes));
	*ptr = (void *)(uintptr_t)p;
	return ncclSuccess;
}

PUBLIC ncclResult_t ncclMemFree(void *ptr)
{
	return nccl_cuda(cuMemFree((CUdeviceptr)(uintptr_t)ptr));
}

/* Registered memory is sent as any other: the handle that says so is NULL, as documented for what cannot be. */
static ncclResult_t not_registered(struct ncclComm *c, const void *buffer, void **handle)
{
	NC(nccl_usable(c));
	if (!buffer || !handle)
		return fail(ncclInvalidArgument, "no buffer, or no room for the handle");
	*handle = NULL;
	return ncclSuccess;
}

PUBLIC ncclResult_t ncclCommRegister(const ncclComm_t comm, void *buffer, size_t bytes, void **handle)
{
	(void)bytes;
	return not_registered(comm, buffer, handle);
}

PUBLIC ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *buffer, size_t bytes, ncclWindow_t *window, int flags)
{
	(void)bytes;
	(void)flags;
	return not_registered(comm, buffer, (void **)window);
}

PUBLIC ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle)
{
	NC(nccl_alive(comm));
	return handle ? fail(ncclInvalidArgument, "nothing that was registered") : ncclSuccess;
}

PUBLIC ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window)
{
	return ncclCommDeregister(comm, window);
}

/* ---- operations ---- */

PUBLIC ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t type, ncclScalarResidence_t residence, ncclComm_t comm)
{
	NC(nccl_usable(comm));
	if (!op || !scalar || (unsigned)type >= ncclNumTypes || (unsigned)residence > ncclScalarHostImmediate)
		return fail(ncclInvalidArgument, "no scalar, or of an unknown type or place");
	for (unsigned i = 0; i < MAX_OPS; i++) {
		if (comm->own_op[i].used)
			continue;
		comm->own_op[i].used = true;
		comm->own_op[i].type = (uint8_t)type;
		comm->own_op[i].device = residence == ncclScalarDevice;
		comm->own_op[i].value = (uintptr_t)scalar;
		if (residence == ncclScalarHostImmediate) {
			comm->own_op[i].value = 0;
			memcpy(&comm->own_op[i].value, scalar, nccl_bytes[type]);
		}
		*op = (ncclRedOp_t)(ncclNumOps + (int)i);
		return ncclSuccess;
	}
	return fail(ncclInvalidUsage, "more reductions of its own than a communicator has room for");
}

PUBLIC ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm)
{
	unsigned i = (unsigned)op - ncclNumOps;

	NC(nccl_alive(comm));
	if ((unsigned)op < ncclNumOps || i >= MAX_OPS || !comm->own_op[i].used)
		return fail(ncclInvalidArgument, "no reduction of this communicator");
	comm->own_op[i].used = false;
	return ncclSuccess;
}

static ncclResult_t reduction(struct op *o, unsigned redop)
{
	unsigned i = redop - ncclNumOps;

	o->redop = (uint8_t)redop;
	if (redop < ncclNumOps)
		return ncclSuccess;
	if (i >= MAX_OPS || !o->comm->own_op[i].used || o->comm->own_op[i].type != o->type)
		return fail(ncclInvalidArgument, "no reduction of this communicator and type");
	o->redop = ncclSum;
	o->scaled = true;
	o->scale = o->comm->own_op[i].value;
	if (o->comm->own_op[i].device)
		o->scale_at = o->scale;
	return ncclSuccess;
}

static ncclResult_t operation(int kind, const void *send, void *recv, size_t count, ncclDataType_t type, unsigned redop, int root,
			      struct ncclComm *c, CUstream stream)
{
	struct op o = { .kind = (uint8_t)kind, .send = send, .recv = recv, .count = count, .type = (uint8_t)type, .root = root, .comm = c,
			.stream = stream }, *p;
	struct group *g = vgpu_nccl_self_at()->group;
	size_t n;
	bool sends, takes;

	NC(nccl_usable(c));
	if ((unsigned)type >= ncclNumTypes || root < 0 || root >= c->ranks)
		return fail(ncclInvalidArgument, "an unknown type, or a rank that is none");
	NC(reduction(&o, redop));
	if (__builtin_mul_overflow(count, (size_t)nccl_bytes[type] * (size_t)c->ranks, &n) || n >> 60)
		return fail(ncclInvalidArgument, "count is too large");
	sends = kind == BROADCAST || kind == SCATTER ? c->rank == root : kind != RECV;
	takes = kind == REDUCE || kind == GATHER ? c->rank == root : kind != SEND;
	if (!count && kind < SEND)
		return ncclSuccess;
	if (count && ((sends && !send) || (takes && !recv && (kind != BROADCAST || c->rank != root))))
		return fail(ncclInvalidArgument, "a buffer is NULL");
	p = malloc(sizeof(*p));
	if (!p)
		return fail(ncclSystemError, "no memory");
	*p = o;
	if (g) {
		*g->ops_end = p;
		g->ops_end = &p->next;
		return ncclSuccess;
	}
	return issue_group(p);
}

PUBLIC ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, CUstream stream)
{
	return nccl_noted(operation(ALL_REDUCE, send, recv, count, type, (unsigned)op, 0, comm, stream));
}

PUBLIC ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, CUstream stream)
{
	return nccl_noted(operation(REDUCE_SCATTER, send, recv, count, type, (unsigned)op, 0, comm, stream));
}

PUBLIC ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t comm,
			       CUstream stream)
{
	return nccl_noted(operation(REDUCE, send, recv, count, type, (unsigned)op, root, comm, stream));
}

PUBLIC ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm, CUstream stream)
{
	return nccl_noted(operation(BROADCAST, send, recv, count, type, 0, root, comm, stream));
}

PUBLIC ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm, CUstream stream)
{
	return nccl_noted(operation(BROADCAST, buffer, buffer, count, type, 0, root, comm, stream));
}

PUBLIC ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm, CUstream stream)
{
	return nccl_noted(operation(ALL_GATHER, send, recv, count, type, 0, 0, comm, stream));
}

PUBLIC ncclResult_t ncclAlltoAll(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm, CUstream stream)
{
	return nccl_noted(operation(ALL_TO_ALL, send, recv, count, type, 0, 0, comm, stream));
}

PUBLIC ncclResult_t ncclGather(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm, CUstream stream)
{
	return nccl_noted(operation(GATHER, send, recv, count, type, 0, root, comm, stream));
}

PUBLIC ncclResult_t ncclScatter(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm, CUstream stream)
{
	return nccl_noted(operation(SCATTER, send, recv, count, type, 0, root, comm, stream));
}

PUBLIC ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream)
{
	return nccl_noted(operation(SEND, send, NULL, count, type, 0, peer, comm, stream));
}

PUBLIC ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream)
{
	return nccl_noted(operation(RECV, NULL, recv, count, type, 0, peer, comm, stream));
}
