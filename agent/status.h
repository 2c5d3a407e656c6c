/* SPDX-License-Identifier: MIT */
/* What there is, who is there, how busy: the answers for monitors. Control thread. */
#ifndef AGENT_STATUS_H
#define AGENT_STATUS_H

#include "agent.h"
#include "message.h"

uint64_t status_commands(const struct client *c);        /* forwarded for it so far */
void status_fill(struct vgpu_msg_status_r *r, uint32_t first);

/* The answer to DEVICE, STATUS, LOAD, CONTEXTS or CTL, good until the next one; its size. */
size_t status_answer(const struct client *c, const union message *m, void **reply);

#endif
