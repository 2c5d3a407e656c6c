/* SPDX-License-Identifier: MIT */
/*
 * CUDA's device library against references: every function of real.def, intrin.def and half.def, as nvcc compiled it, is run
 * on some thousand inputs by the JIT and by every build of the interpreter. They must agree bit for bit, and with the
 * reference within the error that the CUDA C++ Programming Guide states.
 *
 * Usage: maths FOLDER [-m cuda] [-v] [PATTERN]     FOLDER: PTX as tests/maths/run.sh makes it (real32.75.ptx ...); PATTERN: only
 *                                        functions whose name contains it; -v: the largest error of each; -m cuda: a GPU in the place
 *                                        of the interpreter (rig_cuda.h), for the references and for what the JIT gives
 *        one line "ok MODULE ..." or "FAIL MODULE ..." a module; exit 0 no FAIL, 1 some
 *
 * Each engine runs in a child process of its own: the choice of the lane operations is made once a process, and a crash is
 * one engine's. Results come back in shared memory. Compiled by gcc, for __float128.
 */
#define _GNU_SOURCE
#include <sys/wait.h>
#include <unistd.h>

#define RIG_CUDA
#include "../ptx/rig.h"
#include "reference.h"
#include "inputs.h"

#define MAX_ENTRIES 320
#define ERROR_BYTES 256
#define SHOWN 3                 /* wrong results of one function that are told of */

/* What may lie between a result and the reference. */
struct bound {
	double ulp, abs, rel;
	int exact;              /* the sign of a zero too */
	int any;
};

struct entry {
	const char *name;
	enum type result, in[3];
	/* what the result should be: *bits, or for functions of reals *q and *b, with 1 returned */
	int (*reference)(const void *x, const void *y, const void *z, uint64_t *bits, quad *q, struct bound *b);
	int slack;              /* of 16-bit floats: units in the last place */
};

#define U(single, double) ((struct bound){ .ulp = (single_ ? (single) : (double)) })
#define A(single, double) ((struct bound){ .abs = (single_ ? (single) : (double)) })
#define REL(r) ((struct bound){ .rel = (r) })
#define EXACT ((struct bound){ .exact = 1 })
#define ANY ((struct bound){ .any = 1 })
#define NEAR(x, a, b) ((x) >= (a) && (x) <= (b))

/* what a reference takes an input for */
#define AS_f32 quad
#define AS_f64 quad
#define AS_s32 s32

#define PUT(R, value) do { R put_ = (R)(value); *bits = 0; memcpy(bits, &put_, sizeof(put_)); } while (0)
#define QUAD_FUNCTION(name, R, A, B, C, value, limit) \
static int ref_##name(const void *xp, const void *yp, const void *zp, uint64_t *bits, quad *q, struct bound *b) \
{ \
	AS_##A x = *(const A *)xp; AS_##B y = *(const B *)yp; AS_##C z = *(const C *)zp; \
	const int single_ = sizeof(R) == 4; \
	(void)x; (void)y; (void)z; (void)bits; (void)single_; \
	*q = (value); \
	*b = (limit); \
	return 1; \
}
#define BITS_FUNCTION(name, R, A, B, C, value) \
static int ref_##name(const void *xp, const void *yp, const void *zp, uint64_t *bits, quad *q, struct bound *b) \
{ \
	A x = *(const A *)xp; B y = *(const B *)yp; C z = *(const C *)zp; \
	(void)x; (void)y; (void)z; (void)q; (void)b; \
	PUT(R, value); \
	return 0; \
}

/* Each table makes functions, then, included again, the list of them; a copy of a table renames its functions. */
#define TABLE_FUNCTIONS
#include "tables.h"
#undef TABLE_FUNCTIONS
#include "tables.h"

