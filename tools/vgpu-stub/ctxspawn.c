/* SPDX-License-Identifier: MIT */
/*
 * Starts a context process: fork into its namespaces (walls.c knows which), limits, exec of our own binary with "--context".
 *
 * exec gives it an address space without anything of the parent's (other windows, guest RAM); what it
 * inherits is fd 3, a pipe as stderr and nothing else. It dies with the parent and cannot gain privileges.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stub.h"
#include "../service/signals.h"

extern char **environ;

#define MAX_ENV 16
#define STACK_BYTES (8u << 20)
#define COUNTS_TEXT "4"                 /* CTX_COUNTS_FD */

/* Only what a person sets to debug a context: our own switches and the sanitizers'; and where the counts of vgpu verify are. */
static char *host_agent(const char *e)
{
	static char text[192];

	snprintf(text, sizeof(text), "VGPU_AGENT=%s", e + strlen("VGPU_HOST_AGENT="));
	return text;
}

static void filter_environment(char *out[MAX_ENV + 2], int counts, int driver)
{
	static char counts_at[] = "VGPU_VERIFY_COUNTS=fd:" COUNTS_TEXT;
	int n = 0;

	if (counts >= 0)
		out[n++] = counts_at;
	for (char **e = environ; *e && n < MAX_ENV; e++) {
		size_t name = strcspn(*e, "=");

		/* for the host's driver: which devices it shows, where its other libraries are, and where the agent is when it is ours */
		if (driver && (!strncmp(*e, "CUDA_VISIBLE_DEVICES=", 21) || !strncmp(*e, "LD_LIBRARY_PATH=", 16) || !strncmp(*e, "VGPU_HOST_AGENT=", 16))) {
			out[n++] = strncmp(*e, "VGPU_HOST_", 10) ? *e : host_agent(*e);
			continue;
		}
		if (!strncmp(*e, "VGPU_STUB_", 10) || !strncmp(*e, "VGPU_ENGINE=", 12) || !strncmp(*e, "VGPU_OPS=", 9) || !strncmp(*e, "VGPU_MEMCHECK=", 14) ||
		    !strncmp(*e, "VGPU_CPU_ISA=", 13) ||
		    (name >= 11 && !strncmp(*e + name - 11, "SAN_OPTIONS", 11)))
			out[n++] = *e;
	}
	out[n] = NULL;
}

static void limit(int what, rlim_t value)
{
	struct rlimit r;

	if (getrlimit(what, &r))
		_exit(127);
	if (r.rlim_max == RLIM_INFINITY || r.rlim_max > value)
		r.rlim_max = value;
	r.rlim_cur = r.rlim_max;
	if (setrlimit(what, &r))
		_exit(127);
}

struct cage {
	int sock, peer, err;            /* its end, the parent's end, the pipe for its stderr */
	int counts;                     /* file of vgpu verify, which a context could not open: not its files, not its user's; -1 */
	pid_t parent;
	int waits;                      /* until the parent has said who it is, or where */
	int to_move;
	uint32_t walls;
	uint64_t data_limit, data_most;
};

