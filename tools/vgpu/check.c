/* SPDX-License-Identifier: MIT */
/*
 * vgpu check [-j] [-v] [--cc X.Y] FILE...: can this device run the CUDA code in these files?
 * vgpu check -d [-k KERNEL] [--cc X.Y] FILE...: and as what does it?
 * vgpu check --ops: the instructions it knows.
 *
 * A file is an ELF program or library (its .nv_fatbin), a fatbin, or PTX text. Nothing of it is run: the engine
 * compiles each kernel as a first launch would, in this process.
 */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../fw-protocol/vgpu_status.h"
#include "../vgpu-stub/cpu/disasm.h"
#include "../vgpu-stub/cpu/fatbin.h"
#include "../vgpu-stub/cpu/ops_doc.h"
#include "gpucode.h"
#include "vgpu.h"

#define SHOWN 20u

struct walk {
	struct local *l;
	struct check *out;
	struct check_failure **tail;
	unsigned number;
};

static int note_failure(struct walk *w, const char *kernel, const char *reason)
{
	struct check_failure *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->container = w->number;
	f->kernel = kernel ? strdup(kernel) : NULL;
	f->reason = strdup(reason);
	*w->tail = f;
	w->tail = &f->next;
	return 0;
}

/* Of this thread: the neighbours on the machine do not count. */
static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int note_time(struct check *c, double ms)
{
	if (c->nms == c->room) {
		unsigned room = c->room ? c->room * 2 : 1024;
		double *p = realloc(c->ms, room * sizeof(*p));

		if (!p)
			return -ENOMEM;
		c->ms = p;
		c->room = room;
	}
	c->ms[c->nms++] = ms;
	return 0;
}

/* What of the time to load it goes into decompression: done once more, for the clock. */
static void note_load(struct walk *w, const void *image, size_t bytes, double ms)
{
	struct check *c = w->out;
	double t0 = cpu_ms();
	size_t text = bytes;
	char *ptx = NULL;

	if (fatbin_probe(image, bytes)) {
		fatbin_select(image, bytes, w->l->cc / 10, w->l->cc % 10, &ptx, &text, NULL, 0);
		c->unpack_ms += cpu_ms() - t0;
		free(ptx);
	}
	c->text_bytes += text;
	c->load_ms += ms;
	c->load_max_ms = ms > c->load_max_ms ? ms : c->load_max_ms;
}

