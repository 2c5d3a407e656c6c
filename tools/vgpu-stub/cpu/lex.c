/* SPDX-License-Identifier: MIT */
/*
 * The PTX lexer: tokens out of a text that may be hostile and need not end with a NUL.
 * Used by module.c and parse.c; errors leave through lex_fail (longjmp to the caller's bail).
 */
#include <emmintrin.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"

/* 1: begins a name, 2: a digit */
static const u8 class[256] = {
	['a' ... 'z'] = 1, ['A' ... 'Z'] = 1, ['_'] = 1, ['$'] = 1, ['%'] = 1, ['0' ... '9'] = 2,
};

static bool is_id0(int c) { return class[(u8)c] == 1; }
static bool is_digit(int c) { return class[(u8)c] == 2; }
static bool is_id(int c) { return class[(u8)c] != 0; }

static int hexval(int c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

void lex_init(struct lex *lx, const char *p, const char *end, u32 line, struct bail *bail, char *log,
	      size_t log_bytes)
{
	memset(lx, 0, sizeof(*lx));
	lx->p = lx->line_start = p;
	lx->end = end;
	lx->line = line;
	lx->bail = bail;
	lx->log = log;
	lx->log_bytes = log_bytes;
}

void lex_fail(struct lex *lx, u32 status, const char *fmt, ...)
{
	char msg[192];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	if (lx->log && lx->log_bytes)
		snprintf(lx->log, lx->log_bytes, "%u:%u: %s", lx->tline, lx->tcol, msg);
	lx->bail->status = status;
	longjmp(lx->bail->at, 1);
}

static void skip_space(struct lex *lx)
{
	for (;;) {
		if (lx->p >= lx->end)
			return;
		if (*lx->p == '\n') {
			lx->line++;
			lx->line_start = ++lx->p;
		} else if (*lx->p == ' ' || *lx->p == '\t' || *lx->p == '\r' || *lx->p == '\f') {
			lx->p++;
		} else if (*lx->p == '/' && lx->p + 1 < lx->end && lx->p[1] == '/') {
			const char *nl = memchr(lx->p, '\n', (size_t)(lx->end - lx->p));

			lx->p = nl ? nl : lx->end;
		} else if (*lx->p == '/' && lx->p + 1 < lx->end && lx->p[1] == '*') {
			lx->p += 2;
			while (lx->p + 1 < lx->end && !(lx->p[0] == '*' && lx->p[1] == '/')) {
				if (*lx->p == '\n') {
					lx->line++;
					lx->line_start = lx->p + 1;
				}
				lx->p++;
			}
			lx->p = lx->p + 2 <= lx->end ? lx->p + 2 : lx->end;
		} else {
			return;
		}
	}
}

static int lex_number(struct lex *lx)
{
	const char *p = lx->p, *end = lx->end;
	u64 v = 0;
	int h;

	if (p[0] == '0' && p + 1 < end && strchr("fFdD", p[1]) && p[1]) {
		u32 want = (p[1] == 'f' || p[1] == 'F') ? 8 : 16, n = 0;

		for (p += 2; p < end && n < want && (h = hexval(*p)) >= 0; p++, n++)
			v = v << 4 | (u64)h;
		if (n != want || (p < end && is_id(*p)))
			lex_fail(lx, VGPU_ST_INVALID_PTX, "malformed floating point constant");
		lx->p = p;
		lx->ival = v;
		return lx->tok = want == 8 ? TK_F32 : TK_F64;
	}
	if (p[0] == '0' && p + 1 < end && (p[1] == 'x' || p[1] == 'X')) {
		for (p += 2; p < end && (h = hexval(*p)) >= 0; p++) {
			if (v >> 60)
				lex_fail(lx, VGPU_ST_INVALID_PTX, "integer constant too large");
			v = v << 4 | (u64)h;
		}
		if (p == lx->p + 2)
			lex_fail(lx, VGPU_ST_INVALID_PTX, "malformed number");
	} else if (p[0] == '0' && p + 1 < end && (p[1] == 'b' || p[1] == 'B')) {
		for (p += 2; p < end && (*p == '0' || *p == '1'); p++) {
			if (v >> 63)
				lex_fail(lx, VGPU_ST_INVALID_PTX, "integer constant too large");
			v = v << 1 | (u64)(*p - '0');
		}
		if (p == lx->p + 2)
			lex_fail(lx, VGPU_ST_INVALID_PTX, "malformed number");
	} else {
		const char *q = p;
		u32 base;

		while (q < end && is_digit(*q))
			q++;
		if (q < end && (*q == '.' || *q == 'e' || *q == 'E')) {
			char buf[64];
			u32 n = 0;
			double d;
			char *stop;

			while (p < end && n < sizeof(buf) - 1 &&
			       (is_digit(*p) || *p == '.' || *p == 'e' || *p == 'E' ||
				((*p == '-' || *p == '+') && n && (buf[n - 1] == 'e' || buf[n - 1] == 'E'))))
				buf[n++] = *p++;
			buf[n] = 0;
			d = strtod(buf, &stop);
			if (*stop || isinf(d))
				lex_fail(lx, VGPU_ST_INVALID_PTX, "malformed number");
			memcpy(&lx->ival, &d, 8);
			lx->p = p;
			return lx->tok = TK_F64;
		}
		base = p[0] == '0' ? 8 : 10;
		for (; p < q; p++) {
			u64 nv = v * base + (u64)(*p - '0');

			if (*p - '0' >= (int)base || (nv - (u64)(*p - '0')) / base != v)
				lex_fail(lx, VGPU_ST_INVALID_PTX, "malformed integer constant");
			v = nv;
		}
	}
	lx->is_unsigned = p < end && *p == 'U';
	p += lx->is_unsigned;
	if (p < end && is_id(*p))
		lex_fail(lx, VGPU_ST_INVALID_PTX, "malformed number");
	lx->p = p;
	lx->ival = v;
	return lx->tok = TK_INT;
}

int lex_next(struct lex *lx)
{
	const char *p;

	skip_space(lx);
	lx->tline = lx->line;
	lx->tcol = (u32)(lx->p - lx->line_start) + 1;
	lx->s = p = lx->p;
	lx->n = 0;
	if (p >= lx->end || !*p)
		return lx->tok = TK_EOF;
	if (is_id0(*p) && !(*p == '%' && (p + 1 >= lx->end || !is_id(p[1])))) {
		while (p < lx->end && is_id(*p))
			p++;
		lx->n = (u32)(p - lx->s);
		lx->p = p;
		return lx->tok = TK_ID;
	}
	if (is_digit(*p) || (*p == '.' && p + 1 < lx->end && is_digit(p[1])))
		return lex_number(lx);
	if (*p == '.' && p + 1 < lx->end && is_id0(p[1])) {
		lx->s = ++p;
		while (p < lx->end && is_id(*p))
			p++;
		lx->n = (u32)(p - lx->s);
		lx->p = p;
		return lx->tok = TK_DIR;
	}
	if (*p == '"') {
		lx->s = ++p;
		while (p < lx->end && *p != '"' && *p != '\n')
			p++;
		if (p >= lx->end || *p != '"')
			lex_fail(lx, VGPU_ST_INVALID_PTX, "unterminated string");
		lx->n = (u32)(p - lx->s);
		lx->p = p + 1;
		return lx->tok = TK_STR;
	}
	lx->n = 1;
	lx->p = p + 1;
	if (*p < 32 || *p > 126)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "stray byte 0x%02x", (unsigned)(u8)*p);
	return lx->tok = (u8)*p;
}

