// SPDX-License-Identifier: MIT
// Kernels that launch kernels, against the same on the CPU: quicksort, a quadtree, curves whose pieces are chosen on the device, sums
// of a tree, and what goes wrong.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

static int failures;
static void say(const char *name, bool ok, const char *why = "")
{
	printf("%s %s %s\n", ok ? "ok" : "FAIL", name, ok ? "" : why);
	failures += !ok;
}
static bool fine(const char *name)
{
	cudaError_t e = cudaDeviceSynchronize();

	if (e)
		say(name, false, cudaGetErrorString(e));
	return !e;
}

// children with more than 4 KiB of parameters, up to all that there may be
template <int N> struct words { unsigned w[N]; };
template <int N> __global__ void large_child(unsigned *out, words<N> b)
{
	for (int i = threadIdx.x; i < N; i += blockDim.x)
		atomicAdd(out, b.w[i] * (i + 1));
}
template <int N> __global__ void large_parent(unsigned *out)
{
	words<N> b;
	for (int i = 0; i < N; i++)
		b.w[i] = i * 2654435761u + threadIdx.x;
	large_child<N><<<2, 64>>>(out, b);
	if (cudaGetLastError())
		atomicAdd(out, 1u);
}
template <int N> static void large(const char *name)
{
	unsigned *out, want = 0;
	cudaMallocManaged(&out, 4);
	*out = 0;
	large_parent<N><<<1, 3>>>(out);
	for (unsigned t = 0; t < 3; t++)
		for (unsigned i = 0; i < N; i++)
			want += 2 * (i * 2654435761u + t) * (i + 1);
	if (fine(name))
		say(name, *out == want);
	cudaFree(out);
}

// a quicksort whose halves are launched into streams of their own, and short ones sorted in place
__device__ void insertion(unsigned *a, int l, int r)
{
	for (int i = l + 1; i <= r; i++) {
		unsigned x = a[i];
		int k = i;
		for (; k > l && a[k - 1] > x; k--)
			a[k] = a[k - 1];
		a[k] = x;
	}
}
__global__ void quicksort(unsigned *a, int l, int r, int depth)
{
	if (depth >= 20 || r - l < 24) {
		insertion(a, l, r);
		return;
	}
	unsigned pivot = a[(l + r) / 2];
	int i = l, j = r;
	while (i <= j) {
		while (a[i] < pivot)
			i++;
		while (a[j] > pivot)
			j--;
		if (i <= j) {
			unsigned t = a[i];
			a[i++] = a[j];
			a[j--] = t;
		}
	}
	cudaStream_t s;
	if (l < j) {
		cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
		quicksort<<<1, 1, 0, s>>>(a, l, j, depth + 1);
		cudaStreamDestroy(s);
	}
	if (i < r) {
		cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
		quicksort<<<1, 1, 0, s>>>(a, i, r, depth + 1);
		cudaStreamDestroy(s);
	}
}
static void test_quicksort()
{
	const int n = 20000;
	unsigned *a, x = 1;
	std::vector<unsigned> want(n);

	cudaMallocManaged(&a, n * sizeof *a);
	for (int i = 0; i < n; i++)
		want[i] = a[i] = (x = x * 1664525u + 1013904223u) >> 8;
	std::sort(want.begin(), want.end());
	quicksort<<<1, 1>>>(a, 0, n - 1, 0);
	if (fine("quicksort"))
		say("quicksort", std::equal(want.begin(), want.end(), a), "not in order");
	cudaFree(a);
}

