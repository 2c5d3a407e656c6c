/* SPDX-License-Identifier: MIT */
/*
 * What hardware gives where the ISA leaves it open (golden_forms.h): vectors that a GPU wrote, and what the engine gives for the same operands.
 *
 * Usage: golden [-m MODE] [-j JOBS] [-n ROWS] [-f WORD] [-v] FOLDER     compares with FOLDER/GROUP.txt; exit 1: something differs
 *        golden -m cuda -w FOLDER                                       writes FOLDER/GROUP.txt
 *        -f: forms that contain WORD; -v: every form's figures; golden -k: the kernels
 *
 * A line of a file: "FORM | ROWS HASH | RESULTS", the results of ROWS threads in hexadecimal, v*n for n alike. Operands are made by the row's
 * number and the form's text alone; HASH is theirs. A form that the driver does not take: "FORM | - | REASON".
 * What must be the same: everything of forms that are exact. Of approximations NaNs, infinities and zeros; other results may be as far
 * apart as the bound of both. Sums of matrix instructions: see sum_of_most().
 */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define RIG_CUDA
#include "rig.h"
#include "pool.h"
#include "golden_forms.h"

#define MAX_ROWS 65536u
#define SLOTS 16u               /* operands of a row, 8 bytes each */
#define OUTS 4u
#define SHOWN 8u

static struct rig rig;
static unsigned char *input, *output;
static unsigned rows_asked, verbose;
static const char *write_to;
static uint64_t *shared;        /* results of all forms: of all processes */
static unsigned max_rows;

/* ---- operands ------------------------------------------------------------------------------------------ */

static uint64_t hash_of(const void *p, size_t n, uint64_t h)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const unsigned char *)p)[i]) * 0x100000001b3ull;
	return h;
}

static uint64_t rng_state;

