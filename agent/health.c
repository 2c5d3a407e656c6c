/* SPDX-License-Identifier: MIT */
/*
 * A device dies: all its contexts get DEVICE_LOST, the agent runs on and tries to attach again:
 * soon, since a service manager brings a device back at once, then ever more seldom, every second at last. Contexts do not come back; new ones can be made. See device.h. All that takes time is an errand.
 */
#include "device.h"
#include "about.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "context.h"
#include "errand.h"

#include "../tools/service/notify.h"

#define RETRY_NS 1000000000ull
#define RETRY_SOON_NS 20000000ull       /* the first; each next one twice as late */
#define FIRST_MS 40000u                 /* at boot. A reset takes 0.1 s, of a dead function more than a minute */

void health_lost(struct device *d, const char *why)
{
	unsigned contexts = 0;

	d->trouble = NULL;
	if (!d->ready)
		return;
	d->losses++;
	device_not_ready(d);    /* first: nothing below talks to it any more */
	for (unsigned q = 0; q < d->queues; q++)
		contexts += d->owner[q] && d->owner[q]->state == CONTEXT_LIVE;
	context_device_gone(d);
	for (unsigned i = 0; i < AGENT_CLIENTS; i++)
		for (unsigned s = 0; s < AGENT_SEGMENTS; s++)
			agent.client[i].seg_on[s] &= (uint8_t)~(1u << d->index);
	log_device(d);
	log_error("device %u (%s) is lost: %s; %u context%s ended; trying to attach again", d->index, d->spec, why,
		  contexts, contexts == 1 ? "" : "s");
	notify_send("STATUS=device %u (%s) is lost: %s", d->index, d->spec, why);
	errand_detach(d, 0);
	d->retry_in_ns = RETRY_SOON_NS;
	d->retry_ns = now_ns() + d->retry_in_ns;
	d->last_error[0] = 0;
}

static void retried(void *object, uint32_t unused, int rc)
{
	struct device *d = object;

	(void)unused;
	if (rc == 0 && (rc = device_ready(d, d->why, sizeof(d->why))) < 0)
		errand_detach(d, 1);
	if (rc == 0) {
		log_device(d);
		log_info("device %u (%s) is back: %s", d->index, d->spec, d->info.name);
		notify_send("STATUS=device %u (%s) is back", d->index, d->spec);
		return;
	}
	d->retry_in_ns = d->retry_in_ns < RETRY_NS / 2 ? d->retry_in_ns * 2 : RETRY_NS;
	d->retry_ns = now_ns() + d->retry_in_ns;
	if (strcmp(d->why, d->last_error))
		log_debug("device %u: %s", d->index, d->why);
	snprintf(d->last_error, sizeof(d->last_error), "%s", d->why);
}

int health_retry(void)
{
	int next = -1;

	for (unsigned i = 0; i < agent.opt.devices; i++) {
		struct device *d = &agent.dev[i];
		uint64_t now = now_ns();

		if (d->ready || !errand_none(d))
			continue;       /* what is under way brings an event */
		if (now >= d->retry_ns)
			errand_attach(d, retried);
		else if (next < 0 || (int)((d->retry_ns - now) / 1000000) + 1 < next)
			next = (int)((d->retry_ns - now) / 1000000) + 1;
	}
	return next;
}

static int first_rc;

static void first_came(void *object, uint32_t unused, int rc)
{
	struct device *d = object;

	(void)unused;
	first_rc = rc < 0 ? rc : device_ready(d, d->why, sizeof(d->why));
	if (rc == 0 && first_rc < 0)
		errand_detach(d, 1);
}

int health_first(struct device *d, char *why, size_t why_bytes)
{
	int rc;

	d->ops = vfio_find(d->spec, why, why_bytes);
	if (!d->ops)
		return -EINVAL;
	rc = errand_start(d);
	if (rc < 0) {
		snprintf(why, why_bytes, "%s: no thread for this device: %s", d->spec, strerror(-rc));
		return rc;
	}
	errand_attach(d, first_came);
	rc = errand_wait(d, FIRST_MS);
	if (rc < 0)
		snprintf(why, why_bytes, "%s: it is not up within %u s: the device is dead or hangs in its reset", d->spec, FIRST_MS / 1000);
	else if ((rc = first_rc) < 0)
		snprintf(why, why_bytes, "%s", d->why);
	return rc;
}
