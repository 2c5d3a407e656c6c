/* SPDX-License-Identifier: MIT */
/*
 * The table of exported names. exports.def is the one list; cuda.h is not included here, because every name is
 * taken as an address only. In libcuda.so.1 these are the entry points that the tracer may turn (trace/gen.awk), so
 * this file is linked apart from the bodies.
 */
#include <stdbool.h>

#include "exports.h"

#define VG_YES(name, base, version, pt) void name(void);
#define VG_NO VG_YES
#include "exports.def"
#undef VG_YES
#undef VG_NO

const struct vg_export vg_exports[] = {
#define VG_YES(name, base, version, pt) { #base, #name, version, pt, true, (void *)name },
#define VG_NO(name, base, version, pt) { #base, #name, version, pt, false, (void *)name },
#include "exports.def"
#undef VG_YES
#undef VG_NO
};
const unsigned vg_nexports = sizeof vg_exports / sizeof vg_exports[0];
