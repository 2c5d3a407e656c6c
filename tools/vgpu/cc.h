/* SPDX-License-Identifier: MIT */
/* vgpu cc's parts: cc.c is the command, cc_mend.c mends clang's PTX, cc_asm.c statements of assembly. */
#ifndef VGPU_CC_H
#define VGPU_CC_H

/* Rewrites the file; 0, or 1 after saying what was wrong. */
int cc_mend(const char *ptx);

/* Copies preprocessed text, with %NAME in statements of assembly as %%NAME. 1: there were such; 0; or -1 after saying what was wrong. */
int cc_double_percents(const char *from, const char *to);

#endif
