/* SPDX-License-Identifier: MIT */
/*
 * Modules. Images go to the driver as they are; it chooses and compiles. But PTX in a cubin's place (vgpu_cubin.h), which our own compilers
 * have made, no driver of NVIDIA's knows: of that it gets the text.
 *
 * The driver lists a module's functions, and not its variables, which it only finds by name. So every name that the image has at
 * its outermost level is asked for: a wrong guess is answered NOT_FOUND and costs nothing else.
 */
#include "cuda.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cpu/fatbin.h"
#include "../../../fw-protocol/vgpu_cubin.h"

struct names {
	struct engine *e;
	struct cuda_module *m;
	char *log;
	size_t room;
	uint32_t status;
};

static int known(const struct cuda_module *m, const char *name)
{
	for (uint32_t i = 0; i < m->nvars; i++)
		if (!strcmp(m->var[i].name, name))
			return 1;
	return 0;
}

/* Managed ones the program's own side reads: where the driver has them, it cannot. */
static void variable(struct names *n, const char *name, uint32_t kind)
{
	struct cuda_module *m = n->m;
	struct cuda_symbol *grown;
	uint32_t managed = 0;
	CUdeviceptr at;
	size_t bytes;
	CUresult r;

	if (n->status || known(m, name))
		return;
	r = cu.cuModuleGetGlobal_v2(&at, &bytes, m->m, name);
	if (r) {
		/* names that no program can have ($str) it may well find wrong */
		if (r != CUDA_ERROR_NOT_FOUND && r != CUDA_ERROR_INVALID_VALUE) {
			snprintf(n->log, n->room, "variable %.200s: cuModuleGetGlobal: %s", name, cuda_error_name(r));
			n->status = cuda_failed(n->e, r);
		}
		return;
	}
	/* in machine code a managed variable looks like any other */
	if (kind == ENGINE_SYM_GLOBAL && !cuda_in_arena(n->e, at, bytes) && bytes) {
		r = cu.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at);
		if (r && vgpu_status_sticky(cuda_failed(n->e, r)))
			n->status = cuda_failed(n->e, r);
	}
	if (!n->status && (managed || kind == ENGINE_SYM_MANAGED) && !cuda_in_arena(n->e, at, bytes)) {
		snprintf(n->log, n->room, "managed variable %.200s: the driver has it at 0x%llx, outside what the client's program can name", name,
			 (unsigned long long)at);
		n->status = VGPU_ST_NOT_SUPPORTED;
		return;
	}
	grown = realloc(m->var, (m->nvars + 1) * sizeof(*grown));
	if (grown)
		m->var = grown;
	if (!grown || !(grown[m->nvars].name = strdup(name))) {
		n->status = VGPU_ST_OUT_OF_MEMORY;
		return;
	}
	grown[m->nvars].address = grown[m->nvars].real = at;
	grown[m->nvars].bytes = bytes;
	grown[m->nvars++].kind = kind;
	m->var_bytes += bytes;
}

/* ---- names in PTX text --------------------------------------------------------------------------------- */

static int in_name(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%';
}

