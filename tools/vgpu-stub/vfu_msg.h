/* SPDX-License-Identifier: MIT */
/*
 * vfio-user messages: layout and the parser, without sockets or state (the fuzzer drives it alone).
 *
 * Numbers and layouts are those of QEMU's docs/interop/vfio-user ("Protocol Specification"); the structs that the
 * protocol borrows from VFIO are written out here, since their wire form must not follow a header.
 * All little endian, as the host is.
 */
#ifndef VGPU_STUB_VFU_MSG_H
#define VGPU_STUB_VFU_MSG_H

#include <stddef.h>
#include <stdint.h>

#define VFU_MAX_FDS 16u                 /* in one request; QEMU refuses a server that takes more */
#define VFU_MAX_DATA 65536u             /* max_data_xfer_size */
#define VFU_MAX_MESSAGE (16u + 16u + VFU_MAX_DATA)
#define VFU_REPLY_FDS 253u              /* SCM_MAX_FD */

enum vfu_command {
	VFU_VERSION = 1,
	VFU_DMA_MAP,
	VFU_DMA_UNMAP,
	VFU_GET_INFO,
	VFU_GET_REGION_INFO,
	VFU_GET_REGION_IO_FDS,
	VFU_GET_IRQ_INFO,
	VFU_SET_IRQS,
	VFU_REGION_READ,
	VFU_REGION_WRITE,
	VFU_DMA_READ,
	VFU_DMA_WRITE,
	VFU_DEVICE_RESET,
};

#define VFU_FLAG_TYPE 0xfu              /* 0 command, 1 reply */
#define VFU_FLAG_REPLY 0x1u
#define VFU_FLAG_NO_REPLY 0x10u
#define VFU_FLAG_ERROR 0x20u

struct vfu_header {
	uint16_t id, command;
	uint32_t bytes;                 /* of the whole message */
	uint32_t flags;
	uint32_t error;                 /* errno, in a reply with VFU_FLAG_ERROR */
};
_Static_assert(sizeof(struct vfu_header) == 16, "wire layout");

struct vfu_version {
	uint16_t major, minor;          /* JSON text with its NUL may follow */
};
struct vfu_dma_map {
	uint32_t argsz, flags;
	uint64_t offset, iova, bytes;
};
struct vfu_dma_unmap {
	uint32_t argsz, flags;          /* VFU_UNMAP_ALL: as VFIO_DMA_UNMAP_FLAG_ALL */
	uint64_t iova, bytes;
};
#define VFU_UNMAP_ALL 2u
struct vfu_device_info {
	uint32_t argsz, flags, regions, irqs;
};
struct vfu_region_info {
	uint32_t argsz, flags, index, cap_offset;
	uint64_t bytes, offset;
};
struct vfu_region_io_fds {
	uint32_t argsz, flags, index, count;
};
struct vfu_io_fd {
	uint64_t offset, bytes;
	uint32_t fd_index, type, flags, pad;
	uint64_t datamatch;
};
struct vfu_irq_info {
	uint32_t argsz, flags, index, count;
};
struct vfu_irq_set {
	uint32_t argsz, flags, index, start, count;     /* DATA_BOOL: count bytes follow */
};
struct vfu_region_access {
	uint64_t offset;
	uint32_t region, count;         /* data follows */
};
struct vfu_dma_access {                 /* DMA_READ, DMA_WRITE: the server asks */
	uint64_t iova, count;           /* data follows; see dma_msg.c for where */
};
_Static_assert(sizeof(struct vfu_dma_map) == 32 && sizeof(struct vfu_dma_unmap) == 24 &&
	       sizeof(struct vfu_region_info) == 32 && sizeof(struct vfu_io_fd) == 40 &&
	       sizeof(struct vfu_irq_set) == 20 && sizeof(struct vfu_region_access) == 16 &&
	       sizeof(struct vfu_dma_access) == 16, "wire layout");

struct vfu_request {
	struct vfu_header h;
	union {
		struct vfu_version version;
		struct vfu_dma_map dma_map;
		struct vfu_dma_unmap dma_unmap;
		struct vfu_device_info info;
		struct vfu_region_info region_info;
		struct vfu_region_io_fds io_fds;
		struct vfu_irq_info irq_info;
		struct vfu_irq_set irq_set;
		struct vfu_region_access access;
	} u;
	const uint8_t *data;            /* what follows the fixed part, inside the caller's bytes */
	uint32_t data_bytes;
	uint32_t peer_max_fds;          /* VERSION: what the peer's JSON says, default 1 */
};

/*
 * A header as it comes from the stream. 0, or -EPROTO: the stream cannot be followed any more.
 * After 0, h->bytes is in [16, VFU_MAX_MESSAGE].
 */
int vfu_check_header(const struct vfu_header *h);

/*
 * A whole message. 0; -EINVAL: malformed, answer with that error; -ENOTSUP: a command we do not serve.
 * r->data points into msg.
 */
int vfu_parse(const uint8_t *msg, size_t bytes, struct vfu_request *r);

const char *vfu_command_name(unsigned command);

#endif
