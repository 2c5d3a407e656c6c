/* SPDX-License-Identifier: MIT */
/*
 * Kernels with more than 4 KiB of parameters, which compute capability 7.0 and PTX ISA 8.1 allow: up to 32,764 bytes, from an array of
 * pointers or from one buffer, in graphs, from many threads. Every byte is looked at. Below 7.0: what is said instead.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "drv.h"

#define MOST 32764u
#define RUNS 700        /* more than a stream has credits */

/*
 * bytes(out, p): out[i] = p[i] for each byte; sum(out, nth, p): out[nth] = the sum of (i + 1) * p's word i, by a single thread. Parameters
 * in front of the array take 8 and 16 bytes.
 */
static const char text[] =
	".version %s\n.target sm_%u\n.address_size 64\n"
	".visible .entry bytes(.param .u64 out, .param .align 4 .b8 p[%u])\n{\n"
	"	.reg .pred %%q;\n	.reg .b32 %%r<4>;\n	.reg .b64 %%a<6>;\n"
	"	ld.param.u64 %%a1, [out];\n	mov.u64 %%a2, p;\n	mov.u32 %%r1, %%tid.x;\n"
	"L:	setp.ge.u32 %%q, %%r1, %u;\n	@%%q bra E;\n	cvt.u64.u32 %%a3, %%r1;\n	add.u64 %%a4, %%a2, %%a3;\n"
	"	ld.param.u8 %%r2, [%%a4];\n	add.u64 %%a5, %%a1, %%a3;\n	st.global.u8 [%%a5], %%r2;\n	add.u32 %%r1, %%r1, 128;\n"
	"	bra L;\nE:	ret;\n}\n"
	".visible .entry sum(.param .u64 out, .param .u64 nth, .param .align 4 .b8 p[%u])\n{\n"
	"	.reg .pred %%q;\n	.reg .b32 %%r<6>;\n	.reg .b64 %%a<6>;\n"
	"	ld.param.u64 %%a1, [out];\n	ld.param.u64 %%a2, [nth];\n	mov.u64 %%a3, p;\n	mov.u32 %%r1, 1;\n	mov.u32 %%r2, 0;\n"
	"L:	ld.param.u32 %%r3, [%%a3];\n	mad.lo.u32 %%r2, %%r1, %%r3, %%r2;\n	add.u64 %%a3, %%a3, 4;\n	add.u32 %%r1, %%r1, 1;\n"
	"	setp.le.u32 %%q, %%r1, %u;\n	@%%q bra L;\n	shl.b64 %%a2, %%a2, 2;\n	add.u64 %%a1, %%a1, %%a2;\n	st.global.u32 [%%a1], %%r2;\n"
	"	ret;\n}\n";

static unsigned arch;
static CUdeviceptr out;

/* So many bytes of parameters for `bytes`, a multiple of 4 for `sum`. */
static CUresult load(const char *version, unsigned total, CUmodule *m)
{
	static char ptx[4096];
	unsigned n = total - 8, words = (total - 16) / 4;

	snprintf(ptx, sizeof ptx, text, version, arch, n, n, words * 4, words);
	return cuModuleLoadData(m, ptx);
}

static void fill(uint8_t *p, unsigned n, unsigned seed)
{
	for (unsigned i = 0; i < n; i++)
		p[i] = (uint8_t)((seed += 2654435761u) >> 24);
}

static uint32_t sum_of(const uint8_t *p, unsigned words)
{
	uint32_t s = 0, w;

	for (unsigned i = 0; i < words; i++) {
		memcpy(&w, p + 4 * i, 4);
		s += (i + 1) * w;
	}
	return s;
}

/* Each byte, both ways, and what the function says of itself. */
static void exact(unsigned total)
{
	unsigned n = total - 8;
	uint8_t *packed = malloc(total), *got = malloc(n);
	CUmodule m;
	CUfunction f;

	CK(load("8.1", total, &m));
	CK(cuModuleGetFunction(&f, m, "bytes"));
	for (int way = 0; way < 3; way++) {
		size_t bytes = total, at, size;
		void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END };
		void *params[] = { &out, packed + 8 };

		memcpy(packed, &out, 8);
		fill(packed + 8, n, total + (unsigned)way);
		CK(cuMemsetD8(out, 0, n));
		if (way == 0)
			CK(cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
		else if (way == 1)
			CK(cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
		else
			CK(cuLaunchCooperativeKernel(f, 1, 1, 1, 128, 1, 1, 0, NULL, params));
		/* the caller's again as soon as the call is back */
		memset(packed, 0xee, total);
		CK(cuMemcpyDtoH(got, out, n));
		fill(packed + 8, n, total + (unsigned)way);
		if (memcmp(got, packed + 8, n))
			e2e_fail("%u bytes of parameters, way %d: not what was given", total, way);
		bytes = total - 1;
		WANT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
		WANT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL));
		CK(cuFuncGetParamInfo(f, 1, &at, &size));
		EXPECT(at == 8 && size == n);
		WANT(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(f, 2, &at, &size));
	}
	CK(cuModuleUnload(m));
	free(packed);
	free(got);
}

