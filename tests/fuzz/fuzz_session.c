/* SPDX-License-Identifier: MIT */
/*
 * Sessions of several clients with the whole agent: messages of every kind in any order, well-formed or not, with descriptors or
 * without, answers read or left, ends at any moment, and a device that refuses contexts or loses them. (fuzz_agent_msg knows the messages
 * one by one; what it is to the agent that they come in a row is asked here.)
 *
 * What must hold: an answer is one of the kind that was asked for, its status is one; descriptors come with success alone; and when all
 * have gone nothing is charged to anybody, every queue is free, the device has no map but its own, and no descriptor is left.
 *
 * Not sent: what changes the agent itself for those who come later (admission, limits, drain).
 *
 * Sources: tests/fuzz/fuzz_session.c, all of agent without main.c, fw-protocol -lpthread
 *
 * Input: events of two bytes, who and what, and what each takes of the bytes behind them.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "../unit/agent_raw.h"

#include "../../agent/boot.h"
#include "../../agent/control.h"
#include "../../agent/cpu.h"
#include "../../agent/data.h"
#include "../../agent/device.h"
#include "../../agent/idle.h"
#include "../../agent/message.h"
#include "../../agent/options.h"
#include "../unit/agent_fake.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NEED(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); abort(); } } while (0)
#define CLIENTS 3u
#define LONG_NS 60000000000ull  /* patience with a busy machine, and no measure */
#define SPAN(i) (VGPU_SPAN_BASE_DEFAULT + (uint64_t)(i) * 10 * VGPU_TIB)

static char path[64];
static struct { int sock; pid_t pid; uint8_t token[16]; } who[CLIENTS];
static int lobby;               /* who forks clients' processes, made before there are threads */
static uint32_t last_id;
static unsigned fds_before;

/* Not pipes: the fuzzer's own symbolizer is behind those, from when it first has something to say. */
static unsigned descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	char to[64];
	unsigned n = 0;

	while (d && (e = readdir(d)))
		n += readlinkat(dirfd(d), e->d_name, to, sizeof(to)) < 5 || memcmp(to, "pipe:", 5);
	if (d)
		closedir(d);
	return n;
}

/*
 * What a process has shared is charged until it ends, so each client is a process, which connects and lets us speak for it: its number
 * and its socket are what the lobby answers.
 */
static void send_socket(int to, int sock)
{
	union { struct cmsghdr h; char room[CMSG_SPACE(sizeof(int))]; } c = { .h = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
									       .cmsg_type = SCM_RIGHTS } };
	pid_t pid = getpid();
	struct iovec iov = { &pid, sizeof(pid) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = c.room, .msg_controllen = sizeof(c.room) };

	memcpy(CMSG_DATA(&c.h), &sock, sizeof(sock));
	(void)!sendmsg(to, &m, 0);
}

static void open_lobby(void)
{
	int sv[2];
	char ask;

	NEED(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv));
	if (fork()) {
		close(sv[1]);
		lobby = sv[0];
		return;
	}
	close(sv[0]);
	signal(SIGCHLD, SIG_IGN);
	while (recv(sv[1], &ask, 1, 0) == 1) {
		if (!fork()) {
			struct raw r;

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (raw_connect(&r, path) < 0)
				(void)!send(sv[1], &ask, 1, 0);
			else
				send_socket(sv[1], r.sock);
			close(r.sock);
			for (;;)
				pause();
		}
	}
	unlink(path);           /* however the fuzzer ended */
	_exit(0);
}

static void *control_thread(void *unused)
{
	(void)unused;
	control_run();
	return NULL;
}

static void start(void)
{
	static pthread_t control;

	fake_options(path, sizeof(path), "fuzz-session");
	log_level = -1;
	open_lobby();
	fake_start();
	cpu_init();
	ticks_init();
	agent.cores = 2;
	agent.cpu = -1;
	NEED(!boot_memory() && !boot_identity() && !control_init() && !data_start() && !boot_devices() && !control_listen());
	NEED(!pthread_create(&control, NULL, control_thread, NULL));
	for (unsigned i = 0; i < CLIENTS; i++)
		who[i].sock = -1;
}

/* What came for i; it waits for `ms` at most. */
static void answers(unsigned i, int ms)
{
	struct pollfd p = { .fd = who[i].sock, .events = POLLIN };
	struct raw r = { .sock = who[i].sock };
	union { struct vgpu_msg_header h; uint32_t words[4096]; struct vgpu_msg_share_r share; } m;
	int fds[4], n;

	while (who[i].sock >= 0 && poll(&p, 1, ms) > 0) {
		for (unsigned k = 0; k < 4; k++)
			fds[k] = -1;
		n = raw_recv(&r, &m, sizeof(m), fds, 4);
		if (n <= 0) {
			close(who[i].sock);
			who[i].sock = -1;
			return;
		}
		NEED((size_t)n >= sizeof(m.h) + 4 && m.h.bytes <= (unsigned)n && m.h.type && vgpu_status_known(m.words[sizeof(m.h) / 4]));
		for (unsigned k = 0; k < 4; k++) {
			NEED(fds[k] < 0 || m.words[sizeof(m.h) / 4] == VGPU_ST_OK);
			if (fds[k] >= 0)
				close(fds[k]);
		}
		if (m.h.type == VGPU_MSG_SHARE && m.share.status == VGPU_ST_OK)
			memcpy(who[i].token, m.share.token, sizeof(who[i].token));
		ms = 0;
	}
}

