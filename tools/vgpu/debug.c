/* SPDX-License-Identifier: MIT */
/*
 * vgpu debug: a kernel step by step, on the interpreter of a private device; or what a device core says.
 *
 * The program is vgpu run's, with an engine that stops (VGPU_ENGINE=debug) and a box in a file that both map (../vgpu-stub/debug_box.h).
 * At each stop the engine writes a core into the box, and commands are answered from a copy of it; only memory is asked for.
 */
#define _GNU_SOURCE
#include "debug.h"
#include "vgpu.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 50000000        /* between two looks whether the program has ended */
#define KILL_MS 5000
#define INTERRUPT_MS 2000       /* that no kernel runs */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig) { (void)sig; interrupted = 1; }

static void sleep_on(uint32_t *word, uint32_t value)
{
	const struct timespec most = { .tv_nsec = LOOK_NS };

	syscall(SYS_futex, word, FUTEX_WAIT, value, &most, NULL, 0);
}

static void hand_over(struct session *s, uint32_t request)
{
	s->box->request = request;
	__atomic_store_n(&s->box->state, DBG_ASKED, __ATOMIC_RELEASE);
	syscall(SYS_futex, &s->box->state, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
}

void debug_changed(struct session *s)
{
	__atomic_fetch_add(&s->box->changed, 1, __ATOMIC_RELEASE);
}

/* True: the program is no more. */
static bool ended(struct session *s)
{
	int st;

	if (!s->pid || waitpid(s->pid, &st, WNOHANG) != s->pid)
		return !s->pid;
	s->pid = 0;
	s->stopped = false;
	s->status = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
	return true;
}

/* The kernel that stands is what commands are about. */
static void take(struct session *s)
{
	uint64_t n = s->box->core_bytes;
	const char *why;

	core_free(&s->core);
	why = n > sizeof(s->box->data) ? "it is too large" : core_read(&s->core, s->box->data, n);
	s->stopped = true;
	s->frame = s->warp = s->lane = 0;
	if (why) {
		s->stopped = false;
		complain("a kernel stands, and what the device says of it cannot be read: %s", why);
		return;
	}
	core_thread(&s->core, s->core.thread, &s->warp, &s->lane);
	show_stop(s);
}

static void wait_for_it(struct session *s)
{
	unsigned waited = 0;
	bool asked = false;

	s->stopped = false;
	fflush(stdout);
	for (;;) {
		uint32_t state = __atomic_load_n(&s->box->state, __ATOMIC_ACQUIRE);

		if (state == DBG_STOPPED) {
			take(s);
			return;
		}
		if (ended(s)) {
			printf("the program has ended with exit status %d\n", s->status);
			return;
		}
		if (interrupted && !asked) {
			s->box->interrupt = 1;
			asked = true;
			waited = 0;
		}
		if (asked && (waited += LOOK_NS / 1000000) > INTERRUPT_MS) {
			s->box->interrupt = 0;
			interrupted = 0;
			printf("no kernel runs: the program is at its own work; continue waits for it, kill ends it\n");
			return;
		}
		sleep_on(&s->box->state, state);
	}
}

void debug_go(struct session *s, uint32_t request, uint64_t times)
{
	s->box->a = times;
	s->box->focus = s->lane;
	interrupted = 0;
	hand_over(s, request);
	/* it leaves this state before it goes on */
	while (__atomic_load_n(&s->box->state, __ATOMIC_ACQUIRE) == DBG_ASKED && !ended(s))
		sleep_on(&s->box->state, DBG_ASKED);
	wait_for_it(s);
	interrupted = 0;
}

size_t debug_memory(struct session *s, uint64_t at, void *out, size_t n)
{
	size_t got;

	if (!s->box)
		return core_memory(&s->core, at, out, n);
	if (!s->stopped || n > 65536)
		return 0;
	s->box->a = at;
	s->box->b = n;
	hand_over(s, DBG_READ);
	while (__atomic_load_n(&s->box->state, __ATOMIC_ACQUIRE) == DBG_ASKED && !ended(s))
		sleep_on(&s->box->state, DBG_ASKED);
	got = s->box->status < n ? s->box->status : n;
	memcpy(out, s->box->data, got);
	return got;
}

static void clear(struct dbg_box *b)
{
	b->lock = b->state = b->interrupt = 0;
	b->core_bytes = 0;
	for (uint32_t i = 0; i < DBG_BREAKS; i++)
		b->breaks[i].places = b->breaks[i].hits = 0;
	/* addresses are another program's by then */
	memset(b->watches, 0, sizeof(b->watches));
}

int debug_run(struct session *s)
{
	int n = 0, fd;

	if (s->pid) {
		complain("the program runs already: kill, or continue");
		return 1;
	}
	clear(s->box);
	interrupted = 0;
	fflush(stdout);
	s->pid = fork();
	if (s->pid < 0) {
		complain("%s", strerror(errno));
		s->pid = 0;
		return 1;
	}
	if (!s->pid) {
		/* ^C is for the kernel, by way of the box */
		setpgid(0, 0);
		signal(SIGINT, SIG_DFL);
		fd = s->batch ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			dup2(fd, 0);
		if (setenv("VGPU_ENGINE", "debug", 1) || setenv("VGPU_VERIFY_COUNTS", s->box_path, 1))
			_exit(125);
		while (s->run[n])
			n++;
		n = cmd_run(n, s->run);
		fflush(stdout);
		_exit(n);
	}
	setpgid(s->pid, s->pid);
	wait_for_it(s);
	interrupted = 0;
	return 0;
}

/* vgpu run ends the device behind the program. */
void debug_kill(struct session *s)
{
	if (!s->pid)
		return;
	kill(s->pid, SIGTERM);
	for (int i = 0; i < KILL_MS / 10 && !ended(s); i++) {
		if (i == KILL_MS / 20)
			kill(-s->pid, SIGKILL);
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	s->stopped = false;
	s->status = -1;
}

/* ---- commands ----------------------------------------------------------------------------------------- */

/* Lines of a file; tell: a prompt. As debug_command(); of a file the first that cannot be done ends it. */
static int commands(struct session *s, FILE *f, bool tell)
{
	char *line = NULL, last[64] = "";
	size_t room = 0;
	int r = 0;

	for (;;) {
		if (tell) {
			printf("(vgpu) ");
			fflush(stdout);
		}
		errno = 0;
		if (getline(&line, &room, f) <= 0) {
			if (errno == EINTR) {
				clearerr(f);
				printf("\n");
				continue;
			}
			break;
		}
		/* an empty line steps again */
		if (tell && line[0] == '\n' && last[0]) {
			char again[sizeof(last)];

			memcpy(again, last, sizeof(last));
			r = debug_command(s, again);
		} else {
			last[0] = 0;
			if (line[0] == 's' || line[0] == 'n' || line[0] == 'c')
				snprintf(last, sizeof(last), "%s", line);
			r = debug_command(s, line);
		}
		fflush(stdout);
		if (r < 0 || (r && !tell))
			break;
		r = 0;
	}
	if (tell)
		printf("\n");
	free(line);
	return r;
}

static int usage(FILE *to)
{
	fputs("usage: vgpu debug [-x FILE] [-e COMMAND]... [--batch] [run options] [--] CMD [ARG...]\n"
	      "       vgpu debug -c CORE [-x FILE] [-e COMMAND]... [--batch]\n"
	      "  Stops kernels of CMD at breakpoints, at steps and at faults, on the interpreter of a private device; help lists the commands.\n"
	      "  -c CORE     what a device core says (CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1 CMD writes one)\n"
	      "  -x FILE     commands from FILE, before those of standard input\n"
	      "  -e COMMAND  the same, one by one\n"
	      "  --batch     no others: standard input is CMD's\n"
	      "  Exit status: CMD's, if it ended; 1 when a command of -x or -e could not be done; else 0. 125: there is no device.\n", to);
	return to == stderr ? 125 : 0;
}

static int box_open(struct session *s)
{
	const char *base = getenv("TMPDIR");
	int fd;

	if (!base || !*base || strlen(base) > 90)
		base = "/tmp";
	snprintf(s->box_path, sizeof(s->box_path), "%s/vgpu-debug-XXXXXX", base);
	fd = mkostemp(s->box_path, O_CLOEXEC);
	if (fd < 0 || ftruncate(fd, sizeof(*s->box))) {
		complain("cannot make a file in %s: %s", base, strerror(errno));
		return -1;
	}
	s->box = mmap(NULL, sizeof(*s->box), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (s->box == MAP_FAILED) {
		complain("cannot map %s: %s", s->box_path, strerror(errno));
		unlink(s->box_path);
		return -1;
	}
	s->box->magic = DBG_MAGIC;
	return 0;
}

int cmd_debug(int argc, char **argv)
{
	static char own[] = "--private", run[] = "run";
	struct session s = { .status = -1 };
	struct sigaction sa = { .sa_handler = on_interrupt };
	const char *core = NULL, *why, *list[64];
	char text[300];
	int i, n = 0, r = 0;
	FILE *f;

	for (i = 1; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help"))
			return usage(stdout);
		if (!strcmp(argv[i], "--batch")) {
			s.batch = true;
		} else if (!strcmp(argv[i], "-c") && i + 1 < argc) {
			core = argv[++i];
		} else if ((!strcmp(argv[i], "-x") || !strcmp(argv[i], "-e")) && i + 1 < argc && n < 62) {
			list[n++] = argv[i++];
			list[n++] = argv[i];
		} else {
			break;          /* vgpu run's, or nobody's */
		}
	}
	if (core ? i < argc : i >= argc)
		return usage(stderr);
	if (core) {
		why = core_open(&s.core, core, text, sizeof(text));
		if (why) {
			complain("%s: %s", core, why);
			core_free(&s.core);
			return 1;
		}
		s.stopped = true;
		core_thread(&s.core, s.core.thread, &s.warp, &s.lane);
		show_stop(&s);
	} else {
		s.run = calloc((size_t)(argc - i) + 3, sizeof(*s.run));
		if (!s.run || box_open(&s))
			return 125;
		s.run[0] = run;
		s.run[1] = own;
		memcpy(s.run + 2, argv + i, (size_t)(argc - i) * sizeof(*argv));
	}
	sigaction(SIGINT, &sa, NULL);   /* without SA_RESTART: the prompt comes again */
	for (int k = 0; k < n && !r; k += 2) {
		if (list[k][1] == 'e') {
			snprintf(text, sizeof(text), "%s", list[k + 1]);
			r = debug_command(&s, text);
			fflush(stdout);
			continue;
		}
		f = fopen(list[k + 1], "re");
		if (!f) {
			complain("%s: %s", list[k + 1], strerror(errno));
			r = 1;
			break;
		}
		r = commands(&s, f, false);
		fclose(f);
	}
	if (!r && !s.batch)
		r = commands(&s, stdin, isatty(0));
	i = s.status;
	if (s.pid) {
		debug_kill(&s);
		i = 0;
	}
	if (s.box) {
		munmap(s.box, sizeof(*s.box));
		unlink(s.box_path);
	}
	core_free(&s.core);
	free(s.run);
	return r > 0 ? 1 : i > 0 ? i : 0;
}