/* ".reqntid 32, 2, 1", of the entry of this name: the driver keeps to it, and does not tell. What is left out is 1. */
static const char *fixed_block(const struct names *n, const char *entry, const char *s, const char *end)
{
	struct cuda_func *f = n->m->nfuncs ? &n->e->funcs[n->m->first - 1] : NULL;
	uint32_t size[3] = { 1, 1, 1 };

	for (unsigned i = 0; i < 3; i++) {
		while (s < end && (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r'))
			s++;
		if (s == end || *s < '0' || *s > '9')
			break;
		for (size[i] = 0; s < end && *s >= '0' && *s <= '9'; s++)
			size[i] = size[i] * 10 + (uint32_t)(*s - '0');
		while (s < end && (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r'))
			s++;
		s += s < end && *s == ',';
	}
	for (uint32_t i = 0; i < n->m->nfuncs; i++)
		if (!strcmp(f[i].name, entry))
			memcpy(f[i].reqntid, size, sizeof(size));
	return s;
}

/* Statements outside of braces and parentheses, up to their '=': directives begin with a dot, what is left may be a name. */
static void scan_ptx(struct names *n, const char *s, const char *end)
{
	uint32_t kind = 0;
	int depth = 0, value = 0, named = 0;    /* named: 1: an entry, 2: its name is known */
	char name[1024], entry[1024] = "";

	while (s < end) {
		size_t len = 0;

		if (end - s > 1 && s[0] == '/' && s[1] == '/') {
			while (s < end && *s != '\n')
				s++;
		} else if (end - s > 1 && s[0] == '/' && s[1] == '*') {
			for (s += 2; s < end && !(s[-1] == '*' && s[0] == '/'); s++)
				;
			s += s < end;
		} else if (*s == '"') {
			for (s++; s < end && *s != '"'; s++)
				;
			s += s < end;
		} else if (*s == '.') {
			while (s + 1 + len < end && in_name(s[1 + len]))
				len++;
			if (!depth && !value && len == 6 && !memcmp(s + 1, "global", 6))
				kind = ENGINE_SYM_GLOBAL;
			if (!depth && !value && len == 5 && !memcmp(s + 1, "const", 5))
				kind = ENGINE_SYM_CONST;
			if (depth <= 1 && kind && !value && len == 7 && !memcmp(s + 1, "managed", 7))   /* .attribute(.managed) */
				kind = ENGINE_SYM_MANAGED;
			if (!depth && len == 5 && !memcmp(s + 1, "entry", 5))
				named = 1;
			s += 1 + len;
			if (!depth && named == 2 && len == 7 && !memcmp(s - 7, "reqntid", 7))
				s = fixed_block(n, entry, s, end);
		} else if (in_name(*s)) {
			while (s + len < end && in_name(s[len]))
				len++;
			if (!depth && kind && !value && len < sizeof(name)) {
				memcpy(name, s, len);
				name[len] = 0;
				variable(n, name, kind);
			} else if (!depth && named == 1 && len < sizeof(entry)) {
				memcpy(entry, s, len);
				entry[len] = 0;
				named = 2;
			}
			s += len;
		} else {
			depth += *s == '{' || *s == '(' || *s == '[';
			depth -= depth && (*s == '}' || *s == ')' || *s == ']');
			value = !depth && *s == '=' ? 1 : (*s == ';' || *s == ',') && !depth ? 0 : value;
			if (!depth && (*s == ';' || *s == '}') && !value)
				kind = *s == ';' ? 0 : kind;
			s++;
		}
	}
}

/*
 * Of what kind a symbol of this section is: a variable, or 0 for one that shared or local memory has, or the driver (.nv.reservedSmem.offset0,
 * which no section has).
 */
static int section_kind(const uint8_t *p, size_t bytes, const Elf64_Ehdr *h, unsigned section)
{
	static const char global[] = ".nv.global", constant[] = ".nv.constant";
	char name[sizeof(constant)] = "";
	Elf64_Shdr s, strings;

	if (section == SHN_UNDEF || section >= h->e_shnum || h->e_shstrndx >= h->e_shnum)
		return 0;
	memcpy(&s, p + h->e_shoff + section * sizeof(s), sizeof(s));
	memcpy(&strings, p + h->e_shoff + h->e_shstrndx * sizeof(s), sizeof(s));
	if (strings.sh_offset > bytes || strings.sh_size > bytes - strings.sh_offset || s.sh_name >= strings.sh_size)
		return 0;
	strncpy(name, (const char *)p + strings.sh_offset + s.sh_name,
		strings.sh_size - s.sh_name < sizeof(name) - 1 ? strings.sh_size - s.sh_name : sizeof(name) - 1);
	return !strncmp(name, global, sizeof(global) - 1) ? ENGINE_SYM_GLOBAL : !strncmp(name, constant, sizeof(constant) - 1) ? ENGINE_SYM_CONST : 0;
}

/* Symbols of a cubin. Nothing outside the image is read. */
static void scan_elf(struct names *n, const uint8_t *p, size_t bytes)
{
	Elf64_Ehdr h;
	Elf64_Shdr s, strings;
	Elf64_Sym y;

	if (bytes < sizeof(h))
		return;
	memcpy(&h, p, sizeof(h));
	if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_shoff > bytes || h.e_shnum > (bytes - h.e_shoff) / sizeof(s))
		return;
	for (unsigned i = 0; i < h.e_shnum; i++) {
		memcpy(&s, p + h.e_shoff + i * sizeof(s), sizeof(s));
		if (s.sh_type != SHT_SYMTAB || s.sh_link >= h.e_shnum || s.sh_offset > bytes || s.sh_size > bytes - s.sh_offset)
			continue;
		memcpy(&strings, p + h.e_shoff + s.sh_link * sizeof(s), sizeof(s));
		if (strings.sh_offset > bytes || strings.sh_size > bytes - strings.sh_offset)
			continue;
		for (size_t k = 0; k < s.sh_size / sizeof(y); k++) {
			const char *name;
			int kind;

			memcpy(&y, p + s.sh_offset + k * sizeof(y), sizeof(y));
			if (ELF64_ST_TYPE(y.st_info) != STT_OBJECT || y.st_name >= strings.sh_size)
				continue;
			name = (const char *)p + strings.sh_offset + y.st_name;
			kind = section_kind(p, bytes, &h, y.st_shndx);
			if (kind && memchr(name, 0, strings.sh_size - y.st_name))
				variable(n, name, kind);
		}
	}
}

static void scan_entry(struct names *n, const struct fatbin_entry *f)
{
	char why[128], *text;
	size_t bytes;

	if (f->kind == FATBIN_PTX ? fatbin_text(f, &text, &bytes, why, sizeof(why)) :
	    fatbin_bytes(f, &text, &bytes, why, sizeof(why)))
		return;
	n->m->prints |= (uint32_t)cuda_prints(text, bytes);
	if (f->kind == FATBIN_PTX)
		scan_ptx(n, text, text + bytes);
	else
		scan_elf(n, (const uint8_t *)text, bytes);
	free(text);
}

/*
 * Of a container the two entries that the driver chooses from: code for this device, and PTX. Others have the same names, in as many copies
 * as there are architectures, and would have to be decompressed for nothing.
 */
struct pick {
	uint32_t cc;
	struct fatbin_entry elf, ptx;   /* arch 0: none */
};

static int consider(void *owner, const struct fatbin_entry *f)
{
	struct pick *p = owner;
	struct fatbin_entry *best = f->kind == FATBIN_ELF ? &p->elf : &p->ptx;

	if ((f->kind != FATBIN_ELF && f->kind != FATBIN_PTX) || f->arch > p->cc || (f->kind == FATBIN_ELF && f->arch / 10 != p->cc / 10) ||
	    (f->flags & FATBIN_FLAG_SPECIFIC && f->arch != p->cc))
		return 0;
	if (f->arch > best->arch || (f->arch == best->arch && f->flags & (FATBIN_FLAG_SPECIFIC | FATBIN_FLAG_FAMILY)))
		*best = *f;
	return 0;
}

static void scan(struct names *n, const void *image, size_t bytes)
{
	struct pick pick = { .cc = n->e->env.cc_major * 10 + n->e->env.cc_minor };
	char why[128];

	if (fatbin_probe(image, bytes)) {
		fatbin_list(image, bytes, consider, &pick, why, sizeof(why));
		if (pick.elf.arch)
			scan_entry(n, &pick.elf);
		if (pick.ptx.arch && !n->status)
			scan_entry(n, &pick.ptx);
		return;
	}
	n->m->prints = (uint32_t)cuda_prints(image, bytes);
	if (bytes > SELFMAG && !memcmp(image, ELFMAG, SELFMAG))
		scan_elf(n, image, bytes);
	else
		scan_ptx(n, image, (const char *)image + bytes);
}

/* ---- functions ------------------------------------------------------------------------------------------- */

struct cuda_func *cuda_func(struct engine *e, uint32_t id)
{
	return id && id <= e->nfuncs && e->funcs[id - 1].m ? &e->funcs[id - 1] : NULL;
}

/* n free places in a row; their number, or ~0u. */
static uint32_t places(struct engine *e, uint32_t n)
{
	uint32_t run = 0;

	for (uint32_t i = 0; i < e->nfuncs; i++) {
		run = e->funcs[i].m ? 0 : run + 1;
		if (n && run == n)
			return i + 1 - n;
	}
	if (e->nfuncs + n > e->funcs_room) {
		uint32_t room = (e->nfuncs + n) * 2;
		struct cuda_func *grown = realloc(e->funcs, room * sizeof(*grown));

		if (!grown)
			return ~0u;
		e->funcs = grown;
		e->funcs_room = room;
	}
	memset(e->funcs + e->nfuncs, 0, n * sizeof(*e->funcs));
	e->nfuncs += n;
	return e->nfuncs - n;
}

static uint32_t functions(struct engine *e, struct cuda_module *m)
{
	CUfunction *list;
	unsigned n = 0;
	CUresult r = cu.cuModuleGetFunctionCount(&n, m->m);
	uint32_t at;

	if (r || !n)
		return cuda_failed(e, r);
	list = calloc(n, sizeof(*list));
	at = list ? places(e, n) : ~0u;
	if (at == ~0u) {
		free(list);
		return VGPU_ST_OUT_OF_MEMORY;
	}
	r = cu.cuModuleEnumerateFunctions(list, n, m->m);
	m->first = at + 1;
	m->nfuncs = n;
	for (unsigned i = 0; i < n; i++) {
		struct cuda_func *f = &e->funcs[at + i];

		*f = (struct cuda_func){ .fn = list[i], .m = m };
		if (!r)
			r = cu.cuFuncGetName(&f->name, f->fn);
	}
	free(list);
	return cuda_failed(e, r);
}

uint32_t cuda_params(struct engine *e, struct cuda_func *f)
{
	struct engine_param *p;
	size_t offset, bytes;
	uint32_t n = 0;
	CUresult r;

	if (f->params)
		return VGPU_ST_OK;
	/* One that was enumerated has no body yet, and no attributes (FUNCTION_NOT_LOADED), unless the driver loads eagerly. */
	r = cu.cuFuncLoad(f->fn);
	if (r)
		return cuda_failed(e, r);
	p = calloc(ENGINE_MAX_PARAMS + 1, sizeof(*p));
	if (!p)
		return VGPU_ST_OUT_OF_MEMORY;
	/* behind the last one: INVALID_VALUE */
	while ((r = cu.cuFuncGetParamInfo(f->fn, n, &offset, &bytes)) == CUDA_SUCCESS && n < ENGINE_MAX_PARAMS) {
		p[n++] = (struct engine_param){ (uint32_t)offset, (uint32_t)bytes };
		f->param_bytes = (uint32_t)(offset + bytes);
	}
	if (r != CUDA_ERROR_INVALID_VALUE) {
		free(p);
		return r ? cuda_failed(e, r) : (uint32_t)VGPU_ST_LIMIT;
	}
	f->nparams = n;
	f->params = p;
	return VGPU_ST_OK;
}

static uint32_t attribute(const struct cuda_func *f, CUfunction_attribute a, CUresult *r)
{
	int v = 0;

	if (!*r)
		*r = cu.cuFuncGetAttribute(&v, a, f->fn);
	return v > 0 ? (uint32_t)v : 0;
}

/* What a kernel asks of clusters. A driver that does not say has launches to refuse, not kernels. */
static CUresult clusters(const struct cuda_func *f, struct engine_func_info *out)
{
	CUlaunchConfig least = { .gridDimX = VGPU_CLUSTER_PORTABLE, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1 };
	CUresult r = CUDA_SUCCESS;
	uint32_t asked, own[3];
	int most = 0;

	own[0] = attribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &r);
	own[1] = attribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &r);
	own[2] = attribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &r);
	asked = attribute(f, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, &r);
	if (!r) {
		memcpy(out->cluster, own, sizeof(own));
		out->explicit_cluster = asked;
		/* less than every device has: the kernel says so */
		r = cu.cuOccupancyMaxPotentialClusterSize(&most, f->fn, &least);
	}
	if (!r && most > 0 && most < (int)VGPU_CLUSTER_PORTABLE)
		out->max_cluster = (uint32_t)most;
	return vgpu_status_sticky(cuda_status(r)) ? r : CUDA_SUCCESS;
}

