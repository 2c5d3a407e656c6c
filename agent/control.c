/* SPDX-License-Identifier: MIT */
/* See control.h. One epoll set, level-triggered; timeouts only while something is pending. */
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "allot.h"
#include "boot.h"
#include "client.h"
#include "closer.h"
#include "device.h"
#include "errand.h"
#include "init.h"
#include "machine.h"
#include "mailbox.h"
#include "options.h"
#include "pidfile.h"

#include "../tools/service/notify.h"
#include "../tools/service/signals.h"

#define DRAIN 40                /* a real-time signal, so that nobody sends it by chance */
#define DRAIN_MS 10000

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

int control_limits(char *why, size_t n)
{
	static struct options given;
	static int called;
	struct options o, *now = &agent.opt;

	if (!called++)
		given = agent.opt;
	o = given;
	if (options_limits(&o, why, n) < 0)
		return -1;
	now->max_contexts = o.max_contexts;
	now->max_clients = o.max_clients;
	now->uid_clients = o.uid_clients;
	now->container_clients = o.container_clients;
	now->client_memory = o.client_memory;
	now->uid_compute = o.uid_compute;
	now->container_compute = o.container_compute;
	now->quarantine_faults = o.quarantine_faults;
	now->quarantine_refusals = o.quarantine_refusals;
	now->quarantine_seconds = o.quarantine_seconds;
	now->connect_rate = o.connect_rate;
	now->context_rate = o.context_rate;
	now->windows = o.windows ? o.windows : boot_windows();
	now->uid_windows = o.uid_windows;
	now->container_windows = o.container_windows;
	/* partner: the data thread's look at each allocation */
	vgpu_store_relaxed64(&now->uid_memory, o.uid_memory);
	vgpu_store_relaxed64(&now->container_memory, o.container_memory);
	for (struct client *c = NULL; (c = client_after(c));)
		if (c->greeted)
			allot_to(c);
	now->log_level = o.log_level;
	log_level = (int)o.log_level;
	return 0;
}

void control_signals(sigset_t *set)
{
	signals_ignore();
	signals_set(DRAIN, SIG_DFL);
	/* The others become an fd. As PID 1 SIGCHLD brings orphans to reap. */
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGQUIT);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGCHLD);
	sigaddset(set, DRAIN);
	if (machine_first())
		sigaddset(set, SIGUSR2);        /* what poweroff sends to init */
	else
		signal(SIGUSR2, SIG_IGN);
	sigprocmask(SIG_BLOCK, set, NULL);
}

