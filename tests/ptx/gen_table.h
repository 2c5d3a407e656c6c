/* SPDX-License-Identifier: MIT */
/* Random kernels: what the pairs of gen_pair.h covered, as a table; and what they did not. */
#ifndef TESTS_PTX_GEN_TABLE_H
#define TESTS_PTX_GEN_TABLE_H

#include "gen_kernel.h"

static const char *const gen_shape_names[GEN_SHAPES] = { "x of 32s", "one row", "power below 32", "any other" };

/* How the JIT tells blocks apart: each is compiled in its own way. */
static enum gen_shape gen_shape_of(const uint32_t *block)
{
	if (block[0] % 32 == 0)
		return GS_32X;
	if (block[1] * block[2] == 1)
		return GS_ROW;
	return block[0] < 32 && !(block[0] & (block[0] - 1)) ? GS_POWER : GS_ANY;
}

/* The kernel that was made last is launched with such blocks. */
static void gen_table_launch(const uint32_t *block)
{
	for (unsigned i = 0; i < GEN_PLACE_KINDS; i++)
		gen_count.shape[gen_shape_of(block)][i] += gen_count.now[i];
}

static void gen_table_row(const char *name, const unsigned *row, unsigned n)
{
	printf("%16s", name);
	for (unsigned i = 0; i < n; i++)
		printf("%8u", row[i]);
	printf("\n");
}

static void gen_table_head(const char *title, const char *const *names, unsigned n)
{
	printf("\n%16s", title);
	for (unsigned i = 0; i < n; i++)
		printf("%*s", (int)(strlen(names[i]) < 8 ? 8 : strlen(names[i]) + 1), names[i]);
	printf("\n");
}

static void gen_table_print(void)
{
	gen_index_all();
	/* uses as columns, by number */
	for (unsigned b = 0; b < GEN_USES; b++)
		printf("%2u %-10s%s", b, gen_use_names[b], b % 8 == 7 || b == GEN_USES - 1 ? "\n" : "");
	printf("\n%10s", "");
	for (unsigned b = 0; b < GEN_USES; b++)
		printf("%3u", b);
	printf("\n");
	for (unsigned a = 0; a < GEN_FROMS; a++) {
		printf("%10s", gen_from_names[a]);
		for (unsigned b = 0; b < GEN_USES; b++)
			if (gen_index.possible[a][b])
				printf("%3u", gen_count.pair[a][b]);
			else
				printf("  .");
		printf("\n");
	}
	gen_table_head("made", gen_guard_names, GEN_GUARDS);
	for (unsigned a = 0; a < GEN_FROMS; a++)
		gen_table_row(gen_from_names[a], gen_count.make[a], GEN_GUARDS);
	gen_table_head("made", gen_place_names, GEN_PLACE_KINDS);
	for (unsigned a = 0; a < GEN_FROMS; a++)
		gen_table_row(gen_from_names[a], gen_count.make_at[a], GEN_PLACE_KINDS);
	gen_table_head("used", gen_guard_names, GEN_GUARDS);
	for (unsigned b = 0; b < GEN_USES; b++)
		gen_table_row(gen_use_names[b], gen_count.take[b], GEN_GUARDS);
	gen_table_head("used", gen_place_names, GEN_PLACE_KINDS);
	for (unsigned b = 0; b < GEN_USES; b++)
		gen_table_row(gen_use_names[b], gen_count.take_at[b], GEN_PLACE_KINDS);
	gen_table_head("blocks", gen_place_names, GEN_PLACE_KINDS);
	for (unsigned i = 0; i < GEN_SHAPES; i++)
		gen_table_row(gen_shape_names[i], gen_count.shape[i], GEN_PLACE_KINDS);
}

/* Says what is covered. How many pairs are not; places and shapes that had none count as well. */
static unsigned gen_table_missing(void)
{
	unsigned possible = 0, covered = 0, all = 0, missing = 0;

	gen_index_all();
	for (unsigned a = 0; a < GEN_FROMS; a++)
		for (unsigned b = 0; b < GEN_USES; b++) {
			possible += gen_index.possible[a][b];
			covered += gen_count.pair[a][b] != 0;
			all += gen_count.pair[a][b];
			if (gen_index.possible[a][b] && !gen_count.pair[a][b] && missing++ < 20)
				printf("  no pair of %s and %s\n", gen_from_names[a], gen_use_names[b]);
		}
	for (unsigned i = 0; i < GEN_SHAPES; i++)
		for (unsigned k = 0; k < GEN_PLACE_KINDS; k++)
			if (!gen_count.shape[i][k]) {
				printf("  no pair %s in a block of %s\n", gen_place_names[k], gen_shape_names[i]);
				missing++;
			}
	printf("jitdiff: %u of %u pairs of classes, %u pairs\n", covered, possible, all);
	return missing;
}

#endif
