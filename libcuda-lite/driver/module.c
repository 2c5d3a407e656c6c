/* SPDX-License-Identifier: MIT */
/*
 * Modules: an image travels as it is (PTX text, fatbin container) to the device, which answers with a
 * symbol table. Functions are made when they are asked for and described by the device when they are
 * first used, so loading a library of thousands of kernels compiles none of them.
 */
#include "driver.h"
#include "../../fw-protocol/vgpu_cubin.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UPLOAD_PIECE (1u << 20)
#define LOG_BYTES 8192u
#define WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC 0xba55ed50u

struct wrapper {                /* what nvcc's __fatBinC sections hold */
	uint32_t magic, version;
	const void *data;
	const void *more;
};

struct container {
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t bytes;
};

/* Is there a device that runs machine code? Another one says itself that it does not. */
static bool takes_cubins(void)
{
	for (uint32_t i = 0; i < vg.ndev; i++)
		if (vg.info[i].features & VGPU_DEV_FEATURE_CUBIN)
			return true;
	return false;
}

/* How long an ELF file is, by what its headers say; 0: that cannot be, or is more than room. */
static uint64_t elf_bytes(const unsigned char *p, uint64_t room)
{
	uint64_t end = 0, part;
	Elf64_Ehdr h;
	Elf64_Shdr s;

	memcpy(&h, p, sizeof h);
	if (h.e_shoff > VGPU_GIB || h.e_phoff > VGPU_GIB || (h.e_shnum && h.e_shentsize != sizeof s))
		return 0;
	end = h.e_shoff + (uint64_t)h.e_shnum * h.e_shentsize;
	part = h.e_phoff + (uint64_t)h.e_phnum * h.e_phentsize;
	end = part > end ? part : end;
	if (end > room)
		return 0;
	for (unsigned int i = 0; i < h.e_shnum; i++) {
		memcpy(&s, p + h.e_shoff + i * sizeof s, sizeof s);
		if (s.sh_type == SHT_NOBITS || s.sh_type == SHT_NULL)
			continue;
		if (s.sh_offset > VGPU_GIB || s.sh_size > VGPU_GIB)
			return 0;
		end = s.sh_offset + s.sh_size > end ? s.sh_offset + s.sh_size : end;
	}
	return end <= VGPU_GIB && end <= room ? end : 0;
}

/*
 * Which kind of image is it and how long? CUDA passes no length, so the caller's memory is believed as far
 * as its own headers go. *image moves to the container when a wrapper was given.
 */
