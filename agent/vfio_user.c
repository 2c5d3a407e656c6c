/* SPDX-License-Identifier: MIT */
/*
 * VFIO transport: a vfio-user server on a UNIX stream socket (QEMU, docs/interop/vfio-user.rst).
 *
 * Every request is answered before the next is sent, so one message is in flight, and the device's own thread waits for it (errand.h);
 * the exception is ring(), a REGION_WRITE with No_reply that the data thread sends: one small sendmsg is one
 * socket buffer, so it cannot fall into the middle of another message.
 */
#include "vfio.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "log.h"

#define REPLY_MS 5000                   /* a server that takes longer counts as dead */
#define HELLO_MS 10000                  /* the first answer: a device may just have been started, on a busy machine */
#define MAX_FDS 253                     /* SCM_MAX_FD */
#define MAX_MESSAGE 65536u
#define REFS_NAP_MS 5

enum { VU_VERSION = 1, VU_DMA_MAP, VU_DMA_UNMAP, VU_GET_INFO, VU_GET_REGION_INFO, VU_GET_REGION_IO_FDS,
       VU_GET_IRQ_INFO, VU_SET_IRQS, VU_REGION_READ, VU_REGION_WRITE, VU_DMA_READ, VU_DMA_WRITE,
       VU_RESET };
#define VU_REPLY    0x01u
#define VU_TYPE     0x0fu
#define VU_NO_REPLY 0x10u
#define VU_ERROR    0x20u

struct vu_header { uint16_t id, command; uint32_t bytes, flags, error; };
struct vu_dma_map { uint32_t argsz, flags; uint64_t offset, iova, bytes; };
struct vu_dma_unmap { uint32_t argsz, flags; uint64_t iova, bytes; };
struct vu_info { uint32_t argsz, flags, regions, irqs; };
struct vu_region_info { uint32_t argsz, flags, index, cap_offset; uint64_t bytes, offset; };
struct vu_irq_set { uint32_t argsz, flags, index, start, count; };
struct vu_region_rw { uint64_t offset; uint32_t region, count; };
struct vu_io_fds { uint32_t argsz, flags, index, count; };
struct vu_io_fd { uint64_t offset, bytes; uint32_t fd_index, type; };  /* as far as it is read */

struct vfio {
	int sock;
	int dead;
	unsigned reply_ms;
	uint16_t next_id;
	unsigned max_fds;               /* the server takes in one message */
	uint8_t in[MAX_MESSAGE];
	int fds[MAX_FDS];               /* that came with the last reply */
	unsigned nfds;
};

static uint64_t ms_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void drop_fds(struct vfio *v)
{
	for (unsigned i = 0; i < v->nfds; i++)
		if (v->fds[i] >= 0)
			close(v->fds[i]);
	v->nfds = 0;
}

static int dead(struct vfio *v, int error)
{
	v->dead = 1;
	return error;
}

static int wait_for(struct vfio *v, short events, uint64_t deadline)
{
	struct pollfd p = { .fd = v->sock, .events = events };

	for (;;) {
		uint64_t now = ms_now();
		int r;

		/* Looked at in any case: this process may have been stopped, and the answer be there since long. */
		r = poll(&p, 1, now < deadline ? (int)(deadline - now) : 0);
		if (r > 0)
			return 0;       /* a hang-up shows in the send or recv that follows */
		if (r == 0 && now >= deadline)
			return dead(v, -ETIMEDOUT);
		if (r < 0 && errno != EINTR)
			return dead(v, -errno);
	}
}

