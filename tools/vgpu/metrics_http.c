/* SPDX-License-Identifier: MIT */
/*
 * vgpu metrics --listen: as much of HTTP/1.1 as a scrape needs. One request at a time, each with a deadline, the connection closed
 * behind it. What comes in is a stranger's: a header of at most 4 KiB, of which the first line counts.
 */
#define _GNU_SOURCE
#include "metrics.h"
#include "vgpu.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define REQUEST_MS 2000
#define ANSWER_S 5

static int unix_socket(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct stat st;
	int fd;

	if (!*path || strlen(path) >= sizeof(a.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(a.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	/* one that nobody serves is left over */
	if (!lstat(path, &st) && S_ISSOCK(st.st_mode) && connect(fd, (struct sockaddr *)&a, sizeof(a)) && errno == ECONNREFUSED)
		unlink(path);
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* HOST:PORT, and HOST is this machine alone. */
static int loopback(const char *where, char *said, size_t n)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	const char *colon = strrchr(where, ':');
	struct sockaddr *a = (struct sockaddr *)&v4;
	socklen_t size = sizeof(v4);
	char host[64], *end;
	unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
	int fd, one = 1;

	errno = EINVAL;
	if (!colon || colon - where >= (long)sizeof(host) || !colon[1] || *end || port > 65535)
		return -1;
	snprintf(host, sizeof(host), "%.*s", (int)(colon - where), where);
	if (!strcmp(host, "[::1]")) {
		v6.sin6_port = htons((uint16_t)port);
		a = (struct sockaddr *)&v6;
		size = sizeof(v6);
	} else if (inet_pton(AF_INET, !strcmp(host, "localhost") ? "127.0.0.1" : host, &v4.sin_addr) == 1 && (ntohl(v4.sin_addr.s_addr) >> 24) == 127) {
		v4.sin_port = htons((uint16_t)port);
	} else {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, a, size) || getsockname(fd, a, &size)) {
		close(fd);
		return -1;
	}
	snprintf(said, n, "http://%s:%u/metrics", host, ntohs(a == (struct sockaddr *)&v6 ? v6.sin6_port : v4.sin_port));
	return fd;
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A whole header, or -1. */
static int request(int fd, char *text, size_t n)
{
	long until = now_ms() + REQUEST_MS, left;
	size_t have = 0;

	while (have + 1 < n) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t got;

		left = until - now_ms();
		if (left <= 0 || poll(&p, 1, (int)left) <= 0)
			return -1;
		got = recv(fd, text + have, n - 1 - have, MSG_DONTWAIT);
		if (got <= 0)
			return -1;
		have += (size_t)got;
		text[have] = 0;
		if (strstr(text, "\r\n\r\n"))
			return 0;
	}
	return -1;
}

static void answer(int fd)
{
	struct timeval tv = { .tv_sec = ANSWER_S };
	char head[256], text[4096], *body = NULL;
	const char *status = "200 OK";
	size_t n = 0, done = 0;
	int head_only, k;
	FILE *f;

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	if (request(fd, text, sizeof(text)))
		return;
	head_only = !strncmp(text, "HEAD ", 5);
	f = open_memstream(&body, &n);
	if (!f)
		return;
	if (!head_only && strncmp(text, "GET ", 4))
		status = "405 Method Not Allowed";
	else if (strncmp(strchr(text, ' ') + 1, "/metrics", 8) || !strchr(" ?", strchr(text, ' ')[9]))
		status = "404 Not Found";
	else if (metrics_print(f))
		status = "500 Internal Server Error";
	if (strncmp(status, "200", 3))
		fprintf(f, "%s: metrics are at /metrics\n", status);
	fclose(f);
	k = snprintf(head, sizeof(head), "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: %zu\r\n"
		     "Connection: close\r\n\r\n", status, n);
	if (send(fd, head, (size_t)k, MSG_NOSIGNAL) == k)
		while (!head_only && done < n) {
			ssize_t sent = send(fd, body + done, n - done, MSG_NOSIGNAL);

			if (sent <= 0)
				break;
			done += (size_t)sent;
		}
	free(body);
}

int metrics_serve(const char *where)
{
	char said[160];
	struct pollfd p[2];
	sigset_t set;
	const char *path = strncmp(where, "unix:", 5) ? NULL : where + 5;

	snprintf(said, sizeof(said), "%.150s", where);
	p[0] = (struct pollfd){ .fd = path ? unix_socket(path) : loopback(where, said, sizeof(said)), .events = POLLIN };
	if (p[0].fd < 0 || listen(p[0].fd, 16)) {
		complain("metrics: --listen %s: %s", where, errno == EADDRNOTAVAIL ? "loopback addresses only (127.0.0.1:PORT, [::1]:PORT), or unix:PATH" :
			 errno == EINVAL ? "give 127.0.0.1:PORT, [::1]:PORT or unix:PATH" : strerror(errno));
		return 1;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	p[1] = (struct pollfd){ .fd = signalfd(-1, &set, SFD_CLOEXEC), .events = POLLIN };
	printf("listening on %s\n", said);
	fflush(stdout);
	while (poll(p, 2, -1) >= 0 || errno == EINTR) {
		int fd;

		if (p[1].revents)
			break;
		fd = p[0].revents ? accept4(p[0].fd, NULL, NULL, SOCK_CLOEXEC) : -1;
		if (fd < 0)
			continue;
		answer(fd);
		close(fd);
	}
	if (path)
		unlink(path);
	close(p[0].fd);
	return 0;
}
