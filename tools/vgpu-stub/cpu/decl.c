/* SPDX-License-Identifier: MIT */
/*
 * Declarations as modules and bodies have them (PTX ISA 5.4): types, names, array bounds, parameter lists, first values;
 * and the directives that say nothing about the code's meaning (11.5, 11.6). Used by module.c and parse.c.
 */
#include <stdio.h>
#include <string.h>

#include "cpu.h"

#define MAX_PARAM_BYTES 32764
#define OLD_PARAM_BYTES 4352    /* of a kernel, before PTX ISA 8.1 and compute capability 7.0 (11.3.1) */
#define MAX_DIMS 16
#define MAX_NAMED 65536u

void *lex_need(struct lex *lx, void *p)
{
	if (!p)
		lex_fail(lx, VGPU_ST_OUT_OF_MEMORY, "out of memory");
	return p;
}

void lex_skip_to(struct lex *lx, int tok)
{
	while (lx->tok != tok && lx->tok != TK_EOF)
		lex_next(lx);
}

static u64 take_int(struct lex *lx)
{
	u64 v = lx->ival;

	lex_expect(lx, TK_INT);
	return v;
}

/* .attribute(.managed), .attribute(.unified(uuid1, uuid2)): the second only names what is the same on two devices. */
void parse_attribute(struct lex *lx, struct sym *v)
{
	lex_next(lx);
	lex_expect(lx, '(');
	do {
		if (lx->tok == TK_DIR && lex_is(lx, "managed")) {
			v->managed = true;
			lex_next(lx);
		} else if (lx->tok == TK_DIR && lex_is(lx, "unified")) {
			lex_next(lx);
			lex_expect(lx, '(');
			take_int(lx);
			lex_expect(lx, ',');
			take_int(lx);
			lex_expect(lx, ')');
		} else {
			lex_fail(lx, VGPU_ST_INVALID_PTX, "unknown attribute '%.*s'", (int)(lx->n < 40 ? lx->n : 40), lx->s);
		}
	} while (lex_accept(lx, ','));
	lex_expect(lx, ')');
}

static u8 opaque(const struct lex *lx)
{
	return lex_is(lx, "texref") ? OPAQUE_TEXTURE : lex_is(lx, "samplerref") ? OPAQUE_SAMPLER : lex_is(lx, "surfref") ? OPAQUE_SURFACE : 0;
}

/* [.align n] [.attribute(..)] [.vN] .type [.ptr [.space] [.align n]]; the current token is behind the space word */
void parse_var_type(struct lex *lx, struct sym *v)
{
	bool have = false, ptr = false, space = false, ptr_align = false;

	v->align = 0;
	v->vec = 0;
	while (lx->tok == TK_DIR) {
		if (lex_is(lx, "align") && !ptr_align) {
			ptr_align = ptr;
			lex_next(lx);
			if (lx->tok != TK_INT || !lx->ival || (lx->ival & (lx->ival - 1)) || lx->ival > 4096)
				lex_fail(lx, VGPU_ST_INVALID_PTX, "alignment is not a power of two");
			if (!ptr)               /* else of what it points to */
				v->align = (u32)lx->ival;
			lex_next(lx);
			continue;
		}
		if (lex_is(lx, "attribute") && !have) {
			parse_attribute(lx, v);
			continue;
		}
		if ((lex_is(lx, "v2") || lex_is(lx, "v4")) && !v->vec && !have) {
			v->vec = (u32)(lx->s[1] - '0');
		} else if (lex_is(lx, "ptr") && have && !ptr) {
			ptr = true;
		} else if (ptr && !space && !ptr_align && (lex_is(lx, "global") || lex_is(lx, "shared") || lex_is(lx, "const") ||
							    lex_is(lx, "local") || opaque(lx))) {
			space = true;
		} else if (type_find(lx->s, lx->n) && !have) {
			v->type = (u8)type_find(lx->s, lx->n);
			/* the other formats live in registers and variables of .bN (5.2.3) */
			if (v->type == T_BF16 || v->type == T_BF16X2 || v->type == T_TF32 || v->type == T_U16X2 || v->type == T_S16X2)
				lex_fail(lx, VGPU_ST_INVALID_PTX, "there are no variables of type .%.*s", (int)lx->n, lx->s);
			have = true;
		} else if (opaque(lx) && !have) {
			v->opaque = opaque(lx);
			v->type = T_B64;
			have = true;
		} else {
			lex_fail(lx, VGPU_ST_INVALID_PTX, "unexpected '.%.*s' in a declaration",
				 (int)(lx->n < 40 ? lx->n : 40), lx->s);
		}
		lex_next(lx);
	}
	if (!have)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "a declaration without a type");
	if (v->vec * type_bytes(v->type) > 16 || (v->vec && v->type == T_PRED))
		lex_fail(lx, VGPU_ST_INVALID_PTX, "no vector is larger than 16 bytes");
}

