/* SPDX-License-Identifier: MIT */
/* The driver API's arrays, textures and surfaces: types and calls; included by cuda.h. */
#ifndef CUDA_LITE_TEXTURE_H
#define CUDA_LITE_TEXTURE_H

typedef struct CUmipmappedArray_st *CUmipmappedArray;

typedef enum CUresourcetype_enum {
	CU_RESOURCE_TYPE_ARRAY = 0,
	CU_RESOURCE_TYPE_MIPMAPPED_ARRAY = 1,
	CU_RESOURCE_TYPE_LINEAR = 2,
	CU_RESOURCE_TYPE_PITCH2D = 3
} CUresourcetype;

typedef enum CUaddress_mode_enum {
	CU_TR_ADDRESS_MODE_WRAP = 0,
	CU_TR_ADDRESS_MODE_CLAMP = 1,
	CU_TR_ADDRESS_MODE_MIRROR = 2,
	CU_TR_ADDRESS_MODE_BORDER = 3
} CUaddress_mode;

typedef enum CUfilter_mode_enum {
	CU_TR_FILTER_MODE_POINT = 0,
	CU_TR_FILTER_MODE_LINEAR = 1
} CUfilter_mode;

#define CUDA_ARRAY3D_LAYERED 0x01
#define CUDA_ARRAY3D_SURFACE_LDST 0x02
#define CUDA_ARRAY3D_CUBEMAP 0x04
#define CUDA_ARRAY3D_TEXTURE_GATHER 0x08

#define CU_TRSF_READ_AS_INTEGER 0x01
#define CU_TRSF_NORMALIZED_COORDINATES 0x02
#define CU_TRSF_SRGB 0x10
#define CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION 0x20
#define CU_TRSF_SEAMLESS_CUBEMAP 0x40

typedef struct CUDA_RESOURCE_DESC_st {
	CUresourcetype resType;
	union {
		struct { CUarray hArray; } array;
		struct { CUmipmappedArray hMipmappedArray; } mipmap;
		struct {
			CUdeviceptr devPtr;
			CUarray_format format;
			unsigned int numChannels;
			size_t sizeInBytes;
		} linear;
		struct {
			CUdeviceptr devPtr;
			CUarray_format format;
			unsigned int numChannels;
			size_t width;           /* texels */
			size_t height;
			size_t pitchInBytes;
		} pitch2D;
		struct { int reserved[32]; } reserved;
	} res;
	unsigned int flags;
} CUDA_RESOURCE_DESC;

typedef struct CUDA_TEXTURE_DESC_st {
	CUaddress_mode addressMode[3];
	CUfilter_mode filterMode;
	unsigned int flags;                     /* CU_TRSF_ */
	unsigned int maxAnisotropy;
	CUfilter_mode mipmapFilterMode;
	float mipmapLevelBias;
	float minMipmapLevelClamp;
	float maxMipmapLevelClamp;
	float borderColor[4];
	int reserved[12];
} CUDA_TEXTURE_DESC;

/* Texels of n channels of so many bits, or blocks of compressed ones */
typedef enum CUresourceViewFormat_enum {
	CU_RES_VIEW_FORMAT_NONE = 0x00,
	CU_RES_VIEW_FORMAT_UINT_1X8 = 0x01, CU_RES_VIEW_FORMAT_UINT_2X8 = 0x02, CU_RES_VIEW_FORMAT_UINT_4X8 = 0x03,
	CU_RES_VIEW_FORMAT_SINT_1X8 = 0x04, CU_RES_VIEW_FORMAT_SINT_2X8 = 0x05, CU_RES_VIEW_FORMAT_SINT_4X8 = 0x06,
	CU_RES_VIEW_FORMAT_UINT_1X16 = 0x07, CU_RES_VIEW_FORMAT_UINT_2X16 = 0x08, CU_RES_VIEW_FORMAT_UINT_4X16 = 0x09,
	CU_RES_VIEW_FORMAT_SINT_1X16 = 0x0a, CU_RES_VIEW_FORMAT_SINT_2X16 = 0x0b, CU_RES_VIEW_FORMAT_SINT_4X16 = 0x0c,
	CU_RES_VIEW_FORMAT_UINT_1X32 = 0x0d, CU_RES_VIEW_FORMAT_UINT_2X32 = 0x0e, CU_RES_VIEW_FORMAT_UINT_4X32 = 0x0f,
	CU_RES_VIEW_FORMAT_SINT_1X32 = 0x10, CU_RES_VIEW_FORMAT_SINT_2X32 = 0x11, CU_RES_VIEW_FORMAT_SINT_4X32 = 0x12,
	CU_RES_VIEW_FORMAT_FLOAT_1X16 = 0x13, CU_RES_VIEW_FORMAT_FLOAT_2X16 = 0x14, CU_RES_VIEW_FORMAT_FLOAT_4X16 = 0x15,
	CU_RES_VIEW_FORMAT_FLOAT_1X32 = 0x16, CU_RES_VIEW_FORMAT_FLOAT_2X32 = 0x17, CU_RES_VIEW_FORMAT_FLOAT_4X32 = 0x18,
	CU_RES_VIEW_FORMAT_UNSIGNED_BC1 = 0x19, CU_RES_VIEW_FORMAT_UNSIGNED_BC7 = 0x22
} CUresourceViewFormat;

