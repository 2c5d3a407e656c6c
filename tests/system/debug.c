/* SPDX-License-Identifier: MIT */
/*
 * debug.sh's program: kernels whose values are known at every place, with lines of a "program" that the script writes.
 *
 *   debug DIR [fault | spin | set FILE | flag FILE]
 *      DIR has the lines' file, sum.cu; fault: it reads far outside, after 64 MiB were allocated; spin: a kernel without an end; set: the
 *      same fault, with a core asked for by cuCoredumpSetAttribute; flag: by a flag of the context
 *   exit 0 right, 1 the fault's error came, 2 anything else
 */
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ptx[] =
	".version 6.4\n.target sm_50\n.address_size 64\n"
	".func (.reg .b32 %out) square(.reg .b32 %in)\n{\n"                                     /* line 4 */
	"\t.reg .b32 %s<3>;\n"
	"\t.loc 1 3 2\n"
	"\tmul.lo.s32 %s1, %in, %in;\n"
	"\t.loc 1 4 2\n"
	"\tmov.b32 %out, %s1;\n"
	"\tret;\n}\n"                                                                           /* 11 */
	".visible .entry _Z3sumPiS_i(.param .u64 to, .param .u64 from, .param .u32 n)\n{\n"     /* 13 */
	"\t.reg .pred %p<3>;\n\t.reg .b32 %r<10>;\n\t.reg .f32 %f<3>;\n\t.reg .b64 %rd<8>;\n"
	"\t.shared .align 4 .b8 part[256];\n"
	"\t.loc 1 8 2\n"
	"\tld.param.u64 %rd1, [to];\n\tld.param.u64 %rd2, [from];\n\tld.param.u32 %r1, [n];\n"  /* 20 */
	"\tmov.u32 %r2, %tid.x;\n\tmov.u32 %r3, %ctaid.x;\n"
	"\tmov.u32 %r4, %ntid.x;\n\tmad.lo.s32 %r5, %r3, %r4, %r2;\n"                           /* 26 */
	"\t.loc 1 9 2\n"
	"\tmul.wide.s32 %rd3, %r5, 4;\n\tadd.s64 %rd4, %rd2, %rd3;\n\tld.global.u32 %r6, [%rd4];\n"
	"\t.loc 1 10 3\n"
	"\tcall (%r7), square, (%r6);\n"                                                        /* 32 */
	"\t.loc 1 11 2\n"
	"\tmul.wide.u32 %rd5, %r2, 4;\n\tmov.u64 %rd6, part;\n\tadd.s64 %rd6, %rd6, %rd5;\n"
	"\tst.shared.u32 [%rd6], %r7;\n\tcvt.rn.f32.s32 %f1, %r7;\n"                            /* 38 */
	"\tbar.sync 0;\n"
	"\t.loc 1 12 2\n"
	"\tmov.u32 %r8, 0;\nAGAIN:\n"
	"\t.loc 1 13 3\n"
	"\tadd.s32 %r8, %r8, 1;\n\tsetp.lt.s32 %p1, %r8, %r1;\n\t@%p1 bra AGAIN;\n"             /* 46 */
	"\t.loc 1 14 2\n"
	"\tadd.s32 %r7, %r7, %r8;\n\tadd.s64 %rd7, %rd1, %rd3;\n\tst.global.u32 [%rd7], %r7;\n"
	"\tret;\n}\n"
	".visible .entry spin()\n{\n\t.reg .b32 %r<2>;\n\tmov.u32 %r1, 0;\nL:\n\tadd.s32 %r1, %r1, 1;\n\tbra L;\n}\n";

#define N 64
#define CK(call) do { CUresult r_ = (call); if (r_) { printf("%s: %d\n", #call, r_); return 2; } } while (0)

