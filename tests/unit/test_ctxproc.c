/* SPDX-License-Identifier: MIT */
/*
 * The device parent against contexts that lie: this program is both. Run with --context by the parent's
 * own code (exec of /proc/self/exe) it is the context, and misbehaves as $VGPU_STUB_TEST says.
 *
 * Sources: tests/unit/test_ctxproc.c tools/vgpu-stub/admin.c tools/vgpu-stub/ctxguard.c
 *          tools/vgpu-stub/ctxpieces.c tools/vgpu-stub/ctxproc.c tools/vgpu-stub/ctxspawn.c tools/vgpu-stub/dma.c tools/vgpu-stub/irq.c
 *          tools/vgpu-stub/log.c tools/vgpu-stub/loop.c tools/vgpu-stub/pci.c tools/vgpu-stub/regs.c
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../tools/vgpu-stub/stub.h"

/* Between INIT and what follows it the parent is not run until the context has ended. */
static struct device dev;
static int sent = -1;

ssize_t sendmsg(int sock, const struct msghdr *h, int flags)
{
	struct pollfd gone = { .fd = dev.ctx[0].pidfd, .events = POLLIN };

	if (sent >= 0 && sent++ == 1)
		poll(&gone, 1, 20000);
	return (ssize_t)syscall(SYS_sendmsg, sock, h, flags);
}

/* ---- the context's side ------------------------------------------------------------------------- */
static struct ctx_msg got;
static int got_fds[16], ngot;

static int take(void)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int) * 8)];
	} ctl;
	struct iovec iov = { &got, sizeof(got) };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ctl, .msg_controllen = sizeof(ctl) };

	if (recvmsg(CTX_SOCKET_FD, &h, 0) != sizeof(got))
		_exit(9);
	ngot = 0;
	for (struct cmsghdr *k = CMSG_FIRSTHDR(&h); k; k = CMSG_NXTHDR(&h, k)) {
		ngot = (int)((k->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(got_fds, CMSG_DATA(k), sizeof(int) * (size_t)ngot);
	}
	return (int)got.type;
}

static void say(const void *m, size_t n, int fd)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} ctl;
	struct iovec iov = { (void *)(uintptr_t)m, n };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		memset(&ctl, 0, sizeof(ctl));
		h.msg_control = &ctl;
		h.msg_controllen = sizeof(ctl);
		ctl.h.cmsg_level = SOL_SOCKET;
		ctl.h.cmsg_type = SCM_RIGHTS;
		ctl.h.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&ctl.h), &fd, sizeof(int));
	}
	if (sendmsg(CTX_SOCKET_FD, &h, 0) < 0)
		_exit(10);
}

static void say_type(uint32_t type, uint32_t status, uint32_t id, int fd)
{
	struct ctx_msg m = { .type = type, .status = status };

	m.u.map.id = id;
	say(&m, sizeof(m), fd);
}

/* A filter that asks for mmap of files (fd argument >= 0) and lets everything else pass. */
static int listener(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof(f) / sizeof(f[0]), f };

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &p);
}

static void *try_map(uint64_t va, uint64_t bytes, int prot, int flags, int fd, uint64_t offset)
{
	return mmap((void *)(uintptr_t)va, bytes, prot, flags, fd, (off_t)offset);
}

#define RW (PROT_READ | PROT_WRITE)
#define FIX (MAP_SHARED | MAP_FIXED)

/* What the parent must have seen to before exec; a difference shows as an exit status. */
static void check_cage(void)
{
	struct rlimit r;
	char text[32] = { 0 };
	int fd;

	if (getenv("HOME") || getenv("PATH"))
		_exit(20);
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || getsid(0) != getpid())
		_exit(21);
	if (getrlimit(RLIMIT_CORE, &r) || r.rlim_max)
		_exit(22);
	for (fd = CTX_SOCKET_FD + 1; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			_exit(23);
	fd = open("/proc/self/oom_score_adj", O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 1 || atoi(text) != 1000)
		_exit(24);
	close(fd);
}

