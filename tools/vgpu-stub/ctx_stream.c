/* SPDX-License-Identifier: MIT */
/*
 * Streams: order, waits, the legacy barrier, completion.
 *
 * A stream runs its commands one after the other; streams know nothing of each other but what a
 * command says. A stream is in exactly one place (`where`): idle, in the ready list, at the engine
 * with a launch, or waiting for the barrier, for another stream of this context, or for memory that
 * somebody else writes. Nothing here blocks, and no list is searched: whatever ends a wait knows the list.
 *
 * The legacy barrier. LEGACY and BLOCKING commands, in ticket order, form alternating runs:
 *
 *   B B B | L | B B | L L | B      phases 0 1 2 3 4
 *
 * A command may start when all earlier phases are complete, so a phase is nothing but a count of
 * open commands. Commands of one phase are independent (legacy ones share the default stream, whose own
 * order holds). A run that is complete when the other kind comes along is simply re-used.
 */
#include "ctx.h"

#include <string.h>

static void *pool_get(struct ctx_pool *p)
{
	void *b = p->free;

	if (b)
		memcpy(&p->free, b, sizeof(p->free));
	else if (p->used < p->max)
		b = p->base + (size_t)p->used++ * p->item;
	return b;
}

static void pool_put(struct ctx_pool *p, void *b)
{
	memcpy(b, &p->free, sizeof(p->free));
	p->free = b;
}

static int pool_init(struct ctx_pool *p, uint32_t item, uint32_t max)
{
	*p = (struct ctx_pool){ .base = ctx_anon((uint64_t)item * max), .item = item, .max = max };
	return p->base ? 0 : -1;
}

int ctx_stream_init(struct ctx *c)
{
	c->streams = ctx_anon(sizeof(*c->streams) * VGPU_MAX_STREAMS);
	c->phase_open = ctx_anon(sizeof(*c->phase_open) * CTX_PHASES);
	if (!c->streams || !c->phase_open)
		return -1;
	return pool_init(&c->nodes, sizeof(struct ctx_node), CTX_NODES) ||
	       pool_init(&c->mids, CTX_MID_BYTES, CTX_MIDS) ||
	       pool_init(&c->bigs, CTX_BIG_BYTES, CTX_BIGS) ? -1 : 0;
}

int ctx_stream_room(const struct ctx *c)
{
	return (c->nodes.free || c->nodes.used < c->nodes.max) &&
	       (c->bigs.free || c->bigs.used < c->bigs.max);
}

static struct ctx_node *node_new(struct ctx *c, const struct vgpu_cmd *cmd, uint32_t phase,
				 uint32_t payload_bytes)
{
	struct ctx_node *n = pool_get(&c->nodes);       /* there is one: ctx_stream_room() */

	n->next = NULL;
	n->cmd = *cmd;
	n->at = (struct ctx_progress){ 0 };
	n->phase = phase;
	n->payload_bytes = payload_bytes;
	n->payload = n->own;
	if (payload_bytes > CTX_INLINE) {
		n->payload = payload_bytes <= CTX_MID_BYTES ? pool_get(&c->mids) : NULL;
		if (!n->payload)
			n->payload = pool_get(&c->bigs);
	}
	return n;
}

static void node_free(struct ctx *c, struct ctx_node *n)
{
	if (n->payload != n->own) {
		size_t at = (size_t)(n->payload - c->mids.base);

		pool_put(at < (size_t)CTX_MIDS * CTX_MID_BYTES ? &c->mids : &c->bigs, n->payload);
	}
	pool_put(&c->nodes, n);
}

static void push(struct ctx_list *l, struct ctx_stream *s, enum ctx_where where)
{
	s->where = where;
	s->link = NULL;
	if (l->head)
		l->tail->link = s;
	else
		l->head = s;
	l->tail = s;
}

static struct ctx_stream *pop(struct ctx_list *l)
{
	struct ctx_stream *s = l->head;

