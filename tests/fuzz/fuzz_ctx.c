/* SPDX-License-Identifier: MIT */
/*
 * A context that lies to the device's parent: any message at any time, any mmap that its filter would ask about, its death at any
 * moment. Beside it a model of the conversation (ctx_proto.h): what each side has said, who is to live on, which mapping is to be
 * granted, which admin command is to be completed; it knows of the parent what a context can see, and compares with the parent.
 *
 * No process is started: processes, their descriptors, limits and the seccomp listener are played here, under the names that
 * ctxproc.c and ctxguard.c call them by (both are included for that). Sockets, descriptors and the map table are real.
 *
 * Sources: tests/fuzz/fuzz_ctx.c tools/vgpu-stub/ctxpieces.c tools/vgpu-stub/ctxwords.c tools/vgpu-stub/dma.c tools/vgpu-stub/irq.c
 *          tools/vgpu-stub/log.c tools/vgpu-stub/loop.c
 *
 * Input: events of 8 bytes: what, which of two contexts, then what the event says of them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../tools/vgpu-stub/stub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NEED(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); abort(); } } while (0)
#define CONTEXTS 2u
#define FILE_BYTES 0x1000000u
#define LOW_IOVA 0x10000000ull          /* all of one file, in order; */
#define MIXED_IOVA 0x40000000ull        /* pages of two files by turns */
#define MIXED_PAGES 16u
#define MAX_PARTS 64u

/* One context, as it knows itself, and what the parent owes it. */
struct fake {
	int sock, err, pidfd, pid, spawned;     /* pid: 0 when it is reaped */
	int dead;                       /* killed or gone by itself; not reaped */
	int killed;
	int limited;
	enum { NONE, STARTING, RUNNING, DOOMED } is;
	int hears;                      /* its socket is still listened to */
	uint32_t asked;                 /* id that the parent waits for */
	int by_map;                     /* asked by a MAP: this one, */
	struct ctx_map map;
	int mapped;                     /* which it has made */
	unsigned parts, started_parts;  /* MAPs heard */
	int irq_told;
	int create, segment, destroy;   /* admin commands that are not completed */
	uint32_t create_status;         /* what it has to be, if it fails */
};

static struct device dev;
static struct fake fake[CONTEXTS];
static int listener_fd, event_fd, file_fd[2];
static char listener_name[64];
static struct seccomp_notif asks;       /* the call that is waiting for an answer */
static int asks_on, answer;             /* answer: -1 none yet, 0 no, 1 yes */
static int addfd_fails, caller_gone;
static struct context *listening;
static struct fake *being_made;

/* ---- what the parent calls ----------------------------------------------------------------------------------- */

static struct fake *by_pidfd(int fd)
{
	for (unsigned i = 0; i < CONTEXTS; i++)
		if (fake[i].spawned && fake[i].pidfd == fd)
			return &fake[i];
	__builtin_trap();
}

static void dies(struct fake *f)
{
	uint64_t one = 1;

	f->dead = 1;
	NEED(write(f->pidfd, &one, 8) == 8);
}

static int fuzz_signal(int pidfd, int sig, siginfo_t *info, unsigned flags)
{
	struct fake *f = by_pidfd(pidfd);

	(void)info;
	(void)flags;
	NEED(sig == SIGKILL && f->pid);
	if (!f->dead)
		dies(f);
	f->killed = 1;
	return 0;
}

/* Would wait for ever for one that lives. */
static int fuzz_waitid(idtype_t type, id_t id, siginfo_t *si, int options)
{
	struct fake *f = by_pidfd((int)id);

	NEED(type == P_PIDFD && options == WEXITED && f->dead && f->pid);
	f->pid = 0;
	si->si_code = f->killed ? CLD_KILLED : CLD_EXITED;
	si->si_status = f->killed ? SIGKILL : 3;
	return 0;
}

static int fuzz_prlimit(pid_t pid, __rlimit_resource_t what, const struct rlimit *now, struct rlimit *old)
{
	struct fake *f = pid == fake[0].pid ? &fake[0] : &fake[1];

	/* a number that was reaped may be somebody else's */
	NEED(f->pid == pid && pid && what == RLIMIT_NOFILE && now->rlim_max == CTX_FDS && !old);
	f->limited = 1;
	return 0;
}

