/* SPDX-License-Identifier: MIT */
/*
 * vgpu doctor: what is particular to Ollama. From 0.30 on it starts llama-server for each model and finds devices once, at its
 * start, with one run of it per backend's folder; what it does not find then it does not look for again, and computes on the
 * CPU without a word. Runners inherit the environment of the daemon in both shapes.
 */
#define _GNU_SOURCE
#include "doctor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LOG (64u << 20)
#define DISCOVERY_MARK "llama-server discovery"         /* words of its log; the old shape has no such runner */

enum shape ollama_shape(const char *program)
{
	enum shape shape = NOT_OLLAMA;
	struct elf e;

	if (!strcmp(base(program), "llama-server") && strstr(program, "ollama"))
		return NEW_OLLAMA;
	if (!strstr(base(program), "ollama") || elf_open(&e, program))
		return NOT_OLLAMA;
	shape = elf_find(&e, DISCOVERY_MARK, strlen(DISCOVERY_MARK)) ? NEW_OLLAMA : OLD_OLLAMA;
	elf_close(&e);
	return shape;
}

/* ---- its folders ---- */

/* Where it takes its parts from: the first of these that is a folder, else beside the program. 1: one of them is there. */
int ollama_lib(struct doctor *d, const char *program, char *out)
{
	static const char *const beside[] = { "../lib/ollama", "lib/ollama", "build/lib/ollama", "dist/linux-amd64/lib/ollama",
					      "dist/linux_amd64/lib/ollama", "dist/linux-arm64/lib/ollama", "dist/linux_arm64/lib/ollama" };
	char dir[PATH_MAX], cwd[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (!realpath(program, dir))
		return 0;
	*strrchr(dir, '/') = 0;
	if (!strcmp(base(program), "llama-server")) {
		snprintf(out, PATH_MAX, "%s", dir);
		return 1;
	}
	n = readlink(d->pid ? text("/proc/%d/cwd", d->pid) : "/proc/self/cwd", cwd, sizeof(cwd) - 1);
	cwd[n > 0 ? n : 0] = 0;
	for (int from = 0; from < 2; from++)
		for (size_t i = from ? 2 : 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
			const char *path = text("%s/%s", from ? cwd : dir, beside[i]);

			if ((!from || n > 0) && !stat(path, &st) && S_ISDIR(st.st_mode))
				return realpath(path, out) != NULL;
		}
	snprintf(out, PATH_MAX, "%s", dir);
	return 0;
}

/* The folders in it with a ggml library each, " a b"; how many. */
static unsigned folders(const char *lib, char *list, size_t bytes, const char *wanted, int *has)
{
	unsigned n = 0;
	glob_t g;

	*has = 0;
	list[0] = 0;
	if (glob(text("%s/*/*ggml-*", lib), 0, NULL, &g))
		return 0;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		char *name, *slash = strrchr(g.gl_pathv[i], '/');
		size_t at = strlen(list);

		*slash = 0;
		name = strrchr(g.gl_pathv[i], '/') + 1;
		*has |= !strcmp(name, wanted);
		if (strstr(text("%s ", list), text(" %s ", name)))
			continue;
		n++;
		if (at + strlen(name) + 2 < bytes)
			snprintf(list + at, bytes - at, " %s", name);
	}
	globfree(&g);
	return n;
}

/* A folder of another name is passed over without a word. */
int ollama_skips(struct doctor *d, const char *backend)
{
	const char *only = env_get(d->env, "OLLAMA_LLM_LIBRARY"), *end = strrchr(backend, '/'), *start = end;

	if (d->shape != NEW_OLLAMA || !only || !*only || !strncmp(only, "mlx_", 4) || !end)
		return 0;
	while (start > backend && start[-1] != '/')
		start--;
	if ((size_t)(end - start) == 6 && !strncmp(start, "ollama", 6))        /* flat: beside llama-server, always found */
		return 0;
	return (size_t)(end - start) != strlen(only) || strncmp(start, only, strlen(only));
}

