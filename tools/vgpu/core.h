/* SPDX-License-Identifier: MIT */
/*
 * Device cores as vgpu debug reads them (fw-protocol/vgpu_core.h): from a file, or from a kernel that stands. Whoever wrote one is not
 * trusted: all that is kept points into a copy, within it.
 */
#ifndef VGPU_CORE_READER_H
#define VGPU_CORE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core_reg { const char *name, *type; bool all; const char *values; };     /* values: hexadecimal, blanks between */
struct core_group { uint32_t lanes, line; const char *state, *source, *code; }; /* source NULL: not known */
struct core_frame {
	uint32_t depth, lanes;
	const char *fn;
	uint32_t group, ngroups, reg, nregs;    /* first and how many */
};
struct core_warp { uint32_t index, live, frame, nframes; };
struct core_param { const char *name, *bytes; uint32_t offset; };
struct core_text { const char *fn, *text; uint32_t line; size_t n; };
struct core_load { uint64_t at; const uint8_t *p; size_t n; };

struct core {
	uint8_t *image;
	size_t bytes;
	char *state;
	const char *release, *why, *kernel;
	uint64_t launch, address, shared, shared_bytes, local, local_stride;
	uint32_t grid[3], block[3], at[3], thread[3];
	bool whole;                     /* nothing was left out for want of room */
	bool partly;                    /* compiled code had registers that are not told */
	struct core_warp *warp;
	struct core_frame *frame;
	struct core_group *group;
	struct core_reg *reg;
	struct core_param *param;
	struct core_text text[16];
	struct core_load *load;
	uint32_t nwarps, nframes, ngroups, nregs, nparams, ntexts, nloads;
};

/* NULL, or why it is none. Takes a copy. core_free() in any case. */
const char *core_read(struct core *c, const void *image, size_t bytes);
const char *core_open(struct core *c, const char *path, char *why, size_t room);
void core_free(struct core *c);

/* A thread of the block by its coordinates: its warp and lane; false: the block has none such. */
bool core_thread(const struct core *c, const uint32_t *thread, uint32_t *warp, uint32_t *lane);
void core_coordinates(const struct core *c, uint32_t warp, uint32_t lane, uint32_t *thread);
const struct core_warp *core_warp(const struct core *c, uint32_t index);
/* Where that lane is in a frame; NULL: it is not in it. */
const struct core_group *core_place(const struct core *c, const struct core_frame *f, uint32_t lane);
const struct core_reg *core_reg(const struct core *c, const struct core_frame *f, const char *name);
/* A lane's value; false: the core is broken there. */
bool core_value(const struct core_reg *r, uint32_t lane, uint64_t *v);
/* How many of n bytes at that address are there. */
size_t core_memory(const struct core *c, uint64_t at, void *out, size_t n);

#endif
