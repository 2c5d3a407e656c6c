/* SPDX-License-Identifier: MIT */
/*
 * Finds a static cudart in an object that kept no symbols: see carried.h.
 *
 * What strip leaves is .eh_frame_hdr, the sorted table of where each function begins, and every public function of the runtime
 * has its own name at hand for profilers: lea NAME(%rip). In the one object file that libcudart_static.a is, they stand like this, by
 * the archives of 12.9 to 13.5 and the shared libraries of 12.8 on:
 *
 *    __cudaRegisterFatBinary ... __cudaInitModule ... __cudaRegisterUnifiedTable     a group in this order; one of them has a name
 *    some 600 of its own
 *    cudaDeviceReset ...                                                             all others, without a gap, each with its name
 *
 * So there are two witnesses, and both must agree with what is known to the byte: the sizes in the group, and a run of hundreds of
 * neighbours with a name each. Older ones (up to 12.6) load the name from a table: they are not found.
 */
#include "carried.h"

#define NAME_MAX_BYTES 96u
#define FAR 2048u                       /* functions between the group and the run: 591 to 646 were seen */

struct table {
	const struct carried_image *im;
	const uint8_t *rows;            /* pairs of int32: function and its description, from the header's address on */
	uint64_t header;
	unsigned n;
};

enum where { CODE, TEXT, ANYWHERE };

/* n bytes of the file at an address: of code, of what nobody writes to, or of all (some linkers have .eh_frame among what is written to). */
static const uint8_t *file_at(const struct carried_image *im, uint64_t addr, uint64_t n, enum where where)
{
	for (unsigned i = 0; i < im->nph; i++) {
		const Elf64_Phdr *p = &im->ph[i];

		if (p->p_type == PT_LOAD && (where != CODE || p->p_flags & PF_X) &&
		    (where == ANYWHERE || !(p->p_flags & PF_W)) && addr >= p->p_vaddr &&
		    addr - p->p_vaddr < p->p_filesz && n <= p->p_filesz - (addr - p->p_vaddr) && p->p_offset <= im->bytes &&
		    addr - p->p_vaddr + n <= im->bytes - p->p_offset)
			return im->file + p->p_offset + (addr - p->p_vaddr);
	}
	return 0;
}

