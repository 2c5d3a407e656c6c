/* SPDX-License-Identifier: MIT */
/*
 * Mailboxes, see comm.h. A rank's inbox holds one for each other rank:
 *   of this process              pinned memory, which every device of it reaches
 *   of this host and device      device memory that is exported (cuIpcGetMemHandle) and opened there
 *   anything else                pinned memory here and there, and the net between them
 */
#include <stdlib.h>
#include <string.h>

#include "comm.h"

/* Pinned inboxes of this process: ranks beside the owner may write to one after he has ended. */
static pthread_mutex_t hold_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hold { struct hold *next; CUdeviceptr at; unsigned users; } *holds;

static void hold(CUdeviceptr at)
{
	struct hold *h;

	pthread_mutex_lock(&hold_lock);
	for (h = holds; h && h->at != at; h = h->next)
		;
	if (!h) {
		h = calloc(1, sizeof(*h));
		if (h) {
			h->at = at;
			h->next = holds;
			holds = h;
		}
	}
	if (h)
		h->users++;
	pthread_mutex_unlock(&hold_lock);
}

static void let(CUdeviceptr at)
{
	struct hold **h, *x;
	bool last = false;

	pthread_mutex_lock(&hold_lock);
	for (h = &holds; (x = *h) && x->at != at; h = &x->next)
		;
	if (x && !--x->users) {
		*h = x->next;
		free(x);
		last = true;
	}
	pthread_mutex_unlock(&hold_lock);
	if (last)
		cuMemFreeHost((void *)(uintptr_t)at);
}

static ncclResult_t pinned(struct ncclComm *c, CUdeviceptr *at)
{
	void *p;

	CU(cuMemHostAlloc(&p, (size_t)c->ranks * mail_bytes(c), CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
	*at = (uintptr_t)p;
	for (int r = 0; r < c->ranks; r++)
		for (unsigned k = 0; k < SLOTS; k++)
			*(uint32_t *)((char *)p + (size_t)r * mail_bytes(c) + k * WORD_STRIDE) = EMPTY;
	return ncclSuccess;
}

static struct box box_of(const struct ncclComm *c, CUdeviceptr inbox, int from)
{
	return (struct box){ inbox + (CUdeviceptr)from * mail_bytes(c) };
}

ncclResult_t mail_make(struct ncclComm *c, struct key *mine)
{
	bool use[VIA_NET + 1] = { false };

	for (int r = 0; r < c->ranks; r++)
		use[c->peer[r].via] = true;
	if (use[VIA_SHARED]) {
		CU(cuMemAlloc(&c->shared, (size_t)c->ranks * mail_bytes(c)));
		for (int r = 0; r < c->ranks; r++)
			for (unsigned k = 0; k < SLOTS; k++)
				CU(cuMemsetD32(mail_word(box_of(c, c->shared, r), k), EMPTY, 1));
		CU(cuIpcGetMemHandle(&mine->handle, c->shared));
		mine->shares = 1;
	}
	if (use[VIA_PROCESS] || use[VIA_NET]) {
		NC(pinned(c, &c->pinned));
		hold(c->pinned);
		mine->inbox = c->pinned;
	}
	if (use[VIA_NET]) {
		NC(pinned(c, &c->outbox));
		NC(net_open(c, mine));
	}
	return ncclSuccess;
}

ncclResult_t mail_open(struct ncclComm *c, const struct key *all)
{
	bool net = false;

	for (int r = 0; r < c->ranks; r++) {
		struct peer *p = &c->peer[r];

		switch (p->via) {
		case VIA_PROCESS:
			p->in = box_of(c, c->pinned, r);
			p->out = box_of(c, all[r].inbox, c->rank);
			hold(all[r].inbox);
			break;
		case VIA_SHARED:
			p->in = box_of(c, c->shared, r);
			if (!all[r].shares || cuIpcOpenMemHandle(&p->opened, all[r].handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS)
				return nccl_fail(ncclUnhandledCudaError, "another rank's memory cannot be opened (cuIpcOpenMemHandle)");
			p->out = box_of(c, p->opened, c->rank);
			break;
		case VIA_NET:
			p->in = box_of(c, c->pinned, r);
			p->out = box_of(c, c->outbox, r);
			net = true;
			break;
		}
	}
	return net ? net_connect(c, all) : ncclSuccess;
}

void mail_close(struct ncclComm *c)
{
	net_close(c);
	for (int r = 0; c->peer && r < c->ranks; r++) {
		struct peer *p = &c->peer[r];

		if (p->opened)
			cuIpcCloseMemHandle(p->opened);
		if (p->via == VIA_PROCESS && p->out.at)
			let(p->out.at - (CUdeviceptr)c->rank * mail_bytes(c));
		for (int d = 0; d < 2; d++)
			if (p->lane[d])
				cuStreamDestroy(p->lane[d]);
	}
	if (c->shared)
		cuMemFree(c->shared);
	if (c->pinned)
		let(c->pinned);
	if (c->outbox)
		cuMemFreeHost((void *)(uintptr_t)c->outbox);
	c->shared = c->pinned = c->outbox = 0;
}

void mail_let_go(struct ncclComm *c)
{
	for (int r = 0; r < c->ranks; r++) {
		struct peer *p = &c->peer[r];
		struct box both[2] = { p->in, p->out };

		for (int d = 0; p->via != VIA_SELF && d < 2; d++)
			for (unsigned k = 0; both[d].at && k < SLOTS; k++) {
				if (p->via != VIA_SHARED)
					__atomic_store_n((uint32_t *)(uintptr_t)mail_word(both[d], k), LET_GO, __ATOMIC_RELEASE);
				else
					cuStreamWriteValue32(c->own, mail_word(both[d], k), LET_GO, 0);
			}
	}
}