	if (s)
		l->head = s->link;
	return s;
}

static void all_ready(struct ctx *c, struct ctx_stream *s)
{
	while (s) {
		struct ctx_stream *next = s->link;

		push(&c->ready, s, STREAM_READY);
		s = next;
	}
}

/* ---- the legacy barrier ------------------------------------------------------------------ */

/* Returns the phase + 1, or 0 for a command that takes no part. */
static uint32_t phase_enter(struct ctx *c, unsigned flags)
{
	int legacy = !!(flags & VGPU_CMD_LEGACY);

	if (!(flags & (VGPU_CMD_LEGACY | VGPU_CMD_BLOCKING)))
		return 0;
	if (legacy != c->phase_legacy) {
		if (c->phase_open[c->phase_last])
			c->phase_last = (c->phase_last + 1) % CTX_PHASES;
		c->phase_legacy = legacy;
	}
	c->phase_open[c->phase_last]++;
	return c->phase_last + 1;
}

static void phase_leave(struct ctx *c, uint32_t phase)
{
	uint32_t first = c->phase_first;

	if (!phase)
		return;
	c->phase_open[phase - 1]--;
	while (c->phase_first != c->phase_last && !c->phase_open[c->phase_first])
		c->phase_first = (c->phase_first + 1) % CTX_PHASES;
	if (first != c->phase_first) {
		struct ctx_stream *s = c->phase_wait.head;

		c->phase_wait.head = NULL;
		all_ready(c, s);
	}
}

/* ---- completion ---------------------------------------------------------------------------- */

/* Partner: the client's wait, which leaves its ticket in waiter, fences, and looks at value again. */
static void publish(struct ctx *c, struct ctx_stream *s, uint64_t ticket)
{
	unsigned i = (unsigned)(s - c->streams);
	struct vgpu_timeline *t = &c->timelines[i];

	s->done = ticket;
	if (s->error) {
		vgpu_store_relaxed32(&t->error, s->error);
		s->error = 0;           /* told; the client takes away what ends nothing */
	}
	vgpu_store_release64(&t->value, ticket);
	vgpu_store_release64(&c->shadow[i], ticket);
	vgpu_publisher_fence(c->asym_client);
	if (vgpu_timeline_due(t, ticket)) {
		vgpu_store_relaxed32(&t->waiter, 0);
		vgpu_or64(&c->qb->fired[i / 64], 1ull << (i % 64));
		ctx_irq(c);
	}
}

static void complete(struct ctx *c, struct ctx_stream *s, uint64_t ticket, uint32_t phase,
		     uint32_t status)
{
	struct ctx_stream *w = s->waiters;

	vgpu_store_relaxed64(&c->qb->commands_done, ++c->commands_done);
	if (status) {
		if (vgpu_status_sticky(status)) {
			ctx_die(c, status);     /* flushes this stream like all others */
			return;
		}
		/* Refused, e.g. a launch beyond the limits: the stream says so and goes on. */
		s->error = status;
		ctx_log(c, "stream %u: command %llu refused: %s", (unsigned)(s - c->streams),
			(unsigned long long)ticket, c->why[0] ? c->why : vgpu_status_text(status));
		c->why[0] = 0;
	}
	publish(c, s, ticket);
	if (w) {
		s->waiters = NULL;
		all_ready(c, w);
	}
	phase_leave(c, phase);
}

/*
 * Everything that is queued completes with the sticky error. Launches at the engine run out unheard.
 * Phases stay as they are: no command is ever started again.
 */
void ctx_stream_flush(struct ctx *c)
{
	for (uint32_t i = 0; i < c->streams_used; i++) {
		struct ctx_stream *s = &c->streams[i];

		while (s->head) {
			struct ctx_node *n = s->head;

			s->head = n->next;
			node_free(c, n);
		}
		while (s->out) {
			struct ctx_node *n = s->out;

			s->out = n->next;
			node_free(c, n);
		}
		s->tail = NULL;
		s->waiters = s->link = NULL;
		s->where = STREAM_IDLE;
		if (s->taken > s->done) {
			s->error = c->error;
			publish(c, s, s->taken);
		}
	}
	c->ready.head = c->poll.head = c->phase_wait.head = NULL;
}

