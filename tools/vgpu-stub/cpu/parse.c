/* SPDX-License-Identifier: MIT */
/*
 * Reads the body of one function: declarations, labels, statements. Each statement goes through
 * check.c to lower.c at once. Called by compile.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front.h"

#define MAX_REGS (1u << 20)
#define MAX_DEPTH 64
#define MAX_LIST 128u           /* registers of an operand: the result of wgmma.m64n256 */

static bool find_reg(struct comp *c, const char *s, u32 n, struct operand *o);
static void parse_operand(struct comp *c, struct operand *o);

void *cneed(struct comp *c, void *p)
{
	if (!p)
		lex_fail(&c->lx, VGPU_ST_OUT_OF_MEMORY, "out of memory");
	return p;
}

/* The map that it is in: a family and a register of its name are two things. */
static struct sym *declare_in(struct comp *c, struct map *map, const char *s, u32 n, u8 what)
{
	struct map_ent *ent = map_find(map, s, n);
	struct sym *v = cneed(c, pool_alloc(&c->pool, sizeof(*v)));

	v->what = what;
	v->name = cneed(c, pool_str(&c->pool, s, n));
	v->scope = c->depth;
	v->shadow = ent ? ent->val : NULL;
	if (v->shadow && v->shadow->scope == c->depth && v->shadow->what != V_FUNC)
		FAIL(c, "'%.*s' is declared twice", (int)(n < 60 ? n : 60), s);
	v->chain = c->scope_syms;
	c->scope_syms = v;
	v->fam = map == &c->families;
	if (map_put(map, v->name, n, v) < 0)
		cneed(c, NULL);
	return v;
}

struct sym *declare(struct comp *c, const char *s, u32 n, u8 what) { return declare_in(c, &c->syms, s, n, what); }

static struct sym *lookup_hash(struct comp *c, const char *s, u32 n, u32 h)
{
	struct map_ent *ent = map_find_hash(&c->syms, s, n, h);

	if (ent && ent->val)
		return ent->val;
	ent = map_find_hash(&c->m->syms, s, n, h);
	return ent ? ent->val : NULL;
}

static struct sym *lookup(struct comp *c, const char *s, u32 n)
{
	u32 h = MAP_HASH, i;

	for (i = 0; i < n; i++)
		h = map_hash(h, s[i]);
	return lookup_hash(c, s, n, h);
}

struct label *label_get(struct comp *c, const char *s, u32 n)
{
	struct map_ent *ent = map_find(&c->syms, s, n);
	struct sym *v = ent ? ent->val : NULL;
	struct label *l;

	if (v && v->what != V_LABEL)
		FAIL(c, "'%.*s' is not a label", (int)(n < 60 ? n : 60), s);
	/* of an outer scope: this one may still define its own; scope_leave joins them if not */
	if (v && v->scope == c->depth)
		return v->extra;
	v = declare(c, s, n, V_LABEL);
	l = v->extra = cneed(c, pool_alloc(&c->pool, sizeof(*l)));
	l->name = v->name;
	l->id = c->nlabels;
	l->ref_line = c->lx.tline;
	l->ref_col = c->lx.tcol;
	c->labels = cneed(c, xgrow(c->labels, &c->labels_cap, c->nlabels + 1, sizeof(*c->labels)));
	c->labels[c->nlabels++] = l;
	return l;
}

static void define_label(struct comp *c, const char *s, u32 n)
{
	struct label *l = label_get(c, s, n);

	if (l->defined)
		FAIL(c, "label '%s' is defined twice", l->name);
	l->defined = true;
	l->at = c->ncode;
	l->text = s;
	l->ntext = n;
}

static void scope_leave(struct comp *c)
{
	struct sym *v, *keep = NULL;

	while ((v = c->scope_syms) && v->scope == c->depth) {
		struct map_ent *ent = map_find(v->fam ? &c->families : &c->syms, v->name, strlen(v->name));
		struct label *l = v->what == V_LABEL ? v->extra : NULL;

		c->scope_syms = v->chain;
		ent->val = v->shadow;
		if (!l || l->defined)
			continue;
		/* a label of an outer scope, referenced in here first */
		if (v->shadow && v->shadow->what == V_LABEL) {
			l->alias = v->shadow->extra;
			continue;
		}
		ent->val = v;
		v->chain = keep;
		keep = v;
	}
	c->depth--;
	while ((v = keep)) {
		keep = v->chain;
		v->scope = c->depth;
		v->chain = c->scope_syms;
		c->scope_syms = v;
	}
}

