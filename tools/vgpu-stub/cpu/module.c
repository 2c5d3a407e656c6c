/* SPDX-License-Identifier: MIT */
/*
 * Loading a module: one pass over the text that reads everything at module level and only notes
 * where bodies are (they are compiled on first use), then the variables get their memory.
 * The image is the caller's and stays in place; names point into the module's own pool.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit.h"
#include "memcheck.h"
#include "fatbin.h"

#define MAX_VAR_BYTES (4ull << 30)      /* of a module, so that an image cannot eat the host */
#define MAX_CONST_BYTES 65536
#define MAX_PARAM_BYTES 32764

struct init {                           /* "= ..." of a variable, read when addresses are known */
	struct init *next;
	struct sym *v;
	const char *p;
	u32 line;
	u32 elem;
};

/* The number a function pointer holds: outside any span, so that a call checks it first. */
#define FNPTR_TAG 0x00f0000000000000ull

static void *need(struct lex *lx, void *p)
{
	if (!p)
		lex_fail(lx, VGPU_ST_OUT_OF_MEMORY, "out of memory");
	return p;
}

/* [.align n] [.vN] [.attribute(..)] .type [.ptr ..] name[dims]; the current token is behind the space word */
void parse_var_head(struct lex *lx, struct sym *v, struct pool *pool, const char **name, u32 *n)
{
	u64 count = 1, vec = 1;
	s64 dim;
	bool have = false, ptr = false;

	v->align = 0;
	while (lx->tok == TK_DIR) {
		if (lex_is(lx, "align")) {
			lex_next(lx);
			v->align = (u32)lx->ival;
			if (lx->tok != TK_INT || !lx->ival || (lx->ival & (lx->ival - 1)) || lx->ival > 4096)
				lex_fail(lx, VGPU_ST_INVALID_PTX, "alignment is not a power of two");
			lex_next(lx);
			if (ptr)                /* what the pointer points to, not the variable */
				v->align = 0;
			continue;
		}
		if (lex_is(lx, "attribute")) {
			lex_next(lx);
			lex_expect(lx, '(');
			while (lx->tok != ')' && lx->tok != TK_EOF) {
				v->managed |= lx->tok == TK_DIR && lex_is(lx, "managed");
				lex_next(lx);
			}
			lex_expect(lx, ')');
			continue;
		}
		if (lex_is(lx, "v2") || lex_is(lx, "v4")) {
			vec = (u64)(lx->s[1] - '0');
		} else if (lex_is(lx, "ptr")) {
			ptr = true;
		} else if (ptr && (lex_is(lx, "global") || lex_is(lx, "shared") || lex_is(lx, "const") ||
				   lex_is(lx, "local"))) {
			;
		} else if (type_find(lx->s, lx->n)) {
			if (have)
				lex_fail(lx, VGPU_ST_INVALID_PTX, "two types for one variable");
			v->type = (u8)type_find(lx->s, lx->n);
			have = true;
		} else if (lex_is(lx, "texref") || lex_is(lx, "samplerref") || lex_is(lx, "surfref")) {
			lex_fail(lx, VGPU_ST_NOT_SUPPORTED, ".%.*s: textures are not supported",
				 (int)lx->n, lx->s);
		} else {
			lex_fail(lx, VGPU_ST_INVALID_PTX, "unexpected '.%.*s' in a declaration",
				 (int)(lx->n < 40 ? lx->n : 40), lx->s);
		}
		lex_next(lx);
	}
	if (!have)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "a declaration without a type");
	*name = need(lx, pool_str(pool, lx->s, lx->n));
	*n = lx->n;
	lex_expect(lx, TK_ID);
	v->dyn = false;
	while (lex_accept(lx, '[')) {
		if (lex_accept(lx, ']')) {
			v->dyn = true;
			continue;
		}
		dim = const_expr(lx);
		if (dim < 0 || (dim && count > MAX_VAR_BYTES / (u64)dim))
			lex_fail(lx, VGPU_ST_INVALID_PTX, "variable too large");
		count *= (u64)dim;
		lex_expect(lx, ']');
	}
	v->bytes = v->dyn ? 0 : count * vec * type_bytes(v->type);
	if (!v->align)
		v->align = (u32)vec * type_bytes(v->type);
	if (v->bytes > MAX_VAR_BYTES)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "variable too large");
	v->name = *name;
}