int context_main(void)
{
	const char *mode = getenv("VGPU_STUB_TEST");
	int kick, phys, run, l;
	struct ctx_map last = { 0 };
	uint64_t device;

	if (!mode)
		return 1;
#define MODE(name) (!strcmp(mode, name))
	check_cage();
	if (MODE("exit"))
		return 0;
	if (MODE("mute"))
		pause();
	if (MODE("deaf-eof")) {
		close(CTX_SOCKET_FD);
		pause();
	}
	if (take() != CTX_INIT || ngot != CTX_INIT_FDS)
		return 11;
	if (MODE("refuse-at-once")) {
		say_type(CTX_READY, VGPU_ST_OUT_OF_MEMORY, 0, -1);
		return 0;
	}
	kick = dup2(got_fds[CTX_FD_KICK], 20);
	phys = got_fds[CTX_FD_PHYS];
	run = got_fds[CTX_FD_RUN];
	device = got.u.init.create.device_base + VGPU_ARENA_BYTES;
	/* the run page is not ours to write */
	if (mmap(NULL, 4096, RW, MAP_SHARED, run, 0) != MAP_FAILED || pwrite(run, "x", 1, 0) == 1 ||
	    mmap(NULL, 4096, PROT_READ, MAP_SHARED, run, 0) == MAP_FAILED)
		return 12;
	if (MODE("early-ready"))
		say_type(CTX_READY, 0, 0, -1);
	while (take() == CTX_MAP) {
		last = got.u.map;
		if (try_map(last.va, last.bytes, RW, FIX, got_fds[0], last.offset) == MAP_FAILED)
			return 13;
	}
	if (got.type != CTX_START)
		return 14;
	if (MODE("short"))
		say("hello", 5, -1);
	if (MODE("unknown"))
		say_type(77, 0, 0, -1);
	if (MODE("raise-early"))
		say_type(CTX_RAISE, 0, 0, -1);
	if (MODE("ack-early"))
		say_type(CTX_ACK, 0, 1, -1);
	if (MODE("fd-with-log"))
		say_type(CTX_LOG, 0, 0, 1);
	if (MODE("no-listener"))
		say_type(CTX_READY, 0, 0, -1);
	if (MODE("false-listener"))
		say_type(CTX_READY, 0, 0, kick);
	if (MODE("refuse"))
		say_type(CTX_READY, VGPU_ST_OUT_OF_MEMORY, 0, -1);
	if (MODE("refuse-wild"))
		say_type(CTX_READY, 4242, 0, -1);
	if (dup2(phys, CTX_AT_PHYS) != CTX_AT_PHYS || dup2(run, CTX_AT_MAP) != CTX_AT_MAP)
		return 15;
	l = fcntl(listener(), F_DUPFD, 30);
	if (l < 0)
		return 16;
	say_type(CTX_READY, 0, 0, l);
	if (MODE("ready-twice"))
		say_type(CTX_READY, 0, 0, l);
	if (MODE("map-other-va"))
		try_map(last.va + 4096, last.bytes, RW, FIX, CTX_AT_MAP, 0);
	if (MODE("map-anything"))
		try_map(0, 4096, PROT_READ, MAP_SHARED, kick, 0);
	if (MODE("phys-exec"))
		try_map(device, 4096, RW | PROT_EXEC, FIX, CTX_AT_PHYS, 0);
	if (MODE("phys-outside"))
		try_map(device - 4096, 8192, RW, FIX, CTX_AT_PHYS, 0);
	if (MODE("phys-nowhere"))
		try_map(0, 4096, RW, MAP_SHARED, CTX_AT_PHYS, 0);
	if (MODE("spam"))
		for (;;)
			say_type(CTX_LOG, 0, 0, -1);
	if (MODE("segv")) {
		signal(SIGSEGV, SIG_DFL);       /* a sanitizer would map files to tell of it */
		raise(SIGSEGV);
	}
	/* good ones: phys first, then the segment that the parent sends */
	if (try_map(device, 2 << 20, RW, FIX, CTX_AT_PHYS, 4 << 20) == MAP_FAILED)
		return 17;
	*(volatile char *)(uintptr_t)device = 1;
	for (;;) {
		if (take() == CTX_MAP) {
			struct ctx_map m = got.u.map;

			if (MODE("map-longer"))
				m.bytes *= 2;
			if (MODE("map-elsewhere"))
				m.offset += 4096;
			if (MODE("map-ack-only")) {
				say_type(CTX_ACK, VGPU_ST_OK, m.id, -1);
				continue;
			}
			if (MODE("map-wrong-id"))
				m.id++;
			if (MODE("map-refuse")) {
				say_type(CTX_ACK, VGPU_ST_OUT_OF_MEMORY, m.id, -1);
				continue;
			}
			if (try_map(m.va, m.bytes, RW, FIX, CTX_AT_MAP, m.offset) == MAP_FAILED)
				return 18;
			*(volatile uint32_t *)(uintptr_t)m.va = 0x600d;
			say_type(CTX_ACK, VGPU_ST_OK, m.id, -1);
			if (MODE("map-twice")) {
				try_map(m.va, m.bytes, RW, FIX, CTX_AT_MAP, m.offset);
				return 19;
			}
		} else if (got.type == CTX_IRQ) {
			say_type(CTX_ACK, VGPU_ST_OK, got.u.map.id, -1);
			say_type(CTX_RAISE, 0, 0, -1);
		}
	}
}

