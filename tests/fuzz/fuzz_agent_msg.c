/* SPDX-License-Identifier: MIT */
/*
 * Bytes from strangers: the agent's socket messages, and command records as they stand in a queue.
 * What the parsers accept must then hold what their callers rely on.
 *
 * Sources: tests/fuzz/fuzz_agent_msg.c agent/message.c fw-protocol/vgpu_check.c
 * Flags: -Ifw-protocol -Iagent -fsanitize=fuzzer,address,undefined (clang)
 */
#include <stdint.h>
#include <string.h>

#include "../../agent/message.h"
#include "vgpu_check.h"
#include "vgpu_device.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NEED(x) do { if (!(x)) __builtin_trap(); } while (0)

/* Nothing, or a path below the root that people can read. */
static void cgroup(const char *path, size_t room)
{
	size_t n = strnlen(path, room);

	NEED(n < room && (!n || (path[0] == '/' && n > 1 && path[n - 1] != '/')));
	for (size_t i = 0; i < n; i++)
		NEED(path[i] >= 0x20 && path[i] < 0x7f && path[i] != '"' && path[i] != '\\');
}

static void message(const uint8_t *data, size_t size)
{
	union message m;
	const char *why;

	if (message_parse(data, size, &m, &why) < 0) {
		NEED(why && *why);
		return;
	}
	NEED(!why && m.h.bytes == size && size <= sizeof(m));
	switch (m.h.type) {
	case VGPU_MSG_HELLO:
		NEED(m.hello.magic == VGPU_SESSION_MAGIC && memchr(m.hello.command, 0, sizeof(m.hello.command)));
		for (const char *p = m.hello.command; *p; p++)
			NEED(*p >= 0x20 && *p < 0x7f && *p != '"' && *p != '\\');
		if (message_span_ok(m.hello.span_base))
			NEED((m.hello.span_base >= VGPU_SPAN_BASE_MIN ||
			      (m.hello.span_base >= 1ull << 34 && m.hello.span_base + VGPU_SPAN_BYTES <= 0x170000000000ull)) &&
			     (m.hello.span_base + VGPU_SPAN_BYTES <= VGPU_PROGRAMS_FROM || m.hello.span_base >= VGPU_PROGRAMS_TO) &&
			     m.hello.span_base + VGPU_SPAN_BYTES < 1ull << 47 && !(m.hello.span_base % VGPU_HUGE));
		break;
	case VGPU_MSG_CTX_CREATE:
		NEED(m.ctx.weight <= 1000);
		break;
	case VGPU_MSG_DEVICE:
	case VGPU_MSG_CTX_DESTROY:
	case VGPU_MSG_WINDOW_GROW:
	case VGPU_MSG_STATUS:
	case VGPU_MSG_LOAD:
	case VGPU_MSG_CONTEXTS:
	case VGPU_MSG_WINDOW_OWN:
	case VGPU_MSG_SHARE:
	case VGPU_MSG_SHARED_OPEN:
	case VGPU_MSG_MAP_AT:
		break;
	case VGPU_MSG_WINDOW_LENT:
		NEED(m.lent.bytes && !((m.lent.offset | m.lent.bytes) % VGPU_PAGE));
		break;
	case VGPU_MSG_CTL:
		NEED(m.ctl.op && m.ctl.op <= VGPU_CTL_WEIGHT);
		break;
	case VGPU_MSG_GATE:
		NEED(m.gate.op && m.gate.op <= VGPU_GATE_RELEASE);
		cgroup(m.gate.cgroup, sizeof(m.gate.cgroup));
		break;
	case VGPU_MSG_ALLOT:
		NEED(m.allot.kind && m.allot.kind <= VGPU_ALLOT_EVERYBODY && m.allot.what && m.allot.what < VGPU_ALLOTS);
		NEED((m.allot.what != VGPU_ALLOT_WEIGHT && m.allot.what != VGPU_ALLOT_COMPUTE) || m.allot.value <= 1000);
		NEED(m.allot.what != VGPU_ALLOT_KERNEL_MS || m.allot.value <= VGPU_KERNEL_MS_MOST);
		NEED(m.allot.what != VGPU_ALLOT_PRIORITY || m.allot.value <= VGPU_PRIORITY_HIGH);
		NEED(m.allot.kind != VGPU_ALLOT_EVERYBODY || !m.allot.target);
		NEED((m.allot.kind == VGPU_ALLOT_CGROUP) == (m.allot.cgroup[0] != 0));
		cgroup(m.allot.cgroup, sizeof(m.allot.cgroup));
		break;
	case VGPU_MSG_GATES:
	case VGPU_MSG_ALLOTS:
	case VGPU_MSG_WORK:
	case VGPU_MSG_TIMES:
		break;
	default:
		NEED(0);
	}
}

static void command(const uint8_t *data, size_t size)
{
	const struct vgpu_check_env env = {
		.window_base = VGPU_SPAN_BASE_DEFAULT, .window_bytes = VGPU_WINDOW_SPAN,
		.device_base = VGPU_DEVICE_BASE(VGPU_SPAN_BASE_DEFAULT, 0), .device_bytes = VGPU_DEVICE_SPAN,
		.arena_bytes = VGPU_ARENA_BYTES };
	enum vgpu_op_queue queue;
	struct vgpu_gemm gemm;
	struct vgpu_copy3d p;
	struct vgpu_cmd c;

	if (size < sizeof(c) + 1)
		return;
	queue = data[0] & 1 ? VGPU_Q_CTL : VGPU_Q_IO;
	memcpy(&c, data + 1, sizeof(c));
	/* the place it stands at, so that the interesting checks come within reach */
	c.ticket &= 0xffffffffffull;
	c.seq = (uint32_t)c.ticket;
	if (vgpu_check_cmd(&c, queue, c.ticket - 1, &env) != VGPU_ST_OK)
		return;
	NEED(c.slots >= 1 && c.slots <= VGPU_MAX_SLOTS && c.stream < VGPU_MAX_STREAMS && vgpu_op_info(c.op));
	if (queue == VGPU_Q_CTL)
		NEED(c.slots == 1 && c.u.ctl.reply < VGPU_REPLIES && c.u.ctl.context < VGPU_MAX_CONTEXTS);
	if (c.op == VGPU_OP_COPY3D && size >= sizeof(c) + 1 + sizeof(p)) {
		memcpy(&p, data + 1 + sizeof(c), sizeof(p));
		vgpu_check_copy3d(&c, &p, &env);
	}
	if ((c.op == VGPU_OP_GEMM || c.op == VGPU_OP_TRSM) && size >= sizeof(c) + 1 + sizeof(gemm)) {
		memcpy(&gemm, data + 1 + sizeof(c), sizeof(gemm));
		vgpu_check_gemm(&c, &gemm, &env);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && data[0] & 0x80)
		command(data, size);
	message(data, size);
	return 0;
}
