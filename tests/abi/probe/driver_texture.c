/* SPDX-License-Identifier: MIT */
/* The driver probe: arrays, mipmapped ones, texture and surface objects, texture references. */
#include "driver.h"

GROUP(arrays)
{
	CUarray a = NULL;
	CUDA_ARRAY_DESCRIPTOR o;
	CUDA_ARRAY3D_DESCRIPTOR o3;
	static const int formats[] = { 0, 1, 2, 3, 4, 8, 9, 10, 0x10, 0x20, 0x21, 0xb0, 0xc0, 0xc3, 0x91, 0xff };

	start();
	for (size_t f = 0; f < NEL(formats); f++)
		for (unsigned int n = 0; n < 6; n++) {
			CUDA_ARRAY_DESCRIPTOR d = { 16, 16, (CUarray_format)formats[f], n };

			tag("format %d, channels %u", formats[f], n);
			R(cuArrayCreate_v2(&a, &d));
		}
	static const size_t sizes[][2] = { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 }, { 131072, 0 }, { 131073, 0 }, { 131072, 2 }, { 131073, 2 }, { 2, 65536 }, { 2, 65537 }, { SIZE_MAX, 1 }, { 1 << 20, 1 << 20 } };
	for (size_t i = 0; i < NEL(sizes); i++) {
		CUDA_ARRAY_DESCRIPTOR d = { sizes[i][0], sizes[i][1], CU_AD_FORMAT_UNSIGNED_INT8, 1 };

		tag("%zu by %zu", sizes[i][0], sizes[i][1]);
		R(cuArrayCreate_v2(&a, &d));
	}
	static const struct { size_t w, h, d; unsigned int f; } t[] = { { 16, 16, 16, 0 }, { 16, 0, 0, 0 }, { 16, 16, 0, 0 }, { 16, 0, 16, 0 }, { 0, 0, 16, 0 }, { 16384, 2, 2, 0 }, { 16385, 2, 2, 0 }, { 2, 16384, 2, 0 }, { 2, 16385, 2, 0 }, { 2, 2, 16384, 0 }, { 2, 2, 16385, 0 },
		{ 16, 16, 4, 1 }, { 16, 0, 4, 1 }, { 16, 16, 0, 1 }, { 16, 16, 2048, 1 }, { 16, 16, 2049, 1 }, { 32768, 16, 2, 1 }, { 32769, 16, 2, 1 }, { 16, 16, 4, 2 }, { 32768, 16, 0, 2 }, { 131072, 2, 0, 2 }, { 16, 16, 6, 4 }, { 16, 16, 5, 4 }, { 16, 8, 6, 4 }, { 16, 16, 12, 5 }, { 16, 16, 10, 5 },
		{ 16, 16, 0, 4 }, { 16, 16, 6, 6 }, { 16, 16, 0, 8 }, { 16, 16, 4, 8 }, { 16, 0, 0, 8 }, { 32768, 16, 0, 8 }, { 32769, 2, 0, 8 }, { 16, 16, 0, 0x10 }, { 16, 16, 0, 0x20 }, { 1024, 1024, 0, 0x40 }, { 16, 16, 0, 0x80 }, { 16, 16, 0, 0x100 }, { 16, 16, 0, 0x1000 } };
	for (size_t i = 0; i < NEL(t); i++) {
		CUDA_ARRAY3D_DESCRIPTOR d = { t[i].w, t[i].h, t[i].d, CU_AD_FORMAT_FLOAT, 1, t[i].f };
		CUDA_ARRAY_SPARSE_PROPERTIES sp;
		CUDA_ARRAY_MEMORY_REQUIREMENTS mr;

		tag("%zu %zu %zu, flags %u", t[i].w, t[i].h, t[i].d, t[i].f);
		a = NULL;
		R(cuArray3DCreate_v2(&a, &d));
		if (!a)
			continue;
		RV(cuArrayGetDescriptor_v2(&o, a), "%zu %zu", o.Width, o.Height);
		RV(cuArray3DGetDescriptor_v2(&o3, a), "%zu %zu %zu, flags %u", o3.Width, o3.Height, o3.Depth, o3.Flags);
		R(cuArrayGetSparseProperties(&sp, a));
		R(cuArrayGetMemoryRequirements(&mr, a, 0));
		CUarray pl = NULL;
		R(cuArrayGetPlane(&pl, a, 0));
		R(cuArrayDestroy(a));
	}
	CUDA_ARRAY_DESCRIPTOR d = { 16, 16, CU_AD_FORMAT_FLOAT, 1 };
	tag("%s", "");
	R(cuArrayCreate_v2(NULL, &d));
	R(cuArrayCreate_v2(&a, NULL));
	R(cuArrayDestroy(NULL));
	R(cuArrayCreate_v2(&a, &d));
	R(cuArrayGetDescriptor_v2(NULL, a));
	R(cuArrayGetDescriptor_v2(&o, NULL));
	R(cuArrayDestroy(a));
	R(cuArrayDestroy(a));
	R(cuArrayGetDescriptor_v2(&o, a));
}

