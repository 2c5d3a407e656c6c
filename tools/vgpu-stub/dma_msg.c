/* SPDX-License-Identifier: MIT */
/* DMA by message; see dma_msg.h. */
#include "dma_msg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vfu_msg.h"

/*
 * The protocol has 8 bytes of address, 8 of count, then data. QEMU (11.1) has a count of 4 bytes with the data
 * right behind it, 4 bytes earlier, and the same length in all. So where a count's upper half, which is zero, should
 * be, its answers have data: the first that is not zero shows which one the peer is, and the first thing that
 * is read is a command's sequence word, which must not be zero to matter.
 */
#define HEAD_BYTES (sizeof(struct vfu_header) + 16)
#define DATA_EARLY (sizeof(struct vfu_header) + 12)
#define DATA_SPEC  HEAD_BYTES

struct op {
	struct op *next;
	int write;
	uint64_t iova;
	uint32_t bytes;
	void *into;
	dma_done_fn done;
	void *arg;
	uint8_t data[];                 /* of a write */
};

static struct {
	struct op *first, **end;
	int out;                        /* first is sent, or was and is dropped (then there is no first) */
	uint16_t id, command;           /* of what is out */
	int dropped;                    /* its answer is nobody's */
	uint32_t drops;
	uint32_t data_at;               /* 0: not known yet */
} q = { .end = &q.first };

static int add(int write, uint64_t iova, void *into, const void *from, uint32_t bytes, dma_done_fn done, void *arg)
{
	struct op *o = calloc(1, sizeof(*o) + (write ? bytes : 0));

	if (!o)
		return -ENOMEM;
	o->write = write;
	o->iova = iova;
	o->bytes = bytes;
	o->into = into;
	o->done = done;
	o->arg = arg;
	if (write)
		memcpy(o->data, from, bytes);
	*q.end = o;
	q.end = &o->next;
	return 0;
}

int dma_msg_read(uint64_t iova, void *into, uint32_t bytes, dma_done_fn done, void *arg)
{
	return bytes > VFU_MAX_DATA ? -EINVAL : add(0, iova, into, NULL, bytes, done, arg);
}

int dma_msg_write(uint64_t iova, const void *from, uint32_t bytes, dma_done_fn done, void *arg)
{
	return bytes > VFU_MAX_DATA ? -EINVAL : add(1, iova, NULL, from, bytes, done, arg);
}

static struct op *take(void)
{
	struct op *o = q.first;

	q.first = o->next;
	if (!q.first)
		q.end = &q.first;
	return o;
}

void dma_msg_drop(void)
{
	while (q.first)
		free(take());
	q.dropped = q.out;
	q.drops++;
}

uint32_t dma_msg_drops(void)
{
	return q.drops;
}

void dma_msg_forget(void)
{
	dma_msg_drop();
	q.out = q.dropped = 0;
	q.data_at = 0;
}

uint32_t dma_msg_next(uint8_t *message, uint32_t room)
{
	struct op *o = q.first;
	struct vfu_header h;
	struct vfu_dma_access a;
	uint32_t bytes;

	if (!o || q.out)
		return 0;
	bytes = (uint32_t)HEAD_BYTES + (o->write ? o->bytes : 0);
	if (bytes > room)
		return 0;
	h = (struct vfu_header){ ++q.id, o->write ? VFU_DMA_WRITE : VFU_DMA_READ, bytes, 0, 0 };
	a = (struct vfu_dma_access){ o->iova, o->bytes };
	memset(message, 0, bytes);
	memcpy(message, &h, sizeof(h));
	memcpy(message + sizeof(h), &a, sizeof(a));
	/* No write comes before a read has shown the layout. */
	if (o->write)
		memcpy(message + (q.data_at ? q.data_at : DATA_SPEC), o->data, o->bytes);
	q.command = h.command;
	q.out = 1;
	return bytes;
}

int dma_msg_awaits(uint16_t id, uint16_t command)
{
	return q.out && id == q.id && command == q.command;
}

/* What a read brought, wherever the peer puts it. */
static int read_answer(struct op *o, const uint8_t *message, uint32_t bytes)
{
	static const uint8_t zero[4];

	if (bytes != HEAD_BYTES + o->bytes)
		return -EPROTO;
	if (!q.data_at && o->bytes >= 4) {
		if (memcmp(message + DATA_EARLY, zero, 4))
			q.data_at = DATA_EARLY;
		else if (memcmp(message + DATA_SPEC, zero, 4))
			q.data_at = DATA_SPEC;
	}
	/* Not known: then the first word is zero in both. */
	memcpy(o->into, message + (q.data_at ? q.data_at : DATA_SPEC), o->bytes);
	return 0;
}

int dma_msg_answer(struct device *d, const uint8_t *message, uint32_t bytes)
{
	struct vfu_header h;
	struct op *o;
	int err = 0;

	memcpy(&h, message, sizeof(h));
	q.out = 0;
	if (q.dropped) {
		q.dropped = 0;
		return 0;
	}
	o = take();
	if (h.flags & VFU_FLAG_ERROR)
		err = h.error && h.error < 4096 ? -(int)h.error : -EIO;
	else if (!o->write && read_answer(o, message, bytes)) {
		free(o);
		return -EPROTO;
	}
	if (o->done)
		o->done(d, o->arg, err);
	free(o);
	return 0;
}
