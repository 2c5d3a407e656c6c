/* SPDX-License-Identifier: MIT */
/*
 * NVTX's calls in the Perfetto file: not as calls that took time, but as what they say. Ranges that a thread pushes and pops stand on its
 * track, with the CUDA calls inside them. Those of other domains, and ranges that start in one place and end in another, may overlap
 * anything: they have tracks of their own (nestable asynchronous events). Marks are instants; threads and streams get their names.
 */
#include "trace.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 256u

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The quoted value of an argument, as the program wrote it. 0; -1: there is none. */
static int quoted_value(const char *arguments, const char *key, char out[TEXT_BYTES])
{
	size_t n = strlen(key), k = 0;
	const char *p = arguments;

	/* a key stands behind the beginning, a brace or a comma: inside a string a quotation mark has a backslash */
	while ((p = strstr(p, key)) && !((p == arguments || p[-1] == '{' || p[-1] == ' ') && p[n] == '=' && p[n + 1] == '"'))
		p += n;
	if (!p)
		return -1;
	for (p += n + 2; *p && *p != '"' && k + 1 < TEXT_BYTES; p++) {
		if (*p != '\\') {
			out[k++] = *p;
		} else if (p[1] == 'x' && hex(p[2]) >= 0 && hex(p[3]) >= 0) {
			out[k++] = (char)(hex(p[2]) << 4 | hex(p[3]));
			p += 3;
		} else if (p[1]) {
			out[k++] = *++p;
		}
	}
	out[k] = 0;
	return 0;
}

static const char *plain_value(const char *arguments, const char *key)
{
	size_t n = strlen(key);
	const char *p = arguments;

	while ((p = strstr(p, key)) && !((p == arguments || p[-1] == ' ') && p[n] == '='))
		p += n;
	return p ? p + n + 1 : NULL;
}

struct nvtx_event {
	const struct trace_line *call;
	const char *phase;
	uint64_t at_ns, id;             /* id 0: on the thread's track */
	char name[TEXT_BYTES], domain[TEXT_BYTES];
};

static void put(struct trace_out *o, const struct nvtx_event *e)
{
	struct json *j = &o->perfetto;
	char category[TEXT_BYTES + 8], id[TEXT_BYTES + 40];

	snprintf(category, sizeof(category), e->domain[0] ? "nvtx.%s" : "nvtx", e->domain);
	json_open(j, NULL, '{');
	if (e->name[0] || *e->phase != 'E')
		json_str(j, "name", e->name[0] ? e->name : "(no name)");
	json_str(j, "cat", category);
	json_str(j, "ph", e->phase);
	json_us(j, "ts", e->at_ns);
	json_u64(j, "pid", e->call->pid);
	json_u64(j, "tid", e->call->tid);
	if (e->id) {
		snprintf(id, sizeof(id), "%u.%llu", e->call->pid, (unsigned long long)e->id);
		json_str(j, "id", id);
	}
	if (*e->phase == 'i')
		json_str(j, "s", "t");
	if (*e->phase != 'E' && *e->phase != 'e') {
		json_open(j, "args", '{');
		if (e->domain[0])
			json_str(j, "domain", e->domain);
		json_str(j, "arguments", e->call->arguments);
		json_close(j, '}');
	}
	json_close(j, '}');
	fputc('\n', j->out);
}

/* Ranges that are open and have tracks of their own: an end must name what it ends. */
struct open_range {
	unsigned pid, tid;              /* tid 0: started and ended, else pushed */
	uint64_t id;
	char name[TEXT_BYTES], domain[TEXT_BYTES];
};

static void remember(struct trace_out *o, const struct nvtx_event *e, unsigned tid)
{
	struct open_range *more;

	if (o->nranges == o->ranges_room) {
		more = realloc(o->range, (o->ranges_room + 64) * sizeof(*more));
		if (!more)
			return;
		o->range = more;
		o->ranges_room += 64;
	}
	more = &o->range[o->nranges++];
	*more = (struct open_range){ .pid = e->call->pid, .tid = tid, .id = e->id };
	strcpy(more->name, e->name);
	strcpy(more->domain, e->domain);
}

