/* SPDX-License-Identifier: MIT */
/* PTX in a cubin's place: see vgpu_cubin.h. */
#include "vgpu_cubin.h"

#include <elf.h>
#include <string.h>

enum { S_NULL, S_NOTE, S_PTX, S_INIT, S_ZERO, S_SYMTAB, S_STRTAB, S_SHSTRTAB, S_COUNT };
static const char section_names[] = "\0.note.vgpu\0.vgpu.ptx\0.nv.global.init\0.nv.global\0.symtab\0.strtab\0.shstrtab";
static const uint32_t name_at[S_COUNT] = { 0, 1, 12, 22, 38, 49, 57, 65 };

struct __attribute__((packed)) note {
	Elf64_Nhdr h;
	char owner[8];
	struct vgpu_cubin_note d;
};
#define NOTE_AT sizeof(Elf64_Ehdr)
#define NOTE_DESC offsetof(struct note, d)
_Static_assert(NOTE_DESC == 20, "what it describes follows its owner's name at once");

/* Where a comment or a string that begins at p ends; p itself where none does. */
static uint64_t skip(const char *t, uint64_t p, uint64_t end)
{
	if (t[p] == '/' && p + 1 < end && t[p + 1] == '/') {
		while (p < end && t[p] != '\n')
			p++;
	} else if (t[p] == '/' && p + 1 < end && t[p + 1] == '*') {
		for (p += 2; p < end && !(t[p] == '*' && p + 1 < end && t[p + 1] == '/'); p++)
			;
		p = p + 2 < end ? p + 2 : end;
	} else if (t[p] == '"') {
		for (p++; p < end && t[p] != '"' && t[p] != '\n'; p++)
			;
		p += p < end;
	}
	return p;
}

static int word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%';
}

/* Behind the directive `name`, from p on: the place of what follows it; `end` where there is none. */
static uint64_t directive(const char *t, uint64_t p, uint64_t end, const char *name)
{
	size_t n = strlen(name);

	while (p < end) {
		uint64_t q = skip(t, p, end);

		if (q != p) {
			p = q;
			continue;
		}
		if (t[p] == '.' && end - p > n && !memcmp(t + p, name, n) && !word(t[p + n]) && t[p + n] != '.') {
			for (p += n; p < end; p = q) {
				q = skip(t, p, end);
				if (q == p && t[p] > ' ')
					break;
				q += q == p;
			}
			return p;
		}
		p++;
	}
	return end;
}

const char *vgpu_cubin_entry(const char *t, uint64_t end, uint64_t *at, uint64_t *name_bytes)
{
	uint64_t p = directive(t, *at, end, ".entry"), q = p;

	while (q < end && word(t[q]))
		q++;
	*at = q;
	*name_bytes = q - p;
	return q > p ? t + p : NULL;
}

unsigned vgpu_cubin_target(const char *t, uint64_t end, char *suffix)
{
	uint64_t p = directive(t, 0, end, ".target");
	unsigned v = 0;

	*suffix = 0;
	if (end - p < 4 || memcmp(t + p, "sm_", 3))
		return 0;
	for (p += 3; p < end && t[p] >= '0' && t[p] <= '9' && v < 1000; p++)
		v = v * 10 + (unsigned)(t[p] - '0');
	if (p < end && (t[p] == 'a' || t[p] == 'f'))
		*suffix = t[p];
	return v;
}

int vgpu_cubin_elf(const void *image, uint64_t room)
{
	Elf64_Ehdr e;

	if (room < sizeof(e))
		return 0;
	memcpy(&e, image, EI_NIDENT);
	if (memcmp(e.e_ident, ELFMAG, SELFMAG) || e.e_ident[EI_CLASS] != ELFCLASS64)
		return 0;
	memcpy(&e, image, sizeof(e));
	return e.e_machine == VGPU_CUBIN_MACHINE;
}

int vgpu_cubin_ours(const void *image, uint64_t room)
{
	struct note n;

	if (!vgpu_cubin_elf(image, room) || room < NOTE_AT + sizeof(n))
		return 0;
	memcpy(&n, (const char *)image + NOTE_AT, sizeof(n));
	return n.h.n_namesz == 5 && !memcmp(n.owner, "vgpu", 5) && n.h.n_type == 1;
}

int vgpu_cubin_read(const void *image, uint64_t room, struct vgpu_cubin *out)
{
	const char *base = image;
	struct note n;

	if (!vgpu_cubin_ours(image, room))
		return -1;
	memcpy(&n, base + NOTE_AT, sizeof(n));
	if (n.h.n_descsz != sizeof(n) - NOTE_DESC || n.d.version != VGPU_CUBIN_VERSION)
		return -1;
	if (n.d.bytes > room || n.d.bytes > VGPU_CUBIN_MAX || n.d.ptx_at < NOTE_AT + sizeof(n) || n.d.ptx_at >= n.d.bytes ||
	    n.d.ptx_bytes >= n.d.bytes - n.d.ptx_at || base[n.d.ptx_at + n.d.ptx_bytes])
		return -1;
	*out = (struct vgpu_cubin){
		.target = n.d.target, .maxrregcount = n.d.maxrregcount, .relocatable = n.d.relocatable, .suffix = n.d.suffix,
		.name = base + NOTE_AT + NOTE_DESC + offsetof(struct vgpu_cubin_note, name),
		.ptx = base + n.d.ptx_at, .ptx_bytes = n.d.ptx_bytes, .bytes = n.d.bytes,
	};
	return memchr(n.d.name, 0, sizeof(n.d.name)) ? 0 : -1;
}

static uint64_t up8(uint64_t v)
{
	return (v + 7) & ~(uint64_t)7;
}

/* Sizes of what is not the text. */
struct sizes {
	uint64_t syms, names, init, zero;
};

