/* SPDX-License-Identifier: MIT */
/*
 * The device's work, as libcuda-lite/trace/device.c reports it: tracks of each context and stream in the Perfetto file, with an arrow from
 * the call to what it gave the device; and the sums of vgpu trace --stats, in the form of nsys stats.
 */
#include "trace.h"
#include "../vgpu-stub/cpu/demangle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A process of its own in the file for each process and context: not one that the kernel has numbered. */
#define DEVICE_PID(pid, context) (4294967u * 512u + (pid) % 4194304u * 8u + (context) % 8u)

struct work {
	unsigned pid, tid, device, context, stream;
	unsigned long long handle, begin_ns, end_ns, call_ns, bytes;
	char kind;
	char *name;
};

static int parse(char *line, struct work *w)
{
	int at = 0;
	size_t n = strlen(line);

	if (n && line[n - 1] == '\n')
		line[n - 1] = 0;
	trace_plain(line);
	if (sscanf(line, "D %u/%u %u %u %u %llx %llu %llu %llu %c %llu %n", &w->pid, &w->tid, &w->device, &w->context, &w->stream, &w->handle,
		   &w->begin_ns, &w->end_ns, &w->call_ns, &w->kind, &w->bytes, &at) != 11 || !at || !strchr("kmgcsw", w->kind))
		return -1;
	w->name = line + at;
	return w->end_ns < w->begin_ns ? -1 : 0;
}

/* ---- Perfetto ------------------------------------------------------------------------------------ */

static void named(struct trace_out *o, const char *what, unsigned pid, unsigned tid, const char *name)
{
	struct json *j = &o->perfetto;

	json_open(j, NULL, '{');
	json_str(j, "name", what);
	json_str(j, "ph", "M");
	json_u64(j, "pid", pid);
	if (tid)
		json_u64(j, "tid", tid);
	json_open(j, "args", '{');
	json_str(j, "name", name);
	json_close(j, '}');
	json_close(j, '}');
	fputc('\n', j->out);
}

struct trace_track {
	unsigned pid, tid, of;          /* in the file; the process that gives it work */
	uint64_t handle;
};

void trace_device_stream(struct trace_out *o, unsigned pid, uint64_t handle, const char *name)
{
	struct trace_stream *more = realloc(o->stream, (o->nstreams + 1) * sizeof(*more));

	if (!more)
		return;
	o->stream = more;
	more[o->nstreams] = (struct trace_stream){ pid, handle, strdup(name) };
	o->nstreams += more[o->nstreams].name != NULL;
	for (unsigned i = 0; i < o->ntracks; i++)
		if (o->track[i].of == pid && o->track[i].handle == handle)
			named(o, "thread_name", o->track[i].pid, o->track[i].tid, name);
}

/* What is known of a stream's work so far: where the piece that ends last lies. */
struct trace_lane {
	unsigned pid, context, stream;
	uint64_t begin_ns, end_ns;
	uint64_t within_ns;             /* where the last one ends that lies within it */
};

/*
 * A stream does one thing after the other; the mark in front of a piece of work can stand before what another thread gave the stream
 * meanwhile. So each begins when the one before it has ended. One that is told late lies within the last one, or has no length: readers
 * of the file drop what neither nests nor follows.
 */
static void in_turn(struct trace_out *o, struct work *w)
{
	struct trace_lane *l = NULL, *more;

	for (unsigned i = 0; i < o->nlanes && !l; i++)
		if (o->lane[i].pid == w->pid && o->lane[i].context == w->context && o->lane[i].stream == w->stream)
			l = &o->lane[i];
	if (!l) {
		more = realloc(o->lane, (o->nlanes + 1) * sizeof(*more));
		if (!more)
			return;
		o->lane = more;
		l = &more[o->nlanes++];
		*l = (struct trace_lane){ w->pid, w->context, w->stream, 0, 0, 0 };
	}
	if (w->end_ns >= l->end_ns) {
		if (w->begin_ns < l->end_ns)
			w->begin_ns = l->end_ns;
		l->begin_ns = l->within_ns = w->begin_ns;
		l->end_ns = w->end_ns;
	} else if (w->end_ns > l->within_ns) {
		if (w->begin_ns < l->within_ns)
			w->begin_ns = l->within_ns;
		l->within_ns = w->end_ns;
	} else {
		w->begin_ns = w->end_ns;
	}
}

