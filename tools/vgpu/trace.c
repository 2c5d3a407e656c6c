/* SPDX-License-Identifier: MIT */
/*
 * vgpu trace -- CMD: every call that CMD and its children make into our CUDA libraries, like strace. vgpu trace -p PID: those of a
 * process that runs already.
 *
 * The libraries report (libcuda-lite/trace): each process connects to DIR/lines and writes one message per call, and
 * keeps its counts in DIR/<pid>. This side prints, writes the Perfetto file, and sums the counts at the end.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_PROCESSES 1024u
#define LINE_BYTES 8192u

static volatile sig_atomic_t child_pid, told_to_end;

static void forward(int sig)
{
	if (child_pid > 0 && sig != SIGINT)     /* the terminal sends ^C to both */
		kill(child_pid, sig);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int listen_at(const char *dir)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if ((size_t)snprintf(a.sun_path, sizeof(a.sun_path), "%s/lines", dir) >= sizeof(a.sun_path) ||
	    bind(fd, (void *)&a, sizeof(a)) || listen(fd, 128)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void remove_dir(const char *dir)
{
	struct dirent *e;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(dir);
}

/* Reads what all connections have; how many messages. p[0] is the listener. */
static unsigned drain(struct pollfd *p, unsigned *n, struct trace_out *o, int timeout_ms)
{
	char line[LINE_BYTES];
	unsigned got = 0;

	if (poll(p, *n, timeout_ms) <= 0)
		return 0;
	for (unsigned i = 1; i < *n; i++) {
		/* some at a time, so that one busy process does not hold up the others */
		for (int k = 0; p[i].revents && k < 64; k++) {
			ssize_t r = recv(p[i].fd, line, sizeof(line) - 1, MSG_DONTWAIT);

			if (r < 0 && (errno == EAGAIN || errno == EINTR))
				break;
			if (r <= 0) {
				close(p[i].fd);
				p[i--] = p[--*n];
				break;
			}
			line[r] = 0;
			trace_out_line(o, line);
			got++;
		}
	}
	if (p[0].revents) {
		int fd = accept4(p[0].fd, NULL, NULL, SOCK_CLOEXEC);
		struct ucred who;
		socklen_t size = sizeof(who);

		if (fd >= 0 && *n < MAX_PROCESSES + 1) {
			if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size))
				trace_out_process(o, (unsigned)who.pid);
			p[(*n)++] = (struct pollfd){ .fd = fd, .events = POLLIN };
			got++;
		} else if (fd >= 0) {
			complain("trace: more than %u processes: one is not shown", MAX_PROCESSES);
			close(fd);
		}
	}
	return got;
}

/* Until CMD has ended and nothing more is there to read; its wait status. */
static int follow(pid_t pid, int listener, struct trace_out *o)
{
	static struct pollfd p[MAX_PROCESSES + 1];
	unsigned n = 1;
	int st = 0, ended = 0;

	p[0] = (struct pollfd){ .fd = listener, .events = POLLIN };
	if (listener < 0) {
		while (waitpid(pid, &st, 0) < 0 && errno == EINTR)
			;
		return st;
	}
	for (;;) {
		unsigned got = drain(p, &n, o, ended ? 0 : 50);

		if (ended && !got)
			break;
		if (!ended && waitpid(pid, &st, WNOHANG) == pid)
			ended = 1;
	}
	if (n > 1)
		complain("trace: %u processes that the command started still run; they are no longer traced", n - 1);
	while (n > 1)
		close(p[--n].fd);
	return st;
}

static void end(int sig)
{
	(void)sig;
	told_to_end = 1;
}

/* Until the process has ended, or we are told to. */
static void follow_attached(pid_t pid, int listener, const char *dir, struct trace_out *o)
{
	static struct pollfd p[MAX_PROCESSES + 1];
	int who = (int)syscall(SYS_pidfd_open, pid, 0);
	unsigned n = 1, rest = 0;

	p[0] = (struct pollfd){ .fd = listener, .events = POLLIN };
	while (rest < 2) {
		struct pollfd gone = { .fd = who, .events = POLLIN };
		unsigned got = drain(p, &n, o, rest ? 0 : 50);

		if (rest && !got)
			rest++;
		if (!rest && (told_to_end || who < 0 || poll(&gone, 1, 0) > 0)) {
			trace_stop(dir);
			rest = 1;
		}
	}
	while (n > 1)
		close(p[--n].fd);
	if (who >= 0)
		close(who);
}

