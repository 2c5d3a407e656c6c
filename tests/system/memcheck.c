/* SPDX-License-Identifier: MIT */
/*
 * memcheck.sh's victim: an allocation of 100 bytes and a kernel that stores word N of it.
 *
 *   memcheck N [freed]     exit 0, or the CUresult of the synchronisation; freed: the memory is given back first
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ptx[] =
	".version 6.4\n.target sm_50\n.address_size 64\n"
	".visible .entry put(.param .u64 p, .param .u32 n)\n{\n"
	"\t.reg .b64 %q<4>;\n\t.reg .b32 %r<2>;\n"
	"\tld.param.u64 %q0, [p];\n\tld.param.u32 %r0, [n];\n"
	"\tmul.wide.u32 %q1, %r0, 4;\n\tadd.u64 %q2, %q0, %q1;\n\tst.global.u32 [%q2], %r0;\n\tret;\n}\n";

#define CK(call) do { CUresult r_ = (call); if (r_) { printf("%s: %d\n", #call, r_); return 250; } } while (0)

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
	CUdeviceptr p;
	CUcontext ctx;
	CUmodule mod;
	CUfunction f;
	CUresult r;
	CUdevice dev;
	void *args[] = { &p, &n };

	CK(cuInit(0));
	CK(cuDeviceGet(&dev, 0));
	CK(cuDevicePrimaryCtxRetain(&ctx, dev));
	CK(cuCtxSetCurrent(ctx));
	CK(cuModuleLoadData(&mod, ptx));
	CK(cuModuleGetFunction(&f, mod, "put"));
	CK(cuMemAlloc(&p, 100));
	if (argc > 2 && !strcmp(argv[2], "freed"))
		CK(cuMemFree(p));
	CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	r = cuCtxSynchronize();
	printf("synchronize: %d\n", r);
	return r == CUDA_SUCCESS ? 0 : r == CUDA_ERROR_ILLEGAL_ADDRESS ? 1 : 2;
}
