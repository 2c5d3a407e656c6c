/* SPDX-License-Identifier: MIT */
/*
 * Statements to warp IR, second half: memory, control flow, barriers and cross-lane operations.
 */
#include <string.h>

#include "front.h"
#include "devrt.h"
#include "gen.h"

/*
 * Addresses in .const have 32 bits where a compiler is told to have short pointers (LLVM's -nvptx-short-ptr): the lower half of what they have here. The upper one,
 * which all of a module's are to have; 0: they have not.
 */
u64 const_high(const struct comp *c)
{
	const struct module *m = c->fn->m;

	return m->const_hi > m->const_lo && !((m->const_lo ^ (m->const_hi - 1)) >> 32) ? m->const_lo & ~0xffffffffull : 0;
}

/* Address operand: register or constant into o[4], offset into imm. */
void lower_address(struct comp *c, struct stmt *st, const struct operand *o, struct insn *tmpl)
{
	struct operand base = *o;

	base.kind = (u8)o->second;
	tmpl->space = st->mod[MC_SPACE];
	tmpl->imm = o->imm;
	tmpl->aw = 1;
	if (base.kind == O_INT) {
		if (tmpl->space == SPACE_PARAM && !c->fn->entry)
			FAIL_AT(c, st, "%s: the parameters of a function lie at no numbers", st->od->name);
		tmpl->o[4] = konst(c, (u64)o->imm, 1);
		tmpl->imm = 0;
		return;
	}
	if (base.kind == O_REG) {
		tmpl->o[4] = base.reg;
		tmpl->aw = type_bytes(base.type) == 8;
		if (!tmpl->aw && tmpl->space == SPACE_CONST) {
			tmpl->o[4] = new_reg(c, T_B64);
			emit_lane(c, st, LOP_MADWIDE, T_U32, 1, tmpl->o[4], base.reg, konst(c, 1, 0), konst(c, const_high(c), 1));
			tmpl->aw = 1;
		}
		/* parameters of a .func live in its local frame */
		if (tmpl->space == SPACE_PARAM && !c->fn->entry)
			tmpl->space = SPACE_LOCAL;
		return;
	}
	if (base.sym->what != V_VAR)
		FAIL_AT(c, st, "%s: '%s' is not a variable", st->od->name, base.sym->name);
	if (base.sym->opaque)
		FAIL_AT(c, st, "%s: '%s' is no memory that programs see", st->od->name, base.sym->name);
	if (tmpl->space == SPACE_GENERIC && base.sym->space == SPACE_CONST)
		FAIL_AT(c, st, "%s: '%s' is in .const", st->od->name, base.sym->name);
	if (tmpl->space == SPACE_GENERIC || (tmpl->space == SPACE_PARAM && !base.sym->formal))
		tmpl->space = base.sym->space;
	if (tmpl->space != base.sym->space || (base.sym->formal && st->mod[MC_SPACE] != SPACE_PARAM))
		FAIL_AT(c, st, "%s: '%s' is in another state space", st->od->name, base.sym->name);
	base.imm = 0;
	base.kind = O_SYM;
	tmpl->o[4] = src(c, st, &base, T_B64);
	if (base.index != OPND_NONE) {          /* name[%r] */
		const struct sym *v = base.sym;
		u32 a = new_reg(c, T_B64);
		bool w = type_bytes(base.index_type) == 8;

		emit_lane(c, st, w ? LOP_MAD : LOP_MADWIDE, w ? T_U64 : type_is_signed(base.index_type) ? T_S32 : T_U32, 1, a,
			  base.index, konst(c, type_bytes(v->type) * (v->vec ? v->vec : 1), w), tmpl->o[4]);
		tmpl->o[4] = a;
	}
}

static void lower_ldst(struct comp *c, struct stmt *st);

/* 256 bits (9.7.9.8): two accesses of half the elements, the first into places of its own, since it may hold the address. */
static void wide_ldst(struct comp *c, struct stmt *st, bool load)
{
	struct operand *a = &st->op[load ? 1 : 0], *v = &st->op[load ? 0 : 1], all = *v, first;
	u32 n = st->mod[MC_VEC], i, half = n / 2;
	enum type t = st->type[0];

	if (n * type_bytes(t) != 32 || type_bytes(t) < 4 || v->kind != O_VEC || st->mod[MC_SPACE] > SPACE_GLOBAL || st->od->id == OPID_LDU)
		FAIL_AT(c, st, "%s: a vector is of 16 bytes at most, or 32 of words in global memory", st->od->name);
	st->mod[MC_VEC] = (u8)half;
	first = all;
	first.n = half;
	if (load) {
		first.elem = cneed(c, pool_alloc(&c->pool, half * sizeof(*first.elem)));
		for (i = 0; i < half; i++) {
			first.elem[i] = all.elem[i];
			if (all.elem[i].kind == O_REG)
				first.elem[i].reg = new_reg(c, all.elem[i].type);
		}
	}
	*v = first;
	lower_ldst(c, st);
	v->elem = all.elem + half;
	a->imm += 16;
	lower_ldst(c, st);
	for (i = 0; load && i < half; i++)
		if (all.elem[i].kind == O_REG)
			emit_lane(c, st, LOP_MOV, type_w(all.elem[i].type) ? T_U64 : T_U32, type_w(all.elem[i].type), all.elem[i].reg,
				  first.elem[i].reg, OPND_NONE, OPND_NONE);
}

