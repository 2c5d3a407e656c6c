/* SPDX-License-Identifier: MIT */
/*
 * Arguments and results of traced calls as text. Called by trace.c after the call. Whatever an argument points to is
 * read in a way that cannot fault: programs pass wrong pointers, and a trace is where one looks for them.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#define STRING_BYTES 200u

void text_add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (t->at >= t->end)
		return;
	va_start(ap, fmt);
	n = vsnprintf(t->at, (size_t)(t->end - t->at), fmt, ap);
	va_end(ap);
	if (n > 0)
		t->at += n < t->end - t->at ? n : t->end - t->at - 1;
}

void text_string(struct text *t, const char *s, size_t n)
{
	if (t->at + n < t->end) {
		memcpy(t->at, s, n);
		t->at += n;
	}
}

int trace_read(void *to, uint64_t from, size_t n)
{
	struct iovec local = { to, n }, remote = { (void *)(uintptr_t)from, n };

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)n ? 0 : -1;
}

void text_quoted(struct text *t, const char *s, size_t n, int more)
{
	text_add(t, "\"");
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\')
			text_add(t, "\\%c", c);
		else if (c < 32 || c >= 127)
			text_add(t, "\\x%02x", c);
		else
			text_add(t, "%c", c);
	}
	text_add(t, more ? "\"..." : "\"");
}

void trace_quoted(struct text *t, uint64_t from)
{
	char s[STRING_BYTES + 1];
	size_t n = 0;

	if (!from) {
		text_add(t, "NULL");
		return;
	}
	while (n < STRING_BYTES) {
		/* up to the end of a page at a time: behind it may be nothing */
		size_t part = 4096 - (size_t)((from + n) & 4095);

		if (part > STRING_BYTES - n)
			part = STRING_BYTES - n;
		if (trace_read(s + n, from + n, part))
			break;
		if (memchr(s + n, 0, part)) {
			n += strlen(s + n);
			break;
		}
		n += part;
	}
	if (!n && trace_read(s, from, 1)) {
		text_add(t, "%#llx", (unsigned long long)from);
		return;
	}
	text_quoted(t, s, n, n >= STRING_BYTES);
}

const char *trace_enum(const char *kind, int value, char buf[16])
{
	unsigned e = (unsigned)atoi(kind), i = 0;
	const char *name = vgpu_trace_enum_names;

	if (e < vgpu_trace_enums)
		for (; i < vgpu_trace_enum_from[e + 1]; i++, name += strlen(name) + 1)
			if (i >= vgpu_trace_enum_from[e] && vgpu_trace_enum_values[i] == value)
				return name;
	snprintf(buf, 16, "%d", value);
	return buf;
}

static void address(struct text *t, uint64_t v)
{
	text_add(t, v ? "%#llx" : "0", (unsigned long long)v);
}

static void scalar(struct text *t, const char *kind, uint64_t v)
{
	char buf[16];
	double d;
	float f;

	switch (*kind) {
	case 'i': text_add(t, "%d", (int)v); break;
	case 'u': text_add(t, "%u", (unsigned)v); break;
	case 'x': text_add(t, v & 0xffffffffu ? "%#x" : "%x", (unsigned)v); break;
	case 'I': text_add(t, "%lld", (long long)v); break;
	case 'U': text_add(t, "%llu", (unsigned long long)v); break;
	case 'E': text_add(t, "%s", trace_enum(kind + 1, (int)v, buf)); break;
	case 's':
	case 'z': trace_quoted(t, v); break;
	case 'f':
		memcpy(&f, &v, 4);
		text_add(t, "%g", (double)f);
		break;
	case 'd':
		memcpy(&d, &v, 8);
		text_add(t, "%g", d);
		break;
	default: address(t, v);
	}
}

static size_t bytes_of(char kind)
{
	return strchr("iuxEf", kind) ? 4 : 8;
}

/* What a pointer leads to, as [value]; the pointer itself where that is not known. */
static void pointed(struct text *t, const char *kind, uint64_t p, int failed)
{
	uint64_t v = 0;

	if (!p)
		text_add(t, "NULL");
	else if (failed)
		address(t, p);
	else if (*kind == 's')          /* a buffer that was filled */
		trace_quoted(t, p);
	else if (trace_read(&v, p, bytes_of(*kind)))
		address(t, p);
	else {
		text_add(t, "[");
		scalar(t, kind, v);
		text_add(t, "]");
	}
}

/* Structures by value: the wrapper gives their address, on its own stack. */
static int by_value(struct text *t, char kind, uint64_t p)
{
	const unsigned *u = (const unsigned *)(uintptr_t)p;
	const size_t *z = (const size_t *)(uintptr_t)p;

	switch (kind) {
	case 'D': text_add(t, "{%u,%u,%u}", u[0], u[1], u[2]); return 1;
	case 'T': text_add(t, "{%zu,%zu,%zu}", z[0], z[1], z[2]); return 1;
	case 'Q': text_add(t, "{%#zx, pitch %zu, %zu x %zu}", z[0], z[1], z[2], z[3]); return 1;
	case 'L': text_add(t, "{type %u, id %d}", u[0], (int)u[1]); return 1;
	}
	return 0;
}

void trace_arguments(struct text *t, const char *desc, const uint64_t *args, int failed)
{
	size_t n = strcspn(desc, "(");
	const char *p = desc + n;

	text_string(t, desc, n + 1);
	if (!strncmp(p, "(...)", 5)) {
		text_add(t, "...)");
		return;
	}
	p++;
	for (unsigned i = 0; *p && *p != ')' && args; i++) {
		const char *kind = p + strcspn(p, ":") + 1;

		if (i)
			text_add(t, ", ");
		text_string(t, p, (size_t)(kind - 1 - p));
		text_add(t, "=");
		if (*kind == '*')
			pointed(t, kind + 1, args[i], failed);
		else if (*kind == '@')
			pointed(t, kind + 1, args[i], 0);
		else if (*kind == 'o')
			text_add(t, "{...}");
		else if (by_value(t, *kind, args[i]))
			;
		else if (strchr("ABFGHJKMNOPRVWYZ", *kind) && vgpu_trace_special)
			vgpu_trace_special(t, *kind, args, i);
		else
			scalar(t, kind, args[i]);
		p = kind + strcspn(kind, ",)");
		if (*p == ',')
			p++;
	}
	text_add(t, ")");
}

const char *trace_result(const char *desc, uint64_t result, char buf[64], int *failed)
{
	const char *kind = strrchr(desc, ')');
	struct text t = { buf, buf + 64 };

	*failed = 0;
	kind = kind ? kind + 1 : "v";
	if (*kind == 'v')
		return "void";
	if (*kind == 'E') {
		/* every result type has success at 0 */
		*failed = (int)result != 0;
		return trace_enum(kind + 1, (int)result, buf);
	}
	scalar(&t, kind, result);
	return buf;
}
