/* SPDX-License-Identifier: MIT */
/*
 * Contexts with DMA by message (dma_msg.h): nothing of the owner is mapped, so a context maps files of our own, and
 * this keeps both alike by reading and writing the owner's memory, over and over while a context lives.
 *
 * Called by main.c between events. Of each byte the last common value is kept (base). What the owner changed is
 * brought in, what the context changed is taken out, word by word (4 bytes); a word that both changed gets both
 * changes bit by bit, which is right for the protocol's flags, the only words with two writers.
 *
 * Order is what makes it memory: whoever sees a published word sees what was written before it.
 *   in    rings are read first and become visible last, each slot's sequence word after the rest of it
 *   out   the control parts are copied first and written last, first words of lines after the others
 * Then the context's vector is raised, since a word that asks for it may have been on its way.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dma_msg.h"
#include "stub.h"

#define CHUNK 32768u
#define BUSY_NS 1000000ull
#define IDLE_NS 20000000ull
#define SPANS 64u
#define WRITES 32u                      /* queued at once */

struct span {                           /* one part of a piece */
	uint32_t piece;
	uint64_t offset, bytes;
	uint8_t *snap;                  /* control parts: the copy that is compared; NULL: data, compared in place */
};

static struct {
	struct context *c;              /* whose turn it is; NULL: nobody's */
	int pid;                        /* of it: a slot may have been given to another one meanwhile */
	int out, busy;                  /* busy: somebody changed something this turn */
	struct span span[SPANS];
	uint32_t spans, at;             /* the span under way */
	uint64_t offset;                /* in it */
	int pass;                       /* of a control part: 0 all but first words, 1 first words */
	uint32_t waiting;               /* messages */
	int changed;
	uint64_t next_ns;
	uint32_t turn;                  /* queue looked at last */
	uint32_t drops;                 /* of queued messages, when this turn began */
} m;

/* The control parts: queue block, and the context's part of segment 0. */
static uint8_t snap_qb[VGPU_QB_BYTES], snap_ctx[VGPU_CTX_STRIDE], data[CHUNK];

/* Same context, same messages, and what is looked at is still its. */
static int alive(void)
{
	return m.c && m.drops == dma_msg_drops() && (m.at >= m.spans || m.span[m.at].piece < m.c->npieces) && m.c->pid == m.pid && (m.c->state == CTX_STARTING || m.c->state == CTX_RUNNING);
}

static uint8_t *shadow(const struct span *s)
{
	const struct ctx_piece *p = &m.c->pieces[s->piece];

	return p->file->base + s->offset;
}

static uint8_t *base(const struct span *s)
{
	return m.c->pieces[s->piece].base + s->offset;
}

static void add(uint32_t piece, uint64_t offset, uint64_t bytes, uint8_t *snap)
{
	if (m.spans < SPANS)
		m.span[m.spans++] = (struct span){ piece, offset, bytes, snap };
}

/* Piece 0 is the queue block, piece 1 segment 0. Inward: control parts first. Outward: last. */
static void plan(int out)
{
	uint64_t ctx = VGPU_CTX_OFFSET(m.c->create.context);

	m.out = out;
	m.spans = m.at = 0;
	m.offset = 0;
	m.pass = 0;
	if (!out) {
		add(0, 0, VGPU_QB_BYTES, snap_qb);
		add(1, ctx, VGPU_CTX_STRIDE, snap_ctx);
	}
	add(1, VGPU_STAGING_OFFSET, VGPU_STAGING_BYTES, NULL);
	for (uint32_t i = 2; i < m.c->npieces; i++)
		add(i, 0, m.c->pieces[i].bytes, NULL);
	if (out) {
		add(1, ctx, VGPU_CTX_STRIDE, snap_ctx);
		add(0, 0, VGPU_QB_BYTES, snap_qb);
		for (uint32_t i = m.spans - 2; i < m.spans; i++)
			memcpy(m.span[i].snap, shadow(&m.span[i]), m.span[i].bytes);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);        /* data is looked at after this */
	}
}

