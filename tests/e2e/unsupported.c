/* SPDX-License-Identifier: MIT */
/*
 * What is not implemented says so: CUDA_ERROR_NOT_SUPPORTED and the call's name once on stderr, never a
 * success; there is no export table.
 */
#include "drv.h"

struct told { unsigned n; char last[256]; };

static void CUDA_CB hear(void *user, CUlogLevel level, char *message, size_t length)
{
	struct told *t = user;

	EXPECT(level == CU_LOG_LEVEL_ERROR && strlen(message) == length);
	t->n++;
	snprintf(t->last, sizeof t->last, "%s", message);
}

/* What is said stands in the log, also what was said before; it goes round after a hundred lines. */
static void logs(CUresult (*refused)(void *, void *, void *, void *, void *, void *), const char *name)
{
	static char text[30000], small[64];
	char path[] = "/tmp/vgpu-e2e-logs-XXXXXX";
	CUlogsCallbackHandle h;
	CUlogIterator at, then;
	struct told t = { 0 };
	int fd = mkstemp(path);
	size_t n = 1, lines = 0;

	WANT(CUDA_ERROR_INVALID_VALUE, cuLogsCurrent(&at, 1));
	WANT(CUDA_ERROR_INVALID_VALUE, cuLogsRegisterCallback(NULL, NULL, &h));
	CK(cuLogsCurrent(&at, 0));
	n = sizeof text;
	CK(cuLogsDumpToMemory(&at, text, &n, 0));
	EXPECT_EQ(n, 0);
	CK(cuLogsRegisterCallback(hear, &t, &h));
	WANT(CUDA_ERROR_NOT_SUPPORTED, refused(small, small, small, small, small, small));
	EXPECT(t.n == 1 && strstr(t.last, name));
	CK(cuLogsUnregisterCallback(h));
	WANT(CUDA_ERROR_INVALID_VALUE, cuLogsUnregisterCallback(h));
	WANT(CUDA_ERROR_NOT_SUPPORTED, refused(small, small, small, small, small, small));
	EXPECT_EQ(t.n, 1);
	then = at;
	n = sizeof text;
	CK(cuLogsDumpToMemory(&at, text, &n, 0));
	EXPECT(n == strlen(text) && strstr(text, name) && strstr(strchr(text, '\n') + 1, name) && text[n - 1] == '\n');
	n = sizeof text;
	CK(cuLogsDumpToMemory(&at, text, &n, 0));       /* it has gone on */
	EXPECT_EQ(n, 0);
	/* the latest that fits, and word of the others; too little for any */
	n = 120;
	CK(cuLogsDumpToMemory(&then, text, &n, 0));
	EXPECT(n < 120 && strstr(text, "missing") && strstr(text, name));
	n = 20;
	at = 0;
	WANT(CUDA_ERROR_INVALID_VALUE, cuLogsDumpToMemory(&at, small, &n, 0));
	EXPECT_EQ(n, 0);
	for (int i = 0; i < 150; i++)
		refused(small, small, small, small, small, small);
	n = sizeof text;
	CK(cuLogsDumpToMemory(NULL, text, &n, 0));
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	EXPECT_EQ(lines, 101);
	at = 0;
	CK(cuLogsDumpToFile(&at, path, 0));
	EXPECT(fd >= 0 && lseek(fd, 0, SEEK_END) == (off_t)n);
	WANT(CUDA_ERROR_INVALID_VALUE, cuLogsDumpToFile(&at, "/nonexistent/x", 0));
	close(fd);
	unlink(path);
}

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
		"cuCheckpointProcessLock", "cuMemBatchDecompressAsync", "cuDestroyExternalMemory", "cuGraphicsMapResources",
		"cuMulticastBindMem", "cuImportExternalMemory", "cuMulticastCreate", "cuExternalMemoryGetMappedBuffer",
		"cuTensorMapEncodeIm2colWide", "cuMemMapArrayAsync",
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
	logs(find(names[0]), names[0]);
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
