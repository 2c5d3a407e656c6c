/* SPDX-License-Identifier: MIT */
/* Finds NVIDIA's own libraries for ours that stand in front of them: see front.h. */
#define _GNU_SOURCE
#include "front.h"
#include "../../fw-protocol/vgpu_env.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* as every glibc has them; until 2.34 they are libdl's, which we name as needed */
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5\n.symver dlsym,dlsym@GLIBC_2.2.5\n.symver dlclose,dlclose@GLIBC_2.2.5");

char vgpu_front_path[FRONT_PATH];
static char headers[FRONT_PATH];

void front_say(const char *fmt, ...)
{
	char line[1024] = "vgpu: ";
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	vsnprintf(line + 6, sizeof(line) - 7, fmt, ap);
	va_end(ap);
	n = strlen(line);
	line[n++] = '\n';
	if (write(2, line, n) < 0)
		return;
}

void *front_symbol(void *library, const char *name)
{
	return dlsym(library, name);
}

int front_cubins(void)
{
	const char *v = vgpu_env("VGPU_CUBINS");

	return v && *v && strcmp(v, "0") != 0;
}

unsigned front_arch(const char *w, char *suffix)
{
	unsigned v = 0;

	w += !strncmp(w, "sm_", 3) ? 3 : !strncmp(w, "compute_", 8) ? 8 : !strncmp(w, "lto_", 4) ? 4 : strlen(w);
	for (; *w >= '0' && *w <= '9' && v < 1000; w++)
		v = v * 10 + (unsigned)(*w - '0');
	*suffix = *w;
	return v;
}

/* NVRTC asks for its builtins by name, and some wheels' own has no RPATH: what is loaded already is found. */
static void open_builtins(const char *path)
{
	static const char start[] = "libnvrtc-builtins.so.";
	char file[FRONT_PATH];
	size_t n = (size_t)(strrchr(path, '/') - path) + 1;
	struct dirent *e;
	DIR *d;

	memcpy(file, path, n);
	file[n] = 0;
	d = opendir(file);
	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, start, sizeof(start) - 1) && n + strlen(e->d_name) < sizeof(file)) {
			strcpy(file + n, e->d_name);
			dlopen(file, RTLD_NOW | RTLD_LOCAL);
		}
	if (d)
		closedir(d);
}

static void note_headers(const char *path)
{
	int n = snprintf(headers, sizeof(headers), "%.*s../include", (int)(strrchr(path, '/') - path) + 1, path);

	if (n >= (int)sizeof(headers) || access(headers, X_OK))
		headers[0] = 0;
}

const char *front_headers(void)
{
	return headers[0] ? headers : NULL;
}

/* A library of ours, this one too, has the name as well: it is none that is looked for. */
static void *try_file(const char *path)
{
	void *h = strchr(path, '/') && !access(path, R_OK) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	if (h && !strncmp(strrchr(path, '/') + 1, "libnvrtc", 8))        /* or renamed: libnvrtc-e0967580.so.12.6.20 */
		open_builtins(path);
	if (h && dlsym(h, "vgpu_front_path")) {
		dlclose(h);
		h = NULL;
	}
	if (h)
		note_headers(path);
	return h;
}

static void *try_in(const char *folder, size_t n, const char *below, const char *soname)
{
	char path[FRONT_PATH];

	if (!n || snprintf(path, sizeof(path), "%.*s%s/%s", (int)n, folder, below, soname) >= (int)sizeof(path))
		return NULL;
	return try_file(path);
}

static void *try_list(const char *list, const char *below, const char *soname)
{
	void *h = NULL;

	for (const char *end; list && *list && !h; list = *end ? end + 1 : end) {
		end = strchrnul(list, ':');
		h = try_in(list, (size_t)(end - list), below, soname);
	}
	return h;
}

static void *try_site(const char *site, size_t n, const char *soname)
{
	static const char *const wheels[] = { "/nvidia/cu13/lib", "/nvidia/cuda_nvrtc/lib", "/nvidia/nvjitlink/lib" };
	void *h = NULL;

	for (size_t i = 0; !h && i < sizeof(wheels) / sizeof(wheels[0]); i++)
		h = try_in(site, n, wheels[i], soname);
	return h;
}

/* Python keeps them in wheels beside what it has loaded. */
static void *try_wheels(const char *soname)
{
	static const char mark[] = "/site-packages/";
	char line[FRONT_PATH + 128], last[FRONT_PATH] = "";
	FILE *f = fopen("/proc/self/maps", "re");
	void *h = NULL;

	while (f && !h && fgets(line, sizeof(line), f)) {
		char *p = strchr(line, '/'), *end = p ? strstr(p, mark) : NULL;
		size_t n = end ? (size_t)(end - p) + sizeof(mark) - 2 : 0;

		if (!n || n >= sizeof(last) || (strlen(last) == n && !strncmp(last, p, n)))
			continue;
		memcpy(last, p, n);
		last[n] = 0;
		h = try_site(last, n, soname);
	}
	if (f)
		fclose(f);
	return h;
}

static void *look_for(const char *soname)
{
	static const char folders[] = "/usr/local/cuda/lib64:/usr/lib/x86_64-linux-gnu:/usr/lib64:/usr/lib";
	static const char *const roots[] = { "CUDA_PATH", "CUDA_HOME", "CUDA_ROOT" };
	void *h = try_list(vgpu_env("LD_LIBRARY_PATH"), "", soname);

	if (!h)
		h = try_wheels(soname);
	for (size_t i = 0; !h && i < sizeof(roots) / sizeof(roots[0]); i++)
		h = try_list(vgpu_env(roots[i]), "/lib64", soname);
	return h ? h : try_list(folders, "", soname);
}

void *front_open(const char *soname, const char *other, const char *variable)
{
	const char *named = vgpu_env(variable);
	void *h;

	if (named && *named) {
		h = try_file(named);
		if (!h)
			front_say("%s=%s cannot be loaded, or is ours", variable, named);
		return h;
	}
	h = try_file(vgpu_front_path);
	if (!h)
		h = look_for(soname);
	return h || !other ? h : look_for(other);
}

void front_absent(const char *soname, const char *variable, const char *package, const char *also)
{
	front_say("%s: NVIDIA's own, which ours stands in front of, is not found: pip install %s, or name its file in %s%s", soname, package, variable, also);
}
