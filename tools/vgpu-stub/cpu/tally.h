/* SPDX-License-Identifier: MIT */
/*
 * Sums that each worker keeps to itself while it runs blocks of a grid (tally.c), and which of a kernel's may be kept (roots.c).
 */
#ifndef VGPU_CPU_TALLY_H
#define VGPU_CPU_TALLY_H

#include <stdbool.h>
#include <stdint.h>

struct comp;
struct engine;
struct grid;
struct tstate;
struct turn;

#define TALLY_BYTES (256u << 10)        /* the largest allocation whose sums are kept: two of them fit into a core's second cache */
#define TALLY_REDS 4u
#define TALLY_OTHERS 24u

/* Of a kernel, as roots.c finds it: offsets of the parameters from which pointers come. */
struct tally_plan {
	uint8_t op, type, size;         /* of the reductions that may be kept: ATOM_*, enum type, bytes */
	uint8_t nreds, nothers;         /* nreds 0: there are none */
	uint16_t red[TALLY_REDS];       /* where they go */
	uint16_t other[TALLY_OTHERS];   /* where all other accesses of global memory go */
};

/* Of a thread that runs blocks. Compiled code looks at the first three. */
struct tally {
	uint64_t bytes, lo;             /* of the memory whose sums it keeps; bytes 0: of none */
	uint64_t delta;                 /* from a word there to the one that stands for it here */
	struct grid *g;                 /* whose sums; it is among the grid's keepers. Both are written with the engine's lock */
	const struct tally_plan *plan;  /* which */
	char *mem;                      /* TALLY_BYTES and a line; all 0 while nothing is kept */
};

/* cfg.c, before values of the grid move to its prologue: fills in fn->tally and marks the reductions (sub2 of K_ATOM). */
void tally_find(struct comp *c);
void roots_find(struct comp *c);
void halves_up(struct comp *c);
void strides_find(struct comp *c);
#define ATOM_KEPT 1

/* The dispatcher has completed g. Does it keep sums, and of what? */
void tally_grid(struct engine *e, struct grid *g);
/* A turn begins, with the lock held; between that and its first block, without: tally_open(). */
void tally_turn(const struct turn *t);
void tally_open(struct tstate *ts);
/* With the lock held, which is given away meanwhile: what is kept goes where it belongs. The grid, which may have ended by that. */
struct grid *tally_close(struct engine *e, struct tstate *ts);
/* The thread ends. */
void tally_drop(struct tstate *ts);

#endif