static int send_all(struct vfio *v, const struct vu_header *h, const void *body, size_t body_bytes,
		    const int *fds, unsigned nfds)
{
	union { struct cmsghdr align; char room[CMSG_SPACE(MAX_FDS * sizeof(int))]; } control;
	uint64_t deadline = ms_now() + v->reply_ms;
	size_t sent = 0, all = sizeof(*h) + body_bytes;

	while (sent < all) {
		struct iovec iov[2];
		struct msghdr m = { .msg_iov = iov };
		ssize_t r;

		if (sent < sizeof(*h))
			iov[m.msg_iovlen++] = (struct iovec){ (char *)(uintptr_t)h + sent, sizeof(*h) - sent };
		if (body_bytes) {
			size_t skip = sent > sizeof(*h) ? sent - sizeof(*h) : 0;

			iov[m.msg_iovlen++] = (struct iovec){ (char *)(uintptr_t)body + skip, body_bytes - skip };
		}
		if (nfds && !sent) {
			struct cmsghdr *c;

			memset(&control, 0, sizeof(control));
			m.msg_control = control.room;
			m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
			c = CMSG_FIRSTHDR(&m);
			c->cmsg_level = SOL_SOCKET;
			c->cmsg_type = SCM_RIGHTS;
			c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
			memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
		}
		r = sendmsg(v->sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (r > 0) {
			sent += (size_t)r;
		} else if (r < 0 && errno == ETOOMANYREFS && ms_now() < deadline) {
			/* Others of this user leave theirs unread (unix(7)); no event says that they have been read. */
			poll(NULL, 0, REFS_NAP_MS);
		} else if (r < 0 && errno == ETOOMANYREFS) {
			return -ETOOMANYREFS;   /* nothing of it has gone: the next message is still a message */
		} else if (r < 0 && errno == EAGAIN) {
			int rc = wait_for(v, POLLOUT, deadline);

			if (rc < 0)
				return rc;
		} else if (r < 0 && errno != EINTR) {
			return dead(v, -EPIPE);
		}
	}
	return 0;
}

/* Exactly `bytes` into `to`; fds that come along are kept for the caller of request(). */
static int recv_all(struct vfio *v, void *to, size_t bytes, uint64_t deadline)
{
	size_t got = 0;

	while (got < bytes) {
		union { struct cmsghdr align; char room[CMSG_SPACE(MAX_FDS * sizeof(int))]; } control;
		struct iovec iov = { (char *)to + got, bytes - got };
		struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.room,
				    .msg_controllen = sizeof(control.room) };
		ssize_t r = recvmsg(v->sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

		if (r == 0)
			return dead(v, -EPIPE);
		if (r < 0 && errno == EAGAIN) {
			int rc = wait_for(v, POLLIN, deadline);

			if (rc < 0)
				return rc;
			continue;
		}
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return dead(v, -EPIPE);
		got += (size_t)r;
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
			size_t n;

			if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
				continue;
			n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			for (size_t i = 0; i < n; i++) {
				int fd;

				memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
				if (v->nfds < MAX_FDS)
					v->fds[v->nfds++] = fd;
				else
					close(fd);
			}
		}
	}
	return 0;
}

/* One whole message into v->in. */
static int receive(struct vfio *v, struct vu_header *h, uint64_t deadline)
{
	int rc = recv_all(v, h, sizeof(*h), deadline);

	if (rc < 0)
		return rc;
	if (h->bytes < sizeof(*h) || h->bytes - sizeof(*h) > MAX_MESSAGE)
		return dead(v, -EPROTO);
	return recv_all(v, v->in, h->bytes - sizeof(*h), deadline);
}

/* The server asks something of us (DMA_READ, ...): not offered; memory is shared by fd. */
static int refuse(struct vfio *v, const struct vu_header *h)
{
	struct vu_header r = { .id = h->id, .command = h->command, .bytes = sizeof(r),
			       .flags = VU_REPLY | VU_ERROR, .error = ENOTSUP };

	drop_fds(v);
	if (h->flags & VU_NO_REPLY)
		return 0;
	return send_all(v, &r, NULL, 0, NULL, 0);
}

