/* SPDX-License-Identifier: MIT */
/*
 * Which stream gets an operation's commands, and when.
 *
 *   short ones       at once, on the caller's stream
 *   long ones        by the keeper, a few rounds ahead of the device, on a stream of the communicator's; the caller's waits for the word
 *                    that the last command writes. A stream has credit for so many commands, and nobody is to wait here for other ranks.
 *   groups of sends  a stream for each peer and direction, since each is to go on while others wait
 *   while captured   at once, whatever their length: a graph has room
 *
 * A communicator's operations are in the order of the calls, on whatever streams they are.
 */
#include <stdlib.h>

#include "comm.h"

#define SHORT 160u                      /* commands, of a stream's 256 */

/* What the keeper is to issue; the words are the communicator's control words 2 slot (rounds that ended) and 2 slot + 1. */
struct job {
	struct job *next;
	struct op *ops;                 /* in order */
	CUstream stream;
	CUevent after;                  /* begins behind it */
	unsigned slot;
	uint32_t issued;
	bool begun;
};
enum { RUNNING = 0, OVER = 1, FREE = 2 };       /* the second word: OVER by the job, FREE by the caller's stream */
#define JOBS 64u

static uint32_t *word(struct ncclComm *c, unsigned slot, unsigned which)
{
	return c->control + (slot * 2 + which) * (WORD_STRIDE / 4);
}

