/* SPDX-License-Identifier: MIT */
/*
 * Whose turn it is not: others' by weight or priority (fair.c), or its share is used up (cap.c). A context is told so by its run word: its
 * dispatcher takes no commands then, and its workers no turns of grids. One that works on all the same (native code would have to; a long turn
 * may) is stopped by signal until it is its turn.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stub.h"

#define GRACE_NS 24000000ull            /* some turns: who is held and works longer than that is stopped */

void hold_forget(struct context *c)
{
	fair_forget(c);
	memset(&c->cap, 0, sizeof(c->cap));
	c->held_ns = 0;
	c->priority = 0;
	c->stopped = 0;
}

void hold_tell(struct context *c)
{
	int held = c->fair.held || c->cap.held;
	uint32_t was = c->run->run, word = (was & ~CTX_RUN_HELD) | (held ? CTX_RUN_HELD : 0);
	uint64_t now;

	if (was == word)
		return;
	now = clock_ns();
	/* who reads these two beside us may count a turn twice, for a moment, and never leaves one out */
	if (!held)
		__atomic_store_n(&c->run->held_ns, c->run->held_ns + now - c->held_ns, __ATOMIC_RELEASE);
	c->held_ns = held ? now : 0;
	__atomic_store_n(&c->run->held_since_ns, c->held_ns, __ATOMIC_RELEASE);
	__atomic_store_n(&c->run->run, word, __ATOMIC_RELEASE);
	if (held)
		return;
	if (c->stopped)
		pidfd_send_signal(c->pidfd, SIGCONT, NULL, 0);
	c->stopped = 0;
	/* its workers sleep on the word (rt.c), its dispatcher on the bell */
	syscall(SYS_futex, &c->run->run, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	bell_ring(c->dev->doorbell[1 + c->qid]);
}

/* Messages to it are answered by a process that goes on, whatever its share. */
void hold_stop(struct context *c, uint64_t now, uint64_t used, uint64_t elapsed)
{
	if (c->stopped && c->deadline_ns) {
		pidfd_send_signal(c->pidfd, SIGCONT, NULL, 0);
		c->stopped = 0;
	} else if (!c->stopped && !c->deadline_ns && c->held_ns && now - c->held_ns > GRACE_NS && used * 4 > elapsed) {
		c->stopped = !pidfd_send_signal(c->pidfd, SIGSTOP, NULL, 0);
	}
}
