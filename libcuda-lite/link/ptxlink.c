/* SPDX-License-Identifier: MIT */
/* Several PTX texts become one: the rules stand in ptxlink.h. */
#include "own.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct def {
	struct file *file;
	struct item *item;
};

/*
 * Functions of the device itself, and those of the device runtime: the engine has them. The kernel that calls one which it has not is refused when
 * it is used, the others of the program run.
 */
static const char *const own_functions[] = { "vprintf", "malloc", "free", "__assertfail", "__assert_fail", "memcpy", "memset", "cudaGraphSetConditional",
#define DEVRT(name, params, ret) "cuda" #name,
#include "../../fw-protocol/vgpu_devrt.def"
#undef DEVRT
					     "__cudaDeviceSynchronizeDeprecationAvoidance" };
static const char device_runtime[] = "__cudaCDP";        /* what nvcc's headers call in their places begins so */

/* ---- a table by name: open addressing, never full ---- */

static uint64_t hash(struct slice s)
{
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * 1099511628211u;
	return h ^ h >> 29;
}

static struct entry *place(const struct table *t, struct slice name)
{
	size_t i = hash(name) & (t->room - 1);

	while (t->at[i].name.p && (t->at[i].name.n != name.n || memcmp(t->at[i].name.p, name.p, name.n)))
		i = (i + 1) & (t->room - 1);
	return &t->at[i];
}

void *table_get(const struct table *t, struct slice name)
{
	return t->room ? place(t, name)->value : NULL;
}

void **table_put(struct table *t, struct slice name)
{
	struct entry *e;

	if (2 * (t->used + 1) > t->room) {
		struct table bigger = { .room = t->room ? 2 * t->room : 64, .used = t->used };

		bigger.at = calloc(bigger.room, sizeof(*bigger.at));
		if (!bigger.at)
			return NULL;
		for (size_t i = 0; i < t->room; i++)
			if (t->at[i].name.p)
				*place(&bigger, t->at[i].name) = t->at[i];
		free(t->at);
		*t = bigger;
	}
	e = place(t, name);
	t->used += !e->name.p;
	e->name = name;
	return &e->value;
}

static void table_free(struct table *t, int values)
{
	for (size_t i = 0; values && i < t->room; i++)
		free(t->at[i].value);
	free(t->at);
	*t = (struct table){ 0 };
}

/* ---- the linker's own life ---- */

static void append(struct ptxlink *l, const char *p, size_t n)
{
	if (l->out_used + n + 1 > l->out_room) {
		size_t room = 2 * (l->out_used + n + 1);
		char *q = realloc(l->out, room);

		if (!q) {
			l->no_memory = 1;
			return;
		}
		l->out = q;
		l->out_room = room;
	}
	memcpy(l->out + l->out_used, p, n);
	l->out_used += n;
	l->out[l->out_used] = 0;
}

void link_say(struct ptxlink *l, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	n = strlen(line);
	line[n++] = '\n';
	if (l->log_used + n + 1 > l->log_room) {
		char *q = realloc(l->log, 2 * (l->log_used + n + 1));

		if (!q)
			return;
		l->log = q;
		l->log_room = 2 * (l->log_used + n + 1);
	}
	memcpy(l->log + l->log_used, line, n);
	l->log_used += n;
	l->log[l->log_used] = 0;
}

const char *ptxlink_log(const struct ptxlink *l)
{
	return l->log ? l->log : "";
}

struct ptxlink *ptxlink_new(unsigned target)
{
	struct ptxlink *l = calloc(1, sizeof(*l));

	if (l) {
		l->target = target;
		l->tail = &l->files;
	}
	return l;
}

static void file_free(struct file *f)
{
	table_free(&f->renamed, 1);
	free(f->items);
	free(f->text);
	free(f->name);
	free(f);
}

void ptxlink_free(struct ptxlink *l)
{
	while (l && l->files) {
		struct file *f = l->files;

		l->files = f->next;
		file_free(f);
	}
	if (l) {
		table_free(&l->defined, 1);
		table_free(&l->missing, 0);
		free(l->log);
		free(l->out);
		free(l);
	}
}

