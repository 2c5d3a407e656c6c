/* SPDX-License-Identifier: MIT */
/*
 * vgpu doctor: GPU code. The engine runs PTX, for the device's compute capability or one below; ggml's host code picks
 * its kernels by the capability that the device reports, so there it should be an exact one.
 */
#define _GNU_SOURCE
#include "doctor.h"
#include "fatlist.h"
#include "../vgpu-stub/cc.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BACKENDS 64u
#define MAX_RODATA (64ull << 20)

static int by_arch(const void *a, const void *b)
{
	const struct fatlist_arch *x = a, *y = b;

	return x->arch != y->arch ? (x->arch > y->arch) - (x->arch < y->arch) : x->suffix - y->suffix;
}

static const char *arch_list(struct fatlist_arch *list, unsigned n, unsigned containers)
{
	char out[1024] = "";

	qsort(list, n, sizeof(*list), by_arch);
	for (unsigned i = 0; i < n; i++) {
		size_t at = strlen(out);

		snprintf(out + at, sizeof(out) - at, "%s%u.%u%.1s", i ? " " : "", list[i].arch / 10, list[i].arch % 10,
			 list[i].suffix ? &list[i].suffix : "");
		at = strlen(out);
		if (list[i].containers < containers)
			snprintf(out + at, sizeof(out) - at, " (in %u)", list[i].containers);
	}
	return text("%s", n ? out : "none");
}

/* From here on ggml's kernels are for tensor cores. */
#define TENSOR_CC 70u

/* Which --cc the code wants: the highest exact one at or below the device's, else the lowest that there is; 0: none. */
static unsigned best_cc(const struct fatlist *f, unsigned cc)
{
	unsigned below = 0, above = 0;

	for (unsigned i = 0; i < f->nptx; i++) {
		unsigned a = f->ptx[i].arch, ok = (unsigned)cc_is_known(a);

		if (f->ptx[i].suffix || f->ptx[i].containers < f->containers)
			continue;
		if (ok && a <= cc && a > below)
			below = a;
		if (ok && a > cc && (!above || a < above))
			above = a;
	}
	return below ? below : above;
}

int has_ggml(const struct elf *e)
{
	return elf_find(e, "GGML_CUDA_DISABLE_GRAPHS", 24);
}

void check_code(struct doctor *d, const struct object *o)
{
	const char *name = base(o->path), *check = text("GPU code of %s", name), *has, *advice, *device;
	int ggml = strstr(name, "ggml-cuda") || has_ggml(&o->elf);
	struct fatlist f;
	unsigned cc;

	fatlist_read(&o->elf, d->cc, &f);
	if (!f.containers && f.stubs) {
		report(d, WARN, check, text("if it has kernels, build it with -gencode arch=compute_%u,code=compute_%u", d->cc, d->cc),
		       "%u fat binaries of a few hundred bytes, machine code only", f.stubs);
		return;
	}
	if (!f.containers) {
		if (ggml)
			report(d, FAIL, check, "reinstall the package", "none in %s: section .nv_fatbin is missing or empty", o->path);
		return;
	}
	has = text("%u fat binar%s; PTX for %s; machine code for %s", f.containers, f.containers == 1 ? "y" : "ies",
		   arch_list(f.ptx, f.nptx, f.containers), arch_list(f.elf, f.nelf, f.containers));
	device = text("%u.%u%s", d->cc / 10, d->cc % 10, d->agent ? "" : " (the default; no device answers)");
	if (f.damaged)
		report(d, FAIL, check, "reinstall the package", "%u damaged containers; %s", f.damaged, has);
	cc = best_cc(&f, d->cc);
	/* ggml's kernels for 7.0 and above use tensor cores, which the device computes, slowly: its older code is the better way */
	if (strstr(name, "ggml-cuda") && cc > d->cc && cc >= TENSOR_CC && d->cc < TENSOR_CC)
		advice = text("take the package built with CUDA 12, which has PTX for 6.1 (npm @node-llama-cpp/linux-x64-cuda-ext; Ollama: "
			      "lib/ollama/cuda_v12); or vgpu run --cc %u.%u -- CMD, slower (a service: vgpu-stub with it)", cc / 10, cc % 10);
	else if (cc)
		advice = text("vgpu run --cc %u.%u -- CMD (a service: restart vgpu-stub with --cc %u.%u)", cc / 10, cc % 10, cc / 10, cc % 10);
	else
		advice = text("rebuild it with PTX: nvcc -gencode arch=compute_%u,code=compute_%u", d->cc, d->cc);
	if (!f.nptx)
		report(d, FAIL, check, advice, "machine code only, no PTX: it runs on NVIDIA's devices alone; %s", has);
	else if (!f.usable)
		report(d, FAIL, check, advice, "no PTX for this device, compute capability %s; %s", device, has);
	else if (f.usable < f.containers)
		report(d, FAIL, check, advice, "%u of %u fat binaries have no PTX for this device, compute capability %s; %s",
		       f.containers - f.usable, f.containers, device, has);
	else if (f.exact < f.containers && ggml)
		report(d, WARN, check, advice, "no exact PTX for compute capability %s: ggml picks kernels by what the device reports, "
		       "and Ollama leaves out a device that is not in the list; %s", device, has);
	else
		report(d, GOOD, check, NULL, "%s for compute capability %s; %s", f.exact == f.containers ? "exact PTX" :
		       "usable PTX below", device, has);
}

