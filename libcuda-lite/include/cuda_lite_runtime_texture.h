/* SPDX-License-Identifier: MIT */
/* The runtime API's arrays, textures and surfaces: types and calls; included by cuda_runtime_api.h. */
#ifndef CUDA_LITE_RUNTIME_TEXTURE_H
#define CUDA_LITE_RUNTIME_TEXTURE_H

typedef struct cudaMipmappedArray *cudaMipmappedArray_t;
typedef const struct cudaMipmappedArray *cudaMipmappedArray_const_t;
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;

#define cudaArrayDefault 0x00
#define cudaArrayLayered 0x01
#define cudaArraySurfaceLoadStore 0x02
#define cudaArrayCubemap 0x04
#define cudaArrayTextureGather 0x08

enum cudaResourceType {
	cudaResourceTypeArray = 0,
	cudaResourceTypeMipmappedArray = 1,
	cudaResourceTypeLinear = 2,
	cudaResourceTypePitch2D = 3
};

enum cudaTextureAddressMode {
	cudaAddressModeWrap = 0,
	cudaAddressModeClamp = 1,
	cudaAddressModeMirror = 2,
	cudaAddressModeBorder = 3
};

enum cudaTextureFilterMode {
	cudaFilterModePoint = 0,
	cudaFilterModeLinear = 1
};

enum cudaTextureReadMode {
	cudaReadModeElementType = 0,
	cudaReadModeNormalizedFloat = 1
};

struct cudaResourceDesc {
	enum cudaResourceType resType;
	union {
		struct { cudaArray_t array; } array;
		struct { cudaMipmappedArray_t mipmap; } mipmap;
		struct {
			void *devPtr;
			struct cudaChannelFormatDesc desc;
			size_t sizeInBytes;
		} linear;
		struct {
			void *devPtr;
			struct cudaChannelFormatDesc desc;
			size_t width;           /* texels */
			size_t height;
			size_t pitchInBytes;
		} pitch2D;
	} res;
};

struct cudaTextureDesc {
	enum cudaTextureAddressMode addressMode[3];
	enum cudaTextureFilterMode filterMode;
	enum cudaTextureReadMode readMode;
	int sRGB;
	float borderColor[4];
	int normalizedCoords;
	unsigned int maxAnisotropy;
	enum cudaTextureFilterMode mipmapFilterMode;
	float mipmapLevelBias;
	float minMipmapLevelClamp;
	float maxMipmapLevelClamp;
	int disableTrilinearOptimization;
	int seamlessCubemap;
};

/* Texels of 1, 2 or 4 channels, or blocks of compressed ones */
enum cudaResourceViewFormat {
	cudaResViewFormatNone = 0x00,
	cudaResViewFormatUnsignedChar1 = 0x01, cudaResViewFormatUnsignedChar2 = 0x02, cudaResViewFormatUnsignedChar4 = 0x03,
	cudaResViewFormatSignedChar1 = 0x04, cudaResViewFormatSignedChar2 = 0x05, cudaResViewFormatSignedChar4 = 0x06,
	cudaResViewFormatUnsignedShort1 = 0x07, cudaResViewFormatUnsignedShort2 = 0x08, cudaResViewFormatUnsignedShort4 = 0x09,
	cudaResViewFormatSignedShort1 = 0x0a, cudaResViewFormatSignedShort2 = 0x0b, cudaResViewFormatSignedShort4 = 0x0c,
	cudaResViewFormatUnsignedInt1 = 0x0d, cudaResViewFormatUnsignedInt2 = 0x0e, cudaResViewFormatUnsignedInt4 = 0x0f,
	cudaResViewFormatSignedInt1 = 0x10, cudaResViewFormatSignedInt2 = 0x11, cudaResViewFormatSignedInt4 = 0x12,
	cudaResViewFormatHalf1 = 0x13, cudaResViewFormatHalf2 = 0x14, cudaResViewFormatHalf4 = 0x15,
	cudaResViewFormatFloat1 = 0x16, cudaResViewFormatFloat2 = 0x17, cudaResViewFormatFloat4 = 0x18,
	cudaResViewFormatUnsignedBlockCompressed1 = 0x19, cudaResViewFormatUnsignedBlockCompressed7 = 0x22
};

struct cudaArraySparseProperties {
	struct { unsigned int width, height, depth; } tileExtent;
	unsigned int miptailFirstLevel;
	unsigned long long miptailSize;
	unsigned int flags;
	unsigned int reserved[4];
};
struct cudaArrayMemoryRequirements {
	size_t size, alignment;
	unsigned int reserved[4];
};

