/* SPDX-License-Identifier: MIT */
/*
 * What libcudart does of its own: registration, lookup, contexts, last errors, twins of the default
 * stream, property layouts. Runs over mock_cuda.c, so every driver call can be counted.
 *
 * Built by test_runtime.sh once per ABI. Exit 0, or 1 with the failing lines.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mock_cuda.h"
#define __CUDART_API_VERSION_INTERNAL
#include "cuda_runtime_api.h"

static int failures;

#define CHECK(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			failures++; \
		} \
	} while (0)
#define WANT(code, call) \
	do { \
		cudaError_t e_ = (call); \
		if (e_ != (code)) { \
			fprintf(stderr, "%s:%d: %s gave %s, not %s\n", __FILE__, __LINE__, #call, \
				cudaGetErrorName(e_), #code); \
			failures++; \
		} \
	} while (0)

#define FATBINS 143
#define KERNELS 47	/* each: 6,721 kernels, as many as the biggest program we know */

static const dim3 one = { 1, 1, 1 };
static char images[FATBINS], stubs[FATBINS][KERNELS], names[FATBINS][KERNELS][16];
static void **handles[FATBINS];
static char variable, lost_variable, absent_kernel;
static void *managed;

static const char *launched(void)
{
	return ((struct mock_kernel *)mock.fn)->name;
}

static void registration(void)
{
	int i, k;

	for (i = 0; i < FATBINS; i++) {
		handles[i] = __cudaRegisterFatBinary(&images[i]);
		for (k = 0; k < KERNELS; k++) {
			snprintf(names[i][k], sizeof(names[i][k]), "k%d_%d", i, k);
			__cudaRegisterFunction(handles[i], &stubs[i][k], names[i][k], names[i][k], -1, NULL, NULL,
					       NULL, NULL, NULL);
		}
		__cudaRegisterFatBinaryEnd(handles[i]);
	}
	__cudaRegisterFunction(handles[0], &absent_kernel, (char *)"absent", "absent", -1, NULL, NULL, NULL, NULL,
			       NULL);
	__cudaRegisterVar(handles[0], &variable, (char *)"v", "v", 0, MOCK_VAR_BYTES, 0, 0);
	__cudaRegisterVar(handles[0], &lost_variable, (char *)"absent", "absent", 0, 4, 0, 0);
	__cudaRegisterManagedVar(handles[1], &managed, (char *)"m", "m", 0, MOCK_VAR_BYTES, 0, 0);
	/* Nothing of it may have reached the driver. */
	CHECK(mock.calls == 0);
}

static void launches(void)
{
	void *args[1] = { NULL };
	dim3 grid = { 3, 4, 5 }, block = { 6, 7, 8 };
	int i, k;

	WANT(cudaSuccess, cudaLaunchKernel(&stubs[7][3], grid, block, args, 99, (cudaStream_t)0x77));
	CHECK(!strcmp(launched(), "k7_3"));
	CHECK(mock.dims[0] == 3 && mock.dims[1] == 4 && mock.dims[2] == 5);
	CHECK(mock.dims[3] == 6 && mock.dims[4] == 7 && mock.dims[5] == 8);
	CHECK(mock.shared == 99 && mock.stream == (CUstream)0x77 && mock.params == args);
	CHECK(mock.inits == 1 && mock.retains == 1 && mock.loads == 1 && mock.kernels == 1);
	/* A second launch asks the driver for the launch alone. */
	i = mock.calls;
	WANT(cudaSuccess, cudaLaunchKernel(&stubs[7][3], one, one, args, 0, NULL));
	CHECK(mock.calls == i + 1);
	CHECK(mock.stream == NULL);
	WANT(cudaSuccess, cudaLaunchKernel_ptsz(&stubs[7][3], one, one, args, 0, NULL));
	CHECK(mock.stream == CU_STREAM_PER_THREAD);
	/* Every one is found under its own name. */
	for (i = 0; i < FATBINS; i++) {
		for (k = 0; k < KERNELS; k++) {
			WANT(cudaSuccess, cudaLaunchKernel(&stubs[i][k], one, one, args, 0, NULL));
			CHECK(!strcmp(launched(), names[i][k]));
		}
	}
	CHECK(mock.loads == FATBINS);
	/* Loading the module of a managed variable has set the program's pointer. */
	CHECK(managed == mock_managed);
	managed = NULL;
	CHECK(__cudaInitModule(handles[1]) == 1);

	WANT(cudaErrorInvalidDeviceFunction, cudaLaunchKernel(&failures, one, one, args, 0, NULL));
	WANT(cudaErrorInvalidDeviceFunction, cudaLaunchKernel(NULL, one, one, args, 0, NULL));
	WANT(cudaErrorInvalidDeviceFunction, cudaLaunchKernel(&variable, one, one, args, 0, NULL));
	WANT(cudaErrorInvalidDeviceFunction, cudaLaunchKernel(&absent_kernel, one, one, args, 0, NULL));
	WANT(cudaErrorInvalidDeviceFunction, cudaPeekAtLastError());
	WANT(cudaErrorInvalidDeviceFunction, cudaGetLastError());
	WANT(cudaSuccess, cudaGetLastError());
	mock.next = CUDA_ERROR_INVALID_VALUE;
	grid.x = 0;
	WANT(cudaErrorInvalidConfiguration, cudaLaunchKernel(&stubs[7][3], grid, one, args, 0, NULL));
	WANT(cudaErrorInvalidConfiguration, cudaGetLastError());
}

