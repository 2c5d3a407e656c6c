/* SPDX-License-Identifier: MIT */
/*
 * Which kernels of a file this project's device can run: every .entry of every container is parsed,
 * checked and compiled. Used by vgpu check and, for its figures, by vgpu bench engine --binary.
 */
#ifndef VGPU_TOOL_CHECK_H
#define VGPU_TOOL_CHECK_H

#include "local.h"

struct check_failure {
	struct check_failure *next;
	unsigned container;             /* its number in the file */
	char *kernel, *reason;          /* kernel NULL: the whole container */
};
struct check {
	unsigned containers;            /* with PTX for this device */
	unsigned no_ptx;                /* containers without */
	unsigned bad_containers;
	unsigned entries, failed;
	double *ms;                     /* of each entry that compiled, sorted */
	unsigned nms, room;
	double load_ms, load_max_ms;    /* of containers: decompression and the index, all and the longest */
	double unpack_ms;               /* decompression alone, in all */
	uint64_t text_bytes;            /* of PTX */
	char slowest[512];              /* name of the entry that took longest */
	struct check_failure *failures; /* in the order of the file */
};

/* 0, or -1 after a complaint where the file cannot be read or holds no GPU code. Free it in either case. */
int check_file(struct local *l, const char *path, struct check *out);
void check_free(struct check *c);
/* q in 0..1; NaN when nothing compiled */
double check_quantile(const struct check *c, double q);

#endif