static void lower_ldst(struct comp *c, struct stmt *st)
{
	bool load = st->od->x == X_LD;
	const struct operand *a = &st->op[load ? 1 : 0], *v = &st->op[load ? 0 : 1], *e;
	u32 n = st->mod[MC_VEC] ? st->mod[MC_VEC] : 1, i;
	enum type t = st->type[0];
	struct insn tmpl, *in;
	int w = -1;

	if (!load && lower_behind(c, st, lower_ldst))
		return;
	if (n > 4 || n * type_bytes(t) > 16) {
		wide_ldst(c, st, load);
		return;
	}
	memset(&tmpl, 0, sizeof(tmpl));
	for (i = 0; i < 6; i++)
		tmpl.o[i] = OPND_NONE;
	lower_address(c, st, a, &tmpl);
	if (!load && (tmpl.space == SPACE_PARAM || tmpl.space == SPACE_CONST))
		FAIL_AT(c, st, "st: this state space is read-only");
	for (i = 0; i < n; i++) {
		int ew;

		e = v->kind == O_VEC ? &v->elem[i] : v;
		ew = e->kind == O_REG ? type_w(e->type) : load ? -1 : type_w(t);
		if (w >= 0 && ew >= 0 && w != ew)
			UNSUPPORTED(c, st, "%s: registers of different width in one vector", st->od->name);
		w = ew >= 0 ? ew : w;
		tmpl.o[i] = load ? dst(e) : src(c, st, e, t);
	}
	if (w == 2)
		FAIL_AT(c, st, "%s: predicates cannot be loaded or stored", st->od->name);
	in = emit(c, load ? K_LD : K_ST);
	memcpy(in->o, tmpl.o, sizeof(in->o));
	in->space = tmpl.space;
	in->imm = tmpl.imm;
	in->aw = tmpl.aw;
	in->vec = (u8)n;
	in->size = (u8)type_bytes(t);
	in->type = (u8)t;
	in->dw = w > 0;
	in->flags = (u8)((type_is_signed(t) ? INF_SIGNED : 0) | (st->mod[MC_SEM] && st->mod[MC_SEM] != SEM_WEAK ? INF_SYNC : 0) |
			 (st->mod[MC_SEM] == SEM_VOLATILE ? INF_VOLATILE : 0) | sem_orders(st->mod[MC_SEM]));
	in->def = load ? (u8)((1u << n) - 1) : 0;
	in->use = load ? 16 : (u8)(16 | ((1u << n) - 1));
	if (load && in->space == SPACE_PARAM && (a->second == O_SYM || a->second == O_INT)) {
		in->kind = K_LDPARAM;
		in->imm = a->second == O_SYM ? in->imm + (s64)a->sym->addr : a->imm;
		in->use = 0;
		in->o[4] = OPND_NONE;
		if (in->imm < 0 || (u64)in->imm + n * in->size > c->fn->param_bytes)
			FAIL_AT(c, st, "ld.param: outside the parameters");
	}
}

