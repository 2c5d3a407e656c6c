/* SPDX-License-Identifier: MIT */
/*
 * Arrays, texture and surface objects against what the CUDA C++ Programming Guide says of fetching: the reference computes in double from the
 * array's values. Filtered results may differ by the hardware's 8 bits of fraction.
 */
#include <cuda_runtime.h>

#include "check.h"

static void verdict(const std::string &name, double error, double most = 0)
{
	if (error <= most) {
		printf("ok %s\n", name.c_str());
	} else {
		printf("FAIL %s off by %g, %g allowed\n", name.c_str(), error, most);
		failures++;
	}
}

template <class T> static T *device(size_t n)
{
	T *p;

	CUDA(cudaMalloc(&p, n * sizeof(T)));
	return p;
}

template <class T> static std::vector<T> fetched(const T *p, size_t n)
{
	std::vector<T> v(n);

	CUDA(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
	return v;
}

static std::vector<float> noise(size_t n)
{
	std::vector<float> v(n);

	for (float &x : v)
		x = (float)(rng() % 1000) / 100;
	return v;
}

static double most_off(const std::vector<float> &a, const std::vector<float> &b)
{
	double e = 0;

	for (size_t i = 0; i < a.size(); i++)
		e = std::max(e, (double)std::fabs(a[i] - b[i]));
	return e;
}

static cudaTextureObject_t texture(const cudaResourceDesc &r, int mode, bool linear, bool normalized, bool unit = false)
{
	cudaTextureObject_t t;
	cudaTextureDesc d = {};

	for (auto &m : d.addressMode)
		m = (cudaTextureAddressMode)mode;
	d.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
	d.readMode = unit ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
	d.normalizedCoords = normalized;
	d.borderColor[0] = 7.25f;
	CUDA(cudaCreateTextureObject(&t, &r, &d, nullptr));
	return t;
}

static cudaResourceDesc of(cudaArray_t a)
{
	cudaResourceDesc r = {};

	r.resType = cudaResourceTypeArray;
	r.res.array.array = a;
	return r;
}

template <class T> static cudaResourceDesc of(T *p, size_t n)
{
	cudaResourceDesc r = {};

	r.resType = cudaResourceTypeLinear;
	r.res.linear.devPtr = p;
	r.res.linear.desc = cudaCreateChannelDesc<T>();
	r.res.linear.sizeInBytes = n * sizeof(T);
	return r;
}

static cudaArray_t array3d(const std::vector<float> &a, int w, int h, int d, unsigned flags)
{
	cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
	cudaMemcpy3DParms p = {};
	cudaArray_t array;

	CUDA(cudaMalloc3DArray(&array, &f, make_cudaExtent(w, h, d), flags));
	p.srcPtr = make_cudaPitchedPtr((void *)a.data(), w * sizeof(float), w, h);
	p.dstArray = array;
	p.extent = make_cudaExtent(w, h, d);
	p.kind = cudaMemcpyHostToDevice;
	CUDA(cudaMemcpy3D(&p));
	return array;
}

/* ---- linear memory ---- */

__global__ void fetch(cudaTextureObject_t t, float *o, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n + 20)
		o[i] = tex1Dfetch<float>(t, i - 10);
}

__global__ void fetch_bytes(cudaTextureObject_t t, uchar4 *o, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		o[i] = tex1Dfetch<uchar4>(t, i);
}

__global__ void fetch_unit(cudaTextureObject_t t, float4 *o, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		o[i] = tex1Dfetch<float4>(t, i);
}

