/* SPDX-License-Identifier: MIT */
/*
 * vgpu nvlink, also found as lib/vgpu/bin/nvlink: takes the place of NVIDIA's linker behind clang -fopenmp-targets, nvcc -rdc and
 * others, where the assembler was ours as well. What it reads is our ptxas's (vgpu_cubin.h), or PTX in another form; the
 * linker itself is libcuda-lite/link. The whole is then compiled as by ptxas: an error here, not at the first launch.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../libcuda-lite/link/ptxlink.h"
#include "cudatool.h"
#include "vgpu.h"

#define MAX_PATHS 256u

enum { HELP = 1, VERSION, ARCH, OUTPUT, VERBOSE, REGS, FOLDER, LIBRARY, MACHINE, EMIT };

static const struct tool_option options[] = {
	{ "help", "h", 0, HELP }, { "version", "V", 0, VERSION }, { "arch", "arch", 1, ARCH }, { "output-file", "o", 1, OUTPUT },
	{ "verbose", "v", 0, VERBOSE }, { "maxrregcount", "maxrregcount", 1, REGS }, { "library-path", "L", 1, FOLDER },
	{ "library", "l", 1, LIBRARY }, { "machine", "m", 1, MACHINE }, { "emit-ptx", "emit-ptx", 0, EMIT },
	/* about machine code, the host's side, or what is said */
	{ "debug", "g", 0, 0 }, { "cpu-arch", "cpu-arch", 1, 0 }, { "disable-infos", "disable-infos", 0, 0 }, { "disable-warnings", "w", 0, 0 },
	{ "extra-warnings", "extrawarn", 0, 0 }, { "ignore-host-info", "ignore-host-info", 0, 0 }, { "use-host-info", "use-host-info", 0, 0 },
	{ "keep-system-libraries", "keep-system-libraries", 0, 0 }, { "kernels-used", "kernels-used", 1, 0 },
	{ "variables-used", "variables-used", 1, 0 }, { "Xptxas", "Xptxas", 1, 0 }, { "Xnvvm", "Xnvvm", 1, 0 }, { "nvvmpath", "nvvmpath", 1, 0 },
	{ "preserve-relocs", "preserve-relocs", 0, 0 }, { "split-compile", "split-compile", 1, 0 },
	{ "split-compile-extended", "split-compile-extended", 1, 0 }, { "suppress-arch-warning", "suppress-arch-warning", 0, 0 },
	{ "suppress-debug-info", "suppress-debug-info", 0, 0 }, { "suppress-stack-size-warning", "suppress-stack-size-warning", 0, 0 },
	{ "warning-as-error", "Werror", 0, 0 }, { "Ofast-compile", "Ofc", 1, 0 }, { "device-stack-protector", "device-stack-protector", 0, 0 },
	{ NULL, NULL, 0, 0 },
};

struct job {
	struct tool tool;
	const char *arch, *output;
	const char *folder[MAX_PATHS], *library[MAX_PATHS];
	unsigned nfolders, nlibraries, regs;
	int verbose, text;
};

static int listed(struct job *j, const char **list, unsigned *n, const char *value)
{
	if (*n == MAX_PATHS)
		return tool_fatal(&j->tool, "More than %u libraries or folders of them", MAX_PATHS);
	list[(*n)++] = value;
	return 0;
}

static int set(void *owner, int id, const char *value)
{
	struct job *j = owner;

	switch (id) {
	case HELP:
		puts("usage: nvlink [options] FILE...\n"
		     "  Links what ptxas -c of vgpu wrote, fatbins, objects and archives of it; nvlink's own options.\n"
		     "  -arch sm_XX  -o FILE  -L FOLDER  -l LIBRARY  -v  -maxrregcount N  -emit-ptx  --version");
		return TOOL_DONE;
	case VERSION:
		tool_version(&j->tool, "Cuda linker", NULL);
		return TOOL_DONE;
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
	case FOLDER:
		return listed(j, j->folder, &j->nfolders, value);
	case LIBRARY:
		return listed(j, j->library, &j->nlibraries, value);
	case EMIT:
		j->text = 1;
		break;
	case MACHINE:
		if (strcmp(value, "64"))
			return tool_fatal(&j->tool, "Value '%s' is not defined for option 'machine'", value);
	}
	return 0;
}

/* A library that no folder has is left out, as nvlink does: what is missed then is told by name. */
static int library(const struct job *j, struct ptxlink *l, const char *name)
{
	char path[4096];

	for (unsigned i = 0; i < j->nfolders; i++) {
		snprintf(path, sizeof(path), "%s/lib%s.a", j->folder[i], name);
		if (!access(path, R_OK))
			return ptxlink_add_file(l, PTXLINK_LIBRARY, path);
	}
	return 0;
}

static int link_all(const struct job *j, struct ptxlink *l, const char **text, size_t *bytes)
{
	int err = 0;

	for (unsigned i = 0; i < j->tool.ninputs && !err; i++)
		err = ptxlink_add_file(l, PTXLINK_ANY, j->tool.inputs[i]);
	for (unsigned i = 0; i < j->nlibraries && !err; i++)
		err = library(j, l, j->library[i]);
	return err ? err : ptxlink_complete(l, text, bytes);
}

/* The log's lines are nvlink's but for its name. */
static void say(const char *log)
{
	for (size_t n; *log; log += n + (log[n] == '\n')) {
		n = strcspn(log, "\n");
		fprintf(stderr, "nvlink %.*s\n", (int)n, log);
	}
}

int cmd_nvlink(int argc, char **argv)
{
	struct job j = { .tool = { .name = "nvlink", .options = options, .set = set, .owner = &j } };
	int err = tool_parse(&j.tool, argc, argv);
	const char *text = NULL, *number;
	struct ptxlink *l;
	size_t bytes;

	if (err)
		return err == TOOL_DONE ? 0 : err;
	if (!j.tool.ninputs)
		return tool_fatal(&j.tool, "No input files specified; use option --help for more information");
	if (!j.arch)
		return tool_fatal(&j.tool, "Unknown arch name '(null)'");
	if (!j.output)
		return tool_fatal(&j.tool, "Must specify output file with -o option");
	number = j.arch + strcspn(j.arch, "0123456789");
	l = ptxlink_new((unsigned)strtoul(number, NULL, 10));
	err = l ? link_all(&j, l, &text, &bytes) : PTXLINK_NO_MEMORY;
	if (l)
		say(ptxlink_log(l));
	if (err == PTXLINK_NO_MEMORY)
		err = tool_fatal(&j.tool, "No memory");
	else if (err)
		err = TOOL_FATAL;
	else if (j.text)
		err = tool_write(&j.tool, j.output, text, bytes);
	else
		err = ptxas_linked("nvlink", j.arch, j.regs, j.verbose, (char *)(uintptr_t)text, bytes, j.output);
	if (l)
		ptxlink_free(l);
	return err;
}
