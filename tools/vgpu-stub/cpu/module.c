/* SPDX-License-Identifier: MIT */
/*
 * Loading a module: one pass over the text that reads everything at module level and only notes
 * where bodies are (they are compiled on first use), then the variables get their memory.
 * The image is the caller's and stays in place; names point into the module's own pool.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../fw-protocol/vgpu_cubin.h"
#include "../../../fw-protocol/vgpu_texture.h"
#include "../cc.h"
#include "jit.h"
#include "memcheck.h"
#include "verify.h"
#include "fatbin.h"
#include "front.h"

#define MAX_CONST_BYTES 65536

struct init {                           /* "= ..." of a variable, read when addresses are known */
	struct init *next;
	struct sym *v;
	const char *p;
	u32 line;
};

struct alias {                          /* .alias name, target; resolved behind the last line */
	struct alias *next;
	struct sym *name;
	const char *target;
	u32 ntarget, line, col;
};

/* The number a function pointer holds: outside any span, so that a call checks it first. */
#define FNPTR_TAG 0x00f0000000000000ull

static void add_sym(struct lex *lx, struct module *m, struct sym *s, size_t n, bool exported)
{
	if (map_put(&m->syms, s->name, n, s) < 0)
		lex_fail(lx, VGPU_ST_OUT_OF_MEMORY, "out of memory");
	if (exported) {
		m->list = lex_need(lx, xgrow(m->list, &m->list_cap, m->nlist + 1, sizeof(*m->list)));
		m->list[m->nlist++] = s;
	}
}

static _Noreturn void twice(struct lex *lx, u32 line, u32 col, const char *name)
{
	lx->tline = line;
	lx->tcol = col;
	lex_fail(lx, VGPU_ST_INVALID_PTX, "'%s' is declared twice", name);
}

static bool same_shape(const struct sym *a, const struct sym *b)
{
	u32 i;

	if (a->type != b->type || a->ndims != b->ndims || a->vec != b->vec)
		return false;
	for (i = a->dyn || b->dyn ? 1 : 0; i < a->ndims; i++)
		if (a->dims[i] != b->dims[i])
			return false;
	return true;
}

/* A second declaration: any number of .extern ones, one definition. */
static void join_var(struct lex *lx, struct module *m, struct sym *o, struct sym *v, u32 line, u32 col)
{
	if (o->what != V_VAR || o->space != v->space || (!v->ext && !o->ext) || !same_shape(o, v))
		twice(lx, line, col, v->name);
	if (v->ext)
		return;
	if (v->link == LINK_NONE) {
		lx->tline = line;
		lx->tcol = col;
		lex_fail(lx, VGPU_ST_INVALID_PTX, "'%s' is declared .extern and defined without .visible", v->name);
	}
	o->ext = false;
	o->link = v->link;
	o->bytes = v->bytes;
	o->align = v->align;
	o->dyn = v->dyn;
	o->dims = v->dims;
	if (m->inits && m->inits->v == v)
		m->inits->v = o;
}

