/* SPDX-License-Identifier: MIT */
/*
 * vgpu run -- CMD: CMD's loader takes our libraries, whatever the program carries beside it.
 * What is set for it: surround.c.
 */
#define _GNU_SOURCE
#include "choose.h"
#include "command.h"
#include "ldso.h"
#include "failures.h"
#include "leaks.h"
#include "../vgpu-stub/engine.h"
#include "surround.h"
#include "vgpu.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is passed on to CMD, but for what we ignore ourselves (nohup): CMD ignores that too. */
static void passed_signals(sigset_t *set)
{
	static const int all[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
	struct sigaction sa;

	sigemptyset(set);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!sigaction(all[i], NULL, &sa) && sa.sa_handler != SIG_IGN)
			sigaddset(set, all[i]);
}

/*
 * Until CMD has ended; its wait status. The signals are blocked and taken here, so that none falls between two
 * steps: what came before CMD was there has waited for it. The terminal's go to CMD by themselves.
 */
static int attend(pid_t pid, const sigset_t *set, struct failures *f, const char *log, int mangled)
{
	siginfo_t si;
	int st, sig;

	while (waitpid(pid, &st, WNOHANG) != pid) {
		failures_tell(f, log, mangled);
		sig = f->path[0] ? sigtimedwait(set, &si, &(struct timespec){ .tv_nsec = 50000000 }) : sigwaitinfo(set, &si);
		if (sig > 0 && sig != SIGCHLD && si.si_code != SI_KERNEL)
			kill(pid, sig);
	}
	return st;
}

static int before(const char *name, const char *value)
{
	char *v = strdup(value);
	struct surround row = { name, v, ':', "sanitizers" };
	int err = v ? surround_set(&row) : -1;

	free(v);
	return err;
}

/*
 * A sanitizer's shared runtime wants to be the first library of the process, and some of them much static TLS, of which the audit
 * library leaves little: it is named first, and room is asked for (glibc 2.32). Programs that carry it inside need nothing.
 */
static int sanitizer(const char *cmd)
{
	static const char *const names[] = { "libasan.so", "libtsan.so", "liblsan.so", "libhwasan.so", "libclang_rt." };
	char path[PATH_MAX];
	struct closure *c;
	int err = 0;

	if (command_find(environ, cmd, path))
		return 0;
	c = ldso_load(path, environ);
	for (unsigned i = 1; i < c->n && !err; i++)
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			if (c->o[i].path && !strncmp(c->o[i].name, names[k], strlen(names[k]))) {
				/* which wants more than there can be room for: programs with a cudart inside have to go without */
				if (!strncmp(names[k], "libtsan", 7))
					unsetenv("LD_AUDIT");
				err = before("LD_PRELOAD", c->o[i].path) || before("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=262144");
			}
	ldso_free(c);
	return err;
}

static int environment(char **cmd, const char *agent, int verbose, int torch)
{
	struct surround rows[SURROUND_MAX];
	int n = surround(rows, agent, verbose, torch), err = n < 0 ? -1 : 0;

	for (int i = 0; i < n && !err; i++) {
		if (verbose)
			fprintf(stderr, "vgpu: %s=%s%s   for %s\n", rows[i].name, rows[i].value, rows[i].separator > 1 ? ":..." : "", rows[i].whom);
		err = surround_set(&rows[i]);
	}
	surround_free(rows, n);
	return err ? err : sanitizer(cmd[0]);
}

/* The file in which the contexts of --verify count, an own one, named to them by the environment. 0 or -1. */
static int counts_open(char *path, size_t bytes)
{
	static const struct verify_counts none;
	const char *base = getenv("TMPDIR");
	int fd;

	if (!base || !*base || strlen(base) + 32 > bytes)
		base = "/tmp";
	snprintf(path, bytes, "%s/vgpu-verify-XXXXXX", base);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0 || write(fd, &none, sizeof(none)) != sizeof(none)) {
		complain("cannot make a file in %s: %s", base, strerror(errno));
		if (fd < 0)
			*path = 0;
		else
			close(fd);
		return -1;
	}
	close(fd);
	return setenv("VGPU_VERIFY_COUNTS", path, 1);
}

