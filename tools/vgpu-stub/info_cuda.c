/* SPDX-License-Identifier: MIT */
/*
 * What IDENTIFY answers with an engine on the host's driver. The driver never runs in the parent: a process of its own asks it once,
 * and writes the answer to its standard output.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine.h"
#include "stub.h"

int info_cuda_print(const char *library, int ordinal, const char *cublas)
{
	struct vgpu_device_info i;
	char why[256] = "";
	const char *agent = getenv("VGPU_HOST_AGENT");
	int out = dup(STDOUT_FILENO);

	memset(&i, 0, sizeof(i));
	/* what the driver prints is for people */
	if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return 1;
	if (agent)
		setenv("VGPU_AGENT", agent, 1);
	if (cuda_open_library(library, ordinal, why, sizeof(why)) || cuda_identify(&i, why, sizeof(why))) {
		fprintf(stderr, "vgpu-stub: --engine cuda: %s\n", why);
		return 1;
	}
	/* here it only has to be one: whether it starts each context tells */
	if (cublas && cuda_open_cublas(cublas, why, sizeof(why))) {
		fprintf(stderr, "vgpu-stub: --cublas-library: %s\n", why);
		return 1;
	}
	return write(out, &i, sizeof(i)) == sizeof(i) ? 0 : 1;
}

int info_cuda(struct vgpu_device_info *info, const struct stub_config *c)
{
	struct vgpu_device_info own = *info, got;
	char number[16];
	char *const argv[] = { (char *)"vgpu-stub", (char *)"--cuda-info", (char *)(uintptr_t)c->cuda_library, number,
			       (char *)(uintptr_t)c->cublas_library, NULL };
	size_t n = 0;
	ssize_t part = 0;
	int p[2], status = -1;
	pid_t pid;

	snprintf(number, sizeof(number), "%u", c->cuda_device);
	if (pipe(p))
		return -1;
	pid = fork();
	if (!pid) {
		dup2(p[1], STDOUT_FILENO);
		close(p[0]);
		close(p[1]);
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	close(p[1]);
	while (pid > 0 && n < sizeof(got) && ((part = read(p[0], (char *)&got + n, sizeof(got) - n)) > 0 || (part < 0 && errno == EINTR)))
		n += part > 0 ? (size_t)part : 0;
	close(p[0]);
	if (pid > 0)
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	if (n != sizeof(got) || status) {
		log_line("--engine cuda: %s does not say what its device %u is", c->cuda_library, c->cuda_device);
		return -1;
	}
	*info = got;
	/* Ours: what the contract says, and not the silicon. */
	info->pci_vendor = own.pci_vendor;
	info->pci_device = own.pci_device;
	info->features = own.features | VGPU_DEV_FEATURE_CUBIN | VGPU_DEV_FEATURE_TENSORMAPS | VGPU_DEV_FEATURE_RUNS;
	info->max_contexts = own.max_contexts;
	info->cores = own.cores;
	if (c->memory_set && c->memory_bytes < info->memory_bytes)
		info->memory_bytes = c->memory_bytes;
	return 0;
}
