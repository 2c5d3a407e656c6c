/* SPDX-License-Identifier: MIT */
/*
 * The vfio-user socket: one owner at a time, one request at a time.
 *
 * A request is read in two steps, header and body, each no further than its end, so that the
 * descriptors of the next message cannot be taken for this one's. While an answer does not fit into
 * the socket nothing is read. A peer that breaks the framing is hung up; when the owner is gone, for
 * whatever reason, the device is as after power-on before the next one is served.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "dma_msg.h"
#include "vfu.h"

#include "../service/notify.h"

#define RESEND_NS 5000000ull

static struct {
	struct device *dev;
	int listen_fd;
	struct source listen_src;
	ino_t sock_ino;                 /* of the socket file: we remove no other's */
	dev_t sock_dev;

	int fd;                         /* the owner, -1: none */
	struct source src;
	struct vfu_session session;

	uint32_t have;                  /* bytes of the message in `in` */
	int fds[VFU_MAX_FDS];
	uint32_t nfds;
	uint32_t out_bytes, out_sent;
	uint32_t out_nfds;
	int out_fds[VFU_REPLY_FDS];
	int hang_up;                    /* after the answer */
	uint64_t resend_ns;             /* descriptors of an answer could not go: when to try again; 0: no need */
	int is_answer;                  /* the message in `in` answers one of dma_msg.c's */
	uint8_t in[VFU_MAX_MESSAGE], out[VFU_MAX_MESSAGE];
} srv = { .listen_fd = -1, .fd = -1 };

static void close_fds(int *fds, uint32_t *n)
{
	for (uint32_t i = 0; i < *n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	*n = 0;
}

/* The owner is gone: power-on state, nothing of it is kept. */
static void drop_owner(const char *why)
{
	struct device *d = srv.dev;

	if (srv.fd < 0)
		return;
	log_line("owner gone: %s", why);
	notify_send("STATUS=no owner (%s)", why);
	loop_remove(&srv.src);
	close(srv.fd);
	srv.fd = -1;
	close_fds(srv.fds, &srv.nfds);
	srv.have = 0;
	srv.out_bytes = srv.out_sent = srv.out_nfds = 0;
	srv.resend_ns = 0;
	device_reset(d);
	dma_msg_forget();
	pci_reset(d);
	irq_release(d);
	dma_unmap_all(&d->dma);
	log_line("interrupts sent to it: %llu by the admin queue, %llu by contexts", (unsigned long long)d->irqs_admin,
		 (unsigned long long)d->irqs_queues);
	d->irqs_admin = d->irqs_queues = 0;
}

/* ---- sending ------------------------------------------------------------------------------------ */
/* 0 all sent, 1 the rest waits for EPOLLOUT, 2 for others' descriptors in flight to be read (ETOOMANYREFS), -errno. */
static int flush_out(void)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int) * VFU_REPLY_FDS)];
	} ctl;

	while (srv.out_sent < srv.out_bytes) {
		struct iovec iov = { srv.out + srv.out_sent, srv.out_bytes - srv.out_sent };
		struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };
		ssize_t n;

		if (srv.out_nfds) {
			size_t bytes = sizeof(int) * srv.out_nfds;

			memset(&ctl, 0, sizeof(ctl));
			h.msg_control = &ctl;
			h.msg_controllen = CMSG_SPACE(bytes);
			ctl.h.cmsg_level = SOL_SOCKET;
			ctl.h.cmsg_type = SCM_RIGHTS;
			ctl.h.cmsg_len = CMSG_LEN(bytes);
			memcpy(CMSG_DATA(&ctl.h), srv.out_fds, bytes);
		}
		n = sendmsg(srv.fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 1;
		if (n < 0 && errno == ETOOMANYREFS)
			return 2;
		if (n < 0)
			return -errno;
		srv.out_nfds = 0;       /* they went with the first byte */
		srv.out_sent += (uint32_t)n;
	}
	srv.out_bytes = srv.out_sent = 0;
	return 0;
}

static void after_send(void)
{
	int r = flush_out();

	if (r < 0) {
		drop_owner(strerror(-r));
		return;
	}
	if (r == 0 && srv.hang_up) {
		drop_owner("it broke the protocol");
		return;
	}
	/* No event tells that descriptors may go again: the clock then, as long as the owner has patience. */
	srv.resend_ns = r == 2 ? clock_ns() + RESEND_NS : 0;
	loop_change(&srv.src, r == 2 ? 0 : r ? EPOLLOUT : EPOLLIN);
}

uint64_t vfu_next_resend(void)
{
	return srv.resend_ns;
}

