/* SPDX-License-Identifier: MIT */
/*
 * vgpu doctor: a ggml backend that a program opens when it runs, in the environment that it will have then; and
 * the files that node-llama-cpp wants to see before.
 */
#define _GNU_SOURCE
#include "doctor.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An Ollama release starts its runner with the backend's folder first on LD_LIBRARY_PATH. */
static char **backend_env(char *const *env, const char *backend)
{
	const char *path = env_get(env, "LD_LIBRARY_PATH");
	int len = (int)(strrchr(backend, '/') - backend);
	size_t n = 0, k = 1;
	char **out;

	while (env[n])
		n++;
	out = calloc(n + 2, sizeof(*out));
	if (!out)
		abort();
	if (strstr(backend, "/ollama/")) {
		if (asprintf(&out[0], "LD_LIBRARY_PATH=%.*s:%.*s/..%s%s", len, backend, len, backend, path ? ":" : "",
			     path ? path : "") < 0)
			abort();
	} else if (asprintf(&out[0], "LD_LIBRARY_PATH=%s", path ? path : "") < 0) {
		abort();
	}
	for (size_t i = 0; i < n; i++)
		if (strncmp(env[i], "LD_LIBRARY_PATH=", 16))
			out[k++] = env[i];
	return out;
}

/* node-llama-cpp wants to see the files in its search path before it tries CUDA at all. */
static void check_node(struct doctor *d, const struct object *backend)
{
	static const char *const names[] = { "libcuda.so.1", "libnvidia-ml.so.1", "libcudart.so.%u", "libcublas.so.%u", "libcublasLt.so.%u" };
	struct closure *c = ldso_load(backend->path, d->env);
	char list[256] = "", name[64];
	unsigned major = 12, unbuilt = 0;

	for (unsigned k = 0; k < backend->elf.nneeded; k++)
		sscanf(backend->elf.needed[k], "libcudart.so.%u", &major);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int at;

		snprintf(name, sizeof(name), "%s", names[i]);
		if (i >= 2)
			snprintf(strrchr(name, '.') + 1, 12, "%u", major);
		at = ldso_dlopen(c, name, 0);
		if (at >= 0 && !c->o[at].path)
			strcat(strcat(list, " "), name);
		if (at >= 0 && !c->o[at].path)
			unbuilt += access(text("%s/%s", d->lib, name), R_OK) != 0;
	}
	ldso_free(c);
	if (list[0])
		report(d, WARN, "node-llama-cpp", text("LD_LIBRARY_PATH=%s (vgpu run sets it)%s", d->lib,
		       unbuilt ? "; some are not built: 'make', or reinstall" : ""),
		       "it looks for these files before it tries CUDA, and they are in no library folder:%s", list);
	else
		report(d, GOOD, "node-llama-cpp", NULL, "the files that it looks for are in the library folders");
}

/*
 * The new Ollama leaves out a device whose capability is not in the backend's "CUDA : ARCHS = " line, to the digit: ggml
 * makes it of a text "500,610,..." in the file (__CUDA_ARCH_LIST__).
 */
static void check_archs(struct doctor *d, const struct object *o)
{
	char list[512], want[16];

	if (!ggml_archs(&o->elf, list, sizeof(list)))
		return;
	snprintf(want, sizeof(want), ",%u,", d->cc * 10);
	if (strstr(text(",%s,", list), want))
		report(d, GOOD, "ollama's list", NULL, "%s has %u: the device is not left out", list, d->cc * 10);
	else
		report(d, FAIL, "ollama's list", text("a device of one of these: vgpu run --cc X.Y -- CMD (a service: restart vgpu-stub with --cc X.Y); "
		       "or another backend's folder (cuda_v12, cuda_v13)"),
		       "the backend was built for %s; this device, %u.%u, is %u: Ollama leaves a device out that is not in the list", list,
		       d->cc / 10, d->cc % 10, d->cc * 10);
}

static void check_backend(struct doctor *d, const char *program, const char *backend)
{
	char **env = backend_env(d->env, backend), **env2 = run_env(d, env);
	struct closure *c = ldso_load(program, env), *run = ldso_load(program, env2);
	unsigned before = c->n;
	const char *folder = strrchr(backend, '/') - 1;
	int i = ldso_dlopen(c, backend, 0);

	while (folder > backend && folder[-1] != '/')
		folder--;
	ldso_dlopen(run, backend, 0);
	if (i < 0 || !c->o[i].path) {
		report(d, FAIL, "ggml backend", text("reinstall the package that has %s", backend), "%s cannot be read", backend);
	} else {
		char name[256];

		snprintf(name, sizeof(name), "%s", folder);
		report(d, GOOD, "ggml backend", NULL, "%s", backend);
		/* what was loaded before it counts for it too */
		for (unsigned k = 0; k < c->o[i].elf.nneeded; k++) {
			const struct object *o = ldso_find(c, c->o[i].elf.needed[k]);

			if (!o || (unsigned)(o - c->o) >= before || !is_cuda(c->o[i].elf.needed[k]))
				continue;
			check_library(d, c, run, o, c->o[i].elf.needed[k], name);
			check_driver(d, c->o[i].elf.needed[k]);
		}
		if (strstr(backend, "node-llama-cpp") || strstr(base(program), "node"))
			check_node(d, &c->o[i]);
		check_libraries_of(d, c, run, (unsigned)i, name);
		check_carried(d, &c->o[i]);
		check_code(d, &c->o[i]);
		if (d->shape == NEW_OLLAMA)
			check_archs(d, &c->o[i]);
	}
	ldso_free(c);
	ldso_free(run);
	run_env_free(env2);
	free(env[0]);
	free(env);
}

void check_backends(struct doctor *d, const char *program, char **backends, unsigned *usable)
{
	struct holding *h;
	unsigned n = 0, good = 0;

	d->before_backends = d->count[FAIL];
	while (backends[n])
		n++;
	h = calloc(n + 1, sizeof(*h));
	if (!h)
		abort();
	for (unsigned i = 0; i < n; i++) {
		hold(d, &h[i]);
		if (same_file(backends[i], program))
			h[i].failed = 1;
		else
			check_backend(d, program, backends[i]);
		d->held = NULL;
		good += !h[i].failed && !ollama_skips(d, backends[i]);
	}
	/* with one that works the others are notes; so are those that Ollama was told to pass over */
	for (unsigned i = 0; i < n; i++)
		let_go(d, &h[i], good || ollama_skips(d, backends[i]) ? WARN : FAIL);
	if (n > 1 && good)
		report(d, GOOD, "ggml backends", NULL, "%u of %u can be used: one is enough", good, n);
	free(h);
	*usable = good;
}
