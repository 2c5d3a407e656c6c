/* SPDX-License-Identifier: MIT */
/*
 * cuGetProcAddress: base name, CUDA version and kind of default stream -> entry point. Works before
 * cuInit, since a runtime resolves everything first.
 */
#include "driver.h"
#include "../core/asked.h"
#include "exports.h"

#include <string.h>

/* Newest entry point of `base` that is not newer than the caller's version. */
static const struct vg_export *best(const char *base, int version, bool per_thread, bool *known)
{
	const struct vg_export *hit = NULL;

	for (unsigned i = 0; i < vg_nexports; i++) {
		const struct vg_export *e = &vg_exports[i];

		if (strcmp(e->base, base) || e->per_thread != per_thread)
			continue;
		*known = true;
		if (e->version <= version && (!hit || e->version > hit->version))
			hit = e;
	}
	return hit;
}

static const struct vg_export *exact(const char *name)
{
	for (unsigned i = 0; i < vg_nexports; i++)
		if (!strcmp(vg_exports[i].name, name))
			return &vg_exports[i];
	return NULL;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **fn, int version, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *status)
{
	const struct vg_export *e = NULL;
	bool known = false;

	if (!symbol || !fn || (version > VG_DRIVER_VERSION && version > (int)vg_version_asked(VG_DRIVER_VERSION)) ||
	    (flags & ~(cuuint64_t)(CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)))
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		e = best(symbol, version, true, &known);
	/* Most calls have no per-thread twin. */
	if (!e)
		e = best(symbol, version, false, &known);
	/* A full name (cuMemAlloc_v2) means itself. */
	if (!e && !known)
		e = exact(symbol);
	*fn = e ? e->fn : NULL;
	if (status)
		*status = e ? CU_GET_PROC_ADDRESS_SUCCESS :
			  known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	/* Documented: a name that is not there is no error of this call; the pointer says it. */
	return CUDA_SUCCESS;
}

/* Of programs compiled for the per-thread default stream: that is what no flags mean there. */
CUresult cuGetProcAddress_v2_ptsz(const char *symbol, void **fn, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
	return cuGetProcAddress_v2(symbol, fn, version, flags ? flags : CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, status);
}

CUresult cuGetProcAddress(const char *symbol, void **fn, int version, cuuint64_t flags)
{
	VG_TRY(cuGetProcAddress_v2(symbol, fn, version, flags, NULL));
	return *fn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;       /* the first form says it here */
}
