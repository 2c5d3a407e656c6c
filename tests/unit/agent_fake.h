/* SPDX-License-Identifier: MIT */
/*
 * A device in the test's own process, behind the agent's vfio ops table: registers, DMA table, admin
 * queue and contexts that complete everything at once. Knobs make it slow, wrong or dead.
 * One thread plays the device; the table is used under one lock, so that sanitizers see clean code.
 */
#ifndef AGENT_FAKE_H
#define AGENT_FAKE_H

#include <pthread.h>
#include <sys/eventfd.h>

#include "../../agent/options.h"
#include "../../agent/vfio.h"

#define FAKE_MAPS 512
#define FAKE_QUEUES 16u
#define FAKE_MEMORY (1ull << 30)

struct fake_ctx {
	int live;
	struct vgpu_ctx_create create;
	uint8_t *qb, *seg0;
	uint64_t io, ctl;
	uint64_t sum;                   /* of all payload bytes it saw */
	unsigned segments;
};

static struct fake {
	pthread_mutex_t lock;
	pthread_t thread;
	int stop, running, attached;
	struct { uint64_t iova, bytes; uint8_t *va; } map[FAKE_MAPS];
	unsigned maps, maps_peak;
	uint64_t asq, acq;
	uint32_t cc;
	uint16_t command;
	int irq[1 + FAKE_QUEUES], bell[1 + FAKE_QUEUES], poll;
	uint64_t admin_head, async;
	struct fake_ctx ctx[FAKE_QUEUES];
	/* knobs */
	int hold;                       /* queue + 1: takes nothing from its rings */
	int lie_head;                   /* queue + 1: claims to have consumed too much */
	int lie_status;                 /* replies carry a status that does not exist */
	int dead;                       /* the connection is gone */
	int die;                        /* queue + 1: that context's process dies */
	int fail_create;                /* enum vgpu_status */
	int silent;                     /* enum vgpu_admin_op: is never answered */
	int deaf;                       /* answers no admin command at all */
	int ends;                       /* contexts end when this is 0 again */
	int starts;                     /* and begin when this is */
	int mute;                       /* bit per queue: a SEGMENT of that context is answered when this is 0 again */
	uint64_t muted[64];             /* ... index + 1 by place */
	unsigned mutes;
	int old_cap;                    /* offers no features in CAP */
	int no_doorbell_fds;
	int lost_page;                  /* of doorbells: can be mapped, and faults */
	uint64_t rings;
} fake = { .lock = PTHREAD_MUTEX_INITIALIZER };

#define FAKE_SET(knob, value) do { pthread_mutex_lock(&fake.lock); fake.knob = (value); pthread_mutex_unlock(&fake.lock); } while (0)

static int fake_dead(void)
{
	int dead;

	pthread_mutex_lock(&fake.lock);
	dead = fake.dead;
	pthread_mutex_unlock(&fake.lock);
	return dead;
}

static uint8_t *fake_at(uint64_t iova, uint64_t bytes)
{
	for (unsigned i = 0; i < fake.maps; i++)
		if (iova >= fake.map[i].iova && iova + bytes <= fake.map[i].iova + fake.map[i].bytes)
			return fake.map[i].va + (iova - fake.map[i].iova);
	return NULL;
}

static void fake_irq(unsigned vector)
{
	uint64_t one = 1;

	if (write(fake.irq[vector], &one, 8) < 0)
		return;
}

static void fake_complete(uint64_t index, uint32_t status, uint64_t v0, uint64_t v1)
{
	struct vgpu_reply *r = (struct vgpu_reply *)fake_at(fake.acq + index % 64 * 64, 64);

	if (!r)
		return;
	__atomic_store_n(&r->v[0], v0, __ATOMIC_RELAXED);
	__atomic_store_n(&r->v[1], v1, __ATOMIC_RELAXED);
	__atomic_store_n(&r->status, status, __ATOMIC_RELAXED);
	vgpu_store_release32(&r->seq, (uint32_t)(index + 1));
	fake_irq(0);
}