/* Compiles every kernel of one image. */
static int check_image(void *owner, const void *image, size_t bytes)
{
	struct walk *w = owner;
	struct check *c = w->out;
	struct engine_func_info info;
	struct engine_symbol s;
	char log[1024] = "";
	double slowest = 0, begin;
	uint32_t module, st;
	int err = 0;

	w->number++;
	if (!image) {
		c->bad_containers++;
		return note_failure(w, NULL, "the container's sizes do not fit the file");
	}
	for (unsigned i = 0; i < c->nms; i++)
		slowest = c->ms[i] > slowest ? c->ms[i] : slowest;
	begin = cpu_ms();
	st = engine_cpu.module_load(w->l->e, image, bytes, &module, log, sizeof(log));
	if (st == VGPU_ST_NO_BINARY) {
		c->no_ptx++;
		return 0;
	}
	if (!st)
		note_load(w, image, bytes, cpu_ms() - begin);
	if (st) {
		c->bad_containers++;
		return note_failure(w, NULL, log[0] ? log : vgpu_status_text(st));
	}
	c->containers++;
	for (uint32_t i = 0; !err && engine_cpu.module_symbol(w->l->e, module, i, &s) == VGPU_ST_OK; i++) {
		double t0 = cpu_ms(), t1;

		if (s.kind != ENGINE_SYM_FUNC)
			continue;
		st = engine_cpu.func_info(w->l->e, s.id, &info, log, sizeof(log));
		t1 = cpu_ms();
		c->entries++;
		if (st) {
			c->failed++;
			err = note_failure(w, s.name, log[0] ? log : vgpu_status_text(st));
			continue;
		}
		err = note_time(c, t1 - t0);
		if (!err && c->ms[c->nms - 1] > slowest) {
			slowest = c->ms[c->nms - 1];
			snprintf(c->slowest, sizeof(c->slowest), "%s", s.name);
		}
	}
	engine_cpu.module_unload(w->l->e, module);
	return err;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int check_file(struct local *l, const char *path, struct check *out)
{
	struct walk w = { .l = l, .out = out, .tail = &out->failures };
	int err;

	memset(out, 0, sizeof(*out));
	err = gpucode_each(path, check_image, &w);
	if (err) {
		complain("%s: %s", path, strerror(-err));
		return -1;
	}
	if (!w.number) {
		complain("%s: holds no GPU code", path);
		return -1;
	}
	qsort(out->ms, out->nms, sizeof(*out->ms), ascending);
	return 0;
}

double check_quantile(const struct check *c, double q)
{
	unsigned i = (unsigned)(q * c->nms);

	return c->nms ? c->ms[i < c->nms ? i : c->nms - 1] : NAN;
}

void check_free(struct check *c)
{
	while (c->failures) {
		struct check_failure *f = c->failures;

		c->failures = f->next;
		free(f->kernel);
		free(f->reason);
		free(f);
	}
	free(c->ms);
	memset(c, 0, sizeof(*c));
}

static void print_text(const char *path, const struct check *c, unsigned cc, int all)
{
	unsigned shown = 0;

	printf("%s: %u of %u kernels run on a device of compute capability %u.%u\n", path,
	       c->entries - c->failed, c->entries, cc / 10, cc % 10);
	if (c->no_ptx)
		printf("  %u of %u containers have no PTX for it\n", c->no_ptx,
		       c->no_ptx + c->containers + c->bad_containers);
	if (c->containers)
		printf("  CPU time to load %u containers, %.1f MB of PTX, ms: %.1f, decompression %.1f of it; longest %.2f\n", c->containers,
		       (double)c->text_bytes / 1e6, c->load_ms, c->unpack_ms, c->load_max_ms);
	if (c->nms)
		printf("  CPU time to compile a kernel, ms: median %.2f, p99 %.2f, longest %.2f (%s)\n",
		       check_quantile(c, 0.5), check_quantile(c, 0.99), check_quantile(c, 1), c->slowest);
	for (const struct check_failure *f = c->failures; f; f = f->next) {
		if (shown++ == SHOWN && !all) {
			printf("  ... -v prints all\n");
			break;
		}
		if (f->kernel)
			printf("  %s: %s\n", f->kernel, f->reason);
		else
			printf("  container %u: %s\n", f->container, f->reason);
	}
}

static void print_json(struct json *j, const char *path, const struct check *c)
{
	json_open(j, NULL, '{');
	json_str(j, "file", path);
	json_u64(j, "containers", c->containers);
	json_u64(j, "no_ptx", c->no_ptx);
	json_u64(j, "bad_containers", c->bad_containers);
	json_u64(j, "entries", c->entries);
	json_u64(j, "failed", c->failed);
	json_u64(j, "ptx_bytes", c->text_bytes);
	json_open(j, "load_ms", '{');
	json_f(j, "all", c->load_ms);
	json_f(j, "decompression", c->unpack_ms);
	json_f(j, "max", c->load_max_ms);
	json_close(j, '}');
	json_open(j, "compile_ms", '{');
	json_f(j, "p50", check_quantile(c, 0.5));
	json_f(j, "p99", check_quantile(c, 0.99));
	json_f(j, "max", check_quantile(c, 1));
	json_close(j, '}');
	json_open(j, "failures", '[');
	for (const struct check_failure *f = c->failures; f; f = f->next) {
		json_open(j, NULL, '{');
		json_u64(j, "container", f->container);
		if (f->kernel)
			json_str(j, "kernel", f->kernel);
		json_str(j, "reason", f->reason);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

/* ---- -d: kernels as the engine runs them -------------------------------------------------- */

struct listing {
	struct local *l;
	const char *kernel;             /* which; NULL: all */
	unsigned listed, failed;
};

static int list_image(void *owner, const void *image, size_t bytes)
{
	struct listing *w = owner;
	struct engine_func_info info;
	struct engine_symbol s;
	char log[1024] = "";
	uint32_t module, st;

	st = image ? engine_cpu.module_load(w->l->e, image, bytes, &module, log, sizeof(log)) : VGPU_ST_INVALID_IMAGE;
	if (st == VGPU_ST_NO_BINARY)
		return 0;
	if (st) {
		complain("%s", log[0] ? log : vgpu_status_text(st));
		w->failed++;
		return 0;
	}
	for (uint32_t i = 0; engine_cpu.module_symbol(w->l->e, module, i, &s) == VGPU_ST_OK; i++) {
		if (s.kind != ENGINE_SYM_FUNC || (w->kernel && fnmatch(w->kernel, s.name, 0)))
			continue;
		st = engine_cpu.func_info(w->l->e, s.id, &info, log, sizeof(log));
		if (st) {
			complain("%s: %s", s.name, log[0] ? log : vgpu_status_text(st));
			w->failed++;
			continue;
		}
		if (w->listed++)
			putchar('\n');
		disasm_list(w->l->e, s.id, stdout);
	}
	engine_cpu.module_unload(w->l->e, module);
	return 0;
}

static int list_file(struct local *l, const char *path, const char *kernel)
{
	struct listing w = { .l = l, .kernel = kernel };
	int err = gpucode_each(path, list_image, &w);

	if (err)
		complain("%s: %s", path, strerror(-err));
	else if (!w.listed && !w.failed)
		complain(kernel ? "%s: no kernel %s" : "%s: holds no GPU code for this device", path, kernel);
	return err || w.failed || !w.listed;
}

static int usage(FILE *to)
{
	fputs("usage: vgpu check [-j] [-v] [--cc X.Y] FILE...\n       vgpu check -d [-k KERNEL] [--cc X.Y] FILE...\n"
	      "       vgpu check --ops\n", to);
	return to == stderr ? 2 : 0;
}

int cmd_check(int argc, char **argv)
{
	struct json j = { .out = stdout };
	unsigned major = 6, minor = 1;
	int json = 0, all = 0, list = 0, status = 0, i;
	const char *kernel = NULL;
	struct local l;

	if (argc == 2 && !strcmp(argv[1], "--ops")) {
		ops_print(stdout);
		return 0;
	}
	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return usage(stdout);
	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		char more;

		if (!strcmp(argv[i], "-j"))
			json = 1;
		else if (!strcmp(argv[i], "-v"))
			all = 1;
		else if (!strcmp(argv[i], "-d"))
			list = 1;
		else if (!strcmp(argv[i], "-k") && i + 1 < argc)
			kernel = argv[++i];
		else if (strcmp(argv[i], "--cc") || i + 1 >= argc ||
			 sscanf(argv[++i], "%u.%u%c", &major, &minor, &more) != 2 || major > 99 || minor > 9)
			return misused("check", argv[i]);
	}
	if (i == argc)
		return argc == 1 ? usage(stderr) : (complain("check: which file? vgpu check --help"), 2);
	if (kernel && !list) {
		complain("check: -k is for -d");
		return 2;
	}
	if (list && json) {
		complain("check: a listing is text: -d and -j do not go together");
		return 2;
	}
	if (local_open(&l, ENGINE_MODE_AUTO, 1, 10 * major + minor))
		return 1;
	if (json)
		json_open(&j, NULL, '[');
	for (; list && i < argc; i++)
		status |= list_file(&l, argv[i], kernel);
	for (; i < argc; i++) {
		struct check c;

		if (check_file(&l, argv[i], &c))
			status = 1;
		else if (json)
			print_json(&j, argv[i], &c);
		else
			print_text(argv[i], &c, 10 * major + minor, all);
		status |= c.failed || c.bad_containers || !c.containers ? 1 : 0;
		check_free(&c);
	}
	if (json)
		json_close(&j, ']');
	local_close(&l);
	return status;
}
