/* SPDX-License-Identifier: MIT */
/*
 * ELF files, distrusted: see elf.h. Invariant: `n <= bytes - offset` is checked as such (no sum of
 * two numbers from the file is formed) before n bytes are read; tables are copied, and each
 * copied string table gets a NUL of its own behind it.
 */
#define _GNU_SOURCE
#include "elf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_PHDRS 512u
#define MAX_SECTIONS 4096u
#define MAX_STRINGS (64u << 20)
#define MAX_SYMBOLS (4u << 20)
#define MAX_VERSIONS 0x8000u
#define MAX_DYNAMIC 4096u
#define MAX_CHAIN 65536u

int elf_read(const struct elf *e, uint64_t offset, void *to, uint64_t n)
{
	uint64_t done = 0;

	if (offset > e->bytes || n > e->bytes - offset)
		return -1;
	if (e->fd < 0) {
		memcpy(to, e->mem + offset, n);
		return 0;
	}
	while (done < n) {
		ssize_t got = pread(e->fd, (char *)to + done, n - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)           /* it shrank under us */
			return -1;
		done += (uint64_t)got;
	}
	return 0;
}

/* A copy of n bytes with a NUL behind it, or NULL. */
static void *copy(const struct elf *e, uint64_t offset, uint64_t n, uint64_t max)
{
	char *p;

	if (n > max || offset > e->bytes || n > e->bytes - offset)
		return NULL;
	p = malloc(n + 1);
	if (!p)
		return NULL;
	if (elf_read(e, offset, p, n)) {
		free(p);
		return NULL;
	}
	p[n] = 0;
	return p;
}

/* Where in the file the address is, and how many bytes of its segment the file has from there on. */
static int place(const struct elf *e, uint64_t addr, uint64_t *offset, uint64_t *left)
{
	for (unsigned i = 0; i < e->nph; i++) {
		const Elf64_Phdr *p = &e->ph[i];
		uint64_t in;

		if (p->p_type != PT_LOAD || addr < p->p_vaddr || addr - p->p_vaddr >= p->p_filesz)
			continue;
		in = addr - p->p_vaddr;
		if (p->p_offset > e->bytes || in > e->bytes - p->p_offset)
			return -1;
		*offset = p->p_offset + in;
		*left = p->p_filesz - in;
		if (*left > e->bytes - *offset)
			*left = e->bytes - *offset;
		return 0;
	}
	return -1;
}

static int read_at(const struct elf *e, uint64_t addr, void *to, uint64_t n)
{
	uint64_t offset, left;

	if (place(e, addr, &offset, &left) || n > left)
		return -1;
	return elf_read(e, offset, to, n);
}

static const char *string(const struct elf *e, uint64_t at)
{
	return at < e->dynstr_bytes ? e->dynstr + at : NULL;
}

