/* SPDX-License-Identifier: MIT */
/*
 * vgpu-agent: owns the device, serves clients. This file is the boot order; nothing is set up
 * anywhere else. Exit status: 0 after SIGTERM or SIGINT, 1 start-up failed (a line says why), 2 usage.
 *
 * As PID 1 (init.c) it first mounts what a machine needs, and powers off at the end.
 */
#include <stdio.h>
#include <unistd.h>

#include "boot.h"
#include "closer.h"
#include "control.h"
#include "cpu.h"
#include "data.h"
#include "idle.h"
#include "init.h"
#include "log.h"
#include "options.h"
#include "pidfile.h"
#include "seccomp.h"
#include "vfio_pci.h"
#include "wait.h"

#include "../tools/service/notify.h"

static int serve(int argc, char **argv)
{
	char text[300];
	const char *unheard;
	sigset_t signals;
	int rc = options_parse(&agent.opt, argc, argv);

	if (rc)
		return rc > 0 ? 0 : 2;
	if (control_limits(text, sizeof(text)) < 0) {
		log_error("%s", text);
		return 2;
	}
	if (agent.opt.bind || agent.opt.unbind)
		return (agent.opt.bind ? pci_bind(agent.opt.bind) : pci_unbind(agent.opt.unbind)) < 0;
	unheard = notify_init();
	if (unheard)
		log_warn("%s: the service manager will not hear of us", unheard);
	if (init_prepare() < 0)
		return 1;

	/* 1. This machine. */
	cpu_init();
	ticks_init();
	wait_init(cpu_waitpkg() && cpu_constant_tsc());
	agent.cores = cpu_allowed();
	agent.cpu = cpu_choose(agent.opt.cpu, text, sizeof(text));
	if (agent.cpu == -2) {
		log_error("--cpu %d: this process may not run there", agent.opt.cpu);
		return 1;
	}
	log_info("vgpu-agent %s, pid %d, on %s; data thread: %s", VGPU_VERSION, (int)getpid(), cpu_text(), text);

	/* 2. Only one of us; what says so is taken away again at the end, whatever signal brings it. */
	control_signals(&signals);
	agent.pidfile_fd = agent.opt.replace ? -1 : pidfile_take(agent.opt.pidfile, text, sizeof(text));
	if (agent.pidfile_fd < 0 && !agent.opt.replace) {
		log_error("%s", text);
		return 1;
	}

	/* 3. Memory, what clients know us by, event sources. */
	rc = 1;
	if (boot_memory() < 0 || boot_identity() < 0 || control_init() < 0)
		goto out;
	seccomp_init();

	/* 4. The data thread, then what it may be given: devices, then clients, and who closes what they leave. */
	if (data_start() < 0) {
		log_error("the data thread cannot be started");
		goto out;
	}
	if (closer_start() < 0) {
		log_error("the closing thread cannot be started");
		goto stop;
	}
	if (boot_devices() < 0 || control_listen() < 0)
		goto stop;
	if (agent.opt.replace && control_replace(text, sizeof(text)) < 0) {
		log_error("%s", text);
		goto stop;
	}
	described_write();
	if (agent.opt.sandbox)
		seccomp_control_thread();

	/* 5. Serve. */
	log_say("ready: listening on %s, %u device%s", agent.opt.listen,
		 agent.opt.devices, agent.opt.devices == 1 ? "" : "s");
	notify_send("READY=1\nSTATUS=%u device%s, listening on %s", agent.opt.devices, agent.opt.devices == 1 ? "" : "s",
		    agent.opt.listen);
	init_ready();
	agent.serving = 1;
	control_run();
	notify_send("STOPPING=1\nSTATUS=ending");
	rc = 0;
stop:
	boot_undo();
	data_stop();
out:
	pidfile_drop(agent.opt.pidfile, agent.pidfile_fd);
	return rc;
}

int main(int argc, char **argv)
{
	log_init();
	init_begin();
	return init_end(serve(argc, argv));
}