struct module {
	const char *name;               /* of the PTX file */
	const struct entry *entries;
	const struct format *format;    /* of 16-bit floats */
	int cc;
};
static const struct module modules[] = {
	{ "real32.75", real32_entries, NULL, 75 }, { "real64.75", real64_entries, NULL, 75 },
	{ "float.75", float_entries, NULL, 75 }, { "float.90", float_entries, NULL, 90 },
	{ "int.75", int_entries, NULL, 75 }, { "int.90", int_entries, NULL, 90 },
	{ "simd.75", simd_entries, NULL, 75 }, { "simd.90", simd_entries, NULL, 90 },
	{ "half.75", half_entries, &half_format, 75 }, { "half.90", half_entries, &half_format, 90 },
	{ "bf16.75", bf16_75_entries, &bf16_format, 75 }, { "bf16.80", bf16_entries, &bf16_format, 80 },
	{ "bf16.90", bf16_entries, &bf16_format, 90 },
	{ "fp8.75", fp8_entries, &half_format, 75 }, { "fp8.90", fp8_entries, &half_format, 90 },
};
#define MODULES (sizeof(modules) / sizeof(modules[0]))

/* The engines: the lane operations ($VGPU_CPU_ISA) and the mode. Without AVX-512 the JIT is not there and the mode is the interpreter's. */
struct way { const char *name, *isa; uint32_t mode; int cuda; };
static const struct way ours[] = {
	{ "jit", NULL, ENGINE_MODE_JIT, 0 }, { "interp", NULL, ENGINE_MODE_INTERP, 0 },
	{ "avx2", "avx2", ENGINE_MODE_INTERP, 0 }, { "base", "base", ENGINE_MODE_INTERP, 0 },
};
static const struct way gpu[] = { { "cuda", NULL, ENGINE_MODE_AUTO, 1 }, { "jit", NULL, ENGINE_MODE_JIT, 0 } };
#define ENGINES (sizeof(ours) / sizeof(ours[0]))
static const struct way *engines = ours;
static unsigned nengines = ENGINES;

/* What a child hands back, in shared memory. */
struct results {
	char error[MAX_ENTRIES][ERROR_BYTES];   /* why a function has no results, "" = it has */
	uint64_t value[MAX_ENTRIES][INPUTS];
};
static struct results *results[ENGINES];

static const char *folder, *pattern;
static int verbose;

static int wanted(const struct entry *e)
{
	return !pattern || strstr(e->name, pattern);
}

/* ---- the child ------------------------------------------------------------------------------------ */

static char *read_file(const char *path, size_t *bytes)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	long n;

	if (!f)
		return NULL;
	if (fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0 && (text = malloc((size_t)n + 1))) {
		*bytes = fread(text, 1, (size_t)n, f);
		text[*bytes] = 0;
	}
	fclose(f);
	return text;
}

static uint32_t find(struct rig *r, uint32_t module, const char *name)
{
	struct engine_symbol s;

	for (uint32_t i = 0; rig_ops->module_symbol(r->engine, module, i, &s) == VGPU_ST_OK; i++)
		if (s.kind == ENGINE_SYM_FUNC && !strncmp(s.name, "k_", 2) && !strcmp(s.name + 2, name))
			return s.id;
	return 0;
}

/* The same bits; of two NaNs in double precision the ISA leaves open which is the result's. */
static int alike(const struct entry *e, uint64_t a, uint64_t b)
{
	return a == b || (e->result == TYPE_f64 && isnan(from64(a)) && isnan(from64(b)));
}

