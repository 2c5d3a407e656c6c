/* SPDX-License-Identifier: MIT */
/*
 * The session: find the agent, reserve the address span, HELLO, map what it answers. Called once by
 * cuInit. Everything here prints what went wrong and how to mend it, since the caller can only
 * answer "no device".
 */
#include "core.h"
#include "asked.h"
#include "share.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../fw-protocol/vgpu_reach.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define ANSWER_MS 10000         /* after that a line tells what is waited for */
#define IN_FLIGHT_TURNS 4000u   /* of vg_backoff() */
#define PATIENCE_MS 60000       /* a dead agent closes the socket: this is for one that is stopped or very busy */

struct vg_session vg;

static const uint32_t never;
const uint32_t *vg_alive = &never;

/* Once: programs that probe call cuInit again and again. */
static void unreachable(const char *label, const char *path, int err, const char *nor)
{
	static bool said;
	char why[400], fix[400];

	if (said)
		return;
	said = true;
	vgpu_reach_words(path, err, -1, NULL, why, sizeof why, fix, sizeof fix);
	vg_say("%s %s%s%s%s%s; %s", err == -EACCES || err == -EPERM ? "vgpu-agent cannot be used at" : "no vgpu-agent answers at", label, why,
	       nor ? ", nor at " : "", nor ? nor : "", *label ? "" : " (VGPU_AGENT is not set)", fix);
}

/* The socket, or -1 after one line that says where we looked. */
static int find_agent(void)
{
	const char *env = vgpu_env("VGPU_AGENT"), *run = vgpu_env("XDG_RUNTIME_DIR");
	char user[sizeof ((struct sockaddr_un *)0)->sun_path];
	int fd, err;

	if (env && *env) {
		fd = vgpu_dial(env, 0);
		if (fd < 0)
			unreachable("VGPU_AGENT=", env, fd, NULL);
		return fd < 0 ? -1 : fd;
	}
	err = fd = vgpu_dial(VGPU_AGENT_SOCKET_SYSTEM, 0);
	if (fd >= 0)
		return fd;
	user[0] = 0;
	if (run && (size_t)snprintf(user, sizeof user, "%s/%s", run, VGPU_AGENT_SOCKET_USER) < sizeof user) {
		fd = vgpu_dial(user, 0);
		if (fd >= 0)
			return fd;
		/* a socket that is there tells more than one that is not */
		if (err == -ENOENT && fd != -ENOENT) {
			unreachable("", user, fd, NULL);
			return -1;
		}
	}
	unreachable("", VGPU_AGENT_SOCKET_SYSTEM, err, user[0] ? user : NULL);
	return -1;
}

static int until_readable(uint64_t *left_ms, uint64_t ms)
{
	struct pollfd p = { .fd = vg.sock, .events = POLLIN };
	uint64_t until = vg_now_ns() + ms * 1000000u, now;
	int n;

	do {
		now = vg_now_ns();
		n = now < until ? poll(&p, 1, (int)((until - now) / 1000000u) + 1) : 0;
	} while (n < 0 && errno == EINTR);
	*left_ms -= ms;
	return n < 0 ? -errno : n;
}

/* 0: something is there. An agent that serves a crowd of others first is not a dead one. */
static int await_answer(void)
{
	uint64_t left = PATIENCE_MS;
	int n = until_readable(&left, ANSWER_MS);

	if (n == 0) {
		char why[256], fix[256];

		vgpu_why_hung(vg.sock, "vgpu-agent", why, sizeof why, fix, sizeof fix);
		vg_say("%s; waiting for it (%s)", why, fix);
		n = until_readable(&left, left);
	}
	return n > 0 ? 0 : n ? n : -ETIMEDOUT;
}

