/* SPDX-License-Identifier: MIT */
/* One agent per pid file: the lock counts, the number in it is for people. */
#ifndef AGENT_PIDFILE_H
#define AGENT_PIDFILE_H

#include <stddef.h>

/* fd >= 0, held until pidfile_drop(); -1 and a sentence in why. Creates the folder. */
int pidfile_take(const char *path, char *why, size_t why_bytes);
void pidfile_drop(const char *path, int fd);

#endif
