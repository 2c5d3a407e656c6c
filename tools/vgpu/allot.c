/* SPDX-License-Identifier: MIT */
/* vgpu ctl set and limits: how much of the device a client, a user or a container gets, while the agent runs (agent/allot.c). */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "../../fw-protocol/vgpu_device.h"
#include "vgpu.h"

static const struct limit { const char *name; uint64_t most; const char *is; } limits[VGPU_ALLOTS] = {
	[VGPU_ALLOT_WEIGHT] = { "weight", 1000, "1 to 1000, 100 is everybody's" },
	[VGPU_ALLOT_MEMORY] = { "memory", VGPU_TIB, "a size up to 1T, like 2G" },
	[VGPU_ALLOT_WINDOW] = { "window", VGPU_TIB, "a size up to 1T, like 512M" },
	[VGPU_ALLOT_CONTEXTS] = { "contexts", VGPU_MAX_CONTEXTS, "1 to 8" },
	[VGPU_ALLOT_CLIENTS] = { "clients", 65535, "a number of connections" },
	[VGPU_ALLOT_KERNEL_MS] = { "kernel-time", VGPU_KERNEL_MS_MOST, "a time up to 24h, like 500ms, 30s or 5m" },
	[VGPU_ALLOT_COMPUTE] = { "compute", 1000, "a share up to 100%, like 25% or 12.5%" },
	[VGPU_ALLOT_PRIORITY] = { "priority", VGPU_PRIORITY_HIGH, "low, normal or high" },
};

static const char *const priorities[] = { "normal", "low", "normal", "high" };

const char *ctl_priority(uint32_t p)
{
	return priorities[p < 4 ? p : 0];
}

/* In milliseconds, 0: it is none. */
static uint64_t time_of(const char *text)
{
	static const struct { const char *unit; uint64_t ms; } units[] = { { "ms", 1 }, { "s", 1000 }, { "", 1000 }, { "m", 60000 }, { "h", 3600000 } };
	char *end;
	uint64_t v = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;

	for (size_t i = 0; v && v <= VGPU_KERNEL_MS_MOST && i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(end, units[i].unit))
			return v * units[i].ms <= VGPU_KERNEL_MS_MOST ? v * units[i].ms : 0;
	return 0;
}

/* Percent, with one digit behind the point at most, as permille; 0: it is none. */
static uint64_t share_of(const char *text)
{
	unsigned whole, tenth = 0;
	int n = 0, m = 0;

	if (*text < '0' || *text > '9' || sscanf(text, "%3u%n", &whole, &n) != 1)
		return 0;
	if (text[n] == '.' && text[n + 1] >= '0' && text[n + 1] <= '9') {
		tenth = (unsigned)(text[n + 1] - '0');
		m = 2;
	}
	return strcmp(text + n + m, "%") || whole * 10 + tenth > 1000 ? 0 : whole * 10 + tenth;
}

static uint64_t priority_of(const char *text)
{
	for (uint64_t p = VGPU_PRIORITY_HIGH; p; p--)
		if (!strcmp(text, priorities[p]))
			return p;
	return 0;
}

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
		complain("ctl set: \"%s\" is no limit: weight, memory, window, contexts, clients, kernel-time, compute and priority are", name);
		return 2;
	}
	if (strcmp(text, "default"))
		m.value = m.what == VGPU_ALLOT_KERNEL_MS ? time_of(text) : m.what == VGPU_ALLOT_COMPUTE ? share_of(text) :
			  m.what == VGPU_ALLOT_PRIORITY ? priority_of(text) : value_of(&limits[m.what], text);
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
	} else if (!strcmp(who, "everybody")) {
		m.kind = VGPU_ALLOT_EVERYBODY;
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
	else if (a->kind == VGPU_ALLOT_EVERYBODY)
		printf("everybody: ");
	else
		printf("%s %u: ", a->kind == VGPU_ALLOT_CLIENT ? "client" : "user", a->target);
	if (a->what == VGPU_ALLOT_KERNEL_MS)
		printf("kernel-time %" PRIu64 " ms\n", a->value);
	else if (a->what == VGPU_ALLOT_COMPUTE)
		printf("compute %" PRIu64 ".%" PRIu64 "%%\n", a->value / 10, a->value % 10);
	else if (a->what == VGPU_ALLOT_PRIORITY)
		printf("priority %s\n", ctl_priority((uint32_t)a->value));
	else
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
