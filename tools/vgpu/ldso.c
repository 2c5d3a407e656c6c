/* SPDX-License-Identifier: MIT */
/*
 * The dynamic loader's search, emulated: see ldso.h. It reads other people's files, so every one goes
 * through elf.c, and ld.so.cache is checked in the same way.
 */
#define _GNU_SOURCE
#include "ldso.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CACHE "/etc/ld.so.cache"
#define CACHE_MAGIC "glibc-ld.so.cache1.1"
#define CACHE_HEADER 48u
#define CACHE_ENTRY 24u
#define CACHE_MAX (16u << 20)

static const char *const default_dirs[] = {
#if defined(__x86_64__)
	"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
	"/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
#endif
	"/lib64", "/usr/lib64", "/lib", "/usr/lib",
};

const char *env_get(char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (; env && *env; env++)
		if (!strncmp(*env, name, n) && (*env)[n] == '=')
			return *env + n + 1;
	return NULL;
}

int same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* $ORIGIN, ${ORIGIN} and $LIB; 0, or -1 where the loader would skip the folder too. */
static int expand(char *to, size_t bytes, const char *from, size_t n, const char *owner_path)
{
	char origin[PATH_MAX];
	size_t at = 0;

	if (!realpath(owner_path, origin))
		return -1;
	*strrchr(origin, '/') = 0;
	for (size_t i = 0; i < n;) {
		const char *put = NULL;

		if (from[i] == '$') {
			int brace = i + 1 < n && from[i + 1] == '{';
			const char *w = from + i + 1 + brace;

			if (!strncmp(w, "ORIGIN", 6)) {
				put = origin[0] ? origin : "/";
				i += 1 + 6 + 2 * (size_t)brace;
			} else if (!strncmp(w, "LIB", 3)) {
				put = default_dirs[0] + 1;
				i += 1 + 3 + 2 * (size_t)brace;
			} else {
				return -1;
			}
		}
		if (put) {
			if (at + strlen(put) + 1 >= bytes)
				return -1;
			strcpy(to + at, put);
			at += strlen(put);
		} else {
			if (at + 2 >= bytes)
				return -1;
			to[at++] = from[i++];
		}
	}
	to[at] = 0;
	return 0;
}

/* Would the loader take this file? Those of another machine it passes over. */
static int fits(struct elf *e, const char *path, const struct elf *main)
{
	if (elf_open(e, path))
		return 0;
	if (e->bits == 64 && e->type == ET_DYN && (!main->bits || e->machine == main->machine))
		return 1;
	elf_close(e);
	return 0;
}

/* name in one of the folders of a list; how and where are noted. */
static int in_list(struct closure *c, struct object *o, const char *list, const char *seps, enum how how, unsigned owner)
{
	char dir[PATH_MAX], path[PATH_MAX + 256];

	while (list && *list) {
		size_t n = strcspn(list, seps);

		/* an empty element is the current folder */
		if (n < sizeof(dir) && c->o[owner].path &&
		    !expand(dir, sizeof(dir), n ? list : ".", n ? n : 1, c->o[owner].path) &&
		    (size_t)snprintf(path, sizeof(path), "%s/%s", dir, o->name) < sizeof(path) &&
		    fits(&o->elf, path, &c->o[0].elf)) {
			o->path = strdup(path);
			o->how = how;
			o->detail = strndup(n ? list : ".", n ? n : 1);
			o->detail_owner = owner;
			return 1;
		}
		list += n;
		list += *list != 0;
	}
	return 0;
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static int in_cache(struct closure *c, struct object *o)
{
	static uint8_t *cache;
	static size_t bytes;
	uint32_t n;

	if (!cache) {
		FILE *f = fopen(CACHE, "re");
		uint8_t *at;

		cache = calloc(1, CACHE_MAX + 1);
		bytes = f && cache ? fread(cache, 1, CACHE_MAX, f) : 0;
		if (f)
			fclose(f);
		/* the new format may stand behind one of old; its offsets count from its own start */
		at = cache ? memmem(cache, bytes, CACHE_MAGIC, strlen(CACHE_MAGIC)) : NULL;
		bytes = at ? bytes - (size_t)(at - cache) : 0;
		if (at)
			memmove(cache, at, bytes + 1);
	}
	if (bytes < CACHE_HEADER)
		return 0;
	n = get32(cache + 20);
	if (n > (bytes - CACHE_HEADER) / CACHE_ENTRY)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *e = cache + CACHE_HEADER + (size_t)i * CACHE_ENTRY;
		uint32_t key = get32(e + 4), value = get32(e + 8);

		if (key >= bytes || value >= bytes || get32(e + 16) || get32(e + 20))
			continue;
		if (strcmp((char *)cache + key, o->name) || !fits(&o->elf, (char *)cache + value, &c->o[0].elf))
			continue;
		o->path = strdup((char *)cache + value);
		o->how = BY_CACHE;
		return 1;
	}
	return 0;
}

