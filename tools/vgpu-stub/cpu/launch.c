/* SPDX-License-Identifier: MIT */
/* What a launch may ask for: a grid's and a block's shape, shared memory, parameters. Called by rt.c before it makes a grid. */
#include "cpu.h"

u32 launch_allowed(struct engine *e, const struct engine_launch *l, struct func *fn, u64 *threads)
{
	u64 shared, dyn;
	u32 i;

	*threads = 1;
	for (i = 0; i < 3; i++) {
		if (!l->grid[i] || !l->block[i] || l->block[i] > (i == 2 ? 64u : 1024u) ||
		    l->grid[i] > (i ? 65535u : 0x7fffffffu))
			return VGPU_ST_INVALID_CONFIG;
		*threads *= l->block[i];
	}
	if (*threads > 1024)
		return VGPU_ST_INVALID_CONFIG;
	if (*threads > fn->max_threads)         /* .maxntid: NVIDIA's driver answers INVALID_VALUE */
		return VGPU_ST_INVALID_CONFIG;
	if (fn->reqntid[0])
		for (i = 0; i < 3; i++)
			if (l->block[i] != fn->reqntid[i])
				return VGPU_ST_INVALID_CONFIG;
	dyn = (fn->shared_bytes + fn->dyn_align - 1) & ~(u64)(fn->dyn_align - 1);
	shared = l->shared_bytes ? dyn + l->shared_bytes : fn->shared_bytes;
	if (shared > e->env.shared_per_block_optin)
		return VGPU_ST_LAUNCH_RESOURCES;
	if (l->param_bytes < fn->param_bytes || (fn->param_bytes && !l->params) || l->param_bytes > 32768)
		return VGPU_ST_INVALID;
	if (l->flags & ~ENGINE_LAUNCH_COOPERATIVE)
		return VGPU_ST_NOT_SUPPORTED;
	if (l->flags & ENGINE_LAUNCH_COOPERATIVE) {
		u64 per_sm = 2048 / *threads, blocks = (u64)l->grid[0] * l->grid[1] * l->grid[2];

		/* the most that any compute capability has; the client asks the occupancy of its own before */
		per_sm = per_sm > 32 ? 32 : per_sm;
		if (blocks > per_sm * e->env.sm_count || blocks > COOP_RESIDENT)
			return VGPU_ST_LAUNCH_RESOURCES;
	}
	return VGPU_ST_OK;
}
