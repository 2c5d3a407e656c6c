/* SPDX-License-Identifier: MIT */
/*
 * The bodies of the exported names that are not supported (exports.def). Arguments are not looked at: in the C
 * calling convention a callee may ignore them.
 */
void vg_unsupported_line(const char *what);

#define NOT_SUPPORTED 801u      /* CUDA_ERROR_NOT_SUPPORTED */

#define VG_YES(name, base, version, pt)
#define VG_NO(name, base, version, pt) \
	__attribute__((visibility("default"))) unsigned name(void); \
	unsigned name(void) { vg_unsupported_line(#name); return NOT_SUPPORTED; }
#include "exports.def"
