/* SPDX-License-Identifier: MIT */
/* See vfio_slow.h. One thread, one thing at a time. */
#include "vfio_slow.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent.h"
#include "seccomp.h"

#define OPEN_S 20               /* at boot: a reset takes 0.1 s, of a dead function more than a minute */

enum ask { ASK_NOTHING, ASK_OPEN, ASK_WORKING, ASK_DONE };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	int started, busy;
	vfio_open_fn open_now;
	vfio_close_fn close_now;
	enum ask ask;
	char spec[64], why[400];
	struct vfio *v;
	int rc;
	struct vfio *dying[16];
	unsigned deaths;
} slow = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void *slow_thread(void *unused)
{
	(void)unused;
	if (agent.opt.sandbox)
		seccomp_vfio_thread();
	pthread_mutex_lock(&slow.lock);
	for (;;) {
		struct vfio *v = NULL;
		int rc;

		slow.busy = 0;
		while (!slow.deaths && slow.ask != ASK_OPEN)
			pthread_cond_wait(&slow.work, &slow.lock);
		slow.busy = 1;
		if (slow.deaths) {
			v = slow.dying[--slow.deaths];
			pthread_mutex_unlock(&slow.lock);
			slow.close_now(v);
			pthread_mutex_lock(&slow.lock);
			continue;
		}
		slow.ask = ASK_WORKING;
		pthread_mutex_unlock(&slow.lock);
		rc = slow.open_now(slow.spec, &v, slow.why, sizeof(slow.why));
		pthread_mutex_lock(&slow.lock);
		slow.rc = rc;
		slow.v = v;
		slow.ask = ASK_DONE;
		pthread_cond_signal(&slow.done);
	}
	return NULL;
}

/* Before the control thread's filter forbids new threads: the first open is at boot. */
static int slow_start(vfio_open_fn open_now, vfio_close_fn close_now)
{
	pthread_condattr_t attr;
	sigset_t all, old;
	pthread_t t;
	int rc;

	if (slow.started)
		return 0;
	slow.open_now = open_now;
	slow.close_now = close_now;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&slow.work, NULL);
	pthread_cond_init(&slow.done, &attr);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_create(&t, NULL, slow_thread, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc)
		return -rc;
	pthread_detach(t);
	slow.started = 1;
	return 0;
}

/* The answer to the last request, if it is there. */
static int take(struct vfio **out, char *why, size_t why_bytes)
{
	slow.ask = ASK_NOTHING;
	*out = slow.v;
	snprintf(why, why_bytes, "%s", slow.why);
	return slow.rc;
}

int vfio_slow_open(vfio_open_fn open_now, vfio_close_fn close_now, const char *spec, struct vfio **out, char *why, size_t why_bytes)
{
	struct timespec until;
	int rc = slow_start(open_now, close_now);

	if (rc < 0) {
		snprintf(why, why_bytes, "%s: no thread for opening devices: %s", spec, strerror(-rc));
		return rc;
	}
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += agent.serving ? 0 : OPEN_S;
	pthread_mutex_lock(&slow.lock);
	if (slow.ask == ASK_NOTHING && !slow.busy && !slow.deaths) {
		snprintf(slow.spec, sizeof(slow.spec), "%s", spec);
		slow.why[0] = 0;
		slow.ask = ASK_OPEN;
		pthread_cond_signal(&slow.work);
	}
	if (slow.ask == ASK_NOTHING || strcmp(slow.spec, spec)) {
		pthread_mutex_unlock(&slow.lock);
		snprintf(why, why_bytes, "%s: the kernel is still closing or opening a device", spec);
		return -EBUSY;
	}
	while (slow.ask != ASK_DONE && rc == 0)
		rc = -pthread_cond_timedwait(&slow.done, &slow.lock, &until);
	if (slow.ask == ASK_DONE) {
		rc = take(out, why, why_bytes);
	} else if (agent.serving) {
		rc = -EINPROGRESS;
		snprintf(why, why_bytes, "%s: the kernel is opening it", spec);
	} else {
		rc = -ETIMEDOUT;
		snprintf(why, why_bytes, "%s: the kernel does not open it within %d s: the device is dead or hangs in its reset", spec, OPEN_S);
	}
	pthread_mutex_unlock(&slow.lock);
	return rc;
}

void vfio_slow_close(struct vfio *v)
{
	pthread_mutex_lock(&slow.lock);
	/* At most one per device. */
	slow.dying[slow.deaths++] = v;
	pthread_cond_signal(&slow.work);
	pthread_mutex_unlock(&slow.lock);
}
