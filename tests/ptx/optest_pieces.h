/* SPDX-License-Identifier: MIT */
/*
 * optest -m cuda: a piece of work (pool.h) is a form, or all matrix instructions of a kind. Included by optest.c only.
 */
#ifndef TESTS_PTX_OPTEST_PIECES_H
#define TESTS_PTX_OPTEST_PIECES_H

enum { PIECE_TENSOR, PIECE_WMMA, PIECE_FORMS };
enum { SUM_COMPARED, SUM_MISMATCHES, SUM_KNOWN };

static char **forms;
static const char *test_folder;
static unsigned nforms, forms_alone;     /* named ones, and no matrices */

static double piece_limit(unsigned i) { return i < PIECE_FORMS ? 90 : 30; }

static int piece_begin(void)
{
	if (rig_open(&rig, 1, 9, 0))
		return -1;
	input = rig_alloc(&rig, LANES * AREA);
	output = rig_alloc(&rig, LANES * AREA);
	return input && output ? 0 : -1;
}

/* How many values of a form hardware is known to have otherwise, and why: tests/ptx/hardware.txt. */
static unsigned known_on_hardware(const char *form, char *why, size_t n)
{
	char line[512];
	size_t len = strlen(form);
	unsigned count = 0;
	FILE *f;

	snprintf(line, sizeof(line), "%s/hardware.txt", test_folder);
	f = fopen(line, "r");
	while (f && !count && fgets(line, sizeof(line), f))
		if (!strncmp(line, form, len) && !strncmp(line + len, " | ", 3)) {
			char *end;

			count = (unsigned)strtoul(line + len + 3, &end, 10);
			snprintf(why, n, "%.*s", (int)strcspn(end, "\n"), end);
		}
	if (f)
		fclose(f);
	return count;
}

static int piece_work(unsigned i)
{
	char why[512] = "";
	int rc = POOL_OK;

	mismatches = compared_results = 0;
	skipped = 0;
	if (i < PIECE_FORMS && forms_alone)
		return POOL_OK;
	if (i == PIECE_TENSOR)
		mismatches += check_tensor(&rig);
	else if (i == PIECE_WMMA)
		mismatches += check_wmma(&rig);
	else if (!run_form(forms[i - PIECE_FORMS]))
		rc = skipped ? POOL_SKIP : POOL_BAD;
	if (mismatches && i >= PIECE_FORMS && mismatches <= known_on_hardware(forms[i - PIECE_FORMS], why, sizeof(why))) {
		printf("known %s: %u mismatches of %u results%s\n", forms[i - PIECE_FORMS], mismatches, compared_results, why);
		pool_add(SUM_KNOWN, mismatches);
		mismatches = 0;
	}
	rc = mismatches ? POOL_BAD : rc;
	if (mismatches)
		printf("FAIL %s: %u mismatches of %u results\n", i < PIECE_FORMS ? i ? "wmma" : "tensor" : forms[i - PIECE_FORMS], mismatches,
		       compared_results);
	pool_add(SUM_COMPARED, compared_results);
	pool_add(SUM_MISMATCHES, mismatches);
	RIG_FLUSH();
	return rc | (rig_died(&rig) || i < PIECE_FORMS ? POOL_SPOILT : 0);
}

static void piece_died(unsigned i, const char *how)
{
	printf("FAIL %s: the test %s\n", i < PIECE_FORMS ? i ? "wmma" : "tensor" : forms[i - PIECE_FORMS], how);
	RIG_FLUSH();
}

static int run_pieces(unsigned jobs)
{
	unsigned bad = 0, skips = 0, n = PIECE_FORMS + nforms;

	if (pool_run(n, jobs, piece_limit, piece_begin, piece_work, piece_died))
		return 1;
	for (unsigned i = 0; i < n; i++) {
		skips += pool->result[i] == POOL_SKIP;
		bad += pool->result[i] == POOL_BAD;
	}
	printf("optest: %u forms%s, %u skipped, %llu results compared, %llu mismatches in %u, %llu known ones\n", nforms, forms_alone ? "" : " and matrices", skips,
	       (unsigned long long)pool->sum[SUM_COMPARED], (unsigned long long)pool->sum[SUM_MISMATCHES], bad, (unsigned long long)pool->sum[SUM_KNOWN]);
	return bad != 0 || skips >= nforms;
}

static int add_form(const char *form)
{
	if (!(nforms & (nforms - 1))) {
		char **grown = realloc(forms, (nforms ? 2 * nforms : 1) * sizeof(*forms));

		if (!grown)
			return -1;
		forms = grown;
	}
	forms[nforms] = strdup(form);
	return forms[nforms++] ? 0 : -1;
}

#endif
