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
 *   - no memory beside the grant: private mappings only, which RLIMIT_DATA counts (shared, growing, locked and huge ones
 *     it does not), writable or without access (it forgets what becomes read-only, and page tables of what is only read), and
 *     physical memory is a file of the granted size;
 *   - no hole in memory that the agent reads: of madvise only what gives back or populates;
 *   - futexes that wait and wake, and nothing with owners or two words;
 *   - fd numbers keep their meaning: no close, no dup, no open, no fd received, and every call that
 *     takes an fd works on the numbers of ctx_proto.h alone: write(2) on a window memfd would be a mapping by
 *     another name; stderr is a pipe that the parent reads (ctxwords.c);
 *   - no processes, no threads, no signals to others, no ptrace; and no thread ends alone: of a process whose first thread is gone
 *     /proc has no memory and no page tables under its number, which is where the parent counts them.
 * Everything else kills the process.
 */
#define _GNU_SOURCE
#include "ctx.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/falloc.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../fw-protocol/vgpu_fence.h"

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

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23          /* since 5.14 */
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define MAX_INSNS 640
#define ALL_BITS 0xffffffffu
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

/* With the argument's low word in the accumulator: one of these words under the mask, or death. */
static void one_of(struct program *p, unsigned arg, uint32_t mask, const uint32_t *words, unsigned n, uint32_t action)
{
	load(p, ARG(arg));
	emit(p, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
	for (unsigned i = 0; i < n; i++)
		ret_if_equal(p, words[i], action);
	ret(p, SECCOMP_RET_KILL_PROCESS);
}

/* nr: that argument must be one of these words; else death. */
static void only(struct program *p, uint32_t nr, unsigned arg, uint32_t mask, const uint32_t *words, unsigned n)
{
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 3 + 2 * n);
	one_of(p, arg, mask, words, n, SECCOMP_RET_ALLOW);
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define ONLY(p, nr, arg, words) only(p, nr, arg, ALL_BITS, words, COUNT(words))

/* fallocate: physical memory alone, to commit it or to give it back. */
static void build_fallocate(struct program *p)
{
	static const uint32_t modes[] = { FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE };

	emit(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 3 + 3 + 2 * COUNT(modes));
	load(p, ARG(0));
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, CTX_AT_PHYS, 1, 0);
	ret(p, SECCOMP_RET_KILL_PROCESS);
	one_of(p, 1, ALL_BITS, modes, COUNT(modes), SECCOMP_RET_ALLOW);
}

/*
 * mmap: never executable. Of a file: the parent says. Anonymous: private, at a place or not. What of the flags changes
 * whom the memory is charged to (shared, growing down, locked, huge) is none of ours; a host's driver has what it pins in shared
 * memory, and no limit of its own memory (ctxgrant.c) but its cgroup's.
 */
static void build_mmap(struct program *p, uint32_t driver)
{
	static const uint32_t types[] = { MAP_PRIVATE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS };
	const unsigned ntypes = driver ? 2 : 1;
	const uint32_t plain = MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_NORESERVE | MAP_POPULATE | MAP_STACK | MAP_DENYWRITE;

	emit(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 9 + (driver ? 3 : 4) + 2 * ntypes);
	load(p, ARG(2));
	ret_if_bits(p, ~(uint32_t)(PROT_READ | PROT_WRITE), SECCOMP_RET_KILL_PROCESS);
	load(p, ARG(3));
	emit(p, BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, driver ? 4 : 1, 0);
	if (driver) {
		load(p, ARG(4));
		emit(p, BPF_JMP | BPF_JGT | BPF_K, CTX_AT_END, 0, 1);
		ret(p, SECCOMP_RET_ALLOW);
	}
	ret(p, SECCOMP_RET_USER_NOTIF);
	if (!driver) {
		load(p, ARG(2));
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, PROT_NONE, 2, 0);
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, PROT_READ | PROT_WRITE, 1, 0);
		ret(p, SECCOMP_RET_KILL_PROCESS);
	}
	one_of(p, 3, ~plain, types, ntypes, SECCOMP_RET_ALLOW);
}

