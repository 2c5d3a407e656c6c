/* SPDX-License-Identifier: MIT */
/*
 * What the administrator allots while the agent runs (vgpu ctl set): weight, memory, window, contexts and connections of one client, of a
 * user, or of a cgroup and the containers below it. A client's own comes first, then its container's, then its user's, then what the
 * command line and --limits say. Every change is a line in the log. Control thread.
 */
#ifndef AGENT_ALLOT_H
#define AGENT_ALLOT_H

#include "agent.h"

#define WEIGHT_DEFAULT 100u             /* of whom nothing was said */

struct tenant;

/* What is allotted to each client of c's kind, or `otherwise`: WEIGHT, CONTEXTS. */
uint64_t allot_of(const struct client *c, enum vgpu_allot what, uint64_t otherwise);
/* Of all clients of t together, or `otherwise`: WINDOW, CLIENTS. */
uint64_t allot_together(const struct tenant *t, enum vgpu_allot what, uint64_t otherwise);
/* Tells c, and who answers for it, what is theirs; when it comes. */
void allot_to(struct client *c);

void allot_do(const struct client *by, const struct vgpu_msg_allot *m, struct vgpu_msg_ctl_r *r);
void allot_fill(struct vgpu_msg_allots_r *r, uint32_t first);

#endif
