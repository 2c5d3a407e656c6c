/* SPDX-License-Identifier: MIT */
/* What the files of vgpu ctl ask of each other. */
#ifndef VGPU_CTL_H
#define VGPU_CTL_H

#include "../../fw-protocol/vgpu_client.h"

/* A cgroup, a number, a name. 0, or 2 and said. */
int ctl_whom(const char *who, struct vgpu_msg_gate *m);
/* One question, its answer in *r. 0, or 1 and said. */
int ctl_question(const char *path, const struct vgpu_msg_header *m, struct vgpu_msg_ctl_r *r);

/* allot.c. Exit statuses */
int ctl_set(const char *path, const char *who, const char *name, const char *text);
const char *ctl_priority(uint32_t priority);
int ctl_limits(const char *path);

#endif
