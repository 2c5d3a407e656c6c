/* SPDX-License-Identifier: MIT */
/*
 * A window on hugetlb pages that the agent takes back (client.c there: a client that was ended) has holes. One in a memfd's ordinary
 * pages is zeroes to who touches it, one in hugetlb's is a SIGBUS once the machine's huge pages are with others; and a thread may be in
 * the middle of a copy. So there, and only there, this library has a signal handler: it puts zeroes in the hole's place, and the
 * access runs again. What was read counts as nothing: who has read looks at the window's magic, which is zero by then (vgpu_client.h).
 *
 * What faults elsewhere goes to whom it went to before. A program that sets its own action afterwards has taken ours off.
 */
#include "core.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#define HUGETLBFS_MAGIC 0x958458f6      /* statfs(2) */
#define SEGMENTS 128u                   /* more than an agent gives */

static struct sigaction before;
static uint64_t huge[SEGMENTS][2];      /* address, bytes; the handler reads them: written before `segments` grows */
static uint32_t segments;

static bool fill(uintptr_t at)
{
	uintptr_t hole = at & ~(uintptr_t)(VGPU_HUGE - 1);
	uint32_t i = 0, n = vgpu_load_acquire32(&segments);
	int saved = errno;
	bool done;

	while (i < n && at - huge[i][0] >= huge[i][1])
		i++;
	if (i == n)
		return false;
	done = mmap((void *)hole, VGPU_HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) !=
	       MAP_FAILED;
	errno = saved;
	return done;
}

static void handler(int sig, siginfo_t *info, void *context)
{
	bool fault = info->si_code > 0;         /* and not somebody's kill() */

	/* not BUS_MCEERR_AR: memory that is broken is no hole */
	if (info->si_code == BUS_ADRERR && fill((uintptr_t)info->si_addr))
		return;
	if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(sig, info, context);
	} else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
		before.sa_handler(sig);
	} else if (fault || before.sa_handler == SIG_DFL) {
		sigaction(sig, &before, NULL);  /* the access, run again, faults without us */
		if (!fault)
			raise(sig);             /* it waits until this handler returns */
	}
}

void vg_holes_forget(void)
{
	vgpu_store_release32(&segments, 0);
}

void vg_holes_watch(int fd, const void *p, uint64_t bytes)
{
	static bool set;
	static struct vg_lock lock;
	struct sigaction ours = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0 || fs.f_type != HUGETLBFS_MAGIC)
		return;
	vg_lock(&lock);
	if (segments < SEGMENTS) {
		huge[segments][0] = (uintptr_t)p;
		huge[segments][1] = bytes;
		vgpu_store_release32(&segments, segments + 1);
	}
	if (!set && sigaction(SIGBUS, NULL, &before) == 0) {
		/* with what the one before asks for: what waits meanwhile, and whether calls go on */
		ours.sa_mask = before.sa_mask;
		ours.sa_flags |= before.sa_flags & (SA_RESTART | SA_NODEFER);
		set = sigaction(SIGBUS, &ours, NULL) == 0;
	}
	vg_unlock(&lock);
}
