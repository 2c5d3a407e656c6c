/* SPDX-License-Identifier: MIT */
/* Misbehaviour with memory and kernels: holes in the window, hoarding, kernels that never end, death in the middle. */
#define _GNU_SOURCE
#include "raw.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD ".version 6.3\n.target sm_61\n.address_size 64\n"

static const char ptx_endless[] = HEAD
	".visible .entry endless(.param .u64 p)\n{\n\t.reg .b32 %r<3>;\n\t.reg .b64 %rd<3>;\n"
	"\tld.param.u64 %rd1, [p];\nL: ld.volatile.global.u32 %r1, [%rd1];\n\tadd.s32 %r2, %r1, 1;\n"
	"\tst.volatile.global.u32 [%rd1], %r2;\n\tbra.uni L;\n}\n";

/* Stores everywhere a number says, to look for memory that is not ours. */
static const char ptx_poke[] = HEAD
	".visible .entry poke(.param .u64 p)\n{\n\t.reg .b32 %r<3>;\n\t.reg .b64 %rd<3>;\n"
	"\tld.param.u64 %rd1, [p];\n\tld.global.u32 %r1, [%rd1];\n\tst.global.u32 [%rd1], %r1;\n\tret;\n}\n";

static const char ptx_printf[] = HEAD
	".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
	".global .align 1 .b8 text[8] = {115, 112, 97, 109, 115, 112, 10, 0};\n"
	".visible .entry spam(.param .u64 p)\n{\n\t.reg .b32 %r<3>;\n\t.reg .b64 %rd<4>;\n\t.reg .pred %q;\n"
	"\tmov.u32 %r1, 0;\n\tmov.u64 %rd1, text;\n\tcvta.global.u64 %rd2, %rd1;\n\tmov.u64 %rd3, 0;\n"
	"L:\n\t{\n\t.param .b64 f;\n\tst.param.b64 [f+0], %rd2;\n\t.param .b64 a;\n\tst.param.b64 [a+0], %rd3;\n"
	"\t.param .b32 r;\n\tcall.uni (r), vprintf, (f, a);\n\tld.param.b32 %r2, [r+0];\n\t}\n"
	"\tadd.s32 %r1, %r1, 1;\n\tsetp.lt.u32 %q, %r1, 20000;\n\t@%q bra L;\n\tret;\n}\n";

/* Looks at a word of its parameters for a while, and stores in p[0] how often it was another one; p[1]: it has run. */
static const char ptx_steady[] = HEAD
	".visible .entry steady(.param .u64 p, .param .align 4 .b8 w[4344])\n{\n\t.reg .b32 %r<6>;\n\t.reg .b64 %rd<5>;\n\t.reg .pred %q;\n"
	"\tld.param.u64 %rd1, [p];\n\tmov.u64 %rd2, w;\n\tld.param.u32 %r1, [%rd2+4000];\n\tmov.u32 %r2, 0;\n\tmov.u32 %r3, 0;\n"
	"L:\tshr.u32 %r5, %r3, 31;\n\tcvt.u64.u32 %rd3, %r5;\n\tadd.u64 %rd4, %rd2, %rd3;\n\tld.param.u32 %r4, [%rd4+4000];\n\tsetp.ne.u32 %q, %r1, %r4;\n\t@%q add.u32 %r2, %r2, 1;\n\tadd.u32 %r3, %r3, 1;\n"
	"\tsetp.lt.u32 %q, %r3, 50000;\n\t@%q bra L;\n\tst.global.u32 [%rd1], %r2;\n\tst.global.u32 [%rd1+4], %r3;\n\tret;\n}\n";

static int open_one(struct raw *r)
{
	int c;

	if (raw_open(r))
		return -1;
	c = raw_context(r);
	if (c < 0)
		raw_close(r);
	return c;
}

