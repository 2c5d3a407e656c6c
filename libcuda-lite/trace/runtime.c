/* SPDX-License-Identifier: MIT */
/*
 * Kinds of arguments that only libcudart can name: host functions that stand for kernels, structures of the runtime API.
 * Called by format.c. What a launch passes is shown by the driver call inside.
 */
#include "../runtime/rt.h"
#include "trace.h"

#define NAME_BYTES 160u

static void name(struct text *t, uint64_t host)
{
	const struct rt_symbol *s = rt_find((const void *)(uintptr_t)host);

	if (s && s->name)
		text_string(t, s->name, strnlen(s->name, NAME_BYTES));
	else
		text_add(t, host ? "%#llx" : "0", (unsigned long long)host);
}

static void config(struct text *t, uint64_t p)
{
	cudaLaunchConfig_t k;

	if (trace_read(&k, p, sizeof(k))) {
		text_add(t, "%#llx", (unsigned long long)p);
		return;
	}
	text_add(t, "{grid {%u,%u,%u}, block {%u,%u,%u}, shared %zu, stream %#llx, %u attributes}", k.gridDim.x, k.gridDim.y,
		 k.gridDim.z, k.blockDim.x, k.blockDim.y, k.blockDim.z, k.dynamicSmemBytes, (unsigned long long)(uintptr_t)k.stream,
		 k.numAttrs);
}

static void copy(struct text *t, uint64_t p)
{
	struct cudaMemcpy3DParms c;

	if (trace_read(&c, p, sizeof(c))) {
		text_add(t, "%#llx", (unsigned long long)p);
		return;
	}
	text_add(t, "{from %#llx pitch %zu, to %#llx pitch %zu, {%zu,%zu,%zu}, kind %d}",
		 (unsigned long long)(uintptr_t)c.srcPtr.ptr, c.srcPtr.pitch, (unsigned long long)(uintptr_t)c.dstPtr.ptr, c.dstPtr.pitch,
		 c.extent.width, c.extent.height, c.extent.depth, (int)c.kind);
}

void vgpu_trace_special(struct text *t, char kind, const uint64_t *args, unsigned i)
{
	switch (kind) {
	case 'F':
	case 'N': name(t, args[i]); break;
	case 'B': config(t, args[i]); break;
	case 'J': copy(t, args[i]); break;
	default: text_add(t, args[i] ? "%#llx" : "0", (unsigned long long)args[i]);
	}
}

const char *vgpu_trace_error(int error)
{
	switch (error) {
#define TEXT(name, value, text) case value: return text;
	CUDA_LITE_RUNTIME_ERROR_LIST(TEXT)
#undef TEXT
	}
	return "";
}
