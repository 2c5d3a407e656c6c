/* SPDX-License-Identifier: MIT */
/*
 * One PTX test file in work: its engine, module, buffers and arguments, and its launches.
 * Included by ptxrun.c only, which reads the directives, and by expect.h, which checks results.
 */
#ifndef TESTS_PTX_TEST_H
#define TESTS_PTX_TEST_H

#include <stdarg.h>
#include <unistd.h>

#include "rig.h"
#include "values.h"

#define MAX_BUFFERS 32
#define MAX_ARGS 64
#define MAX_COUNT (1u << 22)

struct buffer {
	char name[32];
	struct vtype type;
	size_t count;
	unsigned char *at;
};

/* One test file that is being run. */
struct test {
	const char *path;
	char *text;
	size_t text_bytes;
	unsigned line;                  /* of the directive in work */
	unsigned cores;
	double seconds;                 /* time limit of a wait */
	unsigned cc_major, cc_minor;
	unsigned failures, checks;
	struct rig rig;
	int open, loaded;
	uint32_t module;
	struct buffer buffers[MAX_BUFFERS];
	unsigned nbuffers;
	char kernel[128];               /* of the last launch */
	int joined;                     /* 1: narrow blocks are to be run as wider ones; 2: they are not; 0: nobody asks */
	uint64_t joined_before;
	uint64_t coarse;                /* so many grids, at least, are to be done by blocks as one, since the start; 0: nobody asks */
	int optional;                   /* NOT_SUPPORTED is a skip, not a failure */
	int launched;                   /* its index, -1: none */
	uint32_t status;                /* what became of it */
	int reported;                   /* its status was expected by a directive */
	size_t print_seen;              /* printed text that earlier directives consumed */
	int faults;                     /* the file expects some */
	unsigned again;                 /* the line from which a new process has to go on: this one's context is dead */
	char skip[200];                 /* why this engine cannot be asked about the rest */
	int told;                       /* its memcheck directives */
	size_t told_seen;
};

