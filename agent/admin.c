/* SPDX-License-Identifier: MIT */
/*
 * The admin queue of a device (vgpu_device.h). A command is posted and the control thread goes on; its completion, or the
 * end of its time, is found by admin_turn(), which calls whoever asked. Nothing here waits, but for bring-up (admin_call).
 *
 * The ring's places are taken in order, whoever still waits for what: a context that is stopped may keep its place
 * for seconds, and two completions in one place could hide each other. So a place that somebody waits on is passed
 * over, with an ASYNC_EVENT in it: that command completes only when a context dies, and gives way to the next of its kind.
 *
 * ASYNC_EVENT stays posted and completes when a context dies; it is posted anew every ASYNC_AGE commands, before its
 * place comes round. The device then forgets the older one, which may have completed just before: all places that
 * hold one are looked at, until they are used again.
 *
 * A command about one context that is not answered in time costs that context, not the device: its end is asked for, and
 * only a device that does not answer that either is lost, or one that has left GIVEN_UP_MAX places unanswered. An end takes as long
 * as the kernel needs to take a process's memory apart, which may be a hundred gigabytes or under pressure: when half of its time
 * is over the device is asked something that it can answer at once, and as long as it answers anything at all an end is waited for.
 */
#include "device.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "context.h"

#define ASYNC_AGE 24u
#define LOOK_MS 500u            /* twice the time between two looks at a device that does not answer */
#define WAITING_MAX 40u         /* commands that may wait for a context's word at once, and of one user: */
#define WAITING_USER 20u
#define ENDING_MAX 56u          /* with the ends that are asked for */
#define GIVEN_UP_MAX 16u
#define START_TIMES 5u / 2              /* a CTX_CREATE starts a process, to which the device gives 15 s; nobody else waits for it */
unsigned admin_ms = 8000;               /* the device gives a context that runs 5 s */

static struct vgpu_admin_cmd *slot_at(struct device *d, uint64_t index)
{
	return (void *)(d->admin_va + ADMIN_ASQ + index % VGPU_ADMIN_SLOTS * 64);
}

static struct vgpu_reply *completion_at(struct device *d, uint64_t index)
{
	return (struct vgpu_reply *)(d->admin_va + ADMIN_ACQ + index % VGPU_ADMIN_SLOTS * 64);
}

void admin_start(struct device *d)
{
	d->admin_tail = d->async_newest = 0;
	memset(d->asked, 0, sizeof(d->asked));
	d->heard_ns = d->probe = 0;
	memset(d->async_at, 0, sizeof(d->async_at));
	memset(d->died, 0, sizeof(d->died));
	memset(d->admin_va, 0, ADMIN_BYTES);
}

/* Is the completion of `index` there? Its status, read once: device memory may change under us. */
static int completed(struct device *d, uint64_t index, uint32_t *status)
{
	struct vgpu_reply *r = completion_at(d, index);

	if (vgpu_load_acquire32(&r->seq) != (uint32_t)(index + 1))
		return 0;
	*status = vgpu_load_relaxed32(&r->status);
	if (!vgpu_status_known(*status))
		*status = VGPU_ST_INTERNAL;
	return 1;
}

static uint64_t publish(struct device *d, const struct vgpu_admin_cmd *cmd)
{
	uint64_t index = d->admin_tail++;
	struct vgpu_admin_cmd *s = slot_at(d, index);
	uint32_t before = s->seq;

	*s = *cmd;
	s->seq = before;        /* not valid yet: the release below publishes */
	vgpu_store_release32(&s->seq, (uint32_t)(index + 1));
	return index;
}

/* What the event in this place says, if it has completed. Without acting on it. */
static void harvest_one(struct device *d, unsigned place)
{
	uint64_t index = d->async_at[place] - 1;
	struct vgpu_reply *r = completion_at(d, index);
	uint32_t status;
	uint64_t qid, why;

	if (!d->async_at[place] || !completed(d, index, &status))
		return;
	d->async_at[place] = 0;
	if (d->async_newest == index + 1)
		d->async_newest = 0;
	qid = vgpu_load_relaxed64(&r->v[0]);
	why = vgpu_load_relaxed64(&r->v[1]);
	if (status == VGPU_ST_OK && qid < d->queues)
		d->died[qid] = why && why < VGPU_ST_COUNT ? (uint8_t)why : VGPU_ST_CONTEXT_DEAD;
}

