/* SPDX-License-Identifier: MIT */
/*
 * The error log: what this library says on stderr, kept for programs that ask. Called by programs, and by core/status.c for each line.
 *
 * The last 100 lines of up to 255 bytes each, which is as much as CUDA documents for all of it. An iterator is the number of a line.
 */
#include "driver.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LINES 100u
#define LINE_BYTES 256u
#define NEVER_MORE (LINES * LINE_BYTES)

struct CUlogsCallbackEntry_st {
	struct CUlogsCallbackEntry_st *next;
	CUlogsCallback fn;
	void *user;
};

static struct vg_lock lock;
static char (*lines)[LINE_BYTES];       /* of LINES; NULL until there is one */
static uint32_t written;                /* lines ever */
static struct CUlogsCallbackEntry_st *callbacks;

void vg_log(const char *text, size_t n)
{
	struct { CUlogsCallback fn; void *user; } told[8];
	char message[LINE_BYTES];
	struct timespec now;
	unsigned k = 0;
	int head;

	n = n < sizeof message - 1 ? n : sizeof message - 1;
	memcpy(message, text, n);
	message[n] = 0;
	vg_lock(&lock);
	if (!lines)
		lines = calloc(LINES, LINE_BYTES);
	if (lines) {
		char *line = lines[written % LINES];

		clock_gettime(CLOCK_REALTIME, &now);
		head = snprintf(line, LINE_BYTES, "[%02u:%02u:%02u.%03u][CUDA][E] ", (unsigned)(now.tv_sec / 3600 % 24), (unsigned)(now.tv_sec / 60 % 60),
				(unsigned)(now.tv_sec % 60), (unsigned)(now.tv_nsec / 1000000));
		if (n > LINE_BYTES - 1 - (size_t)head)  /* cut, there */
			memcpy(line + head, message, LINE_BYTES - 1 - (size_t)head);
		else
			memcpy(line + head, message, n + 1);
		written++;
	}
	for (const struct CUlogsCallbackEntry_st *c = callbacks; c && k < sizeof told / sizeof told[0]; c = c->next, k++) {
		told[k].fn = c->fn;
		told[k].user = c->user;
	}
	vg_unlock(&lock);
	while (k--)
		told[k].fn(told[k].user, CU_LOG_LEVEL_ERROR, message, n);
}

CUresult cuLogsRegisterCallback(CUlogsCallback fn, void *user, CUlogsCallbackHandle *out)
{
	struct CUlogsCallbackEntry_st *c;
	unsigned n = 0;

	if (!fn)
		return CUDA_ERROR_INVALID_VALUE;
	c = malloc(sizeof *c);
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	vg_lock(&lock);
	for (const struct CUlogsCallbackEntry_st *i = callbacks; i; i = i->next)
		n++;
	if (n < 8) {
		*c = (struct CUlogsCallbackEntry_st){ callbacks, fn, user };
		callbacks = c;
	}
	vg_unlock(&lock);
	if (n >= 8) {
		free(c);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (out)
		*out = c;
	return CUDA_SUCCESS;
}

CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle h)
{
	struct CUlogsCallbackEntry_st **p, *c;

	vg_lock(&lock);
	for (p = &callbacks; (c = *p) && c != h; p = &c->next)
		;
	if (c)
		*p = c->next;
	vg_unlock(&lock);
	free(c);
	return c ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLogsCurrent(CUlogIterator *at, unsigned int flags)
{
	if (!at || flags)
		return CUDA_ERROR_INVALID_VALUE;
	*at = __atomic_load_n(&written, __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

/* Lines from *at on, or all, of which the latest fit in room bytes; a first line says when some are missing. The lock is held. */
static CUresult dump(CUlogIterator *at, char *to, size_t room, size_t *size)
{
	static const char missing[] = "[CUDA][E] older messages are missing\n";
	uint32_t first = at ? *at : 0, oldest = written > LINES ? written - LINES : 0, from = written;
	size_t n = 0;
	bool cut;

	if (first > written)
		return CUDA_ERROR_INVALID_VALUE;
	cut = first < oldest;
	first = cut ? oldest : first;
	*size = 0;
	if (first == written && !cut)
		return CUDA_SUCCESS;
	while (from > first) {
		size_t one = strlen(lines[(from - 1) % LINES]) + 1, head = cut || from - 1 > first ? sizeof missing - 1 : 0;

		if (n + one + head + 1 > room)
			break;
		n += one;
		from--;
	}
	if (from == written)
		return CUDA_ERROR_INVALID_VALUE;
	n = 0;
	if (cut || from > first) {
		memcpy(to, missing, sizeof missing - 1);
		n = sizeof missing - 1;
	}
	for (; from < written; from++) {
		size_t one = strlen(lines[from % LINES]);

		memcpy(to + n, lines[from % LINES], one);
		to[n + one] = '\n';
		n += one + 1;
	}
	to[n] = 0;
	*size = n;
	if (at)
		*at = written;
	return CUDA_SUCCESS;
}

CUresult cuLogsDumpToMemory(CUlogIterator *at, char *buffer, size_t *size, unsigned int flags)
{
	CUresult r;

	if (!buffer || !size || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (*size)
		*buffer = 0;
	vg_lock(&lock);
	r = dump(at, buffer, *size, size);
	vg_unlock(&lock);
	return r;
}

CUresult cuLogsDumpToFile(CUlogIterator *at, const char *path, unsigned int flags)
{
	size_t room = NEVER_MORE + 256, n = 0;
	char *text;
	CUresult r;
	FILE *f;

	if (!path || flags)
		return CUDA_ERROR_INVALID_VALUE;
	text = malloc(room);
	if (!text)
		return CUDA_ERROR_OUT_OF_MEMORY;
	vg_lock(&lock);
	r = dump(at, text, room, &n);
	vg_unlock(&lock);
	if (r == CUDA_SUCCESS) {
		f = fopen(path, "we");
		if (!f || fwrite(text, 1, n, f) != n)
			r = CUDA_ERROR_INVALID_VALUE;
		if (f && fclose(f))
			r = CUDA_ERROR_INVALID_VALUE;
	}
	free(text);
	return r;
}
