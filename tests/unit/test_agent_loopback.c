/* SPDX-License-Identifier: MIT */
/*
 * The whole agent but main(), against a device in this process (agent_fake.h) and clients that
 * speak the bare contract (agent_raw.h): queues, quotas, malformed input, deaths, sleep.
 *
 * Sources: tests/unit/test_agent_loopback.c, all of agent without main.c, fw-protocol/vgpu_check.c -lpthread
 * Flags: -D_GNU_SOURCE -DVGPU_NO_LIBCPUID -Ifw-protocol -Iagent      Sanitizers: ASan, UBSan
 */
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "agent_raw.h"
#include "fds.h"
#include "huge_alone.h"

#include "../../agent/boot.h"
#include "../../agent/control.h"
#include "../../agent/device.h"
#include "../../agent/cpu.h"
#include "../../agent/data.h"
#include "../../agent/idle.h"
#include "../../agent/options.h"
#include "../../agent/sigbus.h"
#include "agent_fake.h"

#define SPAN(i) (VGPU_SPAN_BASE_DEFAULT + (uint64_t)(i) * 10 * VGPU_TIB)
#define HEAP(i) (VGPU_DEVICE_BASE(SPAN(i), 0) + VGPU_ARENA_BYTES)

static unsigned failed, checks;
static char path[64];
static pthread_t control;

#define CHECK(x) check(!!(x), #x, __func__, __LINE__)

static int check(int ok, const char *what, const char *fn, int line)
{
	checks++;
	if (!ok) {
		failed++;
		printf("FAIL %s:%d: %s\n", fn, line, what);
	}
	return ok;
}

/* Polls a condition for up to 3 s: the agent does things in its own time. */
/* What comes late on a busy machine comes; these limits are for what never does. */
#define LONG_MS 60000
#define SOON(x) \
	do { \
		uint64_t until_ = raw_ns() + LONG_MS * 1000000ull; \
\
		while (!(x) && raw_ns() < until_) \
			usleep(1000); \
		CHECK(x); \
	} while (0)

static uint64_t used(void)
{
	return vgpu_load_relaxed64(&agent.page->device[0].memory_used);
}

static unsigned maps(void)
{
	unsigned n;

	pthread_mutex_lock(&fake.lock);
	n = fake.maps;
	pthread_mutex_unlock(&fake.lock);
	return n;
}

/* Knobs of the device are about queues: those who have gone have given theirs back. */
static int queues_free(void)
{
	for (unsigned q = 0; q < FAKE_QUEUES; q++)
		if (__atomic_load_n(&agent.dev[0].owner[q], __ATOMIC_RELAXED))
			return 0;
	return 1;
}

static const struct vgpu_cmd nop = { .op = VGPU_OP_NOP };

static void test_hello(void)
{
	struct vgpu_msg_hello m = { .magic = VGPU_SESSION_MAGIC, .version = 99 };
	struct vgpu_msg_index ask = { .index = 0 };
	static struct vgpu_msg_device_r dev;
	static struct vgpu_msg_status_r st;
	struct vgpu_msg_hello_r a;
	struct raw r;

	/* another version is told so, in words */
	CHECK(raw_connect(&r, path) == 0 && raw_send(&r, &m, VGPU_MSG_HELLO, sizeof(m)) == 0);
	CHECK(raw_recv(&r, &a, sizeof(a), NULL, 0) == sizeof(a) && a.status == VGPU_ST_NOT_SUPPORTED && a.text[0]);
	CHECK(raw_recv(&r, &a, sizeof(a), NULL, 0) == 0);
	close(r.sock);

	/* a required feature that nobody knows */
	CHECK(raw_open(&r, path, 0, 1ull << 40) == VGPU_ST_NOT_SUPPORTED);
	raw_close(&r);
	/* spans where none may be */
	CHECK(raw_open(&r, path, 0x1000, 0) == VGPU_ST_INVALID);
	raw_close(&r);
	CHECK(raw_open(&r, path, VGPU_SPAN_BASE_DEFAULT + 4096, 0) == VGPU_ST_INVALID);
	raw_close(&r);
	CHECK(raw_open(&r, path, VGPU_SPAN_LOW - VGPU_GIB, 0) == VGPU_ST_INVALID);
	raw_close(&r);
	CHECK(raw_open(&r, path, VGPU_SPAN_LOW_TO - VGPU_SPAN_BYTES + VGPU_GIB, 0) == VGPU_ST_INVALID);
	raw_close(&r);
	CHECK(raw_open(&r, path, 0x7fffffffffffull << 12, 0) == VGPU_ST_INVALID);
	raw_close(&r);

	/* a monitor: no window, no context, but answers */
	CHECK(raw_open(&r, path, 0, 0) == 0 && r.fds[VGPU_HELLO_FD_KICK] < 0);
	CHECK(raw_send(&r, &ask, VGPU_MSG_DEVICE, sizeof(ask)) == 0);
	CHECK(raw_recv(&r, &dev, sizeof(dev), NULL, 0) == sizeof(dev) && dev.status == 0 && !strcmp(dev.info.name, "fake"));
	CHECK(!strcmp(dev.info.bus_id, "0000:e0:00.0"));
	CHECK(raw_send(&r, &ask, VGPU_MSG_STATUS, sizeof(ask)) == 0);
	CHECK(raw_recv(&r, &st, sizeof(st), NULL, 0) == sizeof(st) && st.clients == 0 && st.agent_pid == (uint32_t)getpid());
	uint32_t n;
	CHECK(raw_ctx_create(&r, 0, &n) == VGPU_ST_INVALID);
	raw_close(&r);
}

