/* SPDX-License-Identifier: MIT */
/* The linker, between its files. */
#ifndef VGPU_LINK_OWN_H
#define VGPU_LINK_OWN_H

#include "ptxlink.h"

enum item_kind { ITEM_VAR, ITEM_FUNC, ITEM_OTHER, ITEM_ALIAS };
enum item_link { ITEM_LOCAL, ITEM_EXTERN, ITEM_WEAK, ITEM_COMMON, ITEM_VISIBLE };

struct slice {
	const char *p;
	size_t n;
};

struct item {                           /* one declaration or definition at module level */
	struct slice head, text;        /* a variable's head is what stands before its name; else empty */
	struct slice name;
	uint8_t kind, link;
	uint8_t defines;                /* a body, or a variable that is not .extern */
	uint8_t shared;                 /* .extern .shared: the launch's */
	uint8_t dropped;
	uint64_t elements;              /* product of a variable's dimensions */
};

struct entry {                          /* of a table by name */
	struct slice name;
	void *value;
};
struct table {
	struct entry *at;
	size_t used, room;
};
void **table_put(struct table *t, struct slice name);   /* where its value is, NULL when new; NULL: no memory */
void *table_get(const struct table *t, struct slice name);

struct file {
	struct file *next;
	char *text;
	size_t bytes;
	char *name;
	int lazy;                       /* of an archive, and not needed yet */
	struct item *items;
	size_t nitems, room;
	unsigned version, target;       /* 87 is 8.7: 9.10 would be 910; 80 is sm_80 */
	char suffix;
	struct table renamed;           /* names of its own that others have: value is the new one */
};

struct ptxlink {
	struct file *files, **tail;
	unsigned target, nfiles;
	char *log, *out;
	size_t log_used, log_room, out_used, out_room;
	int no_memory;
	struct table defined;           /* struct def */
	struct table missing;           /* names that are used and defined nowhere */
};

/* text.c */
int file_scan(struct ptxlink *l, struct file *f);
/* The next token from p on: where it begins, *n its length; NULL at the end. Comments and blanks are passed over. */
const char *next_token(const char *p, const char *end, size_t *n);
int is_name(struct slice s);

/* ptxlink.c */
void link_say(struct ptxlink *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Takes over text, which is malloc'ed with a NUL behind it. */
int add_text(struct ptxlink *l, char *text, size_t bytes, const char *name, int lazy);

/* devrt.c: a text that comes in when it is needed, before archives */
extern const char link_devrt[];

/* unpack.c */
/* PTX of a fatbin for the linker's target, malloc'ed. */
int fatbin_ptx(struct ptxlink *l, const uint8_t *p, size_t bytes, const char *name, int lazy);
/* One raw LZ4 block: exactly `to_bytes`, or -1. */
int lz4_block(const uint8_t *from, size_t from_bytes, uint8_t *to, size_t to_bytes);
/* One zstd frame, as above. */
int zstd_frame(const uint8_t *from, size_t from_bytes, uint8_t *to, size_t to_bytes);

#endif
