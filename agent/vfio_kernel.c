/* SPDX-License-Identifier: MIT */
/*
 * VFIO transport: the kernel's own, for PCI functions (linux/vfio.h). Which way a function is opened is
 * decided here, each time (vfio_kernel.h); what follows is done on its file.
 *
 * Registers go through pread and pwrite on the device's file, so that a device that vanishes costs an error code; what is rung
 * often may be mapped (region_map), and its user unmaps it before close() (device.c). Memory is mapped only while it is pinned.
 */
#include "vfio_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <linux/vfio.h>

#include "agent.h"

#define WATCH_S 1               /* a dead PCI function gives no sign of its own: look that often */
#define MAX_VECTORS 512u

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* The device first: its memory stays mapped until the last file of it is gone. */
static void close_now(struct vfio *v)
{
	close_fd(v->device);
	close_fd(v->group);
	close_fd(v->container);
	close_fd(v->iommufd);
	close_fd(v->events);
	close_fd(v->request);
	close_fd(v->error);
	close_fd(v->timer);
	free(v);
}

/* ---- opening --------------------------------------------------------------------------------------- */

#define FAIL(code, ...) do { rc = (code); snprintf(why, why_bytes, __VA_ARGS__); goto fail; } while (0)

static int kernel_irq_set(struct vfio *v, unsigned index, unsigned start, unsigned count, const int *fds)
{
	union { struct vfio_irq_set set; uint8_t room[sizeof(struct vfio_irq_set) + MAX_VECTORS * sizeof(int)]; } m;
	int rc;

	if (count > MAX_VECTORS)
		return -EINVAL;
	m.set = (struct vfio_irq_set){ .argsz = (uint32_t)(sizeof(m.set) + count * sizeof(int)), .index = index, .start = start,
				       .count = count, .flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER };
	memcpy(m.room + sizeof(m.set), fds, count * sizeof(int));
	rc = ioctl(v->device, VFIO_DEVICE_SET_IRQS, &m);
	/* a positive answer: so many vectors could be had */
	return rc < 0 ? -errno : rc > 0 ? -ENOSPC : 0;
}

/* An eventfd for one of the interrupts that are the kernel's own; -1 where it has none. */
static int own_irq(struct vfio *v, unsigned index)
{
	struct vfio_irq_info info = { .argsz = sizeof(info), .index = index };
	struct epoll_event e = { .events = EPOLLIN };
	int fd;

	if (ioctl(v->device, VFIO_DEVICE_GET_IRQ_INFO, &info) < 0 || !info.count)
		return -1;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd >= 0 && kernel_irq_set(v, index, 0, 1, &fd) == 0 && epoll_ctl(v->events, EPOLL_CTL_ADD, fd, &e) == 0)
		return fd;
	close_fd(fd);
	return -1;
}

static int look_at(struct vfio *v, char *why, size_t why_bytes)
{
	struct itimerspec every = { { WATCH_S, 0 }, { WATCH_S, 0 } };
	struct epoll_event e = { .events = EPOLLIN };
	struct vfio_device_info info = { .argsz = sizeof(info) };
	int rc;

	if (ioctl(v->device, VFIO_DEVICE_GET_INFO, &info) < 0 || !(info.flags & VFIO_DEVICE_FLAGS_PCI) ||
	    !(info.flags & VFIO_DEVICE_FLAGS_RESET) || info.num_regions <= VFIO_PCI_CONFIG)
		FAIL(-ENODEV, "%s is no PCI function that can be reset", v->address);
	for (unsigned i = 0; i < VFIO_REGIONS && i < info.num_regions; i++) {
		struct vfio_region_info r = { .argsz = sizeof(r), .index = i };

		if (ioctl(v->device, VFIO_DEVICE_GET_REGION_INFO, &r) == 0) {
			v->offset[i] = r.offset;
			v->bytes[i] = r.size;
			v->mappable |= r.flags & VFIO_REGION_INFO_FLAG_MMAP ? 1u << i : 0;
		}
	}
	v->events = epoll_create1(EPOLL_CLOEXEC);
	v->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (v->events < 0 || v->timer < 0 || timerfd_settime(v->timer, 0, &every, NULL) < 0 ||
	    epoll_ctl(v->events, EPOLL_CTL_ADD, v->timer, &e) < 0)
		FAIL(-errno, "%s: no timer: %s", v->address, strerror(errno));
	v->request = own_irq(v, VFIO_PCI_REQ_IRQ_INDEX);
	v->error = own_irq(v, VFIO_PCI_ERR_IRQ_INDEX);
	return 0;
fail:
	return rc;
}

