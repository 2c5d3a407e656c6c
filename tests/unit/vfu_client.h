/* SPDX-License-Identifier: MIT */
/*
 * For test_vfu.c: starts a vgpu-stub process and speaks vfio-user to it, well or badly.
 */
#ifndef TESTS_VFU_CLIENT_H
#define TESTS_VFU_CLIENT_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../tools/vgpu-stub/vfu_msg.h"

static unsigned checks, failed;

#define CHECK(x) check(!!(x), #x, __func__, __LINE__)

static int check(int ok, const char *what, const char *func, int line)
{
	checks++;
	if (!ok) {
		failed++;
		printf("FAIL %s, line %d: %s\n", func, line, what);
		fflush(stdout);
	}
	return ok;
}

static char sock_path[100], bin_path[400], log_path[120];

static void sleep_ms(unsigned ms)
{
	struct timespec ts = { ms / 1000, (long)(ms % 1000) * 1000000 };

	nanosleep(&ts, NULL);
}

/* ---- the process ----------------------------------------------------------------------------- */
static pid_t spawn(char *const argv[])
{
	pid_t p = fork();

	if (!p) {
		int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);

		dup2(log, 1);
		dup2(log, 2);
		execv(bin_path, argv);
		_exit(126);
	}
	return p;
}

/* Exit status within the time, 1000 + signal, or -1: it still runs. */
static int wait_exit(pid_t p, unsigned ms)
{
	for (unsigned t = 0;; t += 10) {
		int st;

		if (waitpid(p, &st, WNOHANG) == p)
			return WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st);
		if (t >= ms)
			return -1;
		sleep_ms(10);
	}
}

static int raw_connect(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct timeval limit = { 10, 0 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", sock_path);
	for (int i = 0; connect(fd, (struct sockaddr *)&a, sizeof(a)); i++) {
		if (i == 500) {
			close(fd);
			return -1;
		}
		sleep_ms(10);
	}
	/* No test hangs: an answer that does not come is a failure. */
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	return fd;
}

/* ---- messages ----------------------------------------------------------------------------------- */
struct answer {
	struct vfu_header h;
	uint8_t body[VFU_MAX_MESSAGE];
	uint32_t bytes;                 /* of body */
	int fds[256];
	int nfds;
	int error;                      /* -errno of the answer; -EPIPE: no answer */
};
static struct answer ans;
static uint16_t next_id;

static int send_fds(int sock, const void *bytes, size_t n, const int *fds, int nfds)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int) * 64)];
	} ctl;
	struct iovec iov = { (void *)(uintptr_t)bytes, n };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nfds) {
		memset(&ctl, 0, sizeof(ctl));
		h.msg_control = &ctl;
		h.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)nfds);
		ctl.h.cmsg_level = SOL_SOCKET;
		ctl.h.cmsg_type = SCM_RIGHTS;
		ctl.h.cmsg_len = CMSG_LEN(sizeof(int) * (size_t)nfds);
		memcpy(CMSG_DATA(&ctl.h), fds, sizeof(int) * (size_t)nfds);
	}
	return sendmsg(sock, &h, MSG_NOSIGNAL) == (ssize_t)n ? 0 : -1;
}

static int read_all(int sock, uint8_t *to, size_t n)
{
	while (n) {
		union {
			struct cmsghdr h;
			char room[CMSG_SPACE(sizeof(int) * 253)];
		} ctl;
		struct iovec iov = { to, n };
		struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ctl,
				    .msg_controllen = sizeof(ctl) };
		ssize_t r = recvmsg(sock, &h, MSG_CMSG_CLOEXEC);

		if (r <= 0)
			return -1;
		for (struct cmsghdr *k = CMSG_FIRSTHDR(&h); k; k = CMSG_NXTHDR(&h, k)) {
			size_t m = (k->cmsg_len - CMSG_LEN(0)) / sizeof(int);

			memcpy(ans.fds + ans.nfds, CMSG_DATA(k), m * sizeof(int));
			ans.nfds += (int)m;
		}
		to += r;
		n -= (size_t)r;
	}
	return 0;
}