/* kernel<<<a>>>(f()) where f launches too: configurations nest. */
static void configurations(void)
{
	dim3 outer = { 2, 1, 1 }, inner = { 3, 1, 1 }, grid, block;
	size_t shared;
	cudaStream_t stream;
	int i;

	CHECK(__cudaPushCallConfiguration(outer, one, 10, NULL) == 0);
	CHECK(__cudaPushCallConfiguration(inner, one, 20, (cudaStream_t)0x9) == 0);
	WANT(cudaSuccess, __cudaPopCallConfiguration(&grid, &block, &shared, &stream));
	CHECK(grid.x == 3 && shared == 20 && stream == (cudaStream_t)0x9);
	WANT(cudaSuccess, __cudaPopCallConfiguration(&grid, &block, &shared, &stream));
	CHECK(grid.x == 2 && shared == 10 && stream == NULL);
	WANT(cudaErrorMissingConfiguration, __cudaPopCallConfiguration(&grid, &block, &shared, &stream));
	/* each level has its own, twice */
	for (int twice = 0; twice < 2; twice++) {
		for (i = 0; i < 8; i++)
			CHECK(__cudaPushCallConfiguration((dim3){ 1 + (unsigned)i, 2, 3 }, one, 100 + (size_t)i, NULL) == 0);
		for (i = 8; i-- > 0;)
			CHECK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == cudaSuccess && grid.x == 1 + (unsigned)i && shared == 100 + (size_t)i);
	}
	for (i = 0; i < 100 && !__cudaPushCallConfiguration(outer, one, 0, NULL); i++)
		;
	CHECK(i >= 4 && i < 100);
	while (i--)
		WANT(cudaSuccess, __cudaPopCallConfiguration(&grid, &block, &shared, &stream));
	cudaGetLastError();
}

static void called_back(cudaStream_t stream, cudaError_t status, void *user)
{
	CHECK(stream == (cudaStream_t)0x5 && status == cudaErrorDeviceUninitialized);
	*(int *)user += 1;
}

