/* SPDX-License-Identifier: MIT */
/*
 * See status.h. Counters that the data thread writes are read as they stand: each is one word,
 * and a number for people may be a moment old.
 */
#include "status.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void one(struct vgpu_msg_client *m, const struct client *c)
{
	m->client_id = c->id;
	m->pid = (uint32_t)c->pid;
	m->uid = c->uid;
	m->memory_bytes = vgpu_load_relaxed64(&c->memory_bytes);
	m->window_bytes = c->window_bytes;
	m->commands = vgpu_load_relaxed64(&c->commands);
	for (unsigned n = 0; n < VGPU_MAX_CONTEXTS; n++) {
		m->contexts += c->ctx[n].state == CONTEXT_LIVE;
		if (c->ctx[n].state == CONTEXT_LIVE)
			m->commands += vgpu_load_relaxed64(&c->ctx[n].commands);
	}
	m->connected_ns = now_ns() - c->since_ns;
	memcpy(m->command, c->command, sizeof(m->command));
}

void status_fill(struct vgpu_msg_status_r *r, uint32_t first)
{
	memset(r, 0, sizeof(*r));
	r->status = VGPU_ST_OK;
	r->first = first;
	r->agent_pid = (uint32_t)getpid();
	r->agent_cpu = agent.cpu < 0 ? ~0u : (uint32_t)agent.cpu;
	r->agent_uptime_ns = now_ns() - agent.start_ns;
	r->sleeps = vgpu_load_relaxed64(&agent.sleeps);
	r->wakeups_sent = vgpu_load_relaxed64(&agent.wakes_sent);
	snprintf(r->agent_version, sizeof(r->agent_version), "%s", AGENT_VERSION);
	snprintf(r->transport, sizeof(r->transport), "%s", agent.dev[0].ops ? agent.dev[0].ops->name : "none");
	for (unsigned i = 0; i < AGENT_CLIENTS; i++) {
		const struct client *c = &agent.client[i];

		if (!c->in_use || !c->window)   /* monitors look, they use nothing */
			continue;
		if (r->clients++ < first || r->count == VGPU_STATUS_PAGE)
			continue;
		one(&r->client[r->count++], c);
	}
}
