/* SPDX-License-Identifier: MIT */
/*
 * A PCI function through the kernel's VFIO. What is done on the function's own file (vfio_kernel.c)
 * is the same whichever way it was opened; a way opens it and maps memory for it.
 *
 *   vfio_group.c     group and container, type 1 IOMMU
 *   vfio_cdev.c      character device and iommufd (Linux 6.6)
 *   vfio_noiommu.c   group without an IOMMU: only where the user says so
 */
#ifndef AGENT_VFIO_KERNEL_H
#define AGENT_VFIO_KERNEL_H

#include "vfio.h"
#include "vfio_pci.h"

#define VFIO_REGIONS 9u

struct vfio_way {
	const char *name;               /* "group and container", for people */
	/* Fills device and what the way needs besides; on failure what is open is closed by the caller. */
	int (*open)(struct vfio *v, struct pci_place *p, char *why, size_t why_bytes);
	/* va: `bytes` of memory, mapped here while this runs. The kernel pins the pages. */
	int (*map)(struct vfio *v, iova_t iova, uint64_t bytes, void *va);
	int (*unmap)(struct vfio *v, iova_t iova, uint64_t bytes);
	/* NULL where the device sees IOVAs: else as bus_address() of vfio.h. */
	int (*bus)(struct vfio *v, iova_t iova, uint64_t *bus, uint64_t *bytes);
	/* Before close(); NULL: nothing to forget. */
	void (*closed)(struct vfio *v);
};

struct vfio {
	const struct vfio_way *way;
	int device;                     /* the function */
	int group, container;           /* vfio_group.c */
	int iommufd;                    /* vfio_cdev.c */
	uint32_t ioas;
	int request, error, timer;      /* eventfds: hand it back, it failed; timerfd */
	int events;                     /* epoll set of these three */
	uint64_t offset[VFIO_REGIONS], bytes[VFIO_REGIONS];
	uint32_t mappable;              /* bit per region */
	int said_memlock;
	char address[PCI_ADDRESS_BYTES];
};

extern const struct vfio_way vfio_group_way;
extern const struct vfio_way vfio_cdev_way;
extern const struct vfio_way vfio_noiommu_way;

/* This kernel offers the function as a character device, and this process may use it. */
int vfio_cdev_there(const struct pci_place *p);

#endif
