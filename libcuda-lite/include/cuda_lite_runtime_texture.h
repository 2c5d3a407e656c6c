/* SPDX-License-Identifier: MIT */
/* The runtime API's arrays, textures and surfaces: types and calls; included by cuda_runtime_api.h. */
#ifndef CUDA_LITE_RUNTIME_TEXTURE_H
#define CUDA_LITE_RUNTIME_TEXTURE_H

typedef struct cudaMipmappedArray *cudaMipmappedArray_t;
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

struct cudaResourceViewDesc {
	int format;                             /* 0: that of the resource */
	size_t width;
	size_t height;
	size_t depth;
	unsigned int firstMipmapLevel;
	unsigned int lastMipmapLevel;
	unsigned int firstLayer;
	unsigned int lastLayer;
#if CUDART_VERSION >= 13000
	unsigned int reserved[16];
#endif
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
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object);
cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *resource, cudaTextureObject_t object);
cudaError_t cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *view, cudaTextureObject_t object);
cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *texture, cudaTextureObject_t object);
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
