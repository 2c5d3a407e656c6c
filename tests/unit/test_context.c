/* SPDX-License-Identifier: MIT */
/*
 * The context process against a test that plays its parent and its agent.
 *
 * Sources: tests/unit/test_context.c (with tests/unit/context_device.h and context_sleep.h) fw-protocol/vgpu_check.c -lpthread;
 * at run time the vgpu-stub binary: argv[1], else $VGPU_STUB_BIN, else the one of the same build folder.
 */
#include "context_device.h"

static const char *binary;
static unsigned failed, checks;

#define CHECK(x) check(!!(x), #x, __func__, __LINE__)
#define EQUAL(a, b) equal((uint64_t)(a), (uint64_t)(b), #a " == " #b, __func__, __LINE__)

static int check(int ok, const char *what, const char *fn, int line)
{
	checks++;
	if (!ok) {
		failed++;
		printf("FAIL %s:%d: %s\n", fn, line, what);
	}
	return ok;
}

static int equal(uint64_t a, uint64_t b, const char *what, const char *fn, int line)
{
	if (a != b)
		printf("     %llu (0x%llx) and %llu (0x%llx)\n", (unsigned long long)a, (unsigned long long)a,
		       (unsigned long long)b, (unsigned long long)b);
	return check(a == b, what, fn, line);
}

/* ---- tests -------------------------------------------------------------------------------------------- */

static void test_order(struct dev *d)
{
	uint64_t t = 0, e;
	struct vgpu_cmd c = cmd(VGPU_OP_EVENT, 3);
	volatile struct vgpu_event_record *r = (void *)(d->seg0 + VGPU_STAGING_OFFSET + 4096);
	uint64_t before = now_ns();

	/* Several laps of the ring, payload slots across its end, two streams. */
	for (unsigned i = 0; i < 3000; i++) {
		struct vgpu_cmd in = cmd(VGPU_OP_COPY_INLINE, 1 + i % 2);
		uint32_t data[50] = { i };

		in.u.copy.dst = STAGING + 256 * (1 + i % 2);
		in.u.copy.bytes = 4 + i % 197;
		t = submit(d, in, data, 4 + i % 197);
	}
	CHECK(wait_ticket(d, 2, t, 5000));
	CHECK(wait_ticket(d, 1, t - 5, 5000));
	EQUAL(*word(d, 64 * 2), 2999);
	EQUAL(*word(d, 64), 2998);
	EQUAL(d->shadow[2], d->tl[2].value);
	EQUAL(d->tl[2].error, 0);

	c.u.event.record = STAGING + 4096;
	e = submit(d, c, NULL, 0);
	CHECK(wait_ticket(d, 3, e, 1000));
	EQUAL(r->ticket, e);
	CHECK(r->time_ns >= before && r->time_ns <= now_ns());
	EQUAL(d->head->commands_done, 3001);
	EQUAL(d->head->io_head, d->io_index);
}

static void test_waits(struct dev *d)
{
	uint64_t a, b, w;
	struct vgpu_cmd c = cmd(VGPU_OP_NOP, 5);
	struct vgpu_timeline *other = (void *)(d->seg0 + VGPU_CTX_OFFSET(0) + VGPU_CTX_TIMELINES);

	/* Across streams of one context. */
	*word(d, 0) = 0;
	a = hold(d, 4, STAGING, 0);
	c.wait_tl = VGPU_WAIT_TL(CONTEXT, 4);
	c.wait_value = a;
	b = submit(d, c, NULL, 0);
	w = nop(d, 6, 0);
	CHECK(wait_ticket(d, 6, w, 1000));
	CHECK(pending(d, 4, a) && pending(d, 5, b));
	release(d, 0);
	CHECK(wait_ticket(d, 5, b, 1000));
	CHECK(d->tl[4].value >= a);

	/* On a timeline of another context of the client. */
	other[7].value = 10;
	c.wait_tl = VGPU_WAIT_TL(0, 7);
	c.wait_value = 11;
	b = submit(d, c, NULL, 0);
	CHECK(pending(d, 5, b));
	vgpu_store_release64(&other[7].value, 11);
	CHECK(wait_ticket(d, 5, b, 1000));

	/* A value that a later command of another stream writes; all compare forms. */
	memset((void *)word(d, 0), 0, 4096);
	a = value_op(d, VGPU_OP_WAIT_VALUE, 4, STAGING, (uint32_t)-5, 4, VGPU_COMPARE_GEQ, 0);
	CHECK(wait_ticket(d, 4, a, 1000));      /* cyclic: 0 - -5 >= 0 */
	a = value_op(d, VGPU_OP_WAIT_VALUE, 4, STAGING, 7, 8, VGPU_COMPARE_GEQ, 0);
	b = value_op(d, VGPU_OP_WAIT_VALUE, 5, STAGING + 8, 12, 4, VGPU_COMPARE_AND, 0);
	CHECK(pending(d, 4, a) && pending(d, 5, b));
	w = value_op(d, VGPU_OP_WRITE_VALUE, 6, STAGING, 1ull << 32, 8, 0, 0);
	CHECK(wait_ticket(d, 6, w, 1000));
	CHECK(wait_ticket(d, 4, a, 1000));
	EQUAL(*(uint64_t *)(void *)(d->seg0 + VGPU_STAGING_OFFSET), 1ull << 32);
	value_op(d, VGPU_OP_WRITE_VALUE, 6, STAGING + 8, 8, 4, 0, 0);
	CHECK(wait_ticket(d, 5, b, 1000));
	EQUAL(*word(d, 3), 0);
	a = value_op(d, VGPU_OP_WAIT_VALUE, 4, STAGING + 8, ~8u, 4, VGPU_COMPARE_NOR, 0);
	CHECK(pending(d, 4, a));
	value_op(d, VGPU_OP_WRITE_VALUE, 6, STAGING + 8, 0, 4, 0, 0);
	CHECK(wait_ticket(d, 4, a, 1000));
}

