/* SPDX-License-Identifier: MIT */
/*
 * The op table as a table to read: what vgpu check --ops prints.
 */
#ifndef VGPU_OPS_DOC_H
#define VGPU_OPS_DOC_H

#include <stdio.h>

/* Markdown, a line an instruction: name, types, modifiers. */
void ops_print(FILE *out);

#endif