/* The window's pages are taken away from below while agent and device use them. */
static void punch(void)
{
	static const uint64_t where[] = { 0, VGPU_CTLQ_OFFSET, VGPU_REPLY_OFFSET, VGPU_CTX_OFFSET(0),
		VGPU_CTX_OFFSET(0) + VGPU_CTX_TIMELINES, VGPU_CTX_OFFSET(0) + VGPU_CTX_IOQ, VGPU_STAGING_OFFSET };
	const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

	for (unsigned i = 0; raw_time_left(0.4); i++) {
		struct vgpu_cmd c = { .op = VGPU_OP_FILL, .slots = 1 };
		struct raw r;
		int ctx = open_one(&r);

		if (ctx < 0) {
			raw_nap_ms(5);
			continue;
		}
		c.u.fill.dst = raw_va(&r, VGPU_STAGING_OFFSET);
		c.u.fill.width = VGPU_STAGING_BYTES;
		c.u.fill.height = 1;
		c.u.fill.elem_bytes = 1;
		c.u.fill.value = i;
		for (int k = 0; k < 8; k++) {
			raw_io(&r, (unsigned)ctx, &c, NULL, 0, 0);
			if (i % 8 < 7)
				fallocate(r.seg_fd, mode, (off_t)where[i % 8], i & 8 ? 4096 : VGPU_STAGING_BYTES);
			else
				fallocate(r.seg_fd, mode, 0, VGPU_SEG0_BYTES);
			/* A whole huge page too, where the window has them. */
			fallocate(r.seg_fd, mode, 0, VGPU_HUGE);
			raw_kick(&r);
		}
		raw_nap_ms(3);
		raw_close(&r);
	}
}

/*
 * The same, drained: the pages freed by the holes are taken at once, by ourselves (any process may have
 * hugepages of the pool), so that a look at the window cannot bring them back.
 */
static void drain(void)
{
	const size_t huge = 2u << 20;
	unsigned rounds = 0, taken = 0;

	while (raw_time_left(0.5)) {
		struct vgpu_cmd c = { .op = VGPU_OP_EVENT, .slots = 1 };
		void *grabbed[512];
		struct raw r;
		int ctx = open_one(&r), n = 0;

		if (ctx < 0) {
			raw_nap_ms(5);
			continue;
		}
		/* Work under way that will write into the window, then the floor goes. */
		c.u.event.record = raw_va(&r, VGPU_STAGING_OFFSET);
		for (unsigned k = 0; k < 50; k++)
			raw_io(&r, (unsigned)ctx, &c, NULL, 0, 0);
		/*
		 * The pool is emptied first. A busy agent touches the page again at once, so hole after hole
		 * is punched until we were faster; one that sleeps leaves us the time.
		 */
		if (rounds & 1)
			raw_nap_ms(120);
		for (int tries = 0, full = 0; n < 512 && tries < 400; tries++) {
			void *p;

			if (full)
				fallocate(r.seg_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, huge);
			p = mmap(NULL, huge, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0);
			if (p == MAP_FAILED) {
				full = 1;
				continue;
			}
			grabbed[n++] = p;
			if (full)
				break;
		}
		fallocate(r.seg_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, VGPU_SEG0_BYTES);
		taken += (unsigned)n;
		/* Make the agent look. Our own mapping is not touched: it would be our SIGBUS. */
		for (int k = 0; k < 20; k++) {
			uint64_t kick = 1;

			if (write(r.kick, &kick, sizeof kick) < 0)
				break;
			raw_nap_ms(2);
		}
		while (n)
			munmap(grabbed[--n], huge);
		raw_close(&r);
		rounds++;
	}
	raw_say("%u windows drained, %u hugepages taken", rounds, taken);
	if (!rounds)
		raw_miss("no context");
}

/* Kernels that never end, in many streams of all contexts; then the process just goes. */
static void endless(void)
{
	unsigned running = 0;
	struct raw r;

	if (raw_open(&r))
		return;
	for (unsigned k = 0; k < 4; k++) {
		int ctx = raw_context(&r);
		uint64_t p = raw_va(&r, VGPU_STAGING_OFFSET + 0x10000 + k * 64);
		uint32_t fn;

		if (ctx < 0)
			break;
		fn = raw_kernel(&r, (unsigned)ctx, ptx_endless, "endless");
		for (unsigned s = 1; fn && s < 40; s++)
			if (!raw_launch(&r, (unsigned)ctx, s, fn, &p, 8))
				running++;
	}
	raw_nap_ms(500);
	raw_say("%u endless kernels", running);
	if (!running)
		raw_miss("no kernel could be launched");
}

