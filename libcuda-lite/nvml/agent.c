/* SPDX-License-Identifier: MIT */
/*
 * The agent's socket as a monitor sees it: HELLO, DEVICE, STATUS. What comes back is checked for length and type;
 * the agent is trusted no further.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "ml.h"
#include "../../fw-protocol/vgpu_dial.h"

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
	int fd = vgpu_dial(path, VGPU_ANSWER_S), page_fd = -1, err;

	if (fd < 0)
		return fd;
	err = vgpu_ask(fd, &h.h, r, sizeof(*r), VGPU_HELLO_FD_AGENT_PAGE, &page_fd);
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
	const char *env = vgpu_env("VGPU_AGENT"), *run = vgpu_env("XDG_RUNTIME_DIR");
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
	int err = vgpu_ask(fd, &q.h, &r, sizeof(r), 0, NULL);

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
	int err = vgpu_ask(fd, &q.h, r, sizeof(*r), 0, NULL);

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
