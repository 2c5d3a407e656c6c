/* SPDX-License-Identifier: MIT */
/*
 * vgpu doctor -p PID: a process that runs, by its /proc files.
 */
#define _GNU_SOURCE
#include "doctor.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *slurp(const char *path, size_t *bytes)
{
	FILE *f = fopen(path, "re");
	char *p;
	size_t n = 0, got;

	if (!f)
		return NULL;
	p = malloc(MAX_ENVIRON + 2);
	if (!p)
		abort();
	while (n < MAX_ENVIRON && (got = fread(p + n, 1, MAX_ENVIRON - n, f)) > 0)
		n += got;
	if (ferror(f) && !n) {
		int e = errno;

		free(p);
		fclose(f);
		errno = e;
		return NULL;
	}
	fclose(f);
	p[n] = p[n + 1] = 0;
	*bytes = n;
	return p;
}

char **split(char *p, size_t n)
{
	size_t count = 0;
	char **out;

	for (size_t i = 0; i < n; i++)
		count += !p[i];
	out = calloc(count + 2, sizeof(*out));
	if (!out)
		abort();
	count = 0;
	for (size_t i = 0; i < n; i += strlen(p + i) + 1)
		if (p[i])
			out[count++] = p + i;
	return out;
}

/* The CUDA libraries that are mapped now. */
static unsigned check_maps(struct doctor *d)
{
	FILE *f = fopen(text("/proc/%d/maps", d->pid), "re");
	char line[PATH_MAX + 256], last[PATH_MAX] = "", *line_of_ours = preload_line(d);
	unsigned n = 0, ours = 0;

	if (!f) {
		report(d, FAIL, "mapped libraries", "run vgpu doctor as root, or as the user of that process",
		       "/proc/%d/maps: %s", d->pid, strerror(errno));
		free(line_of_ours);
		return 0;
	}
	while (fgets(line, sizeof(line), f)) {
		char *path = strchr(line, '/'), *gone;

		if (!path)
			continue;
		path[strcspn(path, "\n")] = 0;
		if (!is_cuda(base(path)) || strlen(path) >= sizeof(last) || !strcmp(path, last))
			continue;
		strcpy(last, path);
		n++;
		gone = strstr(path, " (deleted)");
		if (gone) {
			*gone = 0;
			report(d, WARN, text("mapped %s", base(path)), "restart the process",
			       "%s was replaced or removed after it was loaded", path);
		} else if (is_ours(d, text("/proc/%d/root%s", d->pid, path)) || is_ours(d, path)) {
			ours++;
			report(d, GOOD, text("mapped %s", base(path)), NULL, "%s: ours", path);
		} else {
			report(d, FAIL, text("mapped %s", base(path)), text("start it with LD_PRELOAD=%s, or under 'vgpu run --'",
			       line_of_ours), "%s: not ours", path);
		}
	}
	fclose(f);
	if (!n && d->shape == NEW_OLLAMA)
		report(d, GOOD, "mapped libraries", NULL, "none: Ollama itself calls no CUDA, its llama-server does");
	else if (!n)
		report(d, WARN, "mapped libraries", "none needed while it has not come to its CUDA part; else see the lines below",
		       "no CUDA library in process %d: it has not tried, or could not load one", d->pid);
	free(line_of_ours);
	return ours;
}

int parent_of(int pid)
{
	char line[256];
	int parent = 0;
	FILE *f = fopen(text("/proc/%d/status", pid), "re");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "PPid: %d", &parent);
	if (f)
		fclose(f);
	return parent;
}

unsigned long long started(int pid)
{
	char line[1024];
	unsigned long long ticks = 0;
	FILE *f = fopen(text("/proc/%d/stat", pid), "re");
	size_t n = f ? fread(line, 1, sizeof(line) - 1, f) : 0;
	char *at;

	if (f)
		fclose(f);
	line[n] = 0;
	at = strrchr(line, ')');        /* the name before it may hold anything; field 22, proc(5) */
	if (!at || sscanf(at + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &ticks) != 1)
		return 0;
	return ticks;
}

/*
 * Root can open what the process cannot: a socket of mode 0600, libraries below somebody's home. So files are judged with
 * the process's user and groups, and /proc, which asks for more, is read with our own before and after.
 */
struct identity {
	gid_t gid, groups[256];
	uid_t uid;
	int n;
};