/* Sends, waits for the answer. Its body is in v->in; *got = its size. Fds stay in v->fds. */
static int request(struct vfio *v, unsigned command, const void *body, size_t bytes, const int *fds, unsigned nfds,
		   size_t *got)
{
	struct vu_header h = { .id = ++v->next_id, .command = (uint16_t)command,
			       .bytes = (uint32_t)(sizeof(h) + bytes) }, r;
	uint64_t deadline = ms_now() + v->reply_ms;
	int rc;

	if (v->dead)
		return -EPIPE;
	drop_fds(v);
	rc = send_all(v, &h, body, bytes, fds, nfds);
	while (rc == 0) {
		rc = receive(v, &r, deadline);
		if (rc < 0)
			break;
		if ((r.flags & VU_TYPE) != VU_REPLY) {
			rc = refuse(v, &r);
			/* one that only asks is no better than one that is silent */
			if (rc == 0 && ms_now() >= deadline)
				rc = dead(v, -ETIMEDOUT);
			continue;
		}
		if (r.id != h.id || r.command != command)
			return dead(v, -EPROTO);
		*got = r.bytes - sizeof(r);
		if (r.flags & VU_ERROR)
			return r.error && r.error < 4096 ? -(int)r.error : -EIO;
		return 0;
	}
	return rc;
}

static int simple(struct vfio *v, unsigned command, const void *body, size_t bytes, const int *fds, unsigned nfds)
{
	size_t got;
	int rc = request(v, command, body, bytes, fds, nfds, &got);

	drop_fds(v);
	return rc;
}

/* The number behind "key" in the server's JSON; our own bound holds whatever it says. */
static unsigned json_number(const char *json, const char *key, unsigned otherwise)
{
	const char *p = strstr(json, key);

	if (!p || !(p = strchr(p, ':')))
		return otherwise;
	return (unsigned)strtoul(p + 1, NULL, 10);
}

static int negotiate(struct vfio *v, char *why, size_t why_bytes, const char *path)
{
	static const char caps[] = "{\"capabilities\":{\"max_msg_fds\":253,\"max_data_xfer_size\":1048576}}";
	struct { uint16_t major, minor; char json[sizeof(caps)]; } ask = { 0, 1, "" };
	uint16_t major, minor;
	size_t got;
	int rc;

	memcpy(ask.json, caps, sizeof(caps));
	rc = request(v, VU_VERSION, &ask, 4 + sizeof(caps), NULL, 0, &got);
	drop_fds(v);
	if (rc == -EPIPE) {
		snprintf(why, why_bytes, "%s closed the connection: a device serves one owner at a time, is another vgpu-agent (or QEMU) attached to it?", path);
		return rc;
	}
	if (rc < 0 || got < 4) {
		snprintf(why, why_bytes, "%s does not answer as a vfio-user server: %s", path, strerror(rc < 0 ? -rc : EPROTO));
		return rc < 0 ? rc : -EPROTO;
	}
	memcpy(&major, v->in, 2);
	memcpy(&minor, v->in + 2, 2);
	if (major != 0) {
		snprintf(why, why_bytes, "%s speaks vfio-user %u.%u, this agent speaks 0.x", path, major, minor);
		return -EPROTO;
	}
	v->in[got < MAX_MESSAGE ? got : MAX_MESSAGE - 1] = 0;
	v->max_fds = json_number((char *)v->in + 4, "\"max_msg_fds\"", 1);
	if (v->max_fds < 1)
		v->max_fds = 1;
	if (v->max_fds > MAX_FDS)
		v->max_fds = MAX_FDS;
	v->reply_ms = REPLY_MS;
	return 0;
}

static void vu_close(struct vfio *v)
{
	drop_fds(v);
	close(v->sock);
	free(v);
}

