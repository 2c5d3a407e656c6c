/* SPDX-License-Identifier: MIT */
/* See notify.h. Linked into vgpu-agent (musl, under its seccomp filter: sendto alone) and vgpu-stub. */
#include "notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static int fd = -1;
static uint64_t period_ns;              /* between signs of life; 0: nobody waits for them */
static uint64_t next_ns;

/* WATCHDOG_USEC is meant for the process WATCHDOG_PID; twice in that time is what sd_watchdog_enabled(3) advises. */
static void watchdog_init(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	char *end = NULL;
	unsigned long long v;

	if (!usec || *usec < '0' || *usec > '9' || (pid && strtol(pid, NULL, 10) != (long)getpid()))
		return;
	errno = 0;
	v = strtoull(usec, &end, 10);
	if (*end || errno || !v || v > UINT64_MAX / 1000)
		return;
	period_ns = v * 1000 / 2;
}

static int open_socket(const char *where)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_sec = 1 };
	size_t n = strlen(where);
	int s;

	if ((*where != '/' && *where != '@') || n < 2 || n >= sizeof(a.sun_path))
		return -EAFNOSUPPORT;
	memcpy(a.sun_path, where, n);
	if (*where == '@')              /* an abstract name: its length counts, not a zero at its end */
		a.sun_path[0] = 0;
	s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s < 0)
		return -errno;
	/* Connected now: later the file may be out of our sight. */
	if (connect(s, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0 ||
	    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0) {
		int err = -errno;

		close(s);
		return err;
	}
	return s;
}

const char *notify_init(void)
{
	static char why[200];
	const char *where = getenv("NOTIFY_SOCKET");

	why[0] = 0;
	if (where && *where) {
		fd = open_socket(where);
		if (fd < 0)
			snprintf(why, sizeof(why), "NOTIFY_SOCKET=%.100s: %s", where, strerror(-fd));
		else
			watchdog_init();
	}
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return why[0] ? why : NULL;
}

void notify_send(const char *fmt, ...)
{
	char text[400];
	va_list ap;
	int n;

	if (fd < 0)
		return;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n <= 0)
		return;
	if ((size_t)n >= sizeof(text))
		n = (int)sizeof(text) - 1;
	/* What fails here is the manager's; the service goes on. */
	while (sendto(fd, text, (size_t)n, MSG_NOSIGNAL, NULL, 0) < 0 && errno == EINTR)
		;
}

int notify_watchdog_due(uint64_t now_ns)
{
	return period_ns && now_ns >= next_ns;
}

uint64_t notify_watchdog_ns(void)
{
	return period_ns ? next_ns : 0;
}

void notify_watchdog_alive(uint64_t now_ns)
{
	next_ns = now_ns + period_ns;
	notify_send("WATCHDOG=1");
}
