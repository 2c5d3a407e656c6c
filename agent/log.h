/* SPDX-License-Identifier: MIT */
/* Lines for people, on stderr, one write(2) each. Control thread and boot only. */
#ifndef AGENT_LOG_H
#define AGENT_LOG_H

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

extern int log_level;

/*
 * First of all: whether stderr is the journal, which has the time itself, and takes lines with fields by a socket beside that stream; where that
 * cannot be had the line's priority stands before it.
 */
void log_init(void);
/* Fields of this thread's next line, for the journal alone (journalctl VGPU_CLIENT_UID=1000); names in capitals. about.h has those that we use. */
void log_number(const char *name, long long value);
void log_text(const char *name, const char *value);
void log_nobody(void);          /* none after all */

void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Said because of what a client did: at most a few a second, so that nobody can flood the log. */
void log_client(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Whatever the level: the line that scripts wait for. */
void log_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) do { if (log_level >= LOG_DEBUG) log_line(LOG_DEBUG, __VA_ARGS__); } while (0)

#endif
