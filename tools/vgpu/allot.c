/* SPDX-License-Identifier: MIT */
/* vgpu ctl set and limits: how much of the device a client, a user or a container gets, while the agent runs (agent/allot.c). */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "vgpu.h"

static const struct limit { const char *name; uint64_t most; const char *is; } limits[VGPU_ALLOTS] = {
	[VGPU_ALLOT_WEIGHT] = { "weight", 1000, "1 to 1000, 100 is everybody's" },
	[VGPU_ALLOT_MEMORY] = { "memory", VGPU_TIB, "a size up to 1T, like 2G" },
	[VGPU_ALLOT_WINDOW] = { "window", VGPU_TIB, "a size up to 1T, like 512M" },
	[VGPU_ALLOT_CONTEXTS] = { "contexts", VGPU_MAX_CONTEXTS, "1 to 8" },
	[VGPU_ALLOT_CLIENTS] = { "clients", 65535, "a number of connections" },
};

/* A number, with K, M, G or T behind it where it is a size; 0: none that is allowed. */
static uint64_t value_of(const struct limit *l, const char *text)
{
	bool size = l->most == VGPU_TIB;
	static const char units[] = "KMGT";
	const char *u;
	uint64_t v;
	char *end;

	if (*text < '0' || *text > '9')
		return 0;
	v = strtoull(text, &end, 10);
	u = size && *end ? strchr(units, *end) : NULL;
	if (u)
		for (int i = 0; i <= u - units; i++)
			v = v > VGPU_TIB ? v : v * 1024;
	return end[u != NULL] || !v || v > l->most ? 0 : v;
}

int ctl_set(const char *path, const char *who, const char *name, const char *text)
{
	struct vgpu_msg_allot m = { .h = { VGPU_MSG_ALLOT, sizeof(m) } };
	struct vgpu_msg_gate g = { .op = 0 };
	struct vgpu_msg_ctl_r r;
	char *end;

	while (++m.what < VGPU_ALLOTS && strcmp(limits[m.what].name, name))
		;
	if (m.what == VGPU_ALLOTS) {
		complain("ctl set: \"%s\" is no limit: weight, memory, window, contexts and clients are", name);
		return 2;
	}
	m.value = strcmp(text, "default") ? value_of(&limits[m.what], text) : 0;
	if (!m.value && strcmp(text, "default")) {
		complain("ctl set: \"%s\" is no %s: %s, or default", text, name, limits[m.what].is);
		return 2;
	}
	if (!strncmp(who, "client:", 7)) {
		unsigned long id = strtoul(who + 7, &end, 10);

		if (*end || end == who + 7 || id > UINT32_MAX) {
			complain("ctl set: %s: client:N, N of vgpu ctl list", who);
			return 2;
		}
		m.kind = VGPU_ALLOT_CLIENT;
		m.target = (uint32_t)id;
	} else {
		if (ctl_whom(who, &g))
			return 2;
		m.kind = g.cgroup[0] ? VGPU_ALLOT_CGROUP : VGPU_ALLOT_USER;
		m.target = g.uid;
		memcpy(m.cgroup, g.cgroup, sizeof(m.cgroup));
	}
	return ctl_question(path, &m.h, &r);
}

static void row(const struct vgpu_allotment *a)
{
	bool size = a->what < VGPU_ALLOTS && limits[a->what].most == VGPU_TIB;

	if (a->kind == VGPU_ALLOT_CGROUP)
		printf("cgroup %.191s: ", a->cgroup);
	else
		printf("%s %u: ", a->kind == VGPU_ALLOT_CLIENT ? "client" : "user", a->target);
	printf("%s %" PRIu64 "%s\n", a->what && a->what < VGPU_ALLOTS ? limits[a->what].name : "?", size ? a->value >> 20 : a->value, size ? " MiB" : "");
}

int ctl_limits(const char *path)
{
	int fd = agent_connect(path), err = fd < 0 ? fd : 0;
	struct vgpu_msg_allots_r r = { .allots = 1 };

	for (uint32_t at = 0; !err && at < r.allots; at += r.count) {
		struct vgpu_msg_index q = { .h = { VGPU_MSG_ALLOTS, sizeof(q) }, .index = at };

		err = vgpu_ask(fd, &q.h, &r, sizeof(r), 0, NULL);
		if (!err && (!r.count || r.count > VGPU_ALLOTS_PAGE))
			break;
		for (uint32_t i = 0; !err && i < r.count; i++)
			row(&r.allot[i]);
	}
	if (fd >= 0)
		close(fd);
	if (err)
		complain("ctl: %s: %s", path, strerror(-err));
	return err ? 1 : 0;
}
