/* SPDX-License-Identifier: MIT */
/*
 * What is not implemented says so: CUDA_ERROR_NOT_SUPPORTED and the call's name once on stderr, never a
 * success; there is no export table.
 */
#include "drv.h"

typedef CUresult (*any_fn)(void *, void *, void *, void *, void *, void *);

static any_fn find(const char *name)
{
	void *fn = NULL;
	any_fn any;

	CK(cuGetProcAddress_v2(name, &fn, 13010, 0, NULL));
	if (!fn)
		drv_die(__FILE__, __LINE__, name, CUDA_ERROR_NOT_FOUND);
	memcpy(&any, &fn, sizeof any);
	return any;
}

int main(void)
{
	static const char *const names[] = {
		"cuCheckpointProcessLock", "cuMemBatchDecompressAsync", "cuTexRefCreate", "cuGraphicsMapResources",
		"cuMulticastBindMem", "cuImportExternalMemory", "cuMulticastCreate", "cuSurfRefSetArray",
		"cuTensorMapEncodeTiled", "cuMemMapArrayAsync",
	};
	const unsigned n = sizeof names / sizeof names[0];
	/* The table that NVIDIA's own runtime opens first; any other id is as unknown. */
	static const CUuuid handshake = { { (char)0xd4, (char)0x08, 0x20, 0x55, (char)0xbd, (char)0xe6, 0x70,
		0x4b, (char)0x8d, 0x34, (char)0xba, 0x12, 0x3c, 0x66, (char)0xe1, (char)0xf2 } };
	static char text[16384];
	char path[] = "/tmp/vgpu-e2e-unsupported-XXXXXX", memory[4096];
	CUcontext ctx = drv_start("unsupported");
	int keep, fd = mkstemp(path), value = -1;
	const void *table = NULL;
	CUdeviceptr d = drv_alloc(64);
	uint64_t junk[64] = { 0 };
	CUstream s;
	ssize_t got;

	if (fd < 0)
		e2e_skip("no temporary file");
	unlink(path);
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	keep = dup(2);
	dup2(fd, 2);
	for (int round = 0; round < 2; round++)
		for (unsigned i = 0; i < n; i++) {
			/* Arguments that are readable wherever a call looks. */
			CUresult r = find(names[i])(junk, junk, junk, junk, junk, junk);

			if (r != CUDA_ERROR_NOT_SUPPORTED)
				e2e_fail("%s gave %s", names[i], drv_err(r));
		}
	WANT(CUDA_ERROR_NOT_SUPPORTED, cuMemHostRegister(memory, sizeof memory, CU_MEMHOSTREGISTER_IOMEMORY));
	fflush(stderr);
	dup2(keep, 2);
	got = pread(fd, text, sizeof text - 1, 0);
	text[got > 0 ? got : 0] = 0;
	for (unsigned i = 0; i < n; i++) {
		int seen = 0;

		for (char *p = text; (p = strstr(p, names[i])); p++)
			seen++;
		if (seen < 1)
			e2e_fail("%s was refused without a word on stderr", names[i]);
	}
	/* Once per call name, not once per call: two rounds, one line each. */
	{
		unsigned lines = 0;

		for (char *p = text; (p = strchr(p, '\n')); p++)
			lines++;
		if (lines > n + 2)
			e2e_fail("%u lines on stderr for %u names", lines, n);
	}

	CK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
	EXPECT_EQ(value, 0);
	WANT(CUDA_ERROR_NOT_FOUND, cuGetExportTable(&table, &handshake));
	/* A refusal harms nothing: the context goes on. */
	CK(cuMemsetD8(d, 1, 64));
	CK(cuCtxSynchronize());
	CK(cuStreamDestroy(s));
	CK(cuCtxDestroy(ctx));
	return e2e_end("%u calls refused by name", n + 1);
}
