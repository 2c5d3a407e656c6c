/* SPDX-License-Identifier: MIT */
/*
 * Compiles one function with what it calls: parameters, body (parse.c), shared memory layout, code
 * (cfg.c), constants. Runs on first use, one at a time (compile_lock): asked for by func_info or a module's load, on the context's
 * compiler thread while others launch what is ready; by a launch that nobody has asked about, on the dispatcher's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front.h"
#include "jit.h"
#include "memcheck.h"
#include "verify.h"
#include "debug.h"
#include "optrace.h"

/* Each formal has its place, named or not: a caller fills it. Registers of a vector follow each other. */
static void declare_formal(struct comp *c, struct fparam *p, u32 *reg)
{
	struct func *fn = c->fn;
	bool named = strcmp(p->name, "_");
	struct sym *v = NULL;

	if (named) {
		v = declare(c, p->name, (u32)strlen(p->name), p->is_reg ? V_REG : V_VAR);
		v->type = p->type;
		v->bytes = p->bytes;
		v->align = p->align;
		v->vec = p->vec;
	}
	if (p->is_reg) {
		if (v) {
			v->reg = c->nregs;
			names_reg(c, v, p->name, (u32)strlen(p->name), p->vec ? p->vec : 1);
		}
		*reg = new_reg(c, p->type);
		return;
	}
	if (!fn->entry) {               /* parameters and results open the local frame */
		c->local_bytes = (c->local_bytes + p->align - 1) & ~(u64)(p->align - 1);
		p->off = (u32)c->local_bytes;
		c->local_bytes += p->bytes;
	}
	if (v) {
		v->formal = fn->entry;
		v->space = fn->entry ? SPACE_PARAM : SPACE_LOCAL;
		v->addr = p->off;
	}
}

static void declare_params(struct comp *c)
{
	struct func *fn = c->fn;
	u32 i;

	fn->parg = cneed(c, pool_alloc(&c->m->pool, (fn->nparams + 1) * sizeof(u32)));
	fn->pret = cneed(c, pool_alloc(&c->m->pool, (fn->nrets + 1) * sizeof(u32)));
	if (fn->entry)                  /* in front, where every function finds them */
		c->local_bytes = c->m->local_bytes;
	for (i = 0; i < fn->nparams; i++)
		declare_formal(c, &fn->params[i], &fn->parg[i]);
	for (i = 0; i < fn->nrets; i++)
		declare_formal(c, &fn->rets[i], &fn->pret[i]);
}

static u32 room_for(struct comp *c, u64 off, const struct sym *v)
{
	off = (off + v->align - 1) & ~(u64)(v->align - 1);
	if (v->bytes > 1u << 20 || off > 1u << 20)
		lex_fail(&c->lx, VGPU_ST_INVALID_PTX, "too much .shared memory");
	return (u32)off;
}

/* A function's own variables are one piece; each of the module's is another. Returns where the last of them ends. */
static u32 place_func_shared(struct comp *c)
{
	u32 i, bytes = 0, align = 1, at, end = 0;
	struct map_ent *ent;

	for (i = 0; i < c->nshared; i++) {
		struct sym *v = c->shared[i];

		if (v->dyn || v->defined)
			continue;
		ent = map_find(&c->m->syms, v->name, strlen(v->name));
		if (ent && ent->val == v) {
			room_for(c, 0, v);
			v->addr = reach_place(c->m, v, (u32)v->bytes, v->align);
			v->defined = true;
		} else {
			v->addr = room_for(c, bytes, v);
			bytes = (u32)(v->addr + v->bytes);
			align = v->align > align ? v->align : align;
		}
	}
	at = bytes ? reach_place(c->m, c->fn, bytes, align) : 0;
	for (i = 0; i < c->nshared; i++) {
		struct sym *v = c->shared[i];

		if (v->dyn)
			continue;
		if (!v->defined)
			v->addr += at;
		v->defined = true;
		if (v->addr + v->bytes > end)
			end = (u32)(v->addr + v->bytes);
	}
	if (end > 1u << 21)
		lex_fail(&c->lx, VGPU_ST_INVALID_PTX, "too much .shared memory");
	return end;
}

/* A kernel's variables come behind what the functions have that it calls; what those have placed of the module's stays there. */
static u32 place_kernel_shared(struct comp *c, u32 off)
{
	u32 i, k;

	for (k = 0; k < 2; k++)
		for (i = 0; i < c->nshared; i++) {
			struct sym *v = c->shared[i];

			if (v->dyn || v->defined == (k == 1))
				continue;
			if (!v->defined)
				v->addr = off = room_for(c, off, v);
			if (v->addr + v->bytes > off)
				off = (u32)(v->addr + v->bytes);
		}
	return off;
}