static bool capturing(CUstream s)
{
	CUstreamCaptureStatus st = CU_STREAM_CAPTURE_STATUS_NONE;

	return cuStreamIsCapturing(s, &st) == CUDA_SUCCESS && st != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* Behind the operation before. */
static ncclResult_t enter(struct ncclComm *c, CUstream s)
{
	if (c->any && c->ranks > 1 && s != c->last_stream && !capturing(s))
		CU(cuStreamWaitEvent(s, c->last, 0));
	return ncclSuccess;
}

static ncclResult_t leave(struct ncclComm *c, CUstream s)
{
	if (capturing(s)) {
		c->captured = true;
		return ncclSuccess;
	}
	if (c->ranks == 1)              /* whose streams may be of any context */
		return ncclSuccess;
	CU(cuEventRecord(c->last, s));
	c->last_stream = s;
	c->any = true;
	return ncclSuccess;
}

static void drop(struct job *j)
{
	for (struct op *o = j->ops, *n; o; o = n) {
		n = o->next;
		free(o);
	}
	if (j->after)
		cuEventDestroy(j->after);
	free(j);
}

/* ops become the job's */
static ncclResult_t later(struct ncclComm *c, struct op *ops, CUstream on, CUevent after, unsigned *slot)
{
	struct job *j = calloc(1, sizeof(*j));
	unsigned k = 0;

	if (!j)
		return nccl_fail(ncclSystemError, "no memory");
	*j = (struct job){ .ops = ops, .stream = on, .after = after };
	while (__atomic_load_n(word(c, k, 1), __ATOMIC_ACQUIRE) != FREE) {
		if (comm_has_failed(c)) {
			drop(j);
			return nccl_fail(ncclRemoteError, "the communicator has failed");
		}
		if (++k == JOBS) {
			nap_us(100);
			k = 0;
		}
	}
	__atomic_store_n(word(c, k, 0), 0, __ATOMIC_RELAXED);
	__atomic_store_n(word(c, k, 1), RUNNING, __ATOMIC_RELEASE);
	*slot = j->slot = k;
	pthread_mutex_lock(&c->lock);
	*c->jobs_end = j;
	c->jobs_end = &j->next;
	pthread_mutex_unlock(&c->lock);
	comm_wake(c);
	return ncclSuccess;
}

static ncclResult_t wait_for(struct ncclComm *c, CUstream s, unsigned slot, bool last)
{
	CUdeviceptr at = (uintptr_t)word(c, slot, 1);

	CU(cuStreamWaitValue32(s, at, OVER, CU_STREAM_WAIT_VALUE_AND));
	return last ? nccl_cuda(cuStreamWriteValue32(s, at, FREE, 0)) : ncclSuccess;
}

/* One job a little further. False: nothing to be done now. */
static bool advance(struct ncclComm *c, struct job *j)
{
	struct op *o = j->ops;
	uint32_t most = o && o->cost < SHORT ? SHORT / o->cost : 1;
	ncclResult_t r = ncclSuccess;

	if (j->issued - __atomic_load_n(word(c, j->slot, 0), __ATOMIC_ACQUIRE) >= most)
		return false;
	if (!j->begun) {
		r = nccl_cuda(cuStreamWaitEvent(j->stream, j->after, 0));
		j->begun = true;
	}
	if (o && r == ncclSuccess && o->round < o->rounds) {
		r = plan_round(o, j->stream);
		if (r == ncclSuccess)
			r = nccl_cuda(cuStreamWriteValue32(j->stream, (uintptr_t)word(c, j->slot, 0), ++j->issued, 0));
	}
	if (r != ncclSuccess) {
		comm_failed(c, r, "the device refused a part of an operation");
		return false;
	}
	if (o && o->round >= o->rounds) {
		j->ops = o->next;
		free(o);
	}
	if (!j->ops)
		r = nccl_cuda(cuStreamWriteValue32(j->stream, (uintptr_t)word(c, j->slot, 1), OVER, 0));
	if (r != ncclSuccess)
		comm_failed(c, r, "the device refused the end of an operation");
	return true;
}

bool issue_jobs(struct ncclComm *c)
{
	struct job **at, *j;
	bool moved = true;

	while (moved && !comm_has_failed(c)) {
		moved = false;
		pthread_mutex_lock(&c->lock);
		for (at = &c->jobs; (j = *at);) {
			struct job *before = c->jobs;

			while (before != j && before->stream != j->stream)
				before = before->next;
			if (before == j && advance(c, j)) {
				moved = true;
				if (!j->ops) {
					*at = j->next;
					if (!*at)
						c->jobs_end = at;
					drop(j);
					continue;
				}
			}
			at = &j->next;
		}
		pthread_mutex_unlock(&c->lock);
	}
	return c->jobs;
}

/* Of a communicator that has failed: who waits for a job's word goes on. */
void issue_drop(struct ncclComm *c)
{
	pthread_mutex_lock(&c->lock);
	for (struct job *j = c->jobs, *n; j; j = n) {
		n = j->next;
		drop(j);
	}
	c->jobs = NULL;
	c->jobs_end = &c->jobs;
	pthread_mutex_unlock(&c->lock);
	for (unsigned k = 0; c->control && k < JOBS; k++)
		__atomic_store_n(word(c, k, 1), LET_GO, __ATOMIC_RELEASE);
}

/* ---- collectives ---- */

static ncclResult_t event_behind(CUstream s, CUevent *e)
{
	CU(cuEventCreate(e, CU_EVENT_DISABLE_TIMING));
	return nccl_cuda(cuEventRecord(*e, s));
}

/* The keeper does o, which becomes the job's. */
static ncclResult_t hand_over(struct op *o, CUstream s)
{
	struct ncclComm *c = o->comm;
	ncclResult_t r = ncclSuccess;
	CUevent after = NULL;
	unsigned slot;

	o->next = NULL;
	if (!c->work)
		r = nccl_cuda(cuStreamCreate(&c->work, CU_STREAM_NON_BLOCKING));
	if (r == ncclSuccess)
		r = event_behind(s, &after);
	if (r != ncclSuccess) {
		free(o);
		return r;
	}
	NC(later(c, o, c->work, after, &slot));
	return wait_for(c, s, slot, true);
}

/* ---- groups of sends and receives ---- */

struct lane { struct op *first, **end; uint64_t commands; CUstream stream; unsigned slot; bool job; };

static ncclResult_t to_self(struct op *send, struct op *recv)
{
	struct ncclComm *c = send->comm;

	if (send->stream != recv->stream) {
		CU(cuEventRecord(c->fork, send->stream));
		CU(cuStreamWaitEvent(recv->stream, c->fork, 0));
	}
	if (send->count && send->send != recv->recv)
		CU(cuMemcpyAsync((uintptr_t)recv->recv, (uintptr_t)send->send, send->count * nccl_bytes[send->type], recv->stream));
	if (send->stream != recv->stream) {
		CU(cuEventRecord(c->fork, recv->stream));
		CU(cuStreamWaitEvent(send->stream, c->fork, 0));
	}
	return ncclSuccess;
}

static ncclResult_t start_lane(struct ncclComm *c, struct lane *l, CUstream *streams, unsigned n, bool captured)
{
	CUevent e;

	l->job = !captured && l->commands > SHORT;
	if (!l->job) {
		for (unsigned i = 0; i < n; i++) {
			CU(cuEventRecord(c->fork, streams[i]));
			CU(cuStreamWaitEvent(l->stream, c->fork, 0));
		}
		for (struct op *o = l->first; o; o = o->next)
			while (o->round < o->rounds)
				NC(plan_round(o, l->stream));
		return ncclSuccess;
	}
	/* behind all streams: those behind the first one, which the job waits for */
	for (unsigned i = 1; i < n; i++) {
		CU(cuEventRecord(c->fork, streams[i]));
		CU(cuStreamWaitEvent(streams[0], c->fork, 0));
	}
	NC(event_behind(streams[0], &e));
	return later(c, l->first, l->stream, e, &l->slot);
}

static ncclResult_t end_lane(struct ncclComm *c, struct lane *l, CUstream *streams, unsigned n)
{
	if (!l->job)
		CU(cuEventRecord(c->fork, l->stream));
	for (unsigned i = 0; i < n; i++)
		if (l->job)
			NC(wait_for(c, streams[i], l->slot, false));
		else
			CU(cuStreamWaitEvent(streams[i], c->fork, 0));
	/* the word is free when all have seen it */
	for (unsigned i = 1; l->job && i < n; i++) {
		CU(cuEventRecord(c->fork, streams[i]));
		CU(cuStreamWaitEvent(streams[0], c->fork, 0));
	}
	return l->job ? wait_for(c, streams[0], l->slot, true) : ncclSuccess;
}

/* All of one communicator's; ops are freed. */
static ncclResult_t exchange(struct ncclComm *c, struct op *ops)
{
	struct op *self[2] = { NULL, NULL }, **self_end[2] = { &self[0], &self[1] };
	struct lane *lane = calloc((size_t)c->ranks * 2, sizeof(*lane));
	CUstream *streams = NULL;
	ncclResult_t r = ncclSuccess;
	bool captured = false;
	unsigned n = 0, total = 0;

	for (struct op *o = ops; o; o = o->next)
		total++;
	streams = malloc(total * sizeof(*streams));
	if (!lane || !streams)
		r = nccl_fail(ncclSystemError, "no memory");
	for (struct op *o = ops, *next; o; o = next) {
		struct lane *l = lane && streams ? &lane[o->root * 2 + (o->kind == RECV)] : NULL;
		unsigned k = 0;

		next = o->next;
		o->next = NULL;
		if (!l) {
			free(o);
			continue;
		}
		while (k < n && streams[k] != o->stream)
			k++;
		if (k == n) {
			streams[n++] = o->stream;
			captured |= capturing(o->stream);
		}
		if (o->root == c->rank) {
			*self_end[o->kind == RECV] = o;
			self_end[o->kind == RECV] = &o->next;
			continue;
		}
		plan_begin(o);
		if (!l->first)
			l->end = &l->first;
		*l->end = o;
		l->end = &o->next;
		l->commands += o->rounds * o->cost;
	}
	for (unsigned i = 0; r == ncclSuccess && i < n; i++)
		r = enter(c, streams[i]);
	for (struct op *s = self[0], *d = self[1]; r == ncclSuccess && s && d; s = s->next, d = d->next)
		r = to_self(s, d);
	for (int k = 0; lane && streams && k < c->ranks * 2; k++) {
		struct lane *l = &lane[k];
		CUstream *at = &c->peer[k / 2].lane[k % 2];

		if (!l->first)
			continue;
		if (r == ncclSuccess && !*at)
			r = nccl_cuda(cuStreamCreate(at, CU_STREAM_NON_BLOCKING));
		l->stream = *at;
		if (r == ncclSuccess)
			r = start_lane(c, l, streams, n, captured);
	}
	for (int k = 0; r == ncclSuccess && k < c->ranks * 2; k++)
		if (lane[k].first)
			r = end_lane(c, &lane[k], streams, n);
	/* one stream is behind all, and stands for them */
	for (unsigned i = 1; r == ncclSuccess && !captured && i < n; i++) {
		r = nccl_cuda(cuEventRecord(c->fork, streams[i]));
		if (r == ncclSuccess)
			r = nccl_cuda(cuStreamWaitEvent(streams[0], c->fork, 0));
	}
	c->captured |= captured;
	if (r == ncclSuccess && n && !captured)
		r = leave(c, streams[0]);
	for (int k = 0; lane && k < c->ranks * 2; k++)
		for (struct op *o = lane[k].job ? NULL : lane[k].first, *next; o; o = next) {
			next = o->next;
			free(o);
		}
	for (int d = 0; d < 2; d++)
		for (struct op *o = self[d], *next; o; o = next) {
			next = o->next;
			free(o);
		}
	free(lane);
	free(streams);
	return r;
}

/* ---- a group ---- */

static ncclResult_t current(struct ncclComm *c, bool *pushed)
{
	CUcontext now = NULL;

	*pushed = false;
	/* one rank alone has no memory of its own: the caller's context will do */
	if (cuCtxGetCurrent(&now) == CUDA_SUCCESS && (now == c->ctx || (now && c->ranks == 1)))
		return ncclSuccess;
	CU(cuCtxPushCurrent(c->ctx));
	*pushed = true;
	return ncclSuccess;
}

/* A step of the first unfinished collective of each communicator in turn, so that a thread that serves several never waits for itself. */
static ncclResult_t collectives(struct op **list)
{
	ncclResult_t r = ncclSuccess, e;
	CUcontext old;
	struct op **at, *o, *b;
	bool pushed;

	while (*list) {
		for (at = list; (o = *at);) {
			for (b = *list; b != o && b->comm != o->comm; b = b->next)
				;
			if (b != o) {
				at = &o->next;
				continue;
			}
			e = current(o->comm, &pushed);
			if (e == ncclSuccess && !o->round) {
				plan_begin(o);
				e = enter(o->comm, o->stream);
			}
			if (e == ncclSuccess && o->rounds * o->cost > SHORT && o->comm->ranks > 1 && !capturing(o->stream)) {
				struct ncclComm *c = o->comm;
				CUstream s = o->stream;

				*at = o->next;
				e = hand_over(o, s);
				if (e == ncclSuccess)
					e = leave(c, s);
			} else {
				if (e == ncclSuccess && o->round < o->rounds)
					e = plan_round(o, o->stream);
				if (e != ncclSuccess || o->round >= o->rounds) {
					if (e == ncclSuccess)
						e = leave(o->comm, o->stream);
					*at = o->next;
					free(o);
				} else {
					at = &o->next;
				}
			}
			if (pushed)
				cuCtxPopCurrent(&old);
			if (r == ncclSuccess)
				r = e;
		}
	}
	return r;
}

ncclResult_t issue_group(struct op *ops)
{
	struct op *whole = NULL, **whole_end = &whole, *pairs = NULL, **pairs_end = &pairs;
	ncclResult_t r = ncclSuccess, e;
	CUcontext old;
	bool pushed;

	for (struct op *o = ops, *n; o; o = n) {
		struct op ***end = o->kind >= SEND ? &pairs_end : &whole_end;

		n = o->next;
		o->next = NULL;
		**end = o;
		*end = &o->next;
	}
	r = collectives(&whole);
	while (pairs) {
		struct ncclComm *c = pairs->comm;
		struct op *mine = NULL, **end = &mine, **at = &pairs, *o;

		while ((o = *at)) {
			if (o->comm != c) {
				at = &o->next;
				continue;
			}
			*at = o->next;
			o->next = NULL;
			*end = o;
			end = &o->next;
		}
		e = current(c, &pushed);
		if (e == ncclSuccess)
			e = exchange(c, mine);
		if (pushed)
			cuCtxPopCurrent(&old);
		if (r == ncclSuccess)
			r = e;
	}
	return r;
}
