/* SPDX-License-Identifier: MIT */
/*
 * References to textures and surfaces (.texref, .surfref): bound to memory in a row, to rows with a pitch, to arrays and to levels, each read as
 * the CUDA C++ Programming Guide's "Texture Fetching" says; bound anew between launches of one kernel; what the Driver API's documentation
 * says is refused. There is a name of each kind in two modules: each is its module's own.
 */
#include <math.h>

#include "drv.h"

static const char ptx[] =
	".version 6.4\n.target sm_61\n.address_size 64\n"
	".visible .global .texref t;\n.global .texref other;\n.global .surfref s;\n.visible .global .u32 plain;\n"
	/* out[i] = t at element i */
	".visible .entry row(.param .u64 o)\n{\n	.reg .b32 %r<3>;\n	.reg .f32 %f<5>;\n	.reg .b64 %rd<3>;\n"
	"	ld.param.u64 %rd1, [o];\n	mov.u32 %r1, %tid.x;\n	mul.wide.u32 %rd2, %r1, 16;\n	add.s64 %rd1, %rd1, %rd2;\n"
	"	tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, {%r1}];\n	st.global.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};\n	ret;\n}\n"
	/* out[i] = t at (x + i / 4 * step, y) */
	".visible .entry plane(.param .u64 o, .param .f32 x, .param .f32 y, .param .f32 step)\n{\n"
	"	.reg .b32 %r<3>;\n	.reg .f32 %f<9>;\n	.reg .b64 %rd<4>;\n"
	"	ld.param.u64 %rd1, [o];\n	ld.param.f32 %f5, [x];\n	ld.param.f32 %f6, [y];\n	ld.param.f32 %f7, [step];\n"
	"	mov.u32 %r1, %tid.x;\n	mul.wide.u32 %rd2, %r1, 16;\n	add.s64 %rd1, %rd1, %rd2;\n"
	"	cvt.rn.f32.u32 %f8, %r1;\n	fma.rn.f32 %f5, %f8, %f7, %f5;\n"
	"	tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f5, %f6}];\n	st.global.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};\n	ret;\n}\n"
	/* the same by a register that holds the name, and what t is asked for */
	".visible .entry named(.param .u64 o)\n{\n	.reg .b32 %r<4>;\n	.reg .f32 %f<5>;\n	.reg .b64 %rd<4>;\n"
	"	ld.param.u64 %rd1, [o];\n	mov.u32 %r1, %tid.x;\n	mul.wide.u32 %rd2, %r1, 16;\n	add.s64 %rd1, %rd1, %rd2;\n"
	"	mov.u64 %rd3, t;\n	cvt.rn.f32.u32 %f1, %r1;\n	mov.f32 %f2, 0f00000000;\n"
	"	tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd3, {%f1, %f2}];\n"
	"	txq.width.b32 %r2, [t];\n	txq.height.b32 %r3, [t];\n	cvt.rn.f32.u32 %f2, %r2;\n	cvt.rn.f32.u32 %f3, %r3;\n"
	"	st.global.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};\n	ret;\n}\n"
	/* s at (i, 1) is what it was and i more; what it was goes out */
	".visible .entry surface(.param .u64 o)\n{\n	.reg .b32 %r<6>;\n	.reg .b64 %rd<3>;\n"
	"	ld.param.u64 %rd1, [o];\n	mov.u32 %r1, %tid.x;\n	mul.wide.u32 %rd2, %r1, 16;\n	add.s64 %rd1, %rd1, %rd2;\n"
	"	mov.u32 %r2, 1;\n	shl.b32 %r3, %r1, 2;\n	suld.b.2d.b32.trap %r4, [s, {%r3, %r2}];\n	st.global.u32 [%rd1], %r4;\n"
	"	add.u32 %r5, %r4, %r1;\n	sust.b.2d.b32.trap [s, {%r3, %r2}], %r5;\n	suq.width.b32 %r5, [s];\n	st.global.u32 [%rd1+4], %r5;\n	ret;\n}\n";

#define W 64u
#define H 3u
static CUdeviceptr out;
static CUfunction row, plane, named, surface;
static float got[W][4];

static void read_out(void)
{
	CK(cuMemcpyDtoH(got, out, sizeof(got)));
}

