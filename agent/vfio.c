/* SPDX-License-Identifier: MIT */
/* Which transport serves a --device text; see vfio.h. */
#include "vfio.h"

#include <stdio.h>
#include <string.h>

#include "vfio_pci.h"

static const struct vfio_ops *table[4] = { &vfio_user_ops };
static unsigned count = 1;

void vfio_add(const struct vfio_ops *ops)
{
	if (count < 4)
		table[count++] = ops;
}

const struct vfio_ops *vfio_find(const char *spec, char *why, size_t why_bytes)
{
	for (unsigned i = 0; i < count; i++)
		if (!strncmp(spec, table[i]->prefix, strlen(table[i]->prefix)))
			return table[i];
	if (pci_is_spec(spec))
		return &vfio_kernel_ops;
	snprintf(why, why_bytes, "--device %s: neither vfio-user:SOCKET nor a PCI address like 0000:00:05.0 nor auto", spec);
	return NULL;
}
