/* SPDX-License-Identifier: MIT */
/*
 * See lent.h. There is room for as many descriptors as a message can have: what did not fit would be closed in here.
 */
#include "lent.h"

#include <string.h>
#include <sys/socket.h>

#include "closer.h"

#define MOST 253u                       /* SCM_MAX_FD of the kernel (unix(7)) */

ssize_t lent_receive(int sock, void *bytes, size_t room, int *fd)
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(MOST * sizeof(int))];
	} u;
	struct iovec iov = { bytes, room };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof(u) };
	unsigned got = 0;
	ssize_t n = recvmsg(sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*fd = -1;
	if (n < 0)
		return n;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
			int one;

			memcpy(&one, CMSG_DATA(c) + i * sizeof(one), sizeof(one));
			if (got++)
				closer_close(one);
			else
				*fd = one;
		}
	}
	if (got > 1 || (*fd >= 0 && msg.msg_flags & MSG_CTRUNC)) {
		closer_close(*fd);
		*fd = -1;
	}
	return n;
}
