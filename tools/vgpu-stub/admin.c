/* SPDX-License-Identifier: MIT */
/*
 * The admin queue (vgpu_device.h): 64-byte commands in the owner's memory, a completion at the same
 * place of another ring, then MSI-X vector 0.
 *
 * A command is copied once and checked in the copy. With DMA by message (dma_msg.h) a command is taken in steps, at
 * the end of this file, and goes through the same execute(). Commands that need a context's answer complete
 * later through an admin_token, out of order: every completion has its own place.
 */
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "dma_msg.h"
#include "stub.h"

static void doorbell_ready(void *owner, uint32_t events)
{
	struct device *d = owner;

	(void)events;
	bell_drain(d->doorbell[0]);
	admin_doorbell(d);
}

int admin_init(struct device *d)
{
	d->admin_src.ready = doorbell_ready;
	d->admin_src.owner = d;
	return loop_add(&d->admin_src, d->doorbell[0], EPOLLIN);
}

void admin_start(struct device *d)
{
	d->admin_index = 0;
	d->async.used = 0;
}

void admin_stop(struct device *d)
{
	d->async.used = 0;
	d->work.busy = d->work.again = 0;
	dma_msg_drop();
}

static void completed(struct device *d, void *arg, int err)
{
	(void)arg;
	if (err)
		device_fatal(d, "the admin completion ring is not writable any more");
	else
		irq_raise(d, 0);
}

/* All but seq, then seq: the second write begins when the first one has ended. */
static void complete_by_message(struct device *d, uint64_t at, const struct vgpu_reply *r)
{
	if (dma_msg_write(at + 4, (const uint8_t *)r + 4, sizeof(*r) - 4, NULL, NULL) ||
	    dma_msg_write(at, &r->seq, sizeof(r->seq), completed, NULL))
		device_fatal(d, "out of memory");
}

void admin_complete(struct device *d, struct admin_token *t, uint32_t status, uint64_t v0,
		    uint64_t v1, uint64_t v2)
{
	struct vgpu_reply r = { .seq = t->seq, .status = status, .v = { v0, v1, v2 } };
	uint64_t at = d->acq + t->place * sizeof(r);

	if (!t->used)
		return;
	t->used = 0;
	if (!(d->csts & VGPU_CSTS_RDY))
		return;
	if (d->config.by_message) {
		complete_by_message(d, at, &r);
		return;
	}
	/* All but seq, then seq with release: the agent's acquire of seq is the partner. */
	if (!pci_bus_master(d)) {
		log_line("a completion (status %u) is lost: the bus-master bit is off", status);
		return;
	}
	if (dma_write(&d->dma, at + 4, (uint8_t *)&r + 4, sizeof(r) - 4) ||
	    dma_store32(&d->dma, at, r.seq)) {
		device_fatal(d, "the admin completion ring is not writable any more");
		return;
	}
	irq_raise(d, 0);
}

/* ---- single commands ---------------------------------------------------------------------- */
static int inside(uint64_t addr, uint64_t bytes, uint64_t base, uint64_t size)
{
	return addr >= base && addr - base <= size && bytes <= size - (addr - base);
}

static uint32_t check_create(const struct device *d, const struct vgpu_ctx_create *c)
{
	static const uint64_t zero[6];
	uint64_t end;

	if (c->queue_iova % VGPU_PAGE || c->seg0_iova % VGPU_PAGE || c->span_base % VGPU_HUGE ||
	    c->device_base % VGPU_HUGE)
		return VGPU_ST_INVALID;
	/* Above the queue block's place and below the end of user addresses, or low and below the block. */
	if (c->span_bytes > VGPU_SPAN_BYTES || __builtin_add_overflow(c->span_base, c->span_bytes, &end) || end > 1ull << 47 ||
	    (c->span_base < CTX_QB_VA + VGPU_GIB && !VGPU_SPAN_IS_LOW(c->span_base)))
		return VGPU_ST_INVALID;
	if (c->span_bytes < VGPU_WINDOW_SPAN + VGPU_DEVICE_SPAN ||
	    !inside(c->device_base, VGPU_DEVICE_SPAN, c->span_base + VGPU_WINDOW_SPAN,
		    c->span_bytes - VGPU_WINDOW_SPAN))
		return VGPU_ST_INVALID;
	if (c->memory_limit > d->info.memory_bytes || c->context >= VGPU_MAX_CONTEXTS ||
	    c->weight < 1 || c->weight > 1000 || c->flags & ~VGPU_CTX_FLAGS ||
	    (!(c->flags & VGPU_CTX_TENANT) && (c->user || c->container)) ||
	    memcmp(c->rsvd, zero, sizeof(zero)))
		return VGPU_ST_INVALID;
	return VGPU_ST_OK;
}