struct caller {
	CUcontext ctx;
	CUfunction f;
	CUstream s;
	unsigned words, first;
	uint32_t want[RUNS];
};

static void *many(void *arg)
{
	struct caller *c = arg;
	uint8_t *p = malloc(MOST);
	uint64_t nth;

	CK(cuCtxSetCurrent(c->ctx));
	for (unsigned i = 0; i < RUNS; i++) {
		void *params[] = { &out, &nth, p };

		nth = c->first + i;
		fill(p, c->words * 4, (unsigned)nth * 77);
		c->want[i] = sum_of(p, c->words);
		CK(cuLaunchKernel(c->f, 1, 1, 1, 1, 1, 1, 0, c->s, params, NULL));
	}
	CK(cuStreamSynchronize(c->s));
	free(p);
	return NULL;
}

/* Three threads, three streams, each far ahead of the device. */
static void crowd(CUcontext ctx, CUfunction f, unsigned words)
{
	static struct caller c[3];
	static uint32_t got[3 * RUNS];
	pthread_t t[3];

	CK(cuMemsetD8(out, 0, sizeof got));
	for (unsigned i = 0; i < 3; i++) {
		c[i] = (struct caller){ .ctx = ctx, .f = f, .words = words, .first = i * RUNS };
		CK(cuStreamCreate(&c[i].s, i ? CU_STREAM_NON_BLOCKING : 0));
	}
	for (unsigned i = 1; i < 3; i++)
		pthread_create(&t[i], NULL, many, &c[i]);
	many(&c[0]);
	for (unsigned i = 1; i < 3; i++)
		pthread_join(t[i], NULL);
	CK(cuMemcpyDtoH(got, out, sizeof got));
	for (unsigned i = 0; i < 3 * RUNS; i++)
		if (got[i] != c[i / RUNS].want[i % RUNS])
			e2e_fail("launch %u of stream %u: %x, want %x", i % RUNS, i / RUNS, got[i], c[i / RUNS].want[i % RUNS]);
	for (unsigned i = 0; i < 3; i++)
		CK(cuStreamDestroy(c[i].s));
}

/* What a graph was given stays its own; what it is given next is for the next launch, while the first still waits; gone before it has run. */
static void graphs(CUfunction f, unsigned words)
{
	uint8_t *p = malloc(MOST);
	uint64_t nth = 0;
	void *params[] = { &out, &nth, p };
	CUDA_KERNEL_NODE_PARAMS k = { .func = f, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1,
				      .kernelParams = params };
	uint32_t want[4], got[4];
	CUdeviceptr gate;
	CUgraph g, cap;
	CUgraphNode node;
	CUgraphExec e, e2;
	void *pinned[64];
	CUstream s;

	CK(cuMemAlloc(&gate, 4));
	CK(cuMemsetD32(gate, 0, 1));
	CK(cuMemsetD8(out, 0, sizeof got));
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CK(cuGraphCreate(&g, 0));
	fill(p, words * 4, 1);
	want[0] = sum_of(p, words);
	CK(cuGraphAddKernelNode(&node, g, NULL, 0, &k));
	memset(p, 0xaa, MOST);
	CK(cuGraphInstantiate(&e, g, 0));
	CK(cuStreamWaitValue32(s, gate, 1, CU_STREAM_WAIT_VALUE_GEQ));
	CK(cuGraphLaunch(e, s));
	nth = 1;
	fill(p, words * 4, 2);
	want[1] = sum_of(p, words);
	CK(cuGraphExecKernelNodeSetParams(e, node, &k));
	CK(cuGraphLaunch(e, s));
	/* captured, and the exec destroyed before it has run */
	CK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	for (nth = 2; nth < 4; nth++) {
		fill(p, words * 4, (unsigned)nth + 1);
		want[nth] = sum_of(p, words);
		CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
	}
	CK(cuStreamEndCapture(s, &cap));
	CK(cuGraphInstantiate(&e2, cap, 0));
	CK(cuGraphLaunch(e2, s));
	CK(cuGraphExecDestroy(e2));
	CK(cuGraphExecDestroy(e));
	CK(cuGraphDestroy(cap));
	CK(cuGraphDestroy(g));
	/* whoever takes what was given back too early writes over it */
	for (unsigned i = 0; i < 64; i++) {
		CK(cuMemHostAlloc(&pinned[i], MOST, 0));
		memset(pinned[i], 0x55, MOST);
	}
	CK(cuMemsetD32(gate, 1, 1));
	CK(cuStreamSynchronize(s));
	for (unsigned i = 0; i < 64; i++)
		CK(cuMemFreeHost(pinned[i]));
	CK(cuMemcpyDtoH(got, out, sizeof got));
	for (unsigned i = 0; i < 4; i++)
		if (got[i] != want[i])
			e2e_fail("graph: launch %u left %x, want %x", i, got[i], want[i]);
	CK(cuStreamDestroy(s));
	CK(cuMemFree(gate));
	free(p);
}

