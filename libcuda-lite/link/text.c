/* SPDX-License-Identifier: MIT */
/*
 * Reads one PTX text into its items: see own.h. Bodies are passed over, only their braces are looked at. Syntax errors of a
 * text are the engine's to tell; here only what keeps an item from being found is one.
 */
#include "own.h"

#include <stdlib.h>
#include <string.h>

static int letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}

static int digit(char c)
{
	return c >= '0' && c <= '9';
}

int is_name(struct slice s)
{
	return s.n && letter(*s.p);
}

const char *next_token(const char *p, const char *end, size_t *n)
{
	const char *q;

	for (;;) {
		while (p < end && (unsigned char)*p <= ' ')
			p++;
		if (end - p < 2 || *p != '/' || (p[1] != '/' && p[1] != '*'))
			break;
		if (p[1] == '/') {
			q = memchr(p, '\n', (size_t)(end - p));
			p = q ? q : end;
			continue;
		}
		for (p += 2; p < end && !(*p == '*' && p + 1 < end && p[1] == '/'); p++)
			;
		p = end - p < 2 ? end : p + 2;
	}
	if (p >= end)
		return NULL;
	q = p + 1;
	if (*p == '"') {
		while (q < end && *q != '"' && *q != '\n')
			q++;
		q += q < end;
	} else if (letter(*p) || digit(*p) || *p == '.') {
		while (q < end && (letter(*q) || digit(*q)))
			q++;
	}
	*n = (size_t)(q - p);
	return p;
}

struct scan {
	struct ptxlink *l;
	struct file *f;
	const char *p, *end;            /* behind the token */
	struct slice t;
};

static int step(struct scan *s)
{
	s->t.p = next_token(s->p, s->end, &s->t.n);
	if (!s->t.p)
		return 0;
	s->p = s->t.p + s->t.n;
	return 1;
}

static int is(const struct scan *s, const char *word)
{
	return s->t.p && strlen(word) == s->t.n && !memcmp(s->t.p, word, s->t.n);
}

/* From an opening bracket to behind its partner. */
static int close_bracket(struct scan *s)
{
	char open = *s->t.p, close = open == '(' ? ')' : open == '{' ? '}' : ']';
	unsigned depth = 1;

	while (depth && step(s))
		depth += (*s->t.p == open) - (*s->t.p == close);
	return depth == 0;
}

static struct item *item(struct scan *s)
{
	struct file *f = s->f;

	if (f->nitems == f->room) {
		size_t room = f->room ? 2 * f->room : 64;
		struct item *p = realloc(f->items, room * sizeof(*p));

		if (!p) {
			s->l->no_memory = 1;
			return NULL;
		}
		f->items = p;
		f->room = room;
	}
	f->items[f->nitems] = (struct item){ .kind = ITEM_OTHER };
	return &f->items[f->nitems++];
}

/* s stands on .func or .entry. */
static int function(struct scan *s, const char *start, uint8_t link)
{
	struct item *it = item(s);

	if (!it)
		return 0;
	it->kind = ITEM_FUNC;
	it->link = link;
	while (step(s)) {
		if (*s->t.p == '(' && !close_bracket(s))
			return 0;
		if (!it->name.p && is_name(s->t))
			it->name = s->t;
		if (*s->t.p == ';' || *s->t.p == '{')
			break;
	}
	if (!s->t.p || !it->name.p)
		return 0;
	it->defines = *s->t.p == '{';
	if (it->defines && !close_bracket(s))
		return 0;
	it->text = (struct slice){ start, (size_t)(s->p - start) };
	return 1;
}

/* A variable's statement: a head, and declarators with commas between, an item each. */
static int variable(struct scan *s, const char *start, uint8_t link)
{
	int shared = is(s, ".shared"), first = 1;
	struct slice head = { start, 0 };
	struct item *it = NULL;
	const char *from = NULL;

	while (step(s)) {
		char c = *s->t.p;

		if (c == '(' && !close_bracket(s))
			return 0;
		if (!it && is_name(s->t)) {
			it = item(s);
			if (!it)
				return 0;
			if (first)
				head.n = (size_t)(s->t.p - start);
			first = 0;
			from = s->t.p;
			*it = (struct item){ .head = head, .name = s->t, .kind = ITEM_VAR, .link = link, .elements = 1,
					     .defines = link != ITEM_EXTERN, .shared = (uint8_t)(shared && link == ITEM_EXTERN) };
		} else if (c == '[' && it) {
			it->elements *= strtoull(s->t.p + 1, NULL, 0);
			if (!close_bracket(s))
				return 0;
		} else if (c == '{' && !close_bracket(s)) {
			return 0;
		}
		if (it && (c == ',' || c == ';')) {
			it->text = (struct slice){ from, (size_t)(s->t.p - from) };
			it = NULL;
		}
		if (c == ';')
			return !first;
	}
	return 0;
}

