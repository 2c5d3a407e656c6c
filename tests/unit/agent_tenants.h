/* SPDX-License-Identifier: MIT */
/* Part of test_agent_loopback.c: one tenant beside others. Shares, memory that comes back, contexts that do not answer. */
#ifndef AGENT_TENANTS_H
#define AGENT_TENANTS_H

static uint64_t charged(void)
{
	return __atomic_load_n(&agent.window_bytes, __ATOMIC_RELAXED);
}

/*
 * Who keeps the files of his window keeps nothing: when he is gone they are empty. Only then others may
 * have the memory; who asks for it a moment too soon waits for it.
 */
static void test_windows_come_back(void)
{
	struct vgpu_msg_grow m = { .bytes = 80 << 20 };
	struct vgpu_msg_grow_r g;
	int kept[6] = { -1, -1, -1, -1, -1, -1 };
	struct stat st;
	struct raw r;
	uint32_t n;

	for (unsigned i = 0; i < 6; i += 2) {
		CHECK(raw_open(&r, path, SPAN(0), 0) == 0 && raw_ctx_create(&r, 0, &n) == 0);
		raw_send(&r, &m, VGPU_MSG_WINDOW_GROW, sizeof(m));
		CHECK(raw_recv(&r, &g, sizeof(g), &kept[i], 1) == sizeof(g) && g.status == 0);
		kept[i + 1] = dup(r.fds[VGPU_HELLO_FD_SEG0]);
		raw_close(&r);
	}
	SOON(charged() == 0);
	for (unsigned i = 0; i < 6; i++) {
		CHECK(fstat(kept[i], &st) == 0 && st.st_blocks == 0);
		close(kept[i]);
	}
}

/* A user's share, over all of his processes. */
static void test_shares(void)
{
	struct vgpu_msg_grow m = { .bytes = 20 << 20 };
	struct vgpu_msg_grow_r g;
	struct raw a, b;
	uint32_t na = 0, nb = 0;
	uint64_t v[5];
	int fd = -1;

	__atomic_store_n(&agent.opt.uid_windows, 30ull << 20, __ATOMIC_RELAXED);
	__atomic_store_n(&agent.opt.uid_memory, 64ull << 20, __ATOMIC_RELAXED);
	CHECK(raw_open(&a, path, SPAN(0), 0) == 0 && raw_ctx_create(&a, 0, &na) == 0);
	CHECK(raw_open(&b, path, SPAN(1), 0) == 0 && raw_ctx_create(&b, 0, &nb) == 0);
	raw_send(&a, &m, VGPU_MSG_WINDOW_GROW, sizeof(m));
	CHECK(raw_recv(&a, &g, sizeof(g), &fd, 1) == sizeof(g) && g.status == 0);
	close(fd);
	raw_send(&b, &m, VGPU_MSG_WINDOW_GROW, sizeof(m));
	CHECK(raw_recv(&b, &g, sizeof(g), NULL, 0) == sizeof(g) && g.status == VGPU_ST_OUT_OF_MEMORY);
	CHECK(raw_ctl(&a, VGPU_OP_MEM_ALLOC, na, 0, HEAP(0), 40 << 20, 0, v) == 0);
	CHECK(raw_ctl(&b, VGPU_OP_MEM_ALLOC, nb, 0, HEAP(1), 40 << 20, 0, v) == VGPU_ST_OUT_OF_MEMORY);
	CHECK(raw_ctl(&b, VGPU_OP_MEM_ALLOC, nb, 0, HEAP(1), 24 << 20, 0, v) == 0);
	CHECK(raw_ctx_destroy(&a, na) == 0);
	CHECK(raw_ctl(&b, VGPU_OP_MEM_ALLOC, nb, 0, HEAP(1) + (64 << 20), 40 << 20, 0, v) == 0);
	raw_close(&a);
	raw_close(&b);
	__atomic_store_n(&agent.opt.uid_windows, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&agent.opt.uid_memory, 0, __ATOMIC_RELAXED);
	SOON(charged() == 0);
}