const char *cuda_name_of(struct engine *e, uint32_t id)
{
	const struct cuda_func *f = cuda_func(e, id);

	return f ? f->name : NULL;
}

uint32_t cuda_func_info(struct engine *e, uint32_t id, struct engine_func_info *out, char *log, size_t log_bytes)
{
	struct cuda_func *f = cuda_func(e, id);
	CUresult r = CUDA_SUCCESS;
	uint32_t st;

	if (!f)
		return VGPU_ST_BAD_HANDLE;
	st = cuda_params(e, f);
	if (st)
		return st;
	*out = (struct engine_func_info){
		.id = id, .name = f->name, .uses = f->m->prints ? ENGINE_USES_PRINTF : 0, .nparams = f->nparams, .param_bytes = f->param_bytes, .params = f->params,
		.max_threads = attribute(f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &r),
		.reqntid = { f->reqntid[0], f->reqntid[1], f->reqntid[2] },
		.regs = attribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, &r),
		.shared_static = attribute(f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &r),
		.local_bytes = attribute(f, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &r),
		.const_bytes = attribute(f, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &r),
		/* what the driver calls PTX's version is the architecture that it was compiled for */
		.binary_version = attribute(f, CU_FUNC_ATTRIBUTE_PTX_VERSION, &r),
	};
	if (!r && e->env.cc_major >= 9)
		r = clusters(f, out);
	if (r && log_bytes)
		snprintf(log, log_bytes, "%.200s: cuFuncGetAttribute: %s", f->name, cuda_error_name(r));
	return cuda_failed(e, r);
}

