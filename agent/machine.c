/* SPDX-License-Identifier: MIT */
/* See machine.h. */
#include "machine.h"

#include <string.h>
#include <unistd.h>

/* namespaces(7): the machine's own PID namespace has had this number always (PROC_PID_INIT_INO) */
#define MACHINE "pid:[4026531836]"

int machine_first(void)
{
	static int known, yes;
	char link[64];
	ssize_t n;

	if (known)
		return yes;
	known = 1;
	n = readlink("/proc/self/ns/pid", link, sizeof(link));
	/* Nothing is mounted yet: a machine that boots. */
	yes = getpid() == 1 && (n < 0 || (n == sizeof(MACHINE) - 1 && !memcmp(link, MACHINE, sizeof(MACHINE) - 1)));
	return yes;
}