/* Once a track. */
static void track(struct trace_out *o, const struct work *w, unsigned pid, unsigned tid)
{
	struct trace_track *more;
	char text[96];
	int known = 0;

	for (unsigned i = 0; i < o->ntracks; i++) {
		if (o->track[i].pid == pid && o->track[i].tid == tid)
			return;
		known |= o->track[i].pid == pid;
	}
	more = realloc(o->track, (o->ntracks + 1) * sizeof(*more));
	if (!more)
		return;
	o->track = more;
	o->track[o->ntracks++] = (struct trace_track){ pid, tid, w->pid, w->handle };
	if (!known) {
		snprintf(text, sizeof(text), "device %u, context %u of process %u", w->device, w->context, w->pid);
		named(o, "process_name", pid, 0, text);
	}
	if (w->handle > 2)
		snprintf(text, sizeof(text), "stream %u (%#llx)", w->stream, w->handle);
	else
		snprintf(text, sizeof(text), "stream %u (default)", w->stream);
	for (unsigned i = o->nstreams; i-- > 0;)
		if (o->stream[i].pid == w->pid && o->stream[i].handle == w->handle) {
			named(o, "thread_name", pid, tid, o->stream[i].name);
			return;
		}
	named(o, "thread_name", pid, tid, text);
}

static void arrow(struct trace_out *o, const char *phase, unsigned pid, unsigned tid, uint64_t at_ns, uint64_t id)
{
	struct json *j = &o->perfetto;

	json_open(j, NULL, '{');
	json_str(j, "name", "to the device");
	json_str(j, "cat", "device");
	json_str(j, "ph", phase);
	if (*phase == 'f')
		json_str(j, "bp", "e");
	json_u64(j, "id", id);
	json_us(j, "ts", at_ns);
	json_u64(j, "pid", pid);
	json_u64(j, "tid", tid);
	json_close(j, '}');
	fputc('\n', j->out);
}

static void draw(struct trace_out *o, const struct work *w, const char *name)
{
	static const struct { char kind; const char *category; } kinds[] = {
		{ 'k', "kernel" }, { 'm', "kernel" }, { 'g', "graph" }, { 'c', "memory" }, { 's', "memory" }, { 'w', "wait" },
	};
	struct json *j = &o->perfetto;
	/* numbers of tracks begin at 1 */
	unsigned pid = DEVICE_PID(w->pid, w->context), tid = w->stream + 1;
	uint64_t since = w->begin_ns > o->start_ns ? w->begin_ns - o->start_ns : 0, until = w->end_ns > o->start_ns ? w->end_ns - o->start_ns : 0;
	uint64_t call = w->call_ns > o->start_ns ? w->call_ns - o->start_ns : 0;

	track(o, w, pid, tid);
	json_open(j, NULL, '{');
	json_str(j, "name", name);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].kind == w->kind)
			json_str(j, "cat", kinds[i].category);
	json_str(j, "ph", "X");
	json_us(j, "ts", since);
	json_us(j, "dur", until - since);
	json_u64(j, "pid", pid);
	json_u64(j, "tid", tid);
	json_open(j, "args", '{');
	if (w->bytes)
		json_u64(j, "bytes", w->bytes);
	json_u64(j, "calling thread", w->tid);
	json_close(j, '}');
	json_close(j, '}');
	fputc('\n', j->out);
	o->arrows++;
	arrow(o, "s", w->pid, w->tid, call, o->arrows);
	arrow(o, "f", pid, tid, since > call ? since : call < until ? call : until, o->arrows);
}

