/* SPDX-License-Identifier: MIT */
/* Template arguments that are values, and the expressions of types that depend on one: see demangle.c. */
#include <stdio.h>
#include <string.h>

#include "demangle_own.h"

static const struct { const char *code, *text; } binary[] = {
#define BINARY(c, t) { c, t },
#include "demangle_ops.h"
#undef BINARY
};

/* Behind the L. */
static const char *literal(struct dm *d)
{
	static const struct { const char *type, *suffix; } plain[] = {
		{ "int", "" }, { "unsigned int", "u" }, { "long", "l" }, { "unsigned long", "ul" }, { "long long", "ll" },
		{ "unsigned long long", "ull" },
	};
	const char *t, *minus, *at, *value;
	char *copy;
	size_t n;
	u32 i;

	if (dm_take(d, "_Z")) {
		struct dm_scope was = d->scope;

		value = dm_encoding(d, false);
		d->scope = was;
		if (!dm_take(d, "E"))
			d->bad = true;
		return value;
	}
	t = dm_text(d, dm_type(d));
	minus = dm_take(d, "n") ? "-" : "";
	at = d->p;
	n = strcspn(at, "E");
	if (d->bad || !at[n]) {
		d->bad = true;
		return "";
	}
	copy = (char *)(uintptr_t)dm_cat(d, at, NULL);
	if (d->bad)
		return "";
	copy[n] = 0;
	d->p = at + n + 1;
	if (!strcmp(t, "bool") && n == 1 && (*copy == '0' || *copy == '1'))
		return *copy == '1' ? "true" : "false";
	for (i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (!strcmp(t, plain[i].type))
			return dm_cat(d, minus, copy, plain[i].suffix, NULL);
	if (!strcmp(t, "float") || !strcmp(t, "double"))
		return dm_cat(d, "(", t, ")", "[", copy, "]", NULL);
	return dm_cat(d, "(", t, ")", minus, copy, NULL);
}

static bool plain_operand(const char *s)
{
	return *s && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789{}#") == strlen(s);
}

static const char *operand(struct dm *d, const char *s)
{
	return plain_operand(s) ? s : dm_cat(d, "(", s, ")", NULL);
}

static const char *list(struct dm *d)
{
	const char *s = "";
	bool first = true;

	while (!d->bad && *d->p && !dm_take(d, "E")) {
		s = dm_cat(d, s, first ? "" : ", ", dm_expr(d), NULL);
		first = false;
	}
	return s;
}

static const char *expr(struct dm *d)
{
	const char *a, *b;
	bool args;
	u32 i;

	if (dm_take(d, "L"))
		return literal(d);
	if (*d->p == 'T') {
		d->p++;
		return dm_text(d, dm_template_param(d));
	}
	if (dm_take(d, "fp")) {                 /* a parameter of the function */
		char n[32];

		while (*d->p == 'r' || *d->p == 'V' || *d->p == 'K')
			d->p++;
		snprintf(n, sizeof(n), "{parm#%u}", *d->p == '_' ? 1 : dm_number(d) + 2);
		if (!dm_take(d, "_"))
			d->bad = true;
		return dm_cat(d, n, NULL);
	}
	if (dm_take(d, "st"))
		return dm_cat(d, "sizeof (", dm_text(d, dm_type(d)), ")", NULL);
	if (dm_take(d, "sz")) {
		a = dm_expr(d);
		return dm_cat(d, "sizeof ", operand(d, a), NULL);
	}
	if (dm_take(d, "sr")) {
		if (*d->p >= '0' && *d->p <= '9') {
			for (a = ""; !d->bad && !dm_take(d, "E");) {
				a = dm_cat(d, a, *a ? "::" : "", dm_source_name(d), NULL);
				if (*d->p == 'I')
					a = dm_cat(d, a, dm_template_args(d, a, false), NULL);
			}
			return dm_cat(d, a, "::", dm_name(d, false, &args), NULL);
		}
		a = dm_text(d, dm_type(d));
		b = dm_name(d, false, &args);
		return dm_cat(d, a, "::", b, NULL);
	}
	if (dm_take(d, "cl")) {
		a = dm_expr(d);
		b = list(d);
		return dm_cat(d, operand(d, a), "(", b, ")", NULL);
	}
	if (dm_take(d, "cv")) {
		a = dm_text(d, dm_type(d));
		if (dm_take(d, "_"))
			b = list(d);
		else
			b = dm_expr(d);
		return dm_cat(d, "(", a, ")", operand(d, b), NULL);
	}
	if (dm_take(d, "sp"))                   /* a pack is a list already */
		return dm_expr(d);
	if (dm_take(d, "nx")) {
		a = dm_expr(d);
		return dm_cat(d, "noexcept (", a, ")", NULL);
	}
	if (dm_take(d, "nt"))
		return dm_cat(d, "!", operand(d, dm_expr(d)), NULL);
	if (dm_take(d, "ng"))
		return dm_cat(d, "-", operand(d, dm_expr(d)), NULL);
	if (dm_take(d, "adL_Z")) {              /* a function's address: c++filt leaves those of a member of something out */
		struct dm_scope was = d->scope;
		bool nested = *d->p == 'N';

		a = dm_encoding(d, false);
		if (nested && !d->scope.args)
			a = d->scope.name;
		else
			a = dm_cat(d, "(", a, ")", NULL);
		d->scope = was;
		if (!dm_take(d, "E"))
			d->bad = true;
		return dm_cat(d, "&", a, NULL);
	}
	if (dm_take(d, "ad"))
		return dm_cat(d, "&", operand(d, dm_expr(d)), NULL);
	if (dm_take(d, "de"))
		return dm_cat(d, "*", operand(d, dm_expr(d)), NULL);
	if (dm_take(d, "co"))
		return dm_cat(d, "~", operand(d, dm_expr(d)), NULL);
	if (dm_take(d, "qu")) {
		const char *c = dm_expr(d);

		a = dm_expr(d);
		b = dm_expr(d);
		return dm_cat(d, operand(d, c), "?", operand(d, a), " : ", operand(d, b), NULL);
	}
	for (i = 0; i < sizeof(binary) / sizeof(binary[0]); i++)
		if (dm_take(d, binary[i].code)) {
			a = dm_expr(d);
			b = dm_expr(d);
			a = operand(d, a);
			b = operand(d, b);
			/* or it would end the list of arguments */
			if (*binary[i].text == '>')
				return dm_cat(d, "(", a, binary[i].text, b, ")", NULL);
			return dm_cat(d, a, binary[i].text, b, NULL);
		}
	if (*d->p >= '0' && *d->p <= '9')
		return dm_name(d, false, &args);
	d->bad = true;
	return "";
}

const char *dm_expr(struct dm *d)
{
	const char *s;

	if (d->bad || ++d->depth > DEPTH) {
		d->bad = true;
		return "";
	}
	s = expr(d);
	d->depth--;
	return d->bad ? "" : s;
}

struct types dm_arg(struct dm *d)
{
	const char *s;

	if (dm_take(d, "L"))
		return dm_one(d, literal(d), "");
	if (dm_take(d, "X")) {
		s = dm_expr(d);
		if (!dm_take(d, "E"))
			d->bad = true;
		return dm_one(d, s, "");
	}
	return dm_type(d);
}
