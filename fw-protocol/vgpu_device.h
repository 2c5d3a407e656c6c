/* SPDX-License-Identifier: MIT */
/*
 * Contract 2: agent and device (VGPU-STUB). Modelled on NVMe (Base Specification 2.0 §3.1, §3.3).
 *
 * BAR0, 8 KiB, 32-bit accesses (64-bit registers as two, low first):
 *
 *   0x0000  MAGIC    ro  VGPU_DEV_MAGIC
 *   0x0004  VERSION  ro  VGPU_PROTOCOL_VERSION
 *   0x0008  CAP      ro  64 bits, VGPU_CAP_*: queues, admin entries; features in the upper half
 *   0x0010  CC       rw  bit 0 EN; bit 1 ASYM_FENCE (agent and device share a kernel)
 *   0x0014  CSTS     ro  bit 0 RDY; bit 1 FATAL
 *   0x0018  ASQ      rw  IOVA of the admin submission ring (64 slots x 64 bytes)
 *   0x0020  ACQ      rw  IOVA of the admin completions (64 x 64 bytes)
 *   0x0028  RESET    wo  write VGPU_RESET_KEY: as FLR
 *   0x0030  OLDEST   ro  VGPU_PROTOCOL_OLDEST; zero before 0.1.0: VERSION alone
 *   0x1000  doorbell page: one 32-bit word per queue. 0 is the admin queue, 1 + qid a context's.
 *           A doorbell only wakes a reader that said it sleeps; publication is the seq word.
 *
 * The doorbell page traps (or is an ioeventfd, VFIO_USER_DEVICE_GET_REGION_IO_FDS): with the sequence
 * word in the slot nobody needs the doorbell's value, and a plain store into shared memory would
 * wake no sleeper. MSI-X vector 0 is the admin queue, 1 + qid a context's; table and PBA in BAR2.
 *
 * EN 0->1: the device reads ASQ/ACQ, admin indices start at 0, RDY follows. EN 1->0, FLR and RESET:
 * all contexts are killed, DMA stops before RDY clears, doorbells are forgotten.
 */
#ifndef VGPU_DEVICE_H
#define VGPU_DEVICE_H

#include "vgpu_cmd.h"

#define VGPU_PCI_VENDOR 0x1b36u          /* QEMU/Red Hat's range for virtual devices */
#define VGPU_PCI_DEVICE 0x7667u          /* "vg", not assigned to anything known */
#define VGPU_PCI_CLASS  0x030200u        /* 3D controller */

#define VGPU_BAR0_BYTES 0x2000u
#define VGPU_REG_MAGIC   0x0000u
#define VGPU_REG_VERSION 0x0004u
#define VGPU_REG_CAP     0x0008u
#define VGPU_REG_CC      0x0010u
#define VGPU_REG_CSTS    0x0014u
#define VGPU_REG_ASQ     0x0018u
#define VGPU_REG_ACQ     0x0020u
#define VGPU_REG_RESET   0x0028u
#define VGPU_REG_OLDEST  0x0030u
#define VGPU_DOORBELL(q) (0x1000u + 4u * (q))
#define VGPU_DEV_MAGIC   0x55504756u
#define VGPU_RESET_KEY   0x56475055u
#define VGPU_CC_EN 1u
#define VGPU_CC_ASYM_FENCE 2u
#define VGPU_CSTS_RDY 1u
#define VGPU_CSTS_FATAL 2u
#define VGPU_CAP_QUEUES(cap) ((uint32_t)((cap) & 0xffff))         /* contexts at most */
#define VGPU_CAP_ADMIN_SLOTS(cap) ((uint32_t)(((cap) >> 16) & 0xffff))
/* Of the upper half, at VGPU_REG_CAP + 4. */
#define VGPU_CAP_CLIENT_FENCE 1u         /* knows vgpu_ctx_create.flags; without it CC_ASYM_FENCE may not be set */
#define VGPU_CAP_LIMITS 2u               /* SET_LIMIT of KERNEL_MS */
#define VGPU_CAP_SHARES 4u               /* ... and of all others */
#define VGPU_CAP_TENANTS 8u              /* knows vgpu_ctx_create.user and container */
#define VGPU_MAX_QUEUES 255u
#define VGPU_ADMIN_SLOTS 64u

/*
 * Admin commands: 64 bytes, seq as in vgpu_cmd.h (index + 1), always one slot. Completion: the
 * struct vgpu_reply at the same place of ACQ, seq = the command's seq, then MSI-X vector 0.
 */
enum vgpu_admin_op {
	VGPU_ADMIN_IDENTIFY = 1,  /* a: IOVA of 512 bytes <- struct vgpu_device_info */
	VGPU_ADMIN_CTX_CREATE,    /* a: IOVA of struct vgpu_ctx_create (copied at once); q: qid */
	VGPU_ADMIN_CTX_DESTROY,   /* q: kill, reap, forget. OK also when it is dead already */
	VGPU_ADMIN_SEGMENT,       /* q: map a: IOVA b: bytes c: VA in the context: window memory, or free in its device span */
	VGPU_ADMIN_SET_RUN,       /* q; a: 1 run, 0 stop taking work */
	VGPU_ADMIN_ASYNC_EVENT,   /* completes when a context dies: v0 = qid, v1 = status. One is
				     outstanding: a newer one replaces the older, which is never
				     completed (post it before the ring comes round to that place) */
	VGPU_ADMIN_CTX_STAT,      /* q -> v0: memory bytes, v1: commands done, v2: pid on the device's host */
	VGPU_ADMIN_SET_WEIGHT,    /* q; a: 1..1000, its share of the device among those that work. Before: NOT_SUPPORTED */
	VGPU_ADMIN_SET_LIMIT,     /* q; a: enum vgpu_limit, b: the value, 0: none; c: of a share, whose: contexts with the same c have it together */
};
enum vgpu_limit {
	VGPU_LIMIT_KERNEL_MS,     /* that a kernel may take; the device's own limit holds as well */
	VGPU_LIMIT_PRIORITY,      /* VGPU_PRIORITY_*: who goes first, whatever the weights */
	VGPU_LIMIT_SHARE_CLIENT,  /* permille of the device's time at most, whatever others leave: each of these three */
	VGPU_LIMIT_SHARE_CONTAINER,
	VGPU_LIMIT_SHARE_USER,
	VGPU_LIMITS
};
#define VGPU_KERNEL_MS_MOST 86400000u    /* a day */
enum { VGPU_PRIORITY_LOW = 1, VGPU_PRIORITY_NORMAL, VGPU_PRIORITY_HIGH };
struct vgpu_admin_cmd {
	uint32_t seq;
	uint16_t op, q;
	uint64_t a, b, c;
	uint64_t rsvd[4];
};
_Static_assert(sizeof(struct vgpu_admin_cmd) == 64, "one slot");