/* "(.param ..., .reg ...)"; the current token is behind '('. Returns with ')' consumed. */
u32 parse_params(struct lex *lx, struct module *m, struct fparam **out, u32 *n, u32 *total)
{
	struct fparam *list = NULL;
	u32 cap = 0;
	u64 off = 0;

	*n = 0;
	*out = NULL;
	while (lx->tok != ')') {
		struct sym v = { 0 };
		struct fparam *p, *grown;
		const char *name;
		u32 len;

		if (*n && !lex_accept(lx, ','))
			lex_fail(lx, VGPU_ST_INVALID_PTX, "expected ',' or ')' in a parameter list");
		if (*n == cap) {        /* the pool keeps old copies: lists are short */
			grown = need(lx, pool_alloc(&m->pool, (cap ? cap * 2 : 8) * sizeof(*grown)));
			if (*n)
				memcpy(grown, list, *n * sizeof(*grown));
			list = grown;
			cap = cap ? cap * 2 : 8;
		}
		p = &list[*n];
		p->is_reg = lx->tok == TK_DIR && lex_is(lx, "reg");
		if (!p->is_reg && !(lx->tok == TK_DIR && lex_is(lx, "param")))
			lex_fail(lx, VGPU_ST_INVALID_PTX, "expected .param or .reg in a parameter list");
		lex_next(lx);
		parse_var_head(lx, &v, &m->pool, &name, &len);
		if (v.dyn)
			lex_fail(lx, VGPU_ST_NOT_SUPPORTED, "variadic parameters are not supported");
		p->type = v.type;
		p->align = v.align;
		p->name = name;
		if (!p->is_reg) {
			off = (off + v.align - 1) & ~(u64)(v.align - 1);
			p->off = (u32)off;
			p->bytes = (u32)v.bytes;
			off += v.bytes;
		}
		if (off > MAX_PARAM_BYTES || ++*n > ENGINE_MAX_PARAMS)
			lex_fail(lx, VGPU_ST_INVALID_PTX, "too many parameters");
	}
	lex_expect(lx, ')');
	*out = list;
	*total = (u32)off;
	return 0;
}

static void add_sym(struct lex *lx, struct module *m, struct sym *s, size_t n, bool exported)
{
	if (map_put(&m->syms, s->name, n, s) < 0)
		lex_fail(lx, VGPU_ST_OUT_OF_MEMORY, "out of memory");
	if (exported) {
		m->list = need(lx, xgrow(m->list, &m->list_cap, m->nlist + 1, sizeof(*m->list)));
		m->list[m->nlist++] = s;
	}
}

static void module_var(struct lex *lx, struct module *m, bool ext)
{
	u8 space = lex_is(lx, "global") ? SPACE_GLOBAL : lex_is(lx, "const") ? SPACE_CONST : SPACE_SHARED;
	struct sym *v;
	struct map_ent *old;
	const char *name;
	u32 n, line, col;

	lex_next(lx);
	/* .const[2] and the like: old banks */
	if (space == SPACE_CONST && lex_accept(lx, '[')) {
		lex_expect(lx, TK_INT);
		lex_expect(lx, ']');
	}
	v = need(lx, pool_alloc(&m->pool, sizeof(*v)));
	line = lx->tline;
	col = lx->tcol;
	parse_var_head(lx, v, &m->pool, &name, &n);
	v->what = V_VAR;
	v->space = space;
	v->ext = ext;
	old = map_find(&m->syms, name, n);
	if (lx->tok == '=') {
		struct init *in = need(lx, pool_alloc(&m->pool, sizeof(*in)));
		u32 depth = 0;
		u64 count = 1;

		if (space == SPACE_SHARED || ext)
			lex_fail(lx, VGPU_ST_INVALID_PTX, "'%s' cannot have an initialiser", name);
		in->v = v;
		in->p = lx->p;
		in->line = lx->line;
		in->elem = type_bytes(v->type);
		in->next = m->inits;
		m->inits = in;
		lex_next(lx);
		if (lx->tok == '{' && !v->dyn)          /* fill_init() reads it */
			lex_skip_braces(lx);
		for (; lx->tok != TK_EOF && !(depth == 0 && lx->tok == ';'); lex_next(lx)) {
			depth += lx->tok == '{';
			if (lx->tok == '}' && depth)
				depth--;
			count += lx->tok == ',';
		}
		if (v->dyn) {           /* name[] = { ... }: counted */
			v->bytes = count * in->elem;
			v->dyn = false;
		}
	}
	lex_expect(lx, ';');
	if (old) {
		struct sym *o = old->val;

		/* any number of .extern declarations, one definition */
		if (o->what != V_VAR || o->space != v->space || (!ext && !o->ext)) {
			lx->tline = line;
			lx->tcol = col;
			lex_fail(lx, VGPU_ST_INVALID_PTX, "'%s' is declared twice", name);
		}
		if (ext)
			return;
		o->ext = false;
		o->bytes = v->bytes;
		o->align = v->align;
		o->dyn = v->dyn;
		o->type = v->type;
		if (m->inits && m->inits->v == v)
			m->inits->v = o;
		return;
	}
	add_sym(lx, m, v, n, space != SPACE_SHARED);
}

