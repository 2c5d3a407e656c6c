/* SPDX-License-Identifier: MIT */
/*
 * The directives of PTX test files that look at results: memory, faults, printed text, the
 * answers of module_load and func_info. Included by ptxrun.c only.
 */
#ifndef TESTS_PTX_EXPECT_H
#define TESTS_PTX_EXPECT_H

#include "test.h"

/*
 * "name[a..b] = list [~tolerance | ulp=n]" or "@global:type[n] = list". With set, memory is
 * written instead of compared.
 */
static void do_expect(struct test *t, const char *s, int set)
{
	const char *eq = strchr(s, '='), *p, *stop, *bad;
	size_t first = 0, count, len;
	struct vtype ty;
	unsigned char *at = NULL, *copy = NULL;
	uint64_t there = 0;
	uint32_t st = 0;
	double tolerance = 0;
	struct value *v;

	if (set ? need_module(t) : !t->open)
		return;
	if (!eq) {
		failed(t, "no '='");
		return;
	}
	if (*s == '@') {
		struct engine_symbol sym;
		char *end;

		len = strcspn(s + 1, ": ");
		p = s[1 + len] == ':' ? parse_type(s + 2 + len, &ty) : NULL;
		if (!p || *p != '[' || find_symbol(t, s + 1, len, &sym)) {
			failed(t, "no variable in '%s'", s);
			return;
		}
		count = strtoul(p + 1, &end, 0);
		if (count * ty.bytes > sym.bytes) {
			failed(t, "%.*s has %llu bytes", (int)len, s + 1,
			       (unsigned long long)sym.bytes);
			return;
		}
		there = sym.address;
	} else {
		struct buffer *b;

		len = strcspn(s, "[ =");
		b = find_buffer(t, s, len);
		if (!b) {
			failed(t, "no buffer '%.*s'", (int)len, s);
			return;
		}
		ty = b->type;
		at = b->at;
		count = b->count;
		if (s[len] == '[') {
			char *end;
			size_t last;

			last = first = strtoul(s + len + 1, &end, 0);
			if (end[0] == '.' && end[1] == '.')
				last = strtoul(end + 2, &end, 0);
			if (*end != ']' || last < first || last >= b->count) {
				failed(t, "bad range");
				return;
			}
			count = last - first + 1;
		}
	}
	p = skip_blank(eq + 1);
	stop = p + strlen(p);
	if ((bad = strchr(p, '~'))) {
		tolerance = strtod(bad + 1, NULL);
		stop = bad;
	} else if ((bad = strstr(p, "ulp="))) {
		tolerance = -strtod(bad + 4, NULL);
		stop = bad;
	}
	v = calloc(count + 1, sizeof(*v));
	bad = parse_values(p, stop, ty, v, count, lookup_address, t);
	if (bad)
		failed(t, "bad list of %zu values at '%s'", count, bad);
	if (!there)
		there = rig_address(&t->rig, at + first * ty.bytes);
	at = copy = calloc(count + 1, ty.bytes);
	if (!bad && !set && rig_died(&t->rig)) {        /* its memory went with it */
		free(copy);
		free(v);
		return;
	}
	if (!bad && !set)
		st = rig_read(&t->rig, at, there, count * ty.bytes);
	t->checks++;
	for (size_t i = 0, shown = 0; !bad && i < count; i++) {
		uint64_t got = 0;
		char g[64], w[64];

		if (set) {
			memcpy(at + i * ty.bytes, &v[i].bits, ty.bytes);
			continue;
		}
		memcpy(&got, at + i * ty.bytes, ty.bytes);
		if (value_matches(ty, got, v[i], tolerance))
			continue;
		if (shown++ == (rig_on_cuda ? 8 : 4)) {
			printf("%s:%u: ... and more\n", t->path, t->line);
			break;
		}
		value_print(ty, got, g, sizeof(g));
		value_print(ty, v[i].bits, w, sizeof(w));
		failed(t, "%.*s[%zu] = %s, expected %s", (int)len, s + (*s == '@'), first + i, g,
		       v[i].mode == V_NAN ? "nan" : w);
	}
	if (!bad && set)
		st = rig_write(&t->rig, there, at, count * ty.bytes);
	if (st)
		failed(t, "'%.40s' cannot be %s: %s", s, set ? "written" : "read", status_name(st));
	free(copy);
	free(v);
}

