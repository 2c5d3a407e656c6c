/* SPDX-License-Identifier: MIT */
/* See init.h. Reaping orphans is control.c's: SIGCHLD comes as an event. */
#include "init.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent.h"
#include "machine.h"
#include "vfio_pci.h"

static pid_t program = -1;
static int go = -1;             /* closed without a byte: the start failed */

static void mount_one(const char *type, const char *at, const char *probe)
{
	if (access(probe, F_OK) == 0)
		return;
	mkdir(at, 0755);
	if (mount(type, at, type, 0, NULL) < 0 && errno != EBUSY)
		log_warn("%s cannot be mounted: %s", at, strerror(errno));
}

void init_begin(void)
{
	int fd;

	if (!machine_first())
		return;
	mount_one("devtmpfs", "/dev", "/dev/null");
	/* Without a console node in the initramfs the kernel gave us no files at all. */
	fd = open("/dev/console", O_RDWR);
	for (int i = 0; i < 3 && fd >= 0; i++)
		if (fcntl(i, F_GETFD) < 0)
			dup2(fd, i);
	if (fd > 2)
		close(fd);
	mount_one("proc", "/proc", "/proc/self");
	mount_one("sysfs", "/sys", "/sys/bus");
	mount_one("tmpfs", "/run", "/run/.");
	mount_one("tmpfs", "/tmp", "/tmp/.");
	setenv("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", 0);
}

static int is_module(const struct dirent *e)
{
	const char *dot = strrchr(e->d_name, '.');

	return dot && !strcmp(dot, ".ko");
}

static int load_modules(const char *folder)
{
	struct dirent **name;
	int n = scandir(folder, &name, is_module, alphasort);

	if (n < 0) {
		log_error("--modules %s: %s", folder, strerror(errno));
		return -1;
	}
	for (int i = 0; i < n; i++) {
		char path[512];
		int fd;

		snprintf(path, sizeof(path), "%s/%s", folder, name[i]->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		/* EEXIST: it is loaded already */
		if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) < 0 && errno != EEXIST))
			log_warn("kernel module %s: %s", path, strerror(errno));
		else
			log_debug("kernel module %s", path);
		if (fd >= 0)
			close(fd);
		free(name[i]);
	}
	free(name);
	return 0;
}

/* The child: waits for the word, then becomes the program, with the console as its terminal. */
static void become(int word)
{
	char *argv[] = { (char *)(uintptr_t)agent.opt.run, NULL };
	char yes;

	if (read(word, &yes, 1) != 1)
		_exit(1);
	if (getppid() == 1) {
		int tty = open("/dev/console", O_RDWR);

		setsid();
		if (tty >= 0) {
			ioctl(tty, TIOCSCTTY, 1);
			for (int i = 0; i < 3; i++)
				dup2(tty, i);
		}
	}
	setenv("VGPU_AGENT", agent.opt.listen, 1);
	execv(argv[0], argv);
	log_error("--run %s: %s", agent.opt.run, strerror(errno));
	_exit(127);
}

int init_prepare(void)
{
	int fds[2];

	if (agent.opt.modules && load_modules(agent.opt.modules) < 0)
		return -1;
	/* Nobody else in such a guest would bind them. */
	for (unsigned i = 0; machine_first() && i < agent.opt.devices; i++)
		if (pci_is_spec(agent.opt.device[i]) && pci_bind(agent.opt.device[i]) < 0)
			return -1;
	if (!agent.opt.run)
		return 0;
	/* Now, while we may: after start the filters forbid fork and exec. */
	if (pipe2(fds, O_CLOEXEC) < 0 || (program = fork()) < 0) {
		log_error("--run %s: %s", agent.opt.run, strerror(errno));
		return -1;
	}
	if (program == 0) {
		close(fds[1]);
		become(fds[0]);
	}
	close(fds[0]);
	go = fds[1];
	return 0;
}

void init_ready(void)
{
	if (go < 0)
		return;
	if (write(go, "g", 1) != 1)
		log_warn("--run %s: it is gone already", agent.opt.run);
	close(go);
	go = -1;
}

int init_is_program(pid_t pid)
{
	return pid == program;
}

int init_end(int status)
{
	if (!machine_first())
		return status;
	log_say("powering off (status %d)", status);
	sync();
	reboot(RB_POWER_OFF);
	/* A PID 1 that returns is a kernel panic. */
	for (;;)
		pause();
}
