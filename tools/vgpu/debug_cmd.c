/* SPDX-License-Identifier: MIT */
/* The prompt of vgpu debug: its commands, their arguments. Words are gdb's where it has one. */
#define _GNU_SOURCE
#include "debug.h"
#include "vgpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"run                         starts the program; it runs to a breakpoint or to its end\n"
	"break WHERE [WHO] [if REGISTER OP NUMBER]\n"
	"      WHERE  KERNEL          its first instruction; a name as in C++ or in PTX, with * and ?\n"
	"             FILE:LINE       of the program (nvcc -lineinfo, clang -gline-tables-only)\n"
	"             KERNEL:LINE, ptx:LINE    of the PTX\n"
	"      WHO    block X,Y,Z     thread X,Y,Z     every (warp); without, and without if: the first warp of each launch that comes there\n"
	"tbreak WHERE ...            the same once\n"
	"watch ADDRESS [BYTES]       stops when 1, 2, 4 or 8 bytes there change, and says by which instruction\n"
	"delete [N]                  breakpoint or watchpoint N, or all\n"
	"continue                    to the next breakpoint\n"
	"step [N]  next [N]          to another line of the program, or of the PTX where none is known; next: over calls\n"
	"stepi [N]                   one instruction of this thread's warp\n"
	"finish                      until the function returns\n"
	"backtrace                   the calls that this thread is in;  frame N, up, down: which of them commands are about\n"
	"info threads                the block's warps: which lanes are where, and what they wait for\n"
	"info registers [PATTERN]    of this thread;  info breakpoints | kernel | args\n"
	"thread X[,Y[,Z]]  warp N    which thread commands are about\n"
	"print[/x|d|u|f] VALUE       REGISTER, NUMBER, tid, ctaid, parameter, shared:N, local:N, and a sum of two of them\n"
	"lanes[/x|d|u|f] REGISTER    in every lane of the warp\n"
	"x[/NFS] ADDRESS             N pieces of memory of b, h, w or g bytes (1, 2, 4, 8), as x, d, u, f or c\n"
	"list [LINE]                 PTX around the thread, or a line\n"
	"kill  quit  echo TEXT  help\n";

static char *word(char **p)
{
	char *s = *p + strspn(*p, " \t");

	*p = s + strcspn(s, " \t");
	if (**p)
		*(*p)++ = 0;
	return s;
}

static bool triple(const char *s, uint32_t *v)
{
	char *end;

	v[0] = v[1] = v[2] = 0;
	for (int i = 0; i < 3; i++) {
		if (*s < '0' || *s > '9')
			return false;
		v[i] = (uint32_t)strtoul(s, &end, 10);
		if (!*end)
			return true;
		if (*end != ',')
			return false;
		s = end + 1;
	}
	return false;
}

static bool whole(const char *s, uint64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoull(s, &end, 0);
	return *s && *s != '-' && !*end && !errno;
}

/* ---- values ------------------------------------------------------------------------------------- */

/* One term: its value and type; false, and said. */
static bool term(struct session *s, const char *t, uint64_t *v, const char **type)
{
	const struct core_frame *f;
	const struct core_reg *r;
	int64_t n;
	char *end;

	*type = "b64";
	if (*t == '-' || (*t >= '0' && *t <= '9')) {
		n = strtoll(t, &end, 0);
		if (!*end) {
			*type = *t == '-' ? "s64" : "b64";
			*v = *t == '-' ? (uint64_t)n : strtoull(t, NULL, 0);
			return true;
		}
	}
	f = show_frame(s);
	if (!f)
		return false;
	if (!strncmp(t, "shared:", 7) && whole(t + 7, v)) {
		*v += s->core.shared;
		return true;
	}
	if (!strncmp(t, "local:", 6) && whole(t + 6, v)) {
		*v += s->core.local + (s->warp * 32ull + s->lane) * s->core.local_stride;
		return true;
	}
	r = core_reg(&s->core, f, t);
	if (r && core_value(r, s->lane, v)) {
		*type = r->type;
		return true;
	}
	for (uint32_t i = 0; i < s->core.nparams; i++) {
		const struct core_param *p = &s->core.param[i];
		size_t k = strlen(p->bytes) / 2;

		if (strcmp(p->name, t) || !k || k > 8)
			continue;
		for (*v = 0; k--;) {
			char two[3] = { p->bytes[2 * k], p->bytes[2 * k + 1], 0 };

			*v = *v << 8 | strtoul(two, NULL, 16);
		}
		return true;
	}
	if (*t == '%')
		complain("%s: no register of that name is known in %s at this place", t, f->fn);
	else
		complain("%s: what is that? help print", t);
	return false;
}