/* ---- modules ----------------------------------------------------------------------------------------------- */

static struct cuda_module *get(struct engine *e, uint32_t id)
{
	return id && id <= e->nmodules ? e->modules[id - 1] : NULL;
}

/* A module that the driver keeps stays ours too. */
static CUresult forget(struct engine *e, struct cuda_module *m)
{
	CUresult r = m->m ? cu.cuModuleUnload(m->m) : CUDA_SUCCESS;

	if (r)
		return r;
	cuda_standins_end(e, m);
	for (uint32_t i = 0; i < m->nfuncs; i++) {
		free(e->funcs[m->first - 1 + i].params);
		e->funcs[m->first - 1 + i] = (struct cuda_func){ 0 };
	}
	while (e->nfuncs && !e->funcs[e->nfuncs - 1].m)
		e->nfuncs--;
	for (uint32_t i = 0; i < m->nvars; i++)
		free(m->var[i].name);
	free(m->var);
	free(m->last);
	free(m);
	return r;
}

/* ---- what the driver gets ---------------------------------------------------------------------------------- */

struct image {
	const void *p;
	size_t bytes;
	char *owned;                    /* it lies there; or NULL */
	unsigned max_regs;              /* as ptxas was told; 0: it was not */
};

static int find_ours(void *owner, const struct fatbin_entry *f)
{
	int *found = owner;

	return *found = fatbin_ours(f);
}

