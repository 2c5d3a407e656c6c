/* SPDX-License-Identifier: MIT */
/*
 * Brings a device up in the order of vgpu_device.h: find it on the bus, let it master the bus, reset
 * it, check what it is, give it interrupts and an admin queue, enable, identify. See device.h.
 *
 * All of that takes the device's time, so its own thread does it (errand.h), and touches nothing that others read while the device
 * is not ready. device_ready() is the control thread's part: from there on the device is there.
 */
#include "device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "control.h"

#define RDY_MS 5000
#define DOORBELL_PAGE (VGPU_BAR0_BYTES - VGPU_DOORBELL(0))

static int reg_read(struct device *d, uint32_t reg, uint32_t *value)
{
	return d->ops->region_read(d->v, VFIO_PCI_BAR0, reg, value, 4);
}

static int reg_write(struct device *d, uint32_t reg, uint32_t value)
{
	return d->ops->region_write(d->v, VFIO_PCI_BAR0, reg, &value, 4);
}

static int reg_write64(struct device *d, uint32_t reg, uint64_t value)
{
	int rc = reg_write(d, reg, (uint32_t)value);

	return rc < 0 ? rc : reg_write(d, reg + 4, (uint32_t)(value >> 32));
}

#define FAIL(code, ...) do { rc = (code); snprintf(why, why_bytes, __VA_ARGS__); goto fail; } while (0)

/* PCI Local Bus 3.0 §6.1: vendor and device at 0, command at 4 (bit 1 memory, bit 2 bus master). */
static int check_pci(struct device *d, char *why, size_t why_bytes)
{
	uint32_t id;
	uint16_t command;
	uint64_t bar0;
	int rc;

	if ((rc = d->ops->region_read(d->v, VFIO_PCI_CONFIG, 0, &id, 4)) < 0 ||
	    (rc = d->ops->region_read(d->v, VFIO_PCI_CONFIG, 4, &command, 2)) < 0 ||
	    (rc = d->ops->region_info(d->v, VFIO_PCI_BAR0, &bar0)) < 0)
		FAIL(rc, "%s: its configuration space cannot be read: %s", d->spec, strerror(-rc));
	if (bar0 < VGPU_BAR0_BYTES)
		FAIL(-ENODEV, "%s: PCI function %04x:%04x has no vgpu registers (BAR0 of %llu bytes)", d->spec, id & 0xffff,
		     id >> 16, (unsigned long long)bar0);
	command |= 0x6;
	if ((rc = d->ops->region_write(d->v, VFIO_PCI_CONFIG, 4, &command, 2)) < 0)
		FAIL(rc, "%s: bus mastering cannot be enabled: %s", d->spec, strerror(-rc));
	return 0;
fail:
	return rc;
}

static int check_registers(struct device *d, char *why, size_t why_bytes)
{
	uint32_t magic = 0, version = 0, oldest = 0, cap = 0, features = 0;
	int rc;

	if ((rc = reg_read(d, VGPU_REG_MAGIC, &magic)) < 0 || (rc = reg_read(d, VGPU_REG_VERSION, &version)) < 0 ||
	    (rc = reg_read(d, VGPU_REG_OLDEST, &oldest)) < 0 ||
	    (rc = reg_read(d, VGPU_REG_CAP, &cap)) < 0 || (rc = reg_read(d, VGPU_REG_CAP + 4, &features)) < 0)
		FAIL(rc, "%s: registers cannot be read: %s", d->spec, strerror(-rc));
	if (magic != VGPU_DEV_MAGIC)
		FAIL(-ENODEV, "%s: not a vgpu device (magic %#x)", d->spec, magic);
	if (version < VGPU_PROTOCOL_OLDEST)
		FAIL(-EPROTO, "%s: the device is older than this vgpu-agent %s: it speaks protocol %u, this agent %s; fix: upgrade vgpu-stub",
		     d->spec, VGPU_VERSION, version, VGPU_PROTOCOLS);
	/* whether a newer one still speaks ours is its own word */
	if (version > VGPU_PROTOCOL_VERSION && (!oldest || oldest > VGPU_PROTOCOL_VERSION))
		FAIL(-EPROTO, "%s: this vgpu-agent %s is older than the device: that speaks protocols %u to %u, this agent %s; fix: upgrade vgpu-agent",
		     d->spec, VGPU_VERSION, oldest ? oldest : version, version, VGPU_PROTOCOLS);
	/* A device that cannot be told how its clients fence must fence itself. */
	d->found.asym = d->found.asym && features & VGPU_CAP_CLIENT_FENCE;
	d->found.features = features;
	d->found.queues = VGPU_CAP_QUEUES(cap);
	if (d->found.queues > VGPU_MAX_QUEUES)
		d->found.queues = VGPU_MAX_QUEUES;
	if (!d->found.queues || VGPU_CAP_ADMIN_SLOTS(cap) != VGPU_ADMIN_SLOTS)
		FAIL(-EPROTO, "%s: device offers %u queues and %u admin slots", d->spec, d->found.queues, VGPU_CAP_ADMIN_SLOTS(cap));
	return 0;
fail:
	return rc;
}

