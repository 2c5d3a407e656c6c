/* SPDX-License-Identifier: MIT */
/*
 * A mutex of one word on raw futexes: no libpthread symbol, the same in glibc, musl and static
 * programs. 0 free, 1 held, 2 held and somebody may sleep. Cold paths only: nothing a launch
 * passes takes a lock. Never held across a wait for the device, but for an exec's: who launches a graph may wait for
 * credits with it.
 */
#ifndef VG_LOCK_H
#define VG_LOCK_H

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct vg_lock {
	uint32_t word;
};

/* As the kernel answers: -errno on failure. The program's own errno stays: that a word has changed already is no error of anybody's. */
static inline long vg_futex(uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
	int own = errno;
	long r = syscall(SYS_futex, word, op, value, timeout, NULL, 0);

	if (r < 0) {
		r = -errno;
		errno = own;
	}
	return r;
}

static inline void vg_lock(struct vg_lock *l)
{
	uint32_t old = 0;

	if (__atomic_compare_exchange_n(&l->word, &old, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	/* From here on the word stays 2 while we hold it: the holder before us cannot know how many wait. */
	while (__atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE) != 0)
		vg_futex(&l->word, FUTEX_WAIT_PRIVATE, 2, NULL);
}

static inline void vg_unlock(struct vg_lock *l)
{
	if (__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2)
		vg_futex(&l->word, FUTEX_WAKE_PRIVATE, 1, NULL);
}

#endif
