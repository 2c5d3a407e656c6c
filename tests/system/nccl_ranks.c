/* SPDX-License-Identifier: MIT */
/*
 * Ranks of NCCL, each a process (or a thread): what nccl-tests checks, of our own making. Values are small whole numbers, exact in every
 * type, and what is to come is computed here rank by rank.
 *
 *   nccl_ranks RANKS SCENARIO [AGENT...]       prints "ok" or what is wrong. AGENT: sockets, rank r uses the one r % their number; with
 *                                              hosts in front of the scenario each rank is on a host of its own (NCCL_HOSTID)
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <nccl.h>

#define MOST 3000001                    /* elements: some rounds, handed over to the keeper */

static struct shared {
	ncclUniqueId id, second;
	int ready, go, stage[16], bad;
} *sh;
static __thread int me, ranks;
static __thread CUcontext ctx;
static __thread CUstream st;
static __thread ncclComm_t comm;
static __thread CUdeviceptr in, out;
static __thread char *host;

static void die(const char *file, int line, const char *what, const char *why)
{
	printf("rank %d: %s:%d: %s: %s\n", me, file, line, what, why);
	fflush(stdout);
	_exit(1);
}
#define CK(call) do { CUresult r_ = (call); const char *n_ = "?"; \
	if (r_) { cuGetErrorName(r_, &n_); die(__FILE__, __LINE__, #call, n_); } } while (0)
#define NC(call) do { ncclResult_t r_ = (call); if (r_) die(__FILE__, __LINE__, #call, ncclGetLastError(comm)); } while (0)
#define WANT(cond) do { if (!(cond)) die(__FILE__, __LINE__, #cond, "not so"); } while (0)
#define GIVES(want, call) do { int r_ = (call); if (r_ != (want)) { char t_[96]; \
	snprintf(t_, sizeof t_, "gave %d, want %d (%.48s)", r_, (int)(want), ncclGetLastError(comm)); die(__FILE__, __LINE__, #call, t_); } } while (0)

static void until(int *p, int v)
{
	while (__atomic_load_n(p, __ATOMIC_ACQUIRE) < v)
		usleep(500);
}
static void all_at(int n)
{
	__atomic_add_fetch(&sh->stage[n], 1, __ATOMIC_ACQ_REL);
	until(&sh->stage[n], ranks);
}

/* ---- numbers of every type ---- */

static const size_t size_of[] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };

static double eight(unsigned v, int m, int bias)
{
	int e = (int)(v & 0x7f) >> m, f = (int)v & ((1 << m) - 1);
	double x = e ? ldexp((1 << m) + f, e - bias - m) : ldexp(f, 1 - bias - m);

	return v & 0x80 ? -x : x;
}
static double half(unsigned v)
{
	int e = v >> 10 & 31, f = v & 1023;
	double x = e ? ldexp(1024 + f, e - 25) : ldexp(f, -24);

	return v & 0x8000 ? -x : x;
}
static double get(const void *p, size_t i, int type)
{
	float f;

	switch (type) {
	case 0: return ((const int8_t *)p)[i];
	case 1: return ((const uint8_t *)p)[i];
	case 2: return ((const int32_t *)p)[i];
	case 3: return ((const uint32_t *)p)[i];
	case 4: return (double)((const int64_t *)p)[i];
	case 5: return (double)((const uint64_t *)p)[i];
	case 6: return half(((const uint16_t *)p)[i]);
	case 7: return ((const float *)p)[i];
	case 8: return ((const double *)p)[i];
	case 9: memcpy(&f, &(uint32_t){ (uint32_t)((const uint16_t *)p)[i] << 16 }, 4); return f;
	case 10: return eight(((const uint8_t *)p)[i], 3, 7);
	}
	return eight(((const uint8_t *)p)[i], 2, 15);
}
/* v is a whole number that the type has */
static void put(void *p, size_t i, int type, double v)
{
	float f = (float)v;
	uint32_t u;

	memcpy(&u, &f, 4);
	switch (type) {
	case 0: ((int8_t *)p)[i] = (int8_t)v; return;
	case 1: ((uint8_t *)p)[i] = (uint8_t)v; return;
	case 2: ((int32_t *)p)[i] = (int32_t)v; return;
	case 3: ((uint32_t *)p)[i] = (uint32_t)v; return;
	case 4: ((int64_t *)p)[i] = (int64_t)v; return;
	case 5: ((uint64_t *)p)[i] = (uint64_t)v; return;
	case 6: ((uint16_t *)p)[i] = (uint16_t)(v ? (u >> 16 & 0x8000) | (((u >> 23 & 255) - 112) << 10) | (u >> 13 & 1023) : 0); return;
	case 7: ((float *)p)[i] = f; return;
	case 8: ((double *)p)[i] = v; return;
	case 9: ((uint16_t *)p)[i] = (uint16_t)(u >> 16); return;
	case 10: ((uint8_t *)p)[i] = (uint8_t)(v ? (u >> 24 & 0x80) | (((u >> 23 & 255) - 120) << 3) | (u >> 20 & 7) : 0); return;
	}
	((uint8_t *)p)[i] = (uint8_t)(v ? (u >> 24 & 0x80) | (((u >> 23 & 255) - 112) << 2) | (u >> 21 & 3) : 0);
}
/* 1 or 2, seldom 2, so that products of eight ranks and sums fit in eight bits; another seed, other numbers */
static double value(int rank, size_t i, int seed)
{
	unsigned h = (unsigned)(i * 2654435761u) ^ (unsigned)(rank * 40503 + seed * 9973);

	h ^= h >> 13;
	h *= 0x5bd1e995;
	return 1 + ((h >> 15 & 3) == 3);
}
static bool signs(int type) { return type != 1 && type != 3 && type != 5; }
static double signed_value(int rank, size_t i, int seed, int type)
{
	double v = value(rank, i, seed);

	return signs(type) && (i + (size_t)rank) % 3 == 0 ? -v : v;
}

static void fill(CUdeviceptr at, size_t n, int type, int rank, int seed)
{
	for (size_t i = 0; i < n; i++)
		put(host, i, type, signed_value(rank, i, seed, type));
	CK(cuMemcpyHtoDAsync(at, host, n * size_of[type], st));
	CK(cuStreamSynchronize(st));
}

/* what ranks make of element i; scale: of rank r, or 0 */
static double reduced(int op, int type, size_t i, int seed, bool scaled)
{
	double v = 0;

	for (int r = 0; r < ranks; r++) {
		double x = signed_value(r, i, seed, type) * (scaled ? r % 2 + 1 : 1);

		v = !r ? x : op == ncclProd ? v * x : op == ncclMax ? (x > v ? x : v) : op == ncclMin ? (x < v ? x : v) : v + x;
	}
	if (op == ncclAvg) {
		v /= ranks;
		if (type < 6)
			v = trunc(v);
	}
	return v;
}

/* reduced() of elements from 0 on: one input is looked at after several collectives, and what is to come of it is computed once */
static const double *all_reduced(int op, int type, size_t n, int seed, bool scaled)
{
	static __thread struct { int op, type, seed, ranks; bool scaled; } of;
	static __thread double *v;
	static __thread size_t have, room;

	if (of.op != op || of.type != type || of.seed != seed || of.ranks != ranks || of.scaled != scaled)
		have = 0;
	of.op = op, of.type = type, of.seed = seed, of.ranks = ranks, of.scaled = scaled;
	if (n > room) {
		room = n;
		v = realloc(v, room * sizeof *v);
		if (!v)
			abort();
	}
	for (; have < n; have++)
		v[have] = reduced(op, type, have, seed, scaled);
	return v;
}

static double tolerance(int type, double v)
{
	static const double ulp[] = { 0, 0, 0, 0, 0, 0, 1. / 1024, 1e-6, 1e-12, 1. / 128, 1. / 8, 1. / 4 };

	return fabs(v) * ulp[type];
}

/* out: that element `from + i` of the reduction, or of another rank's values */
static void look(const char *what, CUdeviceptr at, size_t n, int type, int op, int source, size_t from, int seed, bool scaled)
{
	const double *of_all = op < 0 ? NULL : all_reduced(op, type, from + n, seed, scaled);

	CK(cuMemcpyDtoHAsync(host, at, n * size_of[type], st));
	CK(cuStreamSynchronize(st));
	for (size_t i = 0; i < n; i++) {
		double want = op < 0 ? signed_value(source, from + i, seed, type) : of_all[from + i], got = get(host, i, type);

		if (fabs(got - want) > tolerance(type, want)) {
			printf("rank %d of %d: %s, type %d, op %d, %zu elements: element %zu is %g, want %g\n", me, ranks, what, type, op, n, i, got,
			       want);
			fflush(stdout);
			_exit(1);
		}
	}
}

/* ---- the scenarios ---- */

/* One size and type by every collective, in place and not. */
static void collectives(size_t n, int type, int op, int seed)
{
	size_t b = size_of[type], each = n / (size_t)ranks, whole = each * (size_t)ranks;
	int root = (int)((n + (size_t)seed) % (size_t)ranks);
	void *i = (void *)in, *o = (void *)out;
	CUdeviceptr piece = out + (CUdeviceptr)me * each * b;

	fill(in, n, type, me, seed);
	CK(cuMemsetD8Async(out, 0x55, n * b, st));
	NC(ncclAllReduce(i, o, n, type, op, comm, st));
	look("AllReduce", out, n, type, op, 0, 0, seed, false);
	look("what AllReduce read", in, n, type, -1, me, 0, seed, false);
	fill(out, n, type, me, seed);
	NC(ncclAllReduce(o, o, n, type, op, comm, st));
	look("AllReduce in place", out, n, type, op, 0, 0, seed, false);
	CK(cuMemsetD8Async(out, 0x55, n * b, st));
	NC(ncclReduce(i, me == root ? o : NULL, n, type, op, root, comm, st));
	if (me == root)
		look("Reduce", out, n, type, op, 0, 0, seed, false);
	NC(ncclReduceScatter(i, o, each, type, op, comm, st));
	look("ReduceScatter", out, each, type, op, 0, (size_t)me * each, seed, false);
	fill(out, whole, type, me, seed);
	NC(ncclReduceScatter(o, (void *)piece, each, type, op, comm, st));
	look("ReduceScatter in place", piece, each, type, op, 0, (size_t)me * each, seed, false);
	if (op)
		return;
	NC(ncclBroadcast(me == root ? i : NULL, o, n, type, root, comm, st));
	look("Broadcast", out, n, type, -1, root, 0, seed, false);
	fill(out, n, type, me, seed);
	NC(ncclBcast(o, n, type, root, comm, st));
	look("Bcast", out, n, type, -1, root, 0, seed, false);
	CK(cuMemsetD8Async(out, 0x55, n * b, st));
	NC(ncclAllGather(i, o, each, type, comm, st));
	for (int r = 0; r < ranks; r++)
		look("AllGather", out + (CUdeviceptr)r * each * b, each, type, -1, r, 0, seed, false);
	CK(cuMemsetD8Async(out, 0x55, n * b, st));
	NC(ncclAlltoAll(i, o, each, type, comm, st));
	for (int r = 0; r < ranks; r++)
		look("AlltoAll", out + (CUdeviceptr)r * each * b, each, type, -1, r, (size_t)me * each, seed, false);
	CK(cuMemsetD8Async(out, 0x55, n * b, st));
	NC(ncclGather(i, me == root ? o : NULL, each, type, root, comm, st));
	for (int r = 0; me == root && r < ranks; r++)
		look("Gather", out + (CUdeviceptr)r * each * b, each, type, -1, r, 0, seed, false);
	CK(cuMemsetD8Async(out, 0x55, n * b, st));
	NC(ncclScatter(me == root ? i : NULL, o, each, type, root, comm, st));
	look("Scatter", out, each, type, -1, root, (size_t)me * each, seed, false);
}

static void types(void)
{
	for (int type = 0; type < ncclNumTypes; type++)
		for (int op = 0; op < ncclNumOps; op++)
			collectives(type % 2 ? 5003 : 1, type, op, type + op);
	collectives(100003, ncclFloat32, ncclSum, 1);
	collectives(700001, ncclFloat16, ncclAvg, 2);
	collectives(400009, ncclInt64, ncclSum, 3);
}

static void large(void)
{
	collectives(MOST, ncclFloat32, ncclSum, 4);
}

/* Each rank's values times its own number first, which lies here or on the device. */
static void scaled(void)
{
	for (int type = 0; type < ncclNumTypes; type++) {
		char one[8] = { 0 };
		CUdeviceptr at;
		ncclRedOp_t op;

		put(one, 0, type, me % 2 + 1);
		CK(cuMemAlloc(&at, 8));
		CK(cuMemcpyHtoD(at, one, 8));
		for (int device = 0; device < 2; device++) {
			NC(ncclRedOpCreatePreMulSum(&op, device ? (void *)at : one, type, device ? ncclScalarDevice : ncclScalarHostImmediate, comm));
			fill(in, 20000, type, me, type);
			for (size_t n = 20000; n; n /= 20) {
				NC(ncclAllReduce((void *)in, (void *)out, n, type, op, comm, st));
				look("PreMulSum", out, n, type, ncclSum, 0, 0, type, true);
			}
			GIVES(ncclInvalidArgument, ncclAllReduce((void *)in, (void *)out, 1, (type + 1) % ncclNumTypes, op, comm, st));
			NC(ncclRedOpDestroy(op, comm));
			GIVES(ncclInvalidArgument, ncclRedOpDestroy(op, comm));
			GIVES(ncclInvalidArgument, ncclAllReduce((void *)in, (void *)out, 1, type, op, comm, st));
		}
		CK(cuMemFree(at));
	}
}

/* Groups: everybody to everybody, of different lengths, itself too; two streams; a pair that only one direction fills. */
static void pairs(void)
{
	int type = ncclInt32, right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
	CUstream other;
	size_t at = 0;

	CK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	fill(in, 200000, type, me, 7);
	for (int turn = 0; turn < 3; turn++) {
		CK(cuMemsetD8Async(out, 0x55, 800000, st));
		CK(cuStreamSynchronize(st));
		NC(ncclGroupStart());
		at = 0;
		for (int r = 0; r < ranks; r++) {
			NC(ncclSend((void *)(in + (CUdeviceptr)me * 4), (size_t)(me + r) * 9001 % 90000, type, r, comm, r % 2 ? other : st));
			NC(ncclRecv((void *)(out + at * 4), (size_t)(me + r) * 9001 % 90000, type, r, comm, turn == 1 ? other : st));
			at += (size_t)(me + r) * 9001 % 90000;
		}
		NC(ncclGroupEnd());
		CK(cuStreamSynchronize(other));
		at = 0;
		for (int r = 0; r < ranks; r++) {
			look("a group", out + at * 4, (size_t)(me + r) * 9001 % 90000, type, -1, r, (size_t)r, 7, false);
			at += (size_t)(me + r) * 9001 % 90000;
		}
	}
	/* long ones around, and the receive in a group of its own behind others' */
	fill(in, MOST, type, me, 8);
	NC(ncclGroupStart());
	NC(ncclSend((void *)in, MOST, type, right, comm, st));
	NC(ncclRecv((void *)out, MOST, type, left, comm, other));
	NC(ncclGroupEnd());
	CK(cuStreamSynchronize(other));
	look("around", out, MOST, type, -1, left, 0, 8, false);
	if (me < 2 && ranks > 1) {
		for (int i = 0; i < 40; i++)
			if (me)
				NC(ncclRecv((void *)out, 70000, type, 0, comm, st));
			else
				NC(ncclSend((void *)(in + (CUdeviceptr)i * 4), 70000, type, 1, comm, st));
		CK(cuStreamSynchronize(st));
		if (me)
			look("one by one", out, 70000, type, -1, 0, 39, 8, false);
	}
	/* several collectives and sends in one group; nothing before its end */
	fill(in, 4000, type, me, 9);
	NC(ncclGroupStart());
	NC(ncclAllReduce((void *)in, (void *)out, 1000, type, ncclSum, comm, st));
	NC(ncclSend((void *)in, 1000, type, right, comm, st));
	NC(ncclRecv((void *)(out + 4000), 1000, type, left, comm, st));
	NC(ncclAllReduce((void *)in, (void *)(out + 8000), 1000, type, ncclMax, comm, other));
	NC(ncclGroupEnd());
	CK(cuStreamSynchronize(other));
	look("sum in a group", out, 1000, type, ncclSum, 0, 0, 9, false);
	look("send in a group", out + 4000, 1000, type, -1, left, 0, 9, false);
	look("maximum in a group", out + 8000, 1000, type, ncclMax, 0, 0, 9, false);
	/* two streams in turn, with nothing between them: operations of a communicator do not run into each other */
	fill(in, 30000, type, me, 10);
	fill(in + 400000, 30000, type, me, 11);
	for (int turn = 0; turn < 20; turn++) {
		NC(ncclAllReduce((void *)in, (void *)out, 30000, type, ncclSum, comm, st));
		NC(ncclAllReduce((void *)(in + 400000), (void *)(out + 400000), 30000, type, ncclMax, comm, other));
	}
	CK(cuStreamSynchronize(other));
	look("of two streams", out, 30000, type, ncclSum, 0, 0, 10, false);
	look("of two streams, the other", out + 400000, 30000, type, ncclMax, 0, 0, 11, false);
	CK(cuStreamDestroy(other));
}

/* Rank 0 has all its calls behind it, short and long, before any other rank begins: none of them may wait. */
static void asynchronous(void)
{
	fill(in, MOST, ncclFloat32, me, 5);
	if (me)
		until(&sh->go, 1);
	NC(ncclAllReduce((void *)in, (void *)out, 64, ncclFloat32, ncclSum, comm, st));
	NC(ncclAllReduce((void *)in, (void *)out, MOST, ncclFloat32, ncclSum, comm, st));
	NC(ncclGroupStart());
	NC(ncclSend((void *)in, MOST, ncclFloat32, (me + 1) % ranks, comm, st));
	NC(ncclRecv((void *)in, MOST, ncclFloat32, (me + ranks - 1) % ranks, comm, st));
	NC(ncclGroupEnd());
	for (int i = 0; i < 3; i++)
		NC(ncclBcast((void *)out, MOST, ncclFloat32, 0, comm, st));
	if (!me) {
		WANT(cuStreamQuery(st) == CUDA_ERROR_NOT_READY);
		__atomic_store_n(&sh->go, 1, __ATOMIC_RELEASE);
	}
	look("behind others", out, MOST, ncclFloat32, ncclSum, 0, 0, 5, false);
}

/* A captured operation runs again, with what is there then, short or long. */
static void graphs(void)
{
	const size_t lengths[] = { 1000, 900001 };

	for (int l = 0; l < 2; l++) {
		CUgraphExec exec;
		CUgraph g;

		CK(cuStreamBeginCapture(st, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
		NC(ncclAllReduce((void *)in, (void *)out, lengths[l], ncclFloat32, ncclSum, comm, st));
		NC(ncclGroupStart());
		NC(ncclSend((void *)out, 1000, ncclFloat32, (me + 1) % ranks, comm, st));
		NC(ncclRecv((void *)(out + 4000000), 1000, ncclFloat32, (me + ranks - 1) % ranks, comm, st));
		NC(ncclGroupEnd());
		CK(cuStreamEndCapture(st, &g));
		CK(cuGraphInstantiate(&exec, g, 0));
		for (int turn = 0; turn < 3; turn++) {
			fill(in, lengths[l], ncclFloat32, me, 20 + turn);
			CK(cuGraphLaunch(exec, st));
			look("a graph", out, lengths[l], ncclFloat32, ncclSum, 0, 0, 20 + turn, false);
			look("a graph's send", out + 4000000, 1000, ncclFloat32, ncclSum, 0, 0, 20 + turn, false);
			collectives(3000, ncclFloat32, ncclSum, turn);
		}
		CK(cuGraphExecDestroy(exec));
		CK(cuGraphDestroy(g));
	}
}

static void small_sum(ncclComm_t c, int members, double want)
{
	float v = (float)(me + 1);
	int n = -1;

	NC(ncclCommCount(c, &n));
	WANT(n == members);
	CK(cuMemcpyHtoD(in, &v, 4));
	NC(ncclAllReduce((void *)in, (void *)out, 1, ncclFloat32, ncclSum, c, st));
	CK(cuStreamSynchronize(st));
	CK(cuMemcpyDtoH(&v, out, 4));
	if (v != want)
		printf("rank %d: %g, want %g\n", me, v, want);
	WANT(v == want);
}

static void children(void)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclResult_t state = ncclInProgress;
	ncclComm_t half = NULL, back = NULL, none = (void *)1, fewer = NULL, third = NULL;
	int rank = -1, out_of[1] = { 0 }, odd = me % 2, n = odd ? ranks / 2 : (ranks + 1) / 2;

	NC(ncclCommSplit(comm, odd, me, &half, NULL));
	small_sum(half, n, odd ? n * (n + 1.0) : n * (double)n);
	NC(ncclCommSplit(comm, 3, -me, &back, NULL));
	NC(ncclCommUserRank(back, &rank));
	WANT(rank == ranks - 1 - me);
	small_sum(back, ranks, ranks * (ranks + 1) / 2.0);
	NC(ncclCommSplit(comm, me ? 1 : NCCL_SPLIT_NOCOLOR, 0, &none, NULL));
	WANT(!none == !me);
	if (none) {
		small_sum(none, ranks - 1, ranks * (ranks + 1) / 2.0 - 1);
		NC(ncclCommShrink(comm, out_of, 1, &fewer, NULL, NCCL_SHRINK_DEFAULT));
		NC(ncclCommUserRank(fewer, &rank));
		WANT(rank == me - 1);
		small_sum(fewer, ranks - 1, ranks * (ranks + 1) / 2.0 - 1);
		NC(ncclCommDestroy(fewer));
	} else {
		out_of[0] = me;
		GIVES(ncclInvalidArgument, ncclCommShrink(comm, out_of, 1, &fewer, NULL, NCCL_SHRINK_DEFAULT));
		out_of[0] = ranks;
		GIVES(ncclInvalidArgument, ncclCommShrink(comm, out_of, 1, &fewer, NULL, NCCL_SHRINK_DEFAULT));
		ncclCommShrink(half, NULL, 0, &fewer, NULL, 0);
	}
	NC(ncclCommDestroy(none));
	/* a child of a child */
	NC(ncclCommSplit(half, 0, me, &third, NULL));
	small_sum(third, n, odd ? n * (n + 1.0) : n * (double)n);
	NC(ncclCommDestroy(third));
	NC(ncclCommFinalize(half));
	GIVES(ncclInvalidUsage, ncclAllReduce((void *)in, (void *)out, 1, ncclFloat32, ncclSum, half, st));
	NC(ncclCommDestroy(half));
	NC(ncclCommDestroy(back));
	/* not blocking: made, used and finalized by polling */
	config.blocking = 0;
	if (!me) {
		NC(ncclGetUniqueId(&sh->second));
		__atomic_store_n(&sh->go, 1, __ATOMIC_RELEASE);
	}
	until(&sh->go, 1);
	if (me == 1)
		usleep(100000);
	GIVES(ncclInProgress, ncclCommInitRankConfig(&third, ranks, sh->second, me, &config));
	if (!me)
		GIVES(ncclInvalidArgument, ncclAllReduce((void *)in, (void *)out, 1, ncclFloat32, ncclSum, third, st));
	while (state == ncclInProgress)
		NC(ncclCommGetAsyncError(third, &state));
	WANT(state == ncclSuccess);
	small_sum(third, ranks, ranks * (ranks + 1) / 2.0);
	state = ncclCommFinalize(third);
	while (state == ncclInProgress)
		NC(ncclCommGetAsyncError(third, &state));
	WANT(state == ncclSuccess);
	NC(ncclCommDestroy(third));
	config.magic = 1;
	GIVES(ncclInvalidArgument, ncclCommInitRankConfig(&third, 1, sh->second, 0, &config));
}

static ncclResult_t async_of(ncclComm_t c)
{
	ncclResult_t state = ncclSuccess;

	for (int i = 0; i < 60000 && state == ncclSuccess; i++) {
		NC(ncclCommGetAsyncError(c, &state));
		usleep(1000);
	}
	return state;
}

/* The last rank is killed while all wait for it, some in a graph; those who are left go on as fewer. */
static void death(void)
{
	ncclComm_t fewer = NULL;
	int last[1] = { ranks - 1 };

	fill(in, MOST, ncclFloat32, me, 1);
	all_at(0);
	if (me == ranks - 1) {
		usleep(200000);
		raise(SIGKILL);
	}
	NC(ncclAllReduce((void *)in, (void *)out, 1000, ncclFloat32, ncclSum, comm, st));
	NC(ncclAllReduce((void *)in, (void *)out, MOST, ncclFloat32, ncclSum, comm, st));
	GIVES(ncclRemoteError, async_of(comm));
	CK(cuStreamSynchronize(st));
	GIVES(ncclRemoteError, ncclAllReduce((void *)in, (void *)out, 1, ncclFloat32, ncclSum, comm, st));
	if (ranks > 2) {
		NC(ncclCommShrink(comm, last, 1, &fewer, NULL, NCCL_SHRINK_ABORT));
		small_sum(fewer, ranks - 1, (ranks - 1) * ranks / 2.0);
		NC(ncclCommDestroy(fewer));
	}
	NC(ncclCommAbort(comm));
	comm = NULL;
}

/* One gives up: the others' work ends, with an error. */
static void given_up(void)
{
	fill(in, 1000, ncclFloat32, me, 1);
	if (!me) {
		NC(ncclAllReduce((void *)in, (void *)out, 1000, ncclFloat32, ncclSum, comm, st));
		NC(ncclCommAbort(comm));
		CK(cuStreamSynchronize(st));
	} else {
		if (me > 1) {   /* rank 0 may have been sooner */
			ncclResult_t r = ncclAllReduce((void *)in, (void *)out, 1000, ncclFloat32, ncclSum, comm, st);

			if (r != ncclRemoteError)
				NC(r);
		}
		GIVES(ncclRemoteError, async_of(comm));
		CK(cuStreamSynchronize(st));
		NC(ncclCommAbort(comm));
	}
	comm = NULL;
}

static void wrong(void)
{
	ncclComm_t c = NULL;
	ncclUniqueId junk = { "nothing" };

	GIVES(ncclInvalidArgument, ncclCommInitRank(&c, 2, junk, 0));
	GIVES(ncclInvalidArgument, ncclCommInitRank(&c, 2, sh->id, 2));
	GIVES(ncclInvalidArgument, ncclBroadcast((void *)in, (void *)out, 1, ncclFloat32, ranks, comm, st));
	GIVES(ncclInvalidArgument, ncclSend((void *)in, 1, ncclFloat32, -1, comm, st));
	GIVES(ncclInvalidArgument, ncclAllReduce(NULL, (void *)out, 1, ncclFloat32, ncclSum, comm, st));
	/* nothing of a group with an error is done, and the next one is whole */
	NC(ncclGroupStart());
	NC(ncclAllReduce((void *)in, (void *)out, 1, ncclFloat32, ncclSum, comm, st));
	GIVES(ncclInvalidArgument, ncclAllReduce((void *)in, (void *)out, 1, 99, ncclSum, comm, st));
	GIVES(ncclInvalidArgument, ncclGroupEnd());
	GIVES(ncclInvalidUsage, ncclGroupEnd());
	small_sum(comm, ranks, ranks * (ranks + 1) / 2.0);
	/* two of one rank */
	if (!me) {
		NC(ncclGetUniqueId(&sh->second));
		__atomic_store_n(&sh->go, 1, __ATOMIC_RELEASE);
	}
	until(&sh->go, 1);
	if (me < 2)
		GIVES(ncclInvalidUsage, ncclCommInitRank(&c, 2, sh->second, 0));
	WANT(!c);
}

static const struct { const char *name; void (*run)(void); bool alone; } scenarios[] = {
	{ "types", types, 0 }, { "large", large, 0 }, { "scaled", scaled, 0 }, { "pairs", pairs, 0 }, { "asynchronous", asynchronous, 0 },
	{ "graphs", graphs, 0 }, { "children", children, 0 }, { "death", death, 0 }, { "abort", given_up, 0 }, { "wrong", wrong, 0 },
};

static void rank(int r, int n, const char *scenario, CUcontext shared)
{
	CUdevice d;

	me = r;
	ranks = n;
	CK(cuInit(0));
	CK(cuDeviceGet(&d, 0));
	if (shared)
		ctx = shared;
	else
		CK(cuDevicePrimaryCtxRetain(&ctx, d));
	CK(cuCtxSetCurrent(ctx));
	CK(cuStreamCreate(&st, CU_STREAM_NON_BLOCKING));
	CK(cuMemAlloc(&in, MOST * 4));
	CK(cuMemAlloc(&out, MOST * 4));
	host = malloc(MOST * 8);
	if (!r) {
		NC(ncclGetUniqueId(&sh->id));
		__atomic_store_n(&sh->ready, 1, __ATOMIC_RELEASE);
	}
	until(&sh->ready, 1);
	NC(ncclCommInitRank(&comm, n, sh->id, r));
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (!strcmp(scenario, scenarios[i].name))
			scenarios[i].run();
	if (comm) {
		ncclResult_t state = ncclInternalError;

		NC(ncclCommGetAsyncError(comm, &state));
		WANT(state == ncclSuccess);
		NC(ncclCommDestroy(comm));
	}
	CK(cuMemFree(in));
	CK(cuMemFree(out));
	CK(cuStreamDestroy(st));
	free(host);
}

struct seat { int rank, ranks; const char *scenario; CUcontext ctx; };
static void *sit(void *arg)
{
	struct seat *s = arg;

	rank(s->rank, s->ranks, s->scenario, s->ctx);
	return NULL;
}

int main(int argc, char **argv)
{
	bool hosts = argc > 2 && !strcmp(argv[2], "hosts"), threads = argc > 2 && !strcmp(argv[2], "threads");
	int n = argc > 2 ? atoi(argv[1]) : 0, first = 3 + (hosts || threads), bad = 0, status;
	const char *scenario = argc >= first ? argv[first - 1] : "";

	if (n < 1 || n > 64 || argc < first)
		return fprintf(stderr, "usage: nccl_ranks RANKS [hosts|threads] SCENARIO [AGENT...]\n"), 2;
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (threads) {
		struct seat s[64];
		pthread_t t[64];
		CUdevice d;
		CUcontext c;

		CK(cuInit(0));
		CK(cuDeviceGet(&d, 0));
		CK(cuDevicePrimaryCtxRetain(&c, d));
		for (int r = 0; r < n; r++) {
			s[r] = (struct seat){ r, n, scenario, c };
			pthread_create(&t[r], NULL, sit, &s[r]);
		}
		for (int r = 0; r < n; r++)
			pthread_join(t[r], NULL);
		return puts("ok") < 0;
	}
	for (int r = 0; r < n; r++)
		if (!fork()) {
			char text[16];

			snprintf(text, sizeof(text), "host%d", r);
			if (hosts)
				setenv("NCCL_HOSTID", text, 1);
			if (argc > first)
				setenv("VGPU_AGENT", argv[first + r % (argc - first)], 1);
			rank(r, n, scenario, NULL);
			exit(0);
		}
	while (wait(&status) > 0)
		bad |= !(WIFEXITED(status) && !WEXITSTATUS(status)) && !(!strcmp(scenario, "death") && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	if (!bad)
		puts("ok");
	return bad;
}