/* How many errors the checker has told, leaks, and more that the caller knows of. tell: 'v' of verify, 'm' of the checker, 0 nothing. */
static unsigned long long counts_close(const char *path, const char *leaks, int tell, const char *log, unsigned long long more)
{
	struct verify_counts c = { .errors = 0 };
	FILE *f = *path ? fopen(path, "r") : NULL, *to;
	const char *how = getenv("VGPU_MEMCHECK");

	if (f && fread(&c, sizeof(c), 1, f) == 1 && tell == 'v')
		fprintf(stderr, "verify: %llu launches compared, %llu differ, %llu only by the order of float atomics, %llu not comparable\n",
			(unsigned long long)c.compared, (unsigned long long)c.differ, (unsigned long long)c.order,
			(unsigned long long)c.skipped);
	else if (f && tell == 'm') {
		to = log ? fopen(log, "ae") : NULL;
		c.errors += more;
		if (*leaks)
			c.errors += leaks_report(leaks, to ? to : stderr, how && strstr(how, "demangle=no"));
		fprintf(to ? to : stderr, "========= ERROR SUMMARY: %llu error%s in %llu launches\n", (unsigned long long)c.errors,
			c.errors == 1 ? "" : "s", (unsigned long long)c.checked);
		if (to)
			fclose(to);
	}
	if (f)
		fclose(f);
	if (*path)
		unlink(path);
	if (*leaks && tell != 'm')
		unlink(leaks);
	return c.errors;
}

static int usage(FILE *to)
{
	fputs("usage: vgpu run [-v] [--torch] [--private] [--memcheck [--initcheck] [--leak-check] [--report-api-errors WHICH] | --verify]\n                [--cc X.Y] [--memory SIZE] [--sms N] [--name TEXT] [--kernel-timeout S]\n                [--engine cuda [--cuda-device N] [--cuda-library PATH] [--cublas-library PATH]] [--] CMD [ARG...]\n"
	      "  Runs CMD with our CUDA libraries. If no agent answers, or with --private or a device\n"
	      "  option, a vgpu-stub and a vgpu-agent of its own start first and end with CMD.\n"
	      "  --memcheck: a private device that checks every memory access of every kernel; [--error-exitcode N] where it\n"
	      "  found something; [--log-file FILE] for what it says; [--initcheck] for memory read before anybody has written it;\n"
	      "  [--leak-check] for memory that CMD never frees; [--report-api-errors explicit|all] for calls that fail, its own or\n"
	      "  also those inside of them. vgpu sanitizer takes compute-sanitizer's options.\n"
	      "  --verify: a private device that runs every kernel on the interpreter and on the JIT, and compares what they write.\n"
	      "  --engine cuda: a private device on an NVIDIA GPU of this host, by its driver; vgpu-stub's options of these names.\n"
	      "  --torch: eager PyTorch by FlagGems (pip install flag_gems==5.0.2); torch.compile and copies need it not.\n"
	      "  Exit status: CMD's; 126 when CMD cannot be run, 125 when there is no device.\n", to);
	return to == stderr ? 125 : 0;
}

