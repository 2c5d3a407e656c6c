/* SPDX-License-Identifier: MIT */
/* The answer to HELLO: see hello.c. Control thread. */
#ifndef AGENT_HELLO_H
#define AGENT_HELLO_H

#include "agent.h"

void hello_answer(struct client *c, const struct vgpu_msg_hello *m);
/* Does memory come back soon that is still charged to somebody who left? */
int hello_comes_back(void);

#endif
