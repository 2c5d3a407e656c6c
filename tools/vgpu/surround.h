/* SPDX-License-Identifier: MIT */
/*
 * What vgpu run puts around a program, one table: the variable, its value, and for whom it is. vgpu run sets them, vgpu run -v
 * prints them, vgpu env prints them for a shell. What is for one Python package: tools/python/sitecustomize.py.
 */
#ifndef VGPU_SURROUND_H
#define VGPU_SURROUND_H

#define SURROUND_MAX 24
struct surround {
	const char *name;
	char *value;            /* malloc'ed */
	char separator;         /* put in front of what there is; 0: what a user has set already stays */
	const char *whom;
};

/* torch: eager PyTorch by FlagGems. The number of rows, or -1 after a message. */
int surround(struct surround *rows, const char *agent, int verbose, int torch);
/* Puts a row into the environment; 0 or -1. */
int surround_set(const struct surround *row);
/* What it will be: the row's value, joined with what there is. malloc'ed. */
char *surround_value(const struct surround *row);
void surround_free(struct surround *rows, int n);

#endif
