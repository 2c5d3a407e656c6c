/* SPDX-License-Identifier: MIT */
/*
 * The engine's face: struct engine_ops. Called by the context's dispatcher only (see engine.h).
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cpu.h"
#include "debug.h"
#include "devrt.h"
#include "gen.h"
#include "jit.h"
#include "lanes.h"
#include "memcheck.h"
#include "optrace.h"
#include "rt.h"
#include "snap.h"
#include "verify.h"

#define SM_REGS 65536u          /* of a multiprocessor: CUDA programming guide, technical specifications */
#define MIN_REGS 16u

/* the table of functions, and the lives of its places */
#define FUNCS_BYTES (MAX_FUNCS * (sizeof(struct func *) + sizeof(u16)))

static void cpu_close(struct engine *e)
{
	u32 i;

	rt_stop(e);
	devrt_close(e);
	for (i = 0; i < e->nmodules; i++)
		if (e->modules[i])
			module_close(e->modules[i]);
	free(e->modules);
	if (e->funcs)
		munmap(e->funcs, FUNCS_BYTES);
	jit_close(e);
	for (i = 0; i < ARENA_CLASSES; i++)
		arena_forget(e, i);
	mc_close(e);
	vf_close(e);
	optrace_close(e);
	dbg_close(e);
	snap_drop(e);
	heap_close(e);
	pthread_mutex_destroy(&e->lock);
	pthread_mutex_destroy(&e->compile_lock);
	pthread_mutex_destroy(&e->arena_lock);
	pthread_mutex_destroy(&e->heap_lock);
	free(e);
}

/* What the opener wants, else the environment, else the JIT. AUTO: the environment has a word that is none of ours. */
static u32 choose_mode(u32 mode)
{
	const char *want = getenv("VGPU_ENGINE");

	if (mode != ENGINE_MODE_AUTO)
		return mode;
	return want && *want ? engine_mode_named(want) : ENGINE_MODE_JIT;
}

