/* SPDX-License-Identifier: MIT */
/*
 * Signals that say nothing to a service, and whose default is an end without order: ignored, by agent and device at their start.
 * SIGXFSZ among them: where files may not grow any more (RLIMIT_FSIZE) that is an error, and not the end. The C libraries keep two or three
 * of the real-time ones to themselves and refuse to hear of them, so these are told to the kernel directly.
 */
#ifndef SERVICE_SIGNALS_H
#define SERVICE_SIGNALS_H

#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIGNALS_REAL_TIME 32
#define SIGNALS_LAST 64

/* rt_sigaction(2) with `handler`, SIG_IGN or SIG_DFL, which need no way back. */
static inline void signals_set(int number, void (*handler)(int))
{
	struct { void (*handler)(int); unsigned long flags; void (*restorer)(void); unsigned long mask; } a = { handler, 0, NULL, 0 };

	syscall(SYS_rt_sigaction, number, &a, NULL, sizeof(a.mask));
}

static inline void signals_ignore(void)
{
	static const int no_use[] = { SIGPIPE, SIGUSR1, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGSTKFLT, SIGXCPU, SIGXFSZ };

	for (size_t i = 0; i < sizeof(no_use) / sizeof(no_use[0]); i++)
		signals_set(no_use[i], SIG_IGN);
	for (int s = SIGNALS_REAL_TIME; s <= SIGNALS_LAST; s++)
		signals_set(s, SIG_IGN);
}

#endif
