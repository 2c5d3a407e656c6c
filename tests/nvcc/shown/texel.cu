/* SPDX-License-Identifier: MIT */
/* Texels: every format, dimension and mode, at the middle of texels, between them, at edges, beyond them and at no numbers at all. */
#include "show.h"

/* a coordinate for i: texels, halves, eighths of 1/256, beyond, and what is none */
__device__ static float place(int i, unsigned salt, float size, bool normal)
{
	float x;

	switch (i & 7) {
	case 0: x = (int)(mixed(i + salt) % 40) * (size / 32) - size / 8; break;
	case 1: x = (int)(mixed(i + salt) % 64) / 2.0f - 8; break;
	case 2: x = (int)(mixed(i + salt) % 8192) / 256.0f - 4; break;
	case 3: x = unit(i + salt) * 4 * size - 1.5f * size; break;
	case 4: x = (mixed(i + salt) % 16) + 0.5f + ((int)(mixed(i * 3 + salt) % 33) - 16) / 2048.0f; break;
	default: x = unit(i + salt) * size; break;
	}
	if (i % 61 == 7) x = __int_as_float(0x7fc00000);
	if (i % 61 == 17) x = __int_as_float(0x7f800000);
	if (i % 61 == 27) x = __int_as_float(0xff800000);
	if (i % 61 == 37) x = -1e-8f;
	if (i % 61 == 47) x = 3e9f;
	return normal ? x / size : x;
}
__device__ static void put(unsigned *o, float v) { o[0] = __float_as_uint(v); o[1] = o[2] = o[3] = 0; }
__device__ static void put(unsigned *o, float4 v) { o[0] = __float_as_uint(v.x); o[1] = __float_as_uint(v.y); o[2] = __float_as_uint(v.z); o[3] = __float_as_uint(v.w); }
template<class T> __device__ static void put(unsigned *o, T v) { o[0] = (unsigned)v; o[1] = o[2] = o[3] = 0; }

static cudaTextureObject_t texture(cudaArray_t a, cudaMipmappedArray_t m, int mode, int filter, bool normal, cudaTextureReadMode read, bool srgb = false,
				   int mip = 0)
{
	cudaResourceDesc r = {};
	cudaTextureDesc t = {};
	cudaTextureObject_t o;

	r.resType = m ? cudaResourceTypeMipmappedArray : cudaResourceTypeArray;
	if (m)
		r.res.mipmap.mipmap = m;
	else
		r.res.array.array = a;
	for (int k = 0; k < 3; k++)
		t.addressMode[k] = (cudaTextureAddressMode)mode;
	t.filterMode = (cudaTextureFilterMode)filter;
	t.readMode = read;
	t.sRGB = srgb;
	t.normalizedCoords = normal;
	for (int k = 0; k < 4; k++)
		t.borderColor[k] = 0.25f * (k + 1);
	if (m) {
		t.mipmapFilterMode = (cudaTextureFilterMode)mip;
		t.maxMipmapLevelClamp = 10;
		t.mipmapLevelBias = 0.125f;
	}
	CUDA(cudaCreateTextureObject(&o, &r, &t, NULL));
	return o;
}

static void fill(unsigned char *p, size_t bytes, char kind, unsigned salt)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = mixed(i + salt) >> 11;
	for (size_t i = 0; kind == 'f' && i < bytes / 4; i++)
		((float *)p)[i] = (float)(mixed(i + salt) % 20001) / 16 - 600;
	for (size_t i = 0; kind == 'h' && i < bytes / 2; i++)         /* halves without NaN and infinity */
		((unsigned short *)p)[i] &= 0xbfff;
}

template<class T> static cudaArray_t image(int w, int h, int d, unsigned flags, char kind, cudaChannelFormatDesc c)
{
	cudaArray_t a;
	size_t layers = d ? d : 1, rows = h ? h : 1;
	std::vector<unsigned char> data(sizeof(T) * w * rows * layers);
	cudaMemcpy3DParms p = {};

	fill(data.data(), data.size(), kind, 77);
	CUDA(cudaMalloc3DArray(&a, &c, make_cudaExtent(w, h, d), flags));
	p.srcPtr = make_cudaPitchedPtr(data.data(), sizeof(T) * w, w, rows);
	p.dstArray = a;
	p.extent = make_cudaExtent(w, rows, layers);
	p.kind = cudaMemcpyHostToDevice;
	CUDA(cudaMemcpy3D(&p));
	return a;
}

static const char *const modes[] = { "wrap", "clamp", "mirror", "border" };
enum { N = 1024 };

