/* SPDX-License-Identifier: MIT */
/*
 * Constant expressions (PTX ISA 4.5.5): C's operators over 64-bit integers, evaluated while they
 * are read. Used for operands, sizes and initialisers.
 */
#include "cpu.h"

#define MAX_NEST 64

static s64 ternary(struct lex *lx, u32 depth);

/* Two-character operators reach us as two tokens that touch. */
static int op_at(const struct lex *lx, u32 *len)
{
	char a = lx->tok < 256 ? (char)lx->tok : 0, b = lx->p < lx->end ? *lx->p : 0;

	*len = 2;
	if ((a == '<' && b == '<') || (a == '>' && b == '>') || (a == '&' && b == '&') ||
	    (a == '|' && b == '|'))
		return a | b << 8 | 1 << 16;
	if ((a == '<' || a == '>' || a == '=' || a == '!') && b == '=')
		return a | b << 8;
	*len = 1;
	return a;
}

#define DBL(c) ((c) | (c) << 8 | 1 << 16)
#define EQL(c) ((c) | '=' << 8)

static int level(int op)
{
	switch (op) {
	case DBL('|'): return 1;
	case DBL('&'): return 2;
	case '|': return 3;
	case '^': return 4;
	case '&': return 5;
	case EQL('='): case EQL('!'): return 6;
	case '<': case '>': case EQL('<'): case EQL('>'): return 7;
	case DBL('<'): case DBL('>'): return 8;
	case '+': case '-': return 9;
	case '*': case '/': case '%': return 10;
	}
	return 0;
}

static s64 apply(struct lex *lx, int op, s64 a, s64 b)
{
	switch (op) {
	case DBL('|'): return a || b;
	case DBL('&'): return a && b;
	case '|': return a | b;
	case '^': return a ^ b;
	case '&': return a & b;
	case EQL('='): return a == b;
	case EQL('!'): return a != b;
	case '<': return a < b;
	case '>': return a > b;
	case EQL('<'): return a <= b;
	case EQL('>'): return a >= b;
	case DBL('<'): return (u64)b > 63 ? 0 : (s64)((u64)a << b);
	case DBL('>'): return a >> ((u64)b > 63 ? 63 : b);
	case '+': return (s64)((u64)a + (u64)b);
	case '-': return (s64)((u64)a - (u64)b);
	case '*': return (s64)((u64)a * (u64)b);
	}
	if (!b || (b == -1 && a == INT64_MIN))
		lex_fail(lx, VGPU_ST_INVALID_PTX, "division in a constant expression");
	return op == '/' ? a / b : a % b;
}

static s64 unary(struct lex *lx, u32 depth)
{
	s64 v;

	if (depth > MAX_NEST)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "constant expression nested too deeply");
	switch (lx->tok) {
	case '+': lex_next(lx); return unary(lx, depth + 1);
	case '-': lex_next(lx); return (s64)(0 - (u64)unary(lx, depth + 1));
	case '~': lex_next(lx); return ~unary(lx, depth + 1);
	case '!': lex_next(lx); return !unary(lx, depth + 1);
	case '(':
		lex_next(lx);
		if (lx->tok == TK_DIR && (lex_is(lx, "s64") || lex_is(lx, "u64"))) {
			lex_next(lx);
			lex_expect(lx, ')');
			return unary(lx, depth + 1);
		}
		v = ternary(lx, depth + 1);
		lex_expect(lx, ')');
		return v;
	case TK_INT:
		v = (s64)lx->ival;
		lex_next(lx);
		return v;
	}
	lex_fail(lx, VGPU_ST_INVALID_PTX, "expected an integer before '%.*s'",
		 (int)(lx->n < 40 ? lx->n : 40), lx->s);
}

static s64 binary(struct lex *lx, int min, u32 depth)
{
	s64 a = unary(lx, depth), b;
	u32 len;
	int op, l;

	while ((l = level(op = op_at(lx, &len))) >= min && l) {
		lex_next(lx);
		if (len == 2)
			lex_next(lx);
		b = binary(lx, l + 1, depth);
		a = apply(lx, op, a, b);
	}
	return a;
}

static s64 ternary(struct lex *lx, u32 depth)
{
	s64 c = binary(lx, 1, depth), a, b;

	if (!lex_accept(lx, '?'))
		return c;
	if (depth > MAX_NEST)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "constant expression nested too deeply");
	a = ternary(lx, depth + 1);
	lex_expect(lx, ':');
	b = ternary(lx, depth + 1);
	return c ? a : b;
}

s64 const_expr(struct lex *lx)
{
	return ternary(lx, 0);
}
