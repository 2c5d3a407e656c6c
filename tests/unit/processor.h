/* SPDX-License-Identifier: MIT */
/* Which processor a thread is on: two that shall meet, on one busy machine, have one each. Wants _GNU_SOURCE. */
#ifndef VGPU_TEST_PROCESSOR_H
#define VGPU_TEST_PROCESSOR_H

#include <sched.h>

/* This thread, and those that it makes, on one of the processors that it may have: the first for 0, another for 1 if there is one. */
static void on(int which)
{
	static cpu_set_t may;
	cpu_set_t one;

	if (!CPU_COUNT(&may))
		sched_getaffinity(0, sizeof(may), &may);
	CPU_ZERO(&one);
	for (int i = 0, n = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &may) && n++ == which % CPU_COUNT(&may))
			CPU_SET(i, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

#endif
