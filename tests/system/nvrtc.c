/* SPDX-License-Identifier: MIT */
/*
 * A program of NVRTC's calls, whichever library answers them (nvrtc.sh): a template by a name expression, headers of the program's own,
 * options, a log, what is refused; what it compiled runs, as PTX and as what stands in a cubin's place. It prints what it finds.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nvrtcVersion(int *major, int *minor);
int nvrtcGetNumSupportedArchs(int *n);
int nvrtcGetSupportedArchs(int *archs);
int nvrtcCreateProgram(void **p, const char *source, const char *name, int n, const char *const *headers, const char *const *names);
int nvrtcDestroyProgram(void **p);
int nvrtcCompileProgram(void *p, int n, const char *const *options);
int nvrtcAddNameExpression(void *p, const char *e);
int nvrtcGetLoweredName(void *p, const char *e, const char **name);
int nvrtcGetPTXSize(void *p, size_t *n);
int nvrtcGetPTX(void *p, char *to);
int nvrtcGetCUBINSize(void *p, size_t *n);
int nvrtcGetCUBIN(void *p, char *to);
int nvrtcGetProgramLogSize(void *p, size_t *n);
int nvrtcGetProgramLog(void *p, char *to);
const char *nvrtcGetErrorString(int e);

#define CK(e) do { int e_ = (e); if (e_) { printf("%s: %d\n", #e, e_); exit(1); } } while (0)

static const char source[] =
	"typedef long long int int64_t;\n"
	"typedef unsigned char uint8_t;\n"
	"#include \"parts/scale.h\"\n"
	"template <class T> struct Two { T a, b; };\n"
	"template <class T, int N> __global__ void work(T *p, Two<T> by, int64_t n)\n"
	"{\n"
	"	int64_t i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	T held[3] = { T(1), T(2), T(3) };\n"
	"	assert(n > 0);\n"
	"	if (i < n)\n"
	"		p[i] = SCALE * (by.a * i + by.b) + held[i % 3] * N + (T)FROM_OPTION;\n"
	"}\n"
	"namespace far { __device__ int total; __constant__ float table[4]; }\n"
	"extern \"C\" __global__ void plain(float *p) { p[threadIdx.x] = sqrtf((float)threadIdx.x) + far::table[threadIdx.x % 4]; atomicAdd(&far::total, 1); }\n";
static const char scale[] = "#define SCALE 2\n";

static void *program(const char *text, const char *name)
{
	const char *h[] = { scale }, *n[] = { "parts/scale.h" };
	void *p;

	CK(nvrtcCreateProgram(&p, text, name, 1, h, n));
	return p;
}

static char *text_of(void *p, int (*size)(void *, size_t *), int (*get)(void *, char *), size_t *n)
{
	size_t own;
	char *s;

	n = n ? n : &own;
	CK(size(p, n));
	s = malloc(*n + 1);
	CK(get(p, s));
	return s;
}

/* Runs the template's kernel; wrong results. */
static int run(const char *image, const char *name)
{
	struct { float a, b; } by = { 3, 5 };
	CUmodule m;
	CUfunction f;
	CUdeviceptr d;
	long long n = 100;
	void *a[] = { &d, &by, &n };
	float h[128] = { 0 };
	int bad = 0;

	CK(cuModuleLoadData(&m, image));
	CK(cuModuleGetFunction(&f, m, name));
	CK(cuMemAlloc(&d, sizeof(h)));
	CK(cuMemcpyHtoD(d, h, sizeof(h)));
	CK(cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, NULL, a, NULL));
	CK(cuMemcpyDtoH(h, d, sizeof(h)));
	for (int i = 0; i < 128; i++)
		bad += h[i] != (i < 100 ? 2 * (3 * i + 5) + (float)(i % 3 + 1) * 7 + 4 : 0);
	CK(cuMemFree(d));
	CK(cuModuleUnload(m));
	return bad;
}

static void refused(const char *what, const char *text, int n, const char *const *options, const char *said)
{
	void *p = program(text, "refused.cu");
	int e = nvrtcCompileProgram(p, n, options);
	char *log = text_of(p, nvrtcGetProgramLogSize, nvrtcGetProgramLog, NULL);

	printf("%s: %s, the log says it: %d\n", what, nvrtcGetErrorString(e), strstr(log, said) != NULL);
	if (!strstr(log, said))
		printf("%s\n", log);
	free(log);
	CK(nvrtcDestroyProgram(&p));
}

