/* SPDX-License-Identifier: MIT */
/*
 * worker MODE [N]: a program that uses CUDA's driver API in one of the ways that the tests of this folder need. All of them
 * are honest, or as honest as a slow neighbour may be; what is not is in tests/hostile.
 *
 *   first          from cuInit to a checked result, prints the milliseconds
 *   connect        cuInit and what the device is called, without a context
 *   grow           has a context, says "running PID"; at a line on stdin asks for pinned memory, says "answered CODE"
 *   windows N      has N MiB of pinned memory, and goes
 *   memory N       has N MiB of the device's memory, says "had N MiB", and goes at a line on stdin, or its end
 *   on SECONDS     works and checks, through whatever happens: resets its context after a fault, and goes on; "running" after the
 *                  first result, "again" after each fault; at last what this process has kept of its sessions
 *   compile N      says "running"; one thread compiles a kernel of N blocks, "compiled CODE"; another asks for pinned memory as soon
 *                  as that has begun, and launches until it is over: "beside: ..." says which of both it did meanwhile
 *   compiles N     the same compilation and nothing beside it
 *   reads          reads memory of the device again and again, until it is told that it cannot: "wrong" is what it was told it has
 *   before, after  stops itself before or after it has asked for its context; "told CODE" is what it was told of it afterwards
 *   allocs N       N allocations, as many frees
 *   live N         N allocations that live at once, freed in an order of no order
 *   modules N      N modules loaded, looked into and unloaded
 *   contexts N     N contexts made, used and destroyed
 *
 * Exit status: 0, 1 with a line that says what was wrong, 3 no device.
 */
#include <cuda.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../fw-protocol/vgpu_client.h"
#include "add.h"

static int wrong(const char *what, int code)
{
	const char *name = "?";

	cuGetErrorName((CUresult)code, &name);
	printf("%s: %s\n", what, name);
	return code == CUDA_ERROR_NO_DEVICE ? 3 : 1;
}

#define DO(call) do { CUresult r_ = (call); if (r_) return wrong(#call, r_); } while (0)

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int open_context(CUcontext *c)
{
	DO(cuInit(0));
	DO(cuDevicePrimaryCtxRetain(c, 0));
	DO(cuCtxSetCurrent(*c));
	return 0;
}