static void linear_memory()
{
	const int n = 1000;
	std::vector<float> a = noise(n), want(n + 20);
	std::vector<unsigned char> c(4 * n);
	float *d = device<float>(n), *o = device<float>(n + 20);
	uchar4 *oc = device<uchar4>(n);
	float4 *ou = device<float4>(n);
	cudaTextureObject_t t;
	double e = 0;

	CUDA(cudaMemcpy(d, a.data(), n * sizeof(float), cudaMemcpyHostToDevice));
	t = texture(of(d, n), cudaAddressModeWrap, false, false);
	fetch<<<5, 256>>>(t, o, n);
	std::copy(a.begin(), a.end(), want.begin() + 10);
	verdict("tex1Dfetch, 0 beyond its ends", most_off(want, fetched(o, n + 20)));
	CUDA(cudaDestroyTextureObject(t));
	verdict("an object that is gone is refused", cudaDestroyTextureObject(t) != cudaErrorInvalidValue);
	(void)cudaGetLastError();

	for (auto &b : c)
		b = (unsigned char)rng();
	CUDA(cudaMemcpy(d, c.data(), 4 * n, cudaMemcpyHostToDevice));
	fetch_bytes<<<4, 256>>>(texture(of((uchar4 *)d, n), cudaAddressModeWrap, false, false), oc, n);
	verdict("bytes as integers", memcmp(fetched(oc, n).data(), c.data(), 4 * n) != 0);
	fetch_unit<<<4, 256>>>(texture(of((uchar4 *)d, n), cudaAddressModeWrap, false, false, true), ou, n);
	std::vector<float4> u = fetched(ou, n);
	for (int i = 0; i < 4 * n; i++)
		e = std::max(e, std::fabs((&u[i / 4].x)[i % 4] - c[i] / 255.0));
	verdict("bytes as 0 to 1", e, 1e-7);
}

/* ---- two dimensions ---- */

__global__ void sample(cudaTextureObject_t t, float *o, int w, int h, float sx, float sy, float ox, float oy)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x < w && y < h)
		o[y * w + x] = tex2D<float>(t, fmaf(x, sx, ox), fmaf(y, sy, oy));
}

__global__ void gather(cudaTextureObject_t t, float4 *o)
{
	o[threadIdx.x] = tex2Dgather<float4>(t, threadIdx.x + 1.0f, 2.0f, 0);
}

struct image {
	std::vector<float> a;
	int w, h, mode;
	bool linear, normalized;

	/* a texel's number along a dimension; -1: the border */
	int folded(int i, int n) const
	{
		if (i >= 0 && i < n)
			return i;
		if (mode == cudaAddressModeBorder)
			return -1;
		if (normalized && mode == cudaAddressModeWrap)
			return (i % n + n) % n;
		if (normalized && mode == cudaAddressModeMirror) {
			i = (i % (2 * n) + 2 * n) % (2 * n);
			return i < n ? i : 2 * n - 1 - i;
		}
		return i < 0 ? 0 : n - 1;
	}
	double texel(int x, int y) const
	{
		x = folded(x, w);
		y = folded(y, h);
		return x < 0 || y < 0 ? 7.25 : a[y * w + x];
	}
	double at(float x, float y) const
	{
		double u = normalized ? (double)x * w : x, v = normalized ? (double)y * h : y, p, q;
		int i, j;

		if (!linear)
			return texel((int)floor(u), (int)floor(v));
		i = (int)floor(u - 0.5);
		j = (int)floor(v - 0.5);
		p = u - 0.5 - i;
		q = v - 0.5 - j;
		return (1 - p) * (1 - q) * texel(i, j) + p * (1 - q) * texel(i + 1, j) + (1 - p) * q * texel(i, j + 1) + p * q * texel(i + 1, j + 1);
	}
};

