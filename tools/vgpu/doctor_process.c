/* SPDX-License-Identifier: MIT */
/*
 * vgpu doctor -p PID: a process that runs, by its /proc files; and what is particular to Ollama, whose
 * runners inherit the environment of the daemon.
 */
#define _GNU_SOURCE
#include "doctor.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_ENVIRON (4u << 20)

/* A file of /proc, with two NULs behind it; NULL with errno set. */
static char *slurp(const char *path, size_t *bytes)
{
	FILE *f = fopen(path, "re");
	char *p;
	size_t n = 0, got;

	if (!f)
		return NULL;
	p = malloc(MAX_ENVIRON + 2);
	if (!p)
		abort();
	while (n < MAX_ENVIRON && (got = fread(p + n, 1, MAX_ENVIRON - n, f)) > 0)
		n += got;
	if (ferror(f) && !n) {
		int e = errno;

		free(p);
		fclose(f);
		errno = e;
		return NULL;
	}
	fclose(f);
	p[n] = p[n + 1] = 0;
	*bytes = n;
	return p;
}

static char **split(char *p, size_t n)
{
	size_t count = 0;
	char **out;

	for (size_t i = 0; i < n; i++)
		count += !p[i];
	out = calloc(count + 2, sizeof(*out));
	if (!out)
		abort();
	count = 0;
	for (size_t i = 0; i < n; i += strlen(p + i) + 1)
		if (p[i])
			out[count++] = p + i;
	return out;
}

/* The CUDA libraries that are mapped now. */
static unsigned check_maps(struct doctor *d)
{
	FILE *f = fopen(text("/proc/%d/maps", d->pid), "re");
	char line[PATH_MAX + 256], last[PATH_MAX] = "", *line_of_ours = preload_line(d);
	unsigned n = 0, ours = 0;

	if (!f) {
		report(d, FAIL, "mapped libraries", "run vgpu doctor as root, or as the user of that process",
		       "/proc/%d/maps: %s", d->pid, strerror(errno));
		free(line_of_ours);
		return 0;
	}
	while (fgets(line, sizeof(line), f)) {
		char *path = strchr(line, '/'), *gone;

		if (!path)
			continue;
		path[strcspn(path, "\n")] = 0;
		if (!is_cuda(base(path)) || strlen(path) >= sizeof(last) || !strcmp(path, last))
			continue;
		strcpy(last, path);
		n++;
		gone = strstr(path, " (deleted)");
		if (gone) {
			*gone = 0;
			report(d, WARN, text("mapped %s", base(path)), "restart the process",
			       "%s was replaced or removed after it was loaded", path);
		} else if (is_ours(d, text("/proc/%d/root%s", d->pid, path)) || is_ours(d, path)) {
			ours++;
			report(d, GOOD, text("mapped %s", base(path)), NULL, "%s: ours", path);
		} else {
			report(d, FAIL, text("mapped %s", base(path)), text("start it with LD_PRELOAD=%s, or under 'vgpu run --'",
			       line_of_ours), "%s: not ours", path);
		}
	}
	fclose(f);
	if (!n)
		report(d, WARN, "mapped libraries", "none needed while it has not come to its CUDA part; else see the lines below",
		       "no CUDA library in process %d: it has not tried, or could not load one", d->pid);
	free(line_of_ours);
	return ours;
}

static int parent_of(int pid)
{
	char line[256];
	int parent = 0;
	FILE *f = fopen(text("/proc/%d/status", pid), "re");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "PPid: %d", &parent);
	if (f)
		fclose(f);
	return parent;
}

static int is_ollama(const char *exe)
{
	return strstr(exe, "ollama") || strstr(exe, "llama-server");
}

