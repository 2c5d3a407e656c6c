/* SPDX-License-Identifier: MIT */
/*
 * Runs random programs and holds what happened against the model (model.h): whatever the model orders must have been ordered. Every
 * operation takes a number of one counter in pinned memory when it begins and when it ends, or reads it, or sets a cell that
 * others look at.
 *
 *   order [-s FIRST_SEED] [-n PROGRAMS] [-t SECONDS] [-v]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cuda.h"
#include "model.h"

#define CK(call) do { CUresult r_ = (call); if (r_) die(#call, r_, __LINE__); } while (0)
#define PIECE 5000              /* an upload that is staged */

/* k(counter, record, delay in ns, cells that are set, how many, cells that are not, how many) */
static const char ptx[] =
	".version 6.0\n.target sm_60\n.address_size 64\n"
	".visible .entry k(.param .u64 counter, .param .u64 record, .param .u64 delay, .param .u64 sees, .param .u32 nsees,"
	" .param .u64 unset, .param .u32 nunset)\n{\n"
	".reg .b64 %c, %r, %d, %s, %u, %t, %t0, %x, %e; .reg .b32 %n, %m, %w, %i; .reg .pred %p;\n"
	"ld.param.u64 %c, [counter]; ld.param.u64 %r, [record]; ld.param.u64 %d, [delay];\n"
	"ld.param.u64 %s, [sees]; ld.param.u32 %n, [nsees]; ld.param.u64 %u, [unset]; ld.param.u32 %m, [nunset];\n"
	"atom.global.add.u64 %t, [%c], 1; red.global.min.u64 [%r], %t;\n"
	"SEES: setp.eq.u32 %p, %n, 0; @%p bra SPIN; sub.u32 %n, %n, 1; ld.volatile.global.u64 %x, [%s]; add.u64 %s, %s, 8;\n"
	"ld.volatile.global.u32 %w, [%x]; setp.ne.u32 %p, %w, 0; @%p bra SEES; red.global.add.u32 [%r+16], 1; bra SEES;\n"
	"SPIN: mov.u64 %t0, %globaltimer; mov.u32 %i, 0;\n"
	"TURN: mov.u64 %e, %globaltimer; sub.u64 %e, %e, %t0; setp.ge.u64 %p, %e, %d; @%p bra UNSET;\n"
	"add.u32 %i, %i, 1; and.b32 %w, %i, 63; setp.ne.u32 %p, %w, 0; @%p bra TURN; red.global.add.u64 [%c], 1; bra TURN;\n"
	"UNSET: setp.eq.u32 %p, %m, 0; @%p bra END; sub.u32 %m, %m, 1; ld.volatile.global.u64 %x, [%u]; add.u64 %u, %u, 8;\n"
	"ld.volatile.global.u32 %w, [%x]; setp.eq.u32 %p, %w, 0; @%p bra UNSET; red.global.add.u32 [%r+20], 1; bra UNSET;\n"
	"END: atom.global.add.u64 %t, [%c], 1; red.global.max.u64 [%r+8], %t; ret;\n}\n";

struct record {
	uint64_t first, last;
	uint32_t early, late;           /* cells that were not set yet at its begin; that were already at its end */
	uint64_t pad;
};

struct shared {                         /* pinned */
	uint64_t counter __attribute__((aligned(64)));
	struct record record[VERTICES] __attribute__((aligned(64)));
	uint64_t sees[VERTICES][CHECKS], unset[VERTICES][CHECKS];
	uint32_t cell[VERTICES];
};

struct call { int vertex; };            /* of a host function */

static struct shared *sh;
static struct program p;
static CUcontext ctx[CONTEXTS];
static CUfunction fn[CONTEXTS];
static CUstream stream[STREAMS], side[CONTEXTS][3];
static CUevent event[EVENTS], fork_event[CONTEXTS][NODES + 1];
static CUdeviceptr one_word[CONTEXTS], far_cell[CONTEXTS];      /* device memory */
static uint64_t downloaded[VERTICES];
static uint32_t own_cell[VERTICES], ones[PIECE];                /* pageable */
static struct call calls[VERTICES];
static CUgraphExec execs[STEPS];
static int nexecs;
static uint64_t seed;

static void die(const char *what, CUresult r, int line)
{
	const char *name = "?";

	cuGetErrorName(r, &name);
	printf("order: line %d, program %llu: %s: %s\n", line, (unsigned long long)seed, what, name);
	exit(1);
}

static uint64_t tick(void) { return __atomic_fetch_add(&sh->counter, 1, __ATOMIC_SEQ_CST); }