static uint32_t fake_create(unsigned q, uint64_t iova)
{
	struct vgpu_ctx_create *c = (struct vgpu_ctx_create *)fake_at(iova, sizeof(*c));
	struct fake_ctx *x = &fake.ctx[q];

	if (fake.fail_create)
		return (uint32_t)fake.fail_create;
	if (!c || x->live)
		return c ? VGPU_ST_BUSY : VGPU_ST_INVALID;
	memset(x, 0, sizeof(*x));
	x->create = *c;
	x->qb = fake_at(c->queue_iova, VGPU_QB_BYTES);
	x->seg0 = fake_at(c->seg0_iova, VGPU_SEG0_BYTES);
	if (!x->qb || !x->seg0)
		return VGPU_ST_INVALID;
	x->live = 1;
	return VGPU_ST_OK;
}

static void fake_admin(void)
{
	struct vgpu_admin_cmd *s;

	while ((fake.cc & 1) && (s = (struct vgpu_admin_cmd *)fake_at(fake.asq + fake.admin_head % 64 * 64, 64)) &&
	       vgpu_load_acquire32(&s->seq) == (uint32_t)(fake.admin_head + 1)) {
		uint64_t index = fake.admin_head++;
		struct fake_ctx *x = &fake.ctx[s->q % FAKE_QUEUES];
		uint32_t st = VGPU_ST_OK;
		uint8_t *info;

		if (fake.silent == s->op || fake.deaf)
			continue;
		switch (s->op) {
		case VGPU_ADMIN_IDENTIFY:
			info = fake_at(s->a, 512);
			if (info) {
				struct vgpu_device_info i = { .name = "fake", .engine = "none", .memory_bytes = FAKE_MEMORY,
							      .sm_count = 1, .max_contexts = FAKE_QUEUES };

				memcpy(info, &i, sizeof(i));
			}
			break;
		case VGPU_ADMIN_CTX_CREATE:
			st = fake_create(s->q % FAKE_QUEUES, s->a);
			if (fake.starts && !st) {
				fake.muted[fake.mutes++ % 64] = index + 1;
				continue;
			}
			break;
		case VGPU_ADMIN_CTX_DESTROY:
			x->live = 0;
			if (fake.ends) {
				fake.muted[fake.mutes++ % 64] = index + 1;
				continue;
			}
			break;
		case VGPU_ADMIN_SEGMENT:
			if (fake.mute & 1 << s->q % FAKE_QUEUES) {
				fake.muted[fake.mutes++ % 64] = index + 1;
				continue;
			}
			st = x->live && fake_at(s->a, s->b) ? VGPU_ST_OK : VGPU_ST_INVALID;
			x->segments++;
			break;
		case VGPU_ADMIN_ASYNC_EVENT:
			fake.async = index + 1;
			continue;
		}
		fake_complete(index, st, 0, 0);
	}
	while (!fake.mute && !fake.ends && !fake.starts && fake.mutes)
		fake_complete(fake.muted[--fake.mutes % 64] - 1, VGPU_ST_OK, 0, 0);
	if (fake.die && fake.async) {
		fake.ctx[fake.die - 1].live = 0;
		fake_complete(fake.async - 1, VGPU_ST_OK, (uint64_t)fake.die - 1, VGPU_ST_CONTEXT_DEAD);
		fake.async = 0;
		fake.die = 0;
	}
}

static void fake_interrupt(struct fake_ctx *x, unsigned q)
{
	struct vgpu_qb_head *qb = (struct vgpu_qb_head *)x->qb;

	if (!vgpu_exchange32(&qb->irq_pending, 1))
		fake_irq(1 + q);
}

