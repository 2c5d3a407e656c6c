/* SPDX-License-Identifier: MIT */
/* Parser of vfio-user requests; see vfu_msg.h. Pure: bytes in, struct or error out. */
#include "vfu_msg.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *name;
	uint16_t fixed;         /* bytes of the fixed part */
	uint8_t tail;           /* 1: bytes may follow it */
} commands[] = {
	[VFU_VERSION]           = { "VERSION", sizeof(struct vfu_version), 1 },
	[VFU_DMA_MAP]           = { "DMA_MAP", sizeof(struct vfu_dma_map), 0 },
	[VFU_DMA_UNMAP]         = { "DMA_UNMAP", sizeof(struct vfu_dma_unmap), 0 },
	[VFU_GET_INFO]          = { "DEVICE_GET_INFO", sizeof(struct vfu_device_info), 0 },
	[VFU_GET_REGION_INFO]   = { "DEVICE_GET_REGION_INFO", sizeof(struct vfu_region_info), 0 },
	[VFU_GET_REGION_IO_FDS] = { "DEVICE_GET_REGION_IO_FDS", sizeof(struct vfu_region_io_fds), 0 },
	[VFU_GET_IRQ_INFO]      = { "DEVICE_GET_IRQ_INFO", sizeof(struct vfu_irq_info), 0 },
	[VFU_SET_IRQS]          = { "DEVICE_SET_IRQS", sizeof(struct vfu_irq_set), 1 },
	[VFU_REGION_READ]       = { "REGION_READ", sizeof(struct vfu_region_access), 0 },
	[VFU_REGION_WRITE]      = { "REGION_WRITE", sizeof(struct vfu_region_access), 1 },
	[VFU_DEVICE_RESET]      = { "DEVICE_RESET", 0, 0 },
};

#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

const char *vfu_command_name(unsigned command)
{
	return command < NCOMMANDS && commands[command].name ? commands[command].name : "unknown";
}

int vfu_check_header(const struct vfu_header *h)
{
	if (h->bytes < sizeof(*h) || h->bytes > VFU_MAX_MESSAGE)
		return -EPROTO;
	/* A reply cannot be: we never send commands. */
	if ((h->flags & VFU_FLAG_TYPE) != 0)
		return -EPROTO;
	return 0;
}

/*
 * The number behind "max_msg_fds": in the JSON text, 1 if it is not there. Not a JSON parser: of all the
 * peer can say only this number matters to us, and a wrong one harms the peer alone.
 */
static uint32_t find_max_fds(const char *json)
{
	static const char key[] = "\"max_msg_fds\"";
	const char *p = strstr(json, key);
	uint32_t v = 0;

	if (!p)
		return 1;
	p += sizeof(key) - 1;
	p += strspn(p, " \t\r\n");
	if (*p++ != ':')
		return 1;
	p += strspn(p, " \t\r\n");
	for (; *p >= '0' && *p <= '9' && v < 100000; p++)
		v = v * 10 + (uint32_t)(*p - '0');
	if (!v)
		return 1;
	return v > VFU_REPLY_FDS ? VFU_REPLY_FDS : v;
}

int vfu_parse(const uint8_t *msg, size_t bytes, struct vfu_request *r)
{
	size_t body;

	memset(r, 0, sizeof(*r));
	if (bytes < sizeof(r->h))
		return -EINVAL;
	memcpy(&r->h, msg, sizeof(r->h));
	if (vfu_check_header(&r->h) || r->h.bytes != bytes)
		return -EINVAL;
	if (r->h.command >= NCOMMANDS || !commands[r->h.command].name)
		return -ENOTSUP;
	body = bytes - sizeof(r->h);
	if (body < commands[r->h.command].fixed)
		return -EINVAL;
	memcpy(&r->u, msg + sizeof(r->h), commands[r->h.command].fixed);
	r->data = msg + sizeof(r->h) + commands[r->h.command].fixed;
	r->data_bytes = (uint32_t)(body - commands[r->h.command].fixed);
	if (r->data_bytes && !commands[r->h.command].tail)
		return -EINVAL;

	switch (r->h.command) {
	case VFU_VERSION:
		r->peer_max_fds = 1;
		if (r->data_bytes) {
			/* A C string that ends inside the message, or we do not read it. */
			if (r->data[r->data_bytes - 1])
				return -EINVAL;
			r->peer_max_fds = find_max_fds((const char *)r->data);
		}
		break;
	case VFU_DMA_MAP:
		if (r->u.dma_map.argsz < sizeof(r->u.dma_map))
			return -EINVAL;
		break;
	case VFU_DMA_UNMAP:
		if (r->u.dma_unmap.argsz < sizeof(r->u.dma_unmap) || (r->u.dma_unmap.flags & ~VFU_UNMAP_ALL))
			return -EINVAL;
		break;
	case VFU_GET_INFO:
		if (r->u.info.argsz < sizeof(r->u.info))
			return -EINVAL;
		break;
	case VFU_GET_REGION_INFO:
		if (r->u.region_info.argsz < sizeof(r->u.region_info))
			return -EINVAL;
		break;
	case VFU_GET_REGION_IO_FDS:
		if (r->u.io_fds.argsz < sizeof(r->u.io_fds) || r->u.io_fds.flags || r->u.io_fds.count)
			return -EINVAL;
		break;
	case VFU_GET_IRQ_INFO:
		if (r->u.irq_info.argsz < sizeof(r->u.irq_info))
			return -EINVAL;
		break;
	case VFU_SET_IRQS:
		if (r->u.irq_set.argsz < sizeof(r->u.irq_set))
			return -EINVAL;
		break;
	case VFU_REGION_READ:
		if (r->u.access.count > VFU_MAX_DATA)
			return -EINVAL;
		break;
	case VFU_REGION_WRITE:
		if (r->u.access.count > VFU_MAX_DATA || r->u.access.count != r->data_bytes)
			return -EINVAL;
		break;
	}
	return 0;
}
