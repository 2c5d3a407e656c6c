/* SPDX-License-Identifier: MIT */
/*
 * Many operations by one call, and copies of a row of an array beside the stream-less ones. Driver API 12.8 and 13.0
 * (CUDA Driver API, "Memory Management", "Stream Memory Operations"); included by cuda.h.
 *
 * A batch is one step of its stream; within it the order is nobody's promise. cuMemcpyBatchAsync of 12.8 says in *fail
 * which operation was refused, SIZE_MAX if it was none of them; that of 13.0 (_v2) does not.
 */
#ifndef CUDA_LITE_BATCH_H
#define CUDA_LITE_BATCH_H

typedef enum CUmemcpySrcAccessOrder_enum {
	CU_MEMCPY_SRC_ACCESS_ORDER_INVALID = 0,
	CU_MEMCPY_SRC_ACCESS_ORDER_STREAM = 1,
	CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL = 2,
	CU_MEMCPY_SRC_ACCESS_ORDER_ANY = 3,
	CU_MEMCPY_SRC_ACCESS_ORDER_MAX = 0x7fffffff
} CUmemcpySrcAccessOrder;

typedef enum CUmemcpyFlags_enum {
	CU_MEMCPY_FLAG_DEFAULT = 0,
	CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE = 1
} CUmemcpyFlags;

typedef enum CUmemcpy3DOperandType_enum {
	CU_MEMCPY_OPERAND_TYPE_POINTER = 1,
	CU_MEMCPY_OPERAND_TYPE_ARRAY = 2,
	CU_MEMCPY_OPERAND_TYPE_MAX = 0x7fffffff
} CUmemcpy3DOperandType;

/* The locations are hints for managed memory; here there is one memory for both sides. */
typedef struct CUmemcpyAttributes_st {
	CUmemcpySrcAccessOrder srcAccessOrder;
	CUmemLocation srcLocHint;
	CUmemLocation dstLocHint;
	unsigned int flags;             /* CUmemcpyFlags */
} CUmemcpyAttributes;

typedef struct CUoffset3D_st { size_t x, y, z; } CUoffset3D;            /* elements */
typedef struct CUextent3D_st { size_t width, height, depth; } CUextent3D;       /* elements; of two pointers bytes, rows, slices */

typedef struct CUmemcpy3DOperand_st {
	CUmemcpy3DOperandType type;
	union {
		struct {
			CUdeviceptr ptr;
			size_t rowLength;       /* elements from row to row; 0: no gaps */
			size_t layerHeight;     /* rows from slice to slice; 0: no gaps */
			CUmemLocation locHint;
		} ptr;
		struct {
			CUarray array;
			CUoffset3D offset;
		} array;
	} op;
} CUmemcpy3DOperand;

typedef struct CUDA_MEMCPY3D_BATCH_OP_st {
	CUmemcpy3DOperand src;
	CUmemcpy3DOperand dst;
	CUextent3D extent;
	CUmemcpySrcAccessOrder srcAccessOrder;
	unsigned int flags;
} CUDA_MEMCPY3D_BATCH_OP;

typedef enum CUstreamBatchMemOpType_enum {
	CU_STREAM_MEM_OP_WAIT_VALUE_32 = 1,
	CU_STREAM_MEM_OP_WRITE_VALUE_32 = 2,
	CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES = 3,
	CU_STREAM_MEM_OP_WAIT_VALUE_64 = 4,
	CU_STREAM_MEM_OP_WRITE_VALUE_64 = 5,
	CU_STREAM_MEM_OP_BARRIER = 6
} CUstreamBatchMemOpType;

struct CUstreamMemOpValueParams_st {
	CUstreamBatchMemOpType operation;
	CUdeviceptr address;
	union {
		cuuint32_t value;
		cuuint64_t value64;
	};
	unsigned int flags;
	CUdeviceptr alias;
};
typedef union CUstreamBatchMemOpParams_union {
	CUstreamBatchMemOpType operation;
	struct CUstreamMemOpValueParams_st waitValue, writeValue;
	struct { CUstreamBatchMemOpType operation; unsigned int flags; } flushRemoteWrites, memoryBarrier;
	cuuint64_t pad[6];
} CUstreamBatchMemOpParams;

