/* SPDX-License-Identifier: MIT */
/* What the agent's own cgroup leaves it: shared memory of clients is charged to whoever makes it, and that is the agent. */
#ifndef AGENT_ROOM_H
#define AGENT_ROOM_H

#include <stdint.h>

void room_init(void);                   /* before the sandbox closes: it keeps the files open */
int room_for(uint64_t bytes);           /* 1: so much more does not end the agent */

#endif
