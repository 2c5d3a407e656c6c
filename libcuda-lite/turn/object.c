/* SPDX-License-Identifier: MIT */
/*
 * One object that carries a static cudart: its entry points become jumps to stubs (resolve.c), all of them or none, and
 * its constructors and destructors of that runtime become plain returns. So nothing of NVIDIA's runtime runs.
 *
 *   14 bytes    ff 25 00000000 ADDRESS          jmp *(%rip): where the function has the room, with the padding behind it
 *    5 bytes    e9 OFFSET                       else a jump to such a one, written into the body of the largest function,
 *                                               which nobody runs any more
 *
 * An endbr64 at the entry stays in front: calls through memory may demand it. The text is written through /proc/self/mem,
 * so its pages are never writable; where there is no /proc, it is made writable and not executable while it is changed.
 * Before anything is written, what is in memory is compared with the file that the symbols are from.
 */
#define _GNU_SOURCE
#include "carried.h"
#include "turn.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGE 4096ul
#define JUMP 14u
#define NEAR 5u
#define MAX_SECTIONS 8192u
#define MAX_CHANGES 2048u
#define ISLAND_SKIP 32u                 /* of the body that holds islands: its own entry */

struct change {
	uint64_t addr;                  /* as the file counts */
	uint8_t bytes, new[20], old[20];
};

struct object {
	const char *path;
	const uint8_t *file;            /* mapped whole */
	uint64_t file_bytes;
	uintptr_t base;                 /* added to the file's addresses */
	const Elf64_Phdr *ph;
	unsigned nph;
	const char *str;
	uint64_t str_bytes;
	const char *why;
};

/* One object at a time: the loader calls under its lock. */
static struct carried found;
static char found_names[CARRIED_NAMES];         /* of one without symbols */
static struct change changes[MAX_CHANGES];
static unsigned nchanges;

static const uint8_t landing[4] = { 0xf3, 0x0f, 0x1e, 0xfa };  /* endbr64 */

/* n bytes of code in the file at an address, or NULL. */
static const uint8_t *text_at(const struct object *o, uint64_t addr, uint64_t n)
{
	for (unsigned i = 0; i < o->nph; i++) {
		const Elf64_Phdr *p = &o->ph[i];

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && addr >= p->p_vaddr && addr - p->p_vaddr < p->p_filesz &&
		    n <= p->p_filesz - (addr - p->p_vaddr) && p->p_offset <= o->file_bytes &&
		    addr - p->p_vaddr + n <= o->file_bytes - p->p_offset)
			return o->file + p->p_offset + (addr - p->p_vaddr);
	}
	return NULL;
}

static int is_filler(uint8_t c)
{
	static const uint8_t filler[] = { 0x00, 0x0f, 0x1f, 0x2e, 0x40, 0x44, 0x66, 0x80, 0x84, 0x90, 0xcc };

	for (size_t i = 0; i < sizeof(filler); i++)
		if (c == filler[i])
			return 1;
	return 0;
}

/* Bytes from f's entry that may be written, up to `most`: its own, and padding (nops, int3) behind it. */
static uint64_t room_of(const struct object *o, const struct carried_fn *f, uint64_t most)
{
	uint64_t n = f->size < f->room ? f->size : f->room;
	const uint8_t *p;

	for (; n < most && n < f->room; n++) {
		p = text_at(o, f->addr + n, 1);
		if (!p || !is_filler(*p))
			break;
	}
	return n < most ? n : most;
}

static struct change *change(struct object *o, uint64_t addr)
{
	if (nchanges == MAX_CHANGES) {
		o->why = "too many functions";
		return NULL;
	}
	changes[nchanges] = (struct change){ .addr = addr };
	return &changes[nchanges++];
}

static void put(struct change *c, const void *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		c->new[c->bytes++] = ((const uint8_t *)p)[i];
}

static void put_jump(struct change *c, const void *to)
{
	static const uint8_t jmp[] = { 0xff, 0x25, 0, 0, 0, 0 };
	uint64_t address = (uint64_t)(uintptr_t)to;

	put(c, jmp, sizeof(jmp));
	put(c, &address, sizeof(address));
}

static int has_landing(const struct object *o, uint64_t addr)
{
	const uint8_t *p = text_at(o, addr, sizeof(landing));

	return p && !memcmp(p, landing, sizeof(landing));
}

