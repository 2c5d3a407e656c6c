/* SPDX-License-Identifier: MIT */
/*
 * Stream capture: what is called in a stream becomes the nodes of a graph. Called by programs, and by every call that
 * puts work into a stream and finds that the stream captures (struct vg_stream, capture).
 *
 *   capture      one graph, the stream in which it began, and all streams that joined it through events
 *   capturing    one of these streams: the nodes that its next one depends on
 *   captured     an event whose last recording was captured: the nodes that it stands for
 *
 * A stream that captures owes credits (vg_park()), so launches, which look at nothing else, find none and ask why.
 * While a stream that the legacy stream waits for captures, the legacy stream has a mark of its own: what is called
 * there would wait for work that never runs.
 *
 * What may not be spoils the capture; its end says so, and gives no graph. All state is under vg_graphs.
 */
#include "capture.h"
#include "../core/queue.h"

#include <stdlib.h>
#include <string.h>

struct vg_captured {
	uint64_t capture;
	uint32_t n;
	uint64_t nodes[];
};

uint32_t vg_strict_captures;

static struct vg_capture *captures;
static uint64_t last_id;
struct vg_capturing vg_capture_implicit;

static bool is_blocking(const struct vg_stream *s) { return s->flags_word >> 48 & VGPU_CMD_BLOCKING; }

static struct vg_capture *find(uint64_t id)
{
	struct vg_capture *c = captures;

	while (c && c->id != id)
		c = c->next;
	return c;
}

/* Every capture that has a stream of this context, or only those with a stream that the legacy one waits for. */
static void spoil_in(const struct vg_ctx *ctx, bool blocking)
{
	for (struct vg_capture *c = captures; c; c = c->next)
		for (const struct vg_capturing *m = c->streams; m; m = m->next)
			if (m->s->ctx == ctx && (!blocking || is_blocking(m->s)))
				c->spoiled = true;
}

/* ---- streams join and leave ---- */

static bool join(struct vg_capture *c, struct vg_stream *s)
{
	struct vg_capturing *m = calloc(1, sizeof *m);

	if (!m)
		return false;
	m->c = c;
	m->s = s;
	m->next = c->streams;
	c->streams = m;
	__atomic_store_n(&s->capture, m, __ATOMIC_RELEASE);
	vg_park(s);
	__atomic_store_n(&s->ctx->captures, s->ctx->captures + 1, __ATOMIC_RELAXED);
	if (is_blocking(s) && !s->ctx->captures_blocking++)
		__atomic_store_n(&s->ctx->legacy->capture, &vg_capture_implicit, __ATOMIC_RELEASE);
	return true;
}

static void leave(struct vg_capturing *m)
{
	struct vg_stream *s = m->s;
	struct vg_capturing **p = &m->c->streams;

	while (*p != m)
		p = &(*p)->next;
	*p = m->next;
	vg_unpark(s);
	__atomic_store_n(&s->capture, NULL, __ATOMIC_RELEASE);
	__atomic_store_n(&s->ctx->captures, s->ctx->captures - 1, __ATOMIC_RELAXED);
	if (is_blocking(s) && !--s->ctx->captures_blocking)
		__atomic_store_n(&s->ctx->legacy->capture, NULL, __ATOMIC_RELEASE);
	free(m->deps);
	free(m->told);
	free(m->told_edges);
	free(m);
}

/* The graph remains, if it is to. */
static struct vg_graph *end(struct vg_capture *c, bool good)
{
	struct vg_capture **p = &captures;
	struct vg_graph *g = c->g;

	while (c->streams)
		leave(c->streams);
	while (*p != c)
		p = &(*p)->next;
	*p = c->next;
	if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED)
		__atomic_sub_fetch(&vg_strict_captures, 1, __ATOMIC_RELAXED);
	g->capturing = false;
	if (!good && c->own) {
		vg_graph_free(g);
		g = NULL;
	}
	free(c->left);
	free(c);
	return good ? g : NULL;
}

/* What the stream has put into the graph stays there; whether it came back is asked at the end, as of the others. */
static bool leave_behind(const struct vg_capturing *m)
{
	struct vg_capture *c = m->c;
	void *p = m->n ? realloc(c->left, (c->nleft + m->n) * sizeof *c->left) : c->left;

	if (m->n) {
		if (!p)
			return false;
		c->left = p;
		memcpy(c->left + c->nleft, m->deps, m->n * sizeof *c->left);
		c->nleft += m->n;
	}
	return true;
}

