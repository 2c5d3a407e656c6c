/* SPDX-License-Identifier: MIT */
/*
 * What the next block of a grid will read is asked for while this one runs, in the order of addresses.
 *
 * The warps of a block read rows of a matrix in pieces, one warp after the other, several rows in turn. Processors' own prefetchers do not follow
 * that, and memory answers half as fast as to somebody who goes through it line by line, even if each piece is asked for in time (measured
 * on rows of 816 bytes, four a block, of two matrices: 125 ns for a row of both, 60 ns in order). But the next block reads what lies
 * behind. So loads that go on from block to block by the same step within one step of each other are one stream: each that runs asks for as many
 * bytes as it reads itself, from where the last one stopped. What they leave of a step, as scales between the rows' bytes, is asked for when its block
 * begins: the last of it, which is wanted last.
 *
 * A stream whose loads read much less or more than its step in a block is none: there each load asks for its own place one step on.
 *
 * Kept by each thread for the grid that it works on (struct tstate); code finds its loads by number. Nothing here is ever dereferenced.
 */
#ifndef VGPU_CPU_AHEAD_H
#define VGPU_CPU_AHEAD_H

#include <stddef.h>
#include <stdint.h>

#define AHEAD_SITES 96u         /* loads of a function's code that ask; the others do not */
/*
 * Code that is on trial beside other code of the same function (jit_get.c) has sites of its own: what one of them has learnt would be nonsense to the other,
 * and both without what they ask for may well be equally fast.
 */
#define AHEAD_CODES 3u
#define AHEAD_APART AHEAD_SITES
#define AHEAD_STRIPS (2 * AHEAD_SITES)
#define AHEAD_STREAMS 12u
#define AHEAD_STEP 65536        /* what comes is to have room in the second cache beside what is there */

struct ahead_stream {
	uint64_t cursor, end;   /* asked for up to; in this block no further than */
	uint32_t block;         /* tstate.blocks when it was moved on; ~0: never moves on */
	uint32_t odd;           /* blocks in turn that read much less or more than a step */
	uint64_t at, begin;     /* the first address of the block; where cursor began */
	int64_t step, other;    /* from block to block; another one that was seen last */
	const struct ahead_site *lead;  /* who comes first in a block */
};

struct ahead_site {
	struct ahead_stream *stream;
	uint64_t first;         /* address in the block */
	int64_t far;            /* what it asks for by itself lies so far from what it reads; 0: nothing */
	uint32_t block;         /* tstate.blocks when first was noted */
	uint16_t seen;
	_Bool alone;
};

struct ahead {
	struct ahead_site site[AHEAD_CODES * AHEAD_SITES];
	struct ahead_stream stream[AHEAD_STREAMS];
	struct ahead_stream none, never;        /* of sites that nothing is known of, or that there is nothing to ask for */
	uint64_t grid;          /* 0: none yet */
	uint32_t nstreams, used[AHEAD_CODES];     /* used: sites of such code that know something */
};

struct tstate;
void ahead_begin(struct tstate *ts, uint64_t grid);     /* the thread works on another grid now */

/* For both compilers. Code loses rcx and rdx. */
struct as;
struct rm ahead_field(uint32_t site, size_t field);      /* of a struct ahead_site of the thread that runs code */
struct ahead_code { uint32_t again, late, back, site; int base, disp; uint32_t bytes, all; int last, step; _Bool first; };
/*
 * A load of so many bytes from base + disp on, which asks for `all` where it is one of a stream: loads that follow it, by the same distance each, do
 * not ask themselves; .first: it is wanted in the first cache; .site is set. What it does seldom is put where the caller wants it, by ahead_seldom().
 */
void ahead_often(struct as *a, struct ahead_code *x);
/*
 * The same for all rounds of a loop: how many but one is at rbx + .last, and by .step is such a load further on in each (0: nobody knows). Its base is rax, which
 * code loses, too.
 */
void ahead_rounds(struct as *a, struct ahead_code *x);
void ahead_seldom(struct as *a, const struct ahead_code *x, _Bool odd_stack);  /* odd: 8 bytes off what C's calls want */

#endif