/* Twice: warps of mixed inputs, and, in another block shape, inputs in the order of x, of which a warp's are alike. */
static void run_entry(struct rig *r, uint32_t module, const struct entry *e, unsigned char *const in[3], unsigned char *out, char *error,
		      uint64_t *value)
{
	size_t bytes = type_bytes[e->result];
	uint32_t fn = find(r, module, e->name);
	struct params { uint64_t in[3], out; uint32_t n; } params = { .n = INPUTS };

	if (!fn) {
		snprintf(error, ERROR_BYTES, "no such kernel");
		return;
	}
	for (int pass = 0; pass < 2; pass++) {
		uint32_t block = pass ? 96 : 128;
		struct engine_launch l = { .fn = fn, .grid = { (INPUTS + block - 1) / block, 1, 1 }, .block = { block, 1, 1 },
					   .params = &params, .param_bytes = offsetof(struct params, n) + sizeof(params.n) };
		const unsigned *order = input_order(e->in[0], pass);
		unsigned index;
		uint32_t st;

		for (int k = 0; k < 3; k++) {
			inputs_to(in[k], e->in[k], k, order);
			params.in[k] = rig_address(r, in[k]);
		}
		params.out = rig_address(r, out);
		memset(out, 0xa5, INPUTS * bytes);
		if (rig_push_all(r)) {
			snprintf(error, ERROR_BYTES, "no copies");
			return;
		}
		r->launches = 0;
		r->ended[0] = 0;
		st = rig_launch(r, &l, &index);
		if (st == ENGINE_PENDING || st == VGPU_ST_OK)
			st = rig_wait(r, index, 60);
		if (st == VGPU_ST_OK)
			st = rig_pull_all(r);
		if (st != VGPU_ST_OK) {
			char log[300] = "";
			struct engine_func_info info;

			rig_ops->func_info(r->engine, fn, &info, log, sizeof(log));
			snprintf(error, ERROR_BYTES, "%s %.100s %.70s", st == RIG_TIMEOUT ? "no end" : vgpu_status_text(st), log, r->fault_what);
			return;
		}
		for (unsigned i = 0; i < INPUTS; i++) {
			uint64_t v = 0;

			memcpy(&v, out + i * bytes, bytes);
			if (pass == 0)
				value[order[i]] = v;
			else if (!alike(e, value[order[i]], v) && !error[0])
				snprintf(error, ERROR_BYTES, "input %u: 0x%llx among its like, 0x%llx among others", order[i], (unsigned long long)v,
					 (unsigned long long)value[order[i]]);
		}
	}
}

static int child(unsigned which, const struct module *m)
{
	static struct rig r;
	unsigned char *in[3], *out;
	char path[4096], log[512] = "";
	size_t bytes;
	char *text;
	uint32_t module, st;

	if (engines[which].isa)
		setenv("VGPU_CPU_ISA", engines[which].isa, 1);
	rig_mode = engines[which].mode;
	if (engines[which].cuda && rig_set_mode("cuda"))
		return 1;
	snprintf(path, sizeof(path), "%s/%s.ptx", folder, m->name);
	text = read_file(path, &bytes);
	if (!text || rig_open(&r, 1, (unsigned)m->cc / 10, (unsigned)m->cc % 10))
		return 1;
	st = rig_ops->module_load(r.engine, text, bytes, &module, log, sizeof(log));
	if (st) {
		printf("%s: %s: %s\n", path, vgpu_status_text(st), log);
		return 1;
	}
	for (int k = 0; k < 3; k++)
		in[k] = rig_alloc(&r, INPUTS * 8);
	out = rig_alloc(&r, INPUTS * 8);
	for (int i = 0; m->entries[i].name; i++)
		if (wanted(&m->entries[i]))
			run_entry(&r, module, &m->entries[i], in, out, results[which]->error[i], results[which]->value[i]);
	rig_close(&r);
	return 0;
}

/* ---- the judgement -------------------------------------------------------------------------------- */

/* where a float stands among all floats of its type: neighbours differ by 1, both zeros are 0 */
static int64_t place(uint64_t v, int bits)
{
	uint64_t magnitude = v & (~0ull >> (65 - bits));

	return v >> (bits - 1) & 1 ? -(int64_t)magnitude : (int64_t)magnitude;
}

static int is_nan16(const struct format *f, uint64_t v)
{
	return f && (v & 0x7fff) > (uint64_t)((f->highest * 2 + 1) << f->fraction);
}