void lower_mem(struct comp *c, struct stmt *st)
{
	struct insn *in;
	u32 a, d;
	bool far;
	u8 w;

	switch (st->od->x) {
	case X_LD:
	case X_ST:
		lower_ldst(c, st);
		return;
	case X_ATOM:
		lower_atom(c, st);
		return;
	case X_CVTA:
		w = type_w(st->type[0]);
		a = src(c, st, &st->op[1], st->type[0]);
		d = dst(&st->op[0]);
		if (!st->mod[MC_SPACE])
			FAIL_AT(c, st, "cvta: a state space is missing");
		if (!w)
			FAIL_AT(c, st, "cvta.u32: there are no addresses of 32 bits");
		if (st->mod[MC_SPACE] == SPACE_GLOBAL || st->mod[MC_SPACE] == SPACE_CONST) {
			/* of a short pointer as well */
			u64 high = st->mod[MC_SPACE] == SPACE_CONST && !st->mod[MC_TO] ? const_high(c) : 0;

			emit_lane(c, st, high ? LOP_OR : LOP_MOV, high ? T_B64 : T_U64, 1, d, a, high ? konst(c, high, 1) : OPND_NONE, OPND_NONE);
			return;
		}
		if (!w)
			UNSUPPORTED(c, st, "cvta.u32 is not supported");
		far = st->far || (st->mod[MC_SPACE] == SPACE_SHARED && far_shared(c));
		in = emit(c, far ? K_GEN : K_CVTA);
		if (far) {
			in->u.gen = gen_far;
			in->lop = OPID_CVTA;
		}
		in->o[0] = d == OPND_NONE ? new_reg(c, T_B64) : d;
		in->o[1] = a;
		in->def = 1;
		in->use = 2;
		in->dw = 1;
		in->sub = st->mod[MC_TO];
		in->space = st->mod[MC_SPACE];
		if (in->space == SPACE_PARAM && !c->fn->entry)
			in->space = SPACE_LOCAL;
		return;
	case X_ISSPACEP:
		if (!st->mod[MC_SPACE])
			FAIL_AT(c, st, "isspacep: a state space is missing");
		if (type_bytes(st->op[1].type) != 8)
			UNSUPPORTED(c, st, "'isspacep' of a 32-bit address is not supported");
		in = emit(c, st->far ? K_GEN : K_ISSPACEP);
		if (st->far) {
			in->u.gen = gen_isfar;
			in->lop = OPID_ISSPACEP;
		}
		in->o[0] = dst(&st->op[0]);
		if (in->o[0] == OPND_NONE)
			in->o[0] = new_reg(c, T_PRED);
		in->o[1] = st->op[1].reg;
		in->def = 1;
		in->use = 2;
		in->dw = 2;
		in->space = st->mod[MC_SPACE];
		return;
	}
}

/* ---- control flow ---------------------------------------------------------------------- */

static void need_ops(struct comp *c, struct stmt *st, u32 lo, u32 hi)
{
	if (st->nops < lo || st->nops > hi)
		FAIL_AT(c, st, "%s: wrong number of operands", st->od->name);
}

/*
 * A register where the function has a .param, or the other way round: moved through a place in the local frame. What goes
 * in is moved at once, what comes out behind the call (results_move()).
 */
static struct insn *move_local(struct comp *c, bool load, u32 reg, u32 off, enum type t)
{
	u32 a = OPND_NONE;
	struct insn *in;

	if (c->fn->entry) {
		a = konst(c, off, 1);
	} else {
		a = new_reg(c, T_B64);
		in = emit(c, K_LADDR);
		in->guard = OPND_NONE;
		in->dw = 1;
		in->o[0] = a;
		in->def = 1;
		in->imm = off;
	}
	in = emit(c, load ? K_LD : K_ST);
	in->o[0] = reg;
	in->o[4] = a;
	in->space = SPACE_LOCAL;
	in->aw = 1;
	in->vec = 1;
	in->size = (u8)type_bytes(t);
	in->type = (u8)t;
	in->dw = type_w(t);
	in->flags = type_is_signed(t) ? INF_SIGNED : 0;
	in->def = load;
	in->use = load ? 16 : 17;
	return in;
}

static void result_move(struct comp *c, bool load, u32 reg, u32 off, enum type t)
{
	if (c->nmoves == MAX_MOVES)
		lex_fail(&c->lx, VGPU_ST_NOT_SUPPORTED, "too many results in other places than declared");
	c->moves[c->nmoves++] = (struct call_move){ reg, off, (u8)t, load };
}

static void results_move(struct comp *c)
{
	for (u32 i = 0; i < c->nmoves; i++)
		move_local(c, c->moves[i].load, c->moves[i].reg, c->moves[i].off, c->moves[i].type);
	c->nmoves = 0;
}

static u32 param_slot(struct comp *c, struct stmt *st, struct operand *o, const struct fparam *p, bool ret)
{
	u32 off;

	if (o->kind == O_REG && (o->type == T_PRED || type_bytes(o->type) != p->bytes))
		FAIL_AT(c, st, "call: register of the wrong width");
	c->local_bytes = (c->local_bytes + 7) & ~7ull;
	off = (u32)c->local_bytes;
	c->local_bytes += 8;
	if (!ret)
		move_local(c, false, src(c, st, o, p->type), off, p->type);
	else if (o->kind == O_REG)
		result_move(c, true, o->reg, off, p->type);
	return off;
}

static u32 slot_reg(struct comp *c, struct stmt *st, struct sym *v, const struct fparam *p, bool ret)
{
	u32 r = new_reg(c, p->type);

	if (p->type == T_PRED)
		FAIL_AT(c, st, "call: '%s' does not fit its parameter", v->name);
	if (ret)
		result_move(c, false, r, (u32)v->addr, p->type);
	else
		move_local(c, true, r, (u32)v->addr, p->type);
	return r;
}

