/* SPDX-License-Identifier: MIT */
/*
 * Functions: their description from the device, fetched once, and the layout of their parameters cut
 * into pieces for the slots, so that a launch only walks an array.
 */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

#define INFO_BYTES (sizeof(struct vgpu_fn_info) + 1024 * sizeof(struct vgpu_fn_param))
#define LOG_BYTES 4096u
#define TOO_MANY 2u     /* vg_func.loaded: described, but nobody can take so many bytes of parameters */

/*
 * Parameters -> pieces, none of which crosses a slot. Whole parameters of 4 or 8 bytes without gaps between them,
 * which is what most kernels have, share a piece; one that does not fit its slot makes a piece for each.
 */
static uint32_t cut_params(struct vg_func *f)
{
	const struct vgpu_fn_info *i = f->info;
	uint32_t n = 0, size = 0, count = 0, end = 0;

	for (uint32_t k = 0; k < i->nparams; k++)
		n += i->params[k].bytes / VGPU_SLOT_PAYLOAD + 2;
	f->pieces = calloc(n ? n : 1, sizeof *f->pieces);
	if (!f->pieces)
		return VGPU_ST_OUT_OF_MEMORY;
	n = 0;
	for (uint32_t k = 0; k < i->nparams; k++) {
		uint32_t at = i->params[k].offset, from = 0, bytes = i->params[k].bytes;

		while (from < bytes) {
			uint32_t in = at % VGPU_SLOT_PAYLOAD, part = VGPU_SLOT_PAYLOAD - in;
			struct vg_piece *p = &f->pieces[n];

			if (part > bytes - from)
				part = bytes - from;
			if (part != bytes || (part != 8 && part != 4)) {
				*p = (struct vg_piece){ .param = (uint16_t)k, .from = (uint16_t)from, .bytes = (uint16_t)part };
				count = 0;
				n++;
			} else if (in && at == end && part == size && count && count < VG_PIECE_MAX) {
				p--;
				count++;
			} else {
				p->param = (uint16_t)k;
				count = 1;
				n++;
			}
			if (count) {
				size = part;
				end = at + part;
				p->kind = (uint16_t)(size == 8 ? VG_WORDS(count) : VG_HALVES(count));
			}
			if (count <= 1)
				p->at = (uint16_t)((1 + at / VGPU_SLOT_PAYLOAD) * VGPU_SLOT_BYTES + 8 + in);
			from += part;
			at += part;
		}
	}
	f->npieces = n;
	return VGPU_ST_OK;
}

static uint32_t describe(struct vg_func *f)
{
	struct vgpu_device_info *d = &vg.info[f->ctx->ordinal];
	uint8_t *window = vg_window_alloc(INFO_BYTES + LOG_BYTES, 64);
	struct vgpu_fn_info *i = malloc(INFO_BYTES);
	uint64_t v[5] = { 0 };
	uint32_t status = VGPU_ST_OUT_OF_MEMORY;

	if (!window || !i)
		goto out;
	status = vg_ctl(f->ctx, VGPU_OP_FUNC_INFO, f->fn, (uint64_t)(uintptr_t)window, INFO_BYTES, LOG_BYTES, v);
	if (status && v[1] && v[1] <= LOG_BYTES && !vgpu_status_sticky(status))
		vg_say("kernel %s: %.*s", f->name, (int)v[1], (const char *)window + INFO_BYTES);
	if (status)
		goto out;
	memcpy(i, window, INFO_BYTES);
	status = VGPU_ST_INTERNAL;
	if (v[0] < sizeof *i || v[0] > INFO_BYTES || i->nparams > (v[0] - sizeof *i) / sizeof i->params[0] ||
	    i->param_bytes > VGPU_MAX_LARGE_BYTES)
		goto out;
	for (uint32_t k = 0; k < i->nparams; k++)
		if (i->params[k].offset > i->param_bytes || i->params[k].bytes > i->param_bytes - i->params[k].offset)
			goto out;
	status = vg_ctx_uses(f->ctx, i->uses);
	if (status)
		goto out;
	f->info = i;
	i = NULL;
	status = cut_params(f);
	if (status)
		goto out;
	f->param_bytes = f->info->param_bytes;
	f->nslots = (uint16_t)(1 + vgpu_payload_slots(vg_func_large(f) ? sizeof(struct vgpu_params_at) : f->param_bytes));
	f->max_threads = f->info->max_threads ? f->info->max_threads : d->max_threads_per_block;
	memcpy(f->reqntid, f->info->reqntid, sizeof f->reqntid);
	f->cluster = f->info->cluster;
	f->max_dynamic = d->shared_per_block > f->info->shared_static ?
			 d->shared_per_block - f->info->shared_static : 0;
	f->word0 = (uint64_t)VGPU_OP_LAUNCH << 32 | (uint64_t)f->nslots << 40;
	f->plain = VG_NOT_PLAIN;
	if (!f->npieces)
		f->plain = 0;
	else if (f->npieces == 1 && f->pieces->kind - 1u < VG_WORDS(VG_PIECE_MAX) && f->pieces->at == VGPU_SLOT_BYTES + 8)
		f->plain = f->pieces->kind;
out:
	vg_window_free(window, INFO_BYTES + LOG_BYTES);
	free(i);
	return status;
}