static void one_var(struct lex *lx, struct module *m, const struct sym *head)
{
	struct sym *v = lex_need(lx, pool_alloc(&m->pool, sizeof(*v)));
	u32 n, line = lx->tline, col = lx->tcol;
	struct map_ent *old;

	*v = *head;
	parse_var_name(lx, v, &m->pool, &n);
	if (v->opaque) {
		v->bytes = v->bytes / 8 * VGPU_TEXTURE_ROOM;
		v->align = VGPU_TEXTURE_ROOM;
	}
	if (lx->tok == '=') {
		struct init *in = lex_need(lx, pool_alloc(&m->pool, sizeof(*in)));

		if ((v->space != SPACE_GLOBAL && v->space != SPACE_CONST) || v->ext)
			lex_fail(lx, VGPU_ST_INVALID_PTX, "'%s' cannot have an initialiser", v->name);
		in->v = v;
		in->p = lx->p;
		in->line = lx->line;
		in->next = m->inits;
		lex_next(lx);
		if (v->dyn) {           /* name[] = { ... }: counted */
			v->dims[0] = skip_init(lx);
			v->bytes = type_bytes(v->type);
			for (u32 i = 0; i < v->ndims; i++)
				v->bytes *= v->dims[i];
			v->dyn = !v->dims[0];
		} else if (lx->tok == '{') {
			lex_skip_braces(lx);
		} else {
			skip_init(lx);
		}
		if (!v->opaque)         /* of a sampler: its modes */
			m->inits = in;
	}
	if (v->dyn && !v->ext)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "'%s' has an incomplete type", v->name);
	if (v->space == SPACE_LOCAL) {
		m->local_bytes = (m->local_bytes + v->align - 1) & ~(u64)(v->align - 1);
		v->addr = m->local_bytes;
		m->local_bytes += v->bytes;
		if (m->local_bytes > MAX_LOCAL)
			lex_fail(lx, VGPU_ST_INVALID_PTX, "more than %u bytes of .local", MAX_LOCAL);
	}
	old = map_find(&m->syms, v->name, n);
	if (old)
		join_var(lx, m, old->val, v, line, col);
	else
		add_sym(lx, m, v, n, v->space == SPACE_GLOBAL || v->space == SPACE_CONST);
}

static void module_var(struct lex *lx, struct module *m, u8 link, struct sym *head)
{
	struct family f;

	head->what = V_VAR;
	head->space = lex_is(lx, "global") ? SPACE_GLOBAL : lex_is(lx, "const") ? SPACE_CONST :
		      lex_is(lx, "local") ? SPACE_LOCAL : SPACE_SHARED;
	head->fixed = head->space == SPACE_LOCAL;
	head->link = link;
	head->ext = link == LINK_EXTERN;
	lex_next(lx);
	/* .const[2] and the like: old banks */
	if (head->space == SPACE_CONST && lex_accept(lx, '[')) {
		lex_expect(lx, TK_INT);
		lex_expect(lx, ']');
	}
	parse_var_type(lx, head);
	if (head->type == T_PRED)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "a predicate is no variable");
	if ((head->opaque || head->managed || link == LINK_COMMON) && head->space != SPACE_GLOBAL)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "this is for .global variables");
	do {
		for (parse_family(lx, &f); family_next(lx, &f, &m->pool); )
			one_var(lx, m, head);
	} while (lex_accept(lx, ','));
	lex_expect(lx, ';');
}

static bool same_params(const struct fparam *a, u32 na, const struct fparam *b, u32 nb)
{
	u32 i;

	for (i = 0; na == nb && i < na; i++)
		if (a[i].type != b[i].type || a[i].is_reg != b[i].is_reg || a[i].bytes != b[i].bytes || a[i].vec != b[i].vec)
			return false;
	return na == nb;
}

static bool same_prototype(const struct func *a, const struct func *b)
{
	return a->entry == b->entry && same_params(a->params, a->nparams, b->params, b->nparams) &&
	       same_params(a->rets, a->nrets, b->rets, b->nrets);
}

static void func_head(struct lex *lx, struct module *m, struct func *fn, u32 *n, u32 *line, u32 *col)
{
	struct sym ignored = { 0 };
	u32 total, i;

	lex_next(lx);
	if (!fn->entry) {
		while (lx->tok == TK_DIR && lex_is(lx, "attribute"))
			parse_attribute(lx, &ignored);
		if (lex_accept(lx, '('))
			parse_params(lx, m, PARAMS_RET, &fn->rets, &fn->nrets, &total);
	}
	*n = lx->n;
	*line = lx->tline;
	*col = lx->tcol;
	if (lx->n == 1 && *lx->s == '_')
		lex_fail(lx, VGPU_ST_INVALID_PTX, "'_' is no name");
	fn->name = lex_need(lx, pool_str(&m->pool, lx->s, lx->n));
	lex_expect(lx, TK_ID);
	if (lex_accept(lx, '('))
		parse_params(lx, m, fn->entry ? PARAMS_ENTRY : 0, &fn->params, &fn->nparams, &fn->param_bytes);
	for (i = 0; i < fn->nparams; i++)
		if (fn->params[i].opaque)
			fn->refused = "a texture as a parameter is not supported";
	parse_func_directives(lx, fn);
}