/* name[dims]; v comes from parse_var_type() */
void parse_var_name(struct lex *lx, struct sym *v, struct pool *pool, u32 *n)
{
	u64 count = 1, vec = v->vec ? v->vec : 1, dims[MAX_DIMS + 1], bytes = vec * type_bytes(v->type);

	v->name = lex_need(lx, pool_str(pool, lx->s, lx->n));
	*n = lx->n;
	lex_expect(lx, TK_ID);
	v->dyn = false;
	v->ndims = 0;
	while (lex_accept(lx, '[')) {
		u64 dim = 0;

		if (lx->tok == ']') {           /* only the first one may be left open */
			if (v->ndims)
				lex_fail(lx, VGPU_ST_INVALID_PTX, "'%s': an array of incomplete arrays", v->name);
			v->dyn = true;
		} else {
			dim = take_int(lx);
			/* "x[0]" is as open as "x[]" */
			v->dyn |= !dim && !v->ndims;
		}
		if (v->ndims == MAX_DIMS)
			lex_fail(lx, VGPU_ST_NOT_SUPPORTED, "'%s': arrays of more than %u dimensions are not supported", v->name, MAX_DIMS);
		dims[v->ndims++] = dim;
		if (!v->dyn || v->ndims > 1) {
			if (dim && count > MAX_VAR_BYTES / dim)
				lex_fail(lx, VGPU_ST_INVALID_PTX, "variable too large");
			count *= dim;
		}
		lex_expect(lx, ']');
	}
	if (v->vec)
		dims[v->ndims++] = v->vec;
	if (v->ndims) {
		v->dims = lex_need(lx, pool_alloc(pool, v->ndims * sizeof(*dims)));
		memcpy(v->dims, dims, v->ndims * sizeof(*dims));
	}
	v->bytes = v->dyn ? 0 : count * bytes;
	if (!v->align)
		v->align = (u32)bytes;
	if (v->bytes > MAX_VAR_BYTES)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "variable too large");
}

/*
 * Variables are declared by families as registers are, in any state space; none of them is an array or has a first value. lx
 * stands at the name, and family_next() makes each of the names the current token in turn.
 */
void parse_family(struct lex *lx, struct family *f)
{
	struct lex t = *lx;

	*f = (struct family){ .count = 1 };
	if (lx->tok != TK_ID || lex_next(&t) != '<')
		return;
	lex_next(&t);
	if (t.tok != TK_INT || t.ival > MAX_NAMED || (t.named += (u32)t.ival) > MAX_NAMED)
		lex_fail(&t, VGPU_ST_INVALID_PTX, "bad number of variables");
	f->s = lx->s;
	f->n = lx->n;
	f->count = (u32)t.ival;
	if (lex_next(&t) != '>')
		lex_expect(&t, '>');
	f->behind = t;
	if (lex_next(&t) != ',' && t.tok != ';')
		lex_fail(&t, VGPU_ST_INVALID_PTX, "expected ',' or ';' behind '%.*s<%u>'", (int)(f->n < 40 ? f->n : 40), f->s, f->count);
}

