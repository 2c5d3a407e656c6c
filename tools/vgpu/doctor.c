/* SPDX-License-Identifier: MIT */
/*
 * vgpu doctor [-j] [-p PID | --ollama [URL] | [--] CMD [ARG...]]: why a program would not use the GPU. Every check prints
 * ok, warn or fail, what it saw, and the exact fix; the last line is the verdict. Exit status 0 without a
 * fail, 1 with one, 2 for usage.
 */
#define _GNU_SOURCE
#include "doctor.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const level_name[] = { "ok", "warn", "fail" };

/* Every text stays until the end, for lines and verdict hold pointers to them: none is ever written over. */
static struct kept {
	struct kept *next;
	char s[];
} *kept;

const char *text(const char *fmt, ...)
{
	va_list ap, again;
	struct kept *k;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	k = n < 0 ? NULL : malloc(sizeof(*k) + (size_t)n + 1);
	if (!k)
		abort();
	vsnprintf(k->s, (size_t)n + 1, fmt, again);
	va_end(again);
	k->next = kept;
	kept = k;
	return k->s;
}

static void forget_texts(void)
{
	for (struct kept *k; (k = kept); free(k))
		kept = k->next;
}

const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void print(struct doctor *d, enum level l, const char *name, const char *seen, const char *advice)
{
	d->count[l]++;
	if (l == FAIL && !d->first[0])
		snprintf(d->first, sizeof(d->first), "%.150s: %.350s", name, seen);
	if (d->json) {
		json_open(d->json, NULL, '{');
		json_str(d->json, "name", name);
		json_str(d->json, "status", level_name[l]);
		json_str(d->json, "observed", seen);
		json_str(d->json, "fix", l == GOOD ? "" : advice);
		json_close(d->json, '}');
		return;
	}
	printf("%-4s  %s: %s\n", level_name[l], name, seen);
	if (l != GOOD && advice[0])
		printf("      fix: %s\n", advice);
	fflush(stdout);
}

