/* SPDX-License-Identifier: MIT */
/*
 * The agent's socket as a monitor sees it: HELLO, DEVICE, LOAD, CONTEXTS. What comes back is checked for length and type;
 * the agent is trusted no further.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "ml.h"
#include "../../fw-protocol/vgpu_dial.h"

static int hello(const char *path, struct vgpu_msg_hello_r *r)
{
	int fd, err = vgpu_monitor(path, VGPU_LATE_S, "nvml", r, &fd);

	if (!err && r->status)
		err = VGPU_PROTOCOL_SPEAKS(r->version) ? -ECONNREFUSED : -EPROTO;
	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

/* $VGPU_AGENT alone if it is set, else the system's agent, else the user's. */
int ml_agent_open(struct vgpu_msg_hello_r *r)
{
	const char *env = vgpu_env("VGPU_AGENT"), *run = vgpu_env("XDG_RUNTIME_DIR");
	char path[128];
	int fd;

	if (env && *env)
		return hello(env, r);
	fd = hello(VGPU_AGENT_SOCKET_SYSTEM, r);
	if (fd >= 0 || !run || !*run ||
	    (size_t)snprintf(path, sizeof(path), "%s/" VGPU_AGENT_SOCKET_USER, run) >= sizeof(path))
		return fd;
	return hello(path, r);
}

int ml_agent_device(int fd, unsigned int index, struct vgpu_device_info *info)
{
	struct vgpu_msg_index q = { .h = { VGPU_MSG_DEVICE, sizeof(q) }, .index = index };
	struct vgpu_msg_device_r r;
	int err = vgpu_ask(fd, &q.h, &r, sizeof(r), 0, NULL);

	if (err || (r.status && r.status != VGPU_ST_DEVICE_LOST))
		return err ? err : -ENODEV;
	*info = r.info;         /* of a lost one: what it was */
	info->name[sizeof(info->name) - 1] = 0;
	info->bus_id[sizeof(info->bus_id) - 1] = 0;
	return 0;
}

int ml_agent_load(int fd, struct vgpu_msg_load_r *r)
{
	struct vgpu_msg_index q = { .h = { VGPU_MSG_LOAD, sizeof(q) } };
	int err = vgpu_ask(fd, &q.h, r, sizeof(*r), 0, NULL);

	if (err || r->status)
		return err ? err : -EPROTO;
	for (unsigned int i = 0; i < VGPU_MAX_DEVICES; i++)
		if (r->device[i].samples > VGPU_LOAD_SAMPLES || r->device[i].permille > 1000)
			return -EPROTO;
	return 0;
}

int ml_agent_contexts(int fd, unsigned int first, struct vgpu_msg_contexts_r *r)
{
	struct vgpu_msg_index q = { .h = { VGPU_MSG_CONTEXTS, sizeof(q) }, .index = first };
	int err = vgpu_ask(fd, &q.h, r, sizeof(*r), 0, NULL);

	if (err || r->status)
		return err ? err : -EPROTO;
	return r->count <= VGPU_CONTEXTS_PAGE ? 0 : -EPROTO;
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
	case EAGAIN:            /* of an answer; of the connection */
	case ETIMEDOUT:
		return NVML_ERROR_TIMEOUT;
	case ENODEV:
		return NVML_ERROR_GPU_IS_LOST;
	case ENOMEM:
		return NVML_ERROR_MEMORY;
	}
	return NVML_ERROR_OPERATING_SYSTEM;
}