bool family_next(struct lex *lx, struct family *f, struct pool *pool)
{
	char number[12];
	u32 digits;
	char *name;

	if (f->s && !f->count) {
		*lx = f->behind;
		lex_next(lx);
	}
	if (f->at == f->count)
		return false;
	if (f->s) {
		digits = (u32)snprintf(number, sizeof(number), "%u", f->at);
		name = lex_need(lx, pool_alloc(pool, f->n + digits + 1));
		memcpy(name, f->s, f->n);
		memcpy(name + f->n, number, digits);
		*lx = f->behind;
		lx->tok = TK_ID;
		lx->s = name;
		lx->n = f->n + digits;
	}
	f->at++;
	return true;
}

/* One parameter; one of a vector register is several, a place each, the first of which knows how many. */
static void one_param(struct lex *lx, struct module *m, struct fparam *p, bool entry, bool ret)
{
	struct sym v = { 0 };
	u32 len;

	p->is_reg = lx->tok == TK_DIR && lex_is(lx, "reg");
	if (!p->is_reg && !(lx->tok == TK_DIR && lex_is(lx, "param")))
		lex_fail(lx, VGPU_ST_INVALID_PTX, "expected .param or .reg in a parameter list");
	lex_next(lx);
	parse_var_type(lx, &v);
	parse_var_name(lx, &v, &m->pool, &len);
	if (p->is_reg ? v.ndims > (v.vec != 0) || entry : v.vec || v.type == T_PRED)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "parameter '%s' cannot be of this kind", v.name);
	if (v.dyn && (entry || ret || lx->tok != ')'))
		lex_fail(lx, VGPU_ST_INVALID_PTX, "only the last parameter of a .func can be an incomplete array");
	p->type = v.type;
	p->align = v.align;
	p->name = v.name;
	p->vec = v.vec;
	p->opaque = v.opaque;
	p->open = v.dyn;
	p->bytes = v.dyn ? VARIADIC_BYTES : (u32)v.bytes;
	if (v.bytes > MAX_PARAM_BYTES)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "too many parameters");
}

/* "(.param ..., .reg ...)"; the current token is behind '('. Returns with ')' consumed. */
void parse_params(struct lex *lx, struct module *m, u32 flags, struct fparam **out, u32 *n, u32 *total)
{
	struct fparam *list = NULL, p, *grown;
	u32 cap = 0, i, k;
	u64 off = 0, most = flags & PARAMS_ENTRY && (m->version < 81 || m->e->env.cc_major < 7) ? OLD_PARAM_BYTES : MAX_PARAM_BYTES;

	*n = 0;
	*out = NULL;
	while (lx->tok != ')') {
		if (*n && !lex_accept(lx, ','))
			lex_fail(lx, VGPU_ST_INVALID_PTX, "expected ',' or ')' in a parameter list");
		memset(&p, 0, sizeof(p));
		one_param(lx, m, &p, flags & PARAMS_ENTRY, flags & PARAMS_RET);
		for (k = p.vec ? p.vec : 1, i = 0; i < k; i++) {
			if (*n == cap) {        /* the pool keeps old copies: lists are short */
				grown = lex_need(lx, pool_alloc(&m->pool, (cap ? cap * 2 : 8) * sizeof(*grown)));
				if (*n)
					memcpy(grown, list, *n * sizeof(*grown));
				list = grown;
				cap = cap ? cap * 2 : 8;
			}
			if (!p.is_reg) {
				off = (off + p.align - 1) & ~(u64)(p.align - 1);
				p.off = (u32)off;
				off += p.bytes;
			}
			if (off > most)
				lex_fail(lx, VGPU_ST_INVALID_PTX, "too many parameters: more than %u bytes", (u32)most);
			if (*n == ENGINE_MAX_PARAMS)
				lex_fail(lx, VGPU_ST_INVALID_PTX, "too many parameters");
			list[(*n)++] = p;
			p.vec = 0;
			p.name = "_";
		}
	}
	if (flags & PARAMS_RET && *n > 1)
		for (i = 0; i < *n; i++)
			if (!list[i].is_reg)
				lex_fail(lx, VGPU_ST_INVALID_PTX, "several results must be registers");
	lex_expect(lx, ')');
	*out = list;
	*total = (u32)off;
}

