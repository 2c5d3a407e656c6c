/* SPDX-License-Identifier: MIT */
/*
 * What vgpu run puts around a program, one table: the variable, its value, and for whom it is. vgpu run sets them, vgpu run -v
 * prints them, vgpu env prints them for a shell.
 */
#ifndef VGPU_SURROUND_H
#define VGPU_SURROUND_H

#define SURROUND_MAX 24
/* in site-packages: a TensorFlow, of which there are wheels with and without CUDA under this name */
#define TENSORFLOW "tensorflow/libtensorflow_cc.so.2"

struct surround {
	const char *name;
	char *value;            /* malloc'ed */
	char separator;         /* put in front of what there is; 0: what a user has set already stays */
	const char *whom;
};

/*
 * cmd: the command, for what depends on the Python packages that it would import; NULL: a shell, which may start any.
 * torch: eager PyTorch by FlagGems. The number of rows, or -1 after a message.
 */
int surround(struct surround *rows, char **cmd, const char *agent, int verbose, int torch);
/* Puts a row into the environment; 0 or -1. */
int surround_set(const struct surround *row);
/* What it will be: the row's value, joined with what there is. malloc'ed. */
char *surround_value(const struct surround *row);
/* The file of the first match of a pattern below the site-packages of the Python that cmd runs; 0: there is one. found: PATH_MAX bytes, or NULL */
int surround_in_site(char **cmd, const char *pattern, char *found);
void surround_free(struct surround *rows, int n);

#endif