/* "STATUS [block=x,y,z] [thread=x,y,z] [addr=N] [line=N] [kernel=NAME]"; the kernel: another than was launched */
static void do_expect_fault(struct test *t, const char *s, int at_launch)
{
	struct rig *r = &t->rig;
	const char *value;
	char word[128];
	uint32_t want[3];
	int n = 0;

	if (t->launched < 0) {
		failed(t, "nothing was launched");
		return;
	}
	t->checks++;
	t->reported = 1;
	t->faults |= !at_launch;
	if (sscanf(s, "%127s%n", word, &n) != 1 || !status_is(t->status, word))
		failed(t, "got %s, expected %s", status_name(t->status), word);
	if (at_launch || rig_on_cuda)   /* a driver does not say where it was */
		return;
	if (t->status == RIG_TIMEOUT)
		return;
	value = strstr(s, "kernel=");
	if (r->faults != 1 || r->fault.status != t->status || strncmp(r->fault_kernel, value ? value + 7 : t->kernel, strlen(r->fault_kernel)) ||
	    (!value && strlen(r->fault_kernel) != strlen(t->kernel)))
		failed(t, "%u reports of a fault, the first: %s in '%s'", r->faults,
		       status_name(r->fault.status), r->fault_kernel);
	if (r->fault.ptx_line && (!r->fault_code[0] || strchr(r->fault_code, '?')))
		failed(t, "the instruction of the fault is '%s'", r->fault_code);
	for (s += n; sscanf(s, " %127s%n", word, &n) == 1; s += n) {
		const uint32_t *got = !strncmp(word, "block=", 6) ? r->fault.block :
				      !strncmp(word, "thread=", 7) ? r->fault.thread : NULL;
		uint64_t x;

		value = strchr(word, '=');

		if (!value) {
			failed(t, "unknown word '%s'", word);
			return;
		}
		if (got) {
			if (sscanf(value + 1, "%u,%u,%u", &want[0], &want[1], &want[2]) != 3 ||
			    memcmp(want, got, sizeof(want)))
				failed(t, "%s, but got %u,%u,%u", word, got[0], got[1], got[2]);
			continue;
		}
		if (value[1] == '&') {
			struct value v;

			x = parse_literal(value + 1, (struct vtype){ 'u', 8 }, &v, lookup_address,
					  t) ? v.bits : 0;
		} else {
			x = strtoull(value + 1, NULL, 0);
		}
		if (!strncmp(word, "addr=", 5) && x != r->fault.address)
			failed(t, "%s, but got 0x%llx", word, (unsigned long long)r->fault.address);
		if (!strncmp(word, "line=", 5) && x != r->fault.ptx_line)
			failed(t, "%s, but got %u", word, r->fault.ptx_line);
	}
}

/* What a probe found: how the last launch ended, or the words of a buffer, eight a line, alike of every engine. */
static void do_show(struct test *t, const char *s, int status)
{
	const char *name = strrchr(t->path, '/') ? strrchr(t->path, '/') + 1 : t->path;
	struct buffer *b = status ? NULL : find_buffer(t, s, strcspn(s, " "));
	unsigned char *copy;
	uint32_t st;

	t->checks++;
	if (status) {
		t->reported = 1;
		t->faults |= t->launched >= 0 && t->status;
		printf("%s %s: %s\n", name, t->kernel, t->launched < 0 ? "nothing was launched" : status_name(t->status));
		return;
	}
	if (!b || t->status || rig_died(&t->rig)) {
		printf("%s %s: %s is gone\n", name, t->kernel, s);
		return;
	}
	copy = calloc(b->count + 1, b->type.bytes);
	st = rig_read(&t->rig, copy, rig_address(&t->rig, b->at), b->count * b->type.bytes);
	if (st)
		failed(t, "'%.40s' cannot be read: %s", s, status_name(st));
	for (size_t i = 0; !st && i < b->count; i++) {
		uint64_t v = 0;

		memcpy(&v, copy + i * b->type.bytes, b->type.bytes);
		if (i % 8 == 0)
			printf("%s %s %s[%zu]", name, t->kernel, b->name, i);
		printf(" %0*llx%s", (int)(2 * b->type.bytes), (unsigned long long)v, i % 8 == 7 || i + 1 == b->count ? "\n" : "");
	}
	free(copy);
}

