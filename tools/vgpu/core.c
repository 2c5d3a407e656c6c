/* SPDX-License-Identifier: MIT */
/* The reader of device cores: core.h. */
#define _GNU_SOURCE
#include "core.h"

#include "../../fw-protocol/vgpu_core.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>


static bool within(uint64_t at, uint64_t n, uint64_t all) { return at <= all && n <= all - at; }

/* One more of a list; NULL: no memory. */
static void *more(void **list, uint32_t *n, size_t each)
{
	void *p = *list;

	if (!(*n & (*n - 1))) {
		p = realloc(*list, (*n ? 2 * (size_t)*n : 1) * each);
		if (!p)
			return NULL;
		*list = p;
	}
	p = (char *)*list + (size_t)*n * each;
	memset(p, 0, each);
	++*n;
	return p;
}
#define MORE(c, what) more((void **)&(c)->what, &(c)->n##what##s, sizeof(*(c)->what))

/* The next word of *p, ended by a NUL; NULL: there is none. */
static char *word(char **p)
{
	char *s = *p;

	while (*s == ' ')
		s++;
	if (!*s)
		return NULL;
	*p = s + strcspn(s, " ");
	if (**p)
		*(*p)++ = 0;
	return s;
}

static bool number(char **p, int base, uint64_t *v)
{
	char *s = word(p), *end;

	if (!s || *s == '-' || *s == '+')
		return false;
	errno = 0;
	*v = strtoull(s, &end, base);
	return !*end && !errno;
}

static bool number32(char **p, int base, uint32_t *v)
{
	uint64_t x;

	if (!number(p, base, &x) || x > UINT32_MAX)
		return false;
	*v = (uint32_t)x;
	return true;
}

static bool three(char *p, uint32_t *v)
{
	return number32(&p, 10, &v[0]) && number32(&p, 10, &v[1]) && number32(&p, 10, &v[2]);
}

static const char *rest(char *p)
{
	while (*p == ' ')
		p++;
	return p;
}

/* One line of the state; false: it is not as the format has it. */
static bool line(struct core *c, char *p)
{
	char *key = word(&p);
	struct core_frame *f = c->nframes ? &c->frame[c->nframes - 1] : NULL;
	struct core_warp *w = c->nwarps ? &c->warp[c->nwarps - 1] : NULL;

	if (!key)
		return true;
	if (!strcmp(key, "why"))
		c->why = rest(p);
	else if (!strcmp(key, "release"))
		c->release = rest(p);
	else if (!strcmp(key, "kernel"))
		c->kernel = rest(p);
	else if (!strcmp(key, "launch"))
		return number(&p, 10, &c->launch);
	else if (!strcmp(key, "grid"))
		return three(p, c->grid);
	else if (!strcmp(key, "block"))
		return three(p, c->block);
	else if (!strcmp(key, "at"))
		return three(p, c->at);
	else if (!strcmp(key, "thread"))
		return three(p, c->thread);
	else if (!strcmp(key, "address"))
		return number(&p, 16, &c->address);
	else if (!strcmp(key, "shared"))
		return number(&p, 16, &c->shared) && number(&p, 10, &c->shared_bytes);
	else if (!strcmp(key, "local"))
		return number(&p, 16, &c->local) && number(&p, 10, &c->local_stride);
	else if (!strcmp(key, "end"))
		c->whole = true;
	else if (!strcmp(key, "partly"))
		c->partly = true;
	else if (!strcmp(key, "param")) {
		struct core_param *r = MORE(c, param);

		r->name = r ? word(&p) : NULL;
		return r && r->name && number32(&p, 10, &r->offset) && (r->bytes = rest(p));
	} else if (!strcmp(key, "warp")) {
		w = MORE(c, warp);
		if (!w || !number32(&p, 10, &w->index) || !number32(&p, 16, &w->live) || w->index >= 32)
			return false;
		w->frame = c->nframes;
	} else if (!strcmp(key, "frame")) {
		f = w ? MORE(c, frame) : NULL;
		if (!f || !number32(&p, 10, &f->depth) || !number32(&p, 16, &f->lanes))
			return false;
		f->fn = rest(p);
		f->group = c->ngroups;
		f->reg = c->nregs;
		w->nframes++;
	} else if (!strcmp(key, "group")) {
		struct core_group *g = f ? MORE(c, group) : NULL;
		const char *source;

		if (!g || !number32(&p, 16, &g->lanes) || !(g->state = word(&p)) || !number32(&p, 10, &g->line) || !(source = word(&p)))
			return false;
		g->source = strcmp(source, "-") ? source : NULL;
		g->code = rest(p);
		f->ngroups++;
	} else if (!strcmp(key, "reg")) {
		struct core_reg *r = f ? MORE(c, reg) : NULL;
		const char *how;

		if (!r || !(r->name = word(&p)) || !(r->type = word(&p)) || !(how = word(&p)))
			return false;
		r->all = !strcmp(how, "all");
		r->values = rest(p);
		f->nregs++;
	}
	return true;
}

