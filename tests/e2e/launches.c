/* SPDX-License-Identifier: MIT */
/*
 * What a launch says is what the kernel sees: parameters of every layout, thousands of launches, so that commands lie
 * everywhere in the queue, over its end too; blocks and limits that change between launches of one function; several
 * threads that launch in turn; handles that are none (any more).
 */
#include <pthread.h>

#include "drv.h"

#define ROUNDS 1500             /* of 2 to 11 slots each: laps of a queue of 1024 */
#define PARAMS_MAX 64
#define STRIDE 576

/*
 * A layout: a digit is the size of a parameter, 's' a structure of 20 bytes, 'L' one of 120. In front of them stands
 * the address that the kernel copies them to, each to the next multiple of 8.
 */
static const char *const layouts[] = {
	"8", "88", "888888", "8888888", "88888888888888", "4", "44", "4444444444", "44444444444444444", "84", "48", "8844",
	"4488488", "2141", "8s8", "s", "L4", "4L8", "888888s88", "12481248",
	"888888888888888888888888888888888888888888888888888888888888888",
};

static unsigned size_of(char c)
{
	return c == 's' ? 20 : c == 'L' ? 120 : (unsigned)(c - '0');
}

/* The kernel of a layout: byte by byte, which is slow and cannot be wrong. */
static CUfunction kernel(const char *layout, CUmodule *mod)
{
	static char ptx[1 << 18];
	size_t n = 0, at = 0;

#define PUT(...) (n += (size_t)snprintf(ptx + n, sizeof(ptx) - n, __VA_ARGS__))
	PUT(".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry k(.param .u64 out");
	for (unsigned i = 0; layout[i]; i++)
		if (layout[i] > '9')
			PUT(", .param .align 4 .b8 p%u[%u]", i, size_of(layout[i]));
		else
			PUT(", .param .b%u p%u", 8 * size_of(layout[i]), i);
	PUT(")\n{\n\t.reg .b64 %%o;\n\t.reg .b16 %%b;\n\tld.param.u64 %%o, [out];\n\tcvta.to.global.u64 %%o, %%o;\n");
	for (unsigned i = 0; layout[i]; i++) {
		for (unsigned k = 0; k < size_of(layout[i]); k++)
			PUT("\tld.param.u8 %%b, [p%u+%u];\n\tst.global.u8 [%%o+%zu], %%b;\n", i, k, at + k);
		at += (size_of(layout[i]) + 7) & ~7u;
	}
	PUT("\tret;\n}\n");
#undef PUT
	*mod = drv_module(ptx);
	return drv_kernel(*mod, "k");
}

static void parameters(CUstream s, const char *layout, CUdeviceptr d, uint8_t *got)
{
	unsigned count = (unsigned)strlen(layout), wrong = 0;
	static uint8_t value[PARAMS_MAX][120];
	void *args[PARAMS_MAX + 1];
	CUmodule mod;
	CUfunction f = kernel(layout, &mod);
	uint64_t out;

	args[0] = &out;
	for (unsigned i = 0; i < count; i++)
		args[i + 1] = value[i];
	CK(cuMemsetD8Async(d, 0, (size_t)ROUNDS * STRIDE, s));
	for (unsigned r = 0; r < ROUNDS; r++) {
		out = d + (uint64_t)r * STRIDE;
		for (unsigned i = 0; i < count; i++)
			for (unsigned k = 0; k < size_of(layout[i]); k++)
				value[i][k] = (uint8_t)(r * 7 + i * 13 + k * 29 + 1);
		CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
	}
	CK(cuStreamSynchronize(s));
	CK(cuMemcpyDtoH(got, d, (size_t)ROUNDS * STRIDE));
	for (unsigned r = 0; r < ROUNDS; r++) {
		const uint8_t *p = got + (size_t)r * STRIDE;

		for (unsigned i = 0; i < count; i++) {
			for (unsigned k = 0; k < size_of(layout[i]); k++)
				wrong += p[k] != (uint8_t)(r * 7 + i * 13 + k * 29 + 1);
			p += (size_of(layout[i]) + 7) & ~7u;
		}
	}
	if (wrong)
		e2e_fail("parameters \"%s\": %u bytes of %u launches are wrong", layout, wrong, ROUNDS);
	CK(cuModuleUnload(mod));
}

