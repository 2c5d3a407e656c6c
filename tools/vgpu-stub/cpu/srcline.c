/* SPDX-License-Identifier: MIT */
/*
 * From a line of PTX to the line of the program that it was compiled from: what nvcc -lineinfo and clang -gline-tables-only
 * leave as .file and .loc (PTX ISA 11.5). For reports only, so the text is read again from its beginning instead of keeping
 * a table for every instruction of every kernel. The parser has accepted it before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "srcline.h"

struct loc { unsigned file, line; };

static const char *blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
		p++;
	return p;
}

static const char *number(const char *p, const char *end, unsigned *v)
{
	p = blanks(p, end);
	for (*v = 0; p < end && *p >= '0' && *p <= '9'; p++)
		*v = *v * 10 + (unsigned)(*p - '0');
	return p;
}

static bool starts(const char *p, const char *end, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(end - p) > n && !memcmp(p, word, n) && (p[n] == ' ' || p[n] == '\t');
}

static const char *line_end(const char *p, const char *end)
{
	const char *q = memchr(p, '\n', (size_t)(end - p));

	return q ? q : end;
}

/* The name of .file number n: where in the text, and how long. */
static const char *file_name(const struct module *m, unsigned n, int *len)
{
	const char *p, *q, *a;
	unsigned v;

	for (p = m->text; p < m->end; p = q + 1) {
		q = line_end(p, m->end);
		p = blanks(p, q);
		if (!starts(p, q, ".file") || (a = number(p + 5, q, &v), v != n))
			continue;
		a = memchr(a, '"', (size_t)(q - a));
		if (!a)
			continue;
		p = memchr(a + 1, '"', (size_t)(q - a - 1));
		if (!p)
			continue;
		*len = (int)(p - a - 1);
		return a + 1;
	}
	return NULL;
}

static size_t put(const struct module *m, struct loc at, const char *before, char *out, size_t room)
{
	int len = 0, n;
	const char *name = file_name(m, at.file, &len);

	if (!name)
		return 0;
	n = snprintf(out, room, "%s%.*s:%u", before, len, name, at.line);
	return n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

size_t src_line(const struct func *fn, u32 ptx_line, char *out, size_t room)
{
	const struct module *m = fn->m;
	struct loc at = { 0, 0 }, from = { 0, 0 };
	const char *p, *q, *a;
	u32 line = 1;
	size_t n;

	out[0] = 0;
	if (!m || !m->text)
		return 0;
	for (p = m->text; p < m->end && line < ptx_line; p = q + 1, line++) {
		q = line_end(p, m->end);
		if (line <= fn->body_line)
			continue;
		p = blanks(p, q);
		if (!starts(p, q, ".loc"))
			continue;
		a = number(p + 4, q, &at.file);
		a = number(a, q, &at.line);
		from.file = 0;
		/* an instruction that was inlined: from where */
		for (; q - a > 10; a++)
			if (starts(a, q, "inlined_at")) {
				a = number(a + 10, q, &from.file);
				number(a, q, &from.line);
				break;
			}
	}
	if (!at.file || !at.line)
		return 0;
	n = put(m, at, "", out, room);
	if (n && from.file)
		n += put(m, from, ", inlined at ", out + n, room - n);
	return n;
}

struct srcpos *src_map(const struct func *fn, u32 last)
{
	const struct module *m = fn->m;
	struct srcpos at = { 0, 0 }, *map = last < fn->body_line ? NULL : calloc(last - fn->body_line + 1, sizeof(*map));
	const char *p, *q, *a;
	u32 line = 1;

	if (!map || !m->text)
		return map;
	for (p = m->text; p < m->end && line <= last; p = q + 1, line++) {
		q = line_end(p, m->end);
		if (line < fn->body_line)
			continue;
		a = blanks(p, q);
		if (line > fn->body_line && starts(a, q, ".loc")) {
			a = number(a + 4, q, &at.file);
			number(a, q, &at.line);
		}
		map[line - fn->body_line] = at;
	}
	return map;
}

struct srcpos src_pos(const struct func *fn, u32 ptx_line)
{
	struct srcpos *map = src_map(fn, ptx_line), at = { 0, 0 };

	if (map && ptx_line >= fn->body_line)
		at = map[ptx_line - fn->body_line];
	free(map);
	return at;
}

bool src_named(const struct func *fn, unsigned file, const char *path)
{
	int len = 0;
	const char *name = file_name(fn->m, file, &len);
	size_t n = strlen(path);

	return name && n && (size_t)len >= n && !memcmp(name + (size_t)len - n, path, n) && ((size_t)len == n || name[(size_t)len - n - 1] == '/' || path[0] == '/');
}