/* ---- declarations ---------------------------------------------------------------------- */

static struct sym *family_of(struct comp *c, const char *s, u32 n)
{
	struct map_ent *ent = map_find(&c->families, s, n);

	return ent ? ent->val : NULL;
}

/* Is the name that of a register of a family of this scope? */
static bool in_family(struct comp *c, const char *s, u32 n)
{
	struct operand o = { 0 };
	struct sym *v;
	u32 i;

	if (!n || s[n - 1] < '0' || s[n - 1] > '9' || !find_reg(c, s, n, &o))
		return false;
	for (i = n; i > 0 && s[i - 1] >= '0' && s[i - 1] <= '9'; i--) {
		v = family_of(c, s, i - 1);
		if (v && v->scope == c->depth)
			return true;
	}
	return false;
}

static void decl_reg(struct comp *c)
{
	struct lex *lx = &c->lx;
	struct sym head = { 0 };
	enum type t;
	u32 vec;

	lex_next(lx);
	parse_var_type(lx, &head);
	vec = head.vec;
	t = head.type;
	if (head.opaque)
		FAIL(c, "expected a register type");
	if (t == T_B128) {
		if (vec)
			FAIL(c, "there are no vectors of .b128");
		t = T_B64;
		vec = 2;
	}
	for (;; lex_next(lx)) {
		struct sym *v;
		const char *name;
		u32 count = 1, i, n;

		if (lx->tok != TK_ID || (lx->n == 1 && *lx->s == '_'))
			FAIL(c, "expected a register name");
		name = lx->s;
		n = lx->n;
		if (in_family(c, name, n))
			FAIL(c, "'%.*s' is declared twice", (int)(n < 60 ? n : 60), name);
		lex_next(lx);
		v = declare_in(c, lx->tok == '<' ? &c->families : &c->syms, name, n, V_REG);
		if (lex_accept(lx, '<')) {
			if (lx->tok != TK_INT || lx->ival > MAX_REGS)
				FAIL(c, "bad number of registers");
			count = v->family = (u32)lx->ival;
			lex_next(lx);
			lex_expect(lx, '>');
		}
		v->type = (u8)t;
		v->reg = c->nregs;
		v->vec = vec;
		v->quad = head.type == T_B128;
		count *= vec ? vec : 1;
		names_reg(c, v, name, n, count);
		if (c->nregs + count > MAX_REGS)
			FAIL(c, "too many registers");
		c->regs = cneed(c, xgrow(c->regs, &c->regs_cap, c->nregs + count + 1, sizeof(*c->regs)));
		for (i = 0; i < count; i++)
			c->regs[c->nregs++] = (struct vreg){ (u8)t, type_w(t) };
		if (lx->tok != ',')
			break;
	}
	lex_expect(lx, ';');
}

static void decl_one(struct comp *c, const struct sym *head, bool param)
{
	struct lex *lx = &c->lx;
	struct sym *v, one = *head;
	const char *s = lx->s;
	u32 n;

	parse_var_name(lx, &one, &c->pool, &n);
	v = declare(c, s, n, V_VAR);
	v->type = one.type;
	v->vec = one.vec;
	v->space = one.space;
	v->align = one.align;
	v->bytes = one.bytes;
	v->dyn = one.dyn;
	v->ndims = one.ndims;
	v->dims = one.dims;
	v->managed = one.managed;
	if (one.space == SPACE_GLOBAL || one.space == SPACE_CONST) {
		if (one.dyn && lx->tok == '=') {
			struct lex ahead = *lx;

			lex_next(&ahead);
			v->dims[0] = skip_init(&ahead);
			v->bytes = type_bytes(v->type);
			for (u32 i = 0; i < v->ndims; i++)
				v->bytes *= v->dims[i];
			v->dyn = !v->dims[0];
		}
		if (v->dyn)
			FAIL(c, "'%s' has an incomplete type", v->name);
		module_late_var(lx, c->m, v);
		c->late = true;
		return;
	}
	if (v->dyn || (param && v->vec))
		FAIL(c, "'%s' has an incomplete type", v->name);
	if (one.space == SPACE_LOCAL) {
		c->local_bytes = (c->local_bytes + v->align - 1) & ~(u64)(v->align - 1);
		v->addr = c->local_bytes;
		c->local_bytes += v->bytes;
		if (c->local_bytes > MAX_LOCAL)
			FAIL(c, "more than %u bytes of .local", MAX_LOCAL);
	}
}