static void run(CUfunction f, float x, float y, float step)
{
	void *args[] = { &out, &x, &y, &step };

	CK(cuMemsetD8(out, 0xff, sizeof(got)));
	CK(cuLaunchKernel(f, 1, 1, 1, W, 1, 1, 0, NULL, args, NULL));
	read_out();
}

static void is(unsigned int i, unsigned int c, float want, const char *what)
{
	if (!(fabsf(got[i][c] - want) <= 1e-6f * fabsf(want)))
		e2e_fail("%s: %u.%u is %g, want %g", what, i, c, (double)got[i][c], (double)want);
}

static void names(CUmodule mod, CUmodule second)
{
	CUtexref t, u, v;
	CUsurfref s;
	CUdeviceptr p;
	size_t n;

	CK(cuModuleGetTexRef(&t, mod, "t"));
	CK(cuModuleGetTexRef(&u, mod, "t"));
	CK(cuModuleGetTexRef(&v, second, "t"));
	if (t != u || t == v)
		e2e_fail("a reference is one to a name and a module");
	WANT(CUDA_ERROR_NOT_FOUND, cuModuleGetTexRef(&t, mod, "absent"));
	WANT(CUDA_ERROR_NOT_FOUND, cuModuleGetTexRef(&t, mod, "s"));
	WANT(CUDA_ERROR_NOT_FOUND, cuModuleGetTexRef(&t, mod, "plain"));
	WANT(CUDA_ERROR_INVALID_VALUE, cuModuleGetTexRef(NULL, mod, "t"));
	WANT(CUDA_ERROR_INVALID_VALUE, cuModuleGetTexRef(&t, mod, NULL));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuModuleGetTexRef(&t, (CUmodule)&n, "t"));
	WANT(CUDA_ERROR_NOT_FOUND, cuModuleGetSurfRef(&s, mod, "t"));
	WANT(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&p, &n, mod, "t"));
	WANT(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&p, &n, mod, "s"));
	CK(cuModuleGetGlobal(&p, &n, mod, "plain"));
}

/* One, two and four channels; bytes that are numbers from 0 to 1; an address between two that are aligned; what lies beyond. */
static void in_a_row(CUtexref t)
{
	float f[W], wide[W][4];
	unsigned char bytes[W][2];
	CUarray_format format;
	CUdeviceptr d, p;
	int channels;
	size_t off;
	CUarray a;

	for (unsigned int i = 0; i < W; i++) {
		f[i] = (float)i * 1.5f - 7;
		bytes[i][0] = (unsigned char)(i * 4);
		bytes[i][1] = (unsigned char)(255 - i);
		for (unsigned int c = 0; c < 4; c++)
			wide[i][c] = (float)(10 * i + c);
	}
	CK(cuMemAlloc(&d, sizeof(wide)));
	CK(cuMemcpyHtoD(d, f, sizeof(f)));
	CK(cuTexRefSetAddress(&off, t, d, 40 * 4));     /* its format comes later */
	if (off)
		e2e_fail("memory of cuMemAlloc's has an offset");
	CK(cuTexRefSetFormat(t, CU_AD_FORMAT_FLOAT, 1));
	CK(cuTexRefGetFormat(&format, &channels, t));
	CK(cuTexRefGetAddress(&p, t));
	if (format != CU_AD_FORMAT_FLOAT || channels != 1 || p != d)
		e2e_fail("it forgets what it is bound to");
	WANT(CUDA_ERROR_INVALID_VALUE, cuTexRefGetArray(&a, t));
	run(row, 0, 0, 0);
	for (unsigned int i = 0; i < W; i++)
		is(i, 0, i < 40 ? f[i] : 0, "a row of floats");
	WANT(CUDA_ERROR_INVALID_VALUE, cuTexRefSetAddress(NULL, t, d + 4, 20));
	CK(cuTexRefSetAddress(&off, t, d + 4, 20 * 4));
	run(row, 0, 0, 0);
	for (unsigned int i = 0; i < 20; i++)
		is(i + (unsigned int)off / 4, 0, f[i + 1], "an address that is not aligned");
	CK(cuMemcpyHtoD(d, wide, sizeof(wide)));
	CK(cuTexRefSetFormat(t, CU_AD_FORMAT_FLOAT, 4));
	CK(cuTexRefSetAddress(&off, t, d, sizeof(wide)));
	run(row, 0, 0, 0);
	for (unsigned int i = 0; i < W; i++)
		for (unsigned int c = 0; c < 4; c++)
			is(i, c, wide[i][c], "four channels");
	CK(cuMemcpyHtoD(d, bytes, sizeof(bytes)));
	CK(cuTexRefSetFormat(t, CU_AD_FORMAT_UNSIGNED_INT8, 2));
	CK(cuTexRefSetAddress(&off, t, d, sizeof(bytes)));
	run(row, 0, 0, 0);
	for (unsigned int i = 0; i < W; i++) {
		is(i, 0, (float)bytes[i][0] / 255, "bytes as 0 to 1");
		is(i, 1, (float)bytes[i][1] / 255, "bytes as 0 to 1");
	}
	WANT(CUDA_ERROR_INVALID_VALUE, cuTexRefSetFormat(t, CU_AD_FORMAT_FLOAT, 3));
	WANT(CUDA_ERROR_INVALID_VALUE, cuTexRefSetFormat(t, (CUarray_format)0x77, 1));
	WANT(CUDA_ERROR_INVALID_VALUE, cuTexRefSetAddress(&off, t, 16, 4));
	WANT(CUDA_ERROR_INVALID_VALUE, cuTexRefSetAddress(&off, t, d, sizeof(wide) + 1));
	CK(cuMemFree(d));
}

