/* SPDX-License-Identifier: MIT */
/*
 * vgpu_check.c against a second opinion: the rules written down again, in 128-bit arithmetic and
 * from the comments of the contract rather than from the code. A table of cases by hand, then random
 * commands whose numbers gather at the borders.
 *
 * Sources: tests/unit/test_check.c fw-protocol/vgpu_check.c      Flags: -Ifw-protocol
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vgpu_check.h"
#include "vgpu_client.h"

typedef unsigned __int128 wide;

#define SPAN VGPU_SPAN_BASE_DEFAULT
#define DEV VGPU_DEVICE_BASE(SPAN, 1)
#define HEAP (DEV + VGPU_ARENA_BYTES)

static const struct vgpu_check_env env = {
	.window_base = SPAN, .window_bytes = VGPU_WINDOW_SPAN, .device_base = DEV, .device_bytes = VGPU_DEVICE_SPAN,
	.arena_bytes = VGPU_ARENA_BYTES };

static unsigned failed, checks, accepted;
static uint64_t seed = 0x9e3779b97f4a7c15ull;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* ---- the second opinion -------------------------------------------------------------------- */

static int in(wide addr, wide bytes, wide base, wide size)
{
	return addr >= base && addr + bytes <= base + size;
}

static int somewhere(wide addr, wide bytes)
{
	return in(addr, bytes, env.window_base, env.window_bytes) || in(addr, bytes, env.device_base, env.device_bytes);
}

/* Does the box stay inside? As long as one of window or device holds its first and last byte. */
static int box(wide addr, wide width, wide height, wide depth, wide pitch, wide slice)
{
	wide extent;

	if (!width || !height || !depth)
		return 1;
	extent = (height - 1) * pitch;                  /* < 2^128 */
	if (extent >> 64 || ((depth - 1) * slice) >> 64)
		return 0;
	extent += (depth - 1) * slice + width;
	return extent >> 64 ? 0 : somewhere(addr, extent);
}

static int heap(uint64_t va, uint64_t bytes, uint64_t page)
{
	return bytes && va % page == 0 && bytes % page == 0 &&
	       in(va, bytes, (wide)env.device_base + env.arena_bytes, (wide)env.device_bytes - env.arena_bytes);
}

static int phys(uint64_t at, uint64_t bytes)
{
	return bytes && at % VGPU_HUGE == 0 && bytes % VGPU_HUGE == 0 && in(at, bytes, 0, VGPU_PHYS_SPAN);
}

static int window(uint64_t at, wide bytes)
{
	return in(at, bytes, env.window_base, env.window_bytes);
}

static int model_ctl(const struct vgpu_cmd *c)
{
	const struct vgpu_body_ctl *b = &c->u.ctl;

	if (c->flags || c->stream || c->wait_tl || c->wait_value || b->reply >= 64 || b->context >= 8)
		return 0;
	switch (c->op) {
	case VGPU_OP_MEM_ALLOC: case VGPU_OP_MEM_FREE: case VGPU_OP_DEVICE_HEAP: return heap(b->a, b->b, 4096);
	case VGPU_OP_STACK: return b->a <= 524288;
	case VGPU_OP_PHYS_ALLOC: case VGPU_OP_PHYS_FREE: return phys(b->a, b->b);
	case VGPU_OP_VMM_MAP: return heap(b->a, b->b, VGPU_HUGE) && phys(b->c, b->b);
	case VGPU_OP_VMM_UNMAP: return heap(b->a, b->b, VGPU_HUGE);
	case VGPU_OP_MODULE_BEGIN: return b->a >= 1 && b->a <= 1ull << 30;
	case VGPU_OP_MODULE_DATA: return b->a <= 1ull << 30 && b->c <= 1ull << 30 && window(b->b, b->c);
	case VGPU_OP_MODULE_COMMIT: return b->c <= 1 && window(b->a, b->b);
	case VGPU_OP_MODULE_TABLE: case VGPU_OP_MODULE_MANAGED: case VGPU_OP_CORE: return window(b->a, b->b);
	case VGPU_OP_FUNC_INFO: return b->b <= 1ull << 30 && b->c <= 1ull << 30 && window(b->a, (wide)b->b + b->c);
	case VGPU_OP_MODULE_UNLOAD: case VGPU_OP_PING: case VGPU_OP_AGENT_PING: return 1;
	}
	return 0;
}