static void module_func(struct lex *lx, struct module *m, u8 link)
{
	struct func *fn = lex_need(lx, pool_alloc(&m->pool, sizeof(*fn))), *old = NULL;
	u32 n, line, col, i;
	struct map_ent *ent;
	struct sym *s;

	fn->m = m;
	fn->entry = lex_is(lx, "entry");
	fn->max_threads = 1024;
	fn->link = link;
	if (link == LINK_COMMON)
		lex_fail(lx, VGPU_ST_INVALID_PTX, ".common is for variables");
	func_head(lx, m, fn, &n, &line, &col);
	ent = map_find(&m->syms, fn->name, n);
	if (ent) {
		s = ent->val;
		old = s->fn;
		/* any number of prototypes, which agree, before one body */
		if (s->what != V_FUNC || old->has_body || !same_prototype(old, fn))
			twice(lx, line, col, fn->name);
	} else {
		s = lex_need(lx, pool_alloc(&m->pool, sizeof(*s)));
		s->what = V_FUNC;
		s->name = fn->name;
		s->fn = fn;
		add_sym(lx, m, s, n, fn->entry);
		m->funcs = lex_need(lx, xgrow(m->funcs, &m->funcs_cap, m->nfuncs + 1, sizeof(*m->funcs)));
		m->funcs[m->nfuncs++] = fn;
	}
	fn->sym = s;
	fn->body_line = line;
	fn->body_col = col;
	if (lx->tok == '{') {
		if (link == LINK_EXTERN)
			lex_fail(lx, VGPU_ST_INVALID_PTX, "'%s' is .extern and has a body", fn->name);
		fn->has_body = true;
		fn->body = lx->p;
		fn->body_line = lx->tline;
		fn->body_col = (u32)(lx->p - lx->line_start);
		lex_skip_braces(lx);
	} else if (lx->tok != TK_DIR && lx->tok != TK_EOF) {
		lex_expect(lx, ';');    /* which a prototype may go without */
	}
	if (old && fn->has_body) {      /* keep the object that earlier code may point to */
		*old = *fn;
		fn = old;
	}
	if (fn->entry) {
		fn->eparams = lex_need(lx, pool_alloc(&m->pool, (fn->nparams + 1) * sizeof(*fn->eparams)));
		for (i = 0; i < fn->nparams; i++)
			fn->eparams[i] = (struct engine_param){ fn->params[i].off, fn->params[i].bytes };
	}
}

static void parse_alias(struct lex *lx, struct module *m)
{
	struct alias *a = lex_need(lx, pool_alloc(&m->pool, sizeof(*a)));
	struct map_ent *ent;

	lex_next(lx);
	ent = lx->tok == TK_ID ? map_find(&m->syms, lx->s, lx->n) : NULL;
	a->name = ent ? ent->val : NULL;
	a->line = lx->tline;
	a->col = lx->tcol;
	if (!a->name || a->name->what != V_FUNC)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "an alias needs the prototype of a function before it");
	lex_next(lx);
	lex_expect(lx, ',');
	a->target = lx->s;
	a->ntarget = lx->n;
	lex_expect(lx, TK_ID);
	lex_expect(lx, ';');
	a->next = m->aliases;
	m->aliases = a;
}

/* A call of the one is a call of the other, and so is its address. */
static void resolve_aliases(struct lex *lx, struct module *m)
{
	struct alias *a;

	for (a = m->aliases; a; a = a->next) {
		struct map_ent *ent = map_find(&m->syms, a->target, a->ntarget);
		struct sym *t = ent ? ent->val : NULL;

		lx->tline = a->line;
		lx->tcol = a->col;
		if (!t || t->what != V_FUNC || t->fn->entry || a->name->fn->has_body || !same_prototype(t->fn, a->name->fn))
			lex_fail(lx, VGPU_ST_INVALID_PTX, "'%s' cannot be an alias of '%.*s'", a->name->name,
				 (int)(a->ntarget < 60 ? a->ntarget : 60), a->target);
		a->name->fn = t->fn;
	}
}

