/* SPDX-License-Identifier: MIT */
/*
 * vgpu doctor: which file the loader takes for each CUDA library that a program needs, whether it is ours, and
 * what vgpu run would make of it.
 */
#define _GNU_SOURCE
#include "doctor.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Libraries that vgpu stands in for. */
static const char *const cuda_names[] = { "libcuda.so", "libcudart.so", "libcublas.so", "libcublasLt.so",
					  "libnvidia-ml.so", "libnccl.so" };
/* Libraries of the CUDA toolkit that it does not. */
static const char *const other_names[] = { "libcufft", "libcurand", "libcusolver", "libcusparse", "libcudnn",
					   "libnvrtc", "libnvJitLink", "libnpp", "libcupti", "libnvjpeg" };
/* What programs open by name. */
static const char *const dlopen_names[] = { "libcuda.so.1", "libcudart.so.12", "libcudart.so.13", "libcublas.so.12",
					    "libcublas.so.13", "libnvidia-ml.so.1" };

int is_cuda(const char *name)
{
	for (size_t i = 0; i < sizeof(cuda_names) / sizeof(cuda_names[0]); i++)
		if (!strncmp(name, cuda_names[i], strlen(cuda_names[i])))
			return 1;
	return 0;
}

int is_other(const char *name)
{
	for (size_t i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++)
		if (!strncmp(name, other_names[i], strlen(other_names[i])))
			return 1;
	return 0;
}

int has_marker(const struct elf *e)
{
	return elf_find(e, "vgpu lib", 8) || elf_find(e, "no vgpu-agent", 13);
}

/* The very file that stands in our folder; or, from another installation, one that holds our messages. */
int is_ours(struct doctor *d, const char *path)
{
	struct elf e;
	int yes;

	if (same_file(path, text("%s/%s", d->lib, base(path))))
		return 1;
	if (elf_open(&e, path))
		return 0;
	yes = (e.soname && is_cuda(e.soname) && same_file(path, text("%s/%s", d->lib, e.soname))) ||
	      (e.bytes < 32u << 20 && has_marker(&e));
	elf_close(&e);
	return yes;
}

char *preload_line(struct doctor *d)
{
	char *s = strdup("");

	for (unsigned i = 0; run_preload[i]; i++) {
		char *more;

		if (asprintf(&more, "%s%s%s/%s", s, i ? ":" : "", d->lib, run_preload[i]) < 0)
			abort();
		free(s);
		s = more;
	}
	return s;
}

char **run_env(struct doctor *d, char *const *env)
{
	const char *pre = env_get(env, "LD_PRELOAD"), *path = env_get(env, "LD_LIBRARY_PATH");
	char *line = preload_line(d), **out;
	size_t n = 0, k = 2;

	while (env[n])
		n++;
	out = calloc(n + 3, sizeof(*out));
	if (!out || asprintf(&out[0], "LD_PRELOAD=%s%s%s", line, pre ? ":" : "", pre ? pre : "") < 0 ||
	    asprintf(&out[1], "LD_LIBRARY_PATH=%s%s%s", d->lib, path ? ":" : "", path ? path : "") < 0)
		abort();
	free(line);
	for (size_t i = 0; i < n; i++)
		if (strncmp(env[i], "LD_PRELOAD=", 11) && strncmp(env[i], "LD_LIBRARY_PATH=", 16))
			out[k++] = env[i];
	return out;
}

void run_env_free(char **env)
{
	free(env[0]);
	free(env[1]);
	free(env);
}

/* ---- what the loader takes ---- */

static const char *foreign_why(const char *name)
{
	if (!strncmp(name, "libcudart", 9))
		return "NVIDIA's own runtime, or somebody else's: it accepts no libcuda but NVIDIA's (error 500, named symbol not found)";
	if (!strncmp(name, "libcuda.so", 10))
		return "a driver of somebody else's";
	return "not ours: it wants NVIDIA's own libraries";
}

/* One CUDA library of the closure: whose is it, and what would vgpu run make of it? */
void check_library(struct doctor *d, const struct closure *c, const struct closure *run, const struct object *o,
			  const char *name, const char *inside)
{
	const struct object *then = ldso_find(run, name), *wins = NULL;
	const char *check = text("%s%s%s%s", name, inside ? " (" : "", inside ? inside : "", inside ? ")" : "");
	const char *ours = text("%s/%s", d->lib, name), *wanted_by = base(c->o[o->by].path ? c->o[o->by].path : "?");
	const char *extra = "", *lp;
	char how[512], fix[2 * PATH_MAX];

	if (o->path && is_ours(d, o->path)) {
		report(d, GOOD, check, NULL, "%s (%s): ours", o->path, how_text(c, o, how, sizeof(how)));
		return;
	}
	if (o->how == BY_PRELOAD) {
		report(d, FAIL, check, text("put %s first into LD_PRELOAD, or take the other one out of it", ours), "%s (by LD_PRELOAD): %s",
		       o->path ? o->path : o->name, foreign_why(name));
		return;
	}
	if (then && then->path && is_ours(d, then->path))
		wins = then;
	if (wins && d->pid)
		snprintf(fix, sizeof(fix), "start it under 'vgpu run --', or put LD_PRELOAD=%s into its environment", ours);
	else if (wins)
		snprintf(fix, sizeof(fix), "%s (its LD_PRELOAD makes the loader take %s)", d->how, wins->path);
	else if (access(ours, R_OK))
		snprintf(fix, sizeof(fix), "%s is missing: build it with 'make', or reinstall; then %s", ours, d->how);
	else
		snprintf(fix, sizeof(fix), "LD_PRELOAD=%s %s", ours, d->how);
	if (!o->path) {
		int hard = !o->dlopened || !strncmp(name, "libcuda.so", 10);

		report(d, hard ? FAIL : WARN, check, fix, "not found; %s %s it", wanted_by,
		       o->dlopened ? "opens" : "needs");
		return;
	}
	lp = env_get(c->env, "LD_LIBRARY_PATH");
	if (o->how == BY_RPATH && lp && strstr(lp, d->lib))
		extra = ", which comes before LD_LIBRARY_PATH: that alone is not enough";
	report(d, FAIL, check, fix, "%s (%s%s): %s", o->path,
	       how_text(c, o, how, sizeof(how)), extra, foreign_why(name));
}

