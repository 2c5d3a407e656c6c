/* SPDX-License-Identifier: MIT */
/*
 * vgpu doctor -- CMD: what CMD is, and which file the loader takes for each CUDA library that it needs.
 */
#define _GNU_SOURCE
#include "doctor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SCRIPTS 4

/* Libraries that vgpu stands in for. */
static const char *const cuda_names[] = { "libcuda.so", "libcudart.so", "libcublas.so", "libcublasLt.so",
					  "libnvidia-ml.so" };
/* Libraries of the CUDA toolkit that it does not. */
static const char *const other_names[] = { "libcufft", "libcurand", "libcusolver", "libcusparse", "libcudnn", "libnccl",
					   "libnvrtc", "libnvJitLink", "libnpp", "libcupti", "libnvjpeg" };
/* What programs open by name. */
static const char *const dlopen_names[] = { "libcuda.so.1", "libcudart.so.12", "libcudart.so.13", "libcublas.so.12",
					    "libcublas.so.13", "libnvidia-ml.so.1" };

/* The export table that NVIDIA's runtime asks its driver for before anything else. */
static const unsigned char handshake[16] = { 0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b,
					     0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1, 0xf2 };

int is_cuda(const char *name)
{
	for (size_t i = 0; i < sizeof(cuda_names) / sizeof(cuda_names[0]); i++)
		if (!strncmp(name, cuda_names[i], strlen(cuda_names[i])))
			return 1;
	return 0;
}

static int is_other(const char *name)
{
	for (size_t i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++)
		if (!strncmp(name, other_names[i], strlen(other_names[i])))
			return 1;
	return 0;
}

static int has_marker(const struct elf *e)
{
	return elf_find(e, "vgpu lib", 8) || elf_find(e, "no vgpu-agent", 13);
}

/* The very file that stands in our folder; or, from another installation, one that holds our messages. */
int is_ours(struct doctor *d, const char *path)
{
	struct elf e;
	int yes;

	if (same_file(path, text("%s/%s", d->lib, base(path))))
		return 1;
	if (elf_open(&e, path))
		return 0;
	yes = (e.soname && is_cuda(e.soname) && same_file(path, text("%s/%s", d->lib, e.soname))) ||
	      (e.bytes < 32u << 20 && has_marker(&e));
	elf_close(&e);
	return yes;
}

char *preload_line(struct doctor *d)
{
	char *s = strdup("");

	for (unsigned i = 0; run_preload[i]; i++) {
		char *more;

		if (asprintf(&more, "%s%s%s/%s", s, i ? ":" : "", d->lib, run_preload[i]) < 0)
			abort();
		free(s);
		s = more;
	}
	return s;
}

char **run_env(struct doctor *d, char *const *env)
{
	const char *pre = env_get(env, "LD_PRELOAD"), *path = env_get(env, "LD_LIBRARY_PATH");
	char *line = preload_line(d), **out;
	size_t n = 0, k = 2;

	while (env[n])
		n++;
	out = calloc(n + 3, sizeof(*out));
	if (!out || asprintf(&out[0], "LD_PRELOAD=%s%s%s", line, pre ? ":" : "", pre ? pre : "") < 0 ||
	    asprintf(&out[1], "LD_LIBRARY_PATH=%s%s%s", d->lib, path ? ":" : "", path ? path : "") < 0)
		abort();
	free(line);
	for (size_t i = 0; i < n; i++)
		if (strncmp(env[i], "LD_PRELOAD=", 11) && strncmp(env[i], "LD_LIBRARY_PATH=", 16))
			out[k++] = env[i];
	return out;
}

void run_env_free(char **env)
{
	free(env[0]);
	free(env[1]);
	free(env);
}

/* ---- CMD to a file ---- */

static int is_program(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

static int find_command(struct doctor *d, const char *cmd, char *out)
{
	const char *path = env_get(d->env, "PATH");

	if (strchr(cmd, '/')) {
		snprintf(out, PATH_MAX, "%s", cmd);
		return is_program(cmd) ? 0 : -1;
	}
	for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; *path;) {
		size_t n = strcspn(path, ":");

		if ((size_t)snprintf(out, PATH_MAX, "%.*s/%s", n ? (int)n : 1, n ? path : ".", cmd) < PATH_MAX &&
		    is_program(out) && !access(out, X_OK))
			return 0;
		path += n;
		path += *path != 0;
	}
	return -1;
}