static u32 cpu_open(const struct engine_env *env, struct engine **out)
{
	struct engine *e;
	void *funcs;
	pthread_mutexattr_t soon;
	bool verify;

	if (!env->done || !env->fault || !env->print || !env->cores || env->cores > 1024 ||
	    env->arena_base < env->span_base || env->arena_bytes > env->span_bytes ||
	    env->arena_base - env->span_base > env->span_bytes - env->arena_bytes || choose_mode(env->mode) == ENGINE_MODE_AUTO)
		return VGPU_ST_INVALID;
	e = aligned_alloc(64, sizeof(*e));
	if (!e)
		return VGPU_ST_OUT_OF_MEMORY;
	memset(e, 0, sizeof(*e));
	e->env = *env;
	e->grids.next = e->grids.prev = &e->grids;
	e->lanes = lanes_get();
	e->mode = choose_mode(env->mode);
	verify = e->mode == ENGINE_MODE_VERIFY;
	if (e->mode == ENGINE_MODE_DEBUG)
		e->env.cores = 1;       /* one worker: while a block stands, all do */
	if (verify)
		e->mode = ENGINE_MODE_JIT;
	/* without it there is nothing to compare */
	if (e->mode == ENGINE_MODE_JIT && jit_open(e) < 0) {
		e->mode = ENGINE_MODE_INTERP;
		verify = false;
	}
	e->stack = STACK_BYTES;
	e->arena_next = (env->arena_base + 65535) & ~65535ull;
	e->arena_end = env->arena_base + env->arena_bytes;
	/* held for less than it takes to sleep: who finds it taken looks again first */
	pthread_mutexattr_init(&soon);
	pthread_mutexattr_settype(&soon, PTHREAD_MUTEX_ADAPTIVE_NP);
	pthread_mutex_init(&e->lock, &soon);
	pthread_mutexattr_destroy(&soon);
	pthread_mutex_init(&e->compile_lock, NULL);
	pthread_mutex_init(&e->arena_lock, NULL);
	pthread_mutex_init(&e->heap_lock, NULL);
	fault_init();
	tex_init();
	/* untouched pages cost nothing, whatever malloc() keeps account of; workers read it without a lock */
	funcs = mmap(NULL, FUNCS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	e->funcs = funcs == MAP_FAILED ? NULL : funcs;
	e->funcs_life = e->funcs ? (u16 *)(e->funcs + MAX_FUNCS) : NULL;
	if (!e->funcs || (e->mode == ENGINE_MODE_MEMCHECK && mc_open(e)) || (e->mode == ENGINE_MODE_OPS && optrace_open(e)) ||
	    (e->mode == ENGINE_MODE_DEBUG && dbg_open(e)) ||
	    (verify && vf_open(e)) || !tstate_get(e) || (alone_open(e), rt_start(e) < 0)) {
		cpu_close(e);
		return VGPU_ST_OUT_OF_MEMORY;
	}
	*out = e;
	return VGPU_ST_OK;
}

static u32 cpu_module_load(struct engine *e, const void *image, size_t bytes, u32 *module, char *log,
			   size_t log_bytes)
{
	struct module *m, **grown;
	u32 st, at = 0;

	while (at < e->nmodules && e->modules[at])
		at++;
	if (at == e->nmodules) {
		pthread_mutex_lock(&e->lock);
		/* an array of pointers, grown by one: modules are few and loaded rarely */
		grown = realloc(e->modules, (at + 1) * sizeof(*grown));
		if (grown) {
			grown[at] = NULL;
			e->modules = grown;
			e->nmodules++;
		}
		pthread_mutex_unlock(&e->lock);
		if (!grown)
			return VGPU_ST_OUT_OF_MEMORY;
	}
	st = module_open(e, image, bytes, &m, log, log_bytes);
	if (st)
		return st;
	m->id = at + 1;
	e->modules[at] = m;
	*module = m->id;
	return VGPU_ST_OK;
}

static struct module *module_get(struct engine *e, u32 id)
{
	return id && id <= e->nmodules ? e->modules[id - 1] : NULL;
}

static u32 cpu_module_check(struct engine *e, u32 id, char *log, size_t log_bytes)
{
	struct module *m = module_get(e, id);

	return m ? module_bodies(m, log, log_bytes) : VGPU_ST_BAD_HANDLE;
}

static u32 cpu_module_unload(struct engine *e, u32 id)
{
	struct module *m = module_get(e, id);
	struct grid *g;
	bool busy;

	if (!m)
		return VGPU_ST_BAD_HANDLE;
	pthread_mutex_lock(&e->lock);
	busy = devrt_busy(e);           /* works that have not begun know functions by number */
	for (g = e->grids.next; g != &e->grids; g = g->next)
		busy |= g->fn && (g->fn->m == m || g->fn->anywhere);
	pthread_mutex_unlock(&e->lock);
	if (busy)
		return VGPU_ST_BUSY;
	e->modules[id - 1] = NULL;
	module_close(m);
	return VGPU_ST_OK;
}

static u32 cpu_module_symbol(struct engine *e, u32 id, u32 i, struct engine_symbol *out)
{
	struct module *m = module_get(e, id);
	struct sym *s;

	if (!m)
		return VGPU_ST_BAD_HANDLE;
	if (i >= m->nlist)
		return VGPU_ST_NOT_FOUND;
	s = m->list[i];
	memset(out, 0, sizeof(*out));
	out->name = s->name;
	if (s->what == V_FUNC) {
		out->kind = ENGINE_SYM_FUNC;
		out->id = s->fn->id;
		return VGPU_ST_OK;
	}
	out->kind = s->opaque == OPAQUE_TEXTURE ? ENGINE_SYM_TEXTURE : s->opaque == OPAQUE_SURFACE ? ENGINE_SYM_SURFACE :
		    s->opaque ? ENGINE_SYM_SAMPLER : s->space == SPACE_CONST ? ENGINE_SYM_CONST : s->managed ? ENGINE_SYM_MANAGED : ENGINE_SYM_GLOBAL;
	/* .extern without a definition: known by name, nowhere in memory */
	out->address = s->ext ? 0 : s->addr;
	out->bytes = s->ext ? 0 : s->bytes;
	return VGPU_ST_OK;
}

static u64 cpu_managed(struct engine *e, u64 va, u64 bytes)
{
	e->managed_told = true;
	e->managed_va = va;
	e->managed_bytes = bytes;
	return e->managed_wanted;
}

static u64 cpu_module_bytes(struct engine *e, u32 id)
{
	struct module *m = module_get(e, id);

	return m ? m->var_bytes : 0;
}

static u64 cpu_own_bytes(struct engine *e)
{
	struct mallinfo2 m = mallinfo2();

	return e->code_used + m.uordblks + m.hblkhd;
}

static u32 cpu_func_info(struct engine *e, u32 id, struct engine_func_info *out, char *log,
			 size_t log_bytes)
{
	struct func *fn;
	char own[256];
	u32 st, cap;

	if (log && log_bytes)
		*log = 0;
	fn = func_get(e, id);
	if (!fn || !fn->entry)
		return VGPU_ST_BAD_HANDLE;
	/* the reason is kept for later callers, so there is always a buffer */
	st = func_ready(fn, log && log_bytes ? log : own, log && log_bytes ? log_bytes : sizeof(own));
	if (st)
		return st;
	/* whoever asked for the JIT by name wants to know now; a reason in the log of a success is a warning */
	if (e->env.mode == ENGINE_MODE_JIT && e->mode == ENGINE_MODE_JIT && !fn->jits && !jit_get(fn, SPEC_LINEAR) && log && log_bytes)
		snprintf(log, log_bytes, "interpreted: too large for the JIT");
	memset(out, 0, sizeof(*out));
	out->id = id;
	out->name = fn->name;
	out->nparams = fn->nparams;
	out->param_bytes = fn->param_bytes;
	out->params = fn->eparams;
	out->max_threads = fn->max_threads;
	memcpy(out->reqntid, fn->reqntid, sizeof(out->reqntid));
	/* nothing depends on it here but what programs are told: a bound that was asked for holds */
	cap = fn->max_regs ? fn->max_regs : fn->m->max_regs;
	out->regs = cap && cap < fn->regs ? cap : fn->regs;
	/* as an assembler allots them: the largest block that may be launched has room on a multiprocessor, as often as is asked for */
	cap = SM_REGS / ((fn->max_threads + LANES - 1) / LANES * LANES * (fn->min_blocks ? fn->min_blocks : 1)) & ~7u;
	out->regs = out->regs > cap ? cap < MIN_REGS ? MIN_REGS : cap : out->regs;
	out->shared_static = fn->shared_bytes;
	out->local_bytes = fn->local_total;
	out->const_bytes = (u32)fn->m->const_bytes;
	out->uses = fn->uses;
	memcpy(out->cluster, fn->reqcluster, sizeof(out->cluster));
	out->max_cluster = fn->max_cluster;
	out->explicit_cluster = fn->explicit_cluster;
	out->ptx_version = fn->m->version;
	out->binary_version = fn->m->target;
	return VGPU_ST_OK;
}

static const char *cpu_name_of(struct engine *e, uint32_t id)
{
	const struct func *fn = func_get(e, id);

	return fn ? fn->name : NULL;
}

static int cpu_described(struct engine *e, u32 id)
{
	const struct func *fn = func_get(e, id);

	return !fn || func_is_ready(fn);
}

/* These look at modules and memory while grids run. */
static int cpu_apart(struct engine *e)
{
	return !e->mc && !e->vf && !e->ops && !e->dbg;
}

static void cpu_describe(char *text, size_t bytes)
{
	const char *isa = lanes_get()->name;
	u32 mode = choose_mode(ENGINE_MODE_AUTO);

	if ((mode == ENGINE_MODE_JIT || mode == ENGINE_MODE_VERIFY) && !strcmp(isa, "sse2"))
		mode = ENGINE_MODE_INTERP;      /* jit_open() says the same */
	snprintf(text, bytes, "cpu: %s (%s)", mode == ENGINE_MODE_JIT ? "JIT" : mode == ENGINE_MODE_VERIFY ? "JIT, verified" :
		 mode == ENGINE_MODE_MEMCHECK ? "memory checker" : mode == ENGINE_MODE_OPS ? "interpreter, traced" : mode == ENGINE_MODE_DEBUG ? "interpreter, debugged" : "interpreter",
		 !strcmp(isa, "avx512") ? "AVX-512" : !strcmp(isa, "avx2") ? "AVX2" : "SSE2");
}

/* Frames here are others than the compiler's that the limit was measured with: a register that lives on over a call is 4 or 8 bytes, a small one too. */
static uint32_t cpu_stack(struct engine *e, uint64_t bytes)
{
	u32 n = bytes > MAX_STACK / 2 ? MAX_STACK : 2 * (((u32)bytes + 15) & ~15u);

	__atomic_store_n(&e->stack, n < STACK_BYTES ? STACK_BYTES : n, __ATOMIC_RELAXED);
	return VGPU_ST_OK;
}

static const void *cpu_core(struct engine *e, uint64_t *bytes)
{
	/* Acquire: what is in it. Partner: snap_keep(). */
	const void *p = __atomic_load_n(&e->core, __ATOMIC_ACQUIRE);

	*bytes = p ? e->core_bytes : 0;
	return p;
}

static void cpu_note_alloc(struct engine *e, uint64_t addr, uint64_t bytes, int alive)
{
	if (alive == ENGINE_MAPPED)
		alone_never(e);
	mc_note(e, addr, bytes, alive != 0, alive == ENGINE_FRESH);
	vf_note(e, addr, bytes, alive != 0, alive == ENGINE_WINDOW);
}

static u32 cpu_copy(struct engine *e, void *dst, const void *src, size_t bytes)
{
	bool beside = (u64)dst >= e->env.arena_base;
	u32 st;

	if (beside)
		alone_enter(e);
	st = mem_copy(e, dst, src, bytes);
	if (beside)
		alone_leave(e);
	if (e->mc && !st)
		mc_copied(e, (u64)dst, (u64)src, bytes);
	return st;
}

static u32 cpu_fill(struct engine *e, void *dst, u32 value, unsigned elem, size_t count)
{
	bool beside = (u64)dst >= e->env.arena_base;
	u32 st;

	if (beside)
		alone_enter(e);
	st = mem_fill(e, dst, value, elem, count);
	if (beside)
		alone_leave(e);
	if (e->mc && !st)
		mc_wrote(e, (u64)dst, elem * count);
	return st;
}

static int cpu_beside(struct engine *e, int entered)
{
	if (entered < 0) {
		alone_enter(e);
		return 1;
	}
	if (entered)
		alone_leave(e);
	return 0;
}

static u32 cpu_gemm(struct engine *e, u32 op, const struct vgpu_body_gemm *b, const struct vgpu_gemm *p, u64 cookie)
{
	u64 bytes = vgpu_gemm_bytes(p->type_c);

	/* with what lies between columns and matrices: nothing is told that is none */
	if (e->mc && b->flags & VGPU_GEMM_POINTERS)
		mc_wrote(e, 0, ~0ull);
	else if (e->mc && p->m && p->n)
		mc_wrote(e, b->c, ((b->batch - 1) * p->stride_c + (u64)(p->n - 1) * p->ldc + p->m) * bytes);
	return rt_gemm(e, op, b, p, cookie);
}

const struct engine_ops engine_cpu = {
	.name = "cpu",
	.describe = cpu_describe,
	.open = cpu_open,
	.close = cpu_close,
	.module_load = cpu_module_load,
	.module_check = cpu_module_check,
	.module_unload = cpu_module_unload,
	.managed = cpu_managed,
	.module_symbol = cpu_module_symbol,
	.module_bytes = cpu_module_bytes,
	.own_bytes = cpu_own_bytes,
	.func_info = cpu_func_info,
	.name_of = cpu_name_of,
	.described = cpu_described,
	.apart = cpu_apart,
	.launch = rt_launch,
	.gemm = cpu_gemm,
	.copy = cpu_copy,
	.fill = cpu_fill,
	.beside = cpu_beside,
	.note_alloc = cpu_note_alloc,
	.heap = heap_place,
	.stack = cpu_stack,
	.core = cpu_core,
};
