/* SPDX-License-Identifier: MIT */
/* See work.h. */
#include "work.h"

#include <string.h>

#define LEAST_NS 50u                    /* that a command takes the one thread that ends commands of a context */

static const struct vgpu_qb_work *work_of(const struct context *x)
{
	return (const struct vgpu_qb_work *)(const void *)((const uint8_t *)x->qb + VGPU_QB_WORK);
}

static void add(struct vgpu_times *to, const struct vgpu_times *t, uint64_t age)
{
	uint64_t most = age / LEAST_NS, ns = vgpu_load_relaxed64(&t->ns);

	for (unsigned i = 0; i < VGPU_TIMES; i++) {
		uint64_t n = vgpu_load_relaxed64(&t->n[i]);

		to->n[i] += n < most ? n : most;
	}
	to->ns += ns / VGPU_MAX_STREAMS < age ? ns : age * VGPU_MAX_STREAMS;
}

void work_past(const struct context *x)
{
	uint64_t age = now_ns() - x->since_ns;

	add(&x->device->kernels_past, &work_of(x)->kernels, age);
	add(&x->device->compiles_past, &work_of(x)->compiles, age);
}

/* A claim may shrink, a counter does not. */
static void tell(struct vgpu_times *out, struct vgpu_times *told, const struct vgpu_times *now)
{
	for (unsigned i = 0; i < VGPU_TIMES; i++)
		told->n[i] = now->n[i] > told->n[i] ? now->n[i] : told->n[i];
	told->ns = now->ns > told->ns ? now->ns : told->ns;
	*out = *told;
}

void work_times(struct vgpu_msg_times_r *r, uint32_t device)
{
	struct vgpu_times kernels, compiles;
	struct device *d = &agent.dev[device % VGPU_MAX_DEVICES];
	uint64_t now = now_ns();

	memset(r, 0, sizeof(*r));
	r->status = device < agent.opt.devices ? VGPU_ST_OK : VGPU_ST_INVALID;
	r->device = device;
	memcpy(r->refused, agent.refused, sizeof(r->refused));
	if (r->status != VGPU_ST_OK)
		return;
	kernels = d->kernels_past;
	compiles = d->compiles_past;
	for (unsigned q = 0; q < d->queues; q++) {
		const struct context *x = d->owner[q];

		if (!x || x->state != CONTEXT_LIVE)
			continue;
		add(&kernels, &work_of(x)->kernels, now - x->since_ns);
		add(&compiles, &work_of(x)->compiles, now - x->since_ns);
	}
	tell(&r->kernels, &d->kernels_told, &kernels);
	tell(&r->compiles, &d->compiles_told, &compiles);
}

/* Only between two even values of seq that are the same; what is no printable character is '?'. */
static void name(char *to, const struct vgpu_qb_work *w)
{
	for (unsigned tries = 0; tries < 4; tries++) {
		uint32_t seq = vgpu_load_acquire32(&w->seq);

		memcpy(to, w->kernel, VGPU_KERNEL_NAME);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(seq & 1) && vgpu_load_relaxed32(&w->seq) == seq)
			break;
		to[0] = 0;
	}
	to[VGPU_KERNEL_NAME - 1] = 0;
	for (size_t i = 0, n = strlen(to); i < VGPU_KERNEL_NAME; i++)
		to[i] = i >= n ? 0 : to[i] < 0x20 || to[i] > 0x7e ? '?' : to[i];
}

static void describe(struct vgpu_work *m, const struct context *x)
{
	const struct vgpu_qb_work *w = work_of(x);
	uint64_t age = now_ns() - x->since_ns, ns = vgpu_load_relaxed64(&w->running_ns);

	m->client_id = x->client->id;
	m->context = x->number;
	m->priority = (uint32_t)x->limit[VGPU_LIMIT_PRIORITY].value;
	m->kernel_ms = x->limit[VGPU_LIMIT_KERNEL_MS].value;
	for (unsigned k = VGPU_LIMIT_SHARE_CLIENT; k < VGPU_LIMITS; k++)
		if (x->limit[k].value && (!m->compute || x->limit[k].value < m->compute))
			m->compute = (uint32_t)x->limit[k].value;
	if (!vgpu_load_relaxed32(&w->known))
		return;
	m->running_ns = ns < age ? ns : age;
	name(m->kernel, w);
}

void work_fill(struct vgpu_msg_work_r *r, uint32_t first)
{
	memset(r, 0, sizeof(*r));
	r->status = VGPU_ST_OK;
	r->first = first;
	for (const struct client *c = NULL; (c = client_after(c));)
		for (unsigned n = 0; n < VGPU_MAX_CONTEXTS; n++) {
			const struct context *x = &c->ctx[n];

			if (x->state != CONTEXT_LIVE || r->contexts++ < first || r->count == VGPU_WORK_PAGE)
				continue;
			describe(&r->work[r->count++], x);
		}
}
