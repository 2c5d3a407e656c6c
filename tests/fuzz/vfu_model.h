/* SPDX-License-Identifier: MIT */
/*
 * What a vfio-user peer's DMA_MAP, DMA_UNMAP and SET_IRQS must come to, kept account of in the dumbest way that the
 * protocol's text and VFIO's uapi allow: a list of ranges in no order, and a flag a vector. It reads the wire by itself, at
 * offsets. Included by fuzz_vfu.c, which asks it before each message what is to be answered, and compares afterwards.
 */
#ifndef TESTS_FUZZ_VFU_MODEL_H
#define TESTS_FUZZ_VFU_MODEL_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/vgpu-stub/stub.h"

#define MODEL_MAPS 4096u
#define NOT_SAID 1              /* of a message's error: anything will do */

enum model_fd { MODEL_MEMORY, MODEL_EVENTFD };

struct model {
	struct { uint64_t first, last, offset; uint32_t flags; int fd; } map[MODEL_MAPS];
	uint32_t maps;
	uint8_t vector[STUB_VECTORS], err, req;
	uint64_t file_bytes;            /* of the memory that comes with maps */
	int kills;                      /* a range has been killed for, by this message */
	uint64_t kill_iova, kill_bytes;
};

#define NEED(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); abort(); } } while (0)

static uint32_t model_u32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static uint64_t model_u64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return v; }

/* body: {argsz, flags, offset, iova, bytes} */
static int model_map(struct model *m, const uint8_t *body, const enum model_fd *fds, unsigned nfds)
{
	uint64_t offset = model_u64(body + 8), iova = model_u64(body + 16), bytes = model_u64(body + 24), last = iova + (bytes - 1);
	uint32_t flags = model_u32(body + 4);

	if (nfds > 1 || !bytes || iova % 4096 || bytes % 4096 || offset % 4096 || last < iova || offset + bytes < offset || flags > 3)
		return -EINVAL;
	if (m->maps == MODEL_MAPS)
		return NOT_SAID;
	for (uint32_t i = 0; i < m->maps; i++)
		if (m->map[i].first <= last && m->map[i].last >= iova)
			return -EEXIST;
	if (nfds && (fds[0] != MODEL_MEMORY || offset + bytes > m->file_bytes))
		return -EINVAL;
	m->map[m->maps].first = iova;
	m->map[m->maps].last = last;
	m->map[m->maps].offset = offset;
	m->map[m->maps].flags = flags;
	m->map[m->maps++].fd = (int)nfds;
	return 0;
}

/* body: {argsz, flags, iova, bytes}. What is cut in the middle becomes two. */
static int model_unmap(struct model *m, const uint8_t *body)
{
	uint64_t iova = model_u64(body + 8), bytes = model_u64(body + 16), last = iova + (bytes - 1);
	uint32_t n = m->maps;

	if (model_u32(body + 4) & 2) {
		if (iova || bytes)
			return -EINVAL;
		iova = 0;
		last = UINT64_MAX;
	} else if (!bytes) {
		return 0;
	} else if (last < iova) {
		return -EINVAL;
	}
	m->kills = 1;
	m->kill_iova = iova;
	m->kill_bytes = last - iova + 1;
	for (uint32_t i = 0; i < n;) {
		uint64_t first = m->map[i].first, end = m->map[i].last;

		if (first > last || end < iova) {
			i++;
			continue;
		}
		if (end > last) {
			NEED(m->maps < MODEL_MAPS);
			m->map[m->maps] = m->map[i];
			m->map[m->maps].first = last + 1;
			m->map[m->maps++].offset += last + 1 - first;
		}
		if (first < iova) {
			m->map[i++].last = iova - 1;
			continue;
		}
		m->map[i] = m->map[--m->maps];
		if (n > m->maps)
			n = m->maps;
	}
	return 0;
}

