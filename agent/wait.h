/* SPDX-License-Identifier: MIT */
/*
 * How the data thread lets a moment pass while it spins (idle.c): `pause`, or umwait where the processor has it, chosen
 * once at boot. With umwait the moment ends when somebody writes to the line that is watched, and until then the core's
 * other hardware thread has all of the core.
 *
 * Only one line can be watched, and clients are many: so a moment is short, and its end says nothing. Whoever waits
 * looks at everything again.
 */
#ifndef AGENT_WAIT_H
#define AGENT_WAIT_H

#include <stdint.h>

#define WAIT_TICKS 500u         /* of the TSC: the most that a moment with umwait lasts */

/* has_umwait: what cpu_waitpkg() says, or 0. */
void wait_init(int has_umwait);
/* Until *word is `ready`, or for a moment. NULL: there is no such line, only the moment. */
extern void (*wait_moment)(const uint32_t *word, uint32_t ready);

#endif
