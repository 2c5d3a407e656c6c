/* SPDX-License-Identifier: MIT */
/*
 * vgpu doctor: libraries, agent, device and this machine; and the environment that the program has.
 */
#define _GNU_SOURCE
#include "doctor.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB(x) ((unsigned long long)(x) >> 20)
#define PROBE_MS 15000

static void check_libraries(struct doctor *d)
{
	char missing[1024] = "";
	unsigned n = 0;

	for (unsigned i = 0; run_preload[i]; i++, n++) {
		const char *path = text("%s/%s", d->lib, run_preload[i]);

		if (access(path, R_OK))
			snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing), " %s", run_preload[i]);
	}
	if (missing[0])
		report(d, FAIL, "our libraries", text("build them with 'make', or reinstall into %s", d->lib),
		       "missing in %s:%s", d->lib, missing);
	else
		report(d, GOOD, "our libraries", NULL, "%u in %s", n, d->lib);
}

/* ---- the agent ---- */

/* "--listen X" of vgpu-agent, "--socket X" of vgpu-stub; 0 where the process is none or has no such option. */
static int daemon_socket(int pid, const char *name, const char *option, char *out, size_t bytes)
{
	char comm[32] = "", line[4096];
	FILE *f = fopen(text("/proc/%d/comm", pid), "re");
	size_t n = 0;

	if (f) {
		if (!fgets(comm, sizeof(comm), f))
			comm[0] = 0;
		fclose(f);
	}
	comm[strcspn(comm, "\n")] = 0;
	if (strcmp(comm, name))
		return 0;
	f = fopen(text("/proc/%d/cmdline", pid), "re");
	if (f) {
		n = fread(line, 1, sizeof(line) - 2, f);
		fclose(f);
	}
	line[n] = line[n + 1] = 0;
	for (char *p = line; p < line + n; p += strlen(p) + 1) {
		if (strcmp(p, option))
			continue;
		snprintf(out, bytes, "%s", p + strlen(p) + 1);
		return out[0] != 0;
	}
	if (!strcmp(name, "vgpu-agent") && n) {
		snprintf(out, bytes, "%s", VGPU_AGENT_SOCKET_SYSTEM);
		return 1;
	}
	return 0;
}

