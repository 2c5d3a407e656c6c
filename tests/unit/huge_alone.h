/* SPDX-License-Identifier: MIT */
/* The number of the machine's huge pages is one for all tests: who changes it has this, as tests/hostile and tests/system have. */
#ifndef VGPU_TESTS_HUGE_ALONE_H
#define VGPU_TESTS_HUGE_ALONE_H

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

static int huge_alone(void)
{
	int fd = open("/tmp/vgpu-test-hugepages.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	if (fd >= 0)
		flock(fd, LOCK_EX);
	return fd;
}

static void huge_shared(int fd)
{
	if (fd >= 0)
		close(fd);
}

#endif