static void test_legacy(struct dev *d)
{
	uint64_t b1, l, b2, n, l2;

	memset((void *)word(d, 0), 0, 64);
	b1 = hold(d, 1, STAGING, VGPU_CMD_BLOCKING);
	l = nop(d, 0, VGPU_CMD_LEGACY);
	b2 = nop(d, 2, VGPU_CMD_BLOCKING);
	n = nop(d, 3, 0);
	CHECK(wait_ticket(d, 3, n, 1000));              /* NonBlocking: goes its own way */
	CHECK(pending(d, 0, l) && pending(d, 2, b2) && pending(d, 1, b1));
	release(d, 0);
	CHECK(wait_ticket(d, 1, b1, 1000) && wait_ticket(d, 0, l, 1000) && wait_ticket(d, 2, b2, 1000));

	/* A legacy command that is held holds later blocking ones, and not the earlier. */
	*word(d, 0) = 0;
	b1 = nop(d, 1, VGPU_CMD_BLOCKING);
	l = hold(d, 0, STAGING, VGPU_CMD_LEGACY);
	b2 = nop(d, 2, VGPU_CMD_BLOCKING);
	l2 = nop(d, 0, VGPU_CMD_LEGACY);
	CHECK(wait_ticket(d, 1, b1, 1000));
	CHECK(pending(d, 0, l) && pending(d, 2, b2));
	release(d, 0);
	CHECK(wait_ticket(d, 0, l2, 1000));
	CHECK(d->tl[2].value >= b2);
	/* Many alternations, a few streams. */
	for (unsigned i = 0; i < 2000; i++)
		n = nop(d, i % 3, i % 3 ? VGPU_CMD_BLOCKING : VGPU_CMD_LEGACY);
	CHECK(wait_ticket(d, 1, n, 5000));
}

static void test_memory(struct dev *d)
{
	uint64_t v[5], t;
	uint8_t *s = d->seg0 + VGPU_STAGING_OFFSET;
	struct vgpu_cmd c = cmd(VGPU_OP_COPY3D, 1);
	struct vgpu_copy3d p = { .height = 3, .depth = 2, .dst_pitch = 10, .dst_slice = 100,
				 .src_pitch = 8, .src_slice = 24 };

	EQUAL(ctl(d, VGPU_OP_MEM_ALLOC, 0, MEMORY, 4 * MIB, 0, NULL), VGPU_ST_OK);
	EQUAL(d->head->memory_bytes, 4 * MIB);
	EQUAL(ctl(d, VGPU_OP_MEM_ALLOC, 0, MEMORY + 2 * MIB, 4 * MIB, 0, NULL), VGPU_ST_INVALID);
	EQUAL(ctl(d, VGPU_OP_MEM_ALLOC, 0, MEMORY + 8 * MIB, 4096, 0, NULL), VGPU_ST_OK);
	EQUAL(ctl(d, VGPU_OP_MEM_ALLOC, 0, MEMORY + 16 * MIB, d->limit, 0, NULL), VGPU_ST_OUT_OF_MEMORY);
	EQUAL(ctl(d, VGPU_OP_MEM_ALLOC, 0, MEMORY + 16 * MIB, 40 * MIB, 0, NULL), VGPU_ST_OK);    /* in steps */
	t = fill(d, 1, MEMORY + 55 * MIB, MIB, 0, 1, 0, 1);
	CHECK(wait_ticket(d, 1, t, 2000));
	EQUAL(ctl(d, VGPU_OP_MEM_FREE, 0, MEMORY + 16 * MIB, 40 * MIB, 0, NULL), VGPU_ST_OK);
	EQUAL(ctl(d, VGPU_OP_MEM_FREE, 0, MEMORY, 2 * MIB, 0, NULL), VGPU_ST_INVALID);
	EQUAL(ctl(d, VGPU_OP_MEM_FREE, 0, MEMORY + 4096, 4096, 0, NULL), VGPU_ST_INVALID);

	/* There and back, zeroed at first, more than a piece. */
	memset(s, 0xff, MIB);
	t = copy(d, 1, STAGING, MEMORY, MIB);
	CHECK(wait_ticket(d, 1, t, 2000));
	CHECK(!s[0] && !memcmp(s, s + 1, MIB - 1));
	for (unsigned i = 0; i < MIB; i++)
		s[i] = (uint8_t)(i * 7 >> 3);
	copy(d, 1, MEMORY + 4096, STAGING, MIB - 5);
	copy(d, 1, STAGING + MIB, MEMORY + 4096, MIB - 5);
	t = nop(d, 1, 0);
	CHECK(wait_ticket(d, 1, t, 2000));
	CHECK(!memcmp(s, s + MIB, MIB - 5));

	/* Fills: wide, pitched, every element size. */
	fill(d, 1, STAGING, MIB / 4, 0, 1, 0xa1b2c3d4, 4);
	t = fill(d, 1, STAGING + 2, 3, 16, 4, 0x5566, 2);
	CHECK(wait_ticket(d, 1, t, 2000));
	EQUAL(*(uint32_t *)(void *)(s + MIB - 4), 0xa1b2c3d4);
	EQUAL(*(uint32_t *)(void *)(s), 0x5566c3d4);
	EQUAL(*(uint32_t *)(void *)(s + 48 + 4), 0x55665566);
	EQUAL(*(uint32_t *)(void *)(s + 48 + 8), 0xa1b2c3d4);
	EQUAL(*(uint32_t *)(void *)(s + 64), 0xa1b2c3d4);
	t = fill(d, 1, STAGING + 1, 7, 7, 1000, 0x99, 1);
	CHECK(wait_ticket(d, 1, t, 2000));
	EQUAL(s[1], 0x99);
	EQUAL(s[7000], 0x99);
	EQUAL(s[0], 0xd4);

	/* 3D. */
	for (unsigned i = 0; i < 48; i++)
		s[i] = (uint8_t)i;
	memset(s + 4096, 0xee, 256);
	c.u.copy = (struct vgpu_body_copy){ .dst = STAGING + 4096, .src = STAGING, .bytes = 5 };
	t = submit(d, c, &p, sizeof(p));
	CHECK(wait_ticket(d, 1, t, 2000));
	EQUAL(s[4096 + 100 + 20 + 4], 24 + 16 + 4);
	EQUAL(s[4096 + 100 + 20 + 5], 0xee);
	EQUAL(s[4096 + 10], 8);
	EQUAL(s[4096 + 30], 0xee);

	EQUAL(ctl(d, VGPU_OP_MEM_FREE, 0, MEMORY, 4 * MIB, 0, NULL), VGPU_ST_OK);
	EQUAL(ctl(d, VGPU_OP_MEM_FREE, 0, MEMORY, 4 * MIB, 0, NULL), VGPU_ST_INVALID);
	EQUAL(ctl(d, VGPU_OP_MEM_FREE, 0, MEMORY + 8 * MIB, 4096, 0, NULL), VGPU_ST_OK);
	EQUAL(d->head->memory_bytes, 0);
	EQUAL(ctl(d, VGPU_OP_PING, 0, 0, 0, 0, v), VGPU_ST_OK);
	CHECK(v[0] <= now_ns() && v[0] + 1000000000u > now_ns());
}

