/* SPDX-License-Identifier: MIT */
/* See pidfile.h. */
#include "pidfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static void make_folder(const char *path)
{
	char folder[256];
	char *slash;

	if (strlen(path) >= sizeof(folder))
		return;
	strcpy(folder, path);
	slash = strrchr(folder, '/');
	if (slash && slash != folder) {
		*slash = 0;
		mkdir(folder, 0755);
	}
}

int pidfile_take(const char *path, char *why, size_t n)
{
	struct stat mine, now;
	char s[32] = "";
	int fd;

	make_folder(path);
again:
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0) {
		snprintf(why, n, "--pidfile %s: %s", path, strerror(errno));
		return -1;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK) {
			snprintf(why, n, "--pidfile %s: cannot be locked: %s", path, strerror(errno));
		} else {
			ssize_t r = pread(fd, s, sizeof(s) - 1, 0);

			s[r > 0 ? r : 0] = 0;
			snprintf(why, n, "already running: pid %ld (holds %s)", strtol(s, NULL, 10), path);
		}
		close(fd);
		return -1;
	}
	/* Between open and lock its owner may have ended and removed the file. */
	if (fstat(fd, &mine) < 0 || stat(path, &now) < 0 || mine.st_ino != now.st_ino || mine.st_dev != now.st_dev) {
		close(fd);
		goto again;
	}
	snprintf(s, sizeof(s), "%ld\n", (long)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, s, strlen(s), 0) != (ssize_t)strlen(s)) {
		snprintf(why, n, "--pidfile %s: cannot be written: %s", path, strerror(errno));
		pidfile_drop(path, fd);
		return -1;
	}
	return fd;
}

void pidfile_drop(const char *path, int fd)
{
	if (fd < 0)
		return;
	unlink(path);           /* while the lock is held: nobody else's file can stand there */
	close(fd);
}