static int model_io(const struct vgpu_cmd *c)
{
	unsigned bytes = 0;

	/* four bits, and a number from 0 to 5 at bit 4 */
	if (c->flags & 0xff80 || c->flags / 16 % 8 > 5)
		return 0;
	/* bit 31 | context << 16 | stream, nothing else */
	if (c->wait_tl && ((c->wait_tl & 0x80000000u) == 0 || (c->wait_tl & 0x7fffffff) >> 16 >= 8 || (c->wait_tl & 0xffff) >= 1024))
		return 0;
	if (c->op == VGPU_OP_LAUNCH)
		bytes = c->u.launch.param_bytes;
	else if (c->op == VGPU_OP_COPY3D)
		bytes = 56;
	else if (c->op == VGPU_OP_GEMM || c->op == VGPU_OP_TRSM)
		bytes = 112;
	else if (c->op == VGPU_OP_LAUNCH_LARGE)
		bytes = c->u.launch.param_bytes >= 4097 && c->u.launch.param_bytes <= 32764 ? 56 : 5000;
	else if (c->op == VGPU_OP_COPY_INLINE)
		bytes = c->u.copy.bytes > 4096 ? 5000 : (unsigned)c->u.copy.bytes;
	if (bytes > 4096 || c->slots != 1 + (bytes + 55) / 56)
		return 0;
	switch (c->op) {
	case VGPU_OP_NOP: case VGPU_OP_COPY3D:
		return 1;
	case VGPU_OP_LAUNCH: case VGPU_OP_LAUNCH_LARGE:
		for (int i = 0; i < 3; i++)
			if (!c->u.launch.grid[i] || !c->u.launch.block[i])
				return 0;
		/* three bytes of a cluster's shape, none of them 0 or all */
		return !(c->u.launch.attrs & 0xfe) && (!(c->u.launch.attrs >> 8) ||
			((c->u.launch.attrs >> 8 & 255) && (c->u.launch.attrs >> 16 & 255) && c->u.launch.attrs >> 24));
	case VGPU_OP_COPY:
		return somewhere(c->u.copy.dst, c->u.copy.bytes) && somewhere(c->u.copy.src, c->u.copy.bytes);
	case VGPU_OP_COPY_INLINE:
		return c->u.copy.src == 0 && somewhere(c->u.copy.dst, c->u.copy.bytes);
	case VGPU_OP_FILL: {
		const struct vgpu_body_fill *f = &c->u.fill;
		wide row = (wide)f->width * f->elem_bytes;

		if ((f->elem_bytes != 1 && f->elem_bytes != 2 && f->elem_bytes != 4) || f->dst % f->elem_bytes || row >> 64 ||
		    (f->height > 1 && f->pitch < row))
			return 0;
		return box(f->dst, row, f->height, 1, f->pitch, 0);
	}
	case VGPU_OP_EVENT:
		return c->u.event.record % 16 == 0 && window(c->u.event.record, 16);
	case VGPU_OP_GEMM: case VGPU_OP_TRSM:
		return c->u.gemm.batch >= 1 && c->u.gemm.flags <= 1;
	case VGPU_OP_WAIT_VALUE: case VGPU_OP_WRITE_VALUE:
		return (c->u.value.bytes == 4 || c->u.value.bytes == 8) && c->u.value.addr % c->u.value.bytes == 0 &&
		       c->u.value.compare <= 3 && somewhere(c->u.value.addr, c->u.value.bytes);
	}
	return 0;
}