/* body: {argsz, flags, index, start, count}, data. VFIO_DEVICE_SET_IRQS of VFIO's uapi. */
static int model_irqs(struct model *m, const uint8_t *body, size_t bytes, const enum model_fd *fds, unsigned nfds)
{
	uint32_t flags = model_u32(body + 4), index = model_u32(body + 8), start = model_u32(body + 12), count = model_u32(body + 16);
	uint32_t all = index == 2 ? STUB_VECTORS : index == 3 || index == 4 ? 1 : 0, type = flags & 7, action = flags & 0x38;
	uint8_t *of = index == 2 ? m->vector : index == 3 ? &m->err : &m->req;

	if (index > 4 || flags > 0x3f || (uint64_t)start + count > all)
		return -EINVAL;
	if (action == 8 || action == 16)
		return -ENOTTY;
	if (action != 32)
		return -EINVAL;
	if (type == 1) {
		if (!nfds && !count)
			memset(of, 0, all);
		return nfds ? -EINVAL : 0;
	}
	if (type == 2)
		return nfds || bytes - 20 < count ? -EINVAL : 0;
	if (type != 4 || (nfds && nfds != count))
		return -EINVAL;
	for (unsigned i = 0; i < nfds; i++)
		if (fds[i] != MODEL_EVENTFD)
			return -EINVAL;
	memset(of + start, nfds != 0, count);
	return 0;
}

/* The error that a message must be answered with; the model is as it is to be after it. */
static int model_message(struct model *m, const uint8_t *msg, size_t bytes, int negotiated, const enum model_fd *fds, unsigned nfds)
{
	uint16_t command;

	m->kills = 0;
	memcpy(&command, msg + 2, 2);
	if (command < VFU_DMA_MAP || command > VFU_DEVICE_RESET)
		return NOT_SAID;
	if (!negotiated || (nfds && command != VFU_DMA_MAP && command != VFU_SET_IRQS))
		return -EINVAL;
	switch (command) {
	case VFU_DMA_MAP: return model_map(m, msg + 16, fds, nfds);
	case VFU_DMA_UNMAP: return model_unmap(m, msg + 16);
	case VFU_SET_IRQS: return model_irqs(m, msg + 16, bytes - 16, fds, nfds);
	}
	return NOT_SAID;
}

/* Is a message of these that no parser may let pass? */
static int model_malformed(const uint8_t *msg, size_t bytes)
{
	uint16_t command;
	size_t want;

	if (bytes < 16)
		return 1;
	memcpy(&command, msg + 2, 2);
	if (command != VFU_DMA_MAP && command != VFU_DMA_UNMAP && command != VFU_SET_IRQS)
		return NOT_SAID + 1;
	want = command == VFU_DMA_MAP ? 32 : command == VFU_DMA_UNMAP ? 24 : 20;
	if (bytes < 16 + want || (command != VFU_SET_IRQS && bytes > 16 + want) || model_u32(msg + 16) < want)
		return 1;
	return command == VFU_DMA_UNMAP && (model_u32(msg + 20) & ~2u);
}

static int model_by_iova(const void *a, const void *b)
{
	uint64_t x = ((const uint64_t *)a)[0], y = ((const uint64_t *)b)[0];

	return x < y ? -1 : x > y;
}

static void model_compare(struct model *m, const struct device *d)
{
	uint32_t files = 0;

	NEED(d->dma.n == m->maps);
	qsort(m->map, m->maps, sizeof(m->map[0]), model_by_iova);
	for (uint32_t i = 0; i < m->maps; i++) {
		const struct dma_map *t = &d->dma.maps[i];

		NEED(t->iova == m->map[i].first && t->bytes - 1 == m->map[i].last - m->map[i].first && t->offset == m->map[i].offset &&
		     t->flags == m->map[i].flags && (t->file != NULL) == m->map[i].fd);
		files += m->map[i].fd != 0;
	}
	NEED(files ? d->dma.files && !d->dma.files->next && d->dma.files->refs == files : !d->dma.files);
	for (uint32_t i = 0; i < STUB_VECTORS; i++)
		NEED((d->vector[i] >= 0) == m->vector[i]);
	NEED((d->err_fd >= 0) == m->err && (d->req_fd >= 0) == m->req);
	/* contexts are there only while the device is on and may reach memory */
	NEED(!d->live || ((d->cc & VGPU_CC_EN) && pci_bus_master(d)));
}

#endif
