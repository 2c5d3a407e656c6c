/* SPDX-License-Identifier: MIT */
/*
 * C++ names, demangled: Itanium C++ ABI 5.1, as nvcc, clang and NVRTC mangle kernels, in the text that c++filt prints.
 * Called by the memory checker in a context, for a client's names, and by vgpu for what the host's side of a program is called.
 *
 * A recursive descent that makes strings. A type has two, since what it belongs to may stand in its middle: "void (*" and ")(int)".
 * A pack of template arguments is a list of them, and so is every type that is made of one. Strings live in one arena: a name that
 * would need more of it, or that nests deeper than any compiler's, is left as it is. What one expression means: demangle_expr.c.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle_own.h"

const char *dm_cat(struct dm *d, const char *first, ...)
{
	char *at = d->arena + d->used;
	size_t n, room = ARENA - d->used;
	const char *s;
	va_list ap;

	va_start(ap, first);
	for (s = first; s; s = va_arg(ap, const char *)) {
		n = strlen(s);
		if (n >= room) {
			d->bad = true;
			va_end(ap);
			return "";
		}
		memcpy(d->arena + d->used, s, n);
		d->used += n;
		room -= n;
	}
	va_end(ap);
	d->arena[d->used++] = 0;
	return at;
}

struct types dm_one(struct dm *d, const char *l, const char *r)
{
	struct types t = { 0, 0 };

	if (d->npairs == PAIRS) {
		d->bad = true;
		return t;
	}
	t.first = d->npairs;
	t.n = 1;
	d->pairs[d->npairs++] = (struct pair){ l, r };
	return t;
}

const char *dm_text(struct dm *d, struct types t)
{
	const char *all = "";

	for (u32 i = 0; i < t.n; i++) {
		const struct pair *p = &d->pairs[t.first + i];

		all = dm_cat(d, all, i ? ", " : "", p->l, *p->r == '(' ? " " : "", p->r, NULL);
	}
	return all;
}

void dm_remember(struct dm *d, struct types t)
{
	if (d->nsubs == SUBS)
		d->bad = true;
	else
		d->subs[d->nsubs++] = t;
}

bool dm_take(struct dm *d, const char *s)
{
	size_t n = strlen(s);

	if (strncmp(d->p, s, n))
		return false;
	d->p += n;
	return true;
}

struct types dm_bad(struct dm *d)
{
	d->bad = true;
	return dm_one(d, "", "");
}

u32 dm_number(struct dm *d)
{
	u32 v = 0;

	if (*d->p < '0' || *d->p > '9')
		d->bad = true;
	for (; *d->p >= '0' && *d->p <= '9'; d->p++)
		if ((v = v * 10 + (u32)(*d->p - '0')) > 100000)
			d->bad = true;
	return d->bad ? 0 : v;
}

/* <seq-id> _ of S and T: nothing is 0, 0 is 1. */
static u32 sequence(struct dm *d, u32 base)
{
	u32 v = 0;

	if (dm_take(d, "_"))
		return 0;
	for (; *d->p && *d->p != '_'; d->p++) {
		u32 digit = *d->p >= '0' && *d->p <= '9' ? (u32)(*d->p - '0') : *d->p >= 'A' && *d->p <= 'Z' ? (u32)(*d->p - 'A') + 10 : 99;

		if (digit >= base || v > 100000) {
			d->bad = true;
			return 0;
		}
		v = v * base + digit;
	}
	if (!dm_take(d, "_"))
		d->bad = true;
	return v + 1;
}

const char *dm_source_name(struct dm *d)
{
	u32 n = dm_number(d);
	char *s = d->arena + d->used;

	if (d->bad || !n || strnlen(d->p, n) < n || d->used + n + 1 > ARENA) {
		d->bad = true;
		return "";
	}
	memcpy(s, d->p, n);
	s[n] = 0;
	d->used += n + 1;
	d->p += n;
	return n >= 10 && !strncmp(s, "_GLOBAL__N", 10) ? "(anonymous namespace)" : s;
}

/* Template arguments that pairs[] has from first on, as "<...>". */
static const char *angles(struct dm *d, const char *of, struct types t)
{
	const char *in = dm_text(d, t);
	size_t n = strlen(in), o = strlen(of);

	return dm_cat(d, o && of[o - 1] == '<' ? " <" : "<", in, n && in[n - 1] == '>' ? " >" : ">", NULL);
}