/* ---- the parent's side -------------------------------------------------------------------------- */
#define IOVA 0x100000000ull             /* rings, create struct, block, segment 0, more: one file */
#define AT_CREATE 0x2000u
#define AT_BLOCK 0x10000u
#define AT_SEG0 0x100000u
#define AT_MORE 0x600000u
#define FILE_BYTES 0x800000u

static uint8_t *mem;
static unsigned checks, failed;
static const char *now_testing = "";

#define CHECK(x) check(!!(x), #x, __LINE__)

static int check(int ok, const char *what, int line)
{
	checks++;
	if (!ok) {
		failed++;
		printf("FAIL %s, line %d: %s\n", now_testing, line, what);
	}
	return ok;
}

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void power_on(void)
{
	uint32_t v[] = { 6, (uint32_t)IOVA, IOVA >> 32, (uint32_t)IOVA + 0x1000, IOVA >> 32, VGPU_CC_EN };
	int fd = memfd_create("agent", 0);

	if (ftruncate(fd, FILE_BYTES))
		abort();
	if (mem)
		munmap(mem, FILE_BYTES);
	mem = mmap(NULL, FILE_BYTES, RW, MAP_SHARED, fd, 0);
	CHECK(dma_map(&dev.dma, IOVA, FILE_BYTES, 0, DMA_READ | DMA_WRITE, fd) == 0);
	CHECK(pci_write(&dev, 4, &v[0], 2) == 0);
	CHECK(regs_write(&dev, VGPU_REG_ASQ, &v[1], 8) == 0 && regs_write(&dev, VGPU_REG_ACQ, &v[3], 8) == 0);
	CHECK(regs_write(&dev, VGPU_REG_CC, &v[5], 4) == 0 && dev.csts == VGPU_CSTS_RDY);
}

static void power_off(void)
{
	device_reset(&dev);
	irq_release(&dev);
	dma_unmap_all(&dev.dma);
	CHECK(!dev.live && !dev.dma.files);
}

static void turn(unsigned ms)
{
	uint64_t limit = clock_ns() + ms * 1000000ull, next = ctxproc_next_deadline(&dev);

	loop_once(next && next < limit ? next : limit);
	ctxproc_deadlines(&dev);
	device_settle(&dev);
}

static uint64_t post(unsigned op, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t i = dev.admin_index;
	struct vgpu_admin_cmd cmd = { (uint32_t)(i + 1), (uint16_t)op, 0, a, b, c, { 0 } };

	memcpy(mem + i % VGPU_ADMIN_SLOTS * 64, &cmd, 64);
	admin_doorbell(&dev);
	return i;
}

static int wait_for(uint64_t i, unsigned ms, struct vgpu_reply *r)
{
	struct vgpu_reply *p = (struct vgpu_reply *)(void *)(mem + 0x1000) + i % VGPU_ADMIN_SLOTS;
	/* `ms` is what it takes at rest, deadlines of the device included */
	uint64_t limit = clock_ns() + 10ull * ms * 1000000;

	while (p->seq != (uint32_t)(i + 1) && clock_ns() < limit)
		turn(20);
	if (p->seq != (uint32_t)(i + 1))
		return -1;
	if (r)
		*r = *p;
	return (int)p->status;
}