/* A term, or two with + or - between. */
static bool value(struct session *s, char *text, uint64_t *v, const char **type)
{
	const char *more;
	uint64_t second;
	char *op, sign;

	while (*text == ' ')
		text++;
	for (op = text + strlen(text); op > text && op[-1] == ' ';)
		*--op = 0;
	op = *text ? strpbrk(text + 1, "+-") : NULL;
	if (!op)
		return term(s, text, v, type);
	sign = *op;
	*op++ = 0;
	while (*text && text[strlen(text) - 1] == ' ')
		text[strlen(text) - 1] = 0;
	op += strspn(op, " ");
	if (!term(s, text, v, type) || !term(s, op, &second, &more))
		return false;
	*v = sign == '+' ? *v + second : *v - second;
	return true;
}

/* "/x" behind a command's name. */
static char format_of(const char *cmd)
{
	const char *slash = strchr(cmd, '/');

	return slash && strchr("xduf", slash[1]) ? slash[1] : 0;
}

static int print(struct session *s, const char *cmd, char *args)
{
	uint64_t v;
	const char *type;
	uint32_t t[3];
	char shown[256];

	snprintf(shown, sizeof(shown), "%s", args);
	if (!strcmp(args, "tid") || !strcmp(args, "ctaid")) {
		if (!show_frame(s))
			return 1;
		core_coordinates(&s->core, s->warp, s->lane, t);
		if (*args == 'c')
			memcpy(t, s->core.at, sizeof(t));
		printf("%s = (%u,%u,%u)\n", shown, t[0], t[1], t[2]);
		return 0;
	}
	if (!*args || !value(s, args, &v, &type))
		return 1;
	printf("%s = ", shown);
	show_value(type, v, format_of(cmd));
	printf("\n");
	return 0;
}

static int lanes(struct session *s, const char *cmd, char *args)
{
	const struct core_frame *f = show_frame(s);
	const struct core_reg *r = f ? core_reg(&s->core, f, args) : NULL;

	if (!r) {
		if (f)
			complain("%s: no register of that name is known in %s at this place", args, f->fn);
		return 1;
	}
	show_lanes(s, r, format_of(cmd));
	return 0;
}

static int examine(struct session *s, const char *cmd, char *args)
{
	unsigned count = 1, size = 4;
	char format = 0;
	const char *type, *p = strchr(cmd, '/');
	uint64_t at;

	if (p) {
		char *end;

		p++;
		if (*p >= '0' && *p <= '9') {
			count = (unsigned)strtoul(p, &end, 10);
			p = end;
		}
		for (; *p && strchr("bhwgxdufc", *p); p++) {
			if (strchr("bhwg", *p))
				size = *p == 'b' ? 1 : *p == 'h' ? 2 : *p == 'w' ? 4 : 8;
			else
				format = *p;
		}
		if (*p) {
			complain("%s: x/NFS has a count, a format (x, d, u, f, c) and a size (b, h, w, g)", cmd);
			return 1;
		}
	}
	if (!count || count > 65536) {
		complain("x: 1 to 65536 pieces");
		return 1;
	}
	if (!*args || !value(s, args, &at, &type))
		return 1;
	return show_memory(s, at, count, format == 'c' ? 1 : size, format);
}

/* ---- breakpoints --------------------------------------------------------------------------------- */

static bool where(struct session *s, char *at, struct dbg_break *b)
{
	char *colon = strrchr(at, ':');
	uint64_t line;

	if (colon && colon[1] && whole(colon + 1, &line) && line && line < 0x7fffffff) {
		*colon = 0;
		b->line = (uint32_t)line;
		b->kind = strpbrk(at, "./") ? DBG_AT_SOURCE : DBG_AT_PTX;
		if (!strcmp(at, "ptx"))
			at += 3;
	} else if (whole(at, &line) && line && line < 0x7fffffff) {
		/* a line of where the thread is */
		const struct core_frame *f = show_frame(s);
		const struct core_group *g = f ? core_place(&s->core, f, s->lane) : NULL;

		if (!g)
			return false;
		b->line = (uint32_t)line;
		b->kind = g->source ? DBG_AT_SOURCE : DBG_AT_PTX;
		snprintf(b->name, sizeof(b->name), "%.*s", g->source ? (int)(strrchr(g->source, ':') - g->source) : 255, g->source ? g->source : f->fn);
		return true;
	} else {
		b->kind = DBG_AT_KERNEL;
	}
	if (strlen(at) >= sizeof(b->name) || (b->kind == DBG_AT_KERNEL && !*at)) {
		complain("break: %s", *at ? "that name is too long" : "where? help break");
		return false;
	}
	strcpy(b->name, at);
	return true;
}