/* nr on one of the driver's own descriptors is the driver's business; on a number that is fixed the other rules say. */
static void own_fd(struct program *p, uint32_t nr)
{
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 4);
	load(p, ARG(0));
	emit(p, BPF_JMP | BPF_JGT | BPF_K, CTX_AT_END, 0, 1);
	ret(p, SECCOMP_RET_ALLOW);
	load(p, offsetof(struct seccomp_data, nr));
}

/*
 * With the host's driver inside: its descriptors (above CTX_AT_END, where the listener is) may be read, written, controlled,
 * mapped and closed, and it may make pipes and events, and threads of this process. Of files there are its own device nodes, as far as a
 * wall stands that leaves no others (ctx_files.c); without one it is told that there are none, instead of killed.
 */
static void build_driver(struct program *p, uint32_t driver)
{
	static const uint32_t fd_calls[] = {
		SYS_ioctl, SYS_read, SYS_write, SYS_close, SYS_recvmsg, SYS_sendmsg, SYS_sendto, SYS_recvfrom, SYS_fcntl, SYS_fstat, SYS_dup,
		SYS_readv, SYS_writev, SYS_epoll_ctl, SYS_epoll_wait, SYS_ftruncate, SYS_lseek,
	};
	static const uint32_t calls[] = {
		SYS_poll, SYS_eventfd2, SYS_pipe2, SYS_epoll_create1, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_uname, SYS_getcpu,
		SYS_sched_getparam, SYS_sched_getscheduler, SYS_gettimeofday, SYS_membarrier, SYS_rt_sigaction, SYS_prlimit64, SYS_getrusage,
		SYS_mlock, SYS_munlock, SYS_sched_setaffinity, SYS_set_robust_list, SYS_rseq, SYS_memfd_create, SYS_get_mempolicy, SYS_exit,
	};
	static const uint32_t opens[] = { SYS_open, SYS_openat };
	static const uint32_t looks[] = { SYS_access, SYS_faccessat, SYS_stat, SYS_newfstatat, SYS_readlink, SYS_statx };
	const uint32_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;

	for (unsigned i = 0; i < COUNT(fd_calls); i++)
		own_fd(p, fd_calls[i]);
	for (unsigned i = 0; i < COUNT(calls); i++)
		ret_if_equal(p, calls[i], SECCOMP_RET_ALLOW);
	for (unsigned i = 0; i < COUNT(opens); i++)
		ret_if_equal(p, opens[i], driver & CTX_DRIVER_OPENS ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | ENOENT);
	for (unsigned i = 0; i < COUNT(looks); i++)
		ret_if_equal(p, looks[i], driver & CTX_DRIVER_LOOKS ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | ENOENT);
	/* it listens for processes that share memory with it: nobody can, and nobody's knock may end it */
	ret_if_equal(p, SYS_accept, SECCOMP_RET_ERRNO | EPERM);
	ret_if_equal(p, SYS_accept4, SECCOMP_RET_ERRNO | EPERM);
	/* its arguments lie in memory: the C library then takes clone, whose flags can be seen */
	ret_if_equal(p, SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 6);
	load(p, ARG(0));
	emit(p, BPF_ALU | BPF_AND | BPF_K, thread | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC, 0, 0);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, thread, 0, 1);
	ret(p, SECCOMP_RET_ALLOW);
	ret(p, SECCOMP_RET_KILL_PROCESS);
	ret(p, SECCOMP_RET_KILL_PROCESS);
}

/* vgpu verify finds strays by making memory read-only: the operator's choice, for his own programs. */
static int verifies(void)
{
	const char *engine = getenv("VGPU_ENGINE");

	return engine && !strcmp(engine, "verify");
}

