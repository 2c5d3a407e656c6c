/* SPDX-License-Identifier: MIT */
/*
 * The agent's socket from the other side: to connect, and to ask one question. For libraries and tools, which know what
 * they ask; the wire itself is in vgpu_client.h. Only functions that old C libraries have. All answer 0 (a descriptor) or -errno.
 */
#ifndef VGPU_DIAL_H
#define VGPU_DIAL_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "vgpu_client.h"
#include "vgpu_env.h"

#define VGPU_ANSWER_S 3         /* that who looks at a monitor waits: an agent answers at once */
#define VGPU_LATE_S   30        /* that a program waits, which takes no answer for no GPU: an agent may itself wait 5 s for a device */

/* timeout_s: of each send and receive; 0: none. */
static inline int vgpu_dial(const char *path, int timeout_s)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct timeval tv = { .tv_sec = timeout_s };
	int fd, err;

	if (strlen(path) >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	memcpy(a.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (timeout_s) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	}
	/* While the queue of those who connect is full it waits; a signal of the program's is no answer. */
	do
		err = connect(fd, (struct sockaddr *)&a, sizeof(a)) ? -errno : 0;
	while (err == -EINTR);
	if (!err)
		return fd;
	close(fd);
	/* EAGAIN: somebody listens there and did not come to us within timeout_s. Not an absent agent: a busy one. */
	return err == -EAGAIN ? -ETIMEDOUT : err;
}

/*
 * One request, one answer of exactly `bytes` and of the same type. Of the descriptors that come along, number `keep` stays
 * open as *kept; the others are closed, with kept NULL all of them.
 */
static inline int vgpu_ask(int fd, const struct vgpu_msg_header *req, void *out, size_t bytes, int keep, int *kept)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(8 * sizeof(int))];
	} ctl;
	struct iovec iov = { out, bytes };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ctl, .msg_controllen = sizeof(ctl) };
	const struct vgpu_msg_header *h = (const struct vgpu_msg_header *)out;
	int seen = 0, got;
	ssize_t n = send(fd, req, req->bytes, MSG_NOSIGNAL);

	if (n != (ssize_t)req->bytes)
		return n < 0 ? -errno : -EIO;
	n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	if (n < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++, seen++) {
			memcpy(&got, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (kept && seen == keep)
				*kept = got;
			else
				close(got);
		}
	}
	if (!n)
		return -ECONNRESET;
	return (size_t)n == bytes && h->type == req->type ? 0 : -EPROTO;
}

/* The version to ask for on a new connection, after HELLO with `asked` was answered by r; 0: that was the agent's last word. */
static inline uint32_t vgpu_hello_again(const struct vgpu_msg_hello_r *r, uint32_t asked)
{
	return r->status == VGPU_ST_NOT_SUPPORTED && r->version < asked && r->version >= VGPU_PROTOCOL_OLDEST ? r->version : 0;
}

/* A monitor's connection and HELLO. *fd: the connection, also where its HELLO failed; -1: there is none. 0, or -errno; see r->status. */
static inline int vgpu_monitor(const char *path, int timeout_s, const char *command, struct vgpu_msg_hello_r *r, int *fd)
{
	struct vgpu_msg_hello h = { .h = { VGPU_MSG_HELLO, sizeof(h) }, .magic = VGPU_SESSION_MAGIC,
				    .version = VGPU_PROTOCOL_VERSION, .features = VGPU_FEATURE_GATES | VGPU_FEATURE_WORK, .release = VGPU_VERSION };
	uint32_t again;
	int err;

	strncpy(h.command, command, sizeof(h.command) - 1);
	do {
		again = 0;
		*fd = vgpu_dial(path, timeout_s);
		if (*fd < 0) {
			err = *fd;
			*fd = -1;
			return err;
		}
		err = vgpu_ask(*fd, &h.h, r, sizeof(*r), 0, NULL);
		if (!err && (again = vgpu_hello_again(r, h.version))) {
			h.version = again;
			close(*fd);
		}
	} while (again);
	return err;
}

#endif