static int fuzz_poll(struct pollfd *p, nfds_t n, int timeout)
{
	NEED(n == 1 && !timeout);
	p->revents = POLLIN;
	return 1;
}

static int fuzz_ioctl(int fd, unsigned long what, void *arg)
{
	NEED(listening && fd == listening->listener);
	if (what == SECCOMP_IOCTL_NOTIF_RECV) {
		NEED(asks_on);
		memcpy(arg, &asks, sizeof(asks));
		return 0;
	}
	if (what == SECCOMP_IOCTL_NOTIF_ADDFD) {
		const struct seccomp_notif_addfd *add = arg;
		struct stat a, b;

		NEED(add->id == asks.id && add->newfd == CTX_AT_MAP && !fstat((int)add->srcfd, &a));
		NEED((!fstat(file_fd[0], &b) && a.st_ino == b.st_ino) || (!fstat(file_fd[1], &b) && a.st_ino == b.st_ino));
		return addfd_fails ? -1 : CTX_AT_MAP;
	}
	if (what == SECCOMP_IOCTL_NOTIF_ID_VALID)
		return caller_gone ? -1 : 0;
	NEED(what == SECCOMP_IOCTL_NOTIF_SEND);
	answer = ((struct seccomp_notif_resp *)arg)->flags == SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	return 0;
}

static ssize_t fuzz_readlink(const char *path, char *to, size_t room)
{
	ssize_t n = readlink(path, to, room);

	if (n == (ssize_t)strlen(listener_name) && !memcmp(to, listener_name, (size_t)n))
		return snprintf(to, room, "anon_inode:seccomp notify");
	return n;
}

#define pidfd_send_signal fuzz_signal
#define waitid fuzz_waitid
#define prlimit fuzz_prlimit
#define poll fuzz_poll
#define ioctl fuzz_ioctl
#define readlink fuzz_readlink
#include "../../tools/vgpu-stub/ctxproc.c"
#include "../../tools/vgpu-stub/ctxguard.c"
#undef pidfd_send_signal
#undef waitid
#undef prlimit
#undef poll
#undef ioctl
#undef readlink

int ctxspawn(struct context *c)
{
	static int numbers = 1000;
	struct fake *f = being_made;
	int s[2], e[2];

	NEED(!f->spawned && c == &dev.ctx[f - fake] && !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s));
	NEED(!pipe2(e, O_CLOEXEC | O_NONBLOCK));
	f->spawned = 1;
	c->sock = s[0];
	f->sock = s[1];
	c->err_fd = e[0];
	f->err = e[1];
	c->pid = f->pid = ++numbers;
	c->pidfd = f->pidfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return 0;
}

uint32_t ctxspawn_uid(const struct context *c)
{
	(void)c;
	return 0;
}

void cgroup_weight(struct context *c)
{
	(void)c;
}

void cgroup_leave(struct context *c)
{
	(void)c;
}

/* Tokens carry which command of which context they are. */
enum { T_CREATE, T_SEGMENT, T_DESTROY };

void admin_complete(struct device *d, struct admin_token *t, uint32_t status, uint64_t v0, uint64_t v1, uint64_t v2)
{
	struct fake *f = &fake[t->place];

	(void)d; (void)v0; (void)v1; (void)v2;
	if (!t->used)
		return;
	t->used = 0;
	NEED(vgpu_status_known(status));
	switch (t->seq) {
	case T_CREATE:
		NEED(f->create && (status == VGPU_ST_OK) == (f->is == RUNNING));
		f->create = 0;
		break;
	case T_SEGMENT:
		NEED(f->segment);
		f->segment = 0;
		break;
	default:
		NEED(f->destroy);
		f->destroy = 0;
	}
}