/* "#!/usr/bin/env -S node ..." and "#!/bin/sh -e": the interpreter's file in path. 1: it was a script. */
static int follow_script(struct doctor *d, char *path)
{
	char line[512], name[256] = "", script[PATH_MAX];
	FILE *f = fopen(path, "re");
	char *word, *save = NULL;
	size_t n = f ? fread(line, 1, sizeof(line) - 1, f) : 0;

	if (f)
		fclose(f);
	line[n] = 0;
	if (n < 3 || line[0] != '#' || line[1] != '!')
		return 0;
	line[strcspn(line, "\n")] = 0;
	word = strtok_r(line + 2, " \t\r", &save);
	if (word && !strcmp(base(word), "env"))
		do
			word = strtok_r(NULL, " \t\r", &save);
		while (word && (*word == '-' || strchr(word, '=')));
	snprintf(name, sizeof(name), "%s", word ? word : "");
	snprintf(script, sizeof(script), "%s", path);
	if (!name[0] || find_command(d, name, path)) {
		report(d, FAIL, "script", text("install %s, or mend the first line of %s", name[0] ? name : "its interpreter", script),
		       "%s wants \"%s\", which is not there", script, name);
		return -1;
	}
	report(d, GOOD, "script", NULL, "%s is run by %s; that is examined here, and what it starts inherits its environment",
	       script, path);
	return 1;
}

void check_program(struct doctor *d, char **cmd)
{
	char path[PATH_MAX];
	int script = 1;

	if (find_command(d, cmd[0], path)) {
		report(d, FAIL, "program", "give its path, or mend PATH", "%s is not there, or not a program", cmd[0]);
		return;
	}
	for (int i = 0; i < MAX_SCRIPTS && script == 1; i++)
		script = follow_script(d, path);
	if (script < 0)
		return;
	check_binary(d, path, cmd + 1);
}

/* ---- libraries ---- */

static const char *foreign_why(const char *name)
{
	if (!strncmp(name, "libcudart", 9))
		return "NVIDIA's own runtime, or somebody else's: it accepts no libcuda but NVIDIA's (error 103, integrity checks)";
	if (!strncmp(name, "libcuda.so", 10))
		return "a driver of somebody else's";
	return "not ours: it wants NVIDIA's own libraries";
}

/* One CUDA library of the closure: whose is it, and what would vgpu run make of it? */
static void check_library(struct doctor *d, const struct closure *c, const struct closure *run, const struct object *o,
			  const char *name, const char *inside)
{
	const struct object *then = ldso_find(run, name), *wins = NULL;
	const char *check = text("%s%s%s%s", name, inside ? " (" : "", inside ? inside : "", inside ? ")" : "");
	const char *ours = text("%s/%s", d->lib, name), *wanted_by = base(c->o[o->by].path ? c->o[o->by].path : "?");
	const char *extra = "", *lp;
	char how[512], fix[2 * PATH_MAX];

	if (o->path && is_ours(d, o->path)) {
		report(d, GOOD, check, NULL, "%s (%s): ours", o->path, how_text(c, o, how, sizeof(how)));
		return;
	}
	if (o->how == BY_PRELOAD) {
		report(d, FAIL, check, text("put %s first into LD_PRELOAD, or take the other one out of it", ours), "%s (by LD_PRELOAD): %s",
		       o->path ? o->path : o->name, foreign_why(name));
		return;
	}
	if (then && then->path && is_ours(d, then->path))
		wins = then;
	if (wins && d->pid)
		snprintf(fix, sizeof(fix), "start it under 'vgpu run --', or put LD_PRELOAD=%s into its environment", ours);
	else if (wins)
		snprintf(fix, sizeof(fix), "%s (its LD_PRELOAD makes the loader take %s)", d->how, wins->path);
	else if (access(ours, R_OK))
		snprintf(fix, sizeof(fix), "%s is missing: build it with 'make', or reinstall; then %s", ours, d->how);
	else
		snprintf(fix, sizeof(fix), "LD_PRELOAD=%s %s", ours, d->how);
	if (!o->path) {
		int hard = !o->dlopened || !strncmp(name, "libcuda.so", 10);

		report(d, hard ? FAIL : WARN, check, fix, "not found; %s %s it", wanted_by,
		       o->dlopened ? "opens" : "needs");
		return;
	}
	lp = env_get(c->env, "LD_LIBRARY_PATH");
	if (o->how == BY_RPATH && lp && strstr(lp, d->lib))
		extra = ", which comes before LD_LIBRARY_PATH: that alone is not enough";
	report(d, FAIL, check, fix, "%s (%s%s): %s", o->path,
	       how_text(c, o, how, sizeof(how)), extra, foreign_why(name));
}