/* One entry point. islands: where the next 14 bytes for such a jump are, up to islands_end. */
static int turn_entry(struct object *o, const struct carried_fn *f, uint64_t *islands, uint64_t islands_end)
{
	unsigned skip = has_landing(o, f->addr) ? sizeof(landing) : 0;
	const char *name = o->str + f->name;
	void *to = turn_stub(found.major, name);
	struct change *c = change(o, f->addr), *island;
	uint64_t room;
	int64_t offset;
	int32_t near;

	if (!c)
		return -1;
	o->why = !to ? "too many names" : f->indirect ? "an indirect function" : !f->room ? "two names for one function" : NULL;
	if (o->why)
		return -1;
	if (skip)
		put(c, landing, skip);
	room = room_of(o, f, skip + JUMP);
	if (room == skip + JUMP) {
		put_jump(c, to);
		return 0;
	}
	if (room < skip + NEAR || islands_end - *islands < JUMP) {
		o->why = "a function is too short for a jump";
		return -1;
	}
	offset = (int64_t)(*islands - (f->addr + skip + NEAR));
	near = (int32_t)offset;
	if (near != offset) {
		o->why = "its code is too far apart";
		return -1;
	}
	put(c, "\xe9", 1);
	put(c, &near, sizeof(near));
	island = change(o, *islands);
	if (!island)
		return -1;
	put_jump(island, to);
	*islands += JUMP;
	return 0;
}

/* A function of the runtime that the loader would call: it returns at once. */
static int silence(struct object *o, uint64_t addr)
{
	const struct carried_fn *f = carried_at(&found, addr);
	struct change *c;

	if (!f || !f->marker)
		return 0;
	c = change(o, addr);
	if (!c)
		return -1;
	if (has_landing(o, addr))
		put(c, landing, sizeof(landing));
	put(c, "\xc3", 1);
	return 0;
}

/* The constructors and destructors of the object that are the runtime's. Nothing is relocated yet. */
static int silence_all(struct object *o, const struct link_map *map)
{
	uint64_t array[3] = { 0 }, bytes[3] = { 0 }, rela = 0, rela_bytes = 0, own[2] = { 0 };

	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		uint64_t v = d->d_un.d_val;

		switch (d->d_tag) {
		case DT_PREINIT_ARRAY: array[0] = v; break;
		case DT_PREINIT_ARRAYSZ: bytes[0] = v; break;
		case DT_INIT_ARRAY: array[1] = v; break;
		case DT_INIT_ARRAYSZ: bytes[1] = v; break;
		case DT_FINI_ARRAY: array[2] = v; break;
		case DT_FINI_ARRAYSZ: bytes[2] = v; break;
		case DT_RELA: rela = v; break;
		case DT_RELASZ: rela_bytes = v; break;
		case DT_INIT: own[0] = v; break;
		case DT_FINI: own[1] = v; break;
		}
	}
	/* the loader may have added the base to this one already */
	if (rela && rela < o->base)
		rela += o->base;
	for (int i = 0; i < 2; i++)
		if (own[i] && silence(o, own[i]))
			return -1;
	for (int i = 0; i < 3; i++) {
		for (uint64_t k = 0; k + 8 <= bytes[i]; k += 8) {
			/* without relocations, or with packed ones (DT_RELR), the value is in place */
			if (silence(o, *(const uint64_t *)(o->base + array[i] + k)))
				return -1;
		}
	}
	for (uint64_t k = 0; rela && k + sizeof(Elf64_Rela) <= rela_bytes; k += sizeof(Elf64_Rela)) {
		const Elf64_Rela *r = (const Elf64_Rela *)(rela + k);

		if (ELF64_R_TYPE(r->r_info) != R_X86_64_RELATIVE)
			continue;
		for (int i = 0; i < 3; i++)
			if (r->r_offset >= array[i] && r->r_offset - array[i] < bytes[i] && silence(o, (uint64_t)r->r_addend))
				return -1;
	}
	return 0;
}

/* Is the memory what the file says, wherever it will be changed? Keeps it, to be able to go back. */
static int compare(struct object *o)
{
	for (unsigned i = 0; i < nchanges; i++) {
		struct change *c = &changes[i];
		const uint8_t *p = text_at(o, c->addr, c->bytes);

		if (!p || memcmp(p, (const void *)(o->base + c->addr), c->bytes)) {
			o->why = p ? "its file was replaced" : "its symbols are damaged";
			return -1;
		}
		memcpy(c->old, p, c->bytes);
	}
	return 0;
}

static int write_mem(long fd, uintptr_t to, const void *from, size_t n)
{
	return sys_call(SYS_pwrite64, fd, (long)from, (long)n, (long)to, 0, 0) == (long)n ? 0 : -1;
}

