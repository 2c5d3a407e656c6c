/* SPDX-License-Identifier: MIT */
/*
 * See model.h. The rules, from the programming guide ("Asynchronous Concurrent Execution", "Stream synchronization behavior"
 * in the driver API, "CUDA Graphs"):
 *
 *   - a stream's operations happen in the order of their calls
 *   - what is called in the legacy stream happens after all that was called before in blocking streams of its context (and the
 *     thread's default stream is one), and before all that is called in them afterwards; a destroyed stream's work included
 *   - an event stands for what was called in its stream before it was last recorded; a wait means the recording that was the
 *     last when the wait was called
 *   - a stream that waits for a value goes on after whoever wrote it
 *   - a graph begins when its stream has come to it, and what comes later in the stream waits for all of its nodes; a node
 *     waits for its dependencies; an executable graph runs once at a time
 *   - the host knows to be complete what it has waited for; a call comes after all that the host knows
 *
 * Streams stand here for sets: all that happens before the next call in it.
 */
#include "model.h"

#include <string.h>

const struct stream_kind_of stream_kinds[STREAMS] = {
	{ LEGACY, 0 }, { PER_THREAD, 0 }, { BLOCKING, 0 }, { BLOCKING, 0 }, { BLOCKING, 0 }, { NON_BLOCKING, 0 }, { NON_BLOCKING, 0 },
	{ LEGACY, 1 }, { BLOCKING, 1 }, { BLOCKING, 1 }, { NON_BLOCKING, 1 }, { PER_THREAD, 1 },
};

static uint64_t state;

static unsigned below(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)((state * 0x2545f4914f6cdd1dull) >> 33) % n;
}

int set_has(const struct set *s, int v) { return s->w[v / 64] >> v % 64 & 1; }
static void put(struct set *s, int v) { s->w[v / 64] |= 1ull << v % 64; }

static void join(struct set *to, const struct set *from)
{
	for (unsigned i = 0; i < VERTICES / 64; i++)
		to->w[i] |= from->w[i];
}

struct world {
	struct set at[STREAMS];         /* behind what the next call in it comes */
	struct set event[EVENTS];
	int recorded[EVENTS];
	struct set host;
	struct set dead[CONTEXTS], dead_blocking[CONTEXTS];     /* work of destroyed streams */
};

static int blocks(int s) { return stream_kinds[s].kind == BLOCKING || stream_kinds[s].kind == PER_THREAD; }

/* The legacy barrier: a call in s comes now. */
static void barrier(struct world *w, int s)
{
	if (stream_kinds[s].kind == NON_BLOCKING)
		return;
	for (int i = 0; i < STREAMS; i++)
		if (stream_kinds[i].context == stream_kinds[s].context &&
		    (stream_kinds[s].kind == LEGACY ? blocks(i) : stream_kinds[i].kind == LEGACY))
			join(&w->at[s], &w->at[i]);
	if (stream_kinds[s].kind == LEGACY)
		join(&w->at[s], &w->dead_blocking[stream_kinds[s].context]);
}

static int vertex(struct program *p, enum op op, const struct set *before)
{
	struct vertex *v = &p->v[p->nv];

	memset(v, 0, sizeof *v);
	v->op = op;
	v->before = *before;
	v->delay = below(3) ? below(40) : below(600);
	v->blocks = below(4) ? 1 : 1 + below(6);
	return p->nv++;
}

static enum op some_op(int in_graph)
{
	static const enum op plain[] = { KERNEL, KERNEL, KERNEL, KERNEL, HOST_FN, HOST_FN, COPY, COPY, COPY, DOWNLOAD, FILL, UPLOAD,
					 UPLOAD_PIECE, WRITE_VALUE, HOST_TO_HOST, FOREIGN_COPY, FOREIGN_UPLOAD, FOREIGN_FILL };
	static const enum op nodes[] = { KERNEL, KERNEL, HOST_FN, COPY, FILL };

	return in_graph ? nodes[below(sizeof nodes / sizeof *nodes)] : plain[below(sizeof plain / sizeof *plain)];
}

static void graph(struct program *p, struct world *w, struct step *t)
{
	struct set in, all = { { 0 } };
	int node[NODES], last;

	t->nnodes = 1 + (int)below(NODES);
	t->launches = below(3) ? 1 : 2 + (int)below(2);
	t->in[0] = t->stream;
	for (int k = 1; k < t->launches; k++) {
		/* of the same context: a graph belongs to one */
		do
			t->in[k] = below(2) ? t->stream : (int)below(STREAMS);
		while (stream_kinds[t->in[k]].context != stream_kinds[t->stream].context);
	}
	t->captured = below(2) && stream_kinds[t->stream].kind != LEGACY;
	join(&w->at[t->stream], &w->host);
	barrier(w, t->stream);
	in = w->at[t->stream];
	for (int i = 0; i < t->nnodes; i++) {
		struct set before = in;

		t->needs[i] = 0;
		for (int k = 0; k < i; k++)
			if (!below(2)) {
				t->needs[i] |= 1u << k;
				join(&before, &p->v[node[k]].before);
				put(&before, node[k]);
			}
		t->node[i] = node[i] = vertex(p, some_op(1), &before);
		p->v[node[i]].graph = 1 + (int)(t - p->step);
		p->v[node[i]].again = t->launches > 1;
		put(&all, node[i]);
	}
	/* One launch after the other; the nodes are over when the last one is. */
	last = t->stream;
	for (int k = 1; k < t->launches; k++) {
		struct set done = w->at[last];

		last = t->in[k];
		join(&w->at[last], &w->host);
		barrier(w, last);
		join(&w->at[last], &done);
	}
	join(&w->at[last], &all);
}