static int statement(struct scan *s, const char *start)
{
	struct item *it;

	while (step(s) && *s->t.p != ';')
		if (*s->t.p == '{' && !close_bracket(s))
			return 0;
	it = item(s);
	if (!it)
		return 0;
	it->text = (struct slice){ start, (size_t)(s->p - start) };
	return 1;
}

static unsigned number(const char *p, const char *end, const char **rest)
{
	unsigned v = 0;

	for (; p < end && digit(*p) && v < 10000; p++)
		v = v * 10 + (unsigned)(*p - '0');
	*rest = p;
	return v;
}

/* .version 8.7, .target sm_90a, texmode_independent */
static int header(struct scan *s)
{
	const char *rest;

	if (is(s, ".version") && step(s)) {
		s->f->version = number(s->t.p, s->end, &rest) * 100;
		if (rest < s->end && *rest == '.')
			s->f->version += number(rest + 1, s->end, &rest);
		s->p = rest;
	} else if (is(s, ".address_size")) {
		step(s);
	} else if (is(s, ".target")) {
		do {
			step(s);
			if (s->t.p && s->t.n > 3 && !memcmp(s->t.p, "sm_", 3)) {
				s->f->target = number(s->t.p + 3, s->p, &rest);
				s->f->suffix = rest < s->p ? *rest : 0;
			}
			rest = next_token(s->p, s->end, &s->t.n);
		} while (rest && *rest == ',' && step(s));
	}
	return 1;
}

static int line_table(struct scan *s)
{
	const char *nl;

	if (is(s, ".section")) {
		while (step(s) && *s->t.p != '{')
			;
		return s->t.p && close_bracket(s);
	}
	nl = memchr(s->p, '\n', (size_t)(s->end - s->p));
	s->p = nl ? nl : s->end;
	return 1;
}

static int one(struct scan *s)
{
	const char *start = s->t.p;
	uint8_t link = is(s, ".visible") ? ITEM_VISIBLE : is(s, ".extern") ? ITEM_EXTERN : is(s, ".weak") ? ITEM_WEAK :
		       is(s, ".common") ? ITEM_COMMON : ITEM_LOCAL;
	struct item *it;

	if (is(s, ".version") || is(s, ".target") || is(s, ".address_size"))
		return header(s);
	if (is(s, ".file") || is(s, ".loc") || is(s, ".section") || *s->t.p == '@')
		return line_table(s);
	if (is(s, ".alias")) {
		if (!statement(s, start))
			return 0;
		it = &s->f->items[s->f->nitems - 1];
		it->kind = ITEM_ALIAS;
		it->name.p = next_token(start + 6, s->end, &it->name.n);
		it->defines = 1;
		it->link = ITEM_VISIBLE;
		return 1;
	}
	if (link != ITEM_LOCAL && !step(s))
		return 0;
	if (is(s, ".entry") || is(s, ".func"))
		return function(s, start, link ? link : ITEM_LOCAL);
	if (is(s, ".global") || is(s, ".const") || is(s, ".shared") || is(s, ".local") || is(s, ".tex"))
		return variable(s, start, link);
	return *s->t.p == ';' ? 1 : statement(s, start);
}

int file_scan(struct ptxlink *l, struct file *f)
{
	struct scan s = { .l = l, .f = f, .p = f->text, .end = f->text + f->bytes };

	while (step(&s)) {
		const char *at = s.t.p;
		unsigned line = 1;

		if (one(&s))
			continue;
		if (l->no_memory)
			return PTXLINK_NO_MEMORY;
		for (const char *p = f->text; p < at; p++)
			line += *p == '\n';
		link_say(l, "error   : %s, line %u: a declaration without an end", f->name, line);
		return PTXLINK_ERROR;
	}
	if (f->version && f->target)
		return PTXLINK_OK;
	link_say(l, "error   : %s: neither PTX nor anything that holds it (no .version and .target)", f->name);
	return PTXLINK_ERROR;
}