/* One of a vgpu run of somebody else, or of another mount namespace: not for this program, whatever it answers. */
static int others_private(int pid, const char *sock)
{
	const char *at = strrchr(sock, '/');
	struct stat own, its;

	/* private.c's: a folder of its own, of six letters or figures, below whichever */
	if (at && at - sock >= 12 && !strcmp(at, "/agent") && !memcmp(at - 12, "/vgpu-", 6) &&
	    strspn(at - 6, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == 6)
		return 1;
	return !stat("/proc/self/ns/mnt", &own) && !stat(text("/proc/%d/ns/mnt", pid), &its) && own.st_ino != its.st_ino;
}

static void elsewhere(struct doctor *d, int pid, const char *sock)
{
	struct agent_reach r;

	if (agent_reach(sock, &r) == VGPU_REACH_OK)
		report(d, WARN, "agent elsewhere", text("export VGPU_AGENT=%s", sock),
		       "vgpu-agent (pid %d) answers at %s, where the program does not look", pid, sock);
	else
		report(d, WARN, "agent elsewhere", r.fix, "vgpu-agent (pid %d) runs, and cannot be used: %s", pid, r.why);
}

/* Daemons that run, though nobody answers where the program looks. */
static void check_daemons(struct doctor *d)
{
	DIR *dir = opendir("/proc");
	char sock[512], stub[512] = "";
	struct dirent *e;
	int agents = 0, stub_pid = 0;

	while (dir && (e = readdir(dir))) {
		int pid = atoi(e->d_name);

		if (pid <= 0)
			continue;
		if (daemon_socket(pid, "vgpu-agent", "--listen", sock, sizeof(sock))) {
			if (agents++ >= 16)
				continue;
			if (!others_private(pid, sock))
				elsewhere(d, pid, sock);
		} else if (daemon_socket(pid, "vgpu-stub", "--socket", sock, sizeof(sock)) && !stub_pid) {
			stub_pid = pid;
			snprintf(stub, sizeof(stub), "%s", sock);
		}
	}
	if (dir)
		closedir(dir);
	if (stub_pid && !agents)
		report(d, WARN, "device without agent", text("vgpu-agent --device vfio-user:%s &", stub),
		       "vgpu-stub (pid %d) serves %s, but no vgpu-agent runs", stub_pid, stub);
}

/* Tries one place; appends to `seen` what happened, and keeps the most telling answer. */
static enum vgpu_reach try_place(struct doctor *d, const char *label, const char *path, char *seen, size_t bytes, struct agent_reach *most)
{
	struct agent_reach r;
	size_t n = strlen(seen);

	agent_reach(path, &r);
	snprintf(seen + n, bytes - n, "%s%s%s%s", n ? "; " : "", label, r.is ? r.why : path, r.is ? "" : " answers");
	if (!r.is)
		d->agent = strdup(path);
	if (!r.is || most->is == VGPU_REACH_OK || most->is == VGPU_REACH_NO_SOCKET)
		*most = r;
	return r.is;
}

/* Is the program out of that cgroup, or of one below it? As the agent asks it (agent/guard.c). */
static int in_cgroup(pid_t pid, const char *cgroup)
{
	char path[48], line[1200];
	size_t n = strlen(cgroup);
	int yes = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	f = fopen(path, "re");
	while (f && !yes && fgets(line, sizeof(line), f)) {
		char *p = strchr(line, ':');

		line[strcspn(line, "\n")] = 0;
		p = p ? strchr(p + 1, ':') : NULL;
		yes = p && !strncmp(p + 1, cgroup, n) && (!p[1 + n] || p[1 + n] == '/');
	}
	if (f)
		fclose(f);
	return yes;
}

/* An agent answers a monitor in any case: who computes may be shut out, or held off. */
static void check_admission(struct doctor *d)
{
	pid_t pid = d->pid ? (pid_t)d->pid : getpid();
	char path[32];
	struct stat st;
	int admitted = 0;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st))
		return;
	for (unsigned i = 0; i < d->st.gates; i++) {
		const struct vgpu_gate *g = &d->st.gate[i];
		const char *who = g->cgroup[0] ? text("cgroup %s", g->cgroup) : text("user %u", g->uid);

		if (g->state == VGPU_GATE_HELD ? g->uid != st.st_uid : g->cgroup[0] ? !in_cgroup(pid, g->cgroup) : g->uid != st.st_uid)
			continue;
		admitted |= g->state == VGPU_GATE_ADMITTED;
		if (g->state == VGPU_GATE_HELD)
			report(d, FAIL, "admission", text("wait, or as the administrator: vgpu ctl release %u", g->uid),
			       "user %u is held off for %u s more: too many faults or refusals", g->uid, g->seconds);
		if (g->state == VGPU_GATE_DENIED)
			report(d, FAIL, "admission", text("as the administrator: vgpu ctl forget %s", g->cgroup[0] ? g->cgroup : text("%u", g->uid)),
			       "%s is denied the device (vgpu ctl deny)", who);
	}
	if (d->st.closed && !admitted && st.st_uid)
		report(d, FAIL, "admission", text("ask the job scheduler for the device (srun --gres=gpu:1), or as the administrator: vgpu ctl admit %u", (unsigned)st.st_uid),
		       "only those are let in who are admitted, and user %u is not (vgpu ctl list)", (unsigned)st.st_uid);
}

