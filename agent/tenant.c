/* SPDX-License-Identifier: MIT */
/* See tenant.h. cgroups(7): a line is ID:CONTROLLERS:PATH, the unified hierarchy's is 0::PATH. */
#include "tenant.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent.h"
#include "allot.h"

static struct tenant tenants[TENANT_KINDS * AGENT_CLIENTS] AGENT_STATE;

/* ---- which container ------------------------------------------------------------------------------- */

/* The path of the first line whose controllers are `what`; its length, 0: there is none, or it is the root. */
static size_t path_of(const char *text, const char *what, const char **path)
{
	size_t n = strlen(what);

	for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
		const char *c = strchr(line, ':');

		if (!c || strncmp(c + 1, what, n) || c[1 + n] != ':' || c[2 + n] != '/')
			continue;
		*path = c + 2 + n;
		n = strcspn(*path, "\n");
		return n > 1 ? n : 0;
	}
	return 0;
}

static int ends_with(const char *s, size_t n, const char *end)
{
	size_t m = strlen(end);

	return n > m && !memcmp(s + n - m, end, m);
}

static int begins_with(const char *s, size_t n, const char *begin)
{
	return n > strlen(begin) && !memcmp(s, begin, strlen(begin));
}

/* Does the tenant end with this part of the path? What follows is arranged by himself. */
static int last_part(const char *s, size_t n, const char *before, unsigned depth)
{
	/* a user's slice holds all his sessions, services and rootless containers; with subordinate user ids too */
	if (begins_with(s, n, "user-") && ends_with(s, n, ".slice"))
		return 1;
	if (ends_with(s, n, ".scope") || ends_with(s, n, ".service"))
		return 1;
	/* Kubernetes: a pod is one, its containers share it; both of the drivers' names */
	if (!strncmp(before, "/kubepods", 9))
		return begins_with(s, n, "pod") || (begins_with(s, n, "kubepods-") && memmem(s, n, "-pod", 4));
	return depth == 2 && !ends_with(s, n, ".slice");
}

void tenant_box(const char *text, char *box, size_t n)
{
	static const char *const lines[] = { "", "name=systemd", "memory", "pids" };
	const char *path = NULL;
	size_t len = 0, at = 0;

	box[0] = 0;
	for (unsigned i = 0; !len && i < sizeof(lines) / sizeof(lines[0]); i++)
		len = path_of(text, lines[i], &path);
	for (unsigned depth = 1; at < len; depth++) {
		size_t part = strcspn(path + at + 1, "/\n");

		if (part > len - at - 1)
			part = len - at - 1;
		if (last_part(path + at + 1, part, path, depth)) {
			at += 1 + part;
			break;
		}
		at += 1 + part;
	}
	/* a longer one counts as its beginning: fewer tenants, not more */
	if (at)
		snprintf(box, n, "%.*s", (int)(at < n ? at : n - 1), path);
	for (; *box; box++)             /* it is for the log too, and whoever makes groups names them */
		if (*box < 0x20 || *box > 0x7e)
			*box = '?';
}

/* A file of /proc/PID: by its own descriptor's word the process lives still, so what was read was its own. */
static void read_proc(const struct client *c, const char *file, char *text, size_t n)
{
	char name[48];
	struct pollfd p = { .fd = c->pidfd, .events = POLLIN };
	ssize_t got = -1;
	int fd;

	text[0] = 0;
	if (c->pid <= 0 || c->pidfd < 0)
		return;
	snprintf(name, sizeof(name), "/proc/%d/%s", (int)c->pid, file);
	fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, text, n - 1);
		close(fd);
	}
	text[got > 0 && poll(&p, 1, 0) == 0 ? got : 0] = 0;
}

void tenant_cgroup(const struct client *c, char *text, size_t n)
{
	read_proc(c, "cgroup", text, n);
}

/* proc(5): behind NSpid stand its numbers, one for each PID namespace from ours down to its own. */
int tenant_rules(const struct client *c)
{
	char text[4096], *numbers;

	if (c->uid != 0 && c->uid != agent.uid && !c->in_admins)
		return 0;
	read_proc(c, "status", text, sizeof(text));
	numbers = strstr(text, "\nNSpid:\t");
	if (!numbers)
		return text[0] && !strstr(text, "\nNSp");      /* a kernel without such namespaces */
	numbers += strlen("\nNSpid:\t");
	return strcspn(numbers, "\t\n") == strcspn(numbers, "\n");
}

static void read_box(const struct client *c, char *box, size_t n)
{
	char text[2048];

	tenant_cgroup(c, text, sizeof(text));
	box[0] = 0;
	if (text[0])
		tenant_box(text, box, n);
}

/* ---- accounts ------------------------------------------------------------------------------------------ */