static void check_needs(struct doctor *d, const struct closure *c, const struct object *o)
{
	if (o->path || is_cuda(o->name) || o->how != BY_NOTHING)
		return;
	report(d, o->dlopened ? WARN : FAIL, o->name, text("install the package that has %s, or set LD_LIBRARY_PATH to its folder",
	       o->name), "not found; %s needs it", base(c->o[o->by].path ? c->o[o->by].path : "?"));
}

/* A preloaded library counts under its SONAME, and only when something wants it. */
int is_wanted(const struct closure *c, const struct object *o)
{
	for (unsigned i = 0; i < c->n; i++)
		for (unsigned k = 0; k < c->o[i].elf.nneeded; k++)
			if (!(c->o[i].path && is_cuda(base(c->o[i].path))) && ldso_find(c, c->o[i].elf.needed[k]) == o)
				return 1;
	return o->dlopened;
}

void check_driver(struct doctor *d, const char *runtime)
{
	unsigned major;
	int ok;

	if (sscanf(runtime, "libcudart.so.%u", &major) != 1 || major > 1000)
		return;
	ok = (int)major * 1000 <= d->driver_version;
	report(d, ok ? GOOD : FAIL, "driver version",
	       d->driver_version < VGPU_CUDA_VERSION ? text("use a build for CUDA %d, or a newer driver on the host of the GPU, whose version this is", d->driver_version / 1000)
						     : text("use the libcuda.so.1 of this vgpu (it answers %d)", VGPU_CUDA_VERSION),
	       "%s wants %u.0 or later, libcuda answers %d%s", runtime, major, d->driver_version,
	       ok ? "" : ": the runtime answers error 35, insufficient driver");
}

void check_libraries_of(struct doctor *d, struct closure *c, struct closure *run, unsigned from, const char *inside)
{
	for (unsigned i = from; i < c->n; i++) {
		const struct object *o = &c->o[i];
		const char *name = o->how == BY_PRELOAD && o->elf.soname ? o->elf.soname : o->name;

		if (i && is_cuda(name)) {
			/* a foreign one that is preloaded is in the way even if nobody wants it */
			if (o->how != BY_PRELOAD || is_wanted(c, o) || !is_ours(d, o->path)) {
				check_library(d, c, run, o, name, inside);
				check_driver(d, name);
			}
		} else if (i && o->path && is_other(name)) {
			report(d, WARN, name, "use a build without it; what it computes needs NVIDIA's driver",
			       "%s: vgpu has no such library, and NVIDIA's own fails on our driver", o->path);
		} else if (i) {
			check_needs(d, c, o);
		}
		if (o->elf.bits == 64 && !is_cuda(base(o->path)))
			check_symbols(d, c, i);
	}
}

/* One line: what vgpu run would make of it. */
void check_run(struct doctor *d, const struct closure *c, const struct closure *run)
{
	char list[512] = "";

	for (unsigned i = 1; i < c->n; i++) {
		const struct object *o = &c->o[i], *then = ldso_find(run, o->name);

		if (is_cuda(o->name) && o->how != BY_PRELOAD && then && then->path && is_ours(d, then->path) &&
		    !(o->path && is_ours(d, o->path)) && strlen(list) + strlen(o->name) + 2 < sizeof(list))
			strcat(strcat(list, " "), o->name);
	}
	if (list[0])
		report(d, GOOD, "vgpu run", NULL, "would make the loader take ours for%s", list);
}

/* Names that the program or its own libraries hold as text, to open them when they run. */
void add_dlopened(struct closure *c)
{
	unsigned n = c->n;

	for (unsigned i = 0; i < n; i++) {
		const struct object *o = &c->o[i];

		if (o->elf.bits != 64 || !o->path || is_cuda(base(o->path)) || o->how == BY_CACHE || o->how == BY_DEFAULT ||
		    o->how == BY_PRELOAD || o->elf.bytes > 1u << 30)
			continue;
		for (size_t k = 0; k < sizeof(dlopen_names) / sizeof(dlopen_names[0]); k++)
			if (!ldso_find(c, dlopen_names[k]) &&
			    elf_find(&o->elf, dlopen_names[k], strlen(dlopen_names[k]) + 1))
				ldso_dlopen(c, dlopen_names[k], i);
	}
}