static void streams_and_copies(void)
{
	struct cudaMemcpy3DParms p = { .kind = cudaMemcpyDefault };
	struct cudaPointerAttributes a;
	char x[MOCK_VAR_BYTES] = "", y[MOCK_VAR_BYTES] = "";
	size_t size = 0;
	void *ptr = NULL;
	int n = 0;

	WANT(cudaSuccess, cudaMemcpy(x, y, 8, cudaMemcpyHostToDevice));
	CHECK(mock.per_thread == 0 && mock.bytes == 8 && mock.dst == (CUdeviceptr)(uintptr_t)x);
	WANT(cudaSuccess, cudaMemcpy_ptds(x, y, 8, cudaMemcpyDefault));
	CHECK(mock.per_thread == 1);
	WANT(cudaErrorInvalidMemcpyDirection, cudaMemcpy(x, y, 8, (enum cudaMemcpyKind)5));
	WANT(cudaSuccess, cudaMemcpyAsync_ptsz(x, y, 9, cudaMemcpyDefault, NULL));
	CHECK(mock.stream == CU_STREAM_PER_THREAD && mock.bytes == 9);
	WANT(cudaSuccess, cudaMemcpyAsync_ptsz(x, y, 9, cudaMemcpyDefault, cudaStreamLegacy));
	CHECK(mock.stream == CU_STREAM_LEGACY);
	WANT(cudaSuccess, cudaMemset_ptds(x, 0x1ff, 3));
	CHECK(mock.per_thread == 1 && mock.src == 0xff && mock.bytes == 3);
	WANT(cudaErrorInvalidPitchValue, cudaMemcpy2D(x, 4, y, 8, 5, 2, cudaMemcpyDefault));
	WANT(cudaSuccess, cudaMemcpy2D(x, 8, y, 16, 5, 2, cudaMemcpyDefault));
	CHECK(mock.copy2d.dstPitch == 8 && mock.copy2d.srcPitch == 16 && mock.copy2d.WidthInBytes == 5 &&
	      mock.copy2d.Height == 2 && mock.copy2d.srcMemoryType == CU_MEMORYTYPE_UNIFIED);
	p.srcPtr = make_cudaPitchedPtr(x, 16, 16, 4);
	p.dstPtr = make_cudaPitchedPtr(y, 32, 16, 5);
	p.srcPos = make_cudaPos(1, 2, 3);
	p.extent = make_cudaExtent(4, 2, 2);
	WANT(cudaSuccess, cudaMemcpy3D(&p));
	CHECK(mock.copy3d.srcXInBytes == 1 && mock.copy3d.srcY == 2 && mock.copy3d.srcZ == 3);
	CHECK(mock.copy3d.srcHeight == 4 && mock.copy3d.dstHeight == 5 && mock.copy3d.dstPitch == 32);
	p.extent.width = 17;
	WANT(cudaErrorInvalidPitchValue, cudaMemcpy3D(&p));
	WANT(cudaSuccess, cudaMemset3D(make_cudaPitchedPtr(x, 8, 8, 4), 0, make_cudaExtent(8, 2, 3)));
	CHECK(mock.bytes == 16 && mock.dst == (CUdeviceptr)(uintptr_t)(x + 2 * 8 * 4));

	WANT(cudaSuccess, cudaGetSymbolAddress(&ptr, &variable));
	CHECK(ptr == mock_global);
	WANT(cudaSuccess, cudaGetSymbolSize(&size, &variable));
	CHECK(size == MOCK_VAR_BYTES);
	WANT(cudaSuccess, cudaMemcpyToSymbol(&variable, x, 4, 60, cudaMemcpyHostToDevice));
	CHECK(mock.dst == (CUdeviceptr)(uintptr_t)(mock_global + 60) && mock.bytes == 4);
	WANT(cudaErrorInvalidValue, cudaMemcpyToSymbol(&variable, x, 5, 60, cudaMemcpyHostToDevice));
	WANT(cudaErrorInvalidValue, cudaMemcpyToSymbol(&variable, x, 5, SIZE_MAX, cudaMemcpyHostToDevice));
	WANT(cudaErrorInvalidMemcpyDirection, cudaMemcpyToSymbol(&variable, x, 4, 0, cudaMemcpyDeviceToHost));
	WANT(cudaErrorInvalidSymbol, cudaMemcpyFromSymbol(x, &failures, 4, 0, cudaMemcpyDeviceToHost));
	WANT(cudaErrorInvalidSymbol, cudaGetSymbolSize(&size, &lost_variable));
	WANT(cudaErrorInvalidSymbol, cudaGetSymbolSize(&size, &stubs[0][0]));

	WANT(cudaErrorInvalidSymbol, cudaGetLastError());
	WANT(cudaErrorNotReady, cudaStreamQuery_ptsz(NULL));
	CHECK(mock.stream == CU_STREAM_PER_THREAD);
	WANT(cudaSuccess, cudaGetLastError());
	mock.result_of_callback = CUDA_ERROR_INVALID_CONTEXT;
	WANT(cudaSuccess, cudaStreamAddCallback((cudaStream_t)0x5, called_back, &n, 0));
	CHECK(n == 1);
	WANT(cudaErrorInvalidResourceHandle, cudaStreamDestroy(cudaStreamPerThread));

	WANT(cudaSuccess, cudaPointerGetAttributes(&a, x));
	CHECK(a.type == cudaMemoryTypeUnregistered && a.device == cudaInvalidDeviceId && !a.devicePointer);
	WANT(cudaSuccess, cudaPointerGetAttributes(&a, (void *)0x1000));
	CHECK(a.type == cudaMemoryTypeDevice && a.device == 1 && a.devicePointer == (void *)0x1000);
	cudaGetLastError();
}

