/* SPDX-License-Identifier: MIT */
/*
 * Communicators are made and ended: by an id, from others, by all at a group's end, or by a thread where the call is not to block.
 */
#include <stdlib.h>
#include <string.h>

#include "comm.h"

#define CONFIG_MAGIC 0xcafebeefu

static int by_color(const void *x, const void *y)
{
	const int *a = x, *b = y;

	return a[0] != b[0] ? (a[0] < b[0] ? -1 : 1) : a[1] < b[1] ? -1 : 1;
}

/* All ranks say color and key; members of the same color are in the order of keys, then of ranks. */
static ncclResult_t split(struct start *s)
{
	struct ncclComm *p = s->parent;
	int n = p->ranks, size = 0, me = 0, (*table)[2] = calloc((size_t)n, sizeof(*table)), (*mine)[2] = calloc((size_t)n, sizeof(*mine));
	ncclResult_t r = ncclSuccess;

	s->members = calloc((size_t)n, sizeof(int));
	if (!table || !mine || !s->members)
		r = fail(ncclSystemError, "no memory");
	if (r == ncclSuccess) {
		table[p->rank][0] = s->color;
		table[p->rank][1] = s->key;
		if (n > 1)
			r = comm_gather(p, table, sizeof(*table));
	}
	if (r == ncclSuccess) {
		for (int i = 0; i < n; i++)
			if (table[i][0] == s->color) {
				mine[size][0] = table[i][1];
				mine[size++][1] = i;
			}
		qsort(mine, (size_t)size, sizeof(*mine), by_color);
		for (int i = 0; i < size; i++) {
			s->members[i] = mine[i][1];
			if (mine[i][1] == p->rank)
				me = i;
		}
		if (s->c)
			comm_size(s->c, size, me);
	}
	free(table);
	free(mine);
	return r;
}

static ncclResult_t join(struct start *s)
{
	ncclResult_t r;

	if (s->how == BY_ID)
		return comm_join(s->c, &s->id);
	r = s->how == BY_SPLIT ? split(s) : ncclSuccess;
	return r == ncclSuccess && s->c ? comm_join_child(s->c, s->parent, s->child, s->members) : r;
}

/* What make() found, to the caller; s is freed. */
static ncclResult_t made(struct start *s)
{
	ncclResult_t r = s->result;

	if (r != ncclSuccess) {
		fail(r, s->why ? s->why : "a communicator could not be made");
		if (s->c) {
			*s->out = NULL;
			comm_end(s->c, false);
		}
	}
	free(s->members);
	free(s);
	return r;
}

