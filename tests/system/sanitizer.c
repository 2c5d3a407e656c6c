/* SPDX-License-Identifier: MIT */
/*
 * sanitizer.sh's victims, one a word: what vgpu sanitizer has to find, or has to say nothing about.
 *
 *   sanitizer CASE     exit 0, whatever the kernels did; 250 where a call failed that may not
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* _Z4scanIfLi2EEvPKT_PS0_j: void scan<float, 2>(float const*, float*, unsigned int), *to = from[n] */
static const char ptx[] =
	".version 6.4\n.target sm_50\n.address_size 64\n"
	".visible .entry _Z4scanIfLi2EEvPKT_PS0_j(.param .u64 from, .param .u64 to, .param .u32 n)\n{\n"
	"\t.reg .b64 %q<5>;\n\t.reg .b32 %r<3>;\n"
	"\tld.param.u64 %q0, [from];\n\tld.param.u64 %q1, [to];\n\tld.param.u32 %r0, [n];\n"
	"\tmul.wide.u32 %q2, %r0, 4;\n\tadd.u64 %q3, %q0, %q2;\n"
	"\tld.global.u32 %r1, [%q3];\n\tst.global.u32 [%q1], %r1;\n\tret;\n}\n"
	".visible .entry add(.param .u64 to)\n{\n\t.reg .b64 %q<2>;\n\t.reg .b32 %r<2>;\n"
	"\tld.param.u64 %q0, [to];\n\tatom.global.add.u32 %r0, [%q0], 1;\n\tret;\n}\n"
	/* two warps write one word */
	".visible .entry race()\n{\n\t.shared .align 4 .b32 sh[1];\n\t.reg .b32 %r<2>;\n\t.reg .b64 %q<2>;\n"
	"\tmov.u64 %q0, sh;\n\tmov.u32 %r0, %tid.x;\n\tst.shared.u32 [%q0], %r0;\n\tret;\n}\n";

#define CK(call) do { CUresult r_ = (call); if (r_) { printf("%s: %d\n", #call, r_); return 250; } } while (0)

static CUmodule mod;
static CUdeviceptr a, b;

__attribute__((noinline)) static int forgetful(void)
{
	CUdeviceptr p;

	CK(cuMemAlloc(&p, 1234));
	return 0;
}

/* calls that fail: of a size, then many */
__attribute__((noinline)) static int careless(int times)
{
	CUdeviceptr p;

	for (int i = 0; i < times; i++)
		if (cuMemAlloc(&p, 0) != CUDA_ERROR_INVALID_VALUE)
			return 250;
	return 0;
}

static int launch(const char *name, unsigned threads, unsigned n)
{
	void *args[] = { &a, &b, &n };
	CUfunction f;

	if (!strcmp(name, "add"))
		args[0] = &b;
	CK(cuModuleGetFunction(&f, mod, name));
	CK(cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, NULL, args, NULL));
	cuCtxSynchronize();
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	const char *scan = "_Z4scanIfLi2EEvPKT_PS0_j";
	unsigned host[64] = { 0 };
	CUcontext ctx;
	CUdevice dev;

	CK(cuInit(0));
	CK(cuDeviceGet(&dev, 0));
	CK(cuDevicePrimaryCtxRetain(&ctx, dev));
	CK(cuCtxSetCurrent(ctx));
	CK(cuModuleLoadData(&mod, ptx));
	CK(cuMemAlloc(&a, 256));
	CK(cuMemAlloc(&b, 256));
	if (!strcmp(what, "unwritten") && launch(scan, 1, 3))
		return 250;
	if (!strcmp(what, "outside") && launch(scan, 1, 64))
		return 0;
	if (!strcmp(what, "atomic") && launch("add", 1, 0))
		return 250;
	if (!strcmp(what, "race") && launch("race", 64, 0))
		return 250;
	if (!strcmp(what, "part")) {            /* words 0 to 9 are written, the tenth is not */
		CK(cuMemcpyHtoD(a, host, 40));
		if (launch(scan, 1, 9) || launch(scan, 1, 10))
			return 250;
	}
	if (!strcmp(what, "out"))
		CK(cuMemcpyDtoH(host, a, 256));
	if (!strcmp(what, "moved")) {           /* within the device it stays what it is */
		CK(cuMemcpyHtoD(a, host, 40));
		CK(cuMemcpyDtoD(b, a, 256));
		CK(cuMemcpyDtoH(host, b, 40));
		CK(cuMemcpyDtoH(host, b + 40, 4));
	}
	if (!strcmp(what, "written")) {         /* by all that writes: copies, fills, kernels */
		CK(cuMemsetD32(a, 7, 16));
		CK(cuMemcpyHtoD(a + 64, host, 192));
		if (launch(scan, 1, 3) || launch(scan, 1, 60))
			return 250;
		CK(cuMemcpyDtoH(host, b, 4));
		CK(cuMemcpyDtoD(b + 4, a, 252));
		CK(cuMemcpyDtoH(host, b, 256));
		if (launch("add", 1, 0))
			return 250;
	}
	if (!strcmp(what, "careless") && careless(1))
		return 250;
	if (!strcmp(what, "heedless") && careless(1000))
		return 250;
	if (!strcmp(what, "polls")) {           /* NOT_READY is an answer */
		CUstream s;
		CUevent e;

		CK(cuStreamCreate(&s, 0));
		CK(cuEventCreate(&e, 0));
		for (int i = 0; i < 64; i++)
			CK(cuMemsetD8Async(a, 1, 256, s));
		CK(cuEventRecord(e, s));
		cuStreamQuery(s);
		while (cuEventQuery(e) == CUDA_ERROR_NOT_READY)
			;
	}
	if (!strcmp(what, "leak") && forgetful())
		return 250;
	if (!strcmp(what, "reset")) {           /* contexts end with what is in them */
		if (forgetful())
			return 250;
		CK(cuDevicePrimaryCtxReset(dev));
		return 0;
	}
	if (strcmp(what, "outside")) {
		CK(cuMemFree(a));
		CK(cuMemFree(b));
		puts("victim: done");
	}
	return 0;
}