static void place_shared(struct comp *c)
{
	struct func *fn = c->fn;
	u32 i, off, below = 0, dyn_align = fn->dyn_align > 16 ? fn->dyn_align : 16;

	for (i = 0; i < fn->ncallees; i++) {
		struct func *g = fn->callees[i];

		if (g->state != FN_READY) {
			fn->cyclic = true;
			continue;
		}
		fn->cyclic |= g->cyclic;
		below = g->shared_bytes > below ? g->shared_bytes : below;
		dyn_align = g->dyn_align > dyn_align ? g->dyn_align : dyn_align;
	}
	/* in a cycle nobody knows what the others need: room for all functions */
	if (fn->cyclic) {
		below = c->m->func_shared > below ? c->m->func_shared : below;
		dyn_align = dyn_align > 128 ? dyn_align : 128;
	}
	fn->fixed_shared = !fn->ncallees && !fn->cyclic && !fn->reserved;
	for (i = 0; i < c->nshared; i++)
		if (c->shared[i]->dyn) {
			fn->fixed_shared = false;
			if (c->shared[i]->align > dyn_align)
				dyn_align = c->shared[i]->align;
		}
	off = fn->entry ? place_kernel_shared(c, below) : place_func_shared(c);
	fn->shared_bytes = off > below ? off : below;
	fn->dyn_align = dyn_align;
	for (i = 0; i < c->nshared; i++)
		if (c->shared[i]->dyn)
			c->shared[i]->addr = (off + dyn_align - 1) & ~(dyn_align - 1);
}

static void build_cpool(struct comp *c)
{
	struct func *fn = c->fn;
	u32 i, l;

	fn->cpool = aligned_alloc(64, (c->cpool_bytes + 127) & ~127u);
	if (!fn->cpool && c->cpool_bytes)
		cneed(c, NULL);
	for (i = 0; i < c->nk; i++) {
		struct konst *k = &c->k[i];
		u64 v = k->bits + (k->sym ? k->sym->addr : 0);

		for (l = 0; l < LANES; l++)
			if (k->w == 1)
				((u64 *)(fn->cpool + k->off))[l] = v;
			else
				((u32 *)(fn->cpool + k->off))[l] = (u32)v;
	}
	fn->cpool_bytes = c->cpool_bytes;
	if (!fn->jsrc || !(fn->jsrc->shared_at = pool_alloc(&fn->jsrc->pool, (c->nshared + 1) * sizeof(u64))))
		return;
	for (i = 0; i < c->nshared; i++)
		fn->jsrc->shared_at[fn->jsrc->nshared++] = c->shared[i]->addr;
}

/* Deepest chain of .local frames below fn; a cycle gets what the context's limit says now, whatever it said when a callee was compiled. */
static u32 local_depth(const struct comp *c)
{
	struct func *fn = c->fn;
	u32 i, n, most = stack_bytes(c), max = fn->indirect || fn->cyclic ? most : 0;

	if (max)
		fn->stack = max;
	for (i = 0; i < fn->ncallees; i++) {
		const struct func *g = fn->callees[i];

		if (g->state != FN_READY)
			continue;
		n = g->local_total + (g->stack && g->stack < most ? most - g->stack : 0);
		max = n > max ? n : max;
		if (g->stack)
			fn->stack = most;
	}
	n = ((fn->local_bytes + 15) & ~15u) + max;
	return n > MAX_LOCAL_TOTAL ? MAX_LOCAL_TOTAL : n;
}

/*
 * A call through a pointer may reach any function of the module. One that does not compile is no
 * reason to reject the caller: reaching it is a fault at run time.
 */
static void compile_targets(struct comp *c)
{
	struct func *fn = c->fn;
	char log[128];
	u32 i, k, named = fn->ncallees;

	for (i = 0; i < c->m->nfuncs; i++) {
		struct func *g = c->m->funcs[i];

		if (g->entry || !g->has_body || g->state == FN_PARSING || func_compile(g, log, sizeof(log)))
			continue;
		for (k = 0; k < named && fn->callees[k] != g; k++)
			;
		if (k < named)
			continue;
		fn->callees = cneed(c, xgrow(fn->callees, &fn->callees_cap, fn->ncallees + 1, sizeof(*fn->callees)));
		fn->callees[fn->ncallees++] = g;
	}
}

