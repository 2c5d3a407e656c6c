/* SPDX-License-Identifier: MIT */
/*
 * Interrupts: an MSI-X vector is an eventfd that the owner gave with SET_IRQS (VFIO uapi,
 * struct vfio_irq_set). Contexts write theirs directly; the parent only those of the admin queue.
 *
 * A vector without an eventfd: its context writes a spare one instead, which shows as pending bit. When a
 * vector changes, its context is told and sends RAISE from then on (no fd enters its sandbox); after its ACK the
 * vector is raised once, for whatever went into the old eventfd. Masks in the MSI-X table are not looked at: whoever owns the eventfds (kernel
 * VFIO, QEMU) does the masking.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/vfio.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "stub.h"

int irq_init(struct device *d)
{
	for (uint32_t i = 0; i < STUB_VECTORS; i++)
		d->vector[i] = -1;
	d->err_fd = d->req_fd = -1;
	for (uint32_t q = 0; q <= STUB_QUEUES; q++) {
		d->spare[q] = -1;
		d->doorbell[q] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (d->doorbell[q] < 0)
			return -errno;
	}
	return 0;
}

int irq_count(uint32_t index)
{
	switch (index) {
	case VFIO_PCI_MSIX_IRQ_INDEX:
		return (int)STUB_VECTORS;
	case VFIO_PCI_ERR_IRQ_INDEX:
	case VFIO_PCI_REQ_IRQ_INDEX:
		return 1;
	case VFIO_PCI_INTX_IRQ_INDEX:
	case VFIO_PCI_MSI_IRQ_INDEX:
		return 0;
	}
	return -EINVAL;
}

/* Writing to any other kind of file could block us or do the owner a service it should not get. */
static int is_eventfd(int fd)
{
	char path[64], link[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, link, sizeof(link) - 1);
	if (n < 0)
		return 0;
	link[n] = 0;
	return !strcmp(link, "anon_inode:[eventfd]");
}

static int *slot(struct device *d, uint32_t index, uint32_t i)
{
	if (index == VFIO_PCI_MSIX_IRQ_INDEX)
		return &d->vector[i];
	return index == VFIO_PCI_ERR_IRQ_INDEX ? &d->err_fd : &d->req_fd;
}

static void assign(struct device *d, uint32_t index, uint32_t i, int fd)
{
	int *s = slot(d, index, i);

	if (*s < 0 && fd < 0)
		return;
	if (*s >= 0)
		close(*s);
	*s = fd;
	if (index != VFIO_PCI_MSIX_IRQ_INDEX)
		return;
	if (fd >= 0 && (d->msix[STUB_PBA_OFFSET + i / 8] & (1u << i % 8))) {
		d->msix[STUB_PBA_OFFSET + i / 8] &= (uint8_t)~(1u << i % 8);
		irq_raise(d, i);
	}
	if (i >= 1 && i <= STUB_QUEUES)
		ctxproc_vector_changed(d, i - 1);
}

