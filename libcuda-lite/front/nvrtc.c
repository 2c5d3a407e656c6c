/* SPDX-License-Identifier: MIT */
/*
 * libnvrtc.so.11.2, .12 and .13 in front of NVIDIA's own, which compiles CUDA C++. A real architecture (sm_80) becomes the virtual
 * one (compute_80), so NVIDIA's stops at PTX, and GetCUBIN gives that PTX in a cubin's place (vgpu_cubin.h). LTO-IR is left as
 * it is. Where the device runs machine code (VGPU_CUBINS, of vgpu run on an engine cuda) NVIDIA's makes that. Where NVIDIA's is not installed, or VGPU_NVRTC=clang, clang compiles (clang.h). The ABI is that of NVRTC's public header.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../fw-protocol/vgpu_cubin.h"
#include "../../fw-protocol/vgpu_env.h"
#include "clang.h"
#include "front.h"

#define PUBLIC __attribute__((visibility("default")))
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
/* 11.2's soname was that of all of CUDA 11 from then on. */
#define SONAME (FRONT_MAJOR == 11 ? "libnvrtc.so.11.2" : "libnvrtc.so." TEXT(FRONT_MAJOR))
/* The calls are the same: who asks for libnvrtc.so, as hashcat does, takes what there is. */
#define OTHER (FRONT_MAJOR == 11 ? NULL : FRONT_MAJOR == 13 ? "libnvrtc.so.12" : "libnvrtc.so.13")
#define PACKAGE (FRONT_MAJOR == 13 ? "nvidia-cuda-nvrtc" : "nvidia-cuda-nvrtc-cu" TEXT(FRONT_MAJOR))

#define ALIVE 0x6374726eu
struct program {
	uint32_t alive;
	unsigned target, maxrregcount, relocatable;     /* target 0: virtual, there is no cubin */
	char suffix;
	void *own;                                      /* NVIDIA's, or NULL */
	struct clang *clang;                            /* or NULL */
	char *name, *ptx;
	size_t ptx_bytes;
};

typedef int (*call_fn)(void *a, void *b, void *c, void *d, void *e, void *f);

static void *nvidias;
static int by_clang;

static void *library(void)
{
	static int tried;
	const char *named = vgpu_env("VGPU_NVRTC");

	if (!__atomic_load_n(&tried, __ATOMIC_ACQUIRE)) {       /* twice at once is harmless: dlopen counts */
		int wanted = named && !strcmp(named, "clang");

		nvidias = wanted ? NULL : front_open(SONAME, OTHER, "VGPU_NVRTC");
		wanted |= !named || !*named;
		by_clang = !nvidias && wanted && clang_there();
		if (!nvidias && !by_clang && wanted)
			front_absent(SONAME, "VGPU_NVRTC", PACKAGE, "; or apt install clang");
		__atomic_store_n(&tried, 1, __ATOMIC_RELEASE);
	}
	return nvidias;
}

static int as_it_is(void) { return front_cubins() && library(); }

static call_fn find(const char *name)
{
	void *lib = library(), *p = lib ? front_symbol(lib, name) : NULL;
	call_fn f = NULL;

	if (lib && !p)
		front_say("%s: the %s that is installed does not have it", name, SONAME);
	memcpy(&f, &p, sizeof(f));
	return f;
}
/* A call of theirs; extra arguments are ignored by the callee in the C calling convention. */
#define THEIRS(name, a, b, c, d, e, g) ({ \
	call_fn f_ = find(name); \
	f_ ? f_((void *)(uintptr_t)(a), (void *)(uintptr_t)(b), (void *)(uintptr_t)(c), (void *)(uintptr_t)(d), (void *)(uintptr_t)(e), \
		(void *)(uintptr_t)(g)) : INTERNAL_ERROR; })

static struct program *of(void *prog)
{
	struct program *p = prog;

	return p && p->alive == ALIVE ? p : NULL;
}

static int theirs_alone(const char *name)
{
	front_say("%s: clang has nothing of the kind: pip install %s", name, PACKAGE);
	return INTERNAL_ERROR;
}

/* ---- calls that name no program, and those that are theirs with our program taken off ---- */

