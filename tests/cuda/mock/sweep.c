/* SPDX-License-Identifier: MIT */
/*
 * Engine cuda on a driver whose every call fails in turn. For each call of the driver that a client leads to, and for each time that it is
 * called, the errors that its documentation names: a client is started, and has to see that error and nothing else, or nothing where the
 * engine can do without; what it was told had been done is done; nothing of it stays; a neighbour goes on; the next one finds all in order.
 *
 *   sweep create FILE                             the file between test and driver
 *   sweep run FILE STUB AGENT [all] [NAME]        pids of device and agent; $VGPU_AGENT says where. all: each error each time
 *   sweep hang FILE STUB AGENT                    what does not end, on a device with --kernel-timeout
 *   sweep bursts FILE STUB AGENT                  how often the end of many launches is written
 *   sweep images FILE                             what a module may come in
 *   sweep identify FILE PROGRAM LIBRARY           vgpu-stub asks what the device is, and is refused
 */
#define _GNU_SOURCE
#include "sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_S 60
#define BURST 1000u
#define BURST_WRITES (BURST / 20)     /* 16 that are read at once would be 63 */

#define MOCK_TEXT(name) #name,
static const char *const names[] = { CUDA_CALLS(MOCK_TEXT) CUBLAS_CALLS(MOCK_TEXT) };
static struct mock_file *file;
static int file_fd;
static int bad;
static uint32_t calm[MOCK_OBJECTS];     /* what a context has that did its rounds and gave all back */

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void nap(void) { nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL); }

static struct mock_slot *slot(void) { return &file->slot[(report->slot - 1) % MOCK_SLOTS]; }
uint32_t looks(void) { return __atomic_load_n(&slot()->calls[MOCK_cuStreamQuery], __ATOMIC_ACQUIRE); }

/* ---- a client, in a process of its own ------------------------------------------------------------------------ */

static int lost(CUresult r)
{
	return r == CUDA_ERROR_ILLEGAL_ADDRESS || r == CUDA_ERROR_LAUNCH_FAILED || r == CUDA_ERROR_ECC_UNCORRECTABLE || r == CUDA_ERROR_UNKNOWN ||
	       r == CUDA_ERROR_DEVICE_UNAVAILABLE || r == CUDA_ERROR_MISALIGNED_ADDRESS || r == CUDA_ERROR_HARDWARE_STACK_ERROR ||
	       r == CUDA_ERROR_LAUNCH_TIMEOUT || r == CUDA_ERROR_ILLEGAL_INSTRUCTION || r == CUDA_ERROR_ASSERT;
}

static void client(int twice)
{
	struct report own;
	CUcontext ctx = NULL;
	CUdevice dev;

	report->create = cuInit(0) ? CUDA_ERROR_NOT_INITIALIZED : cuDeviceGet(&dev, 0);
	if (report->create)
		return;
	report->create = cuCtxCreate_v2(&ctx, 0, dev);
	report->slot = __atomic_load_n(&file->taker, __ATOMIC_ACQUIRE);
	if (!report->create) {
		round_of_calls();
		/* a lost context says so ever after */
		report->gone = cuCtxSynchronize() != CUDA_SUCCESS && lost(report->first);
		if (report->slot)
			memcpy(report->live[0], slot()->live, sizeof(report->live[0]));
	}
	own = *report;
	if (twice) {
		if (report->create || report->gone) {
			if (!report->create)
				cuCtxDestroy_v2(ctx);
			report->slot = 0;
			report->again_first = cuCtxCreate_v2(&ctx, 0, dev);
		}
		report->first = 0;
		report->gone = 0;
		if (!report->again_first)
			round_of_calls();
		if (own.slot)
			memcpy(report->live[1], file->slot[own.slot - 1].live, sizeof(report->live[1]));
		if (!report->again_first)
			report->again_first = report->first;
		snprintf(report->again_where, sizeof(report->again_where), "%s", report->where);
		report->again = !report->again_first;
		report->first = own.first;
		report->gone = own.gone;
		report->slot = own.slot;
		memcpy(report->where, own.where, sizeof(own.where));
	}
	if (ctx)
		cuCtxDestroy_v2(ctx);
	report->over = 1;
}

