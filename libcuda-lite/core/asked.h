/* SPDX-License-Identifier: MIT */
/*
 * VGPU_CUDA_VERSION: the version of CUDA that libcuda and NVML say in this process, as "13.4", where that is newer than ours. A program that carries a newer
 * compiler than the driver's makes machine code itself instead of handing its PTX to a driver too old for it (Warp does); ours takes
 * PTX of any version. The calls are what they are: minor versions of one major are compatible.
 */
#ifndef VGPU_CORE_ASKED_H
#define VGPU_CORE_ASKED_H

#include "../../fw-protocol/vgpu_client.h"

#include "../../fw-protocol/vgpu_env.h"

#include <stdlib.h>

/* own: what would be said. A host driver's, which is older than ours, stays. */
static inline uint32_t vg_version_asked(uint32_t own)
{
	const char *said = vgpu_env("VGPU_CUDA_VERSION");
	char *end = NULL;
	unsigned long major = said ? strtoul(said, &end, 10) : 0, minor = end && *end == '.' ? strtoul(end + 1, &end, 10) : 0;
	uint32_t asked = major < 100 && minor < 100 && end && !*end ? (uint32_t)(major * 1000 + minor * 10) : 0;

	return own == VGPU_CUDA_VERSION && asked > own && asked <= VGPU_CUDA_NEWEST ? asked : own;
}

#endif