static void call_args(struct comp *c, struct stmt *st, struct operand *list, struct arg **out, u32 *n,
		      const struct fparam *formal, u32 nformal, bool ret)
{
	struct operand *o;
	u32 i, k, e;

	*n = 0;
	for (i = 0; list && i < list->n; i++)   /* of a vector each register is an argument */
		*n += list->elem[i].kind == O_VEC ? list->elem[i].n : 1;
	*out = cneed(c, pool_alloc(&c->m->pool, (*n + 1) * sizeof(**out)));
	if (formal && *n != nformal)
		FAIL_AT(c, st, "call: %u %s given, %u declared", *n, ret ? "results" : "arguments", nformal);
	for (i = 0, k = 0, e = 0; i < *n; i++) {
		struct arg *a = &(*out)[i];

		o = &list->elem[k];
		if (o->kind == O_VEC) {
			if (!e && formal && formal[i].vec != o->n)
				FAIL_AT(c, st, "call: a vector of %u where none is declared", o->n);
			o = &o->elem[e++];
			if (e == list->elem[k].n) {
				e = 0;
				k++;
			}
		} else {
			k++;
			if (formal && formal[i].vec)
				FAIL_AT(c, st, "call: a vector of %u is expected", formal[i].vec);
		}
		if (formal && !formal[i].is_reg && formal[i].type != T_PRED && !formal[i].open && formal[i].bytes <= 8 &&
		    (o->kind == O_REG || o->kind == O_SINK || (!ret && (o->kind == O_INT || o->kind == O_FLT)))) {
			*a = (struct arg){ .off = param_slot(c, st, o, &formal[i], ret), .bytes = formal[i].bytes };
			continue;
		}
		if (formal && formal[i].is_reg && o->kind == O_SYM && o->sym->what == V_VAR && o->sym->space == SPACE_LOCAL &&
		    o->sym->bytes == type_bytes(formal[i].type)) {
			*a = (struct arg){ .is_reg = 1, .w = type_w(formal[i].type), .opnd = slot_reg(c, st, o->sym, &formal[i], ret) };
			continue;
		}
		if (formal && formal[i].is_reg && ret && o->kind == O_SINK) {
			*a = (struct arg){ .is_reg = 1, .w = type_w(formal[i].type), .opnd = new_reg(c, formal[i].type) };
			continue;
		}
		if (o->kind == O_SYM && o->sym->what == V_VAR && o->sym->space == SPACE_LOCAL) {
			a->off = (u32)o->sym->addr;
			a->bytes = (u32)o->sym->bytes;
			if (formal && (formal[i].is_reg || (formal[i].open ? 0 : formal[i].bytes != a->bytes)))
				FAIL_AT(c, st, "call: '%s' does not fit its parameter", o->sym->name);
			if (formal && formal[i].open && a->bytes > VARIADIC_BYTES)
				UNSUPPORTED(c, st, "call: more than %u bytes of unnamed arguments are not supported", VARIADIC_BYTES);
			continue;
		}
		if (!formal || !formal[i].is_reg || (ret && o->kind != O_REG))
			FAIL_AT(c, st, "call: bad argument");
		a->is_reg = 1;
		a->w = type_w(formal[i].type);
		if (o->kind == O_REG && ((formal[i].type == T_PRED) != (o->type == T_PRED) || type_bytes(o->type) != type_bytes(formal[i].type)))
			FAIL_AT(c, st, "call: register of the wrong width");
		a->opnd = src(c, st, o, formal[i].type);
	}
}

/* The names of CUDA's device runtime, whether they are in vgpu_devrt.def or not. */
static bool of_device_runtime(const char *name)
{
	return !strncmp(name, "__cudaCDP", 9) || !strncmp(name, "cudaGraph", 9) || devrt_find(name);
}

