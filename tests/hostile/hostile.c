/* SPDX-License-Identifier: MIT */
/*
 * hostile MODE: a client that misbehaves in one chosen way for a second or two.
 *
 *   hostile --list       the modes, a line each
 *   hostile MODE         exit 0 when done (thrown out or not), 1 when something was possible that never may be,
 *                        2 when no agent answers, 3 when the mode could not do what it is for
 *
 * VGPU_AGENT names the agent's socket. run.sh runs each mode beside an honest client and looks at
 * everybody's health afterwards.
 */
#include "raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUDGET_S 1.2		/* $HOSTILE_SECONDS says otherwise, up to 3 */

static const struct mode *const tables[] = { socket_modes, queue_modes, memory_modes };

int main(int argc, char **argv)
{
	int list = argc == 2 && !strcmp(argv[1], "--list");
	const char *env = getenv("HOSTILE_SECONDS");
	double budget = env ? atof(env) : BUDGET_S;

	for (unsigned t = 0; argc == 2 && t < sizeof tables / sizeof tables[0]; t++)
		for (const struct mode *m = tables[t]; m->name; m++) {
			if (list)
				printf("%s\t%s\n", m->name, m->what);
			if (strcmp(argv[1], m->name))
				continue;
			/* Whatever hangs is cut off: a client may always be killed by a signal. */
			alarm(40);
			budget = budget > 0.1 && budget < 3 ? budget : BUDGET_S;
			raw_scale = budget / 2;
			raw_deadline = raw_now() + budget;
			if (raw_connect() < 0) {
				fprintf(stderr, "hostile: no agent answers at %s\n", getenv("VGPU_AGENT"));
				return 2;
			}
			m->run();
			return raw_breaches() ? 1 : raw_misses() ? 3 : 0;
		}
	if (list)
		return 0;
	fprintf(stderr, "usage: hostile --list | MODE\n");
	return 2;
}
