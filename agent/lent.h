/* SPDX-License-Identifier: MIT */
/* A message that brings a descriptor (WINDOW_LENT). */
#ifndef AGENT_LENT_H
#define AGENT_LENT_H

#include <stddef.h>
#include <sys/types.h>

/*
 * The next message, which brings descriptors: the one that it may bring in *fd. More than one, or none: -1, and they are closed by who may
 * wait (closer.h). Bytes of the message, or -1 (errno).
 */
ssize_t lent_receive(int sock, void *bytes, size_t room, int *fd);

#endif
