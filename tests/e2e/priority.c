/* SPDX-License-Identifier: MIT */
/*
 * Priorities of streams: the range, what is out of it, what is set later; and that they count: blocks of a grid that another stream's
 * grid gets done while an urgent one runs are counted by the kernels themselves. Nobody is starved: an urgent grid may wait for another.
 */
#include "drv.h"

static const char ptx[] =
	".version 6.0\n.target sm_60\n.address_size 64\n"
	/* done[0]: blocks of the other grid, done[1]: of this one; seen[0], [1]: done[0] as this grid's first and its last block begin */
	".visible .entry work(.param .u64 done, .param .u64 seen, .param .u32 me, .param .u32 n)\n{\n"
	"\t.reg .u64 %d, %s, %o;\n\t.reg .u32 %i, %n, %x, %m, %k, %b, %all;\n\t.reg .pred %p;\n"
	"\tld.param.u64 %d, [done];\n\tld.param.u64 %s, [seen];\n\tld.param.u32 %m, [me];\n\tld.param.u32 %n, [n];\n"
	"\tmov.u32 %b, %ctaid.x;\n\tmov.u32 %all, %nctaid.x;\n\tmov.u32 %i, 0;\n\tmov.u32 %x, %b;\n"
	"\tsetp.eq.u32 %p, %m, 0;\n\t@%p bra loop;\n\tld.volatile.global.u32 %k, [%d];\n"
	"\tsetp.ne.u32 %p, %b, 0;\n\t@%p bra last;\n\tst.volatile.global.u32 [%s], %k;\n"
	"last:\n\tsub.u32 %all, %all, 1;\n\tsetp.ne.u32 %p, %b, %all;\n\t@%p bra loop;\n\tst.volatile.global.u32 [%s+4], %k;\n"
	"loop:\n\tmad.lo.u32 %x, %x, 1664525, 1013904223;\n\tadd.u32 %i, %i, 1;\n\tsetp.lt.u32 %p, %i, %n;\n\t@%p bra loop;\n"
	/* the sum is used, and adds nothing */
	"\tshr.u32 %x, %x, 31;\n\tshr.u32 %x, %x, 1;\n\tadd.u32 %x, %x, 1;\n"
	"\tmul.wide.u32 %o, %m, 4;\n\tadd.u64 %o, %d, %o;\n\tred.global.add.u32 [%o], %x;\n\tret;\n}\n"
	".visible .entry await(.param .u64 flag)\n{\n\t.reg .u64 %f;\n\t.reg .u32 %x;\n\t.reg .pred %p;\n\tld.param.u64 %f, [flag];\n"
	"again:\n\tld.volatile.global.u32 %x, [%f];\n\tsetp.eq.u32 %p, %x, 0;\n\t@%p bra again;\n\tret;\n}\n"
	".visible .entry raise(.param .u64 flag)\n{\n\t.reg .u64 %f;\n\tld.param.u64 %f, [flag];\n\tst.volatile.global.u32 [%f], 1;\n\tret;\n}\n";

#define BLOCKS 300u

static CUfunction work;

/* Blocks of a grid in stream `other` that end from the begin of the first of BLOCKS blocks in `urgent` to that of the last. */
static unsigned beside(CUstream other, CUstream urgent)
{
	unsigned n = 40000, zero = 0, one = 1, *mem, passed;
	unsigned *seen;
	void *args[] = { &mem, &seen, &zero, &n }, *mine[] = { &mem, &seen, &one, &n };

	CK(cuMemAllocHost((void **)&mem, 4096));
	memset(mem, 0, 4096);
	seen = mem + 64;
	CK(cuLaunchKernel(work, 20 * BLOCKS, 1, 1, 1, 1, 1, 0, other, args, NULL));
	while (!*(volatile unsigned *)mem)
		e2e_sleep_ms(1);
	CK(cuLaunchKernel(work, BLOCKS, 1, 1, 1, 1, 1, 0, urgent, mine, NULL));
	CK(cuStreamSynchronize(urgent));
	CK(cuStreamSynchronize(other));
	if (mem[0] != 20 * BLOCKS || mem[1] != BLOCKS)
		e2e_fail("%u and %u blocks, not %u and %u", mem[0], mem[1], 20 * BLOCKS, BLOCKS);
	passed = seen[1] - seen[0];
	CK(cuMemFreeHost(mem));
	return passed;
}

