/* SPDX-License-Identifier: MIT */
/*
 * Native code in a context: what it tries, and what may come of it. Shared by the side that runs inside a context
 * process behind the real sandbox (native_ctx.c) and by its accomplice outside, an ordinary CUDA program (native.c).
 *
 * WANT  died      the context is killed for it
 *       refused   the call fails and the context lives; stopped: one or the other
 *       bounded   as much as was had is at most what native.sh says
 *       harmless  it is let do it; native.sh looks whether anybody else notices
 *
 * The accomplice asks with a 64-bit cuStreamWriteValue: NATIVE_MAGIC << 32 | number, at a struct native_outcome.
 */
#ifndef HOSTILE_NATIVE_H
#define HOSTILE_NATIVE_H

#include <stdint.h>

#define NATIVE_MAGIC 0x4e415456u

struct native_outcome {
	uint64_t word;          /* what the WRITE_VALUE would have written */
	uint64_t state;         /* 0 not begun, 1 begun, 2 over */
	int64_t value;          /* of the call, or -errno */
};

/* By hand, in native_ctx.c. */
#define NATIVE_ATTACKS(X) \
	X(hugetlb_punch,   died,     "takes all huge pages, then punches its queue block: the agent's next access has no page") \
	X(punch_queue,     died,     "MADV_REMOVE on the queue block that it shares with the agent") \
	X(punch_window,    died,     "MADV_REMOVE on segment 0 of its client") \
	X(hugetlb_map,     died,     "MAP_HUGETLB: the pool of the agent's windows") \
	X(shared_anon,     died,     "MAP_SHARED | MAP_ANONYMOUS: shmem, which RLIMIT_DATA does not count") \
	X(grows_down,      died,     "MAP_GROWSDOWN: a stack, which RLIMIT_DATA does not count") \
	X(mprotect_grows,  died,     "mprotect with PROT_GROWSDOWN") \
	X(map_locked,      died,     "MAP_LOCKED") \
	X(map_exec,        died,     "new code by mmap") \
	X(mprotect_exec,   died,     "new code by mprotect") \
	X(map_file_whole,  died,     "the whole file of the segment that was mapped last") \
	X(mremap_grow,     refused,  "mremap of the window, to see more of its file") \
	X(anon_flood,      bounded,  "private memory, mapped and touched until it is refused") \
	X(anon_hidden,     died,     "private memory, filled and then made read-only, which RLIMIT_DATA no longer counts") \
	X(anon_forgotten,  died,     "the same with PROT_NONE") \
	X(anon_readable,   died,     "terabytes of read-only nothing, whose page tables nobody counts") \
	X(tables_shared,   died,     "a little physical memory at ever more addresses: page tables") \
	X(tables_private,  died,     "a page of private memory here and there, in all addresses there are") \
	X(run_write,       stopped,     "the page by which the device tells it what it was granted, made writable") \
	X(brk_flood,       bounded,  "the same by brk") \
	X(phys_flood,      bounded,  "fallocate of physical memory until it is refused") \
	X(phys_touch,      bounded,  "physical memory mapped all over and touched") \
	X(madvise_merge,   died,     "MADV_MERGEABLE: pages compared with those of others") \
	X(madvise_poison,  died,     "MADV_HWPOISON") \
	X(stderr_flood,    harmless, "stderr without end, with forged lines and escapes") \
	X(log_flood,       harmless, "LOG messages without end, with forged lines, escapes and C1 bytes") \
	X(scribble_queue,  harmless, "noise all over the queue block, rings and replies") \
	X(scribble_window, harmless, "noise all over segment 0, timelines and client queue") \
	X(eventfd_fill,    harmless, "the interrupt's eventfd filled, so that whoever writes it next would wait") \
	X(eventfd_own,     harmless, "its own eventfd filled") \
	X(irq_storm,       harmless, "interrupts without end") \
	X(futex_lock_pi,   died,     "a PI futex on a word that it shares with its client") \
	X(futex_requeue,   died,     "waiters of a shared word moved to another") \
	X(futex_wake_op,   died,     "FUTEX_WAKE_OP") \
	X(futex_wait_pi,   died,     "FUTEX_WAIT_REQUEUE_PI") \
	X(futex_trylock,   died,     "FUTEX_TRYLOCK_PI") \
	X(fcntl_nonblock,  died,     "O_NONBLOCK taken from the shared eventfd") \
	X(ioctl_nonblock,  died,     "the same by ioctl(FIONBIO)") \
	X(membarrier_all,  died,     "MEMBARRIER_CMD_GLOBAL: every processor") \
	X(kill_parent,     died,     "SIGKILL for the parent") \
	X(tgkill_parent,   died,     "the same by tgkill") \
	X(kill_all,        died,     "SIGKILL for everybody") \
	X(send_fds,        stopped,     "descriptors sent to the parent without end") \
	X(forge_ack,       died,     "an ACK that nobody asked for") \
	X(forge_ready,     died,     "READY again") \
	X(grant_all,       bounded,  "more device memory asked for than there is") \
	X(grant_lie,       refused,  "says that memory was given back, and has it still") \
	X(grant_storm,     harmless, "asks for device memory without end") \
	X(send_short,      died,     "a message of the wrong size") \
	X(raise_storm,     harmless, "RAISE messages without end") \
	X(int80,           died,     "a system call by the 32-bit door") \
	X(x32,             died,     "a system call by the x32 door") \
	X(write_window,    died,     "write(2) on the window's file") \
	X(read_socket,     died,     "read(2) on the socket") \
	X(prctl_dumpable,  died,     "prctl(PR_SET_DUMPABLE)") \
	X(leader_exits,    died,     "the first thread ends alone: of what the others have, the kernel then says nothing under the process's number") \
	X(name_forged,     harmless, "a name of escapes, brackets and line ends, which whoever reads /proc could take for more") \
	X(work_forged,     harmless, "the name of a kernel that it runs, of escapes and lines, for whoever asks the agent") \
	X(stop_self,       harmless, "stops itself") \
	X(deaf,            harmless, "blocks all signals, and takes the parent's messages without a word") \
	X(send_empty,      harmless, "a message of no bytes that carries descriptors, and passes for the end of the socket") \
	X(barrier_storm,   harmless, "MEMBARRIER_CMD_GLOBAL_EXPEDITED without end: interrupts on other processors") \
	X(map_storm,       harmless, "mappings that the parent is asked for, without end") \
	X(futures,         harmless, "all timelines and shadows at their last value, with errors of every kind") \
	X(unmap_all,       harmless, "its queue block and window unmapped, and other memory there") \
	X(own_stay,        harmless, "private memory until it is refused, which it keeps, and all the room for code: one of several (spread)") \
	X(endless,         harmless, "never comes back")

