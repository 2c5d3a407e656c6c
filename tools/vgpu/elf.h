/* SPDX-License-Identifier: MIT */
/*
 * A reader of ELF files that vgpu does not trust: nothing is mapped, every read is checked against the file's
 * size, every count has a limit. Used by vgpu doctor; tests/fuzz/fuzz_elf.c feeds it garbage.
 *
 * Only little-endian 64-bit files are read beyond their header: our libraries are nothing else.
 */
#ifndef VGPU_ELF_H
#define VGPU_ELF_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_MAX_NEEDED 256u

struct elf {
	int fd;                         /* or -1: the bytes are at mem */
	const uint8_t *mem;
	uint64_t bytes;
	unsigned bits, machine, type;   /* bits 32: nothing below is valid */
	unsigned nph, nsh;
	Elf64_Phdr *ph;
	Elf64_Shdr *sh;
	char *shstr;                    /* section names, always ends in NUL */
	uint64_t shstr_bytes;
	char *interp;                   /* NULL: none */
	int dynamic, nodeflib;
	char *dynstr;
	uint64_t dynstr_bytes;
	unsigned nneeded;
	const char *needed[ELF_MAX_NEEDED];
	const char *soname, *rpath, *runpath;   /* into dynstr, or NULL */
	uint64_t symtab, versym, verneed, verneednum, verdef, verdefnum, hash, gnu_hash; /* addresses; 0: none */
};

/* 0; -ENOEXEC: not ELF; -EINVAL: damaged; or why it cannot be read. Closed already when not 0. */
int elf_open(struct elf *e, const char *path);
int elf_from_memory(struct elf *e, const void *bytes, size_t n);
void elf_close(struct elf *e);

/* Exactly n bytes at a file offset, or -1. */
int elf_read(const struct elf *e, uint64_t offset, void *to, uint64_t n);
const Elf64_Shdr *elf_section(const struct elf *e, const char *name);
/* Does it occur in what the program can read at run time? GPU code (.nv_fatbin) is left out. At most 256 bytes. */
int elf_find(const struct elf *e, const void *what, size_t n);

struct elf_symbol {
	const char *name, *version;     /* version "": none */
	const char *file;               /* undefined ones: library that shall have the version, or NULL */
	int defined, weak, hidden;      /* hidden: not the default version */
};
/* Calls each() for the dynamic symbols until it answers non-zero; 0, or -EINVAL where the tables are damaged. */
int elf_symbols(const struct elf *e, int (*each)(void *owner, const struct elf_symbol *s), void *owner);

const char *elf_machine(unsigned machine);

#endif