/* R: what a fetch gives */
template<class T, class R> static void format(const char *name, char kind, cudaTextureReadMode read, cudaChannelFormatDesc c = cudaCreateChannelDesc<T>())
{
	cudaArray_t a2 = image<T>(16, 12, 0, 0, kind, c), a1 = image<T>(16, 0, 0, 0, kind, c), a3 = image<T>(8, 6, 5, 0, kind, c);
	bool linear = read == cudaReadModeNormalizedFloat || kind == 'f' || kind == 'h';

	for (int filter = 0; filter <= linear; filter++)
		for (int mode = 0; mode < 4; mode++)
			for (int normal = 0; normal < 2; normal++) {
				/* wrap and mirror want normalized coordinates, and are clamp without */
				std::string n = std::string(name) + "." + modes[mode] + (filter ? ".linear" : ".point") + (normal ? ".norm" : "");
				cudaTextureObject_t t2 = texture(a2, NULL, mode, filter, normal, read), t1 = texture(a1, NULL, mode, filter, normal, read),
						    t3 = texture(a3, NULL, mode, filter, normal, read);
				run<4>(n + ".2", N, [=] __device__ (int i, unsigned *o) { put(o, tex2D<R>(t2, place(i, 1, 16, normal), place(i, 2, 12, normal))); });
				run<4>(n + ".1", N, [=] __device__ (int i, unsigned *o) { put(o, tex1D<R>(t1, place(i, 1, 16, normal))); });
				run<4>(n + ".3", N, [=] __device__ (int i, unsigned *o) {
					put(o, tex3D<R>(t3, place(i, 1, 8, normal), place(i, 2, 6, normal), place(i, 3, 5, normal)));
				});
				CUDA(cudaDestroyTextureObject(t1));
				CUDA(cudaDestroyTextureObject(t2));
				CUDA(cudaDestroyTextureObject(t3));
			}
}

static void layers()
{
	cudaChannelFormatDesc c = cudaCreateChannelDesc<float>();
	cudaArray_t l2 = image<float>(16, 12, 3, cudaArrayLayered, 'f', c), l1 = image<float>(16, 0, 3, cudaArrayLayered, 'f', c);
	cudaArray_t cube = image<float>(8, 8, 6, cudaArrayCubemap, 'f', c), cubes = image<float>(8, 8, 12, cudaArrayCubemap | cudaArrayLayered, 'f', c);
	cudaArray_t g = image<float>(16, 12, 0, cudaArrayTextureGather, 'f', c), g4 = image<uchar4>(16, 12, 0, cudaArrayTextureGather, 'u', cudaCreateChannelDesc<uchar4>());

	for (int filter = 0; filter < 2; filter++)
		for (int mode = 0; mode < 4; mode++) {
			std::string n = std::string(modes[mode]) + (filter ? ".linear" : ".point");
			cudaTextureObject_t t = texture(l2, NULL, mode, filter, true, cudaReadModeElementType), u = texture(l1, NULL, mode, filter, true, cudaReadModeElementType);
			run<4>("layered2." + n, N, [=] __device__ (int i, unsigned *o) { put(o, tex2DLayered<float>(t, place(i, 1, 16, true), place(i, 2, 12, true), (int)(mixed(i) % 7) - 2)); });
			run<4>("layered1." + n, N, [=] __device__ (int i, unsigned *o) { put(o, tex1DLayered<float>(u, place(i, 1, 16, true), (int)(mixed(i) % 7) - 2)); });
			cudaTextureObject_t k = texture(cube, NULL, mode, filter, true, cudaReadModeElementType), kl = texture(cubes, NULL, mode, filter, true, cudaReadModeElementType);
			run<4>("cube." + n, N, [=] __device__ (int i, unsigned *o) { put(o, texCubemap<float>(k, unit(i) * 2 - 1, unit(i + N) * 2 - 1, unit(i + 2 * N) * 2 - 1)); });
			run<4>("cubes." + n, N, [=] __device__ (int i, unsigned *o) { put(o, texCubemapLayered<float>(kl, unit(i) * 2 - 1, unit(i + N) * 2 - 1, unit(i + 2 * N) * 2 - 1, i % 3)); });
			for (int normal = 0; normal < 2; normal++) {
				cudaTextureObject_t q = texture(g, NULL, mode, filter, normal, cudaReadModeElementType);
				run<4>("gather." + n + (normal ? ".norm" : ""), N, [=] __device__ (int i, unsigned *o) { put(o, tex2Dgather<float4>(q, place(i, 1, 16, normal), place(i, 2, 12, normal))); });
				cudaTextureObject_t q4 = texture(g4, NULL, mode, filter, normal, cudaReadModeNormalizedFloat);
				run<4>("gather4." + n + (normal ? ".norm" : ""), N, [=] __device__ (int i, unsigned *o) { put(o, tex2Dgather<float4>(q4, place(i, 1, 16, normal), place(i, 2, 12, normal), 2)); });
			}
		}
	/* faces meet at edges and corners */
	cudaTextureObject_t e = texture(cube, NULL, cudaAddressModeClamp, 1, true, cudaReadModeElementType);
	run<4>("cube.edges", N, [=] __device__ (int i, unsigned *o) {
		float s[3] = { i & 1 ? 1.f : -1.f, i & 2 ? 1.f : -1.f, i & 4 ? 1.f : -1.f }, d = unit(i) * (i & 8 ? 0.2f : 1e-6f);
		s[mixed(i) % 3] *= 1 - d;
		put(o, texCubemap<float>(e, s[0], s[1], s[2]));
	});
}

