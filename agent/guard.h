/* SPDX-License-Identifier: MIT */
/*
 * Who is let in, and who is held off for a while: admission by user or cgroup, set by vgpu ctl; quarantine of who faults or is refused
 * too often; rates of connections and contexts. Every change is a line in the log. Control thread.
 *
 * An account is of a user out of one container (tenant.h), so a container of root's that crashes in a loop holds off nobody else of root.
 * Monitors are never asked.
 */
#ifndef AGENT_GUARD_H
#define AGENT_GUARD_H

#include "agent.h"

/* A client's HELLO: 0, or why it is refused, in words too. */
enum vgpu_refusal guard_hello(const struct client *c, char *why, size_t n);
/* A context of it is to be made: 0, or 1: not now. */
int guard_context(const struct client *c);
/* A context of it died of an error, or it broke the protocol; a limit refused it something. */
void guard_fault(const struct client *c);
void guard_refused(const struct client *c);

void guard_do(const struct client *by, const struct vgpu_msg_gate *m, struct vgpu_msg_ctl_r *r);
void guard_fill(struct vgpu_msg_gates_r *r, uint32_t first);

#endif
