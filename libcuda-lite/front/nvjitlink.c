/* SPDX-License-Identifier: MIT */
/*
 * libnvJitLink.so.12 and .13: PTX, and what holds it, is linked by our own linker (libcuda-lite/link) and handed out in a
 * cubin's place (vgpu_cubin.h). LTO-IR goes to NVIDIA's own library, which makes PTX of it, and that is linked with the rest.
 * Where the device runs machine code (VGPU_CUBINS, of vgpu run on an engine cuda) NVIDIA's does all of it, where it is installed.
 * The ABI is that of nvJitLink's public header: its names also carry the version that a program was compiled with.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../fw-protocol/vgpu_cubin.h"
#include "../../fw-protocol/vgpu_env.h"
#include "../../tools/vgpu-stub/cpu/fatbin.h"   /* the format's numbers only */
#include "../link/ptxlink.h"
#include "front.h"

#define PUBLIC __attribute__((visibility("default")))
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define SONAME "libnvJitLink.so." TEXT(FRONT_MAJOR)
#define PACKAGE (FRONT_MAJOR == 13 ? "nvidia-nvjitlink" : "nvidia-nvjitlink-cu12")
#define MAX_OPTIONS 256

/* nvJitLinkResult */
enum { SUCCESS, UNRECOGNIZED_OPTION, MISSING_ARCH, INVALID_INPUT, PTX_COMPILE, NVVM_COMPILE, INTERNAL, UNRECOGNIZED_INPUT = 8,
       NULL_INPUT = 10, INCOMPATIBLE_OPTIONS, INCORRECT_INPUT_TYPE, UNRECOGNIZED_ARCH = 16, UNSUPPORTED_ARCH, LTO_NOT_ENABLED };
/* nvJitLinkInputType */
enum { IN_NONE, IN_CUBIN, IN_PTX, IN_LTOIR, IN_FATBIN, IN_OBJECT, IN_LIBRARY, IN_INDEX, IN_ANY = 10 };

#define ALIVE 0x6b6c746au
struct jitlink {
	uint32_t alive;
	unsigned target, maxrregcount;
	char suffix;
	int lto, want_ptx, is_virtual, added, done, through;    /* through: all of it is NVIDIA's */
	char *options[MAX_OPTIONS];             /* for NVIDIA's */
	unsigned noptions;
	void *own;                              /* NVIDIA's handle, once there is LTO-IR */
	struct ptxlink *l;
	char *from_lto;                         /* its PTX */
	const char *ptx;                        /* linked */
	size_t ptx_bytes;
	char *said;                             /* NVIDIA's error log */
};

typedef int (*call_fn)(void *a, void *b, void *c, void *d, void *e);

static call_fn find(const char *name)
{
	static void *lib;
	static int tried;
	void *p = NULL;
	call_fn f = NULL;

	if (!__atomic_load_n(&tried, __ATOMIC_ACQUIRE)) {
		lib = front_open(SONAME, NULL, "VGPU_NVJITLINK");
		if (!lib && !vgpu_env("VGPU_NVJITLINK"))
			front_absent(SONAME, "VGPU_NVJITLINK", PACKAGE, "");
		__atomic_store_n(&tried, 1, __ATOMIC_RELEASE);
	}
	if (lib)
		p = front_symbol(lib, name);
	memcpy(&f, &p, sizeof(f));
	return f;
}
#define THEIRS(name, a, b, c, d, e) ({ \
	call_fn f_ = find(name); \
	f_ ? f_((void *)(uintptr_t)(a), (void *)(uintptr_t)(b), (void *)(uintptr_t)(c), (void *)(uintptr_t)(d), (void *)(uintptr_t)(e)) : \
	     INTERNAL; })

static struct jitlink *of(void *handle)
{
	struct jitlink *j = handle;

	return j && j->alive == ALIVE ? j : NULL;
}

/* What a call on a handle that is none says. */
static int no_handle(const void *handle) { return handle ? INVALID_INPUT : NULL_INPUT; }

/* ---- options ---- */

