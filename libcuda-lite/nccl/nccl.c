/* SPDX-License-Identifier: MIT */
/*
 * libnccl.so.2: the calls. Arguments are checked here, groups gathered; comm.h says how the rest goes. Written over the public driver API
 * alone, so that it works wherever libcuda.so.1 does; the ABI is NCCL 2.28's.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm.h"

#define PUBLIC __attribute__((visibility("default")))
#define CONFIG_MAGIC 0xcafebeefu

VGPU_TLS_HERE(struct nccl_thread, vgpu_nccl_self);

#define fail(e, why) nccl_fail(e, why)

/* A communicator that is to be made: by the caller, at a group's end, or by a thread of its own. */
struct start {
	struct start *next;
	enum { BY_ID, BY_SPLIT, BY_SHRINK } how;
	struct ncclComm *c, *parent;
	ncclComm_t *out;
	ncclUniqueId id;
	uint32_t child;
	int color, key, *members;
	const char *why;
	ncclResult_t result;
	pthread_t thread;
};

struct group { struct op *ops, **ops_end; struct start *starts, **starts_end; ncclResult_t error; };

const uint8_t nccl_bytes[ncclNumTypes] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };

/* ---- results ---- */

ncclResult_t nccl_fail(ncclResult_t e, const char *why)
{
	vgpu_nccl_self_at()->last = why;
	return e;
}

void nccl_say(const char *fmt, ...)
{
	char line[320] = "vgpu libnccl: ";
	size_t n = strlen(line);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	va_end(ap);
	n = strlen(line);
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, n) < 0)
		return;
}

ncclResult_t nccl_cuda(CUresult r)
{
	const char *name = "a CUDA error";

	if (r == CUDA_SUCCESS)
		return ncclSuccess;
	cuGetErrorName(r, &name);
	return nccl_fail(ncclUnhandledCudaError, name);
}

PUBLIC ncclResult_t ncclGetVersion(int *version)
{
	if (!version)
		return fail(ncclInvalidArgument, "version is NULL");
	*version = NCCL_VERSION_CODE;
	return ncclSuccess;
}

PUBLIC const char *ncclGetErrorString(ncclResult_t e)
{
	static const char *const text[] = { "no error", "unhandled cuda error", "unhandled system error", "internal error", "invalid argument",
					    "invalid usage", "remote process exited or there was a network error", "NCCL operation in progress" };

	return (unsigned)e < sizeof(text) / sizeof(text[0]) ? text[e] : "unknown result code";
}

PUBLIC const char *ncclGetLastError(ncclComm_t comm)
{
	if (comm && comm->magic == IS_ALIVE && comm->why[0])
		return comm->why;
	return vgpu_nccl_self_at()->last ? vgpu_nccl_self_at()->last : "";
}

static ncclResult_t alive(const struct ncclComm *c)
{
	return c && c->magic == IS_ALIVE ? ncclSuccess : fail(ncclInvalidArgument, "not a communicator");
}

/* Made, not failed, not finalized. */
static ncclResult_t usable(struct ncclComm *c)
{
	ncclResult_t e;

	NC(alive(c));
	e = __atomic_load_n(&c->async, __ATOMIC_ACQUIRE);
	if (e == ncclInProgress)
		return fail(ncclInvalidArgument, "the communicator's last call is still in progress");
	if (e != ncclSuccess)
		return fail(e, "the communicator has failed");
	return c->ended ? fail(ncclInvalidUsage, "the communicator is finalized") : ncclSuccess;
}

/* ---- groups ---- */

static struct group *group_of_thread(void)
{
	struct nccl_thread *t = vgpu_nccl_self_at();

	if (!t->group) {
		t->group = calloc(1, sizeof(*t->group));
		if (t->group) {
			t->group->ops_end = &t->group->ops;
			t->group->starts_end = &t->group->starts;
		}
	}
	return t->group;
}

/* An error in a group is the group's, of which nothing is done then. */
static ncclResult_t noted(ncclResult_t e)
{
	if (e != ncclSuccess && e != ncclInProgress && vgpu_nccl_self_at()->groups && group_of_thread() && !group_of_thread()->error)
		group_of_thread()->error = e;
	return e;
}

PUBLIC ncclResult_t ncclGroupStart(void)
{
	vgpu_nccl_self_at()->groups++;
	return ncclSuccess;
}

static void *make(void *arg);
static ncclResult_t made(struct start *s);

static ncclResult_t start_all(struct start *list)
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

static void free_starts(struct start *list)
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

