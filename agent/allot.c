/* SPDX-License-Identifier: MIT */
/* See allot.h. */
#include "allot.h"

#include <stdio.h>
#include <string.h>

#include "ctl.h"
#include "tenant.h"

#define RULES 128u

struct rule {
	enum vgpu_allot what;           /* 0: free */
	uid_t uid;
	char cgroup[sizeof(((struct vgpu_msg_allot *)0)->cgroup)];      /* empty: of the user */
	uint64_t value;
};
static struct rule rules[RULES];

static const char *const names[] = { "", "weight", "memory", "window", "contexts", "clients" };

/* The same cgroup, or one below it. */
static int within(const char *box, const char *cgroup)
{
	size_t n = strlen(cgroup);

	return !strncmp(box, cgroup, n) && (!box[n] || box[n] == '/');
}

/* Of several for cgroups the innermost. 0: nothing was said. */
static uint64_t said(int kind, uid_t uid, const char *box, enum vgpu_allot what)
{
	const struct rule *best = NULL;

	for (unsigned i = 0; i < RULES; i++) {
		const struct rule *r = &rules[i];

		if (r->what != what || !r->cgroup[0] != (kind == TENANT_USER))
			continue;
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
	return v ? v : allot_together(c->tenant[TENANT_USER], what, otherwise);
}

void allot_to(struct client *c)
{
	uint64_t weight = allot_of(c, VGPU_ALLOT_WEIGHT, 0);

	/* context_pump() tells the device; what was taken back is everybody's weight again */
	if (weight || c->weight)
		c->weight = weight ? (uint32_t)weight : WEIGHT_DEFAULT;
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
	log_say("user %u gives client %u (%s, pid %d, uid %u) %s", by->uid, c->id, c->command, c->pid, c->uid, text);
}

void allot_do(const struct client *by, const struct vgpu_msg_allot *m, struct vgpu_msg_ctl_r *r)
{
	struct rule *at = NULL, *empty = NULL;
	char text[64];

	if (!ctl_may(by, r))
		return;
	if (m->kind == VGPU_ALLOT_CLIENT) {
		to_client(by, m, r);
	} else {
		for (unsigned i = 0; i < RULES; i++) {
			struct rule *x = &rules[i];

			if (!x->what)
				empty = empty ? empty : x;
			else if (x->what == m->what && (m->cgroup[0] ? !strcmp(x->cgroup, m->cgroup) : !x->cgroup[0] && x->uid == m->target))
				at = x;
		}
		if (!at && !m->value)
			refuse(r, VGPU_ST_NOT_FOUND, "nothing was set there");
		else if (!at && !empty)
			refuse(r, VGPU_ST_LIMIT, "there are 128 such rules already: set some to default");
		if (r->status != VGPU_ST_OK)
			return;
		at = at ? at : empty;
		*at = (struct rule){ .what = m->value ? m->what : 0, .uid = m->target, .value = m->value };
		memcpy(at->cgroup, m->cgroup, sizeof(at->cgroup));
		words(m->what, m->value, text, sizeof(text));
		if (m->cgroup[0])
			log_say("user %u gives cgroup %s %s", by->uid, m->cgroup, text);
		else
			log_say("user %u gives user %u %s", by->uid, m->target, text);
	}
	for (unsigned i = 0; i < AGENT_CLIENTS; i++)
		if (agent.client[i].in_use)
			allot_to(&agent.client[i]);
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
			*a = (struct vgpu_allotment){ .kind = r->cgroup[0] ? VGPU_ALLOT_CGROUP : VGPU_ALLOT_USER, .target = r->uid, .what = r->what,
						      .value = r->value };
			memcpy(a->cgroup, r->cgroup, sizeof(a->cgroup));
		} else {
			const struct client *c = &agent.client[k];

			if (!c->in_use || !c->allotted[what])
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