/* ---- sums ------------------------------------------------------------------------------------------- */

struct trace_sum {
	char *name;
	char kind;
	size_t n, room;
	uint64_t *ns, *bytes;           /* of each */
};

static struct trace_sum *sum_of(struct trace_out *o, char kind, const char *name)
{
	struct trace_sum *more;

	for (unsigned i = 0; i < o->nsums; i++)
		if (o->sum[i].kind == kind && !strcmp(o->sum[i].name, name))
			return &o->sum[i];
	more = realloc(o->sum, (o->nsums + 1) * sizeof(*more));
	if (!more)
		return NULL;
	o->sum = more;
	more[o->nsums] = (struct trace_sum){ .kind = kind, .name = strdup(name) };
	return more[o->nsums].name ? &more[o->nsums++] : NULL;
}

static void add(struct trace_out *o, const struct work *w, const char *name)
{
	struct trace_sum *s = sum_of(o, w->kind, name);

	if (s && s->n == s->room) {
		size_t room = s->room ? 2 * s->room : 64;
		uint64_t *ns = realloc(s->ns, room * sizeof(*ns)), *bytes;

		if (ns)
			s->ns = ns;
		bytes = ns ? realloc(s->bytes, room * sizeof(*bytes)) : NULL;
		if (bytes) {
			s->bytes = bytes;
			s->room = room;
		}
	}
	if (!s || s->n == s->room) {
		o->bad++;
		return;
	}
	s->ns[s->n] = w->end_ns - w->begin_ns;
	s->bytes[s->n++] = w->bytes;
}

void trace_device_line(struct trace_out *o, char *line)
{
	struct work w;
	char name[4096];

	if (parse(line, &w)) {
		o->bad++;
		return;
	}
	o->device_lines++;
	in_turn(o, &w);
	if (w.kind != 'k' || strncmp(w.name, "_Z", 2) || !demangle(w.name, DEMANGLE_FULL, name, sizeof(name)))
		snprintf(name, sizeof(name), "%s", w.name);
	if (o->perfetto.out)
		draw(o, &w, name);
	if (o->sums)
		add(o, &w, name);
}

/* What a table shows of a row's values, which are sorted for that. */
struct figures {
	const struct trace_sum *of;
	double total, mean, median, deviation;
	uint64_t least, most;
};

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int by_total(const void *a, const void *b)
{
	const struct figures *x = a, *y = b;

	return x->total < y->total ? 1 : x->total > y->total ? -1 : strcmp(x->of->name, y->of->name);
}

static struct figures figures_of(const struct trace_sum *s, uint64_t *v)
{
	struct figures f = { .of = s };

	qsort(v, s->n, sizeof(*v), by_value);
	f.least = v[0];
	f.most = v[s->n - 1];
	f.median = s->n % 2 ? (double)v[s->n / 2] : ((double)v[s->n / 2 - 1] + (double)v[s->n / 2]) / 2;
	for (size_t i = 0; i < s->n; i++)
		f.total += (double)v[i];
	f.mean = f.total / (double)s->n;
	for (size_t i = 0; i < s->n; i++)
		f.deviation += ((double)v[i] - f.mean) * ((double)v[i] - f.mean);
	/* of a sample, as nsys has it */
	f.deviation = s->n > 1 ? sqrt(f.deviation / (double)(s->n - 1)) : 0;
	return f;
}

static const struct table {
	const char *title, *key, *kinds;
	int bytes;
} tables[] = {
	{ "GPU Kernel Summary (cuda_gpu_kern_sum)", "kernels", "kmg", 0 },
	{ "GPU MemOps Summary by Time (cuda_gpu_mem_time_sum)", "memory_by_time", "cs", 0 },
	{ "GPU MemOps Summary by Size (cuda_gpu_mem_size_sum)", "memory_by_size", "cs", 1 },
	{ "Waits on the device", "waits", "w", 0 },
};

