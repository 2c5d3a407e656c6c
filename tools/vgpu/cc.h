/* SPDX-License-Identifier: MIT */
/* vgpu cc's parts: cc.c is the command, cc_mend.c mends clang's PTX. */
#ifndef VGPU_CC_H
#define VGPU_CC_H

/* Rewrites the file; 0, or 1 after saying what was wrong. */
int cc_mend(const char *ptx);

#endif
