/* SPDX-License-Identifier: MIT */
/*
 * The inside of native.h: linked with the objects of the device as it is installed, with ld's --wrap=ctx_exec, into a
 * vgpu-stub of the tests. A context of it does whatever its client says, as native code in its place: after the sandbox
 * has closed, on the thread that kernels run on too. Nothing of the device is compiled otherwise for it.
 *
 * With $VGPU_STUB_NATIVE_BEYOND each context has a second process, made before the filter was there, for the attacks "beyond" it.
 */
#define _GNU_SOURCE
#include "native.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../tools/vgpu-stub/cpu/cpu.h"
#include "../../tools/vgpu-stub/ctx.h"

#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)
#define STEP (16ull << 20)
#define MOST (24ull << 30)              /* a flood that comes so far has no bound */
#define STORM_NS 300000000ull
#define FORGED "\nready: vgpu-stub 9.9: forged\nvgpu-stub: context 0: forged\n\033[2J\033]0;owned\007\x9b" "31m\x85\r"

int __real_ctx_sandbox(uint32_t driver);
int __wrap_ctx_sandbox(uint32_t driver);
enum ctx_result __real_ctx_exec(struct ctx *c, struct ctx_stream *s, const struct vgpu_cmd *cmd, const uint8_t *payload,
				struct ctx_progress *at, uint32_t *status);
enum ctx_result __wrap_ctx_exec(struct ctx *c, struct ctx_stream *s, const struct vgpu_cmd *cmd, const uint8_t *payload,
				struct ctx_progress *at, uint32_t *status);

static int64_t result(long rc)
{
	return rc == -1 ? -errno : rc;
}

static int64_t mapped(void *p)
{
	return p == MAP_FAILED ? -errno : 0;
}

static void *anon(uint64_t bytes, int prot, int flags)
{
	return mmap(NULL, bytes, prot, flags, -1, 0);
}

/* All of it, one page after the other; how much there was until the end of it. */
static int64_t touch_all(uint8_t *p, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i += VGPU_PAGE)
		*(volatile uint8_t *)(p + i) = 1;
	return (int64_t)bytes;
}