static void look(struct program *p, struct world *w, struct step *t, const struct set *known)
{
	join(&w->host, known);
	t->vertex = vertex(p, LOOK, &w->host);
	put(&w->host, t->vertex);
}

static int some_cell(const struct program *p)
{
	int n = 0, found = -1;

	for (int i = 0; i < p->nv; i++)
		/* one that is set twice says nothing of the second time */
		if (op_sets(p->v[i].op) && p->v[i].op <= WRITE_VALUE && !p->v[i].again && !below((unsigned)++n))
			found = i;
	return found;
}

static void one(struct program *p, struct world *w, struct step *t)
{
	static const enum step_kind kinds[] = { RUN, RUN, RUN, RUN, RUN, RUN, RUN, RUN, RUN, RUN, RECORD, RECORD, RECORD, WAIT_EVENT,
						WAIT_EVENT, WAIT_EVENT, WAIT_CELL, SYNC_STREAM, SYNC_EVENT, SYNC_CONTEXT,
						QUERY_STREAM, QUERY_EVENT, GRAPH, GRAPH, RENEW };
	struct set all = { { 0 } };
	int s = (int)below(STREAMS), e = (int)below(EVENTS), c = stream_kinds[s].context;

	if (!below(4))
		s = c ? 7 : 0;          /* the legacy stream is what much of this is about */
	*t = (struct step){ .kind = kinds[below(sizeof kinds / sizeof *kinds)], .stream = s, .event = e, .vertex = -1,
			    .pause = below(6) ? 0 : below(300) };
	join(&w->at[s], &w->host);
	switch (t->kind) {
	case RUN:
		barrier(w, s);
		t->vertex = vertex(p, some_op(0), &w->at[s]);
		put(&w->at[s], t->vertex);
		break;
	case RECORD:
		/* an event is its context's: even ones are of the first */
		t->event = e = e / 2 * 2 + c;
		barrier(w, s);
		w->event[e] = w->at[s];
		w->recorded[e] = 1;
		break;
	case WAIT_EVENT:
		if (w->recorded[e])
			join(&w->at[s], &w->event[e]);
		break;
	case WAIT_CELL:
		t->vertex = some_cell(p);
		if (t->vertex < 0) {
			t->kind = WAIT_EVENT;
			if (w->recorded[e])
				join(&w->at[s], &w->event[e]);
			break;
		}
		barrier(w, s);
		join(&w->at[s], &p->v[t->vertex].before);
		put(&w->at[s], t->vertex);
		break;
	case SYNC_STREAM:
	case QUERY_STREAM:
		if (stream_kinds[s].kind == LEGACY)
			barrier(w, s);
		look(p, w, t, &w->at[s]);
		break;
	case SYNC_EVENT:
	case QUERY_EVENT:
		look(p, w, t, w->recorded[e] ? &w->event[e] : &all);
		break;
	case SYNC_CONTEXT:
		for (int i = 0; i < STREAMS; i++)
			if (stream_kinds[i].context == c)
				join(&all, &w->at[i]);
		join(&all, &w->dead[c]);
		look(p, w, t, &all);
		break;
	case GRAPH:
		graph(p, w, t);
		break;
	case RENEW:
		/* The old one's work goes on, and the legacy stream comes behind it; the new one comes behind nothing. */
		if (stream_kinds[s].kind != BLOCKING && stream_kinds[s].kind != NON_BLOCKING) {
			t->kind = STEP_KINDS;
			break;
		}
		join(&w->dead[c], &w->at[s]);
		if (blocks(s))
			join(&w->dead_blocking[c], &w->at[s]);
		memset(&w->at[s], 0, sizeof w->at[s]);
		break;
	case STEP_KINDS:
		break;
	}
}

/* Kernels and host functions look at cells: of some that happen before them, and of some that they happen before. */
static int may_look(const struct program *p, const int *context, int who, int whose)
{
	enum op a = p->v[who].op, b = p->v[whose].op;

	if (a == LOOK)
		return b == FOREIGN_FILL || b == FOREIGN_UPLOAD;
	if (!op_sets(b) || (a != KERNEL && a != HOST_FN) || (p->v[who].again && p->v[who].graph == p->v[whose].graph))
		return 0;
	if (b == HOST_TO_HOST)
		return a == HOST_FN;
	if (b == FOREIGN_FILL || b == FOREIGN_UPLOAD)   /* in the other context's own memory */
		return a == KERNEL && context[who] != context[whose];
	return 1;
}

static void choose_cells(struct program *p, const int *context)
{
	for (int i = 0; i < p->nv; i++) {
		struct vertex *v = &p->v[i];

		for (int k = p->nv - 1; k >= 0; k--) {
			if (set_has(&v->before, k) && may_look(p, context, i, k) && v->nsees < CHECKS)
				v->sees[v->nsees++] = k;
			if (set_has(&p->v[k].before, i) && may_look(p, context, i, k) && !below(2) && v->nunset < CHECKS)
				v->unset[v->nunset++] = k;
		}
	}
}

void model_make(struct program *p, uint64_t seed)
{
	struct world w;
	int context[VERTICES] = { 0 };

	memset(&w, 0, sizeof w);
	state = (seed + 1) * 0x9e3779b97f4a7c15ull;
	for (int i = 0; i < 8; i++)
		below(2);
	p->nsteps = p->nv = 0;
	while (p->nsteps < STEPS && p->nv + NODES + 1 < VERTICES) {
		int first = p->nv;
		struct step *t = &p->step[p->nsteps++];

		one(p, &w, t);
		for (int i = first; i < p->nv; i++)
			context[i] = stream_kinds[t->stream].context;
	}
	choose_cells(p, context);
	for (int i = 0; i < p->nv; i++)
		p->v[i].context = context[i];
}