/* .extern .shared in a body is one of the module */
static void decl_var(struct comp *c)
{
	struct lex *lx = &c->lx;
	bool param = lex_is(lx, "param");
	struct sym head = { 0 };
	struct family f;

	head.space = lex_is(lx, "local") || param ? SPACE_LOCAL : lex_is(lx, "global") ? SPACE_GLOBAL :
		     lex_is(lx, "const") ? SPACE_CONST : SPACE_SHARED;
	lex_next(lx);
	parse_var_type(lx, &head);
	if (head.type == T_PRED || head.opaque)
		FAIL(c, "no variable has this type here");
	do {
		for (parse_family(lx, &f); family_next(lx, &f, &c->pool); )
			decl_one(c, &head, param);
	} while (lex_accept(lx, ','));
	lex_expect(lx, ';');
}

/* ---- operands -------------------------------------------------------------------------- */

/* name.x is one register, name alone all of them. */
static void vector_reg(struct comp *c, const struct sym *v, struct operand *o)
{
	static const char names[] = "xyzwrgba";
	const char *p;
	u32 i;

	if (lex_suffix(&c->lx)) {
		if (v->quad)
			FAIL(c, "'%s' is no vector", v->name);
		p = c->lx.n == 1 ? memchr(names, c->lx.s[0], 8) : NULL;
		if (!p || (u32)(p - names) % 4 >= v->vec)
			FAIL(c, "'%s' has no element '.%.*s'", v->name, (int)(c->lx.n < 20 ? c->lx.n : 20), c->lx.s);
		o->reg += (u32)(p - names) % 4;
		return;
	}
	o->kind = O_VEC;
	o->n = v->vec;
	o->type = v->quad ? T_B128 : T_NONE;
	o->elem = cneed(c, pool_alloc(&c->pool, v->vec * sizeof(*o->elem)));
	for (i = 0; i < v->vec; i++)
		o->elem[i] = (struct operand){ .kind = O_REG, .type = v->type, .reg = o->reg + i,
					       .second = OPND_NONE, .col = o->col };
}

static bool find_reg(struct comp *c, const char *s, u32 n, struct operand *o)
{
	u32 i, idx = 0, h = MAP_HASH, prefix[9];        /* hashes of what may name a family */
	struct sym *v;

	for (i = 0; i < n; i++) {
		if (n - i < 10)
			prefix[9 - (n - i)] = h;
		h = map_hash(h, s[i]);
	}
	v = lookup_hash(c, s, n, h);
	if (v) {
		if (v->what != V_REG)
			return false;
		o->reg = v->reg;
	} else {
		u64 mult = 1, val = 0;

		for (i = n; i > 1 && s[i - 1] >= '0' && s[i - 1] <= '9' && n - i < 9; i--, mult *= 10)
			val += (u64)(s[i - 1] - '0') * mult;
		/* a family may end in a digit itself: try every split, longest number first */
		for (; i < n; i++) {
			struct map_ent *ent = map_find_hash(&c->families, s, i, prefix[9 - (n - i)]);

			v = ent ? ent->val : NULL;
			if (v && (s[i] != '0' || i == n - 1) &&
			    val < v->family) {
				idx = (u32)val;
				break;
			}
			mult /= 10;
			val %= mult;
		}
		if (i >= n)
			return false;
		o->reg = v->reg + idx * (v->vec ? v->vec : 1);
	}
	o->kind = O_REG;
	o->type = v->type;
	if (v->vec)
		vector_reg(c, v, o);
	return true;
}

