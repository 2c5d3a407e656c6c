/* SPDX-License-Identifier: MIT */
/* Between demangle.c, demangle_type.c and demangle_expr.c. */
#ifndef VGPU_CPU_DEMANGLE_OWN_H
#define VGPU_CPU_DEMANGLE_OWN_H

#include <stdint.h>

#include "demangle.h"

typedef uint32_t u32;

#define ARENA (256u << 10)
#define PAIRS 4096
#define SUBS 512
#define DEPTH 96

struct pair { const char *l, *r; };     /* before and behind what is of that type */
struct types { u32 first, n; };         /* in pairs[]: one, or those of a pack */

struct dm {
	const char *p;                  /* what is left of the name */
	struct types subs[SUBS];
	u32 nsubs, npairs, depth;
	struct pair pairs[PAIRS];
	struct dm_scope {
		struct types targs[64]; /* of the template that T_ is about */
		u32 ntargs;
		const char *cv;         /* behind a member function's parameters */
		const char *simple;     /* its name alone */
		const char *name;       /* with all template arguments */
		bool args;              /* and it ends with some */
		bool no_result;         /* constructors and conversions: their names tell no result */
	} scope;
	bool bad;
	bool lambda;                    /* its parameters: T_ is what is auto there */
	size_t used;
	char arena[ARENA];
};

/* The strings up to NULL, as one. */
const char *dm_cat(struct dm *d, const char *first, ...) __attribute__((sentinel));
struct types dm_one(struct dm *d, const char *l, const char *r);
const char *dm_text(struct dm *d, struct types t);
void dm_remember(struct dm *d, struct types t);
bool dm_take(struct dm *d, const char *s);
struct types dm_bad(struct dm *d);
u32 dm_number(struct dm *d);
struct types dm_substitution(struct dm *d);
struct types dm_template_param(struct dm *d);
/* own: the name that an encoding is about, whose template arguments T_ means */
const char *dm_source_name(struct dm *d);
const char *dm_template_args(struct dm *d, const char *of, bool own);
const char *dm_name(struct dm *d, bool own, bool *args);
const char *dm_params(struct dm *d, char end);
const char *dm_encoding(struct dm *d, bool inner);
struct types dm_type(struct dm *d);
/* A template argument; an expression. */
struct types dm_arg(struct dm *d);
const char *dm_expr(struct dm *d);

#endif
