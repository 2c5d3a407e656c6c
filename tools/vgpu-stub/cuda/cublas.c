/* SPDX-License-Identifier: MIT */
/*
 * The host's cuBLAS, where the device was given one (--cublas-library): opened beside the driver, in the driver's context, before the
 * context's walls stand. It is some hundred megabytes and loads its kernels as they are used, out of what is mapped by then; files there are none
 * later, so one product of each kind is made before.
 *
 * It takes what it computes as the contract says (fw-protocol/vgpu_cmd.h): sums in F32 without TF32 and without halves in between,
 * whole numbers exactly. The rest is for kernels of ours (gemm.c).
 */
#include "cuda.h"
#include "cublas.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static struct {
#define CUBLAS_POINTER(name) __typeof__(&name) name;
	CUBLAS_CALLS(CUBLAS_POINTER)
#undef CUBLAS_POINTER
} lib;

static cublasHandle_t handle;           /* NULL: there is none */
static const char *call;                /* the last one that was made */
static CUstream stream_now;
static int streamed, device_now;
static unsigned said;

#define CALL(name, ...) (call = #name, lib.name(__VA_ARGS__))

/* What its errors are called, which a library before 11.4 does not tell itself. */
static const char *name_of(cublasStatus_t st)
{
	static const char *const names[] = {
		[1] = "NOT_INITIALIZED", [3] = "ALLOC_FAILED", [7] = "INVALID_VALUE", [8] = "ARCH_MISMATCH", [11] = "MAPPING_ERROR",
		[13] = "EXECUTION_FAILED", [14] = "INTERNAL_ERROR", [15] = "NOT_SUPPORTED", [16] = "LICENSE_ERROR",
	};

	return (unsigned)st < sizeof(names) / sizeof(names[0]) && names[st] ? names[st] : "an unknown status";
}

uint32_t cuda_open_cublas(const char *path, char *why, size_t room)
{
	static const struct cuda_call calls[] = {
#define CUBLAS_NAME(name) { #name, offsetof(__typeof__(lib), name) },
		CUBLAS_CALLS(CUBLAS_NAME)
#undef CUBLAS_NAME
	};
	void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const char *missing;

	if (!so) {
		snprintf(why, room, "cuBLAS cannot be opened: %s", dlerror());
		return VGPU_ST_NOT_FOUND;
	}
	missing = cuda_resolve(so, calls, sizeof(calls) / sizeof(calls[0]), &lib);
	if (missing)
		snprintf(why, room, "%s has no %s", path, missing);
	return missing ? VGPU_ST_NOT_SUPPORTED : VGPU_ST_OK;
}

/* ---- a command as a call ------------------------------------------------------------------------------------------ */

static int data_type(uint32_t t)
{
	static const int types[] = { [VGPU_GEMM_F32] = CUDA_R_32F, [VGPU_GEMM_F16] = CUDA_R_16F, [VGPU_GEMM_BF16] = CUDA_R_16BF,
				     [VGPU_GEMM_F64] = CUDA_R_64F, [VGPU_GEMM_I8] = CUDA_R_8I, [VGPU_GEMM_I32] = CUDA_R_32I };

	return types[t];
}

