/* SPDX-License-Identifier: MIT */
/*
 * Memory that a graph allocates: nodes of cuMemAllocAsync and cuMemFreeAsync. Called by graph_work.c, graph_launch.c,
 * pool.c and memory.c.
 *
 * An allocation node has one address for all launches. Here it has its memory as well, from the moment that it is made
 * until the graph and all that was made of it are gone: a launch says only whose it is. CUDA's rules are kept: what a
 * graph allocates and does not free is the program's afterwards, and the graph cannot be launched again before that is
 * freed, unless it was instantiated to free it itself.
 */
#include "graph.h"
#include "../core/queue.h"

#include <stdlib.h>

struct vg_graph_mem {
	struct vg_ctx *ctx;
	uint64_t ctx_handle;
	uint64_t va, bytes;
	uint32_t refs;                  /* of works; and one while it is allocated */
	bool live;                      /* a launch has allocated it, and nobody freed it */
	/* behind this the memory is not used any more */
	uint64_t ticket;
	uint16_t stream;
};

/* For cuDeviceGetGraphMemAttribute; reserved is what the nodes hold, used what is allocated. */
static struct { uint64_t now, high; } reserved[VGPU_MAX_DEVICES], used[VGPU_MAX_DEVICES];
static struct vg_lock lock;             /* of everything here; taken after vg_graphs */

static void book(uint64_t *now, uint64_t *high, uint64_t bytes)
{
	*now += bytes;
	if (*now > *high)
		*high = *now;
}

struct vg_graph_mem *vg_graph_mem_ref(struct vg_graph_mem *m)
{
	vg_lock(&lock);
	m->refs++;
	vg_unlock(&lock);
	return m;
}

void vg_graph_mem_unref(struct vg_graph_mem *m)
{
	struct vg_mem *entry;
	bool last;

	if (!m)
		return;
	vg_lock(&lock);
	last = !--m->refs;
	if (last)
		reserved[m->ctx->ordinal].now -= m->bytes;
	vg_unlock(&lock);
	if (!last)
		return;
	entry = malloc(sizeof *entry);
	/* With its context all memory went already. */
	if (!entry || m->ctx->handle != m->ctx_handle || !vg_mem_take(m->va, 1u << VG_MEM_ASYNC, entry))
		free(entry);
	else
		vg_defer(VG_DEFER_MEM, m->ctx, m->stream, m->ticket, entry, 0);
	free(m);
}