/* One of an Ollama process's relatives, if it is one: does its environment name our libraries and an agent? */
static int check_relative(struct doctor *d, int pid, const char *role)
{
	char exe[PATH_MAX], *env, **list;
	const char *preload, *agent, *check;
	char *line;
	size_t bytes;
	ssize_t n = readlink(text("/proc/%d/exe", pid), exe, sizeof(exe) - 1);

	if (n <= 0)
		return 0;
	exe[n] = 0;
	if (!is_ollama(base(exe)))
		return 0;
	check = text("%s %d", role, pid);
	env = slurp(text("/proc/%d/environ", pid), &bytes);
	if (!env) {
		report(d, WARN, check, "run vgpu doctor as root, or as the user of that process", "its environment cannot be read: %s",
		       strerror(errno));
		return 1;
	}
	list = split(env, bytes);
	preload = env_get(list, "LD_PRELOAD");
	agent = env_get(list, "VGPU_AGENT");
	line = preload_line(d);
	if (preload && strstr(preload, "libcuda.so.1") && strstr(preload, "libcudart"))
		report(d, GOOD, check, NULL, "LD_PRELOAD has our libraries; VGPU_AGENT %s", agent ? agent : "is not set: the usual places");
	else
		report(d, FAIL, check, text("systemctl edit ollama, add: [Service] Environment=\"LD_PRELOAD=%s\"; then systemctl restart ollama",
		       line), "LD_PRELOAD %s: %s", preload ? "names other libraries" : "is not set",
		       strcmp(role, "daemon") ? "it takes the stock libraries beside it" : "its runners inherit that");
	free(line);
	free(list);
	free(env);
	return 1;
}

/* The daemon of a runner, the runners of a daemon. */
static void check_relatives(struct doctor *d)
{
	unsigned found = 0;
	struct dirent *e;
	DIR *proc;

	found += (unsigned)check_relative(d, parent_of(d->pid), "daemon");
	proc = opendir("/proc");
	while (proc && (e = readdir(proc))) {
		int pid = atoi(e->d_name);

		if (pid > 0 && pid != d->pid && parent_of(pid) == d->pid)
			found += (unsigned)check_relative(d, pid, "runner");
	}
	if (proc)
		closedir(proc);
	if (!found)
		report(d, GOOD, "ollama", NULL, "no runner of it runs now; one inherits the environment of the daemon: variables belong there");
}

int check_process(struct doctor *d)
{
	static char *none[] = { NULL };
	char exe[PATH_MAX], *env, *cmd, **args, mine[256], theirs[256];
	size_t env_bytes, cmd_bytes;
	ssize_t n = readlink(text("/proc/%d/exe", d->pid), exe, sizeof(exe) - 1), a, b;

	if (n < 0) {
		report(d, FAIL, "process", errno == ENOENT ? "give the id of a process that runs" :
		       "run vgpu doctor as root, or as the user of that process", "%d: %s", d->pid,
		       errno == ENOENT ? "there is no such process" : strerror(errno));
		return -1;
	}
	exe[n] = 0;
	env = slurp(text("/proc/%d/environ", d->pid), &env_bytes);
	cmd = slurp(text("/proc/%d/cmdline", d->pid), &cmd_bytes);
	if (!env || !cmd) {
		report(d, FAIL, "process", "run vgpu doctor as root, or as the user of that process",
		       "the environment of %d cannot be read: %s", d->pid, strerror(errno));
		free(env);
		free(cmd);
		return -1;
	}
	report(d, GOOD, "process", NULL, "%d runs %s, parent %d; its environment is the one it started with", d->pid, exe,
	       parent_of(d->pid));
	d->env = split(env, env_bytes);
	args = split(cmd, cmd_bytes);
	snprintf(d->how, sizeof(d->how), "vgpu run -- %.200s", base(exe));
	a = readlink("/proc/self/ns/mnt", mine, sizeof(mine));
	b = readlink(text("/proc/%d/ns/mnt", d->pid), theirs, sizeof(theirs));
	if (a > 0 && b > 0 && (a != b || memcmp(mine, theirs, (size_t)a)))
		report(d, WARN, "container", text("make the agent's socket and %s visible in it (bind mounts)", d->lib),
		       "process %d has a file system of its own: paths below are judged from here", d->pid);
	check_system(d);
	check_environment(d, !check_maps(d));
	if (access(exe, R_OK))
		report(d, WARN, "program", "restart it", "%s cannot be read (replaced since the start?)", exe);
	else
		check_binary(d, exe, *args ? args + 1 : none);
	if (is_ollama(base(exe)))
		check_relatives(d);
	free(args);
	free(cmd);
	/* d->env stays: the verdict does not need it, but nobody else may free it before */
	return 0;
}