/* A neighbour: a round whenever a byte comes, and a byte back. */
static void neighbour(int in, int out)
{
	CUcontext ctx;
	CUdevice dev;
	char c = 'y';

	if (cuInit(0) || cuDeviceGet(&dev, 0) || cuCtxCreate_v2(&ctx, 0, dev))
		c = 'n';
	while (write(out, &c, 1) == 1 && read(in, &c, 1) == 1) {
		memset(report, 0, sizeof(*report));
		round_of_calls();
		c = report->first || report->wrong[0] ? 'n' : 'y';
	}
	_exit(0);
}

/* ---- what stays behind ------------------------------------------------------------------------------------------ */

static unsigned descriptors(int pid)
{
	char path[64];
	unsigned n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

/* Processes with the driver in them, by their locks on the file. */
static unsigned alive(void)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < MOCK_SLOTS && i < file->slots; i++) {
		struct flock f = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = i, .l_len = 1 };

		n += !fcntl(file_fd, F_OFD_GETLK, &f) && f.l_type != F_UNLCK;
	}
	return n;
}

struct rest { unsigned stub, agent, contexts; };

static struct rest rest(int stub, int agent) { return (struct rest){ descriptors(stub), descriptors(agent), alive() }; }

/* As many as before, once those that have ended are reaped. */
static int as_before(struct rest was, int stub, int agent, struct rest *is)
{
	for (double end = now_s() + PATIENCE_S; ; nap()) {
		*is = rest(stub, agent);
		if (is->stub <= was.stub && is->agent <= was.agent && is->contexts <= was.contexts)
			return 1;
		if (now_s() > end)
			return 0;
	}
}

/* ---- one plan ------------------------------------------------------------------------------------------------------ */

/* 0, or -1: it did not end. */
static int start_client(const struct mock_plan *plan, int twice)
{
	struct pollfd p = { .events = POLLIN };
	int status = 0;
	pid_t pid;

	memset(report, 0, sizeof(*report));
	file->plan = *plan;
	__atomic_store_n(&file->taker, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&file->take, 1, __ATOMIC_RELEASE);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		client(twice);
		_exit(0);
	}
	p.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (poll(&p, 1, PATIENCE_S * 1000) != 1)
		kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	close(p.fd);
	__atomic_store_n(&file->take, 0, __ATOMIC_RELEASE);
	report->slot = __atomic_load_n(&file->taker, __ATOMIC_ACQUIRE);
	return status ? -1 : 0;
}

static int neighbour_in, neighbour_out;

static int neighbour_well(void)
{
	struct pollfd p = { .fd = neighbour_in, .events = POLLIN };
	char c = 'g';

	return write(neighbour_out, &c, 1) == 1 && poll(&p, 1, PATIENCE_S * 1000) == 1 && read(neighbour_in, &c, 1) == 1 && c == 'y';
}

static const char *error_name(CUresult r)
{
	const char *s = NULL;

	return !cuGetErrorName(r, &s) && s ? s : "?";
}

static const char *const objects[] = { "contexts", "reservations", "physical memory", "mappings", "registrations", "modules", "streams", "graphs" };
static const char *const modes[] = { "", "", " and the context is lost", " elsewhere", " later", " hangs", " is stuck" };

/* What a graph does launches do as well. */
static int is_graph(uint32_t call)
{
	return call == MOCK_cuGraphCreate || call == MOCK_cuGraphDestroy || call == MOCK_cuGraphAddKernelNode_v2 || call == MOCK_cuGraphInstantiateWithFlags ||
	       call == MOCK_cuGraphExecDestroy || call == MOCK_cuGraphExecKernelNodeSetParams_v2 || call == MOCK_cuGraphLaunch;
}

#define WARM_PRODUCTS 7u        /* before the walls stand */

/* A call that a client can do without, and what it loses. */
static int spared(const struct mock_plan *p)
{
	if (p->mode != MOCK_ERROR && p->mode != MOCK_ELSEWHERE)
		return 0;
	return is_graph(p->call) || p->call >= MOCK_cublasCreate_v2 || p->call == MOCK_cuMemAlloc_v2 || p->call == MOCK_cuMemFree_v2 || p->call == MOCK_cuOccupancyMaxPotentialClusterSize || p->call == MOCK_cuPointerGetAttribute ||
	       p->call == MOCK_cuMemHostRegister_v2 || p->call == MOCK_cuMemHostGetDevicePointer_v2 || p->call == MOCK_cuMemHostUnregister;
}