static void check_agent(struct doctor *d)
{
	const char *env = env_get(d->env, "VGPU_AGENT"), *run = env_get(d->env, "XDG_RUNTIME_DIR");
	struct agent_reach most = { .is = VGPU_REACH_OK };
	char seen[1400] = "", user[512] = "";
	const char *fix;
	int no_agent;

	if (run && *run)
		snprintf(user, sizeof(user), "%s/" VGPU_AGENT_SOCKET_USER, run);
	if (env && *env) {
		try_place(d, "VGPU_AGENT=", env, seen, sizeof(seen), &most);
	} else {
		snprintf(seen, sizeof(seen), "VGPU_AGENT not set");
		if (try_place(d, "", VGPU_AGENT_SOCKET_SYSTEM, seen, sizeof(seen), &most) && user[0])
			try_place(d, "", user, seen, sizeof(seen), &most);
	}
	if (!most.is && !agent_status(d->agent, &d->st)) {
		report(d, GOOD, "agent", NULL, "%s: version %s, pid %u, transport %s, %u client%s", seen,
		       d->st.status.agent_version, d->st.status.agent_pid, d->st.status.transport, d->st.clients,
		       d->st.clients == 1 ? "" : "s");
		if (strcmp(d->st.status.agent_version, VGPU_VERSION))
			report(d, WARN, "agent version", "restart vgpu-agent from this installation",
			       "agent %s, vgpu %s", d->st.status.agent_version, VGPU_VERSION);
		check_admission(d);
		return;
	}
	d->agent = NULL;
	no_agent = !most.is || most.is == VGPU_REACH_NO_SOCKET || most.is == VGPU_REACH_NOBODY;
	if (!no_agent || (env && *env && vgpu_no_socket(env)))
		fix = most.fix;
	else if (env && *env && (agent_answers(VGPU_AGENT_SOCKET_SYSTEM) || (user[0] && agent_answers(user))))
		fix = text("unset VGPU_AGENT (an agent answers at a standard place), or start vgpu-agent --listen %s", env);
	else
		fix = text("%s (starts a private device), or as services: vgpu-stub --socket /run/vgpu/stub.sock & "
			   "vgpu-agent --device vfio-user:/run/vgpu/stub.sock --listen %s &%s", d->how,
			   env && *env ? env : VGPU_AGENT_SOCKET_SYSTEM, env && *env ? "; or unset VGPU_AGENT" : "");
	report(d, FAIL, "agent", fix, "%s: %s", no_agent ? "no agent answers" : "there is one, and it cannot be used", seen);
	if (no_agent)
		check_daemons(d);
}

static void check_devices(struct doctor *d)
{
	unsigned seen = 0;

	if (!d->agent)
		return;
	if (!agent_ready(&d->st))
		report(d, FAIL, "device", "start vgpu-stub again, then vgpu-agent --device vfio-user:SOCKET",
		       "the agent (pid %u) has none: its vgpu-stub ended or was killed", d->st.status.agent_pid);
	for (unsigned i = 0; i < d->st.devices; i++) {
		struct vgpu_device_info *v = &d->st.device[i];

		if (!d->st.load.device[i].state) {
			report(d, WARN, text("device %u", i), "start its vgpu-stub again: the agent tries to attach it every second",
			       "%s is lost: its vgpu-stub ended, was killed or hangs", v->name);
			continue;
		}
		if (!seen++)
			d->cc = v->cc_major * 10 + v->cc_minor;
		if (!v->memory_bytes)
			report(d, FAIL, "device memory", "restart vgpu-stub with --memory 4G or more",
			       "device %u reports 0 bytes: ggml drops such a device", i);
		report(d, GOOD, text("device %u", i), NULL, "%s, compute capability %u.%u, %llu MiB, engine %s, %u SMs",
		       v->name, v->cc_major, v->cc_minor, MIB(v->memory_bytes), v->engine, v->sm_count);
		if (v->shared_per_block_optin < 48u << 10)
			report(d, WARN, "shared memory", "restart vgpu-stub with --cc 6.1 or above",
			       "%u bytes a block at most: ggml turns its quantised matrix kernels off below 49152",
			       v->shared_per_block_optin);
	}
}

