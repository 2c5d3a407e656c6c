/* SPDX-License-Identifier: MIT */
/* From a command line to the file that will run, as execvp and the kernel find it: for vgpu run and vgpu doctor. */
#ifndef VGPU_COMMAND_H
#define VGPU_COMMAND_H

#include <stddef.h>

/* The file of cmd by PATH of env, into out of PATH_MAX bytes; -1: not there, or not a program. */
int command_find(char *const *env, const char *cmd, char *out);
/*
 * "#!/usr/bin/env -S node ..." and "#!/bin/sh -e": the word that names the interpreter of the script at path; 0 where it
 * is no script. The word may be empty.
 */
int command_script(const char *path, char *word, size_t bytes);

#endif
