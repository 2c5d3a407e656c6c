/* SPDX-License-Identifier: MIT */
/*
 * Modules of the mock driver: cubins, and PTX text, of which entries, their parameters and variables outside of them are read. What kernels do is
 * known by their names (stream.c).
 */
#include "mock.h"

#include <ctype.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS 16
#define VARIABLES 8

struct module {
	struct mock_function f[FUNCTIONS];
	unsigned nf, nv;
	struct { char name[64]; uint64_t at; size_t bytes; } var[VARIABLES];
};

/* The next word: a name, a number, a directive with its dot, or one character. */
static const char *word(const char *s, char *out, size_t room)
{
	size_t n = 0;

	for (;;) {
		while (isspace((unsigned char)*s))
			s++;
		if (s[0] != '/' || s[1] != '/')
			break;
		while (*s && *s != '\n')
			s++;
	}
	if (isalnum((unsigned char)*s) || strchr("._$%", *s)) {
		while (*s && (isalnum((unsigned char)*s) || strchr("._$%", *s)) && (!n || *s != '.')) {
			if (n + 1 < room)
				out[n++] = *s;
			s++;
		}
	} else if (*s) {
		out[n++] = *s++;
	}
	out[n] = 0;
	return s;
}

static uint32_t type_bytes(const char *w)
{
	size_t n = strlen(w);

	if (n < 3 || w[0] != '.' || !strchr("usbf", w[1]))
		return 0;
	return (uint32_t)atoi(w + 2) / 8;
}

/* From behind ".param" or ".global" to the end of one declaration: its name, size and alignment. */
static const char *declaration(const char *s, char *name, uint32_t *bytes, uint32_t *align)
{
	char w[128];
	uint32_t one = 0, many = 1;

	*align = 0;
	name[0] = 0;
	for (;;) {
		const char *next = word(s, w, sizeof(w));

		if (!strcmp(w, ".attribute")) {  /* (.managed) */
			for (s = next; *s && *s != ')'; s++)
				;
			s += *s == ')';
			continue;
		}
		if (!w[0] || !strcmp(w, ",") || !strcmp(w, ")") || !strcmp(w, ";") || !strcmp(w, "="))
			break;
		s = next;
		if (!strcmp(w, ".align")) {
			s = word(s, w, sizeof(w));
			*align = (uint32_t)atoi(w);
		} else if (type_bytes(w)) {
			one = type_bytes(w);
		} else if (!strcmp(w, "[")) {
			s = word(s, w, sizeof(w));
			many = (uint32_t)atoi(w);
			s = word(s, w, sizeof(w));
		} else if (w[0] != '.') {
			snprintf(name, 64, "%.63s", w);
		}
	}
	*bytes = one * many;
	if (*align < one)
		*align = one;
	return s;
}

static const char *entry(struct module *m, const char *s)
{
	struct mock_function *f = &m->f[m->nf++];
	uint32_t bytes, align;
	char w[128], name[64];

	f->module = (CUmodule)m;
	s = word(s, w, sizeof(w));
	snprintf(f->name, sizeof(f->name), "%.63s", w);
	for (s = word(s, w, sizeof(w)); w[0] && strcmp(w, ")"); s = word(s, w, sizeof(w))) {
		if (!strcmp(w, "{"))
			return s;               /* no parameters, no parentheses */
		if (strcmp(w, ".param"))
			continue;
		s = declaration(s, name, &bytes, &align);
		f->param_bytes = (f->param_bytes + align - 1) & ~(align - 1);
		f->offset[f->nparams] = f->param_bytes;
		f->bytes[f->nparams++] = bytes;
		f->param_bytes += bytes;
	}
	return s;
}