GROUP(mipmaps)
{
	CUmipmappedArray m = NULL;
	CUarray l = NULL, l2 = NULL;
	CUDA_ARRAY3D_DESCRIPTOR d = { 64, 32, 0, CU_AD_FORMAT_FLOAT, 1, 0 }, o;

	start();
	for (unsigned int n = 0; n < 10; n++) {
		tag("%u levels", n);
		R(cuMipmappedArrayCreate(&m, &d, n));
	}
	for (unsigned int i = 0; i < 9; i++) {
		tag("level %u", i);
		R(cuMipmappedArrayGetLevel(&l, m, i));
		RV(cuArray3DGetDescriptor_v2(&o, l), "%zu %zu %zu, flags %u", o.Width, o.Height, o.Depth, o.Flags);
	}
	tag("%s", "");
	R(cuMipmappedArrayGetLevel(&l, m, 1));
	RV(cuMipmappedArrayGetLevel(&l2, m, 1), "same %d", l == l2);
	R(cuMipmappedArrayGetLevel(NULL, m, 1));
	R(cuMipmappedArrayGetLevel(&l, NULL, 1));
	R(cuArrayDestroy(l));
	R(cuMipmappedArrayCreate(NULL, &d, 1));
	R(cuMipmappedArrayCreate(&m, NULL, 1));
	d.Width = 0;
	R(cuMipmappedArrayCreate(&m, &d, 1));
	d.Width = 32768, d.Height = 16;
	R(cuMipmappedArrayCreate(&m, &d, 2));
	d.Width = 32769;
	R(cuMipmappedArrayCreate(&m, &d, 2));
	R(cuMipmappedArrayDestroy(m));
	R(cuMipmappedArrayDestroy(NULL));
}

