/* SPDX-License-Identifier: MIT */
/*
 * A client may punch holes into its memfd (no seal stops that) and drain the huge pages, so
 * any access to its segment 0 may raise SIGBUS. The handler puts zero pages over that client's
 * whole mapping and marks the client; the access runs again, reads zeroes, and the loop drops the
 * client. All segments 0 stand in one reserved range, slot after slot: the address names the client.
 *
 * Queue blocks are shared with contexts, which run a client's code: the same for one context, which is then ended.
 *
 * The mapped doorbells of a PCI function fault alike while the function's memory is switched off: device_ring().
 */
#include "sigbus.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent.h"

static int doorbells(uintptr_t at)
{
	for (unsigned i = 0; i < VGPU_MAX_DEVICES; i++) {
		uintptr_t page = (uintptr_t)agent.dev[i].doorbells & ~(uintptr_t)(VGPU_PAGE - 1);

		if (!page || at - page >= VGPU_PAGE)
			continue;
		if (mmap((void *)page, VGPU_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			return 0;
		vgpu_store_relaxed32(&agent.dev[i].doorbells_gone, 1);
		return 1;
	}
	return 0;
}

/* C writes a block's place before D hears of the context, and takes it back when D has let it go. */
static int queue_block(uintptr_t at)
{
	static const uint64_t one = 1;

	for (unsigned i = 0; i < AGENT_CLIENTS * VGPU_MAX_CONTEXTS; i++) {
		struct context *x = &agent.client[i / VGPU_MAX_CONTEXTS].ctx[i % VGPU_MAX_CONTEXTS];

		if (!x->qb_va || at < (uintptr_t)x->qb_va || at - (uintptr_t)x->qb_va >= x->qb_mem.bytes)
			continue;
		if (mmap(x->qb_va, x->qb_mem.bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
			return 0;
		if (!vgpu_load_relaxed32(&x->kill)) {
			strcpy(x->kill_text, "its queue block was taken away (hole punched, or no huge page left)");
			vgpu_store_release32(&x->kill, VGPU_ST_PROTOCOL);
		}
		vgpu_store_release32(&agent.attention, 1);
		if (write(agent.wake_c, &one, 8) < 0)
			return 1;       /* EAGAIN: it is full of wake-ups */
		return 1;
	}
	return 0;
}

static void handler(int sig, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr, base = (uintptr_t)agent.windows;
	int saved = errno;
	unsigned index;

	(void)context;
	if (doorbells(at) || queue_block(at)) {
		errno = saved;
		return;
	}
	if (!base || at < base || at - base >= (uint64_t)AGENT_CLIENTS * VGPU_SEG0_BYTES)
		goto ours;
	index = (unsigned)((at - base) / VGPU_SEG0_BYTES);
	if (mmap(agent.windows + (uint64_t)index * VGPU_SEG0_BYTES, VGPU_SEG0_BYTES, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
		goto ours;
	vgpu_store_release32(&agent.client[index].poisoned, 1);
	return;
ours:
	/* Our own mistake: die of it, with a core dump. */
	signal(sig, SIG_DFL);
}

int sigbus_init(void)
{
	uint64_t bytes = (uint64_t)AGENT_CLIENTS * VGPU_SEG0_BYTES;
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	uint8_t *p = mmap(NULL, bytes + POOL_HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return -1;
	agent.windows = (uint8_t *)(((uintptr_t)p + POOL_HUGE - 1) & ~(uintptr_t)(POOL_HUGE - 1));
	sigemptyset(&sa.sa_mask);
	return sigaction(SIGBUS, &sa, NULL);
}

uint8_t *sigbus_window(unsigned index)
{
	return agent.windows + (uint64_t)index * VGPU_SEG0_BYTES;
}

void sigbus_release(unsigned index)
{
	mmap(sigbus_window(index), VGPU_SEG0_BYTES, PROT_NONE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}