static void modes(image &m, cudaArray_t array, float *o)
{
	static const char *const names[] = { "wrap", "clamp", "mirror", "border" };
	const int w = 200, h = 150;

	for (int k = 0; k < 16; k++) {
		m.mode = k & 3;
		m.linear = k & 4;
		m.normalized = k & 8;
		float sx = m.normalized ? 3.0f / w : 0.4375f, sy = m.normalized ? 3.0f / h : 0.3125f;
		float ox = m.normalized ? -1.001f : -9.28125f, oy = m.normalized ? -1.003f : -7.15625f;
		cudaTextureObject_t t = texture(of(array), m.mode, m.linear, m.normalized);
		std::vector<float> want(w * h);

		sample<<<dim3(13, 10), dim3(16, 16)>>>(t, o, w, h, sx, sy, ox, oy);
		for (int i = 0; i < w * h; i++)
			want[i] = (float)m.at(fmaf(i % w, sx, ox), fmaf(i / w, sy, oy));
		/* two weights of 9 bits, values up to 10 */
		verdict(std::string("tex2D/") + names[m.mode] + (m.linear ? "/linear" : "/point") + (m.normalized ? "/normalized" : ""),
			most_off(want, fetched(o, w * h)), m.linear ? 0.06 : 0);
		CUDA(cudaDestroyTextureObject(t));
	}
}

static void planes()
{
	image m = { noise(61 * 37), 61, 37, 0, false, false };
	const int w = m.w, h = m.h;
	const size_t row = w * sizeof(float);
	cudaChannelFormatDesc f = cudaCreateChannelDesc<float>(), got;
	float *o = device<float>(200 * 150), *p;
	std::vector<float> back(w * h);
	cudaArray_t array, second;
	cudaResourceDesc r = {};
	cudaExtent extent;
	unsigned flags;
	size_t pitch;
	double e = 0;

	CUDA(cudaMallocArray(&array, &f, w, h));
	CUDA(cudaMemcpy2DToArray(array, 0, 0, m.a.data(), row, row, h, cudaMemcpyHostToDevice));
	CUDA(cudaMemcpy2DFromArray(back.data(), row, array, 0, 0, row, h, cudaMemcpyDeviceToHost));
	verdict("an array there and back", back != m.a);
	CUDA(cudaArrayGetInfo(&got, &extent, &flags, array));
	verdict("cudaArrayGetInfo", extent.width != (size_t)w || extent.height != (size_t)h || got.x != 32 || got.f != cudaChannelFormatKindFloat);
	verdict("beyond an array is refused", cudaMemcpy2DToArray(array, 4, 0, m.a.data(), row, row, h, cudaMemcpyHostToDevice) != cudaErrorInvalidValue);
	(void)cudaGetLastError();
	modes(m, array, o);

	CUDA(cudaMallocArray(&second, &f, w, h, cudaArrayTextureGather));
	CUDA(cudaMemcpy2DArrayToArray(second, 0, 0, array, 0, 0, row, h));
	gather<<<1, 32>>>(texture(of(second), cudaAddressModeClamp, false, false), (float4 *)o);
	std::vector<float> g = fetched(o, 128);
	for (int i = 0; i < 32; i++) {
		const float want[] = { m.a[2 * w + i], m.a[2 * w + i + 1], m.a[w + i + 1], m.a[w + i] };

		for (int k = 0; k < 4; k++)
			e += std::fabs(g[4 * i + k] - want[k]);
	}
	verdict("tex2Dgather", e);

	CUDA(cudaMallocPitch(&p, &pitch, row, h));
	CUDA(cudaMemcpy2D(p, pitch, m.a.data(), row, row, h, cudaMemcpyHostToDevice));
	r.resType = cudaResourceTypePitch2D;
	r.res.pitch2D.devPtr = p;
	r.res.pitch2D.desc = f;
	r.res.pitch2D.width = w;
	r.res.pitch2D.height = h;
	r.res.pitch2D.pitchInBytes = pitch;
	sample<<<dim3(4, 3), dim3(16, 16)>>>(texture(r, cudaAddressModeClamp, true, false), o, w, h, 1, 1, 0.5f, 0.5f);
	verdict("pitched memory, filtered at the centres", most_off(m.a, fetched(o, w * h)));
}

/* ---- three dimensions, layers, cubes ---- */