static void sleep_us(unsigned us)
{
	struct timespec t = { 0, us * 1000l };

	if (us)
		nanosleep(&t, NULL);
}

static uint64_t cell_of(int i)
{
	switch (p.v[i].op) {
	case HOST_TO_HOST: return (uint64_t)(uintptr_t)&own_cell[i];
	case FOREIGN_FILL:
	case FOREIGN_UPLOAD: return 0;  /* filled in by who looks: it depends on the context */
	default: return (uint64_t)(uintptr_t)&sh->cell[i];
	}
}

static void host_fn(void *user)
{
	int i = ((struct call *)user)->vertex;
	struct vertex *v = &p.v[i];
	struct record *r = &sh->record[i];
	uint64_t t = tick();

	if (t < r->first)
		r->first = t;
	for (int k = 0; k < v->nsees; k++)
		r->early += !*(volatile uint32_t *)(uintptr_t)sh->sees[i][k];
	sleep_us(v->delay / 2);
	for (int k = 0; k < v->nunset; k++)
		r->late += *(volatile uint32_t *)(uintptr_t)sh->unset[i][k] != 0;
	t = tick();
	if (t > r->last)
		r->last = t;
}

struct params {
	uint64_t counter, record, delay, sees;
	uint32_t nsees;
	uint64_t unset;
	uint32_t nunset;
	void *at[7];
};

static void params_of(struct params *a, int i)
{
	*a = (struct params){ (uintptr_t)&sh->counter, (uintptr_t)&sh->record[i], p.v[i].delay * 1000ull, (uintptr_t)sh->sees[i],
			      (uint32_t)p.v[i].nsees, (uintptr_t)sh->unset[i], (uint32_t)p.v[i].nunset,
			      { &a->counter, &a->record, &a->delay, &a->sees, &a->nsees, &a->unset, &a->nunset } };
}

static void run(int i, CUstream s, int c)
{
	struct vertex *v = &p.v[i];
	struct params a;
	CUdeviceptr cell = (uintptr_t)&sh->cell[i];

	switch (v->op) {
	case KERNEL:
		params_of(&a, i);
		CK(cuLaunchKernel(fn[c], v->blocks, 1, 1, 1, 1, 1, 0, s, a.at, NULL));
		break;
	case HOST_FN: CK(cuLaunchHostFunc(s, host_fn, &calls[i])); break;
	case COPY: CK(cuMemcpyAsync((uintptr_t)&sh->record[i].first, (uintptr_t)&sh->counter, 8, s)); break;
	case DOWNLOAD: CK(cuMemcpyDtoHAsync(&downloaded[i], (uintptr_t)&sh->counter, 8, s)); break;
	case FILL: CK(cuMemsetD32Async(cell, 1, 1, s)); break;
	case UPLOAD: CK(cuMemcpyHtoDAsync(cell, ones, 4, s)); break;
	case UPLOAD_PIECE: {
		/* rows: too much for the queue itself, all over the same cell */
		CUDA_MEMCPY2D m = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = ones, .srcPitch = 4, .WidthInBytes = 4, .Height = 1,
				    .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = cell, .dstPitch = 4 };
		CK(cuMemcpy2DAsync(&m, s));
		break;
	}
	case WRITE_VALUE: CK(cuStreamWriteValue32(s, cell, 1, 0)); break;
	case HOST_TO_HOST: CK(cuMemcpyAsync((uintptr_t)&own_cell[i], (uintptr_t)ones, 4, s)); break;
	case FOREIGN_COPY: CK(cuMemcpyAsync(cell, one_word[1 - c], 4, s)); break;
	case FOREIGN_UPLOAD: CK(cuMemcpyHtoDAsync(far_cell[1 - c] + 4u * (unsigned)i, ones, 4, s)); break;
	case FOREIGN_FILL: CK(cuMemsetD32Async(far_cell[1 - c] + 4u * (unsigned)i, 1, 1, s)); break;
	default: abort();
	}
}