/* Each attribute is what was set, and what cannot be is refused; 0 or a line. */
static int attributes(const char *file)
{
	bool yes = true, no = false, is = false;
	size_t one = sizeof(bool), n = 0, name = strlen(file) + 1, room;
	char text[1024] = "";
	int flags = 0, all = CU_COREDUMP_SKIP_SHARED_MEMORY | CU_COREDUMP_SKIP_ABORT;
	size_t four = sizeof(int);

#define WANT(r, call) do { CUresult r_ = (call); if (r_ != (r)) { printf("%s: %d\n", #call, r_); return __LINE__; } } while (0)
	WANT(CUDA_SUCCESS, cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &is, &one));
	if (is)
		return __LINE__;
	WANT(CUDA_SUCCESS, cuCoredumpGetAttribute(CU_COREDUMP_FILE, NULL, &n));
	if (n != 1024)
		return __LINE__;
	WANT(CUDA_SUCCESS, cuCoredumpSetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &yes, &one));
	WANT(CUDA_SUCCESS, cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &is, &one));
	if (!is)
		return __LINE__;
	WANT(CUDA_SUCCESS, cuCoredumpGetAttributeGlobal(CU_COREDUMP_ENABLE_ON_EXCEPTION, &is, &one));
	if (is)
		return __LINE__;
	WANT(CUDA_SUCCESS, cuCoredumpSetAttribute(CU_COREDUMP_FILE, (void *)(uintptr_t)file, &name));
	room = sizeof(text);
	WANT(CUDA_SUCCESS, cuCoredumpGetAttribute(CU_COREDUMP_FILE, text, &room));
	if (strcmp(text, file))
		return __LINE__;
	room = 3;
	WANT(CUDA_ERROR_INVALID_VALUE, cuCoredumpGetAttribute(CU_COREDUMP_FILE, text, &room));
	WANT(CUDA_SUCCESS, cuCoredumpSetAttribute(CU_COREDUMP_GENERATION_FLAGS, &all, &four));
	WANT(CUDA_SUCCESS, cuCoredumpGetAttribute(CU_COREDUMP_GENERATION_FLAGS, &flags, &four));
	WANT(CUDA_SUCCESS, cuCoredumpGetAttribute(CU_COREDUMP_TRIGGER_HOST, &is, &one));
	if (flags != all || is)
		return __LINE__;
	flags = 0x40;
	WANT(CUDA_ERROR_INVALID_VALUE, cuCoredumpSetAttribute(CU_COREDUMP_GENERATION_FLAGS, &flags, &four));
	WANT(CUDA_ERROR_INVALID_VALUE, cuCoredumpSetAttribute((CUcoredumpSettings)0, &yes, &one));
	WANT(CUDA_ERROR_INVALID_VALUE, cuCoredumpSetAttribute(CU_COREDUMP_MAX, &yes, &one));
	WANT(CUDA_ERROR_NOT_SUPPORTED, cuCoredumpSetAttribute(CU_COREDUMP_ENABLE_USER_TRIGGER, &yes, &one));
	WANT(CUDA_SUCCESS, cuCoredumpSetAttributeGlobal(CU_COREDUMP_ENABLE_USER_TRIGGER, &no, &one));
	return 0;
}

int main(int argc, char **argv)
{
	char text[sizeof(ptx) + 4200];
	int in[N], out[N], n = 3, bad = 0;
	CUdeviceptr from, to, more;
	CUcontext ctx;
	CUmodule mod;
	CUfunction f;
	CUdevice dev;
	CUresult r;
	void *args[] = { &to, &from, &n };
	const char *how = argc > 2 ? argv[2] : "";

	if (argc < 2 || strlen(argv[1]) > 4000)
		return 2;
	snprintf(text, sizeof(text), "%s.file 1 \"%s/sum.cu\"\n", ptx, argv[1]);
	CK(cuInit(0));
	CK(cuDeviceGet(&dev, 0));
	if (!strcmp(how, "flag")) {
		size_t name = argc > 3 ? strlen(argv[3]) + 1 : 0, four = sizeof(int);
		int flags = CU_COREDUMP_SKIP_ABORT;

		CK(cuCoredumpSetAttributeGlobal(CU_COREDUMP_FILE, argv[3], &name));
		CK(cuCoredumpSetAttributeGlobal(CU_COREDUMP_GENERATION_FLAGS, &flags, &four));
		CK(cuCtxCreate_v2(&ctx, CU_CTX_COREDUMP_ENABLE, dev));
	} else {
		CK(cuDevicePrimaryCtxRetain(&ctx, dev));
		CK(cuCtxSetCurrent(ctx));
	}
	if (!strcmp(how, "set") && (bad = attributes(argc > 3 ? argv[3] : ""))) {
		printf("line %d\n", bad);
		return 2;
	}
	CK(cuModuleLoadData(&mod, text));
	if (!strcmp(how, "spin")) {
		CK(cuModuleGetFunction(&f, mod, "spin"));
		CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
		return cuCtxSynchronize() ? 1 : 2;
	}
	CK(cuModuleGetFunction(&f, mod, "_Z3sumPiS_i"));
	CK(cuMemAlloc(&from, sizeof(in)));
	CK(cuMemAlloc(&to, sizeof(out)));
	for (int i = 0; i < N; i++)
		in[i] = i + 1;
	CK(cuMemcpyHtoD(from, in, sizeof(in)));
	if (*how) {
		CK(cuMemAlloc(&more, 64u << 20));
		CK(cuMemsetD8(more, 1, 64u << 20));
		from += 1u << 30;
	}
	CK(cuLaunchKernel(f, 2, 1, 1, N / 2, 1, 1, 0, NULL, args, NULL));
	r = cuCtxSynchronize();
	printf("synchronize: %d\n", r);
	if (r)
		return r == CUDA_ERROR_ILLEGAL_ADDRESS ? 1 : 2;
	CK(cuMemcpyDtoH(out, to, sizeof(out)));
	for (int i = 0; i < N; i++)
		bad += out[i] != (i + 1) * (i + 1) + 3;
	printf("%d wrong\n", bad);
	return bad ? 2 : 0;
}
