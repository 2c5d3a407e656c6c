/* SPDX-License-Identifier: MIT */
/* The driver probe: modules, libraries, the linker, functions, occupancy. */
#include "driver.h"

static const char *const images[] = {
	"", " ", "junk", ".version 8.0\n", ".version 8.0\n.target sm_90\n", ".version 8.0\n.target sm_90\n.address_size 64\n",
	".version 99.9\n.target sm_90\n.address_size 64\n", ".version 8.0\n.target sm_999\n.address_size 64\n",
	".version 8.0\n.target sm_100\n.address_size 64\n", ".version 8.0\n.target sm_90\n.address_size 32\n",
	".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() { ret; }\n",
	".version 7.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n",
	".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry k() { ret; }\n",
	".version 4.0\n.target sm_20\n.address_size 64\n.visible .entry k() { ret; }\n",
	".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { nonsense.u32 %r1; ret; }\n",
	".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { mov.u32 %r1, 0; ret; }\n",
	".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; \n",
	".version 8.0\n.target sm_90\n.address_size 64\n.extern .func missing();\n.visible .entry k() { call missing; ret; }\n",
	".version 8.0\n.target sm_90\n.address_size 64\n.extern .global .u32 missing;\n.visible .entry k() { .reg .u32 %x; ld.global.u32 %x, [missing]; st.global.u32 [missing], %x; ret; }\n",
	".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n.visible .entry k() { ret; }\n",
	".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { .shared .b8 s[60000]; .reg .u32 %x; mov.u32 %x, 1; st.volatile.shared.u32 [s], %x; ret; }\n",
	".version 8.0\n.target sm_90\n.address_size 64\n.const .b8 c[70000];\n.visible .entry k() { .reg .u32 %x; ld.const.u32 %x, [c]; ret; }\n",
	"\x7f" "ELF", "\x7f" "ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\276\0\1\0\0\0\0\0\0\0\0\0\0\0", "\x50\xed\x55\xba\1\0\x10\0\0\0\0\0\0\0\0\0",
	"\x50\xed\x55\xba\1\0\x10\0\x40\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "!<arch>\n", "BC\xc0\xde",
};