static int wanted_error(const struct mock_plan *p)
{
	CUresult got = report->create ? report->create : report->first;

	if (is_graph(p->call) && p->mode == MOCK_ERROR)
		return !got;
	/* given up in the middle: what the result was to be added to may be changed */
	if (p->call >= MOCK_cublasCreate_v2 && p->mode == MOCK_ERROR && (p->error == CUBLAS_STATUS_EXECUTION_FAILED || p->error == CUBLAS_STATUS_INTERNAL_ERROR) &&
	    ((p->call == MOCK_cublasGemmEx && p->nth > WARM_PRODUCTS && (p->nth - WARM_PRODUCTS) % 2 == 0) || (p->call == MOCK_cublasStrsm_v2 && p->nth > 1)))
		return got == CUDA_ERROR_UNKNOWN;
	if (p->call >= MOCK_cublasCreate_v2 && p->mode == MOCK_ERROR)
		return !got;
	if (spared(p))
		return !got || got == CUDA_ERROR_ILLEGAL_ADDRESS;       /* of a kernel that reads memory which could not be registered */
	/* The end of a launch is told in more than one way. */
	if ((p->call == MOCK_cuLaunchHostFunc || p->call == MOCK_cuStreamQuery || p->call == MOCK_cuStreamWriteValue64_v2) && p->mode == MOCK_ERROR &&
	    !got)
		return p->call != MOCK_cuLaunchHostFunc || p->nth > 1;
	/* what it would say of clusters is not needed */
	if (p->call == MOCK_cuFuncGetAttribute && p->mode == MOCK_ERROR && !got)
		return 1;
	/* asked again at once */
	if (p->call == MOCK_cuMemRelease && p->mode == MOCK_ERROR && !got)
		return 1;
	if (p->mode == MOCK_ELSEWHERE)
		return got == CUDA_ERROR_NOT_SUPPORTED;
	return got == (CUresult)p->error;
}

#define OWN_MODULES 2u          /* of the engine's kernels for products and solves in F32, which stay */

/* A module that a client is told could not be unloaded, it does not use again: it stays as long as its context. Memory is freed again. */
static uint32_t kept(const struct mock_plan *p, int object)
{
	if (object == MOCK_MODULE && (p->call >= MOCK_cublasCreate_v2 || p->call == MOCK_cuMemAlloc_v2 || p->call == MOCK_cuMemFree_v2))
		return OWN_MODULES;
	return p->mode == MOCK_ERROR && ((p->call == MOCK_cuModuleUnload && object == MOCK_MODULE) ||
					 ((p->call == MOCK_cuGraphDestroy || p->call == MOCK_cuGraphExecDestroy) && object == MOCK_GRAPH));
}

static void judge(const struct mock_plan *p, struct rest was, int stub, int agent, int ended)
{
	char why[512] = "";
	struct rest is;
	size_t n = 0;

#define WHY(...) (n += (size_t)snprintf(why + n, n < sizeof(why) ? sizeof(why) - n : 0, __VA_ARGS__), n = n < sizeof(why) ? n : sizeof(why) - 1)
	if (ended || !report->over)
		WHY("; the client %s", ended ? "did not end" : "ended early");
	if (!report->slot || !slot()->fired)
		WHY("; the call did not happen");
	if (!wanted_error(p))
		WHY("; the client saw %s (%d) in %s", error_name(report->create ? report->create : report->first),
		    (int)(report->create ? report->create : report->first), report->create ? "cuCtxCreate" : report->where);
	if (report->wrong[0])
		WHY("; wrong: %s", report->wrong);
	if (report->gone && report->last != report->first)
		WHY("; the context was lost by %s, and said %s later", error_name(report->first), error_name(report->last));
	if (!report->again)
		WHY("; the next round: %s in %s", error_name(report->again_first), report->again_where);
	if (!report->create && !report->gone)
		for (int o = 0; o < MOCK_OBJECTS; o++)
			if (report->live[1][o] > calm[o] + kept(p, o))
				WHY("; %u %s, %u expected", report->live[1][o], objects[o], calm[o]);
	if (!as_before(was, stub, agent, &is))
		WHY("; left behind: stub %u descriptors (%u), agent %u (%u), contexts %u (%u)", is.stub, was.stub, is.agent, was.agent, is.contexts,
		    was.contexts);
	if (!neighbour_well())
		WHY("; the neighbour does not work");
	if (n) {
		printf("FAIL cuda/mock/%s %u: %s%s: %s\n", names[p->call], p->nth, p->error ? error_name((CUresult)p->error) : "", modes[p->mode], why + 2);
		bad++;
	}
}

