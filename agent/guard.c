/* SPDX-License-Identifier: MIT */
/* See guard.h. */
#include "guard.h"
#include "about.h"

#include <stdio.h>
#include <string.h>

#include "ctl.h"
#include "tenant.h"

#define ACCOUNTS 256u
#define RULES 128u
#define WINDOW_NS (60 * 1000000000ull)  /* in which faults and refusals are counted, and rates are meant */
#define HOLD_MOST_S 3600u
#define QUIET 8u                /* so many times the last hold without another: the next is a first one */

struct account {
	int used;
	uid_t uid;
	char box[TENANT_BOX];
	uint64_t seen_ns;
	uint64_t since_ns;              /* of the window that faults and refusals are counted in */
	unsigned faults, refusals;
	unsigned hold_s;                /* the last hold; 0: never */
	uint64_t until_ns;              /* of it */
	uint64_t connect_ns, context_ns;        /* when the next would be due at the rate, see rate() */
	uint64_t told_ns;
};

struct rule {
	uint32_t state;                 /* VGPU_GATE_ADMITTED or _DENIED; 0: free */
	uid_t uid;
	char cgroup[sizeof(((struct vgpu_msg_gate *)0)->cgroup)];       /* empty: of the user */
};

static struct account accounts[ACCOUNTS] AGENT_STATE;
static struct rule rules[RULES];
static int closed = -1;                 /* only who is admitted comes in; -1: as the command line has it */

static int is_closed(void) { return closed < 0 ? agent.opt.admission : closed; }

/* ---- accounts --------------------------------------------------------------------------------- */

static const char *box_of(const struct client *c)
{
	return c->tenant[TENANT_CONTAINER] ? c->tenant[TENANT_CONTAINER]->box : "";
}

/* Of all that are there, the one that was quiet longest makes room; one that is held off does last. */
static struct account *account(const struct client *c)
{
	const char *box = box_of(c);
	struct account *old = &accounts[0];
	uint64_t now = now_ns();

	for (unsigned i = 0; i < ACCOUNTS; i++) {
		struct account *a = &accounts[i];
		int held = a->used && a->until_ns > now, old_held = old->used && old->until_ns > now;

		if (a->used && a->uid == c->uid && !strcmp(a->box, box)) {
			a->seen_ns = now;
			return a;
		}
		if (held < old_held || (held == old_held && (a->used ? a->seen_ns : 0) < (old->used ? old->seen_ns : 0)))
			old = a;
	}
	memset(old, 0, sizeof(*old));
	old->used = 1;
	old->uid = c->uid;
	snprintf(old->box, sizeof(old->box), "%s", box);
	old->seen_ns = old->since_ns = now;
	return old;
}

static void count(const struct client *c, int fault)
{
	unsigned most = fault ? agent.opt.quarantine_faults : agent.opt.quarantine_refusals, *n;
	struct account *a;
	uint64_t now = now_ns();

	if (!most)
		return;
	a = account(c);
	if (a->until_ns > now)          /* what it does meanwhile makes it no longer */
		return;
	if (now - a->since_ns > WINDOW_NS) {
		a->since_ns = now;
		a->faults = a->refusals = 0;
	}
	n = fault ? &a->faults : &a->refusals;
	if (++*n < most)
		return;
	if (!a->hold_s || now - a->until_ns > (uint64_t)a->hold_s * QUIET * 1000000000u)
		a->hold_s = agent.opt.quarantine_seconds;
	else
		a->hold_s = a->hold_s * 2 < HOLD_MOST_S ? a->hold_s * 2 : HOLD_MOST_S;
	a->until_ns = now + (uint64_t)a->hold_s * 1000000000u;
	log_number("VGPU_CLIENT_UID", a->uid);
	log_warn("user %u, container %s, is held off for %u s: %u %s within a minute (vgpu ctl release %u)", a->uid, a->box[0] ? a->box : "none",
		 a->hold_s, *n, fault ? "faults" : "refusals", a->uid);
	a->faults = a->refusals = 0;
}

void guard_fault(const struct client *c) { count(c, 1); }
void guard_refused(const struct client *c) { count(c, 0); }

