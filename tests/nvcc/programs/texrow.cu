// SPDX-License-Identifier: MIT
// Textures read by whole warps: where all threads name one object the engine reads for all at once, else a thread at a time. Both are to
// give the same bits, of every format, mode and dimension, wherever the coordinates point; texture.cu has the formulas.
#include <cuda_runtime.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"

static const int N = 4096, W = 13, H = 7, D = 5;

enum dims { LINE, PLANE, SPACE, LINES, PLANES };

struct where {
	const float *x, *y, *z;
};

template <class T> __device__ T fetched(cudaTextureObject_t t, int dims, float x, float y, float z, int layer)
{
	switch (dims) {
	case LINE: return tex1D<T>(t, x);
	case PLANE: return tex2D<T>(t, x, y);
	case SPACE: return tex3D<T>(t, x, y, z);
	case LINES: return tex1DLayered<T>(t, x, layer);
	default: return tex2DLayered<T>(t, x, y, layer);
	}
}

// out[i]: by all threads of a warp with one object; out[N + i]: neighbours have two, of the same texels
template <class T> __global__ void both(cudaTextureObject_t a, cudaTextureObject_t b, where w, T *out, int dims)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= N - 5 || i % 67 == 3)
		return;
	out[i] = fetched<T>(a, dims, w.x[i], w.y[i], w.z[i], i % 9 - 2);
	out[N + i] = fetched<T>(threadIdx.x & 1 ? a : b, dims, w.x[i], w.y[i], w.z[i], i % 9 - 2);
}

template <class T> __global__ void both_fetch(cudaTextureObject_t a, cudaTextureObject_t b, T *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, at = i % 300 - 50;

	out[i] = tex1Dfetch<T>(a, at);
	out[N + i] = tex1Dfetch<T>(threadIdx.x & 1 ? a : b, at);
}

static where points;

template <class T> static size_t differ(cudaTextureObject_t a, cudaTextureObject_t b, int dims, bool fetch = false)
{
	std::vector<unsigned char> got(2 * N * sizeof(T));
	size_t wrong = 0;
	T *out;

	CUDA(cudaMalloc(&out, got.size()));
	CUDA(cudaMemset(out, 0x5a, got.size()));
	if (fetch)
		both_fetch<T><<<N / 128, 128>>>(a, b, out);
	else
		both<T><<<N / 128, 128>>>(a, b, points, out, dims);
	CUDA(cudaMemcpy(got.data(), out, got.size(), cudaMemcpyDeviceToHost));
	CUDA(cudaFree(out));
	for (int i = 0; i < N; i++)
		wrong += !!memcmp(&got[i * sizeof(T)], &got[(N + i) * sizeof(T)], sizeof(T));
	return wrong;
}

static cudaTextureObject_t object(const cudaResourceDesc &r, int mode, bool linear, bool normalized, bool unit, bool srgb)
{
	cudaTextureDesc d = {};
	cudaTextureObject_t t;

	d.addressMode[0] = d.addressMode[1] = (cudaTextureAddressMode)mode;
	d.addressMode[2] = (cudaTextureAddressMode)((mode + 1) % 4);
	d.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
	d.readMode = unit ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
	d.normalizedCoords = normalized;
	d.sRGB = srgb;
	for (int i = 0; i < 4; i++)
		d.borderColor[i] = 3.25f + i;
	CUDA(cudaCreateTextureObject(&t, &r, &d, nullptr));
	return t;
}