static int read_dynamic(struct elf *e, const Elf64_Phdr *p)
{
	uint64_t n = p->p_filesz / sizeof(Elf64_Dyn), strtab = 0, strsz = 0, offset, left;
	uint64_t needed[ELF_MAX_NEEDED], soname = 0, rpath = 0, runpath = 0;
	unsigned nneeded = 0;
	int has_soname = 0, has_rpath = 0, has_runpath = 0;
	Elf64_Dyn d;

	e->dynamic = 1;
	if (p->p_offset > e->bytes)
		return -EINVAL;
	if (n > MAX_DYNAMIC)
		n = MAX_DYNAMIC;
	for (uint64_t i = 0; i < n; i++) {
		if (elf_read(e, p->p_offset + i * sizeof(d), &d, sizeof(d)))
			return -EINVAL;
		if (d.d_tag == DT_NULL)
			break;
		switch (d.d_tag) {
		case DT_NEEDED:
			if (nneeded < ELF_MAX_NEEDED)
				needed[nneeded++] = d.d_un.d_val;
			break;
		case DT_STRTAB: strtab = d.d_un.d_ptr; break;
		case DT_STRSZ: strsz = d.d_un.d_val; break;
		case DT_SONAME: soname = d.d_un.d_val; has_soname = 1; break;
		case DT_RPATH: rpath = d.d_un.d_val; has_rpath = 1; break;
		case DT_RUNPATH: runpath = d.d_un.d_val; has_runpath = 1; break;
		case DT_SYMTAB: e->symtab = d.d_un.d_ptr; break;
		case DT_HASH: e->hash = d.d_un.d_ptr; break;
		case DT_GNU_HASH: e->gnu_hash = d.d_un.d_ptr; break;
		case DT_VERSYM: e->versym = d.d_un.d_ptr; break;
		case DT_VERNEED: e->verneed = d.d_un.d_ptr; break;
		case DT_VERNEEDNUM: e->verneednum = d.d_un.d_val; break;
		case DT_VERDEF: e->verdef = d.d_un.d_ptr; break;
		case DT_VERDEFNUM: e->verdefnum = d.d_un.d_val; break;
		case DT_FLAGS_1: e->nodeflib = (d.d_un.d_val & DF_1_NODEFLIB) != 0; break;
		}
	}
	if (!strtab || !strsz)
		return nneeded || has_soname ? -EINVAL : 0;
	if (place(e, strtab, &offset, &left) || strsz > left)
		return -EINVAL;
	e->dynstr = copy(e, offset, strsz, MAX_STRINGS);
	if (!e->dynstr)
		return -EINVAL;
	e->dynstr_bytes = strsz;
	for (unsigned i = 0; i < nneeded; i++) {
		const char *s = string(e, needed[i]);

		if (!s)
			return -EINVAL;
		e->needed[e->nneeded++] = s;
	}
	e->soname = has_soname ? string(e, soname) : NULL;
	e->rpath = has_rpath ? string(e, rpath) : NULL;
	e->runpath = has_runpath ? string(e, runpath) : NULL;
	return 0;
}

static void read_sections(struct elf *e, const Elf64_Ehdr *h)
{
	const Elf64_Shdr *s;

	/* Sections are optional, and damaged ones only mean that none is known. */
	if (!h->e_shnum || h->e_shnum > MAX_SECTIONS || h->e_shentsize != sizeof(Elf64_Shdr) ||
	    h->e_shstrndx >= h->e_shnum)
		return;
	e->sh = copy(e, h->e_shoff, h->e_shnum * sizeof(Elf64_Shdr), MAX_STRINGS);
	if (!e->sh)
		return;
	s = &e->sh[h->e_shstrndx];
	e->shstr = copy(e, s->sh_offset, s->sh_size, MAX_STRINGS);
	if (!e->shstr)
		return;
	e->shstr_bytes = s->sh_size;
	e->nsh = h->e_shnum;
}