/* The agent's last word comes unasked, in an answer's place. */
static bool is_bye(struct vgpu_msg_bye *m)
{
	/* An error comes first when the agent left requests of ours unread (unix(7)); what it sent is still there. */
	for (int tries = 0; tries < 4; tries++) {
		ssize_t n = recv(vg.sock, m, sizeof *m, MSG_PEEK | MSG_DONTWAIT);

		if (n >= 0 || (errno != ECONNRESET && errno != EINTR))
			return n == sizeof *m && m->h.type == VGPU_MSG_BYE;
	}
	return false;
}

/* The answer that is there, into buf. Bytes, or -errno; more fds than asked for are closed. */
static int receive(void *buf, size_t bytes, int *fds, unsigned nfds)
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(8 * sizeof(int))];
	} u;
	struct iovec io = { buf, bytes };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = u.space,
			    .msg_controllen = sizeof u.space };
	unsigned got = 0;
	ssize_t n;

	do {
		n = recvmsg(vg.sock, &m, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		int *in = (int *)CMSG_DATA(c);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t k = 0; k < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); k++) {
			if (got < nfds)
				fds[got++] = in[k];
			else
				close(in[k]);
		}
	}
	if (n == 0)
		n = -ECONNRESET;
	else if (got != nfds)
		n = -ENOMSG;    /* an error answer comes without fds: the caller looks at its status */
	if (n < 0)
		while (got)
			close(fds[--got]);
	for (; got < nfds; got++)
		fds[got] = -1;
	return (int)n;
}

/* One datagram, with a descriptor unless that is -1. 0 or -errno. */
static int send_one(const void *msg, uint32_t bytes, int fd)
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(sizeof(int))];
	} u;
	struct iovec io = { (void *)msg, bytes };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1 };
	unsigned turn = 0;
	ssize_t n;

	if (fd >= 0) {
		memset(&u, 0, sizeof u);
		u.h = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&u.h), &fd, sizeof fd);
		m.msg_control = u.space;
		m.msg_controllen = sizeof u.space;
	}
	/* ETOOMANYREFS: so many of this user are on their way (unix(7)) that it has to wait for some to arrive */
	do {
		n = fd < 0 ? send(vg.sock, msg, bytes, MSG_NOSIGNAL) : sendmsg(vg.sock, &m, MSG_NOSIGNAL);
	} while (n < 0 && (errno == EINTR || (errno == ETOOMANYREFS && turn < IN_FLIGHT_TURNS && (vg_backoff(turn++), true))));
	return n == (ssize_t)bytes ? 0 : n < 0 ? -errno : -EIO;
}

static uint32_t request(void *msg, uint32_t bytes, void *answer, uint32_t answer_bytes, int lend, int *fds, unsigned nfds)
{
	struct vgpu_msg_header *out = msg, *in = answer;
	struct vgpu_msg_bye bye;
	uint32_t status, session;
	int n;

	out->bytes = bytes;
	memset(answer, 0, answer_bytes);
	vg_lock(&vg.sock_lock);
	session = vg.session;
	n = send_one(msg, bytes, lend);
	if (n == -ETOOMANYREFS) {
		vg_unlock(&vg.sock_lock);
		return VGPU_ST_IN_FLIGHT;
	}
	if (!n)
		n = await_answer();
	memset(&bye, 0, sizeof bye);
	if (!n && is_bye(&bye))
		n = -ECONNRESET;
	if (!n)
		n = receive(answer, answer_bytes, fds, nfds);
	vg_unlock(&vg.sock_lock);
	if (bye.h.type == VGPU_MSG_BYE)
		vg_bye(session, &bye);
	if (n < 0 && n != -ENOMSG) {
		/* One that lives may still answer, and that would be taken for the next answer: it is given up. */
		if (n == -ETIMEDOUT)
			vg_agent_silent(session);
		else
			vg_agent_lost();
		return VGPU_ST_AGENT_LOST;
	}
	/* Every answer has its status behind the header. */
	status = ((uint32_t *)answer)[sizeof *in / 4];
	if (in->type != out->type || in->bytes > answer_bytes || (n == -ENOMSG && status == VGPU_ST_OK))
		status = VGPU_ST_PROTOCOL;
	/* the caller takes them only together with an answer that is one */
	for (unsigned i = 0; i < nfds && status; i++)
		if (fds[i] >= 0) {
			close(fds[i]);
			fds[i] = -1;
		}
	return status;
}