/* Text ends with a NUL, or the driver would read on behind the client's bytes. */
static uint32_t unpack(struct engine *e, const void *image, size_t bytes, struct image *out, char *log, size_t log_bytes)
{
	char why[128];
	struct vgpu_cubin c;
	int ours = 0;

	*out = (struct image){ .p = image, .bytes = bytes };
	if (fatbin_probe(image, bytes)) {
		fatbin_list(image, bytes, find_ours, &ours, why, sizeof(why));
		if (ours) {
			uint32_t st = fatbin_select(image, bytes, e->env.cc_major, e->env.cc_minor, &out->owned, &out->bytes, log, log_bytes);

			out->p = out->owned;
			return st;
		}
	} else if (!vgpu_cubin_read(image, bytes, &c)) {
		*out = (struct image){ .p = c.ptx, .bytes = c.ptx_bytes + 1, .max_regs = c.maxrregcount };      /* its NUL, too */
	}
	if (((const char *)out->p)[out->bytes - 1]) {
		out->owned = malloc(out->bytes + 1);
		if (!out->owned)
			return VGPU_ST_OUT_OF_MEMORY;
		memcpy(out->owned, out->p, out->bytes);
		out->owned[out->bytes] = 0;
		out->p = out->owned;
	}
	return VGPU_ST_OK;
}