void admin_context_died(struct device *d, struct context *c)
{
	(void)d;
	NEED(c->state == CTX_DEAD && fake[c->qid].is == DOOMED);
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

/* What the parent sends, as a context reads it. */
static void hear(struct context *c, struct fake *f)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int) * 8)];
	} ctl;
	struct ctx_msg m;

	while (f->spawned && f->sock >= 0) {
		struct iovec iov = { &m, sizeof(m) };
		struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ctl, .msg_controllen = sizeof(ctl) };
		ssize_t n = recvmsg(f->sock, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		unsigned fds = 0;

		if (n <= 0)
			return;
		NEED(n == sizeof(m));
		for (struct cmsghdr *k = CMSG_FIRSTHDR(&h); k; k = CMSG_NXTHDR(&h, k))
			for (fds = 0; fds < (k->cmsg_len - CMSG_LEN(0)) / sizeof(int); fds++) {
				int fd;

				memcpy(&fd, CMSG_DATA(k) + fds * sizeof(int), sizeof(int));
				close(fd);
			}
		switch (m.type) {
		case CTX_INIT:
			NEED(fds == CTX_INIT_FDS && f->is == STARTING && !f->parts);
			break;
		case CTX_MAP:
			/* while it starts the files come along; later none may enter, and one is asked for at a time */
			if (f->is == STARTING) {
				NEED(fds <= 1 && !m.u.map.id);
				f->parts++;
				break;
			}
			NEED(!fds && f->is != STARTING && m.u.map.id && !f->asked);
			f->asked = m.u.map.id;
			f->by_map = 1;
			f->mapped = 0;
			f->map = m.u.map;
			NEED(f->map.va >= c->create.span_base && f->map.va - c->create.span_base < VGPU_WINDOW_SPAN);
			break;
		case CTX_START:
			NEED(!fds && f->is == STARTING);
			f->started_parts = f->parts;
			break;
		case CTX_IRQ:
			NEED(!fds && f->is != STARTING && m.u.map.id && !f->asked && !f->irq_told);
			f->irq_told = 1;
			f->asked = m.u.map.id;
			f->by_map = 0;
			break;
		default:
			__builtin_trap();
		}
	}
}

static void doom(struct fake *f)
{
	if (f->is == STARTING || f->is == RUNNING)
		f->is = DOOMED;
}

/* What has become of it with the parent. */
static void compare(unsigned q)
{
	struct context *c = &dev.ctx[q];
	struct fake *f = &fake[q];

	if (f->is == STARTING)
		NEED(c->state == CTX_STARTING && !f->killed);
	if (f->is == RUNNING)
		NEED(c->state == CTX_RUNNING && !f->killed && f->limited && c->wait_ack == f->asked && !f->create);
	if (f->is == DOOMED) {
		NEED(c->state == CTX_DYING || c->state == CTX_DEAD || c->state == CTX_FREE || f->dead);
		NEED(c->state == CTX_STARTING || c->state == CTX_RUNNING || c->sock < 0);
	}
	NEED((c->state == CTX_STARTING || c->state == CTX_RUNNING || c->state == CTX_DYING) == (f->spawned && f->pid));
	/* memory is held as long as it could be touched, and no longer */
	if (!f->pid)
		NEED(!c->npieces && c->sock < 0 && c->err_fd < 0 && c->listener < 0 && !c->out_head);
	if (f->spawned && !f->pid) {    /* reaped: both ends are over */
		close(f->sock);
		close(f->err);
		f->spawned = 0;
		f->is = c->state == CTX_FREE ? NONE : DOOMED;
		NEED(!f->create && !f->segment && !f->destroy);
	}
	if (c->state == CTX_FREE)
		f->is = NONE;
}

static void settle(void)
{
	uint32_t live = 0;

	for (unsigned i = 0; i < 4 * CONTEXTS; i++) {
		loop_once(1);
		for (unsigned q = 0; q < CONTEXTS; q++)
			hear(&dev.ctx[q], &fake[q]);
	}
	for (unsigned q = 0; q < CONTEXTS; q++) {
		compare(q);
		live += fake[q].spawned;
	}
	NEED(dev.live == live);
}

/* ---- events -------------------------------------------------------------------------------------------------------- */