__global__ void sample3d(cudaTextureObject_t t, float *o, int w, float off)
{
	int x = threadIdx.x, y = blockIdx.y, z = blockIdx.z;

	if (x < w)
		o[(z * gridDim.y + y) * w + x] = tex3D<float>(t, x + off, y + off, z + off);
}

__global__ void layered(cudaTextureObject_t t, float *o, int w)
{
	int x = threadIdx.x, y = blockIdx.y, z = blockIdx.z;

	if (x < w)
		o[(z * gridDim.y + y) * w + x] = tex2DLayered<float>(t, x + 0.5f, y + 0.5f, z);
}

/* the direction to the middle of each texel of each face */
__global__ void cube(cudaTextureObject_t t, float *o)
{
	int n = blockDim.x, f = blockIdx.y;
	float u = (threadIdx.x + 0.5f) / n * 2 - 1, v = (blockIdx.x + 0.5f) / n * 2 - 1, s = f & 1 ? -1 : 1;
	float x = f < 2 ? s : f < 4 ? u : s * u, y = f < 2 ? -v : f < 4 ? s : -v, z = f < 2 ? -s * u : f < 4 ? s * v : s;

	o[(f * n + blockIdx.x) * n + threadIdx.x] = texCubemap<float>(t, x, y, z);
}

static void volumes()
{
	const int w = 17, h = 11, d = 7, n = w * h * d;
	std::vector<float> a = noise(n), want(n), back(n), faces = noise(6 * 16 * 16);
	cudaArray_t array = array3d(a, w, h, d, 0);
	cudaTextureObject_t t = texture(of(array), cudaAddressModeClamp, true, false);
	float *o = device<float>(6 * 16 * 16 + n);
	cudaMemcpy3DParms p = {};
	double e = 0;

	sample3d<<<dim3(1, h, d), 32>>>(t, o, w, 0.5f);
	verdict("tex3D at the centres", most_off(a, fetched(o, n)));
	sample3d<<<dim3(1, h, d), 32>>>(t, o, w, 1);
	for (int i = 0; i < n; i++)
		for (int c = 0; c < 8; c++) {
			int x = std::min(i % w + (c & 1), w - 1), y = std::min(i / w % h + (c >> 1 & 1), h - 1), z = std::min(i / w / h + (c >> 2), d - 1);

			want[i] += a[(z * h + y) * w + x] / 8;
		}
	verdict("tex3D between eight", most_off(want, fetched(o, n)), 1e-5);
	p.srcArray = array;
	p.srcPos = make_cudaPos(3, 2, 1);
	p.dstPtr = make_cudaPitchedPtr(back.data(), w * sizeof(float), w, h);
	p.extent = make_cudaExtent(5, 4, 3);
	p.kind = cudaMemcpyDeviceToHost;
	CUDA(cudaMemcpy3D(&p));
	for (int i = 0; i < 5 * 4 * 3; i++) {
		int x = i % 5, y = i / 5 % 4, z = i / 20;

		e += std::fabs(back[(z * h + y) * w + x] - a[((z + 1) * h + y + 2) * w + x + 3]);
	}
	verdict("part of a 3D array", e);
	CUDA(cudaDestroyTextureObject(t));
	CUDA(cudaFreeArray(array));

	array = array3d(a, w, h, d, cudaArrayLayered);
	layered<<<dim3(1, h, d), 32>>>(texture(of(array), cudaAddressModeClamp, false, false), o, w);
	verdict("tex2DLayered", most_off(a, fetched(o, n)));
	array = array3d(faces, 16, 16, 6, cudaArrayCubemap);
	cube<<<dim3(16, 6), 16>>>(texture(of(array), cudaAddressModeClamp, false, true), o);
	verdict("texCubemap", most_off(faces, fetched(o, faces.size())));
}

/* ---- levels of detail, views, sRGB ---- */