/* ---- an engine that queues --------------------------------------------------------------------- */

static int on_device(const struct ctx *c, uint64_t at) { return at - c->env.device_base < c->env.device_bytes; }

int ctx_stream_queues(const struct ctx *c, const struct vgpu_cmd *cmd)
{
	if (!c->ops->settle)
		return 0;
	switch (cmd->op) {
	case VGPU_OP_LAUNCH:
	case VGPU_OP_LAUNCH_LARGE:
	case VGPU_OP_GEMM:
	case VGPU_OP_TRSM:
		return 1;
	case VGPU_OP_COPY:
	case VGPU_OP_COPY3D:
		/* What a thread of the host has to move would be waited for in the engine, behind all that is out. */
		return on_device(c, cmd->u.copy.dst) ? on_device(c, cmd->u.copy.src) || c->ops->reaches(c->engine) :
		       on_device(c, cmd->u.copy.src) && c->ops->reaches(c->engine);
	case VGPU_OP_COPY_INLINE:
		return on_device(c, cmd->u.copy.dst);
	case VGPU_OP_FILL:
		return on_device(c, cmd->u.fill.dst);
	}
	return 0;
}

static void begin(const struct ctx *c, struct ctx_stream *s)
{
	ctx_work_began(c, s);
	s->fn = s->out && s->out->cmd.op == VGPU_OP_LAUNCH ? s->out->cmd.u.launch.fn : 0;
}

/* Given to the engine; or over already, where those before it are not. */
static void out_push(const struct ctx *c, struct ctx_stream *s, struct ctx_node *n, uint32_t status)
{
	n->next = NULL;
	n->payload_bytes = status;
	if (s->out)
		s->out_tail->next = n;
	else
		s->out = n;
	if (!s->out->next)
		begin(c, s);
	s->out_tail = n;
	s->where = STREAM_RUNNING;
}

/* The dispatcher, out of the engine's poll(): the first one of the stream. */
static void ended(struct ctx *c, struct ctx_stream *s, uint32_t status)
{
	c->launches_out--;
	if (c->error || !s->out)
		return;         /* its timeline has moved on with the error */
	s->out->payload_bytes = status ? status : CTX_ENDED;
	while (s->out && s->out->payload_bytes) {
		struct ctx_node *n = s->out;
		uint64_t ticket = n->cmd.ticket;
		uint32_t phase = n->phase;

		status = n->payload_bytes == CTX_ENDED ? VGPU_ST_OK : n->payload_bytes;
		s->out = n->next;
		if (n->cmd.op == VGPU_OP_LAUNCH || n->cmd.op == VGPU_OP_LAUNCH_LARGE || n->cmd.op == VGPU_OP_GEMM || n->cmd.op == VGPU_OP_TRSM) {
			vgpu_store_relaxed64(&c->qb->launches_done, ++c->launches_done);
			ctx_work_took(c, &c->work->kernels, ctx_ticks() - s->began);
		}
		node_free(c, n);
		complete(c, s, ticket, phase, status);
		if (c->error)
			return;
	}
	begin(c, s);
	if (s->where != STREAM_RUNNING)
		return;
	if (s->head && (!s->out || ctx_stream_queues(c, &s->head->cmd)))
		push(&c->ready, s, STREAM_READY);
	else if (!s->out)
		s->where = STREAM_IDLE;
}

/* ---- running --------------------------------------------------------------------------------- */

/* May the command start? STREAM_READY, or what it waits for. */
static enum ctx_where blocked(struct ctx *c, const struct vgpu_cmd *cmd, uint32_t phase)
{
	uint32_t tl = cmd->wait_tl;
	const struct vgpu_timeline *t;
	uint32_t error;

