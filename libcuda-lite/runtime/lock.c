/* SPDX-License-Identifier: MIT */
/*
 * The slow halves of rt_lock()/rt_unlock(): a futex lock of three states.
 *
 * Called from rt.h's inlines only. A lock of our own because libpthread's entry points carry newer
 * symbol versions than the oldest C library that we load into.
 */
#define _GNU_SOURCE
#include "../core/lock.h"
#include "rt.h"

void rt_lock_slow(struct rt_lock *l)
{
	/* Word 2 tells the holder to wake us; who gets the lock this way leaves 2 behind, to be safe. */
	while (atomic_exchange_explicit(&l->word, 2, memory_order_acquire) != 0)
		vg_futex((uint32_t *)&l->word, FUTEX_WAIT_PRIVATE, 2, NULL);
}

void rt_unlock_slow(struct rt_lock *l)
{
	vg_futex((uint32_t *)&l->word, FUTEX_WAKE_PRIVATE, 1, NULL);
}
