/* SPDX-License-Identifier: MIT */
/*
 * Files that a host's driver opens again. It has its device nodes open when the walls go up; later it opens the same ones once more, a
 * descriptor for a mapping. So the nodes under /dev that the process has open by then, and no others, are put into the empty root, and Landlock
 * lets them be opened. Where neither wall stands, the sandbox lets nothing be opened at all.
 *
 * Called by ctx_walls.c, before threads.
 */
#define _GNU_SOURCE
#include "ctx.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#define OPEN_TREE_CLOEXEC O_CLOEXEC
#endif
#ifndef MOVE_MOUNT_F_EMPTY_PATH
#define MOVE_MOUNT_F_EMPTY_PATH 4
#endif
#ifndef SYS_open_tree
#define SYS_open_tree 428
#define SYS_move_mount 429
#endif

#define MOST 32u

static struct {
	char path[64];
	int tree;               /* a mount of this one file */
} file[MOST];
static unsigned nfiles;

static int known(const char *path)
{
	for (unsigned i = 0; i < nfiles; i++)
		if (!strcmp(file[i].path, path))
			return 1;
	return 0;
}

unsigned ctx_files_find(void)
{
	DIR *d = opendir("/proc/self/fd");
	const struct dirent *e;
	struct stat st;
	char link[64];
	ssize_t n;

	while (d && nfiles < MOST && (e = readdir(d))) {
		n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		if (n < 6 || n == sizeof(link) - 1)
			continue;
		link[n] = 0;
		if (strncmp(link, "/dev/", 5) || known(link) || stat(link, &st) || !S_ISCHR(st.st_mode))
			continue;
		strcpy(file[nfiles].path, link);
		file[nfiles++].tree = -1;
	}
	if (d)
		closedir(d);
	return nfiles;
}

void ctx_files_take(void)
{
	for (unsigned i = 0; i < nfiles; i++)
		file[i].tree = (int)syscall(SYS_open_tree, AT_FDCWD, file[i].path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
}

static int place(char *path, int tree)
{
	int fd;

	for (char *s = strchr(path, '/'); s; s = strchr(s + 1, '/')) {
		*s = 0;
		if (mkdir(path, 0555) && errno != EEXIST)
			return -1;
		*s = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (fd < 0)
		return -1;
	close(fd);
	return (int)syscall(SYS_move_mount, tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH);
}

/*
 * In the folder that becomes the root, at the same paths. What cannot be had there (a kernel before 5.2 has no such call) the driver is told
 * does not exist.
 */
void ctx_files_place(void)
{
	for (unsigned i = 0; i < nfiles; i++) {
		if (file[i].tree < 0)
			continue;
		if (place(file[i].path + 1, file[i].tree))
			fprintf(stderr, "%s cannot be had in the empty root: %s\n", file[i].path, strerror(errno));
		close(file[i].tree);
	}
}

/* rights: those that the rule set handles. */
void ctx_files_rules(int rules, uint64_t rights)
{
	struct landlock_path_beneath_attr a = {
		.allowed_access = rights & (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | 1u << 15 /* IOCTL_DEV */),
	};

	for (unsigned i = 0; i < nfiles; i++) {
		a.parent_fd = open(file[i].path, O_PATH | O_CLOEXEC);
		if (a.parent_fd < 0)
			continue;
		/* Refused: it cannot be opened, and the driver is told so when it tries. */
		if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &a, 0))
			errno = 0;
		close(a.parent_fd);
	}
}
