/* SPDX-License-Identifier: MIT */
/*
 * jitdiff -m cuda: random kernels by NVIDIA's driver against the interpreter. Included by jitdiff.c only.
 *
 * A worker has a context of the driver and does many kernels in it. The interpreter wants the addresses that the driver has, so each
 * worker has a process beside it, made before the driver is opened, which runs the same text meanwhile and hands over what it left.
 * Not run: kernels that are meant to fault (each would cost a context), and what hardware may compute otherwise to the last bit:
 * approximations, sums of products of matrices in f32.
 */
#ifndef TESTS_PTX_JITDIFF_CUDA_H
#define TESTS_PTX_JITDIFF_CUDA_H

#include "pool.h"

#define HW_SLOTS 256u
#define HW_RESULT (MAX_TOTAL * (GEN_OWN_BYTES + 8ull * HW_SLOTS) + GEN_ACC * 4 + OUT_BYTES)
#define HW_SHRUNK 12u           /* kernels that are made smaller, of all workers; each takes seconds */
#define HW_REPORTED 100u

enum { HW_RUN, HW_DIFFER, HW_INSTRUCTIONS, HW_LATE, HW_UNFIT };        /* pool's sums */

/* What a worker and the process beside it have in common. */
struct hw_pair {
	uint64_t seed;
	uint64_t base, at[5];   /* of the driver's memory */
	int result;             /* of run_text */
	uint32_t status[LAUNCHES];
	char why[512];
	char text[FILE_BYTES];
	unsigned char bytes[LAUNCHES][HW_RESULT];
};

static unsigned hw_jobs = 1;
static double hw_seconds = 1e9, hw_begun;
static uint64_t hw_first;
static char **hw_file;
static struct hw_pair *hw_pair;
static int hw_ask[2], hw_answer[2];

static void hw_interpret(void)
{
	static struct gen g;
	struct outcome a;
	struct plan p;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	span_base = hw_pair->base;
	arena_bytes = VGPU_ARENA_BYTES;
	gen_make(&g, hw_pair->seed, approximate);
	make_plan(&p, hw_pair->seed, &g);
	hw_pair->result = run_text(hw_pair->text, &p, ENGINE_MODE_INTERP, &a);
	memcpy(hw_pair->status, a.status, sizeof(a.status));
	memcpy(hw_pair->why, a.why, sizeof(a.why));
	for (int i = 0; i < LAUNCHES; i++)
		if (a.bytes[i])
			memcpy(hw_pair->bytes[i], a.bytes[i], result_bytes(&p, i));
	RIG_FLUSH();
	_exit(0);
}

/* Each kernel in a process of its own, as everywhere here. */
static void hw_beside(void)
{
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rig_on_cuda = 0;
	rig_ops = &engine_cpu;
	while (read(hw_ask[0], &c, 1) == 1) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0)
			hw_interpret();
		if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
			c = 'x';
		if (write(hw_answer[1], &c, 1) != 1)
			break;
	}
	_exit(0);
}

/* A worker keeps its buffers: a driver takes long to make some. */
static void hw_open(struct rig *r, const struct plan *p, struct memory *m)
{
	static struct memory kept;

	if (!r->engine) {
		if (rig_open(r, 1, 9, 0))
			exit(INVALID);
		kept.in = rig_alloc(r, GEN_IN_BYTES);
		kept.own = rig_alloc(r, MAX_TOTAL * GEN_OWN_BYTES);
		kept.dump = rig_alloc(r, 8ull * MAX_TOTAL * HW_SLOTS);
		kept.acc = rig_alloc(r, GEN_ACC * 4);
		kept.out = rig_alloc(r, OUT_BYTES);
		if (!kept.in || !kept.own || !kept.dump || !kept.acc || !kept.out)
			exit(INVALID);
	}
	r->launches = r->faults = 0;
	memset(r->ended, 0, sizeof(r->ended));
	/* what of it this kernel has is copied */
	rig_piece_of(r, kept.dump)->whole = 8ull * MAX_TOTAL * gen_slots(p->g);
	*m = kept;
}