int main(void)
{
	static const char *const names[] = { "work<float, 7>", "&far::total", "&far::table", "plain" };
	const char *options[] = { "-arch", "compute_60", "-DFROM_OPTION=4", "--std=c++14", "-default-device", "--fmad=false", "-lineinfo" };
	const char *real[] = { "--gpu-architecture=sm_60", "-D", "FROM_OPTION=4" }, *bad[] = { "--no-such-option" };
	int major = 0, minor = 0, n = 0, *archs, ordered = 1;
	const char *lowered[4] = { "", "", "", "" }, *none;
	size_t bytes;
	CUcontext c;
	void *p;
	char *ptx;

	CK(nvrtcVersion(&major, &minor));
	printf("version %d\n", major);
	CK(nvrtcGetNumSupportedArchs(&n));
	archs = calloc((size_t)n, sizeof(*archs));
	CK(nvrtcGetSupportedArchs(archs));
	for (int i = 1; i < n; i++)
		ordered &= archs[i] > archs[i - 1];
	printf("architectures in order: %d\n", n > 5 && ordered);
	free(archs);
	CK(cuInit(0));
	CK((cuDevicePrimaryCtxRetain)(&c, 0));
	CK(cuCtxSetCurrent(c));

	p = program(source, "some work.cu");
	for (int i = 0; i < 4; i++)
		CK(nvrtcAddNameExpression(p, names[i]));
	printf("a name before it is compiled: %s\n", nvrtcGetErrorString(nvrtcGetLoweredName(p, names[0], &none)));
	CK(nvrtcCompileProgram(p, 7, options));
	for (int i = 0; i < 4; i++) {
		CK(nvrtcGetLoweredName(p, names[i], &lowered[i]));
		printf("%s is %s\n", names[i], lowered[i]);
	}
	printf("a name that was not asked for: %s\n", nvrtcGetErrorString(nvrtcGetLoweredName(p, "nobody", &none)));
	printf("a name after it was compiled: %s\n", nvrtcGetErrorString(nvrtcAddNameExpression(p, "nobody")));
	ptx = text_of(p, nvrtcGetPTXSize, nvrtcGetPTX, &bytes);
	CK(nvrtcGetCUBINSize(p, &bytes));
	printf("PTX: target sm_60 %d, no names of another's %d, a cubin %d; wrong %d\n", strstr(ptx, ".target sm_60") != NULL, !strstr(ptx, "vgpu_"), bytes != 0,
	       run(ptx, lowered[0]));
	free(ptx);
	CK(nvrtcDestroyProgram(&p));

	p = program(source, NULL);
	CK(nvrtcAddNameExpression(p, names[0]));
	CK(nvrtcCompileProgram(p, 3, real));
	CK(nvrtcGetLoweredName(p, names[0], &lowered[0]));
	ptx = text_of(p, nvrtcGetCUBINSize, nvrtcGetCUBIN, &bytes);
	printf("a cubin: wrong %d\n", run(ptx, lowered[0]));
	free(ptx);
	CK(nvrtcDestroyProgram(&p));

	refused("an error", "__global__ void k(int *p)\n{\n	*p = nothing_of_the_kind;\n}\n", 0, NULL, "refused.cu");
	refused("its place", "__global__ void k(int *p)\n{\n	*p = nothing_of_the_kind;\n}\n", 0, NULL, "nothing_of_the_kind");
	refused("a function of the host's", "int f(int x) { return x; }\n__global__ void k(int *p) { *p = f(*p); }\n", 0, NULL, "__host__");
	refused("a header that is not there", "#include <no_such_header.h>\n", 0, NULL, "no_such_header.h");
	refused("an option that is none", "__global__ void k() {}\n", 1, bad, "--no-such-option");
	p = NULL;
	printf("no program: %s\n", nvrtcGetErrorString(nvrtcCompileProgram(p, 0, NULL)));
	printf("no source: %d\n", nvrtcCreateProgram(&p, NULL, NULL, 0, NULL, NULL) != 0);
	return 0;
}