static CUresult parse(struct module *m, const char *s)
{
	char w[128], name[64];
	uint32_t bytes, align;
	int depth = 0, begins;          /* begins: a statement */
	char before = ';';

	s = word(s, w, sizeof(w));
	if (strcmp(w, ".version"))
		return CUDA_ERROR_INVALID_IMAGE;
	while (s = word(s, w, sizeof(w)), w[0]) {
		depth += !strcmp(w, "{");
		depth -= !strcmp(w, "}");
		if (!strcmp(w, ".entry") && m->nf < FUNCTIONS)
			s = entry(m, s);
		begins = strchr(";{}", before) != NULL;
		before = w[0];
		if (depth && begins && !strcmp(w, ".shared") && m->nf) {
			s = declaration(s, name, &bytes, &align);
			m->f[m->nf - 1].own_shared += (int)bytes;
			before = ';';
		}
		if (!depth && (!strcmp(w, ".global") || !strcmp(w, ".const")) && m->nv < VARIABLES) {
			s = declaration(s, name, &bytes, &align);
			strcpy(m->var[m->nv].name, name);
			m->var[m->nv].at = mock_own(bytes);
			m->var[m->nv++].bytes = bytes;
		}
	}
	return depth ? CUDA_ERROR_INVALID_PTX : CUDA_SUCCESS;
}

static CUdeviceptr managed;     /* where the variable of this name lies */

int mock_managed(CUdeviceptr at) { return managed && at == managed; }

/* Machine code: its symbols say what there is. PTX in a cubin's place is a note and a text to NVIDIA's driver, and no code. */
static CUresult parse_elf(struct module *m, const uint8_t *p)
{
	const Elf64_Ehdr *h = (const void *)p;
	const Elf64_Shdr *s = (const void *)(p + h->e_shoff);

	for (unsigned i = 0; i < h->e_shnum; i++)
		if (s[i].sh_type == SHT_NOTE)
			return CUDA_ERROR_INVALID_IMAGE;
	for (unsigned i = 0; i < h->e_shnum; i++) {
		const Elf64_Sym *y = (const void *)(p + s[i].sh_offset);

		for (unsigned k = 0; s[i].sh_type == SHT_SYMTAB && k < s[i].sh_size / sizeof(*y); k++) {
			const char *name = (const char *)p + s[s[i].sh_link].sh_offset + y[k].st_name;

			if (ELF64_ST_TYPE(y[k].st_info) == STT_FUNC)
				entry(m, !strcmp(name, "mock_set") ? "mock_set(.param .u64 p, .param .u32 value, .param .u32 n)" : "mock_nothing() {");
			if (ELF64_ST_TYPE(y[k].st_info) == STT_OBJECT && y[k].st_shndx == 3) {
				strcpy(m->var[m->nv].name, name);
				m->var[m->nv].at = mock_own(y[k].st_size);
				m->var[m->nv++].bytes = y[k].st_size;
				if (!strcmp(name, "mock_managed"))
					managed = m->var[m->nv - 1].at;
			}
		}
	}
	return CUDA_SUCCESS;
}

static CUresult parse_any(struct module *m, const void *image)
{
	uint32_t magic;

	memcpy(&magic, image, 4);
	if (magic == 0xba55ed50u)       /* the first entry of the container, uncompressed */
		image = (const uint8_t *)image + 16 + 64;
	return !memcmp(image, ELFMAG, SELFMAG) ? parse_elf(m, image) : parse(m, image);
}

