/* SPDX-License-Identifier: MIT */
/*
 * The agent as PID 1 of a guest, and --modules and --run, which help there most. All but
 * init_is_program() do nothing where they have nothing to do. Called by main() only, in this order.
 */
#ifndef AGENT_INIT_H
#define AGENT_INIT_H

#include <sys/types.h>

void init_begin(void);          /* PID 1: /proc, /sys, /dev, /run, /tmp, console */
int init_prepare(void);         /* kernel modules; PID 1: devices to vfio-pci; the program, waiting */
void init_ready(void);          /* the program may go */
int init_is_program(pid_t pid); /* its end is ours */
int init_end(int status);       /* PID 1: power off; else answers `status` */

#endif
