/* SPDX-License-Identifier: MIT */
/*
 * The one epoll loop. Events are fetched one at a time: a handler may remove (and free) any other
 * source, and no stale event of it can be in hand.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <time.h>

#include "stub.h"

static int epoll_fd = -1;

uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

int loop_init(void)
{
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return epoll_fd < 0 ? -errno : 0;
}

int loop_add(struct source *s, int fd, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = s };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev))
		return -errno;
	s->fd = fd;
	return 0;
}

int loop_change(struct source *s, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = s };

	return epoll_ctl(epoll_fd, EPOLL_CTL_MOD, s->fd, &ev) ? -errno : 0;
}

void loop_remove(struct source *s)
{
	if (s->fd < 0)
		return;
	/* Explicitly, since other processes may hold the same file open: close() would not do it. */
	epoll_ctl(epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
	s->fd = -1;
}

void loop_once(uint64_t deadline_ns)
{
	struct epoll_event ev;
	int timeout = -1, n;

	if (deadline_ns) {
		uint64_t now = clock_ns();
		uint64_t ms = deadline_ns > now ? (deadline_ns - now + 999999) / 1000000 : 0;

		timeout = ms > 60000 ? 60000 : (int)ms;
	}
	n = epoll_wait(epoll_fd, &ev, 1, timeout);
	if (n == 1) {
		struct source *s = ev.data.ptr;

		s->ready(s->owner, ev.events);
	}
}
