/* SPDX-License-Identifier: MIT */
/* vgpu cc: what clang 14's PTX is mended by before anybody compiles it. cc.c calls it once a file. */
#define _GNU_SOURCE
#include "cc.h"
#include "vgpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Quotients of 128 bits, which clang calls by name (cuda_lite_wide.h): they stand in every program, and go where nothing calls them. */
static const char *const wide[] = { "__udivti3", "__umodti3", "__divti3", "__modti3" };
#define WIDE (sizeof(wide) / sizeof(wide[0]))

/* Which of them the line begins, as ".func (...) NAME(" or, declared, ".func (...) NAME"; WIDE: none. */
static size_t begins(const char *line)
{
	const char *name = strncmp(line, ".func ", 6) ? NULL : strrchr(line, ')');

	for (size_t i = 0; name && i < WIDE; i++) {
		size_t n = strlen(wide[i]);

		if (!strncmp(name, ") ", 2) && !strncmp(name + 2, wide[i], n) && (name[n + 2] == '(' || name[n + 2] == '\n'))
			return i;
	}
	return WIDE;
}

/* A call names what is called on a line of its own. With debug information, which names the functions once more, all stay. */
static void find_calls(FILE *in, int *called)
{
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, in) > 0)
		for (size_t i = 0; i < WIDE; i++) {
			const char *at = line + strspn(line, " \t");
			size_t n = strlen(wide[i]);

			called[i] |= (!strncmp(at, wide[i], n) && at[n] == ',') || strstr(line, ".debug_");
		}
	free(line);
	rewind(in);
}

/*
 * clang 14 takes x >> p & mask of a signed 64-bit number for a field of it, also where bits that are shifted in are asked for ("x < 0 ? 7 : 0" is x >> 63 & 7):
 * its tryBFE() compares with the width of the shift's count, 32. bfe.u64 has zeros there (PTX ISA, bfe), the program wants the sign.
 */
static int mend_field(const char *line, FILE *out)
{
	unsigned to_reg, from, at, bits;

	if (sscanf(line, " bfe.u64 %%rd%u, %%rd%u, %u, %u;", &to_reg, &from, &at, &bits) != 4 || at >= 64 || bits >= 64 || at + bits <= 64)
		return 0;
	fprintf(out, "\tshr.s64 \t%%rd%u, %%rd%u, %u;\n\tand.b64 \t%%rd%u, %%rd%u, %llu;\n", to_reg, from, at, to_reg, to_reg, (1ull << bits) - 1);
	return 1;
}

int cc_mend(const char *ptx)
{
	FILE *in = fopen(ptx, "re"), *out;
	char *to, *line = NULL;
	int st = 1, called[WIDE] = { 0 }, dropped = 0;
	size_t room = 0;

	if (asprintf(&to, "%s.mended", ptx) < 0)
		abort();
	out = fopen(to, "we");
	if (in)
		find_calls(in, called);
	while (in && out && getline(&line, &room, in) > 0) {
		size_t i = begins(line);

		dropped |= i < WIDE && !called[i];
		if (!dropped && !mend_field(line, out))
			fputs(line, out);
		if (dropped && (line[0] == '}' || line[0] == ';'))
			dropped = 0;
	}
	if (in && out)
		st = ferror(in) || ferror(out);
	if (in)
		fclose(in);
	if (out && fclose(out))
		st = 1;
	if (!st && rename(to, ptx))
		st = 1;
	if (st) {
		complain("cannot write %s: %s", to, strerror(errno));
		unlink(to);
	}
	free(line);
	free(to);
	return st;
}
