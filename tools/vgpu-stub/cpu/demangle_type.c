/* SPDX-License-Identifier: MIT */
/* Types of C++ names: see demangle.c. */
#include <stdio.h>
#include <string.h>

#include "demangle_own.h"

static const struct { const char *code, *text; } builtin[] = {
	{ "v", "void" }, { "w", "wchar_t" }, { "b", "bool" }, { "c", "char" }, { "a", "signed char" }, { "h", "unsigned char" },
	{ "s", "short" }, { "t", "unsigned short" }, { "i", "int" }, { "j", "unsigned int" }, { "l", "long" }, { "m", "unsigned long" },
	{ "x", "long long" }, { "y", "unsigned long long" }, { "n", "__int128" }, { "o", "unsigned __int128" }, { "f", "float" },
	{ "d", "double" }, { "e", "long double" }, { "g", "__float128" }, { "z", "..." }, { "Dn", "decltype(nullptr)" },
	{ "Di", "char32_t" }, { "Ds", "char16_t" }, { "Du", "char8_t" }, { "Da", "auto" }, { "Dc", "decltype(auto)" },
	{ "Dh", "half" }, { "DF16_", "_Float16" }, { "DF16b", "std::bfloat16_t" }, { "DF32_", "_Float32" }, { "DF64_", "_Float64" },
};

/* Every type of the list with something around what it is of: "int" and "*", "void (*" and ")(int)". */
static struct types around(struct dm *d, struct types in, const char *what)
{
	struct types out = { d->npairs, 0 };
	u32 i;

	for (i = 0; i < in.n && !d->bad; i++) {
		const char *l = d->pairs[in.first + i].l, *r = d->pairs[in.first + i].r;
		bool open = *r == '(' || !strncmp(r, " [", 2);
		size_t n = strlen(l);

		/* a reference to a reference, by a template's argument: one of them is what it is */
		if (*what == '&' && n && l[n - 1] == '&') {
			if (!what[1] && n > 1 && l[n - 2] == '&') {
				char *shorter = (char *)(uintptr_t)dm_cat(d, l, NULL);

				if (!d->bad)
					shorter[n - 1] = 0;
				l = shorter;
			}
			dm_one(d, l, r);
			continue;
		}
		if (open)
			dm_one(d, dm_cat(d, l, *r == '(' || l[n - 1] != ' ' ? " (" : "(", what, NULL), dm_cat(d, ")", r, NULL));
		else
			dm_one(d, dm_cat(d, l, what, NULL), r);
	}
	out.n = d->npairs - out.first;
	return out;
}

/* Behind the F. */
static struct types function(struct dm *d)
{
	struct types result;
	const char *params;

	dm_take(d, "Y");
	result = dm_type(d);
	params = dm_params(d, 'E');
	if (dm_take(d, "R"))
		params = dm_cat(d, params, " &", NULL);
	else if (dm_take(d, "O"))
		params = dm_cat(d, params, " &&", NULL);
	if (!dm_take(d, "E") || d->bad || !result.n)
		return dm_bad(d);
	return dm_one(d, d->pairs[result.first].l, dm_cat(d, params, d->pairs[result.first].r, NULL));
}

/* Behind the A. */
static struct types array(struct dm *d)
{
	const char *n = "";
	struct types of;
	char text[16];

	if (*d->p >= '0' && *d->p <= '9') {
		snprintf(text, sizeof(text), "%u", dm_number(d));
		n = dm_cat(d, text, NULL);
	} else if (*d->p != '_') {
		n = dm_expr(d);
	}
	if (!dm_take(d, "_"))
		return dm_bad(d);
	of = dm_type(d);
	if (d->bad || !of.n)
		return dm_bad(d);
	/* of arrays: [2] [3], in this order */
	return dm_one(d, d->pairs[of.first].l, dm_cat(d, " [", n, "]", !strncmp(d->pairs[of.first].r, " [", 2) ?
						      d->pairs[of.first].r + 1 : d->pairs[of.first].r, NULL));
}

/* Behind the M: a pointer to a member. */
static struct types member(struct dm *d)
{
	const char *of = dm_text(d, dm_type(d));
	struct types t = dm_type(d);
	const char *l, *r;

