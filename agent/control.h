/* SPDX-License-Identifier: MIT */
/*
 * The control thread's loop (control.c) and the agent page (page.c). epoll tags carry kind, index and,
 * for clients, the connection's number: a slot may be taken again within one batch of events.
 */
#ifndef AGENT_CONTROL_H
#define AGENT_CONTROL_H

#include "agent.h"

enum control_kind { CONTROL_LISTEN, CONTROL_WAKE, CONTROL_SIGNAL, CONTROL_CLIENT, CONTROL_PIDFD, CONTROL_IRQ };

/* From here on no signal ends us without order; before anything is made that would stay behind. */
void control_signals(sigset_t *set);
/* The limits of the command line and those of --limits FILE on top of them: now, and at SIGHUP again. -1 and why: nothing changed. */
int control_limits(char *why, size_t n);
int control_init(void);
/* Opens the socket, takes it from the service manager (LISTEN_FDS), or, with --replace, puts its own in another's place; says why not. */
int control_listen(void);
/* --replace: the agent before us is told to accept nobody more, and its pid file becomes ours. -1 and why. */
int control_replace(char *why, size_t n);
void control_close(void);               /* removes it */
void described_write(void);             /* what there is, in a file beside it that stays (described.c) */
int control_watch(enum control_kind kind, unsigned index, uint32_t serial, int fd, uint32_t events);
void control_unwatch(int fd);
/* Runs until agent.stop or SIGTERM/SIGINT. */
void control_run(void);

int page_init(void);
void page_device(const struct device *d);

#endif