unsigned ptxlink_count(const struct ptxlink *l)
{
	return l->nfiles;
}

/*
 * NVIDIA's own libcudadevrt: no other file calls what its driver answers to that. It is in every program that nvcc links where the
 * PTX is all there is (-gencode arch=compute_80,code=compute_80), for the highest architecture of that release. Ours stand in its place.
 */
static int is_devrt(const struct file *f)
{
	static const char name[] = "cnpLaunchDevice";

	for (size_t i = 0; i < f->nitems; i++)
		if (f->items[i].kind == ITEM_FUNC && !f->items[i].defines && f->items[i].name.n == sizeof name - 1 &&
		    !memcmp(f->items[i].name.p, name, sizeof name - 1))
			return 1;
	return 0;
}

int add_text(struct ptxlink *l, char *text, size_t bytes, const char *name, int lazy)
{
	struct file *f = calloc(1, sizeof(*f));
	int err;

	if (f)
		f->name = strdup(name && *name ? name : "<unnamed>");
	if (!f || !f->name) {
		free(f);
		free(text);
		return PTXLINK_NO_MEMORY;
	}
	f->text = text;
	f->bytes = strnlen(text, bytes);
	f->lazy = lazy;
	err = file_scan(l, f);
	if (!err && is_devrt(f)) {
		file_free(f);
		return PTXLINK_OK;
	}
	*l->tail = f;
	l->tail = &f->next;
	l->nfiles += !lazy;
	return err;
}

/* ---- who defines what ---- */

static int own_function(struct slice s)
{
	if (s.n > 9 && !memcmp(s.p, "cuda", 4) && !memcmp(s.p + s.n - 5, "_ptsz", 5))
		s.n -= 5;
	for (size_t i = 0; i < sizeof(own_functions) / sizeof(own_functions[0]); i++)
		if (s.n == strlen(own_functions[i]) && !memcmp(s.p, own_functions[i], s.n))
			return 1;
	return s.n >= sizeof device_runtime && !memcmp(s.p, device_runtime, sizeof device_runtime - 1);
}

static int strength(const struct item *it)
{
	return it->link == ITEM_VISIBLE ? 3 : it->link == ITEM_WEAK ? 2 : it->link == ITEM_COMMON ? 1 : 0;
}

static int same(struct slice a, struct slice b)
{
	return a.n == b.n && !memcmp(a.p, b.p, a.n);
}

/* One definition for all files: the other is dropped, or two are too many. */
static int define(struct ptxlink *l, struct file *f, struct item *it)
{
	void **at = table_put(&l->defined, it->name);
	struct def *d = at ? *at : NULL;

	if (!at || (!d && !(d = calloc(1, sizeof(*d)))))
		return PTXLINK_NO_MEMORY;
	*at = d;
	if (!d->item) {
		*d = (struct def){ f, it };
		return PTXLINK_OK;
	}
	if (strength(it) == 3 && strength(d->item) == 3 && !(same(it->head, d->item->head) && same(it->text, d->item->text))) {
		link_say(l, "error   : Multiple definition of '%.*s' in '%s', first defined in '%s'", (int)it->name.n, it->name.p,
			 f->name, d->file->name);
		return PTXLINK_ERROR;
	}
	if (strength(it) > strength(d->item) ||
	    (it->link == ITEM_COMMON && d->item->link == ITEM_COMMON && it->elements > d->item->elements)) {
		d->item->dropped = 1;
		*d = (struct def){ f, it };
	} else {
		it->dropped = 1;
	}
	return PTXLINK_OK;
}

static int define_all(struct ptxlink *l, struct file *f)
{
	int err = PTXLINK_OK;

	for (size_t i = 0; i < f->nitems; i++) {
		struct item *it = &f->items[i];
		int one = it->defines && it->link != ITEM_LOCAL ? define(l, f, it) : PTXLINK_OK;

		err = err ? err : one;
	}
	return err;
}

