/* SPDX-License-Identifier: MIT */
/*
 * What stands behind a command: the programs that a shell's -c, a script, timeout, torchrun or uv run will start, and the Pythons among
 * them, as far as their names are there to be read. A guess: nothing is run, and a name may be one that is only printed.
 */
#ifndef VGPU_BEHIND_H
#define VGPU_BEHIND_H

#include <limits.h>

#define BEHIND_FILES 32
#define BEHIND_PYTHONS 8

struct behind {
	char file[BEHIND_FILES][PATH_MAX];      /* programs and libraries, the command's own not among them */
	char python[BEHIND_PYTHONS][PATH_MAX];  /* the folder of each interpreter, which may be a pattern of glob */
	unsigned files, pythons;
};

void behind_find(struct behind *b, char **cmd, char *const *env);
/* Whether one of the Pythons has a file that matches this below the folders that its packages lie in. */
int behind_package(const struct behind *b, char *const *env, const char *pattern);

#endif