static bool condition(char **p, struct dbg_break *b)
{
	static const char *const ops[] = { "==", "!=", "<", "<=", ">", ">=" };
	const char *reg = word(p), *op = word(p), *n = word(p);
	char *end;

	for (uint32_t i = 0; i < 6; i++)
		if (!strcmp(op, ops[i]) && *reg == '%' && strlen(reg) < sizeof(b->reg) && *n) {
			b->value = *n == '-' ? strtoll(n, &end, 0) : (int64_t)strtoull(n, &end, 0);
			if (*end)
				break;
			strcpy(b->reg, reg);
			b->compare = i;
			b->flags |= DBG_HAS_IF;
			return true;
		}
	complain("break: if REGISTER OP NUMBER, as in: if %%r1 == 5");
	return false;
}

static void say_break(const struct dbg_break *b)
{
	static const char *const ops[] = { "==", "!=", "<", "<=", ">", ">=" };

	if (b->kind == DBG_AT_KERNEL)
		printf("kernel %.255s", b->name);
	else if (b->kind == DBG_AT_SOURCE)
		printf("%.255s:%u", b->name, b->line);
	else
		printf("%s%.255s%sPTX line %u", b->name[0] ? "kernel " : "", b->name, b->name[0] ? ", " : "", b->line);
	if (b->flags & DBG_HAS_BLOCK)
		printf(", block (%u,%u,%u)", b->block[0], b->block[1], b->block[2]);
	if (b->flags & DBG_HAS_THREAD)
		printf(", thread (%u,%u,%u)", b->thread[0], b->thread[1], b->thread[2]);
	if (b->flags & DBG_EVERY)
		printf(", every warp");
	if (b->flags & DBG_HAS_IF)
		printf(", if %.63s %s %lld", b->reg, ops[b->compare % 6], (long long)b->value);
	if (b->flags & DBG_ONCE)
		printf(", once");
}

static bool live(struct session *s)
{
	if (!s->box)
		complain("this is a core: nothing runs in it");
	return s->box != NULL;
}

static int set_break(struct session *s, char *args, uint32_t flags)
{
	struct dbg_break b = { .flags = flags }, *to = NULL;
	char *at = word(&args), *w;

	if (!live(s) || !where(s, at, &b))
		return 1;
	while (*(w = word(&args))) {
		if (!strcmp(w, "block") && triple(word(&args), b.block)) {
			b.flags |= DBG_HAS_BLOCK;
		} else if (!strcmp(w, "thread") && triple(word(&args), b.thread)) {
			b.flags |= DBG_HAS_THREAD;
		} else if (!strcmp(w, "every")) {
			b.flags |= DBG_EVERY;
		} else if (!strcmp(w, "if")) {
			if (!condition(&args, &b))
				return 1;
		} else {
			complain("break: %s: block X,Y,Z, thread X,Y,Z, every, if REGISTER OP NUMBER", w);
			return 1;
		}
	}
	for (uint32_t i = 0; i < DBG_BREAKS && !to; i++)
		if (!s->box->breaks[i].id)
			to = &s->box->breaks[i];
	if (!to) {
		complain("break: there are %u already; delete one", DBG_BREAKS);
		return 1;
	}
	b.id = ++s->next_id;
	*to = b;
	debug_changed(s);
	printf("breakpoint %u: ", b.id);
	say_break(&b);
	printf("\n");
	return 0;
}