static void expect_dropped(void *msg, unsigned type, size_t bytes, int greet, const char *what)
{
	struct raw r;

	if (!greet)
		CHECK(raw_connect(&r, path) == 0);
	else
		CHECK(raw_open(&r, path, SPAN(0), 0) == 0);
	raw_send(&r, msg, type, bytes);
	if (!raw_dropped(&r, greet) && ++failed)
		printf("FAIL not dropped: %s\n", what);
	checks++;
	if (greet)
		raw_close(&r);
	else
		close(r.sock);
}

static void test_bad_messages(void)
{
	struct vgpu_msg_hello h = { .magic = 1, .version = VGPU_PROTOCOL_VERSION };
	struct vgpu_msg_index i = { .index = 0, .rsvd = 1 };
	struct vgpu_msg_ctx c = { .weight = 5000 };
	char big[256] = "";

	expect_dropped(&h, VGPU_MSG_HELLO, sizeof(h), 0, "HELLO without magic");
	expect_dropped(&h, VGPU_MSG_HELLO, sizeof(h) - 8, 0, "short HELLO");
	expect_dropped(&i, VGPU_MSG_DEVICE, sizeof(i), 0, "request before HELLO");
	expect_dropped(big, 77, 16, 0, "unknown type");
	expect_dropped(big, VGPU_MSG_DEVICE, sizeof(big), 1, "long DEVICE");
	expect_dropped(&i, VGPU_MSG_DEVICE, sizeof(i), 1, "reserved field");
	expect_dropped(&c, VGPU_MSG_CTX_CREATE, sizeof(c), 1, "weight");
	h.magic = VGPU_SESSION_MAGIC;
	expect_dropped(&h, VGPU_MSG_HELLO, sizeof(h), 1, "second HELLO");
}

static void test_queue(void)
{
	struct vgpu_cmd copy = { .op = VGPU_OP_COPY_INLINE };
	uint8_t payload[4096];
	uint64_t sum = 0, t = 0;
	struct raw r;
	uint32_t n = 9;

	SOON(queues_free());
	CHECK(raw_open(&r, path, SPAN(0), VGPU_FEATURE_ASYM_FENCE) == 0);
	CHECK(r.asym == agent.asym);
	CHECK(raw_ctx_create(&r, 0, &n) == 0 && n == 0);
	t = raw_io(&r, n, nop, NULL, 0);
	CHECK(t == 1 && raw_wait(&r, n, 0, t, LONG_MS) == 0);

	/* many laps, commands of all lengths; the device adds up every payload byte */
	copy.u.copy.dst = HEAP(0);
	for (unsigned i = 0; i < 600; i++) {
		unsigned bytes = i * 37 % 4097;

		for (unsigned b = 0; b < bytes; b++)
			sum += payload[b] = (uint8_t)(i + b);
		copy.stream = i % VGPU_MAX_STREAMS;
		copy.u.copy.bytes = bytes;
		t = raw_io(&r, n, copy, payload, bytes);
		if (!CHECK(t != 0))
			break;
	}
	CHECK(raw_wait(&r, n, 599, t, LONG_MS) == 0);
	pthread_mutex_lock(&fake.lock);
	CHECK(fake.ctx[0].sum == sum);
	pthread_mutex_unlock(&fake.lock);

	/* asleep and woken, both ways */
	for (unsigned i = 0; i < 50; i++) {
		SOON(vgpu_load_relaxed32(&r.page->need_wakeup));
		t = raw_io(&r, n, nop, NULL, 0);
		CHECK(raw_wait(&r, n, 0, t, LONG_MS) == 0);
	}
	CHECK(raw_ctx_destroy(&r, n) == 0);
	CHECK(raw_ctx_destroy(&r, n) == VGPU_ST_BAD_HANDLE);
	/* the number's next life starts from zero */
	CHECK(raw_ctx_create(&r, 0, &n) == 0 && n == 0 && r.io_tail[0] == 0);
	t = raw_io(&r, n, nop, NULL, 0);
	CHECK(t == 1 && raw_wait(&r, n, 0, t, LONG_MS) == 0);
	raw_close(&r);
}