static int model(const struct vgpu_cmd *c, enum vgpu_op_queue q, uint64_t index)
{
	int io = c->op >= 1 && c->op <= 12, ctl = c->op >= 64 && c->op <= 81;

	if (c->seq != (uint32_t)(index + 1) || c->ticket != index + 1 || c->stream >= 1024)
		return 0;
	if (q == VGPU_Q_IO)
		return io && model_io(c);
	return ctl && c->slots == 1 && model_ctl(c);
}

/* ---- cases --------------------------------------------------------------------------------- */

static void one(const struct vgpu_cmd *c, enum vgpu_op_queue q, uint64_t index, int expect, const char *what)
{
	int got = vgpu_check_cmd(c, q, index, &env) == VGPU_ST_OK;

	checks++;
	accepted += got;
	if (got == expect && model(c, q, index) == expect)
		return;
	failed++;
	printf("FAIL %s: op %u slots %u: check says %d, model %d, expected %d\n", what, c->op, c->slots, got, model(c, q, index),
	       expect);
}

static struct vgpu_cmd cmd(unsigned op, unsigned slots)
{
	struct vgpu_cmd c = { .seq = 8, .op = (uint8_t)op, .slots = (uint8_t)slots, .ticket = 8 };

	return c;
}

static void by_hand(void)
{
	struct vgpu_cmd c = cmd(VGPU_OP_NOP, 1);

	one(&c, VGPU_Q_IO, 7, 1, "nop");
	one(&c, VGPU_Q_IO, 8, 0, "nop at another place");
	one(&c, VGPU_Q_IO, 7 + (1ull << 32), 0, "nop one 2^32 later: seq fits, ticket does not");
	one(&c, VGPU_Q_CTL, 7, 0, "nop in the control queue");
	c.slots = 0;
	one(&c, VGPU_Q_IO, 7, 0, "no slots");
	c = cmd(VGPU_OP_NOP, 1);
	c.wait_tl = VGPU_WAIT_TL(7, 1023);
	one(&c, VGPU_Q_IO, 7, 1, "wait on the last timeline");
	c.wait_tl = VGPU_WAIT_TL(8, 0);
	one(&c, VGPU_Q_IO, 7, 0, "wait on context 8");
	c.wait_tl = 5;
	one(&c, VGPU_Q_IO, 7, 0, "wait without bit 31");
	c = cmd(VGPU_OP_LAUNCH, 1);
	for (int i = 0; i < 3; i++)
		c.u.launch.grid[i] = c.u.launch.block[i] = 1;
	one(&c, VGPU_Q_IO, 7, 1, "launch without parameters");
	c.u.launch.param_bytes = 4096;
	c.slots = 75;
	one(&c, VGPU_Q_IO, 7, 1, "launch with 4 KiB of parameters");
	c.u.launch.param_bytes = 4097;
	one(&c, VGPU_Q_IO, 7, 0, "launch with more");
	c.slots = 0;
	one(&c, VGPU_Q_IO, 7, 0, "launch with more, in no slots (found by fuzzing)");
	c.op = VGPU_OP_LAUNCH_LARGE;
	c.slots = 2;
	one(&c, VGPU_Q_IO, 7, 1, "large launch, one byte above the inline ones");
	c.u.launch.param_bytes = 4096;
	one(&c, VGPU_Q_IO, 7, 0, "large launch of what is inline");
	c.u.launch.param_bytes = 32764;
	one(&c, VGPU_Q_IO, 7, 1, "large launch, all there may be");
	c.slots = 1;
	one(&c, VGPU_Q_IO, 7, 0, "large launch that does not say where");
	c.slots = 2;
	c.u.launch.param_bytes = 32765;
	one(&c, VGPU_Q_IO, 7, 0, "large launch, one byte more");
	c.op = VGPU_OP_LAUNCH;
	c.u.launch.param_bytes = 57;
	c.slots = 3;
	one(&c, VGPU_Q_IO, 7, 1, "57 bytes are two payload slots");
	c.u.launch.block[2] = 0;
	one(&c, VGPU_Q_IO, 7, 0, "empty block");
	c = cmd(VGPU_OP_COPY, 1);
	c.u.copy.dst = SPAN;
	c.u.copy.src = HEAP;
	c.u.copy.bytes = VGPU_DEVICE_SPAN - VGPU_ARENA_BYTES;
	one(&c, VGPU_Q_IO, 7, 1, "copy of all of the heap");
	c.u.copy.bytes++;
	one(&c, VGPU_Q_IO, 7, 0, "and one byte more");
	c.u.copy.bytes = ~0ull;
	one(&c, VGPU_Q_IO, 7, 0, "copy that wraps");
	c = cmd(VGPU_OP_EVENT, 1);
	c.u.event.record = SPAN + VGPU_WINDOW_SPAN - 16;
	one(&c, VGPU_Q_IO, 7, 1, "event in the window's last line");
	c.u.event.record = DEV;
	one(&c, VGPU_Q_IO, 7, 0, "event in device memory");
	c = cmd(VGPU_OP_MEM_ALLOC, 1);
	c.u.ctl.a = HEAP;
	c.u.ctl.b = 4096;
	one(&c, VGPU_Q_CTL, 7, 1, "alloc");
	c.u.ctl.a = HEAP - 4096;
	one(&c, VGPU_Q_CTL, 7, 0, "alloc in the arena");
	c.u.ctl.a = HEAP;
	c.u.ctl.b = 0;
	one(&c, VGPU_Q_CTL, 7, 0, "alloc of nothing");
	c.u.ctl.b = VGPU_DEVICE_SPAN;
	one(&c, VGPU_Q_CTL, 7, 0, "alloc into the next device");
	c = cmd(VGPU_OP_AGENT_PING, 1);
	c.u.ctl.reply = 64;
	one(&c, VGPU_Q_CTL, 7, 0, "reply slot 64");
}

