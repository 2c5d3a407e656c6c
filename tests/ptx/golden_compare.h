/* SPDX-License-Identifier: MIT */
/*
 * Files of golden.c: lines written and read, and what may differ. Included by golden.c only.
 */
#ifndef TESTS_PTX_GOLDEN_COMPARE_H
#define TESTS_PTX_GOLDEN_COMPARE_H

static uint64_t input_hash(const struct gform *f, unsigned rows)
{
	uint64_t *in = calloc(rows, SLOTS * 8), h;

	make_inputs(f, rows, in);
	h = hash_of(in, (size_t)rows * SLOTS * 8, 0xcbf29ce484222325ull);
	free(in);
	return h;
}

static void write_line(FILE *f, const struct gform *g, int ok, const uint64_t *out, const char *why)
{
	unsigned rows = rows_of(g), outs = (unsigned)strlen(g->out), n = rows * outs;

	if (!ok) {
		fprintf(f, "%s | - | %.300s\n", g->text, why);
		return;
	}
	fprintf(f, "%s | %u %08x |", g->text, rows, (unsigned)input_hash(g, rows));
	for (unsigned i = 0; i < n;) {
		uint64_t v = out[i / outs * OUTS + i % outs];
		unsigned same = 1;

		while (i + same < n && out[(i + same) / outs * OUTS + (i + same) % outs] == v)
			same++;
		fprintf(f, same > 1 ? " %llx*%u" : " %llx", (unsigned long long)v, same);
		i += same;
	}
	fprintf(f, "\n");
}

/* Values of a line, row by row; how many, 0: none. */
static unsigned read_values(const char *p, uint64_t *out, unsigned most)
{
	unsigned n = 0;
	char *end;

	for (; *p == ' '; p = end) {
		uint64_t v = strtoull(p + 1, &end, 16);
		unsigned long same = *end == '*' ? strtoul(end + 1, &end, 10) : 1;

		if (end == p + 1)
			break;
		while (same-- && n < most)
			out[n++] = v;
	}
	return n;
}

static double as_double(char t, uint64_t v)
{
	unsigned e, m;
	double x;
	uint64_t exp, man;

	format_of(t, &e, &m);
	exp = v >> m & ((1ull << e) - 1);
	man = v & ((1ull << m) - 1);
	if (exp == (1ull << e) - 1)
		x = man ? NAN : INFINITY;
	else
		x = ldexp((double)(man + (exp ? 1ull << m : 0)), (int)(exp ? exp : 1) - (int)((1u << (e - 1)) - 1) - (int)m);
	return v >> (e + m) & 1 ? -x : x;
}

/* In units of the last place, as the numbers lie on a line. */
static double distance(char t, uint64_t a, uint64_t b)
{
	unsigned e, m;
	uint64_t sign;
	int64_t x, y;

	format_of(t, &e, &m);
	sign = 1ull << (e + m);
	x = (int64_t)(a & (sign - 1)) * (a & sign ? -1 : 1);
	y = (int64_t)(b & (sign - 1)) * (b & sign ? -1 : 1);
	return fabs((double)x - (double)y);
}

/*
 * What a sum of products may be as large as, in the warp of a row: k products of the largest factors and the largest addend. Engine and
 * hardware add in other orders and round at other places: the bound of a form is in units of this.
 */
static double sum_of_most(const struct gform *g, const uint64_t *in, unsigned row)
{
	double most[3] = { 0 };
	const char *k = strstr(g->text, "k");

	while (k && !(k[1] >= '0' && k[1] <= '9'))
		k = strstr(k + 1, "k");
	for (unsigned r = row & ~31u; r < (row & ~31u) + 32; r++) {
		unsigned at = 0, which = 0;

		for (const char *t = g->in; *t; t++) {
			unsigned e, m, parts = strchr("xy", *t) ? 2 : strchr("qv", *t) ? 4 : 1, width;

			if (*t == '|') {
				which++;
				continue;
			}
			format_of(*t, &e, &m);
			width = *t == 'd' ? 64 : 32 / parts;
			for (unsigned i = 0; i < parts; i++) {
				uint64_t v = in[r * SLOTS + at] >> (i * width % 64) >> (*t == 't' ? 13 : 0);
				double x = fabs(as_double(*t, v & (width == 64 ? ~0ull : (1ull << (e + m + 1)) - 1)));

				if (isfinite(x))
					most[which] = fmax(most[which], x);
			}
			at++;
		}
	}
	return most[0] * most[1] * (k ? strtod(k + 1, NULL) : 1) + most[2];
}