__global__ void lods(cudaTextureObject_t t, float *o, float step, float x, float y)
{
	o[threadIdx.x] = tex2DLod<float>(t, x, y, threadIdx.x * step - 1);
}

__global__ void grads(cudaTextureObject_t t, float *o, float x, float y)
{
	float g = exp2f(threadIdx.x * 0.25f - 1);

	o[threadIdx.x] = tex2DGrad<float>(t, x, y, make_float2(g / 64, 0), make_float2(0, g / 4 / 32));
	o[32 + threadIdx.x] = tex2DGrad<float>(t, x, y, make_float2(g / 4 / 64, 0), make_float2(0, g / 32));
}

__global__ void planes_of(cudaTextureObject_t t, float *o, float lod)
{
	o[threadIdx.x] = tex2DLayeredLod<float>(t, 0.5f, 0.5f, threadIdx.x, lod);
}

__global__ void size_of(cudaTextureObject_t t, int *o)
{
	int w, h, n;

	asm("txq.width.b32 %0, [%1];" : "=r"(w) : "l"(t));
	asm("txq.height.b32 %0, [%1];" : "=r"(h) : "l"(t));
	asm("txq.num_mipmap_levels.b32 %0, [%1];" : "=r"(n) : "l"(t));
	o[0] = w;
	o[1] = h;
	o[2] = n;
}

__global__ void bits(cudaTextureObject_t t, unsigned *o, int w)
{
	o[threadIdx.x] = tex2D<unsigned>(t, threadIdx.x % w + 0.5f, threadIdx.x / w + 0.5f);
}

__global__ void colours(cudaTextureObject_t t, float4 *o)
{
	o[threadIdx.x] = tex2D<float4>(t, threadIdx.x + 0.5f, 0.5f);
}

/* The value that a lod should give where level l is all of value v[l]. */
static double between(const std::vector<double> &v, double lod, double low, double high, bool linear)
{
	lod = std::min(std::max(std::min(std::max(lod, low), high), 0.0), (double)v.size() - 1);
	if (!linear)
		return v[(int)floor(lod + 0.5)];
	int l = std::min((int)lod, (int)v.size() - 2);
	return v[l] + (lod - l) * (v[l + 1] - v[l]);
}

static cudaTextureObject_t levels_of(cudaMipmappedArray_t a, bool linear, float bias, float low, float high, const cudaResourceViewDesc *view = nullptr)
{
	cudaResourceDesc r = {};
	cudaTextureDesc d = {};
	cudaTextureObject_t t;

	r.resType = cudaResourceTypeMipmappedArray;
	r.res.mipmap.mipmap = a;
	for (auto &m : d.addressMode)
		m = cudaAddressModeClamp;
	d.filterMode = cudaFilterModeLinear;
	d.readMode = cudaReadModeElementType;
	d.normalizedCoords = 1;
	d.mipmapFilterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
	d.mipmapLevelBias = bias;
	d.minMipmapLevelClamp = low;
	d.maxMipmapLevelClamp = high;
	CUDA(cudaCreateTextureObject(&t, &r, &d, view));
	return t;
}

static void fill_level(cudaMipmappedArray_t a, int l, int layer, float v, int w, int h)
{
	std::vector<float> all(w * h, v);
	cudaMemcpy3DParms p = {};
	cudaArray_t level;

	CUDA(cudaGetMipmappedArrayLevel(&level, a, l));
	p.srcPtr = make_cudaPitchedPtr(all.data(), w * sizeof(float), w, h);
	p.dstArray = level;
	p.dstPos = make_cudaPos(0, 0, layer);
	p.extent = make_cudaExtent(w, h, 1);
	p.kind = cudaMemcpyHostToDevice;
	CUDA(cudaMemcpy3D(&p));
}

