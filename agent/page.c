/* SPDX-License-Identifier: MIT */
/*
 * The agent page: what all clients may read at any time. Sealed so that nobody who gets the fd can
 * write, resize or punch it: one client must not be able to change what the others see.
 */
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_ADD_SEALS 1033
#define PAGE_SEALS (0x1 | 0x2 | 0x4 | 0x10)     /* SEAL, SHRINK, GROW, FUTURE_WRITE (linux/fcntl.h) */

int page_init(void)
{
	int fd = (int)syscall(SYS_memfd_create, "vgpu-agent-page", 3u);        /* CLOEXEC, ALLOW_SEALING */

	if (fd < 0 || ftruncate(fd, 4096) < 0)
		goto fail;
	agent.page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (agent.page == MAP_FAILED)
		goto fail;
	/* Our mapping exists, so FUTURE_WRITE leaves us the only writer. */
	if (fcntl(fd, PAGE_ADD_SEALS, PAGE_SEALS) < 0)
		goto fail;
	agent.page->magic = VGPU_SESSION_MAGIC;
	agent.page->version = VGPU_PROTOCOL_VERSION;
	agent.page_fd = fd;
	return 0;
fail:
	log_error("the agent page cannot be made: %s (a kernel from 5.1 on is needed)", strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

void page_device(const struct device *d)
{
	struct vgpu_agent_device *p = &agent.page->device[d->index];

	if (d->ready)
		vgpu_store_relaxed64(&p->memory_bytes, d->info.memory_bytes);
	vgpu_store_release32(&p->state, d->ready ? 1 : 0);
}
