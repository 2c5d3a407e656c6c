/* SPDX-License-Identifier: MIT */
/* Memory that several processes of one user have in their windows. Control thread only. */
#ifndef AGENT_SHARE_H
#define AGENT_SHARE_H

#include "agent.h"

void share_made(struct client *c, unsigned s);  /* segment s is a new file, from WINDOW_OWN */
void share_ask(struct client *c, const struct vgpu_msg_grow *m);        /* SHARE */
/* The segment that a token names to c: NULL: none, or not for c. */
struct pool_mem *share_find(const struct client *c, const uint8_t *token, struct client **owner, unsigned *s);
/* The same memory for c, as its segment s. 0 or -errno. */
int share_open(struct client *c, unsigned s);
int share_elsewhere(const struct client *c, unsigned s);        /* another client has that file too */
/* MAP_AT: checked and handed to the context (context.c posts it); its answer. */
uint32_t share_map_begin(struct client *c, const struct vgpu_msg_map_at *m);

#endif
