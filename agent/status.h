/* SPDX-License-Identifier: MIT */
/* The answer to STATUS: who is there, for `vgpu smi`. Control thread. */
#ifndef AGENT_STATUS_H
#define AGENT_STATUS_H

#include "agent.h"

void status_fill(struct vgpu_msg_status_r *r, uint32_t first);

#endif
