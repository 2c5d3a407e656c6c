/* SPDX-License-Identifier: MIT */
/*
 * vgpu run --leak-check: device memory that a program never freed, and where it was allocated. The library has written what came
 * and went (libcuda-lite/core/leaks.c); names of functions are looked up here, in the symbol tables of the files.
 */
#define _GNU_SOURCE
#include "leaks.h"
#include "elf.h"
#include "vgpu.h"
#include "../vgpu-stub/cpu/demangle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_SYMBOLS (16u << 20)

struct live { int pid; unsigned long long va, bytes; char *frames; };

int leaks_open(char *path, size_t room)
{
	const char *base = getenv("TMPDIR");
	int fd;

	if (!base || !*base || strlen(base) + 32 > room)
		base = "/tmp";
	snprintf(path, room, "%s/vgpu-leaks-XXXXXX", base);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0) {
		complain("cannot make a file in %s: %s", base, strerror(errno));
		*path = 0;
		return -1;
	}
	close(fd);
	return setenv("VGPU_LEAK_LOG", path, 1);
}

/* Where a byte of the file is in memory, before it is moved. 0: nowhere. */
static uint64_t address_of(const struct elf *e, uint64_t offset)
{
	for (unsigned i = 0; i < e->nph; i++)
		if (e->ph[i].p_type == PT_LOAD && offset >= e->ph[i].p_offset && offset - e->ph[i].p_offset < e->ph[i].p_filesz)
			return e->ph[i].p_vaddr + (offset - e->ph[i].p_offset);
	return 0;
}

/* The function that a table of symbols has for the address. */
static int in_table(const struct elf *e, const Elf64_Shdr *tab, uint64_t at, char *name, size_t room, uint64_t *start)
{
	uint64_t n = tab->sh_size / sizeof(Elf64_Sym);
	const Elf64_Shdr *str = tab->sh_link < e->nsh ? &e->sh[tab->sh_link] : NULL;
	Elf64_Sym *s = str && n <= MAX_SYMBOLS ? malloc(n * sizeof(*s)) : NULL;
	int found = 0;

	if (s && !elf_read(e, tab->sh_offset, s, n * sizeof(*s)))
		for (uint64_t i = 0; i < n && !found; i++) {
			size_t k = room - 1;

			if (ELF64_ST_TYPE(s[i].st_info) != STT_FUNC || at < s[i].st_value || at - s[i].st_value >= s[i].st_size ||
			    s[i].st_name >= str->sh_size)
				continue;
			if (k > str->sh_size - s[i].st_name)
				k = str->sh_size - s[i].st_name;
			if (elf_read(e, str->sh_offset + s[i].st_name, name, k))
				continue;
			name[k] = 0;
			*start = s[i].st_value;
			found = 1;
		}
	free(s);
	return found;
}

struct where {
	const char *file;
	char name[1024];                /* "": none is known */
	uint64_t at, start;
};

/* The frame is cut at its plus. */
static void resolve(char *frame, struct where *w)
{
	char *plus = strrchr(frame, '+');
	struct elf e;
	int found = 0;

	w->file = frame;
	w->at = plus ? strtoull(plus + 1, NULL, 16) : 0;
	w->name[0] = 0;
	if (plus)
		*plus = 0;
	if (*frame != '/' || elf_open(&e, frame))
		return;
	if (e.bits == 64 && address_of(&e, w->at)) {
		w->at = address_of(&e, w->at);
		for (unsigned i = 0; i < e.nsh && !found; i++)
			if (e.sh[i].sh_type == SHT_SYMTAB || e.sh[i].sh_type == SHT_DYNSYM)
				found = in_table(&e, &e.sh[i], w->at, w->name, sizeof(w->name), &w->start);
	}
	if (!found)
		w->name[0] = 0;
	elf_close(&e);
}

static void say_frame(FILE *to, const struct where *w, int mangled)
{
	char shown[4096];

	if (!w->name[0]) {
		fprintf(to, "=========     Host Frame:  [0x%llx] in %s\n", (unsigned long long)w->at, w->file);
		return;
	}
	if (mangled)
		snprintf(shown, sizeof(shown), "%s", w->name);
	else
		demangle(w->name, DEMANGLE_FULL, shown, sizeof(shown));
	fprintf(to, "=========     Host Frame: %s+0x%llx [0x%llx] in %s\n", shown, (unsigned long long)(w->at - w->start),
		(unsigned long long)w->at, w->file);
}

/* Is it code of ours that allocates for its caller: in a library, or inside of the program? */
static int is_ours(const struct where *w)
{
	static const char *const files[] = { "libcuda.so", "libcudart.so" }, *const names[] = { "vg_leak_alloc", "cuMem", "cudaM" };
	const char *slash = strrchr(w->file, '/');

	for (size_t i = 0; slash && i < sizeof(files) / sizeof(files[0]); i++)
		if (!strncmp(slash + 1, files[i], strlen(files[i])))
			return 1;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(w->name, names[i], strlen(names[i])))
			return 1;
	return 0;
}

int leaks_frames(FILE *to, char *frames, int mangled)
{
	struct where w;
	int outside = 0;
	char *save = NULL;

	for (char *f = strtok_r(frames, "\t", &save); f; f = strtok_r(NULL, "\t", &save)) {
		resolve(f, &w);
		outside |= !is_ours(&w);
		if (outside)
			say_frame(to, &w, mangled);
	}
	return outside;
}

static void say_leak(FILE *to, struct live *l, int mangled)
{
	fprintf(to, "========= Leaked %llu bytes at 0x%llx\n=========     Saved host backtrace up to driver entry point at allocation time\n",
		l->bytes, l->va);
	if (!leaks_frames(to, l->frames, mangled))
		fputs("=========     Host Frame: not known (the program is static)\n", to);
	fputs("=========\n", to);
}

unsigned long long leaks_report(const char *path, FILE *to, int mangled)
{
	FILE *f = fopen(path, "re");
	struct live *l = NULL, *more;
	unsigned long long va, bytes, all = 0;
	size_t n = 0, room = 0, line_room = 0, count = 0;
	char *line = NULL;
	int pid, at;

	while (f && getline(&line, &line_room, f) > 0) {
		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "A\t%d\t%llx\t%llx%n", &pid, &va, &bytes, &at) == 3) {
			if (n == room) {
				room = room ? 2 * room : 256;
				more = realloc(l, room * sizeof(*l));
				if (!more)
					break;
				l = more;
			}
			l[n++] = (struct live){ pid, va, bytes, strdup(line + at) };
		} else if (sscanf(line, "F\t%d\t%llx", &pid, &va) == 2) {
			/* the latest there: contexts end with what is in them, and addresses come again */
			for (size_t i = n; i-- > 0;)
				if (l[i].pid == pid && l[i].va == va) {
					free(l[i].frames);
					memmove(l + i, l + i + 1, (--n - i) * sizeof(*l));
					break;
				}
		}
	}
	free(line);
	for (size_t i = 0; i < n; i++) {
		if (l[i].frames)
			say_leak(to, &l[i], mangled);
		all += l[i].bytes;
		count++;
		free(l[i].frames);
	}
	free(l);
	fprintf(to, "========= LEAK SUMMARY: %llu bytes leaked in %zu allocation%s\n", all, count, count == 1 ? "" : "s");
	if (f)
		fclose(f);
	unlink(path);
	return count;
}
