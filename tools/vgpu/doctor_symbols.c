/* SPDX-License-Identifier: MIT */
/*
 * vgpu doctor: names that an object wants from a CUDA library and that ours lacks, versions included.
 * One missing name and the loader refuses the program (or dlopen the backend).
 */
#define _GNU_SOURCE
#include "doctor.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The exports of one library, sorted; "name" or "name@version". */
struct names {
	char path[PATH_MAX];
	char **name;
	size_t n, room;
	int versions;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int collect(void *owner, const struct elf_symbol *s)
{
	struct names *t = owner;

	if (!s->defined)
		return 0;
	if (t->n == t->room) {
		t->room = t->room ? 2 * t->room : 1024;
		t->name = realloc(t->name, t->room * sizeof(*t->name));
		if (!t->name)
			abort();
	}
	if (asprintf(&t->name[t->n++], "%s%s%s", s->name, *s->version ? "@" : "", s->version) < 0)
		abort();
	t->versions |= *s->version != 0;
	return 0;
}

/* Few libraries, asked for again and again: the tables stay until the end. */
static const struct names *exports(const char *path)
{
	static struct names table[16];
	static unsigned used;
	struct names *t;
	struct elf e;

	for (unsigned i = 0; i < used; i++)
		if (!strcmp(table[i].path, path))
			return &table[i];
	if (used == sizeof(table) / sizeof(table[0]) || strlen(path) >= PATH_MAX || elf_open(&e, path))
		return NULL;
	t = &table[used++];
	strcpy(t->path, path);
	elf_symbols(&e, collect, t);
	elf_close(&e);
	if (t->n)
		qsort(t->name, t->n, sizeof(*t->name), by_name);
	return t;
}

static int has(const struct names *t, const char *name)
{
	return t->n && bsearch(&name, t->name, t->n, sizeof(*t->name), by_name);
}

static int has_any_version(const struct names *t, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < t->n; i++)
		if (!strncmp(t->name[i], name, n) && t->name[i][n] == '@')
			return 1;
	return 0;
}

const char *lacks(struct doctor *d, const char *lib, const char *const *names)
{
	const struct names *t = exports(text("%s/%s", d->lib, lib));
	char list[600] = "";

	if (!t)
		return NULL;
	for (; *names; names++)         /* dlsym asks for no version */
		if (!has(t, *names) && !has_any_version(t, *names) && strlen(list) + strlen(*names) + 2 < sizeof(list))
			strcat(strcat(list, " "), *names);
	return text("%s", list);
}

struct want {
	struct doctor *d;
	const struct closure *c;
	const struct object *o;
	struct missing {
		char lib[64], list[600];
		unsigned n, checked;
	} lib[8];
	unsigned libs;
};

/* Which CUDA library a name without a version belongs to; NULL for others. */
static const char *library_of(const char *name)
{
	if (!strncmp(name, "nvml", 4) && isupper((unsigned char)name[4]))
		return "libnvidia-ml.so.1";
	if (!strncmp(name, "cu", 2) && isupper((unsigned char)name[2]))
		return "libcuda.so.1";
	return NULL;
}

static int wanted(void *owner, const struct elf_symbol *s)
{
	struct want *w = owner;
	const char *lib = s->file && is_cuda(s->file) ? s->file : *s->version ? NULL : library_of(s->name);
	const struct object *from;
	const struct names *t;
	struct missing *m = NULL;
	char full[512];

	if (s->defined || s->weak || !lib)
		return 0;
	from = ldso_find(w->c, lib);
	/* a library that is not ours is reported elsewhere; then ours is what the fix will bring */
	t = exports(from && from->path && is_ours(w->d, from->path) ? from->path : text("%s/%s", w->d->lib, lib));
	if (!t)
		return 0;
	for (unsigned i = 0; i < w->libs; i++)
		if (!strcmp(w->lib[i].lib, lib))
			m = &w->lib[i];
	if (!m && w->libs == 8)
		return 0;
	if (!m) {
		m = &w->lib[w->libs++];
		snprintf(m->lib, sizeof(m->lib), "%s", lib);
	}
	m->checked++;
	snprintf(full, sizeof(full), "%s%s%s", s->name, t->versions && *s->version ? "@" : "", t->versions ? s->version : "");
	if (has(t, full))
		return 0;
	m->n++;
	if (strlen(m->list) + strlen(full) + 8 < sizeof(m->list))
		snprintf(m->list + strlen(m->list), sizeof(m->list) - strlen(m->list), " %s", full);
	else if (m->list[0] && m->list[strlen(m->list) - 1] != '.')
		strcat(m->list, " ...");
	return 0;
}

void check_symbols(struct doctor *d, const struct closure *c, unsigned i)
{
	struct want *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	w->d = d;
	w->c = c;
	w->o = &c->o[i];
	if (elf_symbols(&c->o[i].elf, wanted, w))
		report(d, WARN, "symbols", text("reinstall %s", c->o[i].path), "the symbol tables of %s are damaged", c->o[i].path);
	for (unsigned k = 0; k < w->libs; k++) {
		struct missing *m = &w->lib[k];

		if (m->n)
			report(d, FAIL, "symbols", text("another build of %s, or a vgpu whose %s has them", base(c->o[i].path), m->lib),
			       "%s wants %u name%s that our %s lacks:%s", base(c->o[i].path), m->n, m->n == 1 ? "" : "s", m->lib,
			       m->list);
		else
			report(d, GOOD, "symbols", NULL, "%s wants %u names of %s: ours has all", base(c->o[i].path), m->checked, m->lib);
	}
	free(w);
}