/* Addresses that a kernel or a copy must not reach: the context dies, and only that one. */
static void addresses(void)
{
	static const uint64_t bad[] = { 0, 16, 0x400000, 0x10000000, 0x7fff00000000, 0xffffffff80000000ull,
		VGPU_SPAN_BASE_DEFAULT + 4 * VGPU_GIB, VGPU_SPAN_BASE_DEFAULT + VGPU_TIB + VGPU_ARENA_BYTES, VGPU_SPAN_BASE_DEFAULT + VGPU_SPAN_BYTES,
		VGPU_SPAN_BASE_DEFAULT + 2 * VGPU_TIB, VGPU_SPAN_BASE_DEFAULT - 4096 };

	for (unsigned i = 0; i < 2 * sizeof bad / sizeof bad[0] && raw_time_left(0.3); i++) {
		uint64_t p = bad[i / 2];
		struct raw r;
		int ctx = open_one(&r), st;

		if (ctx < 0) {
			raw_miss("no context");
			continue;
		}
		if (i & 1) {
			struct vgpu_cmd c = { .op = VGPU_OP_COPY, .slots = 1, .stream = 1 };

			memset(raw_at(&r, VGPU_STAGING_OFFSET), 0xaa, 64);
			c.u.copy.dst = raw_va(&r, VGPU_STAGING_OFFSET);
			c.u.copy.src = p;
			c.u.copy.bytes = 64;
			raw_io(&r, (unsigned)ctx, &c, NULL, 0, 0);
			st = raw_wait(&r, (unsigned)ctx, 1, r.ticket, 300);
		} else {
			uint32_t fn = raw_kernel(&r, (unsigned)ctx, ptx_poke, "poke");

			if (!fn) {
				raw_miss("no kernel");
				st = 1;
			} else {
				raw_launch(&r, (unsigned)ctx, 1, fn, &p, 8);
				st = raw_wait(&r, (unsigned)ctx, 1, r.ticket, 300);
			}
		}
		/* The timeline is client memory: only the error word, written first, tells the outcome. */
		if (st == 0 && !vgpu_load_acquire32(&raw_head(&r, (unsigned)ctx)->error))
			raw_breach("%s at %#llx was done", i & 1 ? "a copy" : "a kernel's access", (unsigned long long)p);
		raw_close(&r);
	}
}

#define LARGE_AT (VGPU_STAGING_OFFSET + 0x20000)

static int large(struct raw *r, int ctx, uint32_t fn, uint64_t at, unsigned bytes, unsigned word)
{
	struct vgpu_cmd c = { .op = VGPU_OP_LAUNCH_LARGE, .slots = 2, .stream = 1 };
	struct vgpu_params_at p = { .at = at };

	if (word)
		p.rsvd[word - 1] = 1;
	c.u.launch = (struct vgpu_body_launch){ .fn = fn, .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .param_bytes = (uint16_t)bytes };
	return raw_io(r, (unsigned)ctx, &c, &p, sizeof p, 0);
}

/* Parameters out of line: where they are not, changed while the kernel looks at them, their pages gone. */
static void params(void)
{
	unsigned ran = 0;

	for (unsigned i = 0; raw_time_left(0.3); i++) {
		struct raw r;
		int ctx = open_one(&r), st;
		volatile uint32_t *out;
		uint64_t at, bad;
		uint32_t fn;

		if (ctx < 0) {
			raw_nap_ms(5);
			continue;
		}
		fn = raw_kernel(&r, (unsigned)ctx, ptx_steady, "steady");
		if (!fn) {
			raw_miss("no kernel");
			raw_close(&r);
			continue;
		}
		out = raw_at(&r, VGPU_STAGING_OFFSET + 0x10000);
		at = raw_va(&r, LARGE_AT);
		memcpy(raw_at(&r, LARGE_AT), &(uint64_t){ raw_va(&r, VGPU_STAGING_OFFSET + 0x10000) }, 8);
		bad = i & 8 ? raw_evil64() : raw_va(&r, VGPU_WINDOW_SPAN - 4351);
		switch (i % 4) {
		case 0:         /* another size, another place, words that are not there yet */
			if (i & 4)
				large(&r, ctx, fn, at, i & 16 ? 4096 : 32765, 0);
			else
				large(&r, ctx, fn, i & 16 ? at : bad - at < VGPU_WINDOW_SPAN / 2 ? 0 : bad, 4352, i & 16 ? 1 + i % 6 : 0);
			raw_wait(&r, (unsigned)ctx, 1, r.ticket, 300);
			if (!vgpu_load_acquire32(&raw_head(&r, (unsigned)ctx)->error))
				raw_breach("parameters where there are none were taken");
			break;
		case 1:         /* never the page again, or while the command is on its way */
			if (i & 4)
				fallocate(r.seg_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, LARGE_AT, 8192);
			large(&r, ctx, fn, at, 4352, 0);
			fallocate(r.seg_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, LARGE_AT, 8192);
			raw_wait(&r, (unsigned)ctx, 1, r.ticket, 300);
			break;
		default:
			large(&r, ctx, fn, at, 4352, 0);
			for (st = -1; st < 0 && raw_time_left(0.1);) {
				for (unsigned k = 0; k < 100000; k++)
					*(volatile uint32_t *)raw_at(&r, LARGE_AT + 8 + 4000) = k;
				st = raw_wait(&r, (unsigned)ctx, 1, r.ticket, 0);
			}
			if (!st && out[1]) {
				ran++;
				if (out[0])
					raw_breach("a kernel's parameters changed while it ran, %u times", out[0]);
			}
		}
		raw_close(&r);
	}
	raw_say("%u kernels looked at their parameters", ran);
	if (!ran)
		raw_miss("no kernel has run");
}