	if (phase && phase - 1 != c->phase_first)
		return STREAM_WAIT_PHASE;
	if (!tl)
		return STREAM_READY;
	if (VGPU_WAIT_CONTEXT(tl) == c->init.create.context)
		return c->streams[VGPU_WAIT_STREAM(tl)].done >= cmd->wait_value ? STREAM_READY : STREAM_WAIT_TL;
	/* Another context of the client: its timeline. A dead one (not one refused launch) holds nobody up. */
	t = (const struct vgpu_timeline *)(const void *)(c->seg0 + VGPU_CTX_OFFSET(VGPU_WAIT_CONTEXT(tl)) +
							 VGPU_CTX_TIMELINES) + VGPU_WAIT_STREAM(tl);
	error = vgpu_load_acquire32(&t->error);
	return vgpu_timeline_reached(t, cmd->wait_value) || (error && vgpu_status_sticky(error)) ?
	       STREAM_READY : STREAM_WAIT_POLL;
}

static void park(struct ctx *c, struct ctx_stream *s, const struct vgpu_cmd *cmd, enum ctx_where where)
{
	if (where == STREAM_WAIT_PHASE) {
		push(&c->phase_wait, s, where);
	} else if (where == STREAM_WAIT_TL) {
		struct ctx_stream *on = &c->streams[VGPU_WAIT_STREAM(cmd->wait_tl)];

		s->where = where;
		s->link = on->waiters;
		on->waiters = s;
	} else {
		push(&c->poll, s, where);
	}
}

/*
 * For tests (VGPU_STUB_SHUFFLE): what may run now runs later all the same, by chance, behind all others. That is an order which
 * the rules allow and a quick device seldom shows.
 */
static int put_off(struct ctx *c)
{
	if (__builtin_expect(!c->shuffle, 1))
		return 0;
	c->shuffle ^= c->shuffle << 13;
	c->shuffle ^= c->shuffle >> 7;
	c->shuffle ^= c->shuffle << 17;
	return c->shuffle >> 40 & 1;
}

/* The stream is in no list. Runs its head, and more, and puts the stream where it belongs then. */
static void step(struct ctx *c, struct ctx_stream *s)
{
	struct ctx_node *n;

	for (int budget = 16; (n = s->head); budget--) {
		enum ctx_where where = blocked(c, &n->cmd, n->phase);
		uint64_t ticket = n->cmd.ticket;
		uint32_t phase = n->phase, status = VGPU_ST_OK;
		enum ctx_result r;

		/* Behind what is out only what may be out with it; what waits is looked at when that has ended. */
		if (s->out && (where != STREAM_READY || !ctx_stream_queues(c, &n->cmd))) {
			s->where = STREAM_RUNNING;
			return;
		}
		if (where != STREAM_READY) {
			park(c, s, &n->cmd, where);
			return;
		}
		if (!budget || put_off(c)) {
			push(&c->ready, s, STREAM_READY);
			return;
		}
		s->phase = phase;
		r = ctx_exec(c, s, &n->cmd, n->payload, &n->at, &status);
		if (r == CTX_AGAIN) {
			push(&c->ready, s, STREAM_READY);
			return;
		}
		if (r == CTX_POLL) {
			push(&c->poll, s, STREAM_WAIT_POLL);
			return;
		}
		s->head = n->next;
		if (c->ops->settle && (r == CTX_PENDING || (s->out && !vgpu_status_sticky(status)))) {
			out_push(c, s, n, r == CTX_PENDING ? VGPU_ST_OK : status ? status : CTX_ENDED);
			continue;
		}
		node_free(c, n);
		if (r == CTX_PENDING) {
			s->where = STREAM_RUNNING;
			return;
		}
		complete(c, s, ticket, phase, status);
		if (c->error)
			return;
	}
	s->where = s->out ? STREAM_RUNNING : STREAM_IDLE;
}