/* ---- the plans ---------------------------------------------------------------------------------------------------------- */

/* What the documentation of a call names beside OUT_OF_MEMORY. */
static const struct { uint32_t call, error, mode; } documented[] = {
	{ MOCK_cuInit, CUDA_ERROR_NO_DEVICE, MOCK_ERROR },
	{ MOCK_cuInit, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, MOCK_ERROR },
	{ MOCK_cuDeviceGet, CUDA_ERROR_INVALID_DEVICE, MOCK_ERROR },
	{ MOCK_cuCtxCreate_v2, CUDA_ERROR_DEVICE_UNAVAILABLE, MOCK_ERROR },
	{ MOCK_cuCtxCreate_v2, CUDA_ERROR_UNKNOWN, MOCK_ERROR },
	{ MOCK_cuMemAddressReserve, CUDA_ERROR_NOT_SUPPORTED, MOCK_ERROR },
	{ MOCK_cuMemAddressReserve, 0, MOCK_ELSEWHERE },
	{ MOCK_cuMemCreate, CUDA_ERROR_NOT_SUPPORTED, MOCK_ERROR },
	{ MOCK_cuMemCreate, CUDA_ERROR_INVALID_DEVICE, MOCK_ERROR },
	{ MOCK_cuMemMap, CUDA_ERROR_NOT_SUPPORTED, MOCK_ERROR },
	{ MOCK_cuMemSetAccess, CUDA_ERROR_INVALID_DEVICE, MOCK_ERROR },
	{ MOCK_cuMemHostRegister_v2, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, MOCK_ERROR },
	{ MOCK_cuMemHostRegister_v2, CUDA_ERROR_NOT_PERMITTED, MOCK_ERROR },
	{ MOCK_cuMemHostGetDevicePointer_v2, 0, MOCK_ELSEWHERE },
	{ MOCK_cuMemHostUnregister, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, MOCK_ERROR },
	{ MOCK_cuModuleLoadDataEx, CUDA_ERROR_INVALID_PTX, MOCK_ERROR },
	{ MOCK_cuModuleLoadDataEx, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, MOCK_ERROR },
	{ MOCK_cuModuleLoadDataEx, CUDA_ERROR_NO_BINARY_FOR_GPU, MOCK_ERROR },
	{ MOCK_cuModuleLoadDataEx, CUDA_ERROR_JIT_COMPILER_NOT_FOUND, MOCK_ERROR },
	{ MOCK_cuModuleLoadDataEx, CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, MOCK_ERROR },
	{ MOCK_cuModuleGetGlobal_v2, CUDA_ERROR_INVALID_CONTEXT, MOCK_ERROR },
	{ MOCK_cuFuncGetAttribute, CUDA_ERROR_INVALID_HANDLE, MOCK_ERROR },
	{ MOCK_cuLaunchKernel, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, MOCK_ERROR },
	{ MOCK_cuLaunchKernel, CUDA_ERROR_INVALID_IMAGE, MOCK_ERROR },
	{ MOCK_cuLaunchKernel, CUDA_ERROR_ILLEGAL_ADDRESS, MOCK_LATER },
	{ MOCK_cuLaunchKernel, CUDA_ERROR_LAUNCH_FAILED, MOCK_LATER },
	{ MOCK_cuLaunchKernel, CUDA_ERROR_MISALIGNED_ADDRESS, MOCK_LATER },
	{ MOCK_cuLaunchKernel, CUDA_ERROR_HARDWARE_STACK_ERROR, MOCK_LATER },
	{ MOCK_cuLaunchKernel, CUDA_ERROR_ASSERT, MOCK_LATER },
	{ MOCK_cuLaunchKernel, CUDA_ERROR_LAUNCH_TIMEOUT, MOCK_LATER },
	{ MOCK_cuLaunchCooperativeKernel, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, MOCK_ERROR },
	{ MOCK_cuLaunchCooperativeKernel, CUDA_ERROR_ILLEGAL_ADDRESS, MOCK_LATER },
	{ MOCK_cuGraphInstantiateWithFlags, CUDA_ERROR_INVALID_VALUE, MOCK_ERROR },
	{ MOCK_cuGraphExecKernelNodeSetParams_v2, CUDA_ERROR_NOT_SUPPORTED, MOCK_ERROR },
	{ MOCK_cuGraphLaunch, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, MOCK_ERROR },
	{ MOCK_cuGraphLaunch, CUDA_ERROR_ILLEGAL_ADDRESS, MOCK_LATER },
	{ MOCK_cuLaunchKernelEx, CUDA_ERROR_INVALID_CLUSTER_SIZE, MOCK_ERROR },
	{ MOCK_cuLaunchKernelEx, CUDA_ERROR_ILLEGAL_ADDRESS, MOCK_LATER },
	{ MOCK_cuLaunchHostFunc, CUDA_ERROR_NOT_SUPPORTED, MOCK_ERROR },
	{ MOCK_cuStreamWriteValue64_v2, CUDA_ERROR_NOT_SUPPORTED, MOCK_ERROR },
	{ MOCK_cuStreamCreateWithPriority, CUDA_ERROR_EXTERNAL_DEVICE, MOCK_ERROR },
};

