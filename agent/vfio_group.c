/* SPDX-License-Identifier: MIT */
/*
 * VFIO transport: the kernel's group and container interface (linux/vfio.h, type 1 IOMMU).
 *
 * Registers and doorbells go through pread and pwrite on the device's file: nothing of a BAR is ever
 * mapped, so close() always frees the device, and a device that vanishes costs an error code, not
 * a SIGBUS. Memory is mapped only while it is pinned.
 *
 * open() and close() reset the function, which takes 100 ms when all is well and more than a
 * minute when it is dead: a thread of their own does both (slow_thread).
 */
#include "vfio.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <linux/vfio.h>

#include "agent.h"
#include "seccomp.h"
#include "vfio_pci.h"

#define OPEN_S 5                /* a function whose reset takes longer is dead */
#define WATCH_S 1               /* a dead PCI function gives no sign of its own: look that often */
#define MAX_VECTORS 512u
#define REGIONS 9u

struct vfio {
	int container, group, device;
	int request, error, timer;      /* eventfds: hand it back, it failed; timerfd */
	int events;                     /* epoll set of these three */
	uint64_t offset[REGIONS], bytes[REGIONS];
	int said_memlock;
	char address[PCI_ADDRESS_BYTES];
};

/* ---- what takes long, or for ever: one thread, one thing at a time -------------------------------- */

enum ask { ASK_NOTHING, ASK_OPEN, ASK_WORKING, ASK_DONE, ASK_GIVEN_UP };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	int started, busy;
	enum ask ask;
	char spec[64], why[400];
	struct vfio *v;
	int rc;
	struct vfio *dying[16];
	unsigned deaths;
} slow = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int open_now(const char *spec, struct vfio **out, char *why, size_t why_bytes);

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* The device first: a container keeps its mappings until the last device of the group is gone. */
static void close_now(struct vfio *v)
{
	close_fd(v->device);
	close_fd(v->group);
	close_fd(v->container);
	close_fd(v->events);
	close_fd(v->request);
	close_fd(v->error);
	close_fd(v->timer);
	free(v);
}

static void *slow_thread(void *unused)
{
	(void)unused;
	if (agent.opt.sandbox)
		seccomp_vfio_thread();
	pthread_mutex_lock(&slow.lock);
	for (;;) {
		struct vfio *v = NULL;
		int rc;

		slow.busy = 0;
		while (!slow.deaths && slow.ask != ASK_OPEN)
			pthread_cond_wait(&slow.work, &slow.lock);
		slow.busy = 1;
		if (slow.deaths) {
			v = slow.dying[--slow.deaths];
			pthread_mutex_unlock(&slow.lock);
			close_now(v);
			pthread_mutex_lock(&slow.lock);
			continue;
		}
		slow.ask = ASK_WORKING;
		pthread_mutex_unlock(&slow.lock);
		rc = open_now(slow.spec, &v, slow.why, sizeof(slow.why));
		pthread_mutex_lock(&slow.lock);
		slow.rc = rc;
		slow.v = v;
		if (slow.ask == ASK_WORKING) {
			slow.ask = ASK_DONE;
			pthread_cond_signal(&slow.done);
			continue;
		}
		/* Nobody waits for it any more. */
		slow.ask = ASK_NOTHING;
		if (rc == 0)
			slow.dying[slow.deaths++] = v;
	}
	return NULL;
}

/* Before the control thread's filter forbids new threads: the first open is at boot. */
static int slow_start(void)
{
	pthread_condattr_t attr;
	sigset_t all, old;
	pthread_t t;
	int rc;

	if (slow.started)
		return 0;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&slow.work, NULL);
	pthread_cond_init(&slow.done, &attr);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_create(&t, NULL, slow_thread, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc)
		return -rc;
	pthread_detach(t);
	slow.started = 1;
	return 0;
}

static int group_open(const char *spec, struct vfio **out, char *why, size_t why_bytes)
{
	struct timespec until;
	int rc = slow_start();

	if (rc < 0) {
		snprintf(why, why_bytes, "%s: no thread for opening devices: %s", spec, strerror(-rc));
		return rc;
	}
	pthread_mutex_lock(&slow.lock);
	if (slow.busy || slow.deaths || slow.ask != ASK_NOTHING) {
		pthread_mutex_unlock(&slow.lock);
		snprintf(why, why_bytes, "%s: the kernel is still closing or opening a device", spec);
		return -EBUSY;
	}
	snprintf(slow.spec, sizeof(slow.spec), "%s", spec);
	slow.why[0] = 0;
	slow.ask = ASK_OPEN;
	pthread_cond_signal(&slow.work);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += OPEN_S;
	while (slow.ask != ASK_DONE && rc == 0)
		rc = -pthread_cond_timedwait(&slow.done, &slow.lock, &until);
	if (slow.ask == ASK_DONE) {
		slow.ask = ASK_NOTHING;
		rc = slow.rc;
		*out = slow.v;
		snprintf(why, why_bytes, "%s", slow.why);
	} else {
		slow.ask = slow.ask == ASK_OPEN ? ASK_NOTHING : ASK_GIVEN_UP;
		rc = -ETIMEDOUT;
		snprintf(why, why_bytes, "%s: the kernel does not open it within %d s: the device is dead or hangs in its reset", spec, OPEN_S);
	}
	pthread_mutex_unlock(&slow.lock);
	return rc;
}