static void fake_io(struct fake_ctx *x, unsigned q)
{
	struct vgpu_qb_head *qb = (struct vgpu_qb_head *)x->qb;
	union vgpu_slot *ring = (union vgpu_slot *)(x->qb + VGPU_QB_IO);
	struct vgpu_timeline *tl = (struct vgpu_timeline *)(x->seg0 + VGPU_CTX_OFFSET(x->create.context) + VGPU_CTX_TIMELINES);

	while (vgpu_slot_ready(&ring[x->io % VGPU_DEV_IO_SLOTS], x->io)) {
		struct vgpu_cmd c;

		memcpy(&c, &ring[x->io % VGPU_DEV_IO_SLOTS], sizeof(c));
		for (unsigned k = 1; k < c.slots; k++)
			for (unsigned b = 0; b < VGPU_SLOT_PAYLOAD; b++)
				x->sum += ring[(x->io + k) % VGPU_DEV_IO_SLOTS].payload.bytes[b];
		x->io += c.slots;
		vgpu_store_release64(&qb->io_head, x->io);
		vgpu_store_release64(&tl[c.stream].value, c.ticket);
		vgpu_full_fence();
		if (vgpu_load_relaxed32(&tl[c.stream].waiter)) {
			vgpu_store_relaxed32(&tl[c.stream].waiter, 0);
			vgpu_or64(&qb->fired[c.stream / 64], 1ull << c.stream % 64);
			fake_interrupt(x, q);
		}
	}
}

static void fake_ctl(struct fake_ctx *x, unsigned q)
{
	struct vgpu_qb_head *qb = (struct vgpu_qb_head *)x->qb;
	union vgpu_slot *ring = (union vgpu_slot *)(x->qb + VGPU_QB_CTL);

	while (vgpu_slot_ready(&ring[x->ctl % 64], x->ctl)) {
		struct vgpu_reply *r = (struct vgpu_reply *)(x->qb + VGPU_QB_REPLIES) + x->ctl % 64;
		struct vgpu_cmd c;

		memcpy(&c, &ring[x->ctl % 64], sizeof(c));
		x->ctl++;
		vgpu_store_release64(&qb->ctl_head, x->ctl);
		vgpu_store_relaxed64(&r->v[0], c.op == VGPU_OP_PING ? 4711 : c.u.ctl.a);
		vgpu_store_relaxed32(&r->status, fake.lie_status ? 999 : VGPU_ST_OK);
		vgpu_store_release32(&r->seq, (uint32_t)x->ctl);
		vgpu_full_fence();
		if (vgpu_load_relaxed32(&qb->reply_waiter)) {
			vgpu_store_relaxed32(&qb->reply_waiter, 0);
			fake_interrupt(x, q);
		}
	}
}

static void *fake_loop(void *unused)
{
	(void)unused;
	for (;;) {
		struct timespec pause = { 0, 100000 };

		pthread_mutex_lock(&fake.lock);
		if (fake.stop) {
			pthread_mutex_unlock(&fake.lock);
			return NULL;
		}
		if (fake.attached)
			fake_admin();
		for (unsigned q = 0; fake.attached && q < FAKE_QUEUES; q++) {
			struct fake_ctx *x = &fake.ctx[q];

			if (!x->live || fake.hold == (int)q + 1)
				continue;
			if (fake.lie_head == (int)q + 1) {
				vgpu_store_release64(&((struct vgpu_qb_head *)x->qb)->io_head, 1ull << 40);
				continue;
			}
			fake_io(x, q);
			fake_ctl(x, q);
		}
		pthread_mutex_unlock(&fake.lock);
		nanosleep(&pause, NULL);
	}
}

/* ---- the ops table ---------------------------------------------------------------------------- */

static int fake_open(const char *spec, struct vfio **out, char *why, size_t n)
{
	(void)spec;
	pthread_mutex_lock(&fake.lock);
	if (fake.dead) {
		pthread_mutex_unlock(&fake.lock);
		snprintf(why, n, "the fake device is dead");
		return -ECONNREFUSED;
	}
	fake.attached = 1;
	fake.poll = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	for (unsigned i = 0; i <= FAKE_QUEUES; i++)
		fake.irq[i] = fake.bell[i] = -1;
	*out = (struct vfio *)&fake;
	pthread_mutex_unlock(&fake.lock);
	return 0;
}