static uint64_t noise(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void scribble(void *base, uint64_t bytes, uint64_t until)
{
	uint64_t seed = 0x9e3779b97f4a7c15ull, *p = base;

	while (ctx_now_ns() < until)
		for (unsigned i = 0; i < 4096; i++)
			p[noise(&seed) % (bytes / 8)] = i % 3 ? noise(&seed) : noise(&seed) % 4096;
}

/* ---- memory -------------------------------------------------------------------------------------- */
/* All that the pool has; MADV_POPULATE_WRITE fails where touching would kill us. */
static void take_huge_pages(void)
{
	for (void *p; (p = anon(VGPU_HUGE, RW, ANON | MAP_HUGETLB)) != MAP_FAILED;)
		if (madvise(p, VGPU_HUGE, 23)) {
			munmap(p, VGPU_HUGE);
			break;
		}
}

/* The page of the hole goes back to the pool, and who is faster gets it. */
static int64_t hugetlb_punch(struct ctx *c)
{
	int64_t rc = 0;

	(void)c;
	take_huge_pages();
	for (uint64_t until = ctx_now_ns() + STORM_NS; !rc && ctx_now_ns() < until; take_huge_pages())
		rc = result(madvise((void *)CTX_QB_VA, VGPU_HUGE, MADV_REMOVE));
	usleep(300000);
	return rc;
}

static int64_t punch_queue(struct ctx *c) { (void)c; return result(madvise((void *)CTX_QB_VA, VGPU_QB_BYTES, MADV_REMOVE)); }
static int64_t punch_window(struct ctx *c) { return result(madvise(c->seg0, VGPU_SEG0_BYTES, MADV_REMOVE)); }
static int64_t hugetlb_map(struct ctx *c) { (void)c; return mapped(anon(VGPU_HUGE, RW, ANON | MAP_HUGETLB)); }
static int64_t grows_down(struct ctx *c) { (void)c; return mapped(anon(VGPU_HUGE, RW, ANON | MAP_GROWSDOWN)); }
static int64_t map_locked(struct ctx *c) { (void)c; return mapped(anon(VGPU_HUGE, RW, ANON | MAP_LOCKED)); }
static int64_t map_exec(struct ctx *c) { (void)c; return mapped(anon(VGPU_HUGE, RW | PROT_EXEC, ANON)); }
static int64_t mprotect_exec(struct ctx *c) { return result(mprotect(c->seg0, VGPU_PAGE, PROT_READ | PROT_EXEC)); }

static int64_t shared_anon(struct ctx *c)
{
	int64_t got = 0;

	(void)c;
	while (got < (4ll << 30)) {
		void *p = anon(STEP, RW, MAP_SHARED | MAP_ANONYMOUS);

		if (p == MAP_FAILED)
			return got ? got : -errno;
		got += touch_all(p, STEP);
	}
	return got;
}

static int64_t mprotect_grows(struct ctx *c)
{
	void *p = anon(VGPU_PAGE, RW, ANON);

	(void)c;
	return p == MAP_FAILED ? -errno : result(mprotect(p, VGPU_PAGE, RW | PROT_GROWSDOWN));
}

static int64_t map_file_whole(struct ctx *c)
{
	return mapped(mmap(c->seg0, VGPU_GIB, RW, MAP_SHARED | MAP_FIXED, CTX_AT_MAP, 0));
}

static int64_t mremap_grow(struct ctx *c)
{
	return mapped(mremap(c->seg0, VGPU_PAGE, VGPU_HUGE, MREMAP_MAYMOVE));
}

static int64_t anon_flood(struct ctx *c)
{
	uint64_t got = 0;

	(void)c;
	while (got < MOST) {
		void *p = anon(STEP, RW, ANON | MAP_NORESERVE);

		if (p == MAP_FAILED)
			break;
		got += (uint64_t)touch_all(p, STEP);
	}
	return (int64_t)got;
}

/* What no grant is needed for; and when others have gone it takes theirs. */
static int64_t own_stay(struct ctx *c)
{
	int64_t got = 0;

	for (unsigned turn = 0; turn < 3000; turn++, clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ .tv_nsec = 20000000 }, NULL)) {
		got += anon_flood(c);
		if (turn == 20)
			got += touch_all(c->engine->code_rw, CTX_CODE_BYTES);
	}
	return got;
}

static int64_t hidden(int prot)
{
	uint64_t got = 0;

	while (got < (2ull << 30)) {
		void *p = anon(STEP, RW, ANON | MAP_NORESERVE);

		if (p == MAP_FAILED)
			break;
		got += (uint64_t)touch_all(p, STEP);
		if (mprotect(p, STEP, prot))
			return -errno;
	}
	return (int64_t)got;
}

static int64_t anon_hidden(struct ctx *c) { (void)c; return hidden(PROT_READ); }
static int64_t anon_forgotten(struct ctx *c) { (void)c; return hidden(PROT_NONE); }
static int64_t anon_readable(struct ctx *c) { (void)c; return mapped(anon(1ull << 40, PROT_READ, ANON | MAP_NORESERVE)); }
static int64_t run_write(struct ctx *c) { return result(mprotect((void *)c->run, VGPU_PAGE, RW)); }

#define TABLES (512ull << 20)

