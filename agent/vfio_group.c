/* SPDX-License-Identifier: MIT */
/* The way by group and container (linux/vfio.h, type 1 IOMMU); see vfio_kernel.h. */
#include "vfio_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <linux/vfio.h>

#define FAIL(code, ...) do { rc = (code); snprintf(why, why_bytes, __VA_ARGS__); goto fail; } while (0)

static int group_open(struct vfio *v, struct pci_place *p, char *why, size_t why_bytes)
{
	struct vfio_group_status status = { .argsz = sizeof(status) };
	char path[32], others[160];
	int rc;

	v->container = open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC);
	if (v->container < 0 && errno == ENOENT)
		FAIL(-ENOENT, "no /dev/vfio/vfio: the kernel's VFIO is not loaded; fix: modprobe vfio-pci");
	if (v->container < 0)
		FAIL(-errno, "/dev/vfio/vfio: %s; fix: run as root or give this user access to /dev/vfio", strerror(errno));
	if (ioctl(v->container, VFIO_GET_API_VERSION) != VFIO_API_VERSION ||
	    ioctl(v->container, VFIO_CHECK_EXTENSION, VFIO_TYPE1v2_IOMMU) <= 0)
		FAIL(-ENOTSUP, "this kernel's VFIO has no type 1 IOMMU; fix: modprobe vfio_iommu_type1");
	snprintf(path, sizeof(path), "/dev/vfio/%u", p->group);
	v->group = open(path, O_RDWR | O_CLOEXEC);
	if (v->group < 0 && errno == EBUSY)
		FAIL(-EBUSY, "%s (%s) is busy: another process owns it; is another vgpu-agent (or QEMU) running?", p->address, path);
	if (v->group < 0)
		FAIL(-errno, "%s for %s: %s; fix: run as root or chown it to this user", path, p->address, strerror(errno));
	if (ioctl(v->group, VFIO_GROUP_GET_STATUS, &status) < 0)
		FAIL(-errno, "%s: %s", path, strerror(errno));
	if (!(status.flags & VFIO_GROUP_FLAGS_VIABLE)) {
		pci_group_others(p, others, sizeof(others));
		FAIL(-EPERM, PCI_NOT_VIABLE, p->address, p->group, others);
	}
	if (ioctl(v->group, VFIO_GROUP_SET_CONTAINER, &v->container) < 0)
		FAIL(-errno, "%s cannot join a container: %s", path, strerror(errno));
	if (ioctl(v->container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU) < 0)
		FAIL(-errno, "%s: the IOMMU cannot be used: %s%s", p->address, strerror(errno), errno == EPERM ? PCI_NO_INTREMAP : "");
	v->device = ioctl(v->group, VFIO_GROUP_GET_DEVICE_FD, p->address);
	if (v->device < 0)
		FAIL(-errno, "%s cannot be opened: %s", p->address, strerror(errno));
	return 0;
fail:
	return rc;
}

static int group_map(struct vfio *v, iova_t iova, uint64_t bytes, void *va)
{
	struct vfio_iommu_type1_dma_map m = { .argsz = sizeof(m), .flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
					      .vaddr = (uintptr_t)va, .iova = iova.v, .size = bytes };

	return ioctl(v->container, VFIO_IOMMU_MAP_DMA, &m) < 0 ? -errno : 0;
}

static int group_unmap(struct vfio *v, iova_t iova, uint64_t bytes)
{
	struct vfio_iommu_type1_dma_unmap m = { .argsz = sizeof(m), .iova = iova.v, .size = bytes };

	return ioctl(v->container, VFIO_IOMMU_UNMAP_DMA, &m) < 0 ? -errno : 0;
}

const struct vfio_way vfio_group_way = {
	.name = "group and container",
	.open = group_open,
	.map = group_map,
	.unmap = group_unmap,
};
