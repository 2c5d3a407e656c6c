/* SPDX-License-Identifier: MIT */
/*
 * Random commands and control calls against a context: valid ones, and ones that only just pass or fail
 * the checks. Whatever comes, the process lives until its parent lets go, every control call is
 * answered, and every timeline moves on or the context's error word says why not.
 *
 * Sources: tests/unit/test_context_random.c (includes fw-protocol/vgpu_check.c and context_device.h)
 * Arguments: [vgpu-stub [first seed [rounds]]]; the binary is found as in test_context.c.
 */
#include "context_device.h"

#include "../../fw-protocol/vgpu_check.c"

#define COMMANDS 1500u
#define STREAMS 12u

static uint64_t state;

/* xorshift64 */
static uint32_t rnd(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 11) % n);
}

static uint64_t address(void)
{
	switch (rnd(5)) {
	case 0:
		return STAGING + 16 * rnd(1000);
	case 1:
		return MEMORY + rnd(8 * MIB);
	case 2:
		return MEMORY + 4096 * rnd(64);
	case 3:
		return STAGING + rnd(1000);
	}
	return MEMORY + MIB + 8 * rnd(100);
}

static const struct vgpu_check_env env = {
	.window_base = SPAN, .window_bytes = VGPU_WINDOW_SPAN, .device_base = DEVICE,
	.device_bytes = VGPU_DEVICE_SPAN, .arena_bytes = VGPU_ARENA_BYTES,
};

/* Only what an agent would let through. Returns 0 when the context did not answer. */
static int random_control(struct dev *d)
{
	struct vgpu_cmd c = { .op = (uint8_t)(VGPU_OP_MEM_ALLOC + rnd(16)), .slots = 1, .ticket = 1, .seq = 1 };
	struct vgpu_body_ctl *b = &c.u.ctl;

	*b = (struct vgpu_body_ctl){ .id = rnd(4) ? rnd(5) << 14 | rnd(3) : rnd(9), .a = address(),
				     .b = rnd(3) ? 4096 * rnd(300) : rnd(5000), .c = rnd(2) ? address() : rnd(5000) };
	switch (c.op) {
	case VGPU_OP_PHYS_ALLOC:
	case VGPU_OP_PHYS_FREE:
		b->a = VGPU_HUGE * rnd(6);
		b->b = VGPU_HUGE * (1 + rnd(3));
		break;
	case VGPU_OP_VMM_MAP:
	case VGPU_OP_VMM_UNMAP:
		b->a = MEMORY + VGPU_HUGE * (8 + rnd(8));
		b->b = VGPU_HUGE * (1 + rnd(3));
		b->c = VGPU_HUGE * rnd(6);
		break;
	case VGPU_OP_MODULE_BEGIN:
		b->a = rnd(2) ? rnd(3000) : b->a;
		break;
	case VGPU_OP_MODULE_DATA:
		b->a = rnd(3000);
		b->b = STAGING + rnd(4000);
		b->c = rnd(3000);
		break;
	case VGPU_OP_MODULE_COMMIT:
		b->c = rnd(2);
		/* fall through */
	case VGPU_OP_MODULE_TABLE:
		b->a = STAGING + rnd(2000);
		b->b = rnd(2000);
		break;
	}
	return vgpu_check_cmd(&c, VGPU_Q_CTL, 0, &env) || ctl(d, c.op, b->id, b->a, b->b, b->c, NULL) != ~0u;
}

static unsigned random_body(struct vgpu_cmd *c, uint8_t *payload)
{
	for (unsigned i = 0; i < 64; i++)
		payload[i] = (uint8_t)rnd(256);
	switch (c->op) {
	case VGPU_OP_LAUNCH:
		c->u.launch = (struct vgpu_body_launch){ .fn = rnd(9), .grid = { 1 + rnd(3), 1, 1 },
							 .block = { 1, 1, 1 }, .param_bytes = (uint16_t)rnd(4097) };
		return c->u.launch.param_bytes;
	case VGPU_OP_LAUNCH_LARGE: {
		struct vgpu_params_at p = { .at = rnd(4) ? STAGING + rnd(MIB) : address() };

		memcpy(payload, &p, sizeof(p));
		c->u.launch = (struct vgpu_body_launch){ .fn = rnd(9), .grid = { 1 + rnd(3), 1, 1 },
							 .block = { 1, 1, 1 }, .param_bytes = (uint16_t)(4090 + rnd(28690)) };
		return sizeof(p);
	}
	case VGPU_OP_COPY:
		c->u.copy = (struct vgpu_body_copy){ .dst = address(), .src = address(),
						     .bytes = rnd(4) ? rnd(5000) : rnd(2 * MIB) };
		break;
	case VGPU_OP_COPY_INLINE:
		c->u.copy = (struct vgpu_body_copy){ .dst = address(), .bytes = rnd(5) ? rnd(200) : rnd(4097) };
		return (unsigned)c->u.copy.bytes;
	case VGPU_OP_COPY3D: {
		struct vgpu_copy3d p = { .height = rnd(20), .depth = rnd(5), .dst_pitch = rnd(300),
					 .dst_slice = rnd(5000), .src_pitch = rnd(300), .src_slice = rnd(5000) };

		memcpy(payload, &p, sizeof(p));
		c->u.copy = (struct vgpu_body_copy){ .dst = address(), .src = address(), .bytes = rnd(300) };
		return sizeof(p);
	}
	case VGPU_OP_FILL:
		c->u.fill = (struct vgpu_body_fill){ .dst = address() & ~3ull, .width = rnd(3) ? rnd(300) : rnd(MIB),
						     .pitch = 4 * rnd(500), .height = rnd(20), .value = rnd(~0u),
						     .elem_bytes = 1u << rnd(3) };
		break;
	case VGPU_OP_EVENT:
		c->u.event.record = STAGING + 16 * rnd(1000);
		break;
	case VGPU_OP_WAIT_VALUE:
	case VGPU_OP_WRITE_VALUE:
		c->u.value = (struct vgpu_body_value){ .addr = address() & ~7ull, .value = rnd(3),
						       .bytes = 4u << rnd(2), .compare = VGPU_COMPARE_NOR };
		break;
	}
	return 0;
}

