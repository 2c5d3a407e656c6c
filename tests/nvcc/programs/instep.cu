/* SPDX-License-Identifier: MIT */
/*
 * Warps as programs from before Volta have them: lanes come together behind what they parted at, with no __syncwarp() and no volatile, and look at what others have stored in
 * shared memory. CUDA promises that below 7.0 and not after; all hardware does it where compilers leave the order of accesses alone, as here. Each case is a warp's model on the
 * host: a statement for all lanes, then the next one. Launched many times: code is compiled anew meanwhile.
 */
#include "check.h"

enum { WARPS = 2, BLOCKS = 6, THREADS = 32 * WARPS, LAUNCHES = 24, ROUNDS = 11 };
enum { COUNTERS, COLUMNS, BOTH_SIDES, CHOICES, LATE_LANES, HALVES, HALVES_BY_NUMBER, RING, RING_DIVERGENT, FIRST_TO_SAY, STACK, WORD, EARLY_END, RANKS, RANKS_AGAIN, PIVOT,
	PIVOT_OF_ROW, GLOBAL_PIVOT, GLOBAL_REVERSE, CASES };
static const char *const names[] = { "counters of a leader's", "columns added up by the first", "stores on both sides of a branch", "a switch", "lanes that come late",
	"sums by halves", "maxima by halves, as many as the launch says", "a ring of neighbours", "a ring, with a branch in it", "the first to say so", "a stack of the warp's",
	"a word of the warp's", "lanes that have ended", "keys put where they belong", "the same, again and again", "what some are divided by", "what rows are divided by",
	"the same in global memory", "global memory backwards" };

static __host__ __device__ int work(int x, int n)
{
	unsigned int y = (unsigned int)x;

	for (int i = 0; i < n; i++)
		y = y * 5 + (unsigned int)i;
	return (int)(y & 0xffffff);
}

/* How many of the warp's have less, or as much and come before */
static __device__ int rank_of(int v, int lane)
{
	int r = 0;

	for (int i = 0; i < 32; i++) {
		int x = __shfl_sync(~0u, v, i);

		r += x < v || (x == v && i < lane);
	}
	return r;
}

