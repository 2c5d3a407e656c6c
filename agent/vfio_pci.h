/* SPDX-License-Identifier: MIT */
/* PCI functions as sysfs shows them: which one is meant, who has it, binding to vfio-pci. */
#ifndef AGENT_VFIO_PCI_H
#define AGENT_VFIO_PCI_H

#include <stddef.h>

#define PCI_ADDRESS_BYTES 16            /* "0000:00:05.0" */

struct pci_place {
	char address[PCI_ADDRESS_BYTES];
	unsigned group;                 /* IOMMU group */
	int noiommu;                    /* one that VFIO made up, without an IOMMU */
};

/* True for "0000:00:05.0", "00:05.0", "1b36:7667" (vendor:device) and "auto" (our own ids). */
int pci_is_spec(const char *spec);
/* Finds it; 0 or -errno with a sentence in `why`. */
int pci_find(const char *spec, struct pci_place *p, char *why, size_t why_bytes);
/* 0 if vfio-pci has it, and it has an IOMMU group, or the user does without (--unsafe-noiommu). */
int pci_check_bound(struct pci_place *p, char *why, size_t why_bytes);
/* Who else is in its group and stands in the way: "0000:00:06.0 (e1000e), ..."; their number. */
unsigned pci_group_others(const struct pci_place *p, char *text, size_t bytes);
/* The name of its VFIO character device: "vfio0". -ENOENT: this kernel gives it none. */
int pci_vfio_name(const struct pci_place *p, char *name, size_t bytes);

/* What every way says when the group (its number, the others) or the IOMMU cannot be used. */
#define PCI_NOT_VIABLE "%s shares IOMMU group %u with devices that other drivers have: %s; fix: vgpu-agent --bind (or unbind) each of them"
#define PCI_NO_INTREMAP "; interrupt remapping is off (in a VM: -device intel-iommu,intremap=on)"

/* vgpu-agent --bind, --unbind: says each step, answers 0 or -errno after a line that says why. */
int pci_bind(const char *spec);
int pci_unbind(const char *spec);

#endif