static void test_vmm(struct dev *d)
{
	uint64_t a = MEMORY + 64 * MIB, b = MEMORY + 128 * MIB, t;
	uint8_t *s = d->seg0 + VGPU_STAGING_OFFSET;

	EQUAL(ctl(d, VGPU_OP_VMM_MAP, 0, a, 2 * MIB, 0, NULL), VGPU_ST_INVALID);        /* nothing there */
	EQUAL(ctl(d, VGPU_OP_PHYS_ALLOC, 0, 4 * MIB, 4 * MIB, 0, NULL), VGPU_ST_OK);
	EQUAL(ctl(d, VGPU_OP_PHYS_ALLOC, 0, 6 * MIB, 2 * MIB, 0, NULL), VGPU_ST_INVALID);
	EQUAL(ctl(d, VGPU_OP_VMM_MAP, 0, a, 4 * MIB, 4 * MIB, NULL), VGPU_ST_OK);
	EQUAL(ctl(d, VGPU_OP_VMM_MAP, 0, b, 2 * MIB, 6 * MIB, NULL), VGPU_ST_OK);       /* alias of its half */
	EQUAL(ctl(d, VGPU_OP_VMM_MAP, 0, b, 2 * MIB, 6 * MIB, NULL), VGPU_ST_INVALID);
	EQUAL(ctl(d, VGPU_OP_VMM_MAP, 0, b + 2 * MIB, 4 * MIB, 6 * MIB, NULL), VGPU_ST_INVALID);
	fill(d, 1, a + 2 * MIB + 12, 1, 0, 1, 0x12345678, 4);
	t = copy(d, 1, STAGING, b + 12, 4);
	CHECK(wait_ticket(d, 1, t, 2000));
	EQUAL(*(uint32_t *)(void *)s, 0x12345678);
	EQUAL(ctl(d, VGPU_OP_PHYS_FREE, 0, 4 * MIB, 4 * MIB, 0, NULL), VGPU_ST_BUSY);
	EQUAL(ctl(d, VGPU_OP_MEM_FREE, 0, a, 4 * MIB, 0, NULL), VGPU_ST_INVALID);
	EQUAL(ctl(d, VGPU_OP_VMM_UNMAP, 0, a, 2 * MIB, 0, NULL), VGPU_ST_INVALID);
	EQUAL(ctl(d, VGPU_OP_VMM_UNMAP, 0, a, 4 * MIB, 0, NULL), VGPU_ST_OK);
	EQUAL(ctl(d, VGPU_OP_VMM_UNMAP, 0, b, 2 * MIB, 0, NULL), VGPU_ST_OK);
	EQUAL(ctl(d, VGPU_OP_PHYS_FREE, 0, 4 * MIB, 4 * MIB, 0, NULL), VGPU_ST_OK);
	EQUAL(ctl(d, VGPU_OP_PHYS_ALLOC, 0, 4 * MIB, 2 * MIB, 0, NULL), VGPU_ST_OK);
	EQUAL(ctl(d, VGPU_OP_VMM_MAP, 0, a, 2 * MIB, 4 * MIB, NULL), VGPU_ST_OK);
	s[0] = 1;
	t = copy(d, 1, STAGING, a, 4);
	CHECK(wait_ticket(d, 1, t, 2000));
	EQUAL(s[0], 0);                 /* the hole was punched: zeroes again */
	EQUAL(ctl(d, VGPU_OP_VMM_UNMAP, 0, a, 2 * MIB, 0, NULL), VGPU_ST_OK);
	EQUAL(ctl(d, VGPU_OP_PHYS_FREE, 0, 4 * MIB, 2 * MIB, 0, NULL), VGPU_ST_OK);
	EQUAL(d->refused, 0);
}

