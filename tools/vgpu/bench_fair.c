/* SPDX-License-Identifier: MIT */
/*
 * vgpu bench fair: what hogs get done beside each other, against their weights; how long a small client waits alone and
 * beside a hog. A device and an agent of its own, since it changes weights.
 *
 * A hog launches without end, two ahead, kernels whose blocks take about a millisecond. Its blocks are counted, not time.
 */
#define _GNU_SOURCE
#include "bench_gpu.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../fw-protocol/vgpu_ring.h"

#define HOGS 3
#define READY_NS 60000000000ull
#define ASKS 1500
#define ASKS_QUICK 300
#define PAUSE_US 2000

static const char spin[] =
	".version 6.0\n.target sm_50\n.address_size 64\n"
	".visible .entry spin(.param .u64 sum, .param .u32 n)\n{\n"
	"\t.reg .u64 %a;\n\t.reg .u32 %i, %n, %x, %t;\n\t.reg .pred %p;\n"
	"\tld.param.u64 %a, [sum];\n\tld.param.u32 %n, [n];\n\tmov.u32 %i, 0;\n\tmov.u32 %t, %tid.x;\n\tmov.u32 %x, %t;\n"
	"loop:\n\tmad.lo.u32 %x, %x, 1664525, 1013904223;\n\tadd.u32 %i, %i, 1;\n\tsetp.lt.u32 %p, %i, %n;\n\t@%p bra loop;\n"
	"\tsetp.ne.u32 %p, %t, 0;\n\t@%p bra end;\n\tshr.u32 %x, %x, 31;\n\tshr.u32 %x, %x, 1;\n\tadd.u32 %x, %x, 1;\n"
	"\tred.global.add.u32 [%a], %x;\n"
	"end:\n\tret;\n}\n";

struct fair {
	uint64_t blocks[HOGS];          /* ended, of each hog, as it last looked */
	int asks;
	struct hist alone, beside;
};

