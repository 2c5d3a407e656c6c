/* SPDX-License-Identifier: MIT */
/* The device's log: lines on stderr, for people. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "stub.h"

static int verbose;             /* -1: silent */

void log_set_verbose(int level)
{
	verbose = level;
}

static int journal;

/* JOURNAL_STREAM (systemd.exec(5)): device and inode of the journal's socket; stderr may have been turned elsewhere since. */
void log_init(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	journal = stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 && fstat(2, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

/* sd-daemon(3) */
static const char *priority(const char *line)
{
	return !strncmp(line, "warning: ", 9) ? "4" : "6";
}

static void put(const char *fmt, va_list ap)
{
	char line[700];
	int n = vsnprintf(line, sizeof(line), fmt, ap);

	if (n < 0)
		return;
	/* One write for the line: lines of several processes do not mix. */
	fprintf(stderr, journal ? "<%s>%s\n" : "%.0svgpu-stub: %s\n", priority(line), line);
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