static void parse_version(struct lex *lx, struct module *m)
{
	const char *p;

	if (lx->tok != TK_DIR || !lex_is(lx, "version"))
		lex_fail(lx, VGPU_ST_INVALID_PTX, "PTX must begin with .version");
	lex_next(lx);
	p = lx->s;
	/* of the text: 9.10 is behind 9.9. No version is refused; what is missing of a later one is, by its name. */
	if (lx->tok != TK_F64 || p + 2 >= lx->end)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "bad .version");
	for (m->version = 0; p < lx->p && *p != '.' && m->version < 1000; p++)
		m->version = m->version * 10 + (u32)(*p - '0');
	m->version = m->version * 10 + (p + 2 < lx->p ? 9 : p + 1 < lx->p ? (u32)(p[1] - '0') : 0);
	lex_next(lx);
}

/* Code for more than the device has is never loaded, wherever in the text that is said. */
static void parse_target(struct lex *lx, struct module *m)
{
	static const char *const options[] = { "texmode_unified", "texmode_independent", "debug", "map_f64_to_f32" };
	u32 cc = m->e->env.cc_major * 10 + m->e->env.cc_minor, i, arch, named = 0, wants;
	char suffix = 0;

	do {
		lex_next(lx);
		arch = lx->tok != TK_ID ? 0 : lx->n > 3 && !memcmp(lx->s, "sm_", 3) ? 3 :
		       lx->n > 8 && !memcmp(lx->s, "compute_", 8) ? 8 : 0;
		if (arch) {
			m->target = 0;
			for (i = arch; i < lx->n && lx->s[i] >= '0' && lx->s[i] <= '9' && m->target < 1000; i++)
				m->target = m->target * 10 + (u32)(lx->s[i] - '0');
			/* sm_90a: code for one architecture only; sm_100f: for its family, from there on */
			named = m->target;
			suffix = i < lx->n ? lx->s[i] : 0;
			if (suffix && m->target != cc && !(suffix == 'f' && m->target < cc && m->target / 10 == cc / 10))
				m->target = 1000;
		} else if (lx->tok == TK_ID) {
			for (i = 0; i < 4 && !lex_is(lx, options[i]); i++)
				;
			if (i == 4)
				lex_fail(lx, VGPU_ST_INVALID_PTX, "unknown .target '%.*s'", (int)(lx->n < 40 ? lx->n : 40), lx->s);
		}
		lex_expect(lx, TK_ID);
	} while (lx->tok == ',');
	if (m->target <= cc)
		return;
	wants = cc_for(named);
	if (!wants || (suffix && wants != named))
		lex_fail(lx, VGPU_ST_NO_BINARY, "PTX for sm_%u%.1s, the device has compute capability %u.%u", named, &suffix,
			 m->e->env.cc_major, m->e->env.cc_minor);
	lex_fail(lx, VGPU_ST_NO_BINARY, "PTX for sm_%u%.1s, the device has compute capability %u.%u; on one of %u.%u it runs: "
		 "vgpu run --cc %u.%u", named, &suffix, m->e->env.cc_major, m->e->env.cc_minor, wants / 10, wants % 10,
		 wants / 10, wants % 10);
}

static void parse_header(struct lex *lx, struct module *m)
{
	parse_version(lx, m);
	if (lx->tok != TK_DIR || !lex_is(lx, "target"))
		lex_fail(lx, VGPU_ST_INVALID_PTX, "expected .target");
	while (lx->tok == TK_DIR && lex_is(lx, "target"))
		parse_target(lx, m);
	if (!m->target)
		lex_fail(lx, VGPU_ST_INVALID_PTX, ".target names no sm_ architecture");
	/* without it the addresses are the machine's */
	if (lx->tok == TK_DIR && lex_is(lx, "address_size")) {
		lex_next(lx);
		if (lx->tok == TK_INT && lx->ival == 32)
			lex_fail(lx, VGPU_ST_NOT_SUPPORTED, ".address_size 32 is not supported");
		if (lx->tok == TK_INT && lx->ival != 64)
			lex_fail(lx, VGPU_ST_INVALID_PTX, ".address_size is 32 or 64");
		lex_expect(lx, TK_INT);
	}
}

