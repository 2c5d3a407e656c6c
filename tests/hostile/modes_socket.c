/* SPDX-License-Identifier: MIT */
/* Misbehaviour on the cold path: connections, messages, descriptors, contexts, segments. */
#define _GNU_SOURCE
#include "raw.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* Every length around the real ones, every type, with and without HELLO before, with descriptors attached. */
static void garbage(void)
{
	static uint8_t msg[70000], answer[65536];
	int fds[8], null = open("/dev/null", O_RDWR), mem = memfd_create("evil", 0);

	for (int i = 0; i < 8; i++)
		fds[i] = i & 1 ? null : mem;
	for (unsigned round = 0; raw_time_left(0.3); round++) {
		struct raw r;
		int sock, greeted = round & 1;

		if (greeted) {
			if (raw_open(&r))
				continue;
			sock = r.sock;
		} else {
			sock = raw_connect();
			if (sock < 0)
				continue;
		}
		for (int i = 0; i < 20; i++) {
			uint32_t type = raw_rand() % 12, bytes;
			size_t n = raw_rand() % 3 ? raw_rand() % 200 : raw_rand() % sizeof msg;

			for (size_t k = 0; k < n; k += 4)
				memcpy(msg + k, &(uint32_t){ raw_rand() }, 4);
			memcpy(msg, &type, 4);
			/* The length field right, wrong, huge. */
			bytes = raw_rand() % 3 ? (uint32_t)n : (uint32_t)raw_evil64();
			memcpy(msg + 4, &bytes, 4);
			if (raw_send(sock, msg, n, fds, (int)(raw_rand() % 9)))
				break;
			if (raw_recv(sock, answer, sizeof answer, NULL, 0, 1) == 0)
				break;
		}
		if (greeted)
			raw_close(&r);
		else
			close(sock);
	}
	close(null);
	close(mem);
}

/* HELLOs that lie in one field each; none may be answered OK. */
static void hello(void)
{
	const struct vgpu_msg_hello good = { .h = { VGPU_MSG_HELLO, sizeof good }, .magic = VGPU_SESSION_MAGIC,
		.version = VGPU_PROTOCOL_VERSION, .span_base = VGPU_SPAN_BASE_DEFAULT, .command = "hostile" };

	for (int i = 0; i < 12; i++) {
		struct vgpu_msg_hello h = good;
		struct vgpu_msg_hello_r a;
		int fd[4], sock = raw_connect(), n;

		if (sock < 0)
			continue;
		switch (i) {
		case 0: h.magic ^= 1; break;
		case 1: h.version = 0; break;
		case 2: h.version = ~0u; break;
		case 3: h.features = 1ull << 63; break;
		case 4: h.span_base = 1; break;
		case 5: h.span_base = 4096; break;
		case 6: h.span_base = ~0ull << 12; break;
		case 7: h.span_base = 0x7ffffffff000ull; break;
		case 8: h.span_base = VGPU_SPAN_BASE_DEFAULT + 4096; break;
		case 9: h.h.bytes = 8; break;
		case 10: h.h.bytes = ~0u; break;
		case 11: h.span_base = 1ull << 63; break;
		}
		if (!raw_send(sock, &h, sizeof h, NULL, 0)) {
			n = raw_recv(sock, &a, sizeof a, fd, 4, 300);
			if (n >= 16 && a.status == VGPU_ST_OK)
				raw_breach("a lying HELLO (%d) was answered OK", i);
		}
		close(sock);
	}
	/* A name without an end, and a second HELLO on a greeted connection. */
	{
		struct vgpu_msg_hello h = good;
		struct vgpu_msg_hello_r a;
		int fd[4], sock = raw_connect();

		memset(h.command, 'A', sizeof h.command);
		for (int i = 0; i < 3 && sock >= 0; i++)
			if (raw_send(sock, &h, sizeof h, NULL, 0) || raw_recv(sock, &a, sizeof a, fd, 4, 300) <= 0)
				break;
		if (sock >= 0)
			close(sock);
	}
}

