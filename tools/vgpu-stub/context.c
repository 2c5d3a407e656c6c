/* SPDX-License-Identifier: MIT */
/*
 * The context process: boot, in order, and the parent's messages.
 *
 * Started by the parent as "vgpu-stub --context" with fd 3 (ctx_proto.h). Until START only the parent has been
 * listened to; client input is read after the sandbox has closed.
 */
#include "ctx.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../fw-protocol/vgpu_fence.h"
#include "../../fw-protocol/vgpu_slice.h"

#define HIGH_FD 64              /* received fds go above the fixed numbers until they are in place */
#define BOOT_KEYS 16u           /* different files among the MAPs before START */
#define REFS_NAP_NS 2000000
#define REFS_WAIT_NS 4000000000ull      /* the parent waits STUB_START_NS, from before our first instruction */
#define QB_SPAN VGPU_HUGE       /* at CTX_QB_VA: where hugetlb forbids less, the block's whole page is mapped */

/* ---- the socket -------------------------------------------------------------------------------- */

/* One message, fds to above HIGH_FD. 1, 0: nothing there (only with MSG_DONTWAIT), or -errno. */
static int receive(struct ctx_msg *m, int *fds, unsigned max, unsigned *nfds, int flags)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(CTX_INIT_FDS * sizeof(int))];
	} u;
	struct iovec iov = { m, sizeof(*m) };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	/* Without a control buffer the kernel lets no fd in: so it is after START. */
	if (max) {
		h.msg_control = &u;
		h.msg_controllen = sizeof(u);
	}
	do {
		n = recvmsg(CTX_SOCKET_FD, &h, flags | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (n == 0)
		return -EPIPE;
	*nfds = 0;
	for (struct cmsghdr *cm = max ? CMSG_FIRSTHDR(&h) : NULL; cm; cm = CMSG_NXTHDR(&h, cm)) {
		if (cm->cmsg_level != SOL_SOCKET || cm->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
			int fd, high;

			memcpy(&fd, CMSG_DATA(cm) + i * sizeof(int), sizeof(fd));
			high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
			close(fd);
			if (high < 0)
				return -errno;
			if (*nfds == max)
				close(high);
			else
				fds[(*nfds)++] = high;
		}
	}
	return n == sizeof(*m) ? 1 : -EPROTO;
}

int ctx_send(const struct ctx_msg *m, int fd, int flags)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} u;
	struct iovec iov = { (void *)m, sizeof(*m) };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		memset(&u, 0, sizeof(u));
		h.msg_control = &u;
		h.msg_controllen = sizeof(u.room);
		u.h.cmsg_level = SOL_SOCKET;
		u.h.cmsg_type = SCM_RIGHTS;
		u.h.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&u.h), &fd, sizeof(int));
	}
	return sendmsg(CTX_SOCKET_FD, &h, flags | MSG_NOSIGNAL) == sizeof(*m) ? 0 : -1;
}

/* ---- mappings that the parent asks for ------------------------------------------------------- */

static int within(uint64_t va, uint64_t bytes, uint64_t base, uint64_t size)
{
	return va >= base && va - base <= size && bytes <= size - (va - base);
}

/* Window memory that single-word access may touch directly; adjacent pieces become one. */
static void segment_add(struct ctx *c, uint64_t va, uint64_t bytes)
{
	for (uint32_t i = 0; i < c->segments; i++) {
		struct ctx_segment *s = &c->segment[i];

		if (s->va + s->bytes == va || va + bytes == s->va) {
			s->va = va < s->va ? va : s->va;
			s->bytes += bytes;
			return;
		}
	}
	if (c->segments < CTX_SEGMENTS)         /* more: still reached, through the engine's copy */
		c->segment[c->segments++] = (struct ctx_segment){ va, bytes };
}

static void segment_cut(struct ctx *c, uint64_t va, uint64_t bytes)
{
	for (uint32_t i = 0; i < c->segments; i++) {
		struct ctx_segment s = c->segment[i];

		if (s.va >= va + bytes || va >= s.va + s.bytes)
			continue;
		c->segment[i--] = c->segment[--c->segments];
		if (s.va < va)
			segment_add(c, s.va, va - s.va);
		if (s.va + s.bytes > va + bytes)
			segment_add(c, va + bytes, s.va + s.bytes - (va + bytes));
	}
}