static void search(struct closure *c, struct object *o)
{
	unsigned i = o->by;

	o->how = BY_NOTHING;
	if (strchr(o->name, '/')) {
		if (fits(&o->elf, o->name, &c->o[0].elf)) {
			o->path = strdup(o->name);
			o->how = BY_PATH;
		}
		return;
	}
	/* RPATH of who asks, of who asked for that one, ..., of the program; void where a RUNPATH stands */
	if (!c->o[i].elf.runpath) {
		for (unsigned hops = 0; hops < LDSO_MAX_OBJECTS; hops++) {
			const struct elf *e = &c->o[i].elf;

			if (e->rpath && !e->runpath && in_list(c, o, e->rpath, ":", BY_RPATH, i))
				return;
			if (!i)
				break;
			i = c->o[i].by;
		}
	}
	if (in_list(c, o, env_get(c->env, "LD_LIBRARY_PATH"), ":;", BY_LD_LIBRARY_PATH, 0) ||
	    in_list(c, o, c->o[o->by].elf.runpath, ":", BY_RUNPATH, o->by))
		return;
	if (!c->o[o->by].elf.nodeflib && in_cache(c, o))
		return;
	for (size_t k = 0; k < sizeof(default_dirs) / sizeof(default_dirs[0]); k++)
		if (in_list(c, o, default_dirs[k], ":", BY_DEFAULT, 0))
			return;
}

/* By the name asked for, or by the SONAME of what is loaded. */
static struct object *loaded(struct closure *c, const char *name)
{
	for (unsigned i = 0; i < c->n; i++) {
		struct object *o = &c->o[i];

		if (!strcmp(o->name, name) || (o->elf.soname && i && !strcmp(o->elf.soname, name)))
			return o;
	}
	return NULL;
}

const struct object *ldso_find(const struct closure *c, const char *name)
{
	return loaded((struct closure *)c, name);
}

static int add(struct closure *c, const char *name, unsigned by, enum how how)
{
	struct object *o = loaded(c, name);

	if (o)
		return (int)(o - c->o);
	if (c->n == LDSO_MAX_OBJECTS)
		return -1;
	o = &c->o[c->n];
	o->elf.fd = -1;
	o->name = strdup(name);
	o->by = by;
	search(c, o);
	if (how == BY_PRELOAD && o->path)
		o->how = BY_PRELOAD;
	return (int)c->n++;
}

static void breadth_first(struct closure *c, unsigned from)
{
	for (unsigned i = from; i < c->n; i++)
		for (unsigned k = 0; k < c->o[i].elf.nneeded; k++)
			add(c, c->o[i].elf.needed[k], i, BY_NOTHING);
}

struct closure *ldso_load(const char *main_path, char *const *env)
{
	struct closure *c = calloc(1, sizeof(*c));
	const char *pre = env_get(env, "LD_PRELOAD");
	char name[PATH_MAX];

	if (!c)
		abort();
	c->env = env;
	c->n = 1;
	c->o[0].name = strdup(main_path);
	c->o[0].path = strdup(main_path);
	c->o[0].elf.fd = -1;
	elf_open(&c->o[0].elf, main_path);
	/* a static program has no loader that would read LD_PRELOAD */
	while (pre && *pre && c->o[0].elf.dynamic) {
		size_t n = strcspn(pre, ": \t\n");

		if (n && n < sizeof(name)) {
			memcpy(name, pre, n);
			name[n] = 0;
			add(c, name, 0, BY_PRELOAD);
		}
		pre += n;
		pre += *pre != 0;
	}
	breadth_first(c, 0);
	return c;
}

