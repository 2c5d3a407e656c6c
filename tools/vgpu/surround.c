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

#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "doctor.h"
#include "vgpu.h"

const char *const run_preload[] = {
	"libcuda.so.1", "libcudart.so.12", "libcudart.so.13", "libcublas.so.12", "libcublas.so.13",
	"libcublasLt.so.12", "libcublasLt.so.13", "libnvidia-ml.so.1", "libnccl.so.2", NULL,
};

extern char **environ;

static int is_python(const char *path)
{
	return !strncmp(base(path), "python", 6) || !strncmp(base(path), "pypy", 4);
}

/* The file of the first match of a pattern below the site-packages of the Python that cmd runs; 0: there is one. */
int surround_in_site(char **cmd, const char *pattern, char *found)
{
	char path[PATH_MAX], word[256], all[2 * PATH_MAX];
	glob_t g;
	int hit;

	if (!cmd || command_find(environ, cmd[0], path))
		return -1;
	for (int i = 0; i < 4 && command_script(path, word, sizeof(word)); i++)
		if (!word[0] || command_find(environ, word, path))
			return -1;
	if (!is_python(path) || !strrchr(path, '/'))
		return -1;
	/* not through symbolic links: a virtual environment's python is one */
	*strrchr(path, '/') = 0;
	snprintf(all, sizeof(all), "%s/../lib/python3*/site-packages/%s", path, pattern);
	hit = !glob(all, 0, NULL, &g);
	if (hit && found && !realpath(g.gl_pathv[0], found))
		hit = 0;
	globfree(&g);
	return hit ? 0 : -1;
}

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

static int preload_one(char *list, size_t room, size_t *n, const char *name)
{
	char path[PATH_MAX];

	if (library(name, path))
		return -1;
	*n += (size_t)snprintf(list + *n, room - *n, "%s%s", *n ? ":" : "", path);
	return *n < room ? 0 : -1;
}

/* extra: libraries more, the last NULL */
static int preload(char *list, size_t room, const char *const *extra)
{
	size_t n = 0;

	for (size_t i = 0; run_preload[i]; i++)
		if (preload_one(list, room, &n, run_preload[i]))
			return -1;
	for (; *extra; extra++)
		if (preload_one(list, room, &n, *extra))
			return -1;
	return 0;
}

int surround(struct surround *rows, char **cmd, const char *agent, int verbose, int torch)
{
	char text[12 * PATH_MAX] = "", path[PATH_MAX], folder[PATH_MAX], found[PATH_MAX];
	struct list l = { rows, 0 };
	int jax = !surround_in_site(cmd, "jax_plugins/xla_cuda1[23]", NULL);
	int tensorflow = !surround_in_site(cmd, TENSORFLOW, NULL), cupy = !surround_in_site(cmd, "cupyx", NULL);
	/*
	 * XLA compiles nothing without a cuDNN handle: ours has handles, and refuses the rest by name. TensorFlow takes no device unless
	 * the three others can be opened, too; without them JAX speaks of an internal error where they say what is not there.
	 */
	/* CuPy's signals and splines import its sparse matrices, whether they use any or not */
	static const char *const sparse[] = { "xla/libcusparse.so.12", NULL };
	static const char *const xla[] = { "xla/libcudnn.so.9", "xla/libcufft.so.11", "xla/libcusparse.so.12", "xla/libcusolver.so.11", NULL };

	if (preload(text, sizeof(text), tensorflow || jax ? xla : cupy ? sparse : sparse + 1) || library(RUN_AUDIT, path))
		return -1;
	add(&l, "LD_AUDIT", path, ':', "programs with NVIDIA's cudart inside; NVRTC and nvJitLink, wherever they are opened");
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
	if (library("bin/ptxas", path))
		return -1;
	add(&l, "TRITON_PTXAS_PATH", path, 0, "Triton, torch.compile");
	add(&l, "TRITON_PTXAS_BLACKWELL_PATH", path, 0, "Triton, from 10.0 on");
	*strrchr(path, '/') = 0;
	add(&l, "PATH", path, ':', "XLA (JAX, TensorFlow): ptxas");
	if (library("python", path))
		return -1;
	add(&l, "PYTHONPATH", path, ':', "JAX: the agent's socket is a sign of a device, as /dev/nvidia0 is");
	if (torch) {
		/* no name of a package: its folder above is searched for those of others, and "import torch" would find it */
		strcat(path, "/for-torch");
		add(&l, "PYTHONPATH", path, ':', "--torch: a sitecustomize that has FlagGems' operators in the places of torch's");
		*strrchr(path, '/') = 0;
		add(&l, "VGPU_TORCH", "1", 0, "--torch: the same");
		add(&l, "GEMS_VENDOR", "nvidia", 0, "FlagGems: whose device it is, which it asks nvidia-smi else");
	}
	if (jax) {
		/* before the ptxas of a wheel; JAX hands it to XLA as its data dir */
		*strrchr(path, '/') = 0;
		add(&l, "CUDA_ROOT", path, 0, "JAX: ptxas");
		/* of the libraries that its check wants, only the ones that it uses need to be there */
		add(&l, "JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1", 0, "JAX: NVIDIA's cuSPARSE, cuFFT and so on need not be installed");
		/* three quarters of a device's memory at its start, else: that is the machine's here */
		add(&l, "XLA_PYTHON_CLIENT_PREALLOCATE", "false", 0, "JAX: memory as it needs it");
	}
	if (tensorflow) {
		/* it takes all of a device's memory at its start, which is the machine's here */
		add(&l, "TF_FORCE_GPU_ALLOW_GROWTH", "true", 0, "TensorFlow: memory as it needs it");
	}
	/* its search runs tens of Triton's kernels for each product, in seconds each */
	if (jax || tensorflow)
		add(&l, "XLA_FLAGS", "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false", 0, "XLA (JAX, TensorFlow): products by cuBLAS, no search");
	if (!surround_in_site(cmd, "tinygrad/runtime", NULL)) {
		/* files, by tinygrad's own rule for these two names: it looks into no LD_LIBRARY_PATH and no wheel */
		if (surround_in_site(cmd, "cupy/_core", NULL) && !library("libcuda.so.1", found))
			add(&l, "CUDA_PATH", found, 0, "tinygrad");
		if (!surround_in_site(cmd, "nvidia/*/lib/libnvrtc.so.1[23]", found))
			add(&l, "NVRTC_PATH", found, 0, "tinygrad");
	}
	return l.n;
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
