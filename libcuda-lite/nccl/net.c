/* SPDX-License-Identifier: MIT */
/*
 * Mail between hosts, carried by UCX where the distribution's is installed (libucp.so.0: libucx0 of Debian and Ubuntu, ucx of Fedora). The
 * keeper looks at the words of the boxes in pinned memory: a FULL one of the outbox is sent, and EMPTY again when it has been matched there;
 * an EMPTY one of the inbox has a receive out for it, and is FULL when that ends. A slot's mail has a tag of its own, so no two are mixed up.
 *
 * Structures and numbers are those of UCP's interface, version 1.6 on; fields not named in a mask are not read.
 */
#include <stdlib.h>
#include <string.h>

#include "comm.h"

#ifdef VGPU_STATIC
ncclResult_t net_open(struct ncclComm *c, struct key *mine)
{
	(void)c;
	(void)mine;
	nccl_say("ranks on other hosts, devices or in other containers need UCX, which a static program cannot load");
	return nccl_fail(ncclSystemError, "no UCX in a static program");
}
ncclResult_t net_connect(struct ncclComm *c, const struct key *all)
{
	(void)c;
	(void)all;
	return nccl_fail(ncclInternalError, "no net");
}
bool net_move(struct ncclComm *c) { (void)c; return false; }
bool net_empty(struct ncclComm *c) { (void)c; return true; }
void net_close(struct ncclComm *c) { (void)c; }
#else
#include <dlfcn.h>

__asm__(".symver dlopen,dlopen@GLIBC_2.2.5\n.symver dlsym,dlsym@GLIBC_2.2.5");

typedef void *ep_t;
struct ucp_params { uint64_t mask, features; uint64_t rest[16]; };
struct ucp_worker_params { uint64_t mask; int thread_mode; uint64_t rest[32]; };
struct ucp_ep_params {
	uint64_t mask;
	const void *address;
	int err_mode;
	struct { void (*fn)(void *arg, ep_t ep, int status); void *arg; } err;
	uint64_t rest[16];
};
struct ucp_request_param { uint32_t mask, flags; uint64_t rest[12]; };
enum { PARAM_FEATURES = 1, FEATURE_TAG = 1, WORKER_THREAD_MODE = 1, THREAD_SERIALIZED = 1, EP_ADDRESS = 1, EP_ERR_MODE = 2, EP_ERR_HANDLER = 4,
       ERR_PEER = 1, OP_FLAGS = 1 << 4, CLOSE_FORCE = 1, IN_PROGRESS = 1 };

static struct ucx {
	int (*init_version)(unsigned major, unsigned minor, const struct ucp_params *, const void *config, void **context);
	void (*cleanup)(void *context);
	int (*worker_create)(void *context, const struct ucp_worker_params *, void **worker);
	void (*worker_destroy)(void *worker);
	int (*worker_get_address)(void *worker, void **address, size_t *bytes);
	void (*worker_release_address)(void *worker, void *address);
	unsigned (*worker_progress)(void *worker);
	int (*ep_create)(void *worker, const struct ucp_ep_params *, ep_t *ep);
	void *(*ep_close_nbx)(ep_t ep, const struct ucp_request_param *);
	void *(*tag_send_sync_nbx)(ep_t ep, const void *p, size_t n, uint64_t tag, const struct ucp_request_param *);
	void *(*tag_recv_nbx)(void *worker, void *p, size_t n, uint64_t tag, uint64_t mask, const struct ucp_request_param *);
	int (*request_check_status)(void *request);
	void (*request_cancel)(void *worker, void *request);
	void (*request_free)(void *request);
} ucx;

struct net {
	void *context, *worker;
	ep_t *ep;                       /* by rank, NULL: not by net */
	bool *dead;                     /* by rank: closed there */
	struct way { void *request; uint32_t bytes; bool out; } *way;   /* [rank][sending][slot] */
	bool up;
};