/* Sources: cgroups(7), and what systemd, docker, podman and the kubelet name their groups. */
static void test_box(void)
{
	static const struct { const char *text, *box; } t[] = {
		{ "0::/\n", "" },
		{ "", "" },
		{ "nonsense", "" },
		{ "0::/system.slice/docker-4f5e.scope\n", "/system.slice/docker-4f5e.scope" },
		{ "0::/system.slice/docker-4f5e.scope/mine/deeper\n", "/system.slice/docker-4f5e.scope" },
		{ "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-12ab.scope/container\n", "/user.slice/user-1000.slice" },
		{ "0::/user.slice/user-1000.slice/session-3.scope\n", "/user.slice/user-1000.slice" },
		{ "0::/system.slice/ollama.service\n", "/system.slice/ollama.service" },
		{ "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod77.slice/cri-containerd-1.scope\n",
		  "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod77.slice" },
		{ "0::/kubepods/burstable/pod77/abc/def\n", "/kubepods/burstable/pod77" },
		{ "0::/docker/4f5e/child\n", "/docker/4f5e" },
		{ "0::/a/b\x1b[2J\x9b""31m\n", "/a/b?[2J?31m" },
		{ "9:name=systemd:/\n4:memory:/api/86cd/x\n0::/\n", "/api/86cd" },
		{ "12:pids:/docker/1\n1:name=systemd:/docker/2/x\n0::/\n", "/docker/2" },
	};
	char box[TENANT_BOX];

	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		tenant_box(t[i].text, box, sizeof(box));
		if (!CHECK(!strcmp(box, t[i].box)))
			printf("  %s gives %s\n", t[i].text, box);
	}
}

static unsigned mutes(void)
{
	unsigned n;

	pthread_mutex_lock(&fake.lock);
	n = fake.mutes;
	pthread_mutex_unlock(&fake.lock);
	return n;
}

/*
 * Contexts that do not answer (they compile, or are stopped) keep their own client waiting, and nobody else: while all of
 * one client's are mute another one connects, computes, grows and goes, many times round the ring of commands; and a death is told.
 */
static void test_mute(void)
{
	struct vgpu_msg_grow m = { .bytes = 2 << 20 };
	struct vgpu_msg_grow_r g;
	struct raw a, b;
	uint32_t n = 0, d = 0;
	uint64_t t;
	int fd;

	admin_ms = LONG_MS;
	CHECK(raw_open(&a, path, SPAN(0), 0) == 0);
	for (unsigned i = 0; i < 6; i++)
		CHECK(raw_ctx_create(&a, 0, &n) == 0);
	FAKE_SET(mute, 0x3f);
	raw_send(&a, &m, VGPU_MSG_WINDOW_GROW, sizeof(m));
	SOON(mutes() == 6);
	for (unsigned i = 0; i < 40; i++) {
		CHECK(raw_open(&b, path, SPAN(1), 0) == 0 && raw_ctx_create(&b, 0, &n) == 0);
		raw_send(&b, &m, VGPU_MSG_WINDOW_GROW, sizeof(m));
		fd = -1;
		CHECK(raw_recv(&b, &g, sizeof(g), &fd, 1) == sizeof(g) && g.status == 0);
		close(fd);
		t = raw_io(&b, n, nop, NULL, 0);
		CHECK(raw_wait(&b, n, 0, t, LONG_MS) == 0);
		if (i % 8 == 3) {
			CHECK(raw_ctx_create(&b, 0, &d) == 0);
			FAKE_SET(die, 8);
			CHECK(raw_wait(&b, d, 0, ~0ull, LONG_MS) == VGPU_ST_CONTEXT_DEAD);
		}
		CHECK(raw_ctx_destroy(&b, n) == 0);
		raw_close(&b);
	}
	/* and it is still what it was: nothing of the first one's was answered */
	CHECK(mutes() == 6 && poll(&(struct pollfd){ .fd = a.sock, .events = POLLIN }, 1, 0) == 0);
	FAKE_SET(mute, 0);
	fd = -1;
	CHECK(raw_recv(&a, &g, sizeof(g), &fd, 1) == sizeof(g) && g.status == 0);
	close(fd);
	for (n = 0; n < 6; n++) {
		t = raw_io(&a, n, nop, NULL, 0);
		CHECK(raw_wait(&a, n, 0, t, LONG_MS) == 0);
	}
	/* one that goes while its contexts are mute goes */
	FAKE_SET(mute, 0x3f);
	raw_send(&a, &m, VGPU_MSG_WINDOW_GROW, sizeof(m));
	SOON(mutes() == 6);
	shutdown(a.sock, SHUT_RDWR);
	FAKE_SET(mute, 0);
	raw_close(&a);
	SOON(charged() == 0);
	admin_ms = 1000;
}

