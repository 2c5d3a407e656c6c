/* SPDX-License-Identifier: MIT */
/*
 * The counts that traced processes keep in their pages, summed over all; and calls that did not return. A process
 * that was killed has left its page as it was.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct row {
	char name[64], result[56];      /* result "": success */
	uint64_t calls, inner, ns, max_ns;
};
struct table {
	struct row *row;
	size_t n, room;
	uint64_t lost;
	unsigned processes;
};

/* A copy: the process may still write. NULL when it is none of ours. */
static struct trace_page *page_at(int dir, const char *name)
{
	struct trace_page *p;
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t have = 0;
	ssize_t n = 1;

	if (fd < 0)
		return NULL;
	p = calloc(1, sizeof(*p));
	while (p && have < sizeof(*p) && (n = pread(fd, (char *)p + have, sizeof(*p) - have, (off_t)have)) > 0)
		have += (size_t)n;
	close(fd);
	if (p && (have < sizeof(*p) || p->magic != TRACE_MAGIC)) {
		free(p);
		p = NULL;
	}
	return p;
}

static void each_page(const char *dir, void (*f)(const struct trace_page *p, void *to), void *to)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		struct trace_page *p = e->d_name[0] >= '0' && e->d_name[0] <= '9' ? page_at(dirfd(d), e->d_name) : NULL;

		if (p)
			f(p, to);
		free(p);
	}
	if (d)
		closedir(d);
}

static struct row *row_of(struct table *t, const char *name, const char *result)
{
	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->row[i].name, name) && !strcmp(t->row[i].result, result))
			return &t->row[i];
	if (t->n == t->room) {
		struct row *more = realloc(t->row, (t->room + 256) * sizeof(*more));

		if (!more)
			return NULL;
		t->row = more;
		t->room += 256;
	}
	memset(&t->row[t->n], 0, sizeof(t->row[0]));
	snprintf(t->row[t->n].name, sizeof(t->row[0].name), "%s", name);
	snprintf(t->row[t->n].result, sizeof(t->row[0].result), "%s", result);
	return &t->row[t->n++];
}

static void add_page(const struct trace_page *p, void *to)
{
	struct table *t = to;

	t->processes++;
	t->lost += p->lost;
	for (unsigned i = 0; i < TRACE_COUNTS; i++) {
		const struct trace_count *k = &p->count[i];
		char name[sizeof(k->name)], result[sizeof(k->result)];
		struct row *r;

		if (k->state != TRACE_READY)
			continue;
		memcpy(name, k->name, sizeof(name));
		memcpy(result, k->result, sizeof(result));
		name[sizeof(name) - 1] = result[sizeof(result) - 1] = 0;
		trace_plain(name);
		trace_plain(result);
		if (!k->error)
			result[0] = 0;
		r = row_of(t, name, result);
		if (!r)
			continue;
		r->calls += k->calls;
		r->inner += k->inner;
		r->ns += k->ns;
		r->max_ns = k->max_ns > r->max_ns ? k->max_ns : r->max_ns;
	}
}

/* By name, success before errors: one function's rows stand together. */
static int by_name(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c ? c : strcmp(x->result, y->result);
}

struct function {
	const struct row *first;
	size_t rows;
	uint64_t calls, inner, errors, ns, max_ns;
};

static int by_time(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->ns != y->ns ? (x->ns < y->ns ? 1 : -1) : strcmp(x->first->name, y->first->name);
}

