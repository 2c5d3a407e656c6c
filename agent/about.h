/* SPDX-License-Identifier: MIT */
/* Whom the next line of the log is about, as fields of the journal (log.h). */
#ifndef AGENT_ABOUT_H
#define AGENT_ABOUT_H

#include "agent.h"
#include "log.h"
#include "tenant.h"

static inline void log_about(const struct client *c)
{
	log_number("VGPU_CLIENT", c->id);
	log_number("VGPU_CLIENT_PID", c->pid);
	log_number("VGPU_CLIENT_UID", c->uid);
	if (c->command[0])
		log_text("VGPU_CLIENT_COMMAND", c->command);
	if (c->tenant[TENANT_CONTAINER])
		log_text("VGPU_CLIENT_CGROUP", c->tenant[TENANT_CONTAINER]->box);
}

/* Who asked for it by vgpu ctl. */
static inline void log_by(const struct client *by)
{
	log_number("VGPU_BY_UID", by->uid);
	log_number("VGPU_BY_PID", by->pid);
}

static inline void log_device(const struct device *d)
{
	log_number("VGPU_DEVICE", d->index);
}

#endif