/* Character device and iommufd where the kernel has them, which is the newer interface; --vfio may say which. */
static const struct vfio_way *choose(const struct pci_place *p)
{
	if (p->noiommu)
		return &vfio_noiommu_way;       /* pci_check_bound() has asked whether that is wanted */
	if (agent.opt.vfio == VFIO_WAY_AUTO)
		return vfio_cdev_there(p) ? &vfio_cdev_way : &vfio_group_way;
	return agent.opt.vfio == VFIO_WAY_CDEV ? &vfio_cdev_way : &vfio_group_way;
}

/* It resets the function, as close() does: 100 ms when all is well, more than a minute when it is dead. */
static int kernel_open(const char *spec, struct vfio **out, char *why, size_t why_bytes)
{
	struct pci_place p;
	struct vfio *v = calloc(1, sizeof(*v));         /* once per attach */
	int rc;

	if (!v)
		return -ENOMEM;
	v->container = v->group = v->iommufd = v->device = v->request = v->error = v->timer = v->events = -1;
	if ((rc = pci_find(spec, &p, why, why_bytes)) < 0 || (rc = pci_check_bound(&p, why, why_bytes)) < 0)
		goto fail;
	strcpy(v->address, p.address);
	v->way = choose(&p);
	if ((rc = v->way->open(v, &p, why, why_bytes)) < 0 || (rc = look_at(v, why, why_bytes)) < 0)
		goto fail;
	log_debug("%s: opened by %s", v->address, v->way->name);
	*out = v;
	return 0;
fail:
	close_now(v);
	return rc;
}

static void kernel_close(struct vfio *v)
{
	if (v->way->closed)
		v->way->closed(v);
	close_now(v);
}

/* ---- use ------------------------------------------------------------------------------------------- */

static int kernel_region_info(struct vfio *v, unsigned region, uint64_t *bytes)
{
	if (region >= VFIO_REGIONS)
		return -EINVAL;
	*bytes = v->bytes[region];
	return 0;
}

static int inside(const struct vfio *v, unsigned region, uint64_t offset, unsigned bytes)
{
	return region < VFIO_REGIONS && bytes <= v->bytes[region] && offset <= v->bytes[region] - bytes;
}

static int kernel_region_read(struct vfio *v, unsigned region, uint64_t offset, void *to, unsigned bytes)
{
	static const uint32_t ones = ~0u;

	if (!inside(v, region, offset, bytes))
		return -EINVAL;
	if (pread(v->device, to, bytes, (off_t)(v->offset[region] + offset)) != (ssize_t)bytes)
		return -EIO;
	/* What a bus answers for a function that is gone; none of our registers can hold it. */
	return bytes == 4 && !memcmp(to, &ones, 4) ? -EPIPE : 0;
}

static int kernel_region_write(struct vfio *v, unsigned region, uint64_t offset, const void *from, unsigned bytes)
{
	if (!inside(v, region, offset, bytes))
		return -EINVAL;
	if (pwrite(v->device, from, bytes, (off_t)(v->offset[region] + offset)) != (ssize_t)bytes)
		return -EIO;
	return 0;
}

static int kernel_region_map(struct vfio *v, unsigned region, uint64_t offset, uint64_t bytes, void **va)
{
	if (region >= VFIO_REGIONS || bytes > v->bytes[region] || offset > v->bytes[region] - bytes)
		return -EINVAL;
	if (!(v->mappable & 1u << region))
		return -ENOTSUP;
	*va = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, v->device, (off_t)(v->offset[region] + offset));
	return *va == MAP_FAILED ? -errno : 0;
}

