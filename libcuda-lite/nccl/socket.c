/* SPDX-License-Identifier: MIT */
/*
 * TCP between ranks: how they meet, and the ring by which they tell each other what is small. No data of the program goes this way.
 *
 * A unique id is the address of a listening socket and a number that nobody can guess. Who made the id serves it (a thread, until all have
 * come): each rank says where it listens and is told where the next one does. Whoever comes to a rank's listener says the number first.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "comm.h"

#define ID_MAGIC 0x6c636e7567707631ull
#define CONNECT_S 20                    /* a listener that refuses may not be there yet */
#define STRAY_MS 2000                   /* who says nothing for so long is no rank */

/* of ncclUniqueId's 128 bytes */
struct id {
	uint64_t magic, cookie[2];
	struct addr at;
	uint32_t by_env;                /* NCCL_COMM_ID: rank 0 serves it */
};
_Static_assert(sizeof(struct id) <= NCCL_UNIQUE_ID_BYTES, "an id holds an address");

struct hello { uint64_t cookie[2]; uint32_t ranks, rank; struct addr at; };
struct welcome { uint32_t status; struct addr next; };
struct call { uint64_t cookie[2]; uint32_t child, kind, from, pad; };

struct root { int fd; struct id id; };

static socklen_t unpack(const struct addr *a, struct sockaddr_storage *s)
{
	memset(s, 0, sizeof(*s));
	if (a->family == 6) {
		struct sockaddr_in6 *six = (void *)s;

		six->sin6_family = AF_INET6;
		six->sin6_port = a->port;
		six->sin6_scope_id = a->scope;
		memcpy(&six->sin6_addr, a->ip, 16);
		return sizeof(*six);
	}
	((struct sockaddr_in *)s)->sin_family = AF_INET;
	((struct sockaddr_in *)s)->sin_port = a->port;
	memcpy(&((struct sockaddr_in *)s)->sin_addr, a->ip, 4);
	return sizeof(struct sockaddr_in);
}

static bool pack(const struct sockaddr *s, struct addr *a)
{
	memset(a, 0, sizeof(*a));
	if (s && s->sa_family == AF_INET) {
		const struct sockaddr_in *four = (const void *)s;

		a->family = 4;
		a->port = four->sin_port;
		memcpy(a->ip, &four->sin_addr, 4);
		return true;
	}
	if (s && s->sa_family == AF_INET6) {
		const struct sockaddr_in6 *six = (const void *)s;

		a->family = 6;
		a->port = six->sin6_port;
		a->scope = six->sin6_scope_id;
		memcpy(a->ip, &six->sin6_addr, 16);
		return true;
	}
	return false;
}

/* NCCL_SOCKET_IFNAME: beginnings of names with commas between them; '=' in front: whole names; '^': none of these. */
static bool wanted(const char *list, const char *name)
{
	bool not = *list == '^', whole = list[not] == '=', found = false;

	for (list += not + whole; *list; list += strcspn(list, ","), list += *list == ',') {
		size_t n = strcspn(list, ",");

		found |= n && !strncmp(list, name, n) && (!whole || !name[n]);
	}
	return found != not;
}

/* The address that others reach this host by: of the interface asked for, else the first that is up and no loop, else the loop. */
static bool own_address(struct addr *a)
{
	const char *list = getenv("NCCL_SOCKET_IFNAME");
	struct ifaddrs *all, *i;
	int best = 0;

	if (getifaddrs(&all))
		return false;
	for (i = all; i; i = i->ifa_next) {
		struct addr x;
		int rank;

		if (!(i->ifa_flags & IFF_UP) || !pack(i->ifa_addr, &x))
			continue;
		if (list && *list && !wanted(list, i->ifa_name))
			continue;
		rank = (i->ifa_flags & IFF_LOOPBACK ? 0 : !strncmp(i->ifa_name, "docker", 6) ? 4 : 8) + (x.family == 4 ? 2 : x.scope ? 0 : 1) + 1;
		if (rank > best) {
			best = rank;
			*a = x;
		}
	}
	freeifaddrs(all);
	return best;
}

ncclResult_t socket_listen(struct addr *a, int *fd)
{
	struct sockaddr_storage s;
	socklen_t n;
	int one = 1;

	if (!a->family && !own_address(a))
		return nccl_fail(ncclSystemError, "no network interface (NCCL_SOCKET_IFNAME names which)");
	n = unpack(a, &s);
	*fd = socket(s.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return nccl_fail(ncclSystemError, "no socket");
	if (a->port)
		setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(*fd, (struct sockaddr *)&s, n) || listen(*fd, 1024) || getsockname(*fd, (struct sockaddr *)&s, &n)) {
		close(*fd);
		*fd = -1;
		return nccl_fail(ncclSystemError, "a socket cannot listen at this host's address");
	}
	pack((struct sockaddr *)&s, a);
	return ncclSuccess;
}

