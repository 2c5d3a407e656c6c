/* SPDX-License-Identifier: MIT */
/* Survives clients that take their shared memory away; see sigbus.c. */
#ifndef AGENT_SIGBUS_H
#define AGENT_SIGBUS_H

#include <stdint.h>

/* Reserves the address range of all windows; installs the handler. */
int sigbus_init(void);
/* Where client slot `index`'s segment 0 is mapped. */
uint8_t *sigbus_window(unsigned index);
/* Back to PROT_NONE after the client is gone. */
void sigbus_release(unsigned index);

#endif