/* Those of NVIDIA's documentation; with a value where it ends in '='. */
static const char *const known[] = {
	"-arch=", "-maxrregcount=", "-time", "-verbose", "-lto", "-ptx", "-g", "-lineinfo", "-ftz=", "-prec-div=", "-prec-sqrt=",
	"-fma=", "-kernels-used=", "-variables-used=", "-optimize-unused-variables", "-Xptxas=", "-Xnvvm=", "-split-compile=",
	"-split-compile-extended=", "-jump-table-density=", "-no-cache", "-device-stack-protector=", "-r", "-cc=", "-minimal", "-ofast-compile=",
	"-numba-debug", "-v", "-w", "-host-relocatable", "-l=", "-Ofast-compile=",
};

static int is_known(const char *o)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t n = strlen(known[i]);

		if (!strcmp(o, known[i]) || (known[i][n - 1] == '=' && !strncmp(o, known[i], n)) || (!strncmp(o, "-O", 2) && o[2] >= '0' && o[2] <= '3' && !o[3]))
			return 1;
	}
	return 0;
}

static void forget(struct jitlink *j)
{
	if (j->own)
		THEIRS("nvJitLinkDestroy", &j->own, 0, 0, 0, 0);
	for (unsigned i = 0; i < j->noptions; i++)
		free(j->options[i]);
	ptxlink_free(j->l);
	free(j->from_lto);
	free(j->said);
	j->alive = 0;
	free(j);
}

static int is_arch(unsigned target)
{
	static const unsigned char archs[] = { 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121 };

	return target < 256 && memchr(archs, (int)target, sizeof(archs)) != NULL;
}

static int option(struct jitlink *j, const char *o)
{
	if (!is_known(o))
		return UNRECOGNIZED_OPTION;
	if (!strncmp(o, "-arch=", 6)) {
		j->target = front_arch(o + 6, &j->suffix);
		if (!j->target)
			return UNRECOGNIZED_OPTION;
		if (!is_arch(j->target))
			return UNRECOGNIZED_ARCH;
		if (j->target < 50)
			return UNSUPPORTED_ARCH;
		j->is_virtual = !strncmp(o + 6, "compute_", 8);
	} else if (!strncmp(o, "-maxrregcount=", 14)) {
		j->maxrregcount = (unsigned)strtoul(o + 14, NULL, 10);
	}
	j->lto |= !strcmp(o, "-lto");
	j->want_ptx |= !strcmp(o, "-ptx");
	/* theirs stops at PTX: nothing for an assembler */
	if (!strncmp(o, "-Xptxas", 7) || !strncmp(o, "-split", 6) || !strcmp(o, "-ptx") || !strcmp(o, "-lto"))
		return SUCCESS;
	if (j->noptions == MAX_OPTIONS - 2 || !(j->options[j->noptions] = strdup(o)))
		return INTERNAL;
	j->noptions++;
	return SUCCESS;
}

PUBLIC int nvJitLinkCreate(void **handle, uint32_t n, const char **options);
PUBLIC int nvJitLinkCreate(void **handle, uint32_t n, const char **options)
{
	struct jitlink *j;
	int err = SUCCESS;

	if (!handle || !options)
		return NULL_INPUT;
	*handle = NULL;
	j = calloc(1, sizeof(*j));
	if (!j)
		return INTERNAL;
	if (front_cubins() && find("nvJitLinkCreate")) {
		err = THEIRS("nvJitLinkCreate", &j->own, n, options, 0, 0);
		if (err) {
			free(j);
			return err;
		}
		j->through = 1;
		j->alive = ALIVE;
		*handle = j;
		return SUCCESS;
	}
	for (uint32_t i = 0; i < n && !err; i++)
		err = options[i] ? option(j, options[i]) : NULL_INPUT;
	if (!err && !j->target)
		err = MISSING_ARCH;
	/* PTX is what LTO-IR becomes, and all that there is of a virtual architecture */
	if (!err && ((j->want_ptx && !j->lto) || (j->is_virtual && !j->want_ptx)))
		err = INCOMPATIBLE_OPTIONS;
	j->l = err ? NULL : ptxlink_new(j->target);
	if (!err && !j->l)
		err = INTERNAL;
	if (err) {
		forget(j);
		return err;
	}
	j->alive = ALIVE;
	*handle = j;
	return SUCCESS;
}