/* cuBLAS's, which are the same for all its calls */
static const cublasStatus_t statuses[] = { CUBLAS_STATUS_ALLOC_FAILED, CUBLAS_STATUS_EXECUTION_FAILED, CUBLAS_STATUS_INTERNAL_ERROR, CUBLAS_STATUS_NOT_SUPPORTED };

/* Ends a context, by whichever call it is told. */
static const CUresult sticky[] = {
	CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_UNKNOWN, CUDA_ERROR_DEVICE_UNAVAILABLE,
	CUDA_ERROR_MISALIGNED_ADDRESS, CUDA_ERROR_HARDWARE_STACK_ERROR,
};

static struct rest quiet;
static int stub_pid, agent_pid;
static unsigned plans;

static void try(uint32_t call, uint32_t nth, uint32_t mode, uint32_t error)
{
	struct mock_plan p = { call, nth, mode, error };

	plans++;
	judge(&p, quiet, stub_pid, agent_pid, start_client(&p, 1));
}

static void sweep_call(uint32_t call, uint32_t times, int all)
{
	for (uint32_t n = 1; n <= times; n++) {
		int first = n == 1 || n == times;

		/* the same call at the same place again: its first, its last, and some between */
		if (!all && !first && n % 9 != 2)
			continue;
		if (call < MOCK_cublasCreate_v2)
			try(call, n, MOCK_ERROR, CUDA_ERROR_OUT_OF_MEMORY);
		for (uint32_t i = 0; call >= MOCK_cublasCreate_v2 && i < sizeof(statuses) / sizeof(statuses[0]); i++)
			if (all || i == n % 4 || i == (n + 1) % 4)
				try(call, n, MOCK_ERROR, statuses[i]);
		for (uint32_t i = 0; i < sizeof(sticky) / sizeof(sticky[0]); i++)
			if (all || i == (call + n) % (sizeof(sticky) / sizeof(sticky[0])))
				try(call, n, MOCK_STICKY, sticky[i]);
		for (uint32_t i = 0; i < sizeof(documented) / sizeof(documented[0]); i++)
			if (documented[i].call == call && (all || first))
				try(call, n, documented[i].mode, documented[i].error);
	}
}

static int start_neighbour(void)
{
	int in[2], out[2];

	if (pipe(in) || pipe(out))
		return -1;
	if (!fork()) {
		report = calloc(1, sizeof(*report));
		close(in[0]);
		close(out[1]);
		neighbour(out[0], in[1]);
	}
	close(in[1]);
	close(out[0]);
	neighbour_in = in[0];
	neighbour_out = out[1];
	return read(neighbour_in, &(char){ 0 }, 1) == 1 ? 0 : -1;
}

static int calm_down(void)
{
	if (start_neighbour() || !neighbour_well()) {
		puts("FAIL cuda/mock/neighbour it does not start");
		return 1;
	}
	quiet = rest(stub_pid, agent_pid);
	return 0;
}

