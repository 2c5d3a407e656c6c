/* SPDX-License-Identifier: MIT */
/* What a client is sent, without ever waiting for it. See answer.h. */
#include "answer.h"
#include "about.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "client.h"
#include "control.h"

#define HELD_AGAIN_NS 5000000ull
#define HELD_NS 5000000000ull           /* the library waits twice that long */

/* 0 or -errno */
int answer_now(struct client *c, const void *message, size_t bytes, const int *fds, unsigned nfds)
{
	union { struct cmsghdr align; char room[CMSG_SPACE(VGPU_HELLO_FDS * sizeof(int))]; } control;
	struct iovec iov = { (void *)(uintptr_t)message, bytes };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nfds) {
		struct cmsghdr *cm;

		memset(&control, 0, sizeof(control));
		m.msg_control = control.room;
		m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		cm = CMSG_FIRSTHDR(&m);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(cm), fds, nfds * sizeof(int));
	}
	return sendmsg(c->sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)bytes ? 0 : -errno;
}

static int answer_failed(struct client *c, int rc)
{
	client_drop(c, rc == -EPIPE || rc == -ECONNRESET ? NULL : "it does not read its answers");
	return -1;
}

/*
 * Descriptors that nobody has read yet are counted against their sender's user, all his processes together; above
 * RLIMIT_NOFILE the kernel lets no more go (ETOOMANYREFS). That passes: the answer is held, and the client not listened to,
 * until it has gone or HELD_NS are over.
 */
static void hold(struct client *c, const void *message, size_t bytes, const int *fds, unsigned nfds)
{
	c->held.since_ns = now_ns();
	c->held.again_ns = c->held.since_ns + HELD_AGAIN_NS;
	c->held.bytes = (uint32_t)bytes;
	c->held.nfds = nfds;
	memcpy(c->held.fds, fds, nfds * sizeof(int));
	memcpy(&c->held.m, message, bytes);
	control_unwatch(c->sock);
}

int answer_send(struct client *c, void *message, size_t bytes, unsigned type, const int *fds, unsigned nfds)
{
	struct vgpu_msg_header *h = message;
	int rc;

	h->type = type;
	h->bytes = (uint32_t)bytes;
	rc = answer_now(c, message, bytes, fds, nfds);
	if (rc == -ETOOMANYREFS && nfds && bytes <= sizeof(c->held.m)) {
		hold(c, message, bytes, fds, nfds);
		return 0;
	}
	return rc ? answer_failed(c, rc) : 0;
}

/* Held answers whose time has come; ms until the next one is due, -1: none. */
int answer_held(struct client *c, uint64_t now)
{
	int rc;

	if (now < c->held.again_ns)
		return (int)((c->held.again_ns - now) / 1000000) + 1;
	rc = answer_now(c, &c->held.m, c->held.bytes, c->held.fds, c->held.nfds);
	if (rc == -ETOOMANYREFS && now - c->held.since_ns < HELD_NS) {
		c->held.again_ns = now + HELD_AGAIN_NS;
		return HELD_AGAIN_NS / 1000000;
	}
	c->held.again_ns = 0;
	if (rc == -ETOOMANYREFS) {
		/* The same answer without them: the reason. What was made for this client stays his until he goes. */
		uint32_t *status = &c->held.m.hello.status;

		_Static_assert(offsetof(struct vgpu_msg_hello_r, status) == offsetof(struct vgpu_msg_grow_r, status), "one place");
		log_about(c);
		log_client(LOG_WARN, "client %u (%s, pid %d): %s", c->id, c->command, c->pid, vgpu_status_text(VGPU_ST_IN_FLIGHT));
		*status = VGPU_ST_IN_FLIGHT;
		if (c->held.m.hello.h.type == VGPU_MSG_HELLO)
			c->held.m.hello.text[0] = 0;
		rc = answer_now(c, &c->held.m, c->held.bytes, NULL, 0);
	}
	if (rc)
		answer_failed(c, rc);
	else
		control_watch(CONTROL_CLIENT, c->index, c->id, c->sock, EPOLLIN);
	return -1;
}

int answer_status(struct client *c, unsigned type, uint32_t status)
{
	struct vgpu_msg_status m = { .status = status };

	return answer_send(c, &m, sizeof(m), type, NULL, 0);
}
