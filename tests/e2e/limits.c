/* SPDX-License-Identifier: MIT */
/*
 * Limits of a context as CUDA documents them: the heap of device malloc has the size that was set before a kernel that uses it is
 * there, is charged like other memory, gives NULL beyond, and keeps its size from then on; so does what printf uses. Stacks follow their limit.
 */
#include <stdbool.h>

#include "drv.h"

static const char ptx[] =
	".version 7.0\n.target sm_61\n.address_size 64\n"
	".extern .func (.param .b64 r) malloc (.param .b64 n);\n"
	".extern .func free (.param .b64 p);\n"
	".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
	".global .align 1 .b8 text[4] = {46, 10, 0, 0};\n"
	/* each thread asks for `bytes`, writes the first and the last of them, and counts what it got; `at`: where */
	".visible .entry take(.param .u64 count, .param .u64 bytes, .param .u64 at)\n"
	"{\n"
	".reg .pred %p; .reg .b64 %rd<8>; .reg .b32 %r<4>;\n"
	"ld.param.u64 %rd1, [count]; ld.param.u64 %rd2, [bytes]; ld.param.u64 %rd3, [at];\n"
	"{ .param .b64 n; .param .b64 q; st.param.b64 [n], %rd2; call.uni (q), malloc, (n); ld.param.b64 %rd4, [q]; }\n"
	"setp.eq.u64 %p, %rd4, 0;\n"
	"@%p bra E;\n"
	"mov.u32 %r1, 7; st.u8 [%rd4], %r1; add.u64 %rd5, %rd4, %rd2; st.u8 [%rd5+-1], %r1;\n"
	"atom.global.add.u32 %r2, [%rd1], 1;\n"
	"st.global.u64 [%rd3], %rd4;\n"
	"E: ret;\n"
	"}\n"
	".visible .entry give(.param .u64 at)\n"
	"{\n"
	".reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [at];\n"
	"{ .param .b64 n; st.param.b64 [n], %rd1; call.uni free, (n); }\n"
	"ret;\n"
	"}\n"
	".visible .entry says()\n"
	"{\n"
	".reg .b64 %rd<4>; .reg .b32 %r<4>;\n"
	"mov.u64 %rd1, text; cvta.global.u64 %rd1, %rd1; mov.u64 %rd2, 0;\n"
	"{ .param .b64 f; .param .b64 a; .param .b32 q; st.param.b64 [f], %rd1; st.param.b64 [a], %rd2; call.uni (q), vprintf, (f, a); }\n"
	"ret;\n"
	"}\n";

/* deep(): 1 + 2 + ... + n by as many calls, by itself and through a pointer; room(): the sum of n words that alloca gave */
static const char stacks[] =
	".version 7.3\n.target sm_61\n.address_size 64\n"
	".func (.param .b32 r) sum(.param .b32 n);\n"
	".global .align 8 .u64 to[1] = { sum };\n"
	".func (.param .b32 r) sum(.param .b32 n)\n"
	"{\n"
	".reg .pred %p; .reg .b32 %r<4>; .local .align 4 .b8 own[48];\n"
	"ld.param.u32 %r1, [n]; st.local.u32 [own+44], %r1; mov.u32 %r2, 0;\n"
	"setp.eq.u32 %p, %r1, 0; @%p bra E; sub.u32 %r1, %r1, 1;\n"
	"{ .param .b32 a; .param .b32 q; st.param.b32 [a], %r1; call (q), sum, (a); ld.param.b32 %r2, [q]; }\n"
	"ld.local.u32 %r3, [own+44]; add.u32 %r2, %r2, %r3;\n"
	"E: st.param.b32 [r], %r2; ret;\n"
	"}\n"
	".visible .entry deep(.param .u64 out, .param .u32 n, .param .u32 by)\n"
	"{\n"
	".reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<5>;\n"
	"P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
	"ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [n]; ld.param.u32 %r2, [by]; mov.u32 %r3, %tid.x;\n"
	"mul.wide.u32 %rd2, %r3, 4; add.u64 %rd1, %rd1, %rd2; add.u32 %r1, %r1, %r3; setp.ne.u32 %p, %r2, 0; @%p bra B;\n"
	"{ .param .b32 a; .param .b32 q; st.param.b32 [a], %r1; call (q), sum, (a); ld.param.b32 %r2, [q]; }\n"
	"bra S;\n"
	"B: mov.u64 %rd3, to; ld.global.u64 %rd4, [%rd3];\n"
	"{ .param .b32 a; .param .b32 q; st.param.b32 [a], %r1; call (q), %rd4, (a), P; ld.param.b32 %r2, [q]; }\n"
	"S: st.global.u32 [%rd1], %r2; ret;\n"
	"}\n"
	".visible .entry room(.param .u64 out, .param .u32 n)\n"
	"{\n"
	".reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<6>;\n"
	"ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd1, %rd1, %rd2;\n"
	"mul.wide.u32 %rd3, %r1, 4; alloca.u64 %rd4, %rd3; mov.u32 %r3, 0; mov.u64 %rd5, %rd4;\n"
	"W: add.u32 %r4, %r3, %r2; st.local.u32 [%rd5], %r4; add.u64 %rd5, %rd5, 4; add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, %r1; @%p bra W;\n"
	"mov.u32 %r5, 0;\n"
	"R: sub.u64 %rd5, %rd5, 4; ld.local.u32 %r4, [%rd5]; add.u32 %r5, %r5, %r4; setp.ne.u64 %p, %rd5, %rd4; @%p bra R;\n"
	"st.global.u32 [%rd1], %r5; ret;\n"
	"}\n";