static void print_text(FILE *to, const struct function *f, size_t n, const struct table *t)
{
	uint64_t calls = 0, inner = 0, errors = 0;

	fprintf(to, "%10s %10s %8s %12s %11s %11s  %s\n", "calls", "inside", "errors", "total ms", "mean us", "max us", "function");
	for (size_t i = 0; i < n; i++) {
		uint64_t all = f[i].calls + f[i].inner;

		fprintf(to, "%10llu %10llu %8llu %12.3f %11.3f %11.3f  %s\n", (unsigned long long)f[i].calls,
			(unsigned long long)f[i].inner, (unsigned long long)f[i].errors, (double)f[i].ns / 1e6,
			all ? (double)f[i].ns / 1e3 / (double)all : 0.0, (double)f[i].max_ns / 1e3, f[i].first->name);
		for (size_t k = 0; k < f[i].rows; k++)
			if (f[i].first[k].result[0])
				fprintf(to, "%*s= %s, %llu times\n", 68, "", f[i].first[k].result,
					(unsigned long long)(f[i].first[k].calls + f[i].first[k].inner));
		calls += f[i].calls;
		inner += f[i].inner;
		errors += f[i].errors;
	}
	fprintf(to, "%10llu %10llu %8llu  by %u process%s; inside: made by our libraries within another call\n",
		(unsigned long long)calls, (unsigned long long)inner, (unsigned long long)errors, t->processes,
		t->processes == 1 ? "" : "es");
	if (t->lost)
		fprintf(to, "%llu calls more were not counted: the table was full\n", (unsigned long long)t->lost);
}

static void print_json(FILE *to, const struct function *f, size_t n, const struct table *t)
{
	struct json j = { .out = to };

	json_open(&j, NULL, '{');
	json_u64(&j, "processes", t->processes);
	json_u64(&j, "not_counted", t->lost);
	json_open(&j, "functions", '{');
	for (size_t i = 0; i < n; i++) {
		json_open(&j, f[i].first->name, '{');
		json_u64(&j, "calls", f[i].calls);
		json_u64(&j, "inside", f[i].inner);
		json_u64(&j, "total_ns", f[i].ns);
		json_u64(&j, "max_ns", f[i].max_ns);
		json_open(&j, "errors", '{');
		for (size_t k = 0; k < f[i].rows; k++)
			if (f[i].first[k].result[0])
				json_u64(&j, f[i].first[k].result, f[i].first[k].calls + f[i].first[k].inner);
		json_close(&j, '}');
		json_close(&j, '}');
	}
	json_close(&j, '}');
	json_close(&j, '}');
}

unsigned trace_counts(const char *dir, FILE *to, int json)
{
	struct table t = { 0 };
	struct function *f;
	size_t n = 0;

	each_page(dir, add_page, &t);
	f = to && t.n ? calloc(t.n, sizeof(*f)) : NULL;
	if (f) {
		qsort(t.row, t.n, sizeof(t.row[0]), by_name);
		for (size_t i = 0; i < t.n; i++) {
			const struct row *r = &t.row[i];

			if (!n || strcmp(f[n - 1].first->name, r->name))
				f[n++].first = r;
			f[n - 1].rows++;
			f[n - 1].calls += r->calls;
			f[n - 1].inner += r->inner;
			f[n - 1].errors += r->result[0] ? r->calls + r->inner : 0;
			f[n - 1].ns += r->ns;
			f[n - 1].max_ns = r->max_ns > f[n - 1].max_ns ? r->max_ns : f[n - 1].max_ns;
		}
		qsort(f, n, sizeof(f[0]), by_time);
	}
	if (to && json)
		print_json(to, f, n, &t);
	else if (to)
		print_text(to, f, n, &t);
	free(f);
	free(t.row);
	return t.processes;
}

struct flight_out {
	FILE *to;
	uint64_t now_ns;
	int goes_on;
};

static void show_flights(const struct trace_page *p, void *to)
{
	const struct flight_out *o = to;

	for (unsigned i = 0; i < TRACE_FLIGHTS; i++) {
		const struct trace_flight *f = &p->flight[i];
		uint64_t since = f->since_ns;
		char name[sizeof(f->name)];

		if (!since || since > o->now_ns)
			continue;
		memcpy(name, f->name, sizeof(name));
		name[sizeof(name) - 1] = 0;
		trace_plain(name);
		fprintf(o->to, "%u/%u %s %s: it began %.3f s before the end\n", p->pid, f->tid, name, o->goes_on ? "goes on" : "did not return",
			(double)(o->now_ns - since) / 1e9);
	}
}

void trace_in_flight(const char *dir, FILE *to, uint64_t now_ns, int goes_on)
{
	struct flight_out o = { to, now_ns, goes_on };

	each_page(dir, show_flights, &o);
}