/* Page tables are the client's: the same memory at ever more addresses ends at a share of the overhead, 2 GiB here. */
static void test_tables(struct dev *d)
{
	/* a table of 4 KiB for 2 MiB */
	uint64_t at = MEMORY + VGPU_GIB, n = 0, st, most = (512 * MIB + d->limit / 128) / VGPU_PAGE / 16, granted = d->run->granted;

	d->run->granted = d->limit + 1;         /* more than it may have: then it sends nothing of what it gives back */
	EQUAL(ctl(d, VGPU_OP_PHYS_ALLOC, 0, 0, 32 * MIB, 0, NULL), VGPU_ST_OK);
	while (!(st = ctl(d, VGPU_OP_VMM_MAP, 0, at + n * 32 * MIB, 32 * MIB, 0, NULL)) && n < 12000)
		n++;
	EQUAL(st, VGPU_ST_OUT_OF_MEMORY);
	EQUAL(n, most);
	EQUAL(ctl(d, VGPU_OP_VMM_UNMAP, 0, at, 64 * MIB, 0, NULL), VGPU_ST_OK);
	EQUAL(ctl(d, VGPU_OP_VMM_MAP, 0, at, 32 * MIB, 0, NULL), VGPU_ST_OK);
	EQUAL(ctl(d, VGPU_OP_VMM_MAP, 0, at + 32 * MIB, 32 * MIB, 0, NULL), VGPU_ST_OK);
	EQUAL(ctl(d, VGPU_OP_VMM_MAP, 0, at + n * 32 * MIB, 32 * MIB, 0, NULL), VGPU_ST_OUT_OF_MEMORY);
	EQUAL(ctl(d, VGPU_OP_VMM_UNMAP, 0, at, n * 32 * MIB, 0, NULL), VGPU_ST_OK);
	/* neighbours have a table together, whatever order they come and go in */
	EQUAL(ctl(d, VGPU_OP_VMM_MAP, 0, at, 32 * MIB, 0, NULL), VGPU_ST_OK);
	for (unsigned round = 0; round < 2; round++) {
		uint64_t few = at + VGPU_GIB, far = few + VGPU_GIB;

		for (unsigned i = 0; i < 300; i++)
			EQUAL(ctl(d, VGPU_OP_MEM_ALLOC, 0, few + (round ? 299 - i : i) * 4096ull, 4096, 4096, NULL), VGPU_ST_OK);
		for (n = 0; !ctl(d, VGPU_OP_VMM_MAP, 0, far + n * 32 * MIB, 32 * MIB, 0, NULL) && n < 12000;)
			n++;
		EQUAL(n, ((512 * MIB + d->limit / 128) / VGPU_PAGE - 16 - 1) / 16);
		EQUAL(ctl(d, VGPU_OP_VMM_UNMAP, 0, far, n * 32 * MIB, 0, NULL), VGPU_ST_OK);
		for (unsigned i = 0; i < 300; i++)
			EQUAL(ctl(d, VGPU_OP_MEM_FREE, 0, few + (round ? i : i * 7 % 300) * 4096ull, 4096, 0, NULL), VGPU_ST_OK);
	}
	EQUAL(ctl(d, VGPU_OP_VMM_UNMAP, 0, at, 32 * MIB, 0, NULL), VGPU_ST_OK);
	for (n = 0; !(st = ctl(d, VGPU_OP_VMM_MAP, 0, at + n * 32 * MIB, 32 * MIB, 0, NULL)) && n < 12000;)
		n++;
	EQUAL(n, most);
	EQUAL(ctl(d, VGPU_OP_VMM_UNMAP, 0, at, n * 32 * MIB, 0, NULL), VGPU_ST_OK);
	EQUAL(ctl(d, VGPU_OP_PHYS_FREE, 0, 0, 32 * MIB, 0, NULL), VGPU_ST_OK);
	EQUAL(d->refused, 0);
	d->run->granted = granted;
}

static void test_segments(struct dev *d)
{
	struct ctx_msg m = { .type = CTX_MAP };
	uint64_t va = SPAN + 64 * MIB, t, one = 1;

	m.u.map = d->allowed = (struct ctx_map){ .va = va, .bytes = VGPU_HUGE, .id = 77 };
	tell(d, &m, NULL, 0);
	d->run->messages++;
	CHECK(hear(d, &m, NULL, 5000) == CTX_ACK && m.u.map.id == 77 && !m.status);
	((uint32_t *)(void *)d->seg1)[5] = 4711;
	t = copy(d, 1, STAGING, va + 20, 4);
	CHECK(wait_ticket(d, 1, t, 2000));
	EQUAL(*word(d, 0), 4711);
	t = value_op(d, VGPU_OP_WRITE_VALUE, 1, va + 24, 99, 4, 0, 0);
	CHECK(wait_ticket(d, 1, t, 2000));
	EQUAL(((uint32_t *)(void *)d->seg1)[6], 99);
	m = (struct ctx_msg){ .type = CTX_UNMAP };
	m.u.map = (struct ctx_map){ .va = va, .bytes = VGPU_HUGE, .id = 78 };
	tell(d, &m, NULL, 0);
	CHECK(hear(d, &m, NULL, 5000) == CTX_ACK && m.u.map.id == 78 && !m.status);

	/* Interrupts by way of the parent. */
	m = (struct ctx_msg){ .type = CTX_IRQ };
	m.u.map.id = 79;
	tell(d, &m, NULL, 0);
	CHECK(hear(d, &m, NULL, 5000) == CTX_ACK && m.u.map.id == 79);
	d->head->irq_pending = 0;
	vgpu_store_relaxed32(&d->tl[9].waiter, 1);
	(void)!read(d->irq, &one, sizeof(one));
	t = nop(d, 9, 0);
	CHECK(wait_ticket(d, 9, t, 2000));
	hear(d, &m, NULL, 50);
	EQUAL(d->raised, 1);
	CHECK(read(d->irq, &one, sizeof(one)) < 0);
}

#include "context_sleep.h"

/* ---- modules and launches ------------------------------------------------------------------------------ */

