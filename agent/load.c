/* SPDX-License-Identifier: MIT */
/*
 * See load.h. What a context says of itself is a claim: no more of it is believed than the time that it was there.
 * Contexts that work at the same time are added up, and the sum is cut at the whole device.
 */
#include "load.h"

#include <string.h>
#include <unistd.h>

#include "agent.h"
#include "guard.h"
#include "work.h"

#define SAMPLE_NS 125000000ull
#define WINDOW_NS 1000000000ull         /* what a share is of */
#define REST 9u                         /* samples without work */

static uint64_t due_ns;
static unsigned still;                  /* samples since something worked */

static uint64_t busy_of(const struct context *x)
{
	uint64_t ns = vgpu_load_relaxed64(&x->qb->busy_ns), age = now_ns() - x->since_ns;

	return ns < age ? ns : age;
}

static uint32_t in_flight(const struct context *x)
{
	return vgpu_load_relaxed64(&x->qb->commands_done) < vgpu_load_relaxed64(&x->commands);
}

/* It has its sticky error: its process says so, while it lives. */
static uint64_t failed(const struct context *x)
{
	return vgpu_load_relaxed32(&x->qb->error) != 0;
}

static uint64_t device_busy(struct device *d, uint32_t *flying)
{
	uint64_t ns = d->busy_past;

	*flying = 0;
	for (unsigned q = 0; q < d->queues; q++) {
		const struct context *x = d->owner[q];

		if (!x || x->state != CONTEXT_LIVE)
			continue;
		ns += busy_of(x);
		*flying += in_flight(x);
	}
	if (ns > d->busy_told)
		d->busy_told = ns;
	return d->busy_told;
}

static void take(struct load *l, uint64_t now, uint64_t busy)
{
	l->s[l->n++ % VGPU_LOAD_SAMPLES] = (struct vgpu_load_sample){ now, busy };
}

static uint32_t kept(const struct load *l)
{
	return l->n < VGPU_LOAD_SAMPLES ? l->n : VGPU_LOAD_SAMPLES;
}

/* Since the newest sample that is as old as the window, or since the first. */
static uint32_t permille(const struct load *l, uint64_t now, uint64_t busy)
{
	const struct vgpu_load_sample *s = NULL;
	uint64_t span, worked;

	for (uint32_t i = 0; i < kept(l); i++) {
		s = &l->s[(l->n - 1 - i) % VGPU_LOAD_SAMPLES];
		if (now - s->at_ns >= WINDOW_NS)
			break;
	}
	if (!s)
		return 0;
	span = now - s->at_ns;
	/* an old one is of a time before a rest: all work since then is the window's */
	if (span > WINDOW_NS + 2 * SAMPLE_NS)
		span = WINDOW_NS;
	if (span < SAMPLE_NS)
		span = SAMPLE_NS;
	worked = busy > s->busy_ns ? busy - s->busy_ns : 0;
	return worked >= span ? 1000 : (uint32_t)(worked * 1000 / span);
}

void load_begin(struct context *x)
{
	x->since_ns = now_ns();
	x->load.n = 0;
	take(&x->load, x->since_ns, 0);
}

void load_past(const struct context *x)
{
	x->device->busy_past += busy_of(x);
	x->device->faults += failed(x);
	work_past(x);
	if (failed(x))
		guard_fault(x->client);
}

static void sample(uint64_t now)
{
	int works = 0;

	for (unsigned i = 0; i < agent.opt.devices; i++) {
		struct device *d = &agent.dev[i];
		uint32_t flying;
		uint64_t busy = device_busy(d, &flying);

		works |= flying || !d->load.n || busy != d->load.s[(d->load.n - 1) % VGPU_LOAD_SAMPLES].busy_ns;
		take(&d->load, now, busy);
		for (unsigned q = 0; q < d->queues; q++)
			if (d->owner[q] && d->owner[q]->state == CONTEXT_LIVE)
				take(&d->owner[q]->load, now, busy_of(d->owner[q]));
	}
	still = works ? 0 : still + 1;
}

