/* SPDX-License-Identifier: MIT */
/* The first process of a machine has to be its init (init.c). That of a container is a service like any other. */
#ifndef AGENT_MACHINE_H
#define AGENT_MACHINE_H

int machine_first(void);        /* first called before the sandbox closes */

#endif