static const char ptx[] =
	".version 6.0\n.target sm_61\n.address_size 64\n"
	".extern .func (.param .b32 func_retval0) vprintf (.param .b64 vprintf_param_0, .param .b64 vprintf_param_1);\n"
	".global .align 1 .b8 fmt[7] = {104, 105, 32, 37, 100, 10, 0};\n"
	".visible .entry inc(.param .u64 inc_param_0, .param .u32 inc_param_1, .param .u32 inc_param_2)\n{\n"
	".reg .pred %p<2>; .reg .b32 %r<5>; .reg .b64 %rd<3>;\n"
	"ld.param.u64 %rd1, [inc_param_0];\nld.param.u32 %r1, [inc_param_1];\nld.param.u32 %r2, [inc_param_2];\n"
	"L1:\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra L2;\n"
	"ld.global.u32 %r3, [%rd1];\nadd.u32 %r3, %r3, %r2;\nst.global.u32 [%rd1], %r3;\n"
	"add.u64 %rd1, %rd1, 4;\nsub.u32 %r1, %r1, 1;\nbra.uni L1;\nL2:\nret;\n}\n"
	".visible .entry bad(.param .u64 bad_param_0)\n{\n"
	".reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
	"ld.param.u64 %rd1, [bad_param_0];\nmov.u32 %r1, 1;\nst.global.u32 [%rd1], %r1;\nret;\n}\n"
	".visible .entry waitflag(.param .u64 w_0, .param .u64 w_1, .param .u32 w_2)\n{\n"
	".reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<3>;\n"
	"ld.param.u64 %rd1, [w_0];\nld.param.u64 %rd2, [w_1];\nld.param.u32 %r1, [w_2];\n"
	"L1:\nld.volatile.global.u32 %r2, [%rd1];\nsetp.ne.u32 %p1, %r2, %r1;\n@%p1 bra L1;\n"
	"add.u32 %r3, %r2, 1;\nst.global.u32 [%rd2], %r3;\nret;\n}\n"
	".visible .entry hello(.param .u32 h_0)\n{\n"
	".local .align 8 .b8 depot[8];\n.reg .b32 %r<3>; .reg .b64 %rd<6>;\n"
	"mov.u64 %rd1, depot;\ncvta.local.u64 %rd2, %rd1;\nld.param.u32 %r1, [h_0];\nst.local.u32 [%rd1], %r1;\n"
	"mov.u64 %rd3, fmt;\ncvta.global.u64 %rd4, %rd3;\n"
	"{\n.param .b64 param0;\nst.param.b64 [param0+0], %rd4;\n.param .b64 param1;\nst.param.b64 [param1+0], %rd2;\n"
	".param .b32 retval0;\ncall.uni (retval0), vprintf, (param0, param1);\nld.param.b32 %r2, [retval0+0];\n}\n"
	"ret;\n}\n";

static uint32_t load(struct dev *d, const char *text, size_t bytes, uint64_t *v)
{
	uint32_t id, st;

	if (!EQUAL(ctl(d, VGPU_OP_MODULE_BEGIN, 0, bytes, 0, 0, v), 0))
		return 0;
	id = (uint32_t)v[0];
	/* In two pieces, the second first. */
	memcpy(d->seg0 + VGPU_STAGING_OFFSET, text + 100, bytes - 100);
	EQUAL(ctl(d, VGPU_OP_MODULE_DATA, id, 100, STAGING, bytes - 100, v), 0);
	memcpy(d->seg0 + VGPU_STAGING_OFFSET, text, 100);
	EQUAL(ctl(d, VGPU_OP_MODULE_DATA, id, 0, STAGING, 100, v), 0);
	EQUAL(ctl(d, VGPU_OP_MODULE_DATA, id, bytes - 1, STAGING, 2, v), VGPU_ST_INVALID);
	memset(d->seg0 + VGPU_STAGING_OFFSET, 0, 256);
	st = ctl(d, VGPU_OP_MODULE_COMMIT, id, STAGING, 200, 0, v);
	if (st)
		v[4] = st;
	return id;
}

static uint32_t fn_id(struct dev *d, uint64_t table, const char *name)
{
	const uint8_t *t = d->seg0 + VGPU_STAGING_OFFSET + table;
	const struct vgpu_symtab *h = (const void *)t;
	const struct vgpu_symbol *s = (const void *)(h + 1);

	for (uint32_t i = 0; i < h->nsyms; i++)
		if (s[i].kind == VGPU_SYM_FUNC && s[i].name < h->bytes && !strcmp((const char *)t + s[i].name, name))
			return s[i].id;
	return 0;
}

struct kernels {
	uint32_t module, inc, bad, waitflag, hello;
};

static void load_kernels(struct dev *d, struct kernels *k)
{
	uint64_t v[5] = { 0 };

	k->module = load(d, ptx, sizeof(ptx), v);
	if (!EQUAL(v[4], 0))
		printf("     log: %.200s\n", (const char *)d->seg0 + VGPU_STAGING_OFFSET);
	CHECK(v[0] > sizeof(struct vgpu_symtab));
	EQUAL(ctl(d, VGPU_OP_MODULE_TABLE, k->module, STAGING, v[0] - 1, 0, v), VGPU_ST_INVALID);
	EQUAL(ctl(d, VGPU_OP_MODULE_TABLE, k->module, STAGING, 65536, 0, v), 0);
	EQUAL(((struct vgpu_symtab *)(void *)(d->seg0 + VGPU_STAGING_OFFSET))->bytes, v[0]);
	k->inc = fn_id(d, 0, "inc");
	k->bad = fn_id(d, 0, "bad");
	k->waitflag = fn_id(d, 0, "waitflag");
	k->hello = fn_id(d, 0, "hello");
	CHECK(k->inc && k->bad && k->waitflag && k->hello);
}

