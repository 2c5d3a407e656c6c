/* SPDX-License-Identifier: MIT */
/*
 * Operations as commands of a stream. Each goes in rounds: in one, a rank sends at most a slot to each rank that it has something for, then
 * takes what the others sent. All ranks go through the same rounds, so none waits for one that waits for it.
 *
 * Sums that all are to have: where everything fits in a slot, all send it to all and each adds in the order of the ranks; else rank r adds
 * piece r of each round and sends the result to all (the slots of a round are its two hops').
 */
#include "comm.h"

#define ONE_HOP_BYTES 32768u

__asm__(".section .rodata\nvgpu_nccl_reduce:\n\t.incbin \"libcuda-lite/nccl/kernels/reduce.ptx\"\n\t.byte 0\n.previous\n");
extern const char vgpu_nccl_reduce[] __attribute__((visibility("hidden")));

static const char *const kernels[ncclNumTypes] = { "reduce_s8", "reduce_u8", "reduce_s32", "reduce_u32", "reduce_s64", "reduce_u64",
	"reduce_f16", "reduce_f32", "reduce_f64", "reduce_b16", "reduce_e4m3", "reduce_e5m2" };

/* The kernels, for all contexts: loaded once and never unloaded. */
static ncclResult_t kernel_of(int type, CUfunction *f)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static CUkernel known[ncclNumTypes];
	static CUlibrary library;
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&lock);
	if (!library)
		r = cuLibraryLoadData(&library, vgpu_nccl_reduce, NULL, NULL, 0, NULL, NULL, 0);
	if (r == CUDA_SUCCESS && !known[type])
		r = cuLibraryGetKernel(&known[type], library, kernels[type]);
	*f = (CUfunction)known[type];
	pthread_mutex_unlock(&lock);
	return nccl_cuda(r);
}

static ncclResult_t launch(const struct op *o, CUstream s, struct reduce_call *q)
{
	uint64_t blocks = (q->count + REDUCE_THREADS * 4 - 1) / (REDUCE_THREADS * 4);
	void *args[] = { q };
	CUfunction f;

	q->scale_at = o->scale_at;
	q->scale = o->scale;
	NC(kernel_of(o->type, &f));
	return nccl_cuda(cuLaunchKernel(f, blocks < 128 ? (unsigned)blocks : 128, 1, 1, REDUCE_THREADS, 1, 1, 0, s, args, NULL));
}

/* dst = what all of src give; src[rank] is the only one that is not scaled yet */
static ncclResult_t reduce(const struct op *o, CUstream s, CUdeviceptr dst, const CUdeviceptr *src, uint64_t count)
{
	static const uint8_t ops[] = { REDUCE_SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN, REDUCE_SUM };
	int n = o->comm->ranks, me = o->comm->rank;
	struct reduce_call q = { .dst = dst, .count = count, .own = REDUCE_NOBODY, .op = ops[o->redop] };

	if (n <= REDUCE_SOURCES) {
		for (int r = 0; r < n; r++)
			q.src[r] = src[r];
		q.sources = (unsigned)n;
		q.own = o->scaled ? (unsigned)me : REDUCE_NOBODY;
		q.divide = o->redop == ncclAvg ? (unsigned)n : 0;
		return launch(o, s, &q);
	}
	/* several times; its own first, which dst may be */
	q.src[q.sources++] = src[me];
	q.own = o->scaled ? 0 : REDUCE_NOBODY;
	for (int r = 0; r < n; r++) {
		if (r != me)
			q.src[q.sources++] = src[r];
		if (q.sources < REDUCE_SOURCES && r < n - 1)
			continue;
		q.divide = r == n - 1 && o->redop == ncclAvg ? (unsigned)n : 0;
		NC(launch(o, s, &q));
		q.src[0] = dst;
		q.sources = 1;
		q.own = REDUCE_NOBODY;
	}
	return ncclSuccess;
}

static ncclResult_t copy(CUstream s, CUdeviceptr dst, const void *src, uint64_t bytes)
{
	return dst == (uintptr_t)src || !bytes ? ncclSuccess : nccl_cuda(cuMemcpyAsync(dst, (CUdeviceptr)(uintptr_t)src, bytes, s));
}