static void lower_call(struct comp *c, struct stmt *st)
{
	struct callinfo *ci = cneed(c, pool_alloc(&c->m->pool, sizeof(*ci)));
	struct operand *o = st->op, *end = st->op + st->nops, *rets = NULL, *args = NULL, *target;
	struct func *g = NULL, *proto = NULL;
	struct insn *in;
	u32 i;

	if (o < end && o->kind == O_LIST)
		rets = o++;
	if (o == end)
		FAIL_AT(c, st, "call: the function is missing");
	target = o++;
	if (o < end && o->kind == O_LIST)
		args = o++;
	if (target->kind == O_SYM && target->sym->what == V_FUNC && !target->imm) {
		g = target->sym->fn;
		if (o != end || g->entry)
			FAIL_AT(c, st, g->entry ? "call: '%s' is a kernel" : "call: '%s': too many operands",
				g->name);
	} else if (target->kind != O_REG || type_bytes(target->type) != 8) {
		if (target->kind == O_LABEL)
			FAIL_AT(c, st, "call: unknown function '%.*s'", (int)(target->n < 60 ? target->n : 60),
				(char *)target->sym);
		FAIL_AT(c, st, "call: bad function operand");
	} else if (o + 1 != end || o->kind != O_SYM || (o->sym->what != V_PROTO && o->sym->what != V_VAR)) {
		FAIL_AT(c, st, "call: a prototype is missing");
	} else {
		proto = o->sym->fn;     /* of an array of functions nothing is known */
	}
	if (g) {
		ci->name = g->name;
		call_args(c, st, args, &ci->args, &ci->nargs, g->params, g->nparams, false);
		call_args(c, st, rets, &ci->rets, &ci->nrets, g->rets, g->nrets, true);
		if (!g->has_body) {
			if (!strcmp(g->name, "vprintf") && ci->nargs == 2 && ci->nrets <= 1)
				ci->builtin = BUILTIN_VPRINTF;
			else if (!strcmp(g->name, "__assertfail") && ci->nargs == 5)
				ci->builtin = BUILTIN_ASSERTFAIL;
			else if (!strcmp(g->name, "malloc") && ci->nargs == 1 && ci->nrets == 1 &&
				 g->params[0].bytes == 8 && g->rets[0].bytes == 8)
				ci->builtin = BUILTIN_MALLOC;
			else if (!strcmp(g->name, "__cuda_syscall_aligned_malloc") && ci->nargs == 2 && ci->nrets == 1 && g->params[0].bytes == 8 &&
				 g->params[1].bytes == 8 && g->rets[0].bytes == 8)
				ci->builtin = BUILTIN_ALIGNED_MALLOC;
			else if (!strcmp(g->name, "free") && ci->nargs == 1 && !ci->nrets && g->params[0].bytes == 8)
				ci->builtin = BUILTIN_FREE;
			else if ((ci->builtin = devrt_find(g->name)) && devrt_fits(ci->builtin, ci))
				c->fn->launches = true;
			else if (of_device_runtime(g->name))
				UNSUPPORTED(c, st, "calls '%s': this function of the device runtime is not supported", g->name);
			else
				UNSUPPORTED(c, st, "calls '%s', which is not defined in this module", g->name);
			c->fn->prints |= ci->builtin == BUILTIN_VPRINTF || ci->builtin == BUILTIN_ASSERTFAIL;
			c->fn->uses |= ci->builtin == BUILTIN_VPRINTF ? ENGINE_USES_PRINTF :
				       ci->builtin >= BUILTIN_MALLOC && ci->builtin <= BUILTIN_FREE ? ENGINE_USES_HEAP : 0;
			for (i = 0; i < ci->nargs; i++)
				if (ci->args[i].is_reg)
					UNSUPPORTED(c, st, "call of '%s' with registers", g->name);
			for (i = 0; i < ci->nrets; i++)
				if (ci->rets[i].is_reg)
					UNSUPPORTED(c, st, "call of '%s' with registers", g->name);
		} else {
			if (g->called_by != c->fn->id) {
				c->fn->callees = cneed(c, xgrow(c->fn->callees, &c->fn->callees_cap, c->fn->ncallees + 1,
								sizeof(*c->fn->callees)));
				c->fn->callees[c->fn->ncallees++] = g;
				g->called_by = c->fn->id;
			}
			ci->fn = g;
		}
	} else {
		call_args(c, st, args, &ci->args, &ci->nargs, proto ? proto->params : NULL, proto ? proto->nparams : 0, false);
		call_args(c, st, rets, &ci->rets, &ci->nrets, proto ? proto->rets : NULL, proto ? proto->nrets : 0, true);
		c->fn->indirect = c->fn->calls_ptr = true;
	}
	in = emit(c, K_CALL);
	in->u.call = ci;
	if (!g) {
		in->o[0] = target->reg;
		in->use = 1;
	}
	c->fn->calls = true;
	results_move(c);
}