int control_init(void)
{
	sigset_t set;

	agent.listen_fd = -1;
	for (unsigned i = 0; i < AGENT_ALSO; i++)
		agent.also_fd[i] = -1;
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

/*
 * Who may use the device is for the administrator to say: without his word it is root, or the agent's own user, and the
 * group vgpu where there is one. As PID 1 nobody else is there to be kept out.
 */
static int set_mode(const char *path)
{
	unsigned mode = agent.opt.mode;
	const struct group *g = NULL;

	if (mode == MODE_DEFAULT) {
		mode = machine_first() ? 0666 : 0660;
		g = geteuid() == 0 && mode == 0660 ? getgrnam("vgpu") : NULL;
		if (geteuid() == 0 && mode == 0660 && !g)
			log_info("there is no group vgpu: only root may use %s; --mode 0666 lets everybody", path);
	}
	if (g && chown(path, (uid_t)-1, g->gr_gid) < 0)
		return -1;
	return chmod(path, mode);
}

/* sd_listen_fds(3): one listening socket of ours, as descriptor 3. */
static int socket_given(void)
{
	const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");
	int type = 0, listens = 0;
	socklen_t size = sizeof(type);

	if (!pid || !n || atoi(pid) != getpid() || atoi(n) < 1)
		return 0;
	if (getsockopt(3, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || getsockopt(3, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 ||
	    type != SOCK_SEQPACKET || !listens) {
		log_warn("the service manager's descriptor 3 is no listening SOCK_SEQPACKET socket (ListenSequentialPacket=): not used");
		return 0;
	}
	fcntl(3, F_SETFD, FD_CLOEXEC);
	fcntl(3, F_SETFL, fcntl(3, F_GETFL) | O_NONBLOCK);
	agent.listen_fd = 3;
	return 1;
}

/*
 * Whoever may search the folder may connect. The folder may be that user's own: the mode is right from the beginning, and nothing is
 * done by a name that he can turn elsewhere.
 */
static int also_listen(unsigned i)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct stat st;
	mode_t before;
	int fd, rc;

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", agent.opt.also[i]);
	if (lstat(a.sun_path, &st) == 0 && S_ISSOCK(st.st_mode) && (agent.opt.replace || !answers(&a)))
		unlink(a.sun_path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	before = umask(0111);
	rc = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&a, sizeof(a));
	umask(before);
	if (rc < 0 || listen(fd, SOMAXCONN) < 0) {
		log_error("--also-listen %s: %s", a.sun_path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	agent.also_fd[i] = fd;
	return control_watch(CONTROL_LISTEN, 1 + i, 0, fd, EPOLLIN);
}

/* gone: the names too; else another agent has them. */
static void also_close(int gone)
{
	for (unsigned i = 0; i < agent.opt.alsos; i++) {
		if (agent.also_fd[i] < 0)
			continue;
		if (gone)
			unlink(agent.opt.also[i]);
		else
			client_accept(agent.also_fd[i]);
		control_unwatch(agent.also_fd[i]);
		closer_close(agent.also_fd[i]);
		agent.also_fd[i] = -1;
	}
}

/* Who came before the name was another's is served; nobody comes after. */
static void drain(void)
{
	if (agent.draining || agent.listen_fd < 0)
		return;
	client_accept(agent.listen_fd);
	also_close(0);
	control_unwatch(agent.listen_fd);
	closer_close(agent.listen_fd);
	agent.listen_fd = -1;
	agent.draining = 1;
	/* the lock goes to the next one, and the file with it */
	if (agent.pidfile_fd >= 0)
		close(agent.pidfile_fd);
	agent.pidfile_fd = -1;
	log_say("another vgpu-agent has taken over: ending with the last client");
	notify_send("STATUS=another vgpu-agent has taken over, ending with the last client");
}

/* Only while the file is locked: then who wrote the number is the one who holds it. */
static pid_t tell_to_drain(char *why, size_t n)
{
	char text[32] = "";
	int fd = open(agent.opt.pidfile, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	pid_t pid = got > 0 ? (pid_t)atoi(text) : 0;

	if (fd >= 0)
		close(fd);
	if (pid > 1 && kill(pid, DRAIN) < 0 && errno != ESRCH) {
		snprintf(why, n, "--replace: pid %d: %s", (int)pid, strerror(errno));
		return -1;
	}
	return pid;
}

int control_replace(char *why, size_t n)
{
	uint64_t until = now_ns() + DRAIN_MS * 1000000ull;
	pid_t before = 0;

	while ((agent.pidfile_fd = pidfile_take(agent.opt.pidfile, why, n)) < 0) {
		struct timespec nap = { 0, 5000000 };

		if (now_ns() > until || (before <= 1 && (before = tell_to_drain(why, n)) < 0))
			return -1;
		nanosleep(&nap, NULL);
	}
	if (before > 1)
		log_say("took over from pid %d, which ends with its last client", (int)before);
	return 0;
}

static int listen_first(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct stat st;

	if (socket_given()) {
		agent.socket_given = 1;
		return control_watch(CONTROL_LISTEN, 0, 0, agent.listen_fd, EPOLLIN);
	}
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", agent.opt.listen);
	make_folder(a.sun_path);
	if (agent.opt.replace) {
		/* Under another name first: at no moment is there a name that nobody answers. */
		if (snprintf(a.sun_path, sizeof(a.sun_path), "%s.new", agent.opt.listen) >= (int)sizeof(a.sun_path)) {
			log_error("--listen %s: with --replace there must be room for 4 characters more", agent.opt.listen);
			return -1;
		}
		unlink(a.sun_path);
	} else if (lstat(a.sun_path, &st) == 0) {
		if (!S_ISSOCK(st.st_mode)) {
			log_error("--listen %s: there is a file of that name, and it is no socket", a.sun_path);
			return -1;
		}
		if (answers(&a)) {
			log_error("--listen %s: another vgpu-agent listens there; --replace takes over from it", a.sun_path);
			return -1;
		}
		unlink(a.sun_path);
	}
	agent.listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (agent.listen_fd < 0 || bind(agent.listen_fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    set_mode(a.sun_path) < 0 || listen(agent.listen_fd, SOMAXCONN) < 0) {
		log_error("--listen %s: %s", a.sun_path, strerror(errno));
		return -1;
	}
	if (agent.opt.replace && rename(a.sun_path, agent.opt.listen) < 0) {
		log_error("--listen %s: %s", agent.opt.listen, strerror(errno));
		unlink(a.sun_path);
		return -1;
	}
	return control_watch(CONTROL_LISTEN, 0, 0, agent.listen_fd, EPOLLIN);
}

int control_listen(void)
{
	if (listen_first() < 0)
		return -1;
	for (unsigned i = 0; i < agent.opt.alsos; i++)
		if (also_listen(i) < 0)
			return -1;
	return 0;
}

void control_close(void)
{
	also_close(1);
	if (agent.listen_fd < 0)
		return;
	if (!agent.socket_given)
		unlink(agent.opt.listen);
	closer_close(agent.listen_fd);  /* with who was not accepted yet */
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
			char text[500];
			int rc = control_limits(text, sizeof(text));

			if (rc < 0)
				log_warn("SIGHUP: nothing changes: %s", text);
			else if (agent.opt.limits)
				options_say(&agent.opt, text, sizeof(text));
			if (rc == 0)
				log_say("SIGHUP: %s", agent.opt.limits ? text : "there is no --limits file to be read again");
			continue;
		}
		if (s.ssi_signo == DRAIN) {
			drain();
			continue;
		}
		log_info("%s: ending", s.ssi_signo == SIGQUIT ? "SIGQUIT" : s.ssi_signo == SIGTERM ? "SIGTERM" : s.ssi_signo == SIGINT ? "SIGINT" : "SIGUSR2");
		vgpu_store_relaxed32(&agent.stop, 1);
	}
}

static void event(uint64_t data)
{
	unsigned index = (unsigned)(data >> 32) & 0xffff;
	struct client *c = &agent.client[index % AGENT_CLIENTS];
	struct device *d = &agent.dev[index % VGPU_MAX_DEVICES];
	uint64_t drain;

	switch ((enum control_kind)(data >> 56)) {
	case CONTROL_LISTEN:
		client_accept(index ? agent.also_fd[(index - 1) % AGENT_ALSO] : agent.listen_fd);
		break;
	case CONTROL_WAKE:
		if (read(agent.wake_c, &drain, 8) < 0)
			break;
		break;          /* client_attention() looks every round */
	case CONTROL_SIGNAL:
		signals();
		break;
	case CONTROL_CLIENT:
		if (!client_here(c) || c->leaving || c->id != (uint32_t)data)
			break;
		client_readable(c);
		if (client_here(c) && c->id == (uint32_t)data && vgpu_load_relaxed32(&c->poisoned))
			client_drop(c, "its shared memory was taken away (hole punched, or no huge page left)");
		break;
	case CONTROL_PIDFD:
		if (client_here(c) && c->id == (uint32_t)data)
			client_gone(c);
		break;
	case CONTROL_IRQ:
		if (d->ready && read(d->irq_fd[0], &drain, 8) < 0)
			break;
		break;          /* admin_turn() looks every round */
	}
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

/* Clients and devices, as far as they have come; milliseconds until the next look, -1: when something happens. */
static int turns(void)
{
	int next;

	/* First: what has come about lets all below go on. */
	for (unsigned i = 0; i < agent.opt.devices; i++)
		errand_turn(&agent.dev[i]);
	next = sooner(sooner(client_expire(), health_retry()), load_turn());
	client_attention();
	for (struct client *c = NULL; (c = client_after(c));)
		if (c->grow_bytes) {
			client_grow_step(c);
			next = 0;
		} else if (c->grow_map && !c->leaving) {
			client_progress(c);
		}
	for (unsigned i = 0; i < agent.opt.devices; i++) {
		struct device *d = &agent.dev[i];

		next = sooner(next, admin_turn(d));
		next = sooner(next, errand_next(d));
		if (!d->trouble)
			continue;
		health_lost(d, d->trouble);
		next = 0;
	}
	return client_unfinished() ? 0 : next;
}

void control_run(void)
{
	while (!vgpu_load_relaxed32(&agent.stop) && !(agent.draining && !client_any())) {
		struct epoll_event e[32];
		int timeout = sooner(turns(), watchdog());
		int n = epoll_wait(agent.epoll_c, e, 32, timeout);

		for (int i = 0; i < n; i++)
			event(e[i].data.u64);
	}
}