static u8 linkage(struct lex *lx)
{
	u8 link = lx->tok != TK_DIR ? LINK_NONE : lex_is(lx, "visible") ? LINK_VISIBLE : lex_is(lx, "extern") ? LINK_EXTERN :
		  lex_is(lx, "weak") ? LINK_WEAK : lex_is(lx, "common") ? LINK_COMMON : LINK_NONE;

	if (link)
		lex_next(lx);
	return link;
}

static void index_items(struct lex *lx, struct module *m)
{
	while (lx->tok != TK_EOF) {
		struct sym head = { 0 };
		u8 link;

		/* "@@DWARF …": debug information of PTX 1.x, a line each */
		if (lx->tok == '@') {
			u32 line = lx->tline;

			while (lx->tok != TK_EOF && lx->tline == line)
				lex_next(lx);
			continue;
		}
		if (lx->tok == TK_DIR && lex_is(lx, "attribute"))
			parse_attribute(lx, &head);
		link = linkage(lx);
		if (lx->tok != TK_DIR)
			lex_fail(lx, VGPU_ST_INVALID_PTX, "expected a directive before '%.*s'",
				 (int)(lx->n < 40 ? lx->n : 40), lx->s);
		if (lex_is(lx, "entry") || lex_is(lx, "func"))
			module_func(lx, m, link);
		else if (lex_is(lx, "global") || lex_is(lx, "const") || lex_is(lx, "shared") || lex_is(lx, "local"))
			module_var(lx, m, link, &head);
		else if (link)
			lex_fail(lx, VGPU_ST_INVALID_PTX, "expected a variable or a function before '.%.*s'",
				 (int)(lx->n < 40 ? lx->n : 40), lx->s);
		else if (lex_is(lx, "section"))
			parse_section(lx);
		else if (lex_is(lx, "pragma"))
			parse_pragma(lx);
		else if (lex_is(lx, "file"))
			parse_file(lx);
		else if (lex_is(lx, "alias"))
			parse_alias(lx, m);
		else if (lex_is(lx, "target"))
			parse_target(lx, m);
		else
			lex_fail(lx, VGPU_ST_INVALID_PTX, "unknown directive '.%.*s'",
				 (int)(lx->n < 40 ? lx->n : 40), lx->s);
	}
}

/*
 * The device runtime's function that needs nothing of it: a conditional node's handle is the place of its value
 * (libcuda-lite/driver/graph_cond.c).
 */
static const char set_conditional[] =
	".visible .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value)\n"
	"{\n"
	"	.reg .b64 %h;\n	.reg .b32 %v;\n"
	"	ld.param.b64 %h, [handle];\n	ld.param.b32 %v, [value];\n"
	"	st.b32 [%h], %v;\n"
	"	ret;\n"
	"}\n";

static void add_own_functions(struct lex *lx, struct module *m)
{
	static const struct fparam want[2] = { { .type = T_B64, .bytes = 8 }, { .type = T_B32, .bytes = 4 } };
	const struct map_ent *e = map_find(&m->syms, "cudaGraphSetConditional", 23);
	const char *end = set_conditional + sizeof(set_conditional) - 1;
	const struct sym *s = e ? e->val : NULL;

	/* declared otherwise it is some function that is not defined */
	if (!s || s->what != V_FUNC || s->fn->has_body || s->fn->entry || s->fn->nrets || !same_params(s->fn->params, s->fn->nparams, want, 2))
		return;
	lex_init(lx, set_conditional, end, 1, lx->bail, lx->log, lx->log_bytes);
	lex_next(lx);
	index_items(lx, m);
	s->fn->end = end;
}