/* ---- random ------------------------------------------------------------------------------------ */

static uint64_t number(void)
{
	static const uint64_t places[] = { 0, SPAN, SPAN + VGPU_SEG0_BYTES, SPAN + VGPU_WINDOW_SPAN, DEV, HEAP, HEAP + (1ull << 30),
					   DEV + VGPU_DEVICE_SPAN, VGPU_GIB, VGPU_PHYS_SPAN, VGPU_HUGE, 4096, 1ull << 32, ~0ull };
	static const uint64_t steps[] = { 0, 1, 4, 8, 15, 16, 56, 4096, VGPU_HUGE };
	uint64_t at = places[rnd() % (sizeof(places) / sizeof(places[0]))];
	uint64_t step = steps[rnd() % (sizeof(steps) / sizeof(steps[0]))];

	switch (rnd() % 8) {
	case 0: return rnd();
	case 1: return rnd() % 5000;
	case 2: return at - step;
	default: return at + step;
	}
}

static void random_commands(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct vgpu_cmd c;
		uint64_t index = rnd() % 4 ? rnd() % 3000 : rnd();
		enum vgpu_op_queue q = rnd() & 1 ? VGPU_Q_IO : VGPU_Q_CTL;
		int io = q == VGPU_Q_IO;
		unsigned bytes;

		memset(&c, 0, sizeof(c));
		c.op = (uint8_t)(rnd() % 16 ? (io ? 1 + rnd() % 12 : 64 + rnd() % 14) : rnd());
		c.seq = (uint32_t)(index + 1);
		c.ticket = index + 1;
		c.slots = 1;
		for (int w = 0; w < 4; w++)
			c.u.w[w] = number();
		if (io) {
			c.stream = (uint32_t)(rnd() % 32 ? rnd() % 1024 : rnd());
			c.flags = (uint16_t)(rnd() % 32 ? (rnd() & 15) | (rnd() % 4 ? 0 : rnd() % 8 << 4) : rnd());
			c.wait_tl = (uint32_t)(rnd() % 4 ? 0 : rnd() % 4 ? 0x80000000u | (rnd() % 9 << 16) | rnd() % 1030 : rnd());
		} else {
			c.u.ctl.reply = (uint16_t)(rnd() % 66);
			c.u.ctl.context = (uint16_t)(rnd() % 9);
		}
		switch (c.op) {
		case VGPU_OP_LAUNCH: case VGPU_OP_LAUNCH_LARGE:
			for (int k = 0; k < 3; k++) {
				c.u.launch.grid[k] = (uint32_t)(rnd() % 20);
				c.u.launch.block[k] = (uint16_t)(rnd() % 20);
			}
			c.u.launch.param_bytes = (uint16_t)(c.op == VGPU_OP_LAUNCH ? rnd() % 4300 : rnd() % 4 ? 4000 + rnd() % 200 : 32700 + rnd() % 100);
			c.u.launch.attrs = rnd() % 8 ? (uint32_t)(rnd() & 1) : (uint32_t)rnd();
			break;
		case VGPU_OP_COPY_INLINE:
			c.u.copy.src = rnd() % 8 ? 0 : 1;
			c.u.copy.bytes = rnd() % 8 ? rnd() % 4200 : number();
			break;
		case VGPU_OP_FILL:
			c.u.fill.elem_bytes = (uint32_t)(rnd() % 6);
			c.u.fill.height = (uint32_t)(rnd() % 4);
			c.u.fill.width = rnd() % 2 ? rnd() % 5000 : number();
			c.u.fill.pitch = (uint32_t)(rnd() % 4 ? rnd() % 20000 : rnd());
			break;
		case VGPU_OP_GEMM: case VGPU_OP_TRSM:
			c.u.gemm.batch = (uint32_t)(rnd() % 3);
			c.u.gemm.flags = (uint32_t)(rnd() % 8 ? rnd() & 1 : rnd());
			break;
		case VGPU_OP_WAIT_VALUE: case VGPU_OP_WRITE_VALUE:
			c.u.value.bytes = (uint32_t)(rnd() % 10);
			c.u.value.compare = (uint32_t)(rnd() % 5);
			break;
		}
		bytes = c.op == VGPU_OP_LAUNCH ? c.u.launch.param_bytes : c.op == VGPU_OP_COPY3D || c.op == VGPU_OP_LAUNCH_LARGE ? 56 :
			c.op == VGPU_OP_GEMM || c.op == VGPU_OP_TRSM ? 112 :
			c.op == VGPU_OP_COPY_INLINE ? (unsigned)(c.u.copy.bytes % 4300) : 0;
		c.slots = (uint8_t)(rnd() % 32 ? 1 + (bytes + 55) / 56 : rnd() % 4);
		if (rnd() % 64 == 0)
			((uint8_t *)&c)[rnd() % 32] ^= (uint8_t)(1u << rnd() % 8);
		one(&c, q, index, model(&c, q, index), "random");
	}
}

