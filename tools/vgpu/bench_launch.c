/* SPDX-License-Identifier: MIT */
/*
 * vgpu bench launch: what a launch costs its caller, and the way there and back.
 *
 * Floors (bench_floor.c), peers (bench_peer.c) and ours come from one run on the same two CPUs; those that a ratio is of
 * from one process, in turn. What is faster than the clock is timed in bursts of at most half the queue and of a
 * stream's credits, drained in between: the cost of submissions, not of a wait for room. Each measurement has a process
 * of its own (bench_rig.c).
 */
#define _GNU_SOURCE
#include "bench_launch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <errno.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../fw-protocol/vgpu_ring.h"
#include "bench_gpu.h"

#define BURST 192               /* three quarters of a stream's credits: these it has, whatever was sent before */
#define BURSTS 400
#define TURNS 20                /* a floor and ours, in turn */
#define SYNCS 4000
#define TRIPS 3000              /* of the UNIX socket, in turn with them */
#define FIRSTS 25
#define STREAMED 200000
#define IDLE_S 2

const char *const mode_names[MODES] = { "spin", "adaptive", "sleep" };

/* ---- one client ------------------------------------------------------------------------------ */

/*
 * So many bursts of `call`, each timed as a whole; the stream is drained between them. One call goes before each: the
 * reader is awake, as that of a bare ring is. What it costs to wake him is another figure (`first`).
 */
#define BURSTS_OF(hist, burst, call, bursts) do { \
	for (int b_ = 0; b_ < (bursts); b_++) { \
		uint64_t t0_; \
		TRY((CUresult)(call)); \
		t0_ = tsc(); \
		for (int i = 0; i < (burst); i++) \
			TRY((CUresult)(call)); \
		hist_add(hist, tsc_ns(t0_, tsc()) / (burst)); \
		TRY(cu.cuStreamSynchronize(g.stream)); \
	} \
} while (0)