void vfu_resend(void)
{
	if (srv.resend_ns && clock_ns() >= srv.resend_ns)
		after_send();
}

/* ---- a complete message ------------------------------------------------------------------------- */
static void serve_message(void)
{
	struct vfu_request r;
	struct vfu_reply reply = { .data = srv.out + sizeof(struct vfu_header) };
	struct vfu_header h;
	int err = vfu_parse(srv.in, srv.have, &r);

	if (err)
		reply.error = err;
	else
		vfu_execute(srv.dev, &srv.session, &r, srv.fds, srv.nfds, &reply);
	close_fds(srv.fds, &srv.nfds);
	srv.have = 0;
	if (reply.error)
		log_verbose("%s: %s", vfu_command_name(r.h.command), strerror(-reply.error));
	if (reply.hang_up)
		srv.hang_up = 1;
	if (r.h.flags & VFU_FLAG_NO_REPLY) {
		if (srv.hang_up)
			drop_owner("it broke the protocol");
		return;
	}
	h = (struct vfu_header){ r.h.id, r.h.command, sizeof(h), VFU_FLAG_REPLY, 0 };
	if (reply.error) {
		h.flags |= VFU_FLAG_ERROR;
		h.error = (uint32_t)-reply.error;
		reply.nfds = 0;
	} else {
		h.bytes += reply.bytes;
	}
	memcpy(srv.out, &h, sizeof(h));
	srv.out_bytes = h.bytes;
	srv.out_sent = 0;
	srv.out_nfds = reply.nfds;
	memcpy(srv.out_fds, reply.fds, reply.nfds * sizeof(int));
	after_send();
}

/* The answer to a DMA of ours. */
static void serve_answer(void)
{
	int err;

	close_fds(srv.fds, &srv.nfds);
	err = dma_msg_answer(srv.dev, srv.in, srv.have);
	srv.have = 0;
	srv.is_answer = 0;
	if (err)
		drop_owner("an answer to a DMA that makes no sense");
}

void vfu_pump(void)
{
	if (srv.fd < 0 || srv.out_bytes || !pci_bus_master(srv.dev))
		return;
	srv.out_bytes = dma_msg_next(srv.out, sizeof(srv.out));
	srv.out_sent = 0;
	if (srv.out_bytes)
		after_send();
}

/* ---- receiving ----------------------------------------------------------------------------------- */
static void take_fds(struct msghdr *h, int *too_many)
{
	for (struct cmsghdr *k = CMSG_FIRSTHDR(h); k; k = CMSG_NXTHDR(h, k)) {
		size_t n;

		if (k->cmsg_level != SOL_SOCKET || k->cmsg_type != SCM_RIGHTS)
			continue;
		n = (k->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(k) + i * sizeof(int), sizeof(int));
			if (srv.nfds < VFU_MAX_FDS) {
				srv.fds[srv.nfds++] = fd;
			} else {
				close(fd);
				*too_many = 1;
			}
		}
	}
	if (h->msg_flags & MSG_CTRUNC)
		*too_many = 1;
}

static void receive(void)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int) * VFU_MAX_FDS)];
	} ctl;
	struct vfu_header head;
	uint32_t want = sizeof(head);
	struct iovec iov;
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ctl,
			    .msg_controllen = sizeof(ctl) };
	int too_many = 0;
	ssize_t n;

	if (srv.have >= sizeof(head)) {
		memcpy(&head, srv.in, sizeof(head));
		want = head.bytes;
	}
	iov = (struct iovec){ srv.in + srv.have, want - srv.have };
	n = recvmsg(srv.fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop_owner(n ? strerror(errno) : "it closed the connection");
		return;
	}
	take_fds(&h, &too_many);
	srv.have += (uint32_t)n;
	if (too_many) {
		drop_owner("more file descriptors in a message than announced");
		return;
	}
	if (srv.have < want)
		return;
	if (want == sizeof(head)) {
		memcpy(&head, srv.in, sizeof(head));
		srv.is_answer = (head.flags & VFU_FLAG_TYPE) == VFU_FLAG_REPLY && dma_msg_awaits(head.id, head.command);
		if (srv.is_answer)
			head.flags &= ~VFU_FLAG_TYPE;   /* its length is checked alike */
		if (vfu_check_header(&head)) {
			drop_owner("a message header that makes no sense");
			return;
		}
		if (head.bytes > sizeof(head))
			return;         /* the body comes with the next event */
	}
	if (srv.is_answer)
		serve_answer();
	else
		serve_message();
}