/* Every launch writes its shape: what was found good before may not stand for what is asked now. */
static const char shape_ptx[] =
	".version 6.0\n.target sm_50\n.address_size 64\n"
	".visible .entry k(.param .u64 out)\n{\n\t.reg .b64 %o;\n\t.reg .b32 %r<8>;\n"
	"\tld.param.u64 %o, [out];\n\tcvta.to.global.u64 %o, %o;\n"
	"\tmov.u32 %r0, %nctaid.x;\n\tmov.u32 %r1, %nctaid.y;\n\tmov.u32 %r2, %nctaid.z;\n"
	"\tmov.u32 %r3, %ntid.x;\n\tmov.u32 %r4, %ntid.y;\n\tmov.u32 %r5, %ntid.z;\n\tmov.u32 %r6, %dynamic_smem_size;\n"
	"\tst.global.u32 [%o], %r0;\n\tst.global.u32 [%o+4], %r1;\n\tst.global.u32 [%o+8], %r2;\n"
	"\tst.global.u32 [%o+12], %r3;\n\tst.global.u32 [%o+16], %r4;\n\tst.global.u32 [%o+20], %r5;\n"
	"\tst.global.u32 [%o+24], %r6;\n\tret;\n}\n"
	".visible .entry fixed(.param .u64 out) .reqntid 4, 2, 1\n{\n\tret;\n}\n";

static void shapes(CUstream s, CUdeviceptr d)
{
	static const unsigned shape[][7] = {
		{ 1, 1, 1, 1, 1, 1, 0 }, { 2, 1, 1, 1, 1, 1, 0 }, { 1, 3, 1, 1, 1, 1, 0 }, { 1, 1, 4, 1, 1, 1, 0 },
		{ 1, 1, 1, 5, 1, 1, 0 }, { 1, 1, 1, 1, 6, 1, 0 }, { 1, 1, 1, 1, 1, 7, 0 }, { 1, 1, 1, 1, 1, 1, 64 },
		{ 2, 3, 4, 5, 6, 7, 100 }, { 1, 40000, 1, 1, 1, 1, 0 }, { 1, 1, 40000, 1, 1, 1, 0 }, { 1, 1, 1, 1024, 1, 1, 0 },
		{ 1, 1, 1, 1, 1024, 1, 0 }, { 1, 1, 1, 1, 1, 64, 0 },
	};
	/* none of them may pass, with the block of the launch before or with another */
	static const unsigned bad[][7] = {
		{ 0, 1, 1, 1, 1, 1, 0 }, { 1, 0, 1, 1, 1, 1, 0 }, { 1, 1, 0, 1, 1, 1, 0 }, { 1, 1, 1, 0, 1, 1, 0 },
		{ 1, 1, 1, 1, 0, 1, 0 }, { 1, 1, 1, 1, 1, 0, 0 }, { 0x80000000u, 1, 1, 1, 1, 1, 0 },
		{ 1, 65536, 1, 1, 1, 1, 0 }, { 1, 1, 65536, 1, 1, 1, 0 }, { 1, 0x10001, 1, 1, 1, 1, 0 },
		{ 1, 1, 1, 1025, 1, 1, 0 }, { 1, 1, 1, 1, 1, 65, 0 }, { 1, 1, 1, 0x10001, 1, 1, 0 }, { 1, 1, 1, 1, 0x10001, 1, 0 },
		{ 1, 1, 1, 1, 1, 1, 0x7fffffff }, { 0xffffffffu, 1, 1, 1, 1, 1, 0 }, { 1, 0xffffffffu, 1, 1, 1, 1, 0 },
	};
	CUmodule mod = drv_module(shape_ptx);
	CUfunction f = drv_kernel(mod, "k"), fixed = drv_kernel(mod, "fixed");
	void *args[] = { &d };
	unsigned got[7];
	int regs;

	/* looked at and never launched: there is no last block that these could be like */
	CK(cuFuncGetAttribute(&regs, CU_FUNC_ATTRIBUTE_NUM_REGS, fixed));
	WANT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(fixed, 1, 1, 1, 0, 0, 0, 0, s, args, NULL));
	WANT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(fixed, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
	CK(cuStreamSynchronize(s));
	for (int again = 0; again < 2; again++) {
		for (unsigned i = 0; i < sizeof shape / sizeof *shape; i++) {
			const unsigned *k = shape[i];

			/* twice: the second launch may know the block of the first */
			for (int twice = 0; twice < 2; twice++) {
				CK(cuMemsetD8Async(d, 0xee, sizeof got, s));     /* s waits for no other stream */
				CK(cuLaunchKernel(f, k[0], k[1], k[2], k[3], k[4], k[5], k[6], s, args, NULL));
				CK(cuStreamSynchronize(s));
				CK(cuMemcpyDtoH(got, d, sizeof got));
				if (memcmp(got, k, sizeof got))
					e2e_fail("shape %u arrived as %u %u %u, %u %u %u, %u", i, got[0], got[1], got[2], got[3],
						 got[4], got[5], got[6]);
			}
			for (unsigned j = 0; j < sizeof bad / sizeof *bad; j++) {
				const unsigned *b = bad[j];

				WANT(CUDA_ERROR_INVALID_VALUE,
				     cuLaunchKernel(f, b[0], b[1], b[2], b[3], b[4], b[5], b[6], s, args, NULL));
			}
		}
	}
	/* a limit that comes down holds for the next launch */
	CK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1000));
	CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 1000, s, args, NULL));
	CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 1000, s, args, NULL));
	CK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 500));
	WANT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 1000, s, args, NULL));
	for (int i = 0; i < 3; i++) {
		CK(cuLaunchKernel(fixed, 1, 1, 1, 4, 2, 1, 0, s, args, NULL));
		WANT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(fixed, 1, 1, 1, 2, 4, 1, 0, s, args, NULL));
	}
	/* what is not there, or not any more */
	WANT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
	WANT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, args, args));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel((CUfunction)((uintptr_t)f + 8), 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel((CUfunction)((uintptr_t)f + 64), 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel((CUfunction)s, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, (CUstream)f, args, NULL));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, (CUstream)args, args, NULL));
	CK(cuStreamSynchronize(s));
	CK(cuModuleUnload(mod));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
}

