/* SPDX-License-Identifier: MIT */
/*
 * What stands behind a command: see behind.h.
 *
 * Read are the words of the command line, words within these ("bash -c 'cd x && python y'") and in the text of scripts that they name,
 * two scripts deep. A word that PATH or a folder has a file for is a program; a script's interpreter is one too (torchrun and all that pip
 * puts into bin). Those that pick an interpreter themselves, uv run or poetry, take the environment that is active or lies in the project.
 */
#define _GNU_SOURCE
#include "behind.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "doctor.h"
#include "ldso.h"

#define MAX_TEXT (64u << 10)
#define MAX_WORDS 512
#define DEEP 2
#define SEPARATORS " \t\r\n;&|()<>`'\"="

struct search {
	struct behind *b;
	char *const *env;
	unsigned seen;
};

/* and where in a user's home they keep environments, unless told otherwise */
static const struct {
	const char *name, *kept;
} pickers[] = {
	{ "uv", ".cache/uv/environments-v2/*/bin" },
	{ "uvx", ".local/share/uv/tools/*/bin" },
	{ "poetry", ".cache/pypoetry/virtualenvs/*/bin" },
	{ "pipenv", ".local/share/virtualenvs/*/bin" },
	{ "hatch", ".local/share/hatch/env/virtual/*/*/*/bin" },
	{ "pdm", NULL }, { "rye", NULL }, { "pixi", NULL }, { "conda", NULL }, { "mamba", NULL }, { "micromamba", NULL },
	{ "tox", NULL }, { "nox", NULL }, { "make", NULL }, { "just", NULL },
};

static void look(struct search *s, const char *path, int deep);

static int is_python(const char *path)
{
	return !strncmp(base(path), "python", 6) || !strncmp(base(path), "pypy", 4);
}

static void add_python(struct search *s, const char *folder)
{
	struct behind *b = s->b;

	for (unsigned i = 0; i < b->pythons; i++)
		if (!strcmp(b->python[i], folder))
			return;
	if (b->pythons < BEHIND_PYTHONS)
		snprintf(b->python[b->pythons++], PATH_MAX, "%s", folder);
}

/* The folder of this file, in which there is a Python. */
static void python_beside(struct search *s, const char *path)
{
	char folder[PATH_MAX];
	char *end;

	snprintf(folder, sizeof(folder), "%s", path);
	end = strrchr(folder, '/');
	if (!end)
		return;
	*end = 0;
	/* pyenv's scripts that find the right one: any of its versions */
	if (end - folder > 6 && !strcmp(end - 6, "/shims"))
		strcpy(end - 5, "versions/*/bin");
	add_python(s, folder);
}

/* FOLDER/MIDDLE/bin, if it has a Python; a pattern, too */
static void python_in(struct search *s, const char *folder, const char *middle)
{
	char path[PATH_MAX];
	glob_t g;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s/bin/python", folder, middle) >= sizeof(path))
		return;
	if (!glob(path, 0, NULL, &g))
		python_beside(s, path);
	globfree(&g);
}

/* The environment that is active, or lies in the project: this folder or one above; kept: or in a user's home. */
static void environments(struct search *s, const char *kept)
{
	static const char *const active[] = { "VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT", "CONDA_PREFIX" };
	const char *home = env_get(s->env, "HOME");
	char folder[PATH_MAX];

	if (kept && home && (size_t)snprintf(folder, sizeof(folder), "%s/%s", home, kept) < sizeof(folder))
		add_python(s, folder);
	for (unsigned i = 0; i < sizeof(active) / sizeof(active[0]); i++) {
		const char *at = env_get(s->env, active[i]);

		if (at && *at)
			python_in(s, at, ".");
	}
	if (!getcwd(folder, sizeof(folder)))
		return;
	for (char *end = folder + strlen(folder); end; end = strrchr(folder, '/')) {
		*end = 0;
		python_in(s, folder, ".venv");
		python_in(s, folder, ".pixi/envs/default");
		python_in(s, folder, ".tox/*");
		python_in(s, folder, ".nox/*");
	}
}