// T: what the texels are read as, where that is no float from 0 to 1
template <class T, class READ> static void format(const char *name, bool unit, bool filters, bool srgb = false,
						  cudaChannelFormatDesc f = cudaCreateChannelDesc<T>())
{
	std::vector<T> texels(W * H * D);
	size_t wrong = 0;

	for (size_t i = 0; i < sizeof(T) * texels.size(); i++)
		((unsigned char *)texels.data())[i] = (unsigned char)(i * 37 + i / 11);
	if (f.f == cudaChannelFormatKindFloat && f.x == 32)
		for (size_t i = 0; i < texels.size() * sizeof(T) / 4; i++)
			((float *)texels.data())[i] = i % 29 ? std::sin(i * 1.7f) * 100 : INFINITY;
	for (int dims = LINE; dims <= PLANES; dims++) {
		bool layers = dims >= LINES;
		cudaExtent e = make_cudaExtent(W, dims == LINE || dims == LINES ? 0 : H, dims >= SPACE ? D : 0);
		cudaMemcpy3DParms c = {};
		cudaResourceDesc r = {};
		cudaArray_t array;

		CUDA(cudaMalloc3DArray(&array, &f, e, layers ? cudaArrayLayered : 0));
		c.srcPtr = make_cudaPitchedPtr(texels.data(), W * sizeof(T), W, H);
		c.dstArray = array;
		c.extent = make_cudaExtent(W, e.height ? e.height : 1, e.depth ? e.depth : 1);
		c.kind = cudaMemcpyHostToDevice;
		CUDA(cudaMemcpy3D(&c));
		r.resType = cudaResourceTypeArray;
		r.res.array.array = array;
		for (int how = 0; how < 16; how++) {
			bool linear = how & 8, normalized = how & 4;

			if (linear && !filters)
				continue;
			cudaTextureObject_t a = object(r, how & 3, linear, normalized, unit, srgb), b = object(r, how & 3, linear, normalized, unit, srgb);

			wrong += differ<READ>(a, b, dims);
			CUDA(cudaDestroyTextureObject(a));
			CUDA(cudaDestroyTextureObject(b));
		}
		CUDA(cudaFreeArray(array));
	}
	cudaResourceDesc r = {};
	T *p;

	CUDA(cudaMalloc(&p, 200 * sizeof(T)));
	CUDA(cudaMemcpy(p, texels.data(), 200 * sizeof(T), cudaMemcpyHostToDevice));
	r.resType = cudaResourceTypeLinear;
	r.res.linear.devPtr = p;
	r.res.linear.desc = f;
	r.res.linear.sizeInBytes = 200 * sizeof(T);
	cudaTextureObject_t a = object(r, 1, false, false, unit, false), b = object(r, 1, false, false, unit, false);

	wrong += differ<READ>(a, b, LINE, true);
	CUDA(cudaFree(p));
	failures += wrong != 0;
	printf(wrong ? "FAIL %s: %zu reads differ\n" : "ok %s\n", name, wrong);
}

int main()
{
	std::vector<float> x[3];
	float *p[3];

	for (int d = 0; d < 3; d++) {
		x[d].resize(N);
		for (int i = 0; i < N; i++) {
			float v = std::sin(i * (1.3f + d)) * 1.7f;

			x[d][i] = i % 3 ? v : v * 12;
		}
		for (int i = 0; i < 40; i++)            /* on texels, between them, and where nothing is */
			x[d][i] = (i - 10) * 0.5f;
		x[d][41 + d] = NAN, x[d][45 + d] = INFINITY, x[d][49 + d] = -INFINITY, x[d][53 + d] = 1e30f, x[d][57 + d] = -3e9f, x[d][61 + d] = -0.0f;
		CUDA(cudaMalloc(&p[d], N * 4));
		CUDA(cudaMemcpy(p[d], x[d].data(), N * 4, cudaMemcpyHostToDevice));
	}
	points = { p[0], p[1], p[2] };
	format<float, float>("float", false, true);
	format<float4, float4>("float4", false, true);
	format<unsigned short, float>("half", false, true, false, cudaCreateChannelDescHalf());
	format<uchar4, float4>("bytes as 0 to 1", true, true);
	format<uchar4, float4>("sRGB", true, true, true);
	format<char2, float2>("signed bytes as -1 to 1", true, true);
	format<unsigned short, float>("shorts as 0 to 1", true, true);
	format<short4, float4>("signed shorts as -1 to 1", true, true);
	format<uchar4, uchar4>("bytes", false, false);
	format<short2, short2>("signed shorts", false, false);
	format<uint4, uint4>("integers", false, false);
	format<float2, float4>("two floats, read as four", false, true);
	return failures != 0;
}
