/* SPDX-License-Identifier: MIT */
/*
 * vgpu ptxas, also found as lib/vgpu/bin/ptxas: takes the place of NVIDIA's assembler behind other people's compilers.
 * It reads what ptxas reads, has the engine compile every kernel for the architecture that is asked for, so that what the
 * device cannot run is an error here and not at the first launch, and writes PTX in a cubin's place (vgpu_cubin.h).
 *
 * Words, places of errors and exit status are ptxas's: XLA and Triton parse them. Options that choose among machine code are
 * taken and change nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../fw-protocol/vgpu_cubin.h"
#include "../../fw-protocol/vgpu_status.h"
#include "../vgpu-stub/cc.h"
#include "cudatool.h"
#include "doctor.h"
#include "local.h"
#include "vgpu.h"

#define MOST_VALUES (1u << 20)          /* of one variable, in the file; larger ones are not told of */

enum { HELP = 1, VERSION, RELEASE, ARCH, OUTPUT, VERBOSE, REGS, COMPILE_ONLY, STRING, ENTRY, MACHINE, STATS };

static const struct tool_option options[] = {
	{ "help", "h", 0, HELP }, { "version", "V", 0, VERSION }, { "vgpu-version", NULL, 1, RELEASE },
	{ "gpu-name", "arch", 1, ARCH }, { "output-file", "o", 1, OUTPUT }, { "verbose", "v", 0, VERBOSE },
	{ "maxrregcount", "maxrregcount", 1, REGS }, { "compile-only", "c", 0, COMPILE_ONLY },
	{ "input-as-string", "ias", 1, STRING }, { "entry", "e", 1, ENTRY }, { "machine", "m", 1, MACHINE },
	{ "compiler-stats", "stats", 0, STATS },
	/* about machine code, which there is none of */
	{ "opt-level", "O", 1, 0 }, { "device-debug", "g", 0, 0 }, { "generate-line-info", "lineinfo", 0, 0 },
	{ "fmad", "fmad", 1, 0 }, { "disable-warnings", "w", 0, 0 }, { "warning-as-error", "Werror", 0, 0 },
	{ "warn-on-spills", "warn-spills", 0, 0 }, { "warn-on-local-memory-usage", "warn-lmem-usage", 0, 0 },
	{ "warn-on-double-precision-use", "warn-double-usage", 0, 0 }, { "def-load-cache", "dlcm", 1, 0 },
	{ "def-store-cache", "dscm", 1, 0 }, { "force-load-cache", "flcm", 1, 0 }, { "force-store-cache", "fscm", 1, 0 },
	{ "allow-expensive-optimizations", "allow-expensive-optimizations", 1, 0 }, { "dont-merge-basicblocks", "no-bb-merge", 0, 0 },
	{ "preserve-relocs", "preserve-relocs", 0, 0 }, { "return-at-end", "ret-end", 0, 0 },
	{ "position-independent-code", "pic", 1, 0 }, { "device-function-maxrregcount", "func-maxrregcount", 1, 0 },
	{ "split-compile", "split-compile", 1, 0 }, { "jobs", NULL, 1, 0 }, { "override-directive-values", "override-directive-values", 0, 0 },
	{ "extensible-whole-program", "ewp", 0, 0 }, { "sp-bounds-check", "sp-bounds-check", 0, 0 },
	{ "suppress-double-demote-warning", "suppress-double-demote-warning", 0, 0 },
	{ "suppress-stack-size-warning", "suppress-stack-size-warning", 0, 0 },
	{ "suppress-async-bulk-multicast-advisory-warning", NULL, 0, 0 },
	{ "suppress-debug-info", "suppress-debug-info", 0, 0 }, { "disable-optimizer-constants", "disable-optimizer-consts", 0, 0 },
	{ "legacy-bar-warp-wide-behavior", NULL, 0, 0 }, { "compile-as-at-entry-patch", NULL, 0, 0 }, { "compile-as-tools-patch", NULL, 0, 0 },
	{ "compile-functions", NULL, 1, 0 }, { "regAllocOptLevel", NULL, 1, 0 }, { "tool-name", NULL, 1, 0 }, { "maxntid", NULL, 1, 0 },
	{ "minnctapersm", NULL, 1, 0 }, { "okey", "okey", 1, 0 }, { "oFast-compile", "Ofc", 1, 0 }, { "Ofast-compile", NULL, 1, 0 },
	{ "no-descriptor", NULL, 0, 0 }, { "uumn", "uumn", 0, 0 }, { "g-tensor-memory-access-check", NULL, 0, 0 },
	{ "fdevice-time-trace", NULL, 1, 0 }, { "device-stack-protector", NULL, 1, 0 }, { "query-controls", NULL, 0, 0 },
	{ NULL, NULL, 0, 0 },
};

struct job {
	struct tool tool;
	const char *arch, *output, *otherwise, *string, *entry, *release;
	unsigned cc, regs;
	char suffix;
	int verbose, only, errors;
	struct vgpu_cubin_var *vars;
	uint32_t nvars;
	char *values;
};