/* Requests before HELLO, and after it with numbers out of range. */
static void indexes(void)
{
	static const uint32_t evil[] = { 1, 7, 8, 99, 0x7fffffff, 0x80000000, 0xffffffff };
	uint8_t answer[8192];

	for (int greeted = 0; greeted < 2; greeted++)
		for (unsigned type = VGPU_MSG_DEVICE; type <= VGPU_MSG_STATUS + 1; type++)
			for (unsigned i = 0; i < 7 && raw_time_left(0.2); i++) {
				struct vgpu_msg_ctx q = { .h = { type, sizeof q }, .device = evil[i],
					.context = evil[i], .weight = evil[i], .place = evil[i] };
				struct raw r;
				int sock;

				q.h.bytes = type == VGPU_MSG_DEVICE || type == VGPU_MSG_STATUS ||
					type == VGPU_MSG_WINDOW_GROW ? 16 : sizeof q;
				if (greeted) {
					if (raw_open(&r))
						continue;
					sock = r.sock;
				} else if ((sock = raw_connect()) < 0) {
					continue;
				}
				if (!raw_send(sock, &q, q.h.bytes, NULL, 0))
					raw_recv(sock, answer, sizeof answer, NULL, 0, 20);
				if (greeted)
					raw_close(&r);
				else
					close(sock);
			}
}

/* Thousands of connections: held open, never speaking, and opened and dropped as fast as it goes. */
static void connections(void)
{
	static int held[4000];
	unsigned n = 0, refused = 0;
	struct rlimit lim = { 8192, 8192 };

	setrlimit(RLIMIT_NOFILE, &lim);
	while (n < 4000 && refused < 50 && raw_time_left(1.5)) {
		int fd = raw_connect();

		if (fd < 0) {
			refused++;
			raw_nap_ms(1);
		} else {
			held[n++] = fd;
		}
	}
	raw_say("%u held", n);
	raw_nap_ms(200);
	while (n)
		close(held[--n]);
	for (n = 0; n < 3000 && raw_time_left(0.5); n++) {
		int fd = raw_connect();

		if (fd >= 0)
			close(fd);
	}
	raw_say("%u opened and dropped", n);
}

/* As many clients with a window and contexts as are to be had; then all end at once. */
static void clients(void)
{
	static struct raw r[300];
	unsigned n = 0, total = 0;
	struct rlimit lim = { 8192, 8192 };

	setrlimit(RLIMIT_NOFILE, &lim);
	while (n < 300 && raw_time_left(1.5) && !raw_open(&r[n])) {
		while (raw_time_left(1.5) && total < 60 && raw_context(&r[n]) >= 0)
			total++;
		n++;
	}
	raw_say("%u clients, %u contexts", n, total);
	if (!total)
		raw_miss("no context");
	/* No goodbye: exit closes everything. */
}

/* More contexts than allowed, and as many as possible one after the other. */
static void contexts(void)
{
	struct raw r;
	unsigned n = 0, total = 0, tries = 0;

	if (raw_open(&r)) {
		raw_miss("no session");
		return;
	}
	while (n < 3 * VGPU_MAX_CONTEXTS && raw_time_left(1) && raw_context(&r) >= 0)
		n++;
	if (n > VGPU_MAX_CONTEXTS)
		raw_breach("%u contexts in one client", n);
	for (unsigned i = 0; i < 2 * VGPU_MAX_CONTEXTS; i++)
		raw_context_destroy(&r, i);
	raw_context_destroy(&r, 0);
	while (total ? raw_time_left(0.5) : tries++ < 1000) {
		int c = raw_context(&r);

		if (c < 0 && total)
			break;
		if (c < 0) {            /* those that were destroyed count until they have ended */
			usleep(10000);
			continue;
		}
		total++;
		raw_context_destroy(&r, (unsigned)c);
	}
	raw_say("%u at once, %u one after the other", n, total);
	if (!n || !total)
		raw_miss("no context");
	raw_close(&r);
}

/* Windows grown by nothing, by everything, piece by piece until refused. */
static void segments(void)
{
	static const uint64_t sizes[] = { 0, ~0ull, 1ull << 63, 1ull << 40, 1, 4096, VGPU_HUGE + 1 };
	struct vgpu_msg_grow q = { .h = { VGPU_MSG_WINDOW_GROW, sizeof q } };
	struct vgpu_msg_grow_r a;
	unsigned got = 0, asked = 0;
	struct raw r;
	int fd;

	if (raw_open(&r)) {
		raw_miss("no session");
		return;
	}
	while (asked < 3000 && raw_time_left(0.5)) {
		q.bytes = asked < 7 ? sizes[asked] : 1;
		asked++;
		if (raw_send(r.sock, &q, sizeof q, NULL, 0))
			break;
		fd = -1;
		if (raw_recv(r.sock, &a, sizeof a, &fd, 1, 1000) <= 0)
			break;
		if (a.status == VGPU_ST_OK) {
			got++;
			if (a.bytes > (1ull << 36) || fd < 0)
				raw_breach("a segment of %llu bytes, fd %d", (unsigned long long)a.bytes, fd);
		}
		if (fd >= 0)
			close(fd);
		if (a.status != VGPU_ST_OK && asked > 200)
			break;
	}
	raw_say("%u segments of %u asked", got, asked);
	raw_close(&r);
}