/* Names that a file declares .extern and nobody defines, as far as its code uses them: into `missing`, value the file. */
static int want(struct ptxlink *l, struct file *f)
{
	struct table asked = { 0 };
	static char yes;
	int err = PTXLINK_OK;

	for (size_t i = 0; i < f->nitems; i++) {
		struct item *it = &f->items[i];

		if (it->link == ITEM_LOCAL || it->defines || it->shared || it->kind > ITEM_FUNC || own_function(it->name) ||
		    table_get(&l->defined, it->name))
			continue;
		void **at = table_put(&asked, it->name);

		if (!at)
			return PTXLINK_NO_MEMORY;
		*at = &yes;
	}
	for (size_t i = 0; asked.used && i < f->nitems && !err; i++) {
		struct slice text = f->items[i].text, t;
		const char *p = text.p, *end = p + text.n;

		if (!f->items[i].defines || f->items[i].dropped)
			continue;
		while ((t.p = next_token(p, end, &t.n)) != NULL) {
			p = t.p + t.n;
			if (is_name(t) && table_get(&asked, t)) {
				void **at = table_put(&l->missing, t);

				if (!at)
					err = PTXLINK_NO_MEMORY;
				else
					*at = f;
			}
		}
	}
	table_free(&asked, 0);
	return err;
}

static int defines_missing(const struct ptxlink *l, const struct file *f)
{
	for (size_t i = 0; i < f->nitems; i++)
		if (f->items[i].defines && f->items[i].link != ITEM_LOCAL && table_get(&l->missing, f->items[i].name))
			return 1;
	return 0;
}

static int resolve(struct ptxlink *l)
{
	struct file *f;
	int err = PTXLINK_OK, more;

	for (f = l->files; f; f = f->next)
		if (!f->lazy) {
			int one = define_all(l, f);

			err = err ? err : one;
		}
	do {
		more = 0;
		table_free(&l->missing, 0);
		for (f = l->files; f && !err; f = f->next)
			if (!f->lazy)
				err = want(l, f);
		for (f = l->files; f && !err; f = f->next)
			if (f->lazy && defines_missing(l, f)) {
				f->lazy = 0;
				more = 1;
				err = define_all(l, f);
			}
	} while (more && !err);
	for (size_t i = 0; !err && i < l->missing.room; i++)
		if (l->missing.at[i].name.p)
			link_say(l, "error   : Undefined reference to '%.*s' in '%s'", (int)l->missing.at[i].name.n,
				 l->missing.at[i].name.p, ((struct file *)l->missing.at[i].value)->name);
	return !err && l->missing.used ? PTXLINK_ERROR : err;
}

/* ---- names of one file's own ---- */

/* taken: name -> the file that has it, or the linker itself for those that all see. */
static int rename_own(struct ptxlink *l, struct file *f, unsigned number, struct table *taken)
{
	for (size_t i = 0; i < f->nitems; i++) {
		struct item *it = &f->items[i];
		void **at, **new;

		if (!it->name.p || it->kind == ITEM_OTHER || it->link != ITEM_LOCAL)
			continue;
		at = table_put(taken, it->name);
		if (!at)
			return PTXLINK_NO_MEMORY;
		if (!*at)
			*at = f;
		if (*at == f || table_get(&f->renamed, it->name))
			continue;
		new = table_put(&f->renamed, it->name);
		if (!new || !(*new = malloc(it->name.n + 24)))
			return PTXLINK_NO_MEMORY;
		snprintf(*new, it->name.n + 24, "%.*s__vgpu_file%u", (int)it->name.n, it->name.p, number);
	}
	(void)l;
	return PTXLINK_OK;
}

static int rename_all(struct ptxlink *l)
{
	struct table taken = { 0 };
	unsigned number = 0;
	int err = PTXLINK_OK;

	for (struct file *f = l->files; f; f = f->next)
		for (size_t i = 0; !f->lazy && i < f->nitems; i++) {
			struct item *it = &f->items[i];
			void **at = it->name.p && it->link != ITEM_LOCAL ? table_put(&taken, it->name) : NULL;

			if (at)
				*at = l;
		}
	for (struct file *f = l->files; f && !err; f = f->next)
		err = f->lazy ? 0 : rename_own(l, f, ++number, &taken);
	table_free(&taken, 0);
	return err;
}

/* ---- the text ---- */