/* As much device memory as there is, in many pieces, overlapping, freed twice, never freed. */
static void hoard(void)
{
	struct raw r;
	int ctx = open_one(&r);
	uint64_t va, total = 0, step = 64ull << 20;
	unsigned pieces = 0;

	if (ctx < 0) {
		raw_miss("no context");
		return;
	}
	va = VGPU_DEVICE_BASE(r.span, 0) + VGPU_ARENA_BYTES;
	/* Twice the same place, half over another one. */
	if (raw_alloc(&r, (unsigned)ctx, va, 2 << 20) == VGPU_ST_OK) {
		if (raw_alloc(&r, (unsigned)ctx, va, 2 << 20) == VGPU_ST_OK)
			raw_breach("the same memory was allocated twice");
		if (raw_alloc(&r, (unsigned)ctx, va + (1 << 20), 2 << 20) == VGPU_ST_OK)
			raw_breach("overlapping memory was allocated");
	}
	/* Steps halve when refused, so that nothing is left above 64 KiB; a little is then given back. */
	va += 1ull << 30;
	while (step >= 65536 && (!pieces || raw_time_left(0.6))) {
		struct vgpu_cmd c = { .op = VGPU_OP_FILL, .slots = 1 };

		if (raw_alloc(&r, (unsigned)ctx, va, step) != VGPU_ST_OK) {
			step /= 2;
			continue;
		}
		c.u.fill.dst = va;
		c.u.fill.width = step / 4096 * 4;
		c.u.fill.height = 1;
		c.u.fill.elem_bytes = 1;
		raw_io(&r, (unsigned)ctx, &c, NULL, 0, 0);
		va += step;
		total += step;
		pieces++;
	}
	raw_say("%u pieces, %llu MiB", pieces, (unsigned long long)(total >> 20));
	if (!pieces)
		raw_miss("no memory could be allocated");
	raw_nap_ms(100);
	/* Off the grid, into the engine's arena, across the end: malformed, so one of them at least ends this session. */
	raw_alloc(&r, (unsigned)ctx, va + 1, 4096);
	raw_alloc(&r, (unsigned)ctx, VGPU_DEVICE_BASE(r.span, 0), 4096);
	raw_alloc(&r, (unsigned)ctx, VGPU_DEVICE_BASE(r.span, 1) - 4096, 8192);
}

/* printf text that nobody collects. */
static void spam(void)
{
	struct raw r;
	int ctx = open_one(&r);
	uint64_t p = 0;
	uint32_t fn;

	if (ctx < 0) {
		raw_miss("no context");
		return;
	}
	fn = raw_kernel(&r, (unsigned)ctx, ptx_printf, "spam");
	for (unsigned s = 1; fn && s < 20; s++)
		raw_launch(&r, (unsigned)ctx, s, fn, &p, 8);
	/* First nobody reads, then the reader's position is a lie. */
	for (int i = 0; i < 50 && raw_time_left(0.3); i++) {
		if (i > 10)
			raw_head(&r, (unsigned)ctx)->printf_tail = raw_rand64();
		raw_nap_ms(10);
	}
	raw_say("%llu bytes printed", (unsigned long long)raw_head(&r, (unsigned)ctx)->printf_head);
	if (!fn || !(raw_head(&r, (unsigned)ctx)->printf_head | raw_head(&r, (unsigned)ctx)->printf_lost))
		raw_miss("nothing was printed");
	raw_close(&r);
}