/*
 * The same code with no filter around it, in a process that the context made before its sandbox closed: what stands when the
 * first wall has fallen.
 */
#define NATIVE_BEYOND(X) \
	X(beyond_queue,     harmless, "takes all huge pages and punches its queue block") \
	X(beyond_passwd,    refused,  "opens /etc/passwd") \
	X(beyond_root,      refused,  "lists the root directory") \
	X(beyond_create,    refused,  "makes a file") \
	X(beyond_proc,      refused,  "opens /proc/self/status") \
	X(beyond_device,    refused,  "opens /dev/null") \
	X(beyond_exec,      refused,  "runs /bin/sh") \
	X(beyond_agent,     refused,  "connects to the agent's socket") \
	X(beyond_abstract,  refused,  "connects to an abstract socket of the host") \
	X(beyond_network,   refused,  "sends a packet to 127.0.0.1") \
	X(beyond_see,       refused,  "looks for the device's process") \
	X(beyond_kill,      refused,  "kills every process but its own") \
	X(beyond_trace,     refused,  "attaches to the device's process") \
	X(beyond_peek,      refused,  "reads the device's memory") \
	X(beyond_shm,       refused,  "attaches a System V segment of the host") \
	X(beyond_mount,     refused,  "mounts a file system") \
	X(beyond_chroot,    refused,  "leaves its root by chroot") \
	X(beyond_setuid,    refused,  "becomes another user") \
	X(beyond_nice,      refused,  "takes a higher priority") \
	X(beyond_module,    refused,  "loads a kernel module") \
	X(beyond_userns,    refused,  "makes a user namespace, to have rights in it")

/* One system call each, with arguments that would do something; all must kill. */
#define NATIVE_CALLS(X) \
	X(open) X(openat) X(openat2) X(creat) X(execve) X(execveat) X(socket) X(socketpair) X(connect) X(bind) X(fork) X(vfork) \
	X(clone) X(clone3) X(ptrace) X(process_vm_readv) X(process_vm_writev) X(pidfd_open) X(pidfd_getfd) X(pidfd_send_signal) \
	X(io_uring_setup) X(io_uring_enter) X(memfd_create) X(memfd_secret) X(userfaultfd) X(bpf) X(perf_event_open) X(keyctl) X(add_key) \
	X(unshare) X(setns) X(mount) X(umount2) X(pivot_root) X(chroot) X(fsopen) X(open_tree) X(dup) X(dup2) X(dup3) X(close) X(close_range) \
	X(pipe2) X(eventfd2) X(epoll_create1) X(timerfd_create) X(signalfd4) X(inotify_init1) X(fanotify_init) X(shmget) X(shmat) X(msgget) X(semget) \
	X(mq_open) X(remap_file_pages) X(mlock) X(mlockall) X(pkey_mprotect) X(process_madvise) X(setpriority) X(sched_setaffinity) \
	X(sched_setscheduler) X(setrlimit) X(prlimit64) X(capset) X(setuid) X(setresuid) X(seccomp) X(personality) X(ioperm) X(iopl) X(modify_ldt) \
	X(arch_prctl) X(kcmp) X(get_robust_list) X(tkill) X(rt_sigqueueinfo) X(rt_sigaction) X(setitimer) X(timer_create) X(alarm) X(ftruncate) X(pwrite64) \
	X(pread64) X(writev) X(readv) X(sendto) X(recvfrom) X(splice) X(vmsplice) X(tee) X(sendfile) X(copy_file_range) X(finit_module) X(kexec_load) \
	X(reboot) X(swapon) X(syslog) X(sysfs) X(ustat) X(uname) X(landlock_restrict_self) X(futex_waitv) X(getppid) X(stat) X(getcwd) X(readlink)

/* Where each client's contexts are in a cgroup, without the filter and its limits of a process (tests/vm/cgroup.sh). */
#define NATIVE_CGROUP(X) \
	X(cgroup_shared,    refused,  "shared memory without end, which no limit of a process counts") \
	X(cgroup_files,     stopped,  "files in memory without end") \
	X(cgroup_forks,     refused,  "processes without end") \
	X(cgroup_leave,     refused,  "a cgroup namespace, to see other groups") \
	X(cgroup_all,       died,     "what it was granted, twice: as private and as physical memory (with the filter)")

enum {
#define X(name, ...) NATIVE_##name,
	NATIVE_ATTACKS(X)
	NATIVE_BEYOND(X)
	NATIVE_CGROUP(X)
#undef X
	NATIVE_HAND,
#define X(name) NATIVE_CALL_##name,
	NATIVE_AFTER_HAND = NATIVE_HAND - 1,
	NATIVE_CALLS(X)
#undef X
	NATIVE_COUNT
};

#endif