int main(void)
{
	CUcontext ctx = drv_start("priority");
	CUstreamAttrValue v = { 0 };
	CUstream plain, plain2, urgent, lower;
	CUfunction await, raise;
	unsigned even, ahead, *flag;
	int least = 9, greatest = 9, is, has;
	CUmodule m;
	CUdevice dev;

	CK(cuCtxGetDevice(&dev));
	CK(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, dev));
	CK(cuCtxGetStreamPriorityRange(&least, &greatest));
	CK(cuCtxGetStreamPriorityRange(NULL, NULL));
	if (least || (has ? greatest != -5 : greatest))
		e2e_fail("the range is %d to %d, and %ssupported", least, greatest, has ? "" : "un");
	CK(cuStreamCreateWithPriority(&urgent, CU_STREAM_NON_BLOCKING, -100));
	CK(cuStreamCreateWithPriority(&lower, CU_STREAM_DEFAULT, 100));
	CK(cuStreamCreate(&plain, CU_STREAM_NON_BLOCKING));
	CK(cuStreamCreate(&plain2, CU_STREAM_NON_BLOCKING));
	CK(cuStreamGetPriority(urgent, &is));
	if (is != greatest)
		e2e_fail("priority -100 became %d", is);
	CK(cuStreamGetPriority(lower, &is));
	if (is)
		e2e_fail("priority 100 became %d", is);
	CK(cuStreamGetPriority(NULL, &is));
	if (is)
		e2e_fail("the default stream's is %d", is);
	WANT(CUDA_ERROR_INVALID_VALUE, cuStreamGetPriority(urgent, NULL));
	if (!has)
		return e2e_end("priorities %d to %d", least, greatest);

	CK(cuModuleLoadData(&m, ptx));
	CK(cuModuleGetFunction(&work, m, "work"));
	CK(cuModuleGetFunction(&await, m, "await"));
	CK(cuModuleGetFunction(&raise, m, "raise"));
	beside(plain, plain2);
	even = beside(plain, plain2);
	ahead = beside(plain, urgent);
	printf("priority: while %u blocks ran, the other stream got %u done, and %u beside an urgent one\n", BLOCKS, even, ahead);
	if (!even || ahead * 2 > even)
		e2e_fail("beside an urgent stream %u blocks, beside an equal one %u", ahead, even);
	/* set later */
	v.priority = -2;
	CK(cuStreamSetAttribute(plain2, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
	CK(cuStreamGetPriority(plain2, &is));
	if (is != -2)
		e2e_fail("priority -2 became %d", is);
	v.priority = 0;
	CK(cuStreamGetAttribute(plain2, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
	if (v.priority != -2)
		e2e_fail("the attribute is %d", v.priority);
	ahead = beside(plain, plain2);
	if (ahead * 2 > even)
		e2e_fail("beside a stream that was made urgent %u blocks, beside an equal one %u", ahead, even);
	CK(cuStreamCopyAttributes(plain2, plain));
	CK(cuStreamGetPriority(plain2, &is));
	if (is)
		e2e_fail("a copied priority is %d", is);
	even = beside(urgent, urgent);  /* one behind the other */
	if (even != 0)
		e2e_fail("%u blocks of a grid in the same stream", even);

	/* among those that are urgent, the most urgent first */
	v.priority = -1;
	CK(cuStreamSetAttribute(plain2, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
	even = beside(plain, plain2);
	ahead = beside(plain2, urgent);
	printf("priority: %u blocks beside a stream of -1, and %u of that one beside a stream of -5\n", even, ahead);
	v.priority = 0;
	CK(cuStreamSetAttribute(plain2, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
	even = beside(plain, plain2);
	if (ahead * 2 > even)
		e2e_fail("beside a stream of -5 one of -1 gets %u blocks done, beside an equal one %u", ahead, even);

	/* an urgent grid on every core that waits for one that is not urgent, and that is too large to run at once where it is launched */
	CK(cuMemAllocHost((void **)&flag, 64));
	*flag = 0;
	void *args[] = { &flag };
	CK(cuLaunchKernel(await, 64, 1, 1, 1, 1, 1, 0, urgent, args, NULL));
	CK(cuLaunchKernel(raise, 64, 1, 1, 64, 1, 1, 0, plain, args, NULL));
	CK(cuStreamSynchronize(urgent));
	CK(cuCtxDestroy(ctx));
	return e2e_end("priorities %d to %d", least, greatest);
}