static int vu_open(const char *spec, struct vfio **out, char *why, size_t why_bytes)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct vu_info info = { .argsz = sizeof(info) };
	struct vfio *v;
	size_t got;
	int rc;

	if (!*spec || strlen(spec) >= sizeof(a.sun_path)) {
		snprintf(why, why_bytes, "--device vfio-user:%s: a socket path of 1 to %zu characters is needed", spec,
			 sizeof(a.sun_path) - 1);
		return -EINVAL;
	}
	memcpy(a.sun_path, spec, strlen(spec));
	v = calloc(1, sizeof(*v));      /* once per attach */
	if (!v)
		return -ENOMEM;
	v->max_fds = 1;
	v->reply_ms = HELLO_MS;
	v->sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (v->sock < 0 || connect(v->sock, (struct sockaddr *)&a, sizeof(a)) < 0) {
		rc = -errno;
		snprintf(why, why_bytes, "no device at %s: %s; start one with: vgpu-stub --socket %s", spec, strerror(errno), spec);
		if (v->sock >= 0)
			close(v->sock);
		free(v);
		return rc;
	}
	rc = negotiate(v, why, why_bytes, spec);
	if (rc < 0)
		goto fail;
	rc = request(v, VU_GET_INFO, &info, sizeof(info), NULL, 0, &got);
	if (rc == 0 && got >= sizeof(info))
		memcpy(&info, v->in, sizeof(info));
	drop_fds(v);
	if (rc < 0 || got < sizeof(info) || !(info.flags & 2) || info.regions <= VFIO_PCI_CONFIG) {
		snprintf(why, why_bytes, "%s is a vfio-user server, but not of a PCI device", spec);
		rc = rc < 0 ? rc : -ENODEV;
		goto fail;
	}
	*out = v;
	return 0;
fail:
	vu_close(v);
	return rc;
}

static int vu_region_info(struct vfio *v, unsigned region, uint64_t *bytes)
{
	struct vu_region_info r = { .argsz = sizeof(r), .index = region };
	size_t got;
	int rc = request(v, VU_GET_REGION_INFO, &r, sizeof(r), NULL, 0, &got);

	drop_fds(v);
	if (rc < 0)
		return rc;
	if (got < sizeof(r))
		return -EPROTO;
	memcpy(&r, v->in, sizeof(r));
	*bytes = r.bytes;
	return 0;
}

static int vu_region_read(struct vfio *v, unsigned region, uint64_t offset, void *to, unsigned bytes)
{
	struct vu_region_rw rw = { offset, region, bytes };
	size_t got;
	int rc = request(v, VU_REGION_READ, &rw, sizeof(rw), NULL, 0, &got);

	drop_fds(v);
	if (rc < 0)
		return rc;
	if (got < sizeof(rw) + bytes)
		return -EPROTO;
	memcpy(to, v->in + sizeof(rw), bytes);
	return 0;
}

static int vu_region_write(struct vfio *v, unsigned region, uint64_t offset, const void *from, unsigned bytes)
{
	struct { struct vu_region_rw rw; uint8_t data[64]; } m = { { offset, region, bytes }, { 0 } };

	if (bytes > sizeof(m.data))
		return -EINVAL;
	memcpy(m.data, from, bytes);
	return simple(v, VU_REGION_WRITE, &m, sizeof(m.rw) + bytes, NULL, 0);
}

static int vu_region_map(struct vfio *v, unsigned region, uint64_t offset, uint64_t bytes, void **va)
{
	(void)v, (void)region, (void)offset, (void)bytes, (void)va;
	return -ENOTSUP;        /* registers trap; doorbells are eventfds */
}

static int vu_irq_set(struct vfio *v, unsigned index, unsigned start, unsigned count, const int *fds)
{
	while (count) {
		unsigned n = count < v->max_fds ? count : v->max_fds;
		struct vu_irq_set s = { sizeof(s), 0x4 | 0x20, index, start, n };  /* DATA_EVENTFD, ACTION_TRIGGER */
		int rc = simple(v, VU_SET_IRQS, &s, sizeof(s), fds, n);

		if (rc < 0)
			return rc;
		start += n;
		fds += n;
		count -= n;
	}
	return 0;
}

static int vu_dma_map(struct vfio *v, iova_t iova, uint64_t bytes, int fd, uint64_t offset, void *va)
{
	struct vu_dma_map m = { sizeof(m), 3, offset, iova.v, bytes };  /* readable, writable */

	(void)va;
	return simple(v, VU_DMA_MAP, &m, sizeof(m), &fd, 1);
}

