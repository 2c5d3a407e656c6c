/* SPDX-License-Identifier: MIT */
/* See control.h. One epoll set, level-triggered; timeouts only while something is pending. */
#include "control.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "device.h"
#include "init.h"
#include "mailbox.h"

#include "../tools/service/notify.h"

static int signal_fd = -1;

static uint64_t tag(enum control_kind kind, unsigned index, uint32_t serial)
{
	return (uint64_t)kind << 56 | (uint64_t)(index & 0xffff) << 32 | serial;
}

int control_watch(enum control_kind kind, unsigned index, uint32_t serial, int fd, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.u64 = tag(kind, index, serial) };

	return epoll_ctl(agent.epoll_c, EPOLL_CTL_ADD, fd, &e);
}

void control_unwatch(int fd)
{
	struct epoll_event e = { 0 };

	epoll_ctl(agent.epoll_c, EPOLL_CTL_DEL, fd, &e);
}

void control_watch_device(struct device *d)
{
	control_watch(CONTROL_IRQ, d->index, 0, d->irq_fd[0], EPOLLIN);
	control_watch(CONTROL_DEVICE, d->index, 0, d->ops->poll_fd(d->v), EPOLLIN | EPOLLRDHUP);
}

void control_unwatch_device(struct device *d)
{
	if (d->irq_fd[0] >= 0)
		control_unwatch(d->irq_fd[0]);
	control_unwatch(d->ops->poll_fd(d->v));
}

void control_signals(sigset_t *set)
{
	/* The default of these is an end without order. */
	static const int no_use[] = { SIGPIPE, SIGUSR1, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR };

	for (size_t i = 0; i < sizeof(no_use) / sizeof(no_use[0]); i++)
		signal(no_use[i], SIG_IGN);
	/* The others become an fd. As PID 1 SIGCHLD brings orphans to reap. */
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGQUIT);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGCHLD);
	if (getpid() == 1)
		sigaddset(set, SIGUSR2);        /* what poweroff sends to init */
	else
		signal(SIGUSR2, SIG_IGN);
	sigprocmask(SIG_BLOCK, set, NULL);
}

int control_init(void)
{
	sigset_t set;

	agent.listen_fd = -1;
	agent.epoll_c = epoll_create1(EPOLL_CLOEXEC);
	agent.wake_c = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	control_signals(&set);
	signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (agent.epoll_c < 0 || agent.wake_c < 0 || signal_fd < 0 ||
	    control_watch(CONTROL_WAKE, 0, 0, agent.wake_c, EPOLLIN) < 0 ||
	    control_watch(CONTROL_SIGNAL, 0, 0, signal_fd, EPOLLIN) < 0) {
		log_error("epoll, eventfd or signalfd cannot be had: %s", strerror(errno));
		return -1;
	}
	return 0;
}

/* Creates the folder of `path`, one level, if it is missing: /run/vgpu after a boot. */
static void make_folder(const char *path)
{
	char folder[sizeof(agent.opt.listen)];
	char *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (slash && slash != folder) {
		*slash = 0;
		mkdir(folder, 0755);
	}
}

/* 1: somebody answers there. A socket that nobody serves is left over and goes. */
static int answers(const struct sockaddr_un *a)
{
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int yes = s >= 0 && (connect(s, (const struct sockaddr *)a, sizeof(*a)) == 0 || errno == EAGAIN);

	if (s >= 0)
		close(s);
	return yes;
}