/* Where large parameters lie: in the window, and nothing else is said. */
static void random_places(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct vgpu_cmd c = cmd(VGPU_OP_LAUNCH_LARGE, 2);
		struct vgpu_params_at p = { .at = rnd() % 4 ? number() : SPAN + VGPU_WINDOW_SPAN - 4090 - rnd() % 20 };
		unsigned word = (unsigned)(rnd() % 32);
		int expect, got;

		c.u.launch.param_bytes = (uint16_t)(4097 + rnd() % 8);
		if (word < 6)
			p.rsvd[word] = 1ull << rnd() % 64;
		expect = word >= 6 && window(p.at, c.u.launch.param_bytes);
		got = vgpu_check_params_at(&c, &p, &env) == VGPU_ST_OK;
		checks++;
		accepted += got;
		if (got == expect)
			continue;
		failed++;
		printf("FAIL parameters at %llx, %u bytes: check says %d\n", (unsigned long long)p.at, c.u.launch.param_bytes, got);
	}
}

static void random_copies(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct vgpu_cmd c = cmd(VGPU_OP_COPY3D, 2);
		struct vgpu_copy3d p;
		int expect, got;

		c.u.copy.dst = number();
		c.u.copy.src = number();
		c.u.copy.bytes = rnd() % 2 ? rnd() % 5000 : number();
		p.height = rnd() % 2 ? rnd() % 100 : number();
		p.depth = rnd() % 2 ? rnd() % 4 : number();
		p.dst_pitch = rnd() % 2 ? rnd() % 10000 : number();
		p.dst_slice = rnd() % 2 ? rnd() % 1000000 : number();
		p.src_pitch = rnd() % 2 ? rnd() % 10000 : number();
		p.src_slice = rnd() % 2 ? rnd() % 1000000 : number();
		p.rsvd = 0;
		expect = box(c.u.copy.dst, c.u.copy.bytes, p.height, p.depth, p.dst_pitch, p.dst_slice) &&
			 box(c.u.copy.src, c.u.copy.bytes, p.height, p.depth, p.src_pitch, p.src_slice);
		got = vgpu_check_copy3d(&c, &p, &env) == VGPU_ST_OK;
		checks++;
		accepted += got;
		if (got != expect && failed++ < 10)
			printf("FAIL copy3d %d: check %d, model %d\n", i, got, expect);
	}
}