static int fake_region_info(struct vfio *v, unsigned region, uint64_t *bytes)
{
	(void)v;
	*bytes = region ? 4096 : VGPU_BAR0_BYTES;
	return 0;
}

static int fake_read(struct vfio *v, unsigned region, uint64_t offset, void *to, unsigned bytes)
{
	uint32_t value = 0;

	(void)v;
	pthread_mutex_lock(&fake.lock);
	if (region == VFIO_PCI_CONFIG)
		value = offset == 4 ? fake.command : VGPU_PCI_VENDOR | VGPU_PCI_DEVICE << 16;
	else if (offset == VGPU_REG_MAGIC)
		value = VGPU_DEV_MAGIC;
	else if (offset == VGPU_REG_VERSION)
		value = VGPU_PROTOCOL_VERSION;
	else if (offset == VGPU_REG_CAP)
		value = FAKE_QUEUES | VGPU_ADMIN_SLOTS << 16;
	else if (offset == VGPU_REG_CAP + 4)
		value = fake.old_cap ? 0 : VGPU_CAP_CLIENT_FENCE | VGPU_CAP_TENANTS;
	else if (offset == VGPU_REG_CSTS)
		value = fake.cc & fake.command >> 2 & 1;
	pthread_mutex_unlock(&fake.lock);
	memcpy(to, &value, bytes);
	return fake_dead() ? -EPIPE : 0;
}

static int fake_write(struct vfio *v, unsigned region, uint64_t offset, const void *from, unsigned bytes)
{
	uint32_t value = 0;

	(void)v;
	memcpy(&value, from, bytes);
	pthread_mutex_lock(&fake.lock);
	if (region == VFIO_PCI_CONFIG)
		fake.command = (uint16_t)value;
	else if (offset == VGPU_REG_ASQ)
		fake.asq = value;
	else if (offset == VGPU_REG_ASQ + 4)
		fake.asq |= (uint64_t)value << 32;
	else if (offset == VGPU_REG_ACQ)
		fake.acq = value;
	else if (offset == VGPU_REG_ACQ + 4)
		fake.acq |= (uint64_t)value << 32;
	else if (offset == VGPU_REG_CC) {
		fake.cc = value;
		fake.admin_head = fake.async = 0;
	}
	pthread_mutex_unlock(&fake.lock);
	return 0;
}

static int fake_region_map(struct vfio *v, unsigned region, uint64_t offset, uint64_t bytes, void **va)
{
	int fd, lost;

	(void)v, (void)region, (void)offset;
	pthread_mutex_lock(&fake.lock);
	lost = fake.lost_page;
	pthread_mutex_unlock(&fake.lock);
	if (!lost)
		return -ENOTSUP;
	/* nothing in it: a store raises SIGBUS, as where a function's memory is switched off */
	fd = (int)syscall(SYS_memfd_create, "lost", 1u);
	*va = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return *va == MAP_FAILED ? -errno : 0;
}

static int fake_irq_set(struct vfio *v, unsigned index, unsigned start, unsigned count, const int *fds)
{
	(void)v, (void)index;
	pthread_mutex_lock(&fake.lock);
	for (unsigned i = 0; i < count && start + i <= FAKE_QUEUES; i++)
		fake.irq[start + i] = dup(fds[i]);
	pthread_mutex_unlock(&fake.lock);
	return 0;
}

static int fake_dma_map(struct vfio *v, iova_t iova, uint64_t bytes, int fd, uint64_t offset, void *va)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	int rc = -ENOMEM;

	(void)v, (void)va;
	pthread_mutex_lock(&fake.lock);
	if (p != MAP_FAILED && fake.maps < FAKE_MAPS) {
		fake.map[fake.maps].iova = iova.v;
		fake.map[fake.maps].bytes = bytes;
		fake.map[fake.maps++].va = p;
		rc = 0;
	}
	if (fake.maps > fake.maps_peak)
		fake.maps_peak = fake.maps;
	pthread_mutex_unlock(&fake.lock);
	return rc;
}