static uint32_t do_create(struct device *d, const struct vgpu_admin_cmd *cmd, struct admin_token *t)
{
	struct vgpu_ctx_create create;
	uint32_t st;

	if (cmd->q >= STUB_QUEUES || cmd->b || cmd->c)
		return VGPU_ST_INVALID;
	if (d->config.by_message)
		create = d->work.create;        /* read before */
	else if (dma_read(&d->dma, cmd->a, &create, sizeof(create)))
		return VGPU_ST_INVALID;
	st = check_create(d, &create);
	return st ? st : ctxproc_create(d, cmd->q, &create, t);
}

static struct context *live_context(struct device *d, uint32_t q)
{
	if (q >= STUB_QUEUES || d->ctx[q].state == CTX_FREE)
		return NULL;
	return &d->ctx[q];
}

static uint32_t do_segment(struct device *d, const struct vgpu_admin_cmd *cmd, struct admin_token *t)
{
	struct context *c = live_context(d, cmd->q);

	if (!c)
		return VGPU_ST_NOT_FOUND;
	if (c->state != CTX_RUNNING)
		return c->state == CTX_STARTING ? VGPU_ST_BUSY : VGPU_ST_CONTEXT_DEAD;
	if (!cmd->b || cmd->a % VGPU_PAGE || cmd->b % VGPU_PAGE || cmd->c % VGPU_PAGE)
		return VGPU_ST_INVALID;
	if (!inside(cmd->c, cmd->b, c->create.span_base, VGPU_WINDOW_SPAN)) {
		if (!inside(cmd->c, cmd->b, c->create.device_base + VGPU_ARENA_BYTES, VGPU_DEVICE_SPAN - VGPU_ARENA_BYTES))
			return VGPU_ST_INVALID;
		/* Seen twice by the context: copies of it (by message) or memory that is the driver's would be two. */
		if (d->config.by_message || d->config.cuda_library)
			return VGPU_ST_NOT_SUPPORTED;
	}
	return ctxproc_segment(c, cmd->a, cmd->b, cmd->c, t);
}

static uint32_t do_set_run(struct device *d, const struct vgpu_admin_cmd *cmd)
{
	struct context *c = live_context(d, cmd->q);

	if (!c)
		return VGPU_ST_NOT_FOUND;
	if (c->state != CTX_RUNNING && c->state != CTX_STARTING)
		return VGPU_ST_CONTEXT_DEAD;
	if (cmd->a > 1)
		return VGPU_ST_INVALID;
	ctxproc_set_run(c, (int)cmd->a);
	return VGPU_ST_OK;
}

static uint32_t do_set_weight(struct device *d, const struct vgpu_admin_cmd *cmd)
{
	struct context *c = live_context(d, cmd->q);

	if (!c)
		return VGPU_ST_NOT_FOUND;
	if (c->state != CTX_RUNNING && c->state != CTX_STARTING)
		return VGPU_ST_CONTEXT_DEAD;
	if (cmd->a < 1 || cmd->a > 1000 || cmd->b || cmd->c)
		return VGPU_ST_INVALID;
	ctxproc_set_weight(c, (uint32_t)cmd->a);
	return VGPU_ST_OK;
}

static uint32_t do_set_limit(struct device *d, const struct vgpu_admin_cmd *cmd)
{
	static const uint64_t most[VGPU_LIMITS] = { [VGPU_LIMIT_KERNEL_MS] = VGPU_KERNEL_MS_MOST, [VGPU_LIMIT_PRIORITY] = VGPU_PRIORITY_HIGH,
		[VGPU_LIMIT_SHARE_CLIENT] = 1000, [VGPU_LIMIT_SHARE_CONTAINER] = 1000, [VGPU_LIMIT_SHARE_USER] = 1000 };
	struct context *c = live_context(d, cmd->q);

	if (!c)
		return VGPU_ST_NOT_FOUND;
	if (c->state != CTX_RUNNING && c->state != CTX_STARTING)
		return VGPU_ST_CONTEXT_DEAD;
	if (cmd->a >= VGPU_LIMITS || cmd->b > most[cmd->a] || (cmd->c != 0) != (cmd->a >= VGPU_LIMIT_SHARE_CLIENT))
		return VGPU_ST_INVALID;
	/* with a driver of the host's the work is a GPU's, of which the kernel counts nothing */
	if (cmd->a != VGPU_LIMIT_KERNEL_MS && d->config.cuda_library)
		return VGPU_ST_NOT_SUPPORTED;
	if (cmd->a == VGPU_LIMIT_KERNEL_MS)
		__atomic_store_n(&c->run->kernel_ms, (uint32_t)cmd->b, __ATOMIC_RELAXED);       /* looked at in its rounds */
	else if (cmd->a == VGPU_LIMIT_PRIORITY)
		c->priority = (uint32_t)cmd->b;
	else
		cap_set(c, (uint32_t)cmd->a - VGPU_LIMIT_SHARE_CLIENT, (uint32_t)cmd->b, cmd->c);
	return VGPU_ST_OK;
}

