/* SPDX-License-Identifier: MIT */
/* Which calls a filter names: for trace.c, and for vgpu trace -p, which turns the slots of a running process from outside. */
#ifndef VGPU_TRACE_FILTER_H
#define VGPU_TRACE_FILTER_H

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

static inline int trace_in_group(const char *call, const char *group, size_t n)
{
	static const struct { const char *group, *prefix; } groups[] = {
		{ "driver", "cu" }, { "runtime", "cuda" }, { "blas", "cublas" }, { "nvml", "nvml" }, { "nvtx", "nvtx" }, { "runtime", "__cuda" },
	};
	int driver = !strncmp(call, "cu", 2) && call[2] >= 'A' && call[2] <= 'Z';

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (strlen(groups[i].group) == n && !strncmp(group, groups[i].group, n) &&
		    (i ? !strncmp(call, groups[i].prefix, strlen(groups[i].prefix)) : driver))
			return 1;
	return 0;
}

/*
 * A comma-separated list: globs of names (cudaMalloc*), groups (driver, runtime, blas, nvml, nvtx), a "!" before either leaves
 * out what matches. "top" (no calls inside other calls), "errors" (only calls that fail) and "callers" (who made those; vgpu run --memcheck)
 * stand beside.
 */
static inline int trace_matches(const char *filter, const char *call)
{
	int yes = 0, any = 0;

	while (*filter) {
		size_t n = strcspn(filter, ",");
		char glob[96];
		int no = *filter == '!';

		if (n > (size_t)no && n - (size_t)no < sizeof(glob)) {
			memcpy(glob, filter + no, n - (size_t)no);
			glob[n - (size_t)no] = 0;
			if (strcmp(glob, "top") && strcmp(glob, "errors") && strcmp(glob, "callers")) {
				int hit = trace_in_group(call, glob, strlen(glob)) || !fnmatch(glob, call, 0);

				if (no) {
					if (hit)
						return 0;
				} else {
					any = 1;
					yes |= hit;
				}
			}
		}
		filter += n + (filter[n] == ',');
	}
	return yes || !any;
}

static inline int trace_has_word(const char *filter, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = strstr(filter, word); p; p = strstr(p + 1, word))
		if ((p == filter || p[-1] == ',') && (!p[n] || p[n] == ','))
			return 1;
	return 0;
}

#endif
