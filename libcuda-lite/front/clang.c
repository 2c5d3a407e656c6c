/* SPDX-License-Identifier: MIT */
/*
 * An NVRTC program by clang: see clang.h. Its source, with the headers that came with it, is written into a folder of its own, which
 * `vgpu cc --rtc` reads; PTX and log are read back, and the folder goes. A name expression becomes a constant that has its address, so that
 * the PTX says what it is called: "vgpu_name_0 = _Z1kIfEvPT_;". Those lines are taken out again.
 */
#define _GNU_SOURCE
#include "../../fw-protocol/vgpu_env.h"
#include "clang.h"
#include "clang_options.h"
#include "front.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

__asm__(".symver dladdr,dladdr@GLIBC_2.2.5");

#define MARK "vgpu_name_"
#define LOG_MOST (4u << 20)

struct pair { char *a, *b; };                   /* a header: name, text; a name: expression, lowered */
struct clang {
	char *source, *name, *ptx, *log;
	struct pair *headers, *names;
	int n_headers, n_names, compiled;
};

/* ---- the folder: what was made in it goes in the other order ---- */

struct folder { char path[PATH_MAX]; char **made; size_t n; };

static int noted(struct folder *f, const char *path)
{
	char **more = realloc(f->made, (f->n + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	f->made = more;
	more[f->n] = strdup(path);
	return more[f->n] ? (f->n++, 0) : -ENOMEM;
}

static int folder_make(struct folder *f)
{
	const char *t = vgpu_env("TMPDIR");

	memset(f, 0, sizeof(*f));
	if (!t || *t != '/' || strlen(t) > PATH_MAX / 2)
		t = "/tmp";
	snprintf(f->path, sizeof(f->path), "%s/vgpu-rtc-XXXXXX", t);
	return mkdtemp(f->path) ? 0 : -errno;
}

static void folder_remove(struct folder *f)
{
	while (f->n) {
		if (unlink(f->made[--f->n]))
			rmdir(f->made[f->n]);
		free(f->made[f->n]);
	}
	free(f->made);
	rmdir(f->path);
}

/* Within the folder, at NAME below it: each part of the way is made. */
static int folder_path(struct folder *f, const char *name, char path[PATH_MAX])
{
	size_t at = strlen(f->path) + 1;
	int err;

	if (snprintf(path, PATH_MAX, "%s/%s", f->path, name) >= PATH_MAX)
		return -ENAMETOOLONG;
	for (char *p = path + at; (p = strchr(p, '/')) != NULL; p++) {
		*p = 0;
		err = mkdir(path, 0700) ? errno == EEXIST ? 0 : -errno : noted(f, path);
		*p = '/';
		if (err)
			return err;
	}
	return noted(f, path);
}

/* "a/b.h", and not what leads out of the folder */
static int is_below(const char *name)
{
	if (!*name || *name == '/' || name[strlen(name) - 1] == '/')
		return 0;
	for (const char *p = name; p; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL)
		if (!strncmp(p, "..", 2) && (p[2] == '/' || !p[2]))
			return 0;
	return 1;
}

static int close_whole(FILE *to)
{
	int err = ferror(to) ? errno ? errno : EIO : 0;

	return fclose(to) ? -errno : -err;
}

static int write_header(struct folder *f, const struct pair *h)
{
	char name[PATH_MAX], path[PATH_MAX];
	FILE *to;
	int err;

	if (snprintf(name, sizeof(name), "include/%s", h->a) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	err = folder_path(f, name, path);
	to = err ? NULL : fopen(path, "we");
	if (!to)
		return err ? err : -errno;
	fputs(h->b, to);
	return close_whole(to);
}

/* The program under its own name, and behind it what it was asked the names of. */
static int write_source(struct folder *f, const struct clang *c, int device_default, char path[PATH_MAX])
{
	int err = folder_path(f, "program.cu", path);
	FILE *to = err ? NULL : fopen(path, "we");

	if (!to)
		return err ? err : -errno;
	if (device_default)
		fputs("#pragma clang force_cuda_host_device begin\n", to);
	fputs("#line 1 \"", to);
	for (const char *p = c->name; *p; p++)          /* in the PTX's .file as well, where nothing is escaped */
		fputc(*p == '"' || *p == '\\' || (unsigned char)*p < ' ' ? '_' : *p, to);
	fprintf(to, "\"\n%s\n%s#line 1 \"name expression\"\n", c->source, device_default ? "#pragma clang force_cuda_host_device end\n" : "");
	for (int i = 0; i < c->n_names; i++)
		fprintf(to, "extern \"C\" __device__ const void *const __attribute__((used)) " MARK "%d = (const void *)(%s);\n", i, c->names[i].a);
	return close_whole(to);
}

/* A file whole, or what there is of it; "" where there is none. */
static char *read_whole(const char *path, size_t most)
{
	FILE *f = fopen(path, "re");
	size_t n = 0, room = 1 << 16, k;
	char *s = malloc(room), *more;

	while (s && f && n < most && (k = fread(s + n, 1, room - n - 1, f)) > 0) {
		n += k;
		if (room - n > 1)
			continue;
		more = realloc(s, room *= 2);
		if (!more)
			break;
		s = more;
	}
	if (f)
		fclose(f);
	if (s)
		s[n] = 0;
	return s;
}

/* ---- the compiler ---- */

/* Is a program of that name to be found? */
static int in_path(const char *name)
{
	const char *p = vgpu_env("PATH");
	char file[PATH_MAX];

	if (strchr(name, '/'))
		return !access(name, X_OK);
	for (; p && *p; p += strcspn(p, ":"), p += *p == ':') {
		snprintf(file, sizeof(file), "%.*s/%s", (int)strcspn(p, ":"), p, name);
		if (!access(file, X_OK))
			return 1;
	}
	return 0;
}

/* vgpu itself, by another of its names beside this library */
static int tool(char path[PATH_MAX])
{
	Dl_info i;
	char *slash;

	if (!dladdr((void *)(unsigned long)&vgpu_front_path, &i) || !realpath(i.dli_fname, path) || !(slash = strrchr(path, '/')) || slash - path > PATH_MAX - 16)
		return -ENOENT;
	strcpy(slash, "/nvidia-smi");
	return access(path, X_OK) ? -errno : 0;
}

int clang_there(void)
{
	const char *named = vgpu_env("VGPU_CLANG");
	char path[PATH_MAX];

	return in_path(named && *named ? named : "clang++") && !tool(path);
}

/* Those of clang 14. For a newer one the highest that clang knows is taken, whose PTX runs there as well. */
static const int archs[] = { 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86 };
/* and those that later ones know, from above */
static const int later[] = { 121, 120, 103, 101, 100, 90, 89, 87, 86 };

int clang_archs(int *to)
{
	if (to)
		memcpy(to, archs, sizeof(archs));
	return (int)(sizeof(archs) / sizeof(archs[0]));
}

static int below(int arch)
{
	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++)
		if (later[i] < arch)
			return later[i];
	return 0;
}

/* The words as one process, its output in a file. Whoever else waits for children may have this one: what it made says how it ended. */
static int run(const char *file, char *const *words, const char *log)
{
	posix_spawn_file_actions_t a;
	size_t n = 0, k = 0;
	char **env;
	pid_t pid;
	int err;

	while (environ && environ[n])
		n++;
	env = calloc(n + 1, sizeof(*env));
	if (!env)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)          /* what is for the program is not for its compiler */
		if (strncmp(environ[i], "LD_PRELOAD=", 11) && strncmp(environ[i], "LD_AUDIT=", 9))
			env[k++] = environ[i];
	err = posix_spawn_file_actions_init(&a);
	if (!err) {
		err = posix_spawn_file_actions_addopen(&a, 0, "/dev/null", O_RDONLY, 0);
		if (!err)
			err = posix_spawn_file_actions_addopen(&a, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (!err)
			err = posix_spawn_file_actions_adddup2(&a, 1, 2);
		if (!err)
			err = posix_spawn(&pid, file, &a, NULL, words, env);
		posix_spawn_file_actions_destroy(&a);
	}
	free(env);
	while (!err && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return -err;
}

static int compile(const struct folder *f, const char *source, const struct clang_asked *asked, unsigned arch, const char *ptx, const char *log)
{
	char file[PATH_MAX], target[32], include[PATH_MAX + 16];
	const char *const words[] = { "vgpu", "cc", "--rtc", "-ptx", FRONT_MAJOR == 13 ? "-DCUDART_VERSION=13010" : "-DCUDART_VERSION=12080", target, "-o", ptx,
		source, include };
	size_t n = sizeof(words) / sizeof(words[0]);
	char **all;
	int err = tool(file);

	if (err)
		return err;
	snprintf(target, sizeof(target), "-arch=sm_%u", arch);
	snprintf(include, sizeof(include), "-I%s/include", f->path);
	all = calloc(n + asked->n + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	memcpy(all, words, n * sizeof(*all));
	memcpy(all + n, asked->words, asked->n * sizeof(*all));
	err = run(file, all, log);
	free(all);
	return err;
}

/* Names out of the PTX, and the lines that had them. */
static void take_names(struct clang *c)
{
	char *line = c->ptx, *to = c->ptx, *end;

	for (; *line; line = end) {
		char *mark = NULL, *is, *stop;
		long k;

		end = strchr(line, '\n');
		end = end ? end + 1 : line + strlen(line);
		if (*line == '.')
			mark = memmem(line, (size_t)(end - line), " " MARK, sizeof(MARK));
		k = mark ? strtol(mark + sizeof(MARK), &is, 10) : -1;
		if (k < 0 || k >= c->n_names || strncmp(is, " = ", 3)) {
			memmove(to, line, (size_t)(end - line));
			to += end - line;
			continue;
		}
		is += strncmp(is, " = generic(", 11) ? 3 : 11;
		for (stop = is; *stop && *stop != ';' && *stop != ')' && *stop != '+'; stop++)
			;
		free(c->names[k].b);
		c->names[k].b = strndup(is, (size_t)(stop - is));
	}
	*to = 0;
}

static void say(struct clang *c, const char *fmt, const char *a, const char *b)
{
	free(c->log);
	if (asprintf(&c->log, fmt, a, b) < 0)
		c->log = NULL;
}

int clang_compile(struct clang *c, int n, const char *const *options)
{
	char source[PATH_MAX] = "", ptx[PATH_MAX], log[PATH_MAX];
	struct clang_asked asked;
	struct folder f;
	int err = SUCCESS, status;
	const char *wrong = clang_options(n, options, &asked);

	free(c->ptx);
	c->ptx = NULL;
	c->compiled = 0;
	for (int i = 0; i < c->n_names; i++) {
		free(c->names[i].b);
		c->names[i].b = NULL;
	}
	say(c, "%s%s", "", "");
	if (wrong) {
		if (asked.refused)
			say(c, "%s: %s\n", wrong, asked.refused);
		else
			say(c, "nvrtc: error: unrecognized option %s%s\n", wrong, "");
		clang_options_free(&asked);
		return INVALID_OPTION;
	}
	status = folder_make(&f);
	if (status) {
		say(c, "cannot make a folder for clang in %s: %s\n", vgpu_env("TMPDIR") ? vgpu_env("TMPDIR") : "/tmp", strerror(-status));
		clang_options_free(&asked);
		return INTERNAL_ERROR;
	}
	status = folder_path(&f, "out.ptx", ptx);
	if (!status)
		status = folder_path(&f, "log", log);
	for (int i = 0; i < c->n_headers && !status; i++)
		status = write_header(&f, &c->headers[i]);
	if (!status)
		status = write_source(&f, c, asked.device_default, source);
	for (int arch = (int)asked.arch; !status; arch = below(arch)) {
		status = compile(&f, source, &asked, (unsigned)arch, ptx, log);
		free(c->log);
		c->log = read_whole(log, LOG_MOST);
		if (!c->log || !strstr(c->log, "unsupported CUDA gpu architecture") || !below(arch))
			break;
	}
	if (status) {
		say(c, "vgpu: NVRTC by clang: %s: %s\n", f.path, strerror(-status));
		err = INTERNAL_ERROR;
	} else {
		c->ptx = read_whole(ptx, (size_t)-1);
		if (!c->ptx || !*c->ptx)
			err = COMPILATION;
		else
			take_names(c);
	}
	folder_remove(&f);
	clang_options_free(&asked);
	c->compiled = !err;
	return err;
}

/* ---- a program's life ---- */

int clang_create(struct clang **to, const char *source, const char *name, int n, const char *const *headers, const char *const *names)
{
	struct clang *c;

	if (!source || n < 0 || (n && (!headers || !names)))
		return INVALID_INPUT;
	for (int i = 0; i < n; i++)
		if (!headers[i] || !names[i] || !is_below(names[i]))
			return INVALID_INPUT;
	c = calloc(1, sizeof(*c));
	if (!c)
		return OUT_OF_MEMORY;
	c->source = strdup(source);
	c->name = strdup(name && *name ? name : "default_program");
	c->headers = calloc((size_t)n + 1, sizeof(*c->headers));
	for (; c->headers && c->n_headers < n; c->n_headers++) {
		struct pair *h = &c->headers[c->n_headers];

		h->a = strdup(names[c->n_headers]);
		h->b = strdup(headers[c->n_headers]);
		if (!h->a || !h->b)
			break;
	}
	if (!c->source || !c->name || c->n_headers != n) {
		clang_destroy(c);
		return OUT_OF_MEMORY;
	}
	*to = c;
	return SUCCESS;
}

static void free_pairs(struct pair *p, int n)
{
	for (int i = 0; p && i < n; i++) {
		free(p[i].a);
		free(p[i].b);
	}
	free(p);
}

void clang_destroy(struct clang *c)
{
	free_pairs(c->headers, c->n_headers);
	free_pairs(c->names, c->n_names);
	free(c->source);
	free(c->name);
	free(c->ptx);
	free(c->log);
	free(c);
}

int clang_add_name(struct clang *c, const char *expression)
{
	struct pair *more;

	if (!expression || strchr(expression, '\n'))
		return INVALID_INPUT;
	if (c->compiled)
		return NAMES_AFTER_COMPILATION;
	more = realloc(c->names, (size_t)(c->n_names + 1) * sizeof(*more));
	if (!more)
		return OUT_OF_MEMORY;
	c->names = more;
	more[c->n_names] = (struct pair){ .a = strdup(expression) };
	if (!more[c->n_names].a)
		return OUT_OF_MEMORY;
	c->n_names++;
	return SUCCESS;
}

int clang_lowered(struct clang *c, const char *expression, const char **lowered)
{
	if (!expression || !lowered)
		return INVALID_INPUT;
	if (!c->compiled)
		return NO_LOWERED_NAMES;
	for (int i = 0; i < c->n_names; i++)
		if (!strcmp(c->names[i].a, expression) && c->names[i].b) {
			*lowered = c->names[i].b;
			return SUCCESS;
		}
	return NO_SUCH_NAME;
}

const char *clang_ptx(const struct clang *c) { return c->ptx ? c->ptx : ""; }
const char *clang_log(const struct clang *c) { return c->log ? c->log : ""; }