/* A kernel without an end: of a client that waits, and of one that is killed. A call that does not come back. */
static int hang(void)
{
	struct mock_plan endless = { MOCK_cuLaunchKernel, 2, MOCK_HANG, CUDA_ERROR_LAUNCH_TIMEOUT };
	struct rest is;
	pid_t pid;
	int was;

	if (calm_down())
		return 1;
	try(endless.call, endless.nth, endless.mode, endless.error);
	printf("%s cuda/mock/a kernel without an end\n", bad ? "FAIL" : "ok");
	was = bad;
	try(MOCK_cuMemCreate, 1, MOCK_STUCK, CUDA_ERROR_LAUNCH_TIMEOUT);
	try(MOCK_cuMemcpyDtoHAsync_v2, 1, MOCK_STUCK, CUDA_ERROR_LAUNCH_TIMEOUT);
	printf("%s cuda/mock/a call that does not come back\n", bad > was ? "FAIL" : "ok");
	memset(report, 0, sizeof(*report));
	file->plan = endless;
	__atomic_store_n(&file->take, 1, __ATOMIC_RELEASE);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		client(0);
		_exit(0);
	}
	for (double end = now_s() + PATIENCE_S; now_s() < end && !(report->slot && __atomic_load_n(&slot()->fired, __ATOMIC_ACQUIRE)); nap())
		;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	was = !as_before(quiet, stub_pid, agent_pid, &is) || !neighbour_well();
	printf("%s cuda/mock/a client killed beside its kernel\n", was ? "FAIL" : "ok");
	return bad || was;
}

/* What is said of a device that does not say what it is. */
static int refused(const char *program, const char *library, uint32_t call, uint32_t nth)
{
	char text[4096] = "";
	int e[2], status;
	size_t n = 0;
	ssize_t part;
	pid_t pid;

	file->plan = (struct mock_plan){ call, nth, MOCK_ERROR, CUDA_ERROR_OUT_OF_MEMORY };
	__atomic_store_n(&file->take, 1, __ATOMIC_RELEASE);
	if (pipe(e))
		return 0;
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 1);
		dup2(e[1], 2);
		execl(program, program, "--cuda-info", library, "0", (char *)NULL);
		_exit(127);
	}
	close(e[1]);
	while (n < sizeof(text) - 1 && (part = read(e[0], text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)part;
	close(e[0]);
	waitpid(pid, &status, 0);
	__atomic_store_n(&file->take, 0, __ATOMIC_RELEASE);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1 && strstr(text, "CUDA_ERROR_OUT_OF_MEMORY"))
		return 1;
	printf("FAIL cuda/mock/identify %s %u: status %d, it says: %s\n", names[call], nth, status, text);
	return 0;
}

static int identify(const char *program, const char *library)
{
	static const uint32_t asked[] = { MOCK_cuInit, MOCK_cuDeviceGetCount, MOCK_cuDeviceGet, MOCK_cuDeviceGetName, MOCK_cuDeviceGetUuid,
					  MOCK_cuDeviceTotalMem_v2, MOCK_cuDeviceGetPCIBusId };
	int ok = 1;

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		ok &= refused(program, library, asked[i], 1);
	for (uint32_t n = 1; n <= 22; n += 7)
		ok &= refused(program, library, MOCK_cuDeviceGetAttribute, n);
	if (ok)
		puts("ok cuda/mock/identify");
	return !ok;
}

/*
 * 1,000 launches in a row, and how often their end is to be written: behind 32 while more come. On a machine that has no processor for both client
 * and device they come in handfuls, so the best of many bursts counts.
 */
static int bursts(void)
{
	struct mock_plan none = { 0 };
	uint32_t least = UINT32_MAX;
	CUcontext ctx = NULL;
	CUdevice dev;
	CUresult r;
	int ok;

	file->plan = none;
	__atomic_store_n(&file->taker, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&file->take, 1, __ATOMIC_RELEASE);
	r = cuInit(0) ? CUDA_ERROR_NOT_INITIALIZED : cuDeviceGet(&dev, 0);
	if (!r)
		r = cuCtxCreate_v2(&ctx, 0, dev);
	report->slot = __atomic_load_n(&file->taker, __ATOMIC_ACQUIRE);
	for (int i = 0; !r && report->slot && i < 200 && least > BURST_WRITES; i++) {
		uint32_t before = __atomic_load_n(&slot()->calls[MOCK_cuStreamWriteValue64_v2], __ATOMIC_ACQUIRE), n;

		r = launch_many(BURST);
		n = __atomic_load_n(&slot()->calls[MOCK_cuStreamWriteValue64_v2], __ATOMIC_ACQUIRE) - before;
		least = n < least ? n : least;
	}
	ok = !r && least <= BURST_WRITES;
	if (ok)
		printf("ok cuda/mock/a write behind 32 commands (%u behind %u)\n", least, BURST);
	else
		printf("FAIL cuda/mock/a write behind 32 commands: %u writes behind %u (%s)\n", least, BURST, error_name(r));
	if (ctx)
		cuCtxDestroy_v2(ctx);
	return !ok;
}

