/* SPDX-License-Identifier: MIT */
/*
 * The sandbox: what a context may still ask of the kernel once client input reaches it.
 *
 * Called once, after the engine's threads are up (TSYNC puts the filter on all of them). What
 * counts here:
 *   - no new code: no execve, no PROT_EXEC in mmap or mprotect (an engine that compiles maps its arena, an RW
 *     and an RX view, in open(), before this);
 *   - no new memory of others: mmap of a file is asked of the parent (USER_NOTIF), and there is no mremap or
 *     remap_file_pages, which would grow one allowed page to all of the file;
 *   - fd numbers keep their meaning: no close, no dup, no open, no fd received, and every call that
 *     takes an fd works on the numbers of ctx_proto.h alone: write(2) on a window memfd would be a mapping by
 *     another name;
 *   - no processes, no threads, no signals to others, no ptrace.
 * Everything else kills the process.
 */
#include "ctx.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "the sandbox knows x86-64 and AArch64"
#endif

#ifndef SECCOMP_FILTER_FLAG_TSYNC_ESRCH
#define SECCOMP_FILTER_FLAG_TSYNC_ESRCH (1UL << 4)      /* since 5.7 */
#endif

#define MAX_INSNS 256
#define ARG(i) ((uint32_t)offsetof(struct seccomp_data, args) + 8u * (i))      /* low word */

struct program {
	struct sock_filter insn[MAX_INSNS];
	unsigned short n;
};

static void emit(struct program *p, unsigned code, uint32_t k, unsigned jt, unsigned jf)
{
	p->insn[p->n++] = (struct sock_filter){ (uint16_t)code, (uint8_t)jt, (uint8_t)jf, k };
}

static void load(struct program *p, uint32_t offset) { emit(p, BPF_LD | BPF_W | BPF_ABS, offset, 0, 0); }
static void ret(struct program *p, uint32_t action) { emit(p, BPF_RET | BPF_K, action, 0, 0); }

static void ret_if_equal(struct program *p, uint32_t value, uint32_t action)
{
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	ret(p, action);
}

static void ret_if_bits(struct program *p, uint32_t bits, uint32_t action)
{
	emit(p, BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
	ret(p, action);
}

/* nr: argument 0 must be one of these words; else death. */
static void only(struct program *p, uint32_t nr, const uint32_t *words, unsigned n)
{
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 2 + 2 * n);
	load(p, ARG(0));
	for (unsigned i = 0; i < n; i++)
		ret_if_equal(p, words[i], SECCOMP_RET_ALLOW);
	ret(p, SECCOMP_RET_KILL_PROCESS);
}

static void build(struct program *p)
{
	static const uint32_t free_calls[] = {
		SYS_futex, SYS_ppoll, SYS_sched_yield, SYS_clock_gettime, SYS_nanosleep, SYS_clock_nanosleep,
		SYS_restart_syscall, SYS_madvise, SYS_munmap, SYS_membarrier, SYS_rt_sigreturn,
		SYS_rt_sigprocmask, SYS_sigaltstack, SYS_exit, SYS_exit_group, SYS_getpid, SYS_gettid,
		/* what malloc and qsort of the C library use: memory, processor count, entropy */
		SYS_brk, SYS_sched_getaffinity, SYS_sysinfo, SYS_getrandom,
		/* a thread that open() has created and that has not run its first instructions yet */
		SYS_rseq, SYS_set_robust_list,
	};
	static const uint32_t read_fds[] = { CTX_AT_KICK, CTX_AT_OWN };
	static const uint32_t write_fds[] = { CTX_AT_IRQ, CTX_AT_OWN, STDERR_FILENO };
	static const uint32_t socket_fds[] = { CTX_SOCKET_FD }, phys_fds[] = { CTX_AT_PHYS };
	static const uint32_t thread_name[] = { PR_SET_NAME };
	const uint32_t self[] = { (uint32_t)getpid() };

	load(p, offsetof(struct seccomp_data, arch));
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	ret(p, SECCOMP_RET_KILL_PROCESS);
	load(p, offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < sizeof(free_calls) / sizeof(free_calls[0]); i++)
		ret_if_equal(p, free_calls[i], SECCOMP_RET_ALLOW);
	only(p, SYS_read, read_fds, 2);
	only(p, SYS_write, write_fds, 3);
	only(p, SYS_recvmsg, socket_fds, 1);
	only(p, SYS_sendmsg, socket_fds, 1);
	only(p, SYS_fallocate, phys_fds, 1);
	only(p, SYS_prctl, thread_name, 1);
	only(p, SYS_tgkill, self, 1);           /* abort(): a failure of our own stays visible as SIGABRT */
	/* realloc() tries it, and copies when it is refused */
	ret_if_equal(p, SYS_mremap, SECCOMP_RET_ERRNO | ENOMEM);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 7);
	load(p, ARG(2));
	ret_if_bits(p, PROT_EXEC, SECCOMP_RET_KILL_PROCESS);
	load(p, ARG(3));
	ret_if_bits(p, MAP_ANONYMOUS, SECCOMP_RET_ALLOW);
	ret(p, SECCOMP_RET_USER_NOTIF);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 4);
	load(p, ARG(2));
	ret_if_bits(p, PROT_EXEC, SECCOMP_RET_KILL_PROCESS);
	ret(p, SECCOMP_RET_ALLOW);
	ret(p, SECCOMP_RET_KILL_PROCESS);
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	return syscall(SYS_capset, &h, none) ? -errno : 0;
}

int ctx_sandbox(void)
{
	struct program p = { .n = 0 };
	struct sock_fprog prog;
	struct rlimit no_core = { 0, 0 };
	long fd;
	int rc;

	/*
	 * RLIMIT_NOFILE stays: it also bounds what all processes of the user have in flight in sockets, and READY still
	 * has to carry the listener. The parent lowers it when it has that (ctxproc.c).
	 */
	if (setrlimit(RLIMIT_CORE, &no_core))
		return -errno;
	rc = drop_capabilities();
	if (rc)
		return rc;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	build(&p);
	prog = (struct sock_fprog){ .len = p.n, .filter = p.insn };
	/* NEW_LISTENER and TSYNC exclude each other unless a failure is reported as ESRCH. */
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC |
		     SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_TSYNC_ESRCH, &prog);
	return fd < 0 ? -errno : (int)fd;
}