static uint64_t rng(void)
{
	uint64_t z = rng_state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static void format_of(char t, unsigned *e, unsigned *m)
{
	*e = t == 'd' ? 11 : strchr("hHxv", t) ? 5 : t == 'q' ? 4 : 8;
	*m = t == 'd' ? 52 : t == 'f' ? 23 : strchr("hHx", t) ? 10 : strchr("rRy", t) ? 7 : t == 't' ? 10 : t == 'q' ? 3 : 2;
}

/* The first ones are what two operands have pair by pair. */
static uint64_t special_float(unsigned e, unsigned m, unsigned i)
{
	uint64_t inf = ((1ull << e) - 1) << m, one = ((1ull << (e - 1)) - 1) << m, quiet = inf | 1ull << (m - 1), sign = 1ull << (e + m);
	uint64_t v[] = { 0, sign, one, inf, inf | sign, quiet | (m > 3 ? 5 : 0), quiet | sign, inf | 1, (1ull << m) - 1, 1 | sign, 1ull << m, inf - 1,
			 one | sign, (inf - 1) | sign, (one + 1), one - 1, (one + (1ull << m)) | 1ull << (m - 1), one - (1ull << m), 1, sign | ((1ull << m) - 1),
			 (1ull << m) | sign, (1ull << m) + 1, one + ((uint64_t)m << m), (one + ((uint64_t)m << m)) | 1, one + ((uint64_t)(e + 23) << m),
			 (one + ((uint64_t)5 << m)) | sign, quiet | 1ull << (m - 2), inf | sign | 3 };

	return v[i % (sizeof(v) / sizeof(v[0]))];
}
#define SPECIALS 28u
#define PAIRED 12u

static uint64_t random_float(unsigned e, unsigned m)
{
	uint64_t r = rng(), mask = (1ull << m) - 1, sign = (r & 1) << (e + m), one = (1ull << (e - 1)) - 1;
	unsigned how = r >> 1 & 7;
	uint64_t spread = how < 3 ? 3 : how < 6 ? (e > 5 ? 9 : 5) : one;

	if (how == 7)
		return rng() & (m == 52 ? 0 : (1ull << (e + m + 1)) - 1);      /* of f64 zeros: files were written so */
	return sign | (one - spread + 1 + (r >> 8) % (2 * spread - 1)) << m | (rng() & mask);
}

static uint64_t operand(char t, unsigned row, unsigned k, unsigned n)
{
	static const uint64_t ints[] = { 0, 1, ~0ull, 0x8000000080008000ull, 0x7fffffff7fff7fffull, 0x8000000000000000ull, 0x7fffffffffffffffull,
					 0x80000000, 0x7fffffff, 2, ~1ull, 31, 32, 33, 0xffff8000, 0x7fff, 63, 64, 65, 255, 256, 0x12345678, 0xffffffff00000000ull,
					 0x00000000ffffffffull, 0xf0f0f0f00f0f0f0full, 24, 0x800000, 0x7fffff };
	static const uint32_t counts[] = { 0, 1, 31, 32, 33, 63, 64, 65, 255, 256, 0xffffffff, 0x80000000, 8, 16, 5, 0x1f1f, 0x1c00, 0x1f0f, 0x100, 0x20 };
	unsigned e, m, pick = n == 1 ? row : k == 0 ? row : row / PAIRED, paired = n > 1 && row < PAIRED * PAIRED && k < 2;
	int low = n == 1 ? row < SPECIALS : paired;
	uint64_t v;

	if (strchr("ilw", t)) {
		if (low) {
			v = ints[n == 1 ? row : pick % PAIRED];
		} else if (rng() & 1) {
			v = ints[rng() % (sizeof(ints) / 8)];
		} else {
			v = rng();
			v >>= rng() % 64;
		}
		return t == 'l' ? v : v & (t == 'w' ? 0xffff : 0xffffffff);
	}
	if (t == 's')
		return rng() & 3 ? (rng() & 1 ? rng() % 34 : counts[rng() % (sizeof(counts) / 4)]) : rng() & 0x1fff;
	format_of(t, &e, &m);
	if (low)
		v = special_float(e, m, n == 1 ? row : pick % PAIRED);
	else
		v = n > 1 && !(rng() & 3) ? special_float(e, m, (unsigned)rng()) : random_float(e, m);
	if (strchr("HR", t))
		v |= (rng() & 1 ? special_float(e, m, (unsigned)rng()) : random_float(e, m)) << 16;
	return v;
}

/* Of a matrix: 0 near each other, 1 far apart, 2 anything. */
static uint64_t element(char t, int values)
{
	unsigned e, m;
	uint64_t one, r = rng(), spread;

	format_of(t, &e, &m);
	one = (1ull << (e - 1)) - 1;
	spread = values == 0 ? 3 : e == 4 ? 6 : e == 5 ? 12 : 20;
	if (values == 2 && !(r >> 40 & 3))
		return special_float(e, m, (unsigned)rng()) << (t == 't' ? 13 : 0);
	if (values == 2 && !(r >> 42 & 3))
		return (rng() & (m == 52 ? 0 : (1ull << (e + m + 1)) - 1)) << (t == 't' ? 13 : 0);
	return ((r & 1) << (e + m) | (one - spread + (r >> 8) % (2 * spread - 1)) << m | (rng() & ((1ull << m) - 1))) << (t == 't' ? 13 : 0);
}

static void make_inputs(const struct gform *f, unsigned rows, uint64_t *in)
{
	uint64_t seed = hash_of(f->text, strlen(f->text), 0xcbf29ce484222325ull);

	memset(in, 0, (size_t)rows * SLOTS * 8);
	for (unsigned row = 0; row < rows; row++) {
		unsigned k = 0, n = (unsigned)strlen(f->in);

		rng_state = seed + row * 0x632be59bd9b4e019ull;
		for (const char *t = f->in; *t; t++) {
			uint64_t v = 0;
			unsigned parts = strchr("xy", *t) ? 2 : strchr("qv", *t) ? 4 : 1;

			if (*t == '|')
				continue;
			if (!f->mma)
				v = operand(*t, row, k, n);
			for (unsigned i = 0; f->mma && i < parts; i++)
				v |= element(*t, f->values) << (i * (32 / parts) % 64);
			in[row * SLOTS + k++] = v;
		}
	}
}

/* ---- kernels --------------------------------------------------------------------------------------------- */

static char text[16384];
static size_t text_at;

static void __attribute__((format(printf, 1, 2))) emit(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	text_at += (size_t)vsnprintf(text + text_at, sizeof(text) - text_at, fmt, ap);
	va_end(ap);
}

static const char *reg_type(char t) { return t == 'f' ? "f32" : t == 'd' ? "f64" : strchr("hrw", t) ? "b16" : t == 'l' ? "b64" : "b32"; }
static unsigned bits_of(char t) { return strchr("hrw", t) ? 16 : strchr("dl", t) ? 64 : 32; }

static void build(const struct gform *f)
{
	static const char *const names[] = { "a", "b", "c", "e", "m4", "m5", "m6", "m7", "m8", "m9", "m10", "m11", "m12", "m13", "m14", "m15" };
	static const char *const results[] = { "d", "d1", "d2", "d3" };
	unsigned k = 0;

	text_at = 0;
	emit(".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
	     "\t.reg .pred p, q;\n\t.reg .b32 t, l, i;\n\t.reg .b64 at, to;\n");
	for (const char *t = f->in; *t; t++)
		if (*t != '|')
			emit("\t.reg .%s %s;\n", reg_type(*t), names[k++]);
	for (k = 0; f->out[k]; k++)
		emit("\t.reg .%s %s;\n", reg_type(f->out[k]), results[k]);
	emit("\tmov.u32 l, %%laneid;\n\tmov.u32 i, %%ctaid.x;\n\tmov.u32 t, %%ntid.x;\n\tmul.lo.u32 i, i, t;\n\tmov.u32 t, %%tid.x;\n\tadd.u32 i, i, t;\n"
	     "\tld.param.u64 at, [in];\n\tld.param.u64 to, [out];\n\tmad.wide.u32 at, i, %u, at;\n\tmad.wide.u32 to, i, %u, to;\n", SLOTS * 8, OUTS * 8);
	k = 0;
	for (const char *t = f->in; *t; t++) {
		if (*t == '|')
			continue;
		emit("\tld.global.b%u %s, [at+%u];\n", bits_of(*t), names[k], k * 8);
		k++;
	}
	if (f->mma) {
		emit("\t%.*s {", (int)strcspn(f->text, ";"), f->text);
		for (k = 0; f->out[k]; k++)
			emit("%s%s", k ? ", " : "", results[k]);
		emit("}, {");
		k = 0;
		for (const char *t = f->in; *t; t++) {
			if (*t == '|')
				emit("}, {");
			else
				emit("%s%s", t > f->in && t[-1] != '|' ? ", " : "", names[k++]);
		}
		emit("};\n");
	} else {
		emit("\t%s\n", f->text);
	}
	for (k = 0; f->out[k]; k++)
		emit("\tst.global.b%u [to+%u], %s;\n", bits_of(f->out[k]), k * 8, results[k]);
	emit("\tret;\n}\n");
}

/* Results into out; 0, or a status with the reason in log. */
static uint32_t run(const struct gform *f, unsigned rows, uint64_t *out, char *log, size_t log_bytes)
{
	struct engine_launch l = { .grid = { rows / 32, 1, 1 }, .block = { 32, 1, 1 } };
	struct engine_func_info fi;
	struct engine_symbol sym;
	uint64_t params[2] = { rig_address(&rig, input), rig_address(&rig, output) };
	uint32_t module, st;
	unsigned index = 0;

	build(f);
	*log = 0;
	st = rig_ops->module_load(rig.engine, text, strlen(text), &module, log, log_bytes);
	if (st)
		return st;
	st = rig_ops->module_symbol(rig.engine, module, 0, &sym);
	if (!st)
		st = rig_ops->func_info(rig.engine, sym.id, &fi, log, log_bytes);
	if (!st) {
		make_inputs(f, rows, (uint64_t *)(void *)input);
		memset(output, 0, (size_t)rows * OUTS * 8);
		st = rig_push(&rig, input, (size_t)rows * SLOTS * 8);
	}
	if (!st)
		st = rig_push(&rig, output, (size_t)rows * OUTS * 8);
	l.fn = sym.id;
	l.params = params;
	l.param_bytes = sizeof(params);
	rig.launches = 0;
	memset(rig.ended, 0, sizeof(rig.ended));
	if (!st)
		st = rig_launch(&rig, &l, &index);
	if (st == ENGINE_PENDING)
		st = rig_wait(&rig, index, 10);
	if (!st)
		st = rig_read(&rig, out, rig_address(&rig, output), (size_t)rows * OUTS * 8);
	if (st && !*log)
		snprintf(log, log_bytes, "launch: %s", st == RIG_TIMEOUT ? "no end" : vgpu_status_text(st));
	if (!rig_died(&rig) && st != RIG_TIMEOUT)
		rig_ops->module_unload(rig.engine, module);
	return st;
}

static unsigned rows_of(const struct gform *f)
{
	unsigned n = rows_asked ? rows_asked : !strcmp(f->group, "approx") ? 768 : f->mma ? 64 : 192;

	return (n + 31) / 32 * 32;
}

/* ---- pieces ------------------------------------------------------------------------------------------------- */

static uint64_t *results_of(unsigned i) { return shared + (size_t)i * (max_rows * OUTS + 64); }

static int begin(void)
{
	if (rig_open(&rig, 1, 9, 0))
		return -1;
	input = rig_alloc(&rig, (size_t)max_rows * SLOTS * 8);
	output = rig_alloc(&rig, (size_t)max_rows * OUTS * 8);
	return input && output ? 0 : -1;
}

#include "golden_compare.h"

/* Results, and behind them why there are none. */
static int work(unsigned i)
{
	uint64_t *out = results_of(i);
	char *log = (char *)(out + (size_t)max_rows * OUTS);
	uint32_t st = run(&gform[i], rows_of(&gform[i]), out, log, 512);

	for (char *p = log; *p; p++)
		*p = *p == '\n' ? ' ' : *p;
	return (st ? POOL_SKIP : POOL_OK) | (rig_died(&rig) || st == RIG_TIMEOUT ? POOL_SPOILT : 0);
}

static void died(unsigned i, const char *how)
{
	snprintf((char *)(results_of(i) + (size_t)max_rows * OUTS), 512, "the test %s", how);
	pool->result[i] = POOL_SKIP;
}

static double limit(unsigned i) { (void)i; return 20; }

static int write_group(const char *group)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.txt", write_to, group);
	f = fopen(path, "w");
	if (!f)
		return -1;
	for (unsigned i = 0; i < ngforms; i++)
		if (!strcmp(gform[i].group, group))
			write_line(f, &gform[i], pool->result[i] == POOL_OK, results_of(i), (char *)(results_of(i) + (size_t)max_rows * OUTS));
	return fclose(f);
}

