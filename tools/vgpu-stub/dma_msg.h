/* SPDX-License-Identifier: MIT */
/*
 * DMA by message (--dma message): nothing of the owner is mapped, each access is a DMA_READ or DMA_WRITE to
 * the peer, whose IOMMU decides. So an access takes several turns of the loop: it is queued here, vfu.c sends it
 * when the socket is free (never inside a request of the peer, which would wait for us), and the answer ends it.
 *
 * Called by admin.c and ctxmirror.c. In order: an access begins when the one before it has ended.
 */
#ifndef VGPU_STUB_DMA_MSG_H
#define VGPU_STUB_DMA_MSG_H

#include <stddef.h>
#include <stdint.h>

struct device;

/* err: 0, or the peer's errno, negative. May queue more. */
typedef void (*dma_done_fn)(struct device *d, void *arg, int err);

/* Queues; `into` must live until done is called or the queue is dropped. -ENOMEM. */
int dma_msg_read(uint64_t iova, void *into, uint32_t bytes, dma_done_fn done, void *arg);
/* Copies `from`. done may be NULL. */
int dma_msg_write(uint64_t iova, const void *from, uint32_t bytes, dma_done_fn done, void *arg);

/* Reset: nothing that was queued is sent any more, no done is called. */
void dma_msg_drop(void);
/* How often that has happened. */
uint32_t dma_msg_drops(void);

/* ---- vfu.c's side ---- */
/* The message to send now (its length), 0: none, or one is out already. */
uint32_t dma_msg_next(uint8_t *message, uint32_t room);
/* Is this header the answer that is awaited? */
int dma_msg_awaits(uint16_t id, uint16_t command);
/* The whole answer. -EPROTO: it makes no sense. */
int dma_msg_answer(struct device *d, const uint8_t *message, uint32_t bytes);
/* The peer is gone: no answer will come. */
void dma_msg_forget(void);

#endif
