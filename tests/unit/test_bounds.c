/* SPDX-License-Identifier: MIT */
/*
 * What of compiling may grow faster than the text does is bounded by steps, not by time: constants moved out of kernels
 * (uniform.c), the ways of brx.idx (lower2.c), liveness (cfg.c). What is less good because of a bound is still right, what
 * is refused is refused with the documented error. The kernels are made here: they are long and say little.
 *
 * Sources: tests/unit/test_bounds.c tools/vgpu-stub/cpu/[all].c -llz4 -lzstd -lm -lpthread
 */
#include <stdarg.h>

#include "../ptx/rig.h"

#include "../../tools/vgpu-stub/cpu/front.h"
#include "../../tools/vgpu-stub/cpu/jit.h"

#define TEXT (16u << 20)
#define TREE_FUNCTIONS 10u
#define TREE_BLOCKS 6000u
#define TREE_FILLER 6100u

static struct rig rig;
static char text[TEXT];
static size_t length;
static unsigned failures;

#define CHECK(cond, ...) do { \
	if (!(cond)) { \
		failures++; \
		printf("test_bounds.c:%d: %s: ", __LINE__, #cond); \
		printf(__VA_ARGS__); \
		printf("\n"); \
	} \
} while (0)

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	length += (size_t)vsnprintf(text + length, TEXT - length, fmt, ap);
	va_end(ap);
	if (length >= TEXT)
		abort();
}

/* A kernel k(out, v) with %q0 = out, %r0 = v; what follows is its body. */
static void kernel(unsigned regs)
{
	length = 0;
	say(".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 v)\n{\n"
	    "\t.reg .b32 %%r<%u>;\n\t.reg .b64 %%q<2>;\n\t.reg .pred %%p;\n\tld.param.u64 %%q0, [out];\n\tld.param.u32 %%r0, [v];\n", regs);
}

/* Compiled, or not: then why is in log. */
static struct func *compiled(uint32_t *module, uint32_t *status, char *log, size_t bytes)
{
	struct engine_func_info fi;
	struct engine_symbol s;

	log[0] = 0;
	*status = engine_cpu.module_load(rig.engine, text, length, module, log, bytes);
	if (*status || engine_cpu.module_symbol(rig.engine, *module, 0, &s))
		return NULL;
	*status = engine_cpu.func_info(rig.engine, s.id, &fi, log, bytes);
	return rig.engine->funcs[s.id - 1];
}

static uint32_t run(const struct func *fn, uint32_t *cells, uint32_t v)
{
	struct { uint32_t *p; uint32_t v; } args = { cells, v };
	struct engine_launch l = { .fn = fn->id, .grid = { 1, 1, 1 }, .block = { 32, 1, 1 }, .params = &args, .param_bytes = 12 };
	unsigned index = 0;
	uint32_t st = rig_launch(&rig, &l, &index);

	return st == ENGINE_PENDING ? rig_wait(&rig, index, 30) : st;
}

/* More constants of a grid than a pool holds: those that are left stay in the kernel, all uses find what they mean. */
static void many_constants(uint32_t *cells)
{
	const unsigned n = 3000;
	char log[256];
	uint32_t m, st;
	struct func *fn;

	kernel(n);
	for (unsigned i = 1; i < n; i++)
		say("\tadd.u32 %%r%u, %%r%u, 1;\n", i, i - 1);
	say("\tst.global.u32 [%%q0], %%r10;\n\tst.global.u32 [%%q0+4], %%r%u;\n\tret;\n}\n", n - 1);
	fn = compiled(&m, &st, log, sizeof(log));
	CHECK(!st, "%s", log);
	if (st)
		return;
	CHECK(fn->npro > 1000 && fn->npro < n, "%u of %u are computed once a grid", fn->npro, n);
	st = run(fn, cells, 7);
	CHECK(!st && cells[0] == 17 && cells[1] == 7 + n - 1, "status %u: %u, %u", st, cells[0], cells[1]);
	engine_cpu.module_unload(rig.engine, m);
}

