/* SPDX-License-Identifier: MIT */
/* Registered memory that other processes see as well (lent.c). */
#ifndef VG_LENT_H
#define VG_LENT_H

#include "adopt.h"

struct vg_lent {
	uint64_t dev, inode, offset;    /* of its file, and where in it */
	uint64_t delta;                 /* window address - the program's */
};

/* Whole pages of MAP_SHARED memory: VG_ADOPT_SHARED: its file cannot be had, or is none of memory; else as vg_adopt(). */
enum vg_adopt_result vg_lend(uint64_t lo, uint64_t hi, bool read_only, struct vg_lent *out);
/* Is the same file mapped there? */
bool vg_lent_still(uint64_t lo, uint64_t hi, const struct vg_lent *l);

/* window.c: the place of so many bytes of that file which the device has already */
bool vg_window_lent(const struct vg_lent *l, uint64_t bytes, uint64_t *at);
/* ... and to let it have them. fd stays the caller's. A status; NOT_SUPPORTED: no file of memory, or not to be written */
uint32_t vg_window_lend(int fd, const struct vg_lent *l, uint64_t bytes, uint64_t *at);

#endif
