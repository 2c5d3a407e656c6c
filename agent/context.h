/* SPDX-License-Identifier: MIT */
/* Contexts, the control thread's half: birth, segments, death. The other half is data.c. */
#ifndef AGENT_CONTEXT_H
#define AGENT_CONTEXT_H

#include "agent.h"

/*
 * Nothing here waits for the device: context_begin() and context_end() say what is wanted, client_progress() is called when
 * it has come about, or has not: then x->result says why.
 *
 * OK: *out is STARTING. BUSY: all queues are taken, and one comes back soon: ask again. Else why not.
 */
uint32_t context_begin(struct client *c, uint32_t device, uint32_t weight, uint32_t place, struct context **out);
/* Ends it whatever its state; FREE at once or later. */
void context_end(struct context *x);
/*
 * It lives no more: its process died, it broke the protocol, its device went. Tells the client
 * through segment 0 (report may be NULL) and wakes whoever waits. The number stays taken.
 */
void context_died(struct context *x, uint32_t status, const char *report);
/* Posts what the contexts of d need. From admin_turn(). */
void context_pump(struct device *d);
/* The device is lost: all contexts that it had are over. */
void context_device_gone(struct device *d);
/*
 * Segment s, for all devices that have the client's window: called until it is 0. Then c->grow_map says whether they have it, or
 * (GROW_UNDONE) none has, and c->grow_status why.
 */
int context_map_segment(struct client *c, unsigned s);
/* The client's window out of all devices' tables: called until it is 0. */
int context_unmap_window(struct client *c);

#endif
