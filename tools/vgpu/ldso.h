/* SPDX-License-Identifier: MIT */
/*
 * Which file the dynamic loader takes for each library of a program, and which rule made it so. The
 * order of ld.so(8): what is loaded already (LD_PRELOAD first) by name, RPATH up the chain of loaders, LD_LIBRARY_PATH,
 * RUNPATH, ld.so.cache, default folders. Used by vgpu doctor, which also asks the loader itself where
 * that is safe (ldso_ask).
 */
#ifndef VGPU_LDSO_H
#define VGPU_LDSO_H

#include "elf.h"

enum how { BY_MAIN, BY_PRELOAD, BY_PATH, BY_RPATH, BY_LD_LIBRARY_PATH, BY_RUNPATH, BY_CACHE, BY_DEFAULT,
	   BY_LOADER, BY_NOTHING };

#define LDSO_MAX_OBJECTS 400u

struct object {
	char *name;                     /* as asked for */
	char *path;                     /* NULL: not found */
	unsigned by;                    /* index of the object that asked */
	enum how how;
	char *detail;                   /* the folder as written, e.g. "$ORIGIN" */
	unsigned detail_owner;          /* whose RPATH or RUNPATH */
	int dlopened;                   /* not NEEDED: the program names it itself */
	struct elf elf;                 /* of path; bits 0 when not found or not readable */
};
struct closure {
	char *const *env;               /* of the program */
	struct object o[LDSO_MAX_OBJECTS];
	unsigned n;
};

const char *env_get(char *const *env, const char *name);

/* Main object, preloads and all that they need. Never fails: what is not found has path NULL. */
struct closure *ldso_load(const char *main_path, char *const *env);
/* What dlopen(name) by object `by` would bring; its index, or -1 when the closure is full. */
int ldso_dlopen(struct closure *c, const char *name, unsigned by);
void ldso_free(struct closure *c);
const struct object *ldso_find(const struct closure *c, const char *name);
/* The same file: device and inode. */
int same_file(const char *a, const char *b);
const char *how_text(const struct closure *c, const struct object *o, char *buf, size_t bytes);

/*
 * Asks the system's loader (--list: maps, runs nothing) and puts its answer where ours differs; how many
 * differed, or -1 when it was not asked.
 */
int ldso_ask(struct closure *c);

#endif
