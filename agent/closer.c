/* SPDX-License-Identifier: MIT */
/* See closer.h. */
#include "closer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "seccomp.h"

#define WAKE SIGURG                     /* ignored by default, and nobody else's */
#define TICK_NS 1000000                 /* so long one may wait; a signal ends it (sk_stream_wait_close() in the kernel) */
#define BEHIND 512u
#define THREAD_ID 4                     /* SIGEV_THREAD_ID; sigevent(3type) as the kernel has it: musl and old glibc do not name the thread */

struct kernel_sigevent {
	uint64_t value;
	int signo, notify, thread;
	int pad[11];
};

static int to_thread = -1, from_control = -1;
static uint64_t asked, closed;          /* the control thread's; this thread's, read by the other */

static void nothing(int sig)
{
	(void)sig;
}

static void *serve(void *p)
{
	/* again and again: the first may come before the close has begun to wait */
	const struct itimerspec on = { { 0, TICK_NS }, { 0, TICK_NS } }, off = { { 0, 0 }, { 0, 0 } };
	struct kernel_sigevent e = { .signo = WAKE, .notify = THREAD_ID, .thread = (int)syscall(SYS_gettid) };
	int timer = -1, fd;
	sigset_t wake;

	sigemptyset(&wake);
	sigaddset(&wake, WAKE);
	pthread_sigmask(SIG_UNBLOCK, &wake, NULL);
	if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &e, &timer) < 0)
		timer = -1;
	if (agent.opt.sandbox)
		seccomp_closer_thread();
	for (;;) {
		if (read(from_control, &fd, sizeof(fd)) != sizeof(fd))
			continue;
		if (timer >= 0)
			syscall(SYS_timer_settime, timer, 0, &on, NULL);
		close(fd);
		if (timer >= 0)
			syscall(SYS_timer_settime, timer, 0, &off, NULL);
		__atomic_store_n(&closed, closed + 1, __ATOMIC_RELAXED);
	}
	return p;
}

int closer_start(void)
{
	struct sigaction sa = { .sa_handler = nothing };
	sigset_t all, old;
	pthread_t id;
	int p[2], rc;

	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	/* Full only with more descriptors than fit into 64 KiB: closer_behind() sees to it that there are not so many. */
	if (fcntl(p[1], F_SETFL, O_NONBLOCK) < 0 || sigaction(WAKE, &sa, NULL) < 0) {
		rc = -errno;
		goto fail;
	}
	from_control = p[0];
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGSYS);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = -pthread_create(&id, NULL, serve, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc)
		goto fail;
	to_thread = p[1];
	return 0;
fail:
	close(p[0]);
	close(p[1]);
	return rc;
}

void closer_close(int fd)
{
	if (to_thread < 0 || write(to_thread, &fd, sizeof(fd)) != sizeof(fd))
		close(fd);
	else
		asked++;
}

int closer_behind(void)
{
	if (asked - __atomic_load_n(&closed, __ATOMIC_RELAXED) < BEHIND)
		return 0;
	usleep(1000);
	return 1;
}
