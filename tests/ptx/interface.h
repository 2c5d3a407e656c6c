/* SPDX-License-Identifier: MIT */
/*
 * Checks of the engine's interface itself (engine.h), which the context relies on: images of all
 * kinds, handles that are wrong or gone, launch errors, copies and fills that fault.
 * Run by optest.c before its forms, on the same rig.
 */
#ifndef TESTS_PTX_INTERFACE_H
#define TESTS_PTX_INTERFACE_H

#include "rig.h"

static unsigned interface_failures;
static void *images[64];                /* stay valid until check_interface ends */
static unsigned nimages;

#define WANT(cond, ...) do { \
	if (!(cond)) { \
		interface_failures++; \
		printf("interface.h:%d: %s: ", __LINE__, #cond); \
		printf(__VA_ARGS__); \
		printf("\n"); \
	} \
} while (0)

static const char one_kernel[] =
	".version 6.4\n.target sm_61\n.address_size 64\n"
	".visible .global .align 4 .u32 g = 5;\n"
	".visible .entry k(.param .u64 p, .param .u32 v)\n{\n"
	"\t.reg .b64 %q;\n\t.reg .b32 %x<3>;\n"
	"\tld.param.u64 %q, [p];\n\tld.param.u32 %x0, [v];\n\tld.global.u32 %x1, [g];\n"
	"\tadd.u32 %x2, %x0, %x1;\n\tst.global.u32 [%q], %x2;\n\tret;\n}\n";

/* Loads exactly `bytes` bytes, from a block of that size. */
static uint32_t load_bytes(struct rig *r, const void *image, size_t bytes, uint32_t *module)
{
	char log[256];
	void *copy = malloc(bytes ? bytes : 1);
	uint32_t st;

	memcpy(copy, image, bytes);
	memset(log, 'x', sizeof(log));
	st = rig_ops->module_load(r->engine, copy, bytes, module, log, sizeof(log));
	if (st)
		WANT(memchr(log, 0, sizeof(log)) && log[0], "no reason for status %u", st);
	if (st || nimages == 64)
		free(copy);
	else
		images[nimages++] = copy;
	return st;
}

static uint32_t kernel_of(struct rig *r, uint32_t module, const char *name)
{
	struct engine_symbol s;

	for (uint32_t i = 0; rig_ops->module_symbol(r->engine, module, i, &s) == 0; i++)
		if (s.kind == ENGINE_SYM_FUNC && !strcmp(s.name, name))
			return s.id;
	return 0;
}

static uint32_t run_k(struct rig *r, uint32_t fn, uint32_t *cell, uint32_t v, uint32_t param_bytes)
{
	struct { uint32_t *p; uint32_t v; } args = { cell, v };
	struct engine_launch l = { .fn = fn, .grid = { 1, 1, 1 }, .block = { 1, 1, 1 },
				   .params = &args, .param_bytes = param_bytes };
	unsigned index = 0;
	uint32_t st;

	r->launches = 0;
	memset(r->ended, 0, sizeof(r->ended));
	st = rig_launch(r, &l, &index);
	return st == ENGINE_PENDING ? rig_wait(r, index, 10) : st;
}