int main(int argc, char **argv)
{
	static const char *const groups[] = { "approx", "convert", "minmax", "nan", "integer", "lanes", "mma" };
	unsigned jobs = 1, bad = 0, n = 0, missing = 0;
	const char *word = NULL;
	int opt, kernels = 0;

	while ((opt = getopt(argc, argv, "m:j:n:f:w:vk")) != -1) {
		if (opt == 'j')
			jobs = (unsigned)atoi(optarg);
		else if (opt == 'n')
			rows_asked = (unsigned)atoi(optarg);
		else if (opt == 'f')
			word = optarg;
		else if (opt == 'w')
			write_to = optarg;
		else if (opt == 'v')
			verbose = 1;
		else if (opt == 'k')
			kernels = 1;
		else if (opt != 'm' || rig_set_mode(optarg))
			return 2;
	}
	g_forms();
	if ((!write_to && !kernels && optind != argc - 1) || rows_asked > MAX_ROWS || ngforms == G_FORMS) {
		printf("usage: golden [-m MODE] [-n ROWS] [-f WORD] [-v] FOLDER | golden -w FOLDER\n");
		return 2;
	}
	for (unsigned i = 0; word && i < ngforms; i++)
		if (strstr(gform[i].text, word))
			gform[n++] = gform[i];
	ngforms = word ? n : ngforms;
	for (unsigned i = 0; kernels && i < ngforms; i++) {
		build(&gform[i]);
		printf("// %s\n%s", gform[i].text, text);
	}
	if (kernels)
		return 0;
	if (!write_to)
		return compare_all(argv[optind], groups, sizeof(groups) / sizeof(groups[0]));
	for (unsigned i = 0; i < ngforms; i++)
		max_rows = rows_of(&gform[i]) > max_rows ? rows_of(&gform[i]) : max_rows;
	shared = mmap(NULL, (size_t)ngforms * (max_rows * OUTS + 64) * 8 + 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (shared == MAP_FAILED || !ngforms || pool_run(ngforms, jobs, limit, begin, work, died))
		return 1;
	for (unsigned i = 0; i < ngforms; i++)
		missing += pool->result[i] != POOL_OK;
	for (unsigned i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		bad |= (unsigned)write_group(groups[i]);
	printf("golden: %u forms, %u of them not here%s\n", ngforms, missing, bad ? "; some file cannot be written" : "");
	return bad || missing == ngforms;
}