static int sweep(const char *only, int all)
{
	uint32_t times[MOCK_CALLS];
	double t = now_s();
	int version = 0;

	/* before cuInit, which this process never calls: what the agent has left tells */
	if (cuDriverGetVersion(&version) || version != MOCK_VERSION) {
		printf("FAIL cuda/mock/plain the driver's version is said to be %d\n", version);
		return 1;
	}

	if (calm_down())
		return 1;
	/* nothing fails: how often each call comes in one round, and what stays behind two */
	if (start_client(&(struct mock_plan){ 0 }, 0) || report->first || report->create || report->wrong[0]) {
		printf("FAIL cuda/mock/plain %s in %s; %s\n", error_name(report->create ? report->create : report->first),
		       report->create ? "cuCtxCreate" : report->where, report->wrong);
		return 1;
	}
	memcpy(times, slot()->calls, sizeof(times));
	if (slot()->strange || !slot()->opened != !getenv("MOCK_OPENS")) {
		printf("FAIL cuda/mock/files its own was opened %u times, others %u times\n", slot()->opened, slot()->strange);
		bad++;
	}
	if (start_client(&(struct mock_plan){ 0 }, 1) || !report->again) {
		puts("FAIL cuda/mock/plain the second round");
		return 1;
	}
	memcpy(calm, report->live[1], sizeof(calm));
	if (calm[MOCK_PHYSICAL] || calm[MOCK_MAPPED] || calm[MOCK_MODULE] > OWN_MODULES) {
		printf("FAIL cuda/mock/plain left: %u pieces of memory, %u mappings, %u modules\n", calm[MOCK_PHYSICAL], calm[MOCK_MAPPED], calm[MOCK_MODULE]);
		return 1;
	}
	for (uint32_t c = 0; c < MOCK_CALLS; c++) {
		int was = bad;
		unsigned before = plans;

		if (only && !strstr(names[c], only))
			continue;
		/* How often the end of work is looked for is a matter of time: so often it is in any case. */
		if (c == MOCK_cuStreamQuery && times[c] > 1)
			times[c] = 1;
		if (c == MOCK_cuLaunchHostFunc && times[c] > 2)
			times[c] = 2;
		if (c == MOCK_cuStreamWriteValue64_v2)
			times[c] /= 2;
		sweep_call(c, times[c], all);
		if (bad == was && plans > before)
			printf("ok cuda/mock/%s (%u called, %u failures)\n", names[c], times[c], plans - before);
	}
	fprintf(stderr, "%u failures of the driver in %.1f s\n", plans, now_s() - t);
	return bad != 0;
}

int main(int argc, char **argv)
{
	int all = argc > 5 && !strcmp(argv[5], "all");

	if (argc < 3)
		return 2;
	file_fd = open(argv[2], O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (file_fd < 0 || fchmod(file_fd, 0666) || ftruncate(file_fd, sizeof(*file)))
		return 2;
	if (!strcmp(argv[1], "create"))
		return 0;
	if (!strcmp(argv[1], "images"))
		return images();
	file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, file_fd, 0);
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (file == MAP_FAILED || report == MAP_FAILED || argc < 5)
		return 2;
	if (!strcmp(argv[1], "identify"))
		return identify(argv[3], argv[4]);
	stub_pid = atoi(argv[3]);
	agent_pid = atoi(argv[4]);
	if (!strcmp(argv[1], "hang"))
		return hang();
	if (!strcmp(argv[1], "bursts"))
		return bursts();
	return sweep(argc > 5 + all ? argv[5 + all] : NULL, all);
}