static double sum_most, sum_worst;      /* of this row; of the form, in units of sums */

/* A scalar result against the hardware's. */
static int differs(const struct gform *g, char t, uint64_t got, uint64_t want, double operand, double *ulp)
{
	double x, y;
	unsigned e, m;

	if (got == want)
		return 0;
	if (g->how == G_EXACT)
		return 1;
	x = as_double(t, got);
	y = as_double(t, want);
	format_of(t, &e, &m);
	if (g->how == G_SINE && fabs(operand) > 314 && isfinite(operand))
		return !(fabs(x) <= 1 && fabs(y) <= 1);         /* the ISA names a bound up to 100 pi */
	if (g->how == G_SUM && isfinite(x) && isfinite(y)) {
		sum_worst = fmax(sum_worst, fabs(x - y) / sum_most);
		return fabs(x - y) > g->bound * sum_most;
	}
	if ((g->how == G_SINE || g->how == G_ABS) && fabs(x - y) <= g->bound)
		return 0;
	if (g->how == G_REL && fabs(y) < ldexp(1, 2 - (1 << (e - 1))) && distance(t, got, want) <= 1)
		return 0;                                       /* a unit is more than the bound there */
	if (isnan(x) || isnan(y) || isinf(x) || isinf(y) || x == 0 || y == 0)
		return 1;
	*ulp = fmax(*ulp, distance(t, got, want));
	switch (g->how) {
	case G_ULP: return distance(t, got, want) > g->bound;
	case G_REL: return fabs(x - y) > g->bound * fabs(y);
	case G_ABS: return fabs(x - y) > g->bound;
	case G_LOG: return fabs(x - y) > g->bound * fmax(1, fabs(y));
	case G_SINE: return fabs(x - y) > (fabs(operand) > 6.2831853 ? 0x1p-13 : g->bound);
	default: return 0;
	}
}

/* A row of results: how many differ, and the halves of packed ones each by itself. */
static unsigned row_differs(const struct gform *g, unsigned k, uint64_t got, uint64_t want, uint64_t operand, double *ulp)
{
	char t = g->out[k];
	int halves = strchr("HRxy", t) != NULL;
	unsigned n = 0;

	for (int h = 0; h <= halves; h++)
		n += (unsigned)differs(g, t, halves ? got >> 16 * h & 0xffff : got, halves ? want >> 16 * h & 0xffff : want,
				       strchr("fd", g->in[0]) ? as_double(g->in[0], operand) : 0, ulp);
	return n;
}

/* What is known to differ, and why: lines "FORM | HOW MANY | REASON" of FOLDER/differs.txt; 0: none of that form. */
static unsigned known_differences(const char *folder, const char *form, char *reason, size_t n)
{
	char path[4096], *line = NULL, *bar;
	size_t room = 0, len = strlen(form);
	unsigned count = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/differs.txt", folder);
	f = fopen(path, "r");
	while (f && !count && getline(&line, &room, f) > 0)
		if (!strncmp(line, form, len) && !strncmp(line + len, " | ", 3)) {
			count = (unsigned)strtoul(line + len + 3, &bar, 10);
			snprintf(reason, n, "%.*s", (int)strcspn(bar, "\n"), bar);
		}
	free(line);
	if (f)
		fclose(f);
	return count;
}

