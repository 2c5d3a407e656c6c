/* SPDX-License-Identifier: MIT */
/*
 * The agent's socket as a monitor sees it: HELLO without a span, then DEVICE, LOAD, STATUS and CONTEXTS.
 */
#define _GNU_SOURCE
#include "vgpu.h"

#include <stdlib.h>

static int hello(const char *path, struct vgpu_msg_hello_r *r, int *fd)
{
	return vgpu_monitor(path, VGPU_ANSWER_S, "vgpu", r, fd);
}

int agent_connect(const char *path)
{
	struct vgpu_msg_hello_r r;
	int fd, err = hello(path, &r, &fd);

	if (!err && r.status)
		err = -ECONNREFUSED;
	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

enum vgpu_reach agent_reach(const char *path, struct agent_reach *out)
{
	struct vgpu_msg_hello_r r;
	int fd, err = hello(path, &r, &fd);

	out->is = vgpu_reach_words(path, err, fd, fd >= 0 && !err ? &r : NULL, out->why, sizeof(out->why), out->fix, sizeof(out->fix));
	if (fd >= 0)
		close(fd);
	return out->is;
}

int agent_answers(const char *path)
{
	struct agent_reach r;

	return agent_reach(path, &r) == VGPU_REACH_OK;
}

enum vgpu_reach agent_search(char *buf, size_t bytes, struct agent_reach *r)
{
	const char *env = getenv("VGPU_AGENT"), *run = getenv("XDG_RUNTIME_DIR");
	struct agent_reach user;

	if (env && *env) {      /* a named agent is the only one that counts */
		snprintf(buf, bytes, "%s", env);
		return agent_reach(env, r);
	}
	snprintf(buf, bytes, "%s", VGPU_AGENT_SOCKET_SYSTEM);
	if (agent_reach(buf, r) == VGPU_REACH_OK)
		return r->is;
	if (!run || !*run || (size_t)snprintf(buf, bytes, "%s/" VGPU_AGENT_SOCKET_USER, run) >= bytes)
		return r->is;
	/* a socket that is there tells more than one that is not */
	agent_reach(buf, &user);
	if (user.is == VGPU_REACH_OK || (user.is != VGPU_REACH_NO_SOCKET && r->is == VGPU_REACH_NO_SOCKET))
		*r = user;
	return r->is;
}

const char *agent_find(char *buf, size_t bytes)
{
	struct agent_reach r;

	return agent_search(buf, bytes, &r) == VGPU_REACH_OK ? buf : NULL;
}

int agent_takes_cubins(const char *path)
{
	struct vgpu_msg_hello_r r;
	unsigned with = 0;
	int fd, err = hello(path, &r, &fd);

	for (unsigned i = 0; !err && !r.status && i < r.devices && i < VGPU_MAX_DEVICES; i++) {
		struct vgpu_msg_index q = { .h = { VGPU_MSG_DEVICE, sizeof(q) }, .index = i };
		struct vgpu_msg_device_r d;

		err = vgpu_ask(fd, &q.h, &d, sizeof(d), 0, NULL);
		with += !err && !d.status && d.info.features & VGPU_DEV_FEATURE_CUBIN;
	}
	if (fd >= 0)
		close(fd);
	return !err && with && with == r.devices;
}

static int load(int fd, struct agent_status *out)
{
	struct vgpu_msg_index q = { .h = { VGPU_MSG_LOAD, sizeof(q) } };
	int err = vgpu_ask(fd, &q.h, &out->load, sizeof(out->load), 0, NULL);

	for (unsigned i = 0; !err && i < VGPU_MAX_DEVICES; i++)
		if (out->load.device[i].samples > VGPU_LOAD_SAMPLES)
			err = -EPROTO;
	return err;
}

static int contexts(int fd, struct agent_status *out)
{
	struct vgpu_msg_contexts_r r;

	do {
		struct vgpu_msg_index q = { .h = { VGPU_MSG_CONTEXTS, sizeof(q) }, .index = out->contexts };
		struct vgpu_msg_context *more;
		int err = vgpu_ask(fd, &q.h, &r, sizeof(r), 0, NULL);

		if (err)
			return err;
		if (!r.count || r.count > VGPU_CONTEXTS_PAGE)
			break;
		more = realloc(out->context, (out->contexts + r.count) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		out->context = more;
		memcpy(more + out->contexts, r.context, r.count * sizeof(*more));
		out->contexts += r.count;
	} while (out->contexts < r.contexts);
	return 0;
}

/* Of an agent that has none: none. */
static int gates(int fd, struct agent_status *out)
{
	struct vgpu_msg_gates_r r;

	do {
		struct vgpu_msg_index q = { .h = { VGPU_MSG_GATES, sizeof(q) }, .index = out->gates };
		struct vgpu_gate *more;
		int err = vgpu_ask(fd, &q.h, &r, sizeof(r), 0, NULL);

		if (err)
			return err;
		out->closed = r.closed != 0;
		if (!r.count || r.count > VGPU_GATES_PAGE)
			break;
		more = realloc(out->gate, (out->gates + r.count) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		out->gate = more;
		memcpy(more + out->gates, r.gate, r.count * sizeof(*more));
		out->gates += r.count;
	} while (out->gates < r.gates);
	return 0;
}

/* Contexts come and go between two questions: each has what is said of it, or nothing. */
static int work(int fd, struct agent_status *out)
{
	struct vgpu_msg_work_r r = { .contexts = 0 };
	uint32_t at = 0;

	out->work = calloc(out->contexts ? out->contexts : 1, sizeof(*out->work));
	if (!out->work)
		return -ENOMEM;
	do {
		struct vgpu_msg_index q = { .h = { VGPU_MSG_WORK, sizeof(q) }, .index = at };
		int err = vgpu_ask(fd, &q.h, &r, sizeof(r), 0, NULL);

		if (err)
			return err;
		if (!r.count || r.count > VGPU_WORK_PAGE)
			break;
		for (uint32_t i = 0; i < r.count; i++)
			for (unsigned k = 0; k < out->contexts; k++)
				if (out->context[k].client_id == r.work[i].client_id && out->context[k].context == r.work[i].context)
					out->work[k] = r.work[i];
		at += r.count;
	} while (at < r.contexts);
	for (unsigned k = 0; k < out->contexts; k++)
		out->work[k].kernel[VGPU_KERNEL_NAME - 1] = 0;
	for (unsigned i = 0; i < out->hello.devices && i < VGPU_MAX_DEVICES; i++) {
		struct vgpu_msg_index q = { .h = { VGPU_MSG_TIMES, sizeof(q) }, .index = i };
		int err = vgpu_ask(fd, &q.h, &out->times[i], sizeof(out->times[i]), 0, NULL);

		if (err)
			return err;
	}
	return 0;
}

/* A peer's text: make sure it ends. */
static void end_texts(struct agent_status *s)
{
	for (unsigned i = 0; i < s->devices; i++) {
		s->device[i].name[sizeof(s->device[i].name) - 1] = 0;
		s->device[i].engine[sizeof(s->device[i].engine) - 1] = 0;
		s->device[i].bus_id[sizeof(s->device[i].bus_id) - 1] = 0;
	}
	for (unsigned i = 0; i < s->clients; i++)
		s->client[i].command[sizeof(s->client[i].command) - 1] = 0;
	for (unsigned i = 0; i < s->contexts; i++)
		s->context[i].command[sizeof(s->context[i].command) - 1] = 0;
	for (unsigned i = 0; i < s->gates; i++)
		s->gate[i].cgroup[sizeof(s->gate[i].cgroup) - 1] = 0;
	s->status.agent_version[sizeof(s->status.agent_version) - 1] = 0;
	s->status.transport[sizeof(s->status.transport) - 1] = 0;
}

int agent_status(const char *path, struct agent_status *out)
{
	int fd, err;

	memset(out, 0, sizeof(*out));
	err = hello(path, &out->hello, &fd);
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
		if (r.status && r.status != VGPU_ST_DEVICE_LOST)
			continue;
		out->device[out->devices++] = r.info;
	}
	err = load(fd, out);
	if (err)
		goto out;
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
	err = contexts(fd, out);
	if (!err && out->hello.features & VGPU_FEATURE_GATES)
		err = gates(fd, out);
	if (!err && out->hello.features & VGPU_FEATURE_WORK)
		err = work(fd, out);
out:
	if (fd >= 0)
		close(fd);
	if (err)
		agent_status_free(out);
	else
		end_texts(out);
	return err;
}

void agent_status_free(struct agent_status *s)
{
	free(s->client);
	free(s->context);
	free(s->gate);
	free(s->work);
	s->gate = NULL;
	s->work = NULL;
	s->client = NULL;
	s->context = NULL;
}

unsigned agent_ready(const struct agent_status *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->devices; i++)
		n += s->load.device[i].state != 0;
	return n;
}
