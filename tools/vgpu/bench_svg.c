/* SPDX-License-Identifier: MIT */
/*
 * The picture of distributions: a line for each series, nanoseconds over percentiles, both axes logarithmic, as
 * HdrHistogram's own plots are. Called by bench launch -d.
 */
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define WIDTH 960
#define HEIGHT 560
#define LEFT 80
#define TOP 50
#define PLOT_W 620
#define PLOT_H 440
#define NINES 5                 /* from the minimum to 99.999 % */

static double x_of(double q)
{
	return LEFT + PLOT_W * -log10(1 - q) / NINES;
}

static void text(FILE *f, double x, double y, const char *anchor, const char *words)
{
	fprintf(f, "<text x='%.1f' y='%.1f' text-anchor='%s'>", x, y, anchor);
	for (; *words; words++)
		if (*words == '<' || *words == '>' || *words == '&')
			fprintf(f, "&#%d;", *words);
		else
			fputc(*words, f);
	fputs("</text>\n", f);
}

static void range(const struct series *s, unsigned n, int *from, int *to)
{
	double lo = INFINITY, hi = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!s[i].h->total)
			continue;
		lo = fmin(lo, hist_quantile(s[i].h, 0));
		hi = fmax(hi, s[i].h->max);
	}
	*from = hi > 0 ? (int)floor(log10(fmax(lo, 0.1))) : 0;
	*to = hi > 0 ? (int)ceil(log10(hi)) : 1;
	if (*to <= *from)
		*to = *from + 1;
}

int svg_write(const char *path, const char *title, const struct series *s, unsigned n)
{
	static const char *const colours[] = { "#1b6ca8", "#d1495b", "#3a7d44", "#e08e45", "#6a4c93", "#2a9d8f", "#8d6b48",
					       "#555555", "#b5179e", "#0b132b" };
	FILE *f = fopen(path, "w");
	int from, to, bad;

	if (!f)
		goto fail;
	range(s, n, &from, &to);
	fprintf(f, "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' font-family='sans-serif' font-size='13'>\n"
		   "<rect width='100%%' height='100%%' fill='white'/>\n", WIDTH, HEIGHT);
	text(f, LEFT, 28, "start", title);
	for (int p = from; p <= to; p++) {
		double y = TOP + PLOT_H * (double)(to - p) / (to - from);
		char label[32];

		snprintf(label, sizeof(label), p < 3 ? "%g ns" : p < 6 ? "%g us" : "%g ms", pow(10, p < 3 ? p : p < 6 ? p - 3 : p - 6));
		fprintf(f, "<path d='M%d %.1fH%d' stroke='#ddd'/>\n", LEFT, y, LEFT + PLOT_W);
		text(f, LEFT - 8, y + 4, "end", label);
	}
	for (int k = 0; k <= NINES; k++) {
		static const char *const names[] = { "0 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %" };
		double x = x_of(1 - pow(10, -k));

		fprintf(f, "<path d='M%.1f %dV%d' stroke='#ddd'/>\n", x, TOP, TOP + PLOT_H);
		text(f, x, TOP + PLOT_H + 20, "middle", names[k]);
	}
	for (unsigned i = 0; i < n; i++) {
		const char *colour = colours[i % (sizeof(colours) / sizeof(colours[0]))];
		double y = TOP + 10 + 22.0 * i;

		if (!s[i].h->total)
			continue;
		fputs("<polyline fill='none' stroke-width='1.6' stroke='", f);
		fprintf(f, "%s' points='", colour);
		/* as far as there are values: beyond the last one the line would be invented */
		for (double d = 0; d <= NINES && pow(10, d) <= (double)s[i].h->total; d += 0.02) {
			double q = 1 - pow(10, -d), v = hist_quantile(s[i].h, q);

			fprintf(f, "%.1f,%.1f ", x_of(q), TOP + PLOT_H * (to - log10(fmax(v, 0.1))) / (to - from));
		}
		fprintf(f, "'/>\n<path d='M%d %.1fh24' stroke-width='3' stroke='%s'/>\n", LEFT + PLOT_W + 15, y, colour);
		text(f, LEFT + PLOT_W + 46, y + 4, "start", s[i].name);
	}
	fputs("</svg>\n", f);
	bad = ferror(f);
	if (!fclose(f) && !bad)
		return 0;
fail:
	complain("%s: %s", path, strerror(errno));
	return -errno;
}