typedef struct CUDA_ARRAY_SPARSE_PROPERTIES_st {
	struct { unsigned int width, height, depth; } tileExtent;
	unsigned int miptailFirstLevel;
	unsigned long long miptailSize;
	unsigned int flags;
	unsigned int reserved[4];
} CUDA_ARRAY_SPARSE_PROPERTIES;
typedef struct CUDA_ARRAY_MEMORY_REQUIREMENTS_st {
	size_t size, alignment;
	unsigned int reserved[4];
} CUDA_ARRAY_MEMORY_REQUIREMENTS;

typedef struct CUDA_RESOURCE_VIEW_DESC_st {
	CUresourceViewFormat format;
	size_t width;
	size_t height;
	size_t depth;
	unsigned int firstMipmapLevel;
	unsigned int lastMipmapLevel;
	unsigned int firstLayer;
	unsigned int lastLayer;
	unsigned int reserved[16];
} CUDA_RESOURCE_VIEW_DESC;

#ifdef __cplusplus
extern "C" {
#endif
CUresult CUDAAPI cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *desc);
CUresult CUDAAPI cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *desc, CUarray array);
CUresult CUDAAPI cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc);
CUresult CUDAAPI cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *desc, CUarray array);
CUresult CUDAAPI cuArrayDestroy(CUarray array);
CUresult CUDAAPI cuArrayGetPlane(CUarray *plane, CUarray array, unsigned int i);
CUresult CUDAAPI cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *properties, CUarray array);
CUresult CUDAAPI cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *requirements, CUarray array, CUdevice dev);
CUresult CUDAAPI cuMipmappedArrayCreate(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned int levels);
CUresult CUDAAPI cuMipmappedArrayGetLevel(CUarray *level, CUmipmappedArray array, unsigned int i);
CUresult CUDAAPI cuMipmappedArrayDestroy(CUmipmappedArray array);
CUresult CUDAAPI cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *properties, CUmipmappedArray array);
CUresult CUDAAPI cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *requirements, CUmipmappedArray array, CUdevice dev);
CUresult CUDAAPI cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *view, CUtexObject object);
/*
 * References: a .texref or .surfref of a module, which its kernels name. It is bound to memory between launches; kernels that were launched
 * before see what it was bound to. Errors: INVALID_HANDLE, INVALID_VALUE; NOT_FOUND where the module has no such name, and from the questions
 * for an address or an array INVALID_VALUE where it is bound to something else. (Driver API, "Texture Reference Management".)
 */
#define CU_TRSA_OVERRIDE_FORMAT 0x01
#define CU_PARAM_TR_DEFAULT -1