CUresult vg_make_alloc(CUDA_MEM_ALLOC_NODE_PARAMS *p, struct vg_ctx *c, struct vg_work **w)
{
	struct vg_graph_mem *m;
	struct vg_mem entry;
	uint32_t status;

	if (p->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED || p->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    p->poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE || !p->bytesize || (p->accessDescCount && !p->accessDescs))
		return CUDA_ERROR_INVALID_VALUE;
	if (!vg_device_ok(p->poolProps.location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	for (size_t i = 0; i < p->accessDescCount; i++)
		if (p->accessDescs[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
		    p->accessDescs[i].location.id != p->poolProps.location.id)
			return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	if (!c)
		VG_TRY(vg_context_for((uint32_t)p->poolProps.location.id, &c));
	m = calloc(1, sizeof *m);
	*w = vg_work_new(CU_GRAPH_NODE_TYPE_MEM_ALLOC, c);
	if (!m || !*w) {
		free(m);
		free(*w);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	status = vg_mem_alloc(c, p->bytesize, VG_MEM_ASYNC, &m->va);
	if (status) {
		free(m);
		free(*w);
		return vg_fail(c, status);
	}
	*m = (struct vg_graph_mem){ .ctx = c, .ctx_handle = c->handle, .va = m->va, .bytes = p->bytesize, .refs = 1 };
	if (vg_mem_find(m->va, &entry)) {
		entry.graph = m;
		vg_mem_update(&entry);
	}
	vg_lock(&lock);
	book(&reserved[c->ordinal].now, &reserved[c->ordinal].high, m->bytes);
	vg_unlock(&lock);
	p->dptr = m->va;
	(*w)->u.alloc.m = m;
	(*w)->u.alloc.given = *p;
	(*w)->u.alloc.given.accessDescs = NULL; /* the program's array: it may be gone, and says nothing that is not so */
	(*w)->u.alloc.given.accessDescCount = 0;
	return CUDA_SUCCESS;
}

CUresult vg_make_free(CUdeviceptr ptr, struct vg_work **w)
{
	struct vg_mem entry;

	/* Documented: a graph frees what a graph has allocated. */
	if (!vg_mem_find(ptr, &entry) || entry.start != ptr || !entry.graph)
		return CUDA_ERROR_INVALID_VALUE;
	*w = vg_work_new(CU_GRAPH_NODE_TYPE_MEM_FREE, entry.ctx);
	if (!*w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*w)->u.freed = ptr;
	return CUDA_SUCCESS;
}

CUresult vg_graph_mem_launch(const struct vg_exec *e)
{
	bool ok = true;

	vg_lock(&lock);
	for (uint32_t i = 0; i < e->program.nsteps && ok; i++)
		if (e->program.steps[i].call == VG_CALL_ALLOC)
			ok = !e->program.steps[i].w->u.alloc.m->live || e->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
	vg_unlock(&lock);
	return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void vg_graph_mem_launched(const struct vg_exec *e)
{
	vg_lock(&lock);
	for (uint32_t i = 0; i < e->program.nsteps; i++)
		if (e->program.steps[i].call == VG_CALL_ALLOC) {
			e->program.steps[i].w->u.alloc.m->stream = e->last_stream;
			e->program.steps[i].w->u.alloc.m->ticket = e->last;
		}
	vg_unlock(&lock);
}

void vg_graph_mem_allocate(const struct vg_work *w)
{
	struct vg_graph_mem *m = w->u.alloc.m;

	vg_lock(&lock);
	if (!m->live) {
		m->live = true;
		m->refs++;
		book(&used[m->ctx->ordinal].now, &used[m->ctx->ordinal].high, m->bytes);
	}
	vg_unlock(&lock);
}

/* By a graph or by the program; *gone: has one reference too many then. */
static CUresult freed(uint64_t va, struct vg_stream *s, uint64_t ticket, struct vg_graph_mem **gone)
{
	struct vg_mem entry;
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	*gone = NULL;
	if (!vg_mem_find(va, &entry) || entry.start != va || !entry.graph)
		return r;
	vg_lock(&lock);
	if (entry.graph->live) {
		entry.graph->live = false;
		used[entry.graph->ctx->ordinal].now -= entry.graph->bytes;
		if (s) {
			entry.graph->stream = (uint16_t)s->index;
			entry.graph->ticket = ticket;
		}
		*gone = entry.graph;
		r = CUDA_SUCCESS;
	}
	vg_unlock(&lock);
	return r;
}

void vg_graph_mem_free(uint64_t va)
{
	struct vg_graph_mem *m;

	if (freed(va, NULL, 0, &m) == CUDA_SUCCESS)
		vg_graph_mem_unref(m);
}

CUresult vg_graph_mem_free_outside(uint64_t va, struct vg_stream *s)
{
	struct vg_graph_mem *m;

	VG_TRY(freed(va, s, s ? vg_stream_mark(s) : 0, &m));
	vg_graph_mem_unref(m);
	return CUDA_SUCCESS;
}

/* ---- attributes ---- */

CUresult cuDeviceGraphMemTrim(CUdevice dev)
{
	VG_READY();
	if (!vg_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	vg_deferred_reap();     /* nothing is kept that no graph holds */
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute attr, void *value)
{
	CUresult r = CUDA_SUCCESS;
	cuuint64_t *v = value;

	VG_READY();
	if (!vg_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	vg_lock(&lock);
	switch ((int)attr) {
	case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT: *v = used[dev].now; break;
	case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH: *v = used[dev].high; break;
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT: *v = reserved[dev].now; break;
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH: *v = reserved[dev].high; break;
	default: r = CUDA_ERROR_INVALID_VALUE;
	}
	vg_unlock(&lock);
	return r;
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute attr, void *value)
{
	VG_READY();
	if (!vg_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	/* Documented: only the high marks, and only to 0, which starts them anew. */
	if (!value || *(cuuint64_t *)value || (attr != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH && attr != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))
		return CUDA_ERROR_INVALID_VALUE;
	vg_lock(&lock);
	if (attr == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
		used[dev].high = used[dev].now;
	else
		reserved[dev].high = reserved[dev].now;
	vg_unlock(&lock);
	return CUDA_SUCCESS;
}
