/* SPDX-License-Identifier: MIT */
/* The steps of main() that unit tests take too. Each logs its own failure and answers < 0. */
#ifndef AGENT_BOOT_H
#define AGENT_BOOT_H

#include "agent.h"

int boot_memory(void);          /* tables populated and locked, file limit raised */
uint64_t boot_windows(void);    /* what all windows may have where nobody says: half of the memory */
int boot_identity(void);        /* pidfd for clients, membarrier, page, mailbox, SIGBUS */
int boot_devices(void);         /* all of --device */
void boot_undo(void);           /* clients, contexts, devices: in reverse */

#endif