int cmd_run(int argc, char **argv)
{
	struct private_gpu gpu = { .dir = "" };
	char buf[128], *stub_args[24] = { NULL };
	sigset_t set, before;
	struct agent_reach reach;
	const char *agent = NULL;
	const char *log = NULL;
	unsigned long long errors;
	int own = 0, check = 0, leak = 0, init = 0, error_exit = -1, verify = 0, verbose = 0, torch = 0, n = 0, cc = 0, gpus = 0, engine = 0, i, st;
	int calls = 0, mangled;
	char why[PATH_MAX + 80], chosen[16], counts[128] = "", leaks[128] = "";
	struct failures failed = { .path = "" };
	const char *how;
	pid_t pid;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help"))
			return usage(stdout);
		if (!strcmp(argv[i], "-v")) {
			verbose = 1;
		} else if (!strcmp(argv[i], "--torch")) {
			torch = 1;
		} else if (!strcmp(argv[i], "--private")) {
			own = 1;
		} else if (!strcmp(argv[i], "--memcheck")) {
			own = check = 1;
			setenv("VGPU_ENGINE", "memcheck", 1);
		} else if (!strcmp(argv[i], "--leak-check")) {
			leak = 1;
		} else if (!strcmp(argv[i], "--initcheck")) {
			init = 1;
		} else if (!strcmp(argv[i], "--error-exitcode") && i + 1 < argc) {
			char *end;

			error_exit = (int)strtol(argv[++i], &end, 10);
			if (*end || end == argv[i] || error_exit < 0 || error_exit > 255) {
				complain("run: --error-exitcode %s: 0 to 255", argv[i]);
				return 125;
			}
		} else if (!strcmp(argv[i], "--report-api-errors") && i + 1 < argc) {
			i++;
			calls = !strcmp(argv[i], "all") ? 2 : !strcmp(argv[i], "explicit") ? 1 : -1;
			if (calls < 0) {
				complain("run: --report-api-errors %s: explicit or all", argv[i]);
				return 125;
			}
		} else if (!strcmp(argv[i], "--log-file") && i + 1 < argc) {
			log = argv[++i];
		} else if (!strcmp(argv[i], "--verify")) {
			own = verify = 1;
			setenv("VGPU_ENGINE", "verify", 1);
		} else if ((!strcmp(argv[i], "--cc") || !strcmp(argv[i], "--memory") ||
			    !strcmp(argv[i], "--sms") || !strcmp(argv[i], "--name") || !strcmp(argv[i], "--kernel-timeout")) && i + 1 < argc && n < 12) {
			own = 1;
			cc |= !strcmp(argv[i], "--cc");
			stub_args[n++] = argv[i++];
			stub_args[n++] = argv[i];
		} else if ((!strcmp(argv[i], "--engine") || !strcmp(argv[i], "--cuda-device") || !strcmp(argv[i], "--cuda-library") ||
			    !strcmp(argv[i], "--cublas-library")) && i + 1 < argc && n < 20) {
			own = 1;
			engine |= !strcmp(argv[i], "--engine") && !strcmp(argv[i + 1], "cuda");
			gpus |= !!strcmp(argv[i], "--engine");
			stub_args[n++] = argv[i++];
			stub_args[n++] = argv[i];
		} else {
			misused("run", argv[i]);
			return 125;
		}
	}
	if (i >= argc)
		return usage(stderr);
	if ((log || error_exit >= 0 || leak || init || calls) && !check) {
		complain("run: --log-file, --error-exitcode, --leak-check, --initcheck and --report-api-errors are of --memcheck");
		return 125;
	}
	/* what checks PTX is the cpu engine; what a GPU is like, its driver says */
	if ((gpus && !engine) || (engine && (check || verify || cc))) {
		complain(engine ? "run: --engine cuda: not with --memcheck, --verify or --cc, which are of the cpu engine" :
			 "run: --cuda-device, --cuda-library and --cublas-library are of --engine cuda");
		return 125;
	}
	if (init && setenv("VGPU_MEMCHECK", "race,shared,sync,init", 1))
		return 125;
	/* a new file, which CMD and its children add to */
	if (log) {
		FILE *f = fopen(log, "we");
		char *whole = f ? realpath(log, NULL) : NULL;

		if (!whole || fclose(f) || setenv("VGPU_MEMCHECK_LOG", whole, 1)) {
			complain("run: --log-file %s: %s", log, strerror(errno));
			return 125;
		}
		free(whole);
	}
	if (!own && agent_search(buf, sizeof(buf), &reach) == VGPU_REACH_OK)
		agent = buf;
	if (!agent) {
		const char *named = getenv("VGPU_AGENT");

		/* one that is there and cannot be used is worth a word: the program gets another device than its user thinks */
		if (!own && ((named && *named) || reach.is != VGPU_REACH_NO_SOCKET))
			complain("%s (%s): starting a private one", reach.why, reach.fix);
		if (!cc && !engine) {
			unsigned best = choose_cc(argv + i, environ, why, sizeof(why));

			/* where bfloat16 begins */
			if (torch && best < 80) {
				best = 80;
				snprintf(why, sizeof(why), "--torch");
			}

			snprintf(chosen, sizeof(chosen), "%u.%u", best / 10, best % 10);
			stub_args[n++] = (char *)"--cc";
			stub_args[n++] = chosen;
			if (verbose || best != DEFAULT_CC)
				complain("device of compute capability %s, by %s; --cc overrides it", chosen, why);
		}
		signal(SIGCHLD, SIG_DFL);
		passed_signals(&set);
		sigaddset(&set, SIGCHLD);
		sigprocmask(SIG_BLOCK, &set, &before);
		if (((verify || check) && counts_open(counts, sizeof(counts))) || (leak && leaks_open(leaks, sizeof(leaks))) || (calls && failures_open(&failed, calls > 1)) ||
		    private_start(&gpu, stub_args, verbose)) {
			failures_close(&failed, NULL, 0);
			counts_close(counts, leaks, 0, NULL, 0);
			sigprocmask(SIG_SETMASK, &before, NULL);        /* the signal that ended the start ends us */
			return 125;
		}
		agent = gpu.agent;
	}
	if (environment(argv + i, agent, verbose, torch)) {
		private_stop(&gpu);
		failures_close(&failed, NULL, 0);
		counts_close(counts, leaks, 0, NULL, 0);
		return 125;
	}
	if (!gpu.dir[0]) {      /* nothing to clean up behind it: become CMD */
		sigpipe_as_before();
		execvp(argv[i], argv + i);
		complain("cannot run %s: %s", argv[i], strerror(errno));
		return 126;
	}
	pid = fork();
	if (!pid) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		sigpipe_as_before();
		execvp(argv[i], argv + i);
		complain("cannot run %s: %s", argv[i], strerror(errno));
		_exit(126);
	}
	if (pid < 0) {
		complain("cannot run %s: %s", argv[i], strerror(errno));
		private_stop(&gpu);
		return 126;
	}
	how = getenv("VGPU_MEMCHECK");
	mangled = how && strstr(how, "demangle=no");
	st = attend(pid, &set, &failed, log, mangled);
	private_stop(&gpu);
	errors = failures_close(&failed, log, mangled);
	errors = counts_close(counts, leaks, verify ? 'v' : check ? 'm' : 0, log, errors);
	if (errors && error_exit >= 0)
		return error_exit;
	return WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
}
