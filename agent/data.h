/* SPDX-License-Identifier: MIT */
/* The data thread: the hot path. See data.c. */
#ifndef AGENT_DATA_H
#define AGENT_DATA_H

#include "agent.h"

int data_start(void);                   /* after mailbox_init() */
void data_stop(void);

#endif