static uint32_t load(const uint8_t *p)
{
	return __atomic_load_n((const uint32_t *)(const void *)p, __ATOMIC_RELAXED);
}

/* One word of the owner's: what it changed since the last common value is changed here too. */
static void merge(const struct span *s, uint64_t at, const uint8_t *theirs)
{
	uint32_t *b = (uint32_t *)(void *)(base(s) + at), delta = load(theirs) ^ *b;

	if (!delta)
		return;
	*b ^= delta;
	__atomic_fetch_xor((uint32_t *)(void *)(shadow(s) + at), delta, __ATOMIC_RELEASE);
	m.changed = 1;
}

static void merge_line(const struct span *s, uint64_t line)
{
	for (uint64_t at = line + 64; at > line; at -= 4)
		merge(s, at - 4, s->snap + at - 4);
}

/* A ring from its newest place down to the oldest, so that no slot is seen before those that belong to it. */
static void merge_ring(const struct span *s, uint64_t ring, uint64_t slots, uint64_t taken)
{
	for (uint64_t i = slots; i-- > 0;)
		merge_line(s, ring + (taken + i) % slots * 64);
}

static void all_in(void)
{
	struct context *c = m.c;
	const struct span *qb = &m.span[0], *ctx = &m.span[1];
	const struct vgpu_qb_head *h = (const void *)shadow(qb);
	uint64_t io = __atomic_load_n(&h->io_head, __ATOMIC_RELAXED), ctl = __atomic_load_n(&h->ctl_head, __ATOMIC_RELAXED);
	uint64_t one = 1;

	for (uint64_t at = 0; at < ctx->bytes; at += 64)
		merge_line(ctx, at);
	for (uint64_t at = 0; at < qb->bytes; at += 64)
		if ((at < VGPU_QB_CTL || at >= VGPU_QB_CTL + VGPU_DEV_CTL_SLOTS * 64u) && at < VGPU_QB_IO)
			merge_line(qb, at);
	merge_ring(qb, VGPU_QB_CTL, VGPU_DEV_CTL_SLOTS, ctl);
	merge_ring(qb, VGPU_QB_IO, VGPU_DEV_IO_SLOTS, io);
	if (m.changed && write(c->dev->doorbell[1 + c->qid], &one, 8) != 8)
		log_verbose("context %u: kick failed", c->qid);
	ctxproc_mirrored(c);
}

static void end_turn(int again_soon)
{
	m.c = NULL;
	m.waiting = 0;
	m.next_ns = clock_ns() + (again_soon ? BUSY_NS : IDLE_NS);
}

/* ---- in ---------------------------------------------------------------------------------------- */
static void step(struct device *d);

static void came(struct device *d, void *arg, int err)
{
	struct span *s = &m.span[m.at];
	uint64_t n = s->bytes - m.offset < CHUNK ? s->bytes - m.offset : CHUNK;

	(void)arg;
	if (!alive()) {
		end_turn(1);
		return;
	}
	if (err) {
		log_line("context %u: memory that it was given cannot be read: %s; killed", m.c->qid, strerror(-err));
		ctxproc_kill(m.c, VGPU_ST_INVALID);
		end_turn(1);
		return;
	}
	if (!s->snap)
		for (uint64_t i = 0; i < n; i += 4) {
			struct span part = { s->piece, s->offset + m.offset, n, NULL };

			merge(&part, i, data + i);
		}
	m.offset += n;
	step(d);
}