struct hog {
	struct fair *f;
	int me;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int hog(void *arg)
{
	struct hog *h = arg;
	unsigned n = 300000;
	CUstream s[2];
	CUfunction fn;
	CUmodule mod;
	void *sum;
	struct gpu g;

	if (gpu_open(&g, 4 /* CU_CTX_SCHED_BLOCKING_SYNC */))
		return -1;
	TRY(cu.cuModuleLoadData(&mod, spin));
	TRY(cu.cuModuleGetFunction(&fn, mod, "spin"));
	TRY(cu.cuMemAllocHost_v2(&sum, 4096));
	for (int i = 0; i < 2; i++)
		TRY(cu.cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
	*(volatile uint32_t *)sum = 0;
	for (int i = 0;; i = !i) {
		void *params[] = { &sum, &n };  /* a pinned pointer is its own device pointer */

		TRY(cu.cuStreamSynchronize(s[i]));
		__atomic_store_n(&h->f->blocks[h->me], *(volatile uint32_t *)sum, __ATOMIC_RELAXED);
		TRY(cu.cuLaunchKernel(fn, 32, 1, 1, 32, 1, 1, 0, s[i], params, NULL));
	}
}

static int small(struct fair *f, struct hist *h)
{
	struct gpu g;

	if (gpu_open(&g, 4))
		return -1;
	for (int i = 0; i < f->asks; i++) {
		uint64_t t = tsc();

		TRY(gpu_launch(&g, g.fn[P4], g.stream));
		TRY(cu.cuStreamSynchronize(g.stream));
		hist_add(h, tsc_ns(t, tsc()));
		usleep(PAUSE_US);
	}
	return 0;
}

static int small_alone(void *arg) { return small(arg, &((struct fair *)arg)->alone); }
static int small_beside(void *arg) { return small(arg, &((struct fair *)arg)->beside); }

/* Waits until the hogs have ended so many blocks more together, and says what each has; -1: one has ended, or they do not get on. */
static int wait_blocks(struct fair *f, const pid_t *pid, int n, uint64_t total, uint64_t *got)
{
	uint64_t from[HOGS], sum, begin = now_ns();

	for (int i = 0; i < n; i++)
		from[i] = __atomic_load_n(&f->blocks[i], __ATOMIC_RELAXED);
	do {
		usleep(20000);
		sum = 0;
		for (int i = 0; i < n; i++) {
			siginfo_t si = { 0 };

			if (waitid(P_PID, (id_t)pid[i], &si, WEXITED | WNOHANG | WNOWAIT) || si.si_pid)
				return -1;
			got[i] = __atomic_load_n(&f->blocks[i], __ATOMIC_RELAXED) - from[i];
			sum += got[i];
		}
		if (now_ns() - begin > READY_NS) {
			complain("bench fair: %" PRIu64 " of %" PRIu64 " blocks in a minute", sum, total);
			return -1;
		}
	} while (sum < total);
	return 0;
}

static int set_weight(const struct rig *rig, pid_t pid, unsigned weight)
{
	struct agent_status s;
	int err = agent_status(rig->agent, &s), rc = -1;

	if (err) {
		complain("bench fair: %s: %s", rig->agent, strerror(-err));
		return -1;
	}
	for (unsigned i = 0; rc && i < s.contexts; i++)
		if (s.context[i].pid == (uint32_t)pid)
			rc = ctl_ask(rig->agent, VGPU_CTL_WEIGHT, s.context[i].client_id, weight) ? -2 : 0;
	if (rc == -1)
		complain("bench fair: the agent knows no context of process %d", (int)pid);
	agent_status_free(&s);
	return rc;
}

static void end(const pid_t *pid, int n)
{
	for (int i = 0; i < n; i++)
		kill(pid[i], SIGKILL);
	for (int i = 0; i < n; i++)
		waitpid(pid[i], NULL, 0);
}

static const struct {
	int n;
	unsigned weight[HOGS];
} cases[] = { { 2, { 100, 100 } }, { 2, { 100, 300 } }, { 3, { 100, 100, 200 } }, { 2, { 100, 1000 } } };
#define CASES (sizeof(cases) / sizeof(cases[0]))

static int shares(const struct rig *rig, struct fair *f, size_t k, uint64_t total, double *share)
{
	struct hog h[HOGS];
	uint64_t got[HOGS], sum = 0;
	pid_t pid[HOGS];
	int n = 0, bad = 0;

	memset(f->blocks, 0, sizeof(f->blocks));
	for (; !bad && n < cases[k].n; n++) {
		h[n] = (struct hog){ f, n };
		pid[n] = rig_spawn(rig, hog, &h[n]);
		if (pid[n] <= 0)
			break;
	}
	bad = n < cases[k].n;
	for (int i = 0; !bad && i < n; i++) {
		uint64_t begin = now_ns();

		while (!__atomic_load_n(&f->blocks[i], __ATOMIC_RELAXED) && !bad) {
			usleep(5000);
			bad = now_ns() - begin > READY_NS;
		}
		bad = bad || set_weight(rig, pid[i], cases[k].weight[i]);
	}
	bad = bad || wait_blocks(f, pid, n, total / 4, got) || wait_blocks(f, pid, n, total, got);
	end(pid, n);
	for (int i = 0; !bad && i < n; i++)
		sum += got[i];
	for (int i = 0; !bad && i < n; i++)
		share[i] = (double)got[i] / (double)sum;
	return bad ? -1 : 0;
}

static int latencies(const struct rig *rig, struct fair *f)
{
	struct hog h = { f, 0 };
	uint64_t got[1];
	pid_t pid;
	int bad;

	if (rig_run(rig, small_alone, f))
		return -1;
	f->blocks[0] = 0;
	pid = rig_spawn(rig, hog, &h);
	if (pid <= 0)
		return -1;
	bad = wait_blocks(f, &pid, 1, 64, got) || rig_run(rig, small_beside, f);
	end(&pid, 1);
	return bad ? -1 : 0;
}

static void print_fair(const struct fair *f, double share[CASES][HOGS], int json)
{
	struct json j = { .out = stdout };
	const struct hist *h[] = { &f->alone, &f->beside };
	static const char *const name[] = { "alone", "beside_hog" };

	if (!json) {
		printf("shares of hogs, by the blocks they got done\n");
		for (size_t k = 0; k < CASES; k++) {
			unsigned sum = 0;

			for (int i = 0; i < cases[k].n; i++)
				sum += cases[k].weight[i];
			for (int i = 0; i < cases[k].n; i++)
				printf("%sweight %4u of %4u: %5.1f %% for %5.1f %%%s", i ? "   " : "  ", cases[k].weight[i], sum, share[k][i] * 100,
				       100.0 * cases[k].weight[i] / sum, i + 1 == cases[k].n ? "\n" : "");
		}
		printf("launch and wait of a small client, us     p50        p99\n");
		for (int i = 0; i < 2; i++)
			printf("  %-32s %10.1f %10.1f\n", i ? "beside a hog" : "alone", hist_quantile(h[i], 0.5) / 1e3, hist_quantile(h[i], 0.99) / 1e3);
		return;
	}
	json_open(&j, NULL, '{');
	json_open(&j, "shares", '[');
	for (size_t k = 0; k < CASES; k++) {
		json_open(&j, NULL, '[');
		for (int i = 0; i < cases[k].n; i++) {
			json_open(&j, NULL, '{');
			json_u64(&j, "weight", cases[k].weight[i]);
			json_f(&j, "share", share[k][i]);
			json_close(&j, '}');
		}
		json_close(&j, ']');
	}
	json_close(&j, ']');
	for (int i = 0; i < 2; i++) {
		json_open(&j, name[i], '{');
		json_f(&j, "p50_ns", hist_quantile(h[i], 0.5));
		json_f(&j, "p99_ns", hist_quantile(h[i], 0.99));
		json_close(&j, '}');
	}
	json_close(&j, '}');
}

int bench_fair(int argc, char **argv)
{
	double share[CASES][HOGS];
	struct fair *f = bench_shared(sizeof(*f));
	int json = 0, quick = 0, opt, status = 1;
	struct rig rig;

	while ((opt = getopt(argc, argv, "jq")) != -1) {
		if (opt == 'j')
			json = 1;
		else if (opt == 'q')
			quick = 1;
		else
			return 2;
	}
	if (optind < argc) {
		complain("bench fair: %s: no such argument", argv[optind]);
		return 2;
	}
	if (!f || rig_open(&rig, 1, NULL))
		return 1;
	f->asks = quick ? ASKS_QUICK : ASKS;
	for (size_t k = 0; k < CASES; k++)
		if (shares(&rig, f, k, quick ? 800 : 4000, share[k]))
			goto out;
	if (latencies(&rig, f))
		goto out;
	print_fair(f, share, json);
	status = 0;
out:
	rig_close(&rig);
	munmap(f, sizeof(*f));
	return status;
}