static CUgraphNode add_node(CUgraph g, int i, int c, const CUgraphNode *needs, size_t n)
{
	struct vertex *v = &p.v[i];
	CUgraphNode node;
	struct params a;

	switch (v->op) {
	case KERNEL: {
		CUDA_KERNEL_NODE_PARAMS k = { .func = fn[c], .gridDimX = v->blocks, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1,
					      .blockDimY = 1, .blockDimZ = 1, .kernelParams = a.at };
		params_of(&a, i);
		CK(cuGraphAddKernelNode(&node, g, needs, n, &k));
		break;
	}
	case HOST_FN: {
		CUDA_HOST_NODE_PARAMS h = { host_fn, &calls[i] };
		CK(cuGraphAddHostNode(&node, g, needs, n, &h));
		break;
	}
	case COPY: {
		CUDA_MEMCPY3D m = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED, .srcDevice = (uintptr_t)&sh->counter,
				    .dstMemoryType = CU_MEMORYTYPE_UNIFIED, .dstDevice = (uintptr_t)&sh->record[i].first,
				    .WidthInBytes = 8, .Height = 1, .Depth = 1 };
		CK(cuGraphAddMemcpyNode(&node, g, needs, n, &m, ctx[c]));
		break;
	}
	default: {
		CUDA_MEMSET_NODE_PARAMS m = { .dst = (uintptr_t)&sh->cell[i], .value = 1, .elementSize = 4, .width = 1, .height = 1 };
		CK(cuGraphAddMemsetNode(&node, g, needs, n, &m, ctx[c]));
	}
	}
	return node;
}

static void graph_by_hand(const struct step *t, int c, CUgraph *g)
{
	CUgraphNode node[NODES], needs[NODES];

	CK(cuGraphCreate(g, 0));
	if (t->node[0] % 2) {           /* last node first: only the dependencies tell the order */
		for (int i = t->nnodes; i--;)
			node[i] = add_node(*g, t->node[i], c, NULL, 0);
		for (int i = 0; i < t->nnodes; i++)
			for (int k = 0; k < i; k++)
				if (t->needs[i] >> k & 1)
					CK(cuGraphAddDependencies(*g, &node[k], &node[i], NULL, 1));
		return;
	}
	for (int i = 0; i < t->nnodes; i++) {
		size_t n = 0;

		for (int k = 0; k < i; k++)
			if (t->needs[i] >> k & 1)
				needs[n++] = node[k];
		node[i] = add_node(*g, t->node[i], c, needs, n);
	}
}