/* It is shown on terminals. */
static void plain(char *s, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (s[k] != '\n' && s[k] != '\t' && (s[k] < ' ' || s[k] > '~'))
			s[k] = '?';
}

static const char *read_state(struct core *c, const char *text, size_t n)
{
	char *p, *next;
	unsigned lines = 0;

	if (c->state)
		return "it has two states";
	c->state = malloc(n + 1);
	if (!c->state)
		return "no memory";
	memcpy(c->state, text, n);
	c->state[n] = 0;
	plain(c->state, n);
	if (strncmp(c->state, "vgpu-core 1\n", 12))
		return strncmp(c->state, "vgpu-core ", 10) ? "it is none of ours" : "it is of a later release than this vgpu";
	for (p = c->state; p; p = next) {
		next = strchr(p, '\n');
		/* one that is not ended was cut for want of room */
		if (!next && lines)
			break;
		if (next)
			*next++ = 0;
		if (!line(c, p))
			return "a line of its state is broken";
		lines++;
	}
	if (!c->kernel || !c->why || !c->nwarps || !c->block[0] || !c->block[1] || !c->block[2] ||
	    (uint64_t)c->block[0] * c->block[1] > 1024 || (uint64_t)c->block[0] * c->block[1] * c->block[2] > 1024)
		return "its state lacks what every core has";
	if (!c->release)
		c->release = "?";
	return NULL;
}

static void read_text(struct core *c, char *d, size_t n)
{
	struct core_text *t;
	const char *nl, *blank;
	size_t head;

	plain(d, n);
	nl = memchr(d, '\n', n);
	if (!nl || c->ntexts == sizeof(c->text) / sizeof(c->text[0]))
		return;
	head = (size_t)(nl - d);
	blank = memrchr(d, ' ', head);
	if (!blank)
		return;
	t = &c->text[c->ntexts];
	t->line = (uint32_t)strtoul(blank + 1, NULL, 10);
	d[blank - d] = 0;
	t->fn = d;
	t->text = nl + 1;
	t->n = n - head - 1;
	c->ntexts++;
}

static const char *read_notes(struct core *c, uint64_t at, uint64_t n)
{
	const char *why = NULL;
	Elf64_Nhdr h;

	while (!why && n >= sizeof(h)) {
		uint64_t name, desc, all;

		memcpy(&h, c->image + at, sizeof(h));
		name = ((uint64_t)h.n_namesz + 3) & ~3ull;
		desc = ((uint64_t)h.n_descsz + 3) & ~3ull;
		all = sizeof(h) + name + desc;
		if (all > n)
			return "a note is longer than what holds it";
		if (h.n_namesz == sizeof(VGPU_CORE_NAME) && !memcmp(c->image + at + sizeof(h), VGPU_CORE_NAME, sizeof(VGPU_CORE_NAME))) {
			char *d = (char *)c->image + at + sizeof(h) + name;

			if (h.n_type == VGPU_CORE_STATE)
				why = read_state(c, d, h.n_descsz);
			else if (h.n_type == VGPU_CORE_PTX)
				read_text(c, d, h.n_descsz);
		}
		at += all;
		n -= all;
	}
	return why;
}

const char *core_read(struct core *c, const void *image, size_t bytes)
{
	Elf64_Ehdr e;
	const char *why = NULL;

	memset(c, 0, sizeof(*c));
	if (bytes < sizeof(e))
		return "it is too short for an ELF file";
	memcpy(&e, image, sizeof(e));
	if (memcmp(e.e_ident, ELFMAG, SELFMAG) || e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_ident[EI_DATA] != ELFDATA2LSB)
		return "it is no ELF file of 64 bits";
	if (e.e_type != ET_CORE || e.e_machine != VGPU_CORE_MACHINE)
		return "it is no core of a device";
	if (e.e_phentsize != sizeof(Elf64_Phdr) || !within(e.e_phoff, (uint64_t)e.e_phnum * sizeof(Elf64_Phdr), bytes))
		return "its program headers are not in the file: it may have been cut";
	c->image = malloc(bytes);
	if (!c->image)
		return "no memory";
	memcpy(c->image, image, bytes);
	c->bytes = bytes;
	for (unsigned i = 0; i < e.e_phnum && !why; i++) {
		Elf64_Phdr h;

		memcpy(&h, c->image + e.e_phoff + i * sizeof(h), sizeof(h));
		if (!within(h.p_offset, h.p_filesz, bytes)) {
			why = "a part of it is not in the file: it may have been cut";
		} else if (h.p_type == PT_NOTE) {
			why = read_notes(c, h.p_offset, h.p_filesz);
		} else if (h.p_type == PT_LOAD && h.p_filesz && h.p_vaddr + h.p_filesz > h.p_vaddr) {
			struct core_load *l = MORE(c, load);

			if (!l)
				return "no memory";
			*l = (struct core_load){ h.p_vaddr, c->image + h.p_offset, h.p_filesz };
		}
	}
	return why ? why : c->state ? NULL : "it is a core of NVIDIA's tools, or of nobody: it has no state that vgpu debug reads";
}