static int set_watch(struct session *s, char *args)
{
	uint64_t at, bytes = 4;
	const char *type;
	char *last = strrchr(args, ' ');

	if (!live(s))
		return 1;
	if (last && whole(last + 1, &bytes))
		*last = 0;
	if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) {
		complain("watch: 1, 2, 4 or 8 bytes");
		return 1;
	}
	if (!*args || !value(s, args, &at, &type))
		return 1;
	for (uint32_t i = 0; i < DBG_WATCHES; i++)
		if (!s->box->watches[i].id) {
			s->box->watches[i] = (struct dbg_watch){ ++s->next_id, (uint32_t)bytes, at };
			debug_changed(s);
			printf("watchpoint %u: %u bytes at 0x%llx\n", s->next_id, (unsigned)bytes, (unsigned long long)at);
			return 0;
		}
	complain("watch: there are %u already; delete one", DBG_WATCHES);
	return 1;
}

static int delete(struct session *s, const char *args)
{
	uint64_t id = 0;
	unsigned n = 0;

	if (!live(s))
		return 1;
	if (*args && !whole(args, &id)) {
		complain("delete: %s is no number", args);
		return 1;
	}
	for (uint32_t i = 0; i < DBG_BREAKS; i++)
		if (s->box->breaks[i].id && (!id || s->box->breaks[i].id == id))
			n++, s->box->breaks[i].id = 0;
	for (uint32_t i = 0; i < DBG_WATCHES; i++)
		if (s->box->watches[i].id && (!id || s->box->watches[i].id == id))
			n++, s->box->watches[i].id = 0;
	debug_changed(s);
	if (id && !n)
		complain("delete: there is no %s", args);
	return id && !n;
}

static int info_breaks(struct session *s)
{
	unsigned n = 0;

	if (!live(s))
		return 1;
	for (uint32_t i = 0; i < DBG_BREAKS; i++) {
		const struct dbg_break *b = &s->box->breaks[i];

		if (!b->id)
			continue;
		n++;
		printf("%-4u ", b->id);
		say_break(b);
		if (b->places && b->kind != DBG_AT_KERNEL && b->at_line != b->line)
			printf(", which begins at line %u", b->at_line);
		printf("; %s, held %u time%s\n", b->places ? "in code that was compiled" : "not in any code so far", b->hits, b->hits == 1 ? "" : "s");
	}
	for (uint32_t i = 0; i < DBG_WATCHES; i++)
		if (s->box->watches[i].id)
			n++, printf("%-4u watch %u bytes at 0x%llx\n", s->box->watches[i].id, s->box->watches[i].bytes, (unsigned long long)s->box->watches[i].address);
	if (!n)
		printf("no breakpoints\n");
	return 0;
}

/* ---- which thread ------------------------------------------------------------------------------------ */

static int focus(struct session *s, uint32_t warp, uint32_t lane)
{
	const struct core_warp *w = core_warp(&s->core, warp);
	uint32_t t[3];

	if (!w) {
		complain("the block has no warp %u", warp);
		return 1;
	}
	s->warp = warp;
	s->lane = lane;
	s->frame = 0;
	while (s->frame + 1 < w->nframes && !(s->core.frame[w->frame + s->frame].lanes >> lane & 1))
		s->frame++;
	core_coordinates(&s->core, warp, lane, t);
	printf("thread (%u,%u,%u), warp %u, lane %u\n", t[0], t[1], t[2], warp, lane);
	show_place(s);
	return 0;
}

static int thread(struct session *s, const char *args)
{
	uint32_t t[3], w, l;

	if (!s->stopped) {
		complain("no kernel stands");
		return 1;
	}
	if (!*args)
		return focus(s, s->warp, s->lane);
	if (!triple(args, t) || !core_thread(&s->core, t, &w, &l)) {
		complain("thread: the block has threads (0,0,0) to (%u,%u,%u)", s->core.block[0] - 1, s->core.block[1] - 1, s->core.block[2] - 1);
		return 1;
	}
	return focus(s, w, l);
}

static int warp(struct session *s, const char *args)
{
	const struct core_warp *w;
	uint64_t n;

	if (!s->stopped || !whole(args, &n) || n > 31) {
		complain(s->stopped ? "warp: a number" : "no kernel stands");
		return 1;
	}
	w = core_warp(&s->core, (uint32_t)n);
	return focus(s, (uint32_t)n, w && w->live ? (uint32_t)__builtin_ctz(w->live) : 0);
}

static int frame(struct session *s, uint64_t n)
{
	const struct core_warp *w = s->stopped ? core_warp(&s->core, s->warp) : NULL;

	if (!w || n >= w->nframes) {
		complain(s->stopped ? "there is no such frame: backtrace" : "no kernel stands");
		return 1;
	}
	s->frame = (uint32_t)n;
	show_place(s);
	return 0;
}