void lower_control(struct comp *c, struct stmt *st)
{
	struct insn *in;
	struct sym *s;
	u32 i, n, *t;

	switch (st->od->x) {
	case X_BRA:
		need_ops(c, st, 1, 1);
		if (st->op[0].kind != O_LABEL && !(st->op[0].kind == O_SYM && st->op[0].sym->what == V_FUNC))
			FAIL_AT(c, st, "bra: a label expected");
		if (st->op[0].kind != O_LABEL)
			FAIL_AT(c, st, "bra: '%s' is not a label", st->op[0].sym->name);
		in = emit(c, st->guard == OPND_NONE ? K_JMP : K_CBRA);
		in->taken = label_get(c, (const char *)st->op[0].sym, st->op[0].n)->id;
		return;
	case X_BRX:
		need_ops(c, st, 2, 2);
		s = st->op[1].kind == O_SYM ? st->op[1].sym : NULL;
		if (!s || s->what != V_TARGETS)
			FAIL_AT(c, st, "brx.idx: a .branchtargets list expected");
		if (st->op[0].kind != O_REG || type_bytes(st->op[0].type) != 4 || st->op[0].type == T_PRED)
			FAIL_AT(c, st, "brx.idx: the index must be a 32-bit register");
		n = (u32)s->bytes;
		if (n > MAX_EDGES - c->edges)
			UNSUPPORTED(c, st, "brx.idx: the function is too large: more than %u ways", MAX_EDGES);
		c->edges += n;
		t = cneed(c, pool_alloc(&c->m->pool, (n + 1) * sizeof(u32)));
		t[0] = n;
		for (i = 0; i < n; i++)
			t[i + 1] = ((u32 *)s->extra)[i];
		in = emit(c, K_BRX);
		in->u.targets = t;
		in->o[0] = st->op[0].reg;
		in->use = 1;
		return;
	case X_CALL:
		lower_call(c, st);
		return;
	case X_RET:
		emit(c, K_RET);
		return;
	case X_EXIT:
		emit(c, K_EXIT);
		return;
	case X_TRAP:
		in = emit(c, K_TRAP);
		in->sub = st->od->id == OPID_BRKPT;
		return;
	}
}

/* ---- barriers and cross-lane operations ------------------------------------------------ */

static u32 src32(struct comp *c, struct stmt *st, struct operand *o)
{
	if (o->kind == O_REG ? (o->type == T_PRED || type_is_float(o->type) || type_bytes(o->type) != 4) : o->kind != O_INT)
		FAIL_AT(c, st, "%s: a 32-bit register or a constant expected", st->od->name);
	return src(c, st, o, T_B32);
}

/* barrier.cluster.arrive and .wait: a barrier of the block, since a cluster is one. */
static void lower_cluster_bar(struct comp *c, struct stmt *st)
{
	u8 op = st->mod[MC_BAR], sem = st->mod[MC_SEM];
	struct insn *in;

	if (st->od->id != OPID_BARRIER || (op != BAR_ARRIVE && op != BAR_WAIT) || st->nops || st->ntype || st->mod[MC_RED])
		FAIL_AT(c, st, "barrier.cluster needs .arrive or .wait and takes no operand");
	if (op == BAR_ARRIVE ? sem && sem != SEM_RELEASE && sem != SEM_RELAXED : sem && sem != SEM_ACQUIRE)
		FAIL_AT(c, st, "barrier.cluster: this order is not permitted");
	in = emit(c, K_BAR);
	in->o[1] = konst(c, CLUSTER_BARRIER, 0);
	in->sub = op;
	in->flags = INF_CLUSTER | (st->mod[MC_ALIGNED] == 1 ? INF_ALIGNED : 0);
	in->use = 2;
}

static void sync_all(struct comp *c, u32 id, u8 flags)
{
	struct insn *in = emit(c, K_BAR);

	in->o[1] = id;
	in->sub = BAR_SYNC;
	in->flags = flags;
	in->use = 2;
}

/* Access to the word of the block that the system has for such sums. */
static void sum_word(struct comp *c, u8 kind, u32 at, u32 r)
{
	struct insn *in = emit(c, kind);

	in->o[kind == K_ATOM ? 1 : 0] = r;
	in->o[4] = at;
	in->space = SPACE_SHARED;
	in->vec = 1;
	in->size = 4;
	in->type = T_U32;
	in->def = kind == K_LD;
	in->use = kind == K_LD ? 16 : kind == K_ST ? 17 : 18;
	if (kind == K_ATOM)
		in->sub = ATOM_ADD;
}

/*
 * barrier.red of all threads, as __syncthreads_count() and its like are: how many of them have p (.and: have it not) comes together in a word of the block, between
 * barriers that code passes as any other. By itself it would be the interpreter's, with all warps' values going to their frames and back. Another order of
 * the same barrier's .sync and .red in one phase is "unpredictable" by the ISA.
 */
static void sum_up(struct comp *c, struct stmt *st, u32 d, u32 id, u32 p, bool neg, u8 flags)
{
	u32 at = new_reg(c, T_B32), one = new_reg(c, T_U32), n = new_reg(c, T_U32), red = st->mod[MC_RED];
	struct insn *in = emit(c, K_SREG);

	in->sub = SR_RESERVED_BEGIN;
	in->o[0] = at;
	in->def = 1;
	c->fn->reserved = true;
	if (red == RED_AND)
		neg = !neg;
	emit_lane(c, st, LOP_SELP, T_U32, 0, one, konst(c, !neg, 0), konst(c, neg, 0), p);
	sum_word(c, K_ST, at, konst(c, 0, 0));
	sync_all(c, id, flags);
	sum_word(c, K_ATOM, at, one);
	sync_all(c, id, flags);
	sum_word(c, K_LD, at, red == RED_POPC ? d : n);
	if (red != RED_POPC)
		emit_cmp(c, st, red == RED_AND ? CMP_EQ : CMP_NE, T_U32, d, n, konst(c, 0, 0), 0, OPND_NONE, false);
	sync_all(c, id, flags);
}