static ncclResult_t post(const struct op *o, CUstream s, int to, unsigned slot, const char *src, uint64_t bytes)
{
	const struct peer *p = &o->comm->peer[to];
	CUdeviceptr word = mail_word(p->out, slot), data = mail_data(o->comm, p->out, slot);

	if (!bytes)
		return ncclSuccess;
	CU(cuStreamWaitValue32(s, word, EMPTY, CU_STREAM_WAIT_VALUE_AND));
	if (o->scaled) {
		struct reduce_call q = { .dst = data, .count = bytes / nccl_bytes[o->type], .sources = 1, .src = { (uintptr_t)src } };

		NC(launch(o, s, &q));
	} else {
		NC(copy(s, data, src, bytes));
	}
	CU(cuStreamWriteValue32(s, word, p->via == VIA_NET ? FULL_OF(bytes) : FULL, 0));
	return ncclSuccess;
}

static ncclResult_t await(const struct op *o, CUstream s, int from, unsigned slot)
{
	return nccl_cuda(cuStreamWaitValue32(s, mail_word(o->comm->peer[from].in, slot), FULL, CU_STREAM_WAIT_VALUE_AND));
}

static ncclResult_t release(const struct op *o, CUstream s, int from, unsigned slot)
{
	return nccl_cuda(cuStreamWriteValue32(s, mail_word(o->comm->peer[from].in, slot), EMPTY, 0));
}

static ncclResult_t take(const struct op *o, CUstream s, int from, unsigned slot, char *dst, uint64_t bytes)
{
	if (!bytes)
		return ncclSuccess;
	NC(await(o, s, from, slot));
	NC(copy(s, (uintptr_t)dst, (void *)(uintptr_t)mail_data(o->comm, o->comm->peer[from].in, slot), bytes));
	return release(o, s, from, slot);
}

/* All others have sent, or will, as much as mine has: dst is what all give. */
static ncclResult_t gather_and_reduce(const struct op *o, CUstream s, unsigned slot, char *dst, const char *mine, uint64_t count)
{
	struct ncclComm *c = o->comm;
	CUdeviceptr src[MAX_RANKS];

	if (!count)
		return ncclSuccess;
	for (int r = 0; r < c->ranks; r++) {
		src[r] = r == c->rank ? (uintptr_t)mine : mail_data(c, c->peer[r].in, slot);
		if (r != c->rank)
			NC(await(o, s, r, slot));
	}
	NC(reduce(o, s, (uintptr_t)dst, src, count));
	for (int r = 0; r < c->ranks; r++)
		if (r != c->rank)
			NC(release(o, s, r, slot));
	return ncclSuccess;
}

/* The others, beginning with the next one, so that not all send to the same. */
#define EACH_OTHER(c, r) int i_ = 1, r = ((c)->rank + 1) % (c)->ranks; i_ < (c)->ranks; i_++, r = ((c)->rank + i_) % (c)->ranks

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

void plan_begin(struct op *o)
{
	uint64_t size = nccl_bytes[o->type], bytes = o->count * size, slot = o->comm->slot_bytes;
	unsigned others = (unsigned)o->comm->ranks - 1;

	o->round = 0;
	o->rounds = (bytes + slot - 1) / slot;
	o->cost = 6 * others + 3;
	if (o->kind == SEND || o->kind == RECV)
		o->cost = 3;
	if (o->kind == ALL_REDUCE) {
		o->two_hops = bytes > ONE_HOP_BYTES || o->comm->ranks > REDUCE_SOURCES;
		if (o->two_hops) {
			o->rounds = (o->count + slot / size * (others + 1) - 1) / (slot / size * (others + 1));
			o->cost = 12 * others + 3;
		}
	}
	if (o->comm->ranks == 1 && o->rounds)
		o->rounds = 1;
}

static ncclResult_t all_reduce(const struct op *o, CUstream s)
{
	struct ncclComm *c = o->comm;
	uint64_t size = nccl_bytes[o->type], most = c->slot_bytes / size * (uint64_t)c->ranks, from = o->round * most;
	uint64_t n = least(most, o->count - from), piece = (n + (uint64_t)c->ranks - 1) / (uint64_t)c->ranks;
	const char *send = o->send + from * size;
	char *recv = o->recv + from * size;
	struct op sum = *o;

#define AT(r) least((uint64_t)(r) * piece, n)
#define LENGTH(r) (AT((r) + 1) - AT(r))
	if (!o->two_hops) {
		for (EACH_OTHER(c, r))
			NC(post(o, s, r, 0, o->send, o->count * size));
		return gather_and_reduce(o, s, 0, o->recv, o->send, o->count);
	}
	for (EACH_OTHER(c, r))
		NC(post(o, s, r, 0, send + AT(r) * size, LENGTH(r) * size));
	NC(gather_and_reduce(o, s, 0, recv + AT(c->rank) * size, send + AT(c->rank) * size, LENGTH(c->rank)));
	sum.scaled = false;
	for (EACH_OTHER(c, r))
		NC(post(&sum, s, r, 1, recv + AT(c->rank) * size, LENGTH(c->rank) * size));
	for (EACH_OTHER(c, r))
		NC(take(&sum, s, r, 1, recv + AT(r) * size, LENGTH(r) * size));
	return ncclSuccess;
}