static void append(struct ctx_stream *s, struct ctx_node *n)
{
	if (s->head)
		s->tail->next = n;
	else
		s->head = n;
	s->tail = n;
}

/* 56 bytes a slot, straight to where they will stay. 0, or -1: a payload slot is not the one announced. */
static int copy_payload(struct ctx *c, uint8_t *dst, uint64_t first, unsigned slots, uint32_t bytes)
{
	for (unsigned i = 0; i < slots; i++) {
		const struct vgpu_payload_slot *p = &c->io_ring[(first + i) % VGPU_DEV_IO_SLOTS].payload;
		uint32_t part = bytes < VGPU_SLOT_PAYLOAD ? bytes : VGPU_SLOT_PAYLOAD;

		if (p->seq != (uint32_t)(first + i + 1) || p->zero)
			return -1;
		memcpy(dst, p->bytes, part);
		dst += part;
		bytes -= part;
	}
	return 0;
}

static uint32_t payload_bytes(const struct vgpu_cmd *cmd)
{
	switch (cmd->op) {
	case VGPU_OP_LAUNCH:
		return cmd->u.launch.param_bytes;
	case VGPU_OP_LAUNCH_LARGE:
		return sizeof(struct vgpu_params_at);
	case VGPU_OP_COPY_INLINE:
		return (uint32_t)cmd->u.copy.bytes;
	case VGPU_OP_COPY3D:
		return sizeof(struct vgpu_copy3d);
	case VGPU_OP_GEMM:
	case VGPU_OP_TRSM:
		return sizeof(struct vgpu_gemm);
	}
	return 0;
}

static uint32_t check_payload(struct ctx *c, const struct vgpu_cmd *cmd, const void *payload)
{
	switch (cmd->op) {
	case VGPU_OP_COPY3D:
		return vgpu_check_copy3d(cmd, payload, &c->env);
	case VGPU_OP_LAUNCH_LARGE:
		return vgpu_check_params_at(cmd, payload, &c->env);
	case VGPU_OP_GEMM:
	case VGPU_OP_TRSM:
		return vgpu_check_gemm(cmd, payload, &c->env);
	}
	return VGPU_ST_OK;
}

/*
 * The hot path: an idle stream, nothing to wait for, a command that ends in place. No node, no
 * list, no syscall.
 */