/* The stream in which the capture began takes it along; a context takes all. */
void vg_capture_drop(struct vg_stream *s, bool with_ctx)
{
	struct vg_capturing *m;

	vg_lock(&vg_graphs);
	m = s->capture;
	if (m && m != &vg_capture_implicit) {
		if (with_ctx || m->c->origin == s || !leave_behind(m))
			m->c->spoiled = true;
		if (m->c->origin == s)
			end(m->c, false);
		else
			leave(m);
	}
	vg_unlock(&vg_graphs);
}

bool vg_capture_depend(struct vg_capturing *m, struct vg_node *x)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (m->deps[i] == x)
			return true;
	if (m->n == m->room) {
		uint32_t room = m->room ? m->room * 2 : 4;
		void *p = realloc(m->deps, room * sizeof *m->deps);

		if (!p)
			return false;
		m->deps = p;
		m->room = room;
	}
	m->deps[m->n++] = x;
	return true;
}

/* ---- what may not be ---- */

/* With the lock. m: the stream's; NULL where the capture has ended meanwhile. */
static CUresult refuse(struct vg_stream *s, struct vg_capturing *m)
{
	if (m == &vg_capture_implicit) {
		spoil_in(s->ctx, true);
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	if (m && m->c->spoiled)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (m)
		m->c->spoiled = true;
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult vg_capture_refuse(struct vg_stream *s)
{
	CUresult r;

	vg_lock(&vg_graphs);
	r = refuse(s, s->capture);
	vg_unlock(&vg_graphs);
	return r;
}

CUresult vg_capture_refuse_event(struct vg_event *e, CUresult over)
{
	struct vg_capture *c;

	vg_lock(&vg_graphs);
	c = e->captured ? find(e->captured->capture) : NULL;
	if (c)
		c->spoiled = true;
	vg_unlock(&vg_graphs);
	return c ? CUDA_ERROR_CAPTURED_EVENT : over;
}

CUresult vg_capture_refuse_ctx(struct vg_ctx *c)
{
	if (VG_LIKELY(!__atomic_load_n(&c->captures, __ATOMIC_RELAXED)))
		return CUDA_SUCCESS;
	vg_lock(&vg_graphs);
	spoil_in(c, false);
	vg_unlock(&vg_graphs);
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/*
 * Modes. Global: nothing unsafe in the thread that captures so, nor in any other. Thread-local: nothing in the thread
 * that captures. Relaxed: whatever. What a thread has asked for by cuThreadExchangeStreamCaptureMode limits what others'
 * captures forbid it.
 */
CUresult vg_unsafe(void)
{
	struct vg_thread *t = vg_thread();
	CUresult r = CUDA_SUCCESS;

	if (!t || t->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_SUCCESS;
	vg_lock(&vg_graphs);
	for (struct vg_capture *c = captures; c; c = c->next)
		if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
		    (c->tid == t->tid ||
		     (c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && t->capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL))) {
			c->spoiled = true;
			r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		}
	vg_unlock(&vg_graphs);
	return r;
}

/* ---- nodes ---- */

/* With the lock: may the stream get a node? */
static CUresult open_stream(struct vg_stream *s, struct vg_capturing **m)
{
	*m = s->capture;
	if (!*m || *m == &vg_capture_implicit)
		return refuse(s, *m);
	return (*m)->c->spoiled ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

/* Behind all that the stream has; takes w. */
static CUresult append(struct vg_capturing *m, struct vg_work *w, CUgraphNode *node)
{
	struct vg_node *x = vg_node_new(m->c->g, m->deps, m->n, w);

	if (!x)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->n = 0;
	if (!vg_capture_depend(m, x)) {
		m->c->spoiled = true;
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (node)
		*node = VG_HANDLE(CUgraphNode, x);
	return CUDA_SUCCESS;
}

CUresult vg_capture_add(struct vg_stream *s, struct vg_work *w, CUgraphNode *node)
{
	struct vg_capturing *m;
	CUresult r;

	if (!w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	vg_lock(&vg_graphs);
	r = open_stream(s, &m);
	if (r)
		vg_work_free(w);
	else
		r = append(m, w, node);
	vg_unlock(&vg_graphs);
	return r;
}

CUresult vg_capture_kernel(struct vg_stream *s, struct vg_func *f, const struct vg_shape *k, void *const *params,
			   const uint8_t *packed)
{
	return vg_capture_add(s, vg_kernel_work(f, k, params, packed), NULL);
}

CUresult vg_capture_copy(struct vg_stream *s, const struct vg_copy *k)
{
	struct vg_work *w = vg_work_new(CU_GRAPH_NODE_TYPE_MEMCPY, s->ctx);

	if (w)
		w->u.copy.k = *k;
	return vg_capture_add(s, w, NULL);
}

CUresult vg_capture_fill(struct vg_stream *s, const CUDA_MEMSET_NODE_PARAMS *p)
{
	struct vg_work *w = vg_work_new(CU_GRAPH_NODE_TYPE_MEMSET, s->ctx);

	if (w)
		w->u.fill = *p;
	return vg_capture_add(s, w, NULL);
}

CUresult vg_capture_values(struct vg_stream *s, unsigned int n, const CUstreamBatchMemOpParams *ops)
{
	CUDA_BATCH_MEM_OP_NODE_PARAMS p = { .ctx = VG_HANDLE(CUcontext, s->ctx), .count = n,
					    .paramArray = (CUstreamBatchMemOpParams *)(uintptr_t)ops };
	struct vg_work *w;

	VG_TRY(vg_make_batch(&p, &w));
	return vg_capture_add(s, w, NULL);
}

CUresult vg_capture_host(struct vg_stream *s, CUhostFn fn, void *user)
{
	struct vg_work *w = vg_work_new(CU_GRAPH_NODE_TYPE_HOST, NULL);

	if (w) {
		w->u.host.fn = fn;
		w->u.host.user = user;
	}
	return vg_capture_add(s, w, NULL);
}

CUresult vg_capture_command(struct vg_stream *s, CUgraphNodeType type, uint8_t op, const void *body, const void *payload,
			    unsigned bytes)
{
	struct vg_work *w = vg_work_new(type, s->ctx);
	struct vg_raw *raw = calloc(1, sizeof *raw);

	if (!w || !raw) {
		vg_work_free(w);
		free(raw);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	raw->op = op;
	raw->bytes = (uint8_t)bytes;
	memcpy(raw->body, body, sizeof raw->body);
	if (bytes)
		memcpy(raw->payload, payload, bytes);
	w->raw = raw;
	return vg_capture_add(s, w, NULL);
}

/* Refused before anything is allocated where the capture is spoiled. */
static CUresult may(struct vg_stream *s)
{
	struct vg_capturing *m;
	CUresult r;

	vg_lock(&vg_graphs);
	r = open_stream(s, &m);
	vg_unlock(&vg_graphs);
	return r;
}

CUresult vg_capture_alloc(struct vg_stream *s, CUdeviceptr *ptr, size_t bytes)
{
	CUDA_MEM_ALLOC_NODE_PARAMS p = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
							.location = { CU_MEM_LOCATION_TYPE_DEVICE, (int)s->ctx->ordinal } },
					 .bytesize = bytes };
	struct vg_work *w;

	VG_TRY(may(s));
	VG_TRY(vg_make_alloc(&p, s->ctx, &w));
	VG_TRY(vg_capture_add(s, w, NULL));
	*ptr = p.dptr;
	return CUDA_SUCCESS;
}

CUresult vg_capture_free(struct vg_stream *s, CUdeviceptr ptr)
{
	struct vg_work *w;

	VG_TRY(may(s));
	VG_TRY(vg_make_free(ptr, &w));
	return vg_capture_add(s, w, NULL);
}

/* ---- events ---- */

void vg_captured_forget(struct vg_event *e)
{
	vg_lock(&vg_graphs);
	free(e->captured);
	e->captured = NULL;
	vg_unlock(&vg_graphs);
}

static CUresult record(struct vg_stream *s, struct vg_event *e, unsigned int flags)
{
	struct vg_captured *k;
	struct vg_capturing *m;
	struct vg_work *w;

	VG_TRY(open_stream(s, &m));
	if (flags & CU_EVENT_RECORD_EXTERNAL) {
		w = vg_work_new(CU_GRAPH_NODE_TYPE_EVENT_RECORD, e->ctx);
		if (!w)
			return CUDA_ERROR_OUT_OF_MEMORY;
		w->u.event = e->handle;
		return append(m, w, NULL);
	}
	k = malloc(sizeof *k + m->n * sizeof *k->nodes);
	if (!k)
		return CUDA_ERROR_OUT_OF_MEMORY;
	k->capture = m->c->id;
	k->n = m->n;
	for (uint32_t i = 0; i < m->n; i++)
		k->nodes[i] = m->deps[i]->handle;
	free(e->captured);
	e->captured = k;
	return CUDA_SUCCESS;
}

CUresult vg_capture_record(struct vg_stream *s, struct vg_event *e, unsigned int flags)
{
	CUresult r;

	vg_lock(&vg_graphs);
	r = record(s, e, flags);
	vg_unlock(&vg_graphs);
	return r;
}

/* An event of a capture, waited for in a stream of the same one, of none (which joins), or where it may not be. */
static CUresult wait_captured(struct vg_stream *s, const struct vg_captured *k)
{
	struct vg_capturing *m = s->capture;
	struct vg_capture *c = find(k->capture);

	if (!c) {
		if (!m)
			return CUDA_ERROR_CAPTURED_EVENT;
		m->c->spoiled = true;
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	}
	if (m && m->c != c) {
		m->c->spoiled = c->spoiled = true;
		return CUDA_ERROR_STREAM_CAPTURE_MERGE;
	}
	if (c->spoiled)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (!m) {
		if (!s->index) {        /* the legacy stream captures nothing */
			c->spoiled = true;
			return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
		}
		if (s->ctx != c->origin->ctx)
			return vg_unsupported("a capture of more than one context");
		if (!join(c, s))
			return CUDA_ERROR_OUT_OF_MEMORY;
		m = s->capture;
	}
	for (uint32_t i = 0; i < k->n; i++) {
		struct vg_node *x = vg_get(VG_NODE, k->nodes[i]);

		if (x && !vg_capture_depend(m, x))
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

static CUresult wait(struct vg_stream *s, struct vg_event *e, unsigned int flags)
{
	struct vg_capturing *m = s->capture;
	struct vg_work *w;

	if (m == &vg_capture_implicit)
		return refuse(s, m);
	if (flags & CU_EVENT_WAIT_EXTERNAL) {
		if (!m)         /* documented: only in a capture */
			return CUDA_ERROR_INVALID_VALUE;
		VG_TRY(open_stream(s, &m));
		w = vg_work_new(CU_GRAPH_NODE_TYPE_WAIT_EVENT, e->ctx);
		if (!w)
			return CUDA_ERROR_OUT_OF_MEMORY;
		w->u.event = e->handle;
		return append(m, w, NULL);
	}
	if (e->captured)
		return wait_captured(s, e->captured);
	if (!m) {               /* it was recorded anew meanwhile */
		vg_event_wait(s, e);
		return CUDA_SUCCESS;
	}
	VG_TRY(open_stream(s, &m));
	if (!__atomic_load_n(&e->mark, __ATOMIC_ACQUIRE))
		return CUDA_SUCCESS;
	m->c->spoiled = true;
	return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
}

CUresult vg_capture_wait(struct vg_stream *s, struct vg_event *e, unsigned int flags)
{
	CUresult r;

	vg_lock(&vg_graphs);
	r = wait(s, e, flags);
	vg_unlock(&vg_graphs);
	return r;
}

/* ---- begin and end ---- */

static CUresult begin(struct vg_stream *s, struct vg_graph *g, const CUgraphNode *deps, size_t n, int mode, uint32_t tid)
{
	struct vg_capture *c;

	if (!s->index)          /* documented: not the legacy stream */
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (s->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	for (size_t i = 0; i < n; i++)
		if (!vg_node_of(deps[i]) || vg_node_of(deps[i])->graph != g)
			return CUDA_ERROR_INVALID_VALUE;
	c = calloc(1, sizeof *c);
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->own = !g;
	c->g = g ? g : vg_graph_new();
	if (!c->g || !join(c, s)) {
		if (c->own && c->g)
			vg_graph_free(c->g);
		free(c);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (c->own)
		vg_publish(c->g);
	c->g->capturing = true;
	c->id = ++last_id;
	c->mode = mode;
	c->tid = tid;
	c->origin = s;
	c->next = captures;
	captures = c;
	if (mode != CU_STREAM_CAPTURE_MODE_RELAXED)
		__atomic_add_fetch(&vg_strict_captures, 1, __ATOMIC_RELAXED);
	for (size_t i = 0; i < n; i++)
		if (!vg_capture_depend(c->streams, vg_node_of(deps[i]))) {
			end(c, false);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
	return CUDA_SUCCESS;
}

static CUresult begin_locked(CUstream h, bool pt, bool to_graph, CUgraph graph, const CUgraphNode *deps, size_t n,
			     CUstreamCaptureMode mode)
{
	struct vg_thread *t = vg_thread();
	struct vg_graph *g = NULL;
	struct vg_stream *s;
	CUresult r;

	VG_READY();
	if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED || (n && !deps))
		return CUDA_ERROR_INVALID_VALUE;
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	VG_TRY(vg_stream(h, pt, &s));
	vg_lock(&vg_graphs);
	if (to_graph)
		g = vg_graph_of(graph);
	r = to_graph && (!g || g->capturing) ? CUDA_ERROR_INVALID_VALUE : begin(s, g, deps, n, (int)mode, t->tid);
	vg_unlock(&vg_graphs);
	return r;
}

static CUresult impl_cuStreamBeginCapture_v2(CUstream h, CUstreamCaptureMode mode, bool pt)
{
	return begin_locked(h, pt, false, NULL, NULL, 0, mode);
}
VG_TWIN(cuStreamBeginCapture_v2, _ptsz, (CUstream stream, CUstreamCaptureMode mode), (stream, mode, pt))

static CUresult impl_cuStreamBeginCapture(CUstream h, bool pt)
{
	return impl_cuStreamBeginCapture_v2(h, CU_STREAM_CAPTURE_MODE_GLOBAL, pt);
}
VG_TWIN(cuStreamBeginCapture, _ptsz, (CUstream stream), (stream, pt))

static CUresult impl_cuStreamBeginCaptureToGraph(CUstream h, CUgraph graph, const CUgraphNode *deps,
						 const CUgraphEdgeData *edges, size_t n, CUstreamCaptureMode mode, bool pt)
{
	VG_TRY(vg_plain_edges(edges, n));
	return begin_locked(h, pt, true, graph, deps, n, mode);
}
VG_TWIN(cuStreamBeginCaptureToGraph, _ptsz,
	(CUstream stream, CUgraph graph, const CUgraphNode *deps, const CUgraphEdgeData *edges, size_t n,
	 CUstreamCaptureMode mode),
	(stream, graph, deps, edges, n, mode, pt))

/* Does all that any stream of the capture has come before what the first one ends with? */
static CUresult joined(const struct vg_capture *c)
{
	const struct vg_capturing *o = c->origin->capture;
	struct vg_node **reached = malloc((c->g->n + 1) * sizeof *reached);
	uint32_t n = 0;
	bool all = true;

	if (!reached)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < c->g->n; i++)
		c->g->nodes[i]->mark = 0;
	for (uint32_t i = 0; i < o->n; i++) {
		o->deps[i]->mark = 1;
		reached[n++] = o->deps[i];
	}
	while (n) {
		const struct vg_edges *before = &reached[--n]->before;

		for (uint32_t i = 0; i < before->n; i++)
			if (!before->to[i]->mark) {
				before->to[i]->mark = 1;
				reached[n++] = before->to[i];
			}
	}
	free(reached);
	for (const struct vg_capturing *m = c->streams; m && all; m = m->next)
		for (uint32_t i = 0; i < m->n && all; i++)
			all = m->deps[i]->mark;
	for (uint32_t i = 0; i < c->nleft && all; i++)
		all = c->left[i]->mark;
	return all ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

static CUresult end_locked(struct vg_stream *s, CUgraph *graph, uint32_t tid)
{
	struct vg_capturing *m = s->capture;
	struct vg_graph *g;
	CUresult r;
	bool own;

	if (!m || m == &vg_capture_implicit)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (m->c->origin != s) {
		m->c->spoiled = true;
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	}
	if (m->c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && m->c->tid != tid)
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	r = m->c->spoiled ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : joined(m->c);
	own = m->c->own;
	g = end(m->c, r == CUDA_SUCCESS);
	if (graph)
		*graph = g ? VG_HANDLE(CUgraph, g) : NULL;
	else if (g && own)
		vg_graph_free(g);
	return r;
}

static CUresult impl_cuStreamEndCapture(CUstream h, CUgraph *graph, bool pt)
{
	struct vg_thread *t = vg_thread();
	struct vg_stream *s;
	CUresult r;

	VG_READY();
	/* NULL: who captured into a graph has it already. */
	if (graph)
		*graph = NULL;
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	/* Also in a context that has failed: the stream's capture ends. */
	s = (uintptr_t)h > 2 ? vg_get(VG_STREAM, (uint64_t)(uintptr_t)h) : NULL;
	if (!s)
		VG_TRY(vg_stream(h, pt, &s));
	vg_lock(&vg_graphs);
	r = end_locked(s, graph, t->tid);
	vg_unlock(&vg_graphs);
	return r;
}
VG_TWIN(cuStreamEndCapture, _ptsz, (CUstream stream, CUgraph *graph), (stream, graph, pt))

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	struct vg_thread *t;
	int old;

	VG_READY();
	if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	t = vg_thread();
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	old = t->capture_mode;
	t->capture_mode = *mode;
	*mode = (CUstreamCaptureMode)old;
	return CUDA_SUCCESS;
}
