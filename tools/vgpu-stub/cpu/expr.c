/* SPDX-License-Identifier: MIT */
/*
 * Constant expressions (PTX ISA 4.5: constants), evaluated while they are read: C's operators over .s64, .u64 and
 * .f64 with the typing of the ISA's table of evaluation rules. Used for operands, sizes and initialisers.
 *
 * Where NVIDIA's assembler and that table part (the type of ?:), the table decides.
 */
#include <string.h>

#include "cpu.h"

#define MAX_NEST 64

static struct cval ternary(struct lex *lx, u32 depth);

static struct cval s64_val(s64 v) { return (struct cval){ CV_S64, (u64)v }; }
static struct cval u64_val(u64 v) { return (struct cval){ CV_U64, v }; }

static double as_f64(struct cval v)
{
	double d;

	memcpy(&d, &v.bits, 8);
	return d;
}

static struct cval f64_val(double d)
{
	struct cval v = { CV_F64, 0 };

	memcpy(&v.bits, &d, 8);
	return v;
}

/* 0f… stands alone: there is no arithmetic of single precision. */
static bool is_int(struct cval v)
{
	return v.kind == CV_S64 || v.kind == CV_U64;
}

static u64 need_int(struct lex *lx, struct cval v)
{
	if (!is_int(v))
		lex_fail(lx, VGPU_ST_INVALID_PTX, "an integer constant is expected");
	return v.bits;
}

/* Two-character operators reach us as two tokens that touch. "7 %4" has a name behind the 7, "7 % 4" an operator. */
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

static struct cval apply_f64(struct lex *lx, int op, double a, double b)
{
	switch (op) {
	case EQL('='): return s64_val(a == b);
	case EQL('!'): return s64_val(a != b);
	case '<': return s64_val(a < b);
	case '>': return s64_val(a > b);
	case EQL('<'): return s64_val(a <= b);
	case EQL('>'): return s64_val(a >= b);
	case '+': return f64_val(a + b);
	case '-': return f64_val(a - b);
	case '*': return f64_val(a * b);
	case '/': return f64_val(a / b);
	}
	lex_fail(lx, VGPU_ST_INVALID_PTX, "an integer constant is expected");
}

static struct cval apply(struct lex *lx, int op, struct cval x, struct cval y)
{
	bool u = x.kind == CV_U64 || y.kind == CV_U64;  /* the usual conversions */
	u64 a, b;
	s64 c, d;

	if (x.kind == CV_F64 && y.kind == CV_F64)
		return apply_f64(lx, op, as_f64(x), as_f64(y));
	a = need_int(lx, x);
	b = need_int(lx, y);
	c = (s64)a;
	d = (s64)b;
	switch (op) {
	case DBL('|'): return s64_val(a || b);
	case DBL('&'): return s64_val(a && b);
	case '|': return u64_val(a | b);
	case '^': return u64_val(a ^ b);
	case '&': return u64_val(a & b);
	case EQL('='): return s64_val(a == b);
	case EQL('!'): return s64_val(a != b);
	case '<': return s64_val(u ? a < b : c < d);
	case '>': return s64_val(u ? a > b : c > d);
	case EQL('<'): return s64_val(u ? a <= b : c <= d);
	case EQL('>'): return s64_val(u ? a >= b : c >= d);
	/* the ISA does not say what a shift beyond 63 is; NVIDIA's assembler takes six bits */
	case DBL('<'): return (struct cval){ x.kind, a << (b & 63) };
	case DBL('>'): return x.kind == CV_U64 ? u64_val(a >> (b & 63)) : s64_val(c >> (b & 63));
	case '+': return (struct cval){ u ? CV_U64 : CV_S64, a + b };
	case '-': return (struct cval){ u ? CV_U64 : CV_S64, a - b };
	case '*': return (struct cval){ u ? CV_U64 : CV_S64, a * b };
	}
	if (!b)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "division by zero in a constant expression");
	if (op == '%')                          /* of .u64, whatever they are */
		return s64_val((s64)(a % b));
	if (u)
		return u64_val(a / b);
	return s64_val(d == -1 ? (s64)(0 - a) : c / d);
}

static struct cval primary(struct lex *lx)
{
	struct cval v = { 0, lx->ival };

	switch (lx->tok) {
	case TK_INT:
		v.kind = lx->is_unsigned || lx->ival >> 63 ? CV_U64 : CV_S64;
		break;
	case TK_F32:
		v.kind = CV_F32;
		break;
	case TK_F64:
		v.kind = CV_F64;
		break;
	case TK_ID:
		if (lex_is(lx, "WARP_SZ")) {
			v = s64_val(32);
			break;
		}
		/* fall through */
	default:
		lex_fail(lx, VGPU_ST_INVALID_PTX, "expected a constant before '%.*s'",
			 (int)(lx->n < 40 ? lx->n : 40), lx->s);
	}
	lex_next(lx);
	return v;
}

static struct cval unary(struct lex *lx, u32 depth)
{
	int op = lx->tok;
	struct cval v;

	if (depth > MAX_NEST)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "constant expression nested too deeply");
	switch (op) {
	case '+':
	case '-':
		lex_next(lx);
		v = unary(lx, depth + 1);
		if (v.kind == CV_F64)
			return op == '-' ? f64_val(-as_f64(v)) : v;
		need_int(lx, v);
		return (struct cval){ v.kind, op == '-' ? 0 - v.bits : v.bits };
	case '~':
		lex_next(lx);
		return u64_val(~need_int(lx, unary(lx, depth + 1)));
	case '!':
		lex_next(lx);
		return s64_val(!need_int(lx, unary(lx, depth + 1)));
	case '(':
		lex_next(lx);
		if (lx->tok == TK_DIR && (lex_is(lx, "s64") || lex_is(lx, "u64"))) {
			bool u = lex_is(lx, "u64");

			lex_next(lx);
			lex_expect(lx, ')');
			v = (struct cval){ u ? CV_U64 : CV_S64, need_int(lx, unary(lx, depth + 1)) };
			return v;
		}
		v = ternary(lx, depth + 1);
		lex_expect(lx, ')');
		return v;
	}
	return primary(lx);
}

static struct cval binary(struct lex *lx, int min, u32 depth)
{
	struct cval a = unary(lx, depth), b;
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

static struct cval ternary(struct lex *lx, u32 depth)
{
	struct cval c = binary(lx, 1, depth), a, b;

	if (!lex_accept(lx, '?'))
		return c;
	if (depth > MAX_NEST)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "constant expression nested too deeply");
	need_int(lx, c);
	a = ternary(lx, depth + 1);
	lex_expect(lx, ':');
	b = ternary(lx, depth + 1);
	if (is_int(a) != is_int(b) || a.kind == CV_F32 || b.kind == CV_F32)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "a constant expression of two types");
	if (is_int(a) && (a.kind == CV_U64 || b.kind == CV_U64))
		a.kind = b.kind = CV_U64;
	return c.bits ? a : b;
}

struct cval const_value(struct lex *lx)
{
	return ternary(lx, 0);
}

s64 const_expr(struct lex *lx)
{
	struct cval v = ternary(lx, 0);

	return (s64)need_int(lx, v);
}
