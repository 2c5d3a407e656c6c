/* SPDX-License-Identifier: MIT */
/* Finds a static cudart by its symbols: see carried.h. */
#include "carried.h"

static const char mark[] = "libcudart_static_", old_mark[] = "__cudart";

#define MARK (sizeof(mark) - 1)
#define OLD_MARK (sizeof(old_mark) - 1)

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int starts(const char *s, size_t left, const char *with, size_t n)
{
	if (left < n)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (s[i] != with[i])
			return 0;
	return 1;
}

static int is_marker(const char *s, size_t left)
{
	return starts(s, left, mark, MARK) || (starts(s, left, old_mark, OLD_MARK) && left > OLD_MARK && is_digit(s[OLD_MARK]));
}

/* cudaX... or __cudaX...; what gcc splits off (cudaMalloc.cold) is no name of C's. */
static int is_public(const char *s, size_t left)
{
	if (left > 2 && s[0] == '_' && s[1] == '_') {
		s += 2;
		left -= 2;
	}
	if (!starts(s, left, "cuda", 4) || left < 6 || s[4] < 'A' || s[4] > 'Z')
		return 0;
	for (size_t i = 5; i < left && s[i]; i++)
		if (s[i] == '.')
			return 0;
	return 1;
}

static int same(const char *str, size_t bytes, uint32_t at, const char *want)
{
	size_t i = 0;

	while (at + i < bytes && want[i] && str[at + i] == want[i])
		i++;
	return at + i < bytes && !want[i] && !str[at + i];
}

/* Horspool's search: one look at every sixteenth byte or so of tables that can have 100 MB. */
static int holds(const char *s, size_t bytes, const char *what, size_t n)
{
	unsigned char skip[256];
	size_t at = 0;

	for (size_t i = 0; i < 256; i++)
		skip[i] = (unsigned char)n;
	for (size_t i = 0; i + 1 < n; i++)
		skip[(unsigned char)what[i]] = (unsigned char)(n - 1 - i);
	while (bytes >= n && at <= bytes - n) {
		if (starts(s + at, n, what, n))
			return 1;
		at += skip[(unsigned char)s[at + n - 1]];
	}
	return 0;
}

int carried_hint(const char *str, size_t bytes)
{
	return holds(str, bytes, "__cudaRegisterFatBinary", 23) && (holds(str, bytes, mark, MARK) || holds(str, bytes, old_mark, OLD_MARK));
}

static int is_function(const Elf64_Sym *s)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && s->st_shndx != SHN_UNDEF;
}

static void sift(struct carried_fn *f, unsigned at, unsigned n)
{
	for (;;) {
		unsigned child = 2 * at + 1;
		struct carried_fn t;

		if (child >= n)
			return;
		if (child + 1 < n && f[child + 1].addr > f[child].addr)
			child++;
		if (f[at].addr >= f[child].addr)
			return;
		t = f[at];
		f[at] = f[child];
		f[child] = t;
		at = child;
	}
}

static void sort(struct carried_fn *f, unsigned n)
{
	for (unsigned i = n / 2; i--;)
		sift(f, i, n);
	for (unsigned i = n; i-- > 1;) {
		struct carried_fn t = f[0];

		f[0] = f[i];
		f[i] = t;
		sift(f, 0, i);
	}
}

/* How many begin at or below addr. */
static unsigned below(const struct carried *c, uint64_t addr)
{
	unsigned lo = 0, hi = c->n;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (c->fn[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* fn[from, to) has nothing in between: what lies from its first to its last marker is cudart, if it is large enough. */
static void run(struct carried *c, unsigned from, unsigned to)
{
	unsigned entries = 0;

	while (from < to && !c->fn[from].marker)
		from++;
	while (to > from && !c->fn[to - 1].marker)
		to--;
	for (unsigned i = from; i < to; i++)
		entries += !c->fn[i].marker;
	if (entries < CARRIED_LEAST)
		return;
	for (unsigned i = from; i < to; i++)
		c->fn[i].entry = !c->fn[i].marker;
	c->entries += entries;
}

/*
 * What only one major has: 12 renamed cudaGetDeviceProperties and kept the calls of old; 13 has neither; its launches go
 * through __cudaGetKernel, as 12.8's may. 11 is the first with a part of L2 set aside, and the last with texture references.
 */
static unsigned major_of(const struct carried *c, const char *str, size_t bytes)
{
	int renamed = 0, exit_of_old = 0, kernel = 0, persisting = 0, reference = 0;

	for (unsigned i = 0; i < c->n; i++) {
		if (!c->fn[i].entry)
			continue;
		renamed |= same(str, bytes, c->fn[i].name, "cudaGetDeviceProperties_v2");
		exit_of_old |= same(str, bytes, c->fn[i].name, "cudaThreadExit");
		kernel |= same(str, bytes, c->fn[i].name, "__cudaGetKernel");
		persisting |= same(str, bytes, c->fn[i].name, "cudaCtxResetPersistingL2Cache");
		reference |= same(str, bytes, c->fn[i].name, "cudaGetTextureReference");
	}
	if (renamed && exit_of_old)
		return 12;
	if (exit_of_old)
		return persisting && reference ? 11 : CARRIED_OLD;
	return kernel && !renamed ? 13 : 0;
}

void carried_tell(struct carried *c, const char *str, size_t bytes)
{
	c->major = major_of(c, str, bytes);
}

int carried_find(struct carried *c, const Elf64_Sym *sym, size_t n, const char *str, size_t str_bytes)
{
	unsigned from = 0;

	c->n = c->entries = c->major = 0;
	for (size_t i = 0; i < n; i++) {
		const char *s = str + sym[i].st_name;
		int marker;

		if (!is_function(&sym[i]) || sym[i].st_name >= str_bytes)
			continue;
		marker = is_marker(s, str_bytes - sym[i].st_name);
		if (!marker && !is_public(s, str_bytes - sym[i].st_name))
			continue;
		if (c->n == CARRIED_MAX)
			return -1;
		c->fn[c->n++] = (struct carried_fn){ .addr = sym[i].st_value, .size = sym[i].st_size, .name = sym[i].st_name,
			.marker = (uint8_t)marker, .indirect = ELF64_ST_TYPE(sym[i].st_info) == STT_GNU_IFUNC, .room = UINT64_MAX };
	}
	sort(c->fn, c->n);
	for (unsigned i = 0; i + 1 < c->n; i++)
		c->fn[i].room = c->fn[i + 1].addr - c->fn[i].addr;
	for (size_t i = 0; i < n; i++) {
		const char *s = str + sym[i].st_name;
		struct carried_fn *f;
		unsigned at;

		if (!is_function(&sym[i]) || sym[i].st_name >= str_bytes || is_marker(s, str_bytes - sym[i].st_name) ||
		    is_public(s, str_bytes - sym[i].st_name))
			continue;
		at = below(c, sym[i].st_value);
		if (!at)
			continue;
		f = &c->fn[at - 1];
		f->split = 1;
		if (sym[i].st_value - f->addr < f->room)
			f->room = sym[i].st_value - f->addr;
	}
	for (unsigned i = 0; i < c->n; i++)
		if (c->fn[i].split || i + 1 == c->n) {
			run(c, from, i + 1);
			from = i + 1;
		}
	if (c->entries)
		c->major = major_of(c, str, str_bytes);
	return 0;
}

const struct carried_fn *carried_at(const struct carried *c, uint64_t addr)
{
	unsigned at = below(c, addr);

	return at && c->fn[at - 1].addr == addr ? &c->fn[at - 1] : NULL;
}