/* The buffers of a GPU, or the interpreter's at the driver's addresses: kernels compute with them. 0: there is no GPU. */
static int hw_map(struct rig *r, const struct plan *p, struct memory *m)
{
	size_t bytes[5] = { GEN_IN_BYTES, MAX_TOTAL * GEN_OWN_BYTES, 8ull * MAX_TOTAL * gen_slots(p->g), GEN_ACC * 4, OUT_BYTES };
	void *got[5];

	if (!hw_pair)
		return 0;
	if (rig_on_cuda) {
		hw_open(r, p, m);
		return 1;
	}
	for (int i = 0; i < 5; i++) {
		got[i] = rig_map(r, hw_pair->at[i], bytes[i], (bytes[i] + 4095) & ~(size_t)4095);
		if (!got[i])
			exit(INVALID);
	}
	*m = (struct memory){ got[0], got[1], got[2], got[3], got[4] };
	return 1;
}

/* The interpreter begins as soon as the buffers are there, beside the driver's compiler. */
static void hw_ask_beside(struct rig *r, const char *text, const struct plan *p, const struct memory *m)
{
	char c = 'k';

	hw_pair->seed = p->seed;
	hw_pair->base = rig_base;
	hw_pair->at[0] = rig_address(r, m->in);
	hw_pair->at[1] = rig_address(r, m->own);
	hw_pair->at[2] = rig_address(r, m->dump);
	hw_pair->at[3] = rig_address(r, m->acc);
	hw_pair->at[4] = rig_address(r, m->out);
	strcpy(hw_pair->text, text);
	if (write(hw_ask[1], &c, 1) != 1)
		exit(INVALID);
}

static int hw_begin(void)
{
	pid_t pid;

	/* what is told of a kernel stays together */
	rig_out = fdopen(dup(1), "w");
	hw_pair = mmap(NULL, sizeof(*hw_pair), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!rig_out || hw_pair == MAP_FAILED || pipe(hw_ask) || pipe(hw_answer))
		return -1;
	setvbuf(rig_out, NULL, _IOFBF, 1 << 16);
	pid = fork();
	if (pid == 0)
		hw_beside();
	return pid < 0 ? -1 : rig_cuda_begin();
}

static int hw_try(const char *text, const struct plan *p, int quiet)
{
	struct outcome a = { .why = "" }, b;
	int result = SAME, failed;
	char c;

	if (hw_spoilt)
		return INVALID;
	if (strlen(text) >= FILE_BYTES || gen_slots(p->g) > HW_SLOTS)
		return INVALID;
	failed = run_text(text, p, 0, &b);
	if (read(hw_answer[0], &c, 1) != 1)
		exit(INVALID);
	hw_spoilt = first_bad(&b) == RIG_TIMEOUT || engine_cuda.died(rig_cuda_engine);
	if (c == 'x' || hw_pair->result) {
		if (!quiet)
			printf("  the interpreter: %s\n", c == 'x' ? "a crash" : hw_pair->why);
		result = INVALID;
	} else if (failed || b.strays) {
		if (!quiet)
			printf("  hardware: %s\n", b.why[0] ? b.why : "has written behind a buffer");
		result = CRASH;
	} else {
		for (int i = 0; i < LAUNCHES; i++)
			a.bytes[i] = hw_pair->bytes[i];
		if (differences(p, &a, &b, quiet))
			result = DIFFERENT;
	}
	outcome_free(&b);
	return result;
}

/*
 * What NVIDIA's assembler builds of others and not as the ISA has it (hardware.txt): 64-bit fields at a place that a register has, set and
 * testp under a guard.
 */
static int hw_built(const char *text)
{
	for (const char *s = text; *s; s += *s == '\n') {
		size_t n = strcspn(s, "\n");
		const char *op = s + strspn(s, " \t"), *comma = memchr(s, ',', n);

		if (*op == '@' && (op = memchr(op, ' ', (size_t)(s + n - op)))) {
			if (!strncmp(op, " set.", 5) || !strncmp(op, " testp.", 7))
				return 1;
		} else if (comma && (!strncmp(op, "bfe.u64", 7) || !strncmp(op, "bfe.s64", 7) || !strncmp(op, "bfi.b64", 7))) {
			comma = memchr(comma + 1, ',', (size_t)(s + n - comma - 1));
			if (op[2] == 'i' && comma)
				comma = memchr(comma + 1, ',', (size_t)(s + n - comma - 1));
			if (comma && memchr(comma, '%', (size_t)(s + n - comma)))
				return 1;
		}
		s += n;
	}
	return 0;
}

