/* SPDX-License-Identifier: MIT */
/*
 * A device's answers, from a server that is none: the agent's vfio-user transport (vfio_user.c is included for that) attaches to it, asks
 * what it asks of a device, and reads whatever comes: other lengths, errors, requests in an answer's place, descriptors that nobody
 * asked for, or fewer, an end in the middle. Every call comes back with 0 or an error, what it answers is open and its own,
 * and at the end no descriptor is left. A server that asks without end does not keep the one who waits for its answer.
 *
 * Sources: tests/fuzz/fuzz_device.c, agent/log.c; includes agent/vfio_user.c
 *
 * Input: messages, as many for each request as it takes to come to an answer: flags (1 byte), length (2 bytes), the bytes.
 * Flags: 1 a request and no answer, 2 an error, 4 a header that is wrong (its 16 bytes come first), the number of descriptors above.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int pair[2];
static ssize_t answered(int sock, const struct msghdr *m, int flags);
static int begun(void);

#define socket(...) begun()
#define connect(...) 0
#define sendmsg(...) answered(__VA_ARGS__)
#include "../../agent/vfio_user.c"
#undef socket
#undef connect
#undef sendmsg

#include "../unit/fds.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NEED(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); abort(); } } while (0)
#define DOORBELLS 5u

static int files[8];
static uint64_t asks_until;

static int begun(void)
{
	NEED(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
	return pair[0];
}

static void give(const void *bytes, size_t n, unsigned fds)
{
	union { struct cmsghdr h; char room[CMSG_SPACE(8 * sizeof(int))]; } u;
	struct iovec io = { (void *)(uintptr_t)bytes, n };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1 };

	if (fds) {
		memset(&u, 0, sizeof(u));
		m.msg_control = u.room;
		m.msg_controllen = CMSG_SPACE(fds * sizeof(int));
		u.h.cmsg_level = SOL_SOCKET;
		u.h.cmsg_type = SCM_RIGHTS;
		u.h.cmsg_len = CMSG_LEN(fds * sizeof(int));
		memcpy(CMSG_DATA(&u.h), files, fds * sizeof(int));
	}
	if (sendmsg(pair[1], &m, MSG_NOSIGNAL | MSG_DONTWAIT) < (ssize_t)n)
		shutdown(pair[1], SHUT_WR);
}

/* What the agent sends is looked at here and goes no further; the answer is there when it looks for it. */
static ssize_t answered(int sock, const struct msghdr *m, int flags)
{
	static uint8_t message[sizeof(struct vu_header) + 2048];
	struct vu_header asked, *h = (struct vu_header *)(void *)message;
	ssize_t all = 0;

	NEED(sock == pair[0] && flags & MSG_DONTWAIT && m->msg_iovlen && m->msg_iov[0].iov_len >= sizeof(asked));
	for (size_t i = 0; i < m->msg_iovlen; i++)
		all += (ssize_t)m->msg_iov[i].iov_len;
	memcpy(&asked, m->msg_iov[0].iov_base, sizeof(asked));
	NEED(asked.bytes == (uint32_t)all);
	if (asks_until) {
		*h = (struct vu_header){ .command = VU_DMA_READ, .bytes = sizeof(*h) };
		if (ms_now() < asks_until)
			give(h, sizeof(*h), 0);
		else
			shutdown(pair[1], SHUT_WR);
		return all;
	}
	for (int more = !(asked.flags & (VU_REPLY | VU_NO_REPLY)); more;) {
		uint8_t how, n[2];
		size_t bytes;

		if (!left) {
			shutdown(pair[1], SHUT_WR);
			break;
		}
		take(&how, 1);
		take(n, 2);
		bytes = (n[0] | n[1] << 8) % 2048;
		*h = (struct vu_header){ .id = asked.id, .command = how & 1 ? VU_DMA_READ : asked.command, .bytes = (uint32_t)(sizeof(*h) + bytes),
					 .flags = (how & 1 ? 0 : VU_REPLY) | (how & 2 ? VU_ERROR : 0), .error = how & 2 ? EINVAL : 0 };
		if (how & 4)
			take(h, sizeof(*h));
		take(message + sizeof(*h), bytes);
		give(message, sizeof(*h) + bytes, how >> 5);
		/* of a length that is not there no end would come, or too late */
		if (h->bytes != sizeof(*h) + bytes)
			shutdown(pair[1], SHUT_WR);
		more = (h->flags & VU_TYPE) != VU_REPLY;
	}
	return all;
}

/* One that asks and asks, and never answers: each refusal brings the next (answered()). */
static void endless(void)
{
	struct vfio v = { .reply_ms = 100, .max_fds = 1 };
	size_t got;

	v.sock = begun();
	asks_until = ms_now() + 20000;
	NEED(request(&v, VU_RESET, NULL, 0, NULL, 0, &got) == -ETIMEDOUT && v.dead && ms_now() < asks_until);
	asks_until = 0;
	close(v.sock);
	close(pair[1]);
}

static void attached(struct vfio *v)
{
	int bells[DOORBELLS];
	uint64_t bytes;
	uint32_t word;
	unsigned n = 0;

	NEED(v->max_fds >= 1 && v->max_fds <= MAX_FDS && v->reply_ms == REPLY_MS);
	NEED(vu_region_info(v, VFIO_PCI_BAR0, &bytes) <= 0);
	NEED(vu_region_read(v, VFIO_PCI_CONFIG, 0, &word, 4) <= 0);
	NEED(vu_region_write(v, VFIO_PCI_CONFIG, 4, &word, 2) <= 0);
	NEED(vu_irq_set(v, VFIO_PCI_MSIX, 0, 3, files) <= 0);
	NEED(vu_doorbell_fds(v, 0x1000, DOORBELLS, bells) <= 0);
	for (unsigned i = 0; i < DOORBELLS; i++) {
		NEED(bells[i] == -1 || (bells[i] > 2 && fcntl(bells[i], F_GETFL) & O_NONBLOCK));
		for (unsigned k = 0; k < i; k++)
			NEED(bells[i] < 0 || bells[i] != bells[k]);
		n += bells[i] >= 0;
	}
	NEED(n <= v->nfds + DOORBELLS && v->nfds == 0);
	for (unsigned i = 0; i < DOORBELLS; i++)
		if (bells[i] >= 0)
			close(bells[i]);
	NEED(vu_dma_map(v, (iova_t){ 1 << 21 }, 1 << 21, files[0], 0, NULL) <= 0);
	NEED(vu_event(v) <= 0);
	vu_ring(v, 0x1004, 1);
	NEED(vu_dma_unmap(v, (iova_t){ 1 << 21 }, 1 << 21) <= 0);
	NEED(vu_reset(v) <= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vfio *v = NULL;
	char why[300] = "";
	static int once;
	unsigned before;

	if (!once++) {
		for (unsigned i = 0; i < 8; i++)
			files[i] = eventfd(0, EFD_CLOEXEC);
		endless();
	}
	before = open_fds();
	in = data;
	left = size;
	if (vu_open("/nowhere", &v, why, sizeof(why)) == 0) {
		attached(v);
		vu_close(v);
	} else {
		NEED(v == NULL && memchr(why, 0, sizeof(why)) && why[0]);
	}
	close(pair[1]);
	NEED(open_fds() == before);
	return 0;
}