static void emit(struct ptxlink *l, const struct file *f, struct slice s)
{
	const char *from = s.p, *p = s.p, *end = s.p + s.n;
	struct slice t;

	while (f->renamed.used && (t.p = next_token(p, end, &t.n)) != NULL) {
		const char *new = is_name(t) ? table_get(&f->renamed, t) : NULL;

		p = t.p + t.n;
		if (!new)
			continue;
		append(l, from, (size_t)(t.p - from));
		append(l, new, strlen(new));
		from = p;
	}
	append(l, from, (size_t)(end - from));
}

enum phase { PROTOTYPES, VARIABLES, FUNCTIONS, ALIASES, PHASES };

static int due(struct ptxlink *l, const struct item *it, enum phase phase, struct table *once, struct file *f)
{
	static char yes;
	int common = it->link != ITEM_LOCAL && !it->defines;
	enum phase own = it->kind == ITEM_VAR ? VARIABLES : it->kind == ITEM_ALIAS ? ALIASES :
			 it->kind == ITEM_FUNC ? (it->defines ? FUNCTIONS : PROTOTYPES) : PROTOTYPES;
	void **at;

	(void)f;
	if (own != phase || it->dropped)
		return 0;
	if (!common || it->kind == ITEM_OTHER)
		return 1;
	/* declared in many files: once; a variable not at all where it is defined, or is nowhere */
	if (it->kind == ITEM_VAR && (table_get(&l->defined, it->name) || !it->shared))
		return 0;
	at = table_put(once, it->name);
	if (!at || *at) {
		l->no_memory |= !at;
		return 0;
	}
	*at = &yes;
	return 1;
}

static void write_out(struct ptxlink *l)
{
	unsigned version = 0, target = 0;
	struct table once = { 0 };
	char line[96], suffix = 0;

	for (struct file *f = l->files; f; f = f->next) {
		if (f->lazy)
			continue;
		version = f->version > version ? f->version : version;
		suffix = f->target > target ? f->suffix : f->target == target && f->suffix ? f->suffix : suffix;
		target = f->target > target ? f->target : target;
	}
	snprintf(line, sizeof(line), ".version %u.%u\n.target sm_%u%.1s\n.address_size 64\n", version / 100, version % 100, target, &suffix);
	append(l, line, strlen(line));
	for (enum phase phase = 0; phase < PHASES; phase++)
		for (struct file *f = l->files; f; f = f->next)
			for (size_t i = 0; !f->lazy && i < f->nitems; i++) {
				const struct item *it = &f->items[i];

				if (!due(l, it, phase, &once, f))
					continue;
				emit(l, f, it->head);
				emit(l, f, it->text);
				append(l, it->kind == ITEM_VAR ? ";\n" : "\n", it->kind == ITEM_VAR ? 2 : 1);
			}
	table_free(&once, 0);
}

/* In front of all others, so that it is taken before an archive's. */
static int add_devrt(struct ptxlink *l)
{
	struct file *first = l->files, **tail = l->tail;
	char *text = strdup(link_devrt);
	int err;

	if (!text)
		return PTXLINK_NO_MEMORY;
	l->files = NULL;
	l->tail = &l->files;
	err = add_text(l, text, strlen(text), "libcudadevrt of vgpu", 1);
	*l->tail = first;
	l->tail = tail;
	return err;
}

int ptxlink_complete(struct ptxlink *l, const char **text, size_t *bytes)
{
	struct file *only = NULL;
	unsigned n = 0;
	int err;

	if (!l->nfiles) {
		link_say(l, "error   : no input holds PTX");
		return PTXLINK_NO_PTX;
	}
	err = l->no_memory ? PTXLINK_NO_MEMORY : add_devrt(l);
	if (!err)
		err = resolve(l);
	if (err)
		return err;
	for (struct file *f = l->files; f; f = f->next)
		if (!f->lazy) {
			only = f;
			n++;
		}
	l->out_used = 0;
	if (n == 1) {
		append(l, only->text, only->bytes);
	} else {
		err = rename_all(l);
		if (!err)
			write_out(l);
	}
	if (err || l->no_memory)
		return PTXLINK_NO_MEMORY;
	*text = l->out;
	*bytes = l->out_used;
	return PTXLINK_OK;
}