static void detail()
{
	static const float values[] = { 1, 3, -2, 8, 5, 7, 4 };
	const int w = 64, h = 32, n = 64;
	cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
	std::vector<double> v(values, values + 7);
	cudaResourceViewDesc view = {}, back;
	float *o = device<float>(256);
	cudaMipmappedArray_t a;
	cudaTextureObject_t t;
	cudaExtent extent;
	cudaArray_t level;
	double e = 0;

	CUDA(cudaMallocMipmappedArray(&a, &f, make_cudaExtent(w, h, 0), 99));
	verdict("no level beyond the last", cudaGetMipmappedArrayLevel(&level, a, 7) != cudaErrorInvalidValue);
	(void)cudaGetLastError();
	for (int l = 0; l < 7; l++) {
		CUDA(cudaGetMipmappedArrayLevel(&level, a, l));
		CUDA(cudaArrayGetInfo(nullptr, &extent, nullptr, level));
		e += extent.width != (size_t)std::max(w >> l, 1) || extent.height != (size_t)std::max(h >> l, 1);
		fill_level(a, l, 0, values[l], (int)extent.width, (int)extent.height);
	}
	verdict("sizes of levels", e);
	verdict("a level is not freed by itself", cudaFreeArray(level) == cudaSuccess);
	(void)cudaGetLastError();

	for (int k = 0; k < 8; k++) {
		bool linear = k & 1;
		float bias = k & 2 ? 0.75f : 0, low = k & 4 ? 1.5f : 0, high = k & 4 ? 4.25f : 99;
		std::vector<float> want(n);

		t = levels_of(a, linear, bias, low, high);
		lods<<<1, n>>>(t, o, 0.125f, 0.5f, 0.5f);
		for (int i = 0; i < n; i++)
			want[i] = (float)between(v, i * 0.125 - 1 + bias, low, high, linear);
		verdict(std::string("tex2DLod") + (linear ? "/linear" : "/point") + (k & 2 ? "/bias" : "") + (k & 4 ? "/clamped" : ""),
			most_off(want, fetched(o, n)), linear ? 1e-5 : 0);
		CUDA(cudaDestroyTextureObject(t));
	}
	t = levels_of(a, true, 0, 0, 99);
	grads<<<1, 32>>>(t, o, 0.5f, 0.5f);
	std::vector<float> want(64);
	for (int i = 0; i < 64; i++)
		want[i] = (float)between(v, i % 32 * 0.25 - 1, 0, 99, true);
	verdict("tex2DGrad, by the longer one", most_off(want, fetched(o, 64)), 0.05);

	/* levels 2 to 4 as if there were no others */
	view.firstMipmapLevel = 2;
	view.lastMipmapLevel = 4;
	view.width = w;
	view.height = h;
	t = levels_of(a, true, 0, 0, 99, &view);
	lods<<<1, n>>>(t, o, 0.125f, 0.25f, 0.75f);
	for (int i = 0; i < n; i++)
		want[i] = (float)between({ -2, 8, 5 }, i * 0.125 - 1, 0, 99, true);
	verdict("a view of three levels", most_off(want, fetched(o, n)), 1e-5);
	size_of<<<1, 1>>>(t, (int *)o);
	std::vector<int> q = fetched((int *)o, 3);
	verdict("what is asked of it", q[0] != w / 4 || q[1] != h / 4 || q[2] != 3);
	CUDA(cudaGetTextureObjectResourceViewDesc(&back, t));
	verdict("the view as it was given", back.firstMipmapLevel != 2 || back.lastMipmapLevel != 4 || back.width != (size_t)w);
	{
		cudaResourceDesc r = {};
		cudaTextureDesc d = {};

		r.resType = cudaResourceTypeMipmappedArray;
		r.res.mipmap.mipmap = a;
		e = cudaCreateTextureObject(&t, &r, &d, nullptr) != cudaErrorInvalidValue;
		d.normalizedCoords = 1;
		view.lastMipmapLevel = 7;
		e += cudaCreateTextureObject(&t, &r, &d, &view) != cudaErrorInvalidValue;
		view.lastMipmapLevel = 4;
		view.format = cudaResViewFormatFloat2;
		e += cudaCreateTextureObject(&t, &r, &d, &view) != cudaErrorInvalidValue;
		view.format = cudaResViewFormatUnsignedBlockCompressed3;
		e += cudaCreateTextureObject(&t, &r, &d, &view) != cudaErrorNotSupported;
		(void)cudaGetLastError();
		verdict("coordinates in texels, levels, formats that are not", e);
	}
	CUDA(cudaFreeMipmappedArray(a));
	verdict("it is gone", cudaFreeMipmappedArray(a) == cudaSuccess);
	(void)cudaGetLastError();
}