static void harvest(struct device *d)
{
	for (unsigned i = 0; i < VGPU_ADMIN_SLOTS; i++)
		if (d->async_at[i])
			harvest_one(d, i);
}

static void post_event(struct device *d)
{
	struct vgpu_admin_cmd cmd = { .op = VGPU_ADMIN_ASYNC_EVENT };
	unsigned place = d->admin_tail % VGPU_ADMIN_SLOTS;

	harvest_one(d, place);
	d->async_newest = d->async_at[place] = publish(d, &cmd) + 1;
}

/* The next place is one that nobody waits on. There is one: admin_room() keeps some free. */
static void pass_over(struct device *d)
{
	for (unsigned i = 0; i < VGPU_ADMIN_SLOTS && d->asked[d->admin_tail % VGPU_ADMIN_SLOTS].index; i++)
		post_event(d);
}

/* One that was posted in passing may not be what tells of deaths: its completion would stand in somebody's place. */
static void keep_posted(struct device *d)
{
	if (d->async_newest && d->admin_tail - d->async_newest < ASYNC_AGE &&
	    !d->asked[(d->async_newest - 1) % VGPU_ADMIN_SLOTS].index)
		return;
	pass_over(d);
	post_event(d);
	device_ring(d, 0, d->doorbell_fd[0]);
}

static int anybody_waits(const struct device *d)
{
	for (unsigned i = 0; i < VGPU_ADMIN_SLOTS; i++)
		if (d->asked[i].index)
			return 1;
	return 0;
}

int admin_room(const struct device *d, const struct client *c)
{
	unsigned all = 0, user = 0;

	for (unsigned i = 0; i < VGPU_ADMIN_SLOTS; i++) {
		const struct context *x = d->asked[i].x;

		all += d->asked[i].index != 0;
		user += c && d->asked[i].index && x && tenant_same(x->client, c);
	}
	return c ? all < WAITING_MAX && user < WAITING_USER : all < ENDING_MAX;
}

/* A command's own 128 bytes for what does not fit into it: the device reads them when it comes to the command. */
struct vgpu_ctx_create *admin_create_at(struct device *d, uint64_t *offset)
{
	pass_over(d);
	*offset = ADMIN_CREATE + d->admin_tail % VGPU_ADMIN_SLOTS * sizeof(struct vgpu_ctx_create);
	return (struct vgpu_ctx_create *)(d->admin_va + *offset);
}

uint64_t admin_post(struct device *d, const struct vgpu_admin_cmd *cmd, struct context *x, admin_done *done)
{
	struct admin_asked *a;
	uint64_t index;

	if (!anybody_waits(d))
		d->asked_ns = now_ns();
	pass_over(d);
	harvest_one(d, d->admin_tail % VGPU_ADMIN_SLOTS);
	d->async_at[d->admin_tail % VGPU_ADMIN_SLOTS] = 0;
	a = &d->asked[d->admin_tail % VGPU_ADMIN_SLOTS];
	*a = (struct admin_asked){ .x = x, .done = done, .left_ns = admin_ms * 1000000ull };
	if (cmd->op == VGPU_ADMIN_CTX_CREATE)
		a->left_ns = a->left_ns * START_TIMES;
	if (cmd->op == VGPU_ADMIN_CTX_DESTROY)
		a->since_ns = now_ns();
	a->index = publish(d, cmd) + 1;
	index = a->index;
	keep_posted(d);
	device_ring(d, 0, d->doorbell_fd[0]);
	return index;
}

void admin_abandon(struct device *d, const struct context *x)
{
	for (unsigned i = 0; i < VGPU_ADMIN_SLOTS; i++)
		if (d->asked[i].x == x)
			d->asked[i].x = NULL;
}

/*
 * Bring-up: the one command that is waited for, on the device's thread. The deadline is of time in which this process ran: one that was stopped has
 * not seen the device be silent, so that between two looks no more than LOOK_MS count. The same holds for admin_turn().
 */
