/* SPDX-License-Identifier: MIT */
/*
 * Chooses the compute capability of a private device: see choose.h.
 *
 * PTX runs on its own architecture and above, so of all devices on which the most of a file's GPU code runs the lowest is
 * taken, and of all files the highest of those. The default, 6.1, stays where it serves: programs such as ggml pick their
 * kernels by what the device reports, and those for tensor cores (7.0 and above) are the slower ones here.
 *
 * Looked at: the command, what it is linked with, what stands beside it, ggml backends where Ollama keeps them, and
 * what it will start (behind.h: "timeout 9 ./program", a shell's -c, scripts). An interpreter says nothing about what it will
 * load; Python gets 7.5, where NVRTC 13 and the compilers behind it (Triton, numba, tinygrad) begin, or
 * what packages beside it want (packages[]).
 */
#define _GNU_SOURCE
#include "choose.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../vgpu-stub/cc.h"
#include "../vgpu-stub/cpu/fatbin.h"
#include "behind.h"
#include "command.h"
#include "doctor.h"
#include "fatlist.h"
#include "ldso.h"

#define PYTHON_CC 75u
#define MAX_BESIDE 256
#define MAX_SCRIPTS 4
#define MAX_DEVRT (4u << 20)

static const struct {
	const char *pattern, *name;
	unsigned cc;
} packages[] = {
	{ "tensorflow/libtensorflow_cc.so.2", "TensorFlow", 90 },        /* there are wheels without CUDA of this name */
	{ "jax_plugins/xla_cuda1[23]", "JAX's CUDA plugin", 120 },
	{ "cupy/_core", "CuPy's sorts and scans", 100 },
};

struct choice {
	unsigned cc, files;             /* files with GPU code */
	char why[PATH_MAX + 64];
};

/*
 * Whether the PTX of this container is NVIDIA's libcudadevrt, which nvcc's linker puts beside PTX whatever the program uses: for the
 * highest device of that release, and never loaded here. Nothing else calls cnpLaunchDevice.
 */
static int is_devrt(const struct elf *e, uint64_t at, uint64_t bytes, unsigned cc)
{
	char *image = bytes <= MAX_DEVRT ? malloc(bytes) : NULL, *ptx = NULL;
	size_t n = 0;
	int is;

	if (image && !elf_read(e, at, image, bytes))
		fatbin_select(image, bytes, cc / 10, cc % 10, &ptx, &n, NULL, 0);
	is = ptx && memmem(ptx, n, " cnpLaunchDevice", 16);
	free(ptx);
	free(image);
	return is;
}

/* The lowest device on which the most of the file's fat binaries run; 0: it has none with PTX. */
static unsigned wants(const struct elf *e)
{
	unsigned best = 0, most = 0, lower = 0, lower_most = 0;
	uint64_t at = 0, bytes = 0;
	struct fatlist f;

	fatlist_read(e, DEFAULT_CC, &f);
	if (!f.nptx)
		return 0;
	if (f.usable == f.containers)
		return DEFAULT_CC;
	for (unsigned cc = cc_for(DEFAULT_CC); cc; cc = cc_for(cc + 1)) {
		fatlist_read(e, cc, &f);
		if (f.usable <= most)
			continue;
		lower = best;
		lower_most = most;
		most = f.usable;
		best = cc;
	}
	/* the highest is asked for by one alone */
	if (lower && lower_most + 1 == most) {
		fatlist_read(e, lower, &f);
		at = f.beyond_at;
		bytes = f.beyond_bytes;
	}
	return bytes && is_devrt(e, at, bytes, best) ? lower : best;
}

static void look_at(struct choice *c, const struct elf *e, const char *path)
{
	unsigned cc = e->bits == 64 ? wants(e) : 0;

	c->files += cc != 0;
	if (cc > c->cc || (cc && c->files == 1)) {
		c->cc = cc > c->cc ? cc : c->cc;
		snprintf(c->why, sizeof(c->why), "the PTX in %s", path);
	}
}

static void look_at_file(struct choice *c, const char *path)
{
	struct elf e;

	if (elf_open(&e, path))
		return;
	look_at(c, &e, path);
	elf_close(&e);
}

/* Libraries in the program's own folder, which it may open when it runs. */
static void look_beside(struct choice *c, const char *program)
{
	char dir[PATH_MAX], path[PATH_MAX + 256];
	struct dirent *e;
	unsigned n = 0;
	DIR *d;

	if (!realpath(program, dir))
		return;
	*strrchr(dir, '/') = 0;
	d = opendir(dir[0] ? dir : "/");
	while (d && n < MAX_BESIDE && (e = readdir(d))) {
		if (!strstr(e->d_name, ".so"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		look_at_file(c, path);
		n++;
	}
	if (d)
		closedir(d);
}

static void look_at_program(struct choice *c, const char *path, char *const *env, int python)
{
	struct closure *l = ldso_load(path, env);

	for (unsigned i = 0; i < l->n; i++)
		if (l->o[i].path && !is_cuda(base(l->o[i].path)))
			look_at(c, &l->o[i].elf, l->o[i].path);
	if (!c->files && python) {
		c->cc = PYTHON_CC;
		snprintf(c->why, sizeof(c->why), "a Python program, where CUDA 13's compilers begin");
	} else if (c->cc < PYTHON_CC && ldso_find(l, "libnvrtc.so.13")) {
		c->cc = PYTHON_CC;
		snprintf(c->why, sizeof(c->why), "NVRTC 13, which begins there");
	}
	ldso_free(l);
}

unsigned choose_cc(char **cmd, char *const *env, char *why, size_t bytes)
{
	struct choice c = { .cc = DEFAULT_CC, .why = "the default" };
	struct behind *behind = calloc(1, sizeof(*behind));
	char path[PATH_MAX], word[256], **backends;

	if (behind)
		behind_find(behind, cmd, env);
	if (!command_find(env, cmd[0], path)) {
		for (int i = 0; i < MAX_SCRIPTS && command_script(path, word, sizeof(word)); i++)
			if (!word[0] || command_find(env, word, path))
				break;
		look_at_program(&c, path, env, behind && behind->pythons);
		look_beside(&c, path);
		backends = find_backends(path, cmd + 1);
		for (unsigned i = 0; backends[i]; i++)
			look_at_file(&c, backends[i]);
		free_strings(backends);
	}
	for (unsigned i = 0; behind && i < behind->files; i++)
		look_at_file(&c, behind->file[i]);
	/* packages whose own kernels are PTX for a later device only */
	for (unsigned i = 0; behind && i < sizeof(packages) / sizeof(packages[0]); i++)
		if (c.cc < packages[i].cc && behind_package(behind, env, packages[i].pattern)) {
			c.cc = packages[i].cc;
			snprintf(c.why, sizeof(c.why), "the PTX in %s", packages[i].name);
		}
	free(behind);
	snprintf(why, bytes, "%s", c.why);
	return c.cc;
}