static int32_t int_at(const uint8_t *p)
{
	return (int32_t)((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
}

/* DWARF's encodings (LSB, "DWARF Extensions"): what every linker writes, udata4 and a table of sdata4 from the header on. */
static int open_table(struct table *t, const struct carried_image *im)
{
	for (unsigned i = 0; i < im->nph; i++) {
		const Elf64_Phdr *p = &im->ph[i];
		const uint8_t *h;

		if (p->p_type != PT_GNU_EH_FRAME || p->p_filesz < 12)
			continue;
		h = file_at(im, p->p_vaddr, p->p_filesz, ANYWHERE);
		if (!h || h[0] != 1 || h[2] != 0x03 || h[3] != 0x3b)
			return -1;
		t->im = im;
		t->rows = h + 12;
		t->header = p->p_vaddr;
		t->n = (uint32_t)int_at(h + 8);
		return t->n <= (p->p_filesz - 12) / 8 ? 0 : -1;
	}
	return -1;
}

static uint64_t begin(const struct table *t, unsigned i)
{
	return t->header + (uint64_t)(int64_t)int_at(t->rows + 8 * (uint64_t)i);
}

/* Up to the next one, with its padding; 0 where that is no size of a function. */
static uint64_t size(const struct table *t, unsigned i)
{
	uint64_t n = i + 1 < t->n ? begin(t, i + 1) - begin(t, i) : 0;

	return n < 1u << 20 ? n : 0;
}

/* The bytes of its code, as its own description has them (pcrel sdata4, which -fpic and all others get); 0: it tells of another. */
static uint64_t described(const struct table *t, unsigned i)
{
	uint64_t at = t->header + (uint64_t)(int64_t)int_at(t->rows + 8 * (uint64_t)i + 4), n;
	const uint8_t *p = file_at(t->im, at, 16, ANYWHERE);

	if (!p || at + 8 + (uint64_t)(int64_t)int_at(p + 8) != begin(t, i))
		return 0;
	n = (uint32_t)int_at(p + 12);
	return n <= size(t, i) ? n : 0;
}

static int is(const struct table *t, unsigned i, uint64_t least, uint64_t most)
{
	return size(t, i) >= least && size(t, i) <= most;
}

static int name_char(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The length of a public function's name at an address, 0: none. */
static unsigned name_at(const struct carried_image *im, uint64_t addr, const uint8_t **name)
{
	static const char cuda[] = "cuda";
	const uint8_t *p = file_at(im, addr, NAME_MAX_BYTES, TEXT);
	unsigned from = 0, n;

	if (!p)
		return 0;
	if (p[0] == '_' && p[1] == '_')
		from = 2;
	for (n = 0; n < 4; n++)
		if (p[from + n] != (uint8_t)cuda[n])
			return 0;
	if (p[from + 4] < 'A' || p[from + 4] > 'Z')
		return 0;
	for (n = from + 4; n < NAME_MAX_BYTES && name_char(p[n]); n++)
		;
	*name = p;
	return n < NAME_MAX_BYTES && !p[n] ? n : 0;
}

/* The one name that a function has at hand; 0: none, or several. */
static unsigned name_of(const struct table *t, unsigned i, const uint8_t **name)
{
	uint64_t addr = begin(t, i), bytes = size(t, i);
	const uint8_t *p = bytes ? file_at(t->im, addr, bytes, CODE) : 0, *one;
	unsigned found = 0, n;

	for (uint64_t k = 0; p && k + 7 <= bytes; k++) {
		/* lea disp32(%rip),%r64 */
		if ((p[k] != 0x48 && p[k] != 0x4c) || p[k + 1] != 0x8d || (p[k + 2] & 0xc7) != 0x05)
			continue;
		n = name_at(t->im, addr + k + 7 + (uint64_t)(int64_t)int_at(p + k + 3), &one);
		if (!n)
			continue;
		if (found && *name != one)
			return 0;
		*name = one;
		found = n;
	}
	return found;
}

static int same(const uint8_t *s, unsigned n, const char *want)
{
	unsigned i = 0;

	while (i < n && want[i] && s[i] == (uint8_t)want[i])
		i++;
	return i == n && !want[i];
}

/* Is function i __cudaInitModule, with those before and behind it that have no name at hand? */
static int is_group(const struct table *t, unsigned i)
{
	const uint8_t *name;
	unsigned n;

	return i >= 8 && i + 7 < t->n && is(t, i, 0xc0, 0x100) && is(t, i - 1, 0x60, 0x80) && is(t, i - 2, 0x30, 0x50) &&
	       is(t, i - 3, 0x60, 0x90) && size(t, i - 3) == size(t, i - 4) && is(t, i - 5, 0x20, 0x50) && is(t, i - 6, 0x20, 0x40) &&
	       is(t, i - 7, 0x20, 0x40) && is(t, i - 8, 0x40, 0x70) && is(t, i + 1, 0x80, 0xc0) && is(t, i + 2, 0x90, 0xe0) &&
	       is(t, i + 3, 0x60, 0x140) && is(t, i + 4, 0x10, 0x10) && is(t, i + 5, 0x10, 0x10) && is(t, i + 6, 0x30, 0x60) &&
	       (n = name_of(t, i, &name)) && same(name, n, "__cudaInitModule");
}

static const char *const before[] = {
	"cudaGetExportTable", "__cudaRegisterFatBinary", "__cudaRegisterFatBinaryEnd", "__cudaUnregisterFatBinary", "__cudaRegisterVar",
	"__cudaRegisterManagedVar", "__cudaRegisterHostVar", "__cudaRegisterFunction", "__cudaInitModule", "__cudaPushCallConfiguration",
	"__cudaPopCallConfiguration", "__cudaGetKernel", "__cudaLaunchKernel", "__cudaLaunchKernel_ptsz", "__cudaRegisterUnifiedTable"
};
#define GROUP (sizeof(before) / sizeof(before[0]))

static int add(struct carried *c, const struct table *t, unsigned i, const uint8_t *name, unsigned n, char *names, size_t room, size_t *used)
{
	uint64_t bytes = described(t, i);

	if (c->n == CARRIED_MAX || room - *used < n + 1 || !bytes)
		return -1;
	c->fn[c->n++] = (struct carried_fn){ .addr = begin(t, i), .size = bytes, .room = size(t, i), .name = (uint32_t)*used, .entry = 1 };
	for (unsigned k = 0; k < n; k++)
		names[(*used)++] = (char)name[k];
	names[(*used)++] = 0;
	c->entries++;
	return 0;
}

static int twice(const struct carried *c, const char *names)
{
	for (unsigned i = 0; i < c->n; i++)
		for (unsigned k = i + 1; k < c->n; k++) {
			const char *a = names + c->fn[i].name, *b = names + c->fn[k].name;

			while (*a && *a == *b) {
				a++;
				b++;
			}
			if (*a == *b)
				return 1;
		}
	return 0;
}

/* From the group on: the run, and all of it. */
static int take(struct carried *c, const struct table *t, unsigned group, char *names, size_t room)
{
	const uint8_t *name = 0;
	unsigned i = group + 7, n, from, end = t->n - i > FAR ? i + FAR : t->n;
	size_t used = 0;

	c->n = c->entries = 0;
	for (unsigned k = 0; k < GROUP; k++) {
		for (n = 0; before[k][n]; n++)
			;
		if (add(c, t, group - 8 + k, (const uint8_t *)before[k], n, names, room, &used))
			return -1;
	}
	for (from = i; i < end; from = i) {
		while (i < t->n && name_of(t, i, &name))
			i++;
		if (i - from >= CARRIED_LEAST)
			break;
		i++;
	}
	if (i - from < CARRIED_LEAST)
		return -1;
	for (unsigned k = from; k < i; k++) {
		n = name_of(t, k, &name);
		if (add(c, t, k, name, n, names, room, &used))
			return -1;
	}
	return twice(c, names);
}

int carried_stripped(struct carried *c, const struct carried_image *im, char *names, size_t room)
{
	struct table t;

	c->n = c->entries = c->major = 0;
	if (open_table(&t, im))
		return -1;
	for (unsigned i = 8; i + 7 < t.n; i++)
		if (is_group(&t, i)) {
			if (!take(c, &t, i, names, room)) {
				carried_tell(c, names, room);
				return 0;
			}
			c->n = c->entries = 0;
			return -1;
		}
	return -1;
}

/*
 * Undefined symbols that every version of it needs and few others have together. They stand before those that the hash table
 * holds; a table of the old kind counts all.
 */
int carried_imports(const Elf64_Sym *sym, size_t n, const char *str, size_t bytes)
{
	static const char *const needs[] = { "nftw", "get_nprocs", "sem_timedwait", "dlsym" };
	unsigned seen = 0;

	for (size_t i = 1; i < n; i++) {
		if (sym[i].st_shndx != SHN_UNDEF || sym[i].st_name >= bytes)
			continue;
		for (unsigned k = 0; k < 4; k++) {
			const char *a = str + sym[i].st_name, *b = needs[k];

			while (*b && *a == *b) {
				a++;
				b++;
			}
			if (!*a && !*b)
				seen |= 1u << k;
		}
	}
	return seen == 15;
}
