/* SPDX-License-Identifier: MIT */
/*
 * A window's hole becomes zeroes to who touches it; what faults elsewhere, and what somebody sends, goes where it went before. Holes are
 * what a file's end cuts off: the same SIGBUS (BUS_ADRERR) as hugetlb's, which not every machine has; what kind of pages a file has is
 * answered by this test in libc's place.
 *
 * Sources: tests/unit/test_core_holes.c      Flags: -D_GNU_SOURCE
 */
#include "../../libcuda-lite/core/holes.c"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static long kind = HUGETLBFS_MAGIC;

int fstatfs(int fd, struct statfs *fs)
{
	(void)fd;
	*fs = (struct statfs){ .f_type = kind };
	return 0;
}

static sigjmp_buf out;
static volatile int code;
static void *volatile where;

static void theirs(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	code = info->si_code;
	where = info->si_addr;
	if (code > 0)
		siglongjmp(out, 1);
}

/* A file of two huge pages of which only a page is left, mapped. */
static volatile uint8_t *cut(int *fd)
{
	uint8_t *p = mmap(NULL, 3 * VGPU_HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	p += -(uintptr_t)p & (VGPU_HUGE - 1);
	*fd = memfd_create("window", 0);
	CHECK(ftruncate(*fd, 2 * VGPU_HUGE) == 0);
	CHECK(mmap(p, 2 * VGPU_HUGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, *fd, 0) == p);
	memset(p, 7, 2 * VGPU_HUGE);
	CHECK(ftruncate(*fd, 4096) == 0);
	return p;
}

/* How a child of ours ends that touches p, or gets the signal from itself. */
static int ends(const volatile uint8_t *p)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		if (p)
			_exit(*p);
		raise(SIGBUS);
		_exit(77);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = theirs, .sa_flags = SA_SIGINFO }, now;
	int fd, other, plain, status;
	volatile uint8_t *window = cut(&fd), *elsewhere = cut(&other), *small = cut(&plain);

	sigaction(SIGBUS, &sa, NULL);

	/* ordinary pages are nobody's business: no handler */
	kind = 0x01021994;
	vg_holes_watch(plain, (void *)small, 2 * VGPU_HUGE);
	sigaction(SIGBUS, NULL, &now);
	CHECK(now.sa_sigaction == theirs);
	kind = HUGETLBFS_MAGIC;
	vg_holes_watch(fd, (void *)window, VGPU_HUGE);
	vg_holes_watch(fd, (void *)(window + VGPU_HUGE), VGPU_HUGE);

	/* a hole is zeroes, for the huge page of it; it can be written, and does no more fault */
	errno = 5;
	CHECK(window[VGPU_HUGE + 12345] == 0 && errno == 5 && window[0] == 7);
	window[2 * VGPU_HUGE - 1] = 3;
	CHECK(window[2 * VGPU_HUGE - 1] == 3);
	CHECK(window[8192] == 0 && window[0] == 0 && code == 0);

	/* elsewhere, and behind the last one: theirs */
	if (!sigsetjmp(out, 1))
		CHECK(elsewhere[8192] == 1 && 0);
	CHECK(code == BUS_ADRERR && where == elsewhere + 8192);
	code = 0;
	if (!sigsetjmp(out, 1))
		CHECK(small[VGPU_HUGE] == 1 && 0);
	CHECK(code == BUS_ADRERR && where == small + VGPU_HUGE);
	code = 1;
	raise(SIGBUS);
	CHECK(code <= 0);

	/* nobody before us: whoever faults elsewhere dies of it, and so does who is sent it; who ignores it lives */
	before = (struct sigaction){ .sa_handler = SIG_DFL };
	status = ends(elsewhere + 8192);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	status = ends(NULL);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	before.sa_handler = SIG_IGN;
	status = ends(NULL);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 77);
	status = ends(elsewhere + 8192);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);

	/* the session is over: the same place is anybody's */
	vg_holes_forget();
	before = sa;
	CHECK(mmap((void *)window, VGPU_HUGE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == window);
	code = 0;
	if (!sigsetjmp(out, 1))
		CHECK(window[8192] == 1 && 0);
	CHECK(code == BUS_ADRERR);
	printf("test_core_holes: %u checks, %u failed\n", checks, failed);
	return failed ? 1 : 0;
}