static void test_launch(struct dev *d)
{
	struct kernels k;
	uint64_t v[5] = { 0 }, t, tail, launches = d->head->launches_done;
	struct { uint64_t p; uint32_t n, v; } inc = { MEMORY, 10, 3 };
	struct { uint64_t p, q; uint32_t v; } w = { MEMORY + 4096, MEMORY + 8192, 5 };
	uint32_t hello = 42;
	struct vgpu_fn_info *fi = (void *)(d->seg0 + VGPU_STAGING_OFFSET);
	static const char broken[] = ".version 6.0\n.target sm_61\n.address_size 64\n.visible .nonsense x(\n"
				     "                                                                     ";

	EQUAL(ctl(d, VGPU_OP_MEM_ALLOC, 0, MEMORY, MIB, 0, NULL), 0);
	load_kernels(d, &k);
	EQUAL(ctl(d, VGPU_OP_FUNC_INFO, k.inc, STAGING, 256, 256, v), 0);
	EQUAL(v[0], sizeof(struct vgpu_fn_info) + 3 * 8);
	EQUAL(fi->nparams, 3);
	EQUAL(fi->params[2].offset, 12);
	EQUAL(fi->param_bytes, 16);
	EQUAL(ctl(d, VGPU_OP_FUNC_INFO, 123456, STAGING, 256, 256, v), VGPU_ST_BAD_HANDLE);

	for (unsigned i = 0; i < 500; i++)
		t = launch(d, 1 + i % 2, k.inc, 1, &inc, sizeof(inc));
	CHECK(wait_ticket(d, 2, t, 5000) && wait_ticket(d, 1, t - 2, 5000));
	inc.v = 1;
	launch(d, 1, k.inc, 1, &inc, sizeof(inc));
	t = copy(d, 1, STAGING, MEMORY + 36, 4);
	CHECK(wait_ticket(d, 1, t, 2000));
	/* streams 1 and 2 race on the same words, but one dispatcher ran small grids in place or not: bounded */
	CHECK(*word(d, 0) >= 1 + 3 && *word(d, 0) <= 1 + 1500);
	EQUAL(d->head->launches_done, launches + 501);

	/* A kernel that waits for another stream's copy; the stream behind it waits too. */
	t = launch(d, 3, k.waitflag, 1, &w, sizeof(w));
	CHECK(pending(d, 3, t));
	EQUAL(ctl(d, VGPU_OP_PING, 0, 0, 0, 0, NULL), 0);
	t = copy(d, 3, STAGING + 64, MEMORY + 8192, 4);
	fill(d, 4, MEMORY + 4096, 1, 0, 1, 5, 4);
	CHECK(wait_ticket(d, 3, t, 5000));
	EQUAL(*word(d, 16), 6);
	CHECK(d->head->busy_ns > 0);

	/* printf: whole texts in the ring, in its place after a full one. */
	t = launch(d, 1, k.hello, 3, &hello, sizeof(hello));
	CHECK(wait_ticket(d, 1, t, 2000));
	EQUAL(d->ctx->printf_head, 18);
	CHECK(!memcmp((char *)d->ctx + VGPU_CTX_PRINTF, "hi 42\nhi 42\nhi 42\n", 18));
	/* a kernel that prints more than there is room for waits for its reader, and loses nothing */
	t = launch(d, 1, k.hello, 20000, &hello, sizeof(hello));
	CHECK(pending(d, 1, t));
	for (unsigned i = 0; i < 2000 && !wait_ticket(d, 1, t, 10); i++)
		vgpu_store_release64(&d->ctx->printf_tail, vgpu_load_acquire64(&d->ctx->printf_head));
	CHECK(wait_ticket(d, 1, t, 2000));
	EQUAL(d->ctx->printf_head, 20003 * 6);
	EQUAL(d->ctx->printf_lost, 0);
	tail = d->ctx->printf_head;
	vgpu_store_release64(&d->ctx->printf_tail, tail);
	t = launch(d, 1, k.hello, 1, &hello, sizeof(hello));
	CHECK(wait_ticket(d, 1, t, 2000));
	EQUAL(d->ctx->printf_head, tail + 6);

	/* Refused: an unknown function. The stream has an error, the context lives. */
	t = launch(d, 40, 999999, 1, &inc, sizeof(inc));
	CHECK(wait_ticket(d, 40, t, 2000));
	CHECK(d->tl[40].error && !vgpu_status_sticky(d->tl[40].error));
	EQUAL(d->ctx->error, 0);

	EQUAL(ctl(d, VGPU_OP_MODULE_UNLOAD, k.module, 0, 0, 0, NULL), 0);
	EQUAL(ctl(d, VGPU_OP_MODULE_UNLOAD, k.module, 0, 0, 0, NULL), VGPU_ST_BAD_HANDLE);
	load(d, broken, sizeof(broken), v);
	CHECK(v[4] != 0 && v[2] > 5);
	CHECK(strlen((char *)d->seg0 + VGPU_STAGING_OFFSET) > 4);
	EQUAL(ctl(d, VGPU_OP_MODULE_BEGIN, 0, VGPU_GIB, 0, 0, v), 0);
	EQUAL(ctl(d, VGPU_OP_MODULE_COMMIT, (uint32_t)v[0] + 1, STAGING, 200, 0, v), VGPU_ST_BAD_HANDLE);
	EQUAL(ctl(d, VGPU_OP_MEM_FREE, 0, MEMORY, MIB, 0, NULL), 0);
	EQUAL(d->head->memory_bytes, 0);
}

/* ---- the end of a context ---------------------------------------------------------------------------------- */