static void parse_list(struct comp *c, struct operand *o, int close)
{
	struct operand tmp[MAX_LIST];
	u32 n = 0;

	while (c->lx.tok != close) {
		if (n && !lex_accept(&c->lx, ','))
			FAIL(c, "expected ',' or '%c'", close);
		if (n == MAX_LIST)
			FAIL(c, "list too long");
		memset(&tmp[n], 0, sizeof(tmp[n]));
		parse_operand(c, &tmp[n++]);
	}
	lex_expect(&c->lx, close);
	o->n = n;
	o->elem = cneed(c, pool_alloc(&c->pool, (n + 1) * sizeof(*tmp)));
	memcpy(o->elem, tmp, n * sizeof(*tmp));
}

/* A constant, or an expression of constants. */
static void constant(struct comp *c, struct operand *o)
{
	struct cval v = const_value(&c->lx);

	o->kind = v.kind == CV_F32 || v.kind == CV_F64 ? O_FLT : O_INT;
	o->type = v.kind == CV_F32 ? T_F32 : v.kind == CV_F64 ? T_F64 : 0;
	o->imm = (s64)v.bits;
}

/* "name[n]", "name[%r]", "name[%r + n]": the address of an element; as an address operand it goes without brackets */
static void element(struct comp *c, struct operand *o)
{
	struct lex *lx = &c->lx;
	const struct sym *v = o->sym;
	struct operand r = { 0 };
	s64 size;

	if (v->what != V_VAR || !v->ndims)
		FAIL(c, "'%s' is no array", v->name);
	size = type_bytes(v->type) * (v->vec ? v->vec : 1);
	o->element = true;
	lex_next(lx);
	if (lx->tok == TK_ID && find_reg(c, lx->s, lx->n, &r)) {
		if (r.kind == O_REG && type_bytes(r.type) == 2 && !type_is_float(r.type))
			lex_fail(lx, VGPU_ST_NOT_SUPPORTED, "'%s' by an index of 16 bits is not supported", v->name);
		if (r.kind != O_REG || r.type == T_PRED || type_is_float(r.type) || type_bytes(r.type) < 4)
			FAIL(c, "'%s': the index must be a 32 or 64-bit register", v->name);
		o->index = r.reg;
		o->index_type = r.type;
		lex_next(lx);
		if (lex_accept(lx, '+'))
			o->imm = const_expr(lx) * size;
	} else {
		o->imm = (s64)((u64)const_expr(lx) * (u64)size);
	}
	lex_expect(lx, ']');
}

/* %tid and its like are vectors of four; their elements have names of their own. */
static bool sreg_vector(struct comp *c, struct operand *o, const char *s, u32 n)
{
	char name[32];
	u32 i;

	if (n + 3 > sizeof(name))
		return false;
	for (i = 0; i < 4; i++) {
		int sr;

		snprintf(name, sizeof(name), "%.*s.%c", (int)n, s, "xyzw"[i]);
		sr = sreg_find(name, n + 2);
		if (sr < 0)
			return false;
		if (!i) {
			o->kind = O_VEC;
			o->n = 4;
			o->elem = cneed(c, pool_alloc(&c->pool, 4 * sizeof(*o->elem)));
		}
		o->elem[i] = (struct operand){ .kind = O_SREG, .reg = (u32)sr, .second = OPND_NONE, .index = OPND_NONE, .col = o->col };
	}
	return true;
}

/* What is no register: a special one, a variable or function, a label. */
static void name_operand(struct comp *c, struct operand *o)
{
	struct lex *lx = &c->lx;
	const char *s = lx->s, *at = lx->p;
	u32 n = lx->n;
	int sr = -1;

	o->sym = lookup(c, s, n);
	if (!o->sym) {
		if (*s == '%' && lex_suffix(lx))
			sr = sreg_find(s, (size_t)(lx->p - s));
		else
			sr = sreg_find(s, n);
		if (sr < 0)
			lx->p = at;
	}
	if (sr >= 0) {
		o->kind = O_SREG;
		o->reg = (u32)sr;
	} else if (o->sym && o->sym->what != V_LABEL && o->sym->what != V_REG) {
		o->kind = O_SYM;
	} else if (!o->sym && family_of(c, s, n)) {
		FAIL(c, "'%.*s' names no single register", (int)n, s);
	} else if (*s == '%' && !o->sym && sreg_vector(c, o, s, n)) {
		;
	} else if (*s == '%') {
		FAIL(c, "unknown register '%.*s'", (int)(n < 60 ? n : 60), s);
	} else {
		o->kind = O_LABEL;
		o->sym = (struct sym *)s;       /* resolved by lower_control */
		o->n = n;
	}
	lex_next(lx);
	if (o->kind == O_SYM && lx->tok == '[')
		element(c, o);
	else if (o->kind == O_SYM && lex_accept(lx, '+'))
		o->imm = const_expr(lx);
}

