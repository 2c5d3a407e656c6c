/* SPDX-License-Identifier: MIT */
/* Connections: from accept to the last byte freed. Control thread only. */
#ifndef AGENT_CLIENT_H
#define AGENT_CLIENT_H

#include "agent.h"

void client_accept(void);               /* all that wait on the listening socket */
void client_readable(struct client *c); /* one message, or its hang-up */
/* Ends it: contexts, then DMA, then memory, then fds. why NULL: it left in good order. */
void client_drop(struct client *c, const char *why);
void client_drop_all(void);
/* What the data thread asked for: kill and drop words. */
void client_attention(void);
/* A slice of a WINDOW_GROW under way. */
void client_grow_step(struct client *c);
/* Connections that never said HELLO. Milliseconds until the next one is due, -1: none. */
int client_expire(void);

#endif
