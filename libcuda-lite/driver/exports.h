/* SPDX-License-Identifier: MIT */
/*
 * Rows of exports.def as data; see there. Sorted by name, so the rows of one base stand together.
 */
#ifndef VG_EXPORTS_H
#define VG_EXPORTS_H

#include <stdbool.h>

struct vg_export {
	const char *base, *name;
	int version;
	bool per_thread, supported;
	void *fn;
};
extern const struct vg_export vg_exports[];
extern const unsigned vg_nexports;

#endif