/* 0: as it should be. `wild`: now and then a command that the agent would have stopped. */
static int round_of(const char *binary, uint64_t seed, int wild)
{
	uint64_t last[STREAMS] = { 0 };
	uint8_t payload[VGPU_MAX_PARAM_BYTES + VGPU_SLOT_PAYLOAD] = { 0 };
	struct dev d;
	int rc = 0;

	state = seed * 0x9e3779b97f4a7c15ull | 1;
	dev_start(&d, binary, 16 * MIB);
	ctl(&d, VGPU_OP_MEM_ALLOC, 0, MEMORY, 8 * MIB, 0, NULL);
	for (unsigned i = 0; i < COMMANDS && !rc && d.head->error != VGPU_ST_PROTOCOL; i++) {
		struct vgpu_cmd c = cmd(rnd(10) ? 1 + rnd(9) : VGPU_OP_LAUNCH_LARGE, rnd(STREAMS)), t;
		unsigned bytes;

		if (!rnd(8)) {
			rc = !random_control(&d);
			continue;
		}
		c.flags = (uint16_t)rnd(4);
		if (!rnd(6)) {                  /* also on what will never come: that stream stands, others go on */
			uint32_t on = rnd(STREAMS);

			c.wait_tl = VGPU_WAIT_TL(rnd(8) ? CONTEXT : rnd(8), on);
			c.wait_value = rnd(20) ? last[on] : last[on] + rnd(200);
		}
		bytes = random_body(&c, payload);
		t = c;
		t.slots = (uint8_t)(1 + vgpu_payload_slots(bytes));
		t.ticket = t.seq = 1;
		if ((vgpu_check_cmd(&t, VGPU_Q_IO, 0, &env) ||
		     (c.op == VGPU_OP_LAUNCH_LARGE && vgpu_check_params_at(&c, (const void *)payload, &env)) ||
		     (c.op == VGPU_OP_COPY3D && vgpu_check_copy3d(&c, (const void *)payload, &env))) &&
		    (!wild || rnd(300)))
			continue;
		last[c.stream] = submit(&d, c, payload, bytes);
	}
	/* With an error everything that was taken is complete. Without, a stream may stand on a wait. */
	usleep(5000);
	if (!rc && d.head->error && d.head->error != VGPU_ST_PROTOCOL)
		for (unsigned s = 0; s < STREAMS; s++)
			rc |= !wait_ticket(&d, s, last[s], 2000) ||
			      (last[s] && d.head->error != d.ctx->error);
	if (!dev_alive(&d)) {
		printf("FAIL seed %llu: the context is gone; report: %s\n", (unsigned long long)seed, d.ctx->report);
		return 1;
	}
	if (rc)
		printf("FAIL seed %llu: no answer; error %u, report: %s\n", (unsigned long long)seed, d.head->error,
		       d.ctx->report);
	if (dev_stop(&d)) {
		printf("FAIL seed %llu: it does not end by itself\n", (unsigned long long)seed);
		rc = 1;
	}
	return rc;
}

int main(int argc, char **argv)
{
	const char *binary = stub_binary(argc, argv);
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	unsigned rounds = argc > 3 ? (unsigned)atoi(argv[3]) : 12, failed = 0;

	if (access(binary, X_OK)) {
		printf("skip: %s is not there\n", binary);
		return 77;
	}
	for (unsigned i = 0; i < rounds; i++)
		failed += (unsigned)round_of(binary, seed + i, i % 3 == 2);
	printf("%s: %u rounds of %u commands, %u failed\n", failed ? "FAIL" : "ok", rounds, COMMANDS, failed);
	return failed != 0;
}
