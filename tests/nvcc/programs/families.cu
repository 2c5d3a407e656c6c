/* SPDX-License-Identifier: MIT */
/*
 * Algorithms of the kinds that benchmark suites are made of, each in the form that people write it in, against plain loops on the host. Chosen for
 * what they do between lanes, by lane or with addresses: exact arrays in shared memory whose ends some lanes would miss, every second place of a row, barriers that count, loops
 * that lanes leave at different rounds, arrays in local memory, pointers to functions, recursion.
 */
#include <cooperative_groups.h>

#include "check.h"

namespace cg = cooperative_groups;
#define HD __host__ __device__

static int some(int large) { return largest < 1000000 ? large / 16 : large; }        /* the interpreter gets less */
static unsigned word() { return (unsigned)(rng() >> 32); }
static float unit() { return (float)(word() >> 8) / 16777216; }

template <typename T, typename F> static std::vector<T> make(size_t n, F f)
{
	std::vector<T> v(n);

	for (size_t i = 0; i < n; i++)
		v[i] = (T)f(i);
	return v;
}

static void compare(const char *name, const std::vector<int> &got, const std::vector<int> &want)
{
	int before = failures;

	check(name, got, want, want.size());
	verdict(name, before);
}

static void compare(const char *name, const std::vector<float> &got, const std::vector<float> &want, float within)
{
	int before = failures;

	for (size_t i = 0; i < want.size() && failures == before; i++)
		if (!(std::fabs(got[i] - want[i]) <= within * (1 + std::fabs(want[i])))) {
			printf("  %s: element %zu is %.9g, should be %.9g\n", name, i, got[i], want[i]);
			failures++;
		}
	verdict(name, before);
}

/* ---- between lanes -------------------------------------------------------------------------------- */

__global__ void odd_even_sort(int *a, int n)
{
	extern __shared__ int s[];
	int t = threadIdx.x;

	a += blockIdx.x * n;
	s[t] = a[t];
	s[t + n / 2] = a[t + n / 2];
	__syncthreads();
	for (int round = 0; round < n; round++) {
		int i = 2 * t + (round & 1);

		if (i + 1 < n && s[i] > s[i + 1]) {
			int x = s[i];

			s[i] = s[i + 1];
			s[i + 1] = x;
		}
		__syncthreads();
	}
	a[t] = s[t];
	a[t + n / 2] = s[t + n / 2];
}

static void odd_even()
{
	int n = 256, blocks = some(64);
	auto v = make<int>((size_t)n * blocks, [](size_t) { return word(); });
	buffer<int> d(v);

	odd_even_sort<<<blocks, n / 2, n * sizeof(int)>>>(d.p, n);
	for (int b = 0; b < blocks; b++)
		std::sort(v.begin() + b * n, v.begin() + (b + 1) * n);
	compare("odd_even_sort", d.host(), v);
}

/* a scan by steps, whose first lanes have nobody before them, in all of the block's shared memory */
__global__ void step_scan(const int *a, int *o)
{
	__shared__ int s[256];
	int t = threadIdx.x, i = blockIdx.x * 256 + t;

	s[t] = a[i];
	__syncthreads();
	for (int d = 1; d < 256; d *= 2) {
		int before = t >= d ? s[t - d] : 0;

		__syncthreads();
		s[t] += before;
		__syncthreads();
	}
	o[i] = s[t];
}

static void scan()
{
	int n = some(65536);
	auto v = make<int>(n, [](size_t) { return word() & 1023; });
	buffer<int> d(v), o(n);

	step_scan<<<n / 256, 256>>>(d.p, o.p);
	for (int i = 0; i < n; i++)
		v[i] += i % 256 ? v[i - 1] : 0;
	compare("step_scan", o.host(), v);
}