static void __attribute__((format(printf, 2, 3))) failed(struct test *t, const char *fmt, ...)
{
	va_list ap;

	t->failures++;
	printf("%s:%u: ", t->path, t->line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

static const char *status_name(uint32_t st)
{
	static char other[32];

	if (st == RIG_TIMEOUT)
		return "(did not end in time)";
	switch (st) {
#define NAME(name, value, sticky, text) case (value): return #name;
	VGPU_STATUS_LIST(NAME)
#undef NAME
	}
	snprintf(other, sizeof(other), st >= VGPU_ST_CUDA && st < VGPU_ST_CUDA + 1000 ? "CUDA_ERROR_%u" : "(unknown status)",
		 st - VGPU_ST_CUDA);
	return other;
}

/* want is a status name, or several with '|' between them where CUDA leaves the choice open. */
static int status_is(uint32_t st, const char *want)
{
	const char *name = status_name(st);
	size_t n = strlen(name);

	for (const char *p = want; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
		if (strcspn(p, "|") == n && !memcmp(p, name, n))
			return 1;
	return 0;
}

static struct buffer *find_buffer(struct test *t, const char *name, size_t n)
{
	for (unsigned i = 0; i < t->nbuffers; i++)
		if (strlen(t->buffers[i].name) == n && !memcmp(t->buffers[i].name, name, n))
			return &t->buffers[i];
	return NULL;
}

static int find_symbol(struct test *t, const char *name, size_t n, struct engine_symbol *out)
{
	for (uint32_t i = 0; rig_ops->module_symbol(t->rig.engine, t->module, i, out) == 0; i++)
		if (strlen(out->name) == n && !memcmp(out->name, name, n))
			return 0;
	return -1;
}

static int lookup_address(void *owner, const char *name, size_t n, uint64_t *address)
{
	struct test *t = owner;
	struct buffer *b = find_buffer(t, name, n);
	struct engine_symbol s;

	if (b) {
		*address = rig_address(&t->rig, b->at);
		return 0;
	}
	if (t->loaded && !find_symbol(t, name, n, &s) && s.kind != ENGINE_SYM_FUNC) {
		*address = s.address;
		return 0;
	}
	return -1;
}

/* What the hardware's driver does not do, nobody learns from it. */
static int unsupported(struct test *t, uint32_t st, const char *log)
{
	if (!rig_on_cuda || (st != VGPU_ST_NOT_SUPPORTED && st != VGPU_ST_PTX_VERSION && !(st && strstr(log, "nresolved extern"))))
		return 0;
	snprintf(t->skip, sizeof(t->skip), "%s %.150s", status_name(st), log);
	return 1;
}

/* The first launch, or one after a fault, needs an engine and the module in it. */
static int need_module(struct test *t)
{
	char log[512] = "";
	uint32_t st;

	if (t->open && t->loaded)
		return 0;
	if (!t->open && rig_open(&t->rig, t->cores, t->cc_major, t->cc_minor)) {
		failed(t, "no engine");
		return -1;
	}
	t->open = 1;
	st = rig_ops->module_load(t->rig.engine, t->text, t->text_bytes, &t->module, log,
				    sizeof(log));
	if (unsupported(t, st, log))
		return -1;
	if (st) {
		failed(t, "module_load: %s: %s", status_name(st), log);
		return -1;
	}
	t->loaded = 1;
	return 0;
}

/* A launch whose result nobody asked for must have been right. */
static void settle(struct test *t)
{
	if (t->launched >= 0 && !t->reported) {
		t->checks++;
		if (t->status != VGPU_ST_OK)
			failed(t, "launch of %s: %s (%s, address 0x%llx, ptx line %u)", t->kernel,
			       status_name(t->status), t->rig.fault_what,
			       (unsigned long long)t->rig.fault.address, t->rig.fault.ptx_line);
	}
	t->launched = -1;
	t->reported = 0;
}

static void close_engine(struct test *t)
{
	if (!t->open || (t->again && t->status == RIG_TIMEOUT))         /* the process ends with it */
		return;
	for (unsigned i = 0; i < t->rig.launches; i++)
		if (rig_wait(&t->rig, i, t->seconds) == RIG_TIMEOUT) {
			/* a grid that still runs cannot be taken from its engine: leave with it */
			t->line = 0;
			failed(t, "launch %u still runs at the end", i);
			RIG_FLUSH();
			_exit(1);
		}
	if (rig_on_cuda && t->loaded && !rig_died(&t->rig))
		rig_ops->module_unload(t->rig.engine, t->module);
	if (rig_close(&t->rig))
		failed(t, "memory was written that is no buffer");
	t->open = t->loaded = 0;
	t->nbuffers = 0;
	t->print_seen = 0;
}

/* Copies the next comma-separated piece (brackets nest) and returns what follows it. */
static const char *next_arg(const char *s, char *out, size_t n)
{
	int depth = 0;
	size_t k = 0;

	for (; *s && (depth || *s != ','); s++) {
		depth += strchr("([{", *s) ? 1 : strchr(")]}", *s) ? -1 : 0;
		if (k + 1 < n)
			out[k++] = *s;
	}
	out[k] = 0;
	return *s == ',' ? s + 1 : s;
}

/* "name:type[count]" or "name:type[count]=list": makes the buffer; 8 bytes of address in out. */
static int make_buffer(struct test *t, const char *a, const char *colon, unsigned char *out)
{
	struct buffer *b = &t->buffers[t->nbuffers];
	const char *p = parse_type(colon + 1, &b->type), *stop;
	char *end;
	struct value *v;
	uint64_t at;
	int last;

	if (!p || *p != '[' || t->nbuffers == MAX_BUFFERS || colon - a >= (int)sizeof(b->name))
		return -1;
	b->count = strtoul(p + 1, &end, 0);
	if (*end != ']' || b->count > MAX_COUNT)
		return -1;
	last = !strncmp(end + 1, "@last", 5);
	end += last ? 5 : 0;
	b->at = (last ? rig_alloc_last : rig_alloc)(&t->rig, b->count * b->type.bytes);
	if (!b->at)
		return -1;
	memcpy(b->name, a, (size_t)(colon - a));
	b->name[colon - a] = 0;
	t->nbuffers++;
	at = rig_address(&t->rig, b->at);
	memcpy(out, &at, 8);
	if (end[1] == 0)
		return 0;
	if (end[1] != '=')
		return -1;
	p = end + 2;
	stop = p + strlen(p);
	if (*p == '{' && stop[-1] == '}') {
		p++;
		stop--;
	}
	v = calloc(b->count + 1, sizeof(*v));
	if (parse_values(p, stop, b->type, v, b->count, lookup_address, t)) {
		free(v);
		return -1;
	}
	for (size_t i = 0; i < b->count; i++)
		memcpy(b->at + i * b->type.bytes, &v[i].bits, b->type.bytes);
	free(v);
	return rig_push(&t->rig, b->at, b->count * b->type.bytes) ? -1 : 0;
}

#define PARAM_BYTES 32768

/* One argument into out (at most PARAM_BYTES); returns its size or -1. */
static int make_arg(struct test *t, const char *a, unsigned char *out)
{
	const char *colon = strchr(a, ':'), *p;
	struct vtype ty;
	struct value v;

	if (*a == '&' || !strcmp(a, "null")) {
		ty = (struct vtype){ 'u', 8 };
		v.bits = 0;
		if (*a == '&' && !parse_literal(a, ty, &v, lookup_address, t))
			return -1;
		memcpy(out, &v.bits, 8);
		return 8;
	}
	p = parse_type(a, &ty);
	if (p && p == colon) {
		p = parse_literal(p + 1, ty, &v, lookup_address, t);
		if (!p || *p)
			return -1;
		memcpy(out, &v.bits, ty.bytes);
		return (int)ty.bytes;
	}
	if (p && *p == '[') {
		/* an array by value: u32[3]={1,2,3} */
		size_t n = strtoul(p + 1, NULL, 0);
		struct value *vs;
		const char *bad;

		p = strchr(p, '{');
		if (!p || n > PARAM_BYTES / ty.bytes)
			return -1;
		vs = calloc(n + 1, sizeof(*vs));
		bad = parse_values(p + 1, p + strlen(p) - 1, ty, vs, n, lookup_address, t);
		for (size_t i = 0; i < n; i++)
			memcpy(out + i * ty.bytes, &vs[i].bits, ty.bytes);
		free(vs);
		return bad ? -1 : (int)(n * ty.bytes);
	}
	return colon && !make_buffer(t, a, colon, out) ? 8 : -1;
}

/* Lays the arguments out as the engine says that its parameters lie. */
static int make_params(struct test *t, const char *args, const struct engine_func_info *fi,
		       unsigned char *params)
{
	char piece[4096];
	unsigned char one[PARAM_BYTES];
	uint32_t n = 0;

	while (*args) {
		int bytes;

		args = next_arg(args, piece, sizeof(piece));
		bytes = make_arg(t, piece, one);
		if (bytes < 0) {
			failed(t, "bad argument '%s'", piece);
			return -1;
		}
		if (n >= fi->nparams || fi->params[n].bytes != (uint32_t)bytes ||
		    fi->params[n].offset + fi->params[n].bytes > fi->param_bytes) {
			failed(t, "argument %u ('%s', %d bytes): the engine says %u parameters, this one %u bytes",
			       n, piece, bytes, fi->nparams, n < fi->nparams ? fi->params[n].bytes : 0);
			return -1;
		}
		memcpy(params + fi->params[n].offset, one, (size_t)bytes);
		n++;
	}
	if (n != fi->nparams) {
		failed(t, "%u arguments given, the kernel has %u", n, fi->nparams);
		return -1;
	}
	return 0;
}

static void do_launch(struct test *t, const char *s, int async)
{
	static unsigned char params[PARAM_BYTES];
	struct engine_launch l = { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
	struct engine_func_info fi;
	struct engine_symbol sym;
	char word[128], log[512] = "";
	const char *args = "";
	unsigned index = 0;
	uint32_t st;
	int n;

	settle(t);
	if (rig_on_cuda && t->open && (rig_died(&t->rig) || t->status == RIG_TIMEOUT)) {
		t->again = t->line;
		return;
	}
	if (t->open && t->rig.faults)
		close_engine(t);
	if (need_module(t))
		return;
	if (sscanf(s, "%127s%n", t->kernel, &n) != 1) {
		failed(t, "launch of what?");
		return;
	}
	for (s += n; sscanf(s, " %127s%n", word, &n) == 1; s += n) {
		uint32_t *d = !strncmp(word, "grid=", 5) ? l.grid :
			      !strncmp(word, "block=", 6) ? l.block :
			      !strncmp(word, "cluster=", 8) ? (memcpy(l.cluster, (uint32_t[]){ 1, 1, 1 }, 12), l.cluster) : NULL;

		if (!strncmp(word, "args=", 5)) {
			args = strstr(s, "args=") + 5;
			break;
		}
		if (d)
			sscanf(strchr(word, '=') + 1, "%u,%u,%u", &d[0], &d[1], &d[2]);
		else if (!strncmp(word, "shared=", 7))
			l.shared_bytes = (uint32_t)strtoul(word + 7, NULL, 0);
		else if (!strcmp(word, "coop"))
			l.flags |= ENGINE_LAUNCH_COOPERATIVE;
		else
			failed(t, "unknown word '%s'", word);
	}
	if (find_symbol(t, t->kernel, strlen(t->kernel), &sym) || sym.kind != ENGINE_SYM_FUNC) {
		failed(t, "no kernel %s in the module", t->kernel);
		return;
	}
	st = rig_ops->func_info(t->rig.engine, sym.id, &fi, log, sizeof(log));
	if (st == VGPU_ST_NOT_SUPPORTED && t->optional) {
		snprintf(t->skip, sizeof(t->skip), "%.190s", log);
		return;
	}
	if (unsupported(t, st, log))
		return;
	if (st) {
		failed(t, "func_info of %s: %s: %s", t->kernel, status_name(st), log);
		return;
	}
	if (fi.param_bytes > sizeof(params)) {
		failed(t, "%u bytes of parameters", fi.param_bytes);
		return;
	}
	memset(params, 0, sizeof(params));
	if (make_params(t, args, &fi, params))
		return;
	l.fn = sym.id;
	l.params = params;
	l.param_bytes = fi.param_bytes;
	st = rig_launch(&t->rig, &l, &index);
	if (unsupported(t, st, "launch"))
		return;
	t->launched = (int)index;
	/* "valid during the call only" is part of the contract: break a late reader */
	memset(params, 0xdb, sizeof(params));
	if (async) {
		t->launched = -1;
		t->checks++;
		if (st != VGPU_ST_OK && st != ENGINE_PENDING)
			failed(t, "launch of %s: %s", t->kernel, status_name(st));
	} else {
		t->status = st == ENGINE_PENDING ? rig_wait(&t->rig, index, t->seconds) : st;
	}
}

/* "name": the buffer is given back; launches may still name it. */
static void do_free(struct test *t, const char *s)
{
	struct buffer *b = find_buffer(t, s, strcspn(s, " "));

	settle(t);
	if (!b) {
		failed(t, "no buffer '%s'", s);
		return;
	}
	canary_forget(&t->rig.canaries, b->at, b->count * b->type.bytes + 1);
	if (rig_on_cuda) {
		rig_free(&t->rig, b->at);
		return;
	}
	rig_ops->note_alloc(t->rig.engine, (uint64_t)(uintptr_t)b->at, b->count * b->type.bytes, 0);
	mmap(b->at, b->count * b->type.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void do_wait(struct test *t)
{
	settle(t);
	for (unsigned i = 0; t->open && i < t->rig.launches; i++) {
		uint32_t st = rig_wait(&t->rig, i, t->seconds);

		t->checks++;
		if (st != VGPU_ST_OK)
			failed(t, "launch %u: %s", i, status_name(st));
	}
}

#endif