/* In the child, between fork and exec: async-signal-safe calls only. */
static void child(const struct cage *k, char *const argv[], char *const envp[])
{
	static const char oom[] = "1000";
	sigset_t none;
	int null, fd;
	char go;

	/* Signals: the parent's handlers and mask are not the context's. */
	for (int s = 1; s <= SIGNALS_LAST; s++)
		signals_set(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);

	/* In its own pid namespace nobody is its parent; that ours lives, the byte below says. */
	if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) || (!(k->walls & VGPU_WALL_PID) && getppid() != k->parent) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		_exit(127);
	/* When memory runs out contexts go first. Where the file is not writable, so be it. */
	fd = open("/proc/self/oom_score_adj", O_WRONLY);
	if (fd >= 0) {
		ssize_t n = write(fd, oom, sizeof(oom) - 1);

		(void)n;
		close(fd);
	}
	null = open("/dev/null", O_RDWR);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(k->err, 2) < 0)
		_exit(127);
	/* The parent says who root of the user namespace is; exec keeps that root's rights, until ctx_walls.c drops them. */
	close(k->peer);
	if (k->waits && read(k->sock, &go, 1) != 1)
		_exit(127);
	if (k->walls & VGPU_WALL_USER) {
		syscall(SYS_setgroups, 0, NULL);        /* not root: not ours to say, the groups stay */
		if (syscall(SYS_setresgid, 0, 0, 0) || syscall(SYS_setresuid, 0, 0, 0))
			_exit(126);
	}
	if (k->sock == CTX_SOCKET_FD ? fcntl(k->sock, F_SETFD, 0) : dup2(k->sock, CTX_SOCKET_FD) < 0)
		_exit(127);
	if ((k->counts >= 0 && dup2(k->counts, CTX_COUNTS_FD) < 0) ||
	    syscall(SYS_close_range, k->counts >= 0 ? CTX_COUNTS_FD + 1 : CTX_SOCKET_FD + 1, ~0u, 0))
		_exit(127);
	limit(RLIMIT_CORE, 0);
	/* Without a limit the kernel would lay out addresses from below, where the client's span is. */
	limit(RLIMIT_STACK, STACK_BYTES);
#ifndef __SANITIZE_ADDRESS__            /* its shadow alone is terabytes */
	/* The hard limit stays above the soft one, which the parent moves and the sandbox does not let it touch itself. */
	setrlimit(RLIMIT_DATA, &(struct rlimit){ k->data_limit, k->data_most });
#endif
	execve("/proc/self/exe", argv, envp);
	_exit(127);
}

/*
 * fork() with namespaces and a cgroup; this process has one thread. systemd's RestrictNamespaces= leaves no clone3, whose flags no filter
 * sees: then the child waits in clone's until it has been put into its cgroup.
 */
static pid_t start(struct cage *k, int cgroup)
{
	struct clone_args a = { .exit_signal = SIGCHLD };
	uint32_t walls = k->walls;
	pid_t p;

	a.flags = (walls & VGPU_WALL_USER ? CLONE_NEWUSER : 0) | (walls & VGPU_WALL_PID ? CLONE_NEWPID : 0) |
		  (walls & VGPU_WALL_MOUNT ? CLONE_NEWNS : 0) | (walls & VGPU_WALL_IPC ? CLONE_NEWIPC : 0);
	if (cgroup >= 0) {
		a.flags |= CLONE_INTO_CGROUP;
		a.cgroup = (uint64_t)cgroup;
		p = (pid_t)syscall(SYS_clone3, &a, sizeof(a));
		if (p >= 0 || errno != ENOSYS)
			return p;
		a.flags &= ~(uint64_t)CLONE_INTO_CGROUP;
		k->waits = k->to_move = 1;
	}
	if (a.flags)
		return (pid_t)syscall(SYS_clone, (unsigned long)(a.flags | SIGCHLD), 0, 0, 0, 0);
	return fork();
}

/* One file of /proc/PID. 0 or -errno. */
static int put_proc(pid_t pid, const char *file, const char *text)
{
	char path[64];
	int fd, err = 0;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* Root of its user namespace is `uid` outside, and nobody else is there. */
static int put_maps(pid_t pid, uint32_t uid, uint32_t gid, int other)
{
	char map[40];
	int err;

	snprintf(map, sizeof(map), "0 %u 1", uid);
	err = put_proc(pid, "uid_map", map);
	if (!err && !other)
		err = put_proc(pid, "setgroups", "deny");       /* without it the map of groups is not ours to write */
	snprintf(map, sizeof(map), "0 %u 1", gid);
	return err ? err : put_proc(pid, "gid_map", map);
}

uint32_t ctxspawn_uid(const struct context *c)
{
	return c->walls & VGPU_WALL_UID ? c->dev->config.context_uids + c->qid : 0;
}

/* Above every number that the child puts something at. */
static int open_counts(void)
{
	const char *path = getenv("VGPU_VERIFY_COUNTS");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1, high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 64);

	if (fd >= 0)
		close(fd);
	return high;
}