static void compile(struct comp *c)
{
	struct func *fn = c->fn;
	u32 i;

	if (!fn->has_body)
		lex_fail(&c->lx, VGPU_ST_NOT_SUPPORTED, "'%s' is not defined in this module", fn->name);
	if (fn->refused)
		lex_fail(&c->lx, VGPU_ST_NOT_SUPPORTED, "'%s': %s", fn->name, fn->refused);
	declare_params(c);
	stack_begin(c);
	parse_body(c);
	for (i = 0; i < c->nlabels; i++) {
		struct label *l = c->labels[i];

		if (!l->defined && !l->alias) {
			c->lx.tline = l->ref_line;
			c->lx.tcol = l->ref_col;
			FAIL(c, "label '%s' is not defined", l->name);
		}
	}
	fn->local_bytes = (u32)((c->local_bytes + 15) & ~15ull);
	for (i = 0; i < fn->ncallees; i++) {
		struct func *g = fn->callees[i];
		u32 st = g->state == FN_PARSING ? 0 : func_compile(g, c->lx.log, c->lx.log_bytes);

		if (st) {
			c->bail.status = st;
			longjmp(c->bail.at, 1);
		}
	}
	if (fn->calls_ptr)
		compile_targets(c);
	place_shared(c);
	cfg_finish(c);
	build_cpool(c);
	fn->prints |= fn->indirect || fn->cyclic;
	fn->reserved |= fn->indirect || fn->cyclic;
	fn->anywhere = fn->calls_ptr || fn->cyclic;
	/* through a pointer it may get at what any function of its module calls, and by a launch too; cudaMalloc takes of the heap */
	if (fn->indirect || fn->cyclic || fn->launches)
		fn->uses |= (map_find(&fn->m->syms, "malloc", 6) || map_find(&fn->m->syms, "free", 4) ||
			      map_find(&fn->m->syms, "__cuda_syscall_aligned_malloc", 29) ? ENGINE_USES_HEAP : 0) |
			    (map_find(&fn->m->syms, "vprintf", 7) ? ENGINE_USES_PRINTF : 0) | (fn->launches ? ENGINE_USES_HEAP : 0);
	for (i = 0; i < fn->ncallees; i++) {
		fn->uses |= fn->callees[i]->uses;
		fn->prints |= fn->callees[i]->prints;
		fn->reserved |= fn->callees[i]->reserved;
		fn->anywhere |= fn->callees[i]->anywhere;
	}
	fn->local_total = local_depth(c);
}

/* Of a function before it is compiled: the one that does the work of several blocks. It has no callers, and nobody knows its name. */
static struct func *coarse_of(struct func *fn)
{
	struct func *many = malloc(sizeof(*many));

	if (many) {
		*many = *fn;
		many->why = NULL;       /* of an earlier try: fn's */
		many->of = fn;
		many->further = jit_coarse ? jit_coarse : COARSE - 1;
	}
	return many;
}

void func_free(struct func *fn)
{
	if (fn->coarse) {
		func_free(fn->coarse);
		free(fn->coarse);
	}
	if (fn->roomy) {
		func_free(fn->roomy);
		free(fn->roomy);
	}
	jit_free(fn);
	free(fn->code);
	free(fn->cpool);
	free(fn->pro);
	free(fn->why);
	free(fn->callees);
}

#define MAX_COMPILE_DEPTH 128   /* a function compiles its callees first, on the C stack */

/* What those have taken that are compiled already for the function, or the module, that was asked for. */
static __thread u64 tree_work;
static __thread bool tree_full, tree_batch;

void compile_batch(bool on)
{
	tree_batch = on;
	tree_work = 0;
	tree_full = false;
}

bool compile_full(void)
{
	return tree_full;
}

bool compile_too_much(const struct func *fn)
{
	tree_full |= tree_work + fn->work > MAX_TREE_WORK;
	return tree_full || fn->work > MAX_WORK;
}