int control_listen(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct stat st;

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", agent.opt.listen);
	make_folder(a.sun_path);
	if (lstat(a.sun_path, &st) == 0) {
		if (!S_ISSOCK(st.st_mode)) {
			log_error("--listen %s: there is a file of that name, and it is no socket", a.sun_path);
			return -1;
		}
		if (answers(&a)) {
			log_error("--listen %s: another vgpu-agent listens there", a.sun_path);
			return -1;
		}
		unlink(a.sun_path);
	}
	agent.listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (agent.listen_fd < 0 || bind(agent.listen_fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    chmod(a.sun_path, agent.opt.mode) < 0 || listen(agent.listen_fd, SOMAXCONN) < 0) {
		log_error("--listen %s: %s", a.sun_path, strerror(errno));
		return -1;
	}
	return control_watch(CONTROL_LISTEN, 0, 0, agent.listen_fd, EPOLLIN);
}

void control_close(void)
{
	if (agent.listen_fd < 0)
		return;
	unlink(agent.opt.listen);
	close(agent.listen_fd);
	agent.listen_fd = -1;
}

static void signals(void)
{
	struct signalfd_siginfo s;

	while (read(signal_fd, &s, sizeof(s)) == sizeof(s)) {
		if (s.ssi_signo == SIGCHLD) {
			pid_t pid;

			while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
				if (init_is_program(pid))
					vgpu_store_relaxed32(&agent.stop, 1);
			continue;
		}
		if (s.ssi_signo == SIGHUP) {
			log_info("SIGHUP: nothing is read again; options hold from the start on");
			continue;
		}
		log_info("%s: ending", s.ssi_signo == SIGQUIT ? "SIGQUIT" : s.ssi_signo == SIGTERM ? "SIGTERM" : s.ssi_signo == SIGINT ? "SIGINT" : "SIGUSR2");
		vgpu_store_relaxed32(&agent.stop, 1);
	}
}

static void event(uint64_t data, uint32_t events)
{
	unsigned index = (unsigned)(data >> 32) & 0xffff;
	struct client *c = &agent.client[index % AGENT_CLIENTS];
	struct device *d = &agent.dev[index % VGPU_MAX_DEVICES];
	const char *why = "its connection was closed";
	uint64_t drain;

	switch ((enum control_kind)(data >> 56)) {
	case CONTROL_LISTEN:
		client_accept();
		break;
	case CONTROL_WAKE:
		if (read(agent.wake_c, &drain, 8) < 0)
			break;
		break;          /* client_attention() looks every round */
	case CONTROL_SIGNAL:
		signals();
		break;
	case CONTROL_CLIENT:
		if (!c->in_use || c->id != (uint32_t)data)
			break;
		client_readable(c);
		if (c->in_use && c->id == (uint32_t)data && vgpu_load_relaxed32(&c->poisoned))
			client_drop(c, "its shared memory was taken away (hole punched, or no huge page left)");
		break;
	case CONTROL_PIDFD:
		if (c->in_use && c->id == (uint32_t)data)
			client_drop(c, NULL);
		break;
	case CONTROL_IRQ:
		if (d->v && read(d->irq_fd[0], &drain, 8) < 0)
			break;
		break;          /* admin_async() looks every round */
	case CONTROL_DEVICE:
		if (d->v && (d->ops->event(d->v) < 0 || (events & (EPOLLHUP | EPOLLERR)) || (why = device_trouble(d))))
			health_lost(d, why);
		break;
	}
}

void control_round(int timeout_ms)
{
	struct epoll_event e[32];
	int n = epoll_wait(agent.epoll_c, e, 32, timeout_ms);

	for (int i = 0; i < n; i++)
		event(e[i].data.u64, e[i].events);
	client_attention();
	for (unsigned i = 0; i < agent.opt.devices; i++)
		admin_async(&agent.dev[i]);
}

static int sooner(int a, int b)
{
	return a < 0 ? b : b < 0 ? a : a < b ? a : b;
}

/* A sign of life for the service manager: of the data thread's as well, which has to answer first. When it is due next. */
static int watchdog(void)
{
	uint64_t now = now_ns();

	if (notify_watchdog_due(now)) {
		mailbox_call(MAILBOX_NONE, NULL, 0);
		notify_watchdog_alive(now);
	}
	return notify_watchdog_ns() ? (int)((notify_watchdog_ns() - now) / 1000000) + 1 : -1;
}

void control_run(void)
{
	while (!vgpu_load_relaxed32(&agent.stop)) {
		int timeout = sooner(sooner(client_expire(), health_retry()), watchdog());

		for (unsigned i = 0; i < AGENT_CLIENTS; i++)
			if (agent.client[i].in_use && agent.client[i].grow_bytes) {
				client_grow_step(&agent.client[i]);
				timeout = 0;
			}
		control_round(timeout);
	}
}