/* 2 MiB of memory have one page table, of 4 KiB, at each of their addresses. Nobody is asked for memory; addresses are. */
static int64_t tables_shared(struct ctx *c)
{
	uint64_t va = c->init.create.device_base + VGPU_ARENA_BYTES, chunk = c->init.create.memory_limit & ~(VGPU_HUGE - 1), got = 0;

	for (; got < TABLES; va += chunk) {
		uint8_t *p = mmap((void *)va, chunk, RW, MAP_SHARED | MAP_FIXED, CTX_AT_PHYS, 0);

		if (p == MAP_FAILED)
			break;
		for (uint64_t i = 0; i < chunk; i += VGPU_HUGE, got += VGPU_PAGE)
			*(volatile uint8_t *)(p + i) = 1;
	}
	return (int64_t)got;
}

/* Three of them for a page that is alone in its 512 GiB, two in its gigabyte. Found when somebody asks for memory: at the end we do. */
static int64_t tables_private(struct ctx *c)
{
	struct ctx_msg m = { .type = CTX_GRANT };
	uint64_t got = 0;

	for (uint64_t va = 1ull << 32; va < 1ull << 46 && got < TABLES; va += VGPU_GIB) {
		uint8_t *p = mmap((void *)va, VGPU_PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0);

		if (p == MAP_FAILED)
			continue;
		*(volatile uint8_t *)p = 1;
		got += 2 * VGPU_PAGE;
	}
	m.u.grant.bytes = 3 * STEP;
	m.u.grant.id = ++c->grant_id;
	ctx_send(&m, -1, 0);
	for (uint64_t until = ctx_now_ns() + 20000000000ull; vgpu_load_acquire32(&c->run->answered) != c->grant_id && ctx_now_ns() < until;)
		usleep(1000);
	return (int64_t)got;
}

static int64_t brk_flood(struct ctx *c)
{
	uint8_t *start = (uint8_t *)syscall(SYS_brk, 0), *now = start;

	(void)c;
	while ((uint64_t)(now - start) < MOST && (uint8_t *)syscall(SYS_brk, now + STEP) == now + STEP) {
		touch_all(now, STEP);
		now += STEP;
	}
	return now - start;
}

static int64_t phys_flood(struct ctx *c)
{
	uint64_t got = 0;

	(void)c;
	while (got < (4ull << 30) && !fallocate(CTX_AT_PHYS, FALLOC_FL_KEEP_SIZE, (off_t)got, (off_t)STEP))
		got += STEP;
	/* where an end of file would be no end */
	for (uint64_t at = VGPU_PHYS_SPAN - STEP; at > VGPU_PHYS_SPAN / 2 && got < (4ull << 30) &&
	     !fallocate(CTX_AT_PHYS, FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)STEP); at -= STEP)
		got += STEP;
	return (int64_t)got;
}

static int64_t phys_touch(struct ctx *c)
{
	uint64_t got = 0, va = c->init.create.device_base + VGPU_ARENA_BYTES;

	for (; got < (4ull << 30); got += STEP) {
		void *p = mmap((void *)(va + got), STEP, RW, MAP_SHARED | MAP_FIXED, CTX_AT_PHYS, (off_t)got);

		if (p == MAP_FAILED || madvise(p, STEP, 23))
			break;
	}
	return (int64_t)got;
}

static int64_t madvise_merge(struct ctx *c) { return result(madvise(c->seg0, VGPU_PAGE, MADV_MERGEABLE)); }
static int64_t madvise_poison(struct ctx *c) { return result(madvise(c->scratch, VGPU_PAGE, MADV_HWPOISON)); }

/* ---- what others read ------------------------------------------------------------------------------ */
static int64_t stderr_flood(struct ctx *c)
{
	uint64_t until = ctx_now_ns() + STORM_NS;
	int64_t n = 0;

	(void)c;
	while (ctx_now_ns() < until) {
		ssize_t w = write(STDERR_FILENO, FORGED, sizeof(FORGED) - 1);

		if (w < 0)
			return n ? n : -errno;
		n += w;
	}
	return n;
}

