/* SPDX-License-Identifier: MIT */
/* What the driver probe's files share. */
#ifndef ABI_PROBE_DRIVER_H
#define ABI_PROBE_DRIVER_H

/* the names that libcuda.so.1 exports, no macro between */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "probe.h"

extern const char probe_ptx[];
#define WILD ((CUdeviceptr)0x7f1234560000ull)
#define P(x) ((void *)(uintptr_t)(x))

CUcontext start(void);          /* cuInit, device 0's primary context made current; no lines */
CUmodule module(void);
CUfunction function(CUmodule m, const char *name);
CUdeviceptr alloc(size_t bytes);
CUstream stream(unsigned int flags);
const char *err(CUresult r);

#define GROUP(name) void g_##name(void)
#define GROUPS(X) \
	X(init) X(errors) X(devices) X(attributes) X(primary) X(contexts) X(limits) X(proc) X(modules) X(libraries) X(links) X(functions) \
	X(occupancy) X(alloc) X(host) X(managed) X(pointers) X(pools) X(vmm) X(ipc) X(copies) X(copies2d) X(copies3d) X(memsets) X(batches) \
	X(streams) X(stream_attributes) X(stream_values) X(events) X(capture_calls) X(capture_modes) X(capture_joins) X(capture_ends) \
	X(graphs) X(graph_nodes) X(graph_exec) X(graph_update) X(graph_memory) X(graph_edges) X(graph_objects) X(launches) X(launch_ex) \
	X(launch_fault) X(arrays) X(mipmaps) X(textures) X(external) X(green) X(multicast) X(coredump) X(profiler) X(texrefs) X(peer) X(logs) X(destroyed) X(nulls) X(wild)
#define X(name) GROUP(name);
GROUPS(X)
#undef X
#endif
