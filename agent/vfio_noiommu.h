/* SPDX-License-Identifier: MIT */
/* Without an IOMMU: what the rest of the agent must do about memory then (vfio_noiommu.c). */
#ifndef AGENT_VFIO_NOIOMMU_H
#define AGENT_VFIO_NOIOMMU_H

#include "pool.h"

/* At boot, while files may be opened. */
int noiommu_init(void);
/*
 * Commits the memory and says whether it is contiguous for the device. Not all of it must be, but what a
 * context is created from must.
 */
int noiommu_in_one_piece(const struct pool_mem *m, int backwards);

#endif