static void properties(void)
{
	union {
		struct cudaDeviceProp p;
		unsigned char bytes[2048];
	} u;
	size_t i, whole = sizeof(u.p);
	int version = 0;

	memset(&u, 0xa5, sizeof(u));
#if CUDART_VERSION < 13000
	WANT(cudaSuccess, cudaGetDeviceProperties_v2(&u.p, 1));
	CHECK(u.p.clockRate == 2013 && u.p.memoryClockRate == 2036 && u.p.computeMode == 2020);
	CHECK(u.p.deviceOverlap == 2015 && u.p.singleToDoublePrecisionPerfRatio == 2087);
#else
	WANT(cudaSuccess, cudaGetDeviceProperties(&u.p, 1));
	CHECK(u.p.hostNumaId == 2134 && u.p.gpuPciDeviceID == 2139);
#endif
	CHECK(!strcmp(u.p.name, "mock 1") && u.p.totalGlobalMem == (size_t)2 << 33);
	CHECK(u.p.uuid.bytes[0] == 0x51 && u.p.uuid.bytes[15] == 0x51);
	CHECK(u.p.warpSize == 2010 && u.p.memPitch == 2011 && u.p.maxThreadsDim[2] == 2004);
	CHECK(u.p.maxGridSize[0] == 2005 && u.p.totalConstMem == 2009 && u.p.major == 2075);
	CHECK(u.p.multiProcessorCount == 2016 && u.p.integrated == 2018 && u.p.sharedMemPerBlockOptin == 2097);
	CHECK(u.p.maxTexture2DLinear[2] == 2072 && u.p.surfaceAlignment == 2030 && u.p.pciDomainID == 2050);
	CHECK(u.p.reservedSharedMemPerBlock == 2111 && u.p.unifiedFunctionPointers == 2129);
	for (i = whole; i < sizeof(u.bytes); i++)
		CHECK(u.bytes[i] == 0xa5);
#if CUDART_VERSION < 13000
	/* Programs of CUDA 11 have room for less. */
	memset(&u, 0xa5, sizeof(u));
	WANT(cudaSuccess, cudaGetDeviceProperties(&u.p, 0));
	CHECK(u.p.reservedSharedMemPerBlock == 1111 && u.p.hostRegisterSupported == (int)0xa5a5a5a5);
#endif
	WANT(cudaErrorInvalidDevice, cudaGetDeviceProperties(&u.p, MOCK_DEVICES));
	WANT(cudaErrorInvalidDevice, cudaGetDeviceProperties(&u.p, -1));
	WANT(cudaSuccess, cudaRuntimeGetVersion(&version));
	CHECK(version / 1000 == CUDART_VERSION / 1000);
	cudaGetLastError();
}

static CUcontext context_of_launch(void)
{
	return ((struct mock_kernel *)mock.fn)->ctx;
}

static void contexts(void)
{
	void *args[1] = { NULL };
	int device = -1, i;

	WANT(cudaSuccess, cudaGetDevice(&device));
	CHECK(device == 0);
	WANT(cudaErrorInvalidDevice, cudaSetDevice(2));
	WANT(cudaSuccess, cudaSetDevice(1));
	WANT(cudaSuccess, cudaLaunchKernel(&stubs[0][0], one, one, args, 0, NULL));
	CHECK(context_of_launch() == mock_primary(1));
	/* The program's own context wins over cudaSetDevice, and is followed to its device. */
	cuCtxSetCurrent(mock_foreign(0));
	for (i = 0; i < 2; i++) {
		WANT(cudaSuccess, cudaLaunchKernel(&stubs[0][0], one, one, args, 0, NULL));
		CHECK(context_of_launch() == mock_foreign(0));
	}
	WANT(cudaSuccess, cudaGetDevice(&device));
	CHECK(device == 0);
	/* A primary context that the program made current is known again. */
	cuCtxSetCurrent(mock_primary(1));
	WANT(cudaSuccess, cudaLaunchKernel(&stubs[0][0], one, one, args, 0, NULL));
	CHECK(context_of_launch() == mock_primary(1));
	WANT(cudaSuccess, cudaGetDevice(&device));
	CHECK(device == 1);
	WANT(cudaSuccess, cudaSetDevice(0));
	WANT(cudaSuccess, cudaLaunchKernel(&stubs[0][0], one, one, args, 0, NULL));
	CHECK(context_of_launch() == mock_primary(0));
	cudaGetLastError();
}

