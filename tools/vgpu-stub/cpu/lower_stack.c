/* SPDX-License-Identifier: MIT */
/*
 * alloca, stacksave and stackrestore (PTX ISA 9.7.16). A function that names one of them has stack_bytes() of its .local frame
 * for them, and a register that says where the free part begins; both are gone with the frame. What does not fit gets an address
 * at which nothing is: the access faults, as it does where the hardware's stack ends.
 *
 * Called by compile.c in front of a body, and by lower.c.
 */
#define _GNU_SOURCE
#include <string.h>

#include "front.h"

#define NOWHERE 0x7fff0000f0000000ull   /* outside of every .local window, as 32 bits too */

/* The body alone is looked at: with the rest of a module behind each function its text would be read as often as it has functions. */
bool body_names(const struct comp *c, const char *what)
{
	const char *from = c->fn->body;
	struct lex l = c->lx;

	l.p = from;             /* behind the brace */
	lex_skip_braces(&l);
	return memmem(from, (size_t)(l.p - from), what, strlen(what));
}

/* with their types: a name that begins so is none */
static bool named(const struct comp *c) { return body_names(c, "alloca.u") || body_names(c, "stacksave.u"); }

/* The address of a byte of the area. */
static u32 place(struct comp *c, u32 off)
{
	struct insn *in;
	u32 r;

	if (c->fn->entry)
		return konst(c, off, 1);
	r = new_reg(c, T_B64);
	in = emit(c, K_LADDR);
	in->guard = OPND_NONE;
	in->dw = 1;
	in->o[0] = r;
	in->def = 1;
	in->imm = off;
	return r;
}

void stack_begin(struct comp *c)
{
	static const struct stmt none;

	c->stack = OPND_NONE;
	if (!c->fn->has_body || !named(c))
		return;
	c->local_bytes = (c->local_bytes + 15) & ~15ull;
	c->stack_off = (u32)c->local_bytes;
	c->stack_room = c->fn->stack = stack_bytes(c);
	c->local_bytes += c->stack_room;
	c->stack = new_reg(c, T_B64);
	c->guard = OPND_NONE;
	emit_lane(c, &none, LOP_MOV, T_U64, 1, c->stack, place(c, c->stack_off), OPND_NONE, OPND_NONE);
}

static void result(struct comp *c, struct stmt *st, u32 r)
{
	if (type_bytes(st->type[0]) == 8)
		emit_lane(c, st, LOP_MOV, T_U64, 1, dst(&st->op[0]), r, OPND_NONE, OPND_NONE);
	else
		emit_lane(c, st, LOP_XTR, T_U64, 0, dst(&st->op[0]), r, konst(c, 0, 0), konst(c, ~0u, 0));
}

/* r as wide as an address. */
static u32 wide(struct comp *c, struct stmt *st, u32 r)
{
	u32 w;

	if (type_bytes(st->type[0]) == 8)
		return r;
	w = new_reg(c, T_B64);
	emit_lane(c, st, LOP_MULWIDE, T_U32, 1, w, r, konst(c, 1, 0), OPND_NONE);
	return w;
}

void lower_stack(struct comp *c, struct stmt *st)
{
	enum type t = st->type[0];
	u32 size, start, end, bad;
	u64 align = st->nops > 2 ? (u64)st->op[2].imm : 8;

	if (c->stack == OPND_NONE)
		UNSUPPORTED(c, st, "%s is not supported here", st->od->name);
	if (st->od->id == OPID_STACKSAVE) {
		result(c, st, c->stack);
		return;
	}
	if (st->od->id == OPID_STACKRESTORE) {
		emit_lane(c, st, LOP_MOV, T_U64, 1, c->stack, wide(c, st, src(c, st, &st->op[0], t)), OPND_NONE, OPND_NONE);
		return;
	}
	if (st->nops > 2 && (st->op[2].kind != O_INT || !align || align & (align - 1)))
		FAIL_AT(c, st, "alloca takes a power of two as its alignment");
	size = wide(c, st, src(c, st, &st->op[1], t));
	start = new_reg(c, T_B64);
	end = new_reg(c, T_B64);
	bad = new_reg(c, T_B64);
	emit_lane(c, st, LOP_ADD, T_U64, 1, start, c->stack, konst(c, align - 1, 1), OPND_NONE);
	emit_lane(c, st, LOP_AND, T_U64, 1, start, start, konst(c, 0 - align, 1), OPND_NONE);
	emit_lane(c, st, LOP_ADD, T_U64, 1, end, start, size, OPND_NONE);
	/* all ones where the end lies behind the area, or the size is beyond all bounds */
	emit_lane(c, st, LOP_SUB, T_U64, 1, bad, place(c, c->stack_off + c->stack_room), end, OPND_NONE);
	emit_lane(c, st, LOP_OR, T_U64, 1, bad, bad, size, OPND_NONE);
	emit_lane(c, st, LOP_SHR, T_S64, 1, bad, bad, konst(c, 63, 0), OPND_NONE);
	emit_lane(c, st, LOP_AND, T_U64, 1, bad, bad, konst(c, NOWHERE, 1), OPND_NONE);
	emit_lane(c, st, LOP_OR, T_U64, 1, start, start, bad, OPND_NONE);
	emit_lane(c, st, LOP_MOV, T_U64, 1, c->stack, end, OPND_NONE, OPND_NONE);
	result(c, st, start);
}
