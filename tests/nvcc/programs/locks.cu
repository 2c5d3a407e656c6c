/* SPDX-License-Identifier: MIT */
/*
 * Threads that run by themselves (sm_70 and on) and wait for each other, as people write it: locks by each thread, in all shapes, lanes that
 * hand things to one another, queues that a warp's leader takes from, sums that whoever comes last finishes, look-back along a row of blocks, barriers
 * of the whole grid. None may hang, none may be wrong; what each leaves does not depend on who comes first. The argument makes it smaller.
 */
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/semaphore>

#include "check.h"

namespace cg = cooperative_groups;

enum { SLOTS = 64 };

/* Each thread adds to what a lock guards; x * 3 + 1 on its own counts how often, whoever came first. */
struct guarded { int lock, pad; unsigned sum, times; };

__device__ void add(guarded *g, unsigned v)
{
	volatile guarded *w = g;

	w->sum = w->sum + v;
	w->times = w->times + 1;
}

__global__ void lock_before(guarded *g, int each)       /* while (cas); do it; give it back */
{
	unsigned t = blockIdx.x * blockDim.x + threadIdx.x;

	for (int i = 0; i < each; i++) {
		guarded *m = &g[(t * 7 + i) % SLOTS];

		while (atomicCAS(&m->lock, 0, 1) != 0)
			;
		__threadfence();
		add(m, t + i);
		__threadfence();
		atomicExch(&m->lock, 0);
	}
}

__global__ void lock_within(guarded *g, int each)       /* the pre-Volta shape */
{
	unsigned t = blockIdx.x * blockDim.x + threadIdx.x;

	for (int i = 0; i < each; i++) {
		guarded *m = &g[(t * 7 + i) % SLOTS];

		for (bool done = false; !done;) {
			if (atomicCAS(&m->lock, 0, 1) == 0) {
				__threadfence();
				add(m, t + i);
				__threadfence();
				atomicExch(&m->lock, 0);
				done = true;
			}
		}
	}
}

__global__ void lock_sleeps(guarded *g, int each)       /* back-off, and a look before each try */
{
	unsigned t = blockIdx.x * blockDim.x + threadIdx.x;

	for (int i = 0; i < each; i++) {
		guarded *m = &g[(t / 5 + i) % SLOTS];
		unsigned ns = 8;

		for (;;) {
			if (*(volatile int *)&m->lock == 0 && atomicExch(&m->lock, 1) == 0)
				break;
			__nanosleep(ns);
			if (ns < 256)
				ns *= 2;
		}
		__threadfence();
		add(m, t + i);
		__threadfence();
		*(volatile int *)&m->lock = 0;
	}
}

struct mutex {                          /* as the guide has it, by libcu++'s atomics */
	cuda::atomic<int, cuda::thread_scope_device> *a;

	__device__ void lock()
	{
		while (a->exchange(1, cuda::memory_order_acquire) != 0)
			while (a->load(cuda::memory_order_relaxed) != 0)
				;
	}
	__device__ void unlock() { a->store(0, cuda::memory_order_release); }
};

struct guard {
	mutex m;

	__device__ explicit guard(mutex x) : m(x) { m.lock(); }
	__device__ ~guard() { m.unlock(); }
};

__global__ void lock_class(guarded *g, int each)
{
	unsigned t = blockIdx.x * blockDim.x + threadIdx.x;

	for (int i = 0; i < each; i++) {
		guarded *m = &g[(t * 7 + i) % SLOTS];

		if ((t + i) % 3 == 0)
			continue;
		guard held(mutex{ (cuda::atomic<int, cuda::thread_scope_device> *)&m->lock });
		m->sum += t + i;
		m->times++;
	}
}

__global__ void lock_ticket(guarded *g, int each)       /* first come, first served: lock is who is served, pad the next number */
{
	unsigned t = blockIdx.x * blockDim.x + threadIdx.x;

	for (int i = 0; i < each; i++) {
		guarded *m = &g[(t * 7 + i) % SLOTS];
		int mine = atomicAdd(&m->pad, 1);

		while (*(volatile int *)&m->lock != mine)
			;
		__threadfence();
		add(m, t + i);
		__threadfence();
		*(volatile int *)&m->lock = mine + 1;
	}
}

