/* SPDX-License-Identifier: MIT */
/*
 * What an administrator may do to others' clients, and to devices: vgpu ctl. He is root, or the user whom the agent runs as, and not
 * in a container; the kernel says so (SO_PEERCRED, NSpid). Every change is a line in the log. Control thread.
 */
#include "ctl.h"
#include "about.h"

#include <stdio.h>
#include <string.h>

#include "allot.h"
#include "client.h"
#include "context.h"

struct client *ctl_client(uint32_t id, struct vgpu_msg_ctl_r *r)
{
	for (struct client *c = NULL; (c = client_after(c));)
		if (!c->leaving && c->window && c->id == id)
			return c;
	r->status = VGPU_ST_NOT_FOUND;
	snprintf(r->text, sizeof(r->text), "there is no client %u", id);
	return NULL;
}

static unsigned live(const struct device *d)
{
	unsigned n = 0;

	for (unsigned q = 0; q < d->queues; q++)
		n += d->owner[q] && d->owner[q]->state == CONTEXT_LIVE;
	return n;
}

static void end(struct client *c, const struct client *by)
{
	static const char why[] = "ended by the administrator (vgpu ctl end)";

	log_by(by);
	log_about(c);
	log_say("user %u ends client %u (%s, pid %d, uid %u)", by->uid, c->id, c->command, c->pid, c->uid);
	client_end(c, VGPU_ST_CONTEXT_DEAD, why);
}

static void drain(struct device *d, int on, const struct client *by, struct vgpu_msg_ctl_r *r)
{
	d->drained = on;
	r->count = live(d);
	log_by(by);
	log_device(d);
	log_say(on ? "user %u drains device %u: no new contexts, %u are left" : "user %u takes device %u out of drain, %u contexts", by->uid, d->index,
		r->count);
}

int ctl_may(const struct client *by, struct vgpu_msg_ctl_r *r)
{
	memset(r, 0, sizeof(*r));
	r->status = VGPU_ST_OK;
	if (tenant_rules(by))
		return 1;
	r->status = VGPU_ST_NOT_SUPPORTED;
	if (by->uid == 0 || by->uid == agent.uid || by->in_admins)
		snprintf(r->text, sizeof(r->text), "user %u of a container may not do that: ask on the host (in vgpu-agent's own PID namespace)", by->uid);
	else if (agent.opt.admin_gid < 0)
		snprintf(r->text, sizeof(r->text), "only root and the agent's own user (%u) may do that; this is user %u", agent.uid, by->uid);
	else
		snprintf(r->text, sizeof(r->text), "only root, user %u (the agent's) and group %u may do that; this is user %u", agent.uid,
			 (unsigned)agent.opt.admin_gid, by->uid);
	log_by(by);
	log_client(LOG_WARN, "user %u, pid %d, asked for vgpu ctl and may not", by->uid, by->pid);
	return 0;
}

void ctl_do(const struct client *by, const struct vgpu_msg_ctl *m, struct vgpu_msg_ctl_r *r)
{
	struct client *c = NULL;

	if (!ctl_may(by, r))
		return;
	if (m->op == VGPU_CTL_DRAIN || m->op == VGPU_CTL_UNDRAIN) {
		if (m->target < agent.opt.devices) {
			drain(&agent.dev[m->target], m->op == VGPU_CTL_DRAIN, by, r);
			return;
		}
		r->status = VGPU_ST_NOT_FOUND;
		snprintf(r->text, sizeof(r->text), "there is no device %u", m->target);
		return;
	}
	c = ctl_client(m->target, r);
	if (!c)
		return;
	if (m->op == VGPU_CTL_END) {
		end(c, by);
		return;
	}
	if (m->op == VGPU_CTL_WEIGHT) {
		c->allotted[VGPU_ALLOT_WEIGHT] = m->value;
		allot_to(c);
		log_by(by);
		log_about(c);
		log_say("user %u gives client %u (%s, pid %d, uid %u) weight %u", by->uid, c->id, c->command, c->pid, c->uid, c->weight);
		return;
	}
	/* context_pump() tells its contexts, those to come too */
	c->stopped = m->op == VGPU_CTL_STOP;
	log_by(by);
	log_about(c);
	log_say("user %u %s client %u (%s, pid %d, uid %u)", by->uid, c->stopped ? "stops" : "lets go on", c->id, c->command, c->pid, c->uid);
}