/* n words, plus k, on the device; checked. */
static int compute(CUfunction f, unsigned n, unsigned k)
{
	uint32_t *host = malloc(n * sizeof *host);
	CUdeviceptr p;
	void *args[] = { &p, &k, &n };
	unsigned bad = 0;

	DO(cuMemAlloc(&p, n * sizeof *host));
	for (unsigned i = 0; i < n; i++)
		host[i] = i * 2654435761u;
	DO(cuMemcpyHtoD(p, host, n * sizeof *host));
	DO(cuLaunchKernel(f, (n + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, args, NULL));
	DO(cuMemcpyDtoH(host, p, n * sizeof *host));
	for (unsigned i = 0; i < n; i++)
		bad += host[i] != i * 2654435761u + k;
	free(host);
	DO(cuMemFree(p));
	if (bad)
		printf("%u words of %u are wrong\n", bad, n);
	return bad ? 1 : 0;
}

static int first(void)
{
	double t0 = now_ms();
	CUcontext c;
	CUmodule m;
	CUfunction f;
	int rc = open_context(&c);

	if (rc)
		return rc;
	DO(cuModuleLoadData(&m, add_ptx));
	DO(cuModuleGetFunction(&f, m, "add"));
	rc = compute(f, 5000, 77);
	if (!rc)
		printf("%.2f ms\n", now_ms() - t0);
	return rc;
}

static int only_connect(void)
{
	char name[64];
	CUdevice d;

	DO(cuInit(0));
	DO(cuDeviceGet(&d, 0));
	DO(cuDeviceGetName(name, sizeof name, d));
	printf("%s\n", name);
	return 0;
}

/* ---- slow neighbours ------------------------------------------------------------------------------ */

static int grow(void)
{
	char line[16];
	CUcontext c;
	void *p;
	int rc = open_context(&c);

	if (rc)
		return rc;
	printf("running %d\n", (int)getpid());
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		return 1;
	rc = cuMemAllocHost(&p, 8 << 20);
	printf("answered %d\n", rc);
	return 0;
}

static int windows(unsigned mib)
{
	CUcontext c;
	void *p;
	int rc = open_context(&c);

	if (!rc)
		DO(cuMemAllocHost(&p, (size_t)mib << 20));
	if (!rc)
		printf("had %u MiB\n", mib);
	return rc;
}

static int memory(unsigned mib)
{
	CUdeviceptr p;
	CUcontext c;
	int rc = open_context(&c);

	if (rc)
		return rc;
	DO(cuMemAlloc(&p, (size_t)mib << 20));
	printf("had %u MiB\n", mib);
	fflush(stdout);
	getchar();
	return 0;
}

/* A kernel that is slow to compile: a value lives through all of its blocks, each of which may go to another. */
static char *blocks_ptx(unsigned blocks)
{
	size_t room = (size_t)blocks * 200 + 1000;
	char *s = malloc(room), *p = s;

	p += sprintf(p, ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry slow(.param .u64 a, .param .u32 b)\n{\n"
			".reg .pred q<%u>;\n.reg .b32 r<%u>;\n.reg .b64 d;\nld.param.u64 d, [a];\nld.param.u32 r0, [b];\n", blocks + 1, blocks + 2);
	for (unsigned i = 0; i < blocks; i++)
		p += sprintf(p, "B%u:\nld.global.u32 r%u, [d+%u];\nsetp.gt.u32 q%u, r%u, r%u;\n@q%u bra B%u;\n", i, i + 1, i % 64 * 4, i, i + 1,
			     i * 7 / 8, i, (i * 7919u + 13) % blocks);
	for (unsigned i = 0; i < blocks; i += 5)
		p += sprintf(p, "st.global.u32 [d+%u], r%u;\n", i % 64 * 4, i + 1);
	sprintf(p, "ret;\n}\n");
	return s;
}

/* A context's other thread while its first one compiles: it asks for pinned memory, and launches all the time. */
static struct {
	CUcontext c;
	CUfunction f;
	int over;                       /* the first thread sets it */
	unsigned launches;
	double answered_ms, longest_ms; /* between the end of a launch and that of the next */
	int rc;
} beside;

static void *work_beside(void *unused)
{
	double last, now;
	uint32_t *p = NULL;
	unsigned n = 1000, k = 1;
	void *args[] = { &p, &k, &n };

	(void)unused;
	usleep(50000);
	beside.rc = cuCtxSetCurrent(beside.c);
	if (!beside.rc)
		beside.rc = cuMemAllocHost((void **)&p, 8 << 20);
	beside.answered_ms = last = now_ms();
	if (!beside.rc)
		memset(p, 0, n * sizeof *p);
	while (!beside.rc && !__atomic_load_n(&beside.over, __ATOMIC_ACQUIRE)) {
		beside.rc = cuLaunchKernel(beside.f, 4, 1, 1, 256, 1, 1, 0, CU_STREAM_PER_THREAD, args, NULL);
		if (!beside.rc)
			beside.rc = cuStreamSynchronize(CU_STREAM_PER_THREAD);
		if (!beside.rc && p[n - 1] != ++beside.launches)
			beside.rc = 1;
		now = now_ms();
		beside.longest_ms = now - last > beside.longest_ms ? now - last : beside.longest_ms;
		last = now;
		usleep(100);
	}
	return NULL;
}

static int compile(unsigned blocks, int launch)
{
	char *ptx = blocks_ptx(blocks);
	pthread_t t;
	CUmodule m, add;
	CUfunction f;
	double t0, t1;
	int rc = open_context(&beside.c);

	if (rc)
		return rc;
	DO(cuModuleLoadData(&add, add_ptx));
	DO(cuModuleGetFunction(&beside.f, add, "add"));
	rc = compute(beside.f, 1000, 1);
	if (rc)
		return rc;
	printf("running %d\n", (int)getpid());
	fflush(stdout);
	if (launch)
		pthread_create(&t, NULL, work_beside, NULL);
	t0 = now_ms();
	rc = cuModuleLoadData(&m, ptx);
	if (!rc)
		rc = cuModuleGetFunction(&f, m, "slow");
	t1 = now_ms();
	__atomic_store_n(&beside.over, 1, __ATOMIC_RELEASE);
	printf("compiled %d in %.0f ms\n", rc, t1 - t0);
	fflush(stdout);
	free(ptx);
	if (!launch)
		return rc ? 1 : 0;
	pthread_join(t, NULL);
	printf("beside: code %d, memory %s, %u launches, the longest for %.0f ms, %s\n", beside.rc,
	       beside.answered_ms < t1 ? "meanwhile" : "afterwards", beside.launches, beside.longest_ms,
	       beside.launches > 20 && beside.longest_ms < (t1 - t0) / 2 ? "meanwhile" : "afterwards");
	return 0;
}

/* ---- going on after a fault ------------------------------------------------------------------------------- */

struct life {
	unsigned checked, wrong, faults;
	double fault, slowest_ms;       /* since when it is one; 0: all is well */
	/* what it waits for, since when; and of this fault what took longest, of the slowest one what was said */
	const char *step;
	double step_ms;
	unsigned tries;
	char longest[80], slowest[160];
	double longest_ms;
	/* this process, at the first result, and behind the last fault: every session is to leave nothing */
	struct size { long descriptors, mappings, kib; } first, last;
};

static long lines(const char *path, const char *word)
{
	FILE *f = fopen(path, "re");
	char line[600];
	long n = 0, kib;

	while (f && fgets(line, sizeof line, f))
		if (!word)
			n++;
		else if (!strncmp(line, word, strlen(word)) && sscanf(strchr(line, ':') + 1, "%ld", &kib) == 1)
			n += kib;
	if (f)
		fclose(f);
	return n;
}

static struct size size(void)
{
	struct size s = { .mappings = lines("/proc/self/maps", NULL), .kib = lines("/proc/self/smaps_rollup", "Private_Dirty") };
	DIR *d = opendir("/proc/self/fd");

	while (d && readdir(d))
		s.descriptors++;
	if (d)
		closedir(d);
	return s;
}

/* The time of day, as storm.sh's list of events has it. */
static double clock_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#define SLOW_MS 1000

/* The next step of going on begins: keeps what the last one took, and tells of those that took long. */
static void step(struct life *l, const char *name, CUresult r)
{
	double now = now_ms(), took = now - l->step_ms;

	if (l->fault > 0 && l->step && took > SLOW_MS) {
		printf("slow: %s %.0f ms until %.3f, try %u, code %d\n", l->step, took, clock_s(), l->tries, (int)r);
		fflush(stdout);
	}
	if (l->fault > 0 && l->step && took > l->longest_ms) {
		l->longest_ms = took;
		snprintf(l->longest, sizeof l->longest, "%s %.0f ms, try %u%s", l->step, took, l->tries, r ? ", which failed" : "");
	}
	l->step = name;
	l->step_ms = now;
}

static void is_well(struct life *l)
{
	double took = now_ms() - l->fault;

	step(l, NULL, CUDA_SUCCESS);
	if (took > l->slowest_ms)
		snprintf(l->slowest, sizeof l->slowest, "%u tries, longest: %s", l->tries, l->longest);
	l->slowest_ms = took > l->slowest_ms ? took : l->slowest_ms;
	l->fault = 0;
	l->faults++;
	l->last = size();
	printf("again\n");
	fflush(stdout);
}

static volatile sig_atomic_t enough;

static void on_term(int sig)
{
	(void)sig;
	enough = 1;
}

/* Work with checked results until something fails, or the time is over: then 0. */
static CUresult live_once(double until, struct life *l)
{
	unsigned n = 20000, blocks = (n + 255) / 256;
	uint32_t *host = malloc(n * sizeof *host), *pinned = NULL;
	CUdeviceptr p = 0;
	CUcontext c;
	CUmodule m;
	CUfunction f;
	CUstream s;
	CUevent e;
	CUresult r;

	step(l, "context", CUDA_SUCCESS);
	if ((r = cuDevicePrimaryCtxRetain(&c, 0)) || (r = cuCtxSetCurrent(c)))
		goto out;
	step(l, "module", CUDA_SUCCESS);
	if ((r = cuModuleLoadData(&m, add_ptx)) || (r = cuModuleGetFunction(&f, m, "add")))
		goto out;
	step(l, "memory", CUDA_SUCCESS);
	if ((r = cuStreamCreate(&s, CU_STREAM_NON_BLOCKING)) || (r = cuEventCreate(&e, 0)) || (r = cuMemAlloc(&p, n * sizeof *host)) ||
	    (r = cuMemAllocHost((void **)&pinned, n * sizeof *host)))
		goto out;
	step(l, "work", CUDA_SUCCESS);
	for (unsigned k = 1; !r && now_ms() < until && (!enough || k < 3); k++) {
		void *args[] = { &p, &k, &n };

		for (unsigned i = 0; i < n; i++)
			pinned[i] = i * 2654435761u + k;
		if ((r = cuMemcpyHtoDAsync(p, pinned, n * sizeof *host, s)) ||
		    (r = cuLaunchKernel(f, blocks, 1, 1, 256, 1, 1, 0, s, args, NULL)) || (r = cuEventRecord(e, s)))
			break;
		/* both ways of waiting */
		if (k % 2)
			r = cuEventSynchronize(e);
		else
			while ((r = cuEventQuery(e)) == CUDA_ERROR_NOT_READY)
				;
		if (r || (r = cuMemcpyDtoH(host, p, n * sizeof *host)))
			break;
		for (unsigned i = 0; i < n; i++)
			l->wrong += host[i] != i * 2654435761u + 2 * k;
		if (!l->checked++) {
			l->first = l->last = size();
			puts("running");
			fflush(stdout);
		}
		if (l->fault > 0)
			is_well(l);
		usleep(k % 8 ? 0 : 1000);
	}
out:
	step(l, "reset", r);
	free(host);
	return r;
}

/* What CUDA has for it: the context is reset, and held no more; the next one is new. */
static void start_over(void)
{
	cuDevicePrimaryCtxReset(0);
	cuCtxSetCurrent(NULL);
	cuDevicePrimaryCtxRelease(0);
}

/*
 * Works for `seconds`, or until SIGTERM, whatever happens to agent, device and context; checks every result. One line for each fault that is over.
 * The last one may not be: a minute is waited for its end.
 */
static int live_on(unsigned seconds)
{
	double until = now_ms() + seconds * 1e3;
	struct life l = { 0 };
	CUresult r;

	signal(SIGTERM, on_term);
	DO(cuInit(0));
	for (;;) {
		if (enough && now_ms() < until)
			until = now_ms();
		r = live_once(l.fault > 0 && now_ms() >= until ? now_ms() + 300 : until, &l);
		if (!r && l.fault <= 0)
			break;
		if (l.fault <= 0) {
			l.fault = l.step_ms = now_ms();
			l.tries = 0;
			l.longest_ms = 0;
		}
		l.tries++;
		if (now_ms() > until + 60000)
			return wrong("it does not come back", r);
		start_over();
		usleep(20000);
	}
	start_over();
	printf("kept %ld descriptors %ld mappings %ld KiB\n", l.last.descriptors - l.first.descriptors, l.last.mappings - l.first.mappings,
	       l.last.kib - l.first.kib);
	printf("checked %u wrong %u faults %u slowest_ms %.0f (%s)\n", l.checked, l.wrong, l.faults, l.slowest_ms, l.slowest);
	return l.wrong ? 1 : 0;
}

/* ---- the end, in the middle of a copy ---------------------------------------------------------------------- */

#define READ_WORDS (64u << 10)

/* Whatever becomes of this program's session: a copy that says it is done has brought the words. */
static int reads(void)
{
	uint32_t *host = malloc(READ_WORDS * sizeof *host);
	CUdeviceptr p;
	unsigned bad = 0, n = 0;
	CUcontext c;
	CUresult r;
	int rc = open_context(&c);

	if (rc)
		return rc;
	DO(cuMemAlloc(&p, READ_WORDS * sizeof *host));
	DO(cuMemsetD32(p, 0x5a5a1234, READ_WORDS));
	do {
		/* a word of each page: most of the time is the copy's */
		for (unsigned i = 1023; i < READ_WORDS; i += 1024)
			host[i] = 0;
		r = cuMemcpyDtoH(host, p, READ_WORDS * sizeof *host);
		for (unsigned i = 1023; !r && i < READ_WORDS; i += 1024)
			bad += host[i] != 0x5a5a1234;
		if (!n++) {
			puts("running");
			fflush(stdout);
		}
	} while (!r && !bad);
	printf("%s after %u copies: code %d, %u words\n", bad ? "wrong" : "told", n, r, bad);
	free(host);
	return bad ? 1 : 0;
}

/* ---- the end, at its first words or its context's creation ---------------------------------------------------- */

static enum { NEVER, BEFORE, AFTER } stops;
static uint32_t stops_at = VGPU_MSG_CTX_CREATE;

/* The library's send(), as the program's own stands before libc's: the one that says HELLO, or asks for a context, is the place to stop at. */
ssize_t send(int fd, const void *buf, size_t n, int flags)
{
	const struct vgpu_msg_header *h = buf;
	bool here = stops && n >= sizeof *h && h->type == stops_at;
	ssize_t sent;

	if (here && stops == BEFORE)
		raise(SIGSTOP);
	sent = syscall(SYS_sendto, fd, buf, n, flags, NULL, 0);
	if (here && stops == AFTER)
		raise(SIGSTOP);
	stops = here ? NEVER : stops;
	return sent;
}

/* Who is ended while it says HELLO, or makes its context, is told so, then or at the first use: it does not go on in another session. */
static int created(void)
{
	CUdeviceptr p;
	CUcontext c;
	CUresult r;

	r = cuInit(0);
	if (!r)
		r = cuCtxCreate_v2(&c, 0, 0);
	if (!r)
		r = cuMemAlloc(&p, 4096);
	if (!r)
		r = cuMemsetD8(p, 1, 4096);
	if (!r)
		r = cuCtxSynchronize();
	printf("%s %d\n", r ? "told" : "wrong: goes on,", r);
	return r ? 0 : 1;
}

/* ---- many of something ------------------------------------------------------------------------------- */

static int allocs(unsigned n)
{
	CUcontext c;
	int rc = open_context(&c);

	for (unsigned i = 0; i < n && !rc; i++) {
		CUdeviceptr p;

		DO(cuMemAlloc(&p, 4096 + i % 7 * 4096));
		DO(cuMemFree(p));
	}
	return rc;
}

static int live(unsigned n)
{
	CUdeviceptr *p = calloc(n, sizeof *p);
	uint32_t seed = 1;
	CUcontext c;
	double t0 = now_ms(), t1;
	int rc = open_context(&c);

	if (rc)
		return rc;
	for (unsigned i = 0; i < n; i++) {
		DO(cuMemAlloc(&p[i], 256 + i % 3 * 4096));
		DO(cuMemsetD32Async(p[i], i, 64, NULL));
	}
	t1 = now_ms();
	for (unsigned i = n; i > 1; i--) {
		unsigned k = (seed = seed * 1664525u + 1013904223u) % i;
		CUdeviceptr q = p[k];

		p[k] = p[i - 1];
		p[i - 1] = q;
	}
	for (unsigned i = 0; i < n; i++)
		DO(cuMemFree(p[i]));
	printf("%u live allocations: %.0f ms, freed in %.0f ms\n", n, t1 - t0, now_ms() - t1);
	free(p);
	return 0;
}

static int modules(unsigned n)
{
	CUcontext c;
	int rc = open_context(&c);

	for (unsigned i = 0; i < n && !rc; i++) {
		CUmodule m;
		CUfunction f;

		DO(cuModuleLoadData(&m, add_ptx));
		DO(cuModuleGetFunction(&f, m, "add"));
		DO(cuModuleUnload(m));
	}
	return rc;
}

static int contexts(unsigned n)
{
	DO(cuInit(0));
	for (unsigned i = 0; i < n; i++) {
		CUcontext c;
		CUdeviceptr p;

		DO(cuCtxCreate_v2(&c, 0, 0));
		DO(cuMemAlloc(&p, 1 << 20));
		DO(cuMemsetD8(p, 1, 1 << 20));
		DO(cuCtxDestroy(c));
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;

	if (!strcmp(mode, "first"))
		return first();
	if (!strcmp(mode, "connect"))
		return only_connect();
	if (!strcmp(mode, "grow"))
		return grow();
	if (!strcmp(mode, "on"))
		return live_on(n);
	if (!strcmp(mode, "windows"))
		return windows(n);
	if (!strcmp(mode, "memory"))
		return memory(n);
	if (!strcmp(mode, "compile"))
		return compile(n, 1);
	if (!strcmp(mode, "compiles"))
		return compile(n, 0);
	if (!strcmp(mode, "reads"))
		return reads();
	if (!strcmp(mode, "before") || !strcmp(mode, "after")) {
		stops = mode[0] == 'b' ? BEFORE : AFTER;
		if (argc > 2 && !strcmp(argv[2], "hello"))
			stops_at = VGPU_MSG_HELLO;
		return created();
	}
	if (!strcmp(mode, "allocs"))
		return allocs(n);
	if (!strcmp(mode, "live"))
		return live(n);
	if (!strcmp(mode, "modules"))
		return modules(n);
	if (!strcmp(mode, "contexts"))
		return contexts(n);
	fprintf(stderr, "usage: worker first | connect | grow | windows N | on SECONDS | compile N | compiles N | reads | before [hello] | after [hello] | allocs N | live N | modules N | contexts N\n");
	return 2;
}
