/* SPDX-License-Identifier: MIT */
/* Part of native_ctx.c: the attacks that run where no filter is, in the helper of a context. */
#ifndef HOSTILE_NATIVE_BEYOND_H
#define HOSTILE_NATIVE_BEYOND_H

/* ---- with no filter ---------------------------------------------------------------------------------- */
static int number(const char *name) { return getenv(name) ? atoi(getenv(name)) : -1; }

static int64_t beyond_queue(struct ctx *c)
{
	int64_t rc = hugetlb_punch(c);

	/* where there are no huge pages: small ones, which come back as zeroes */
	return rc < 0 ? punch_queue(c) : rc;
}

static int64_t beyond_passwd(struct ctx *c) { (void)c; return result(open("/etc/passwd", O_RDONLY)); }
static int64_t beyond_root(struct ctx *c) { (void)c; return result(open("/", O_RDONLY | O_DIRECTORY)); }
static int64_t beyond_create(struct ctx *c) { (void)c; return result(open("/x", O_RDWR | O_CREAT, 0600)); }
static int64_t beyond_proc(struct ctx *c) { (void)c; return result(open("/proc/self/status", O_RDONLY)); }
static int64_t beyond_device(struct ctx *c) { (void)c; return result(open("/dev/null", O_RDWR)); }
static int64_t beyond_exec(struct ctx *c) { char *none[] = { NULL }; (void)c; return result(execve("/bin/sh", none, none)); }
static int64_t beyond_mount(struct ctx *c) { (void)c; return result(mount("none", "/", "tmpfs", 0, NULL)); }
static int64_t beyond_chroot(struct ctx *c) { (void)c; return result(chroot("..")); }
static int64_t beyond_setuid(struct ctx *c) { (void)c; return result(setresuid(1, 1, 1)); }
static int64_t beyond_nice(struct ctx *c) { (void)c; return result(setpriority(PRIO_PROCESS, 0, -10)); }
static int64_t beyond_module(struct ctx *c) { (void)c; return result(syscall(SYS_init_module, "x", 1, "")); }
static int64_t beyond_userns(struct ctx *c) { (void)c; return result(unshare(CLONE_NEWUSER)); }
static int64_t beyond_see(struct ctx *c) { (void)c; return result(kill(number("VGPU_STUB_NATIVE_PID"), 0)); }
static int64_t beyond_trace(struct ctx *c) { (void)c; return result(ptrace(PTRACE_SEIZE, number("VGPU_STUB_NATIVE_PID"), NULL, NULL)); }
static int64_t beyond_shm(struct ctx *c) { (void)c; return result(shmget(number("VGPU_STUB_NATIVE_SHM"), 0, 0)); }

/* All that can be seen, with a signal that does nothing: how many there are beside the two of this context. */
static int64_t beyond_kill(struct ctx *c)
{
	int64_t n = 0;

	(void)c;
	for (int p = 1; p < 70000; p++)
		n += p != getpid() && p != getppid() && syscall(SYS_tgkill, p, p, 0) == 0;
	return n ? n : -ESRCH;
}

static int64_t beyond_peek(struct ctx *c)
{
	char byte[8];
	struct iovec to = { byte, 8 }, from = { (void *)0x400000, 8 };

	(void)c;
	return result(process_vm_readv(number("VGPU_STUB_NATIVE_PID"), &to, 1, &from, 1, 0));
}

static int64_t connect_unix(const char *name, int abstract)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), seq = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	socklen_t n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (unsigned)abstract + strlen(name));

	strncpy(a.sun_path + abstract, name, sizeof(a.sun_path) - 2);
	if (connect(fd, (void *)&a, n) == 0 || connect(seq, (void *)&a, n) == 0)
		return 0;
	return -errno;
}

static int64_t beyond_agent(struct ctx *c) { (void)c; return connect_unix(getenv("VGPU_STUB_NATIVE_AGENT"), 0); }
static int64_t beyond_abstract(struct ctx *c) { (void)c; return connect_unix(getenv("VGPU_STUB_NATIVE_ABSTRACT"), 1); }

static int64_t beyond_network(struct ctx *c)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	(void)c;
	return fd < 0 ? -errno : result(sendto(fd, "x", 1, 0, (void *)&a, sizeof(a)));
}

/* ---- a client's cgroup, alone -------------------------------------------------------------------------- */
/* What a process does until the kernel ends it; -ENOMEM: it did. */
static int64_t by_child(void (*flood)(void))
{
	pid_t p = fork();
	int status;

	if (p < 0)
		return -errno;
	if (!p) {
		flood();
		_exit(0);
	}
	if (waitpid(p, &status, 0) != p)
		return -errno;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? -ENOMEM : 0;
}

static void flood_shared(void)
{
	for (uint64_t got = 0; got < MOST; got += STEP) {
		void *p = anon(STEP, RW, MAP_SHARED | MAP_ANONYMOUS);

		if (p == MAP_FAILED)
			break;
		/* pages a step, not a fault each, which an emulated machine takes long for; where the kernel cannot, one after the other */
		madvise(p, STEP, 23 /* MADV_POPULATE_WRITE */);
		touch_all(p, STEP);
	}
}

static void flood_files(void)
{
	static uint8_t piece[1 << 20];
	int fd = memfd_create("flood", 0);
	ssize_t n;

	for (uint64_t got = 0; got < MOST && (n = write(fd, piece, sizeof(piece))) > 0;)
		got += (uint64_t)n;
}

static int64_t cgroup_shared(struct ctx *c) { (void)c; return by_child(flood_shared); }
static int64_t cgroup_files(struct ctx *c) { (void)c; return by_child(flood_files); }
static int64_t cgroup_leave(struct ctx *c) { (void)c; return result(unshare(CLONE_NEWCGROUP)); }

static int64_t cgroup_forks(struct ctx *c)
{
	static pid_t child[2000];
	int64_t n = 0, err;

	(void)c;
	while (n < 2000 && (child[n] = fork()) >= 0) {
		if (!child[n])
			for (;;)
				pause();
		n++;
	}
	err = -errno;
	for (int64_t i = 0; i < n; i++)
		kill(child[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	return n < 2000 ? err : n;
}

static int64_t cgroup_all(struct ctx *c)
{
	int64_t had = grant(c, c->init.create.memory_limit);

	if (had != (int64_t)c->init.create.memory_limit)
		return -EBUSY;
	return anon_flood(c) + phys_touch(c);
}

#endif