/* So many a minute on average, as many at once; *due moves by a minute's share for each. */
static int rate(uint64_t *due, unsigned a_minute)
{
	uint64_t now = now_ns(), share;

	if (!a_minute)
		return 0;
	share = WINDOW_NS / a_minute;
	if (*due < now)
		*due = now;
	if (*due - now > WINDOW_NS - share)
		return 1;
	*due += share;
	return 0;
}

static void tell(struct account *a, const char *what, unsigned most)
{
	uint64_t now = now_ns();

	if (now - a->told_ns < WINDOW_NS / 6)
		return;
	a->told_ns = now;
	log_number("VGPU_CLIENT_UID", a->uid);
	log_client(LOG_WARN, "user %u, container %s, is refused: more than %u %s a minute", a->uid, a->box[0] ? a->box : "none", most, what);
}

/* ---- admission -------------------------------------------------------------------------------- */

/* Is one of the process's cgroups, a line ID:CONTROLLERS:PATH each, that one or below it? */
static int in_cgroup(const char *text, const char *cgroup)
{
	size_t n = strlen(cgroup);

	for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
		const char *p = strchr(line, ':'), *end = line + strcspn(line, "\n");

		p = p && p < end ? strchr(p + 1, ':') : NULL;
		if (p && p < end && (size_t)(end - p - 1) >= n && !memcmp(p + 1, cgroup, n) && (p + 1 + n == end || p[1 + n] == '/'))
			return 1;
	}
	return 0;
}

/* 1: somebody has said no, or nobody yes while only those come in who are admitted. */
static int shut_out(const struct client *c, char *why, size_t n)
{
	char text[2048] = "";
	int read = 0, admitted = 0;

	for (unsigned i = 0; i < RULES; i++) {
		const struct rule *r = &rules[i];

		if (!r->state)
			continue;
		if (r->cgroup[0] && !read++)
			tenant_cgroup(c, text, sizeof(text));
		if (r->cgroup[0] ? !in_cgroup(text, r->cgroup) : r->uid != c->uid)
			continue;
		if (r->state == VGPU_GATE_DENIED) {
			snprintf(why, n, "the administrator denies it to %s%u (vgpu ctl deny)", r->cgroup[0] ? "this cgroup, user " : "user ", c->uid);
			return 1;
		}
		admitted = 1;
	}
	if (!is_closed() || admitted || (c->uid == agent.uid && tenant_rules(c)))
		return 0;
	snprintf(why, n, "user %u, or its job, is not admitted (vgpu ctl admit)", c->uid);
	return 1;
}

enum vgpu_refusal guard_hello(const struct client *c, char *why, size_t n)
{
	struct account *a;
	uint64_t now = now_ns();

	if (shut_out(c, why, n))
		return VGPU_REFUSED_ADMISSION;
	if (!agent.opt.connect_rate && !agent.opt.context_rate && !agent.opt.quarantine_faults && !agent.opt.quarantine_refusals)
		return 0;
	a = account(c);
	if (a->until_ns > now) {
		snprintf(why, n, "user %u is held off for %u s more (vgpu ctl release %u)", a->uid, (unsigned)((a->until_ns - now) / 1000000000u) + 1, a->uid);
		return VGPU_REFUSED_HELD;
	}
	if (!rate(&a->connect_ns, agent.opt.connect_rate))
		return 0;
	tell(a, "connections", agent.opt.connect_rate);
	snprintf(why, n, "user %u makes more than %u connections a minute (--connect-rate)", a->uid, agent.opt.connect_rate);
	return VGPU_REFUSED_RATE;
}

int guard_context(const struct client *c)
{
	struct account *a;

	if (!agent.opt.context_rate && !agent.opt.quarantine_faults && !agent.opt.quarantine_refusals)
		return 0;
	a = account(c);
	if (a->until_ns > now_ns())
		return 1;
	if (!rate(&a->context_ns, agent.opt.context_rate))
		return 0;
	tell(a, "contexts", agent.opt.context_rate);
	return 1;
}

/* ---- for the administrator ---------------------------------------------------------------------- */

static void whom(const struct vgpu_msg_gate *m, char *text, size_t n)
{
	if (m->cgroup[0])
		snprintf(text, n, "cgroup %s", m->cgroup);
	else
		snprintf(text, n, "user %u", m->uid);
}