const char *dm_template_args(struct dm *d, const char *of, bool own)
{
	struct types list[64], all = { 0, 0 };
	bool no_result = d->scope.no_result;
	u32 n = 0, i, k;
	const char *s;

	if (!dm_take(d, "I"))
		return dm_bad(d), "";
	while (!d->bad && !dm_take(d, "E")) {
		if (n == 64)
			return dm_bad(d), "";
		if (*d->p == 'J') {
			struct types pack = { 0, 0 }, part[64];
			u32 np = 0;

			d->p++;
			while (!d->bad && !dm_take(d, "E")) {
				if (np == 64 || !*d->p)
					return dm_bad(d), "";
				part[np++] = dm_arg(d);
			}
			pack.first = d->npairs;
			for (i = 0; i < np && !d->bad; i++)
				for (k = 0; k < part[i].n; k++)
					dm_one(d, d->pairs[part[i].first + k].l, d->pairs[part[i].first + k].r);
			pack.n = d->npairs - pack.first;
			list[n++] = pack;
		} else {
			list[n++] = dm_arg(d);
		}
	}
	all.first = d->npairs;
	for (i = 0; i < n && !d->bad; i++)
		for (k = 0; k < list[i].n; k++)
			dm_one(d, d->pairs[list[i].first + k].l, d->pairs[list[i].first + k].r);
	all.n = d->npairs - all.first;
	s = angles(d, of, all);
	if (own) {
		memcpy(d->scope.targs, list, n * sizeof(*list));
		d->scope.ntargs = n;
	}
	d->scope.no_result = no_result;         /* what the arguments are called is another matter */
	return d->bad ? "" : s;
}

static const struct { const char *code, *text; } operators[] = {
	{ "nw", " new" }, { "na", " new[]" }, { "dl", " delete" }, { "da", " delete[]" }, { "aw", " co_await" },
	{ "cl", "()" }, { "ix", "[]" }, { "ps", "+" }, { "ng", "-" }, { "ad", "&" }, { "de", "*" }, { "qu", "?" }, { "pt", "->" },
	{ "pm", "->*" }, { "pp", "++" }, { "mm", "--" },
#define BINARY(c, t) { c, t },
#include "demangle_ops.h"
#undef BINARY
};

/* What an unqualified name is; last: what the scope before it is called, for constructors. */
static const char *unqualified(struct dm *d, const char *last)
{
	const char *s = NULL;
	u32 i;

	while (dm_take(d, "L"))
		;
	if (*d->p >= '0' && *d->p <= '9') {
		s = dm_source_name(d);
	} else if (*d->p == 'C' && d->p[1] >= '1' && d->p[1] <= '5') {
		d->p += 2;
		d->scope.no_result = true;
		s = last;
	} else if (*d->p == 'D' && d->p[1] >= '0' && d->p[1] <= '5') {
		d->p += 2;
		d->scope.no_result = true;
		s = dm_cat(d, "~", last, NULL);
	} else if (dm_take(d, "Ut")) {
		char n[32];

		snprintf(n, sizeof(n), "{unnamed type#%u}", *d->p == '_' ? 1 : dm_number(d) + 2);
		if (!dm_take(d, "_"))
			d->bad = true;
		s = dm_cat(d, n, NULL);
	} else if (dm_take(d, "Ul")) {
		char n[16];
		bool was = d->lambda;

		d->lambda = true;
		s = dm_params(d, 'E');
		d->lambda = was;
		if (!dm_take(d, "E"))
			d->bad = true;
		snprintf(n, sizeof(n), "#%u}", *d->p == '_' ? 1 : dm_number(d) + 2);
		if (!dm_take(d, "_"))
			d->bad = true;
		s = dm_cat(d, "{lambda", s, n, NULL);
	} else if (dm_take(d, "cv")) {
		d->scope.no_result = true;
		s = dm_cat(d, "operator ", dm_text(d, dm_type(d)), NULL);
	} else if (dm_take(d, "li")) {
		s = dm_cat(d, "operator\"\" ", dm_source_name(d), NULL);
	} else {
		for (i = 0; i < sizeof(operators) / sizeof(operators[0]) && !s; i++)
			if (dm_take(d, operators[i].code))
				s = dm_cat(d, "operator", operators[i].text, NULL);
		if (!s)
			return dm_bad(d), "";
	}
	while (dm_take(d, "B"))
		s = dm_cat(d, s, "[abi:", dm_source_name(d), "]", NULL);
	return s;
}