/* ---- first values ---------------------------------------------------------------------- */

/* name, generic(name), mask(name), each with "+ constant" */
static u64 address_value(struct lex *lx, struct module *m)
{
	struct map_ent *ent;
	struct sym *s;
	bool generic = false;
	u64 r;

	if (lex_is(lx, "generic")) {
		lex_next(lx);
		lex_expect(lx, '(');
		generic = true;
	}
	ent = map_find(&m->syms, lx->s, lx->n);
	s = ent && lx->tok == TK_ID ? ent->val : NULL;
	if (!s || (s->what == V_VAR && (s->space == SPACE_SHARED || s->space == SPACE_LOCAL)))
		lex_fail(lx, VGPU_ST_INVALID_PTX, "'%.*s' cannot stand in an initialiser", (int)(lx->n < 60 ? lx->n : 60), lx->s);
	if (s->what == V_VAR && (s->ext || s->opaque))
		lex_fail(lx, VGPU_ST_NOT_SUPPORTED, s->opaque ? "'%s': a reference to a texture as a value is not supported" : "'%s' is not defined in this module",
			 s->name);
	r = s->what == V_FUNC ? s->fn->unique_ptr : s->addr;
	lex_next(lx);
	if (generic)
		lex_expect(lx, ')');
	if (lex_accept(lx, '+'))
		r += (u64)const_expr(lx);
	return r;
}

static u64 init_value(struct lex *lx, struct module *m, const struct sym *v)
{
	enum type t = v->type;
	struct cval c;
	double x;
	float f;
	u64 r;

	/* one number of a long list of them */
	if (lx->tok == TK_INT && !type_is_float(t) && lx->p < lx->end && (*lx->p == ',' || *lx->p == '}')) {
		r = lx->ival;
		lex_next(lx);
		return r;
	}
	if (lx->tok == TK_ID && !lex_is(lx, "WARP_SZ")) {
		if (type_bytes(t) < 4)
			lex_fail(lx, VGPU_ST_INVALID_PTX, "an address does not fit into '%s'", v->name);
		return address_value(lx, m);
	}
	c = const_value(lx);
	if (c.kind <= CV_U64) {
		if (lex_accept(lx, '(')) {      /* 0xff00(name): one byte of an address */
			if (type_bytes(t) != 1 || !c.bits || (c.bits >> (__builtin_ctzll(c.bits) & ~7u)) != 0xff)
				lex_fail(lx, VGPU_ST_INVALID_PTX, "the mask of an address picks one byte of it");
			r = address_value(lx, m) >> __builtin_ctzll(c.bits);
			lex_expect(lx, ')');
			return r & 0xff;
		}
		if (type_is_float(t))
			lex_fail(lx, VGPU_ST_INVALID_PTX, "'%s': an integer where .%s is expected", v->name, type_name(t));
		return c.bits;
	}
	/* bits of .bN have a float's value as well, of their size */
	if ((!type_is_float(t) && !(t >= T_B8 && t <= T_B64)) || t == T_F16 || t == T_F16X2)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "'%s': a floating point constant where .%s is expected", v->name, type_name(t));
	if (c.kind == CV_F64 && type_bytes(t) == 4) {
		memcpy(&x, &c.bits, 8);
		f = (float)x;
		c.bits = 0;
		memcpy(&c.bits, &f, 4);
	}
	return c.bits;
}

/* Values of dimension d on, at byte `at`; what is left out stays zero. */
static void fill_dim(struct lex *lx, struct module *m, const struct sym *v, u32 d, u64 at, char *mem)
{
	u64 i, step = type_bytes(v->type), val;
	u32 k;

	if (d == v->ndims) {
		val = init_value(lx, m, v);
		memcpy(mem + at, &val, step > 8 ? 8 : step);
		return;
	}
	for (k = d + 1; k < v->ndims; k++)
		step *= v->dims[k];
	lex_expect(lx, '{');
	for (i = 0; lx->tok != '}' || i; i++) {
		if (i == v->dims[d])
			lex_fail(lx, VGPU_ST_INVALID_PTX, "too many values for '%s'", v->name);
		fill_dim(lx, m, v, d + 1, at + i * step, mem);
		if (!lex_accept(lx, ','))
			break;
	}
	lex_expect(lx, '}');
}