static int set(void *owner, int id, const char *value)
{
	struct job *j = owner;

	switch (id) {
	case HELP:
		puts("usage: ptxas [options] FILE.ptx...\n"
		     "  Checks that VGPU-STUB runs each kernel, and writes PTX in a cubin's place; ptxas's own options.\n"
		     "  -arch sm_XX  -o FILE  -v  -c  -maxrregcount N  -e KERNEL  -ias TEXT  --version  --vgpu-version=X.Y");
		return TOOL_DONE;
	case VERSION:
		tool_version(&j->tool, "Ptx optimizing assembler", j->release);
		return TOOL_DONE;
	case RELEASE:
		j->release = value;
		break;
	case ARCH:
		j->arch = value;
		break;
	case OUTPUT:
		j->output = value;
		break;
	case VERBOSE:
		j->verbose = 1;
		break;
	case REGS:
		j->regs = (unsigned)strtoul(value, NULL, 10);
		break;
	case COMPILE_ONLY:
		j->only = 1;
		break;
	case STRING:
		j->string = value;
		break;
	case ENTRY:
		j->entry = value;
		break;
	case MACHINE:
		if (strcmp(value, "64"))
			return tool_fatal(&j->tool, "Value '%s' is not defined for option 'machine'", value);
	}
	return 0;
}

/* "12:5: reason" of the engine as ptxas says it. */
static void error(struct job *j, const char *file, const char *log, const char *kernel)
{
	unsigned line = 0, column = 0;
	int n = 0;

	j->errors++;
	if (sscanf(log, "%u:%u: %n", &line, &column, &n) == 2 && n)
		fprintf(stderr, "%s %s, line %u; error   : %s", j->tool.name, file, line, log + n);
	else
		fprintf(stderr, "%s %s; error   : %s", j->tool.name, file, log);
	if (kernel)
		fprintf(stderr, ", in kernel '%s'", kernel);
	fputc('\n', stderr);
}

static void tell(const struct job *j, const struct engine_func_info *f, double ms)
{
	unsigned regs = j->regs && j->regs < f->regs ? j->regs : f->regs;

	fprintf(stderr, "ptxas info    : Compiling entry function '%s' for 'sm_%u%.1s'\n"
		"ptxas info    : Function properties for %s\n"
		"    %u bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
		"ptxas info    : Used %u registers", f->name, j->cc, &j->suffix, f->name, f->local_bytes, regs);
	if (f->shared_static)
		fprintf(stderr, ", %u bytes smem", f->shared_static);
	fprintf(stderr, ", %u bytes cmem[0]\nptxas info    : Compile time = %.3f ms\n", f->param_bytes, ms);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/*
 * What the file is to say of variables: their values as the engine has them. An address among these is 0, as where a loader is
 * yet to fill it in: it is this process's.
 */
static int variables(struct job *j, const struct local *l, uint32_t module)
{
	struct engine_symbol s;
	uint32_t n = 0;
	uint64_t bytes = 0, word;

	while (engine_cpu.module_symbol(l->e, module, n, &s) == VGPU_ST_OK) {
		n++;
		if (s.bytes <= MOST_VALUES)
			bytes += (s.bytes + 7) & ~7ull;
	}
	j->vars = calloc(n + 1, sizeof(*j->vars));
	j->values = calloc(1, bytes + 1);
	if (!j->vars || !j->values)
		return tool_fatal(&j->tool, "No memory for the variables");
	bytes = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct vgpu_cubin_var *v = &j->vars[j->nvars];
		char *value = j->values + bytes;
		int some = 0;

		engine_cpu.module_symbol(l->e, module, i, &s);
		if (s.kind == ENGINE_SYM_FUNC || !s.address || s.bytes > MOST_VALUES)
			continue;
		*v = (struct vgpu_cubin_var){ .name = strdup(s.name), .bytes = s.bytes };
		if (!v->name)
			return tool_fatal(&j->tool, "No memory for the variables");
		j->nvars++;
		memcpy(value, (const void *)(uintptr_t)s.address, s.bytes);
		for (uint64_t k = 0; k + 8 <= s.bytes; k += 8) {
			memcpy(&word, value + k, 8);
			if (local_owns(word))
				memset(value + k, 0, 8);
			some |= word != 0;
		}
		for (uint64_t k = s.bytes & ~7ull; k < s.bytes; k++)
			some |= value[k];
		if (some) {
			v->init = value;
			bytes += (s.bytes + 7) & ~7ull;
		} else {
			memset(value, 0, s.bytes);
		}
	}
	return 0;
}