static void table_text(FILE *to, const struct table *t, const struct figures *f, unsigned n, double all)
{
	if (!n)
		return;
	fprintf(to, "\n ** CUDA %s:\n\n", t->title);
	if (t->bytes)
		fprintf(to, " %13s %9s %12s %12s %12s %12s %12s  %s\n", "Total (MB)", "Count", "Avg (MB)", "Med (MB)", "Min (MB)", "Max (MB)", "StdDev (MB)",
			"Operation");
	else
		fprintf(to, " %8s %15s %9s %12s %12s %11s %12s %12s  %s\n", "Time (%)", "Total Time (ns)", *t->kinds == 'c' ? "Count" : "Instances", "Avg (ns)",
			"Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)", *t->kinds == 'c' ? "Operation" : "Name");
	for (unsigned i = 0; i < n; i++)
		if (t->bytes)
			fprintf(to, " %13.3f %9zu %12.3f %12.3f %12.3f %12.3f %12.3f  %s\n", f[i].total / 1e6, f[i].of->n, f[i].mean / 1e6,
				f[i].median / 1e6, (double)f[i].least / 1e6, (double)f[i].most / 1e6, f[i].deviation / 1e6, f[i].of->name);
		else
			fprintf(to, " %8.1f %15.0f %9zu %12.1f %12.1f %11llu %12llu %12.1f  %s\n", all > 0 ? 100 * f[i].total / all : 0.0, f[i].total,
				f[i].of->n, f[i].mean, f[i].median, (unsigned long long)f[i].least, (unsigned long long)f[i].most, f[i].deviation,
				f[i].of->name);
}

static void table_json(struct json *j, const struct table *t, const struct figures *f, unsigned n)
{
	json_open(j, t->key, '[');
	for (unsigned i = 0; i < n; i++) {
		json_open(j, NULL, '{');
		json_str(j, "name", f[i].of->name);
		json_u64(j, "count", f[i].of->n);
		/* a file may say what no device does */
		json_u64(j, t->bytes ? "total_bytes" : "total_ns", f[i].total < 0x1p64 ? (uint64_t)f[i].total : UINT64_MAX);
		json_f(j, "mean", f[i].mean);
		json_f(j, "median", f[i].median);
		json_u64(j, "min", f[i].least);
		json_u64(j, "max", f[i].most);
		json_f(j, "stddev", f[i].deviation);
		json_close(j, '}');
	}
	json_close(j, ']');
}

void trace_device_stats(struct trace_out *o, FILE *to, int json)
{
	struct figures *f = calloc(o->nsums ? o->nsums : 1, sizeof(*f));
	struct json j = { .out = to };

	if (json)
		json_open(&j, NULL, '{');
	for (size_t t = 0; f && t < sizeof(tables) / sizeof(tables[0]); t++) {
		unsigned n = 0;
		double all = 0;

		for (unsigned i = 0; i < o->nsums; i++)
			if (strchr(tables[t].kinds, o->sum[i].kind) && o->sum[i].n) {
				f[n] = figures_of(&o->sum[i], tables[t].bytes ? o->sum[i].bytes : o->sum[i].ns);
				all += f[n++].total;
			}
		qsort(f, n, sizeof(*f), by_total);
		if (json)
			table_json(&j, &tables[t], f, n);
		else
			table_text(to, &tables[t], f, n, all);
	}
	if (json)
		json_close(&j, '}');
	else if (!o->nsums)
		fputs("the device did nothing: no kernel, copy or wait was seen\n", to);
	free(f);
}

void trace_device_free(struct trace_out *o)
{
	for (unsigned i = 0; i < o->nsums; i++) {
		free(o->sum[i].name);
		free(o->sum[i].ns);
		free(o->sum[i].bytes);
	}
	free(o->sum);
	free(o->track);
	free(o->lane);
	for (unsigned i = 0; i < o->nstreams; i++)
		free(o->stream[i].name);
	free(o->stream);
}