/* Behind '='; mem is where the variable's bytes are, all of them zero. */
void parse_init(struct lex *lx, struct module *m, const struct sym *v, char *mem)
{
	fill_dim(lx, m, v, 0, 0, mem);
}

/* Over a first value that is read later; how many elements the outermost dimension has. */
u64 skip_init(struct lex *lx)
{
	u64 count = 0;
	u32 depth = 0;
	bool empty = true;

	for (; lx->tok != TK_EOF; lex_next(lx)) {
		if (!depth && (lx->tok == ';' || lx->tok == ','))
			break;
		if (lx->tok == '{' || lx->tok == '(')
			depth++;
		else if (lx->tok == '}' || lx->tok == ')')
			depth -= depth != 0;
		else if (lx->tok == ',' && depth == 1)
			count++;
		empty &= lx->tok == '{' || lx->tok == '}';
	}
	return count + !empty;
}

/* ---- directives that change nothing ---------------------------------------------------- */

/* .pragma "…", "…"; what it asks for is advice */
void parse_pragma(struct lex *lx)
{
	do {
		lex_next(lx);
		lex_expect(lx, TK_STR);
	} while (lx->tok == ',');
	lex_expect(lx, ';');
}

/* .file index "name" [, time, bytes] */
void parse_file(struct lex *lx)
{
	lex_next(lx);
	take_int(lx);
	lex_expect(lx, TK_STR);
	if (lex_accept(lx, ',')) {
		take_int(lx);
		lex_expect(lx, ',');
		take_int(lx);
	}
}

/* .loc file line column [, function_name label [+ n], inlined_at file line column] */
void parse_loc(struct lex *lx)
{
	lex_next(lx);
	take_int(lx);
	take_int(lx);
	take_int(lx);
	if (!lex_accept(lx, ','))
		return;
	if (!(lx->tok == TK_ID && lex_is(lx, "function_name")))
		lex_fail(lx, VGPU_ST_INVALID_PTX, "expected function_name before '%.*s'", (int)(lx->n < 40 ? lx->n : 40), lx->s);
	lex_next(lx);
	lex_expect(lx, TK_ID);
	if (lex_accept(lx, '+'))
		take_int(lx);
	lex_expect(lx, ',');
	if (!(lx->tok == TK_ID && lex_is(lx, "inlined_at")))
		lex_fail(lx, VGPU_ST_INVALID_PTX, "expected inlined_at before '%.*s'", (int)(lx->n < 40 ? lx->n : 40), lx->s);
	lex_next(lx);
	take_int(lx);
	take_int(lx);
	take_int(lx);
}

/* .section .name { … }: debug information, which nobody here reads */
void parse_section(struct lex *lx)
{
	lex_next(lx);
	if (lx->tok != TK_DIR && lx->tok != TK_ID)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "expected a section's name before '%.*s'", (int)(lx->n < 40 ? lx->n : 40), lx->s);
	lex_next(lx);
	if (lx->tok != '{')
		lex_expect(lx, '{');
	lex_skip_braces(lx);
}

/* ---- directives of functions (11.4, 11.7) ---------------------------------------------- */

static u32 dims(struct lex *lx, u64 *v)
{
	u32 n = 0;

	v[0] = v[1] = v[2] = 1;
	do {
		if (n == 3)
			lex_fail(lx, VGPU_ST_INVALID_PTX, "more than three dimensions");
		lex_next(lx);
		v[n++] = take_int(lx);
		if (!v[n - 1] || v[n - 1] > 1u << 31)
			lex_fail(lx, VGPU_ST_INVALID_PTX, "a size of zero or beyond all bounds in a directive");
	} while (lx->tok == ',');
	return n;
}