/* nvtx3's headers and NVIDIA's own libnvToolsExt call the library that this names; another tool's stays. */
static void inject_nvtx(void)
{
	char path[PATH_MAX];

	if (!tool_path(path, sizeof(path), "lib", "libnvToolsExt.so.1") && !access(path, R_OK))
		setenv("NVTX_INJECTION64_PATH", path, 0);
}

static int usage(FILE *to)
{
	fputs("usage: vgpu trace [-c | --stats] [-j] [-f FILTER] [-o FILE] [--perfetto FILE] [run options] [--] CMD [ARG...]\n"
	      "       vgpu trace -p PID [the same, without run options]\n"
	      "  Runs CMD as vgpu run does and shows every CUDA driver, runtime, cuBLAS, NVML and NVTX call of it and its children:\n"
	      "  arguments, result, time. Calls inside a call are indented by dots.\n"
	      "  -p PID           those of a process that runs already, until it ends or this is told to by ^C or SIGTERM; the process goes on\n"
	      "  -c               counts, errors and times per function at the end, instead of lines\n"
	      "  --stats          what the device did, by time, as nsys stats has it: kernels, copies, waits\n"
	      "  -j               either as one JSON object, on standard output or in the file of -o, and nothing else there\n"
	      "  -f FILTER        names with * and ?, or driver, runtime, blas, nvml, nvtx; ! before one leaves it out; top: no calls\n"
	      "                   inside calls; errors: only calls that fail. Commas between: -f 'cudaMemcpy*,blas,top'\n"
	      "  -o FILE          lines or table go there instead of standard error\n"
	      "  --perfetto FILE  a trace for ui.perfetto.dev: calls, what the device did and when, ranges and marks of NVTX\n"
	      "  --ops            instructions of a kernel instead of calls: vgpu trace --ops -h\n"
	      "  Exit status: CMD's, or as vgpu run's; with -p 0, or 125: it cannot be attached to.\n", to);
	return to == stderr ? 125 : 0;
}

struct options {
	int count, json, stats;
	const char *filter, *file, *perfetto, *pid;
};

/* How many arguments the options take; the rest is vgpu run's. 0: told. */
static int parse(int argc, char **argv, struct options *o)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-c"))
			o->count = 1;
		else if (!strcmp(argv[i], "-j"))
			o->json = 1;
		else if (!strcmp(argv[i], "--stats"))
			o->stats = 1;
		else if (!strcmp(argv[i], "-f") && i + 1 < argc)
			o->filter = argv[++i];
		else if (!strcmp(argv[i], "-o") && i + 1 < argc)
			o->file = argv[++i];
		else if (!strcmp(argv[i], "--perfetto") && i + 1 < argc)
			o->perfetto = argv[++i];
		else if (!strcmp(argv[i], "-p") && i + 1 < argc)
			o->pid = argv[++i];
		else
			break;
	}
	/* one of the two; -j alone has always been counts */
	if (!o->stats && o->json)
		o->count = 1;
	return i;
}