__global__ void counts(const int *a, int *o, int rounds)
{
	int v = a[blockIdx.x * blockDim.x + threadIdx.x], sum = 0;

	for (int r = 0; r < rounds; r++) {
		int n = __syncthreads_count(v >> r & 1);

		sum = sum * 3 + n;
		sum += __syncthreads_or((v & 1023) == r) ? 1000 : 0;
		sum += __syncthreads_and((v >> r & 63) < 62) ? 100000 : 0;
	}
	o[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

static void block_counts()
{
	int blocks = some(256), size = 200, rounds = 9;
	auto v = make<int>((size_t)blocks * size, [](size_t) { return word() & word(); });
	buffer<int> d(v), o(v.size());
	std::vector<int> want(v.size());

	counts<<<blocks, size>>>(d.p, o.p, rounds);
	for (int b = 0; b < blocks; b++) {
		const int *p = &v[b * size];
		int sum = 0;

		for (int r = 0; r < rounds; r++) {
			sum = sum * 3 + (int)std::count_if(p, p + size, [r](int x) { return x >> r & 1; });
			sum += std::any_of(p, p + size, [r](int x) { return (x & 1023) == r; }) ? 1000 : 0;
			sum += std::all_of(p, p + size, [r](int x) { return (x >> r & 63) < 62; }) ? 100000 : 0;
		}
		std::fill_n(want.begin() + b * size, size, sum);
	}
	compare("block_counts", o.host(), want);
}

/* lanes of one key elect who adds for all of them */
__global__ void match_histogram(const int *a, int *bins, int *wide)
{
	int k = a[blockIdx.x * blockDim.x + threadIdx.x] & 63;
	unsigned m = __match_any_sync(~0u, k), w = __match_any_sync(~0u, (unsigned long long)(k & 7) << 40 | (unsigned)(k >> 3));

	if ((threadIdx.x & 31) == __ffs(m) - 1)
		atomicAdd(&bins[k], __popc(m));
	if ((threadIdx.x & 31) == __ffs(w) - 1)
		atomicAdd(&wide[k], __popc(w));
}

static void match()
{
	int n = some(1 << 17);
	auto v = make<int>(n, [](size_t) { return word(); });
	buffer<int> d(v), bins(std::vector<int>(64)), wide(std::vector<int>(64));
	std::vector<int> want(64);

	match_histogram<<<n / 256, 256>>>(d.p, bins.p, wide.p);
	for (int x : v)
		want[x & 63]++;
	compare("match_histogram", bins.host(), want);
	compare("match_wide", wide.host(), want);
}

/* breadth first, the next round's vertices appended by whatever lanes are here */
__global__ void frontier(const int *to, int degree, const int *now, int n, int *level, int round, int *next, int *count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	for (int e = now[i] * degree; e < (now[i] + 1) * degree; e++)
		if (atomicCAS(&level[to[e]], -1, round) == -1) {
			cg::coalesced_group g = cg::coalesced_threads();
			int at = g.thread_rank() == 0 ? atomicAdd(count, (int)g.size()) : 0;

			next[g.shfl(at, 0) + g.thread_rank()] = to[e];
		}
}

static void bfs()
{
	int n = some(20000), degree = 5, many = 1;
	auto to = make<int>((size_t)n * degree, [n](size_t) { return word() % n; });
	std::vector<int> want(n, -1), queue(1);
	buffer<int> dto(to), level(want), a(n), b(n), count(1);
	int *now = a.p, *next = b.p;

	CUDA(cudaMemset(level.p, 0, sizeof(int)));
	CUDA(cudaMemset(now, 0, sizeof(int)));
	for (int round = 1; many; round++, std::swap(now, next)) {
		CUDA(cudaMemset(count.p, 0, sizeof(int)));
		frontier<<<(many + 127) / 128, 128>>>(dto.p, degree, now, many, level.p, round, next, count.p);
		many = count.host()[0];
	}
	want[0] = 0;
	for (size_t i = 0; i < queue.size(); i++)
		for (int e = queue[i] * degree; e < (queue[i] + 1) * degree; e++)
			if (want[to[e]] < 0) {
				want[to[e]] = want[queue[i]] + 1;
				queue.push_back(to[e]);
			}
	compare("bfs_frontier", level.host(), want);
}

/* ---- addresses ------------------------------------------------------------------------------------ */

__global__ void half_sweep(float *u, const float *f, int n, int colour)
{
	int y = blockIdx.y * blockDim.y + threadIdx.y, x = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + ((y + colour) & 1);

	if (x > 0 && x < n - 1 && y > 0 && y < n - 1)
		u[y * n + x] = 0.25f * (u[y * n + x - 1] + u[y * n + x + 1] + u[(y - 1) * n + x] + u[(y + 1) * n + x] - f[y * n + x]);
}

static void red_black()
{
	int n = 128;
	auto u = make<float>(n * n, [](size_t) { return unit(); }), f = make<float>(n * n, [](size_t) { return unit(); });
	buffer<float> du(u), df(f);

	for (int k = 0; k < 6; k++) {
		half_sweep<<<dim3(n / 64, n / 8), dim3(32, 8)>>>(du.p, df.p, n, k & 1);
		for (int y = 1; y < n - 1; y++)
			for (int x = 2 - ((y + k) & 1); x < n - 1; x += 2)
				u[y * n + x] = 0.25f * (u[y * n + x - 1] + u[y * n + x + 1] + u[(y - 1) * n + x] + u[(y + 1) * n + x] - f[y * n + x]);
	}
	compare("red_black", du.host(), u, 1e-5f);
}

/* two steps of a stencil in a tile with its border, which shrinks by one each step */
__global__ void two_steps(const float *a, float *o, int n)
{
	__shared__ float now[16][16], next[16][16];
	int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 12 - 2 + tx, y = blockIdx.y * 12 - 2 + ty;
	bool inside = x >= 0 && x < n && y >= 0 && y < n, mine = false;
	int west = x > 0 ? tx - 1 : tx, east = x < n - 1 ? tx + 1 : tx, north = y > 0 ? ty - 1 : ty, south = y < n - 1 ? ty + 1 : ty;

	if (inside)
		now[ty][tx] = a[y * n + x];
	__syncthreads();
	for (int i = 1; i <= 2; i++) {
		mine = inside && tx >= i && tx < 16 - i && ty >= i && ty < 16 - i;
		if (mine)
			next[ty][tx] = now[ty][tx] + 0.1f * (now[north][tx] + now[south][tx] + now[ty][west] + now[ty][east] - 4 * now[ty][tx]);
		__syncthreads();
		if (mine)
			now[ty][tx] = next[ty][tx];
		__syncthreads();
	}
	if (mine)
		o[y * n + x] = now[ty][tx];
}

static void tiles()
{
	int n = 150, blocks = (n + 11) / 12;
	auto a = make<float>(n * n, [](size_t) { return unit(); });
	buffer<float> d(a), o(n * n);
	std::vector<float> b(n * n);

	two_steps<<<dim3(blocks, blocks), dim3(16, 16)>>>(d.p, o.p, n);
	for (int step = 0; step < 2; step++) {
		for (int y = 0; y < n; y++)
			for (int x = 0; x < n; x++) {
				float c = a[y * n + x], around = a[(y ? y - 1 : y) * n + x] + a[(y < n - 1 ? y + 1 : y) * n + x];

				around += a[y * n + (x ? x - 1 : x)] + a[y * n + (x < n - 1 ? x + 1 : x)];
				b[y * n + x] = c + 0.1f * (around - 4 * c);
			}
		a.swap(b);
	}
	compare("stencil_tiles", o.host(), a, 1e-5f);
}

/* a triangle's rows: each lane's loop has its own length */
__global__ void cholesky(const float *a, float *o)
{
	__shared__ float s[32][33];
	int t = threadIdx.x;

	a += blockIdx.x * 1024;
	o += blockIdx.x * 1024;
	for (int i = 0; i < 32; i++)
		s[i][t] = a[i * 32 + t];
	__syncthreads();
	for (int k = 0; k < 32; k++) {
		if (t == k)
			s[k][k] = sqrtf(s[k][k]);
		__syncthreads();
		if (t > k)
			s[t][k] /= s[k][k];
		__syncthreads();
		if (t > k)
			for (int j = k + 1; j <= t; j++)
				s[t][j] -= s[t][k] * s[j][k];
		__syncthreads();
	}
	for (int i = 0; i < 32; i++)
		o[i * 32 + t] = t <= i ? s[i][t] : 0;
}

static void triangles()
{
	int blocks = some(64);
	std::vector<float> a(blocks * 1024), want(a.size());

	for (int b = 0; b < blocks; b++)
		for (int i = 0; i < 32; i++)
			for (int j = 0; j <= i; j++)
				a[b * 1024 + i * 32 + j] = a[b * 1024 + j * 32 + i] = i == j ? 40 + unit() : unit() - 0.5f;
	for (int b = 0; b < blocks; b++) {
		const float *p = &a[b * 1024];
		float *l = &want[b * 1024];

		for (int i = 0; i < 32; i++)
			for (int j = 0; j <= i; j++) {
				float v = p[i * 32 + j];

				for (int k = 0; k < j; k++)
					v -= l[i * 32 + k] * l[j * 32 + k];
				l[i * 32 + j] = i == j ? std::sqrt(v) : v / l[j * 32 + j];
			}
	}
	buffer<float> d(a), o(a.size());
	cholesky<<<blocks, 32>>>(d.p, o.p);
	compare("cholesky", o.host(), want, 1e-4f);
}

/* ---- by lane -------------------------------------------------------------------------------------- */

enum { PUSH, POP, MIX, TIMES3, LESS, SKIP, HALVE };
HD static int machine(const unsigned char *code, int n, int acc)
{
	int stack[16], sp = 0;

	for (int i = 0; i < 16; i++)
		stack[i] = i;
	for (int pc = 0; pc < n;)
		switch (code[pc++]) {
		case PUSH: stack[sp++ & 15] = acc; break;
		case POP: acc = (int)((unsigned)acc + (unsigned)stack[--sp & 15]); break;
		case MIX: acc ^= code[pc++] * 257; break;
		case TIMES3: acc = (int)((unsigned)acc * 3u); break;
		case LESS: acc = (int)((unsigned)acc - code[pc++]); break;
		case SKIP: pc += acc & 1 ? 2 : 0; break;
		case HALVE: acc = (int)((unsigned)acc >> 3); break;
		default: acc = ~acc;
		}
	return acc + sp;
}

HD static int edits(const char *a, const char *b, int n)
{
	int row[33];

	for (int j = 0; j <= n; j++)
		row[j] = j;
	for (int i = 1; i <= n; i++) {
		int corner = row[0];

		row[0] = i;
		for (int j = 1; j <= n; j++) {
			int best = corner + (a[i - 1] != b[j - 1]);

			best = row[j] + 1 < best ? row[j] + 1 : best;
			best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			corner = row[j];
			row[j] = best;
		}
	}
	return row[n];
}

HD static int nearest(const int *x, int n, int q)
{
	int far[5], who[5];
	unsigned sum = 0;

	for (int k = 0; k < 5; k++) {
		far[k] = 1 << 30;
		who[k] = -1;
	}
	for (int i = 0; i < n; i++) {
		int d = x[i] > q ? x[i] - q : q - x[i], k = 4;

		if (d >= far[4])
			continue;
		for (; k > 0 && far[k - 1] > d; k--) {
			far[k] = far[k - 1];
			who[k] = who[k - 1];
		}
		far[k] = d;
		who[k] = i;
	}
	for (int k = 0; k < 5; k++)
		sum = sum * 31 + (unsigned)who[k];
	return (int)sum;
}

HD static int below(int n, int from, int depth) { return depth == 0 || n == 0 ? from : below(n / 2, from + n, depth - 1) + below(n / 3, from ^ n, depth - 1); }
HD static int twice(int x) { return 2 * x; }
HD static int square(int x) { return (int)((unsigned)x * (unsigned)x % 1009); }
HD static int flip(int x) { return x ^ 0x55; }
typedef int step_fn(int);

struct shape {
	int c;
	HD virtual int at(int x) const = 0;
};
struct ramp : shape {
	HD int at(int x) const override { return x > c ? x - c : 0; }
};
struct comb : shape {
	HD int at(int x) const override { return x % (c + 1) == 0 ? c : -1; }
};

HD static int shapes(int x)
{
	step_fn *const steps[] = { twice, square, flip };
	ramp r;
	comb k;
	const shape *all[2] = { &r, &k };
	int sum = 0;

	r.c = x & 31;
	k.c = x & 7;
	for (int i = 0; i < 6; i++) {
		sum += all[(x >> i) & 1]->at(x & 255);
		sum = steps[((unsigned)(x >> i)) % 3](sum & 0xffff);
	}
	return sum + below(x & 63, 1, (x & 3) + 1);
}

__global__ void by_lane(int what, const unsigned char *code, const int *x, const int *points, int *o, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	switch (what) {
	case 0: o[i] = machine(code, 200, x[i]); break;
	case 1: o[i] = edits((const char *)code + i % 64, (const char *)code + (i * 7 & 127), 32); break;
	case 2: o[i] = nearest(points, 512, x[i] & 0xffff); break;
	default: o[i] = shapes(x[i] & 0xffff);
	}
}

static void lanes()
{
	static const char *const names[] = { "stack_machine", "edit_distance", "nearest_five", "virtual_recursive" };
	int n = some(8192);
	auto code = make<unsigned char>(256, [](size_t i) { return i >= 200 ? 7 : i % 40 == 39 ? SKIP : word() % 8 == SKIP ? HALVE : word() % 8 == SKIP ? PUSH : word() % 5; });
	auto x = make<int>(n, [](size_t) { return word(); }), points = make<int>(512, [](size_t) { return word() & 0xffff; });
	buffer<unsigned char> dcode(code);
	buffer<int> dx(x), dp(points), o(n);
	std::vector<int> want(n);

	for (int what = 0; what < 4; what++) {
		by_lane<<<(n + 127) / 128, 128>>>(what, dcode.p, dx.p, dp.p, o.p, n);
		CUDA(cudaDeviceSynchronize());
		for (int i = 0; i < n; i++)
			switch (what) {
			case 0: want[i] = machine(code.data(), 200, x[i]); break;
			case 1: want[i] = edits((const char *)code.data() + i % 64, (const char *)code.data() + (i * 7 & 127), 32); break;
			case 2: want[i] = nearest(points.data(), 512, x[i] & 0xffff); break;
			default: want[i] = shapes(x[i] & 0xffff);
			}
		compare(names[what], o.host(), want);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1)
		largest = atoi(argv[1]);
	odd_even();
	scan();
	block_counts();
	match();
	bfs();
	red_black();
	tiles();
	triangles();
	lanes();
	return failures != 0;
}