static void levels()
{
	cudaChannelFormatDesc c = cudaCreateChannelDesc<float>();
	cudaMipmappedArray_t m;

	CUDA(cudaMallocMipmappedArray(&m, &c, make_cudaExtent(32, 16, 0), 6));
	for (unsigned l = 0; l < 6; l++) {
		cudaArray_t a;
		int w = 32 >> l ? 32 >> l : 1, h = 16 >> l ? 16 >> l : 1;
		std::vector<float> d(w * h);
		CUDA(cudaGetMipmappedArrayLevel(&a, m, l));
		fill((unsigned char *)d.data(), 4 * d.size(), 'f', 1000 * l);
		CUDA(cudaMemcpy2DToArray(a, 0, 0, d.data(), 4 * w, 4 * w, h, cudaMemcpyHostToDevice));
	}
	for (int mip = 0; mip < 2; mip++)
		for (int filter = 0; filter < 2; filter++) {
			std::string n = std::string(mip ? ".linear" : ".point") + (filter ? ".linear" : ".point");
			cudaTextureObject_t t = texture(NULL, m, cudaAddressModeWrap, filter, true, cudaReadModeElementType, false, mip);
			run<4>("lod" + n, N, [=] __device__ (int i, unsigned *o) { put(o, tex2DLod<float>(t, unit(i) * 3 - 1, unit(i + N) * 3 - 1, (int)(mixed(i) % 1800) / 256.0f - 1)); });
			run<4>("grad" + n, N, [=] __device__ (int i, unsigned *o) {
				float s = exp2f((int)(mixed(i) % 9) - 7);
				put(o, tex2DGrad<float>(t, unit(i) * 3 - 1, unit(i + N) * 3 - 1, make_float2(s, s / 2), make_float2(0, s)));
			});
		}
}

/* rows of plain memory, and of pitched memory */
template<class T, class R> static void plain(const char *name, char kind, cudaTextureReadMode read)
{
	T *p;
	size_t pitch;
	std::vector<unsigned char> d(sizeof(T) * 16 * 12);
	cudaResourceDesc r = {};
	cudaTextureDesc t = {};
	cudaTextureObject_t o;

	fill(d.data(), d.size(), kind, 5);
	CUDA(cudaMallocPitch(&p, &pitch, sizeof(T) * 16, 12));
	CUDA(cudaMemcpy2D(p, pitch, d.data(), sizeof(T) * 16, sizeof(T) * 16, 12, cudaMemcpyHostToDevice));
	r.resType = cudaResourceTypePitch2D;
	r.res.pitch2D = { p, cudaCreateChannelDesc<T>(), 16, 12, pitch };
	t.readMode = read;
	t.addressMode[0] = t.addressMode[1] = cudaAddressModeBorder;
	CUDA(cudaCreateTextureObject(&o, &r, &t, NULL));
	run<4>(std::string("pitch.") + name, N, [=] __device__ (int i, unsigned *w) { put(w, tex2D<R>(o, place(i, 1, 16, false), place(i, 2, 12, false))); });
	r = {};
	r.resType = cudaResourceTypeLinear;
	r.res.linear = { p, cudaCreateChannelDesc<T>(), 16 * sizeof(T) };
	CUDA(cudaCreateTextureObject(&o, &r, &t, NULL));
	run<4>(std::string("line.") + name, 64, [=] __device__ (int i, unsigned *w) { put(w, tex1Dfetch<R>(o, i - 16)); });
}

int main()
{
	const cudaTextureReadMode as_is = cudaReadModeElementType, normal = cudaReadModeNormalizedFloat;

	format<float, float>("f32", 'f', as_is);
	format<float4, float4>("f32x4", 'f', as_is);
	format<unsigned short, float>("f16", 'h', as_is, cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindFloat));
	format<unsigned char, float>("u8n", 'u', normal);
	format<signed char, float>("s8n", 'u', normal);
	format<uchar4, float4>("u8x4n", 'u', normal);
	format<unsigned short, float>("u16n", 'u', normal);
	format<short, float>("s16n", 'u', normal);
	format<unsigned char, unsigned char>("u8", 'u', as_is);
	format<int, int>("s32", 'u', as_is);
	layers();
	levels();
	plain<float, float>("f32", 'f', as_is);
	plain<uchar4, float4>("u8x4n", 'u', normal);
	plain<short, float>("s16n", 'u', normal);
	/* sRGB */
	cudaArray_t a = image<uchar4>(16, 12, 0, 0, 'u', cudaCreateChannelDesc<uchar4>());
	for (int filter = 0; filter < 2; filter++) {
		cudaTextureObject_t t = texture(a, NULL, cudaAddressModeClamp, filter, false, normal, true);
		run<4>(filter ? "srgb.linear" : "srgb.point", N, [=] __device__ (int i, unsigned *o) { put(o, tex2D<float4>(t, place(i, 1, 16, false), place(i, 2, 12, false))); });
	}
	return 0;
}
