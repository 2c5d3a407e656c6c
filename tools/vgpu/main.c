/* SPDX-License-Identifier: MIT */
/*
 * vgpu SUBCOMMAND [-j] ...: the table, and the few helpers that every subcommand uses.
 */
#include "doctor.h"
#include "vgpu.h"
#include "../vgpu-stub/engine.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command commands[] = {
	{ "run",   cmd_run,   "run a CUDA program on VGPU-STUB: vgpu run [options] -- CMD [ARG...]" },
	{ "env",   cmd_env,   "what vgpu run sets around a program, for a shell: eval \"$(vgpu env)\"" },
	{ "smi",   cmd_smi,   "show device, memory and clients, as nvidia-smi: -L, -q, --query-gpu, dmon, pmon, topo" },
	{ "doctor", cmd_doctor, "say why a program would not use the GPU: vgpu doctor [-j] [-p PID | -- CMD]" },
	{ "check", cmd_check, "say which kernels of a file the device can run: vgpu check [-j] [-v] [-d] [--cc X.Y] FILE..." },
	{ "bench", cmd_bench, "measure: vgpu bench launch|copy|scale|engine|kernels [-j]; bench --help: all" },
	{ "sanitizer", cmd_sanitizer, "compute-sanitizer's options and tools: vgpu sanitizer [--tool memcheck|racecheck|initcheck|synccheck] CMD [ARG...]" },
	{ "trace", cmd_trace, "every CUDA call of a program: vgpu trace [-c] [-f FILTER] [-o FILE] [--perfetto FILE] -- CMD; --ops: instructions of a kernel" },
	{ "debug", cmd_debug, "breakpoints, steps and registers of kernels: vgpu debug -- CMD [ARG...]; of a device core: vgpu debug -c FILE" },
	{ "ctl",   cmd_ctl,   "for the administrator: vgpu ctl list | end|stop|go CLIENT | drain|undrain DEVICE" },
	{ "metrics", cmd_metrics, "for Prometheus: vgpu metrics [--listen ADDRESS]" },
	{ "cdi",   cmd_cdi,   "for containers: vgpu cdi generate [--output FILE]" },
	{ "ptxas", cmd_ptxas, "in the place of NVIDIA's: PTX that the device runs, in a cubin's place: vgpu ptxas -arch=sm_80 -o FILE FILE.ptx" },
	{ "nvlink", cmd_nvlink, "in the place of NVIDIA's, behind ptxas -c: vgpu nvlink -arch=sm_80 -o FILE FILE.cubin..." },
	{ "cc", cmd_cc, "CUDA C++ by clang, with our headers and mathematics: vgpu cc -o PROGRAM FILE.cu" },
	{ "toolkit", cmd_toolkit, "lay out a CUDA toolkit's folder, compiler included: vgpu toolkit [--nvcc FOLDER] DIR" },
};
#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

/* Found by these names in lib/vgpu/bin, as the toolkit's programs. */
static const struct { const char *name; int (*run)(int argc, char **argv); } as_programs[] = {
	{ "ptxas", cmd_ptxas }, { "ptxas-blackwell", cmd_ptxas }, { "nvlink", cmd_nvlink },
};

void complain(const char *fmt, ...)
{
	va_list ap;

	fputs("vgpu: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

int misused(const char *subcommand, const char *word)
{
	complain("%s: %s: no such option or command, or not a value for it; vgpu %s --help", subcommand, word, subcommand);
	return 2;
}

int tool_path(char *buf, size_t bytes, const char *folder, const char *name)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;
	int len;

	if (n < 0)
		return -errno;
	exe[n] = 0;
	for (int up = 0; up < 2; up++) {
		slash = strrchr(exe, '/');
		if (!slash)
			return -ENOENT;
		*slash = 0;
	}
	/* installed, the libraries have a folder of their own */
	len = snprintf(buf, bytes, "%s/%s/vgpu/%s", exe, folder, *name ? name : "libcuda.so.1");
	if (strcmp(folder, "lib") || len <= 0 || (size_t)len >= bytes || access(buf, F_OK))
		len = snprintf(buf, bytes, "%s/%s/%s", exe, folder, name);
	else if (!*name)
		*(strrchr(buf, '/') + 1) = 0;
	return len > 0 && (size_t)len < bytes ? 0 : -ENAMETOOLONG;
}

static void (*sigpipe_was)(int);

void sigpipe_as_before(void)
{
	signal(SIGPIPE, sigpipe_was);
}

/* What was written has arrived, or the exit status says so. */
static int written(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	if (errno != EPIPE)
		complain("standard output: %s", errno ? strerror(errno) : "not all of it could be written");
	return status ? status : 1;
}

static int usage(FILE *to, int status)
{
	fputs("usage: vgpu SUBCOMMAND [options]\n\n", to);
	for (size_t i = 0; i < NCOMMANDS; i++)
		fprintf(to, "  %-9s %s\n", commands[i].name, commands[i].summary);
	fputs("\n  -j prints one JSON object on stdout and nothing else, where a subcommand has it.\n"
	      "  An agent is looked for at $VGPU_AGENT, " VGPU_AGENT_SOCKET_SYSTEM
	      ", $XDG_RUNTIME_DIR/" VGPU_AGENT_SOCKET_USER ".\n", to);
	return status;
}

int main(int argc, char **argv)
{
	const char *engine = getenv("VGPU_ENGINE");

	sigpipe_was = signal(SIGPIPE, SIG_IGN);
	/* lib/vgpu/nvidia-smi, for scripts and containers that look for that name */
	if (argc > 0 && !strcmp(strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0], "nvidia-smi"))
		return written(cmd_smi(argc, argv));
	if (argc > 0 && !strcmp(base(argv[0]), "compute-sanitizer"))
		return written(cmd_sanitizer(argc, argv));
	if (argc > 0 && !strcmp(base(argv[0]), "nvcc"))
		return written(cmd_cc(argc, argv));
	for (size_t i = 0; argc && i < sizeof(as_programs) / sizeof(as_programs[0]); i++)
		if (!strcmp(base(argv[0]), as_programs[i].name))
			return as_programs[i].run(argc, argv);
	if (argc < 2)
		return usage(stderr, 2);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return written(usage(stdout, 0));
	if (!strcmp(argv[1], "--version")) {
		puts("vgpu " VGPU_VERSION " (" VGPU_PROTOCOLS ")");
		return written(0);
	}
	if (engine && *engine && engine_mode_named(engine) == ENGINE_MODE_AUTO) {
		complain("VGPU_ENGINE=%s: there is no such engine; it is " ENGINE_MODE_WORDS, engine);
		return 125;
	}
	for (size_t i = 0; i < NCOMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name))
			return written(commands[i].run(argc - 1, argv + 1));
	complain("no subcommand '%s'", argv[1]);
	return usage(stderr, 2);
}
