/* SPDX-License-Identifier: MIT */
/*
 * texture<> and surface<> of CUDA 11 and before: a variable of the program's that says how a texture is read (struct texture_reference; CUDA
 * Runtime API 11.8, "Texture Reference Management"), registered under its name in the fat binary, where the driver has the reference itself.
 * What the variable says counts from its next binding on.
 *
 * Called by programs of CUDA 11, as eleven.c.
 */
#include "rt.h"

#if CUDART_MAJOR == 12
#include <stdbool.h>

#include "eleven.h"

/* 11's textureReference: 124 bytes */
struct texture_reference {
	int normalized;
	int filter, address[3];
	struct cudaChannelFormatDesc desc;
	int srgb;
	unsigned int anisotropy;
	int mipmap_filter;
	float mipmap_bias, mipmap_least, mipmap_most;
	int no_trilinear;
	int reserved[14];
};
_Static_assert(sizeof(struct texture_reference) == 124, "CUDA 11's layout");

static struct rt_symbol *find(const void *reference, enum rt_symbol_kind kind)
{
	struct rt_symbol *sym = reference ? rt_find(reference) : NULL;

	return sym && sym->kind == kind ? sym : NULL;
}

/* The current context's module with that name in it. */
static cudaError_t module_of(const struct rt_symbol *sym, CUmodule *module)
{
	CUlibrary library;
	CUresult e = rt_library(sym->fatbin, &library);

	return rt_translate(e == CUDA_SUCCESS ? cuLibraryGetModule(module, library) : e);
}

/* The driver's reference, with all that the program's says of how it is read. */
static cudaError_t open_reference(const struct texture_reference *t, struct rt_symbol **sym, CUtexref *ref)
{
	cudaError_t error;
	CUmodule module;
	CUresult e;

	*sym = find(t, RT_SYMBOL_TEXTURE);
	if (!*sym)
		return cudaErrorInvalidTexture;
	error = module_of(*sym, &module);
	if (error != cudaSuccess)
		return error;
	e = cuModuleGetTexRef(ref, module, (*sym)->name);
	if (e == CUDA_SUCCESS)  /* unbound, so that what follows need not be written each time */
		e = cuTexRefSetAddress_v2(NULL, *ref, 0, 0);
	for (int i = 0; i < 3 && e == CUDA_SUCCESS; i++)
		e = cuTexRefSetAddressMode(*ref, i, (CUaddress_mode)t->address[i]);
	if (e == CUDA_SUCCESS)
		e = cuTexRefSetFilterMode(*ref, (CUfilter_mode)t->filter);
	if (e == CUDA_SUCCESS)
		e = cuTexRefSetFlags(*ref, ((*sym)->normalized ? 0u : CU_TRSF_READ_AS_INTEGER) | (t->normalized ? CU_TRSF_NORMALIZED_COORDINATES : 0u) |
						   (t->srgb ? CU_TRSF_SRGB : 0u) | (t->no_trilinear ? CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0u));
	if (e == CUDA_SUCCESS)
		e = cuTexRefSetMaxAnisotropy(*ref, t->anisotropy);
	if (e == CUDA_SUCCESS)
		e = cuTexRefSetMipmapFilterMode(*ref, (CUfilter_mode)t->mipmap_filter);
	if (e == CUDA_SUCCESS)
		e = cuTexRefSetMipmapLevelBias(*ref, t->mipmap_bias);
	if (e == CUDA_SUCCESS)
		e = cuTexRefSetMipmapLevelClamp(*ref, t->mipmap_least, t->mipmap_most);
	return e == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidTexture : rt_translate(e);
}

static cudaError_t format_of(const struct cudaChannelFormatDesc *desc, CUarray_format *format, unsigned int *channels, size_t *texel)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	cudaError_t error;

	if (!desc)
		return cudaErrorInvalidValue;
	error = rt_describe_array(&d, desc, (struct cudaExtent){ 1, 0, 0 }, 0);
	*format = d.Format;
	*channels = d.NumChannels;
	*texel = (size_t)(desc->x + desc->y + desc->z + desc->w) / 8;
	return error;
}

cudaError_t __cuda11_cudaBindTexture(size_t *offset, const struct texture_reference *t, const void *ptr, const struct cudaChannelFormatDesc *desc, size_t bytes)
{
	CUdeviceptr at = (CUdeviceptr)(uintptr_t)ptr, start;
	size_t room, texel, over = 0;
	struct rt_symbol *sym;
	CUarray_format format;
	unsigned int channels;
	cudaError_t error;
	CUtexref ref;
	CUresult e;

	RT_ENTER();
	error = format_of(desc, &format, &channels, &texel);
	if (error == cudaSuccess)
		error = open_reference(t, &sym, &ref);
	if (error != cudaSuccess)
		return rt_set(error);
	/* the bound of the call that C++ makes without a size is UINT_MAX: as far as the memory goes */
	e = cuMemGetAddressRange_v2(&start, &room, at);
	if (e != CUDA_SUCCESS)
		return rt_set(cudaErrorInvalidValue);
	room -= at - start;
	if (bytes > room)
		bytes = room;
	e = cuTexRefSetFormat(ref, format, (int)channels);
	if (e == CUDA_SUCCESS)
		e = cuTexRefSetAddress_v2(offset ? &over : NULL, ref, at, bytes);
	if (e == CUDA_SUCCESS) {
		sym->size = over;
		if (offset)
			*offset = over;
	}
	return rt_cu(e);
}

