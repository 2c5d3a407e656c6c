/* SPDX-License-Identifier: MIT */
/*
 * Cooperative groups against what the programming guide says of them, counted on the host. Compiled by NVIDIA's nvcc with its headers
 * (tests/nvcc/run.sh), and by vgpu cc with ours (tests/system/cc.sh): what is expected is the same.
 */
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <cstdio>
#include <cstring>

namespace cg = cooperative_groups;

static int wrong;
static void check(const char *what, bool right)
{
	printf("%s %s\n", right ? "ok" : "FAIL", what);
	wrong += !right;
}
#define CK(call) do { cudaError_t e_ = (call); if (e_) { printf("FAIL %s: %s\n", #call, cudaGetErrorString(e_)); return 1; } } while (0)

enum { X = 16, Y = 6, THREADS = X * Y, WORDS = 64 };
struct Triple { int a, b, c; };

template <int N> __device__ void tiles(int *out, unsigned tid)
{
	auto tile = cg::tiled_partition<N>(cg::this_thread_block());
	int v = (int)(tid * 7 + 3), i = 0;

	out[i++] = (int)tile.thread_rank();
	out[i++] = (int)tile.size();
	out[i++] = (int)tile.meta_group_rank();
	out[i++] = (int)tile.meta_group_size();
	out[i++] = tile.shfl(v, 1);
	out[i++] = tile.shfl_up(v, 1);
	out[i++] = tile.shfl_down(v, 2);
	out[i++] = tile.shfl_xor(v, 3);
	out[i++] = (int)tile.ballot(tid % 3 == 0);
	out[i++] = tile.any(tid == 5);
	out[i++] = tile.all(tid >= 8);
	out[i++] = cg::reduce(tile, v, cg::plus<int>());
	out[i++] = cg::reduce(tile, (int)(tid ^ 21), cg::less<int>());
	out[i++] = cg::reduce(tile, (int)(tid ^ 21), cg::greater<int>());
	out[i++] = cg::inclusive_scan(tile, v);
	out[i++] = cg::exclusive_scan(tile, v);
	tile.sync();
}

__global__ void all(int *out, const int *in)
{
	cg::thread_block block = cg::this_thread_block();
	unsigned tid = block.thread_rank();
	int *o = out + tid * WORDS, i = 0;
	__shared__ int copy[40], bytes[3];

	o[i++] = (int)tid;
	o[i++] = (int)block.size();
	o[i++] = (int)block.thread_index().y;
	o[i++] = (int)block.group_index().x;
	o[i++] = (int)block.group_dim().x;
	tiles<4>(o + 8, tid);
	tiles<32>(o + 24, tid);
	i = 40;
	if (tid & 1) {
		cg::coalesced_group odd = cg::coalesced_threads();

		o[i++] = (int)odd.thread_rank();
		o[i++] = (int)odd.size();
		o[i++] = odd.shfl((int)tid, 2);
		o[i++] = cg::reduce(odd, (int)tid, cg::plus<int>());
		o[i++] = (int)odd.ballot(tid % 5 == 0);
		o[i++] = odd.shfl_down((int)tid, 1);
		auto pair = cg::tiled_partition(odd, 4);
		o[i++] = (int)pair.thread_rank();
		o[i++] = pair.shfl((int)tid, 0);
	}
	i = 48;
	auto warp = cg::tiled_partition<32>(block);
	auto half = cg::binary_partition(warp, tid % 4 == 0);
	o[i++] = (int)half.size();
	o[i++] = (int)half.thread_rank();
	auto label = cg::labeled_partition(warp, (int)(tid % 3));
	o[i++] = (int)label.size();
	o[i++] = (int)label.thread_rank();
	o[i++] = label.shfl((int)tid, 0);
	Triple t = { (int)tid, (int)tid * 2, (int)tid * 3 };
	t = warp.shfl(t, 9);
	o[i++] = t.a * 10000 + t.b * 100 + t.c;
	o[i++] = (int)(cg::reduce(warp, 0.5 + tid, cg::plus<double>()) * 2);
	cg::memcpy_async(block, copy, in, sizeof(copy));
	cg::wait(block);
	o[i++] = copy[tid % 40];
	cg::memcpy_async(block, (char *)bytes, (const char *)in + 1, 11);
	cg::wait(block);
	o[i++] = ((char *)bytes)[tid % 11];
	cg::thread_group g = cg::tiled_partition(block, 8);
	o[i++] = (int)g.thread_rank();
	o[i++] = (int)g.size();
	g.sync();
	o[i++] = cg::invoke_one_broadcast(warp, [tid] { return (int)tid + 1; });
	cg::sync(block);
}

/* Each round adds what the block on the left had in the round before. */
__global__ void rounds(unsigned *a, unsigned *b, int n)
{
	cg::grid_group grid = cg::this_grid();
	unsigned blocks = gridDim.x, left = (blockIdx.x + blocks - 1) % blocks;

	for (int i = 0; i < n; i++) {
		if (threadIdx.x == 0)
			b[blockIdx.x] = a[blockIdx.x] + ((volatile unsigned *)a)[left];
		grid.sync();
		if (threadIdx.x == 0)
			a[blockIdx.x] = b[blockIdx.x];
		grid.sync();
	}
	if (grid.thread_rank() == grid.size() - 1)
		a[blocks] = (unsigned)grid.size();
}