static int info(struct session *s, char *args)
{
	char *what = word(&args);

	args += strspn(args, " ");
	if (!strncmp(what, "break", 5) || !strcmp(what, "b") || !strncmp(what, "watch", 5))
		return info_breaks(s);
	if (!s->stopped) {
		complain("no kernel stands");
		return 1;
	}
	if (!strcmp(what, "threads") || !strcmp(what, "warps"))
		show_threads(s);
	else if (!strncmp(what, "reg", 3))
		show_registers(s, *args ? args : NULL);
	else if (!strncmp(what, "kernel", 6))
		show_kernel(s);
	else if (!strcmp(what, "args"))
		show_params(s);
	else if (!strcmp(what, "frame"))
		show_place(s);
	else {
		complain("info threads | registers | breakpoints | kernel | args | frame");
		return 1;
	}
	return 0;
}

static int go(struct session *s, uint32_t request, const char *args)
{
	uint64_t n = 1;

	if (!live(s))
		return 1;
	if (!s->stopped) {
		complain(s->pid ? "no kernel stands" : "the program does not run: run");
		return 1;
	}
	if (*args && (!whole(args, &n) || !n)) {
		complain("%s is no number of times", args);
		return 1;
	}
	debug_go(s, request, n);
	return 0;
}

/* Is cmd that word, or an abbreviation of it of at least n letters? What stands behind a / does not count. */
static bool is(const char *cmd, const char *name, size_t n)
{
	size_t k = strcspn(cmd, "/");

	return k >= n && k <= strlen(name) && !strncmp(cmd, name, k);
}

int debug_command(struct session *s, char *line)
{
	char *args = line + strcspn(line, "\r\n"), *cmd;
	uint64_t n = 1;

	*args = 0;
	args = line;
	cmd = word(&args);
	args += strspn(args, " \t");
	if (!*cmd || *cmd == '#')
		return 0;
	if (is(cmd, "quit", 1) || is(cmd, "exit", 4))
		return -1;
	if (is(cmd, "help", 1)) {
		fputs(help, stdout);
		return 0;
	}
	if (is(cmd, "echo", 4)) {
		puts(args);
		return 0;
	}
	if (is(cmd, "run", 1))
		return live(s) ? debug_run(s) : 1;
	if (is(cmd, "break", 1))
		return set_break(s, args, 0);
	if (is(cmd, "tbreak", 2))
		return set_break(s, args, DBG_ONCE);
	if (is(cmd, "watch", 5))
		return set_watch(s, args);
	if (is(cmd, "delete", 1))
		return delete(s, args);
	if (is(cmd, "continue", 1))
		return go(s, DBG_GO, "");
	if (is(cmd, "step", 1))
		return go(s, DBG_STEP, args);
	if (is(cmd, "stepi", 5) || !strcmp(cmd, "si"))
		return go(s, DBG_STEPI, args);
	if (is(cmd, "next", 1))
		return go(s, DBG_NEXT, args);
	if (is(cmd, "finish", 3))
		return go(s, DBG_FINISH, "");
	if (is(cmd, "backtrace", 2) || !strcmp(cmd, "bt") || is(cmd, "where", 5)) {
		show_backtrace(s);
		return !s->stopped;
	}
	if (is(cmd, "info", 1))
		return info(s, args);
	if (is(cmd, "thread", 1))
		return thread(s, args);
	if (!strcmp(cmd, "warp"))
		return warp(s, args);
	if (is(cmd, "frame", 1))
		return whole(args, &n) ? frame(s, n) : frame(s, s->frame);
	if (!strcmp(cmd, "up"))
		return frame(s, s->frame + 1ull);
	if (!strcmp(cmd, "down"))
		return frame(s, s->frame ? s->frame - 1 : ~0ull);
	if (is(cmd, "print", 1))
		return print(s, cmd, args);
	if (is(cmd, "lanes", 2))
		return lanes(s, cmd, args);
	if (is(cmd, "x", 1))
		return examine(s, cmd, args);
	if (is(cmd, "list", 1))
		return !*args || whole(args, &n) ? show_list(s, *args ? (unsigned)n : 0) : 1;
	if (is(cmd, "kill", 1)) {
		debug_kill(s);
		return 0;
	}
	complain("%s: no such command; help lists them", cmd);
	return 1;
}