CUresult vg_image_size(const void **image, uint64_t *bytes)
{
	const unsigned char *p = *image;
	struct wrapper w;
	struct container c;
	uint32_t magic;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	/* Byte by byte: an empty text may end right before an unmapped page. */
	if (!p[0] || !p[1] || !p[2] || !p[3])
		return CUDA_ERROR_INVALID_IMAGE;
	memcpy(&magic, p, 4);
	if (magic == WRAPPER_MAGIC) {
		memcpy(&w, p, sizeof w);
		if (!w.data)
			return CUDA_ERROR_INVALID_IMAGE;
		*image = p = w.data;
		memcpy(&magic, p, 4);
	}
	if (magic == FATBIN_MAGIC) {
		memcpy(&c, p, sizeof c);
		if (c.version != 1 || c.header_bytes < sizeof c || c.bytes > VGPU_GIB)
			return CUDA_ERROR_INVALID_IMAGE;
		*bytes = c.header_bytes + c.bytes;
		return CUDA_SUCCESS;
	}
	if (p[0] == 0x7f && p[1] == 'E' && p[2] == 'L' && p[3] == 'F') {
		struct vgpu_cubin cubin;

		if (!vgpu_cubin_read(p, UINT64_MAX, &cubin)) {
			*bytes = cubin.bytes;
			return CUDA_SUCCESS;
		}
		if (vgpu_cubin_ours(p, UINT64_MAX))
			return CUDA_ERROR_INVALID_IMAGE;
		if (takes_cubins() && vgpu_cubin_elf(p, UINT64_MAX)) {
			*bytes = elf_bytes(p, UINT64_MAX);
			return *bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
		}
		vg_say("the module is a cubin (machine code of one GPU); this device needs PTX: compile with "
		       "-gencode arch=compute_XX,code=compute_XX");
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	}
	*bytes = strlen((const char *)p);
	return *bytes <= VGPU_GIB ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

/* The image to load and its length; where the files of a wrapper had to be linked, *linked is it, and the caller's. */
CUresult vg_check_wrapper(const void **image, void **linked, uint64_t *bytes)
{
	const unsigned char *p = *image;

	*linked = NULL;
	/* as above: no more is read of a short text */
	if (p && p[0] && p[1] && p[2] && p[3])
		VG_TRY(vg_link_files(image, linked));
	return vg_image_size(image, bytes);
}

static uint32_t hash_name(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h;
}

static const struct vgpu_symbol *symbols(const struct vg_module *m)
{
	return (const struct vgpu_symbol *)(m->table + 1);
}

const char *vg_symbol_name(const struct vg_module *m, const struct vgpu_symbol *s)
{
	return (const char *)m->table + s->name;
}

const struct vgpu_symbol *vg_module_find(struct vg_module *m, const char *name, uint32_t *index)
{
	for (uint32_t i = hash_name(name) & m->hash_mask; m->hash[i]; i = (i + 1) & m->hash_mask) {
		const struct vgpu_symbol *s = &symbols(m)[m->hash[i] - 1];

		if (!strcmp(vg_symbol_name(m, s), name)) {
			if (index)
				*index = m->hash[i] - 1;
			return s;
		}
	}
	return NULL;
}

/* The table is private memory by now; believe nothing in it that would lead outside. */
static uint32_t check_table(struct vg_module *m, uint64_t bytes)
{
	const struct vgpu_symtab *t = m->table;
	uint32_t room = 4;

	if (bytes < sizeof *t || t->nsyms > (bytes - sizeof *t) / sizeof(struct vgpu_symbol))
		return VGPU_ST_INTERNAL;
	if (t->nsyms && ((const char *)t)[bytes - 1])
		return VGPU_ST_INTERNAL;        /* the last name has no end */
	m->nsyms = t->nsyms;
	while (room < m->nsyms * 2ull)
		room *= 2;
	m->hash_mask = room - 1;
	m->hash = calloc(room, sizeof *m->hash);
	m->funcs = calloc(m->nsyms ? m->nsyms : 1, sizeof(struct vg_func *));
	if (!m->hash || !m->funcs)
		return VGPU_ST_OUT_OF_MEMORY;
	for (uint32_t k = 0; k < m->nsyms; k++) {
		uint32_t i;

		if (symbols(m)[k].name >= bytes)
			return VGPU_ST_INTERNAL;
		for (i = hash_name(vg_symbol_name(m, &symbols(m)[k])) & m->hash_mask; m->hash[i];)
			i = (i + 1) & m->hash_mask;
		m->hash[i] = k + 1;
	}
	return VGPU_ST_OK;
}

static uint32_t upload(struct vg_ctx *c, uint32_t id, const uint8_t *image, uint64_t bytes)
{
	uint64_t room = bytes < UPLOAD_PIECE ? bytes : UPLOAD_PIECE;
	uint8_t *piece = vg_window_alloc(room, 64);
	uint32_t status = VGPU_ST_OK;

	if (!piece)
		return VGPU_ST_OUT_OF_MEMORY;
	for (uint64_t at = 0; at < bytes && !status; at += room) {
		uint64_t n = bytes - at < room ? bytes - at : room;

		memcpy(piece, image + at, n);
		status = vg_ctl(c, VGPU_OP_MODULE_DATA, id, at, (uint64_t)(uintptr_t)piece, n, NULL);
	}
	vg_window_free(piece, room);
	return status;
}

static uint32_t fetch_table(struct vg_ctx *c, struct vg_module *m, uint64_t bytes)
{
	uint64_t v[5];
	uint32_t status;
	void *window;

	if (bytes < sizeof(struct vgpu_symtab) || bytes > VGPU_GIB)
		return VGPU_ST_INTERNAL;
	window = vg_window_alloc(bytes, 64);
	m->table = malloc(bytes);
	if (!window || !m->table) {
		vg_window_free(window, bytes);
		return VGPU_ST_OUT_OF_MEMORY;
	}
	status = vg_ctl(c, VGPU_OP_MODULE_TABLE, m->id, (uint64_t)(uintptr_t)window, bytes, 0, v);
	if (!status && v[0] != bytes)
		status = VGPU_ST_INTERNAL;
	memcpy(m->table, window, bytes);
	vg_window_free(window, bytes);
	return status ? status : check_table(m, bytes);
}

static void forget(struct vg_module *m)
{
	struct vg_mem managed;

	if (m->managed && vg_mem_take((uint64_t)(uintptr_t)m->managed, 1u << VG_MEM_MANAGED, &managed))
		vg_mem_release(&managed);
	for (uint32_t i = 0; m->funcs && i < m->nsyms; i++)
		if (m->funcs[i])
			vg_func_free(m->funcs[i]);
	vg_refs_free(m);
	free(m->funcs);
	free(m->hash);
	free(m->table);
	vg_delete(VG_MODULE, m);
}

/* CUDA_MODULE_LOADING, LAZY if it says nothing: errors of a container's kernels come when they are used, or at once. */
static bool eager(void)
{
	const char *s = getenv("CUDA_MODULE_LOADING");

	return s && !strcmp(s, "EAGER");
}

/*
 * Loads what was sent. A module with managed variables answers how much memory they take; they get some that
 * both sides see, and it is asked again.
 */
static uint32_t commit(struct vg_ctx *c, struct vg_module *m, char *window, uint64_t v[5])
{
	uint64_t flags = eager() ? VGPU_MODULE_EAGER : 0;
	uint32_t status = vg_ctl(c, VGPU_OP_MODULE_COMMIT, m->id, (uint64_t)(uintptr_t)window, LOG_BYTES, flags, v);
	uint64_t bytes = (v[3] + VGPU_PAGE - 1) & ~(VGPU_PAGE - 1ull);

	if (status != VGPU_ST_NOT_SUPPORTED || !v[3] || v[3] > VGPU_GIB)
		return status;
	status = vg_mem_alloc_host(c, bytes, VG_MEM_MANAGED, CU_MEM_ATTACH_GLOBAL | VG_MEM_OF_MODULE, &m->managed);
	if (status)
		return status;
	status = vg_ctl(c, VGPU_OP_MODULE_MANAGED, m->id, (uint64_t)(uintptr_t)m->managed, bytes, 0, NULL);
	if (status)
		return status;
	memset(v, 0, 5 * sizeof *v);
	return vg_ctl(c, VGPU_OP_MODULE_COMMIT, m->id, (uint64_t)(uintptr_t)window, LOG_BYTES, flags, v);
}

/* log: what the device says about the image, good or bad; may be NULL. */
uint32_t vg_module_make(struct vg_ctx *c, const void *image, uint64_t bytes, char *log, uint32_t log_bytes,
			uint32_t *log_used, struct vg_module **out)
{
	struct vg_module *m = vg_new(VG_MODULE);
	char *window = vg_window_alloc(LOG_BYTES, 64);
	uint64_t v[5] = { 0 };
	uint32_t status;

	if (log_used)
		*log_used = 0;
	if (!m || !window) {
		status = VGPU_ST_OUT_OF_MEMORY;
		goto fail;
	}
	m->ctx = c;
	status = vg_ctl(c, VGPU_OP_MODULE_BEGIN, 0, bytes, 0, 0, v);
	if (status)
		goto fail;
	m->id = (uint32_t)v[0];
	status = upload(c, m->id, image, bytes);
	if (!status) {
		memset(v, 0, sizeof v);
		status = commit(c, m, window, v);
		if (v[2] && log && log_bytes) {
			uint32_t n = v[2] < LOG_BYTES ? (uint32_t)v[2] : LOG_BYTES;

			if (n >= log_bytes)
				n = log_bytes - 1;
			memcpy(log, window, n);
			log[n] = 0;
			*log_used = (uint32_t)strlen(log);
		}
	}
	if (!status)
		status = fetch_table(c, m, v[0]);
	if (status) {
		vg_ctl(c, VGPU_OP_MODULE_UNLOAD, m->id, 0, 0, 0, NULL);
		goto fail;
	}
	vg_window_free(window, LOG_BYTES);
	vg_lock(&c->lock);
	m->next = c->modules;
	m->prev = &c->modules;
	if (m->next)
		m->next->prev = &m->next;
	c->modules = m;
	vg_unlock(&c->lock);
	vg_publish(m);
	*out = m;
	return VGPU_ST_OK;
fail:
	vg_window_free(window, LOG_BYTES);
	if (m)
		forget(m);
	return status;
}

CUresult vg_module_free(struct vg_module *m)
{
	struct vg_ctx *c = m->ctx;
	uint32_t status;

	vg_unpublish(m);
	vg_ctx_sync(c);         /* kernels of it may still run */
	vg_lock(&c->lock);
	*m->prev = m->next;
	if (m->next)
		m->next->prev = m->prev;
	vg_unlock(&c->lock);
	status = vg_ctl(c, VGPU_OP_MODULE_UNLOAD, m->id, 0, 0, 0, NULL);
	forget(m);
	return vg_done(c, status);
}

void vg_module_drop_ctx(struct vg_ctx *c)
{
	while (c->modules) {
		struct vg_module *m = c->modules;

		c->modules = m->next;
		forget(m);
	}
}

/* Variables: their places as entries of the table of memory. Rare, so these search. */
bool vg_ctx_variable(struct vg_ctx *c, uint64_t addr, struct vg_mem *out)
{
	bool hit = false;

	vg_lock(&c->lock);
	for (struct vg_module *m = c->modules; m && !hit; m = m->next)
		for (uint32_t i = 0; i < m->nsyms && !hit; i++) {
			const struct vgpu_symbol *s = &symbols(m)[i];

			hit = vg_is_variable(s) && addr - s->address < s->bytes;
			if (hit)
				*out = (struct vg_mem){ .start = s->address, .bytes = s->bytes, .kind = VG_MEM_DEVICE,
							.ordinal = c->ordinal, .ctx = c };
		}
	vg_unlock(&c->lock);
	return hit;
}

bool vg_module_variable(uint64_t addr, struct vg_mem *out)
{
	bool hit = false;

	for (uint32_t n = 0; n < VGPU_MAX_CONTEXTS && !hit; n++) {
		struct vg_ctx *c = vg_ctx_by_number(n);

		hit = c && vg_ctx_variable(c, addr, out);
	}
	return hit;
}

/* ---- JIT options ---- */

CUresult vg_jit_parse(struct vg_jit *j, unsigned int n, const CUjit_option *o, void **v)
{
	*j = (struct vg_jit){ .info_size_at = -1, .error_size_at = -1, .wall_at = -1 };
	if (n && (!o || !v))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < n; i++) {
		switch ((int)o[i]) {
		case CU_JIT_INFO_LOG_BUFFER:
			j->info = v[i];
			break;
		case CU_JIT_ERROR_LOG_BUFFER:
			j->error = v[i];
			break;
		case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
			j->info_bytes = (uint32_t)(uintptr_t)v[i];
			j->info_size_at = (int)i;
			break;
		case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
			j->error_bytes = (uint32_t)(uintptr_t)v[i];
			j->error_size_at = (int)i;
			break;
		case CU_JIT_WALL_TIME:
			j->wall_at = (int)i;
			break;
		case CU_JIT_GLOBAL_SYMBOL_NAMES:
		case CU_JIT_GLOBAL_SYMBOL_ADDRESSES:
		case CU_JIT_GLOBAL_SYMBOL_COUNT:
		case CU_JIT_LTO:
			if (v[i])       /* switched off, or none: nothing is asked */
				return vg_unsupported("this JIT option (global symbols, LTO)");
			break;
		default:
			/* Tuning and code style; the device decides these itself. */
			if ((unsigned)o[i] >= CU_JIT_NUM_OPTIONS)
				return CUDA_ERROR_INVALID_VALUE;
		}
	}
	return CUDA_SUCCESS;
}