/* ---- Ollama ---- */

/* What Ollama looks up by name; one that is missing ends its discovery. */
static const char *const ollama_cuda[] = { "cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet",
	"cuDeviceGetAttribute", "cuDeviceGetUuid", "cuDeviceGetName", "cuCtxCreate_v3", "cuMemGetInfo_v2", "cuCtxDestroy",
	"cuDeviceTotalMem_v2", "cuDeviceGetPCIBusId", NULL };
static const char *const ollama_nvml[] = { "nvmlInit_v2", "nvmlShutdown", "nvmlDeviceGetHandleByUUID",
	"nvmlDeviceGetMemoryInfo", "nvmlDeviceGetName", "nvmlErrorString", "nvmlSystemGetDriverVersion", NULL };

static void check_lookups(struct doctor *d, const char *lib, const char *const *names)
{
	const char *missing = lacks(d, lib, names);

	if (!missing)
		report(d, WARN, text("ollama's look-ups in %s", lib), text("build %s/%s ('make')", d->lib, lib), "it is not there");
	else if (*missing)
		report(d, FAIL, text("ollama's look-ups in %s", lib), text("a vgpu whose %s has them", lib), "missing:%s", missing);
	else
		report(d, GOOD, text("ollama's look-ups in %s", lib), NULL, "all there");
}

void check_ollama(struct doctor *d, const char *path)
{
	int ollama = strstr(path, "ollama") != NULL;
	const char *debug = env_get(d->env, "OLLAMA_DEBUG"), *library = env_get(d->env, "OLLAMA_LLM_LIBRARY");
	const char *preload = env_get(d->env, "LD_PRELOAD"), *agent = env_get(d->env, "VGPU_AGENT");
	char *line = preload_line(d);

	if (!ollama) {
		report(d, GOOD, "ggml's log", NULL, "when no device is found ggml says so on stderr at the start (\"no CUDA devices "
		       "found\", or ggml_cuda_init: failed) and goes on with the CPU: zero devices is no error for it");
		free(line);
		return;
	}
	check_lookups(d, "libcuda.so.1", ollama_cuda);
	check_lookups(d, "libnvidia-ml.so.1", ollama_nvml);
	if (!preload || !strstr(preload, "libcuda"))
		report(d, d->pid ? FAIL : WARN, "ollama daemon", text("systemctl edit ollama, add: [Service] Environment=\"LD_PRELOAD=%s\" "
		       "Environment=\"VGPU_AGENT=%s\"; then systemctl restart ollama", line,
		       d->agent ? d->agent : VGPU_AGENT_SOCKET_SYSTEM),
		       "LD_PRELOAD is not set in its environment; runners inherit the daemon's environment, and their folder "
		       "(lib/ollama/cuda_v12, cuda_v13) with the stock libcudart and libcublas comes before LD_LIBRARY_PATH");
	else
		report(d, GOOD, "ollama daemon", NULL, "LD_PRELOAD=%.300s; runners inherit it%s%s", preload, agent ? "; VGPU_AGENT=" : "",
		       agent ? agent : "");
	if (library && *library && strstr(library, "cpu"))
		report(d, FAIL, "OLLAMA_LLM_LIBRARY", "unset OLLAMA_LLM_LIBRARY", "\"%.100s\" forces the CPU", library);
	if (!debug || atoi(debug) < 2)
		report(d, WARN, "ollama's log", "OLLAMA_DEBUG=2 ollama serve (systemd: Environment=\"OLLAMA_DEBUG=2\"), then look for "
		       "\"ggml_cuda_init\" and \"CUDA0\" (journalctl -u ollama)",
		       "OLLAMA_DEBUG=%s: ggml does say why it falls back to the CPU, but Ollama discards its runner's log below trace "
		       "level. \"cuDeviceGet is never called\" only means that cudaGetDeviceCount failed before", debug ? debug : "(not set)");
	else
		report(d, GOOD, "ollama's log", NULL, "OLLAMA_DEBUG=%s: the runner's log is kept", debug);
	free(line);
}