/* Each of a chain of constants stands before the one that it needs: a round over the code finds one. */
static void reversed(uint32_t *cells, unsigned n)
{
	char log[256];
	uint32_t m, st;
	struct func *fn;

	kernel(n + 1);
	say("\tbra B1;\n");
	for (unsigned i = n; i; i--) {
		say("B%u:\n\tadd.u32 %%r%u, %%r%u, %u;\n", i, i, i - 1, i & 1);
		say(i == n ? "\tbra END;\n" : "\tbra B%u;\n", i + 1);
	}
	say("END:\n\tst.global.u32 [%%q0], %%r%u;\n\tst.global.u32 [%%q0+4], %%r3;\n\tret;\n}\n", n);
	fn = compiled(&m, &st, log, sizeof(log));
	CHECK(!st, "%s", log);
	if (st)
		return;
	CHECK(fn->npro >= HOIST_ROUNDS && fn->npro <= HOIST_ROUNDS + 4, "%u moved, in a chain of %u", fn->npro, n);
	CHECK(fn->work < 4 * (HOIST_ROUNDS + 2 + (n + 130) / 64) * (n + 10ull), "%llu steps for a chain of %u",
	      (unsigned long long)fn->work, n);
	st = run(fn, cells, 7);
	CHECK(!st && cells[0] == 7 + (n + 1) / 2 && cells[1] == 9, "status %u: %u, %u", st, cells[0], cells[1]);
	engine_cpu.module_unload(rig.engine, m);
}

/* A list of labels is written once and named by many: ways x branches. */
static void ways(uint32_t *cells, unsigned labels, unsigned branches, bool good)
{
	char log[256];
	uint32_t m, st;
	struct func *fn;

	kernel(2);
	say("\tmov.u32 %%r1, 0;\nT: .branchtargets L0");
	for (unsigned i = 1; i < labels; i++)
		say(", L%u", i);
	say(";\n");
	for (unsigned i = 0; i < branches; i++)
		say("\tsetp.eq.u32 %%p, %%r0, %u;\n\t@%%p brx.idx %%r1, T;\n", i);
	say("\tst.global.u32 [%%q0], 1000;\n\tret;\n");
	for (unsigned i = 0; i < labels; i++)
		say("L%u:\n\tadd.u32 %%r1, %%r1, 1;\n", i);
	say("\tst.global.u32 [%%q0], %%r1;\n\tret;\n}\n");
	fn = compiled(&m, &st, log, sizeof(log));
	if (!good) {
		CHECK(st == VGPU_ST_NOT_SUPPORTED && strstr(log, "too large"), "%u x %u: status %u: %s", labels, branches, st, log);
	} else {
		CHECK(!st, "%s", log);
		if (!st)
			st = run(fn, cells, 2);
		CHECK(!st && cells[0] == labels, "status %u: %u", st, cells[0]);
	}
	engine_cpu.module_unload(rig.engine, m);
}

/* Blocks in the order opposite to that in which they are gone through, and too many to be put in order. */
static void backwards(uint32_t *cells, unsigned n, bool good)
{
	char log[256];
	uint32_t m, st;
	struct func *fn;

	kernel(2);
	/* written twice, so that it stays: the end reads it, which every block before that is to know */
	say("\tmov.u32 %%r1, 0;\n\tmov.u64 %%q1, 8;\n\tadd.s64 %%q1, %%q1, %%q0;\n\tbra B%u;\nEND:\n"
	    "\tst.global.u32 [%%q1+-8], %%r1;\n\tret;\n", n);
	for (unsigned i = 1; i <= n; i++)
		say("B%u:\n\tadd.u32 %%r1, %%r1, %%r0;\n\t%s%u;\n", i, i == 1 ? "bra END;//" : "bra B", i - 1);
	say("}\n");
	fn = compiled(&m, &st, log, sizeof(log));
	if (good) {
		CHECK(!st, "%s", log);
		if (!st)
			st = run(fn, cells, 3);
		CHECK(!st && cells[0] == 3 * n, "status %u: %u", st, cells[0]);
	} else {
		CHECK(st == VGPU_ST_NOT_SUPPORTED && strstr(log, "too large"), "%u blocks: status %u: %s", n, st, log);
	}
	CHECK(fn && fn->work <= MAX_WORK + (64ull << 20), "%llu steps", (unsigned long long)(fn ? fn->work : 0));
	engine_cpu.module_unload(rig.engine, m);
}

/* Branches in one another, at which lanes part: what lies between each and its join is the square of their number. */
static void nested(uint32_t *cells, unsigned n)
{
	char log[256];
	uint32_t m, st;
	struct func *fn;

	kernel(4);
	say("\tmov.u32 %%r1, %%tid.x;\n\tmov.u32 %%r2, 0;\n");
	for (unsigned i = 0; i < n; i++)
		say("\tsetp.eq.u32 %%p, %%r1, %u;\n\t@%%p bra L%u;\n\tadd.u32 %%r2, %%r2, 1;\n", i + 1, i);
	for (unsigned i = n; i-- > 0;)
		say("L%u:\n\tadd.u32 %%r2, %%r2, %%r0;\n", i);
	say("\tsetp.ne.u32 %%p, %%r1, 0;\n\t@%%p bra END;\n\tst.global.u32 [%%q0], %%r2;\nEND:\n\tret;\n}\n");
	fn = compiled(&m, &st, log, sizeof(log));
	CHECK(!st, "%s", log);
	if (!st)
		st = run(fn, cells, 3);
	CHECK(!st && cells[0] == 4 * n, "status %u: %u", st, cells[0]);
	CHECK(fn && fn->work <= 2 * JIT_REGION_STEPS + 8ull * JIT_REGION_LEAST * n, "%llu steps for %u branches",
	      (unsigned long long)(fn ? fn->work : 0), n);
	engine_cpu.module_unload(rig.engine, m);
}

