/* SPDX-License-Identifier: MIT */
/* Warps: shuffles of every width and source, votes, matches, reductions, groups of every kind, who is here in branches and loops. */
#include "show.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

#define ALL 0xffffffffu
enum { N = 4096 };
#define V mixed(i)
#define LANE (threadIdx.x & 31)
#define T(value) run<1>(#value, N, [] __device__ (int i, unsigned *o) { *o = (unsigned)(value); });

template<int S> static void tiles()
{
	std::string s = "tile" + std::to_string(S) + ".";

	run<8>(s + "all", N, [] __device__ (int i, unsigned *o) {
		cg::thread_block_tile<S> t = cg::tiled_partition<S>(cg::this_thread_block());
		int v = (int)mixed(i) >> 8;
		o[0] = t.thread_rank() + t.meta_group_rank() * 100 + t.meta_group_size() * 10000;
		o[1] = cg::reduce(t, v, cg::plus<int>());
		o[2] = cg::reduce(t, (unsigned)v, cg::bit_xor<unsigned>());
		o[3] = cg::reduce(t, v, cg::less<int>());
		o[4] = cg::inclusive_scan(t, v);
		o[5] = cg::exclusive_scan(t, (unsigned)v, cg::bit_or<unsigned>());
		o[6] = t.shfl(v, mixed(i / S) % S) + t.shfl_down(v, 1) * 3 + t.shfl_xor(v, S / 2) * 7;
		o[7] = t.ballot(v & 1) + t.match_any(v & 3) * 5 + t.any(v > 8000000) + 2 * t.all(v < 8000000);
	});
	run<4>(s + "float", N, [] __device__ (int i, unsigned *o) {
		cg::thread_block_tile<S> t = cg::tiled_partition<S>(cg::this_thread_block());
		float f = (unit(i) - 0.5f) * 1000;
		double d = f * 1.0000001;
		o[0] = __float_as_uint(cg::reduce(t, f, cg::plus<float>()));
		o[1] = __float_as_uint(cg::inclusive_scan(t, f));
		d = cg::reduce(t, d, cg::plus<double>());
		o[2] = __double2loint(d);
		o[3] = __float_as_uint(cg::exclusive_scan(t, f, [](float a, float b) { return a > b ? a : b; }));
	});
}