bool lex_suffix(struct lex *lx)
{
	const char *p = lx->p;

	if (p + 1 >= lx->end || *p != '.' || !is_id(p[1]))
		return false;
	lx->tcol = (u32)(p - lx->line_start) + 1;
	lx->s = ++p;
	while (p < lx->end && (is_id(*p) || (*p == ':' && p + 2 < lx->end && p[1] == ':' && is_id(p[2]))))
		p += *p == ':' ? 2 : 1;
	lx->n = (u32)(p - lx->s);
	lx->p = p;
	return true;
}

void lex_expect(struct lex *lx, int tok)
{
	if (lx->tok != tok) {
		if (tok < 256)
			lex_fail(lx, VGPU_ST_INVALID_PTX, "expected '%c' before '%.*s'", tok,
				 (int)(lx->n < 40 ? lx->n : 40), lx->s);
		lex_fail(lx, VGPU_ST_INVALID_PTX, "expected %s before '%.*s'",
			 tok == TK_ID ? "a name" : tok == TK_INT ? "an integer" : "a directive",
			 (int)(lx->n < 40 ? lx->n : 40), lx->s);
	}
	lex_next(lx);
}

bool lex_accept(struct lex *lx, int tok)
{
	if (lx->tok != tok)
		return false;
	lex_next(lx);
	return true;
}

/*
 * Bodies make up nearly all of a module, and most are never launched: this scan is what loading
 * costs, so it looks at bytes, not tokens, and at the few that matter among many at a time.
 */
static const char *skip_plain(struct lex *lx, const char *p)
{
	const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}'), slash = _mm_set1_epi8('/'),
		      quote = _mm_set1_epi8('"'), line = _mm_set1_epi8('\n');
	u32 stop, nl, n;

	for (; lx->end - p >= 16; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)p);

		stop = (u32)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, open), _mm_cmpeq_epi8(v, close)),
							   _mm_or_si128(_mm_cmpeq_epi8(v, slash), _mm_cmpeq_epi8(v, quote))));
		nl = (u32)_mm_movemask_epi8(_mm_cmpeq_epi8(v, line));
		n = stop ? (u32)__builtin_ctz(stop) : 16;
		for (nl &= (1u << n) - 1; nl; nl &= nl - 1) {
			lx->line++;
			lx->line_start = p + __builtin_ctz(nl) + 1;
		}
		if (stop)
			return p + n;
	}
	return p;
}

void lex_skip_braces(struct lex *lx)
{
	const char *p = lx->p;
	u32 depth = 1;

	while (depth && (p = skip_plain(lx, p)) < lx->end) {
		switch (*p++) {
		case '{':
			depth++;
			break;
		case '}':
			depth--;
			break;
		case '\n':
			lx->line++;
			lx->line_start = p;
			break;
		case '"':
			while (p < lx->end && *p != '"' && *p != '\n')
				p++;
			if (p < lx->end && *p == '"')
				p++;
			break;
		case '/':
			if (p < lx->end && (*p == '/' || *p == '*')) {
				lx->p = p - 1;
				skip_space(lx);
				p = lx->p;
			}
			break;
		}
	}
	lx->p = p;
	if (depth)
		lex_fail(lx, VGPU_ST_INVALID_PTX, "missing '}'");
	lex_next(lx);
}