static void check_needs(struct doctor *d, const struct closure *c, const struct object *o)
{
	if (o->path || is_cuda(o->name) || o->how != BY_NOTHING)
		return;
	report(d, o->dlopened ? WARN : FAIL, o->name, text("install the package that has %s, or set LD_LIBRARY_PATH to its folder",
	       o->name), "not found; %s needs it", base(c->o[o->by].path ? c->o[o->by].path : "?"));
}

/* A preloaded library counts under its SONAME, and only when something wants it. */
static int wanted(const struct closure *c, const struct object *o)
{
	for (unsigned i = 0; i < c->n; i++)
		for (unsigned k = 0; k < c->o[i].elf.nneeded; k++)
			if (!(c->o[i].path && is_cuda(base(c->o[i].path))) && ldso_find(c, c->o[i].elf.needed[k]) == o)
				return 1;
	return o->dlopened;
}

static void check_driver(struct doctor *d, const char *runtime)
{
	unsigned major;
	int ok;

	if (sscanf(runtime, "libcudart.so.%u", &major) != 1 || major > 1000)
		return;
	ok = (int)major * 1000 <= d->driver_version;
	report(d, ok ? GOOD : FAIL, "driver version", "use the libcuda.so.1 of this vgpu (it answers 13000)",
	       "%s wants %u.0 or later, libcuda answers %d%s", runtime, major, d->driver_version,
	       ok ? "" : ": the runtime answers error 35, insufficient driver");
}

static void check_libraries_of(struct doctor *d, struct closure *c, struct closure *run, unsigned from, const char *inside)
{
	for (unsigned i = from; i < c->n; i++) {
		const struct object *o = &c->o[i];
		const char *name = o->how == BY_PRELOAD && o->elf.soname ? o->elf.soname : o->name;

		if (i && is_cuda(name)) {
			/* a foreign one that is preloaded is in the way even if nobody wants it */
			if (o->how != BY_PRELOAD || wanted(c, o) || !is_ours(d, o->path)) {
				check_library(d, c, run, o, name, inside);
				check_driver(d, name);
			}
		} else if (i && o->path && is_other(name)) {
			report(d, WARN, name, "use a build without it; what it computes needs NVIDIA's driver",
			       "%s: vgpu has no such library, and NVIDIA's own fails on our driver", o->path);
		} else if (i) {
			check_needs(d, c, o);
		}
		if (o->elf.bits == 64 && !is_cuda(base(o->path)))
			check_symbols(d, c, i);
	}
}

/* One line: what vgpu run would make of it. */
static void check_run(struct doctor *d, const struct closure *c, const struct closure *run)
{
	char list[512] = "";

	for (unsigned i = 1; i < c->n; i++) {
		const struct object *o = &c->o[i], *then = ldso_find(run, o->name);

		if (is_cuda(o->name) && o->how != BY_PRELOAD && then && then->path && is_ours(d, then->path) &&
		    !(o->path && is_ours(d, o->path)) && strlen(list) + strlen(o->name) + 2 < sizeof(list))
			strcat(strcat(list, " "), o->name);
	}
	if (list[0])
		report(d, GOOD, "vgpu run", NULL, "would make the loader take ours for%s", list);
}

/* Names that the program or its own libraries hold as text, to open them when they run. */
static void add_dlopened(struct closure *c)
{
	unsigned n = c->n;

	for (unsigned i = 0; i < n; i++) {
		const struct object *o = &c->o[i];

		if (o->elf.bits != 64 || !o->path || is_cuda(base(o->path)) || o->how == BY_CACHE || o->how == BY_DEFAULT ||
		    o->how == BY_PRELOAD || o->elf.bytes > 1u << 30)
			continue;
		for (size_t k = 0; k < sizeof(dlopen_names) / sizeof(dlopen_names[0]); k++)
			if (!ldso_find(c, dlopen_names[k]) &&
			    elf_find(&o->elf, dlopen_names[k], strlen(dlopen_names[k]) + 1))
				ldso_dlopen(c, dlopen_names[k], i);
	}
}