template <int CASE> __global__ void step(const int *in, int *out, int n)
{
	__shared__ int s[THREADS], w[WARPS], deep[WARPS * 8];
	int t = threadIdx.x, lane = t & 31, warp = t >> 5, first = t & ~31, g = blockIdx.x * THREADS + t, v = in[g], r = 0;

	switch (CASE) {
	case COUNTERS:
		if (lane == 0)
			w[warp] = 0;
		for (int i = 0; i < (v & 7); i++)
			atomicAdd(&w[warp], i + lane);
		if (lane == 0)
			r = w[warp];
		break;
	case COLUMNS:
		s[t] = work(v, v & 15);
		if (lane == 0)
			for (int i = 0; i < 32; i++)
				r += s[t + i];
		break;
	case BOTH_SIDES:
		if (v & 1)
			s[t] = work(v, v & 15);
		else
			s[t] = v;
		if (lane < 4)
			for (int i = lane; i < 32; i += 4)
				r += s[first + i];
		break;
	case CHOICES:
		switch (v & 3) {
		case 0: s[t] = work(v, n); break;
		case 1: s[t] = v * 3; break;
		case 2: s[t] = work(v, v & 31); break;
		default: s[t] = 7;
		}
		r = s[t ^ 5];
		break;
	case LATE_LANES:
		s[t] = work(v, v & 31);
		if (lane == 31)
			for (int i = 0; i < 32; i++)
				r += s[first + i];
		break;
	case HALVES:
		s[t] = v;
		for (int h = 16; h; h >>= 1)
			if (lane < h)
				s[t] += s[t + h];
		r = lane == 0 ? s[t] : 0;
		break;
	case HALVES_BY_NUMBER:
		s[t] = v;
		for (int m = n / 11 * 32; m > 1;) {
			m >>= 1;
			if (lane < m)
				s[t] = max(s[t], s[t + m]);
		}
		r = lane == 0 ? s[t] : 0;
		break;
	case RING: case RING_DIVERGENT:
		s[t] = v;
		for (int i = 0; i < n; i++) {
			int x = s[first + ((lane + 1) & 31)];

			if (CASE == RING_DIVERGENT && (x & 1))
				x = work(x, 3);
			s[t] = x + 1;
		}
		r = s[t];
		break;
	case FIRST_TO_SAY:
		if (lane == 0)
			w[warp] = -1;
		for (int i = 0; i < n; i++)
			if ((v >> i & 1) && w[warp] < 0)
				w[warp] = i;
		r = w[warp];
		break;
	case STACK: {
		int depth = warp * 8;

		if (lane == 0)
			deep[depth] = 0;
		/* numbers of two digits to the base of n, by a stack that the leader writes */
		do {
			int x = deep[depth];

			if (x == n) {
				depth--;
				continue;
			}
			if (lane == 0)
				deep[depth] = x + 1;
			if (depth < warp * 8 + 1) {
				depth++;
				if (lane == 0)
					deep[depth] = 0;
			} else {
				r += x * lane + v;
			}
		} while (depth >= warp * 8);
		break;
	}
	case WORD:
		w[warp] = 0;
		for (int i = 0; i < 40 * n; i++) {
			int x = w[warp];

			w[warp] = x + work(1, i & 3);
		}
		r = w[warp];
		break;
	case EARLY_END:
		out[g] = 0;
		if (v & 8)
			return;
		s[t] = v;
		s[t] += work(v, v & 7);
		if (lane < 16)
			r = in[g + 16] & 8 ? -1 : s[t + 16];
		break;
	case RANKS:
		s[first + rank_of(v, lane)] = v;
		r = s[t];
		break;
	case RANKS_AGAIN:
		r = v;
		for (int i = 0; i < n; i++) {
			s[first + rank_of(r, lane)] = r;
			r = work(s[t], i);
		}
		break;
	case PIVOT:
		s[t] = v;
		__syncthreads();
		if (lane >= 3 && lane < 20)
			s[t] = s[t] * 3 + s[first + 3 + n % 17];
		__syncthreads();
		r = s[t];
		break;
	case PIVOT_OF_ROW:
		s[t] = v;
		__syncthreads();
		if (lane / 6 != n % 5)
			s[t] = s[t] * 3 + s[first + lane / 6 * 6 + n % 2];
		__syncthreads();
		r = s[t];
		break;
	case GLOBAL_PIVOT:
		out[g] = v;
		__syncthreads();
		out[g] = out[g] * 3 + out[(g & ~31) + n];
		return;
	case GLOBAL_REVERSE:
		out[g] = v;
		r = ((volatile int *)out)[g ^ 31];
		break;
	}
	out[g] = r;
}

