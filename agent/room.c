/* SPDX-License-Identifier: MIT */
/*
 * See room.h. In a container, or a unit with MemoryMax=, there is less memory than the machine has; beyond the limit the kernel kills,
 * and who is there to be killed is the agent of all clients, whoever of them asked for a window too many. So pool.c asks here before it
 * commits a piece: the client that asks is told OUT_OF_MEMORY instead.
 *
 * Both hierarchies, every group from ours to the root, since each may have a limit. Limits may change while we run, so the
 * files stay open and are read each time. Cached files are given up by the kernel before it kills: they do not count.
 */
#include "room.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

#define LEVELS 16
#define RESERVE (16ull << 20)           /* for what is not asked about: page tables, sockets, a huge page in the making */

static struct level { int max, now, stat; } level[LEVELS];
static unsigned levels;
static int said;

static int at(const char *dir, const char *file)
{
	char path[900];

	return (size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) < sizeof(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

static void add(const char *dir, int unified)
{
	struct level l = { at(dir, unified ? "memory.max" : "memory.limit_in_bytes"), at(dir, unified ? "memory.current" : "memory.usage_in_bytes"),
			   at(dir, "memory.stat") };

	if (l.max >= 0 && l.now >= 0 && l.stat >= 0 && levels < LEVELS) {
		level[levels++] = l;
		return;
	}
	if (l.max >= 0)
		close(l.max);
	if (l.now >= 0)
		close(l.now);
	if (l.stat >= 0)
		close(l.stat);
}

/* `list` has `word` between its commas. */
static int lists(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (!strncmp(p, word, n) && (!p[n] || p[n] == ','))
			return 1;
	return 0;
}

/* Where the hierarchy is mounted, and which of its groups is mounted there: containers see a part. */
static int mounted(int unified, char mnt[300], char root[300])
{
	char line[1024], type[64], options[300];
	FILE *f = fopen("/proc/self/mountinfo", "re");
	int found = 0;

	while (f && !found && fgets(line, sizeof(line), f)) {
		const char *rest = strstr(line, " - ");

		found = rest && sscanf(line, "%*s %*s %*s %299s %299s", root, mnt) == 2 && sscanf(rest, " - %63s %*s %299s", type, options) == 2 &&
			(unified ? !strcmp(type, "cgroup2") : !strcmp(type, "cgroup") && lists(options, "memory"));
	}
	if (f)
		fclose(f);
	return found;
}

static void add_all(int unified, const char *group)
{
	char mnt[300], root[300], dir[700];
	size_t n;

	if (!mounted(unified, mnt, root))
		return;
	n = strcmp(root, "/") ? strlen(root) : 0;
	/* one that lies outside of what is mounted here has at least the limits of its root */
	if (strncmp(group, root, n) || (n && group[n] && group[n] != '/') || strstr(group, "/.."))
		group = "", n = 0;
	snprintf(dir, sizeof(dir), "%s%s", mnt, group + n);
	for (n = strlen(mnt);;) {
		char *end = strrchr(dir, '/');

		add(dir, unified);
		if (strlen(dir) <= n || !end)
			return;
		*end = 0;
	}
}

void room_init(void)
{
	char line[1024];
	FILE *f = fopen("/proc/self/cgroup", "re");

	while (f && fgets(line, sizeof(line), f)) {
		char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;

		if (!group)
			continue;
		*group++ = 0;
		group[strcspn(group, "\n")] = 0;
		if (!names[1] || lists(names + 1, "memory"))
			add_all(!names[1], group);
	}
	if (f)
		fclose(f);
}

/* ~0: "max", or not to be had. */
static uint64_t number(int fd)
{
	char text[32];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0 || text[0] < '0' || text[0] > '9')
		return ~0ull;
	text[n] = 0;
	return strtoull(text, NULL, 10);
}

/* Pages of files, which the kernel gives up: of the group and all below it. */
static uint64_t cached(int fd)
{
	static const char *const names[] = { "active_file ", "inactive_file ", "total_active_file ", "total_inactive_file " };
	char text[8192];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	uint64_t sum[2] = { 0, 0 };

	if (n <= 0)
		return 0;
	text[n] = 0;
	for (unsigned i = 0; i < 4; i++)
		for (const char *p = text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
			if (!strncmp(p, names[i], strlen(names[i])))
				sum[i / 2] += strtoull(p + strlen(names[i]), NULL, 10);
	return sum[1] ? sum[1] : sum[0];
}

int room_for(uint64_t bytes)
{
	for (unsigned i = 0; i < levels; i++) {
		uint64_t max = number(level[i].max), now, files;

		if (max == ~0ull)
			continue;
		now = number(level[i].now);
		if (now != ~0ull && now <= max && bytes + RESERVE <= max - now)
			continue;
		files = cached(level[i].stat);
		now -= files < now ? files : now;
		if (now <= max && bytes + RESERVE <= max - now)
			continue;
		if (!said)
			log_warn("the agent's cgroup has %llu MiB of memory, of which %llu are in use: clients get no more shared memory than that leaves",
				 (unsigned long long)max >> 20, (unsigned long long)now >> 20);
		said = 1;
		return 0;
	}
	return 1;
}
