/* SPDX-License-Identifier: MIT */
/*
 * Reported calls as text, and as a Trace Event Format file (JSON, complete events): what ui.perfetto.dev and
 * chrome://tracing open. Calls inside calls need no marks there: their times nest.
 */
#include "trace.h"
#include "../vgpu-stub/cpu/demangle.h"

#include <stdlib.h>
#include <string.h>

static int number(char **p, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;
	char *s = *p;

	if (*s < '0' || *s > '9')
		return -1;
	for (; *s >= '0' && *s <= '9'; s++) {
		v = v * 10 + (uint64_t)(*s - '0');
		if (v > max)
			return -1;
	}
	*p = s;
	*out = v;
	return 0;
}

static int expect(char **p, char c)
{
	return *(*p)++ == c ? 0 : -1;
}

static int seconds(char **p, uint64_t *ns)
{
	uint64_t s, n;

	if (number(p, UINT32_MAX, &s) || expect(p, '.') || number(p, 999999999, &n))
		return -1;
	*ns = s * 1000000000u + n;
	return 0;
}

int trace_parse(char *line, struct trace_line *out)
{
	size_t n = strlen(line);
	uint64_t pid, tid;
	char *p = line, *end, *eq = NULL;

	if (number(&p, INT32_MAX, &pid) || expect(&p, '/') || number(&p, INT32_MAX, &tid) || expect(&p, ' ') ||
	    seconds(&p, &out->start_ns) || expect(&p, ' '))
		return -1;
	out->pid = (unsigned)pid;
	out->tid = (unsigned)tid;
	for (out->depth = 0; p[0] == '.' && p[1] == '.'; p += 2)
		out->depth++;
	out->name = p;
	p += strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	if (p == out->name || *p != '(')
		return -1;
	*p++ = 0;
	out->arguments = p;
	/* from the end: arguments may hold anything, "RESULT <SECONDS>" may not */
	if (!n || line[n - 1] != '\n')
		return -1;
	line[n - 1] = 0;
	trace_plain(p);
	end = strrchr(p, '<');
	if (!end || end - p < 4 || end[-1] != ' ')
		return -1;
	end[-1] = 0;
	for (char *q = end - 2; q > p + 2 && !eq; q--)
		if (q[-2] == '=' && q[-3] == ' ' && q[-1] == ' ')
			eq = q;
	if (!eq)
		return -1;
	out->result = eq;
	eq[-3] = 0;
	if (eq - 4 >= p && eq[-4] == ')')
		eq[-4] = 0;
	end++;
	return seconds(&end, &out->ns) || expect(&end, '>') || *end ? -1 : 0;
}

static const char *category(const char *name)
{
	return !strncmp(name, "cublas", 6) ? "blas" : !strncmp(name, "nvml", 4) ? "nvml" : !strncmp(name, "nvtx", 4) ? "nvtx" :
	       !strncmp(name, "cuda", 4) || !strncmp(name, "__cuda", 6) ? "runtime" : "driver";
}

void trace_out_process(struct trace_out *o, unsigned pid)
{
	struct json *j = &o->perfetto;
	char path[32], name[32] = "";
	FILE *f;

	if (!j->out)
		return;
	for (unsigned i = 0; i < o->npids; i++)
		if (o->pids[i] == pid)
			return;
	if (o->npids == sizeof(o->pids) / sizeof(o->pids[0]))
		return;
	o->pids[o->npids++] = pid;
	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	f = fopen(path, "re");
	if (f) {
		if (fgets(name, sizeof(name), f))
			name[strcspn(name, "\n")] = 0;
		fclose(f);
	}
	json_open(j, NULL, '{');
	json_str(j, "name", "process_name");
	json_str(j, "ph", "M");
	json_u64(j, "pid", pid);
	json_open(j, "args", '{');
	json_str(j, "name", *name ? name : "?");
	json_close(j, '}');
	json_close(j, '}');
}

/* The kernel that a call launches, as its C++ program has it: the first argument's value. False: it is no such name. */
static bool kernel_name(const struct trace_line *c, char *out, size_t room)
{
	const char *v = strchr(c->arguments, '=');
	char name[2048];
	size_t n;

	if (!v || strncmp(v, "=_Z", 3))
		return false;
	n = strcspn(v + 1, ",)");
	if (n >= sizeof(name))
		return false;
	memcpy(name, v + 1, n);
	name[n] = 0;
	return demangle(name, DEMANGLE_FULL, out, room);
}

/* Once a thread: the name that the program gave it (pthread_setname_np), which is the process's where it gave none. */
static void thread_seen(struct trace_out *o, unsigned pid, unsigned tid)
{
	char path[48], name[32] = "";
	FILE *f;

	for (unsigned i = 0; i < o->ntids; i++)
		if (o->tids[i] == tid)
			return;
	if (o->ntids == sizeof(o->tids) / sizeof(o->tids[0]))
		return;
	o->tids[o->ntids++] = tid;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(name, sizeof(name), f)) {
		name[strcspn(name, "\n")] = 0;
		trace_out_thread(o, pid, tid, name);
	}
	fclose(f);
}

void trace_out_line(struct trace_out *o, char *line)
{
	struct json *j = &o->perfetto;
	struct trace_line c;
	uint64_t since;
	char kernel[4096];

	if (line[0] == 'D') {
		trace_device_line(o, line);
		return;
	}
	if (trace_parse(line, &c)) {
		o->bad++;
		return;
	}
	o->lines++;
	since = c.start_ns > o->start_ns ? c.start_ns - o->start_ns : 0;
	if (o->text) {
		fprintf(o->text, "%u/%u %4llu.%06llu %*s%s(%s) = %s <%llu.%06llu>\n", c.pid, c.tid,
			(unsigned long long)(since / 1000000000u), (unsigned long long)(since / 1000 % 1000000), (int)c.depth * 2, "",
			c.name, c.arguments, c.result, (unsigned long long)(c.ns / 1000000000u),
			(unsigned long long)(c.ns / 1000 % 1000000));
		fflush(o->text);
	}
	if (!j->out)
		return;
	thread_seen(o, c.pid, c.tid);
	if (trace_nvtx(o, &c, since))
		return;
	json_open(j, NULL, '{');
	json_str(j, "name", c.name);
	json_str(j, "cat", category(c.name));
	json_str(j, "ph", "X");
	json_us(j, "ts", since);
	json_us(j, "dur", c.ns);
	json_u64(j, "pid", c.pid);
	json_u64(j, "tid", c.tid);
	json_open(j, "args", '{');
	if (kernel_name(&c, kernel, sizeof(kernel)))
		json_str(j, "kernel", kernel);
	json_str(j, "arguments", c.arguments);
	json_str(j, "result", c.result);
	json_close(j, '}');
	json_close(j, '}');
	fputc('\n', j->out);
}

int trace_out_close(struct trace_out *o)
{
	int bad;

	free(o->range);
	trace_device_free(o);
	if (o->bad)
		complain("trace: %llu messages were not calls", (unsigned long long)o->bad);
	if (!o->perfetto.out)
		return 0;
	json_close(&o->perfetto, ']');
	json_close(&o->perfetto, '}');
	bad = ferror(o->perfetto.out);
	return fclose(o->perfetto.out) || bad ? -1 : 0;
}
