/* SPDX-License-Identifier: MIT */
/*
 * Starts a context process: fork, limits, exec of our own binary with "--context".
 *
 * exec gives it an address space without anything of the parent's (other windows, guest RAM); what it
 * inherits is fd 3 and nothing else. It dies with the parent and cannot gain privileges.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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

extern char **environ;

#define MAX_ENV 16

/* Only what a person sets to debug a context: our own switches and the sanitizers'. */
static void filter_environment(char *out[MAX_ENV + 1])
{
	int n = 0;

	for (char **e = environ; *e && n < MAX_ENV; e++) {
		size_t name = strcspn(*e, "=");

		if (!strncmp(*e, "VGPU_STUB_", 10) || !strncmp(*e, "VGPU_ENGINE=", 12) || !strncmp(*e, "VGPU_OPS=", 9) ||
		    !strncmp(*e, "VGPU_VERIFY_COUNTS=", 19) ||
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

/* In the child, between fork and exec: async-signal-safe calls only. */
static void child(int sock, pid_t parent, uint64_t data_limit, char *const argv[], char *const envp[])
{
	static const char oom[] = "1000";
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;
	int null, fd;

	/* Signals: the parent's handlers and mask are not the context's. */
	for (int s = 1; s < 32; s++)
		sigaction(s, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);

	if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent ||
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
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
		_exit(127);
	if (sock == CTX_SOCKET_FD ? fcntl(sock, F_SETFD, 0) : dup2(sock, CTX_SOCKET_FD) < 0)
		_exit(127);
	if (syscall(SYS_close_range, CTX_SOCKET_FD + 1, ~0u, 0))
		_exit(127);
	limit(RLIMIT_CORE, 0);
#ifndef __SANITIZE_ADDRESS__            /* its shadow alone is terabytes */
	limit(RLIMIT_DATA, data_limit);
#else
	(void)data_limit;
#endif
	execve("/proc/self/exe", argv, envp);
	_exit(127);
}

int ctxspawn(uint64_t data_limit, int *sock, int *pid, int *pidfd)
{
	char *argv[] = { (char *)"vgpu-stub", (char *)"--context", NULL };
	char *envp[MAX_ENV + 1];
	pid_t parent = getpid(), p;
	int s[2], fd, err;

	filter_environment(envp);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s))
		return -errno;
	p = fork();
	if (p < 0) {
		err = -errno;
		goto fail;
	}
	if (!p)
		child(s[1], parent, data_limit, argv, envp);
	/* Not reaped by anyone but us, so the number cannot have been reused. */
	fd = pidfd_open(p, 0);
	if (fd < 0) {
		err = -errno;
		kill(p, SIGKILL);
		waitpid(p, NULL, 0);
		goto fail;
	}
	close(s[1]);
	*sock = s[0];
	*pid = p;
	*pidfd = fd;
	return 0;
fail:
	close(s[0]);
	close(s[1]);
	return err;
}
