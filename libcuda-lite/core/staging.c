/* SPDX-License-Identifier: MIT */
/*
 * Copies. Where both sides are memory the device sees (its own, pinned, managed) a copy is one
 * command. Ordinary memory goes through the client's 2 MiB staging area in pieces of 256 KiB:
 *
 *   to the device     memcpy into a piece | COPY piece -> device      the next memcpy overlaps the COPY
 *   from the device   COPY device -> piece | memcpy out of the piece  up to four COPYs ahead
 *
 * A stream that is stalled (a wait, a host function, an endless kernel) must not hold the pieces that
 * copies of other streams need. So a copy first waits until its turn in the stream has come, unless it is small
 * and more than half of the pieces are free.
 */
#include "core.h"
#include "queue.h"

#include <string.h>

#define PIECE (256u << 10)
#define PIECES (VGPU_STAGING_BYTES / PIECE)
#define AHEAD 4u
#define INLINE_MAX 1024u        /* 18 slots and no second pass over the bytes */

static struct piece {
	struct vg_ctx *ctx;     /* whose command last used it; NULL: nobody's */
	uint64_t ctx_handle;
	uint16_t stream;
	bool held;
	uint64_t ticket;
} pieces[PIECES];
static struct vg_lock lock;

static uint8_t *piece_at(unsigned p)
{
	return vg.seg0 + VGPU_STAGING_OFFSET + (size_t)p * PIECE;
}

/* Lock held. */
static bool idle(const struct piece *p)
{
	return !p->held && (!p->ctx || p->ctx->handle != p->ctx_handle || vg_ctx_error(p->ctx) ||
			    vgpu_timeline_reached(&p->ctx->timelines[p->stream], p->ticket));
}

static bool plenty(void)
{
	unsigned n = 0;

	vg_lock(&lock);
	for (unsigned i = 0; i < PIECES; i++)
		n += idle(&pieces[i]);
	vg_unlock(&lock);
	return n > PIECES / 2;
}

static unsigned hold_piece(void)
{
	for (unsigned turn = 0;; vg_backoff(turn++)) {
		vg_lock(&lock);
		for (unsigned i = 0; i < PIECES; i++)
			if (idle(&pieces[i])) {
				pieces[i].held = true;
				vg_unlock(&lock);
				return i;
			}
		vg_unlock(&lock);
		if (turn > 256 && turn % 64 == 0)
			vg_agent_lost();        /* sets the error that makes pieces idle */
	}
}

/* Ours no longer, but busy until the stream reaches the ticket (0: free now). */
static void leave_piece(unsigned p, struct vg_stream *s, uint64_t ticket)
{
	vg_lock(&lock);
	pieces[p] = (struct piece){ .ctx = ticket ? s->ctx : NULL, .ctx_handle = s->ctx->handle,
				    .stream = s->index, .ticket = ticket };
	vg_unlock(&lock);
}

/* Rows that lie without gaps on both sides are one long row. */
static struct vg_copy flatten(struct vg_copy k)
{
	if (k.height > 1 && k.dst_pitch == k.width && k.src_pitch == k.width &&
	    !__builtin_mul_overflow(k.width, k.height, &k.width))
		k.height = 1;
	if (k.height == 1 && k.depth > 1 && k.dst_slice == k.width && k.src_slice == k.width &&
	    !__builtin_mul_overflow(k.width, k.depth, &k.width))
		k.depth = 1;
	return k;
}

/* Of rows that were flattened. */
static uint8_t command_of(const struct vg_copy *k, uint64_t body[4], struct vgpu_copy3d *payload, unsigned *bytes)
{
	const struct vgpu_body_copy b = { .dst = k->dst, .src = k->src, .bytes = k->width };

	memcpy(body, &b, sizeof b);
	*bytes = 0;
	if (k->height == 1 && k->depth == 1)
		return VGPU_OP_COPY;
	*payload = (struct vgpu_copy3d){ .height = k->height, .depth = k->depth,
					 .dst_pitch = k->dst_pitch, .dst_slice = k->dst_slice,
					 .src_pitch = k->src_pitch, .src_slice = k->src_slice };
	*bytes = sizeof *payload;
	return VGPU_OP_COPY3D;
}

uint8_t vg_copy_command(const struct vg_copy *k, uint64_t body[4], struct vgpu_copy3d *payload, unsigned *bytes)
{
	struct vg_copy flat = flatten(*k);

	return command_of(&flat, body, payload, bytes);
}

static uint64_t submit_rows(struct vg_stream *s, const struct vg_copy *k)
{
	struct vgpu_copy3d payload;
	uint64_t body[4];
	unsigned bytes;
	uint8_t op = command_of(k, body, &payload, &bytes);

	return vg_submit(s, op, body, &payload, bytes);
}

/* The copy piece by piece: chunk i of `total`, each a part of a row or some whole rows of a slice. */
struct walk {
	struct vg_copy k;
	uint64_t x, y, z;
};