/*
 * Memory that the agent does not take back from a process that lives, asked for on connections that are closed at once: it stays,
 * and it is counted, so that this comes to an end.
 */
static void own_pages(void)
{
	struct vgpu_msg_grow q = { .h = { VGPU_MSG_WINDOW_OWN, sizeof q }, .bytes = VGPU_HUGE };
	static uint8_t *at[2000];
	struct vgpu_msg_grow_r a;
	unsigned got = 0;
	struct raw r;
	int fd;

	while (got < 2000) {
		/* the place of one that closes in good order is free a moment later: a refusal is one when it stays */
		int tries = 0;

		while (raw_open(&r) && ++tries < 20)
			raw_nap_ms(10);
		if (tries == 20)
			break;
		fd = -1;
		if (raw_send(r.sock, &q, sizeof q, NULL, 0) || raw_recv(r.sock, &a, sizeof a, &fd, 1, 3000) <= 0 || a.status || fd < 0) {
			raw_close(&r);
			break;
		}
		at[got] = mmap(NULL, VGPU_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
		raw_close(&r);
		if (at[got] == MAP_FAILED)
			break;
		at[got++][5] = 0x77;
	}
	for (unsigned i = 0; i < got; i++)
		if (at[i][5] != 0x77) {
			raw_breach("the bytes of segment %u of %u are gone", i, got);
			break;
		}
	raw_say("%u segments kept", got);
	if (!got)
		raw_miss("no segment");
	if (got == 2000)
		raw_breach("no end of segments that a living process keeps");
}

/* Tokens that are guessed, and a context asked to map what it may not, where it may not. */
static void tokens(void)
{
	struct vgpu_msg_grow own = { .h = { VGPU_MSG_WINDOW_OWN, sizeof own }, .bytes = VGPU_HUGE };
	struct vgpu_msg_grow share = { .h = { VGPU_MSG_SHARE, sizeof share } };
	struct vgpu_msg_grow_r g;
	struct vgpu_msg_share_r t;
	struct vgpu_msg_status st;
	struct raw r, other;
	uint64_t base;
	int n, fd = -1;

	if (raw_open(&r) || (n = raw_context(&r)) < 0) {
		raw_miss("no context");
		return;
	}
	base = VGPU_DEVICE_BASE(r.span, 0) + VGPU_ARENA_BYTES;
	if (raw_send(r.sock, &own, sizeof own, NULL, 0) || raw_recv(r.sock, &g, sizeof g, &fd, 1, 3000) <= 0 || g.status)
		raw_miss("no segment");
	if (fd >= 0)
		close(fd);
	share.bytes = g.offset + 5;
	if (raw_send(r.sock, &share, sizeof share, NULL, 0) || raw_recv(r.sock, &t, sizeof t, NULL, 0, 3000) <= 0 || t.status)
		raw_miss("no token");
	share.bytes = 0;        /* segment 0 is nobody else's */
	if (raw_send(r.sock, &share, sizeof share, NULL, 0) || raw_recv(r.sock, &st, sizeof st, NULL, 0, 3000) <= 0)
		raw_miss("no answer");
	else if (!st.status)
		raw_breach("a token of segment 0");
	if (!raw_open(&other)) {
		for (unsigned i = 0; i < 300 && raw_time_left(1); i++) {
			struct vgpu_msg_token q = { .h = { VGPU_MSG_SHARED_OPEN, sizeof q } };

			memcpy(q.token, t.token, sizeof q.token);
			for (unsigned k = 0; k < i % 4 + 1; k++)
				q.token[raw_rand() % 16] ^= (uint8_t)(1 + raw_rand() % 255);
			if (i == 299)
				memset(q.token, 0, sizeof q.token);
			fd = -1;
			if (raw_send(other.sock, &q, sizeof q, NULL, 0) || raw_recv(other.sock, &g, sizeof g, &fd, 1, 3000) <= 0)
				break;
			if ((!g.status || fd >= 0) && memcmp(q.token, t.token, sizeof q.token))
				raw_breach("a guessed token was good");
			if (fd >= 0)
				close(fd);
		}
		raw_close(&other);
	}
	for (unsigned i = 0; i < 2000 && raw_time_left(0.3); i++) {
		struct vgpu_msg_map_at q = { .h = { VGPU_MSG_MAP_AT, sizeof q }, .context = (uint32_t)n, .offset = t.offset,
					     .bytes = VGPU_PAGE, .va = base + (uint64_t)i * VGPU_HUGE };
		int good = i == 0;

		switch (i % 8) {
		case 1: q.offset = raw_evil64(); break;
		case 2: q.bytes = raw_evil64(); break;
		case 3: q.va = raw_evil64(); break;
		case 4: q.context = raw_rand(); break;
		case 5: q.va = r.span + raw_rand64() % VGPU_WINDOW_SPAN; break;
		case 6: q.va = base - VGPU_PAGE; q.bytes = 2 * VGPU_PAGE; break;
		case 7: q.offset = t.offset + t.bytes - VGPU_PAGE; q.bytes = 2 * VGPU_PAGE; break;
		}
		if (i == 8)
			q.va = base;    /* once more: something is there */
		if (raw_send(r.sock, &q, sizeof q, NULL, 0) || raw_recv(r.sock, &st, sizeof st, NULL, 0, 5000) <= 0)
			break;
		if (good && st.status)
			raw_miss("MAP_AT of good numbers was refused");
		if (!st.status && (i % 8 == 5 || i % 8 == 6 || i % 8 == 7 || i == 8))
			raw_breach("MAP_AT of %llx+%llx at %llx was done", (unsigned long long)q.offset, (unsigned long long)q.bytes,
				   (unsigned long long)q.va);
	}
	raw_close(&r);
}

/* Questions without ever reading the answers: the agent's send buffer is full, the agent is not stuck. */
static void deaf(void)
{
	struct vgpu_msg_index q = { .h = { VGPU_MSG_STATUS, sizeof q } };
	unsigned n = 0;
	struct raw r;

	if (raw_open(&r)) {
		raw_miss("no session");
		return;
	}
	while (raw_time_left(1)) {
		if (raw_send(r.sock, &q, sizeof q, NULL, 0))
			raw_nap_ms(1);
		else
			n++;
	}
	raw_say("%u questions", n);
	raw_close(&r);
}

/*
 * A TCP socket whose last close waits: there is data that its peer does not take, and SO_LINGER says how long (socket(7)). `deep`: in
 * the queue of so many local sockets, one in the other. -1: none.
 */
static int waits_when_closed(int *peer, int deep)
{
	static const char bytes[65536];
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof a;
	int listener = socket(AF_INET, SOCK_STREAM, 0), s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), two[2];

	if (bind(listener, (void *)&a, n) || listen(listener, 1) || getsockname(listener, (void *)&a, &n) ||
	    (connect(s, (void *)&a, n) && errno != EINPROGRESS) || (*peer = accept(listener, NULL, NULL)) < 0) {
		close(listener);
		close(s);
		return -1;
	}
	close(listener);
	for (int quiet = 0; quiet < 20; quiet++)
		if (send(s, bytes, sizeof bytes, MSG_NOSIGNAL) > 0)
			quiet = 0;
		else
			raw_nap_ms(2);
	setsockopt(s, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 30000 }, sizeof(struct linger));
	for (; deep && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, two) == 0; deep--) {
		if (raw_send(two[0], "x", 1, &s, 1))
			raw_say("not sent: %s", strerror(errno));
		close(s);
		close(two[0]);
		s = two[1];
	}
	return s;
}

