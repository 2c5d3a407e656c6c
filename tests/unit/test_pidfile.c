/* SPDX-License-Identifier: MIT */
/*
 * The pid file: one owner, named to the second; a dead owner's file is nobody's; races on removal.
 *
 * Sources: tests/unit/test_pidfile.c agent/pidfile.c      Flags: -D_GNU_SOURCE
 */
#include "../../agent/pidfile.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* In a process of its own: does it get the file? Its sentence comes back in `why`. */
static int other_takes(const char *path, char *why, size_t n)
{
	int p[2], status = 0;
	pid_t pid;

	if (pipe(p) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		char text[300] = "";
		int fd = pidfile_take(path, text, sizeof(text));

		if (write(p[1], text, strlen(text) + 1) < 0)
			_exit(3);
		_exit(fd >= 0);
	}
	close(p[1]);
	why[0] = 0;
	if (read(p[0], why, n) < 0)
		why[0] = 0;
	close(p[0]);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
	char folder[] = "/tmp/vgpu-pidfile-XXXXXX", path[128], why[300], text[64] = "", expect[200];
	struct rlimit full;
	struct stat st;
	FILE *f;
	int fd;

	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/sub/agent.pid", folder);

	fd = pidfile_take(path, why, sizeof(why));              /* makes the folder */
	CHECK(fd >= 0);
	f = fopen(path, "r");
	CHECK(f && fgets(text, sizeof(text), f) && atoi(text) == getpid());
	if (f)
		fclose(f);
	snprintf(expect, sizeof(expect), "already running: pid %d (holds %s)", (int)getpid(), path);
	CHECK(other_takes(path, why, sizeof(why)) == 0 && !strcmp(why, expect));
	pidfile_drop(path, fd);
	CHECK(stat(path, &st) < 0);

	/* its owner died without cleaning up: the lock is what counts */
	CHECK(other_takes(path, why, sizeof(why)) == 1);
	CHECK(stat(path, &st) == 0);
	fd = pidfile_take(path, why, sizeof(why));
	CHECK(fd >= 0);
	/* somebody removes the file under us: a new file has a new lock, and dropping ours is harmless */
	unlink(path);
	CHECK(other_takes(path, why, sizeof(why)) == 1);
	pidfile_drop(path, fd);

	/* a disk that is full, as far as this process is concerned: no file stays, and none that is empty */
	CHECK(stat(path, &st) < 0);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &full);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0, full.rlim_max });
	CHECK(pidfile_take(path, why, sizeof(why)) < 0 && strstr(why, "cannot be written"));
	CHECK(stat(path, &st) < 0);
	setrlimit(RLIMIT_FSIZE, &full);

	/* what cannot be: a folder, a symbolic link, a place that is not there */
	CHECK(pidfile_take(folder, why, sizeof(why)) < 0 && strstr(why, folder));
	snprintf(path, sizeof(path), "%s/link", folder);
	CHECK(symlink("/tmp/vgpu-nowhere", path) == 0 && pidfile_take(path, why, sizeof(why)) < 0);
	unlink(path);
	CHECK(pidfile_take("/proc/none/agent.pid", why, sizeof(why)) < 0);

	snprintf(path, sizeof(path), "%s/sub/agent.pid", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/sub", folder);
	rmdir(path);
	rmdir(folder);
	printf("test_pidfile: %u checks, %u failed\n", checks, failed);
	return failed ? 1 : 0;
}
