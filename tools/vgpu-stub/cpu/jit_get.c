/* SPDX-License-Identifier: MIT */
/* Which code a function has: by the shape of its blocks, made when it is first asked for, by the compiler for this processor. */
#include "jit.h"
#include "strip/strip.h"

/* The shape of a block, as the code is specialised for it. */
u32 jit_spec(const u32 *block)
{
	u32 x = block[0], yz = block[1] * block[2];

	if (x % LANES == 0)
		return SPEC_LINEAR;
	if (yz == 1)
		return SPEC_LINE;
	if (x < LANES && !(x & (x - 1)) && block[1] % (LANES / x) == 0)
		return SPEC_POW2 | (u32)__builtin_ctz(x) << 8;
	return SPEC_ANY;
}

/* The code for a shape; NULL: there is none, interpret. */
struct jit *jit_get(struct func *fn, u32 spec)
{
	struct jit *j;

	for (j = fn->jits; j; j = j->next)
		if (j->spec == spec && !(j->guessed && fn->jsrc->noguess))
			return j;
	if (!fn->jsrc || !fn->m->e->code_rw || fn->jit_failed)
		return NULL;
	j = fn->m->e->lanes == &lanes_avx512 ? jit_compile(fn, spec) : strip_compile(fn, spec);
	if (!j) {
		fn->jit_failed = true;
		return NULL;
	}
	j->next = fn->jits;
	fn->jits = j;
	return j;
}

void jit_free(struct func *fn)
{
	struct jit *j;

	while ((j = fn->jits)) {
		struct engine *e = fn->m->e;

		fn->jits = j->next;
		strip_free(j);
		jit_code_give(e, (u64)(j->code - e->code_rx), j->bytes);
		free(j->mem);
	}
	jit_src_free(fn->jsrc);
	fn->jsrc = NULL;
}
