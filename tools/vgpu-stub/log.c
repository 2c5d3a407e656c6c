/* SPDX-License-Identifier: MIT */
/* The device's log: lines on stderr, for people. */
#include <stdarg.h>
#include <stdio.h>

#include "stub.h"

static int verbose;             /* -1: silent */

void log_set_verbose(int level)
{
	verbose = level;
}

static void put(const char *fmt, va_list ap)
{
	char line[700];
	int n = vsnprintf(line, sizeof(line), fmt, ap);

	if (n < 0)
		return;
	/* One write for the line: lines of several processes do not mix. */
	fprintf(stderr, "vgpu-stub: %s\n", line);
}

void log_line(const char *fmt, ...)
{
	va_list ap;

	if (verbose < 0)
		return;
	va_start(ap, fmt);
	put(fmt, ap);
	va_end(ap);
}

void log_verbose(const char *fmt, ...)
{
	va_list ap;

	if (verbose <= 0)
		return;
	va_start(ap, fmt);
	put(fmt, ap);
	va_end(ap);
}
