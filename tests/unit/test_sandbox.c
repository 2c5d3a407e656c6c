/* SPDX-License-Identifier: MIT */
/*
 * The system calls that a context is left with are these and no others: every number there is, and some there are not yet, each in a
 * process behind the real filter, with arguments of no use and of several kinds. A call of a newer kernel that does what a known one does
 * is forbidden without anybody having thought of it.
 *
 * Sources: tests/unit/test_sandbox.c tools/vgpu-stub/ctx_sandbox.c
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../tools/vgpu-stub/ctx.h"

#define NUMBERS 600                     /* of 6.18 the last is 469 */
#define KINDS 4

/* whatever their arguments */
static const int always[] = {
	SYS_ppoll, SYS_sched_yield, SYS_getcpu, SYS_clock_gettime, SYS_nanosleep, SYS_clock_nanosleep, SYS_restart_syscall, SYS_munmap,
	SYS_rt_sigprocmask, SYS_sigaltstack, SYS_exit_group, SYS_getpid, SYS_gettid, SYS_brk, SYS_sched_getaffinity, SYS_sysinfo,
	SYS_getrandom, SYS_rseq, SYS_set_robust_list,
	SYS_mremap,                     /* answers ENOMEM */
};
/* with some, which tests/hostile/native.sh tries */
static const int some[] = {
	SYS_futex, SYS_read, SYS_write, SYS_recvmsg, SYS_sendmsg, SYS_prctl, SYS_madvise, SYS_membarrier, SYS_tgkill, SYS_fallocate, SYS_mmap,
	SYS_mprotect,
	SYS_rt_sigreturn,               /* to nowhere; what a sanitizer says of that is forbidden */
};
/*
 * uretprobe and uprobe (since 6.11 and 6.18): the kernel asks no filter about these (seccomp_uprobe_exception()), and refuses whoever
 * calls them without being probed.
 */
#define PROBES(nr) ((nr) == 335 || (nr) == 336)

static int in(const int *list, size_t n, int nr)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == nr)
			return 1;
	return 0;
}

/* 1: killed for it, 0: it was let do it, -1: there is no filter here. */
static int killed(long nr, int kind)
{
	static const long with[KINDS][6] = { { 0 }, { -1, -1, -1, -1, -1, -1 }, { 1, 1, 1, 1, 1, 1 }, { 3, 4096, 4096, 4096, 4096, 4096 } };
	const long *a = with[kind];
	pid_t p = fork();
	int status;

	if (p < 0)
		return -1;
	if (!p) {
		alarm(5);       /* ppoll without end; an mmap of a file waits for an answer */
		if (ctx_sandbox(0) < 0)
			_exit(99);
		syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
		syscall(SYS_exit_group, 0);
	}
	while (waitpid(p, &status, 0) != p)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 99)
		return -1;
	return PROBES(nr) || (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

int main(void)
{
	unsigned checks = 0, bad = 0;

	for (int nr = 0; nr < NUMBERS; nr++) {
		int may = in(always, sizeof(always) / sizeof(always[0]), nr), may_some = in(some, sizeof(some) / sizeof(some[0]), nr);

		/* those that wait, of either kind, once */
		for (int kind = 0; kind < (may || may_some ? 1 : KINDS); kind++) {
			int k = nr == SYS_ppoll || nr == SYS_mmap ? killed(nr, 1) : killed(nr, kind);

			if (k < 0) {
				printf("skip: no seccomp filter with a listener can be had here\n");
				return 77;
			}
			checks++;
			if (may_some || k == !may)
				continue;
			bad++;
			printf("system call %d, arguments %d: %s\n", nr, kind, k ? "killed" : "let do it");
		}
	}
	/* the other doors, whose numbers mean something else (native.sh: int80, x32) */
	for (long nr = 0x40000000; nr < 0x40000000 + NUMBERS; nr += 7) {
		checks++;
		if (killed(nr, 0) != 1) {
			bad++;
			printf("system call 0x%lx: let do it\n", nr);
		}
	}
	printf("test_sandbox: %u checks, %u failed\n", checks, bad);
	return bad != 0;
}
