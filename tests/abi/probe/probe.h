/* SPDX-License-Identifier: MIT */
/*
 * What the probes of tests/abi/probe share. A probe calls a library's functions one after another and writes a line for each:
 *
 *   [group] tag: call as written -> NAME_OF_RESULT values
 *
 * The lines are the same wherever the same library runs: no addresses, no times, relations between values instead. A value that
 * depends on the card begins with ~ and compare.py leaves it out.
 *
 * Groups run in children, each from a fresh fork. A call that kills its child or does not come back is noted as "signal N" or
 * "exit N", and the group runs again without it, so that a crash costs one line.
 */
#ifndef ABI_PROBE_H
#define ABI_PROBE_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct group {
	const char *name;
	void (*run)(void);
};

#ifdef __cplusplus
extern "C" {
#endif
extern const struct group groups[];             /* ends with a null; each probe has its own */
extern const char *result_name(int result);     /* NULL: it has none */
extern int in_start;                            /* the library starts: a call may take long */

int go(const char *call);                       /* begins the line; 0: this call is not made */
void came(int result);
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void tag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *range(int v);                       /* negative, zero, positive */

#ifdef __cplusplus
}
#endif

/* A call and its result; RV also says values after a success */
#define R(call) do { if (go(#call)) { int r_ = (int)(call); came(r_); say("\n"); } } while (0)
#define RV(call, ...) \
	do { \
		if (go(#call)) { \
			int r_ = (int)(call); \
			came(r_); \
			if (!r_) \
				say(" " __VA_ARGS__); \
			say("\n"); \
		} \
	} while (0)
/* A call made by name, for what older or newer libraries lack: type of its arguments, then these */
#define D(name, types, args) \
	do { \
		if (go(#name #args)) { \
			union { void *p; int (*f) types; } u_; \
			u_.p = dlsym(RTLD_DEFAULT, #name); \
			if (u_.p) \
				came(u_.f args); \
			else \
				say("absent"); \
			say("\n"); \
		} \
	} while (0)
/* No call, but a fact */
#define SAY(...) do { if (go("fact")) { say(__VA_ARGS__); say("\n"); } } while (0)
#define NEL(a) (sizeof(a) / sizeof *(a))

#endif
