/* SPDX-License-Identifier: MIT */
/*
 * A cgroup (v2) for each client's contexts: what the kernel lets them have together, whatever runs in them.
 *
 *   DELEGATED/device            this process: processes may be in leaves only
 *   DELEGATED/client-IOVA       contexts of the client whose segment 0 lies at that address
 *
 * Called by walls.c when the device starts, by ctxspawn.c and ctxproc.c. The delegated group is the one of a unit with
 * Delegate=yes, or the one that --cgroup names; another's is left alone.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "stub.h"

#define FAIL(...) do { snprintf(why, room, __VA_ARGS__); return -1; } while (0)

static int home = -1;                   /* the delegated group */

static int put(int dir, const char *file, const char *text)
{
	int fd = openat(dir, file, O_WRONLY | O_CLOEXEC), ok;

	if (fd < 0)
		return -1;
	ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return ok ? 0 : -1;
}

static int put_number(int dir, const char *file, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	return put(dir, file, text);
}

/* Where the cgroup of this process is in the file system. */
static int own_group(char *path, size_t room)
{
	char line[1024], group[512] = "", mnt[512] = "";
	FILE *f = fopen("/proc/self/cgroup", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "0::%511[^\n]", group) == 1)
			break;
	if (f)
		fclose(f);
	f = fopen("/proc/self/mountinfo", "re");
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, " - cgroup2 ") && sscanf(line, "%*s %*s %*s %*s %511s", mnt) == 1)
			break;
	if (f)
		fclose(f);
	if (!group[0] || !mnt[0] || (size_t)snprintf(path, room, "%s%s", mnt, group) >= room)
		return -1;
	return 0;
}

static int delegated(const char *path)
{
	char v[4] = "";

	return (getxattr(path, "user.delegate", v, sizeof(v) - 1) > 0 || getxattr(path, "trusted.delegate", v, sizeof(v) - 1) > 0) &&
	       v[0] == '1';
}

/* Its owner enters it whatever the umask: that one is for the socket, and a socket needs no right to be searched. */
static int make_group(int dir, const char *name)
{
	if (mkdirat(dir, name, 0755))
		return errno == EEXIST ? 0 : -1;
	return fchmodat(dir, name, 0755, 0);
}

/*
 * What a device left that was killed: it could not clear up, and its contexts die a moment after it. Whoever has the lock is alone
 * here, so nobody's limits are set by two.
 */
static int take_over(int dir)
{
	for (unsigned tries = 0; tries < 50; tries++) {
		int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), busy = 0;
		DIR *list = fd < 0 ? NULL : fdopendir(fd);

		if (!list) {
			if (fd >= 0)
				close(fd);
			return -1;
		}
		for (struct dirent *e; (e = readdir(list));)
			busy |= !strncmp(e->d_name, "client-", 7) && unlinkat(dir, e->d_name, AT_REMOVEDIR) && errno == EBUSY;
		closedir(list);
		if (!busy)
			return 0;
		usleep(20000);
	}
	errno = EBUSY;
	return -1;
}

int cgroup_open(struct device *d, char *why, size_t room)
{
	static const char *const controllers[] = { "+memory", "+pids", "+cpu" };
	char path[1100];
	int dir;

	if (d->config.cgroup)
		snprintf(path, sizeof(path), "%s", d->config.cgroup);
	else if (own_group(path, sizeof(path)))
		FAIL("no cgroup v2 is mounted here");
	else if (!delegated(path))
		FAIL("%s is not delegated to this process (Delegate=yes in the unit, or --cgroup PATH)", path);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		FAIL("%s: %s", path, strerror(errno));
	if (flock(dir, LOCK_EX | LOCK_NB) || take_over(dir)) {
		snprintf(why, room, "%s is another device's: %s", path, strerror(errno));
		goto fail;
	}
	if (!d->config.cgroup && (make_group(dir, "device") || put_number(dir, "device/cgroup.procs", (uint64_t)getpid()))) {
		snprintf(why, room, "%s/device: %s", path, strerror(errno));
		goto fail;
	}
	for (unsigned i = 0; i < 3; i++)
		if (put(dir, "cgroup.subtree_control", controllers[i])) {
			snprintf(why, room, "%s: no controller \"%s\" for groups below it: %s", path, controllers[i] + 1, strerror(errno));
			goto fail;
		}
	home = dir;
	return 0;
fail:
	close(dir);
	return -1;
}