/* An Ollama release starts its runner with the backend's folder first on LD_LIBRARY_PATH. */
static char **backend_env(char *const *env, const char *backend)
{
	const char *path = env_get(env, "LD_LIBRARY_PATH");
	int len = (int)(strrchr(backend, '/') - backend);
	size_t n = 0, k = 1;
	char **out;

	while (env[n])
		n++;
	out = calloc(n + 2, sizeof(*out));
	if (!out)
		abort();
	if (strstr(backend, "/ollama/")) {
		if (asprintf(&out[0], "LD_LIBRARY_PATH=%.*s:%.*s/..%s%s", len, backend, len, backend, path ? ":" : "",
			     path ? path : "") < 0)
			abort();
	} else if (asprintf(&out[0], "LD_LIBRARY_PATH=%s", path ? path : "") < 0) {
		abort();
	}
	for (size_t i = 0; i < n; i++)
		if (strncmp(env[i], "LD_LIBRARY_PATH=", 16))
			out[k++] = env[i];
	return out;
}

/* node-llama-cpp wants to see the files in its search path before it tries CUDA at all. */
static void check_node(struct doctor *d, const struct object *backend)
{
	static const char *const names[] = { "libcuda.so.1", "libnvidia-ml.so.1", "libcudart.so.%u", "libcublas.so.%u", "libcublasLt.so.%u" };
	struct closure *c = ldso_load(backend->path, d->env);
	char list[256] = "", name[64];
	unsigned major = 12, unbuilt = 0;

	for (unsigned k = 0; k < backend->elf.nneeded; k++)
		sscanf(backend->elf.needed[k], "libcudart.so.%u", &major);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int at;

		snprintf(name, sizeof(name), "%s", names[i]);
		if (i >= 2)
			snprintf(strrchr(name, '.') + 1, 12, "%u", major);
		at = ldso_dlopen(c, name, 0);
		if (at >= 0 && !c->o[at].path)
			strcat(strcat(list, " "), name);
		if (at >= 0 && !c->o[at].path)
			unbuilt += access(text("%s/%s", d->lib, name), R_OK) != 0;
	}
	ldso_free(c);
	if (list[0])
		report(d, WARN, "node-llama-cpp", text("LD_LIBRARY_PATH=%s (vgpu run sets it)%s", d->lib,
		       unbuilt ? "; some are not built: 'make', or reinstall" : ""),
		       "it looks for these files before it tries CUDA, and they are in no library folder:%s", list);
	else
		report(d, GOOD, "node-llama-cpp", NULL, "the files that it looks for are in the library folders");
}

static void check_backend(struct doctor *d, const char *program, const char *backend)
{
	char **env = backend_env(d->env, backend), **env2 = run_env(d, env);
	struct closure *c = ldso_load(program, env), *run = ldso_load(program, env2);
	unsigned before = c->n;
	const char *folder = strrchr(backend, '/') - 1;
	int i = ldso_dlopen(c, backend, 0);

	while (folder > backend && folder[-1] != '/')
		folder--;
	ldso_dlopen(run, backend, 0);
	if (i < 0 || !c->o[i].path) {
		report(d, FAIL, "ggml backend", text("reinstall the package that has %s", backend), "%s cannot be read", backend);
	} else {
		char name[256];

		snprintf(name, sizeof(name), "%s", folder);
		report(d, GOOD, "ggml backend", NULL, "%s", backend);
		/* what was loaded before it counts for it too */
		for (unsigned k = 0; k < c->o[i].elf.nneeded; k++) {
			const struct object *o = ldso_find(c, c->o[i].elf.needed[k]);

			if (!o || (unsigned)(o - c->o) >= before || !is_cuda(c->o[i].elf.needed[k]))
				continue;
			check_library(d, c, run, o, c->o[i].elf.needed[k], name);
			check_driver(d, c->o[i].elf.needed[k]);
		}
		if (strstr(backend, "node-llama-cpp") || strstr(base(program), "node"))
			check_node(d, &c->o[i]);
		check_libraries_of(d, c, run, (unsigned)i, name);
		check_code(d, &c->o[i]);
	}
	ldso_free(c);
	ldso_free(run);
	run_env_free(env2);
	free(env[0]);
	free(env);
}

static const char *kind_of(const struct elf *e)
{
	if (e->interp)
		return "dynamic program";
	if (e->dynamic && (e->soname || e->nneeded))
		return "library";
	return "static program";
}