// a quadtree: a block counts its points by quarter, moves them and launches a block for each quarter that has many
struct point { float x, y; };
struct node { float x, y, size; int begin, end, leaf; };
#define LEAF 40
__device__ int nodes_used;
__global__ void divide(node *nodes, int me, point *from, point *to, int depth)
{
	__shared__ int count[4], at[4], first;
	node n = nodes[me];

	if (threadIdx.x < 4)
		count[threadIdx.x] = 0;
	__syncthreads();
	for (int i = n.begin + threadIdx.x; i < n.end; i += blockDim.x)
		atomicAdd(&count[(from[i].x >= n.x + n.size) + 2 * (from[i].y >= n.y + n.size)], 1);
	__syncthreads();
	if (threadIdx.x == 0) {
		int b = n.begin;
		first = atomicAdd(&nodes_used, 4);
		nodes[me].leaf = 0;
		for (int q = 0; q < 4; q++) {
			nodes[first + q] = { n.x + (q & 1) * n.size, n.y + (q >> 1) * n.size, n.size / 2, b, b + count[q], 1 };
			at[q] = b;
			b += count[q];
		}
	}
	__syncthreads();
	for (int i = n.begin + threadIdx.x; i < n.end; i += blockDim.x)
		to[atomicAdd(&at[(from[i].x >= n.x + n.size) + 2 * (from[i].y >= n.y + n.size)], 1)] = from[i];
	__syncthreads();
	if (threadIdx.x < 4) {
		node c = nodes[first + threadIdx.x];
		if (c.end - c.begin > LEAF && depth < 12)
			divide<<<1, 64>>>(nodes, first + threadIdx.x, to, from, depth + 1);
		else if (depth % 2 == 0)        /* leaves are in the first array at the end */
			cudaMemcpyAsync(from + c.begin, to + c.begin, (c.end - c.begin) * sizeof(point), cudaMemcpyDeviceToDevice, 0);
	}
}
static void test_quadtree()
{
	const int n = 8000;
	point *p, *q;
	node *t;
	unsigned x = 3;
	int one = 1, used, bad = 0, seen = 0;
	std::vector<point> all(n);
	auto before = [](point a, point b) { return a.x < b.x || (a.x == b.x && a.y < b.y); };

	cudaMallocManaged(&p, n * sizeof *p);
	cudaMallocManaged(&q, n * sizeof *q);
	cudaMallocManaged(&t, 40000 * sizeof *t);
	for (int i = 0; i < n; i++) {
		p[i].x = ((x = x * 1664525u + 1013904223u) >> 8) / 16777216.0f;
		p[i].y = ((x = x * 1664525u + 1013904223u) >> 8) / 16777216.0f;
		p[i].x *= p[i].x;       /* deeper on one side */
		all[i] = p[i];
	}
	t[0] = { 0, 0, 0.5f, 0, n, 0 };
	cudaMemcpyToSymbol(nodes_used, &one, sizeof one);
	divide<<<1, 64>>>(t, 0, p, q, 0);
	if (!fine("quadtree"))
		return;
	cudaMemcpyFromSymbol(&used, nodes_used, sizeof used);
	for (int i = 0; i < used; i++) {
		if (!t[i].leaf)
			continue;
		bad += t[i].end - t[i].begin > LEAF;
		seen += t[i].end - t[i].begin;
		for (int k = t[i].begin; k < t[i].end; k++)
			bad += p[k].x < t[i].x || p[k].x >= t[i].x + 2 * t[i].size || p[k].y < t[i].y || p[k].y >= t[i].y + 2 * t[i].size;
	}
	std::sort(all.begin(), all.end(), before);
	std::sort(p, p + n, before);
	bad += memcmp(p, all.data(), n * sizeof *p) != 0;
	say("quadtree", !bad && seen == n && used > 500, "points in wrong places");
}

// curves: how many pieces is chosen where the curve is known; memory is taken and given back on the device
struct curve { float2 c[3], *at; int n; };
__device__ float2 on(const curve &b, float u)
{
	float v = 1 - u;
	return { v * v * b.c[0].x + 2 * u * v * b.c[1].x + u * u * b.c[2].x, v * v * b.c[0].y + 2 * u * v * b.c[1].y + u * u * b.c[2].y };
}
__global__ void points(curve *b)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < b->n)
		b->at[i] = on(*b, (float)i / (b->n - 1));
}
__global__ void curves(curve *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	float dx = b[i].c[0].x - b[i].c[2].x, dy = b[i].c[0].y - b[i].c[2].y;
	b[i].n = 3 + (int)(sqrtf(dx * dx + dy * dy) * 100);
	cudaMalloc((void **)&b[i].at, b[i].n * sizeof(float2));
	points<<<(b[i].n + 31) / 32, 32>>>(b + i);
}
__global__ void lengths(curve *b, float *out)
{
	float s = 0;

	for (int i = 1; i < b[threadIdx.x].n; i++)
		s += hypotf(b[threadIdx.x].at[i].x - b[threadIdx.x].at[i - 1].x, b[threadIdx.x].at[i].y - b[threadIdx.x].at[i - 1].y);
	out[threadIdx.x] = cudaFree(b[threadIdx.x].at) ? -1 : s;
}
static void test_curves()
{
	const int n = 96;
	curve *b;
	float *out, worst = 0;

	cudaMallocManaged(&b, n * sizeof *b);
	cudaMallocManaged(&out, n * sizeof *out);
	for (int i = 0; i < n; i++)
		for (int k = 0; k < 3; k++)
			b[i].c[k] = { sinf(i * 3 + k), cosf(i * 5 + 2 * k) };
	curves<<<3, 32>>>(b, n);
	lengths<<<1, n>>>(b, out);
	if (!fine("curves"))
		return;
	for (int i = 0; i < n; i++) {
		double s = 0, px = b[i].c[0].x, py = b[i].c[0].y;
		for (int k = 1; k < b[i].n; k++) {
			double u = (double)k / (b[i].n - 1), v = 1 - u;
			double x = v * v * b[i].c[0].x + 2 * u * v * b[i].c[1].x + u * u * b[i].c[2].x;
			double y = v * v * b[i].c[0].y + 2 * u * v * b[i].c[1].y + u * u * b[i].c[2].y;
			s += std::hypot(x - px, y - py);
			px = x;
			py = y;
		}
		worst = std::max(worst, (float)std::fabs(out[i] - s));
	}
	say("curves", worst < 1e-3, "wrong lengths");
}

