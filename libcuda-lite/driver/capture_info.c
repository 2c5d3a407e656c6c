/* SPDX-License-Identifier: MIT */
/*
 * Is a stream captured, into which graph, behind which nodes? And the change of the last. Called by programs.
 */
#include "capture.h"

#include <stdlib.h>
#include <string.h>

/* The nodes that the stream's next one depends on, as an array that lasts until the stream is asked again. */
static CUresult tell(struct vg_capturing *m, const CUgraphNode **deps, const CUgraphEdgeData **edges, size_t *n)
{
	void *p;

	if (deps) {
		p = realloc(m->told, (m->n + 1) * sizeof *m->told);
		if (!p)
			return CUDA_ERROR_OUT_OF_MEMORY;
		m->told = p;
		for (uint32_t i = 0; i < m->n; i++)
			m->told[i] = VG_HANDLE(CUgraphNode, m->deps[i]);
		*deps = m->told;
	}
	if (edges) {
		p = realloc(m->told_edges, (m->n + 1) * sizeof *m->told_edges);
		if (!p)
			return CUDA_ERROR_OUT_OF_MEMORY;
		m->told_edges = p;
		memset(p, 0, (m->n + 1) * sizeof *m->told_edges);
		*edges = m->told_edges;
	}
	if (n)
		*n = m->n;
	return CUDA_SUCCESS;
}

static CUresult info(struct vg_stream *s, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
		     const CUgraphNode **deps, const CUgraphEdgeData **edges, size_t *n)
{
	struct vg_capturing *m = s->capture;

	if (m == &vg_capture_implicit)     /* documented: the capture stays good */
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	*status = !m ? CU_STREAM_CAPTURE_STATUS_NONE :
		  m->c->spoiled ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
	if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return CUDA_SUCCESS;
	if (id)
		*id = m->c->id;
	if (graph)
		*graph = VG_HANDLE(CUgraph, m->c->g);
	return tell(m, deps, edges, n);
}

static CUresult impl_cuStreamGetCaptureInfo_v3(CUstream h, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
					       const CUgraphNode **deps, const CUgraphEdgeData **edges, size_t *n, bool pt)
{
	struct vg_stream *s;
	CUresult r;

	VG_READY();
	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_stream(h, pt, &s));
	if (id)
		*id = 0;
	if (graph)
		*graph = NULL;
	if (deps)
		*deps = NULL;
	if (edges)
		*edges = NULL;
	if (n)
		*n = 0;
	*status = CU_STREAM_CAPTURE_STATUS_NONE;
	if (VG_LIKELY(!vg_capturing(s)))
		return CUDA_SUCCESS;
	vg_lock(&vg_graphs);
	r = info(s, status, id, graph, deps, edges, n);
	vg_unlock(&vg_graphs);
	return r;
}
VG_TWIN(cuStreamGetCaptureInfo_v3, _ptsz,
	(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph, const CUgraphNode **deps,
	 const CUgraphEdgeData **edges, size_t *n),
	(stream, status, id, graph, deps, edges, n, pt))

static CUresult impl_cuStreamGetCaptureInfo_v2(CUstream h, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
					       const CUgraphNode **deps, size_t *n, bool pt)
{
	return impl_cuStreamGetCaptureInfo_v3(h, status, id, graph, deps, NULL, n, pt);
}
VG_TWIN(cuStreamGetCaptureInfo_v2, _ptsz,
	(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph, const CUgraphNode **deps,
	 size_t *n),
	(stream, status, id, graph, deps, n, pt))

static CUresult impl_cuStreamGetCaptureInfo(CUstream h, CUstreamCaptureStatus *status, cuuint64_t *id, bool pt)
{
	return impl_cuStreamGetCaptureInfo_v3(h, status, id, NULL, NULL, NULL, NULL, pt);
}
VG_TWIN(cuStreamGetCaptureInfo, _ptsz, (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id),
	(stream, status, id, pt))

static CUresult impl_cuStreamIsCapturing(CUstream h, CUstreamCaptureStatus *status, bool pt)
{
	return impl_cuStreamGetCaptureInfo_v3(h, status, NULL, NULL, NULL, NULL, NULL, pt);
}
VG_TWIN(cuStreamIsCapturing, _ptsz, (CUstream stream, CUstreamCaptureStatus *status), (stream, status, pt))

static CUresult update(struct vg_stream *s, const CUgraphNode *deps, size_t n, unsigned int flags)
{
	struct vg_capturing *m = s->capture;

	if (!m || m == &vg_capture_implicit)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (m->c->spoiled)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	for (size_t i = 0; i < n; i++)
		if (!vg_node_of(deps[i]) || vg_node_of(deps[i])->graph != m->c->g)
			return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		m->n = 0;
	for (size_t i = 0; i < n; i++)
		if (!vg_capture_depend(m, vg_node_of(deps[i])))
			return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

static CUresult impl_cuStreamUpdateCaptureDependencies_v2(CUstream h, CUgraphNode *deps, const CUgraphEdgeData *edges,
							  size_t n, unsigned int flags, bool pt)
{
	struct vg_stream *s;
	CUresult r;

	VG_READY();
	if ((n && !deps) || flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_plain_edges(edges, n));
	VG_TRY(vg_stream(h, pt, &s));
	vg_lock(&vg_graphs);
	r = update(s, deps, n, flags);
	vg_unlock(&vg_graphs);
	return r;
}
VG_TWIN(cuStreamUpdateCaptureDependencies_v2, _ptsz,
	(CUstream stream, CUgraphNode *deps, const CUgraphEdgeData *edges, size_t n, unsigned int flags),
	(stream, deps, edges, n, flags, pt))

static CUresult impl_cuStreamUpdateCaptureDependencies(CUstream h, CUgraphNode *deps, size_t n, unsigned int flags, bool pt)
{
	return impl_cuStreamUpdateCaptureDependencies_v2(h, deps, NULL, n, flags, pt);
}
VG_TWIN(cuStreamUpdateCaptureDependencies, _ptsz, (CUstream stream, CUgraphNode *deps, size_t n, unsigned int flags),
	(stream, deps, n, flags, pt))