static void check_folders(struct doctor *d, const char *program, unsigned usable)
{
	const char *only = env_get(d->env, "OLLAMA_LLM_LIBRARY"), *server;
	char lib[PATH_MAX] = "", list[512];
	int there = ollama_lib(d, program, lib), has;
	unsigned n;

	server = text("%s/llama-server", lib);
	if (access(server, F_OK)) {
		report(d, FAIL, there ? "llama-server" : "lib/ollama", "unpack the whole release, bin and lib beside each other (tar -C /usr -xf "
		       "ollama-linux-amd64.tgz, .tar.zst), then restart Ollama",
		       there ? "%s is not there: without it no device is found and no model runs" :
		       "there is none beside %s, nor a llama-server: no device is found and no model runs", there ? server : program);
		return;
	}
	if (access(server, X_OK))
		report(d, FAIL, "llama-server", text("chmod 755 %s", server), "%s is not executable", server);
	n = folders(lib, list, sizeof(list), only ? only : "", &has);
	if (only && *only && strncmp(only, "mlx_", 4) && n && !has)
		report(d, FAIL, "OLLAMA_LLM_LIBRARY", "unset OLLAMA_LLM_LIBRARY, or give one of these names exactly",
		       "\"%.100s\" is the name of no folder in %s, so every folder is passed over without a word; there is:%s", only, lib, list);
	else if (only && *only && n && strstr(only, "cpu"))
		report(d, FAIL, "OLLAMA_LLM_LIBRARY", "unset OLLAMA_LLM_LIBRARY", "\"%.100s\" forces the CPU", only);
	else if (only && *only && has)
		report(d, GOOD, "OLLAMA_LLM_LIBRARY", NULL, "\"%.100s\": no other folder of%s is looked into", only, list);
	if (!usable && d->count[FAIL] == d->before_backends)
		report(d, FAIL, "ggml backend", "unpack the release's cuda_v12 or cuda_v13 folder there", "no CUDA backend (libggml-cuda.so) that it would use "
		       "in %s or its folders%s%s", lib, n ? ":" : "", list);
}

/* A llama-server that has its CUDA backend linked in: 1 where that works. */
static unsigned check_inside(struct doctor *d, const char *program)
{
	unsigned failed = d->count[FAIL], usable;
	char lib[PATH_MAX] = "", path[PATH_MAX + 16];
	struct object server = { .name = (char *)"llama-server", .path = path };

	ollama_lib(d, program, lib);
	snprintf(path, sizeof(path), "%s/llama-server", lib);
	if (elf_open(&server.elf, path))
		return 0;
	usable = (unsigned)has_ggml(&server.elf);
	if (usable && has_marker(&server.elf)) {
		report(d, GOOD, "ggml backend", NULL, "inside %s, with our driver: nothing is preloaded, and no library looked for", path);
	} else if (usable) {
		check_carried(d, &server);
		if (server.elf.interp) {
			char **env = run_env(d, d->env);
			struct closure *c = ldso_load(path, d->env), *run = ldso_load(path, env);

			check_libraries_of(d, c, run, 0, server.name);
			ldso_free(c);
			ldso_free(run);
			run_env_free(env);
		}
	}
	if (usable)
		check_code(d, &server);
	elf_close(&server.elf);
	return usable && d->count[FAIL] == failed;
}

/* ---- settings that its llama-server takes from the environment ---- */

static int says_no(const char *v)
{
	return v && (!strcmp(v, "0") || !strcmp(v, "off") || !strcmp(v, "false") || !strcmp(v, "disabled"));
}

