/* SPDX-License-Identifier: MIT */
/*
 * A communicator's life. Ranks form a ring of TCP connections, two between neighbours: by DATA they tell each other their cards and keys (an
 * allgather), by WATCH they notice who goes:
 *
 *   BYE     the neighbour ends in order
 *   LOST r  rank r's connection broke without it; passed on around the ring. Work that waits a second longer has failed: what a rank did
 *           before it exited has still come.
 *   FAIL r  rank r has aborted; passed on, and everybody's work ends at once
 *
 * The keeper, a thread of each communicator, watches, lets new neighbours in (of children: split and shrunk communicators), issues long
 * operations and moves mail over the net. When a communicator has failed it lets the streams go until they have run dry.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "comm.h"

#define GRACE_NS 1000000000ull          /* for work that waits when a rank is lost */
#define CONTROL_BYTES 16384u
enum { BYE, LOST, FAIL };
struct word { uint32_t what, rank; };

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void nap_us(unsigned us)
{
	struct timespec t = { us / 1000000, (long)(us % 1000000) * 1000 };

	nanosleep(&t, NULL);
}

void comm_wake(struct ncclComm *c)
{
	if (c->keeping && write(c->wake[1], "", 1) < 0)
		return;         /* full: it wakes already */
}

void comm_failed(struct ncclComm *c, ncclResult_t e, const char *fmt, ...)
{
	uint32_t none = 0;
	char why[sizeof(c->why)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	if (!__atomic_compare_exchange_n(&c->failed, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	memcpy(c->why, why, sizeof(why));
	__atomic_store_n(&c->async, e, __ATOMIC_RELEASE);
	if (!c->aborting)
		nccl_say("rank %d of %d: %s", c->rank, c->ranks, why);
	comm_wake(c);
}

/* ---- the keeper ---- */

static void tell(struct ncclComm *c, int side, uint32_t what, int rank)
{
	struct word w = { what, (uint32_t)rank };

	if (c->ring[WATCH][side] >= 0 && send(c->ring[WATCH][side], &w, sizeof(w), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;         /* it has gone, which its own neighbours see */
}

static void lost(struct ncclComm *c, int rank)
{
	int none = 0;

	if (!__atomic_compare_exchange_n(&c->lost, &none, rank + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	tell(c, BEFORE, LOST, rank);
	tell(c, AFTER, LOST, rank);
}

static void hear(struct ncclComm *c, int side)
{
	int rank = (c->rank + (side == AFTER ? 1 : c->ranks - 1)) % c->ranks;
	struct word w;
	ssize_t n = recv(c->ring[WATCH][side], &w, sizeof(w), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && n < (ssize_t)sizeof(w) && socket_all(c, c->ring[WATCH][side], (char *)&w + n, sizeof(w) - (size_t)n, false) == ncclSuccess)
		n = sizeof(w);
	if (n != sizeof(w)) {
		close(c->ring[WATCH][side]);
		c->ring[WATCH][side] = -1;
		if (!c->gone[side])
			lost(c, rank);
		return;
	}
	if (w.what == BYE)
		c->gone[side] = true;
	else if (w.what == LOST)
		lost(c, (int)w.rank % c->ranks);
	else
		comm_failed(c, ncclRemoteError, "rank %d has failed, or aborted", (int)w.rank);
}

bool comm_idle(struct ncclComm *c)
{
	CUresult r = c->any ? cuEventQuery(c->last) : CUDA_SUCCESS;

	if (r != CUDA_SUCCESS && r != CUDA_ERROR_NOT_READY)
		comm_failed(c, ncclUnhandledCudaError, "the device has failed (CUresult %d)", (int)r);
	return r == CUDA_SUCCESS && !c->jobs && net_empty(c);
}

static void come_in(struct ncclComm *c)
{
	int fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC);
	struct guest *g;

	if (fd < 0)
		return;
	g = calloc(1, sizeof(*g));
	if (!g || !socket_answer(c, fd, g)) {
		close(fd);
		free(g);
		return;
	}
	pthread_mutex_lock(&c->lock);
	g->next = c->guests;
	c->guests = g;
	pthread_mutex_unlock(&c->lock);
}

static void *keep(void *arg)
{
	struct ncclComm *c = arg;
	uint64_t moved_ns = 0;

	cuCtxSetCurrent(c->ctx);
	while (!__atomic_load_n(&c->leave, __ATOMIC_ACQUIRE)) {
		struct pollfd p[4] = { { .fd = c->wake[0], .events = POLLIN }, { .fd = c->listener, .events = POLLIN },
				       { .fd = c->ring[WATCH][BEFORE], .events = POLLIN }, { .fd = c->ring[WATCH][AFTER], .events = POLLIN } };
		bool failed = comm_has_failed(c), jobs = !failed && issue_jobs(c);
		int is_lost = __atomic_load_n(&c->lost, __ATOMIC_ACQUIRE);
		struct timespec t = { 0, 1000000 };
		uint64_t now = now_ns();
		char drop[64];

		if (net_move(c))
			moved_ns = now;
		if (failed) {
			if (!c->told) {
				tell(c, BEFORE, FAIL, c->rank);
				tell(c, AFTER, FAIL, c->rank);
				c->told = true;
			}
			issue_drop(c);
			mail_let_go(c);
		} else if (is_lost) {
			if (comm_idle(c) && !c->captured)
				c->lost_ns = 0;
			else if (!c->lost_ns)
				c->lost_ns = now;
			else if (now - c->lost_ns > GRACE_NS)
				comm_failed(c, ncclRemoteError, "rank %d has gone, and work waits for it", is_lost - 1);
		} else if (jobs || (c->net && now - moved_ns < 1000000)) {
			t.tv_nsec = c->net && now - moved_ns < 200000 ? 0 : 50000;
		} else if (!c->net) {
			t.tv_sec = 3600;
		}
		if (ppoll(p, 4, &t, NULL) <= 0)
			continue;
		if (p[0].revents && read(c->wake[0], drop, sizeof(drop)) < 0)
			continue;
		if (p[1].revents)
			come_in(c);
		for (int side = 0; side < 2; side++)
			if (p[2 + side].revents)
				hear(c, side);
	}
	return NULL;
}

/* ---- how ranks meet ---- */

/* Not more ranks than it was made for. */
void comm_size(struct ncclComm *c, int ranks, int rank)
{
	c->ranks = ranks;
	c->rank = rank;
	c->slot_bytes = ranks <= 8 ? 262144 : ranks <= 32 ? 131072 : 65536;
}

ncclResult_t comm_new(ncclComm_t *out, int ranks, int rank, bool blocking, CUcontext ctx, int device)
{
	struct ncclComm *c = calloc(1, sizeof(*c));

	if (!c)
		return nccl_fail(ncclSystemError, "no memory");
	c->magic = IS_ALIVE;
	comm_size(c, ranks, rank);
	c->device = device;
	c->blocking = blocking;
	c->ctx = ctx;
	c->async = ncclInProgress;
	c->listener = c->wake[0] = c->wake[1] = -1;
	c->ring[0][0] = c->ring[0][1] = c->ring[1][0] = c->ring[1][1] = -1;
	c->jobs_end = &c->jobs;
	pthread_mutex_init(&c->lock, NULL);
	c->card = calloc((size_t)ranks, sizeof(*c->card));
	c->peer = calloc((size_t)ranks, sizeof(*c->peer));
	if (!c->card || !c->peer) {
		free(c->card);
		free(c->peer);
		free(c);
		return nccl_fail(ncclSystemError, "no memory");
	}
	*out = c;
	return ncclSuccess;
}

static uint64_t mix(uint64_t h, const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const uint8_t *)p)[i]) * 0x100000001b3ull;
	return h;
}

/* Hosts are told apart by the boot's number, or by NCCL_HOSTID. */
static uint64_t host(void)
{
	const char *given = getenv("NCCL_HOSTID");
	char boot[64];
	ssize_t n;
	int fd;

	if (given && *given)
		return mix(0xcbf29ce484222325ull, given, strlen(given));
	fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, boot, sizeof(boot));
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		n = gethostname(boot, sizeof(boot)) ? 0 : (ssize_t)strnlen(boot, sizeof(boot));
	return mix(0xcbf29ce484222325ull, boot, (size_t)n);
}

static uint64_t process(void)
{
	static uint64_t number;
	uint64_t n = __atomic_load_n(&number, __ATOMIC_ACQUIRE), none = 0;

	if (!n) {
		if (syscall(SYS_getrandom, &n, sizeof(n), 0) != sizeof(n) || !n)
			n = now_ns() ^ (uint64_t)getpid() << 40;
		if (!__atomic_compare_exchange_n(&number, &none, n, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			n = none;
	}
	return n;
}

/* Memory is shared with processes of the same user in the same container. */
static uint64_t space(void)
{
	uint64_t h = mix(0xcbf29ce484222325ull, &(uint32_t){ (uint32_t)getuid() }, 4);
	char name[64];
	ssize_t n = readlink("/proc/self/ns/mnt", name, sizeof(name));

	return n > 0 ? mix(h, name, (size_t)n) : h;
}

ncclResult_t comm_gather(struct ncclComm *c, void *table, size_t each)
{
	char *t = table;

	for (int i = 0; i < c->ranks - 1; i++) {
		int mine = (c->rank - i + c->ranks) % c->ranks, theirs = (mine - 1 + c->ranks) % c->ranks;

		NC(socket_all(c, c->ring[DATA][AFTER], t + (size_t)mine * each, each, true));
		NC(socket_all(c, c->ring[DATA][BEFORE], t + (size_t)theirs * each, each, false));
	}
	return ncclSuccess;
}

/* Takes what came to host's listener for that child. */
static ncclResult_t admit(struct ncclComm *c, struct ncclComm *at, uint32_t child, uint32_t kind, uint32_t from)
{
	while (!comm_has_failed(c) && !__atomic_load_n(&at->leave, __ATOMIC_ACQUIRE)) {
		struct guest **g, *x;

		pthread_mutex_lock(&at->lock);
		for (g = &at->guests; (x = *g) && (x->child != child || x->kind != kind || x->from != from); g = &x->next)
			;
		if (x)
			*g = x->next;
		pthread_mutex_unlock(&at->lock);
		if (x) {
			c->ring[kind][BEFORE] = x->fd;
			free(x);
			return ncclSuccess;
		}
		nap_us(500);
	}
	return nccl_fail(ncclRemoteError, "the rank before this one did not come");
}

static ncclResult_t start_keeper(struct ncclComm *c)
{
	pthread_t t;

	if (pipe2(c->wake, O_CLOEXEC | O_NONBLOCK) || pthread_create(&t, NULL, keep, c))
		return nccl_fail(ncclSystemError, "no thread for a communicator");
	c->keeper = t;
	c->keeping = true;
	return ncclSuccess;
}

static ncclResult_t resources(struct ncclComm *c)
{
	void *p;

	CU(cuEventCreate(&c->last, CU_EVENT_DISABLE_TIMING));
	CU(cuEventCreate(&c->fork, CU_EVENT_DISABLE_TIMING));
	CU(cuStreamCreate(&c->own, CU_STREAM_NON_BLOCKING));
	CU(cuMemHostAlloc(&p, CONTROL_BYTES, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
	c->control = p;
	for (unsigned i = 0; i < CONTROL_BYTES / 4; i++)
		c->control[i] = 2;      /* issue.c: free */
	return ncclSuccess;
}

/* The ring stands: cards, mailboxes, keys. */
static ncclResult_t settle(struct ncclComm *c, const struct addr *mine)
{
	struct card *me = &c->card[c->rank];
	struct key *key;
	CUuuid uuid;
	ncclResult_t r;

	CU(cuDeviceGetUuid(&uuid, c->device));
	*me = (struct card){ .host = host(), .process = process(), .space = space(), .listener = *mine };
	memcpy(me->uuid, uuid.bytes, sizeof(me->uuid));
	NC(comm_gather(c, c->card, sizeof(*c->card)));
	for (int i = 0; i < c->ranks; i++) {
		const struct card *k = &c->card[i];
		bool same = k->host == me->host;

		c->peer[i].via = i == c->rank ? VIA_SELF : same && k->process == me->process ? VIA_PROCESS :
				 same && k->space == me->space && !memcmp(k->uuid, me->uuid, sizeof(me->uuid)) ? VIA_SHARED : VIA_NET;
	}
	key = calloc((size_t)c->ranks, sizeof(*key));
	if (!key)
		return nccl_fail(ncclSystemError, "no memory");
	r = mail_make(c, &key[c->rank]);
	if (r == ncclSuccess)
		r = comm_gather(c, key, sizeof(*key));
	if (r == ncclSuccess)
		r = mail_open(c, key);
	free(key);
	if (r == ncclSuccess) {
		uint8_t *there = calloc((size_t)c->ranks, 1);   /* nobody goes on, and away, before all have opened */

		r = there ? comm_gather(c, there, 1) : ncclSystemError;
		free(there);
	}
	return r;
}

ncclResult_t comm_join(struct ncclComm *c, const ncclUniqueId *id)
{
	struct addr mine = { 0 }, next;
	uint32_t before = (uint32_t)((c->rank + c->ranks - 1) % c->ranks);

	NC(resources(c));
	if (c->ranks == 1)
		return ncclSuccess;
	NC(socket_listen(&mine, &c->listener));
	NC(socket_meet(c, id, &mine, &next));
	for (uint32_t kind = DATA; kind <= WATCH; kind++)
		NC(socket_call(c, c, &next, 0, kind, (uint32_t)c->rank, &c->ring[kind][AFTER]));
	/* nobody else reads the listener yet, so the keeper begins when the ring is closed */
	while (c->ring[DATA][BEFORE] < 0 || c->ring[WATCH][BEFORE] < 0) {
		struct pollfd p = { .fd = c->listener, .events = POLLIN };
		struct guest *g, *n;

		if (comm_has_failed(c))
			return nccl_fail(ncclRemoteError, "aborted");
		if (poll(&p, 1, 100) == 1)
			come_in(c);
		for (g = c->guests, c->guests = NULL; g; g = n) {
			n = g->next;
			if (!g->child && g->from == before && c->ring[g->kind][BEFORE] < 0) {
				c->ring[g->kind][BEFORE] = g->fd;
				free(g);
			} else {
				g->next = c->guests;
				c->guests = g;
			}
		}
	}
	NC(settle(c, &mine));
	return start_keeper(c);
}

/* members: ranks of the parent, in order. Its keepers let the ring's ends in. */
ncclResult_t comm_join_child(struct ncclComm *c, struct ncclComm *parent, uint32_t child, const int *members)
{
	int after = members[(c->rank + 1) % c->ranks], before = members[(c->rank + c->ranks - 1) % c->ranks];
	struct addr mine = { 0 };

	memcpy(c->cookie, parent->cookie, sizeof(c->cookie));
	c->cookie[1] += child * 0x9e3779b97f4a7c15ull;
	NC(resources(c));
	if (c->ranks == 1)
		return ncclSuccess;
	mine = parent->card[parent->rank].listener;
	mine.port = 0;
	NC(socket_listen(&mine, &c->listener));
	for (uint32_t kind = DATA; kind <= WATCH; kind++) {
		NC(socket_call(c, parent, &parent->card[after].listener, child, kind, (uint32_t)parent->rank, &c->ring[kind][AFTER]));
		NC(admit(c, parent, child, kind, (uint32_t)before));
	}
	NC(settle(c, &mine));
	return start_keeper(c);
}

/* ---- its end ---- */

ncclResult_t comm_flush(struct ncclComm *c)
{
	for (unsigned us = 20; !comm_has_failed(c); us = us < 1000 ? us * 2 : 1000) {
		if (comm_idle(c))
			return ncclSuccess;
		nap_us(us);
	}
	return nccl_fail(__atomic_load_n(&c->async, __ATOMIC_ACQUIRE), "the communicator has failed");
}

static bool running(struct ncclComm *c)
{
	bool busy = (c->any && cuEventQuery(c->last) == CUDA_ERROR_NOT_READY) || (c->work && cuStreamQuery(c->work) == CUDA_ERROR_NOT_READY);

	for (int r = 0; r < c->ranks * 2 && !busy; r++)
		busy = c->peer[r / 2].lane[r % 2] && cuStreamQuery(c->peer[r / 2].lane[r % 2]) == CUDA_ERROR_NOT_READY;
	return busy;
}

void comm_end(struct ncclComm *c, bool in_order)
{
	CUcontext old;
	bool pushed = cuCtxPushCurrent(c->ctx) == CUDA_SUCCESS;

	if (c->keeping) {
		/* streams of a failed one run dry first: the keeper lets them go */
		if (comm_has_failed(c))
			for (int i = 0; i < 20000 && running(c); i++)
				nap_us(500);
		__atomic_store_n(&c->leave, 1, __ATOMIC_RELEASE);
		comm_wake(c);
		pthread_join(c->keeper, NULL);
		c->keeping = false;
		if (in_order && !comm_has_failed(c)) {
			tell(c, BEFORE, BYE, c->rank);
			tell(c, AFTER, BYE, c->rank);
		}
	}
	for (int k = 0; k < 2; k++)
		for (int s = 0; s < 2; s++)
			if (c->ring[k][s] >= 0)
				close(c->ring[k][s]);
	for (struct guest *g = c->guests, *n; g; g = n) {
		n = g->next;
		close(g->fd);
		free(g);
	}
	if (c->listener >= 0)
		close(c->listener);
	for (int i = 0; i < 2; i++)
		if (c->wake[i] >= 0)
			close(c->wake[i]);
	issue_drop(c);
	mail_close(c);
	if (c->own)
		cuStreamDestroy(c->own);
	if (c->work)
		cuStreamDestroy(c->work);
	if (c->last)
		cuEventDestroy(c->last);
	if (c->fork)
		cuEventDestroy(c->fork);
	if (c->control)
		cuMemFreeHost(c->control);
	if (pushed)
		cuCtxPopCurrent(&old);
	if (c->own_ctx)
		cuDevicePrimaryCtxRelease(c->device);
	c->magic = 0;
	pthread_mutex_destroy(&c->lock);
	free(c->card);
	free(c->peer);
	free(c);
}