static void lower_bar(struct comp *c, struct stmt *st)
{
	u8 op = st->mod[MC_BAR];
	struct operand *o = st->op, *end = st->op + st->nops;
	u32 d = OPND_NONE, id, count = OPND_NONE, p = OPND_NONE;
	bool neg = false;
	struct insn *in;

	if (st->mod[MC_SCOPE] == SCOPE_CLUSTER) {
		lower_cluster_bar(c, st);
		return;
	}
	if (st->mod[MC_SCOPE] > SCOPE_CTA || st->mod[MC_SEM])
		FAIL_AT(c, st, "%s: .cta or .cluster is expected", st->od->name);
	if (!op)
		FAIL_AT(c, st, "%s: .sync, .arrive, .red or .warp is missing", st->od->name);
	if (op == BAR_WAIT)
		FAIL_AT(c, st, "%s.wait is of clusters", st->od->name);
	if (op == BAR_RED) {
		enum type want = st->mod[MC_RED] == RED_POPC ? T_U32 : T_PRED;

		if (!st->mod[MC_RED] || st->type[0] != want || o == end || o->kind != O_REG ||
		    (want == T_PRED) != (o->type == T_PRED) || type_bytes(o->type) != type_bytes(want))
			FAIL_AT(c, st, "%s.red: bad operation or destination", st->od->name);
		d = (o++)->reg;
		if (end - o < 2 || end[-1].kind != O_REG || end[-1].type != T_PRED)
			FAIL_AT(c, st, "%s.red: a source predicate is missing", st->od->name);
		p = end[-1].reg;
		neg = end[-1].neg;
		end--;
	}
	if (o == end || end - o > 2 || (op == BAR_ARRIVE && end - o != 2))
		FAIL_AT(c, st, "%s: wrong number of operands", st->od->name);
	if (o->kind == O_INT && (o->imm < 0 || o->imm >= CTA_BARRIERS))
		FAIL_AT(c, st, "%s: there are 16 barriers", st->od->name);
	id = src32(c, st, o++);
	if (o < end)
		count = src32(c, st, o++);
	if (op == BAR_RED && count == OPND_NONE && (id & OPND_CONST) && c->guard == OPND_NONE && c->m->e->code_rw && !c->m->e->mc) {
		sum_up(c, st, d, id, p, neg, st->od->id == OPID_BAR || st->mod[MC_ALIGNED] == 1 ? INF_ALIGNED : 0);
		return;
	}
	in = emit(c, K_BAR);
	in->o[0] = d;
	in->o[1] = id;
	in->o[2] = count;
	in->o[3] = p;
	in->sub = op;
	in->sub2 = st->mod[MC_RED];
	in->flags = (u8)((neg ? INF_CNEG : 0) |
			 (st->od->id == OPID_BAR || st->mod[MC_ALIGNED] == 1 ? INF_ALIGNED : 0));
	in->dw = op == BAR_RED && st->mod[MC_RED] != RED_POPC ? 2 : 0;
	in->def = d != OPND_NONE;
	in->use = (u8)(2 | (count != OPND_NONE ? 4 : 0) | (p != OPND_NONE ? 8 : 0));
}

static void lower_warpsync(struct comp *c, struct stmt *st)
{
	struct insn *in;
	u32 m;

	need_ops(c, st, 1, 1);
	m = src32(c, st, &st->op[0]);
	in = emit(c, K_WARPSYNC);
	in->o[2] = m;
	in->use = 4;
}