void report(struct doctor *d, enum level l, const char *check, const char *fix, const char *fmt, ...)
{
	char seen[8192], advice[8192], name[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(seen, sizeof(seen), fmt, ap);
	va_end(ap);
	snprintf(advice, sizeof(advice), "%s", fix ? fix : "");
	snprintf(name, sizeof(name), "%s", check);
	printable(seen);
	printable(advice);
	printable(name);
	if (d->held) {
		struct held *h = calloc(1, sizeof(*h));

		if (!h || !(h->name = strdup(name)) || !(h->seen = strdup(seen)) || !(h->advice = strdup(advice)))
			abort();
		h->level = l;
		*d->held->end = h;
		d->held->end = &h->next;
		d->held->failed |= l == FAIL;
		return;
	}
	print(d, l, name, seen, advice);
}

void hold(struct doctor *d, struct holding *h)
{
	*h = (struct holding){ .end = &h->first };
	d->held = h;
}

void let_go(struct doctor *d, struct holding *h, enum level worst)
{
	struct held *e;

	d->held = NULL;
	while ((e = h->first)) {
		h->first = e->next;
		print(d, e->level < worst ? e->level : worst, e->name, e->seen, e->advice);
		free(e->name);
		free(e->seen);
		free(e->advice);
		free(e);
	}
}

static void verdict(struct doctor *d, const char *target)
{
	char line[1024];
	unsigned f = d->count[FAIL], w = d->count[WARN];

	if (f)
		snprintf(line, sizeof(line), "%u failure%s, %u warning%s: %s. First: %.600s", f, f == 1 ? "" : "s", w,
			 w == 1 ? "" : "s", target ? "it would not use the GPU, or not rightly" :
			 "programs would not use the GPU", d->first);
	else if (d->doubt)
		snprintf(line, sizeof(line), "no failure, but whether %.200s uses the GPU cannot be told: %.600s", target ? target : "it",
			 d->doubt);
	else
		snprintf(line, sizeof(line), "nothing found that keeps %.200s from the GPU (%u warning%s)",
			 target ? target : "a program", w, w == 1 ? "" : "s");
	printable(line);
	if (d->json)
		json_str(d->json, "verdict", line);
	else
		printf("verdict: %s\n", line);
}

/* "vgpu run -- CMD ARG...", so that it can be typed again; words that a shell would read otherwise in quotes. */
void say_how(struct doctor *d, char *const *cmd)
{
	size_t n = (size_t)snprintf(d->how, sizeof(d->how), "vgpu run --%s", cmd && *cmd ? "" : " CMD");

	for (; cmd && *cmd; cmd++) {
		int plain = **cmd && !(*cmd)[strcspn(*cmd, " \t\n\"'$`\\*?;&|<>()[]{}~#")], quote = strchr(*cmd, '\'') != NULL;
		size_t need = strlen(*cmd) + 4;

		if (quote || n + need + 4 > sizeof(d->how)) {
			snprintf(d->how + n, sizeof(d->how) - n, " ...");
			return;
		}
		n += (size_t)snprintf(d->how + n, sizeof(d->how) - n, plain ? " %s" : " '%s'", *cmd);
	}
}

static int usage(FILE *to)
{
	fputs("usage: vgpu doctor [-j] [-p PID | --ollama [URL] | [--] CMD [ARG...]]\n"
	      "  Says why a program would not use the GPU: system, then CMD (a program, a script, or a library such as\n"
	      "  libggml-cuda.so), or the running process PID. Reads only; CMD is not run.\n"
	      "  --ollama: asks the server there (OLLAMA_HOST, else http://127.0.0.1:11434) what it uses, and looks at its process.\n"
	      "  Exit status: 0 nothing fails, 1 something fails, 2 usage.\n", to);
	return to == stderr ? 2 : 0;
}

int cmd_doctor(int argc, char **argv)
{
	static struct doctor d;
	struct json j = { .out = stdout };
	const char *target = NULL, *url = NULL;
	int i, json = 0, ollama = 0;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help"))
			return usage(stdout);
		if (!strcmp(argv[i], "-j")) {
			json = 1;
		} else if (!strcmp(argv[i], "-p") && i + 1 < argc) {
			char *end;
			long pid = strtol(argv[++i], &end, 10);

			if (*end || pid <= 0 || pid > INT_MAX) {
				complain("doctor: -p wants a process id, not %s", argv[i]);
				return 2;
			}
			d.pid = (int)pid;
		} else if (!strcmp(argv[i], "--ollama")) {
			ollama = 1;
			if (i + 1 < argc && argv[i + 1][0] != '-')
				url = argv[++i];
		} else {
			return misused("doctor", argv[i]);
		}
	}
	if ((d.pid != 0) + ollama + (i < argc) > 1) {
		complain("doctor: a process, Ollama or a command: one of them; vgpu doctor --help");
		return 2;
	}
	d.env = environ;
	d.cc = DEFAULT_CC;
	d.driver_version = VGPU_CUDA_VERSION;   /* until libcuda itself is asked */
	if (tool_path(d.lib, sizeof(d.lib), "lib", "") || strlen(d.lib) < 2) {
		complain("doctor: cannot tell where this program is");
		return 2;
	}
	d.lib[strlen(d.lib) - 1] = 0;   /* the slash */
	say_how(&d, i < argc ? argv + i : NULL);
	if (json) {
		d.json = &j;
		json_open(&j, NULL, '{');
		json_str(&j, "vgpu_version", VGPU_VERSION);
		json_open(&j, "checks", '[');
	}
	if (ollama) {
		target = "Ollama";
		if (check_server(&d, url))
			return 2;
	} else if (d.pid) {
		target = text("process %d", d.pid);
		check_process(&d);
	} else {
		check_system(&d);
		check_environment(&d, 0);
		if (i < argc) {
			target = argv[i];
			check_program(&d, argv + i);
		}
	}
	if (json) {
		json_close(&j, ']');
		json_u64(&j, "ok", d.count[GOOD]);
		json_u64(&j, "warn", d.count[WARN]);
		json_u64(&j, "fail", d.count[FAIL]);
	}
	verdict(&d, target);
	if (json)
		json_close(&j, '}');
	agent_status_free(&d.st);
	forget_texts();
	return d.count[FAIL] != 0;
}