static void word(struct search *s, const char *w, int deep)
{
	char path[PATH_MAX];
	const char *home = env_get(s->env, "HOME");
	size_t n = strlen(w);

	if (!n || n > 1024 || s->seen++ > MAX_WORDS)
		return;
	if (w[0] == '~' && w[1] == '/' && home)
		snprintf(path, sizeof(path), "%s%s", home, w + 1);
	else if (command_find(s->env, w, path))
		snprintf(path, sizeof(path), "%s", w);
	/* "source venv/bin/activate", "conda run -n NAME" */
	if (n > 9 && !strcmp(w + n - 9, "/activate"))
		python_beside(s, path);
	else if (!strchr(w, '/'))
		for (unsigned i = 0, all = s->b->pythons; i < all; i++) {
			char envs[PATH_MAX + 16];

			snprintf(envs, sizeof(envs), "%s/../envs", s->b->python[i]);
			python_in(s, envs, w);
		}
	look(s, path, deep);
}

static void words(struct search *s, char *t, int deep)
{
	char *save = NULL;

	for (char *w = strtok_r(t, SEPARATORS, &save); w; w = strtok_r(NULL, SEPARATORS, &save))
		word(s, w, deep);
}

static void without_comments(char *t)
{
	for (char *at = t; (at = strchr(at, '#')); at++)
		if (at == t || strchr(" \t\n", at[-1]))
			memset(at, ' ', strcspn(at, "\n"));
}

/* The words of a script, but for one that is in Python. */
static void script(struct search *s, const char *path, int deep)
{
	char *t = malloc(MAX_TEXT + 1);
	FILE *f = deep && t ? fopen(path, "re") : NULL;
	size_t n = f ? fread(t, 1, MAX_TEXT, f) : 0;

	if (f)
		fclose(f);
	/* a text has no zeros */
	if (n && !memchr(t, 0, n)) {
		t[n] = 0;
		without_comments(t);
		words(s, t, deep - 1);
	}
	free(t);
}

/* path may be no file at all */
static void look(struct search *s, const char *path, int deep)
{
	char interpreter[256], at[PATH_MAX];
	struct behind *b = s->b;
	struct stat st;
	int is = 0;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return;
	for (unsigned i = 0; i < sizeof(pickers) / sizeof(pickers[0]); i++)
		if (!strcmp(base(path), pickers[i].name))
			environments(s, pickers[i].kept);
	if (is_python(path) && !access(path, X_OK)) {
		python_beside(s, path);
		return;
	}
	is = command_script(path, interpreter, sizeof(interpreter));
	if (is && *interpreter && !command_find(s->env, interpreter, at)) {
		if (is_python(at))
			python_beside(s, at);
		else
			script(s, path, deep);
	} else if (strstr(base(path), ".sh")) {
		script(s, path, deep);
	} else if (b->files < BEHIND_FILES) {
		snprintf(b->file[b->files++], PATH_MAX, "%s", path);
	}
}

void behind_find(struct behind *b, char **cmd, char *const *env)
{
	struct search s = { b, env, 0 };
	char path[PATH_MAX];

	b->files = b->pythons = 0;
	if (!command_find(env, cmd[0], path))
		look(&s, path, DEEP);
	for (unsigned i = 1; cmd[i]; i++) {
		char *t = strdup(cmd[i]);

		/* a file whose name has spaces, too */
		word(&s, cmd[i], DEEP);
		if (t && strpbrk(t, SEPARATORS))
			words(&s, t, DEEP);
		free(t);
	}
}

static int below(const char *folder, const char *middle, const char *pattern)
{
	char all[2 * PATH_MAX];
	glob_t g;
	int hit;

	snprintf(all, sizeof(all), "%s/%s/%s", folder, middle, pattern);
	hit = !glob(all, 0, NULL, &g);
	globfree(&g);
	return hit;
}

int behind_package(const struct behind *b, char *const *env, const char *pattern)
{
	const char *home = env_get(env, "HOME"), *more = env_get(env, "PYTHONPATH");
	char folder[PATH_MAX];

	/* not through symbolic links: a virtual environment's python is one */
	for (unsigned i = 0; i < b->pythons; i++)
		if (below(b->python[i], "../lib/python3*/site-packages", pattern) || below(b->python[i], "../lib/python3*/dist-packages", pattern))
			return 1;
	if (!b->pythons)
		return 0;
	if (home && below(home, ".local/lib/python3*/site-packages", pattern))
		return 1;
	while (more && *more) {
		size_t n = strcspn(more, ":");

		if (n && n < sizeof(folder)) {
			snprintf(folder, sizeof(folder), "%.*s", (int)n, more);
			if (below(folder, ".", pattern))
				return 1;
		}
		more += n + (more[n] == ':');
	}
	return 0;
}
