/* SPDX-License-Identifier: MIT */
/* Which transport serves a --device text; see vfio.h. */
#include "vfio.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct vfio_ops *table[4] = { &vfio_user_ops };
static unsigned count = 1;

void vfio_add(const struct vfio_ops *ops)
{
	if (count < 4)
		table[count++] = ops;
}

/* "0000:00:05.0" or "00:05.0": a PCI address, so a function that the kernel's VFIO would own. */
static int pci_address(const char *s)
{
	unsigned domain, bus, slot, fn;
	char end;

	return sscanf(s, "%x:%x:%x.%u%c", &domain, &bus, &slot, &fn, &end) == 4 ||
	       sscanf(s, "%x:%x.%u%c", &bus, &slot, &fn, &end) == 3;
}

const struct vfio_ops *vfio_find(const char *spec, char *why, size_t why_bytes)
{
	for (unsigned i = 0; i < count; i++)
		if (!strncmp(spec, table[i]->prefix, strlen(table[i]->prefix)))
			return table[i];
	if (pci_address(spec))
		snprintf(why, why_bytes, "--device %s: this build has no kernel VFIO transport yet; use --device vfio-user:SOCKET (a vgpu-stub started with --socket SOCKET)", spec);
	else
		snprintf(why, why_bytes, "--device %s: neither vfio-user:SOCKET nor a PCI address like 0000:00:05.0", spec);
	return NULL;
}