static int set_interrupts(struct device *d, char *why, size_t why_bytes)
{
	void *page;
	int rc;

	for (unsigned i = 0; i <= d->found.queues; i++) {
		d->irq_fd[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (d->irq_fd[i] < 0)
			FAIL(-errno, "%s: no eventfd for interrupt %u: %s; fix: raise the open files limit (ulimit -n)", d->spec, i,
			     strerror(errno));
	}
	if ((rc = d->ops->irq_set(d->v, VFIO_PCI_MSIX, 0, d->found.queues + 1, d->irq_fd)) < 0)
		FAIL(rc, "%s: MSI-X cannot be set up: %s", d->spec, strerror(-rc));
	/* The cheapest way that there is: an eventfd where the device is a process, else a store, else a call of the transport. */
	if (d->ops->doorbell_fds(d->v, VGPU_DOORBELL(0), d->found.queues + 1, d->doorbell_fd) == 0)
		return 0;
	rc = d->ops->region_map(d->v, VFIO_PCI_BAR0, VGPU_DOORBELL(0), DOORBELL_PAGE, &page);
	if (rc == 0)
		d->doorbells = page;
	log_debug("%s: doorbells: %s%s", d->spec, rc ? "through registers, their page cannot be mapped: " : "their page is mapped",
		  rc ? strerror(-rc) : "");
	return 0;
fail:
	return rc;
}

static int enable(struct device *d, char *why, size_t why_bytes)
{
	uint32_t csts = 0, cc = VGPU_CC_EN | (d->found.asym ? VGPU_CC_ASYM_FENCE : 0);
	uint64_t bytes, deadline = now_ns() + RDY_MS * 1000000ull;
	int rc;

	rc = agent.opt.unsafe_noiommu ? pool_alloc(&d->admin_mem, ADMIN_BYTES, "vgpu-admin") :
	     pool_alloc_small(&d->admin_mem, ADMIN_BYTES, "vgpu-admin");
	if (rc < 0 || !(d->admin_va = pool_map(&d->admin_mem, NULL)))
		FAIL(-ENOMEM, "no memory for the admin queue");
	admin_start(d);
	if ((rc = d->ops->dma_map(d->v, (iova_t){ POOL_IOVA_ADMIN }, ADMIN_BYTES, d->admin_mem.fd, 0, d->admin_va)) < 0)
		FAIL(rc, "%s: memory cannot be mapped for the device: %s", d->spec, strerror(-rc));
	if ((rc = reg_write64(d, VGPU_REG_ASQ, device_bus(d, POOL_IOVA_ADMIN + ADMIN_ASQ, &bytes))) < 0 ||
	    (rc = reg_write64(d, VGPU_REG_ACQ, device_bus(d, POOL_IOVA_ADMIN + ADMIN_ACQ, &bytes))) < 0 ||
	    (rc = reg_write(d, VGPU_REG_CC, cc)) < 0)
		FAIL(rc, "%s: registers cannot be written: %s", d->spec, strerror(-rc));
	for (;;) {
		struct timespec pause = { 0, 1000000 };

		if ((rc = reg_read(d, VGPU_REG_CSTS, &csts)) < 0)
			FAIL(rc, "%s: registers cannot be read: %s", d->spec, strerror(-rc));
		if (csts & VGPU_CSTS_RDY)
			return 0;
		if ((csts & VGPU_CSTS_FATAL) || now_ns() > deadline)
			FAIL(-EIO, "%s: the device does not become ready (CSTS %#x); its own log says why", d->spec, csts);
		nanosleep(&pause, NULL);
	}
fail:
	return rc;
}

/*
 * A bus that the machine does not have, from e0 on: whoever looks the address up in sysfs finds nothing, and not somebody else's
 * device. Chosen once, before the sandbox closes; a device that comes back keeps it.
 */
static const char *free_place(struct device *d)
{
	char path[64];

	for (unsigned bus = 0xe0 + d->index; !d->place[0] && bus < 0x100; bus += VGPU_MAX_DEVICES) {
		snprintf(path, sizeof(path), "/sys/class/pci_bus/0000:%02x", bus);
		if (access(path, F_OK) < 0 || bus + VGPU_MAX_DEVICES >= 0x100)
			snprintf(d->place, sizeof(d->place), "0000:%02x:00.0", bus);
	}
	return d->place;
}

static int identify(struct device *d, char *why, size_t why_bytes)
{
	struct vgpu_device_info *info = &d->found.info;
	uint64_t bytes;
	struct vgpu_admin_cmd cmd = { .op = VGPU_ADMIN_IDENTIFY, .a = device_bus(d, POOL_IOVA_ADMIN + ADMIN_INFO, &bytes) };
	int rc = admin_call(d, &cmd);

	if (rc != VGPU_ST_OK)
		FAIL(rc < 0 ? rc : -EIO, "%s: IDENTIFY failed: %s", d->spec, rc < 0 ? strerror(-rc) : vgpu_status_text((unsigned)rc));
	memcpy(info, d->admin_va + ADMIN_INFO, sizeof(*info));
	info->name[sizeof(info->name) - 1] = 0;
	info->engine[sizeof(info->engine) - 1] = 0;
	if (d->ops->address)
		snprintf(info->bus_id, sizeof(info->bus_id), "%s", d->ops->address(d->v));
	info->bus_id[sizeof(info->bus_id) - 1] = 0;
	if (!info->max_contexts || info->max_contexts > d->found.queues)
		info->max_contexts = d->found.queues;
	return 0;
fail:
	return rc;
}

int device_bring_up(struct device *d, char *why, size_t why_bytes)
{
	int rc;

	why[0] = 0;
	for (unsigned i = 0; i <= VGPU_MAX_QUEUES; i++)
		d->irq_fd[i] = d->doorbell_fd[i] = -1;
	d->admin_mem.fd = -1;
	vgpu_store_relaxed32(&d->doorbells_gone, 0);
	d->found.asym = agent.asym && d->ops->same_kernel;
	rc = d->ops->open(d->spec + strlen(d->ops->prefix), &d->v, why, why_bytes);
	if (rc < 0) {
		d->v = NULL;
		return rc;
	}
	rc = d->ops->reset(d->v);
	if (rc < 0) {
		snprintf(why, why_bytes, "%s: reset failed: %s", d->spec, strerror(-rc));
		goto fail;
	}
	if ((rc = check_pci(d, why, why_bytes)) < 0 || (rc = check_registers(d, why, why_bytes)) < 0 ||
	    (rc = set_interrupts(d, why, why_bytes)) < 0 || (rc = enable(d, why, why_bytes)) < 0 ||
	    (rc = identify(d, why, why_bytes)) < 0)
		goto fail;
	return 0;
fail:
	device_take_down(d, 0);
	return rc;
}

int device_ready(struct device *d, char *why, size_t why_bytes)
{
	struct vgpu_device_info *info = &d->found.info;

	for (unsigned i = 0; i < agent.opt.devices; i++)
		if (i != d->index && agent.dev[i].info.memory_bytes && !memcmp(agent.dev[i].info.uuid, info->uuid, sizeof(info->uuid))) {
			snprintf(why, why_bytes, "%s: it has the UUID of device %u (%s), and programs choose devices by it: start one of them with "
				 "another vgpu-stub --uuid", d->spec, i, agent.dev[i].spec);
			return -EEXIST;
		}
	/* A vfio-user device sits on no bus of ours: it gets a place that no device of this machine has. */
	if (!info->bus_id[0])
		snprintf(info->bus_id, sizeof(info->bus_id), "%s", free_place(d));
	d->info = *info;
	d->queues = d->found.queues;
	d->features = d->found.features;
	d->asym = d->found.asym;
	d->ready = 1;
	d->trouble = NULL;
	control_watch(CONTROL_IRQ, d->index, 0, d->irq_fd[0], EPOLLIN);
	admin_turn(d);
	page_device(d);
	return 0;
}

void device_not_ready(struct device *d)
{
	if (d->ready)
		control_unwatch(d->irq_fd[0]);
	d->ready = 0;
	page_device(d);
}

void device_take_down(struct device *d, int answers)
{
	if (answers && d->v)
		reg_write(d, VGPU_REG_CC, 0);   /* best effort: close() below makes the device reset itself */
	/* Before close(): what is mapped of a function keeps it open, for its next owner and for an unplug. */
	if (d->doorbells)
		munmap((void *)(uintptr_t)d->doorbells, DOORBELL_PAGE);
	d->doorbells = NULL;
	if (d->v) {
		d->ops->close(d->v);
		d->v = NULL;
	}
	for (unsigned i = 0; i <= VGPU_MAX_QUEUES; i++) {
		if (d->irq_fd[i] >= 0)
			close(d->irq_fd[i]);
		if (d->doorbell_fd[i] >= 0)
			close(d->doorbell_fd[i]);
		d->irq_fd[i] = d->doorbell_fd[i] = -1;
	}
	pool_unmap(&d->admin_mem, d->admin_va);
	d->admin_va = NULL;
	pool_free(&d->admin_mem);
}

const char *device_trouble(struct device *d)
{
	uint32_t csts = 0;

	if (reg_read(d, VGPU_REG_CSTS, &csts) < 0)
		return "it does not answer";
	if (csts & VGPU_CSTS_FATAL)
		return "it reports a fatal error";
	return csts & VGPU_CSTS_RDY ? NULL : "somebody else reset it";
}

uint64_t device_bus(struct device *d, uint64_t iova, uint64_t *bytes)
{
	uint64_t bus = iova;

	*bytes = ~0ull;
	if (d->ops->bus_address && d->ops->bus_address(d->v, (iova_t){ iova }, &bus, bytes) < 0)
		return *bytes = 0;
	return bus;
}

int device_free_queue(const struct device *d)
{
	for (unsigned q = 0; q < d->info.max_contexts; q++)
		if (!d->owner[q])
			return (int)q;
	return -1;
}