static int64_t log_flood(struct ctx *c)
{
	struct ctx_msg m = { .type = CTX_LOG };
	int64_t n = 0;

	(void)c;
	memcpy(m.u.log, FORGED, sizeof(FORGED));
	for (uint64_t until = ctx_now_ns() + STORM_NS; ctx_now_ns() < until; n++)
		if (ctx_send(&m, -1, 0))
			return -errno;
	return n;
}

static int64_t scribble_queue(struct ctx *c)
{
	(void)c;
	scribble((void *)CTX_QB_VA, VGPU_QB_BYTES, ctx_now_ns() + STORM_NS);
	return 0;
}

static int64_t scribble_window(struct ctx *c)
{
	scribble(c->seg0 + VGPU_CTX_OFFSET(c->init.create.context), VGPU_CTX_STRIDE, ctx_now_ns() + STORM_NS);
	return 0;
}

static int64_t fill_eventfd(int fd)
{
	uint64_t most = ~0ull - 1;

	for (uint64_t until = ctx_now_ns() + STORM_NS; ctx_now_ns() < until;)
		if (write(fd, &most, sizeof(most)) < 0 && errno != EAGAIN)
			return -errno;
	return 0;
}

static int64_t eventfd_fill(struct ctx *c) { (void)c; return fill_eventfd(CTX_AT_IRQ); }
static int64_t eventfd_own(struct ctx *c) { (void)c; return fill_eventfd(CTX_AT_OWN); }

static int64_t irq_storm(struct ctx *c)
{
	uint64_t one = 1;
	int64_t n = 0;

	(void)c;
	for (uint64_t until = ctx_now_ns() + STORM_NS; ctx_now_ns() < until; n++)
		if (write(CTX_AT_IRQ, &one, sizeof(one)) < 0)
			return -errno;
	return n;
}

static int64_t raise_storm(struct ctx *c)
{
	struct ctx_msg m = { .type = CTX_RAISE };
	int64_t n = 0;

	(void)c;
	for (uint64_t until = ctx_now_ns() + STORM_NS; ctx_now_ns() < until; n++)
		if (ctx_send(&m, -1, 0))
			return -errno;
	return n;
}

/* ---- futexes, descriptors, signals, messages ------------------------------------------------------- */
static int64_t futex(uint32_t *word, int op, uint32_t value, void *more, uint32_t *other)
{
	return result(syscall(SYS_futex, word, op, value, more, other, 0));
}

static uint32_t *shared_word(struct ctx *c) { return (uint32_t *)(void *)(c->seg0 + VGPU_STAGING_OFFSET); }

static int64_t futex_lock_pi(struct ctx *c) { return futex(shared_word(c), FUTEX_LOCK_PI, 0, NULL, NULL); }
static int64_t futex_trylock(struct ctx *c) { return futex(shared_word(c), FUTEX_TRYLOCK_PI, 0, NULL, NULL); }
static int64_t futex_requeue(struct ctx *c) { return futex(&c->timelines->wake, FUTEX_REQUEUE, 0, (void *)1000, shared_word(c)); }
static int64_t futex_wake_op(struct ctx *c) { return futex(shared_word(c), FUTEX_WAKE_OP, 1, (void *)1, shared_word(c) + 1); }
static int64_t futex_wait_pi(struct ctx *c) { return futex(shared_word(c), FUTEX_WAIT_REQUEUE_PI, 1, NULL, shared_word(c) + 1); }
static int64_t fcntl_nonblock(struct ctx *c) { (void)c; return result(fcntl(CTX_AT_IRQ, F_SETFL, 0)); }
static int64_t membarrier_all(struct ctx *c) { (void)c; return result(syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0)); }
/* The number is the parent's, or 1 where that is not seen; the call is the same. */
static int64_t kill_parent(struct ctx *c) { (void)c; return result(kill(1, SIGKILL)); }
static int64_t tgkill_parent(struct ctx *c) { (void)c; return result(syscall(SYS_tgkill, getpid() - 1, getpid() - 1, SIGKILL)); }
static int64_t kill_all(struct ctx *c) { (void)c; return result(kill(-1, SIGCONT)); }
static int64_t write_window(struct ctx *c) { (void)c; return result(write(CTX_AT_MAP, "x", 1)); }
static int64_t read_socket(struct ctx *c) { return result(read(CTX_SOCKET_FD, c->scratch, 8)); }
static int64_t prctl_dumpable(struct ctx *c) { (void)c; return result(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)); }