static void func_directives(struct lex *lx, struct func *fn)
{
	while (lx->tok == TK_DIR) {
		u64 v[3] = { 1, 1, 1 }, prod;
		u32 n = 0;
		bool maxn = lex_is(lx, "maxntid"), req = lex_is(lx, "reqntid");

		if (lex_is(lx, "pragma")) {
			while (lx->tok != ';' && lx->tok != TK_EOF)
				lex_next(lx);
			lex_expect(lx, ';');
			continue;
		}
		lex_next(lx);
		while (lx->tok == TK_INT) {
			if (n < 3)
				v[n++] = lx->ival;
			lex_next(lx);
			if (!lex_accept(lx, ','))
				break;
		}
		if (!maxn && !req)
			continue;
		if (!n || !v[0] || !v[1] || !v[2] || v[0] > 1024 || v[1] > 1024 || v[2] > 1024)
			lex_fail(lx, VGPU_ST_INVALID_PTX, "bad block size in a directive");
		prod = v[0] * v[1] * v[2];
		if (prod < fn->max_threads)
			fn->max_threads = (u32)prod;
		if (req)
			for (n = 0; n < 3; n++)
				fn->reqntid[n] = (u32)v[n];
	}
}

struct func *module_func_decl(struct lex *lx, struct module *m, bool entry)
{
	struct func *fn = need(lx, pool_alloc(&m->pool, sizeof(*fn))), *old = NULL;
	struct map_ent *ent;
	struct sym *s;
	u32 total, n, line, col;

	fn->m = m;
	fn->entry = entry;
	fn->max_threads = 1024;
	lex_next(lx);
	if (!entry) {
		if (lx->tok == TK_DIR)          /* .attribute(.unified(..)) */
			lex_fail(lx, VGPU_ST_NOT_SUPPORTED, "function attributes are not supported");
		if (lex_accept(lx, '('))
			parse_params(lx, m, &fn->rets, &fn->nrets, &total);
	}
	n = lx->n;
	line = lx->tline;
	col = lx->tcol;
	fn->name = need(lx, pool_str(&m->pool, lx->s, lx->n));
	lex_expect(lx, TK_ID);
	if (lex_accept(lx, '('))
		parse_params(lx, m, &fn->params, &fn->nparams, &fn->param_bytes);
	func_directives(lx, fn);
	ent = map_find(&m->syms, fn->name, n);
	if (ent) {
		s = ent->val;
		old = s->fn;
		if (s->what != V_FUNC || (old->has_body && lx->tok == '{')) {
			lx->tline = line;
			lx->tcol = col;
			lex_fail(lx, VGPU_ST_INVALID_PTX, "'%s' is declared twice", fn->name);
		}
	} else {
		s = need(lx, pool_alloc(&m->pool, sizeof(*s)));
		s->what = V_FUNC;
		s->name = fn->name;
		s->fn = fn;
		add_sym(lx, m, s, n, entry);
		m->funcs = need(lx, xgrow(m->funcs, &m->funcs_cap, m->nfuncs + 1, sizeof(*m->funcs)));
		m->funcs[m->nfuncs++] = fn;
	}
	fn->sym = s;
	if (lx->tok == '{') {
		fn->has_body = true;
		fn->body = lx->p;
		fn->body_line = lx->tline;
		fn->body_col = (u32)(lx->p - lx->line_start);
		lex_skip_braces(lx);
	} else {
		lex_expect(lx, ';');
	}
	if (old && fn->has_body) {      /* keep the object that earlier code may point to */
		*old = *fn;
		fn = old;
	}
	if (entry) {
		u32 i;

		fn->eparams = need(lx, pool_alloc(&m->pool, (fn->nparams + 1) * sizeof(*fn->eparams)));
		for (i = 0; i < fn->nparams; i++)
			fn->eparams[i] = (struct engine_param){ fn->params[i].off, fn->params[i].bytes };
	}
	return old ? old : fn;
}

