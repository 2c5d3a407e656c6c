/* SPDX-License-Identifier: MIT */
/* Socket messages as bytes from a stranger: pure checks, no state (fuzzed by tests/fuzz). */
#ifndef AGENT_MESSAGE_H
#define AGENT_MESSAGE_H

#include <stddef.h>

#include "vgpu_client.h"

#define MESSAGE_MAX 256u        /* longest request, and then some: longer ones are malformed */

union message {
	struct vgpu_msg_header h;
	struct vgpu_msg_hello hello;
	struct vgpu_msg_index index;
	struct vgpu_msg_ctx ctx;
	struct vgpu_msg_ctl ctl;
	struct vgpu_msg_gate gate;
	struct vgpu_msg_allot allot;
	struct vgpu_msg_grow grow;
	struct vgpu_msg_token token;
	struct vgpu_msg_map_at map_at;
	struct vgpu_msg_lent lent;
};

/*
 * Copies a received datagram into *m if it is a well-formed request. 0, or -1 and *why in words.
 * Text in it is NUL-terminated and printable afterwards. Unused fields must be 0.
 */
int message_parse(const void *bytes, size_t n, union message *m, const char **why);

/* May a client reserve its span there? */
int message_span_ok(uint64_t span_base);

#endif