/* Every kernel as a first launch would have it; with -c only the text, whose names may be in other files. */
static void compile(struct job *j, struct local *l, const char *file, const char *ptx, size_t bytes)
{
	char log[2048] = "";
	struct engine_func_info f;
	struct engine_symbol s;
	uint32_t module, st = engine_cpu.module_load(l->e, ptx, bytes, &module, log, sizeof(log));
	int found = 0;

	if (st) {
		error(j, file, log[0] ? log : vgpu_status_text(st), NULL);
		return;
	}
	if (j->verbose)
		fprintf(stderr, "ptxas info    : %llu bytes gmem\n", (unsigned long long)engine_cpu.module_bytes(l->e, module));
	for (uint32_t i = 0; !j->only && engine_cpu.module_symbol(l->e, module, i, &s) == VGPU_ST_OK; i++) {
		double t0 = now_ms();

		if (s.kind != ENGINE_SYM_FUNC || (j->entry && strcmp(j->entry, s.name)))
			continue;
		found = 1;
		st = engine_cpu.func_info(l->e, s.id, &f, log, sizeof(log));
		if (st)
			error(j, file, log[0] ? log : vgpu_status_text(st), s.name);
		else if (j->verbose)
			tell(j, &f, now_ms() - t0);
	}
	if (j->entry && !found && !j->only) {
		tool_fatal(&j->tool, "Entry function '%s' not found in %s", j->entry, file);
		j->errors++;
	}
	if (!j->errors && variables(j, l, module))
		j->errors++;
	engine_cpu.module_unload(l->e, module);
}

/*
 * Architectures from before the device's that others' compilers still ask for: gcc's assembler for nvptx has all that it writes looked at by whatever ptxas there
 * is, for sm_30 and sm_35 (GCC, Nvidia PTX options). They are compiled for the device's first.
 */
static int is_older(unsigned cc)
{
	static const unsigned char older[] = { 30, 32, 35, 37, 50, 52, 53 };

	return cc < 256 && memchr(older, (int)cc, sizeof(older));
}

/* sm_80, compute_80, sm_90a */
static int arch_of(struct job *j, const char *text, size_t bytes)
{
	char suffix, *rest;
	unsigned target = vgpu_cubin_target(text, bytes, &suffix);

	if (!j->arch) {
		j->cc = target;
		j->suffix = suffix;
	} else {
		const char *p = !strncmp(j->arch, "sm_", 3) ? j->arch + 3 : !strncmp(j->arch, "compute_", 8) ? j->arch + 8 : "";

		j->cc = (unsigned)strtoul(p, &rest, 10);
		j->suffix = *rest;
		if (rest == p || (*rest && (rest[1] || !strchr("af", *rest))))
			j->cc = 0;
	}
	if (!j->cc || (!cc_is_known(j->cc) && !is_older(j->cc)))
		return tool_fatal(&j->tool, "Value '%s' is not defined for option 'gpu-name'", j->arch ? j->arch : "(none)");
	if (target > j->cc)
		return tool_fatal(&j->tool, "Program with .target 'sm_%u%.1s' cannot be compiled to architecture 'sm_%u%.1s'",
				  target, &suffix, j->cc, &j->suffix);
	return 0;
}

static int assemble(struct job *j, const char *file, char *text, size_t bytes)
{
	struct vgpu_cubin c;
	struct local l;
	int err = arch_of(j, text, bytes);

	if (err)
		return err;
	if (local_open(&l, ENGINE_MODE_AUTO, 1, cc_for(j->cc)))
		return TOOL_FATAL;
	compile(j, &l, file, text, bytes);
	local_close(&l);
	if (j->errors)
		return tool_fatal(&j->tool, "Ptx assembly aborted due to errors");
	c = (struct vgpu_cubin){ .vars = j->vars, .nvars = j->nvars, .target = j->cc, .suffix = j->suffix, .maxrregcount = j->regs, .relocatable = (unsigned)j->only,
				 .name = j->string ? NULL : base(file), .ptx = text, .ptx_bytes = bytes };
	err = tool_write_cubin(&j->tool, j->output ? j->output : j->otherwise, &c);
	for (uint32_t i = 0; i < j->nvars; i++)
		free((char *)(uintptr_t)j->vars[i].name);
	free(j->vars);
	free(j->values);
	return err;
}

int ptxas_linked(const char *program, const char *arch, unsigned regs, int verbose, char *text, size_t bytes, const char *output)
{
	struct job j = { .tool = { .name = program }, .arch = arch, .regs = regs, .verbose = verbose, .output = output, .string = text };

	return assemble(&j, "(linked)", text, bytes);
}

int cmd_ptxas(int argc, char **argv)
{
	struct job j = { .otherwise = "elf.o", .tool = { .name = "ptxas", .options = options, .set = set, .owner = &j } };
	size_t bytes;
	char *text;
	int err = tool_parse(&j.tool, argc, argv);

	if (err)
		return err == TOOL_DONE ? 0 : err;
	if (j.string)
		return assemble(&j, "(string)", (char *)j.string, strlen(j.string));
	if (!j.tool.ninputs)
		return tool_fatal(&j.tool, "No input file specified; use option --help for more information");
	if (j.tool.ninputs > 1)
		return tool_fatal(&j.tool, "More than one input file, and they are not linked here: use nvlink");
	text = tool_read(&j.tool, j.tool.inputs[0], &bytes);
	err = text ? assemble(&j, j.tool.inputs[0], text, strnlen(text, bytes)) : TOOL_FATAL;
	free(text);
	return err;
}
