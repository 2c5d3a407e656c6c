/* SPDX-License-Identifier: MIT */
/*
 * Registered memory that other processes see too (MAP_SHARED): a kernel's words are in the file and in a process that never met CUDA, and
 * theirs in the kernel. By the file's name, by a descriptor that is open, at an offset, of a file shorter than a page; what cannot be is said.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "drv.h"

E2E_PTX(misc);

static CUfunction affine;

static void work(CUdeviceptr d, int n)
{
	uint32_t mul = 3, add = 1;

	LAUNCH(affine, (n + 127) / 128, 128, 0, NULL, &d, &mul, &add, &n);
	CK(cuCtxSynchronize());
}

static int memory_file(size_t bytes)
{
	int fd = (int)syscall(SYS_memfd_create, "e2e-lent", 1u);

	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
		e2e_skip("no memfd");
	return fd;
}

static uint32_t *see(int fd, size_t bytes, off_t offset, int prot)
{
	uint32_t *p = mmap(NULL, bytes, prot, MAP_SHARED, fd, offset);

	if (p == MAP_FAILED)
		e2e_skip("mmap: %s", strerror(errno));
	return p;
}

/* The child adds 5 to each word and goes; false: it saw another one than want(i). */
static int child_adds(uint32_t *p, int n, uint32_t mul, uint32_t add)
{
	pid_t pid = fork();
	int st = -1;

	if (!pid) {
		for (int i = 0; i < n; i++)
			if (p[i] != (uint32_t)i * mul + add)
				_exit(1);
		for (int i = 0; i < n; i++)
			p[i] += 5;
		_exit(0);
	}
	return waitpid(pid, &st, 0) == pid && st == 0;
}

/* n words of the file, `skip` bytes behind where its mapping begins; what is in it through p and through another mapping */
static void round_trip(int fd, size_t mapped, off_t offset, size_t skip, int n, int then_closed)
{
	char *at = (char *)see(fd, mapped, offset, PROT_READ | PROT_WRITE);
	uint32_t *p = (uint32_t *)(at + skip), *other = (uint32_t *)((char *)see(fd, mapped, offset, PROT_READ) + skip);
	uint32_t *back = e2e_malloc((size_t)n * 4);
	CUdeviceptr d, copy = drv_alloc((size_t)n * 4);
	int wrong = 0;

	for (int i = 0; i < n; i++)
		p[i] = (uint32_t)i;
	CK(cuMemHostRegister(p, (size_t)n * 4, CU_MEMHOSTREGISTER_DEVICEMAP));
	if (then_closed)
		close(fd);
	CK(cuMemHostGetDevicePointer(&d, p, 0));
	work(d, n);
	for (int i = 0; i < n; i++)
		wrong += p[i] != (uint32_t)i * 3 + 1 || other[i] != p[i];
	EXPECT(!wrong);
	EXPECT(child_adds(p, n, 3, 1));
	/* a copy by the program's address, and one by the device's */
	CK(cuMemcpyHtoD(copy, p, (size_t)n * 4));
	work(d, n);
	CK(cuMemcpyDtoH(back, copy, (size_t)n * 4));
	for (int i = 0; i < n; i++)
		wrong += back[i] != (uint32_t)i * 3 + 6 || other[i] != back[i] * 3 + 1;
	EXPECT(!wrong);
	CK(cuMemHostUnregister(p));
	WANT(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(p));
	EXPECT(child_adds(p, n, 9, 19));
	/* again: the device has the file already, whether it is still open or not */
	CK(cuMemHostRegister(p, (size_t)n * 4, 0));
	CK(cuMemHostGetDevicePointer(&d, p, 0));
	work(d, n);
	for (int i = 0; i < n; i++)
		wrong += p[i] != ((uint32_t)i * 9 + 24) * 3 + 1;
	EXPECT(!wrong);
	CK(cuMemHostUnregister(p));
	CK(cuMemFree(copy));
	free(back);
	munmap(at, mapped);
	munmap((char *)other - skip, mapped);
}

