/* SPDX-License-Identifier: MIT */
/*
 * open() and close() of a PCI function reset it, which takes 100 ms when all is well and more than a
 * minute when it is dead. A thread of its own does both, so that the control thread waits for neither.
 */
#ifndef AGENT_VFIO_SLOW_H
#define AGENT_VFIO_SLOW_H

#include <stddef.h>

struct vfio;

/* What that thread does; the same two functions in every call. */
typedef int (*vfio_open_fn)(const char *spec, struct vfio **out, char *why, size_t why_bytes);
typedef void (*vfio_close_fn)(struct vfio *v);

/*
 * Waits for the open: some seconds at boot, when nobody is served yet; later not at all: -EINPROGRESS, and
 * a later call for the same device gets what became of it.
 */
int vfio_slow_open(vfio_open_fn open_now, vfio_close_fn close_now, const char *spec, struct vfio **out, char *why, size_t why_bytes);
/* Returns at once. */
void vfio_slow_close(struct vfio *v);

#endif
