// SPDX-License-Identifier: MIT
// What programs of before CUDA 9 call, votes and shuffles of all active lanes, which NVIDIA's headers have below 7.0 as well; shuffles of every
// integer's type; and C++ library headers that say __attribute__((__noinline__)), one of which once did not compile.
#include <cstdio>
#include <functional>
#include <memory>

#define WORDS 15

__noinline__ __device__ unsigned thrice(unsigned v) { return v * 3; }

__global__ void lanes(unsigned *all)
{
	unsigned t = threadIdx.x, *w = all + t * WORDS;

	w[0] = __shfl(thrice(t), 5);
	w[1] = __shfl_up(thrice(t), 2);
	w[2] = __shfl_down(t, 3, 16);
	w[3] = __shfl_xor(t, 9);
	w[4] = __ballot(t % 3 == 0);
	w[5] = __any(t == 7);
	w[6] = __all(t < 32);
	w[7] = __all(t < 31);
	w[8] = (unsigned)(__shfl_xor((double)t * 1e9, 1) / 1e9);
	w[9] = (unsigned)(__shfl((long)t << 40, 4) >> 40);
	w[10] = (unsigned)(__shfl_down((unsigned long)t << 40, 1) >> 40);
	w[11] = (unsigned)__shfl((float)t, 6, 8);
	if (t & 1) {
		w[12] = __ballot(1);
		w[13] = __shfl(t, 3);
	} else {
		w[12] = __ballot(t > 3);
		w[13] = __shfl(t, 2);
	}
	w[14] = (unsigned)(__shfl_sync(~0u, (size_t)t << 33, 9) >> 33);
}

static unsigned wrong(const unsigned *w, unsigned t)
{
	unsigned thirds = 0, even = 0, bad = 0;

	for (unsigned i = 0; i < 32; i++) {
		thirds |= (unsigned)(i % 3 == 0) << i;
		even |= (unsigned)(i % 2 == 0 && i > 3) << i;
	}
	const unsigned want[WORDS] = { 15, (t < 2 ? t : t - 2) * 3, t % 16 > 12 ? t : t + 3, t ^ 9, thirds, 1, 1, 0, t ^ 1, 4, t == 31 ? t : t + 1,
				       t / 8 * 8 + 6, t & 1 ? 0xaaaaaaaa : even, t & 1 ? 3u : 2u, 9 };
	for (int i = 0; i < WORDS; i++)
		if (w[i] != want[i]) {
			printf("lane %u, word %d: %u, not %u\n", t, i, w[i], want[i]);
			bad++;
		}
	return bad;
}

int main()
{
	unsigned *all, bad = 0;
	std::shared_ptr<unsigned> own = std::make_shared<unsigned>(32);
	std::function<unsigned(unsigned)> check = [&](unsigned t) { return wrong(all + t * WORDS, t); };

	if (cudaMallocManaged(&all, *own * WORDS * sizeof(*all)))
		return 2;
	lanes<<<1, *own>>>(all);
	if (cudaDeviceSynchronize())
		return 2;
	for (unsigned t = 0; t < *own; t++)
		bad += check(t);
	printf("result: %u wrong\n", bad);
	return bad != 0;
}