static void refuse(struct func *fn, const char *why)
{
	if (!fn->refused)
		fn->refused = why;
}

/* One of them; seen: which, by bits, of those that concern each other. */
static void entry_directive(struct lex *lx, struct func *fn, u32 *seen)
{
	bool maxn = lex_is(lx, "maxntid"), req = lex_is(lx, "reqntid");
	u64 v[3], prod;

	if (maxn || req || lex_is(lx, "reqnctapercluster")) {
		bool cluster = !maxn && !req;

		dims(lx, v);
		*seen |= maxn ? 1 : req ? 2 : 4;
		if ((*seen & 3) == 3)
			lex_fail(lx, VGPU_ST_INVALID_PTX, ".maxntid and .reqntid exclude each other");
		prod = v[0] * v[1] > 1u << 31 ? 1u << 31 : v[0] * v[1] * v[2];
		if (cluster) {
			if (prod > MAX_CLUSTER)
				lex_fail(lx, VGPU_ST_INVALID_PTX, ".reqnctapercluster: a cluster has %u blocks at most", MAX_CLUSTER);
			for (u32 i = 0; i < 3; i++)
				fn->reqcluster[i] = (u32)v[i];
			return;
		}
		if (prod < fn->max_threads)
			fn->max_threads = (u32)prod;
		for (u32 i = 0; req && i < 3; i++)
			fn->reqntid[i] = (u32)v[i];
	} else if (lex_is(lx, "minnctapersm") || lex_is(lx, "maxnctapersm") || lex_is(lx, "maxnreg") || lex_is(lx, "maxclusterrank")) {
		bool regs = lex_is(lx, "maxnreg"), blocks = lex_is(lx, "minnctapersm"), rank = lex_is(lx, "maxclusterrank");
		u64 n;

		lex_next(lx);
		n = take_int(lx);
		if (!n)
			lex_fail(lx, VGPU_ST_INVALID_PTX, "a positive number is expected");
		if (regs)
			fn->max_regs = n < 255 ? (u32)n : 255;
		if (blocks)
			fn->min_blocks = n < 64 ? (u32)n : 64;
		if (rank)
			fn->max_cluster = n < MAX_CLUSTER ? (u32)n : MAX_CLUSTER;
	} else if (lex_is(lx, "explicitcluster")) {
		fn->explicit_cluster = true;
		lex_next(lx);
	} else if (lex_is(lx, "blocksareclusters")) {
		refuse(fn, ".blocksareclusters: a grid counted in clusters is not supported");
		*seen |= 8;
		lex_next(lx);
	}
}

static bool is_entry_directive(const struct lex *lx)
{
	static const char *const words[] = { "maxntid", "reqntid", "reqnctapercluster", "minnctapersm", "maxnctapersm", "maxnreg",
					     "maxclusterrank", "explicitcluster", "blocksareclusters" };

	for (u32 i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (lex_is(lx, words[i]))
			return true;
	return false;
}

void parse_func_directives(struct lex *lx, struct func *fn)
{
	u32 seen = 0;

	while (lx->tok == TK_DIR) {
		if (lex_is(lx, "pragma") && fn->entry) {
			parse_pragma(lx);
		} else if (fn->entry && is_entry_directive(lx)) {
			entry_directive(lx, fn, &seen);
		} else if (!fn->entry && lex_is(lx, "noreturn")) {
			if (fn->nrets)
				lex_fail(lx, VGPU_ST_INVALID_PTX, "'%s' has results and .noreturn", fn->name);
			lex_next(lx);
		} else if (!fn->entry && (lex_is(lx, "abi_preserve") || lex_is(lx, "abi_preserve_control"))) {
			lex_next(lx);
			take_int(lx);
		} else {
			break;          /* of a prototype without ';' the next thing follows */
		}
	}
	if ((seen & 8) && (seen & 6) != 6)
		lex_fail(lx, VGPU_ST_INVALID_PTX, ".blocksareclusters wants .reqntid and .reqnctapercluster");
}
