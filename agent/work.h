/* SPDX-License-Identifier: MIT */
/*
 * What contexts do now, and how long kernels and compilations took: the answers to WORK and TIMES. All of it is what contexts say of
 * themselves (struct vgpu_qb_work): a claim, shown to people and bounded by the time that they were there. Control thread.
 */
#ifndef AGENT_WORK_H
#define AGENT_WORK_H

#include "agent.h"

/* A context lives no more: its times stay the device's. */
void work_past(const struct context *x);
void work_fill(struct vgpu_msg_work_r *r, uint32_t first);
void work_times(struct vgpu_msg_times_r *r, uint32_t device);

#endif