/* The kernel pins the pages; the mapping is needed only while it looks them up. */
static int kernel_dma_map(struct vfio *v, iova_t iova, uint64_t bytes, int fd, uint64_t offset, void *va)
{
	void *p = va ? va : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	int rc;

	if (p == MAP_FAILED)
		return -errno;
	rc = v->way->map(v, iova, bytes, p);
	if (!va)
		munmap(p, bytes);
	if (rc == -ENOMEM && !v->said_memlock) {
		v->said_memlock = 1;
		log_warn("%s: the kernel may not pin %llu KiB more; fix: raise the locked memory limit (ulimit -l unlimited)", v->address,
			 (unsigned long long)bytes / 1024);
	}
	return rc;
}

static int kernel_dma_unmap(struct vfio *v, iova_t iova, uint64_t bytes)
{
	return v->way->unmap(v, iova, bytes);
}

static int kernel_bus_address(struct vfio *v, iova_t iova, uint64_t *bus, uint64_t *bytes)
{
	if (v->way->bus)
		return v->way->bus(v, iova, bus, bytes);
	*bus = iova.v;
	*bytes = ~0ull;
	return 0;
}

/* A write to an eventfd that the kernel turns into a register write saves nothing over ring(). */
static int kernel_doorbell_fds(struct vfio *v, uint64_t base, unsigned count, int *fds)
{
	(void)v, (void)base;
	for (unsigned i = 0; i < count; i++)
		fds[i] = -1;
	return -ENOTSUP;
}

static void kernel_ring(struct vfio *v, uint64_t offset, uint32_t value)
{
	/* A device that does not take it is found by the watch. */
	if (pwrite(v->device, &value, 4, (off_t)(v->offset[VFIO_PCI_BAR0] + offset)) != 4)
		return;
}

static int kernel_reset(struct vfio *v)
{
	uint32_t id = ~0u;

	/* Of a dead function the kernel would wait a minute for the end of the reset. */
	if (pread(v->device, &id, 4, (off_t)v->offset[VFIO_PCI_CONFIG]) != 4 || (id & 0xffff) == 0xffff)
		return -EPIPE;
	return ioctl(v->device, VFIO_DEVICE_RESET) < 0 ? -errno : 0;
}

static int kernel_poll_fd(struct vfio *v)
{
	return v->events;
}

static int rang(int fd)
{
	uint64_t n;

	return fd >= 0 && read(fd, &n, sizeof(n)) == sizeof(n);
}

static int kernel_event(struct vfio *v)
{
	uint32_t id;

	rang(v->timer);
	if (rang(v->request)) {
		log_warn("%s: the kernel asks for it back (unplug, or unbinding from vfio-pci)", v->address);
		return -ENODEV;
	}
	if (rang(v->error)) {
		log_warn("%s: the kernel reports a PCI error", v->address);
		return -EIO;
	}
	return pread(v->device, &id, 4, (off_t)v->offset[VFIO_PCI_CONFIG]) == 4 ? 0 : -EPIPE;
}

static const char *kernel_address(struct vfio *v)
{
	return v->address;
}

static const char *kernel_way(struct vfio *v)
{
	return v->way->name;
}

const struct vfio_ops vfio_kernel_ops = {
	.prefix = "",
	.name = "kernel VFIO",
	.open = kernel_open,
	.region_info = kernel_region_info,
	.region_read = kernel_region_read,
	.region_write = kernel_region_write,
	.region_map = kernel_region_map,
	.irq_set = kernel_irq_set,
	.dma_map = kernel_dma_map,
	.dma_unmap = kernel_dma_unmap,
	.bus_address = kernel_bus_address,
	.doorbell_fds = kernel_doorbell_fds,
	.ring = kernel_ring,
	.reset = kernel_reset,
	.poll_fd = kernel_poll_fd,
	.event = kernel_event,
	.close = kernel_close,
	.address = kernel_address,
	.way = kernel_way,
};
