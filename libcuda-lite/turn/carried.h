/* SPDX-License-Identifier: MIT */
/*
 * Is NVIDIA's static cudart inside an object, and where are its entry points? Told from the symbol table that most
 * programs keep, or without one (stripped.c). Pure: it reads the arrays given, calls nothing, allocates nothing. Used by the audit library
 * (audit.c) and by vgpu doctor.
 *
 * libcudart_static.a is one object file: in .text its functions stand one after the other, the public ones under
 * their names, all others as libcudart_static_<hash> (before 12.4: __cudart<number>). Such names are markers: a run of
 * functions that begins and ends with a marker and holds nothing else but markers and public names is cudart, and a
 * function of the user's own that is called cudaSomething is not in it.
 */
#ifndef VGPU_CARRIED_H
#define VGPU_CARRIED_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#define CARRIED_MAX 8192u               /* markers and names; cudart 13.1 has some 4,200 */
#define CARRIED_NAMES (32u << 10)       /* all names of one runtime: 14 KB */
#define CARRIED_LEAST 200u              /* entry points; the smallest that was seen has 381 */
#define CARRIED_OLD 10u

struct carried_fn {
	uint64_t addr, size;
	uint64_t room;                  /* bytes up to the next function */
	uint32_t name;                  /* in the string table */
	uint8_t marker;                 /* not a public name */
	uint8_t split;                  /* another function stands between this one and the next */
	uint8_t entry;                  /* a public name inside a run */
	uint8_t indirect;               /* GNU_IFUNC */
};

struct carried {
	unsigned n;                     /* of fn, ascending by address */
	unsigned entries;               /* 0: no cudart inside */
	unsigned major;                 /* 11 to 13; CARRIED_OLD: older; 0: cannot be told */
	struct carried_fn fn[CARRIED_MAX];
};

/* Could it be there at all? A look at the string table only. */
int carried_hint(const char *str, size_t bytes);

/* sym and str may be damaged. 0; -1: more functions than CARRIED_MAX. */
int carried_find(struct carried *c, const Elf64_Sym *sym, size_t n, const char *str, size_t str_bytes);

/*
 * The same without a symbol table (stripped.c). names: where the names are put, to which carried_fn.name points then. All or nothing:
 * 0, or -1 where there is none, or none that is surely known.
 */
struct carried_image {
	const uint8_t *file;
	uint64_t bytes;
	const Elf64_Phdr *ph;
	unsigned nph;
};
int carried_stripped(struct carried *c, const struct carried_image *im, char *names, size_t room);

/* Could it be there? By n dynamic symbols, of which the undefined ones count; str ends with a 0. */
int carried_imports(const Elf64_Sym *sym, size_t n, const char *str, size_t bytes);

/* Sets the major by the names of the entries. */
void carried_tell(struct carried *c, const char *str, size_t bytes);

/* The function that begins at addr, or NULL. */
const struct carried_fn *carried_at(const struct carried *c, uint64_t addr);

#endif
