/* SPDX-License-Identifier: MIT */
/* vgpu debug between its files: debug.c has the program and the box, debug_cmd.c the prompt, debug_show.c what is shown. */
#ifndef VGPU_DEBUG_H
#define VGPU_DEBUG_H

#include <stdio.h>
#include <sys/types.h>

#include "../vgpu-stub/debug_box.h"
#include "core.h"

struct session {
	struct dbg_box *box;            /* NULL: a core file is looked at */
	char box_path[128];
	char **run;                     /* arguments of vgpu run, NULL at the end */
	pid_t pid;                      /* 0: the program does not run */
	int status;                     /* its exit status, once it ended; -1: it never did */
	bool batch;                     /* commands come from -x and -e alone: standard input is the program's */
	bool stopped;                   /* a kernel stands, core is what it looks like; or a core file */
	struct core core;
	uint32_t warp, lane, frame;     /* the thread and the activation that commands are about */
	uint32_t next_id;
};

/* debug.c. What runs the program waits until it stops or ends. */
int debug_run(struct session *s);
void debug_go(struct session *s, uint32_t request, uint64_t times);
void debug_kill(struct session *s);
size_t debug_memory(struct session *s, uint64_t at, void *out, size_t n);
void debug_changed(struct session *s);

/* debug_cmd.c: one line; 0, 1: it could not be done (said on stderr), -1: quit. */
int debug_command(struct session *s, char *line);

/* debug_show.c */
const struct core_frame *show_frame(const struct session *s);   /* the focus; NULL, and said: there is none */
void show_stop(struct session *s);
void show_place(const struct session *s);
void show_backtrace(const struct session *s);
void show_threads(const struct session *s);
void show_registers(const struct session *s, const char *pattern);
void show_lanes(const struct session *s, const struct core_reg *r, char format);
void show_value(const char *type, uint64_t v, char format);
void show_kernel(const struct session *s);
void show_params(const struct session *s);
int show_list(const struct session *s, unsigned around);
int show_memory(struct session *s, uint64_t at, unsigned count, unsigned size, char format);

#endif