/* Each function is within its bound; all that a kernel calls together is not, and each of them is still good alone. */
static void tree(uint32_t *cells, unsigned functions, unsigned blocks)
{
	struct engine_func_info fi;
	struct engine_symbol s;
	char log[256] = "";
	uint32_t m, st, id[2] = { 0, 0 };
	uint64_t work = 0;

	length = 0;
	say(".version 7.0\n.target sm_70\n.address_size 64\n");
	for (unsigned f = 0; f < functions; f++) {
		/* %r2 is read at the end, which each block before that hears of one round later; more blocks than are put in order */
		say(".func (.reg .u32 %%o) f%u(.reg .u32 %%i)\n{\n\t.reg .b32 %%r<3>;\n\t.reg .pred %%p;\n\tmov.u32 %%r1, 0;\n"
		    "\tmov.u32 %%r2, %%i;\n\tadd.u32 %%r2, %%r2, 1;\n", f);
		for (unsigned i = 0; i <= TREE_FILLER; i++)
			say("\tsetp.eq.u32 %%p, %%r1, %u;\n\t@%%p bra B%u;\n", i + 1, blocks);
		say("\tbra B%u;\nEND:\n\tadd.u32 %%o, %%r1, %%r2;\n\tret;\n", blocks);
		for (unsigned i = 1; i <= blocks; i++)
			say("B%u:\n\tadd.u32 %%r1, %%r1, %%i;\n\t%s%u;\n", i, i == 1 ? "bra END;//" : "bra B", i - 1);
		say("}\n");
	}
	for (unsigned k = 0; k < 2; k++) {
		say(".visible .entry k%u(.param .u64 out, .param .u32 v)\n{\n\t.reg .b32 %%r<2>;\n\t.reg .b64 %%q<2>;\n"
		    "\tld.param.u64 %%q0, [out];\n\tld.param.u32 %%r0, [v];\n", k);
		for (unsigned f = k ? functions - 1 : 0; f < functions; f++)
			say("\tcall (%%r1), f%u, (%%r0);\n", f);
		say("\tst.global.u32 [%%q0], %%r1;\n\tret;\n}\n");
	}
	st = engine_cpu.module_load(rig.engine, text, length, &m, log, sizeof(log));
	CHECK(!st, "%s", log);
	for (uint32_t i = 0; !st && !engine_cpu.module_symbol(rig.engine, m, i, &s); i++)
		if (s.kind == ENGINE_SYM_FUNC && s.name[0] == 'k')
			id[s.name[1] - '0'] = s.id;
	st = engine_cpu.func_info(rig.engine, id[0], &fi, log, sizeof(log));
	CHECK(st == VGPU_ST_NOT_SUPPORTED && strstr(log, "too large"), "%u functions of %u blocks: status %u: %s", functions, blocks, st, log);
	for (unsigned f = 0; f < rig.engine->funcs_span; f++)
		work += rig.engine->funcs[f] ? rig.engine->funcs[f]->work : 0;
	/* once for the module, once for the kernel */
	CHECK(work <= 2 * MAX_TREE_WORK + (64ull << 20), "%llu steps", (unsigned long long)work);
	st = engine_cpu.func_info(rig.engine, id[1], &fi, log, sizeof(log));
	CHECK(!st, "the last one alone: %s", log);
	if (!st)
		st = run(func_get(rig.engine, id[1]), cells, 2);
	CHECK(!st && cells[0] == 2 * blocks + 3, "status %u: %u", st, cells[0]);
	engine_cpu.module_unload(rig.engine, m);
}