/* Does it compute this, and as the contract has it? */
static int takes(uint32_t op, const struct vgpu_body_gemm *b, const struct vgpu_gemm *p)
{
	/* what factors on the device are read as */
	uint32_t scalar = p->type_c == VGPU_GEMM_F64 ? VGPU_GEMM_F64 : p->type_c == VGPU_GEMM_I32 ? VGPU_GEMM_I32 : VGPU_GEMM_F32;
	int on_device = p->alpha_at || p->beta_at;

	if (p->m > INT_MAX || p->n > INT_MAX || p->k > INT_MAX || p->lda > INT_MAX || p->ldb > INT_MAX || p->ldc > INT_MAX || b->batch > INT_MAX ||
	    (on_device && p->type_scalar != scalar))
		return 0;
	if (op == VGPU_OP_TRSM)
		return (p->type_c == VGPU_GEMM_F32 || p->type_c == VGPU_GEMM_F64) && (b->batch == 1 || b->flags & VGPU_GEMM_POINTERS);
	if (!p->k || p->type_a != p->type_b || (on_device && !(p->alpha_at && p->beta_at)))
		return 0;
	if (p->type_a == VGPU_GEMM_I8)
		/* whole numbers come with factors that change nothing, and want their places even; a sum that may overflow is ours */
		return p->type_c == VGPU_GEMM_I32 && !on_device && p->alpha == 1 && (p->beta == 0 || p->beta == 1) && p->k <= 1u << 16 &&
		       p->lda % 4 == 0 && p->ldb % 4 == 0 && (b->flags & VGPU_GEMM_POINTERS || (b->a % 4 == 0 && b->b % 4 == 0)) &&
		       (b->batch == 1 || (p->stride_a % 4 == 0 && p->stride_b % 4 == 0));
	return p->type_a == p->type_c || (p->type_a != VGPU_GEMM_F64 && p->type_c == VGPU_GEMM_F32);
}

union factor { float f; double d; int32_t i; };

static union factor factor_of(const struct vgpu_gemm *p, double v)
{
	union factor u = { .d = v };

	if (p->type_c == VGPU_GEMM_I32)
		u.i = (int32_t)v;
	else if (p->type_c != VGPU_GEMM_F64)
		u.f = (float)v;
	return u;
}

struct places { uint64_t a, b, c, alpha_at, beta_at; };

static cublasStatus_t product(const struct vgpu_body_gemm *body, const struct vgpu_gemm *p, const struct places *at)
{
	union factor host[2] = { factor_of(p, p->alpha), factor_of(p, p->beta) };
	const void *alpha = at->alpha_at ? (const void *)(uintptr_t)at->alpha_at : &host[0];
	const void *beta = at->alpha_at ? (const void *)(uintptr_t)at->beta_at : &host[1];
	cublasOperation_t ta = p->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N, tb = p->trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
	cudaDataType in = (cudaDataType)data_type(p->type_a), out = (cudaDataType)data_type(p->type_c);
	cublasComputeType_t compute = p->type_c == VGPU_GEMM_F64 ? CUBLAS_COMPUTE_64F :
				      p->type_c == VGPU_GEMM_I32 ? CUBLAS_COMPUTE_32I : CUBLAS_COMPUTE_32F;
	const void *a = (const void *)(uintptr_t)at->a, *b = (const void *)(uintptr_t)at->b;
	void *c = (void *)(uintptr_t)at->c;
	int m = (int)p->m, n = (int)p->n, k = (int)p->k, lda = (int)p->lda, ldb = (int)p->ldb, ldc = (int)p->ldc, count = (int)body->batch;

	if (body->flags & VGPU_GEMM_POINTERS)
		return CALL(cublasGemmBatchedEx, handle, ta, tb, m, n, k, alpha, (const void *const *)a, in, lda, (const void *const *)b, in, ldb, beta,
			    (void *const *)c, out, ldc, count, compute, CUBLAS_GEMM_DEFAULT);
	if (count > 1)
		return CALL(cublasGemmStridedBatchedEx, handle, ta, tb, m, n, k, alpha, a, in, lda, (long long)p->stride_a, b, in, ldb,
			    (long long)p->stride_b, beta, c, out, ldc, (long long)p->stride_c, count, compute, CUBLAS_GEMM_DEFAULT);
	return CALL(cublasGemmEx, handle, ta, tb, m, n, k, alpha, a, in, lda, b, in, ldb, beta, c, out, ldc, compute, CUBLAS_GEMM_DEFAULT);
}

