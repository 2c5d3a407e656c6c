/* SPDX-License-Identifier: MIT */
/*
 * The agent's socket as a monitor sees it: HELLO without a span, then DEVICE and STATUS.
 */
#define _GNU_SOURCE
#include "vgpu.h"

#include <stdlib.h>

#include "../../fw-protocol/vgpu_dial.h"

static int hello(int fd, struct vgpu_msg_hello_r *r)
{
	struct vgpu_msg_hello h = {
		.h = { VGPU_MSG_HELLO, sizeof(h) },
		.magic = VGPU_SESSION_MAGIC, .version = VGPU_PROTOCOL_VERSION,
		.command = "vgpu",
	};

	return vgpu_ask(fd, &h.h, r, sizeof(*r), 0, NULL);
}

int agent_try(const char *path, char *why, size_t bytes)
{
	struct vgpu_msg_hello_r r;
	int fd = vgpu_dial(path, VGPU_ANSWER_S), err;

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
	int fd = vgpu_dial(path, VGPU_ANSWER_S), err;

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

		err = vgpu_ask(fd, &q.h, &r, sizeof(r), 0, NULL);
		if (err)
			goto out;
		if (r.status)
			continue;
		out->device[out->devices++] = r.info;
	}
	do {
		struct vgpu_msg_index q = { .h = { VGPU_MSG_STATUS, sizeof(q) }, .index = out->clients };
		struct vgpu_msg_client *more;

		err = vgpu_ask(fd, &q.h, &out->status, sizeof(out->status), 0, NULL);
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