struct cudaResourceViewDesc {
	enum cudaResourceViewFormat format;     /* none: that of the resource */
	size_t width;
	size_t height;
	size_t depth;
	unsigned int firstMipmapLevel;
	unsigned int lastMipmapLevel;
	unsigned int firstLayer;
	unsigned int lastLayer;
};

#ifdef __cplusplus
extern "C" {
#endif
cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, size_t width, size_t height CUDA_LITE_DEFAULT(0),
			    unsigned int flags CUDA_LITE_DEFAULT(0));
cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
			      unsigned int flags CUDA_LITE_DEFAULT(0));
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent, unsigned int *flags, cudaArray_t array);
cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array);
cudaError_t cudaCreateTextureObject(cudaTextureObject_t *object, const struct cudaResourceDesc *resource, const struct cudaTextureDesc *texture,
				    const struct cudaResourceViewDesc *view);
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
				     unsigned int levels, unsigned int flags CUDA_LITE_DEFAULT(0));
cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *level, cudaMipmappedArray_const_t array, unsigned int i);
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array);
cudaError_t cudaArrayGetPlane(cudaArray_t *plane, cudaArray_t array, unsigned int i);
cudaError_t cudaArrayGetSparseProperties(struct cudaArraySparseProperties *properties, cudaArray_t array);
cudaError_t cudaMipmappedArrayGetSparseProperties(struct cudaArraySparseProperties *properties, cudaMipmappedArray_t array);
cudaError_t cudaArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *requirements, cudaArray_t array, int device);
cudaError_t cudaMipmappedArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *requirements, cudaMipmappedArray_t array, int device);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object);
cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *resource, cudaTextureObject_t object);
cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *texture, cudaTextureObject_t object);
cudaError_t cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *view, cudaTextureObject_t object);
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *object, const struct cudaResourceDesc *resource);
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object);
cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *resource, cudaSurfaceObject_t object);

/* Copies: offsets and widths in bytes, rows in rows */
CUDA_LITE_RT_PTDS(cudaMemcpy2DToArray, (cudaArray_t dst, size_t x, size_t y, const void *src, size_t pitch, size_t width, size_t height,
					enum cudaMemcpyKind kind));
CUDA_LITE_RT_PTSZ(cudaMemcpy2DToArrayAsync, (cudaArray_t dst, size_t x, size_t y, const void *src, size_t pitch, size_t width, size_t height,
					     enum cudaMemcpyKind kind, cudaStream_t stream CUDA_LITE_DEFAULT(0)));
CUDA_LITE_RT_PTDS(cudaMemcpy2DFromArray, (void *dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y, size_t width, size_t height,
					  enum cudaMemcpyKind kind));
CUDA_LITE_RT_PTSZ(cudaMemcpy2DFromArrayAsync, (void *dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y, size_t width, size_t height,
					       enum cudaMemcpyKind kind, cudaStream_t stream CUDA_LITE_DEFAULT(0)));
CUDA_LITE_RT_PTDS(cudaMemcpy2DArrayToArray, (cudaArray_t dst, size_t dx, size_t dy, cudaArray_const_t src, size_t sx, size_t sy, size_t width,
					     size_t height, enum cudaMemcpyKind kind CUDA_LITE_DEFAULT(cudaMemcpyDeviceToDevice)));
/* So many bytes, row by row */
CUDA_LITE_RT_PTDS(cudaMemcpyToArray, (cudaArray_t dst, size_t x, size_t y, const void *src, size_t count, enum cudaMemcpyKind kind));
CUDA_LITE_RT_PTSZ(cudaMemcpyToArrayAsync, (cudaArray_t dst, size_t x, size_t y, const void *src, size_t count, enum cudaMemcpyKind kind,
					   cudaStream_t stream CUDA_LITE_DEFAULT(0)));
CUDA_LITE_RT_PTDS(cudaMemcpyFromArray, (void *dst, cudaArray_const_t src, size_t x, size_t y, size_t count, enum cudaMemcpyKind kind));
CUDA_LITE_RT_PTSZ(cudaMemcpyFromArrayAsync, (void *dst, cudaArray_const_t src, size_t x, size_t y, size_t count, enum cudaMemcpyKind kind,
					     cudaStream_t stream CUDA_LITE_DEFAULT(0)));
#ifdef __cplusplus
}
#endif

#endif