struct vgpu_ctx_create {
	uint64_t queue_iova;            /* queue block, VGPU_QB_BYTES, agent-private */
	uint64_t seg0_iova;             /* segment 0 of the client's window, VGPU_SEG0_BYTES */
	uint64_t span_base, span_bytes;
	uint64_t device_base;           /* VA of this device's memory inside the span */
	uint64_t memory_limit;          /* bytes of device memory this context may commit */
	uint32_t context;               /* number in the client: place in segment 0 */
	uint32_t weight;                /* 1..1000 */
	uint64_t io_index;              /* first slot index of the I/O ring */
	uint64_t flags;                 /* VGPU_CTX_* */
	uint32_t user, container;       /* whose: contexts with the same have their overhead together. 0: nobody's; with VGPU_CTX_TENANT */
	uint64_t rsvd[6];
};
_Static_assert(sizeof(struct vgpu_ctx_create) == 128, "wire layout");
/*
 * The client fences with membarrier before it sleeps on a timeline (it was granted VGPU_FEATURE_ASYM_FENCE). Only then,
 * and with CC_ASYM_FENCE, may the context leave out its own fence between a timeline's value and its waiter word.
 */
#define VGPU_CTX_CLIENT_ASYM 1ull
#define VGPU_CTX_TENANT 2ull             /* only to a device with VGPU_CAP_TENANTS */
#define VGPU_CTX_FLAGS 3ull

/*
 * Queue block: one per context, in memory only agent and context see. W names the only writer.
 *
 *   0x00000  struct vgpu_qb_head
 *   0x01000  control ring, 64 slots      W: agent
 *   0x02000  control replies, 64 x 64    W: device, reply for ticket t at (t - 1) % 64
 *   0x03000  struct vgpu_qb_work         W: device
 *   0x04000  shadow timelines, 1024 x 8  W: device; what the agent believes
 *   0x10000  I/O ring, 1024 slots        W: agent
 */
#define VGPU_QB_BYTES    0x20000u
#define VGPU_QB_CTL      0x01000u
#define VGPU_QB_REPLIES  0x02000u
#define VGPU_QB_WORK     0x03000u
#define VGPU_QB_SHADOW   0x04000u
#define VGPU_QB_IO       0x10000u
#define VGPU_DEV_CTL_SLOTS 64u
#define VGPU_DEV_IO_SLOTS  1024u

struct vgpu_qb_head {
	/* line 0, W: device. I/O slots consumed. */
	uint64_t io_head;
	uint64_t rsvd0[7];
	/* line 1, W: device. Control slots consumed. */
	uint64_t ctl_head;
	uint64_t rsvd1[7];
	/* line 2, W: device sets before it sleeps (and leaves it between looks at memory); the agent clears it and rings the doorbell. */
	uint32_t need_wakeup;
	uint32_t rsvd2[15];
	/* line 3, W: device sets with the interrupt, agent clears before it looks: at most one out. */
	uint32_t irq_pending;
	uint32_t rsvd3[15];
	/* line 4, W: device. Health and counters. */
	uint32_t error;                 /* sticky enum vgpu_status of the context */
	uint32_t rsvd4;
	uint64_t commands_done;
	uint64_t launches_done;
	uint64_t memory_bytes;
	uint64_t busy_ns;
	uint64_t interrupts;            /* sent */
	uint64_t rsvd4b[2];
	/* lines 5, 6: streams whose waiter is to be woken; device sets bits, agent exchanges with 0. */
	uint64_t fired[16];
	/* line 7, W: agent before it sleeps on control replies; device then interrupts for them too. */
	uint32_t reply_waiter;
	uint32_t rsvd7[15];
};
_Static_assert(sizeof(struct vgpu_qb_head) == 8 * 64, "lines as drawn");

/* What it does, for people: nobody decides anything by it. A device that does not know it leaves zeros. */
struct vgpu_qb_work {
	uint32_t known;                 /* 1: what follows is said */
	uint32_t seq;                   /* odd while the name is being written */
	uint64_t running_ns;            /* of the kernel that is out longest, as of a moment ago; 0: none is, or not for long */
	char kernel[VGPU_KERNEL_NAME];  /* that one's name; where none is out, of the one that was launched last */
	struct vgpu_times kernels;      /* from a launch's start to its end */
	struct vgpu_times compiles;     /* modules that were read, kernels that were compiled when they were asked for */
};
_Static_assert(sizeof(struct vgpu_qb_work) <= VGPU_QB_SHADOW - VGPU_QB_WORK, "fits");

#endif