/* Is its result one that hardware must have, to the last bit? */
static int hw_fits(const struct gen *g, const char *text)
{
	return !hw_built(text) && !g->fault && !g->faulty && !strstr(text, ".row.col.f32") && !strstr(text, ".approx") && !strstr(text, "div.full");
}

static int hw_report(const struct gen *g, const struct plan *p, const char *text, int result)
{
	unsigned char out[GEN_UNITS] = { 0 };
	unsigned n = (unsigned)__atomic_fetch_add(&pool->sum[HW_DIFFER], 1, __ATOMIC_RELAXED);
	char *small;

	printf("seed %llu: %s\n", (unsigned long long)p->seed, result == INVALID ? "the kernel itself is wrong" :
	       result == CRASH ? "no end or another one" : "a difference");
	if (result == DIFFERENT && n < HW_SHRUNK && !only_first) {
		shrink(g, p, out);
		small = text_of(g, out);
		try_text(small, p, 0);
		free(small);
	}
	(void)text;
	if (n < HW_REPORTED)
		write_file(g, p, out);
	return POOL_BAD;
}

/* A seed, or a file that was written for one. */
static int hw_work(unsigned i)
{
	static struct gen g;
	unsigned long long seed = hw_first + i;
	int approx = approximate, rc = POOL_OK, result;
	char *text = NULL;
	struct plan p;

	if (pool_clock() - hw_begun > hw_seconds) {
		pool_add(HW_LATE, 1);
		return POOL_SKIP;
	}
	if (hw_file) {
		FILE *f = fopen(hw_file[i], "r");

		text = calloc(1, FILE_BYTES);
		if (!f || !text || !fread(text, 1, FILE_BYTES - 1, f) || sscanf(text, "// jitdiff seed=%llu approx=%d", &seed, &approx) != 2) {
			printf("%s: not a file of jitdiff's\n", hw_file[i]);
			RIG_FLUSH();
			return POOL_BAD;
		}
		fclose(f);
	}
	gen_make(&g, seed, approx);
	make_plan(&p, seed, &g);
	if (!text)
		text = text_of(&g, NULL);
	if (!hw_file && !hw_fits(&g, text)) {
		pool_add(HW_UNFIT, 1);
		rc = POOL_SKIP;
		goto out;
	}
	for (const char *s = text; *s; s++)
		pool_add(HW_INSTRUCTIONS, *s == ';');
	result = hw_try(text, &p, 0);
	pool_add(HW_RUN, 1);
	if (hw_file)
		printf("%s: %s\n", hw_file[i], result == SAME ? "the same" : "not the same");
	if (result != SAME)
		rc = hw_file ? POOL_BAD : hw_report(&g, &p, text, result);
out:
	RIG_FLUSH();
	free(text);
	gen_free(&g);
	return rc | (hw_spoilt ? POOL_SPOILT : 0);
}

static void hw_died(unsigned i, const char *how)
{
	__atomic_fetch_add(&pool->sum[HW_DIFFER], 1, __ATOMIC_RELAXED);
	printf("seed %llu: the test %s\n", (unsigned long long)(hw_first + i), how);
	RIG_FLUSH();
}

/* Twice what a launch and making a kernel smaller may take. */
static double hw_limit(unsigned i)
{
	(void)i;
	return 2 * (CUDA_SECONDS + SHRINK_SECONDS);
}

static int hw_all(uint64_t first, unsigned n, char **file, unsigned nfiles)
{
	unsigned bad = 0;

	hw_first = first;
	hw_file = nfiles ? file : NULL;
	hw_begun = pool_clock();
	if (pool_run(nfiles ? nfiles : n, hw_jobs, hw_limit, hw_begin, hw_work, hw_died))
		return 1;
	for (unsigned i = 0; i < (nfiles ? nfiles : n); i++)
		bad += pool->result[i] != POOL_OK && pool->result[i] != POOL_SKIP;
	printf("jitdiff: %llu kernels of %u from seed %llu by the driver, %llu instructions, %.0f s; %llu not for hardware, %llu not begun in time: %u differ\n",
	       (unsigned long long)pool->sum[HW_RUN], nfiles ? nfiles : n, (unsigned long long)first, (unsigned long long)pool->sum[HW_INSTRUCTIONS],
	       pool_clock() - hw_begun, (unsigned long long)pool->sum[HW_UNFIT], (unsigned long long)pool->sum[HW_LATE], bad);
	return bad || !pool->sum[HW_RUN];
}

#endif