static void test_control(void)
{
	uint64_t v[5];
	struct raw r;
	uint32_t n;

	SOON(queues_free());
	CHECK(raw_open(&r, path, SPAN(0), 0) == 0);
	CHECK(raw_ctl(&r, VGPU_OP_AGENT_PING, 0, 0, 0, 0, 0, v) == 0);
	CHECK(raw_ctl(&r, VGPU_OP_PING, 3, 0, 0, 0, 0, v) == VGPU_ST_BAD_HANDLE);
	CHECK(raw_ctx_create(&r, 0, &n) == 0);
	for (unsigned i = 0; i < 300; i++)
		CHECK(raw_ctl(&r, VGPU_OP_PING, n, 0, 0, 0, 0, v) == 0 && v[0] == 4711);
	/* accounting: charged when asked, given back when freed */
	CHECK(raw_ctl(&r, VGPU_OP_MEM_ALLOC, n, 0, HEAP(0), 1 << 20, 0, v) == 0 && used() == 1 << 20);
	CHECK(raw_ctl(&r, VGPU_OP_PHYS_ALLOC, n, 0, 0, 2 << 20, 0, v) == 0 && used() == 3 << 20);
	CHECK(raw_ctl(&r, VGPU_OP_MEM_ALLOC, n, 0, HEAP(0), FAKE_MEMORY, 0, v) == VGPU_ST_OUT_OF_MEMORY);
	CHECK(raw_ctl(&r, VGPU_OP_MEM_FREE, n, 0, HEAP(0), 1 << 20, 0, v) == 0 && used() == 2 << 20);
	/* a device that agrees to a free too many cannot make the account negative */
	CHECK(raw_ctl(&r, VGPU_OP_MEM_FREE, n, 0, HEAP(0), 64 << 20, 0, v) == 0 && used() == 0);
	/* a status that does not exist */
	FAKE_SET(lie_status, 1);
	CHECK(raw_ctl(&r, VGPU_OP_MEM_ALLOC, n, 0, HEAP(0), 4096, 0, v) == VGPU_ST_INTERNAL && used() == 0);
	FAKE_SET(lie_status, 0);
	CHECK(raw_ctl(&r, VGPU_OP_MEM_ALLOC, n, 0, HEAP(0), 8192, 0, v) == 0 && used() == 8192);
	CHECK(raw_ctx_destroy(&r, n) == 0);
	CHECK(used() == 0);
	CHECK(raw_ctl(&r, VGPU_OP_PING, n, 0, 0, 0, 0, v) == VGPU_ST_CONTEXT_DEAD);
	/* malformed: the client goes */
	raw_ctl_ms = 500;
	CHECK(raw_ctl(&r, VGPU_OP_MEM_ALLOC, n, 0, 4096, 4096, 0, v) == -ETIMEDOUT || 1);
	raw_ctl_ms = LONG_MS;
	CHECK(raw_dropped(&r, 1));
	raw_close(&r);
}

/* One bad slot kills that context only; what it is, the client reads in words. */
static void test_bad_commands(void)
{
	struct raw r;

	SOON(queues_free());
	CHECK(raw_open(&r, path, SPAN(0), 0) == 0);
	for (unsigned kind = 0; kind < 8; kind++) {
		struct vgpu_cmd c = nop;
		struct vgpu_cmd *s;
		uint32_t good = 0, bad = 0;
		uint64_t t;

		CHECK(raw_ctx_create(&r, 0, &good) == 0 && raw_ctx_create(&r, 0, &bad) == 0);
		t = raw_io(&r, bad, nop, NULL, 0);
		CHECK(raw_wait(&r, bad, 0, t, LONG_MS) == 0);
		c.ticket = 2;
		c.slots = 1;
		switch (kind) {
		case 0: c.op = 200; break;
		case 1: c.op = VGPU_OP_PING; break;             /* of the other queue */
		case 2: c.ticket = 3; break;
		case 3: c.slots = 75; break;
		case 4: c.stream = VGPU_MAX_STREAMS; break;
		case 5: c.flags = 0x80; break;
		case 6: c.op = VGPU_OP_COPY; c.u.copy.dst = 4096; c.u.copy.bytes = 8; break;
		case 7: c.op = VGPU_OP_COPY_INLINE; c.slots = 2; c.u.copy.dst = HEAP(0); c.u.copy.bytes = 8; break; /* payload without seq */
		}
		s = &raw_ioq(&r, bad, 1)->cmd;
		memcpy((char *)s + 4, (char *)&c + 4, 60);
		vgpu_slot_publish((union vgpu_slot *)s, 1);
		raw_kick(&r);
		CHECK(raw_wait(&r, bad, 5, 2, LONG_MS) == VGPU_ST_PROTOCOL);
		CHECK(raw_head(&r, bad)->error == VGPU_ST_PROTOCOL && raw_head(&r, bad)->report_bytes > 10);
		t = raw_io(&r, good, nop, NULL, 0);
		CHECK(raw_wait(&r, good, 0, t, LONG_MS) == 0);
		CHECK(raw_ctx_destroy(&r, bad) == 0 && raw_ctx_destroy(&r, good) == 0);
	}
	raw_close(&r);
}

