/* SPDX-License-Identifier: MIT */
/*
 * Tracing of the public calls of our libraries (vgpu trace). Every exported name is a jump through a table of its
 * library; normally the table leads to the bodies. When VGPU_TRACE is set at load, or vgpu trace -p comes later, the entries
 * that the filter names are turned to wrappers that gen.awk wrote, which report the call. Nothing else changes: not tracing
 * costs that one jump.
 *
 * What is reported goes to where VGPU_TRACE says (trace.c); vgpu trace reads the other end of it.
 */
#ifndef VGPU_TRACE_H
#define VGPU_TRACE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "trace_page.h"

#pragma GCC visibility push(hidden)

/* ---- written by gen.awk for each library ---- */
extern void *vgpu_trace_slots[];                /* read-only but for the moment of turn() */
extern const int32_t vgpu_trace_wrappers[];     /* self-relative; 0: not traced */
extern const int32_t vgpu_trace_bodies[];       /* the same; where slots lead while nobody traces */
extern const char vgpu_trace_descriptions[];    /* one per slot, each ends in NUL */
extern const unsigned vgpu_trace_calls;
extern const char vgpu_trace_enum_names[];
extern const int vgpu_trace_enum_values[];
extern const unsigned short vgpu_trace_enum_from[];
extern const unsigned vgpu_trace_enums;

/* One call in progress, on the caller's stack. */
struct trace_call {
	const char *desc;
	uint64_t start_ns;
	uint32_t depth;                 /* 0: the program's own call */
	struct trace_thread *thread;    /* NULL: nothing to report */
	void *span;                     /* device.c */
};
void trace_enter(struct trace_call *c, const char *desc, const uint64_t *args);
void trace_leave(struct trace_call *c, uint64_t result, const uint64_t *args);
static inline uint64_t trace_bits(float f)
{
	uint32_t b;

	memcpy(&b, &f, 4);
	return b;
}

/* ---- format.c ---- */
struct text {
	char *at, *end;                 /* [at, end): free; what does not fit is left out */
};
void text_add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_string(struct text *t, const char *s, size_t n);      /* as is */
/* In quotes, escaped; more: it went on. */
void text_quoted(struct text *t, const char *s, size_t n, int more);
/* The string at an address of this process that may not be there, and may end at an unmapped page. */
void trace_quoted(struct text *t, uint64_t from);
/* Bytes of this process that may not be there; 0 or -1. */
int trace_read(void *to, uint64_t from, size_t n);
/* Name of an enum's value, with a number where it has none; static or in buf. */
const char *trace_enum(const char *kind, int value, char buf[16]);
/* "name(argument=value, ...)"; failed: what the call would have written is not looked at. */
void trace_arguments(struct text *t, const char *desc, const uint64_t *args, int failed);
/* The result's text; *failed says whether it is an error. */
const char *trace_result(const char *desc, uint64_t result, char buf[64], int *failed);

/* One message, whole, to where calls are reported; from within a call. */
void trace_put(const char *line, size_t n);

/* device.c, in libcuda: before and after a call that may give the device work. */
extern __attribute__((weak)) void *vgpu_trace_begin(const char *desc, const uint64_t *args);
extern __attribute__((weak)) void vgpu_trace_end(void *span, int failed);

/* A library's own kinds (upper-case letters that format.c does not know); NULL where a library has none. */
extern __attribute__((weak)) void vgpu_trace_special(struct text *t, char kind, const uint64_t *args, unsigned i);

/* What an error of that library means. */
extern __attribute__((weak)) const char *vgpu_trace_error(int error);

#pragma GCC visibility pop

struct trace_thread {
	uint16_t depth, session;        /* session: of `attached` */
	uint32_t tid, pid;
	struct trace_flight *flight;    /* in the page, or NULL */
};
extern __attribute__((weak, visibility("default"))) struct trace_shared *vgpuTraceShared(void);

#endif