CUresult CUDAAPI cuModuleGetTexRef(CUtexref *ref, CUmodule module, const char *name);
CUresult CUDAAPI cuModuleGetSurfRef(CUsurfref *ref, CUmodule module, const char *name);
CUresult CUDAAPI cuTexRefCreate(CUtexref *ref);
CUresult CUDAAPI cuTexRefDestroy(CUtexref ref);
CUresult CUDAAPI cuTexRefSetArray(CUtexref ref, CUarray array, unsigned int flags);
CUresult CUDAAPI cuTexRefSetMipmappedArray(CUtexref ref, CUmipmappedArray array, unsigned int flags);
/* offset: bytes that kernels have to add, 0 for what cuMemAlloc gave; NULL where it would be. Address 0 and no bytes: bound to nothing */
CUresult CUDAAPI cuTexRefSetAddress_v2(size_t *offset, CUtexref ref, CUdeviceptr ptr, size_t bytes);
CUresult CUDAAPI cuTexRefSetAddress2D_v2(CUtexref ref, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr ptr, size_t pitch);
CUresult CUDAAPI cuTexRefSetAddress2D_v3(CUtexref ref, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr ptr, size_t pitch);
CUresult CUDAAPI cuTexRefSetFormat(CUtexref ref, CUarray_format format, int channels);
CUresult CUDAAPI cuTexRefSetAddressMode(CUtexref ref, int dim, CUaddress_mode mode);
CUresult CUDAAPI cuTexRefSetFilterMode(CUtexref ref, CUfilter_mode mode);
CUresult CUDAAPI cuTexRefSetMipmapFilterMode(CUtexref ref, CUfilter_mode mode);
CUresult CUDAAPI cuTexRefSetMipmapLevelBias(CUtexref ref, float bias);
CUresult CUDAAPI cuTexRefSetMipmapLevelClamp(CUtexref ref, float least, float most);
CUresult CUDAAPI cuTexRefSetMaxAnisotropy(CUtexref ref, unsigned int most);
CUresult CUDAAPI cuTexRefSetBorderColor(CUtexref ref, float *color);
CUresult CUDAAPI cuTexRefSetFlags(CUtexref ref, unsigned int flags);
CUresult CUDAAPI cuTexRefGetAddress_v2(CUdeviceptr *ptr, CUtexref ref);
CUresult CUDAAPI cuTexRefGetArray(CUarray *array, CUtexref ref);
CUresult CUDAAPI cuTexRefGetMipmappedArray(CUmipmappedArray *array, CUtexref ref);
CUresult CUDAAPI cuTexRefGetFormat(CUarray_format *format, int *channels, CUtexref ref);
CUresult CUDAAPI cuTexRefGetAddressMode(CUaddress_mode *mode, CUtexref ref, int dim);
CUresult CUDAAPI cuTexRefGetFilterMode(CUfilter_mode *mode, CUtexref ref);
CUresult CUDAAPI cuTexRefGetMipmapFilterMode(CUfilter_mode *mode, CUtexref ref);
CUresult CUDAAPI cuTexRefGetMipmapLevelBias(float *bias, CUtexref ref);
CUresult CUDAAPI cuTexRefGetMipmapLevelClamp(float *least, float *most, CUtexref ref);
CUresult CUDAAPI cuTexRefGetMaxAnisotropy(int *most, CUtexref ref);
CUresult CUDAAPI cuTexRefGetBorderColor(float *color, CUtexref ref);
CUresult CUDAAPI cuTexRefGetFlags(unsigned int *flags, CUtexref ref);
CUresult CUDAAPI cuSurfRefSetArray(CUsurfref ref, CUarray array, unsigned int flags);
CUresult CUDAAPI cuSurfRefGetArray(CUarray *array, CUsurfref ref);
CUresult CUDAAPI cuParamSetTexRef(CUfunction fn, int unit, CUtexref ref);

CUresult CUDAAPI cuTexObjectCreate(CUtexObject *object, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *texture,
				   const CUDA_RESOURCE_VIEW_DESC *view);
CUresult CUDAAPI cuTexObjectDestroy(CUtexObject object);
CUresult CUDAAPI cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *resource, CUtexObject object);
CUresult CUDAAPI cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *texture, CUtexObject object);
CUresult CUDAAPI cuSurfObjectCreate(CUsurfObject *object, const CUDA_RESOURCE_DESC *resource);
CUresult CUDAAPI cuSurfObjectDestroy(CUsurfObject object);
CUresult CUDAAPI cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *resource, CUsurfObject object);
/* One call, bytes of a row of an array from a row and a byte on */
CUresult CUDAAPI cuMemcpyHtoA_v2(CUarray dst, size_t offset, const void *src, size_t bytes);
CUresult CUDAAPI cuMemcpyAtoH_v2(void *dst, CUarray src, size_t offset, size_t bytes);
CUresult CUDAAPI cuMemcpyDtoA_v2(CUarray dst, size_t offset, CUdeviceptr src, size_t bytes);
CUresult CUDAAPI cuMemcpyAtoD_v2(CUdeviceptr dst, CUarray src, size_t offset, size_t bytes);
CUresult CUDAAPI cuMemcpyAtoA_v2(CUarray dst, size_t dst_offset, CUarray src, size_t src_offset, size_t bytes);
#ifdef __cplusplus
}
#endif

#ifndef __CUDA_API_VERSION_INTERNAL
#define cuArrayCreate cuArrayCreate_v2
#define cuArrayGetDescriptor cuArrayGetDescriptor_v2
#define cuArray3DCreate cuArray3DCreate_v2
#define cuArray3DGetDescriptor cuArray3DGetDescriptor_v2
#endif

#endif