static void index_text(struct lex *lx, struct module *m)
{
	lex_next(lx);
	parse_header(lx, m);
	index_items(lx, m);
	add_own_functions(lx, m);
	resolve_aliases(lx, m);
	for (u32 i = 0; i < m->nfuncs; i++) {
		struct func *fn = m->funcs[i];

		if (!fn->has_body && fn->link != LINK_EXTERN && fn->link != LINK_WEAK && fn->sym->fn == fn) {
			lx->tline = fn->body_line;
			lx->tcol = fn->body_col;
			lex_fail(lx, VGPU_ST_INVALID_PTX, "'%s' is neither .extern nor defined", fn->name);
		}
	}
}

/* Managed variables: at the place that was named, in a private image until all of it is known. */
static void place_managed(struct lex *lx, struct module *m)
{
	struct engine *e = m->e;
	u64 off = 0;

	e->managed_wanted = 0;
	for (u32 i = 0; i < m->nlist; i++) {
		struct sym *v = m->list[i];

		if (v->what != V_VAR || !v->managed)
			continue;
		if (v->space != SPACE_GLOBAL)
			lex_fail(lx, VGPU_ST_INVALID_PTX, "'%s': only .global variables are managed", v->name);
		if (!e->managed_told)   /* nobody to share with */
			v->managed = false;
		if (!v->managed || v->ext)
			continue;
		off = (off + v->align - 1) & ~(u64)(v->align - 1);
		v->addr = e->managed_va + off;
		off += v->bytes ? v->bytes : 1;
		if (off > MAX_VAR_BYTES)
			lex_fail(lx, VGPU_ST_OUT_OF_MEMORY, "the module's variables are too large");
	}
	if (!off)
		return;
	e->managed_wanted = off;
	if (off > e->managed_bytes || e->managed_va % 4096)
		lex_fail(lx, VGPU_ST_NOT_SUPPORTED, "%llu bytes of managed variables have no place", (unsigned long long)off);
	m->managed_va = e->managed_va;
	m->managed_bytes = off;
	m->managed_image = calloc(1, off);
	if (!m->managed_image)
		lex_fail(lx, VGPU_ST_OUT_OF_MEMORY, "out of memory");
}

/*
 * Where a variable may begin. What the text asks for, and 16 bytes for what is as large: programs that hand an array to what wants more
 * than its type has (a tensor map, a copy in bulk, a cast to int4) find it aligned on devices as well, as far as they have tried.
 */
static u64 align_of(const struct sym *v)
{
	return v->space == SPACE_GLOBAL && v->align < 16 && v->bytes >= 16 ? 16 : v->align;
}

static void place_vars(struct lex *lx, struct module *m)
{
	u64 off = 0;
	u32 i, k;

	/* .const in front: isspacep knows it by its range */
	for (k = 0; k < 2 * m->nlist; k++) {
		struct sym *v = m->list[k % m->nlist];

		if (k == m->nlist)
			m->const_hi = off;
		if (v->what != V_VAR || v->ext || v->managed || (v->space == SPACE_CONST) != (k < m->nlist))
			continue;
		off = (off + align_of(v) - 1) & ~(align_of(v) - 1);
		v->addr = off;
		off += v->bytes ? v->bytes : 1;
		if (v->space == SPACE_CONST)
			m->const_bytes += v->bytes;
		if (off > MAX_VAR_BYTES)
			lex_fail(lx, VGPU_ST_OUT_OF_MEMORY, "the module's variables are too large");
	}
	if (m->const_bytes > MAX_CONST_BYTES)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "more than 64 KiB of .const");
	if (!off)
		return;
	if (m->e->env.memory_limit && off > m->e->env.memory_limit)
		lex_fail(lx, VGPU_ST_OUT_OF_MEMORY, "%llu bytes of variables are more than the device has",
			 (unsigned long long)off);
	/* arena memory is zero: fresh, or given back to the kernel when it was released */
	m->var_bytes = off;
	m->var_base = arena_alloc(m->e, off, &m->var_cap);
	if (!m->var_base || arena_commit(m->var_base, off))
		lex_fail(lx, VGPU_ST_OUT_OF_MEMORY, "no memory for %llu bytes of variables",
			 (unsigned long long)off);
	m->const_lo = m->var_base;
	m->const_hi += m->var_base;
	for (i = 0; i < m->nlist; i++)
		if (m->list[i]->what == V_VAR && !m->list[i]->ext && !m->list[i]->managed)
			m->list[i]->addr += m->var_base;
}