static int create(const char *mode)
{
	struct vgpu_ctx_create c = {
		.queue_iova = IOVA + AT_BLOCK, .seg0_iova = IOVA + AT_SEG0, .span_base = VGPU_SPAN_BASE_DEFAULT,
		.span_bytes = VGPU_SPAN_BYTES, .device_base = VGPU_DEVICE_BASE(VGPU_SPAN_BASE_DEFAULT, 0),
		.memory_limit = 64 << 20, .weight = 1,
	};

	now_testing = mode;
	setenv("VGPU_STUB_TEST", mode, 1);
	memcpy(mem + AT_CREATE, &c, sizeof(c));
	return wait_for(post(VGPU_ADMIN_CTX_CREATE, IOVA + AT_CREATE, 0, 0), 9000, NULL);
}

static uint64_t post_segment(void)
{
	return post(VGPU_ADMIN_SEGMENT, IOVA + AT_MORE, 0x100000, VGPU_SPAN_BASE_DEFAULT + VGPU_SEG0_BYTES);
}

/* It must fail to start, with this status; the queue is free again, nothing leaks. */
static void bad_start(const char *mode, int status)
{
	int before = open_fds(), got_status;

	got_status = create(mode);
	if (!CHECK(got_status == status))
		printf("     status %d\n", got_status);
	CHECK(dev.ctx[0].state == CTX_FREE && !dev.live);
	CHECK(open_fds() == before + (dev.spare[1] >= 0 && before == open_fds() - 1));
}

/* It starts, then must die with this status and be told of. */
static void bad_later(const char *mode, uint64_t status, int segment)
{
	struct vgpu_reply r = { 0 };
	uint64_t event, seg = 0;

	if (!CHECK(create(mode) == VGPU_ST_OK))
		return;
	event = post(VGPU_ADMIN_ASYNC_EVENT, 0, 0, 0);
	if (segment)
		seg = post_segment();
	CHECK(wait_for(event, 9000, &r) == VGPU_ST_OK && r.v[0] == 0);
	if (!CHECK(r.v[1] == status))
		printf("     status %llu\n", (unsigned long long)r.v[1]);
	if (segment && strcmp(mode, "map-twice"))
		CHECK(wait_for(seg, 1000, NULL) == VGPU_ST_CONTEXT_DEAD);
	CHECK(dev.ctx[0].state == CTX_DEAD && !dev.live);
	CHECK(wait_for(post(VGPU_ADMIN_CTX_DESTROY, 0, 0, 0), 1000, NULL) == VGPU_ST_OK);
	CHECK(dev.ctx[0].state == CTX_FREE);
}

static void good(void)
{
	int e = eventfd(0, EFD_NONBLOCK), e2 = eventfd(0, EFD_NONBLOCK), fd = dup(e);
	struct rlimit r;
	uint64_t n = 0;

	CHECK(irq_set(&dev, 2, 4 | 32, 1, 1, NULL, 0, &fd, 1) == 0);
	CHECK(create("good") == VGPU_ST_OK);
	/* before anybody hears of the context */
	CHECK(prlimit(dev.ctx[0].pid, RLIMIT_NOFILE, NULL, &r) == 0 && r.rlim_max == CTX_FDS && r.rlim_cur == CTX_FDS);
	CHECK(wait_for(post_segment(), 5000, NULL) == VGPU_ST_OK);
	CHECK(*(uint32_t *)(void *)(mem + AT_MORE) == 0x600d);
	/* again over the same place: refused by the parent already */
	CHECK(wait_for(post_segment(), 5000, NULL) == VGPU_ST_INVALID);
	/* a new vector: it is raised through the parent */
	fd = dup(e2);
	CHECK(irq_set(&dev, 2, 4 | 32, 1, 1, NULL, 0, &fd, 1) == 0);
	for (int i = 0; i < 100 && n < 2; i++) {
		uint64_t one = 0;

		turn(20);
		if (read(e2, &one, 8) == 8)
			n += one;
	}
	CHECK(n == 2);
	CHECK(wait_for(post(VGPU_ADMIN_SET_RUN, 0, 0, 0), 1000, NULL) == VGPU_ST_OK && !dev.ctx[0].run->run);
	CHECK(wait_for(post(VGPU_ADMIN_CTX_DESTROY, 0, 0, 0), 5000, NULL) == VGPU_ST_OK);
	/* a refused segment: told, and the context goes on */
	CHECK(create("map-refuse") == VGPU_ST_OK);
	CHECK(wait_for(post_segment(), 5000, NULL) == VGPU_ST_OUT_OF_MEMORY && dev.ctx[0].state == CTX_RUNNING);
	CHECK(wait_for(post(VGPU_ADMIN_CTX_DESTROY, 0, 0, 0), 5000, NULL) == VGPU_ST_OK);
	/* never mapped, but acknowledged: its own loss */
	CHECK(create("map-ack-only") == VGPU_ST_OK && wait_for(post_segment(), 5000, NULL) == VGPU_ST_OK);
	CHECK(wait_for(post(VGPU_ADMIN_CTX_DESTROY, 0, 0, 0), 5000, NULL) == VGPU_ST_OK);
	/* one that floods us delays, and is killed like any other */
	CHECK(create("spam") == VGPU_ST_OK);
	for (int i = 0; i < 200; i++)
		turn(1);
	CHECK(wait_for(post(VGPU_ADMIN_CTX_DESTROY, 0, 0, 0), 5000, NULL) == VGPU_ST_OK);
	close(e);
	close(e2);
}

