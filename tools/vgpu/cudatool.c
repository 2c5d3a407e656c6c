/* SPDX-License-Identifier: MIT */
/* Options, messages and files of our stand-ins for the toolkit's programs: see cudatool.h. */
#define _GNU_SOURCE
#include "cudatool.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../fw-protocol/vgpu_cubin.h"
#include "vgpu.h"

#define RELEASE "12.8"
#define MAX_FILE (1ul << 30)

int tool_fatal(const struct tool *t, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s fatal   : ", t->name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return TOOL_FATAL;
}

char *tool_read(const struct tool *t, const char *path, size_t *bytes)
{
	FILE *f = fopen(path, "rb");
	size_t room = 1u << 16, n = 0, got;
	char *p = f ? malloc(room + 1) : NULL, *q = p;

	/* by reading: it may be a pipe */
	while (p && (got = fread(p + n, 1, room - n, f)) > 0) {
		n += got;
		if (n < room)
			continue;
		q = room < MAX_FILE ? realloc(p, 2 * room + 1) : NULL;
		if (!q)
			break;
		p = q;
		room *= 2;
	}
	if (!f || !p || !q || ferror(f)) {
		tool_fatal(t, "Could not open input file '%s': %s", path, strerror(errno ? errno : ENOMEM));
		free(p);
		p = NULL;
	} else {
		p[n] = 0;
		*bytes = n;
	}
	if (f)
		fclose(f);
	return p;
}

int tool_write(const struct tool *t, const char *path, const void *p, size_t bytes)
{
	FILE *f = fopen(path, "wb");
	int bad = !f || fwrite(p, 1, bytes, f) != bytes;

	if (f && fclose(f))
		bad = 1;
	return bad ? tool_fatal(t, "Could not write output file '%s': %s", path, strerror(errno)) : 0;
}

int tool_write_cubin(const struct tool *t, const char *path, const struct vgpu_cubin *c)
{
	uint64_t bytes = vgpu_cubin_write(c, NULL, 0);
	void *p = bytes ? malloc(bytes) : NULL;
	int err;

	if (!p)
		return tool_fatal(t, "No memory for the output");
	vgpu_cubin_write(c, p, bytes);
	err = tool_write(t, path, p, bytes);
	free(p);
	return err;
}

/* Looks for "--name" or "-brief"; *value moves to what stands behind it in the same word, NULL where nothing does. */
static const struct tool_option *find(const struct tool *t, const char *word, const char **value)
{
	const struct tool_option *o;

	for (o = t->options; o->name; o++) {
		for (int brief = 0; brief < 2; brief++) {
			const char *name = brief ? o->brief : o->name, *p = word + (word[1] == '-' ? 2 : 1);
			size_t n = name ? strlen(name) : 0;

			if (!name || strncmp(p, name, n))
				continue;
			*value = p[n] == '=' ? p + n + 1 : NULL;
			if (!p[n] || (p[n] == '=' && o->value))
				return o;
		}
	}
	for (o = t->options; o->name; o++)      /* -O3, -m64 */
		if (o->brief && !o->brief[1] && o->value && word[1] == o->brief[0] && word[2]) {
			*value = word + 2;
			return o;
		}
	return NULL;
}

static int words(struct tool *t, unsigned n, char **w, int depth);

/* The words of a file of options; they stay for good. */
static int options_file(struct tool *t, const char *path, int depth)
{
	char *w[4096], *p, *save = NULL;
	size_t bytes;
	unsigned n = 0;

	p = depth < 4 ? tool_read(t, path, &bytes) : NULL;
	if (!p)
		return TOOL_FATAL;
	for (p = strtok_r(p, " \t\r\n", &save); p && n < 4096; p = strtok_r(NULL, " \t\r\n", &save))
		w[n++] = p;
	return words(t, n, w, depth + 1);
}

static int words(struct tool *t, unsigned n, char **w, int depth)
{
	for (unsigned i = 0; i < n; i++) {
		const struct tool_option *o;
		const char *value = NULL;
		int err = 0;

		if (w[i][0] != '-' || !w[i][1]) {
			if (t->ninputs == TOOL_MAX_INPUTS)
				return tool_fatal(t, "More than %u input files", TOOL_MAX_INPUTS);
			t->inputs[t->ninputs++] = w[i];
			continue;
		}
		if ((!strcmp(w[i], "-optf") || !strcmp(w[i], "--options-file")) && i + 1 < n) {
			err = options_file(t, w[++i], depth);
			if (err)
				return err;
			continue;
		}
		o = find(t, w[i], &value);
		if (!o)
			return tool_fatal(t, "Unknown option '%s'", w[i]);
		if (o->value && !value) {
			if (++i == n)
				return tool_fatal(t, "Option '%s' needs a value", o->name);
			value = w[i];
		}
		if (o->id)
			err = t->set(t->owner, o->id, value);
		if (err)
			return err;
	}
	return 0;
}

int tool_parse(struct tool *t, int argc, char **argv)
{
	return words(t, (unsigned)argc - 1, argv + 1, 0);
}

/* "release 12.8, V12.8.93" of a program of NVIDIA's. */
static int release_in(const char *path, char *out, size_t room)
{
	static const char mark[] = "release ";
	const struct tool quiet = { .name = "ptxas" };
	size_t bytes, n;
	char *p, *at;
	int found = 0;

	if (access(path, R_OK) || !(p = tool_read(&quiet, path, &bytes)))
		return 0;
	for (at = p; !found && (at = memmem(at, bytes - (size_t)(at - p), mark, sizeof(mark) - 1)) != NULL;) {
		at += sizeof(mark) - 1;
		n = strspn(at, "0123456789.");
		found = isdigit((unsigned char)*at) && at[n] == ',' && n < room && strchr(at, '.') < at + n;
		if (found) {
			memcpy(out, at, n);
			out[n] = 0;
		}
	}
	free(p);
	return found;
}

/* Each Triton knows the releases that were there when it was made: the one of the ptxas beside it suits it. */
static int release_of_caller(char *out, size_t room)
{
	char maps[64], line[PATH_MAX + 128], *p, *end;
	int found = 0;
	FILE *f;

	snprintf(maps, sizeof(maps), "/proc/%d/maps", getppid());
	f = fopen(maps, "r");
	while (f && !found && fgets(line, sizeof(line), f)) {
		p = strchr(line, '/');
		end = p ? strstr(p, "/triton/_C/libtriton") : NULL;
		if (!end || end - p + 64 > PATH_MAX)
			continue;
		strcpy(end, "/triton/backends/nvidia/bin/ptxas");
		found = release_in(p, out, room);
		break;
	}
	if (f)
		fclose(f);
	return found;
}

void tool_version(const struct tool *t, const char *what, const char *release)
{
	char own[16];

	if (!release)
		release = getenv("VGPU_PTXAS_RELEASE");
	if (!release || !*release)
		release = release_of_caller(own, sizeof(own)) ? own : RELEASE;
	printf("%s: %s of vgpu " VGPU_VERSION ", which writes PTX in a cubin's place, in the place of:\n"
	       "Cuda compilation tools, release %s, V%s.0\n", t->name, what, release, release);
}