static bool load(void)
{
	static const struct { const char *name; size_t at; } calls[] = {
#define CALL(f) { "ucp_" #f, offsetof(struct ucx, f) }
		CALL(init_version), CALL(cleanup), CALL(worker_create), CALL(worker_destroy), CALL(worker_get_address),
		CALL(worker_release_address), CALL(worker_progress), CALL(ep_create), CALL(ep_close_nbx), CALL(tag_send_sync_nbx),
		CALL(tag_recv_nbx), CALL(request_check_status), CALL(request_cancel), CALL(request_free),
	};
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static int state;               /* 1: there, -1: not */

	pthread_mutex_lock(&lock);
	if (!state) {
		void *h = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);

		state = h ? 1 : -1;
		for (size_t i = 0; h && i < sizeof(calls) / sizeof(calls[0]); i++) {
			void *f = dlsym(h, calls[i].name);

			memcpy((char *)&ucx + calls[i].at, &f, sizeof(f));
			if (!f)
				state = -1;
		}
	}
	pthread_mutex_unlock(&lock);
	return state > 0;
}

static struct way *way_of(struct ncclComm *c, int rank, unsigned sending, unsigned slot)
{
	return &c->net->way[((size_t)rank * 2 + sending) * SLOTS + slot];
}

static uint64_t tag_of(int from, unsigned slot) { return (uint64_t)(unsigned)from << 8 | slot; }

/* A request, NULL where all is done, or an error's number as a pointer. */
static bool wrong(const void *request) { return (uintptr_t)request >= (uintptr_t)-100; }

ncclResult_t net_open(struct ncclComm *c, struct key *mine)
{
	struct ucp_params p = { .mask = PARAM_FEATURES, .features = FEATURE_TAG };
	struct ucp_worker_params w = { .mask = WORKER_THREAD_MODE, .thread_mode = THREAD_SERIALIZED };
	void *address;
	size_t n;

	if (!load()) {
		nccl_say("rank %d has ranks on other hosts, devices or in other containers: that needs UCX (libucp.so.0, Debian's libucx0), "
			 "which is not there", c->rank);
		return nccl_fail(ncclSystemError, "ranks on other hosts need UCX (libucp.so.0, Debian's libucx0)");
	}
	c->net = calloc(1, sizeof(*c->net));
	if (!c->net)
		return nccl_fail(ncclSystemError, "no memory");
	c->net->ep = calloc((size_t)c->ranks, sizeof(ep_t));
	c->net->way = calloc((size_t)c->ranks * 2 * SLOTS, sizeof(struct way));
	c->net->dead = calloc((size_t)c->ranks, sizeof(bool));
	if (!c->net->ep || !c->net->way || !c->net->dead)
		return nccl_fail(ncclSystemError, "no memory");
	if (ucx.init_version(1, 6, &p, NULL, &c->net->context) || ucx.worker_create(c->net->context, &w, &c->net->worker))
		return nccl_fail(ncclSystemError, "UCX does not start (its own words are on stderr)");
	if (ucx.worker_get_address(c->net->worker, &address, &n))
		return nccl_fail(ncclSystemError, "UCX has no address");
	if (n <= NET_ADDRESS) {
		memcpy(mine->net, address, n);
		mine->net_bytes = (uint32_t)n;
	}
	ucx.worker_release_address(c->net->worker, address);
	return n <= NET_ADDRESS ? ncclSuccess : nccl_fail(ncclSystemError, "UCX's address is too long (UCX_NET_DEVICES names fewer networks)");
}

/* A rank that ends in order closes its side too, so this alone is no failure: mail that is out for it fails, and the ring says who has gone. */
static void lost(void *arg, ep_t ep, int status)
{
	(void)ep;
	(void)status;
	*(bool *)arg = true;
}

ncclResult_t net_connect(struct ncclComm *c, const struct key *all)
{
	for (int r = 0; r < c->ranks; r++) {
		struct ucp_ep_params p = { .mask = EP_ADDRESS | EP_ERR_MODE | EP_ERR_HANDLER, .address = all[r].net, .err_mode = ERR_PEER,
					   .err = { lost, &c->net->dead[r] } };

		if (c->peer[r].via != VIA_NET)
			continue;
		if (!all[r].net_bytes || ucx.ep_create(c->net->worker, &p, &c->net->ep[r]))
			return nccl_fail(ncclSystemError, "UCX does not reach another rank");
	}
	__atomic_store_n(&c->net->up, true, __ATOMIC_RELEASE);
	return ncclSuccess;
}

