/* SPDX-License-Identifier: MIT */
/*
 * Time on processors of the device and the agent that vgpu run started beside this process. The clock says little on a busy
 * machine; this says what a computation costs.
 */
#ifndef PROC_H
#define PROC_H

#define PROC_MOST 64
struct proc_set { int pid[PROC_MOST], n; };

/* Everything that descends from our parent, but for ourselves and what descends from us. */
void proc_beside(struct proc_set *s);
/* Seconds that their living threads have run. */
double proc_seconds(const struct proc_set *s);

#endif