static void test_fault(void)
{
	struct dev d;
	struct kernels k;
	uint64_t bad = MEMORY + 4096, a, t, u;
	struct { uint64_t p, q; uint32_t v; } w = { STAGING, STAGING + 8, 5 };

	dev_start(&d, binary, 64 * MIB);
	load_kernels(&d, &k);
	memset((void *)word(&d, 0), 0, 64);
	vgpu_store_relaxed32(&d.tl[2].waiter, 1);
	a = launch(&d, 3, k.waitflag, 1, &w, sizeof(w));        /* at the engine, for ever */
	t = hold(&d, 2, STAGING + 32, 0);
	CHECK(pending(&d, 2, t) && pending(&d, 3, a));
	u = launch(&d, 1, k.bad, 1, &bad, sizeof(bad));
	CHECK(wait_ticket(&d, 1, u, 5000));
	EQUAL(d.tl[1].error, VGPU_ST_ILLEGAL_ADDRESS);
	CHECK(wait_ticket(&d, 2, t, 1000) && wait_ticket(&d, 3, a, 1000));
	EQUAL(d.tl[2].error, VGPU_ST_ILLEGAL_ADDRESS);
	EQUAL(d.tl[2].waiter, 0);
	EQUAL(d.ctx->error, VGPU_ST_ILLEGAL_ADDRESS);
	EQUAL(d.head->error, VGPU_ST_ILLEGAL_ADDRESS);
	printf("     report: %.*s\n", (int)d.ctx->report_bytes, d.ctx->report);
	CHECK(strstr(d.ctx->report, "write of 4 bytes at 0x211000001000 in kernel bad, "
				    "block (0,0,0), thread (0,0,0)"));
	t = nop(&d, 9, 0);
	CHECK(wait_ticket(&d, 9, t, 1000));
	EQUAL(d.tl[9].error, VGPU_ST_ILLEGAL_ADDRESS);
	EQUAL(ctl(&d, VGPU_OP_PING, 0, 0, 0, 0, NULL), VGPU_ST_ILLEGAL_ADDRESS);
	*word(&d, 0) = 5;
	usleep(20000);                                          /* the old launch ends; nobody minds */
	t = nop(&d, 3, 0);
	CHECK(wait_ticket(&d, 3, t, 1000));
	hear(&d, &(struct ctx_msg){ 0 }, NULL, 50);
	CHECK(d.logs && strstr(d.log[0], "illegal address"));
	CHECK(dev_alive(&d));
	EQUAL(dev_stop(&d), 0);

	/* A copy from nowhere. */
	dev_start(&d, binary, 64 * MIB);
	t = copy(&d, 0, STAGING, MEMORY, 100);
	CHECK(wait_ticket(&d, 0, t, 1000));
	EQUAL(d.ctx->error, VGPU_ST_ILLEGAL_ADDRESS);
	CHECK(strstr(d.ctx->report, "copy of 100 bytes from 0x211000000000"));
	EQUAL(dev_stop(&d), 0);

	/* The agent's word is there before the client's: who hears of it may end at once, and is counted by the former. */
	for (unsigned i = 0; i < 40; i++) {
		dev_start(&d, binary, 64 * MIB);
		t = copy(&d, 0, STAGING, MEMORY, 100);
		while (!vgpu_load_acquire32(&d.ctx->error) && dev_alive(&d))
			vgpu_cpu_relax();
		EQUAL(vgpu_load_relaxed32(&d.head->error), VGPU_ST_ILLEGAL_ADDRESS);
		EQUAL(dev_stop(&d), 0);
	}
}

/* What an agent would never forward. Each ends its context with PROTOCOL and nothing worse. */
static void test_malformed(void)
{
	for (unsigned i = 0; i < 8; i++) {
		struct dev d;
		struct vgpu_cmd c = cmd(VGPU_OP_NOP, 1);
		uint64_t index;

		dev_start(&d, binary, MIB);
		index = d.io_index;
		c.slots = 1;
		c.ticket = index + 1;
		vgpu_store_relaxed32(&d.tl[500].waiter, 1);
		if (i == 0)
			c.op = 200;
		if (i == 1)
			c.ticket++;
		if (i == 2)
			c.flags = 0x8000;
		if (i == 3)
			c.stream = VGPU_MAX_STREAMS;
		if (i == 4) {                           /* payload slots that were never written */
			c.op = VGPU_OP_LAUNCH;
			c.u.launch = (struct vgpu_body_launch){ .fn = 1, .grid = { 1, 1, 1 },
								.block = { 1, 1, 1 }, .param_bytes = 100 };
			c.slots = 3;
		}
		if (i == 5) {                           /* extents that leave the span */
			struct vgpu_copy3d *p = (void *)io_slot(&d, index + 1)->payload.bytes;

			c.op = VGPU_OP_COPY3D;
			c.slots = 2;
			c.u.copy = (struct vgpu_body_copy){ .dst = STAGING, .src = STAGING, .bytes = 8 };
			*p = (struct vgpu_copy3d){ .height = 1ull << 40, .depth = 1ull << 40, .dst_pitch = 1 << 20,
						   .src_pitch = 1 << 20 };
			io_slot(&d, index + 1)->payload.seq = (uint32_t)(index + 2);
		}
		if (i > 5) {                            /* parameters that lie outside the window; that are too many */
			struct vgpu_params_at *p = (void *)io_slot(&d, index + 1)->payload.bytes;

			c.op = VGPU_OP_LAUNCH_LARGE;
			c.slots = 2;
			c.u.launch = (struct vgpu_body_launch){ .fn = 1, .grid = { 1, 1, 1 }, .block = { 1, 1, 1 },
								.param_bytes = i == 6 ? 5000 : 32765 };
			*p = (struct vgpu_params_at){ .at = i == 6 ? (uintptr_t)&d : STAGING };
			io_slot(&d, index + 1)->payload.seq = (uint32_t)(index + 2);
		}
		io_slot(&d, index)->cmd = c;
		vgpu_slot_publish(io_slot(&d, index), index);
		ring_bell(&d);
		/* the agent's word comes first, then report and word of the client */
		for (unsigned n = 0; n < 60000 && !(vgpu_load_acquire32(&d.head->error) && vgpu_load_acquire32(&d.ctx->error)); n++)
			usleep(1000);
		EQUAL(d.head->error, VGPU_ST_PROTOCOL);
		EQUAL(d.ctx->error, VGPU_ST_PROTOCOL);
		CHECK(strstr(d.ctx->report, "malformed"));
		/* all who wait are woken after the context's own state */
		for (unsigned n = 0; i < 5 && n < 60000 && vgpu_load_acquire32(&d.tl[500].waiter); n++)
			usleep(1000);
		if (i < 5)
			CHECK(!d.tl[500].waiter && d.tl[500].error == VGPU_ST_PROTOCOL);
		EQUAL(ctl(&d, VGPU_OP_PING, 0, 0, 0, 0, NULL), VGPU_ST_PROTOCOL);
		EQUAL(dev_stop(&d), 0);
	}
}