/* [register + n], [name + n], [n] */
static void address_operand(struct comp *c, struct operand *o)
{
	struct lex *lx = &c->lx;

	parse_operand(c, o);
	if (o->kind == O_REG && lex_accept(lx, '+'))
		o->imm = const_expr(lx);
	else if (o->kind != O_REG && o->kind != O_INT && (o->kind != O_SYM || o->element))
		FAIL(c, "not an address");
	if (lx->tok == ',' && c->texture) {
		lex_next(lx);
		if (lx->tok != '{') {           /* one coordinate may stand alone */
			o->elem = cneed(c, pool_alloc(&c->pool, sizeof(*o->elem)));
			o->n = 1;
			parse_operand(c, o->elem);
		} else {
			lex_next(lx);
			parse_list(c, o, '}');
		}
	}
	if (lx->tok == ',')
		lex_fail(lx, VGPU_ST_NOT_SUPPORTED, "'%s': coordinates in an address are not supported", c->op_name);
	lex_expect(lx, ']');
	/* a constant address is a symbol-less SYM: base 0 */
	o->second = o->kind;
	o->kind = O_ADDR;
}

static void parse_operand(struct comp *c, struct operand *o)
{
	struct lex *lx = &c->lx;
	bool not = false;

	o->col = lx->tcol;
	o->second = OPND_NONE;
	o->index = OPND_NONE;
	if (lx->tok == '!') {           /* of a predicate; before a constant an operator */
		struct lex ahead = *lx;

		lex_next(&ahead);
		not = ahead.tok == TK_ID && !lex_is(&ahead, "WARP_SZ");
	}
	o->neg = not;
	if (not)
		lex_next(lx);
	if (lx->tok == '{' || lx->tok == '[' || (lx->tok == '(' && c->in_call)) {
		if (c->nest)
			FAIL(c, "'%c' inside another operand", lx->tok);
		c->nest++;
		if (lex_accept(lx, '{')) {
			o->kind = O_VEC;
			parse_list(c, o, '}');
		} else if (lex_accept(lx, '(')) {
			o->kind = O_LIST;
			parse_list(c, o, ')');
		} else {
			lex_next(lx);
			address_operand(c, o);
		}
		c->nest--;
		return;
	}
	if (c->video && lx->tok == '-') {
		struct lex ahead = *lx;

		if (lex_next(&ahead) == TK_ID) {
			o->minus = true;
			lex_next(lx);
		}
	}
	if (lx->tok != TK_ID || lex_is(lx, "WARP_SZ")) {
		constant(c, o);
		return;
	}
	if (lx->n == 1 && *lx->s == '_') {
		o->kind = O_SINK;
		lex_next(lx);
	} else if (find_reg(c, lx->s, lx->n, o)) {
		if (c->video && o->kind == O_REG && lex_suffix(lx)) {
			o->sel = lx->s;
			o->nsel = lx->n;
		}
		lex_next(lx);
	} else {
		name_operand(c, o);
	}
	if (o->kind == O_REG || o->kind == O_SINK)
		if (lex_accept(lx, '|')) {
			struct operand second = { 0 };

			if (lex_is(lx, "_") && lx->tok == TK_ID) {
				;
			} else if (lx->tok != TK_ID || !find_reg(c, lx->s, lx->n, &second) ||
				   second.type != T_PRED) {
				FAIL(c, "expected a predicate behind '|'");
			} else {
				o->second = second.reg;
			}
			lex_next(lx);
		}
}

/* ---- statements ------------------------------------------------------------------------ */

