/* SPDX-License-Identifier: MIT */
/*
 * What others send a small request with, there and back between two processes on the same two CPUs, in the same run:
 * UNIX socket (in turn with ours), TCP over loopback, a pair of eventfds, a pair of futexes (both with the 64 bytes in shared memory).
 */
#define _GNU_SOURCE
#include "bench.h"

#include <limits.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../fw-protocol/vgpu_ring.h"

#define ROUNDS 3000
#define COLD_NS 20000000
#define BYTES 64

const char *const peer_names[PEERS] = { "UNIX socket", "TCP over loopback", "eventfd pair", "futex pair" };
const char *const peer_keys[PEERS] = { "unix_ns", "tcp_ns", "eventfd_ns", "futex_ns" };

/* One direction: a message is there when the call returns. */
struct line {
	enum peer kind;
	int rx, tx;                     /* fds; for eventfds and futexes the bytes are in shared memory */
	struct mailbox {
		uint32_t seq;
		uint8_t bytes[BYTES];
	} *in, *out;
	uint32_t seen;
};

static int line_send(struct line *l, const uint8_t *msg)
{
	uint64_t one = 1;

	switch (l->kind) {
	case PEER_UNIX:
	case PEER_TCP:
		return write(l->tx, msg, BYTES) == BYTES ? 0 : -1;
	case PEER_EVENTFD:
		memcpy(l->out->bytes, msg, BYTES);
		return write(l->tx, &one, sizeof(one)) == sizeof(one) ? 0 : -1;
	default:
		memcpy(l->out->bytes, msg, BYTES);
		vgpu_store_release32(&l->out->seq, l->out->seq + 1);
		return syscall(SYS_futex, &l->out->seq, FUTEX_WAKE, INT_MAX, NULL, NULL, 0) < 0 ? -1 : 0;
	}
}

static int line_receive(struct line *l, uint8_t *msg)
{
	uint64_t n;

	switch (l->kind) {
	case PEER_UNIX:
	case PEER_TCP:
		return recv(l->rx, msg, BYTES, MSG_WAITALL) == BYTES ? 0 : -1;
	case PEER_EVENTFD:
		if (read(l->rx, &n, sizeof(n)) != sizeof(n))
			return -1;
		break;
	default:
		while (vgpu_load_acquire32(&l->in->seq) == l->seen)
			syscall(SYS_futex, &l->in->seq, FUTEX_WAIT, l->seen, NULL, NULL, 0);
		l->seen++;
	}
	memcpy(msg, l->in->bytes, BYTES);
	return 0;
}

/* Two TCP sockets, connected over loopback. */
static int tcp_pair(int fd[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	fd[0] = fd[1] = -1;
	if (l < 0 || bind(l, (struct sockaddr *)&a, sizeof(a)) || listen(l, 1) || getsockname(l, (struct sockaddr *)&a, &len))
		goto out;
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (fd[0] >= 0 && !connect(fd[0], (struct sockaddr *)&a, sizeof(a)))
		fd[1] = accept(l, NULL, NULL);
	for (int i = 0; i < 2; i++)
		if (fd[i] >= 0)
			setsockopt(fd[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
out:
	if (l >= 0)
		close(l);
	return fd[1] >= 0 ? 0 : -1;
}

static int lines(enum peer kind, struct line *a, struct line *b)
{
	struct mailbox *m = bench_shared(4096);
	int fd[2];

	if (!m)
		return -1;
	*a = (struct line){ .kind = kind, .rx = -1, .tx = -1, .in = m, .out = m + 1 };
	switch (kind) {
	case PEER_UNIX:
	case PEER_TCP:
		if (kind == PEER_UNIX ? socketpair(AF_UNIX, SOCK_STREAM, 0, fd) : tcp_pair(fd))
			return -1;
		a->rx = a->tx = fd[0];
		*b = *a;
		b->rx = b->tx = fd[1];
		break;
	case PEER_EVENTFD:
		a->rx = eventfd(0, 0);
		a->tx = eventfd(0, 0);
		if (a->rx < 0 || a->tx < 0)
			return -1;
		/* fall through */
	default:
		*b = *a;
		b->rx = a->tx;
		b->tx = a->rx;
	}
	b->in = a->out;
	b->out = a->in;
	return 0;
}

struct pair {
	struct line a, b;
	pid_t child;
};

struct pair *pair_open(enum peer kind)
{
	uint8_t msg[BYTES] = { 0 };
	struct pair *p = cores()->other < 0 ? NULL : calloc(1, sizeof(*p));
	pid_t parent = getpid();

	if (!p || lines(kind, &p->a, &p->b)) {
		free(p);
		return NULL;
	}
	p->child = fork();
	if (!p->child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		pin_to(cores()->other);
		if (p->a.rx == p->a.tx)
			close(p->a.rx); /* its end is our end */
		while (!line_receive(&p->b, msg) && !line_send(&p->b, msg))
			;
		_exit(0);
	}
	if (p->child > 0 && p->a.rx == p->a.tx)
		close(p->b.rx);
	return p;
}

void pair_rounds(struct pair *p, struct hist *h, int rounds, int cold)
{
	uint8_t msg[BYTES] = { 0 };

	for (int i = 0; p && p->child > 0 && i < rounds; i++) {
		uint64_t t0;

		if (cold)
			nanosleep(&(struct timespec){ 0, COLD_NS }, NULL);
		t0 = tsc();
		if (line_send(&p->a, msg) || line_receive(&p->a, msg))
			break;
		hist_add(h, tsc_ns(t0, tsc()));
	}
}

void pair_close(struct pair *p)
{
	if (!p)
		return;
	if (p->child > 0) {
		kill(p->child, SIGKILL);
		waitpid(p->child, NULL, 0);
	}
	for (int i = 0; i < 2; i++)
		if ((i ? p->a.tx : p->a.rx) >= 0 && (!i || p->a.tx != p->a.rx))
			close(i ? p->a.tx : p->a.rx);
	munmap(p->a.in, 4096);
	free(p);
}

/* All but those that are measured in turn with ours. */
void measure_peers(struct floors *f)
{
	cpu_set_t was;

	sched_getaffinity(0, sizeof(was), &was);
	pin_to(cores()->client);
	for (int k = 0; k < PEERS; k++)
		if (k != PEER_UNIX) {
			struct pair *p = pair_open((enum peer)k);

			pair_rounds(p, &f->peer[k], ROUNDS, 0);
			pair_close(p);
		}
	sched_setaffinity(0, sizeof(was), &was);
}