static uint32_t map(struct ctx *c, const struct ctx_map *m, int fd)
{
	uint64_t base = c->init.create.span_base;
	int window = within(m->va, m->bytes, base, VGPU_WINDOW_SPAN);
	int device = c->engine && within(m->va, m->bytes, c->init.create.device_base + VGPU_ARENA_BYTES,
					 VGPU_DEVICE_SPAN - VGPU_ARENA_BYTES);

	if (!m->bytes || (m->va | m->bytes | m->offset) % VGPU_PAGE ||
	    (!window && !device && !within(m->va, m->bytes, CTX_QB_VA, QB_SPAN)) ||
	    (device && !ctx_mem_may_share(c, m->va, m->bytes)))
		return VGPU_ST_INVALID;
	if (mmap((void *)(uintptr_t)m->va, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		 (off_t)m->offset) == MAP_FAILED) {
		ctx_log(c, "map of %llu bytes at 0x%llx: %s", (unsigned long long)m->bytes,
			(unsigned long long)m->va, strerror(errno));
		return VGPU_ST_OUT_OF_MEMORY;
	}
	if (window) {
		segment_cut(c, m->va, m->bytes);
		segment_add(c, m->va, m->bytes);
		if (c->engine)
			c->ops->note_alloc(c->engine, m->va, m->bytes, ENGINE_WINDOW);
	}
	if (device)
		ctx_mem_shared(c, m->va, m->bytes);
	return VGPU_ST_OK;
}

int ctx_messages(struct ctx *c)
{
	struct ctx_msg m;
	unsigned none;
	int rc;

	while ((rc = receive(&m, NULL, 0, &none, MSG_DONTWAIT)) > 0) {
		struct ctx_msg ack = { .type = CTX_ACK };

		ack.u.map.id = m.u.map.id;
		switch (m.type) {
		case CTX_MAP:
			ack.status = map(c, &m.u.map, CTX_AT_MAP);
			break;
		case CTX_UNMAP:
			segment_cut(c, m.u.map.va, m.u.map.bytes);
			c->ops->note_alloc(c->engine, m.u.map.va, m.u.map.bytes, 0);
			if (!within(m.u.map.va, m.u.map.bytes, c->init.create.span_base, VGPU_WINDOW_SPAN))
				ack.status = VGPU_ST_INVALID;
			else if (ctx_none(m.u.map.va, m.u.map.bytes))
				ack.status = VGPU_ST_OUT_OF_MEMORY;
			break;
		case CTX_IRQ:
			c->irq_by_parent = 1;
			break;
		default:
			return -1;
		}
		ctx_engine_died(c);
		if (ctx_send(&ack, -1, 0))
			return -1;
	}
	return rc;
}

/* ---- boot ---------------------------------------------------------------------------------------- */

static int boot_init(struct ctx *c)
{
	struct ctx_msg m;
	int fd[CTX_INIT_FDS], own;
	unsigned n = 0;
	int rc = receive(&m, fd, CTX_INIT_FDS, &n, 0);
	const struct vgpu_ctx_create *k = &m.u.init.create;

	if (rc < 0 || m.type != CTX_INIT || n != CTX_INIT_FDS || k->context >= VGPU_MAX_CONTEXTS ||
	    k->span_base % VGPU_HUGE || k->span_bytes % VGPU_HUGE || k->span_bytes < VGPU_WINDOW_SPAN ||
	    (k->span_base < CTX_QB_VA + QB_SPAN && !VGPU_SPAN_IS_LOW(k->span_base)) || k->span_bytes > VGPU_SPAN_BYTES ||
	    k->span_base + k->span_bytes < k->span_base ||
	    k->device_base < k->span_base + VGPU_WINDOW_SPAN ||
	    !within(k->device_base, VGPU_DEVICE_SPAN, k->span_base, k->span_bytes))
		return -1;
	c->init = m.u.init;
	c->env = (struct vgpu_check_env){ .window_base = k->span_base, .window_bytes = VGPU_WINDOW_SPAN,
					  .device_base = k->device_base, .device_bytes = VGPU_DEVICE_SPAN,
					  .arena_bytes = VGPU_ARENA_BYTES };
	own = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (own < 0 || dup2(own, HIGH_FD + 32) < 0)
		return -1;
	own = HIGH_FD + 32;             /* the number it came with is a fixed one, taken below */
	if (dup2(fd[CTX_FD_KICK], CTX_AT_KICK) < 0 || dup2(fd[CTX_FD_IRQ], CTX_AT_IRQ) < 0 ||
	    dup2(fd[CTX_FD_PHYS], CTX_AT_PHYS) < 0 || dup2(fd[CTX_FD_RUN], CTX_AT_RUN) < 0 ||
	    dup2(own, CTX_AT_OWN) < 0 || dup2(own, CTX_AT_MAP) < 0)
		return -1;
	for (unsigned i = 0; i < CTX_INIT_FDS; i++)
		if (i != CTX_FD_CODE)
			close(fd[i]);
	c->code_fd = fd[CTX_FD_CODE];   /* until its views are mapped */
	close(own);
	c->run = mmap(NULL, VGPU_PAGE, PROT_READ, MAP_SHARED, CTX_AT_RUN, 0);
	return c->run == MAP_FAILED ? -1 : 0;
}