static const char *const standard[][2] = {
	{ "a", "std::allocator" }, { "b", "std::basic_string" },
	{ "s", "std::basic_string<char, std::char_traits<char>, std::allocator<char> >" },
	{ "i", "std::basic_istream<char, std::char_traits<char> >" }, { "o", "std::basic_ostream<char, std::char_traits<char> >" },
	{ "d", "std::basic_iostream<char, std::char_traits<char> >" },
};

/* Behind the S. */
struct types dm_substitution(struct dm *d)
{
	u32 i;

	for (i = 0; i < 6; i++)
		if (dm_take(d, standard[i][0]))
			return dm_one(d, standard[i][1], "");
	i = sequence(d, 36);
	return !d->bad && i < d->nsubs ? d->subs[i] : dm_bad(d);
}

/* Behind the T. Where arguments are not known yet (a conversion to a type of its template) the name is left. */
struct types dm_template_param(struct dm *d)
{
	u32 i = sequence(d, 10);

	if (d->lambda && !d->bad) {
		char n[24];

		snprintf(n, sizeof(n), "auto:%u", i + 1);
		return dm_one(d, dm_cat(d, n, NULL), "");
	}
	return !d->bad && i < d->scope.ntargs ? d->scope.targs[i] : dm_bad(d);
}

/* The name behind the last :: of s that is not inside of brackets, without template arguments. */
static const char *last_part(struct dm *d, const char *s)
{
	const char *from = s, *p, *end = NULL;
	int depth = 0;
	char *copy;

	for (p = s; *p; p++) {
		if (*p == '<' || *p == '(')
			if (!depth++ && *p == '<')
				end = p;
		if (*p == '[' && !depth && !end)
			end = p;
		if (*p == '>' || *p == ')')
			depth--;
		if (!depth && p[0] == ':' && p[1] == ':') {
			from = p + 2;
			end = NULL;
		}
	}
	if (!end)
		return from;
	copy = (char *)(uintptr_t)dm_cat(d, from, NULL);
	if (!d->bad)
		copy[end - from] = 0;
	return copy;
}

static const char *qualifiers(struct dm *d)
{
	const char *r = dm_take(d, "r") ? " restrict" : "", *v = dm_take(d, "V") ? " volatile" : "", *k = dm_take(d, "K") ? " const" : "";

	return dm_cat(d, k, v, r, NULL);
}

/* Behind the N. args: whether the name ends with template arguments. */
static const char *nested(struct dm *d, bool own, bool *args)
{
	const char *s = "", *simple = "", *cv = qualifiers(d), *part;
	bool first = true;

	if (dm_take(d, "R"))
		cv = dm_cat(d, cv, " &", NULL);
	else if (dm_take(d, "O"))
		cv = dm_cat(d, cv, " &&", NULL);
	*args = false;
	while (!d->bad && !dm_take(d, "E")) {
		if (*d->p == 'I') {
			s = dm_cat(d, s, dm_template_args(d, s, own), NULL);
			*args = true;
		} else if (*d->p == 'S' && d->p[1] != 't') {
			d->p++;
			s = simple = dm_text(d, dm_substitution(d));
			first = *args = false;
			continue;               /* it is one already */
		} else if (dm_take(d, "St")) {
			s = simple = "std";
			first = *args = false;
			continue;
		} else if (dm_take(d, "M")) {
			continue;               /* of which member the lambda is a part */
		} else {
			if (*d->p == 'T') {
				d->p++;
				part = dm_text(d, dm_template_param(d));
			} else if (*d->p == 'D' && (d->p[1] == 't' || d->p[1] == 'T')) {
				part = dm_text(d, dm_type(d));
			} else {
				d->scope.no_result = false;
				part = unqualified(d, last_part(d, s));
			}
			simple = first ? part : dm_cat(d, simple, "::", part, NULL);
			s = first ? part : dm_cat(d, s, "::", part, NULL);
			*args = false;
		}
		first = false;
		if (*d->p != 'E')
			dm_remember(d, dm_one(d, s, ""));
	}
	if (own) {
		d->scope.cv = cv;
		d->scope.simple = simple;
	}
	return s;
}