static void check_machine(struct doctor *d)
{
	struct rlimit r;
	unsigned long total = 0, left = 0;
	char line[256];
	FILE *f;

#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f"))
		report(d, GOOD, "processor", NULL, "AVX-512");
	else
		report(d, WARN, "processor", "a machine or VM type whose processor has AVX-512 (check the hypervisor's CPU model)",
		       "no AVX-512: the cpu engine uses %s, at about half the speed",
		       __builtin_cpu_supports("avx2") ? "AVX2" : "SSE2");
#endif
	f = fopen("/proc/meminfo", "re");
	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "HugePages_Total: %lu", &total);
		sscanf(line, "HugePages_Free: %lu", &left);
	}
	if (f)
		fclose(f);
	if (left)
		report(d, GOOD, "hugepages", NULL, "%lu of %lu free", left, total);
	else
		report(d, WARN, "hugepages", "sysctl vm.nr_hugepages=128", "%lu reserved, none free: it works, "
		       "calls and copies are slower", total);
	if (!d->pid && !getrlimit(RLIMIT_AS, &r) && r.rlim_cur < VGPU_SPAN_BYTES)
		report(d, WARN, "address space", "ulimit -v unlimited (systemd: LimitAS=infinity)",
		       "limited to %llu MiB; the library reserves %llu GiB, without memory behind it, and manages with a quarter of a limit: less "
		       "pinned and managed memory. vgpu run's own device needs all", MIB(r.rlim_cur), (unsigned long long)(VGPU_SPAN_BYTES >> 30));
}

/* ---- what a program would see: our libcuda in a child that has the program's environment ---- */

struct probe {
	int version, init, devices, loaded;
	char nvml[80];
};

static void probe_child(struct doctor *d, int out)
{
	static const char *const names[] = { "VGPU_AGENT", "XDG_RUNTIME_DIR", "CUDA_VISIBLE_DEVICES" };
	struct probe p = { .init = -1, .devices = -1 };
	int (*version)(int *), (*init)(unsigned), (*count)(int *), (*nvml)(char *, unsigned), (*nvml_init)(void);
	int null = open("/dev/null", O_RDWR);
	void *h;

	dup2(null, 2);
	alarm(PROBE_MS / 1000);
	for (size_t i = 0; i < 3; i++) {
		const char *v = env_get(d->env, names[i]);

		if (v)
			setenv(names[i], v, 1);
		else
			unsetenv(names[i]);
	}
	h = dlopen(text("%s/libcuda.so.1", d->lib), RTLD_NOW | RTLD_LOCAL);
	if (h) {
		*(void **)&version = dlsym(h, "cuDriverGetVersion");
		*(void **)&init = dlsym(h, "cuInit");
		*(void **)&count = dlsym(h, "cuDeviceGetCount");
		p.loaded = version && init && count;
		if (p.loaded) {
			version(&p.version);
			p.init = init(0);
			if (!p.init && count(&p.devices))
				p.devices = -1;
		}
	}
	h = dlopen(text("%s/libnvidia-ml.so.1", d->lib), RTLD_NOW | RTLD_LOCAL);
	if (h) {
		*(void **)&nvml_init = dlsym(h, "nvmlInit_v2");
		*(void **)&nvml = dlsym(h, "nvmlSystemGetDriverVersion");
		if (!nvml_init || !nvml || nvml_init() || nvml(p.nvml, sizeof(p.nvml) - 1))
			p.nvml[0] = 0;
	}
	if (write(out, &p, sizeof(p)) != sizeof(p))
		_exit(1);
	_exit(0);
}

