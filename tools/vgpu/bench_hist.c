/* SPDX-License-Identifier: MIT */
/*
 * The histogram of bench.h: counting, quantiles, and HdrHistogram's text form of the distribution (.hgrm), which its
 * plotters read. Called by every bench.
 */
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <string.h>

void hist_add(struct hist *h, double ns)
{
	uint64_t v = ns > 0 ? (uint64_t)(ns * 16) : 0;  /* sixteenths: small values keep their steps */
	unsigned top = v ? 63 - (unsigned)__builtin_clzll(v) : 0;
	unsigned step = top > 5 ? (unsigned)(v >> (top - 5)) & (HIST_STEPS - 1)
				: (unsigned)(v << (5 - top)) & (HIST_STEPS - 1);

	h->count[top * HIST_STEPS + step]++;
	h->total++;
	h->sum += ns;
	h->squares += ns * ns;
	if (ns > h->max)
		h->max = ns;
}

double hist_quantile(const struct hist *h, double q)
{
	uint64_t want = (uint64_t)(q * (double)h->total), seen = 0;

	if (!h->total)
		return NAN;
	for (unsigned i = 0; i < 64 * HIST_STEPS; i++) {
		seen += h->count[i];
		if (seen > want)
			/* the middle of a step may lie above everything that was counted in it */
			return fmin(ldexp(1.0 + (i % HIST_STEPS + 0.5) / HIST_STEPS, (int)(i / HIST_STEPS)) / 16, h->max);
	}
	return NAN;
}

int hist_hgrm(const struct hist *h, const char *path)
{
	double n = (double)h->total, mean = n ? h->sum / n : 0, var = n ? h->squares / n - mean * mean : 0;
	FILE *f = fopen(path, "w");
	int bad;

	if (!f)
		goto fail;
	fprintf(f, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
	/* Five steps in each halving of what is left above. */
	for (double left = 1; h->total; left /= 2) {
		for (int i = 0; i < 5; i++) {
			double q = 1 - left * (1 - i / 10.0);

			fprintf(f, "%12.3f %14.12f %10.0f %14.2f\n", hist_quantile(h, q), q, fmax(ceil(q * n), 1), 1 / (1 - q));
		}
		if (left * n < 1)
			break;
	}
	fprintf(f, "%12.3f %14.12f %10llu\n", h->max, 1.0, (unsigned long long)h->total);
	fprintf(f, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", mean, var > 0 ? sqrt(var) : 0);
	fprintf(f, "#[Max     = %12.3f, Total count    = %12llu]\n", h->max, (unsigned long long)h->total);
	fprintf(f, "#[Buckets = %12d, SubBuckets     = %12d]\n", 64, HIST_STEPS);
	bad = ferror(f);
	if (!fclose(f) && !bad)
		return 0;
fail:
	complain("%s: %s", path, strerror(errno));
	return -errno;
}
