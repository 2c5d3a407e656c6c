/* SPDX-License-Identifier: MIT */
/*
 * vgpu trace, between its files: the other end of libcuda-lite/trace. What the traced process writes is taken as a
 * stranger's bytes.
 */
#ifndef VGPU_TOOL_TRACE_H
#define VGPU_TOOL_TRACE_H

#include "../../libcuda-lite/trace/trace_page.h"
#include "vgpu.h"

/* One reported call, into the line's own bytes. */
struct trace_line {
	unsigned pid, tid;
	uint64_t start_ns, ns;
	unsigned depth;
	char *name, *arguments, *result;
};
/* What a terminal would obey becomes '?'. */
static inline void trace_plain(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 32 || *s == 127)
			*s = '?';
}
/* Cuts a line in place; -1: not one of ours. */
int trace_parse(char *line, struct trace_line *out);

/* ---- trace_out.c ---- */
struct trace_out {
	FILE *text;                     /* NULL: no lines */
	uint64_t start_ns;              /* times are shown from here */
	struct json perfetto;           /* .out NULL: none */
	unsigned npids, pids[512];      /* named in the Perfetto file already */
	unsigned ntids, tids[4096];     /* and so are these threads */
	unsigned nranges, ranges_room;  /* trace_nvtx.c: ranges that are open */
	struct open_range *range;
	int sums;                       /* trace_device.c: the device's work is summed up */
	struct trace_lane *lane;
	unsigned nsums, ntracks, nlanes;
	struct trace_sum *sum;
	struct trace_track *track;
	uint64_t arrows, device_lines;
	unsigned nstreams;              /* that NVTX named */
	struct trace_stream { unsigned pid; uint64_t handle; char *name; } *stream;
	uint64_t lines, bad;
};
void trace_out_line(struct trace_out *o, char *line);
void trace_out_process(struct trace_out *o, unsigned pid);
int trace_out_close(struct trace_out *o);
void trace_out_thread(struct trace_out *o, unsigned pid, unsigned tid, const char *name);
/* trace_device.c: a report of the device's work; the sums, as nsys stats has them. */
void trace_device_line(struct trace_out *o, char *line);
void trace_device_stats(struct trace_out *o, FILE *to, int json);
void trace_device_free(struct trace_out *o);
/* A stream's name, by its handle: of the track that is there, and of one that comes. */
void trace_device_stream(struct trace_out *o, unsigned pid, uint64_t handle, const char *name);
/* trace_nvtx.c: 1: c is written as what it says, or says nothing; 0: it is a call like others. */
int trace_nvtx(struct trace_out *o, const struct trace_line *c, uint64_t since_ns);

/* ---- trace_attach.c: vgpu trace -p ---- */
/* Has the process report to its folder `to`; 0, or -1: told. */
int trace_attach(pid_t pid, const char *to, const char *filter, uint32_t flags);
/* Where its folder is to be, of a process that sees other files than we do: 1, and base says it; 0: where we like; -1: told. */
int trace_base(pid_t pid, char *base, size_t room);
/* A folder of ours becomes its user's. */
int trace_hand_over(pid_t pid, const char *dir);
/* Nobody reads what comes from here on. */
void trace_stop(const char *dir);

/* ---- trace_count.c: the pages of all processes in a folder ---- */
/* The table, or JSON where j; how many processes had a page. */
unsigned trace_counts(const char *dir, FILE *to, int j);
/* trace_ops.c: vgpu trace --ops */
int trace_ops(int argc, char **argv);
/* Calls that had not returned when their process ended; or, of one that goes on, have not yet. */
void trace_in_flight(const char *dir, FILE *to, uint64_t now_ns, int goes_on);

#endif