/* More than 4 KiB of parameters: from compute capability 7.0 on. */
static bool takes_large(int ordinal)
{
	const struct vgpu_device_info *d = &vg.info[ordinal];

	return d->cc_major >= 7 && (d->features & VGPU_DEV_FEATURE_LARGE) && (vg.features & VGPU_FEATURE_LARGE);
}

uint32_t vg_func_load(struct vg_func *f)
{
	uint32_t status;

	if (VG_LIKELY(__atomic_load_n(&f->loaded, __ATOMIC_ACQUIRE)))
		return VGPU_ST_OK;
	vg_lock(&f->lock);
	status = f->load_status;
	if (!status && !f->loaded) {
		status = describe(f);
		/* A bad kernel stays bad; a full window may not. */
		if (status == VGPU_ST_INVALID_PTX || status == VGPU_ST_PTX_VERSION || status == VGPU_ST_NOT_SUPPORTED)
			f->load_status = status;
		if (!status) {
			bool small = !vg_func_large(f);

			__atomic_store_n(&f->loaded, small || takes_large(f->ctx->ordinal) ? 1 : TOO_MANY, __ATOMIC_RELEASE);
			/* launches that wait all go through vg_launch(), and large ones */
			if (small && !vg.blocking && vg_func_first(f))
				__atomic_store_n(&f->ready, f->ctx, __ATOMIC_RELEASE);
		}
	}
	vg_unlock(&f->lock);
	return status;
}

uint64_t vg_func_deaths;

void vg_func_free(struct vg_func *f)
{
	__atomic_add_fetch(&vg_func_deaths, 1, __ATOMIC_RELEASE);
	free(f->pieces);
	free(f->info);
	free(f->legacy_params);
	vg_delete(VG_FUNCTION, f);
}

CUresult vg_function(CUfunction h, struct vg_func **out)
{
	struct vg_func *f = vg_get(VG_FUNCTION, (uint64_t)(uintptr_t)h);
	struct vg_kernel *k;
	struct vg_ctx *c;

	if (VG_LIKELY(f != NULL)) {
		*out = f;
		return CUDA_SUCCESS;
	}
	/* A CUkernel may stand where a CUfunction is asked for; it means the current context's. */
	k = vg_get(VG_KERNEL, (uint64_t)(uintptr_t)h);
	if (!k)
		return CUDA_ERROR_INVALID_HANDLE;
	VG_TRY(vg_current(&c));
	return vg_kernel_function(k, c, out);
}

/* With its description. */
static CUresult described(CUfunction h, struct vg_func **f)
{
	uint32_t e;

	VG_READY();
	VG_TRY(vg_function(h, f));
	e = vg_ctx_error((*f)->ctx);
	return vg_done((*f)->ctx, e ? e : vg_func_load(*f));
}

CUresult vg_func_attribute(struct vg_func *f, CUfunction_attribute a, int *value)
{
	const struct vgpu_device_info *d = &vg.info[f->ctx->ordinal];
	const struct vgpu_fn_info *i = f->info;
	unsigned n;

	switch ((int)a) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = (int)f->max_threads; break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)i->shared_static; break;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = (int)i->const_bytes; break;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)i->local_bytes; break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = (int)i->regs; break;
	/* The virtual architecture it was compiled for (.target), not the PTX ISA version ... */
	case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = (int)i->binary_version; break;
	/* ... and the architecture it runs as: compiled here, for this device. */
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = (int)(d->cc_major * 10 + d->cc_minor); break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = (int)f->max_dynamic; break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = f->carveout; break;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *value = f->nonportable; break;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *value = f->cluster_policy; break;
	case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: *value = (i->cluster & VGPU_FN_CLUSTER_ASKED) != 0; break;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		n = (unsigned)a - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH;
		*value = i->cluster >> 8 ? (int)VGPU_LAUNCH_CLUSTER_OF(i->cluster, n) : f->required_dim[n];
		break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

/*
 * Documented: what the kernel says itself cannot be changed, and whether the three go together is seen at the launch. Launches
 * take the way that looks at them from now on.
 */
