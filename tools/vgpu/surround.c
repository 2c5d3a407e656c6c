/* SPDX-License-Identifier: MIT */
/*
 * What stands around a program: see surround.h.
 *
 * A program with RPATH $ORIGIN (every Ollama release) finds its own libcudart before anything on LD_LIBRARY_PATH. LD_PRELOAD
 * comes before RPATH: a library that is loaded already satisfies NEEDED by SONAME, and since both libcudarts carry their version
 * node, the one that a program was not linked against takes no symbol from the other.
 */
#define _GNU_SOURCE
#include "surround.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "vgpu.h"

const char *const run_preload[] = {
	"libcuda.so.1", "libcudart.so.12", "libcudart.so.13", "libcublas.so.12", "libcublas.so.13",
	"libcublasLt.so.12", "libcublasLt.so.13", "libnvidia-ml.so.1", "libnccl.so.2", NULL,
};

static int library(const char *name, char *path)
{
	if (tool_path(path, PATH_MAX, "lib", name))
		return -1;
	if (!access(path, R_OK))
		return 0;
	complain("%s is missing: build it with 'make', or reinstall", path);
	return -1;
}

struct list {
	struct surround *rows;
	int n;
};

static void add(struct list *l, const char *name, const char *value, char separator, const char *whom)
{
	/* what is not prepended leaves the user's own */
	if (l->n < 0 || l->n == SURROUND_MAX || (!separator && getenv(name) && *getenv(name)))
		return;
	l->rows[l->n] = (struct surround){ name, strdup(value), separator, whom };
	l->n = l->rows[l->n].value ? l->n + 1 : -1;
}

static int preload(char *list, size_t room)
{
	char path[PATH_MAX];
	size_t n = 0;

	for (size_t i = 0; run_preload[i]; i++) {
		if (library(run_preload[i], path))
			return -1;
		n += (size_t)snprintf(list + n, room - n, "%s%s", n ? ":" : "", path);
		if (n >= room)
			return -1;
	}
	return 0;
}

static int python(struct list *l, int torch)
{
	char path[PATH_MAX];

	if (library("python", path))
		return -1;
	add(l, "PYTHONPATH", path, ':', "Python: a sitecustomize that sees to JAX, TensorFlow, CuPy and tinygrad when they are imported");
	if (torch) {
		/* no name of a package: its folder above is searched for those of others, and "import torch" would find it */
		strcat(path, "/for-torch");
		add(l, "PYTHONPATH", path, ':', "--torch: a sitecustomize that has FlagGems' operators in the places of torch's");
		*strrchr(path, '/') = 0;
		add(l, "VGPU_TORCH", "1", 0, "--torch: the same");
		add(l, "GEMS_VENDOR", "nvidia", 0, "FlagGems: whose device it is, which it asks nvidia-smi else");
	}
	return l->n;
}

int surround(struct surround *rows, const char *agent, int verbose, int torch)
{
	char text[12 * PATH_MAX] = "", path[PATH_MAX], folder[PATH_MAX];
	struct list l = { rows, 0 };

	if (preload(text, sizeof(text)) || library(RUN_AUDIT, path))
		return -1;
	add(&l, "LD_AUDIT", path, ':', "programs with NVIDIA's cudart inside; NVRTC and nvJitLink, wherever they are opened");
	/* behind an auditor, the C library frees at the end what the loader's own malloc gave: true of any, and nothing of the program's */
	add(&l, "VALGRIND_OPTS", "--run-libc-freeres=no", ' ', "Valgrind: says nothing of what the C library does under LD_AUDIT");
	if (verbose)
		add(&l, "VGPU_TURN", "1", 0, "-v: says what is turned over");
	snprintf(folder, sizeof(folder), "%s", path);
	*strrchr(folder, '/') = 0;
	add(&l, "LD_PRELOAD", text, ':', "all: before libraries that a program carries beside it");
	add(&l, "LD_LIBRARY_PATH", folder, ':', "all: what is opened by name");
	/* who asks for the device by name is not served by the CPU: an agent that dies later is an error, not "no device" */
	add(&l, "VGPU_REQUIRED", "1", 0, "all: a device that goes away is an error, not \"no device\"");
	if (agent) {
		l.rows[l.n] = (struct surround){ "VGPU_AGENT", strdup(agent), 1, "all" };
		l.n++;
	}
	/* a GPU of NVIDIA's runs what NVIDIA's compilers make, and knows more than our own engine */
	if (agent && agent_takes_cubins(agent)) {
		add(&l, "VGPU_CUBINS", "1", 0, "NVRTC, nvJitLink, Python's packages: the device runs machine code, so NVIDIA's compilers make it");
		return python(&l, torch);
	}
	if (library("bin/ptxas", path))
		return -1;
	add(&l, "TRITON_PTXAS_PATH", path, 0, "Triton, torch.compile");
	add(&l, "TRITON_PTXAS_BLACKWELL_PATH", path, 0, "Triton, from 10.0 on");
	add(&l, "MODULAR_NVPTX_COMPILER_PATH", path, 0, "Mojo, MAX, before the one inside of it");
	*strrchr(path, '/') = 0;
	add(&l, "PATH", path, ':', "XLA (JAX, TensorFlow): ptxas");
	return python(&l, torch);
}

char *surround_value(const struct surround *r)
{
	const char *old = r->separator > 1 ? getenv(r->name) : NULL;
	char *joined = NULL;

	if (!old || !*old)
		return strdup(r->value);
	return asprintf(&joined, "%s%c%s", r->value, r->separator, old) < 0 ? NULL : joined;
}

int surround_set(const struct surround *r)
{
	char *value = surround_value(r);
	int err = value ? setenv(r->name, value, 1) : -1;

	free(value);
	return err;
}

void surround_free(struct surround *rows, int n)
{
	for (int i = 0; i < n; i++)
		free(rows[i].value);
}
