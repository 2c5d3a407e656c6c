/* SPDX-License-Identifier: MIT */
/* See boot.h. */
#include "boot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "context.h"
#include "control.h"
#include "device.h"
#include "errand.h"
#include "mailbox.h"
#include "room.h"
#include "sigbus.h"
#include "vfio_noiommu.h"

struct agent agent AGENT_STATE;

#define LAST_MS 2000                    /* for a device to be told that we go */
#define BOOT_POPULATE_WRITE 23          /* MADV_POPULATE_WRITE, linux 5.14 */

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* Weak: from linker/vgpu-agent.ld; unit tests are linked without it. */
extern char __agent_hot_start[] __attribute__((weak)), __agent_hot_end[] __attribute__((weak));
extern char __agent_state_start[] __attribute__((weak)), __agent_state_end[] __attribute__((weak));

static void populate(char *from, char *to)
{
	if (!from || !to)
		return;
	madvise(from, (size_t)(to - from), BOOT_POPULATE_WRITE);
	/* EPERM or ENOMEM beyond RLIMIT_MEMLOCK: then the pages may be swapped, nothing else */
	if (mlock(from, (size_t)(to - from)) < 0)
		log_debug("%zu KiB of tables cannot be locked in memory: %s", (size_t)(to - from) / 1024, strerror(errno));
}

/* When memory runs out, contexts and clients die before the one who serves them all. */
static void spare_us(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "-900", 4) < 0)
		log_debug("oom_score_adj stays as it is: %s", strerror(errno));
	close(fd);
}

uint64_t boot_windows(void)
{
	static uint64_t bytes;          /* asked once: later the filters let nobody ask */
	struct sysinfo info;

	if (!bytes)
		bytes = sysinfo(&info) == 0 ? (uint64_t)info.totalram * info.mem_unit / 2 : VGPU_GIB;
	return bytes;
}

int boot_memory(void)
{
	struct rlimit r;

	agent.start_ns = now_ns();
	populate(__agent_state_start, __agent_state_end);
	if (__agent_hot_start)
		mlock(__agent_hot_start, (size_t)(__agent_hot_end - __agent_hot_start));
	/* Per client 4 fds and its segments, per context 3. */
	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
	if (!agent.opt.windows)
		agent.opt.windows = boot_windows();
	spare_us();
	room_init();
	pool_init(agent.opt.huge, agent.opt.unsafe_noiommu);
	return agent.opt.unsafe_noiommu ? noiommu_init() : 0;
}

int boot_identity(void)
{
	agent.asym = vgpu_asym_register() == 0;
	agent.uid = geteuid();
	if (!agent.asym)
		log_debug("no membarrier(GLOBAL_EXPEDITED): full fences everywhere");
	/* Clients learn of our death by it. */
	agent.pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (agent.pidfd < 0) {
		log_error("pidfd_open: %s (a kernel from 5.3 on is needed)", strerror(errno));
		return -1;
	}
	if (mailbox_init() < 0 || sigbus_init() < 0) {
		log_error("no eventfd or no address space for client windows: %s", strerror(errno));
		return -1;
	}
	return page_init();
}

int boot_devices(void)
{
	for (unsigned i = 0; i < agent.opt.devices; i++) {
		struct device *d = &agent.dev[i];
		char why[400];

		d->index = i;
		d->spec = agent.opt.device[i];
		if (health_first(d, why, sizeof(why)) < 0) {
			log_error("%s", why[0] ? why : "the device cannot be attached");
			return -1;
		}
		log_info("device %u: %s (%s), %u MiB, %u SMs, %u contexts at most, at %s", i, d->info.name, d->info.engine,
			 (unsigned)(d->info.memory_bytes >> 20), d->info.sm_count, d->info.max_contexts, d->ops->address ? d->info.bus_id : d->spec);
		if (d->ops->way)
			log_info("device %u: kernel VFIO, by %s", i, d->ops->way(d->v));
	}
	return 0;
}

void boot_undo(void)
{
	client_drop_all();
	/* That ends the contexts which are left: they need not be asked one by one. */
	for (unsigned i = 0; i < agent.opt.devices; i++) {
		struct device *d = &agent.dev[i];
		int answers = d->ready;

		device_not_ready(d);
		errand_detach(d, answers);
	}
	for (unsigned i = 0; i < agent.opt.devices; i++) {
		if (errand_wait(&agent.dev[i], LAST_MS) < 0)
			log_warn("device %u (%s) does not let go: its process resets itself when it sees us gone", i, agent.dev[i].spec);
		context_device_gone(&agent.dev[i]);
	}
	control_close();
}
