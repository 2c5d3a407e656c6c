/* SPDX-License-Identifier: MIT */
/*
 * Guest: starts a service in a cgroup of its own, as a service manager does for a unit with User= and Delegate=yes
 * (systemd.resource-control(5), https://systemd.io/CGROUP_DELEGATION): the group and the files that move processes and hand
 * controllers on belong to the user, an attribute says so, and the service is started in there.
 *
 *   delegate GROUP UID COMMAND...       UID 0: root's; the group may be there already
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static void die(const char *what)
{
	fprintf(stderr, "delegate: %s: %s\n", what, strerror(errno));
	exit(1);
}

int main(int argc, char **argv)
{
	static const char *const handed[] = { "", "/cgroup.procs", "/cgroup.subtree_control", "/cgroup.threads" };
	char path[512], pid[24];
	uid_t uid;
	int fd;

	if (argc < 4)
		return 2;
	uid = (uid_t)atoi(argv[2]);
	if (mkdir(argv[1], 0755) && errno != EEXIST)
		die(argv[1]);
	for (unsigned i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s%s", argv[1], handed[i]);
		if (chown(path, uid, uid))
			die(path);
	}
	/* of the manager's own name for it, and the one that whoever is not root can read */
	if (setxattr(argv[1], "trusted.delegate", "1", 1, 0) || (setxattr(argv[1], "user.delegate", "1", 1, 0) && errno != EOPNOTSUPP))
		die("the attribute");
	snprintf(path, sizeof(path), "%s/cgroup.procs", argv[1]);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, pid, strlen(pid)) < 0)
		die(path);
	if (uid && (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
		die("the user");
	execvp(argv[3], argv + 3);
	die(argv[3]);
}
