/* SPDX-License-Identifier: MIT */
/*
 * Loading code: PTX text, fat binaries (plain, LZ4, zstd; several entries), broken ones, the JIT's error log, and the
 * library API. The compressed containers are made here by hand (literals only), so no library is needed.
 */
#include "drv.h"

E2E_PTX(vecadd);
E2E_PTX(misc);

/* A fat binary's container: header, then entries (header, payload). */
#define FATBIN_MAGIC 0xba55ed50u
#define WRAPPER_MAGIC 0x466243b1u
#define KIND_PTX 1
#define KIND_ELF 2
#define FLAG_LZ4 0x2000u
#define FLAG_ZSTD 0x8000u

struct __attribute__((packed)) fat_header {
	uint32_t magic;
	uint16_t version, header_size;
	uint64_t size;			/* of all entries */
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

struct fat_wrapper {
	uint32_t magic, version;
	const void *data;
	void *filename;
};

static unsigned char image[1 << 18];
static size_t image_bytes;

static void fat_begin(void)
{
	struct fat_header h = { FATBIN_MAGIC, 1, sizeof h, 0 };

	memset(image, 0, sizeof image);
	memcpy(image, &h, sizeof h);
	image_bytes = sizeof h;
}

static void fat_add(uint16_t kind, uint32_t arch, const void *data, size_t n, uint64_t flags, size_t plain)
{
	struct fat_entry e = { 0 };
	size_t padded = (n + 7) & ~(size_t)7;
	uint64_t size;

	e.kind = kind;
	e.unknown = 0x101;
	e.header_size = sizeof e;
	e.payload_size = padded;
	e.compressed_size = flags ? (uint32_t)n : 0;
	e.major = 6;
	e.minor = 3;
	e.arch = arch;
	e.flags = flags | 0x10;
	e.uncompressed_size = flags ? plain : 0;
	memcpy(image + image_bytes, &e, sizeof e);
	memcpy(image + image_bytes + sizeof e, data, n);
	image_bytes += sizeof e + padded;
	size = image_bytes - sizeof(struct fat_header);
	memcpy(image + 8, &size, 8);
}

/* An LZ4 block may be one run of literals: token, length in bytes of 255, the text. */
static size_t lz4_literals(unsigned char *out, const char *text, size_t n)
{
	size_t o = 0, rest = n;

	if (n < 15) {
		out[o++] = (unsigned char)(n << 4);
	} else {
		out[o++] = 0xf0;
		for (rest -= 15; rest >= 255; rest -= 255)
			out[o++] = 255;
		out[o++] = (unsigned char)rest;
	}
	memcpy(out + o, text, n);
	return o + n;
}

/* A zstd frame of one raw block (RFC 8878: single segment, 4-byte content size). */
static size_t zstd_raw(unsigned char *out, const char *text, size_t n)
{
	uint32_t magic = 0xfd2fb528u, content = (uint32_t)n, block = (uint32_t)n << 3 | 1;

	memcpy(out, &magic, 4);
	out[4] = 0xa0;
	memcpy(out + 5, &content, 4);
	memcpy(out + 9, &block, 3);
	memcpy(out + 12, text, n);
	return 12 + n;
}

/* Loads an image and runs vecadd from it. */
static void check_loads(const char *what, const void *img)
{
	float a[70], b[70], c[70], want[70];
	CUdeviceptr da, db, dc;
	CUmodule mod;
	CUresult r = cuModuleLoadData(&mod, img);
	int n = 70;

	if (r != CUDA_SUCCESS) {
		e2e_fail("%s: %s", what, drv_err(r));
		return;
	}
	for (int i = 0; i < n; i++) {
		a[i] = (float)i;
		b[i] = 0.5f;
		want[i] = a[i] + b[i];
	}
	da = drv_upload(a, sizeof a);
	db = drv_upload(b, sizeof b);
	dc = drv_alloc(sizeof c);
	LAUNCH(drv_kernel(mod, "vecadd"), 3, 32, 0, NULL, &da, &db, &dc, &n);
	CK(cuMemcpyDtoH(c, dc, sizeof c));
	e2e_same_f32(what, c, want, n);
	CK(cuMemFree(da));
	CK(cuMemFree(db));
	CK(cuMemFree(dc));
	CK(cuModuleUnload(mod));
}

static void check_fatbins(void)
{
	static unsigned char packed[1 << 16];
	static const char future[] = ".version 8.7\n.target sm_120\n.address_size 64\n"
		".visible .entry vecadd() { ret; }\n";
	size_t n = strlen(ptx_vecadd) + 1;
	struct fat_wrapper w = { WRAPPER_MAGIC, 1, image, NULL };
	CUmodule mod;

	check_loads("PTX text", ptx_vecadd);
	fat_begin();
	fat_add(KIND_PTX, 61, ptx_vecadd, n, 0, 0);
	check_loads("fat binary", image);
	check_loads("fat binary in its wrapper", &w);
	fat_begin();
	fat_add(KIND_PTX, 61, packed, lz4_literals(packed, ptx_vecadd, n), FLAG_LZ4, n);
	check_loads("LZ4", image);
	fat_begin();
	fat_add(KIND_PTX, 61, packed, zstd_raw(packed, ptx_vecadd, n), FLAG_ZSTD, n);
	check_loads("zstd", image);

	/* Machine code and PTX for a newer device are passed over, wherever they stand. */
	fat_begin();
	fat_add(KIND_PTX, 120, future, sizeof future, 0, 0);
	fat_add(KIND_ELF, 61, "\177ELF no code for us", 20, 0, 0);
	fat_add(KIND_PTX, 61, ptx_vecadd, n, 0, 0);
	check_loads("several entries", image);

	fat_begin();
	fat_add(KIND_PTX, 120, future, sizeof future, 0, 0);
	WANT(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&mod, image));
	fat_begin();
	fat_add(KIND_ELF, 61, "\177ELF no code for us", 20, 0, 0);
	WANT(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&mod, image));

	/* Lengths that lie: an error, whichever, and no crash. */
	fat_begin();
	fat_add(KIND_PTX, 61, packed, lz4_literals(packed, ptx_vecadd, n), FLAG_LZ4, n + 1000);
	EXPECT(cuModuleLoadData(&mod, image) != CUDA_SUCCESS);
	fat_begin();
	fat_add(KIND_PTX, 61, packed, zstd_raw(packed, ptx_vecadd, n), FLAG_ZSTD, 16);
	EXPECT(cuModuleLoadData(&mod, image) != CUDA_SUCCESS);
	fat_begin();
	fat_add(KIND_PTX, 61, ptx_vecadd, n, 0, 0);
	memset(image + sizeof(struct fat_header) + 8, 0xff, 8);		/* payload_size */
	EXPECT(cuModuleLoadData(&mod, image) != CUDA_SUCCESS);
}

