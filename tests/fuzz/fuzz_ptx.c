/* SPDX-License-Identifier: MIT */
/*
 * Fuzzer of the PTX front end: loads the bytes as a module image (text or fatbin), asks for
 * every symbol and for func_info of its kernels, which parses, checks and lowers their bodies, and for
 * a listing of each.
 * Nothing is launched: that is fuzz_launch.c.
 *
 * Build: tests/fuzz/fuzz_ptx.c tests/fuzz/standalone.c tools/vgpu-stub/cpu/[all].c
 *        -llz4 -lzstd -lm -lpthread, with ASan and UBSan; or without standalone.c, with
 *        clang -fsanitize=fuzzer
 * Run:   fuzz_ptx [options of standalone.c] tests/fuzz/corpus/ptx
 */
#include "../../tools/vgpu-stub/cpu/disasm.h"
#include "../ptx/rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_SYMBOLS 256u

static struct rig rig;
static FILE *nowhere;           /* takes the listings */

static void must(int condition, const char *what)
{
	if (!condition) {
		printf("fuzz_ptx: %s\n", what);
		abort();
	}
}

static void look_at(uint32_t module)
{
	struct engine_symbol sym;
	struct engine_func_info fi;
	char log[200];

	for (uint32_t i = 0; i < MAX_SYMBOLS; i++) {
		uint32_t st = engine_cpu.module_symbol(rig.engine, module, i, &sym);

		if (st) {
			must(st == VGPU_ST_NOT_FOUND, "module_symbol ends with something else");
			return;
		}
		must(sym.name && sym.name[0], "a symbol without a name");
		if (sym.kind != ENGINE_SYM_FUNC) {
			/* .extern and nowhere defined: a name */
			must((!sym.address && !sym.bytes) ||
			     (sym.address >= rig.env.arena_base && sym.bytes <= rig.env.arena_bytes &&
			      sym.address - rig.env.arena_base <= rig.env.arena_bytes - sym.bytes),
			     "a variable outside the arena");
			continue;
		}
		memset(log, 'x', sizeof(log));
		st = engine_cpu.func_info(rig.engine, sym.id, &fi, log, sizeof(log));
		if (st) {
			must(memchr(log, 0, sizeof(log)) != NULL, "a log without end");
			continue;
		}
		must(fi.id == sym.id && fi.nparams <= ENGINE_MAX_PARAMS, "func_info is off");
		for (uint32_t p = 0; p < fi.nparams; p++)
			must(fi.params[p].offset <= fi.param_bytes &&
			     fi.params[p].bytes <= fi.param_bytes - fi.params[p].offset,
			     "a parameter outside the block");
		must(disasm_list(rig.engine, sym.id, nowhere) == VGPU_ST_OK, "no listing");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char log[200];
	uint32_t module, st;

	if (!rig.engine) {
		must(rig_open(&rig, 1, 9, 0) == 0, "no engine");
		nowhere = fopen("/dev/null", "w");
		must(nowhere != NULL, "no /dev/null");
	}
	memset(log, 'x', sizeof(log));
	st = engine_cpu.module_load(rig.engine, data, size, &module, log, sizeof(log));
	if (st) {
		must(memchr(log, 0, sizeof(log)) != NULL, "a log without end");
		return 0;
	}
	look_at(module);
	/* asked again, the answers are the same objects: nothing may be built twice */
	look_at(module);
	must(engine_cpu.module_bytes(rig.engine, module) <= rig.env.arena_bytes, "module_bytes");
	must(engine_cpu.module_unload(rig.engine, module) == VGPU_ST_OK, "module_unload");
	return 0;
}