int ldso_dlopen(struct closure *c, const char *name, unsigned by)
{
	unsigned before = c->n;
	int i = add(c, name, by, BY_NOTHING);

	if (i >= 0 && (unsigned)i >= before) {
		c->o[i].dlopened = 1;
		breadth_first(c, (unsigned)i);
	}
	return i;
}

void ldso_free(struct closure *c)
{
	for (unsigned i = 0; c && i < c->n; i++) {
		free(c->o[i].name);
		free(c->o[i].path);
		free(c->o[i].detail);
		elf_close(&c->o[i].elf);
	}
	free(c);
}

const char *how_text(const struct closure *c, const struct object *o, char *buf, size_t bytes)
{
	const char *owner = c->o[o->detail_owner].path;
	const char *slash = owner ? strrchr(owner, '/') : NULL;

	switch (o->how) {
	case BY_MAIN: return "the program";
	case BY_PRELOAD: return "by LD_PRELOAD";
	case BY_PATH: return "by its path";
	case BY_CACHE: return "by ld.so.cache";
	case BY_DEFAULT: return "in a default folder";
	case BY_LOADER: return "as the loader itself says";
	case BY_NOTHING: return "nowhere";
	case BY_LD_LIBRARY_PATH:
		snprintf(buf, bytes, "by LD_LIBRARY_PATH");
		return buf;
	case BY_RPATH:
	case BY_RUNPATH:
		snprintf(buf, bytes, "by %s %s of %s", o->how == BY_RPATH ? "RPATH" : "RUNPATH", o->detail,
			 slash ? slash + 1 : owner ? owner : "?");
		return buf;
	}
	return "";
}

/* ---- the loader's own answer ---- */

static void child(const char *loader, const struct closure *c, int out)
{
	char *env[3] = { NULL }, *p;
	const char *v;
	int n = 0, null = open("/dev/null", O_RDWR);

	/* nothing else of that environment: LD_AUDIT would run code */
	v = env_get(c->env, "LD_LIBRARY_PATH");
	if (v && asprintf(&p, "LD_LIBRARY_PATH=%s", v) >= 0)
		env[n++] = p;
	v = env_get(c->env, "LD_PRELOAD");
	if (v && asprintf(&p, "LD_PRELOAD=%s", v) >= 0)
		env[n++] = p;
	dup2(null, 0);
	dup2(out, 1);
	dup2(null, 2);
	alarm(10);
	execve(loader, (char *[]){ (char *)loader, (char *)"--list", c->o[0].path, NULL }, env);
	_exit(127);
}

int ldso_ask(struct closure *c)
{
	static const char *const loaders[] = { "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1" };
	const char *loader = NULL;
	char line[2 * PATH_MAX];
	struct stat st;
	int fd[2], differ = 0, status;
	pid_t pid;
	FILE *f;

	/* the program may name any interpreter: only the system's own is started */
	for (size_t i = 0; i < 2; i++)
		if (c->o[0].elf.interp && !strcmp(c->o[0].elf.interp, loaders[i]))
			loader = loaders[i];
	if (!loader || stat(c->o[0].path, &st) || st.st_mode & (S_ISUID | S_ISGID) || pipe2(fd, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid)
		child(loader, c, fd[1]);
	close(fd[1]);
	f = pid > 0 ? fdopen(fd[0], "r") : NULL;
	if (!f) {
		close(fd[0]);
		return -1;
	}
	while (fgets(line, sizeof(line), f)) {
		char *arrow = strstr(line, " => "), *path, *end, *name;
		struct object *o;

		if (!arrow)
			continue;
		*arrow = 0;
		name = line + strspn(line, " \t");
		path = arrow + 4;
		end = strstr(path, " (0x");
		o = loaded(c, name);
		if (!o || o->dlopened)
			continue;
		if (end && *path == '/') {
			*end = 0;
			if (o->path && same_file(o->path, path))
				continue;
			free(o->path);
			elf_close(&o->elf);
			o->path = strdup(path);
			elf_open(&o->elf, path);
			o->how = BY_LOADER;
			differ++;
		} else if (!strncmp(path, "not found", 9) && o->path) {
			free(o->path);
			elf_close(&o->elf);
			o->path = NULL;
			o->how = BY_NOTHING;
			differ++;
		}
	}
	fclose(f);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) < 126 ? differ : -1;
}