/* An array, and rows with a pitch, with the same texels x + 100 y, read in all the ways that there are. */
static void in_a_plane(CUtexref t)
{
	CUDA_ARRAY_DESCRIPTOR d = { .Width = W, .Height = H, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
	CUDA_MEMCPY2D m = { .srcMemoryType = CU_MEMORYTYPE_HOST, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .srcPitch = W * 4, .WidthInBytes = W * 4, .Height = H };
	float texels[H][W], border[4] = { 5, 6, 7, 8 }, back[4];
	CUaddress_mode mode;
	CUdeviceptr rows;
	CUarray a, b;
	size_t pitch;
	unsigned int flags;

	for (unsigned int y = 0; y < H; y++)
		for (unsigned int x = 0; x < W; x++)
			texels[y][x] = (float)(x + 100 * y);
	CK(cuArrayCreate(&a, &d));
	CK(cuMemAllocPitch(&rows, &pitch, W * 4, H, 4));
	m.srcHost = texels;
	m.dstArray = a;
	CK(cuMemcpy2D(&m));
	m.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	m.dstDevice = rows;
	m.dstPitch = pitch;
	CK(cuMemcpy2D(&m));
	CK(cuTexRefSetFlags(t, 0));
	for (int k = 0; k < 2; k++) {
		const char *what = k ? "rows with a pitch" : "an array";

		if (k)
			CK(cuTexRefSetAddress2D(t, &d, rows, pitch));
		else
			CK(cuTexRefSetArray(t, a, CU_TRSA_OVERRIDE_FORMAT));
		CK(cuTexRefSetFilterMode(t, CU_TR_FILTER_MODE_POINT));
		CK(cuTexRefSetAddressMode(t, 0, CU_TR_ADDRESS_MODE_CLAMP));
		run(plane, -2.5f, 1.5f, 1);
		for (unsigned int i = 0; i < W; i++)
			is(i, 0, 100 + (i < 2 ? 0 : (float)i - 3 + (i == 2)), what);
		CK(cuTexRefSetFilterMode(t, CU_TR_FILTER_MODE_LINEAR));
		run(plane, 0.75f, 1.0f, 1);
		for (unsigned int i = 0; i + 1 < W; i++)
			is(i, 0, 50 + (float)i + 0.25f, "between four texels");
		CK(cuTexRefSetFilterMode(t, CU_TR_FILTER_MODE_POINT));
		CK(cuTexRefSetAddressMode(t, 0, CU_TR_ADDRESS_MODE_BORDER));
		CK(cuTexRefSetBorderColor(t, border));
		run(plane, -1.5f, 0.5f, 1);
		is(0, 0, 5, "a border");
		is(2, 0, 0, "within a border");
		CK(cuTexRefSetFlags(t, CU_TRSF_NORMALIZED_COORDINATES));
		CK(cuTexRefSetAddressMode(t, 0, CU_TR_ADDRESS_MODE_WRAP));
		run(plane, 1.0f + 0.5f / W, 0.99f, 1.0f / W);
		for (unsigned int i = 0; i < W; i++)
			is(i, 0, 200 + (float)i, "coordinates from 0 to 1 that wrap");
		CK(cuTexRefSetAddressMode(t, 0, CU_TR_ADDRESS_MODE_MIRROR));
		run(plane, 1.0f + 0.5f / W, 0.1f, 1.0f / W);
		for (unsigned int i = 0; i < W; i++)
			is(i, 0, (float)(W - 1 - i), "a mirror");
		CK(cuTexRefSetFlags(t, 0));
		CK(cuTexRefSetAddressMode(t, 0, CU_TR_ADDRESS_MODE_CLAMP));
	}
	run(named, 0, 0, 0);
	is(5, 0, 5, "by a register");
	is(5, 1, W, "the width");
	is(5, 2, H, "the height");
	CK(cuTexRefGetBorderColor(back, t));
	CK(cuTexRefGetAddressMode(&mode, t, 0));
	CK(cuTexRefGetFlags(&flags, t));
	if (back[2] != 7 || mode != CU_TR_ADDRESS_MODE_CLAMP || flags)
		e2e_fail("it forgets how it is read");
	CK(cuTexRefSetArray(t, a, CU_TRSA_OVERRIDE_FORMAT));
	CK(cuTexRefGetArray(&b, t));
	if (a != b)
		e2e_fail("it forgets its array");
	WANT(CUDA_ERROR_INVALID_VALUE, cuTexRefSetArray(t, a, 0));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuTexRefSetArray(t, (CUarray)&b, CU_TRSA_OVERRIDE_FORMAT));
	WANT(CUDA_ERROR_INVALID_VALUE, cuTexRefSetAddress2D(t, NULL, rows, pitch));
	WANT(CUDA_ERROR_INVALID_VALUE, cuTexRefSetAddress2D(t, &d, rows, 8));
	WANT(CUDA_ERROR_INVALID_VALUE, cuTexRefSetAddressMode(t, 3, CU_TR_ADDRESS_MODE_WRAP));
	WANT(CUDA_ERROR_INVALID_VALUE, cuTexRefSetAddressMode(t, 0, (CUaddress_mode)4));
	WANT(CUDA_ERROR_INVALID_VALUE, cuTexRefSetFilterMode(t, (CUfilter_mode)2));
	WANT(CUDA_ERROR_INVALID_VALUE, cuTexRefSetFlags(t, 0x100));
	CK(cuParamSetTexRef(plane, CU_PARAM_TR_DEFAULT, t));
	WANT(CUDA_ERROR_INVALID_VALUE, cuParamSetTexRef(plane, 0, t));
	CK(cuMemFree(rows));
}

