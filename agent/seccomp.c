/* SPDX-License-Identifier: MIT */
/*
 * Allow-lists, one per thread (seccomp(2)). A call outside its list ends the agent with a line that
 * names it: that is a mistake of ours or somebody else's code in our process.
 *
 * What no list has: execve, ptrace, fork, open but for reading (but for the thread that opens PCI functions), kill, setuid, mount, bpf.
 */
#include "seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "log.h"
#include "machine.h"

#define MAX_CALLS 120

/* futex, sleep, wake, memory for the SIGBUS handler, the C library's own at thread exit. */
#define COMMON SYS_futex, SYS_read, SYS_write, SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_ctl, SYS_sched_yield, \
	SYS_membarrier, SYS_mmap, SYS_munmap, SYS_madvise, SYS_rt_sigreturn, SYS_rt_sigaction, SYS_rt_sigprocmask, \
	SYS_clock_gettime, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettid, SYS_getpid, SYS_tkill, SYS_tgkill, SYS_exit, \
	SYS_exit_group, SYS_restart_syscall, SYS_sendto, SYS_mprotect, SYS_brk, SYS_close

/* pwrite64: the doorbells of a PCI function. */
static const int data_calls[] = { COMMON, SYS_pwrite64 };
static const int closer_calls[] = { COMMON, SYS_timer_settime };
/* The device's thread: a socket, or files of the kernel's VFIO. */
#define DEVICE COMMON, SYS_poll, SYS_ppoll, SYS_fcntl, SYS_eventfd2, SYS_memfd_create, SYS_ftruncate, SYS_fallocate, SYS_mremap
static const int user_calls[] = { DEVICE, SYS_socket, SYS_connect, SYS_sendmsg, SYS_recvmsg };
static const int vfio_calls[] = {
	DEVICE, SYS_pread64, SYS_pwrite64, SYS_open, SYS_openat, SYS_access, SYS_faccessat, SYS_readlink, SYS_readlinkat, SYS_getdents64, SYS_fstat,
	SYS_newfstatat, SYS_ioctl, SYS_epoll_create1, SYS_timerfd_create, SYS_timerfd_settime,
};
/* reboot stays last: only PID 1 has it. */
static const int control_calls[] = {
	COMMON, SYS_accept4, SYS_recvmsg, SYS_recvfrom, SYS_sendmsg, SYS_getsockopt, SYS_poll,
	SYS_ppoll, SYS_pidfd_open, SYS_memfd_create, SYS_ftruncate, SYS_fallocate, SYS_fcntl, SYS_eventfd2, SYS_unlink,
	SYS_unlinkat, SYS_wait4, SYS_waitid, SYS_writev, SYS_mlock, SYS_munlock, SYS_fstat, SYS_lseek, SYS_readv,
	SYS_mremap, SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_set_robust_list, SYS_flock,
	SYS_pread64, SYS_pwrite64, SYS_fstatfs, SYS_sync, SYS_reboot,
};

static void stopped(int sig, siginfo_t *info, void *context)
{
	static const char text[] = "vgpu-agent: error: stopped by its own seccomp filter at system call ";
	char line[sizeof(text) + 8];
	size_t n = sizeof(text) - 1;
	unsigned call = (unsigned)info->si_syscall;

	(void)sig, (void)context;
	memcpy(line, text, n);
	for (unsigned div = 1000; div; div /= 10)
		line[n++] = (char)('0' + call / div % 10);
	line[n++] = '\n';
	if (write(2, line, n) < 0)
		_exit(71);
	_exit(70);
}

void seccomp_init(void)
{
	struct sigaction sa = { .sa_sigaction = stopped, .sa_flags = SA_SIGINFO };

	sigemptyset(&sa.sa_mask);
	sigaction(SIGSYS, &sa, NULL);
}

static void install(const int *calls, unsigned n, int reads, const char *who)
{
	struct sock_filter f[MAX_CALLS + 12];
	struct sock_fprog prog = { .filter = f };
	unsigned i = 0;

	f[i++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	f[i++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	f[i++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
	f[i++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	if (reads) {                    /* files may be opened to be read: /proc/PID/cgroup, the limits */
		f[i++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3);
		f[i++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 2 * sizeof(uint64_t));
		f[i++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, O_RDONLY | O_CLOEXEC, (uint8_t)(n + 2), 0);
		f[i++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	}
	for (unsigned k = 0; k < n && k < MAX_CALLS; k++)
		f[i++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[k], (uint8_t)(n - k), 0);
	f[i++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
	f[i++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prog.len = (unsigned short)i;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		log_warn("the %s thread runs without a seccomp filter: %s", who, strerror(errno));
}

void seccomp_data_thread(void)
{
	install(data_calls, sizeof(data_calls) / sizeof(data_calls[0]), 0, "data");
}

void seccomp_closer_thread(void)
{
	install(closer_calls, sizeof(closer_calls) / sizeof(closer_calls[0]), 0, "closing");
}

void seccomp_control_thread(void)
{
	install(control_calls, sizeof(control_calls) / sizeof(control_calls[0]) - !machine_first(), 1, "control");
}

void seccomp_device_thread(int kernel)
{
	if (kernel)
		install(vfio_calls, sizeof(vfio_calls) / sizeof(vfio_calls[0]), 0, "device");
	else
		install(user_calls, sizeof(user_calls) / sizeof(user_calls[0]), 0, "device");
}