/* A device that takes nothing: the client's queue stalls, nobody else's does. */
static void test_stall(void)
{
	struct raw a, b;
	uint32_t na, nb;
	uint64_t t = 0, tb;

	SOON(queues_free());
	CHECK(raw_open(&a, path, SPAN(0), 0) == 0 && raw_ctx_create(&a, 0, &na) == 0);
	CHECK(raw_open(&b, path, SPAN(1), 0) == 0 && raw_ctx_create(&b, 0, &nb) == 0);
	FAKE_SET(hold, 1);
	for (unsigned i = 0; i < 2 * VGPU_IOQ_SLOTS; i++)
		t = raw_io(&a, na, nop, NULL, 0);
	SOON(vgpu_load_relaxed64(&raw_head(&a, na)->io_head) == VGPU_DEV_IO_SLOTS);
	for (unsigned i = 0; i < 20; i++) {
		tb = raw_io(&b, nb, nop, NULL, 0);
		CHECK(raw_wait(&b, nb, 0, tb, LONG_MS) == 0);
	}
	CHECK(vgpu_load_relaxed64(&raw_head(&a, na)->io_head) == VGPU_DEV_IO_SLOTS);
	FAKE_SET(hold, 0);
	CHECK(raw_wait(&a, na, 0, t, LONG_MS) == 0);
	/* a device that claims more than it was given */
	FAKE_SET(lie_head, 1);
	for (unsigned i = 0; i < 2 * VGPU_IOQ_SLOTS && !raw_head(&a, na)->error; i++)
		if (!raw_io(&a, na, nop, NULL, 0))
			break;
	CHECK(raw_wait(&a, na, 0, ~0ull, LONG_MS) == VGPU_ST_INTERNAL);
	FAKE_SET(lie_head, 0);
	tb = raw_io(&b, nb, nop, NULL, 0);
	CHECK(raw_wait(&b, nb, 0, tb, LONG_MS) == 0);
	raw_close(&a);
	raw_close(&b);
}

static void test_limits(void)
{
	struct vgpu_msg_grow m = { .bytes = 3 << 20 };
	struct vgpu_msg_grow_r g;
	struct raw r[6];
	uint32_t n;
	int rc = 0, fd = -1;

	SOON(queues_free());
	CHECK(raw_open(&r[0], path, SPAN(0), 0) == 0);
	for (unsigned i = 0; i < VGPU_MAX_CONTEXTS; i++)
		CHECK(raw_ctx_create(&r[0], 0, &n) == 0 && n == i);
	CHECK(raw_ctx_create(&r[0], 0, &n) == VGPU_ST_LIMIT);
	CHECK(raw_ctx_create(&r[0], 5, &n) == VGPU_ST_INVALID);
	FAKE_SET(fail_create, VGPU_ST_OUT_OF_MEMORY);
	CHECK(raw_ctx_destroy(&r[0], 4) == 0 && raw_ctx_create(&r[0], 0, &n) == VGPU_ST_OUT_OF_MEMORY);
	FAKE_SET(fail_create, 0);
	CHECK(raw_ctx_create(&r[0], 0, &n) == 0 && n == 4);

	/* the window: rounded up, without gaps, seen by all contexts, up to the quota (96 MiB here) */
	CHECK(raw_send(&r[0], &m, VGPU_MSG_WINDOW_GROW, sizeof(m)) == 0);
	CHECK(raw_recv(&r[0], &g, sizeof(g), &fd, 1) == sizeof(g) && g.status == 0 && fd >= 0);
	CHECK(g.offset == VGPU_SEG0_BYTES && g.bytes == 4 << 20);
	CHECK(ftruncate(fd, 0) < 0 && ftruncate(fd, 64 << 20) < 0);     /* sealed */
	close(fd);
	pthread_mutex_lock(&fake.lock);
	CHECK(fake.ctx[0].segments == 1 && fake.ctx[7].segments == 1);
	pthread_mutex_unlock(&fake.lock);
	m.bytes = 66 << 20;             /* committed in slices */
	raw_send(&r[0], &m, VGPU_MSG_WINDOW_GROW, sizeof(m));
	CHECK(raw_recv(&r[0], &g, sizeof(g), &fd, 1) == sizeof(g) && g.status == 0 && fd >= 0);
	CHECK(g.offset == 8 << 20 && g.bytes == 66 << 20);
	close(fd);
	m.bytes = 26 << 20;
	raw_send(&r[0], &m, VGPU_MSG_WINDOW_GROW, sizeof(m));
	CHECK(raw_recv(&r[0], &g, sizeof(g), NULL, 0) == sizeof(g) && g.status == VGPU_ST_OUT_OF_MEMORY);
	m.bytes = ~0ull - 5;
	raw_send(&r[0], &m, VGPU_MSG_WINDOW_GROW, sizeof(m));
	CHECK(raw_recv(&r[0], &g, sizeof(g), NULL, 0) == sizeof(g) && g.status == VGPU_ST_OUT_OF_MEMORY);
	m.bytes = 0;
	raw_send(&r[0], &m, VGPU_MSG_WINDOW_GROW, sizeof(m));
	CHECK(raw_recv(&r[0], &g, sizeof(g), NULL, 0) == sizeof(g) && g.status == VGPU_ST_INVALID);
	/* a context born later gets the segments that are there already */
	CHECK(raw_ctx_destroy(&r[0], 0) == 0 && raw_ctx_create(&r[0], 0, &n) == 0 && n == 0);
	pthread_mutex_lock(&fake.lock);
	CHECK(fake.ctx[0].segments == 2);
	pthread_mutex_unlock(&fake.lock);

	/* 74 MiB are taken of 110 for all: the next one is refused although its own quota allows it */
	CHECK(raw_open(&r[1], path, SPAN(1), 0) == 0);
	m.bytes = 40 << 20;
	raw_send(&r[1], &m, VGPU_MSG_WINDOW_GROW, sizeof(m));
	CHECK(raw_recv(&r[1], &g, sizeof(g), NULL, 0) == sizeof(g) && g.status == VGPU_ST_OUT_OF_MEMORY);
	/* one user gets 14 of the 16 queues, however many processes he has */
	for (unsigned i = 0; i < VGPU_MAX_CONTEXTS; i++)
		CHECK(raw_ctx_create(&r[1], 0, &n) == (i < 6 ? 0 : VGPU_ST_LIMIT));
	raw_close(&r[1]);
	SOON(maps() == 1 + 8 + 3);

	/* clients: 4 of this user here; who only looks does not count */
	for (unsigned i = 1; i < 6; i++) {
		struct raw look;

		rc = raw_open(&r[i], path, SPAN(i), 0);
		CHECK(rc == (i < 4 ? 0 : VGPU_ST_LIMIT));
		CHECK(raw_open(&look, path, 0, 0) == 0);
		raw_close(&look);
	}
	for (unsigned i = 0; i < 6; i++)
		raw_close(&r[i]);
}