static uint32_t do_stat(struct device *d, const struct vgpu_admin_cmd *cmd, uint64_t v[3])
{
	struct context *c = live_context(d, cmd->q);
	struct vgpu_qb_head head;

	if (!c)
		return VGPU_ST_NOT_FOUND;
	if (c->state != CTX_RUNNING && c->state != CTX_STARTING)
		return VGPU_ST_CONTEXT_DEAD;
	/* The counters are the context's own claim; the agent has its own accounts. */
	if (d->config.by_message)
		memcpy(&head, c->pieces[0].file->base, sizeof(head));
	else if (dma_read(&d->dma, c->create.queue_iova, &head, sizeof(head)))
		return VGPU_ST_INVALID;
	v[0] = head.memory_bytes;
	v[1] = head.commands_done;
	v[2] = (uint64_t)c->pid;
	return VGPU_ST_OK;
}

/* A dead context that nobody was told of yet: its event goes out now. */
static void flush_deaths(struct device *d)
{
	for (uint32_t q = 0; d->async.used && q < STUB_QUEUES; q++) {
		struct context *c = &d->ctx[q];

		if (!c->death_pending)
			continue;
		c->death_pending = 0;
		admin_complete(d, &d->async, VGPU_ST_OK, c->qid, c->death_status, 0);
	}
}

void admin_context_died(struct device *d, struct context *c)
{
	c->death_pending = 1;
	if (pci_bus_master(d))
		flush_deaths(d);
}

static int is_clean(const struct vgpu_admin_cmd *cmd)
{
	static const uint64_t zero[4];

	return !memcmp(cmd->rsvd, zero, sizeof(zero));
}

static void execute(struct device *d, const struct vgpu_admin_cmd *cmd, struct admin_token *t)
{
	uint64_t v[3] = { 0, 0, 0 };
	uint32_t st;

	log_verbose("admin op %u, queue %u", cmd->op, cmd->q);
	if (!is_clean(cmd)) {
		admin_complete(d, t, VGPU_ST_INVALID, 0, 0, 0);
		return;
	}
	switch (cmd->op) {
	case VGPU_ADMIN_IDENTIFY:
		st = dma_write(&d->dma, cmd->a, &d->info, sizeof(d->info)) ? VGPU_ST_INVALID : VGPU_ST_OK;
		break;
	case VGPU_ADMIN_CTX_CREATE:
		st = do_create(d, cmd, t);
		if (!st)
			return;                 /* READY, or its absence, completes it */
		break;
	case VGPU_ADMIN_CTX_DESTROY:
		if (!live_context(d, cmd->q)) {
			st = VGPU_ST_NOT_FOUND;
			break;
		}
		ctxproc_destroy(&d->ctx[cmd->q], t);
		return;
	case VGPU_ADMIN_SEGMENT:
		st = do_segment(d, cmd, t);
		if (!st)
			return;
		break;
	case VGPU_ADMIN_SET_RUN:
		st = do_set_run(d, cmd);
		break;
	case VGPU_ADMIN_SET_WEIGHT:
		st = do_set_weight(d, cmd);
		break;
	case VGPU_ADMIN_SET_LIMIT:
		st = do_set_limit(d, cmd);
		break;
	case VGPU_ADMIN_ASYNC_EVENT:
		/*
		 * The newest only: the agent posts another one before the ring's wrap reaches the
		 * place of the older, which is never completed then.
		 */
		d->async = *t;
		flush_deaths(d);
		return;
	case VGPU_ADMIN_CTX_STAT:
		st = do_stat(d, cmd, v);
		break;
	default:
		log_line("unknown admin command %u", cmd->op);
		st = VGPU_ST_NOT_SUPPORTED;
	}
	admin_complete(d, t, st, v[0], v[1], v[2]);
}