uint32_t vg_request(void *msg, uint32_t bytes, void *answer, uint32_t answer_bytes, int *fds, unsigned nfds)
{
	return request(msg, bytes, answer, answer_bytes, -1, fds, nfds);
}

uint32_t vg_request_lending(void *msg, uint32_t bytes, void *answer, uint32_t answer_bytes, int fd)
{
	return request(msg, bytes, answer, answer_bytes, fd, NULL, 0);
}

static void read_comm(char *to, size_t bytes)
{
	FILE *f = fopen("/proc/self/comm", "re");

	to[0] = 0;
	if (!f)
		return;
	if (fgets(to, (int)bytes, f))
		to[strcspn(to, "\n")] = 0;
	fclose(f);
}

static int hello(void)
{
	struct vgpu_msg_hello m = { .h = { VGPU_MSG_HELLO, 0 }, .magic = VGPU_SESSION_MAGIC,
				    .version = VGPU_PROTOCOL_VERSION, .features = VGPU_FEATURE_OWN_PAGES | VGPU_FEATURE_SHARE | VGPU_FEATURE_CORE |
				    VGPU_FEATURE_PRIORITY | VGPU_FEATURE_CLUSTERS | VGPU_FEATURE_LARGE | VGPU_FEATURE_RUNS | VGPU_FEATURE_LENT |
				    VGPU_FEATURE_STACK,
				    .span_base = vg.span, .release = VGPU_VERSION };
	struct vgpu_msg_hello_r r;
	int fds[VGPU_HELLO_FDS] = { -1, -1, -1, -1 };
	char why[400], fix[400] = "";
	uint32_t status;
	void *p;

	vg.may_own = vgpu_private_register() == 0;
	if (vgpu_asym_register() == 0)
		m.features |= VGPU_FEATURE_ASYM_FENCE;
	read_comm(m.command, sizeof m.command);
	while ((status = vg_request(&m, sizeof m, &r, sizeof r, fds, VGPU_HELLO_FDS)) != VGPU_ST_OK && vgpu_hello_again(&r, m.version)) {
		/* an older agent, whose protocol we still speak: it has closed this connection */
		m.version = vgpu_hello_again(&r, m.version);
		close(vg.sock);
		vg.sock = find_agent();
		if (vg.sock < 0)
			return -1;
	}
	if (status) {
		r.text[sizeof r.text - 1] = 0;
		if (status != VGPU_ST_AGENT_LOST && vgpu_reach_words("vgpu-agent", 0, -1, &r, why, sizeof why, fix, sizeof fix) == VGPU_REACH_VERSION) {
			vg_say("%s; %s", why, fix);
			return -1;
		}
		vg_say("vgpu-agent refuses this process: %s%s%s%s%s", vgpu_status_text(status), r.text[0] ? ": " : "", r.text,
		       fix[0] ? "; " : "", fix);
		return -1;
	}
	vg.pidfd = fds[VGPU_HELLO_FD_PIDFD];
	vg.kick = fds[VGPU_HELLO_FD_KICK];
	/* A later session's page takes the place of the one before. */
	p = mmap((void *)(uintptr_t)vg.agent, VGPU_PAGE, PROT_READ, MAP_SHARED | (vg.agent ? MAP_FIXED : 0),
		 fds[VGPU_HELLO_FD_AGENT_PAGE], 0);
	if (p == MAP_FAILED)
		goto unmappable;
	madvise(p, VGPU_PAGE, MADV_DONTFORK);
	vg.agent = p;
	p = mmap((void *)(uintptr_t)vg.span, VGPU_SEG0_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 fds[VGPU_HELLO_FD_SEG0], 0);
	if (p == MAP_FAILED)
		goto unmappable;
	madvise(p, VGPU_SEG0_BYTES, MADV_DONTFORK);
	vg_holes_watch(fds[VGPU_HELLO_FD_SEG0], p, VGPU_SEG0_BYTES);
	vg.seg0 = p;
	close(fds[VGPU_HELLO_FD_AGENT_PAGE]);
	close(fds[VGPU_HELLO_FD_SEG0]);
	vg.features = r.features;
	vg.asym = !!(r.features & VGPU_FEATURE_ASYM_FENCE);
	vg.may_own &= vg.asym;
	vg.client_id = r.client_id;
	vg.agent_devices = r.devices < VGPU_MAX_DEVICES ? r.devices : VGPU_MAX_DEVICES;
	vg.window_quota = r.window_quota;
	vg.memory_quota = r.memory_quota;
	return 0;
unmappable:
	vg_say("cannot map the memory that vgpu-agent gave: %s", strerror(errno));
	close(fds[VGPU_HELLO_FD_AGENT_PAGE]);
	close(fds[VGPU_HELLO_FD_SEG0]);
	return -1;
}