/* All of n bytes before the peer closes, in pieces of 100 ms: a communicator that has failed waits for nobody. c NULL: ms in all */
static bool all(struct ncclComm *c, int fd, void *p, size_t n, bool write, int ms)
{
	char *at = p;

	for (int waited = 0; n;) {
		struct pollfd w = { .fd = fd, .events = write ? POLLOUT : POLLIN };
		int got = poll(&w, 1, 100);
		ssize_t k;

		if (got < 0 && errno != EINTR)
			return false;
		if (got <= 0) {
			waited += 100;
			if (c ? comm_has_failed(c) : waited >= ms)
				return false;
			continue;
		}
		k = write ? send(fd, at, n, MSG_NOSIGNAL | MSG_DONTWAIT) : recv(fd, at, n, MSG_DONTWAIT);
		if (k == 0 || (k < 0 && errno != EAGAIN && errno != EINTR))
			return false;
		if (k > 0) {
			at += k;
			n -= (size_t)k;
		}
	}
	return true;
}

ncclResult_t socket_all(struct ncclComm *c, int fd, void *p, size_t n, bool write)
{
	return all(c, fd, p, n, write, 0) ? ncclSuccess : nccl_fail(ncclRemoteError, "a rank has gone");
}

/* Death of a whole host shows within half a minute. */
static void lively(int fd)
{
	int one = 1, idle = 5, more = 5, count = 3, ms = 20000;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &more, sizeof(more));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	setsockopt(fd, IPPROTO_TCP, 18 /* TCP_USER_TIMEOUT */, &ms, sizeof(ms));
}

static int reach(struct ncclComm *c, const struct addr *to)
{
	struct sockaddr_storage s;
	socklen_t n = unpack(to, &s), four = sizeof(int);

	for (int tries = 0; tries < CONNECT_S * 20 && !comm_has_failed(c); tries++) {
		int fd = socket(s.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), e = 0;
		struct pollfd w = { .fd = fd, .events = POLLOUT };

		if (fd < 0)
			return -1;
		if (!connect(fd, (struct sockaddr *)&s, n) || (errno == EINPROGRESS && poll(&w, 1, CONNECT_S * 1000) == 1 &&
		     !getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &four) && !e)) {
			fcntl(fd, F_SETFL, 0);
			lively(fd);
			return fd;
		}
		close(fd);
		nap_us(50000);
	}
	return -1;
}

/* ---- the root of an id ---- */

static void *serve(void *arg)
{
	struct root *r = arg;
	struct hello *h = NULL;
	uint32_t ranks = 0, here = 0, bad = 0;
	int *fds = NULL;

	while (!bad && (!ranks || here < ranks)) {
		int fd = accept4(r->fd, NULL, NULL, SOCK_CLOEXEC);
		struct hello one;

		if (fd < 0) {
			if (errno == EINTR || errno == ECONNABORTED)
				continue;
			break;
		}
		if (!all(NULL, fd, &one, sizeof(one), false, STRAY_MS) || memcmp(one.cookie, r->id.cookie, sizeof(one.cookie)) ||
		    !one.ranks || one.ranks > MAX_RANKS || one.rank >= one.ranks) {
			close(fd);
			continue;
		}
		if (!ranks) {
			ranks = one.ranks;
			h = calloc(ranks, sizeof(*h));
			fds = malloc(ranks * sizeof(*fds));
			for (uint32_t i = 0; fds && i < ranks; i++)
				fds[i] = -1;
		}
		/* two of one rank, or of different opinions about how many there are: nobody's communicator is made */
		if (!h || !fds || one.ranks != ranks || fds[one.rank] >= 0) {
			struct welcome w = { .status = ncclInvalidUsage };

			all(NULL, fd, &w, sizeof(w), true, STRAY_MS);
			close(fd);
			bad = 1;
			continue;
		}
		h[one.rank] = one;
		fds[one.rank] = fd;
		here++;
	}
	for (uint32_t i = 0; fds && i < ranks; i++) {
		struct welcome w = { .status = bad ? ncclInvalidUsage : ncclSuccess, .next = h ? h[(i + 1) % ranks].at : (struct addr){ 0 } };

		if (fds[i] < 0)
			continue;
		all(NULL, fds[i], &w, sizeof(w), true, STRAY_MS);
		close(fds[i]);
	}
	close(r->fd);
	free(h);
	free(fds);
	free(r);
	return NULL;
}

