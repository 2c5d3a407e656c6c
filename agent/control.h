/* SPDX-License-Identifier: MIT */
/*
 * The control thread's loop (control.c) and the agent page (page.c). epoll tags carry kind, index and,
 * for clients, the connection's number: a slot may be taken again within one batch of events.
 */
#ifndef AGENT_CONTROL_H
#define AGENT_CONTROL_H

#include "agent.h"

enum control_kind { CONTROL_LISTEN, CONTROL_WAKE, CONTROL_SIGNAL, CONTROL_CLIENT, CONTROL_PIDFD, CONTROL_IRQ,
		    CONTROL_DEVICE };

/* From here on no signal ends us without order; before anything is made that would stay behind. */
void control_signals(sigset_t *set);
int control_init(void);
int control_listen(void);               /* opens the socket; says why not */
void control_close(void);               /* removes it */
int control_watch(enum control_kind kind, unsigned index, uint32_t serial, int fd, uint32_t events);
void control_unwatch(int fd);
void control_watch_device(struct device *d);
void control_unwatch_device(struct device *d);
/* Runs until agent.stop or SIGTERM/SIGINT. */
void control_run(void);
/* One round: waits at most timeout_ms (-1: until something happens). */
void control_round(int timeout_ms);

int page_init(void);
void page_device(const struct device *d);

#endif
