/* SPDX-License-Identifier: MIT */
/*
 * See proc.h. Called by llm's speed, and by the library of profile.c.
 */
#include "proc.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int parent_of(const char *pid)
{
	char path[300], line[512], *end;
	int parent = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return -1;
	/* the name in brackets may hold anything: fields count from its end */
	end = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	if (!end || sscanf(end + 1, " %*c %d", &parent) != 1)
		return -1;
	return parent;
}

void proc_beside(struct proc_set *s)
{
	int self = (int)getpid(), top = (int)getppid(), before;

	s->n = 0;
	do {            /* one generation more in every round */
		DIR *d = opendir("/proc");

		before = s->n;
		for (struct dirent *e; d && (e = readdir(d)) && s->n < PROC_MOST;) {
			int pid = atoi(e->d_name), parent, ours, known = 0;

			if (!isdigit((unsigned char)e->d_name[0]) || pid == self)
				continue;
			parent = parent_of(e->d_name);
			ours = parent == top;
			for (int i = 0; i < s->n; i++) {
				ours |= s->pid[i] == parent;
				known |= s->pid[i] == pid;
			}
			if (ours && !known)
				s->pid[s->n++] = pid;
		}
		if (d)
			closedir(d);
	} while (s->n > before);
}

double proc_seconds(const struct proc_set *s)
{
	unsigned long long sum = 0, ns;

	for (int i = 0; i < s->n; i++) {
		char path[300];
		DIR *d;

		snprintf(path, sizeof(path), "/proc/%d/task", s->pid[i]);
		d = opendir(path);
		for (struct dirent *e; d && (e = readdir(d));) {
			FILE *f;

			if (!isdigit((unsigned char)e->d_name[0]))
				continue;
			snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", s->pid[i], e->d_name);
			f = fopen(path, "r");
			if (f && fscanf(f, "%llu", &ns) == 1)
				sum += ns;
			if (f)
				fclose(f);
		}
		if (d)
			closedir(d);
	}
	return (double)sum / 1e9;
}