static CUdeviceptr count, at;

static unsigned take(CUfunction f, unsigned threads, uint64_t bytes)
{
	void *params[] = { &count, &bytes, &at };
	unsigned n = 0;

	CK(cuMemsetD32(count, 0, 1));
	CK(cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, NULL, params, NULL));
	CK(cuMemcpyDtoH(&n, count, 4));
	return n;
}

static size_t limit(CUlimit which)
{
	size_t v = 0;

	CK(cuCtxGetLimit(&v, which));
	return v;
}

static void same(const char *what, size_t got, size_t want)
{
	if (got != want)
		e2e_fail("%s: %zu, want %zu", what, got, want);
}

static void check_heap(size_t heap)
{
	size_t before, after, total;
	CUfunction k, f;
	CUmodule mod;
	uint64_t p = 0;
	void *params[] = { &p };
	char byte;

	CK(cuMemAlloc(&count, 4096));
	at = count + 64;
	CK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, heap));
	same("heap that was asked for", limit(CU_LIMIT_MALLOC_HEAP_SIZE), heap);
	mod = drv_module(ptx);
	CK(cuMemGetInfo(&before, &total));
	k = drv_kernel(mod, "take");
	f = drv_kernel(mod, "give");
	/* one block that nearly fills it; no second one beside it; again when the first is gone */
	same("large blocks", take(k, 1, heap / 8 * 7), 1);
	CK(cuMemGetInfo(&after, &total));
	/* where nobody else takes and gives meanwhile */
	if (!getenv("E2E_SHARED") && (before < after || before - after < heap || before - after > heap + heap / 4))
		e2e_fail("a heap of %zu bytes was charged as %zu", heap, before - after);
	same("a second one", take(k, 1, heap / 8 * 7), 0);
	CK(cuMemcpyDtoH(&p, at, 8));
	CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	same("one of an odd size", take(k, 1, heap / 8 * 5 + 1001), 1);
	same("more than there is", take(k, 1, heap + 1), 0);
	/* what is left is a little less than 3/8, which 1,000 threads share */
	total = take(k, 1000, heap / 4000);
	if (total < 900)
		e2e_fail("%zu of 1000 small blocks", total);
	total = take(k, 1000, heap / 4000);
	if (total > 500)
		e2e_fail("%zu small blocks more than fit", total);
	same("none is left", take(k, 1, heap / 4), 0);
	/* its size is what it is from now on, and no call of the host takes its memory */
	WANT(CUDA_ERROR_INVALID_VALUE, cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 2 * heap));
	same("heap in use", limit(CU_LIMIT_MALLOC_HEAP_SIZE), heap);
	CK(cuMemcpyDtoH(&p, at, 8));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(&byte, p, 1));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemFree(p));
	CK(cuCtxSynchronize());
}

/* Blocks of so many threads: thread t calls n + t deep (by: through a pointer first), or sums n words from t on. */
static void sums(CUfunction k, unsigned threads, unsigned n, unsigned by, bool words)
{
	void *params[] = { &at, &n, &by };
	unsigned got[1024], t, d;

	CK(cuLaunchKernel(k, 3, 1, 1, threads, 1, 1, 0, NULL, params, NULL));
	CK(cuMemcpyDtoH(got, at, threads * 4));
	for (t = 0; t < threads; t++) {
		d = n + t;
		if (got[t] != (words ? n * t + n * (n - 1) / 2 : d * (d + 1) / 2)) {
			e2e_fail("%s %u of %u threads, thread %u: %u", words ? "words" : by ? "calls by a pointer" : "calls", n, threads, t, got[t]);
			return;
		}
	}
}