static void group_name(const struct context *c, char *name, size_t room)
{
	snprintf(name, room, "client-%" PRIx64, c->create.seg0_iova);
}

/* The client's other contexts that have a process; with c (mine) or without it, the largest grant and weight among them. */
static uint32_t count(const struct context *c, int mine, uint64_t *grant, uint32_t *weight)
{
	uint32_t n = 0;

	*grant = mine ? c->create.memory_limit : 0;
	*weight = mine ? c->create.weight : 0;
	for (uint32_t q = 0; q < STUB_QUEUES; q++) {
		const struct context *x = &c->dev->ctx[q];

		if (x == c || !x->in_cgroup || x->create.seg0_iova != c->create.seg0_iova)
			continue;
		n++;
		*grant = x->create.memory_limit > *grant ? x->create.memory_limit : *grant;
		*weight = x->create.weight > *weight ? x->create.weight : *weight;
	}
	return n;
}

/* All contexts of a client share its grant; tables and code are each one's own. */
static int put_limits(const struct context *c, int dir, uint32_t n, uint64_t grant, uint32_t weight)
{
	uint64_t overhead = c->dev->config.overhead_bytes + CTX_TABLE_BYTES;

	return put_number(dir, "memory.max", grant + n * overhead) || put_number(dir, "pids.max", n * (c->dev->config.cores + 4)) ||
	       put_number(dir, "cpu.weight", weight ? weight : 100) ? -errno : 0;
}

int cgroup_enter(struct context *c)
{
	uint64_t grant;
	uint32_t weight, n = count(c, 1, &grant, &weight) + 1;
	char name[40];
	int dir, err;

	group_name(c, name, sizeof(name));
	if (make_group(home, name))
		return -errno;
	dir = openat(home, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	err = put_limits(c, dir, n, grant, weight);
	if (err) {
		close(dir);
		return err;
	}
	put(dir, "memory.swap.max", "0");       /* where there is swap at all */
	c->in_cgroup = 1;
	return dir;
}

int cgroup_move(int dir, pid_t p)
{
	return put_number(dir, "cgroup.procs", (uint64_t)p) ? -errno : 0;
}

/* Its weight has changed. */
void cgroup_weight(struct context *c)
{
	uint64_t grant;
	uint32_t weight, n;
	char name[40];
	int dir, err;

	if (!c->in_cgroup)
		return;
	n = count(c, 1, &grant, &weight) + 1;
	group_name(c, name, sizeof(name));
	dir = openat(home, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = dir < 0 ? -errno : put_limits(c, dir, n, grant, weight);
	if (err)
		log_line("cgroup %s: its weight cannot be changed: %s", name, strerror(-err));
	if (dir >= 0)
		close(dir);
}

void cgroup_leave(struct context *c)
{
	uint64_t grant;
	uint32_t weight, n;
	char name[40];
	int dir, err;

	if (!c->in_cgroup)
		return;
	c->in_cgroup = 0;
	group_name(c, name, sizeof(name));
	n = count(c, 0, &grant, &weight);
	if (!n) {
		if (unlinkat(home, name, AT_REMOVEDIR))
			log_verbose("cgroup %s: %s", name, strerror(errno));
		return;
	}
	/* The rest have what is theirs: its share of the overhead, a larger grant, a heavier weight went with it. */
	dir = openat(home, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = dir < 0 ? -errno : put_limits(c, dir, n, grant, weight);
	if (err)
		log_line("cgroup %s: its limits cannot be lowered: %s", name, strerror(-err));
	if (dir >= 0)
		close(dir);
}