static void release(const struct client *by, const struct vgpu_msg_gate *m, struct vgpu_msg_ctl_r *r)
{
	uint64_t now = now_ns();

	for (unsigned i = 0; i < ACCOUNTS; i++) {
		struct account *a = &accounts[i];

		if (!a->used || a->until_ns <= now || (m->cgroup[0] ? strcmp(a->box, m->cgroup) != 0 : m->uid != VGPU_GATE_ALL && a->uid != m->uid))
			continue;
		/* not only this hold: the next would be a first one */
		a->until_ns = 0;
		a->hold_s = a->faults = a->refusals = 0;
		r->count++;
		log_say("user %u releases user %u, container %s, who was held off", by->uid, a->uid, a->box[0] ? a->box : "none");
	}
	if (!r->count) {
		r->status = VGPU_ST_NOT_FOUND;
		snprintf(r->text, sizeof(r->text), "nobody of that name is held off");
	}
}

void guard_do(const struct client *by, const struct vgpu_msg_gate *m, struct vgpu_msg_ctl_r *r)
{
	uint32_t state = m->op == VGPU_GATE_ADMIT ? VGPU_GATE_ADMITTED : m->op == VGPU_GATE_DENY ? VGPU_GATE_DENIED : 0;
	struct rule *at = NULL, *empty = NULL;
	char text[220];

	if (!ctl_may(by, r))
		return;
	if (m->op == VGPU_GATE_RELEASE) {
		release(by, m, r);
		return;
	}
	if (m->op == VGPU_GATE_OPEN || m->op == VGPU_GATE_CLOSED) {
		closed = m->op == VGPU_GATE_CLOSED;
		log_by(by);
		log_say("user %u %s", by->uid, closed ? "closes admission: only who is admitted comes in" : "opens admission: who is not denied comes in");
		return;
	}
	for (unsigned i = 0; i < RULES; i++) {
		if (!rules[i].state)
			empty = empty ? empty : &rules[i];
		else if (m->cgroup[0] ? !strcmp(rules[i].cgroup, m->cgroup) : !rules[i].cgroup[0] && rules[i].uid == m->uid)
			at = &rules[i];
	}
	whom(m, text, sizeof(text));
	if (!state && !at) {
		r->status = VGPU_ST_NOT_FOUND;
		snprintf(r->text, sizeof(r->text), "nothing was said of that %s", m->cgroup[0] ? "cgroup" : "user");
		return;
	}
	if (state && !at && !empty) {
		r->status = VGPU_ST_LIMIT;
		snprintf(r->text, sizeof(r->text), "there are %u such rules already: vgpu ctl forget", RULES);
		return;
	}
	log_by(by);
	log_say("user %u %s %s", by->uid, state == VGPU_GATE_ADMITTED ? "admits" : state ? "denies" : "forgets", text);
	at = at ? at : empty;
	at->state = state;
	at->uid = m->uid;
	memcpy(at->cgroup, m->cgroup, sizeof(at->cgroup));
}

/* The next of all there are, from *i on: rules, then who is held off. */
static int next_gate(unsigned *i, struct vgpu_gate *g)
{
	uint64_t now = now_ns();

	memset(g, 0, sizeof(*g));
	for (; *i < RULES + ACCOUNTS; ++*i) {
		const struct rule *r = &rules[*i % RULES];
		const struct account *a = &accounts[(*i - RULES) % ACCOUNTS];

		if (*i < RULES) {
			if (!r->state)
				continue;
			g->state = r->state;
			g->uid = r->uid;
			memcpy(g->cgroup, r->cgroup, sizeof(g->cgroup));
		} else {
			if (!a->used || a->until_ns <= now)
				continue;
			g->state = VGPU_GATE_HELD;
			g->uid = a->uid;
			g->seconds = (uint32_t)((a->until_ns - now) / 1000000000u) + 1;
			g->hold_seconds = a->hold_s;
			snprintf(g->cgroup, sizeof(g->cgroup), "%s", a->box);
		}
		++*i;
		return 1;
	}
	return 0;
}

void guard_fill(struct vgpu_msg_gates_r *r, uint32_t first)
{
	struct vgpu_gate g;
	unsigned i = 0;

	memset(r, 0, sizeof(*r));
	r->status = VGPU_ST_OK;
	r->first = first;
	r->closed = (uint32_t)is_closed();
	while (next_gate(&i, &g)) {
		if (r->gates++ < first || r->count == VGPU_GATES_PAGE)
			continue;
		r->gate[r->count++] = g;
	}
}