	if (d->bad || !t.n)
		return dm_bad(d);
	l = d->pairs[t.first].l;
	r = d->pairs[t.first].r;
	if (*r == '(')
		return dm_one(d, dm_cat(d, l, " (", of, "::*", NULL), dm_cat(d, ")", r, NULL));
	return dm_one(d, dm_cat(d, l, " ", of, "::*", NULL), r);
}

/* Const and the like: behind what they are about, and behind the parameters of a function. */
static struct types qualified(struct dm *d)
{
	const char *r = dm_take(d, "r") ? " restrict" : "", *v = dm_take(d, "V") ? " volatile" : "", *k = dm_take(d, "K") ? " const" : "";
	const char *q = dm_cat(d, k, v, r, NULL);
	struct types of = dm_type(d), out = { d->npairs, 0 };

	for (u32 i = 0; i < of.n && !d->bad; i++) {
		const char *left = d->pairs[of.first + i].l, *right = d->pairs[of.first + i].r;
		size_t n = strlen(left), m = strlen(q);

		if (*right == '(')
			dm_one(d, left, dm_cat(d, right, q, NULL));
		else if (n && left[n - 1] == '&')
			dm_one(d, left, right);         /* references are what they are */
		else if (n >= m && !strcmp(left + n - m, q))
			dm_one(d, left, right);         /* an argument of a template has it already */
		else
			dm_one(d, dm_cat(d, left, q, NULL), right);
	}
	out.n = d->npairs - out.first;
	return out;
}

static struct types type(struct dm *d)
{
	struct types t;
	bool args;
	u32 i;

	switch (*d->p) {
	case 'r': case 'V': case 'K':
		t = qualified(d);
		break;
	case 'P': d->p++; t = around(d, dm_type(d), "*"); break;
	case 'R': d->p++; t = around(d, dm_type(d), "&"); break;
	case 'O': d->p++; t = around(d, dm_type(d), "&&"); break;
	case 'F': d->p++; t = function(d); break;
	case 'A': d->p++; t = array(d); break;
	case 'M': d->p++; t = member(d); break;
	case 'T':
		d->p++;
		t = dm_template_param(d);
		dm_remember(d, t);
		if (*d->p != 'I')
			return t;
		return dm_bad(d);               /* an argument that is a template itself */
	case 'u':
		d->p++;
		t = dm_one(d, dm_name(d, false, &args), "");
		break;
	case 'U':
		return dm_bad(d);
	case 'D':
		if (dm_take(d, "Dp"))
			return dm_type(d);      /* the pack is a list already */
		if (dm_take(d, "Dt") || dm_take(d, "DT")) {
			const char *e = dm_expr(d);

			if (!dm_take(d, "E"))
				return dm_bad(d);
			t = dm_one(d, dm_cat(d, "decltype (", e, ")", NULL), "");
			break;
		}
		if (dm_take(d, "Dv")) {
			char n[24];

			snprintf(n, sizeof(n), " __vector(%u)", dm_number(d));
			if (!dm_take(d, "_"))
				return dm_bad(d);
			t = around(d, dm_type(d), dm_cat(d, n, NULL));
			break;
		}
		if (dm_take(d, "Do")) {
			t = dm_type(d);
			if (d->bad || !t.n)
				return dm_bad(d);
			return dm_one(d, d->pairs[t.first].l, dm_cat(d, d->pairs[t.first].r, " noexcept", NULL));
		}
		/* fall through */
	default:
		for (i = 0; i < sizeof(builtin) / sizeof(builtin[0]); i++)
			if (dm_take(d, builtin[i].code))
				return dm_one(d, builtin[i].text, "");
		if (*d->p == 'S' && d->p[1] != 't') {
			d->p++;
			t = dm_substitution(d);
			if (*d->p != 'I')
				return t;
			t = dm_one(d, dm_cat(d, dm_text(d, t), dm_template_args(d, "", false), NULL), "");
			break;
		}
		if (!(*d->p >= '0' && *d->p <= '9') && *d->p != 'N' && *d->p != 'Z' && *d->p != 'S')
			return dm_bad(d);
		t = dm_one(d, dm_name(d, false, &args), "");
	}
	if (!d->bad)
		dm_remember(d, t);
	return t;
}

struct types dm_type(struct dm *d)
{
	struct types t = { 0, 0 };

	if (d->bad || ++d->depth > DEPTH) {
		d->bad = true;
		return t;
	}
	t = type(d);
	d->depth--;
	if (d->bad)
		t.n = 0;
	return t;
}
