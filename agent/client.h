/* SPDX-License-Identifier: MIT */
/* Connections: from accept to the last byte freed. Control thread only. */
#ifndef AGENT_CLIENT_H
#define AGENT_CLIENT_H

#include "agent.h"

void client_accept(int listen_fd);      /* all that wait on a listening socket */
void client_readable(struct client *c); /* one message, or its hang-up */
/*
 * Ends it: its connection and its part in the data thread now; then contexts, DMA, memory, as the device answers.
 * why NULL: it left in good order.
 */
void client_drop(struct client *c, const char *why);
/* As above, for another reason than what it did: its contexts' status. */
void client_end(struct client *c, uint32_t status, const char *why);
void client_gone(struct client *c);     /* its process has ended */
void client_drop_all(void);
int client_any(void);                   /* is somebody served? Who only looks does not count */
/* What the data thread asked for: kill and drop words. */
void client_attention(void);
/* Something that it waits for has happened: a context of its own has changed its state. */
void client_progress(struct client *c);
/* A slice of a WINDOW_GROW under way. */
void client_grow_step(struct client *c);
/* A request that is answered later: until then the client is not listened to. */
void client_take_time(struct client *c, int what);
void client_listen_again(struct client *c);
/* Memory is being given back, or somebody may get what he waits for: another round at once. */
void client_more(void);
int client_unfinished(void);
/* Connections that never said HELLO. Milliseconds until the next one is due, -1: none. */
int client_expire(void);

#endif