static void parse_opcode(struct comp *c, struct stmt *st)
{
	struct lex *lx = &c->lx;
	enum modclass cls;
	enum type t;
	int v;

	st->od = op_find(lx->s, lx->n);
	if (!st->od) {
		if (op_known_unsupported(lx->s, lx->n))
			lex_fail(lx, VGPU_ST_NOT_SUPPORTED, "instruction '%.*s' is not supported", (int)lx->n,
				 lx->s);
		FAIL(c, "unknown instruction '%.*s'", (int)(lx->n < 60 ? lx->n : 60), lx->s);
	}
	c->op_name = st->od->name;
	/* blanks may stand before a modifier */
	while (lex_suffix(lx) || lex_next(lx) == TK_DIR) {
		t = type_find(lx->s, lx->n);
		if (t) {
			if (st->ntype == 4)
				FAIL(c, "too many types");
			st->type[st->ntype++] = (u8)t;
			continue;
		}
		v = mod_find(st->od, lx->s, lx->n, &cls);
		if (v < 0 && st->od->x == X_WGMMA && wgmma_shape(st, lx->s, lx->n))
			continue;
		if (v < 0) {
			/* of these there are more shapes, types and kinds every year */
			if (op_known_unsupported(lx->s, lx->n) || mod_known_unsupported(st->od, lx->s, lx->n) ||
			    lex_is(lx, "bulk") || lex_is(lx, "async") ||
			    (st->od->x >= X_MMA && st->od->x <= X_CPASYNC) || st->od->x == X_CVT || st->od->x == X_WGMMA || st->od->x == X_TMAP)
				lex_fail(lx, VGPU_ST_NOT_SUPPORTED, "'%s.%.*s' is not supported", st->od->name,
					 (int)lx->n, lx->s);
			FAIL(c, "'%s' does not take '.%.*s'", st->od->name, (int)(lx->n < 40 ? lx->n : 40),
			     lx->s);
		}
		/* mul.lo and setp.lo, vote.sync and bar.sync: classes differ by op; repeats win last */
		if (cls == MC_CMP && st->mod[MC_CMP] && st->od->mods >> MC_BOOL & 1)
			FAIL(c, "two comparisons");
		if ((cls == MC_ROW || cls == MC_COL) && st->od->x == X_MMA) {
			u8 seen = st->mod[MC_ROW] | st->mod[MC_COL];

			if (seen & LAYOUT_B)
				FAIL(c, "mma takes two layouts");
			v = st->mod[cls] | (seen ? LAYOUT_B : LAYOUT_A);
		}
		if (cls == MC_CMP)
			st->unsigned_cmp = lex_is(lx, "lo") || lex_is(lx, "ls") || lex_is(lx, "hi") || lex_is(lx, "hs");
		st->far |= lex_is(lx, "shared::cluster");
		if (cls == MC_SPACE && st->mod[cls])    /* of two, as copies have, the former */
			st->mod[MC_FROM] = st->mod[cls];
		st->mod[cls] = (u8)v;
	}
}

static void parse_stmt(struct comp *c)
{
	struct lex *lx = &c->lx;
	struct stmt st;

	memset(&st, 0, sizeof(st));
	st.guard = OPND_NONE;
	st.line = lx->tline;
	st.col = lx->tcol;
	if (lex_accept(lx, '@')) {
		struct operand p = { 0 };

		st.gneg = lex_accept(lx, '!');
		if (lx->tok != TK_ID || !find_reg(c, lx->s, lx->n, &p) || p.type != T_PRED)
			FAIL(c, "the guard is not a predicate");
		st.guard = p.reg;
		lex_next(lx);
	}
	if (lx->tok != TK_ID)
		FAIL(c, "expected an instruction before '%.*s'", (int)(lx->n < 40 ? lx->n : 40), lx->s);
	st.line = lx->tline;
	st.col = lx->tcol;
	parse_opcode(c, &st);
	c->in_call = st.od->x == X_CALL;
	c->video = st.od->x == X_VIDEO;
	c->texture = st.od->x == X_TEX || (st.od->x == X_CPASYNC && st.mod[MC_TENSOR]);
	while (lx->tok != ';') {
		if (st.nops && !lex_accept(lx, ','))
			FAIL(c, "expected ',' or ';' before '%.*s'", (int)(lx->n < 40 ? lx->n : 40), lx->s);
		if (st.nops == MAX_OPS)
			FAIL(c, "too many operands");
		parse_operand(c, &st.op[st.nops++]);
	}
	c->line = st.line;
	c->guard = st.guard;
	c->gneg = st.gneg;
	check_stmt(c, &st);
	lower_stmt(c, &st);
	lex_next(lx);
}