GROUP(textures)
{
	CUarray a = NULL, u = NULL;
	CUDA_ARRAY3D_DESCRIPTOR ad = { 16, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0 }, ud = { 16, 16, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST };
	CUDA_RESOURCE_DESC r, ro;
	CUDA_TEXTURE_DESC t, to;
	CUDA_RESOURCE_VIEW_DESC v;
	CUtexObject x = 0;
	CUsurfObject s = 0;
	CUdeviceptr p;

	start();
	p = alloc(1 << 20);
	cuArray3DCreate_v2(&a, &ad);
	cuArray3DCreate_v2(&u, &ud);
	for (int mode = -1; mode < 6; mode++)
		for (int fi = -1; fi < 3; fi++)
			for (int k = 0; k < 4; k++)
				for (unsigned int fl = 0; fl < 4; fl++) {
					memset(&r, 0, sizeof r);
					memset(&t, 0, sizeof t);
					if (k < 2)
						r.res.array.hArray = k ? u : a;
					else if (k == 2) {
						r.resType = CU_RESOURCE_TYPE_LINEAR;
						r.res.linear.devPtr = p, r.res.linear.format = CU_AD_FORMAT_FLOAT, r.res.linear.numChannels = 1, r.res.linear.sizeInBytes = 4096;
					} else {
						r.resType = CU_RESOURCE_TYPE_PITCH2D;
						r.res.pitch2D.devPtr = p, r.res.pitch2D.format = CU_AD_FORMAT_UNSIGNED_INT8, r.res.pitch2D.numChannels = 1;
						r.res.pitch2D.width = 64, r.res.pitch2D.height = 16, r.res.pitch2D.pitchInBytes = 512;
					}
					t.addressMode[0] = t.addressMode[1] = t.addressMode[2] = (CUaddress_mode)mode;
					t.filterMode = (CUfilter_mode)fi;
					t.flags = fl;
					if ((mode < 0 || mode > 3) && (fi || fl))
						continue;
					if (fi < 0 && fl)
						continue;
					tag("resource %d, mode %d, filter %d, flags %u", k, mode, fi, fl);
					R(cuTexObjectCreate(&x, &r, &t, NULL));
				}
	memset(&t, 0, sizeof t);
	static const struct { size_t off, n; int f; unsigned int ch; } lt[] = { { 0, 0, 0x20, 1 }, { 0, 4, 0x20, 1 }, { 4, 4096, 0x20, 1 }, { 16, 4096, 0x20, 1 }, { 256, 4096, 0x20, 1 }, { 512, 4096, 0x20, 1 }, { 0, 4097, 0x20, 1 }, { 0, 2 << 20, 0x20, 1 }, { 0, (size_t)1 << 40, 0x20, 1 }, { 0, 4096, 0x20, 2 }, { 0, 4096, 0x20, 3 }, { 0, 4096, 0x20, 4 }, { 0, 4096, 0, 1 }, { 0, 4096, 0x20, 0 } };
	for (size_t i = 0; i < NEL(lt); i++) {
		memset(&r, 0, sizeof r);
		r.resType = CU_RESOURCE_TYPE_LINEAR;
		r.res.linear.devPtr = p + lt[i].off, r.res.linear.format = (CUarray_format)lt[i].f, r.res.linear.numChannels = lt[i].ch, r.res.linear.sizeInBytes = lt[i].n;
		tag("linear %zu", i);
		R(cuTexObjectCreate(&x, &r, &t, NULL));
	}
	static const struct { size_t off, w, h, pi; } pt[] = { { 0, 64, 16, 512 }, { 0, 64, 16, 256 }, { 0, 64, 16, 32 }, { 0, 64, 16, 64 }, { 0, 64, 16, 65 }, { 0, 64, 16, 100 }, { 0, 0, 16, 512 }, { 0, 64, 0, 512 }, { 64, 64, 16, 512 }, { 512, 64, 16, 512 }, { 0, 600, 16, 512 }, { 0, 131072, 1, 131072 }, { 0, 131073, 1, 131104 }, { 0, 64, 4096, 512 }, { 0, 64, 65001, 32 } };
	for (size_t i = 0; i < NEL(pt); i++) {
		memset(&r, 0, sizeof r);
		r.resType = CU_RESOURCE_TYPE_PITCH2D;
		r.res.pitch2D.devPtr = p + pt[i].off, r.res.pitch2D.format = CU_AD_FORMAT_UNSIGNED_INT8, r.res.pitch2D.numChannels = 1;
		r.res.pitch2D.width = pt[i].w, r.res.pitch2D.height = pt[i].h, r.res.pitch2D.pitchInBytes = pt[i].pi;
		tag("pitch %zu", i);
		R(cuTexObjectCreate(&x, &r, &t, NULL));
	}
	memset(&r, 0, sizeof r);
	r.res.array.hArray = a;
	for (unsigned int fl = 1; fl < 0x200; fl <<= 1) {
		t.flags = fl;
		tag("flag 0x%x", fl);
		R(cuTexObjectCreate(&x, &r, &t, NULL));
	}
	t.flags = 0;
	for (unsigned int an = 0; an < 18; an += 8) {
		t.maxAnisotropy = an + (an == 16);
		tag("anisotropy %u", t.maxAnisotropy);
		R(cuTexObjectCreate(&x, &r, &t, NULL));
	}
	t.maxAnisotropy = 0;
	t.reserved[3] = 1;
	tag("reserved");
	R(cuTexObjectCreate(&x, &r, &t, NULL));
	t.reserved[3] = 0;
	r.flags = 1;
	R(cuTexObjectCreate(&x, &r, &t, NULL));
	r.flags = 0;
	for (int i = 0; i < 40; i += 3) {
		memset(&v, 0, sizeof v);
		v.format = (CUresourceViewFormat)i, v.width = 16, v.height = 16;
		tag("view %d", i);
		R(cuTexObjectCreate(&x, &r, &t, &v));
	}
	tag("view");
	memset(&v, 0, sizeof v);
	v.format = CU_RES_VIEW_FORMAT_FLOAT_1X32, v.width = 16, v.height = 16;
	R(cuTexObjectCreate(&x, &r, &t, &v));
	R(cuTexObjectGetResourceViewDesc(&v, x));
	v.width = 32;
	R(cuTexObjectCreate(&x, &r, &t, &v));
	v.width = 16, v.depth = 4;
	R(cuTexObjectCreate(&x, &r, &t, &v));
	v.depth = 0, v.lastLayer = 2;
	R(cuTexObjectCreate(&x, &r, &t, &v));
	tag("%s", "");
	R(cuTexObjectCreate(&x, &r, &t, NULL));
	RV(cuTexObjectGetResourceDesc(&ro, x), "type %d, array same %d", ro.resType, ro.res.array.hArray == a);
	RV(cuTexObjectGetTextureDesc(&to, x), "mode %d %d %d, filter %d, flags %u", to.addressMode[0], to.addressMode[1], to.addressMode[2], to.filterMode, to.flags);
	R(cuTexObjectGetResourceViewDesc(&v, x));
	R(cuTexObjectGetResourceDesc(NULL, x));
	R(cuTexObjectGetResourceDesc(&ro, 0));
	R(cuTexObjectCreate(NULL, &r, &t, NULL));
	R(cuTexObjectCreate(&x, NULL, &t, NULL));
	R(cuTexObjectCreate(&x, &r, NULL, NULL));
	r.res.array.hArray = NULL;
	R(cuTexObjectCreate(&x, &r, &t, NULL));
	r.resType = 7;
	R(cuTexObjectCreate(&x, &r, &t, NULL));
	R(cuTexObjectDestroy(x));
	R(cuTexObjectDestroy(0));
	R(cuTexObjectDestroy(x));
	tag("surface");
	for (int k = 0; k < 5; k++) {
		memset(&r, 0, sizeof r);
		r.resType = (CUresourcetype)(k > 1 ? k - 1 : 0);
		r.res.array.hArray = k == 0 ? a : k == 1 ? u : NULL;
		tag("surface %d", k);
		R(cuSurfObjectCreate(&s, &r));
	}
	r.resType = 0, r.res.array.hArray = u;
	R(cuSurfObjectCreate(&s, &r));
	RV(cuSurfObjectGetResourceDesc(&ro, s), "type %d, array same %d", ro.resType, ro.res.array.hArray == u);
	R(cuSurfObjectCreate(NULL, &r));
	R(cuSurfObjectCreate(&s, NULL));
	R(cuArrayDestroy(u));
	R(cuSurfObjectDestroy(s));
	R(cuSurfObjectDestroy(0));
}

