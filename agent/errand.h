/* SPDX-License-Identifier: MIT */
/*
 * Whatever may take a device's time is an errand: the device's own thread goes, the control thread never waits. One thread a device
 * owns its transport (vfio.h, all but ring()): it brings the device up, maps memory for it, looks at its registers, takes it down.
 * Errands of a device are done in the order in which they are posted; their ends come back in that order, by errand_turn().
 */
#ifndef AGENT_ERRAND_H
#define AGENT_ERRAND_H

#include "agent.h"

/* Called by errand_turn(), on the control thread. rc: 0 or -errno, as vfio.h has it. */
typedef void errand_done(void *object, uint32_t arg, int rc);

/* Boot: the device's thread. -errno. */
int errand_start(struct device *d);

/*
 * 0: done() will be called. -EAGAIN: too many are under way; one of them ends, and then there is room. The memory of errand_map()
 * must stay until done(); its descriptor need not.
 */
int errand_map(struct device *d, iova_t iova, const struct pool_mem *m, errand_done *done, void *object, uint32_t arg);
int errand_unmap(struct device *d, iova_t iova, uint64_t bytes, errand_done *done, void *object, uint32_t arg);
/* There is always room for these. done() of the first gets the device; what became of it is in d->found, d->why. */
void errand_attach(struct device *d, errand_done *done);
void errand_detach(struct device *d, int answers);

/* Nothing is under way. */
int errand_none(const struct device *d);
/* Ends of errands, and what the thread has seen. */
void errand_turn(struct device *d);
/* Milliseconds until the next look at one that takes long, -1: nothing is under way. */
int errand_next(const struct device *d);
/* Boot and end only: waits until nothing is under way. -ETIMEDOUT */
int errand_wait(struct device *d, unsigned ms);

#endif