void lower_warp(struct comp *c, struct stmt *st)
{
	struct operand *o = st->op;
	struct insn *in;
	u32 s[4] = { OPND_NONE, OPND_NONE, OPND_NONE, OPND_NONE }, i;
	u8 mode;

	switch (st->od->x) {
	case X_BAR:
		if (st->mod[MC_ALIGNED] == 2 && st->mod[MC_BAR] == BAR_SYNC)
			lower_warpsync(c, st);
		else
			lower_bar(c, st);
		return;
	case X_MEMBAR:
		emit(c, K_MEMBAR);
		return;
	case X_NANOSLEEP:
		s[0] = src(c, st, &o[0], T_U32);
		in = emit(c, K_NANOSLEEP);
		in->o[0] = s[0];
		in->use = 1;
		return;
	case X_VOTE:
		mode = st->mod[MC_VOTE];
		if (!mode || (mode == VOTE_BALLOT) != (st->type[0] == T_B32))
			FAIL_AT(c, st, "vote: bad mode or type");
		if (st->mod[MC_SYNC] ? st->nops != 3 : st->nops != 2)
			FAIL_AT(c, st, "vote: wrong number of operands");
		s[0] = src(c, st, &o[1], T_PRED);
		if (st->nops == 3)
			s[1] = src(c, st, &o[2], T_B32);
		in = emit(c, K_VOTE);
		in->o[0] = dst(&o[0]);
		if (in->o[0] == OPND_NONE)
			in->o[0] = new_reg(c, st->type[0]);
		in->o[1] = s[0];
		in->o[2] = s[1];
		in->sub = mode;
		in->dw = mode == VOTE_BALLOT ? 0 : 2;
		in->flags = o[1].neg ? INF_CNEG : 0;
		in->def = 1;
		in->use = (u8)(2 | (st->nops == 3 ? 4 : 0));
		return;
	case X_MATCH:
		mode = st->mod[MC_VOTE];
		if (mode != VOTE_ANY && mode != VOTE_ALL)
			FAIL_AT(c, st, "match needs .any or .all");
		s[0] = src(c, st, &o[1], st->type[0]);
		s[1] = src(c, st, &o[2], T_B32);
		in = emit(c, K_MATCH);
		in->o[0] = dst(&o[0]);
		in->o[1] = o[0].second;
		if (in->o[0] == OPND_NONE)
			in->o[0] = new_reg(c, T_B32);
		in->o[2] = s[1];
		in->o[3] = s[0];
		in->sub = mode;
		in->aw = type_w(st->type[0]);
		in->def = in->o[1] == OPND_NONE ? 1 : 3;
		in->use = 12;
		return;
	case X_ELECT:
		s[0] = src(c, st, &o[1], T_B32);
		in = emit(c, K_MATCH);
		in->o[0] = dst(&o[0]);
		in->o[1] = o[0].second;
		if (in->o[0] == OPND_NONE)
			in->o[0] = new_reg(c, T_B32);
		in->o[2] = in->o[3] = s[0];
		in->def = in->o[1] == OPND_NONE ? 1 : 3;
		in->use = 12;
		return;
	case X_ACTIVEMASK:
		in = emit(c, K_ACTIVEMASK);
		in->o[0] = dst(&o[0]);
		if (in->o[0] == OPND_NONE)
			in->o[0] = new_reg(c, T_B32);
		in->def = 1;
		return;
	case X_REDUX:
		mode = st->mod[MC_ATOM];
		if ((st->type[0] == T_F32 ? mode != ATOM_MIN && mode != ATOM_MAX : st->mod[MC_NAN] || st->mod[MC_ABS]) ||
		    (mode >= ATOM_AND && mode <= ATOM_XOR) != (st->type[0] == T_B32) ||
		    (mode != ATOM_ADD && mode != ATOM_MIN && mode != ATOM_MAX && st->type[0] != T_B32))
			FAIL_AT(c, st, "redux: bad operation for .%s", type_name(st->type[0]));
		s[0] = src(c, st, &o[1], st->type[0] == T_F32 ? T_F32 : T_B32);
		s[1] = src(c, st, &o[2], T_B32);
		in = emit(c, K_REDUX);
		in->o[0] = dst(&o[0]);
		if (in->o[0] == OPND_NONE)
			in->o[0] = new_reg(c, T_B32);
		in->o[1] = s[0];
		in->o[2] = s[1];
		in->sub = mode;
		in->sub2 = (u8)((st->mod[MC_NAN] ? REDUX_NAN : 0) | (st->mod[MC_ABS] ? REDUX_ABS : 0));
		in->type = st->type[0];
		in->def = 1;
		in->use = 6;
		return;
	case X_SHFL:
		if (!st->mod[MC_SHFL])
			FAIL_AT(c, st, "shfl: a mode is missing");
		if (st->nops != (st->mod[MC_SYNC] ? 5u : 4u))
			FAIL_AT(c, st, "shfl: wrong number of operands");
		for (i = 0; i + 1 < st->nops; i++)
			s[i] = src(c, st, &o[i + 1], i ? T_B32 : st->type[0]);
		in = emit(c, K_SHFL);
		in->o[0] = dst(&o[0]);
		if (in->o[0] == OPND_NONE)
			in->o[0] = new_reg(c, T_B32);
		in->o[1] = o[0].second;
		in->o[2] = s[3];                /* member mask, where every warp operation has it */
		in->o[3] = s[0];
		in->o[4] = s[1];
		in->o[5] = s[2];
		in->sub = st->mod[MC_SHFL];
		in->def = in->o[1] == OPND_NONE ? 1 : 3;
		in->use = (u8)(56 | (s[3] != OPND_NONE ? 4 : 0));
		return;
	}
	UNSUPPORTED(c, st, "instruction '%s' is not supported", st->od->name);
}