cudaError_t __cuda11_cudaBindTexture2D(size_t *offset, const struct texture_reference *t, const void *ptr, const struct cudaChannelFormatDesc *desc,
				       size_t width, size_t height, size_t pitch)
{
	CUdeviceptr at = (CUdeviceptr)(uintptr_t)ptr;
	CUDA_ARRAY_DESCRIPTOR d;
	struct rt_symbol *sym;
	cudaError_t error;
	CUtexref ref;
	size_t texel, over;
	CUresult e;

	RT_ENTER();
	error = format_of(desc, &d.Format, &d.NumChannels, &texel);
	if (error == cudaSuccess)
		error = open_reference(t, &sym, &ref);
	if (error != cudaSuccess)
		return rt_set(error);
	over = at % 16;         /* the driver's alignment; what is before it lies in the same row */
	if (over && (!offset || over % texel))
		return rt_set(cudaErrorInvalidValue);
	d.Width = width + over / texel;
	d.Height = height;
	e = cuTexRefSetAddress2D_v3(ref, &d, at - over, pitch);
	if (e == CUDA_SUCCESS) {
		sym->size = over;
		if (offset)
			*offset = over;
	}
	return rt_cu(e);
}

/* To an array that is there, whose format counts; levels: a mipmapped one. */
static cudaError_t bind_array(const struct texture_reference *t, const void *array, const struct cudaChannelFormatDesc *desc, bool levels)
{
	struct rt_symbol *sym;
	cudaError_t error;
	CUtexref ref;

	RT_ENTER();
	if (!array || !desc)
		return rt_set(cudaErrorInvalidValue);
	error = open_reference(t, &sym, &ref);
	if (error != cudaSuccess)
		return rt_set(error);
	sym->size = 0;
	return rt_cu(levels ? cuTexRefSetMipmappedArray(ref, (CUmipmappedArray)(uintptr_t)array, CU_TRSA_OVERRIDE_FORMAT) :
			      cuTexRefSetArray(ref, (CUarray)(uintptr_t)array, CU_TRSA_OVERRIDE_FORMAT));
}

cudaError_t __cuda11_cudaBindTextureToArray(const struct texture_reference *t, cudaArray_const_t array, const struct cudaChannelFormatDesc *desc)
{
	return bind_array(t, array, desc, false);
}

cudaError_t __cuda11_cudaBindTextureToMipmappedArray(const struct texture_reference *t, cudaMipmappedArray_const_t array,
						     const struct cudaChannelFormatDesc *desc)
{
	return bind_array(t, array, desc, true);
}

cudaError_t __cuda11_cudaUnbindTexture(const struct texture_reference *t)
{
	struct rt_symbol *sym;
	CUtexref ref;

	RT_ENTER();
	return rt_set(open_reference(t, &sym, &ref));
}

cudaError_t __cuda11_cudaGetTextureAlignmentOffset(size_t *offset, const struct texture_reference *t)
{
	const struct rt_symbol *sym = find(t, RT_SYMBOL_TEXTURE);

	if (!offset || !sym)
		return rt_set(offset ? cudaErrorInvalidTexture : cudaErrorInvalidValue);
	*offset = sym->size;
	return cudaSuccess;
}

cudaError_t __cuda11_cudaGetTextureReference(const struct texture_reference **t, const void *symbol)
{
	if (!t || !find(symbol, RT_SYMBOL_TEXTURE))
		return rt_set(t ? cudaErrorInvalidTexture : cudaErrorInvalidValue);
	*t = symbol;
	return cudaSuccess;
}

cudaError_t __cuda11_cudaGetSurfaceReference(const void **s, const void *symbol)
{
	if (!s || !find(symbol, RT_SYMBOL_SURFACE))
		return rt_set(s ? cudaErrorInvalidSurface : cudaErrorInvalidValue);
	*s = symbol;
	return cudaSuccess;
}

cudaError_t __cuda11_cudaBindSurfaceToArray(const void *surface, cudaArray_const_t array, const struct cudaChannelFormatDesc *desc)
{
	struct rt_symbol *sym;
	cudaError_t error;
	CUmodule module;
	CUsurfref ref;
	CUresult e;

	RT_ENTER();
	if (!array || !desc)
		return rt_set(cudaErrorInvalidValue);
	sym = find(surface, RT_SYMBOL_SURFACE);
	if (!sym)
		return rt_set(cudaErrorInvalidSurface);
	error = module_of(sym, &module);
	if (error != cudaSuccess)
		return rt_set(error);
	e = cuModuleGetSurfRef(&ref, module, sym->name);
	if (e == CUDA_ERROR_NOT_FOUND)
		return rt_set(cudaErrorInvalidSurface);
	return rt_cu(e == CUDA_SUCCESS ? cuSurfRefSetArray(ref, (CUarray)(uintptr_t)array, 0) : e);
}

/* normalized: integers are read as 0 to 1 (cudaReadModeNormalizedFloat) */
void __cuda11___cudaRegisterTexture(void **image, const void *reference, const void **address, const char *name, int dim, int normalized, int ext)
{
	(void)address, (void)dim, (void)ext;
	rt_register_reference(image, reference, name, RT_SYMBOL_TEXTURE, normalized);
}

void __cuda11___cudaRegisterSurface(void **image, const void *reference, const void **address, const char *name, int dim, int ext)
{
	(void)address, (void)dim, (void)ext;
	rt_register_reference(image, reference, name, RT_SYMBOL_SURFACE, 0);
}
#endif