static void group_close(struct vfio *v)
{
	pthread_mutex_lock(&slow.lock);
	/* At most one per device, and one that was given up. */
	slow.dying[slow.deaths++] = v;
	pthread_cond_signal(&slow.work);
	pthread_mutex_unlock(&slow.lock);
}

/* ---- opening --------------------------------------------------------------------------------------- */

#define FAIL(code, ...) do { rc = (code); snprintf(why, why_bytes, __VA_ARGS__); goto fail; } while (0)

static int open_group(struct vfio *v, struct pci_place *p, char *why, size_t why_bytes)
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
		FAIL(-EPERM, "%s shares IOMMU group %u with devices that other drivers have: %s; fix: vgpu-agent --bind (or unbind) each of them", p->address, p->group, others);
	}
	if (ioctl(v->group, VFIO_GROUP_SET_CONTAINER, &v->container) < 0)
		FAIL(-errno, "%s cannot join a container: %s", path, strerror(errno));
	if (ioctl(v->container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU) < 0)
		FAIL(-errno, "%s: the IOMMU cannot be used: %s%s", p->address, strerror(errno), errno == EPERM ?
		     "; interrupt remapping is off (in a VM: -device intel-iommu,intremap=on)" : "");
	return 0;
fail:
	return rc;
}

static int group_irq_set(struct vfio *v, unsigned index, unsigned start, unsigned count, const int *fds)
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
	if (fd >= 0 && group_irq_set(v, index, 0, 1, &fd) == 0 && epoll_ctl(v->events, EPOLL_CTL_ADD, fd, &e) == 0)
		return fd;
	close_fd(fd);
	return -1;
}