static void sticky(void)
{
	void *args[1] = { NULL };
	int before = mock.functions;

	mock.next = CUDA_ERROR_ILLEGAL_ADDRESS;
	WANT(cudaErrorIllegalAddress, cudaLaunchKernel(&stubs[0][0], one, one, args, 0, NULL));
	WANT(cudaErrorIllegalAddress, cudaGetLastError());
	WANT(cudaErrorIllegalAddress, cudaGetLastError());
	WANT(cudaSuccess, cudaDeviceReset());
	WANT(cudaSuccess, cudaGetLastError());
	/* After a reset nothing of the dead context may be used. */
	WANT(cudaSuccess, cudaLaunchKernel(&stubs[0][0], one, one, args, 0, NULL));
	CHECK(mock.functions == before + 1 && mock.resets == 1);
}

static void entry_points(void)
{
	enum cudaDriverEntryPointQueryResult status;
	void *fn = NULL;

	WANT(cudaSuccess, cudaGetDriverEntryPoint("cuInit", &fn, cudaEnableDefault, &status));
	CHECK(fn == (void *)(uintptr_t)(CUDART_VERSION / 1000 * 1000 + CUDART_VERSION % 1000 + 0) ||
	      (uintptr_t)fn / 1000 == CUDART_VERSION / 1000);
	WANT(cudaSuccess, cudaGetDriverEntryPoint_ptsz("cuInit", &fn, cudaEnableDefault, NULL));
	CHECK((uintptr_t)fn / 100000 == cudaEnablePerThreadDefaultStream);
	WANT(cudaSuccess, cudaGetDriverEntryPointByVersion("cuNone", &fn, 12000, 0, &status));
	CHECK(!fn && status == cudaDriverEntryPointSymbolNotFound);
	WANT(cudaErrorSymbolNotFound, cudaGetDriverEntryPointByVersion("cuNone", &fn, 12000, 0, NULL));
	cudaGetLastError();
}

#if CUDART_VERSION >= 13000
static void kernel_handles(void)
{
	void *args[1] = { NULL };
	cudaKernel_t kernel = NULL;
	int before = mock.calls;

	/* A handle is had without the driver; what is wrong shows at the launch, and each time. */
	WANT(cudaSuccess, __cudaGetKernel(&kernel, &absent_kernel));
	CHECK(mock.calls == before);
	WANT(cudaErrorInvalidDeviceFunction, __cudaLaunchKernel(kernel, one, one, args, 0, NULL));
	WANT(cudaSuccess, __cudaGetKernel(&kernel, &stubs[9][9]));
	WANT(cudaSuccess, __cudaLaunchKernel(kernel, one, one, args, 0, NULL));
	CHECK(!strcmp(launched(), "k9_9"));
	WANT(cudaSuccess, __cudaLaunchKernel_ptsz(kernel, one, one, args, 0, NULL));
	CHECK(mock.stream == CU_STREAM_PER_THREAD);
	WANT(cudaErrorInvalidDeviceFunction, __cudaGetKernel(&kernel, &failures));
	/* The public question gives the driver's handle, which launches too. */
	WANT(cudaSuccess, cudaGetKernel(&kernel, &stubs[9][8]));
	CHECK(!strcmp(((struct mock_kernel *)kernel)->name, "k9_8"));
	WANT(cudaSuccess, cudaLaunchKernel(kernel, one, one, args, 0, NULL));
	CHECK(!strcmp(launched(), "k9_8"));
	cudaGetLastError();
}
#endif

