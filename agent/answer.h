/* SPDX-License-Identifier: MIT */
/* Messages to a client. Control thread. One that does not read them is dropped; so is one to whom descriptors cannot be sent for 5 s. */
#ifndef VGPU_AGENT_ANSWER_H
#define VGPU_AGENT_ANSWER_H

#include "agent.h"

/* As it is, at once: 0 or -errno. */
int answer_now(struct client *c, const void *message, size_t bytes, const int *fds, unsigned nfds);
/* The answer of that type, its header filled in here: 0, now or held for later; -1: the client is dropped. */
int answer_send(struct client *c, void *message, size_t bytes, unsigned type, const int *fds, unsigned nfds);
int answer_status(struct client *c, unsigned type, uint32_t status);
/* Held answers whose time has come; ms until the next one is due, -1: none. */
int answer_held(struct client *c, uint64_t now);

#endif