GROUP(modules)
{
	CUmodule m = NULL, m2 = NULL;
	CUfunction f = NULL, f2 = NULL, fs[40];
	CUdeviceptr p = 0;
	size_t z = 7;
	unsigned int n = 7;
	static char info[4096], error[4096], image[4096];
	CUmoduleLoadingMode lm = 7;
	char path[] = "/tmp/vgpu-probe-XXXXXX";
	int fd;

	start();
	for (size_t i = 0; i < NEL(images); i++) {
		memset(image, 0, sizeof image);
		memcpy(image, images[i], strlen(images[i]) < 16 ? 16 : strlen(images[i]) + 1);
		tag("image %zu", i);
		R(cuModuleLoadData(&m, image));
		memset(error, 0, sizeof error);
		if (go("cuModuleLoadDataEx with logs")) {
			CUjit_option o[] = { CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
			void *v[] = { info, P(sizeof info), error, P(sizeof error) };

			came(cuModuleLoadDataEx(&m, image, 4, o, v));
			say(" error log %s, its size out %s\n", *error ? "written" : "empty", v[3] == P(strlen(error)) ? "the length" :
			    v[3] == P(strlen(error) + 1) ? "the length and 1" : v[3] == P(sizeof error) ? "as given" : "another");
		}
		R(cuModuleLoadFatBinary(&m, image));
	}
	tag("%s", "");
	R(cuModuleLoadData(NULL, probe_ptx));
	R(cuModuleLoadData(&m, NULL));
	R(cuModuleLoadFatBinary(&m, NULL));
	R(cuModuleLoad(&m, NULL));
	R(cuModuleLoad(&m, ""));
	R(cuModuleLoad(&m, "/nonexistent"));
	R(cuModuleLoad(&m, "/"));
	R(cuModuleLoad(&m, "/dev/null"));
	fd = mkstemp(path);
	if (fd >= 0 && write(fd, probe_ptx, strlen(probe_ptx)) > 0) {
		R(cuModuleLoad(&m, path));
		unlink(path);
	}
	static const struct { int o; size_t v; } opts[] = { { 0, 0 }, { 0, 32 }, { 0, 100000 }, { 1, 0 }, { 1, 256 }, { 1, 5000 }, { 2, 0 }, { 7, 0 }, { 7, 4 },
		{ 7, 5 }, { 7, 99 }, { 8, 0 }, { 9, 90 }, { 9, 80 }, { 9, 5 }, { 9, 999 }, { 10, 0 }, { 10, 1 }, { 10, 7 }, { 11, 1 }, { 12, 1 }, { 13, 1 },
		{ 14, 0 }, { 14, 1 }, { 14, 2 }, { 14, 9 }, { 15, 1 }, { 16, 1 }, { 19, 0 }, { 20, 1 }, { 21, 1 }, { 22, 0 }, { 23, 0 }, { 24, 0 }, { 26, 0 },
		{ 29, 1 }, { 30, 1 }, { 31, 2 }, { 32, 128 }, { 33, 1 }, { 34, 2 }, { 35, 1 }, { 99, 1 } };
	for (size_t i = 0; i < NEL(opts); i++) {
		CUjit_option o = (CUjit_option)opts[i].o;
		void *v = P(opts[i].v);

		tag("option %d = %zu", opts[i].o, opts[i].v);
		R(cuModuleLoadDataEx(&m, probe_ptx, 1, &o, &v));
		if (opts[i].o != 2)
			SAY("value out %s", v == P(opts[i].v) ? "as given" : "changed");
	}
	tag("threads");
	{
		CUjit_option o[2] = { CU_JIT_THREADS_PER_BLOCK, CU_JIT_MAX_REGISTERS };
		void *v[2] = { P(256), P(32) };

		R(cuModuleLoadDataEx(&m, probe_ptx, 2, o, v));
		R(cuModuleLoadDataEx(&m, probe_ptx, 1, o, v));
		SAY("value out %zu", (size_t)v[0]);
		R(cuModuleLoadDataEx(&m, probe_ptx, 1, NULL, v));
		R(cuModuleLoadDataEx(&m, probe_ptx, 1, o, NULL));
		R(cuModuleLoadDataEx(&m, probe_ptx, 0, NULL, NULL));
	}
	tag("%s", "");
	RV(cuModuleLoadData(&m, probe_ptx), "%s", m ? "set" : "null");
	RV(cuModuleLoadData(&m2, probe_ptx), "differs %d", m != m2);
	RV(cuModuleGetFunction(&f, m, "nop"), "%s", f ? "set" : "null");
	RV(cuModuleGetFunction(&f2, m, "nop"), "same %d", f == f2);
	R(cuModuleGetFunction(&f, m, "nothing"));
	SAY("%s", f == f2 ? "untouched" : f ? "changed" : "null");
	R(cuModuleGetFunction(&f, m, "helper"));
	R(cuModuleGetFunction(&f, m, "counter"));
	R(cuModuleGetFunction(&f, m, ""));
	R(cuModuleGetFunction(&f, m, NULL));
	R(cuModuleGetFunction(NULL, m, "nop"));
	R(cuModuleGetFunction(&f, NULL, "nop"));
	RV(cuModuleGetFunctionCount(&n, m), "%u", n);
	R(cuModuleGetFunctionCount(NULL, m));
	R(cuModuleGetFunctionCount(&n, NULL));
	R(cuModuleEnumerateFunctions(fs, 2, m));
	R(cuModuleEnumerateFunctions(fs, 40, m));
	R(cuModuleEnumerateFunctions(fs, 0, m));
	R(cuModuleEnumerateFunctions(NULL, 2, m));
	RV(cuModuleGetGlobal_v2(&p, &z, m, "counter"), "%zu bytes, aligned %d", z, !(p & 3));
	RV(cuModuleGetGlobal_v2(NULL, &z, m, "table"), "%zu", z);
	R(cuModuleGetGlobal_v2(&p, NULL, m, "table"));
	R(cuModuleGetGlobal_v2(NULL, NULL, m, "table"));
	RV(cuModuleGetGlobal_v2(&p, &z, m, "coeff"), "%zu", z);
	RV(cuModuleGetGlobal_v2(&p, &z, m, "shared_one"), "%zu", z);
	R(cuModuleGetGlobal_v2(&p, &z, m, "nothing"));
	R(cuModuleGetGlobal_v2(&p, &z, m, "nop"));
	R(cuModuleGetGlobal_v2(&p, &z, m, ""));
	R(cuModuleGetGlobal_v2(&p, &z, m, NULL));
	R(cuModuleGetGlobal_v2(&p, &z, NULL, "counter"));
	RV(cuModuleGetLoadingMode(&lm), "%d", lm);
	R(cuModuleGetLoadingMode(NULL));
	D(cuModuleGetTexRef, (void *, CUmodule, const char *), (&f, m, "nothing"));
	D(cuModuleGetSurfRef, (void *, CUmodule, const char *), (&f, m, "nothing"));
	R(cuModuleUnload(m2));
	R(cuModuleUnload(m));
	R(cuModuleUnload(NULL));
	R(cuModuleUnload(m));
	R(cuModuleGetFunction(&f, m, "nop"));
	R(cuLaunchKernel(f2, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

GROUP(libraries)
{
	CUlibrary l = NULL, l2 = NULL;
	CUkernel k = NULL, k2 = NULL, ks[40];
	CUfunction f = NULL, f2 = NULL;
	CUmodule m = NULL, m2 = NULL;
	CUdeviceptr p = 0;
	size_t z = 7, o = 7;
	unsigned int n = 7;
	const char *name = NULL;
	int v = -7;
	void *q = NULL;
	static char image[4096];

	start();
	for (size_t i = 0; i < NEL(images); i++) {
		memset(image, 0, sizeof image);
		memcpy(image, images[i], strlen(images[i]) < 16 ? 16 : strlen(images[i]) + 1);
		tag("image %zu", i);
		l2 = NULL;
		R(cuLibraryLoadData(&l2, image, NULL, NULL, 0, NULL, NULL, 0));
		if (l2)
			RV(cuLibraryGetModule(&m, l2), "set %d", !!m);
	}
	tag("%s", "");
	R(cuLibraryLoadData(&l, NULL, NULL, NULL, 0, NULL, NULL, 0));
	R(cuLibraryLoadData(NULL, probe_ptx, NULL, NULL, 0, NULL, NULL, 0));
	R(cuLibraryLoadFromFile(&l, "/nonexistent", NULL, NULL, 0, NULL, NULL, 0));
	R(cuLibraryLoadFromFile(&l, NULL, NULL, NULL, 0, NULL, NULL, 0));
	for (int i = 0; i < 4; i++) {
		CUlibraryOption lo = (CUlibraryOption)i;
		void *lv = P(1);

		tag("library option %d", i);
		if (i)
			R(cuLibraryLoadData(&l, probe_ptx, NULL, NULL, 0, &lo, &lv, 1));
	}
	tag("%s", "");
	RV(cuLibraryLoadData(&l, probe_ptx, NULL, NULL, 0, NULL, NULL, 0), "%s", l ? "set" : "null");
	RV(cuLibraryGetKernelCount(&n, l), "%u", n);
	R(cuLibraryGetKernelCount(NULL, l));
	R(cuLibraryGetKernelCount(&n, NULL));
	RV(cuLibraryEnumerateKernels(ks, 40, l), "first set %d", !!ks[0]);
	R(cuLibraryEnumerateKernels(ks, 1, l));
	R(cuLibraryEnumerateKernels(ks, 0, l));
	R(cuLibraryEnumerateKernels(NULL, 1, l));
	RV(cuLibraryGetKernel(&k, l, "params"), "%s", k ? "set" : "null");
	RV(cuLibraryGetKernel(&k2, l, "params"), "same %d", k == k2);
	R(cuLibraryGetKernel(&k2, l, "nothing"));
	R(cuLibraryGetKernel(&k2, l, NULL));
	R(cuLibraryGetKernel(&k2, l, ""));
	R(cuLibraryGetKernel(NULL, l, "params"));
	R(cuLibraryGetKernel(&k2, NULL, "params"));
	RV(cuLibraryGetModule(&m, l), "%s", m ? "set" : "null");
	RV(cuLibraryGetModule(&m2, l), "same %d", m == m2);
	R(cuLibraryGetModule(NULL, l));
	R(cuLibraryGetModule(&m, NULL));
	R(cuModuleUnload(m));
	RV(cuLibraryGetGlobal(&p, &z, l, "counter"), "%zu", z);
	R(cuLibraryGetGlobal(&p, &z, l, "nothing"));
	R(cuLibraryGetGlobal(&p, &z, l, NULL));
	R(cuLibraryGetGlobal(NULL, &z, l, "counter"));
	R(cuLibraryGetGlobal(&p, NULL, l, "counter"));
	R(cuLibraryGetGlobal(NULL, NULL, l, "counter"));
	RV(cuLibraryGetManaged(&p, &z, l, "shared_one"), "%zu", z);
	R(cuLibraryGetManaged(&p, &z, l, "counter"));
	R(cuLibraryGetManaged(&p, &z, l, "nothing"));
	R(cuLibraryGetGlobal(&p, &z, l, "shared_one"));
	R(cuLibraryGetUnifiedFunction(&q, l, "helper"));
	R(cuLibraryGetUnifiedFunction(&q, l, "nothing"));
	RV(cuKernelGetFunction(&f, k), "%s", f ? "set" : "null");
	RV(cuKernelGetFunction(&f2, k), "same %d", f == f2);
	R(cuKernelGetFunction(&f, NULL));
	R(cuKernelGetFunction(NULL, k));
	RV(cuModuleGetFunction(&f2, m, "params"), "same %d", f == f2);
	RV(cuKernelGetLibrary(&l2, k), "same %d", l == l2);
	R(cuKernelGetLibrary(NULL, k));
	RV(cuKernelGetName(&name, k), "%s", name);
	RV(cuFuncGetName(&name, f), "%s", name);
	R(cuFuncGetName(NULL, f));
	R(cuKernelGetName(NULL, k));
	R(cuKernelGetName(&name, NULL));
	for (int i = -1; i < 18; i++) {
		tag("attribute %d", i);
		v = -7;
		RV(cuKernelGetAttribute(&v, (CUfunction_attribute)i, k, 0), "%s%d", i == 3 || i == 4 || i == 2 ? "~" : "", v);
		R(cuKernelSetAttribute((CUfunction_attribute)i, 1, k, 0));
	}
	tag("%s", "");
	R(cuKernelGetAttribute(&v, 0, k, 9));
	R(cuKernelGetAttribute(&v, 0, NULL, 0));
	R(cuKernelGetAttribute(NULL, 0, k, 0));
	R(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448, k, 0));
	R(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232449, k, 0));
	R(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1, k, 9));
	R(cuKernelSetCacheConfig(k, CU_FUNC_CACHE_PREFER_L1, 0));
	R(cuKernelSetCacheConfig(k, 9, 0));
	R(cuKernelSetCacheConfig(k, 0, 9));
	R(cuKernelSetCacheConfig(NULL, 0, 0));
	for (size_t i = 0; i < 6; i++) {
		tag("parameter %zu", i);
		RV(cuKernelGetParamInfo(k, i, &o, &z), "at %zu, %zu bytes", o, z);
		RV(cuFuncGetParamInfo(f, i, &o, &z), "at %zu, %zu bytes", o, z);
	}
	tag("%s", "");
	R(cuKernelGetParamInfo(k, 0, NULL, &z));
	R(cuKernelGetParamInfo(k, 0, &o, NULL));
	R(cuKernelGetParamInfo(NULL, 0, &o, &z));
	RV(cuKernelGetParamCount(k, &z), "%zu", z);
	RV(cuFuncGetParamCount(f, &z), "%zu", z);
	R(cuKernelGetParamCount(k, NULL));
	R(cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	R(cuLibraryUnload(NULL));
	R(cuLibraryUnload(l));
	R(cuLibraryUnload(l));
	R(cuLibraryGetKernel(&k2, l, "params"));
	R(cuKernelGetFunction(&f, k));
}

GROUP(links)
{
	CUlinkState s = NULL;
	void *cubin = NULL;
	size_t z = 7;
	static char junk[64] = "junk";
	static const char *const callee = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .func far() { ret; }\n";
	static const char *const caller = ".version 8.0\n.target sm_90\n.address_size 64\n.extern .func far();\n.visible .entry k() { call far; ret; }\n";
	CUmodule m = NULL;

	start();
	R(cuLinkCreate_v2(0, NULL, NULL, NULL));
	R(cuLinkCreate_v2(1, NULL, NULL, &s));
	R(cuLinkCreate_v2(0, NULL, NULL, &s));
	for (int t = -1; t < 8; t++) {
		tag("type %d", t);
		R(cuLinkAddData_v2(s, (CUjitInputType)t, junk, sizeof junk, "junk", 0, NULL, NULL));
		R(cuLinkAddData_v2(s, (CUjitInputType)t, NULL, 0, "junk", 0, NULL, NULL));
		R(cuLinkAddData_v2(s, (CUjitInputType)t, junk, 0, "junk", 0, NULL, NULL));
	}
	tag("%s", "");
	R(cuLinkAddFile_v2(s, CU_JIT_INPUT_PTX, "/nonexistent", 0, NULL, NULL));
	R(cuLinkAddFile_v2(s, CU_JIT_INPUT_PTX, NULL, 0, NULL, NULL));
	R(cuLinkComplete(s, &cubin, &z));
	R(cuLinkDestroy(s));
	R(cuLinkDestroy(NULL));
	tag("nothing added");
	R(cuLinkCreate_v2(0, NULL, NULL, &s));
	R(cuLinkComplete(s, &cubin, &z));
	R(cuLinkDestroy(s));
	tag("a caller alone");
	R(cuLinkCreate_v2(0, NULL, NULL, &s));
	R(cuLinkAddData_v2(s, CU_JIT_INPUT_PTX, P(caller), strlen(caller) + 1, "caller", 0, NULL, NULL));
	R(cuLinkComplete(s, &cubin, &z));
	tag("and the callee later");
	R(cuLinkAddData_v2(s, CU_JIT_INPUT_PTX, P(callee), strlen(callee) + 1, "callee", 0, NULL, NULL));
	R(cuLinkComplete(s, &cubin, &z));
	R(cuLinkDestroy(s));
	tag("both");
	R(cuLinkCreate_v2(0, NULL, NULL, &s));
	R(cuLinkAddData_v2(s, CU_JIT_INPUT_PTX, P(caller), strlen(caller), "caller", 0, NULL, NULL));
	R(cuLinkAddData_v2(s, CU_JIT_INPUT_PTX, P(callee), strlen(callee), NULL, 0, NULL, NULL));
	R(cuLinkComplete(s, NULL, &z));
	R(cuLinkComplete(s, &cubin, NULL));
	R(cuLinkComplete(s, &cubin, &z));
	R(cuLinkComplete(s, &cubin, &z));
	R(cuLinkAddData_v2(s, CU_JIT_INPUT_PTX, P(callee), strlen(callee), NULL, 0, NULL, NULL));
	if (cubin)
		R(cuModuleLoadData(&m, cubin));
	R(cuLinkDestroy(s));
	tag("twice the same");
	R(cuLinkCreate_v2(0, NULL, NULL, &s));
	R(cuLinkAddData_v2(s, CU_JIT_INPUT_PTX, P(callee), strlen(callee), "a", 0, NULL, NULL));
	R(cuLinkAddData_v2(s, CU_JIT_INPUT_PTX, P(callee), strlen(callee), "b", 0, NULL, NULL));
	R(cuLinkComplete(s, &cubin, &z));
	R(cuLinkDestroy(s));
}

static const char *const kernels[] = { "nop", "params", "add_one", "static_shared", "dynamic_shared", "bounded", "required", "clustered", "many_clusters", "local_memory" };

GROUP(functions)
{
	CUmodule m, m2 = NULL;
	CUfunction f;
	int v;
	static const int values[] = { -2, -1, 0, 1, 2, 7, 8, 9, 50, 100, 101, 1024, 49152, 49153, 100000, 220448, 220449, 232448, 232449, 1 << 30 };
	CUfunctionLoadingState st = 7;

	start();
	m = module();
	for (size_t k = 0; k < NEL(kernels); k++) {
		f = function(m, kernels[k]);
		for (int i = -1; i < 18; i++) {
			tag("%s, attribute %d", kernels[k], i);
			v = -7;
			/* registers, local and constant bytes are the compiler's; so is the threads' number by them */
			RV(cuFuncGetAttribute(&v, (CUfunction_attribute)i, f), "%s%d", i == 3 || i == 4 || i == 2 ? "~" : "", v);
		}
	}
	for (size_t k = 0; k < 5; k += 3) {
		f = function(m, kernels[k]);
		for (int i = -1; i < 18; i++)
			for (size_t j = 0; j < NEL(values); j++) {
				if (i != 8 && i != 9 && j > 5 && j != 12)
					continue;
				tag("%s, attribute %d = %d", kernels[k], i, values[j]);
				R(cuFuncSetAttribute(f, (CUfunction_attribute)i, values[j]));
				v = -7;
				if (i >= 8 && i < 16)
					RV(cuFuncGetAttribute(&v, (CUfunction_attribute)i, f), "%d", v);
			}
	}
	tag("clustered");
	f = function(m, "clustered");
	for (int i = 10; i < 16; i++)
		R(cuFuncSetAttribute(f, (CUfunction_attribute)i, 2));
	tag("%s", "");
	f = function(m, "nop");
	R(cuFuncGetAttribute(NULL, 0, f));
	R(cuFuncGetAttribute(&v, 0, NULL));
	R(cuFuncSetAttribute(NULL, 8, 0));
	for (int i = -1; i < 6; i++) {
		tag("config %d", i);
		R(cuFuncSetCacheConfig(f, (CUfunc_cache)i));
		R(cuFuncSetSharedMemConfig(f, (CUsharedconfig)i));
	}
	tag("%s", "");
	R(cuFuncSetCacheConfig(NULL, 0));
	R(cuFuncSetSharedMemConfig(NULL, 0));
	RV(cuFuncGetModule(&m2, f), "same %d", m == m2);
	R(cuFuncGetModule(NULL, f));
	R(cuFuncGetModule(&m2, NULL));
	RV(cuFuncIsLoaded(&st, f), "%d", st);
	R(cuFuncIsLoaded(NULL, f));
	R(cuFuncIsLoaded(&st, NULL));
	R(cuFuncLoad(f));
	R(cuFuncLoad(NULL));
	RV(cuFuncIsLoaded(&st, f), "%d", st);
	R(cuFuncSetBlockShape(f, 32, 1, 1));
	R(cuFuncSetBlockShape(f, 0, 1, 1));
	R(cuFuncSetBlockShape(f, 2048, 1, 1));
	R(cuFuncSetSharedSize(f, 1024));
	R(cuFuncSetSharedSize(f, 1 << 20));
	R(cuParamSetSize(f, 8));
	R(cuParamSetSize(f, 0));
	R(cuParamSeti(f, 0, 1));
	R(cuParamSeti(f, 5000, 1));
	R(cuParamSetf(f, 0, 1));
	R(cuParamSetv(f, 0, &v, 4));
	static char many[9999];
	R(cuParamSetv(f, 0, many, 9999));
	R(cuFuncSetBlockShape(f, 32, 1, 1));
	R(cuLaunch(f));
	R(cuLaunchGrid(f, 2, 2));
	R(cuLaunchGrid(f, 0, 2));
	R(cuLaunchGridAsync(f, 2, 2, NULL));
	R(cuCtxSynchronize());
}

static size_t CUDA_CB by_block(int n)
{
	return (size_t)n * 16;
}

GROUP(occupancy)
{
	static const int blocks[] = { -1, 0, 1, 31, 32, 33, 64, 100, 128, 192, 256, 384, 512, 768, 1000, 1024, 1025, 2048 };
	static const size_t shared[] = { 0, 1, 1000, 16384, 32768, 49152, 49153, 100000, 232448, 232449, 1 << 30 };
	CUmodule m;
	CUfunction f;
	int n = -7, g = -7;
	size_t z = 7;

	start();
	m = module();
	for (size_t k = 0; k < NEL(kernels); k++) {
		if (k == 1 || k == 2 || k == 9)
			continue;       /* by registers */
		f = function(m, kernels[k]);
		for (size_t i = 0; i < NEL(blocks); i++)
			for (size_t j = 0; j < NEL(shared); j++) {
				if (k && j && j != 3 && j != 5 && j != 6)
					continue;
				tag("%s, block %d, shared %zu", kernels[k], blocks[i], shared[j]);
				n = -7;
				RV(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, blocks[i], shared[j]), "%d", n);
			}
		tag("%s", kernels[k]);
		RV(cuOccupancyMaxPotentialBlockSize(&g, &n, f, NULL, 0, 0), "~%d %d", g, n);
		RV(cuOccupancyMaxPotentialBlockSize(&g, &n, f, NULL, 20000, 0), "~%d %d", g, n);
		RV(cuOccupancyMaxPotentialBlockSize(&g, &n, f, NULL, 0, 100), "~%d %d", g, n);
		RV(cuOccupancyMaxPotentialBlockSize(&g, &n, f, by_block, 0, 0), "~%d %d", g, n);
		for (int i = 0; i < 6; i++) {
			tag("%s, %d blocks of 128", kernels[k], i * i);
			RV(cuOccupancyAvailableDynamicSMemPerBlock(&z, f, i * i, 128), "%zu", z);
		}
	}
	f = function(m, "nop");
	tag("opted in");
	R(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448));
	for (size_t j = 0; j < NEL(shared); j++) {
		tag("opted in, shared %zu", shared[j]);
		n = -7;
		RV(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 128, shared[j]), "%d", n);
	}
	for (int i = -1; i < 102; i += 17) {
		tag("carveout %d", i);
		R(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, i));
		RV(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 64, 4096), "%d", n);
	}
	tag("%s", "");
	for (unsigned int fl = 0; fl < 4; fl++)
		R(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&n, f, 128, 0, fl));
	R(cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, f, 128, 0));
	R(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, NULL, 128, 0));
	R(cuOccupancyMaxPotentialBlockSize(NULL, &n, f, NULL, 0, 0));
	R(cuOccupancyMaxPotentialBlockSize(&g, NULL, f, NULL, 0, 0));
	R(cuOccupancyMaxPotentialBlockSize(&g, &n, NULL, NULL, 0, 0));
	R(cuOccupancyMaxPotentialBlockSize(&g, &n, f, NULL, 0, -1));
	R(cuOccupancyMaxPotentialBlockSize(&g, &n, f, NULL, 1 << 30, 0));
	R(cuOccupancyMaxPotentialBlockSizeWithFlags(&g, &n, f, NULL, 0, 0, 7));
	R(cuOccupancyAvailableDynamicSMemPerBlock(NULL, f, 1, 128));
	R(cuOccupancyAvailableDynamicSMemPerBlock(&z, f, -1, 128));
	R(cuOccupancyAvailableDynamicSMemPerBlock(&z, f, 1, 0));
	R(cuOccupancyAvailableDynamicSMemPerBlock(&z, f, 1, 2000));
	for (size_t k = 0; k < 2; k++)
		for (unsigned int c = 0; c <= 18; c++) {
			CUlaunchAttribute a = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = { c, 1, 1 } };
			CUlaunchConfig lc = { c ? c * 4 : 4, 1, 1, 128, 1, 1, 0, NULL, &a, 1 };

			f = function(m, k ? "clustered" : "nop");
			tag("%s, cluster of %u", k ? "clustered" : "nop", c);
			RV(cuOccupancyMaxActiveClusters(&n, f, &lc), "~%d %s", n, range(n));
			lc.numAttrs = 0;
			if (!c || c == 2) {
				RV(cuOccupancyMaxPotentialClusterSize(&n, f, &lc), "%d", n);
				RV(cuOccupancyMaxActiveClusters(&n, f, &lc), "~%d %s", n, range(n));
			}
		}
}