static CUresult load(struct cuda_module *m, const struct image *image, char *log, size_t log_bytes)
{
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_MAX_REGISTERS };
	void *values[] = { log, (void *)(uintptr_t)log_bytes, (void *)(uintptr_t)image->max_regs };
	CUresult r = cu.cuModuleLoadDataEx(&m->m, image->p, image->max_regs ? 3 : 2, options, values);

	if (r)
		m->m = NULL;
	if (r && !log[0])
		snprintf(log, log_bytes, "cuModuleLoadDataEx: %s", cuda_error_name(r));
	return r;
}

uint32_t cuda_module_load(struct engine *e, const void *image, size_t bytes, uint32_t *module, char *log, size_t log_bytes)
{
	struct cuda_module *m = calloc(1, sizeof(*m)), **grown;
	struct names n = { .e = e, .m = m, .log = log, .room = log_bytes };
	struct image got = { 0 };
	uint32_t at = 0, st;
	CUresult r;

	if (!m)
		return VGPU_ST_OUT_OF_MEMORY;
	log[0] = 0;
	while (at < e->nmodules && e->modules[at])
		at++;
	if (at == e->nmodules) {
		grown = realloc(e->modules, (at + 1) * sizeof(*grown));
		if (!grown) {
			free(m);
			return VGPU_ST_OUT_OF_MEMORY;
		}
		grown[at] = NULL;
		e->modules = grown;
		e->nmodules++;
	}
	st = bytes ? unpack(e, image, bytes, &got, log, log_bytes) : (uint32_t)VGPU_ST_INVALID_IMAGE;
	if (!st)
		st = cuda_failed(e, load(m, &got, log, log_bytes));
	if (!st)
		st = functions(e, m);
	if (!st) {
		scan(&n, got.p, got.bytes);
		st = n.status ? n.status : cuda_standins(e, m);
	}
	free(got.owned);
	if (st) {
		r = forget(e, m);
		if (r && forget(e, m))
			cuda_failed(e, r);
		return st;
	}
	e->modules[at] = m;
	*module = at + 1;
	return VGPU_ST_OK;
}

/* A driver that loads lazily reads a body when its function is loaded. */
uint32_t cuda_module_check(struct engine *e, uint32_t id, char *log, size_t log_bytes)
{
	struct cuda_module *m = get(e, id);

	for (uint32_t i = 0; m && i < m->nfuncs; i++) {
		struct cuda_func *f = &e->funcs[m->first - 1 + i];
		CUresult r = cu.cuFuncLoad(f->fn);

		if (!r)
			continue;
		snprintf(log, log_bytes, "%.200s: %s", f->name, cuda_error_name(r));
		return cuda_failed(e, r);
	}
	return m ? VGPU_ST_OK : VGPU_ST_BAD_HANDLE;
}

uint32_t cuda_module_unload(struct engine *e, uint32_t id)
{
	struct cuda_module *m = get(e, id);
	CUresult r;

	if (!m)
		return VGPU_ST_BAD_HANDLE;
	if (cuda_module_busy(e, m))
		return VGPU_ST_BUSY;
	cuda_run_forget(e, m);
	r = forget(e, m);
	if (!r)
		e->modules[id - 1] = NULL;
	return cuda_failed(e, r);
}

uint32_t cuda_module_symbol(struct engine *e, uint32_t id, uint32_t i, struct engine_symbol *out)
{
	struct cuda_module *m = get(e, id);

	if (!m)
		return VGPU_ST_BAD_HANDLE;
	memset(out, 0, sizeof(*out));
	if (i < m->nfuncs) {
		out->kind = ENGINE_SYM_FUNC;
		out->id = m->first + i;
		out->name = e->funcs[out->id - 1].name;
		return VGPU_ST_OK;
	}
	i -= m->nfuncs;
	if (i >= m->nvars)
		return VGPU_ST_NOT_FOUND;
	*out = (struct engine_symbol){ .kind = m->var[i].kind, .name = m->var[i].name, .address = m->var[i].address, .bytes = m->var[i].bytes };
	return VGPU_ST_OK;
}

uint64_t cuda_module_bytes(struct engine *e, uint32_t id)
{
	struct cuda_module *m = get(e, id);

	return m ? m->var_bytes : 0;
}
