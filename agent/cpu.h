/* SPDX-License-Identifier: MIT */
/* Which processor, which core for the data thread: libcpuid and sysfs, at boot. */
#ifndef AGENT_CPU_H
#define AGENT_CPU_H

#include <stddef.h>

void cpu_init(void);                    /* identify, once */
int cpu_constant_tsc(void);
int cpu_waitpkg(void);                  /* umonitor, umwait, tpause */
unsigned cpu_allowed(void);             /* CPUs that this process may run on */
const char *cpu_text(void);             /* brand and the features that matter to us */
/*
 * The CPU for --cpu (a number, CPU_AUTO or CPU_NONE): >= 0 or -1 for "not pinned"; reason in words.
 * -2: the number is not one that this process may use.
 */
int cpu_choose(int wanted, char *reason, size_t reason_bytes);

#endif
