/* SPDX-License-Identifier: MIT */
/* See message.h. */
#include "message.h"

#include "vgpu_device.h"

#include <string.h>

#define SPAN_LAST 0x7e0000000000ull     /* behind it, the context's process has its libraries and stacks */

int message_span_ok(uint64_t base)
{
	return !(base % VGPU_GIB) && (VGPU_SPAN_IS_LOW(base) ||
	       (base >= VGPU_SPAN_BASE_MIN && VGPU_SPAN_FREE(base) && base <= SPAN_LAST - VGPU_SPAN_BYTES));
}

/* What people will read in logs and in `vgpu smi`. */
static void printable(char *text, size_t n)
{
	text[n - 1] = 0;
	for (size_t i = 0; i < n && text[i]; i++)
		if (text[i] < 0x20 || text[i] > 0x7e || text[i] == '"' || text[i] == '\\')
			text[i] = '?';
}

/* A text that ends, without the slashes at its end. */
static void cgroup_path(char *cgroup, size_t n, const char **why)
{
	if (strnlen(cgroup, n) == n)
		*why = "a cgroup without an end";
	printable(cgroup, n);
	for (size_t k = strlen(cgroup); k && cgroup[k - 1] == '/'; k--) {
		cgroup[k - 1] = 0;
		if (k == 1)
			*why = "the root of all cgroups";
	}
}