static void create(unsigned q, const uint8_t *p)
{
	struct vgpu_ctx_create create = {
		.queue_iova = LOW_IOVA + (p[2] & 3) * VGPU_QB_BYTES, .seg0_iova = LOW_IOVA + 0x400000 * (1 + (p[2] >> 2 & 1)),
		.span_base = VGPU_SPAN_BASE_DEFAULT, .span_bytes = VGPU_SPAN_BYTES,
		.device_base = VGPU_DEVICE_BASE(VGPU_SPAN_BASE_DEFAULT, 0), .memory_limit = 4 << 20, .weight = 1 };
	const struct admin_token t = { 1, T_CREATE, q };
	struct fake *f = &fake[q];
	uint32_t st;

	if (p[2] & 0x80)
		create.queue_iova = MIXED_IOVA - VGPU_PAGE * (p[3] % 40);       /* not all of it is mapped */
	if (f->is != NONE || f->spawned) {
		NEED(dev.ctx[q].state == CTX_FREE || ctxproc_create(&dev, q, &create, &t) == VGPU_ST_BUSY);
		return;
	}
	memset(f, 0, sizeof(*f));
	f->sock = -1;
	f->create = 1;
	f->is = STARTING;
	f->hears = 1;
	being_made = f;
	st = ctxproc_create(&dev, q, &create, &t);
	if (st) {
		NEED(vgpu_status_known(st) && !f->spawned && !dev.ctx[q].npieces);
		f->is = NONE;
		f->create = 0;
	}
}