/* "STATUS [line[:column]] ["text in the log"]": by module_load, or by func_info of a kernel. */
static void do_expect_load(struct test *t, const char *s)
{
	char log[512] = "", word[128], place[64] = "", *quote;
	struct engine_func_info fi;
	struct engine_symbol sym;
	uint32_t st;
	int n;

	t->checks++;
	if (!t->open && rig_open(&t->rig, t->cores, t->cc_major, t->cc_minor)) {
		failed(t, "no engine");
		return;
	}
	t->open = 1;
	st = rig_ops->module_load(t->rig.engine, t->text, t->text_bytes, &t->module, log,
				    sizeof(log));
	for (uint32_t i = 0; !st; i++) {
		if (rig_ops->module_symbol(t->rig.engine, t->module, i, &sym))
			break;
		if (sym.kind == ENGINE_SYM_FUNC)
			st = rig_ops->func_info(t->rig.engine, sym.id, &fi, log, sizeof(log));
	}
	if (unsupported(t, st, log))
		return;
	if (!st && rig_on_cuda)
		t->loaded = 1;
	if (rig_on_cuda && sscanf(s, "%127s", word) == 1 && !strncmp(word, "NOT_SUPPORTED", 13)) {
		snprintf(t->skip, sizeof(t->skip), "what we do not support");
		return;
	}
	if (sscanf(s, "%127s%n", word, &n) != 1 || !status_is(st, word)) {
		failed(t, "got %s (%s), expected %s", status_name(st), log, word);
		return;
	}
	if (rig_on_cuda)
		return;
	sscanf(s + n, " %63[0-9:]", place);
	if (strncmp(log, place, strlen(place)) ||
	    (place[0] && log[strlen(place)] != ':'))
		failed(t, "the log says '%s', expected place %s", log, place);
	quote = strchr(s + n, '"');
	if (quote) {
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(quote + 1, "\""), quote + 1);
		if (!strstr(log, word))
			failed(t, "the log says '%s', without '%s'", log, word);
	}
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *sorted_lines(const char *s)
{
	char *copy = strdup(s), *out = calloc(1, strlen(s) + 2), *save = NULL;
	char *lines[4096];
	size_t n = 0;

	for (char *l = strtok_r(copy, "\n", &save); l && n < 4096; l = strtok_r(NULL, "\n", &save))
		lines[n++] = l;
	qsort(lines, n, sizeof(lines[0]), compare_lines);
	for (size_t i = 0; i < n; i++)
		strcat(strcat(out, lines[i]), "\n");
	free(copy);
	return out;
}

/*
 * "text": one printed line (threads print in any order, so all lines of a launch are sorted).
 * Consecutive directives are gathered by the caller; `want` holds their lines.
 */
static void check_print(struct test *t, const char *want)
{
	const char *all = t->rig.print ? t->rig.print : "";
	char *got = sorted_lines(all + (t->print_seen < strlen(all) ? t->print_seen : strlen(all)));
	char *exp = sorted_lines(want);

	t->checks++;
	if (strcmp(got, exp))
		failed(t, "printed:\n%sexpected (in any order):\n%s", got, exp);
	t->print_seen = t->rig.print_bytes;
	free(got);
	free(exp);
}

/* "TEXT" or "TEXT*N": said (N times), behind what the last such line named. Of other modes nothing is asked. */
static void do_told(struct test *t, const char *s, uint32_t mode)
{
	const char *star = strrchr(s, '*'), *p;
	unsigned long want = star ? strtoul(star + 1, NULL, 10) : 0, got = 0;
	char text[256];

	if (rig_mode != mode)
		return;
	settle(t);
	t->checks++;
	t->told++;
	snprintf(text, sizeof(text), "%.*s", (int)(star ? star - s : (long)strlen(s)), s);
	rig_told[rig_told_bytes] = 0;
	p = strstr(rig_told + t->told_seen, text);
	if (!p) {
		failed(t, "not said: '%s', but:\n%s", text, rig_told + t->told_seen);
		return;
	}
	t->told_seen = (size_t)(p - rig_told);
	if (!star) {
		t->told_seen += strlen(text);
		return;
	}
	for (; p; p = strstr(p + strlen(text), text))
		got++;
	if (got != want)
		failed(t, "said %lu times: '%s'", got, text);
}

