/* SPDX-License-Identifier: MIT */
/*
 * The agent's socket as a monitor sees it: HELLO, DEVICE, STATUS. What comes back is checked for length and type;
 * the agent is trusted no further.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "ml.h"

#define ANSWER_TIMEOUT_S 3

static int dial(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct timeval tv = { .tv_sec = ANSWER_TIMEOUT_S };
	int fd, err;

	if (strlen(path) >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	memcpy(a.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	if (!connect(fd, (struct sockaddr *)&a, sizeof(a)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* One request, one answer of exactly `bytes`. Of the descriptors that come along, number `keep` stays open. */
static int call(int fd, const struct vgpu_msg_header *req, void *out, size_t bytes, int keep, int *kept)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(8 * sizeof(int))];
	} ctl;
	struct iovec iov = { out, bytes };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ctl, .msg_controllen = sizeof(ctl) };
	const struct vgpu_msg_header *h = out;
	int seen = 0, got;
	ssize_t n;

	if (send(fd, req, req->bytes, MSG_NOSIGNAL) != (ssize_t)req->bytes)
		return errno ? -errno : -EIO;
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

/* The page tells what is used of each device's memory. */
static int read_page(int fd, struct vgpu_agent_page *page)
{
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*page), PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -EPROTO;
	memcpy(page, p, sizeof(*page));
	munmap(p, sizeof(*page));
	return 0;
}

static int hello(const char *path, struct vgpu_msg_hello_r *r, struct vgpu_agent_page *page)
{
	struct vgpu_msg_hello h = { .h = { VGPU_MSG_HELLO, sizeof(h) }, .magic = VGPU_SESSION_MAGIC,
				    .version = VGPU_PROTOCOL_VERSION, .command = "nvml" };
	int fd = dial(path), page_fd = -1, err;

	if (fd < 0)
		return fd;
	err = call(fd, &h.h, r, sizeof(*r), VGPU_HELLO_FD_AGENT_PAGE, &page_fd);
	if (!err && r->status)
		err = r->version != VGPU_PROTOCOL_VERSION ? -EPROTO : -ECONNREFUSED;
	if (!err && page)
		err = read_page(page_fd, page);
	if (page_fd >= 0)
		close(page_fd);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* $VGPU_AGENT alone if it is set, else the system's agent, else the user's. */
int ml_agent_open(struct vgpu_msg_hello_r *r, struct vgpu_agent_page *page)
{
	const char *env = getenv("VGPU_AGENT"), *run = getenv("XDG_RUNTIME_DIR");
	char path[128];
	int fd;

	if (env && *env)
		return hello(env, r, page);
	fd = hello(VGPU_AGENT_SOCKET_SYSTEM, r, page);
	if (fd >= 0 || !run || !*run ||
	    (size_t)snprintf(path, sizeof(path), "%s/" VGPU_AGENT_SOCKET_USER, run) >= sizeof(path))
		return fd;
	return hello(path, r, page);
}

int ml_agent_device(int fd, unsigned int index, struct vgpu_device_info *info)
{
	struct vgpu_msg_index q = { .h = { VGPU_MSG_DEVICE, sizeof(q) }, .index = index };
	struct vgpu_msg_device_r r;
	int err = call(fd, &q.h, &r, sizeof(r), 0, NULL);

	if (err || r.status)
		return err ? err : -ENODEV;
	*info = r.info;
	info->name[sizeof(info->name) - 1] = 0;
	info->bus_id[sizeof(info->bus_id) - 1] = 0;
	return 0;
}

int ml_agent_status(int fd, unsigned int first, struct vgpu_msg_status_r *r)
{
	struct vgpu_msg_index q = { .h = { VGPU_MSG_STATUS, sizeof(q) }, .index = first };
	int err = call(fd, &q.h, r, sizeof(*r), 0, NULL);

	if (err || r->status)
		return err ? err : -EPROTO;
	return r->count <= VGPU_STATUS_PAGE ? 0 : -EPROTO;
}

nvmlReturn_t ml_error(int err)
{
	switch (-err) {
	case 0:
		return NVML_SUCCESS;
	case ENOENT:
	case ECONNREFUSED:
	case ENAMETOOLONG:
	case ECONNRESET:
		return NVML_ERROR_DRIVER_NOT_LOADED;
	case EACCES:
	case EPERM:
		return NVML_ERROR_NO_PERMISSION;
	case EPROTO:
		return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
	case EAGAIN:
		return NVML_ERROR_TIMEOUT;
	case ENODEV:
		return NVML_ERROR_GPU_IS_LOST;
	case ENOMEM:
		return NVML_ERROR_MEMORY;
	}
	return NVML_ERROR_OPERATING_SYSTEM;
}