static void parse_header(struct lex *lx, struct module *m)
{
	u32 cc = m->e->env.cc_major * 10 + m->e->env.cc_minor;

	if (lx->tok != TK_DIR || !lex_is(lx, "version"))
		lex_fail(lx, VGPU_ST_INVALID_PTX, "PTX must begin with .version");
	lex_next(lx);
	if (lx->tok == TK_F64) {
		double d;

		memcpy(&d, &lx->ival, 8);
		m->version = d < 100 ? (u32)(d * 10 + 0.5) : 1000;
	} else if (lx->tok == TK_INT) {
		m->version = lx->ival < 100 ? (u32)lx->ival * 10 : 1000;
	} else {
		lex_fail(lx, VGPU_ST_INVALID_PTX, "bad .version");
	}
	if (m->version > 91)
		lex_fail(lx, VGPU_ST_PTX_VERSION, "PTX ISA %u.%u is newer than 9.1", m->version / 10,
			 m->version % 10);
	lex_next(lx);
	if (lx->tok != TK_DIR || !lex_is(lx, "target"))
		lex_fail(lx, VGPU_ST_INVALID_PTX, "expected .target");
	do {
		lex_next(lx);
		if (lx->tok == TK_ID && lx->n > 3 && !memcmp(lx->s, "sm_", 3)) {
			u32 i;

			m->target = 0;
			for (i = 3; i < lx->n && lx->s[i] >= '0' && lx->s[i] <= '9' && m->target < 1000; i++)
				m->target = m->target * 10 + (u32)(lx->s[i] - '0');
			/* sm_90a: code for one architecture only */
			if (i < lx->n && m->target != cc)
				m->target = 1000;
		}
		lex_expect(lx, TK_ID);
	} while (lx->tok == ',');
	if (!m->target)
		lex_fail(lx, VGPU_ST_INVALID_PTX, ".target names no sm_ architecture");
	if (m->target > cc)
		lex_fail(lx, VGPU_ST_NO_BINARY, "PTX for sm_%u, the device has compute capability %u.%u",
			 m->target, m->e->env.cc_major, m->e->env.cc_minor);
	m->addr64 = false;
	if (lx->tok == TK_DIR && lex_is(lx, "address_size")) {
		lex_next(lx);
		m->addr64 = lx->ival == 64;
		lex_expect(lx, TK_INT);
	}
	if (!m->addr64)
		lex_fail(lx, VGPU_ST_NOT_SUPPORTED, "only .address_size 64 is supported");
}

static void skip_directive(struct lex *lx)
{
	if (lex_is(lx, "section")) {
		while (lx->tok != '{' && lx->tok != TK_EOF)
			lex_next(lx);
		lex_skip_braces(lx);
	} else if (lex_is(lx, "pragma") || lex_is(lx, "alias")) {
		while (lx->tok != ';' && lx->tok != TK_EOF)
			lex_next(lx);
		lex_expect(lx, ';');
	} else if (lex_is(lx, "file") || lex_is(lx, "loc")) {
		u32 line = lx->tline;

		/* one line long, no terminator */
		while (lx->tok != TK_EOF && lx->tline == line)
			lex_next(lx);
	} else {
		lex_fail(lx, VGPU_ST_INVALID_PTX, "unknown directive '.%.*s'",
			 (int)(lx->n < 40 ? lx->n : 40), lx->s);
	}
}

