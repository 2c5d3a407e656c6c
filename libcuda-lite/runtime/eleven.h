/* SPDX-License-Identifier: MIT */
/*
 * The calls of CUDA 11 whose names mean something else in 12, each as __cuda11_NAME: the audit library turns a runtime 11 inside a
 * program over to these, and to the calls of 12 for all other names (libcuda-lite/turn); libcudart.so.11.0 does the same
 * (libcuda-lite/eleven).
 */
#ifndef RT_ELEVEN_H
#define RT_ELEVEN_H

#include "cuda_runtime_api.h"

/* 11's structure ends before the clusters; its values of attributes had 32 bytes until 11.8, and none has more in it */
#define ELEVEN_FUNC_BYTES offsetof(struct cudaFuncAttributes, clusterDimMustBeSet)
#define ELEVEN_VALUE_BYTES 32
/* 11.8 has cubes without seams in a structure and two calls of their own (_v2), which are 12's */
#define ELEVEN_TEXTURE_BYTES offsetof(struct cudaTextureDesc, seamlessCubemap)

cudaError_t __cuda11_cudaRuntimeGetVersion(int *version);
cudaError_t __cuda11_cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func);
cudaError_t __cuda11_cudaGetDriverEntryPoint(const char *symbol, void **fn, unsigned long long flags);
cudaError_t __cuda11_cudaGetDriverEntryPoint_ptsz(const char *symbol, void **fn, unsigned long long flags);
cudaError_t __cuda11_cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *error_node, char *log, size_t log_bytes);
cudaError_t __cuda11_cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *error_node,
					 enum cudaGraphExecUpdateResult *result);
cudaError_t __cuda11_cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaKernelNodeAttrID attr, void *value);
cudaError_t __cuda11_cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaKernelNodeAttrID attr, const void *value);
cudaError_t __cuda11_cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID attr, void *value);
cudaError_t __cuda11_cudaStreamGetAttribute_ptsz(cudaStream_t stream, cudaStreamAttrID attr, void *value);
cudaError_t __cuda11_cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attr, const void *value);
cudaError_t __cuda11_cudaStreamSetAttribute_ptsz(cudaStream_t stream, cudaStreamAttrID attr, const void *value);
cudaError_t __cuda11_cudaCreateTextureObject(cudaTextureObject_t *object, const struct cudaResourceDesc *resource,
					     const struct cudaTextureDesc *texture, const struct cudaResourceViewDesc *view);
cudaError_t __cuda11_cudaCreateTextureObject_v2(cudaTextureObject_t *object, const struct cudaResourceDesc *resource,
						const struct cudaTextureDesc *texture, const struct cudaResourceViewDesc *view);
cudaError_t __cuda11_cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *texture, cudaTextureObject_t object);
cudaError_t __cuda11_cudaGetTextureObjectTextureDesc_v2(struct cudaTextureDesc *texture, cudaTextureObject_t object);
struct texture_reference;
cudaError_t __cuda11_cudaBindTexture(size_t *offset, const struct texture_reference *t, const void *ptr, const struct cudaChannelFormatDesc *desc, size_t bytes);
cudaError_t __cuda11_cudaBindTexture2D(size_t *offset, const struct texture_reference *t, const void *ptr, const struct cudaChannelFormatDesc *desc,
				       size_t width, size_t height, size_t pitch);
cudaError_t __cuda11_cudaBindTextureToArray(const struct texture_reference *t, cudaArray_const_t array, const struct cudaChannelFormatDesc *desc);
cudaError_t __cuda11_cudaBindTextureToMipmappedArray(const struct texture_reference *t, cudaMipmappedArray_const_t array,
						     const struct cudaChannelFormatDesc *desc);
cudaError_t __cuda11_cudaUnbindTexture(const struct texture_reference *t);
cudaError_t __cuda11_cudaGetTextureAlignmentOffset(size_t *offset, const struct texture_reference *t);
cudaError_t __cuda11_cudaGetTextureReference(const struct texture_reference **t, const void *symbol);
cudaError_t __cuda11_cudaGetSurfaceReference(const void **s, const void *symbol);
cudaError_t __cuda11_cudaBindSurfaceToArray(const void *surface, cudaArray_const_t array, const struct cudaChannelFormatDesc *desc);
void __cuda11___cudaRegisterTexture(void **image, const void *reference, const void **address, const char *name, int dim, int normalized, int ext);
void __cuda11___cudaRegisterSurface(void **image, const void *reference, const void **address, const char *name, int dim, int ext);

#endif
