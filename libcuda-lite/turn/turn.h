/* SPDX-License-Identifier: MIT */
/*
 * The audit library, between its files. It lives in a link-map namespace of its own without a libc: raw system calls only,
 * no allocation but its own arrays, no TLS.
 */
#ifndef VGPU_TURN_H
#define VGPU_TURN_H

#include <link.h>
#include <stddef.h>
#include <stdint.h>

#define TURN_SLOTS 2048u                /* names of all majors together; some 1,300 are known */

/* ---- system.c ---- */
/* gcc makes calls of these four out of plain code, and there is no libc here. */
void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
long sys_call(long number, long a, long b, long c, long d, long e, long f);
int turn_is_error(long r);              /* of sys_call */
size_t turn_len(const char *s);
int turn_same(const char *a, const char *b);
/* One line on stderr, "vgpu: " and the parts up to NULL. */
void turn_say(const char *part, ...);
/* Path of the file that is mapped at `at`, "" where that cannot be told. */
void turn_file_of(const void *at, char *to, size_t bytes);
/* VGPU_TURN of the environment: '0' leave all as it is, '1' say what is turned over, 0 not set. */
char turn_setting(void);

/* ---- resolve.c ---- */
extern void *turn_slots[TURN_SLOTS];    /* where stub i jumps to */
/* Whose libcudart serves a runtime of that major: 12's has the calls of 11 that differ, as __cuda11_NAME. */
static inline unsigned turn_library(unsigned major)
{
	return major == 13 ? 13 : 12;
}

/* The stub for a name of a runtime of that major, which loads our library when it is first called; NULL: no slot is left. */
void *turn_stub(unsigned major, const char *name);
/* Called by stub i: where the call goes, or an error number below 4096. */
uintptr_t turn_resolve(uintptr_t i);
/* What a loaded object defines under a name, newest version or not: the callers here want any. NULL: nothing. */
const ElfW(Sym) *turn_symbol(const struct link_map *map, const char *name);
/* Objects of the base namespace that have dlmopen and dlsym. */
void turn_note(const struct link_map *map);

/* ---- object.c ---- */
/* Looks into an object that has just been mapped, and turns its cudart over if there is one. */
void turn_object(const struct link_map *map);

/* ---- own.c ---- */
/* A library's own variables that have names of the driver's or the runtime's stay its own. */
void own_names(const struct link_map *map);

/* ---- place.c ---- */
/* Has an object been mapped that stands in front of one of NVIDIA's? Then it is told where that is. */
void place_opened(const struct link_map *map);
/* What the loader shall open for `name`, which map asks for: name, or one of ours. */
char *place_instead(const char *name, const struct link_map *asks, unsigned flag);

#endif