static void check_settings(struct doctor *d)
{
	const char *device = env_get(d->env, "LLAMA_ARG_DEVICE"), *layers = env_get(d->env, "LLAMA_ARG_N_GPU_LAYERS");
	const char *fit = env_get(d->env, "LLAMA_ARG_FIT"), *target = env_get(d->env, "LLAMA_ARG_FIT_TARGET");
	const char *load = env_get(d->env, "OLLAMA_LOAD_TIMEOUT");
	static const char *const partly[] = { "LLAMA_ARG_N_CPU_MOE", "LLAMA_ARG_CPU_MOE", "LLAMA_ARG_OVERRIDE_TENSOR", "LLAMA_ARG_NO_KV_OFFLOAD",
					      "LLAMA_ARG_NO_OP_OFFLOAD" };
	unsigned long long mib = 0;

	for (unsigned i = 0; i < d->st.devices; i++)
		mib = d->st.device[i].memory_bytes >> 20 > mib ? d->st.device[i].memory_bytes >> 20 : mib;
	if (device && *device && (!strcmp(device, "none") || !strstr(device, "CUDA")))
		report(d, FAIL, "LLAMA_ARG_DEVICE", "unset LLAMA_ARG_DEVICE", "\"%.100s\": llama-server computes on %s, though Ollama's log says "
		       "library=CUDA and that all layers are offloaded", device, strcmp(device, "none") ? "that, or on the CPU" : "the CPU");
	if (layers && *layers && !strtol(layers, NULL, 10) && strspn(layers, "0123456789") == strlen(layers))
		report(d, FAIL, "LLAMA_ARG_N_GPU_LAYERS", "unset LLAMA_ARG_N_GPU_LAYERS", "\"%.20s\": every layer stays on the CPU", layers);
	else if (layers && *layers >= '0' && *layers <= '9')
		report(d, WARN, "LLAMA_ARG_N_GPU_LAYERS", "unset LLAMA_ARG_N_GPU_LAYERS: all that fit go there", "\"%.20s\": layers beyond that "
		       "number stay on the CPU", layers);
	if (says_no(fit))
		report(d, WARN, "LLAMA_ARG_FIT", "unset LLAMA_ARG_FIT", "\"%.20s\": a model that does not fit into the device's memory fails instead "
		       "of being shared with the CPU", fit);
	if (target && mib && strtoull(target, NULL, 10) >= mib)
		report(d, FAIL, "LLAMA_ARG_FIT_TARGET", "unset LLAMA_ARG_FIT_TARGET", "\"%.40s\" MiB shall stay free on a device that has %llu: layers go to "
		       "the CPU", target, mib);
	else if (target && *target)
		report(d, WARN, "LLAMA_ARG_FIT_TARGET", "unset LLAMA_ARG_FIT_TARGET", "\"%.40s\" MiB of the device stay free; what does not fit beside goes "
		       "to the CPU", target);
	for (size_t i = 0; i < sizeof(partly) / sizeof(partly[0]); i++)
		if (env_get(d->env, partly[i]) && !says_no(env_get(d->env, partly[i])))
			report(d, WARN, partly[i], text("unset %s", partly[i]), "\"%.60s\" keeps parts of a model on the CPU", env_get(d->env, partly[i]));
	if (load && strtol(load, NULL, 10) > 0 && strtol(load, NULL, 10) < 60 && !strpbrk(load, "mh"))
		report(d, WARN, "OLLAMA_LOAD_TIMEOUT", "unset OLLAMA_LOAD_TIMEOUT (5m)", "\"%.20s\": a load that makes no progress for that long is given up, "
		       "and a large backend's first one can take longer", load);
}

/* ---- what it wrote about its devices ---- */

/* The last "inference compute" line's library, and what its discovery said before; 0 where the log is no file that can be read. */
static int read_log(struct doctor *d, char *library, size_t bytes, const char **why)
{
	static const struct { const char *words, *meaning; } causes[] = {
		{ "watchdog timed out", "its discovery waited 30 s for llama-server and gave up (watchdog): is the agent hung, or the machine overloaded?" },
		{ "timed out waiting for server startup", "llama-server did not come up within discovery's 30 s: is the agent hung, or the machine overloaded?" },
		{ "compute capability not in compiled architectures", "the device's compute capability is not in the backend's list (ARCHS)" },
		{ "NVIDIA driver too old", "the driver version that NVML told it is too old for it" },
		{ "binary not found", "llama-server was not there" },
	};

	*why = NULL;
	for (int fd = 1; fd < 3; fd++) {
		const char *path = text("/proc/%d/fd/%d", d->pid, fd);
		char *line = NULL;
		size_t room = 0;
		struct stat st;
		int found = 0;
		FILE *f;

		if (stat(path, &st) || !S_ISREG(st.st_mode) || !(f = fopen(path, "re")))
			continue;
		if (st.st_size > (off_t)MAX_LOG)
			fseeko(f, st.st_size - (off_t)MAX_LOG, SEEK_SET);
		while (getline(&line, &room, f) > 0) {
			const char *at = strstr(line, "msg=\"inference compute\"");

			/* a start writes this first: what is before it is of another process */
			if (strstr(line, "discovering available GPUs")) {
				*why = NULL;
				found = 0;
			}
			for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
				if (strstr(line, "level=") && strstr(line, causes[i].words))
					*why = causes[i].meaning;
			at = at && !(found && strcmp(library, "cpu")) ? strstr(at, " library=") : NULL;
			if (at) {
				snprintf(library, bytes, "%.*s", (int)strcspn(at + 9, " \n"), at + 9);
				found = 1;
			}
		}
		free(line);
		fclose(f);
		if (found)
			return 1;
	}
	return 0;
}