static struct tenant *find(int kind, uid_t uid, const char *box)
{
	struct tenant *empty = NULL;

	for (unsigned i = 0; i < TENANT_KINDS * AGENT_CLIENTS; i++) {
		struct tenant *t = &tenants[i];

		if (!t->clients)
			empty = empty ? empty : t;
		else if (t->kind == kind && (kind == TENANT_USER ? t->uid == uid : !strcmp(t->box, box)))
			return t;
	}
	memset(empty, 0, sizeof(*empty));
	empty->kind = kind;
	empty->uid = uid;
	snprintf(empty->box, sizeof(empty->box), "%s", box);
	return empty;
}

uint32_t tenant_number(const struct tenant *t)
{
	return (uint32_t)(t - tenants);
}

void tenant_take(struct client *c)
{
	char box[TENANT_BOX];

	c->tenant[TENANT_USER] = find(TENANT_USER, c->uid, "");
	c->tenant[TENANT_USER]->clients++;
	read_box(c, box, sizeof(box));
	c->tenant[TENANT_CONTAINER] = box[0] ? find(TENANT_CONTAINER, 0, box) : NULL;
	if (c->tenant[TENANT_CONTAINER])
		c->tenant[TENANT_CONTAINER]->clients++;
}

void tenant_drop(struct client *c)
{
	for (unsigned k = 0; k < TENANT_KINDS; k++) {
		if (c->tenant[k])
			c->tenant[k]->clients--;
		c->tenant[k] = NULL;
	}
}

static uint64_t windows_of(const struct tenant *t)
{
	uint64_t limit = allot_together(t, VGPU_ALLOT_WINDOW, t->kind == TENANT_USER ? agent.opt.uid_windows : agent.opt.container_windows);

	return limit ? limit : agent.opt.windows - agent.opt.windows / 8;
}

int tenant_may_have(const struct client *c, uint64_t bytes)
{
	for (unsigned k = 0; k < TENANT_KINDS; k++) {
		uint64_t limit = c->tenant[k] ? windows_of(c->tenant[k]) : 0;

		if (c->tenant[k] && (bytes > limit || c->tenant[k]->window_bytes > limit - bytes))
			return 0;
	}
	return bytes <= agent.opt.windows && agent.window_bytes <= agent.opt.windows - bytes;
}

void tenant_charge(struct client *c, int64_t bytes)
{
	for (unsigned k = 0; k < TENANT_KINDS; k++)
		if (c->tenant[k])
			c->tenant[k]->window_bytes += (uint64_t)bytes;
	agent.window_bytes += (uint64_t)bytes;
}

/* Those with a window: who only looks uses nothing that could run out for others. */
static unsigned greeted(const struct tenant *t)
{
	unsigned n = 0;

	for (const struct client *c = NULL; (c = client_after(c));)
		n += c->window && (!c->leaving || client_keeps(c)) && (!t || c->tenant[t->kind] == t);
	return n;
}

int tenant_full(const struct client *c, char *why, size_t n)
{
	const struct tenant *user = c->tenant[TENANT_USER], *box = c->tenant[TENANT_CONTAINER];

	unsigned of_user = (unsigned)allot_together(user, VGPU_ALLOT_CLIENTS, agent.opt.uid_clients);
	unsigned of_box = (unsigned)allot_together(box, VGPU_ALLOT_CLIENTS, agent.opt.container_clients);

	if (greeted(user) >= of_user)
		snprintf(why, n, "user %u has %u connections already (--uid-clients)", c->uid, of_user);
	else if (box && greeted(box) >= of_box)
		snprintf(why, n, "this container has %u connections already (--container-clients)", of_box);
	else if (greeted(NULL) >= agent.opt.max_clients)
		snprintf(why, n, "vgpu-agent serves %u clients already (--max-clients)", agent.opt.max_clients);
	else
		return 0;
	return 1;
}

int tenant_same(const struct client *a, const struct client *b)
{
	return a->tenant[TENANT_USER] == b->tenant[TENANT_USER] ||
	       (a->tenant[TENANT_CONTAINER] && a->tenant[TENANT_CONTAINER] == b->tenant[TENANT_CONTAINER]);
}

int tenant_has_enough(const struct client *c, const struct device *d)
{
	unsigned have[TENANT_KINDS] = { 0, 0 }, most = d->info.max_contexts - d->info.max_contexts / 8;

	for (unsigned q = 0; q < d->info.max_contexts; q++)
		for (unsigned k = 0; d->owner[q] && k < TENANT_KINDS; k++)
			have[k] += c->tenant[k] && d->owner[q]->client->tenant[k] == c->tenant[k];
	return have[TENANT_USER] >= most || have[TENANT_CONTAINER] >= most;
}