/* Registers of one block each: what lives where blocks meet is a few of them, and no set has room for all. */
static void of_one_block(uint32_t *cells, unsigned blocks)
{
	char log[256];
	uint32_t m, st, want = 7;
	uint64_t before, after;
	struct func *fn;

	kernel(8 * blocks + 2);
	for (unsigned i = 0; i < blocks; i++) {
		unsigned r = 2 + 8 * i;

		say("\tld.global.u32 %%r%u, [%%q0+4];\n", r);
		for (unsigned k = 1; k < 8; k++)
			say("\tadd.u32 %%r%u, %%r%u, %%r0;\n", r + k, r + k - 1);
		say("\txor.b32 %%r0, %%r0, %%r%u;\n\tsetp.eq.u32 %%p, %%r0, 77;\n\t@%%p bra END;\n", r + 7);
		if (want != 77)
			want ^= 5 + 7 * want;
	}
	say("END:\n\tst.global.u32 [%%q0], %%r0;\n\tret;\n}\n");
	cells[1] = 5;
	before = engine_cpu.own_bytes(rig.engine);
	fn = compiled(&m, &st, log, sizeof(log));
	CHECK(!st, "%s", log);
	if (st)
		return;
	after = engine_cpu.own_bytes(rig.engine);
	CHECK(after - before < 6000ull * blocks, "%llu bytes stay for %u blocks", (unsigned long long)(after - before), blocks);
	st = run(fn, cells, 7);
	CHECK(!st && cells[0] == want, "status %u: %u, not %u", st, cells[0], want);
	engine_cpu.module_unload(rig.engine, m);
}

/* Functions that are called again and again, and by a pointer too, are each counted once. */
static void callees(uint32_t *cells, unsigned n)
{
	char log[256];
	uint32_t m, st;
	struct engine_symbol s;
	struct engine_func_info fi;
	struct func *fn = NULL;

	length = 0;
	say(".version 7.0\n.target sm_70\n.address_size 64\n");
	for (unsigned i = 0; i < n; i++) {
		say(".func (.reg .b32 r) f%u(.reg .b32 a)\n{\n\tadd.u32 r, a, %u;\n", i, i);
		if (i)
			say("\tcall (r), f%u, (r);\n\tcall (r), f0, (r);\n", i - 1);
		say("\tret;\n}\n");
		if (i == 60)    /* chains of calls have a limit of their own */
			break;
	}
	for (unsigned i = 61; i < n; i++)
		say(".func (.reg .b32 r) f%u(.reg .b32 a)\n{\n\tadd.u32 r, a, %u;\n\tret;\n}\n", i, i);
	say(".func g()\n{\n\tret;\n}\n.visible .entry k(.param .u64 out, .param .u32 v)\n{\n\t.reg .b32 %%r<2>;\n\t.reg .b64 %%q<2>;\n"
	    "\tld.param.u64 %%q0, [out];\n\tld.param.u32 %%r0, [v];\n");
	for (unsigned i = 0; i < 2 * (n - 61); i++)
		say("\tcall (%%r0), f%u, (%%r0);\n", 61 + i % (n - 61));
	say("\tmov.u64 %%q1, g;\nP: .callprototype _ ();\n\tcall %%q1, (), P;\n\tst.global.u32 [%%q0], %%r0;\n\tret;\n}\n");
	st = engine_cpu.module_load(rig.engine, text, length, &m, log, sizeof(log));
	for (uint32_t i = 0; !st && !engine_cpu.module_symbol(rig.engine, m, i, &s); i++)
		if (s.kind == ENGINE_SYM_FUNC && !strcmp(s.name, "k"))
			fn = rig.engine->funcs[s.id - 1];
	st = fn ? engine_cpu.func_info(rig.engine, fn->id, &fi, log, sizeof(log)) : st;
	CHECK(fn && !st, "%s", log);
	if (!fn || st)
		return;
	CHECK(fn->ncallees == n + 1, "%u callees of %u", fn->ncallees, n + 1);
	st = run(fn, cells, 1);
	CHECK(!st && cells[0] == 1 + (n - 61) * (n + 60), "status %u: %u", st, cells[0]);
	engine_cpu.module_unload(rig.engine, m);
}

int main(void)
{
	for (int jit = 0; jit < 2; jit++) {
		uint32_t *cells;

		rig_mode = jit ? ENGINE_MODE_JIT : ENGINE_MODE_INTERP;
		if (rig_open(&rig, 1, 9, 0))
			return 1;
		cells = rig_alloc(&rig, 4096);
		many_constants(cells);
		reversed(cells, 300);
		reversed(cells, 3000);
		callees(cells, 400);
		of_one_block(cells, 3000);
		ways(cells, 300, 300, true);
		ways(cells, 700, 700, false);
		nested(cells, 3000);
		backwards(cells, 2000, true);
		if (!jit)
			tree(cells, TREE_FUNCTIONS, TREE_BLOCKS);
		if (!jit)
			backwards(cells, 60000, false);
		rig_close(&rig);
	}
	printf("bounds: %u failed\n", failures);
	return failures != 0;
}