/* One kernel, launched after each of many bindings, none of which is waited for. */
static void anew(CUtexref t)
{
	void *args[] = { &out };
	CUdeviceptr d, o;
	float all[W], back[W][4];

	for (unsigned int i = 0; i < W; i++)
		all[i] = (float)i;
	CK(cuMemAlloc(&d, W * 256));
	CK(cuMemAlloc(&o, W * sizeof(got)));
	CK(cuMemsetD8(d, 0, W * 256));
	for (unsigned int k = 0; k < W; k++)
		CK(cuMemcpyHtoD(d + k * 256, all + k, 4));
	CK(cuTexRefSetFormat(t, CU_AD_FORMAT_FLOAT, 1));
	for (unsigned int k = 0; k < W; k++) {
		CUdeviceptr to = o + k * sizeof(got);

		args[0] = &to;
		CK(cuTexRefSetAddress(NULL, t, d + k * 256, 4));
		CK(cuLaunchKernel(row, 1, 1, 1, W, 1, 1, 0, NULL, args, NULL));
	}
	for (unsigned int k = 0; k < W; k++) {
		CK(cuMemcpyDtoH(back, o + k * sizeof(got), sizeof(back)));
		if (back[0][0] != (float)k || back[1][0] != 0)
			e2e_fail("launch %u read %g, %g", k, (double)back[0][0], (double)back[1][0]);
	}
	CK(cuMemFree(d));
	CK(cuMemFree(o));
}