PUBLIC ncclResult_t ncclGroupEnd(void)
{
	struct nccl_thread *t = vgpu_nccl_self_at();
	struct group *g = t->group, all;
	ncclResult_t r = ncclSuccess, e;

	if (!t->groups)
		return fail(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
	if (--t->groups || !g)
		return ncclSuccess;
	all = *g;
	t->group = NULL;
	free(g);
	if (all.error) {
		for (struct op *o = all.ops, *n; o; o = n) {
			n = o->next;
			free(o);
		}
		free_starts(all.starts);
		return all.error;
	}
	if (all.starts)
		r = start_all(all.starts);
	e = all.ops ? issue_group(all.ops) : ncclSuccess;
	return e != ncclSuccess ? e : r;
}

PUBLIC ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info)
{
	(void)info;
	return fail(ncclInvalidUsage, "ncclGroupSimulateEnd: nothing is known about times here");
}

/* ---- communicators are made ---- */

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

static ncclResult_t begin(struct start *s)
{
	struct nccl_thread *t = vgpu_nccl_self_at();

	if (t->groups) {
		struct group *g = group_of_thread();

		if (!g) {
			free_starts(s);
			return fail(ncclSystemError, "no memory");
		}
		*g->starts_end = s;
		g->starts_end = &s->next;
		return s->c && !s->c->blocking ? ncclInProgress : ncclSuccess;
	}
	if (s->c && !s->c->blocking)
		return start_all(s);
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
	return noted(init_rank(comm, ranks, &id, rank, config, NULL, 0));
}

PUBLIC ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
	return noted(init_rank(comm, ranks, &id, rank, NULL, NULL, 0));
}

/* Several roots are for thousands of ranks; the first one serves all. */
PUBLIC ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int ranks, int rank, int ids, ncclUniqueId *id, ncclConfig_t *config)
{
	if (ids < 1 || !id)
		return noted(fail(ncclInvalidArgument, "no unique id"));
	return noted(init_rank(comm, ranks, id, rank, config, NULL, 0));
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
	noted(r);
	return ncclGroupEnd();
}

static ncclResult_t child(struct ncclComm *p, struct start *like, ncclComm_t *out, const ncclConfig_t *config, bool member)
{
	bool blocking = p->blocking;
	struct start *s;
	ncclResult_t r = ncclSuccess;

	NC(configured(config, &blocking));
	*out = NULL;
	s = malloc(sizeof(*s));
	if (!s)
		return fail(ncclSystemError, "no memory");
	*s = *like;
	s->parent = p;
	s->out = out;
	s->child = ++p->children;
	if (member)
		r = comm_new(&s->c, p->ranks, p->rank, blocking, p->ctx, p->device);
	if (r != ncclSuccess) {
		free(s);
		return r;
	}
	if (member && p->own_ctx) {
		CUcontext same;

		s->c->own_ctx = cuDevicePrimaryCtxRetain(&same, p->device) == CUDA_SUCCESS;
	}
	*out = s->c;
	return begin(s);
}

PUBLIC ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *out, ncclConfig_t *config)
{
	struct start s = { .how = BY_SPLIT, .color = color, .key = key };

	NC(noted(usable(comm)));
	if (!out || (color < 0 && color != NCCL_SPLIT_NOCOLOR))
		return noted(fail(ncclInvalidArgument, "a color below 0, or no room for the communicator"));
	return noted(child(comm, &s, out, config, color != NCCL_SPLIT_NOCOLOR));
}

