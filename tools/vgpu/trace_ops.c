/* SPDX-License-Identifier: MIT */
/*
 * vgpu trace --ops -- CMD: what one warp of a kernel executes, instruction by instruction.
 *
 * A private device whose engine is told by VGPU_ENGINE=ops and VGPU_OPS which warp to show (vgpu-stub/cpu/optrace.c); what it
 * shows comes the way of device printf, on CMD's standard output, each line with a | before it.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <stdlib.h>
#include <string.h>

static int usage(FILE *to)
{
	fputs("usage: vgpu trace --ops [-k KERNEL] [-b X[,Y[,Z]]] [-w WARP] [-l LAUNCH] [-n COUNT] [run options] [--] CMD [ARG...]\n"
	      "  Runs CMD on a private device and shows what one warp of its kernels executes: PTX line, lanes, instruction,\n"
	      "  result in the lowest lane and whether others have another. On standard output, behind a '|'.\n"
	      "  -k KERNEL  only these: a name with * and ?\n"
	      "  -b X,Y,Z   the block, 0,0,0 by default\n"
	      "  -w WARP    its warp, 0 by default\n"
	      "  -l LAUNCH  only this launch of them, from 1; all by default\n"
	      "  -n COUNT   instructions in all, 1000 by default, a million at most\n"
	      "  Exit status: as vgpu run's.\n", to);
	return to == stderr ? 125 : 0;
}

/* A number from 0 to limit, up to a comma or the end; NULL: it is none. */
static const char *number(const char *s, unsigned long limit, unsigned *out)
{
	unsigned long v;
	char *end;

	if (*s < '0' || *s > '9')
		return NULL;
	v = strtoul(s, &end, 10);
	if (v > limit || (*end && *end != ','))
		return NULL;
	*out = (unsigned)v;
	return end;
}

static int whole(const char *s, unsigned long limit, unsigned *out)
{
	const char *end = number(s, limit, out);

	return end && !*end ? 0 : -1;
}

static int block(const char *s, unsigned *out)
{
	out[0] = out[1] = out[2] = 0;
	for (int i = 0; i < 3; i++) {
		s = number(s, 0x7fffffff, &out[i]);
		if (!s)
			return -1;
		if (!*s)
			return 0;
		s++;
	}
	return -1;
}

/* argv[0] is "trace", argv[1] "--ops". */
int trace_ops(int argc, char **argv)
{
	static char own[] = "--private";
	unsigned at[3] = { 0 }, warp = 0, launch = 0, count = 1000;
	const char *kernel = "";
	char *spec;
	int i, bad = 0;

	for (i = 2; i + 1 < argc && argv[i][0] == '-' && argv[i][1] && !argv[i][2] && strchr("kbwln", argv[i][1]); i += 2) {
		const char *v = argv[i + 1];

		switch (argv[i][1]) {
		case 'k': kernel = v; bad = strchr(v, ';') || strlen(v) > 200; break;
		case 'b': bad = block(v, at); break;
		case 'w': bad = whole(v, 31, &warp); break;
		case 'l': bad = whole(v, 0xffffffff, &launch); break;
		case 'n': bad = whole(v, 1000000, &count); break;
		}
		if (bad) {
			complain("trace: %s %s is none", argv[i], v);
			return 125;
		}
	}
	if (i >= argc)
		return usage(stderr);
	if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help"))
		return usage(stdout);
	if (asprintf(&spec, "kernel=%s;block=%u,%u,%u;warp=%u;launch=%u;count=%u", kernel, at[0], at[1], at[2], warp, launch, count) < 0)
		return 125;
	if (setenv("VGPU_ENGINE", "ops", 1) || setenv("VGPU_OPS", spec, 1))
		return 125;
	free(spec);
	/* there is room for it: --ops stood here */
	argv[i - 1] = own;
	argv[i - 2] = argv[0];
	return cmd_run(argc - i + 2, argv + i - 2);
}
