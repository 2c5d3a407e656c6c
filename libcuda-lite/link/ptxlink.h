/* SPDX-License-Identifier: MIT */
/*
 * The linker of PTX: several texts become one. It stands behind cuLinkCreate, libnvJitLink and vgpu nvlink. Plain C over
 * malloc; nothing of a device is asked.
 *
 * By nvlink's rules: a strong definition wins over .weak and .common, two strong ones of one name are an error where they
 * differ (nvJitLink says so too, and goes on: what it makes of them is chance), of weak ones the first stays, of common ones the largest; a name without linkage is its file's own and gets another where two files have
 * it; a name that is used and nowhere defined is an error, but for those that the device has itself (vprintf, malloc, ...).
 * Members of archives come in as far as they define what is missing. Texts come out in this order: prototypes, variables,
 * functions, aliases; .version and .target are the highest. Line tables (.file, .loc, .section) stay where one text comes
 * alone, which leaves as it came in.
 */
#ifndef VGPU_PTXLINK_H
#define VGPU_PTXLINK_H

#include <stddef.h>
#include <stdint.h>

enum ptxlink_kind { PTXLINK_ANY, PTXLINK_CUBIN, PTXLINK_PTX, PTXLINK_FATBIN, PTXLINK_OBJECT, PTXLINK_LIBRARY };
enum { PTXLINK_OK = 0, PTXLINK_ERROR = -1, PTXLINK_NO_MEMORY = -2, PTXLINK_NO_PTX = -3 };

struct ptxlink;

/* target 80: the device's or what -arch says; fatbins are chosen for it. NULL: no memory. */
struct ptxlink *ptxlink_new(unsigned target);
void ptxlink_free(struct ptxlink *l);
/* Copies what it is given. NO_PTX: machine code, LTO-IR, or code for higher devices only; log names it. */
int ptxlink_add(struct ptxlink *l, enum ptxlink_kind kind, const void *data, size_t bytes, const char *name);
int ptxlink_add_file(struct ptxlink *l, enum ptxlink_kind kind, const char *path);
unsigned ptxlink_count(const struct ptxlink *l);        /* texts, without those of archives */
/* The whole: text with a NUL behind it, which belongs to the linker. */
int ptxlink_complete(struct ptxlink *l, const char **text, size_t *bytes);
/* What went wrong so far, lines of text; never NULL. */
const char *ptxlink_log(const struct ptxlink *l);

#endif