#include "agent_tenants.h"

#include "agent_share.h"

static void test_deaths(void)
{
	struct raw r;
	uint32_t a, b;
	uint64_t t, rings, v[5];

	SOON(queues_free());
	CHECK(raw_open(&r, path, SPAN(0), 0) == 0);
	CHECK(raw_ctx_create(&r, 0, &a) == 0 && raw_ctx_create(&r, 0, &b) == 0);
	CHECK(raw_ctl(&r, VGPU_OP_MEM_ALLOC, a, 0, HEAP(0), 4096, 0, v) == 0 && used() == 4096);
	/* a context's process dies: whoever sleeps on it wakes with an error, its memory is free */
	FAKE_SET(hold, 1);
	t = raw_io(&r, a, nop, NULL, 0);
	FAKE_SET(die, 1);
	CHECK(raw_wait(&r, a, 0, t, LONG_MS) == VGPU_ST_CONTEXT_DEAD);
	SOON(used() == 0);
	FAKE_SET(hold, 0);
	CHECK(raw_ctl(&r, VGPU_OP_PING, a, 0, 0, 0, 0, v) == VGPU_ST_CONTEXT_DEAD);
	t = raw_io(&r, b, nop, NULL, 0);
	CHECK(raw_wait(&r, b, 0, t, LONG_MS) == 0);
	/* many admin commands between two deaths: the event is posted anew in time */
	for (unsigned i = 0; i < 70; i++) {
		uint32_t c = 0;

		CHECK(raw_ctx_create(&r, 0, &c) == 0 && raw_ctx_destroy(&r, c) == 0);
	}
	FAKE_SET(die, 2);
	CHECK(raw_wait(&r, b, 0, ~0ull, LONG_MS) == VGPU_ST_CONTEXT_DEAD);
	CHECK(raw_ctx_destroy(&r, a) == 0 && raw_ctx_destroy(&r, b) == 0);

	/* the device dies, and comes back */
	CHECK(raw_ctx_create(&r, 0, &a) == 0);
	fake_kill();
	CHECK(raw_wait(&r, a, 0, ~0ull, LONG_MS) == VGPU_ST_DEVICE_LOST);
	SOON(vgpu_load_relaxed32(&r.page->device[0].state) == 0);
	CHECK(raw_ctx_create(&r, 0, &b) == VGPU_ST_DEVICE_LOST);
	FAKE_SET(no_doorbell_fds, 1);
	FAKE_SET(dead, 0);
	SOON(vgpu_load_relaxed32(&r.page->device[0].state) == 1);
	CHECK(raw_ctx_destroy(&r, a) == 0 && raw_ctx_create(&r, 0, &a) == 0);
	t = raw_io(&r, a, nop, NULL, 0);
	CHECK(raw_wait(&r, a, 0, t, LONG_MS) == 0);

	/* its doorbells are mapped the next time, and fault: rung all the same, and unmapped at its end */
	fake_kill();
	SOON(vgpu_load_relaxed32(&r.page->device[0].state) == 0);
	FAKE_SET(lost_page, 1);
	FAKE_SET(dead, 0);
	rings = __atomic_load_n(&fake.rings, __ATOMIC_RELAXED);
	SOON(vgpu_load_relaxed32(&r.page->device[0].state) == 1);
	CHECK(vgpu_load_relaxed32(&agent.dev[0].doorbells_gone));
	CHECK(__atomic_load_n(&fake.rings, __ATOMIC_RELAXED) > rings);
	CHECK(raw_ctx_destroy(&r, a) == 0 && raw_ctx_create(&r, 0, &a) == 0);
	t = raw_io(&r, a, nop, NULL, 0);
	CHECK(raw_wait(&r, a, 0, t, LONG_MS) == 0);
	fake_kill();
	SOON(vgpu_load_relaxed32(&r.page->device[0].state) == 0);
	FAKE_SET(lost_page, 0);
	FAKE_SET(dead, 0);
	SOON(vgpu_load_relaxed32(&r.page->device[0].state) == 1);
	CHECK(!vgpu_load_relaxed32(&agent.dev[0].doorbells_gone));
	raw_close(&r);
}

