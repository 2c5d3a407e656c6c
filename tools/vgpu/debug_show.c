/* SPDX-License-Identifier: MIT */
/* What vgpu debug shows of a kernel that stands, or of a core: places, registers, memory, lines. */
#define _GNU_SOURCE
#include "debug.h"
#include "vgpu.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const struct core_frame *show_frame(const struct session *s)
{
	const struct core_warp *w = s->stopped ? core_warp(&s->core, s->warp) : NULL;

	if (!s->stopped) {
		complain("no kernel stands");
		return NULL;
	}
	if (!w || s->frame >= w->nframes) {
		complain("warp %u has ended, or the core says nothing of it", s->warp);
		return NULL;
	}
	return &s->core.frame[w->frame + s->frame];
}

static void say_at(const uint32_t *v) { printf("(%u,%u,%u)", v[0], v[1], v[2]); }

/* That line of the program, if its file is there to be read. */
static void show_source(const char *source)
{
	const char *colon = source ? strrchr(source, ':') : NULL;
	char *line = NULL, path[4096];
	unsigned want, at = 0;
	size_t room = 0;
	struct stat st;
	FILE *f;

	if (!colon || (size_t)(colon - source) >= sizeof(path))
		return;
	memcpy(path, source, (size_t)(colon - source));
	path[colon - source] = 0;
	want = (unsigned)atoi(colon + 1);
	/* a core may name anything */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return;
	f = fopen(path, "re");
	while (f && at < want && getline(&line, &room, f) > 0)
		at++;
	if (f && at == want && want)
		printf("%u\t%s%s", want, line, strchr(line, '\n') ? "" : "\n");
	if (f)
		fclose(f);
	free(line);
}

void show_place(const struct session *s)
{
	const struct core_frame *f = show_frame(s);
	const struct core_group *g = f ? core_place(&s->core, f, s->lane) : NULL;

	if (!f)
		return;
	printf("#%u  %s", s->frame, f->fn);
	if (!g) {
		printf(": thread has ended here\n");
		return;
	}
	if (g->source)
		printf(" at %s", g->source);
	printf(", PTX line %u: %s\n", g->line, g->code);
	show_source(g->source);
}

void show_stop(struct session *s)
{
	const struct core *c = &s->core;

	printf("%s\nkernel %s, launch %llu, block ", c->why, c->kernel, (unsigned long long)c->launch);
	say_at(c->at);
	printf(", thread ");
	say_at(c->thread);
	if (c->address)
		printf(", address 0x%llx", (unsigned long long)c->address);
	printf("\n");
	if (!c->whole)
		printf("(not all of it had room: some registers or warps are left out)\n");
	if (c->partly)
		printf("(registers as far as compiled code kept them; with VGPU_ENGINE=interp all are kept)\n");
	show_place(s);
}

void show_backtrace(const struct session *s)
{
	const struct core_warp *w;
	uint32_t n = 0;

	if (!show_frame(s))
		return;
	w = core_warp(&s->core, s->warp);
	for (uint32_t i = 0; i < w->nframes; i++) {
		const struct core_frame *f = &s->core.frame[w->frame + i];
		const struct core_group *g = core_place(&s->core, f, s->lane);

		if (!g && !(f->lanes >> s->lane & 1))
			continue;
		n++;
		printf("#%u  %s", f->depth, f->fn);
		if (g && g->source)
			printf(" at %s", g->source);
		if (g)
			printf(", PTX line %u: %s", g->line, g->code);
		printf("\n");
	}
	if (!n)
		printf("this thread has ended\n");
}

void show_threads(const struct session *s)
{
	const struct core *c = &s->core;

	if (!s->stopped) {
		complain("no kernel stands");
		return;
	}
	printf("  warp  lanes     state    PTX line  first thread  where\n");
	for (uint32_t i = 0; i < 32; i++) {
		const struct core_warp *w = core_warp(c, i);

		if (w && !w->live)
			printf("%c %4u  -         ended\n", i == s->warp ? '*' : ' ', i);
		for (uint32_t d = 0; w && d < w->nframes; d++) {
			const struct core_frame *f = &c->frame[w->frame + d];

			for (uint32_t k = 0; k < f->ngroups; k++) {
				const struct core_group *g = &c->group[f->group + k];
				uint32_t t[3];
				char at[48];

				if (!strcmp(g->state, "calling") || !g->lanes)
					continue;
				core_coordinates(c, i, (uint32_t)__builtin_ctz(g->lanes), t);
				snprintf(at, sizeof(at), "(%u,%u,%u)", t[0], t[1], t[2]);
				printf("%c %4u  %08x  %-8s %8u  %-12s  %s%s%s\n", i == s->warp && (g->lanes >> s->lane & 1) ? '*' : ' ', i, g->lanes, g->state,
				       g->line, at, f->fn, g->source ? " at " : "", g->source ? g->source : "");
			}
		}
	}
}

