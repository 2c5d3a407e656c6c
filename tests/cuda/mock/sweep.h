/* SPDX-License-Identifier: MIT */
/* The sweep's two halves: client.c calls, sweep.c plans, starts clients and judges; images.c is apart. */
#ifndef SWEEP_H
#define SWEEP_H

#include "mock.h"

/* What a client saw. */
struct report {
	CUresult create;                /* of its context */
	CUresult first, last;           /* answers that were not success */
	char where[96];                 /* the first one's call */
	char wrong[160];                /* success that was none */
	uint32_t calls;
	uint32_t slot;                  /* of its context's driver + 1 */
	int gone;                       /* the context is lost: nothing can be given back */
	int again;                      /* the second round, in a context that went on or in a new one, was right: 1 */
	char again_where[96];
	CUresult again_first;
	uint32_t live[2][MOCK_OBJECTS]; /* behind each round */
	int over;
};
extern struct report *report;

CUresult noted(const char *what, CUresult r, const char *wrong);
CUresult load(CUmodule *m);
CUresult launch_endless(CUmodule m, const char *name);
CUresult launch_many(unsigned n);       /* in a row, and their end */
void round_of_calls(void);

/* images.c */
int images(void);

/* sweep.c */
uint32_t looks(void);                   /* cuStreamQuery calls of the client's driver */
void nap(void);

#endif
