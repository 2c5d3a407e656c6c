/* SPDX-License-Identifier: MIT */
/*
 * What the kernel counts of contexts and processors. For fair.c, which decides by these three answers alone: its test gives it
 * others, and a clock of its own.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stub.h"

/* Of all threads of the process: clock_getcpuclockid(3) without its look whether we may. */
uint64_t usage_ns(const struct context *c)
{
	clockid_t id = (clockid_t)(~(unsigned)c->pid << 3 | 2);
	struct timespec t;

	if (clock_gettime(id, &t))
		return c->fair.seen_ns;
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* Idle time of the processors that we may use; 0: unknown. */
uint64_t usage_idle_ns(void)
{
	char line[512];
	uint64_t sum = 0, idle, wait;
	long hz = sysconf(_SC_CLK_TCK);
	unsigned cpu;
	cpu_set_t may;
	FILE *f;

	if (hz <= 0 || sched_getaffinity(0, sizeof(may), &may))
		return 0;
	f = fopen("/proc/stat", "re");
	while (f && fgets(line, sizeof(line), f) && !strncmp(line, "cpu", 3))
		if (sscanf(line, "cpu%u %*u %*u %*u %" SCNu64 " %" SCNu64, &cpu, &idle, &wait) == 3 && cpu < CPU_SETSIZE &&
		    CPU_ISSET(cpu, &may))
			sum += idle + wait;
	if (f)
		fclose(f);
	return sum * (1000000000ull / (uint64_t)hz);
}

/*
 * Is a thread of it running, or waiting for a processor? On a machine that others load, little time is no sign of little need.
 * The kernel's word: proc(5), the state behind the name.
 */
int usage_wants(const struct context *c)
{
	char path[64], text[512], *end;
	struct dirent *e;
	int found = 0;
	ssize_t n;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", c->pid);
	dir = opendir(path);
	while (dir && !found && (e = readdir(dir))) {
		int fd;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%.20s/stat", e->d_name);
		fd = openat(dirfd(dir), path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
		if (fd >= 0)
			close(fd);
		text[n > 0 ? n : 0] = 0;
		end = strrchr(text, ')');
		found = end && end[1] == ' ' && end[2] == 'R';
	}
	if (dir)
		closedir(dir);
	return found;
}