/* A library compiles when it is first used, so its options are looked at, and what they ask to be told is nothing yet. */
CUresult vg_check_jit_options(unsigned int n, const CUjit_option *options, void **values)
{
	struct vg_jit j;

	VG_TRY(vg_jit_parse(&j, n, options, values));
	if (j.info && j.info_bytes)
		j.info[0] = 0;
	if (j.error && j.error_bytes)
		j.error[0] = 0;
	if (j.info_size_at >= 0)
		values[j.info_size_at] = NULL;
	if (j.error_size_at >= 0)
		values[j.error_size_at] = NULL;
	if (j.wall_at >= 0)
		values[j.wall_at] = NULL;       /* 0.0f */
	return CUDA_SUCCESS;
}

void vg_jit_log(char *to, size_t room, const char *text, uint32_t n, int size_at, void **v)
{
	if (to && room) {
		if (n >= room)
			n = (uint32_t)room - 1;
		memcpy(to, text, n);
		to[n] = 0;
	}
	if (size_at >= 0)
		v[size_at] = (void *)(uintptr_t)n;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int n, CUjit_option *options, void **values)
{
	char log[LOG_BYTES];
	uint32_t used, status;
	struct vg_module *m;
	struct vg_ctx *c;
	uint64_t bytes, start;
	void *linked;
	struct vg_jit j;

	VG_READY();
	if (!module || !image)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_current(&c));
	VG_TRY(vg_jit_parse(&j, n, options, values));
	VG_TRY(vg_check_wrapper(&image, &linked, &bytes));
	start = vg_now_ns();
	status = vg_module_make(c, image, bytes, log, sizeof log, &used, &m);
	free(linked);
	vg_jit_log(j.info, j.info_bytes, log, status ? 0 : used, j.info_size_at, values);
	vg_jit_log(j.error, j.error_bytes, log, status ? used : 0, j.error_size_at, values);
	if (j.wall_at >= 0) {
		float ms = (float)(vg_now_ns() - start) * 1e-6f;

		memcpy(&values[j.wall_at], &ms, sizeof ms);
	}
	/* Nobody asked for the log: the reason still has to reach a person. */
	if (status && used && !j.error)
		vg_say("module not loaded: %s: %s", vgpu_status_text(status), log);
	else if (status == VGPU_ST_NO_BINARY)
		vg_say("module not loaded: it holds no PTX for compute capability %u.%u or less",
		       vg.info[c->ordinal].cc_major, vg.info[c->ordinal].cc_minor);
	if (status)
		return vg_fail(c, status);
	*module = VG_HANDLE(CUmodule, m);
	return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *fatbin)
{
	return cuModuleLoadDataEx(module, fatbin, 0, NULL, NULL);
}

