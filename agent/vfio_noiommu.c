/* SPDX-License-Identifier: MIT */
/*
 * The way without an IOMMU (linux/vfio.h, VFIO_NOIOMMU_IOMMU); see vfio_kernel.h. Only with --unsafe-noiommu: nothing
 * keeps the device from memory that is not ours.
 *
 * Nothing translates addresses either. Memory is found by the machine's own physical addresses
 * (/proc/self/pagemap), which stay true for huge pages of the hugetlb pool only; what the agent calls an
 * IOVA is looked up in a table of runs that are contiguous.
 */
#include "vfio_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/vfio.h>

#include "agent.h"
#include "vfio_noiommu.h"

#ifndef VFIO_NOIOMMU_IOMMU
#define VFIO_NOIOMMU_IOMMU 8
#endif
#define NOIOMMU_POPULATE_WRITE 23       /* MADV_POPULATE_WRITE */
#define RUNS 8192u

#define FAIL(code, ...) do { rc = (code); snprintf(why, why_bytes, __VA_ARGS__); goto fail; } while (0)

/* Of all devices: they see the same memory at the same addresses. Sorted by nothing; the control path may search. */
static struct run {
	uint64_t iova, bytes, bus;      /* bytes 0: free */
	const struct vfio *v;
} runs[RUNS] AGENT_STATE;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;        /* devices' threads fill it, the control thread looks up */
static int pagemap = -1;

int noiommu_init(void)
{
	pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (pagemap >= 0)
		return 0;
	log_error("--unsafe-noiommu: /proc/self/pagemap: %s; it tells physical addresses", strerror(errno));
	return -1;
}

/* Physical address of the 4 KiB page at va; 0: it is not there, or we may not know. */
static uint64_t physical(const void *va)
{
	uint64_t entry;

	if (pread(pagemap, &entry, sizeof(entry), (off_t)((uintptr_t)va / 4096 * 8)) != sizeof(entry) || !(entry >> 63))
		return 0;
	return (entry & ((1ull << 55) - 1)) * 4096;
}

/* Contiguous bytes from va on, in steps of 2 MiB; 0: it begins in no huge page. */
static uint64_t run_at(const uint8_t *va, uint64_t bytes, uint64_t *bus)
{
	uint64_t n = 0;

	*bus = physical(va);
	while (n < bytes && *bus && physical(va + n) == *bus + n) {
		uint64_t step = bytes - n < POOL_HUGE ? bytes - n : POOL_HUGE;

		if ((*bus + n) % POOL_HUGE || physical(va + n + step - 4096) != *bus + n + step - 4096)
			break;
		n += step;
	}
	return n;
}

int noiommu_in_one_piece(const struct pool_mem *m, int backwards)
{
	uint8_t *p = pool_map(m, NULL);
	uint64_t bus;
	int yes;

	if (!p)
		return 0;
	/* The pool hands out neighbours in either order. */
	for (uint64_t at = 0; at < m->bytes; at += POOL_HUGE)
		madvise(p + (backwards ? m->bytes - POOL_HUGE - at : at), POOL_HUGE, NOIOMMU_POPULATE_WRITE);
	yes = run_at(p, m->bytes, &bus) == m->bytes;
	pool_unmap(m, p);
	return yes;
}

static int noiommu_open(struct vfio *v, struct pci_place *p, char *why, size_t why_bytes)
{
	char path[32];
	int rc;

	v->container = open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC);
	if (v->container < 0)
		FAIL(-errno, "/dev/vfio/vfio: %s; fix: modprobe vfio-pci, and run as root", strerror(errno));
	snprintf(path, sizeof(path), "/dev/vfio/noiommu-%u", p->group);
	v->group = open(path, O_RDWR | O_CLOEXEC);
	if (v->group < 0 && errno == EBUSY)
		FAIL(-EBUSY, "%s (%s) is busy: another process owns it; is another vgpu-agent (or QEMU) running?", p->address, path);
	if (v->group < 0)
		FAIL(-errno, "%s for %s: %s; fix: run as root (CAP_SYS_RAWIO)", path, p->address, strerror(errno));
	if (ioctl(v->group, VFIO_GROUP_SET_CONTAINER, &v->container) < 0 || ioctl(v->container, VFIO_SET_IOMMU, VFIO_NOIOMMU_IOMMU) < 0)
		FAIL(-errno, "%s cannot be used: %s", path, strerror(errno));
	v->device = ioctl(v->group, VFIO_GROUP_GET_DEVICE_FD, p->address);
	if (v->device < 0)
		FAIL(-errno, "%s cannot be opened: %s", p->address, strerror(errno));
	log_warn("%s: UNSAFE, by --unsafe-noiommu: no IOMMU keeps this device from any memory of this machine", p->address);
	return 0;
fail:
	return rc;
}

static int noiommu_unmap(struct vfio *v, iova_t iova, uint64_t bytes)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < RUNS; i++)
		if (runs[i].v == v && runs[i].bytes && runs[i].iova >= iova.v && runs[i].iova - iova.v < bytes)
			runs[i].bytes = 0;
	pthread_mutex_unlock(&lock);
	return 0;
}

static int add_run(const struct run *r)
{
	unsigned i = 0;

	pthread_mutex_lock(&lock);
	while (i < RUNS && runs[i].bytes)
		i++;
	if (i < RUNS)
		runs[i] = *r;
	pthread_mutex_unlock(&lock);
	return i < RUNS ? 0 : -ENOSPC;
}

static int noiommu_map(struct vfio *v, iova_t iova, uint64_t bytes, void *va)
{
	madvise(va, bytes, NOIOMMU_POPULATE_WRITE);
	for (uint64_t done = 0, n; done < bytes; done += n) {
		uint64_t bus;

		n = run_at((uint8_t *)va + done, bytes - done, &bus);
		if (!n || add_run(&(struct run){ iova.v + done, n, bus, v }) < 0) {
			noiommu_unmap(v, iova, bytes);
			return n ? -ENOSPC : -ENOMEM;
		}
	}
	return 0;
}

static void noiommu_closed(struct vfio *v)
{
	noiommu_unmap(v, (iova_t){ 0 }, ~0ull);
}

static int noiommu_bus(struct vfio *v, iova_t iova, uint64_t *bus, uint64_t *bytes)
{
	int rc = -EFAULT;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < RUNS && rc < 0; i++)
		if (runs[i].v == v && runs[i].bytes && iova.v >= runs[i].iova && iova.v - runs[i].iova < runs[i].bytes) {
			*bus = runs[i].bus + (iova.v - runs[i].iova);
			*bytes = runs[i].bytes - (iova.v - runs[i].iova);
			rc = 0;
		}
	pthread_mutex_unlock(&lock);
	return rc;
}

const struct vfio_way vfio_noiommu_way = {
	.name = "group without an IOMMU, UNSAFE",
	.open = noiommu_open,
	.map = noiommu_map,
	.unmap = noiommu_unmap,
	.closed = noiommu_closed,
	.bus = noiommu_bus,
};