static void surfaces(CUmodule mod)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { .Width = W, .Height = H, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1, .Flags = CUDA_ARRAY3D_SURFACE_LDST };
	CUDA_MEMCPY2D m = { .srcMemoryType = CU_MEMORYTYPE_HOST, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .srcPitch = W * 4, .WidthInBytes = W * 4, .Height = H };
	unsigned int texels[H][W], was[W][4];
	CUarray a, b;
	CUsurfref s;

	for (unsigned int i = 0; i < H * W; i++)
		texels[i / W][i % W] = 0x01020304u * (i + 1);
	CK(cuModuleGetSurfRef(&s, mod, "s"));
	WANT(CUDA_ERROR_INVALID_VALUE, cuSurfRefGetArray(&b, s));
	CK(cuArray3DCreate(&a, &d));
	d.Flags = 0;
	CK(cuArray3DCreate(&b, &d));
	m.srcHost = texels;
	m.dstArray = a;
	CK(cuMemcpy2D(&m));
	WANT(CUDA_ERROR_INVALID_VALUE, cuSurfRefSetArray(s, b, 0));
	WANT(CUDA_ERROR_INVALID_VALUE, cuSurfRefSetArray(s, a, 1));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuTexRefSetArray((CUtexref)s, a, CU_TRSA_OVERRIDE_FORMAT));
	CK(cuSurfRefSetArray(s, a, 0));
	CK(cuSurfRefGetArray(&b, s));
	if (a != b)
		e2e_fail("a surface forgets its array");
	run(surface, 0, 0, 0);
	memcpy(was, got, sizeof(was));
	m = (CUDA_MEMCPY2D){ .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = a, .dstMemoryType = CU_MEMORYTYPE_HOST, .dstPitch = W * 4, .WidthInBytes = W * 4, .Height = H };
	{
		unsigned int now[H][W];

		m.dstHost = now;
		CK(cuMemcpy2D(&m));
		for (unsigned int y = 0; y < H; y++)
			for (unsigned int x = 0; x < W; x++)
				if (now[y][x] != texels[y][x] + (y == 1 ? x : 0))
					e2e_fail("the surface at %u, %u is 0x%x", x, y, now[y][x]);
	}
	for (unsigned int x = 0; x < W; x++)
		if (was[x][0] != texels[1][x] || was[x][1] != W)
			e2e_fail("the surface was read as 0x%x at %u, its width as %u", was[x][0], x, was[x][1]);
}

int main(void)
{
	CUcontext ctx = drv_start("texref");
	CUmodule mod, second, third;
	CUtexref t, made;
	int v;

	CK(cuModuleLoadData(&mod, ptx));
	CK(cuModuleLoadData(&second, ptx));
	CK(cuModuleGetFunction(&row, mod, "row"));
	CK(cuModuleGetFunction(&plane, mod, "plane"));
	CK(cuModuleGetFunction(&named, mod, "named"));
	CK(cuModuleGetFunction(&surface, mod, "surface"));
	CK(cuMemAlloc(&out, sizeof(got)));
	names(mod, second);
	CK(cuModuleGetTexRef(&t, mod, "t"));
	in_a_row(t);
	in_a_plane(t);
	anew(t);
	surfaces(mod);
	CK(cuModuleLoadData(&third, ptx));
	CK(cuModuleGetTexRef(&made, third, "t"));
	CK(cuModuleUnload(third));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuTexRefSetFlags(made, 0));
	CK(cuTexRefCreate(&made));
	CK(cuTexRefSetMaxAnisotropy(made, 4));
	CK(cuTexRefGetMaxAnisotropy(&v, made));
	if (v != 4)
		e2e_fail("it forgets its anisotropy");
	WANT(CUDA_ERROR_INVALID_HANDLE, cuTexRefDestroy(t));
	CK(cuTexRefDestroy(made));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuTexRefDestroy(made));
	(void)ctx;
	return e2e_end("rows, planes, surfaces and names");
}