/* One operand: where its last byte lies, in numbers that cannot overflow. */
static int gemm_operand(uint64_t addr, uint32_t rows, uint32_t cols, uint32_t ld, uint64_t stride, wide elem,
			const struct vgpu_body_gemm *b)
{
	wide columns = (wide)ld * cols * elem, slice = (wide)stride * elem;

	if (ld < rows || columns >> 64)
		return 0;
	if (b->flags)
		return addr % 8 == 0 && somewhere(addr, (wide)b->batch * 8);
	return addr % elem == 0 && slice >> 64 == 0 && box(addr, (wide)rows * elem, cols, b->batch, (wide)ld * elem, slice);
}

static wide size_of(uint8_t type)
{
	static const uint8_t sizes[] = { 0, 4, 2, 2, 8, 1, 4 };

	return sizes[type];
}

/* Bytes by bytes into a whole number, or into a float, whose factors are of that type */
static int bytes_by_bytes(const uint8_t t[4])
{
	return t[0] == 5 && t[1] == 5 && ((t[2] == 6 && t[3] == 6) || (t[2] == 1 && t[3] == 1));
}

static int model_gemm(const struct vgpu_cmd *c, const struct vgpu_gemm *p)
{
	const struct vgpu_body_gemm *b = &c->u.gemm;
	uint8_t t[4] = { p->type_a, p->type_b, p->type_c, p->type_scalar };
	uint32_t order = p->right ? p->n : p->m;
	uint64_t at[2] = { p->alpha_at, p->beta_at };
	int doubles = 0;

	for (int i = 0; i < 4 && !bytes_by_bytes(t); i++) {
		if (t[i] < 1 || t[i] > 4)
			return 0;
		doubles += t[i] == 4;
	}
	if (doubles % 4 || !p->m || !p->n || p->trans_a > 1 || p->trans_b > 1 || p->right > 1 || p->upper > 1 || p->unit > 1)
		return 0;
	for (int i = 0; i < 23; i++)
		if (p->rsvd[i])
			return 0;
	for (int i = 0; i < 2; i++)
		if (at[i] && (at[i] % size_of(p->type_scalar) || !somewhere(at[i], size_of(p->type_scalar))))
			return 0;
	if (!gemm_operand(b->c, p->m, p->n, p->ldc, p->stride_c, size_of(p->type_c), b))
		return 0;
	if (c->op == VGPU_OP_TRSM)
		return b->b == 0 && p->k == 0 && p->type_a == p->type_c &&
		       gemm_operand(b->a, order, order, p->lda, p->stride_a, size_of(p->type_a), b);
	if (p->right || p->upper || p->unit)
		return 0;
	return !p->k || (gemm_operand(b->a, p->trans_a ? p->k : p->m, p->trans_a ? p->m : p->k, p->lda, p->stride_a,
				      size_of(p->type_a), b) &&
			 gemm_operand(b->b, p->trans_b ? p->n : p->k, p->trans_b ? p->k : p->n, p->ldb, p->stride_b,
				      size_of(p->type_b), b));
}

