/* SPDX-License-Identifier: MIT */
/*
 * What each vfio-user request does. Called by vfu.c with a parsed request, and by the fuzzer.
 *
 * Regions are those of VFIO PCI (VFIO uapi): 0 BAR0, 2 BAR2, 7 configuration space. None can be mapped:
 * registers act when they are written, and doorbells are ioeventfds.
 */
#include <errno.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <string.h>

#include "vfu.h"

#define IO_FD_TYPE_IOEVENTFD 0u

static void put(struct vfu_reply *out, const void *data, size_t bytes)
{
	memcpy(out->data + out->bytes, data, bytes);
	out->bytes += (uint32_t)bytes;
}

static void do_version(struct vfu_session *s, const struct vfu_request *r, struct vfu_reply *out)
{
	struct vfu_version v = { 0, 1 };
	char json[160];
	int n;

	if (s->negotiated) {
		out->error = -EINVAL;
		return;
	}
	if (r->u.version.major != v.major) {
		log_line("the peer speaks vfio-user %u.%u, this device 0.1", r->u.version.major,
			 r->u.version.minor);
		out->error = -EINVAL;
		out->hang_up = 1;
		return;
	}
	if (r->u.version.minor < v.minor)
		v.minor = r->u.version.minor;
	n = snprintf(json, sizeof(json),
		     "{\"capabilities\":{\"max_msg_fds\":%u,\"max_data_xfer_size\":%u,\"write_multiple\":false}}",
		     VFU_MAX_FDS, VFU_MAX_DATA);
	s->negotiated = 1;
	s->peer_max_fds = r->peer_max_fds;
	put(out, &v, sizeof(v));
	put(out, json, (size_t)n + 1);
}

static int do_dma_map(struct device *d, const struct vfu_dma_map *m, int *fds, uint32_t nfds)
{
	int fd = -1;

	if (nfds > 1)
		return -EINVAL;
	/* VFIO knows no finer maps, and contexts map whole pages. */
	if ((m->iova | m->bytes | m->offset) % VGPU_PAGE)
		return -EINVAL;
	/* By message the table is kept all the same, and nothing can be reached through it. */
	if (nfds && !d->config.by_message) {
		fd = fds[0];
		fds[0] = -1;
	}
	return dma_map(&d->dma, m->iova, m->bytes, m->offset, m->flags, fd);
}

static int do_dma_unmap(struct device *d, const struct vfu_dma_unmap *m)
{
	uint64_t last;

	if (m->flags & VFU_UNMAP_ALL) {
		if (m->iova || m->bytes)
			return -EINVAL;
		ctxproc_kill_range(d, 0, 0);    /* 0 - 1: to the end of the space */
		dma_unmap_all(&d->dma);
		return 0;
	}
	if (!m->bytes)
		return 0;
	if (__builtin_add_overflow(m->iova, m->bytes - 1, &last))
		return -EINVAL;
	/* First the contexts, then the table: nothing reaches the memory once we answer. */
	ctxproc_kill_range(d, m->iova, m->bytes);
	return dma_unmap(&d->dma, m->iova, m->bytes);
}

static uint64_t region_bytes(uint32_t index)
{
	switch (index) {
	case VFIO_PCI_BAR0_REGION_INDEX:
		return VGPU_BAR0_BYTES;
	case VFIO_PCI_BAR2_REGION_INDEX:
		return STUB_MSIX_BYTES;
	case VFIO_PCI_CONFIG_REGION_INDEX:
		return STUB_CFG_BYTES;
	}
	return 0;
}

static int do_region_info(const struct vfu_region_info *in, struct vfu_reply *out)
{
	struct vfu_region_info i = { .argsz = sizeof(i), .index = in->index };

	if (in->index >= VFIO_PCI_NUM_REGIONS)
		return -EINVAL;
	i.bytes = region_bytes(in->index);
	if (i.bytes)
		i.flags = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
	i.offset = (uint64_t)in->index << 40;
	put(out, &i, sizeof(i));        /* no capabilities: cap_offset stays 0 */
	return 0;
}

/* One ioeventfd per doorbell; as many as the peer takes in one message, the rest traps. */
static int do_io_fds(struct device *d, struct vfu_session *s, const struct vfu_region_io_fds *in,
		     struct vfu_reply *out)
{
	struct vfu_region_io_fds head = { .index = in->index };
	uint32_t n = 1 + STUB_QUEUES;