PUBLIC int nvJitLinkDestroy(void **handle);
PUBLIC int nvJitLinkDestroy(void **handle)
{
	struct jitlink *j = handle ? of(*handle) : NULL;

	if (!j)
		return handle && *handle ? INVALID_INPUT : NULL_INPUT;
	forget(j);
	*handle = NULL;
	return SUCCESS;
}

/* ---- inputs ---- */

static int read_u32(const void *p, size_t bytes, size_t at, uint32_t *v)
{
	if (bytes < 4 || at > bytes - 4)
		return 0;
	memcpy(v, (const char *)p + at, 4);
	return 1;
}

/* LTO-IR by itself, or a fatbin that has some. */
static int is_lto(const void *p, size_t bytes)
{
	uint32_t magic, kind, header, payload;

	if (!read_u32(p, bytes, 0, &magic))
		return 0;
	if (magic == 0x7f4e43edu || magic == 0xdec04342u)
		return 1;
	if (magic != FATBIN_MAGIC)
		return 0;
	for (size_t at = 16; read_u32(p, bytes, at, &kind) && read_u32(p, bytes, at + 4, &header) &&
	     read_u32(p, bytes, at + 8, &payload) && header >= 64; at += (size_t)header + payload)
		if ((kind & 0xffff) == FATBIN_NVVM)
			return 1;
	return 0;
}

/* With -lto -ptx, and an architecture that it has. */
static int open_theirs(struct jitlink *j)
{
	static const char *const more[] = { "-lto", "-ptx" };
	int err;

	if (j->own)
		return SUCCESS;
	j->options[j->noptions] = (char *)(uintptr_t)more[0];
	j->options[j->noptions + 1] = (char *)(uintptr_t)more[1];
	err = THEIRS("nvJitLinkCreate", &j->own, j->noptions + 2, j->options, 0, 0);
	j->options[j->noptions] = j->options[j->noptions + 1] = NULL;
	if (err)
		j->own = NULL;
	return err;
}

static int linked(int err)
{
	return !err ? SUCCESS : err == PTXLINK_NO_MEMORY ? INTERNAL : INVALID_INPUT;
}

static enum ptxlink_kind kind_of(int type)
{
	return type == IN_CUBIN ? PTXLINK_CUBIN : type == IN_PTX ? PTXLINK_PTX : type == IN_FATBIN ? PTXLINK_FATBIN :
	       type == IN_OBJECT ? PTXLINK_OBJECT : type == IN_LIBRARY ? PTXLINK_LIBRARY : PTXLINK_ANY;
}

static int bad_type(int type)
{
	return (type < IN_CUBIN || type > IN_LIBRARY) && type != IN_ANY;
}

