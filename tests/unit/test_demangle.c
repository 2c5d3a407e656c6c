/* SPDX-License-Identifier: MIT */
/*
 * Names of kernels demangled as binutils' c++filt does it: demangle.txt has names (of ggml-cuda's kernels and their host code, of
 * libstdc++, and some by hand), each with what c++filt 2.40 printed. Then the same names cut and with wrong bytes: nothing is read or
 * written beyond its end (the asan build), and what is no name comes back as it was.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/vgpu-stub/cpu/demangle.h"

static unsigned failed, seed = 1;

static unsigned draw(unsigned n)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 8) % n;
}

static void expect(const char *name, enum demangle how, const char *want)
{
	static char got[65536];

	demangle(name, how, got, sizeof(got));
	if (!strcmp(got, want))
		return;
	failed++;
	printf("FAIL %s\n  want %s\n  got  %s\n", name, want, got);
}

static void torture(const char *name)
{
	static const char letters[] = "_ZNSTIEJPRKFAXLDC0123456789vijlmfabdtpsrc";
	size_t n = strlen(name);
	char *copy, *out;
	int i, k;

	for (i = 0; i < 40; i++) {
		copy = malloc(n + 1);
		out = malloc(512);
		memcpy(copy, name, n + 1);
		for (k = draw(4); k >= 0; k--)
			copy[2 + draw((unsigned)n - 2)] = letters[draw(sizeof(letters) - 1)];
		if (draw(2))
			copy[2 + draw((unsigned)n - 2)] = 0;
		copy = realloc(copy, strlen(copy) + 1);
		if (!demangle(copy, draw(2) ? DEMANGLE_FULL : DEMANGLE_SIMPLE, out, 512) && strncmp(out, copy, 511)) {
			failed++;
			printf("FAIL %s became %s\n", copy, out);
		}
		free(copy);
		free(out);
	}
}

int main(void)
{
	static char name[65536], want[65536];
	FILE *f = fopen("tests/unit/demangle.txt", "r");
	unsigned n = 0;

	if (!f) {
		printf("no tests/unit/demangle.txt: run from the repository\n");
		return 1;
	}
	for (; fgets(name, sizeof(name), f) && fgets(want, sizeof(want), f); n++) {
		name[strcspn(name, "\n")] = want[strcspn(want, "\n")] = 0;
		expect(name, DEMANGLE_FULL, want);
		torture(name);
	}
	fclose(f);
	expect("_Z6vecaddPKfS0_Pfi", DEMANGLE_SIMPLE, "vecadd");
	expect("_ZN3foo3barIiLi5EEEvT_", DEMANGLE_SIMPLE, "foo::bar");
	expect("main", DEMANGLE_FULL, "main");
	expect("_Z", DEMANGLE_FULL, "_Z");
	expect("_ZSt", DEMANGLE_FULL, "_ZSt");
	printf("%u names, %u wrong\n", n, failed);
	return failed || n < 200;
}
