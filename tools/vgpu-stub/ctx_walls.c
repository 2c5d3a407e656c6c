/* SPDX-License-Identifier: MIT */
/*
 * The walls behind seccomp, from the inside: called once in a fresh context process, after exec and before threads, with
 * what the parent has found possible (walls.c). Namespaces are there already when it runs; what is left is to empty the
 * file system, to become a user of its own, and to give up every right.
 *
 * Each is a wall of its own: native code that gets past the system call filter is in an empty directory, in a network
 * without an interface, alone among the processes, as a user who owns nothing.
 */
#define _GNU_SOURCE
#include "ctx.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* linux/landlock.h of the newer kernels: rights to files and ports, and what is kept from leaving */
struct rules {
	uint64_t fs, net, scoped;
};
static const struct { uint32_t fs_bits, net_bits, scope_bits; } landlock_abi[] = {
	{ 13, 0, 0 }, { 14, 0, 0 }, { 15, 0, 0 }, { 15, 2, 0 }, { 16, 2, 0 }, { 16, 2, 2 },
};

static unsigned files;                  /* of a host's driver (ctx_files.c) */

#define FAIL(...) do { snprintf(why, room, __VA_ARGS__); return -1; } while (0)

/*
 * An empty directory becomes the root; the old one is let go. No file has to exist for it but one directory to mount on. A host's driver
 * finds its device nodes there.
 */
static int empty_root(char *why, size_t room)
{
	static const char *const places[] = { "/proc", "/dev", "/tmp", "/usr", "/" };
	const char *options = files ? "size=4096,nr_inodes=256,mode=555" : "size=4096,nr_inodes=1,mode=555";
	unsigned i = 0;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		FAIL("mounts cannot be made private: %s", strerror(errno));
	ctx_files_take();
	while (mount("none", places[i], "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options))
		if (++i == sizeof(places) / sizeof(places[0]))
			FAIL("an empty file system cannot be mounted: %s", strerror(errno));
	if (chdir(places[i]))
		FAIL("%s: %s", places[i], strerror(errno));
	ctx_files_place();
	/* Both at one place: the new root lies under the old one, which is then taken away. An initramfs has no old root to leave. */
	if (syscall(SYS_pivot_root, ".", ".") == 0) {
		if (umount2(".", MNT_DETACH))
			FAIL("the old root stays: %s", strerror(errno));
	} else if (mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".")) {
		FAIL("the root cannot be left: %s", strerror(errno));
	}
	if (chdir("/") || mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		FAIL("the empty root stays writable: %s", strerror(errno));
	return 0;
}

static int become(uint32_t uid, char *why, size_t room)
{
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		FAIL("user %u: %s", uid, strerror(errno));
	return 0;
}

static int landlock(char *why, size_t room)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION), fd;
	struct rules r = { 0, 0, 0 };

	if (abi < 1)
		FAIL("%s", strerror(errno));
	abi = abi > 6 ? 6 : abi;
	r.fs = (1ull << landlock_abi[abi - 1].fs_bits) - 1;
	r.net = (1ull << landlock_abi[abi - 1].net_bits) - 1;
	r.scoped = (1ull << landlock_abi[abi - 1].scope_bits) - 1;
	/* Everything is a right that has to be given, and none is. */
	fd = syscall(SYS_landlock_create_ruleset, &r, abi >= 6 ? 24 : abi >= 4 ? 16 : 8, 0);
	if (fd < 0)
		FAIL("no rule set: %s", strerror(errno));
	ctx_files_rules((int)fd, r.fs);
	if (syscall(SYS_landlock_restrict_self, fd, 0))
		FAIL("not restricted: %s", strerror(errno));
	close((int)fd);
	return 0;
}

/* Of this thread, and of those that it will start. Also what a root in some namespace would get back by exec. */
static int drop_rights(char *why, size_t room)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	/* EPERM: there never was a right to this, and so none to lose */
	prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
	      SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED, 0, 0, 0);
	for (unsigned cap = 0; cap < 64; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &h, none))
		FAIL("capabilities stay: %s", strerror(errno));
	return 0;
}

/* No user namespace inside this one, in which native code would have rights again. Where /proc/sys is read-only, so be it. */
static void last_namespace(void)
{
	int fd = open("/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "0", 1) != 1)
		errno = 0;
	close(fd);
}

/*
 * NVIDIA's driver looks itself up in /proc by its process number (stat of /proc/PID/ns/pid, in cuInit), which alone among the processes is
 * another than outside: it gets the /proc of its own namespace, until the empty root takes that away too.
 */
uint32_t ctx_walls_driver(uint32_t walls, char *why, size_t room)
{
	if (!(walls & VGPU_WALL_PID))
		return 0;
	if (!(walls & VGPU_WALL_MOUNT)) {
		snprintf(why, room, "the CUDA driver needs a /proc of it, which takes the wall \"mount\"");
		return VGPU_WALL_PID;
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL)) {
		snprintf(why, room, "the CUDA driver needs a /proc of it: %s", strerror(errno));
		return VGPU_WALL_PID;
	}
	return 0;
}

uint32_t ctx_walls(uint32_t walls, uint32_t uid, int driver, char *why, size_t room)
{
	files = driver ? ctx_files_find() : 0;
	if (walls & VGPU_WALL_USER)
		last_namespace();
	if (walls & VGPU_WALL_MOUNT && empty_root(why, room))
		return VGPU_WALL_MOUNT;
	/* With a user namespace its root is that user already. */
	if (walls & VGPU_WALL_UID && !(walls & VGPU_WALL_USER) && become(uid, why, room))
		return VGPU_WALL_UID;
	/* A change of user takes this back. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return VGPU_WALL_SECCOMP;
	if (walls & VGPU_WALL_LANDLOCK && landlock(why, room))
		return VGPU_WALL_LANDLOCK;
	return drop_rights(why, room) ? VGPU_WALL_SECCOMP : 0;
}

/*
 * "vgpu-stub --context-walls N UID DRIVER": a process as a context's, which puts its walls up, says on stderr which one failed
 * and why, and ends. The parent asks so once, when it starts.
 */
int ctx_walls_trial(uint32_t walls, uint32_t uid, int driver)
{
	char why[200] = "";
	uint32_t failed = driver ? ctx_walls_driver(walls, why, sizeof(why)) : 0;

	if (!failed)
		failed = ctx_walls(walls, uid, 0, why, sizeof(why));
	if (failed)
		dprintf(STDERR_FILENO, "%u %s", failed, why);
	return failed ? 1 : 0;
}