static int vu_dma_unmap(struct vfio *v, iova_t iova, uint64_t bytes)
{
	struct vu_dma_unmap m = { sizeof(m), 0, iova.v, bytes };

	return simple(v, VU_DMA_UNMAP, &m, sizeof(m), NULL, 0);
}

static int vu_doorbell_fds(struct vfio *v, uint64_t base, unsigned count, int *fds)
{
	struct vu_io_fds ask = { .argsz = MAX_MESSAGE, .index = VFIO_PCI_BAR0 }, r;
	size_t got, stride;
	int rc;

	for (unsigned i = 0; i < count; i++)
		fds[i] = -1;
	rc = request(v, VU_GET_REGION_IO_FDS, &ask, sizeof(ask), NULL, 0, &got);
	if (rc < 0 || got < sizeof(r)) {
		drop_fds(v);
		return rc < 0 ? rc : -EPROTO;
	}
	memcpy(&r, v->in, sizeof(r));
	/* Entries of 40 or 48 bytes, by type (ioeventfd with or without the shadow's fields). */
	stride = r.count && r.count <= 1024 ? (got - sizeof(r)) / r.count : 0;
	for (unsigned i = 0; stride >= 40 && i < r.count; i++) {
		struct vu_io_fd e;
		uint64_t q;

		memcpy(&e, v->in + sizeof(r) + i * stride, sizeof(e));
		q = (e.offset - base) / 4;
		if (e.type != 0 || e.offset < base || (e.offset - base) % 4 || q >= count || e.fd_index >= v->nfds ||
		    fds[q] >= 0 || v->fds[e.fd_index] < 0)
			continue;
		/* An fd may stand for several entries; each doorbell owns one. */
		fds[q] = fcntl(v->fds[e.fd_index], F_DUPFD_CLOEXEC, 3);
		/* file status flags are shared with the server, which reads it: it must not block */
		if (fds[q] >= 0 && fcntl(fds[q], F_SETFL, fcntl(fds[q], F_GETFL) | O_NONBLOCK) < 0) {
			close(fds[q]);
			fds[q] = -1;
		}
	}
	drop_fds(v);
	return 0;
}

static void vu_ring(struct vfio *v, uint64_t offset, uint32_t value)
{
	struct { struct vu_header h; struct vu_region_rw rw; uint32_t value; uint32_t end; } m = {
		{ 0, VU_REGION_WRITE, sizeof(struct vu_header) + sizeof(struct vu_region_rw) + 4, VU_NO_REPLY, 0 },
		{ offset, VFIO_PCI_BAR0, 4 }, value, 0 };

	/* A full socket means that the server has unread doorbells already: it will look. */
	if (send(v->sock, &m, m.h.bytes, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
}

static int vu_reset(struct vfio *v)
{
	return simple(v, VU_RESET, NULL, 0, NULL, 0);
}

static int vu_poll_fd(struct vfio *v)
{
	return v->sock;
}

static int vu_event(struct vfio *v)
{
	struct pollfd p = { .fd = v->sock, .events = POLLIN };
	struct vu_header h;
	int rc;

	if (v->dead)
		return -EPIPE;
	if (poll(&p, 1, 0) <= 0)
		return 0;
	/* Between requests the server may only ask or hang up. */
	rc = receive(v, &h, ms_now() + v->reply_ms);
	if (rc < 0)
		return rc;
	return (h.flags & VU_TYPE) == VU_REPLY ? dead(v, -EPROTO) : refuse(v, &h);
}

const struct vfio_ops vfio_user_ops = {
	.prefix = "vfio-user:",
	.name = "vfio-user",
	.same_kernel = 1,
	.open = vu_open,
	.region_info = vu_region_info,
	.region_read = vu_region_read,
	.region_write = vu_region_write,
	.region_map = vu_region_map,
	.irq_set = vu_irq_set,
	.dma_map = vu_dma_map,
	.dma_unmap = vu_dma_unmap,
	.doorbell_fds = vu_doorbell_fds,
	.ring = vu_ring,
	.reset = vu_reset,
	.poll_fd = vu_poll_fd,
	.event = vu_event,
	.close = vu_close,
};