static void step_in(struct device *d)
{
	struct span *s;
	uint64_t n;

	if (m.at < m.spans && m.offset == m.span[m.at].bytes) {
		m.at++;
		m.offset = 0;
	}
	if (m.at == m.spans) {
		all_in();
		m.busy = m.changed;
		m.changed = 0;
		plan(1);
		step(d);
		return;
	}
	s = &m.span[m.at];
	n = s->bytes - m.offset < CHUNK ? s->bytes - m.offset : CHUNK;
	if (dma_msg_read(m.c->pieces[s->piece].iova + s->offset + m.offset, s->snap ? s->snap + m.offset : data, (uint32_t)n, came, NULL))
		end_turn(0);
}

/* ---- out ---------------------------------------------------------------------------------------- */
static void went(struct device *d, void *arg, int err)
{
	(void)arg;
	m.waiting--;
	if (err && alive()) {
		log_line("context %u: memory that it was given cannot be written: %s; killed", m.c->qid, strerror(-err));
		ctxproc_kill(m.c, VGPU_ST_INVALID);
	}
	if (m.waiting)
		return;
	if (alive())
		step(d);
	else
		end_turn(1);
}

/* Does this word go out now? First words of the lines of control parts go in a pass of their own. */
static int due(const struct span *s, uint64_t at, const uint8_t *from)
{
	if (s->snap && (at % 64 == 0) != (m.pass == 1))
		return 0;
	return load(from + at) != load(base(s) + at);
}

/* The next run of changed words from m.offset on; 0: none. */
static uint64_t find(const struct span *s, const uint8_t *from, uint64_t *start)
{
	uint64_t at = m.offset, end;

	while (at < s->bytes && !due(s, at, from))
		at += 4;
	*start = at;
	for (end = at; end < s->bytes && end - at < CHUNK && due(s, end, from); end += 4)
		;
	return end - at;
}

static void step_out(void)
{
	while (m.at < m.spans && m.waiting < WRITES) {
		struct span *s = &m.span[m.at];
		uint8_t words[CHUNK];
		uint64_t start, n = find(s, s->snap ? s->snap : shadow(s), &start);

		if (!n) {
			m.offset = 0;
			m.pass = s->snap ? !m.pass : 0;
			m.at += !m.pass;
			continue;
		}
		/* Copied once: what goes out is what is remembered as common. */
		memcpy(words, (s->snap ? s->snap : shadow(s)) + start, n);
		memcpy(base(s) + start, words, n);
		m.offset = start + n;
		m.waiting++;
		m.changed = 1;
		if (dma_msg_write(m.c->pieces[s->piece].iova + s->offset + start, words, (uint32_t)n, went, NULL)) {
			m.waiting--;
			ctxproc_kill(m.c, VGPU_ST_OUT_OF_MEMORY);
			break;
		}
	}
	if (m.waiting)
		return;
	if (m.changed && m.c->state == CTX_RUNNING)
		irq_raise(m.c->dev, 1 + m.c->qid);
	end_turn(m.changed || m.busy);
}

static void step(struct device *d)
{
	if (m.out)
		step_out();
	else
		step_in(d);
}

/* ---- whose turn ---------------------------------------------------------------------------------- */
/* Its messages were dropped by a reset: they are waited for no more. */
static int lost(void)
{
	return m.c && m.drops != dma_msg_drops();
}

uint64_t mirror_next(const struct device *d)
{
	if (!d->config.by_message || !d->live || (m.c && !lost()))
		return 0;
	return m.next_ns ? m.next_ns : 1;
}

void mirror_turn(struct device *d)
{
	if (lost())
		end_turn(1);
	if (!d->config.by_message || !d->live || m.c || clock_ns() < m.next_ns)
		return;
	for (uint32_t i = 1; i <= STUB_QUEUES; i++) {
		struct context *c = &d->ctx[(m.turn + i) % STUB_QUEUES];

		if (c->state != CTX_STARTING && c->state != CTX_RUNNING)
			continue;
		m.turn = c->qid;
		m.c = c;
		m.pid = c->pid;
		m.changed = 0;
		m.drops = dma_msg_drops();
		plan(0);
		step(d);
		return;
	}
	end_turn(0);
}