const char *core_open(struct core *c, const char *path, char *why, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	const char *what;
	uint8_t *p = NULL;
	size_t n = 0;
	ssize_t k = 0;

	memset(c, 0, sizeof(*c));
	if (fd < 0 || fstat(fd, &st)) {
		snprintf(why, room, "%s", strerror(errno));
	} else if (!S_ISREG(st.st_mode) || st.st_size > (off_t)VGPU_CORE_MOST * 2) {
		snprintf(why, room, "it is no file that could be a core");
	} else if (!(p = malloc((size_t)st.st_size + 1))) {
		snprintf(why, room, "no memory");
	} else {
		while (n < (size_t)st.st_size && (k = read(fd, p + n, (size_t)st.st_size - n)) > 0)
			n += (size_t)k;
		what = k < 0 ? strerror(errno) : core_read(c, p, n);
		free(p);
		close(fd);
		if (!what)
			return NULL;
		snprintf(why, room, "%s", what);
		return why;
	}
	if (fd >= 0)
		close(fd);
	return why;
}

void core_free(struct core *c)
{
	free(c->image);
	free(c->state);
	free(c->warp);
	free(c->frame);
	free(c->group);
	free(c->reg);
	free(c->param);
	free(c->load);
	memset(c, 0, sizeof(*c));
}

/* ---- questions --------------------------------------------------------------------------------- */

bool core_thread(const struct core *c, const uint32_t *t, uint32_t *warp, uint32_t *lane)
{
	uint32_t n;

	if (t[0] >= c->block[0] || t[1] >= c->block[1] || t[2] >= c->block[2])
		return false;
	n = t[0] + c->block[0] * (t[1] + c->block[1] * t[2]);
	*warp = n / 32;
	*lane = n % 32;
	return true;
}

void core_coordinates(const struct core *c, uint32_t warp, uint32_t lane, uint32_t *t)
{
	uint32_t n = warp * 32 + lane;

	t[0] = n % c->block[0];
	t[1] = n / c->block[0] % c->block[1];
	t[2] = n / c->block[0] / c->block[1];
}

const struct core_warp *core_warp(const struct core *c, uint32_t index)
{
	for (uint32_t i = 0; i < c->nwarps; i++)
		if (c->warp[i].index == index)
			return &c->warp[i];
	return NULL;
}

const struct core_group *core_place(const struct core *c, const struct core_frame *f, uint32_t lane)
{
	for (uint32_t i = 0; i < f->ngroups; i++)
		if (c->group[f->group + i].lanes >> lane & 1)
			return &c->group[f->group + i];
	return NULL;
}

const struct core_reg *core_reg(const struct core *c, const struct core_frame *f, const char *name)
{
	for (uint32_t i = 0; i < f->nregs; i++)
		if (!strcmp(c->reg[f->reg + i].name, name))
			return &c->reg[f->reg + i];
	return NULL;
}

bool core_value(const struct core_reg *r, uint32_t lane, uint64_t *v)
{
	const char *p = r->values;
	char *end;

	for (uint32_t i = r->all ? 0 : lane; i && *p; i--) {
		p += strcspn(p, " ");
		while (*p == ' ')
			p++;
	}
	if (!strchr("0123456789abcdefABCDEF", *p) || !*p)
		return false;
	*v = strtoull(p, &end, 16);
	return !*end || *end == ' ';
}

size_t core_memory(const struct core *c, uint64_t at, void *out, size_t n)
{
	size_t got = 0;
	uint32_t i;

	for (i = 0; i < c->nloads && got < n; i++) {
		const struct core_load *l = &c->load[i];
		uint64_t off = at + got - l->at;
		size_t k;

		if (at + got < l->at || off >= l->n)
			continue;
		k = l->n - off < n - got ? l->n - off : n - got;
		memcpy((char *)out + got, l->p + off, k);
		got += k;
		i = (uint32_t)-1;       /* what goes on from there may stand before it */
	}
	return got;
}