/* What the agent asked for in this queue */
static struct vgpu_ctx_create created(unsigned q)
{
	struct vgpu_ctx_create create;

	pthread_mutex_lock(&fake.lock);
	create = fake.ctx[q].create;
	pthread_mutex_unlock(&fake.lock);
	return create;
}

static int device_asym(void)
{
	int asym;

	pthread_mutex_lock(&fake.lock);
	asym = !!(fake.cc & VGPU_CC_ASYM_FENCE);
	pthread_mutex_unlock(&fake.lock);
	return asym;
}

/* The device is told how each client fences, and fences for all when it cannot be told. */
static void test_fences(void)
{
	struct raw a, b;
	uint32_t n;

	SOON(queues_free());
	CHECK(raw_open(&a, path, SPAN(0), VGPU_FEATURE_ASYM_FENCE) == 0 && a.asym == agent.asym);
	CHECK(raw_open(&b, path, SPAN(1), 0) == 0 && !b.asym);
	CHECK(raw_ctx_create(&a, 0, &n) == 0 && created(0).flags == ((agent.asym ? VGPU_CTX_CLIENT_ASYM : 0) | VGPU_CTX_TENANT));
	CHECK(raw_ctx_create(&b, 0, &n) == 0 && created(1).flags == VGPU_CTX_TENANT);
	/* two clients of one user, whom the device hears of as one */
	CHECK(created(0).user && created(0).user == created(1).user);
	CHECK(device_asym() == !!agent.asym);
	CHECK(raw_ctx_destroy(&a, 0) == 0 && raw_ctx_destroy(&b, 0) == 0);

	/* an older device */
	FAKE_SET(old_cap, 1);
	fake_kill();
	SOON(vgpu_load_relaxed32(&a.page->device[0].state) == 0);
	FAKE_SET(dead, 0);
	SOON(vgpu_load_relaxed32(&a.page->device[0].state) == 1);
	CHECK(!device_asym());
	CHECK(raw_ctx_create(&a, 0, &n) == 0 && created(0).flags == 0 && created(0).user == 0);
	FAKE_SET(old_cap, 0);
	raw_close(&a);
	raw_close(&b);
}

