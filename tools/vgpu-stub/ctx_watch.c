/* SPDX-License-Identifier: MIT */
/*
 * --kernel-timeout and vgpu ctl set kernel-time, for calls of a host's driver that do not come back: the dispatcher is inside, so nobody in this process could tell its
 * client. A thread watches that the dispatcher's rounds go on, and ends the process when they do not: the parent knows the exit status, tells
 * the client what it was, and the driver lets go of what the process had.
 *
 * Started before the sandbox closes. Rounds come at least every NAP_NS (ctx_loop.c), but while a module is loaded: to compile takes its time.
 */
#include "ctx.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 100000000

static void *watch(void *arg)
{
	struct ctx *c = arg;
	uint64_t seen = 0, since = ctx_now_ns();

	for (;;) {
		uint64_t beat = vgpu_load_relaxed64(&c->beat), now = ctx_now_ns(), most = ctx_work_limit(c);

		if (beat != seen || !most || vgpu_load_relaxed32(&c->patient)) {
			seen = beat;
			since = now;
		} else if (now - since > most) {
			_exit(CTX_EXIT_STUCK);
		}
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
	}
	return NULL;
}

void ctx_watch_init(struct ctx *c)
{
	sigset_t all, was;
	pthread_t t;

	if (!c->init.cuda)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &was);
	if (pthread_create(&t, NULL, watch, c))
		ctx_log(c, "no thread that watches the driver's calls");
	pthread_sigmask(SIG_SETMASK, &was, NULL);
}
