/* SPDX-License-Identifier: MIT */
/*
 * See errand.h. A ring of errands per device: the control thread writes an entry and moves `asked` on, the device's thread does it
 * and moves `ended` on, the control thread takes it from there.
 *
 * With nothing to do the thread watches the transport: a device that hangs up, or whose registers say that it is lost, is reported
 * by a word. Its transport has deadlines of its own (vfio_user.c); a thread that the kernel keeps is given up after PATIENCE_MS,
 * and comes back when the kernel lets it go: until then the device is not attached anew.
 */
#include "errand.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "seccomp.h"

#define ERRANDS 64u
#define KEPT 2u                         /* places for attach and detach */
#define PATIENCE_MS 20000u
#define LOOK_MS 500u                    /* as in admin.c: between two looks no more counts, this process may have been stopped */

struct errand {
	enum { ERRAND_MAP, ERRAND_UNMAP, ERRAND_ATTACH, ERRAND_DETACH } what;
	iova_t iova;
	uint64_t bytes;
	int fd;                         /* of ERRAND_MAP: the thread closes it */
	uint64_t offset;                /* in its file */
	int answers;                    /* of ERRAND_DETACH */
	errand_done *done;              /* NULL: nobody wants to know */
	void *object;
	uint32_t arg;
	int rc;
};

static struct thread {
	struct device *d;
	int started, wake;              /* eventfd */
	uint64_t asked;                 /* C, release */
	uint64_t taken;                 /* C */
	uint64_t left_ns, looked_ns;    /* C: patience with the errand in front */
	uint64_t front;                 /* C: which one that was */
	uint64_t ended __attribute__((aligned(64)));    /* T, release */
	uint32_t seen;                  /* T, release: trouble is set; C takes it back */
	const char *trouble;
	int watching;                   /* T: it is up, as far as one knows */
	struct errand ring[ERRANDS];
} threads[VGPU_MAX_DEVICES] AGENT_STATE;

static void tell_control(void)
{
	static const uint64_t one = 1;

	if (write(agent.wake_c, &one, 8) < 0)
		return;                 /* EAGAIN: it is full of wake-ups */
}

/* ---- the device's thread ----------------------------------------------------------------------------- */

static int go(struct thread *t, struct errand *e)
{
	struct device *d = t->d;
	int rc = -EPIPE;

	switch (e->what) {
	case ERRAND_MAP:
		if (d->v)
			rc = d->ops->dma_map(d->v, e->iova, e->bytes, e->fd, e->offset, NULL);
		close(e->fd);
		return rc;
	case ERRAND_UNMAP:
		return d->v ? d->ops->dma_unmap(d->v, e->iova, e->bytes) : -EPIPE;
	case ERRAND_ATTACH:
		rc = device_bring_up(d, d->why, sizeof(d->why));
		t->watching = rc == 0;
		return rc;
	case ERRAND_DETACH:
		t->watching = 0;
		vgpu_store_relaxed32(&t->seen, 0);      /* of the one that goes */
		device_take_down(d, e->answers);
		return 0;
	}
	return -EINVAL;
}

static void watch(struct thread *t)
{
	struct device *d = t->d;
	struct pollfd p[2] = { { .fd = t->wake, .events = POLLIN }, { .fd = -1, .events = POLLIN | POLLRDHUP } };
	const char *why = "its connection was closed";
	uint64_t drain;

	if (t->watching)
		p[1].fd = d->ops->poll_fd(d->v);
	if (poll(p, 2, -1) < 0)
		return;
	if (p[0].revents && read(t->wake, &drain, 8) < 0)
		return;
	if (!p[1].revents)
		return;
	if (d->ops->event(d->v) < 0 || p[1].revents & (POLLHUP | POLLERR) || (why = device_trouble(d))) {
		t->watching = 0;
		t->trouble = why;
		/* Partner: the acquire in errand_turn(). */
		vgpu_store_release32(&t->seen, 1);
		tell_control();
	}
}

static void *serve(void *p)
{
	struct thread *t = p;

	if (agent.opt.sandbox)
		seccomp_device_thread(!t->d->ops->same_kernel);
	for (;;) {
		struct errand *e = &t->ring[t->ended % ERRANDS];

		if (vgpu_load_acquire64(&t->asked) == t->ended) {
			watch(t);
			continue;
		}
		e->rc = go(t, e);
		vgpu_store_release64(&t->ended, t->ended + 1);
		tell_control();
	}
	return NULL;
}