/* ---- values ---------------------------------------------------------------------------------------- */

static int64_t sign(uint64_t v, unsigned bits) { return bits >= 64 ? (int64_t)v : (int64_t)(v << (64 - bits)) >> (64 - bits); }

static void say_float(double d, int digits, uint64_t bits, int hex)
{
	char t[64];

	for (int n = 6; n <= digits; n++) {
		snprintf(t, sizeof(t), "%.*g", n, d);
		if (digits == 9 ? strtof(t, NULL) == (float)d : strtod(t, NULL) == d)
			break;
	}
	if (d != d)
		printf("nan (0x%0*llx)", hex, (unsigned long long)bits);
	else
		printf("%s%s", t, strpbrk(t, ".ein") ? "" : ".0");
}

static double half(uint32_t h)
{
	uint32_t e = h >> 10 & 31, m = h & 1023;
	double v = e ? (e == 31 ? (m ? __builtin_nan("") : __builtin_inf()) : (1024.0 + m) * __builtin_ldexp(1, (int)e - 25)) : m * __builtin_ldexp(1, -24);

	return h >> 15 ? -v : v;
}

static unsigned bits_of(const char *type)
{
	const char *p = type + strcspn(type, "0123456789");
	unsigned n = (unsigned)atoi(p);

	if (!strcmp(type, "pred"))
		return 1;
	return strstr(type, "x2") ? 2 * n : n && n <= 64 ? n : 64;
}

void show_value(const char *type, uint64_t v, char format)
{
	unsigned bits = bits_of(type);
	uint32_t w = (uint32_t)v;
	double d;
	float f;

	if (!format)
		format = !strcmp(type, "pred") ? 'u' : type[0] == 'f' && !strstr(type, "x2") ? 'f' : type[0] == 's' ? 'd' : type[0] == 'u' ? 'u' : 0;
	switch (format) {
	case 'f':
		memcpy(&f, &w, 4);
		memcpy(&d, &v, 8);
		if (bits == 16)
			say_float(half(w), 9, v, 4);
		else if (bits == 32)
			say_float((double)f, 9, v, 8);
		else
			say_float(d, 17, v, 16);
		return;
	case 'd':
		printf("%lld", (long long)sign(v, bits));
		return;
	case 'u':
		printf("%llu", (unsigned long long)v);
		return;
	case 'x':
		printf("0x%llx", (unsigned long long)v);
		return;
	}
	/* bits alone: small ones as numbers; of what could be a float, that too */
	if (v < 65536)
		printf("%llu", (unsigned long long)v);
	else
		printf("0x%llx", (unsigned long long)v);
}

void show_registers(const struct session *s, const char *pattern)
{
	const struct core_frame *f = show_frame(s);
	uint32_t n = 0;

	for (uint32_t i = 0; f && i < f->nregs; i++) {
		const struct core_reg *r = &s->core.reg[f->reg + i];
		uint64_t v;

		if (pattern && fnmatch(pattern, r->name, 0))
			continue;
		n++;
		printf("%-10s .%-5s ", r->name, r->type);
		if (core_value(r, s->lane, &v))
			show_value(r->type, v, 0);
		else
			printf("?");
		printf("\n");
	}
	if (f && !n)
		printf(pattern ? "no such register is known here\n" : "no register is known here\n");
}

void show_lanes(const struct session *s, const struct core_reg *r, char format)
{
	const struct core_frame *f = show_frame(s);
	uint32_t t[3];
	uint64_t v;

	for (uint32_t l = 0; f && l < 32; l++) {
		if (!(f->lanes >> l & 1) || !core_value(r, l, &v))
			continue;
		core_coordinates(&s->core, s->warp, l, t);
		printf("%c lane %2u (%u,%u,%u)  ", l == s->lane ? '*' : ' ', l, t[0], t[1], t[2]);
		show_value(r->type, v, format);
		printf("\n");
	}
}