static CUresult set_cluster(struct vg_func *f, unsigned which, int value)
{
	const int *d = f->required_dim;
	bool good, any;

	if (f->info->cluster >> 8)
		return CUDA_ERROR_NOT_PERMITTED;
	if (value < 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (value > 1 && !vg_clusters(f->ctx->ordinal))
		return vg_unsupported("a kernel with thread block clusters, below compute capability 9.0 or on this device,");
	f->required_dim[which] = value;
	any = d[0] || d[1] || d[2];
	good = vg_clusters(f->ctx->ordinal) && d[0] && d[1] && d[2] && d[0] <= (int)VGPU_CLUSTER_MAX && d[1] <= (int)VGPU_CLUSTER_MAX &&
	       d[2] <= (int)VGPU_CLUSTER_MAX;
	__atomic_store_n(&f->ready, NULL, __ATOMIC_RELEASE);
	f->required = good ? VGPU_LAUNCH_CLUSTER((uint32_t)d[0], (uint32_t)d[1], (uint32_t)d[2]) : 0;
	f->cluster = f->info->cluster | f->required | (any && !good && vg_clusters(f->ctx->ordinal) ? VGPU_FN_CLUSTER_ASKED : 0);
	return CUDA_SUCCESS;
}

CUresult vg_func_set(struct vg_func *f, CUfunction_attribute a, int value)
{
	const struct vgpu_device_info *d = &vg.info[f->ctx->ordinal];
	uint32_t room = d->shared_per_block_optin > f->info->shared_static ?
			d->shared_per_block_optin - f->info->shared_static : 0;

	switch ((int)a) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		if (value < 0 || (uint32_t)value > room)
			return CUDA_ERROR_INVALID_VALUE;
		__atomic_store_n(&f->max_dynamic, (uint32_t)value, __ATOMIC_RELAXED);
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		if (value < -1 || value > 100)
			return CUDA_ERROR_INVALID_VALUE;
		f->carveout = value;    /* a hint */
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		/* a permission, and below 9.0, where Mojo gives it as well, of nothing: a launch of a cluster is the error there */
		if (value != 0 && value != 1)
			return CUDA_ERROR_INVALID_VALUE;
		f->nonportable = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		if (value < CU_CLUSTER_SCHEDULING_POLICY_DEFAULT || value > CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING)
			return CUDA_ERROR_INVALID_VALUE;
		f->cluster_policy = value;      /* a hint: all blocks of a cluster have one core */
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		return set_cluster(f, (unsigned)a - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, value);
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute a, CUfunction fn)
{
	struct vg_func *f;

	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(described(fn, &f));
	return vg_func_attribute(f, a, value);
}

CUresult cuFuncSetAttribute(CUfunction fn, CUfunction_attribute a, int value)
{
	struct vg_func *f;

	VG_TRY(described(fn, &f));
	return vg_func_set(f, a, value);
}

CUresult cuFuncSetCacheConfig(CUfunction fn, CUfunc_cache config)
{
	struct vg_func *f;

	VG_READY();
	if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	return vg_function(fn, &f);     /* a preference the device has no use for */
}

CUresult cuFuncSetSharedMemConfig(CUfunction fn, CUsharedconfig config)
{
	struct vg_func *f;

	VG_READY();
	if ((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
		return CUDA_ERROR_INVALID_VALUE;
	return vg_function(fn, &f);
}

CUresult cuFuncGetModule(CUmodule *module, CUfunction fn)
{
	struct vg_func *f;

	VG_READY();
	if (!module)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_function(fn, &f));
	*module = VG_HANDLE(CUmodule, f->module);
	return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char **name, CUfunction fn)
{
	struct vg_func *f;

	VG_READY();
	if (!name || !fn)
		return CUDA_ERROR_INVALID_VALUE;        /* documented of either */
	VG_TRY(vg_function(fn, &f));
	*name = f->name;
	return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction fn, size_t index, size_t *offset, size_t *size)
{
	struct vg_func *f;

	if (!offset)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(described(fn, &f));
	if (index >= f->info->nparams)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = f->info->params[index].offset;
	if (size)
		*size = f->info->params[index].bytes;
	return CUDA_SUCCESS;
}

CUresult cuFuncGetParamCount(CUfunction fn, size_t *count)
{
	struct vg_func *f;

	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(described(fn, &f));
	*count = f->info->nparams;
	return CUDA_SUCCESS;
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction fn)
{
	struct vg_func *f;

	VG_READY();
	if (!state)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_function(fn, &f));
	*state = __atomic_load_n(&f->loaded, __ATOMIC_ACQUIRE) ? CU_FUNCTION_LOADING_STATE_LOADED :
								 CU_FUNCTION_LOADING_STATE_UNLOADED;
	return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction fn)
{
	struct vg_func *f;

	return described(fn, &f);
}
