/* SPDX-License-Identifier: MIT */
/* See log.h. UTC, since local time would need a file that PID 1 may not have. */
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int log_level = LOG_INFO;

#define CLIENT_BURST 20         /* lines at once */
#define CLIENT_PER_SECOND 5

static void emit(enum log_level level, const char *fmt, va_list ap)
{
	static const char *const tag[] = { "error: ", "warning: ", "", "debug: " };
	char line[700];
	struct timespec ts;
	struct tm tm;
	int saved = errno;
	size_t n;
	int r;

	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	n = strftime(line, sizeof(line), "%Y-%m-%d %H:%M:%S", &tm);
	r = snprintf(line + n, sizeof(line) - n, ".%03ld vgpu-agent: %s", ts.tv_nsec / 1000000, tag[level]);
	n += r > 0 ? (size_t)r : 0;
	errno = saved;
	r = vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	n += r > 0 ? (size_t)r : 0;
	if (n > sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	if (write(2, line, n) < 0)
		errno = saved;
	errno = saved;
}

void log_line(enum log_level level, const char *fmt, ...)
{
	va_list ap;

	if ((int)level > log_level)
		return;
	va_start(ap, fmt);
	emit(level, fmt, ap);
	va_end(ap);
}

void log_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	emit(LOG_INFO, fmt, ap);
	va_end(ap);
}

void log_client(enum log_level level, const char *fmt, ...)
{
	static unsigned tokens = CLIENT_BURST, lost;
	static time_t last;
	struct timespec ts;
	va_list ap;

	if ((int)level > log_level)
		return;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	if (ts.tv_sec != last) {
		uint64_t more = (uint64_t)(ts.tv_sec - last) * CLIENT_PER_SECOND;

		tokens = tokens + more > CLIENT_BURST ? CLIENT_BURST : tokens + (unsigned)more;
		last = ts.tv_sec;
	}
	if (!tokens) {
		lost++;
		return;
	}
	tokens--;
	if (lost) {
		log_line(LOG_WARN, "%u lines about clients were left out", lost);
		lost = 0;
	}
	va_start(ap, fmt);
	emit(level, fmt, ap);
	va_end(ap);
}
