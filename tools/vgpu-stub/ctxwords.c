/* SPDX-License-Identifier: MIT */
/*
 * What a context says to people: LOG messages and its stderr, which is a pipe that ends here.
 *
 * Called by ctxproc.c. Both are a client's words: printable ASCII alone gets into our log, behind a prefix that is ours, and
 * no faster than a person reads. What is too fast on stderr stays in the pipe, so that the writer waits and nobody else;
 * what is too fast as LOG is counted and left out.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "stub.h"

#define LOG_LINES 100u                  /* of LOG messages, in a context's life */
#define BURST 200u                      /* lines at once, of a context */
#define LINE_NS 50000000ull             /* then one in this time */
#define BURST_ALL 1000u                 /* of all contexts together, so that many short lives are no way around */
#define LINE_ALL_NS 20000000ull

/* The time at which the bucket would be full again: a line moves it by one line's time. */
static uint64_t all_until;

static int token(uint64_t *until, uint64_t now, uint64_t line_ns, uint32_t burst)
{
	uint64_t from = *until > now ? *until : now;

	if (from + line_ns > now + burst * line_ns)
		return 0;
	*until = from + line_ns;
	return 1;
}

static int may_say(struct context *c)
{
	uint64_t now = clock_ns(), mine = c->words_until;

	if (!token(&mine, now, LINE_NS, BURST) || !token(&all_until, now, LINE_ALL_NS, BURST_ALL))
		return 0;
	c->words_until = mine;
	return 1;
}

static void plain(char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] < ' ' || s[i] > '~')
			s[i] = '?';
}

void ctxwords_log(struct context *c, const struct ctx_msg *m)
{
	char line[sizeof(m->u.log)];
	size_t n;

	if (c->logged >= LOG_LINES || !may_say(c))
		return;
	c->logged++;
	memcpy(line, m->u.log, sizeof(line));
	n = strnlen(line, sizeof(line) - 1);
	plain(line, n);
	log_line("context %u: %.*s%s", c->qid, (int)n, line, c->logged == LOG_LINES ? " (it is not heard any more)" : "");
}

/* ---- stderr -------------------------------------------------------------------------------------- */

static void put_line(struct context *c)
{
	plain(c->line, c->line_bytes);
	log_line("context %u: stderr: %.*s", c->qid, (int)c->line_bytes, c->line);
	c->line_bytes = 0;
}

/* Reads no more than it may print: 0 when the pipe is empty or closed, 1 when the lines are used up. */
static int take(struct context *c)
{
	char byte[256];
	ssize_t n;

	for (;;) {
		/* a line at most may come out of what is read, beside those of its newlines: so it is read line by line */
		if (!c->words_held && !may_say(c))
			return 1;
		c->words_held = 1;
		n = read(c->err_fd, byte, sizeof(c->line) - c->line_bytes < sizeof(byte) ? sizeof(c->line) - c->line_bytes : sizeof(byte));
		if (n <= 0) {
			if (n == 0 || (errno != EAGAIN && errno != EINTR))
				loop_remove(&c->err_src);
			return 0;
		}
		for (ssize_t i = 0; i < n; i++) {
			if (byte[i] != '\n')
				c->line[c->line_bytes++] = byte[i];
			if ((byte[i] == '\n' && c->line_bytes) || c->line_bytes == sizeof(c->line)) {
				if (!c->words_held && !may_say(c))
					c->line_bytes = 0;      /* more than one line in one read: what is above the rate goes */
				else
					put_line(c);
				c->words_held = 0;
			}
		}
	}
}

static void err_ready(void *owner, uint32_t events)
{
	struct context *c = owner;

	(void)events;
	if (take(c)) {
		loop_remove(&c->err_src);
		c->words_ns = clock_ns() + LINE_NS;
	}
}

int ctxwords_listen(struct context *c)
{
	c->err_src = (struct source){ -1, err_ready, c };
	c->words_until = c->words_ns = 0;
	c->line_bytes = 0;
	c->words_held = 0;
	return loop_add(&c->err_src, c->err_fd, EPOLLIN);
}

/* Its pipe was left alone for a while, which is over. */
void ctxwords_again(struct context *c)
{
	c->words_ns = 0;
	if (loop_add(&c->err_src, c->err_fd, EPOLLIN))
		log_line("context %u: its stderr is not heard any more: %s", c->qid, strerror(errno));
}

/* It is reaped: what is left of its last words. */
void ctxwords_end(struct context *c)
{
	if (c->err_fd < 0)
		return;
	take(c);
	if (c->line_bytes)
		put_line(c);
	loop_remove(&c->err_src);
	c->words_ns = 0;
	close(c->err_fd);
	c->err_fd = -1;
}