/* Pieces of one mapping, also on one page; a mapping of something else at the same place */
static void pieces(void)
{
	int fd = memory_file(1 << 20), fd2 = memory_file(1 << 20);
	uint32_t *p = see(fd, 1 << 20, 0, PROT_READ | PROT_WRITE), *q = see(fd2, 1 << 20, 0, PROT_READ | PROT_WRITE);
	CUdeviceptr d[64], dq;

	q[0] = 7;
	for (int i = 0; i < 64; i++) {
		p[i * 100] = (uint32_t)i;
		CK(cuMemHostRegister(p + i * 100, 400, 0));
		CK(cuMemHostGetDevicePointer(&d[i], p + i * 100, 0));
		EXPECT(d[i] - d[0] == (CUdeviceptr)i * 400);
	}
	WANT(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(p + 50, 400, 0));
	for (int i = 0; i < 64; i++)
		work(d[i], 1);
	for (int i = 0; i < 64; i++) {
		EXPECT_EQ(p[i * 100], (uint32_t)i * 3 + 1);
		if (i)
			CK(cuMemHostUnregister(p + i * 100));
	}
	/* the first is still registered when another file is mapped there: it is gone, and nobody else's memory is taken for it */
	if (mremap(q, 1 << 20, 1 << 20, MREMAP_MAYMOVE | MREMAP_FIXED, p) != p)
		e2e_skip("mremap: %s", strerror(errno));
	CK(cuMemHostRegister(p, 400, 0));
	CK(cuMemHostGetDevicePointer(&dq, p, 0));
	EXPECT(dq != d[0]);
	work(dq, 1);
	EXPECT_EQ(p[0], 7 * 3 + 1);
	CK(cuMemHostUnregister(p));
	munmap(p, 1 << 20);
	close(fd);
	close(fd2);
}

static void refusals(void)
{
	char name[] = "/var/tmp/e2e-lent-XXXXXX", link[64];
	int disk = mkstemp(name), fd = memory_file(8192), ro;
	uint32_t *p;

	/* pages behind the file's end; there before, and taken away */
	p = see(fd, 16384, 0, PROT_READ | PROT_WRITE);
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister(p, 16384, 0));
	CK(cuMemHostRegister(p, 8192, 0));
	CK(cuMemHostUnregister(p));
	munmap(p, 16384);
	/* no descriptor that may write: the name of a memfd is none, and the kernel's link is the administrator's */
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ro = open(link, O_RDONLY);
	p = see(ro, 8192, 0, PROT_READ);
	close(fd);
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister(p, 4096, 0));  /* not to be written, and not said to be read only */
	munmap(p, 8192);
	close(ro);
	/* a file on a disk: its pages come and go */
	if (disk >= 0 && ftruncate(disk, 8192) == 0) {
		p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, disk, 0);
		unlink(name);
		if (p != MAP_FAILED && *p == 0) {
			CUresult r = cuMemHostRegister(p, 8192, 0);

			/* where /var/tmp is memory, too, it can be */
			EXPECT(r == CUDA_ERROR_NOT_SUPPORTED || r == CUDA_SUCCESS);
			p[0] = 1;
		}
	}
}

int main(void)
{
	CUcontext ctx = drv_start("lent");
	char name[64];
	int fd;

	affine = drv_kernel(drv_module(ptx_misc), "affine");
	round_trip(memory_file(4 << 20), 4 << 20, 0, 0, 1 << 20, 1);
	round_trip(memory_file(100), 100, 0, 0, 25, 1);
	round_trip(memory_file(3 << 20), 1 << 20, 1 << 20, 12, 1000, 0);
	/* by its name alone */
	snprintf(name, sizeof name, "/dev/shm/e2e-lent-%d", (int)getpid());
	fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd >= 0 && ftruncate(fd, 1 << 20) == 0) {
		uint32_t *p = see(fd, 1 << 20, 0, PROT_READ | PROT_WRITE);
		CUdeviceptr d;

		close(fd);
		p[3] = 4;
		CK(cuMemHostRegister(p, 1 << 20, 0));
		unlink(name);
		CK(cuMemHostGetDevicePointer(&d, p, 0));
		work(d, 1000);
		EXPECT_EQ(p[3], 13);
		munmap(p, 1 << 20);
	}
	pieces();
	refusals();
	CK(cuCtxDestroy(ctx));
	return e2e_end("shared memory: of a file with and without a name, pieces, another at the same place");
}