/* Half of them are sensible but for one field, so that both answers are common. */
static void random_gemms(unsigned n)
{
	unsigned taken = 0;

	for (unsigned i = 0; i < n; i++) {
		struct vgpu_cmd c = cmd(rnd() % 4 ? VGPU_OP_GEMM : VGPU_OP_TRSM, 3);
		struct vgpu_gemm p = { .m = 1 + (uint32_t)(rnd() % 100), .n = 1 + (uint32_t)(rnd() % 100),
				       .k = c.op == VGPU_OP_GEMM ? (uint32_t)(rnd() % 100) : 0,
				       .lda = 100 + (uint32_t)(rnd() % 9), .ldb = 100, .ldc = 100, .type_scalar = 1 };
		uint64_t *a[] = { &c.u.gemm.a, &c.u.gemm.b, &c.u.gemm.c, &p.alpha_at, &p.beta_at, &p.stride_a, &p.stride_b, &p.stride_c };
		uint32_t *w[] = { &p.m, &p.n, &p.k, &p.lda, &p.ldb, &p.ldc, &c.u.gemm.batch };
		uint8_t *t[] = { &p.type_a, &p.type_b, &p.type_c, &p.type_scalar, &p.trans_a, &p.trans_b, &p.right, &p.upper, &p.unit,
				 &p.rsvd[0], &p.rsvd[22] };
		int expect, got;

		c.u.gemm.batch = 1 + (uint32_t)(rnd() % 4);
		c.u.gemm.flags = (uint32_t)(rnd() % 2);
		c.u.gemm.a = HEAP;
		c.u.gemm.b = c.op == VGPU_OP_GEMM ? SPAN + 4096 : 0;
		c.u.gemm.c = DEV + VGPU_DEVICE_SPAN - (rnd() % 1000) * 400;
		p.type_a = p.type_b = (uint8_t)(1 + rnd() % 3);
		p.type_c = c.op == VGPU_OP_TRSM ? p.type_a : (uint8_t)(1 + rnd() % 3);
		if (rnd() % 8 == 0)
			p.type_a = p.type_b = p.type_c = p.type_scalar = VGPU_GEMM_F64;
		if (rnd() % 8 == 0) {
			p.type_a = p.type_b = VGPU_GEMM_I8;
			p.type_c = p.type_scalar = rnd() % 2 ? VGPU_GEMM_I32 : VGPU_GEMM_F32;
		}
		p.trans_a = rnd() & 1;
		if (c.op == VGPU_OP_TRSM) {
			p.right = rnd() & 1;
			p.upper = rnd() & 1;
		}
		switch (rnd() % 8) {
		case 0: *a[rnd() % 8] = number(); break;
		case 1: *w[rnd() % 7] = (uint32_t)(rnd() % 4 ? rnd() % 300 : rnd()); break;
		case 2: *t[rnd() % 11] = (uint8_t)(rnd() % 8); break;
		case 3: *a[5 + rnd() % 3] = rnd() % 20000; break;
		}
		expect = model_gemm(&c, &p);
		got = vgpu_check_gemm(&c, &p, &env) == VGPU_ST_OK;
		checks++;
		taken += got;
		if (got != expect && failed++ < 10)
			printf("FAIL gemm %u: check %d, model %d\n", i, got, expect);
	}
	accepted += taken;
	if (taken < n / 4 || taken > n / 10 * 9) {
		printf("FAIL gemm: %u of %u accepted, the mix is bad\n", taken, n);
		failed++;
	}
}

int main(void)
{
	by_hand();
	random_gemms(300000);
	random_commands(400000);
	random_copies(200000);
	random_places(200000);
	printf("test_check: %u checks (%u commands accepted), %u failed\n", checks, accepted, failed);
	return failed ? 1 : 0;
}