static int64_t ioctl_nonblock(struct ctx *c)
{
	int off = 0;

	(void)c;
	return result(ioctl(CTX_AT_IRQ, FIONBIO, &off));
}

static int64_t send_fds(struct ctx *c)
{
	struct ctx_msg m = { .type = CTX_LOG };

	(void)c;
	for (unsigned i = 0; i < 100; i++)
		if (ctx_send(&m, CTX_AT_OWN, 0))
			return -errno;
	return 0;
}

static int64_t forge(uint32_t type)
{
	struct ctx_msg m = { .type = type, .u.map.id = 1 };

	if (ctx_send(&m, -1, 0))
		return -errno;
	usleep(500000);
	return 0;
}

static int64_t forge_ack(struct ctx *c) { (void)c; return forge(CTX_ACK); }
static int64_t forge_ready(struct ctx *c) { (void)c; return forge(CTX_READY); }

/* What the parent has set aside for us after it was asked. */
static int64_t grant(struct ctx *c, uint64_t bytes)
{
	struct ctx_msg m = { .type = CTX_GRANT };

	m.u.grant.bytes = bytes;
	m.u.grant.id = ++c->grant_id;
	if (ctx_send(&m, -1, 0))
		return -errno;
	while (__atomic_load_n(&c->run->answered, __ATOMIC_ACQUIRE) != c->grant_id)
		usleep(100);
	return (int64_t)c->run->granted;
}

static int64_t grant_all(struct ctx *c)
{
	int64_t most = 0;

	for (unsigned shift = 20; shift < 64; shift++) {
		int64_t got = grant(c, shift == 63 ? ~0ull : 1ull << shift);

		most = got > most ? got : most;
	}
	grant(c, 0);
	return most;
}

/* More private memory than without a grant; then the grant is given back, and the memory is not. */
static int64_t grant_lie(struct ctx *c)
{
	int64_t had = grant(c, 3 * STEP);

	if (had != (int64_t)(3 * STEP))
		return 0;
	while (anon(STEP / 4, RW, ANON) != MAP_FAILED)
		;
	return grant(c, STEP) < had ? 0 : -EBUSY;
}

static int64_t grant_storm(struct ctx *c)
{
	struct ctx_msg m = { .type = CTX_GRANT };
	int64_t n = 0;

	(void)c;
	for (uint64_t until = ctx_now_ns() + STORM_NS; ctx_now_ns() < until; n++) {
		m.u.grant.bytes = n % 2 ? 0 : 3 * STEP;
		if (ctx_send(&m, -1, 0))
			return -errno;
	}
	return n;
}

static int64_t send_short(struct ctx *c)
{
	struct iovec iov = { c->scratch, 7 };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (sendmsg(CTX_SOCKET_FD, &h, MSG_NOSIGNAL) < 0)
		return -errno;
	usleep(500000);
	return 0;
}

static int64_t int80(struct ctx *c)
{
	long rc;

	(void)c;
	__asm__ volatile("int $0x80" : "=a"(rc) : "0"(20l) : "memory", "r8", "r9", "r10", "r11");
	return rc;
}

static int64_t x32(struct ctx *c) { (void)c; return result(syscall(0x40000000 | SYS_getpid)); }

static int64_t leader_exits(struct ctx *c)
{
	(void)c;
	if (getpid() == gettid())
		syscall(SYS_exit, 0);
	return 0;
}