static int receive(int sock)
{
	for (int i = 0; i < ans.nfds; i++)
		if (ans.fds[i] >= 0)
			close(ans.fds[i]);
	ans.nfds = 0;
	ans.bytes = 0;
	ans.error = -EPIPE;
	if (read_all(sock, (uint8_t *)&ans.h, sizeof(ans.h)) || ans.h.bytes < sizeof(ans.h) ||
	    ans.h.bytes > VFU_MAX_MESSAGE)
		return ans.error;
	ans.bytes = ans.h.bytes - (uint32_t)sizeof(ans.h);
	if (read_all(sock, ans.body, ans.bytes))
		return ans.error;
	ans.error = ans.h.flags & VFU_FLAG_ERROR ? -(int)ans.h.error : 0;
	return ans.error;
}

/* Header, fixed part, tail. 0 or the answer's -errno. */
static int request(int sock, unsigned command, const void *fixed, size_t nfixed, const void *tail,
		   size_t ntail, const int *fds, int nfds)
{
	static uint8_t out[VFU_MAX_MESSAGE + 64];
	struct vfu_header h = { ++next_id, (uint16_t)command, (uint32_t)(16 + nfixed + ntail), 0, 0 };

	memcpy(out, &h, 16);
	if (nfixed)
		memcpy(out + 16, fixed, nfixed);
	if (ntail)
		memcpy(out + 16 + nfixed, tail, ntail);
	if (send_fds(sock, out, h.bytes, fds, nfds))
		return ans.error = -EPIPE;
	if (receive(sock) != -EPIPE) {
		CHECK(ans.h.id == h.id && ans.h.command == command);
		CHECK((ans.h.flags & VFU_FLAG_TYPE) == VFU_FLAG_REPLY);
		CHECK(!ans.error || ans.bytes == 0);
	}
	return ans.error;
}

static int version(int sock, const char *json)
{
	struct vfu_version v = { 0, 1 };

	return request(sock, VFU_VERSION, &v, sizeof(v), json, json ? strlen(json) + 1 : 0, NULL, 0);
}

/* A connection that has said hello. */
static int attach(void)
{
	int sock = raw_connect();

	CHECK(sock >= 0);
	CHECK(version(sock, "{\"capabilities\":{\"max_msg_fds\":253}}") == 0);
	return sock;
}

static int region(int sock, int write, uint32_t index, uint64_t offset, void *data, uint32_t n)
{
	struct vfu_region_access a = { offset, index, n };
	int err = request(sock, write ? VFU_REGION_WRITE : VFU_REGION_READ, &a, sizeof(a), data, write ? n : 0,
			  NULL, 0);

	if (!err && !write && CHECK(ans.bytes == sizeof(a) + n))
		memcpy(data, ans.body + sizeof(a), n);
	return err;
}

static uint32_t read32(int sock, uint32_t index, uint64_t offset)
{
	uint32_t v = 0xdeadbeef;

	CHECK(region(sock, 0, index, offset, &v, 4) == 0);
	return v;
}

static int write32(int sock, uint32_t index, uint64_t offset, uint32_t v)
{
	return region(sock, 1, index, offset, &v, 4);
}

static int map_dma(int sock, uint64_t iova, uint64_t bytes, uint64_t offset, int fd)
{
	struct vfu_dma_map m = { sizeof(m), 3, offset, iova, bytes };

	return request(sock, VFU_DMA_MAP, &m, sizeof(m), NULL, 0, &fd, fd >= 0);
}

static int unmap_dma(int sock, uint64_t iova, uint64_t bytes)
{
	struct vfu_dma_unmap m = { sizeof(m), 0, iova, bytes };
	int err = request(sock, VFU_DMA_UNMAP, &m, sizeof(m), NULL, 0, NULL, 0);

	if (!err)
		CHECK(ans.bytes == sizeof(m) && !memcmp(ans.body, &m, sizeof(m)));
	return err;
}

static int set_irqs(int sock, uint32_t index, uint32_t flags, uint32_t start, uint32_t count, const int *fds,
		    int nfds)
{
	struct vfu_irq_set s = { sizeof(s), flags, index, start, count };

	return request(sock, VFU_SET_IRQS, &s, sizeof(s), NULL, 0, fds, nfds);
}

/* The counter of an eventfd within the time, 0 if nothing comes. */
static uint64_t event_count(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t n = 0;

	if (poll(&p, 1, ms) == 1 && read(fd, &n, 8) != 8)
		n = 0;
	return n;
}

/* The peer hung up: EOF or reset, nothing else. */
static int is_closed(int sock)
{
	char c;
	ssize_t n = recv(sock, &c, 1, 0);

	return n == 0 || (n < 0 && errno == ECONNRESET);
}

#endif