/* One symbol more, with its name; syms NULL: only counted. */
static void symbol(struct sizes *z, char *syms, char *names, const char *name, uint64_t bytes, Elf64_Sym y)
{
	if (syms) {
		y.st_name = (uint32_t)z->names;
		memcpy(syms + z->syms * sizeof(y), &y, sizeof(y));
		memcpy(names + z->names, name, bytes);
		names[z->names + bytes] = 0;
	}
	z->syms++;
	z->names += bytes + 1;
}

/* The symbols, and the names behind them, and the values of variables; each NULL: only counted. */
static void symbols(const struct vgpu_cubin *c, char *syms, char *names, char *init, struct sizes *z)
{
	uint64_t at = 0, n, next_bytes = 0;
	const char *s = vgpu_cubin_entry(c->ptx, c->ptx_bytes, &at, &n), *next;

	*z = (struct sizes){ .syms = 1, .names = 1 };
	if (names)
		names[0] = 0;
	for (; s; s = next, n = next_bytes) {
		next = vgpu_cubin_entry(c->ptx, c->ptx_bytes, &at, &next_bytes);
		symbol(z, syms, names, s, n, (Elf64_Sym){ .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = S_PTX,
			.st_value = (uint64_t)(s - c->ptx), .st_size = (uint64_t)((next ? next : c->ptx + c->ptx_bytes) - s) });
	}
	for (uint32_t i = 0; i < c->nvars; i++) {
		const struct vgpu_cubin_var *v = &c->vars[i];
		uint64_t *end = v->init ? &z->init : &z->zero;

		symbol(z, syms, names, v->name, strlen(v->name), (Elf64_Sym){ .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
			.st_shndx = v->init ? S_INIT : S_ZERO, .st_value = *end, .st_size = v->bytes });
		if (v->init && init)
			memcpy(init + *end, v->init, v->bytes);
		*end = up8(*end + v->bytes);
	}
}

uint64_t vgpu_cubin_write(const struct vgpu_cubin *c, void *to, uint64_t room)
{
	uint64_t ptx = NOTE_AT + up8(sizeof(struct note)), init, syms, strs, heads, bytes;
	Elf64_Shdr s[S_COUNT] = { { 0 } };
	struct note n = { .h = { 5, sizeof(n) - NOTE_DESC, 1 }, .owner = "vgpu" };
	struct sizes z;
	char *out = to;
	Elf64_Ehdr e = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT, 0x33, 7 },
		.e_type = c->relocatable ? ET_REL : ET_EXEC, .e_machine = VGPU_CUBIN_MACHINE, .e_version = EV_CURRENT,
		.e_flags = c->target << 16 | 0x500u | (c->target & 0xff), .e_ehsize = sizeof(e),
		.e_shentsize = sizeof(s[0]), .e_shnum = S_COUNT, .e_shstrndx = S_SHSTRTAB,
	};

	if (c->ptx_bytes > VGPU_CUBIN_MAX / 2)
		return 0;
	for (uint32_t i = 0; i < c->nvars; i++)
		if (c->vars[i].init && c->vars[i].bytes > VGPU_CUBIN_MAX / 2)
			return 0;
	symbols(c, NULL, NULL, NULL, &z);
	init = up8(ptx + c->ptx_bytes + 1);
	syms = init + z.init;
	strs = syms + z.syms * sizeof(Elf64_Sym);
	heads = up8(strs + z.names + sizeof(section_names));
	bytes = heads + sizeof(s);
	if (bytes > VGPU_CUBIN_MAX)
		return 0;
	if (bytes > room || !to)
		return bytes;
	memset(out, 0, bytes);
	e.e_shoff = heads;
	memcpy(out, &e, sizeof(e));
	n.d = (struct vgpu_cubin_note){ .version = VGPU_CUBIN_VERSION, .target = c->target, .maxrregcount = c->maxrregcount,
					.relocatable = (uint16_t)c->relocatable, .suffix = c->suffix, .bytes = bytes, .ptx_at = ptx,
					.ptx_bytes = c->ptx_bytes };
	if (c->name) {
		size_t k = strlen(c->name), max = sizeof(n.d.name) - 1;

		memcpy(n.d.name, c->name, k < max ? k : max);
	}
	memcpy(out + NOTE_AT, &n, sizeof(n));
	memcpy(out + ptx, c->ptx, c->ptx_bytes);
	symbols(c, out + syms, out + strs, out + init, &z);
	memcpy(out + strs + z.names, section_names, sizeof(section_names));
	s[S_NOTE] = (Elf64_Shdr){ .sh_type = SHT_NOTE, .sh_offset = NOTE_AT, .sh_size = sizeof(n), .sh_addralign = 4 };
	s[S_PTX] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS, .sh_offset = ptx, .sh_size = c->ptx_bytes + 1, .sh_addralign = 8 };
	s[S_INIT] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_WRITE, .sh_offset = init, .sh_size = z.init, .sh_addralign = 8 };
	s[S_ZERO] = (Elf64_Shdr){ .sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_WRITE, .sh_offset = syms, .sh_size = z.zero, .sh_addralign = 8 };
	s[S_SYMTAB] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB, .sh_offset = syms, .sh_size = strs - syms, .sh_link = S_STRTAB,
				    .sh_info = 1, .sh_addralign = 8, .sh_entsize = sizeof(Elf64_Sym) };
	s[S_STRTAB] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = strs, .sh_size = z.names, .sh_addralign = 1 };
	s[S_SHSTRTAB] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = strs + z.names, .sh_size = sizeof(section_names), .sh_addralign = 1 };
	for (int i = 0; i < S_COUNT; i++)
		s[i].sh_name = name_at[i];
	memcpy(out + heads, s, sizeof(s));
	return bytes;
}