/* For as long as somebody needs to ask what runs. */
static int64_t work_forged(struct ctx *c)
{
	struct vgpu_qb_work *w = (void *)(CTX_QB_VA + VGPU_QB_WORK);

	(void)c;
	for (uint64_t until = ctx_now_ns() + 10 * STORM_NS; ctx_now_ns() < until; clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ .tv_nsec = 1000000 }, NULL)) {
		w->known = 1;
		w->seq = 2;
		memcpy(w->kernel, "forged:" FORGED, sizeof(FORGED) + 7);
	}
	return 0;
}

static int64_t name_forged(struct ctx *c) { (void)c; return result(prctl(PR_SET_NAME, ") R 1\n\033[2J\x9b", 0, 0, 0)); }
static int64_t stop_self(struct ctx *c) { (void)c; return result(syscall(SYS_tgkill, getpid(), gettid(), SIGSTOP)); }

static int64_t deaf(struct ctx *c)
{
	uint64_t all = ~0ull;
	char bytes[256];
	struct iovec io = { bytes, sizeof(bytes) };
	struct msghdr h = { .msg_iov = &io, .msg_iovlen = 1 };

	(void)c;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
	for (uint64_t until = ctx_now_ns() + STORM_NS; ctx_now_ns() < until;)
		recvmsg(CTX_SOCKET_FD, &h, MSG_DONTWAIT);
	return 0;
}

static int64_t send_empty(struct ctx *c)
{
	union { struct cmsghdr h; char room[CMSG_SPACE(4 * sizeof(int))]; } u = { .h = { CMSG_LEN(4 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct msghdr h = { .msg_control = &u, .msg_controllen = sizeof(u) };

	(void)c;
	for (int i = 0, fd = CTX_AT_OWN; i < 4; i++)
		memcpy(CMSG_DATA(&u.h) + i * sizeof(fd), &fd, sizeof(fd));
	if (sendmsg(CTX_SOCKET_FD, &h, MSG_NOSIGNAL) < 0)
		return -errno;
	usleep(500000);
	return 0;
}

static int64_t barrier_storm(struct ctx *c)
{
	int64_t n = 0;

	(void)c;
	for (uint64_t until = ctx_now_ns() + STORM_NS; ctx_now_ns() < until; n++)
		if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0))
			return -errno;
	return n;
}

static int64_t map_storm(struct ctx *c)
{
	uint64_t va = c->init.create.device_base + VGPU_ARENA_BYTES;
	int64_t n = 0;

	for (uint64_t until = ctx_now_ns() + STORM_NS; ctx_now_ns() < until; n++)
		if (mmap((void *)va, VGPU_HUGE, RW, MAP_SHARED | MAP_FIXED, CTX_AT_PHYS, 0) == MAP_FAILED)
			return -errno;
	return n;
}

/* What both the client and the agent take for progress: more of it than was ever submitted. */
static int64_t futures(struct ctx *c)
{
	volatile uint64_t *shadow = (volatile uint64_t *)(void *)((uint8_t *)CTX_QB_VA + VGPU_QB_SHADOW);

	for (uint64_t until = ctx_now_ns() + STORM_NS; ctx_now_ns() < until;)
		for (unsigned i = 0; i < 1024; i++) {
			c->timelines[i].value = ~0ull - i % 2;
			c->timelines[i].error = i % 64;
			shadow[i] = ~0ull - i % 3;
		}
	return 0;
}

static int64_t unmap_all(struct ctx *c)
{
	munmap(c->seg0, VGPU_SEG0_BYTES);
	if (mmap(c->seg0, VGPU_SEG0_BYTES, RW, ANON | MAP_FIXED, -1, 0) == MAP_FAILED)
		return -errno;
	munmap((void *)CTX_QB_VA, VGPU_QB_BYTES);
	return mapped(mmap((void *)CTX_QB_VA, VGPU_QB_BYTES, RW, ANON | MAP_FIXED, -1, 0));
}

static int64_t endless(struct ctx *c)
{
	while (c)
		__asm__ volatile("" : : : "memory");
	return 0;
}

#include "native_beyond.h"

static int64_t call(long nr)
{
	static char path[] = "/etc/passwd";
	uint64_t room[16] = { 0 };

	if (nr == SYS_close || nr == SYS_dup || nr == SYS_pread64 || nr == SYS_pwrite64 || nr == SYS_readv || nr == SYS_writev ||
	    nr == SYS_ftruncate || nr == SYS_sendto || nr == SYS_recvfrom)
		return result(syscall(nr, CTX_AT_MAP, room, 1, 0, 0, 0));
	if (nr == SYS_openat || nr == SYS_openat2)
		return result(syscall(nr, AT_FDCWD, path, 0, 0, 0, 0));
	if (nr == SYS_rt_sigaction)             /* with a place for the old one: glibc's own way in */
		return result(syscall(nr, SIGUSR1, NULL, room, 8, 0, 0));
	return result(syscall(nr, path, room, 0, 0, 0, 0));
}

static const struct {
	int64_t (*run)(struct ctx *c);
	long nr;
} attacks[NATIVE_COUNT] = {
#define X(name, ...) [NATIVE_##name] = { name, 0 },
	NATIVE_ATTACKS(X)
	NATIVE_BEYOND(X)
	NATIVE_CGROUP(X)
#undef X
#define X(name) [NATIVE_CALL_##name] = { NULL, SYS_##name },
	NATIVE_CALLS(X)
#undef X
};

/* ---- beyond the filter -------------------------------------------------------------------------------- */
static struct helper {
	uint32_t asked, answered;       /* number of the attack + 1 */
	int64_t value;
} *helper;

int __wrap_ctx_sandbox(uint32_t driver)
{
	struct ctx *none = NULL;

	if (getenv("VGPU_STUB_NATIVE_BEYOND"))
		helper = anon(VGPU_PAGE, RW, MAP_SHARED | MAP_ANONYMOUS);
	if (helper && fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;; usleep(1000)) {
			uint32_t n = __atomic_load_n(&helper->asked, __ATOMIC_ACQUIRE);

			if (n == helper->answered)
				continue;
			helper->value = attacks[n - 1].run(none);
			__atomic_store_n(&helper->answered, n, __ATOMIC_RELEASE);
		}
	}
	return __real_ctx_sandbox(driver);
}