static int same16(const struct module *m, uint64_t a, uint64_t b, int slack)
{
	int64_t apart;

	if (is_nan16(m->format, a) || is_nan16(m->format, b))
		return is_nan16(m->format, a) && is_nan16(m->format, b);
	apart = place(a, 16) - place(b, 16);
	return a == b || (slack && apart <= slack && apart >= -slack);
}

static int same_bits(const struct module *m, const struct entry *e, uint64_t got, uint64_t want)
{
	if (got == want)
		return 1;
	switch (e->result) {
	case TYPE_f32: return isnan(from32((u32)got)) && isnan(from32((u32)want));
	case TYPE_f64: return isnan(from64(got)) && isnan(from64(want));
	case TYPE_h16: return same16(m, got, want, e->slack);
	case TYPE_h32: return same16(m, got & 0xffff, want & 0xffff, e->slack) && same16(m, got >> 16, want >> 16, e->slack);
	default: return 0;
	}
}

/* 1 within the bound; *ulps: how far from the correctly rounded result, *want: that */
static int within(const struct entry *e, uint64_t got, quad q, const struct bound *b, double *ulps, uint64_t *want)
{
	int bits = e->result == TYPE_f32 ? 32 : 64, nan;
	quad value = bits == 32 ? (quad)from32((u32)got) : (quad)from64(got);

	*want = bits == 32 ? bits32((f32)q) : bits64((f64)q);
	nan = q != q;
	*ulps = 0;
	if (b->any)
		return 1;
	if (nan || value != value)
		return nan && value != value;
	*ulps = fabs((double)((__int128)place(got, bits) - place(*want, bits)));
	if (b->exact)
		return got == *want;
	if (b->abs > 0)
		return *ulps <= 1 || fabsq(value - q) <= b->abs;
	if (b->rel > 0)
		return *ulps <= 2 || fabsq(value - q) <= b->rel * fabsq(q);
	return *ulps <= b->ulp;
}

/* of two results: in floats between them, infinite where one is none; of others whether they differ at all */
static double distance(const struct entry *e, uint64_t a, uint64_t b)
{
	int bits = e->result == TYPE_f32 ? 32 : 64;

	if (e->result != TYPE_f32 && e->result != TYPE_f64)
		return 1;
	if (bits == 32 ? isnan(from32((u32)a)) || isnan(from32((u32)b)) : isnan(from64(a)) || isnan(from64(b)))
		return INFINITY;
	return fabs((double)((__int128)place(a, bits) - place(b, bits)));
}

struct tally { unsigned functions, refused, wrong, apart; };

static void judge(const struct module *m, int i, struct tally *t)
{
	const struct entry *e = &m->entries[i];
	unsigned bad = 0, apart = 0;
	double worst = 0, far = 0;

	t->functions++;
	for (unsigned w = 0; w < nengines; w++)
		if (results[w]->error[i][0]) {
			printf("  %s.%s on %s: %s\n", m->name, e->name, engines[w].name, results[w]->error[i]);
			t->refused++;
			return;
		}
	for (unsigned n = 0; n < INPUTS; n++) {
		const void *x = input(e->in[0], 0, n), *y = input(e->in[1], 1, n), *z = input(e->in[2], 2, n);
		uint64_t got = results[0]->value[i][n], want = 0;
		double ulps = 0;
		struct bound b;
		quad q;
		int ok;

		for (unsigned w = 1; w < nengines; w++) {
			if (alike(e, results[w]->value[i][n], got))
				continue;
			far = fmax(far, distance(e, results[w]->value[i][n], got));
			if (apart++ < SHOWN)
				printf("  %s.%s input %u (%s): %s 0x%llx, %s 0x%llx\n", m->name, e->name, n, input_text(e->in, n), engines[0].name,
				       (unsigned long long)got, engines[w].name, (unsigned long long)results[w]->value[i][n]);
		}
		if (e->reference(x, y, z, &want, &q, &b))
			ok = within(e, got, q, &b, &ulps, &want);
		else
			ok = same_bits(m, e, got, want);
		worst = ulps > worst ? ulps : worst;
		if (!ok && bad++ < SHOWN)
			printf("  %s.%s input %u (%s): 0x%llx, should be 0x%llx\n", m->name, e->name, n, input_text(e->in, n),
			       (unsigned long long)got, (unsigned long long)want);
	}
	if (bad)
		printf("  %s.%s: %u of %u wrong\n", m->name, e->name, bad, INPUTS);
	if (apart)
		printf("  %s.%s: engines differ on %u, by up to %g\n", m->name, e->name, apart, far);
	if (verbose)
		printf("  %s.%s: %g ulp\n", m->name, e->name, worst);
	t->wrong += bad != 0;
	t->apart += apart != 0;
}