static cublasStatus_t solve(const struct vgpu_body_gemm *body, const struct vgpu_gemm *p, const struct places *at)
{
	union factor host = factor_of(p, p->alpha);
	const void *alpha = at->alpha_at ? (const void *)(uintptr_t)at->alpha_at : &host;
	cublasSideMode_t side = p->right ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT;
	cublasFillMode_t uplo = p->upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
	cublasOperation_t ta = p->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
	cublasDiagType_t diag = p->unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
	const void *a = (const void *)(uintptr_t)at->a;
	void *c = (void *)(uintptr_t)at->c;
	int m = (int)p->m, n = (int)p->n, lda = (int)p->lda, ldc = (int)p->ldc, doubles = p->type_c == VGPU_GEMM_F64;

	if (body->flags & VGPU_GEMM_POINTERS && doubles)
		return CALL(cublasDtrsmBatched, handle, side, uplo, ta, diag, m, n, alpha, (const double *const *)a, lda, (double *const *)c, ldc, (int)body->batch);
	if (body->flags & VGPU_GEMM_POINTERS)
		return CALL(cublasStrsmBatched, handle, side, uplo, ta, diag, m, n, alpha, (const float *const *)a, lda, (float *const *)c, ldc, (int)body->batch);
	return doubles ? CALL(cublasDtrsm_v2, handle, side, uplo, ta, diag, m, n, alpha, a, lda, c, ldc) :
			 CALL(cublasStrsm_v2, handle, side, uplo, ta, diag, m, n, alpha, a, lda, c, ldc);
}

/* On the device's log, the first times. */
static void tell(cublasStatus_t st, const char *of)
{
	if (st && said++ < 8)
		fprintf(stderr, "%s: CUBLAS_STATUS_%s (%d)%s\n", call, name_of(st), (int)st, of);
}

/*
 * To a stream. A workspace is a stream's own, so that products of two of them do not meet in it; to set the stream takes it away. Without one, or
 * where it does not take ours, cuBLAS has its own.
 */
static cublasStatus_t aim(CUstream stream, uint64_t workspace, int device)
{
	cublasStatus_t st = CUBLAS_STATUS_SUCCESS;

	if (!streamed || stream != stream_now) {
		streamed = 0;
		st = CALL(cublasSetStream_v2, handle, (cudaStream_t)stream);
		if (!st && workspace)
			tell(CALL(cublasSetWorkspace_v2, handle, (void *)(uintptr_t)workspace, CUDA_WORKSPACE), "");
		stream_now = stream;
		streamed = !st;
	}
	if (!st && device != device_now)
		st = CALL(cublasSetPointerMode_v2, handle, device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST);
	if (!st)
		device_now = device;
	return st;
}

/* ---- before the walls ------------------------------------------------------------------------------------------------- */

#define WARM_BYTES (1u << 20)

static cublasStatus_t warm(CUdeviceptr room)
{
	static const uint8_t types[][2] = {
		{ VGPU_GEMM_F32, VGPU_GEMM_F32 }, { VGPU_GEMM_F16, VGPU_GEMM_F16 }, { VGPU_GEMM_F16, VGPU_GEMM_F32 }, { VGPU_GEMM_BF16, VGPU_GEMM_BF16 },
		{ VGPU_GEMM_BF16, VGPU_GEMM_F32 }, { VGPU_GEMM_F64, VGPU_GEMM_F64 }, { VGPU_GEMM_I8, VGPU_GEMM_I32 },
	};
	struct vgpu_body_gemm b = { .batch = 1 };
	struct places at = { .a = room, .b = room + WARM_BYTES / 4, .c = room + WARM_BYTES / 2 };
	struct vgpu_gemm p = { .alpha = 1, .m = 64, .n = 64, .k = 64, .lda = 64, .ldb = 64, .ldc = 64, .trans_a = 1 };
	cublasStatus_t st = aim(NULL, 0, 0);

	for (size_t i = 0; !st && i < sizeof(types) / sizeof(types[0]); i++) {
		p.type_a = p.type_b = types[i][0];
		p.type_c = types[i][1];
		/* what it does not take now it will not take later; that is no reason to go without it */
		st = product(&b, &p, &at);
		if (st == CUBLAS_STATUS_NOT_SUPPORTED || st == CUBLAS_STATUS_ARCH_MISMATCH)
			st = CUBLAS_STATUS_SUCCESS;
	}
	p.type_a = p.type_c = VGPU_GEMM_F32;
	p.trans_a = 0;
	p.unit = 1;
	return st ? st : solve(&b, &p, &at);
}