static int parse(struct elf *e)
{
	Elf64_Ehdr h;
	int err;

	memset(&h, 0, sizeof(h));
	if (elf_read(e, 0, &h, e->bytes < sizeof(h) ? e->bytes : sizeof(h)))
		return -EIO;
	if (e->bytes < EI_NIDENT + 4 || memcmp(h.e_ident, ELFMAG, SELFMAG))
		return -ENOEXEC;
	if (h.e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	e->type = h.e_type;
	e->machine = h.e_machine;
	e->bits = h.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
	if (e->bits != 64)
		return 0;
	if (e->bytes < sizeof(h) || h.e_phnum > MAX_PHDRS ||
	    (h.e_phnum && h.e_phentsize != sizeof(Elf64_Phdr)))
		return -EINVAL;
	e->ph = copy(e, h.e_phoff, h.e_phnum * sizeof(Elf64_Phdr), MAX_STRINGS);
	if (!e->ph)
		return -EINVAL;
	e->nph = h.e_phnum;
	read_sections(e, &h);
	for (unsigned i = 0; i < e->nph; i++) {
		const Elf64_Phdr *p = &e->ph[i];

		if (p->p_type == PT_INTERP && !e->interp) {
			e->interp = copy(e, p->p_offset, p->p_filesz, 4096);
			if (!e->interp)
				return -EINVAL;
		}
		if (p->p_type == PT_DYNAMIC && !e->dynamic) {
			err = read_dynamic(e, p);
			if (err)
				return err;
		}
	}
	return 0;
}

static int finish(struct elf *e)
{
	int err = parse(e);

	if (err)
		elf_close(e);
	return err;
}

int elf_from_memory(struct elf *e, const void *bytes, size_t n)
{
	memset(e, 0, sizeof(*e));
	e->fd = -1;
	e->mem = bytes;
	e->bytes = n;
	return finish(e);
}

int elf_open(struct elf *e, const char *path)
{
	struct stat st;
	int err;

	memset(e, 0, sizeof(*e));
	/* not blocking: the path may be a FIFO */
	e->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (e->fd < 0)
		return -errno;
	if (fstat(e->fd, &st) || !S_ISREG(st.st_mode)) {
		err = S_ISDIR(st.st_mode) ? -EISDIR : -ENOEXEC;
		elf_close(e);
		return err;
	}
	e->bytes = (uint64_t)st.st_size;
	return finish(e);
}

void elf_close(struct elf *e)
{
	if (e->fd >= 0)
		close(e->fd);
	free(e->ph);
	free(e->sh);
	free(e->shstr);
	free(e->interp);
	free(e->dynstr);
	memset(e, 0, sizeof(*e));
	e->fd = -1;
}

const Elf64_Shdr *elf_section(const struct elf *e, const char *name)
{
	for (unsigned i = 1; i < e->nsh; i++)
		if (e->sh[i].sh_name < e->shstr_bytes && !strcmp(e->shstr + e->sh[i].sh_name, name))
			return &e->sh[i];
	return NULL;
}

static int find_in(const struct elf *e, uint64_t at, uint64_t n, const void *what, size_t bytes)
{
	static char window[256 + (1 << 16)];
	size_t kept = 0;

	if (at > e->bytes)
		return 0;
	if (n > e->bytes - at)
		n = e->bytes - at;
	while (n) {
		size_t chunk = n > (1 << 16) ? 1 << 16 : (size_t)n;

		if (elf_read(e, at, window + kept, chunk))
			return 0;
		kept += chunk;
		if (memmem(window, kept, what, bytes))
			return 1;
		/* what may lie across two chunks */
		if (kept >= bytes) {
			memmove(window, window + kept - (bytes - 1), bytes - 1);
			kept = bytes - 1;
		}
		at += chunk;
		n -= chunk;
	}
	return 0;
}

int elf_find(const struct elf *e, const void *what, size_t n)
{
	uint64_t budget = e->bytes;     /* sections and segments of a hostile file overlap at will */

	if (!n || n > 256)
		return 0;
	for (unsigned i = 1; i < e->nsh; i++) {
		const Elf64_Shdr *s = &e->sh[i];

		/* texts and tables lie beside the code, which is the most of many programs */
		if (s->sh_type != SHT_PROGBITS || !(s->sh_flags & SHF_ALLOC) || (s->sh_flags & SHF_EXECINSTR) || s->sh_size > budget ||
		    (s->sh_name < e->shstr_bytes && strstr(e->shstr + s->sh_name, "fatbin")))
			continue;
		budget -= s->sh_size;
		if (find_in(e, s->sh_offset, s->sh_size, what, n))
			return 1;
	}
	for (unsigned i = 0; !e->nsh && i < e->nph; i++) {
		if (e->ph[i].p_type != PT_LOAD || e->ph[i].p_filesz > budget)
			continue;
		budget -= e->ph[i].p_filesz;
		if (find_in(e, e->ph[i].p_offset, e->ph[i].p_filesz, what, n))
			return 1;
	}
	return 0;
}

/* ---- dynamic symbols ---- */

struct version {
	const char *name, *file;
};

/* Fills v[index] from the needed and the defined versions. */
static void read_versions(const struct elf *e, struct version *v)
{
	uint64_t at = e->verneed;
	unsigned budget = MAX_VERSIONS;

	for (uint64_t i = 0; at && i < e->verneednum && budget; i++) {
		Elf64_Verneed n;
		uint64_t aux;

		if (read_at(e, at, &n, sizeof(n)))
			break;
		aux = at + n.vn_aux;
		for (unsigned k = 0; k < n.vn_cnt && budget; k++, budget--) {
			Elf64_Vernaux a;

			if (read_at(e, aux, &a, sizeof(a)))
				break;
			if ((a.vna_other & 0x7fff) > 1) {
				v[a.vna_other & 0x7fff].name = string(e, a.vna_name);
				v[a.vna_other & 0x7fff].file = string(e, n.vn_file);
			}
			if (!a.vna_next)
				break;
			aux += a.vna_next;
		}
		if (!n.vn_next)
			break;
		at += n.vn_next;
		budget -= budget ? 1 : 0;
	}
	at = e->verdef;
	for (uint64_t i = 0; at && i < e->verdefnum && i < MAX_VERSIONS; i++) {
		Elf64_Verdef d;
		Elf64_Verdaux a;

		if (read_at(e, at, &d, sizeof(d)) || read_at(e, at + d.vd_aux, &a, sizeof(a)))
			break;
		if ((d.vd_ndx & 0x7fff) > 1)
			v[d.vd_ndx & 0x7fff].name = string(e, a.vda_name);
		if (!d.vd_next)
			break;
		at += d.vd_next;
	}
}

/* The dynamic section does not say how many symbols there are: the hash tables do. */
static uint64_t count_symbols(const struct elf *e)
{
	uint32_t h[4], last = 0, word;

	if (e->hash && !read_at(e, e->hash, h, 8))
		return h[1];
	if (e->gnu_hash && !read_at(e, e->gnu_hash, h, sizeof(h)) && h[0] && h[0] < MAX_SYMBOLS &&
	    h[2] < MAX_SYMBOLS) {
		uint64_t buckets = e->gnu_hash + 16 + (uint64_t)h[2] * 8, chain = buckets + (uint64_t)h[0] * 4;
		uint64_t offset, left;
		uint32_t *b;

		if (place(e, buckets, &offset, &left) || (uint64_t)h[0] * 4 > left)
			return 0;
		b = copy(e, offset, (uint64_t)h[0] * 4, MAX_STRINGS);
		if (!b)
			return 0;
		for (uint32_t i = 0; i < h[0]; i++)
			last = b[i] > last ? b[i] : last;
		free(b);
		if (last < h[1])        /* nothing exported */
			return h[1];
		for (unsigned i = 0; i < MAX_CHAIN; i++, last++)
			if (read_at(e, chain + (uint64_t)(last - h[1]) * 4, &word, 4) || (word & 1))
				break;
		return (uint64_t)last + 1;
	}
	for (unsigned i = 1; i < e->nsh; i++)
		if (e->sh[i].sh_type == SHT_DYNSYM)
			return e->sh[i].sh_size / sizeof(Elf64_Sym);
	return 0;
}

int elf_symbols(const struct elf *e, int (*each)(void *owner, const struct elf_symbol *s), void *owner)
{
	uint64_t n = count_symbols(e), offset, left, voffset = 0;
	struct version *v;
	int err = -EINVAL, versions;
	Elf64_Sym *sym = NULL;
	uint16_t *vs = NULL;

	if (!n || !e->symtab || !e->dynstr)
		return 0;
	if (n > MAX_SYMBOLS || place(e, e->symtab, &offset, &left) || n * sizeof(*sym) > left)
		return -EINVAL;
	v = calloc(MAX_VERSIONS, sizeof(*v));
	sym = copy(e, offset, n * sizeof(*sym), UINT64_MAX);
	versions = e->versym && !place(e, e->versym, &voffset, &left) && n * 2 <= left;
	if (versions)
		vs = copy(e, voffset, n * 2, UINT64_MAX);
	if (!v || !sym || (versions && !vs))
		goto out;
	read_versions(e, v);
	for (uint64_t i = 1; i < n; i++) {
		unsigned bind = ELF64_ST_BIND(sym[i].st_info), index = vs ? vs[i] & 0x7fffu : 1;
		struct elf_symbol s = { .name = string(e, sym[i].st_name), .version = "" };

		if (!s.name || !*s.name || (bind != STB_GLOBAL && bind != STB_WEAK && bind != STB_GNU_UNIQUE))
			continue;
		s.defined = sym[i].st_shndx != SHN_UNDEF;
		s.weak = bind == STB_WEAK;
		s.hidden = vs && (vs[i] & 0x8000);
		if (index > 1 && v[index].name) {
			s.version = v[index].name;
			s.file = s.defined ? NULL : v[index].file;
		}
		if (each(owner, &s))
			break;
	}
	err = 0;
out:
	free(v);
	free(sym);
	free(vs);
	return err;
}

const char *elf_machine(unsigned machine)
{
	switch (machine) {
	case EM_X86_64: return "x86-64";
	case EM_AARCH64: return "aarch64";
	case EM_386: return "i386";
	case EM_ARM: return "arm";
	case EM_RISCV: return "riscv";
	case EM_PPC64: return "ppc64";
	default: return "unknown machine";
	}
}