/* .callprototype [(results)] _ [(parameters)] [.noreturn …] */
static void call_prototype(struct comp *c, struct sym *v)
{
	struct func *p = cneed(c, pool_alloc(&c->pool, sizeof(*p)));
	struct lex *lx = &c->lx;
	u32 total;

	v->fn = p;
	p->name = v->name;
	lex_next(lx);
	if (lex_accept(lx, '('))
		parse_params(lx, c->m, PARAMS_RET, &p->rets, &p->nrets, &total);
	lex_expect(lx, TK_ID);
	if (lex_accept(lx, '('))
		parse_params(lx, c->m, 0, &p->params, &p->nparams, &total);
	parse_func_directives(lx, p);
}

/* .calltargets f, g: all of one prototype */
static void call_targets(struct comp *c, struct sym *v)
{
	struct lex *lx = &c->lx;

	do {
		struct sym *f;

		lex_next(lx);
		f = lx->tok == TK_ID ? lookup(c, lx->s, lx->n) : NULL;
		if (!f || f->what != V_FUNC || f->fn->entry)
			FAIL(c, "expected a function before '%.*s'", (int)(lx->n < 40 ? lx->n : 40), lx->s);
		v->fn = f->fn;
		lex_next(lx);
	} while (lx->tok == ',');
}

/* "name: .callprototype ...;" and "name: .branchtargets a, b;" */
static void parse_labelled(struct comp *c, const char *s, u32 n)
{
	struct lex *lx = &c->lx;
	struct sym *v;

	if (lx->tok == TK_DIR && lex_is(lx, "branchtargets")) {
		u32 cap = 0, ids = 0, *list = NULL;

		v = declare(c, s, n, V_TARGETS);
		do {
			u32 *grown;

			lex_next(lx);
			if (lx->tok != TK_ID)
				FAIL(c, "expected a label");
			if (ids == cap) {
				grown = cneed(c, pool_alloc(&c->pool, (cap ? cap * 2 : 16) * sizeof(u32)));
				if (ids)
					memcpy(grown, list, ids * sizeof(u32));
				list = grown;
				cap = cap ? cap * 2 : 16;
			}
			list[ids++] = label_get(c, lx->s, lx->n)->id;
			lex_next(lx);
		} while (lx->tok == ',');
		lex_expect(lx, ';');
		v->extra = list;
		v->bytes = ids;
	} else if (lx->tok == TK_DIR && (lex_is(lx, "callprototype") || lex_is(lx, "calltargets"))) {
		v = declare(c, s, n, V_PROTO);
		if (lex_is(lx, "callprototype"))
			call_prototype(c, v);
		else
			call_targets(c, v);
		lex_expect(lx, ';');
	} else {
		define_label(c, s, n);
	}
}

void parse_body(struct comp *c)
{
	struct lex *lx = &c->lx;

	lex_next(lx);
	c->depth = 1;
	while (c->depth) {
		if (lx->tok == TK_EOF)
			FAIL(c, "the body ends too early");
		if (lex_accept(lx, '{')) {
			if (++c->depth > MAX_DEPTH)
				FAIL(c, "blocks are nested too deeply");
		} else if (lx->tok == '}') {
			scope_leave(c);
			if (c->depth)
				lex_next(lx);
		} else if (lx->tok == TK_DIR) {
			if (lex_is(lx, "reg")) {
				decl_reg(c);
			} else if (lex_is(lx, "local") || lex_is(lx, "shared") || lex_is(lx, "param") ||
				   lex_is(lx, "global") || lex_is(lx, "const")) {
				decl_var(c);
			} else if (lex_is(lx, "loc")) {
				parse_loc(lx);
			} else if (lex_is(lx, "pragma")) {
				parse_pragma(lx);
			} else {
				FAIL(c, "unknown directive '.%.*s'", (int)(lx->n < 40 ? lx->n : 40), lx->s);
			}
		} else if (lx->tok == TK_ID) {
			struct lex save = *lx;

			if (lx->p < lx->end && *lx->p != '.' && lex_next(lx) == ':') {
				lex_next(lx);
				parse_labelled(c, save.s, save.n);
			} else {
				*lx = save;
				parse_stmt(c);
			}
		} else {
			parse_stmt(c);
		}
	}
}