/* The client's addresses, all of them: whatever is not mapped there later faults. */
static uint32_t boot_reserve(struct ctx *c)
{
	const struct vgpu_ctx_create *k = &c->init.create;
	void *p = mmap((void *)(uintptr_t)k->span_base, k->span_bytes, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == (void *)(uintptr_t)k->span_base)
		p = mmap((void *)CTX_QB_VA, QB_SPAN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (p == (void *)CTX_QB_VA)
		return VGPU_ST_OK;
	snprintf(c->why, sizeof(c->why), "the client's address span is not free in this process");
	return VGPU_ST_OUT_OF_MEMORY;
}

static int boot_maps(struct ctx *c)
{
	struct { uint32_t key; int fd; } known[BOOT_KEYS];
	unsigned keys = 0, n, i;
	uint64_t qb = 0;
	struct ctx_msg m;
	int fd;

	for (;;) {
		if (receive(&m, &fd, 1, &n, 0) < 0)
			return -1;
		if (m.type == CTX_START)
			break;
		if (m.type != CTX_MAP)
			return -1;
		for (i = 0; i < keys && known[i].key != m.u.map.fd_key; i++)
			;
		if (i == keys) {
			if (!n || keys == BOOT_KEYS)
				return -1;
			known[keys].key = m.u.map.fd_key;
			known[keys++].fd = fd;
		} else if (n) {
			return -1;
		}
		if (map(c, &m.u.map, known[i].fd))
			return -1;
		if (m.u.map.va >= CTX_QB_VA && m.u.map.va < CTX_QB_VA + VGPU_QB_BYTES)
			qb += m.u.map.bytes;
	}
	for (i = 0; i < keys; i++)
		close(known[i].fd);
	for (i = 0; i < c->segments; i++)
		if (c->segment[i].va == c->init.create.span_base && c->segment[i].bytes >= VGPU_SEG0_BYTES)
			break;
	return i < c->segments && qb >= VGPU_QB_BYTES ? 0 : -1;
}

/* Where everything lies, by the offsets of vgpu_client.h and vgpu_device.h. */
static int boot_layout(struct ctx *c)
{
	uint8_t *qb = (uint8_t *)CTX_QB_VA, *ctx;

	c->qb = (void *)qb;
	c->ctl_ring = (void *)(qb + VGPU_QB_CTL);
	c->io_ring = (void *)(qb + VGPU_QB_IO);
	c->shadow = (void *)(qb + VGPU_QB_SHADOW);
	c->work = (void *)(qb + VGPU_QB_WORK);
	c->work->known = 1;
	c->io_index = c->init.create.io_index;
	vgpu_ring_consumed(&c->qb->io_head, c->io_index);      /* room counts from here */
	c->seg0 = (uint8_t *)(uintptr_t)c->init.create.span_base;
	ctx = c->seg0 + VGPU_CTX_OFFSET(c->init.create.context);
	c->head = (void *)ctx;
	c->printf_ring = (char *)ctx + VGPU_CTX_PRINTF;
	c->timelines = (void *)(ctx + VGPU_CTX_TIMELINES);
	c->modules = ctx_anon(sizeof(*c->modules) * CTX_MODULES);
	/* Our fence may be left out only if the sleeper's membarrier reaches us. */
	c->asym_sleep = c->init.asym_fence != 0;
	c->asym_publish = c->asym_sleep && vgpu_asym_register() == 0;
	/* The client's sleep is another matter: it fences as it was granted, and the agent knows. */
	c->asym_client = c->asym_publish && c->init.create.flags & VGPU_CTX_CLIENT_ASYM;
	return c->modules && !ctx_mem_init(c) && !ctx_stream_init(c) ? 0 : -1;
}

/* Results are right without it: whoever goes without is told why. What it did to the context is another matter. */
static uint32_t boot_cublas(struct ctx *c)
{
	uint64_t began = ctx_now_ns(), opened;
	uint32_t st = cuda_open_cublas(c->init.cublas_library, c->why, sizeof(c->why));

	opened = ctx_now_ns();
	if (!st)
		st = cuda_start_cublas(c->why, sizeof(c->why));
	if (!st && c->init.verbose)
		ctx_log(c, "cuBLAS was opened in %llu ms, and ready in %llu more", (unsigned long long)(opened - began) / 1000000,
			(unsigned long long)(ctx_now_ns() - opened) / 1000000);
	if (vgpu_status_sticky(st))
		return st;
	if (st)
		ctx_log(c, "matrix products without %s: %s", c->init.cublas_library, c->why);
	c->why[0] = 0;
	return VGPU_ST_OK;
}

/*
 * The driver's library, its device and what it loads later need files: before the walls. Its descriptors lie above the place that
 * the listener takes (send_ready). Addresses that are taken when NVIDIA's begins (cuInit reads /proc/self/maps) it gives out no more,
 * asked or not: the span is reserved behind that.
 */
static uint32_t boot_driver(struct ctx *c)
{
	const struct ctx_init *i = &c->init;
	char span[64];
	uint32_t st;

	if (dup2(CTX_AT_OWN, CTX_AT_END) < 0) {
		snprintf(c->why, sizeof(c->why), "no descriptor left");
		return VGPU_ST_LIMIT;
	}
	/*
	 * Where the host's driver is ours: its window below the client's, its device's memory where the client has it. Below a low span
	 * there is no room: our driver is elsewhere then, and the first allocation says so; NVIDIA's needs none of this.
	 */
	snprintf(span, sizeof(span), "0x%llx:%llu", (unsigned long long)(i->create.span_base - VGPU_TIB),
		 (unsigned long long)((i->create.device_base - i->create.span_base) / VGPU_DEVICE_SPAN));
	if (i->create.span_base >= VGPU_SPAN_BASE_MIN)
		setenv("VGPU_SPAN", span, 1);
	if (ctx_walls_driver(i->walls, c->why, sizeof(c->why)))
		return VGPU_ST_NOT_SUPPORTED;
	st = cuda_open_library(i->cuda_library, (int)i->cuda_device, c->why, sizeof(c->why));
	if (!st)
		st = boot_reserve(c);
	if (!st)
		st = cuda_open_context(i->create.device_base, 0, c->why, sizeof(c->why));
	return st || !i->cublas_library[0] ? st : boot_cublas(c);
}

_Static_assert(CTX_RUN_HELD == ENGINE_HELD, "the engine reads the parent's word");

static void wake(void *owner) { ctx_wake(owner); }

static uint32_t boot_engine(struct ctx *c)
{
	const struct ctx_init *i = &c->init;
	struct engine_env env = {
		.span_base = i->create.span_base, .span_bytes = i->create.span_bytes,
		.arena_base = i->create.device_base, .arena_bytes = VGPU_ARENA_BYTES,
		.cores = i->cores ? i->cores : 1,
		.cc_major = i->device.cc_major, .cc_minor = i->device.cc_minor,
		.sm_count = i->device.sm_count,
		.shared_per_block_optin = i->device.shared_per_block_optin,
		.memory_limit = i->create.memory_limit,
		.code_bytes = CTX_CODE_BYTES, .code_fd = c->code_fd,
		.run = c->deaf ? NULL : &c->run->run,
		.owner = c,
		.wake = wake,
		.wanted = ctx_wanted,
		.allocation = ctx_mem_at,
		.done = ctx_stream_done,
		.fault = ctx_fault,
		.print = ctx_print,
		.print_room = ctx_print_room,
	};

	uint32_t st;

	c->ops = i->cuda ? &engine_cuda : &engine_cpu;
	st = c->ops->open(&env, &c->engine);
	close(c->code_fd);
	for (uint32_t k = 0; !st && k < c->segments; k++)
		c->ops->note_alloc(c->engine, c->segment[k].va, c->segment[k].bytes, ENGINE_WINDOW);
	return st;
}

static int fail(struct ctx *c, const char *what, uint32_t status)
{
	struct ctx_msg m = { .type = CTX_READY, .status = status ? status : VGPU_ST_INTERNAL };

	ctx_log(c, "context does not start: %s", what);
	ctx_send(&m, -1, 0);
	return 1;
}

/*
 * READY with the listener. While the user's processes have more descriptors in flight than RLIMIT_NOFILE allows, the
 * kernel refuses ours (unix(7), ETOOMANYREFS): that passes when somebody reads his, so it is tried until
 * shortly before the parent's patience ends, which then hears the reason.
 */
static int send_ready(struct ctx *c, int listener)
{
	struct ctx_msg ready = { .type = CTX_READY };
	struct timespec nap = { .tv_nsec = REFS_NAP_NS };
	uint64_t until = ctx_now_ns() + REFS_WAIT_NS;

	while (ctx_send(&ready, listener, 0)) {
		if (errno != ETOOMANYREFS && errno != EINTR)
			return 1;
		if (ctx_now_ns() >= until)
			return fail(c, vgpu_status_text(VGPU_ST_IN_FLIGHT), VGPU_ST_IN_FLIGHT);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
	}
	return 0;
}

/* The file of vgpu verify's counts, which the parent opened, makes room for the fixed numbers. */
static void keep_counts(void)
{
	int high;
	char name[16];

	if (!getenv("VGPU_VERIFY_COUNTS"))
		return;
	high = fcntl(CTX_COUNTS_FD, F_DUPFD_CLOEXEC, HIGH_FD + 40);
	close(CTX_COUNTS_FD);
	snprintf(name, sizeof(name), "fd:%d", high);
	setenv("VGPU_VERIFY_COUNTS", name, 1);
}

int context_main(void)
{
	static struct ctx the_ctx;
	struct ctx *c = &the_ctx;
	uint32_t status;
	int listener;

	/* The parent may have gone before this line; then nobody reads the socket, and receive() says so. */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	prctl(PR_SET_NAME, "vgpu-context", 0, 0, 0);
	prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);        /* short naps, see ctx_loop.c */
	pthread_mutex_init(&c->print_lock, NULL);
	c->dispatcher = pthread_self();
	c->boot_ns = ctx_now_ns();
	c->boot_ticks = ctx_ticks();
	if (getenv("VGPU_STUB_SHUFFLE"))
		c->shuffle = strtoull(getenv("VGPU_STUB_SHUFFLE"), NULL, 0);
	c->deaf = getenv("VGPU_STUB_DEAF") != NULL;

	/* One heap for all threads: before glibc shrinks another thread's it reads a file, which the sandbox forbids. */
	mallopt(M_ARENA_MAX, 1);
	keep_counts();
	if (boot_init(c))
		return fail(c, "INIT is not what this version expects", VGPU_ST_PROTOCOL);
	status = c->init.cuda ? boot_driver(c) : boot_reserve(c);
	if (status)
		return fail(c, c->why, status);
	if (ctx_walls(c->init.walls, c->init.uid, c->init.cuda != 0, c->why, sizeof(c->why)))
		return fail(c, c->why, VGPU_ST_NOT_SUPPORTED);
	c->why[0] = 0;
	if (boot_maps(c))
		return fail(c, "queue block or window segment 0 are not mapped", VGPU_ST_PROTOCOL);
	if (boot_layout(c))
		return fail(c, "no address space for the queues", VGPU_ST_OUT_OF_MEMORY);
	status = boot_engine(c);
	if (status)
		return fail(c, "the engine did not open", status);
	ctx_job_init(c);
	ctx_watch_init(c);
	/* not the workers, which are there by now */
	vgpu_short_slice();
	/* fd numbers are final from here on: the listener takes the first free one. */
	if (c->init.cuda ? close(CTX_AT_END) : syscall(SYS_close_range, CTX_AT_END, ~0u, 0))
		return fail(c, "close_range", VGPU_ST_NOT_SUPPORTED);
	listener = ctx_sandbox(!c->init.cuda ? 0 : CTX_DRIVER | (c->init.walls & (VGPU_WALL_MOUNT | VGPU_WALL_LANDLOCK) ? CTX_DRIVER_OPENS : 0) |
			       (c->init.walls & VGPU_WALL_MOUNT ? CTX_DRIVER_LOOKS : 0));
	if (listener < 0)
		return fail(c, "the kernel refuses the sandbox (seccomp user notification, Linux >= 5.9)",
			    VGPU_ST_NOT_SUPPORTED);
	if (send_ready(c, listener))
		return 1;
	c->messages_seen = vgpu_load_relaxed32(&c->run->messages) - 1;  /* look at once */
	c->ns_per_tick = (double)(ctx_now_ns() - c->boot_ns) / (double)(ctx_ticks() - c->boot_ticks);
	return ctx_loop(c);
}