static ncclResult_t root(struct id *id)
{
	struct root *r = malloc(sizeof(*r));
	pthread_t t;

	if (!r)
		return nccl_fail(ncclSystemError, "no memory");
	if (socket_listen(&id->at, &r->fd) != ncclSuccess) {
		free(r);
		return ncclSystemError;
	}
	r->id = *id;
	if (pthread_create(&t, NULL, serve, r)) {
		close(r->fd);
		free(r);
		return nccl_fail(ncclSystemError, "no thread");
	}
	pthread_detach(t);
	return ncclSuccess;
}

/* "1.2.3.4:5678", "[::1]:5678" */
static bool given(const char *text, struct addr *a)
{
	const char *colon = strrchr(text, ':');
	char host[64];
	size_t n = colon ? (size_t)(colon - text) : 0;
	long port = colon ? atol(colon + 1) : 0;

	if (!n || n >= sizeof(host) || port <= 0 || port > 65535)
		return false;
	memcpy(host, text, n);
	host[n] = 0;
	memset(a, 0, sizeof(*a));
	a->port = htons((uint16_t)port);
	if (host[0] == '[' && host[n - 1] == ']') {
		host[n - 1] = 0;
		a->family = 6;
		return inet_pton(AF_INET6, host + 1, a->ip) == 1;
	}
	a->family = 4;
	return inet_pton(AF_INET, host, a->ip) == 1;
}

ncclResult_t socket_unique_id(ncclUniqueId *out)
{
	const char *env = getenv("NCCL_COMM_ID");
	struct id id = { .magic = ID_MAGIC };

	if (env && *env) {
		if (!given(env, &id.at))
			return nccl_fail(ncclInvalidArgument, "NCCL_COMM_ID is no address and port");
		id.by_env = 1;
	} else {
		if (syscall(SYS_getrandom, id.cookie, sizeof(id.cookie), 0) != sizeof(id.cookie))
			return nccl_fail(ncclSystemError, "no random numbers");
		NC(root(&id));
	}
	memset(out, 0, sizeof(*out));
	memcpy(out->internal, &id, sizeof(id));
	return ncclSuccess;
}

ncclResult_t socket_known(const ncclUniqueId *out)
{
	uint64_t magic;

	memcpy(&magic, out->internal, sizeof(magic));
	return magic == ID_MAGIC ? ncclSuccess : nccl_fail(ncclInvalidArgument, "the unique id is none of ncclGetUniqueId's");
}

ncclResult_t socket_meet(struct ncclComm *c, const ncclUniqueId *out, const struct addr *mine, struct addr *next)
{
	struct hello h = { .ranks = (uint32_t)c->ranks, .rank = (uint32_t)c->rank, .at = *mine };
	struct welcome w;
	struct id id;
	bool ok;
	int fd;

	memcpy(&id, out->internal, sizeof(id));
	if (id.by_env && !c->rank)
		NC(root(&id));
	memcpy(c->cookie, id.cookie, sizeof(c->cookie));
	memcpy(h.cookie, id.cookie, sizeof(h.cookie));
	fd = reach(c, &id.at);
	if (fd < 0)
		return nccl_fail(ncclSystemError, "who made the unique id is not reached (NCCL_SOCKET_IFNAME names the network)");
	ok = all(c, fd, &h, sizeof(h), true, 0) && all(c, fd, &w, sizeof(w), false, 0);
	close(fd);
	if (!ok)
		return nccl_fail(ncclRemoteError, "who made the unique id has gone");
	if (w.status)
		return nccl_fail(ncclInvalidUsage, "ranks disagree: a rank came twice, or of another number of ranks");
	*next = w.next;
	return ncclSuccess;
}

ncclResult_t socket_call(struct ncclComm *c, const struct ncclComm *at, const struct addr *to, uint32_t child, uint32_t kind, uint32_t from, int *fd)
{
	struct call m = { .child = child, .kind = kind, .from = from };

	memcpy(m.cookie, at->cookie, sizeof(m.cookie));
	*fd = reach(c, to);
	if (*fd < 0)
		return nccl_fail(ncclRemoteError, "the next rank is not reached");
	return socket_all(c, *fd, &m, sizeof(m), true);
}

bool socket_answer(struct ncclComm *c, int fd, struct guest *g)
{
	struct call m;

	if (!all(NULL, fd, &m, sizeof(m), false, STRAY_MS) || memcmp(m.cookie, c->cookie, sizeof(m.cookie)) || m.kind > WATCH)
		return false;
	lively(fd);
	*g = (struct guest){ .fd = fd, .child = m.child, .kind = m.kind, .from = m.from };
	return true;
}
