/* SPDX-License-Identifier: MIT */
/*
 * How busy devices and contexts are: their own counters of work, looked at eight times a second while any of them works. Once
 * nothing has worked for a second no timer runs: the data thread, when it is woken, says that there is work again.
 * Control thread, but for load_works().
 */
#ifndef AGENT_LOAD_H
#define AGENT_LOAD_H

#include "vgpu_client.h"

struct load {
	struct vgpu_load_sample s[VGPU_LOAD_SAMPLES];
	uint32_t n;                     /* ever taken: the newest is (n - 1) % VGPU_LOAD_SAMPLES */
};
struct context;

/* A context begins to live, or lives no more: its work stays the device's. */
void load_begin(struct context *x);
void load_past(const struct context *x);
/* Samples that are due. Milliseconds until the next ones, -1: none. */
int load_turn(void);
/* The agent page's counters, and the answers to LOAD and CONTEXTS. */
void load_page(void);
void load_fill(struct vgpu_msg_load_r *r);
void load_contexts(struct vgpu_msg_contexts_r *r, uint32_t first);

/* Data thread: it was woken. */
void load_works(void);

#endif