static void layers_and_colours()
{
	const int layers = 5;
	cudaChannelFormatDesc f = cudaCreateChannelDesc<float>(), c4 = cudaCreateChannelDesc<uchar4>();
	cudaResourceViewDesc view = {};
	std::vector<float> want(3);
	float *o = device<float>(4 * 256);
	cudaMipmappedArray_t a;
	cudaTextureObject_t t;
	cudaTextureDesc d = {};
	cudaResourceDesc r;
	cudaArray_t array;
	double e = 0;

	CUDA(cudaMallocMipmappedArray(&a, &f, make_cudaExtent(8, 8, layers), 4, cudaArrayLayered));
	for (int l = 0; l < 4; l++)
		for (int k = 0; k < layers; k++)
			fill_level(a, l, k, (float)(10 * l + k), 8 >> l, 8 >> l);
	view.firstMipmapLevel = 1;
	view.lastMipmapLevel = 3;
	view.firstLayer = 2;
	view.lastLayer = 4;
	t = levels_of(a, false, 0, 0, 99, &view);
	for (int l = 0; l < 3; l++) {
		planes_of<<<1, 3>>>(t, o, (float)l);
		for (int k = 0; k < 3; k++)
			want[k] = (float)(10 * (l + 1) + k + 2);
		e += most_off(want, fetched(o, 3));
	}
	verdict("a view of levels and layers", e);
	CUDA(cudaFreeMipmappedArray(a));

	/* one layer of an array; and its bits as integers */
	std::vector<float> v = noise(4 * 3 * layers);
	array = array3d(v, 4, 3, layers, cudaArrayLayered);
	view = {};
	view.firstLayer = view.lastLayer = 3;
	view.format = cudaResViewFormatUnsignedInt1;
	r = of(array);
	d.readMode = cudaReadModeElementType;
	CUDA(cudaCreateTextureObject(&t, &r, &d, &view));
	bits<<<1, 12>>>(t, (unsigned *)o, 4);
	verdict("bits of one layer", memcmp(fetched(o, 12).data(), &v[4 * 3 * 3], 48) != 0);

	/* all bytes, as sRGB has them; alpha is none */
	std::vector<uchar4> px(256);
	for (int i = 0; i < 256; i++)
		px[i] = make_uchar4(i, 255 - i, i, i);
	CUDA(cudaMallocArray(&array, &c4, 256, 1));
	CUDA(cudaMemcpy2DToArray(array, 0, 0, px.data(), 1024, 1024, 1, cudaMemcpyHostToDevice));
	r = of(array);
	d = {};
	d.readMode = cudaReadModeNormalizedFloat;
	d.sRGB = 1;
	CUDA(cudaCreateTextureObject(&t, &r, &d, nullptr));
	colours<<<1, 256>>>(t, (float4 *)o);
	std::vector<float4> got = fetched((float4 *)o, 256);
	e = 0;
	for (int i = 0; i < 256; i++) {
		auto lin = [](double c) { return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4); };

		e = std::max({ e, std::fabs(got[i].x - lin(i / 255.0)), std::fabs(got[i].y - lin((255 - i) / 255.0)), std::fabs(got[i].w - i / 255.0) });
	}
	verdict("sRGB", e, 1e-6);
}

