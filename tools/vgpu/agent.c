/* SPDX-License-Identifier: MIT */
/*
 * The agent's socket as a monitor sees it: HELLO without a span, then DEVICE and STATUS.
 */
#define _GNU_SOURCE
#include "vgpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_TIMEOUT_S 3

static int dial(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct timeval tv = { .tv_sec = ANSWER_TIMEOUT_S };
	int fd;

	if (strlen(path) >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	strcpy(a.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	if (connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		int err = errno;

		close(fd);
		return -err;
	}
	return fd;
}

/* One request, one answer of exactly out_bytes; fds that come along are closed. */
static int call(int fd, struct vgpu_msg_header *req, void *out, size_t out_bytes)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(8 * sizeof(int))];
	} ctl;
	struct iovec iov = { out, out_bytes };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ctl,
			    .msg_controllen = sizeof(ctl) };
	struct vgpu_msg_header *h = out;
	ssize_t n;

	if (send(fd, req, req->bytes, MSG_NOSIGNAL) != (ssize_t)req->bytes)
		return errno ? -errno : -EIO;
	n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	if (n < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
			int got;

			memcpy(&got, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			close(got);
		}
	}
	if (n == 0)
		return -ECONNRESET;
	if ((size_t)n != out_bytes || h->type != req->type)
		return -EPROTO;
	return 0;
}

static int hello(int fd, struct vgpu_msg_hello_r *r)
{
	struct vgpu_msg_hello h = {
		.h = { VGPU_MSG_HELLO, sizeof(h) },
		.magic = VGPU_SESSION_MAGIC, .version = VGPU_PROTOCOL_VERSION,
		.command = "vgpu",
	};

	return call(fd, &h.h, r, sizeof(*r));
}

int agent_try(const char *path, char *why, size_t bytes)
{
	struct vgpu_msg_hello_r r;
	int fd = dial(path), err;

	if (bytes)
		why[0] = 0;
	if (fd < 0)
		return fd;
	err = hello(fd, &r);
	close(fd);
	if (err || r.status == VGPU_ST_OK)
		return err;
	r.text[sizeof(r.text) - 1] = 0;
	snprintf(why, bytes, "it refuses: %s", r.text);
	return -ECONNREFUSED;
}

int agent_answers(const char *path)
{
	char why[128];

	return !agent_try(path, why, sizeof(why));
}

const char *agent_find(char *buf, size_t bytes)
{
	const char *env = getenv("VGPU_AGENT"), *run = getenv("XDG_RUNTIME_DIR");

	if (env && *env)        /* a named agent is the only one that counts */
		return agent_answers(env) ? env : NULL;
	if (agent_answers(VGPU_AGENT_SOCKET_SYSTEM))
		return VGPU_AGENT_SOCKET_SYSTEM;
	if (run && *run && (size_t)snprintf(buf, bytes, "%s/" VGPU_AGENT_SOCKET_USER, run) < bytes &&
	    agent_answers(buf))
		return buf;
	return NULL;
}

int agent_status(const char *path, struct agent_status *out)
{
	int fd = dial(path), err;

	memset(out, 0, sizeof(*out));
	if (fd < 0)
		return fd;
	err = hello(fd, &out->hello);
	if (err)
		goto out;
	if (out->hello.status) {
		out->hello.text[sizeof(out->hello.text) - 1] = 0;
		complain("the agent at %s refuses: %s", path, out->hello.text);
		err = -ECONNREFUSED;
		goto out;
	}
	for (unsigned i = 0; i < out->hello.devices && i < VGPU_MAX_DEVICES; i++) {
		struct vgpu_msg_index q = { .h = { VGPU_MSG_DEVICE, sizeof(q) }, .index = i };
		struct vgpu_msg_device_r r;

		err = call(fd, &q.h, &r, sizeof(r));
		if (err)
			goto out;
		if (r.status)
			continue;
		out->device[out->devices++] = r.info;
	}
	do {
		struct vgpu_msg_index q = { .h = { VGPU_MSG_STATUS, sizeof(q) }, .index = out->clients };
		struct vgpu_msg_client *more;

		err = call(fd, &q.h, &out->status, sizeof(out->status));
		if (err)
			goto out;
		if (!out->status.count || out->status.count > VGPU_STATUS_PAGE)
			break;
		more = realloc(out->client, (out->clients + out->status.count) * sizeof(*more));
		if (!more) {
			err = -ENOMEM;
			goto out;
		}
		out->client = more;
		memcpy(more + out->clients, out->status.client, out->status.count * sizeof(*more));
		out->clients += out->status.count;
	} while (out->clients < out->status.clients);
out:
	close(fd);
	if (err) {
		free(out->client);
		out->client = NULL;
	}
	return err;
}