uint32_t cuda_start_cublas(char *why, size_t room)
{
	CUdeviceptr warm_at = 0;
	cublasHandle_t h = NULL;
	cublasStatus_t st = CALL(cublasCreate_v2, &h);
	const char *driver = "cuMemAlloc";
	CUresult r = CUDA_SUCCESS;

	handle = h;
	if (!st)
		st = CALL(cublasSetMathMode, handle, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
	if (!st)
		r = cu.cuMemAlloc_v2(&warm_at, WARM_BYTES);
	if (!st && !r && (driver = "cuMemsetD8Async", r = cu.cuMemsetD8Async(warm_at, 0, WARM_BYTES, NULL)) == CUDA_SUCCESS)
		st = warm(warm_at);
	if (st)
		snprintf(why, room, "%s: CUBLAS_STATUS_%s (%d)", call, name_of(st), (int)st);
	else if (!r && (driver = "cuStreamSynchronize, behind products of cuBLAS", r = cu.cuStreamSynchronize(NULL)) == CUDA_SUCCESS)
		driver = "cuMemFree", r = cu.cuMemFree_v2(warm_at);
	if (!st && r)
		snprintf(why, room, "%s: %s", driver, cuda_error_name(r));
	if (!st && !r)
		return VGPU_ST_OK;
	handle = NULL;
	/* A status of cuBLAS says little: whether the context is lost, the driver knows. */
	if (st)
		r = cu.cuStreamSynchronize(NULL);
	return r ? cuda_status(r) : (uint32_t)VGPU_ST_NOT_SUPPORTED;
}

/* ---- behind them -------------------------------------------------------------------------------------------------------- */

uint32_t cuda_cublas(struct engine *e, uint32_t op, const struct vgpu_body_gemm *b, const struct vgpu_gemm *p, const uint64_t place[5],
		     struct cuda_stream *s)
{
	struct places at = { place[0], place[1], place[2], place[3], place[4] };
	cublasStatus_t st;
	char of[128];
	CUresult r;
	int begun;

	if (!handle || !takes(op, b, p))
		return CUDA_OURS;
	if (!s->workspace && !s->no_workspace) {
		CUdeviceptr room = 0;

		r = cu.cuMemAlloc_v2(&room, CUDA_WORKSPACE);
		if (r && vgpu_status_sticky(cuda_failed(e, r)))
			return cuda_failed(e, r);
		s->workspace = r ? 0 : room;
		s->no_workspace = r != CUDA_SUCCESS;
	}
	st = aim(s->stream, s->workspace, at.alpha_at != 0);
	begun = !st;
	if (!st)
		st = op == VGPU_OP_TRSM ? solve(b, p, &at) : product(b, p, &at);
	if (!st)
		return VGPU_ST_OK;
	r = cu.cuStreamQuery(s->stream);
	if (r && r != CUDA_ERROR_NOT_READY)
		return cuda_failed(e, r);
	snprintf(of, sizeof(of), ": %s of %u x %u x %u, %u of them, types %u and %u", op == VGPU_OP_TRSM ? "a solve" : "a product", p->m, p->n, p->k,
		 b->batch, p->type_a, p->type_c);
	if (st != CUBLAS_STATUS_NOT_SUPPORTED && st != CUBLAS_STATUS_ARCH_MISMATCH)
		tell(st, of);
	/* Given up in the middle: computed anew, unless c is an input, which may have been changed by then. */
	if (begun && (st == CUBLAS_STATUS_EXECUTION_FAILED || st == CUBLAS_STATUS_INTERNAL_ERROR) && (op == VGPU_OP_TRSM || p->beta_at || p->beta != 0))
		return VGPU_ST_INTERNAL;
	return CUDA_OURS;
}