void ctx_stream_submit(struct ctx *c, const struct vgpu_cmd *cmd, uint64_t first)
{
	struct ctx_stream *s = &c->streams[cmd->stream];
	uint32_t bytes = payload_bytes(cmd), status = VGPU_ST_OK, phase;
	struct ctx_progress at = { 0 };
	enum ctx_where where;
	enum ctx_result r;
	struct ctx_node *n;
	uint8_t *payload;
	int direct, behind;

	if (cmd->stream >= c->streams_used)
		c->streams_used = cmd->stream + 1;
	s->taken = cmd->ticket;
	if (c->error) {
		c->io_index = first + cmd->slots - 1u;
		vgpu_ring_consumed(&c->qb->io_head, c->io_index);
		s->error = c->error;
		publish(c, s, cmd->ticket);
		return;
	}
	phase = phase_enter(c, cmd->flags);
	behind = s->where == STREAM_RUNNING && s->out && !s->head && ctx_stream_queues(c, cmd);
	where = s->where == STREAM_IDLE || behind ? blocked(c, cmd, phase) : s->where;
	direct = where == STREAM_READY && (s->where == STREAM_IDLE || behind) && !put_off(c) &&
		 !(behind && cmd->op == VGPU_OP_COPY_INLINE);   /* what the engine will read has to stay */
	n = direct ? NULL : node_new(c, cmd, phase, bytes);
	payload = n ? n->payload : c->scratch;
	if (bytes && copy_payload(c, payload, first, cmd->slots - 1u, bytes) < 0) {
		c->io_broken = 1;
		if (n)
			node_free(c, n);
		ctx_why(c, "payload of ticket %llu", (unsigned long long)cmd->ticket);
		ctx_die(c, VGPU_ST_PROTOCOL);
		return;
	}
	c->io_index = first + cmd->slots - 1u;
	vgpu_ring_consumed(&c->qb->io_head, c->io_index);
	if (check_payload(c, cmd, payload)) {
		if (n)
			node_free(c, n);
		ctx_why(c, "extents of ticket %llu", (unsigned long long)cmd->ticket);
		ctx_die(c, VGPU_ST_PROTOCOL);
		return;
	}
	if (!direct) {
		append(s, n);
		if ((s->where == STREAM_IDLE || behind) && where == STREAM_READY)
			push(&c->ready, s, where);
		else if (s->where == STREAM_IDLE)
			park(c, s, cmd, where);
		return;
	}
	s->phase = phase;
	r = ctx_exec(c, s, cmd, payload, &at, &status);
	if (c->ops->settle && (r == CTX_PENDING || (r == CTX_DONE && s->out && !vgpu_status_sticky(status)))) {
		out_push(c, s, node_new(c, cmd, phase, 0), r == CTX_PENDING ? VGPU_ST_OK : status ? status : CTX_ENDED);
		return;
	}
	switch (r) {
	case CTX_DONE:
		complete(c, s, cmd->ticket, phase, status);
		break;
	case CTX_PENDING:
		s->where = STREAM_RUNNING;
		break;
	default:        /* not over yet: now it needs a place to stay */
		n = node_new(c, cmd, phase, bytes);
		memcpy(n->payload, payload, bytes);
		n->at = at;
		append(s, n);
		push(r == CTX_POLL ? &c->poll : &c->ready, s, r == CTX_POLL ? STREAM_WAIT_POLL : STREAM_READY);
	}
}

unsigned ctx_stream_run(struct ctx *c, unsigned budget)
{
	unsigned did = 0;
	struct ctx_stream *s;

	for (; did < budget && (s = pop(&c->ready)); did++)
		step(c, s);
	return did;
}

unsigned ctx_stream_poll(struct ctx *c)
{
	struct ctx_stream *s = c->poll.head, *next;
	unsigned did = 0;

	c->poll.head = NULL;
	for (; s; s = next) {
		next = s->link;
		step(c, s);
		did += s->where != STREAM_WAIT_POLL;
		if (c->error)
			break;
	}
	return did;
}

/*
 * Engine threads hand in ended launches: a stack of streams, at most one launch each. The release
 * of the exchange carries done_status and all the kernel wrote; partner: the exchange in drain.
 */
void ctx_stream_done(void *owner, uint64_t cookie, uint32_t status)
{
	struct ctx *c = owner;
	struct ctx_stream *s = &c->streams[cookie];

	if (c->ops->settle) {
		ended(c, s, status);
		return;
	}
	s->done_status = status;
	s->done_link = __atomic_load_n(&c->done_list, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&c->done_list, &s->done_link, s, 1, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED))
		;
	ctx_wake(c);
}

unsigned ctx_stream_drain(struct ctx *c)
{
	struct ctx_stream *s, *next;
	unsigned did = 0;

	if (!__atomic_load_n(&c->done_list, __ATOMIC_RELAXED))
		return 0;
	s = __atomic_exchange_n(&c->done_list, NULL, __ATOMIC_ACQ_REL);
	for (; s; s = next, did++) {
		uint64_t ticket = s->running;

		next = s->done_link;
		s->running = 0;
		c->launches_out--;
		if (c->error)
			continue;       /* its timeline has moved on with the error */
		s->where = STREAM_IDLE;
		vgpu_store_relaxed64(&c->qb->launches_done, ++c->launches_done);
		ctx_work_took(c, &c->work->kernels, ctx_ticks() - s->began);
		complete(c, s, ticket, s->phase, s->done_status);
		if (!c->error && s->head)
			push(&c->ready, s, STREAM_READY);
	}
	return did;
}