/* A launch that waits in its stream, while others come and go. */
static void waiting(CUfunction f, unsigned words)
{
	uint8_t *p = malloc(MOST);
	uint64_t nth = 0;
	void *params[] = { &out, &nth, p };
	uint32_t want[2], got[2];
	CUdeviceptr gate;
	CUstream s, other;

	CK(cuMemAlloc(&gate, 4));
	CK(cuMemsetD32(gate, 0, 1));
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	CK(cuStreamWaitValue32(s, gate, 1, CU_STREAM_WAIT_VALUE_GEQ));
	fill(p, words * 4, 9);
	want[0] = sum_of(p, words);
	CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
	for (unsigned i = 0; i < RUNS; i++) {
		nth = 1;
		fill(p, words * 4, 10 + i);
		CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, other, params, NULL));
	}
	want[1] = sum_of(p, words);
	CK(cuStreamSynchronize(other));
	CK(cuMemsetD32(gate, 1, 1));
	CK(cuStreamSynchronize(s));
	CK(cuMemcpyDtoH(got, out, sizeof got));
	if (got[0] != want[0] || got[1] != want[1])
		e2e_fail("a launch that waited: %x, %x, want %x, %x", got[0], got[1], want[0], want[1]);
	CK(cuStreamDestroy(s));
	CK(cuStreamDestroy(other));
	CK(cuMemFree(gate));
	free(p);
}

/* The calls of CUDA 2. */
static void oldest(CUfunction f, unsigned words)
{
	uint8_t *p = malloc(MOST);
	uint64_t nth = 5;
	uint32_t got;

	fill(p, words * 4, 123);
	CK(cuFuncSetBlockShape(f, 1, 1, 1));
	CK(cuParamSetSize(f, 16 + words * 4));
	CK(cuParamSetv(f, 0, &out, 8));
	CK(cuParamSetv(f, 8, &nth, 8));
	CK(cuParamSetv(f, 16, p, words * 4));
	WANT(CUDA_ERROR_INVALID_VALUE, cuParamSetSize(f, MOST + 1));
	WANT(CUDA_ERROR_INVALID_VALUE, cuParamSetv(f, 16, p, MOST));
	CK(cuLaunch(f));
	CK(cuMemcpyDtoH(&got, out + 20, 4));
	EXPECT(got == sum_of(p, words));
	free(p);
}

int main(void)
{
	CUcontext ctx = drv_start("largeparams");
	int major;
	CUmodule m;
	CUfunction f;

	CK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
	CK(cuMemAlloc(&out, 65536));
	arch = major < 7 ? 61 : 70;
	exact(4092);
	exact(4096);
	/* before PTX ISA 8.1: 4,352 bytes */
	WANT(CUDA_ERROR_INVALID_PTX, load("8.0", 4353, &m));
	if (major < 7) {
		WANT(CUDA_ERROR_INVALID_PTX, load("8.1", 4353, &m));
		CK(load("8.1", 4352, &m));
		CK(cuModuleGetFunction(&f, m, "sum"));
		WANT(CUDA_ERROR_NOT_SUPPORTED, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &out, &out, &out }, NULL));
		return e2e_end("4,096 bytes of parameters, and no more below compute capability 7.0");
	}
	exact(4097);
	exact(4100);
	exact(4352);
	exact(4353);
	exact(20001);
	exact(MOST - 1);
	exact(MOST);
	WANT(CUDA_ERROR_INVALID_PTX, load("8.1", MOST + 1, &m));
	WANT(CUDA_ERROR_INVALID_PTX, load("8.1", 32768, &m));
	CK(load("8.1", 4352, &m));
	CK(cuModuleGetFunction(&f, m, "sum"));
	crowd(ctx, f, 1084);
	CK(load("8.1", MOST, &m));
	CK(cuModuleGetFunction(&f, m, "sum"));
	graphs(f, (MOST - 16) / 4);
	waiting(f, (MOST - 16) / 4);
	oldest(f, (MOST - 16) / 4);
	return e2e_end("4,092 to %u bytes of parameters; graphs, three threads", MOST);
}