static void check_discovery(struct doctor *d)
{
	unsigned long long mine = started(d->pid), agents = d->agent ? started((int)d->st.status.agent_pid) : 0;
	int later = mine && agents > mine;
	const char *restart = "restart Ollama (systemctl restart ollama; or end 'ollama serve' and start it again)", *why;
	char library[32] = "";

	if (read_log(d, library, sizeof(library), &why)) {
		if (!strcmp(library, "CUDA"))
			report(d, GOOD, "discovery", NULL, "its log: library=CUDA; it looks once, at its start");
		else
			report(d, FAIL, "discovery", restart, "its log: library=%s; it looks for devices once, at its start, and %s", library,
			       why ? why : later ? "it started before the agent" : "found none then: its settings or the agent were others, or see the failures here");
	} else if (d->proof) {
		report(d, GOOD, "discovery", NULL, "it found the device: a runner of it uses it");
	} else if (later) {
		report(d, WARN, "discovery", text("%s, unless a model of it has been on the GPU since", restart), "it started before this agent (pid %u), and looks "
		       "for devices once, at its start: without an agent then, it computes on the CPU until it is restarted", d->st.status.agent_pid);
		d->doubt = "it started before the agent; restart it, or load a model and ask again";
	}
}

/* ---- its runners ---- */

static const struct vgpu_msg_client *client_of(struct doctor *d, int pid)
{
	for (unsigned i = 0; d->agent && i < d->st.clients; i++)
		if ((int)d->st.client[i].pid == pid)
			return &d->st.client[i];
	return NULL;
}

/* A CUDA library in its address space: 1 ours, 0 none, -1 somebody else's, named in path. */
static int mapped(struct doctor *d, int pid, char *path, size_t bytes)
{
	FILE *f = fopen(text("/proc/%d/maps", pid), "re");
	char line[PATH_MAX + 256], last[PATH_MAX] = "";
	int ours = 0;

	while (f && ours >= 0 && fgets(line, sizeof(line), f)) {
		char *at = strchr(line, '/');

		if (!at)
			continue;
		at[strcspn(at, "\n")] = 0;
		if (!is_cuda(base(at)) || strlen(at) >= sizeof(last) || !strcmp(at, last) || strstr(at, " (deleted)"))
			continue;
		strcpy(last, at);
		if (is_ours(d, text("/proc/%d/root%s", pid, at)) || is_ours(d, at)) {
			ours = 1;
		} else {
			ours = -1;
			snprintf(path, bytes, "%s", at);
		}
	}
	if (f)
		fclose(f);
	return ours;
}

static const char *argument(char **args, const char *name)
{
	for (; *args; args++)
		if (!strcmp(*args, name))
			return args[1];
	return NULL;
}

