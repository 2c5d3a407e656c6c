/* SPDX-License-Identifier: MIT */
/*
 * The compiler thread: what may take seconds of one control command (a module's load, a kernel's compilation) runs here, one at a time,
 * while the dispatcher goes on with launches, copies, other streams and the parent's messages. Only the control queue waits.
 *
 * ctx_ctl.c gives a job and ends it, both on the dispatcher; in between the job is the thread's. Made before the sandbox closes, which lets
 * nobody make threads. An engine that does not say it can (apart) compiles on the dispatcher, as does a process without room for the thread.
 */
#include "ctx.h"

#include <signal.h>

#define STACK_BYTES (8u << 20)          /* a function compiles its callees first, on the stack: what the main thread has */

enum { NONE, IDLE, GIVEN, DONE };

static void *compiler(void *arg)
{
	struct ctx *c = arg;
	struct ctx_job *j = &c->job;

	for (;;) {
		pthread_mutex_lock(&j->lock);
		while (j->state != GIVEN)
			pthread_cond_wait(&j->given, &j->lock);
		pthread_mutex_unlock(&j->lock);
		ctx_control_work(c);
		/* Release: results before the word. Partner: ctx_job_done(). */
		__atomic_store_n(&j->state, DONE, __ATOMIC_RELEASE);
		ctx_wake(c);
	}
	return NULL;
}

void ctx_job_init(struct ctx *c)
{
	struct ctx_job *j = &c->job;
	pthread_attr_t attr;
	sigset_t all, was;

	if (!c->ops->apart || !c->ops->apart(c->engine) || pthread_attr_init(&attr))
		return;
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->given, NULL);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	j->state = IDLE;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &was);
	if (pthread_create(&j->thread, &attr, compiler, c))
		j->state = NONE;
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	pthread_attr_destroy(&attr);
}

int ctx_job_give(struct ctx *c)
{
	struct ctx_job *j = &c->job;

	if (j->state == NONE)
		return 0;
	pthread_mutex_lock(&j->lock);
	__atomic_store_n(&j->state, GIVEN, __ATOMIC_RELAXED);
	pthread_cond_signal(&j->given);
	pthread_mutex_unlock(&j->lock);
	return 1;
}

int ctx_job_busy(const struct ctx *c)
{
	return __atomic_load_n(&c->job.state, __ATOMIC_RELAXED) >= GIVEN;
}

int ctx_job_done(struct ctx *c)
{
	return __atomic_load_n(&c->job.state, __ATOMIC_ACQUIRE) == DONE;
}

void ctx_job_end(struct ctx *c)
{
	if (c->job.state != NONE)       /* without a thread there never is one */
		__atomic_store_n(&c->job.state, IDLE, __ATOMIC_RELAXED);
}