static void run(struct start *s)
{
	struct ncclComm *c = s->c;
	bool pushed = c && cuCtxPushCurrent(c->ctx) == CUDA_SUCCESS;
	CUcontext old;

	s->result = join(s);
	s->why = vgpu_nccl_self_at()->last;
	if (pushed)
		cuCtxPopCurrent(&old);
	if (c && s->result == ncclSuccess) {
		ncclResult_t e = ncclInProgress;

		__atomic_compare_exchange_n(&c->async, &e, ncclSuccess, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	}
}

static void *make(void *arg)
{
	struct start *s = arg;
	struct ncclComm *c = s->c;
	bool alone = c && !c->blocking;

	run(s);
	if (alone) {            /* nobody waits for s; the communicator says what became of it */
		if (s->result != ncclSuccess)
			comm_failed(c, s->result, "%s", s->why ? s->why : "it could not be made");
		free(s->members);
		free(s);
	}
	return NULL;
}

ncclResult_t make_all(struct start *list)
{
	ncclResult_t r = ncclSuccess, e;
	struct start *next;

	for (struct start *s = list; s; s = s->next) {
		s->result = ncclInProgress;
		if (pthread_create(&s->thread, NULL, make, s))
			s->result = fail(ncclSystemError, "no thread");
	}
	for (struct start *s = list; s; s = next) {
		next = s->next;
		if (s->result != ncclSystemError && s->c && !s->c->blocking) {
			s->c->maker = s->thread;        /* frees s itself: see make() */
			s->c->making = true;
			e = ncclInProgress;
		} else {
			if (s->result != ncclSystemError)
				pthread_join(s->thread, NULL);
			e = made(s);
		}
		if (r == ncclSuccess || (r == ncclInProgress && e != ncclSuccess))
			r = e;
	}
	return r;
}

void make_drop(struct start *list)
{
	for (struct start *n; list; list = n) {
		n = list->next;
		if (list->c) {
			*list->out = NULL;
			comm_end(list->c, false);
		}
		free(list->members);
		free(list);
	}
}

static ncclResult_t begin(struct start *s)
{
	struct group *g = vgpu_nccl_self_at()->group;

	if (g) {
		*g->starts_end = s;
		g->starts_end = &s->next;
		return s->c && !s->c->blocking ? ncclInProgress : ncclSuccess;
	}
	if (s->c && !s->c->blocking)
		return make_all(s);
	run(s);
	return made(s);
}

static ncclResult_t configured(const ncclConfig_t *k, bool *blocking)
{
	if (!k)
		return ncclSuccess;
	if (k->magic != CONFIG_MAGIC || k->size < offsetof(ncclConfig_t, cgaClusterSize))
		return fail(ncclInvalidArgument, "the configuration was not made by NCCL_CONFIG_INITIALIZER");
	if (k->blocking != NCCL_CONFIG_UNDEF_INT && k->blocking != 0 && k->blocking != 1)
		return fail(ncclInvalidArgument, "blocking is neither 0 nor 1");
	if (k->blocking != NCCL_CONFIG_UNDEF_INT)
		*blocking = k->blocking;
	return ncclSuccess;
}

/* ctx NULL: the current one, or the first device's primary one, which is where the runtime would be */
static ncclResult_t init_rank(ncclComm_t *out, int ranks, const ncclUniqueId *id, int rank, const ncclConfig_t *config, CUcontext ctx, int device)
{
	bool blocking = true, own = ctx != NULL;
	struct start *s;
	ncclResult_t r;

	if (!out || !id || ranks < 1 || ranks > MAX_RANKS || rank < 0 || rank >= ranks)
		return fail(ncclInvalidArgument, "rank outside of the communicator");
	NC(configured(config, &blocking));
	NC(socket_known(id));
	*out = NULL;
	CU(cuInit(0));
	if (!ctx)
		CU(cuCtxGetCurrent(&ctx));
	if (!ctx) {
		CU(cuDevicePrimaryCtxRetain(&ctx, 0));
		own = true;
	} else if (!own) {
		CUdevice d = 0;

		CU(cuCtxGetDevice(&d));
		device = d;
	}
	s = calloc(1, sizeof(*s));
	r = s ? comm_new(&s->c, ranks, rank, blocking, ctx, device) : fail(ncclSystemError, "no memory");
	if (r != ncclSuccess) {
		free(s);
		if (own)
			cuDevicePrimaryCtxRelease(device);
		return r;
	}
	s->c->own_ctx = own;
	s->how = BY_ID;
	s->id = *id;
	s->out = out;
	*out = s->c;
	return begin(s);
}

PUBLIC ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
	return id ? socket_unique_id(id) : fail(ncclInvalidArgument, "id is NULL");
}

PUBLIC ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config)
{
	return nccl_noted(init_rank(comm, ranks, &id, rank, config, NULL, 0));
}

PUBLIC ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
	return nccl_noted(init_rank(comm, ranks, &id, rank, NULL, NULL, 0));
}

/* Several roots are for thousands of ranks; the first one serves all. */
PUBLIC ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int ranks, int rank, int ids, ncclUniqueId *id, ncclConfig_t *config)
{
	if (ids < 1 || !id)
		return nccl_noted(fail(ncclInvalidArgument, "no unique id"));
	return nccl_noted(init_rank(comm, ranks, id, rank, config, NULL, 0));
}

PUBLIC ncclResult_t ncclCommInitAll(ncclComm_t *comms, int n, const int *devices)
{
	ncclResult_t r = ncclSuccess;
	ncclUniqueId id;
	int have = 0;

	if (!comms || n < 0)
		return fail(ncclInvalidArgument, "no room for the communicators");
	if (!n)
		return ncclSuccess;
	if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&have) != CUDA_SUCCESS)
		return fail(ncclUnhandledCudaError, "no device answers");
	for (int i = 0; i < n; i++) {
		int d = devices ? devices[i] : i;

		if (n > have || d < 0 || d >= have)
			return fail(ncclInvalidArgument, "more devices than there are, or one that is not there");
		for (int k = 0; k < i; k++)
			if ((devices ? devices[k] : k) == d)
				return fail(ncclInvalidUsage, "a device twice");
	}
	NC(socket_unique_id(&id));
	ncclGroupStart();
	for (int i = 0; i < n && r == ncclSuccess; i++) {
		CUcontext ctx;

		r = nccl_cuda(cuDevicePrimaryCtxRetain(&ctx, devices ? devices[i] : i));
		if (r == ncclSuccess)
			r = init_rank(&comms[i], n, &id, i, NULL, ctx, devices ? devices[i] : i);
	}
	nccl_noted(r);
	return ncclGroupEnd();
}

