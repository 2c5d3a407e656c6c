/* SPDX-License-Identifier: MIT */
/*
 * A kernel that does not leave what it should is made smaller for as long as it does not, and written to a file. Included by jitdiff.c only.
 */
#ifndef TESTS_PTX_JITDIFF_SHRINK_H
#define TESTS_PTX_JITDIFF_SHRINK_H

static char *text_of(const struct gen *g, const unsigned char *out_of_it)
{
	char *text = malloc(FILE_BYTES), *end = text;

	for (unsigned i = 0; text && i < g->units; i++)
		if (!out_of_it || !out_of_it[i])
			end = stpcpy(end, g->unit[i].text);
	return text;
}

/* Is it still wrong without these units as well? Then they stay out. */
static int still_bad(const struct gen *g, const struct plan *p, unsigned char *out, const unsigned char *also)
{
	unsigned char next[GEN_UNITS];
	unsigned more = 0;
	char *text;
	int result;

	for (unsigned i = 0; i < g->units; i++) {
		next[i] = out[i] || also[i];
		more += next[i] && !out[i];
	}
	if (!more)
		return 0;
	text = text_of(g, next);
	result = try_text(text, p, 1);
	free(text);
	if (result != DIFFERENT && result != CRASH)
		return 0;
	memcpy(out, next, g->units);
	return 1;
}

/* A register's first value may go when nothing else names the register. */
static int named_elsewhere(const struct gen *g, const unsigned char *out, unsigned unit)
{
	const char *reg = g->unit[unit].reg;
	size_t n = strlen(reg);

	for (unsigned i = 0; i < g->units; i++) {
		if (out[i] || i == unit || g->unit[i].head)
			continue;
		for (const char *s = strstr(g->unit[i].text, reg); s; s = strstr(s + 1, reg))
			if (s[n] < '0' || s[n] > '9')
				return 1;
	}
	return 0;
}

static void shrink(const struct gen *g, const struct plan *p, unsigned char *out)
{
	time_t until = time(NULL) + SHRINK_SECONDS;
	unsigned char also[GEN_UNITS];
	int progress = 1, masked;

	while (progress && time(NULL) < until && !hw_spoilt) {
		progress = 0;
		for (unsigned r = 0; r < g->regions && time(NULL) < until; r++) {
			memset(also, 0, sizeof(also));
			for (unsigned i = g->region[r].first; i <= g->region[r].last; i++)
				also[i] = 1;
			progress |= still_bad(g, p, out, also);
			/* its frame only: what is inside stays, unless it asks for the lanes of the frame's condition */
			memset(also, 0, sizeof(also));
			masked = 0;
			for (unsigned i = g->region[r].first; i <= g->region[r].last; i++) {
				also[i] = g->unit[i].fixed && g->unit[i].region == (int)r;
				masked |= !out[i] && strstr(g->unit[i].text, "%mask") != NULL;
			}
			progress |= !masked && still_bad(g, p, out, also);
		}
		for (unsigned chunk = 64; chunk && time(NULL) < until; chunk /= 2) {
			for (unsigned from = 0; from < g->units && time(NULL) < until; from += chunk) {
				for (unsigned i = 0; i < g->units; i++)
					also[i] = i >= from && i < from + chunk && !g->unit[i].fixed;
				progress |= still_bad(g, p, out, also);
			}
		}
	}
	for (unsigned i = g->units; i-- && time(NULL) < until;) {
		if (!g->unit[i].reg[0] || out[i] || named_elsewhere(g, out, i))
			continue;
		memset(also, 0, sizeof(also));
		also[i] = 1;
		still_bad(g, p, out, also);
	}
}

static void write_file(const struct gen *g, const struct plan *p, const unsigned char *out)
{
	char path[4096], *text = text_of(g, out);
	unsigned lines = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/mismatch-%llu.ptx", folder, (unsigned long long)p->seed);
	f = fopen(path, "w");
	if (!f || !text) {
		printf("  cannot write %s: %s\n", path, strerror(errno));
		free(text);
		return;
	}
	fprintf(f, "// jitdiff seed=%llu approx=%d\n%s", (unsigned long long)p->seed, approximate, text);
	fclose(f);
	for (const char *s = text; *s; s++)
		lines += *s == '\n';
	printf("  written: %s (%u lines)\n", path, lines);
	free(text);
}

#endif