static void check_probe(struct doctor *d)
{
	const char *visible = env_get(d->env, "CUDA_VISIBLE_DEVICES");
	struct probe p;
	ssize_t n = -1;
	int fd[2], st;
	pid_t pid;

	if (access(text("%s/libcuda.so.1", d->lib), R_OK) || pipe2(fd, O_CLOEXEC))
		return;
	fflush(NULL);
	pid = fork();
	if (!pid)
		probe_child(d, fd[1]);
	close(fd[1]);
	if (pid > 0) {
		n = read(fd[0], &p, sizeof(p));
		while (waitpid(pid, &st, 0) < 0 && errno == EINTR)
			;
	}
	close(fd[0]);
	if (n != sizeof(p) || !p.loaded) {
		report(d, FAIL, "libcuda", "rebuild it ('make'), or restart the agent if it hangs",
		       n == sizeof(p) ? "%s/libcuda.so.1 cannot be loaded" : "%s/libcuda.so.1 does not answer within 15 s",
		       d->lib);
		return;
	}
	d->driver_version = p.version;
	if (visible && d->agent && agent_ready(&d->st) && p.devices <= 0)
		report(d, FAIL, "CUDA_VISIBLE_DEVICES", "unset CUDA_VISIBLE_DEVICES, or set it to 0",
		       "\"%.100s\" hides every device (%u there)", visible, agent_ready(&d->st));
	else if (visible && (!*visible || *visible == '-'))
		report(d, FAIL, "CUDA_VISIBLE_DEVICES", "unset CUDA_VISIBLE_DEVICES, or set it to 0",
		       "\"%.100s\" hides every device", visible);
	else if (visible && d->agent)
		report(d, GOOD, "CUDA_VISIBLE_DEVICES", NULL, "\"%.100s\": %d of %u devices visible", visible, p.devices,
		       agent_ready(&d->st));
	if (d->agent && p.devices > 0)
		report(d, GOOD, "libcuda", NULL, "driver version %d, cuInit 0, %d device%s", p.version, p.devices,
		       p.devices == 1 ? "" : "s");
	else if (d->agent && agent_ready(&d->st) && !visible)
		report(d, FAIL, "libcuda", "run any program with our libcuda.so.1: it says why on stderr; then restart the agent",
		       "cuInit answers %d, %d devices", p.init, p.devices);
	if (p.nvml[0]) {
		int major = atoi(p.nvml), least = d->cc < 70 ? 570 : 550;

		p.nvml[sizeof(p.nvml) - 1] = 0;
		report(d, major < least ? WARN : GOOD, "NVML driver version", "use libnvidia-ml.so.1 of this vgpu",
		       "%s (Ollama wants %d or later for this compute capability)", p.nvml, least);
	}
}

void check_system(struct doctor *d)
{
	check_libraries(d);
	check_agent(d);
	check_devices(d);
	check_machine(d);
	check_probe(d);
}

/* ---- environment ---- */

/* Is one of our libraries in a list of files or folders? */
static int names_ours(struct doctor *d, const char *list, int folders)
{
	char item[PATH_MAX];

	while (list && *list) {
		size_t n = strcspn(list, ": ;");

		if (n && n < sizeof(item)) {
			memcpy(item, list, n);
			item[n] = 0;
			if (folders ? same_file(item, d->lib) : is_cuda(base(item)) && is_ours(d, item))
				return 1;
			if (!folders && item[0] == '/' && access(item, R_OK))
				report(d, WARN, "LD_PRELOAD", text("remove %s from LD_PRELOAD, or restore the file", item),
				       "%s is not there: the loader leaves it out", item);
		}
		list += n;
		list += *list != 0;
	}
	return 0;
}

/* Does the loader find ours where no variable names them, as "make install" leaves it? */
static int found_anyway(struct doctor *d)
{
	struct closure *c = ldso_load("/proc/self/exe", d->env);
	int i = ldso_dlopen(c, "libcuda.so.1", 0), yes = i >= 0 && c->o[i].path && is_ours(d, c->o[i].path);

	ldso_free(c);
	return yes;
}

/* daemon: a process that runs and has none of our libraries mapped */
void check_environment(struct doctor *d, int daemon)
{
	const char *preload = env_get(d->env, "LD_PRELOAD"), *path = env_get(d->env, "LD_LIBRARY_PATH");
	int ours = names_ours(d, preload, 0), folder = names_ours(d, path, 1);
	char *line = preload_line(d);

	if (ours)
		report(d, GOOD, "LD_PRELOAD", NULL, "has our libraries: they come before RPATH and LD_LIBRARY_PATH");
	else if (folder)
		report(d, WARN, "LD_LIBRARY_PATH", text("%s (or: export LD_PRELOAD=%s)", d->how, line),
		       "has %s, LD_PRELOAD has nothing of ours: enough only for programs without RPATH that carry no CUDA library", d->lib);
	else if (daemon && found_anyway(d))
		report(d, GOOD, "ld.so.cache", NULL, "has our libcuda.so.1: no variable is needed for a program without an RPATH of its own");
	else if (daemon)
		report(d, FAIL, "LD_PRELOAD", text("set LD_PRELOAD=%s in the environment of the daemon that starts it "
		       "(systemd: Environment=\"LD_PRELOAD=%s\"), and restart it", line, line),
		       "neither LD_PRELOAD nor LD_LIBRARY_PATH of process %d has our libraries", d->pid);
	free(line);
}