static void say(struct fake *f, const void *m, size_t bytes, const int *fds, unsigned nfds)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int) * 8)];
	} ctl;
	struct iovec iov = { (void *)(uintptr_t)m, bytes };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nfds) {
		memset(&ctl, 0, sizeof(ctl));
		h.msg_control = &ctl;
		h.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		ctl.h.cmsg_level = SOL_SOCKET;
		ctl.h.cmsg_type = SCM_RIGHTS;
		ctl.h.cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(&ctl.h), fds, sizeof(int) * nfds);
	}
	sendmsg(f->sock, &h, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* A message, and what it must come to. */
static void message(unsigned q, const uint8_t *p)
{
	static const uint32_t types[] = { CTX_READY, CTX_ACK, CTX_LOG, CTX_RAISE, CTX_INIT, 0, 99, 105 };
	static const size_t sizes[] = { sizeof(struct ctx_msg) - 1, 0, 8, 1, sizeof(struct ctx_msg) + 1 };
	const int all[] = { listener_fd, event_fd, listener_fd, event_fd, event_fd, event_fd };
	struct { struct ctx_msg m; char more[8]; } out = { .m = { .type = types[p[2] & 7], .status = p[3] & 1 ? p[3] : 0 } };
	size_t bytes = p[2] & 0x80 ? sizes[p[4] % 5] : sizeof(out.m);
	unsigned from = p[5] & 1, nfds = p[5] >> 1 & 7;
	struct fake *f = &fake[q];

	if (!f->spawned || f->sock < 0 || !f->pid || f->dead)
		return;
	nfds = nfds > 5 ? 0 : nfds;
	if (out.m.type == CTX_LOG)
		memset(out.m.u.log, p[4], sizeof(out.m.u.log));
	else
		out.m.u.map.id = p[4] & 1 ? f->asked + (p[4] >> 1) : f->asked;
	say(f, &out, bytes, all + from, nfds);
	if (!f->hears)
		return;
	if (!bytes) {
		f->hears = 0;           /* as if it had closed its end: the deadline ends it */
		return;
	}
	if (bytes != sizeof(out.m) || nfds > 4 || (nfds && out.m.type != CTX_READY)) {
		doom(f);
	} else if (out.m.type == CTX_READY) {
		if (f->is == STARTING && !out.m.status && nfds == 1 && all[from] == listener_fd)
			f->is = RUNNING;
		else
			doom(f);
	} else if (out.m.type == CTX_ACK) {
		if (f->is != RUNNING || !f->asked || out.m.u.map.id != f->asked || out.m.status >= VGPU_ST_COUNT)
			doom(f);
		else
			f->asked = 0;
	} else if (out.m.type != CTX_LOG && out.m.type != CTX_RAISE) {
		doom(f);
	}
}

/* An mmap of it, asked about by its filter. Granted: exactly the MAP that is out, once; or its own memory, in its span. */
static void maps(unsigned q, const uint8_t *p)
{
	struct context *c = &dev.ctx[q];
	struct fake *f = &fake[q];
	struct seccomp_data *s = &asks.data;
	uint64_t device = c->create.device_base + VGPU_ARENA_BYTES;
	int want, phys = p[2] & 1;

	if (f->is != RUNNING || c->listener < 0 || f->dead)
		return;
	memset(&asks, 0, sizeof(asks));
	asks.id = 7;
	s->nr = SYS_mmap;
	s->arch = AUDIT_ARCH_X86_64;
	s->args[0] = phys ? device + VGPU_PAGE * p[3] : f->map.va;
	s->args[1] = phys ? VGPU_PAGE * (1 + p[4]) : f->map.bytes;
	s->args[2] = PROT_READ | PROT_WRITE;
	s->args[3] = MAP_SHARED | MAP_FIXED | (p[2] & 2 ? MAP_POPULATE : 0);
	s->args[4] = phys ? CTX_AT_PHYS : CTX_AT_MAP;
	s->args[5] = phys ? VGPU_PAGE * p[5] : f->map.offset;
	if (p[6] & 7)           /* one thing otherwise */
		s->args[p[6] % 6] += (p[6] & 0x80 ? -1ull : 1ull) << (p[7] & 63);
	s->nr += p[6] == 0x40;
	s->arch += p[6] == 0x48;
	addfd_fails = p[2] >> 4 == 15;
	caller_gone = p[2] >> 4 == 14;
	want = s->nr == SYS_mmap && s->arch == AUDIT_ARCH_X86_64 && s->args[2] == (PROT_READ | PROT_WRITE) &&
	       (s->args[3] | MAP_POPULATE | MAP_NORESERVE) == (MAP_SHARED | MAP_FIXED | MAP_POPULATE | MAP_NORESERVE);
	if ((int)s->args[4] == CTX_AT_PHYS) {
		__uint128_t end = (__uint128_t)s->args[0] + s->args[1], file = (__uint128_t)s->args[5] + s->args[1];

		want = want && s->args[0] >= device && end <= c->create.device_base + VGPU_DEVICE_SPAN && file <= VGPU_PHYS_SPAN;
	} else {
		want = want && (int)s->args[4] == CTX_AT_MAP && f->asked && f->by_map && !f->mapped && s->args[0] == f->map.va &&
		       s->args[1] == f->map.bytes && s->args[5] == f->map.offset && !addfd_fails;
		f->mapped |= want;
	}
	answer = -1;
	asks_on = 1;
	listening = c;
	ctxguard_ready(c);
	listening = NULL;
	asks_on = 0;
	NEED(want ? answer == 1 : answer != 1);
	if (!want && !caller_gone)
		doom(f);
}

static void segment(unsigned q, const uint8_t *p)
{
	const struct admin_token t = { 1, T_SEGMENT, q };
	struct fake *f = &fake[q];
	uint64_t iova = (p[2] & 1 ? MIXED_IOVA : LOW_IOVA) + VGPU_PAGE * (p[3] % 24), bytes = VGPU_PAGE * (1 + p[4] % 20);
	int had = f->segment;
	uint32_t st;

	if (dev.ctx[q].state != CTX_RUNNING)    /* admin.c asks that */
		return;
	f->segment = 1;
	st = ctxproc_segment(&dev.ctx[q], iova, bytes, VGPU_SPAN_BASE_DEFAULT + VGPU_PAGE * (1024 + p[5] * 8), &t);
	NEED(st < VGPU_ST_COUNT && (!had || st == VGPU_ST_BUSY));
	if (!had && st)
		f->segment = 0;
	if (p[2] & 1 && p[3] % 24u + 1 + p[4] % 20u > MIXED_PAGES)
		NEED(st);
}

static void destroy(unsigned q)
{
	const struct admin_token t = { 1, T_DESTROY, q };
	struct fake *f = &fake[q];

	if (f->destroy)
		return;
	f->destroy = 1;
	doom(f);
	ctxproc_destroy(&dev.ctx[q], &t);
	NEED(!f->destroy || f->spawned);
}

/* On its stderr: some bytes, again and again; and the time at which its pipe is looked at again has come. */
static void words(unsigned q, const uint8_t *p)
{
	char out[600];
	struct fake *f = &fake[q];

	if (!f->spawned || !f->pid || f->dead)
		return;
	for (size_t i = 0; i < sizeof(out); i++)
		out[i] = (char)p[4 + i % 4];
	NEED(write(f->err, out, (p[2] | p[3] << 8) % sizeof(out)) >= -1);
	if (dev.ctx[q].words_ns && p[3] & 0x80) {
		dev.ctx[q].words_ns = 1;
		ctxproc_deadlines(&dev);
	}
}

static void event(const uint8_t *p)
{
	unsigned q = p[1] % CONTEXTS;
	struct context *c = &dev.ctx[q];
	struct fake *f = &fake[q];

	switch (p[0] % 13) {
	case 0: create(q, p); break;
	case 1: case 2: case 3: message(q, p); break;
	case 4: case 5: maps(q, p); break;
	case 6: segment(q, p); break;
	case 7: ctxproc_vector_changed(&dev, q); break;
	case 8:                         /* by itself */
		if (f->spawned && f->pid && !f->dead) {
			dies(f);
			f->is = DOOMED;
		}
		break;
	case 9: destroy(q); break;
	case 10:                        /* what is awaited does not come */
		if (c->deadline_ns) {
			c->deadline_ns = 1;
			doom(f);
			ctxproc_deadlines(&dev);
		}
		break;
	case 12: words(q, p); break;
	default:                        /* it hangs up */
		if (f->spawned && f->sock >= 0 && p[2] & 1) {
			shutdown(f->sock, SHUT_WR);
			f->hears = 0;
		} else if (c->state == CTX_RUNNING || c->state == CTX_STARTING) {
			ctxproc_set_run(c, p[3] & 1);
		}
	}
	settle();
}

/* ---- one input ------------------------------------------------------------------------------------------------------- */

static void set_up(void)
{
	static int done;
	int pipes[2];
	char path[64];
	ssize_t n;

	if (done)
		return;
	done = 1;
	log_set_verbose(-1);
	NEED(!loop_init() && !irq_init(&dev) && !pipe(pipes));
	listener_fd = pipes[0];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", listener_fd);
	n = readlink(path, listener_name, sizeof(listener_name) - 1);
	event_fd = eventfd(0, EFD_NONBLOCK);
	dma_init(&dev.dma);
	for (unsigned i = 0; i < 2; i++) {
		file_fd[i] = memfd_create("fuzz", 0);
		NEED(!ftruncate(file_fd[i], FILE_BYTES));
	}
	NEED(n > 0 && event_fd >= 0);
	ctxproc_init(&dev);
	for (unsigned i = 0; i < 1 + CONTEXTS; i++)
		irq_context_fd(&dev, i);
}

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 400; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t first[CONTEXTS][8] = { { 0, 0, 0 }, { 0, 1, 5 } };
	int fds;

	set_up();
	fds = size > 1 && data[1] == 0x77 ? open_fds() : 0;
	NEED(!dma_map(&dev.dma, LOW_IOVA, FILE_BYTES, 0, DMA_READ | DMA_WRITE, dup(file_fd[0])));
	for (unsigned i = 0; i < MIXED_PAGES; i++)
		NEED(!dma_map(&dev.dma, MIXED_IOVA + VGPU_PAGE * i, VGPU_PAGE, VGPU_PAGE * (i / 2), DMA_READ | DMA_WRITE,
			      dup(file_fd[i & 1])));
	for (unsigned i = 0; i < CONTEXTS; i++)
		event(first[i]);
	for (size_t at = 0; at + 8 <= size && at < 8 * 100; at += 8)
		event(data + at);
	for (unsigned i = 0; i < CONTEXTS; i++)
		doom(&fake[i]);
	ctxproc_kill_all(&dev);
	for (unsigned i = 0; i < CONTEXTS; i++) {
		fake[i].create = fake[i].segment = fake[i].destroy = 0;         /* a reset completes nothing */
		compare(i);
		if (fake[i].spawned) {
			close(fake[i].sock);
			close(fake[i].err);
		}
		memset(&fake[i], 0, sizeof(fake[i]));
	}
	NEED(!dev.live);
	for (const struct dma_file *f = dev.dma.files; f; f = f->next)
		NEED(f->refs == 1 + MIXED_PAGES / 2 || f->refs == MIXED_PAGES / 2);
	dma_unmap_all(&dev.dma);
	NEED(!dev.dma.files && (!fds || open_fds() == fds));
	return 0;
}