static void build(struct program *p, uint32_t driver)
{
	static const uint32_t free_calls[] = {
		SYS_ppoll, SYS_getcpu, SYS_sched_yield, SYS_clock_gettime, SYS_nanosleep, SYS_clock_nanosleep,
		SYS_restart_syscall, SYS_munmap, SYS_rt_sigreturn,
		SYS_rt_sigprocmask, SYS_sigaltstack, SYS_exit_group, SYS_getpid, SYS_gettid,
		/* what malloc and qsort of the C library use: memory, processor count, entropy */
		SYS_brk, SYS_sched_getaffinity, SYS_sysinfo, SYS_getrandom,
		/* a thread that open() has created and that has not run its first instructions yet */
		SYS_rseq, SYS_set_robust_list,
	};
	static const uint32_t read_fds[] = { CTX_AT_KICK, CTX_AT_OWN };
	static const uint32_t write_fds[] = { CTX_AT_IRQ, CTX_AT_OWN, STDERR_FILENO };
	static const uint32_t driver_write_fds[] = { CTX_AT_IRQ, CTX_AT_OWN, STDERR_FILENO, STDOUT_FILENO };     /* a pipe of its own (cuda/print.c) */
	static const uint32_t socket_fds[] = { CTX_SOCKET_FD };
	static const uint32_t thread_name[] = { PR_SET_NAME };
	static const uint32_t advice[] = {
		MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_POPULATE_WRITE,
#ifdef __SANITIZE_ADDRESS__             /* of its own maps */
		MADV_DONTDUMP,
#endif
	};
	static const uint32_t driver_advice[] = { MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_DONTFORK, MADV_DOFORK, MADV_DONTDUMP,
						  MADV_WIPEONFORK };
	static const uint32_t futexes[] = { FUTEX_WAIT, FUTEX_WAKE, FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET };
	static const uint32_t writable[] = { PROT_READ | PROT_WRITE, PROT_READ };
	static const uint32_t barriers[] = { VGPU_MEMBARRIER_GLOBAL_EXPEDITED, VGPU_MEMBARRIER_PRIVATE_EXPEDITED };
	const uint32_t self[] = { (uint32_t)getpid() };

	load(p, offsetof(struct seccomp_data, arch));
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	ret(p, SECCOMP_RET_KILL_PROCESS);
	load(p, offsetof(struct seccomp_data, nr));
	if (driver)
		build_driver(p, driver);
	only(p, SYS_futex, 1, ~(uint32_t)(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME), futexes, COUNT(futexes));
	for (unsigned i = 0; i < COUNT(free_calls); i++)
		ret_if_equal(p, free_calls[i], SECCOMP_RET_ALLOW);
	ONLY(p, SYS_read, 0, read_fds);
	if (driver)
		ONLY(p, SYS_write, 0, driver_write_fds);
	else
		ONLY(p, SYS_write, 0, write_fds);
	ONLY(p, SYS_recvmsg, 0, socket_fds);
	ONLY(p, SYS_sendmsg, 0, socket_fds);
	ONLY(p, SYS_prctl, 0, thread_name);
	if (driver)
		ONLY(p, SYS_madvise, 2, driver_advice);
	else
		ONLY(p, SYS_madvise, 2, advice);
	ONLY(p, SYS_membarrier, 0, barriers);
	ONLY(p, SYS_tgkill, 0, self);           /* abort(): a failure of our own stays visible as SIGABRT */
	build_fallocate(p);
	/* realloc() tries it, and copies when it is refused */
	ret_if_equal(p, SYS_mremap, SECCOMP_RET_ERRNO | ENOMEM);
	build_mmap(p, driver);
	if (driver) {
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 4);
		load(p, ARG(2));
		ret_if_bits(p, ~(uint32_t)(PROT_READ | PROT_WRITE), SECCOMP_RET_KILL_PROCESS);
		ret(p, SECCOMP_RET_ALLOW);
	} else {
		only(p, SYS_mprotect, 2, ALL_BITS, writable, verifies() ? 2 : 1);
	}
	ret(p, SECCOMP_RET_KILL_PROCESS);
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	return syscall(SYS_capset, &h, none) ? -errno : 0;
}

int ctx_sandbox(uint32_t driver)
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
	build(&p, driver);
	prog = (struct sock_fprog){ .len = p.n, .filter = p.insn };
	/* NEW_LISTENER and TSYNC exclude each other unless a failure is reported as ESRCH. */
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC |
		     SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_TSYNC_ESRCH, &prog);
	return fd < 0 ? -errno : (int)fd;
}