static void check_errors(void)
{
	static const char broken[] = ".version 6.3\n.target sm_61\n.address_size 64\n"
		".global .frobnicate x;\n.visible .entry k()\n{\n\tret;\n}\n";
	static const char body[] = ".version 6.3\n.target sm_61\n.address_size 64\n"
		".visible .entry k()\n{\n\t.reg .b32 %r<2>;\n\tmov.u32 %r1, %nonsense;\n\tfrobnicate.u32 %r1;\n\tret;\n}\n";
	static const char unsupported[] = ".version 7.3\n.target sm_61\n.visible .entry good()\n{\n\tret;\n}\n"
		".visible .entry k()\n{\n\t.reg .b64 %r;\n\tstacksave.u64 %r;\n\tret;\n}\n";
	static const char newer[] = ".version 6.3\n.target sm_99\n.address_size 64\n"
		".visible .entry k()\n{\n\tret;\n}\n";
	char log[1024] = "";
	CUjit_option opt[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *val[] = { log, (void *)(uintptr_t)sizeof log };
	char path[] = "/tmp/vgpu-e2e-module-XXXXXX";
	CUmoduleLoadingMode mode;
	CUfunction f;
	CUmodule mod;
	CUresult r;
	int fd;

	WANT(CUDA_ERROR_INVALID_PTX, cuModuleLoadDataEx(&mod, broken, 2, opt, val));
	if (!log[0] || !memchr(log, 0, sizeof log))
		e2e_fail("the error log of broken PTX is empty");
	/* Of a text every body is read when it is loaded; the log names the line. */
	WANT(CUDA_ERROR_INVALID_PTX, cuModuleLoadDataEx(&mod, body, 2, opt, val));
	if (strncmp(log, "7:", 2) || !strstr(log, "%nonsense"))
		e2e_fail("the error log of a broken body: %s", log);
	/* In a container it waits until the kernel is used, and the error comes before anything runs ... */
	fat_begin();
	fat_add(KIND_PTX, 61, body, sizeof body, 0, 0);
	CK(cuModuleLoadData(&mod, image));
	r = cuModuleGetFunction(&f, mod, "k");
	if (r == CUDA_SUCCESS)
		r = cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	if (r != CUDA_ERROR_INVALID_PTX)
		e2e_fail("a kernel that does not parse gave %s", drv_err(r));
	CK(cuModuleUnload(mod));
	CK(cuCtxSynchronize());
	/* ... unless the user will not wait. */
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	log[0] = 0;
	WANT(CUDA_ERROR_INVALID_PTX, cuModuleLoadDataEx(&mod, image, 2, opt, val));
	if (strncmp(log, "7:", 2))
		e2e_fail("the error log of an eager load: %s", log);
	CK(cuModuleGetLoadingMode(&mode));
	EXPECT(mode == CU_MODULE_EAGER_LOADING);
	CK(cuModuleLoadData(&mod, unsupported));
	CK(cuModuleUnload(mod));
	unsetenv("CUDA_MODULE_LOADING");
	/* What is legal and not here refuses the kernel, not the module. */
	CK(cuModuleLoadData(&mod, unsupported));
	CK(cuModuleGetFunction(&f, mod, "good"));
	CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	CK(cuCtxSynchronize());
	CK(cuModuleUnload(mod));
	WANT(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&mod, newer));
	WANT(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&mod, "\1\2\3\4 this is no image"));
	WANT(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&mod, "/nonexistent/module.ptx"));

	fd = mkstemp(path);
	if (fd < 0 || write(fd, ptx_vecadd, strlen(ptx_vecadd)) < 0)
		e2e_fail("no temporary file");
	CK(cuModuleLoad(&mod, path));
	close(fd);
	unlink(path);
	CK(cuModuleGetFunction(&f, mod, "saxpy"));
	WANT(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&f, mod, "no_such_kernel"));
	CK(cuModuleUnload(mod));
}

