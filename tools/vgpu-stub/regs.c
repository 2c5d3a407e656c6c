/* SPDX-License-Identifier: MIT */
/*
 * BAR0 (vgpu_device.h) and what enable, disable and reset mean.
 *
 * Invariant: when a write that disables or resets returns, no context process lives any more; the
 * owner gets the reply to its write only after that.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "stub.h"

static void set64(uint64_t *reg, int high, uint32_t v)
{
	if (high)
		*reg = (*reg & 0xffffffffull) | (uint64_t)v << 32;
	else
		*reg = (*reg & ~0xffffffffull) | v;
}

static int read32(struct device *d, uint64_t offset, uint32_t *v)
{
	switch (offset) {
	case VGPU_REG_MAGIC:
		*v = VGPU_DEV_MAGIC;
		return 0;
	case VGPU_REG_VERSION:
		*v = VGPU_PROTOCOL_VERSION;
		return 0;
	case VGPU_REG_OLDEST:
		*v = VGPU_PROTOCOL_OLDEST;
		return 0;
	case VGPU_REG_CAP:
		*v = STUB_QUEUES | VGPU_ADMIN_SLOTS << 16;
		return 0;
	case VGPU_REG_CAP + 4:
		*v = VGPU_CAP_CLIENT_FENCE | VGPU_CAP_LIMITS | VGPU_CAP_TENANTS | (d->config.cuda_library ? 0 : VGPU_CAP_SHARES);
		return 0;
	case VGPU_REG_CC:
		*v = d->cc;
		return 0;
	case VGPU_REG_CSTS:
		*v = d->csts;
		return 0;
	case VGPU_REG_ASQ:
		*v = (uint32_t)d->asq;
		return 0;
	case VGPU_REG_ASQ + 4:
		*v = (uint32_t)(d->asq >> 32);
		return 0;
	case VGPU_REG_ACQ:
		*v = (uint32_t)d->acq;
		return 0;
	case VGPU_REG_ACQ + 4:
		*v = (uint32_t)(d->acq >> 32);
		return 0;
	}
	/* Nothing there, or write-only: zero, as a real function answers inside its BAR. */
	*v = 0;
	return 0;
}

int regs_read(struct device *d, uint64_t offset, void *buf, uint32_t bytes)
{
	uint8_t *out = buf;

	if ((bytes != 4 && bytes != 8) || offset % 4 || offset > VGPU_BAR0_BYTES - bytes)
		return -EINVAL;
	for (uint32_t i = 0; i < bytes; i += 4) {
		uint32_t v;
		int err = read32(d, offset + i, &v);

		if (err)
			return err;
		memcpy(out + i, &v, 4);
	}
	return 0;
}

/* Kills what runs and forgets what is outstanding; registers keep their values. */
static void stop(struct device *d)
{
	ctxproc_kill_all(d);
	admin_stop(d);
	d->csts &= ~VGPU_CSTS_RDY;
	d->cc &= ~VGPU_CC_EN;
}

static int enable(struct device *d, uint32_t cc)
{
	struct dma_piece p[2];
	/* By message the owner's IOMMU says what is mapped, when it is used. */
	int look = !d->config.by_message;

	d->csts &= ~VGPU_CSTS_FATAL;
	if (!pci_bus_master(d)) {
		device_fatal(d, "enable without the bus-master bit in the PCI command register");
		return 0;
	}
	if (d->asq % VGPU_SLOT_BYTES || d->acq % VGPU_SLOT_BYTES ||
	    (look && dma_resolve(&d->dma, d->asq, VGPU_ADMIN_SLOTS * VGPU_SLOT_BYTES, DMA_READ, p, 2) < 0) ||
	    (look && dma_resolve(&d->dma, d->acq, VGPU_ADMIN_SLOTS * VGPU_SLOT_BYTES, DMA_WRITE, p, 2) < 0)) {
		device_fatal(d, "enable with ASQ or ACQ not aligned or not mapped for DMA");
		return 0;
	}
	d->cc = cc;
	admin_start(d);
	d->csts |= VGPU_CSTS_RDY;
	log_verbose("enabled%s", cc & VGPU_CC_ASYM_FENCE ? ", asymmetric fences" : "");
	return 0;
}

static int write_cc(struct device *d, uint32_t cc)
{
	if (cc & ~(VGPU_CC_EN | VGPU_CC_ASYM_FENCE))
		return -EINVAL;
	if (!(cc & VGPU_CC_EN)) {
		if (d->cc & VGPU_CC_EN)
			log_verbose("disabled");
		stop(d);
		d->csts = 0;
		d->cc = cc;
		return 0;
	}
	if (d->cc & VGPU_CC_EN)
		return cc == d->cc ? 0 : -EINVAL;       /* the fence mode is fixed while enabled */
	return enable(d, cc);
}

static int write32(struct device *d, uint64_t offset, uint32_t v)
{
	if (offset >= VGPU_DOORBELL(0)) {
		uint64_t q = (offset - VGPU_DOORBELL(0)) / 4;

		if (q > STUB_QUEUES)
			return -EINVAL;
		if (q == 0)
			admin_doorbell(d);
		else
			bell_ring(d->doorbell[q]);
		return 0;
	}
	switch (offset) {
	case VGPU_REG_CC:
		return write_cc(d, v);
	case VGPU_REG_ASQ:
	case VGPU_REG_ASQ + 4:
	case VGPU_REG_ACQ:
	case VGPU_REG_ACQ + 4:
		if (d->cc & VGPU_CC_EN)
			return -EBUSY;
		set64(offset < VGPU_REG_ACQ ? &d->asq : &d->acq, offset % 8 != 0, v);
		return 0;
	case VGPU_REG_RESET:
		if (v != VGPU_RESET_KEY)
			return -EINVAL;
		device_reset(d);
		return 0;
	}
	return -EINVAL;
}

int regs_write(struct device *d, uint64_t offset, const void *buf, uint32_t bytes)
{
	const uint8_t *in = buf;

	if ((bytes != 4 && bytes != 8) || offset % 4 || offset > VGPU_BAR0_BYTES - bytes)
		return -EINVAL;
	for (uint32_t i = 0; i < bytes; i += 4) {
		uint32_t v;
		int err;

		memcpy(&v, in + i, 4);
		err = write32(d, offset + i, v);
		if (err)
			return err;
	}
	return 0;
}

void device_reset(struct device *d)
{

	stop(d);
	d->cc = 0;
	d->csts = 0;
	d->asq = 0;
	d->acq = 0;
	memset(d->msix, 0, sizeof(d->msix));
	for (uint32_t q = 0; q <= STUB_QUEUES; q++)
		bell_drain(d->doorbell[q]);
}

/*
 * The device cannot go on: completions have nowhere to go. Only noted here, since the caller may be
 * deep inside a context's handler; device_settle() kills the contexts.
 */
void device_fatal(struct device *d, const char *why)
{
	log_line("fatal: %s; the device waits for reset or enable", why);
	d->csts |= VGPU_CSTS_FATAL;
	d->csts &= ~VGPU_CSTS_RDY;
	d->cc &= ~VGPU_CC_EN;
}

void device_settle(struct device *d)
{
	if (!(d->csts & VGPU_CSTS_FATAL))
		return;
	if (d->live)
		ctxproc_kill_all(d);
	admin_stop(d);
}

void device_bus_master_off(struct device *d)
{
	if (d->live)
		log_verbose("bus master switched off: %u contexts are killed", d->live);
	for (uint32_t q = 0; q < STUB_QUEUES; q++)
		ctxproc_kill_wait(&d->ctx[q], VGPU_ST_CONTEXT_DEAD);
}