/* The next chunk that fits a piece; false behind the last one. */
static bool next_chunk(struct walk *w, struct vg_copy *out)
{
	const struct vg_copy *k = &w->k;

	if (w->z >= k->depth)
		return false;
	*out = *k;
	out->dst += w->z * k->dst_slice + w->y * k->dst_pitch + w->x;
	out->src += w->z * k->src_slice + w->y * k->src_pitch + w->x;
	out->depth = 1;
	if (k->width > PIECE) {
		out->height = 1;
		out->width = k->width - w->x < PIECE ? k->width - w->x : PIECE;
		w->x += out->width;
		if (w->x < k->width)
			return true;
		w->x = 0;
		w->y++;
	} else {
		uint64_t rows = PIECE / k->width;

		out->height = k->height - w->y < rows ? k->height - w->y : rows;
		w->y += out->height;
	}
	if (w->y == k->height) {
		w->y = 0;
		w->z++;
	}
	return true;
}

static void rows_memcpy(uint64_t dst, uint64_t dst_pitch, uint64_t src, uint64_t src_pitch, uint64_t width,
			uint64_t height)
{
	for (uint64_t y = 0; y < height; y++)
		memcpy((void *)(uintptr_t)(dst + y * dst_pitch), (const void *)(uintptr_t)(src + y * src_pitch), width);
}

static uint32_t upload(struct vg_stream *s, const struct vg_copy *k)
{
	struct walk w = { .k = *k };
	struct vg_copy part;
	uint32_t status = VGPU_ST_OK;

	while (!status && next_chunk(&w, &part)) {
		unsigned p = hold_piece();
		uint64_t from = part.src;

		part.src = (uint64_t)(uintptr_t)piece_at(p);
		rows_memcpy(part.src, part.width, from, part.src_pitch, part.width, part.height);
		part.src_pitch = part.width;
		leave_piece(p, s, submit_rows(s, &part));
		status = vg_ctx_error(s->ctx);
	}
	return status;
}

static uint32_t download(struct vg_stream *s, const struct vg_copy *k)
{
	struct { struct vg_copy part; unsigned piece; uint64_t ticket; } fly[AHEAD];
	struct walk w = { .k = *k };
	unsigned head = 0, tail = 0;
	uint32_t status = VGPU_ST_OK;
	bool more = true;

	for (;;) {
		while (more && !status && tail - head < AHEAD) {
			struct vg_copy part;
			unsigned i = tail % AHEAD;

			/* Two downloads may not wait for each other's pieces: only the first piece is waited for. */
			if (tail != head && !plenty())
				break;
			more = next_chunk(&w, &part);
			if (!more)
				break;
			fly[i].part = part;
			fly[i].piece = hold_piece();
			part.dst = (uint64_t)(uintptr_t)piece_at(fly[i].piece);
			part.dst_pitch = part.width;
			fly[i].ticket = submit_rows(s, &part);
			tail++;
		}
		if (head == tail)
			return status;
		{
			unsigned i = head++ % AHEAD;
			const struct vg_copy *part = &fly[i].part;
			uint32_t st = vg_wait_timeline(s->ctx, s->tl, fly[i].ticket);

			if (!st && !status)
				rows_memcpy(part->dst, part->dst_pitch, (uint64_t)(uintptr_t)piece_at(fly[i].piece),
					    part->width, part->width, part->height);
			if (!st && vg_window_gone())
				st = vg_lost_status(s->ctx);
			if (st)
				status = st;
			leave_piece(fly[i].piece, s, 0);
		}
	}
}

uint32_t vg_copy(struct vg_stream *s, const struct vg_copy *arg, bool async)
{
	struct vg_copy k = flatten(*arg);
	bool one_row = k.height == 1 && k.depth == 1;
	uint64_t ticket;

	if (!k.width || !k.height || !k.depth)
		return vg_ctx_error(s->ctx);
	if (!k.dst_pageable && !k.src_pageable) {
		ticket = submit_rows(s, &k);
		return async ? vg_ctx_error(s->ctx) : vg_wait_timeline(s->ctx, s->tl, ticket);
	}
	if (k.src_pageable && !k.dst_pageable && one_row && k.width <= INLINE_MAX) {
		struct vgpu_body_copy b = { .dst = k.dst, .bytes = k.width };

		/* The bytes are in the queue: the caller's buffer is free, as CUDA's staging leaves it. */
		vg_submit(s, VGPU_OP_COPY_INLINE, &b, (const void *)(uintptr_t)k.src, (unsigned)k.width);
		return vg_ctx_error(s->ctx);
	}
	if (!(one_row && k.width <= PIECE && plenty()) || (k.dst_pageable && k.src_pageable)) {
		uint32_t status = vg_stream_reach(s);

		if (status)
			return status;
	}
	if (k.dst_pageable && k.src_pageable) {
		for (uint64_t z = 0; z < k.depth; z++)
			rows_memcpy(k.dst + z * k.dst_slice, k.dst_pitch, k.src + z * k.src_slice, k.src_pitch,
				    k.width, k.height);
		return vg_ctx_whole(s->ctx);
	}
	return k.src_pageable ? upload(s, &k) : download(s, &k);
}
