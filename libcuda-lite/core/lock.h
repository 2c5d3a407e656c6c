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

/*
 * ThreadSanitizer, in a program that has it, sees neither our locks nor the device: it is told what they order, or it would take for a
 * race what is none. On cold paths only.
 */
extern void __tsan_acquire(void *of) __attribute__((weak));
extern void __tsan_release(void *of) __attribute__((weak));

static inline void vg_order_acquire(void *of)
{
	if (__tsan_acquire)
		__tsan_acquire(of);
}

static inline void vg_order_release(void *of)
{
	if (__tsan_release)
		__tsan_release(of);
}

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

	/* Where it is not free, the word stays 2 while we hold it: the holder before us cannot know how many wait. */
	if (!__atomic_compare_exchange_n(&l->word, &old, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		while (__atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE) != 0)
			vg_futex(&l->word, FUTEX_WAIT_PRIVATE, 2, NULL);
	vg_order_acquire(l);
}

static inline void vg_unlock(struct vg_lock *l)
{
	vg_order_release(l);
	if (__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2)
		vg_futex(&l->word, FUTEX_WAKE_PRIVATE, 1, NULL);
}

#endif
