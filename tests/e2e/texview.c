/* SPDX-License-Identifier: MIT */
/*
 * Resource views of textures: the same bits in another format, layers of some, what the Driver API's documentation says must be equal. Dr.Jit
 * and others give every texture a view of its own format.
 */
#include "drv.h"

static const char ptx[] =
	".version 6.4\n.target sm_61\n.address_size 64\n"
	".visible .entry fetch(.param .u64 t, .param .u64 o, .param .u32 layer)\n{\n"
	"	.reg .b32 %r<10>;\n	.reg .b64 %rd<6>;\n"
	"	ld.param.u64 %rd1, [t];\n	ld.param.u64 %rd2, [o];\n	ld.param.u32 %r5, [layer];\n"
	"	mov.u32 %r1, %tid.x;\n	mov.u32 %r2, 0;\n"
	"	mul.wide.u32 %rd3, %r1, 16;\n	add.s64 %rd2, %rd2, %rd3;\n"
	"	tex.a2d.v4.u32.s32 {%r6, %r7, %r8, %r9}, [%rd1, {%r5, %r1, %r2, %r2}];\n"
	"	st.global.v4.u32 [%rd2], {%r6, %r7, %r8, %r9};\n	ret;\n}\n"
	".visible .entry flat(.param .u64 t, .param .u64 o, .param .u32 layer)\n{\n"
	"	.reg .b32 %r<10>;\n	.reg .b64 %rd<6>;\n"
	"	ld.param.u64 %rd1, [t];\n	ld.param.u64 %rd2, [o];\n"
	"	mov.u32 %r1, %tid.x;\n	mov.u32 %r2, 0;\n"
	"	mul.wide.u32 %rd3, %r1, 16;\n	add.s64 %rd2, %rd2, %rd3;\n"
	"	tex.2d.v4.u32.s32 {%r6, %r7, %r8, %r9}, [%rd1, {%r1, %r2}];\n"
	"	st.global.v4.u32 [%rd2], {%r6, %r7, %r8, %r9};\n	ret;\n}\n";

#define W 8u
#define LAYERS 5u
static CUdeviceptr out;
static CUfunction fetch, flat;
static unsigned int got[W][4];

static CUresult object(CUtexObject *t, CUarray a, const CUDA_RESOURCE_VIEW_DESC *v)
{
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
	CUDA_TEXTURE_DESC d = { .flags = CU_TRSF_READ_AS_INTEGER, .addressMode = { CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP } };

	r.res.array.hArray = a;
	return cuTexObjectCreate(t, &r, &d, v);
}

static void run(CUfunction f, CUtexObject t, int layer)
{
	void *args[] = { &t, &out, &layer };

	CK(cuLaunchKernel(f, 1, 1, 1, W, 1, 1, 0, NULL, args, NULL));
	CK(cuMemcpyDtoH(got, out, sizeof(got)));
}

static void is(unsigned int x, unsigned int c, unsigned int want, const char *what)
{
	if (got[x][c] != want)
		e2e_fail("%s: texel %u channel %u is 0x%x, want 0x%x", what, x, c, got[x][c], want);
}