int load_turn(void)
{
	uint64_t now = now_ns();

	if (vgpu_load_relaxed32(&agent.load_rests))
		return -1;
	if (now >= due_ns) {
		sample(now);
		due_ns = now + SAMPLE_NS;
	}
	if (still >= REST) {
		still = 0;
		/* Partner: load_works(). Either it sees the rest, or we see that the data thread is awake. */
		vgpu_exchange32(&agent.load_rests, 1);
		vgpu_full_fence();
		if (vgpu_load_relaxed32(&agent.page->need_wakeup))
			return -1;
		vgpu_exchange32(&agent.load_rests, 0);
	}
	return (int)((due_ns - now) / 1000000) + 1;
}

void load_works(void)
{
	uint64_t one = 1;

	vgpu_store_relaxed32(&agent.page->need_wakeup, 0);
	vgpu_full_fence();
	if (vgpu_load_relaxed32(&agent.load_rests) && vgpu_exchange32(&agent.load_rests, 0) && write(agent.wake_c, &one, 8) < 0)
		return;         /* a full counter is readable as well */
}

void load_page(void)
{
	for (unsigned i = 0; i < agent.opt.devices; i++) {
		struct vgpu_agent_device *p = &agent.page->device[i];
		uint32_t flying;

		vgpu_store_relaxed64(&p->busy_ns, device_busy(&agent.dev[i], &flying));
		vgpu_store_relaxed32(&p->in_flight, flying);
	}
}

static void fill_one(struct vgpu_load *l, struct device *d, uint64_t now)
{
	const struct client *last = NULL;

	l->state = d->ready ? 1 : 0;
	l->memory_bytes = d->info.memory_bytes;
	l->memory_used = vgpu_load_relaxed64(&d->memory_used);
	l->busy_ns = device_busy(d, &l->in_flight);
	l->permille = permille(&d->load, now, l->busy_ns);
	l->faults = d->faults;
	l->losses = d->losses;
	l->refused = d->refused;
	l->flags = d->drained ? VGPU_LOAD_DRAINED : 0;
	for (const struct client *c = NULL; (c = client_after(c));)
		for (unsigned n = 0; n < VGPU_MAX_CONTEXTS; n++) {
			const struct context *x = &c->ctx[n];

			if (x->state != CONTEXT_LIVE || x->device != d)
				continue;
			l->contexts++;
			l->faults += failed(x);
			l->clients += last != x->client;
			last = x->client;
		}
	l->samples = kept(&d->load);
	for (uint32_t i = 0; i < l->samples; i++)
		l->sample[i] = d->load.s[(d->load.n - l->samples + i) % VGPU_LOAD_SAMPLES];
}

void load_fill(struct vgpu_msg_load_r *r)
{
	memset(r, 0, sizeof(*r));
	r->status = VGPU_ST_OK;
	r->devices = agent.opt.devices;
	r->now_ns = now_ns();
	for (unsigned i = 0; i < r->devices; i++)
		fill_one(&r->device[i], &agent.dev[i], r->now_ns);
}

static void describe(struct vgpu_msg_context *m, const struct context *x, uint64_t now)
{
	const struct client *c = x->client;

	m->client_id = c->id;
	m->pid = (uint32_t)c->pid;
	m->uid = c->uid;
	m->context = x->number;
	m->device = x->device->index;
	m->weight = x->weight;
	m->flags = x->stopped ? VGPU_CONTEXT_STOPPED : 0;
	m->memory_bytes = vgpu_load_relaxed64(&x->memory_bytes);
	m->busy_ns = busy_of(x);
	m->permille = permille(&x->load, now, m->busy_ns);
	m->commands = vgpu_load_relaxed64(&x->commands);
	m->commands_done = vgpu_load_relaxed64(&x->qb->commands_done);
	m->launches_done = vgpu_load_relaxed64(&x->qb->launches_done);
	m->since_ns = now - x->since_ns;
	memcpy(m->command, c->command, sizeof(m->command));
}

void load_contexts(struct vgpu_msg_contexts_r *r, uint32_t first)
{
	memset(r, 0, sizeof(*r));
	r->status = VGPU_ST_OK;
	r->first = first;
	r->now_ns = now_ns();
	for (const struct client *c = NULL; (c = client_after(c));)
		for (unsigned n = 0; n < VGPU_MAX_CONTEXTS; n++) {
			const struct context *x = &c->ctx[n];

			if (x->state != CONTEXT_LIVE || r->contexts++ < first || r->count == VGPU_CONTEXTS_PAGE)
				continue;
			describe(&r->context[r->count++], x, r->now_ns);
		}
}
