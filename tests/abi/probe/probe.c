/* SPDX-License-Identifier: MIT */
/* main of the probes: groups in children, and again without the calls that killed them; see probe.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "probe.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum { MAX_GROUPS = 96, MAX_KILLED = 24 };

struct killed { int step, status; };
static struct job {
	pid_t pid;
	int out, n_killed, done;
	struct killed killed[MAX_KILLED];
} jobs[MAX_GROUPS];

static volatile int *at;        /* by group: the call that it is at; shared with the children */
static int mine, step;
static char the_tag[200];
static unsigned patience = 3, patience_start = 8;
int in_start = 1;

void tag(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(the_tag, sizeof the_tag, fmt, ap);
	va_end(ap);
}

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	fflush(stdout);
}

const char *range(int v)
{
	return v < 0 ? "negative" : v ? "positive" : "zero";
}

int go(const char *call)
{
	const struct job *j = &jobs[mine];

	at[mine] = ++step;
	printf("[%s] %s%s%s -> ", groups[mine].name, the_tag, *the_tag ? ": " : "", call);
	for (int i = 0; i < j->n_killed; i++)
		if (j->killed[i].step == step) {
			int st = j->killed[i].status;

			if (WIFSIGNALED(st))
				say("signal %d\n", WTERMSIG(st));
			else
				say("exit %d\n", WEXITSTATUS(st));
			return 0;
		}
	fflush(stdout);
	alarm(in_start ? patience_start : patience);
	return 1;
}

void came(int result)
{
	const char *name;

	alarm(0);
	name = result_name(result);
	if (name)
		say("%s", name);
	else
		say("code %d", result);
}

static void begin(int g)
{
	struct job *j = &jobs[g];

	if (ftruncate(j->out, 0) || lseek(j->out, 0, SEEK_SET))
		perror("memfd");
	at[g] = 0;
	j->pid = fork();
	if (j->pid)
		return;
	mine = g;
	dup2(j->out, 1);
	groups[g].run();
	fflush(stdout);
	_exit(0);
}

/* 1: the group is to run again */
static int ended(int g, int status)
{
	struct job *j = &jobs[g];

	j->pid = 0;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	if (j->n_killed == MAX_KILLED)
		return 0;
	for (int i = 0; i < j->n_killed; i++)
		if (j->killed[i].step == at[g])
			return 0;       /* died between calls */
	if (!at[g])
		return 0;
	j->killed[j->n_killed].step = at[g];
	j->killed[j->n_killed++].status = status;
	return 1;
}

static void show(int g)
{
	char buf[8192];
	ssize_t n;

	lseek(jobs[g].out, 0, SEEK_SET);
	while ((n = read(jobs[g].out, buf, sizeof buf)) > 0)
		fwrite(buf, 1, (size_t)n, stdout);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int n = 0, width = 2, next = 0, running = 0, shown = 0, limit = 14, seen[MAX_GROUPS] = { 0 };
	const char *only = NULL;
	time_t begun = time(NULL);

	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "-j") && i + 1 < argc)
			width = atoi(argv[++i]);
		else if (!strcmp(argv[i], "-t") && i + 1 < argc)
			limit = atoi(argv[++i]);
		else if (!strcmp(argv[i], "-p") && i + 1 < argc)
			patience_start = 2 * (patience = (unsigned)atoi(argv[++i]));
		else
			only = argv[i];
	while (groups[n].name)
		n++;
	if (n > MAX_GROUPS)
		return 2;
	at = (volatile int *)mmap(NULL, sizeof *at * MAX_GROUPS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int g = 0; g < n; g++)
		jobs[g].out = memfd_create("probe", 0);
	while (shown < n) {
		int st, g;
		pid_t pid;

		for (; next < n && running < width; next++) {
			if (only && strcmp(only, groups[next].name)) {
				seen[next] = 1;
				continue;
			}
			begin(next);
			running++;
		}
		pid = waitpid(-1, &st, WNOHANG);
		if (pid > 0) {
			for (g = 0; g < n && jobs[g].pid != pid; g++)
				;
			if (g < n) {
				if (ended(g, st) && time(NULL) - begun < limit) {
					begin(g);
				} else {
					running--;
					seen[g] = 1;
				}
			}
		} else if (time(NULL) - begun >= limit) {
			for (g = 0; g < n; g++) {
				if (jobs[g].pid > 0) {
					kill(jobs[g].pid, SIGKILL);
					waitpid(jobs[g].pid, NULL, 0);
					jobs[g].pid = 0;
					fprintf(stderr, "probe: group %s was ended at %d s\n", groups[g].name, limit);
				}
				seen[g] = 1;
			}
		} else {
			usleep(2000);
		}
		for (; shown < n && seen[shown]; shown++)
			show(shown);
	}
	return 0;
}