static void errors(void)
{
	CHECK(!strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress"));
	CHECK(!strcmp(cudaGetErrorName((cudaError_t)12345), "unrecognized error code"));
	CHECK(strlen(cudaGetErrorString(cudaErrorMemoryAllocation)) > 0);
}

/* It takes arguments that nobody looks at. */
cudaError_t cudaDeviceGetNvSciSyncAttributes(void);

/* The name of an unsupported call appears once, its error every time. */
static void unsupported(void)
{
	char text[512];
	int fds[2], keep = dup(2), i;
	ssize_t n;

	if (pipe(fds) || keep < 0 || dup2(fds[1], 2) < 0) {
		CHECK(!"pipe");
		return;
	}
	for (i = 0; i < 3; i++)
		WANT(cudaErrorNotSupported, cudaDeviceGetNvSciSyncAttributes());
	dup2(keep, 2);
	close(fds[1]);
	n = read(fds[0], text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	CHECK(strstr(text, "cudaDeviceGetNvSciSyncAttributes") && strchr(text, '\n') == text + n - 1);
	close(fds[0]);
	close(keep);
	WANT(cudaErrorNotSupported, cudaGetLastError());
}

static void after_fork(void)
{
	int status = 0, n;
	pid_t pid;
	void *args[1] = { NULL };

	fflush(NULL);
	pid = fork();
	if (!pid) {
		failures = 0;
		WANT(cudaErrorInitializationError, cudaLaunchKernel(&stubs[0][0], one, one, args, 0, NULL));
		WANT(cudaErrorInitializationError, cudaGetDeviceCount(&n));
		WANT(cudaErrorInitializationError, cudaDeviceSynchronize());
		_exit(failures != 0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
	WANT(cudaSuccess, cudaLaunchKernel(&stubs[0][0], one, one, args, 0, NULL));
}

/* Threads launch while others register and unregister: lookups must never miss or mix. */
#define ROUNDS 300
static char churn_image[4], churn_stub[4][64];
static atomic_int thread_failures;

static void *churn(void *arg)
{
	int me = (int)(intptr_t)arg, r, k;
	void **h;

	for (r = 0; r < ROUNDS; r++) {
		h = __cudaRegisterFatBinary(&churn_image[me]);
		for (k = 0; k < 64; k++)
			__cudaRegisterFunction(h, &churn_stub[me][k], (char *)"c", "c", -1, NULL, NULL, NULL,
					       NULL, NULL);
		if (cudaLaunchKernel(&churn_stub[me][r % 64], one, one, NULL, 0, NULL) != cudaSuccess)
			atomic_fetch_add(&thread_failures, 1);
		__cudaUnregisterFatBinary(h);
		if (cudaLaunchKernel(&churn_stub[me][r % 64], one, one, NULL, 0, NULL) !=
		    cudaErrorInvalidDeviceFunction)
			atomic_fetch_add(&thread_failures, 1);
	}
	return NULL;
}

static void *steady(void *arg)
{
	cudaFunction_t fn;
	int r, i = (int)(intptr_t)arg;

	for (r = 0; r < ROUNDS * 100; r++) {
		i = (i * 31 + r) % (FATBINS * KERNELS);
		if (cudaGetFuncBySymbol(&fn, &stubs[0][0] + i) != cudaSuccess ||
		    strcmp(((struct mock_kernel *)fn)->name, &names[0][0][0] + 16 * i))
			atomic_fetch_add(&thread_failures, 1);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[4];
	int i;

	for (i = 0; i < 4; i++)
		CHECK(!pthread_create(&t[i], NULL, i < 2 ? churn : steady, (void *)(intptr_t)i));
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	CHECK(thread_failures == 0);
}

int main(void)
{
	int i, before;

	registration();
	launches();
	configurations();
	streams_and_copies();
	properties();
	contexts();
	sticky();
	entry_points();
#if CUDART_VERSION >= 13000
	kernel_handles();
#endif
	errors();
	unsupported();
	after_fork();
	threads();
	before = mock.unloads;
	for (i = 0; i < FATBINS; i++)
		__cudaUnregisterFatBinary(handles[i]);
	CHECK(mock.unloads == before + FATBINS);
	if (!failures)
		printf("libcudart %d: all as it should be\n", CUDART_VERSION / 1000);
	return failures != 0;
}