int cmd_trace(int argc, char **argv)
{
	struct trace_out out = { .text = stderr };
	struct options o = { 0 };
	const char *base = getenv("TMPDIR");
	char dir[80];
	FILE *to = stderr;
	sigset_t ours, before;
	int first = parse(argc, argv, &o), listener = -1, st = 0, unwritten = 0, lines;
	unsigned processes = 0;
	pid_t pid, self, running = 0;
	char theirs[48], *rest;

	if (argc > 1 && !strcmp(argv[1], "--ops"))
		return trace_ops(argc, argv);
	if (first < argc && (!strcmp(argv[first], "-h") || !strcmp(argv[first], "--help")))
		return usage(stdout);
	if (o.pid) {
		long v = strtol(o.pid, &rest, 10);

		if (*rest || v <= 0 || v > INT_MAX) {
			complain("trace: -p %s: no number of a process", o.pid);
			return 125;
		}
		running = (pid_t)v;
	}
	if (running ? first < argc : first >= argc)
		return usage(stderr);
	if (o.stats && o.count) {
		complain("trace: -c and --stats are two tables: give one of them");
		return usage(stderr);
	}
	/* a process that was attached to hears by the connection that nobody reads any more */
	lines = !o.count || o.perfetto || running;
	if (o.file && !(to = fopen(o.file, "we"))) {
		complain("trace: cannot write %s: %s", o.file, strerror(errno));
		return 125;
	}
	out.sums = o.stats;
	out.text = o.count || o.stats || (o.perfetto && !o.file) ? NULL : to;
	out.start_ns = now_ns();
	if (o.perfetto) {
		out.perfetto.out = fopen(o.perfetto, "we");
		if (!out.perfetto.out) {
			complain("trace: cannot write %s: %s", o.perfetto, strerror(errno));
			return 125;
		}
		json_open(&out.perfetto, NULL, '{');
		json_str(&out.perfetto, "displayTimeUnit", "ns");
		json_open(&out.perfetto, "traceEvents", '[');
	}
	if (!base || strlen(base) > 40)
		base = "/tmp";
	if (running && (st = trace_base(running, theirs, sizeof(theirs)))) {
		if (st < 0)
			return 125;
		base = theirs;
		st = 0;
	}
	snprintf(dir, sizeof(dir), "%s/vgpu-trace-XXXXXX", base);
	if (!mkdtemp(dir)) {
		complain("trace: cannot make a folder in %s: %s", base, strerror(errno));
		return 125;
	}
	if (lines && (listener = listen_at(dir)) < 0) {
		complain("trace: cannot listen in %s: %s", dir, strerror(errno));
		remove_dir(dir);
		return 125;
	}
	/* Held back until there is somebody to pass them on to. */
	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	sigprocmask(SIG_BLOCK, &ours, &before);
	if (running) {
		const char *inside = base == theirs ? strstr(dir, "/tmp/") : dir;

		signal(SIGINT, end);
		signal(SIGTERM, end);
		signal(SIGHUP, end);
		sigprocmask(SIG_SETMASK, &before, NULL);
		if (trace_hand_over(running, dir) || trace_attach(running, inside, o.filter ? o.filter : "", o.stats || o.perfetto ? TRACE_DEVICE : 0))
			st = 125;
		else if (fprintf(stderr, "vgpu: trace: attached to process %d: ^C lets it go\n", (int)running) > 0)
			follow_attached(running, listener, dir, &out);
		goto sums;
	}
	self = getpid();
	pid = fork();
	if (!pid) {
		/* Killed outright, we pass nothing on: the command ends as with TERM to us, a private agent and device with it. */
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != self)
			_exit(125);
		sigprocmask(SIG_SETMASK, &before, NULL);
		if (setenv("VGPU_TRACE", dir, 1) || (o.filter ? setenv("VGPU_TRACE_FILTER", o.filter, 1) : unsetenv("VGPU_TRACE_FILTER")))
			_exit(125);
		inject_nvtx();
		if ((o.stats || o.perfetto) && setenv("VGPU_TRACE_DEVICE", "1", 1))
			_exit(125);
		/* JSON alone on standard output: what CMD says there goes beside it */
		if (o.json && !o.file && dup2(2, 1) < 0)
			_exit(125);
		argv[first - 1] = argv[0];
		st = cmd_run(argc - first + 1, argv + first - 1);
		fflush(stdout);         /* not the files that the parent writes */
		_exit(st);
	}
	child_pid = pid;
	signal(SIGINT, forward);
	signal(SIGTERM, forward);
	signal(SIGHUP, forward);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid > 0) {
		st = follow(pid, listener, &out);
		st = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
	} else {
		complain("trace: fork: %s", strerror(errno));
		st = 125;
	}
	child_pid = 0;
sums:
	if (o.stats) {
		processes = trace_counts(dir, NULL, 0);
		trace_device_stats(&out, o.json && !o.file ? stdout : to, o.json);
	} else if (o.count)
		processes = trace_counts(dir, o.json && !o.file ? stdout : to, o.json);
	else
		processes = trace_counts(dir, NULL, 0);
	if (!o.json)
		trace_in_flight(dir, to, now_ns(), running && kill(running, 0) == 0);
	if (trace_out_close(&out)) {
		complain("trace: %s is not whole: %s", o.perfetto, strerror(errno));
		unwritten = 1;
	}
	if (!processes && running && !st)
		complain("trace: no call was seen: process %d made none, or the filter left out all that it called", (int)running);
	else if (!processes && st != 125 && st != 126)
		complain("trace: no call was seen: the program does not use our shared libraries (vgpu doctor -- CMD says why), "
			 "or the filter left out all that it called");
	if (listener >= 0)
		close(listener);
	remove_dir(dir);
	unwritten |= ferror(to);
	if (to != stderr && (ferror(to) | fclose(to))) {
		complain("trace: %s is not whole: %s", o.file, strerror(errno));
		unwritten = 1;
	}
	return st ? st : unwritten;
}
