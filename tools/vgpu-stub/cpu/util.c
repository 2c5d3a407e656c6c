/* SPDX-License-Identifier: MIT */
/*
 * Memory pools, name tables and the op table's look-ups, for the front end.
 */
#include <stdlib.h>
#include <string.h>

#include "cpu.h"

struct chunk {
	struct chunk *next;
	size_t used, cap;
	_Alignas(16) char data[];
};

void *pool_alloc(struct pool *p, size_t bytes)
{
	struct chunk *c = p->head;
	void *r;

	bytes = (bytes + 15) & ~(size_t)15;
	if (!c || c->cap - c->used < bytes) {
		size_t cap = bytes > 32768 ? bytes : 65536;

		c = calloc(1, sizeof(*c) + cap);
		if (!c)
			return NULL;
		c->cap = cap;
		c->next = p->head;
		p->head = c;
	}
	r = c->data + c->used;
	c->used += bytes;
	return r;
}

char *pool_str(struct pool *p, const char *s, size_t n)
{
	char *r = pool_alloc(p, n + 1);

	if (r)
		memcpy(r, s, n);
	return r;
}

void pool_free(struct pool *p)
{
	while (p->head) {
		struct chunk *c = p->head;

		p->head = c->next;
		free(c);
	}
}

void *xgrow(void *p, u32 *cap, u32 want, size_t elem)
{
	u32 n = *cap ? *cap : 16;
	void *q;

	if (want <= *cap)
		return p;
	while (n < want)
		n = n < 1u << 30 ? n * 2 : want;
	q = realloc(p, n * elem);
	if (q)
		*cap = n;
	return q;
}

static u32 hash_of(const char *s, size_t n)
{
	u32 h = MAP_HASH;

	while (n--)
		h = map_hash(h, *s++);
	return h;
}

struct map_ent *map_find(struct map *m, const char *s, size_t n)
{
	return map_find_hash(m, s, n, hash_of(s, n));
}

struct map_ent *map_find_hash(const struct map *m, const char *s, size_t n, u32 h)
{
	struct map_ent *e;

	if (!m->cap)
		return NULL;
	for (e = m->tab[h & (m->cap - 1)]; e; e = e->next)
		if (e->hash == h && e->n == n && !memcmp(e->s, s, n))
			return e;
	return NULL;
}

/* The name must live as long as the map does. An existing entry is replaced. */
int map_put(struct map *m, const char *s, size_t n, void *val)
{
	struct map_ent *e = map_find(m, s, n);

	if (e) {
		e->val = val;
		return 0;
	}
	if (m->n >= m->cap) {
		u32 cap = m->cap ? m->cap * 2 : 64, i;
		struct map_ent **tab = calloc(cap, sizeof(*tab));

		if (!tab)
			return -1;
		for (i = 0; i < m->cap; i++)
			while (m->tab[i]) {
				e = m->tab[i];
				m->tab[i] = e->next;
				e->next = tab[e->hash & (cap - 1)];
				tab[e->hash & (cap - 1)] = e;
			}
		free(m->tab);
		m->tab = tab;
		m->cap = cap;
	}
	e = pool_alloc(m->pool, sizeof(*e));
	if (!e)
		return -1;
	e->s = s;
	e->n = (u32)n;
	e->hash = hash_of(s, n);
	e->val = val;
	e->next = m->tab[e->hash & (m->cap - 1)];
	m->tab[e->hash & (m->cap - 1)] = e;
	m->n++;
	return 0;
}

void map_free(struct map *m)
{
	free(m->tab);
	memset(m, 0, sizeof(*m));
}