static void check_images(struct rig *r, uint32_t *cell)
{
	static const char *const garbage[] = { "", "x", "\177ELF\2\1\1", "hello, world\n",
		"\x50\xed\x55\xba", "\x50\xed\x55\xba\1\0\x10\0\0\0\0\0\0\0\0\0", ".version" };
	size_t n = strlen(one_kernel);
	char padded[sizeof(one_kernel) + 16] = { 0 };
	uint32_t m[3], st, fn;

	for (unsigned i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
		size_t bytes = i == 5 ? 16 : strlen(garbage[i]);

		st = load_bytes(r, garbage[i], bytes, m);
		WANT(st == VGPU_ST_INVALID_IMAGE || st == VGPU_ST_INVALID_PTX || st == VGPU_ST_NO_BINARY,
		     "garbage %u: status %u", i, st);
	}
	/* without a NUL, with one, with several; all three at once have the same names */
	memcpy(padded, one_kernel, n);
	for (unsigned i = 0; i < 3; i++) {
		st = load_bytes(r, padded, i == 2 ? sizeof(padded) : n + i, &m[i]);
		WANT(st == VGPU_ST_OK, "image %u: status %u", i, st);
		if (st)
			return;
		fn = kernel_of(r, m[i], "k");
		WANT(fn != 0, "no function id in module %u", i);
		st = run_k(r, fn, cell, i, 12);
		WANT(st == VGPU_ST_OK && *cell == i + 5, "module %u: status %u, cell %u", i, st, *cell);
	}
	WANT(kernel_of(r, m[0], "k") != kernel_of(r, m[1], "k"), "two modules share a function id");
	fn = kernel_of(r, m[1], "k");
	st = engine_cpu.module_unload(r->engine, m[1]);
	WANT(st == VGPU_ST_OK, "unload: status %u", st);
	WANT(run_k(r, fn, cell, 1, 12) != VGPU_ST_OK, "a function of an unloaded module runs");
	WANT(kernel_of(r, m[1], "k") == 0, "symbols of an unloaded module");
	WANT(engine_cpu.module_unload(r->engine, m[1]) != VGPU_ST_OK, "unloaded twice");
	*cell = 0;
	st = run_k(r, kernel_of(r, m[2], "k"), cell, 70, 12);
	WANT(st == VGPU_ST_OK && *cell == 75, "the neighbour: status %u, cell %u", st, *cell);
	engine_cpu.module_unload(r->engine, m[0]);
	engine_cpu.module_unload(r->engine, m[2]);
}

static void check_launch_errors(struct rig *r, uint32_t *cell)
{
	struct engine_launch l = { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
	struct engine_func_info fi;
	uint32_t m, fn;
	unsigned index;
	char log[64];

	if (load_bytes(r, one_kernel, strlen(one_kernel), &m))
		return;
	fn = kernel_of(r, m, "k");
	*cell = 1;
	WANT(run_k(r, 0, cell, 2, 12) != VGPU_ST_OK, "function 0");
	WANT(run_k(r, fn + 1000, cell, 2, 12) != VGPU_ST_OK, "a function that never was");
	WANT(run_k(r, 0xffffffff, cell, 2, 12) != VGPU_ST_OK, "function -1");
	WANT(run_k(r, fn, cell, 2, 0) != VGPU_ST_OK, "no parameters for a kernel that has two");
	WANT(run_k(r, fn, cell, 2, 8) != VGPU_ST_OK, "too few parameter bytes");
	WANT(engine_cpu.func_info(r->engine, 0xffffffff, &fi, log, sizeof(log)) != VGPU_ST_OK,
	     "func_info of nothing");
	l.fn = fn;
	l.params = cell;
	l.param_bytes = 12;
	for (int i = 0; i < 6; i++) {
		uint32_t *d = i < 3 ? l.grid : l.block, old = d[i % 3], st;

		d[i % 3] = 0;
		r->launches = 0;
		memset(r->ended, 0, sizeof(r->ended));
		st = rig_launch(r, &l, &index);
		WANT(st != VGPU_ST_OK && st != ENGINE_PENDING, "an empty launch: status %u", st);
		d[i % 3] = old;
	}
	WANT(*cell == 1, "a refused launch wrote %u", *cell);
	WANT(r->faults == 0, "refused launches reported %u faults", r->faults);
	engine_cpu.module_unload(r->engine, m);
}

static void check_copies(struct rig *r)
{
	unsigned char *a = rig_alloc(r, 8192), host[64];
	uint64_t bad[] = { 0, 64, RIG_SPAN_BASE + RIG_SPAN_BYTES - 4096, 0xdead000000000000,
			   0xffffffffffffff00, 0xffffffffffffffc0, (uint64_t)(uintptr_t)a + 8192 };
	uint32_t st;

	for (unsigned i = 0; i < sizeof(host); i++)
		host[i] = (unsigned char)(i + 1);
	st = engine_cpu.copy(r->engine, a + 3, host, sizeof(host));
	WANT(st == VGPU_ST_OK && !memcmp(a + 3, host, sizeof(host)) && !a[2] && !a[67], "copy: %u", st);
	memset(host, 0, sizeof(host));
	st = engine_cpu.copy(r->engine, host, a + 3, sizeof(host));
	WANT(st == VGPU_ST_OK && host[63] == 64, "copy back: %u", st);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		st = engine_cpu.copy(r->engine, (void *)bad[i], host, 64);
		WANT(st == VGPU_ST_ILLEGAL_ADDRESS, "copy to %llx: %u", (unsigned long long)bad[i], st);
		st = engine_cpu.copy(r->engine, host, (const void *)bad[i], 64);
		WANT(st == VGPU_ST_ILLEGAL_ADDRESS, "copy from %llx: %u", (unsigned long long)bad[i], st);
		st = engine_cpu.fill(r->engine, (void *)bad[i], 7, 4, 16);
		WANT(st == VGPU_ST_ILLEGAL_ADDRESS, "fill of %llx: %u", (unsigned long long)bad[i], st);
	}
	/* across the end: an error, and the engine lives on */
	st = engine_cpu.copy(r->engine, a + 8192 - 8, host, 64);
	WANT(st == VGPU_ST_ILLEGAL_ADDRESS, "copy over the end: %u", st);
	st = engine_cpu.copy(r->engine, a, a + 4096, 0);
	WANT(st == VGPU_ST_OK, "copy of nothing: %u", st);
	memset(a, 0, 64);
	st = engine_cpu.fill(r->engine, a + 4, 0x11223344, 1, 3);
	WANT(st == VGPU_ST_OK && a[3] == 0 && a[4] == 0x44 && a[6] == 0x44 && a[7] == 0, "fill 1: %u", st);
	st = engine_cpu.fill(r->engine, a + 8, 0x11223344, 2, 2);
	WANT(st == VGPU_ST_OK && a[8] == 0x44 && a[9] == 0x33 && a[11] == 0x33 && a[12] == 0,
	     "fill 2: %u", st);
	st = engine_cpu.fill(r->engine, a + 16, 0x11223344, 4, 3);
	WANT(st == VGPU_ST_OK && a[16] == 0x44 && a[27] == 0x11 && a[28] == 0, "fill 4: %u", st);
	st = engine_cpu.fill(r->engine, a, 1, 4, ~(size_t)0 / 2);
	WANT(st == VGPU_ST_ILLEGAL_ADDRESS || st == VGPU_ST_INVALID, "a huge fill: %u", st);
}

