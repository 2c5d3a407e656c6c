/* SPDX-License-Identifier: MIT */
/*
 * The kernel's iommufd and VFIO character devices (Linux 6.6; Documentation/userspace-api/iommufd.rst and
 * vfio.rst): the requests that vfio_cdev.c makes, written out here because Debian 12's headers are older.
 */
#ifndef AGENT_VFIO_IOMMUFD_H
#define AGENT_VFIO_IOMMUFD_H

#include <stdint.h>
#include <linux/ioctl.h>

#define CDEV_IOCTL(nr) _IO(';', nr)     /* both interfaces; sizes stand in the structs */

/* On /dev/iommu. */
#define CDEV_IOAS_ALLOC CDEV_IOCTL(0x81)
struct cdev_ioas_alloc {
	uint32_t bytes, flags, out_ioas;
};

#define CDEV_IOAS_MAP CDEV_IOCTL(0x85)
#define CDEV_MAP_FIXED_IOVA 1u
#define CDEV_MAP_WRITEABLE 2u
#define CDEV_MAP_READABLE 4u
struct cdev_ioas_map {
	uint32_t bytes, flags, ioas, rsvd;
	uint64_t va, length, iova;
};

/* Whole maps only, one or several. length: in, what to unmap; out, what was unmapped. */
#define CDEV_IOAS_UNMAP CDEV_IOCTL(0x86)
struct cdev_ioas_unmap {
	uint32_t bytes, ioas;
	uint64_t iova, length;
};

/* On /dev/vfio/devices/vfioN: before the first, nothing else may be asked of it. */
#define CDEV_BIND CDEV_IOCTL(100 + 18)
struct cdev_bind {
	uint32_t bytes, flags;
	int32_t iommufd;
	uint32_t out_device;
};

#define CDEV_ATTACH CDEV_IOCTL(100 + 19)
struct cdev_attach {
	uint32_t bytes, flags, ioas;    /* in: address space; out: what the kernel made of it */
};

_Static_assert(sizeof(struct cdev_ioas_alloc) == 12 && sizeof(struct cdev_ioas_map) == 40 &&
	       sizeof(struct cdev_ioas_unmap) == 24 && sizeof(struct cdev_bind) == 16 &&
	       sizeof(struct cdev_attach) == 12, "kernel ABI");

#endif
