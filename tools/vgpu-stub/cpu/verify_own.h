/* SPDX-License-Identifier: MIT */
/* What verify.c (the two runs) and verify_report.c (comparison, and what is said of it) share. */
#ifndef VGPU_CPU_VERIFY_OWN_H
#define VGPU_CPU_VERIFY_OWN_H

#include "rt.h"
#include "verify.h"

#define PAGE 4096u
#define PAGES_MOST (1u << 17)   /* that a launch may write to and be compared: half a gigabyte, and as much again to watch it */
#define WRITERS_MOST (1u << 22)
#define RECENT 256u
#define SPARE_MOST 4096u        /* pages of notes kept for the next launch */
#define SHOWN 32                /* reports of a context in full */
#define BUDGET (1 << 22)        /* of a block's turn: hardly any is interrupted, so both runs have one order */

/* One page that was written to. */
struct vpage {
	u64 at;
	struct vpage *next;     /* of the spare ones */
	u64 bits[PAGE / 64];    /* bytes that the first run wrote */
	u32 by[PAGE / 4];       /* by which instruction last: index of its writer << 5 | lane, 0: unknown */
	u8 was[PAGE];           /* before the first run; then what it wrote, and the rest as it was */
};

struct vwriter { const struct func *fn; const struct insn *in; u64 block; u32 warp; };
struct vrange { u64 at, bytes; bool window; };
struct vtext { char *s; size_t n, cap; };

enum { IDLE, REAL, TRIAL };

struct verify {
	struct grid *g;         /* that is watched */
	struct tstate *ts;
	int stage;
	bool overflow;          /* too much is written for a comparison */
	struct vpage **tab, *last, *spare;      /* by address, open addressing */
	u32 cap, n, nspare;
	struct vwriter *writers;
	u32 nwriters, writers_cap, recent[RECENT];
	struct vrange *r;
	u32 nr, rcap, shown;
	struct vtext text;      /* what is said of this launch, and what it printed */
	char fault[400];        /* of the trial */
	struct verify_counts own, *counts;
};

/* verify.c */
bool vf_is_device(const struct verify *v, u64 at);
void vf_count(uint64_t *what);

/* verify_report.c; pages by address, of all that the first run wrote to */
struct vpage **vf_sorted_pages(struct verify *v);
void vf_compare(struct verify *v, struct grid *g, const char *unended);
void vf_not_comparable(struct verify *v, struct func *fn, const char *why);
void vf_print_all(struct engine *e, struct vtext *t);

#endif
