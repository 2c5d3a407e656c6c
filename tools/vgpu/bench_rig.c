/* SPDX-License-Identifier: MIT */
/*
 * The rig of a bench: a device and an agent, and child processes for what uses CUDA, which has one session per process.
 *
 * Private ones are kept off the client's CPU, so that a figure says what it says: the client on one core, agent and
 * device on the others. An agent that was there already is left as it is.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

/* All threads there are; those to come inherit it. */
static void keep_off(pid_t pid, int cpu)
{
	char path[64];
	struct dirent *e;
	cpu_set_t set;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		pid_t tid = (pid_t)atoi(e->d_name);

		if (tid <= 0 || sched_getaffinity(tid, sizeof(set), &set))
			continue;
		CPU_CLR((unsigned)cpu, &set);
		if (CPU_COUNT(&set))
			sched_setaffinity(tid, sizeof(set), &set);
	}
	if (d)
		closedir(d);
}

int rig_open(struct rig *r, int fresh, char *const agent_args[])
{
	const char *found = fresh ? NULL : agent_find(r->agent, sizeof(r->agent));

	r->own = 0;
	if (found) {
		if (found != r->agent)
			snprintf(r->agent, sizeof(r->agent), "%s", found);
		return 0;
	}
	if (private_start_with(&r->gpu, NULL, agent_args, 0))
		return -1;
	r->own = 1;
	snprintf(r->agent, sizeof(r->agent), "%s", r->gpu.agent);
	if (cores()->n > 1) {
		keep_off(r->gpu.stub_pid, cores()->client);
		keep_off(r->gpu.agent_pid, cores()->client);
	}
	return 0;
}

void rig_close(struct rig *r)
{
	if (r->own)
		private_stop(&r->gpu);
	r->own = 0;
}

void *bench_shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p != MAP_FAILED)
		return p;
	complain("bench: no memory: %s", strerror(errno));
	return NULL;
}

pid_t rig_spawn(const struct rig *r, int (*fn)(void *arg), void *arg)
{
	pid_t parent = getpid(), child;

	fflush(NULL);
	tsc_ghz();              /* calibrated before the fork: not once in each child */
	child = fork();
	if (child < 0)
		complain("bench: fork: %s", strerror(errno));
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	setenv("VGPU_AGENT", r->agent, 1);
	_exit(fn(arg) ? 1 : 0);
}

int rig_wait(pid_t child)
{
	int st;

	if (waitpid(child, &st, 0) != child)
		return -1;
	if (WIFSIGNALED(st))
		complain("bench: a child was ended by signal %d", WTERMSIG(st));
	return WIFEXITED(st) && !WEXITSTATUS(st) ? 0 : -1;
}