/* Where the agent was the faster one, the last close is ours and waits: apart, until the process ends. */
static void *closes(void *s)
{
	close((int)(intptr_t)s);
	return NULL;
}

static void close_apart(int s)
{
	pthread_t t;

	if (!pthread_create(&t, NULL, closes, (void *)(intptr_t)s))
		pthread_detach(t);
}

/* Descriptors that nobody asked for, whose last close is the agent's and waits for hours. */
static void linger(void)
{
	struct vgpu_msg_hello h = { .h = { VGPU_MSG_HELLO, sizeof h }, .magic = VGPU_SESSION_MAGIC, .version = VGPU_PROTOCOL_VERSION,
				    .command = "hostile" };
	unsigned sent = 0, n = 0;
	int peer[40], kept[40];

	for (unsigned i = 0; i < 40; i++) {
		struct raw r;
		int s = waits_when_closed(&peer[i], (int)(i / 10)), sock = -1, fds[3] = { s, s, s }, gone;

		if (s < 0) {
			raw_miss("no TCP here");
			return;
		}
		if (i & 1)
			sock = raw_connect();
		else if (!raw_open(&r))
			sock = r.sock;
		else if (sent) {
			raw_breach("nobody is served while descriptor %u lingers", i);
			return;
		}
		/* as the first message, or as the second, which is still in the queue when the first is the end; before it is accepted, too */
		if (i % 4 > 1)
			(void)!raw_send(sock, &h, 7, NULL, 0);
		gone = sock >= 0 && !raw_send(sock, &h, i % 5 ? sizeof h : 9, fds, 1 + (int)(i % 3));
		sent += (unsigned)gone;
		if (gone)
			close_apart(s);
		if (gone && i % 3)
			kept[n++] = sock;
		else if (i & 1)
			close(sock);
		else if (sock >= 0)
			raw_close(&r);
	}
	/* Whoever closes them must not wait either. */
	for (unsigned i = 0; i < n; i++) {
		struct pollfd gone = { .fd = kept[i] };

		if (poll(&gone, 1, 15000) != 1) {
			raw_breach("connection %u of %u, which was dropped, stays open", i, n);
			return;
		}
	}
	raw_say("%u descriptors", sent);
	if (!sent)
		raw_miss("nothing could be sent");
	for (unsigned i = 0; i < 3; i++) {
		struct raw r;

		if (raw_open(&r)) {
			raw_breach("nobody is served while descriptors linger");
			break;
		}
		raw_close(&r);
	}
}