/* A rank of p becomes `rank` of the new one's `ranks`, as far as that is known; ranks 0: it only takes part. */
static ncclResult_t child(struct ncclComm *p, const struct start *like, ncclComm_t *out, const ncclConfig_t *config, int ranks, int rank)
{
	bool blocking = p->blocking;
	struct start *s;
	ncclResult_t r = ncclSuccess;
	CUcontext same;

	NC(configured(config, &blocking));
	*out = NULL;
	s = malloc(sizeof(*s));
	if (!s)
		return fail(ncclSystemError, "no memory");
	*s = *like;
	s->parent = p;
	s->out = out;
	s->child = ++p->children;
	if (ranks)
		r = comm_new(&s->c, ranks, rank, blocking, p->ctx, p->device);
	if (r != ncclSuccess) {
		free(s);
		return r;
	}
	if (ranks)
		s->c->own_ctx = p->own_ctx && cuDevicePrimaryCtxRetain(&same, p->device) == CUDA_SUCCESS;
	*out = s->c;
	return begin(s);
}

PUBLIC ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *out, ncclConfig_t *config)
{
	struct start s = { .how = BY_SPLIT, .color = color, .key = key };

	NC(nccl_noted(nccl_usable(comm)));
	if (!out || (color < 0 && color != NCCL_SPLIT_NOCOLOR))
		return nccl_noted(fail(ncclInvalidArgument, "a color below 0, or no room for the communicator"));
	return nccl_noted(child(comm, &s, out, config, color == NCCL_SPLIT_NOCOLOR ? 0 : comm->ranks, comm->rank));
}

/* Every rank that stays has the same list, so they need not ask each other: that works where the others are dead. */
PUBLIC ncclResult_t ncclCommShrink(ncclComm_t comm, int *exclude, int excluded, ncclComm_t *out, ncclConfig_t *config, int flags)
{
	struct start s = { .how = BY_SHRINK };
	int n = 0, me = -1;
	ncclResult_t r;

	NC(nccl_noted(flags & NCCL_SHRINK_ABORT ? nccl_alive(comm) : nccl_usable(comm)));
	if (!out || !exclude || excluded < 1 || excluded >= comm->ranks || flags & ~NCCL_SHRINK_ABORT)
		return nccl_noted(fail(ncclInvalidArgument, "nobody to exclude, or nobody left"));
	s.members = calloc((size_t)comm->ranks, sizeof(int));
	if (!s.members)
		return nccl_noted(fail(ncclSystemError, "no memory"));
	for (int i = 0; i < comm->ranks; i++) {
		bool out_of = false;

		for (int k = 0; k < excluded; k++)
			out_of |= exclude[k] == i;
		if (i == comm->rank && !out_of)
			me = n;
		if (!out_of)
			s.members[n++] = i;
	}
	if (me < 0 || n != comm->ranks - excluded) {
		free(s.members);
		return nccl_noted(fail(ncclInvalidArgument, "the list of excluded ranks has this one, one twice, or one that is none"));
	}
	if (flags & NCCL_SHRINK_ABORT) {
		comm->aborting = true;
		comm_failed(comm, ncclInvalidUsage, "shrunk");
	}
	r = comm->keeping || n == 1 ? ncclSuccess : fail(ncclInvalidUsage, "the communicator was never made");
	if (r == ncclSuccess)
		r = configured(config, &(bool){ true });
	if (r != ncclSuccess) {
		free(s.members);
		return nccl_noted(r);
	}
	return nccl_noted(child(comm, &s, out, config, n, me));
}

/* ---- and ended ---- */

static void *finalize(void *arg)
{
	struct ncclComm *c = arg;
	ncclResult_t e = ncclInProgress;

	cuCtxSetCurrent(c->ctx);
	if (comm_flush(c) == ncclSuccess)
		__atomic_compare_exchange_n(&c->async, &e, ncclSuccess, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	return NULL;
}

static void made_or_not(struct ncclComm *c)
{
	if (c->making)
		pthread_join(c->maker, NULL);
	c->making = false;
}

PUBLIC ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
	NC(nccl_usable(comm));
	made_or_not(comm);
	comm->ended = true;
	if (comm->blocking)
		return comm_flush(comm);
	__atomic_store_n(&comm->async, ncclInProgress, __ATOMIC_RELEASE);
	if (pthread_create(&comm->maker, NULL, finalize, comm)) {
		finalize(comm);
		return ncclSuccess;
	}
	comm->making = true;
	return ncclInProgress;
}

PUBLIC ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
	if (!comm)
		return ncclSuccess;
	NC(nccl_alive(comm));
	made_or_not(comm);
	if (!comm_has_failed(comm) && comm->async == ncclSuccess)
		comm_flush(comm);
	comm_end(comm, true);
	return ncclSuccess;
}

PUBLIC ncclResult_t ncclCommAbort(ncclComm_t comm)
{
	if (!comm)
		return ncclSuccess;
	NC(nccl_alive(comm));
	comm->aborting = true;
	if (comm->async == ncclInProgress || !comm_idle(comm))
		comm_failed(comm, ncclInvalidUsage, "aborted");
	made_or_not(comm);
	comm_end(comm, false);
	return ncclSuccess;
}