/* ---- by message --------------------------------------------------------------------------- */
static void take_next(struct device *d);

/* The command in d->work is done with, one way or another. */
static void next_one(struct device *d)
{
	d->work.busy = 0;
	d->work.again = 1;              /* there may be more */
	take_next(d);
}

static void identified(struct device *d, void *arg, int err)
{
	(void)arg;
	admin_complete(d, &d->work.token, err ? VGPU_ST_INVALID : VGPU_ST_OK, 0, 0, 0);
	next_one(d);
}

static void create_read(struct device *d, void *arg, int err)
{
	(void)arg;
	if (err)
		admin_complete(d, &d->work.token, VGPU_ST_INVALID, 0, 0, 0);
	else
		execute(d, &d->work.cmd, &d->work.token);
	next_one(d);
}

/* The whole command, after its sequence word was seen: the agent stores that one last. */
static void fetched(struct device *d, void *arg, int err)
{
	struct admin_work *w = &d->work;
	int queued = 0;

	(void)arg;
	if (err || w->cmd.seq != w->seq) {
		device_fatal(d, "an admin command changed while it was read");
		return;
	}
	w->token = (struct admin_token){ 1, w->seq, (uint32_t)(d->admin_index % VGPU_ADMIN_SLOTS) };
	d->admin_index++;
	if (!is_clean(&w->cmd))
		queued = 0;
	else if (w->cmd.op == VGPU_ADMIN_IDENTIFY)
		queued = dma_msg_write(w->cmd.a, &d->info, sizeof(d->info), identified, NULL) == 0;
	else if (w->cmd.op == VGPU_ADMIN_CTX_CREATE)
		queued = dma_msg_read(w->cmd.a, &w->create, sizeof(w->create), create_read, NULL) == 0;
	if (queued)
		return;
	execute(d, &w->cmd, &w->token);
	next_one(d);
}

static uint64_t next_slot(const struct device *d)
{
	return d->asq + d->admin_index % VGPU_ADMIN_SLOTS * sizeof(struct vgpu_admin_cmd);
}

static void looked(struct device *d, void *arg, int err)
{
	struct admin_work *w = &d->work;

	(void)arg;
	if (err) {
		device_fatal(d, "the admin submission ring is not readable");
	} else if (w->seq != (uint32_t)(d->admin_index + 1)) {
		w->busy = 0;
		take_next(d);
	} else if (dma_msg_read(next_slot(d), &w->cmd, sizeof(w->cmd), fetched, NULL)) {
		device_fatal(d, "out of memory");
	}
}

static void take_next(struct device *d)
{
	if (d->work.busy || !d->work.again || !(d->csts & VGPU_CSTS_RDY))
		return;
	d->work.again = 0;
	d->work.busy = dma_msg_read(next_slot(d), &d->work.seq, sizeof(d->work.seq), looked, NULL) == 0;
}

void admin_doorbell(struct device *d)
{
	uint64_t again = 1;

	if (!(d->csts & VGPU_CSTS_RDY) || !pci_bus_master(d))
		return;
	if (d->config.by_message) {
		d->work.again = 1;
		take_next(d);
		return;
	}
	flush_deaths(d);
	/* A lap at most, then other sources get their turn; the doorbell stays rung for the rest. */
	for (unsigned n = 0; n < VGPU_ADMIN_SLOTS; n++) {
		struct admin_token t = { 1, (uint32_t)(d->admin_index + 1),
					 (uint32_t)(d->admin_index % VGPU_ADMIN_SLOTS) };
		uint64_t at = d->asq + t.place * sizeof(struct vgpu_admin_cmd);
		struct vgpu_admin_cmd cmd;
		uint32_t seq;

		if (!(d->csts & VGPU_CSTS_RDY) || !pci_bus_master(d))
			return;
		/* Acquire; the partner is the agent's release store of seq. */
		if (dma_load32(&d->dma, at, &seq)) {
			device_fatal(d, "the admin submission ring is not readable any more");
			return;
		}
		if (seq != t.seq)
			return;
		if (dma_read(&d->dma, at, &cmd, sizeof(cmd)) || cmd.seq != t.seq) {
			device_fatal(d, "an admin command changed while it was read");
			return;
		}
		d->admin_index++;
		execute(d, &cmd, &t);
	}
	if (write(d->doorbell[0], &again, 8) != 8)
		log_verbose("admin doorbell: cannot ring again");
}
