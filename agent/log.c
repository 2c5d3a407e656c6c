/* SPDX-License-Identifier: MIT */
/* See log.h. UTC, since local time would need a file that PID 1 may not have. */
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int log_level = LOG_INFO;

#define CLIENT_BURST 20         /* lines at once */
#define CLIENT_PER_SECOND 5

static int journal;

/* JOURNAL_STREAM (systemd.exec(5)): device and inode of the journal's socket; stderr may have been turned elsewhere since. */
void log_init(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	journal = stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 && fstat(2, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

static void emit(enum log_level level, const char *fmt, va_list ap)
{
	static const char *const tag[] = { "error: ", "warning: ", "", "debug: " };
	static const int priority[] = { 3, 4, 6, 7 };   /* sd-daemon(3): err, warning, info, debug */
	char line[700];
	struct timespec ts;
	struct tm tm;
	int saved = errno;
	size_t n;
	int r;

	if (journal) {          /* it has time and name of its own */
		r = snprintf(line, sizeof(line), "<%d>%s", priority[level], tag[level]);
		n = r > 0 ? (size_t)r : 0;
		goto text;
	}
	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	n = strftime(line, sizeof(line), "%Y-%m-%d %H:%M:%S", &tm);
	r = snprintf(line + n, sizeof(line) - n, ".%03ld vgpu-agent: %s", ts.tv_nsec / 1000000, tag[level]);
	n += r > 0 ? (size_t)r : 0;
text:
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
	/* who comes and goes does not use up what is kept for warnings */
	static struct { unsigned tokens, lost; time_t last; } all[2] = { { CLIENT_BURST, 0, 0 }, { CLIENT_BURST, 0, 0 } }, *b;
	struct timespec ts;
	va_list ap;

	if ((int)level > log_level)
		return;
	b = &all[level >= LOG_INFO];
	clock_gettime(CLOCK_MONOTONIC, &ts);
	if (ts.tv_sec != b->last) {
		uint64_t more = (uint64_t)(ts.tv_sec - b->last) * CLIENT_PER_SECOND;

		b->tokens = b->tokens + more > CLIENT_BURST ? CLIENT_BURST : b->tokens + (unsigned)more;
		b->last = ts.tv_sec;
	}
	if (!b->tokens) {
		b->lost++;
		return;
	}
	b->tokens--;
	if (b->lost) {
		log_line(LOG_WARN, "%u lines about clients were left out", b->lost);
		b->lost = 0;
	}
	va_start(ap, fmt);
	emit(level, fmt, ap);
	va_end(ap);
}