/* Dies by SIGKILL with kernels running and commands half written; a forked child keeps everything open. */
static void die_forked(void)
{
	struct raw r;
	int ctx = open_one(&r);
	uint64_t p;
	uint32_t fn;
	pid_t child;

	if (ctx < 0) {
		raw_miss("no context");
		return;
	}
	p = raw_va(&r, VGPU_STAGING_OFFSET + 0x20000);
	fn = raw_kernel(&r, (unsigned)ctx, ptx_endless, "endless");
	if (!fn) {
		raw_miss("no kernel");
		return;
	}
	for (unsigned s = 1; fn && s < 5; s++)
		raw_launch(&r, (unsigned)ctx, s, fn, &p, 8);
	raw_alloc(&r, (unsigned)ctx, VGPU_DEVICE_BASE(r.span, 0) + VGPU_ARENA_BYTES, 32 << 20);
	raw_nap_ms(50);
	child = fork();
	if (child == 0) {
		/* Alive for as long as the test looks, and still writing into the window: until it is killed. */
		for (int i = 0; i < 1200; i++) {
			struct vgpu_cmd c = { .op = VGPU_OP_NOP, .slots = 1 };

			raw_io(&r, (unsigned)ctx, &c, NULL, 0, 0);
			raw_nap_ms(100);
		}
		_exit(0);
	}
	raw_say("child %d", (int)child);
	kill(getpid(), SIGKILL);
}

/* Leaves at every point of a session: after connect, HELLO, context, module, launch; by exit and by SIGKILL. */
static void leave(void)
{
	for (unsigned i = 0; raw_time_left(0.6); i++) {
		pid_t pid = fork();
		struct raw r;
		int ctx;

		if (pid > 0) {
			waitpid(pid, NULL, 0);
			continue;
		}
		if (pid < 0)
			return;
		if (i % 6 == 0) {
			raw_connect();
		} else if (!raw_open(&r) && i % 6 > 1 && (ctx = raw_context(&r)) >= 0 && i % 6 > 2) {
			uint64_t p = raw_va(&r, VGPU_STAGING_OFFSET + 0x20000);
			uint32_t fn = raw_kernel(&r, (unsigned)ctx, ptx_endless, "endless");

			if (fn && i % 6 > 3)
				raw_launch(&r, (unsigned)ctx, 1, fn, &p, 8);
		}
		if (i & 1)
			kill(getpid(), SIGKILL);
		_exit(0);
	}
}

/* WINDOW_LENT with these: the answer's status; ~0: none came. */
static uint32_t lend(struct raw *r, uint64_t offset, uint64_t bytes, const int *fds, int n, struct vgpu_msg_grow_r *a)
{
	struct vgpu_msg_lent q = { .h = { VGPU_MSG_WINDOW_LENT, sizeof q }, .offset = offset, .bytes = bytes };

	if (raw_send(r->sock, &q, sizeof q, fds, n) || raw_recv(r->sock, a, sizeof *a, NULL, 0, 5000) <= 0)
		return ~0u;
	return a->status;
}

/* Files that are no memory, or not all there, or not to be written: refused, and the session goes on. */
static void lent_files(struct raw *r)
{
	int two[2], fds[9], n = 0;
	struct vgpu_msg_grow_r a;
	uint32_t st;

	if (pipe(two))
		return;
	fds[n++] = two[0];
	fds[n++] = two[1];
	fds[n++] = open("/dev/zero", O_RDWR);
	fds[n++] = open("/", O_RDONLY | O_DIRECTORY);
	fds[n++] = open("/", O_PATH);
	fds[n++] = r->sock;
	fds[n] = memfd_create("sealed", MFD_ALLOW_SEALING);
	if (ftruncate(fds[n], 1 << 20) || fcntl(fds[n], F_ADD_SEALS, F_SEAL_FUTURE_WRITE))
		raw_say("no seal");
	else
		n++;
	fds[n++] = r->pidfd;
	for (int i = 0; i < n; i++) {
		st = fds[i] < 0 ? VGPU_ST_NOT_SUPPORTED : lend(r, 0, VGPU_PAGE, &fds[i], 1, &a);
		if (st != VGPU_ST_NOT_SUPPORTED)
			raw_breach("file %d: status %u", i, st);
	}
	fds[0] = memfd_create("short", 0);
	if (ftruncate(fds[0], 5000))
		raw_miss("no memfd");
	for (unsigned i = 0; i < 4; i++) {
		static const uint64_t at[4][2] = { { 0, 3 * VGPU_PAGE }, { 2 * VGPU_PAGE, VGPU_PAGE }, { 1ull << 45, 1ull << 45 }, { VGPU_PAGE, 1ull << 46 } };

		st = lend(r, at[i][0], at[i][1], fds, 1, &a);
		if (st != VGPU_ST_INVALID)
			raw_breach("pages behind the end, %u: status %u", i, st);
	}
	if (lend(r, VGPU_PAGE, VGPU_PAGE, fds, 1, &a))
		raw_breach("the last page is not taken");
	close(fds[0]);
	close(two[0]);
	close(two[1]);
}

