/* SPDX-License-Identifier: MIT */
/*
 * Variables of modules. The driver places them where it likes, outside the client's span, which the client's addresses never leave: what the
 * driver has somewhere else gets a stand-in address in the arena of the span. Copies and fills to it go to the variable, and so does a
 * pointer to it among a kernel's parameters: no other eight bytes there are an address of the arena by chance. A stand-in that a program
 * has stored in device memory is nobody's memory to a kernel, which ends with an illegal address.
 */
#include "cuda.h"

#include <string.h>

#define STANDINS(e) ((e)->env.arena_base + (e)->env.arena_bytes / 2)  /* a driver that knows the arena (ours) begins at its start */
#define STANDIN_BYTES(e) ((e)->env.arena_bytes / 2)
#define ALIGN 256u

static int stands_in(const struct engine *e, uint64_t at)
{
	return e->standins && at - STANDINS(e) < STANDIN_BYTES(e);
}

int cuda_in_arena(const struct engine *e, uint64_t at, uint64_t bytes)
{
	return at - e->env.arena_base < e->env.arena_bytes && bytes <= e->env.arena_bytes - (at - e->env.arena_base);
}

/* The module that has a piece of [at, at + bytes), or NULL. */
static const struct cuda_module *taken(const struct engine *e, uint64_t at, uint64_t bytes)
{
	for (uint32_t i = 0; i < e->nmodules; i++) {
		const struct cuda_module *m = e->modules[i];

		if (m && m->standin_bytes && m->standin < at + bytes && at < m->standin + m->standin_bytes)
			return m;
	}
	return NULL;
}

uint32_t cuda_standins(struct engine *e, struct cuda_module *m)
{
	const struct cuda_module *other;
	uint64_t bytes = 0, at;
	int again = 0;

	for (uint32_t i = 0; i < m->nvars; i++)
		if (!cuda_in_arena(e, m->var[i].real, m->var[i].bytes))
			bytes += (m->var[i].bytes + ALIGN) & ~(uint64_t)(ALIGN - 1);   /* one behind the last byte is its own too */
	if (!bytes)
		return VGPU_ST_OK;
	if (bytes > STANDIN_BYTES(e))
		return VGPU_ST_OUT_OF_MEMORY;
	at = e->next_standin ? e->next_standin : STANDINS(e);
	for (;;) {
		if (at + bytes > STANDINS(e) + STANDIN_BYTES(e)) {
			if (again++)
				return VGPU_ST_OUT_OF_MEMORY;
			at = STANDINS(e);
		}
		other = taken(e, at, bytes);
		if (!other)
			break;
		at = other->standin + other->standin_bytes;
	}
	m->standin = at;
	m->standin_bytes = bytes;
	e->next_standin = at + bytes;
	e->standins++;
	for (uint32_t i = 0; i < m->nvars; i++)
		if (!cuda_in_arena(e, m->var[i].real, m->var[i].bytes)) {
			m->var[i].address = at;
			at += (m->var[i].bytes + ALIGN) & ~(uint64_t)(ALIGN - 1);
		}
	return VGPU_ST_OK;
}

void cuda_standins_end(struct engine *e, struct cuda_module *m)
{
	e->standins -= m->standin_bytes != 0;
	m->standin_bytes = 0;
}

int cuda_real(const struct engine *e, uint64_t at, uint64_t bytes, uint64_t *real)
{
	const struct cuda_module *m;

	*real = at;
	if (!stands_in(e, at))
		return 1;
	m = taken(e, at, 1);
	for (uint32_t i = 0; m && i < m->nvars; i++) {
		const struct cuda_symbol *v = &m->var[i];

		if (v->address != v->real && at - v->address <= v->bytes && bytes <= v->bytes - (at - v->address)) {
			*real = v->real + (at - v->address);
			return 1;
		}
	}
	return 0;
}

const void *cuda_real_params(const struct engine *e, const void *params, uint32_t bytes, uint8_t *room)
{
	int copied = 0;

	for (uint32_t i = 0; e->standins && i + 8 <= bytes; i += 8) {
		uint64_t at, real;

		memcpy(&at, (const uint8_t *)params + i, 8);
		if (!stands_in(e, at) || !cuda_real(e, at, 0, &real))
			continue;
		if (!copied++)
			memcpy(room, params, bytes);
		memcpy(room + i, &real, 8);
	}
	return copied ? room : params;
}
