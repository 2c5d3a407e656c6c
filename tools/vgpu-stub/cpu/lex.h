/* SPDX-License-Identifier: MIT */
/* Text into tokens and constants (lex.c, expr.c); memory pools and tables of names (util.c). */
#ifndef VGPU_CPU_LEX_H
#define VGPU_CPU_LEX_H

#include <setjmp.h>

#include "isa.h"

enum { TK_EOF = 256, TK_ID, TK_DIR, TK_INT, TK_F32, TK_F64, TK_STR };

/* Where an error leaves to, and with what status. Of all copies of a lexer that look ahead: one of them may meet the error. */
struct bail {
	jmp_buf at;
	u32 status;             /* set by lex_fail */
};

struct lex {
	const char *p, *end;    /* p: just behind the current token */
	const char *line_start;
	u32 line;
	int tok;
	const char *s;          /* token text; TK_DIR without its dot */
	u32 n;
	u64 ival;               /* TK_INT value, TK_F32/TK_F64 bits */
	bool is_unsigned;       /* TK_INT with a U */
	u32 named;              /* variables that came by families, see parse_family() */
	u32 tline, tcol;
	struct bail *bail;
	char *log;
	size_t log_bytes;
};

void lex_init(struct lex *lx, const char *p, const char *end, u32 line, struct bail *bail,
	      char *log, size_t log_bytes);
int lex_next(struct lex *lx);
bool lex_suffix(struct lex *lx);        /* ".name" glued to the last token: s, n */
_Noreturn void lex_fail(struct lex *lx, u32 status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void lex_skip_to(struct lex *lx, int tok);      /* over everything up to it */
static inline bool lex_is(const struct lex *lx, const char *word)
{
	size_t i;

	for (i = 0; i < lx->n && word[i]; i++)
		if (lx->s[i] != word[i])
			return false;
	return i == lx->n && !word[i];
}
void lex_expect(struct lex *lx, int tok);
bool lex_accept(struct lex *lx, int tok);
/* expr.c: CV_F32 is a 0f constant, which stands alone */
enum { CV_S64, CV_U64, CV_F64, CV_F32 };
struct cval { u8 kind; u64 bits; };
struct cval const_value(struct lex *lx);
s64 const_expr(struct lex *lx);         /* an integer */
void lex_skip_braces(struct lex *lx);   /* at '{': stops behind the matching '}' */


/* ---- memory pools and symbol tables (util.c) ------------------------------------------- */

struct pool { struct chunk *head; };
void *pool_alloc(struct pool *p, size_t bytes);         /* zeroed; NULL when out of memory */
char *pool_str(struct pool *p, const char *s, size_t n);
void pool_free(struct pool *p);

struct map { struct map_ent **tab; u32 cap, n; struct pool *pool; };
struct map_ent { struct map_ent *next; const char *s; u32 n; u32 hash; void *val; };
struct map_ent *map_find(struct map *m, const char *s, size_t n);
/* The same for a hash that was made byte by byte from MAP_HASH: that of every prefix comes by the way. */
struct map_ent *map_find_hash(const struct map *m, const char *s, size_t n, u32 h);
#define MAP_HASH 2166136261u
static inline u32 map_hash(u32 h, char c) { return (h ^ (u8)c) * 16777619u; }
int map_put(struct map *m, const char *s, size_t n, void *val);
void map_free(struct map *m);

#endif
