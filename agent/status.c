/* SPDX-License-Identifier: MIT */
/*
 * See status.h. Counters that the data thread writes are read as they stand: each is one word,
 * and a number for people may be a moment old.
 */
#include "status.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "allot.h"
#include "ctl.h"
#include "guard.h"
#include "work.h"

uint64_t status_commands(const struct client *c)
{
	uint64_t sum = vgpu_load_relaxed64(&c->commands);

	for (unsigned n = 0; n < VGPU_MAX_CONTEXTS; n++)
		if (c->ctx[n].state == CONTEXT_LIVE)
			sum += vgpu_load_relaxed64(&c->ctx[n].commands);
	return sum;
}

static void one(struct vgpu_msg_client *m, const struct client *c)
{
	m->client_id = c->id;
	m->pid = (uint32_t)c->pid;
	m->uid = c->uid;
	m->memory_bytes = vgpu_load_relaxed64(&c->memory_bytes);
	m->window_bytes = c->window_bytes;
	m->commands = status_commands(c);
	for (unsigned n = 0; n < VGPU_MAX_CONTEXTS; n++)
		m->contexts += c->ctx[n].state == CONTEXT_LIVE;
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
	snprintf(r->agent_version, sizeof(r->agent_version), "%s", VGPU_VERSION);
	snprintf(r->transport, sizeof(r->transport), "%s", agent.dev[0].ops ? agent.dev[0].ops->name : "none");
	for (const struct client *c = NULL; (c = client_after(c));) {
		if (!c->window)   /* monitors look, they use nothing */
			continue;
		if (r->clients++ < first || r->count == VGPU_STATUS_PAGE)
			continue;
		one(&r->client[r->count++], c);
	}
}

static void device_info(struct vgpu_msg_device_r *r, uint32_t index)
{
	memset(r, 0, sizeof(*r));
	r->status = VGPU_ST_INVALID;
	if (index >= agent.opt.devices)
		return;
	r->status = agent.dev[index].ready ? VGPU_ST_OK : VGPU_ST_DEVICE_LOST;
	r->info = agent.dev[index].info;        /* of one that is lost: what it was */
}

size_t status_answer(const struct client *c, const union message *m, void **reply)
{
	static union {                  /* some KiB, off the stack */
		struct vgpu_msg_device_r device;
		struct vgpu_msg_status_r status;
		struct vgpu_msg_load_r load;
		struct vgpu_msg_contexts_r contexts;
		struct vgpu_msg_ctl_r ctl;
		struct vgpu_msg_gates_r gates;
		struct vgpu_msg_allots_r allots;
		struct vgpu_msg_work_r work;
		struct vgpu_msg_times_r times;
	} r;

	*reply = &r;
	switch (m->h.type) {
	case VGPU_MSG_DEVICE:
		device_info(&r.device, m->index.index);
		return sizeof(r.device);
	case VGPU_MSG_STATUS:
		status_fill(&r.status, m->index.index);
		return sizeof(r.status);
	case VGPU_MSG_LOAD:
		load_fill(&r.load);
		return sizeof(r.load);
	case VGPU_MSG_CONTEXTS:
		load_contexts(&r.contexts, m->index.index);
		return sizeof(r.contexts);
	case VGPU_MSG_GATES:
		guard_fill(&r.gates, m->index.index);
		return sizeof(r.gates);
	case VGPU_MSG_ALLOTS:
		allot_fill(&r.allots, m->index.index);
		return sizeof(r.allots);
	case VGPU_MSG_WORK:
		work_fill(&r.work, m->index.index);
		return sizeof(r.work);
	case VGPU_MSG_TIMES:
		work_times(&r.times, m->index.index);
		return sizeof(r.times);
	case VGPU_MSG_ALLOT:
		allot_do(c, &m->allot, &r.ctl);
		return sizeof(r.ctl);
	case VGPU_MSG_GATE:
		guard_do(c, &m->gate, &r.ctl);
		return sizeof(r.ctl);
	}
	ctl_do(c, &m->ctl, &r.ctl);
	return sizeof(r.ctl);
}
