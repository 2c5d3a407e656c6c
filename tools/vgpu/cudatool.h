/* SPDX-License-Identifier: MIT */
/* What our stand-ins for the toolkit's programs share: options by a table, messages in their form, files. */
#ifndef VGPU_CUDATOOL_H
#define VGPU_CUDATOOL_H

#include <stddef.h>

#define TOOL_DONE (-1)          /* all was said; exit 0 */
#define TOOL_FATAL 255          /* as NVIDIA's */
#define TOOL_MAX_INPUTS 1024

struct vgpu_cubin;

struct tool_option {
	const char *name, *brief;       /* --name, --name=V, --name V, -brief, -brief=V, -brief V, -bV for one letter */
	int value, id;                  /* id 0: taken, and nothing is done */
};

struct tool {
	const char *name;
	const struct tool_option *options;
	int (*set)(void *owner, int id, const char *value);     /* 0 goes on */
	void *owner;
	unsigned ninputs;
	const char *inputs[TOOL_MAX_INPUTS];
};

/* 0, or what set() gave. `-optf FILE` is read in its place. */
int tool_parse(struct tool *t, int argc, char **argv);
/* "NAME fatal   : ..."; TOOL_FATAL. */
int tool_fatal(const struct tool *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A whole file with a NUL behind it, malloc'ed; NULL after a message. */
char *tool_read(const struct tool *t, const char *path, size_t *bytes);
int tool_write(const struct tool *t, const char *path, const void *p, size_t bytes);
int tool_write_cubin(const struct tool *t, const char *path, const struct vgpu_cubin *c);
/* ptxas.c: text that was linked becomes what `output` holds, with messages by that program's name. 0 or TOOL_FATAL. */
int ptxas_linked(const char *program, const char *arch, unsigned regs, int verbose, char *text, size_t bytes, const char *output);
/*
 * --version. The release is NVIDIA's number, by which callers choose what they ask for: `release`, $VGPU_PTXAS_RELEASE, that
 * of the ptxas which the calling Triton carries, or 12.8.
 */
void tool_version(const struct tool *t, const char *what, const char *release);

#endif