/* The latest that fits. 0: into e, and it is forgotten. */
static int recall(struct trace_out *o, struct nvtx_event *e, unsigned tid)
{
	for (unsigned i = o->nranges; i-- > 0;) {
		struct open_range *r = &o->range[i];

		if (r->pid != e->call->pid || r->tid != tid || (tid ? strcmp(r->domain, e->domain) : r->id != e->id))
			continue;
		e->id = r->id;
		strcpy(e->name, r->name);
		strcpy(e->domain, r->domain);
		memmove(r, r + 1, (--o->nranges - i) * sizeof(*r));
		return 0;
	}
	return -1;
}

void trace_out_thread(struct trace_out *o, unsigned pid, unsigned tid, const char *name)
{
	struct json *j = &o->perfetto;

	json_open(j, NULL, '{');
	json_str(j, "name", "thread_name");
	json_str(j, "ph", "M");
	json_u64(j, "pid", pid);
	json_u64(j, "tid", tid);
	json_open(j, "args", '{');
	json_str(j, "name", name);
	json_close(j, '}');
	json_close(j, '}');
	fputc('\n', j->out);
}

/* "nvtxDomainRangePushEx" is a "RangePush" */
static int is(const struct trace_line *c, const char *what)
{
	const char *name = c->name + 4;

	if (!strncmp(name, "Domain", 6))
		name += 6;
	return !strncmp(name, what, strlen(what));
}

int trace_nvtx(struct trace_out *o, const struct trace_line *c, uint64_t since_ns)
{
	struct nvtx_event e = { .call = c, .at_ns = since_ns };
	const char *id = plain_value(c->arguments, "id"), *thread = plain_value(c->arguments, "thread");
	const char *stream = plain_value(c->arguments, "stream");

	if (strncmp(c->name, "nvtx", 4))
		return 0;
	if (quoted_value(c->arguments, "domain", e.domain))
		e.domain[0] = 0;
	if (quoted_value(c->arguments, "message", e.name))
		e.name[0] = 0;
	if (is(c, "RangePush")) {
		e.phase = e.domain[0] ? "b" : "B";
		if (e.domain[0]) {
			/* one for the thread, so that they nest; above what started ranges have, which are counted from 1 */
			e.id = (1ull << 48) + c->tid;
			remember(o, &e, c->tid);
		}
	} else if (is(c, "RangePop")) {
		e.at_ns += c->ns;
		e.phase = e.domain[0] ? "e" : "E";
		if (c->result[0] == '-' || (e.domain[0] && recall(o, &e, c->tid)))
			return 1;               /* nothing was open */
	} else if (is(c, "RangeStart")) {
		e.phase = "b";
		e.id = strtoull(c->result, NULL, 10);
		remember(o, &e, 0);
	} else if (is(c, "RangeEnd")) {
		e.at_ns += c->ns;
		e.phase = "e";
		e.id = id ? strtoull(id, NULL, 10) : 0;
		if (recall(o, &e, 0))
			return 1;
	} else if (is(c, "Mark")) {
		e.phase = "i";
	} else if (is(c, "NameOsThread") && thread && !quoted_value(c->arguments, "name", e.name)) {
		trace_out_thread(o, c->pid, (unsigned)strtoul(thread, NULL, 10), e.name);
		return 1;
	} else if ((is(c, "NameCuStream") || is(c, "NameCudaStream")) && stream && !quoted_value(c->arguments, "name", e.name)) {
		trace_device_stream(o, c->pid, strtoull(stream, NULL, 0), e.name);
		return 1;
	} else {
		return 0;                       /* a call like others */
	}
	put(o, &e);
	return 1;
}