static void graph_by_capture(const struct step *t, int c, CUgraph *g)
{
	CUstream origin = stream[t->stream], on[4] = { origin, side[c][0], side[c][1], side[c][2] };

	CK(cuStreamBeginCapture(origin, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CK(cuEventRecord(fork_event[c][NODES], origin));
	for (int i = 1; i < 4; i++)
		CK(cuStreamWaitEvent(on[i], fork_event[c][NODES], 0));
	for (int i = 0; i < t->nnodes; i++) {
		for (int k = 0; k < i; k++)
			if (t->needs[i] >> k & 1)
				CK(cuStreamWaitEvent(on[i % 4], fork_event[c][k], 0));
		run(t->node[i], on[i % 4], c);
		CK(cuEventRecord(fork_event[c][i], on[i % 4]));
	}
	for (int i = 0; i < t->nnodes; i++)
		if (i % 4)
			CK(cuStreamWaitEvent(origin, fork_event[c][i], 0));
	for (int i = 1; i < 4; i++) {   /* those that got no node */
		CK(cuEventRecord(fork_event[c][NODES], on[i]));
		CK(cuStreamWaitEvent(origin, fork_event[c][NODES], 0));
	}
	CK(cuStreamEndCapture(origin, g));
}

static void graph(const struct step *t, int c)
{
	CUgraph g;

	if (t->captured)
		graph_by_capture(t, c, &g);
	else
		graph_by_hand(t, c, &g);
	CK(cuGraphInstantiateWithFlags(&execs[nexecs], g, 0));
	CK(cuGraphDestroy(g));
	for (int k = 0; k < t->launches; k++)
		CK(cuGraphLaunch(execs[nexecs], stream[t->in[k]]));
	nexecs++;
}

static void renew(const struct step *t)
{
	CK(cuStreamDestroy(stream[t->stream]));
	CK(cuStreamCreate(&stream[t->stream], stream_kinds[t->stream].kind == BLOCKING ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
}

/* A host that has waited finds in the other context's memory, by a stream of its own, what it knows to be there. */
static void look(int i)
{
	for (int k = 0; k < p.v[i].nsees; k++) {
		int f = p.v[i].sees[k], c = 1 - p.v[f].context;
		uint32_t there;

		CK(cuCtxSetCurrent(ctx[c]));
		CK(cuMemcpyDtoHAsync(&there, far_cell[c] + 4u * (unsigned)f, 4, side[c][0]));
		CK(cuStreamSynchronize(side[c][0]));
		sh->record[i].early += there != 1;
	}
	sh->record[i].first = sh->record[i].last = tick();
}

static void step(const struct step *t)
{
	int c = stream_kinds[t->stream].context;
	CUstream s = stream[t->stream];
	CUresult q;

	CK(cuCtxSetCurrent(ctx[c]));
	sleep_us(t->pause);
	tick();
	switch (t->kind) {
	case RUN: run(t->vertex, s, c); break;
	case RECORD: CK(cuEventRecord(event[t->event], s)); break;
	case WAIT_EVENT: CK(cuStreamWaitEvent(s, event[t->event], 0)); break;
	case WAIT_CELL: CK(cuStreamWaitValue32(s, (uintptr_t)&sh->cell[t->vertex], 1, CU_STREAM_WAIT_VALUE_GEQ)); break;
	case SYNC_STREAM: CK(cuStreamSynchronize(s)); look(t->vertex); break;
	case SYNC_EVENT: CK(cuEventSynchronize(event[t->event])); look(t->vertex); break;
	case SYNC_CONTEXT: CK(cuCtxSynchronize()); look(t->vertex); break;
	case QUERY_STREAM:
		while ((q = cuStreamQuery(s)) == CUDA_ERROR_NOT_READY)
			;
		CK(q);
		look(t->vertex);
		break;
	case QUERY_EVENT:
		while ((q = cuEventQuery(event[t->event])) == CUDA_ERROR_NOT_READY)
			;
		CK(q);
		look(t->vertex);
		break;
	case GRAPH: graph(t, c); break;
	case RENEW: renew(t); break;
	case STEP_KINDS: break;
	}
}

/* ---- before and after ---- */

static void prepare(void)
{
	for (int c = 0; c < CONTEXTS; c++) {
		CK(cuCtxSetCurrent(ctx[c]));
		CK(cuMemsetD32(far_cell[c], 0, VERTICES));
		CK(cuCtxSynchronize());
	}
	memset(own_cell, 0, sizeof own_cell);
	memset(downloaded, 0, sizeof downloaded);
	sh->counter = 1;
	for (int i = 0; i < p.nv; i++) {
		struct vertex *v = &p.v[i];

		sh->record[i] = (struct record){ .first = ~0ull };
		sh->cell[i] = 0;
		calls[i].vertex = i;
		for (int k = 0; k < v->nsees; k++)
			sh->sees[i][k] = cell_of(v->sees[k]);
		for (int k = 0; k < v->nunset; k++)
			sh->unset[i][k] = cell_of(v->unset[k]);
	}
	/* A kernel's own context's memory, which is where others' foreign calls go. */
	for (int n = 0; n < p.nsteps; n++) {
		const struct step *t = &p.step[n];
		int c = stream_kinds[t->stream].context, all = t->kind == RUN ? 1 : t->kind == GRAPH ? t->nnodes : 0;

		for (int j = 0; j < all; j++) {
			int i = t->kind == RUN ? t->vertex : t->node[j];

			for (int k = 0; k < p.v[i].nsees; k++)
				if (!sh->sees[i][k])
					sh->sees[i][k] = far_cell[c] + 4u * (unsigned)p.v[i].sees[k];
			for (int k = 0; k < p.v[i].nunset; k++)
				if (!sh->unset[i][k])
					sh->unset[i][k] = far_cell[c] + 4u * (unsigned)p.v[i].unset[k];
		}
	}
}

static int has_stamps(int i) { return !op_sets(p.v[i].op); }
static uint64_t begin_of(int i) { return p.v[i].op == DOWNLOAD ? downloaded[i] : sh->record[i].first; }
static uint64_t end_of(int i)
{
	return p.v[i].op == KERNEL || p.v[i].op == HOST_FN ? sh->record[i].last + 1 : begin_of(i);
}

static void describe(int i)
{
	static const char *const names[OPS] = { "kernel", "host function", "copy", "download", "look of the host", "fill", "upload",
						"upload by staging", "write of a value", "copy from host to host", "foreign copy",
						"foreign upload", "foreign fill" };
	int at = p.v[i].graph ? p.v[i].graph - 1 : -1;

	for (int n = 0; n < p.nsteps && at < 0; n++)
		if (p.step[n].vertex == i && p.step[n].kind != WAIT_CELL)
			at = n;
	printf("%s %d (step %d, stream %d%s)", names[p.v[i].op], i, at, at < 0 ? -1 : p.step[at].stream, p.v[i].graph ? ", in a graph" : "");
}

static unsigned long pairs;

static int check(void)
{
	int bad = 0;

	for (int i = 0; i < p.nv; i++) {
		if (sh->record[i].early || sh->record[i].late) {
			printf("order: program %llu: ", (unsigned long long)seed);
			describe(i);
			printf(" began before %u of what is before it, and %u of what is after it had happened at its end\n",
			       sh->record[i].early, sh->record[i].late);
			bad++;
		}
		pairs += (unsigned)(p.v[i].nsees + p.v[i].nunset);
		if (op_sets(p.v[i].op) && cell_of(i) && *(uint32_t *)(uintptr_t)cell_of(i) != 1) {
			printf("order: program %llu: ", (unsigned long long)seed);
			describe(i);
			printf(" did not happen\n");
			bad++;
		}
		if (!has_stamps(i))
			continue;
		for (int k = 0; k < i; k++) {
			if (!set_has(&p.v[i].before, k) || !has_stamps(k) ||
			    (p.v[i].again && p.v[i].graph == p.v[k].graph))
				continue;
			pairs++;
			if (end_of(k) <= begin_of(i) && begin_of(k) && begin_of(k) != ~0ull && begin_of(i) != ~0ull)
				continue;
			printf("order: program %llu: ", (unsigned long long)seed);
			describe(i);
			printf(" began at %llu, before the end at %llu of ", (unsigned long long)begin_of(i), (unsigned long long)end_of(k));
			describe(k);
			printf("\n");
			bad++;
		}
	}
	return bad;
}

static void start(void)
{
	CUmodule m;

	CK(cuInit(0));
	for (int c = 0; c < CONTEXTS; c++) {
		CK((cuCtxCreate)(&ctx[c], NULL, 0, 0));
		CK(cuModuleLoadData(&m, ptx));
		CK(cuModuleGetFunction(&fn[c], m, "k"));
		CK(cuMemAlloc(&one_word[c], 4));
		CK(cuMemsetD32(one_word[c], 1, 1));
		CK(cuMemAlloc(&far_cell[c], 4 * VERTICES));
		for (int i = 0; i < 3; i++)
			CK(cuStreamCreate(&side[c][i], CU_STREAM_NON_BLOCKING));
		for (int i = 0; i <= NODES; i++)
			CK(cuEventCreate(&fork_event[c][i], CU_EVENT_DISABLE_TIMING));
		for (int i = c; i < EVENTS; i += CONTEXTS)
			CK(cuEventCreate(&event[i], i < EVENTS / 2 ? CU_EVENT_DISABLE_TIMING : CU_EVENT_DEFAULT));
		for (int i = 0; i < STREAMS; i++) {
			if (stream_kinds[i].context != c)
				continue;
			switch (stream_kinds[i].kind) {
			case LEGACY: stream[i] = CU_STREAM_LEGACY; break;
			case PER_THREAD: stream[i] = CU_STREAM_PER_THREAD; break;
			case BLOCKING: CK(cuStreamCreate(&stream[i], CU_STREAM_DEFAULT)); break;
			case NON_BLOCKING: CK(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING)); break;
			}
		}
	}
	CK(cuMemHostAlloc((void **)&sh, sizeof *sh, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
	for (int i = 0; i < PIECE; i++)
		ones[i] = 1;
}

int main(int argc, char **argv)
{
	uint64_t from = 1, n = 200;
	int opt, bad = 0, verbose = 0;
	unsigned long ran = 0;
	time_t until = 0;

	while ((opt = getopt(argc, argv, "s:n:t:v")) != -1)
		switch (opt) {
		case 's': from = strtoull(optarg, NULL, 0); break;
		case 'n': n = strtoull(optarg, NULL, 0); break;
		case 't': until = time(NULL) + atoi(optarg); break;
		case 'v': verbose = 1; break;
		default: return 2;
		}
	start();
	for (seed = from; seed < from + n && bad < 5 && (!until || time(NULL) < until); seed++, ran++) {
		model_make(&p, seed);
		if (verbose)
			fprintf(stderr, "%llu: %d steps, %d vertices\n", (unsigned long long)seed, p.nsteps, p.nv);
		prepare();
		for (int i = 0; i < p.nsteps; i++)
			step(&p.step[i]);
		for (int c = 0; c < CONTEXTS; c++) {
			CK(cuCtxSetCurrent(ctx[c]));
			CK(cuCtxSynchronize());
		}
		bad += check();
		while (nexecs)
			CK(cuGraphExecDestroy(execs[--nexecs]));
	}
	printf("order: %lu programs, %lu ordered pairs checked, %d not in order\n", ran, pairs, bad);
	return bad != 0;
}