static void hex_uuid(char out[41], const uint8_t *u)
{
	snprintf(out, 41, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

/*
 * CUDA_VISIBLE_DEVICES: indices or beginnings of "GPU-<uuid>", in the order the program shall see
 * them; the first entry that names no device (or one twice) ends the list. How many, and which, of `devices`.
 */
static uint32_t visible(const char *s, const struct vgpu_device_info *all, uint32_t devices, uint32_t map[VGPU_MAX_DEVICES])
{
	uint32_t taken = 0, count = 0;

	if (!s) {
		for (; count < devices; count++)
			map[count] = count;
		return count;
	}
	while (*s && count < VGPU_MAX_DEVICES) {
		size_t n = strcspn(s, ",");
		uint32_t found = VGPU_MAX_DEVICES;
		char uuid[41];

		while (n && *s == ' ')
			s++, n--;
		while (n && s[n - 1] == ' ')
			n--;
		if (n && strspn(s, "0123456789") == n && n < 4) {
			found = (uint32_t)atoi(s);
		} else if (n > 4) {
			for (uint32_t d = 0; d < devices; d++) {
				hex_uuid(uuid, all[d].uuid);
				if (n < sizeof uuid && !strncmp(s, uuid, n) && found == VGPU_MAX_DEVICES)
					found = d;
			}
		}
		if (found >= devices || taken & 1u << found)
			break;
		taken |= 1u << found;
		map[count++] = found;
		s += strcspn(s, ",");
		s += *s == ',';
	}
	return count;
}

/*
 * What a container was given, by NVIDIA's convention: indices, UUIDs, none. "all" is all; "void" and nothing are what CDI and images
 * without a device leave, and say nothing here: the socket is there, so the device was given.
 */
static const char *container_devices(void)
{
	const char *s = getenv("NVIDIA_VISIBLE_DEVICES");

	return s && *s && strcmp(s, "all") && strcmp(s, "void") ? strcmp(s, "none") ? s : "" : NULL;
}

/* CUDA_DEVICE_ORDER=PCI_BUS_ID; else as the agent has them, which are of one speed. */
static void in_order(const struct vgpu_device_info *all, uint32_t *map, uint32_t n)
{
	const char *order = getenv("CUDA_DEVICE_ORDER");

	if (!order || strcmp(order, "PCI_BUS_ID"))
		return;
	for (uint32_t i = 1; i < n; i++)
		for (uint32_t k = i; k && strcmp(all[map[k]].bus_id, all[map[k - 1]].bus_id) < 0; k--) {
			uint32_t t = map[k];

			map[k] = map[k - 1];
			map[k - 1] = t;
		}
}

/*
 * The program's devices from the agent's. Where a description stood before (VGPU_REQUIRED), other threads may be reading it: it is
 * overwritten in place and the count never passes through 0.
 */
static void take_devices(struct vgpu_device_info *all, const uint32_t *number, uint32_t devices)
{
	uint32_t map[VGPU_MAX_DEVICES] = { 0 }, given[VGPU_MAX_DEVICES], count;
	struct vgpu_device_info seen[VGPU_MAX_DEVICES];

	for (uint32_t d = 0; d < devices; d++) {
		all[d].name[sizeof all[d].name - 1] = 0;
		all[d].engine[sizeof all[d].engine - 1] = 0;
		all[d].bus_id[sizeof all[d].bus_id - 1] = 0;
	}
	count = visible(container_devices(), all, devices, given);
	in_order(all, given, count);
	for (uint32_t o = 0; o < count; o++)
		seen[o] = all[given[o]];
	count = visible(getenv("CUDA_VISIBLE_DEVICES"), seen, count, map);
	for (uint32_t o = 0; o < count; o++) {
		vg.info[o] = seen[map[o]];
		vg.map[o] = number[given[map[o]]];
	}
	vg.ndev = count;
}

static int ask_devices(void)
{
	struct vgpu_device_info all[VGPU_MAX_DEVICES];
	uint32_t number[VGPU_MAX_DEVICES], n = 0;

	memset(all, 0, sizeof all);
	for (uint32_t d = 0; d < vg.agent_devices; d++) {
		struct vgpu_msg_index m = { .h = { VGPU_MSG_DEVICE, 0 }, .index = d };
		struct vgpu_msg_device_r r;
		uint32_t status = vg_request(&m, sizeof m, &r, sizeof r, NULL, 0);

		/* the others are there; alone it is a device that cannot be used */
		if (status == VGPU_ST_DEVICE_LOST && vg.agent_devices > 1) {
			vg_say("device %u is lost, and left out: vgpu smi shows it", d);
			continue;
		}
		if (status) {
			vg_say("vgpu-agent does not describe device %u: %s", d, vgpu_status_text(status));
			return -1;
		}
		all[n] = r.info;
		number[n++] = d;
	}
	if (!n) {
		vg_say("all %u devices are lost", vg.agent_devices);
		return -1;
	}
	take_devices(all, number, n);
	return 0;
}

/*
 * Registering for membarrier(2) waits for a grace period of the kernel once a process has several threads: 30 ms, seen in
 * llama-server. While there is one thread it is free, so it is done when the library is loaded; hello() asks again, which costs
 * nothing then. A process with threads pays only if it uses the device.
 */
__attribute__((constructor)) static void register_early(void)
{
	struct stat tasks;

	/* a folder has two links more than folders in it */
	if (syscall(SYS_stat, "/proc/self/task", &tasks) || tasks.st_nlink != 3)
		return;
	vgpu_private_register();
	vgpu_asym_register();
}

static unsigned count_cores(void)
{
	unsigned long mask[128];        /* 8192 CPUs */
	long n = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
	unsigned cores = 0;

	for (long i = 0; i < n / (long)sizeof mask[0]; i++)
		cores += (unsigned)__builtin_popcountl(mask[i]);
	return cores ? cores : 1;
}

/* The page whose word says "this is still the process that called cuInit". */
static int make_alive(void)
{
	uint32_t *p = mmap(NULL, VGPU_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -1;
	/* A kernel before 4.14 has no wipe; its children then fault in the window instead of an error. */
	madvise(p, VGPU_PAGE, MADV_WIPEONFORK);
	__atomic_store_n(p, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&vg_alive, p, __ATOMIC_RELEASE);
	return 0;
}

static struct vg_lock once;
static int outcome;     /* 0 untried, 1 connected, else -CUresult */
static uint32_t absent; /* VGPU_REQUIRED: cuInit has answered without an agent */
static uint32_t described; /* ... and an agent that is gone has left a description: vg.info */
static bool hidden;     /* there are devices, and CUDA_VISIBLE_DEVICES names none of them */

/*
 * VGPU_REQUIRED: this process is meant to compute on the device. "No device" would send it to the CPU without a word to its
 * user; so a device there is, and whoever uses it is told DEVICE_UNAVAILABLE. CUDA_VISIBLE_DEVICES that names none is
 * the user's own word for none. What it is like is asked before it is used: an agent leaves that beside its socket (described.c).
 */
static bool required(void)
{
	const char *v = vgpu_env("VGPU_REQUIRED"), *visible = getenv("CUDA_VISIBLE_DEVICES");

	return v && *v && strcmp(v, "0") && !(visible && (!*visible || *visible == '-'));
}

static struct vgpu_described as_left;      /* by an agent, beside its socket; under `once` */

/* True: a description lies beside that socket, and is whole. */
static bool read_described(const char *socket_path)
{
	char path[sizeof ((struct sockaddr_un *)0)->sun_path + sizeof VGPU_DESCRIBED_SUFFIX];
	struct stat st;
	ssize_t n = -1;
	int fd;

	if ((size_t)snprintf(path, sizeof path, "%s%s", socket_path, VGPU_DESCRIBED_SUFFIX) >= sizeof path)
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (syscall(SYS_fstat, fd, &st) == 0 && S_ISREG(st.st_mode))
		n = read(fd, &as_left, sizeof as_left);
	close(fd);
	return n == (ssize_t)sizeof as_left && as_left.magic == VGPU_SESSION_MAGIC && VGPU_PROTOCOL_SPEAKS(as_left.version) && as_left.devices &&
	       as_left.devices <= VGPU_MAX_DEVICES;
}

/* The same places in the same order as find_agent() */
static bool find_described(void)
{
	const char *env = vgpu_env("VGPU_AGENT"), *run = vgpu_env("XDG_RUNTIME_DIR");
	char user[sizeof ((struct sockaddr_un *)0)->sun_path];

	if (env && *env)
		return read_described(env);
	return read_described(VGPU_AGENT_SOCKET_SYSTEM) ||
	       (run && (size_t)snprintf(user, sizeof user, "%s/%s", run, VGPU_AGENT_SOCKET_USER) < sizeof user && read_described(user));
}

static bool launches_block(void)
{
	const char *s = getenv("CUDA_LAUNCH_BLOCKING");

	return s && *s && strcmp(s, "0");
}

static int connect_once(void)
{
	vg.cores = count_cores();
	vg.blocking = launches_block();
	vg.pidfd = -1;          /* comes with HELLO */
	vg.sock = find_agent();
	if (vg.sock < 0)
		return -100;    /* NO_DEVICE */
	if (!vg_span_reserve())
		return -2;      /* OUT_OF_MEMORY */
	if (hello() || ask_devices())
		return -100;
	if (!vg.ndev) {
		hidden = true;
		return -100;
	}
	if (make_alive())
		return -2;
	return 1;
}

int vg_connect(void)
{
	int r;

	vg_lock(&once);
	/* A child of an initialized process may not start over: its parent's span is gone from it. */
	if (outcome == 1 && !*vg_alive)
		outcome = -3;
	if (!outcome) {
		outcome = connect_once();
		/* Only a missing agent may appear later; a second try of the rest would leak. */
		if (outcome == -100 && vg.sock < 0)
			outcome = 0;
	}
	r = outcome == 1 ? 0 : outcome ? -outcome : 100;
	if (r == 100 && !hidden && required()) {
		if (!absent && find_described()) {
			static const uint32_t same[VGPU_MAX_DEVICES] = { 0, 1, 2, 3, 4, 5, 6, 7 };

			take_devices(as_left.info, same, as_left.devices);
			if (vg.ndev) {
				__atomic_store_n(&described, 1, __ATOMIC_RELEASE);
				vg_say("VGPU_REQUIRED: %s is told of as that agent left it; its use is an error until an agent is there", vg.info[0].name);
			} else {
				hidden = true;
			}
		}
		if (!hidden) {
			__atomic_store_n(&absent, 1, __ATOMIC_RELEASE);
			r = 0;
		}
	}
	vg_unlock(&once);
	return r;
}

/*
 * Where the devices are a driver's of the host, PTX and libraries are to be of its age. Asked before cuInit too, which may be what the parent
 * of those who will use the device does: so nothing is begun, what the agent has left beside its socket tells.
 */
uint32_t vg_driver_version(void)
{
	uint32_t version;

	vg_lock(&once);
	if (outcome == 1)
		version = vgpu_cuda_version(vg.info, vg.ndev);
	else
		version = find_described() ? vgpu_cuda_version(as_left.info, as_left.devices) : VGPU_CUDA_VERSION;
	vg_unlock(&once);
	return vg_version_asked(version);
}

/* ---- a session after the first ------------------------------------------------------------------ */

/* Under `once`, no context lives. 0: there is a session again. */
static int connect_again(void)
{
	int sock = find_agent(), old_sock = vg.sock, old_pidfd = vg.pidfd, old_kick = vg.kick;
	uint32_t had = vg.ndev;

	if (sock < 0)
		return -1;
	/* Who still looks at the old one, or is about to tell that it is lost, finds that it is over. */
	vg_lock(&vg.lost_lock);
	__atomic_store_n(&vg.session, vg.session + 1, __ATOMIC_SEQ_CST);
	vg_unlock(&vg.lost_lock);
	/* Calls that were under way return now, since the session is lost; the last one out leaves its slot. Partner: vg_ctl(). */
	for (unsigned turn = 0; __atomic_load_n(&vg.replies_busy, __ATOMIC_SEQ_CST); vg_backoff(turn++))
		;
	vg_lock(&vg.sock_lock);
	vg.sock = sock;
	vg.pidfd = vg.kick = -1;
	vg_unlock(&vg.sock_lock);
	if (old_sock >= 0)
		close(old_sock);
	if (old_pidfd >= 0)
		close(old_pidfd);
	if (old_kick >= 0)
		close(old_kick);
	vg_span_leave(VGPU_SEG0_BYTES + vg_window_bytes());
	vg_mem_forget_all();
	vg_share_forget();
	vg_window_forget();
	vg_holes_forget();
	vg.ctl_tail = 0;
	vg.seg0 = NULL;
	if (!vg_span_reserve() || hello() || ask_devices())
		return -1;
	if (vg.ndev >= had)
		return 0;
	vg_say("vgpu-agent has fewer devices than before: %u of %u", vg.ndev, had);
	vg.ndev = had;          /* the program knows them by number */
	return -1;
}

bool vg_reconnect(void)
{
	bool ok;

	vg_lock(&once);
	ok = !__atomic_load_n(&vg.lost, __ATOMIC_ACQUIRE);
	if (!ok && outcome == 1 && *vg_alive && !vg_ctx_any() && connect_again() == 0) {
		__atomic_store_n(&vg.lost, 0, __ATOMIC_RELEASE);
		vg_say("connected to vgpu-agent anew");
		ok = true;
	}
	vg_unlock(&once);
	return ok;
}

bool vg_absent(void)
{
	return __atomic_load_n(&absent, __ATOMIC_RELAXED) && !__atomic_load_n(vg_alive, __ATOMIC_RELAXED);
}

bool vg_described(void)
{
	return __atomic_load_n(&described, __ATOMIC_ACQUIRE);
}

int vg_not_ready(void)
{
	int r;

	if (!vg_absent())
		return 3;       /* NOT_INITIALIZED */
	r = vg_connect();       /* an agent that is back is found */
	if (r)
		return r;
	return __atomic_load_n(vg_alive, __ATOMIC_RELAXED) ? 0 : 46;    /* DEVICE_UNAVAILABLE */
}