static void fill_init(struct module *m, struct sym *v, struct lex *lx)
{
	lex_next(lx);
	parse_init(lx, m, v, v->managed ? (char *)m->managed_image + (v->addr - m->managed_va) : (char *)v->addr);
}

/* A .global or .const variable inside a function: memory of its own, at "= ..." or ";". */
void module_late_var(struct lex *lx, struct module *m, struct sym *v)
{
	struct late *l = lex_need(lx, pool_alloc(&m->pool, sizeof(*l)));

	if (v->managed && m->e->managed_told)
		lex_fail(lx, VGPU_ST_NOT_SUPPORTED, "'%s': a managed variable inside a function", v->name);
	v->addr = l->addr = arena_alloc(m->e, v->bytes ? v->bytes : 1, &l->cap);
	if (!l->addr)
		lex_fail(lx, VGPU_ST_OUT_OF_MEMORY, "no memory for '%s'", v->name);
	l->next = m->late;
	m->late = l;
	if (arena_commit(l->addr, v->bytes ? v->bytes : 1))
		lex_fail(lx, VGPU_ST_OUT_OF_MEMORY, "no memory for '%s'", v->name);
	mc_note(m->e, v->addr, v->bytes, true, false);
	vf_note(m->e, v->addr, v->bytes, true, false);
	if (lx->tok == '=')
		fill_init(m, v, lx);
}

struct func *func_get(const struct engine *e, u32 id)
{
	struct func *fn = id ? __atomic_load_n(&e->funcs[(id - 1) % MAX_FUNCS], __ATOMIC_ACQUIRE) : NULL;

	return fn && fn->id == id ? fn : NULL;
}

/* Places go round within a span that is at least twice what is in use: each is left alone as long as possible. */
static int register_funcs(struct engine *e, struct module *m)
{
	u32 i;

	if (m->nfuncs > MAX_FUNCS / 2 - e->funcs_live)
		return -1;
	while (e->funcs_span < FUNCS_SPAN || e->funcs_span / 2 < e->funcs_live + m->nfuncs)
		e->funcs_span = e->funcs_span ? e->funcs_span * 2 : FUNCS_SPAN;
	for (i = 0; i < m->nfuncs; i++) {
		struct func *fn = m->funcs[i];
		u32 at = e->funcs_next;

		while (at >= e->funcs_span || e->funcs[at])
			at = at >= e->funcs_span ? 0 : at + 1;
		e->funcs_next = at + 1;
		e->funcs_live++;
		fn->id = e->funcs_life[at]++ % FUNC_LIVES * MAX_FUNCS + at + 1;
		if (!fn->id)            /* the last place of the last life: 2^32 */
			fn->id = at + 1;
		fn->unique_ptr = FNPTR_TAG | fn->id;
		__atomic_store_n(&e->funcs[at], fn, __ATOMIC_RELEASE);
	}
	return 0;
}

static u32 read_module(struct engine *e, struct module *m, char *log, size_t log_bytes)
{
	struct init *in;
	struct lex lx;
	struct bail bail;

	lex_init(&lx, m->text, m->end, 1, &bail, log, log_bytes);
	if (setjmp(bail.at))
		return bail.status;
	index_text(&lx, m);
	place_managed(&lx, m);
	place_vars(&lx, m);
	if (register_funcs(e, m) < 0)
		lex_fail(&lx, VGPU_ST_LIMIT, "too many functions in this context");
	for (in = m->inits; in; in = in->next) {
		lex_init(&lx, in->p, m->end, in->line, &bail, log, log_bytes);
		fill_init(m, in->v, &lx);
		if (lx.tok != ';' && lx.tok != ',')
			lex_expect(&lx, ';');
	}
	/* the client's memory: it may not be there */
	if (m->managed_image && mem_copy(e, (void *)m->managed_va, m->managed_image, m->managed_bytes))
		return VGPU_ST_INVALID;
	free(m->managed_image);
	m->managed_image = NULL;
	return VGPU_ST_OK;
}