/*
 * A part of a file of the client's own as its window: files of every kind, none or too many of them; then one that is cut off and has
 * holes while kernels, fills and event records go there. What is in it is never the agent's to take.
 */
static void lent(void)
{
	unsigned rounds = 0, segments = 0;
	uint8_t *keep;
	int file = memfd_create("kept", 0), many[253];
	struct vgpu_msg_grow_r a;
	struct raw r;

	if (raw_open(&r) || ftruncate(file, 3 << 20) ||
	    (keep = mmap(NULL, 3 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)) == MAP_FAILED) {
		raw_miss("no session");
		return;
	}
	lent_files(&r);
	memset(keep, 0x77, 3 << 20);
	for (; raw_time_left(1) && !lend(&r, 0, 3 << 20, &file, 1, &a); segments++)
		if (a.bytes != 3 << 20)
			raw_breach("a segment of %llu bytes", (unsigned long long)a.bytes);
	raw_close(&r);
	for (unsigned i = 0; i < 253; i++)
		many[i] = file;
	for (unsigned i = 0; i < 3 && !raw_open(&r); i++) {
		if (lend(&r, i == 2, VGPU_PAGE, many, i == 0 ? 0 : i == 1 ? 253 : 1, &a) == VGPU_ST_OK)
			raw_breach("a message of the wrong kind, %u, is answered with a segment", i);
		raw_close(&r);
	}
	while (raw_time_left(0.3)) {
		int cut = memfd_create("cut", 0), ctx;
		struct vgpu_cmd c = { .op = VGPU_OP_FILL, .slots = 1 }, e = { .op = VGPU_OP_EVENT, .slots = 1 };
		uint64_t p;
		uint32_t fn;

		if (ftruncate(cut, 4 << 20) || (ctx = open_one(&r)) < 0) {
			close(cut);
			raw_nap_ms(5);
			continue;
		}
		if (rounds % 3 == 0 && ftruncate(cut, 1 << 20))         /* before it is anybody's */
			raw_say("not cut");
		if (!lend(&r, 0, rounds % 3 ? 4 << 20 : 1 << 20, &cut, 1, &a)) {
			c.u.fill.dst = p = raw_va(&r, a.offset);
			c.u.fill.width = a.bytes;
			c.u.fill.height = c.u.fill.elem_bytes = 1;
			e.u.event.record = raw_va(&r, a.offset + a.bytes - VGPU_PAGE);
			fn = raw_kernel(&r, (unsigned)ctx, ptx_endless, "endless");
			if (fn && rounds & 1)
				raw_launch(&r, (unsigned)ctx, 1, fn, &p, 8);
			for (int k = 0; k < 4; k++) {
				raw_io(&r, (unsigned)ctx, &c, NULL, 0, 0);
				raw_io(&r, (unsigned)ctx, &e, NULL, 0, 0);
				if (k == 1 && (rounds & 2 ? ftruncate(cut, 0) : fallocate(cut, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4 << 20)))
					raw_say("not cut");
			}
			raw_kick(&r);
			rounds++;
		}
		close(cut);
		raw_nap_ms(3);
		raw_close(&r);
	}
	for (unsigned i = 0; i < 3 << 20; i++)
		if (keep[i] != 0x77) {
			raw_breach("byte %u of a file that was lent is %u", i, keep[i]);
			break;
		}
	raw_say("%u segments, %u rounds", segments, rounds);
	if (!segments || !rounds)
		raw_miss("nothing was lent");
}

const struct mode memory_modes[] = {
	{ "punch", punch, "holes punched into the window in use" },
	{ "drain", drain, "a drained window, its pages taken by others" },
	{ "endless", endless, "endless kernels in many streams and contexts" },
	{ "addresses", addresses, "kernels and copies at addresses of others" },
	{ "params", params, "parameters in the window that are not there, change, go" },
	{ "hoard", hoard, "all the memory there is" },
	{ "spam", spam, "printf that nobody reads" },
	{ "die-forked", die_forked, "SIGKILL mid-kernel, a forked child lives on" },
	{ "lent", lent, "files of the client's own in the window: of all kinds, cut off, with holes" },
	{ "leave", leave, "gone at every point of a session" },
	{ NULL, NULL, NULL }
};