int ctxspawn(struct context *c)
{
	uint32_t uid = ctxspawn_uid(c);
	char walls[16], user[16];
	char *as_context[] = { (char *)"vgpu-stub", (char *)"--context", NULL };
	char *as_trial[] = { (char *)"vgpu-stub", (char *)"--context-walls", walls, user,
			     (char *)(c->dev->config.cuda_library ? "1" : "0"), NULL };
	char *envp[MAX_ENV + 2];
	struct cage k = { .parent = getpid(), .walls = c->walls, .data_limit = ctxgrant_least(c), .data_most = ctxgrant_most(c) };
	int s[2], e[2], fd = -1, cgroup = -1, err;
	pid_t p;

	if (c->dev->config.cuda_library)        /* the driver's own memory, which it does not tell */
		k.data_limit = k.data_most = UINT64_MAX;
	snprintf(walls, sizeof(walls), "%u", c->walls);
	snprintf(user, sizeof(user), "%u", uid);
	k.counts = open_counts();
	filter_environment(envp, k.counts, c->dev->config.cuda_library != NULL);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s)) {
		err = -errno;
		goto close_counts;
	}
	if (pipe2(e, O_CLOEXEC)) {
		err = -errno;
		goto close_socket;
	}
	if (fcntl(e[0], F_SETFL, O_NONBLOCK)) {
		err = -errno;
		goto close_pipe;
	}
	c->failed_wall = 0;
	if (c->walls & VGPU_WALL_CGROUP) {
		cgroup = cgroup_enter(c);
		if (cgroup < 0) {
			err = cgroup;
			c->failed_wall = VGPU_WALL_CGROUP;
			c->failed_at = "its cgroup";
			goto close_pipe;
		}
	}
	k.sock = s[1];
	k.peer = s[0];
	k.err = e[1];
	k.waits = (c->walls & VGPU_WALL_USER) != 0;
	p = start(&k, cgroup);
	if (p < 0) {
		err = -errno;
		c->failed_wall = c->walls & VGPU_WALL_USER ? VGPU_WALL_USER : c->walls & (VGPU_WALL_PID | VGPU_WALL_MOUNT | VGPU_WALL_IPC);
		c->failed_at = "clone";
		goto close_cgroup;
	}
	if (!p)
		child(&k, c->trial ? as_trial : as_context, envp);
	/* Not reaped by anyone but us, so the number cannot have been reused. */
	fd = pidfd_open(p, 0);
	if (fd < 0) {
		err = -errno;
		goto kill;
	}
	if (k.to_move && (err = cgroup_move(cgroup, p))) {
		c->failed_wall = VGPU_WALL_CGROUP;
		c->failed_at = "its cgroup";
		goto kill;
	}
	if (c->walls & VGPU_WALL_USER && (err = put_maps(p, uid ? uid : geteuid(), uid ? uid : getegid(), geteuid() == 0))) {
		c->failed_wall = uid ? VGPU_WALL_UID : VGPU_WALL_USER;
		c->failed_at = "the map of its user namespace";
		goto kill;
	}
	if (k.waits && write(s[0], "g", 1) != 1) {
		err = -errno;
		goto kill;
	}
	close(s[1]);
	close(e[1]);
	if (cgroup >= 0)
		close(cgroup);
	if (k.counts >= 0)
		close(k.counts);
	c->sock = s[0];
	c->err_fd = e[0];
	c->pid = p;
	c->pidfd = fd;
	return 0;
kill:
	kill(p, SIGKILL);
	waitpid(p, NULL, 0);
	if (fd >= 0)
		close(fd);
close_cgroup:
	if (cgroup >= 0) {
		close(cgroup);
		cgroup_leave(c);
	}
close_pipe:
	close(e[0]);
	close(e[1]);
close_socket:
	close(s[0]);
	close(s[1]);
close_counts:
	if (k.counts >= 0)
		close(k.counts);
	return err;
}
