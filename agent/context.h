/* SPDX-License-Identifier: MIT */
/* Contexts, the control thread's half: birth, segments, death. The other half is data.c. */
#ifndef AGENT_CONTEXT_H
#define AGENT_CONTEXT_H

#include "agent.h"

/* enum vgpu_status; on OK *number is the context's place in the client. */
uint32_t context_create(struct client *c, uint32_t device, uint32_t weight, uint32_t *number);
/* Ends it whatever its state; its number is free afterwards. */
void context_destroy(struct context *x);
/* All of a client's, at once: killing a process takes milliseconds each. */
void context_destroy_all(struct client *c);
/*
 * It lives no more: its process died, it broke the protocol, its device went. Tells the client
 * through segment 0 (report may be NULL) and wakes whoever waits. The number stays taken.
 */
void context_died(struct context *x, uint32_t status, const char *report);
/* Segment s of the client's window, for all contexts it has. enum vgpu_status. */
uint32_t context_add_segment(struct client *c, unsigned s);
/* The client's window in d's DMA table, if it is not there yet; and out of all tables. */
uint32_t context_map_window(struct client *c, struct device *d);
void context_unmap_window(struct client *c);

#endif