/* The connection is closed, and so may be the process: first the one, then the other, or the other alone. */
static void leave(unsigned i)
{
	if (who[i].sock >= 0)
		close(who[i].sock);
	if (who[i].pid)
		kill(who[i].pid, SIGKILL);
	who[i].sock = -1;
	who[i].pid = 0;
}

static void client(unsigned i)
{
	struct raw r = { .sock = lobby };

	if (who[i].sock >= 0)
		return;
	leave(i);
	NEED(send(lobby, "c", 1, 0) == 1 && raw_recv(&r, &who[i].pid, sizeof(who[i].pid), &who[i].sock, 1) == sizeof(who[i].pid));
	last_id++;
}

static void say(unsigned i, const void *m, size_t bytes, int fd)
{
	union { struct cmsghdr h; char room[CMSG_SPACE(sizeof(int))]; } c = { .h = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
									       .cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { (void *)(uintptr_t)m, bytes };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (who[i].sock < 0)
		return;
	if (fd >= 0) {
		memcpy(CMSG_DATA(&c.h), &fd, sizeof(fd));
		h.msg_control = c.room;
		h.msg_controllen = sizeof(c.room);
	}
	(void)!sendmsg(who[i].sock, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void hello(unsigned i, unsigned how)
{
	struct vgpu_msg_hello m = { .h = { VGPU_MSG_HELLO, sizeof(m) }, .magic = VGPU_SESSION_MAGIC, .version = VGPU_PROTOCOL_VERSION,
				    .features = how & 1 ? ~0ull >> 32 : 0, .span_base = how & 2 ? 0 : SPAN(i), .command = "fuzz" };

	if (how & 4)
		m.version = byte();
	if (how & 8)
		take(&m.span_base, sizeof(m.span_base));
	say(i, &m, sizeof(m), -1);
}

/* One of a right size; numbers are small, or near what is there. */
static void request(unsigned i, unsigned type)
{
	union message m;
	uint8_t small[4];
	int fd = -1;

	memset(&m, 0, sizeof(m));
	take(small, sizeof(small));
	m.h.type = type;
	switch (type) {
	case VGPU_MSG_CTX_CREATE:
	case VGPU_MSG_CTX_DESTROY:
		m.ctx = (struct vgpu_msg_ctx){ .device = small[0] % 16 ? 0 : small[0], .context = small[1] % 9, .weight = small[2], .place = small[3] % 4 };
		if (type == VGPU_MSG_CTX_CREATE)
			m.ctx.context = 0;
		m.h.bytes = sizeof(m.ctx);
		break;
	case VGPU_MSG_WINDOW_GROW:
	case VGPU_MSG_WINDOW_OWN:
	case VGPU_MSG_SHARE:
		m.grow.bytes = (uint64_t)small[0] << (small[1] % 56);
		m.h.bytes = sizeof(m.grow);
		break;
	case VGPU_MSG_SHARED_OPEN:
		memcpy(m.token.token, who[small[0] % CLIENTS].token, sizeof(m.token.token));
		m.token.token[0] ^= small[1] % 4 == 1;
		m.h.bytes = sizeof(m.token);
		break;
	case VGPU_MSG_MAP_AT:
		m.map_at = (struct vgpu_msg_map_at){ .context = small[0] % 9, .offset = (uint64_t)small[1] * VGPU_HUGE, .bytes = (uint64_t)small[2] * VGPU_PAGE * 64,
						     .va = VGPU_DEVICE_BASE(SPAN(i), 0) + VGPU_ARENA_BYTES + (uint64_t)small[3] * VGPU_HUGE };
		m.h.bytes = sizeof(m.map_at);
		break;
	case VGPU_MSG_WINDOW_LENT:
		m.lent = (struct vgpu_msg_lent){ .offset = (uint64_t)small[0] % 8 * VGPU_PAGE, .bytes = (uint64_t)(1 + small[1]) * VGPU_PAGE };
		m.h.bytes = sizeof(m.lent);
		fd = small[2] % 4 ? memfd_create("lent", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
		if (fd >= 0 && ftruncate(fd, small[2] * (off_t)VGPU_PAGE) == 0 && small[3] & 1)
			fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
		break;
	case VGPU_MSG_CTL:
		m.ctl.op = small[0] % 2 ? VGPU_CTL_END : VGPU_CTL_STOP + small[0] / 2 % 2;
		m.ctl.target = last_id - small[1] % 4;
		m.h.bytes = sizeof(m.ctl);
		break;
	default:
		m.index.index = small[0];
		m.h.bytes = sizeof(m.index);
	}
	/* also what is like it */
	if (small[3] & 64)
		((uint8_t *)&m)[sizeof(m.h) + small[2] % (sizeof(m.ctx) - sizeof(m.h))] ^= (uint8_t)(1 << small[1] % 8);
	if (type != VGPU_MSG_CTL || !(small[3] & 64))
		say(i, &m, m.h.bytes, fd);
	if (fd >= 0)
		close(fd);
}

/* Any bytes; what would change the agent for others is made a question. */
static void noise(unsigned i)
{
	uint8_t m[300];
	size_t n = byte();
	struct vgpu_msg_header h;
	int fd;

	take(m, n);
	if (n >= sizeof(h)) {
		memcpy(&h, m, sizeof(h));
		if (h.type == VGPU_MSG_CTL || h.type == VGPU_MSG_GATE || h.type == VGPU_MSG_ALLOT)
			h.type = VGPU_MSG_STATUS;
		memcpy(m, &h, sizeof(h));
	}
	fd = byte() & 1 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
	say(i, m, n, fd);
	if (fd >= 0)
		close(fd);
}

static int all_gone(void)
{
	unsigned maps;

	for (unsigned i = 0; i < AGENT_CLIENTS / 64; i++)
		if (__atomic_load_n(&agent.taken[i], __ATOMIC_ACQUIRE))
			return 0;
	for (unsigned q = 0; q < FAKE_QUEUES; q++)
		if (__atomic_load_n(&agent.dev[0].owner[q], __ATOMIC_ACQUIRE))
			return 0;
	pthread_mutex_lock(&fake.lock);
	maps = fake.maps;
	pthread_mutex_unlock(&fake.lock);
	return maps == 1 && !vgpu_load_relaxed64(&agent.window_bytes) && !vgpu_load_relaxed64(&agent.page->device[0].memory_used) &&
	       (!fds_before || descriptors() <= fds_before);
}

static void end(void)
{
	uint64_t until = raw_ns() + LONG_NS;

	FAKE_SET(fail_create, 0);
	FAKE_SET(die, 0);
	for (unsigned i = 0; i < CLIENTS; i++)
		leave(i);
	while (!all_gone()) {
		if (raw_ns() > until)
			fprintf(stderr, "left: clients %llx, %u maps, %llu bytes of windows, %llu of memory, %u descriptors of %u\n", (unsigned long long)agent.taken[0], fake.maps,
				(unsigned long long)agent.window_bytes, (unsigned long long)agent.page->device[0].memory_used, descriptors(), fds_before);
		NEED(raw_ns() < until);
		usleep(200);
	}
}

static void play(const uint8_t *bytes, size_t size)
{
	static const uint8_t types[] = { VGPU_MSG_CTX_CREATE, VGPU_MSG_CTX_DESTROY, VGPU_MSG_WINDOW_GROW, VGPU_MSG_WINDOW_OWN, VGPU_MSG_SHARE,
		VGPU_MSG_SHARED_OPEN, VGPU_MSG_MAP_AT, VGPU_MSG_WINDOW_LENT, VGPU_MSG_CTL, VGPU_MSG_DEVICE, VGPU_MSG_STATUS, VGPU_MSG_LOAD,
		VGPU_MSG_CONTEXTS, VGPU_MSG_WORK, VGPU_MSG_TIMES, VGPU_MSG_GATES, VGPU_MSG_ALLOTS };

	in = bytes;
	left = size > 400 ? 400 : size;
	while (left) {
		unsigned i = byte(), what;

		client(i %= CLIENTS);
		what = byte();
		switch (what % 8) {
		case 0:
			hello(i, what / 8);
			break;
		case 1:
			noise(i);
			break;
		case 2:
			answers(i, what / 8 % 4 ? 0 : 5);
			break;
		case 3:
			if (what & 8) {
				FAKE_SET(fail_create, what & 16 ? VGPU_ST_OUT_OF_MEMORY : 0);
			} else if (what & 16) {
				FAKE_SET(die, (int)(1 + what / 32));
			} else if (what & 32 && who[i].pid) {
				kill(who[i].pid, SIGKILL);
			} else {
				leave(i);
			}
			break;
		default:
			request(i, types[byte() % sizeof(types)]);
			/* mostly it waits for what it asked */
			if (what & 0xc0)
				answers(i, 50);
		}
	}
	end();
}

/* What is opened once, by the first that needs it, and kept: by as many clients as there will be, with as many contexts. */
static void warm(void)
{
	uint8_t all[CLIENTS * (4 + 8 * 7)], *at = all;

	for (uint8_t i = 0; i < CLIENTS; i++, at += 4)
		memcpy(at, (const uint8_t[]){ i, 8, i, 2 }, 4);
	for (uint8_t i = 0; i < CLIENTS; i++)
		for (unsigned k = 0; k < 8; k++, at += 7)
			memcpy(at, (const uint8_t[]){ i, 0x44, 0, 0, 0, 0, 0 }, 7);
	play(all, sizeof(all));
	play(all, sizeof(all));
	fds_before = descriptors();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	(void)fake_stop;
	(void)fake_kill;
	if (!path[0]) {
		start();
		warm();
	}
	play(bytes, size);
	return 0;
}