/* A context that takes long to begin keeps its own client waiting, and nobody else. */
static void test_slow_start(void)
{
	struct vgpu_msg_grow m = { .bytes = 2 << 20 };
	struct vgpu_msg_ctx create = { .device = 0 };
	struct vgpu_msg_grow_r g;
	struct vgpu_msg_ctx_r made;
	struct raw a, b, c;
	uint32_t n = 0;
	uint64_t t;
	int fd;

	admin_ms = LONG_MS;
	CHECK(raw_open(&b, path, SPAN(1), 0) == 0 && raw_ctx_create(&b, 0, &n) == 0);
	CHECK(raw_open(&a, path, SPAN(0), 0) == 0);
	FAKE_SET(starts, 1);
	CHECK(raw_send(&a, &create, VGPU_MSG_CTX_CREATE, sizeof(create)) == 0);
	SOON(mutes() == 1);
	for (unsigned i = 0; i < 4; i++) {
		if (!CHECK(raw_open(&c, path, SPAN(2), 0) == 0))
			break;
		raw_close(&c);
		fd = -1;
		raw_send(&b, &m, VGPU_MSG_WINDOW_GROW, sizeof(m));
		CHECK(raw_recv(&b, &g, sizeof(g), &fd, 1) == sizeof(g) && g.status == 0);
		close(fd);
		t = raw_io(&b, n, nop, NULL, 0);
		CHECK(raw_wait(&b, n, 0, t, LONG_MS) == 0);
	}
	CHECK(raw_ctx_destroy(&b, n) == 0);
	raw_close(&b);
	CHECK(mutes() == 1 && poll(&(struct pollfd){ .fd = a.sock, .events = POLLIN }, 1, 0) == 0);
	FAKE_SET(starts, 0);
	CHECK(raw_recv(&a, &made, sizeof(made), NULL, 0) == sizeof(made) && made.status == 0);
	raw_close(&a);
	SOON(charged() == 0);
	admin_ms = 1000;
}

/* What a client calls itself is for a log and for terminals. */
static void test_names(void)
{
	struct vgpu_msg_hello m = { .magic = VGPU_SESSION_MAGIC, .version = VGPU_PROTOCOL_VERSION, .span_base = SPAN(0),
				    .command = "h\x1b[2J\x9b" "31m\n\"\\\x7f" };
	struct vgpu_msg_hello_r r;
	int fds[VGPU_HELLO_FDS];
	unsigned seen = 0;
	struct raw a;

	memset(fds, -1, sizeof(fds));
	CHECK(raw_connect(&a, path) == 0 && raw_send(&a, &m, VGPU_MSG_HELLO, sizeof(m)) == 0);
	CHECK(raw_recv(&a, &r, sizeof(r), fds, VGPU_HELLO_FDS) == sizeof(r) && r.status == 0);
	for (const struct client *c = NULL; (c = client_after(c));) {
		const char *name = c->command;

		if (!c->window || *name != 'h')
			continue;
		seen++;
		for (; *name; name++)
			CHECK(*name >= ' ' && *name <= '~' && *name != '"' && *name != '\\');
	}
	CHECK(seen == 1);
	for (int i = 0; i < VGPU_HELLO_FDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	close(a.sock);
	SOON(charged() == 0);
}

#endif