/* The checker tells nothing that the file does not name or does not fault for; what is shown is whole lines, all known. */
static void check_told(struct test *t)
{
	rig_told[rig_told_bytes] = 0;
	if (rig_mode == ENGINE_MODE_MEMCHECK && !t->told && !t->faults && rig_told_bytes)
		failed(t, "the memory checker says:\n%s", rig_told);
	/* that a kernel cannot be compared is no difference */
	for (const char *p = rig_told; rig_mode == ENGINE_MODE_VERIFY && (p = strstr(p, "Verify: kernel ")); p++)
		if (!strstr(p, "is not comparable:") || strstr(p, "is not comparable:") > strchr(p, '\n')) {
			failed(t, "the two runs differ:\n%s", p);
			break;
		}
	if (rig_mode != ENGINE_MODE_OPS)
		return;
	for (const char *p = rig_told, *end; *p; p = end + 1) {
		end = strchr(p, '\n');
		if (!end || strncmp(p, RIG_SHOWN, strlen(RIG_SHOWN)) || memchr(p, '?', (size_t)(end - p)) || end - p < 5) {
			failed(t, "shown: '%.*s'", end ? (int)(end - p) : 100, p);
			break;
		}
		if (end + 1 == rig_told + rig_told_bytes && rig_told_bytes + 1 == sizeof(rig_told))
			break;
	}
}

/* "kernel name=value...": the numbers of func_info; offsets=0,8,16 are the parameters'. */
static void do_func(struct test *t, const char *s)
{
	struct engine_func_info fi;
	struct engine_symbol sym;
	char word[256], name[128], log[512] = "";
	uint32_t st;
	int n;

	t->checks++;
	if (need_module(t))
		return;
	if (sscanf(s, "%127s%n", name, &n) != 1 || find_symbol(t, name, strlen(name), &sym)) {
		failed(t, "no kernel in '%s'", s);
		return;
	}
	st = rig_ops->func_info(t->rig.engine, sym.id, &fi, log, sizeof(log));
	if (st) {
		failed(t, "func_info: %s: %s", status_name(st), log);
		return;
	}
	if (unsupported(t, st, log))
		return;
	if (strcmp(fi.name, name) || fi.id != sym.id)
		failed(t, "func_info calls it '%s', id %u", fi.name, fi.id);
	for (s += n; sscanf(s, " %255s%n", word, &n) == 1; s += n) {
		char *value = strchr(word, '='), got[256] = "";

		if (!value) {
			failed(t, "unknown word '%s'", word);
			return;
		}
		*value++ = 0;
		if (rig_on_cuda && (strstr("local_bytes const_bytes binary_version max_threads", word) || !strcmp(word, "reqntid")))
			continue;       /* of the compiler, or not asked */
#define FIELD(x) if (!strcmp(word, #x)) snprintf(got, sizeof(got), "%u", fi.x)
		FIELD(nparams);
		FIELD(param_bytes);
		FIELD(max_threads);
		FIELD(shared_static);
		FIELD(local_bytes);
		FIELD(const_bytes);
		FIELD(ptx_version);
		FIELD(binary_version);
#undef FIELD
		if (!strcmp(word, "reqntid"))
			snprintf(got, sizeof(got), "%u,%u,%u", fi.reqntid[0], fi.reqntid[1],
				 fi.reqntid[2]);
		if (!strcmp(word, "offsets") || !strcmp(word, "sizes"))
			for (uint32_t i = 0; i < fi.nparams; i++)
				snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%u",
					 i ? "," : "", word[0] == 'o' ? fi.params[i].offset :
					 fi.params[i].bytes);
		if (strcmp(got, value))
			failed(t, "%s = %s, expected %s", word, got, value);
	}
}

#endif