static int test_module(const struct module *m)
{
	struct tally t = { 0 };
	pid_t pid[ENGINES];
	int st, crashed = 0;

	fflush(stdout);
	for (unsigned w = 0; w < nengines; w++) {
		memset(results[w]->error, 0, sizeof(results[w]->error));
		pid[w] = fork();
		if (pid[w] == 0) {
			st = child(w, m);
			fflush(stdout);
			_exit(st);
		}
	}
	for (unsigned w = 0; w < nengines; w++) {
		if (pid[w] > 0 && waitpid(pid[w], &st, 0) == pid[w] && WIFEXITED(st) && WEXITSTATUS(st) == 0)
			continue;
		printf("  %s: engine %s ended with status 0x%x\n", m->name, engines[w].name, (unsigned)st);
		crashed = 1;
	}
	for (int i = 0; !crashed && m->entries[i].name; i++)
		if (wanted(&m->entries[i]))
			judge(m, i, &t);
	if (crashed || t.refused || t.wrong || t.apart)
		printf("FAIL %s %u functions: %u not run, %u wrong, engines apart on %u\n", m->name, t.functions, t.refused, t.wrong, t.apart);
	else
		printf("ok %s %u functions\n", m->name, t.functions);
	return crashed || t.refused || t.wrong || t.apart;
}

int main(int argc, char **argv)
{
	unsigned first = 0, beyond = MODULES;   /* of modules that are this process's; MODULES + 1: its children's */
	pid_t pid[MODULES];
	int bad = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: maths FOLDER [-m cuda] [-v] [PATTERN]\n");
		return 2;
	}
	folder = argv[1];
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "-v")) {
			verbose = 1;
		} else if (!strcmp(argv[i], "-m") && i + 1 < argc && !strcmp(argv[i + 1], "cuda")) {
			engines = gpu;
			nengines = sizeof(gpu) / sizeof(gpu[0]);
			i++;
		} else {
			pattern = argv[i];
		}
	}
	make_inputs();
	/* a driver compiles for seconds: the modules at once, each with its lines together */
	setvbuf(stdout, NULL, _IOFBF, 1 << 20);
	beyond += engines == gpu;
	for (unsigned i = 0; engines == gpu && beyond == MODULES + 1 && i < MODULES; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			first = i;
			beyond = i + 1;
		}
	}
	for (unsigned i = 0; beyond == MODULES + 1 && i < MODULES; i++) {
		int st = 1;

		bad |= waitpid(pid[i], &st, 0) != pid[i] || st;
	}
	if (beyond == MODULES + 1)
		return bad;
	for (unsigned w = 0; w < nengines; w++) {
		results[w] = mmap(NULL, sizeof(struct results), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (results[w] == MAP_FAILED)
			return 2;
	}
	for (unsigned i = 0; i < MODULES; i++) {
		unsigned n = 0;

		while (modules[i].entries[n].name)
			n++;
		if (n > MAX_ENTRIES) {
			printf("FAIL %s has %u functions, the room is for %d\n", modules[i].name, n, MAX_ENTRIES);
			return 2;
		}
	}
	for (unsigned i = first; i < beyond; i++)
		bad |= test_module(&modules[i]);
	return bad;
}
