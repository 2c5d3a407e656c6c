/* SPDX-License-Identifier: MIT */
/*
 * What a compiler makes of a .cu file, written out by hand, so that libcudart is tested without one: the
 * fat binary registered from a constructor, functions and variables by host address, launches
 * through the call configuration. Built for libcudart 12 the stub launches by cudaLaunchKernel, as nvcc 12 and
 * clang do; for 13 by __cudaGetKernel and __cudaLaunchKernel, as nvcc 13 does.
 *
 * The container holds two entries of the same kernels: PTX by clang for sm_61 and by nvcc 13 for sm_75.
 */
#include <cuda_runtime_api.h>

#include "common.h"

E2E_PTX(misc);
__asm__(".pushsection .rodata\n.balign 16\nptx_misc_sm75: .incbin \"" E2E_KERNELS "/misc.sm_75.ptx\"\n.byte 0\n.popsection\n");
extern const char ptx_misc_sm75[] __attribute__((visibility("hidden")));

struct __attribute__((packed)) fat_header {
	uint32_t magic;
	uint16_t version, header_size;
	uint64_t size;
};

struct __attribute__((packed)) fat_entry {
	uint16_t kind, unknown;
	uint32_t header_size;
	uint64_t payload_size;
	uint32_t compressed_size, options;
	uint16_t minor, major;
	uint32_t arch, name_off, name_len;
	uint64_t flags, zero, uncompressed_size;
};

static struct { uint32_t magic, version; const void *data; void *name; } wrapper = { 0x466243b1u, 1, NULL, NULL };
static unsigned char image[1 << 16] __attribute__((aligned(8)));
static void **handle;

/* The host side's shadows; their addresses are the names. */
static int counter, coeff[4];

static size_t add_entry(size_t at, uint32_t arch, unsigned major, unsigned minor, const char *ptx)
{
	struct fat_entry e = { .kind = 1, .unknown = 0x101, .header_size = sizeof e, .flags = 0x11 };
	size_t n = strlen(ptx) + 1;

	e.payload_size = (n + 7) & ~(size_t)7;
	e.arch = arch;
	e.major = (uint16_t)major;
	e.minor = (uint16_t)minor;
	memcpy(image + at, &e, sizeof e);
	memcpy(image + at + sizeof e, ptx, n);
	return at + sizeof e + e.payload_size;
}

/* ---- the stubs: what the host calls when it "calls" a kernel ------------------------------- */
static void launch(const void *stub, void **args)
{
	dim3 grid, block;
	cudaStream_t stream;
	size_t shared;

	if (__cudaPopCallConfiguration(&grid, &block, &shared, &stream) != cudaSuccess)
		return;
#if CUDART_VERSION >= 13000
	cudaKernel_t kernel = NULL;

	if (__cudaGetKernel(&kernel, stub) == cudaSuccess)
		(void)__cudaLaunchKernel(kernel, grid, block, args, shared, stream);
#else
	(void)cudaLaunchKernel(stub, grid, block, args, shared, stream);
#endif
}

static void use_globals(int *out)
{
	void *args[] = { &out };

	launch((const void *)use_globals, args);
}

static void affine(uint32_t *data, uint32_t mul, uint32_t add, int n)
{
	void *args[] = { &data, &mul, &add, &n };

	launch((const void *)affine, args);
}

/* ---- registration, as the compiler's constructor and destructor do it ---------------------- */
static void unregister(void)
{
	__cudaUnregisterFatBinary(handle);
}

__attribute__((constructor))
static void register_all(void)
{
	struct fat_header h = { 0xba55ed50u, 1, sizeof h, 0 };
	size_t end = add_entry(add_entry(sizeof h, 75, 9, 0, ptx_misc_sm75), 61, 6, 3, ptx_misc);

	h.size = end - sizeof h;
	memcpy(image, &h, sizeof h);
	wrapper.data = image;
	handle = __cudaRegisterFatBinary(&wrapper);
	__cudaRegisterFunction(handle, (const char *)use_globals, (char *)"use_globals", "use_globals", -1,
		NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(handle, (const char *)affine, (char *)"affine", "affine", -1,
		NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterVar(handle, (char *)&counter, (char *)"counter", "counter", 0, sizeof counter, 0, 0);
	__cudaRegisterVar(handle, (char *)coeff, (char *)"coeff", "coeff", 0, sizeof coeff, 1, 0);
	__cudaRegisterFatBinaryEnd(handle);
	atexit(unregister);
}

#define RK(call) \
	do { \
		cudaError_t r_ = (call); \
		if (r_ != cudaSuccess) { \
			e2e_fail("%s:%d: %s: %s", __FILE__, __LINE__, #call, cudaGetErrorName(r_)); \
			return e2e_end("-"); \
		} \
	} while (0)

static dim3 dim(unsigned x, unsigned y, unsigned z)
{
	dim3 d = { x, y, z };

	return d;
}

int main(void)
{
	static const float table[5] = { 1, 2, 4, 8, 16 };
	const int c[4] = { 3, 30, 300, 3000 };
	uint32_t got[1000], want[1000], *d, mul = 3, add = 5;
	int value = 0;

	e2e_begin("byhand");
	RK(cudaMalloc((void **)&d, sizeof got));
	RK(cudaMemcpyToSymbol(coeff, c, sizeof c, 0, cudaMemcpyHostToDevice));
	if (!__cudaPushCallConfiguration(dim(1, 1, 1), dim(1000, 1, 1), 0, NULL))
		use_globals((int *)d);
	RK(cudaGetLastError());
	if (!__cudaPushCallConfiguration(dim(3, 1, 1), dim(64, 1, 1), 0, NULL))
		affine(d, mul, add, 1000);
	RK(cudaGetLastError());
	RK(cudaMemcpy(got, d, sizeof got, cudaMemcpyDeviceToHost));
	for (int i = 0; i < 1000; i++)
		want[i] = (uint32_t)((int)table[i % 5] + c[i % 4]) * mul + add;
	e2e_same_u32("result", got, want, 1000);
	RK(cudaMemcpyFromSymbol(&value, &counter, 4, 0, cudaMemcpyDeviceToHost));
	EXPECT_EQ(value, 42);
#if CUDART_VERSION >= 13000
	{
		cudaKernel_t kernel = NULL, again = NULL;

		RK(__cudaGetKernel(&kernel, (const void *)affine));
		RK(__cudaGetKernel(&again, (const void *)affine));
		EXPECT(kernel && kernel == again);
		EXPECT(__cudaGetKernel(&kernel, &value) == cudaErrorInvalidDeviceFunction);
		(void)cudaGetLastError();
	}
#else
	EXPECT(cudaLaunchKernel(&value, dim(1, 1, 1), dim(1, 1, 1), NULL, 0, NULL) == cudaErrorInvalidDeviceFunction);
	(void)cudaGetLastError();
#endif
	/* A pop without a push finds nothing. */
	{
		dim3 g, b;
		size_t s;
		cudaStream_t st;

		EXPECT(__cudaPopCallConfiguration(&g, &b, &s, &st) != cudaSuccess);
		(void)cudaGetLastError();
	}
	RK(cudaFree(d));
	return e2e_end("2 kernels, 2 variables, launches as of CUDA %d", CUDART_VERSION / 1000);
}