static int64_t ask_helper(uint32_t n)
{
	__atomic_store_n(&helper->asked, n + 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&helper->answered, __ATOMIC_ACQUIRE) != n + 1)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ .tv_nsec = 1000000 }, NULL);
	return helper->value;
}

enum ctx_result __wrap_ctx_exec(struct ctx *c, struct ctx_stream *s, const struct vgpu_cmd *cmd, const uint8_t *payload,
				struct ctx_progress *at, uint32_t *status)
{
	uint64_t n = cmd->u.value.value;

	/* awake, it says all the time that it sleeps: a doorbell with every command of its client's */
	for (unsigned i = 0; i < 2000 && getenv("VGPU_STUB_NATIVE_BELLS"); i++)
		vgpu_store_relaxed32(&c->qb->need_wakeup, 1);
	if (cmd->op == VGPU_OP_WRITE_VALUE && n >> 32 == NATIVE_MAGIC && (uint32_t)n < NATIVE_COUNT) {
		volatile struct native_outcome *o = (void *)(uintptr_t)cmd->u.value.addr;

		o->state = 1;
		o->value = helper && (uint32_t)n >= NATIVE_beyond_queue && (uint32_t)n <= NATIVE_cgroup_leave ? ask_helper((uint32_t)n) :
			   attacks[(uint32_t)n].run ? attacks[(uint32_t)n].run(c) : call(attacks[(uint32_t)n].nr);
		o->state = 2;
	}
	return __real_ctx_exec(c, s, cmd, payload, at, status);
}