/* BURST launches as one graph, in turn with as many by themselves; what each of them costs. */
static int graphs(struct gpu *g, struct launch_result *r)
{
	CUgraphExec exec;
	CUgraph graph;

	TRY(cu.cuStreamBeginCapture_v2(g->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	for (int i = 0; i < BURST; i++)
		TRY(gpu_launch(g, g->fn[P4], g->stream));
	TRY(cu.cuStreamEndCapture(g->stream, &graph));
	TRY(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (int b = 0; b < BURSTS; b++)
		for (int whole = 0; whole < 2; whole++) {
			uint64_t t0;

			TRY(gpu_launch(g, g->fn[P4], g->stream));
			t0 = tsc();
			if (whole)
				TRY(cu.cuGraphLaunch(exec, g->stream));
			for (int i = 0; i < BURST && !whole; i++)
				TRY(gpu_launch(g, g->fn[P4], g->stream));
			hist_add(whole ? &r->graph : &r->no_graph, tsc_ns(t0, tsc()) / BURST);
			TRY(cu.cuStreamSynchronize(g->stream));
		}
	return 0;
}

static int submissions(void *arg)
{
	static const unsigned counts[NPARAMS] = PARAM_COUNTS;
	struct launch_result *r = arg;
	struct gpu g;
	CUevent plain, timed;
	CUdeviceptr d;
	uint64_t t0;
	void *h;

	if (gpu_open(&g, 0))
		return -1;
	t0 = tsc();
	for (volatile int i = 0; i < 100000; i++)
		;
	r->empty_loop = tsc_ns(t0, tsc()) / 100000;
	push_open();
	for (size_t k = 0; k < NPARAMS; k++) {
		unsigned slots = launch_slots(counts[k]), room = VGPU_IOQ_SLOTS / 2 / slots - 1, burst = room < BURST ? room : BURST;

		for (int t = 0; t < TURNS; t++) {
			push_bursts(slots, burst, BURSTS / TURNS, &r->floor.push[k]);
			BURSTS_OF(&r->submit[k], (int)burst, gpu_launch(&g, g.fn[k], g.stream), BURSTS / TURNS);
		}
	}
	push_close();
	if (graphs(&g, r))
		return -1;
	for (int i = 0; i < 20000; i++) {
		t0 = tsc();
		TRY(gpu_launch(&g, g.fn[P4], g.stream));
		hist_add(&r->one, tsc_ns(t0, tsc()));
		if (i % BURST == BURST - 1)
			TRY(cu.cuStreamSynchronize(g.stream));
	}
	TRY(cu.cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
	TRY(cu.cuEventCreate(&timed, 0));
	TRY(cu.cuMemAlloc_v2(&d, 4096));
	TRY(cu.cuMemAllocHost_v2(&h, 4096));
	BURSTS_OF(&r->event, BURST, cu.cuEventRecord(plain, g.stream), BURSTS);
	BURSTS_OF(&r->timed_event, BURST, cu.cuEventRecord(timed, g.stream), BURSTS);
	BURSTS_OF(&r->copy, BURST, cu.cuMemcpyHtoDAsync_v2(d, h, 64, g.stream), BURSTS);
	if (!cudart_open() && !cudart_launch(&g, g.stream)) {
		TRY(cu.cuStreamSynchronize(g.stream));
		BURSTS_OF(&r->runtime, BURST, cudart_launch(&g, g.stream), BURSTS);
	}
	return 0;
}

static int round_trips(struct gpu *g, struct hist *sync, struct hist *wait, int n)
{
	for (int i = 0; i < n; i++) {
		uint64_t t0 = tsc(), t1, t2;

		TRY(gpu_launch(g, g->fn[P4], g->stream));
		t1 = tsc();
		TRY(cu.cuStreamSynchronize(g->stream));
		t2 = tsc();
		hist_add(sync, tsc_ns(t0, t2));
		if (wait)
			hist_add(wait, tsc_ns(t1, t2));
	}
	return 0;
}

static int launch_rate(struct gpu *g, double *per_s)
{
	uint64_t t0 = tsc();

	for (int i = 0; i < STREAMED; i++)
		TRY(gpu_launch(g, g->fn[P4], g->stream));
	TRY(cu.cuStreamSynchronize(g->stream));
	*per_s = STREAMED / tsc_ns(t0, tsc()) * 1e9;
	return 0;
}

/* One command that does nothing: a place in the legacy stream, which is a barrier while a blocking stream exists. */
static int noop_rate(double *per_s)
{
	CUstream blocking;
	CUevent e;
	uint64_t t0;

	TRY(cu.cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	TRY(cu.cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	t0 = tsc();
	for (int i = 0; i < STREAMED; i++)
		TRY(cu.cuEventRecord(e, NULL));
	TRY(cu.cuStreamSynchronize(NULL));
	*per_s = STREAMED / tsc_ns(t0, tsc()) * 1e9;
	return 0;
}

static int complete_and_first(struct gpu *g, struct launch_result *r, struct pair *futex_pair)
{
	for (int i = 0; i < SYNCS; i++) {
		uint64_t t0 = tsc();

		TRY(cu.cuStreamSynchronize(g->stream));
		hist_add(&r->complete, tsc_ns(t0, tsc()));
	}
	/* agent and device have gone to sleep; the client polls, so that its own sleep is not in the figure */
	for (int i = 0; i < FIRSTS; i++) {
		uint64_t t0;

		pair_rounds(futex_pair, &r->floor.futex_cold, 1, 1);
		nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
		t0 = tsc();
		TRY(gpu_launch(g, g->fn[P4], g->stream));
		while (cu.cuStreamQuery(g->stream) == CUDA_ERROR_NOT_READY)
			vgpu_cpu_relax();
		hist_add(&r->first, tsc_ns(t0, tsc()));
	}
	return 0;
}

static int completions(void *arg)
{
	struct pair *unix_pair = pair_open(PEER_UNIX), *futex_pair = pair_open(PEER_FUTEX);
	struct launch_result *r = arg;
	static struct hist dummy;
	struct gpu g;
	int err = -1;

	if (gpu_open(&g, 0))
		goto out;
	for (int t = 0; t < TURNS; t++) {
		/* the first of each after the other are for the caches and the sleepers */
		pair_rounds(unix_pair, &dummy, TRIPS / TURNS / 4, 0);
		pair_rounds(unix_pair, &r->floor.peer[PEER_UNIX], TRIPS / TURNS, 0);
		if (round_trips(&g, &dummy, NULL, SYNCS / TURNS / 4) || round_trips(&g, &r->sync, &r->wait, SYNCS / TURNS))
			goto out;
	}
	if (complete_and_first(&g, r, futex_pair) || launch_rate(&g, &r->launch_per_s) || noop_rate(&r->noop_per_s))
		goto out;
	err = 0;
out:
	pair_close(unix_pair);
	pair_close(futex_pair);
	return err;
}

static int streams(void *arg)
{
	static const int counts[NSTREAMS] = STREAM_COUNTS;
	struct launch_result *r = arg;
	struct gpu g;
	CUstream s[16];

	if (gpu_open(&g, 0))
		return -1;
	for (int i = 0; i < 16; i++)
		TRY(cu.cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
	for (int k = 0; k < NSTREAMS; k++) {
		uint64_t t0;

		for (int b = 0; b < BURSTS; b++) {
			t0 = tsc();
			for (int i = 0; i < BURST; i++)
				TRY(gpu_launch(&g, g.fn[P4], s[i % counts[k]]));
			hist_add(&r->stream_submit[k], tsc_ns(t0, tsc()) / BURST);
			TRY(cu.cuCtxSynchronize());
		}
		t0 = tsc();
		for (int i = 0; i < STREAMED / 2; i++)
			TRY(gpu_launch(&g, g.fn[P4], s[i % counts[k]]));
		TRY(cu.cuCtxSynchronize());
		r->stream_per_s[k] = STREAMED / 2 / tsc_ns(t0, tsc()) * 1e9;
	}
	return 0;
}

/* ---- modes, idleness -------------------------------------------------------------------------- */

struct mode_job {
	struct launch_result *r;
	enum mode mode;
};

static int mode_client(void *arg)
{
	static const unsigned flags[MODES] = { CU_CTX_SCHED_SPIN, CU_CTX_SCHED_AUTO, CU_CTX_SCHED_BLOCKING_SYNC };
	const struct mode_job *j = arg;
	struct gpu g;

	if (gpu_open(&g, flags[j->mode]) || round_trips(&g, &j->r->mode_sync[j->mode], NULL, SYNCS / 2))
		return -1;
	return launch_rate(&g, &j->r->mode_per_s[j->mode]);
}

static int measure_modes(struct launch_result *r)
{
	static char *const args[MODES][3] = { { (char *)"--spin-us", (char *)"1000" }, { NULL }, { (char *)"--spin-us", (char *)"0" } };

	for (int m = 0; m < MODES; m++) {
		struct mode_job j = { r, (enum mode)m };
		struct rig rig;
		int err;

		r->mode_per_s[m] = NAN;
		/* client, agent and device spinning on two CPUs would measure the scheduler's time slice */
		if (m == MODE_SPIN && cores()->n < 3)
			continue;
		if (rig_open(&rig, 1, args[m]))
			return -1;
		err = rig_run(&rig, mode_client, &j);
		rig_close(&rig);
		if (err)
			return -1;
	}
	return 0;
}

/* Voluntary switches so far of all threads of a process: each is a sleep, and so a wake-up. -1: no such process. */
static long switches(pid_t pid)
{
	char path[96], line[128];
	struct dirent *e;
	long sum = -1, v;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		FILE *f;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/status", (int)pid, e->d_name);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "voluntary_ctxt_switches: %ld", &v) == 1)
				sum = (sum < 0 ? 0 : sum) + v;
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return sum;
}

static void measure_idle(const struct rig *rig, struct launch_result *r)
{
	struct agent_status st;
	pid_t child, agent = -1;
	long before, after;

	r->idle_wakeups = -1;
	r->idle_s = IDLE_S;
	if (!idle_clients(rig, &child, 1) && !agent_status(rig->agent, &st)) {
		agent = (pid_t)st.status.agent_pid;
		agent_status_free(&st);
	}
	nanosleep(&(struct timespec){ 0, 100000000 }, NULL);
	before = agent > 0 ? switches(agent) : -1;
	nanosleep(&(struct timespec){ IDLE_S, 0 }, NULL);
	after = before >= 0 ? switches(agent) : -1;
	if (before >= 0 && after >= before)
		r->idle_wakeups = after - before;
	idle_end(&child, 1);
}

int bench_launch(int argc, char **argv)
{
	static const int clients[NCLIENTS] = CLIENT_COUNTS;
	struct launch_result *r;
	struct rig rig = { .own = 0 };
	const char *dir = NULL;
	int json = 0, quick = 0, opt, status = 1;

	while ((opt = getopt(argc, argv, "jqd:")) != -1) {
		if (opt == 'j')
			json = 1;
		else if (opt == 'q')
			quick = 1;
		else if (opt == 'd')
			dir = optarg;
		else
			return 2;
	}
	if (optind < argc) {
		complain("bench launch: %s: no such argument", argv[optind]);
		return 2;
	}
	/* minutes before it would be written to */
	if (dir && ((mkdir(dir, 0777) && errno != EEXIST) || access(dir, W_OK | X_OK))) {
		complain("bench launch: -d %s: %s", dir, strerror(errno));
		return 1;
	}
	r = bench_shared(sizeof(*r));
	if (!r)
		return 1;
	if (rig_open(&rig, 0, NULL))
		goto out;
	r->own = rig.own;
	for (int k = 0; k < NSTREAMS; k++)
		r->stream_per_s[k] = NAN;
	for (int k = 0; k < NCLIENTS; k++)
		r->client_per_s[k] = NAN;
	for (int m = 0; m < MODES; m++)
		r->mode_per_s[m] = NAN;
	r->idle_wakeups = -1;
	measure_floors(&r->floor);
	measure_peers(&r->floor);
	if (rig_run(&rig, submissions, r) || rig_run(&rig, completions, r))
		goto out;
	if (!quick) {
		if (rig_run(&rig, streams, r))
			goto out;
		for (int k = 0; k < NCLIENTS; k++)
			r->client_per_s[k] = crowd_rate(&rig, clients[k], 1);
		measure_idle(&rig, r);
		rig_close(&rig);
		if (measure_modes(r))
			goto out;
	}
	if (json)
		launch_json(r);
	else
		launch_table(r);
	status = dir && launch_files(r, dir) ? 1 : 0;
out:
	rig_close(&rig);
	munmap(r, sizeof(*r));
	return status;
}