/* What a rank has for itself: with the first round. */
static ncclResult_t local(const struct op *o, CUstream s, uint64_t bytes)
{
	uint64_t mine = (uint64_t)o->comm->rank * bytes;
	bool root = o->comm->rank == o->root;

	switch (o->kind) {
	case BROADCAST:
		return root && o->recv ? copy(s, (uintptr_t)o->recv, o->send, bytes) : ncclSuccess;
	case ALL_GATHER:
		return copy(s, (uintptr_t)o->recv + mine, o->send, bytes);
	case ALL_TO_ALL:
		return copy(s, (uintptr_t)o->recv + mine, o->send + mine, bytes);
	case GATHER:
		return root ? copy(s, (uintptr_t)o->recv + mine, o->send, bytes) : ncclSuccess;
	case SCATTER:
		return root ? copy(s, (uintptr_t)o->recv, o->send + mine, bytes) : ncclSuccess;
	}
	return ncclSuccess;
}

static ncclResult_t alone(const struct op *o, CUstream s, uint64_t bytes)
{
	CUdeviceptr mine = (uintptr_t)o->send;

	if (o->kind > REDUCE)
		return local(o, s, bytes);
	return o->scaled ? reduce(o, s, (uintptr_t)o->recv, &mine, o->count) : copy(s, (uintptr_t)o->recv, o->send, bytes);
}

ncclResult_t plan_round(struct op *o, CUstream s)
{
	struct ncclComm *c = o->comm;
	uint64_t size = nccl_bytes[o->type], bytes = o->count * size, at = o->round * c->slot_bytes;
	uint64_t n = least(c->slot_bytes, bytes - at);
	unsigned slot = (unsigned)(o->round % SLOTS);
	bool root = c->rank == o->root;

	if (c->ranks == 1) {
		o->round++;
		return alone(o, s, bytes);
	}
	if (!o->round)
		NC(local(o, s, bytes));
	switch (o->kind) {
	case ALL_REDUCE:
		NC(all_reduce(o, s));
		break;
	case REDUCE_SCATTER:
		for (EACH_OTHER(c, r))
			NC(post(o, s, r, slot, o->send + (uint64_t)r * bytes + at, n));
		NC(gather_and_reduce(o, s, slot, o->recv + at, o->send + (uint64_t)c->rank * bytes + at, n / size));
		break;
	case REDUCE:
		NC(root ? gather_and_reduce(o, s, slot, o->recv + at, o->send + at, n / size) : post(o, s, o->root, slot, o->send + at, n));
		break;
	case BROADCAST:
	case SCATTER:
		for (EACH_OTHER(c, r))
			if (root)
				NC(post(o, s, r, slot, o->send + (o->kind == SCATTER ? (uint64_t)r * bytes : 0) + at, n));
		if (!root)
			NC(take(o, s, o->root, slot, o->recv + at, n));
		break;
	case GATHER:
		for (EACH_OTHER(c, r))
			if (root)
				NC(take(o, s, r, slot, o->recv + (uint64_t)r * bytes + at, n));
		if (!root)
			NC(post(o, s, o->root, slot, o->send + at, n));
		break;
	case ALL_GATHER:
	case ALL_TO_ALL:
		for (EACH_OTHER(c, r))
			NC(post(o, s, r, slot, o->send + (o->kind == ALL_TO_ALL ? (uint64_t)r * bytes : 0) + at, n));
		for (EACH_OTHER(c, r))
			NC(take(o, s, r, slot, o->recv + (uint64_t)r * bytes + at, n));
		break;
	case SEND:
		NC(post(o, s, o->root, slot, o->send + at, n));
		break;
	case RECV:
		NC(take(o, s, o->root, slot, o->recv + at, n));
		break;
	}
	o->round++;
	return ncclSuccess;
}