int message_parse(const void *bytes, size_t n, union message *m, const char **why)
{
	static const size_t size[] = {
		[VGPU_MSG_HELLO] = sizeof(struct vgpu_msg_hello),
		[VGPU_MSG_DEVICE] = sizeof(struct vgpu_msg_index),
		[VGPU_MSG_CTX_CREATE] = sizeof(struct vgpu_msg_ctx),
		[VGPU_MSG_CTX_DESTROY] = sizeof(struct vgpu_msg_ctx),
		[VGPU_MSG_WINDOW_GROW] = sizeof(struct vgpu_msg_grow),
		[VGPU_MSG_STATUS] = sizeof(struct vgpu_msg_index),
		[VGPU_MSG_LOAD] = sizeof(struct vgpu_msg_index),
		[VGPU_MSG_CONTEXTS] = sizeof(struct vgpu_msg_index),
		[VGPU_MSG_CTL] = sizeof(struct vgpu_msg_ctl),
		[VGPU_MSG_WINDOW_OWN] = sizeof(struct vgpu_msg_grow),
		[VGPU_MSG_SHARE] = sizeof(struct vgpu_msg_grow),
		[VGPU_MSG_SHARED_OPEN] = sizeof(struct vgpu_msg_token),
		[VGPU_MSG_MAP_AT] = sizeof(struct vgpu_msg_map_at),
		[VGPU_MSG_GATE] = sizeof(struct vgpu_msg_gate),
		[VGPU_MSG_GATES] = sizeof(struct vgpu_msg_index),
		[VGPU_MSG_ALLOT] = sizeof(struct vgpu_msg_allot),
		[VGPU_MSG_ALLOTS] = sizeof(struct vgpu_msg_index),
		[VGPU_MSG_WORK] = sizeof(struct vgpu_msg_index),
		[VGPU_MSG_TIMES] = sizeof(struct vgpu_msg_index),
		[VGPU_MSG_WINDOW_LENT] = sizeof(struct vgpu_msg_lent),
	};

	static const uint64_t most[VGPU_ALLOTS] = {
		[VGPU_ALLOT_WEIGHT] = 1000, [VGPU_ALLOT_MEMORY] = ~0ull, [VGPU_ALLOT_WINDOW] = ~0ull, [VGPU_ALLOT_CONTEXTS] = ~0ull,
		[VGPU_ALLOT_CLIENTS] = ~0ull, [VGPU_ALLOT_KERNEL_MS] = VGPU_KERNEL_MS_MOST, [VGPU_ALLOT_COMPUTE] = 1000,
		[VGPU_ALLOT_PRIORITY] = VGPU_PRIORITY_HIGH,
	};

	memset(m, 0, sizeof(*m));
	*why = NULL;
	if (n < sizeof(m->h)) {
		*why = "message shorter than its header";
		return -1;
	}
	memcpy(&m->h, bytes, sizeof(m->h));
	if (m->h.type >= sizeof(size) / sizeof(size[0]) || !size[m->h.type]) {
		*why = "unknown message type";
		return -1;
	}
	if (m->h.bytes != n || n != size[m->h.type]) {
		*why = "message of the wrong size";
		return -1;
	}
	memcpy(m, bytes, n);
	switch (m->h.type) {
	case VGPU_MSG_HELLO:
		if (m->hello.magic != VGPU_SESSION_MAGIC)
			*why = "HELLO without the magic number";
		printable(m->hello.command, sizeof(m->hello.command));
		printable(m->hello.release, sizeof(m->hello.release));
		break;
	case VGPU_MSG_DEVICE:
	case VGPU_MSG_STATUS:
	case VGPU_MSG_LOAD:
	case VGPU_MSG_CONTEXTS:
	case VGPU_MSG_GATES:
	case VGPU_MSG_ALLOTS:
	case VGPU_MSG_WORK:
	case VGPU_MSG_TIMES:
		if (m->index.rsvd)
			*why = "reserved field set";
		break;
	case VGPU_MSG_CTL:
		if (!m->ctl.op || m->ctl.op > VGPU_CTL_WEIGHT ||
		    (m->ctl.op == VGPU_CTL_WEIGHT ? m->ctl.value < 1 || m->ctl.value > 1000 : m->ctl.value != 0))
			*why = "CTL of an unknown kind, or a weight that is not 1 to 1000";
		break;
	case VGPU_MSG_GATE:
		if (!m->gate.op || m->gate.op > VGPU_GATE_RELEASE || (m->gate.cgroup[0] && m->gate.cgroup[0] != '/'))
			*why = "GATE of an unknown kind, or a cgroup that is no path";
		cgroup_path(m->gate.cgroup, sizeof(m->gate.cgroup), why);
		break;
	case VGPU_MSG_ALLOT:
		if (!m->allot.kind || m->allot.kind > VGPU_ALLOT_EVERYBODY || !m->allot.what || m->allot.what >= VGPU_ALLOTS || m->allot.rsvd ||
		    (m->allot.kind == VGPU_ALLOT_CGROUP) != (m->allot.cgroup[0] == '/') || (m->allot.cgroup[0] && m->allot.cgroup[0] != '/') ||
		    (m->allot.kind == VGPU_ALLOT_EVERYBODY && m->allot.target) || m->allot.value > most[m->allot.what])
			*why = "ALLOT of an unknown kind, a value above what there may be, or a cgroup that is no path";
		cgroup_path(m->allot.cgroup, sizeof(m->allot.cgroup), why);
		break;
	case VGPU_MSG_CTX_CREATE:
		if (m->ctx.place > VGPU_MAX_DEVICES || m->ctx.context || m->ctx.weight > 1000)
			*why = "CTX_CREATE with a weight above 1000, a place that is none, or a reserved field set";
		break;
	case VGPU_MSG_MAP_AT:
		if (m->map_at.rsvd)
			*why = "reserved field set";
		break;
	case VGPU_MSG_WINDOW_LENT:
		if (!m->lent.bytes || (m->lent.offset | m->lent.bytes) % VGPU_PAGE || m->lent.bytes > 1ull << 46 || m->lent.offset > 1ull << 46)
			*why = "WINDOW_LENT of parts of pages, or of nothing";
		break;
	case VGPU_MSG_CTX_DESTROY:
		if (m->ctx.place)
			*why = "reserved field set";
		break;
	}
	return *why ? -1 : 0;
}