static void check_library(void)
{
	CUlibrary lib;
	CUkernel kernel, all[16];
	CUfunction f;
	CUdeviceptr d, counter;
	unsigned count = 0;
	uint32_t got[20], want[20], value = 99;
	size_t bytes, off, size;
	const char *name = NULL;
	int n = 20, threads = 0;
	void *args[] = { &d, &value, &n };

	d = drv_alloc(sizeof got);
	CK(cuLibraryLoadData(&lib, ptx_misc, NULL, NULL, 0, NULL, NULL, 0));
	CK(cuLibraryGetKernel(&kernel, lib, "fill"));
	WANT(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel(&all[0], lib, "no_such_kernel"));
	CK(cuLibraryGetKernelCount(&count, lib));
	EXPECT_EQ(count, 11);
	CK(cuLibraryEnumerateKernels(all, 16, lib));
	CK(cuKernelGetName(&name, kernel));
	EXPECT(name && !strcmp(name, "fill"));
	CK(cuKernelGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0));
	EXPECT(threads >= 256 && threads <= 1024);
	CK(cuKernelGetParamInfo(kernel, 1, &off, &size));
	EXPECT(off == 8 && size == 4);
	WANT(CUDA_ERROR_INVALID_VALUE, cuKernelGetParamInfo(kernel, 3, &off, &size));
	CK(cuLibraryGetGlobal(&counter, &bytes, lib, "counter"));
	EXPECT_EQ(bytes, 4);
	/* A kernel handle may be launched as it is, or as a function of the current context. */
	for (int round = 0; round < 2; round++) {
		value = 99 + round;
		CK(cuKernelGetFunction(&f, kernel));
		CK(cuLaunchKernel(round ? (CUfunction)kernel : f, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
		CK(cuMemcpyDtoH(got, d, sizeof got));
		for (int i = 0; i < n; i++)
			want[i] = value;
		e2e_same_u32(round ? "kernel handle" : "kernel's function", got, want, n);
	}
	{
		CUlaunchConfig cfg;

		memset(&cfg, 0, sizeof cfg);
		cfg.gridDimX = cfg.gridDimY = cfg.gridDimZ = 1;
		cfg.blockDimX = 32;
		cfg.blockDimY = cfg.blockDimZ = 1;
		value = 7;
		CK(cuLaunchKernelEx(&cfg, f, args, NULL));
		CK(cuMemcpyDtoH(got, d, 4));
		EXPECT_EQ(got[0], 7);
		/* Outside the limits: refused at the call, the context lives on. */
		cfg.blockDimX = 2000;
		WANT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(&cfg, f, args, NULL));
		CK(cuCtxSynchronize());
	}
	CK(cuLibraryUnload(lib));
	CK(cuMemFree(d));
}

int main(void)
{
	CUcontext ctx = drv_start("modules");

	check_fatbins();
	check_errors();
	check_library();
	CK(cuCtxDestroy(ctx));
	return e2e_end("PTX, fat binaries, LZ4, zstd, errors, library API");
}