int irq_set(struct device *d, uint32_t index, uint32_t flags, uint32_t start, uint32_t count,
	    const uint8_t *bools, uint32_t nbools, int *fds, uint32_t nfds)
{
	uint32_t data = flags & VFIO_IRQ_SET_DATA_TYPE_MASK;
	uint32_t action = flags & VFIO_IRQ_SET_ACTION_TYPE_MASK;
	int all = irq_count(index);

	if (all < 0 || flags & ~(VFIO_IRQ_SET_DATA_TYPE_MASK | VFIO_IRQ_SET_ACTION_TYPE_MASK))
		return -EINVAL;
	if (start > (uint32_t)all || count > (uint32_t)all - start)
		return -EINVAL;
	if (action == VFIO_IRQ_SET_ACTION_MASK || action == VFIO_IRQ_SET_ACTION_UNMASK)
		return -ENOTTY;         /* as the kernel answers for MSI-X */
	if (action != VFIO_IRQ_SET_ACTION_TRIGGER)
		return -EINVAL;
	switch (data) {
	case VFIO_IRQ_SET_DATA_NONE:
		if (nfds)
			return -EINVAL;
		if (!count) {
			for (uint32_t i = 0; i < (uint32_t)all; i++)
				assign(d, index, i, -1);
			return 0;
		}
		if (index == VFIO_PCI_MSIX_IRQ_INDEX)
			for (uint32_t i = 0; i < count; i++)
				irq_raise(d, start + i);
		return 0;
	case VFIO_IRQ_SET_DATA_BOOL:
		if (nfds || nbools < count)
			return -EINVAL;
		if (index == VFIO_PCI_MSIX_IRQ_INDEX)
			for (uint32_t i = 0; i < count; i++)
				if (bools[i])
					irq_raise(d, start + i);
		return 0;
	case VFIO_IRQ_SET_DATA_EVENTFD:
		if (nfds && nfds != count)
			return -EINVAL;
		for (uint32_t i = 0; i < nfds; i++)
			if (!is_eventfd(fds[i]))
				return -EINVAL;
		for (uint32_t i = 0; i < count; i++) {
			assign(d, index, start + i, nfds ? fds[i] : -1);
			if (nfds)
				fds[i] = -1;    /* taken */
		}
		return 0;
	}
	return -EINVAL;
}

void irq_release(struct device *d)
{
	for (uint32_t i = 0; i < STUB_VECTORS; i++)
		assign(d, VFIO_PCI_MSIX_IRQ_INDEX, i, -1);
	assign(d, VFIO_PCI_ERR_IRQ_INDEX, 0, -1);
	assign(d, VFIO_PCI_REQ_IRQ_INDEX, 0, -1);
}

void irq_raise(struct device *d, uint32_t vector)
{
	int fd = d->vector[vector];

	if (fd < 0) {
		d->msix[STUB_PBA_OFFSET + vector / 8] |= (uint8_t)(1u << vector % 8);
		return;
	}
	if (vector == 0)
		d->irqs_admin++;
	bell_ring(fd);
}

/* O_NONBLOCK belongs to the open file, which is the owner's as well: that this read does not wait is said with it. */
void bell_drain(int fd)
{
	uint64_t n;
	struct iovec v = { &n, sizeof(n) };

	while (preadv2(fd, &v, 1, -1, RWF_NOWAIT) == sizeof(n))
		;
}

/* A counter filled to the brim would block us; it is rung anyway then. */
void bell_ring(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	uint64_t one = 1;

	if (poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) && write(fd, &one, sizeof(one)) < 0)
		log_verbose("eventfd %d: %s", fd, strerror(errno));
}

int irq_context_fd(struct device *d, uint32_t qid)
{
	int *spare = &d->spare[1 + qid];

	if (d->vector[1 + qid] >= 0)
		return d->vector[1 + qid];
	if (*spare < 0)
		*spare = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return *spare;
}

static void collect_pending(struct device *d)
{
	uint64_t n;

	for (uint32_t q = 1; q <= STUB_QUEUES; q++)
		if (d->spare[q] >= 0 && d->vector[q] < 0 && read(d->spare[q], &n, 8) == 8)
			d->msix[STUB_PBA_OFFSET + q / 8] |= (uint8_t)(1u << q % 8);
}

int msix_read(struct device *d, uint64_t offset, void *buf, uint32_t bytes)
{
	if (offset > STUB_MSIX_BYTES || bytes > STUB_MSIX_BYTES - offset)
		return -EINVAL;
	collect_pending(d);
	memcpy(buf, d->msix + offset, bytes);
	return 0;
}

int msix_write(struct device *d, uint64_t offset, const void *buf, uint32_t bytes)
{
	if (offset > STUB_MSIX_BYTES || bytes > STUB_MSIX_BYTES - offset)
		return -EINVAL;
	if (offset >= STUB_PBA_OFFSET)
		return 0;               /* pending bits are read-only */
	if (bytes > STUB_PBA_OFFSET - offset)
		bytes = (uint32_t)(STUB_PBA_OFFSET - offset);
	memcpy(d->msix + offset, buf, bytes);
	return 0;
}