/* A stream that stands still for ever does not stop the ring for the others. */
static void test_stalled(struct dev *d)
{
	struct vgpu_cmd c = cmd(VGPU_OP_COPY_INLINE, 20);
	uint8_t data[4096];
	uint64_t t = 0, last = 0;

	*word(d, 0) = 0;
	memset(data, 0x5a, sizeof(data));
	hold(d, 20, STAGING, 0);
	c.u.copy.dst = STAGING + MIB;
	for (unsigned i = 0; i < VGPU_STREAM_CREDITS; i++) {
		unsigned bytes = 1 + i * 16;

		c.u.copy.bytes = bytes;
		t = submit(d, c, data, bytes);
		last = nop(d, 21, 0);
	}
	CHECK(wait_ticket(d, 21, last, 5000));
	CHECK(pending(d, 20, t));
	release(d, 0);
	CHECK(wait_ticket(d, 20, t, 5000));
	EQUAL((d->seg0 + VGPU_STAGING_OFFSET + MIB)[4080], 0x5a);
}

/*
 * Random streams, flags, waits and holds; each command writes its time. Afterwards every rule of vgpu_cmd.h
 * must hold between the times: the stream's order, the waits, the legacy barrier.
 */
#define RANDOM 1200u
#define HOLDS 40u

static void test_random_order(struct dev *d, unsigned seed)
{
	static struct { uint64_t ticket, time; unsigned stream, flags, on; } c[RANDOM];
	const volatile struct vgpu_event_record *r = (void *)(d->seg0 + VGPU_STAGING_OFFSET + 65536);
	static const unsigned kind[8] = { VGPU_CMD_LEGACY, VGPU_CMD_BLOCKING, VGPU_CMD_BLOCKING, 0, 0,
					  VGPU_CMD_BLOCKING, VGPU_CMD_BLOCKING, 0 };
	unsigned held = 0, bad = 0;

	memset((void *)word(d, 0), 0, 4096);
	for (unsigned i = 0; i < RANDOM; i++) {
		struct vgpu_cmd e;

		seed = seed * 1103515245u + 12345u;
		c[i].stream = (seed >> 16) % 8 == 0 ? 0 : 60 + (seed >> 16) % 8;
		c[i].flags = kind[(seed >> 16) % 8];
		c[i].on = ~0u;
		if ((seed >> 20) % (RANDOM / HOLDS) == 0 && held < HOLDS)
			hold(d, c[i].stream, STAGING + 4 * held++, c[i].flags);
		e = cmd(VGPU_OP_EVENT, c[i].stream);
		e.flags = (uint16_t)c[i].flags;
		e.u.event.record = STAGING + 65536 + 16 * i;
		if (i && (seed >> 24) % 4 == 0) {               /* on anything earlier: no cycle can arise */
			c[i].on = (seed >> 8) % i;
			e.wait_tl = VGPU_WAIT_TL(CONTEXT, c[c[i].on].stream);
			e.wait_value = c[c[i].on].ticket;
		}
		c[i].ticket = submit(d, e, NULL, 0);
	}
	for (unsigned i = 0; i < held; i++) {
		usleep(300);
		release(d, i);
	}
	for (unsigned i = 0; i < RANDOM; i++) {
		if (!CHECK(wait_ticket(d, c[i].stream, c[i].ticket, 3000)))
			return;
		c[i].time = r[i].time_ns;
		bad += r[i].ticket != c[i].ticket;
	}
	for (unsigned i = 0; i < RANDOM; i++) {
		bad += c[i].on != ~0u && c[c[i].on].time > c[i].time;
		for (unsigned k = 0; k < i; k++) {
			int barrier = c[k].flags && c[i].flags && ((c[k].flags | c[i].flags) & VGPU_CMD_LEGACY);

			bad += (c[k].stream == c[i].stream || barrier) && c[k].time > c[i].time;
		}
	}
	EQUAL(bad, 0);
}

int main(int argc, char **argv)
{
	struct dev d;

	binary = stub_binary(argc, argv);
	if (access(binary, X_OK)) {
		printf("skip: %s is not there\n", binary);
		return 77;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	dev_start(&d, binary, 64 * MIB);
	test_order(&d);
	test_waits(&d);
	test_legacy(&d);
	test_memory(&d);
	test_vmm(&d);
	test_tables(&d);
	test_launch(&d);
	test_stalled(&d);
	for (unsigned i = 0; i < 5; i++)
		test_random_order(&d, 4242 + i);
	test_sleep(&d);
	test_segments(&d);
	CHECK(dev_alive(&d));
	for (unsigned i = 0; i < d.logs; i++)
		printf("     log: %s\n", d.log[i]);
	EQUAL(dev_stop(&d), 0);
	test_fault();
	test_malformed();
	printf("%s: %u checks, %u failed\n", failed ? "FAIL" : "ok", checks, failed);
	return failed ? 1 : 0;
}