/* All but its word that it is ready. coarse: would a function that does the work of several blocks be faster? */
static u32 compile_one(struct func *fn, char *log, size_t log_bytes, enum pays *coarse)
{
	static __thread u32 depth;
	struct comp *c;
	u32 st;

	if (depth >= MAX_COMPILE_DEPTH) {
		if (log && log_bytes)
			snprintf(log, log_bytes, "1:1: '%s': calls are nested too deeply", fn->name);
		return VGPU_ST_NOT_SUPPORTED;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return VGPU_ST_OUT_OF_MEMORY;
	c->fn = fn;
	c->m = fn->m;
	c->syms.pool = c->families.pool = &c->pool;
	c->cc = OPND_NONE;
	fn->state = FN_PARSING;
	lex_init(&c->lx, fn->has_body ? fn->body : fn->m->text, fn->end ? fn->end : fn->m->end, fn->has_body ? fn->body_line : 1,
		 &c->bail, log, log_bytes);
	c->lx.tline = c->lx.line;
	c->lx.line_start -= fn->body_col;
	fn->work = 0;
	if (!depth++ && !tree_batch) {
		tree_work = 0;
		tree_full = false;
	}
	if (!setjmp(c->bail.at)) {
		compile(c);
		if (fn->m->e->mc)
			mc_func(fn);
		if (fn->m->e->vf)
			vf_func(fn);
		if (fn->m->e->ops || fn->m->e->dbg)
			optrace_func(fn);
		if (fn->m->e->dbg)
			dbg_func(fn);
		*coarse = c->coarse;
		st = VGPU_ST_OK;
	} else {
		st = c->bail.status;
		/* What came too late in a large tree or module is no worse for it: alone it may have room. */
		fn->state = st == VGPU_ST_OUT_OF_MEMORY || (tree_full && (tree_batch || depth > 1)) ? FN_NEW : FN_BAD;
		fn->status = st;
		free(fn->why);
		fn->why = log && log_bytes ? strdup(log) : NULL;
		while (fn->ncallees)            /* it may be read once more */
			fn->callees[--fn->ncallees]->called_by = 0;
		free(fn->code);
		free(fn->cpool);
		free(fn->pro);
		free(fn->callees);
		jit_free(fn);
		fn->code = NULL;
		fn->names = NULL;
		fn->cpool = NULL;
		fn->pro = NULL;
		fn->npro = 0;
		fn->callees = NULL;
		fn->callees_cap = 0;
	}
	depth--;
	tree_work += fn->work;
	map_free(&c->syms);
	map_free(&c->families);
	pool_free(&c->pool);
	free(c->code);
	free(c->regs);
	free(c->k);
	free(c->khash);
	free(c->labels);
	free(c->shared);
	free(c->rnames);
	free(c->rsame);
	free(c->unames);
	free(c);
	return st;
}

/* What fn calls is asked for once more, by another one of the same number. */
static void forget_calls(struct func *fn)
{
	u32 i;

	for (i = 0; i < fn->ncallees; i++)
		fn->callees[i]->called_by = 0;
}

/* What it is refused for is nobody's mistake: there is fn. */
bool func_coarse(struct func *fn)
{
	struct func *many = fn->coarse;
	enum pays none;

	if (many->state != FN_NEW)
		return many->state == FN_READY;
	forget_calls(fn);
	if (compile_one(many, NULL, 0, &none))
		return false;
	__atomic_store_n(&many->state, FN_READY, __ATOMIC_RELEASE);
	return true;
}

u32 func_compile(struct func *fn, char *log, size_t log_bytes)
{
	enum pays coarse;
	struct func *many;
	u32 st;

	if (fn->state == FN_READY)
		return VGPU_ST_OK;
	if (fn->state == FN_BAD) {
		if (log && log_bytes)
			snprintf(log, log_bytes, "%s", fn->why ? fn->why : "");
		return fn->status;
	}
	many = fn->entry ? coarse_of(fn) : NULL;
	st = compile_one(fn, log, log_bytes, &coarse);
	if (!st && many && coarse != COARSE_NOT) {
		fn->coarse = many;
		if (coarse == COARSE_PAYS) {
			fn->tune.state = TUNE_CHOSEN;
			/* a loop that strips go round together may be faster with one block's vectors, which stay in registers */
			fn->tune.again = fn->m->e->lanes == &lanes_avx512 ? 0 : TUNED;
		}
		if (coarse == COARSE_PAYS || fn->m->e->vf)
			func_coarse(fn);
	} else if (many) {
		func_free(many);
		free(many);
	}
	/* Release: all of it before the word. Partner: func_is_ready() */
	if (!st)
		__atomic_store_n(&fn->state, FN_READY, __ATOMIC_RELEASE);
	return st;
}

/* A function that is ready: once more, with the stacks that the context has now. NULL: that failed. With compile_lock held. */
static struct func *with_room(struct func *fn)
{
	struct func *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	memcpy(f, fn, offsetof(struct func, state));
	forget_calls(fn);
	if (!func_compile(f, NULL, 0))
		return f;
	func_free(f);
	free(f);
	return NULL;
}

struct func *func_roomy(struct func *fn)
{
	u32 want = __atomic_load_n(&fn->m->e->stack, __ATOMIC_RELAXED);
	struct func *f;

	/* Acquire: it is ready. Partner: below */
	while (fn && fn->stack && fn->stack < want) {
		f = __atomic_load_n(&fn->roomy, __ATOMIC_ACQUIRE);
		if (!f) {
			pthread_mutex_lock(&fn->m->e->compile_lock);
			f = fn->roomy;
			if (!f) {
				f = with_room(fn);
				__atomic_store_n(&fn->roomy, f, __ATOMIC_RELEASE);
			}
			pthread_mutex_unlock(&fn->m->e->compile_lock);
		}
		fn = f;
	}
	return fn;
}

u32 func_ready(struct func *fn, char *log, size_t log_bytes)
{
	u32 st;

	if (func_is_ready(fn))
		return VGPU_ST_OK;
	pthread_mutex_lock(&fn->m->e->compile_lock);
	st = func_compile(fn, log, log_bytes);
	pthread_mutex_unlock(&fn->m->e->compile_lock);
	return st;
}
