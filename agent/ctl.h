/* SPDX-License-Identifier: MIT */
/* The answer to CTL: see ctl.c. */
#ifndef AGENT_CTL_H
#define AGENT_CTL_H

#include "agent.h"

/* The client of that id, or NULL and the answer. */
struct client *ctl_client(uint32_t id, struct vgpu_msg_ctl_r *r);
/* Whether `by` may change anything here; begins the answer r, or makes it the refusal. */
int ctl_may(const struct client *by, struct vgpu_msg_ctl_r *r);
void ctl_do(const struct client *by, const struct vgpu_msg_ctl *m, struct vgpu_msg_ctl_r *r);

#endif