/* ---- the control thread ------------------------------------------------------------------------------ */

int errand_start(struct device *d)
{
	struct thread *t = &threads[d->index];
	sigset_t all, old;
	pthread_t id;
	int rc;

	t->d = d;
	t->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->wake < 0)
		return -errno;
	sigfillset(&all);
	sigdelset(&all, SIGBUS);        /* doorbells that lead nowhere: sigbus.c */
	sigdelset(&all, SIGSYS);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_create(&id, NULL, serve, t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc)
		return -rc;
	pthread_detach(id);
	t->started = 1;
	return 0;
}

static void post(struct device *d, const struct errand *e)
{
	static const uint64_t one = 1;
	struct thread *t = &threads[d->index];

	t->ring[t->asked % ERRANDS] = *e;
	vgpu_store_release64(&t->asked, t->asked + 1);
	if (write(t->wake, &one, 8) < 0)
		log_debug("device %u: its thread has been woken often", d->index);
}

static int room(const struct device *d)
{
	const struct thread *t = &threads[d->index];

	return t->asked - t->taken < ERRANDS - KEPT;
}

int errand_map(struct device *d, iova_t iova, const struct pool_mem *m, errand_done *done, void *object, uint32_t arg)
{
	struct errand e = { .what = ERRAND_MAP, .iova = iova, .bytes = m->bytes, .offset = m->offset, .done = done, .object = object, .arg = arg };

	if (!room(d))
		return -EAGAIN;
	/* its own: whoever asked may close his before the thread comes to it, and the number be another file's */
	e.fd = fcntl(m->fd, F_DUPFD_CLOEXEC, 0);
	if (e.fd < 0)
		return -errno;
	post(d, &e);
	return 0;
}

int errand_unmap(struct device *d, iova_t iova, uint64_t bytes, errand_done *done, void *object, uint32_t arg)
{
	if (!room(d))
		return -EAGAIN;
	post(d, &(struct errand){ .what = ERRAND_UNMAP, .iova = iova, .bytes = bytes, .done = done, .object = object, .arg = arg });
	return 0;
}

void errand_attach(struct device *d, errand_done *done)
{
	post(d, &(struct errand){ .what = ERRAND_ATTACH, .done = done, .object = d });
}

void errand_detach(struct device *d, int answers)
{
	if (threads[d->index].started)
		post(d, &(struct errand){ .what = ERRAND_DETACH, .answers = answers });
}

int errand_none(const struct device *d)
{
	return threads[d->index].asked == threads[d->index].taken;
}

/* Time that the errand in front has left; 0: it is over. */
static uint64_t patience(struct thread *t)
{
	uint64_t now = now_ns(), took = now - t->looked_ns;

	if (t->front != t->taken + 1) {
		t->front = t->taken + 1;
		t->left_ns = PATIENCE_MS * 1000000ull;
		took = 0;
	}
	t->looked_ns = now;
	if (took > LOOK_MS * 1000000ull)
		took = LOOK_MS * 1000000ull;
	t->left_ns -= took < t->left_ns ? took : t->left_ns;
	return t->left_ns;
}

void errand_turn(struct device *d)
{
	struct thread *t = &threads[d->index];

	while (t->taken < vgpu_load_acquire64(&t->ended)) {
		struct errand e = t->ring[t->taken++ % ERRANDS];

		/* What is refused is refused; these say that nobody is there. */
		if (d->ready && (e.rc == -EPIPE || e.rc == -ETIMEDOUT || e.rc == -EPROTO))
			d->trouble = "it does not answer";
		if (e.done)
			e.done(e.object, e.arg, e.rc);
	}
	if (vgpu_load_acquire32(&t->seen)) {
		vgpu_store_relaxed32(&t->seen, 0);
		if (d->ready)
			d->trouble = t->trouble;
	}
	if (t->asked != t->taken && d->ready && !patience(t))
		d->trouble = "it does not answer";
}

int errand_next(const struct device *d)
{
	return d->ready && !errand_none(d) ? (int)LOOK_MS / 2 : -1;
}

int errand_wait(struct device *d, unsigned ms)
{
	uint64_t until = now_ns() + ms * 1000000ull;

	errand_turn(d);
	while (!errand_none(d)) {
		struct timespec nap = { 0, 200000 };

		if (now_ns() > until)
			return -ETIMEDOUT;
		nanosleep(&nap, NULL);
		errand_turn(d);
	}
	return 0;
}