int main()
{
	T(__shfl_sync(ALL, V, V >> 5)) T(__shfl_sync(ALL, V, i * 5, 8)) T(__shfl_sync(ALL, V, -1)) T(__shfl_sync(ALL, V, 100, 16)) T(__shfl_up_sync(ALL, V, 3)) T(__shfl_up_sync(ALL, V, V & 31))
	T(__shfl_up_sync(ALL, V, 5, 8)) T(__shfl_down_sync(ALL, V, 3)) T(__shfl_down_sync(ALL, V, 31, 4)) T(__shfl_down_sync(ALL, V, V & 63)) T(__shfl_xor_sync(ALL, V, 16)) T(__shfl_xor_sync(ALL, V, V & 31))
	T(__shfl_xor_sync(ALL, V, 9, 8)) T(__shfl_xor_sync(ALL, V, 40)) T(__shfl_sync(ALL, (long long)V << 20, 7)) T(__shfl_up_sync(ALL, (short)V, 1)) T(__shfl_down_sync(ALL, (float)V, 2) > 1e9f)
	T(__ballot_sync(ALL, V & 2)) T(__any_sync(ALL, !(V & 127))) T(__all_sync(ALL, V & 127)) T(__match_any_sync(ALL, V & 7)) T(__match_any_sync(ALL, (unsigned long long)(V & 3) << 33)) T(__activemask())
	T(__reduce_add_sync(ALL, V)) T(__reduce_min_sync(ALL, V)) T(__reduce_max_sync(ALL, (int)V)) T(__reduce_and_sync(ALL, V | 0xffff)) T(__reduce_or_sync(ALL, V & 0x10001)) T(__reduce_xor_sync(ALL, V))
	run<2>("match_all", N, [] __device__ (int i, unsigned *o) { int p; o[0] = __match_all_sync(ALL, i / 32 & 1 ? 5 : V & 1, &p); o[1] = p; });
	/* parts of a warp by themselves */
	run<4>("parts", N, [] __device__ (int i, unsigned *o) {
		unsigned m = LANE % 3 == 0 ? 0x49249249u : LANE % 3 == 1 ? 0x92492492u : 0x24924924u;
		o[0] = __shfl_sync(m, V, (LANE / 3 * 3 + 9 + LANE % 3) % 30);
		o[1] = __ballot_sync(m, V & 1);
		o[2] = __reduce_add_sync(m, V);
		o[3] = __match_any_sync(m, V & 1);
	});
	run<4>("branches", N, [] __device__ (int i, unsigned *o) {
		o[0] = o[1] = o[2] = o[3] = 0;
		if (V & 1) {
			unsigned m = __ballot_sync(__activemask(), 1);
			o[0] = m;
			o[1] = __shfl_sync(m, V, __ffs(m) - 1);
		} else {
			cg::coalesced_group g = cg::coalesced_threads();
			o[0] = g.thread_rank() * 100 + g.num_threads();
			o[1] = cg::reduce(g, V & 0xffff, cg::plus<unsigned>());
			o[2] = g.shfl(V, g.num_threads() - 1);
			o[3] = g.ballot(V & 4) + g.match_any(V & 8);
		}
		__syncwarp();
		o[3] += __reduce_add_sync(ALL, o[0] & 0xff);
	});
	run<4>("labels", N, [] __device__ (int i, unsigned *o) {
		cg::coalesced_group g = cg::labeled_partition(cg::tiled_partition<32>(cg::this_thread_block()), V % 5);
		o[0] = g.thread_rank();
		o[1] = g.num_threads();
		o[2] = cg::reduce(g, V >> 9, cg::greater<unsigned>());
		o[3] = cg::exclusive_scan(g, 1 + V % 3);
		cg::coalesced_group h = cg::binary_partition(cg::coalesced_threads(), V & 1);
		o[1] += h.num_threads() * 100;
		o[0] += cg::inclusive_scan(h, (int)(V & 15)) * 100;
	});
	run<2>("loop", N, [] __device__ (int i, unsigned *o) {
		unsigned n = V % 9, sum = 0;
		for (unsigned k = 0; k < n; k++) {
			cg::coalesced_group g = cg::coalesced_threads();
			sum = sum * 7 + g.num_threads() + g.thread_rank() * 31;
		}
		o[0] = sum;
		o[1] = __popc(__ballot_sync(ALL, n > 4));
	});
	run<3>("leader", N, [] __device__ (int i, unsigned *o) {
		unsigned key = V % 6, m = __match_any_sync(ALL, key), leader = __ffs(m) - 1, got = 0;
		if (LANE == leader)
			got = key * 1000 + __popc(m);
		got = __shfl_sync(m, got, leader);
		o[0] = got;
		o[1] = __popc(m & ((1u << LANE) - 1));
		o[2] = m;
	});
	run<3>("sort", N, [] __device__ (int i, unsigned *o) {
		unsigned v = V >> 4;
		for (int k = 2; k <= 32; k <<= 1)
			for (int j = k >> 1; j; j >>= 1) {
				unsigned w = __shfl_xor_sync(ALL, v, j);
				bool up = !(LANE & k), low = !(LANE & j);
				v = up == low ? min(v, w) : max(v, w);
			}
		o[0] = v;
		o[1] = __shfl_up_sync(ALL, v, 1) > v;
		o[2] = __reduce_min_sync(ALL, v);
	});
	/* a last warp that is not whole, and blocks that are none of 32 */
	for (int block : { 1, 17, 33, 50, 95 })
		run<4>("block" + std::to_string(block), 700 / block * block, [] __device__ (int i, unsigned *o) {
			unsigned m = __activemask();
			o[0] = m;
			o[1] = __shfl_down_sync(m, V, 1);
			o[2] = __reduce_xor_sync(m, V);
			o[3] = __syncthreads_count(V & 1) + 1000 * __syncthreads_or(V & 64) + 2000 * __syncthreads_and(V & 3);
		}, block);
	tiles<1>();
	tiles<2>();
	tiles<4>();
	tiles<8>();
	tiles<16>();
	tiles<32>();
	run<4>("rows", 2048, [] __device__ (int i, unsigned *o) {
		cg::thread_block b = cg::this_thread_block();
		o[0] = b.thread_rank();
		o[1] = b.group_index().x;
		o[2] = b.dim_threads().x * 100 + b.size();
		o[3] = cg::tiled_partition(b, 8).thread_rank();
	}, 96);
	return 0;
}
