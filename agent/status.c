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

/* A device's own claim, which is no more than the time that it was there. */
static uint64_t busy_of(const struct context *x)
{
	uint64_t ns = vgpu_load_relaxed64(&x->qb->busy_ns), age = now_ns() - x->client->since_ns;

	return ns < age ? ns : age;
}

void status_past(const struct context *x)
{
	x->device->busy_past += busy_of(x);
}

void status_work(void)
{
	uint64_t busy[VGPU_MAX_DEVICES];
	uint32_t in_flight[VGPU_MAX_DEVICES] = { 0 };

	for (unsigned i = 0; i < VGPU_MAX_DEVICES; i++)
		busy[i] = agent.dev[i].busy_past;
	for (unsigned i = 0; i < AGENT_CLIENTS; i++)
		for (unsigned n = 0; agent.client[i].in_use && n < VGPU_MAX_CONTEXTS; n++) {
			const struct context *x = &agent.client[i].ctx[n];

			if (x->state != CONTEXT_LIVE)
				continue;
			busy[x->device->index] += busy_of(x);
			in_flight[x->device->index] += vgpu_load_relaxed64(&x->qb->commands_done) < vgpu_load_relaxed64(&x->commands);
		}
	for (unsigned i = 0; i < VGPU_MAX_DEVICES; i++) {
		struct vgpu_agent_device *p = &agent.page->device[i];

		if (busy[i] > p->busy_ns)       /* a claim may shrink, time does not */
			vgpu_store_relaxed64(&p->busy_ns, busy[i]);
		vgpu_store_relaxed32(&p->in_flight, in_flight[i]);
	}
}
