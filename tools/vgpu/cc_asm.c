/* SPDX-License-Identifier: MIT */
/*
 * vgpu cc: a register's name behind one % in a statement of assembly, asm("mov.u32 %0, %laneid;"), which nvcc takes and clang refuses. cc.c calls this for
 * preprocessed text once clang has refused it; a letter behind a % is an operand of clang's if a number or a name in brackets follows, so nothing that it takes is touched.
 * In a statement that has no operands % stands for itself.
 */
#define _GNU_SOURCE
#include "cc.h"
#include "vgpu.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int of_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

/* Behind the string or character that begins at p; the text ends with a zero. */
static const char *behind(const char *p)
{
	char quote = *p++;

	while (*p && *p != quote && *p != '\n')
		p += *p == '\\' && p[1] ? 2 : 1;
	return *p == quote ? p + 1 : p;
}

/* Behind R"x(...)x", p at its quotation mark. */
static const char *behind_raw(const char *p)
{
	size_t n = strcspn(p + 1, "(\n");
	char end[32];
	const char *at;

	if (p[1 + n] != '(' || n > 16)
		return behind(p);
	snprintf(end, sizeof(end), ")%.*s\"", (int)n, p + 1);
	at = strstr(p, end);
	return at ? at + strlen(end) : p + strlen(p);
}

/* Behind blanks and the preprocessor's lines. */
static const char *to_word(const char *p)
{
	while (isspace((unsigned char)*p) || (*p == '#' && p[-1] == '\n'))
		p += *p == '#' ? strcspn(p, "\n") : 1;
	return p;
}

static int is_one_of(const char *p, size_t n, const char *const *words)
{
	for (; *words; words++)
		if (strlen(*words) == n && !strncmp(p, *words, n))
			return 1;
	return 0;
}

/* p behind the word asm: the first string of the statement, or NULL. */
static const char *first_string(const char *p)
{
	static const char *const qualifiers[] = { "volatile", "__volatile__", "__volatile", "goto", "inline", NULL };
	size_t n;

	for (p = to_word(p); of_name(*p); p = to_word(p + n)) {
		n = 0;
		while (of_name(p[n]))
			n++;
		if (!is_one_of(p, n, qualifiers))
			return NULL;
	}
	if (*p != '(')
		return NULL;
	p = to_word(p + 1);
	return *p == '"' ? p : NULL;
}

/* Behind all strings of a statement, from the first on, and what the preprocessor left between them: is it over, without operands? */
static int has_no_operands(const char *p)
{
	while (*p == '"')
		p = to_word(behind(p));
	return *p == ')';
}

static void put_doubled(const char *p, const char *end, FILE *out, int *changed)
{
	for (; p < end; p++) {
		fputc(*p, out);
		if (*p != '%')
			continue;
		if (p[1] == '%') {
			fputc(*++p, out);
		} else if (isalpha((unsigned char)p[1]) && !isdigit((unsigned char)p[2]) && p[2] != '[') {
			fputc('%', out);
			*changed = 1;
		}
	}
}

static void rewrite(const char *text, FILE *out, int *changed)
{
	static const char *const names[] = { "asm", "__asm__", "__asm", NULL };
	const char *p = text, *next;
	size_t n;

	for (; *p; p = next) {
		next = p + 1;
		if (of_name(*p)) {
			for (n = 1; of_name(p[n]); n++)
				;
			next = p + n;
			if (is_one_of(p, n, names) && first_string(next)) {
				const char *s = first_string(next);

				if (has_no_operands(s)) {
					fwrite(p, 1, (size_t)(next - p), out);
					continue;
				}
				fwrite(p, 1, (size_t)(s - p), out);
				for (next = s; *next == '"'; next = to_word(s)) {
					fwrite(s, 1, (size_t)(next - s), out);
					s = behind(next);
					put_doubled(next, s, out, changed);
				}
				next = s;
				continue;
			}
			if (*next == '"' && next[-1] == 'R' && n <= 3)
				next = behind_raw(next);
			else if (*next == '\'' && isdigit((unsigned char)*p))   /* 1'000 */
				next++;
		} else if (*p == '"' || *p == '\'') {
			next = behind(p);
		}
		fwrite(p, 1, (size_t)(next - p), out);
	}
}

int cc_double_percents(const char *from, const char *to)
{
	FILE *in = fopen(from, "re"), *out = fopen(to, "we");
	char *text = NULL;
	size_t room = 0;
	int changed = 0, st = !in || !out || getdelim(&text, &room, 0, in) < 0;

	if (!st)
		rewrite(text, out, &changed);
	if (in)
		fclose(in);
	st |= out && fclose(out);
	if (st)
		complain("cannot write %s: %s", to, strerror(errno));
	free(text);
	return st ? -1 : changed;
}