int main(int argc, char **argv)
{
	static const char *const protocol_at_start[] = { "early-ready", "short", "unknown", "ack-early", "fd-with-log",
							 "no-listener", "false-listener" };
	static const char *const protocol_later[] = { "ready-twice", "map-other-va", "map-anything", "phys-exec",
						      "phys-outside", "phys-nowhere" };
	static const char *const protocol_segment[] = { "map-longer", "map-elsewhere", "map-wrong-id", "map-twice" };
	int before;

	if (argc == 2 && !strcmp(argv[1], "--context"))
		return context_main();
#ifdef __SANITIZE_THREAD__
	printf("the shadow of ThreadSanitizer does not fit under a context's memory limit; one thread only anyway\n");
	return 77;
#endif
	signal(SIGPIPE, SIG_IGN);
	dev.config.pci_vendor = VGPU_PCI_VENDOR;
	dev.config.cores = 1;
	dev.info.memory_bytes = 1 << 30;
	dma_init(&dev.dma);
	pci_init(&dev);
	ctxproc_init(&dev);
	if (irq_init(&dev) || loop_init() || admin_init(&dev))
		return 1;
	before = open_fds();
	power_on();
	bad_start("exit", VGPU_ST_CONTEXT_DEAD);
	bad_start("refuse", VGPU_ST_OUT_OF_MEMORY);
	sent = 0;
	bad_start("refuse-at-once", VGPU_ST_OUT_OF_MEMORY);
	CHECK(sent > 1);
	sent = -1;
	bad_start("refuse-wild", VGPU_ST_INTERNAL);
	for (size_t i = 0; i < sizeof(protocol_at_start) / sizeof(protocol_at_start[0]); i++)
		bad_start(protocol_at_start[i], VGPU_ST_PROTOCOL);
	good();
	for (size_t i = 0; i < sizeof(protocol_later) / sizeof(protocol_later[0]); i++)
		bad_later(protocol_later[i], VGPU_ST_PROTOCOL, 0);
	for (size_t i = 0; i < sizeof(protocol_segment) / sizeof(protocol_segment[0]); i++)
		bad_later(protocol_segment[i], VGPU_ST_PROTOCOL, 1);
	bad_later("segv", VGPU_ST_CONTEXT_DEAD, 0);
	/* a silent one: the deadline of a start, 15 s */
	bad_start("mute", VGPU_ST_TIMEOUT);
	/* reset while one is starting */
	now_testing = "reset while starting";
	setenv("VGPU_STUB_TEST", "deaf-eof", 1);
	post(VGPU_ADMIN_CTX_CREATE, IOVA + AT_CREATE, 0, 0);
	CHECK(dev.live == 1);
	turn(50);
	power_off();
	power_on();
	CHECK(create("good") == VGPU_ST_OK);
	power_off();
	if (dev.spare[1] >= 0)
		before++;
	CHECK(open_fds() == before);
	printf("%u checks, %u failed\n", checks, failed);
	return failed != 0;
}
