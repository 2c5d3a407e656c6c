/* SPDX-License-Identifier: MIT */
/*
 * Libraries that open the driver by themselves often keep what they find in variables of the driver's own names: `CUresult (*cuInit)(...)`
 * (cuew, slang-rhi). With libcuda preloaded, such a name means our function to the loader, everywhere, and the library writes its
 * pointer over code. On NVIDIA's systems libcuda is opened after it, and the name is the library's.
 *
 * So it becomes a hidden one, in memory, before anything is relocated: such a name binds to the object itself. Programs come
 * first in the loader's search and need none of this.
 */
#define _GNU_SOURCE
#include "turn.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/syscall.h>

static int is_variable(const ElfW(Sym) *s)
{
	return s && s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) == STT_OBJECT && ELF64_ST_VISIBILITY(s->st_other) == STV_DEFAULT;
}

/* cuX... or cudaX... */
static int is_theirs(const char *s)
{
	if (s[0] != 'c' || s[1] != 'u')
		return 0;
	s += s[2] == 'd' && s[3] == 'a' ? 4 : 2;
	return *s >= 'A' && *s <= 'Z';
}

void own_names(const struct link_map *map)
{
	const uint32_t *hash = NULL, *buckets, *chain;
	const ElfW(Sym) *sym = NULL;
	const char *str = NULL;
	uint32_t last = 0;
	long fd;

	if (!map->l_name || !*map->l_name || (!is_variable(turn_symbol(map, "cuInit")) && !is_variable(turn_symbol(map, "cudaMalloc"))))
		return;
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		uintptr_t at = d->d_un.d_ptr < map->l_addr ? d->d_un.d_ptr + map->l_addr : d->d_un.d_ptr;

		if (d->d_tag == DT_SYMTAB)
			sym = (const void *)at;
		else if (d->d_tag == DT_STRTAB)
			str = (const void *)at;
		else if (d->d_tag == DT_GNU_HASH)
			hash = (const void *)at;
	}
	buckets = hash + 4 + 2 * (size_t)hash[2];
	chain = buckets + hash[0];
	for (uint32_t i = 0; i < hash[0]; i++)
		last = buckets[i] > last ? buckets[i] : last;
	while (!(chain[last - hash[1]] & 1))
		last++;
	fd = sys_call(SYS_open, (long)"/proc/self/mem", O_RDWR | O_CLOEXEC, 0, 0, 0, 0);
	if (turn_is_error(fd))
		return;
	for (uint32_t i = hash[1]; i <= last; i++) {
		unsigned char hidden = (unsigned char)((sym[i].st_other & ~3u) | STV_HIDDEN);

		if (is_variable(&sym[i]) && is_theirs(str + sym[i].st_name))
			sys_call(SYS_pwrite64, fd, (long)&hidden, 1, (long)&sym[i].st_other, 0, 0);
	}
	sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
}
