/* SPDX-License-Identifier: MIT */
/*
 * vgpu-stub: the device. Boot order of the parent process; with --context it is a context instead
 * (ctx_proto.h), which only the parent starts.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "options.h"
#include "stub.h"

#include "../service/notify.h"
#include "../service/signals.h"

static struct device device;
static int quit;

static void signal_ready(void *owner, uint32_t events)
{
	struct source *s = owner;
	struct signalfd_siginfo si;

	(void)events;
	if (read(s->fd, &si, sizeof(si)) != sizeof(si))
		return;
	if (si.ssi_signo == SIGHUP)
		log_line("SIGHUP: nothing is read again; options hold from the start on");
	else
		quit = 1;
}

/* Descriptors 0, 1 and 2 exist, so that no socket ever gets such a number. */
static int standard_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int watch_signals(void)
{
	static struct source src = { -1, signal_ready, &src };
	sigset_t set;
	int fd;

	signals_ignore();
	signals_set(SIGUSR2, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : loop_add(&src, fd, EPOLLIN);
}

/* Doorbells, vectors, and six descriptors a context. */
static void raise_fd_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

static int start(struct device *d)
{
	int err;

	dma_init(&d->dma);
	pci_init(d);
	ctxproc_init(d);
	err = irq_init(d);
	if (!err)
		err = loop_init();
	if (!err)
		err = watch_signals();
	if (!err)
		err = admin_init(d);
	if (err) {
		log_line("cannot start: %s; is the limit of open files (ulimit -n) below 400?", strerror(-err));
		return err;
	}
	return vfu_listen(d, d->config.socket_path);
}

/* A sign of life for the service manager; when the loop has to come round at the latest. */
static uint64_t watchdog(uint64_t deadline_ns)
{
	uint64_t now = clock_ns(), next;

	if (notify_watchdog_due(now))
		notify_watchdog_alive(now);
	next = notify_watchdog_ns();
	return next && (!deadline_ns || next < deadline_ns) ? next : deadline_ns;
}

static uint64_t next_deadline(struct device *d)
{
	uint64_t first = 0, all[] = { ctxproc_next_deadline(d), mirror_next(d), vfu_next_resend(), fair_next(), cap_next(), ctxown_next(d) };

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i] && (!first || all[i] < first))
			first = all[i];
	return first;
}

/* Every context has all the addresses that a client may have. */
static int room_for_contexts(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_AS, &r) || r.rlim_cur == RLIM_INFINITY)
		return 0;
	r.rlim_cur = r.rlim_max;
	if (!setrlimit(RLIMIT_AS, &r) && (r.rlim_cur == RLIM_INFINITY || r.rlim_cur > VGPU_SPAN_BYTES + VGPU_TIB))
		return 0;
	log_line("address space is limited to %llu MiB, and a context reserves %llu TiB of it, without memory behind: ulimit -v unlimited "
		 "(systemd: LimitAS=infinity)", (unsigned long long)r.rlim_cur >> 20, (unsigned long long)(VGPU_SPAN_BYTES / VGPU_TIB));
	return -1;
}

int main(int argc, char **argv)
{
	const char *unheard;
	int status;

	if (argc == 2 && !strcmp(argv[1], "--context"))
		return context_main();
	if (argc == 5 && !strcmp(argv[1], "--context-walls"))
		return ctx_walls_trial((uint32_t)strtoul(argv[2], NULL, 10), (uint32_t)strtoul(argv[3], NULL, 10), atoi(argv[4]));
	if ((argc == 4 || argc == 5) && !strcmp(argv[1], "--cuda-info"))
		return info_cuda_print(argv[2], atoi(argv[3]), argv[4]);
	if (standard_fds())
		return 1;
	if (options_parse(argc, argv, &device.config, &status))
		return status;
	log_set_verbose(device.config.verbose);
	log_init();
	unheard = notify_init();
	if (unheard)
		log_line("warning: %s: the service manager will not hear of us", unheard);
	raise_fd_limit();
	if (room_for_contexts())
		return 1;
	info_fill(&device.info, &device.config);
	if (device.config.cuda_library && info_cuda(&device.info, &device.config))
		return 1;
	walls_find(&device);
	if (device.config.require_walls & ~device.walls) {
		log_line("--require-walls: not all of them stand (%s is missing): the device does not start",
			 walls_text(device.config.require_walls & ~device.walls));
		return 1;
	}
	if (start(&device))
		return 1;
	if (device.config.memory_bytes > (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE))
		log_line("warning: --memory is more than this machine has; contexts die first when it runs out");
	fprintf(stderr, "ready: vgpu-stub %s: \"%s\", compute capability %u.%u, %llu MiB, %u core%s, socket %s\n",
		VGPU_VERSION, device.info.name, device.info.cc_major, device.info.cc_minor,
		(unsigned long long)(device.info.memory_bytes >> 20), device.info.cores,
		device.info.cores == 1 ? "" : "s",
		device.config.socket_path);
	notify_send("READY=1\nSTATUS=listening on %s", device.config.socket_path);
	while (!quit) {
		loop_once(watchdog(next_deadline(&device)));
		ctxproc_deadlines(&device);
		fair_turn(&device);
		cap_turn(&device);
		ctxown_turn(&device);
		device_settle(&device);
		mirror_turn(&device);
		vfu_resend();
		vfu_pump();
	}
	notify_send("STOPPING=1\nSTATUS=ending");
	vfu_close(device.config.socket_path);
	return 0;
}