GROUP(texrefs)
{
	void *t = NULL, *a = NULL;
	int v = 0;
	size_t z = 0;

	start();
	D(cuTexRefCreate, (void **), (&t));
	D(cuTexRefSetArray, (void *, void *, unsigned int), (t, a, 1));
	D(cuTexRefSetAddress_v2, (size_t *, void *, CUdeviceptr, size_t), (&z, t, alloc(4096), 4096));
	D(cuTexRefSetFormat, (void *, int, int), (t, CU_AD_FORMAT_FLOAT, 1));
	D(cuTexRefSetFormat, (void *, int, int), (t, 0, 1));
	D(cuTexRefSetAddressMode, (void *, int, int), (t, 0, 1));
	D(cuTexRefSetAddressMode, (void *, int, int), (t, 3, 1));
	D(cuTexRefSetAddressMode, (void *, int, int), (t, 0, 9));
	D(cuTexRefGetAddressMode, (int *, void *, int), (&v, t, 0));
	D(cuTexRefSetFilterMode, (void *, int), (t, 1));
	D(cuTexRefSetFilterMode, (void *, int), (t, 5));
	D(cuTexRefGetFilterMode, (int *, void *), (&v, t));
	D(cuTexRefSetFlags, (void *, unsigned int), (t, 1));
	D(cuTexRefSetFlags, (void *, unsigned int), (t, 0x100));
	D(cuTexRefGetFlags, (int *, void *), (&v, t));
	D(cuTexRefSetMaxAnisotropy, (void *, unsigned int), (t, 4));
	D(cuTexRefGetFormat, (int *, int *, void *), (&v, &v, t));
	D(cuTexRefGetArray, (void **, void *), (&a, t));
	D(cuTexRefDestroy, (void *), (t));
}