/* A llama-server with a model: does it compute on the device? */
static void check_runner(struct doctor *d, int pid, char **args, char **env)
{
	const char *check = text("runner %d", pid), *port = argument(args, "--port"), *layers = argument(args, "-ngl"), *none;
	const struct vgpu_msg_client *c = client_of(d, pid);
	char path[PATH_MAX], why[160], *health;
	int status = 0, libraries = mapped(d, pid, path, sizeof(path)), bare;

	if (libraries < 0) {
		report(d, FAIL, check, text("start Ollama with %s first in LD_PRELOAD (vgpu run; make install's drop-in vgpu-ollama.conf)", base(path)),
		       "it has loaded %s: not ours", path);
		return;
	}
	if (layers && !strcmp(layers, "0")) {
		report(d, FAIL, check, "remove num_gpu 0 from the request, the Modelfile or the client's options", "it was told to keep every layer on the CPU (-ngl 0)");
		return;
	}
	none = env_get(env, "LLAMA_ARG_DEVICE");
	if (c && c->contexts && c->memory_bytes) {
		d->proof = 1;
		report(d, GOOD, check, NULL, "on the device: %u context%s, %llu MiB, %llu commands so far", c->contexts, c->contexts == 1 ? "" : "s",
		       (unsigned long long)c->memory_bytes >> 20, (unsigned long long)c->commands);
		return;
	}
	health = port && strspn(port, "0123456789") == strlen(port) ? http_get("127.0.0.1", port, "/health", &status, why, sizeof(why)) : NULL;
	free(health);
	bare = health && status == 200 && d->agent;
	d->bare |= bare;
	if (bare)
		report(d, FAIL, check, none ? "unset LLAMA_ARG_DEVICE, restart Ollama" : "see the failures above and restart Ollama; the runner's own words "
		       "stand in Ollama's log (\"ggml_cuda_init\", \"offloaded\")", "its model is loaded, and it holds nothing on the device: it computes on the CPU");
	else if (d->agent)
		d->doubt = "its runner is loading a model; ask again when that is done";
}

/* One of an Ollama process's relatives, if it is one. 1: it is. */
static int check_relative(struct doctor *d, int pid, const char *role)
{
	char exe[PATH_MAX], *env, *cmd, **list, **args, path[PATH_MAX];
	const char *preload, *agent, *check;
	size_t bytes, cmd_bytes;
	ssize_t n = readlink(text("/proc/%d/exe", pid), exe, sizeof(exe) - 1);

	if (n <= 0)
		return 0;
	exe[n] = 0;
	if (!strstr(base(exe), "ollama") && !strstr(base(exe), "llama-server"))
		return 0;
	check = text("%s %d", role, pid);
	env = slurp(text("/proc/%d/environ", pid), &bytes);
	cmd = slurp(text("/proc/%d/cmdline", pid), &cmd_bytes);
	if (!env || !cmd) {
		report(d, WARN, check, "run vgpu doctor as root, or as the user of that process", "its environment cannot be read: %s",
		       strerror(errno));
		free(env);
		free(cmd);
		return 1;
	}
	list = split(env, bytes);
	args = split(cmd, cmd_bytes);
	preload = env_get(list, "LD_PRELOAD");
	agent = env_get(list, "VGPU_AGENT");
	if (!strcmp(base(exe), "llama-server")) {
		if (argument(args, "--model"))
			check_runner(d, pid, args, list);
	} else if (preload && strstr(preload, "libcuda.so.1") && strstr(preload, "libcudart")) {
		report(d, GOOD, check, NULL, "LD_PRELOAD has our libraries; VGPU_AGENT %s", agent ? agent : "is not set: the usual places");
	} else if (mapped(d, pid, path, sizeof(path)) > 0) {
		report(d, GOOD, check, NULL, "it has loaded our libraries, without LD_PRELOAD");
	} else if (d->shape != NEW_OLLAMA) {
		char *line = preload_line(d);

		report(d, FAIL, check, text("systemctl edit ollama, add: [Service] Environment=\"LD_PRELOAD=%s\"; then systemctl restart ollama",
		       line), "LD_PRELOAD %s: %s", preload ? "names other libraries" : "is not set",
		       strcmp(role, "daemon") ? "it takes the stock libraries beside it" : "its runners inherit that");
		free(line);
	}
	free(list);
	free(args);
	free(env);
	free(cmd);
	return 1;
}