static int identity_of(int pid, struct identity *id)
{
	size_t bytes;
	char *status = slurp(text("/proc/%d/status", pid), &bytes), *at;
	int known = 0;

	if (!status)
		return -1;
	if ((at = strstr(status, "\nUid:")))
		known += sscanf(at + 5, "%*u %u", &id->uid);
	if ((at = strstr(status, "\nGid:")))
		known += sscanf(at + 5, "%*u %u", &id->gid);
	id->n = 0;
	if ((at = strstr(status, "\nGroups:"))) {
		char *end;

		for (at += 8; id->n < 256 && *at != '\n' && *at; at = end) {
			unsigned long g = strtoul(at, &end, 10);

			if (end == at)
				break;
			id->groups[id->n++] = (gid_t)g;
			end += strspn(end, " \t");
		}
	}
	free(status);
	return known == 2 ? 0 : -1;
}

/* 1: from now on with its rights; undone by act_as_root */
static int act_as(int pid)
{
	struct identity id;

	if (geteuid() || identity_of(pid, &id) || !id.uid)
		return 0;
	if (setgroups((size_t)id.n, id.groups) || setegid(id.gid) || seteuid(id.uid)) {
		if (setegid(0) || setgroups(0, NULL))
			complain("doctor: cannot change groups: %s", strerror(errno));
		return 0;
	}
	return 1;
}

static void act_as_root(void)
{
	if (seteuid(0) || setegid(0) || setgroups(0, NULL))
		complain("doctor: cannot be root again: %s", strerror(errno));
}

int check_process(struct doctor *d)
{
	static char *none[] = { NULL };
	char exe[PATH_MAX], *env, *cmd, **args, mine[256], theirs[256];
	size_t env_bytes, cmd_bytes;
	int none_mapped, changed;
	ssize_t n = readlink(text("/proc/%d/exe", d->pid), exe, sizeof(exe) - 1), a, b;

	if (n < 0) {
		report(d, FAIL, "process", errno == ENOENT ? "give the id of a process that runs" :
		       "run vgpu doctor as root, or as the user of that process", "%d: %s", d->pid,
		       errno == ENOENT ? "there is no such process" : strerror(errno));
		return -1;
	}
	exe[n] = 0;
	env = slurp(text("/proc/%d/environ", d->pid), &env_bytes);
	cmd = slurp(text("/proc/%d/cmdline", d->pid), &cmd_bytes);
	if (!env || !cmd) {
		report(d, FAIL, "process", "run vgpu doctor as root, or as the user of that process",
		       "the environment of %d cannot be read: %s", d->pid, strerror(errno));
		free(env);
		free(cmd);
		return -1;
	}
	report(d, GOOD, "process", NULL, "%d runs %s, parent %d; its environment is the one it started with", d->pid, exe,
	       parent_of(d->pid));
	d->env = split(env, env_bytes);
	args = split(cmd, cmd_bytes);
	if (!strcmp(base(exe), "llama-server") && strstr(exe, "ollama"))       /* nobody starts that by hand */
		say_how(d, (char *[]){ (char *)"ollama", (char *)"serve", NULL });
	else
		say_how(d, *args ? args : (char *[]){ exe, NULL });
	d->shape = ollama_shape(exe);
	a = readlink("/proc/self/ns/mnt", mine, sizeof(mine));
	b = readlink(text("/proc/%d/ns/mnt", d->pid), theirs, sizeof(theirs));
	if (a > 0 && b > 0 && (a != b || memcmp(mine, theirs, (size_t)a)))
		report(d, WARN, "container", text("make the agent's socket and %s visible in it (bind mounts)", d->lib),
		       "process %d has a file system of its own: paths below are judged from here", d->pid);
	none_mapped = !check_maps(d);
	changed = act_as(d->pid);
	check_system(d);
	check_environment(d, none_mapped && d->shape != NEW_OLLAMA);
	if (access(exe, R_OK))
		report(d, WARN, "program", "restart it", "%s cannot be read (replaced since the start?)", exe);
	else
		check_binary(d, exe, *args ? args + 1 : none);
	if (changed)
		act_as_root();
	if (d->shape || strstr(base(exe), "ollama") || strstr(base(exe), "llama-server"))
		check_relatives(d);
	free(args);
	free(cmd);
	/* d->env stays: the verdict does not need it, but nobody else may free it before */
	return 0;
}