	if (in->index >= VFIO_PCI_NUM_REGIONS)
		return -EINVAL;
	if (in->index != VFIO_PCI_BAR0_REGION_INDEX)
		n = 0;
	if (n > s->peer_max_fds)
		n = s->peer_max_fds;
	head.argsz = (uint32_t)(sizeof(head) + n * sizeof(struct vfu_io_fd));
	head.count = n;
	put(out, &head, sizeof(head));
	if (in->argsz < head.argsz)
		return 0;               /* the peer asks again with that size */
	for (uint32_t q = 0; q < n; q++) {
		struct vfu_io_fd e = { .offset = VGPU_DOORBELL(q), .bytes = 4, .fd_index = q,
				       .type = IO_FD_TYPE_IOEVENTFD };

		put(out, &e, sizeof(e));
		out->fds[out->nfds++] = d->doorbell[q];
	}
	return 0;
}

static int do_irq_info(const struct vfu_irq_info *in, struct vfu_reply *out)
{
	struct vfu_irq_info i = { .argsz = sizeof(i), .index = in->index };
	int n = irq_count(in->index);

	if (n < 0)
		return n;
	i.count = (uint32_t)n;
	if (n)
		i.flags = VFIO_IRQ_INFO_EVENTFD;
	put(out, &i, sizeof(i));
	return 0;
}

static int do_access(struct device *d, const struct vfu_request *r, struct vfu_reply *out)
{
	const struct vfu_region_access *a = &r->u.access;
	uint64_t bytes = region_bytes(a->region);
	int write = r->h.command == VFU_REGION_WRITE;

	if (!a->count || a->offset > bytes || a->count > bytes - a->offset)
		return -EINVAL;
	put(out, a, sizeof(*a));
	if (!write) {
		void *to = out->data + out->bytes;

		out->bytes += a->count;
		switch (a->region) {
		case VFIO_PCI_BAR0_REGION_INDEX:
			return regs_read(d, a->offset, to, a->count);
		case VFIO_PCI_BAR2_REGION_INDEX:
			return msix_read(d, a->offset, to, a->count);
		default:
			return pci_read(d, a->offset, to, a->count);
		}
	}
	switch (a->region) {
	case VFIO_PCI_BAR0_REGION_INDEX:
		return regs_write(d, a->offset, r->data, a->count);
	case VFIO_PCI_BAR2_REGION_INDEX:
		return msix_write(d, a->offset, r->data, a->count);
	default:
		return pci_write(d, a->offset, r->data, a->count);
	}
}

void vfu_execute(struct device *d, struct vfu_session *s, const struct vfu_request *r, int *fds,
		 uint32_t nfds, struct vfu_reply *out)
{
	struct vfu_device_info info = { sizeof(info), VFIO_DEVICE_FLAGS_RESET | VFIO_DEVICE_FLAGS_PCI,
					VFIO_PCI_NUM_REGIONS, VFIO_PCI_NUM_IRQS };

	if (r->h.command != VFU_REGION_READ && r->h.command != VFU_REGION_WRITE)
		log_verbose("%s", vfu_command_name(r->h.command));
	if (!s->negotiated && r->h.command != VFU_VERSION) {
		out->error = -EINVAL;
		out->hang_up = 1;
		return;
	}
	if (nfds && r->h.command != VFU_DMA_MAP && r->h.command != VFU_SET_IRQS) {
		out->error = -EINVAL;
		return;
	}
	switch (r->h.command) {
	case VFU_VERSION:
		do_version(s, r, out);
		break;
	case VFU_DMA_MAP:
		out->error = do_dma_map(d, &r->u.dma_map, fds, nfds);
		break;
	case VFU_DMA_UNMAP:
		out->error = do_dma_unmap(d, &r->u.dma_unmap);
		put(out, &r->u.dma_unmap, sizeof(r->u.dma_unmap));
		break;
	case VFU_GET_INFO:
		put(out, &info, sizeof(info));
		break;
	case VFU_GET_REGION_INFO:
		out->error = do_region_info(&r->u.region_info, out);
		break;
	case VFU_GET_REGION_IO_FDS:
		out->error = do_io_fds(d, s, &r->u.io_fds, out);
		break;
	case VFU_GET_IRQ_INFO:
		out->error = do_irq_info(&r->u.irq_info, out);
		break;
	case VFU_SET_IRQS:
		out->error = irq_set(d, r->u.irq_set.index, r->u.irq_set.flags, r->u.irq_set.start,
				     r->u.irq_set.count, r->data, r->data_bytes, fds, nfds);
		break;
	case VFU_REGION_READ:
	case VFU_REGION_WRITE:
		out->error = do_access(d, r, out);
		break;
	case VFU_DEVICE_RESET:
		device_reset(d);
		break;
	default:
		out->error = -ENOTSUP;
	}
}