/* Every rank that stays has the same list, so they need not ask each other: that works where the others are dead. */
PUBLIC ncclResult_t ncclCommShrink(ncclComm_t comm, int *exclude, int excluded, ncclComm_t *out, ncclConfig_t *config, int flags)
{
	struct start s = { .how = BY_SHRINK };
	int n = 0, me = -1;
	ncclResult_t r;

	NC(noted(flags & NCCL_SHRINK_ABORT ? alive(comm) : usable(comm)));
	if (!out || !exclude || excluded < 1 || excluded >= comm->ranks || flags & ~NCCL_SHRINK_ABORT)
		return noted(fail(ncclInvalidArgument, "nobody to exclude, or nobody left"));
	s.members = calloc((size_t)comm->ranks, sizeof(int));
	if (!s.members)
		return noted(fail(ncclSystemError, "no memory"));
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
		return noted(fail(ncclInvalidArgument, "the list of excluded ranks has this one, one twice, or one that is none"));
	}
	if (flags & NCCL_SHRINK_ABORT) {
		comm->aborting = true;
		comm_failed(comm, ncclInvalidUsage, "shrunk");
	}
	r = comm->keeping || n == 1 ? ncclSuccess : fail(ncclInvalidUsage, "the communicator was never made");
	if (r == ncclSuccess) {
		/* comm_new() makes room for all of the parent's */
		bool blocking = comm->blocking;
		struct start *p;

		r = configured(config, &blocking);
		p = r == ncclSuccess ? malloc(sizeof(*p)) : NULL;
		if (p) {
			*p = s;
			p->parent = comm;
			p->out = out;
			p->child = ++comm->children;
			r = comm_new(&p->c, n, me, blocking, comm->ctx, comm->device);
			if (r == ncclSuccess) {
				*out = p->c;
				return noted(begin(p));
			}
			free(p);
		} else if (r == ncclSuccess) {
			r = fail(ncclSystemError, "no memory");
		}
	}
	free(s.members);
	return noted(r);
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
	NC(usable(comm));
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
	NC(alive(comm));
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
	NC(alive(comm));
	comm->aborting = true;
	if (comm->async == ncclInProgress || !comm_idle(comm))
		comm_failed(comm, ncclInvalidUsage, "aborted");
	made_or_not(comm);
	comm_end(comm, false);
	return ncclSuccess;
}

#define GETTER(fn, type, value) \
	PUBLIC ncclResult_t fn(const ncclComm_t comm, type *out) \
	{ \
		NC(alive(comm)); \
		if (!out) \
			return fail(ncclInvalidArgument, "no room for the answer"); \
		*out = (value); \
		return ncclSuccess; \
	}
GETTER(ncclCommCount, int, comm->ranks)
GETTER(ncclCommUserRank, int, comm->rank)
GETTER(ncclCommCuDevice, int, comm->device)
GETTER(ncclCommGetAsyncError, ncclResult_t, __atomic_load_n(&comm->async, __ATOMIC_ACQUIRE))

/* ---- memory ---- */

PUBLIC ncclResult_t ncclMemAlloc(void **ptr, size_t bytes)
{
	CUdeviceptr p = 0;

	if (!ptr)
		return fail(ncclInvalidArgument, "no room for the address");
	CU(cuMemAlloc(&p, bytes));
	*ptr = (void *)(uintptr_t)p;
	return ncclSuccess;
}

PUBLIC ncclResult_t ncclMemFree(void *ptr)
{
	return nccl_cuda(cuMemFree((CUdeviceptr)(uintptr_t)ptr));
}

/* Registered memory is sent as any other: the handle that says so is NULL, as documented for what cannot be. */
static ncclResult_t not_registered(struct ncclComm *c, const void *buffer, void **handle)
{
	NC(usable(c));
	if (!buffer || !handle)
		return fail(ncclInvalidArgument, "no buffer, or no room for the handle");
	*handle = NULL;
	return ncclSuccess;
}

PUBLIC ncclResult_t ncclCommRegister(const ncclComm_t comm, void *buffer, size_t bytes, void **handle)
{
	(void)bytes;
	return not_registered(comm, buffer, handle);
}

PUBLIC ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *buffer, size_t bytes, ncclWindow_t *window, int flags)
{
	(void)bytes;
	(void)flags;
	return not_registered(comm, buffer, (void **)window);
}

PUBLIC ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle)
{
	NC(alive(comm));
	return handle ? fail(ncclInvalidArgument, "nothing that was registered") : ncclSuccess;
}

PUBLIC ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window)
{
	return ncclCommDeregister(comm, window);
}

/* ---- operations ---- */

PUBLIC ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t type, ncclScalarResidence_t residence, ncclComm_t comm)
{
	NC(usable(comm));
	if (!op || !scalar || (unsigned)type >= ncclNumTypes || (unsigned)residence > ncclScalarHostImmediate)
		return fail(ncclInvalidArgument, "no scalar, or of an unknown type or place");
	for (unsigned i = 0; i < MAX_OPS; i++) {
		if (comm->own_op[i].used)
			continue;
		comm->own_op[i].used = true;
		comm->own_op[i].type = (uint8_t)type;
		comm->own_op[i].device = residence == ncclScalarDevice;
		comm->own_op[i].value = (uintptr_t)scalar;
		if (residence == ncclScalarHostImmediate) {
			comm->own_op[i].value = 0;
			memcpy(&comm->own_op[i].value, scalar, nccl_bytes[type]);
		}
		*op = (ncclRedOp_t)(ncclNumOps + (int)i);
		return ncclSuccess;
	}
	return fail(ncclInvalidUsage, "more reductions of its own than a communicator has room for");
}