/* What it leaves, for one warp */
static void model(int c, const int *v, int *out, int n)
{
	int s[32], sum = 0;

	for (int l = 0; l < 32; l++) {
		s[l] = c == COLUMNS ? work(v[l], v[l] & 15) : c == BOTH_SIDES ? (v[l] & 1 ? work(v[l], v[l] & 15) : v[l]) :
			c == CHOICES ? ((v[l] & 3) == 0 ? work(v[l], n) : (v[l] & 3) == 1 ? v[l] * 3 : (v[l] & 3) == 2 ? work(v[l], v[l] & 31) : 7) :
			c == LATE_LANES ? work(v[l], v[l] & 31) : c == EARLY_END ? v[l] + work(v[l], v[l] & 7) : v[l];
		sum = (int)((unsigned)sum + (unsigned)s[l]);
		out[l] = 0;
	}
	switch (c) {
	case COUNTERS:
		for (int l = 0; l < 32; l++)
			for (int i = 0; i < (v[l] & 7); i++)
				out[0] += i + l;
		break;
	case COLUMNS: case HALVES:
		out[0] = sum;
		break;
	case LATE_LANES:
		out[31] = sum;
		break;
	case BOTH_SIDES:
		for (int i = 0; i < 32; i++)
			out[i & 3] = (int)((unsigned)out[i & 3] + (unsigned)s[i]);
		break;
	case CHOICES:
		for (int l = 0; l < 32; l++)
			out[l] = s[l ^ 5];
		break;
	case HALVES_BY_NUMBER:
		out[0] = *std::max_element(s, s + 32);
		break;
	case RING: case RING_DIVERGENT:
		for (int i = 0; i < n; i++) {
			int q[32];

			for (int l = 0; l < 32; l++) {
				int x = s[(l + 1) & 31];

				q[l] = (c == RING_DIVERGENT && (x & 1) ? work(x, 3) : x) + 1;
			}
			memcpy(s, q, sizeof(s));
		}
		memcpy(out, s, sizeof(s));
		break;
	case FIRST_TO_SAY: {
		int said = -1;

		for (int i = 0; i < n && said < 0; i++)
			for (int l = 0; l < 32; l++)
				if (v[l] >> i & 1)
					said = i;
		std::fill(out, out + 32, said);
		break;
	}
	case STACK:
		for (int l = 0; l < 32; l++)
			for (int i = 0; i < n; i++)
				for (int x = 0; x < n; x++)
					out[l] += x * l + v[l];
		break;
	case WORD: {
		int x = 0;

		for (int i = 0; i < 40 * n; i++)
			x = (int)((unsigned)x + (unsigned)work(1, i & 3));
		std::fill(out, out + 32, x);
		break;
	}
	case EARLY_END:
		for (int l = 0; l < 32; l++)
			out[l] = v[l] & 8 || l > 15 ? 0 : v[l + 16] & 8 ? -1 : s[l + 16];
		break;
	case RANKS: case RANKS_AGAIN:
		for (int i = 0; i < (c == RANKS ? 1 : n); i++) {
			std::sort(s, s + 32);
			for (int l = 0; l < 32 && c == RANKS_AGAIN; l++)
				s[l] = work(s[l], i);
		}
		memcpy(out, s, sizeof(s));
		break;
	case PIVOT:
		for (int l = 0; l < 32; l++)
			out[l] = l >= 3 && l < 20 ? s[l] * 3 + s[3 + n % 17] : s[l];
		break;
	case PIVOT_OF_ROW:
		for (int l = 0; l < 32; l++)
			out[l] = l / 6 != n % 5 ? s[l] * 3 + s[l / 6 * 6 + n % 2] : s[l];
		break;
	case GLOBAL_PIVOT:
		for (int l = 0; l < 32; l++)
			out[l] = s[l] * 3 + s[n];
		break;
	case GLOBAL_REVERSE:
		for (int l = 0; l < 32; l++)
			out[l] = s[l ^ 31];
	}
}

template <int CASE> static void run()
{
	std::vector<int> in(BLOCKS * THREADS), have(in.size()), want(in.size());
	int *d, *o, bad = 0;

	CUDA(cudaMalloc(&d, in.size() * sizeof(int)));
	CUDA(cudaMalloc(&o, in.size() * sizeof(int)));
	for (int k = 0; k < LAUNCHES; k++) {
		for (int &x : in)
			x = (int)(rng() % 1000);
		CUDA(cudaMemcpy(d, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice));
		step<CASE><<<BLOCKS, THREADS>>>(d, o, ROUNDS);
		CUDA(cudaGetLastError());
		CUDA(cudaMemcpy(have.data(), o, in.size() * sizeof(int), cudaMemcpyDeviceToHost));
		for (size_t i = 0; i < in.size(); i += 32)
			model(CASE, &in[i], &want[i], ROUNDS);
		bad += have != want;
	}
	CUDA(cudaFree(d));
	CUDA(cudaFree(o));
	if (bad) {
		printf("FAIL %s: %d of %d launches\n", names[CASE], bad, LAUNCHES);
		failures++;
	} else {
		printf("ok %s\n", names[CASE]);
	}
}

template <int CASE> static void all()
{
	run<CASE>();
	if constexpr (CASE + 1 < CASES)
		all<CASE + 1>();
}

int main()
{
	all<0>();
	return failures != 0;
}