/* What the agent hands out must be what it says: page and window sealed, the page not writable. */
static void descriptors(void)
{
	struct raw r;
	uint64_t big = ~0ull - 1;

	if (raw_open(&r)) {
		raw_miss("no session");
		return;
	}
	if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, r.page_fd, 0) != MAP_FAILED)
		raw_breach("the agent's page can be mapped for writing");
	if (mprotect((void *)(uintptr_t)r.page, 4096, PROT_READ | PROT_WRITE) == 0)
		raw_breach("the agent's page can be made writable");
	if (pwrite(r.page_fd, &big, 8, 0) > 0)
		raw_breach("the agent's page can be written through its descriptor");
	{
		char path[64];
		int fd;

		/* A read-only descriptor of a memfd opens again through /proc with any mode its owner has. */
		snprintf(path, sizeof path, "/proc/self/fd/%d", r.page_fd);
		fd = open(path, O_RDWR);
		if (fd >= 0) {
			if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED)
				raw_breach("the agent's page opens for writing through /proc");
			close(fd);
		}
	}
	if (ftruncate(r.page_fd, 0) == 0 || ftruncate(r.seg_fd, 4096) == 0)
		raw_breach("a descriptor of the agent's can be truncated");
	if (ftruncate(r.seg_fd, 1ll << 40) == 0)
		raw_breach("the window can be grown");
	/* The kick eventfd filled up, and emptied under the agent's nose. */
	for (int i = 0; i < 1000 && raw_time_left(1); i++) {
		if (write(r.kick, &big, sizeof big) < 0)
			big = 1;
		if (i % 3 == 0 && read(r.kick, &big, sizeof big) < 0)
			big = ~0ull - 1;
	}
	raw_close(&r);
}

const struct mode socket_modes[] = {
	{ "garbage", garbage, "messages of every wrong length and type, descriptors attached" },
	{ "hello", hello, "HELLOs with one lie each" },
	{ "indexes", indexes, "requests too early and numbers out of range" },
	{ "connections", connections, "thousands of connections" },
	{ "clients", clients, "as many clients and contexts as are to be had" },
	{ "contexts", contexts, "more contexts than allowed, and one after the other" },
	{ "segments", segments, "windows grown until refused" },
	{ "tokens", tokens, "memory of others by guessed names, mapped at forbidden places" },
	{ "own-pages", own_pages, "memory kept by a process that has left" },
	{ "deaf", deaf, "questions without reading the answers" },
	{ "linger", linger, "descriptors whose last close waits for hours" },
	{ "descriptors", descriptors, "writes to what is read-only, truncation, the kick descriptor" },
	{ NULL, NULL, NULL }
};
