/* SPDX-License-Identifier: MIT */
/*
 * A device dies: all its contexts get DEVICE_LOST, the agent runs on and tries every second to
 * attach again. Contexts do not come back; new ones can be made. See device.h.
 */
#include "device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "context.h"

#include "../tools/service/notify.h"

#define RETRY_NS 1000000000ull
#define OPENING_NS 100000000ull         /* the kernel is at it: look again soon */

void health_lost(struct device *d, const char *why)
{
	unsigned contexts = 0;

	d->trouble = NULL;
	if (!d->ready)
		return;
	d->losses++;
	d->ready = 0;           /* first: nothing below talks to it any more */
	for (unsigned q = 0; q < d->queues; q++)
		contexts += d->owner[q] && d->owner[q]->state == CONTEXT_LIVE;
	context_device_gone(d);
	for (unsigned i = 0; i < AGENT_CLIENTS; i++)
		agent.client[i].mapped_on &= ~(1u << d->index);
	log_error("device %u (%s) is lost: %s; %u context%s ended; trying to attach again every second", d->index, d->spec, why,
		  contexts, contexts == 1 ? "" : "s");
	notify_send("STATUS=device %u (%s) is lost: %s", d->index, d->spec, why);
	device_detach(d);
	d->retry_ns = now_ns() + RETRY_NS;
	d->last_error[0] = 0;
}

int health_retry(void)
{
	int next = -1;

	for (unsigned i = 0; i < agent.opt.devices; i++) {
		struct device *d = &agent.dev[i];
		char why[sizeof(d->last_error)];
		uint64_t now = now_ns();

		if (d->ready)
			continue;
		if (now >= d->retry_ns) {
			int rc = device_attach(d, why, sizeof(why));

			if (rc == 0) {
				log_info("device %u (%s) is back: %s", i, d->spec, d->info.name);
				notify_send("STATUS=device %u (%s) is back", i, d->spec);
				continue;
			}
			d->retry_ns = now_ns() + (rc == -EINPROGRESS ? OPENING_NS : RETRY_NS);
			if (strcmp(why, d->last_error))
				log_debug("device %u: %s", i, why);
			snprintf(d->last_error, sizeof(d->last_error), "%s", why);
			now = now_ns();
		}
		if (next < 0 || (int)((d->retry_ns - now) / 1000000) + 1 < next)
			next = (int)((d->retry_ns - now) / 1000000) + 1;
	}
	return next;
}
