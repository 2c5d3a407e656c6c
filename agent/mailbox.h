/* SPDX-License-Identifier: MIT */
/*
 * How the control thread hands objects to the data thread and takes them back. One request at a
 * time; the caller waits until the data thread, which never blocks, has done it (microseconds).
 */
#ifndef AGENT_MAILBOX_H
#define AGENT_MAILBOX_H

#include <stdint.h>

enum mailbox_op { MAILBOX_NONE, MAILBOX_ADD_CLIENT, MAILBOX_DEL_CLIENT, MAILBOX_ADD_CONTEXT, MAILBOX_DEL_CONTEXT,
		  MAILBOX_REFUND, MAILBOX_QUIT };

int mailbox_init(void);
/* Control thread. Afterwards the data thread has (or has let go of) the object. */
void mailbox_call(enum mailbox_op op, void *object, uint32_t status);
int mailbox_fd(void);                   /* the data thread sleeps on it too */

/* Data thread: 1 and the request if there is one; mailbox_done() answers it. */
int mailbox_take(enum mailbox_op *op, void **object, uint32_t *status);
void mailbox_done(void);

void futex_wake(uint32_t *word);        /* all waiters, shared memory */

#endif