int admin_call(struct device *d, const struct vgpu_admin_cmd *cmd)
{
	uint64_t left = admin_ms * 1000000ull, before = now_ns(), now, took, drain, index;
	uint32_t status;

	if (!d->v)
		return -EPIPE;
	index = publish(d, cmd);
	device_ring(d, 0, d->doorbell_fd[0]);
	while (!completed(d, index, &status)) {
		struct pollfd p[2] = { { .fd = d->irq_fd[0], .events = POLLIN },
				       { .fd = d->ops->poll_fd(d->v), .events = POLLIN } };

		now = now_ns();
		took = now - before < LOOK_MS * 1000000ull ? now - before : LOOK_MS * 1000000ull;
		before = now;
		left -= took < left ? took : left;
		if (!left)
			return -ETIMEDOUT;
		if (poll(p, 2, left / 1000000 < LOOK_MS / 2 ? (int)(left / 1000000) + 1 : (int)LOOK_MS / 2) < 0 && errno != EINTR)
			return -errno;
		if (p[0].revents && read(d->irq_fd[0], &drain, 8) < 0 && errno != EAGAIN)
			return -errno;
		if (p[1].revents && d->ops->event(d->v) < 0)
			return -EPIPE;
	}
	return (int)status;
}

void admin_forget(struct device *d, uint32_t qid)
{
	harvest(d);
	d->died[qid] = 0;
}

/* One command: has it completed, or is its time over? */
static void look(struct device *d, struct admin_asked *a, uint64_t took)
{
	struct admin_asked was = *a;
	uint32_t status;

	if (completed(d, was.index - 1, &status)) {
		a->index = 0;
		d->heard_ns = now_ns();
		if (d->probe == was.index)
			d->probe = 0;
		if (was.x)
			was.done(was.x, (int)status);
		return;
	}
	a->left_ns -= took < a->left_ns ? took : a->left_ns;
	if (a->left_ns || a->given_up)
		return;
	if (a->since_ns && d->heard_ns > a->since_ns) {
		if (was.x)
			log_debug("a context of client %u takes long to end", was.x->client->id);
		a->since_ns = now_ns();
		a->left_ns = admin_ms * 1000000ull;
		return;
	}
	/* Its place stays taken: the completion may come yet. */
	a->given_up = 1;
	a->x = NULL;
	if (was.x)
		was.done(was.x, -ETIMEDOUT);
}

/* Is it there? What it says does not matter. */
static void probe(struct device *d)
{
	struct vgpu_admin_cmd cmd = { .op = VGPU_ADMIN_CTX_STAT };

	for (unsigned i = 0; i < VGPU_ADMIN_SLOTS && !d->probe; i++) {
		const struct admin_asked *a = &d->asked[i];

		if (a->index && !a->given_up && a->since_ns && a->left_ns <= admin_ms * 500000ull && d->heard_ns <= a->since_ns)
			d->probe = admin_post(d, &cmd, NULL, NULL);
	}
}

int admin_turn(struct device *d)
{
	uint64_t now = now_ns(), took = now - d->asked_ns, next = ~0ull;
	unsigned given_up = 0;

	if (!d->ready)
		return -1;
	if (took > LOOK_MS * 1000000ull)
		took = LOOK_MS * 1000000ull;
	d->asked_ns = now;
	for (unsigned i = 0; i < VGPU_ADMIN_SLOTS; i++)
		if (d->asked[i].index)
			look(d, &d->asked[i], took);
	probe(d);
	harvest(d);
	for (unsigned q = 0; q < d->queues; q++) {
		uint32_t status = d->died[q];

		d->died[q] = 0;
		if (status && d->owner[q])
			context_died(d->owner[q], status, NULL);
	}
	context_pump(d);
	keep_posted(d);
	for (unsigned i = 0; i < VGPU_ADMIN_SLOTS; i++) {
		const struct admin_asked *a = &d->asked[i];

		given_up += a->index && a->given_up;
		if (a->index && !a->given_up && a->left_ns < next)
			next = a->left_ns;
	}
	if (given_up > GIVEN_UP_MAX)
		d->trouble = "it leaves commands unanswered";
	if (next == ~0ull)
		return -1;
	return next / 1000000 < LOOK_MS / 2 ? (int)(next / 1000000) + 1 : (int)LOOK_MS / 2;
}