EXPORT CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, CUjit_option *options, void **values)
{
	struct module *m;
	CUresult r;

	(void)n, (void)options, (void)values;
	ENTER(cuModuleLoadDataEx);
	if (!mock_have_context())
		return CUDA_ERROR_INVALID_CONTEXT;
	m = calloc(1, sizeof(*m));
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = parse_any(m, image);
	if (r) {
		for (unsigned i = 0; i < m->nv; i++)
			mock_disown(m->var[i].at);
		free(m);
		return r;
	}
	COUNT(MOCK_MODULE, 1);
	*module = (CUmodule)m;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleUnload(CUmodule module)
{
	struct module *m = (struct module *)module;

	ENTER(cuModuleUnload);
	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < m->nv; i++)
		mock_disown(m->var[i].at);
	memset(m, 0xdd, sizeof(*m));    /* who still uses its functions notices */
	free(m);
	COUNT(MOCK_MODULE, -1);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleGetFunctionCount(unsigned *n, CUmodule module)
{
	ENTER(cuModuleGetFunctionCount);
	*n = ((struct module *)module)->nf;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleEnumerateFunctions(CUfunction *fns, unsigned n, CUmodule module)
{
	struct module *m = (struct module *)module;

	ENTER(cuModuleEnumerateFunctions);
	for (unsigned i = 0; i < n && i < m->nf; i++)
		fns[i] = (CUfunction)&m->f[i];
	return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleGetFunction(CUfunction *fn, CUmodule module, const char *name)
{
	struct module *m = (struct module *)module;

	ENTER(cuModuleGetFunction);
	for (unsigned i = 0; i < m->nf; i++)
		if (!strcmp(m->f[i].name, name)) {
			*fn = (CUfunction)&m->f[i];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_NOT_FOUND;
}

EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *bytes, CUmodule module, const char *name)
{
	struct module *m = (struct module *)module;

	ENTER(cuModuleGetGlobal_v2);
	if (!strncmp(name, ".nv.", 4))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < m->nv; i++)
		if (!strcmp(m->var[i].name, name)) {
			*at = m->var[i].at;
			*bytes = m->var[i].bytes;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_NOT_FOUND;
}

EXPORT CUresult cuFuncGetName(const char **name, CUfunction fn)
{
	ENTER(cuFuncGetName);
	*name = ((struct mock_function *)fn)->name;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncGetParamInfo(CUfunction fn, size_t i, size_t *offset, size_t *bytes)
{
	const struct mock_function *f = (struct mock_function *)fn;

	ENTER(cuFuncGetParamInfo);
	if (i >= f->nparams)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = f->offset[i];
	if (bytes)
		*bytes = f->bytes[i];
	return CUDA_SUCCESS;
}

/* Loaded lazily: without this a function that was enumerated is a name. */
EXPORT CUresult cuFuncLoad(CUfunction fn)
{
	ENTER(cuFuncLoad);
	((struct mock_function *)fn)->loaded = 1;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncGetAttribute(int *value, CUfunction_attribute a, CUfunction fn)
{
	const struct mock_function *f = (struct mock_function *)fn;

	ENTER(cuFuncGetAttribute);
	if (!f->loaded)
		return CUDA_ERROR_FUNCTION_NOT_LOADED;
	switch ((int)a) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 24; break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = 60; break;
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = 90; break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = f->own_shared; break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = f->dynamic_shared; break;
	default: *value = 0;
	}
	return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncSetAttribute(CUfunction fn, CUfunction_attribute a, int value)
{
	ENTER(cuFuncSetAttribute);
	if (a != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 || value > 227 << 10)
		return CUDA_ERROR_INVALID_VALUE;
	((struct mock_function *)fn)->dynamic_shared = value;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuOccupancyMaxPotentialClusterSize(int *size, CUfunction fn, const CUlaunchConfig *config)
{
	(void)fn, (void)config;
	ENTER(cuOccupancyMaxPotentialClusterSize);
	*size = 8;
	return CUDA_SUCCESS;
}

/* The driver's own of a tensor: nobody's words but the mock's. */
static CUresult map(CUtensorMap *out, void *address)
{
	memset(out, 0, sizeof(*out));
	memcpy(out, &(uint64_t){ MOCK_MAP ^ (uintptr_t)address }, 8);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuTensorMapEncodeTiled(CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank, void *address, const cuuint64_t *dims,
				       const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *steps, CUtensorMapInterleave interleave,
				       CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
	ENTER(cuTensorMapEncodeTiled);
	/* as mock/client.c asks for it */
	if ((uintptr_t)out % 64 || type != CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 || rank != 2 || dims[0] != 64 || dims[1] != 8 || strides[0] != 128 || box[0] != 16 ||
	    box[1] != 4 || steps[0] != 1 || steps[1] != 1 || interleave || swizzle != CU_TENSOR_MAP_SWIZZLE_32B ||
	    promotion != CU_TENSOR_MAP_L2_PROMOTION_L2_128B || fill)
		return CUDA_ERROR_INVALID_VALUE;
	return map(out, address);
}

EXPORT CUresult cuTensorMapEncodeIm2col(CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank, void *address, const cuuint64_t *dims,
					const cuuint64_t *strides, const int *lower, const int *upper, cuuint32_t channels, cuuint32_t pixels,
					const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
					CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
	(void)type, (void)rank, (void)dims, (void)strides, (void)lower, (void)upper, (void)channels, (void)pixels, (void)steps, (void)interleave;
	(void)swizzle, (void)promotion, (void)fill;
	ENTER(cuTensorMapEncodeIm2col);
	return map(out, address);
}