/* Without /proc: never writable and executable at once. Nobody runs this object's code yet. */
static int write_text(uintptr_t to, const void *from, size_t n)
{
	uintptr_t page = to & ~(PAGE - 1), bytes = ((to + n - page) + PAGE - 1) & ~(PAGE - 1);

	if (turn_is_error(sys_call(SYS_mprotect, (long)page, (long)bytes, PROT_READ | PROT_WRITE, 0, 0, 0)))
		return -1;
	memcpy((void *)to, from, n);
	return turn_is_error(sys_call(SYS_mprotect, (long)page, (long)bytes, PROT_READ | PROT_EXEC, 0, 0, 0)) ? -1 : 0;
}

static int write_all(struct object *o)
{
	long fd = sys_call(SYS_open, (long)"/proc/self/mem", O_RDWR | O_CLOEXEC, 0, 0, 0, 0);
	unsigned i;

	if (!turn_is_error(fd)) {
		for (i = 0; i < nchanges; i++)
			if (write_mem(fd, o->base + changes[i].addr, changes[i].new, changes[i].bytes))
				break;
		for (unsigned k = i; i < nchanges && k--;)
			write_mem(fd, o->base + changes[k].addr, changes[k].old, changes[k].bytes);
		sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
		if (i == nchanges)
			return 0;
	}
	for (i = 0; i < nchanges; i++)
		if (write_text(o->base + changes[i].addr, changes[i].new, changes[i].bytes))
			break;
	for (unsigned k = i; i < nchanges && k--;)
		write_text(o->base + changes[k].addr, changes[k].old, changes[k].bytes);
	if (i == nchanges)
		return 0;
	o->why = "the kernel lets nobody write to its code";
	return -1;
}

static int turn(struct object *o, const struct link_map *map)
{
	const struct carried_fn *largest = NULL;
	uint64_t islands = 0, end = 0;

	nchanges = 0;
	if (found.major < 11) {
		o->why = found.major ? "it is older than 11" : "its version cannot be told";
		return -1;
	}
	for (unsigned i = 0; i < found.n; i++) {
		const struct carried_fn *f = &found.fn[i];

		if (f->entry && f->size <= f->room && (!largest || f->size > largest->size))
			largest = f;
	}
	if (largest && largest->size > ISLAND_SKIP) {
		islands = largest->addr + ISLAND_SKIP;
		end = largest->addr + largest->size;
	}
	for (unsigned i = 0; i < found.n; i++)
		if (found.fn[i].entry && turn_entry(o, &found.fn[i], &islands, end))
			return -1;
	return silence_all(o, map) || compare(o) || write_all(o) ? -1 : 0;
}

static const Elf64_Shdr *symbols(const struct object *o, const Elf64_Shdr **strings)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)o->file;
	const Elf64_Shdr *sh = (const Elf64_Shdr *)(o->file + h->e_shoff);

	for (unsigned i = 0; i < h->e_shnum; i++) {
		const Elf64_Shdr *s = &sh[i], *t;

		if (s->sh_type != SHT_SYMTAB || s->sh_link >= h->e_shnum)
			continue;
		t = *strings = &sh[s->sh_link];
		if (s->sh_offset <= o->file_bytes && s->sh_size <= o->file_bytes - s->sh_offset && !(s->sh_offset % 8) &&
		    t->sh_offset <= o->file_bytes && t->sh_size && t->sh_size <= o->file_bytes - t->sh_offset &&
		    !o->file[t->sh_offset + t->sh_size - 1])
			return s;
	}
	return NULL;
}

static void look(struct object *o, const struct link_map *map)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)o->file;
	const Elf64_Shdr *str = NULL, *sym = symbols(o, &str);
	char number[2] = { 0 }, ours[2] = { 0 }, setting;

	o->ph = (const Elf64_Phdr *)(o->file + h->e_phoff);
	o->nph = h->e_phnum;
	if (sym) {
		o->str = (const char *)o->file + str->sh_offset;
		o->str_bytes = str->sh_size;
		if (!carried_hint(o->str, o->str_bytes))
			return;
		if (carried_find(&found, (const Elf64_Sym *)(o->file + sym->sh_offset), sym->sh_size / sizeof(Elf64_Sym), o->str, o->str_bytes) ||
		    !found.entries)
			return;
	} else {
		struct carried_image im = { .file = o->file, .bytes = o->file_bytes, .ph = o->ph, .nph = o->nph };

		if (carried_stripped(&found, &im, found_names, sizeof(found_names)))
			return;
		o->str = found_names;
		o->str_bytes = sizeof(found_names);
	}
	setting = turn_setting();
	if (setting == '0')
		return;
	number[0] = (char)('0' + found.major % 10);
	ours[0] = (char)('0' + turn_library(found.major) % 10);
	if (turn(o, map))
		turn_say(o->path, ": NVIDIA's CUDA runtime is inside and cannot be turned over to ours: ", o->why, NULL);
	else if (setting == '1')
		turn_say(o->path, ": the CUDA runtime inside, 1", number, ", is turned over to our libcudart.so.1", ours, NULL);
}