/* An admin command that is never answered costs its context; only a device that ends none either is lost. */
static void test_silence(void)
{
	struct vgpu_msg_ctx end = { 0 };
	struct vgpu_msg_status ended;
	struct vgpu_msg_grow m = { .bytes = 2 << 20 };
	struct vgpu_msg_grow_r g;
	struct raw a, b;
	uint32_t na, nb = 0;
	uint64_t t;
	int fd = -1;

	SOON(queues_free());
	CHECK(raw_open(&a, path, SPAN(0), 0) == 0 && raw_open(&b, path, SPAN(1), 0) == 0);
	CHECK(raw_ctx_create(&a, 0, &na) == 0 && raw_ctx_create(&b, 0, &nb) == 0);
	FAKE_SET(silent, VGPU_ADMIN_SEGMENT);
	raw_send(&a, &m, VGPU_MSG_WINDOW_GROW, sizeof(m));
	CHECK(raw_recv(&a, &g, sizeof(g), &fd, 1) == sizeof(g) && g.status == 0);
	close(fd);
	CHECK(raw_wait(&a, na, 0, ~0ull, LONG_MS) == VGPU_ST_CONTEXT_DEAD);
	CHECK(vgpu_load_relaxed32(&a.page->device[0].state) == 1);
	t = raw_io(&b, nb, nop, NULL, 0);
	CHECK(raw_wait(&b, nb, 0, t, LONG_MS) == 0);
	/* a context that is born now needs that segment too */
	CHECK(raw_ctx_destroy(&a, na) == 0 && raw_ctx_create(&a, 0, &na) == VGPU_ST_CONTEXT_DEAD);
	FAKE_SET(silent, VGPU_ADMIN_CTX_CREATE);
	CHECK(raw_ctx_create(&a, 0, &na) == VGPU_ST_CONTEXT_DEAD);
	FAKE_SET(silent, 0);
	CHECK(raw_ctx_create(&a, 0, &na) == 0);
	t = raw_io(&a, na, nop, NULL, 0);
	CHECK(raw_wait(&a, na, 0, t, LONG_MS) == 0);
	t = raw_io(&b, nb, nop, NULL, 0);
	CHECK(raw_wait(&b, nb, 0, t, LONG_MS) == 0);

	/* an end may take long: as long as the device answers anything it is waited for */
	FAKE_SET(ends, 1);
	admin_ms = 2000;
	end.context = na;
	raw_send(&a, &end, VGPU_MSG_CTX_DESTROY, sizeof(end));
	for (unsigned i = 0; i < 18; i++) {
		usleep(250000);
		t = raw_io(&b, nb, nop, NULL, 0);
		CHECK(raw_wait(&b, nb, 0, t, LONG_MS) == 0 && vgpu_load_relaxed32(&a.page->device[0].state) == 1);
	}
	admin_ms = 3000;
	CHECK(!queues_free());
	FAKE_SET(ends, 0);
	CHECK(raw_recv(&a, &ended, sizeof(ended), NULL, 0) == sizeof(ended) && ended.status == 0);
	CHECK(raw_ctx_create(&a, 0, &na) == 0);

	FAKE_SET(deaf, 1);
	CHECK(raw_ctx_destroy(&a, na) == 0);
	SOON(vgpu_load_relaxed32(&a.page->device[0].state) == 0);
	CHECK(raw_wait(&b, nb, 0, ~0ull, LONG_MS) == VGPU_ST_DEVICE_LOST);
	FAKE_SET(deaf, 0);
	SOON(vgpu_load_relaxed32(&a.page->device[0].state) == 1);
	raw_close(&a);
	raw_close(&b);

	/* what was given up and never came keeps its place, and no other is lost by that; a device that leaves many is */
	CHECK(raw_open(&a, path, SPAN(0), 0) == 0);
	admin_ms = 1000;        /* a busy machine's device answers what comes between in that time */
	for (unsigned i = 0; i < 40 && vgpu_load_relaxed32(&a.page->device[0].state); i++) {
		FAKE_SET(silent, VGPU_ADMIN_CTX_CREATE);
		CHECK(raw_ctx_create(&a, 0, &na) == (i <= 16 ? VGPU_ST_CONTEXT_DEAD : VGPU_ST_DEVICE_LOST) || i == 16);
		FAKE_SET(silent, 0);
		admin_ms = 3000;
		for (unsigned k = 0; k < 20 && i < 3; k++)
			CHECK(raw_ctx_create(&a, 0, &na) == 0 && raw_ctx_destroy(&a, na) == 0);
		admin_ms = 1000;
	}
	admin_ms = 3000;
	SOON(vgpu_load_relaxed32(&a.page->device[0].state) == 0);
	SOON(vgpu_load_relaxed32(&a.page->device[0].state) == 1);
	CHECK(raw_ctx_create(&a, 0, &na) == 0);
	t = raw_io(&a, na, nop, NULL, 0);
	CHECK(raw_wait(&a, na, 0, t, LONG_MS) == 0);
	raw_close(&a);
}

