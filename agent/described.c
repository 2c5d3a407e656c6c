/* SPDX-License-Identifier: MIT */
/*
 * What this agent has, in a file beside its socket (struct vgpu_described): it outlives us on purpose. Written once, before the
 * sandbox closes. An agent that cannot write it serves all the same.
 */
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void described_write(void)
{
	char path[sizeof(agent.opt.listen) + sizeof(VGPU_DESCRIBED_SUFFIX)], fresh[sizeof(path) + 4];
	struct vgpu_described d;
	int fd;

	memset(&d, 0, sizeof(d));
	d.magic = VGPU_SESSION_MAGIC;
	d.version = VGPU_PROTOCOL_VERSION;
	d.devices = agent.opt.devices;
	for (unsigned i = 0; i < agent.opt.devices; i++)
		d.info[i] = agent.dev[i].info;
	snprintf(path, sizeof(path), "%s%s", agent.opt.listen, VGPU_DESCRIBED_SUFFIX);
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	unlink(fresh);
	fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		goto fail;
	/* Who may ask the agent may read it. */
	if (write(fd, &d, sizeof(d)) != (ssize_t)sizeof(d) || fchmod(fd, (agent.opt.mode & 0444) | 0600) < 0 || rename(fresh, path) < 0) {
		unlink(fresh);
		goto fail;
	}
	close(fd);
	return;
fail:
	log_warn("%s: %s; programs with VGPU_REQUIRED will not know what is here while no agent runs", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}
