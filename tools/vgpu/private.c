/* SPDX-License-Identifier: MIT */
/*
 * A private device and agent for one command: both in a 0700 folder, both bound to this process
 * by PDEATHSIG, so that nothing outlives a vgpu that was killed.
 */
#define _GNU_SOURCE
#include "vgpu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_DEADLINE_MS 15000

static void nap_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static pid_t spawn(char *const argv[], const char *log)
{
	pid_t parent = getpid(), pid = fork();
	sigset_t none;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	sigemptyset(&none);     /* what our caller blocks is his business */
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);          /* ^C is for the command; vgpu ends the daemons itself */
	int null = open("/dev/null", O_RDWR);
	if (null >= 0) {
		dup2(null, 0);
		dup2(null, 1);
	}
	if (log) {
		int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);

		if (fd >= 0)
			dup2(fd, 2);
	}
	execv(argv[0], argv);
	complain("cannot run %s: %s", argv[0], strerror(errno));
	_exit(127);
}

/* Shows what a daemon said when it would not start. */
static void show_log(const char *path)
{
	char line[512];
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f))
		fprintf(stderr, "  %s", line);
	if (f)
		fclose(f);
}

static int ended(pid_t *pid)
{
	int st;

	if (*pid > 0 && waitpid(*pid, &st, WNOHANG) == *pid) {
		*pid = 0;
		return 1;
	}
	return *pid <= 0;
}

/* A caller that blocks the signals that end programs wants to see to them: the start stops for one. */
static int told_to_end(void)
{
	sigset_t set;

	return !sigpending(&set) && (sigismember(&set, SIGTERM) > 0 || sigismember(&set, SIGINT) > 0 ||
				     sigismember(&set, SIGHUP) > 0 || sigismember(&set, SIGQUIT) > 0);
}

int private_start(struct private_gpu *p, char *const stub_args[], int verbose)
{
	return private_start_with(p, stub_args, NULL, verbose);
}

int private_start_with(struct private_gpu *p, char *const stub_args[], char *const agent_args[], int verbose)
{
	const char *base = getenv("XDG_RUNTIME_DIR");
	char stub[PATH_MAX], agent[PATH_MAX], sock[128], device[160], log[128], pidfile[128];
	char *argv[64] = { stub, "--socket", sock };
	char *agent_argv[64] = { agent, "--device", device, "--listen", p->agent, "--pidfile", pidfile };
	int n = 3, k = 7, waited;

	memset(p, 0, sizeof(*p));
	if (tool_path(stub, sizeof(stub), "bin", "vgpu-stub") ||
	    tool_path(agent, sizeof(agent), "bin", "vgpu-agent"))
		return -ENOENT;
	/* a long runtime dir would not fit into sun_path; /tmp always does */
	if (!base || !*base || strlen(base) > 40 || access(base, W_OK))
		base = "/tmp";
	snprintf(p->dir, sizeof(p->dir), "%s/vgpu-XXXXXX", base);
	if (!mkdtemp(p->dir)) {
		complain("cannot make a folder in %s: %s", base, strerror(errno));
		p->dir[0] = 0;
		return -errno;
	}
	snprintf(sock, sizeof(sock), "%s/stub", p->dir);
	snprintf(device, sizeof(device), "vfio-user:%s", sock);
	snprintf(log, sizeof(log), "%s/log", p->dir);
	snprintf(pidfile, sizeof(pidfile), "%s/pid", p->dir);
	snprintf(p->agent, sizeof(p->agent), "%s/agent", p->dir);
	for (int i = 0; stub_args && stub_args[i] && n < 62; i++)
		argv[n++] = stub_args[i];
	argv[n] = NULL;
	for (int i = 0; agent_args && agent_args[i] && k < 62; i++)
		agent_argv[k++] = agent_args[i];
	agent_argv[k] = NULL;
	p->stub_pid = spawn(argv, verbose ? NULL : log);
	for (waited = 0; access(sock, F_OK); waited += 2) {
		if (told_to_end())
			goto fail;
		if (ended(&p->stub_pid) || waited > START_DEADLINE_MS) {
			complain("vgpu-stub did not start:");
			show_log(log);
			goto fail;
		}
		nap_ms(2);
	}
	p->agent_pid = spawn(agent_argv, verbose ? NULL : log);
	for (; access(p->agent, F_OK) || !agent_answers(p->agent); waited += 2) {
		if (told_to_end())
			goto fail;
		if (ended(&p->agent_pid) || waited > START_DEADLINE_MS) {
			complain("vgpu-agent did not start:");
			show_log(log);
			goto fail;
		}
		nap_ms(2);
	}
	return 0;
fail:
	private_stop(p);
	return -ENODEV;
}

static void end(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGTERM);
	for (int i = 0; i < 300; i++) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return;
		nap_ms(10);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

void private_stop(struct private_gpu *p)
{
	struct dirent *e;
	DIR *d;

	end(p->agent_pid);
	end(p->stub_pid);
	p->agent_pid = p->stub_pid = 0;
	if (!p->dir[0])
		return;
	d = opendir(p->dir);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(p->dir);
	p->dir[0] = 0;
}