static void owner_ready(void *owner, uint32_t events)
{
	(void)owner;
	if (events & EPOLLOUT)
		after_send();
	else if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		receive();
	else
		return;
	/* Hung up while an answer waits: nobody will ever read it. */
	if (srv.fd >= 0 && (events & (EPOLLHUP | EPOLLERR)) && srv.out_bytes)
		drop_owner("it closed the connection");
}

/* ---- the listening socket --------------------------------------------------------------------------- */
static void accept_ready(void *owner, uint32_t events)
{
	int fd = accept4(srv.listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)owner;
	(void)events;
	if (fd < 0)
		return;
	/* An owner that just left may not have been noticed yet. */
	if (srv.fd >= 0) {
		struct pollfd p = { .fd = srv.fd, .events = POLLRDHUP };

		if (poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLRDHUP | POLLERR)))
			drop_owner("it closed the connection");
	}
	if (srv.fd >= 0) {
		log_line("a second connection was closed: the device has an owner already");
		close(fd);
		return;
	}
	srv.session = (struct vfu_session){ 0, 1 };
	srv.hang_up = 0;
	srv.src = (struct source){ -1, owner_ready, &srv };
	if (loop_add(&srv.src, fd, EPOLLIN)) {
		close(fd);
		return;
	}
	srv.fd = fd;
	log_line("owner attached");
	notify_send("STATUS=has an owner");
}

/* Somebody answers there, or it is a leftover of a process that died. */
static int is_stale(const struct sockaddr_un *a)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), refused;

	if (fd < 0)
		return 0;
	refused = connect(fd, (const struct sockaddr *)a, sizeof(*a)) < 0 && errno == ECONNREFUSED;
	close(fd);
	return refused;
}

/* Under a name of our own first: who sees the other one is answered. One that leaves no room for a longer one refuses for a moment. */
static int listen_at(int fd, struct sockaddr_un *a)
{
	char path[sizeof(a->sun_path)], own[16];
	size_t n = strlen(a->sun_path), more = (size_t)snprintf(own, sizeof(own), ".%x", (unsigned)getpid());

	if (n + more >= sizeof(a->sun_path))
		return bind(fd, (struct sockaddr *)a, sizeof(*a)) || listen(fd, 8) ? -errno : 0;
	memcpy(path, a->sun_path, n + 1);
	memcpy(a->sun_path + n, own, more + 1);
	unlink(a->sun_path);
	if (bind(fd, (struct sockaddr *)a, sizeof(*a)) || listen(fd, 8))
		return -errno;
	/* of two that start at once, one; file systems without this flag (9p) have no such promise */
	if (renameat2(AT_FDCWD, a->sun_path, AT_FDCWD, path, RENAME_NOREPLACE) && (errno != EINVAL || rename(a->sun_path, path))) {
		int err = -errno;

		unlink(a->sun_path);
		return err;
	}
	return 0;
}

int vfu_listen(struct device *d, const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct stat st;
	int fd, err;

	srv.dev = d;
	if (strlen(path) >= sizeof(a.sun_path)) {
		log_line("--socket %s: the path is longer than %zu bytes; choose a shorter one", path,
			 sizeof(a.sun_path) - 1);
		return -ENAMETOOLONG;
	}
	strcpy(a.sun_path, path);
	if (lstat(path, &st) == 0) {
		if (!S_ISSOCK(st.st_mode)) {
			log_line("--socket %s: exists and is no socket; remove it or choose another path", path);
			return -EEXIST;
		}
		if (!is_stale(&a)) {
			log_line("--socket %s: another device is listening there; stop it or choose another path", path);
			return -EADDRINUSE;
		}
		unlink(path);
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	err = fd < 0 ? -errno : listen_at(fd, &a);
	if (!err && stat(path, &st))
		err = -errno;
	if (err) {
		log_line("--socket %s: cannot listen: %s; does the folder exist, and may you write to it?", path,
			 strerror(-err));
		if (fd >= 0)
			close(fd);
		return err;
	}
	srv.sock_ino = st.st_ino;
	srv.sock_dev = st.st_dev;
	srv.listen_fd = fd;
	srv.listen_src = (struct source){ -1, accept_ready, &srv };
	return loop_add(&srv.listen_src, fd, EPOLLIN);
}

void vfu_close(const char *path)
{
	struct stat st;

	drop_owner("the device shuts down");
	if (srv.listen_fd >= 0) {
		/* Only the file that we made: another device may have replaced it. */
		if (stat(path, &st) == 0 && st.st_ino == srv.sock_ino && st.st_dev == srv.sock_dev)
			unlink(path);
		loop_remove(&srv.listen_src);
		close(srv.listen_fd);
		srv.listen_fd = -1;
	}
}
