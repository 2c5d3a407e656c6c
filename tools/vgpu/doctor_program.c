/* SPDX-License-Identifier: MIT */
/*
 * vgpu doctor -- CMD: finds the file behind CMD, says what it is, and has its libraries and GPU code looked at.
 */
#define _GNU_SOURCE
#include "command.h"
#include "doctor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SCRIPTS 4

/* ---- CMD to a file ---- */

/* The interpreter's file in path. 1: it was a script. */
static int follow_script(struct doctor *d, char *path)
{
	char name[256], script[PATH_MAX];

	if (!command_script(path, name, sizeof(name)))
		return 0;
	snprintf(script, sizeof(script), "%s", path);
	if (!name[0] || command_find(d->env, name, path)) {
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

	if (command_find(d->env, cmd[0], path)) {
		report(d, FAIL, "program", "give its path, or mend PATH", "%s is not there, or not a program", cmd[0]);
		return;
	}
	for (int i = 0; i < MAX_SCRIPTS && script == 1; i++)
		script = follow_script(d, path);
	if (script < 0)
		return;
	check_binary(d, path, cmd + 1);
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
	int ours;
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
	if (!strcmp(kind_of(e), "static program")) {
		if (ours)
			report(d, GOOD, "libcuda-lite.a", NULL, "linked into it: no library is looked for");
		else if (carried_major(e) < 0)
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
	char **backends, **env2, lib[PATH_MAX];
	struct closure *c, *run;
	unsigned cuda = 0, code, usable = 0;
	struct elf e;
	int err = elf_open(&e, path), differ;

	d->shape = ollama_shape(path);
	if (d->shape == NEW_OLLAMA) {   /* one folder, wherever it finds that, and no other */
		ollama_lib(d, path, lib);
		backends = find_backends("", (char *[]){ lib, NULL });
	} else {
		backends = find_backends(path, args);
	}
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
			cuda += is_cuda(base(c->o[i].name)) && (c->o[i].how != BY_PRELOAD || is_wanted(c, &c->o[i]));
		/* the new Ollama itself calls no CUDA but by its runner */
		if (!cuda && !*backends && d->shape != NEW_OLLAMA)
			report(d, WARN, "CUDA", "name the library that does, as in: vgpu doctor -- PROGRAM /path/libggml-cuda.so",
			       "%s neither needs nor names a CUDA library; it may open one that it finds when it runs", base(path));
		ldso_free(run);
		run_env_free(env2);
	}
	for (unsigned i = 0; i < c->n; i++)
		if (c->o[i].elf.bits == 64 && c->o[i].path && !is_cuda(base(c->o[i].path)) && !is_other(c->o[i].name)) {
			check_carried(d, &c->o[i]);
			check_code(d, &c->o[i]);
		}
	ldso_free(c);
	check_backends(d, path, backends, &usable);
	if (*backends || strstr(base(path), "ollama"))
		check_ollama(d, path, usable);
	free_strings(backends);
}