/* Whole file with a NUL behind it; the caller frees. */
CUresult vg_read_image(const char *name, char **out)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	CUresult r = CUDA_ERROR_FILE_NOT_FOUND;
	off_t size;
	char first;
	char *p = NULL;

	if (fd < 0)
		return r;
	size = pread(fd, &first, 1, 0) < 0 ? -1 : lseek(fd, 0, SEEK_END);      /* a folder cannot be read */
	if (size > 0 && (uint64_t)size <= VGPU_GIB && (p = malloc((size_t)size + 1)) != NULL) {
		off_t at = 0;

		while (at < size) {
			ssize_t n = pread(fd, p + at, (size_t)(size - at), at);

			if (n <= 0)
				break;
			at += n;
		}
		p[at] = 0;
		r = at == size ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
		/* A container says its length itself; it may not promise more than the file has. */
		if (r == CUDA_SUCCESS && (size_t)size >= sizeof(struct container)) {
			struct vgpu_cubin cubin;
			struct container c;

			memcpy(&c, p, sizeof c);
			if (c.magic == FATBIN_MAGIC && (c.bytes > (uint64_t)size || c.header_bytes + c.bytes > (uint64_t)size))
				r = CUDA_ERROR_INVALID_IMAGE;
			if (vgpu_cubin_ours(p, (uint64_t)size) && vgpu_cubin_read(p, (uint64_t)size, &cubin))
				r = CUDA_ERROR_INVALID_IMAGE;
			if (vgpu_cubin_elf(p, (uint64_t)size) && !elf_bytes((const unsigned char *)p, (uint64_t)size))
				r = CUDA_ERROR_INVALID_IMAGE;
			if (c.magic == WRAPPER_MAGIC)   /* holds pointers: nothing a file can carry */
				r = CUDA_ERROR_INVALID_IMAGE;
		}
	} else if (size > 0) {
		r = CUDA_ERROR_OUT_OF_MEMORY;
	} else if (size == 0) {
		r = CUDA_ERROR_INVALID_IMAGE;
	}
	close(fd);
	if (r) {
		free(p);
		p = NULL;
	}
	*out = p;
	return r;
}

