/* SPDX-License-Identifier: MIT */
/*
 * The way by character device and iommufd; see vfio_kernel.h. The function is a file of its own,
 * bound to an address space that is an object of /dev/iommu: there is no group to open.
 */
#include "vfio_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "vfio_iommufd.h"

#define FAIL(code, ...) do { rc = (code); snprintf(why, why_bytes, __VA_ARGS__); goto fail; } while (0)
#define IOMMU "/dev/iommu"

/* -ENOENT: this kernel has no such files (the name in sysfs alone is older than they are). */
static int device_path(const struct pci_place *p, char *path, size_t bytes)
{
	char name[32];

	if (pci_vfio_name(p, name, sizeof(name)) < 0)
		return -ENOENT;
	snprintf(path, bytes, "/dev/vfio/devices/%s", name);
	return access(path, F_OK) < 0 ? -errno : 0;
}

int vfio_cdev_there(const struct pci_place *p)
{
	char path[64];

	return device_path(p, path, sizeof(path)) == 0 && access(path, R_OK | W_OK) == 0 && access(IOMMU, R_OK | W_OK) == 0;
}

/* The kernel's answer to BIND is one number for several reasons. */
static int bind_failed(int error, const struct pci_place *p, const char *path, char *why, size_t why_bytes)
{
	char others[160];

	switch (error) {
	case EBUSY:             /* its group is open */
	case EINVAL:            /* its file is open and bound (or: an IOMMU without coherent caches) */
		snprintf(why, why_bytes, "%s (%s) is busy: another process owns it; is another vgpu-agent (or QEMU) running?",
			 p->address, path);
		return -EBUSY;
	case EPERM:
		if (pci_group_others(p, others, sizeof(others)))
			snprintf(why, why_bytes, PCI_NOT_VIABLE, p->address, p->group, others);
		else
			snprintf(why, why_bytes, "%s: the IOMMU cannot be used: %s%s", p->address, strerror(error), PCI_NO_INTREMAP);
		return -EPERM;
	}
	snprintf(why, why_bytes, "%s cannot be bound to an iommufd: %s", path, strerror(error));
	return -error;
}

static int cdev_open(struct vfio *v, struct pci_place *p, char *why, size_t why_bytes)
{
	struct cdev_ioas_alloc alloc = { .bytes = sizeof(alloc) };
	struct cdev_bind bind = { .bytes = sizeof(bind) };
	struct cdev_attach attach = { .bytes = sizeof(attach) };
	char path[64];
	int rc;

	if (device_path(p, path, sizeof(path)) == -ENOENT)
		FAIL(-ENOENT, "%s has no character device: this kernel's VFIO has groups only (CONFIG_VFIO_DEVICE_CDEV is not set); fix: --vfio group", p->address);
	v->iommufd = open(IOMMU, O_RDWR | O_CLOEXEC);
	if (v->iommufd < 0 && errno == ENOENT)
		FAIL(-ENOENT, "no " IOMMU ": the kernel's iommufd is not loaded; fix: modprobe iommufd, or --vfio group");
	if (v->iommufd < 0)
		FAIL(-errno, IOMMU ": %s; fix: run as root or give this user access to it", strerror(errno));
	v->device = open(path, O_RDWR | O_CLOEXEC);
	if (v->device < 0)
		FAIL(-errno, "%s for %s: %s; fix: run as root or chown it to this user", path, p->address, strerror(errno));
	bind.iommufd = v->iommufd;
	if (ioctl(v->device, CDEV_BIND, &bind) < 0)
		return bind_failed(errno, p, path, why, why_bytes);
	if (ioctl(v->iommufd, CDEV_IOAS_ALLOC, &alloc) < 0)
		FAIL(-errno, IOMMU ": no address space: %s", strerror(errno));
	v->ioas = attach.ioas = alloc.out_ioas;
	if (ioctl(v->device, CDEV_ATTACH, &attach) < 0)
		FAIL(-errno, "%s cannot be attached to an address space: %s", path, strerror(errno));
	return 0;
fail:
	return rc;
}

static int cdev_map(struct vfio *v, iova_t iova, uint64_t bytes, void *va)
{
	struct cdev_ioas_map m = { .bytes = sizeof(m), .flags = CDEV_MAP_FIXED_IOVA | CDEV_MAP_WRITEABLE | CDEV_MAP_READABLE,
				   .ioas = v->ioas, .va = (uintptr_t)va, .length = bytes, .iova = iova.v };

	return ioctl(v->iommufd, CDEV_IOAS_MAP, &m) < 0 ? -errno : 0;
}

static int cdev_unmap(struct vfio *v, iova_t iova, uint64_t bytes)
{
	struct cdev_ioas_unmap m = { .bytes = sizeof(m), .ioas = v->ioas, .iova = iova.v, .length = bytes };

	return ioctl(v->iommufd, CDEV_IOAS_UNMAP, &m) < 0 ? -errno : 0;
}

const struct vfio_way vfio_cdev_way = {
	.name = "cdev and iommufd",
	.open = cdev_open,
	.map = cdev_map,
	.unmap = cdev_unmap,
};