/* Behind the Z: what is declared in a function. */
static const char *local_name(struct dm *d, bool own, bool *args)
{
	struct dm_scope was = d->scope;
	const char *f, *s;

	f = dm_encoding(d, true);
	d->scope = was;
	*args = false;
	if (!dm_take(d, "E"))
		return dm_bad(d), "";
	if (dm_take(d, "s"))
		return dm_cat(d, f, "::string literal", NULL);
	if (dm_take(d, "d"))
		return dm_bad(d), "";           /* a default argument */
	s = dm_name(d, own, args);
	if (dm_take(d, "__")) {
		dm_number(d);
		if (!dm_take(d, "_"))
			d->bad = true;
	} else if (*d->p == '_' && d->p[1] >= '0' && d->p[1] <= '9') {
		d->p += 2;
	}
	return dm_cat(d, f, "::", s, NULL);
}

const char *dm_name(struct dm *d, bool own, bool *args)
{
	const char *s;
	bool known = false;

	*args = false;
	if (dm_take(d, "N"))
		return nested(d, own, args);
	if (dm_take(d, "Z"))
		return local_name(d, own, args);
	if (*d->p == 'S' && d->p[1] != 't') {
		d->p++;
		s = dm_text(d, dm_substitution(d));
		known = true;
	} else if (dm_take(d, "St")) {
		s = dm_cat(d, "std::", unqualified(d, ""), NULL);
	} else {
		s = unqualified(d, "");
	}
	if (own)
		d->scope.simple = s;
	if (*d->p == 'I') {
		if (!known)
			dm_remember(d, dm_one(d, s, ""));
		s = dm_cat(d, s, dm_template_args(d, s, own), NULL);
		*args = true;
	}
	return s;
}

/* "(int, float)", until something that cannot be a type. */
const char *dm_params(struct dm *d, char end)
{
	const char *s = "";
	bool first = true;

	if (*d->p == 'v' && (d->p[1] == end || !d->p[1] || d->p[1] == '.' || d->p[1] == 'E')) {
		d->p++;
		return "()";
	}
	while (!d->bad && *d->p && *d->p != end && *d->p != 'E' && *d->p != '.') {
		struct types t = dm_type(d);

		if (!t.n)
			continue;               /* a pack of nothing */
		s = dm_cat(d, s, first ? "" : ", ", dm_text(d, t), NULL);
		first = false;
	}
	return dm_cat(d, "(", s, ")", NULL);
}

/* A function with its parameters, or a variable. */
const char *dm_encoding(struct dm *d, bool inner)
{
	const char *s, *params;
	struct types result;
	bool args, with_result;

	if (++d->depth > DEPTH)
		return dm_bad(d), "";
	d->scope.cv = "";
	d->scope.no_result = false;
	s = dm_name(d, true, &args);
	d->depth--;
	d->scope.name = s;
	d->scope.args = args;
	if (!*d->p || *d->p == '.' || *d->p == 'E')
		return s;
	with_result = args && !d->scope.no_result;
	if (with_result) {
		const char *cv = d->scope.cv, *simple = d->scope.simple;

		result = dm_type(d);
		params = dm_params(d, 'E');
		d->scope.simple = simple;
		d->scope.name = s;
		d->scope.args = args;
		/* one within another has none, as c++filt prints them */
		if (inner || d->bad)
			return dm_cat(d, s, params, cv, NULL);
		return dm_cat(d, d->pairs[result.first].l, *d->pairs[result.first].r ? "" : " ", s, params, cv, d->pairs[result.first].r, NULL);
	}
	params = dm_params(d, 'E');
	return dm_cat(d, s, params, d->scope.cv, NULL);
}

bool demangle(const char *name, enum demangle how, char *out, size_t room)
{
	struct dm *d = strncmp(name, "_Z", 2) ? NULL : malloc(sizeof(*d));
	const char *s;
	bool ok = false;

	if (d) {
		memset(d, 0, offsetof(struct dm, arena));
		d->p = name + 2;
		d->scope.simple = d->scope.cv = "";
		s = dm_encoding(d, false);
		if (!d->bad && how == DEMANGLE_SIMPLE)
			s = d->scope.simple;
		else if (*d->p == '.')
			s = dm_cat(d, s, " [clone ", d->p, "]", NULL);
		ok = !d->bad && *s && (!*d->p || *d->p == '.') && strlen(s) < room;
		if (ok)
			snprintf(out, room, "%s", s);
		free(d);
	}
	if (!ok)
		snprintf(out, room, "%s", name);
	return ok;
}