// a parent's writes are seen by its children, theirs by what comes after it; shared and constant memory are each grid's own
__constant__ int factor = 3;
__global__ void leaf(const int *in, long long *out)
{
	extern __shared__ long long part[];

	part[threadIdx.x] = (long long)in[threadIdx.x] * factor;
	__syncthreads();
	for (int o = blockDim.x / 2; o; o /= 2) {
		if (threadIdx.x < o)
			part[threadIdx.x] += part[threadIdx.x + o];
		__syncthreads();
	}
	if (!threadIdx.x)
		*out = part[0];
}
__global__ void all(const long long *part, int n, long long *out)
{
	long long s = 0;

	for (int i = 0; i < n; i++)
		s += part[i];
	*out = s;
}
__global__ void sums(int *in, long long *part, long long *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	in[i] = i * 7 % 1001;
	__syncthreads();
	if (threadIdx.x)
		return;
	leaf<<<1, blockDim.x, blockDim.x * sizeof(long long)>>>(in + blockIdx.x * blockDim.x, part + blockIdx.x);
	if (!blockIdx.x)
		all<<<1, 1, 0, cudaStreamTailLaunch>>>(part, gridDim.x, out);
}
static void test_sums()
{
	int *in;
	long long *part, *out, want = 0;

	cudaMalloc(&in, 512 * 128 * sizeof *in);
	cudaMalloc(&part, 512 * sizeof *part);
	cudaMallocManaged(&out, sizeof *out);
	*out = 0;
	for (int i = 0; i < 512 * 128; i++)
		want += 3LL * (i * 7 % 1001);
	sums<<<512, 128>>>(in, part, out);
	if (fine("sums"))
		say("sums", *out == want, "another sum");
	cudaStream_t s;                 /* a later launch of the host's stream comes behind the family */
	int wrong = 0;
	cudaStreamCreate(&s);
	for (int round = 0; round < 50; round++) {
		long long got = 0;
		cudaMemsetAsync(part, 0, 512 * sizeof *part, s);
		cudaMemsetAsync(out, 0, sizeof *out, s);
		sums<<<64, 128, 0, s>>>(in, part, out);
		cudaMemcpyAsync(&got, out, sizeof got, cudaMemcpyDefault, s);
		cudaStreamSynchronize(s);
		want = 0;
		for (int i = 0; i < 64 * 128; i++)
			want += 3LL * (i * 7 % 1001);
		wrong += got != want;
	}
	say("behind", !wrong, "the host's stream went on too early");
}

// printing children, a graph of such launches, limits
__global__ void hello(int i) { printf("child %d\n", i); }
__global__ void hellos(int n)
{
	for (int i = 0; i < n; i++)
		hello<<<1, 1>>>(i);
}
__global__ void add(int *p, int v) { *p += v; }
__global__ void adds(int *p) { add<<<1, 1>>>(p, 1); add<<<1, 1>>>(p, 10); }
static void test_more()
{
	int *p;
	size_t n = 0;
	cudaGraph_t g;
	cudaGraphExec_t x;
	cudaStream_t s;

	hellos<<<1, 1>>>(3);
	fine("print");
	cudaMallocManaged(&p, sizeof *p);
	*p = 0;
	cudaStreamCreate(&s);
	cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
	adds<<<1, 1, 0, s>>>(p);
	cudaStreamEndCapture(s, &g);
	cudaGraphInstantiate(&x, g, 0);
	for (int i = 0; i < 20; i++)
		cudaGraphLaunch(x, s);
	if (fine("graph"))
		say("graph", *p == 220, "another count");
	say("limit", !cudaDeviceGetLimit(&n, cudaLimitDevRuntimePendingLaunchCount) && n == 2048 &&
	    !cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 10000) &&
	    !cudaDeviceGetLimit(&n, cudaLimitDevRuntimePendingLaunchCount) && n == 10000, "cudaDeviceSetLimit");
}

// a child's fault is the context's
__global__ void fault(int *p) { p[1LL << 40] = 1; }
__global__ void faults(int *p) { fault<<<1, 1>>>(p); }
static void test_fault()
{
	int *p;

	cudaMalloc(&p, 4);
	faults<<<1, 1>>>(p);
	say("fault", cudaDeviceSynchronize() == cudaErrorIllegalAddress, "no error of the child");
	say("sticky", cudaDeviceSynchronize() == cudaErrorIllegalAddress, "gone");
}

int main()
{
	large<1022>("4,096 bytes of parameters");
	large<1023>("4,100 bytes of parameters");
	large<8189>("32,764 bytes of parameters");
	test_quicksort();
	test_quadtree();
	test_curves();
	test_sums();
	test_more();
	test_fault();
	return failures != 0;
}