/* ---- threads ---- */

static const char add_ptx[] =
	".version 6.0\n.target sm_50\n.address_size 64\n"
	".visible .entry k(.param .u64 p, .param .u32 by)\n{\n\t.reg .b64 %o;\n\t.reg .b32 %r<4>;\n\t.reg .pred %q;\n"
	"\tld.param.u64 %o, [p];\n\tld.param.u32 %r0, [by];\n\tcvta.to.global.u64 %o, %o;\n"
	"\tmov.u32 %r2, %ntid.x;\n\tmul.lo.u32 %r0, %r0, %r2;\n\tmov.u32 %r3, %tid.x;\n\tsetp.ne.u32 %q, %r3, 0;\n\t@%q bra done;\n"
	"\tred.global.add.u32 [%o], %r0;\ndone:\n\tret;\n}\n";

#define THREADS 3
#define EACH 400

struct job {
	CUcontext ctx;
	CUfunction f;
	CUstream s;
	CUdeviceptr d;
	unsigned me;
	pthread_barrier_t *turn;
};

static void *work(void *arg)
{
	const struct job *j = arg;
	unsigned by = j->me + 1;
	CUdeviceptr d = j->d;
	void *args[] = { &d, &by };

	CK(cuCtxSetCurrent(j->ctx));
	/* in turn, then all at once; each with a block of its own of the one function */
	for (unsigned r = 0; r < 2 * THREADS; r++) {
		pthread_barrier_wait(j->turn);
		for (unsigned i = 0; i < EACH / (2 * THREADS) && r % THREADS == j->me; i++)
			CK(cuLaunchKernel(j->f, 1, 1, 1, 1 + j->me, 1, 1, 0, j->s, args, NULL));
	}
	pthread_barrier_wait(j->turn);
	for (unsigned i = 0; i < EACH; i++)
		CK(cuLaunchKernel(j->f, 1, 1, 1, 1 + (i + j->me) % 3, 1, 1, 0, j->s, args, NULL));
	CK(cuStreamSynchronize(j->s));
	return NULL;
}