/* 0, or what is wrong with a form; *known counts values that may differ. */
static unsigned compare_form(const char *folder, const struct gform *g, const uint64_t *want, unsigned rows, unsigned *known)
{
	unsigned outs = (unsigned)strlen(g->out), bad = 0, other = 0, may;
	char reason[256] = "";
	uint64_t *out = calloc(rows, OUTS * 8);
	const uint64_t *in = (const uint64_t *)(const void *)input;
	char log[512];
	double ulp = 0;

	sum_worst = 0;
	may = known_differences(folder, g->text, reason, sizeof(reason));
	if (run(g, rows, out, log, sizeof(log))) {
		printf("%s: %s\n", g->text, log);
		free(out);
		return 1;
	}
	for (unsigned i = 0; i < rows * outs; i++) {
		unsigned row = i / outs, k = i % outs;
		uint64_t got = out[row * OUTS + k];

		other += got != want[i];
		if (g->how == G_SUM && !k)
			sum_most = sum_of_most(g, in, row);
		if (!row_differs(g, k, got, want[i], in[row * SLOTS], &ulp) || bad++ >= SHOWN || (may && !verbose))
			continue;
		printf("%s: row %u, result %u:", g->text, row, k);
		for (unsigned j = 0; j < (g->mma ? 0 : strlen(g->in)); j++)
			printf(" %llx", (unsigned long long)in[row * SLOTS + j]);
		printf(" gives %llx, hardware has %llx\n", (unsigned long long)got, (unsigned long long)want[i]);
	}
	if (g->how == G_SUM && verbose)
		printf("%s: sums are %g of the largest apart, of %g\n", g->text, sum_worst, g->bound);
	if (bad > may || verbose || (g->how != G_EXACT && g->how != G_SUM))
		printf("%s %s: %u of %u results are not the hardware's, %u of them wrong; at most %g units apart%s\n",
		       bad > may ? "FAIL" : bad ? "known" : "ok", g->text, other, rows * outs, bad, ulp, bad ? reason : "");
	free(out);
	*known += bad > may ? 0 : bad;
	return bad > may;
}

static struct gform *form_named(const char *name, size_t n)
{
	for (unsigned i = 0; i < ngforms; i++)
		if (strlen(gform[i].text) == n && !memcmp(gform[i].text, name, n))
			return &gform[i];
	return NULL;
}

/* Exit status. */
static int compare_all(const char *folder, const char *const *groups, unsigned ngroups)
{
	static uint64_t want[MAX_ROWS * OUTS];
	unsigned forms = 0, bad = 0, absent = 0, known = 0;
	char path[4096], *line = NULL, *bar;
	size_t room = 0;

	max_rows = rows_asked ? rows_asked : 4096;
	if (begin())
		return 1;
	for (unsigned i = 0; i < ngroups; i++) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s.txt", folder, groups[i]);
		f = fopen(path, "r");
		if (!f) {
			printf("%s: cannot read\n", path);
			bad++;
			continue;
		}
		while (getline(&line, &room, f) > 0) {
			struct gform *g;
			unsigned rows = 0, hash = 0, n;

			bar = strstr(line, " | ");
			g = *line == '#' || !bar ? NULL : form_named(line, (size_t)(bar - line));
			if (!g)
				continue;
			forms++;
			if (sscanf(bar + 3, "%u %x |", &rows, &hash) != 2 || !rows || rows % 32 || rows > max_rows) {
				absent++;
				continue;
			}
			n = read_values(strchr(bar + 3, '|') + 1, want, rows * (unsigned)strlen(g->out));
			if (n != rows * strlen(g->out) || hash != (unsigned)input_hash(g, rows)) {
				printf("FAIL %s: the file was written for other operands\n", g->text);
				bad++;
				continue;
			}
			bad += compare_form(folder, g, want, rows, &known) != 0;
		}
		fclose(f);
	}
	free(line);
	rig_close(&rig);
	printf("golden: %u forms, %u of them not on that hardware, %u differ, and %u values that are known to\n", forms, absent, bad, known);
	return bad || forms == absent;
}

#endif