/* A stack has what the limit says when its kernel is launched, whenever that was found. */
static void check_stack(void)
{
	unsigned n = 1000000, by = 0;
	void *params[] = { &at, &n, &by };
	CUfunction deep, room;
	CUmodule mod;

	CK(cuMemAlloc(&at, 4096));
	mod = drv_module(stacks);
	deep = drv_kernel(mod, "deep");
	room = drv_kernel(mod, "room");
	sums(deep, 33, 8, 0, false);
	sums(deep, 33, 8, 1, false);
	sums(room, 33, 200, 0, true);
	CK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 100000));
	sums(deep, 33, 900, 0, false);
	sums(deep, 33, 900, 1, false);
	sums(room, 33, 20000, 0, true);
	CK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 512 << 10));
	sums(deep, 1024, 500, 0, false);
	sums(deep, 40, 3000, 1, false);
	sums(room, 100, 60000, 0, true);
	/* it has an end */
	CK(cuLaunchKernel(deep, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	WANT(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

int main(void)
{
	CUcontext first = drv_start("limits"), second;
	size_t v, free, total;
	CUdevice dev;
	int major;

	same("heap", limit(CU_LIMIT_MALLOC_HEAP_SIZE), 8 << 20);
	same("stack", limit(CU_LIMIT_STACK_SIZE), 1024);
	CK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
	same("stack", limit(CU_LIMIT_STACK_SIZE), 4096);
	WANT(CUDA_ERROR_INVALID_VALUE, cuCtxSetLimit(CU_LIMIT_STACK_SIZE, (size_t)1 << 30));
	CK(cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 128));
	same("fetch granularity", limit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY), 128);
	WANT(CUDA_ERROR_INVALID_VALUE, cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 129));
	same("fetch granularity", limit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY), 128);
	/* no part of an L2 cache can be set aside */
	same("persisting L2", limit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE), 0);
	WANT(CUDA_ERROR_UNSUPPORTED_LIMIT, cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 4096));
	/* launches by kernels; since 9.0 they wait for none */
	same("pending launches", limit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT), 2048);
	CK(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 8192));
	same("pending launches", limit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT), 8192);
	WANT(CUDA_ERROR_OUT_OF_MEMORY, cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 1 << 20));
	CK(cuCtxGetDevice(&dev));
	CK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev));
	if (major >= 9) {
		WANT(CUDA_ERROR_UNSUPPORTED_LIMIT, cuCtxGetLimit(&v, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH));
	} else {
		same("depth of waits", limit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH), 2);
		WANT(CUDA_ERROR_INVALID_VALUE, cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 25));
		CK(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 24));
	}
	/* more than the device has; nothing changes */
	WANT(CUDA_ERROR_OUT_OF_MEMORY, cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, (size_t)1 << 40));
	same("heap", limit(CU_LIMIT_MALLOC_HEAP_SIZE), 8 << 20);
	/* what was asked for; of less, the least that there is */
	v = limit(CU_LIMIT_PRINTF_FIFO_SIZE);
	CK(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 10 << 20));
	same("room for printf", limit(CU_LIMIT_PRINTF_FIFO_SIZE), 10 << 20);
	CK(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 100));
	same("little room for printf", limit(CU_LIMIT_PRINTF_FIFO_SIZE), v);

	/* what ran before may still be giving its memory back */
	for (int i = 0; i < 100 && !getenv("E2E_SHARED"); i++) {
		CK(cuMemGetInfo(&free, &total));
		e2e_sleep_ms(20);
		CK(cuMemGetInfo(&v, &total));
		if (v == free)
			break;
	}
	CK(cuMemGetInfo(&free, &total));
	check_heap(free > (size_t)3 << 30 ? (size_t)1 << 30 : (size_t)64 << 20);
	CK(cuCtxDestroy(first));

	/* a context of its own has a heap of its own, and one smaller than usual; the other's memory is back */
	CK(cuDeviceGet(&dev, 0));
	CK(cuCtxCreate_v2(&second, 0, dev));
	if (!getenv("E2E_SHARED") && !drv_free_again(free))
		e2e_fail("the first context's heap did not come back");
	same("heap", limit(CU_LIMIT_MALLOC_HEAP_SIZE), 8 << 20);
	check_heap(3 << 20);
	CK(cuLaunchKernel(drv_kernel(drv_module(ptx), "says"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	CK(cuCtxSynchronize());
	WANT(CUDA_ERROR_INVALID_VALUE, cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20));
	CK(cuCtxDestroy(second));
	CK(cuCtxCreate_v2(&second, 0, dev));
	check_stack();
	CK(cuCtxDestroy(second));
	return e2e_end("device heap, stack, printf, L2");
}