CUresult cuModuleLoad(CUmodule *module, const char *fname)
{
	char *image;
	CUresult r;

	VG_READY();
	if (!module || !fname)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_read_image(fname, &image));
	r = cuModuleLoadDataEx(module, image, 0, NULL, NULL);
	free(image);
	return r;
}

static CUresult module_of(CUmodule h, struct vg_module **m)
{
	uint32_t e;

	*m = vg_get(VG_MODULE, (uint64_t)(uintptr_t)h);
	if (!*m)
		return CUDA_ERROR_INVALID_HANDLE;
	e = vg_ctx_error((*m)->ctx);
	return e ? vg_fail((*m)->ctx, e) : CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule h)
{
	struct vg_module *m;

	VG_READY();
	m = vg_get(VG_MODULE, (uint64_t)(uintptr_t)h);
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	return m->library ? CUDA_ERROR_NOT_PERMITTED : vg_module_free(m);
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	VG_READY();
	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = eager() ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

/* The function of symbol `index`, made on first request. */
struct vg_func *vg_module_func(struct vg_module *m, uint32_t index)
{
	struct vg_func *f;

	vg_lock(&m->lock);
	f = m->funcs[index];
	if (!f && (f = vg_new(VG_FUNCTION)) != NULL) {
		f->ctx = m->ctx;
		f->module = m;
		f->fn = symbols(m)[index].id;
		f->name = vg_symbol_name(m, &symbols(m)[index]);
		f->carveout = -1;
		m->funcs[index] = f;
		vg_publish(f);
	}
	vg_unlock(&m->lock);
	return f;
}

CUresult cuModuleGetFunction(CUfunction *fn, CUmodule h, const char *name)
{
	const struct vgpu_symbol *s;
	struct vg_module *m;
	struct vg_func *f;
	uint32_t index;

	VG_READY();
	if (!fn || !name)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(module_of(h, &m));
	s = vg_module_find(m, name, &index);
	if (!s || s->kind != VGPU_SYM_FUNC)
		return CUDA_ERROR_NOT_FOUND;
	f = vg_module_func(m, index);
	if (!f)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*fn = VG_HANDLE(CUfunction, f);
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule h)
{
	struct vg_module *m;

	VG_READY();
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(module_of(h, &m));
	*count = 0;
	for (uint32_t i = 0; i < m->nsyms; i++)
		*count += symbols(m)[i].kind == VGPU_SYM_FUNC;
	return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction *fns, unsigned int n, CUmodule h)
{
	struct vg_module *m;
	unsigned int at = 0;

	VG_READY();
	if (!fns || !n)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(module_of(h, &m));
	for (uint32_t i = 0; i < m->nsyms && at < n; i++) {
		struct vg_func *f;

		if (symbols(m)[i].kind != VGPU_SYM_FUNC)
			continue;
		f = vg_module_func(m, i);
		if (!f)
			return CUDA_ERROR_OUT_OF_MEMORY;
		fns[at++] = VG_HANDLE(CUfunction, f);
	}
	return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *ptr, size_t *bytes, CUmodule h, const char *name)
{
	const struct vgpu_symbol *s;
	struct vg_module *m;

	VG_READY();
	if ((!ptr && !bytes) || !name)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(module_of(h, &m));
	s = vg_module_find(m, name, NULL);
	if (!s || !vg_is_variable(s))
		return CUDA_ERROR_NOT_FOUND;
	if (ptr)
		*ptr = s->address;
	if (bytes)
		*bytes = s->bytes;
	return CUDA_SUCCESS;
}
