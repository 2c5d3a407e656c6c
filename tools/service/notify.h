/* SPDX-License-Identifier: MIT */
/*
 * What a service tells its manager: the datagrams of sd_notify(3), by hand, since the agent is a static
 * musl program. Without a manager (no NOTIFY_SOCKET in the environment) every call does nothing.
 */
#ifndef VGPU_NOTIFY_H
#define VGPU_NOTIFY_H

#include <stdint.h>

/* First of all, before a child is started: takes NOTIFY_SOCKET and WATCHDOG_* out of the environment, which is ours
 * alone. NULL, or why the manager will hear nothing of us. */
const char *notify_init(void);

/* "READY=1\nSTATUS=...": one datagram, lost when the manager does not read for a second. */
void notify_send(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Is a sign of life due? Then the caller looks whether it lives, and says so. Both 0 without a watchdog; CLOCK_MONOTONIC. */
int notify_watchdog_due(uint64_t now_ns);
uint64_t notify_watchdog_ns(void);      /* when the next one will be due */
void notify_watchdog_alive(uint64_t now_ns);

#endif