/* A page of the client's memory cannot be had: zeroes come, and the client is marked. */
static void test_sigbus(void)
{
	int fd = (int)syscall(SYS_memfd_create, "short", 1u);
	volatile uint8_t *w = sigbus_window(AGENT_CLIENTS - 1);

	CHECK(ftruncate(fd, 4096) == 0);
	CHECK(mmap((void *)(uintptr_t)w, VGPU_SEG0_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED);
	w[0] = 7;
	CHECK(!agent.client[AGENT_CLIENTS - 1].poisoned);
	CHECK(w[1 << 20] == 0);
	CHECK(agent.client[AGENT_CLIENTS - 1].poisoned && w[0] == 0);
	agent.client[AGENT_CLIENTS - 1].poisoned = 0;
	sigbus_release(AGENT_CLIENTS - 1);
	close(fd);
}

static long hugepages(long set)
{
	static const char nr[] = "/proc/sys/vm/nr_hugepages";
	FILE *f = fopen(nr, set < 0 ? "r" : "w");
	long n = -1;

	if (f && set >= 0)
		fprintf(f, "%ld\n", set);
	else if (f && fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

/*
 * For real: a client punches its window away and takes every huge page there is. The agent's next look
 * faults without a page to be had; that client goes, the other one notices nothing.
 */
static void test_drained(void)
{
	long before;
	struct raw a, b;
	struct statfs fs;
	uint64_t one = 1, t, at = 0;
	uint32_t na = 0, nb = 0;
	int hoard, alone = huge_alone();

	before = hugepages(-1);
	if (geteuid() == 0 && before >= 0)
		hugepages(before + 64);
	if (geteuid() != 0 || before < 0 || hugepages(-1) < before + 64) {
		printf("SKIP a drained window: no huge pages can be reserved (not root, or no contiguous memory)\n");
		goto restore;
	}
	pool_init(1, 0);
	CHECK(raw_open(&a, path, SPAN(0), 0) == 0 && raw_ctx_create(&a, 0, &na) == 0);
	CHECK(raw_open(&b, path, SPAN(1), 0) == 0 && raw_ctx_create(&b, 0, &nb) == 0);
	t = raw_io(&b, nb, nop, NULL, 0);
	CHECK(raw_wait(&b, nb, 0, t, LONG_MS) == 0);
	hoard = (int)syscall(SYS_memfd_create, "hoard", 5u | 21u << 26);       /* CLOEXEC, HUGETLB, 2 MiB */
	CHECK(fstatfs(a.fds[VGPU_HELLO_FD_SEG0], &fs) == 0 && fs.f_type == 0x958458f6);        /* HUGETLBFS_MAGIC */
	CHECK(ftruncate(hoard, 8ll << 30) == 0);
	/* The agent may look between hole and hoard, and so get its pages back: then once more. */
	for (unsigned i = 0; i < 50 && poll(&(struct pollfd){ .fd = a.sock, .events = POLLIN }, 1, 50) == 0; i++) {
		SOON(vgpu_load_relaxed32(&b.page->need_wakeup));
		CHECK(fallocate(a.fds[VGPU_HELLO_FD_SEG0], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, VGPU_SEG0_BYTES) == 0);
		while (fallocate(hoard, 0, (off_t)at, 2 << 20) == 0)
			at += 2 << 20;
		CHECK(write(a.fds[VGPU_HELLO_FD_KICK], &one, 8) == 8);
	}
	CHECK(raw_dropped(&a, 1));
	for (unsigned i = 0; i < 20; i++) {
		t = raw_io(&b, nb, nop, NULL, 0);
		CHECK(raw_wait(&b, nb, 0, t, LONG_MS) == 0);
	}
	close(hoard);
	raw_close(&a);
	raw_close(&b);
	pool_init(0, 0);
restore:
	if (geteuid() == 0 && before >= 0)
		hugepages(before);
	huge_shared(alone);
}

static void *control_thread(void *unused)
{
	(void)unused;
	control_run();
	return NULL;
}

int main(void)
{
	uint64_t one = 1;
	unsigned fds;

	fake_options(path, sizeof(path), "loopback");
	agent.opt.uid_clients = 4;
	log_level = getenv("VERBOSE") ? LOG_DEBUG : LOG_ERROR;
	admin_ms = 1000;
	raw_ctl_ms = LONG_MS;
	fake_start();
	cpu_init();
	ticks_init();
	agent.cores = 2;
	agent.cpu = -1;
	if (boot_memory() < 0 || boot_identity() < 0 || control_init() < 0 || data_start() < 0 || boot_devices() < 0 ||
	    control_listen() < 0) {
		printf("FAIL the agent does not start\n");
		return 1;
	}
	pthread_create(&control, NULL, control_thread, NULL);

	test_hello();
	test_bad_messages();
	test_queue();           /* warm: first fds of lazily opened things */
	SOON(maps() == 1);
	usleep(50000);          /* the last client's fds go right after its memory */
	fds = open_fds();
	test_queue();
	test_control();
	test_bad_commands();
	test_stall();
	test_limits();
	test_windows_come_back();
	test_shares();
	test_box();
	test_mute();
	test_slow_start();
	test_names();
	test_sigbus();
	test_drained();
	SOON(open_fds() == fds);
	test_deaths();
	test_fences();
	admin_ms = 3000;        /* between two of its silences the device must be heard, on a busy machine too */
	test_silence();
	admin_ms = 1000;
	test_share();           /* the last: this process lives, so what it shared counts for ever */
	SOON(used() == 0);
	SOON(maps() == 1);              /* the admin area */

	vgpu_store_relaxed32(&agent.stop, 1);
	CHECK(write(agent.wake_c, &one, 8) == 8);
	pthread_join(control, NULL);
	boot_undo();
	data_stop();
	fake_stop();
	CHECK(access(path, F_OK) < 0);
	printf("test_agent_loopback: %u checks, %u failed\n", checks, failed);
	return failed ? 1 : 0;
}
