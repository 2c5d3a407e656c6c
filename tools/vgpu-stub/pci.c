/* SPDX-License-Identifier: MIT */
/*
 * PCI configuration space (PCI Local Bus 3.0 §6, PCI Express Base 3.0 §7): an endpoint with two 64-bit
 * memory BARs, power management, FLR and MSI-X. Bytes live in dev->cfg; what software may change
 * stands in the write mask, so sizing a BAR (write ones, read back) needs no special case.
 */
#include <errno.h>
#include <string.h>

#include "stub.h"

#define CFG_COMMAND 0x04
#define CFG_BAR0 0x10
#define CFG_BAR2 0x18
#define CFG_PM 0x40
#define CFG_PCIE 0x50
#define CFG_MSIX 0x90
#define COMMAND_BUS_MASTER 0x4u
#define PCIE_DEVCTL (CFG_PCIE + 8)
#define DEVCTL_FLR 0x8000u

static uint8_t write_mask[STUB_CFG_BYTES];

static void put16(uint8_t *p, unsigned at, uint16_t v)
{
	p[at] = (uint8_t)v;
	p[at + 1] = (uint8_t)(v >> 8);
}

static void put32(uint8_t *p, unsigned at, uint32_t v)
{
	put16(p, at, (uint16_t)v);
	put16(p, at + 2, (uint16_t)(v >> 16));
}

static uint16_t get16(const uint8_t *p, unsigned at)
{
	return (uint16_t)(p[at] | p[at + 1] << 8);
}

static void masks(void)
{
	uint8_t *m = write_mask;

	put16(m, CFG_COMMAND, 0x0546);  /* memory, bus master, parity, SERR, INTx disable */
	m[0x0c] = 0xff;                 /* cache line size: kept for software, no meaning */
	m[0x3c] = 0xff;                 /* interrupt line, likewise */
	put32(m, CFG_BAR0, ~(VGPU_BAR0_BYTES - 1));
	put32(m, CFG_BAR0 + 4, ~0u);
	put32(m, CFG_BAR2, ~(STUB_MSIX_BYTES - 1));
	put32(m, CFG_BAR2 + 4, ~0u);
	put16(m, CFG_PM + 4, 0x0003);   /* power state */
	put16(m, PCIE_DEVCTL, 0x7fff);  /* the FLR bit reads as zero */
	put16(m, CFG_MSIX + 2, 0xc000); /* enable, function mask */
}

void pci_init(struct device *d)
{
	masks();
	pci_reset(d);
}

void pci_reset(struct device *d)
{
	uint8_t *c = d->cfg;

	memset(c, 0, sizeof(d->cfg));
	put16(c, 0x00, (uint16_t)d->config.pci_vendor);
	put16(c, 0x02, (uint16_t)d->config.pci_device);
	put16(c, 0x06, 0x0010);                 /* status: capability list */
	put32(c, 0x08, VGPU_PCI_CLASS << 8);    /* class code, revision 0 */
	put32(c, CFG_BAR0, 0x4);                /* 64-bit memory, not prefetchable */
	put32(c, CFG_BAR2, 0x4);
	put16(c, 0x2c, (uint16_t)d->config.pci_vendor);
	put16(c, 0x2e, (uint16_t)d->config.pci_device);
	c[0x34] = CFG_PM;

	c[CFG_PM] = 0x01;
	c[CFG_PM + 1] = CFG_PCIE;
	put16(c, CFG_PM + 2, 0x0003);           /* version 3, D0 and D3 only */
	put16(c, CFG_PM + 4, 0x0008);           /* D3hot to D0 is no reset */

	c[CFG_PCIE] = 0x10;
	c[CFG_PCIE + 1] = CFG_MSIX;
	put16(c, CFG_PCIE + 2, 0x0002);         /* version 2, endpoint */
	put32(c, CFG_PCIE + 4, 1u << 28 | 1u << 15); /* FLR, role-based error reporting */
	put32(c, CFG_PCIE + 12, 0x11);          /* link: x1, 2.5 GT/s, as good as any */
	put16(c, CFG_PCIE + 18, 0x0011);

	c[CFG_MSIX] = 0x11;
	c[CFG_MSIX + 1] = 0;
	put16(c, CFG_MSIX + 2, STUB_VECTORS - 1);
	put32(c, CFG_MSIX + 4, 0 | 2);          /* table: offset 0 of BAR2 */
	put32(c, CFG_MSIX + 8, STUB_PBA_OFFSET | 2);
}

int pci_bus_master(const struct device *d)
{
	return (get16(d->cfg, CFG_COMMAND) & COMMAND_BUS_MASTER) != 0;
}

int pci_read(struct device *d, uint64_t offset, void *buf, uint32_t bytes)
{
	if (offset > STUB_CFG_BYTES || bytes > STUB_CFG_BYTES - offset)
		return -EINVAL;
	memcpy(buf, d->cfg + offset, bytes);
	return 0;
}

int pci_write(struct device *d, uint64_t offset, const void *buf, uint32_t bytes)
{
	const uint8_t *in = buf;
	int was_master = pci_bus_master(d), flr = 0;

	if (offset > STUB_CFG_BYTES || bytes > STUB_CFG_BYTES - offset)
		return -EINVAL;
	for (uint32_t i = 0; i < bytes; i++) {
		uint64_t at = offset + i;
		uint8_t m = write_mask[at];

		d->cfg[at] = (uint8_t)((d->cfg[at] & ~m) | (in[i] & m));
		if (at == PCIE_DEVCTL + 1 && (in[i] & (DEVCTL_FLR >> 8)))
			flr = 1;
	}
	if (flr) {
		log_verbose("function level reset");
		device_reset(d);
		pci_reset(d);
	} else if (was_master && !pci_bus_master(d)) {
		device_bus_master_off(d);
	} else if (!was_master && pci_bus_master(d)) {
		admin_doorbell(d);      /* what came meanwhile, and deaths that could not be told */
	}
	return 0;
}
