/* SPDX-License-Identifier: MIT */
/* Included by test_agent_loopback.c: memory that clients share, from the agent's side. */
static uint32_t share_grow(struct raw *r, unsigned type, void *m, size_t bytes, struct vgpu_msg_grow_r *g, int *fd)
{
	*fd = -1;
	if (raw_send(r, m, type, bytes) || raw_recv(r, g, sizeof(*g), fd, 1) != sizeof(*g))
		return ~0u;
	return g->status;
}

static uint32_t share_map_at(struct raw *r, uint32_t context, uint64_t offset, uint64_t bytes, uint64_t va)
{
	struct vgpu_msg_map_at m = { .context = context, .offset = offset, .bytes = bytes, .va = va };
	struct vgpu_msg_status st;

	if (raw_send(r, &m, VGPU_MSG_MAP_AT, sizeof(m)) || raw_recv(r, &st, sizeof(st), NULL, 0) != sizeof(st))
		return ~0u;
	return st.status;
}

static void test_share(void)
{
	struct vgpu_msg_grow own = { .bytes = 3 << 20 }, ask = { .bytes = 0 };
	struct vgpu_msg_token open = { .token = { 0 } };
	struct vgpu_msg_share_r t;
	struct vgpu_msg_grow_r g, g2;
	struct raw a, b;
	uint64_t had = maps();
	uint32_t na, nb = 0, st;
	uint8_t *p, *q;
	int fd, fd2;

	CHECK(raw_open(&a, path, SPAN(0), 0) == 0 && raw_open(&b, path, SPAN(1), 0) == 0);
	CHECK(raw_ctx_create(&a, 0, &na) == 0 && raw_ctx_create(&b, 0, &nb) == 0);
	/* a's own: sealed, not a page in it */
	CHECK(share_grow(&a, VGPU_MSG_WINDOW_OWN, &own, sizeof(own), &g, &fd) == 0 && fd >= 0 && g.bytes == 4 << 20);
	CHECK(ftruncate(fd, 0) < 0);
	p = mmap(NULL, g.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	p[0] = 42;
	/* a name only for such a segment, the same each time */
	CHECK(raw_send(&a, &ask, VGPU_MSG_SHARE, sizeof(ask)) == 0 && raw_recv(&a, &t, sizeof(t), NULL, 0) == sizeof(t));
	CHECK(t.status == VGPU_ST_NOT_FOUND);
	CHECK(share_grow(&b, VGPU_MSG_SHARED_OPEN, &open, sizeof(open), &g2, &fd2) == VGPU_ST_NOT_FOUND && fd2 < 0);
	ask.bytes = g.offset + 4097;
	CHECK(raw_send(&a, &ask, VGPU_MSG_SHARE, sizeof(ask)) == 0 && raw_recv(&a, &t, sizeof(t), NULL, 0) == sizeof(t));
	CHECK(t.status == 0 && t.offset == g.offset && t.bytes == g.bytes);
	memcpy(open.token, t.token, sizeof(open.token));
	open.token[3] ^= 1;
	CHECK(share_grow(&b, VGPU_MSG_SHARED_OPEN, &open, sizeof(open), &g2, &fd2) == VGPU_ST_NOT_FOUND);
	open.token[3] ^= 1;
	CHECK(share_grow(&b, VGPU_MSG_SHARED_OPEN, &open, sizeof(open), &g2, &fd2) == 0 && fd2 >= 0 && g2.bytes == g.bytes);
	q = mmap(NULL, g2.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd2, 0);
	CHECK(q != MAP_FAILED && q[0] == 42);
	/* MAP_AT: of that segment, into the client's part of the device's span, of a context that lives */
	CHECK(share_map_at(&a, na, g.offset, 4096, HEAP(0)) == 0);
	CHECK(share_map_at(&a, na, g.offset + g.bytes - 4096, 8192, HEAP(0)) == VGPU_ST_INVALID);
	CHECK(share_map_at(&a, na, 0, 4096, HEAP(0)) == VGPU_ST_INVALID);
	CHECK(share_map_at(&a, na, g.offset, 4096, HEAP(0) - VGPU_ARENA_BYTES) == VGPU_ST_INVALID);
	CHECK(share_map_at(&a, na, g.offset, 4096, SPAN(0)) == VGPU_ST_INVALID);
	CHECK(share_map_at(&a, na, g.offset + 1, 4096, HEAP(0)) == VGPU_ST_INVALID);
	CHECK(share_map_at(&a, na, g.offset, 0, HEAP(0)) == VGPU_ST_INVALID);
	CHECK(share_map_at(&a, na, g.offset, ~0ull & ~4095ull, HEAP(0)) == VGPU_ST_INVALID);
	CHECK(share_map_at(&a, 7, g.offset, 4096, HEAP(0)) == VGPU_ST_BAD_HANDLE);
	CHECK(share_map_at(&a, ~0u, g.offset, 4096, HEAP(0)) == VGPU_ST_BAD_HANDLE);
	/* the first one leaves: the other one's memory stays */
	raw_close(&a);
	st = raw_ctx_destroy(&b, nb);
	CHECK(st == 0);
	CHECK(q[0] == 42);
	raw_close(&b);
	/* this process lives, so it keeps what it has */
	CHECK(p[0] == 42);
	munmap(p, g.bytes);
	munmap(q, g2.bytes);
	close(fd);
	close(fd2);
	SOON(maps() <= had);    /* what clients before it left may have gone meanwhile */
}