CUDA_LITE_STATIC_ASSERT(sizeof(CUmemcpyAttributes) == 24, "CUmemcpyAttributes");
CUDA_LITE_STATIC_ASSERT(sizeof(CUmemcpy3DOperand) == 40, "CUmemcpy3DOperand");
CUDA_LITE_STATIC_ASSERT(sizeof(CUDA_MEMCPY3D_BATCH_OP) == 112, "CUDA_MEMCPY3D_BATCH_OP");
CUDA_LITE_STATIC_ASSERT(sizeof(CUstreamBatchMemOpParams) == 48, "CUstreamBatchMemOpParams");

#ifdef __cplusplus
extern "C" {
#endif
CUDA_LITE_PTSZ(cuMemcpyBatchAsync, (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs,
				    size_t *attrsIdxs, size_t numAttrs, size_t *fail, CUstream stream));
CUDA_LITE_PTSZ(cuMemcpyBatchAsync_v2, (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs,
				       size_t *attrsIdxs, size_t numAttrs, CUstream stream));
CUDA_LITE_PTSZ(cuMemcpy3DBatchAsync, (size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail, unsigned long long flags,
				      CUstream stream));
CUDA_LITE_PTSZ(cuMemcpy3DBatchAsync_v2, (size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, unsigned long long flags, CUstream stream));
CUDA_LITE_PTSZ(cuMemcpyWithAttributesAsync, (CUdeviceptr dst, CUdeviceptr src, size_t size, CUmemcpyAttributes *attr, CUstream stream));
CUDA_LITE_PTSZ(cuMemcpy3DWithAttributesAsync, (CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags, CUstream stream));
CUDA_LITE_PTSZ(cuMemPrefetchBatchAsync, (CUdeviceptr *ptrs, size_t *sizes, size_t count, CUmemLocation *locations,
					 size_t *locationIdxs, size_t numLocations, unsigned long long flags, CUstream stream));
CUDA_LITE_PTSZ(cuMemDiscardBatchAsync, (CUdeviceptr *ptrs, size_t *sizes, size_t count, unsigned long long flags, CUstream stream));
CUDA_LITE_PTSZ(cuMemDiscardAndPrefetchBatchAsync, (CUdeviceptr *ptrs, size_t *sizes, size_t count, CUmemLocation *locations,
						   size_t *locationIdxs, size_t numLocations, unsigned long long flags,
						   CUstream stream));
CUDA_LITE_PTSZ(cuStreamBatchMemOp, (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *ops, unsigned int flags));
CUDA_LITE_PTSZ(cuStreamBatchMemOp_v2, (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *ops, unsigned int flags));
/* Rows of arrays: in a stream, and those of cuda_lite_texture.h in the thread's own */
CUresult CUDAAPI cuMemcpyHtoA_v2_ptds(CUarray dst, size_t offset, const void *src, size_t bytes);
CUresult CUDAAPI cuMemcpyAtoH_v2_ptds(void *dst, CUarray src, size_t offset, size_t bytes);
CUresult CUDAAPI cuMemcpyDtoA_v2_ptds(CUarray dst, size_t offset, CUdeviceptr src, size_t bytes);
CUresult CUDAAPI cuMemcpyAtoD_v2_ptds(CUdeviceptr dst, CUarray src, size_t offset, size_t bytes);
CUresult CUDAAPI cuMemcpyAtoA_v2_ptds(CUarray dst, size_t dst_offset, CUarray src, size_t src_offset, size_t bytes);
CUDA_LITE_PTSZ(cuMemcpyHtoAAsync_v2, (CUarray dst, size_t offset, const void *src, size_t bytes, CUstream stream));
CUDA_LITE_PTSZ(cuMemcpyAtoHAsync_v2, (void *dst, CUarray src, size_t offset, size_t bytes, CUstream stream));
#ifdef __cplusplus
}
#endif

#endif