/* What a module takes is given back: 400 modules of 64 MiB do not fit the limit at once. */
static void check_reuse(struct rig *r)
{
	static const char text[] = ".version 6.4\n.target sm_61\n.address_size 64\n"
				   ".visible .global .align 8 .b8 big[67108864];\n";
	char log[128] = "";
	uint32_t m, st = 0;
	int i;

	for (i = 0; i < 400 && !st; i++) {
		st = engine_cpu.module_load(r->engine, text, strlen(text), &m, log, sizeof(log));
		if (st)
			break;
		WANT(engine_cpu.module_bytes(r->engine, m) >= 67108864, "module_bytes");
		engine_cpu.module_unload(r->engine, m);
	}
	WANT(!st, "load %d: status %u: %s", i, st, log);
}

/* So is room for code, while another module stays: what is compiled here fits 96 KiB, but not 500 times. */
static void check_code_reuse(struct rig *r)
{
	struct engine_env env = r->env;
	struct engine_func_info fi;
	struct engine *e;
	char log[128] = "";
	uint32_t m, st = 0;

	env.arena_bytes /= 2;
	env.arena_base += env.arena_bytes;
	env.code_bytes = 96 << 10;
	env.mode = ENGINE_MODE_JIT;
	if (engine_cpu.open(&env, &e)) {
		WANT(0, "a second engine");
		return;
	}
	for (int i = 0; i < 500 && !st && !log[0]; i++) {
		struct engine_symbol s;

		st = engine_cpu.module_load(e, one_kernel, strlen(one_kernel), &m, log, sizeof(log));
		for (uint32_t k = 0; !st && !engine_cpu.module_symbol(e, m, k, &s); k++)
			if (s.kind == ENGINE_SYM_FUNC)
				st = engine_cpu.func_info(e, s.id, &fi, log, sizeof(log));
		WANT(!st && !log[0], "load %d: status %u: %s", i, st, log);
		if (i % 7)              /* some stay */
			engine_cpu.module_unload(e, m);
		if (i == 20)
			for (m = 1; m < 20; m += 2)
				engine_cpu.module_unload(e, m);
	}
	engine_cpu.close(e);
}

static unsigned check_interface(struct rig *r)
{
	uint32_t *cell = rig_alloc(r, 4096);

	check_images(r, cell);
	check_launch_errors(r, cell);
	check_copies(r);
	check_reuse(r);
	check_code_reuse(r);
	while (nimages)
		free(images[--nimages]);
	return interface_failures;
}

#endif
