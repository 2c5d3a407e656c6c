/* SPDX-License-Identifier: MIT */
/*
 * For test_vfu.c: the admin queue as an agent has it, and the memory of one context.
 */
#ifndef TESTS_VFU_ADMIN_H
#define TESTS_VFU_ADMIN_H

#include <linux/vfio.h>

#include "../../fw-protocol/vgpu_client.h"
#include "../../fw-protocol/vgpu_device.h"
#include "vfu_client.h"

#define CONFIG VFIO_PCI_CONFIG_REGION_INDEX
#define MSIX VFIO_PCI_MSIX_IRQ_INDEX
#define SET_EVENTFD (VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER)
#define SET_NONE (VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER)

#define IOVA_ADMIN 0x100000000ull
#define IOVA_BLOCK 0x200000000ull
#define IOVA_SEG0  0x300000000ull
#define IOVA_MORE  0x400000000ull
#define ADMIN_BYTES 0x4000ull
#define SCRATCH 0x2000ull               /* in the admin area: what IDENTIFY and CTX_CREATE point at */

/* ---- the admin queue, as an agent has it ------------------------------------------------------ */
static uint8_t *admin;                  /* ASQ, ACQ, scratch */
static int admin_fd, block_fd, seg0_fd, more_fd, vectors[3];
static uint64_t admin_index;

static int make_memory(const char *name, uint64_t bytes)
{
	int fd = memfd_create(name, 0);

	CHECK(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
	return fd;
}

/* Publishes one command and rings; its completion is looked for with admin_wait(). */
static uint64_t admin_post(int sock, unsigned op, unsigned q, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t index = admin_index++;
	struct vgpu_admin_cmd *s = (struct vgpu_admin_cmd *)(void *)admin + index % VGPU_ADMIN_SLOTS;
	struct vgpu_admin_cmd cmd = { 0, (uint16_t)op, (uint16_t)q, a, b, c, { 0 } };

	cmd.seq = s->seq;
	*s = cmd;
	__atomic_store_n(&s->seq, (uint32_t)(index + 1), __ATOMIC_RELEASE);
	CHECK(write32(sock, 0, VGPU_DOORBELL(0), 1) == 0);
	return index;
}

/* The status of a completion, -1 if it does not come in time. */
static int admin_wait(uint64_t index, unsigned ms, struct vgpu_reply *r)
{
	struct vgpu_reply *place = (struct vgpu_reply *)(void *)(admin + 0x1000) + index % VGPU_ADMIN_SLOTS;

	for (unsigned t = 0; t <= ms; t += 2) {
		if (__atomic_load_n(&place->seq, __ATOMIC_ACQUIRE) == (uint32_t)(index + 1)) {
			if (r)
				*r = *place;
			return (int)place->status;
		}
		sleep_ms(2);
	}
	return -1;
}

static int admin_do(int sock, unsigned op, unsigned q, uint64_t a, uint64_t b, uint64_t c, struct vgpu_reply *r)
{
	return admin_wait(admin_post(sock, op, q, a, b, c), 8000, r);
}

/* Command register, rings, vectors 0..2, EN. */
static void enable(int sock)
{
	memset(admin, 0, ADMIN_BYTES);
	admin_index = 0;
	CHECK(write32(sock, CONFIG, 4, 6) == 0);
	CHECK(map_dma(sock, IOVA_ADMIN, ADMIN_BYTES, 0, admin_fd) == 0);
	CHECK(write32(sock, 0, VGPU_REG_ASQ, (uint32_t)IOVA_ADMIN) == 0);
	CHECK(write32(sock, 0, VGPU_REG_ASQ + 4, IOVA_ADMIN >> 32) == 0);
	CHECK(write32(sock, 0, VGPU_REG_ACQ, (uint32_t)IOVA_ADMIN + 0x1000) == 0);
	CHECK(write32(sock, 0, VGPU_REG_ACQ + 4, IOVA_ADMIN >> 32) == 0);
	CHECK(set_irqs(sock, MSIX, SET_EVENTFD, 0, 3, vectors, 3) == 0);
	CHECK(write32(sock, 0, VGPU_REG_CC, VGPU_CC_EN) == 0);
	CHECK(read32(sock, 0, VGPU_REG_CSTS) == VGPU_CSTS_RDY);
}

static struct vgpu_ctx_create good_create(void)
{
	return (struct vgpu_ctx_create){
		.queue_iova = IOVA_BLOCK, .seg0_iova = IOVA_SEG0, .span_base = VGPU_SPAN_BASE_DEFAULT,
		.span_bytes = VGPU_SPAN_BYTES, .device_base = VGPU_DEVICE_BASE(VGPU_SPAN_BASE_DEFAULT, 0),
		.memory_limit = 64 << 20, .context = 0, .weight = 100,
	};
}

static int create(int sock, unsigned q, const struct vgpu_ctx_create *c)
{
	memcpy(admin + SCRATCH, c, sizeof(*c));
	return admin_do(sock, VGPU_ADMIN_CTX_CREATE, q, IOVA_ADMIN + SCRATCH, 0, 0, NULL);
}

/* Memory for one context, mapped, and the context. */
static pid_t start_context(int sock, unsigned q)
{
	struct vgpu_ctx_create c = good_create();
	struct vgpu_reply r;

	CHECK(map_dma(sock, IOVA_BLOCK, VGPU_QB_BYTES, 0, block_fd) == 0);
	CHECK(map_dma(sock, IOVA_SEG0, VGPU_SEG0_BYTES, 0, seg0_fd) == 0);
	if (!CHECK(create(sock, q, &c) == VGPU_ST_OK))
		return 0;
	CHECK(admin_do(sock, VGPU_ADMIN_CTX_STAT, q, 0, 0, 0, &r) == VGPU_ST_OK);
	return (pid_t)r.v[2];
}

static int alive(pid_t p)
{
	return p > 0 && kill(p, 0) == 0;
}

#endif