void show_kernel(const struct session *s)
{
	const struct core *c = &s->core;

	if (!s->stopped) {
		complain("no kernel stands");
		return;
	}
	printf("kernel %s, launch %llu: grid ", c->kernel, (unsigned long long)c->launch);
	say_at(c->grid);
	printf(" of blocks ");
	say_at(c->block);
	printf("; this is block ");
	say_at(c->at);
	printf("\n%s\n", c->why);
	if (c->shared_bytes)
		printf("shared memory: %llu bytes at 0x%llx\n", (unsigned long long)c->shared_bytes, (unsigned long long)c->shared);
	if (c->local_stride)
		printf("local memory: %llu bytes a thread, of the block's first at 0x%llx\n", (unsigned long long)c->local_stride, (unsigned long long)c->local);
	if (c->address)
		printf("address: 0x%llx\n", (unsigned long long)c->address);
	printf("written by release %s\n", c->release);
}

/* A parameter of 4 or 8 bytes as a number too; others as they lie in memory. */
void show_params(const struct session *s)
{
	if (!s->stopped) {
		complain("no kernel stands");
		return;
	}
	for (uint32_t i = 0; i < s->core.nparams; i++) {
		const struct core_param *p = &s->core.param[i];
		size_t n = strlen(p->bytes) / 2;
		uint64_t v = 0;

		printf("%s (%zu bytes at %u) = ", p->name, n, p->offset);
		for (size_t k = n < 8 ? n : 8; k--;) {
			char two[3] = { p->bytes[2 * k], p->bytes[2 * k + 1], 0 };

			v = v << 8 | strtoul(two, NULL, 16);
		}
		if (n == 1 || n == 2 || n == 4 || n == 8)
			show_value("b64", v, 0);
		else
			printf("%s", p->bytes);
		printf("\n");
	}
	if (!s->core.nparams)
		printf("the kernel has none\n");
}

/* ---- lines ------------------------------------------------------------------------------------------ */

/* Lines of the PTX around one; 0: where the thread is. */
int show_list(const struct session *s, unsigned around)
{
	const struct core_frame *f = show_frame(s);
	const struct core_group *g = f ? core_place(&s->core, f, s->lane) : NULL;
	unsigned at = g ? g->line : 0, line;
	const char *p, *end;

	if (!f)
		return 1;
	around = around ? around : at;
	for (uint32_t i = 0; i < s->core.ntexts; i++) {
		const struct core_text *t = &s->core.text[i];

		if (strcmp(t->fn, f->fn))
			continue;
		end = t->text + t->n;
		for (p = t->text, line = t->line; p < end && *p; line++) {
			const char *q = memchr(p, '\n', (size_t)(end - p));
			int n = (int)((q ? q : end) - p);

			if (line + 5 >= around && line <= around + 5)
				printf("%s%5u  %.*s\n", line == at ? "->" : "  ", line, n, p);
			p = q ? q + 1 : end;
		}
		return 0;
	}
	complain("the text of %s is not there", f->fn);
	return 1;
}

int show_memory(struct session *s, uint64_t at, unsigned count, unsigned size, char format)
{
	static const char *const types[] = { [1] = "b8", [2] = "b16", [4] = "b32", [8] = "b64" };
	unsigned a_line = size == 1 ? 16 : 16 / size, i;

	for (i = 0; i < count; i++) {
		uint64_t v = 0;

		if (debug_memory(s, at + (uint64_t)i * size, &v, size) != size) {
			if (i % a_line)
				printf("\n");
			complain("0x%llx: %s", (unsigned long long)(at + (uint64_t)i * size), s->box ? "no memory that a kernel could read" : "this is not in the core");
			return 1;
		}
		if (i % a_line == 0)
			printf("0x%llx:", (unsigned long long)(at + (uint64_t)i * size));
		printf(" ");
		if (format == 'c')
			printf("%c", isprint((int)(v & 0x7f)) && v < 128 ? (int)v : '.');
		else
			show_value(types[size], v, format ? format : 'x');
		if (i % a_line == a_line - 1 || i + 1 == count)
			printf("\n");
	}
	return 0;
}