static void index_text(struct lex *lx, struct module *m)
{
	lex_next(lx);
	parse_header(lx, m);
	while (lx->tok != TK_EOF) {
		bool ext = false;

		while (lx->tok == TK_DIR && (lex_is(lx, "visible") || lex_is(lx, "extern") ||
					     lex_is(lx, "weak") || lex_is(lx, "common"))) {
			ext |= lex_is(lx, "extern");
			lex_next(lx);
		}
		if (lx->tok != TK_DIR) {
			if (lex_accept(lx, ';'))
				continue;
			lex_fail(lx, VGPU_ST_INVALID_PTX, "expected a directive before '%.*s'",
				 (int)(lx->n < 40 ? lx->n : 40), lx->s);
		}
		if (lex_is(lx, "entry") || lex_is(lx, "func"))
			module_func_decl(lx, m, lex_is(lx, "entry"));
		else if (lex_is(lx, "global") || lex_is(lx, "const") || lex_is(lx, "shared"))
			module_var(lx, m, ext);
		else
			skip_directive(lx);
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
		off = (off + v->align - 1) & ~(u64)(v->align - 1);
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

static u64 init_value(struct lex *lx, struct module *m, const struct sym *v)
{
	struct map_ent *ent;
	struct sym *s;
	u64 r = 0;
	s64 d;
	bool neg, generic = false;

	/* one number of a long list of them */
	if (lx->tok == TK_INT && lx->p < lx->end && (*lx->p == ',' || *lx->p == '}')) {
		r = lx->ival;
		lex_next(lx);
		return r;
	}
	if (lx->tok == TK_F32 || lx->tok == TK_F64 || (lx->tok == '-' && type_is_float(v->type))) {
		double x;
		float f;

		neg = lex_accept(lx, '-');
		r = lx->ival;
		if (lx->tok == TK_F64) {
			memcpy(&x, &r, 8);
			x = neg ? -x : x;
			memcpy(&r, &x, 8);
			f = (float)x;
			if (type_bytes(v->type) == 4) {
				r = 0;
				memcpy(&r, &f, 4);
			}
		} else if (neg) {
			r ^= 0x80000000u;
		}
		lex_next(lx);
		return r;
	}
	if (lx->tok == TK_ID) {
		if (lex_is(lx, "generic")) {
			lex_next(lx);
			lex_expect(lx, '(');
			generic = true;
		}
		ent = map_find(&m->syms, lx->s, lx->n);
		s = ent ? ent->val : NULL;
		if (!s || (s->what == V_VAR && s->space == SPACE_SHARED))
			lex_fail(lx, VGPU_ST_INVALID_PTX, "'%.*s' cannot stand in an initialiser",
				 (int)(lx->n < 60 ? lx->n : 60), lx->s);
		if (s->what == V_VAR && s->ext)
			lex_fail(lx, VGPU_ST_INVALID_PTX, "'%s' is not defined in this module", s->name);
		r = s->what == V_FUNC ? s->fn->unique_ptr : s->addr;
		lex_next(lx);
		if (generic)
			lex_expect(lx, ')');
	} else {
		r = (u64)const_expr(lx);
	}
	while (lx->tok == '+' || lx->tok == '-') {
		neg = lx->tok == '-';
		lex_next(lx);
		d = const_expr(lx);
		r += neg ? 0 - (u64)d : (u64)d;
	}
	return r;
}

static void fill_init(struct module *m, struct init *in, struct lex *lx)
{
	u32 depth = 0;
	u64 at = 0;

	lex_next(lx);
	while (lx->tok != ';') {
		u64 v;

		if (lx->tok == '{') {
			depth++;
			lex_next(lx);
			continue;
		}
		if (lx->tok == '}') {
			if (!depth--)
				lex_fail(lx, VGPU_ST_INVALID_PTX, "stray '}'");
			lex_next(lx);
			continue;
		}
		if (lex_accept(lx, ','))
			continue;
		v = init_value(lx, m, in->v);
		if (at + in->elem > in->v->bytes)
			lex_fail(lx, VGPU_ST_INVALID_PTX, "too many values for '%s'", in->v->name);
		memcpy((in->v->managed ? (char *)m->managed_image + (in->v->addr - m->managed_va) : (char *)in->v->addr) + at, &v,
		       in->elem > 8 ? 8 : in->elem);
		at += in->elem;
	}
}

/* A .global or .const variable inside a function: memory of its own, at "= ..." or ";". */
void module_late_var(struct lex *lx, struct module *m, struct sym *v)
{
	struct late *l = need(lx, pool_alloc(&m->pool, sizeof(*l)));
	struct init in = { .v = v, .elem = type_bytes(v->type) };

	if (v->managed && m->e->managed_told)
		lex_fail(lx, VGPU_ST_NOT_SUPPORTED, "'%s': a managed variable inside a function", v->name);
	v->addr = l->addr = arena_alloc(m->e, v->bytes ? v->bytes : 1, &l->cap);
	if (!l->addr)
		lex_fail(lx, VGPU_ST_OUT_OF_MEMORY, "no memory for '%s'", v->name);
	l->next = m->late;
	m->late = l;
	if (arena_commit(l->addr, v->bytes ? v->bytes : 1))
		lex_fail(lx, VGPU_ST_OUT_OF_MEMORY, "no memory for '%s'", v->name);
	mc_note(m->e, v->addr, v->bytes, true);
	if (lx->tok == '=')
		fill_init(m, &in, lx);
}

static int register_funcs(struct engine *e, struct module *m)
{
	u32 i;

	if (m->nfuncs > MAX_FUNCS - e->nfuncs)
		return -1;
	for (i = 0; i < m->nfuncs; i++) {
		struct func *fn = m->funcs[i];

		fn->id = e->nfuncs + 1;
		fn->unique_ptr = FNPTR_TAG | fn->id;
		__atomic_store_n(&e->funcs[e->nfuncs], fn, __ATOMIC_RELEASE);
		__atomic_store_n(&e->nfuncs, e->nfuncs + 1, __ATOMIC_RELEASE);
	}
	return 0;
}

static u32 read_module(struct engine *e, struct module *m, char *log, size_t log_bytes)
{
	struct init *in;
	struct lex lx;
	jmp_buf bail;

	lex_init(&lx, m->text, m->end, 1, &bail, log, log_bytes);
	if (setjmp(bail))
		return lx.status;
	index_text(&lx, m);
	place_managed(&lx, m);
	place_vars(&lx, m);
	if (register_funcs(e, m) < 0)
		lex_fail(&lx, VGPU_ST_LIMIT, "too many functions in this context");
	for (in = m->inits; in; in = in->next) {
		lex_init(&lx, in->p, m->end, in->line, &bail, log, log_bytes);
		fill_init(m, in, &lx);
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

u32 module_open(struct engine *e, const void *image, size_t bytes, struct module **out, char *log,
		size_t log_bytes)
{
	struct module *m = calloc(1, sizeof(struct module));
	const u8 *b = image;
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
	} else if (!looks_like_text(m->text, m->end)) {
		free(m);
		if (log && log_bytes)
			snprintf(log, log_bytes, "1:1: neither PTX text nor a fatbin");
		return VGPU_ST_INVALID_IMAGE;
	}
	st = read_module(e, m, log, log_bytes);
	if (st) {
		module_close(m);
	} else {
		mc_module(m, true);
		*out = m;
	}
	return st;
}

void module_close(struct module *m)
{
	u32 i;

	for (i = 0; i < m->nfuncs; i++) {
		struct func *fn = m->funcs[i];

		if (fn->id && fn->id <= m->e->nfuncs)
			m->e->funcs[fn->id - 1] = NULL;
		jit_free(fn);
		free(fn->code);
		free(fn->cpool);
		free(fn->pro);
		free(fn->why);
		free(fn->callees);
	}
	mc_module(m, false);
	for (; m->late; m->late = m->late->next)
		arena_release(m->e, m->late->addr, m->late->cap);
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