static int fake_dma_unmap(struct vfio *v, iova_t iova, uint64_t bytes)
{
	(void)v;
	pthread_mutex_lock(&fake.lock);
	for (unsigned i = 0; i < fake.maps; i++) {
		if (fake.map[i].iova != iova.v || fake.map[i].bytes != bytes)
			continue;
		munmap(fake.map[i].va, bytes);
		fake.map[i] = fake.map[--fake.maps];
		break;
	}
	pthread_mutex_unlock(&fake.lock);
	return 0;
}

static int fake_doorbells(struct vfio *v, uint64_t base, unsigned count, int *fds)
{
	(void)v, (void)base;
	for (unsigned i = 0; i < count; i++)
		fds[i] = fake.no_doorbell_fds ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return fake.no_doorbell_fds ? -ENOTSUP : 0;
}

static void fake_ring(struct vfio *v, uint64_t offset, uint32_t value)
{
	(void)v, (void)offset, (void)value;
	__atomic_fetch_add(&fake.rings, 1, __ATOMIC_RELAXED);
}

static int fake_reset(struct vfio *v)
{
	(void)v;
	return 0;
}

static int fake_poll_fd(struct vfio *v)
{
	(void)v;
	return fake.poll;
}

static int fake_event(struct vfio *v)
{
	(void)v;
	return fake_dead() ? -EPIPE : 0;
}

static void fake_close(struct vfio *v)
{
	(void)v;
	pthread_mutex_lock(&fake.lock);
	fake.attached = 0;
	fake.cc = 0;
	for (unsigned i = 0; i <= FAKE_QUEUES; i++)
		if (fake.irq[i] >= 0)
			close(fake.irq[i]);
	while (fake.maps) {
		fake.maps--;
		munmap(fake.map[fake.maps].va, fake.map[fake.maps].bytes);
	}
	memset(fake.ctx, 0, sizeof(fake.ctx));
	close(fake.poll);
	pthread_mutex_unlock(&fake.lock);
}

static const struct vfio_ops fake_ops = {
	.prefix = "fake:", .name = "fake", .same_kernel = 1,
	.open = fake_open, .region_info = fake_region_info, .region_read = fake_read, .region_write = fake_write,
	.region_map = fake_region_map, .irq_set = fake_irq_set, .dma_map = fake_dma_map, .dma_unmap = fake_dma_unmap,
	.doorbell_fds = fake_doorbells, .ring = fake_ring, .reset = fake_reset, .poll_fd = fake_poll_fd,
	.event = fake_event, .close = fake_close,
};

/* The connection breaks: as if the device's process had been killed. */
static void fake_kill(void)
{
	uint64_t one = 1;

	pthread_mutex_lock(&fake.lock);
	fake.dead = 1;
	if (write(fake.poll, &one, 8) < 0)
		fake.dead = 2;
	pthread_mutex_unlock(&fake.lock);
}

/* An agent's options with this device, and room for windows of a client or so. */
static void fake_options(char *path, size_t room, const char *name)
{
	snprintf(path, room, "/tmp/vgpu-%s-%d.sock", name, (int)getpid());
	options_default(&agent.opt);
	snprintf(agent.opt.listen, sizeof(agent.opt.listen), "%s", path);
	agent.opt.device[agent.opt.devices++] = "fake:";
	agent.opt.sandbox = agent.opt.huge = 0;
	agent.opt.client_window = 96 << 20;
	agent.opt.windows = 110 << 20;
}

static void fake_start(void)
{
	pthread_create(&fake.thread, NULL, fake_loop, NULL);
	vfio_add(&fake_ops);
}

static void fake_stop(void)
{
	FAKE_SET(stop, 1);
	pthread_join(fake.thread, NULL);
}

#endif
