/* SPDX-License-Identifier: MIT */
/* Connections that come: who it is, by the kernel's word, and whether there is room. Their life is client.c. */
#include "client.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "allot.h"
#include "closer.h"
#include "control.h"
#include "tenant.h"

#define CLIENT_SO_PEERPIDFD 77          /* linux 6.5, asm-generic/socket.h */
#define CLIENT_SO_PEERGROUPS 59
#define UID_SLACK 8u

static struct client *free_slot(void)
{
	for (unsigned i = 0; i < AGENT_CLIENTS / 64; i++)
		if (~agent.taken[i])
			return &agent.client[64 * i + (unsigned)__builtin_ctzll(~agent.taken[i])];
	return NULL;
}

/* Live processes only: a pid from SO_PEERCRED may be dead and taken again; SO_PEERPIDFD may not. */
static int peer_pidfd(int sock, pid_t pid)
{
	socklen_t n = sizeof(int);
	int fd;

	if (getsockopt(sock, SOL_SOCKET, CLIENT_SO_PEERPIDFD, &fd, &n) == 0)
		return fd;
	return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

/* Connections of c's user, and of its container, c's own too. idle: those without a window alone. */
static void count(const struct client *c, int idle, unsigned n[TENANT_KINDS])
{
	memset(n, 0, TENANT_KINDS * sizeof(*n));
	for (const struct client *o = NULL; (o = client_after(o));) {
		if ((o->leaving && !client_keeps(o)) || (idle && o->window))
			continue;
		for (unsigned k = 0; k < TENANT_KINDS; k++)
			n[k] += c->tenant[k] && o->tenant[k] == c->tenant[k];
	}
}

/* A few more than allowed may stay to hear why not; the rest just finds the door shut. */
static int too_many(const struct client *c)
{
	unsigned n[TENANT_KINDS];

	count(c, 0, n);
	if (n[TENANT_USER] > allot_together(c->tenant[TENANT_USER], VGPU_ALLOT_CLIENTS, agent.opt.uid_clients) + UID_SLACK)
		log_client(LOG_WARN, "a connection of user %u was refused: %u are open (--uid-clients)", c->uid, n[TENANT_USER] - 1);
	else if (c->tenant[TENANT_CONTAINER] &&
		 n[TENANT_CONTAINER] > allot_together(c->tenant[TENANT_CONTAINER], VGPU_ALLOT_CLIENTS, agent.opt.container_clients) + UID_SLACK)
		log_client(LOG_WARN, "a connection out of container %s was refused: %u are open (--container-clients)",
			   c->tenant[TENANT_CONTAINER]->box, n[TENANT_CONTAINER] - 1);
	else
		return 0;
	return 1;
}

/*
 * The last place is kept free: for it goes the oldest connection without a window of whoever has most of these. So several tenants
 * that hold connections cannot keep out one that has none.
 */
static void make_room(void)
{
	struct client *worst = NULL;
	unsigned most = 0;

	if (free_slot())
		return;
	for (struct client *c = NULL; (c = client_after(c));) {
		unsigned n[TENANT_KINDS], has;

		if (c->window || c->leaving)
			continue;
		count(c, 1, n);
		has = n[TENANT_USER] > n[TENANT_CONTAINER] ? n[TENANT_USER] : n[TENANT_CONTAINER];
		if (has > most || (has == most && worst && c->since_ns < worst->since_ns)) {
			most = has;
			worst = c;
		}
	}
	if (worst)
		client_drop(worst, "its place is needed: no other user or container has so many connections that compute nothing");
}

/* Is the peer of that group, by its own or by one of its others? As the kernel noted when it connected (linux 4.13). */
static int peer_in(int sock, gid_t own, long group)
{
	static gid_t other[1024];       /* who has more groups than these is asked for his own alone */
	socklen_t n = sizeof(other);

	if (group < 0)
		return 0;
	if (own == (gid_t)group)
		return 1;
	if (getsockopt(sock, SOL_SOCKET, CLIENT_SO_PEERGROUPS, other, &n) < 0)
		return 0;
	for (size_t i = 0; i < n / sizeof(other[0]); i++)
		if (other[i] == (gid_t)group)
			return 1;
	return 0;
}

static void accept_one(int sock)
{
	struct ucred cred = { 0, 0, 0 };
	socklen_t n = sizeof(cred);
	struct client *c = free_slot();

	if (!c || getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0) {
		if (!c) {
			agent.refused[VGPU_REFUSED_PLACES]++;
			log_client(LOG_WARN, "a connection was refused: %u are open", AGENT_CLIENTS);
		}
		closer_close(sock);
		return;
	}
	memset(c, 0, offsetof(struct client, ctx));
	for (unsigned i = 0; i < VGPU_MAX_CONTEXTS; i++) {
		c->ctx[i].state = CONTEXT_FREE;
		c->ctx[i].dead_status = 0;
		c->ctx[i].kill = 0;
	}
	memset(&c->poisoned, 0, sizeof(*c) - offsetof(struct client, poisoned));
	c->index = (uint32_t)(c - agent.client);
	client_place(c, 1);
	c->sock = sock;
	c->kick_fd = -1;
	c->pid = cred.pid;
	c->uid = cred.uid;
	c->in_admins = peer_in(sock, cred.gid, agent.opt.admin_gid);
	c->id = ++agent.next_id;
	c->since_ns = now_ns();
	c->pidfd = peer_pidfd(sock, cred.pid);
	tenant_take(c);
	if (too_many(c)) {
		agent.refused[VGPU_REFUSED_LIMIT]++;
		tenant_drop(c);
		if (c->pidfd >= 0)
			close(c->pidfd);
		closer_close(sock);
		client_place(c, 0);
		return;
	}
	if (c->pidfd >= 0)
		control_watch(CONTROL_PIDFD, c->index, c->id, c->pidfd, EPOLLIN);
	else
		log_debug("client %u: no pidfd (%s), its end is its hang-up", c->id, strerror(errno));
	control_watch(CONTROL_CLIENT, c->index, c->id, sock, EPOLLIN);
	make_room();
}

void client_accept(int listen_fd)
{
	for (int i = 0; i < 16 && !closer_behind(); i++) {
		int sock = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (sock < 0) {
			if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
				log_client(LOG_WARN, "a connection could not be accepted: %s", strerror(errno));
			return;
		}
		accept_one(sock);
	}
}