__global__ void two_locks(guarded *g, int each)         /* of two places, always the lower one first */
{
	unsigned t = blockIdx.x * blockDim.x + threadIdx.x;

	for (int i = 0; i < each; i++) {
		unsigned a = (t * 7 + i) % SLOTS, b = (t * 13 + 3 * i + 1) % SLOTS;

		if (a == b)
			continue;
		guarded *lo = &g[a < b ? a : b], *hi = &g[a < b ? b : a];

		while (atomicCAS(&lo->lock, 0, 1) != 0)
			;
		while (atomicCAS(&hi->lock, 0, 1) != 0)
			;
		__threadfence();
		add(lo, t);
		add(hi, t);
		__threadfence();
		atomicExch(&hi->lock, 0);
		atomicExch(&lo->lock, 0);
	}
}

__global__ void shared_lock(unsigned *out)              /* of a block's own, one lane after the other too */
{
	__shared__ int lock;
	__shared__ unsigned sum;

	if (threadIdx.x == 0)
		lock = 0, sum = 0;
	__syncthreads();
	if (threadIdx.x % 3 != 1) {
		while (atomicCAS(&lock, 0, 1) != 0)
			;
		__threadfence_block();
		*(volatile unsigned *)&sum = *(volatile unsigned *)&sum + threadIdx.x;
		__threadfence_block();
		atomicExch(&lock, 0);
	}
	__syncthreads();
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void one_slot(unsigned *out, int items)      /* even lanes make, odd lanes take, through one slot a pair */
{
	__shared__ volatile unsigned slot[128];
	__shared__ volatile int full[128];
	unsigned pair = threadIdx.x / 2, sum = 0;

	if (threadIdx.x % 2 == 0)
		full[pair] = 0;
	__syncthreads();
	if (threadIdx.x % 2 == 0) {
		for (int i = 0; i < items; i++) {
			while (full[pair])
				;
			slot[pair] = threadIdx.x * 100 + i;
			__threadfence_block();
			full[pair] = 1;
		}
	} else {
		for (int i = 0; i < items; i++) {
			while (!full[pair])
				;
			__threadfence_block();
			sum = sum * 3 + slot[pair];
			__threadfence_block();
			full[pair] = 0;
		}
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void semaphores(unsigned *out, int items)    /* libcu++'s */
{
	using sem = cuda::counting_semaphore<cuda::thread_scope_block, 4>;
	__shared__ alignas(sem) char room[sizeof(sem)], there[sizeof(sem)];
	__shared__ unsigned ring[4];
	sem *free_ = (sem *)room, *full = (sem *)there;
	unsigned sum = 0;

	if (threadIdx.x == 0) {
		new (free_) sem(4);
		new (full) sem(0);
	}
	__syncthreads();
	if (threadIdx.x == 3) {
		for (int i = 0; i < items; i++) {
			free_->acquire();
			ring[i % 4] = i * 5 + blockIdx.x;
			full->release();
		}
	} else if (threadIdx.x == 20) {
		for (int i = 0; i < items; i++) {
			full->acquire();
			sum = sum * 3 + ring[i % 4];
			free_->release();
		}
		out[blockIdx.x] = sum;
	}
}

__global__ void queue_shfl(unsigned *next, unsigned *out, unsigned jobs)
{
	for (;;) {
		unsigned job = 0;

		if (threadIdx.x % 32 == 0)
			job = atomicAdd(next, 1u);
		job = __shfl_sync(0xffffffffu, job, 0);
		if (job >= jobs)
			break;
		atomicAdd(&out[job], job * 32 + threadIdx.x % 32);
	}
}

__global__ void queue_lanes(unsigned *next, unsigned *out, unsigned jobs)       /* as many as lanes need, by one atomic for all that are here */
{
	unsigned left = threadIdx.x % 7;

	while (left) {
		cg::coalesced_group g = cg::coalesced_threads();
		unsigned first = 0;

		if (g.thread_rank() == 0)
			first = atomicAdd(next, g.size());
		first = g.shfl(first, 0) + g.thread_rank();
		atomicAdd(&out[first % jobs], 1);
		left--;
	}
}

/* s[0] becomes the sum of a block's 256. */
__device__ void tree(unsigned *s)
{
	for (int d = 128; d; d /= 2) {
		if (threadIdx.x < d)
			s[threadIdx.x] += s[threadIdx.x + d];
		__syncthreads();
	}
}

__global__ void last_block(const unsigned *in, unsigned *part, unsigned *count, unsigned *out, int n)
{
	__shared__ unsigned s[256];
	__shared__ bool last;
	unsigned v = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		v += in[i];
	s[threadIdx.x] = v;
	__syncthreads();
	tree(s);
	if (threadIdx.x == 0) {
		part[blockIdx.x] = s[0];
		__threadfence();
		last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
	}
	__syncthreads();
	if (last) {
		v = 0;
		for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x)
			v += ((volatile unsigned *)part)[i];
		s[threadIdx.x] = v;
		__syncthreads();
		tree(s);
		if (threadIdx.x == 0)
			*out = s[0];
	}
}

__global__ void look_back(const unsigned *in, unsigned *out, volatile unsigned long long *state, unsigned *ticket)      /* one pass prefix sum; state: 1 own sum, 2 all before */
{
	__shared__ unsigned block, before, s[256];
	unsigned t = threadIdx.x;

	if (t == 0)
		block = atomicAdd(ticket, 1u);
	__syncthreads();
	unsigned b = block, v = in[b * 256 + t];

	s[t] = v;
	__syncthreads();
	for (int d = 1; d < 256; d *= 2) {
		unsigned x = t >= d ? s[t - d] : 0;

		__syncthreads();
		s[t] += x;
		__syncthreads();
	}
	if (t < 32) {
		unsigned total = s[255], sum = 0;

		if (t == 0)
			state[b] = (unsigned long long)total << 2 | (b ? 1 : 2);
		for (int at = (int)b - 1 - (int)t; b; at -= 32) {
			unsigned long long x = 2;

			do {
				if (at >= 0)
					x = state[at];
			} while (__any_sync(0xffffffffu, (x & 3) == 0));
			unsigned done = __ballot_sync(0xffffffffu, (x & 3) == 2), mine = t <= __ffs(done) - 1u || !done ? (unsigned)(x >> 2) : 0;

			for (int d = 16; d; d /= 2)
				mine += __shfl_xor_sync(0xffffffffu, mine, d);
			sum += mine;
			if (done)
				break;
		}
		if (t == 0) {
			__threadfence();
			state[b] = (unsigned long long)(sum + total) << 2 | 2;
			before = sum;
		}
	}
	__syncthreads();
	out[b * 256 + t] = before + s[t];
}

__global__ void rounds(unsigned *a, unsigned *b, int n, int times)      /* a step of the whole grid after the other */
{
	cg::grid_group grid = cg::this_grid();

	for (int k = 0; k < times; k++) {
		for (int i = (int)grid.thread_rank(); i < n; i += (int)grid.size())
			b[i] = a[(i + 1) % n] * 3 + a[(i + n - 1) % n];
		grid.sync();
		unsigned *x = a;
		a = b;
		b = x;
	}
}

template <typename F> static void locked(const char *name, F kernel, int blocks, int threads, int each, int skip)
{
	std::vector<guarded> want(SLOTS, guarded{});
	buffer<guarded> g(want);
	int before = failures;

	for (unsigned t = 0; t < (unsigned)(blocks * threads); t++)
		for (int i = 0; i < each; i++) {
			unsigned a = skip == 2 ? t / 5 + i : t * 7 + i, b = (t * 13 + 3 * i + 1) % SLOTS;

			a %= SLOTS;
			if (skip == 1 && (t + i) % 3 == 0)
				continue;
			if (skip == 3 && a == b)
				continue;
			want[a].sum += skip == 3 ? t : t + i;
			want[a].times++;
			if (skip == 3) {
				want[b].sum += t;
				want[b].times++;
			}
		}
	kernel<<<blocks, threads>>>(g.p, each);
	CUDA(cudaDeviceSynchronize());
	std::vector<guarded> got = g.host();
	for (int i = 0; i < SLOTS; i++)
		if (got[i].sum != want[i].sum || got[i].times != want[i].times) {
			printf("  %s: place %d has %u by %u, should be %u by %u\n", name, i, got[i].sum, got[i].times, want[i].sum, want[i].times);
			failures++;
			break;
		}
	verdict(name, before);
}

int main(int argc, char **argv)
{
	bool small = argc > 1;
	int blocks = small ? 2 : 6, each = small ? 2 : 5, before;

	locked("lock_before", lock_before, blocks, 96, each, 0);
	locked("lock_within", lock_within, blocks, 96, each, 0);
	locked("lock_sleeps", lock_sleeps, blocks, 96, each, 2);
	locked("lock_class", lock_class, blocks, 96, each, 1);
	locked("lock_ticket", lock_ticket, blocks, 96, each, 0);
	locked("two_locks", two_locks, blocks, 64, each, 3);
	{
		buffer<unsigned> out(blocks * 128);
		std::vector<unsigned> want(blocks * 128, 0);
		unsigned sum = 0;

		before = failures;
		for (unsigned t = 0; t < 128; t++)
			sum += t % 3 != 1 ? t : 0;
		std::fill(want.begin(), want.end(), sum);
		shared_lock<<<blocks, 128>>>(out.p);
		check("shared_lock", out.host(), want, want.size());
		verdict("shared_lock", before);
	}
	{
		buffer<unsigned> out(blocks * 128);
		std::vector<unsigned> want(blocks * 128, 0);

		before = failures;
		for (int b = 0; b < blocks; b++)
			for (unsigned t = 1; t < 128; t += 2)
				for (int i = 0; i < each * 3; i++)
					want[b * 128 + t] = want[b * 128 + t] * 3 + (t - 1) * 100 + i;
		one_slot<<<blocks, 128>>>(out.p, each * 3);
		check("one_slot", out.host(), want, want.size());
		verdict("one_slot", before);
	}
	{
		buffer<unsigned> out(blocks);
		std::vector<unsigned> want(blocks, 0);

		before = failures;
		for (int b = 0; b < blocks; b++)
			for (int i = 0; i < each * 4; i++)
				want[b] = want[b] * 3 + i * 5 + b;
		semaphores<<<blocks, 64>>>(out.p, each * 4);
		check("semaphores", out.host(), want, want.size());
		verdict("semaphores", before);
	}
	{
		unsigned jobs = small ? 40 : 400;
		buffer<unsigned> next(std::vector<unsigned>(1, 0)), out(std::vector<unsigned>(jobs, 0));
		std::vector<unsigned> want(jobs);

		before = failures;
		for (unsigned j = 0; j < jobs; j++)
			want[j] = j * 32 * 32 + 31 * 16;
		queue_shfl<<<blocks, 128>>>(next.p, out.p, jobs);
		check("queue_shfl", out.host(), want, jobs);
		verdict("queue_shfl", before);
	}
	{
		unsigned total = 0, jobs;

		before = failures;
		for (unsigned t = 0; t < 96; t++)
			total += t % 7;
		jobs = total *= blocks;
		buffer<unsigned> next(std::vector<unsigned>(1, 0)), out(std::vector<unsigned>(jobs, 0));
		queue_lanes<<<blocks, 96>>>(next.p, out.p, jobs);
		check("queue_lanes", out.host(), std::vector<unsigned>(jobs, 1), jobs);
		verdict("queue_lanes", before);
	}
	{
		int n = small ? 5000 : 200000;
		std::vector<unsigned> v = keys<unsigned>(n, false);
		buffer<unsigned> in(v), part(64), count(std::vector<unsigned>(1, 0)), out(1);
		unsigned sum = std::accumulate(v.begin(), v.end(), 0u);

		before = failures;
		for (int k = 0; k < 3; k++) {
			last_block<<<20, 256>>>(in.p, part.p, count.p, out.p, n);
			check("last_block", out.host(), std::vector<unsigned>(1, sum), 1);
		}
		verdict("last_block", before);
	}
	{
		int tiles = small ? 20 : 200;
		std::vector<unsigned> v = keys<unsigned>(tiles * 256, true), want(v.size());
		buffer<unsigned> in(v), out(v.size()), ticket(std::vector<unsigned>(1, 0));
		buffer<unsigned long long> state(std::vector<unsigned long long>(tiles, 0));

		before = failures;
		std::partial_sum(v.begin(), v.end(), want.begin());
		look_back<<<tiles, 256>>>(in.p, out.p, state.p, ticket.p);
		check("look_back", out.host(), want, want.size());
		verdict("look_back", before);
	}
	{
		int n = 3000, times = small ? 4 : 20;
		std::vector<unsigned> a = keys<unsigned>(n, false), b(n);
		buffer<unsigned> x(a), y(n);
		void *args[] = { &x.p, &y.p, &n, &times };

		before = failures;
		for (int k = 0; k < times; k++) {
			for (int i = 0; i < n; i++)
				b[i] = a[(i + 1) % n] * 3 + a[(i + n - 1) % n];
			std::swap(a, b);
		}
		CUDA(cudaLaunchCooperativeKernel((void *)rounds, blocks, 128, args));
		CUDA(cudaDeviceSynchronize());
		check("rounds", times % 2 ? y.host() : x.host(), a, n);
		verdict("rounds", before);
	}
	return failures != 0;
}