#define PLAIN(name) PUBLIC int name(void *a, void *b, void *c, void *d, void *e, void *f); \
	PUBLIC int name(void *a, void *b, void *c, void *d, void *e, void *f) { return THEIRS(#name, a, b, c, d, e, f); }
#define FORWARD(name) PUBLIC int name(void *prog, void *b, void *c); \
	PUBLIC int name(void *prog, void *b, void *c) \
	{ \
		struct program *p = of(prog); \
		return !p ? INVALID_PROGRAM : p->clang ? theirs_alone(#name) : THEIRS(#name, p->own, b, c, 0, 0, 0); \
	}
PLAIN(nvrtcGetPCHHeapSize)
PLAIN(nvrtcSetPCHHeapSize)
PLAIN(nvrtcGetBundledHeadersInfo)
PLAIN(nvrtcInstallBundledHeaders)
PLAIN(nvrtcRemoveBundledHeaders)
FORWARD(nvrtcGetLTOIRSize)
FORWARD(nvrtcGetLTOIR)
FORWARD(nvrtcGetOptiXIRSize)
FORWARD(nvrtcGetOptiXIR)
FORWARD(nvrtcGetNVVMSize)
FORWARD(nvrtcGetNVVM)
FORWARD(nvrtcGetTileIRSize)
FORWARD(nvrtcGetTileIR)
FORWARD(nvrtcGetPCHCreateStatus)
FORWARD(nvrtcGetPCHHeapSizeRequired)
FORWARD(nvrtcSetFlowCallback)

PUBLIC const char *nvrtcGetErrorString(int result);
PUBLIC const char *nvrtcGetErrorString(int result)
{
	static const char *const names[] = { "NVRTC_SUCCESS", "NVRTC_ERROR_OUT_OF_MEMORY", "NVRTC_ERROR_PROGRAM_CREATION_FAILURE", "NVRTC_ERROR_INVALID_INPUT",
		"NVRTC_ERROR_INVALID_PROGRAM", "NVRTC_ERROR_INVALID_OPTION", "NVRTC_ERROR_COMPILATION", "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
		"NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION", "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
		"NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID", "NVRTC_ERROR_INTERNAL_ERROR" };
	const char *(*f)(int) = NULL;
	void *theirs = library(), *p = theirs ? front_symbol(theirs, "nvrtcGetErrorString") : NULL;

	memcpy(&f, &p, sizeof(f));
	if (f)
		return f(result);
	if (result == INTERNAL_ERROR && !by_clang)
		return "NVRTC_ERROR_INTERNAL_ERROR: NVIDIA's NVRTC is not there";
	return result >= 0 && (size_t)result < sizeof(names) / sizeof(names[0]) ? names[result] : "NVRTC_ERROR unknown";
}

/* ---- what clang answers in their place ---- */

PUBLIC int nvrtcVersion(int *major, int *minor);
PUBLIC int nvrtcVersion(int *major, int *minor)
{
	library();
	if (!by_clang)
		return THEIRS("nvrtcVersion", major, minor, 0, 0, 0, 0);
	if (!major || !minor)
		return INVALID_INPUT;
	*major = FRONT_MAJOR;           /* as libcudart beside it says */
	*minor = FRONT_MAJOR == 13 ? 1 : 8;
	return SUCCESS;
}

PUBLIC int nvrtcGetNumSupportedArchs(int *n);
PUBLIC int nvrtcGetNumSupportedArchs(int *n)
{
	library();
	if (!by_clang)
		return THEIRS("nvrtcGetNumSupportedArchs", n, 0, 0, 0, 0, 0);
	return n ? *n = clang_archs(NULL), SUCCESS : INVALID_INPUT;
}

PUBLIC int nvrtcGetSupportedArchs(int *to);
PUBLIC int nvrtcGetSupportedArchs(int *to)
{
	library();
	if (!by_clang)
		return THEIRS("nvrtcGetSupportedArchs", to, 0, 0, 0, 0, 0);
	return to ? clang_archs(to), SUCCESS : INVALID_INPUT;
}

/* Text with its NUL, and its size, by the two calls that there are of each. */
#define GIVEN(what, text) \
	PUBLIC int nvrtcGet##what##Size(void *prog, size_t *size); \
	PUBLIC int nvrtcGet##what##Size(void *prog, size_t *size) \
	{ \
		struct program *p = of(prog); \
		if (!p) \
			return INVALID_PROGRAM; \
		if (!p->clang) \
			return THEIRS("nvrtcGet" #what "Size", p->own, size, 0, 0, 0, 0); \
		return size ? *size = strlen(text(p->clang)) + 1, SUCCESS : INVALID_INPUT; \
	} \
	PUBLIC int nvrtcGet##what(void *prog, char *to); \
	PUBLIC int nvrtcGet##what(void *prog, char *to) \
	{ \
		struct program *p = of(prog); \
		if (!p) \
			return INVALID_PROGRAM; \
		if (!p->clang) \
			return THEIRS("nvrtcGet" #what, p->own, to, 0, 0, 0, 0); \
		return to ? strcpy(to, text(p->clang)), SUCCESS : INVALID_INPUT; \
	}
GIVEN(PTX, clang_ptx)
GIVEN(ProgramLog, clang_log)

PUBLIC int nvrtcAddNameExpression(void *prog, const char *expression);
PUBLIC int nvrtcAddNameExpression(void *prog, const char *expression)
{
	struct program *p = of(prog);

	return !p ? INVALID_PROGRAM : p->clang ? clang_add_name(p->clang, expression) : THEIRS("nvrtcAddNameExpression", p->own, expression, 0, 0, 0, 0);
}

PUBLIC int nvrtcGetLoweredName(void *prog, const char *expression, const char **lowered);
PUBLIC int nvrtcGetLoweredName(void *prog, const char *expression, const char **lowered)
{
	struct program *p = of(prog);

	return !p ? INVALID_PROGRAM : p->clang ? clang_lowered(p->clang, expression, lowered) :
		THEIRS("nvrtcGetLoweredName", p->own, expression, lowered, 0, 0, 0);
}

/* ---- a program's life ---- */

PUBLIC int nvrtcCreateProgram(void **prog, const char *src, const char *name, int n, const char *const *headers, const char *const *names);
PUBLIC int nvrtcCreateProgram(void **prog, const char *src, const char *name, int n, const char *const *headers, const char *const *names)
{
	struct program *p;
	int err;

	if (!prog)
		return INVALID_PROGRAM;
	p = calloc(1, sizeof(*p));
	if (!p)
		return OUT_OF_MEMORY;
	library();
	err = by_clang ? clang_create(&p->clang, src, name, n, headers, names) : THEIRS("nvrtcCreateProgram", &p->own, src, name, n, headers, names);
	if (err) {
		free(p);
		return err;
	}
	p->alive = ALIVE;
	p->name = strdup(name && *name ? name : "default_program");
	*prog = p;
	return SUCCESS;
}

PUBLIC int nvrtcDestroyProgram(void **prog);
PUBLIC int nvrtcDestroyProgram(void **prog)
{
	struct program *p = prog ? of(*prog) : NULL;
	int err = SUCCESS;

	if (!p)
		return INVALID_PROGRAM;
	if (p->clang)
		clang_destroy(p->clang);
	else
		err = THEIRS("nvrtcDestroyProgram", &p->own, 0, 0, 0, 0, 0);
	p->alive = 0;
	free(p->name);
	free(p->ptx);
	free(p);
	*prog = NULL;
	return err;
}

/* What stands behind "--name=" or, in a word of its own, behind "--name"; NULL: another option. */
static const char *value_of(const char *const *o, int n, int *i, const char *name, const char *brief)
{
	const char *const names[] = { name, brief };

	for (int k = 0; k < 2; k++) {
		size_t len = names[k] ? strlen(names[k]) : 0;

		if (!len || strncmp(o[*i], names[k], len))
			continue;
		if (o[*i][len] == '=')
			return o[*i] + len + 1;
		if (!o[*i][len] && *i + 1 < n)
			return o[++*i];
	}
	return NULL;
}

static int is(const char *o, const char *a, const char *b)
{
	return !strcmp(o, a) || !strcmp(o, b);
}

static int yes(const char *v)
{
	return v && strcmp(v, "false");
}

PUBLIC int nvrtcCompileProgram(void *prog, int n, const char *const *options);
PUBLIC int nvrtcCompileProgram(void *prog, int n, const char *const *options)
{
	struct program *p = of(prog);
	const char **o, *v;
	char arch[64] = "", include[FRONT_PATH + 16];
	int lto = 0, k = 0, err;

	if (!p)
		return INVALID_PROGRAM;
	if (n < 0)
		return INVALID_INPUT;
	if (n && !options)
		return INVALID_OPTION;
	o = calloc((size_t)n + 2, sizeof(*o));
	if (!o)
		return OUT_OF_MEMORY;
	free(p->ptx);
	p->ptx = NULL;
	p->target = p->maxrregcount = p->relocatable = 0;
	for (int i = 0; i < n; i++)
		lto |= options[i] && (is(options[i], "-dlto", "--dlink-time-opt") || !strncmp(options[i], "--gen-opt-lto", 13));
	for (int i = 0; i < n; i++) {
		int first = i;

		if (!options[i])
			continue;
		v = value_of(options, n, &i, "--gpu-architecture", "-arch");
		if (v && !strncmp(v, "sm_", 3) && !lto && !as_it_is()) {
			p->target = front_arch(v, &p->suffix);
			snprintf(arch, sizeof(arch), "--gpu-architecture=compute_%.32s", v + 3);
			o[k++] = arch;
			continue;
		}
		if (!v && (v = value_of(options, n, &i, "--maxrregcount", "-maxrregcount")) != NULL)
			p->maxrregcount = (unsigned)strtoul(v, NULL, 10);
		if (is(options[first], "-dc", "--device-c") || (!v && yes(value_of(options, n, &i, "--relocatable-device-code", "-rdc"))))
			p->relocatable = 1;
		while (first <= i)
			o[k++] = options[first++];
	}
	/* last: where a program names folders of its own, those come first; many know of no wheel's */
	if (front_headers()) {
		snprintf(include, sizeof(include), "--include-path=%s", front_headers());
		o[k++] = include;
	}
	err = p->clang ? clang_compile(p->clang, k, o) : THEIRS("nvrtcCompileProgram", p->own, k, o, 0, 0, 0);
	free(o);
	if (err || !p->target)
		return err;
	err = nvrtcGetPTXSize(p, &p->ptx_bytes);
	if (err)
		return err;
	p->ptx = malloc(p->ptx_bytes + 1);
	if (!p->ptx)
		return OUT_OF_MEMORY;
	err = nvrtcGetPTX(p, p->ptx);
	p->ptx[p->ptx_bytes] = 0;
	p->ptx_bytes = strlen(p->ptx);
	return err;
}

static uint64_t cubin(const struct program *p, void *to, uint64_t room)
{
	struct vgpu_cubin c = { .target = p->target, .suffix = p->suffix, .maxrregcount = p->maxrregcount, .relocatable = p->relocatable,
				.name = p->name, .ptx = p->ptx, .ptx_bytes = p->ptx_bytes };

	return vgpu_cubin_write(&c, to, room);
}

PUBLIC int nvrtcGetCUBINSize(void *prog, size_t *size);
PUBLIC int nvrtcGetCUBINSize(void *prog, size_t *size)
{
	struct program *p = of(prog);

	if (!p)
		return INVALID_PROGRAM;
	if (as_it_is())
		return THEIRS("nvrtcGetCUBINSize", p->own, size, 0, 0, 0, 0);
	if (!size)
		return INVALID_INPUT;
	*size = p->ptx ? cubin(p, NULL, 0) : 0;
	return SUCCESS;
}

PUBLIC int nvrtcGetCUBIN(void *prog, char *to);
PUBLIC int nvrtcGetCUBIN(void *prog, char *to)
{
	struct program *p = of(prog);

	if (!p)
		return INVALID_PROGRAM;
	if (as_it_is())
		return THEIRS("nvrtcGetCUBIN", p->own, to, 0, 0, 0, 0);
	if (!to || !p->ptx)
		return INVALID_INPUT;
	cubin(p, to, UINT64_MAX);
	return SUCCESS;
}