static int open_device(struct vfio *v, char *why, size_t why_bytes)
{
	struct itimerspec every = { { WATCH_S, 0 }, { WATCH_S, 0 } };
	struct epoll_event e = { .events = EPOLLIN };
	struct vfio_device_info info = { .argsz = sizeof(info) };
	int rc;

	v->device = ioctl(v->group, VFIO_GROUP_GET_DEVICE_FD, v->address);
	if (v->device < 0)
		FAIL(-errno, "%s cannot be opened: %s", v->address, strerror(errno));
	if (ioctl(v->device, VFIO_DEVICE_GET_INFO, &info) < 0 || !(info.flags & VFIO_DEVICE_FLAGS_PCI) ||
	    !(info.flags & VFIO_DEVICE_FLAGS_RESET) || info.num_regions <= VFIO_PCI_CONFIG)
		FAIL(-ENODEV, "%s is no PCI function that can be reset", v->address);
	for (unsigned i = 0; i < REGIONS && i < info.num_regions; i++) {
		struct vfio_region_info r = { .argsz = sizeof(r), .index = i };

		if (ioctl(v->device, VFIO_DEVICE_GET_REGION_INFO, &r) == 0) {
			v->offset[i] = r.offset;
			v->bytes[i] = r.size;
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

static int open_now(const char *spec, struct vfio **out, char *why, size_t why_bytes)
{
	struct pci_place p;
	struct vfio *v = calloc(1, sizeof(*v));         /* once per attach */
	int rc;

	if (!v)
		return -ENOMEM;
	v->container = v->group = v->device = v->request = v->error = v->timer = v->events = -1;
	if ((rc = pci_find(spec, &p, why, why_bytes)) < 0 || (rc = pci_check_bound(&p, why, why_bytes)) < 0)
		goto fail;
	strcpy(v->address, p.address);
	if ((rc = open_group(v, &p, why, why_bytes)) < 0 || (rc = open_device(v, why, why_bytes)) < 0)
		goto fail;
	*out = v;
	return 0;
fail:
	close_now(v);
	return rc;
}

/* ---- use ------------------------------------------------------------------------------------------- */

static int group_region_info(struct vfio *v, unsigned region, uint64_t *bytes)
{
	if (region >= REGIONS)
		return -EINVAL;
	*bytes = v->bytes[region];
	return 0;
}

static int inside(const struct vfio *v, unsigned region, uint64_t offset, unsigned bytes)
{
	return region < REGIONS && bytes <= v->bytes[region] && offset <= v->bytes[region] - bytes;
}

static int group_region_read(struct vfio *v, unsigned region, uint64_t offset, void *to, unsigned bytes)
{
	static const uint32_t ones = ~0u;

	if (!inside(v, region, offset, bytes))
		return -EINVAL;
	if (pread(v->device, to, bytes, (off_t)(v->offset[region] + offset)) != (ssize_t)bytes)
		return -EIO;
	/* What a bus answers for a function that is gone; none of our registers can hold it. */
	return bytes == 4 && !memcmp(to, &ones, 4) ? -EPIPE : 0;
}

static int group_region_write(struct vfio *v, unsigned region, uint64_t offset, const void *from, unsigned bytes)
{
	if (!inside(v, region, offset, bytes))
		return -EINVAL;
	if (pwrite(v->device, from, bytes, (off_t)(v->offset[region] + offset)) != (ssize_t)bytes)
		return -EIO;
	return 0;
}

static int group_region_map(struct vfio *v, unsigned region, uint64_t offset, uint64_t bytes, void **va)
{
	(void)v, (void)region, (void)offset, (void)bytes, (void)va;
	return -ENOTSUP;        /* see the top */
}

/* The kernel pins the pages; the mapping is needed only while it looks them up. */
static int group_dma_map(struct vfio *v, iova_t iova, uint64_t bytes, int fd, uint64_t offset, void *va)
{
	struct vfio_iommu_type1_dma_map m = { .argsz = sizeof(m), .flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
					      .iova = iova.v, .size = bytes };
	void *p = va ? va : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	int rc = 0;

	if (p == MAP_FAILED)
		return -errno;
	m.vaddr = (uintptr_t)p;
	if (ioctl(v->container, VFIO_IOMMU_MAP_DMA, &m) < 0)
		rc = -errno;
	if (!va)
		munmap(p, bytes);
	if (rc == -ENOMEM && !v->said_memlock) {
		v->said_memlock = 1;
		log_warn("%s: the kernel may not pin %llu KiB more; fix: raise the locked memory limit (ulimit -l unlimited)", v->address,
			 (unsigned long long)bytes / 1024);
	}
	return rc;
}

static int group_dma_unmap(struct vfio *v, iova_t iova, uint64_t bytes)
{
	struct vfio_iommu_type1_dma_unmap m = { .argsz = sizeof(m), .iova = iova.v, .size = bytes };

	return ioctl(v->container, VFIO_IOMMU_UNMAP_DMA, &m) < 0 ? -errno : 0;
}

/* A write to an eventfd that the kernel turns into a register write saves nothing over ring(). */
static int group_doorbell_fds(struct vfio *v, uint64_t base, unsigned count, int *fds)
{
	(void)v, (void)base;
	for (unsigned i = 0; i < count; i++)
		fds[i] = -1;
	return -ENOTSUP;
}

static void group_ring(struct vfio *v, uint64_t offset, uint32_t value)
{
	/* A device that does not take it is found by the watch. */
	if (pwrite(v->device, &value, 4, (off_t)(v->offset[VFIO_PCI_BAR0] + offset)) != 4)
		return;
}

static int group_reset(struct vfio *v)
{
	uint32_t id = ~0u;

	/* Of a dead function the kernel would wait a minute for the end of the reset. */
	if (pread(v->device, &id, 4, (off_t)v->offset[VFIO_PCI_CONFIG]) != 4 || (id & 0xffff) == 0xffff)
		return -EPIPE;
	return ioctl(v->device, VFIO_DEVICE_RESET) < 0 ? -errno : 0;
}

static int group_poll_fd(struct vfio *v)
{
	return v->events;
}

static int rang(int fd)
{
	uint64_t n;

	return fd >= 0 && read(fd, &n, sizeof(n)) == sizeof(n);
}

static int group_event(struct vfio *v)
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

static const char *group_address(struct vfio *v)
{
	return v->address;
}

const struct vfio_ops vfio_group_ops = {
	.prefix = "",
	.name = "vfio-group",
	.needs_va = 1,
	.open = group_open,
	.region_info = group_region_info,
	.region_read = group_region_read,
	.region_write = group_region_write,
	.region_map = group_region_map,
	.irq_set = group_irq_set,
	.dma_map = group_dma_map,
	.dma_unmap = group_dma_unmap,
	.doorbell_fds = group_doorbell_fds,
	.ring = group_ring,
	.reset = group_reset,
	.poll_fd = group_poll_fd,
	.event = group_event,
	.close = group_close,
	.address = group_address,
};