/* The daemon of a runner, the runners of a daemon. */
void check_relatives(struct doctor *d)
{
	unsigned found = 0;
	struct dirent *e;
	DIR *proc;

	found += (unsigned)check_relative(d, parent_of(d->pid), "daemon");
	if (d->shape == NEW_OLLAMA)     /* a runner itself, and what it holds */
		check_relative(d, d->pid, "daemon");
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
	if (d->shape == NEW_OLLAMA && !d->runner)
		check_discovery(d);
}

/* ---- the daemon ---- */

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

/* The variables of the daemon's environment, by what they lead to. */
static void check_daemon(struct doctor *d, unsigned usable)
{
	const char *preload = env_get(d->env, "LD_PRELOAD"), *agent = env_get(d->env, "VGPU_AGENT");
	char *line = preload_line(d);

	if (preload && strstr(preload, "libcuda"))
		report(d, GOOD, "ollama daemon", NULL, "LD_PRELOAD=%.300s; runners inherit it%s%s", preload, agent ? "; VGPU_AGENT=" : "",
		       agent ? agent : "");
	else if (usable)
		report(d, GOOD, "ollama daemon", NULL, "LD_PRELOAD is not set, nor needed: runners inherit the environment, and with it a backend takes our libraries");
	else
		report(d, d->pid ? FAIL : WARN, "ollama daemon", text("make install puts a drop-in there (vgpu-ollama.conf); by hand: systemctl edit ollama, "
		       "add: [Service] Environment=\"LD_PRELOAD=%s\" Environment=\"VGPU_AGENT=%s\"; then systemctl restart ollama", line,
		       d->agent ? d->agent : VGPU_AGENT_SOCKET_SYSTEM),
		       "LD_PRELOAD is not set in its environment; runners inherit the daemon's environment, and their folder "
		       "(lib/ollama/cuda_v12, cuda_v13) with the stock libcudart and libcublas comes before LD_LIBRARY_PATH");
	free(line);
}

void check_ollama(struct doctor *d, const char *path, unsigned usable)
{
	const char *debug = env_get(d->env, "OLLAMA_DEBUG"), *library = env_get(d->env, "OLLAMA_LLM_LIBRARY");

	if (!strstr(path, "ollama")) {
		report(d, GOOD, "ggml's log", NULL, "when no device is found ggml says so on stderr at the start (\"no CUDA devices "
		       "found\", or ggml_cuda_init: failed) and goes on with the CPU: zero devices is no error for it");
		return;
	}
	check_lookups(d, "libcuda.so.1", ollama_cuda);
	check_lookups(d, "libnvidia-ml.so.1", ollama_nvml);
	d->runner = !strcmp(base(path), "llama-server");
	if (d->shape == NEW_OLLAMA) {
		check_settings(d);
		if (d->runner)
			return;
		usable += check_inside(d, path);
		check_folders(d, path, usable);
		check_daemon(d, usable);
		report(d, GOOD, "ollama's log", NULL, "a model's is on its stderr (journalctl -u ollama): \"inference compute\", \"offloaded\"; discovery's own "
		       "words are kept only with OLLAMA_DEBUG=2");
		return;
	}
	check_daemon(d, usable);
	if (library && *library && strstr(library, "cpu"))
		report(d, FAIL, "OLLAMA_LLM_LIBRARY", "unset OLLAMA_LLM_LIBRARY", "\"%.100s\" forces the CPU", library);
	if (!debug || atoi(debug) < 2)
		report(d, WARN, "ollama's log", "OLLAMA_DEBUG=2 ollama serve (systemd: Environment=\"OLLAMA_DEBUG=2\"), then look for "
		       "\"ggml_cuda_init\" and \"CUDA0\" (journalctl -u ollama)",
		       "OLLAMA_DEBUG=%s: ggml does say why it falls back to the CPU, but Ollama discards its runner's log below trace "
		       "level. \"cuDeviceGet is never called\" only means that cudaGetDeviceCount failed before", debug ? debug : "(not set)");
	else
		report(d, GOOD, "ollama's log", NULL, "OLLAMA_DEBUG=%s: the runner's log is kept", debug);
}