int ggml_archs(const struct elf *e, char *out, size_t bytes)
{
	const Elf64_Shdr *s = elf_section(e, ".rodata");
	char *p;
	int found = 0;

	if (!s || s->sh_type != SHT_PROGBITS || s->sh_size < 8 || s->sh_size > MAX_RODATA || !(p = malloc(s->sh_size + 1)))
		return 0;
	if (!elf_read(e, s->sh_offset, p, s->sh_size)) {
		p[s->sh_size] = 0;
		for (size_t at = 0, n; at < s->sh_size && !found; at += n + 1) {
			n = strlen(p + at);
			found = n > 6 && n < bytes && strspn(p + at, "0123456789,") == n && p[at] != ',' && p[at + 3] == ',';
			if (found)
				memcpy(out, p + at, n + 1);
		}
	}
	free(p);
	return found;
}

/* ---- ggml backends that a program would open ---- */

struct list {
	char **s;
	unsigned n;
};

static void add(struct list *l, const char *path)
{
	struct stat st;

	if (l->n == MAX_BACKENDS || stat(path, &st) || !S_ISREG(st.st_mode))
		return;
	for (unsigned i = 0; i < l->n; i++)
		if (same_file(l->s[i], path))
			return;
	l->s[l->n++] = strdup(path);
}

/* FOLDER/libggml-cuda.so, and that of each folder in it when deep. */
static void look(struct list *l, const char *folder, int deep)
{
	char path[PATH_MAX];
	struct dirent **e;
	int n;

	if ((size_t)snprintf(path, sizeof(path), "%s/libggml-cuda.so", folder) < sizeof(path))
		add(l, path);
	if (!deep)
		return;
	n = scandir(folder, &e, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		if (e[i]->d_name[0] != '.' && i < 256 &&
		    (size_t)snprintf(path, sizeof(path), "%s/%s/libggml-cuda.so", folder, e[i]->d_name) < sizeof(path))
			add(l, path);
		free(e[i]);
	}
	if (n >= 0)
		free(e);
}

char **find_backends(const char *program, char **args)
{
	struct list l = { calloc(MAX_BACKENDS + 1, sizeof(char *)), 0 };
	char dir[PATH_MAX], path[PATH_MAX + 32];
	struct stat st;

	if (!l.s)
		abort();
	if (realpath(program, dir)) {
		*strrchr(dir, '/') = 0;
		look(&l, dir[0] ? dir : "/", 0);
		snprintf(path, sizeof(path), "%s/lib/ollama", dir);
		look(&l, path, 1);
		snprintf(path, sizeof(path), "%s/../lib/ollama", dir);
		if (strstr(base(program), "ollama"))
			look(&l, path, 1);
	}
	for (; args && *args; args++) {
		if (stat(*args, &st))
			continue;
		if (S_ISDIR(st.st_mode))
			look(&l, *args, 1);
		else if (strstr(base(*args), "ggml-cuda") && strstr(base(*args), ".so"))
			add(&l, *args);
	}
	return l.s;
}

void free_strings(char **list)
{
	for (char **s = list; *s; s++)
		free(*s);
	free(list);
}