static __attribute__((format(printf, 2, 3))) void complain(struct jitlink *j, const char *fmt, ...)
{
	char line[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (!j->said)
		j->said = strdup(line);
}

static int wrong_type(struct jitlink *j, int type)
{
	complain(j, "error   : the input is not of type %d\n", type);
	return INCORRECT_INPUT_TYPE;
}

/* The linker's answer to an input: what it cannot read is not what it was said to be, and what nothing was said of is nothing known. */
static int added(struct jitlink *j, int type, int err)
{
	j->added |= !err;
	return !err ? SUCCESS : err == PTXLINK_NO_MEMORY ? INTERNAL : type == IN_ANY ? UNRECOGNIZED_INPUT : INCORRECT_INPUT_TYPE;
}

/* PTX for an architecture that is newer than the one that is linked for: said as ptxas would. */
static int newer(struct jitlink *j, const void *data, size_t size)
{
	static const char before[] = ".target";
	const char *p = memmem(data, size, ".version", 8) ? memmem(data, size, before, sizeof(before) - 1) : NULL;
	const char *end = (const char *)data + size;
	unsigned sm = 0;

	if (!p || memchr(data, 0, (size_t)(p - (const char *)data)))
		return 0;
	for (p += sizeof(before) - 1; p < end && (*p == ' ' || *p == '\t'); p++)
		;
	if (end - p < 4 || memcmp(p, "sm_", 3))
		return 0;
	for (p += 3; p < end && *p >= '0' && *p <= '9' && sm < 1000; p++)
		sm = sm * 10 + (unsigned)(*p - '0');
	if (sm <= j->target)
		return 0;
	complain(j, "error   : .target sm_%u is higher than the architecture that is linked for, sm_%u\n", sm, j->target);
	return 1;
}

PUBLIC int nvJitLinkAddData(void *handle, int type, const void *data, size_t size, const char *name);
PUBLIC int nvJitLinkAddData(void *handle, int type, const void *data, size_t size, const char *name)
{
	struct jitlink *j = of(handle);
	int err;

	if (j && j->through)
		return THEIRS("nvJitLinkAddData", j->own, type, data, size, name);
	if (!j)
		return no_handle(handle);
	if (j->done)
		return INTERNAL;
	if (!data || !size)
		return INVALID_INPUT;
	if (bad_type(type))
		return wrong_type(j, type);
	if (type != IN_PTX && is_lto(data, size)) {
		if (!j->lto)
			return LTO_NOT_ENABLED;
		err = open_theirs(j);
		return err ? err : THEIRS("nvJitLinkAddData", j->own, type, data, size, name);
	}
	if (type == IN_LTOIR)
		return wrong_type(j, type);
	if (newer(j, data, size))
		return PTX_COMPILE;
	return added(j, type, ptxlink_add(j->l, kind_of(type), data, size, name));
}

PUBLIC int nvJitLinkAddFile(void *handle, int type, const char *path);
PUBLIC int nvJitLinkAddFile(void *handle, int type, const char *path)
{
	struct jitlink *j = of(handle);
	unsigned char head[4096];
	size_t n = 0;
	FILE *f;
	int err;

	if (j && j->through)
		return THEIRS("nvJitLinkAddFile", j->own, type, path, 0, 0);
	if (!j)
		return no_handle(handle);
	if (j->done)
		return INTERNAL;
	if (!path)
		return NULL_INPUT;
	f = fopen(path, "rbe");
	if (!f)
		return INVALID_INPUT;
	n = fread(head, 1, sizeof(head), f);
	fclose(f);
	if (bad_type(type))
		return wrong_type(j, type);
	if (type != IN_PTX && is_lto(head, n)) {
		if (!j->lto)
			return LTO_NOT_ENABLED;
		err = open_theirs(j);
		return err ? err : THEIRS("nvJitLinkAddFile", j->own, type, path, 0, 0);
	}
	if (type == IN_LTOIR)
		return wrong_type(j, type);
	if (newer(j, head, n))
		return PTX_COMPILE;
	return added(j, type, ptxlink_add_file(j->l, kind_of(type), path));
}

/* ---- the result ---- */

static void keep_log(struct jitlink *j)
{
	size_t n = 0;

	if (THEIRS("nvJitLinkGetErrorLogSize", j->own, &n, 0, 0, 0) || !n || j->said)
		return;
	j->said = calloc(1, n + 1);
	if (j->said)
		THEIRS("nvJitLinkGetErrorLog", j->own, j->said, 0, 0, 0);
}

static int from_theirs(struct jitlink *j)
{
	size_t n = 0;
	int err = THEIRS("nvJitLinkComplete", j->own, 0, 0, 0, 0);

	if (!err)
		err = THEIRS("nvJitLinkGetLinkedPtxSize", j->own, &n, 0, 0, 0);
	if (!err) {
		j->from_lto = calloc(1, n + 1);
		err = j->from_lto ? THEIRS("nvJitLinkGetLinkedPtx", j->own, j->from_lto, 0, 0, 0) : INTERNAL;
	}
	if (err) {
		keep_log(j);
		return err;
	}
	return linked(ptxlink_add(j->l, PTXLINK_PTX, j->from_lto, strlen(j->from_lto), "LTO-IR"));
}

/* Of nothing comes a module with nothing in it. */
static int empty(struct jitlink *j)
{
	free(j->from_lto);
	j->from_lto = malloc(96);
	if (!j->from_lto)
		return INTERNAL;
	snprintf(j->from_lto, 96, ".version %s\n.target sm_%u\n.address_size 64\n", j->target > 90 ? "9.0" : "8.0", j->target);
	j->ptx = j->from_lto;
	j->ptx_bytes = strlen(j->ptx);
	return SUCCESS;
}

PUBLIC int nvJitLinkComplete(void *handle);
PUBLIC int nvJitLinkComplete(void *handle)
{
	struct jitlink *j = of(handle);
	int err;

	if (j && j->through)
		return THEIRS("nvJitLinkComplete", j->own, 0, 0, 0, 0);
	if (!j)
		return no_handle(handle);
	if (j->done)
		return INTERNAL;
	j->done = 1;
	if (!j->own && !j->added)
		return empty(j);
	err = j->own ? from_theirs(j) : SUCCESS;
	return err ? err : linked(ptxlink_complete(j->l, &j->ptx, &j->ptx_bytes)) ? INTERNAL : SUCCESS;
}

static uint64_t cubin(const struct jitlink *j, void *to, uint64_t room)
{
	struct vgpu_cubin c = { .target = j->target, .suffix = j->suffix, .maxrregcount = j->maxrregcount, .name = "nvJitLink", .ptx = j->ptx,
				.ptx_bytes = j->ptx_bytes };

	return vgpu_cubin_write(&c, to, room);
}

PUBLIC int nvJitLinkGetLinkedCubinSize(void *handle, size_t *size);
PUBLIC int nvJitLinkGetLinkedCubinSize(void *handle, size_t *size)
{
	struct jitlink *j = of(handle);

	if (j && j->through)
		return THEIRS("nvJitLinkGetLinkedCubinSize", j->own, size, 0, 0, 0);
	if (!j)
		return no_handle(handle);
	if (!j->ptx || j->want_ptx)
		return j->done ? INVALID_INPUT : INTERNAL;
	if (!size)
		return NULL_INPUT;
	*size = cubin(j, NULL, 0);
	return SUCCESS;
}

PUBLIC int nvJitLinkGetLinkedCubin(void *handle, void *to);
PUBLIC int nvJitLinkGetLinkedCubin(void *handle, void *to)
{
	struct jitlink *j = of(handle);

	if (j && j->through)
		return THEIRS("nvJitLinkGetLinkedCubin", j->own, to, 0, 0, 0);
	if (!j)
		return no_handle(handle);
	if (!j->ptx || j->want_ptx)
		return j->done ? INVALID_INPUT : INTERNAL;
	if (!to)
		return NULL_INPUT;
	cubin(j, to, UINT64_MAX);
	return SUCCESS;
}

PUBLIC int nvJitLinkGetLinkedPtxSize(void *handle, size_t *size);
PUBLIC int nvJitLinkGetLinkedPtxSize(void *handle, size_t *size)
{
	struct jitlink *j = of(handle);

	if (j && j->through)
		return THEIRS("nvJitLinkGetLinkedPtxSize", j->own, size, 0, 0, 0);
	if (!j)
		return no_handle(handle);
	if (!j->ptx || !j->want_ptx)
		return INVALID_INPUT;
	if (!size)
		return NULL_INPUT;
	*size = j->ptx_bytes + 1;
	return SUCCESS;
}

PUBLIC int nvJitLinkGetLinkedPtx(void *handle, char *to);
PUBLIC int nvJitLinkGetLinkedPtx(void *handle, char *to)
{
	struct jitlink *j = of(handle);

	if (j && j->through)
		return THEIRS("nvJitLinkGetLinkedPtx", j->own, to, 0, 0, 0);
	if (!j)
		return no_handle(handle);
	if (!j->ptx || !j->want_ptx)
		return INVALID_INPUT;
	if (!to)
		return NULL_INPUT;
	memcpy(to, j->ptx, j->ptx_bytes + 1);
	return SUCCESS;
}

PUBLIC int nvJitLinkGetLinkedLTOIRSize(void *handle, size_t *size);
PUBLIC int nvJitLinkGetLinkedLTOIRSize(void *handle, size_t *size)
{
	struct jitlink *j = of(handle);

	if (!j)
		return INVALID_INPUT;
	if (j->through)
		return THEIRS("nvJitLinkGetLinkedLTOIRSize", j->own, size, 0, 0, 0);
	front_say("nvJitLinkGetLinkedLTOIR is not supported: LTO-IR becomes PTX here");
	return INVALID_INPUT;
}

PUBLIC int nvJitLinkGetLinkedLTOIR(void *handle, void *to);
PUBLIC int nvJitLinkGetLinkedLTOIR(void *handle, void *to)
{
	struct jitlink *j = of(handle);

	return j && j->through ? THEIRS("nvJitLinkGetLinkedLTOIR", j->own, to, 0, 0, 0) : nvJitLinkGetLinkedLTOIRSize(handle, NULL);
}

/* Theirs first, then ours. */
static size_t log_of(const struct jitlink *j, char *to)
{
	const char *ours = ptxlink_log(j->l), *theirs = j->said ? j->said : "";
	size_t a = strlen(theirs), b = strlen(ours);

	if (to) {
		memcpy(to, theirs, a);
		memcpy(to + a, ours, b + 1);
	}
	return a + b ? a + b + 1 : 0;
}

PUBLIC int nvJitLinkGetErrorLogSize(void *handle, size_t *size);
PUBLIC int nvJitLinkGetErrorLogSize(void *handle, size_t *size)
{
	struct jitlink *j = of(handle);

	if (j && j->through)
		return THEIRS("nvJitLinkGetErrorLogSize", j->own, size, 0, 0, 0);
	if (!j || !size)
		return j ? NULL_INPUT : no_handle(handle);
	*size = log_of(j, NULL);
	return SUCCESS;
}

PUBLIC int nvJitLinkGetErrorLog(void *handle, char *log);
PUBLIC int nvJitLinkGetErrorLog(void *handle, char *log)
{
	struct jitlink *j = of(handle);

	if (j && j->through)
		return THEIRS("nvJitLinkGetErrorLog", j->own, log, 0, 0, 0);
	if (!j || !log)
		return j ? NULL_INPUT : no_handle(handle);
	log_of(j, log);
	return SUCCESS;
}

PUBLIC int nvJitLinkGetInfoLogSize(void *handle, size_t *size);
PUBLIC int nvJitLinkGetInfoLogSize(void *handle, size_t *size)
{
	struct jitlink *j = of(handle);

	if (!j || !size)
		return j ? NULL_INPUT : no_handle(handle);
	if (j->through)
		return THEIRS("nvJitLinkGetInfoLogSize", j->own, size, 0, 0, 0);
	*size = 0;
	return SUCCESS;
}

PUBLIC int nvJitLinkGetInfoLog(void *handle, char *log);
PUBLIC int nvJitLinkGetInfoLog(void *handle, char *log)
{
	struct jitlink *j = of(handle);

	return !j ? INVALID_INPUT : j->through ? THEIRS("nvJitLinkGetInfoLog", j->own, log, 0, 0, 0) : SUCCESS;
}

/* NVIDIA's where it is there: by it callers choose which LTO-IR they make. */
PUBLIC int nvJitLinkVersion(unsigned *major, unsigned *minor);
PUBLIC int nvJitLinkVersion(unsigned *major, unsigned *minor)
{
	if (!major || !minor)
		return NULL_INPUT;
	if (find("nvJitLinkVersion"))
		return THEIRS("nvJitLinkVersion", major, minor, 0, 0, 0);
	*major = FRONT_MAJOR;
	*minor = FRONT_MAJOR == 13 ? 0 : 9;
	return SUCCESS;
}

/* __nvJitLinkCreate_12_4 and its like: the header's inline functions call those of its own version. */
#define NAMED(call, minor) \
	__asm__(".globl __" #call "_" TEXT(FRONT_MAJOR) "_" #minor "\n.set __" #call "_" TEXT(FRONT_MAJOR) "_" #minor ", " #call);
#define EACH(call) NAMED(call, 0) NAMED(call, 1) NAMED(call, 2) NAMED(call, 3) NAMED(call, 4) NAMED(call, 5) NAMED(call, 6) \
	NAMED(call, 7) NAMED(call, 8) NAMED(call, 9)
EACH(nvJitLinkCreate)
EACH(nvJitLinkDestroy)
EACH(nvJitLinkAddData)
EACH(nvJitLinkAddFile)
EACH(nvJitLinkComplete)
EACH(nvJitLinkGetLinkedCubinSize)
EACH(nvJitLinkGetLinkedCubin)
EACH(nvJitLinkGetLinkedPtxSize)
EACH(nvJitLinkGetLinkedPtx)
EACH(nvJitLinkGetLinkedLTOIRSize)
EACH(nvJitLinkGetLinkedLTOIR)
EACH(nvJitLinkGetErrorLogSize)
EACH(nvJitLinkGetErrorLog)
EACH(nvJitLinkGetInfoLogSize)
EACH(nvJitLinkGetInfoLog)