int main(void)
{
	CUcontext ctx = drv_start("texview");
	CUDA_ARRAY3D_DESCRIPTOR layered = { .Width = W, .Height = 1, .Depth = LAYERS, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1,
					    .Flags = CUDA_ARRAY3D_LAYERED };
	CUDA_ARRAY_DESCRIPTOR plain = { .Width = W, .Height = 1, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
	CUDA_RESOURCE_VIEW_DESC v = { .format = CU_RES_VIEW_FORMAT_FLOAT_1X32, .width = W, .height = 1 }, w;
	CUDA_RESOURCE_DESC linear = { .resType = CU_RESOURCE_TYPE_LINEAR };
	CUDA_TEXTURE_DESC d = { .flags = CU_TRSF_READ_AS_INTEGER };
	CUDA_MEMCPY3D m = { .srcMemoryType = CU_MEMORYTYPE_HOST, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .srcPitch = W * 4, .srcHeight = 1, .WidthInBytes = W * 4,
			    .Height = 1, .Depth = LAYERS };
	unsigned int texels[LAYERS][W], x, c;
	CUarray a, b;
	CUtexObject t;
	CUmodule mod;

	for (x = 0; x < LAYERS * W; x++)
		texels[x / W][x % W] = 0x81000200u + x * 0x01010101u;
	CK(cuModuleLoadData(&mod, ptx));
	CK(cuModuleGetFunction(&fetch, mod, "fetch"));
	CK(cuModuleGetFunction(&flat, mod, "flat"));
	CK(cuMemAlloc(&out, sizeof(got)));
	CK(cuArrayCreate(&a, &plain));
	CK(cuArray3DCreate(&b, &layered));
	CK(cuMemcpyHtoA(a, 0, texels, sizeof(texels[0])));
	m.srcHost = texels;
	m.dstArray = b;
	CK(cuMemcpy3D(&m));

	/* its own format: nothing changes */
	CK(object(&t, a, &v));
	run(flat, t, 0);
	for (x = 0; x < W; x++)
		is(x, 0, texels[0][x], "own format");
	CK(cuTexObjectGetResourceViewDesc(&w, t));
	if (w.format != v.format || w.width != W || w.height != 1)
		e2e_fail("another view comes back");
	CK(cuTexObjectDestroy(t));
	CK(object(&t, a, NULL));
	WANT(CUDA_ERROR_INVALID_VALUE, cuTexObjectGetResourceViewDesc(&w, t));
	CK(cuTexObjectDestroy(t));

	/* the same bits, other elements: signed ones are extended by their sign */
	v.format = CU_RES_VIEW_FORMAT_UINT_4X8;
	CK(object(&t, a, &v));
	run(flat, t, 0);
	for (x = 0; x < W; x++)
		for (c = 0; c < 4; c++)
			is(x, c, texels[0][x] >> 8 * c & 0xff, "bytes");
	CK(cuTexObjectDestroy(t));
	v.format = CU_RES_VIEW_FORMAT_SINT_2X16;
	CK(object(&t, a, &v));
	run(flat, t, 0);
	for (x = 0; x < W; x++)
		for (c = 0; c < 2; c++)
			is(x, c, (unsigned int)(int)(short)(texels[0][x] >> 16 * c), "signed halves of words");
	CK(cuTexObjectDestroy(t));

	/* what must be equal */
	v.format = CU_RES_VIEW_FORMAT_FLOAT_2X32;
	WANT(CUDA_ERROR_INVALID_VALUE, object(&t, a, &v));
	v.format = CU_RES_VIEW_FORMAT_FLOAT_1X16;
	WANT(CUDA_ERROR_INVALID_VALUE, object(&t, a, &v));
	v.format = CU_RES_VIEW_FORMAT_FLOAT_1X32;
	v.width = W / 2;
	WANT(CUDA_ERROR_INVALID_VALUE, object(&t, a, &v));
	v.width = W;
	v.height = 2;
	WANT(CUDA_ERROR_INVALID_VALUE, object(&t, a, &v));
	v.height = 1;
	v.lastMipmapLevel = 1;
	WANT(CUDA_ERROR_INVALID_VALUE, object(&t, a, &v));
	v.lastMipmapLevel = 0;
	v.lastLayer = 1;
	WANT(CUDA_ERROR_INVALID_VALUE, object(&t, a, &v));
	v.lastLayer = 0;
	v.format = (CUresourceViewFormat)0x23;
	WANT(CUDA_ERROR_INVALID_VALUE, object(&t, a, &v));
	v.format = CU_RES_VIEW_FORMAT_FLOAT_1X32;
	linear.res.linear.devPtr = out;
	linear.res.linear.format = CU_AD_FORMAT_FLOAT;
	linear.res.linear.numChannels = 1;
	linear.res.linear.sizeInBytes = W * 4;
	WANT(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&t, &linear, &d, &v));

	/* layers 2 and 3 of 5, from 0 on; the index is clamped to those that are seen */
	v = (CUDA_RESOURCE_VIEW_DESC){ .format = CU_RES_VIEW_FORMAT_SINT_1X32, .width = W, .height = 1, .depth = LAYERS, .firstLayer = 2, .lastLayer = 3 };
	CK(object(&t, b, &v));
	for (int layer = 0; layer < 4; layer++) {
		run(fetch, t, layer);
		for (x = 0; x < W; x++)
			is(x, 0, texels[layer > 1 ? 3 : 2 + layer][x], "layers");
	}
	CK(cuTexObjectDestroy(t));
	v.lastLayer = LAYERS;
	WANT(CUDA_ERROR_INVALID_VALUE, object(&t, b, &v));
	v.firstLayer = 4;
	v.lastLayer = 3;
	WANT(CUDA_ERROR_INVALID_VALUE, object(&t, b, &v));

	CK(cuArrayDestroy(a));
	CK(cuArrayDestroy(b));
	CK(cuMemFree(out));
	CK(cuCtxDestroy(ctx));
	return e2e_end("a texture of %u texels by six views", W);
}
