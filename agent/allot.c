/* SPDX-License-Identifier: MIT */
/* See allot.h. */
#include "allot.h"
#include "about.h"

#include <stdio.h>
#include <string.h>

#include "ctl.h"
#include "tenant.h"

#define RULES 128u

struct rule {
	enum vgpu_allot what;           /* 0: free */
	int all;                        /* everybody */
	uid_t uid;
	char cgroup[sizeof(((struct vgpu_msg_allot *)0)->cgroup)];      /* empty: of the user */
	uint64_t value;
};
static struct rule rules[RULES];

static const char *const names[] = { "", "weight", "memory", "window", "contexts", "clients", "kernel-time", "compute", "priority" };
static const char *const priorities[] = { "", "low", "normal", "high" };

/* The same cgroup, or one below it. */
static int within(const char *box, const char *cgroup)
{
	size_t n = strlen(cgroup);

	return !strncmp(box, cgroup, n) && (!box[n] || box[n] == '/');
}

#define ALL TENANT_KINDS                /* beside the kinds of tenants: everybody */

/* Of several for cgroups the innermost. 0: nothing was said. */
static uint64_t said(int kind, uid_t uid, const char *box, enum vgpu_allot what)
{
	const struct rule *best = NULL;

	for (unsigned i = 0; i < RULES; i++) {
		const struct rule *r = &rules[i];

		if (r->what != what || (r->all ? kind != ALL : !r->cgroup[0] ? kind != TENANT_USER : kind != TENANT_CONTAINER))
			continue;
		if (kind == ALL)
			return r->value;
		if (kind == TENANT_USER ? r->uid == uid : within(box, r->cgroup) && (!best || strlen(r->cgroup) > strlen(best->cgroup)))
			best = r;
	}
	return best ? best->value : 0;
}

uint64_t allot_together(const struct tenant *t, enum vgpu_allot what, uint64_t otherwise)
{
	uint64_t v = t ? said(t->kind, t->uid, t->box, what) : 0;

	return v ? v : otherwise;
}

uint64_t allot_of(const struct client *c, enum vgpu_allot what, uint64_t otherwise)
{
	uint64_t v = c->allotted[what];

	if (!v)
		v = allot_together(c->tenant[TENANT_CONTAINER], what, 0);
	if (!v)
		v = allot_together(c->tenant[TENANT_USER], what, 0);
	if (!v)
		v = said(ALL, 0, "", what);
	return v ? v : otherwise;
}

/* Whose share it is: no two have the same number. */
static struct limit share(const struct client *c, int kind)
{
	const struct tenant *t = kind == TENANT_KINDS ? NULL : c->tenant[kind];
	uint64_t v = kind == TENANT_KINDS ? c->allotted[VGPU_ALLOT_COMPUTE] :
		     allot_together(t, VGPU_ALLOT_COMPUTE, kind == TENANT_USER ? agent.opt.uid_compute : agent.opt.container_compute);

	if (!v || (kind != TENANT_KINDS && !t))
		return (struct limit){ 0 };
	return (struct limit){ v, (uint64_t)(kind + 1) << 32 | (kind == TENANT_KINDS ? c->id : kind == TENANT_USER ? c->uid : tenant_number(t)) };
}

void allot_to(struct client *c)
{
	uint64_t weight = allot_of(c, VGPU_ALLOT_WEIGHT, 0);

	/* context_pump() tells the device; what was taken back is everybody's weight again */
	if (weight || c->weight)
		c->weight = weight ? (uint32_t)weight : WEIGHT_DEFAULT;
	c->limit[VGPU_LIMIT_KERNEL_MS].value = allot_of(c, VGPU_ALLOT_KERNEL_MS, 0);
	c->limit[VGPU_LIMIT_PRIORITY].value = allot_of(c, VGPU_ALLOT_PRIORITY, 0);
	c->limit[VGPU_LIMIT_SHARE_CLIENT] = share(c, TENANT_KINDS);
	c->limit[VGPU_LIMIT_SHARE_CONTAINER] = share(c, TENANT_CONTAINER);
	c->limit[VGPU_LIMIT_SHARE_USER] = share(c, TENANT_USER);
	/* partner: the data thread's look at each allocation */
	vgpu_store_relaxed64(&c->memory_quota, c->allotted[VGPU_ALLOT_MEMORY] ? c->allotted[VGPU_ALLOT_MEMORY] : agent.opt.client_memory);
	for (unsigned k = 0; k < TENANT_KINDS; k++)
		if (c->tenant[k])
			vgpu_store_relaxed64(&c->tenant[k]->memory_limit, allot_together(c->tenant[k], VGPU_ALLOT_MEMORY, 0));
}

static void words(enum vgpu_allot what, uint64_t value, char *text, size_t n)
{
	if (!value)
		snprintf(text, n, "no %s of its own any more", names[what]);
	else if (what == VGPU_ALLOT_KERNEL_MS)
		snprintf(text, n, "%s %llu ms", names[what], (unsigned long long)value);
	else if (what == VGPU_ALLOT_COMPUTE)
		snprintf(text, n, "%s %llu.%llu%%", names[what], (unsigned long long)value / 10, (unsigned long long)value % 10);
	else if (what == VGPU_ALLOT_PRIORITY)
		snprintf(text, n, "%s %s", names[what], priorities[value % 4]);
	else if (what == VGPU_ALLOT_MEMORY || what == VGPU_ALLOT_WINDOW)
		snprintf(text, n, "%s %llu MiB", names[what], (unsigned long long)(value >> 20));
	else
		snprintf(text, n, "%s %llu", names[what], (unsigned long long)value);
}