static void in_turn(CUcontext ctx, CUdeviceptr d)
{
	CUfunction f;
	struct job j[THREADS];
	pthread_t t[THREADS];
	pthread_barrier_t turn;
	unsigned got, want = 0;

	f = drv_kernel(drv_module(add_ptx), "k");
	CK(cuMemsetD32(d, 0, 1));
	CK(cuCtxSynchronize());
	pthread_barrier_init(&turn, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		j[i] = (struct job){ .ctx = ctx, .f = f, .d = d, .me = i, .turn = &turn };
		CK(cuStreamCreate(&j[i].s, CU_STREAM_NON_BLOCKING));
		want += 2 * (EACH / (2 * THREADS)) * (i + 1) * (i + 1);
		for (unsigned k = 0; k < EACH; k++)
			want += (i + 1) * (1 + (k + i) % 3);
		pthread_create(&t[i], NULL, work, &j[i]);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	CK(cuMemcpyDtoH(&got, d, sizeof got));
	if (got != want)
		e2e_fail("threads in turn: the sum is %u, want %u", got, want);
	pthread_barrier_destroy(&turn);
}

/* Streams in turn, some that come to an end in between: what was found good of one may not stand for another. */
static void streams_in_turn(CUdeviceptr d)
{
	CUfunction f = drv_kernel(drv_module(add_ptx), "k");
	unsigned got, want = 0, by;
	CUstream s[4] = { NULL }, gone;
	void *args[] = { &d, &by };

	CK(cuMemsetD32(d, 0, 1));
	CK(cuCtxSynchronize());
	for (unsigned i = 1; i < 4; i++)
		CK(cuStreamCreate(&s[i], i == 3 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
	for (unsigned r = 0; r < 600; r++) {
		unsigned who = r / (1 + r % 3) % 4;

		by = r;
		CK(cuLaunchKernel(f, 1, 1, 1, 1 + r % 2, 1, 1, 0, s[who], args, NULL));
		want += r * (1 + r % 2);
		if (r % 7 || !who)
			continue;
		gone = s[who];
		CK(cuStreamDestroy(gone));
		WANT(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, gone, args, NULL));
		CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
		want += r;
		CK(cuStreamCreate(&s[who], CU_STREAM_NON_BLOCKING));
		WANT(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, gone, args, NULL));
	}
	CK(cuCtxSynchronize());
	CK(cuMemcpyDtoH(&got, d, sizeof got));
	if (got != want)
		e2e_fail("streams in turn: the sum is %u, want %u", got, want);
	for (unsigned i = 1; i < 4; i++)
		CK(cuStreamDestroy(s[i]));
}

/*
 * What may be launched has room on a multiprocessor, however many registers a kernel would like: grids are divided by this number
 * (CUB's radix sort), and ptxas allots registers so. As often as .minnctapersm asks for.
 */
static void room(void)
{
	static const struct { const char *bound; int block, least; } kernels[] = {
		{ "", 1024, 1 }, { "", 256, 1 }, { ".maxntid 512, 1, 1", 512, 1 }, { ".maxntid 480, 1, 1", 480, 1 },
		{ ".maxntid 256, 1, 1 .minnctapersm 4", 256, 4 }, { ".reqntid 1000, 1, 1", 1000, 1 }, { ".maxntid 1024, 1, 1 .maxnreg 255", 1024, 1 },
	};
	static char text[40000];

	for (unsigned i = 0; i < sizeof kernels / sizeof *kernels; i++) {
		int n = snprintf(text, sizeof text, ".version 6.4\n.target sm_61\n.address_size 64\n.visible .entry k(.param .u64 p) %s\n"
				 "{\n\t.reg .b64 %%d;\n\t.reg .f32 %%f<400>;\n\tld.param.u64 %%d, [p];\n", kernels[i].bound);
		int regs, blocks = 0, size = 0, grid = 0;
		CUmodule mod;
		CUfunction f;

		for (int r = 0; r < 400; r++)
			n += snprintf(text + n, sizeof text - (size_t)n, "\tld.global.f32 %%f%d, [%%d+%d];\n", r, 4 * r);
		for (int r = 0; r < 400; r++)
			n += snprintf(text + n, sizeof text - (size_t)n, "\tst.global.f32 [%%d+%d], %%f%d;\n", 4 * r, 399 - r);
		snprintf(text + n, sizeof text - (size_t)n, "\tret;\n}\n");
		mod = drv_module(text);
		f = drv_kernel(mod, "k");
		CK(cuFuncGetAttribute(&regs, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
		CK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, kernels[i].block, 0));
		if (blocks < kernels[i].least)
			e2e_fail("kernel '%s', %d registers: %d blocks of %d on a multiprocessor, %d at least", kernels[i].bound, regs, blocks,
				 kernels[i].block, kernels[i].least);
		CK(cuOccupancyMaxPotentialBlockSize(&grid, &size, f, NULL, 0, 0));
		if (grid < 1 || size < 1)
			e2e_fail("kernel '%s': a grid of %d blocks of %d", kernels[i].bound, grid, size);
		CK(cuModuleUnload(mod));
	}
}

int main(void)
{
	CUcontext ctx = drv_start("launches");
	CUdeviceptr d = drv_alloc((size_t)ROUNDS * STRIDE);
	uint8_t *got = malloc((size_t)ROUNDS * STRIDE);
	void *args[] = { &d };
	CUmodule mod;
	CUfunction f;
	CUstream s;

	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; got && i < sizeof layouts / sizeof *layouts; i++) {
		parameters(s, layouts[i], d, got);
		parameters(i & 1 ? NULL : CU_STREAM_PER_THREAD, layouts[i], d, got);
	}
	shapes(s, d);
	room();
	in_turn(ctx, d);
	streams_in_turn(d);
	f = kernel("", &mod);
	CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
	CK(cuStreamDestroy(s));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
	/* a context after a context: its default streams are not the old one's */
	for (int i = 0; i < 3; i++) {
		CK(cuCtxDestroy(ctx));
		WANT(CUDA_ERROR_INVALID_CONTEXT, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
		CK(cuCtxCreate_v2(&ctx, 0, 0));
		d = drv_alloc(STRIDE * ROUNDS);
		parameters(CU_STREAM_PER_THREAD, "88", d, got);
		parameters(NULL, "44", d, got);
	}
	CK(cuCtxDestroy(ctx));
	free(got);
	return e2e_end("parameters of %zu layouts, shapes, threads in turn", sizeof layouts / sizeof *layouts);
}