PUBLIC ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm)
{
	unsigned i = (unsigned)op - ncclNumOps;

	NC(alive(comm));
	if ((unsigned)op < ncclNumOps || i >= MAX_OPS || !comm->own_op[i].used)
		return fail(ncclInvalidArgument, "no reduction of this communicator");
	comm->own_op[i].used = false;
	return ncclSuccess;
}

static ncclResult_t reduction(struct op *o, unsigned redop)
{
	unsigned i = redop - ncclNumOps;

	o->redop = (uint8_t)redop;
	if (redop < ncclNumOps)
		return ncclSuccess;
	if (i >= MAX_OPS || !o->comm->own_op[i].used || o->comm->own_op[i].type != o->type)
		return fail(ncclInvalidArgument, "no reduction of this communicator and type");
	o->redop = ncclSum;
	o->scaled = true;
	o->scale = o->comm->own_op[i].value;
	if (o->comm->own_op[i].device)
		o->scale_at = o->scale;
	return ncclSuccess;
}

static ncclResult_t operation(int kind, const void *send, void *recv, size_t count, ncclDataType_t type, unsigned redop, int root,
			      struct ncclComm *c, CUstream stream)
{
	struct op o = { .kind = (uint8_t)kind, .send = send, .recv = recv, .count = count, .type = (uint8_t)type, .root = root, .comm = c,
			.stream = stream }, *p;
	size_t n;
	bool sends, takes;

	NC(usable(c));
	if ((unsigned)type >= ncclNumTypes || root < 0 || root >= c->ranks)
		return fail(ncclInvalidArgument, "an unknown type, or a rank that is none");
	NC(reduction(&o, redop));
	if (__builtin_mul_overflow(count, (size_t)nccl_bytes[type] * (size_t)c->ranks, &n) || n >> 60)
		return fail(ncclInvalidArgument, "count is too large");
	sends = kind == BROADCAST || kind == SCATTER ? c->rank == root : kind != RECV;
	takes = kind == REDUCE || kind == GATHER ? c->rank == root : kind != SEND;
	if (!count && kind < SEND)
		return ncclSuccess;
	if (count && ((sends && !send) || (takes && !recv && (kind != BROADCAST || c->rank != root))))
		return fail(ncclInvalidArgument, "a buffer is NULL");
	p = malloc(sizeof(*p));
	if (!p)
		return fail(ncclSystemError, "no memory");
	*p = o;
	if (vgpu_nccl_self_at()->groups) {
		struct group *g = group_of_thread();

		if (!g) {
			free(p);
			return fail(ncclSystemError, "no memory");
		}
		*g->ops_end = p;
		g->ops_end = &p->next;
		return ncclSuccess;
	}
	return issue_group(p);
}

PUBLIC ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, CUstream stream)
{
	return noted(operation(ALL_REDUCE, send, recv, count, type, (unsigned)op, 0, comm, stream));
}

PUBLIC ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, CUstream stream)
{
	return noted(operation(REDUCE_SCATTER, send, recv, count, type, (unsigned)op, 0, comm, stream));
}

PUBLIC ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t comm,
			       CUstream stream)
{
	return noted(operation(REDUCE, send, recv, count, type, (unsigned)op, root, comm, stream));
}

PUBLIC ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm, CUstream stream)
{
	return noted(operation(BROADCAST, send, recv, count, type, 0, root, comm, stream));
}

PUBLIC ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm, CUstream stream)
{
	return noted(operation(BROADCAST, buffer, buffer, count, type, 0, root, comm, stream));
}

PUBLIC ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm, CUstream stream)
{
	return noted(operation(ALL_GATHER, send, recv, count, type, 0, 0, comm, stream));
}

PUBLIC ncclResult_t ncclAlltoAll(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm, CUstream stream)
{
	return noted(operation(ALL_TO_ALL, send, recv, count, type, 0, 0, comm, stream));
}

PUBLIC ncclResult_t ncclGather(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm, CUstream stream)
{
	return noted(operation(GATHER, send, recv, count, type, 0, root, comm, stream));
}

PUBLIC ncclResult_t ncclScatter(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm, CUstream stream)
{
	return noted(operation(SCATTER, send, recv, count, type, 0, root, comm, stream));
}

PUBLIC ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream)
{
	return noted(operation(SEND, send, NULL, count, type, 0, peer, comm, stream));
}

PUBLIC ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream)
{
	return noted(operation(RECV, NULL, recv, count, type, 0, peer, comm, stream));
}