/* 1: go on with its libraries. */
static int check_kind(struct doctor *d, const char *path, const struct elf *e)
{
	int nvidia, ours;
	struct stat st;

#if defined(__aarch64__)
	const unsigned machine = EM_AARCH64;
#else
	const unsigned machine = EM_X86_64;
#endif
	if (e->bits != 64 || e->machine != machine) {
		report(d, FAIL, "program", "use a 64-bit build for this machine", "%s is a %u-bit %s program: CUDA libraries are 64-bit, "
		       "ours are %s", path, e->bits, elf_machine(e->machine), elf_machine(machine));
		return 0;
	}
	report(d, GOOD, "program", NULL, "%s: 64-bit %s, %s", path, elf_machine(e->machine), kind_of(e));
	if (!stat(path, &st) && st.st_mode & (S_ISUID | S_ISGID))
		report(d, WARN, "set-user-ID", "run a copy of it without the bit", "the loader ignores LD_PRELOAD and LD_LIBRARY_PATH for it");
	ours = has_marker(e);
	nvidia = elf_find(e, handshake, sizeof(handshake)) || elf_find(e, "libcudart_static_", 17);
	if (nvidia && !ours)
		report(d, FAIL, "static cudart", "build it with 'nvcc -cudart shared' (or link libcuda-lite.a instead of libcudart_static.a)",
		       "NVIDIA's own cudart is linked into %s: it accepts no libcuda but NVIDIA's (error 103, integrity checks)", base(path));
	if (!strcmp(kind_of(e), "static program")) {
		if (ours)
			report(d, GOOD, "libcuda-lite.a", NULL, "linked into it: no library is looked for");
		else if (!nvidia)
			report(d, WARN, "CUDA", "if it shall use the GPU: link libcuda-lite.a", "static, and no CUDA library of ours in it");
		return 0;
	}
	if (e->interp && strstr(e->interp, "ld-musl")) {
		report(d, FAIL, "musl", "link libcuda-lite.a statically, or build it for glibc",
		       "its loader is %s: our shared libraries need glibc", e->interp);
		return 0;
	}
	if (e->interp && access(e->interp, X_OK)) {
		report(d, FAIL, "loader", "install that loader's C library", "its loader %s is not there", e->interp);
		return 0;
	}
	return 1;
}

void check_binary(struct doctor *d, const char *path, char **args)
{
	char **backends = find_backends(path, args), **env2;
	struct closure *c, *run;
	unsigned cuda = 0, code;
	struct elf e;
	int err = elf_open(&e, path), differ;

	if (err) {
		report(d, FAIL, "program", "name an ELF program, a script, or a library", "%s: %s", path,
		       err == -ENOEXEC ? "not an ELF file" : err == -EINVAL ? "a damaged ELF file" : strerror(-err));
		free_strings(backends);
		return;
	}
	code = (unsigned)check_kind(d, path, &e);
	elf_close(&e);
	c = ldso_load(path, d->env);
	if (code) {
		env2 = run_env(d, d->env);
		differ = ldso_ask(c);
		if (differ > 0)
			report(d, WARN, "loader", "none needed: below, the loader's answer counts",
			       "for %d libraries the loader answers otherwise than its rules as read here", differ);
		run = ldso_load(path, env2);
		add_dlopened(c);
		add_dlopened(run);
		check_libraries_of(d, c, run, 0, NULL);
		check_run(d, c, run);
		for (unsigned i = 1; i < c->n; i++)
			cuda += is_cuda(base(c->o[i].name)) && (c->o[i].how != BY_PRELOAD || wanted(c, &c->o[i]));
		if (!cuda && !*backends)
			report(d, WARN, "CUDA", "name the library that does, as in: vgpu doctor -- PROGRAM /path/libggml-cuda.so",
			       "%s neither needs nor names a CUDA library; it may open one that it finds when it runs", base(path));
		ldso_free(run);
		run_env_free(env2);
	}
	for (unsigned i = 0; i < c->n; i++)
		if (c->o[i].elf.bits == 64 && c->o[i].path && !is_cuda(base(c->o[i].path)) && !is_other(c->o[i].name))
			check_code(d, &c->o[i]);
	ldso_free(c);
	for (unsigned i = 0; backends[i]; i++)
		if (!same_file(backends[i], path))
			check_backend(d, path, backends[i]);
	if (*backends || strstr(base(path), "ollama"))
		check_ollama(d, path);
	free_strings(backends);
}