/* ---- surfaces ---- */

__global__ void turn(cudaSurfaceObject_t in, cudaSurfaceObject_t out, int w, int h)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x < w && y < h) {
		float4 v = surf2Dread<float4>(in, x * (int)sizeof(v), y);

		surf2Dwrite(make_float4(v.x + 1, v.y * 2, v.z - y, x), out, x * (int)sizeof(v), h - 1 - y);
	}
}

__global__ void edges(cudaSurfaceObject_t s, int *o)
{
	int x = ((int)threadIdx.x - 2) * (int)sizeof(int);

	o[threadIdx.x] = surf1Dread<int>(s, x, cudaBoundaryModeZero);
	o[32 + threadIdx.x] = surf1Dread<int>(s, x, cudaBoundaryModeClamp);
	surf1Dwrite(-1, s, x < 0 ? x : x + 4096, cudaBoundaryModeZero);         /* nowhere */
}

__global__ void outside(cudaSurfaceObject_t s, int *o)
{
	*o = surf1Dread<int>(s, 400);
}

static void surfaces()
{
	const int w = 33, h = 21;
	cudaChannelFormatDesc f4 = cudaCreateChannelDesc<float4>(), i1 = cudaCreateChannelDesc<int>();
	std::vector<float> a = noise(4 * w * h), g(4 * w * h);
	cudaArray_t in, out, line;
	cudaSurfaceObject_t si, so, sl;
	cudaResourceDesc r;
	int v[20], *o = device<int>(64);
	double e = 0;

	CUDA(cudaMallocArray(&in, &f4, w, h, cudaArraySurfaceLoadStore));
	CUDA(cudaMallocArray(&out, &f4, w, h, cudaArraySurfaceLoadStore));
	CUDA(cudaMemcpy2DToArray(in, 0, 0, a.data(), w * 16, w * 16, h, cudaMemcpyHostToDevice));
	r = of(in);
	CUDA(cudaCreateSurfaceObject(&si, &r));
	r = of(out);
	CUDA(cudaCreateSurfaceObject(&so, &r));
	turn<<<dim3(3, 2), dim3(16, 16)>>>(si, so, w, h);
	CUDA(cudaMemcpy2DFromArray(g.data(), w * 16, out, 0, 0, w * 16, h, cudaMemcpyDeviceToHost));
	for (int i = 0; i < w * h; i++) {
		const float *s = &a[4 * i], *d = &g[4 * ((h - 1 - i / w) * w + i % w)];

		e += std::fabs(d[0] - (s[0] + 1)) + std::fabs(d[1] - s[1] * 2) + std::fabs(d[2] - (s[2] - i / w)) + std::fabs(d[3] - i % w);
	}
	verdict("surfaces read and written", e);

	std::iota(v, v + 20, 100);
	CUDA(cudaMallocArray(&line, &i1, 20, 0, cudaArraySurfaceLoadStore));
	CUDA(cudaMemcpy2DToArray(line, 0, 0, v, 80, 80, 1, cudaMemcpyHostToDevice));
	r = of(line);
	CUDA(cudaCreateSurfaceObject(&sl, &r));
	edges<<<1, 32>>>(sl, o);
	std::vector<int> got = fetched(o, 64);
	e = 0;
	for (int i = -2; i < 30; i++)
		e += (got[i + 2] != (i >= 0 && i < 20 ? v[i] : 0)) + (got[i + 34] != v[std::min(std::max(i, 0), 19)]);
	verdict("beyond a surface: 0, or its edge", e);
	outside<<<1, 1>>>(sl, o);
	verdict("beyond a surface: a trap", cudaDeviceSynchronize() == cudaSuccess);
}

int main()
{
	linear_memory();
	planes();
	volumes();
	detail();
	layers_and_colours();
	surfaces();             /* last: it ends with a fault */
	return failures != 0;
}
