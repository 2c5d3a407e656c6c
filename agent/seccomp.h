/* SPDX-License-Identifier: MIT */
/* After start each thread may make only the system calls it needs. */
#ifndef AGENT_SECCOMP_H
#define AGENT_SECCOMP_H

void seccomp_init(void);                /* says what went wrong if a thread is stopped */
void seccomp_data_thread(void);
void seccomp_closer_thread(void);
void seccomp_control_thread(void);
void seccomp_device_thread(int kernel);  /* kernel: it opens and closes PCI functions */

#endif