static void refuse(struct vgpu_msg_ctl_r *r, uint32_t status, const char *why)
{
	r->status = status;
	snprintf(r->text, sizeof(r->text), "%s", why);
}

static void to_client(const struct client *by, const struct vgpu_msg_allot *m, struct vgpu_msg_ctl_r *r)
{
	struct client *c = ctl_client(m->target, r);
	char text[64];

	if (!c)
		return;
	if (m->what == VGPU_ALLOT_CLIENTS || m->what == VGPU_ALLOT_WINDOW) {
		refuse(r, VGPU_ST_INVALID, "that is a user's or a container's: a client's is given when it comes");
		return;
	}
	c->allotted[m->what] = m->value;
	words(m->what, m->value, text, sizeof(text));
	log_by(by);
	log_about(c);
	log_say("user %u gives client %u (%s, pid %d, uid %u) %s", by->uid, c->id, c->command, c->pid, c->uid, text);
}

/* Does any device do what is asked of it? What the agent sees to itself, all do. */
static int devices_know(enum vgpu_allot what)
{
	uint32_t needs = what == VGPU_ALLOT_KERNEL_MS ? VGPU_CAP_LIMITS : what == VGPU_ALLOT_COMPUTE || what == VGPU_ALLOT_PRIORITY ? VGPU_CAP_SHARES : 0;

	for (unsigned i = 0; i < agent.opt.devices; i++)
		if ((agent.dev[i].features & needs) == needs)
			return 1;
	return 0;
}

static int of_each(enum vgpu_allot what)
{
	return what == VGPU_ALLOT_WEIGHT || what == VGPU_ALLOT_CONTEXTS || what == VGPU_ALLOT_KERNEL_MS || what == VGPU_ALLOT_PRIORITY;
}

void allot_do(const struct client *by, const struct vgpu_msg_allot *m, struct vgpu_msg_ctl_r *r)
{
	struct rule *at = NULL, *empty = NULL;
	char text[64];

	if (!ctl_may(by, r))
		return;
	if (m->value && !devices_know(m->what)) {
		refuse(r, VGPU_ST_NOT_SUPPORTED, "no device here can do that: an older vgpu-stub, or one with --engine cuda");
		return;
	}
	if (m->kind == VGPU_ALLOT_EVERYBODY && !of_each(m->what)) {
		refuse(r, VGPU_ST_INVALID, "of everybody there are weight, contexts, kernel-time and priority; that is somebody's");
		return;
	}
	if (m->kind == VGPU_ALLOT_CLIENT) {
		to_client(by, m, r);
	} else {
		for (unsigned i = 0; i < RULES; i++) {
			struct rule *x = &rules[i];

			if (!x->what)
				empty = empty ? empty : x;
			else if (x->what == m->what && x->all == (m->kind == VGPU_ALLOT_EVERYBODY) &&
				 (m->cgroup[0] ? !strcmp(x->cgroup, m->cgroup) : !x->cgroup[0] && x->uid == m->target))
				at = x;
		}
		if (!at && !m->value)
			refuse(r, VGPU_ST_NOT_FOUND, "nothing was set there");
		else if (!at && !empty)
			refuse(r, VGPU_ST_LIMIT, "there are 128 such rules already: set some to default");
		if (r->status != VGPU_ST_OK)
			return;
		at = at ? at : empty;
		*at = (struct rule){ .what = m->value ? m->what : 0, .all = m->kind == VGPU_ALLOT_EVERYBODY, .uid = m->target, .value = m->value };
		memcpy(at->cgroup, m->cgroup, sizeof(at->cgroup));
		words(m->what, m->value, text, sizeof(text));
		log_by(by);
		if (m->cgroup[0])
			log_say("user %u gives cgroup %s %s", by->uid, m->cgroup, text);
		else if (at->all)
			log_say("user %u gives everybody %s", by->uid, text);
		else
			log_say("user %u gives user %u %s", by->uid, m->target, text);
	}
	for (struct client *c = NULL; (c = client_after(c));)
		allot_to(c);
}

/* The next of all there are, from *i on: rules, then clients'. */
static int next(unsigned *i, struct vgpu_allotment *a)
{
	for (; *i < RULES + AGENT_CLIENTS * VGPU_ALLOTS; ++*i) {
		unsigned k = (*i - RULES) / VGPU_ALLOTS, what = (*i - RULES) % VGPU_ALLOTS;

		memset(a, 0, sizeof(*a));
		if (*i < RULES) {
			const struct rule *r = &rules[*i];

			if (!r->what)
				continue;
			*a = (struct vgpu_allotment){ .kind = r->all ? VGPU_ALLOT_EVERYBODY : r->cgroup[0] ? VGPU_ALLOT_CGROUP : VGPU_ALLOT_USER, .target = r->uid, .what = r->what,
						      .value = r->value };
			memcpy(a->cgroup, r->cgroup, sizeof(a->cgroup));
		} else {
			const struct client *c = &agent.client[k];

			if (!client_here(c) || !c->allotted[what])
				continue;
			*a = (struct vgpu_allotment){ .kind = VGPU_ALLOT_CLIENT, .target = c->id, .what = what, .value = c->allotted[what] };
		}
		++*i;
		return 1;
	}
	return 0;
}

void allot_fill(struct vgpu_msg_allots_r *r, uint32_t first)
{
	struct vgpu_allotment a;
	unsigned i = 0;

	memset(r, 0, sizeof(*r));
	r->status = VGPU_ST_OK;
	r->first = first;
	while (next(&i, &a)) {
		if (r->allots++ < first || r->count == VGPU_ALLOTS_PAGE)
			continue;
		r->allot[r->count++] = a;
	}
}
