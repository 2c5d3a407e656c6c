/* SPDX-License-Identifier: MIT */
/*
 * Guest: starts a service in a cgroup of its own, as a service manager does for a unit with User= and Delegate=yes
 * (systemd.resource-control(5), https://systemd.io/CGROUP_DELEGATION): the group and the files that move processes and hand
 * controllers on belong to the user, an attribute says so, and the service is started in there.
 *
 *   delegate GROUP UID COMMAND...       UID 0: root's; the group may be there already
 *
 * Another user gets no clone3 either, as with RestrictNamespaces=: systemd's filter answers ENOSYS.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

static void die(const char *what)
{
	fprintf(stderr, "delegate: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void restrict_namespaces(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof(f) / sizeof(f[0]), f };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
		die("the filter");
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
	if (uid)
		restrict_namespaces();
	execvp(argv[3], argv + 3);
	die(argv[3]);
}
