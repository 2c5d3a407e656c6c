/* SPDX-License-Identifier: MIT */
/*
 * The table of exported names, and the bodies of those that are not supported. exports.def is the
 * one list; cuda.h is not included here, because every name is taken as an address only.
 */
#include <stdbool.h>

#include "exports.h"

void vg_unsupported_line(const char *what);

#define NOT_SUPPORTED 801u      /* CUDA_ERROR_NOT_SUPPORTED */

/* Arguments are not looked at: in the C calling convention a callee may ignore them. */
#define VG_YES(name, base, version, pt) void name(void);
#define VG_NO(name, base, version, pt) \
	__attribute__((visibility("default"))) unsigned name(void); \
	unsigned name(void) { vg_unsupported_line(#name); return NOT_SUPPORTED; }
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