static uint32_t *word_at(struct box b, unsigned k) { return (uint32_t *)(uintptr_t)mail_word(b, k); }

/* What became of it: 1 done, 0 not yet, -1 failed */
static int ended(struct way *w)
{
	int st = w->request ? ucx.request_check_status(w->request) : 0;

	if (st == IN_PROGRESS)
		return 0;
	if (w->request)
		ucx.request_free(w->request);
	w->request = NULL;
	w->out = false;
	return st ? -1 : 1;
}

static bool move(struct ncclComm *c, int r, unsigned sending, unsigned k)
{
	static const struct ucp_request_param plain;
	struct way *w = way_of(c, r, sending, k);
	struct box b = sending ? c->peer[r].out : c->peer[r].in;
	void *data = (void *)(uintptr_t)mail_data(c, b, k);
	uint32_t v;
	int e;

	if (w->out) {
		e = ended(w);
		if (e > 0)
			__atomic_store_n(word_at(b, k), sending ? EMPTY : FULL, __ATOMIC_RELEASE);
		if (e < 0)
			comm_failed(c, ncclRemoteError, "UCX could not carry on with rank %d", r);
		return e > 0;
	}
	v = __atomic_load_n(word_at(b, k), __ATOMIC_ACQUIRE);
	if (v == LET_GO || (v & LET_GO) != (sending ? FULL : EMPTY))
		return false;
	w->bytes = BYTES_OF(v);
	w->request = sending ? ucx.tag_send_sync_nbx(c->net->ep[r], data, w->bytes, tag_of(c->rank, k), &plain) :
		     ucx.tag_recv_nbx(c->net->worker, data, c->slot_bytes, tag_of(r, k), UINT64_MAX, &plain);
	if (wrong(w->request)) {
		w->request = NULL;
		comm_failed(c, ncclRemoteError, "UCX refused mail with rank %d", r);
		return false;
	}
	w->out = true;
	return true;
}

bool net_move(struct ncclComm *c)
{
	bool moved;

	if (!c->net || !__atomic_load_n(&c->net->up, __ATOMIC_ACQUIRE) || comm_has_failed(c))
		return false;
	moved = ucx.worker_progress(c->net->worker) != 0;
	for (int r = 0; r < c->ranks; r++)
		for (unsigned i = 0; c->peer[r].via == VIA_NET && i < 2 * SLOTS && !comm_has_failed(c); i++)
			moved |= move(c, r, i & 1, i >> 1);
	return moved;
}

bool net_empty(struct ncclComm *c)
{
	for (int r = 0; c->net && r < c->ranks; r++)
		for (unsigned k = 0; c->peer[r].via == VIA_NET && k < SLOTS; k++)
			if (__atomic_load_n(word_at(c->peer[r].out, k), __ATOMIC_ACQUIRE) != EMPTY)
				return false;
	return true;
}

void net_close(struct ncclComm *c)
{
	struct net *n = c->net;

	if (!n)
		return;
	for (int i = 0; n->way && i < c->ranks * 2 * (int)SLOTS; i++)
		if (n->way[i].request)
			ucx.request_cancel(n->worker, n->way[i].request);
	for (int r = 0; n->ep && n->dead && r < c->ranks; r++) {
		const struct ucp_request_param how = { .mask = OP_FLAGS, .flags = comm_has_failed(c) || n->dead[r] ? CLOSE_FORCE : 0 };
		void *q = n->ep[r] ? ucx.ep_close_nbx(n->ep[r], &how) : NULL;

		/* what is on the way is to arrive; for half a second, of one that is gone */
		for (int i = 0; q && !wrong(q) && i < 5000 && ucx.request_check_status(q) == IN_PROGRESS; i++)
			if (!ucx.worker_progress(n->worker))
				nap_us(100);
		if (q && !wrong(q))
			ucx.request_free(q);
	}
	for (int i = 0; n->way && i < c->ranks * 2 * (int)SLOTS; i++)
		if (n->way[i].request)
			ucx.request_free(n->way[i].request);
	if (n->worker)
		ucx.worker_destroy(n->worker);
	if (n->context)
		ucx.cleanup(n->context);
	free(n->ep);
	free(n->way);
	free(n->dead);
	free(n);
	c->net = NULL;
}
#endif