/* PTX begins with a directive or a comment; an ELF or anything binary does not. */
static bool looks_like_text(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
		p++;
	return p < end && (*p == '.' || *p == '/');
}

u32 module_bodies(struct module *m, char *log, size_t log_bytes)
{
	u32 i, st = VGPU_ST_OK;

	pthread_mutex_lock(&m->e->compile_lock);
	compile_batch(true);
	/* Those behind the bound are read when they are asked for. */
	for (i = 0; i < m->nfuncs && !compile_full(); i++) {
		if (!m->funcs[i]->has_body)
			continue;
		st = func_compile(m->funcs[i], log, log_bytes);
		if (st == VGPU_ST_INVALID_PTX || st == VGPU_ST_OUT_OF_MEMORY)
			break;
		st = VGPU_ST_OK;
	}
	compile_batch(false);
	pthread_mutex_unlock(&m->e->compile_lock);
	if (!st && log && log_bytes)
		*log = 0;
	return st;
}

u32 module_open(struct engine *e, const void *image, size_t bytes, struct module **out, char *log,
		size_t log_bytes)
{
	struct module *m = calloc(1, sizeof(struct module));
	const u8 *b = image;
	struct vgpu_cubin c;
	u32 st;

	if (log && log_bytes)
		*log = 0;
	if (!m)
		return VGPU_ST_OUT_OF_MEMORY;
	m->e = e;
	m->syms.pool = &m->pool;
	m->text = image;
	m->end = m->text + bytes;
	if (bytes >= 4 && (b[0] | b[1] << 8 | b[2] << 16 | (u32)b[3] << 24) == 0xBA55ED50u) {
		size_t n = 0;

		st = fatbin_select(image, bytes, e->env.cc_major, e->env.cc_minor, &m->owned, &n, log,
				   log_bytes);
		if (st) {
			free(m);
			return st;
		}
		m->text = m->owned;
		m->end = m->owned + n;
	} else if (!vgpu_cubin_read(image, bytes, &c)) {
		m->text = c.ptx;
		m->max_regs = c.maxrregcount;
		m->end = c.ptx + c.ptx_bytes;
	} else if (vgpu_cubin_elf(image, bytes) && !vgpu_cubin_ours(image, bytes)) {
		free(m);
		if (log && log_bytes)
			snprintf(log, log_bytes, "a cubin (machine code of one GPU); this device needs PTX: compile with -gencode arch=compute_XX,code=compute_XX");
		return VGPU_ST_NO_BINARY;
	} else if (!looks_like_text(m->text, m->end)) {
		free(m);
		if (log && log_bytes)
			snprintf(log, log_bytes, "1:1: neither PTX text nor a fatbin");
		return VGPU_ST_INVALID_IMAGE;
	}
	st = read_module(e, m, log, log_bytes);
	if (!st && !m->owned)
		st = module_bodies(m, log, log_bytes);
	if (st) {
		module_close(m);
	} else {
		mc_module(m, true);
		if (m->var_base)
			vf_note(e, m->var_base, m->var_bytes, true, false);
		*out = m;
	}
	return st;
}

void module_close(struct module *m)
{
	u32 i;

	for (i = 0; i < m->nfuncs; i++) {
		struct func *fn = m->funcs[i];

		if (fn->id) {
			__atomic_store_n(&m->e->funcs[(fn->id - 1) % MAX_FUNCS], NULL, __ATOMIC_RELEASE);
			m->e->funcs_live--;
		}
		func_free(fn);
	}
	mc_module(m, false);
	if (m->var_base)
		vf_note(m->e, m->var_base, m->var_bytes, false, false);
	for (; m->late; m->late = m->late->next) {
		vf_note(m->e, m->late->addr, m->late->cap, false, false);
		arena_release(m->e, m->late->addr, m->late->cap);
	}
	if (m->var_base)
		arena_release(m->e, m->var_base, m->var_cap);
	free(m->managed_image);
	free(m->list);
	free(m->funcs);
	map_free(&m->syms);
	pool_free(&m->pool);
	free(m->owned);
	free(m);
}
