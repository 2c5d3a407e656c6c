/* SPDX-License-Identifier: MIT */
/* The answer to STATUS: who is there, for `vgpu smi`. Control thread. */
#ifndef AGENT_STATUS_H
#define AGENT_STATUS_H

#include "agent.h"

void status_fill(struct vgpu_msg_status_r *r, uint32_t first);
/* What devices have worked so far, into the page; of a context that goes, into what is past. */
void status_work(void);
void status_past(const struct context *x);

#endif
