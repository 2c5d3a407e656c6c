/* SPDX-License-Identifier: MIT */
/*
 * Access to a PCI function through VFIO: one ops table, a transport behind it. The device's own thread
 * only (errand.h), but for ring(), bus_address() and, of one that is up, way(). Names and numbers follow linux/vfio.h, which all transports share.
 *
 * All calls return 0 or -errno; -EPIPE and -ETIMEDOUT mean that the device is gone.
 */
#ifndef AGENT_VFIO_H
#define AGENT_VFIO_H

#include <stddef.h>
#include <stdint.h>

#include "pool.h"

struct vfio;

#define VFIO_PCI_BAR0   0u
#define VFIO_PCI_CONFIG 7u
#define VFIO_PCI_MSIX   2u

struct vfio_ops {
	const char *prefix;             /* "vfio-user:"; what follows is for open(). "": takes all of it */
	const char *name;               /* "vfio-user", for people */
	int same_kernel;                /* the device's processes are reached by membarrier */

	/* why: one sentence that names thing, reason and fix */
	int (*open)(const char *spec, struct vfio **out, char *why, size_t why_bytes);
	int (*region_info)(struct vfio *v, unsigned region, uint64_t *bytes);
	int (*region_read)(struct vfio *v, unsigned region, uint64_t offset, void *to, unsigned bytes);
	int (*region_write)(struct vfio *v, unsigned region, uint64_t offset, const void *from, unsigned bytes);
	/* Maps a part of a region; -ENOTSUP where it must be trapped. */
	int (*region_map)(struct vfio *v, unsigned region, uint64_t offset, uint64_t bytes, void **va);
	/* Vectors [start, start + count) of an interrupt index get these eventfds. */
	int (*irq_set)(struct vfio *v, unsigned index, unsigned start, unsigned count, const int *fds);
	int (*dma_map)(struct vfio *v, iova_t iova, uint64_t bytes, int fd, uint64_t offset, void *va);
	int (*dma_unmap)(struct vfio *v, iova_t iova, uint64_t bytes);
	/*
	 * What the device calls this address of mapped memory, and how many bytes from there on are
	 * contiguous for it. NULL: it sees IOVAs.
	 */
	int (*bus_address)(struct vfio *v, iova_t iova, uint64_t *bus, uint64_t *bytes);
	/* Eventfds that ring doorbells 0..count-1 (base + 4 * i); fds[i] = -1: none for that one. */
	int (*doorbell_fds)(struct vfio *v, uint64_t base, unsigned count, int *fds);
	/* Rings a doorbell that has no fd. Data thread: never blocks, needs no lock. */
	void (*ring)(struct vfio *v, uint64_t offset, uint32_t value);
	int (*reset)(struct vfio *v);
	/* Readable or hung up: event() is to be called. It answers < 0 when the device is gone. */
	int (*poll_fd)(struct vfio *v);
	int (*event)(struct vfio *v);
	void (*close)(struct vfio *v);
	/* Its place on this machine's bus; NULL where it has none. */
	const char *(*address)(struct vfio *v);
	/* How it was opened, for people; NULL where there is one way only. */
	const char *(*way)(struct vfio *v);
};

extern const struct vfio_ops vfio_user_ops;
extern const struct vfio_ops vfio_kernel_ops;

/* The transport for a --device text, NULL and a sentence in `why` when there is none. */
const struct vfio_ops *vfio_find(const char *spec, char *why, size_t why_bytes);
/* Tests add a transport of their own, before vfio_find(). */
void vfio_add(const struct vfio_ops *ops);

#endif
