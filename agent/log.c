/* SPDX-License-Identifier: MIT */
/* See log.h. UTC, since local time would need a file that PID 1 may not have. */
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int log_level = LOG_INFO;

#define CLIENT_BURST 20         /* lines at once */
#define CLIENT_PER_SECOND 5

#define FIELDS_BYTES 400        /* command and cgroup are the longest */

static int journal;
/* Its native protocol (systemd, JOURNAL_NATIVE_PROTOCOL): a datagram of lines NAME=VALUE. Sent by path, so that a journal that starts anew is met. */
static int native = -1;
static struct sockaddr_un native_at = { .sun_family = AF_UNIX };
static _Thread_local struct { char text[FIELDS_BYTES]; size_t n; } fields;

/* Where stderr leads is DIR/stdout; DIR/socket takes what has fields. */
static void find_native(void)
{
	struct sockaddr_un peer = { 0 };
	socklen_t n = sizeof(peer);
	char *name;

	if (getpeername(2, (struct sockaddr *)&peer, &n) < 0 || peer.sun_family != AF_UNIX || n >= sizeof(peer))
		return;
	name = strrchr(peer.sun_path, '/');
	if (peer.sun_path[0] != '/' || strcmp(name, "/stdout"))
		return;
	*name = 0;
	snprintf(native_at.sun_path, sizeof(native_at.sun_path), "%.90s/socket", peer.sun_path);
	native = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* JOURNAL_STREAM (systemd.exec(5)): device and inode of the journal's socket; stderr may have been turned elsewhere since. */
void log_init(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	journal = stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 && fstat(2, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
	if (journal)
		find_native();
}

static void field(const char *name, const char *value)
{
	size_t n = strlen(name) + strlen(value) + 2;

	if (!journal || strchr(value, '\n') || n >= FIELDS_BYTES - fields.n)
		return;
	fields.n += (size_t)sprintf(fields.text + fields.n, "%s=%s\n", name, value);
}

void log_text(const char *name, const char *value)
{
	field(name, value);
}

void log_number(const char *name, long long value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", value);
	field(name, text);
}

void log_nobody(void)
{
	fields.n = 0;
}

/* The line without its end. 0: the journal has it. */
static int emit_native(int priority, char *line, size_t n)
{
	char all[FIELDS_BYTES + 800];
	int len;

	if (native < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (line[i] == '\n')
			line[i] = ' ';
	len = snprintf(all, sizeof(all), "PRIORITY=%d\nSYSLOG_IDENTIFIER=vgpu-agent\n%.*sMESSAGE=%.*s\n", priority, (int)fields.n, fields.text, (int)n, line);
	/* the one call for it that every thread's filter has */
	return sendto(native, all, (size_t)len, MSG_NOSIGNAL, (struct sockaddr *)&native_at, sizeof(native_at)) == len ? 0 : -1;
}

static void emit(enum log_level level, const char *fmt, va_list ap)
{
	static const char *const tag[] = { "error: ", "warning: ", "", "debug: " };
	static const int priority[] = { 3, 4, 6, 7 };   /* sd-daemon(3): err, warning, info, debug */
	char line[700];
	struct timespec ts;
	struct tm tm;
	int saved = errno;
	size_t n, mark = 0;
	int r;

	if (journal) {          /* it has time and name of its own */
		mark = (size_t)snprintf(line, sizeof(line), "<%d>", priority[level]);
		n = mark + (size_t)snprintf(line + mark, sizeof(line) - mark, "%s", tag[level]);
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
	if ((!journal || emit_native(priority[level], line + mark, n - 1 - mark)) && write(2, line, n) < 0)
		errno = saved;
	fields.n = 0;
	errno = saved;
}

void log_line(enum log_level level, const char *fmt, ...)
{
	va_list ap;

	if ((int)level > log_level) {
		fields.n = 0;
		return;
	}
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

	if ((int)level > log_level) {
		fields.n = 0;
		return;
	}
	b = &all[level >= LOG_INFO];
	clock_gettime(CLOCK_MONOTONIC, &ts);
	if (ts.tv_sec != b->last) {
		uint64_t more = (uint64_t)(ts.tv_sec - b->last) * CLIENT_PER_SECOND;

		b->tokens = b->tokens + more > CLIENT_BURST ? CLIENT_BURST : b->tokens + (unsigned)more;
		b->last = ts.tv_sec;
	}
	if (!b->tokens) {
		b->lost++;
		fields.n = 0;
		return;
	}
	b->tokens--;
	if (b->lost) {
		size_t n = fields.n;

		fields.n = 0;
		log_line(LOG_WARN, "%u lines about clients were left out", b->lost);
		fields.n = n;
		b->lost = 0;
	}
	va_start(ap, fmt);
	emit(level, fmt, ap);
	va_end(ap);
}