/*
 * Without a symbol table: does it import what the runtime does? Read where it is mapped; l_ld is relocated by then, or not. many: dynamic
 * symbols by the section headers.
 */
static int may_carry(const struct link_map *map, uint64_t many)
{
	uintptr_t sym = 0, str = 0, gnu = 0;
	uint64_t str_bytes = 0;

	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
		uintptr_t v = d->d_un.d_ptr, at = v < map->l_addr ? v + map->l_addr : v;

		switch (d->d_tag) {
		case DT_SYMTAB: sym = at; break;
		case DT_STRTAB: str = at; break;
		case DT_STRSZ: str_bytes = v; break;
		case DT_GNU_HASH: gnu = at; break;
		}
	}
	if (!sym || !str)
		return 0;
	/* the table's second word: the first symbol that is defined, unless none is */
	if (gnu && ((const uint32_t *)gnu)[1] > 1 && ((const uint32_t *)gnu)[1] < many)
		many = ((const uint32_t *)gnu)[1];
	if (str > sym && many > (str - sym) / sizeof(Elf64_Sym))
		many = (str - sym) / sizeof(Elf64_Sym);
	return carried_imports((const Elf64_Sym *)sym, many, (const char *)str, str_bytes);
}

/*
 * Its section headers, to see whether it kept a symbol table: most system libraries did not, and cost no more than this and a look at what
 * they import.
 */
static int worth_a_look(long fd, Elf64_Ehdr *h, const struct link_map *map)
{
	uint64_t dynamic = 0;
	Elf64_Shdr some[16];

	if (sys_call(SYS_pread64, fd, (long)h, sizeof(*h), 0, 0, 0) != sizeof(*h) || memcmp(h->e_ident, ELFMAG, SELFMAG) ||
	    h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_machine != EM_X86_64 || h->e_shentsize != sizeof(Elf64_Shdr) ||
	    h->e_phentsize != sizeof(Elf64_Phdr) || h->e_shoff % 8 || h->e_phoff % 8 || h->e_shnum > MAX_SECTIONS)
		return 0;
	/* backwards: the table is among the last */
	for (unsigned end = h->e_shnum; end;) {
		unsigned n = end < 16 ? end : 16;

		end -= n;
		if (sys_call(SYS_pread64, fd, (long)some, (long)(n * sizeof(*some)), (long)(h->e_shoff + end * sizeof(*some)), 0, 0) !=
		    (long)(n * sizeof(*some)))
			return 0;
		for (unsigned i = 0; i < n; i++)
			if (some[i].sh_type == SHT_SYMTAB)
				return 1;
			else if (some[i].sh_type == SHT_DYNSYM)
				dynamic = some[i].sh_size / sizeof(Elf64_Sym);
	}
	return may_carry(map, dynamic);
}

void turn_object(const struct link_map *map)
{
	static char path[4096];
	struct object o = { .path = map->l_name, .base = map->l_addr };
	Elf64_Ehdr h;
	long fd, size, p;

	/* the program has no name here, and /proc/self/exe may be the loader */
	if (!o.path || !o.path[0]) {
		turn_file_of(map->l_ld, path, sizeof(path));
		o.path = path;
	}
	if (!o.path[0])
		return;
	fd = sys_call(SYS_open, (long)o.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, 0, 0, 0);
	if (turn_is_error(fd))
		return;
	size = sys_call(SYS_lseek, fd, 0, 2 /* SEEK_END */, 0, 0, 0);
	if (size > 0 && worth_a_look(fd, &h, map) && h.e_shoff <= (uint64_t)size &&
	    h.e_shnum * sizeof(Elf64_Shdr) <= (uint64_t)size - h.e_shoff && h.e_phoff <= (uint64_t)size &&
	    h.e_phnum * sizeof(Elf64_Phdr) <= (uint64_t)size - h.e_phoff) {
		p = sys_call(SYS_mmap, 0, size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (!turn_is_error(p)) {
			o.file = (const uint8_t *)p;
			o.file_bytes = (uint64_t)size;
			/* the header again, now from the mapping that counts */
			if (!memcmp(o.file, &h, sizeof(h)))
				look(&o, map);
			sys_call(SYS_munmap, p, size, 0, 0, 0, 0);
		}
	}
	sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
}
