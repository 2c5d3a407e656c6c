/* SPDX-License-Identifier: MIT */
/* The probe of NVRTC and nvJitLink, which need no GPU: what they answer to right and wrong calls; see probe.h. Both are opened by name. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "probe.h"

static const char *const rtc_names[] = { "SUCCESS", "OUT_OF_MEMORY", "PROGRAM_CREATION_FAILURE", "INVALID_INPUT", "INVALID_PROGRAM", "INVALID_OPTION", "COMPILATION",
	"BUILTIN_OPERATION_FAILURE", "NO_NAME_EXPRESSIONS_AFTER_COMPILATION", "NO_LOWERED_NAMES_BEFORE_COMPILATION", "NAME_EXPRESSION_NOT_VALID", "INTERNAL_ERROR" };
static const char *const link_names[] = { "SUCCESS", "ERROR_UNRECOGNIZED_OPTION", "ERROR_MISSING_ARCH", "ERROR_INVALID_INPUT", "ERROR_PTX_COMPILE", "ERROR_NVVM_COMPILE",
	"ERROR_INTERNAL", "ERROR_THREADPOOL", "ERROR_UNRECOGNIZED_INPUT", "ERROR_FINALIZE", "ERROR_NULL_INPUT", "ERROR_INCOMPATIBLE_OPTIONS",
	"ERROR_INCORRECT_INPUT_TYPE", "ERROR_ARCH_MISMATCH", "ERROR_OUTDATED_LIBRARY", "ERROR_MISSING_FATBIN" };
static int linking;

const char *result_name(int r)
{
	if (r < 0 || (size_t)r >= (linking ? NEL(link_names) : NEL(rtc_names)))
		return NULL;
	return linking ? link_names[r] : rtc_names[r];
}

typedef void *prog_t;
#define CALLS(X) \
	X(nvrtcVersion, (int *, int *)) X(nvrtcGetNumSupportedArchs, (int *)) X(nvrtcGetSupportedArchs, (int *)) \
	X(nvrtcCreateProgram, (prog_t *, const char *, const char *, int, const char *const *, const char *const *)) X(nvrtcDestroyProgram, (prog_t *)) \
	X(nvrtcCompileProgram, (prog_t, int, const char *const *)) X(nvrtcGetPTXSize, (prog_t, size_t *)) X(nvrtcGetPTX, (prog_t, char *)) \
	X(nvrtcGetCUBINSize, (prog_t, size_t *)) X(nvrtcGetCUBIN, (prog_t, char *)) X(nvrtcGetLTOIRSize, (prog_t, size_t *)) \
	X(nvrtcGetProgramLogSize, (prog_t, size_t *)) X(nvrtcGetProgramLog, (prog_t, char *)) X(nvrtcAddNameExpression, (prog_t, const char *)) \
	X(nvrtcGetLoweredName, (prog_t, const char *, const char **))
#define LINK_CALLS(X) \
	X(nvJitLinkCreate, (prog_t *, unsigned, const char **)) X(nvJitLinkDestroy, (prog_t *)) X(nvJitLinkAddData, (prog_t, int, const void *, size_t, const char *)) \
	X(nvJitLinkAddFile, (prog_t, int, const char *)) X(nvJitLinkComplete, (prog_t)) X(nvJitLinkGetLinkedCubinSize, (prog_t, size_t *)) \
	X(nvJitLinkGetLinkedCubin, (prog_t, void *)) X(nvJitLinkGetLinkedPtxSize, (prog_t, size_t *)) X(nvJitLinkGetErrorLogSize, (prog_t, size_t *)) \
	X(nvJitLinkGetErrorLog, (prog_t, char *)) X(nvJitLinkGetInfoLogSize, (prog_t, size_t *)) X(nvJitLinkGetInfoLog, (prog_t, char *)) X(nvJitLinkVersion, (unsigned *, unsigned *))
#define X(name, types) static int (*name) types;
CALLS(X) LINK_CALLS(X)
#undef X

static void rtc(void)
{
	void *l = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_GLOBAL);

#define X(name, types) *(void **)&name = l ? dlsym(l, #name) : NULL;
	CALLS(X)
	linking = 0;
	in_start = 0;
	if (!l)
		say("[start] %s\n", dlerror());
}

static void jitlink(void)
{
	void *l = dlopen("libnvJitLink.so.13", RTLD_NOW | RTLD_GLOBAL);

	LINK_CALLS(X)
#undef X
	linking = 1;
	in_start = 0;
	if (!l)
		say("[start] %s\n", dlerror());
}

static const char source[] =
	"template<typename T> __global__ void k(T *p) { *p = T(1); }\n"
	"extern \"C\" __global__ void plain(int *p) { *p = 2; }\n"
	"namespace n { __global__ void inside(float) { } }\n"
	"__constant__ int c[4];\n__device__ double d;\n";

static prog_t made(const char *text)
{
	prog_t p = NULL;
	int r = nvrtcCreateProgram(&p, text, "test.cu", 0, NULL, NULL);

	if (r)
		say("[start] not made: %d\n", r);
	return p;
}

static void g_rtc_life(void)
{
	prog_t p = NULL, none = NULL;
	int a = -7, b = -7, archs[64], rising = 1;
	const char *text = "", *name = "a.h", *nothing = NULL;

	rtc();
	RV(nvrtcVersion(&a, &b), "major %d", a);
	R(nvrtcVersion(NULL, &b));
	R(nvrtcVersion(&a, NULL));
	RV(nvrtcGetNumSupportedArchs(&a), "some %d", a > 4);
	R(nvrtcGetNumSupportedArchs(NULL));
	R(nvrtcGetSupportedArchs(NULL));
	if (a > 0 && a <= 64 && go("nvrtcGetSupportedArchs")) {
		came(nvrtcGetSupportedArchs(archs));
		for (int i = 1; i < a; i++)
			rising &= archs[i] > archs[i - 1];
		say(" rising %d\n", rising);
	}
	R(nvrtcCreateProgram(NULL, source, "x", 0, NULL, NULL));
	R(nvrtcCreateProgram(&p, NULL, "x", 0, NULL, NULL));
	R(nvrtcCreateProgram(&p, source, NULL, 0, NULL, NULL));
	R(nvrtcCreateProgram(&p, source, "", 0, NULL, NULL));
	R(nvrtcCreateProgram(&p, "", "x", 0, NULL, NULL));
	R(nvrtcCreateProgram(&p, source, "x", -1, NULL, NULL));
	R(nvrtcCreateProgram(&p, source, "x", 1, NULL, &name));
	R(nvrtcCreateProgram(&p, source, "x", 1, &text, NULL));
	R(nvrtcCreateProgram(&p, source, "x", 1, &text, &name));
	R(nvrtcCreateProgram(&p, source, "x", 0, &text, &name));
	(void)nothing;
	R(nvrtcDestroyProgram(NULL));
	R(nvrtcDestroyProgram(&none));
	RV(nvrtcDestroyProgram(&p), "%s", p ? "still set" : "null");
	R(nvrtcDestroyProgram(&p));
	R(nvrtcCompileProgram(NULL, 0, NULL));
	R(nvrtcGetPTXSize(NULL, NULL));
	R(nvrtcGetProgramLogSize(NULL, NULL));
	R(nvrtcAddNameExpression(NULL, "k"));
	R(nvrtcGetLoweredName(NULL, "k", &text));
}

static void sizes(prog_t p)
{
	size_t n;
	char *t;

	n = 77;
	RV(nvrtcGetPTXSize(p, &n), "%s", n > 1 ? "text" : n ? "one" : "none");
	if (n > 1 && n < 1 << 24 && n != 77 && (t = malloc(n + 1)) != NULL) {
		t[n] = 'x';
		RV(nvrtcGetPTX(p, t), "ends %d, length %d, .version %d", t[n - 1], strlen(t) == n - 1, strstr(t, ".version") != NULL);
		SAY("behind it %c", t[n]);
		free(t);
	}
	R(nvrtcGetPTX(p, NULL));
	R(nvrtcGetPTXSize(p, NULL));
	n = 77;
	RV(nvrtcGetCUBINSize(p, &n), "%s", n > 1 ? "some" : n ? "one" : "none");
	R(nvrtcGetCUBINSize(p, NULL));
	R(nvrtcGetCUBIN(p, NULL));
	n = 77;
	RV(nvrtcGetProgramLogSize(p, &n), "%s", n > 1 ? "text" : n ? "one" : "none");
	if (n && n < 1 << 24 && n != 77 && (t = malloc(n + 1)) != NULL) {
		memset(t, 'x', n + 1);
		RV(nvrtcGetProgramLog(p, t), "length %d", strlen(t) == n - 1);
		free(t);
	}
	R(nvrtcGetProgramLogSize(p, NULL));
	R(nvrtcGetProgramLog(p, NULL));
}

static void g_rtc_results(void)
{
	static const char *const o[] = { "--gpu-architecture=compute_90" }, *const real[] = { "--gpu-architecture=sm_90" };
	static const struct { const char *name, *text; } bad[] = { { "a syntax error", "__global__ void k( { }" }, { "an unknown name", "__global__ void k() { x = 1; }" },
		{ "an error of #error", "#error here\n" }, { "no such header", "#include <nothing.h>\n" }, { "nothing at all", "" }, { "a warning", "__global__ void k() { int unused; }\n" } };
	prog_t p;

	rtc();
	tag("before it is compiled");
	p = made(source);
	sizes(p);
	tag("compiled");
	R(nvrtcCompileProgram(p, 1, o));
	sizes(p);
	tag("compiled again");
	R(nvrtcCompileProgram(p, 1, o));
	tag("for a machine");
	p = made(source);
	R(nvrtcCompileProgram(p, 1, real));
	sizes(p);
	tag("no options");
	p = made(source);
	R(nvrtcCompileProgram(p, 0, NULL));
	sizes(p);
	for (size_t i = 0; i < NEL(bad); i++) {
		tag("%s", bad[i].name);
		p = made(bad[i].text);
		R(nvrtcCompileProgram(p, 1, o));
		sizes(p);
		R(nvrtcDestroyProgram(&p));
	}
	tag("wrong calls");
	p = made(source);
	R(nvrtcCompileProgram(p, -1, o));
	R(nvrtcCompileProgram(p, 1, NULL));
	R(nvrtcCompileProgram(p, 0, o));
}

static void g_rtc_names(void)
{
	static const char *const o[] = { "--gpu-architecture=compute_90" };
	static const char *const e[] = { "k<int>", "k<float>", "&k<double>", " k< char > ", "plain", "n::inside", "&n::inside", "(n::inside)", "c", "&c", "&d" };
	static const char *const wrong[] = { "nothing", "k<int", "k", "", "1 + 1", "k<nothing>" };
	const char *low = NULL;
	prog_t p;

	rtc();
	p = made(source);
	for (size_t i = 0; i < NEL(e); i++) {
		tag("%s", e[i]);
		R(nvrtcAddNameExpression(p, e[i]));
	}
	tag("%s", "");
	R(nvrtcAddNameExpression(p, "k<int>"));
	R(nvrtcAddNameExpression(p, NULL));
	R(nvrtcGetLoweredName(p, "k<int>", &low));
	R(nvrtcCompileProgram(p, 1, o));
	for (size_t i = 0; i < NEL(e); i++) {
		tag("%s", e[i]);
		low = NULL;
		RV(nvrtcGetLoweredName(p, e[i], &low), "%s", low ? low : "null");
	}
	tag("afterwards");
	R(nvrtcGetLoweredName(p, "k<short>", &low));
	R(nvrtcGetLoweredName(p, "k< int >", &low));
	R(nvrtcGetLoweredName(p, NULL, &low));
	R(nvrtcGetLoweredName(p, "k<int>", NULL));
	R(nvrtcAddNameExpression(p, "k<short>"));
	for (size_t i = 0; i < NEL(wrong); i++) {
		tag("\"%s\"", wrong[i]);
		p = made(source);
		R(nvrtcAddNameExpression(p, wrong[i]));
		R(nvrtcCompileProgram(p, 1, o));
		R(nvrtcGetLoweredName(p, wrong[i], &low));
		R(nvrtcDestroyProgram(&p));
	}
	tag("none asked for");
	p = made(source);
	R(nvrtcCompileProgram(p, 1, o));
	R(nvrtcGetLoweredName(p, "plain", &low));
}

static void g_rtc_options(void)
{
	static const char *const one[] = { "--gpu-architecture=compute_75", "-arch=compute_80", "-arch=sm_80", "--gpu-architecture=sm_90a", "-arch=compute_90a", "--gpu-architecture=compute_20", "-arch=compute_999", "-arch=",
		"-arch=nonsense", "-arch", "--gpu-architecture", "--std=c++17", "-std=c++14", "-std=c++20", "--std=c++98", "--std=gnu++17", "--std=", "-std", "-DX", "-DX=1", "-D", "--define-macro=X=2", "-UX", "-U", "--undefine-macro=X",
		"-I/tmp", "-I", "--include-path=/nonexistent", "-rdc=true", "-rdc=false", "--relocatable-device-code=maybe", "-dc", "--device-c", "-dw", "-G", "--device-debug", "-lineinfo", "--generate-line-info", "--use_fast_math", "-use_fast_math",
		"--use-fast-math", "-fmad=false", "--fmad=true", "--fmad=0", "-ftz=true", "--prec-div=false", "--prec-sqrt=false", "--maxrregcount=32", "--maxrregcount=abc", "-maxrregcount=32", "-w", "--disable-warnings", "-nonsense", "nonsense", "",
		"--nonsense=1", "--restrict", "-restrict", "-default-device", "--device-as-default-execution-space", "-O3", "-Xptxas", "--ptxas-options=-v", "--extra-device-vectorization", "--builtin-move-forward=true", "--dopt=on", "--dopt=off", "--version-ident=true",
		"--display-error-number", "-err-no", "--no-display-error-number", "--no-source-include", "--diag-suppress=177", "--diag-error=177", "-diag-suppress=177", "--minimal", "-include=nothing.h", "--pre-include=nothing.h", "-ewp", "--extensible-whole-program",
		"-optix-ir", "-dlto", "--dlink-time-opt", "--modify-stack-limit=false", "-hls=auto", "--brief-diagnostics=true", "--device-int128", "--time=-", "--split-compile=2", "--fdevice-time-trace=/dev/null", " --std=c++17", "--std=c++17 " };
	static const char *const two[][2] = { { "-arch", "compute_80" }, { "--gpu-architecture", "sm_80" }, { "-std", "c++17" }, { "-D", "X=1" }, { "-I", "/tmp" }, { "--maxrregcount", "32" }, { "-arch=compute_80", "-arch=compute_90" },
		{ "--std=c++14", "--std=c++17" }, { "-D X", "-DY" }, { "-rdc", "true" }, { "-Xptxas", "-v" }, { "-fmad", "false" }, { "-arch=sm_80", "-G" } };
	size_t n;
	prog_t p;

	rtc();
	for (size_t i = 0; i < NEL(one); i++) {
		tag("%s", one[i]);
		p = made(source);
		n = 0;
		R(nvrtcCompileProgram(p, 1, &one[i]));
		RV(nvrtcGetProgramLogSize(p, &n), "%s", n > 1 ? "text" : "none");
		nvrtcDestroyProgram(&p);
	}
	for (size_t i = 0; i < NEL(two); i++) {
		tag("%s and %s", two[i][0], two[i][1]);
		p = made(source);
		R(nvrtcCompileProgram(p, 2, two[i]));
		nvrtcDestroyProgram(&p);
	}
}

static void g_rtc_headers(void)
{
	static const char *const text[] = { "#define SIX 6\n", "#include \"a.h\"\n" }, *const name[] = { "a.h", "dir/b.h" };
	static const char *const o[] = { "--gpu-architecture=compute_90" };
	static const struct { const char *name, *text; } s[] = { { "quotes", "#include \"a.h\"\nint f() { return SIX; }" }, { "angles", "#include <a.h>\nint f() { return SIX; }" },
		{ "a folder's", "#include \"dir/b.h\"\nint f() { return SIX; }" }, { "not given", "#include \"c.h\"\n" }, { "macros", "#if !defined __CUDACC_RTC__ || !defined __CUDACC__ || !defined __NVCC__\n#error\n#endif\n" },
		{ "arch", "#if __CUDA_ARCH__ != 900\n#error\n#endif\n" }, { "the language", "static_assert(__cplusplus >= 201703L, \"\");" }, { "no library", "#include <vector>\n" },
		{ "types", "__global__ void k(size_t n, uint3 a, dim3 b, float4 c) { }" }, { "half", "#include <cuda_fp16.h>\n__global__ void k(__half *p) { *p = __float2half(1.f); }" },
		{ "assert", "#include <assert.h>\n__global__ void k(int n) { assert(n); }" }, { "printf", "__global__ void k(int n) { printf(\"%d\", n); }" }, { "a host function", "int main() { return 0; }" },
		{ "host code called", "__host__ int h(); __global__ void k(int *p) { *p = h(); }" }, { "a launch", "__global__ void a(); void f() { a<<<1, 1>>>(); }" } };

	rtc();
	for (size_t i = 0; i < NEL(s); i++) {
		prog_t p = NULL;

		tag("%s", s[i].name);
		R(nvrtcCreateProgram(&p, s[i].text, "t.cu", 2, text, name));
		R(nvrtcCompileProgram(p, 1, o));
		nvrtcDestroyProgram(&p);
	}
}

static const char ptx[] = ".version 7.8\n.target sm_75\n.address_size 64\n.extern .func (.param .u32 r) far ();\n.visible .entry caller(.param .u64 p) {\n"
	".reg .u32 %r; .reg .u64 %p; { .param .u32 r; call (r), far, (); ld.param.u32 %r, [r]; } ld.param.u64 %p, [p]; st.u32 [%p], %r; ret; }\n";
static const char ptx_far[] = ".version 7.8\n.target sm_75\n.address_size 64\n.visible .func (.param .u32 r) far () { .reg .u32 %r; mov.u32 %r, 7; st.param.u32 [r], %r; ret; }\n";
static const char ptx_alone[] = ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry alone() { ret; }\n";

static prog_t linker(void)
{
	const char *o = "-arch=sm_80";
	prog_t p = NULL;

	nvJitLinkCreate(&p, 1, &o);
	return p;
}

static void results(prog_t p)
{
	size_t n = 77;
	char t[8192];

	RV(nvJitLinkGetLinkedCubinSize(p, &n), "%s", n ? "some" : "none");
	n = 77;
	RV(nvJitLinkGetErrorLogSize(p, &n), "%s", n > 1 ? "text" : n ? "one" : "none");
	if (n && n < sizeof t) {
		memset(t, 'x', sizeof t);
		RV(nvJitLinkGetErrorLog(p, t), "length %d", strnlen(t, sizeof t) == n - 1);
	}
	n = 77;
	RV(nvJitLinkGetInfoLogSize(p, &n), "%s", n > 1 ? "text" : n ? "one" : "none");
}

static void g_link_options(void)
{
	static const char *const one[] = { "-arch=sm_80", "-arch=compute_80", "-arch=sm_90a", "-arch=sm_20", "-arch=sm_999", "-arch=", "-arch", "arch=sm_80", "--arch=sm_80", "-arch=nonsense", "", "-lto", "-O3" };
	static const char *const with[] = { "-O0", "-O3", "-O4", "-O", "-g", "-lineinfo", "-lto", "-ptx", "-maxrregcount=32", "-maxrregcount=abc", "-time", "-verbose", "-ftz=1", "-ftz=true", "-prec-div=0", "-prec-sqrt=1", "-fma=1", "-fma=2", "-kernels-used=k",
		"-variables-used=v", "-optimize-unused-variables", "-Xptxas=-v", "-Xptxas", "-Xnvvm=-x", "-split-compile=2", "-split-compile=x", "-split-compile-extended=0", "-jump-table-density=1", "-no-cache", "-device-stack-protector=1", "-nonsense", "nonsense", "--lto", " -O3",
		"-arch=sm_90", "-cta=1", "-debug" };
	unsigned a = 7, b = 7;
	prog_t p;
	const char *o[2] = { "-arch=sm_80" };

	jitlink();
	RV(nvJitLinkVersion(&a, &b), "major %u", a);
	R(nvJitLinkVersion(NULL, &b));
	R(nvJitLinkVersion(&a, NULL));
	R(nvJitLinkCreate(NULL, 1, o));
	R(nvJitLinkCreate(&p, 0, NULL));
	R(nvJitLinkCreate(&p, 1, NULL));
	for (size_t i = 0; i < NEL(one); i++) {
		tag("%s", one[i]);
		p = NULL;
		RV(nvJitLinkCreate(&p, 1, (const char **)&one[i]), "%s", p ? "set" : "null");
	}
	for (size_t i = 0; i < NEL(with); i++) {
		tag("with %s", with[i]);
		o[1] = with[i];
		R(nvJitLinkCreate(&p, 2, o));
	}
	tag("%s", "");
	p = NULL;
	R(nvJitLinkDestroy(NULL));
	R(nvJitLinkDestroy(&p));
	p = linker();
	RV(nvJitLinkDestroy(&p), "%s", p ? "still set" : "null");
}

static void g_link_inputs(void)
{
	static const char junk[] = "this is nothing";
	size_t n = 7;
	prog_t p;

	jitlink();
	for (int t = -1; t < 12; t++) {
		tag("type %d", t);
		p = linker();
		R(nvJitLinkAddData(p, t, junk, sizeof junk, "junk"));
		R(nvJitLinkComplete(p));
		results(p);
		p = linker();
		R(nvJitLinkAddData(p, t, ptx_alone, sizeof ptx_alone, "alone"));
		R(nvJitLinkComplete(p));
		p = linker();
		R(nvJitLinkAddData(p, t, NULL, 0, "null"));
		R(nvJitLinkAddFile(p, t, "/nonexistent"));
		R(nvJitLinkAddFile(p, t, NULL));
	}
	tag("%s", "");
	R(nvJitLinkAddData(NULL, 2, ptx, sizeof ptx, "x"));
	R(nvJitLinkComplete(NULL));
	R(nvJitLinkGetLinkedCubinSize(NULL, &n));
	R(nvJitLinkGetErrorLogSize(NULL, &n));
	tag("nothing added");
	p = linker();
	results(p);
	R(nvJitLinkComplete(p));
	results(p);
	tag("one that is whole");
	p = linker();
	R(nvJitLinkAddData(p, 2, ptx_alone, sizeof ptx_alone, NULL));
	R(nvJitLinkGetLinkedCubinSize(p, &n));
	R(nvJitLinkComplete(p));
	results(p);
	R(nvJitLinkGetLinkedCubinSize(p, NULL));
	R(nvJitLinkGetLinkedCubin(p, NULL));
	R(nvJitLinkGetErrorLogSize(p, NULL));
	R(nvJitLinkGetLinkedPtxSize(p, &n));
	R(nvJitLinkComplete(p));
	R(nvJitLinkAddData(p, 2, ptx_far, sizeof ptx_far, "later"));
	tag("two");
	p = linker();
	R(nvJitLinkAddData(p, 2, ptx, sizeof ptx, "a"));
	R(nvJitLinkAddData(p, 2, ptx_far, sizeof ptx_far, "b"));
	R(nvJitLinkComplete(p));
	results(p);
	tag("without its NUL");
	p = linker();
	R(nvJitLinkAddData(p, 2, ptx_alone, sizeof ptx_alone - 1, "a"));
	R(nvJitLinkComplete(p));
	tag("one is missing");
	p = linker();
	R(nvJitLinkAddData(p, 2, ptx, sizeof ptx, "a"));
	R(nvJitLinkComplete(p));
	results(p);
	tag("one is there twice");
	p = linker();
	R(nvJitLinkAddData(p, 2, ptx, sizeof ptx, "a"));
	R(nvJitLinkAddData(p, 2, ptx_far, sizeof ptx_far, "b"));
	R(nvJitLinkAddData(p, 2, ptx_far, sizeof ptx_far, "c"));
	R(nvJitLinkComplete(p));
	results(p);
	tag("PTX of a newer architecture");
	p = linker();
	R(nvJitLinkAddData(p, 2, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n", 73, "a"));
	R(nvJitLinkComplete(p));
	results(p);
}

const struct group groups[] = { { "rtc_life", g_rtc_life }, { "rtc_results", g_rtc_results }, { "rtc_names", g_rtc_names }, { "rtc_options", g_rtc_options }, { "rtc_headers", g_rtc_headers },
	{ "link_options", g_link_options }, { "link_inputs", g_link_inputs }, { NULL, NULL } };