template <int N> static bool tiles_right(const int *all, int tid)
{
	const int *o = all + tid * WORDS + (N == 4 ? 8 : 24);
	int rank = tid % N, base = tid - rank, v = tid * 7 + 3, sum = 0, before = 0, least = 1 << 30, most = -1, ballot = 0, any = 0, yes = 1;

	for (int i = 0; i < N; i++) {
		int t = base + i;

		sum += t * 7 + 3;
		before += i < rank ? t * 7 + 3 : 0;
		least = (t ^ 21) < least ? t ^ 21 : least;
		most = (t ^ 21) > most ? t ^ 21 : most;
		ballot |= (t % 3 == 0) << i;
		any |= t == 5;
		yes &= t >= 8;
	}
	const int want[16] = { rank, N, tid / N, THREADS / N, (base + 1) * 7 + 3, rank ? v - 7 : v, rank + 2 < N ? v + 14 : v, (base + (rank ^ 3)) * 7 + 3, ballot, any, yes,
			       sum, least, most, before + v, before };

	for (int i = 0; i < 16; i++)
		if ((i == 9 || i == 10 ? !!o[i] : o[i]) != want[i])
			return printf("tile of %d, thread %d, word %d: %d, not %d\n", N, tid, i, o[i], want[i]) < 0;
	return true;
}

int main(int, char **)
{
	static int out[THREADS * WORDS], in[64];
	int *d, *din, sms, blocks;
	bool basic = true, t4 = true, t32 = true, odd = true, rest = true;

	for (int i = 0; i < 64; i++)
		in[i] = i * 1000003;
	CK(cudaMalloc(&d, sizeof(out)));
	CK(cudaMalloc(&din, sizeof(in)));
	CK(cudaMemcpy(din, in, sizeof(in), cudaMemcpyHostToDevice));
	all<<<1, dim3(X, Y)>>>(d, din);
	CK(cudaGetLastError());
	CK(cudaDeviceSynchronize());
	CK(cudaMemcpy(out, d, sizeof(out), cudaMemcpyDeviceToHost));
	for (int t = 0; t < THREADS; t++) {
		const int *o = out + t * WORDS, *p = o + 48, w = t / 32 * 32;
		int n3 = 0, r3 = 0, first3 = -1;

		basic &= o[0] == t && o[1] == THREADS && o[2] == t / X && o[3] == 0 && o[4] == X;
		t4 &= tiles_right<4>(out, t);
		t32 &= tiles_right<32>(out, t);
		for (int i = w; i < w + 32; i++)
			if (i % 3 == t % 3) {
				first3 = first3 < 0 ? i : first3;
				n3++;
				r3 += i < t;
			}
		if (t & 1) {
			int rank = t % 32 / 2, sum = 0, ballot = 0;

			for (int i = 0; i < 16; i++) {
				sum += w + 2 * i + 1;
				ballot |= ((w + 2 * i + 1) % 5 == 0) << i;
			}
			const int want[8] = { rank, 16, w + 5, sum, ballot, rank < 15 ? t + 2 : t, rank % 4, w + (rank & ~3) * 2 + 1 };
			if (memcmp(o + 40, want, sizeof(want)))
				odd = printf("thread %d: %d %d %d %d %d %d %d %d\n", t, o[40], o[41], o[42], o[43], o[44], o[45], o[46], o[47]) < 0;
		}
		const int sum32 = 32 * w + 496, want[12] = { t % 4 ? 24 : 8, t % 4 ? t % 32 / 4 * 3 + t % 4 - 1 : t % 32 / 4, n3, r3, first3,
			(w + 9) * 10000 + (w + 9) * 200 + (w + 9) * 3, sum32 * 2 + 32, in[t % 40], ((const char *)in)[1 + t % 11], t % 8, 8, w + 1 };
		for (int i = 0; i < 12; i++)
			if (p[i] != want[i])
				rest = printf("thread %d, word %d: %d, not %d\n", t, i, p[i], want[i]) < 0;
	}
	check("blocks", basic);
	check("tiles of 4: shuffles, votes, reductions, scans", t4);
	check("tiles of 32", t32);
	check("coalesced lanes", odd);
	check("partitions, other types, copies, one for all", rest);

	CK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
	blocks = sms < 16 ? sms : 16;
	unsigned *a, *b, host[17], model[16], next[16];
	int n = 20;
	void *args[] = { &a, &b, &n };
	CK(cudaMalloc(&a, sizeof(host)));
	CK(cudaMalloc(&b, sizeof(host)));
	for (int i = 0; i < blocks; i++)
		host[i] = model[i] = 3 * i + 1;
	CK(cudaMemcpy(a, host, sizeof(host), cudaMemcpyHostToDevice));
	CK(cudaLaunchCooperativeKernel((const void *)rounds, dim3(blocks), dim3(64), args, 0, 0));
	CK(cudaDeviceSynchronize());
	CK(cudaMemcpy(host, a, sizeof(host), cudaMemcpyDeviceToHost));
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < blocks; k++)
			next[k] = model[k] + model[(k + blocks - 1) % blocks];
		memcpy(model, next, sizeof(model));
	}
	check("the grid waits for all of it, 40 times", !memcmp(host, model, blocks * sizeof(unsigned)) && host[blocks] == (unsigned)blocks * 64);
	return wrong != 0;
}
