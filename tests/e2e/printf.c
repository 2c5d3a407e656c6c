/* SPDX-License-Identifier: MIT */
/* Device printf: the text reaches this process's stdout at a synchronisation, complete and formatted. */
#include <pthread.h>

#include "drv.h"

E2E_PTX(misc);

static void *waits(void *ctx)
{
	CK(cuCtxSetCurrent(ctx));
	CK(cuCtxSynchronize());
	return NULL;
}

int main(void)
{
	pthread_t t[4];
	static char text[4096];
	CUcontext ctx = drv_start("printf");
	CUfunction f = drv_kernel(drv_module(ptx_misc), "say");
	char line[128], path[] = "/tmp/vgpu-e2e-printf-XXXXXX";
	int keep, fd = mkstemp(path), base = 40;
	ssize_t got;

	if (fd < 0)
		e2e_skip("no temporary file");
	unlink(path);
	fflush(stdout);
	keep = dup(1);
	dup2(fd, 1);
	LAUNCH(f, 1, 64, 0, NULL, &base);
	CK(cuCtxSynchronize());
	base = 7000;
	LAUNCH(f, 2, 32, 0, NULL, &base);
	CK(cuCtxSynchronize());
	fflush(stdout);
	dup2(keep, 1);
	got = pread(fd, text, sizeof text - 1, 0);
	text[got > 0 ? got : 0] = 0;
	for (int i = 0; i < 6; i++) {
		int id = i < 3 ? 40 + i : 7000 + i - 3;

		snprintf(line, sizeof line, "say %d of %d: %.3f text -1234567890123%%\n", id,
			i < 3 ? 64 : 32, 0.5 * id);
		if (!strstr(text, line))
			e2e_fail("no line \"%.*s\" in what the kernels printed", (int)strlen(line) - 1, line);
	}
	/* 3 lines of the first launch, 2 blocks x 3 lines of the second. */
	base = 0;
	for (char *p = text; (p = strchr(p, '\n')); p++)
		base++;
	EXPECT_EQ(base, 9);
	if (e2e_failures)
		printf("printf: what came: %s\n", text);
	/* many times what the ring holds: its kernel waits, and nothing is lost */
	dup2(fd, 1);
	if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET))
		e2e_fail("the temporary file cannot be emptied");
	base = 5;
	LAUNCH(f, 4000, 32, 0, NULL, &base);
	for (CUresult r = CUDA_ERROR_NOT_READY; r == CUDA_ERROR_NOT_READY;)
		r = cuStreamQuery(NULL);
	LAUNCH(f, 4000, 32, 0, NULL, &base);
	/* whoever waits prints what has come: several at once print nothing twice */
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, waits, ctx);
	CK(cuCtxSynchronize());
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	fflush(stdout);
	dup2(keep, 1);
	base = 0;
	lseek(fd, 0, SEEK_SET);
	while ((got = read(fd, text, sizeof text)) > 0)
		for (ssize_t i = 0; i < got; i++)
			base += text[i] == '\n';
	EXPECT_EQ(base, 24000);
	CK(cuCtxDestroy(ctx));
	return e2e_end("9 lines and 24,000 with %%d %%u %%f %%s %%lld");
}
