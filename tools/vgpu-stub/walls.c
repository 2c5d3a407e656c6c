/* SPDX-License-Identifier: MIT */
/*
 * Which walls can stand around a context on this machine, for this user: found out by trying, once, when the device starts.
 *
 * Called by main.c. A trial is a process started as a context is (ctxspawn.c) that puts its walls up and says how that
 * went; the wall that fails is left out and the rest tried again. What was found holds for every context from then on: one
 * whose walls do not stand does not start.
 *
 * The network is one for all contexts and this process, without an interface: a namespace of that kind takes longer to
 * make than everything else about a context together. It holds nothing, so there is nothing to share.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stub.h"

static const char *const words[] = {
#define X(name, word) word,
	VGPU_WALLS(X)
#undef X
};

static char reason[VGPU_WALL_COUNT][200];

static void missing(uint32_t *walls, uint32_t wall, const char *why)
{
	*walls &= ~wall;
	for (unsigned i = 0; i < VGPU_WALL_COUNT; i++)
		if (wall >> i & 1 && !reason[i][0])
			snprintf(reason[i], sizeof(reason[i]), "%.*s", (int)strcspn(why, "\n"), why);
}

int walls_named(const char *list, uint32_t *out)
{
	*out = 0;
	if (!strcmp(list, "all"))
		*out = VGPU_WALLS_ALL;
	if (!strcmp(list, "all") || !strcmp(list, "none"))
		return 0;
	for (const char *p = list; *p;) {
		size_t n = strcspn(p, ",");
		unsigned i = 0;

		while (i < VGPU_WALL_COUNT && (strlen(words[i]) != n || strncmp(words[i], p, n)))
			i++;
		if (i == VGPU_WALL_COUNT)
			return -EINVAL;
		*out |= 1u << i;
		p += n + (p[n] == ',');
	}
	return *out ? 0 : -EINVAL;
}

const char *walls_text(uint32_t walls)
{
	static char text[128];
	size_t n = 0;

	text[0] = 0;
	for (unsigned i = 0; i < VGPU_WALL_COUNT; i++)
		if (walls >> i & 1)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "", words[i]);
	return text;
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	int err = errno;

	if (fd >= 0)
		close(fd);
	errno = err;
	return ok ? 0 : -1;
}

/*
 * This process into a network of its own; not root: into a user namespace too, in which it is who it was. A service manager
 * that is reached by an abstract socket would be lost with the network.
 */
static int leave_network(char *why, size_t room)
{
	const char *notify = getenv("NOTIFY_SOCKET");
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];

	if (notify && *notify == '@') {
		snprintf(why, room, "the service manager listens on an abstract socket of the network");
		return -1;
	}
	if (unshare(CLONE_NEWNET) == 0)
		return 0;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET)) {
		snprintf(why, room, "unshare: %s", strerror(errno));
		return -1;
	}
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	if (put("/proc/self/uid_map", map) == 0 && put("/proc/self/setgroups", "deny") == 0) {
		snprintf(map, sizeof(map), "%u %u 1", gid, gid);
		if (put("/proc/self/gid_map", map) == 0)
			return 0;
	}
	/* Half of it is worse than none: whoever we are now is not who opens our files. */
	log_line("the user namespace of the device cannot be filled: %s", strerror(errno));
	exit(1);
}

/* A context of no client: what its process says of its walls. 0, or the wall that failed. */
static uint32_t trial(struct device *d, uint32_t walls, char *why, size_t room)
{
	static struct context c;
	struct rlimit few;
	int status = 0, err, limited;
	siginfo_t si;
	ssize_t n = 0;

	c = (struct context){ .dev = d, .qid = STUB_QUEUES, .walls = walls, .trial = 1, .sock = -1, .err_fd = -1 };
	c.create.memory_limit = VGPU_GIB;
	err = ctxspawn(&c);
	if (err) {
		snprintf(why, room, "%s: %s", c.failed_at, strerror(-err));
		return c.failed_wall ? c.failed_wall : VGPU_WALL_USER;
	}
	why[0] = 0;
	/* End of file when it has gone: nobody else holds the pipe. */
	for (struct pollfd p = { .fd = c.err_fd, .events = POLLIN }; n < (ssize_t)room - 1 && poll(&p, 1, 5000) > 0;) {
		ssize_t got = read(c.err_fd, why + n, room - 1 - (size_t)n);

		if (got <= 0)
			break;
		n += got;
	}
	why[n] = 0;
	kill(c.pid, SIGKILL);
	waitid(P_PID, (id_t)c.pid, &si, WEXITED | WNOWAIT);
	/* As on READY (ctxproc.c): may we still limit who it has become? */
	limited = prlimit(c.pid, RLIMIT_NOFILE, NULL, &few) == 0;
	waitpid(c.pid, &status, 0);
	cgroup_leave(&c);
	close(c.err_fd);
	close(c.sock);
	close(c.pidfd);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		snprintf(why, room, "its limits would be out of reach (CAP_SYS_RESOURCE)");
		return limited ? 0 : VGPU_WALL_UID;
	}
	if (n && strtoul(why, NULL, 10)) {
		uint32_t wall = (uint32_t)strtoul(why, NULL, 10);

		memmove(why, why + strcspn(why, " "), strlen(why + strcspn(why, " ")) + 1);
		return wall;
	}
	snprintf(why, room, "a process behind it does not start (%s %d)", WIFEXITED(status) ? "exit status" : "signal",
		 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	/* exec as another user: the program is not for everybody */
	return walls & VGPU_WALL_UID ? VGPU_WALL_UID : VGPU_WALL_USER;
}

void walls_find(struct device *d)
{
	const uint32_t spaces = VGPU_WALL_USER | VGPU_WALL_PID | VGPU_WALL_MOUNT | VGPU_WALL_IPC;
	uint32_t walls = d->config.walls | VGPU_WALL_SECCOMP, off = VGPU_WALLS_ALL & ~walls, failed;
	char why[200];

	if (walls & VGPU_WALL_UID && geteuid() != 0)
		missing(&walls, VGPU_WALL_UID, "the device does not run as root");
	if (walls & VGPU_WALL_CGROUP && cgroup_open(d, why, sizeof(why)))
		missing(&walls, VGPU_WALL_CGROUP, why);
	if (walls & VGPU_WALL_NET && leave_network(why, sizeof(why)))
		missing(&walls, VGPU_WALL_NET, why);
	while ((failed = trial(d, walls, why, sizeof(why)))) {
		/* Namespaces need the one of users where we are nobody: without it none of them is to be had. */
		if (failed == VGPU_WALL_USER && geteuid() != 0)
			failed = spaces;
		if (!(walls & failed & ~(uint32_t)VGPU_WALL_SECCOMP)) {
			log_line("a context's process cannot be started: %s", why);
			break;
		}
		missing(&walls, failed, why + (why[0] == ' '));
	}
	d->walls = d->info.walls = walls;
	log_line("walls around contexts: %s", walls_text(walls));
	for (unsigned i = 0; i < VGPU_WALL_COUNT; i++)
		if (!((walls | off) >> i & 1))
			log_line("no wall \"%s\": %s", words[i], reason[i]);
	if (off)
		log_line("walls that are not wanted (--walls): %s", walls_text(off));
}
